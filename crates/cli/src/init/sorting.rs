//! `deniable init --cluster`: rewrites tables so that the rows of a unit lie next to each other.

use super::refuse_to_overwrite;
use crate::terminal::{CliError, Progress, explained};
use sql::draft::{DraftOptions, SortedDraft, SortedTable};
use std::path::Path;
use tokio::runtime::Runtime;

/// Sorts every table that has a unit, and drafts a catalog that points at what was sorted.
pub(super) fn clustered(
    runtime: &Runtime,
    sources: &[String],
    options: &DraftOptions,
    folder: &Path,
    force: bool,
) -> Result<String, CliError> {
    let found = SortedDraft::find(sources, options, folder);
    let found = runtime.block_on(found).map_err(explained)?;
    for (_, place) in found.tables().iter().filter_map(SortedTable::order) {
        // All of them, before the first is written.
        refuse_to_overwrite(place, force)?;
    }
    for table in found.tables() {
        match table.order() {
            Some((unit, place)) => sort(runtime, table, unit, place)?,
            None => eprintln!(
                "{}: no column tells whose rows these are, so it stays as it is",
                table.name
            ),
        }
    }
    runtime.block_on(found.draft()).map_err(explained)
}

fn sort(runtime: &Runtime, table: &SortedTable, unit: &str, place: &Path) -> Result<(), CliError> {
    let progress = Progress::counting(format!("sorting {}", table.name));
    let mut before = 0;
    let sorted = table.sort(unit, place, |done| {
        let now = done.read + done.written;
        progress.advance(now.saturating_sub(before));
        before = now;
    });
    let done = runtime.block_on(sorted).map_err(explained)?;
    drop(progress);
    eprintln!(
        "wrote {}: {} rows sorted by {unit}",
        place.display(),
        done.written
    );
    if table.is_text() {
        eprintln!(
            "{}: a CSV file holds text, so {unit} was sorted as text: leave its kind at text, or sort again after declaring another",
            table.name
        );
    }
    Ok(())
}
