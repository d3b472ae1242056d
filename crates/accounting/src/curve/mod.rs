//! The certified privacy curve of a plan: for δ the smallest ε, for ε the smallest δ, each between two ends that are proved.
//!
//! ```text
//! Event ──► laws of privacy loss (law) ──► contour integral (contour) ──► ln δ(ε), between two ends
//!              │  moments: closed forms,                 ▲ hardly anything falls?
//!              │  or an integral (sampled, fixed_size)   ▼
//!              └─ cut into cells (cells) ────► transforms on a lattice (lattice)
//! ```
//!
//! All arithmetic is in balls (ball), so rounding is part of the answer.

mod ball;
mod cells;
mod contour;
mod fixed_size;
mod lattice;
mod law;
mod sampled;
#[cfg(test)]
mod tests;

use crate::laplace::dominating_ratio;
use crate::{
    Delta, Epsilon, Error, Event, Grid, Guarantee, PrivacyUnit, Promise, Sampler, delta_of_gaussian,
    epsilon_of_gaussian,
};
use ball::Ball;
use contour::{Aim, Contour, Laws, log_kappa, log_moment, orders};
use exact::{Natural, Rational, from_f64, ratio};
use lattice::Lattice;
use law::Law;
use sampled::{Direction, Sampled};
use serde::Serialize;
use std::collections::BTreeMap;

/// More different events than this are refused: the answer would take minutes.
const MOST_DIFFERENT: usize = 100_000;

/// As many leaks as are multiplied exactly.
const MOST_EXACT: u32 = 64;
/// More different laws than this are not smoothed.
const MOST_SMOOTHED: usize = 5000;
/// An interval of this relative width is not the last word: other bounds are asked, too.
const ROUGH: f64 = 1e-2;

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
/// Source: each event is replaced by a dominating pair (see `law`), pairs compose (Zhu, Dong and Wang 2022, Theorem 10), and the
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
    directions: Vec<Laws>,
    /// The probability of revealing everything, 1 − Π(1 − δᵢ), where something may.
    leak: Option<Ball>,
    /// The same, exactly, where few may.
    exact_leak: Option<Rational>,
    /// The largest loss, where there is one, exactly.
    largest: Option<Rational>,
    /// σ²/Δ₂² of all noise together, where the plan is Gaussian noise alone: it has a closed form.
    gaussian: Option<Rational>,
    attained: bool,
}

/// The laws of an event, merged.
struct Reading {
    /// By a key that equal laws share: a name, and their parameters.
    laws: BTreeMap<(u8, Rational, Rational), (Law, Natural)>,
    mu_squared: Rational,
    /// The δs that events carry, and how often.
    leaks: BTreeMap<Rational, Natural>,
    largest: Option<Rational>,
    attained: bool,
}

impl Reading {
    fn add(&mut self, kind: u8, key: (&Rational, &Rational), law: Law, times: &Natural) {
        let place = self
            .laws
            .entry((kind, key.0.clone(), key.1.clone()))
            .or_insert((law, Natural::ZERO));
        place.1 += times;
    }

    fn bounded(&mut self, epsilon: &Rational, times: &Natural) {
        if let Some(largest) = &mut self.largest {
            *largest += epsilon * Rational::from(times.clone());
            shorten(largest);
        }
    }

    fn pure(&mut self, epsilon: &Rational, times: &Natural) {
        let law = Law::Response {
            epsilon: Ball::from_rational(epsilon),
            indifferent: Ball::ZERO,
        };
        self.add(1, (epsilon, &Rational::from(2u8)), law, times);
        self.bounded(epsilon, times);
    }

    fn gaussian(&mut self, multiplier_squared: &Rational, times: &Natural) -> Result<(), Error> {
        if multiplier_squared.is_zero() {
            return Err(Error::NoNoise);
        }
        self.mu_squared += Rational::from(times.clone()) / multiplier_squared;
        shorten(&mut self.mu_squared);
        self.largest = None;
        Ok(())
    }

    fn read(&mut self, event: &Event, times: &Natural) -> Result<(), Error> {
        match event {
            Event::Laplace { ratio, .. } if ratio.as_rational().is_zero() => {}
            Event::Laplace { ratio, on } => {
                let epsilon = ratio.as_rational();
                self.attained &= *on == Grid::Rounded;
                let Some(dominating) = dominating_ratio(epsilon, *on) else {
                    self.pure(epsilon, times);
                    return Ok(());
                };
                let law = Law::Laplace {
                    epsilon: Ball::from_rational(&dominating),
                };
                self.add(2, (&dominating, &Rational::ZERO), law, times);
                self.bounded(epsilon, times);
            }
            Event::Gaussian {
                multiplier_squared,
                on,
            } => match on {
                Grid::Rounded => self.gaussian(multiplier_squared.as_rational(), times)?,
                Grid::DiscreteScalar { sensitivity: 0 } => {}
                Grid::DiscreteScalar { sensitivity } => {
                    let variance = multiplier_squared.as_rational()
                        * Rational::from(*sensitivity)
                        * Rational::from(*sensitivity);
                    if variance.is_zero() {
                        return Err(Error::NoNoise);
                    }
                    let steps = Rational::from(*sensitivity);
                    let law = Law::DiscreteGaussian {
                        variance: Ball::from_rational(&variance),
                        sensitivity: *sensitivity as f64,
                    };
                    self.add(3, (&variance, &steps), law, times);
                    self.largest = None;
                }
                Grid::Discrete => {
                    return Err(Error::NoCurve {
                        what: "discrete Gaussian noise on several numbers",
                    });
                }
            },
            Event::SampledGaussian {
                sampler,
                multiplier_squared,
            } => {
                self.sampled(sampler, multiplier_squared.as_rational(), times)?;
            }
            Event::RandomizedResponse { answers, epsilon } => {
                let epsilon = epsilon.as_rational();
                if !epsilon.is_zero() && *answers >= 2 {
                    let answers = Rational::from(*answers);
                    let law = Law::Response {
                        epsilon: Ball::from_rational(epsilon),
                        indifferent: Ball::from_rational(&(&answers - Rational::from(2u8))),
                    };
                    self.add(1, (epsilon, &answers), law, times);
                    self.bounded(epsilon, times);
                }
            }
            Event::Exponential { epsilon } => {
                let epsilon = epsilon.as_rational();
                if !epsilon.is_zero() {
                    let law = Law::BoundedRange {
                        epsilon: Ball::from_rational(epsilon),
                    };
                    self.attained = false;
                    self.add(4, (epsilon, &Rational::ZERO), law, times);
                    self.bounded(epsilon, times);
                }
            }
            Event::Pure { epsilon } => self.pure_unless_zero(epsilon, times),
            Event::Approximate { epsilon, delta } => {
                self.pure_unless_zero(epsilon, times);
                if *delta != Delta::ZERO {
                    *self.leaks.entry(delta.as_rational().clone()).or_default() += times;
                }
            }
            Event::Concentrated { .. } => {
                return Err(Error::NoCurve {
                    what: "something known by its ρ alone",
                });
            }
            Event::Composed(_) | Event::Repeated { .. } => unreachable!("leaves are simple"),
        }
        Ok(())
    }

    fn pure_unless_zero(&mut self, epsilon: &Epsilon, times: &Natural) {
        if *epsilon != Epsilon::ZERO {
            self.pure(epsilon.as_rational(), times);
        }
    }

    fn sampled(
        &mut self,
        sampler: &Sampler,
        multiplier_squared: &Rational,
        times: &Natural,
    ) -> Result<(), Error> {
        let rate = sampler.rate()?;
        if rate.is_zero() {
            return Ok(());
        }
        self.attained &= matches!(sampler, Sampler::Poisson { .. });
        // Seeing everything tells no less than seeing nearly everything, where 1 − q would be lost in rounding.
        let nearly_all = rate > Rational::ONE - ratio(1, 1_000_000_000);
        self.attained &= !nearly_all || rate.is_one();
        if nearly_all {
            return self.gaussian(multiplier_squared, times);
        }
        if multiplier_squared.is_zero() {
            return Err(Error::NoNoise);
        }
        let step = Sampled {
            rate: Ball::from_rational(&rate),
            sigma: Ball::from_rational(multiplier_squared).sqrt(),
            direction: Direction::Remove,
        };
        let (kind, law) = match sampler {
            Sampler::FixedSize { .. } => (5, Law::FixedSize(step)),
            _ => (6, Law::Sampled(step)),
        };
        self.add(kind, (&rate, multiplier_squared), law, times);
        self.largest = None;
        Ok(())
    }
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
        let mut reading = Reading {
            laws: BTreeMap::new(),
            mu_squared: Rational::ZERO,
            leaks: BTreeMap::new(),
            largest: Some(Rational::ZERO),
            attained: true,
        };
        for (leaf, times) in leaves {
            reading.read(leaf, times)?;
            if reading.laws.len() > MOST_DIFFERENT {
                return Err(Error::TooManyEvents { most: MOST_DIFFERENT });
            }
        }
        let mut laws: Laws = Vec::with_capacity(reading.laws.len() + 1);
        for (law, times) in reading.laws.into_values() {
            laws.push((law, exact_count(&times)?));
        }
        if !reading.mu_squared.is_zero() {
            let mu_squared = Ball::from_rational(&reading.mu_squared);
            // Wide enough for what `shorten` may have added.
            let mu_squared = mu_squared.widened(1e-30 * mu_squared.middle);
            laws.push((Law::Gaussian { mu_squared }, 1.0));
        }
        let sampled = laws.iter().any(|(law, _)| matches!(law, Law::Sampled(_)));
        let mut directions = vec![laws];
        if sampled {
            let turned = |law: &Law| match law {
                Law::Sampled(step) => Law::Sampled(Sampled {
                    direction: Direction::Add,
                    ..*step
                }),
                other => *other,
            };
            directions.push(
                directions[0]
                    .iter()
                    .map(|(law, times)| (turned(law), *times))
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
        for laws in &self.directions {
            let between = smallest_epsilon(
                laws,
                (Ball::exact(low).ln().lower(), Ball::exact(high).ln().upper()),
            )?;
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
            for laws in &self.directions {
                let between = delta_between(laws, (epsilon.to_f64_down(), epsilon.to_f64_up()));
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
            .map(|laws| log_moment(laws, c))
            .try_fold(0.0f64, |largest, next| Some(largest.max(next?)))
    }
}

/// Rounds a sum up where many fractions gave it an enormous denominator, which a hundred thousand of them would make slow. By so
/// little, one part in 10⁴⁰, that no end of an interval shows it.
fn shorten(sum: &mut Rational) {
    if exact::floor_log2(&Rational::from(sum.denominator().clone())) > 2048 {
        *sum = exact::decimal_at_least(sum, 40);
    }
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

/// ln δ(ε), by one of the ways to it.
enum Profile {
    Contour(Contour),
    Lattice(Box<Lattice>),
    Smoothed(Smoothed),
}

/// A contour for the plan and one Gaussian more, whose moments make it short where the plan's own hardly fall.
///
/// With more noise the answers say more, so δ with the Gaussian is at least δ without. Its loss ξ is normal with variance v and mean v/2, and
/// L = (L + ξ) − ξ, so δ(ε) ≥ δ₊(ε + r) − P[ξ > r], with P[ξ > v/2 + z√v] ≤ e^(−z²/2).
struct Smoothed {
    contour: Contour,
    shift: f64,
    log_beta: f64,
}

impl Smoothed {
    fn new(laws: &Laws, aim: Aim) -> Option<Self> {
        let sampled = |law: &Law| matches!(law, Law::Sampled(_) | Law::FixedSize(_));
        if laws.len() > MOST_SMOOTHED || laws.iter().any(|(law, _)| sampled(law)) {
            // Lines of sampled steps cost more the longer they are: the lattice is better.
            return None;
        }
        [1e-7, 1e-6, 1e-5, 1e-4, 1e-3]
            .into_iter()
            .find_map(|variance: f64| {
                let mut laws = laws.clone();
                laws.push((
                    Law::Gaussian {
                        mu_squared: Ball::exact(variance),
                    },
                    1.0,
                ));
                let contour = Contour::new(&laws, aim, contour::FEW_POINTS)?;
                let log_beta = contour.log_delta(contour.guess())?.1.min(0.0) - 14.0;
                let shift = 0.5 * variance + (-2.0 * variance * log_beta).sqrt();
                Some(Self {
                    contour,
                    shift: shift * (1.0 + 1e-12),
                    log_beta,
                })
            })
    }

    fn log_delta(&self, epsilon: f64) -> Option<(f64, f64)> {
        let upper = self.contour.log_delta(epsilon)?.1;
        let moved = self.contour.log_delta((epsilon + self.shift).next_up())?.0;
        let left = self.log_beta - moved;
        let lower = if left < -1e-9 {
            moved + libm::log1p(-libm::exp(left)) - 1e-12
        } else {
            f64::NEG_INFINITY
        };
        Some((lower, upper))
    }
}

impl Profile {
    /// The ways, from the sharpest to the most patient.
    fn ways() -> [fn(&Laws, Aim) -> Option<Self>; 4] {
        [
            |laws, aim| Contour::new(laws, aim, contour::POINTS).map(Profile::Contour),
            |laws, aim| {
                Lattice::new(laws, aim, lattice::POINTS)
                    .map(Box::new)
                    .map(Profile::Lattice)
            },
            |laws, aim| Smoothed::new(laws, aim).map(Profile::Smoothed),
            |laws, aim| {
                Lattice::new(laws, aim, lattice::MANY_POINTS)
                    .map(Box::new)
                    .map(Profile::Lattice)
            },
        ]
    }

    fn log_delta(&self, epsilon: f64) -> Option<(f64, f64)> {
        match self {
            Profile::Contour(contour) => contour.log_delta(epsilon),
            Profile::Lattice(lattice) => lattice.log_delta(epsilon),
            Profile::Smoothed(smoothed) => smoothed.log_delta(epsilon),
        }
    }

    fn slope(&self) -> f64 {
        match self {
            Profile::Contour(contour) => contour.slope(),
            Profile::Lattice(lattice) => lattice.slope(),
            Profile::Smoothed(smoothed) => smoothed.contour.slope(),
        }
    }

    /// Two ends around the smallest ε ≥ 0 at which ln δ(ε) is at most `log_delta`, itself between two ends.
    fn solve(&self, log_delta: (f64, f64)) -> Option<(f64, f64)> {
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
        narrow((low, over(low)?), (high, over(high)?), over).map(|(_, high)| high)
    }

    /// An ε, not above `upper`, at which δ is certainly at least what is asked, and hardly smaller than needed; 0 when there is none.
    fn lower_end(&self, upper: f64, log_delta: f64) -> Option<f64> {
        let over = |epsilon: f64| Some(self.log_delta(epsilon)?.0 - log_delta);
        let (mut high, mut step) = (upper, 1e-12 * (1.0 + upper));
        if over(high)? >= 0.0 {
            return Some(high);
        }
        loop {
            let low = high - step;
            if low <= 0.0 {
                return Some(0.0);
            }
            if over(low)? >= 0.0 {
                return narrow((low, over(low)?), (high, over(high)?), over).map(|(low, _)| low);
            }
            (high, step) = (low, 2.0 * step);
        }
    }

    /// About where ε will be.
    fn guess(&self) -> f64 {
        match self {
            Profile::Contour(contour) => contour.guess(),
            Profile::Lattice(lattice) => lattice.guess(),
            Profile::Smoothed(smoothed) => smoothed.contour.guess(),
        }
    }
}

/// Brings two points closer at which a falling function is positive and not positive, keeping both properties.
fn narrow(
    mut low: (f64, f64),
    mut high: (f64, f64),
    function: impl Fn(f64) -> Option<f64>,
) -> Option<(f64, f64)> {
    // Regula falsi that halves the weight of an end that stays (Illinois), and bisection where that is slow.
    let (mut weight_low, mut weight_high) = (low.1, high.1);
    for round in 0..200 {
        if high.0 - low.0 < 1e-13 * (1.0 + high.0) {
            break;
        }
        let mut next = high.0 - weight_high * (high.0 - low.0) / (weight_high - weight_low);
        if !(next > low.0 && next < high.0) || round % 6 == 5 {
            next = f64::midpoint(low.0, high.0);
        }
        let at = function(next)?;
        // Land on both sides of the root, close to it, rather than on one side only.
        if at > 0.0 {
            (low, weight_low) = ((next, at), at);
            weight_high *= 0.5;
        } else {
            (high, weight_high) = ((next, at), at);
            weight_low *= 0.5;
        }
    }
    Some((low.0, high.0))
}

/// Two ends around the smallest ε at which ln δ(ε) is at most `log_delta`, itself between two ends.
fn smallest_epsilon(laws: &Laws, log_delta: (f64, f64)) -> Result<(f64, f64), Error> {
    if laws.is_empty() {
        return Ok((0.0, 0.0));
    }
    let (mut lower, mut upper) = (0.0f64, lattice::largest(laws).map_or(f64::INFINITY, f64::next_up));
    for way in Profile::ways() {
        if let Some(found) = way(laws, Aim::Delta(log_delta.0)).and_then(|profile| profile.solve(log_delta)) {
            (lower, upper) = (lower.max(found.0), upper.min(found.1));
        }
        if upper.is_finite() && upper - lower <= ROUGH * upper {
            return Ok((lower.min(upper), upper));
        }
    }
    // Markov's inequality at the best of some moments: δ ≤ κ(c)·M(c)·e^(−cε). Never tight, always there.
    let markov =
        |c: f64| Some((log_moment(laws, c)? + log_kappa(c) - log_delta.0 + 1e-9) / c * (1.0 + 1e-12));
    let aim = Aim::Delta(log_delta.0);
    upper = orders(laws, aim)
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
fn delta_between(laws: &Laws, epsilon: (f64, f64)) -> (f64, f64) {
    if laws.is_empty() {
        return (0.0, 0.0);
    }
    let (mut lower, mut upper) = (f64::NEG_INFINITY, 0.0f64);
    for way in Profile::ways() {
        let Some(profile) = way(laws, Aim::Epsilon(epsilon.0)) else {
            continue;
        };
        if let (Some(high), Some(low)) = (profile.log_delta(epsilon.0), profile.log_delta(epsilon.1)) {
            (lower, upper) = (lower.max(low.0), upper.min(high.1));
        }
        if upper - lower <= ROUGH {
            break;
        }
    }
    if upper - lower > ROUGH {
        let markov = |c: f64| Some(log_moment(laws, c)? + log_kappa(c) - c * epsilon.0 + 1e-9);
        let aim = Aim::Epsilon(epsilon.0);
        upper = orders(laws, aim)
            .into_iter()
            .filter_map(markov)
            .fold(upper, f64::min);
    }
    (
        libm::exp(lower.min(upper)) * (1.0 - 1e-13),
        (libm::exp(upper) * (1.0 + 1e-13) + 1e-305).min(1.0),
    )
}

/// ln δ(ε) of sampled Gaussian steps, by the saddle-point approximation: for choosing, never for promising.
pub(crate) fn rough_log_delta(sampler: &Sampler, rate: f64, sigma: f64, steps: f64, epsilon: f64) -> f64 {
    let step = Sampled {
        rate: Ball::exact(rate),
        sigma: Ball::exact(sigma),
        direction: Direction::Remove,
    };
    let law = match sampler {
        Sampler::FixedSize { .. } => Law::FixedSize(step),
        _ => Law::Sampled(step),
    };
    contour::RoughLaws::new(&vec![(law, steps)]).log_delta(epsilon)
}

/// ln(e^a + e^b).
fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if high.is_infinite() {
        return high;
    }
    high + libm::log1p(libm::exp(low - high))
}
