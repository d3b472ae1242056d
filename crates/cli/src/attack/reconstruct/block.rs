//! `deniable attack reconstruct block`: what margins reveal about cells of thousands of people.

use crate::delivery::Outputs;
use crate::terminal::{self, CliError, Interrupt, explained, fail};
use accounting::Epsilon;
use attack::Patience;
use attack::blocks::document::{self, TEMPLATE};
use attack::blocks::{Block, Effort, synthetic};
use experiments::reconstruction::block::{self, Released, Report, Searched};
use std::path::PathBuf;
use std::time::Duration;

/// Find what margins of a block give away about its cells
///
/// A block is a table of people by a few categories; published are counts by some of them. For every cell the least and the greatest number
/// that the margins allow is found in exact arithmetic, each with a block that has it. A cell whose range is one number has been published.
/// Without a file the block is synthetic, and all of its two-way margins are published.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable attack reconstruct block                          3000 synthetic people, 504 cells, 230 published counts
  deniable attack reconstruct block --people 300             … a smaller block is easier to see through
  deniable attack reconstruct block --template > mine.toml   a file to start from
  deniable attack reconstruct block mine.toml --json
  deniable attack reconstruct block --html report.html --plot ranges.svg

The report ends with the same margins released with differential privacy (--epsilon).

Exit code: 0 when the ranges were found, 2 when the margins cannot be used or contradict each other.")]
pub(super) struct Arguments {
    /// Margins in TOML; --template prints an example
    file: Option<PathBuf>,
    /// How many people to make up
    #[arg(long, value_name = "N", default_value_t = 3000, conflicts_with = "file")]
    people: u64,
    /// Where the synthetic people and the noise start from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The ε of the private release that is shown for comparison
    #[arg(long, value_name = "E", default_value = "1")]
    epsilon: String,
    /// Split the program of one bound into at most this many parts; what is not proved by then is said to be so
    #[arg(long, value_name = "N", default_value_t = 200)]
    splits: usize,
    /// Stop after this many seconds and say which ranges are not proved
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    seconds: f64,
    /// Print a small example as a file, and stop
    #[arg(long)]
    template: bool,
    #[command(flatten)]
    outputs: Outputs,
}

const MOST_PEOPLE: u64 = 1_000_000;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    if arguments.template {
        return terminal::print(TEMPLATE);
    }
    if !(1..=MOST_PEOPLE).contains(&arguments.people) {
        return fail(
            format!("--people must lie between 1 and {MOST_PEOPLE}"),
            "a block has a few thousand",
        );
    }
    arguments.outputs.check()?;
    let epsilon = Epsilon::parse(&arguments.epsilon).map_err(explained)?;
    let (name, block, truth) = match &arguments.file {
        None => {
            let (block, truth) = synthetic(arguments.people, arguments.seed);
            (
                format!("{} synthetic people", arguments.people),
                block,
                Some(truth),
            )
        }
        Some(path) => (path.display().to_string(), document::read(path)?, None),
    };
    let interrupt = Interrupt::listen();
    let finding = search(&block, arguments, &interrupt, "ranges")?.map_err(|counts| {
        CliError::bad_input(format!(
            "the margins contradict each other: {}",
            block::contradicting(&counts)
        ))
        .with_hint("check these counts; rounded ones need `rounded_to`")
    })?;
    let private = match Released::of(&block, &epsilon, arguments.seed).map_err(explained)? {
        Some(released) => {
            let naive = search(
                &released.printed,
                arguments,
                &interrupt,
                "with noise, at face value",
            )?;
            Some(released.against(naive, &finding))
        }
        None => None,
    };
    let report = Report {
        name,
        block: &block,
        truth,
        finding,
        private,
        epsilon,
        seed: arguments.seed,
    };
    arguments.outputs.give(&report.findings())
}

/// The ranges of a block, or the counts that contradict each other.
fn search(
    block: &Block,
    arguments: &Arguments,
    interrupt: &Interrupt,
    label: &str,
) -> Result<Searched, CliError> {
    let Ok(seconds) = Duration::try_from_secs_f64(arguments.seconds) else {
        return fail("--seconds must be a positive number", "write it as 60 or 0.5");
    };
    let effort = Effort {
        splits: arguments.splits,
        patience: Patience::lasting(seconds).unless(interrupt.flag()),
    };
    let progress = arguments.outputs.progress(label, block.cells() as u64);
    block::search(block, &effort, || progress.advance(1)).map_err(explained)
}
