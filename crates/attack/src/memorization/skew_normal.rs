//! The distribution that the losses of many phrases nearly have; exposure is extrapolated from it.

use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, SQRT_2};

/// A normal distribution with a skew: density 2φ(z)Φ(αz)/ω at z = (x − ξ)/ω.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkewNormal {
    /// ξ.
    pub location: f64,
    /// ω.
    pub scale: f64,
    /// α.
    pub shape: f64,
    /// The largest distance between this distribution function and that of what it was fitted to.
    pub distance: f64,
}

/// A skew-normal distribution is never more skewed.
const MOST_SKEWED: f64 = 0.99;

impl SkewNormal {
    /// With the mean, the variance and the skewness of these numbers. `None` when they are all equal, too
    /// few, or one is not finite.
    pub fn fit(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let moment = |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / count;
        let variance = moment(2);
        // Differences of rounding alone are none.
        let rounding = 1e-9 * (1.0 + mean.abs());
        if values.len() < 3 || !variance.is_finite() || variance <= rounding * rounding {
            return None;
        }
        let skewness = (moment(3) / variance.powf(1.5)).clamp(-MOST_SKEWED, MOST_SKEWED);
        // With d = α/√(1 + α²): skewness = (4−π)/2·(d√(2/π))³/(1 − 2d²/π)^(3/2), variance = ω²(1 − 2d²/π),
        // mean = ξ + ωd√(2/π).
        let part = skewness.abs().powf(2.0 / 3.0);
        let d_squared = PI / 2.0 * part / (part + ((4.0 - PI) / 2.0).powf(2.0 / 3.0));
        let d = d_squared.sqrt().min(0.9999).copysign(skewness);
        let scale = (variance / (1.0 - 2.0 * d * d / PI)).sqrt();
        let mut fit = Self {
            location: mean - scale * d * (2.0 / PI).sqrt(),
            scale,
            shape: d / (1.0 - d * d).sqrt(),
            distance: 0.0,
        };
        fit.distance = fit.distance_from(values);
        Some(fit)
    }

    fn distance_from(&self, values: &[f64]) -> f64 {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        // At most some two hundred places: the distance is reported to a percent.
        let step = count.div_ceil(200);
        let places = (0..count).step_by(step);
        places
            .map(|place| (self.log_below(values[place]).exp() - (place as f64 + 0.5) / count as f64).abs())
            .fold(0.0, f64::max)
    }

    /// ln of the density of z, without the constant ln 2 − ln √2π.
    fn log_shape(&self, z: f64) -> f64 {
        -z * z / 2.0 + log_normal_below(self.shape * z)
    }

    /// ln P(X ≤ x), also far out where the probability itself would be 0.
    pub fn log_below(&self, x: f64) -> f64 {
        const STEPS: u32 = 2_000;
        let z = (x - self.location) / self.scale;
        if !z.is_finite() {
            return if z > 0.0 { 0.0 } else { f64::NEG_INFINITY };
        }
        // The density is log-concave, so beyond where it is e⁻⁴⁵ of its largest value on the way it stays
        // negligible.
        let z = z.min(40.0);
        let (mut width, mut largest) = (1e-3, self.log_shape(z));
        while self.log_shape(z - width) > largest - 45.0 {
            width *= 1.2;
            largest = largest.max(self.log_shape(z - width));
        }
        // Simpson.
        let step = width / f64::from(STEPS);
        let sum: f64 = (0..=STEPS)
            .map(|number| {
                let weight = match number {
                    0 | STEPS => 1.0,
                    odd if odd % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                weight * (self.log_shape(z - f64::from(number) * step) - largest).exp()
            })
            .sum();
        let constant = 2f64.ln() - (2.0 * PI).ln() / 2.0;
        (largest + constant + (sum * step / 3.0).ln()).min(0.0)
    }
}

/// ln Φ(x), also where Φ(x) would be 0.
fn log_normal_below(x: f64) -> f64 {
    if x > -30.0 {
        (libm::erfc(-x / SQRT_2) / 2.0).ln()
    } else {
        // Φ(x) = φ(x)/|x|·(1 − 1/x² + …).
        -x * x / 2.0 - (-x * (2.0 * PI).sqrt()).ln() - 1.0 / (x * x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seeded;

    fn distribution(shape: f64) -> SkewNormal {
        SkewNormal {
            location: 0.0,
            scale: 1.0,
            shape,
            distance: 0.0,
        }
    }

    #[test]
    fn known_values() {
        for z in [-35.0, -8.0, -2.0, 0.0, 1.5, 6.0] {
            // Without skew it is normal; with α = 1 it is the larger of two normal numbers: Φ².
            let normal = log_normal_below(z);
            for (shape, expected) in [(0.0, normal), (1.0, 2.0 * normal)] {
                let found = distribution(shape).log_below(z);
                assert!(
                    (found - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                    "{z} {shape} {found} {expected}"
                );
            }
        }
        for shape in [-20.0, -3.0, 0.5, 7.0] {
            // P(X ≤ 0) = 1/2 − arctan(α)/π, and mirrored: P(X ≤ x) with α is P(X ≥ −x) with −α.
            let at_zero = distribution(shape).log_below(0.0).exp();
            assert!(
                (at_zero - (0.5 - shape.atan() / PI)).abs() < 1e-6,
                "{shape} {at_zero}"
            );
            let mirrored = 1.0 - distribution(-shape).log_below(-0.4).exp();
            assert!(
                (distribution(shape).log_below(0.4).exp() - mirrored).abs() < 1e-6,
                "{shape}"
            );
        }
        assert!(distribution(-4.0).log_below(f64::INFINITY) == 0.0);
    }

    #[test]
    fn a_fit_finds_what_was_drawn() {
        let mut seeded = Seeded::new(3);
        let d: f64 = 0.9;
        // d|Z| + √(1 − d²)·Z' is skew-normal.
        let values: Vec<f64> = (0..100_000)
            .map(|_| 5.0 + 2.0 * (d * seeded.normal().abs() + (1.0 - d * d).sqrt() * seeded.normal()))
            .collect();
        let fit = SkewNormal::fit(&values).unwrap();
        assert!(
            (fit.location - 5.0).abs() < 0.1 && (fit.scale - 2.0).abs() < 0.1,
            "{fit:?}"
        );
        assert!((fit.shape - d / (1.0 - d * d).sqrt()).abs() < 0.3, "{fit:?}");
        assert!(fit.distance < 0.01, "{fit:?}");
        // Another distribution is reported by its distance.
        let coin: Vec<f64> = (0..1000).map(|number| f64::from(number % 2)).collect();
        assert!(SkewNormal::fit(&coin).unwrap().distance > 0.2);
        assert!(
            SkewNormal::fit(&[1.0; 9]).is_none() && SkewNormal::fit(&[1.0, f64::INFINITY, 2.0]).is_none()
        );
    }
}
