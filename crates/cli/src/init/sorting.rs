//! `deniable init --cluster`: tables rewritten so that the rows of a unit lie next to each other.

use super::refuse_to_overwrite;
use crate::terminal::{CliError, Progress, explained};
use sql::catalog::{ObjectAddress, ParquetTree, Root, Source, Table};
use sql::draft::{DraftOptions, draft};
use sql::sources::{cluster, written};
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;

/// One table that was found, and where it will lie.
#[derive(Debug, PartialEq)]
struct Found {
    name: String,
    source: Source,
    /// How the draft is reported where it is.
    named: String,
    /// The column that names its unit; a table without one stays where it is.
    unit: Option<String>,
}

/// Sorts every table that has a unit, and drafts a catalog that points at what was sorted.
pub(super) fn clustered(
    runtime: &Runtime,
    sources: &[String],
    options: &DraftOptions,
    folder: &Path,
    force: bool,
) -> Result<String, CliError> {
    let before = DraftOptions {
        clustered: false,
        ..options.clone()
    };
    let mut tables = Vec::new();
    for source in sources {
        let text = runtime
            .block_on(draft(std::slice::from_ref(source), &before))
            .map_err(explained)?;
        tables.extend(found(source, &text));
    }
    let mut places: Vec<Option<PathBuf>> = Vec::new();
    for table in &tables {
        let place = table
            .unit
            .is_some()
            .then(|| free_place(folder, &table.name, &places));
        if let Some(place) = &place {
            // All of them, before the first is written.
            refuse_to_overwrite(place, force)?;
        }
        places.push(place);
    }
    let mut named = Vec::new();
    let mut renamed = Vec::new();
    for (table, place) in tables.iter().zip(&places) {
        let (Some(unit), Some(place)) = (&table.unit, place) else {
            eprintln!(
                "{}: no column tells whose rows these are, so it stays as it is",
                table.name
            );
            named.push(table.named.clone());
            continue;
        };
        sort(runtime, table, unit, place)?;
        renamed.push((drafted_name(place), table.name.clone()));
        named.push(place.display().to_string());
    }
    let options = DraftOptions {
        name: options
            .name
            .clone()
            .or_else(|| tables.first().map(|table| table.name.clone())),
        ..options.clone()
    };
    let text = runtime.block_on(draft(&named, &options)).map_err(explained)?;
    Ok(with_names(text, &renamed))
}

fn sort(runtime: &Runtime, table: &Found, unit: &str, place: &Path) -> Result<(), CliError> {
    let progress = Progress::counting(format!("sorting {}", table.name));
    let mut before = 0;
    let mut rows = Table::undeclared(table.source.clone());
    if let Source::Csv(path) = &table.source {
        // As the draft found it written.
        rows.csv = written(path, true).map_err(explained)?;
    }
    let sorted = cluster(&rows, unit, place, |done| {
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
    if matches!(table.source, Source::Csv(_)) {
        eprintln!(
            "{}: a CSV file holds text, so {unit} was sorted as text: leave its kind at text, or sort again after declaring another",
            table.name
        );
    }
    Ok(())
}

/// The tables of a draft of one source.
fn found(source: &str, draft: &str) -> Vec<Found> {
    let document: toml::Table = draft.parse().unwrap_or_default();
    let Some(toml::Value::Table(tables)) = document.get("tables") else {
        return Vec::new();
    };
    let several = tables.len() > 1;
    tables
        .iter()
        .map(|(name, table)| {
            let text = |key: &str| table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
            let path = PathBuf::from(source);
            let extension = path.extension().and_then(|extension| extension.to_str());
            let (place, named) = match (text("table"), text("format"), extension) {
                (Some(table), _, _) => {
                    // The draft has no password in it; what was given has.
                    let connection = source.split('#').next().unwrap_or(source).to_owned();
                    let named = if several {
                        format!("{connection}#{table}")
                    } else {
                        source.to_owned()
                    };
                    (Source::Postgres { connection, table }, named)
                }
                (None, Some(format), _) if format == "csv" => (Source::Csv(path), source.to_owned()),
                (None, None, Some("csv" | "tsv")) => (Source::Csv(path), source.to_owned()),
                (None, _, _) => (parquet(source, table), source.to_owned()),
            };
            Found {
                name: name.clone(),
                source: place,
                named,
                unit: text("unit"),
            }
        })
        .collect()
}

/// The Parquet files that a draft names.
fn parquet(source: &str, table: &toml::Value) -> Source {
    let names = table.get("partitions").and_then(toml::Value::as_array);
    let partitions: Vec<String> = names
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let root = match ObjectAddress::parse(source) {
        Some(address) => Root::Objects(address),
        None if partitions.is_empty() => return Source::Parquet(PathBuf::from(source)),
        None => Root::Directory(PathBuf::from(source)),
    };
    Source::ParquetTree(ParquetTree { root, partitions })
}

/// A file that no other table of this run is written to.
fn free_place(folder: &Path, name: &str, taken: &[Option<PathBuf>]) -> PathBuf {
    let place = |number: usize| match number {
        1 => folder.join(format!("{name}.clustered.parquet")),
        _ => folder.join(format!("{name}_{number}.clustered.parquet")),
    };
    (1..)
        .map(place)
        .find(|place| !taken.iter().flatten().any(|other| other == place))
        .expect("there are enough numbers")
}

/// What a draft calls the table in this file.
fn drafted_name(place: &Path) -> String {
    let stem = place.file_stem().unwrap_or_default().to_string_lossy();
    let letter = |letter: char| if letter.is_alphanumeric() { letter } else { '_' };
    stem.to_lowercase().chars().map(letter).collect()
}

/// The draft with the tables' own names: that a file is sorted is no reason to call its table otherwise.
fn with_names(draft: String, renamed: &[(String, String)]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in draft.lines() {
        let renamed = renamed.iter().find_map(|(drafted, own)| {
            let rest = line.strip_prefix("[tables.")?.strip_prefix(drafted.as_str())?;
            matches!(rest, "]" | ".columns]").then(|| format!("[tables.{own}{rest}"))
        });
        let name = renamed.unwrap_or_else(|| line.to_owned());
        lines.push(name);
    }
    let text = lines.join("\n") + "\n";
    // Two tables must not get one name.
    match text.parse::<toml::Table>() {
        Ok(_) => text,
        Err(_) => draft,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_its_name() {
        let draft = "name = \"visits_clustered\"\n[tables.visits_clustered]\nunit = \"id\"\n[tables.visits_clustered.columns]\nid = 1\n";
        let renamed = [("visits_clustered".to_owned(), "visits".to_owned())];
        let text = with_names(draft.to_owned(), &renamed);
        assert!(
            text.contains("[tables.visits]\n") && text.contains("[tables.visits.columns]\n"),
            "{text}"
        );
        let both = format!("{draft}[tables.visits]\nx = 1\n");
        assert_eq!(with_names(both.clone(), &renamed), both);
        assert_eq!(
            drafted_name(Path::new("a/My Visits.clustered.parquet")),
            "my_visits_clustered"
        );
    }

    #[test]
    fn tables_are_found_in_a_draft() {
        let draft = "[tables.people]\nsource = \"p.csv\"\nunit = \"id\"\n";
        let tables = found("data/p.csv", draft);
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0].source, Source::Csv("data/p.csv".into()));
        assert_eq!(tables[0].unit.as_deref(), Some("id"));
        let database = "[tables.a]\nsource = \"postgres://ann:${PGPASSWORD}@db/x\"\ntable = \"public.a\"\n[tables.b]\nsource = \"…\"\ntable = \"b\"\nunit = \"id\"\n";
        let tables = found("postgres://ann:secret@db/x", database);
        assert_eq!(tables[0].named, "postgres://ann:secret@db/x#public.a");
        assert_eq!(tables[0].unit, None);
        assert_eq!(tables[1].unit.as_deref(), Some("id"));
    }

    #[test]
    fn two_tables_are_not_written_to_one_file() {
        let folder = Path::new("x");
        let first = free_place(folder, "visits", &[]);
        assert_eq!(first, Path::new("x/visits.clustered.parquet"));
        let second = free_place(folder, "visits", &[None, Some(first)]);
        assert_eq!(second, Path::new("x/visits_2.clustered.parquet"));
    }
}
