//! Every file of the corpus, and changed copies of them, through every target of the library.

use fuzzed::corpus::{replay, replay_changed};

#[test]
fn files_of_records_are_read_whatever_they_hold() {
    replay("csv", fuzzed::csv);
    replay_changed("csv", 2000, fuzzed::csv);
}

#[test]
fn questions_are_explained_or_refused_whatever_they_are() {
    replay("sql", fuzzed::sql);
    replay_changed("sql", 300, fuzzed::sql);
}

#[test]
fn catalogs_are_read_or_refused_whatever_they_hold() {
    replay("catalog", fuzzed::catalog);
    replay_changed("catalog", 500, fuzzed::catalog);
}

#[test]
fn checkpoints_are_read_or_refused_whatever_they_hold() {
    replay("checkpoint", fuzzed::checkpoint);
    replay_changed("checkpoint", 1000, fuzzed::checkpoint);
}

#[test]
fn ledgers_are_read_or_refused_whatever_they_hold() {
    replay("ledger", fuzzed::ledger);
    // Of a damaged file it is waited whether somebody is still making it: seconds for each, in which nothing
    // is computed.
    replay_changed("ledger", 8, fuzzed::ledger);
}

#[test]
fn heads_of_ledgers_are_read_or_refused_whatever_they_hold() {
    replay("ledger_head", fuzzed::ledger_head);
    replay_changed("ledger_head", 100, fuzzed::ledger_head);
}

#[test]
fn plans_of_releases_are_read_or_refused_whatever_they_hold() {
    replay("account", fuzzed::account);
    replay_changed("account", 500, fuzzed::account);
}

#[test]
fn descriptions_of_mechanisms_are_read_or_refused_whatever_they_hold() {
    replay("audit", fuzzed::audit);
    replay_changed("audit", 500, fuzzed::audit);
}

#[test]
fn published_tables_are_read_or_refused_whatever_they_hold() {
    replay("reconstruct", fuzzed::reconstruct);
    replay_changed("reconstruct", 500, fuzzed::reconstruct);
}

#[test]
fn strangers_are_heard_whatever_they_say() {
    replay("wire", fuzzed::wire);
    replay_changed("wire", 3000, fuzzed::wire);
}
