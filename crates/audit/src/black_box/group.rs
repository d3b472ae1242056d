//! Inputs that are more than one step apart: group privacy, read backwards.
//!
//! Let a and m be neighbours, and m and b. If the mechanism is (ε, δ)-private on both pairs then for every
//! event S, with P, M and Q its probabilities on a, m and b,
//!
//! ```text
//! P ≤ e^ε M + δ ≤ e^ε (e^ε Q + δ) + δ = e^(2ε) Q + δ (1 + e^ε),
//! ```
//!
//! and k steps in the same way give P ≤ e^(kε) Q + δ (1 + e^ε + … + e^((k−1)ε)). So an event for which that
//! is refuted on the ends refutes (ε, δ) on at least one of the audited pairs between them: it is a lower
//! bound on the ε of the mechanism on the audited pairs, whatever the mechanism is. For δ = 0 it is
//! ln(P/Q)/k.
//!
//! That is worth it if both steps lose the most on the same event. The logarithm is then twice as large, and
//! its uncertainty is nearly the same. So the part that a test cannot prove is halved (Jagielski, Ullman and
//! Oprea 2020 move several persons at once for the same reason). The event is easier to find in the same way.
//! If the steps lose on different events, the ends show less than one step does, and the race drops them.

use super::epsilon_bound;
use super::subject::Pair;

/// Two inputs, and how many steps from neighbour to neighbour lead from one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) pair: Pair,
    pub(super) steps: u32,
}

/// The pairs of neighbours, each once and one step, and then all ends of two steps that share an input in the
/// middle and are no neighbours themselves.
pub(super) fn ends(neighbours: &[Pair]) -> Vec<Ends> {
    let is_same =
        |left: Pair, right: Pair| left == right || (left.first, left.second) == (right.second, right.first);
    let mut all: Vec<Ends> = Vec::new();
    for pair in neighbours {
        if all.iter().all(|known| !is_same(known.pair, *pair)) {
            all.push(Ends {
                pair: *pair,
                steps: 1,
            });
        }
    }
    for (number, one) in neighbours.iter().enumerate() {
        for other in &neighbours[number + 1..] {
            for (first, middle) in [(one.first, one.second), (one.second, one.first)] {
                for (from, second) in [(other.first, other.second), (other.second, other.first)] {
                    let pair = Pair { first, second };
                    let is_new = || all.iter().all(|known| !is_same(known.pair, pair));
                    if middle == from && first != second && is_new() {
                        all.push(Ends { pair, steps: 2 });
                    }
                }
            }
        }
    }
    all
}

/// The ε of one step that limits on the probabilities of an event at both ends prove, rounded down.
pub(super) fn epsilon_of_step(likely_at_least: f64, unlikely_at_most: f64, delta: f64, steps: u32) -> f64 {
    if steps == 1 {
        return epsilon_bound(likely_at_least, unlikely_at_most, delta);
    }
    if delta <= 0.0 {
        return epsilon_bound(likely_at_least, unlikely_at_most, 0.0) / f64::from(steps);
    }
    // What (ε, δ) allows on the likely side grows with ε: the largest ε that does not allow what was seen, by
    // bisection.
    let is_refuted = |epsilon: f64| {
        let step = epsilon.exp();
        let allowed = (0..steps).fold(unlikely_at_most, |allowed, _| step * allowed + delta);
        likely_at_least > allowed * (1.0 + 1e-12)
    };
    let (mut refuted, mut held) = (0.0, 64.0);
    if !is_refuted(refuted) {
        return 0.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(refuted, held);
        if is_refuted(middle) {
            refuted = middle;
        } else {
            held = middle;
        }
    }
    refuted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(first: usize, second: usize) -> Pair {
        Pair { first, second }
    }

    #[test]
    fn two_steps_share_the_input_in_the_middle() {
        let neighbours = [pair(0, 1), pair(0, 2), pair(3, 2), pair(4, 5)];
        let reported: Vec<(usize, usize, u32)> = ends(&neighbours)
            .into_iter()
            .map(|ends| (ends.pair.first, ends.pair.second, ends.steps))
            .collect();
        assert_eq!(
            reported,
            [(0, 1, 1), (0, 2, 1), (3, 2, 1), (4, 5, 1), (1, 2, 2), (0, 3, 2)]
        );
        // What is a neighbour is not two steps away as well, in whichever order it is reported.
        assert_eq!(ends(&[pair(0, 1), pair(1, 2), pair(2, 0)]).len(), 3);
        assert_eq!(ends(&[pair(0, 1), pair(1, 0)]).len(), 1);
    }

    /// Randomized response in two steps, where all of ε is lost in each, and the same with a part that is
    /// lost entirely: the bound is reached and not exceeded.
    #[test]
    fn what_a_step_loses_is_found_from_two() {
        let epsilon = 0.7f64;
        for delta in [0.0, 1e-6, 0.01] {
            let unlikely = 0.1;
            let middle = epsilon.exp() * unlikely + delta;
            let likely = epsilon.exp() * middle + delta;
            let found = epsilon_of_step(likely, unlikely, delta, 2);
            assert!(
                found <= epsilon && found > epsilon - 1e-9,
                "{found} at δ = {delta}"
            );
            // The mutants: a step's ε for that of both, and a δ for both steps that is only that of one.
            assert!(epsilon_of_step(likely, unlikely, delta, 1) > epsilon);
            let mutant = epsilon_bound(likely, unlikely, delta) / 2.0;
            assert!(delta == 0.0 || mutant > epsilon, "{mutant}");
        }
        assert_eq!(epsilon_of_step(0.1, 0.2, 0.01, 2), 0.0);
    }
}
