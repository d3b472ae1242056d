//! The certified privacy curve of a plan: for δ the smallest ε, for ε the smallest δ, each between two ends that are proved.
//!
//! ```text
//! Event ──► distributions of privacy loss (distribution) ──► contour integral (contour) ──► ln δ(ε), between two ends
//!              │  moments: closed forms,                 ▲ no contour is short enough?
//!              │  or an integral (sampled, fixed_size)   ▼
//!              └─ cut into cells (cells) ────► transforms on a lattice (lattice)
//! ```
//!
//! Poisson-sampled steps lose their far tails first (truncated), and their moments at all points of a contour come from one Fourier
//! transform (waves).
//!
//! Events are read into distributions (reading), the ways to δ(ε) are tried from the sharpest on (profile), and all arithmetic is in balls (ball), so
//! that rounding is part of the answer.

mod ball;
mod cells;
mod changed;
mod contour;
mod decay;
mod distribution;
mod fixed_size;
mod fourier;
#[cfg(test)]
mod jump_tests;
mod jumps;
mod lattice;
mod masses;
mod profile;
mod reading;
mod sampled;
mod terms;
#[cfg(test)]
mod tests;
mod truncated;
mod waves;

use crate::{
    Delta, Epsilon, Error, Event, Guarantee, PrivacyUnit, Promise, Sampler, delta_of_gaussian,
    epsilon_of_gaussian,
};
pub(crate) use ball::Ball;
use contour::{LossDistributions, log_moment};
use distribution::LossDistribution;
use exact::{Interval, Natural, Rational, from_f64, ratio};
use profile::{certainly_below, delta_between, smallest_epsilon};
use reading::Reading;
use sampled::{Direction, Sampled};
use serde::Serialize;

/// More different events than this are refused: the answer would take minutes.
const MOST_DIFFERENT: usize = 100_000;

/// As many leaks as are multiplied exactly.
const MOST_EXACT: u32 = 64;

/// An exponential of more than this is not computed in exact arithmetic.
const LARGE_EXPONENT: u32 = 10_000;

/// Two ends of a certified interval.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Between<T> {
    /// Certainly at most the truth.
    pub lower: T,
    /// Certainly at least the truth.
    pub upper: T,
}

/// The privacy curve δ(ε) of a plan that was fixed before it ran.
///
/// # Privacy
/// Claim: whatever neighbouring databases the plan runs on, its outputs are (ε, δ)-DP with ε = `epsilon(δ).upper`, for every δ, and
/// with δ = `delta(ε).upper`, for every ε. The lower ends say how much of that is needed: nobody who composes the same dominating pairs
/// gets a smaller ε or δ. Where [`Curve::is_attained`], a mechanism that the events describe has no smaller ones either.
/// Source: each event is replaced by a dominating pair (see `distribution`), pairs compose (Zhu, Dong and Wang 2022), and the
/// composed δ(ε) is computed with bounds on every error (see `contour` and `lattice`).
/// Assumes: what runs, and with which parameters, was fixed in advance. The mechanisms may look at earlier answers, their parameters
/// may not, and nobody may stop early because of what was seen and then claim less. For that there are filters
/// ([`RenyiFilter`](crate::RenyiFilter)), which take events one by one; a curve cannot be continued.
///
/// ```
/// use accounting::{Curve, Delta, Event, Neighbors, PrivacyUnit, Ratio, Sampler};
///
/// // 14 062 steps of private training on batches of about 256 out of 60 000, noise multiplier 1.1.
/// let step = Event::SampledGaussian {
///     sampler: Sampler::Poisson { rate: Ratio::parse("256/60000")? },
///     multiplier_squared: Ratio::parse("1.21")?,
/// };
/// let plan = Event::Repeated { event: Box::new(step), times: 14_062 };
/// let person = PrivacyUnit::new("person", Neighbors::AddRemove);
/// let epsilon = Curve::of(&plan, &person)?.epsilon(&Delta::parse("1e-5")?)?;
/// assert!(epsilon.lower.to_f64_down() > 2.381_596_9 && epsilon.upper.to_f64_up() < 2.381_597);
/// # Ok::<(), accounting::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Curve {
    unit: PrivacyUnit,
    /// One entry, or one for each direction where they differ.
    directions: Vec<LossDistributions>,
    /// The probability of revealing everything, 1 − Π(1 − δᵢ), where something may.
    leak: Option<Ball>,
    /// The same, exactly, where few may.
    exact_leak: Option<Rational>,
    /// The largest loss, where there is one, exactly.
    largest: Option<Rational>,
    /// σ²/Δ₂² of all noise together, where the plan is Gaussian noise alone: it has a closed form.
    gaussian: Option<Rational>,
    /// q and σ²/Δ₂², where the plan is one Poisson-sampled step alone: so has that.
    single: Option<(Rational, Rational)>,
    attained: bool,
}

impl Curve {
    /// The curve of everything in `event`, for `unit`.
    ///
    /// # Errors
    /// When a sampler in it is about other neighbours than `unit`'s, when something in it has no curve (what is known by its ρ alone),
    /// when there is no noise, or when it has more than 100 000 different events.
    pub fn of(event: &Event, unit: &PrivacyUnit) -> Result<Self, Error> {
        event.check_unit(unit)?;
        Self::of_leaves(&event.leaves(), unit)
    }

    /// The curve of simple events, whose samplers suit `unit`, and how often each ran.
    pub(crate) fn of_leaves(leaves: &[(&Event, Natural)], unit: &PrivacyUnit) -> Result<Self, Error> {
        let mut reading = Reading::new();
        for (leaf, times) in leaves {
            reading.read(leaf, times)?;
            if reading.distributions.len() > MOST_DIFFERENT {
                return Err(Error::TooManyEvents { most: MOST_DIFFERENT });
            }
        }
        let single = single_step(&reading);
        let mut distributions: LossDistributions = Vec::with_capacity(reading.distributions.len() + 1);
        for (distribution, times) in reading.distributions.into_values() {
            distributions.push((distribution, exact_count(&times)?));
        }
        if !reading.mu_squared.is_zero() {
            let mu_squared = Ball::from_rational(&reading.mu_squared);
            // Wide enough for what `shorten` may have added.
            let mu_squared = mu_squared.widened(1e-30 * mu_squared.middle);
            distributions.push((LossDistribution::Gaussian { mu_squared }, 1.0));
        }
        let sampled = distributions
            .iter()
            .any(|(distribution, _)| matches!(distribution, LossDistribution::Sampled(_)));
        let mut directions = vec![distributions];
        if sampled {
            let turned = |distribution: &LossDistribution| match distribution {
                LossDistribution::Sampled(step) => LossDistribution::Sampled(Sampled {
                    direction: Direction::Add,
                    ..*step
                }),
                other => *other,
            };
            directions.push(
                directions[0]
                    .iter()
                    .map(|(distribution, times)| (turned(distribution), *times))
                    .collect(),
            );
        }
        // 1 − Π(1 − δᵢ), through the logarithm of the product.
        let kept = reading.leaks.iter().map(|(delta, times)| {
            (-Ball::from_rational(delta)).ln_1p() * Ball::from_rational(&Rational::from(times.clone()))
        });
        let leak = (!reading.leaks.is_empty()).then(|| -kept.sum::<Ball>().exp_m1());
        let few = reading.leaks.values().sum::<Natural>() <= Natural::from(MOST_EXACT);
        let exact_leak = (few && leak.is_some()).then(|| {
            let kept = reading
                .leaks
                .iter()
                .map(|(delta, times)| (Rational::ONE - delta, times));
            let power = |(kept, times): (Rational, &Natural)| {
                let times = usize::try_from(times.clone()).unwrap_or(0);
                std::iter::repeat_n(kept, times).fold(Rational::ONE, |product, kept| product * kept)
            };
            Rational::ONE
                - kept
                    .map(power)
                    .fold(Rational::ONE, |product, next| product * next)
        });
        let alone = directions[0].len() == 1 && leak.is_none() && !reading.mu_squared.is_zero();
        let gaussian = alone.then(|| Rational::ONE / &reading.mu_squared);
        Ok(Self {
            unit: unit.clone(),
            directions,
            leak,
            exact_leak,
            largest: reading.largest,
            gaussian,
            single,
            attained: reading.attained,
        })
    }

    /// The smallest ε for this δ.
    ///
    /// # Errors
    /// When no finite ε holds with this δ, or ε is out of range.
    pub fn epsilon(&self, delta: &Delta) -> Result<Between<Epsilon>, Error> {
        if let Some(multiplier_squared) = &self.gaussian {
            // Verified by that function to be at most one part in 10¹² too large.
            let upper = epsilon_of_gaussian(multiplier_squared, delta)?;
            let lower = upper.as_rational() * (Rational::ONE - ratio(1, 1_000_000_000_000));
            let tiny = upper.to_f64_up() < 1e-20;
            let lower = if tiny {
                Epsilon::ZERO
            } else {
                Epsilon::rounded_down(&lower)?
            };
            return Ok(Between { lower, upper });
        }
        if let Some((rate, multiplier_squared)) = &self.single
            && *delta != Delta::ZERO
        {
            return sampled_once(rate, multiplier_squared, delta);
        }
        let asked = Ball::from_rational(delta.as_rational());
        let (low, high) = match self.leak {
            None => (asked.lower().max(0.0), asked.upper()),
            // Everything may be revealed as often as asked for, or nearly.
            Some(leak) if leak.upper() >= asked.lower() => (0.0, asked.upper()),
            Some(leak) => {
                // What is left when the leaks are paid: (δ − leak)/(1 − leak), where leak < δ < 1.
                let left = |leak: f64, delta: f64| {
                    let leak = Ball::exact(leak.max(0.0));
                    (Ball::exact(delta) - leak).over(Ball::ONE - leak)
                };
                (
                    left(leak.upper(), asked.lower()).lower(),
                    left(leak.lower(), asked.upper()).upper(),
                )
            }
        };
        // Written so that a number that is none is refused.
        if !(low > 0.0 && high >= low && high < 1.0) || *delta == Delta::ZERO {
            return self.without_delta(delta);
        }
        let (mut lower, mut upper) = (0.0f64, 0.0f64);
        let log_delta = (Ball::exact(low).ln().lower(), Ball::exact(high).ln().upper());
        for distributions in &self.directions {
            // The other direction is often far below.
            if lower > 0.0 && certainly_below(distributions, lower, log_delta.0) {
                continue;
            }
            let between = smallest_epsilon(distributions, log_delta)?;
            lower = lower.max(between.0);
            upper = upper.max(between.1);
        }
        let mut upper = Epsilon::rounded_up(&rational(upper)?)?;
        let mut lower = Epsilon::rounded_down(&rational(lower)?)?;
        if let Some(largest) = &self.largest {
            upper = upper.min(Epsilon::exactly_or_up(largest)?);
            lower = lower.min(upper.clone());
        }
        Ok(Between { lower, upper })
    }

    /// No δ is left for the losses: only the largest loss holds.
    fn without_delta(&self, delta: &Delta) -> Result<Between<Epsilon>, Error> {
        let fits = |leak: &Ball| match &self.exact_leak {
            Some(exact) => exact <= delta.as_rational(),
            None => leak.upper() <= delta.to_f64_down(),
        };
        if let Some(leak) = self.leak.filter(|leak| !fits(leak)) {
            let own = Delta::rounded_up(&rational(leak.upper())?)?;
            return Err(Error::DeltaExceeded {
                own: own.to_string(),
                allowed: delta.to_string(),
            });
        }
        let Some(largest) = &self.largest else {
            return Err(Error::NeedsDelta);
        };
        let upper = Epsilon::exactly_or_up(largest)?;
        let lower = if *delta == Delta::ZERO {
            Epsilon::rounded_down(largest)?
        } else {
            Epsilon::ZERO
        };
        Ok(Between { lower, upper })
    }

    /// The smallest δ for this ε.
    ///
    /// # Errors
    /// When δ is 1 or so close to it that nothing is promised.
    pub fn delta(&self, epsilon: &Epsilon) -> Result<Between<Delta>, Error> {
        if let Some(multiplier_squared) = &self.gaussian {
            let delta = delta_of_gaussian(epsilon.as_rational(), multiplier_squared, 64);
            return Ok(Between {
                lower: Delta::at_most(&delta)?,
                upper: Delta::at_least(&delta)?,
            });
        }
        let (mut lower, mut upper) = (0.0f64, 0.0f64);
        let covered = self
            .largest
            .as_ref()
            .is_some_and(|largest| largest <= epsilon.as_rational());
        if !covered {
            for distributions in &self.directions {
                let between = delta_between(distributions, (epsilon.to_f64_down(), epsilon.to_f64_up()));
                lower = lower.max(between.0);
                upper = upper.max(between.1);
            }
        }
        // leak + (1 − leak)·δ.
        let with_leak = |leak: Ball, delta: f64| leak + (Ball::ONE - leak) * Ball::exact(delta);
        if let Some(leak) = self.leak {
            lower = with_leak(Ball::exact(leak.lower().max(0.0)), lower).lower();
            upper = with_leak(Ball::exact(leak.upper()), upper).upper();
        }
        Ok(Between {
            lower: Delta::rounded_down(&rational(lower.clamp(0.0, 1.0 - f64::EPSILON))?)?,
            upper: Delta::rounded_up(&rational(upper.max(0.0))?)?,
        })
    }

    /// What the plan guarantees with this δ.
    ///
    /// # Errors
    /// As [`Curve::epsilon`].
    pub fn guarantee(&self, delta: &Delta) -> Result<Guarantee, Error> {
        let epsilon = self.epsilon(delta)?.upper;
        Ok(Guarantee::new(
            Promise::Approximate(epsilon, delta.clone()),
            self.unit.clone(),
        ))
    }

    /// Whether the dominating pairs are themselves what the events describe, so that the lower ends hold for the worst of it.
    ///
    /// Not for the exponential mechanism, whose worst case depends on the ε asked for; not for samples of fixed size, whose bound is
    /// reached at each ε by another mechanism, nor for shuffled ones, whose order may hide more than is known; and not for discrete Laplace
    /// noise, of which only a bound is used.
    pub fn is_attained(&self) -> bool {
        self.attained
    }

    /// At least the logarithm of E[e^(c·loss)], in both directions.
    pub(crate) fn log_moment(&self, c: f64) -> Option<f64> {
        if self.leak.is_some() {
            return None;
        }
        self.directions
            .iter()
            .map(|distributions| log_moment(distributions, c))
            .try_fold(0.0f64, |largest, next| Some(largest.max(next?)))
    }
}

/// q and σ²/Δ₂² of the one Poisson-sampled step that is everything there is.
fn single_step(reading: &Reading) -> Option<(Rational, Rational)> {
    let ((_, rate, multiplier_squared), (distribution, times)) = reading.distributions.first_key_value()?;
    let alone = reading.distributions.len() == 1
        && *times == Natural::ONE
        && reading.mu_squared.is_zero()
        && reading.leaks.is_empty()
        && matches!(distribution, LossDistribution::Sampled(_));
    alone.then(|| (rate.clone(), multiplier_squared.clone()))
}

/// The ε of one Poisson-sampled Gaussian step.
///
/// # Privacy
/// Claim: δ(ln(1 + q(e^w − 1))) = q·δ_G(w) for w ≥ 0, with δ_G the curve of the Gaussian noise, in the direction of removal, and no
/// more than that in the other.
/// Proof: write p₀, p₁ for the densities without and with the unit in the sample, x' = e^w, x = 1 + q(x' − 1).
/// Removing: (1−q)p₀ + qp₁ − xp₀ = q(p₁ − x'p₀), so the positive parts are equal.
/// Adding: p₀ − x((1−q)p₀ + qp₁) = q(Ap₀ − xp₁) with A = 1 − (1−q)(x' − 1), because 1 − x(1−q) = qA. Where A ≤ 0 that is not
/// positive. Otherwise A ≤ 1, and x'A ≤ x: with y = x' − 1, (1+y)(1 − (1−q)y) = 1 + qy − (1−q)y² ≤ 1 + qy. So
/// Ap₀ − xp₁ ≤ A(p₀ − x'p₁) ≤ (p₀ − x'p₁)₊, whose integral is δ_G(w), for Gaussian noise is symmetric.
/// Source: Balle, Barthe and Gaboardi 2018, Theorem 8. Audited by: `a_smoothed_step_keeps_its_closed_form`.
fn sampled_once(
    rate: &Rational,
    multiplier_squared: &Rational,
    delta: &Delta,
) -> Result<Between<Epsilon>, Error> {
    let share = delta.as_rational() / rate;
    if share >= Rational::ONE {
        return Ok(Between {
            lower: Epsilon::ZERO,
            upper: Epsilon::ZERO,
        });
    }
    // Verified to be at most one part in 10¹² too large, so with this share rounded down above, and with it rounded up below, too.
    let down = Delta::rounded_down(&share)?;
    if down == Delta::ZERO {
        return Err(Error::NeedsDelta);
    }
    let upper = epsilon_of_gaussian(multiplier_squared, &down)?;
    let lower = match Delta::rounded_up(&share) {
        Ok(up) if up != down => epsilon_of_gaussian(multiplier_squared, &up)?,
        _ => upper.clone(),
    };
    let lower = lower.as_rational() * (Rational::ONE - ratio(1, 1_000_000_000_000));
    if *upper.as_rational() > Rational::from(LARGE_EXPONENT) {
        // ln(1 + q(e^w − 1)) is between w + ln q and w.
        let lower = lower + Interval::ln_of(rate, 128).lower();
        return Ok(Between {
            lower: Epsilon::rounded_down(&lower.max(Rational::ZERO))?,
            upper,
        });
    }
    // Bits enough for a q and a w that are both tiny.
    let bits = 160
        + exact::floor_log2(rate).unsigned_abs()
        + if upper == Epsilon::ZERO {
            0
        } else {
            exact::floor_log2(upper.as_rational()).unsigned_abs()
        };
    let amplified = |w: &Rational| {
        let one = Interval::from_integer(1, bits);
        let grown = Interval::exp_of(w, bits).sub(&one);
        let sum = one.add(&Interval::from_rational(rate, bits).mul(&grown));
        sum.ln()
    };
    if upper == Epsilon::ZERO {
        return Ok(Between {
            lower: Epsilon::ZERO,
            upper,
        });
    }
    let (below, above) = (amplified(&lower), amplified(upper.as_rational()));
    let (Some(below), Some(above)) = (below, above) else {
        return Err(Error::Undecided { what: "ε" });
    };
    let tiny = upper.to_f64_up() < 1e-20;
    Ok(Between {
        lower: if tiny {
            Epsilon::ZERO
        } else {
            Epsilon::rounded_down(&below.lower().max(Rational::ZERO))?
        },
        upper: Epsilon::rounded_up(&above.upper())?,
    })
}

fn rational(value: f64) -> Result<Rational, Error> {
    from_f64(value).ok_or(Error::Undecided {
        what: "a privacy curve",
    })
}

fn exact_count(times: &Natural) -> Result<f64, Error> {
    let count = exact::to_f64_nearest(&Rational::from(times.clone()));
    if count < 9e15 {
        Ok(count)
    } else {
        Err(Error::TooOften)
    }
}

/// ln δ(ε) of sampled Gaussian steps, by the saddle-point approximation or that of one step: for choosing, never for promising.
pub(crate) fn rough_log_delta(sampler: &Sampler, rate: f64, sigma: f64, steps: f64, epsilon: f64) -> f64 {
    let step = Sampled {
        rate: Ball::exact(rate),
        sigma: Ball::exact(sigma),
        direction: Direction::Remove,
    };
    // Where the unit is hardly ever in a step, one of them decides, and there is no saddle point.
    if matches!(sampler, Sampler::Poisson { .. }) && steps * rate < 0.5 {
        return jumps::log_delta_of_jump(&step, steps, epsilon);
    }
    let distribution = match sampler {
        Sampler::FixedSize { .. } => LossDistribution::FixedSize(step),
        // A contribution is half as far from nothing as two may be apart.
        Sampler::PoissonChangeOne { .. } => LossDistribution::Changed(Sampled {
            sigma: Ball::exact(2.0 * sigma),
            ..step
        }),
        _ => LossDistribution::Sampled(step),
    };
    contour::RoughLosses::new(&vec![(distribution, steps)]).log_delta(epsilon)
}

/// ln(e^a + e^b).
fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if high.is_infinite() {
        return high;
    }
    high + libm::log1p(libm::exp(low - high))
}
