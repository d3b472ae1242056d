//! How long a charge takes on a ledger with thousands of earlier ones:
//! `cargo run --release -p deniable-ledger --example speed_of_a_charge`.
//!
//! With `DENIABLE_TEST_POSTGRES` set, also on PostgreSQL: run it under `scripts/with-postgres`.

use accounting::{
    Budget, Delta, Epsilon, Event, Guarantee, Neighbors, NoiseSupport, PrivacyUnit, Promise, Ratio,
};
use accounting::{RenyiFilter, RenyiOrders};
use ledger::{Place, Rules, Store};
use mechanism::Charge;
use std::error::Error;
use std::time::{Duration, Instant};

const EARLIER: u64 = 5000;
const MEASURED: u64 = 200;
const THREADS: u64 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir_in(".")?;
    let file = Place::File(directory.path().join("ledger.db"));
    filters()?;
    measure("SQLite", &file)?;
    if let Ok(address) = std::env::var("DENIABLE_TEST_POSTGRES") {
        measure("PostgreSQL", &Place::named(&address))?;
    }
    Ok(())
}

fn rules() -> Result<Rules, Box<dyn Error>> {
    let limit = Promise::Approximate(Epsilon::parse("10")?, Delta::parse("1e-6")?);
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let mut rules = Rules::new(Budget::new(limit, unit));
    rules.reserve = Delta::parse("1e-7")?;
    rules.shares.insert("ann".to_owned(), exact::ratio(3, 4));
    Ok(rules)
}

/// Counts of many different sizes: no two events are equal, as with questions of many kinds.
fn event(number: u64) -> Result<Event, accounting::Error> {
    Ok(Event::Laplace {
        ratio: Ratio::parse(&format!("0.001{:04}", number % 10_000))?,
        on: NoiseSupport::DiscreteScalar { sensitivity: 1 },
    })
}

fn charge(number: u64, rules: &Rules) -> Result<Charge, accounting::Error> {
    let event = event(number)?;
    let guarantee = event.guarantee(rules.budget.unit(), &Delta::ZERO)?;
    let guarantee = Guarantee::new(guarantee.promise().clone(), rules.budget.unit().clone());
    Ok(Charge {
        event,
        guarantee,
        purpose: "how fast this is".to_owned(),
    })
}

/// What the filters alone cost.
fn filters() -> Result<(), Box<dyn Error>> {
    let rules = rules()?;
    let orders = RenyiOrders::suited_to(&Epsilon::parse("10")?, &Delta::parse("9e-7")?)?;
    let mut filter = RenyiFilter::with_reserve(rules.budget.clone(), orders, rules.reserve.clone())?;
    let fresh = timed(MEASURED, |number| Ok(filter.charge(&event(number)?)?))?;
    show("RenyiFilter::charge, each event new", fresh);
    let again = timed(MEASURED, |_| Ok(filter.charge(&event(1)?)?))?;
    show("RenyiFilter::charge, the same event", again);
    let text = serde_json::to_string(&filter)?;
    let read = timed(MEASURED, |_| {
        serde_json::from_str::<RenyiFilter>(&text)?;
        Ok(())
    })?;
    show(&format!("reading a RenyiFilter of {} bytes", text.len()), read);
    Ok(())
}

fn measure(name: &str, place: &Place) -> Result<(), Box<dyn Error>> {
    let rules = rules()?;
    let mut store = Store::open(place, &rules)?;
    let warm = timed(EARLIER, |number| {
        store.charge("ann", "question", charge(number, &rules)?)?;
        Ok(())
    })?;
    show(&format!("{name}: charge, store open"), warm);
    let left = timed(20, |_| {
        store.left("ann")?;
        Ok(())
    })?;
    show(&format!("{name}: left"), left);
    // Another store stays open, as with several processes: the file is not tidied up by each that closes it.
    let opened = timed(MEASURED, |number| {
        let mut store = Store::open(place, &rules)?;
        store.charge("ann", "question", charge(number, &rules)?)?;
        Ok(())
    })?;
    show(&format!("{name}: open and charge, after {EARLIER}"), opened);
    at_once(name, place, &rules)?;
    let started = Instant::now();
    let verified = store.verify()?;
    println!(
        "{name}: verify {} entries: {:?}",
        verified.entries,
        started.elapsed()
    );
    drop(store);
    let alone = timed(MEASURED, |number| {
        let mut store = Store::open(place, &rules)?;
        store.charge("ann", "question", charge(number, &rules)?)?;
        Ok(())
    })?;
    show(&format!("{name}: open, charge and close, nobody else"), alone);
    Ok(())
}

/// Several who charge at the same time wait for the disk together.
fn at_once(name: &str, place: &Place, rules: &Rules) -> Result<(), Box<dyn Error>> {
    let mut stores = Vec::new();
    for _ in 0..THREADS {
        stores.push(Store::open(place, rules)?);
    }
    let started = Instant::now();
    std::thread::scope(|scope| {
        for mut store in stores {
            scope.spawn(move || {
                for number in 0..MEASURED {
                    let charge = charge(number, rules).expect("it was charged before");
                    store.charge("ann", "question", charge).expect("it fits");
                }
            });
        }
    });
    let charges = (THREADS * MEASURED) as f64;
    println!(
        "{name}: {THREADS} threads charge at once: {:.0} charges a second",
        charges / started.elapsed().as_secs_f64()
    );
    Ok(())
}

fn timed(
    times: u64,
    mut work: impl FnMut(u64) -> Result<(), Box<dyn Error>>,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut taken = Vec::new();
    for number in 0..times {
        let started = Instant::now();
        work(number)?;
        taken.push(started.elapsed());
    }
    taken.sort();
    Ok(taken)
}

fn show(what: &str, taken: Vec<Duration>) {
    let at = |part: usize| taken[taken.len() * part / 100];
    println!(
        "{what}: median {:?}, 95 % within {:?}, {} times",
        at(50),
        at(95),
        taken.len()
    );
}
