//! Many synthetic surveys by randomized response, and how far their estimates are from the truth.
//!
//! ```
//! use experiments::survey::Simulation;
//! use exact::ratio;
//! use mechanism::RandomizedResponse;
//!
//! let response = RandomizedResponse::binary(&ratio(1, 4))?;
//! let simulation = Simulation { response, people: 100, yes: 20, runs: 50 };
//! let findings = simulation.run(&|_| ())?.findings();
//! assert_eq!(findings.json["truth"], 0.2);
//! # Ok::<(), mechanism::Error>(())
//! ```

use ::report::{Column, Figure, Findings, Row, Scale, Table, significant};
use exact::{Rational, to_f64_nearest};
use mechanism::{RandomizedResponse, Sensitive};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// This many respondents are randomized at a time: progress is told, and memory stays small.
const AT_A_TIME: u64 = 1 << 17;
/// Bars of a histogram in a picture, and in the terminal, at most.
const BARS_DRAWN: u64 = 60;
const BARS_WRITTEN: u64 = 24;
/// The longest bar in the terminal, in characters.
const LONGEST_BAR: f64 = 48.0;

/// Surveys to be simulated.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// How each of them answers.
    pub response: RandomizedResponse,
    /// How many people each survey asks: one at least, and a thousand million at most.
    pub people: u64,
    /// How many of them would truly say yes.
    pub yes: u64,
    /// How many surveys: one at least, and a thousand million at most.
    pub runs: u64,
}

impl Simulation {
    /// How many answers are given in all.
    pub fn answers(&self) -> u64 {
        // At most 10^18, as both factors are at most 10^9.
        self.people * self.runs
    }

    /// Asks everybody in every survey; `asked` is told how many more were asked.
    ///
    /// # Errors
    /// When randomness fails.
    pub fn run(self, asked: &dyn Fn(u64)) -> Result<Outcome, mechanism::Error> {
        let total = self.answers();
        let Self {
            response,
            people,
            yes,
            runs,
        } = self;
        let mut tally = BTreeMap::new();
        let (mut done, mut reported_yes) = (0u64, 0u64);
        while done < total {
            let last = total.min(done + AT_A_TIME);
            let answers = (done..last)
                .map(|respondent| u32::from(respondent % people < yes))
                .collect();
            // Every respondent takes part in one survey only, so each batch is on an account of its own.
            let (reports, _) = mechanism::release_answers(&response, Sensitive::new(answers), "simulation")?;
            for (respondent, report) in (done..last).zip(reports) {
                reported_yes += u64::from(report);
                if (respondent + 1) % people == 0 {
                    *tally.entry(std::mem::take(&mut reported_yes)).or_insert(0) += 1;
                }
            }
            asked(last - done);
            done = last;
        }
        Ok(Outcome {
            response,
            people,
            yes,
            runs,
            tally,
        })
    }
}

/// The result.
#[derive(Clone, Debug)]
pub struct Outcome {
    response: RandomizedResponse,
    people: u64,
    yes: u64,
    runs: u64,
    /// How many surveys had this many reports of yes.
    tally: BTreeMap<u64, u64>,
}

/// A bar of the histogram: estimates from `low` to `high`, and how many surveys had one.
struct Bar {
    low: f64,
    high: f64,
    surveys: u64,
}

impl Outcome {
    /// The estimate from a number of reports of yes, which need not be whole: the edge of a bar.
    fn estimate(&self, reported_yes: f64) -> f64 {
        let frequencies = self.response.frequencies();
        let gap = to_f64_nearest(&(frequencies.true_support() - frequencies.false_support()));
        (reported_yes / self.people as f64 - to_f64_nearest(frequencies.false_support())) / gap
    }

    fn truth(&self) -> f64 {
        self.yes as f64 / self.people as f64
    }

    fn average(&self, value: impl Fn(f64) -> f64) -> f64 {
        let total: f64 = self
            .tally
            .iter()
            .map(|(count, surveys)| value(self.estimate(*count as f64)) * *surveys as f64)
            .sum();
        total / self.runs as f64
    }

    fn mean(&self) -> f64 {
        self.average(|estimate| estimate)
    }

    fn share_negative(&self) -> f64 {
        // Compared exactly, since an estimate of zero computed in floats may come out on either side.
        let zero = self.response.frequencies().false_support() * Rational::from(self.people);
        let negative: u64 = self
            .tally
            .iter()
            .filter(|(count, _)| Rational::from(**count) < zero)
            .map(|(_, surveys)| surveys)
            .sum();
        negative as f64 / self.runs as f64
    }

    fn measured_deviation(&self) -> f64 {
        let mean = self.mean();
        self.average(|estimate| (estimate - mean).powi(2)).sqrt()
    }

    /// The deviation by the formula, and its bound 1/(4γ√n).
    fn deviation(&self) -> (f64, f64) {
        let frequencies = self.response.frequencies();
        let fraction = Rational::from(self.yes) / Rational::from(self.people);
        // There is at least one person, and the fraction is one, so neither can fail.
        let root = |variance: Rational| to_f64_nearest(&variance).sqrt();
        let theory = frequencies
            .variance(&fraction, self.people)
            .map_or(f64::NAN, root);
        (
            theory,
            frequencies.variance_at_most(self.people).map_or(f64::NAN, root),
        )
    }

    /// At most `most` bars. Estimates have gaps between them, so a bar holds equally many possible ones as
    /// the next: no stripes.
    fn bars(&self, most: u64) -> Vec<Bar> {
        let (Some((&first, _)), Some((&last, _))) =
            (self.tally.first_key_value(), self.tally.last_key_value())
        else {
            return Vec::new();
        };
        let width = (last - first + 1).div_ceil(most);
        let bar = |index: u64| {
            let start = first + index * width;
            Bar {
                low: self.estimate(start as f64 - 0.5),
                high: self.estimate((start + width) as f64 - 0.5),
                surveys: self
                    .tally
                    .range(start..start + width)
                    .map(|(_, surveys)| surveys)
                    .sum(),
            }
        };
        (0..=(last - first) / width).map(bar).collect()
    }

    fn figure(&self) -> Figure {
        let bars: Vec<_> = self
            .bars(BARS_DRAWN)
            .iter()
            .map(|bar| (bar.low, bar.high, bar.surveys as f64))
            .collect();
        let title = format!(
            "Estimates of {} randomized surveys of {} people",
            self.runs, self.people
        );
        Figure::new(title)
            .x_axis("estimated fraction of yes", Scale::Linear)
            .y_axis("surveys", Scale::Linear)
            .bars("estimates", &bars)
            // The last is on top: the mean is often too close to the truth to be derived from it.
            .vertical("mean of the estimates", self.mean())
            .vertical("truth", self.truth())
    }

    /// In words, as an object, and drawn.
    pub fn findings(&self) -> Findings {
        let text = self.text();
        let (theory, bound) = self.deviation();
        let mean = significant(self.mean(), 4);
        // Five standard errors of the mean.
        let near = 5.0 * theory / (self.runs as f64).sqrt();
        let deviation = significant(self.measured_deviation(), 4);
        let rows = vec![
            Row::new(
                "mean",
                "estimates are right on average",
                significant(self.truth(), 4),
                mean,
                (self.mean() - self.truth()).abs() <= near,
            ),
            Row::new(
                "deviation",
                "their standard deviation is at most 1/(4γ√n)",
                format!("{}, at most {}", significant(theory, 4), significant(bound, 4)),
                deviation,
                // What is measured of so many surveys is off by about one in √(2 runs).
                self.measured_deviation() <= bound * (1.0 + 5.0 / (2.0 * self.runs as f64).sqrt()),
            ),
        ];
        Findings {
            introduction: text.clone(),
            text,
            json: self.json(),
            title: "Randomized surveys",
            rows,
            figures: vec![self.figure()],
        }
    }

    fn text(&self) -> String {
        let (theory, bound) = self.deviation();
        let mut table = Table::new([
            Column::Left("of the estimates"),
            Column::Right("measured"),
            Column::Right("theory"),
        ]);
        table.row([
            "mean".to_owned(),
            significant(self.mean(), 4),
            significant(self.truth(), 4),
        ]);
        table.row([
            "standard deviation".to_owned(),
            significant(self.measured_deviation(), 4),
            significant(theory, 4),
        ]);
        table.row(["  at most".to_owned(), String::new(), significant(bound, 4)]);
        let negative = format!("{} %", significant(100.0 * self.share_negative(), 3));
        table.row(["below zero".to_owned(), negative, String::new()]);
        let mut text = format!(
            "{} surveys of {} people, {} of whom would truly say yes; ε = {} for each of them.\n\n{table}\n",
            self.runs,
            self.people,
            self.yes,
            self.response.epsilon(),
        );
        let bars = self.bars(BARS_WRITTEN);
        let most = bars.iter().map(|bar| bar.surveys).max().unwrap_or(1);
        // Enough decimals to tell one bar from the next, and two at least.
        let width = bars.first().map_or(1.0, |bar| bar.high - bar.low);
        let decimals = (1.0 - width.log10()).ceil().clamp(2.0, 15.0) as usize;
        for bar in bars {
            let middle = format!("{:.decimals$}", f64::midpoint(bar.low, bar.high));
            let length = (bar.surveys as f64 / most as f64 * LONGEST_BAR).round() as usize;
            // A survey that happened shows, however rare.
            let drawn = if bar.surveys > 0 && length == 0 {
                "▏".to_owned()
            } else {
                "█".repeat(length)
            };
            let _ = writeln!(text, "{middle:>8} │{drawn} {}", bar.surveys);
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let (theory, bound) = self.deviation();
        let bars = self
            .bars(BARS_DRAWN)
            .into_iter()
            .map(|bar| serde_json::json!({ "low": bar.low, "high": bar.high, "surveys": bar.surveys }));
        serde_json::json!({
            "command": "survey simulate",
            "people": self.people,
            "truly_yes": self.yes,
            "runs": self.runs,
            "epsilon": self.response.epsilon().to_string(),
            "truth_probability": to_f64_nearest(self.response.frequencies().true_support()),
            "truth": self.truth(),
            "mean": self.mean(),
            "share_negative": self.share_negative(),
            "deviation_measured": self.measured_deviation(),
            "deviation_theory": theory,
            "deviation_at_most": bound,
            "histogram": bars.collect::<Vec<_>>(),
        })
    }
}
