//! Limits on a probability that hold at every moment at once. So a test may look at them, and stop, at any
//! moment.
//!
//! Let trials be independent with success probability θ, and after a successes and b failures let
//!
//! ```text
//! M(θ) = ∫ s^a (1−s)^b dπ(s) / (θ^a (1−θ)^b) = B(a+α, b+β) / B(α, β) / (θ^a (1−θ)^b)
//! ```
//!
//! for a Beta(α, β) distribution π fixed before the first trial. Each factor s/θ (on success) or (1−s)/(1−θ)
//! (on failure) has mean θ·s/θ + (1−θ)(1−s)/(1−θ) = 1, so M is a martingale that starts at 1 and is never
//! negative, and by Ville's inequality it ever reaches 1/failure with probability at most `failure`. The set
//! {θ : M(θ) < 1/failure} therefore contains the true θ at all times but for that probability (Robbins 1970).
//! M falls in θ below a/(a+b) and grows above: the set is an interval.
//!
//! The distribution π changes how tight the limits are, never whether they hold. It is taken from the draws
//! that chose the event.

/// What is guessed of θ before the first trial: a Beta distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// As if this many successes had been seen.
    pub successes: f64,
    /// And this many failures.
    pub failures: f64,
}

impl Guess {
    /// From counts of another experiment, trusted for a fourth.
    pub(super) fn from_counts(successes: u64, failures: u64) -> Self {
        Self {
            successes: 0.5 + successes as f64 / 4.0,
            failures: 0.5 + failures as f64 / 4.0,
        }
    }

    fn swapped(self) -> Self {
        Self {
            successes: self.failures,
            failures: self.successes,
        }
    }
}

/// A limit that θ is ever below, at any number of trials, with probability at most `failure`.
pub fn lower_limit_always(successes: u64, failures: u64, guess: Guess, failure: f64) -> f64 {
    if successes == 0 {
        return 0.0;
    }
    let (a, b) = (successes as f64, failures as f64);
    let mixture = ln_beta(a + guess.successes, b + guess.failures) - ln_beta(guess.successes, guess.failures);
    // Rounding: for 2³² trials each logarithm of a factorial is below 1e11, with an error below 1e-4 for all
    // together.
    let limit = -failure.ln() + 1e-3;
    let excluded = |theta: f64| {
        let misses = if b == 0.0 { 0.0 } else { b * (-theta).ln_1p() };
        mixture - a * theta.ln() - misses >= limit
    };
    let (mut inside, mut outside) = (0.0, a / (a + b));
    if excluded(outside) {
        return outside;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(inside, outside);
        if excluded(middle) {
            inside = middle
        } else {
            outside = middle
        }
    }
    inside
}

/// A limit that θ is ever above, at any number of trials, with probability at most `failure`.
pub fn upper_limit_always(successes: u64, failures: u64, guess: Guess, failure: f64) -> f64 {
    1.0 - lower_limit_always(failures, successes, guess.swapped(), failure)
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// Stirling's series from 16 on; below, Γ(x) = Γ(x+1)/x.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 16.0 {
        shift += x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / square) / square) / square) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAT: Guess = Guess {
        successes: 0.5,
        failures: 0.5,
    };

    #[test]
    fn gamma_is_the_factorial() {
        let mut logarithm = 0.0f64;
        for n in 1..60 {
            assert!(
                (ln_gamma(f64::from(n)) - logarithm).abs() < 1e-11 * logarithm.max(1.0),
                "{n}"
            );
            logarithm += f64::from(n).ln();
        }
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-13);
    }

    /// The martingale, exactly: its mean over all paths of 12 trials is 1, whatever the distribution π.
    #[test]
    fn the_mean_of_the_mixture_is_one() {
        for guess in [
            FLAT,
            Guess {
                successes: 7.0,
                failures: 2.5,
            },
        ] {
            for theta in [0.1f64, 0.5, 0.8] {
                let mut choose = 1.0f64;
                let mut mean = 0.0;
                for a in 0..=12u32 {
                    let (successes, failures) = (f64::from(a), f64::from(12 - a));
                    let mixture = ln_beta(successes + guess.successes, failures + guess.failures)
                        - ln_beta(guess.successes, guess.failures);
                    mean += choose * mixture.exp();
                    choose *= failures / (successes + 1.0);
                }
                assert!((mean - 1.0).abs() < 1e-12, "{theta}: {mean}");
            }
        }
    }

    /// 400 runs that look after every trial and stop at the first moment the limit is wrong: at 5 % this
    /// happens more than 45 times with probability below 1e-6 (the seed is fixed). Clopper and Pearson's
    /// limits, looked at as often, fail.
    #[test]
    fn looking_at_every_moment_is_paid_for() {
        let mut state = 11u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut wrong, mut naive) = (0, 0);
        for _ in 0..400 {
            let (mut a, mut failed, mut failed_naively) = (0u64, false, false);
            for n in 1..=300u64 {
                a += u64::from(uniform() < 0.6);
                failed |= lower_limit_always(a, n - a, FLAT, 0.05) > 0.6;
                if n % 10 == 0 {
                    failed_naively |= crate::binomial::lower_limit(a, n, 0.05) > 0.6;
                }
            }
            wrong += u32::from(failed);
            naive += u32::from(failed_naively);
        }
        assert!(wrong <= 45, "{wrong} of 400");
        assert!(naive > 45, "the mutant, {naive} of 400, would pass");
    }

    #[test]
    fn limits_close_in_on_the_truth() {
        let width = |n: u64| {
            let (a, b) = (3 * n / 4, n / 4);
            let (low, high) = (
                lower_limit_always(a, b, FLAT, 1e-6),
                upper_limit_always(a, b, FLAT, 1e-6),
            );
            assert!(low < 0.75 && 0.75 < high);
            high - low
        };
        assert!(width(1_000) > width(100_000) && width(100_000_000) < 7e-4);
        // A guess from the same distribution makes them tighter.
        let guess = Guess::from_counts(75_000, 25_000);
        assert!(
            lower_limit_always(75_000, 25_000, guess, 1e-6) > lower_limit_always(75_000, 25_000, FLAT, 1e-6)
        );
        assert_eq!(lower_limit_always(0, 10, FLAT, 0.1), 0.0);
        assert_eq!(upper_limit_always(10, 0, FLAT, 0.1), 1.0);
    }
}
