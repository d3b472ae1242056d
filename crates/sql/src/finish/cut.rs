//! What was cut of the data, and intervals that include it, read from what was released. Post-processing: nothing here sees data.

use crate::finish::estimate::{
    CONFIDENCE, CutShare, Estimate, Noisy, Seen, estimates, half_width, whole_data,
};
use crate::finish::release::Released;
use crate::price::Price;
use crate::price::bounds::Included;
use crate::price::cut::{CUT, Cut, EVERYTHING, OVER, UNITS};
use crate::price::question::Question;
use crate::understand::aggregation::{Aggregation, Output, Selection};
use serde::{Deserialize, Serialize};

/// A part of which no more is known than that it lies in an interval so wide is not reported in words.
const UNTOLD: f64 = 0.9;

/// How much was cut, about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutEstimate {
    /// Which rows, and under which limits: the same for every question about them.
    pub about: String,
    /// The part of the units that are over a limit.
    pub units_over: Share,
    /// Of what a part is cut: `rows`, or the sum of a column.
    pub of: String,
    /// The part of it that is cut.
    pub cut: Share,
    /// Whether the intervals of the answer include what was cut.
    pub included: bool,
    /// All of this in words.
    pub words: String,
}

/// A part of a whole, with an interval of the answer's confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The estimate, from 0 to 1.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What an aggregation asks of the groups that were released before it: those of the question, where their names were private.
pub(crate) fn with_names(question: &Question, place: usize, released: &[Released]) -> Aggregation {
    let mut aggregation = question.split.aggregations[place].clone();
    if let Some(cut) = question.cuts.iter().find(|cut| cut.wide == place) {
        aggregation.groups.selection = Selection::Listed(released[cut.question].groups.clone());
    }
    aggregation
}

/// The estimates of an aggregation's outputs, and of what was cut.
pub(crate) fn read(
    question: &Question,
    place: usize,
    released: &[Released],
    confidence: f64,
) -> (Vec<Vec<Estimate>>, Option<Read>) {
    let aggregation = &question.split.aggregations[place];
    let seen = |place: usize| Seen {
        aggregation: &question.split.aggregations[place],
        price: &question.prices[place],
        released: &released[place],
    };
    let plain = |output: &Output| estimates(aggregation, &question.prices[place], &released[place], output);
    let mut outputs: Vec<Vec<Estimate>> = aggregation.outputs.iter().map(plain).collect();
    let Some(cut) = question.cuts.iter().find(|cut| cut.question == place) else {
        return (outputs, None);
    };
    let (units, cut_of, noticed) = shares(
        &question.prices[cut.overview],
        &released[cut.overview],
        confidence,
    );
    let share = measured(question, cut, &released[cut.overview]);
    let mut included = vec![None; outputs.len()];
    let mut open = false;
    for (output, wide) in cut.outputs.iter().enumerate() {
        let Some(wide) = wide else { continue };
        let whole = whole_data(
            (&seen(place), &aggregation.outputs[output]),
            (
                &seen(cut.wide),
                &question.split.aggregations[cut.wide].outputs[*wide],
            ),
            share.as_ref(),
            noticed,
        );
        let Some(whole) = whole else { continue };
        let mut ends = whole.estimates.iter().filter_map(|estimate| estimate.interval);
        open |= ends.any(|(_, high)| high == f64::INFINITY);
        outputs[output] = whole.estimates;
        included[output] = Some(Included {
            times: cut.factor,
            alike: whole.alike,
            values: Cut::values_too(aggregation, output),
        });
    }
    let all_included = included.iter().all(Option::is_some);
    let read = Read {
        estimate: CutEstimate {
            about: question.about(place),
            units_over: units,
            of: cut.of.clone(),
            cut: cut_of,
            included: all_included,
            words: String::new(),
        },
        included,
        open,
    };
    (outputs, Some(read))
}

/// What the overview tells of the part that is cut of a statistic, in that statistic's own unit.
fn measured(question: &Question, cut: &Cut, released: &Released) -> Option<CutShare> {
    let (overview, price) = (
        &question.split.aggregations[cut.overview],
        &question.prices[cut.overview],
    );
    let number = |place: usize| {
        let size = overview.statistics[place].steps.size();
        let steps = *released.numbers[place].first()?;
        Some(Noisy {
            value: steps as f64 * size,
            half: half_width(&price.noise[place], CONFIDENCE) * size,
        })
    };
    Some(CutShare {
        statistic: cut.measured?,
        over: number(OVER)?,
        everything: number(EVERYTHING)?,
        cut: number(CUT)?,
    })
}

/// What was read of an estimate.
pub(crate) struct Read {
    pub(crate) estimate: CutEstimate,
    /// What the intervals of each output include of what was cut.
    pub(crate) included: Vec<Option<Included>>,
    /// Whether an interval has no upper end that says anything.
    open: bool,
}

impl Read {
    /// In words.
    pub(crate) fn reported(mut self, whose: &str) -> CutEstimate {
        let estimate = &self.estimate;
        let included = || self.included.iter().copied().flatten();
        let intervals = match included().map(|included| included.times).min() {
            None => "the intervals do not include what is cut".to_owned(),
            Some(times) => {
                let which = if estimate.included {
                    "the intervals include what is cut"
                } else {
                    "some columns' intervals include what is cut"
                };
                let alike = if included().any(|included| included.alike) {
                    ", and groups lose about the same part"
                } else {
                    ""
                };
                format!("{which}, as long as no {whose} has more than {times} times what counts{alike}")
            }
        };
        let open = if self.open {
            "; of values with ≥, how much more they may be cannot be told at this ε: limits that cut less (`deniable limits`) or a larger ε tell it".to_owned()
        } else {
            String::new()
        };
        let of = format!("the {}", estimate.of);
        let is = if estimate.of == "rows" { "are" } else { "is" };
        let units = match estimate.units_over.in_words() {
            Some(part) => format!("{part} of the {whose}s are over a limit"),
            None => format!("how many {whose}s are over a limit cannot be told at this ε"),
        };
        let cut = match estimate.cut.in_words() {
            Some(part) => format!("{part} of {of} {is} cut"),
            None => format!("how much of {of} {is} cut cannot be told at this ε"),
        };
        self.estimate.words = format!("{units}; {cut}; {intervals}{open}");
        self.estimate
    }
}

impl Share {
    /// `None` where the interval says next to nothing.
    fn in_words(self) -> Option<String> {
        let one = |part: f64| {
            let part = part * 100.0;
            let digits = usize::from(part < 10.0);
            format!("{part:.digits$}")
        };
        (self.high - self.low < UNTOLD).then(|| {
            format!(
                "about {} % ({} to {} %)",
                one(self.estimate),
                one(self.low),
                one(self.high)
            )
        })
    }
}

/// The parts that are over and cut, and whether anything surely is.
fn shares(price: &Price, released: &Released, confidence: f64) -> (Share, Share, bool) {
    // Of each of two numbers one half of what may fail.
    let half = f64::midpoint(1.0, confidence);
    let number = |place: usize| released.numbers[place].first().copied().unwrap_or(0) as f64;
    let ends = |place: usize| {
        let width = half_width(&price.noise[place], half);
        ((number(place) - width).max(0.0), (number(place) + width).max(0.0))
    };
    let share = |part: usize, whole: usize| {
        let ratio = |part: f64, whole: f64| {
            if whole > 0.0 {
                (part / whole).clamp(0.0, 1.0)
            } else {
                1.0
            }
        };
        let ((low, high), (least, most)) = (ends(part), ends(whole));
        let estimate = ratio(number(part).max(0.0), number(whole).max(1.0));
        Share {
            estimate,
            low: ratio(low, most.max(1.0)),
            high: ratio(high, least),
        }
    };
    // Steps of `everything` and `cut` are the same, so their ratio needs none.
    let noticed = ends(OVER).0 > 0.0 || ends(CUT).0 > 0.0;
    (share(OVER, UNITS), share(CUT, EVERYTHING), noticed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An estimate that says next to nothing is not put into numbers, and what the intervals rely on is said.
    #[test]
    fn estimates_are_reported_in_words() {
        let share = |low: f64, estimate: f64, high: f64| Share { estimate, low, high };
        let reported =
            |units_over: Share, cut: Share, of: &str, included: &[Option<Included>], open: bool| {
                let read = Read {
                    estimate: CutEstimate {
                        about: String::new(),
                        units_over,
                        of: of.to_owned(),
                        cut,
                        included: included.iter().all(Option::is_some),
                        words: String::new(),
                    },
                    included: included.to_vec(),
                    open,
                };
                read.reported("person").words
            };
        let times = |times: u64| {
            Some(Included {
                times,
                alike: times == 4,
                values: false,
            })
        };
        let (half, nothing) = (share(0.4, 0.5, 0.625), share(0.0, 0.013, 1.0));
        assert_eq!(
            reported(
                half,
                share(0.0, 0.031, 0.07),
                "rows",
                &[times(16), times(4)],
                false
            ),
            "about 50 % (40 to 62 %) of the persons are over a limit; about 3.1 % (0.0 to 7.0 %) of the rows are cut; the intervals include what is cut, as long as no person has more than 4 times what counts, and groups lose about the same part"
        );
        assert_eq!(
            reported(nothing, nothing, "sum of x", &[None], false),
            "how many persons are over a limit cannot be told at this ε; how much of the sum of x is cut cannot be told at this ε; the intervals do not include what is cut"
        );
        assert!(
            reported(half, half, "rows", &[times(16), None], false)
                .contains("; some columns' intervals include")
        );
        assert!(
            reported(half, half, "rows", &[times(16)], true).contains("; of values with ≥, how much more")
        );
    }
}
