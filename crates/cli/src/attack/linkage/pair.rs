//! Linking two tables on columns that both have.

use super::matches;
use super::{Arguments, Beside};
use crate::terminal::CliError;
use ::report::Findings;
use attack::csv_file::CsvFile;
use attack::linkage::{LinkColumns, TwoTables, judge, link};
use experiments::linkage::linked;
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
        matches::write(
            path,
            ["row", "row_with_name", "name"],
            links.pairs.iter().map(|(row, other)| {
                let name = tables.names.get(*other as usize).map_or(&[][..], Vec::as_slice);
                [line(*row).into(), line(*other).into(), name.into()]
            }),
        )?;
    }
    Ok(linked(
        &links,
        tables.rows,
        &tables.columns,
        judged.as_ref(),
        beside,
    ))
}
