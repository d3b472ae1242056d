//! Densities made of finitely many exponential pieces: uniform, Laplace, exponential, staircases.

use super::real::{positive_part, times};
use super::{Direction, Gap, Real, Supremum};
use crate::Error;
use exact::{Integer, Interval, Rational, power_of_two};

/// The density `coefficient · e^(slope·x + intercept)` on `[left, right)`; a missing end is infinite.
///
/// Slope and intercept are rational so that ratios of two densities have exact logarithms.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Where it begins, `None` for minus infinity.
    pub left: Option<Rational>,
    /// Where it ends, `None` for plus infinity.
    pub right: Option<Rational>,
    /// The positive factor.
    pub coefficient: Real,
    /// The slope of the log density.
    pub slope: Rational,
    /// The rest of the log density.
    pub intercept: Rational,
}

impl Piece {
    /// ∫ over [from, to] inside the piece: (e^(αv+β) − e^(αu+β))·c/α, or c·e^β·(v−u) when α = 0. An infinite
    /// end contributes 0, because an infinite piece falls off (checked when the distribution is made).
    fn integral(
        &self,
        extra: &Rational,
        from: Option<&Interval>,
        to: Option<&Interval>,
        bits: u32,
    ) -> Interval {
        let coefficient = self.coefficient.enclose(bits);
        let intercept = &self.intercept + extra;
        if self.slope.is_zero() {
            let (from, to) = from.zip(to).expect("an infinite piece has a slope");
            return to
                .sub(from)
                .mul(&Interval::exp_of(&intercept, bits))
                .mul(&coefficient);
        }
        let shift = Interval::from_rational(&intercept, bits);
        let value = |end: Option<&Interval>| match end {
            None => Interval::from_integer(0, bits),
            Some(end) => times(end, &self.slope).add(&shift).exp(),
        };
        times(&value(to).sub(&value(from)), &(Rational::ONE / &self.slope)).mul(&coefficient)
    }

    fn mass(&self, left: Option<&Rational>, right: Option<&Rational>, bits: u32) -> Interval {
        let end = |end: Option<&Rational>| end.map(|end| Interval::from_rational(end, bits));
        self.integral(&Rational::ZERO, end(left).as_ref(), end(right).as_ref(), bits)
    }
}

/// A probability density in pieces; between pieces it is zero.
#[derive(Clone, Debug)]
pub struct Piecewise {
    pieces: Vec<Piece>,
}

impl Piecewise {
    /// From pieces in order. Their total mass must be one.
    pub fn new(pieces: Vec<Piece>) -> Result<Self, Error> {
        for piece in &pieces {
            if piece.left.is_none() && piece.slope <= Rational::ZERO
                || piece.right.is_none() && piece.slope >= Rational::ZERO
            {
                return Err(Error::PieceNeverEnds);
            }
            if piece
                .left
                .as_ref()
                .zip(piece.right.as_ref())
                .is_some_and(|(left, right)| left >= right)
            {
                return Err(Error::PiecesOutOfOrder);
            }
            if piece.coefficient.enclose(128).upper() <= Rational::ZERO {
                return Err(Error::NotADistribution {
                    reason: "a piece has no positive density",
                });
            }
        }
        let ordered = pieces
            .windows(2)
            .all(|pair| match (&pair[0].right, &pair[1].left) {
                (Some(end), Some(start)) => end <= start,
                _ => false,
            });
        if !ordered {
            return Err(Error::PiecesOutOfOrder);
        }
        if !adds_up_to_one(&pieces) {
            return Err(Error::NotADistribution {
                reason: "the pieces do not add up to 1",
            });
        }
        Ok(Self { pieces })
    }

    /// Uniform on [left, right).
    pub fn uniform(left: &Rational, right: &Rational) -> Result<Self, Error> {
        if left >= right {
            return Err(Error::NotPositive { parameter: "width" });
        }
        Self::new(vec![Piece {
            left: Some(left.clone()),
            right: Some(right.clone()),
            coefficient: Real::Exact(Rational::ONE / (right - left)),
            slope: Rational::ZERO,
            intercept: Rational::ZERO,
        }])
    }

    /// Laplace with density e^(−|x−center|/scale)/(2·scale).
    pub fn laplace(center: &Rational, scale: &Rational) -> Result<Self, Error> {
        if *scale <= Rational::ZERO {
            return Err(Error::NotPositive { parameter: "scale" });
        }
        let rate = Rational::ONE / scale;
        let half = |left: Option<Rational>, right: Option<Rational>, slope: Rational| Piece {
            left,
            right,
            coefficient: Real::Exact(&rate / Rational::from(2u8)),
            intercept: -(center * &slope),
            slope,
        };
        Self::new(vec![
            half(None, Some(center.clone()), rate.clone()),
            half(Some(center.clone()), None, -rate.clone()),
        ])
    }

    /// Exponential on [start, ∞) with density e^(−(x−start)/scale)/scale.
    pub fn exponential(start: &Rational, scale: &Rational) -> Result<Self, Error> {
        if *scale <= Rational::ZERO {
            return Err(Error::NotPositive { parameter: "scale" });
        }
        let rate = Rational::ONE / scale;
        Self::new(vec![Piece {
            left: Some(start.clone()),
            right: None,
            intercept: start * &rate,
            slope: -rate.clone(),
            coefficient: Real::Exact(rate),
        }])
    }

    /// The piece that covers [left, right), when one does; the cell lies between neighbouring break points.
    fn covering(&self, left: Option<&Rational>, right: Option<&Rational>) -> Option<&Piece> {
        self.pieces.iter().find(|piece| {
            let starts = match (&piece.left, left) {
                (None, _) => true,
                (Some(start), Some(left)) => start <= left,
                (Some(_), None) => false,
            };
            let ends = match (&piece.right, right) {
                (None, _) => true,
                (Some(end), Some(right)) => end >= right,
                (Some(_), None) => false,
            };
            starts && ends
        })
    }
}

/// Whether the total mass is 1, to within 2^-64: as far as it is known at a precision that steep pieces may
/// raise.
fn adds_up_to_one(pieces: &[Piece]) -> bool {
    let total = |bits: u32| {
        pieces.iter().fold(Interval::from_integer(0, bits), |sum, piece| {
            sum.add(&piece.mass(piece.left.as_ref(), piece.right.as_ref(), bits))
        })
    };
    [128, 512, 2048, 8192]
        .into_iter()
        .map(total)
        .find(|total| !total.contains(&Rational::ONE) || total.upper() - total.lower() < power_of_two(-64))
        .is_some_and(|total| total.contains(&Rational::ONE))
}

/// A cell between neighbouring break points of either distribution, where P has density.
struct Cell<'a> {
    left: Option<Rational>,
    right: Option<Rational>,
    p: &'a Piece,
    q: Option<&'a Piece>,
}

impl Cell<'_> {
    /// ∫ max(p − e^ε q, 0) over the cell.
    fn delta(&self, epsilon: &Rational, bits: u32) -> Result<Interval, Error> {
        let Some(q) = self.q else {
            return Ok(self.p.mass(self.left.as_ref(), self.right.as_ref(), bits));
        };
        let zero = Interval::from_integer(0, bits);
        let mut left = self.left.as_ref().map(|left| Interval::from_rational(left, bits));
        let mut right = self
            .right
            .as_ref()
            .map(|right| Interval::from_rational(right, bits));
        let incline = &self.p.slope - &q.slope;
        // p > e^ε q ⇔ incline·x > level = ln(c_q/c_p) + intercept_q + ε − intercept_p.
        let constant = &q.intercept + epsilon - &self.p.intercept;
        let logarithm = log_ratio(&q.coefficient, &self.p.coefficient, bits)?;
        if incline.is_zero() {
            let level = logarithm.add(&Interval::from_rational(&constant, bits));
            if *level.lo() >= Integer::ZERO {
                return Ok(zero);
            }
        } else {
            // One side of one point. The point is an interval here; every integral below holds for each point
            // in it, so for the true one. Where that side is not in the cell nothing is integrated: e^ε q may
            // be enormous there, and elsewhere it is at most p.
            let mut crossing = times(&logarithm, &(Rational::ONE / &incline))
                .add(&Interval::from_rational(&(constant / &incline), bits));
            let nothing = if incline > Rational::ZERO {
                self.right
                    .as_ref()
                    .is_some_and(|right| crossing.certainly_at_least(right))
            } else {
                self.left
                    .as_ref()
                    .is_some_and(|left| crossing.certainly_at_most(left))
            };
            if nothing {
                return Ok(zero);
            }
            if let Some(left) = &left {
                crossing = crossing.max(left);
            }
            if let Some(right) = &right {
                crossing = crossing.min(right);
            }
            if incline > Rational::ZERO {
                left = Some(crossing);
            } else {
                right = Some(crossing);
            }
        }
        // The sign is constant on what is left, so the positive part may be taken at the end.
        let p = self
            .p
            .integral(&Rational::ZERO, left.as_ref(), right.as_ref(), bits);
        let q = q.integral(epsilon, left.as_ref(), right.as_ref(), bits);
        Ok(positive_part(&p.sub(&q)))
    }

    /// The supremum of ln(p/q) on the cell, at one of its ends because it is linear; `None` when it is
    /// infinite.
    fn supremum(&self, q: &Piece, bits: u32) -> Result<Option<Interval>, Error> {
        let constant = log_ratio(&self.p.coefficient, &q.coefficient, bits)?;
        let incline = &self.p.slope - &q.slope;
        let end = if incline > Rational::ZERO {
            &self.right
        } else {
            &self.left
        };
        let height = match end {
            _ if incline.is_zero() => Rational::ZERO,
            Some(end) => end * &incline,
            None => return Ok(None),
        };
        let rational = height + &self.p.intercept - &q.intercept;
        Ok(Some(constant.add(&Interval::from_rational(&rational, bits))))
    }
}

/// ln(a/b) of two positive numbers.
fn log_ratio(a: &Real, b: &Real, bits: u32) -> Result<Interval, Error> {
    if let (Real::Exact(a), Real::Exact(b)) = (a, b) {
        return Ok(Interval::ln_of(&(a / b), bits));
    }
    let quotient = a.enclose(bits + 32).div(&b.enclose(bits + 32));
    let logarithm = quotient.and_then(|quotient| quotient.ln());
    Ok(logarithm.ok_or(Error::Undecided { bits })?.with_bits(bits))
}

/// P against Q, cell by cell.
pub(super) struct PiecewisePair<'a> {
    cells: Vec<Cell<'a>>,
}

impl<'a> PiecewisePair<'a> {
    pub(super) fn new(p: &'a Piecewise, q: &'a Piecewise) -> Self {
        let pieces = || p.pieces.iter().chain(&q.pieces);
        let mut breaks: Vec<Rational> = pieces()
            .flat_map(|piece| [piece.left.clone(), piece.right.clone()])
            .flatten()
            .collect();
        breaks.sort();
        breaks.dedup();
        let mut ends: Vec<Option<Rational>> = vec![None];
        ends.extend(breaks.into_iter().map(Some));
        ends.push(None);
        let cells = ends
            .windows(2)
            .filter_map(|pair| {
                let (left, right) = (pair[0].clone(), pair[1].clone());
                let ours = p.covering(left.as_ref(), right.as_ref())?;
                let theirs = q.covering(left.as_ref(), right.as_ref());
                Some(Cell {
                    left,
                    right,
                    p: ours,
                    q: theirs,
                })
            })
            .collect();
        Self { cells }
    }
}

impl Direction for PiecewisePair<'_> {
    fn delta(&self, epsilon: &Rational, bits: u32) -> Result<Interval, Error> {
        let work = bits + 48;
        let mut sum = Interval::from_integer(0, work);
        for cell in &self.cells {
            sum = sum.add(&cell.delta(epsilon, work)?);
        }
        Ok(sum.with_bits(bits))
    }

    fn gap(&self, bits: u32) -> Result<Gap, Error> {
        let lonely: Vec<&Cell> = self.cells.iter().filter(|cell| cell.q.is_none()).collect();
        if lonely.len() == self.cells.len() {
            return Ok(Gap::Exact(Rational::ONE));
        }
        let mut exact = Some(Rational::ZERO);
        let mut sum = Interval::from_integer(0, bits);
        for cell in lonely {
            sum = sum.add(&cell.p.mass(cell.left.as_ref(), cell.right.as_ref(), bits));
            let flat = cell.p.slope.is_zero() && cell.p.intercept.is_zero();
            exact = match (exact, &cell.p.coefficient, &cell.left, &cell.right) {
                (Some(total), Real::Exact(height), Some(left), Some(right)) if flat => {
                    Some(total + height * (right - left))
                }
                _ => None,
            };
        }
        Ok(exact.map_or(Gap::Within(sum), Gap::Exact))
    }

    fn supremum(&self, bits: u32) -> Result<Supremum, Error> {
        let mut largest = Interval::from_integer(0, bits);
        for cell in &self.cells {
            let Some(q) = cell.q else { continue };
            match cell.supremum(q, bits)? {
                None => return Ok(Supremum::Unbounded),
                Some(loss) => largest = largest.max(&loss),
            }
        }
        Ok(Supremum::Bounded(largest))
    }
}
