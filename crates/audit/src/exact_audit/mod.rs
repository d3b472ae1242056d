//! The smallest δ for an ε, and the smallest ε for a δ, from two output distributions.
//!
//! For distributions P and Q of a mechanism's output on two neighbouring inputs, (ε, δ)-differential privacy
//! says P(S) ≤ e^ε Q(S) + δ for every event S, and the same with P and Q exchanged. The event that needs the
//! largest δ is S = {y : p(y) > e^ε q(y)}, so the smallest δ is
//!
//! ```text
//! δ(ε) = max over both directions of   Σ_y max(p(y) − e^ε q(y), 0)      (∫ for densities).
//! ```
//!
//! That one line is the whole definition. The rest of the module evaluates it without ever rounding the wrong
//! way. Answers are [`Interval`]s that certainly contain the number asked for. Both directions are always
//! checked: a mechanism that is private in one direction only is not private.
//!
//! δ(ε) falls as ε grows, towards the *gap* P(q = 0): the mass of outputs that rule the other input out for
//! certain. Below the gap no finite ε exists, and [`smallest_epsilon`] says so instead of returning a large
//! number.

mod discrete_gaussian;
mod distribution;
mod finite;
mod gaussian;
mod laplace_pair;
mod laplace_table;
mod lattice;
mod mills;
mod piecewise;
mod real;
mod search;
mod shape;
mod table;

pub use distribution::Distribution;
pub use finite::Finite;
pub use gaussian::Gaussian;
pub use laplace_table::LaplaceTable;
pub use lattice::{Lattice, Window};
pub use piecewise::{Piece, Piecewise};
pub use real::Real;
pub use search::{Answer, satisfies, smallest_delta, smallest_delta_at, smallest_epsilon};

use crate::Error;
use exact::{Interval, Rational};

/// One direction of the question: how far P exceeds e^ε Q.
pub(crate) trait Direction {
    /// ∫ max(p − e^ε q, 0), enclosed with about `bits` bits.
    fn delta(&self, epsilon: &Rational, bits: u32) -> Result<Interval, Error>;

    /// P(q = 0): the infimum of `delta` over all finite ε, by monotone convergence.
    fn gap(&self, bits: u32) -> Result<Gap, Error>;

    /// The supremum of ln(p/q) where both are positive.
    fn supremum(&self, bits: u32) -> Result<Supremum, Error>;
}

/// A mass that is sometimes known exactly, which matters because the answer jumps there.
#[derive(Clone, Debug)]
pub(crate) enum Gap {
    Exact(Rational),
    Within(Interval),
}

impl Gap {
    pub(crate) fn enclosure(&self, bits: u32) -> Interval {
        match self {
            Gap::Exact(value) => Interval::from_rational(value, bits),
            Gap::Within(interval) => interval.with_bits(bits),
        }
    }
}

/// The largest privacy loss, where the two distributions overlap.
#[derive(Clone, Debug)]
pub(crate) enum Supremum {
    Bounded(Interval),
    Unbounded,
    /// Not known here. Where the distributions are of unlike shape the other direction is unbounded and
    /// decides alone.
    Unknown,
}

/// Two distributions that share no outcome: an output names its input.
pub(crate) struct Disjoint;

impl Direction for Disjoint {
    fn delta(&self, _: &Rational, bits: u32) -> Result<Interval, Error> {
        Ok(Interval::from_integer(1, bits))
    }

    fn gap(&self, _: u32) -> Result<Gap, Error> {
        Ok(Gap::Exact(Rational::ONE))
    }

    fn supremum(&self, bits: u32) -> Result<Supremum, Error> {
        Ok(Supremum::Bounded(Interval::from_integer(0, bits)))
    }
}
