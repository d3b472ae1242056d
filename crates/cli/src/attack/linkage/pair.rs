//! Linking two tables on columns that both have.

use super::matches::{judged_json, judged_words, write};
use super::{Arguments, Beside};
use crate::terminal::CliError;
use ::report::{Findings, grouped, percent};
use attack::csv_file::CsvFile;
use attack::linkage::{Judged, LinkColumns, Links, TwoTables, judge, link};
use report::{Column, Table};
use serde_json::json;
use std::path::Path;

pub(super) fn run(
    arguments: &Arguments,
    [file, other]: [&Path; 2],
    beside: &Beside,
) -> Result<Findings, CliError> {
    let sheets = [CsvFile::open(file)?, CsvFile::open(other)?];
    let asked = LinkColumns {
        columns: &arguments.columns,
        names: arguments.names.as_deref(),
        truth: arguments.truth.as_deref(),
    };
    let tables = {
        let progress = arguments.outputs.reading(&sheets);
        TwoTables::read(sheets, asked, &|bytes| progress.advance(bytes))?
    };
    let links = link(&tables.both, tables.rows[0]);
    let people = tables.people.as_ref();
    let judged = people.map(|people| judge(&links.pairs, people, tables.rows[0]));
    if let Some(path) = &arguments.matches {
        let line = |row: u32| (u64::from(row) + 1).to_string().into_bytes();
        write(
            path,
            ["row", "row_with_name", "name"],
            links.pairs.iter().map(|(row, other)| {
                let name = tables.names.get(*other as usize).map_or(&[][..], Vec::as_slice);
                [line(*row).into(), line(*other).into(), name.into()]
            }),
        )?;
    }
    Ok(findings(
        &links,
        tables.rows,
        &tables.columns,
        judged.as_ref(),
        beside,
    ))
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
