//! The smallest sets of columns that single people out.

use super::Table;
use super::partition::{Partition, Scratch};
use crate::Watch;
use crate::parallel::share;

/// Columns that together single out as many rows as was asked for, none of which can be spared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identifying {
    /// Which columns, in the order of the table.
    pub columns: Vec<usize>,
    /// How many rows they single out.
    pub alone: usize,
}

/// All minimal sets of at most `largest` of these columns that leave at least `least` rows alone, smallest
/// sets first. `watch` hears of every set that was looked at.
///
/// Columns only ever add rows that are alone, so a set is of interest only if no part of it suffices: sizes
/// are searched one after the other, and whatever contains a set that was found is skipped. Where `watch`
/// stops the search, the sets found by then are returned.
pub fn identifying_sets(
    table: &Table,
    columns: &[usize],
    least: usize,
    largest: usize,
    watch: &Watch<'_>,
) -> Vec<Identifying> {
    // Columns of many values first: most rows are alone soon, and what is left to refine is small.
    let mut order = columns.to_vec();
    order.sort_by_key(|column| (std::cmp::Reverse(table.distinct(*column)), *column));
    order.dedup();
    let mut found: Vec<Identifying> = Vec::new();
    if least == 0 || Partition::of(table, &order).alone() < least {
        return found;
    }
    for size in 1..=largest.min(order.len()) {
        let search = Level {
            table,
            order: &order,
            known: &found,
            least,
            size,
            watch,
        };
        let stopped = std::sync::atomic::AtomicBool::new(false);
        let hear = |_: u64| !stopped.load(std::sync::atomic::Ordering::Relaxed);
        let states = share(
            order.len() as u64,
            &hear,
            || (Vec::new(), Scratch::default()),
            |(sets, scratch), first| {
                let whole = Partition::whole(table.rows());
                if !search.from(&whole, &mut Vec::new(), first as usize, true, sets, scratch) {
                    stopped.store(true, std::sync::atomic::Ordering::Relaxed);
                }
            },
        );
        let mut level: Vec<Identifying> = states.into_iter().flat_map(|(sets, _)| sets).collect();
        level.sort_by(|one, other| {
            other
                .alone
                .cmp(&one.alone)
                .then_with(|| one.columns.cmp(&other.columns))
        });
        found.extend(level);
        if stopped.into_inner() {
            break;
        }
    }
    found
}

/// The sets of one size.
struct Level<'search> {
    table: &'search Table,
    order: &'search [usize],
    /// Smaller sets that suffice.
    known: &'search [Identifying],
    least: usize,
    size: usize,
    watch: &'search Watch<'search>,
}

impl Level<'_> {
    /// Looks at all sets that go on from `chosen` with the column in place `next`, or with a later one unless
    /// it is `only` that one. Says whether to go on.
    fn from(
        &self,
        partition: &Partition,
        chosen: &mut Vec<usize>,
        next: usize,
        only: bool,
        found: &mut Vec<Identifying>,
        scratch: &mut Scratch,
    ) -> bool {
        let last = if only { next + 1 } else { self.order.len() };
        for place in next..last {
            let column = self.order[place];
            chosen.push(column);
            let mut go_on = true;
            if !self.suffices(chosen) {
                if chosen.len() == self.size {
                    let alone = partition.alone_with(self.table, column, scratch);
                    if alone >= self.least {
                        let mut columns = chosen.clone();
                        columns.sort_unstable();
                        found.push(Identifying { columns, alone });
                    }
                    go_on = (self.watch)(1);
                } else if self.order.len() - place > self.size - chosen.len() {
                    let refined = partition.refined(self.table, column, scratch);
                    go_on = self.from(&refined, chosen, place + 1, false, found, scratch);
                }
            }
            chosen.pop();
            if !go_on {
                return false;
            }
        }
        true
    }

    /// Whether a part of these columns suffices.
    fn suffices(&self, columns: &[usize]) -> bool {
        self.known
            .iter()
            .any(|set| set.columns.iter().all(|column| columns.contains(column)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every subset, by counting, and then those without a smaller one.
    fn by_force(table: &Table, least: usize, largest: usize) -> Vec<Vec<usize>> {
        let subsets = (1u32..1 << table.columns()).map(|bits| {
            (0..table.columns())
                .filter(|column| bits >> column & 1 == 1)
                .collect::<Vec<usize>>()
        });
        let enough: Vec<Vec<usize>> = subsets
            .filter(|columns| columns.len() <= largest && Partition::of(table, columns).alone() >= least)
            .collect();
        let minimal = |set: &&Vec<usize>| {
            !enough
                .iter()
                .any(|other| other.len() < set.len() && other.iter().all(|column| set.contains(column)))
        };
        let mut found: Vec<Vec<usize>> = enough.iter().filter(minimal).cloned().collect();
        found.sort();
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_search_finds_what_trying_all_finds(
            rows in prop::collection::vec(prop::collection::vec(0u32..4, 5), 2..40),
            share in 1usize..=10,
            largest in 1usize..=5,
        ) {
            let names = ["a", "b", "c", "d", "e"];
            let column = |place: usize| rows.iter().map(|row| row[place]).collect::<Vec<u32>>();
            let table = Table::of_codes(names.iter().enumerate().map(|(place, name)| (*name, column(place))));
            let least = (rows.len() * share).div_ceil(10);
            let found = identifying_sets(&table, &[0, 1, 2, 3, 4], least, largest, &|_| true);
            for set in &found {
                prop_assert_eq!(set.alone, Partition::of(&table, &set.columns).alone());
            }
            let mut sets: Vec<Vec<usize>> = found.into_iter().map(|set| set.columns).collect();
            sets.sort();
            prop_assert_eq!(sets, by_force(&table, least, largest));
        }
    }

    #[test]
    fn a_search_that_is_stopped_keeps_what_it_found() {
        // The first column alone suffices; of the others no set does.
        let table = Table::of_codes([
            ("id", (0..100).collect()),
            ("a", (0..100).map(|row| row % 5).collect()),
            ("b", (0..100).map(|row| row % 7).collect()),
        ]);
        let all = identifying_sets(&table, &[0, 1, 2], 90, 3, &|_| true);
        assert_eq!(
            all,
            [Identifying {
                columns: vec![0],
                alone: 100
            }]
        );
        assert!(identifying_sets(&table, &[1, 2], 90, 3, &|_| true).is_empty());
        let looked = std::sync::atomic::AtomicUsize::new(0);
        let stop = |_| looked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 1_000_000;
        let some = identifying_sets(&table, &[0, 1, 2], 90, 3, &stop);
        assert!(some.len() <= 1);
    }
}
