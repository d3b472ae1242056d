//! How fast the moments of a sampled step fall along a line.

use super::sampled::Sampled;

/// Relative slack that covers the rounding of bounds computed in plain floats, whose logarithms are below 1e6.
const SLACK: f64 = 1e-6;

/// How fast |M(c + it)| falls, as a bound that only falls.
///
/// Tilted by c, the loss has a density g. Any g is at least a sum of nested boxes (a layer cake): heights yⱼ on intervals of width
/// Wⱼ, mass yⱼWⱼ. A box contributes at most its mass times |sin x/x| with x = tW/2, and the rest of the mass at most itself, so
/// |M(c+it)| ≤ M(c) − Σ yⱼWⱼ·(1 − sup_{x ≥ tWⱼ/2}|sin x/x|). The bound is nearly sharp for one-humped densities.
///
/// # Moved up
/// Boxes say nothing of what is left when all but a hundredth has turned away, which matters when steps are few. There the integral
/// ∫ φX^(α+it) ds over [low, high] is taken along Im s = b, with θ = b/σ < π, and up and down at both ends, where |e^(−t·arg X)| ≤ 1:
///
/// ```text
/// |M(c+it)| ≤ ∫ |φ(s+ib)|·|X(s+ib)|^α·e^(−t·arg X(s+ib)) ds + ends.
/// ```
///
/// It falls with t for every b. The argument of u + v·e^(iθ) grows with v, so with s: over a cell it is least at its left end. With u = 1 − q,
/// v = qe^w and p = v/(u+v), |u + v·e^(iθ)|² = (u+v)²·(1 − 4p(1−p)·sin²(θ/2)). The direction, α ± it, does not matter: conjugate.
pub(super) struct Decay {
    moment: f64,
    /// (mass, width).
    boxes: Vec<(f64, f64)>,
    shifts: Vec<Shift>,
}

/// The line of integration moved up to Im s = b: its ends, and (size, least argument of X) of its cells.
pub(super) struct Shift {
    ends: f64,
    cells: Vec<(f64, f64)>,
}

impl Decay {
    const CELLS: usize = 600;

    /// From the mass at s in this range alone.
    pub(super) fn new(distribution: &Sampled, alpha: f64, moment: f64, (low, end): (f64, f64)) -> Self {
        let slope = 1.0 / distribution.sigma.middle;
        let high = end.min(9.0 + slope * alpha.max(1.0));
        // The grid reaches where the tilted mass is; it may be much shorter than `high`.
        let exponent = |s: f64| alpha * distribution.rough_loss(s) - s * s / 2.0;
        let coarse = (high - low) / 400.0;
        let points: Vec<f64> = (0..=400).map(|i| low + coarse * f64::from(i)).collect();
        let peak = points
            .iter()
            .map(|s| exponent(*s))
            .fold(f64::NEG_INFINITY, f64::max);
        let inside: Vec<f64> = points
            .into_iter()
            .filter(|s| exponent(*s) > peak - 14.0)
            .collect();
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else {
            return Self {
                moment,
                boxes: Vec::new(),
                shifts: Vec::new(),
            };
        };
        let (first, last) = ((first - coarse).max(low), (last + coarse).min(end));
        let width = (last - first) / Self::CELLS as f64;
        let edges: Vec<(f64, f64)> = (0..=Self::CELLS)
            .map(|i| first + width * i as f64)
            .map(|s| (s, distribution.rough_loss(s)))
            .collect();
        // ln g = −s²/2 + (α+1)L − w + constant: each part is bounded at the end of the cell where it is least.
        let constant = libm::log(distribution.sigma.middle)
            - libm::log(distribution.rate.middle)
            - 0.918_938_533_204_672_7;
        let lowest = |left: &(f64, f64), right: &(f64, f64)| {
            let square = (left.0 * left.0).max(right.0 * right.0) / 2.0;
            let grown = if alpha >= -1.0 { left.1 } else { right.1 };
            let w = right.0 * slope - 0.5 * slope * slope;
            let exponent = constant - square + (alpha + 1.0) * grown - w;
            libm::exp(exponent - SLACK - 1e-12 * (square + w.abs()))
        };
        let cells: Vec<f64> = edges.windows(2).map(|pair| lowest(&pair[0], &pair[1])).collect();
        let top = (0..cells.len())
            .max_by(|a, b| cells[*a].total_cmp(&cells[*b]))
            .unwrap_or(0);
        let (mut from, mut to) = (top, top + 1);
        let mut height = cells[top];
        let mut boxes = Vec::with_capacity(cells.len());
        loop {
            let left = if from > 0 { cells[from - 1] } else { 0.0 };
            let right = if to < cells.len() { cells[to] } else { 0.0 };
            let next = left.max(right).min(height);
            // Losses are known to 1e-13 or so; the width is rounded down by more.
            let wide = (edges[to].1 - edges[from].1) * (1.0 - SLACK) - 1e-12;
            if wide > 0.0 && height > next {
                boxes.push(((height - next) * wide * (1.0 - SLACK), wide));
            }
            if next <= 0.0 {
                break;
            }
            height = next;
            if left >= right {
                from -= 1;
            } else {
                to += 1;
            }
        }
        Self {
            moment,
            boxes,
            shifts: Vec::new(),
        }
    }

    /// The same, sharper for an integral of φX^(α+it) from `low` to `high` alone.
    pub(super) fn moved_up(mut self, step: &Sampled, alpha: f64, ends: (f64, f64)) -> Self {
        let moved = Self::of_shifts(step, self.moment, |height, theta| {
            Shift::of_step(step, alpha, ends, height, theta)
        });
        self.shifts = moved.shifts;
        self
    }

    /// From lines moved up alone: `shift` is asked for several heights b and θ = b/σ.
    pub(super) fn of_shifts(step: &Sampled, moment: f64, shift: impl Fn(f64, f64) -> Shift) -> Self {
        let sigma = step.sigma.middle;
        let shifts = [0.5, 1.0, 2.0, 3.5, 5.0, 7.0]
            .into_iter()
            .chain([0.4, 1.0, 1.8, 2.7].map(|theta| theta * sigma))
            .filter(|height| *height < 2.9 * sigma && *height < 9.0)
            .map(|height| shift(height, height / sigma))
            .filter(|shift| shift.ends < 0.1 * moment)
            .collect();
        Self {
            moment,
            boxes: Vec::new(),
            shifts,
        }
    }

    /// At least ln|M(c + it')| for all t' ≥ t.
    pub(super) fn log_bound(&self, t: f64) -> f64 {
        let lost: f64 = self
            .boxes
            .iter()
            .map(|(mass, width)| mass * lost_by_turning(t * width / 2.0))
            .sum();
        let left = self.moment - lost * (1.0 - SLACK);
        // The boxes weigh no more than the whole; where rounding says otherwise, nothing this small is known.
        let boxes = left.max(self.moment * SLACK);
        let least = self
            .shifts
            .iter()
            .map(|shift| shift.at(t))
            .fold(boxes, |least, bound| if bound < least { bound } else { least });
        libm::log(least) + 1e-14
    }
}

impl Shift {
    const CELLS: usize = 160;

    /// From bounds over cells of [low, high]: at least ln of the integrand's size at t = 0, and at most the angle by which it turns.
    pub(super) fn over(
        (low, high): (f64, f64),
        height: f64,
        log_size: impl Fn(f64, f64) -> f64,
        argument: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let ends = height * (libm::exp(log_size(low, low)) + libm::exp(log_size(high, high)));
        let width = (high - low) / Self::CELLS as f64;
        let cells = (0..Self::CELLS)
            .map(|i| {
                // A little wider than it is, for rounding.
                let left = low + width * (i as f64 - 1e-9);
                let right = left + width * (1.0 + 2e-9);
                (
                    libm::exp(log_size(left, right)) * width * (1.0 + SLACK),
                    argument(left, right) * (1.0 - 1e-9),
                )
            })
            .collect();
        Self {
            ends: ends * (1.0 + SLACK),
            cells,
        }
    }

    fn of_step(step: &Sampled, alpha: f64, ends: (f64, f64), height: f64, theta: f64) -> Self {
        let sigma = step.sigma.middle;
        let (sine, cosine) = libm::sincos(theta);
        let half = libm::sin(theta / 2.0);
        let (u, q) = (1.0 - step.rate.middle, step.rate.middle);
        // Where w is large, X turns like e^w does, which is so from far smaller w on.
        let share = |s: f64| q * libm::exp((s / sigma - 0.5 / (sigma * sigma)).min(600.0));
        let log_size = |left: f64, right: f64| {
            let nearest = left.max(-right).max(0.0);
            let density = (height * height - nearest * nearest) / 2.0 - 0.918;
            let power = if alpha >= 0.0 {
                alpha * step.rough_loss(right)
            } else {
                let p = |s: f64| share(s) / (u + share(s));
                let (from, to) = (p(left), p(right));
                let spread = if from <= 0.5 && to >= 0.5 {
                    1.0
                } else {
                    4.0 * (from * (1.0 - from)).max(to * (1.0 - to))
                };
                let shrunk = libm::log1p(-(spread * (1.0 + 1e-9)).min(1.0) * half * half);
                alpha * (step.rough_loss(left) + 0.5 * shrunk)
            };
            density + power + 1e-9 * (1.0 + density.abs() + power.abs())
        };
        let argument = |left: f64, _| {
            let v = share(left);
            libm::atan2(v * sine, u + v * cosine)
        };
        Self::over(ends, height, log_size, argument)
    }

    fn at(&self, t: f64) -> f64 {
        let turned: f64 = self
            .cells
            .iter()
            .map(|(size, argument)| size * libm::exp(-t * argument))
            .sum();
        (turned + self.ends) * (1.0 + SLACK)
    }
}

/// At most 1 − |sin y/y| for all y ≥ x.
fn lost_by_turning(x: f64) -> f64 {
    let lost = if x < 0.5 {
        x * x * (1.0 / 6.0 - x * x / 120.0)
    } else {
        // sin y/y falls until π, and its largest side lobe is below 0.2173, which it reaches before 2.6.
        let sinc = if x < 2.6 {
            (libm::sin(x) / x).max(0.2173)
        } else {
            0.2173
        };
        1.0 - sinc.min(1.0 / x)
    };
    lost * (1.0 - 1e-9)
}
