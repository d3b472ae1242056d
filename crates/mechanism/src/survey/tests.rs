use super::*;
use proptest::prelude::*;

fn quarter() -> Frequencies {
    Frequencies::new(2, ratio(3, 4), ratio(1, 4), 1)
}

#[test]
fn textbook_estimates() {
    // γ = ¼: the estimate is 2·p_yes − ½ and the variance at most 1/(16γ²n) = 1/n.
    let estimates = quarter().estimate(&[70, 30], 100, 0.95).unwrap();
    assert!((estimates[1].fraction - 0.1).abs() < 1e-15 && (estimates[0].fraction - 0.9).abs() < 1e-15);
    assert_eq!(quarter().variance_at_most(100).unwrap(), ratio(1, 100));
    assert_eq!(quarter().variance(&ratio(1, 5), 100).unwrap(), ratio(75, 10_000));
    let below = quarter().estimate(&[90, 10], 100, 0.95).unwrap()[1];
    assert!(below.fraction < 0.0 && below.low == 0.0);
}

#[test]
fn senseless_questions_are_refused() {
    let range = |error: Error| matches!(error, Error::OutOfRange { .. });
    for confidence in [0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY] {
        assert!(range(quarter().estimate(&[1, 1], 2, confidence).unwrap_err()));
        assert!(range(quarter().half_width(2, confidence).unwrap_err()));
    }
    assert!(range(quarter().estimate(&[0, 0], 0, 0.9).unwrap_err()));
    assert!(range(quarter().estimate(&[3, 0], 2, 0.9).unwrap_err()));
    assert!(range(quarter().estimate(&[1], 2, 0.9).unwrap_err()));
    assert!(range(quarter().variance(&ratio(3, 2), 2).unwrap_err()));
    assert!(range(quarter().variance_at_most(0).unwrap_err()));
}

// Coverage, exactly: for every rate on a grid, the binomial probability that the interval misses it stays below the risk.
// A mutant with half of the logarithm (an interval too narrow) is caught.
#[test]
fn intervals_cover_by_enumeration() {
    let (reports, risk) = (40u64, 0.05);
    let missed = |interval: &dyn Fn(u64) -> (f64, f64), rate: f64| -> f64 {
        let outside = |count: &u64| {
            let (low, high) = interval(*count);
            rate < low || rate > high
        };
        let choose =
            |count: u64| (0..count).fold(1.0, |product, i| product * (reports - i) as f64 / (i + 1) as f64);
        let mass = |count: u64| {
            choose(count) * rate.powi(count as i32) * (1.0 - rate).powi((reports - count) as i32)
        };
        (0..=reports).filter(outside).map(mass).sum()
    };
    let rates = || (1..200).map(|step| f64::from(step) / 200.0);
    let ours = |count| rate_interval(count, reports, risk);
    let narrow = |count| rate_interval(count, reports, 2.0 * (risk / 2.0f64).sqrt());
    assert!(rates().all(|rate| missed(&ours, rate) <= risk));
    assert!(rates().any(|rate| missed(&narrow, rate) > risk));
}

proptest! {
    #[test]
    fn intervals_hold_their_estimate_and_are_no_wider_than_promised(
        reports in 1u64..1_000_000_000_000,
        share in 0.0f64..=1.0,
        confidence in 0.01f64..0.999_999,
    ) {
        let count = ((reports as f64 * share) as u64).min(reports);
        let frequencies = quarter();
        let half = frequencies.half_width(reports, confidence).unwrap();
        for estimate in frequencies.estimate(&[count, reports - count], reports, confidence).unwrap() {
            let cut = estimate.fraction.clamp(0.0, 1.0);
            prop_assert!(estimate.low <= cut && cut <= estimate.high);
            // The slack of the float search, 1e-14 in relative entropy, is 1e-7 in the fraction.
            prop_assert!(estimate.high - cut <= half * (1.0 + 1e-6) + 1e-6);
            prop_assert!(cut - estimate.low <= half * (1.0 + 1e-6) + 1e-6);
        }
    }
}
