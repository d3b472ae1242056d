//! δ(ε) from losses on a lattice: the way for what falls too slowly for a contour.
//!
//! Every distribution is put on the multiples of a step h, twice: once so that it dominates the distribution, once so that it is dominated. Sums of
//! lattice losses are products of discrete Fourier transforms. Before the transform the distribution is tilted by e^(cl) with c at the saddle
//! point, so that rounding is relative to the δ asked for and not to 1: untilted transforms lose everything below 1e-16.
//!
//! # Above: connecting the dots
//! A loss between ih and (i+1)h is split between the two such that its mass under P *and* under Q is kept. That is the pair whose
//! δ, as a function of e^ε, is the chord of the true one between lattice points; chords of a convex function lie above it, so the
//! pair dominates (Doroshenko et al. 2022, "Connect the dots"). Masses are rounded up, which only adds to δ = E_P[(1−e^(ε−L))₊].
//!
//! # Below
//! Either every loss is moved down to the lattice (good for few events), or the dots are kept and ε is moved: a split loss is L + ξ
//! with |ξ| ≤ h and E[e^(−ξ)|L] = 1, hence 0 ≤ E[ξ|L] ≤ h²e^h/2, and by Hoeffding's inequality k of them together exceed
//! R = kh²e^h/2 + h·√(k·ln(1/β)/2) with probability at most β under P. So δ(ε) ≥ δ_dots(ε + R) − β.
//!
//! # Wrapping around
//! The transform has N points; what lies outside the window comes back into it. It adds mass, which is right for the bound above,
//! where mass beyond the top is also added once more by Markov's inequality; from the bound below its largest effect is subtracted.

use super::ball::{Ball, Complex};
use super::contour::{Aim, LossDistributions, RoughLosses};
use super::fourier::Fourier;
use super::log_add;
use super::masses::{Cells, Masses, NEARLY, SLACK};

/// Points of the transform: usually, and where that is too coarse.
pub(super) const POINTS: usize = 1 << 17;
pub(super) const MANY_POINTS: usize = 1 << 20;
/// More different distributions than this take too long.
const MOST_LAWS: usize = 64;

/// The sum of all losses, on one lattice.
struct Sum {
    step: f64,
    c: f64,
    /// The window's first point.
    first: i64,
    /// Tilted masses, in units of e^scale.
    tilted: Vec<f64>,
    scale: Ball,
    /// At least the error of each mass.
    error: f64,
    /// At least ln of the tilted mass that came in from outside, and of the part of it from below.
    wrapped: f64,
    under: f64,
    /// At least ln of the mass above the window.
    top: f64,
}

impl Sum {
    /// `distributions`: masses and how often. `x`: exponents above and below c.
    fn new(
        plan: &Fourier,
        distributions: &[(&Masses, f64)],
        step: f64,
        c: f64,
        low: f64,
        x: (f64, f64),
    ) -> Option<Self> {
        let count = plan.points();
        let first = (low / step).floor();
        if first.is_nan() || first.abs() > 1e12 {
            return None;
        }
        let (bottom, top) = (first * step, (first + count as f64 - 1.0) * step);
        let total = |at: f64| -> f64 {
            distributions
                .iter()
                .map(|(masses, times)| times * (masses.log_moment(step, at) + SLACK))
                .sum::<f64>()
        };
        let (above, below) = (total(x.0), total(x.1));
        // Where the window holds every sum there is, nothing is outside.
        let end = |edge: fn(&Masses) -> f64| {
            distributions
                .iter()
                .map(|(masses, times)| times * edge(masses))
                .sum::<f64>()
        };
        let lowest = end(|masses| {
            masses.first as f64 + masses.masses.iter().take_while(|mass| **mass == 0.0).count() as f64
        });
        let highest = end(|masses| {
            let empty = masses
                .masses
                .iter()
                .rev()
                .take_while(|mass| **mass == 0.0)
                .count();
            masses.first as f64 + (masses.masses.len() - empty) as f64
        });
        let nothing = f64::NEG_INFINITY;
        let over = if highest * step < top {
            nothing
        } else {
            above - (x.0 - c) * top
        };
        let under = if lowest * step > bottom {
            nothing
        } else {
            below + (c - x.1) * bottom
        };
        let wrapped = log_add(over, under) + SLACK;
        let top_mass = if over == nothing {
            nothing
        } else {
            above - x.0 * top + SLACK
        };
        let mut product = vec![Complex::ONE; count / 2 + 1];
        let mut scale = Ball::ZERO;
        let mut logs = vec![Complex::ZERO; count / 2 + 1];
        for (masses, times) in distributions {
            let size = masses.log_moment(step, c);
            let mut wave = vec![(0.0, 0.0); count];
            let mut whole = 0.0;
            for (i, mass) in masses.masses.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                let index = masses.first + i as i64;
                let tilted = libm::exp(c * step * index as f64 + libm::log(*mass) - size);
                whole += tilted;
                wave[index.rem_euclid(count as i64) as usize].0 += tilted;
            }
            plan.transform(&mut wave);
            // Rounding of the tilted masses (relative, through an exponent of this size) and of the transform, both relative to
            // the whole mass, which is about 1.
            let exponent =
                (c * step * masses.first.abs().max(masses.first + masses.masses.len() as i64) as f64).abs();
            let doubt = whole * (8.0 * f64::EPSILON * (exponent + 50.0) + plan.error());
            for (log, value) in logs.iter_mut().zip(&wave) {
                let point = Complex::new(
                    Ball::exact(value.0).widened(doubt) - Ball::ONE,
                    Ball::exact(value.1).widened(doubt),
                );
                *log = *log + point.ln_1p().scale(Ball::exact(*times));
            }
            scale = scale + Ball::exact(size) * Ball::exact(*times);
        }
        let (mut doubt, mut size) = (0.0, 0.0);
        for (value, log) in product.iter_mut().zip(&logs) {
            *value = log.exp();
            if !value.is_finite() {
                return None;
            }
            doubt += 2.0 * (value.re.radius + value.im.radius);
            size += 2.0 * (value.re.middle.abs() + value.im.middle.abs());
        }
        // The inverse transform: the conjugate of the transform of the conjugate.
        let mut wave: Vec<(f64, f64)> = (0..count)
            .map(|j| {
                if j <= count / 2 {
                    (product[j].re.middle, -product[j].im.middle)
                } else {
                    (product[count - j].re.middle, product[count - j].im.middle)
                }
            })
            .collect();
        plan.transform(&mut wave);
        let points = count as f64;
        let tilted = (0..count)
            .map(|i| wave[(first as i64 + i as i64).rem_euclid(count as i64) as usize].0 / points)
            .collect();
        Some(Self {
            step,
            c,
            first: first as i64,
            tilted,
            scale,
            error: (doubt + plan.error() * size) / points * (1.0 + SLACK),
            wrapped,
            under: under + SLACK,
            top: top_mass,
        })
    }

    /// E[(1−e^(ε−L))₊] over the window, at least the effect of all errors in it, and ln of the unit of both.
    fn delta(&self, epsilon: f64) -> (f64, f64, f64) {
        let start = ((epsilon / self.step).floor().min(1e15) as i64 + 1).max(self.first);
        let unit = self.scale.middle - self.c * epsilon;
        // The weight e^(−cx)·(1 − e^(−x)) at x = l − ε, by two geometric progressions. Over N steps each drifts by 2N·2⁻⁵³ at most.
        let over = start as f64 * self.step - epsilon;
        let (mut slow, mut fast) = (libm::exp(-self.c * over), libm::exp(-(self.c + 1.0) * over));
        let (by_slow, by_fast) = (
            libm::exp(-self.c * self.step),
            libm::exp(-(self.c + 1.0) * self.step),
        );
        let (mut sum, mut size, mut weights) = (0.0, 0.0, 0.0);
        for mass in self.tilted.iter().skip((start - self.first) as usize) {
            if slow < 1e-60 {
                // All masses together are about 1.
                size += 4.0 * slow / self.drift();
                break;
            }
            let weight = slow - fast;
            sum += weight * mass;
            size += slow * mass.abs();
            weights += weight;
            slow *= by_slow;
            fast *= by_fast;
        }
        (
            sum,
            weights * self.error * (1.0 + SLACK) + size * self.drift(),
            unit,
        )
    }

    /// Relative error of sums over the window.
    fn drift(&self) -> f64 {
        8.0 * self.tilted.len() as f64 * f64::EPSILON
    }

    /// At least the error of ln of the unit.
    fn doubt(&self, epsilon: f64) -> f64 {
        self.scale.radius + 4.0 * f64::EPSILON * (self.scale.middle.abs() + (self.c * epsilon).abs())
    }

    fn log_upper(&self, epsilon: f64) -> f64 {
        let (sum, error, unit) = self.delta(epsilon);
        let inside = unit + libm::log(sum.max(0.0) + error) + self.doubt(epsilon);
        let mut bound = log_add(inside, self.top);
        if epsilon < self.first as f64 * self.step {
            // The window starts above ε. What lies between is at most e^(−cε) times the tilted mass below the window.
            bound = log_add(bound, self.under - self.c * epsilon + self.doubt(epsilon));
        }
        bound + 1e-13
    }

    fn log_lower(&self, epsilon: f64, beta: f64) -> f64 {
        let (sum, error, unit) = self.delta(epsilon);
        // Weights are at most 1/(1+c), in the unit.
        let wrapped = libm::exp(self.wrapped - self.scale.middle + self.doubt(epsilon) + SLACK);
        let left = sum - error - wrapped - libm::exp(libm::log(beta) - unit);
        if left > 0.0 {
            unit + libm::log(left) - self.doubt(epsilon) - 1e-13
        } else {
            f64::NEG_INFINITY
        }
    }
}

/// At least the largest sum of losses, where there is one.
pub(super) fn largest(distributions: &LossDistributions) -> Option<f64> {
    let mut sum = Ball::ZERO;
    for (distribution, times) in distributions {
        sum = sum + distribution.largest_loss()? * Ball::exact(*times);
    }
    sum.is_finite().then(|| sum.upper())
}

/// The tilt, or a weaker one: close to the largest loss there is no saddle point, and a tilt that outweighs all other losses by
/// e^300 hides nothing.
fn bounded(distributions: &LossDistributions, rough: &RoughLosses, c: Option<f64>) -> f64 {
    let largest = largest(distributions);
    let most = largest.map_or(1e6, |largest| 300.0 / largest.max(1e-290));
    match c {
        Some(c) if c <= most || !largest.is_some_and(|largest| rough.saddle(c).0 > 0.9 * largest) => c,
        _ => most,
    }
}

/// Both bounds together.
pub(super) struct Lattice {
    guess: f64,
    above: Sum,
    /// Each with how far ε is moved for it, and the probability that this does not suffice.
    below: Vec<(Sum, f64, f64)>,
    /// At least ln of the mass beyond all cells.
    beyond: f64,
}

impl Lattice {
    pub(super) fn new(distributions: &LossDistributions, aim: Aim, points: usize) -> Option<Self> {
        if distributions.len() > MOST_LAWS {
            return None;
        }
        let rough = RoughLosses::new(distributions);
        let c = bounded(distributions, &rough, rough.aim(aim));
        let (saddle, height) = rough.saddle(c);
        let (epsilon, log_delta) = match aim {
            Aim::Delta(log_delta) => (saddle, log_delta),
            Aim::Epsilon(epsilon) => (epsilon, height),
        };
        let plan = Fourier::new(points);
        // The window: where tilted mass outside it is nothing beside e^(cε)·δ.
        let aim = c * epsilon + log_delta - 25.0;
        let high = [1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0, 10.0]
            .iter()
            .map(|factor| (factor * c, (rough.at(factor * c).0 - aim) / (factor * c - c)))
            .filter(|(_, end)| end.is_finite())
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        let low = [0.0, 0.2, 0.4, 0.6, 0.8, 0.95]
            .iter()
            .map(|factor| (factor * c, (aim - rough.at(factor * c).0) / (c - factor * c)))
            .filter(|(_, end)| end.is_finite())
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        let largest = largest(distributions);
        let (mut bottom, mut top) = (low.1, high.1.max(epsilon) + 1e-3 * (high.1 - low.1).abs());
        if let Some(largest) = largest {
            (bottom, top) = (bottom.max(-largest), top.min(largest));
        }
        // The window holds ε itself; where it does not, see `Sum::log_upper`.
        bottom = bottom.min(epsilon);
        let wide = top - bottom;
        if wide.is_nan() || wide <= 0.0 {
            return None;
        }
        // Each loss may lie a cell above its place: room for that, where they are few.
        let count: f64 = distributions.iter().map(|(_, times)| times).sum();
        let points = points as f64 - 16.0 - 4.0 * count.min(1e4);
        let mut step = wide / points;
        // Atoms on the lattice are exact there: make the largest loss of the first distribution that has one a multiple of the step.
        if let Some(unit) = distributions
            .iter()
            .find_map(|(distribution, _)| distribution.spacing())
        {
            step = if unit >= step {
                unit / (unit / step).floor()
            } else {
                unit * (step / unit).ceil()
            };
        }
        let tiny = libm::exp(log_delta - 25.0).max(1e-300);
        let cells = distributions
            .iter()
            .map(|(distribution, times)| Some((distribution.cells(step, tiny / times)?, *times)))
            .collect::<Option<Vec<_>>>()?;
        let beyond: f64 = cells.iter().map(|(cells, times)| cells.beyond * times).sum();
        let beta = libm::exp(log_delta - 21.0).max(1e-305);
        let hoeffding =
            count * step * step * libm::exp(step) / 2.0 + step * (count * -libm::log(beta) / 2.0).sqrt();
        let x = (high.0, low.0);
        let sum = |choose: fn(&Cells) -> &Masses| {
            let masses: Vec<(&Masses, f64)> = cells
                .iter()
                .map(|(cells, times)| (choose(cells), *times))
                .collect();
            Sum::new(&plan, &masses, step, c, bottom - 4.0 * step, x)
        };
        let mut below = vec![(
            sum(|cells| &cells.moved_below)?,
            count * step * NEARLY * (1.0 + SLACK),
            0.0,
        )];
        if hoeffding < count * step {
            below.push((
                sum(|cells| &cells.dots_below)?,
                (hoeffding + count * step * NEARLY) * (1.0 + SLACK),
                beta,
            ));
        }
        Some(Self {
            guess: epsilon.max(0.0),
            above: sum(|cells| &cells.above)?,
            below,
            beyond: libm::log(beyond * (1.0 + SLACK)),
        })
    }

    /// ln δ(ε), between two ends.
    pub(super) fn log_delta(&self, epsilon: f64) -> Option<(f64, f64)> {
        let upper = log_add(self.above.log_upper(epsilon), self.beyond);
        let lower = self
            .below
            .iter()
            .map(|(sum, shift, beta)| sum.log_lower(epsilon + shift, *beta))
            .fold(f64::NEG_INFINITY, f64::max);
        (!upper.is_nan()).then_some((lower, upper))
    }

    pub(super) fn slope(&self) -> f64 {
        self.above.c
    }

    /// The ε for which it was made.
    pub(super) fn guess(&self) -> f64 {
        self.guess
    }
}
