//! `deniable explain`: previews a query's plan, cost and error. It spends nothing and reads no data.

mod report;

use crate::dataset::{AnalystArguments, AskArguments, CatalogArguments, unanswered};
use crate::terminal::{self, CliError, exit_code};
use accounting::Epsilon;
use clap::Args;
use serde_json::json;
use sql::{Explanation, KnownSizes, WantedError};

/// Rows of a group of which nothing is known.
const GROUP_SIZE: u64 = 1000;

const EXAMPLES: &str = "\
Examples:
  What would this cost, and how far off would it be?
    deniable explain \"SELECT region, AVG(income) FROM people GROUP BY region\"
  For groups of about 200 rows
    deniable explain --group-size 200 \"SELECT region, AVG(income) FROM people GROUP BY region\"
  How much must be paid for an error of 2 %, or of 50?
    deniable explain --error 2% \"SELECT department, COUNT(*) FROM visits GROUP BY department\"
    deniable explain --error 50 \"SELECT COUNT(*) FROM visits\"
  Whose rows does each step give, and how far can one person move each number?
    deniable explain --verify \"SELECT COUNT(*) FROM visits\"
  What the engine will be asked to do
    deniable explain --verbose \"SELECT COUNT(*) FROM visits\"

Nothing is spent and no data is read: everything reported here follows from the query, the catalog and what was charged before.
The expected error is the mean distance between the answer and the truth of the data within its bounds. Where it depends on
how many rows a group has, it is reported for --group-size rows. An error in per cent is a part of the largest value that such a
group can have. With --error, groups are taken to have as many rows as an earlier answer or a planned release counted in them, if
one did: their median, which is said.

Exit code: 0 done, 2 the question cannot be asked, 3 the ledger is not what it was, so that the question would be refused.";

/// What would a query do and cost, and how far off would its answer be? Spends nothing
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    ask: AskArguments,
    #[command(flatten)]
    catalog: CatalogArguments,
    #[command(flatten)]
    analyst: AnalystArguments,
    /// How many rows a group is taken to have [default: 1000; with --error, as many as earlier answers counted]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    group_size: Option<u64>,
    /// Find the smallest ε whose expected error is at most this: `2%`, or `50` in units of the answer
    #[arg(long, value_name = "ERROR", conflicts_with = "epsilon")]
    error: Option<WantedError>,
    /// Also show the engine's plan
    #[arg(long, short)]
    verbose: bool,
    /// Also show what the verifier derives of the engine's plan, and how far one person moves each number, computed twice
    #[arg(long)]
    verify: bool,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let mut ask = arguments.ask.ask(arguments.analyst.name())?;
    let dataset = arguments.catalog.open_to_ask(arguments.json)?;
    let mut group_size = arguments.group_size.unwrap_or(GROUP_SIZE);
    let found = match arguments.error {
        None => None,
        Some(wanted) => {
            // A ledger that cannot be read tells no sizes.
            let known = match arguments.group_size {
                None => dataset.known_sizes(&ask).ok().flatten(),
                Some(_) => None,
            };
            group_size = known.as_ref().map_or(group_size, |known| known.rows);
            let epsilon = dataset
                .epsilon_for(&ask, wanted, group_size)
                .map_err(unanswered)?;
            ask.epsilon = Some(epsilon.clone());
            Some(Found {
                wanted,
                epsilon,
                known,
            })
        }
    };
    let explanation = dataset.explain(&ask, group_size).map_err(unanswered)?;
    // An unreadable ledger is no reason not to explain. A ledger from which no query would be answered is
    // reported as a query would report it.
    let left = dataset.forecast(&ask).map_err(unanswered);
    let refused = left
        .as_ref()
        .err()
        .filter(|error| error.code == exit_code::REFUSED)
        .cloned();
    let ended = |printed: Result<(), CliError>| printed.and(refused.map_or(Ok(()), Err));
    let before = dataset.cut_before(&ask).unwrap_or_default();
    let verification = match arguments.verify {
        true => Some(dataset.verification(&ask).map_err(unanswered)?),
        false => None,
    };
    // A ledger that cannot be read tells nothing for free.
    let told = dataset.told_by_release(&ask).ok().flatten();
    if arguments.json {
        let mut reported = json!(explanation);
        if let Some(reported) = reported.as_object_mut() {
            reported.insert("forecast".to_owned(), json!(left.as_ref().ok()));
            reported.insert("cut_before".to_owned(), json!(before));
            if let Some(verification) = &verification {
                reported.insert("verified".to_owned(), json!(verification.plans));
                reported.insert(
                    "verified_milliseconds".to_owned(),
                    json!(verification.milliseconds),
                );
            }
            reported.insert("told_by_release".to_owned(), json!(told));
        }
        if let (Some(found), Some(reported)) = (&found, reported.as_object_mut()) {
            reported.insert("wanted_error".to_owned(), json!(found.wanted.to_string()));
            reported.insert("epsilon".to_owned(), json!(found.epsilon));
            reported.insert("known_sizes".to_owned(), json!(found.known));
        }
        return ended(terminal::print(&format!("{reported}\n")));
    }
    let mut text = explanation.to_text(&before, arguments.verbose);
    if let Some(verification) = &verification {
        text += &format!("\n{}\n", verification.to_text());
    }
    if let Some(found) = &found {
        text += &format!("\n{}", report::found(found, &explanation, group_size));
    }
    if let Some(told) = &told {
        text += &format!("free: {}; --fresh asks the data\n", told.words());
    }
    match &left {
        Ok(forecast) => text += &forecast.to_text(),
        Err(error) if error.code == exit_code::REFUSED => {}
        Err(error) => eprintln!("what is left cannot be reported: {}", error.message),
    }
    ended(terminal::print(&text))
}

/// The ε that was found for an error.
#[derive(Clone, Debug)]
struct Found {
    wanted: WantedError,
    epsilon: Epsilon,
    /// Where groups are taken to be as large as they were found to be.
    known: Option<KnownSizes>,
}

#[cfg(test)]
mod tests;
