//! Ledgers.

use crate::{check_reported, file};
use ledger::{Error, Place, Store};
use std::path::Path;

/// A ledger with a budget, a few charges and answers; its head is beside it.
const LEDGER: &[u8] = include_bytes!("../../../fuzz/corpus/ledger/charged.ledger");
const HEAD: &[u8] = include_bytes!("../../../fuzz/corpus/ledger_head/charged.head");

/// Looks at the bytes as a ledger: all that `deniable budget` and a question would ask of it.
///
/// # Panics
/// When a reader does.
pub fn ledger(bytes: &[u8]) {
    let (_folder, path) = file("deniable.ledger", bytes);
    // Beside a head that was kept of another ledger, or of the same before it was changed.
    std::fs::write(path.with_extension("ledger.head"), HEAD).expect("room for a file");
    look(&path);
}

/// Looks at a ledger beside which these bytes are kept as its head.
///
/// # Panics
/// When a reader does.
pub fn ledger_head(bytes: &[u8]) {
    let (_folder, path) = file("deniable.ledger", LEDGER);
    std::fs::write(path.with_extension("ledger.head"), bytes).expect("room for a file");
    look(&path);
}

fn look(path: &Path) {
    let place = Place::File(path.to_owned());
    let reported = |outcome: Result<(), Error>| {
        if let Err(error) = outcome {
            check_reported(&error);
        }
    };
    match Store::open_existing(&place) {
        // This waited for another process that may be making it, which takes two seconds: once is enough.
        Err(error) => return check_reported(&error),
        Ok(None) => {}
        Ok(Some(mut store)) => {
            let rules = store.rules().clone();
            reported(store.charges().map(drop));
            reported(store.head().map(drop));
            reported(store.check_not_rewound());
            reported(store.left("ann").map(drop));
            reported(store.left_for_all().map(drop));
            reported(store.stored_answer("how many?").map(drop));
            reported(store.entry_hash(1).map(drop));
            reported(store.verify().map(drop));
            drop(store);
            // As a question opens it: checked from its head on, and written to only by a charge.
            reported(Store::open(&place, &rules).map(drop));
        }
    }
    reported(Store::accept_restored(&place, false).map(drop));
}
