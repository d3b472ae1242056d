use super::{GroupName, check, least_threshold, present, reaching, terms, with_leak};
use crate::gaussian::recorded;
use crate::{Aggregate, Error, Mechanism, Permit, Sensitivity, SquaredMultiplier, Stated, Terms};
use accounting::{Delta, Epsilon, Event, NoiseSupport, Promise, epsilon_of_gaussian, smallest_multiplier};
use exact::{Interval, Rational, ratio, to_f64_nearest};
use noise::RoundedGaussian;

/// Adds rounded Gaussian noise to the count of each group that occurs, and releases the groups whose noisy count reaches a threshold.
///
/// Like [`LaplaceThreshold`](crate::LaplaceThreshold), but the noise grows with √ℓ₀ where a unit may be in many groups.
///
/// # Privacy
/// Claim: (ε, δ₁+δ₂)-DP when one unit is added or removed, for counts of which it moves at most ℓ₀, each by 1; the set of groups is private.
/// Proof: as for the Laplace threshold, with A₀ the j groups that occur in x' only. The other counts differ by at most √(ℓ₀−j) ≤ √ℓ₀ in ℓ₂, so
/// with σ = √ℓ₀·(the least multiplier for ε and δ₁) their part of the output is (ε, δ₁)-DP; rounding and comparing are post-processing. Some group of
/// A₀ comes out with probability q = 1−(1−p)^j ≤ δ₂ by the choice of τ, where p = P[1+round(Z) ≥ τ] = 1 − Φ((τ−3/2)/σ).
/// With y and w as there, w ≤ min(1, e^ε·y + δ₁) and y ≤ e^ε·w + δ₁: P[M(x') ∈ S] ≤ (1−q)·y + q ≤ e^ε·P[M(x) ∈ S] + δ₁ + q. The other way,
/// e^ε·P[M(x') ∈ S] + δ₁ + q ≥ (1−q)·(e^ε·y + δ₁) + q ≥ (1−q)·w + q ≥ w = P[M(x) ∈ S].
/// Source: Balle and Wang 2018, for the noise; Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson 2020 for the threshold. Assumes: exact sampler; multiplier and τ from certified intervals.
/// Audited by: `audit_gaussian_threshold` (false alarm 1e-9, rejects τ lowered by 3 and half the noise).
#[derive(Clone, Debug)]
pub struct GaussianThreshold {
    pub(super) terms: Terms,
    pub(super) variance: Rational,
    pub(super) threshold: i64,
    pub(super) noise: RoundedGaussian,
}

impl GaussianThreshold {
    /// Half of δ for the noise, half for the threshold.
    pub fn new(epsilon: Epsilon, delta: &Delta, sensitivity: Sensitivity) -> Result<Self, Error> {
        let half = Delta::rounded_down(&(delta.as_rational() * ratio(1, 2)))?;
        let rest = delta.checked_sub(&half).ok_or(Error::NoDelta)?;
        Self::with_split(epsilon, &half, &rest, sensitivity)
    }

    /// With δ₁ = `noise_delta` and δ₂ = `threshold_delta`; both are needed.
    pub fn with_split(
        epsilon: Epsilon,
        noise_delta: &Delta,
        threshold_delta: &Delta,
        sensitivity: Sensitivity,
    ) -> Result<Self, Error> {
        check(&epsilon, noise_delta, &sensitivity)?;
        check(&epsilon, threshold_delta, &sensitivity)?;
        let multiplier = smallest_multiplier(&epsilon, noise_delta)?;
        let promise = Promise::Approximate(epsilon, noise_delta.plus(threshold_delta)?);
        Self::promising(
            promise,
            &(&multiplier * &multiplier),
            threshold_delta,
            sensitivity,
        )
    }

    /// With σ² = multiplier²·ℓ₀, for what is accounted for together with other releases. Alone, as much δ goes to the noise as to the threshold.
    ///
    /// # Errors
    /// When there is no noise, no δ, or more than one step in a count.
    pub fn with_squared_multiplier(
        multiplier_squared: &SquaredMultiplier,
        threshold_delta: &Delta,
        sensitivity: Sensitivity,
    ) -> Result<Self, Error> {
        let multiplier_squared = multiplier_squared.as_rational();
        if *multiplier_squared <= Rational::ZERO {
            return Err(accounting::Error::NoNoise.into());
        }
        let epsilon = epsilon_of_gaussian(multiplier_squared, threshold_delta)?;
        check(&epsilon, threshold_delta, &sensitivity)?;
        let promise = Promise::Approximate(epsilon, threshold_delta.plus(threshold_delta)?);
        Self::promising(promise, multiplier_squared, threshold_delta, sensitivity)
    }

    fn promising(
        promise: Promise,
        multiplier_squared: &Rational,
        threshold_delta: &Delta,
        sensitivity: Sensitivity,
    ) -> Result<Self, Error> {
        let groups = sensitivity.coordinates();
        let variance = multiplier_squared * Rational::from(groups);
        let noise = RoundedGaussian::new(&variance)?;
        let deviation = to_f64_nearest(&variance).sqrt();
        let threshold = least_threshold(
            groups,
            threshold_delta,
            |reach, bits| tail(&variance, reach, bits),
            |logarithm| 0.5 + deviation * normal_reach(logarithm),
        )?;
        let event = Event::Gaussian {
            multiplier_squared: recorded(multiplier_squared)?,
            on: NoiseSupport::Rounded,
        };
        Ok(Self {
            terms: terms(with_leak(event, threshold_delta.clone()), promise, sensitivity),
            variance,
            threshold,
            noise,
        })
    }

    /// σ² of the noise on each count.
    pub fn variance(&self) -> &Rational {
        &self.variance
    }

    /// A group comes out when its noisy count is at least this.
    pub fn threshold(&self) -> i64 {
        self.threshold
    }
}

/// About where the tail of a standard normal has this logarithm: Newton's method on a rational approximation of Mills' ratio.
fn normal_reach(logarithm: f64) -> f64 {
    let mut point = (-2.0 * logarithm).max(0.0).sqrt();
    for _ in 0..6 {
        let hazard = (point + (point * point + 8.0 / std::f64::consts::PI).sqrt()) / 2.0;
        let here = -point * point / 2.0 - (hazard * std::f64::consts::TAU.sqrt()).ln();
        point = (point + (here - logarithm) / hazard).max(0.0);
    }
    point
}

/// P[round(Z) ≥ m] = P[Z ≥ m−½] = Φ(−(m−½)/σ).
pub(super) fn tail(variance: &Rational, reach: i64, bits: u32) -> Interval {
    let edge = Rational::from(reach) - ratio(1, 2);
    let magnitude = Interval::sqrt_of(&(&edge * &edge / variance), bits);
    let point = if edge > Rational::ZERO {
        magnitude.neg()
    } else {
        magnitude
    };
    point.normal_cdf()
}

impl Stated for GaussianThreshold {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl<K: GroupName> Mechanism<Vec<(K, i64)>> for GaussianThreshold {
    type Output = Vec<(K, i64)>;

    fn draw(&self, input: Aggregate<Vec<(K, i64)>>, permit: Permit<'_>) -> Self::Output {
        let (keys, mut counts): (Vec<K>, Vec<i64>) = present(input.open()).into_iter().unzip();
        self.noise.add_to(&mut counts, permit.entropy());
        reaching(keys, counts, self.threshold)
    }
}
