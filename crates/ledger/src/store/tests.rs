use super::*;
use crate::Place;
use crate::backend::{self, Snapshot, Sqlite};
use crate::chain::Record;
use crate::writing::{body_of, make, now};
use accounting::{Budget, Delta, Guarantee, Neighbors, PrivacyUnit, Promise};
use mechanism::{Charge, Refusal};
use std::path::Path;

/// How a commit goes wrong.
#[derive(Clone, Copy, PartialEq)]
enum Accident {
    None,
    /// It never reached the database.
    Lost,
    /// It did, and the answer was lost.
    Unheard,
    /// The entry cannot be written.
    Full,
    /// The entry can be written, and the sums cannot.
    FullLater,
}

/// A database on which accidents happen.
struct Unlucky {
    file: Sqlite,
    accident: std::sync::Arc<std::sync::Mutex<Accident>>,
}

impl Unlucky {
    fn fails(&self, accident: Accident) -> Result<(), Error> {
        if *self.accident.lock().unwrap() == accident {
            return Err(Error::unusable("an accident", "none"));
        }
        Ok(())
    }
}

impl Backend for Unlucky {
    fn begin(&mut self, access: Access) -> Result<(), Error> {
        self.file.begin(access)
    }

    fn commit(&mut self) -> Result<(), Unconfirmed> {
        if let Err(error) = self.fails(Accident::Lost) {
            self.file.rollback();
            return Err(Unconfirmed::Unknown(error));
        }
        self.file.commit()?;
        self.fails(Accident::Unheard).map_err(Unconfirmed::Unknown)
    }

    fn rollback(&mut self) {
        self.file.rollback();
    }

    fn exists(&mut self) -> Result<bool, Error> {
        self.file.exists()
    }

    fn create(&mut self) -> Result<(), Error> {
        self.file.create()
    }

    fn last(&mut self) -> Result<Option<Record>, Error> {
        self.file.last()
    }

    fn entry(&mut self, number: u64) -> Result<Option<Record>, Error> {
        self.file.entry(number)
    }

    fn entries_after(&mut self, number: u64, most: u32) -> Result<Vec<Record>, Error> {
        self.file.entries_after(number, most)
    }

    fn answers(&mut self, question: &str, most: u32) -> Result<Vec<Record>, Error> {
        self.file.answers(question, most)
    }

    fn charges(&mut self, question: &str, most: u32) -> Result<Vec<Record>, Error> {
        self.file.charges(question, most)
    }

    fn append(&mut self, record: &Record) -> Result<(), Error> {
        self.fails(Accident::Full)?;
        self.file.append(record)
    }

    fn snapshot(&mut self) -> Result<Option<Snapshot>, Error> {
        self.file.snapshot()
    }

    fn keep_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        self.fails(Accident::FullLater)?;
        self.file.keep_snapshot(snapshot)
    }

    fn move_snapshot(&mut self, from: u64, number: u64, hash: &str) -> Result<(), Error> {
        self.fails(Accident::FullLater)?;
        self.file.move_snapshot(from, number, hash)
    }

    fn charges_since(&mut self, analyst: &str, time: i64) -> Result<Vec<Record>, Error> {
        self.file.charges_since(analyst, time)
    }

    fn create_documents(&mut self) -> Result<(), Error> {
        self.file.create_documents()
    }

    fn document(&mut self, collection: &str, name: &str) -> Result<Option<String>, Error> {
        self.file.document(collection, name)
    }

    fn documents(&mut self, collection: &str) -> Result<Vec<(String, String)>, Error> {
        self.file.documents(collection)
    }

    fn keep_document(&mut self, collection: &str, name: &str, body: &str) -> Result<(), Error> {
        self.fails(Accident::FullLater)?;
        self.file.keep_document(collection, name, body)
    }

    fn forget_document(&mut self, collection: &str, name: &str) -> Result<(), Error> {
        self.fails(Accident::FullLater)?;
        self.file.forget_document(collection, name)
    }
}

fn rules() -> Rules {
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let limit = Promise::Approximate(Epsilon::parse("1").unwrap(), Delta::parse("1e-6").unwrap());
    let mut rules = Rules::new(Budget::new(limit, unit));
    rules.shares.insert("ann".to_owned(), exact::ratio(1, 2));
    rules
}

fn charge_of(text: &str) -> Charge {
    let epsilon = Epsilon::parse(text).unwrap();
    Charge {
        guarantee: Guarantee::new(Promise::Pure(epsilon.clone()), rules().budget.unit().clone()),
        event: Event::Pure { epsilon },
        purpose: String::new(),
    }
}

/// A store on an unlucky database, and the switch.
fn unlucky(path: &Path) -> (Store, std::sync::Arc<std::sync::Mutex<Accident>>) {
    drop(Store::open(&Place::File(path.to_owned()), &rules()).unwrap());
    let accident = std::sync::Arc::new(std::sync::Mutex::new(Accident::None));
    let backend = Unlucky {
        file: Sqlite::open(path, false).unwrap().unwrap(),
        accident: accident.clone(),
    };
    (
        Store::read(Box::new(backend), &Place::Postgres(String::new())).unwrap(),
        accident,
    )
}

#[test]
fn an_accident_gives_no_receipt_and_costs_at_most_its_charge() {
    for (bad, spent) in [
        (Accident::Lost, false),
        (Accident::Unheard, true),
        (Accident::Full, false),
        (Accident::FullLater, false),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.db");
        let (mut store, accident) = unlucky(&path);
        store.charge("ann", "q", charge_of("0.1")).unwrap();
        *accident.lock().unwrap() = bad;
        let refusal = store.charge("ann", "q", charge_of("0.2")).unwrap_err();
        assert!(matches!(refusal, Refusal::NotRecorded(_)), "{refusal}");
        *accident.lock().unwrap() = Accident::None;
        // The same store goes on, and so does another; both count what is there.
        assert_eq!(store.charges().unwrap().len(), 1 + usize::from(spent));
        assert_eq!(store.fits("ann", &charge_of("0.35").event).unwrap(), !spent);
        let mut other = Store::open(&Place::File(path), &rules()).unwrap();
        assert_eq!(other.fits("ann", &charge_of("0.35").event).unwrap(), !spent);
        assert_eq!(other.left("ann").unwrap(), store.left("ann").unwrap());
        store.verify().unwrap();
        let number = store.charge("ann", "q", charge_of("0.1")).unwrap().number;
        assert_eq!(number, 3 + u64::from(spent));
        other.verify().unwrap();
    }
}

#[test]
fn an_answer_that_was_not_kept_can_be_kept_later() {
    for bad in [Accident::Lost, Accident::Full, Accident::FullLater] {
        let directory = tempfile::tempdir().unwrap();
        let (mut store, accident) = unlucky(&directory.path().join("ledger.db"));
        let receipt = store.charge("ann", "q", charge_of("0.1")).unwrap();
        *accident.lock().unwrap() = bad;
        store.record_answer(receipt.number, "q", "ann", "17").unwrap_err();
        *accident.lock().unwrap() = Accident::None;
        assert_eq!(store.stored_answer("q").unwrap(), None);
        store.record_answer(receipt.number, "q", "ann", "17").unwrap();
        assert_eq!(store.stored_answer("q").unwrap().unwrap().answer, "17");
        store.verify().unwrap();
    }
}

#[test]
fn a_transaction_that_was_left_open_is_not_continued() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::File(directory.path().join("ledger.db"));
    let mut store = Store::open(&place, &rules()).unwrap();
    // As after a panic in the middle.
    store.backend.begin(Access::Write).unwrap();
    store
        .admit(
            "ann",
            "q",
            &charge_of("0.1"),
            body_of(&charge_of("0.1")).unwrap(),
            &Conditions::default(),
        )
        .unwrap()
        .unwrap();
    assert_eq!(store.charge("ann", "q", charge_of("0.2")).unwrap().number, 2);
    assert_eq!(store.charges().unwrap().len(), 1);
    store.verify().unwrap();
}

#[test]
fn a_store_can_go_to_another_thread() {
    fn check<T: Send>() {}
    check::<Store>();
    check::<Session<'_>>();
}

/// A ledger of a version that took spellings of one name for several analysts.
#[test]
fn what_an_earlier_version_charged_to_spellings_counts_together() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place::File(directory.path().join("ledger.db"));
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let mut rules = Rules::new(Budget::new(Promise::Pure(Epsilon::parse("2").unwrap()), unit));
    rules.shares.insert("Ann".to_owned(), exact::ratio(1, 4));
    rules.shares.insert("bob".to_owned(), exact::ratio(1, 2));
    let mut backend = backend::connect(&place, true).unwrap().unwrap();
    make(&mut *backend, &rules).unwrap();
    backend.begin(Access::Write).unwrap();
    let mut head = backend.last().unwrap().unwrap().head();
    let sums = "sums as that version kept them";
    for analyst in ["Ann", "ann ", "a\u{200b}nn", "Eve", "bob"] {
        let content = Content {
            kind: RecordKind::Charge,
            analyst,
            question: "q",
            purpose: "",
            body: body_of(&charge_of("0.25")).unwrap(),
            tally: crate::chain::digest_of(sums),
        };
        let record = Record::after(Some(&head), now(), content);
        backend.append(&record).unwrap();
        head = record.head();
    }
    backend
        .keep_snapshot(&Snapshot {
            number: head.number,
            hash: head.hash.clone(),
            tally: sums.to_owned(),
        })
        .unwrap();
    backend.commit().unwrap();
    drop(backend);

    let mut store = Store::open(&place, &rules).unwrap();
    assert_eq!(
        store.verify().unwrap().charges,
        5,
        "that version did nothing wrong"
    );
    let names: Vec<String> = store
        .charges()
        .unwrap()
        .into_iter()
        .map(|entry| entry.analyst)
        .collect();
    assert_eq!(names, ["ann", "ann", "ann", "eve", "bob"]);
    // A quarter of 2 was spent by the first two spellings; the third was one too many.
    assert_eq!(store.left("ann").unwrap().epsilon, Epsilon::ZERO);
    assert_eq!(store.left("eve").unwrap().epsilon, Epsilon::ZERO);
    assert_eq!(
        store.left("BOB").unwrap().epsilon,
        Epsilon::parse("0.75").unwrap()
    );
    assert_eq!(store.rules().share_of("ann"), Some(&exact::ratio(1, 4)));
    for spelling in ["ann", "Ann", "aNN"] {
        assert!(store.charge(spelling, "q", charge_of("0.01")).is_err());
    }
    // The next charge keeps sums of this version, and they are right.
    store.charge("Bob", "q", charge_of("0.25")).unwrap();
    store.verify().unwrap();
    // An answer to a charge of that version is kept under the name's one spelling.
    store.record_answer(2, "q", "ANN", "7").unwrap();
    store.verify().unwrap();
}
