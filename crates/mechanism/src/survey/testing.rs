//! What the audits of the survey mechanisms share.

use super::*;
use crate::{Account, Mechanism, MemoryLedger};
use accounting::{Budget, Neighbors};
use audit::exact_audit::{Answer, Distribution, Finite, smallest_epsilon};

pub(crate) const FALSE_ALARM: f64 = 1e-9;

/// The share of one of several checks: no test here makes more than 32, so a whole test keeps its false-alarm rate.
pub(crate) const SHARE: f64 = FALSE_ALARM / 32.0;

pub(crate) fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

pub(crate) fn respondent() -> PrivacyUnit {
    PrivacyUnit::new("respondent", Neighbors::ChangeOne)
}

/// The reports on these answers, through an account that can pay for exactly one release.
pub(crate) fn release<M: Mechanism<Vec<u32>>>(mechanism: &M, answers: Vec<u32>) -> M::Output {
    let budget = Budget::new(mechanism.terms().promise().clone(), respondent());
    let mut account = Account::open(MemoryLedger::new(budget)).unwrap();
    let input = Aggregate::answers(Sensitive::new(answers), respondent());
    account
        .release_by(mechanism, input, "audit")
        .unwrap()
        .into_value()
}

/// Holds the distributions of one report, one distribution for each answer, to a claim: ε is as claimed within 1e-12, and never above.
///
/// Returns whether every likelihood ratio is certainly at most e^claim.
pub(crate) fn judge(distributions: &[Vec<Rational>], claim: &Rational, tight: bool) -> bool {
    let distributions: Vec<(&Vec<Rational>, Distribution)> = distributions
        .iter()
        .map(|distribution| {
            (
                distribution,
                Finite::from_rationals(distribution.clone()).unwrap().into(),
            )
        })
        .collect();
    let limit = Interval::exp_of(claim, 600);
    let (mut largest, mut within) = (Rational::ZERO, true);
    for (first, first_distribution) in &distributions {
        for (second, second_distribution) in &distributions {
            let Answer::Finite(needed) =
                smallest_epsilon(first_distribution, second_distribution, &Rational::ZERO).unwrap()
            else {
                panic!("an outcome that only one answer can have");
            };
            largest = largest.max(needed.upper());
            within &= first
                .iter()
                .zip(*second)
                .all(|(p, q)| limit.certainly_at_least(&(p / q)));
        }
    }
    if tight {
        assert!(&largest - claim <= ratio(1, 1_000_000_000_000));
        assert!(
            claim - &largest <= ratio(1, 1_000_000_000_000),
            "the claim is more than is needed"
        );
    }
    within
}
