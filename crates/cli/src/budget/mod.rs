//! `deniable budget`: who spent what, what it guarantees together, and what is left.
//!
//! ```text
//! ledger ──► Spent: charges, every accountant, the odometer ──► tables, an object, a figure
//!    └── verify: every hash and sum anew      └── adopt: the catalog's rules from now on
//! ```

mod figure;
mod report;

use crate::account::figure as account_figure;
use crate::dataset::{AnalystArguments, CatalogArguments, take_over};
use crate::outputs;
use crate::terminal::{self, CliError, exit_code, explained, fail};
use clap::{Args, Subcommand};
use ledger::{Head, Place, Spent, Store};
use serde_json::json;
use sql::blocking::Dataset;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Who spent what, and what is left
    deniable budget
    deniable budget --catalog clinic.toml --plot spending.svg
  The ledger of a text that a model was trained on, which has no catalog
    deniable budget --ledger notes.txt.ledger
  The same charges as each accountant counts them
    deniable budget --verbose
  Is the ledger what was written? Exit code 4 if not
    deniable budget verify
    deniable budget verify --ledger notes.txt.ledger
    deniable budget verify --head \"12 9f86d081884c7d65…\"
  The catalog's budget was changed on purpose: let it hold from now on
    deniable budget adopt
  A backup of the ledger was restored, and newer entries are lost for good
    deniable budget accept-restored

Everybody shares one budget. What was charged stays charged, answered or not; a repeated question is free.
\"spent\" is the number that the ledger enforces: no charge is admitted that would raise it above the budget. \"left\" is the largest ε that one
more query may take. Typical queries take the catalog's `[budget.query] epsilon`. Under a budget with δ, \"left\" falls by less than a query costs:
many small releases together are known to give away less than their sum. So more queries fit than \"left\" seems to allow.

--verbose counts the same charges in other ways. Of a budget with δ the ledger counts Rényi divergences, which hold for queries chosen after
seeing earlier answers; of a budget without δ it adds up. Sums of ε are what each charge promises alone, added up, and may be above a budget
with δ. The accountants say what the same charges would guarantee had they all been fixed in advance. Training and Gaussian noise have a δ of
their own and are counted differently: `deniable train` says which ε fits.
A charge for training a model has no answer in the ledger: nobody writes there how far a run came, which depends on the data.
Of --json, ε and δ are decimals as text.

Exit code: 0 done, 2 there is no ledger or it cannot be read, 4 the ledger is not what was written, went back or is gone.";

/// Who spent what, what all of it guarantees, and what is left
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    analyst: AnalystArguments,
    /// Draw what was spent, charge by charge
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Add what all charges guarantee together, as each accountant counts it
    #[arg(long, short)]
    verbose: bool,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// Which ledger.
#[derive(Args)]
struct Which {
    #[command(flatten)]
    catalog: CatalogArguments,
    /// A ledger by itself, such as the one beside a text
    #[arg(long, value_name = "FILE", conflicts_with = "catalog")]
    ledger: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Check every entry of the ledger and every sum; exit code 4 if anything is wrong
    Verify {
        #[command(flatten)]
        which: Which,
        /// An entry's number and hash as printed before: everything up to it must still be the same
        #[arg(long, value_name = "NUMBER HASH")]
        head: Option<String>,
        /// Print one object for a program to read
        #[arg(long)]
        json: bool,
    },
    /// Let the budget that the catalog states hold from now on; everything ever charged counts under it
    Adopt {
        #[command(flatten)]
        catalog: CatalogArguments,
    },
    /// Take the ledger as it is, after an older copy was restored: what newer entries charged is forgotten
    AcceptRestored {
        #[command(flatten)]
        which: Which,
        /// There is no copy: let a new ledger begin with nothing spent
        #[arg(long)]
        new_ledger: bool,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        None => show(arguments),
        Some(Command::Verify { which, head, json }) => {
            verify(&place_of(which, *json)?, head.as_deref(), *json)
        }
        Some(Command::AcceptRestored { which, new_ledger }) => {
            accept_restored(&place_of(which, false)?, *new_ledger)
        }
        Some(Command::Adopt { catalog }) => adopt(catalog),
    }
}

fn place_of(which: &Which, quiet: bool) -> Result<Place, CliError> {
    Ok(match &which.ledger {
        Some(path) => Place::File(path.clone()),
        None => which.catalog.open(quiet)?.place(),
    })
}

fn accept_restored(place: &Place, new_ledger: bool) -> Result<(), CliError> {
    let accepted = Store::accept_restored(place, new_ledger).map_err(broken)?;
    let lost = accepted.lost;
    terminal::print(&match &accepted.head {
        Some(head) => format!("the ledger is whole, and is taken as it is\n  head  {head}\n"),
        None => "there is no ledger; the next question begins a new one, with nothing spent\n".to_owned(),
    })?;
    if lost > 0 {
        eprintln!(
            "{lost} entries are gone for good. What they charged was released and is not counted any more: together with it, more may be known than the budget says"
        );
    }
    Ok(())
}

fn show(arguments: &Arguments) -> Result<(), CliError> {
    account_figure::check(arguments.plot.as_deref())?;
    let analyst = arguments.analyst.name();
    let written: Vec<_> = arguments
        .plot
        .as_deref()
        .map(|path| ("--plot", path))
        .into_iter()
        .collect();
    let spent = match &arguments.which.ledger {
        Some(path) => {
            outputs::check_ledger(path, &written)?;
            Spent::of_file(path, &analyst)
                .map_err(broken)?
                .ok_or_else(missing)?
        }
        None => {
            let catalog = &arguments.which.catalog;
            let dataset = catalog.open(arguments.json)?;
            outputs::check(&dataset, &catalog.path(true)?, &[], &written)?;
            spent_at(&dataset, &analyst)?
        }
    };
    terminal::print(&if arguments.json {
        format!("{}\n", report::json(&spent))
    } else {
        report::text(&spent, terminal::width(), arguments.verbose)
    })?;
    match &arguments.plot {
        Some(path) => account_figure::save(path, &figure::of(&spent, arguments.json)?),
        None => Ok(()),
    }
}

fn spent_at(dataset: &Dataset, analyst: &str) -> Result<Spent, CliError> {
    let rules = dataset.rules().map_err(explained)?;
    let (name, typical) = (&dataset.catalog().name, &dataset.catalog().budget.query_epsilon);
    Spent::at(&dataset.place(), &rules, name, analyst, typical.as_ref()).map_err(broken)
}

/// What was spent on a dataset, as people read it.
pub(crate) fn text_of(dataset: &Dataset, analyst: &str) -> Result<String, CliError> {
    Ok(report::text(
        &spent_at(dataset, analyst)?,
        terminal::width(),
        false,
    ))
}

fn verify(place: &Place, head: Option<&str>, as_json: bool) -> Result<(), CliError> {
    let kept = head.map(kept_head).transpose()?;
    let mut store = Store::open_existing(place).map_err(broken)?.ok_or_else(missing)?;
    let verified = store.verify().map_err(broken)?;
    if let Some(kept) = &kept {
        let there = store.entry_hash(kept.number).map_err(broken)?;
        if there.as_deref() != Some(kept.hash.as_str()) {
            return Err(CliError::check_failed(format!(
                "the ledger is whole in itself, but entry {} is not the one that was kept",
                kept.number
            ))
            .with_hint("release nothing: the ledger was cut or written anew. Put the one back that has this entry, and find out who wrote to it"));
        }
    }
    let ledger::Verified {
        entries,
        charges,
        head,
    } = verified;
    terminal::print(&if as_json {
        format!(
            "{}\n",
            json!({ "entries": entries, "charges": charges, "head": head })
        )
    } else {
        format!("the ledger is whole\n  entries  {entries}\n  charges  {charges}\n  head     {head}\n")
    })?;
    if kept.is_none() && !as_json {
        eprintln!("keep the head elsewhere: --head with it shows later that nothing before it was taken out");
    }
    Ok(())
}

fn missing() -> CliError {
    CliError::bad_input("there is no ledger, so there is nothing to verify").with_hint(
        "the first query or training makes it; if there was one here, put it back before anything else is asked",
    )
}

fn kept_head(text: &str) -> Result<Head, CliError> {
    let head = text.split_once(|character: char| character == ':' || character.is_whitespace());
    let head = head.and_then(|(number, hash)| {
        let hash = hash.trim().to_lowercase();
        let hexadecimal = hash.len() == 64 && hash.chars().all(|digit| digit.is_ascii_hexdigit());
        Some(Head {
            number: number.trim().parse().ok()?,
            hash: hexadecimal.then_some(hash)?,
        })
    });
    match head {
        Some(head) => Ok(head),
        None => fail(
            "--head is not an entry's number and hash",
            "give it what `deniable budget verify` printed after `head`, in quotes",
        ),
    }
}

/// A ledger that is not what was written is a check that failed; one that cannot be read is input that cannot
/// be used.
pub(crate) fn broken(error: ledger::Error) -> CliError {
    let failed = matches!(
        error,
        ledger::Error::Broken { .. }
            | ledger::Error::Snapshot { .. }
            | ledger::Error::Rewound { .. }
            | ledger::Error::Vanished { .. }
    );
    let reported = explained(error);
    if failed {
        reported.with_code(exit_code::CHECK_FAILED)
    } else {
        reported
    }
}

fn adopt(catalog: &CatalogArguments) -> Result<(), CliError> {
    let dataset = catalog.open(false)?;
    let rules = dataset.rules().map_err(explained)?;
    let Some(mut store) = Store::open_existing(&dataset.place()).map_err(broken)? else {
        return terminal::print(&format!(
            "there is no ledger yet; the first query makes it with these rules: {rules}\n"
        ));
    };
    let before = store.rules().clone();
    if before == rules {
        return terminal::print(&format!("nothing to change: {rules}\n"));
    }
    take_over(&mut store, &catalog.path(true)?)?;
    drop(store);
    terminal::print(&format!("before: {before}\nfrom now on: {rules}\n"))?;
    let mut store = Store::adopt(&dataset.place(), &rules).map_err(broken)?;
    let left = store.left_for_all().map_err(broken)?;
    terminal::print(&format!(
        "everything charged so far counts under them; left: ε = {left} (if spent in one more query)\n"
    ))
}

#[cfg(test)]
mod tests;
