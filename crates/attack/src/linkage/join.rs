//! Linking two tables on columns that both have.

use super::{Partition, Table};

/// What two tables have to do with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    /// Pairs of a row of the first table and one of the second that match each other and nothing else. Rows
    /// of the second are counted from 0 again.
    pub pairs: Vec<(u32, u32)>,
    /// How many rows of the first are alone in it.
    pub alone_in_first: usize,
    /// How many rows of the first match several rows, or share their values with another row of the first.
    pub several: usize,
    /// How many rows of the first match nothing.
    pub unmatched: usize,
}

/// Links the first `first_rows` rows of a table to the rest on all its columns.
///
/// A pair is made where exactly one row of either side has the same values. Nothing else is claimed: with two
/// candidates an adversary would be guessing.
pub fn link(both: &Table, first_rows: usize) -> Links {
    let columns: Vec<usize> = (0..both.columns()).collect();
    let partition = Partition::of(both, &columns);
    let mut links = Links {
        pairs: Vec::new(),
        alone_in_first: first_rows,
        several: 0,
        unmatched: first_rows,
    };
    for group in partition.groups() {
        let inside = group.iter().filter(|row| (**row as usize) < first_rows).count();
        let others = group.len() - inside;
        if inside > 1 {
            links.alone_in_first -= inside;
        }
        if others > 0 {
            links.unmatched -= inside;
        }
        match (inside, others) {
            (1, 1) => {
                let (first, second) = (group[0].min(group[1]), group[0].max(group[1]));
                links.pairs.push((first, second - first_rows as u32));
            }
            (0, _) | (_, 0) => {}
            _ => links.several += inside,
        }
    }
    links.pairs.sort_unstable();
    links
}

/// How right the links are, if it is known who is who.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Links between two rows of the same person.
    pub right: usize,
    /// Links between two people.
    pub wrong: usize,
    /// Rows of the first table whose person is in the second at all.
    pub findable: usize,
}

impl Judged {
    /// Which share of the links is right.
    pub fn precision(&self) -> f64 {
        share(self.right, self.right + self.wrong)
    }

    /// Which share of those who could be found was found.
    pub fn recall(&self) -> f64 {
        share(self.right, self.findable)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Judges links by who each row is: the first `first_rows` entries are those of the first table.
pub fn judge(pairs: &[(u32, u32)], people: &[u32], first_rows: usize) -> Judged {
    let (first, second) = people.split_at(first_rows);
    let right = pairs
        .iter()
        .filter(|(row, other)| first[*row as usize] == second[*other as usize])
        .count();
    let mut known: Vec<u32> = second.to_vec();
    known.sort_unstable();
    Judged {
        right,
        wrong: pairs.len() - right,
        findable: first
            .iter()
            .filter(|person| known.binary_search(person).is_ok())
            .count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_matches_one_row_on_either_side_is_linked() {
        // First: 7, 8, 8, 9, 5. Second: 9, 7, 8, 6, 7 → 9 is a pair; 7 has two candidates; 8 is twice in the
        // first; 5 has none.
        let both = Table::of_codes([("zip", vec![7, 8, 8, 9, 5, 9, 7, 8, 6, 7])]);
        let links = link(&both, 5);
        assert_eq!(
            links,
            Links {
                pairs: vec![(3, 0)],
                alone_in_first: 3,
                several: 3,
                unmatched: 1
            }
        );
        // The row in place 3 is person 30; so is the first of the second table, and persons 10 and 20 are
        // there as well.
        let people = [10, 20, 21, 30, 50, 30, 10, 20, 60, 11];
        let judged = judge(&links.pairs, &people, 5);
        assert_eq!(
            judged,
            Judged {
                right: 1,
                wrong: 0,
                findable: 3
            }
        );
        assert!((judged.recall() - 1.0 / 3.0).abs() < 1e-12 && judged.precision() == 1.0);
        let mistaken = judge(&[(0, 0)], &people, 5);
        assert_eq!((mistaken.right, mistaken.wrong), (0, 1));
    }

    #[test]
    fn two_columns_must_both_agree() {
        let both = Table::of_codes([("zip", vec![1, 1, 1, 1]), ("sex", vec![0, 1, 1, 0])]);
        assert_eq!(link(&both, 2).pairs, [(0, 1), (1, 0)]);
        assert_eq!(link(&both, 0).pairs, []);
        assert_eq!(link(&both, 4).alone_in_first, 0);
    }
}
