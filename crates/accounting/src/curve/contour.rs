//! δ(ε) as an integral along a line in the complex plane, with every error bounded.
//!
//! For a loss L, δ(ε) = E[(1 − e^(ε−L))₊]. Its two-sided Laplace transform over ε is M(z)/(z(z+1)), so for every c > 0
//! δ(ε) = 1/2πi ∫ M(z)·e^(−zε)/(z(z+1)) dz over Re z = c (Alghamdi et al. 2023, "The saddle-point method in differential privacy").
//!
//! # The sum
//! The integral is replaced by the sum over z = c + ikη. By Poisson summation that sum is *exactly*
//!
//! ```text
//! (η/2π) Σₖ M(c+ikη)·e^(−(c+ikη)ε)/(z(z+1)) = Σₙ δ(ε + nΛ)·e^(cnΛ),   Λ = 2π/η,
//! ```
//!
//! whose term n = 0 is δ(ε) and whose other terms are not negative: the sum is an upper bound, whatever η. With
//! κ(x) = sup (1−e^(−u))·e^(−xu) = x^x/(1+x)^(1+x), Markov's inequality gives δ(y) ≤ κ(x)·M(x)·e^(−xy) for every x ≥ 0, and with
//! some x above c for n > 0 and some x below c for n < 0 the other terms are geometric series.
//!
//! # The tail
//! What lies beyond |Im z| = t is bounded by ∫ |M(c+iu)|/u² du, with a bound on |M| that only falls (see `distribution::Falling`).
//!
//! # The choice of c
//! Any c is right. The saddle point, where the integrand is smallest and turns least, makes the sum short and keeps its terms no
//! larger than their sum, so that rounding stays relative to δ, however small δ is.

use super::ball::{Ball, Complex};
use super::distribution::{Falling, Line, LossDistribution, RoughLoss};

/// Relative size of what may be left out, each of aliases and tail.
const LEFT_OUT: f64 = 1e-10;
/// The most evaluations of loss nodes that are worth it.
const MOST_WORK: f64 = 2e7;
/// Points of a contour: usually, and where each is asked for often.
pub(super) const POINTS: f64 = 1e6;
pub(super) const FEW_POINTS: f64 = 3e4;
/// No contour further out than this is tried, nor one closer to the pole at 0.
const C_RANGE: (f64, f64) = (1e-7, 1e7);

/// LossDistributions, and how often each occurs.
pub(super) type LossDistributions = Vec<(LossDistribution, f64)>;

/// A contour whose values do not depend on ε.
pub(super) struct Contour {
    guess: f64,
    c: f64,
    eta: f64,
    /// ln M(c + ikη) − scale, for k = 0, 1, ….
    values: Vec<Complex>,
    /// ln M(c), roughly: the size of everything.
    scale: f64,
    /// At least ln of the tail without its factor e^(−cε).
    tail: f64,
    /// (x, ln of the bound on all terms n > 0 without its factor e^(−xε)), and the same for n < 0.
    aliases: [(f64, f64); 2],
}

/// What is asked: the ε of this ln δ, or the δ of this ε.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aim {
    Delta(f64),
    Epsilon(f64),
}

/// Orders minus one at which moments are worth asking for.
pub(super) fn orders(distributions: &LossDistributions, aim: Aim) -> Vec<f64> {
    match RoughLosses::new(distributions).aim(aim) {
        Some(c) => vec![0.7 * c, 0.85 * c, c, 1.2 * c],
        None => (0..=70)
            .map(|i| 1e-3 * libm::pow(10.0, f64::from(i) / 10.0))
            .collect(),
    }
}

/// Plain-float moments of everything together.
pub(super) struct RoughLosses(Vec<(RoughLoss, f64)>);

impl RoughLosses {
    pub(super) fn new(distributions: &LossDistributions) -> Self {
        Self(
            distributions
                .iter()
                .map(|(distribution, times)| (RoughLoss::new(distribution), *times))
                .collect(),
        )
    }

    pub(super) fn at(&self, c: f64) -> (f64, f64, f64) {
        self.0.iter().fold((0.0, 0.0, 0.0), |sum, (distribution, times)| {
            let one = distribution.at(c);
            (
                sum.0 + times * one.0,
                sum.1 + times * one.1,
                sum.2 + times * one.2,
            )
        })
    }

    /// The ε whose saddle point is at c, and ln δ there by the saddle-point approximation.
    pub(super) fn saddle(&self, c: f64) -> (f64, f64) {
        let (log_moment, mean, variance) = self.at(c);
        let epsilon = mean - 1.0 / c - 1.0 / (1.0 + c);
        let curvature = variance + 1.0 / (c * c) + 1.0 / ((1.0 + c) * (1.0 + c));
        let height = log_moment - c * epsilon - libm::log(c) - libm::log1p(c);
        (
            epsilon,
            height - 0.5 * libm::log(2.0 * std::f64::consts::PI * curvature),
        )
    }

    /// ln δ(ε) by the saddle-point approximation.
    pub(super) fn log_delta(&self, epsilon: f64) -> f64 {
        let c = self.aim(Aim::Epsilon(epsilon));
        c.map_or(f64::NEG_INFINITY, |c| self.saddle(c).1.min(0.0))
    }

    /// The c whose saddle point is at `aim`.
    pub(super) fn aim(&self, aim: Aim) -> Option<f64> {
        match aim {
            Aim::Delta(log_delta) => self.search(|(_, height)| log_delta - height),
            Aim::Epsilon(epsilon) => self.search(|(saddle, _)| saddle - epsilon),
        }
    }

    /// The c at which `measure` of the saddle point, which grows with c, passes zero.
    fn search(&self, measure: impl Fn((f64, f64)) -> f64) -> Option<f64> {
        let value = |c: f64| measure(self.saddle(c));
        let (mut low, mut high) = (1.0, 1.0);
        while value(low) > 0.0 {
            low /= 4.0;
            if low < C_RANGE.0 {
                return Some(C_RANGE.0);
            }
        }
        while value(high) < 0.0 {
            high *= 4.0;
            if high > C_RANGE.1 {
                return None;
            }
        }
        for _ in 0..12 {
            let middle = (low * high).sqrt();
            if value(middle) > 0.0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some((low * high).sqrt())
    }
}

/// ln κ(x).
pub(super) fn log_kappa(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    x * libm::log(x) - (1.0 + x) * libm::log1p(x)
}

/// At least the sum of times·ln M(c) over all distributions.
pub(super) fn log_moment(distributions: &LossDistributions, c: f64) -> Option<f64> {
    let mut sum = Ball::ZERO;
    for (distribution, times) in distributions {
        // Divergences of single steps are asked for, too, which may be as small as q²: a little more precision is cheap here.
        sum = sum
            + Ball::exact(*times) * distribution.log_moment(c, 1e-6 * tolerance(distributions, *times))?;
    }
    sum.is_finite().then(|| sum.upper())
}

/// How well a moment must be known when it is raised to this power.
fn tolerance(distributions: &LossDistributions, times: f64) -> f64 {
    1e-12 / (times * distributions.len() as f64)
}

impl Contour {
    /// A contour that is good near `aim` and has at most this many points.
    pub(super) fn new(distributions: &LossDistributions, aim: Aim, most: f64) -> Option<Self> {
        if !distributions
            .iter()
            .all(|(distribution, _)| distribution.has_lines())
        {
            return None;
        }
        let rough = &RoughLosses::new(distributions);
        let c = rough.aim(aim)?;
        let (saddle, height) = rough.saddle(c);
        let (epsilon, log_delta) = match aim {
            Aim::Delta(log_delta) => (saddle, log_delta),
            Aim::Epsilon(epsilon) => (epsilon, height),
        };
        let aim = log_delta + libm::log(LEFT_OUT);
        let (up, down) = (
            alias_exponent(rough, c, epsilon, aim, true)?,
            alias_exponent(rough, c, epsilon, aim, false)?,
        );
        // A little wider than needed, and then η as a short binary fraction, so that every kη is exact.
        let period = 1.05 * up.1.max(down.1).max(1e-3);
        let eta = short_fraction(std::f64::consts::TAU / period);
        let period = (Ball::exact(2.0) * Ball::pi()).over(Ball::exact(eta)).lower();
        let alias = |x: f64| -> Option<(f64, f64)> {
            let ratio = -(x - c).abs() * period;
            let series = ratio - libm::log(-libm::expm1(ratio));
            Some((
                x,
                log_moment(distributions, x)?
                    + log_kappa(x)
                    + series
                    + 1e-9 * (1.0 + ratio.abs())
                    + 1e-14 * x * (1.0 + libm::log1p(x)),
            ))
        };
        let aliases = [alias(up.0)?, alias(down.0)?];

        let falling = distributions
            .iter()
            .map(|(distribution, times)| {
                let log_moment = distribution
                    .log_moment(c, tolerance(distributions, *times))?
                    .upper();
                Some((distribution.decay(c, log_moment), *times))
            })
            .collect::<Option<Vec<_>>>()?;
        let (end, tail) = tail(&falling, aim + c * epsilon, eta)?;
        let count = (end / eta).ceil();
        if count > most {
            return None;
        }
        let lines = distributions
            .iter()
            .map(|(distribution, times)| {
                Some((
                    distribution.line(c, count * eta, tolerance(distributions, *times))?,
                    Ball::exact(*times),
                ))
            })
            .collect::<Option<Vec<(Line, Ball)>>>()?;
        if count * lines.iter().map(|(line, _)| line.work() as f64).sum::<f64>() > MOST_WORK {
            return None;
        }
        let scale = rough.at(c).0;
        let values = (0..=count as u64)
            .map(|k| {
                let t = k as f64 * eta;
                let start = Complex::new(Ball::exact(-scale), Ball::ZERO);
                lines
                    .iter()
                    .fold(start, |sum, (line, times)| sum + line.ln(t).scale(*times))
            })
            .collect();
        Some(Self {
            guess: epsilon.max(0.0),
            c,
            eta,
            values,
            scale,
            tail,
            aliases,
        })
    }

    /// ln δ(ε), between two ends. `None` when nothing is known of it.
    pub(super) fn log_delta(&self, epsilon: f64) -> Option<(f64, f64)> {
        let two = Ball::exact(2.0);
        let mut sum = Ball::ZERO;
        for (k, value) in self.values.iter().enumerate() {
            let t = k as f64 * self.eta;
            let z = Complex::at(self.c, t);
            let turned = Complex::new(value.re, value.im - Ball::exact(t) * Ball::exact(epsilon));
            let term = turned.exp().over(z * (z + Complex::ONE)).re;
            sum = sum + if k == 0 { term } else { two * term };
        }
        let sum = sum * Ball::exact(self.eta).over(two * Ball::pi());
        // In units of e^(scale − cε).
        let unit = Ball::exact(self.scale) - Ball::exact(self.c) * Ball::exact(epsilon);
        let slack = |log: f64| log + 1e-9 * (1.0 + log.abs() * 1e-3);
        let tail = libm::exp(slack(self.tail - self.scale));
        let alias: f64 = self
            .aliases
            .iter()
            .map(|(x, bound)| libm::exp(slack(bound - x * epsilon - unit.middle)))
            .sum();
        if !sum.is_finite() || !tail.is_finite() {
            return None;
        }
        let high = Ball::exact(sum.upper()) + Ball::exact(tail);
        let low = Ball::exact(sum.lower()) - Ball::exact(tail) - Ball::exact(alias);
        if high.lower() <= 0.0 {
            return None;
        }
        let upper = (unit + high.ln()).upper();
        let lower = if low.lower() > 0.0 {
            (unit + low.ln()).lower()
        } else {
            f64::NEG_INFINITY
        };
        Some((lower, upper))
    }

    /// About how fast ln δ falls with ε.
    pub(super) fn slope(&self) -> f64 {
        self.c
    }

    /// The ε for which it was made.
    pub(super) fn guess(&self) -> f64 {
        self.guess
    }
}

/// The x above or below c that bounds the aliases on its side with the shortest period, and that period.
fn alias_exponent(rough: &RoughLosses, c: f64, epsilon: f64, aim: f64, above: bool) -> Option<(f64, f64)> {
    let factors: &[f64] = if above {
        &[1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0, 5.0, 10.0]
    } else {
        &[0.0, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95]
    };
    factors
        .iter()
        .map(|factor| {
            let x = factor * c;
            let size = if x == 0.0 { 0.0 } else { rough.at(x).0 };
            (x, (size + log_kappa(x) - x * epsilon - aim) / (x - c).abs())
        })
        .filter(|(_, period)| period.is_finite())
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The t from which on the tail is below e^`aim`, and the bound on the tail there.
fn tail(falling: &[(Falling, f64)], aim: f64, eta: f64) -> Option<(f64, f64)> {
    let log_moment = |t: f64| {
        falling
            .iter()
            .map(|(distribution, times)| times * distribution.log_bound(t))
            .sum::<f64>()
    };
    // (1/π)·∫ over [t, ∞) of |M|/u² du, octave by octave, until what is left could not matter.
    let bound = |t: f64| {
        let (mut sum, mut from) = (f64::NEG_INFINITY, t);
        for _ in 0..200 {
            let height = log_moment(from) - libm::log(std::f64::consts::PI * from);
            if height < sum - 5.0 {
                return super::log_add(sum, height);
            }
            sum = super::log_add(sum, height - std::f64::consts::LN_2);
            from *= 2.0;
        }
        super::log_add(sum, log_moment(from) - libm::log(std::f64::consts::PI * from))
    };
    let mut high = 4.0 * eta;
    while bound(high) > aim {
        high *= 1.5;
        if high / eta > MOST_WORK {
            return None;
        }
    }
    let mut low = high / 1.5;
    for _ in 0..3 {
        let middle = f64::midpoint(low, high);
        if bound(middle) > aim {
            low = middle;
        } else {
            high = middle;
        }
    }
    // The sum ends at a whole number of steps, which is not before `high`.
    Some((high, bound(high)))
}

/// A float at most `value` with a mantissa of 20 bits.
fn short_fraction(value: f64) -> f64 {
    f64::from_bits(value.to_bits() & !((1u64 << 32) - 1))
}
