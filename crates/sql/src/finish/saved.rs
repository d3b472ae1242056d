//! What the ledger keeps of an answer: what was released, so that whatever else is made of the same releases is free too.

use crate::finish::answer::{Answer, Cost};
use crate::finish::cut::CutEstimate;
use crate::finish::release::Released;
use crate::price::question::Piece;
use crate::understand::aggregation::Selection;
use crate::understand::same::Mark;
use crate::values::group_name::{decode, encode};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// More numbers than this are not kept: a ledger is no warehouse. Then the answer alone is, and repeated for the same words.
const MOST_NUMBERS: usize = 200_000;

/// An answer as it is kept.
#[derive(Serialize, Deserialize)]
pub(crate) struct Saved {
    /// The mark of the plan as it was written, to which the answer belongs.
    pub(crate) written: String,
    /// What was charged.
    pub(crate) cost: Cost,
    /// What was estimated of the cut.
    pub(crate) cut: Vec<CutEstimate>,
    /// The answer as it was shown, where the releases are too many to be kept.
    pub(crate) answer: Option<Answer>,
    /// What was released, a part of the question each.
    releases: Option<Vec<SavedRelease>>,
}

/// What one aggregation released: keys and statistics by their marks, whatever their order was.
#[derive(Serialize, Deserialize)]
struct SavedRelease {
    mark: String,
    /// The marks of the keys, in the order of the groups' names.
    keys: Vec<String>,
    /// The names of the groups, as bytes in hexadecimal.
    groups: Vec<String>,
    statistics: Vec<SavedStatistic>,
}

#[derive(Serialize, Deserialize)]
struct SavedStatistic {
    mark: String,
    /// The standard deviation of the noise, in steps.
    deviation: f64,
    /// As many for each group.
    numbers: Vec<i64>,
}

impl Saved {
    pub(crate) fn new(
        written: Mark,
        cost: Cost,
        cut: Vec<CutEstimate>,
        pieces: &[Piece<'_>],
        releases: &[Released],
    ) -> Self {
        let numbers: usize = releases
            .iter()
            .flat_map(|released| released.numbers.iter().map(Vec::len))
            .sum();
        let groups: usize = releases.iter().map(|released| released.groups.len()).sum();
        let kept = (numbers + groups <= MOST_NUMBERS).then(|| {
            let pieces = pieces.iter().zip(releases);
            pieces.map(|(piece, released)| piece.saved(released)).collect()
        });
        Self {
            written: written.hexadecimal(),
            cost,
            cut,
            answer: None,
            releases: kept,
        }
    }

    /// Whether whatever the query does with its releases can be computed from this.
    pub(crate) fn suffices(&self) -> bool {
        self.releases.is_some()
    }

    /// What was released for these pieces, in their order; `None` where it was not kept, or was drawn with other noise than this version would draw.
    pub(crate) fn released(&self, pieces: &[Piece<'_>]) -> Option<Vec<Released>> {
        let mut waiting: Vec<&SavedRelease> = self.releases.as_ref()?.iter().collect();
        let mut found = Vec::new();
        for piece in pieces {
            let mark = piece.mark.hexadecimal();
            let place = waiting.iter().position(|saved| saved.mark == mark)?;
            found.push(piece.read(waiting.remove(place))?);
        }
        Some(found)
    }
}

impl Piece<'_> {
    fn saved(&self, released: &Released) -> SavedRelease {
        let statistics = self.marks.statistics.iter().enumerate();
        SavedRelease {
            mark: self.mark.hexadecimal(),
            keys: self.marks.keys.iter().map(Mark::hexadecimal).collect(),
            groups: released
                .groups
                .iter()
                .map(|group| hexadecimal(&encode(group)))
                .collect(),
            statistics: statistics
                .map(|(place, mark)| SavedStatistic {
                    mark: mark.hexadecimal(),
                    deviation: self.price.noise[place].deviation(),
                    numbers: released.numbers[place].clone(),
                })
                .collect(),
        }
    }

    /// The release with keys, statistics and groups in the order of this question.
    fn read(&self, saved: &SavedRelease) -> Option<Released> {
        let places = |own: &[Mark], kept: &[String]| -> Option<Vec<usize>> {
            let mut free: Vec<Option<&String>> = kept.iter().map(Some).collect();
            own.iter()
                .map(|mark| {
                    let mark = mark.hexadecimal();
                    let place = free.iter().position(|kept| *kept == Some(&mark))?;
                    free[place] = None;
                    Some(place)
                })
                .collect()
        };
        let keys = places(&self.marks.keys, &saved.keys)?;
        let kept: Vec<String> = saved.statistics.iter().map(|one| one.mark.clone()).collect();
        let statistics = places(&self.marks.statistics, &kept)?;
        (keys.len() == saved.keys.len() && statistics.len() == kept.len()).then_some(())?;
        for (place, at) in statistics.iter().enumerate() {
            let (now, then) = (
                self.price.noise[place].deviation(),
                saved.statistics[*at].deviation,
            );
            // What is left after rounding goes to the first statistic, so that the same ones in another order differ by billionths.
            ((now - then).abs() <= then * 1e-6).then_some(())?;
        }
        let mut groups = Vec::new();
        for name in &saved.groups {
            let values = decode(&bytes(name)?);
            (values.len() == keys.len()).then_some(())?;
            groups.push(keys.iter().map(|at| values[*at].clone()).collect::<Vec<_>>());
        }
        // In which order the groups come.
        let order: Vec<usize> = match &self.aggregation.groups.selection {
            // An estimate of what was cut has the groups that its question released, in the order of their names.
            Selection::Listed(listed) if !listed.is_empty() || keys.is_empty() => {
                let at: HashMap<Vec<u8>, usize> = groups
                    .iter()
                    .enumerate()
                    .map(|(place, group)| (encode(group), place))
                    .collect();
                (listed.len() == groups.len()).then_some(())?;
                let order = listed.iter().map(|group| at.get(&encode(group)).copied());
                order.collect::<Option<_>>()?
            }
            Selection::Listed(_) | Selection::Threshold => {
                let mut order: Vec<usize> = (0..groups.len()).collect();
                order.sort_by_key(|place| encode(&groups[*place]));
                order
            }
        };
        let mut numbers = Vec::new();
        for at in statistics {
            let kept = &saved.statistics[at].numbers;
            let each = kept.len().checked_div(groups.len()).unwrap_or(0);
            (each * groups.len() == kept.len()).then_some(())?;
            let of_group = |group: &usize| kept[group * each..(group + 1) * each].iter().copied();
            numbers.push(order.iter().flat_map(of_group).collect());
        }
        Some(Released {
            groups: order.iter().map(|place| groups[*place].clone()).collect(),
            numbers,
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits?;
    let pairs = digits.chunks_exact(2).map(|pair| pair[0] * 16 + pair[1]);
    (digits.len() % 2 == 0).then(|| pairs.collect())
}
