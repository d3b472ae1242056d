//! `deniable attack reconstruct block`: what margins give away about cells of thousands of people.

use crate::delivery::Outputs;
use crate::terminal::{self, CliError, Interrupt, explained, fail};
use accounting::Epsilon;
use attack::Patience;
use attack::blocks::document::{self, TEMPLATE};
use attack::blocks::{self, Block, Effort, Found, Range, around, privately, synthetic};
use noise::Seeded;
use report::{Column, Figure, Findings, Row, Scale, Table, significant};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
/// Cells listed for a person to read.
const SHOWN: usize = 12;

/// What was found about a block.
struct Finding {
    example: Vec<i64>,
    ranges: Vec<Range>,
    seconds: f64,
}

impl Finding {
    /// Cells of which only one number is possible.
    fn known(&self) -> impl Iterator<Item = (usize, i64)> {
        let ranges = self.ranges.iter().enumerate();
        ranges.filter_map(|(cell, range)| Some((cell, range.only()?)))
    }

    fn proved(&self) -> usize {
        self.ranges.iter().filter(|range| range.proved()).count()
    }

    fn people_known(&self) -> i64 {
        self.known().map(|(_, count)| count).sum()
    }

    fn alone(&self) -> usize {
        self.known().filter(|(_, count)| *count == 1).count()
    }

    fn possible(&self) -> Vec<(i64, i64)> {
        self.ranges.iter().map(|range| range.possible).collect()
    }
}

/// What the private release says to who takes it at face value (ranges, or counts that contradict each other), and to who knows its margins of
/// error: what each cell can be at least, or nothing where one of the margins does not hold.
struct Private {
    at_face_value: Result<Finding, Vec<String>>,
    with_margins: Option<Vec<(i64, i64)>>,
}

fn mean_width(ranges: &[(i64, i64)]) -> f64 {
    let widths = ranges.iter().map(|(low, high)| high - low);
    widths.sum::<i64>() as f64 / ranges.len().max(1) as f64
}

fn still_known(ranges: &[(i64, i64)]) -> usize {
    ranges.iter().filter(|(low, high)| low == high).count()
}

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
            contradicting(&counts)
        ))
        .with_hint("check these counts; rounded ones need `rounded_to`")
    })?;
    // Margins with suppressed or rounded counts say too little about the block to release it again.
    let exact = block.margins.iter().flat_map(|margin| &margin.counts);
    let exact = exact
        .clone()
        .all(|count| count.is_some_and(|(low, high)| low == high));
    let private = if exact {
        let (printed, careful) =
            privately(&block, &epsilon, Seeded::new(arguments.seed)).map_err(explained)?;
        Some(Private {
            at_face_value: search(&printed, arguments, &interrupt, "with noise, at face value")?,
            // The block that was found has the exact margins, so it is one of those behind the noisy ones.
            with_margins: around(&careful, &finding.example),
        })
    } else {
        None
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
) -> Result<Result<Finding, Vec<String>>, CliError> {
    let start = Instant::now();
    let Ok(seconds) = Duration::try_from_secs_f64(arguments.seconds) else {
        return fail("--seconds must be a positive number", "write it as 60 or 0.5");
    };
    let effort = Effort {
        splits: arguments.splits,
        patience: Patience::lasting(seconds).unless(interrupt.flag()),
    };
    let progress = arguments.outputs.progress(label, block.cells() as u64);
    let found = blocks::ranges(block, &effort, |_| progress.advance(1)).map_err(explained)?;
    Ok(match found {
        Found::Contradiction(counts) => Err(counts),
        Found::Consistent { example, ranges } => Ok(Finding {
            example,
            ranges,
            seconds: start.elapsed().as_secs_f64(),
        }),
    })
}

/// A few of the counts that cannot all be true.
fn contradicting(counts: &[String]) -> String {
    const ENOUGH: usize = 8;
    match counts.len() {
        0 => "fractions of people would fit, and whole people do not".to_owned(),
        many if many > ENOUGH => format!(
            "the counts of {} and {} others cannot all be true",
            counts[..ENOUGH].join("; "),
            many - ENOUGH
        ),
        _ => format!("the counts of {} cannot all be true", counts.join("; ")),
    }
}

struct Report<'r> {
    name: String,
    block: &'r Block,
    truth: Option<Vec<i64>>,
    finding: Finding,
    private: Option<Private>,
    epsilon: Epsilon,
    seed: u64,
}

impl Report<'_> {
    fn to_text(&self) -> String {
        let Finding { ranges, seconds, .. } = &self.finding;
        let counts: usize = self.block.margins.iter().map(|margin| margin.counts.len()).sum();
        let people: i64 = self.finding.example.iter().sum();
        let mut text = format!(
            "{}: {} cells, {counts} published counts in {} margins\n\n",
            self.name,
            ranges.len(),
            self.block.margins.len()
        );
        let unproved = ranges.len() - self.finding.proved();
        let _ = writeln!(
            text,
            "The range of every cell, {} ({} s):",
            if unproved == 0 {
                "each end proved".to_owned()
            } else {
                format!("{unproved} of them not proved tight")
            },
            significant(*seconds, 2)
        );
        let mut table = Table::new([
            Column::Left("width"),
            Column::Right("cells"),
            Column::Right("people*"),
        ]);
        for (label, least, most) in WIDTHS {
            let inside = |range: &&(usize, &Range)| {
                (*least..=*most).contains(&(range.1.possible.1 - range.1.possible.0))
            };
            let cells: Vec<(usize, &Range)> =
                ranges.iter().enumerate().filter(|range| inside(&range)).collect();
            let people: i64 = cells.iter().map(|(cell, _)| self.finding.example[*cell]).sum();
            table.row([(*label).to_owned(), cells.len().to_string(), people.to_string()]);
        }
        let _ = write!(
            text,
            "{table}* in one block with these margins; those of width 0 are the same in all.\n\n"
        );
        let _ = writeln!(
            text,
            "Known for certain: {} of {} cells, with {} of {people} people. Known cells with one person: {}.",
            self.finding.known().count(),
            ranges.len(),
            self.finding.people_known(),
            self.finding.alone(),
        );
        let some: Vec<(usize, i64)> = self
            .finding
            .known()
            .filter(|(_, count)| *count > 0)
            .take(SHOWN)
            .collect();
        for (cell, count) in &some {
            let _ = writeln!(text, "  {count} × {}", self.block.name(*cell).join(", "));
        }
        if some.len() == SHOWN {
            let _ = writeln!(text, "  … --json prints the range of every cell");
        }
        if let Some(truth) = &self.truth {
            let inside = self.contains(truth);
            let _ = writeln!(
                text,
                "The synthetic truth lies within {inside} of {} ranges.",
                ranges.len()
            );
        }
        let _ = writeln!(text, "\n{}", self.bound());
        if let Some(private) = &self.private {
            let _ = writeln!(text, "{}", self.released(private));
        }
        text
    }

    fn contains(&self, truth: &[i64]) -> usize {
        let pairs = self.finding.ranges.iter().zip(truth);
        pairs
            .filter(|(range, count)| (range.possible.0..=range.possible.1).contains(count))
            .count()
    }

    /// e^ε/(1+e^ε): the odds of two neighbouring blocks move by at most e^ε, from one to one.
    fn sure(&self) -> f64 {
        1.0 / (1.0 + (-self.epsilon.to_f64_up()).exp())
    }

    fn bound(&self) -> String {
        format!(
            "After a release with ε = {}, whether one person is in a cell, if even odds before, is known with probability at most {} %.",
            self.epsilon,
            significant(100.0 * self.sure(), 3)
        )
    }

    fn released(&self, private: &Private) -> String {
        let face = match &private.at_face_value {
            Err(counts) => format!("no block has these margins: {}", contradicting(counts)),
            Ok(finding) => format!(
                "{} cells known, with {} people",
                finding.known().count(),
                finding.people_known()
            ),
        };
        let margins = match &private.with_margins {
            None => "one of the margins does not hold, which happens with probability 0.05".to_owned(),
            Some(ranges) => format!(
                "{} cells known; a range is {} wide on average at least, and {} without noise",
                still_known(ranges),
                significant(mean_width(ranges), 3),
                significant(mean_width(&self.finding.possible()), 3)
            ),
        };
        format!(
            "The same margins released with ε = {} (seed {}):\n  taken at face value   {face}\n  within its margins    {margins}",
            self.epsilon, self.seed,
        )
    }

    /// The ranges, narrowest first.
    fn figure(&self) -> Figure {
        let mut order: Vec<usize> = (0..self.finding.ranges.len()).collect();
        order.sort_by_key(|&cell| {
            let (low, high) = self.finding.ranges[cell].possible;
            (high - low, high)
        });
        let bands = |ranges: &[(i64, i64)]| -> Vec<(f64, f64, f64)> {
            let places = order.iter().enumerate();
            places
                .map(|(place, &cell)| (place as f64, ranges[cell].0 as f64, ranges[cell].1 as f64))
                .collect()
        };
        let mut figure = Figure::new("What the margins say about each cell")
            .x_axis("cells, narrowest range first", Scale::Linear)
            .y_axis("people in the cell", Scale::Linear);
        if let Some(ranges) = self
            .private
            .as_ref()
            .and_then(|private| private.with_margins.as_ref())
        {
            figure = figure.band(format!("with ε = {}, at least", self.epsilon), &bands(ranges));
        }
        figure = figure.band("as published", &bands(&self.finding.possible()));
        if let Some(truth) = &self.truth {
            let points: Vec<(f64, f64)> = order
                .iter()
                .enumerate()
                .map(|(place, &cell)| (place as f64, truth[cell] as f64))
                .collect();
            figure = figure.points("truth", &points);
        }
        figure
    }

    fn findings(&self) -> Findings {
        let known = self.finding.known().count();
        let cells = self.finding.ranges.len();
        let allowed = format!(
            "at most {} % sure of anybody at ε = {}",
            significant(100.0 * self.sure(), 3),
            self.epsilon
        );
        let text = self.to_text();
        let published = Row::new(
            "margins",
            "the published margins tell no cell for certain",
            allowed.clone(),
            format!("{known} of {cells} cells, {} people", self.finding.people_known()),
            known == 0,
        )
        .note(&text);
        let private = self.private.as_ref().map(|private| {
            let naive = private.at_face_value.as_ref();
            let known = naive.map_or(0, |finding| finding.known().count())
                + private.with_margins.as_deref().map_or(0, still_known);
            Row::new(
                "private",
                "nor do the same margins with differential privacy",
                allowed,
                format!("{known} of {cells} cells"),
                known == 0,
            )
            .note(self.released(private))
        });
        Findings {
            text,
            json: self.to_json(),
            title: "Reconstruction of a block from its margins",
            introduction: format!("{}: {cells} cells.\n\n{}", self.name, self.bound()),
            rows: [published].into_iter().chain(private).collect(),
            figures: vec![self.figure()],
        }
    }

    fn to_json(&self) -> Value {
        let found = |finding: &Finding| {
            json!({
                "seconds": finding.seconds,
                "known_cells": finding.known().count(),
                "known_people": finding.people_known(),
                "alone_in_a_known_cell": finding.alone(),
                "proved_cells": finding.proved(),
                "mean_width": mean_width(&finding.possible()),
            })
        };
        let said = |result: &Result<Finding, Vec<String>>| match result {
            Err(counts) => json!({"contradiction": counts}),
            Ok(finding) => found(finding),
        };
        let cells: Vec<Value> = self
            .finding
            .ranges
            .iter()
            .enumerate()
            .map(|(cell, range)| {
                json!({
                    "cell": self.block.name(cell),
                    "low": range.possible.0,
                    "high": range.possible.1,
                    "proved": range.proved(),
                    "example": self.finding.example[cell],
                    "truth": self.truth.as_ref().map(|truth| truth[cell]),
                })
            })
            .collect();
        json!({
            "block": self.name,
            "categories": self.block.categories.iter().map(|category| category.name.as_str()).collect::<Vec<_>>(),
            "found": found(&self.finding),
            "truth_within": self.truth.as_ref().map(|truth| self.contains(truth)),
            "cells": cells,
            "sure_at_most": {"epsilon": self.epsilon.to_string(), "probability": self.sure()},
            "private_release": self.private.as_ref().map(|private| json!({
                "epsilon": self.epsilon.to_string(),
                "seed": self.seed,
                "at_face_value": said(&private.at_face_value),
                "within_margins": private.with_margins.as_ref().map(|ranges| json!({
                    "known_cells": still_known(ranges),
                    "mean_width_at_least": mean_width(ranges),
                })),
            })),
        })
    }
}

/// How wide ranges are, for a person to read.
const WIDTHS: &[(&str, i64, i64)] = &[
    ("0", 0, 0),
    ("1 to 2", 1, 2),
    ("3 to 5", 3, 5),
    ("6 to 10", 6, 10),
    ("above 10", 11, i64::MAX),
];
