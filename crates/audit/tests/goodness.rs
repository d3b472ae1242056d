//! Correct samplers pass, mutants with a scale 5 % too large do not. False alarms: 1e-9 a test.

mod common;

use audit::goodness::{
    FALSE_ALARM, Fit, categorical_test, cdf_test, discrete_gaussian_cdf, discrete_laplace_cdf,
    frequency_test, independence_test, mean_test, rounded_gaussian_cdf, uniformity_test,
};
use common::SplitMix64;
use exact::ratio;

const SAMPLES: usize = 2_000_000;

#[test]
fn discrete_laplace() {
    let mut generator = SplitMix64::new(21);
    let cdf = discrete_laplace_cdf(&ratio(7, 2));
    let right: Vec<i64> = (0..SAMPLES).map(|_| generator.discrete_laplace(3.5)).collect();
    cdf_test(&right, &cdf, FALSE_ALARM).assert_consistent();
    let wrong: Vec<i64> = (0..SAMPLES)
        .map(|_| generator.discrete_laplace(3.5 * 1.05))
        .collect();
    cdf_test(&wrong, &cdf, FALSE_ALARM).assert_rejected();
    let shifted: Vec<i64> = right.iter().map(|value| value + 1).collect();
    cdf_test(&shifted, &cdf, FALSE_ALARM).assert_rejected();
}

#[test]
fn wide_discrete_laplace() {
    let mut generator = SplitMix64::new(22);
    let cdf = discrete_laplace_cdf(&ratio(1_000_000, 1));
    let right: Vec<i64> = (0..SAMPLES).map(|_| generator.discrete_laplace(1e6)).collect();
    cdf_test(&right, &cdf, FALSE_ALARM).assert_consistent();
    let wrong: Vec<i64> = right.iter().map(|value| value * 105 / 100).collect();
    cdf_test(&wrong, &cdf, FALSE_ALARM).assert_rejected();
}

#[test]
fn rounded_gaussian() {
    for (seed, sigma) in [(23, 10i64), (24, 100_000)] {
        let mut generator = SplitMix64::new(seed);
        let cdf = rounded_gaussian_cdf(&ratio(sigma, 1));
        let mut sample = |factor: f64| {
            (0..SAMPLES)
                .map(|_| (generator.gaussian() * sigma as f64 * factor).round() as i64)
                .collect()
        };
        let (right, wrong): (Vec<i64>, Vec<i64>) = (sample(1.0), sample(1.05));
        cdf_test(&right, &cdf, FALSE_ALARM).assert_consistent();
        cdf_test(&wrong, &cdf, FALSE_ALARM).assert_rejected();
    }
}

#[test]
fn discrete_gaussian() {
    let mut generator = SplitMix64::new(25);
    let cdf = discrete_gaussian_cdf(&ratio(9, 4));
    // By inversion of a table of float masses, which shares nothing with the reference but the definition.
    let mut sample = |variance: f64| -> Vec<i64> {
        let weights: Vec<f64> = (-40i32..=40)
            .map(|k| (-f64::from(k * k) / (2.0 * variance)).exp())
            .collect();
        let total: f64 = weights.iter().sum();
        (0..SAMPLES)
            .map(|_| {
                let mut rest = generator.uniform() * total;
                let cell = weights.iter().position(|weight| {
                    rest -= weight;
                    rest < 0.0
                });
                cell.unwrap_or(80) as i64 - 40
            })
            .collect()
    };
    cdf_test(&sample(2.25), &cdf, FALSE_ALARM).assert_consistent();
    cdf_test(&sample(2.25 * 1.05 * 1.05), &cdf, FALSE_ALARM).assert_rejected();
}

#[test]
fn frequencies() {
    let mut generator = SplitMix64::new(26);
    let trials = 1_000_000;
    let hits = (0..trials).filter(|_| generator.uniform() < 0.3).count() as u64;
    frequency_test(hits, trials, 0.3, FALSE_ALARM).assert_consistent();
    frequency_test(hits, trials, 0.3 * 1.05, FALSE_ALARM).assert_rejected();
    // What cannot happen and what must happen.
    frequency_test(1, 10, 0.0, FALSE_ALARM).assert_rejected();
    frequency_test(9, 10, 1.0, FALSE_ALARM).assert_rejected();
    frequency_test(0, 10, 0.0, FALSE_ALARM).assert_consistent();
    frequency_test(10, 10, 1.0, FALSE_ALARM).assert_consistent();
    // A million heads in a million throws of a fair coin, and none.
    frequency_test(trials, trials, 0.5, FALSE_ALARM).assert_rejected();
    frequency_test(0, trials, 0.5, FALSE_ALARM).assert_rejected();
}

#[test]
fn cells_and_pairs() {
    let mut generator = SplitMix64::new(27);
    let mut counts = [0u64; 16];
    let mut pairs = Vec::new();
    for _ in 0..500_000 {
        let bits = generator.bits();
        counts[(bits & 15) as usize] += 1;
        pairs.push(((bits >> 8 & 3) as usize, (bits >> 16 & 3) as usize));
    }
    uniformity_test(&counts, FALSE_ALARM).assert_consistent();
    independence_test(&pairs, &[0.25; 4], FALSE_ALARM).assert_consistent();
    counts[3] += counts[3] / 20;
    let fit = uniformity_test(&counts, FALSE_ALARM);
    fit.assert_rejected();
    assert!(matches!(fit, Fit::Rejected { at: 3, .. }));
    for pair in pairs.iter_mut().step_by(20) {
        pair.1 = pair.0;
    }
    independence_test(&pairs, &[0.25; 4], FALSE_ALARM).assert_rejected();
    categorical_test(&[50, 50], &[0.5, 0.5], FALSE_ALARM).assert_consistent();
}

#[test]
fn means() {
    let mut generator = SplitMix64::new(28);
    let samples: Vec<f64> = (0..500_000).map(|_| generator.uniform()).collect();
    mean_test(&samples, 0.0, 1.0, 0.5, FALSE_ALARM).assert_consistent();
    mean_test(&samples, 0.0, 1.0, 0.525, FALSE_ALARM).assert_rejected();
}

#[test]
fn a_broken_reference_is_no_fit() {
    cdf_test(&[1, 2, 3], |_| f64::NAN, FALSE_ALARM).assert_rejected();
}

#[test]
#[should_panic(expected = "3 samples")]
fn rejections_say_how_many_samples() {
    cdf_test(&[5, 5, 5], |_| 9.0, FALSE_ALARM).assert_consistent();
}

#[test]
#[should_panic(expected = "not noticed")]
fn unnoticed_mutants_are_reported() {
    frequency_test(5, 10, 0.5, FALSE_ALARM).assert_rejected();
}
