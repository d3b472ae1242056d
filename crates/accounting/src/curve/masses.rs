//! A distribution of losses put on the multiples of a step, twice: dominating it and dominated by it (see `lattice` for why both hold).

use super::ball::Ball;

/// A loss this part of a step below a lattice point counts as on it, and ε pays.
pub(super) const NEARLY: f64 = 1e-6;
/// Relative slack for sums in plain floats, of at most a few hundred thousand terms.
pub(super) const SLACK: f64 = 1e-9;

/// Masses at the multiples of a step, from `first` on.
#[derive(Clone, Debug, Default)]
pub(super) struct Masses {
    pub(super) first: i64,
    pub(super) masses: Vec<f64>,
}

/// A distribution on a lattice.
pub(super) struct Cells {
    /// At least the dots.
    pub(super) above: Masses,
    /// At most the dots.
    pub(super) dots_below: Masses,
    /// At most the distribution, moved down.
    pub(super) moved_below: Masses,
    /// At least the mass of P beyond the last cell.
    pub(super) beyond: f64,
}

/// Collects a distribution cell by cell.
pub(super) struct Collector {
    step: f64,
    cells: Cells,
}

impl Collector {
    /// For losses from `low` to `high`.
    pub(super) fn new(step: f64, low: f64, high: f64) -> Option<Self> {
        let (first, last) = ((low / step).floor() - 2.0, (high / step).ceil() + 2.0);
        let count = last - first;
        if count.is_nan() || count > 4e6 || first.abs() > 1e12 || last.abs() > 1e12 {
            return None;
        }
        let empty = Masses {
            first: first as i64,
            masses: vec![0.0; (last - first) as usize + 1],
        };
        let cells = Cells {
            above: empty.clone(),
            dots_below: empty.clone(),
            moved_below: empty,
            beyond: 0.0,
        };
        Some(Self { step, cells })
    }

    fn put(&mut self, index: i64, (lower, upper): (Ball, Ball), moved: f64) {
        let place = (index - self.cells.above.first) as usize;
        self.cells.above.masses[place] += lower.upper().max(0.0);
        self.cells.above.masses[place + 1] += upper.upper().max(0.0);
        self.cells.dots_below.masses[place] += lower.lower().max(0.0);
        self.cells.dots_below.masses[place + 1] += upper.lower().max(0.0);
        self.cells.moved_below.masses[place] += moved.max(0.0);
    }

    /// Losses between `index`·h and the next point, of mass `p` under P and `q` under Q.
    pub(super) fn cell(&mut self, index: i64, p: Ball, q: Ball) {
        let step = Ball::exact(self.step);
        let at = (Ball::exact(index as f64) * step).exp();
        let shrink = (-step).exp_m1();
        // a + b = P and a·e^(−ih) + b·e^(−(i+1)h) = Q.
        let upper = (q * at - p).over(shrink);
        let lower = (p * (-step).exp() - q * at).over(shrink);
        self.put(index, (lower, upper), p.lower());
    }

    /// One loss of mass `p` under P.
    pub(super) fn atom(&mut self, loss: Ball, p: Ball) {
        let index = (loss.middle / self.step + NEARLY).floor();
        let over = loss - Ball::exact(index) * Ball::exact(self.step);
        let share = (-over).exp_m1().over((-Ball::exact(self.step)).exp_m1());
        // Just below its point it counts as on it: more for the bound above, and for those below ε pays.
        let share = if share.middle < 0.0 { Ball::ZERO } else { share };
        self.put(index as i64, (p * (Ball::ONE - share), p * share), p.lower());
    }

    /// `beyond`, `under`: at least the mass of P above and below all cells. Losses below count as in the first cell for the bound above.
    pub(super) fn finish(mut self, beyond: f64, under: f64) -> Cells {
        self.cells.beyond = beyond.max(0.0);
        self.cells.above.masses[0] += under.max(0.0);
        for masses in [&mut self.cells.dots_below, &mut self.cells.moved_below] {
            for mass in &mut masses.masses {
                *mass *= 1.0 - SLACK * 1e-4;
            }
        }
        self.cells
    }
}

impl Masses {
    /// ln Σ mass·e^(x·loss), within `SLACK`.
    pub(super) fn log_moment(&self, step: f64, x: f64) -> f64 {
        let exponent = |i: usize| x * step * (self.first + i as i64) as f64;
        let ends = exponent(0).max(exponent(self.masses.len().saturating_sub(1)));
        let peak = self
            .masses
            .iter()
            .enumerate()
            .filter(|(_, mass)| **mass > 0.0)
            .map(|(i, mass)| exponent(i) + libm::log(*mass))
            .fold(f64::NEG_INFINITY, f64::max);
        if !ends.is_finite() || peak == f64::NEG_INFINITY {
            return peak;
        }
        let sum: f64 = self
            .masses
            .iter()
            .enumerate()
            .filter(|(_, mass)| **mass > 0.0)
            .map(|(i, mass)| libm::exp(exponent(i) + libm::log(*mass) - peak))
            .sum();
        peak + libm::log(sum)
    }
}
