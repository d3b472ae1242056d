//! Linking two tables on columns that both have.

use super::matches::{judged_json, judged_words, write};
use super::uniqueness::distinct;
use super::{Arguments, Beside};
use crate::attack::table::Source;
use crate::terminal::{CliError, explained, fail};
use ::report::{Findings, grouped, percent};
use attack::linkage::{self, Judged, Links, judge, link};
use report::{Column, Table};
use serde_json::json;
use std::path::Path;

pub(super) fn run(
    arguments: &Arguments,
    [file, other]: [&Path; 2],
    beside: &Beside,
) -> Result<Findings, CliError> {
    let sources = [Source::open(file)?, Source::open(other)?];
    let columns = shared(arguments, &sources)?;
    let names = arguments
        .names
        .as_ref()
        .map(|name| sources[1].column(name))
        .transpose()?;
    let mut both = linkage::Table::new(columns.iter().cloned());
    let mut people = linkage::Table::new(arguments.truth.clone());
    let mut named = Vec::new();
    let mut rows = [0; 2];
    for (side, mut source) in sources.into_iter().enumerate() {
        let places = places(&source, &columns)?;
        let truth = arguments
            .truth
            .as_ref()
            .map(|name| source.column(name))
            .transpose()?;
        let progress = arguments.outputs.progress("reading", source.bytes());
        source.each(&progress, |_, record| {
            rows[side] += 1;
            let field = |place: &usize| record.get(*place).unwrap_or_default();
            both.push(places.iter().map(field)).map_err(explained)?;
            people.push(truth.iter().map(field)).map_err(explained)?;
            if let (1, Some(place), Some(_)) = (side, names, &arguments.matches) {
                named.push(field(&place).to_vec());
            }
            Ok(())
        })?;
    }
    let links = link(&both, rows[0]);
    let judged = arguments
        .truth
        .as_ref()
        .map(|_| judge(&links.pairs, people.codes(0), rows[0]));
    if let Some(path) = &arguments.matches {
        let line = |row: u32| (u64::from(row) + 1).to_string().into_bytes();
        write(
            path,
            ["row", "row_with_name", "name"],
            links.pairs.iter().map(|(row, other)| {
                let name = named.get(*other as usize).map_or(&[][..], Vec::as_slice);
                [line(*row).into(), line(*other).into(), name.into()]
            }),
        )?;
    }
    Ok(findings(&links, rows, &columns, judged.as_ref(), beside))
}

/// The columns to link on.
fn shared(arguments: &Arguments, sources: &[Source; 2]) -> Result<Vec<String>, CliError> {
    if !arguments.columns.is_empty() {
        let columns = distinct(&arguments.columns)?;
        for source in sources {
            places(source, &columns)?;
        }
        if arguments
            .truth
            .as_ref()
            .is_some_and(|truth| columns.contains(truth))
        {
            return fail(
                "--truth is one of --columns, so links would be made by what they are judged by",
                "leave it out of --columns",
            );
        }
        return Ok(columns);
    }
    let columns: Vec<String> = sources[0]
        .names()
        .iter()
        .filter(|name| sources[1].names().contains(name))
        .filter(|name| arguments.truth.as_ref() != Some(name) && arguments.names.as_ref() != Some(name))
        .cloned()
        .collect();
    if columns.is_empty() {
        return fail(
            "the two files have no column of the same name",
            "name the columns alike in both files",
        );
    }
    Ok(columns)
}

fn places(source: &Source, columns: &[String]) -> Result<Vec<usize>, CliError> {
    columns.iter().map(|name| source.column(name)).collect()
}

/// What was linked, for everybody.
pub(super) fn findings(
    links: &Links,
    rows: [usize; 2],
    columns: &[String],
    judged: Option<&Judged>,
    beside: &Beside,
) -> Findings {
    let mut table = Table::new([
        Column::Left("rows of the first table"),
        Column::Right("rows"),
        Column::Right("share"),
    ]);
    for (what, count) in [
        ("singled out in it", links.alone_in_first),
        ("linked to one row with a name", links.pairs.len()),
        ("with several candidates", links.several),
        ("without a candidate", links.unmatched),
    ] {
        let share = if rows[0] == 0 {
            0.0
        } else {
            count as f64 / rows[0] as f64
        };
        table.row([what.to_owned(), grouped(count as u64), percent(share)]);
    }
    let introduction = format!(
        "{} rows linked to {} rows with names on {}.",
        grouped(rows[0] as u64),
        grouped(rows[1] as u64),
        columns.join(", ")
    );
    Findings {
        text: format!(
            "{introduction}\n\n{table}\n{}\n{}\n",
            judged_words(judged),
            beside.words()
        ),
        json: json!({
            "command": "attack linkage",
            "columns": columns,
            "rows": rows[0],
            "rows_with_names": rows[1],
            "singled_out": links.alone_in_first,
            "linked": links.pairs.len(),
            "several_candidates": links.several,
            "no_candidate": links.unmatched,
            "judged": judged_json(judged),
            "right_guesses_allowed": beside.right_guesses(),
        }),
        title: "Deniable: linking two tables",
        introduction,
        rows: vec![beside.row(
            "links",
            "rows without names that got one",
            links.pairs.len(),
            judged,
        )],
        figures: Vec::new(),
    }
}
