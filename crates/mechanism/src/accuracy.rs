/// How far an answer may be from the truth, as a distribution that is known before drawing.
///
/// These numbers are for people: they are computed in floating point, rounded up by a hair, and decide nothing about privacy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Accuracy {
    /// Discrete Laplace noise of this scale (in grid steps) on each coordinate.
    Laplace {
        /// Scale in grid steps.
        scale: f64,
    },
    /// Gaussian noise of this deviation (in grid steps) on each coordinate.
    Gaussian {
        /// σ in grid steps.
        deviation: f64,
    },
    /// A choice whose score falls short of the best by g with probability at most `count`·e^(−g/`scale`).
    Choice {
        /// How many candidates there are.
        count: u64,
        /// How fast the probability of a shortfall falls.
        scale: f64,
    },
    /// Something else: a bound on the expected absolute error, and an interval as a sum of independent bounded terms.
    Estimate {
        /// The standard deviation of one coordinate, at most.
        deviation: f64,
    },
    /// The error depends on the data, so it cannot be published without a charge of its own.
    DependsOnData,
}

/// Pays for the rounding of the few float operations below.
const HAIR: f64 = 1.0 + 1e-12;

impl Accuracy {
    /// E|error| of one coordinate at most, in grid steps (or score, for a choice); `None` when it depends on the data.
    pub fn expected_absolute_error(&self) -> Option<f64> {
        let error = match *self {
            // Σ |k|·(1−a)/(1+a)·a^|k| = 2a/(1−a²) = 1/sinh(1/t).
            Accuracy::Laplace { scale } => 1.0 / (1.0 / scale).sinh(),
            // σ·√(2/π), and at most ½ for rounding.
            Accuracy::Gaussian { deviation } => deviation * (2.0 / std::f64::consts::PI).sqrt() + 0.5,
            // ∫ min(1, n·e^(−g/s)) dg = s·(ln n + 1).
            Accuracy::Choice { count, scale } => scale * ((count as f64).ln() + 1.0),
            // Jensen: E|X| ≤ √E X².
            Accuracy::Estimate { deviation } => deviation,
            Accuracy::DependsOnData => return None,
        };
        Some(error * HAIR)
    }

    /// A distance (in grid steps, or score) that none of `coordinates` errors exceeds with probability `confidence`; `None` when it depends
    /// on the data.
    ///
    /// # Panics
    /// If `confidence` is not strictly between 0 and 1.
    pub fn half_width(&self, confidence: f64, coordinates: usize) -> Option<f64> {
        assert!(
            confidence > 0.0 && confidence < 1.0,
            "a confidence is strictly between 0 and 1"
        );
        // The union bound: each coordinate may fail with its share.
        let risk = (1.0 - confidence) / coordinates.max(1) as f64;
        let width = match *self {
            // P[|k| > m] = 2a^(m+1)/(1+a) ≤ risk; with a = e^(−1/t) that is m+1 ≥ t·ln(2/((1+a)·risk)).
            Accuracy::Laplace { scale } => {
                let ratio = (-1.0 / scale).exp();
                (scale * (2.0 / ((1.0 + ratio) * risk)).ln() * HAIR)
                    .floor()
                    .max(0.0)
            }
            Accuracy::Gaussian { deviation } => deviation * normal_quantile(risk / 2.0) + 0.5,
            Accuracy::Choice { count, scale } => scale * (count as f64 / risk).ln().max(0.0),
            // Chebyshev: whatever the distribution.
            Accuracy::Estimate { deviation } => deviation / risk.sqrt(),
            Accuracy::DependsOnData => return None,
        };
        Some(width * HAIR)
    }
}

/// A z that a standard normal exceeds with probability at most `tail` < ½, by bisection on the bound below.
fn normal_quantile(tail: f64) -> f64 {
    // The tail is at most e^(−z²/2)/2, and 60 halvings leave nothing of a float.
    let (mut low, mut high) = (
        0.0f64,
        (-2.0 * (2.0 * tail).ln()).max(0.0).sqrt().clamp(1.0, 40.0),
    );
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if normal_tail_at_most(middle) <= tail {
            high = middle
        } else {
            low = middle
        }
    }
    high
}

/// An upper bound on P[N(0,1) > z], within 1e-6 relative: the continued fraction Q(z) = φ(z)/(z + 1/(z + 2/(z + 3/(z + …)))), cut
/// after enough levels, for z ≥ ½, and ½ − ∫φ by Simpson's rule below that.
fn normal_tail_at_most(z: f64) -> f64 {
    let density = |z: f64| (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 0.5 {
        let steps = 64;
        let width = z / f64::from(steps);
        let inner: f64 = (1..steps)
            .map(|index| density(width * f64::from(index)) * if index % 2 == 1 { 4.0 } else { 2.0 })
            .sum();
        return (0.5 - width / 3.0 * (density(0.0) + inner + density(z))) * (1.0 + 1e-9);
    }
    // What n levels leave falls as e^(−2z√(2n)): below 1e-12 here. An even number of levels bounds from above.
    let levels = 2 * (49.0 / (z * z)).ceil().max(4.0) as u32;
    let fraction = (1..=levels)
        .rev()
        .fold(z, |rest, level| z + f64::from(level) / rest);
    density(z) / fraction * (1.0 + 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_quantiles() {
        for (tail, z) in [
            (0.025, 1.959_963_985),
            (0.005, 2.575_829_304),
            (1e-6, 4.753_424_309),
            (0.4, 0.253_347_103),
        ] {
            let ours = normal_quantile(tail);
            assert!(ours >= z - 1e-9 && ours < z * 1.001, "{tail}: {ours} against {z}");
        }
    }

    #[test]
    fn laplace_interval_is_the_smallest() {
        let accuracy = Accuracy::Laplace { scale: 2.0 };
        let half = accuracy.half_width(0.95, 1).unwrap().round();
        let beyond = |m: f64| 2.0 * (-(m + 1.0) / 2.0f64).exp() / (1.0 + (-0.5f64).exp());
        assert!(beyond(half) <= 0.05 && beyond(half - 1.0) > 0.05);
        let expected = accuracy.expected_absolute_error().unwrap();
        let sum: f64 = (1..200)
            .map(|k| 2.0 * f64::from(k) * (-f64::from(k) / 2.0).exp())
            .sum::<f64>()
            * (0.25f64).tanh();
        assert!((expected - sum).abs() < 1e-9);
    }

    #[test]
    fn what_depends_on_data_is_not_reported() {
        assert_eq!(Accuracy::DependsOnData.expected_absolute_error(), None);
        assert_eq!(Accuracy::DependsOnData.half_width(0.9, 1), None);
    }
}
