//! `deniable query`: a private answer, with error bars and what it cost.

mod cells;
mod interruption;
pub(crate) mod summary;

use crate::dataset::{AnalystArguments, AskArguments, CatalogArguments, unanswered};
use crate::outputs;
use crate::terminal::{self, CliError, explained, fail};
use clap::{Args, ValueEnum};
use interruption::Reached;
pub(crate) use interruption::{Watched, listen};
use sql::blocking::Dataset;
use sql::{Answer, Answered, QueryRequest, Stage};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  A count by group, of the built-in sample when there is no catalog here
    deniable query \"SELECT region, COUNT(*) AS people FROM people GROUP BY region\"
  Spend at most ε = 0.2
    deniable query --epsilon 0.2 \"SELECT AVG(age) FROM people\"
  The query may say it itself
    deniable query \"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2) COUNT(*) FROM people\"
  For a spreadsheet, a program, a notebook
    deniable query --file visits.sql --format csv --output visits.csv
    echo \"SELECT COUNT(*) FROM people\" | deniable query - --json
    deniable query --file visits.sql --format parquet --output visits.parquet
  What a query would do and cost, for nothing
    deniable query \"EXPLAIN SELECT AVG(age) FROM people\"
  What there is to ask about: the catalog is public, so this is free
    deniable query \"SHOW TABLES\"
    deniable query \"DESCRIBE people\"

The SQL that is understood: `deniable sql` prints all of it, with an example of everything.

What a query costs depends on the query and the catalog, never on the data: `deniable explain` tells it beforehand.
The cost is written down for good before the data is read. Whatever happens then (Ctrl-C, a crash, a full disk), what was
charged stays charged, and asking again finishes the question under the same charge. Once answered, the same question is answered
again for nothing, for everybody: however it is written, and whatever is done with its results (ORDER BY, HAVING, arithmetic).

A column of noisy numbers has its interval beside it, which holds the truth with 95 % confidence: half of its width after ±, or
both ends. Below the table stands what bounds one unit's part in each column, and whether the interval is about the data within
those bounds. ∅ is NULL.
In CSV and Parquet the ends are columns of their own, NAME_low and NAME_high. In JSON each value has them, and ε and δ are
decimals as text.";

/// Ask a question in SQL; the answer is noisy enough that anyone in the data can deny being in it
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    ask: AskArguments,
    #[command(flatten)]
    catalog: CatalogArguments,
    #[command(flatten)]
    analyst: AnalystArguments,
    /// How the answer is written
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the answer to a file, whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Say nothing besides the answer
    #[arg(long, short)]
    quiet: bool,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// For spreadsheets
    Csv,
    /// For programs: one object with everything
    Json,
    /// For data frames; needs --output
    Parquet,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let format = if arguments.json {
        Format::Json
    } else {
        arguments.format
    };
    // Whatever can be refused is refused before anything is spent.
    if format == Format::Parquet && arguments.output.is_none() {
        return fail(
            "Parquet is not for a terminal",
            "name a file with --output answer.parquet, or choose --format csv",
        );
    }
    let ask = arguments.ask.ask(arguments.analyst.name())?;
    let dataset = arguments.catalog.open_to_ask(arguments.quiet)?;
    if let Some(output) = &arguments.output {
        let question: Vec<_> = arguments
            .ask
            .read_from()
            .map(|path| ("--file", path))
            .into_iter()
            .collect();
        outputs::check(
            &dataset,
            &arguments.catalog.path(true)?,
            &question,
            &[("--output", output)],
        )?;
    }
    if let Some(answer) = dataset.describe(&ask.sql).map_err(explained)? {
        return finish(&written(&answer, None, format)?, arguments);
    }
    if let Some(plan) = dataset.query_plan(&ask).map_err(unanswered)? {
        let written = match format {
            Format::Table => plan_lines(&plan).into_bytes(),
            _ => written(&plan, None, format)?,
        };
        return finish(&written, arguments);
    }
    let watched = listen(format == Format::Json);
    let answered = answered(&dataset, &ask, &watched, arguments.quiet)?;
    let written = written(&answered.answer, Some(&answered), format)?;
    finish(&written, arguments)?;
    // The object has it all.
    if !arguments.quiet && format != Format::Json {
        eprint!("{}", summary::text(&answered, &ask.analyst));
    }
    Ok(())
}

/// Asks, and shows how far the question has come. `watched` hears of it too, so that Ctrl-C is told what it
/// means.
pub(crate) fn answered(
    dataset: &Dataset,
    ask: &QueryRequest,
    watched: &Watched,
    quiet: bool,
) -> Result<Answered, CliError> {
    let progress = terminal::Progress::waiting("understanding the question", quiet);
    let mut watch = watching(&progress, watched);
    let answered = dataset.query_watched(ask, &mut watch).map_err(unanswered);
    reached_nothing(watched);
    answered
}

/// Shows on the way how far a question has come, and tells `watched`.
pub(crate) fn watching<'a>(progress: &'a terminal::Progress, watched: &'a Watched) -> impl FnMut(Stage) + 'a {
    move |stage| match stage {
        Stage::Understood | Stage::Begun => progress.label("charging"),
        Stage::Charged => {
            watched.reached(Reached::Charged);
            progress.label("charged; reading the data");
        }
        Stage::Measured => {
            watched.reached(Reached::Drawing);
            progress.label("adding noise");
        }
        Stage::Drawn => progress.label("saving the answer"),
        Stage::Computing => progress.label("computing the rest of the query"),
    }
}

/// Tells that Ctrl-C is of no consequence again.
pub(crate) fn reached_nothing(watched: &Watched) {
    watched.reached(Reached::Nothing);
}

/// An answer as people read it.
pub(crate) fn table(answer: &Answer) -> String {
    cells::table(answer).to_string()
}

/// A plan that EXPLAIN asked for, line by line.
pub(crate) fn plan_lines(plan: &Answer) -> String {
    let lines = plan.rows.iter().flatten().map(|cell| format!("{}\n", cell.value));
    lines.collect()
}

/// Shows or writes what was answered.
fn finish(written: &[u8], arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.output {
        Some(path) => {
            terminal::write_file_atomically(path, written)?;
            if !arguments.quiet {
                eprintln!("wrote {}", path.display());
            }
            Ok(())
        }
        None => terminal::print_bytes(written),
    }
}

/// An answer in a format; what was asked of the ledger is part of the object, where there is something.
fn written(answer: &Answer, answered: Option<&Answered>, format: Format) -> Result<Vec<u8>, CliError> {
    match format {
        Format::Table => Ok(table(answer).into_bytes()),
        Format::Csv => Ok(answer.to_csv()),
        Format::Json => {
            let object = answered.map_or_else(|| answer.to_json(), Answered::to_json);
            Ok(format!("{object}\n").into_bytes())
        }
        Format::Parquet => {
            let mut bytes = Vec::new();
            answer.write_parquet(&mut bytes).map_err(explained)?;
            Ok(bytes)
        }
    }
}

#[cfg(test)]
mod tests;
