//! How many people, and how many kinds of people, a table can be about.

use super::table::{Record, Table};
use crate::Error;
use std::collections::BTreeSet;

/// More people than this are for `blocks`.
const MOST_PEOPLE: u32 = 200;
/// More kinds of people than this are not looked through.
const MOST_KINDS: usize = 1 << 18;

/// People that no condition of the table distinguishes: for each attribute the least and the greatest value.
type Kind = Vec<(i64, i64)>;

impl Table {
    /// How many different records the rules allow, or an upper bound on it if they are too many to look
    /// through.
    pub fn possible_records(&self) -> f64 {
        let size = |kind: &Kind| -> f64 { kind.iter().map(|(low, high)| (high - low + 1) as f64).product() };
        match self.kinds() {
            Some(kinds) => kinds.iter().map(size).sum(),
            None => size(
                &self
                    .attributes
                    .iter()
                    .map(|attribute| attribute.domain.bounds())
                    .collect(),
            ),
        }
    }

    /// The kinds of people that the rules allow; `None` if they are too many.
    fn kinds(&self) -> Option<Vec<Kind>> {
        let segments = self.segments();
        segments.iter().map(Vec::len).try_fold(1usize, |product, count| {
            product
                .checked_mul(count)
                .filter(|product| *product <= MOST_KINDS)
        })?;
        let kinds = segments.iter().fold(vec![Kind::new()], |kinds, choices| {
            let longer = kinds.iter().flat_map(|kind| {
                choices
                    .iter()
                    .map(|choice| kind.iter().chain([choice]).copied().collect())
            });
            longer.collect()
        });
        let allowed = |kind: &Kind| self.rules.iter().all(|rule| rule.holds(&first_of(kind)));
        Some(kinds.into_iter().filter(allowed).collect())
    }

    /// The most people that the counts allow.
    ///
    /// Any family of groups that together hold every possible person bounds the people by the sum of their
    /// counts; this looks for the least such sum. Without such a family the number of people, and of
    /// solutions, has no bound.
    pub(super) fn most_people(&self) -> Result<u32, Error> {
        let bound = match self.people {
            Some(people) => people,
            None => self.cover()?,
        };
        if bound > MOST_PEOPLE {
            return Err(Error::bad_setting(
                format!(
                    "the table is about as many as {bound} people, and at most {MOST_PEOPLE} are rebuilt one by one"
                ),
                "for more people rebuild counts by cell: `deniable attack reconstruct block`",
            ));
        }
        Ok(bound)
    }

    /// Per attribute, the ranges within which no condition tells two values apart.
    fn segments(&self) -> Vec<Vec<(i64, i64)>> {
        let conditions = self
            .rules
            .iter()
            .flat_map(|rule| rule.when.iter().chain(&rule.then))
            .chain(self.groups.iter().flat_map(|group| &group.members));
        let mut starts: Vec<BTreeSet<i64>> = self
            .attributes
            .iter()
            .map(|attribute| BTreeSet::from([attribute.domain.bounds().0]))
            .collect();
        for condition in conditions {
            let (low, high) = self.attributes[condition.attribute].domain.bounds();
            for (from, to) in &condition.ranges {
                let ends = [*from, to.saturating_add(1)];
                starts[condition.attribute].extend(ends.iter().filter(|start| (low..=high).contains(start)));
            }
        }
        starts
            .iter()
            .zip(&self.attributes)
            .map(|(starts, attribute)| {
                let ends = starts.iter().skip(1).map(|start| start - 1);
                let ends = ends.chain([attribute.domain.bounds().1]);
                starts.iter().copied().zip(ends).collect()
            })
            .collect()
    }

    fn cover(&self) -> Result<u32, Error> {
        let Some(kinds) = self.kinds() else {
            return Err(Error::bad_setting(
                "the conditions tell too many kinds of people apart to bound how many people there are",
                "say how many there are: `people = 7`",
            ));
        };
        let counted: Vec<(usize, u32)> = self
            .groups
            .iter()
            .enumerate()
            .filter_map(|(place, group)| Some((place, group.most()?)))
            .collect();
        // Which of the counted groups hold a kind of person; kinds in the same groups count once.
        let mut wanted: BTreeSet<Vec<usize>> = BTreeSet::new();
        for kind in &kinds {
            let first = first_of(kind);
            let holders: Vec<usize> = (0..counted.len())
                .filter(|&which| self.groups[counted[which].0].has(&first))
                .collect();
            if holders.is_empty() {
                let shown: Vec<String> = self
                    .attributes
                    .iter()
                    .zip(&first)
                    .map(|(attribute, value)| format!("{} {}", attribute.name, attribute.domain.show(*value)))
                    .collect();
                return Err(Error::bad_setting(
                    format!(
                        "nothing bounds how many people there are: no published count includes somebody with {}",
                        shown.join(", ")
                    ),
                    "say how many people there are (`people = 7`), or publish a count of everybody",
                ));
            }
            wanted.insert(holders);
        }
        // The most demanding kinds first: they leave the fewest choices.
        let mut wanted: Vec<Vec<usize>> = wanted.into_iter().collect();
        wanted.sort_by_key(Vec::len);
        let weights: Vec<u64> = counted.iter().map(|(_, most)| u64::from(*most)).collect();
        let mut search = Cover {
            wanted,
            weights,
            best: u64::MAX,
            steps: 100_000,
        };
        search.choose(&mut vec![false; counted.len()], 0);
        Ok(u32::try_from(search.best).unwrap_or(u32::MAX))
    }
}

/// Somebody of this kind: conditions do not tell them apart from the others.
fn first_of(kind: &Kind) -> Record {
    kind.iter().map(|(low, _)| *low).collect()
}

/// The lightest family of groups that holds every kind of person, by depth-first search. Any family it meets
/// is a valid bound, so running out of steps costs tightness, never truth; the first descent always ends in
/// one.
struct Cover {
    wanted: Vec<Vec<usize>>,
    weights: Vec<u64>,
    best: u64,
    steps: u32,
}

impl Cover {
    fn choose(&mut self, chosen: &mut Vec<bool>, weight: u64) {
        if weight >= self.best || (self.steps == 0 && self.best < u64::MAX) {
            return;
        }
        self.steps = self.steps.saturating_sub(1);
        let open = self
            .wanted
            .iter()
            .find(|holders| !holders.iter().any(|&which| chosen[which]));
        let Some(holders) = open.cloned() else {
            self.best = weight;
            return;
        };
        for which in holders {
            chosen[which] = true;
            self.choose(chosen, weight + self.weights[which]);
            chosen[which] = false;
        }
    }
}
