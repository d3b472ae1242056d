//! Does a sampler follow its distribution? Tests whose false-alarm rate is a number.
//!
//! A sampler's test runs on every change for years. With the customary 5 % it would raise a false alarm every
//! day, and soon be ignored. With a tolerance chosen until it passes, nobody knows what it would catch. Here
//! each test states the largest probability of rejecting a correct sampler (1e-9 by default) and gets it from
//! an inequality that holds for every sample size, not in the limit. Next to it should stand a *mutant*, a
//! sampler that is a little wrong, that the same test rejects: then its power is known too.

mod normal;
mod reference;

pub use normal::normal_cdf;
pub use reference::{discrete_gaussian_cdf, discrete_laplace_cdf, rounded_gaussian_cdf};

use crate::binomial;

/// The false-alarm rate to use unless there is a reason for another.
pub const FALSE_ALARM: f64 = 1e-9;

/// What references computed in floats may be off by. Added to every limit.
const REFERENCE_ERROR: f64 = 1e-11;

/// The outcome of a test: `statistic` against `limit`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// The statistic stayed within the limit.
    Consistent {
        /// How far the sample is from the distribution.
        statistic: f64,
        /// How far a correct sampler's would be but for the false-alarm rate.
        limit: f64,
        /// How many samples there were.
        samples: u64,
    },
    /// It did not.
    Rejected {
        /// How far the sample is from the distribution.
        statistic: f64,
        /// How far a correct sampler's would be but for the false-alarm rate.
        limit: f64,
        /// How many samples there were.
        samples: u64,
        /// Where the distance is largest: a value, or the index of a cell. Not printed by the assertions.
        at: i64,
    },
}

impl Fit {
    fn judge(statistic: f64, limit: f64, samples: u64, at: i64) -> Self {
        // A statistic that is not a number is no evidence of a fit.
        if statistic <= limit {
            Fit::Consistent {
                statistic,
                limit,
                samples,
            }
        } else {
            Fit::Rejected {
                statistic,
                limit,
                samples,
                at,
            }
        }
    }

    /// Whether the test passed.
    pub fn is_consistent(&self) -> bool {
        matches!(self, Fit::Consistent { .. })
    }

    /// # Panics
    /// If the sample was rejected.
    #[track_caller]
    pub fn assert_consistent(&self) {
        if let Fit::Rejected {
            statistic,
            limit,
            samples,
            ..
        } = self
        {
            panic!(
                "the sample does not follow its distribution: statistic {statistic:.6} exceeds {limit:.6} ({samples} samples)\n\
                 hint: run it once more with the printed seed; a correct sampler fails this once in a billion times"
            );
        }
    }

    /// # Panics
    /// If the sample was not rejected: for planted mutants.
    #[track_caller]
    pub fn assert_rejected(&self) {
        if let Fit::Consistent {
            statistic,
            limit,
            samples,
        } = self
        {
            panic!(
                "the mutant was not noticed: statistic {statistic:.6} is within {limit:.6} ({samples} samples)\n\
                 hint: the test has too little power; draw more samples or plant a larger error"
            );
        }
    }
}

/// The largest distance between the empirical and the given distribution function, against the limit of
/// Dvoretzky, Kiefer and Wolfowitz with Massart's constant (1990): P(sup |F_n − F| > t) ≤ 2 e^(−2nt²).
///
/// It holds for any distribution: X = F⁻¹(U) for a uniform U, and then sup_x |F_n(x) − F(x)| over the values
/// of F is at most the same supremum for U.
///
/// # Panics
/// If there is no sample.
pub fn cdf_test(samples: &[i64], cdf: impl Fn(i64) -> f64, false_alarm: f64) -> Fit {
    assert!(!samples.is_empty(), "no samples to test");
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let size = sorted.len() as f64;
    let (mut statistic, mut at) = (0.0f64, sorted[0]);
    let mut note = |distance: f64, value: i64| {
        // NaN is noted, and then stays: a reference that is not a number fits nothing.
        if distance.is_nan() || distance > statistic {
            (statistic, at) = (distance, value);
        }
    };
    let mut below = 0usize;
    for group in sorted.chunk_by(|a, b| a == b) {
        let value = group[0];
        // F_n is constant from one value to just below the next, and F grows: its largest distance is at the
        // two ends.
        if value > i64::MIN {
            note((below as f64 / size - cdf(value - 1)).abs(), value - 1);
        }
        below += group.len();
        note((below as f64 / size - cdf(value)).abs(), value);
    }
    let limit = ((2.0 / false_alarm).ln() / (2.0 * size)).sqrt() + REFERENCE_ERROR;
    Fit::judge(statistic, limit, sorted.len() as u64, at)
}

/// Whether `successes` of `trials` are plausible for a probability, by exact binomial tails: each side gets
/// half of the false-alarm rate. The statistic is −log₁₀ of the smaller tail.
pub fn frequency_test(successes: u64, trials: u64, probability: f64, false_alarm: f64) -> Fit {
    categorical_cell(successes, trials, probability, false_alarm, 0)
}

fn categorical_cell(successes: u64, trials: u64, probability: f64, false_alarm: f64, at: i64) -> Fit {
    let above = binomial::at_least(successes, trials, probability);
    let below = binomial::at_most(successes, trials, probability);
    let evidence = -(above.min(below) * (1.0 + binomial::ROUND_OFF)).log10();
    Fit::judge(evidence, -(false_alarm / 2.0).log10(), trials, at)
}

/// Whether counts are plausible for given probabilities: each cell by [`frequency_test`] with its share of
/// the false-alarm rate (a union bound, so cells need not be independent). For the independence of two draws
/// with known distributions, give the counts of pairs and the products of probabilities.
///
/// # Panics
/// If there are no cells, or not as many probabilities as counts.
pub fn categorical_test(counts: &[u64], probabilities: &[f64], false_alarm: f64) -> Fit {
    assert_eq!(counts.len(), probabilities.len(), "a probability for each count");
    let trials = counts.iter().sum();
    let share = false_alarm / counts.len() as f64;
    let fits = counts.iter().zip(probabilities).enumerate();
    fits.map(|(cell, (&count, &probability))| {
        categorical_cell(count, trials, probability, share, cell as i64)
    })
    .max_by(|a, b| a.statistic().total_cmp(&b.statistic()))
    .expect("at least one cell")
}

/// Whether all cells are equally likely.
///
/// # Panics
/// If there are no cells.
pub fn uniformity_test(counts: &[u64], false_alarm: f64) -> Fit {
    categorical_test(
        counts,
        &vec![1.0 / counts.len() as f64; counts.len()],
        false_alarm,
    )
}

/// Whether pairs of draws from one distribution on `cells` cells are independent, the distribution being
/// known: each cell of the table of pairs is tested. Pairs must not overlap: (1st, 2nd), (3rd, 4th), …
///
/// # Panics
/// If a pair has a cell out of range.
pub fn independence_test(pairs: &[(usize, usize)], probabilities: &[f64], false_alarm: f64) -> Fit {
    let cells = probabilities.len();
    let mut counts = vec![0u64; cells * cells];
    for &(first, second) in pairs {
        assert!(first < cells && second < cells, "a cell out of range");
        counts[first * cells + second] += 1;
    }
    let products: Vec<f64> = probabilities
        .iter()
        .flat_map(|a| probabilities.iter().map(move |b| a * b))
        .collect();
    categorical_test(&counts, &products, false_alarm)
}

/// Whether the mean of samples in `[low, high]` is plausible, by Hoeffding's inequality (1963):
/// P(|mean − expected| > t) ≤ 2 e^(−2nt²/(high−low)²).
///
/// # Panics
/// If there is no sample, or one outside the range, for which the inequality says nothing.
pub fn mean_test(samples: &[f64], low: f64, high: f64, expected: f64, false_alarm: f64) -> Fit {
    assert!(!samples.is_empty(), "no samples to test");
    assert!(
        samples.iter().all(|sample| (low..=high).contains(sample)),
        "a sample outside of the stated range"
    );
    let size = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / size;
    let limit = (high - low) * ((2.0 / false_alarm).ln() / (2.0 * size)).sqrt();
    // Summing n floats is off by at most n·2⁻⁵³ of their largest.
    let round_off = low.abs().max(high.abs()) * size * f64::EPSILON;
    Fit::judge(
        (mean - expected).abs(),
        limit + round_off,
        samples.len() as u64,
        0,
    )
}

impl Fit {
    fn statistic(&self) -> f64 {
        match self {
            Fit::Consistent { statistic, .. } | Fit::Rejected { statistic, .. } => *statistic,
        }
    }
}
