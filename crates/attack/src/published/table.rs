//! What was published, as data.

use crate::Error;
use exact::Rational;
use std::collections::BTreeSet;

/// Something that is known about every person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// What it can be.
    pub domain: Domain,
}

/// The values an attribute can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// The integers from `low` to `high`, both included.
    Integers {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
    },
    /// One of a few names; a record holds its place in the list.
    Categories(Vec<String>),
}

impl Domain {
    /// The least and the greatest value, as a record holds them.
    pub fn bounds(&self) -> (i64, i64) {
        match self {
            Domain::Integers { low, high } => (*low, *high),
            Domain::Categories(names) => (0, names.len() as i64 - 1),
        }
    }

    /// How many values there are.
    pub fn size(&self) -> u64 {
        let (low, high) = self.bounds();
        high.abs_diff(low) + 1
    }

    /// The value as a person reads it.
    pub fn show(&self, value: i64) -> String {
        match self {
            Domain::Integers { .. } => value.to_string(),
            Domain::Categories(names) => usize::try_from(value)
                .ok()
                .and_then(|place| names.get(place))
                .map_or_else(|| "?".to_owned(), Clone::clone),
        }
    }
}

/// One person: a value for each attribute, in the order of the table.
pub type Record = Vec<i64>;

/// An attribute's value lies in one of some ranges, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Which attribute, by its place in the table.
    pub attribute: usize,
    /// The ranges, of which one must hold.
    pub ranges: Vec<(i64, i64)>,
}

impl Condition {
    /// Whether this person meets it.
    pub fn holds(&self, record: &Record) -> bool {
        let value = record[self.attribute];
        self.ranges
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&value))
    }
}

fn all_hold(conditions: &[Condition], record: &Record) -> bool {
    conditions.iter().all(|condition| condition.holds(record))
}

/// A person who meets every condition of `when` meets every one of `then`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The premise.
    pub when: Vec<Condition>,
    /// The conclusion.
    pub then: Vec<Condition>,
}

impl Rule {
    /// Whether this person obeys it.
    pub fn holds(&self, record: &Record) -> bool {
        !all_hold(&self.when, record) || all_hold(&self.then, record)
    }
}

/// A published number, as the exact set of values that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// How many people, at least and at most.
    Count {
        /// At least.
        low: u32,
        /// At most.
        high: u32,
    },
    /// Twice the median of an attribute, at least and at most: twice, because medians can be halves.
    Median {
        /// Of which attribute.
        of: usize,
        /// At least.
        twice_low: i64,
        /// At most.
        twice_high: i64,
    },
    /// The mean of an attribute, at least and at most.
    Mean {
        /// Of which attribute.
        of: usize,
        /// At least.
        low: Rational,
        /// At most.
        high: Rational,
    },
    /// The sum of an attribute, at least and at most. Of nobody it is zero.
    Sum {
        /// Of which attribute.
        of: usize,
        /// At least.
        low: i64,
        /// At most.
        high: i64,
    },
}

/// What a number is of: its name within a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatisticKind {
    /// How many.
    Count,
    /// The middle.
    Median,
    /// The average.
    Mean,
    /// The total.
    Sum,
}

impl StatisticKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [StatisticKind; 4] = [
        StatisticKind::Count,
        StatisticKind::Median,
        StatisticKind::Mean,
        StatisticKind::Sum,
    ];
}

impl std::fmt::Display for StatisticKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            StatisticKind::Count => "count",
            StatisticKind::Median => "median",
            StatisticKind::Mean => "mean",
            StatisticKind::Sum => "sum",
        })
    }
}

impl Statistic {
    /// Exactly this many people.
    pub fn count(count: u32) -> Self {
        Statistic::Count {
            low: count,
            high: count,
        }
    }

    /// This median, given doubled: 61 is a median of 30.5.
    pub fn median(of: usize, twice: i64) -> Self {
        Statistic::Median {
            of,
            twice_low: twice,
            twice_high: twice,
        }
    }

    /// A mean rounded to this many decimals: every fraction within half a unit of the last one, ties on both
    /// sides included.
    pub fn mean(of: usize, printed: &Rational, decimals: u32) -> Self {
        let half = Rational::ONE / (Rational::from(2) * Rational::from(10u128.pow(decimals)));
        Statistic::Mean {
            of,
            low: printed - &half,
            high: printed + &half,
        }
    }

    /// What it is of.
    pub fn kind(&self) -> StatisticKind {
        match self {
            Statistic::Count { .. } => StatisticKind::Count,
            Statistic::Median { .. } => StatisticKind::Median,
            Statistic::Mean { .. } => StatisticKind::Mean,
            Statistic::Sum { .. } => StatisticKind::Sum,
        }
    }

    /// The attribute it measures, if it measures one.
    pub fn attribute(&self) -> Option<usize> {
        match self {
            Statistic::Count { .. } => None,
            Statistic::Median { of, .. } | Statistic::Mean { of, .. } | Statistic::Sum { of, .. } => {
                Some(*of)
            }
        }
    }

    /// Whether these people, the members of the group, have it.
    pub fn holds(&self, members: &[&Record]) -> bool {
        match self {
            Statistic::Count { low, high } => {
                (u64::from(*low)..=u64::from(*high)).contains(&(members.len() as u64))
            }
            Statistic::Median {
                of,
                twice_low,
                twice_high,
            } => {
                let mut values: Vec<i64> = members.iter().map(|record| record[*of]).collect();
                values.sort_unstable();
                let (Some(below), Some(above)) = (
                    values.get(values.len().wrapping_sub(1) / 2),
                    values.get(values.len() / 2),
                ) else {
                    return false;
                };
                (*twice_low..=*twice_high).contains(&(below + above))
            }
            Statistic::Mean { of, low, high } => {
                let sum: i64 = members.iter().map(|record| record[*of]).sum();
                let count = Rational::from(members.len() as u64);
                let sum = Rational::from(sum);
                !members.is_empty() && low * &count <= sum && sum <= high * &count
            }
            Statistic::Sum { of, low, high } => {
                (*low..=*high).contains(&members.iter().map(|record| record[*of]).sum())
            }
        }
    }
}

/// Some of the people, and what was published about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// A short name, such as `2A`.
    pub id: String,
    /// What it says in the table.
    pub name: String,
    /// Its members: everybody who meets all of these.
    pub members: Vec<Condition>,
    /// What was published, at most one of each kind. What is not here was suppressed.
    pub statistics: Vec<Statistic>,
}

impl Group {
    /// Whether this person belongs to it.
    pub fn has(&self, record: &Record) -> bool {
        all_hold(&self.members, record)
    }

    /// Its number of this kind, if that was published.
    pub fn statistic(&self, kind: StatisticKind) -> Option<&Statistic> {
        self.statistics.iter().find(|statistic| statistic.kind() == kind)
    }

    /// The most members its published count allows.
    pub(super) fn most(&self) -> Option<u32> {
        match self.statistic(StatisticKind::Count) {
            Some(Statistic::Count { high, .. }) => Some(*high),
            _ => None,
        }
    }
}

/// A published table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What is known about every person.
    pub attributes: Vec<Attribute>,
    /// What is true of every person.
    pub rules: Vec<Rule>,
    /// The groups, in the order of the table.
    pub groups: Vec<Group>,
    /// How many people there are, if that is known from elsewhere.
    pub people: Option<u32>,
}

/// An attribute with more values than this needs too many clauses.
const MOST_VALUES: u64 = 20_000;

impl Table {
    /// The same table with one number less. `false` if it was not there.
    pub fn suppress(&mut self, group: &str, kind: Option<StatisticKind>) -> bool {
        let mut dropped = false;
        for found in self.groups.iter_mut().filter(|found| found.id == group) {
            let before = found.statistics.len();
            found
                .statistics
                .retain(|statistic| kind.is_some_and(|kind| kind != statistic.kind()));
            dropped |= found.statistics.len() < before;
        }
        dropped
    }

    /// Whether these people are a solution: the definition, without any solver.
    pub fn allows(&self, people: &[Record]) -> bool {
        self.people.is_none_or(|count| people.len() == count as usize)
            && people.iter().all(|record| {
                record.len() == self.attributes.len()
                    && record.iter().zip(&self.attributes).all(|(value, attribute)| {
                        let (low, high) = attribute.domain.bounds();
                        (low..=high).contains(value)
                    })
                    && self.rules.iter().all(|rule| rule.holds(record))
            })
            && self.groups.iter().all(|group| {
                let members: Vec<&Record> = people.iter().filter(|record| group.has(record)).collect();
                group.statistics.iter().all(|statistic| statistic.holds(&members))
            })
    }

    /// Refuses a table that cannot be about anybody.
    pub(super) fn check(&self) -> Result<(), Error> {
        for attribute in &self.attributes {
            let (low, high) = attribute.domain.bounds();
            if low > high {
                return Err(Error::bad_setting(
                    format!("the attribute `{}` has no values", attribute.name),
                    "give its least value first, or name at least one category",
                ));
            }
            if attribute.domain.size() > MOST_VALUES || low.abs_diff(0).max(high.abs_diff(0)) > 1 << 40 {
                return Err(Error::bad_setting(
                    format!("the attribute `{}` has too many values", attribute.name),
                    format!("give a range of at most {MOST_VALUES} values near zero; a coarser unit helps"),
                ));
            }
        }
        let known = |conditions: &[Condition]| {
            conditions
                .iter()
                .all(|condition| condition.attribute < self.attributes.len())
        };
        let rules = self
            .rules
            .iter()
            .all(|rule| known(&rule.when) && known(&rule.then));
        let groups = self.groups.iter().all(|group| {
            known(&group.members)
                && group.statistics.iter().all(|statistic| {
                    statistic
                        .attribute()
                        .is_none_or(|attribute| attribute < self.attributes.len())
                })
        });
        let ids: BTreeSet<&str> = self.groups.iter().map(|group| group.id.as_str()).collect();
        if ids.len() < self.groups.len() {
            return Err(Error::bad_setting(
                "two groups have the same id",
                "number the groups, as 1A, 2A, 2B",
            ));
        }
        if self.attributes.is_empty() || !rules || !groups {
            return Err(Error::bad_setting(
                "a condition or a number is about an attribute that the table does not have",
                "declare every attribute with its domain",
            ));
        }
        Ok(())
    }
}
