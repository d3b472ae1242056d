//! What a differentially private release of the same groups shows.

use super::Profile;
use crate::Error;
use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise};
use mechanism::{Account, Aggregate, MemoryLedger, OptimalThreshold, Sensitive, Sensitivity};
use noise::Grid;
use std::collections::BTreeMap;

/// Bits to which a probability is enclosed: all that a float shows.
const BITS: u32 = 64;

/// One row is one person's, who is in one group.
fn threshold(epsilon: &Epsilon, delta: &Delta) -> Result<OptimalThreshold, Error> {
    Ok(OptimalThreshold::new(
        epsilon.clone(),
        delta.clone(),
        Sensitivity::scalar(1)?,
    )?)
}

/// The largest probability with which any (ε, δ)-DP release that decides group by group shows a group of each
/// of these sizes, rounded up.
///
/// For a group of one it is δ: without her the group does not exist and is never shown, so with her it is
/// shown with probability at most e^ε·0 + δ.
///
/// # Errors
/// When ε or δ is zero, or ε so small that no table of probabilities ends.
pub fn shown_probability(epsilon: &Epsilon, delta: &Delta, sizes: &[usize]) -> Result<Vec<f64>, Error> {
    let threshold = threshold(epsilon, delta)?;
    Ok(sizes
        .iter()
        .map(|size| {
            threshold
                .keep_probability(*size as u64, BITS)
                .to_f64_up()
                .min(1.0)
        })
        .collect())
}

/// Groups that a release showed, by their size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// How many groups of each size were shown.
    pub groups: BTreeMap<usize, usize>,
}

impl Shown {
    /// How many people were singled out: groups of one that were shown.
    pub fn singled_out(&self) -> usize {
        self.groups.get(&1).copied().unwrap_or(0)
    }

    /// How many groups were shown.
    pub fn all(&self) -> usize {
        self.groups.values().sum()
    }
}

/// Releases the groups of a profile once under (ε, δ), through the boundary that every release passes. Names
/// of groups are numbers here.
///
/// # Errors
/// When ε or δ is zero, or there is no entropy.
pub fn shown_groups(profile: &Profile, epsilon: &Epsilon, delta: &Delta) -> Result<Shown, Error> {
    let threshold = threshold(epsilon, delta)?;
    let sizes: Vec<usize> = profile
        .groups
        .iter()
        .flat_map(|(size, groups)| std::iter::repeat_n(*size, *groups))
        .collect();
    let named = (0u64..)
        .zip(&sizes)
        .map(|(name, size)| (name, *size as i64))
        .collect();
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let budget = Budget::new(
        Promise::Approximate(epsilon.clone(), delta.clone()),
        person.clone(),
    );
    let mut account = Account::open(MemoryLedger::new(budget))?;
    let groups: Aggregate<Vec<(u64, i64)>> = Aggregate::claimed(
        Sensitive::new(named),
        Sensitivity::scalar(1)?,
        person,
        Grid::new(0),
    );
    let kept = account.release_by(&threshold, groups, "groups")?.into_value();
    let mut shown = Shown::default();
    for name in kept {
        *shown.groups.entry(sizes[name as usize]).or_default() += 1;
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_person_is_shown_with_probability_delta() {
        let (epsilon, delta) = (Epsilon::parse("1").unwrap(), Delta::parse("1e-6").unwrap());
        let found = shown_probability(&epsilon, &delta, &[0, 1, 2, 100]).unwrap();
        assert_eq!(found[0], 0.0);
        assert!((found[1] - 1e-6).abs() < 1e-15);
        // e·δ + δ.
        assert!((found[2] - 1e-6 * (1.0 + std::f64::consts::E)).abs() < 1e-15);
        assert_eq!(found[3], 1.0);
        assert!(shown_probability(&epsilon, &Delta::ZERO, &[1]).is_err());
    }

    #[test]
    fn large_groups_are_shown_and_people_are_not() {
        let profile = Profile {
            rows: 3_000 + 20 * 200,
            groups: BTreeMap::from([(1, 3_000), (200, 20)]),
        };
        let (epsilon, delta) = (Epsilon::parse("1").unwrap(), Delta::parse("1e-13").unwrap());
        let shown = shown_groups(&profile, &epsilon, &delta).unwrap();
        // Of 3,000 people each is shown with probability 1e-13: a false alarm of 3e-10.
        assert_eq!(shown.groups, BTreeMap::from([(200, 20)]));
        assert_eq!((shown.singled_out(), shown.all()), (0, 20));
    }
}
