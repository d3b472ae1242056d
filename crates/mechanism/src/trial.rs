//! What the audits of mechanisms share: draws on two neighbouring inputs, and exact laws.

use crate::endless::{person, sample};
use crate::{Aggregate, Mechanism, Sensitive};
use accounting::Neighbors;
use audit::black_box::{Feature, Finding, Side};
use audit::exact_audit::{Answer, Finite, Law, smallest_epsilon};
use exact::{Integer, Interval, Rational, ratio};
use noise::Grid;

/// How often an audit here refutes a right mechanism.
pub(crate) const FALSE_ALARM: f64 = 1e-9;

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

/// The smallest ε of two laws at δ = 0.
pub(crate) fn loss(p: &Finite, q: &Finite) -> Interval {
    match smallest_epsilon(&Law::from(p.clone()), &Law::from(q.clone()), &Rational::ZERO).unwrap() {
        Answer::Finite(epsilon) => epsilon,
        Answer::NoFinite { .. } => panic!("no finite ε"),
    }
}

/// Whether the smallest ε of two laws is at most `claimed`, where equality is round-off of 1e-12.
pub(crate) fn keeps(p: &Finite, q: &Finite, claimed: &Rational) -> bool {
    loss(p, q).upper() <= claimed * (Rational::ONE + ratio(1, 1_000_000_000_000))
}

/// Discrete Laplace Z, enclosed: its powers of a = e^(−1/scale) are computed once.
pub(crate) struct LaplaceTable {
    powers: Vec<Interval>,
    /// 1/(1+a).
    share: Interval,
    bits: u32,
}

impl LaplaceTable {
    /// For −reach ≤ Z ≤ reach, with `bits` fractional bits.
    pub(crate) fn new(scale: &Rational, reach: i64, bits: u32) -> Self {
        // Each product adds a unit or two of error: 32 guard bits are plenty.
        let work = bits + 32;
        let a = Interval::exp_of(&(-Rational::ONE / scale), work);
        let one = Interval::from_integer(1, work);
        let mut power = one.clone();
        let powers = (0..=reach + 1).map(|_| {
            let now = power.clone();
            power = power.mul(&a);
            now
        });
        Self {
            powers: powers.collect(),
            share: one.div(&one.add(&a)).unwrap(),
            bits,
        }
    }

    /// The reach outside of which there is less than 2^-bits.
    pub(crate) fn enough(scale: &Rational, bits: u32) -> i64 {
        i64::try_from((scale * Rational::from(bits) * ratio(7, 10)).ceil()).unwrap() + 1
    }

    /// P[Z ≥ r] = a^r/(1+a) for r ≥ 1, and 1 − P[Z ≥ 1−r] otherwise.
    pub(crate) fn tail(&self, r: i64) -> Interval {
        let share = |k: i64| self.powers[k as usize].mul(&self.share).with_bits(self.bits);
        if r >= 1 {
            share(r)
        } else {
            Interval::from_integer(1, self.bits).sub(&share(1 - r))
        }
    }

    /// Σ_k P[Z = k]·f(k) over |k| ≤ reach, of several f with values in [0, 1] at once; outside f is only known to be in [0, 1].
    pub(crate) fn mean(&self, count: usize, reach: i64, f: impl Fn(i64) -> Vec<Interval>) -> Vec<Interval> {
        let outside = self.tail(reach + 1).scale(&Integer::from(2));
        let unseen = Interval::from_ends(Integer::ZERO, outside.hi().clone(), self.bits);
        let mut sums = vec![unseen; count];
        for k in -reach..=reach {
            let mass = self.tail(k).sub(&self.tail(k + 1));
            for (sum, value) in sums.iter_mut().zip(f(k)) {
                *sum = sum.add(&mass.mul(&value));
            }
        }
        sums
    }
}
