//! The ways to δ(ε), and what is read off it.

use super::ball::Ball;
use super::contour::{Aim, Contour, LossDistributions, Smooth, log_kappa, log_moment, orders};
use super::distribution::LossDistribution;
use super::jumps::{Jumps, WIDTH, epsilon_of_jump, log_delta_of_jump};
use super::lattice::{self, Lattice};
use super::sampled::Direction;
use crate::Error;
use std::ops::Range;

/// An interval of this relative width is not the last word: other contours are asked, too, and one of this, also the lattice.
const WIDE: f64 = 1e-6;
const ROUGH: f64 = 1e-2;

/// A way to a profile that is good near an aim.
type Way = fn(&LossDistributions, Aim) -> Option<Profile>;

/// ln δ(ε), by one of the ways to it.
pub(super) enum Profile {
    Contour(Contour),
    Jumps(Box<Jumps>),
    Lattice(Box<Lattice>),
}

impl Profile {
    /// The ways, from the sharpest to the most patient, and how narrow what the earlier ones found must be to leave it out.
    fn ways() -> [(f64, Way); 6] {
        [
            (WIDE, |distributions, aim| {
                // Where the unit is hardly ever in a step at all.
                Self::jumps(distributions, aim, 0.0..0.5)
                    .map(Box::new)
                    .map(Profile::Jumps)
            }),
            (WIDE, |distributions, aim| {
                Contour::sharp(distributions, aim).map(Profile::Contour)
            }),
            (WIDE, |distributions, aim| {
                Self::jumps(distributions, aim, 0.5..f64::INFINITY)
                    .map(Box::new)
                    .map(Profile::Jumps)
            }),
            (WIDE, |distributions, aim| {
                Contour::new(distributions, aim).map(Profile::Contour)
            }),
            (ROUGH, |distributions, aim| {
                Lattice::new(distributions, aim, lattice::POINTS)
                    .map(Box::new)
                    .map(Profile::Lattice)
            }),
            (ROUGH, |distributions, aim| {
                Lattice::new(distributions, aim, lattice::MANY_POINTS)
                    .map(Box::new)
                    .map(Profile::Lattice)
            }),
        ]
    }

    /// For sampled steps alone that remove a unit, which is in so many of them on average.
    fn jumps(distributions: &LossDistributions, aim: Aim, often: Range<f64>) -> Option<Jumps> {
        let [(LossDistribution::Sampled(step), times)] = distributions[..] else {
            return None;
        };
        if !often.contains(&(times * step.rate.middle)) {
            return None;
        }
        match aim {
            Aim::Delta(log_delta) => {
                Jumps::aimed(&step, times, log_delta, epsilon_of_jump(&step, times, log_delta))
            }
            Aim::Epsilon(epsilon) => {
                let log_delta = log_delta_of_jump(&step, times, epsilon);
                Jumps::new(&step, times, (epsilon, log_delta - 2.0), Smooth::Width(WIDTH))
            }
        }
    }

    fn log_delta(&self, epsilon: f64) -> Option<(f64, f64)> {
        match self {
            Profile::Contour(contour) => contour.log_delta(epsilon),
            Profile::Jumps(jumps) => jumps.log_delta(epsilon),
            Profile::Lattice(lattice) => lattice.log_delta(epsilon),
        }
    }

    fn slope(&self) -> f64 {
        match self {
            Profile::Contour(contour) => contour.slope(),
            Profile::Jumps(jumps) => jumps.slope(),
            Profile::Lattice(lattice) => lattice.slope(),
        }
    }

    /// Two ends around the smallest ε ≥ 0 at which ln δ(ε) is at most `log_delta`, itself between two ends.
    pub(super) fn solve(&self, log_delta: (f64, f64)) -> Option<(f64, f64)> {
        let upper = self.upper_end(log_delta.0)?;
        Some((self.lower_end(upper, log_delta.1)?, upper))
    }

    /// An ε at which δ is certainly at most what is asked, and hardly larger than needed.
    fn upper_end(&self, log_delta: f64) -> Option<f64> {
        let over = |epsilon: f64| Some(self.log_delta(epsilon)?.1 - log_delta);
        // From the guess outwards, until the answer is in between. A guess so far off that nothing is known there counts as above.
        let mut low = self.guess();
        let mut step = (1.0 / self.slope()).min(1.0);
        while low > 0.0 && !over(low).is_some_and(|over| over > 0.0) {
            low = (low - step).max(0.0);
            step *= 2.0;
        }
        if low == 0.0 && over(0.0)? <= 0.0 {
            return Some(0.0);
        }
        let mut high = low + 1.0 / self.slope();
        while over(high)? > 0.0 {
            (low, high) = (high, high + 2.0 * (high - low));
            if high > 1e12 {
                return None;
            }
        }
        narrow((low, over(low)?), (high, over(high)?), self.precision(), over).map(|(_, high)| high)
    }

    /// An ε, not above `upper`, at which δ is certainly at least what is asked, and hardly smaller than needed; 0 when there is none.
    fn lower_end(&self, upper: f64, log_delta: f64) -> Option<f64> {
        let over = |epsilon: f64| Some(self.log_delta(epsilon)?.0 - log_delta);
        let (mut high, mut step) = (upper, 10.0 * self.precision() * upper.max(1e-12));
        if over(high)? >= 0.0 {
            return Some(high);
        }
        loop {
            let low = high - step;
            if low <= 0.0 {
                return Some(0.0);
            }
            if over(low)? >= 0.0 {
                return narrow((low, over(low)?), (high, over(high)?), self.precision(), over)
                    .map(|(low, _)| low);
            }
            (high, step) = (low, 2.0 * step);
        }
    }

    fn precision(&self) -> f64 {
        match self {
            Profile::Contour(contour) => contour.precision(),
            Profile::Jumps(jumps) => jumps.precision(),
            Profile::Lattice(_) => 1e-13,
        }
    }

    /// About where ε will be.
    fn guess(&self) -> f64 {
        match self {
            Profile::Contour(contour) => contour.guess(),
            Profile::Jumps(jumps) => jumps.guess(),
            Profile::Lattice(lattice) => lattice.guess(),
        }
    }
}

/// Brings two points closer at which a falling function is positive and not positive, keeping both properties.
fn narrow(
    mut low: (f64, f64),
    mut high: (f64, f64),
    precision: f64,
    function: impl Fn(f64) -> Option<f64>,
) -> Option<(f64, f64)> {
    // Regula falsi that halves the weight of an end that stays (Illinois), and bisection where that is slow.
    let (mut weight_low, mut weight_high, mut last) = (low.1, high.1, 0.0);
    for round in 0..200 {
        let wide = high.0 - low.0;
        if wide < precision * high.0.max(1e-12) {
            break;
        }
        let root = high.0 - weight_high * wide / (weight_high - weight_low);
        // A little to the other side than the last one, so that both ends come close.
        let mut next = root + last * 0.3 * precision * high.0.max(1e-12);
        if !(next > low.0 && next < high.0) || round % 6 == 5 {
            next = f64::midpoint(low.0, high.0);
        }
        let at = function(next)?;
        if at > 0.0 {
            (low, weight_low) = ((next, at), at);
            if last > 0.0 {
                weight_high *= 0.5;
            }
            last = 1.0;
        } else {
            (high, weight_high) = ((next, at), at);
            if last < 0.0 {
                weight_low *= 0.5;
            }
            last = -1.0;
        }
    }
    Some((low.0, high.0))
}

/// Whether δ(ε) is certainly at most e^`log_delta`: by the largest loss, or by Markov's inequality, without a contour.
pub(super) fn certainly_below(distributions: &LossDistributions, epsilon: f64, log_delta: f64) -> bool {
    if lattice::largest(distributions).is_some_and(|largest| largest <= epsilon) {
        return true;
    }
    // Where a unit is added, a bound on the moments is as good, and soon there.
    let quick = |c: f64| {
        let mut sum = 0.0;
        for (distribution, times) in distributions {
            match distribution {
                LossDistribution::Sampled(step) if step.direction == Direction::Add => {
                    sum += times * step.log_moment_of_adding(c) * (1.0 + 1e-12);
                }
                _ => return None,
            }
        }
        Some(sum)
    };
    // e^(cε) with c in units of 1/ε.
    [2.0, 4.0, 8.0, 16.0, 32.0, 64.0].iter().any(|part| {
        let c = part / epsilon;
        c < 1e6
            && quick(c)
                .or_else(|| log_moment(distributions, c))
                .is_some_and(|moment| moment + log_kappa(c) - c * epsilon + 1e-9 < log_delta)
    })
}

/// Whether δ(0), the total variation, is certainly at most e^`log_delta`: it is at most the sum of those of sampled steps, and of one step it is
/// q·(2Φ(1/2σ) − 1).
fn nothing_needed(distributions: &LossDistributions, log_delta: f64) -> bool {
    let mut sum = Ball::ZERO;
    for (distribution, times) in distributions {
        let LossDistribution::Sampled(step) = distribution else {
            return false;
        };
        let half = Ball::exact(0.5).over(step.sigma);
        let variation = step.rate * (Ball::ONE - Ball::exact(2.0) * half.normal_tail());
        sum = sum + Ball::exact(*times) * variation;
    }
    sum.upper() <= libm::exp(log_delta) * (1.0 - 1e-12)
}

/// Two ends around the smallest ε at which ln δ(ε) is at most `log_delta`, itself between two ends.
pub(super) fn smallest_epsilon(
    distributions: &LossDistributions,
    log_delta: (f64, f64),
) -> Result<(f64, f64), Error> {
    if distributions.is_empty() || nothing_needed(distributions, log_delta.0) {
        return Ok((0.0, 0.0));
    }
    let (mut lower, mut upper) = (
        0.0f64,
        lattice::largest(distributions).map_or(f64::INFINITY, f64::next_up),
    );
    for (enough, way) in Profile::ways() {
        if upper.is_finite() && upper - lower <= enough * upper {
            return Ok((lower.min(upper), upper));
        }
        if let Some(found) =
            way(distributions, Aim::Delta(log_delta.0)).and_then(|profile| profile.solve(log_delta))
        {
            (lower, upper) = (lower.max(found.0), upper.min(found.1));
        }
    }
    if upper.is_finite() && upper - lower <= ROUGH * upper {
        return Ok((lower.min(upper), upper));
    }
    // Markov's inequality at the best of some moments: δ ≤ κ(c)·M(c)·e^(−cε). Never tight, always there.
    let markov = |c: f64| {
        Some((log_moment(distributions, c)? + log_kappa(c) - log_delta.0 + 1e-9) / c * (1.0 + 1e-12))
    };
    let aim = Aim::Delta(log_delta.0);
    upper = orders(distributions, aim)
        .into_iter()
        .filter_map(markov)
        .fold(upper, f64::min)
        .max(0.0);
    if upper.is_finite() {
        Ok((lower.min(upper), upper))
    } else {
        Err(Error::Undecided { what: "ε" })
    }
}

/// δ between two ends, for an ε between two ends.
pub(super) fn delta_between(distributions: &LossDistributions, epsilon: (f64, f64)) -> (f64, f64) {
    if distributions.is_empty() {
        return (0.0, 0.0);
    }
    let (mut lower, mut upper) = (f64::NEG_INFINITY, 0.0f64);
    for (enough, way) in Profile::ways() {
        // A millionth of ε is more of δ.
        if upper - lower <= enough.max(1e-4) {
            break;
        }
        let Some(profile) = way(distributions, Aim::Epsilon(epsilon.0)) else {
            continue;
        };
        if let (Some(high), Some(low)) = (profile.log_delta(epsilon.0), profile.log_delta(epsilon.1)) {
            (lower, upper) = (lower.max(low.0), upper.min(high.1));
        }
    }
    if upper - lower > ROUGH {
        let markov = |c: f64| Some(log_moment(distributions, c)? + log_kappa(c) - c * epsilon.0 + 1e-9);
        let aim = Aim::Epsilon(epsilon.0);
        upper = orders(distributions, aim)
            .into_iter()
            .filter_map(markov)
            .fold(upper, f64::min);
    }
    (
        libm::exp(lower.min(upper)) * (1.0 - 1e-13),
        (libm::exp(upper) * (1.0 + 1e-13) + 1e-305).min(1.0),
    )
}
