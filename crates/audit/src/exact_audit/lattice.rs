//! Distributions on a grid of numbers, with certified tails.

use super::discrete_gaussian::DiscreteGaussianPair;
use super::laplace_pair::LaplacePair;
use super::real::magnification;
use super::shape::{WIDEST, gaussian_masses, gaussian_window, laplace_coefficient, laplace_window};
use super::table::Table;
use super::{Direction, Disjoint, Gap, Supremum};
use crate::Error;
use exact::{Integer, Interval, Rational};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// The indices that carry all but a little of a distribution's mass.
#[derive(Clone, Debug)]
pub struct Window {
    /// The first index inside.
    pub first: i64,
    /// The last index inside.
    pub last: i64,
    /// Contains the mass of all indices outside; `[0, bound]` will do.
    pub outside: Interval,
}

type MassFunction = Arc<dyn Fn(i64, u32) -> Interval + Send + Sync>;
type WindowFunction = Arc<dyn Fn(u32) -> Window + Send + Sync>;

#[derive(Clone)]
enum Shape {
    Laplace {
        scale: Rational,
    },
    Gaussian {
        variance: Rational,
    },
    Custom {
        mass: MassFunction,
        window: WindowFunction,
    },
}

/// The distribution of `offset + spacing · K` for a random integer K.
///
/// The offset is a rational of its own so that a real sum plus integer noise can be described: two such
/// distributions may have no output in common.
#[derive(Clone)]
pub struct Lattice {
    offset: Rational,
    spacing: Rational,
    shape: Shape,
}

impl Lattice {
    fn of(shape: Shape) -> Self {
        Self {
            offset: Rational::ZERO,
            spacing: Rational::ONE,
            shape,
        }
    }

    /// P(k) ∝ e^(−|k|/scale) on the integers (also called two-sided geometric).
    pub fn discrete_laplace(scale: &Rational) -> Result<Self, Error> {
        if *scale <= Rational::ZERO {
            return Err(Error::NotPositive { parameter: "scale" });
        }
        Ok(Self::of(Shape::Laplace { scale: scale.clone() }))
    }

    /// P(k) ∝ e^(−k²/(2·variance)) on the integers.
    pub fn discrete_gaussian(variance: &Rational) -> Result<Self, Error> {
        if *variance <= Rational::ZERO {
            return Err(Error::NotPositive {
                parameter: "variance",
            });
        }
        Ok(Self::of(Shape::Gaussian {
            variance: variance.clone(),
        }))
    }

    /// Any distribution on the integers: `mass(k, bits)` encloses P(k); `window(bits)` names indices that
    /// carry all but about 2^-bits of the mass. Both are the caller's word.
    pub fn custom(
        mass: impl Fn(i64, u32) -> Interval + Send + Sync + 'static,
        window: impl Fn(u32) -> Window + Send + Sync + 'static,
    ) -> Self {
        Self::of(Shape::Custom {
            mass: Arc::new(mass),
            window: Arc::new(window),
        })
    }

    /// The same K on the grid `offset + spacing · K`.
    pub fn on_grid(self, offset: &Rational, spacing: &Rational) -> Result<Self, Error> {
        if *spacing <= Rational::ZERO {
            return Err(Error::NotPositive { parameter: "spacing" });
        }
        Ok(Self {
            offset: offset.clone(),
            spacing: spacing.clone(),
            ..self
        })
    }

    /// Every output plus `by`, which need not be a multiple of the spacing.
    pub fn shifted(self, by: &Rational) -> Self {
        Self {
            offset: self.offset + by,
            ..self
        }
    }

    /// Encloses P(K = index).
    pub fn mass(&self, index: i64, bits: u32) -> Interval {
        match &self.shape {
            Shape::Laplace { scale } => {
                let work = bits + 8;
                let power = Interval::exp_of(&(-Rational::from(index.unsigned_abs()) / scale), work);
                power.mul(&laplace_coefficient(scale, work)).with_bits(bits)
            }
            Shape::Gaussian { .. } => self.masses(index, index, bits).remove(0),
            Shape::Custom { mass, .. } => mass(index, bits).with_bits(bits),
        }
    }

    pub(crate) fn masses(&self, first: i64, last: i64, bits: u32) -> Vec<Interval> {
        match &self.shape {
            Shape::Gaussian { variance } => gaussian_masses(variance, first, last, bits),
            _ => (first..=last).map(|index| self.mass(index, bits)).collect(),
        }
    }

    /// Indices that carry all but about 2^-bits of the mass, with a certified bound on the rest.
    pub fn window(&self, bits: u32) -> Result<Window, Error> {
        let window = match &self.shape {
            Shape::Laplace { scale } => laplace_window(scale, bits)?,
            Shape::Gaussian { variance } => gaussian_window(variance, bits)?,
            Shape::Custom { window, .. } => window(bits),
        };
        if window.last - window.first > WIDEST {
            return Err(Error::TooWide);
        }
        Ok(window)
    }
}

impl fmt::Debug for Lattice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match &self.shape {
            Shape::Laplace { scale } => format!("DiscreteLaplace({scale})"),
            Shape::Gaussian { variance } => format!("DiscreteGaussian({variance})"),
            Shape::Custom { .. } => "Custom(..)".to_string(),
        };
        write!(formatter, "Lattice({} + {}·{shape})", self.offset, self.spacing)
    }
}

/// The rule for two grids: none in common, the rules for two Laplace distributions and for two equal Gaussian
/// ones, or term by term.
pub(super) fn direction<'a>(p: &'a Lattice, q: &'a Lattice) -> Box<dyn Direction + 'a> {
    // Two points coincide iff offset_p − offset_q = spacing_q·j − spacing_p·i for integers i, j. Such
    // combinations are exactly the multiples of gcd(spacing_p, spacing_q) = spacing_p /
    // numerator(spacing_p/spacing_q).
    let ratio = &p.spacing / &q.spacing;
    let common = &p.spacing / Rational::from(ratio.numerator().clone());
    let apart = &p.offset - &q.offset;
    if !(&apart / common).is_int() {
        return Box::new(Disjoint);
    }
    if p.spacing == q.spacing
        && let (Shape::Laplace { scale: s }, Shape::Laplace { scale: t }) = (&p.shape, &q.shape)
    {
        let distance = (&apart / &p.spacing).numerator().clone();
        return Box::new(LaplacePair::new(distance, s.clone(), t.clone()));
    }
    if p.spacing == q.spacing
        && let (Shape::Gaussian { variance: v }, Shape::Gaussian { variance: w }) = (&p.shape, &q.shape)
        && v == w
    {
        let distance = (&apart / &p.spacing).numerator().clone();
        return Box::new(DiscreteGaussianPair::new(distance, v.clone()));
    }
    Box::new(LatticePair {
        p,
        q,
        kept: RefCell::new(None),
    })
}

/// Two lattice distributions, term by term inside a window.
struct LatticePair<'a> {
    p: &'a Lattice,
    q: &'a Lattice,
    kept: RefCell<Option<Rc<Table>>>,
}

impl LatticePair<'_> {
    /// Q's index for P's index, when Q's grid has that point.
    fn partner(&self, index: i64) -> Option<i64> {
        let position = &self.p.offset + &self.p.spacing * Rational::from(index);
        let other = (position - &self.q.offset) / &self.q.spacing;
        if other.is_int() {
            i64::try_from(other.numerator().clone()).ok()
        } else {
            None
        }
    }

    fn table(&self, bits: u32) -> Result<Rc<Table>, Error> {
        if let Some(table) = &*self.kept.borrow()
            && table.bits == bits
        {
            return Ok(Rc::clone(table));
        }
        let window = self.p.window(bits)?;
        let ours = self.p.masses(window.first, window.last, bits);
        let zero = Interval::from_integer(0, bits);
        let theirs: Vec<Interval> = match (self.p.spacing == self.q.spacing, self.partner(window.first)) {
            (true, Some(first)) => self.q.masses(first, first + (window.last - window.first), bits),
            _ => (window.first..=window.last)
                .map(|index| {
                    self.partner(index)
                        .map_or_else(|| zero.clone(), |other| self.q.mass(other, bits))
                })
                .collect(),
        };
        let pairs = ours.into_iter().zip(theirs).collect();
        let table = Rc::new(Table {
            pairs,
            unseen: window.outside.with_bits(bits),
            bits,
        });
        *self.kept.borrow_mut() = Some(Rc::clone(&table));
        Ok(table)
    }
}

impl Direction for LatticePair<'_> {
    fn delta(&self, epsilon: &Rational, bits: u32) -> Result<Interval, Error> {
        Ok(self
            .table(bits + magnification(epsilon))?
            .delta(epsilon)
            .with_bits(bits))
    }

    fn gap(&self, bits: u32) -> Result<Gap, Error> {
        // P's grid is part of Q's iff P's spacing is a multiple of Q's (they already share a point). The
        // built-in shapes are positive everywhere.
        let custom = matches!(self.q.shape, Shape::Custom { .. });
        let covered = (&self.p.spacing / &self.q.spacing).is_int();
        if covered && !custom {
            return Ok(Gap::Exact(Rational::ZERO));
        }
        let window = self.p.window(bits)?;
        let mut sum = super::real::from_zero(&window.outside.with_bits(bits));
        for index in window.first..=window.last {
            let theirs = self.partner(index).map(|other| self.q.mass(other, bits));
            match theirs {
                Some(mass) if *mass.lo() > Integer::ZERO => {}
                // Not distinguished from zero: it may count or not.
                Some(mass) if *mass.hi() > Integer::ZERO => {
                    sum = sum.add(&super::real::from_zero(&self.p.mass(index, bits)));
                }
                _ => sum = sum.add(&self.p.mass(index, bits)),
            }
        }
        Ok(Gap::Within(sum))
    }

    fn supremum(&self, _: u32) -> Result<Supremum, Error> {
        if self.p.spacing != self.q.spacing {
            return Ok(Supremum::Unknown);
        }
        Ok(match (&self.p.shape, &self.q.shape) {
            (Shape::Gaussian { variance: v }, Shape::Gaussian { variance: w }) => {
                // ln(p/q) = k²(1/2w − 1/2v) + linear term + constant.
                if v > w {
                    Supremum::Unbounded
                } else {
                    Supremum::Unknown
                }
            }
            // ln(p/q) = (k−d)²/2v − |k|/s + constant.
            (Shape::Laplace { .. }, Shape::Gaussian { .. }) => Supremum::Unbounded,
            _ => Supremum::Unknown,
        })
    }
}
