//! A lower bound on ε from one run: many canaries at once, each in the data or not by the toss of a coin, and guesses which were (Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run").
//!
//! Training once is dear, so one does not want to train a thousand times to learn one number. Instead m examples are each included or left out by a fair coin, the model is trained once, and somebody who sees
//! only the model guesses the coins of those he is sure about. If the training is (ε, δ)-private, then even the best guesser is right about as often as randomized response would let him:
//! with W̌ ~ Binomial(r, e^ε/(1+e^ε)) for r guesses and f(v) = P[W̌ ≥ v],
//!
//! P[v or more of them are right] ≤ f(v) + 2mδ·max over i ≥ 1 of (f(v−i) − f(v))/i   (their Theorem 5.2).
//!
//! The first term is exact for δ = 0: given the output and the other coins, each coin is still within odds of e^ε, so the number of right guesses is stochastically at most W̌. The second pays for δ: what it adds in
//! expectation is at most 2mδ right guesses, and raising the chance of v by p from at most v − i costs i·p of them.
//!
//! How many guesses to make must be decided before the coins are looked at. Tails are those of [`crate::binomial`], taken too large by its round-off.

use crate::Error;
use crate::binomial::{self, ROUND_OFF, point};

/// No larger ε is looked for.
const LARGEST: f64 = 30.0;
/// The bound is looked for in steps of this size, then between two of them.
const STEP: f64 = 0.05;

/// At most how likely it is that `correct` or more of `guesses` guesses are right, when the training is (ε, δ)-private: a claim is refuted where this is below what one calls impossible.
///
/// # Errors
/// When there are more right guesses than guesses, or more guesses than canaries, or more than 2³² of them, or ε or δ are out of range.
pub fn one_run_p_value(canaries: u64, guesses: u64, correct: u64, epsilon: f64, delta: f64) -> Result<f64, Error> {
    check(canaries, guesses, correct, delta)?;
    if !(epsilon.is_finite() && epsilon >= 0.0) {
        return Err(Error::NegativeEpsilon);
    }
    Ok(p_value(canaries, guesses, correct, epsilon, delta))
}

/// ε is at least this with the stated confidence, after `correct` of `guesses` guesses about `canaries` coins were right: the smallest ε that they do not refute.
///
/// # Errors
/// As [`one_run_p_value`], or when the confidence is not strictly between 0 and 1.
pub fn one_run_lower_bound(
    canaries: u64,
    guesses: u64,
    correct: u64,
    delta: f64,
    confidence: f64,
) -> Result<f64, Error> {
    check(canaries, guesses, correct, delta)?;
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Error::ConfidenceOutOfRange);
    }
    let refuted = |epsilon: f64| p_value(canaries, guesses, correct, epsilon, delta) <= 1.0 - confidence;
    // From below, so that every ε below the bound is refuted, whether or not the tail grows everywhere.
    let mut low = 0.0;
    if !refuted(low) {
        return Ok(0.0);
    }
    while low < LARGEST && refuted(low + STEP) {
        low += STEP;
    }
    let mut high = low + STEP;
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if refuted(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

fn check(canaries: u64, guesses: u64, correct: u64, delta: f64) -> Result<(), Error> {
    if correct > guesses || guesses > canaries || canaries >= 1 << 32 {
        return Err(Error::Miscounted);
    }
    if !(0.0..=1.0).contains(&delta) {
        return Err(Error::DeltaOutOfRange);
    }
    Ok(())
}

fn p_value(canaries: u64, guesses: u64, correct: u64, epsilon: f64, delta: f64) -> f64 {
    if correct == 0 {
        return 1.0;
    }
    let (right, wrong) = (1.0 / (1.0 + (-epsilon).exp()), 1.0 / (1.0 + epsilon.exp()));
    let tail = binomial::tail(correct, guesses, right, wrong);
    let mut most = 0.0f64;
    if delta > 0.0 {
        let mut sum = 0.0;
        for less in 1..=correct {
            sum += point(correct - less, guesses, right, wrong);
            most = most.max(sum / less as f64);
        }
    }
    ((tail + 2.0 * canaries as f64 * delta * most) * (1.0 + 2.0 * ROUND_OFF)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P[at least v right] when guess i is right with probability `right[i]`, independently.
    fn tail(right: &[f64], v: usize) -> f64 {
        let mut law = vec![1.0];
        for p in right {
            let mut next = vec![0.0; law.len() + 1];
            for (count, mass) in law.iter().enumerate() {
                next[count] += mass * (1.0 - p);
                next[count + 1] += mass * p;
            }
            law = next;
        }
        law.iter().skip(v).sum()
    }

    /// Without δ the bound is what randomized response reaches: brute force over all coins and answers of small runs.
    #[test]
    fn randomized_response_reaches_it() {
        for m in 1..=8u32 {
            for epsilon in [0.0f64, 0.5, 1.0, 3.0] {
                let honest = epsilon.exp() / (1.0 + epsilon.exp());
                let mut law = vec![0.0; m as usize + 1];
                for coins in 0..1u32 << m {
                    for answers in 0..1u32 << m {
                        let wrong = (coins ^ answers).count_ones();
                        let chance = honest.powi((m - wrong) as i32) * (1.0 - honest).powi(wrong as i32);
                        law[(m - wrong) as usize] += chance / f64::from(1u32 << m);
                    }
                }
                for v in 0..=m as usize {
                    let exact: f64 = law[v..].iter().sum();
                    let bound = one_run_p_value(m.into(), m.into(), v as u64, epsilon, 0.0).unwrap();
                    assert!(bound >= exact - 1e-12 && bound <= exact * 1.00001 + 1e-12, "{m} {epsilon} {v}");
                }
            }
        }
    }

    /// Training that is (ε, δ)-private and reveals what it may never beats the bound: each coin with probability δ, or all of them together.
    #[test]
    fn what_delta_allows_is_paid_for() {
        for m in [1usize, 2, 5, 12, 40] {
            for epsilon in [0.0f64, 0.3, 1.0, 2.0] {
                for delta in [1e-4, 0.01, 0.1] {
                    let honest = epsilon.exp() / (1.0 + epsilon.exp());
                    let each = vec![delta + (1.0 - delta) * honest; m];
                    for v in 0..=m {
                        let bound =
                            one_run_p_value(m as u64, m as u64, v as u64, epsilon, delta).unwrap();
                        let one_by_one = tail(&each, v);
                        let together = delta + (1.0 - delta) * tail(&vec![honest; m], v);
                        assert!(one_by_one <= bound + 1e-12, "{m} {epsilon} {delta} {v}");
                        assert!(together <= bound + 1e-12, "{m} {epsilon} {delta} {v}");
                    }
                }
            }
        }
    }

    #[test]
    fn known_values() {
        // All of m right: (e^ε/(1+e^ε))^m = 0.05, so ε = −ln(0.05^(−1/m) − 1).
        for m in [5u64, 20, 100, 1000] {
            let found = one_run_lower_bound(m, m, m, 0.0, 0.95).unwrap();
            let exact = -(0.05f64.powf(-1.0 / m as f64) - 1.0).ln();
            assert!((found - exact.max(0.0)).abs() < 1e-4, "{m} {found} {exact}");
        }
        // Half right says nothing; δ and caution only lower it; guesses that abstain do not count.
        assert_eq!(one_run_lower_bound(1000, 1000, 500, 0.0, 0.95).unwrap(), 0.0);
        let plain = one_run_lower_bound(1000, 200, 190, 0.0, 0.95).unwrap();
        assert!(plain > 2.0);
        let with_delta = one_run_lower_bound(1000, 200, 190, 1e-5, 0.95).unwrap();
        assert!(with_delta < plain && with_delta > plain - 0.2, "{plain} {with_delta}");
        assert!(one_run_lower_bound(1000, 200, 190, 1e-5, 1.0 - 1e-9).unwrap() < with_delta);
        assert!(one_run_lower_bound(1000, 200, 190, 0.1, 0.95).unwrap() < with_delta);
        assert_eq!(one_run_lower_bound(100, 0, 0, 1e-5, 0.95).unwrap(), 0.0);
    }

    /// Every ε below the bound is refuted, and the bound itself is not exceeded by much.
    #[test]
    fn the_bound_is_where_refutation_ends() {
        for (m, r, v, delta) in [(100, 100, 80, 1e-5), (500, 60, 58, 1e-3), (5000, 400, 300, 1e-6)] {
            let bound = one_run_lower_bound(m, r, v, delta, 0.95).unwrap();
            assert!(bound > 0.0);
            for part in 0..20 {
                let below = bound * f64::from(part) / 20.0;
                assert!(one_run_p_value(m, r, v, below, delta).unwrap() <= 0.05);
            }
            assert!(one_run_p_value(m, r, v, bound + 1e-6, delta).unwrap() > 0.05);
        }
    }

    #[test]
    fn what_is_refused() {
        assert_eq!(one_run_lower_bound(10, 11, 5, 0.0, 0.95), Err(Error::Miscounted));
        assert_eq!(one_run_lower_bound(10, 5, 6, 0.0, 0.95), Err(Error::Miscounted));
        assert_eq!(one_run_lower_bound(10, 5, 5, 2.0, 0.95), Err(Error::DeltaOutOfRange));
        assert_eq!(one_run_lower_bound(10, 5, 5, 0.0, 1.0), Err(Error::ConfidenceOutOfRange));
        assert_eq!(one_run_p_value(10, 5, 5, -1.0, 0.0), Err(Error::NegativeEpsilon));
    }
}
