//! One order of rows, whatever order they were read in: that of what is in them.
//!
//! A run of training that goes on must find its data as it was, and a database gives its rows in any order. Sorting is no question of privacy: the loop chooses units by their numbers, all numbers alike, and adds
//! up what they hold, so which number a unit has changes the distribution of nothing.

use std::cmp::Ordering;

/// Rows, unit after unit, and the unit of each by its new number. Units without rows have the numbers after all others.
pub(super) struct Order {
    pub(super) rows: Vec<usize>,
    pub(super) owners: Vec<u32>,
}

impl Order {
    /// Of rows that belong to these owners. Where `compare` finds two rows equal they are the same, so it does not matter which comes first.
    pub(super) fn of(owners: &[u32], compare: impl Fn(usize, usize) -> Ordering) -> Self {
        let mut rows: Vec<usize> = (0..owners.len()).collect();
        rows.sort_unstable_by(|left, right| {
            let same_owner = || compare(*left, *right);
            owners[*left].cmp(&owners[*right]).then_with(same_owner)
        });
        let mut units: Vec<&[usize]> = rows
            .chunk_by(|left, right| owners[*left] == owners[*right])
            .collect();
        units.sort_unstable_by(|left, right| {
            let pairs = left.iter().zip(*right);
            let differ = pairs
                .map(|(left, right)| compare(*left, *right))
                .find(|order| order.is_ne());
            differ.unwrap_or_else(|| left.len().cmp(&right.len()))
        });
        let numbered = (0u32..).zip(&units);
        Self {
            owners: numbered
                .flat_map(|(number, unit)| std::iter::repeat_n(number, unit.len()))
                .collect(),
            rows: units.concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same rows in another order, of owners with other numbers, are the same in the end.
        #[test]
        fn order_does_not_depend_on_order(
            pairs in prop::collection::vec((0u32..6, 0u8..4), 0..40).prop_flat_map(|pairs| {
                let shuffled = Just(pairs.clone()).prop_shuffle();
                (Just(pairs), shuffled, Just((0u32..6).collect::<Vec<_>>()).prop_shuffle())
            })
        ) {
            let (pairs, shuffled, renamed) = pairs;
            let sorted = |pairs: &[(u32, u8)]| {
                let owners: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
                let order = Order::of(&owners, |left, right| pairs[left].1.cmp(&pairs[right].1));
                let rows: Vec<u8> = order.rows.iter().map(|row| pairs[*row].1).collect();
                // Whoever's rows they were, they are one unit's still.
                let kept: std::collections::BTreeSet<(u32, u32)> =
                    order.rows.iter().zip(&order.owners).map(|(row, new)| (pairs[*row].0, *new)).collect();
                let all: std::collections::BTreeSet<u32> = owners.iter().copied().collect();
                assert_eq!(kept.len(), all.len());
                (rows, order.owners)
            };
            let other: Vec<(u32, u8)> =
                shuffled.iter().map(|(owner, value)| (renamed[*owner as usize], *value)).collect();
            prop_assert_eq!(sorted(&pairs), sorted(&other));
        }
    }
}
