//! Outputs in finitely many cells, so that an event is a set of cells and evidence is a table of counts.

use super::additive::Additive;
use super::cuts::{cut_keys, ranks};
use super::view::{ABSENT, INFINITY, View};

/// Every output lies in one cell. How cells are cut is learned from rows that serve nothing else.
#[derive(Clone, Debug)]
pub(super) enum Partition {
    /// By the key of a view: cell i holds the keys from `cuts[i − 1]` to below `cuts[i]`.
    Keys { view: View, cuts: Vec<i64> },
    /// By a learned score, in the same way.
    Score { model: Additive, cuts: Vec<f64> },
}

/// This many different keys are distinguished one by one, and an eighth of it where they have an order: the
/// more cells there are, the luckier is the best set of them.
const MOST_ATOMS: usize = 4096;

impl Partition {
    /// Cells of a view's keys, from the keys of some rows.
    pub(super) fn of_keys(view: View, keys: Vec<i64>) -> Self {
        // Where keys have no order only those that repeat are distinguished: a range of the others would be
        // an event by luck alone.
        let (atoms, parts) = if view.is_ordered() {
            (MOST_ATOMS / 8, 256)
        } else {
            (MOST_ATOMS, 1)
        };
        let mut cuts = cut_keys(keys, atoms, 1024, parts, view.is_ordered());
        // What is absent is never in one cell with the smallest numbers.
        if view.is_ordered() && cuts.first() != Some(&(ABSENT + 1)) && cuts.get(1) != Some(&(ABSENT + 1)) {
            cuts.insert(0, ABSENT + 1);
        }
        Self::Keys { view, cuts }
    }

    /// Cells of a learned score, finer towards both ends.
    pub(super) fn of_score(model: Additive, mut scores: Vec<f64>) -> Self {
        scores.sort_by(f64::total_cmp);
        let mut cuts: Vec<f64> = ranks(scores.len(), 256, true).map(|rank| scores[rank]).collect();
        cuts.dedup();
        Self::Score { model, cuts }
    }

    pub(super) fn cell(&self, row: &[f64]) -> usize {
        match self {
            Self::Keys { view, cuts } => {
                let key = view.key(row);
                cuts.partition_point(|cut| *cut <= key)
            }
            Self::Score { model, cuts } => {
                let score = model.score(row);
                cuts.partition_point(|cut| *cut <= score)
            }
        }
    }

    pub(super) fn size(&self) -> usize {
        1 + match self {
            Self::Keys { cuts, .. } => cuts.len(),
            Self::Score { cuts, .. } => cuts.len(),
        }
    }

    /// Neighbouring cells of the same label in one: what a test needs to know, in fewer questions. Labels of
    /// the merged cells come with it.
    pub(super) fn merged<L: PartialEq + Clone>(self, labels: &[L]) -> (Self, Vec<L>) {
        fn ends<C, L: PartialEq>(cuts: Vec<C>, labels: &[L]) -> Vec<C> {
            let changes = labels.windows(2).map(|pair| pair[0] != pair[1]);
            cuts.into_iter()
                .zip(changes)
                .filter_map(|(cut, change)| change.then_some(cut))
                .collect()
        }
        let mut merged = labels.to_vec();
        merged.dedup();
        let partition = match self {
            Self::Keys { view, cuts } => Self::Keys {
                view,
                cuts: ends(cuts, labels),
            },
            Self::Score { model, cuts } => Self::Score {
                model,
                cuts: ends(cuts, labels),
            },
        };
        (partition, merged)
    }

    /// Whether half-lines of cells mean something.
    pub(super) fn is_ordered(&self) -> bool {
        match self {
            Self::Keys { view, .. } => view.is_ordered(),
            Self::Score { .. } => true,
        }
    }

    /// The cells along the order of keys and against it, where they have one; what is absent and what is a
    /// word comes last in both, as it has no place among numbers.
    pub(super) fn orders(&self) -> Vec<Vec<usize>> {
        let (numbers, others) = match self.in_order() {
            Some(parts) => parts,
            None => return Vec::new(),
        };
        let against: Vec<usize> = numbers.iter().rev().copied().collect();
        vec![[numbers, others.clone()].concat(), [against, others].concat()]
    }

    /// Cells of numbers in their order, and the others.
    pub(super) fn in_order(&self) -> Option<(Vec<usize>, Vec<usize>)> {
        let cells = 0..self.size();
        match self {
            Self::Keys { .. } if !self.is_ordered() => None,
            Self::Keys { cuts, .. } => {
                let absent = cuts.partition_point(|cut| *cut == ABSENT);
                let is_number = |cell: &usize| {
                    let low = cell.checked_sub(1).map(|before| cuts[before]);
                    *cell != absent && low.is_none_or(|low| low <= INFINITY)
                };
                Some(cells.partition(is_number))
            }
            Self::Score { .. } => Some((cells.collect(), Vec::new())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_keys_have_a_cell_each_and_many_are_cut_finer_at_the_ends() {
        let partition = Partition::of_keys(View::Length, (0..100).map(|i| i % 5).collect());
        let cells: Vec<usize> = (0..5).map(|n| partition.cell(&vec![0.0; n])).collect();
        assert_eq!(cells, [2, 3, 4, 5, 6]);
        assert_eq!(partition.cell(&[0.0; 9]), 7);
        assert_eq!(partition.size(), 8);
        let cuts = cut_keys((0..100_000).collect(), 16, 64, 32, true);
        assert!(cuts[0] == 4 && cuts[1] == 5, "{:?}", &cuts[..3]);
        assert!(cuts.windows(2).all(|pair| pair[1] - pair[0] <= 100_000 / 32 + 1));
        let labels: Vec<u8> = (0..partition.size()).map(|cell| u8::from(cell == 4)).collect();
        let (merged, members) = partition.clone().merged(&labels);
        assert_eq!((merged.size(), members.as_slice()), (3, &[0, 1, 0][..]));
        for n in 0..9 {
            let row = vec![0.0; n];
            assert_eq!(members[merged.cell(&row)], labels[partition.cell(&row)], "{n}");
        }
        // One key that is half of all, the rest spread.
        let cuts = cut_keys((0..50_000).chain([777; 50_000]).collect(), 16, 64, 32, false);
        assert!(cuts.contains(&777) && cuts.contains(&778));
    }
}
