//! Any law that can be audited, and which rule compares which two.

use super::finite::FinitePair;
use super::gaussian::GaussianPair;
use super::piecewise::PiecewisePair;
use super::{Direction, Disjoint, Finite, Gaussian, Lattice, Piecewise, lattice};
use crate::Error;

/// The distribution of a mechanism's output on one input.
#[derive(Clone, Debug)]
pub enum Law {
    /// Finitely many outcomes, aligned by index.
    Finite(Finite),
    /// A grid of numbers.
    Lattice(Lattice),
    /// A density in exponential pieces.
    Piecewise(Piecewise),
    /// A normal distribution.
    Gaussian(Gaussian),
}

impl From<Finite> for Law {
    fn from(law: Finite) -> Self {
        Law::Finite(law)
    }
}

impl From<Lattice> for Law {
    fn from(law: Lattice) -> Self {
        Law::Lattice(law)
    }
}

impl From<Piecewise> for Law {
    fn from(law: Piecewise) -> Self {
        Law::Piecewise(law)
    }
}

impl From<Gaussian> for Law {
    fn from(law: Gaussian) -> Self {
        Law::Gaussian(law)
    }
}

/// How far P exceeds e^ε Q.
pub(super) fn direction<'a>(p: &'a Law, q: &'a Law) -> Result<Box<dyn Direction + 'a>, Error> {
    Ok(match (p, q) {
        (Law::Finite(p), Law::Finite(q)) => Box::new(FinitePair::new(p, q)?),
        (Law::Lattice(p), Law::Lattice(q)) => lattice::direction(p, q),
        (Law::Piecewise(p), Law::Piecewise(q)) => Box::new(PiecewisePair::new(p, q)),
        (Law::Gaussian(p), Law::Gaussian(q)) => Box::new(GaussianPair::new(p, q)),
        // A density gives no mass to a grid, and a grid law none to anything else.
        (Law::Lattice(_), Law::Piecewise(_) | Law::Gaussian(_)) => Box::new(Disjoint),
        (Law::Piecewise(_) | Law::Gaussian(_), Law::Lattice(_)) => Box::new(Disjoint),
        _ => return Err(Error::Incomparable),
    })
}
