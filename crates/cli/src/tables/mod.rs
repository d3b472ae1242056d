//! `deniable tables`: planned releases. Many tables from one charge, explained before, made once, and read as often as one likes.

mod export;
mod report;

use crate::dataset::{AnalystArguments, CatalogArguments, unanswered};
use crate::query::{self, Watched, listen};
use crate::terminal::{self, CliError, Progress, explained, fail};
use accounting::Epsilon;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use sql::blocking::Dataset;
use sql::{ReleaseRequest, ReleasedTables, WantedError, WantedTableError};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Which releases does the catalog plan? (the built-in sample plans one)
    deniable tables plan
  What will each table's error be, and where does the budget go? Spends nothing
    deniable tables explain
  How much must be paid for an error of 2 % in cells of 1000 rows?
    deniable tables explain --error 2%
  Make it: charged once, whatever happens, and free ever after
    deniable tables release
  Look at a table, also at one that only follows from those that were planned
    deniable tables show --by region,sex
  For spreadsheets, data frames, programs
    deniable tables export --output tables/
    deniable tables export --output tables/ --format parquet
    deniable tables export --output census.json

A release is planned in the catalog, as [releases.NAME]: which attributes with which values, and which tables by them are wanted
(docs/tables.md). All its tables are put together from one set of measurements, chosen so that their errors are as small as one
charge allows: so each table is more exact than if it were asked alone, and their totals agree. Rows are read once.

What it costs and how exact it will be follows from the catalog alone. The cost is written down for good before the data is read.
Whatever happens then (Ctrl-C, a crash, a full disk), what was charged stays charged, and releasing again finishes it under the
same charge. Once released, it is the same for everybody, and every table, sum and share of it is free.";

/// Plan, explain, make, show and export releases of many tables at once
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The releases that the catalog plans: attributes, tables, and whether they were made
    Plan {
        #[command(flatten)]
        catalog: CatalogArguments,
        /// Print one object for a program to read
        #[arg(long)]
        json: bool,
    },
    /// The error of every table and where the budget goes, before anything is spent
    Explain(ExplainArguments),
    /// Make a release: charge it once, read the data once, and keep what came out
    Release {
        #[command(flatten)]
        which: Which,
        /// Print one object for a program to read
        #[arg(long)]
        json: bool,
        /// Say nothing besides the result
        #[arg(long, short)]
        quiet: bool,
    },
    /// A table of a release that was made, with intervals; nothing is charged
    Show {
        #[command(flatten)]
        which: Which,
        /// The attributes, or levels of them, that the table is by, with commas between; `total`
        #[arg(long, value_name = "NAMES")]
        by: Option<String>,
        /// Print one object for a program to read
        #[arg(long)]
        json: bool,
    },
    /// All tables of a release that was made, as files; nothing is charged
    Export {
        #[command(flatten)]
        which: Which,
        /// A folder for a file each table, which is made if it is not there; for JSON a file
        #[arg(long, short, value_name = "PLACE")]
        output: PathBuf,
        /// How they are written [default: json where the place ends in .json, else csv]
        #[arg(long, value_enum)]
        format: Option<Format>,
    },
}

/// How tables are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For spreadsheets, with one line of comment about whose privacy was kept
    Csv,
    /// For data frames
    Parquet,
    /// For programs: one object with all tables, measurements, cost and receipt
    Json,
}

/// Which release is meant.
#[derive(Args, Clone, Debug)]
struct Which {
    /// Its name in the catalog [default: the only one]
    name: Option<String>,
    #[command(flatten)]
    catalog: CatalogArguments,
    #[command(flatten)]
    analyst: AnalystArguments,
    /// What it may cost, in place of what the catalog says
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<String>,
}

#[derive(Args)]
struct ExplainArguments {
    #[command(flatten)]
    which: Which,
    /// Find the smallest ε for which the expected error of a cell of every table is at most this: `2%`, or `50` rows
    #[arg(long, value_name = "ERROR", conflicts_with = "epsilon")]
    error: Option<WantedError>,
    /// How many rows a cell is taken to have, where the error is in per cent
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    cell_size: u64,
    /// Only these tables have to be as exact as --error says: names as they are listed; may be repeated
    #[arg(long, value_name = "TABLE")]
    table: Vec<String>,
    /// List every table and every part of the cost
    #[arg(long)]
    all: bool,
    /// Write a page with the errors as a heat map
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

impl Which {
    /// The dataset, and the release that is meant.
    fn open(&self, quiet: bool) -> Result<(Dataset, ReleaseRequest), CliError> {
        let dataset = self.catalog.open_to_ask(quiet)?;
        let names: Vec<&String> = dataset.catalog().releases.keys().collect();
        let name = match (&self.name, names.as_slice()) {
            (Some(name), _) => name.clone(),
            (None, [only]) => (*only).clone(),
            (None, []) => {
                return fail(
                    "the catalog plans no release",
                    "declare one, as [releases.census]; docs/tables.md has an example to begin with",
                );
            }
            (None, names) => {
                let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
                return fail(
                    "the catalog plans several releases",
                    format!("name one of {}", names.join(", ")),
                );
            }
        };
        let epsilon = self.epsilon.as_deref().map(Epsilon::parse).transpose();
        let request = ReleaseRequest {
            epsilon: epsilon.map_err(explained)?,
            ..ReleaseRequest::new(name, self.analyst.name())
        };
        Ok((dataset, request))
    }

    /// The release, which must have been made.
    fn released(&self, quiet: bool) -> Result<(Dataset, ReleasedTables), CliError> {
        let (dataset, request) = self.open(quiet)?;
        let Some(released) = dataset.released_tables(&request).map_err(unanswered)? else {
            return fail(
                format!(
                    "the release `{}` was not made yet, of this version of the data and for this ε",
                    request.name
                ),
                format!(
                    "`deniable tables release {}` makes it; `deniable tables explain {0}` says what it costs",
                    request.name
                ),
            );
        };
        Ok((dataset, released))
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Plan { catalog, json } => plan(catalog, *json),
        Command::Explain(arguments) => explain(arguments),
        Command::Release { which, json, quiet } => release(which, *json, *quiet),
        Command::Show { which, by, json } => show(which, by.as_deref(), *json),
        Command::Export {
            which,
            output,
            format,
        } => export::run(which, output, *format),
    }
}

fn plan(arguments: &CatalogArguments, as_json: bool) -> Result<(), CliError> {
    let dataset = arguments.open_to_ask(as_json)?;
    let releases = &dataset.catalog().releases;
    let mut described = Vec::new();
    for release in releases.values() {
        let request = ReleaseRequest::new(&release.name, AnalystArguments::default().name());
        let explanation = dataset.explain_release(&request).map_err(unanswered)?;
        // Whether it was made is no reason to fail where the ledger cannot be read.
        let made = dataset.released_tables(&request).ok().flatten();
        described.push(report::Described {
            release,
            explanation,
            made: made.map(|made| made.cost.charge),
        });
    }
    if as_json {
        let all: Vec<_> = described.iter().map(report::Described::json).collect();
        return terminal::print(&format!("{}\n", json!({ "releases": all })));
    }
    if described.is_empty() {
        return terminal::print(
            "the catalog plans no release: declare one, as [releases.census]; docs/tables.md has an example\n",
        );
    }
    let texts: Vec<String> = described.iter().map(report::Described::text).collect();
    terminal::print(&texts.join("\n"))
}

fn explain(arguments: &ExplainArguments) -> Result<(), CliError> {
    if let Some(page) = &arguments.html {
        report::check_page(page)?;
    }
    let (dataset, mut request) = arguments.which.open(arguments.json)?;
    let mut found = None;
    if let Some(error) = arguments.error {
        let wanted = WantedTableError {
            error,
            cell_size: arguments.cell_size,
            tables: arguments.table.clone(),
        };
        let progress = Progress::waiting("looking for the ε", arguments.json);
        let epsilon = dataset
            .epsilon_for_release(&request, &wanted)
            .map_err(unanswered)?;
        drop(progress);
        request.epsilon = Some(epsilon.clone());
        found = Some((wanted, epsilon));
    }
    let explanation = dataset.explain_release(&request).map_err(unanswered)?;
    let made = dataset.released_tables(&request).ok().flatten();
    if let Some(page) = &arguments.html {
        terminal::write_file_atomically(page, report::page(&explanation).as_bytes())?;
        eprintln!("wrote {}", page.display());
    }
    if arguments.json {
        let mut object = json!(explanation);
        object["made_by_charge"] = json!(made.map(|made| made.cost.charge));
        if let Some((wanted, epsilon)) = &found {
            object["wanted_error"] = json!(wanted.error.to_string());
            object["found_epsilon"] = json!(epsilon);
        }
        return terminal::print(&format!("{object}\n"));
    }
    let mut text = explanation.to_text(arguments.all);
    if let Some((wanted, epsilon)) = &found {
        text += &report::found(wanted, epsilon, &explanation.release);
    }
    text += &match made {
        Some(made) => format!(
            "\nit was made already (charge {}): `deniable tables show {}` shows its tables, for nothing\n",
            made.cost.charge, explanation.release
        ),
        None => format!(
            "\nnothing was spent; make it with: deniable tables release {}{}\n",
            explanation.release,
            found.map_or(String::new(), |(_, epsilon)| format!(" --epsilon {epsilon}"))
        ),
    };
    terminal::print(&text)
}

fn release(which: &Which, as_json: bool, quiet: bool) -> Result<(), CliError> {
    let (dataset, request) = which.open(as_json || quiet)?;
    let watched = listen(as_json);
    let released = make(&dataset, &request, &watched, as_json || quiet)?;
    if as_json {
        let object = released.to_json().map_err(unanswered)?;
        return terminal::print(&format!("{object}\n"));
    }
    terminal::print(&report::made(&released))?;
    if !quiet {
        eprint!("{}", report::cost(&released, &request.analyst));
    }
    Ok(())
}

/// Makes a release, and shows how far it has come. `watched` hears of it too, so that Ctrl-C is told what it means.
fn make(
    dataset: &Dataset,
    request: &ReleaseRequest,
    watched: &Watched,
    quiet: bool,
) -> Result<ReleasedTables, CliError> {
    let progress = Progress::waiting("planning", quiet);
    let released = dataset.release_tables(request, &mut query::watching(&progress, watched));
    let released = released.map_err(unanswered);
    query::reached_nothing(watched);
    released
}

fn show(which: &Which, by: Option<&str>, as_json: bool) -> Result<(), CliError> {
    let (_, released) = which.released(as_json)?;
    let Some(by) = by else {
        let tables = released.names();
        if as_json {
            return terminal::print(&format!(
                "{}\n",
                json!({ "release": released.release, "tables": tables })
            ));
        }
        return terminal::print(&report::names(&released));
    };
    let names: Vec<&str> = match by.trim() {
        "total" => Vec::new(),
        by => by.split(',').map(str::trim).collect(),
    };
    let answer = released.table(&names).map_err(unanswered)?;
    if as_json {
        return terminal::print(&format!("{}\n", answer.to_json()));
    }
    terminal::print(&query::table(&answer))?;
    eprintln!(
        "free: released for {} (charge {})",
        sql::readable(&released.cost.guarantee),
        released.cost.charge
    );
    for note in &answer.notes {
        eprintln!("note: {note}");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
