//! What was spent according to a ledger, by every way of counting.

use crate::{Analyst, Entry, Error, Left, More, Place, Rules, Store, Temporary, Used, Verified, used_after};
use accounting::{
    Accountant, Delta, Epsilon, Event, PrivacyUnit, Promise, RenyiOdometer, RenyiOrders, Rho,
    epsilon_of_concentrated,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Everything that was spent, by whom, what it guarantees together, and what is left.
///
/// ```
/// use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
/// use ledger::{Place, Rules, Spent};
///
/// # let directory = tempfile::tempdir()?;
/// # let place = Place::File(directory.path().join("ledger.db"));
/// let person = PrivacyUnit::new("person", Neighbors::AddRemove);
/// let rules = Rules::new(Budget::new(Promise::Pure(Epsilon::parse("1")?), person));
/// let spent = Spent::at(&place, &rules, "clinic", "ann", None)?;
/// assert!(spent.charges.is_empty());
/// assert_eq!(spent.left.epsilon, Epsilon::parse("1")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Spent {
    /// The dataset's name.
    pub dataset: String,
    /// The rules in force.
    pub rules: Rules,
    /// The catalog's, if they are others.
    pub other_rules: Option<Rules>,
    /// Every charge, in order.
    pub charges: Vec<Entry>,
    /// Who asks.
    pub analyst: String,
    /// How much of the budget is used, as the filter counts that enforces it; `None` if the rules have no
    /// filter.
    pub used: Option<Used>,
    /// What they may spend.
    pub left: Left,
    /// What everybody who spent something or has a share may spend, as an ε of one further release.
    pub left_of: BTreeMap<String, Epsilon>,
    /// The same as a number of typical questions, if it is known what is typical.
    pub typical: Option<Typical>,
    /// What everything together guarantees at the budget's δ, by each accountant; `Err` if it has nothing to
    /// say.
    pub accountants: Vec<(Accountant, Result<Epsilon, accounting::Error>)>,
    /// The same for questions chosen after seeing answers, without a limit fixed in advance.
    pub odometer: Result<Epsilon, accounting::Error>,
    /// What checking the whole chain found, if that was done.
    pub verified: Option<Verified>,
}

/// How many more typical questions each analyst may ask, if nobody else asks anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typical {
    /// The ε of a typical question, which is ε-DP.
    pub epsilon: Epsilon,
    /// Of whoever looks.
    pub more: More,
    /// Of everybody who spent something or has a share, by name.
    pub more_of: BTreeMap<String, More>,
}

/// More typical questions are not counted.
pub const MOST_TYPICAL: u64 = 1000;

/// What one analyst spent.
#[derive(Debug, PartialEq)]
pub struct SpentByAnalyst {
    /// How many charges.
    pub charges: u64,
    /// Sums; `None` if promises of different kinds do not add up.
    pub sum: Option<Promise>,
}

impl Spent {
    /// Reads a ledger by itself, and checks all of it: nobody else vouches for it. `None` if there is no
    /// ledger.
    pub fn of_file(path: &Path, analyst: &str) -> Result<Option<Self>, Error> {
        let Some(mut store) = Store::open_existing(&Place::File(path.to_owned()))? else {
            return Ok(None);
        };
        let verified = store.verify()?;
        let mut spent = Self::of_store(&mut store, path.display().to_string(), analyst, None)?;
        spent.verified = Some(verified);
        Ok(Some(spent))
    }

    /// Reads the ledger of a dataset, which is not made if it is not there. `stated` are the rules that the
    /// dataset's catalog states, `typical` the ε of a typical question.
    pub fn at(
        place: &Place,
        stated: &Rules,
        dataset: &str,
        analyst: &str,
        typical: Option<&Epsilon>,
    ) -> Result<Self, Error> {
        let name = dataset.to_owned();
        let mut spent = match Store::open_existing(place)? {
            Some(mut store) => {
                store.check_not_rewound()?;
                Self::of_store(&mut store, name, analyst, typical)?
            }
            // The first query makes the real one.
            None => {
                let place = Place::Temporary(Temporary::new()?);
                Self::of_store(&mut Store::open(&place, stated)?, name, analyst, typical)?
            }
        };
        spent.other_rules = (*stated != spent.rules).then(|| stated.clone());
        Ok(spent)
    }

    fn of_store(
        store: &mut Store,
        dataset: String,
        analyst: &str,
        typical: Option<&Epsilon>,
    ) -> Result<Self, Error> {
        let charges = store.charges()?;
        let left = store.left(analyst)?;
        let spenders = charges.iter().map(|charge| charge.analyst.clone());
        let names: BTreeSet<String> = spenders.chain(store.rules().shares.keys().cloned()).collect();
        let of_each = names.iter();
        let left_of = of_each.filter_map(|name| Some((name.clone(), store.left(name).ok()?.epsilon)));
        let left_of = left_of.collect();
        let typical = typical.map(|epsilon| typically(store, analyst, &names, epsilon));
        let typical = typical.transpose()?;
        let mut spent = Self::count(dataset, store.rules().clone(), charges, analyst, left);
        spent.left_of = left_of;
        spent.typical = typical;
        Ok(spent)
    }

    /// Asks every accountant.
    fn count(dataset: String, rules: Rules, charges: Vec<Entry>, analyst: &str, left: Left) -> Self {
        let delta = delta_of(&rules);
        let unit = rules.budget.unit().clone();
        let events: Vec<&Event> = charges.iter().map(|charge| &charge.event).collect();
        let all = composed(&events);
        let accountants = Accountant::ALL
            .into_iter()
            .map(|accountant| (accountant, accountant.epsilon(&all, &unit, &delta)))
            .collect();
        let odometer = odometer(&events, &rules, &delta, &unit);
        let used = used_after(&rules, &events, &[events.len()]);
        Self {
            used: used.ok().and_then(|mut used| used.pop()),
            dataset,
            other_rules: None,
            rules,
            charges,
            // As the ledger calls them; one without a name was refused before.
            analyst: Analyst::named(analyst).map_or(String::new(), |analyst| analyst.name().to_owned()),
            left,
            left_of: BTreeMap::new(),
            typical: None,
            accountants,
            odometer,
            verified: None,
        }
    }

    /// The δ at which everything is stated.
    pub fn delta(&self) -> Delta {
        delta_of(&self.rules)
    }

    /// What each analyst spent, by name; also of those who have a share and spent nothing yet.
    pub fn analysts(&self) -> BTreeMap<&str, SpentByAnalyst> {
        let shares = self.rules.shares.keys();
        let mut charges: BTreeMap<&str, Vec<&Entry>> =
            shares.map(|name| (name.as_str(), Vec::new())).collect();
        for charge in &self.charges {
            charges.entry(charge.analyst.as_str()).or_default().push(charge);
        }
        charges
            .into_iter()
            .map(|(name, charges)| {
                let spent = SpentByAnalyst {
                    charges: charges.len() as u64,
                    sum: self.sum_of(&charges),
                };
                (name, spent)
            })
            .collect()
    }

    /// Everything spent, by sums.
    pub fn sum(&self) -> Option<Promise> {
        let charges: Vec<&Entry> = self.charges.iter().collect();
        self.sum_of(&charges)
    }

    /// The sum of what these charges promise.
    fn sum_of(&self, charges: &[&Entry]) -> Option<Promise> {
        let mut sum = self.no_charges();
        charges.iter().for_each(|charge| sum.add(charge));
        sum.promise()
    }

    /// A sum to which charges are added one by one.
    pub fn no_charges(&self) -> Sum {
        let in_epsilon = epsilon_of(self.rules.budget.limit()).is_some();
        Sum {
            rest: Some(Promise::Pure(Epsilon::ZERO)),
            rho: Rho::ZERO,
            delta: Some(self.delta()).filter(|delta| in_epsilon && *delta != Delta::ZERO),
        }
    }
}

/// A sum of what charges promise. Of a budget in ε, what promises a ρ is added up by itself, and that sum is an ε at the budget's δ, which is then a part of the δ of the whole.
#[derive(Clone, Debug)]
pub struct Sum {
    /// What promises no ρ; `None` if promises of different kinds do not add up.
    rest: Option<Promise>,
    rho: Rho,
    /// Where ρ becomes ε; `None` if it stays what it is.
    delta: Option<Delta>,
}

impl Sum {
    /// One charge more.
    pub fn add(&mut self, charge: &Entry) {
        self.promised(charge.guarantee.promise());
    }

    fn promised(&mut self, promise: &Promise) {
        match (promise, &self.delta) {
            (Promise::Concentrated(rho), Some(_)) => self.rho = &self.rho + rho,
            _ => self.rest = self.rest.take().and_then(|rest| rest.compose(promise).ok()),
        }
    }

    /// What it is; `None` if promises of different kinds do not add up.
    pub fn promise(&self) -> Option<Promise> {
        let rest = self.rest.as_ref()?;
        let Some(delta) = self.delta.as_ref().filter(|_| self.rho != Rho::ZERO) else {
            return Some(rest.clone());
        };
        let epsilon = epsilon_of_concentrated(&self.rho, delta).ok()?;
        rest.compose(&Promise::Approximate(epsilon, delta.clone())).ok()
    }
}

/// The ε of a promise that has one.
pub fn epsilon_of(promise: &Promise) -> Option<&Epsilon> {
    match promise {
        Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => Some(epsilon),
        Promise::Concentrated(_) => None,
    }
}

/// All of these events as one.
pub fn composed(events: &[&Event]) -> Event {
    Event::Composed(events.iter().map(|event| (*event).clone()).collect())
}

fn delta_of(rules: &Rules) -> Delta {
    match rules.budget.limit() {
        Promise::Approximate(_, delta) => delta.clone(),
        Promise::Pure(_) | Promise::Concentrated(_) => Delta::ZERO,
    }
}

fn odometer(
    events: &[&Event],
    rules: &Rules,
    delta: &Delta,
    unit: &PrivacyUnit,
) -> Result<Epsilon, accounting::Error> {
    let Some(target) = epsilon_of(rules.budget.limit()) else {
        return Err(accounting::Error::NeedsDelta);
    };
    let orders = RenyiOrders::suited_to(target, delta)?;
    let mut odometer = RenyiOdometer::new(delta.clone(), unit.clone(), orders);
    for event in events {
        odometer.charge(event)?;
    }
    Ok(odometer.epsilon())
}

/// How many more questions of this ε each may ask.
fn typically(
    store: &mut Store,
    analyst: &str,
    names: &BTreeSet<String>,
    epsilon: &Epsilon,
) -> Result<Typical, Error> {
    let question = Event::Pure {
        epsilon: epsilon.clone(),
    };
    let mut more = |name: &str| store.more(name, &question, MOST_TYPICAL);
    Ok(Typical {
        epsilon: epsilon.clone(),
        more: more(analyst)?,
        more_of: names
            .iter()
            .filter_map(|name| Some((name.clone(), more(name).ok()?)))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_promises_a_rho_is_an_epsilon_at_the_budget_s_delta() {
        let pure = |epsilon: &str| Promise::Pure(Epsilon::parse(epsilon).unwrap());
        let rho = |rho: &str| Promise::Concentrated(Rho::parse(rho).unwrap());
        let delta = Delta::parse("1e-6").unwrap();
        let sum = |promises: &[Promise], delta: Option<&Delta>| {
            let mut sum = Sum {
                rest: Some(pure("0")),
                rho: Rho::ZERO,
                delta: delta.cloned(),
            };
            promises.iter().for_each(|promise| sum.promised(promise));
            sum.promise()
        };
        assert_eq!(sum(&[], Some(&delta)), Some(pure("0")));
        assert_eq!(sum(&[pure("1"), pure("0.5")], Some(&delta)), Some(pure("1.5")));
        // ρ is added up before it is converted, which is less than a sum of ε.
        let both = epsilon_of_concentrated(&Rho::parse("0.03").unwrap(), &delta).unwrap();
        let mixed = sum(&[rho("0.01"), pure("1"), rho("0.02")], Some(&delta)).unwrap();
        let Promise::Approximate(epsilon, at) = mixed else {
            panic!("an ε and a δ")
        };
        assert_eq!(epsilon, both + Epsilon::parse("1").unwrap());
        assert_eq!(at, delta);
        // Of a budget in ρ, or without a δ, nothing is converted.
        assert_eq!(sum(&[rho("0.01"), rho("0.02")], None), Some(rho("0.03")));
        // A δ of charges adds up with that of the conversion.
        let with = Promise::Approximate(Epsilon::parse("1").unwrap(), Delta::parse("1e-7").unwrap());
        let Some(Promise::Approximate(_, at)) = sum(&[rho("0.01"), with], Some(&delta)) else {
            panic!("an ε and a δ")
        };
        assert_eq!(at, Delta::parse("1.1e-6").unwrap());
    }
}
