//! What a ledger says was spent, by every way of counting.

use super::{broken, missing};
use crate::terminal::{CliError, explained};
use accounting::{
    Accountant, Delta, Epsilon, Error, Event, PrivacyUnit, Promise, RenyiOdometer, RenyiOrders,
};
use ledger::{Entry, Left, Place, Rules, Store, Verified};
use sql::blocking::Dataset;
use std::collections::BTreeMap;
use std::path::Path;

/// Everything that was spent.
#[derive(Debug)]
pub(super) struct Spent {
    /// The dataset's name.
    pub(super) dataset: String,
    /// The rules in force.
    pub(super) rules: Rules,
    /// The catalog's, where they are others.
    pub(super) other_rules: Option<Rules>,
    pub(super) charges: Vec<Entry>,
    /// Who asks, and what they may spend.
    pub(super) analyst: String,
    pub(super) left: Left,
    /// What everybody who spent something may spend, as an ε of one further release.
    pub(super) left_of: BTreeMap<String, Epsilon>,
    /// What everything together guarantees at the budget's δ, by each accountant; `Err` where it has nothing to say.
    pub(super) accountants: Vec<(Accountant, Result<Epsilon, Error>)>,
    /// The same for questions chosen after seeing answers, without a limit fixed in advance.
    pub(super) odometer: Result<Epsilon, Error>,
    /// What checking the whole chain found, where that was done.
    pub(super) verified: Option<Verified>,
}

/// What one analyst spent.
#[derive(Debug, PartialEq)]
pub(super) struct Analyst {
    pub(super) charges: u64,
    /// Sums; `None` where promises of different kinds do not add up.
    pub(super) sum: Option<Promise>,
}

impl Spent {
    /// Reads a ledger by itself, and checks all of it: nobody else vouches for it.
    pub(super) fn of_file(path: &Path, analyst: &str) -> Result<Self, CliError> {
        let place = Place::File(path.to_owned());
        let mut store = Store::open_existing(&place)
            .map_err(broken)?
            .ok_or_else(missing)?;
        let verified = store.verify().map_err(broken)?;
        let charges = store.charges().map_err(broken)?;
        let left = store.left(analyst).map_err(broken)?;
        let name = path.display().to_string();
        let left_of = left_of(&mut store, &charges);
        let mut spent = Self::count(name, store.rules().clone(), charges, analyst, left);
        spent.left_of = left_of;
        spent.verified = Some(verified);
        Ok(spent)
    }

    /// Reads the ledger, which is not made if it is not there.
    pub(super) fn of(dataset: &Dataset, analyst: &str) -> Result<Self, CliError> {
        let stated = dataset.rules().map_err(explained)?;
        let (rules, charges, left, left_of) = match Store::open_existing(&dataset.place()).map_err(broken)? {
            Some(mut store) => {
                store.check_not_rewound().map_err(broken)?;
                let charges = store.charges().map_err(broken)?;
                let left = store.left(analyst).map_err(broken)?;
                let left_of = left_of(&mut store, &charges);
                (store.rules().clone(), charges, left, left_of)
            }
            None => (
                stated.clone(),
                Vec::new(),
                untouched(&stated, analyst)?,
                BTreeMap::new(),
            ),
        };
        let name = dataset.catalog().name.clone();
        let mut spent = Self::count(name, rules, charges, analyst, left);
        spent.left_of = left_of;
        spent.other_rules = (stated != spent.rules).then_some(stated);
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
        Self {
            dataset,
            other_rules: None,
            rules,
            charges,
            // As the ledger calls them; one without a name was refused before.
            analyst: ledger::Analyst::named(analyst)
                .map_or(String::new(), |analyst| analyst.name().to_owned()),
            left,
            left_of: BTreeMap::new(),
            accountants,
            odometer,
            verified: None,
        }
    }

    /// The δ at which everything is told.
    pub(super) fn delta(&self) -> Delta {
        delta_of(&self.rules)
    }

    /// What each analyst spent, by name.
    pub(super) fn analysts(&self) -> BTreeMap<&str, Analyst> {
        let mut analysts = BTreeMap::new();
        for charge in &self.charges {
            let analyst = analysts.entry(charge.analyst.as_str()).or_insert(Analyst {
                charges: 0,
                sum: Some(Promise::Pure(Epsilon::ZERO)),
            });
            analyst.charges += 1;
            analyst.sum = analyst.sum.take().and_then(|sum| plus(&sum, charge));
        }
        analysts
    }

    /// Everything spent as one ε that holds for questions chosen after seeing answers, whenever one looks: the odometer's, or the sum where it has nothing to say.
    pub(super) fn so_far(&self) -> Option<Epsilon> {
        let sum = self.sum();
        let sum = sum.as_ref().and_then(epsilon_of).cloned();
        self.odometer.as_ref().ok().cloned().or(sum)
    }

    /// Everything spent, by sums.
    pub(super) fn sum(&self) -> Option<Promise> {
        let nothing = Promise::Pure(Epsilon::ZERO);
        self.charges
            .iter()
            .try_fold(nothing, |sum, charge| plus(&sum, charge))
    }
}

pub(super) fn plus(sum: &Promise, charge: &Entry) -> Option<Promise> {
    sum.compose(charge.guarantee.promise()).ok()
}

/// The ε of a promise that has one.
pub(super) fn epsilon_of(promise: &Promise) -> Option<&Epsilon> {
    match promise {
        Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => Some(epsilon),
        Promise::Concentrated(_) => None,
    }
}

pub(super) fn composed(events: &[&Event]) -> Event {
    Event::Composed(events.iter().map(|event| (*event).clone()).collect())
}

fn delta_of(rules: &Rules) -> Delta {
    match rules.budget.limit() {
        Promise::Approximate(_, delta) => delta.clone(),
        Promise::Pure(_) | Promise::Concentrated(_) => Delta::ZERO,
    }
}

fn odometer(events: &[&Event], rules: &Rules, delta: &Delta, unit: &PrivacyUnit) -> Result<Epsilon, Error> {
    let Some(target) = epsilon_of(rules.budget.limit()) else {
        return Err(Error::NeedsDelta);
    };
    let orders = RenyiOrders::suited_to(target, delta)?;
    let mut odometer = RenyiOdometer::new(delta.clone(), unit.clone(), orders);
    for event in events {
        odometer.charge(event)?;
    }
    Ok(odometer.epsilon())
}

/// What may be spent by whoever spent something.
fn left_of(store: &mut Store, charges: &[Entry]) -> BTreeMap<String, Epsilon> {
    let names: std::collections::BTreeSet<&str> =
        charges.iter().map(|charge| charge.analyst.as_str()).collect();
    let left = names
        .into_iter()
        .map(|name| Some((name.to_owned(), store.left(name).ok()?.epsilon)));
    left.flatten().collect()
}

/// What may be spent before anything was: asked of a ledger of its own, because the real one is made by the first query.
fn untouched(rules: &Rules, analyst: &str) -> Result<Left, CliError> {
    let folder = tempfile::tempdir().map_err(|cause| {
        CliError::bad_input(format!("there is no place for temporary files: {}", cause.kind()))
            .with_hint("set TMPDIR to a folder that you may write to")
    })?;
    let place = Place::File(folder.path().join("ledger"));
    let mut store = Store::open(&place, rules).map_err(explained)?;
    store.left(analyst).map_err(explained)
}
