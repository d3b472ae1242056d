//! Binomial tails and limits against exact rational sums, and against values computed elsewhere.

use audit::binomial::{at_least, at_most, clopper_pearson};
use exact::{Integer, Natural, Rational, from_f64, ratio};

/// P(X ≥ k), exactly.
fn exact_tail(k: u64, n: u64, p: f64) -> Rational {
    let p = from_f64(p).unwrap();
    let q = Rational::ONE - &p;
    let power =
        |base: &Rational, exponent: u64| (0..exponent).fold(Rational::ONE, |product, _| product * base);
    let mut choose = Integer::ONE;
    let mut sum = Rational::ZERO;
    for i in 0..=n {
        if i >= k {
            sum += Rational::from(choose.clone()) * power(&p, i) * power(&q, n - i);
        }
        choose = choose * Integer::from(n - i) / Integer::from(Natural::from(i + 1));
    }
    sum
}

#[test]
fn tails_agree_with_exact_sums() {
    for n in [1u64, 2, 5, 17, 40] {
        for p in [1e-9, 0.03, 0.25, 0.5, 0.77, 0.999_999] {
            for k in 0..=n {
                let exact = exact::to_f64_nearest(&exact_tail(k, n, p));
                let computed = at_least(k, n, p);
                let slack = if k as f64 > n as f64 * p {
                    exact * 1e-11
                } else {
                    1e-11
                };
                assert!(
                    (computed - exact).abs() <= slack,
                    "k={k} n={n} p={p}: {computed} {exact}"
                );
                let below = if k == 0 { 0.0 } else { at_most(k - 1, n, p) };
                assert!((below + exact - 1.0).abs() < 1e-11);
            }
        }
    }
}

#[test]
fn limits_hold_exactly_and_are_not_loose() {
    let half = |confidence: f64| (Rational::ONE - from_f64(confidence).unwrap()) / Rational::from(2u8);
    for confidence in [0.5, 0.95, 1.0 - 1e-9, 1.0 - 1e-12] {
        let failure = half(confidence);
        for (k, n) in [
            (0, 1),
            (1, 1),
            (1, 30),
            (7, 30),
            (15, 30),
            (29, 30),
            (30, 30),
            (0, 30),
        ] {
            let (lower, upper) = clopper_pearson(k, n, confidence);
            assert!(lower <= k as f64 / n as f64 && k as f64 / n as f64 <= upper);
            if k == 0 {
                assert_eq!(lower, 0.0);
            } else {
                assert!(exact_tail(k, n, lower) <= failure, "lower limit of {k}/{n}");
                assert!(
                    exact_tail(k, n, lower * 1.00001) > failure,
                    "loose lower limit of {k}/{n}"
                );
            }
            if k == n {
                assert_eq!(upper, 1.0);
            } else {
                let below = |p: f64| Rational::ONE - exact_tail(k + 1, n, p);
                assert!(below(upper) <= failure, "upper limit of {k}/{n}");
                assert!(
                    below(upper - ((1.0 - upper) * 0.00001).max(4e-16)) > failure,
                    "loose upper limit of {k}/{n}"
                );
            }
        }
    }
    // The mutant: a limit that is not moved outward enough would be noticed.
    assert!(exact_tail(7, 30, clopper_pearson(7, 30, 0.95).0 * 1.01) > ratio(25, 1000));
}

// Where the exact tail equals (1 − confidence)/2, solved with mpmath at 50 digits and 120-bit sums.
#[test]
fn known_limits_up_to_a_billion_trials() {
    let rows: &[(u64, u64, f64, f64, f64)] = &[
        (0, 1_000_000_000, 1.0 - 1e-12, 0.0, 2.83241900173234e-8),
        (
            1,
            1_000_000_000,
            1.0 - 1e-12,
            4.99988939140064e-22,
            3.18150780495952e-8,
        ),
        (3, 1_000, 1.0 - 1e-9, 1.44421349402895e-6, 0.029522797356558),
        (500, 1_000, 1.0 - 0.05, 0.46854917297179, 0.53145082702820),
        (
            10,
            1_000_000,
            1.0 - 1e-9,
            5.59658536878487e-7,
            4.45166497897955e-5,
        ),
        (500_000, 1_000_000, 1.0 - 1e-9, 0.49694482417548, 0.50305517582451),
        (
            1_000_000,
            1_000_000_000,
            1.0 - 1e-9,
            0.00099390572326855,
            0.0010061194459326,
        ),
        (
            500_000_000,
            1_000_000_000,
            1.0 - 1e-12,
            0.49988725624076,
            0.50011274375923,
        ),
        (999_999_999, 1_000_000_000, 1.0 - 1e-12, 0.99999996818492, 1.0),
    ];
    for &(k, n, confidence, lower, upper) in rows {
        let found = clopper_pearson(k, n, confidence);
        // Distances from the nearer end of [0, 1] are what a limit is about.
        assert!(
            (found.0 - lower).abs() <= 2e-6 * lower.min(1.0 - lower),
            "{k}/{n}: {} {lower}",
            found.0
        );
        assert!(
            (found.1 - upper).abs() <= 2e-6 * upper.min(1.0 - upper),
            "{k}/{n}: {} {upper}",
            found.1
        );
    }
}
