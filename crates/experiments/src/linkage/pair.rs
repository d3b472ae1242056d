//! Two tables, linked on columns that both have.

use super::Beside;
use super::judged::{judged_json, judged_words};
use ::report::{Column, Findings, Table, grouped, percent};
use attack::linkage::{Judged, Links};
use serde_json::json;

/// What was linked of tables with so many rows, on these columns, in words and as an object.
pub fn linked(
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
