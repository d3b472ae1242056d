//! What the audits of mechanisms share: draws on two neighbouring inputs, and exact distributions.

use crate::{Account, Aggregate, Mechanism, Sensitive, UnlimitedLedger};
use accounting::{Neighbors, PrivacyUnit};
use audit::black_box::{BlackBox, Feature, Finding, Side};
pub(crate) use audit::exact_audit::LaplaceTable;
use audit::exact_audit::{Answer, Distribution, Finite, smallest_epsilon};
use exact::{Interval, Rational, ratio};
use noise::Grid;

/// How often an audit here refutes a right mechanism.
pub(crate) const FALSE_ALARM: f64 = 1e-9;

pub(crate) fn person(neighbors: Neighbors) -> PrivacyUnit {
    PrivacyUnit::new("person", neighbors)
}

pub(crate) fn account(neighbors: Neighbors) -> Account<UnlimitedLedger> {
    Account::open(UnlimitedLedger::of_persons(neighbors)).unwrap()
}

/// Runs the mechanism through an account on both sides, at a false-alarm rate of 1e-9.
pub(crate) fn sample<I, M: Mechanism<I>>(
    mechanism: &M,
    neighbors: Neighbors,
    input: impl Fn(Side) -> Aggregate<I>,
    features: &[Feature<M::Output>],
    samples_per_side: u64,
    delta: f64,
) -> Finding {
    let mut account = account(neighbors);
    let draw = |side| {
        account
            .release_by(mechanism, input(side), "audit")
            .unwrap()
            .into_value()
    };
    BlackBox {
        samples_per_side,
        delta,
        confidence: 1.0 - 1e-9,
    }
    .audit(draw, features)
    .unwrap()
}

/// An input of which it is said that no unit moves it further than the mechanism was calibrated for, whether that is so or not.
pub(crate) fn claimed<I, M: Mechanism<I>>(mechanism: &M, value: I) -> Aggregate<I> {
    let grid = mechanism.terms().grid().unwrap_or(Grid::new(0));
    let sensitivity = mechanism.terms().sensitivity().clone();
    Aggregate::claimed(
        Sensitive::new(value),
        sensitivity,
        person(Neighbors::AddRemove),
        grid,
    )
}

/// Releases on both inputs, again and again, and what the answers prove.
pub(crate) fn black_box<I: Clone, M: Mechanism<I>>(
    mechanism: &M,
    pair: [&I; 2],
    samples_per_side: u64,
    delta: f64,
    feature: impl Fn(&M::Output) -> i64 + 'static,
) -> Finding {
    let input = |side| {
        let value = match side {
            Side::First => pair[0],
            Side::Second => pair[1],
        };
        claimed(mechanism, value.clone())
    };
    let features = [Feature::ordered("output", feature)];
    sample(
        mechanism,
        Neighbors::AddRemove,
        input,
        &features,
        samples_per_side,
        delta,
    )
}

/// The smallest ε of two distributions at δ = 0.
pub(crate) fn loss(p: &Finite, q: &Finite) -> Interval {
    match smallest_epsilon(
        &Distribution::from(p.clone()),
        &Distribution::from(q.clone()),
        &Rational::ZERO,
    )
    .unwrap()
    {
        Answer::Finite(epsilon) => epsilon,
        Answer::NoFinite { .. } => panic!("no finite ε"),
    }
}

/// Whether the smallest ε of two distributions is at most `claimed`, where equality is round-off of 1e-12.
pub(crate) fn keeps(p: &Finite, q: &Finite, claimed: &Rational) -> bool {
    loss(p, q).upper() <= claimed * (Rational::ONE + ratio(1, 1_000_000_000_000))
}
