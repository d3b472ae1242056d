//! Rows in groups of equal values.

use super::Table;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Groups of two rows or more that agree on some columns; all other rows are alone. A row that is alone stays
/// alone whatever columns are added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    rows: usize,
    /// The rows of the first group, of the second, and so on.
    members: Vec<u32>,
    /// Where each group ends.
    ends: Vec<u32>,
}

/// Counters by code, all zero between uses.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    counts: Vec<u32>,
    places: Vec<u32>,
}

impl Scratch {
    fn for_codes(&mut self, distinct: u32) {
        let wanted = self.counts.len().max(distinct as usize);
        self.counts.resize(wanted, 0);
        self.places.resize(wanted, 0);
    }
}

impl Partition {
    /// All rows in one group: what no column at all tells.
    pub fn whole(rows: usize) -> Self {
        let members: Vec<u32> = if rows > 1 {
            (0..rows as u32).collect()
        } else {
            Vec::new()
        };
        let ends = if rows > 1 { vec![rows as u32] } else { Vec::new() };
        Self { rows, members, ends }
    }

    /// The groups that these columns of a table make.
    pub fn of(table: &Table, columns: &[usize]) -> Self {
        let mut scratch = Scratch::default();
        columns
            .iter()
            .fold(Self::whole(table.rows()), |partition, column| {
                partition.refined(table, *column, &mut scratch)
            })
    }

    /// The groups of two or more.
    pub fn groups(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.members[start as usize..*end as usize])
    }

    /// How many rows are alone.
    pub fn alone(&self) -> usize {
        self.rows - self.members.len()
    }

    /// Each group split by the values of one column more.
    pub(super) fn refined(&self, table: &Table, column: usize, scratch: &mut Scratch) -> Self {
        let codes = table.codes(column);
        scratch.for_codes(table.distinct(column));
        let mut members = vec![0; self.members.len()];
        let mut ends = Vec::new();
        let mut used = 0;
        for group in self.groups() {
            for row in group {
                scratch.counts[codes[*row as usize] as usize] += 1;
            }
            // Values that occur once are left out; the others get their places in the order in which they
            // first occur.
            for row in group {
                let code = codes[*row as usize] as usize;
                match scratch.counts[code] {
                    0 | 1 => continue,
                    // Marked by the highest bit once it has a place; no table has 2³¹ rows.
                    count if count & PLACED == 0 => {
                        scratch.counts[code] = count | PLACED;
                        scratch.places[code] = used;
                        used += count;
                        ends.push(used);
                    }
                    _ => {}
                }
                members[scratch.places[code] as usize] = *row;
                scratch.places[code] += 1;
            }
            for row in group {
                scratch.counts[codes[*row as usize] as usize] = 0;
            }
        }
        members.truncate(used as usize);
        Self {
            rows: self.rows,
            members,
            ends,
        }
    }

    /// How many rows would be alone with one column more.
    pub(super) fn alone_with(&self, table: &Table, column: usize, scratch: &mut Scratch) -> usize {
        let codes = table.codes(column);
        scratch.for_codes(table.distinct(column));
        let mut alone = self.alone();
        for group in self.groups() {
            for row in group {
                scratch.counts[codes[*row as usize] as usize] += 1;
            }
            for row in group {
                let count = &mut scratch.counts[codes[*row as usize] as usize];
                alone += usize::from(*count == 1);
                // A count of one is met once, any other is set to zero at its first row.
                *count = 0;
            }
        }
        alone
    }

    /// How many groups there are of each size.
    pub fn profile(&self) -> Profile {
        let mut groups = BTreeMap::new();
        for group in self.groups() {
            *groups.entry(group.len()).or_default() += 1;
        }
        if self.alone() > 0 {
            groups.insert(1, self.alone());
        }
        Profile {
            rows: self.rows,
            groups,
        }
    }
}

/// The mark of a value that has its place.
const PLACED: u32 = 1 << 31;

/// How many groups of equal rows there are of each size: k-anonymity, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// How many rows there are.
    pub rows: usize,
    /// How many groups of each size.
    pub groups: BTreeMap<usize, usize>,
}

impl Profile {
    /// The size of the smallest group: the k of k-anonymity. Zero for an empty table.
    pub fn smallest(&self) -> usize {
        self.groups.keys().next().copied().unwrap_or(0)
    }

    /// How many groups have a size in this range, and how many rows are in them.
    pub fn within(&self, sizes: RangeInclusive<usize>) -> (usize, usize) {
        self.groups
            .range(sizes)
            .fold((0, 0), |(groups, rows), (size, count)| {
                (groups + count, rows + size * count)
            })
    }

    /// Which share of the rows is alone.
    pub fn singled_out(&self) -> f64 {
        let (_, alone) = self.within(1..=1);
        if self.rows == 0 {
            0.0
        } else {
            alone as f64 / self.rows as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_are_split_by_one_column_after_the_other() {
        let table = Table::of_codes([("a", vec![0, 0, 1, 1, 1, 2]), ("b", vec![5, 5, 5, 6, 5, 6])]);
        let by_a = Partition::of(&table, &[0]);
        assert_eq!(by_a.groups().collect::<Vec<_>>(), [&[0u32, 1][..], &[2, 3, 4]]);
        assert_eq!(by_a.alone(), 1);
        let by_both = Partition::of(&table, &[0, 1]);
        assert_eq!(by_both.groups().collect::<Vec<_>>(), [&[0u32, 1][..], &[2, 4]]);
        let profile = by_both.profile();
        assert_eq!(profile.groups, BTreeMap::from([(1, 2), (2, 2)]));
        assert_eq!((profile.smallest(), profile.within(2..=9)), (1, (2, 4)));
        assert!((profile.singled_out() - 2.0 / 6.0).abs() < 1e-12);
        assert_eq!(Partition::whole(0).profile().smallest(), 0);
        assert_eq!(Partition::whole(1).alone(), 1);
        assert_eq!(Partition::whole(3).profile().smallest(), 3);
    }

    proptest! {
        /// Against a map from whole rows to how often they occur.
        #[test]
        fn profiles_agree_with_counting(
            rows in prop::collection::vec((0u32..4, 0u32..3, 0u32..5), 0..60),
        ) {
            let table = Table::of_codes([
                ("a", rows.iter().map(|row| row.0).collect()),
                ("b", rows.iter().map(|row| row.1).collect()),
                ("c", rows.iter().map(|row| row.2).collect()),
            ]);
            let mut counts = BTreeMap::<_, usize>::new();
            for row in &rows {
                *counts.entry(*row).or_default() += 1;
            }
            let mut groups = BTreeMap::new();
            for count in counts.values() {
                *groups.entry(*count).or_default() += 1;
            }
            for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
                let partition = Partition::of(&table, &order);
                prop_assert_eq!(&partition.profile().groups, &groups);
                let shorter = Partition::of(&table, &order[..2]);
                let counted = shorter.alone_with(&table, order[2], &mut Scratch::default());
                prop_assert_eq!(counted, partition.alone());
            }
        }
    }
}
