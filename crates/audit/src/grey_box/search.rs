//! The worst pair of neighbours, made small.

use super::{Finding, GreyBox, Recorder};
use crate::report::ClaimVerdict;

/// What one step between neighbours is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbours {
    /// One unit more or less.
    AddRemove,
    /// One unit replaced by another.
    ChangeOne,
}

/// Two neighbours and what came of them.
#[derive(Clone, Debug)]
pub struct Pair<T> {
    /// One of them.
    pub first: Vec<T>,
    /// The other.
    pub second: Vec<T>,
    /// What was found.
    pub finding: Finding,
}

/// The result of all neighbours of some data.
#[derive(Clone, Debug)]
pub struct Search<T> {
    /// How many pairs were compared.
    pub pairs: u64,
    /// How many of them were proved, because all transcripts could be tried.
    pub proved: u64,
    /// The pair with the worst witness if one was refuted, as small as it could be made; otherwise the one
    /// whose bound on what was not seen is largest.
    pub worst: Option<Pair<T>>,
}

impl<T> Search<T> {
    /// The verdict on all pairs together.
    pub fn verdict(&self) -> ClaimVerdict {
        match &self.worst {
            Some(pair) if pair.finding.verdict() == ClaimVerdict::Refuted => ClaimVerdict::Refuted,
            Some(_) if self.proved == self.pairs => ClaimVerdict::Proved,
            _ => ClaimVerdict::Consistent,
        }
    }
}

/// Data that both sides have, where they differ, and in what.
#[derive(Clone)]
struct Difference<T> {
    common: Vec<T>,
    place: usize,
    units: [Option<T>; 2],
}

impl<T: Clone> Difference<T> {
    fn side(&self, which: usize) -> Vec<T> {
        let mut units = self.common.clone();
        if let Some(unit) = &self.units[which] {
            units.insert(self.place.min(units.len()), unit.clone());
        }
        units
    }

    fn without(&self, range: std::ops::Range<usize>) -> Self {
        let before = range.clone().filter(|place| *place < self.place).count();
        let mut common = self.common.clone();
        common.drain(range);
        Self {
            common,
            place: self.place - before,
            units: self.units.clone(),
        }
    }
}

/// Every neighbour: each unit dropped or changed to each of the values, and each of the values added.
fn differences<T: Clone>(units: &[T], values: &[T], neighbours: Neighbours) -> Vec<Difference<T>> {
    let mut all = Vec::new();
    for (place, unit) in units.iter().enumerate() {
        let mut common = units.to_vec();
        common.remove(place);
        let others: Vec<Option<T>> = match neighbours {
            Neighbours::AddRemove => vec![None],
            Neighbours::ChangeOne => values.iter().cloned().map(Some).collect(),
        };
        for other in others {
            all.push(Difference {
                common: common.clone(),
                place,
                units: [Some(unit.clone()), other],
            });
        }
    }
    if neighbours == Neighbours::AddRemove {
        let added = values.iter().map(|value| Difference {
            common: units.to_vec(),
            place: units.len(),
            units: [None, Some(value.clone())],
        });
        all.extend(added);
    }
    all
}

impl GreyBox {
    /// Compares the data with each of its neighbours: each unit dropped, each of `values` added, or each unit
    /// changed to each of them. Values are where to be hostile: extremes, what is not a number, a unit in
    /// every group. The worst pair is made smaller as long as it stays refuted.
    pub fn search<T: Clone, R: PartialEq>(
        &self,
        units: &[T],
        values: &[T],
        neighbours: Neighbours,
        mut computation: impl FnMut(&[T], &mut Recorder) -> R,
    ) -> Search<T> {
        let mut compare = |difference: &Difference<T>| {
            let (first, second) = (difference.side(0), difference.side(1));
            let finding = self.compare(first.as_slice(), second.as_slice(), &mut computation);
            Pair {
                first,
                second,
                finding,
            }
        };
        let (mut pairs, mut proved) = (0, 0);
        let mut worst: Option<(Difference<T>, Pair<T>)> = None;
        for difference in differences(units, values, neighbours) {
            let pair = compare(&difference);
            pairs += 1;
            proved += u64::from(pair.finding.verdict() == ClaimVerdict::Proved);
            let rank = |pair: &Pair<T>| {
                let refuted = pair.finding.verdict() == ClaimVerdict::Refuted;
                (
                    u8::from(refuted),
                    pair.finding.severity(),
                    pair.finding.unseen_at_most(),
                )
            };
            if worst.as_ref().is_none_or(|(_, known)| {
                let (a, b) = (rank(&pair), rank(known));
                a.0.cmp(&b.0)
                    .then(a.1.total_cmp(&b.1))
                    .then(a.2.total_cmp(&b.2))
                    .is_gt()
            }) {
                worst = Some((difference, pair));
            }
        }
        let worst = worst.map(|(difference, pair)| {
            if pair.finding.verdict() == ClaimVerdict::Refuted {
                shrink(difference, pair, &mut compare)
            } else {
                pair
            }
        });
        Search { pairs, proved, worst }
    }
}

/// Takes away what both sides have, in halves, quarters and so on down to single units, as long as what is
/// left is refuted (Zeller and Hildebrandt 2002).
fn shrink<T: Clone>(
    mut difference: Difference<T>,
    mut pair: Pair<T>,
    compare: &mut impl FnMut(&Difference<T>) -> Pair<T>,
) -> Pair<T> {
    let mut size = difference.common.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        let mut removed = false;
        while start < difference.common.len() {
            let end = (start + size).min(difference.common.len());
            let smaller = difference.without(start..end);
            let candidate = compare(&smaller);
            if candidate.finding.verdict() == ClaimVerdict::Refuted {
                (difference, pair, removed) = (smaller, candidate, true);
            } else {
                start = end;
            }
        }
        if size > 1 {
            size = size.div_ceil(2).min(size - 1);
        } else if !removed {
            break;
        }
    }
    pair
}
