//! Changes behind a ledger's back are found, or win nothing.

mod places;

use exact::ratio;
use ledger::{Error, Place, Rules, Store};
use places::{Fresh, approximate_rules, charge, epsilon, pure, pure_rules};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::sync::OnceLock;

on_both!(
    every_field_is_protected,
    a_removed_entry_is_missed,
    exchanged_entries_are_noticed,
    changed_sums_are_noticed_and_not_used,
    sums_that_the_last_entry_vouches_for_are_recounted,
    lost_sums_are_counted_anew,
    a_tail_cut_off_is_noticed_by_the_sums,
    a_tail_cut_off_with_the_sums_needs_a_pinned_head,
    a_running_store_misses_what_it_saw,
    a_forged_charge_beyond_the_budget_is_noticed,
    a_forged_answer_is_noticed,
    a_forged_entry_in_the_middle_is_noticed,
);

const COLUMNS: [&str; 10] = [
    "number", "previous", "time", "kind", "analyst", "question", "purpose", "body", "tally", "hash",
];

fn rules() -> Rules {
    let mut rules = approximate_rules("2");
    rules.shares.insert("ann".to_owned(), ratio(1, 2));
    rules.shares.insert("bob".to_owned(), ratio(1, 1));
    rules
}

/// Seven entries of every kind.
fn fill(fresh: &Fresh) {
    let mut store = Store::open(fresh.place(), &pure_rules("1")).unwrap();
    store.charge("ann", "first", charge(pure("0.125"))).unwrap();
    store.charge("bob", "second", charge(pure("0.25"))).unwrap();
    store.record_answer(2, "first", "ann", "17").unwrap();
    let mut store = Store::adopt(fresh.place(), &rules()).unwrap();
    store.charge("ann", "third", charge(pure("0.5"))).unwrap();
    store.record_answer(6, "third", "ann", "18").unwrap();
    assert_eq!(store.verify().unwrap().entries, 7);
}

/// The file that `fill` makes.
fn filled() -> &'static [u8] {
    static FILLED: OnceLock<Vec<u8>> = OnceLock::new();
    FILLED.get_or_init(|| {
        let fresh = places::sqlite();
        fill(&fresh);
        // The last process to close it has put everything into the file.
        let Place::File(path) = fresh.place() else {
            unreachable!()
        };
        std::fs::read(path).unwrap()
    })
}

fn verify(fresh: &Fresh) -> Result<ledger::Verified, Error> {
    Store::open_existing(fresh.place()).and_then(|store| store.expect("there is a ledger").verify())
}

fn broken_at(fresh: &Fresh) -> u64 {
    match verify(fresh) {
        Err(Error::Broken { number, .. }) => number,
        other => panic!("{other:?}"),
    }
}

fn every_field_is_protected(fresh: &Fresh) {
    fill(fresh);
    for column in COLUMNS {
        for number in [1, 2, 4, 5, 7] {
            let field =
                format!("SELECT CAST({column} AS TEXT) FROM deniable_entries WHERE number = {number}");
            let was = fresh.text(&field);
            if column == "number" {
                // An entry cannot take the number of another, so it moves away.
                fresh.tamper(&format!(
                    "UPDATE deniable_entries SET number = 50 WHERE number = {number}"
                ));
                assert_eq!(broken_at(fresh), number, "{column}");
                fresh.tamper(&format!(
                    "UPDATE deniable_entries SET number = {number} WHERE number = 50"
                ));
                continue;
            }
            let other = match column {
                "time" => format!("{was} + 1"),
                _ => format!("'{}x'", was.replace('\'', "''")),
            };
            fresh.tamper(&format!(
                "UPDATE deniable_entries SET {column} = {other} WHERE number = {number}"
            ));
            assert_eq!(broken_at(fresh), number, "{column}");
            let back = match column {
                "time" => was,
                _ => format!("'{}'", was.replace('\'', "''")),
            };
            fresh.tamper(&format!(
                "UPDATE deniable_entries SET {column} = {back} WHERE number = {number}"
            ));
        }
    }
    // Nothing of this was the tampering's own doing.
    assert_eq!(verify(fresh).unwrap().entries, 7);
}

/// One character of one field of one entry, or one bit of its time.
#[derive(Clone, Debug)]
struct Edit {
    number: u64,
    column: &'static str,
    place: prop::sample::Index,
    bit: u32,
    insert: bool,
}

fn edits() -> impl Strategy<Value = Edit> {
    (
        1..=7u64,
        prop::sample::select(&COLUMNS[1..]),
        any::<prop::sample::Index>(),
        0..63u32,
        any::<bool>(),
    )
        .prop_map(|(number, column, place, bit, insert)| Edit {
            number,
            column,
            place,
            bit,
            insert,
        })
}

fn edited(text: &str, edit: &Edit) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if edit.insert || bytes.is_empty() {
        bytes.insert(edit.place.index(bytes.len() + 1), b'0' + (edit.bit % 60) as u8);
    } else {
        // All fields are ASCII, and stay so.
        bytes[edit.place.index(text.len())] ^= 1 << (edit.bit % 7);
    }
    String::from_utf8(bytes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_is_protected(edit in edits()) {
        let fresh = places::sqlite();
        let Place::File(path) = fresh.place() else { unreachable!() };
        std::fs::write(path, filled()).unwrap();
        let Edit { number, column, .. } = edit;
        let was = fresh.text(&format!("SELECT CAST({column} AS TEXT) FROM deniable_entries WHERE number = {number}"));
        let other = match column {
            "time" => (was.parse::<i64>().unwrap() ^ (1 << edit.bit)).to_string(),
            // The character 0 cannot be written in SQL text.
            _ => format!("'{}'", edited(&was, &edit).replace('\'', "''").replace('\0', "' || char(0) || '")),
        };
        fresh.tamper(&format!("UPDATE deniable_entries SET {column} = {other} WHERE number = {number}"));
        prop_assert_eq!(broken_at(&fresh), number);
    }
}

fn a_removed_entry_is_missed(fresh: &Fresh) {
    fill(fresh);
    fresh.tamper("DELETE FROM deniable_entries WHERE number = 3");
    assert_eq!(broken_at(fresh), 3);
    // Closing the gap does not help.
    fresh.tamper(
        "UPDATE deniable_entries SET number = 3 WHERE number = 4; UPDATE deniable_entries SET number = 4 WHERE number = 5;
        UPDATE deniable_entries SET number = 5 WHERE number = 6; UPDATE deniable_entries SET number = 6 WHERE number = 7;
        UPDATE deniable_snapshot SET number = 6",
    );
    assert_eq!(broken_at(fresh), 3);
}

fn exchanged_entries_are_noticed(fresh: &Fresh) {
    fill(fresh);
    fresh.tamper(
        "UPDATE deniable_entries SET number = 99 WHERE number = 2; UPDATE deniable_entries SET number = 2 WHERE number = 3;
        UPDATE deniable_entries SET number = 3 WHERE number = 99",
    );
    assert_eq!(broken_at(fresh), 2);
}

/// The kept sums with everything spent taken out of them.
fn nothing_spent(fresh: &Fresh) -> String {
    let empty = match fresh {
        Fresh::File { .. } | Fresh::Temporary { .. } => places::sqlite(),
        Fresh::Schema { .. } => places::postgres(),
    };
    drop(Store::open(empty.place(), &rules()).unwrap());
    empty.text("SELECT tally FROM deniable_snapshot")
}

fn changed_sums_are_noticed_and_not_used(fresh: &Fresh) {
    fill(fresh);
    let mut store = Store::open(fresh.place(), &rules()).unwrap();
    let left = store.left("bob").unwrap();
    fresh.tamper(&format!(
        "UPDATE deniable_snapshot SET tally = '{}'",
        nothing_spent(fresh)
    ));
    assert!(matches!(verify(fresh), Err(Error::Snapshot { .. })));
    let mut again = Store::open(fresh.place(), &rules()).unwrap();
    assert_eq!(again.left("bob").unwrap(), left);
    // The next charge writes sums that belong to the entries.
    again.charge("bob", "q", charge(pure("0.01"))).unwrap();
    again.verify().unwrap();
    assert!(again.left("bob").unwrap().epsilon <= left.epsilon);
}

/// As the crate documents it, written down a second time.
fn hash_of(fields: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Puts a well-formed entry with these fields in the place of `number`.
fn forge(
    fresh: &Fresh,
    number: u64,
    kind: &str,
    analyst: &str,
    question: &str,
    body: &str,
    tally: &str,
) -> String {
    let previous = fresh.text(&format!(
        "SELECT hash FROM deniable_entries WHERE number = {}",
        number - 1
    ));
    let hash = hash_of(&[
        b"deniable ledger, entry, format 1",
        &number.to_be_bytes(),
        previous.as_bytes(),
        &7i64.to_be_bytes(),
        kind.as_bytes(),
        analyst.as_bytes(),
        question.as_bytes(),
        b"",
        body.as_bytes(),
        tally.as_bytes(),
    ]);
    fresh.tamper(&format!("DELETE FROM deniable_entries WHERE number = {number}"));
    fresh.tamper(&format!(
        "INSERT INTO deniable_entries (number, previous, time, kind, analyst, question, purpose, body, tally, hash)
        VALUES ({number}, '{previous}', 7, '{kind}', '{analyst}', '{question}', '', '{body}', '{tally}', '{hash}')"
    ));
    hash
}

fn sums_that_the_last_entry_vouches_for_are_recounted(fresh: &Fresh) {
    fill(fresh);
    let sums = nothing_spent(fresh);
    let digest: String = Sha256::digest(sums.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let body = fresh.text("SELECT body FROM deniable_entries WHERE number = 7");
    let hash = forge(fresh, 7, "answer", "ann", "third", &body, &digest);
    fresh.tamper(&format!(
        "UPDATE deniable_snapshot SET tally = '{sums}', hash = '{hash}'"
    ));
    match verify(fresh) {
        Err(Error::Snapshot { what }) => assert!(what.contains("sum up to something else"), "{what}"),
        other => panic!("{other:?}"),
    }
}

fn lost_sums_are_counted_anew(fresh: &Fresh) {
    fill(fresh);
    let left = Store::open(fresh.place(), &rules()).unwrap().left("ann").unwrap();
    for loss in [
        "DELETE FROM deniable_snapshot",
        "UPDATE deniable_snapshot SET tally = 'nonsense'",
        "UPDATE deniable_snapshot SET number = 3",
    ] {
        fresh.tamper(loss);
        assert!(matches!(verify(fresh), Err(Error::Snapshot { .. })), "{loss}");
        let mut store = Store::open(fresh.place(), &rules()).unwrap();
        assert_eq!(store.left("ann").unwrap(), left, "{loss}");
    }
    let mut store = Store::open(fresh.place(), &rules()).unwrap();
    store.charge("bob", "q", charge(pure("0.001"))).unwrap();
    store.verify().unwrap();
}

fn a_tail_cut_off_is_noticed_by_the_sums(fresh: &Fresh) {
    fill(fresh);
    fresh.tamper("DELETE FROM deniable_entries WHERE number > 5");
    let refusal = Store::open(fresh.place(), &rules()).unwrap_err();
    assert_eq!(refusal, Error::Rewound { number: 7 });
}

/// The attacker who writes to the ledger removes the head that is kept beside it; beside a database there is
/// none.
fn forget_head(fresh: &Fresh) {
    if let Some(head) = fresh.place().head_file() {
        std::fs::remove_file(head).unwrap();
    }
}

/// The limit that the crate documents, and the way around it.
fn a_tail_cut_off_with_the_sums_needs_a_pinned_head(fresh: &Fresh) {
    fill(fresh);
    let pinned = Store::open(fresh.place(), &rules()).unwrap().head().unwrap();
    fresh.tamper("DELETE FROM deniable_entries WHERE number > 5; DELETE FROM deniable_snapshot");
    forget_head(fresh);
    let mut store = Store::open(fresh.place(), &rules()).unwrap();
    store.charge("bob", "q", charge(pure("0.001"))).unwrap();
    store.charge("bob", "q", charge(pure("0.001"))).unwrap();
    store.verify().unwrap();
    assert_ne!(store.entry_hash(pinned.number).unwrap(), Some(pinned.hash));
}

fn a_running_store_misses_what_it_saw(fresh: &Fresh) {
    fill(fresh);
    let mut store = Store::open(fresh.place(), &rules()).unwrap();
    fresh.tamper("DELETE FROM deniable_entries WHERE number > 5; DELETE FROM deniable_snapshot");
    assert_eq!(store.left("ann").unwrap_err(), Error::Rewound { number: 7 });
    assert!(store.charge("bob", "q", charge(pure("0.001"))).is_err());
    // Also when others go on from there, past the number that it saw.
    forget_head(fresh);
    let mut other = Store::open(fresh.place(), &rules()).unwrap();
    for _ in 0..3 {
        other.charge("bob", "q", charge(pure("0.001"))).unwrap();
    }
    assert!(store.charge("bob", "q", charge(pure("0.001"))).is_err());
    assert_eq!(store.verify().unwrap_err(), Error::Rewound { number: 7 });
}

/// Of a charge.
fn body(epsilon: &str) -> String {
    let unit = r#"{"whose":"person","neighbors":"add_remove"}"#;
    format!(
        r#"{{"event":{{"pure":{{"epsilon":"{epsilon}"}}}},"guarantee":{{"promise":{{"pure":"{epsilon}"}},"unit":{unit}}}}}"#
    )
}

fn a_forged_charge_beyond_the_budget_is_noticed(fresh: &Fresh) {
    fill(fresh);
    forge(fresh, 8, "charge", "bob", "q", &body("5"), "");
    match verify(fresh) {
        Err(Error::Broken { number: 8, what }) => assert!(what.contains("beyond the budget"), "{what}"),
        other => panic!("{other:?}"),
    }
    // Nothing is charged any more. A process that does not remember that finds it all the same.
    if fresh.place().head_file().is_some() {
        let refusal = Store::open(fresh.place(), &rules()).unwrap_err();
        assert!(matches!(refusal, Error::Broken { number: 8, .. }), "{refusal}");
        forget_head(fresh);
    }
    let mut store = Store::open(fresh.place(), &rules()).unwrap();
    assert_eq!(store.left("bob").unwrap().epsilon, epsilon("0"));
}

fn a_forged_answer_is_noticed(fresh: &Fresh) {
    fill(fresh);
    forge(
        fresh,
        8,
        "answer",
        "bob",
        "first",
        r#"{"charge":2,"answer":"0"}"#,
        "",
    );
    assert_eq!(broken_at(fresh), 8);
}

/// Well-formed, with a hash of its own; but the next entry follows another.
fn a_forged_entry_in_the_middle_is_noticed(fresh: &Fresh) {
    fill(fresh);
    forge(fresh, 3, "charge", "bob", "second", &body("0.001"), "");
    assert_eq!(broken_at(fresh), 4);
}
