//! Mechanisms of known standing, for the auditor to judge.
//!
//! The broken ones are the ways in which real systems failed: floats, a sensitivity that was a factor too small, a budget charged
//! once and used twice. The correct ones are ours, through the same door that every release takes.

use super::explained;
use super::run::examine;
use crate::terminal::CliError;
use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
use audit::black_box::{BlackBox, Feature, Finding, Side, Verdict};
use exact::{Rational, ratio};
use mechanism::{Account, Aggregate, Laplace, MemoryLedger, RandomizedResponse, Sensitive};
use noise::{DiscreteLaplace, Entropy, OsEntropy};

/// A mechanism, what it claims, and what is known of the claim.
pub(super) struct Subject {
    /// What it is.
    pub(super) name: &'static str,
    /// What is wrong with it, or why nothing is.
    pub(super) remark: &'static str,
    /// The ε it claims, at δ = 0, as people write it.
    pub(super) claimed: &'static str,
    /// The same, rounded up.
    pub(super) claimed_at_most: f64,
    /// The verdict that is right.
    pub(super) expected: Verdict,
    /// Draws, and examines.
    pub(super) audit: fn(&BlackBox) -> Result<Finding, CliError>,
}

/// ln 3 rounded up in the last digit.
const LN_3: f64 = 1.098_612_288_668_11;

/// All of them, the broken first.
pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "textbook float Laplace",
        remark: "its low bits depend on the true value",
        claimed: "1",
        claimed_at_most: 1.0,
        expected: Verdict::Refuted,
        audit: float_laplace,
    },
    Subject {
        name: "understated sensitivity",
        remark: "noise for a sum that moves by 1, and it moves by 2",
        claimed: "1",
        claimed_at_most: 1.0,
        expected: Verdict::Refuted,
        audit: understated_sensitivity,
    },
    Subject {
        name: "doubled budget",
        remark: "two answers of ε = 1 each, charged once",
        claimed: "1",
        claimed_at_most: 1.0,
        expected: Verdict::Refuted,
        audit: doubled_budget,
    },
    Subject {
        name: "Laplace through an account",
        remark: "exact noise, charged before it is drawn",
        claimed: "1",
        claimed_at_most: 1.0,
        expected: Verdict::Consistent,
        audit: laplace,
    },
    Subject {
        name: "randomized response through an account",
        remark: "γ = 1/4",
        claimed: "ln 3",
        claimed_at_most: LN_3,
        expected: Verdict::Consistent,
        audit: randomized_response,
    },
];

/// Draws so often from each side, or stops at the first error.
fn collect<O>(
    black_box: &BlackBox,
    mut draw: impl FnMut(Side) -> Result<O, CliError>,
) -> Result<[Vec<O>; 2], CliError> {
    let mut side = |side| {
        (0..black_box.samples_per_side)
            .map(|_| draw(side))
            .collect::<Result<Vec<O>, CliError>>()
    };
    Ok([side(Side::First)?, side(Side::Second)?])
}

/// A count of 0 and of 1.
fn count(side: Side) -> i64 {
    i64::from(side == Side::Second)
}

/// Inverts the distribution function in floats, as textbooks do.
fn float_laplace(black_box: &BlackBox) -> Result<Finding, CliError> {
    let mut entropy = OsEntropy::new().map_err(explained)?;
    let mut noise = || {
        let uniform = (entropy.bits(53) as f64 + 0.5) * (-53f64).exp2() - 0.5;
        -uniform.signum() * (1.0 - 2.0 * uniform.abs()).ln()
    };
    let outputs = collect(black_box, |side| Ok(count(side) as f64 + noise()))?;
    examine(black_box, &outputs, &Feature::<f64>::standard())
}

fn understated_sensitivity(black_box: &BlackBox) -> Result<Finding, CliError> {
    let mut entropy = OsEntropy::new().map_err(explained)?;
    let noise = DiscreteLaplace::new(&Rational::ONE).map_err(explained)?;
    let outputs = collect(black_box, |side| Ok(2 * count(side) + noise.sample(&mut entropy)))?;
    examine(black_box, &outputs, &Feature::<i64>::standard())
}

fn doubled_budget(black_box: &BlackBox) -> Result<Finding, CliError> {
    let mut entropy = OsEntropy::new().map_err(explained)?;
    let noise = DiscreteLaplace::new(&Rational::ONE).map_err(explained)?;
    let outputs = collect(black_box, |side| {
        let mut answer = || count(side) + noise.sample(&mut entropy);
        Ok((answer(), answer()))
    })?;
    let features = [
        Feature::ordered("first answer", |pair: &(i64, i64)| pair.0),
        Feature::ordered("sum of both answers", |pair: &(i64, i64)| {
            pair.0.saturating_add(pair.1)
        }),
        Feature::ordered("smaller answer", |pair: &(i64, i64)| pair.0.min(pair.1)),
        Feature::ordered("larger answer", |pair: &(i64, i64)| pair.0.max(pair.1)),
    ];
    examine(black_box, &outputs, &features)
}

/// A fresh account for each draw: each is the whole life of a mechanism, ledger included.
fn account(epsilon: &Epsilon, unit: &PrivacyUnit) -> Result<Account<MemoryLedger>, CliError> {
    let budget = Budget::new(Promise::Pure(epsilon.clone()), unit.clone());
    Account::open(MemoryLedger::new(budget)).map_err(explained)
}

fn laplace(black_box: &BlackBox) -> Result<Finding, CliError> {
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let epsilon = Epsilon::parse("1").map_err(explained)?;
    let people = |side| vec![true; count(side) as usize];
    let template = Aggregate::count(&Sensitive::new(people(Side::First)), person.clone());
    let laplace =
        Laplace::new(epsilon.clone(), template.sensitivity().clone(), template.grid()).map_err(explained)?;
    let outputs = collect(black_box, |side| {
        let count = Aggregate::count(&Sensitive::new(people(side)), person.clone());
        let release = account(&epsilon, &person)?.release(&laplace, count, "self-test");
        release.map(|release| release.into_value()).map_err(explained)
    })?;
    examine(black_box, &outputs, &Feature::<i64>::standard())
}

fn randomized_response(black_box: &BlackBox) -> Result<Finding, CliError> {
    let person = PrivacyUnit::new("person", Neighbors::ChangeOne);
    let response = RandomizedResponse::binary(&ratio(1, 4)).map_err(explained)?;
    let outputs = collect(black_box, |side| {
        let answers = Aggregate::answers(Sensitive::new(vec![count(side) as u32]), person.clone());
        let release = account(response.epsilon(), &person)?.release(&response, answers, "self-test");
        release
            .map(|release| release.into_value() == [1])
            .map_err(explained)
    })?;
    examine(black_box, &outputs, &Feature::<bool>::standard())
}

#[cfg(test)]
mod tests {
    use super::LN_3;
    use exact::{Interval, from_f64};

    #[test]
    fn ln_3_is_rounded_up() {
        let claimed = from_f64(LN_3).expect("finite");
        assert!(Interval::ln_of(&exact::ratio(3, 1), 128).certainly_at_most(&claimed));
    }
}
