//! Many processes on one ledger, killed at random: nothing is lost, and no more than the budget is ever
//! spent.
//!
//! The children are this program again, as its test `child`. After each charge they tell their parent what
//! they have a receipt for. The parent kills them at any moment, also in the middle of a commit. Afterwards
//! everything is counted with other code than the ledger's.

mod places;

use accounting::{Budget, Delta, Epsilon, Event, NoiseSupport, Promise, Ratio, RenyiFilter, RenyiOrders};
use exact::{Rational, ratio};
use ledger::{Entry, Place, Rules, Store};
use mechanism::{Charge, Refusal};
use places::{Fresh, approximate_rules, charge, delta, person, pure, pure_rules};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

const PLACE: &str = "DENIABLE_HAMMER_PLACE";
const CURRENCY: &str = "DENIABLE_HAMMER_CURRENCY";
const NAME: &str = "DENIABLE_HAMMER_NAME";
const ANALYSTS: [&str; 3] = ["ann", "bob", "cat"];

#[test]
fn sqlite() {
    for currency in ["pure", "approximate"] {
        hammer(&places::sqlite(), currency, 8, Duration::from_secs(2));
    }
}

#[test]
fn postgres() {
    for currency in ["pure", "approximate"] {
        hammer(&places::postgres(), currency, 8, Duration::from_secs(2));
    }
}

#[test]
#[ignore = "a minute of 64 processes for each currency; scripts/hammer-ledger runs it"]
fn full_sqlite() {
    for currency in ["pure", "approximate"] {
        hammer(&places::sqlite(), currency, 64, Duration::from_secs(60));
    }
}

#[test]
#[ignore = "a minute of 64 processes for each currency; scripts/hammer-ledger runs it"]
fn full_postgres() {
    for currency in ["pure", "approximate"] {
        hammer(&places::postgres(), currency, 64, Duration::from_secs(60));
    }
}

/// So little that it fits as long as anything does.
const TINY: i32 = 80;

/// Ann and bob are held to a half each, cat may spend everything.
fn rules(currency: &str) -> Rules {
    let mut rules = match currency {
        "pure" => pure_rules("1"),
        _ => approximate_rules("1"),
    };
    rules.shares.insert("ann".to_owned(), ratio(1, 2));
    rules.shares.insert("bob".to_owned(), ratio(1, 2));
    rules.shares.insert("cat".to_owned(), ratio(1, 1));
    rules
}

/// A generator for the choices of a test (splitmix64).
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Something that costs about 2^−`smallness` of the budget, and no two of them the same: they must not add up
/// to the budget exactly.
fn event(currency: &str, smallness: i32, choices: &mut Choices) -> Event {
    let size = exact::power_of_two(-smallness - 20) * Rational::from((1 << 20) + 2 * choices.below(1000) + 1);
    let epsilon = Epsilon::exactly_or_up(&size).unwrap();
    match choices.below(if currency == "pure" { 2 } else { 4 }) {
        0 => Event::Pure { epsilon },
        1 => Event::Laplace {
            ratio: Ratio::at_least(&size),
            on: NoiseSupport::DiscreteScalar { sensitivity: 1 },
        },
        2 => Event::Gaussian {
            multiplier_squared: Ratio::at_most(&(ratio(32, 1) / (&size * &size))),
            on: NoiseSupport::Rounded,
        },
        _ => Event::Approximate {
            epsilon,
            delta: Delta::rounded_up(&(size * ratio(1, 10_000_000))).unwrap(),
        },
    }
}

/// Not a test, but what the parent starts: charges for ever, ever less when refused, and tells what it has
/// receipts for.
#[test]
#[ignore = "a part of the others"]
fn child() {
    let (Ok(place), Ok(currency), Ok(name)) =
        (std::env::var(PLACE), std::env::var(CURRENCY), std::env::var(NAME))
    else {
        return;
    };
    let rules = rules(&currency);
    let place = Place::named(&place);
    let mut choices = Choices(name.parse().unwrap());
    let (mut smallness, mut count) = (4, 0);
    loop {
        let mut store = Store::open(&place, &rules).unwrap();
        for _ in 0..=choices.below(32) {
            let analyst = ANALYSTS[choices.below(3) as usize];
            count += 1;
            let charge = Charge {
                purpose: format!("{name}/{count}"),
                ..charge(event(
                    &currency,
                    if choices.below(2) == 0 { smallness } else { TINY },
                    &mut choices,
                ))
            };
            match store.charge(analyst, "q", charge) {
                Ok(receipt) => {
                    // One write, so that a line is there whole or not at all.
                    let line = format!("receipt {} {}\n", receipt.number, receipt.charge.purpose);
                    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
                    std::io::stdout().lock().flush().unwrap();
                    if choices.below(4) == 0 {
                        store
                            .record_answer(receipt.number, "q", analyst, "an answer")
                            .unwrap();
                    }
                }
                // Up against the limit, and never quite there.
                Err(Refusal::Budget(_)) => smallness = (smallness + 1).min(16),
                Err(refusal) => panic!("{refusal}"),
            }
        }
    }
}

fn start(place: &str, currency: &str, number: u64, receipts: Sender<(u64, String)>) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child", "--nocapture", "--test-threads=1"])
        .env(PLACE, place)
        .env(CURRENCY, currency)
        .env(NAME, number.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // The test harness writes lines of its own, and may begin one with which ours continues.
            if let Some((_, reported)) = line.split_once("receipt ")
                && let Some((number, purpose)) = reported.split_once(' ')
            {
                let _ = receipts.send((number.parse().unwrap(), purpose.to_owned()));
            }
        }
    });
    child
}

/// Children that do not outlive their parent, also when it fails.
struct Children(Vec<Child>);

impl Children {
    fn kill(&mut self, victim: usize) {
        self.0[victim].kill().unwrap();
        self.0[victim].wait().unwrap();
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn hammer(fresh: &Fresh, currency: &str, processes: u64, lasting: Duration) {
    let place = match fresh.place() {
        Place::File(path) => path.to_str().unwrap().to_owned(),
        Place::Postgres(address) | Place::PostgresKeepingHead { address, .. } => address.clone(),
        Place::Temporary(_) => unreachable!("processes share no temporary ledger"),
    };
    let rules = rules(currency);
    let (sender, reported): (_, Receiver<(u64, String)>) = channel();
    let mut choices = Choices(42);
    let mut started = 0;
    let mut next = || {
        started += 1;
        start(&place, currency, started, sender.clone())
    };
    // They find no ledger, and make it together.
    let mut children = Children((0..processes).map(|_| next()).collect());
    let begun = Instant::now();
    let mut killed = 0;
    let pause = if processes > 16 { 40 } else { 200 };
    // The point is what happens when the budget is used up, so it goes on until it is.
    while begun.elapsed() < lasting || (!used_up(fresh, &rules) && begun.elapsed() < Duration::from_secs(60))
    {
        thread::sleep(Duration::from_millis(choices.below(pause)));
        let victim = choices.below(processes) as usize;
        assert!(
            children.0[victim].try_wait().unwrap().is_none(),
            "a child ended by itself: nothing is wrong with being refused, but it must not fail"
        );
        children.kill(victim);
        killed += 1;
        children.0[victim] = next();
    }
    drop(children);
    drop(sender);
    let receipts: Vec<(u64, String)> = reported.iter().collect();

    let mut store = Store::open(fresh.place(), &rules).unwrap();
    let verified = store.verify().unwrap();
    let charges = store.charges().unwrap();
    println!(
        "{}, {currency}: {} entries, {} charges, {} receipts, {killed} kills in {:?}",
        fresh.place(),
        verified.entries,
        charges.len(),
        receipts.len(),
        begun.elapsed()
    );
    assert!(
        !receipts.is_empty() && used_up(fresh, &rules),
        "the ledger was hardly used"
    );
    assert_eq!(lost(&charges, &receipts), Vec::<&(u64, String)>::new());
    assert_eq!(overspent(&rules, &charges), None);
    // And it goes on.
    let fits = store.fits("cat", &pure("1e-30")).unwrap();
    assert_eq!(store.charge("cat", "q", charge(pure("1e-30"))).is_ok(), fits);
    store.verify().unwrap();
}

/// Whether something was refused for certain: the first size that the children try does not fit any more.
fn used_up(fresh: &Fresh, rules: &Rules) -> bool {
    match Store::open_existing(fresh.place()).unwrap() {
        Some(mut store) => {
            assert_eq!(store.rules(), rules);
            !store.fits("cat", &pure("0.0625")).unwrap()
        }
        None => false,
    }
}

/// Receipts without a charge.
fn lost<'a>(charges: &[Entry], receipts: &'a [(u64, String)]) -> Vec<&'a (u64, String)> {
    let charges: BTreeMap<u64, &str> = charges
        .iter()
        .map(|entry| (entry.number, &*entry.purpose))
        .collect();
    receipts
        .iter()
        .filter(|(number, purpose)| charges.get(number) != Some(&purpose.as_str()))
        .collect()
}

/// Whose limit is broken, counted without the ledger's own code.
fn overspent(rules: &Rules, charges: &[Entry]) -> Option<String> {
    if exceeds(rules, &ratio(1, 1), charges.iter()) {
        return Some("the budget".to_owned());
    }
    rules
        .shares
        .iter()
        .find(|(name, share)| {
            exceeds(
                rules,
                share,
                charges.iter().filter(|entry| entry.analyst == **name),
            )
        })
        .map(|(name, _)| format!("the share of {name}"))
}

fn exceeds<'a>(rules: &Rules, share: &Rational, charges: impl Iterator<Item = &'a Entry>) -> bool {
    match rules.budget.limit() {
        Promise::Approximate(epsilon, whole) => {
            let epsilon = Epsilon::rounded_down(&(epsilon.as_rational() * share)).unwrap();
            let whole = Delta::rounded_down(&(whole.as_rational() * share)).unwrap();
            let reserve = Delta::rounded_down(&(rules.reserve.as_rational() * share)).unwrap();
            let orders = RenyiOrders::suited_to(&epsilon, &whole.checked_sub(&reserve).unwrap()).unwrap();
            let budget = Budget::new(Promise::Approximate(epsilon, whole), person());
            let mut filter = RenyiFilter::with_reserve(budget, orders, reserve).unwrap();
            charges
                .into_iter()
                .any(|entry| filter.charge(&entry.event).is_err())
        }
        Promise::Pure(epsilon) => {
            let cost = |entry: &Entry| match &entry.event {
                Event::Pure { epsilon } => epsilon.as_rational().clone(),
                Event::Laplace { ratio, .. } => ratio.as_rational().clone(),
                other => panic!("{other:?} is not pure"),
            };
            charges.map(cost).fold(Rational::ZERO, |sum, cost| sum + cost) > epsilon.as_rational() * share
        }
        Promise::Concentrated(_) => panic!("no such hammer"),
    }
}

/// The planted mistake: stores that do not look at what others wrote. Each of these has a ledger of its own,
/// so none sees the others; what they charge together must be called overspent, and receipts from another
/// ledger lost.
#[test]
fn stores_that_ignore_each_other_are_caught() {
    for currency in ["pure", "approximate"] {
        let rules = rules(currency);
        let mut choices = Choices(7);
        let mut together: Vec<Entry> = Vec::new();
        for process in 0..3 {
            let fresh = places::sqlite();
            let mut store = Store::open(fresh.place(), &rules).unwrap();
            for number in 0..400 {
                let charge = Charge {
                    purpose: format!("{process}/{number}"),
                    ..charge(event(currency, 5, &mut choices))
                };
                let _ = store.charge(ANALYSTS[number % 3], "q", charge);
            }
            let charges = store.charges().unwrap();
            assert!(charges.len() > 24, "{}", charges.len());
            assert_eq!(overspent(&rules, &charges), None);
            let receipts: Vec<(u64, String)> = charges
                .iter()
                .map(|entry| (entry.number, entry.purpose.clone()))
                .collect();
            assert!(lost(&charges, &receipts).is_empty());
            if !together.is_empty() {
                assert_eq!(lost(&together, &receipts).len(), receipts.len());
            }
            together.extend(charges);
        }
        assert_eq!(overspent(&rules, &together).as_deref(), Some("the budget"));
        // A share alone is found too: everything was charged to ann.
        let mut half: Vec<Entry> = together[..70].to_vec();
        for entry in &mut half {
            entry.analyst = "ann".to_owned();
            entry.event = match currency {
                "pure" => pure("0.01"),
                _ => Event::Approximate {
                    epsilon: Epsilon::parse("0.001").unwrap(),
                    delta: delta("1e-9"),
                },
            };
        }
        assert_eq!(overspent(&rules, &half).as_deref(), Some("the share of ann"));
    }
}
