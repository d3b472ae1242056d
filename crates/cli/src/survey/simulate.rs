//! `survey simulate`: many synthetic surveys, and how far their estimates are from the truth.

use clap::Args;
use exact::{Rational, ratio, to_f64_nearest};
use mechanism::{RandomizedResponse, Sensitive};
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::method::NoiseArguments;
use crate::delivery::Outputs;
use crate::terminal::{CliError, explained, fail};
use ::report::{Column, Figure, Findings, Row, Scale, Table, significant};

/// This many respondents are randomized at a time: the progress bar moves, and memory stays small.
const AT_A_TIME: u64 = 1 << 17;
/// Bars of a histogram in a picture, and in the terminal, at most.
const BARS_DRAWN: u64 = 60;
const BARS_WRITTEN: u64 = 24;
/// The longest bar in the terminal, in characters.
const LONGEST_BAR: f64 = 48.0;

const NOTES: &str = "\
All people here are synthetic. Each of the people answers yes or no by randomized response; the fraction of yes is \
estimated from the reports alone; and that is done many times. On average the estimate is the truth, and some \
estimates are below zero: noise is not cut off, because that would bias it. Without --gamma or --epsilon, γ is 0.25.

Example (a quarter more likely to be true than a coin, ε = ln 3):
  deniable survey simulate --people 100 --fraction 0.2 --gamma 0.25 --runs 10000 --plot histogram.svg";

#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(super) struct Arguments {
    /// How many people each survey asks.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    people: u64,
    /// Which fraction of them would truly say yes.
    #[arg(long, default_value = "0.2", allow_negative_numbers = true)]
    fraction: String,
    #[command(flatten)]
    noise: NoiseArguments,
    /// How many surveys.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    runs: u64,
    #[command(flatten)]
    outputs: Outputs,
}

/// What came out.
struct Outcome {
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

pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    arguments.outputs.give(&simulate(arguments)?.findings())
}

fn simulate(arguments: &Arguments) -> Result<Outcome, CliError> {
    let response = match (arguments.noise.binary()?, arguments.noise.epsilon()?) {
        (Some(response), _) => response,
        (None, Some(epsilon)) => RandomizedResponse::new(epsilon, 2).map_err(explained)?,
        (None, None) => RandomizedResponse::binary(&ratio(1, 4)).map_err(explained)?,
    };
    let fraction = exact::parse_decimal(&arguments.fraction)
        .ok()
        .filter(|fraction| (Rational::ZERO..=Rational::ONE).contains(fraction));
    let Some(fraction) = fraction else {
        return fail(
            "--fraction must be a number between 0 and 1",
            "write it as 0.2 or 1/5",
        );
    };
    let (people, runs) = (arguments.people, arguments.runs);
    // The nearest whole number of people; at most all of them, since the fraction is at most 1.
    let yes = u64::try_from((fraction * Rational::from(people) + ratio(1, 2)).floor()).unwrap_or(people);
    // At most 10^18, as both factors are at most 10^9.
    let total = people * runs;
    let progress = arguments.outputs.progress("asking", total);
    let mut tally = BTreeMap::new();
    let (mut asked, mut reported_yes) = (0u64, 0u64);
    while asked < total {
        let last = total.min(asked + AT_A_TIME);
        let answers = (asked..last)
            .map(|respondent| u32::from(respondent % people < yes))
            .collect();
        // Every respondent takes part in one survey only, so each batch is on an account of its own.
        let (reports, _) = mechanism::release_answers(&response, Sensitive::new(answers), "simulation")
            .map_err(explained)?;
        for (respondent, report) in (asked..last).zip(reports) {
            reported_yes += u64::from(report);
            if (respondent + 1) % people == 0 {
                *tally.entry(std::mem::take(&mut reported_yes)).or_insert(0) += 1;
            }
        }
        progress.advance(last - asked);
        asked = last;
    }
    Ok(Outcome {
        response,
        people,
        yes,
        runs,
        tally,
    })
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

    /// At most `most` bars. Estimates have gaps between them, so a bar holds equally many possible ones as the next: no stripes.
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

    fn findings(&self) -> Findings {
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
