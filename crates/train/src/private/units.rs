//! Examples, and whose they are.

use crate::Error;
use crate::models::Part;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::hash::Hash;

/// What a model learns from, as the loop sees it.
pub trait Examples {
    /// Some of them, as the model takes them.
    type Batch;

    /// How many there are.
    fn count(&self) -> usize;

    /// These, in this order.
    fn gather(&self, chosen: &[usize]) -> Self::Batch;

    /// A public name for what it is: `catalog.notes`. It goes onto the model's receipt.
    fn name(&self) -> String;

    /// A digest of everything in it. It stays in checkpoints, which are as private as the data, and tells whether a run goes on with the data it began with.
    fn digest(&self) -> String;
}

/// Rows in memory, under a public name.
#[derive(Debug)]
pub struct Dataset<B> {
    name: String,
    rows: B,
    digest: String,
}

impl<B: Part> Dataset<B> {
    /// `digest` is of everything in the rows: see [`Examples::digest`].
    pub fn new(name: &str, rows: B, digest: &str) -> Self {
        Self {
            name: name.to_owned(),
            rows,
            digest: digest.to_owned(),
        }
    }

    /// All rows.
    pub fn rows(&self) -> &B {
        &self.rows
    }
}

impl<B: Part> Examples for Dataset<B> {
    type Batch = B;

    fn count(&self) -> usize {
        self.rows.len()
    }

    fn gather(&self, chosen: &[usize]) -> B {
        self.rows.pick(chosen)
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn digest(&self) -> String {
        self.digest.clone()
    }
}

/// What a unit with several examples adds: clipped as one, whatever it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PerUnit {
    /// The sum of its examples' gradients.
    #[default]
    Sum,
    /// The sum of the first so many, divided by that public number.
    MeanOver(usize),
}

/// Which examples belong to which unit.
#[derive(Clone, Debug)]
pub struct Units {
    /// `None` when each example is a unit.
    groups: Option<Vec<Vec<usize>>>,
    count: usize,
    per_unit: PerUnit,
}

impl Units {
    /// Each example is a unit.
    pub fn each_example(count: usize) -> Self {
        Self {
            groups: None,
            count,
            per_unit: PerUnit::Sum,
        }
    }

    /// Examples with equal keys belong to one unit.
    pub fn by_key<K: Eq + Hash>(keys: impl IntoIterator<Item = K>, per_unit: PerUnit) -> Self {
        let mut places: HashMap<K, usize> = HashMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (example, key) in keys.into_iter().enumerate() {
            let place = *places.entry(key).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            match per_unit {
                PerUnit::MeanOver(most) if groups[place].len() >= most => {}
                _ => groups[place].push(example),
            }
        }
        Self {
            count: groups.len(),
            groups: Some(groups),
            per_unit,
        }
    }

    /// Units by number, of which there are `count`, also those without an example: each example belongs to the one that its entry names.
    pub fn of_owners(count: usize, owners: &[u32], per_unit: PerUnit) -> Self {
        let mut groups: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (example, owner) in owners.iter().enumerate() {
            let Some(group) = groups.get_mut(*owner as usize) else {
                continue;
            };
            match per_unit {
                PerUnit::MeanOver(most) if group.len() >= most => {}
                _ => group.push(example),
            }
        }
        Self {
            groups: Some(groups),
            count,
            per_unit,
        }
    }

    /// How many units there are. That is private where units come and go.
    pub fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn one_example_each(&self) -> bool {
        self.groups.is_none()
    }

    /// The examples of a unit, and the weight of each. A number that no unit has is one that has none.
    pub(crate) fn of(&self, unit: usize) -> (Vec<usize>, f64) {
        let weight = match self.per_unit {
            PerUnit::Sum => 1.0,
            PerUnit::MeanOver(most) => 1.0 / most.max(1) as f64,
        };
        let examples = match &self.groups {
            None if unit < self.count => vec![unit],
            None => Vec::new(),
            Some(groups) => groups.get(unit).cloned().unwrap_or_default(),
        };
        (examples, weight)
    }

    /// Whose each example is, as a digest.
    pub(crate) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{:?} {}", self.per_unit, self.count));
        for group in self.groups.iter().flatten() {
            hash.update((group.len() as u64).to_le_bytes());
            group
                .iter()
                .for_each(|example| hash.update((*example as u64).to_le_bytes()));
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// `counted` where the number of units is public.
    pub(crate) fn check(&self, examples: usize, counted: bool) -> Result<(), Error> {
        let largest = match &self.groups {
            None => self.count,
            Some(groups) => groups.iter().flatten().max().map_or(0, |last| last + 1),
        };
        if largest > examples {
            return Err(Error::OutOfRange {
                what: "the number of keys of units",
                range: "one for each example",
            });
        }
        match (examples, self.count) {
            _ if !counted => Ok(()),
            (0, _) | (_, 0) => Err(Error::TooFewUnits { found: "no examples" }),
            (_, 1) => Err(Error::TooFewUnits { found: "one unit" }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_find_their_unit() {
        let units = Units::by_key(["ann", "bob", "ann", "eve", "ann"], PerUnit::Sum);
        assert_eq!(units.count(), 3);
        assert_eq!(units.of(0), (vec![0, 2, 4], 1.0));
        let capped = Units::by_key(["ann", "bob", "ann", "eve", "ann"], PerUnit::MeanOver(2));
        assert_eq!(capped.of(0), (vec![0, 2], 0.5));
        assert_eq!(capped.of(7), (vec![], 0.5));
        assert!(capped.check(5, true).is_ok() && capped.check(3, true).is_err());
        assert!(Units::each_example(1).check(1, true).is_err());
        assert!(Units::each_example(0).check(0, true).is_err());
        assert!(
            Units::each_example(0).check(0, false).is_ok(),
            "a private number is not told"
        );
        // Units without examples are units.
        let some = Units::of_owners(4, &[2, 0, 2], PerUnit::Sum);
        assert_eq!(
            (some.count(), some.of(2).0, some.of(1).0),
            (4, vec![0, 2], vec![])
        );
        assert_ne!(
            some.digest(),
            Units::of_owners(4, &[2, 1, 2], PerUnit::Sum).digest()
        );
    }
}
