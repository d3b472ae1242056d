//! `deniable attack linkage`: to whom do rows without names belong?

mod matches;
mod pair;
mod reviews;

use crate::delivery::{Outputs, count, watched};
use crate::terminal::{CliError, Interrupt, explained, fail};
use ::report::{Findings, grouped};
use accounting::{Delta, Epsilon};
use attack::csv_file::CsvFile;
use experiments::linkage::{Beside, Search, Synthetic, Uniqueness};
use std::path::{Path, PathBuf};

/// Which columns single people out, and who they are: uniqueness, and linking two tables
///
/// Removing names is not enough. For one table: in how large groups rows agree on some columns (k-anonymity, in full), and which smallest sets of columns single people out. For two tables, one with names:
/// rows that match each other and nothing else are linked; ratings are matched even where days and stars are off (Narayanan and Shmatikov 2008). Beside it stands what a release of the same
/// groups with differential privacy shows. Without a file everything runs on synthetic people with a known truth.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A CSV file whose first line names the columns [default: synthetic people]
    file: Option<PathBuf>,
    /// Columns that others may know [default: all; with --with those that both files have]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    columns: Vec<String>,
    /// Which share of rows a set of columns must single out to be called identifying
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    identifying: f64,
    /// The largest set of columns to look at
    #[arg(long, value_name = "N", default_value_t = 3)]
    largest: usize,
    /// A second CSV file, with names, to link the first one to
    #[arg(long, value_name = "OTHER.csv", requires = "file")]
    with: Option<PathBuf>,
    /// The column of the second file that says who it is, for --matches
    #[arg(long, value_name = "COLUMN", requires = "with")]
    names: Option<String>,
    /// Match ratings: the columns of who, what, rating and, if there is one, day (2005-12-31, or a number) in both files
    #[arg(
        long,
        value_name = "WHO,WHAT,RATING[,DAY]",
        value_delimiter = ',',
        requires = "with",
        conflicts_with = "columns"
    )]
    ratings: Vec<String>,
    /// A match of ratings must be this many standard deviations ahead of the second best
    #[arg(long, value_name = "PHI", default_value_t = 1.5)]
    eccentricity: f64,
    /// A column of both files that tells who is who: links are judged by it, and not made by it
    #[arg(long, value_name = "COLUMN", requires = "with")]
    truth: Option<String>,
    /// Write the links to this CSV file
    #[arg(long, value_name = "FILE.csv", requires = "with")]
    matches: Option<PathBuf>,
    /// ε of the private release beside it
    #[arg(long, value_name = "E", default_value = "1")]
    epsilon: String,
    /// δ of the private release beside it, well below one over the number of rows
    #[arg(long, value_name = "D", default_value = "1e-9")]
    delta: String,
    /// Synthetic people, about
    #[arg(long, value_name = "N", default_value = "200000", value_parser = count)]
    people: u64,
    /// What determines the synthetic people
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

const EXAMPLES: &str = "\
Examples:
  deniable attack linkage                                          synthetic people: a census, a hospital, ratings
  deniable attack linkage people.csv                               which columns single people out
  deniable attack linkage people.csv --columns zip,sex,birth_date --identifying 0.8
  deniable attack linkage hospital.csv --with voters.csv --columns zip,sex,birth_date --names name --matches found.csv
  deniable attack linkage ratings.csv --with reviews.csv --ratings user,film,stars,day

An empty cell is a value like others. Ctrl-C ends a long search with what was found.";

/// The largest sets anybody reads.
const LARGEST_SET: usize = 8;
/// More synthetic people than fit in memory.
const PEOPLE: std::ops::RangeInclusive<u64> = 1_000..=50_000_000;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    arguments.outputs.give(&findings(arguments)?)
}

fn findings(arguments: &Arguments) -> Result<Findings, CliError> {
    let beside = Beside {
        epsilon: Epsilon::parse(&arguments.epsilon).map_err(explained)?,
        delta: Delta::parse(&arguments.delta).map_err(explained)?,
    };
    if !(arguments.identifying > 0.0 && arguments.identifying <= 1.0) {
        return fail(
            "--identifying must be above 0 and at most 1",
            "0.5 is most people, 1 is everybody",
        );
    }
    if !(1..=LARGEST_SET).contains(&arguments.largest) {
        return fail(
            format!("--largest must lie between 1 and {LARGEST_SET}"),
            "3 finds ZIP code, sex and birth date",
        );
    }
    if !(arguments.eccentricity >= 0.0 && arguments.eccentricity.is_finite()) {
        return fail(
            "--eccentricity must not be negative",
            "1.5 is the authors' choice",
        );
    }
    if !PEOPLE.contains(&arguments.people) {
        return fail("--people must lie between 1000 and 5e7", "200000 take a second");
    }
    let interrupt = Interrupt::listen();
    match (&arguments.file, &arguments.with) {
        (None, _) => synthetic(arguments, &beside, &interrupt),
        (Some(file), None) => uniqueness(arguments, file, &beside, &interrupt),
        (Some(file), Some(other)) if arguments.ratings.is_empty() => {
            pair::run(arguments, [file, other], &beside)
        }
        (Some(file), Some(other)) => reviews::run(arguments, [file, other], &beside, &interrupt),
    }
}

/// What the columns of one file single out.
fn uniqueness(
    arguments: &Arguments,
    file: &Path,
    beside: &Beside,
    interrupt: &Interrupt,
) -> Result<Findings, CliError> {
    let sheet = CsvFile::open(file)?;
    let table = {
        let progress = arguments.outputs.progress("reading", sheet.bytes());
        attack::linkage::read_table(sheet, &arguments.columns, &|bytes| progress.advance(bytes))?
    };
    let search = arguments.search(beside);
    let found = {
        let progress = arguments.outputs.progress("sets of columns", search.sets(&table));
        Uniqueness::of(&table, &search, &watched(&progress, interrupt)).map_err(explained)?
    };
    let rows = grouped(table.rows() as u64);
    Ok(found.findings(format!("{rows} rows of `{}`.", file.display())))
}

/// Everything, on synthetic people.
fn synthetic(arguments: &Arguments, beside: &Beside, interrupt: &Interrupt) -> Result<Findings, CliError> {
    let outputs = &arguments.outputs;
    let data = Synthetic::new(arguments.people, arguments.seed, arguments.search(beside));
    let unique = {
        let progress = outputs.progress("sets of columns", data.sets());
        data.uniqueness(&watched(&progress, interrupt))
            .map_err(explained)?
    };
    let progress = outputs.progress("reviewers", u64::from(data.reviewers()));
    Ok(data.findings(&unique, arguments.eccentricity, &watched(&progress, interrupt)))
}

impl Arguments {
    fn search<'asked>(&self, beside: &'asked Beside) -> Search<'asked> {
        Search {
            identifying: self.identifying,
            largest: self.largest,
            beside,
        }
    }
}

#[cfg(test)]
mod tests;
