//! Whose privacy, and which databases count as neighbours.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What one step between neighbouring databases is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neighbors {
    /// One unit is added or removed: the number of units is private too.
    AddRemove,
    /// One unit is replaced by another: the number of units is public.
    ChangeOne,
}

/// How long a unit lasts that is a part of somebody's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// What one does in a day.
    Day,
    /// In a week.
    Week,
    /// In a month.
    Month,
    /// In a year.
    Year,
}

impl Period {
    /// The most of them that one year touches.
    pub fn in_a_year(self) -> u32 {
        match self {
            Self::Day => 366,
            // 52 weeks and a day, or two, which begin and end within others.
            Self::Week => 54,
            Self::Month => 12,
            Self::Year => 1,
        }
    }

    /// Its name, in the singular.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

/// Whom a guarantee is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivacyUnit {
    /// A singular noun: `person`, `row`, `household`.
    pub whose: String,
    /// What can happen to one of them.
    pub neighbors: Neighbors,
    /// The period of which everything that one of them does is a unit by itself; `None` where a unit is all that they ever do. A promise for each day hides a day, and no habit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Period>,
}

impl PrivacyUnit {
    /// A unit such as `("person", AddRemove)`.
    pub fn new(whose: impl Into<String>, neighbors: Neighbors) -> Self {
        Self {
            whose: whose.into(),
            neighbors,
            period: None,
        }
    }

    /// The same, but a unit is what one of them does in one such period.
    #[must_use]
    pub fn in_each(self, period: Period) -> Self {
        Self {
            period: Some(period),
            ..self
        }
    }

    /// Whose periods they are, with all they ever do: the same where there is no period.
    #[must_use]
    pub fn for_life(&self) -> Self {
        Self {
            period: None,
            ..self.clone()
        }
    }
}

impl fmt::Display for PrivacyUnit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.neighbors {
            Neighbors::AddRemove => "added or removed",
            Neighbors::ChangeOne => "whose data may change",
        };
        match self.period {
            None => write!(formatter, "each {}, {what}", self.whose),
            Some(period) => write!(formatter, "each {} of each {}, {what}", period.name(), self.whose),
        }
    }
}

/// How many steps between neighbours lead from one database to the other.
///
/// A database is a histogram: how often each possible record occurs. Under [`Neighbors::AddRemove`] the distance is ℓ₁:
/// one record added or removed moves one count by one. Under [`Neighbors::ChangeOne`] a change moves two counts by one
/// each, so the distance is half of ℓ₁. One changed record is thus 2 steps of the first kind and 1 of the second.
///
/// # Errors
/// Under [`Neighbors::ChangeOne`], when the databases differ in size: changes preserve it.
pub fn distance<K: Ord>(
    a: &BTreeMap<K, u64>,
    b: &BTreeMap<K, u64>,
    neighbors: Neighbors,
) -> Result<u128, Error> {
    let in_a: u128 = a
        .iter()
        .map(|(key, &count)| u128::from(count.abs_diff(b.get(key).copied().unwrap_or(0))))
        .sum();
    let only_in_b: u128 = b
        .iter()
        .filter(|(key, _)| !a.contains_key(key))
        .map(|(_, &count)| u128::from(count))
        .sum();
    let l1 = in_a + only_in_b;
    match neighbors {
        Neighbors::AddRemove => Ok(l1),
        Neighbors::ChangeOne => {
            let size = |histogram: &BTreeMap<K, u64>| {
                histogram.values().map(|&count| u128::from(count)).sum::<u128>()
            };
            let (left, right) = (size(a), size(b));
            if left != right {
                return Err(Error::SizesDiffer { left, right });
            }
            // Equal sizes: as many records leave as enter, so ℓ₁ is even, and each change does one of each.
            Ok(l1 / 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(counts: &[(&'static str, u64)]) -> BTreeMap<&'static str, u64> {
        counts.iter().copied().collect()
    }

    #[test]
    fn a_change_is_two_steps_or_one() {
        let before = histogram(&[("red", 3), ("blue", 1)]);
        let after = histogram(&[("red", 2), ("blue", 1), ("green", 1)]);
        assert_eq!(distance(&before, &after, Neighbors::AddRemove), Ok(2));
        assert_eq!(distance(&before, &after, Neighbors::ChangeOne), Ok(1));
        assert_eq!(distance(&before, &before, Neighbors::ChangeOne), Ok(0));
    }

    #[test]
    fn sizes_that_differ_are_no_changes_apart() {
        let before = histogram(&[("red", 3)]);
        let after = histogram(&[("red", 4)]);
        assert_eq!(distance(&before, &after, Neighbors::AddRemove), Ok(1));
        assert!(distance(&before, &after, Neighbors::ChangeOne).is_err());
    }

    #[test]
    fn units_read_as_sentences() {
        assert_eq!(
            PrivacyUnit::new("person", Neighbors::AddRemove).to_string(),
            "each person, added or removed"
        );
        assert_eq!(
            PrivacyUnit::new("row", Neighbors::ChangeOne).to_string(),
            "each row, whose data may change"
        );
        let daily = PrivacyUnit::new("person", Neighbors::AddRemove).in_each(Period::Day);
        assert_eq!(daily.to_string(), "each day of each person, added or removed");
        assert_eq!(daily.for_life().to_string(), "each person, added or removed");
    }
}

#[cfg(test)]
mod written {
    use super::*;

    #[test]
    fn units_without_a_period_are_written_as_ever() {
        let person = PrivacyUnit::new("person", Neighbors::AddRemove);
        let text = r#"{"whose":"person","neighbors":"add_remove"}"#;
        assert_eq!(serde_json::to_string(&person).unwrap(), text);
        assert_eq!(serde_json::from_str::<PrivacyUnit>(text).unwrap(), person);
        let monthly = person.in_each(Period::Month);
        let text = r#"{"whose":"person","neighbors":"add_remove","period":"month"}"#;
        assert_eq!(serde_json::to_string(&monthly).unwrap(), text);
        assert_eq!(serde_json::from_str::<PrivacyUnit>(text).unwrap(), monthly);
    }
}
