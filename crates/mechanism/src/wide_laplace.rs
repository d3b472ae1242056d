use crate::Error;
use exact::Rational;
use noise::{Entropy, Geometric};

/// Discrete Laplace noise, P(k) ∝ e^(−|k|/scale) over all integers, that is never cut.
///
/// A noisy number that is released may be cut at the ends of `i64`, which is post-processing. One that is only compared may
/// not: a cut tail has an end, and beyond the end an outcome that is possible on one input is impossible on its neighbour.
///
/// Proof: with a = e^(−1/scale), the difference of two geometric numbers is k with probability
/// Σ_m (1−a)·a^(|k|+m)·(1−a)·a^m = (1−a)/(1+a)·a^|k|.
#[derive(Clone, Debug)]
pub(crate) struct WideLaplace {
    scale: Rational,
    geometric: Geometric,
}

impl WideLaplace {
    pub(crate) fn new(scale: Rational) -> Result<Self, Error> {
        let geometric = Geometric::new(&scale)?;
        Ok(Self { scale, geometric })
    }

    pub(crate) fn scale(&self) -> &Rational {
        &self.scale
    }

    pub(crate) fn sample(&self, entropy: &mut dyn Entropy) -> i128 {
        self.magnitude(entropy) - self.magnitude(entropy)
    }

    /// The sampler writes 2^64−1 for that or anything larger. Geometric numbers have no memory: given that one is at least
    /// 2^64−1, what it has beyond that is geometric again. (The scale is at most 2^50, so a second part has probability e^-16384.)
    fn magnitude(&self, entropy: &mut dyn Entropy) -> i128 {
        let mut total = 0i128;
        loop {
            let part = self.geometric.sample(entropy);
            total += i128::from(part);
            if part != u64::MAX {
                return total;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::FALSE_ALARM;
    use exact::ratio;
    use noise::{OsEntropy, Tape};

    #[test]
    fn wide_laplace_fits() {
        let mut entropy = OsEntropy::new().unwrap();
        for scale in [ratio(5, 2), ratio(40, 1)] {
            let noise = WideLaplace::new(scale.clone()).unwrap();
            let samples: Vec<i64> = (0..200_000)
                .map(|_| i64::try_from(noise.sample(&mut entropy)).unwrap())
                .collect();
            let cdf = |scale: f64| {
                move |k: i64| {
                    let ratio = (-1.0 / scale).exp();
                    let beyond = |m: i64| ratio.powf(m as f64) / (1.0 + ratio);
                    if k >= 0 { 1.0 - beyond(k + 1) } else { beyond(-k) }
                }
            };
            let scale = exact::to_f64_nearest(&scale);
            audit::goodness::cdf_test(&samples, cdf(scale), FALSE_ALARM).assert_consistent();
            audit::goodness::cdf_test(&samples, cdf(scale * 1.05), FALSE_ALARM).assert_rejected();
        }
    }

    #[test]
    fn nothing_is_cut() {
        let noise = WideLaplace::new(exact::power_of_two(50)).unwrap();
        // Ones put the last digit into its last cell again and again, far beyond 2^64; zeros end that. A second part follows, and then
        // zeros for the other magnitude.
        let mut bytes = vec![0xff; 1 << 12];
        bytes.extend([0; 4]);
        bytes.extend([0x80; 28]);
        assert!(noise.sample(&mut Tape::new(bytes)) > i128::from(u64::MAX));
    }
}
