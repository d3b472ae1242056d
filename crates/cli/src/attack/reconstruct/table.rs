//! `deniable attack reconstruct table`: the people behind a published table.

use crate::delivery::Outputs;
use crate::terminal::{self, CliError, Interrupt, Progress, explained, fail};
use accounting::Epsilon;
use attack::Patience;
use attack::published::document::{self, CENSUS, Described};
use attack::published::{self, Cell, Effort, Engine, StatisticKind, Table, males_of_the_census};
use clap::ValueEnum;
use experiments::reconstruction::table::{self, Private, Report};
use std::path::PathBuf;
use std::time::Duration;

/// Rebuild people from a table of counts, medians and means
///
/// Every published number is a constraint on the people behind it. A SAT solver looks for all sets of people that the table allows, and proves
/// when there are no more. Means stand for everything that rounds to them. Without a file the table is a census example: seven people, and one
/// solution.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable attack reconstruct table                          the census example: all seven people, proved
  deniable attack reconstruct table --drop 3B.mean           … with one number less: three solutions
  deniable attack reconstruct table --drop 4A --drop 3B      … with all numbers of two groups less
  deniable attack reconstruct table --example males          three men of whom count, median and mean are known
  deniable attack reconstruct table --template > mine.toml   a file to start from
  deniable attack reconstruct table mine.toml --limit 1000 --html report.html

The report ends with the same table released with differential privacy (--epsilon): taken at face value it has no
solution; within its margins of error it has very many.

Exit code: 0 when the search ran, 2 when the table cannot be used or contradicts itself.")]
pub(super) struct Arguments {
    /// A table in TOML; --template prints one
    #[arg(conflicts_with = "example")]
    file: Option<PathBuf>,
    /// The built-in table to use
    #[arg(long, value_enum, default_value_t = Example::Census)]
    example: Example,
    /// Suppress a number (2A.mean) or a whole group (2A) first; can be repeated
    #[arg(long, value_name = "CELL")]
    drop: Vec<String>,
    /// Stop after this many solutions
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Stop after this many seconds and keep what was found
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// The SAT solver
    #[arg(long, value_enum, default_value_t = Solver::Batsat)]
    solver: Solver,
    /// Do not look at what happens without each number
    #[arg(long)]
    no_cells: bool,
    /// The ε of the private release that is shown for comparison
    #[arg(long, value_name = "E", default_value = "1")]
    epsilon: String,
    /// Where the noise of that release starts from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the census example as a file, and stop
    #[arg(long)]
    template: bool,
    /// Write a self-contained report
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Example {
    /// Seven people in fourteen groups
    Census,
    /// The three men of the census example alone
    Males,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Solver {
    /// BatSat, in Rust
    Batsat,
    /// CaDiCaL, in C++
    #[cfg(feature = "cadical")]
    Cadical,
}

/// More would not be read.
const MOST_SOLUTIONS: usize = 1_000_000;
/// Enough to see that solutions multiply when a number is left out.
const ENOUGH_WITHOUT: usize = 20;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    if arguments.template {
        return terminal::print(CENSUS);
    }
    let (name, mut described) = described(arguments)?;
    for drop in &arguments.drop {
        drop_cell(&mut described.table, drop)?;
    }
    let effort = effort(arguments, &Interrupt::listen())?;
    let epsilon = Epsilon::parse(&arguments.epsilon).map_err(explained)?;
    let table = &described.table;
    let cells = table.cells().len() as u64;
    let steps = 2 + if arguments.no_cells { 0 } else { cells };
    let progress = Progress::new("searching", steps, arguments.json || arguments.quiet);

    let findings = published::reconstruct(table, &effort).map_err(explained)?;
    progress.advance(1);
    if findings.complete && findings.solutions.is_empty() {
        return Err(contradiction(&described, &effort)?);
    }
    let influences = if arguments.no_cells {
        Vec::new()
    } else {
        progress.label("without each number");
        let effort = Effort {
            limit: effort.limit.min(ENOUGH_WITHOUT),
            ..effort.clone()
        };
        published::influence(table, &effort, |_| progress.advance(1)).map_err(explained)?
    };
    let enough = if arguments.no_cells {
        None
    } else {
        published::enough(table, &effort).map_err(explained)?
    };
    progress.label("with differential privacy");
    let private = match findings.solutions.first() {
        Some(people) => {
            let private = Private::of(table, people, &epsilon, arguments.seed, &effort);
            Some(private.map_err(explained)?)
        }
        None => None,
    };
    drop(progress);

    let report = Report {
        name: &name,
        table,
        dropped: &arguments.drop,
        findings: &findings,
        influences: &influences,
        enough: enough.as_deref(),
        private: private.as_ref(),
        epsilon: &epsilon,
        seed: arguments.seed,
    };
    Outputs::without_figure(arguments.html.clone(), arguments.json).give(&report.findings())
}

/// The table that was asked for, and what to call it.
fn described(arguments: &Arguments) -> Result<(String, Described), CliError> {
    let Some(path) = &arguments.file else {
        return Ok(match arguments.example {
            Example::Census => ("the census example".to_owned(), document::parse(CENSUS)?),
            Example::Males => (
                "the men of the census example".to_owned(),
                Described {
                    table: males_of_the_census(),
                    lines: Default::default(),
                },
            ),
        });
    };
    Ok((path.display().to_string(), document::read(path)?))
}

fn effort(arguments: &Arguments, interrupt: &Interrupt) -> Result<Effort, CliError> {
    if !(1..=MOST_SOLUTIONS).contains(&arguments.limit) {
        return fail(
            format!("--limit must lie between 1 and {MOST_SOLUTIONS}"),
            "100 are enough to see what solutions have in common",
        );
    }
    let seconds = arguments.seconds.map(Duration::try_from_secs_f64).transpose();
    let Ok(seconds) = seconds else {
        return fail("--seconds must be a positive number", "write it as 60 or 0.5");
    };
    Ok(Effort {
        limit: arguments.limit,
        patience: seconds
            .map_or(Patience::endless(), Patience::lasting)
            .unless(interrupt.flag()),
        engine: match arguments.solver {
            Solver::Batsat => Engine::BatSat,
            #[cfg(feature = "cadical")]
            Solver::Cadical => Engine::CaDiCaL,
        },
    })
}

/// Suppresses `2A.mean`, or all of `2A`.
fn drop_cell(table: &mut Table, name: &str) -> Result<(), CliError> {
    let (group, kind) = match name.split_once('.') {
        None => (name, None),
        Some((group, kind)) => {
            let known = StatisticKind::ALL
                .into_iter()
                .find(|known| known.to_string() == kind);
            if known.is_none() {
                return fail(
                    format!("`{kind}` is no kind of number"),
                    "a cell is a group and a kind, as 2A.count, 2A.median or 2A.mean",
                );
            }
            (group, known)
        }
    };
    if table.suppress(group, kind) {
        return Ok(());
    }
    let mut known: Vec<String> = table.cells().iter().map(Cell::to_string).collect();
    known.truncate(40);
    fail(
        format!("the table has no published number `{name}`"),
        format!("it has {}", known.join(", ")),
    )
}

/// The error of a table that nobody can be behind.
fn contradiction(described: &Described, effort: &Effort) -> Result<CliError, CliError> {
    let conflict = published::conflict(&described.table, effort).map_err(explained)?;
    let Some(conflict) = conflict else {
        return Ok(CliError::bad_input("the table contradicts itself")
            .with_hint("give --seconds more time to find the numbers that do"));
    };
    let listed = table::contradiction(&conflict, &described.lines);
    let hint = if conflict.minimal {
        "any one of these numbers left out would do: check them, their conditions and the decimals of means"
    } else {
        "check these numbers, their conditions and the decimals of means"
    };
    Ok(CliError::bad_input(format!("the table contradicts itself: {listed}")).with_hint(hint))
}
