//! A draft of tables whose rows are sorted first, so that those of a unit lie next to each other.

use super::{DraftOptions, draft};
use crate::Error;
use crate::catalog::{ObjectAddress, ParquetTree, Root, Source, Table};
use crate::sources::{Progress, cluster, written};
use std::path::{Path, PathBuf};

/// Tables to be sorted, and what the draft of them is called.
#[derive(Debug)]
pub struct SortedDraft {
    tables: Vec<SortedTable>,
    options: DraftOptions,
}

/// One table that was found, and where it will lie.
#[derive(Debug, PartialEq)]
pub struct SortedTable {
    /// What it is called.
    pub name: String,
    source: Source,
    /// How the draft is reported where it is.
    named: String,
    /// The column that names its unit; a table without one stays where it is.
    unit: Option<String>,
    place: Option<PathBuf>,
}

impl SortedDraft {
    /// Finds the tables of these sources, from their schemas, and a file in the folder for each that has a unit. Nothing is written.
    ///
    /// # Errors
    /// When a source cannot be described.
    pub async fn find(sources: &[String], options: &DraftOptions, folder: &Path) -> Result<Self, Error> {
        let before = DraftOptions {
            clustered: false,
            ..options.clone()
        };
        let mut tables: Vec<SortedTable> = Vec::new();
        for source in sources {
            let text = draft(std::slice::from_ref(source), &before).await?;
            for mut table in found(source, &text) {
                if table.unit.is_some() {
                    table.place = Some(free_place(folder, &table.name, &tables));
                }
                tables.push(table);
            }
        }
        let first = || tables.first().map(|table| table.name.clone());
        let options = DraftOptions {
            name: options.name.clone().or_else(first),
            ..options.clone()
        };
        Ok(Self { tables, options })
    }

    /// The tables, in the order of their sources.
    pub fn tables(&self) -> &[SortedTable] {
        &self.tables
    }

    /// The draft, which points at what was sorted; for after all tables were.
    ///
    /// # Errors
    /// When a sorted table cannot be described.
    pub async fn draft(&self) -> Result<String, Error> {
        let named = |table: &SortedTable| match &table.place {
            Some(place) => place.display().to_string(),
            None => table.named.clone(),
        };
        let named: Vec<String> = self.tables.iter().map(named).collect();
        let renamed = |table: &SortedTable| Some((drafted_name(table.place.as_ref()?), table.name.clone()));
        let renamed: Vec<(String, String)> = self.tables.iter().filter_map(renamed).collect();
        let text = draft(&named, &self.options).await?;
        Ok(with_names(text, &renamed))
    }
}

impl SortedTable {
    /// The column that its rows are sorted by, and the file that they are written to; `None` where no column tells whose rows these are.
    pub fn order(&self) -> Option<(&str, &Path)> {
        Some((self.unit.as_deref()?, self.place.as_deref()?))
    }

    /// Whether it is a CSV file, which holds text: it is sorted as text.
    pub fn is_text(&self) -> bool {
        matches!(self.source, Source::Csv(_))
    }

    /// Sorts it by this column into this file; `watch` hears how many rows were read and written so far.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub async fn sort(
        &self,
        unit: &str,
        place: &Path,
        watch: impl FnMut(Progress),
    ) -> Result<Progress, Error> {
        let mut rows = Table::undeclared(self.source.clone());
        if let Source::Csv(path) = &self.source {
            // As the draft found it written.
            rows.csv = written(path, true)?;
        }
        cluster(&rows, unit, place, watch).await
    }
}

/// The tables of a draft of one source.
fn found(source: &str, draft: &str) -> Vec<SortedTable> {
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
            SortedTable {
                name: name.clone(),
                source: place,
                named,
                unit: text("unit"),
                place: None,
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
fn free_place(folder: &Path, name: &str, taken: &[SortedTable]) -> PathBuf {
    let place = |number: usize| match number {
        1 => folder.join(format!("{name}.clustered.parquet")),
        _ => folder.join(format!("{name}_{number}.clustered.parquet")),
    };
    (1..)
        .map(place)
        .find(|place| !taken.iter().any(|other| other.place.as_ref() == Some(place)))
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
        let taken = |place| SortedTable {
            name: "visits".to_owned(),
            source: Source::Csv("visits.csv".into()),
            named: "visits.csv".to_owned(),
            unit: None,
            place,
        };
        let second = free_place(folder, "visits", &[taken(None), taken(Some(first))]);
        assert_eq!(second, Path::new("x/visits_2.clustered.parquet"));
    }
}
