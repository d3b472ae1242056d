//! All tables of a release as files.

use super::{Format, Which};
use crate::dataset::unanswered;
use crate::outputs;
use crate::terminal::{CliError, explained, fail, write_file_atomically};
use sql::{Answer, ReleasedTables};
use std::collections::BTreeSet;
use std::path::Path;

/// Runs `deniable tables export`.
pub(super) fn run(which: &Which, output: &Path, format: Option<Format>) -> Result<(), CliError> {
    let is_json = output
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let format = format.unwrap_or(if is_json { Format::Json } else { Format::Csv });
    let (dataset, released) = which.released(false)?;
    let catalog = which.catalog.path(true)?;
    if format == Format::Json {
        outputs::check(&dataset, &catalog, &[], &[("--output", output)])?;
        let object = released.to_json().map_err(unanswered)?;
        write_file_atomically(output, format!("{object}\n").as_bytes())?;
        eprintln!("wrote {}", output.display());
        return Ok(());
    }
    if output.exists() && !output.is_dir() {
        return fail(
            "--output names a file, and there is a file for each table",
            "name a folder, or choose --format json for one file with everything",
        );
    }
    std::fs::create_dir_all(output).map_err(|cause| {
        CliError::bad_input(format!(
            "cannot make the folder {}: {}",
            output.display(),
            cause.kind()
        ))
        .with_hint("name a folder that you may write to")
    })?;
    let tables = released.tables().map_err(unanswered)?;
    let names = file_names(&tables, if format == Format::Csv { "csv" } else { "parquet" });
    for ((_, answer), name) in tables.iter().zip(&names) {
        let path = output.join(name);
        outputs::check(&dataset, &catalog, &[], &[("--output", &path)])?;
        write_file_atomically(&path, &written(&released, answer, format)?)?;
    }
    eprintln!("wrote {} files to {}", names.len(), output.display());
    Ok(())
}

fn written(released: &ReleasedTables, answer: &Answer, format: Format) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    match format {
        Format::Parquet => answer.write_parquet(&mut bytes).map_err(explained)?,
        _ => {
            bytes.extend(format!("# {}\n", released.header()).into_bytes());
            bytes.extend(answer.to_csv());
        }
    }
    Ok(bytes)
}

/// A name of a file for each table, none twice: what the table is by, with whatever is no letter or digit as a dash.
fn file_names(tables: &[(String, Answer)], ending: &str) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let named = tables.iter().map(|(name, _)| {
        let plain = |letter: char| {
            if letter.is_alphanumeric() || letter == '_' {
                letter
            } else {
                '-'
            }
        };
        let stem: String = name
            .replace(" × ", "+")
            .chars()
            .map(|letter| if letter == '+' { '+' } else { plain(letter) })
            .collect();
        let mut name = format!("{stem}.{ending}");
        let mut number = 2;
        while !taken.insert(name.to_lowercase()) {
            name = format!("{stem}-{number}.{ending}");
            number += 1;
        }
        name
    });
    named.collect()
}
