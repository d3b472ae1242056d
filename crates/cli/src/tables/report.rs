//! Releases as people read them.

use crate::terminal::{CliError, fail};
use accounting::Epsilon;
use report::{Column, Figure, Page, Scale, Table, grouped, significant};
use serde_json::{Value, json};
use sql::catalog::PlannedRelease;
use sql::{ReleaseExplanation, ReleasedTables, WantedError, WantedTableError, readable};
use std::path::Path;

/// So many tables are named.
const MOST_NAMED: usize = 60;
/// So many values of an attribute are named.
const MOST_VALUES: usize = 5;

/// A release of the catalog, and whether it was made.
pub(super) struct Described<'a> {
    pub(super) release: &'a PlannedRelease,
    pub(super) explanation: ReleaseExplanation,
    pub(super) made: Option<u64>,
}

impl Described<'_> {
    pub(super) fn json(&self) -> Value {
        let attributes = self.release.attributes.iter().zip(&self.explanation.levels);
        let attributes: Vec<Value> = attributes
            .map(|(attribute, levels)| {
                let labels = attribute.cells.labels().into_iter().map(|label| label.text);
                json!({
                    "name": attribute.name,
                    "column": attribute.column,
                    "values": labels.collect::<Vec<String>>(),
                    "levels": levels,
                })
            })
            .collect();
        json!({
            "name": self.release.name,
            "table": self.release.table,
            "condition": self.release.condition,
            "attributes": attributes,
            "tables": self.explanation.tables.len(),
            "cells": self.explanation.cells,
            "guarantee": self.explanation.guarantee.to_string(),
            "made_by_charge": self.made,
        })
    }

    pub(super) fn text(&self) -> String {
        let explanation = &self.explanation;
        let mut text = format!(
            "{}: {} tables of {}, {} cells, for {}\n",
            self.release.name,
            grouped(explanation.tables.len() as u64),
            self.release.table,
            grouped(explanation.cells),
            readable(&explanation.guarantee),
        );
        if let Some(condition) = &self.release.condition {
            text += &format!("  where {condition}\n");
        }
        let mut table = Table::new([
            Column::Left("attribute"),
            Column::Right("cells"),
            Column::Left("values"),
            Column::Left("levels above"),
        ]);
        for (attribute, levels) in self.release.attributes.iter().zip(&explanation.levels) {
            let labels: Vec<String> = attribute
                .cells
                .labels()
                .into_iter()
                .map(|label| label.text)
                .collect();
            let mut values = labels
                .iter()
                .take(MOST_VALUES)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            if labels.len() > MOST_VALUES {
                values += ", …";
            }
            table.row([
                attribute.name.clone(),
                grouped(labels.len() as u64),
                values,
                levels[1..].join(" < "),
            ]);
        }
        text += &table.to_string();
        text += &match self.made {
            Some(charge) => format!(
                "made by charge {charge}: `deniable tables show {}`\n",
                self.release.name
            ),
            None => format!("not made yet: `deniable tables explain {}`\n", self.release.name),
        };
        text
    }
}

/// The ε that was found for an error.
pub(super) fn found(wanted: &WantedTableError, epsilon: &Epsilon, release: &str) -> String {
    let of = match wanted.error {
        WantedError::Relative(_) => format!(" of a cell of {} rows (--cell-size)", grouped(wanted.cell_size)),
        WantedError::Absolute(_) => " rows".to_owned(),
    };
    let tables = match wanted.tables.as_slice() {
        [] => "every table".to_owned(),
        tables => tables.join(", "),
    };
    format!(
        "\nε = {epsilon} is the smallest, to three digits, for which the expected error of a cell of {tables} is at most {}{of};\n\
         say epsilon = {epsilon} under [releases.{release}] in the catalog\n",
        wanted.error
    )
}

/// What was made.
pub(super) fn made(released: &ReleasedTables) -> String {
    let names = released.names();
    format!(
        "release {}: {} tables of {}\n{}",
        released.release,
        grouped(names.len() as u64),
        released.table,
        how_to_read(released)
    )
}

fn how_to_read(released: &ReleasedTables) -> String {
    let name = &released.release;
    let by = released.names().into_iter().find(|name| name != "total");
    let by = by.map_or("total".to_owned(), |name| name.replace(" × ", ","));
    format!(
        "show one with: deniable tables show {name} --by {by}\nwrite all with: deniable tables export {name} --output {name}/\n"
    )
}

/// The names of its tables.
pub(super) fn names(released: &ReleasedTables) -> String {
    let names = released.names();
    let mut text = format!(
        "release {}: {} tables\n",
        released.release,
        grouped(names.len() as u64)
    );
    for name in names.iter().take(MOST_NAMED) {
        text += &format!("  {name}\n");
    }
    if names.len() > MOST_NAMED {
        text += &format!("  … and {} more\n", names.len() - MOST_NAMED);
    }
    text + &how_to_read(released)
}

/// What it cost and what is left, for standard error.
pub(super) fn cost(released: &ReleasedTables, analyst: &str) -> String {
    let (guarantee, charge) = (readable(&released.cost.guarantee), released.cost.charge);
    let mut text = if released.repeated {
        format!(
            "free: this was released before, for {guarantee} (charge {charge}); nothing was charged now\n"
        )
    } else if released.resumed {
        format!(
            "cost: {guarantee}, charged before (charge {charge}): this finishes the run that was interrupted, and nothing was charged now\n"
        )
    } else {
        format!("cost: {guarantee} (charge {charge}); the same release again is free\n")
    };
    let left = &released.left;
    text += &match &left.share {
        Some(share) if *share < left.dataset => format!(
            "left: ε = {} (if spent in one more query by {analyst}, whose share it is; everybody together has ε = {})\n",
            left.epsilon, left.dataset
        ),
        _ => format!("left: ε = {} (if spent in one more query)\n", left.epsilon),
    };
    text
}

/// Refuses a page that cannot be put anywhere, before anything is computed for it.
pub(super) fn check_page(page: &Path) -> Result<(), CliError> {
    let folder = page.parent().filter(|folder| !folder.as_os_str().is_empty());
    if page.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        return fail(
            "--html names no file in a folder that exists",
            "make the folder first, or name another file",
        );
    }
    Ok(())
}

/// The errors of the tables and where the budget goes, as a page.
pub(super) fn page(explanation: &ReleaseExplanation) -> String {
    let mut page = Page::new(
        format!("The release {}", explanation.release),
        format!(
            "{} tables of {}, {} cells together, from one charge: {}. The root mean squared error of all cells is {}.",
            explanation.tables.len(),
            explanation.table,
            explanation.cells,
            explanation.guarantee,
            significant(explanation.root_mean_squared_error, 4),
        ),
    );
    page.heat_map(explanation.heat_map(usize::MAX));
    let tables = explanation.tables.iter();
    let errors: Vec<(f64, f64)> = tables
        .map(|table| (table.cells as f64, table.expected_error))
        .collect();
    let figure = Figure::new("Expected error of a cell, by how many cells its table has")
        .x_axis("cells", Scale::Log10)
        .points("", &errors);
    page.figure(figure);
    page.to_html()
}
