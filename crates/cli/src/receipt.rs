//! `deniable receipt`: was this answer paid for, by which entry of which ledger, and whose key says so?

use crate::budget::broken;
use crate::dataset::CatalogArguments;
use crate::terminal::{self, CliError, explained, fail};
use accounting::Epsilon;
use base64::Engine as _;
use clap::{Args, Subcommand};
use files::document::{Advice, from_json, text_of};
use ledger::{Place, PublicKey, Receipt, Store};
use serde_json::{Value, json};
use sql::blocking::Dataset;
use sql::{Answer, Catalog, QueryRequest, canonical_sql};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  Keep an answer with its receipt, and check it later
    deniable query --json \"SELECT COUNT(*) AS people FROM people\" > answer.json
    deniable receipt verify answer.json
  Somebody else checks it, who has the public key and no ledger
    deniable receipt key                                 on the curator's machine
    deniable receipt verify answer.json --key 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c
  Was it this question? Then its table is also made again, of the release that the ledger keeps
    deniable receipt verify answer.json --sql \"SELECT COUNT(*) AS people FROM people\"
  For openssl
    deniable receipt key --pem

Answers of `deniable query --json`, of a server and of the Python package carry a receipt. It names the dataset, the entry of the ledger
that paid (its number and hash), what was charged, and the digests of the question, of what the ledger keeps, and of the table that was shown, and is
signed with an Ed25519 key that lies beside the ledger.

A valid signature says that whoever has that key said all of this. That the entry is in the chain, that it was charged this much and paid for this
release shows the ledger, where it is at hand. Neither says that the noise was drawn as it should: for that there are audits.

Without --key the signature is checked with the key on the receipt itself, and with the one beside the ledger where that is at hand: compare it with one
that you got from the curator.

Exit code: 0 everything that could be checked holds, 2 the input cannot be used, 4 something does not hold.";

/// Check the signed receipt of an answer, and print the key that signs
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check an answer's receipt: its signature, its table, and its entry of the ledger; exit code 4 if one does not hold
    Verify(VerifyArguments),
    /// Print the public key that belongs to the receipts of a ledger; the private one is made beside it if there is none
    Key {
        #[command(flatten)]
        which: Which,
        /// As PEM, for other programs
        #[arg(long)]
        pem: bool,
        /// Print one object for a program to read
        #[arg(long, conflicts_with = "pem")]
        json: bool,
    },
}

/// Which ledger.
#[derive(Args)]
struct Which {
    #[command(flatten)]
    catalog: CatalogArguments,
    /// A ledger by itself
    #[arg(long, value_name = "FILE", conflicts_with = "catalog")]
    ledger: Option<PathBuf>,
}

#[derive(Args)]
struct VerifyArguments {
    /// The answer with its receipt, as `deniable query --json` or a server wrote it; or the receipt alone
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    which: Which,
    /// The public key: 64 hexadecimal digits, or a file that holds them
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The question that it must be about
    #[arg(long, value_name = "SQL")]
    sql: Option<String>,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Verify(arguments) => verify(arguments),
        Command::Key { which, pem, json } => print_key(which, *pem, *json),
    }
}

fn print_key(which: &Which, pem: bool, as_json: bool) -> Result<(), CliError> {
    let mut store = match &which.ledger {
        Some(path) => Store::open_existing(&Place::File(path.clone()))
            .map_err(broken)?
            .ok_or_else(no_ledger)?,
        // As the first question does, so that the key can be published before anything is asked.
        None => which.catalog.open(as_json)?.ledger().map_err(explained)?,
    };
    let key = store.receipt_key().map_err(broken)?.ok_or_else(|| {
        CliError::bad_input("there is no place for a key of receipts beside this ledger")
            .with_hint("name the catalog with --catalog: the key lies in its directory")
    })?;
    terminal::print(&match (pem, as_json) {
        (true, _) => format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            base64::engine::general_purpose::STANDARD.encode(key.subject_public_key_info())
        ),
        (false, true) => format!("{}\n", json!({ "algorithm": "Ed25519", "key": key.to_string() })),
        (false, false) => format!("{key}\n"),
    })
}

fn no_ledger() -> CliError {
    CliError::bad_input("there is no ledger at this place").with_hint("the first question makes it")
}

/// What was checked, and what was found wrong.
#[derive(Default)]
struct Findings {
    held: Vec<String>,
    wrong: Vec<String>,
    /// What could not be checked, and why.
    open: Vec<String>,
}

impl Findings {
    fn check(&mut self, holds: bool, held: &str, wrong: &str) {
        if holds {
            self.held.push(held.to_owned());
        } else {
            self.wrong.push(wrong.to_owned());
        }
    }
}

fn verify(arguments: &VerifyArguments) -> Result<(), CliError> {
    let (receipt, answer) = read(&arguments.file)?;
    let expected = arguments.key.as_deref().map(public_key).transpose()?;
    let mut found = Findings::default();
    found.check(
        receipt.is_signed(),
        "the signature is that of the key on the receipt",
        "the signature is not that of the key on the receipt: something in it was changed",
    );
    match Answer::table_sha256_of(&answer) {
        Some(digest) => found.check(
            digest == receipt.table_sha256,
            "the table is the one that was signed",
            "the table is not the one that was signed",
        ),
        None => found
            .open
            .push("the table: there is none beside the receipt".to_owned()),
    }
    match &arguments.sql {
        Some(sql) => found.check(
            ledger::sha256_of(&canonical_sql(sql)) == receipt.sql_sha256,
            "it is about this question",
            "it is about another question",
        ),
        None => found
            .open
            .push("which question it is about: name the one that you expect with --sql".to_owned()),
    }
    let kept = against_ledger(arguments, &receipt, &mut found)?;
    match expected.or(kept) {
        Some(key) => found.check(
            key.to_string() == receipt.key,
            if expected.is_some() {
                "the key is the one that you named"
            } else {
                "the key is the one beside the ledger"
            },
            if expected.is_some() {
                "it is signed with another key than the one that you named"
            } else {
                "it is signed with another key than the one beside the ledger"
            },
        ),
        None => found.open.push(format!(
            "whose key it is: compare {} with one that you got from the curator, or give that with --key",
            receipt.key
        )),
    }
    report(&receipt, &found, arguments.json)
}

fn report(receipt: &Receipt, found: &Findings, as_json: bool) -> Result<(), CliError> {
    let object = json!({ "held": found.held, "wrong": found.wrong, "not_checked": found.open });
    if !found.wrong.is_empty() {
        let error = CliError::check_failed(format!(
            "the receipt does not hold:\n  {}",
            found.wrong.join("\n  ")
        ));
        return Err(error
            .with_hint("take the answer for nothing; ask the same question again, which is free if it was ever answered")
            .with_detail("held", found.held.clone())
            .with_detail("wrong", found.wrong.clone())
            .with_detail("not_checked", found.open.clone()));
    }
    if as_json {
        let mut object = object;
        object["verified"] = true.into();
        return terminal::print(&format!("{object}\n"));
    }
    let amount = match (&receipt.epsilon, &receipt.rho) {
        (Some(epsilon), _) => format!("ε = {epsilon}, δ = {}", receipt.delta),
        (None, Some(rho)) => format!("ρ = {rho}"),
        (None, None) => "nothing".to_owned(),
    };
    let mut text = format!(
        "the receipt holds: entry {} of the ledger of {:?} charged {amount} for {}\n",
        receipt.entry.number, receipt.dataset, receipt.unit
    );
    for held in &found.held {
        text.push_str(&format!("  ✓ {held}\n"));
    }
    for open in &found.open {
        text.push_str(&format!("  – not checked: {open}\n"));
    }
    terminal::print(&text)
}

/// Holds the receipt against the ledger where it is at hand; the key that lies beside it, if one does.
fn against_ledger(
    arguments: &VerifyArguments,
    receipt: &Receipt,
    found: &mut Findings,
) -> Result<Option<PublicKey>, CliError> {
    const OPEN: &str = "the chain: the ledger is not at hand; name it with --ledger or --catalog";
    let which = &arguments.which;
    let given = which.ledger.is_some() || which.catalog.is_given();
    let dataset = match (&which.ledger, which.catalog.existing()) {
        (Some(_), _) => None,
        (None, Some(path)) => Some(Dataset::new(Catalog::read(path).map_err(explained)?).map_err(explained)?),
        (None, None) if given => Some(which.catalog.open(true)?),
        (None, None) => None,
    };
    let place = match (&which.ledger, &dataset) {
        (Some(path), _) => Place::File(path.clone()),
        (None, Some(dataset)) => dataset.place(),
        (None, None) => {
            found.open.push(OPEN.to_owned());
            return Ok(None);
        }
    };
    let mut store = match Store::open_existing(&place).map_err(broken)? {
        Some(store) => store,
        None if given => return Err(no_ledger()),
        None => {
            found.open.push(OPEN.to_owned());
            return Ok(None);
        }
    };
    // One that happens to lie here, and that nobody named, may be of something else.
    if !given && store.entry_hash(1).map_err(broken)?.as_deref() != Some(receipt.ledger.as_str()) {
        found.open.push(OPEN.to_owned());
        return Ok(None);
    }
    store.verify().map_err(broken)?;
    let wrong = store.check_receipt(receipt).map_err(broken)?;
    if wrong.is_empty() {
        found
            .held
            .push("its entry is in the chain, which is whole, and was charged what it states".to_owned());
        found
            .held
            .push("what the ledger keeps is the release that was signed".to_owned());
        match made_again(dataset.as_ref(), arguments.sql.as_deref(), receipt, &mut store) {
            Some(table) if table == receipt.table_sha256 => {
                found.held.push("the table is what the question makes of that release".to_owned());
            }
            Some(_) => found.open.push("whether the table follows from that release: this version makes another one of it, perhaps with other intervals".to_owned()),
            None => found.open.push("whether the table follows from that release: name the catalog with --catalog, and the question with --sql".to_owned()),
        }
    }
    found.wrong.extend(wrong);
    let is_there = place.key_file().is_some_and(|file| file.is_file());
    if is_there {
        store.receipt_key().map_err(broken)
    } else {
        Ok(None)
    }
}

/// The digest of the table that the question makes of the release that the ledger keeps; `None` where the
/// question is not known. Nothing is charged, and no private data is read.
///
/// The ledger's words for what a charge was for are mostly the question itself. For which ε it was asked is
/// not in them: the catalog's default and what was charged are tried.
fn made_again(
    dataset: Option<&Dataset>,
    sql: Option<&str>,
    receipt: &Receipt,
    store: &mut Store,
) -> Option<String> {
    let dataset = dataset?;
    let charges = store.charges().ok()?;
    let charge = charges
        .iter()
        .find(|charge| charge.number == receipt.entry.number)?;
    let of_receipt = |sql: &&str| ledger::sha256_of(&canonical_sql(sql)) == receipt.sql_sha256;
    let sql = [sql, Some(charge.purpose.as_str())]
        .into_iter()
        .flatten()
        .find(of_receipt)?;
    let charged = receipt.epsilon.as_ref()?;
    let short = Epsilon::rounded_up(&exact::decimal_at_least(charged.as_rational(), 6)).ok()?;
    for epsilon in [None, Some(charged.clone()), Some(short)] {
        for cut_estimate in [true, false] {
            let ask = QueryRequest {
                epsilon: epsilon.clone(),
                cut_estimate,
                ..QueryRequest::new(sql, charge.analyst.clone())
            };
            if let Ok(Some(answered)) = dataset.saved(&ask)
                && let Some(made) = answered.receipt
                && made.entry == receipt.entry
            {
                return Some(made.table_sha256);
            }
        }
    }
    None
}

fn public_key(text: &str) -> Result<PublicKey, CliError> {
    let written = match std::fs::read_to_string(text) {
        Ok(written) => written,
        Err(_) => text.to_owned(),
    };
    match PublicKey::parse(&written) {
        Some(key) => Ok(key),
        None => fail(
            "--key is no public key",
            "give it the 64 digits that `deniable receipt key` prints, or a file that holds them",
        ),
    }
}

/// A longer file is no answer.
const LONGEST: u64 = 256 << 20;

/// The receipt, and the answer that it is part of.
fn read(path: &Path) -> Result<(Receipt, Value), CliError> {
    const HINT: &str = "give it what `deniable query --json` wrote, or a server's answer in JSON";
    let advice = Advice {
        unreadable: HINT,
        too_large: HINT,
    };
    let text = text_of(path, LONGEST, advice)?;
    let answer: Value = from_json(&text, HINT)?;
    // A receipt as it stands in an answer; the one that Python shows; or one by itself.
    let receipt = [
        &answer["receipt"]["signed"],
        &answer["receipt"],
        &answer["signed"],
        &answer,
    ]
    .into_iter()
    .find(|value| value.get("signature").is_some());
    let receipt = receipt.and_then(|value| serde_json::from_value::<Receipt>(value.clone()).ok());
    match receipt {
        Some(receipt) => Ok((receipt, answer)),
        None => fail("there is no receipt in it that can be read", HINT),
    }
}
