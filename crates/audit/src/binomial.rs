//! Binomial tails and the exact confidence limits made from them.
//!
//! Every statistical verdict of this crate is a statement about a count, so it needs no approximation. The
//! tail of the binomial distribution is summed, and limits are found by bisection (Clopper and Pearson 1934).
//! Tails are computed in floats, with an error analysis:
//!
//! - One probability comes from Loader's saddle-point form ("Fast and accurate computation of binomial
//!   probabilities", 2000): exp(−deviance) times a ratio of Stirling corrections, without cancellation
//!   between large logarithms.
//! - A tail is that probability times a sum of positive, falling ratios: no cancellation either. A geometric
//!   series bounds the terms left out, and the bound is added.
//! - For up to 2³² trials, rounding n·p and 1−p moves the deviance by at most 2³²·2⁻⁵³ ≈ 5e-7, and ten
//!   million additions and products the sum by at most 4e-9. Every limit allows for [`ROUND_OFF`], which is
//!   larger.

/// The relative error that tails are allowed; limits are moved outward by it.
pub const ROUND_OFF: f64 = 1e-6;

/// ln n! − [(n + ½) ln n − n + ½ ln 2π]: what Stirling's formula leaves out.
fn stirling_error(n: f64) -> f64 {
    // The exact values for 1 to 15, to all digits of a float; the series is good to 1e-17 from 16 on.
    const SMALL: [f64; 16] = [
        0.0,
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_3,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_093,
        0.016_644_691_189_821_193,
        0.013_876_128_823_070_748,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_096,
        0.009_255_462_182_712_733,
        0.008_330_563_433_362_87,
        0.007_573_675_487_951_841,
        0.006_942_840_107_209_53,
        0.006_408_994_188_004_207,
        0.005_951_370_112_758_848,
        0.005_554_733_551_962_801,
    ];
    if n < 16.0 {
        return SMALL[n as usize];
    }
    let square = n * n;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - (1.0 / 1188.0) / square) / square) / square)
            / square)
        / n
}

/// x ln(x/m) + m − x ≥ 0, without cancellation when x is near m: with v = (x−m)/(x+m), ln(x/m) = 2·artanh v,
/// and the sum is (x−m)·v + 2x·(v³/3 + v⁵/5 + …).
fn deviance(x: f64, mean: f64) -> f64 {
    let v = (x - mean) / (x + mean);
    if v.abs() >= 0.1 {
        return x * (x / mean).ln() + mean - x;
    }
    let square = v * v;
    let mut power = 2.0 * x * v;
    let mut sum = (x - mean) * v;
    for odd in (3u32..).step_by(2) {
        power *= square;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// P(X = k) for X ~ Binomial(n, p) with 0 < p < 1 and q = 1 − p. Both are given, because 1 − p of a tiny p,
/// taken twice, is no longer p.
pub(crate) fn point(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let (count, trials) = (k as f64, n as f64);
    // ln x, from whichever of x and 1 − x has more digits.
    let logarithm = |x: f64, other: f64| if other < 0.5 { (-other).ln_1p() } else { x.ln() };
    if k == 0 {
        return (trials * logarithm(q, p)).exp();
    }
    if k == n {
        return (trials * logarithm(p, q)).exp();
    }
    let rest = trials - count;
    let exponent = stirling_error(trials)
        - stirling_error(count)
        - stirling_error(rest)
        - deviance(count, trials * p)
        - deviance(rest, trials * q);
    exponent.exp() * (trials / (std::f64::consts::TAU * count * rest)).sqrt()
}

/// P(X ≥ k) for X ~ Binomial(n, p), to a relative error of [`ROUND_OFF`] when k is above the mean, and to an
/// absolute error of the same size otherwise.
///
/// # Panics
/// If p is outside [0, 1] or n is 2³² or more.
pub fn at_least(k: u64, n: u64, p: f64) -> f64 {
    tail(k, n, p, 1.0 - p)
}

/// P(X ≤ k) for X ~ Binomial(n, p), with the same errors as [`at_least`].
///
/// # Panics
/// If p is outside [0, 1] or n is 2³² or more.
pub fn at_most(k: u64, n: u64, p: f64) -> f64 {
    // n − X ~ Binomial(n, 1 − p).
    if k >= n { 1.0 } else { tail(n - k, n, 1.0 - p, p) }
}

pub(crate) fn tail(k: u64, n: u64, p: f64, q: f64) -> f64 {
    assert!(p >= 0.0 && q >= 0.0, "a probability lies between 0 and 1");
    assert!(n < 1 << 32, "more trials than the error analysis covers");
    if k == 0 {
        1.0
    } else if k > n || p == 0.0 {
        0.0
    } else if q == 0.0 {
        1.0
    } else if k as f64 > n as f64 * p {
        falling_sum(k, n, p, q)
    } else {
        // P(X ≤ k−1) is P(n−X ≥ n−k+1), a falling tail of Binomial(n, q).
        1.0 - falling_sum(n - k + 1, n, q, p)
    }
}

/// Σ_{i≥k} P(X = i) for k at the mean or above: P(k)·(1 + r₁ + r₁r₂ + …) with r_i = (n−i+1)/i · p/q falling.
fn falling_sum(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let odds = p / q;
    let (mut term, mut sum) = (1.0f64, 1.0f64);
    for i in k + 1..=n {
        let ratio = (n - i + 1) as f64 / i as f64 * odds;
        term *= ratio;
        sum += term;
        // Later ratios are smaller, so the rest is at most term·ratio/(1−ratio).
        if ratio < 1.0 && term * ratio < (1.0 - ratio) * sum * 1e-17 {
            break;
        }
    }
    (point(k, n, p, q) * sum).min(1.0)
}

/// A limit that the true probability is below with probability at most `failure`: the largest p with P_p(X ≥
/// successes) ≤ failure, rounded down.
///
/// # Panics
/// If there are more successes than trials, or 2³² trials or more.
pub fn lower_limit(successes: u64, trials: u64, failure: f64) -> f64 {
    assert!(successes <= trials, "more successes than trials");
    if successes == 0 {
        return 0.0;
    }
    // The tail grows with p.
    let refuted = |p: f64| at_least(successes, trials, p) * (1.0 + ROUND_OFF) <= failure;
    boundary(0.0, successes as f64 / trials as f64, refuted)
}

/// A limit that the true probability is above with probability at most `failure`: the smallest p with P_p(X ≤
/// successes) ≤ failure, rounded up.
///
/// # Panics
/// If there are more successes than trials, or 2³² trials or more.
pub fn upper_limit(successes: u64, trials: u64, failure: f64) -> f64 {
    assert!(successes <= trials, "more successes than trials");
    if successes == trials {
        return 1.0;
    }
    let refuted = |p: f64| at_most(successes, trials, p) * (1.0 + ROUND_OFF) <= failure;
    boundary(1.0, successes as f64 / trials as f64, refuted)
}

/// Where `refuted` changes between an end where it is true and one where it is false; returns a point where
/// it is true.
fn boundary(mut inside: f64, mut outside: f64, refuted: impl Fn(f64) -> bool) -> f64 {
    if refuted(outside) {
        return outside;
    }
    for _ in 0..1200 {
        let middle = f64::midpoint(inside, outside);
        if middle == inside
            || middle == outside
            || (inside - outside).abs() <= middle.min(1.0 - middle) * 1e-12
        {
            break;
        }
        if refuted(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

/// The exact two-sided confidence interval for a probability (Clopper and Pearson 1934): each side fails with
/// probability at most (1 − confidence)/2.
///
/// # Panics
/// If there are more successes than trials, or 2³² trials or more, or the confidence is not between 0 and 1.
pub fn clopper_pearson(successes: u64, trials: u64, confidence: f64) -> (f64, f64) {
    assert!(
        confidence > 0.0 && confidence < 1.0,
        "a confidence lies strictly between 0 and 1"
    );
    let failure = (1.0 - confidence) / 2.0;
    (
        lower_limit(successes, trials, failure),
        upper_limit(successes, trials, failure),
    )
}
