//! A lower bound on ε from one run: many canaries at once, each in the data or not by the toss of a coin, and
//! guesses which were in (Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run").
//!
//! Training once is expensive, so nobody wants to train a thousand times to learn one number. Instead m
//! examples are each included or left out by a fair coin, and the model is trained once. A guesser who sees
//! only the model guesses the coins of the examples they are sure about. If the training is (ε, δ)-private,
//! then even the best guesser is right about as often as randomized response would allow: with W̌ ~
//! Binomial(r, e^ε/(1+e^ε)) for r guesses and f(v) = P[W̌ ≥ v],
//!
//! P[v or more of them are right] ≤ f(v) + 2mδ·max over i ≥ 1 of (f(v−i) − f(v))/i (their bound for
//! approximate privacy).
//!
//! The first term is exact for δ = 0: given the output and the other coins, each coin is still within odds of
//! e^ε, so the number of right guesses is stochastically at most W̌. The second term pays for δ. In
//! expectation it adds at most 2mδ right guesses, and raising the chance of v by p from at most v − i costs
//! i·p of them.
//!
//! The number of guesses must be decided before the coins are looked at. If you do not know which number will
//! do best, decide on several, and pay for each: see [`Tried`]. Tails are those of [`crate::binomial`], taken
//! too large by its round-off.

mod canaries;
mod guesses;
mod scores;
mod verdict;

pub use canaries::{Canary, FEWEST, MOST, Planted, Secrets, plant};
pub use guesses::{Guessed, guess, judge, sides};
pub use scores::read_scores;
pub use verdict::{Claimed, Judged, Tries};

use crate::Error;
use crate::binomial::{self, ROUND_OFF, point};

/// No larger ε is looked for.
const LARGEST: f64 = 30.0;
/// Where δ is so large that nothing is known between two points, the bound is one of these points.
const STEP: f64 = 0.05;

/// How one run was guessed, for several numbers of guesses. All of them were decided on before any coin was
/// looked at, and none is left out.
///
/// # Why the best of them may be reported
/// Each of n tests is made at a false-alarm rate of α/n. If the training is (ε*, δ)-private, each bound is
/// above ε* with probability at most α/n, so any of them is with probability at most α, however much the
/// tests depend on each other. A test of one number only pays nothing: n = 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    canaries: u64,
    /// Guesses, and how many of them were right.
    counts: Vec<(u64, u64)>,
}

/// A lower bound on ε, and which guesses show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// ε is at least this.
    pub epsilon: f64,
    /// The place of the guesses that show it.
    pub best: usize,
}

impl Tried {
    /// Guesses about this many canaries, each with how many of them were right.
    ///
    /// # Errors
    /// When nothing was tried, or there are more right guesses than guesses, or more guesses than canaries,
    /// or 2³² of them.
    pub fn new(canaries: u64, counts: Vec<(u64, u64)>) -> Result<Self, Error> {
        if counts.is_empty() {
            return Err(Error::Miscounted);
        }
        for (guesses, correct) in &counts {
            check(canaries, *guesses, *correct, 0.0)?;
        }
        Ok(Self { canaries, counts })
    }

    /// ε is at least this with the stated confidence.
    ///
    /// # Errors
    /// When δ or the confidence is out of range.
    pub fn lower_bound(&self, delta: f64, confidence: f64) -> Result<Found, Error> {
        let alarm = self.alarm(confidence)?;
        let mut found = Found {
            epsilon: 0.0,
            best: 0,
        };
        for (best, (guesses, correct)) in self.counts.iter().enumerate() {
            check(self.canaries, *guesses, *correct, delta)?;
            let epsilon = bound(self.canaries, *guesses, *correct, delta, alarm);
            if epsilon > found.epsilon {
                found = Found { epsilon, best };
            }
        }
        Ok(found)
    }

    /// The most guesses, of those at this place, that can be right before (ε, δ) is refuted at the stated
    /// confidence.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn most_allowed(
        &self,
        place: usize,
        epsilon: f64,
        delta: f64,
        confidence: f64,
    ) -> Result<u64, Error> {
        let alarm = self.alarm(confidence)?;
        let (guesses, _) = self.counts.get(place).copied().ok_or(Error::Miscounted)?;
        most_allowed(self.canaries, guesses, epsilon, delta, alarm)
    }

    /// The largest ε that could be shown, if every guess were right: a claim above it cannot be refuted with
    /// so few canaries.
    ///
    /// # Errors
    /// When δ or the confidence is out of range.
    pub fn largest_bound(&self, delta: f64, confidence: f64) -> Result<f64, Error> {
        let right = self.counts.iter().map(|(guesses, _)| (*guesses, *guesses));
        let all = Self::new(self.canaries, right.collect())?;
        Ok(all.lower_bound(delta, confidence)?.epsilon)
    }

    /// The false-alarm rate of each test.
    fn alarm(&self, confidence: f64) -> Result<f64, Error> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(Error::ConfidenceOutOfRange);
        }
        Ok((1.0 - confidence) / self.counts.len() as f64)
    }
}

/// At most how likely it is that `correct` or more of `guesses` guesses are right, when the training is (ε,
/// δ)-private: a claim is refuted where this is below what one calls impossible.
///
/// # Errors
/// When there are more right guesses than guesses, or more guesses than canaries, or more than 2³² of them,
/// or ε or δ are out of range.
pub fn one_run_p_value(
    canaries: u64,
    guesses: u64,
    correct: u64,
    epsilon: f64,
    delta: f64,
) -> Result<f64, Error> {
    check(canaries, guesses, correct, delta)?;
    if !(epsilon.is_finite() && epsilon >= 0.0) {
        return Err(Error::NegativeEpsilon);
    }
    Ok(p_value(canaries, guesses, correct, epsilon, delta))
}

/// ε is at least this with the stated confidence, after `correct` of `guesses` guesses about `canaries` coins
/// were right: the smallest ε that they do not refute.
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
    Ok(bound(canaries, guesses, correct, delta, 1.0 - confidence))
}

/// The largest ε below which every ε is refuted at this false-alarm rate α.
///
/// # Why it holds
/// For a fixed ε, "p(ε, W) ≤ α" happens with probability at most α if the training is (ε, δ)-private: with v
/// the smallest count for which p(ε, v) ≤ α, it implies W ≥ v.
///
/// Let 2mδ ≤ 1. Then p grows with ε: it is the largest of (1 − c)·f(v) + c·f(v − i) with c = 2mδ/i ≤ 1, and
/// both tails grow. So a bound above the true ε* means p(ε*, W) ≤ p(bound, W) ≤ α, and bisection may look
/// wherever it likes.
///
/// Otherwise p may fall somewhere. Then only the points of a fixed grid are asked, from below, until one is
/// not refuted: a bound above ε* means that the first grid point above ε*, which does not depend on the run,
/// was refuted, although the training is private for it too.
fn bound(canaries: u64, guesses: u64, correct: u64, delta: f64, alarm: f64) -> f64 {
    let refuted = |epsilon: f64| p_value(canaries, guesses, correct, epsilon, delta) <= alarm;
    if !refuted(0.0) {
        return 0.0;
    }
    let mut low = 0.0;
    if 2.0 * canaries as f64 * delta > 1.0 {
        let mut point = 1u32;
        while f64::from(point) * STEP <= LARGEST && refuted(f64::from(point) * STEP) {
            low = f64::from(point) * STEP;
            point += 1;
        }
        return low;
    }
    let mut high = LARGEST;
    if refuted(high) {
        return high;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if refuted(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The largest count that does not refute (ε, δ) at this false-alarm rate: above the mean, p falls with the
/// count.
fn most_allowed(canaries: u64, guesses: u64, epsilon: f64, delta: f64, alarm: f64) -> Result<u64, Error> {
    check(canaries, guesses, guesses, delta)?;
    if !(epsilon.is_finite() && epsilon >= 0.0) {
        return Err(Error::NegativeEpsilon);
    }
    let refuting = |correct: u64| p_value(canaries, guesses, correct, epsilon, delta) <= alarm;
    if !refuting(guesses) {
        return Ok(guesses);
    }
    let mean = guesses as f64 / (1.0 + (-epsilon).exp());
    let (mut low, mut high) = (mean.floor() as u64, guesses);
    while low + 1 < high {
        let middle = u64::midpoint(low, high);
        if refuting(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(low.min(guesses))
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
            let next = point(correct - less, guesses, right, wrong);
            // Points rise to the mode and fall from there, so one below the mean of those before is past the
            // mode, and so are all after it: the mean only falls. By more than round-off, so that it is not
            // taken for one.
            if next < most * (1.0 - 4.0 * ROUND_OFF) {
                break;
            }
            sum += next;
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
        let mut distribution = vec![1.0];
        for p in right {
            let mut next = vec![0.0; distribution.len() + 1];
            for (count, mass) in distribution.iter().enumerate() {
                next[count] += mass * (1.0 - p);
                next[count + 1] += mass * p;
            }
            distribution = next;
        }
        distribution.iter().skip(v).sum()
    }

    /// Without δ the bound is what randomized response reaches: brute force over all coins and answers of
    /// small runs.
    #[test]
    fn randomized_response_reaches_it() {
        for m in 1..=8u32 {
            for epsilon in [0.0f64, 0.5, 1.0, 3.0] {
                let honest = epsilon.exp() / (1.0 + epsilon.exp());
                let mut distribution = vec![0.0; m as usize + 1];
                for coins in 0..1u32 << m {
                    for answers in 0..1u32 << m {
                        let wrong = (coins ^ answers).count_ones();
                        let chance = honest.powi((m - wrong) as i32) * (1.0 - honest).powi(wrong as i32);
                        distribution[(m - wrong) as usize] += chance / f64::from(1u32 << m);
                    }
                }
                for v in 0..=m as usize {
                    let exact: f64 = distribution[v..].iter().sum();
                    let bound = one_run_p_value(m.into(), m.into(), v as u64, epsilon, 0.0).unwrap();
                    assert!(
                        bound >= exact - 1e-12 && bound <= exact * 1.00001 + 1e-12,
                        "{m} {epsilon} {v}"
                    );
                }
            }
        }
    }

    /// Training that is (ε, δ)-private and reveals what it may never beats the bound: each coin with
    /// probability δ, or all of them together.
    #[test]
    fn what_delta_allows_is_paid_for() {
        for m in [1usize, 2, 5, 12, 40] {
            for epsilon in [0.0f64, 0.3, 1.0, 2.0] {
                for delta in [1e-4, 0.01, 0.1] {
                    let honest = epsilon.exp() / (1.0 + epsilon.exp());
                    let each = vec![delta + (1.0 - delta) * honest; m];
                    for v in 0..=m {
                        let bound = one_run_p_value(m as u64, m as u64, v as u64, epsilon, delta).unwrap();
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
        assert!(
            with_delta < plain && with_delta > plain - 0.2,
            "{plain} {with_delta}"
        );
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

    /// How often right training is refuted, and wrong training, when the best of several numbers of guesses
    /// is reported. Each coin is published as ±1 with Laplace noise of scale 2/ε, which is ε-private and lets
    /// the surest guesses be right as often as anything may.
    #[test]
    fn the_best_of_several_is_a_false_alarm_no_oftener_than_stated() {
        const RUNS: u64 = 3000;
        const ALARM: f64 = 0.1;
        let mut random = crate::gallery::Seeded::new(11, 0);
        let mut unit = move || (crate::gallery::Words::word(&mut random) >> 11) as f64 / (1u64 << 53) as f64;
        let mut run = |epsilon: f64| {
            let mut scored: Vec<(f64, bool)> = (0..200)
                .map(|_| {
                    let inside = unit() < 0.5;
                    let size = -(1.0 - unit()).ln() * 2.0 / epsilon;
                    let noise = if unit() < 0.5 { size } else { -size };
                    (noise + if inside { 1.0 } else { -1.0 }, inside)
                })
                .collect();
            scored.sort_by(|left, right| right.0.total_cmp(&left.0));
            let counts = [100, 50, 25, 12, 6].map(|side| {
                let right = scored[..side].iter().filter(|(_, inside)| *inside).count()
                    + scored[200 - side..].iter().filter(|(_, inside)| !inside).count();
                (2 * side as u64, right as u64)
            });
            Tried::new(200, counts.to_vec()).unwrap()
        };
        let refutes = |tried: &Tried| tried.lower_bound(0.0, 1.0 - ALARM).unwrap().epsilon > 1.0;
        let alarms = (0..RUNS).filter(|_| refutes(&run(1.0))).count() as u64;
        // This test itself is a false alarm with a probability of at most 1e-9.
        assert!(binomial::at_least(alarms, RUNS, ALARM) > 1e-9, "{alarms}");
        // The mutant does not pay for the choice, and is caught at the same rate.
        let unpaid = (0..RUNS)
            .filter(|_| {
                let tried = run(1.0);
                let refutes = |(guesses, correct): &(u64, u64)| {
                    one_run_lower_bound(200, *guesses, *correct, 0.0, 1.0 - ALARM).unwrap() > 1.0
                };
                tried.counts.iter().any(refutes)
            })
            .count() as u64;
        assert!(binomial::at_least(unpaid, RUNS, ALARM) < 1e-9, "{unpaid}");
        // Half of the noise: ε is 2, and that is seen nearly always.
        let found = (0..100).filter(|_| refutes(&run(2.0))).count();
        assert!(found > 80, "{found}");
    }

    /// What is allowed and what is refuted are two sides of one line.
    #[test]
    fn what_is_allowed_is_not_refuted() {
        for (delta, epsilon) in [(0.0, 0.5), (1e-5, 1.0), (1e-4, 3.0)] {
            let sides = [(1000, 0), (250, 0), (40, 0)];
            let tried = Tried::new(1000, sides.to_vec()).unwrap();
            for (place, (guesses, _)) in sides.into_iter().enumerate() {
                let most = tried.most_allowed(place, epsilon, delta, 0.95).unwrap();
                let with = |correct| {
                    let mut counts = sides.to_vec();
                    counts[place].1 = correct;
                    let found = Tried::new(1000, counts).unwrap().lower_bound(delta, 0.95);
                    found.unwrap().epsilon
                };
                assert!(with(most) <= epsilon, "{delta} {epsilon} {guesses}");
                if most < guesses {
                    assert!(with(most + 1) > epsilon, "{delta} {epsilon} {guesses}");
                }
            }
            let largest = tried.largest_bound(delta, 0.95).unwrap();
            assert!(largest > 3.0 && largest < 6.0, "{largest}");
        }
    }

    /// Where p may fall with ε, the bound is on the grid, and every grid point below it is refuted.
    #[test]
    fn a_large_delta_keeps_to_the_grid() {
        let bound = one_run_lower_bound(1000, 1000, 990, 2e-3, 0.95).unwrap();
        assert!(
            bound > 0.0 && (bound / STEP - (bound / STEP).round()).abs() < 1e-9,
            "{bound}"
        );
        for point in 0..=(bound / STEP).round() as u32 {
            assert!(one_run_p_value(1000, 1000, 990, f64::from(point) * STEP, 2e-3).unwrap() <= 0.05);
        }
    }

    #[test]
    fn what_is_refused() {
        assert_eq!(Tried::new(10, Vec::new()), Err(Error::Miscounted));
        assert_eq!(Tried::new(10, vec![(11, 2)]), Err(Error::Miscounted));
        let tried = Tried::new(10, vec![(4, 2)]).unwrap();
        assert_eq!(tried.lower_bound(0.0, 1.0), Err(Error::ConfidenceOutOfRange));
        assert_eq!(tried.lower_bound(-1.0, 0.5), Err(Error::DeltaOutOfRange));
        assert_eq!(tried.most_allowed(1, 1.0, 0.0, 0.5), Err(Error::Miscounted));
        assert_eq!(one_run_lower_bound(10, 11, 5, 0.0, 0.95), Err(Error::Miscounted));
        assert_eq!(one_run_lower_bound(10, 5, 6, 0.0, 0.95), Err(Error::Miscounted));
        assert_eq!(
            one_run_lower_bound(10, 5, 5, 2.0, 0.95),
            Err(Error::DeltaOutOfRange)
        );
        assert_eq!(
            one_run_lower_bound(10, 5, 5, 0.0, 1.0),
            Err(Error::ConfidenceOutOfRange)
        );
        assert_eq!(one_run_p_value(10, 5, 5, -1.0, 0.0), Err(Error::NegativeEpsilon));
    }
}
