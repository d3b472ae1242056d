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
//! # Smoothing
//! Few steps have moments that hardly fall, and the sum is long. With one more Gaussian, whose loss ξ is normal with variance v and mean
//! v/2 under P, they fall like e^(−vt²/2). More noise says more, so δ_v, with the Gaussian, is at least δ, and it is hardly more: as a
//! function of ε, δ'' − δ' is the density f of the loss under P (a measure, if L has atoms), ξ = ξ_u for u = v diffuses with drift, so
//! ∂δ_u/∂u = ½E[(δ'' − δ')(ε − ξ_u)] = ½f_u(ε), with f_u the density of L + ξ_u. The density of ξ_u at x is
//! n_u(x) = (2πu)^(−½)·e^(−x²/2u)·e^(x/2 − u/8), and ∫₀^v u^(−½)·e^(−x²/2u) du ≤ 2√v·e^(−x²/2v), so ∫₀^v n_u(x) du ≤ 2v·e^(v/8)·n_v(x):
//!
//! ```text
//! δ_v(ε) − v·e^(v/8)·f_v(ε) ≤ δ(ε) ≤ δ_v(ε).
//! ```
//!
//! f_v is the same sum without the divisor z(z+1), and by Poisson summation and f ≥ 0 an upper bound as well.
//!
//! # Tails of a step
//! Sampled steps are cut before (see `truncated`); what was dropped is added to the bound above.
//!
//! # Rounding
//! Terms are plain floats, each with a bound on its error, which are added up. The phases e^(−ikηε) are products of a few that are computed.
//!
//! # The choice of c
//! Any c is right. The saddle point, where the integrand is smallest and turns least, makes the sum short and keeps its terms no
//! larger than their sum, so that rounding stays relative to δ, however small δ is.

use super::ball::Ball;
use super::changed::Changed;
use super::distribution::{Falling, Line, LossDistribution, RoughLoss};
use super::terms::Terms;
use super::truncated::Truncated;

/// Relative size of what may be left out, each of aliases, tail and the tails of steps.
pub(super) const LEFT_OUT: f64 = 1e-10;
/// The most evaluations of loss nodes that are worth it.
const MOST_WORK: f64 = 2e7;
/// Points of a contour: as it is, and smoothed.
const POINTS: usize = 20_000;
const SMOOTHED_POINTS: usize = 1 << 17;
/// The relative width of ε that smoothing may cost, where so many points suffice for it.
const SMOOTHED_WIDTH: f64 = 5e-7;
/// No contour further out than this is tried, nor one closer to the pole at 0.
const C_RANGE: (f64, f64) = (1e-7, 1e11);

/// LossDistributions, and how often each occurs.
pub(super) type LossDistributions = Vec<(LossDistribution, f64)>;

/// A contour whose values do not depend on ε.
pub(super) struct Contour {
    guess: f64,
    c: f64,
    eta: f64,
    /// M/(z(z+1)) at z = c + ikη, for k = 0, 1, …, in units of e^scale; from k = 1 on twice.
    terms: Terms,
    /// ln M(c), roughly: the size of everything.
    scale: f64,
    /// At least ln of the tail without its factor e^(−cε).
    tail: f64,
    /// (x, ln of the bound on all terms n > 0 without its factor e^(−xε)), and the same for n < 0.
    aliases: [(f64, f64); 2],
    /// At least ln of the mass that was cut off the steps.
    beyond: f64,
    smoothing: Option<Smoothing>,
}

/// What a Gaussian more costs.
struct Smoothing {
    variance: f64,
    /// As the contour's, for the density: M.
    terms: Terms,
    tail: f64,
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

/// The distributions with their sampled steps cut, for sums whose δ is about e^`log_delta`, and at least ln of the mass cut off.
///
/// Steps with hardly any noise are left whole: their panels would number millions, and there are other ways to answer.
fn cut(distributions: &LossDistributions, log_delta: f64) -> (LossDistributions, f64) {
    let mut beyond = 0.0;
    let share = libm::exp(log_delta + libm::log(LEFT_OUT)).max(1e-290) / distributions.len() as f64;
    let cut = distributions
        .iter()
        .map(|(distribution, times)| match distribution {
            LossDistribution::Sampled(step) if step.sigma.lower() >= LEAST_SIGMA => {
                let (cut, lost) = Truncated::new(step, (share / times).max(1e-300));
                beyond += lost * times;
                (LossDistribution::Truncated(cut), *times)
            }
            LossDistribution::Changed(step) if step.sigma.lower() >= LEAST_SIGMA => {
                let (cut, lost) = Changed::new(step, (share / times).max(1e-300));
                beyond += lost * times;
                (LossDistribution::CutChanged(cut), *times)
            }
            other => (*other, *times),
        })
        .collect();
    (cut, libm::log(beyond * (1.0 + 1e-9)) + 1e-12)
}

/// Steps with less noise than this are not cut. Where 1/2σ² is more than an exponent of a float, bounds of panels would have to be taken in logarithms;
/// nobody trains with so little noise.
pub(super) const LEAST_SIGMA: f64 = 0.03;

/// How much a contour is smoothed, if it needs to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Smooth {
    /// Not at all: then there may be none.
    Never,
    /// By what costs about this part of ε.
    Width(f64),
    /// By a Gaussian of this variance.
    Variance(f64),
}

/// Where a contour goes.
struct Course {
    c: f64,
    epsilon: f64,
    eta: f64,
    aliases: [(f64, f64); 2],
    /// What is left out is below this, with its factor e^(cε).
    aim: f64,
}

impl Course {
    fn new(distributions: &LossDistributions, aim: Aim) -> Option<Self> {
        let rough = RoughLosses::new(distributions);
        let c = rough.aim(aim)?;
        let (saddle, height) = rough.saddle(c);
        let (epsilon, log_delta) = match aim {
            Aim::Delta(log_delta) => (saddle, log_delta),
            Aim::Epsilon(epsilon) => (epsilon, height),
        };
        Self::through(distributions, &rough, c, (epsilon, log_delta))
    }

    /// Along Re z = c, for this ε, where δ is about e^`log_delta`.
    fn through(
        distributions: &LossDistributions,
        rough: &RoughLosses,
        c: f64,
        (epsilon, log_delta): (f64, f64),
    ) -> Option<Self> {
        let aim = log_delta + libm::log(LEFT_OUT);
        let (up, down) = (
            alias_exponent(rough, c, epsilon, aim, true)?,
            alias_exponent(rough, c, epsilon, aim, false)?,
        );
        // A little wider than needed, and then η as a short binary fraction, so that every kη is exact.
        let period = 1.05 * up.1.max(down.1).max(1e-13);
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
        Some(Self {
            c,
            epsilon,
            eta,
            aliases: [alias(up.0)?, alias(down.0)?],
            aim: aim + c * epsilon,
        })
    }

    /// How fast each distribution's moments fall.
    fn falling(&self, distributions: &LossDistributions) -> Option<Vec<(Falling, f64)>> {
        distributions
            .iter()
            .map(|(distribution, times)| {
                let log_moment = distribution
                    .log_moment(self.c, tolerance(distributions, *times))?
                    .upper();
                Some((distribution.decay(self.c, log_moment, *times), *times))
            })
            .collect()
    }

    /// The variance of a Gaussian for which so many points suffice, and which costs no more than this part of ε, if that is possible.
    fn variance(&self, width: f64) -> f64 {
        let epsilon = self.epsilon.max(1e-3 / (1.0 + self.c));
        // The ends are v(1+c) apart, and |M| has fallen by what may be left out at t = √(2·ln/v).
        let wanted = width * epsilon / (1.0 + self.c);
        let possible = -2.2 * libm::log(LEFT_OUT) / libm::pow(self.eta * SMOOTHED_POINTS as f64, 2.0);
        wanted.max(possible)
    }
}

impl Contour {
    /// A contour that is good near `aim`: as it is, or smoothed where that takes fewer points.
    pub(super) fn new(distributions: &LossDistributions, aim: Aim) -> Option<Self> {
        Self::made(distributions, aim, Smooth::Width(SMOOTHED_WIDTH))
    }

    /// A contour that is good near `aim`, as it is.
    pub(super) fn sharp(distributions: &LossDistributions, aim: Aim) -> Option<Self> {
        Self::made(distributions, aim, Smooth::Never)
    }

    fn made(distributions: &LossDistributions, aim: Aim, smoothing: Smooth) -> Option<Self> {
        if !distributions
            .iter()
            .all(|(distribution, _)| distribution.has_lines())
        {
            return None;
        }
        // About what δ is, for the tails: from tails that are certainly small enough.
        let log_delta = match aim {
            Aim::Delta(log_delta) => log_delta,
            Aim::Epsilon(_) => {
                let rough = RoughLosses::new(&cut(distributions, libm::log(1e-40)).0);
                let c = rough.aim(aim)?;
                rough.saddle(c).1.min(0.0) - 5.0
            }
        };
        let (distributions, beyond) = cut(distributions, log_delta);
        let course = Course::new(&distributions, aim)?;
        Self::on(&course, distributions, beyond, smoothing)
    }

    /// A contour for distributions that are cut already, good near this ε, where δ is about e^`log_delta` or more.
    pub(super) fn near(
        distributions: LossDistributions,
        (epsilon, log_delta): (f64, f64),
        beyond: f64,
        smoothing: Smooth,
    ) -> Option<Self> {
        let rough = RoughLosses::new(&distributions);
        let c = rough.aim(Aim::Epsilon(epsilon))?;
        let course = Course::through(&distributions, &rough, c, (epsilon, log_delta))?;
        Self::on(&course, distributions, beyond, smoothing)
    }

    /// Along this course, as it is where that is short.
    fn on(
        course: &Course,
        mut distributions: LossDistributions,
        beyond: f64,
        smoothing: Smooth,
    ) -> Option<Self> {
        let mut falling = course.falling(&distributions)?;
        let (variance, sharp) = match smoothing {
            Smooth::Never => (f64::INFINITY, POINTS as f64),
            Smooth::Width(width) if width > 1e-5 => (course.variance(width), 0.1 * POINTS as f64),
            Smooth::Width(width) => (course.variance(width), POINTS as f64),
            Smooth::Variance(variance) => (variance, 0.1 * POINTS as f64),
        };
        let least = libm::sqrt(-2.0 * libm::log(LEFT_OUT) / variance) / course.eta;
        let found = tail(&falling, course.aim, course.eta, (2.0 * least).max(sharp));
        if let Some((end, tail)) = found {
            let count = (end / course.eta).ceil() as usize;
            if count as f64 <= sharp.max(least) {
                return Self::along(course, &distributions, count, (tail, None), beyond);
            }
        }
        if variance.is_infinite() {
            return None;
        }
        let gaussian = LossDistribution::Gaussian {
            mu_squared: Ball::exact(variance),
        };
        falling.push((
            gaussian.decay(course.c, gaussian.log_moment(course.c, 1e-12)?.upper(), 1.0),
            1.0,
        ));
        distributions.push((gaussian, 1.0));
        let most = 4.0 * SMOOTHED_POINTS as f64;
        let (end, high) = tail(&falling, course.aim, course.eta, most)?;
        let count = (end / course.eta).ceil() as usize;
        // Less is enough for the density, which is about c(c + 1)δ and costs little already.
        let aim = course.aim + 11.0 + 2.0 * libm::log1p(course.c);
        let density = density_tail(&falling, variance, aim, course.eta, most)?;
        let count = count.max((density.0 / course.eta).ceil() as usize);
        Self::along(
            course,
            &distributions,
            count,
            (high, Some((variance, density.1))),
            beyond,
        )
    }

    fn along(
        course: &Course,
        distributions: &LossDistributions,
        count: usize,
        (tail, smoothing): (f64, Option<(f64, f64)>),
        beyond: f64,
    ) -> Option<Self> {
        let (c, eta) = (course.c, course.eta);
        let lines = distributions
            .iter()
            .map(|(distribution, times)| {
                Some((
                    distribution.line(c, eta, count, tolerance(distributions, *times))?,
                    *times,
                ))
            })
            .collect::<Option<Vec<(Line, f64)>>>()?;
        if count as f64 * lines.iter().map(|(line, _)| line.work() as f64).sum::<f64>() > MOST_WORK {
            return None;
        }
        let scale = {
            let ((re, _), _) = logarithm(&lines, 0, eta);
            re
        };
        let (mut terms, mut density) = (Terms::default(), Terms::default());
        for k in 0..=count {
            let ((re, im), off) = logarithm(&lines, k, eta);
            let (value, error) = power((re - scale, im), off);
            let twice = if k == 0 { 1.0 } else { 2.0 };
            let t = k as f64 * eta;
            // 1/(z(z+1)): one over a² − t² + a + it(2a + 1) at a = c.
            let (x, y) = (c * (c + 1.0) - t * t, t * (2.0 * c + 1.0));
            // |z|²·|z+1|², without the cancellation that x may have.
            let square = (c * c + t * t) * ((c + 1.0) * (c + 1.0) + t * t);
            let over = libm::sqrt(square);
            let quotient = (
                twice * (value.0 * x + value.1 * y) / square,
                twice * (value.1 * x - value.0 * y) / square,
            );
            let size = libm::hypot(value.0, value.1);
            terms.push(
                quotient,
                twice * (error + 16.0 * f64::EPSILON * size) / over * (1.0 + 1e-9),
            );
            if smoothing.is_some() {
                density.push((twice * value.0, twice * value.1), twice * error * (1.0 + 1e-9));
            }
        }
        // The Gaussian moves losses to distant points, too: its moment at x is e^(x(x+1)v/2).
        let spread = smoothing.map_or(0.0, |(variance, _)| variance);
        let aliases = course
            .aliases
            .map(|(x, bound)| (x, bound + 0.5 * x * (x + 1.0) * spread * (1.0 + 1e-9)));
        let smoothing = smoothing.map(|(variance, tail)| Smoothing {
            variance,
            terms: density,
            tail,
        });
        Some(Self {
            guess: course.epsilon.max(0.0),
            c,
            eta,
            terms,
            scale,
            tail,
            aliases,
            beyond,
            smoothing,
        })
    }

    /// ln δ(ε), between two ends. `None` when nothing is known of it.
    pub(super) fn log_delta(&self, epsilon: f64) -> Option<(f64, f64)> {
        let sum = self.terms.sum(self.eta, epsilon);
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
        let mut low = Ball::exact(sum.lower()) - Ball::exact(tail) - Ball::exact(alias);
        if let Some(smoothing) = &self.smoothing {
            let density = smoothing.terms.sum(self.eta, epsilon);
            let tail = libm::exp(slack(smoothing.tail - self.scale));
            let v = smoothing.variance * (1.0 + 1e-12);
            let gap = v * libm::exp(v / 8.0) * (density.upper().max(0.0) + tail) * (1.0 + 1e-12);
            low = low - Ball::exact(gap);
        }
        if high.lower() <= 0.0 {
            return None;
        }
        let upper = super::log_add((unit + high.ln()).upper(), self.beyond) + 1e-14;
        let lower = if low.lower() > 0.0 {
            (unit + low.ln()).lower()
        } else {
            f64::NEG_INFINITY
        };
        (!upper.is_nan()).then_some((lower, upper))
    }

    /// About how fast ln δ falls with ε.
    pub(super) fn slope(&self) -> f64 {
        self.c
    }

    /// About the density of the loss at ε, where it was smoothed.
    pub(super) fn rough_density(&self, epsilon: f64) -> Option<f64> {
        let sum = self.smoothing.as_ref()?.terms.sum(self.eta, epsilon);
        Some(sum.middle * libm::exp(self.scale - self.c * epsilon)).filter(|density| density.is_finite())
    }

    /// The ε for which it was made.
    pub(super) fn guess(&self) -> f64 {
        self.guess
    }

    /// How close to the answer it is worth looking for it, as a part of it.
    pub(super) fn precision(&self) -> f64 {
        if self.smoothing.is_some() { 1e-10 } else { 2e-11 }
    }
}

/// ln of the product of all moments at c + ikη, and at least how far it is off; infinitely, where only its size is bounded.
fn logarithm(lines: &[(Line, f64)], k: usize, eta: f64) -> ((f64, f64), f64) {
    let (mut re, mut im, mut off, mut open) = (0.0, 0.0, 0.0, false);
    for (line, times) in lines {
        let ((x, y), radius) = line.ln(k, eta);
        (re, im) = (re + times * x, im + times * y);
        if radius.is_finite() {
            // One product and one sum each.
            off += times * radius
                + 2.0 * f64::EPSILON * ((times * x).abs() + (times * y).abs() + re.abs() + im.abs());
        } else {
            open = true;
        }
    }
    let off = off * (1.0 + 1e-9);
    if open || off.is_nan() || off >= 1.0 {
        return (
            (re + if off.is_nan() { f64::INFINITY } else { off }, 0.0),
            f64::INFINITY,
        );
    }
    ((re, im), off)
}

/// e^(re + i·im), and at least how far it is off.
fn power((re, im): (f64, f64), off: f64) -> ((f64, f64), f64) {
    let size = libm::exp(re);
    if off.is_infinite() {
        // A disc around 0.
        return ((0.0, 0.0), size * (1.0 + 1e-9) + 1e-300);
    }
    let (sine, cosine) = libm::sincos(im);
    // |e^d − 1| ≤ |d|(1 + |d|) for |d| ≤ 1. The difference with the scale was rounded, too.
    let off = off * (1.0 + off) + f64::EPSILON * (8.0 + re.abs());
    ((size * cosine, size * sine), size * off * (1.0 + 1e-9) + 1e-300)
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

/// At least ln|M| from t on.
fn log_bound(falling: &[(Falling, f64)], t: f64) -> f64 {
    falling
        .iter()
        .map(|(distribution, times)| times * distribution.log_bound(t))
        .sum()
}

/// The t from which on the tail is below e^`aim`, and the bound on the tail there. `None` beyond `most` points.
fn tail(falling: &[(Falling, f64)], aim: f64, eta: f64, most: f64) -> Option<(f64, f64)> {
    // (1/π)·∫ over [t, ∞) of |M|/u² du, octave by octave, until what is left could not matter.
    let bound = |t: f64| {
        let (mut sum, mut from) = (f64::NEG_INFINITY, t);
        for _ in 0..200 {
            let height = log_bound(falling, from) - libm::log(std::f64::consts::PI * from);
            if height < sum - 5.0 {
                return super::log_add(sum, height);
            }
            sum = super::log_add(sum, height - std::f64::consts::LN_2);
            from *= 2.0;
        }
        let height = log_bound(falling, from) - libm::log(std::f64::consts::PI * from);
        super::log_add(sum, height)
    };
    first_below(bound, aim, eta, most)
}

/// The same for the density, smoothed by a Gaussian of this variance: (1/π)·∫ over [t, ∞) of |M| du, where the Gaussian alone makes it
/// at most |M|/(πvt).
fn density_tail(
    falling: &[(Falling, f64)],
    variance: f64,
    aim: f64,
    eta: f64,
    most: f64,
) -> Option<(f64, f64)> {
    let bound = |t: f64| log_bound(falling, t) - libm::log(std::f64::consts::PI * variance * t) + 1e-6;
    first_below(bound, aim, eta, most)
}

/// Where a falling `bound` is below `aim`, within an eighth or so, and the bound there.
fn first_below(bound: impl Fn(f64) -> f64, aim: f64, eta: f64, most: f64) -> Option<(f64, f64)> {
    let mut high = 4.0 * eta;
    while bound(high) > aim {
        high *= 1.5;
        if high / eta > most {
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
