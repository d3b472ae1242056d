//! Tracing named people from a file of published means.

use super::Arguments;
use crate::terminal::{CliError, explained, fail};
use ::report::Findings;
use attack::csv_file::CsvFile;
use attack::membership::{Noise, Published, PublishedMeans, suspects};
use experiments::membership::suspects_findings;
use std::path::Path;

/// Traces everybody in a file.
pub(super) fn findings(
    arguments: &Arguments,
    means: &Path,
    targets: &Path,
    noises: Vec<Noise>,
) -> Result<Findings, CliError> {
    let noise = match &noises[..] {
        [only] | [Noise::None, only] => only.clone(),
        _ => {
            return fail(
                "a published table has one noise, and --epsilon names several",
                "give the one that it was released with, or none",
            );
        }
    };
    let published = PublishedMeans::read(CsvFile::open(means)?)?;
    let size = noise
        .size(published.attributes.len(), arguments.people)
        .map_err(explained)?;
    let study = Published {
        people: arguments.people,
        means: &published.means,
        frequencies: &published.frequencies,
        noise: &noise,
        size,
    };
    let targets = CsvFile::open(targets)?;
    let progress = arguments.outputs.progress("targets", targets.bytes());
    let names = arguments.names.as_deref();
    let suspects = suspects(&study, &published.attributes, targets, names, &|bytes| {
        progress.advance(bytes);
    })?;
    drop(progress);
    Ok(suspects_findings(
        &suspects,
        &noise,
        arguments.people,
        published.attributes.len(),
    ))
}
