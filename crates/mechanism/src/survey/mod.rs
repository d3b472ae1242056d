//! What the survey mechanisms share: answers as input, probabilities that keep ε, and estimates from reports.

use crate::{Accuracy, Aggregate, Error, Sensitive, Sensitivity, Terms};
use accounting::{Epsilon, Event, Neighbors, PrivacyUnit, Promise};
use exact::{Interval, Rational, from_f64, ratio, to_f64_down, to_f64_nearest, to_f64_up};
use noise::Grid;

/// More answers than this are no list that a person chooses from.
const MOST_ANSWERS: u32 = 1 << 20;

/// Precision of e^ε. For ε between 1e-9 and 64 this leaves 150 significant bits or more in every probability made from it.
const BITS: u32 = 256;

impl Aggregate<Vec<u32>> {
    /// One answer from each unit: the number of the answer in a public list.
    ///
    /// A unit that changes changes one answer. Answers are names, not amounts, so that counts as one step whatever the two numbers.
    pub fn answers(answers: Sensitive<Vec<u32>>, unit: PrivacyUnit) -> Self {
        Self::claimed(answers, one_answer(), unit, Grid::new(0))
    }
}

/// One unit has one answer.
fn one_answer() -> Sensitivity {
    Sensitivity::scalar(1).expect("one is positive")
}

/// What all surveys state. The accuracy is what one report alone tells of a fraction, at most; n of them are √n times better.
pub(crate) fn terms(event: Event, epsilon: Epsilon, frequencies: &Frequencies) -> Terms {
    let variance = frequencies.variance_at_most(1).expect("one report");
    let accuracy = Accuracy::Estimate {
        deviation: to_f64_up(&variance).sqrt() * (1.0 + 1e-12),
    };
    Terms::new(one_answer(), event, Promise::Pure(epsilon), accuracy).only_for(Neighbors::ChangeOne)
}

/// Refuses a number of answers that is no survey.
pub(crate) fn check_answers(answers: u32) -> Result<(), Error> {
    if (2..=MOST_ANSWERS).contains(&answers) {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what: "the number of answers",
        range: "between 2 and 1048576",
    })
}

/// Refuses an ε at which reports would say nothing, or everything.
pub(crate) fn check_epsilon(epsilon: &Epsilon) -> Result<(), Error> {
    if *epsilon == Epsilon::ZERO {
        return Err(Error::NoEpsilon);
    }
    if *epsilon.as_rational() < ratio(1, 1_000_000_000) || *epsilon.as_rational() > ratio(64, 1) {
        return Err(Error::OutOfRange {
            what: "the ε of a survey",
            range: "between 1e-9 and 64",
        });
    }
    Ok(())
}

/// A rational r with 1 < r ≤ e^exponent, and hardly less. Every probability is computed from it exactly, so that the likelihood
/// ratio of a report is r or a power of it, and at most e^ε by construction.
pub(crate) fn likelihood_ratio(exponent: &Rational) -> Rational {
    Interval::exp_of(exponent, BITS).lower()
}

/// What reports say about how common one answer is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The fraction of units with this answer, without bias. It may be below 0 or above 1; cutting it there would bias it.
    pub fraction: f64,
    /// The standard deviation of `fraction`, if the true fraction is the one estimated (cut to between 0 and 1).
    pub deviation: f64,
    /// The lower end of the interval, at least 0.
    pub low: f64,
    /// The upper end of the interval, at most 1.
    pub high: f64,
}

/// How reports tell the fraction of each answer, and how well.
///
/// Each report supports some answers. It supports the true answer of its unit with probability p, and any other answer with
/// probability q < p; reports are independent. If c of n reports support an answer that n·f units have, then E c = n·(f·p + (1−f)·q),
/// so (c/n − q)/(p − q) is f without bias.
#[derive(Clone, Debug, PartialEq)]
pub struct Frequencies {
    answers: u32,
    true_support: Rational,
    false_support: Rational,
    statements: u32,
}

impl Frequencies {
    /// For p = `true_support` > q = `false_support`. `statements` is how many of the intervals can fail separately.
    pub(crate) fn new(
        answers: u32,
        true_support: Rational,
        false_support: Rational,
        statements: u32,
    ) -> Self {
        debug_assert!(true_support > false_support);
        Self {
            answers,
            true_support,
            false_support,
            statements,
        }
    }

    /// How many answers there are.
    pub fn answers(&self) -> u32 {
        self.answers
    }

    /// p: with what probability a report supports the true answer.
    pub fn true_support(&self) -> &Rational {
        &self.true_support
    }

    /// q: with what probability a report supports any one other answer.
    pub fn false_support(&self) -> &Rational {
        &self.false_support
    }

    /// The variance of the estimate from `reports` reports when `fraction` of them come from units with the answer, exactly.
    ///
    /// Derivation: c is a sum of n·f coins of bias p and n·(1−f) of bias q, all independent, so the variance of (c/n − q)/(p − q)
    /// is (f·p·(1−p) + (1−f)·q·(1−q)) / (n·(p−q)²).
    pub fn variance(&self, fraction: &Rational, reports: u64) -> Result<Rational, Error> {
        if *fraction < Rational::ZERO || *fraction > Rational::ONE {
            return Err(Error::OutOfRange {
                what: "a fraction",
                range: "between 0 and 1",
            });
        }
        let coin = |bias: &Rational| bias * (Rational::ONE - bias);
        let mixed =
            fraction * coin(&self.true_support) + (Rational::ONE - fraction) * coin(&self.false_support);
        Ok(mixed / self.scale(reports)?)
    }

    /// The variance of the estimate at most, whatever the answers are, and also when the units are themselves drawn at random
    /// from a population: 1/(4n(p−q)²), because no coin has a variance above ¼. For binary randomized response that is 1/(16γ²n).
    pub fn variance_at_most(&self, reports: u64) -> Result<Rational, Error> {
        Ok(ratio(1, 4) / self.scale(reports)?)
    }

    /// n·(p−q)².
    fn scale(&self, reports: u64) -> Result<Rational, Error> {
        check_reports(reports)?;
        let gap = self.gap();
        Ok(Rational::from(reports) * &gap * &gap)
    }

    fn gap(&self) -> Rational {
        &self.true_support - &self.false_support
    }

    /// How far the estimates from `reports` reports can be off, known before any is drawn: with probability `confidence` none
    /// of them is off by more.
    ///
    /// Derivation: Hoeffding 1963: c/n is a mean of n independent numbers in [0, 1], so it is off by more than t with
    /// probability at most 2e^(−2nt²), for each answer; the risk is shared evenly (union bound), and p − q magnifies t.
    pub fn half_width(&self, reports: u64, confidence: f64) -> Result<f64, Error> {
        check_reports(reports)?;
        let risk = self.risk(confidence)?;
        let rate = ((2.0 / risk).ln() / (2.0 * reports as f64)).sqrt();
        // Ten float operations are off by less than the hair added.
        Ok(rate / to_f64_down(&self.gap()) * (1.0 + 1e-12))
    }

    fn risk(&self, confidence: f64) -> Result<f64, Error> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(Error::OutOfRange {
                what: "a confidence",
                range: "strictly between 0 and 1",
            });
        }
        Ok((1.0 - confidence) / f64::from(self.statements))
    }

    /// The estimate for each answer, given how many of `reports` reports support it. With probability `confidence` all intervals hold
    /// together: for the units asked, and also for a population from which they are a simple random sample with replacement.
    ///
    /// Derivation: Hoeffding 1963: for independent coins of mean bias μ, c/n is at least a > μ (or at most a < μ) with
    /// probability at most e^(−n·D(a‖μ)), D being the relative entropy. So the set of all μ with n·D(c/n‖μ) ≤ ln(2/risk) holds the true
    /// one but for the risk; it is an interval, μ = f·p + (1−f)·q carries it to f, and f lies in [0, 1] anyway. No normal
    /// approximation is made; since D(a‖μ) ≥ 2(a−μ)² it is never wider than [`Frequencies::half_width`] says, but for rounding.
    pub fn estimate(&self, supports: &[u64], reports: u64, confidence: f64) -> Result<Vec<Estimate>, Error> {
        check_reports(reports)?;
        let risk = self.risk(confidence)?;
        if supports.len() != self.answers as usize || supports.iter().any(|count| *count > reports) {
            let range = "one for each answer, none above the number of reports";
            return Err(Error::OutOfRange {
                what: "the counts of supporting reports",
                range,
            });
        }
        let gap = self.gap();
        let fraction = |rate: Rational| (rate - &self.false_support) / &gap;
        let one = |&count: &u64| {
            let estimate = fraction(Rational::from(count) / Rational::from(reports));
            let (low, high) = rate_interval(count, reports, risk);
            let end = |rate: f64| fraction(from_f64(rate).expect("a rate is finite"));
            let variance = self.variance(&estimate.clone().clamp(Rational::ZERO, Rational::ONE), reports)?;
            Ok(Estimate {
                fraction: to_f64_nearest(&estimate),
                deviation: to_f64_nearest(&variance).sqrt(),
                low: to_f64_down(&end(low)).clamp(0.0, 1.0),
                high: to_f64_up(&end(high)).clamp(0.0, 1.0),
            })
        };
        supports.iter().map(one).collect()
    }
}

fn check_reports(reports: u64) -> Result<(), Error> {
    if reports == 0 {
        return Err(Error::OutOfRange {
            what: "the number of reports",
            range: "at least 1",
        });
    }
    Ok(())
}

/// All rates μ with n·D(c/n‖μ) ≤ ln(2/risk), and a hair more.
fn rate_interval(count: u64, reports: u64, risk: f64) -> (f64, f64) {
    let rate = count as f64 / reports as f64;
    // D is a difference of terms of at most 1, each off by a few 2⁻⁵³; the slack is larger than all of that.
    let limit = (2.0 / risk).ln() / reports as f64 * (1.0 + 1e-12) + 1e-14;
    // D grows with the distance from the rate on either side; `outside` is always beyond the limit, or at the end of [0, 1].
    let search = |mut outside: f64| {
        let mut inside = rate;
        for _ in 0..200 {
            let middle = f64::midpoint(inside, outside);
            if relative_entropy(rate, middle) > limit {
                outside = middle
            } else {
                inside = middle
            }
        }
        outside
    };
    (search(0.0), search(1.0))
}

/// D(a‖μ) = a·ln(a/μ) + (1−a)·ln((1−a)/(1−μ)), where 0·ln 0 = 0.
fn relative_entropy(a: f64, mean: f64) -> f64 {
    let term = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    term(a, mean) + term(1.0 - a, 1.0 - mean)
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
