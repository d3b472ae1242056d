//! `deniable check`: is the data what the catalog says? For the curator alone.

use crate::dataset::CatalogArguments;
use crate::terminal::{self, CliError, Progress, explained, fail};
use clap::Args;
use report::{Column, Table};
use serde_json::json;
use sql::Catalog;
use sql::sources::{Difference, TableCheck, check, counted, one_or_many, part_of};

/// The exit code of a check that ran and found something.
const DIFFERS: u8 = 4;

const NOT_PRIVATE: &str = "NOT PRIVATE: exact counts of the data, without noise, for the curator's eyes only. Nothing is charged; publish nothing of it.";

const EXAMPLES: &str = "\
Examples:
  Is the data what the catalog says?
    deniable check
    deniable check clinic.toml visits
  For a program: exit code 4 if something differs
    deniable check --json

NOT PRIVATE: it counts the data exactly, without noise, for the curator, who may see it. Nothing is charged, and nothing is written
into the ledger. Publish nothing of what it tells, and do not change bounds or values to fit the data more closely than you would
have known without it: what the catalog says is public. Values of the data are not printed, but for those that the catalog lists
and for what usually stands for NULL, such as NA. Where a declared kind does not fit the values of a column of text, the one that fits is proposed.";

/// Is the data what the catalog says? NOT PRIVATE: for the curator's eyes only
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The catalog, if the first ends in .toml, and tables to check [default: all]
    #[arg(value_name = "CATALOG.toml | TABLE")]
    named: Vec<String>,
    #[command(flatten)]
    catalog: CatalogArguments,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

/// One table, as far as it could be read.
struct Checked {
    name: String,
    outcome: Result<TableCheck, CliError>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let (which, tables) = match arguments.named.split_first() {
        Some((first, tables)) if first.ends_with(".toml") => (CatalogArguments::of(first.into()), tables),
        _ => (arguments.catalog.clone(), arguments.named.as_slice()),
    };
    let catalog = Catalog::read(which.path(arguments.json)?).map_err(explained)?;
    let names: Vec<String> = match tables {
        [] => catalog.tables.keys().cloned().collect(),
        named => named.iter().map(|name| name.to_lowercase()).collect(),
    };
    if names.iter().any(|name| catalog.table(name).is_none()) {
        let known: Vec<_> = catalog.tables.keys().cloned().collect();
        return fail(
            "the catalog has no table of a name that was given",
            format!("it has {}", known.join(", ")),
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|cause| {
            CliError::bad_input(format!("no threads could be started: {}", cause.kind()))
                .with_hint("does the system allow more threads?")
        })?;
    let mut checked = Vec::new();
    for name in names {
        let progress = Progress::waiting(format!("reading {name}"), arguments.json);
        if let Some(table) = catalog.table(&name) {
            let outcome = runtime.block_on(check(&catalog, &name, table)).map_err(explained);
            checked.push(Checked { name, outcome });
        }
        drop(progress);
    }
    let findings: usize = checked.iter().map(|table| table.findings().len()).sum();
    terminal::print(&if arguments.json {
        format!("{}\n", object(&checked))
    } else {
        text(&checked)
    })?;
    if findings == 0 {
        return Ok(());
    }
    let mut failed = CliError::check_failed(format!(
        "the data is not what the catalog says in {findings} {}",
        if findings == 1 { "respect" } else { "respects" }
    ))
    .with_hint("each is listed above with what to do; none of it is to be published");
    failed.code = DIFFERS;
    Err(failed)
}

impl Checked {
    fn findings(&self) -> Vec<Difference> {
        match &self.outcome {
            Ok(check) => check.differences(),
            Err(error) => vec![Difference {
                what: error.message.clone(),
                hint: error.hint.clone().unwrap_or_default(),
            }],
        }
    }
}

fn text(checked: &[Checked]) -> String {
    let mut text = format!("{NOT_PRIVATE}\n");
    for table in checked {
        text += &format!("\n{}", table.name);
        if let Ok(check) = &table.outcome {
            text += &format!(": {} {}", check.rows, one_or_many(check.rows, "row", "rows"));
            if let Some(units) = &check.units {
                text += &format!(
                    " of {} {} by {}",
                    units.units,
                    one_or_many(units.units, "unit", "units"),
                    units.column
                );
                if let Some(limit) = units.limit {
                    text += &format!(
                        "; {} {} more than {limit} {}, of which a query without groups counts {limit}",
                        counted(units.units_above_limit, units.units, "unit"),
                        one_or_many(units.units_above_limit, "has", "have"),
                        one_or_many(limit, "row", "rows"),
                    );
                }
            }
            text += "\n";
            let mut columns = Table::new([
                Column::Left("column"),
                Column::Right("NULL"),
                Column::Right("unreadable"),
                Column::Right("below"),
                Column::Right("above"),
                Column::Right("never seen"),
                Column::Right("not listed"),
            ]);
            for column in &check.columns {
                columns.row([
                    column.column.clone(),
                    part_of(column.nulls, check.rows),
                    part_of(column.unreadable, check.rows),
                    part_of(column.below, check.rows),
                    part_of(column.above, check.rows),
                    column.never_seen.len().to_string(),
                    part_of(column.not_listed, check.rows),
                ]);
            }
            text += &columns.to_string();
            for remark in check.remarks() {
                text += &format!("note: {remark}\n");
            }
        } else {
            text += "\n";
        }
        let findings = table.findings();
        for finding in &findings {
            text += &format!("differs: {}\n  hint: {}\n", finding.what, finding.hint);
        }
        if findings.is_empty() {
            text += "as the catalog says\n";
        }
    }
    text
}

fn object(checked: &[Checked]) -> serde_json::Value {
    let tables: Vec<_> = checked
        .iter()
        .map(|table| {
            let findings: Vec<_> = table
                .findings()
                .into_iter()
                .map(|finding| json!({ "what": finding.what, "hint": finding.hint }))
                .collect();
            json!({
                "table": table.name,
                "found": table.outcome.as_ref().ok(),
                "findings": findings,
            })
        })
        .collect();
    json!({
        "command": "check",
        "not_private": NOT_PRIVATE,
        "as_declared": checked.iter().all(|table| table.findings().is_empty()),
        "tables": tables,
    })
}
