//! What margins reveal about the cells of a block.

use accounting::Epsilon;
use attack::Error;
use attack::blocks::{self, Block, Effort, Found, Range, around, privately};
use noise::Seeded;
use report::{Column, Figure, Findings, Row, Scale, Table, significant};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Instant;

/// Cells listed for a person to read.
const SHOWN: usize = 12;

/// What was found about a block.
#[derive(Clone, Debug)]
pub struct Finding {
    /// One block that has the margins.
    pub example: Vec<i64>,
    /// What each cell can be.
    pub ranges: Vec<Range>,
    /// How long it took.
    pub seconds: f64,
}

/// What was found, or the counts that contradict each other.
pub type Searched = Result<Finding, Vec<String>>;

/// The range of every cell; `cell` is told of each that is done.
///
/// # Errors
/// When the margins cannot be used.
pub fn search(block: &Block, effort: &Effort, mut cell: impl FnMut()) -> Result<Searched, Error> {
    let start = Instant::now();
    Ok(match blocks::ranges(block, effort, |_| cell())? {
        Found::Contradiction(counts) => Err(counts),
        Found::Consistent { example, ranges } => Ok(Finding {
            example,
            ranges,
            seconds: start.elapsed().as_secs_f64(),
        }),
    })
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

/// What the private release says to two attackers. One takes it at face value: ranges, or counts that
/// contradict each other. The other knows its margins of error: what each cell can be at least, or nothing if
/// one of the margins does not hold.
#[derive(Clone, Debug)]
pub struct Private {
    at_face_value: Searched,
    with_margins: Option<Vec<(i64, i64)>>,
}

/// The margins of a block with noise: as they are printed, and with their margins of error.
#[derive(Clone, Debug)]
pub struct Released {
    /// The noisy counts, taken at face value.
    pub printed: Block,
    careful: Block,
}

impl Released {
    /// Releases the margins of a block with ε; `None` if counts are suppressed or rounded, which say too
    /// little about the block to release it again.
    ///
    /// # Errors
    /// When the mechanism cannot be built.
    pub fn of(block: &Block, epsilon: &Epsilon, seed: u64) -> Result<Option<Self>, Error> {
        let mut counts = block.margins.iter().flat_map(|margin| &margin.counts);
        if !counts.all(|count| count.is_some_and(|(low, high)| low == high)) {
            return Ok(None);
        }
        let (printed, careful) = privately(block, epsilon, Seeded::new(seed))?;
        Ok(Some(Self { printed, careful }))
    }

    /// What it says beside what the exact margins said.
    pub fn against(&self, at_face_value: Searched, exact: &Finding) -> Private {
        Private {
            at_face_value,
            // The block that was found has the exact margins, so it is one of those behind the noisy ones.
            with_margins: around(&self.careful, &exact.example),
        }
    }
}

fn mean_width(ranges: &[(i64, i64)]) -> f64 {
    let widths = ranges.iter().map(|(low, high)| high - low);
    widths.sum::<i64>() as f64 / ranges.len().max(1) as f64
}

fn still_known(ranges: &[(i64, i64)]) -> usize {
    ranges.iter().filter(|(low, high)| low == high).count()
}

/// A few of the counts that cannot all be true.
pub fn contradicting(counts: &[String]) -> String {
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

/// What margins give away about a block, to be reported.
#[derive(Clone, Debug)]
pub struct Report<'r> {
    /// What to call the block.
    pub name: String,
    /// The block.
    pub block: &'r Block,
    /// The people in each cell, if they are known.
    pub truth: Option<Vec<i64>>,
    /// What the margins say.
    pub finding: Finding,
    /// What the same margins say with noise.
    pub private: Option<Private>,
    /// The ε of that release.
    pub epsilon: Epsilon,
    /// Where its noise starts from.
    pub seed: u64,
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

    /// In words, as an object, and drawn.
    pub fn findings(&self) -> Findings {
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
