//! Examples, and whose they are.

use crate::Error;
use crate::models::Part;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;

/// What a model learns from, as a trainer sees it.
pub trait Examples {
    /// Some of them, as the model takes them.
    type Batch: Sync;

    /// How many there are.
    fn count(&self) -> usize;

    /// These, in this order.
    fn gather(&self, chosen: &[usize]) -> Self::Batch;

    /// Everything that the model sees of one of them: equal for equal examples, wherever they stand. As private as the example.
    fn bytes(&self, example: usize) -> Vec<u8>;

    /// A public name for what it is: `catalog.notes`. It goes onto the model's receipt.
    fn name(&self) -> String;

    /// A digest of everything in it. It stays in checkpoints, which are as private as the data, and says whether a run is resumed with the data it began with.
    fn digest(&self) -> String;
}

impl<E: Examples> Examples for &E {
    type Batch = E::Batch;

    fn count(&self) -> usize {
        (**self).count()
    }

    fn gather(&self, chosen: &[usize]) -> E::Batch {
        (**self).gather(chosen)
    }

    fn bytes(&self, example: usize) -> Vec<u8> {
        (**self).bytes(example)
    }

    fn name(&self) -> String {
        (**self).name()
    }

    fn digest(&self) -> String {
        (**self).digest()
    }
}

/// Rows in memory, under a public name.
///
/// ```
/// use train::models::{Features, Targets};
/// use train::private::{Dataset, Examples};
///
/// let rows = |last: f32| Features::new(1, 1, vec![0.5, last], Targets::Numbers(vec![1.0, 2.0]));
/// let data = Dataset::new("heights", rows(-0.5)?);
/// assert_eq!((data.name(), data.count()), ("heights".to_owned(), 2));
/// assert_ne!(data.digest(), Dataset::new("heights", rows(0.5)?).digest());
/// # Ok::<(), train::models::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Dataset<B> {
    name: String,
    rows: B,
    digest: String,
}

impl<B: Part> Dataset<B> {
    /// Rows under a public name.
    pub fn new(name: &str, rows: B) -> Self {
        let mut hash = Sha256::new();
        for row in 0..rows.len() {
            let bytes = rows.bytes(row);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        Self {
            name: name.to_owned(),
            rows,
            digest: hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
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

    fn bytes(&self, example: usize) -> Vec<u8> {
        self.rows.bytes(example)
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
    /// The sum of the first n, divided by the public number n.
    MeanOver(usize),
}

/// Which examples belong to which unit.
///
/// ```
/// use train::private::{PerUnit, Units};
///
/// // Three notes of two people: each person is clipped as one.
/// let units = Units::by_key(["ann", "bob", "ann"], PerUnit::Sum);
/// assert_eq!(units.count(), 2);
/// assert_eq!(Units::each_example(3).count(), 3);
/// ```
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

    /// The same units with at most `most` examples each: those whose keyed hash is smallest, in that order. Equal examples are interchangeable, so neither their places nor the order of rows matters.
    ///
    /// # Privacy
    /// Which examples of a unit are used depends on that unit's examples, the public number and the public seed, and on nothing else. So neighbouring data, which differ in one unit, are cut to
    /// data that differ in that unit, and what follows is as private on these as it was on those. The argument needs nothing of the hash; that it has a key keeps who writes rows without knowing
    /// the seed from choosing which of them count.
    pub(crate) fn at_most(&self, most: u64, seed: u64, examples: &impl Examples) -> Cow<'_, Self> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let Some(groups) = self
            .groups
            .as_ref()
            .filter(|groups| groups.iter().any(|group| group.len() > most))
        else {
            return Cow::Borrowed(self);
        };
        let hashed = |example: &usize| -> [u8; 32] {
            let mut hash = Sha256::new();
            hash.update(b"which examples of a unit count");
            hash.update(seed.to_le_bytes());
            hash.update(examples.bytes(*example));
            hash.finalize().into()
        };
        let kept = |group: &Vec<usize>| {
            if group.len() <= most {
                return group.clone();
            }
            let mut ordered: Vec<([u8; 32], usize)> =
                group.iter().map(|example| (hashed(example), *example)).collect();
            ordered.sort_unstable();
            ordered
                .into_iter()
                .take(most)
                .map(|(_, example)| example)
                .collect()
        };
        Cow::Owned(Self {
            groups: Some(groups.iter().map(kept).collect()),
            ..*self
        })
    }

    /// How many units there are. That is private where units come and go.
    pub fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn one_example_each(&self) -> bool {
        self.groups.is_none()
    }

    /// As many examples as the largest unit has.
    pub(crate) fn most_examples(&self) -> usize {
        let groups = self.groups.iter().flatten();
        groups.map(Vec::len).max().unwrap_or(1)
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
        match self.count {
            _ if !counted => Ok(()),
            // How many units there are is public here. How many of them have an example is not: a run without any is noise.
            0 => Err(Error::TooFewUnits { found: "no examples" }),
            1 => Err(Error::TooFewUnits { found: "one unit" }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{Features, Targets};

    /// Rows of one number each, under owners; some rows are equal.
    fn rows(owned: &[(u32, u32)]) -> (Dataset<Features>, Units) {
        let values: Vec<f32> = owned.iter().map(|(_, value)| *value as f32).collect();
        let targets = Targets::Numbers(vec![0.0; owned.len()]);
        let owners: Vec<u32> = owned.iter().map(|(owner, _)| *owner).collect();
        (
            Dataset::new("rows", Features::new(1, 1, values, targets).unwrap()),
            Units::of_owners(4, &owners, PerUnit::Sum),
        )
    }

    /// What is kept of each unit.
    fn kept(owned: &[(u32, u32)], most: u64, seed: u64) -> Vec<Vec<u32>> {
        let (rows, units) = rows(owned);
        let units = units.at_most(most, seed, &rows);
        let value = |example: usize| rows.rows().values()[example] as u32;
        (0..4)
            .map(|unit| units.of(unit).0.into_iter().map(value).collect())
            .collect()
    }

    /// Owner 0 has many rows, owner 1 a few, owner 2 as many as are kept, owner 3 none.
    fn owned() -> Vec<(u32, u32)> {
        let many = (0..200).map(|row| (0, row % 150));
        many.chain((0..12).map(|row| (1, 1000 + row)))
            .chain((0..5).map(|row| (2, 2000 + row)))
            .collect()
    }

    /// Whether anybody has an example is nobody's to know, where the number of units is public.
    #[test]
    fn units_without_an_example_are_units() {
        assert!(Units::of_owners(5, &[], PerUnit::Sum).check(0, true).is_ok());
        assert!(Units::of_owners(1, &[], PerUnit::Sum).check(0, true).is_err());
        assert!(Units::each_example(0).check(0, true).is_err());
    }

    #[test]
    fn what_is_kept_of_a_unit_depends_on_its_own_rows_alone() {
        let all = kept(&owned(), 5, 1);
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5, 5, 0]);
        // In any order of rows.
        let mut backwards = owned();
        backwards.reverse();
        let mut turned = owned();
        turned.rotate_left(77);
        // Owner 2 has no more than are kept, and keeps them in their order.
        for other in [backwards, turned] {
            assert_eq!(kept(&other, 5, 1)[..2], all[..2]);
        }
        // Whatever others have: a neighbour, with one unit less or one of other rows.
        let without: Vec<(u32, u32)> = owned().into_iter().filter(|(owner, _)| *owner != 0).collect();
        let changed = owned()
            .into_iter()
            .map(|(owner, row)| (owner, if owner == 0 { row + 7 } else { row }));
        for neighbour in [without, changed.collect()] {
            assert_eq!(kept(&neighbour, 5, 1)[1..], all[1..]);
        }
        // It is another choice under another seed, and none where there is nothing to choose.
        assert_ne!(kept(&owned(), 5, 2)[0], all[0]);
        assert_eq!(kept(&owned(), 200, 1), kept(&owned(), u64::MAX, 2));
        // The mutant keeps the first ones: another order is another choice, which is what this test is for.
        let first = |owned: &[(u32, u32)]| -> Vec<u32> {
            let owners: Vec<u32> = owned.iter().map(|(owner, _)| *owner).collect();
            let units = Units::of_owners(4, &owners, PerUnit::MeanOver(5));
            units
                .of(0)
                .0
                .into_iter()
                .map(|example| owned[example].1)
                .collect()
        };
        let mut backwards = owned();
        backwards.reverse();
        assert_ne!(first(&owned()), first(&backwards));
    }

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
            "a private number is not reported"
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
