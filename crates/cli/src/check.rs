//! `deniable check`: is the data what the catalog says? For the curator alone.

use crate::dataset::CatalogArguments;
use crate::terminal::{self, CliError, Progress, explained, fail};
use clap::Args;
use report::{Column, Table};
use serde_json::json;
use sql::Catalog;
use sql::sources::{ColumnCheck, TableCheck, UnitCheck, check};

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
have known without it: what the catalog says is public. Values of the data are not printed, but for those that the catalog lists.";

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

/// Something that is not as the catalog says.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    what: String,
    hint: String,
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
    fn findings(&self) -> Vec<Finding> {
        match &self.outcome {
            Ok(check) => findings(check),
            Err(error) => vec![Finding {
                what: error.message.clone(),
                hint: error.hint.clone().unwrap_or_default(),
            }],
        }
    }
}

/// How many of a whole there are, with their noun: 1 row (0.12 %), 3 rows (0.36 %).
fn counted(part: u64, whole: u64, noun: &str) -> String {
    let noun = format!("{noun}{}", reported(part, "", "s"));
    match share(part, whole).split_once(' ') {
        Some((number, per_cent)) => format!("{number} {noun} {per_cent}"),
        None => format!("{part} {noun}"),
    }
}

/// The word for one, or that for another number.
fn reported<'w>(number: u64, one: &'w str, many: &'w str) -> &'w str {
    if number == 1 { one } else { many }
}

/// A part of a whole, as people read it: 3 (0.12 %).
fn share(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return part.to_string();
    }
    let per_cent = part as f64 * 100.0 / whole as f64;
    let digits = if per_cent < 0.01 {
        "< 0.01".to_owned()
    } else {
        format!("{per_cent:.2}")
    };
    format!("{part} ({digits} %)")
}

fn findings(check: &TableCheck) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |what: String, hint: &'static str| {
        found.push(Finding {
            what,
            hint: hint.to_owned(),
        });
    };
    if check.rows == 0 {
        add(
            "there are no rows".to_owned(),
            "is `source` the right file, and is its first line a header?",
        );
        return found;
    }
    if let Some(units) = &check.units {
        of_units(units, check.rows, &mut add);
    }
    for key in check.keys.iter().filter(|key| key.repeated > 0) {
        add(
            format!(
                "{} {} with another one in {}, which is said to be a key",
                counted(key.repeated, check.rows, "row"),
                reported(key.repeated, "agrees", "agree"),
                key.columns.join(", ")
            ),
            if key.leads_to_units {
                "rows of another table find their unit by it: as it is, somebody's rows may count as somebody else's"
            } else {
                "drop it from `keys`, or join by another key"
            },
        );
    }
    for column in &check.columns {
        of_column(column, check.rows, &mut add);
    }
    found
}

fn of_units(units: &UnitCheck, rows: u64, add: &mut impl FnMut(String, &'static str)) {
    let column = &units.column;
    if units.rows_of_nobody > 0 {
        add(
            format!(
                "unit `{column}` is NULL in {}, which queries leave out",
                counted(units.rows_of_nobody, rows, "row")
            ),
            "is it the right column, of the right kind?",
        );
    }
    if let Some(promised) = units.promised_rows
        && units.units_above_promise > 0
    {
        add(
            format!(
                "{} {} more than {promised} {}, which is what `rows_per_unit` promises",
                counted(units.units_above_promise, units.units, "unit"),
                reported(units.units_above_promise, "has", "have"),
                reported(promised, "row", "rows")
            ),
            "their privacy is weaker than stated: raise `rows_per_unit`, or drop it, before anybody asks anything",
        );
    }
    if units.said_to_be_clustered && !units.clustered {
        add(
            "the rows of a unit do not lie next to each other, as `clustered` says".to_owned(),
            "answers are right all the same, and slow: sort the rows with `deniable init --cluster`, or drop `clustered`",
        );
    }
}

fn of_column(column: &ColumnCheck, rows: u64, add: &mut impl FnMut(String, &'static str)) {
    let name = &column.column;
    if column.unreadable > 0 {
        add(
            format!(
                "column `{name}`: {} {} not of the declared kind, and {} read as NULL",
                counted(column.unreadable, rows, "value"),
                reported(column.unreadable, "is", "are"),
                reported(column.unreadable, "is", "are"),
            ),
            "declare another kind, what stands for NULL (`nulls`), or how numbers are written (`decimal`)",
        );
    }
    if column.said_not_null && column.nulls > 0 {
        add(
            format!(
                "column `{name}`: {} {} NULL, and `nullable = false` says that none is",
                counted(column.nulls, rows, "value"),
                reported(column.nulls, "is", "are"),
            ),
            "drop `nullable`",
        );
    }
    for (number, side) in [(column.below, "below"), (column.above, "above")] {
        if number > 0 {
            let summed = if matches!(column.kind.as_str(), "date" | "timestamp") {
                ""
            } else {
                "sums and averages count the bound, "
            };
            add(
                format!(
                    "column `{name}`: {} {} {side} the bounds: {summed}a WHERE sees {} as {}, and where groups are listed, {} in none",
                    counted(number, rows, "value"),
                    reported(number, "lies", "lie"),
                    reported(number, "it", "them"),
                    reported(number, "it is", "they are"),
                    reported(number, "it is", "they are"),
                ),
                "widen `bounds` if you know them to be too narrow; sums under wider ones need more noise",
            );
        }
    }
    if !column.never_seen.is_empty() {
        let number = column.never_seen.len() as u64;
        add(
            format!(
                "column `{name}`: {number} of {} listed values never {}: {}",
                column.listed,
                reported(number, "occurs", "occur"),
                column.never_seen.join(", ")
            ),
            reported(
                number,
                "is it spelled as in the data? If it is, there is nothing to do",
                "are they spelled as in the data? If they are, there is nothing to do",
            ),
        );
    }
    if column.not_listed > 0 && column.other.is_none() {
        add(
            format!(
                "{}: grouped by it, {} in no group; a WHERE sees {} as {}",
                not_listed(column, rows),
                reported(column.not_listed, "its row is", "their rows are"),
                reported(column.not_listed, "it", "them"),
                reported(column.not_listed, "it is", "they are"),
            ),
            "list what you know may occur, what stands for NULL (`nulls`), or a group for all other texts (`other`)",
        );
    }
}

/// How many values are not listed.
fn not_listed(column: &ColumnCheck, rows: u64) -> String {
    let different = match column.different_not_listed {
        _ if column.not_listed == 1 => String::new(),
        1 => ", all the same,".to_owned(),
        number if number >= 1000 => format!(", at least {number} different ones,"),
        number => format!(", {number} different ones,"),
    };
    format!(
        "column `{}`: {}{different} {} not listed",
        column.column,
        counted(column.not_listed, rows, "value"),
        reported(column.not_listed, "is", "are"),
    )
}

/// What is as the catalog says, and good to know.
fn remarks(check: &TableCheck) -> Vec<String> {
    let of_column = |column: &ColumnCheck| {
        let other = column.other.as_ref().filter(|_| column.not_listed > 0)?;
        Some(format!(
            "{}, and {} read as `{other}`, as the catalog says",
            not_listed(column, check.rows),
            reported(column.not_listed, "is", "are"),
        ))
    };
    check.columns.iter().filter_map(of_column).collect()
}

fn text(checked: &[Checked]) -> String {
    let mut text = format!("{NOT_PRIVATE}\n");
    for table in checked {
        text += &format!("\n{}", table.name);
        if let Ok(check) = &table.outcome {
            text += &format!(": {} {}", check.rows, reported(check.rows, "row", "rows"));
            if let Some(units) = &check.units {
                text += &format!(
                    " of {} {} by {}",
                    units.units,
                    reported(units.units, "unit", "units"),
                    units.column
                );
                if let Some(limit) = units.limit {
                    text += &format!(
                        "; {} {} more than {limit} {}, of which a query without groups counts {limit}",
                        counted(units.units_above_limit, units.units, "unit"),
                        reported(units.units_above_limit, "has", "have"),
                        reported(limit, "row", "rows"),
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
                    share(column.nulls, check.rows),
                    share(column.unreadable, check.rows),
                    share(column.below, check.rows),
                    share(column.above, check.rows),
                    column.never_seen.len().to_string(),
                    share(column.not_listed, check.rows),
                ]);
            }
            text += &columns.to_string();
            for remark in remarks(check) {
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
