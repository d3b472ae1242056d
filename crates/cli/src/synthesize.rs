//! `deniable synthesize`: rows that look like a private table and are safe to hand out.

use crate::dataset::{AnalystArguments, CatalogArguments, unanswered};
use crate::outputs;
use crate::query::{self, listen};
use crate::terminal::{self, CliError, Progress, explained, fail, write_file_atomically};
use accounting::{Delta, Epsilon};
use clap::{Args, ValueEnum};
use serde_json::json;
use sql::synthesis::Method;
use sql::{CheckRequest, SynthesisRequest, SyntheticCheck, SyntheticRelease, SyntheticRows, readable};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  What would rows be made of, and what would they cost? Spends nothing
    deniable synthesize --table people --epsilon 1 --explain
  Make them: charged once, whatever happens
    deniable synthesize --table people --epsilon 1 --output people.csv
  More of them, or as Parquet, from the same charge: free
    deniable synthesize --table people --epsilon 1 --rows 1000000 --output people.parquet
  Which tables of them are good, and to which error? A page, for nothing
    deniable synthesize --table people --epsilon 1 --output people.csv --html report.html
  Spend it all on what you will look at: two tables, each by the columns with commas between
    deniable synthesize --table people --epsilon 1 --workload age,income --workload region,sex --output people.csv
  How far are they from the data, on tables that were not measured? Costs ε = 0.1 more, once
    deniable synthesize --table people --epsilon 1 --output people.csv --check 0.1
  Fewer columns, wider bins, only some rows
    deniable synthesize --table people --epsilon 1 --columns age,sex,income --bins age=10 --bins income=20 \\
      --where \"age >= 18\" --output adults.csv

How it works: counts by each column are measured with noise. Then, round by round, the table of several columns that is fitted
worst is chosen, privately, and measured (--method aim). Rows are drawn from the distribution that fits what was measured. All
rounds are paid for by one charge, which is written down for good before the data is read. What follows is free: the same
request gives the same rows again, and more rows cost nothing.

Rows that cannot be: `impossible` on the table in the catalog says which. None of them is ever made, and that costs nothing.

Columns: those with `values` or `bounds` in the catalog; each value or bin is a cell, and NULL is a value. Bins never come from
the data. A number, day or moment is any one of its bin. A row with a value that is in no cell counts nowhere.

What the rows are good for: the tables that were measured, and what follows from them. Whatever connects columns in the data and
was not measured is not in the rows. The report says which tables were measured, to which error, and which were never looked
at. With --check, another charge pays for how far the rows are from the data on tables that were never looked at. Do not read standard errors off synthetic rows as if they were data: the report has the errors.";

/// Make synthetic rows of a private table: safe to hand out, from one charge
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The private table
    #[arg(long, value_name = "TABLE")]
    table: String,
    #[command(flatten)]
    catalog: CatalogArguments,
    #[command(flatten)]
    analyst: AnalystArguments,
    /// What it may cost in all [default: that of a query in the catalog]
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<String>,
    /// The δ for it [default: that of a query in the catalog]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,
    /// How many rows are made [default: as many as there seem to be]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    rows: Option<u64>,
    /// Where the rows go: a file that ends in .csv or .parquet
    #[arg(long, short, value_name = "FILE", required_unless_present = "explain")]
    output: Option<PathBuf>,
    /// How tables are chosen that are measured
    #[arg(long, value_enum, default_value_t = Chosen::Aim)]
    method: Chosen,
    /// A table that matters, by these columns with commas between; may be repeated [default: all by three columns]
    #[arg(long, value_name = "COLUMNS")]
    workload: Vec<String>,
    /// Only these columns, with commas between [default: all with declared values or bounds]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    columns: Vec<String>,
    /// How many bins of equal width a column of numbers has; may be repeated [default: a bin a value, or 32]
    #[arg(long, value_name = "COLUMN=N", value_parser = bins)]
    bins: Vec<(String, u32)>,
    /// Only rows that fulfil this SQL condition count
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// How many rows of one unit count, where the catalog does not say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows_per_unit: Option<u64>,
    /// How large the model may be: cells of all tables that are fitted at once
    #[arg(long, value_name = "CELLS", default_value_t = sql::MODEL_CELLS)]
    model_cells: u64,
    /// Spend this much more, on a charge of its own, to tell how far the rows are from the data on tables that were not measured
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    check: Option<String>,
    /// Say what rows would be made of and what they cost; spends nothing, reads no private data
    #[arg(long)]
    explain: bool,
    /// Write a page that compares the rows with what was measured
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Print one object for a program to read: cost, report, measurements and receipt
    #[arg(long)]
    json: bool,
    /// Say nothing besides the result
    #[arg(long, short)]
    quiet: bool,
}

/// How tables are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Chosen {
    /// Each column alone: rows whose columns have nothing to do with each other
    Independent,
    /// Each column, and the pairs of a tree over all columns
    Mst,
    /// Round by round the wanted table that is fitted worst
    Aim,
}

impl From<Chosen> for Method {
    fn from(chosen: Chosen) -> Self {
        match chosen {
            Chosen::Independent => Self::Independent,
            Chosen::Mst => Self::Mst,
            Chosen::Aim => Self::Aim,
        }
    }
}

/// What the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Csv,
    Parquet,
}

fn bins(text: &str) -> Result<(String, u32), String> {
    let (column, count) = text
        .rsplit_once('=')
        .ok_or_else(|| "expected COLUMN=N, as age=10".to_owned())?;
    let count = count
        .trim()
        .parse()
        .map_err(|_| "expected a whole number of bins, as age=10".to_owned())?;
    Ok((column.to_owned(), count))
}

impl Arguments {
    fn request(&self) -> Result<SynthesisRequest, CliError> {
        let epsilon = self.epsilon.as_deref().map(Epsilon::parse).transpose();
        let delta = self.delta.as_deref().map(Delta::parse).transpose();
        let table = |text: &String| text.split(',').map(|name| name.trim().to_owned()).collect();
        Ok(SynthesisRequest {
            condition: self.condition.clone(),
            columns: self.columns.iter().map(|name| name.trim().to_owned()).collect(),
            bins: self.bins.iter().cloned().collect(),
            workload: self.workload.iter().map(table).collect(),
            method: self.method.into(),
            model_cells: self.model_cells,
            rows_per_unit: self.rows_per_unit,
            epsilon: epsilon.map_err(explained)?,
            delta: delta.map_err(explained)?,
            ..SynthesisRequest::new(&self.table, self.analyst.name())
        })
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let request = arguments.request()?;
    let check = arguments.check.as_deref().map(Epsilon::parse).transpose();
    let check = check.map_err(explained)?;
    if check == Some(Epsilon::ZERO) {
        return fail("at ε = 0 a check may not depend on the data", "say --check 0.1");
    }
    let check = check.map(|epsilon| CheckRequest {
        rows: request.clone(),
        epsilon,
    });
    let dataset = arguments.catalog.open_to_ask(arguments.json || arguments.quiet)?;
    if arguments.explain {
        let explanation = dataset.explain_synthesis(&request).map_err(unanswered)?;
        let made = dataset.synthesized(&request).ok().flatten();
        if arguments.json {
            let mut object = json!(explanation);
            if let Some(check) = &check {
                object["check"] = json!({ "epsilon": check.epsilon, "delta": explanation.delta });
            }
            object["made_by_charge"] = json!(made.map(|made| made.cost.charge));
            return terminal::print(&format!("{object}\n"));
        }
        let after = match made {
            Some(made) => format!(
                "\nmeasured already (charge {}): rows of it are free\n",
                made.cost.charge
            ),
            None => "\nnothing was spent; without --explain, and with --output FILE, the rows are made\n"
                .to_owned(),
        };
        let checked = check.map_or(String::new(), |check| {
            format!(
                "--check: ε = {}, δ = {} more, on a charge of its own: how far the rows are from the data, on tables that matter and that were not measured\n",
                check.epsilon, explanation.delta
            )
        });
        return terminal::print(&(explanation.to_text() + &checked + &after));
    }
    let Some(output) = &arguments.output else {
        return fail("nothing says where the rows go", "say --output people.csv");
    };
    // Whatever can be wrong with files is found out before anything is charged.
    let format = format_of(output)?;
    let catalog = arguments.catalog.path(true)?;
    let mut written: Vec<(&'static str, &Path)> = vec![("--output", output)];
    if let Some(page) = &arguments.html {
        written.push(("--html", page));
    }
    outputs::check(&dataset, &catalog, &[], &written)?;
    let quiet = arguments.json || arguments.quiet;
    let watched = listen(arguments.json);
    let progress = Progress::waiting("planning", quiet);
    let made = dataset.synthesize(&request, &mut query::watching(&progress, &watched));
    let made = made.map_err(unanswered);
    query::reached_nothing(&watched);
    let made = made?;
    drop(progress);
    let progress = Progress::waiting("making rows", quiet);
    let count = arguments
        .rows
        .map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
    let rows = made.rows(count).map_err(unanswered)?;
    write_file_atomically(output, &written_as(&rows, format)?)?;
    drop(progress);
    // Rows that were paid for are there, whatever becomes of the check.
    let checked = match &check {
        None => None,
        Some(check) => {
            let progress = Progress::waiting("checking", quiet);
            let watched = listen(arguments.json);
            let checked = dataset.check_synthesis(check, &made, &mut query::watching(&progress, &watched));
            let checked = checked.map_err(unanswered);
            query::reached_nothing(&watched);
            Some(checked?)
        }
    };
    if let Some(page) = &arguments.html {
        write_file_atomically(page, made.to_page(&rows.report, checked.as_ref()).as_bytes())?;
    }
    if arguments.json {
        let mut object = made.to_json(&rows.report);
        if let Some(checked) = &checked {
            object["check"] = checked.to_json();
        }
        return terminal::print(&format!("{object}\n"));
    }
    let checked_text = checked.as_ref().map_or(String::new(), SyntheticCheck::to_text);
    terminal::print(&(made.to_text(&rows.report, " (--html, --json)") + &checked_text))?;
    if !quiet {
        eprint!("{}", cost(&made, checked.as_ref(), &request.analyst));
        eprintln!("wrote {} rows to {}", rows.count(), output.display());
        if let Some(page) = &arguments.html {
            eprintln!("wrote {}", page.display());
        }
    }
    Ok(())
}

/// What it cost and what is left, for standard error.
fn cost(made: &SyntheticRelease, checked: Option<&SyntheticCheck>, analyst: &str) -> String {
    let (guarantee, charge) = (readable(&made.cost.guarantee), made.cost.charge);
    let price = format!("ε = {}, δ = {} ({guarantee})", made.epsilon, made.delta);
    let mut text = if made.repeated {
        format!("free: this was measured before, for {price} (charge {charge}); nothing was charged now\n")
    } else if made.resumed {
        format!(
            "cost: {price}, charged before (charge {charge}): this finishes the run that was interrupted, and nothing was charged now\n"
        )
    } else {
        format!("cost: {price} (charge {charge}); the same rows again, and more of them, are free\n")
    };
    if let Some(checked) = checked {
        let price = format!("ε = {}, δ = {}", checked.epsilon, checked.delta);
        let charge = checked.cost.charge;
        text += &if checked.repeated {
            format!("the check was made before, for {price} (charge {charge}), and is free now\n")
        } else if checked.resumed {
            format!("the check finishes an interrupted one, charged before (charge {charge}) for {price}\n")
        } else {
            format!("the check cost {price} (charge {charge}); the same check of these rows is free\n")
        };
    }
    let left = checked.map_or(&made.left, |checked| &checked.left);
    text += &match &left.share {
        Some(share) if *share < left.dataset => format!(
            "left: ε = {} (if spent in one more query by {analyst}, whose share it is; everybody together has ε = {})\n",
            left.epsilon, left.dataset
        ),
        _ => format!("left: ε = {} (if spent in one more query)\n", left.epsilon),
    };
    text
}

fn format_of(output: &Path) -> Result<Format, CliError> {
    let ending = output
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("csv") => Ok(Format::Csv),
        Some("parquet") => Ok(Format::Parquet),
        _ => fail(
            "--output ends in neither .csv nor .parquet",
            "name a file such as people.csv or people.parquet",
        ),
    }
}

fn written_as(rows: &SyntheticRows, format: Format) -> Result<Vec<u8>, CliError> {
    match format {
        Format::Csv => Ok(rows.to_csv()),
        Format::Parquet => {
            let mut bytes = Vec::new();
            rows.write_parquet(&mut bytes).map_err(explained)?;
            Ok(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_and_files_are_read() {
        assert_eq!(bins("age=10"), Ok(("age".to_owned(), 10)));
        assert_eq!(bins("a=b=3"), Ok(("a=b".to_owned(), 3)));
        assert!(bins("age").is_err() && bins("age=x").is_err() && bins("age=-1").is_err());
        assert_eq!(format_of(Path::new("x.CSV")).ok(), Some(Format::Csv));
        assert_eq!(format_of(Path::new("x.parquet")).ok(), Some(Format::Parquet));
        assert!(format_of(Path::new("x")).is_err());
    }
}
