//! Tree aggregation: noisy sums over the nodes of a binary tree, from which every running sum follows with little noise.

use crate::{Error, Event, NoiseSupport, Ratio};
use exact::{Natural, Rational};

impl Event {
    /// The noisy sums of all complete nodes of a binary tree over `leaves` steps, as one Gaussian: private learning by running sums
    /// (FTRL, Kairouz et al. 2021) and continual counting. Restarting the tree is another event of this kind: [`Event::Repeated`].
    ///
    /// Each node has its own noise, of variance `multiplier_squared` times Δ₂², where Δ₂ is by how much one unit can move the sum of one leaf. A
    /// unit is in at most `participations` leaves of the tree, any two of them at least `apart` steps apart (1: no matter).
    ///
    /// # Privacy
    /// Claim: the tree costs no more than one Gaussian with σ²/Δ₂² = `multiplier_squared`/N, N = Σⱼ k·min(k, ⌈2^j/b⌉) over the levels
    /// j = 0, …, ⌊log₂ leaves⌋, k the lesser of `participations` and ⌈leaves/b⌉, b = `apart`. Also where what a leaf adds is chosen after seeing
    /// earlier sums.
    /// Proof: a node of level j covers 2^j leaves in a row, so it holds c ≤ min(k, ⌈2^j/b⌉) of the unit's leaves and its sum moves by at most cΔ₂. Nodes of
    /// a level are disjoint, so their c add up to at most k, and their c² to at most k·min(k, ⌈2^j/b⌉). Which leaves are the unit's is fixed
    /// beforehand, hence so is every c; nodes in the order in which they are complete are Gaussian mechanisms with ratios c²/`multiplier_squared`,
    /// each chosen after seeing the earlier ones, and together no worse than one with the sum of the ratios (Dong, Roth and Su 2022).
    /// With one participation N is the number of levels, and the first leaf is in a node of each: nothing smaller holds.
    /// Audited by: `a_tree_costs_what_its_nodes_cost`.
    ///
    /// # Errors
    /// When the tree has no leaves, a unit takes part nowhere, or `apart` is 0.
    pub fn tree(
        multiplier_squared: &Ratio,
        leaves: u64,
        participations: u64,
        apart: u64,
    ) -> Result<Self, Error> {
        let count = norm_squared(leaves, participations, apart).ok_or(Error::NoTree)?;
        Ok(Event::Gaussian {
            multiplier_squared: Ratio::at_most(&(multiplier_squared.as_rational() / Rational::from(count))),
            on: NoiseSupport::Rounded,
        })
    }
}

/// N. `None` without leaves or participations.
fn norm_squared(leaves: u64, participations: u64, apart: u64) -> Option<Natural> {
    if leaves == 0 || participations == 0 || apart == 0 {
        return None;
    }
    let most = participations.min(leaves.div_ceil(apart));
    let sum = (0..=leaves.ilog2()).fold(Natural::ZERO, |sum, level| {
        let inside = (1u64 << level).div_ceil(apart).min(most);
        sum + Natural::from(most) * Natural::from(inside)
    });
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Curve, Delta, Neighbors, PrivacyUnit};

    /// Σ c² over all complete nodes, for these leaves of the unit.
    fn of_nodes(leaves: u64, own: &[u64]) -> u64 {
        let mut sum = 0;
        for level in 0..=leaves.ilog2() {
            let size = 1 << level;
            for node in 0..leaves / size {
                let count = own.iter().filter(|leaf| **leaf / size == node).count() as u64;
                sum += count * count;
            }
        }
        sum
    }

    /// The largest Σ c² over all ways to take part, by trying all.
    fn worst(leaves: u64, participations: u64, apart: u64, own: &mut Vec<u64>) -> u64 {
        let mut most = of_nodes(leaves, own);
        if (own.len() as u64) < participations {
            let first = own.last().map_or(0, |last| last + apart);
            for leaf in first..leaves {
                own.push(leaf);
                most = most.max(worst(leaves, participations, apart, own));
                own.pop();
            }
        }
        most
    }

    #[test]
    fn a_tree_costs_what_its_nodes_cost() {
        for leaves in 1..=17 {
            for participations in 1..=4 {
                for apart in 1..=6 {
                    let truth = worst(leaves, participations, apart, &mut Vec::new());
                    let bound = norm_squared(leaves, participations, apart).unwrap();
                    assert!(
                        bound >= Natural::from(truth),
                        "{leaves} {participations} {apart}: {truth}"
                    );
                    // Once, it is the number of levels, and attained.
                    if participations == 1 {
                        assert_eq!(bound, Natural::from(truth));
                        assert_eq!(truth, u64::from(leaves.ilog2()) + 1);
                    }
                }
            }
        }
        // The planted error: a sum over levels that forgets that a node may hold several.
        let forgetful = 3 * (1 + 16u64.ilog2());
        assert!(worst(16, 3, 1, &mut Vec::new()) > u64::from(forgetful));
    }

    #[test]
    fn a_tree_is_a_gaussian() {
        let square = Ratio::parse("121").unwrap();
        let tree = Event::tree(&square, 1024, 1, 1).unwrap();
        // Eleven levels: σ/Δ = 1.
        let one = Event::Gaussian {
            multiplier_squared: Ratio::parse("11").unwrap(),
            on: NoiseSupport::Rounded,
        };
        assert_eq!(tree, one);
        let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
        let epsilon = |event: &Event| {
            let delta = Delta::parse("1e-6").unwrap();
            Curve::of(event, &unit).unwrap().epsilon(&delta).unwrap().upper
        };
        // Two trees that a person is in are one with twice the ratios.
        let restarted = Event::Repeated {
            event: Box::new(tree.clone()),
            times: 2,
        };
        let twice = Event::tree(&Ratio::parse("60.5").unwrap(), 1024, 1, 1).unwrap();
        assert_eq!(epsilon(&restarted), epsilon(&twice));
        assert!(epsilon(&Event::tree(&square, 1024, 2, 512).unwrap()) > epsilon(&tree));
        for (leaves, participations, apart) in [(0, 1, 1), (8, 0, 1), (8, 1, 0)] {
            let refused = Event::tree(&square, leaves, participations, apart).unwrap_err();
            assert!(refused.to_string().contains("hint:"));
        }
        assert!(Event::tree(&square, u64::MAX, u64::MAX, 1).is_ok());
    }
}
