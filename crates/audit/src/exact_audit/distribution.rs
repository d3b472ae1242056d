//! Any distribution that can be audited, and which rule compares which two.

use super::finite::FinitePair;
use super::gaussian::GaussianPair;
use super::piecewise::PiecewisePair;
use super::{Direction, Disjoint, Finite, Gaussian, Lattice, Piecewise, lattice};
use crate::Error;

/// The distribution of a mechanism's output on one input.
#[derive(Clone, Debug)]
pub enum Distribution {
    /// Finitely many outcomes, aligned by index.
    Finite(Finite),
    /// A grid of numbers.
    Lattice(Lattice),
    /// A density in exponential pieces.
    Piecewise(Piecewise),
    /// A normal distribution.
    Gaussian(Gaussian),
}

impl From<Finite> for Distribution {
    fn from(distribution: Finite) -> Self {
        Distribution::Finite(distribution)
    }
}

impl From<Lattice> for Distribution {
    fn from(distribution: Lattice) -> Self {
        Distribution::Lattice(distribution)
    }
}

impl From<Piecewise> for Distribution {
    fn from(distribution: Piecewise) -> Self {
        Distribution::Piecewise(distribution)
    }
}

impl From<Gaussian> for Distribution {
    fn from(distribution: Gaussian) -> Self {
        Distribution::Gaussian(distribution)
    }
}

/// How far P exceeds e^ε Q.
pub(super) fn direction<'a>(
    p: &'a Distribution,
    q: &'a Distribution,
) -> Result<Box<dyn Direction + 'a>, Error> {
    Ok(match (p, q) {
        (Distribution::Finite(p), Distribution::Finite(q)) => Box::new(FinitePair::new(p, q)?),
        (Distribution::Lattice(p), Distribution::Lattice(q)) => lattice::direction(p, q),
        (Distribution::Piecewise(p), Distribution::Piecewise(q)) => Box::new(PiecewisePair::new(p, q)),
        (Distribution::Gaussian(p), Distribution::Gaussian(q)) => Box::new(GaussianPair::new(p, q)),
        // A density gives no mass to a grid, and a grid distribution none to anything else.
        (Distribution::Lattice(_), Distribution::Piecewise(_) | Distribution::Gaussian(_)) => {
            Box::new(Disjoint)
        }
        (Distribution::Piecewise(_) | Distribution::Gaussian(_), Distribution::Lattice(_)) => {
            Box::new(Disjoint)
        }
        _ => return Err(Error::Incomparable),
    })
}
