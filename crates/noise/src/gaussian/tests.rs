//! Both kinds of noise against their distributions, and the shortcuts of blocks against exact arithmetic.

use super::blocks::OPEN;
use super::*;
use crate::OsEntropy;
use crate::inversion::tests::assert_exact;
use crate::real::UniformReal;
use audit::goodness;
use exact::{parse_decimal, ratio};

#[test]
fn discrete_enumerated() {
    for (variance, key_bits) in [(ratio(1, 4), 3), (ratio(1, 1), 4), (ratio(7, 2), 6)] {
        let distribution = HalfGaussian::new(variance.clone(), true);
        let coarse = Inversion::with_bounds(distribution.clone(), key_bits, key_bits + 1);
        let mut sampler = DiscreteGaussian::new(&variance).unwrap();
        sampler.direct = OnceLock::from((distribution, coarse));
        let probability = |k: i64| DiscreteGaussian::probability(&variance, &Integer::from(k), 80);
        assert_exact(2, probability, |tape| sampler.sample(tape)).unwrap();
        let mutant = &variance * ratio(11, 10);
        let probability = |k: i64| DiscreteGaussian::probability(&mutant, &Integer::from(k), 80);
        assert!(assert_exact(2, probability, |tape| sampler.sample(tape)).is_err());
    }
}

#[test]
fn discrete_fits() {
    let mut entropy = OsEntropy::new().unwrap();
    let mut samples = vec![0i64; 1_000_000];
    for scale in ["0.3", "1", "10", "17.5", "1000", "12345.678", "1e9/7"] {
        let scale = parse_decimal(scale).unwrap();
        let variance = &scale * &scale;
        let sampler = DiscreteGaussian::with_scale(&scale).unwrap();
        let right = goodness::discrete_gaussian_cdf(&variance);
        let wrong = goodness::discrete_gaussian_cdf(&(&variance * ratio(441, 400)));
        sampler.fill(&mut samples, &mut entropy);
        goodness::cdf_test(&samples, &right, 1e-9).assert_consistent();
        if scale > ratio(1, 2) {
            goodness::cdf_test(&samples, &wrong, 1e-9).assert_rejected();
        }
        // The path by blocks, which the bulk call above leaves for the table where it can.
        if scale > ratio(16, 1) {
            samples
                .chunks_mut(1000)
                .for_each(|chunk| sampler.fill(chunk, &mut entropy));
            goodness::cdf_test(&samples, &right, 1e-9).assert_consistent();
            goodness::cdf_test(&samples, &wrong, 1e-9).assert_rejected();
        }
    }
}

#[test]
fn rounded_fits() {
    let mut entropy = OsEntropy::new().unwrap();
    let mut samples = vec![0i64; 1_000_000];
    for scale in [
        "0.4",
        "1",
        "3.7",
        "17.5",
        "1000",
        "12345.678",
        "1e9/7",
        "3e9",
        "1e13",
    ] {
        let scale = parse_decimal(scale).unwrap();
        RoundedGaussian::with_scale(&scale)
            .unwrap()
            .fill(&mut samples, &mut entropy);
        goodness::cdf_test(&samples, goodness::rounded_gaussian_cdf(&scale), 1e-9).assert_consistent();
        // The path of few draws.
        let sampler = RoundedGaussian::with_scale(&scale).unwrap();
        samples[..100_000]
            .chunks_mut(1000)
            .for_each(|chunk| sampler.fill(chunk, &mut entropy));
        goodness::cdf_test(&samples[..100_000], goodness::rounded_gaussian_cdf(&scale), 1e-9)
            .assert_consistent();
        let mutant = goodness::rounded_gaussian_cdf(&(&scale * ratio(21, 20)));
        if scale > ratio(1, 2) {
            goodness::cdf_test(&samples, mutant, 1e-9).assert_rejected();
        }
    }
}

/// The quick test and the exact one give the same answer on the same bits, also right at the threshold.
#[test]
fn keeping_matches_exact_arithmetic() {
    let mut entropy = OsEntropy::new().unwrap();
    for scale in ["17", "1000.5", "1e9/7"] {
        let scale = parse_decimal(scale).unwrap();
        let blocks = Blocks::new(&(&scale * &scale));
        assert!(blocks.log_width >= 0);
        for _ in 0..300 {
            let block = entropy.bits(7);
            let place = entropy.bits(64);
            // A coin within a few units of the threshold: e^-γ computed exactly, cut to 64 bits, and nudged.
            let position = UniformReal::from_bits(place).lower();
            let gamma = &blocks.steepness * &position * (Rational::from(2 * block) + &position);
            let threshold = u64::try_from(Interval::exp_of(&-gamma, 64).lo()).unwrap_or(u64::MAX);
            for nudge in [0u64, 1, 31, 33, 40, 1 << 20] {
                for coin in [threshold.saturating_sub(nudge), threshold.saturating_add(nudge)] {
                    for continuous in [false, true] {
                        let mut tape =
                            crate::Tape::new([coin.to_be_bytes(), [0; 8], [0; 8], [0; 8]].concat());
                        let quick = blocks.keep(block, place, continuous, &mut tape);
                        let mut tape = crate::Tape::new([0; 24]);
                        let exact = blocks.keep_exactly(block, place, coin, continuous, &mut tape);
                        assert_eq!(quick, exact);
                    }
                }
            }
        }
    }
}

/// A coin just below what is certain keeps even the last place of its block.
#[test]
fn what_is_certainly_kept_is_kept() {
    for scale in ["17", "1000.5", "1e9/7", "3e9"] {
        let scale = parse_decimal(scale).unwrap();
        let blocks = Blocks::new(&(&scale * &scale));
        let end = blocks.certain.len() - 1;
        assert_eq!(blocks.certain[end], 0, "nothing is certain beyond the table");
        let reported = blocks.quick.iter().filter(|cell| **cell != OPEN).count();
        assert!(reported > blocks.quick.len() * 9 / 10, "{reported}");
        for (block, certain) in blocks.certain[..end]
            .iter()
            .enumerate()
            .filter(|(_, known)| **known > 0)
        {
            let coin = (u64::from(*certain) << 56) - 1;
            let mut tape = crate::Tape::new([0xff; 32]);
            assert!(
                blocks.keep_exactly(block as u64, u64::MAX, coin, true, &mut tape),
                "{block}"
            );
        }
    }
}

/// What lies beyond a table's end has the right distribution, too: a table cut short sends most draws there.
#[test]
fn the_far_end_is_drawn_exactly() {
    let mut entropy = OsEntropy::new().unwrap();
    let variance = ratio(100, 1);
    let distribution = HalfGaussian {
        variance: variance.clone(),
        cells: 6,
        folded: true,
    };
    let mut sampler = DiscreteGaussian::new(&variance).unwrap();
    sampler.direct = OnceLock::from((distribution.clone(), Inversion::new(distribution)));
    let mut samples = vec![0i64; 60_000];
    sampler.fill(&mut samples, &mut entropy);
    goodness::cdf_test(&samples, goodness::discrete_gaussian_cdf(&variance), 1e-9).assert_consistent();
    goodness::cdf_test(&samples, goodness::discrete_gaussian_cdf(&ratio(115, 1)), 1e-9).assert_rejected();
}

#[test]
fn impossible_scales_are_refused() {
    assert_eq!(
        DiscreteGaussian::new(&Rational::ZERO).unwrap_err(),
        Error::ScaleNotPositive
    );
    assert_eq!(
        RoundedGaussian::with_scale(&power_of_two(51)).unwrap_err(),
        Error::ScaleTooLarge
    );
    assert_eq!(
        RoundedGaussian::with_scale(&power_of_two(-30)).unwrap_err(),
        Error::ScaleNotPositive
    );
}
