//! The sum of the definition, written out outcome by outcome.

use super::real::{from_zero, positive_part};
use exact::{Interval, Rational};

/// Masses of both distributions on the outcomes looked at, and a bound on P outside of them.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) pairs: Vec<(Interval, Interval)>,
    /// Encloses P of all outcomes that are not in `pairs`.
    pub(crate) unseen: Interval,
    pub(crate) bits: u32,
}

impl Table {
    /// Σ max(p − e^ε q, 0). What is unseen adds between 0 and its P-mass, since 0 ≤ max(p − e^ε q, 0) ≤ p.
    pub(crate) fn delta(&self, epsilon: &Rational) -> Interval {
        let factor = Interval::exp_of(epsilon, self.bits);
        self.pairs.iter().fold(from_zero(&self.unseen), |sum, (p, q)| {
            if *p.hi() <= *q.lo() {
                // e^ε ≥ 1, so the term is zero.
                return sum;
            }
            sum.add(&positive_part(&p.sub(&factor.mul(q))))
        })
    }
}
