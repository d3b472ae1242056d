use crate::{
    Accuracy, Aggregate, Error, Mechanism, Permit, Points, Sensitivity, SquaredMultiplier, Stated, Terms,
};
use accounting::{
    Delta, Epsilon, Event, NoiseSupport, Promise, Ratio, Rho, classic_multiplier, smallest_multiplier,
};
use exact::{Interval, Rational, floor_log2, ratio};
use noise::{DiscreteGaussian, Grid, RoundedGaussian};

/// Adds Gaussian noise to each coordinate, rounded to the grid.
///
/// # Privacy
/// Claim: (ε, δ)-DP for inputs on the grid that differ by at most Δ₂ in ℓ₂, scalar or vector.
/// Proof: continuous noise N(0, σ²) on each coordinate is (ε, δ)-DP exactly when Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) ≤ δ with μ = Δ₂/σ, because along the line through x and x' it is
/// N(0, σ²) on one number, and across that line both distributions agree. [`Gaussian::analytic`] takes the smallest σ for which that certainly holds; [`Gaussian::classic`] takes
/// σ = Δ₂·√(2 ln(1.25/δ))/ε and is built only where that holds too. A value on the grid plus rounded noise is the rounded noisy value, round(x + Z) = x + round(Z), so rounding is
/// post-processing, as is saturating at the ends of `i64`. σ² = multiplier²·Δ₂² is rational, and the multiplier is rounded up.
/// Source: Balle and Wang 2018; Dwork and Roth 2014. Assumes: exact sampler.
/// Audited by: `audit_gaussian` (false alarm 1e-9, rejects 0.95 σ and half of Δ₂).
#[derive(Clone, Debug)]
pub struct Gaussian {
    terms: Terms,
    variance: Rational,
    noise: RoundedGaussian,
}

impl Gaussian {
    /// With σ = Δ₂·√(2 ln(1.25/δ))/ε, the textbook's. [`Gaussian::analytic`] promises the same with less noise.
    ///
    /// # Errors
    /// When ε is 0 or above 1, where the textbook's proof does not hold, when δ = 0, or when no sampler has so little or so much noise.
    pub fn classic(
        epsilon: Epsilon,
        delta: Delta,
        sensitivity: Sensitivity,
        grid: Grid,
    ) -> Result<Self, Error> {
        Self::new(epsilon, delta, sensitivity, grid, classic_multiplier)
    }

    /// With the smallest σ that suffices, up to one part in 10¹².
    ///
    /// # Errors
    /// When δ = 0, or when no sampler has so little or so much noise.
    pub fn analytic(
        epsilon: Epsilon,
        delta: Delta,
        sensitivity: Sensitivity,
        grid: Grid,
    ) -> Result<Self, Error> {
        Self::new(epsilon, delta, sensitivity, grid, smallest_multiplier)
    }

    fn new(
        epsilon: Epsilon,
        delta: Delta,
        sensitivity: Sensitivity,
        grid: Grid,
        multiplier: fn(&Epsilon, &Delta) -> Result<Rational, accounting::Error>,
    ) -> Result<Self, Error> {
        if delta == Delta::ZERO {
            return Err(Error::NoDelta);
        }
        let multiplier = multiplier(&epsilon, &delta)?;
        let promise = Promise::Approximate(epsilon, delta);
        Self::promising(promise, &(&multiplier * &multiplier), sensitivity, grid)
    }

    /// With σ² = multiplier²·Δ₂², for what is accounted for together with other releases. Alone it is ρ-zCDP with ρ = 1/(2·multiplier²)
    /// (Bun and Steinke 2016; rounding is post-processing).
    ///
    /// # Errors
    /// When no sampler has so little or so much noise.
    pub fn with_squared_multiplier(
        multiplier_squared: &SquaredMultiplier,
        sensitivity: Sensitivity,
        grid: Grid,
    ) -> Result<Self, Error> {
        let multiplier_squared = multiplier_squared.as_rational();
        if *multiplier_squared <= Rational::ZERO {
            return Err(accounting::Error::NoNoise.into());
        }
        let rho = Rho::exactly_or_up(&(ratio(1, 2) / multiplier_squared))?;
        Self::promising(Promise::Concentrated(rho), multiplier_squared, sensitivity, grid)
    }

    fn promising(
        promise: Promise,
        multiplier_squared: &Rational,
        sensitivity: Sensitivity,
        grid: Grid,
    ) -> Result<Self, Error> {
        let variance = multiplier_squared * sensitivity.l2_squared();
        let multiplier_squared = recorded(multiplier_squared)?;
        let noise = RoundedGaussian::new(&variance)?;
        let event = Event::Gaussian {
            multiplier_squared,
            on: NoiseSupport::Rounded,
        };
        let terms = Terms::new(sensitivity, event, promise, accuracy(&variance)).on(grid);
        Ok(Self {
            terms,
            variance,
            noise,
        })
    }

    /// σ² of the noise on each coordinate before rounding, in squared grid steps.
    pub fn variance(&self) -> &Rational {
        &self.variance
    }
}

impl Stated for Gaussian {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl<T: Points> Mechanism<T> for Gaussian {
    type Output = T;

    fn draw(&self, input: Aggregate<T>, permit: Permit<'_>) -> T {
        let mut value = input.open();
        self.noise.add_to(value.as_mut_slice(), permit.entropy());
        value
    }
}

/// Adds discrete Gaussian noise to each coordinate: P(k) ∝ e^(−k²/2σ²) over all grid points.
///
/// # Privacy
/// Claim: ρ-zCDP for inputs on the grid that differ by at most Δ₂ in ℓ₂, scalar or vector.
/// Proof: σ² = Δ₂²/2ρ. For integers x, x' and α > 1, Σ_k P(k−x)^α·P(k−x')^(1−α) = e^(α(α−1)(x−x')²/2σ²)·Σ_k e^(−(k−m)²/2σ²)/Σ_k e^(−k²/2σ²) with m = αx+(1−α)x', by completing the square.
/// By Poisson summation Σ_k e^(−(k−m)²/2σ²) = √(2π)σ·Σ_j e^(−2π²σ²j²)·cos(2πjm), which is largest at m = 0, so the Rényi divergence of order α is at most α(x−x')²/2σ². Coordinates have
/// independent noise, so divergences add up to at most α·Δ₂²/2σ² = αρ. Saturating at the ends of `i64` is post-processing.
/// Source: Canonne, Kamath and Steinke 2020. Assumes: exact sampler; σ² is the rational Δ₂²/2ρ.
/// Audited by: `audit_gaussian_on_integers` (false alarm 1e-9, rejects 1.05 ρ and half of Δ₂).
#[derive(Clone, Debug)]
pub struct GaussianOnIntegers {
    terms: Terms,
    variance: Rational,
    noise: DiscreteGaussian,
}

impl GaussianOnIntegers {
    /// With σ² = Δ₂²/2ρ, for ρ-zCDP.
    ///
    /// # Errors
    /// When ρ = 0, or when no sampler has so much noise.
    pub fn concentrated(rho: Rho, sensitivity: Sensitivity, grid: Grid) -> Result<Self, Error> {
        if rho == Rho::ZERO {
            return Err(Error::OutOfRange {
                what: "ρ",
                range: "positive",
            });
        }
        let multiplier_squared = ratio(1, 2) / rho.as_rational();
        let variance = &multiplier_squared * sensitivity.l2_squared();
        let multiplier_squared = recorded(&multiplier_squared)?;
        let noise = DiscreteGaussian::new(&variance)?;
        let event = Event::Gaussian {
            multiplier_squared,
            on: lives_on(&sensitivity),
        };
        // Its tails are no heavier than those of the rounded Gaussian of the same σ.
        let accuracy = accuracy(&variance);
        let terms = Terms::new(sensitivity, event, Promise::Concentrated(rho), accuracy).on(grid);
        Ok(Self {
            terms,
            variance,
            noise,
        })
    }

    /// The parameter σ², in squared grid steps; the variance of the noise is at most this.
    pub fn variance(&self) -> &Rational {
        &self.variance
    }
}

impl Stated for GaussianOnIntegers {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl<T: Points> Mechanism<T> for GaussianOnIntegers {
    type Output = T;

    fn draw(&self, input: Aggregate<T>, permit: Permit<'_>) -> T {
        let mut value = input.open();
        self.noise.add_to(value.as_mut_slice(), permit.entropy());
        value
    }
}

/// When one coordinate moves by a whole number of steps, the noise has an exact curve of its own.
fn lives_on(sensitivity: &Sensitivity) -> NoiseSupport {
    let steps = sensitivity.l1();
    let whole = steps.is_int() && steps * steps == *sensitivity.l2_squared();
    match u64::try_from(steps.numerator().clone()) {
        Ok(steps) if whole && sensitivity.coordinates() == 1 => {
            NoiseSupport::DiscreteScalar { sensitivity: steps }
        }
        _ => NoiseSupport::Discrete,
    }
}

/// σ²/Δ₂² as an event records it, which is between about 1e-180 and 1e180.
pub(crate) fn recorded(squared: &Rational) -> Result<Ratio, Error> {
    if floor_log2(squared).unsigned_abs() > 598 {
        return Err(Error::OutOfRange {
            what: "the ratio of noise to sensitivity",
            range: "between 1e-90 and 1e90",
        });
    }
    Ok(Ratio::at_most(squared))
}

fn accuracy(variance: &Rational) -> Accuracy {
    // More bits for a smaller σ.
    let bits = floor_log2(variance).min(0).unsigned_abs() + 64;
    Accuracy::Gaussian {
        deviation: Interval::sqrt_of(variance, bits).to_f64_up(),
    }
}

#[cfg(test)]
mod tests;
