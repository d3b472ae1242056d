//! δ(ε) of few sampled steps at a small rate, where one step in millions decides.
//!
//! At a small rate q the loss ln(1 + q(e^w − 1)) of a step is nearly nothing, but for the rare outputs far out, where it grows like q·e^w: its
//! tail is that of a log-normal number. A contour that counts the far tail has to turn slowly enough for losses hundreds of times ε and fast
//! enough for those around it. But a step whose loss is well above ε is no secret: what the other steps do hardly matters.
//!
//! # Counted by themselves
//! Removing a unit, the loss L grows with the output. Let U be the loss at the output σ·s_U, and B that a step's output is above it. Of T steps
//! with the sum S of losses,
//!
//! ```text
//! δ(ε) = E[(1 − e^(ε−S))₊] = E[(1 − e^(ε−S))₊; no B] + E[1 − e^(ε−S); some B] + E[(e^(ε−S) − 1)₊; some B].
//! ```
//!
//! The first is δ of the steps cut at s_U, a measure of bounded loss, whose contour has one scale. With p = P[B] and r = Q[B], and E[e^(−S); A] = Q[A]
//! for every event A, the second is 1 − (1−p)^T − e^ε·(1 − (1−r)^T): closed. The third is not negative, and at most e^ε·Q[some B, S < ε], which
//! by symmetry is at most e^ε·T·r·Q[the other T − 1 losses are below ε − U together]. Those losses are at least ln(1−q) each: where
//! −(T−1)·ln(1−q) ≤ U − ε the third is 0. Otherwise by Markov's inequality, for every θ > 0, the last factor is at most
//! e^(θ(ε−U))·E_Q[X^(−θ)]^(T−1), a moment of adding the unit.

use super::ball::Ball;
use super::contour::{Contour, LEAST_SIGMA, LEFT_OUT, Smooth};
use super::distribution::LossDistribution;
use super::sampled::{Direction, Sampled};
use super::truncated::Truncated;

/// U over ε, in the order in which they are tried.
const REACHES: [f64; 6] = [1.5, 2.0, 3.0, 5.0, 9.0, 20.0];
/// θ(U − ε) in Markov's inequality.
const THETAS: [f64; 4] = [15.0, 30.0, 60.0, 120.0];
/// Looks for the ε before the answer is computed with all digits, and how close to it is close enough.
const LOOKS: u32 = 14;
const CLOSE: f64 = 0.1;
/// What smoothing may cost, as a part of ε.
pub(super) const WIDTH: f64 = 6e-7;

/// δ(ε) near one ε.
pub(super) struct Jumps {
    contour: Contour,
    /// The probability of B with the unit.
    above: Ball,
    rest: Rest,
}

/// What the third term is bounded by.
struct Rest {
    times: f64,
    /// The probability of B without the unit.
    above: Ball,
    /// At most U, and at least −(T−1)·ln(1−q).
    reach: f64,
    deepest: f64,
    /// (θ, at least ln E_Q[X^(−θ)]^(T−1)).
    moments: Vec<(f64, f64)>,
}

impl Jumps {
    /// For `times` steps that remove a unit, near `epsilon`, where δ is about e^`log_delta`.
    pub(super) fn new(
        step: &Sampled,
        times: f64,
        (epsilon, log_delta): (f64, f64),
        smoothing: Smooth,
    ) -> Option<Self> {
        if step.direction != Direction::Remove || times < 2.0 || epsilon.is_nan() || epsilon <= 0.0 {
            return None;
        }
        if step.sigma.lower() < LEAST_SIGMA {
            return None;
        }
        let share = libm::exp(log_delta + libm::log(LEFT_OUT)).max(1e-290);
        let (cut, lost) = Truncated::new(step, (share / times).max(1e-300));
        let deepest = (Ball::exact(times - 1.0) * -(-step.rate).ln_1p()).upper();
        // Each worth at most what may be left out.
        let enough = log_delta + libm::log(LEFT_OUT);
        for part in REACHES {
            // Where the loss is U, as a short binary fraction.
            let w = libm::log1p(libm::expm1(part * epsilon) / step.rate.middle);
            let s = step.sigma.middle * w + 0.5 / step.sigma.middle;
            let high = (s * 1_048_576.0).round() / 1_048_576.0;
            if high.is_nan() || high <= 0.5 {
                return None;
            }
            if high >= cut.high {
                // Nothing is that far out.
                return None;
            }
            let below = cut.below(high);
            let reach = step.loss(Ball::exact(high)).lower();
            let room = reach - 1.2 * epsilon;
            if room <= 0.0 {
                continue;
            }
            let moments = if deepest <= room {
                Vec::new()
            } else {
                THETAS
                    .iter()
                    .map(|part| {
                        let theta = part / room;
                        (
                            theta,
                            (times - 1.0) * step.log_moment_of_adding(theta) * (1.0 + 1e-12),
                        )
                    })
                    .collect()
            };
            let (plain, mixture) = below.above();
            let rest = Rest {
                times,
                above: plain,
                reach,
                deepest,
                moments,
            };
            if rest.log_bound(1.2 * epsilon) > enough {
                continue;
            }
            let distributions = vec![(LossDistribution::Truncated(below), times)];
            let beyond = libm::log(lost * times * (1.0 + 1e-9)) + 1e-12;
            return Some(Self {
                contour: Contour::near(distributions, (epsilon, log_delta), beyond, smoothing)?,
                above: mixture,
                rest,
            });
        }
        None
    }

    /// Near the ε at which ln δ is `log_delta`, found from `start` on.
    pub(super) fn aimed(step: &Sampled, times: f64, log_delta: f64, start: f64) -> Option<Self> {
        let (mut epsilon, mut low, mut high) = (start, 0.0f64, f64::INFINITY);
        for _ in 0..LOOKS {
            let jumps = Self::new(step, times, (epsilon, log_delta), Smooth::Width(1e-3))?;
            let at = |epsilon: f64| jumps.log_delta(epsilon).map(|found| found.1);
            let here = at(epsilon)?;
            let next = at(1.05 * epsilon)?;
            if here > log_delta {
                low = low.max(epsilon);
            } else {
                high = high.min(epsilon);
            }
            // In the logarithms of both δ falls hardly ever slower than it falls here.
            let slope = ((here - next) / libm::log(1.05)).max(0.2);
            let moved = libm::exp(((here - log_delta) / slope).clamp(-1.4, 1.4));
            if (moved - 1.0).abs() < CLOSE {
                // Smoothing costs v·f of δ, which is worth v·f·ε/(slope·δ) of ε.
                let wide = jumps
                    .contour
                    .rough_density(epsilon)
                    .map(|density| (WIDTH * slope * libm::exp(here) / density).min(1e-4 * epsilon * epsilon))
                    .filter(|variance| *variance > 0.0 && variance.is_finite());
                let smoothing = wide.map_or(Smooth::Width(WIDTH), Smooth::Variance);
                return Self::new(step, times, (epsilon * moved, log_delta), smoothing);
            }
            epsilon *= moved;
            if epsilon <= low || epsilon >= high {
                epsilon = if high.is_finite() {
                    (low.max(1e-3 * high) * high).sqrt()
                } else {
                    2.0 * low
                };
            }
        }
        None
    }

    /// ln δ(ε), between two ends.
    pub(super) fn log_delta(&self, epsilon: f64) -> Option<(f64, f64)> {
        let cut = self.contour.log_delta(epsilon)?;
        let some = |one: Ball| -(Ball::exact(self.rest.times) * (-one).ln_1p()).exp_m1();
        let jump = some(self.above) - Ball::exact(epsilon).exp() * some(self.rest.above);
        if !jump.is_finite() {
            return None;
        }
        let upper =
            libm::exp(cut.1) * (1.0 + 1e-13) + libm::exp(self.rest.log_bound(epsilon)) * (1.0 + 1e-13);
        let lower = libm::exp(cut.0) * (1.0 - 1e-13);
        // Below 1e-300 a float loses digits; δ is not that small where this is asked.
        let upper = (Ball::exact(upper) + jump).upper() + 1e-300;
        let lower = (Ball::exact(lower) + jump).lower() - 1e-300;
        if upper.is_nan() || upper <= 0.0 {
            return None;
        }
        let slack = 4.0 * f64::EPSILON;
        let lower = if lower > 0.0 {
            libm::log(lower)
        } else {
            f64::NEG_INFINITY
        };
        let upper = libm::log(upper);
        Some((
            lower - slack * (1.0 + lower.abs()),
            upper + slack * (1.0 + upper.abs()),
        ))
    }

    /// The first term alone.
    #[cfg(test)]
    pub(super) fn without_jumps(&self, epsilon: f64) -> Option<(f64, f64)> {
        self.contour.log_delta(epsilon)
    }

    /// About how fast ln δ falls with ε.
    pub(super) fn slope(&self) -> f64 {
        self.contour.slope()
    }

    /// The ε for which it was made.
    pub(super) fn guess(&self) -> f64 {
        self.contour.guess()
    }

    pub(super) fn precision(&self) -> f64 {
        self.contour.precision()
    }
}

impl Rest {
    /// At least ln of the third term.
    fn log_bound(&self, epsilon: f64) -> f64 {
        let room = self.reach - epsilon;
        if self.deepest <= room * (1.0 - 1e-12) {
            return f64::NEG_INFINITY;
        }
        let rare = self
            .moments
            .iter()
            .map(|(theta, moment)| moment - theta * room + 1e-9 * (1.0 + theta * room.abs()))
            .fold(0.0f64, f64::min);
        epsilon + libm::log(self.times * self.above.upper()) + rare + 1e-9
    }
}

/// ln δ of Gaussian noise at w, roughly.
fn log_gaussian(sigma: f64, w: f64) -> f64 {
    let tail = |x: f64| 0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2);
    let (near, far) = (tail(w * sigma - 0.5 / sigma), tail(w * sigma + 0.5 / sigma));
    libm::log((near - libm::exp(w.min(700.0)) * far).max(1e-300))
}

/// ln δ(ε) of a plan whose δ comes from one step, roughly.
pub(super) fn log_delta_of_jump(step: &Sampled, times: f64, epsilon: f64) -> f64 {
    let w = libm::log1p(libm::expm1(epsilon.min(700.0)) / step.rate.middle);
    libm::log(times * step.rate.middle) + log_gaussian(step.sigma.middle, w)
}

/// The ε of such a plan, roughly: where to look.
pub(super) fn epsilon_of_jump(step: &Sampled, times: f64, log_delta: f64) -> f64 {
    let log_share = log_delta - libm::log(times * step.rate.middle);
    let sigma = step.sigma.middle;
    let (mut low, mut high) = (0.0, 1.0 + (0.5 / sigma + 40.0) / sigma);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if log_gaussian(sigma, middle) > log_share {
            low = middle;
        } else {
            high = middle;
        }
    }
    let jump = libm::log1p(step.rate.middle * libm::expm1(high.min(700.0)));
    // Or what many small losses add up to, which is at most a few of their deviations.
    let spread = step.rate.middle * libm::sqrt(times * libm::expm1((1.0 / (sigma * sigma)).min(4.0)));
    jump.max(0.5 * spread)
}
