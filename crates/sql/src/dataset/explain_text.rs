//! An explanation, reported to a person: `deniable explain` and EXPLAIN say the same.

use crate::dataset::explain::{Explanation, Part, StatisticLine};
use crate::dataset::forecast::Forecast;
use crate::dataset::readable::readable;
use crate::finish::cut::CutEstimate;
use crate::price::bounds::{ColumnBounds, IntervalOf};
use accounting::Delta;
use report::{Column, Table, significant};

/// Significant digits of an error: it is an expectation, not a measurement.
const DIGITS: usize = 3;

impl Explanation {
    /// Everything, part by part. `before` is what earlier answers said of what the limits cut; `verbose` shows the engine's plan too.
    pub fn to_text(&self, before: &[CutEstimate], verbose: bool) -> String {
        let mut text = format!("protects {}\n", self.unit);
        let asked = self.parts.iter().filter(|part| !part.estimates_cut).count();
        for (place, part) in self.parts.iter().enumerate() {
            text += "\n";
            if part.estimates_cut {
                text += &estimate(part);
                continue;
            }
            if asked > 1 {
                text += &format!("part {} of {asked}\n", place + 1);
            }
            text += &part_text(part, self.group_size);
            if verbose {
                text += &format!("\nwhat the engine is asked:\n{}", indented(&part.plan));
            }
        }
        if verbose {
            text += &format!(
                "\nwhat is done with the released results, which is free:\n{}",
                indented(&self.after)
            );
        }
        let mut reported = bounds_in_words(&self.bounds);
        if let Some(sets) = &self.sets {
            reported += &format!("sets of groups: {}\n", sets.words);
        }
        for cut in before {
            reported += &format!("cut, as an earlier answer says: {}\n", cut.words);
        }
        for hint in &self.hints {
            reported += &format!("hint: {hint}\n");
        }
        if !reported.is_empty() {
            text += &format!("\n{reported}");
        }
        text += &match self.parts.is_empty() {
            true => "\ncost: nothing: all of it is public\n".to_owned(),
            false => format!("\ncost: {}\n", readable(&self.guarantee)),
        };
        text
    }
}

impl Forecast {
    /// How far the budget goes.
    pub fn to_text(&self) -> String {
        let mut left = format!("left: ε = {} (if spent in one more query)", self.left);
        if self.free {
            return format!("{left}; this query was answered before, so it is free\n");
        }
        if let Some(charge) = self.unfinished {
            return format!(
                "{left}; this query was charged before (charge {charge}) and has no answer yet: asking it again finishes it, for free\n"
            );
        }
        if let Some(after) = &self.left_after {
            left += &format!(", ε = {after} after this one");
        }
        let mut text = match (self.more, self.at_least, &self.fits) {
            (0, _, Some(fits)) => format!("{left}; this query does not fit; for ε = {fits} it would\n"),
            (0, _, None) => format!("{left}; this query does not fit\n"),
            (more, true, _) => format!("{left}; at least {more} like it fit\n"),
            (1, false, _) => format!("{left}; one like it fits\n"),
            (more, false, _) => format!("{left}; about {more} like it fit\n"),
        };
        for before in &self.answered_for {
            text += &format!(
                "hint: the same was answered before for ε = {0} (charge {1}); for that ε it is free\n",
                before.epsilon, before.charge
            );
        }
        text
    }
}

/// What is asked only to know what the limits cut.
fn estimate(part: &Part) -> String {
    let what = part.rows.last().map_or("", String::as_str);
    format!(
        "{what}, for ε = {}:\n{}",
        part.epsilon,
        statistics(&part.statistics)
    )
}

fn part_text(part: &Part, group_size: u64) -> String {
    let mut text = "rows:\n".to_owned();
    for step in &part.rows {
        text += &format!("  {step}\n");
    }
    text += &format!("bounding: {}\ngroups: {}\n", part.bounding, part.groups);
    if let Some(engine) = &part.engine {
        text += &format!("exact numbers by: {engine}\n");
    }
    let delta = if part.delta == Delta::ZERO {
        String::new()
    } else {
        format!(", δ = {}", part.delta)
    };
    text += &format!(
        "\nreleased for each group, for ε = {}{delta}:\n{}",
        part.epsilon,
        statistics(&part.statistics)
    );
    if !part.outputs.is_empty() {
        text += &format!("\nin a group of {group_size} rows:\n{}", outputs(part));
    }
    text
}

fn statistics(lines: &[StatisticLine]) -> String {
    let mut table = Table::new([
        Column::Left("statistic"),
        Column::Right("one adds"),
        Column::Right("to groups"),
        Column::Right("Δ ℓ1"),
        Column::Right("Δ ℓ2"),
        Column::Left("noise"),
        Column::Right("deviation"),
        Column::Right("of the budget"),
    ]);
    for line in lines {
        table.row([
            line.name.clone(),
            format!("{} … {}", number(line.low), number(line.high)),
            line.coordinates.to_string(),
            number(line.l1),
            number(line.l2),
            line.noise.to_owned(),
            significant(line.deviation, DIGITS),
            percent(line.share),
        ]);
    }
    table.to_string()
}

fn outputs(part: &Part) -> String {
    let mut table = Table::new([
        Column::Left("column"),
        Column::Right("expected error"),
        Column::Right("95 % within ±"),
        Column::Right("of the largest"),
        Column::Left("in"),
        Column::Left("± holds"),
    ]);
    let reported = |number: Option<f64>| {
        number.map_or("depends on the data".to_owned(), |number| {
            significant(number, DIGITS)
        })
    };
    for line in &part.outputs {
        table.row([
            line.shown_as.as_ref().unwrap_or(&line.name).clone(),
            reported(line.expected_error),
            reported(line.half_width),
            line.relative.map_or(String::new(), percent),
            line.error_in.to_owned(),
            match (line.half_width, line.interval_of) {
                (None, _) => "",
                (Some(_), IntervalOf::WholeData) => "the truth",
                (Some(_), IntervalOf::AllRows) => "the truth of all rows, with values clamped",
                (Some(_), IntervalOf::BoundedData) => "the truth of the bounded data",
            }
            .to_owned(),
        ]);
    }
    let mut text = table.to_string();
    let wider: Vec<String> = part
        .outputs
        .iter()
        .filter_map(|line| {
            let half = significant(line.half_width_if_cut?, DIGITS);
            Some(format!(
                "± {half} for {}",
                line.shown_as.as_ref().unwrap_or(&line.name)
            ))
        })
        .collect();
    if !wider.is_empty() {
        text += &format!(
            "Where the answer notices that the limits cut something, its intervals include what was cut, and are about as wide as this where a twentieth is cut: {}\n",
            wider.join(", ")
        );
    }
    text
}

/// What bounds the columns, each sentence once.
pub fn bounds_in_words(all: &[ColumnBounds]) -> String {
    let mut sentences: Vec<(&str, Vec<&str>)> = Vec::new();
    for reported in all {
        match sentences.iter_mut().find(|(words, _)| *words == reported.words) {
            Some((_, columns)) => columns.push(&reported.column),
            None => sentences.push((&reported.words, vec![&reported.column])),
        }
    }
    sentences
        .iter()
        .map(|(words, columns)| format!("bounds of {}: {words}\n", columns.join(", ")))
        .collect()
}

/// A bound or sensitivity: exact where it is short.
fn number(value: f64) -> String {
    let short = format!("{value}");
    if short.len() <= 9 {
        short
    } else {
        significant(value, 6)
    }
}

fn percent(part: f64) -> String {
    format!("{} %", significant(part * 100.0, DIGITS))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
