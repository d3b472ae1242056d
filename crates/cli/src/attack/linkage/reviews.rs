//! Matching ratings without names to public reviews.

use super::matches;
use super::{Arguments, Beside};
use crate::delivery::watched;
use crate::terminal::{CliError, Interrupt};
use ::report::{Findings, significant};
use attack::csv_file::CsvFile;
use attack::linkage::{Matching, RatingFiles, matched};
use experiments::linkage::rated;
use std::path::Path;

pub(super) fn run(
    arguments: &Arguments,
    [file, other]: [&Path; 2],
    beside: &Beside,
    interrupt: &Interrupt,
) -> Result<Findings, CliError> {
    let sheets = [CsvFile::open(file)?, CsvFile::open(other)?];
    let files = {
        let progress = arguments.outputs.reading(&sheets);
        let read = |bytes| progress.advance(bytes);
        RatingFiles::read(sheets, &arguments.ratings, arguments.truth.as_deref(), &read)?
    };
    let (ratings, reviewers) = (files.ratings(), files.reviewers());
    let matching = Matching {
        eccentricity: arguments.eccentricity,
        ..Matching::default()
    };
    let found = {
        let progress = arguments.outputs.progress("reviewers", reviewers.len() as u64);
        matched(&ratings, &reviewers, &matching, &watched(&progress, interrupt))
    };
    let judged = found.judged(&reviewers, |reviewer, record| {
        files.public.people[reviewer] == files.records.people[record as usize]
    });
    if let Some(path) = &arguments.matches {
        matches::write(
            path,
            ["who", "name", "eccentricity"],
            found.accepted().map(|(reviewer, candidate)| {
                [
                    (&files.records.names[candidate.record as usize][..]).into(),
                    (&files.public.names[reviewer][..]).into(),
                    significant(candidate.eccentricity, 4).into_bytes().into(),
                ]
            }),
        )?;
    }
    Ok(rated(
        &found,
        ratings.records(),
        judged.as_ref(),
        &matching,
        beside,
    ))
}
