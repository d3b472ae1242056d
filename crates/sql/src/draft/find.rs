//! The tables that sources hold, by their names and places alone.

use crate::Error;
use crate::catalog::toml_text::text;
use crate::catalog::{ObjectAddress, ParquetTree, Root, Source, is_postgres, without_password};
use crate::sources::{in_directory, partitions_in, table_names};
use std::fmt::Write;
use std::path::Path;

/// One table to be written about.
pub(super) struct Sketch {
    pub(super) name: String,
    /// The lines that say where it is.
    pub(super) lines: String,
    pub(super) source: Source,
}

/// Adds the tables of this source. `directory` is where relative paths of the catalog start.
pub(super) async fn sketch(source: &str, directory: &Path, sketches: &mut Vec<Sketch>) -> Result<(), Error> {
    if is_postgres(source) {
        return database(source, sketches).await;
    }
    if ObjectAddress::is_meant(source) {
        return objects(source, sketches).await;
    }
    let path = Path::new(source);
    let extension = path.extension().and_then(|extension| extension.to_str());
    let found = match extension {
        _ if path.is_dir() && in_directory(path).is_none() => in_named_directories(path).await?,
        Some("csv" | "tsv") => Some(Source::Csv(path.to_owned())),
        Some("parquet") => Some(Source::Parquet(path.to_owned())),
        Some("data" | "dat" | "txt" | "tab") if path.is_file() => Some(Source::Csv(path.to_owned())),
        _ => in_directory(path).filter(|_| path.is_dir()),
    };
    let Some(found) = found else {
        return Err(Error::catalog(
            format!("{source} is no CSV or Parquet file, and no directory of them"),
            "such files end in .csv, .tsv, .txt, .dat, .data or .parquet",
        ));
    };
    let mut lines = format!("source = {}\n", text(&relative(path, directory)));
    if !matches!(extension, Some("csv" | "tsv" | "parquet")) {
        let format = if matches!(found, Source::Csv(_)) {
            "csv"
        } else {
            "parquet"
        };
        let _ = writeln!(lines, "format = \"{format}\"");
    }
    lines += &declared_partitions(&found);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = free_name(&stem, sketches);
    sketches.push(Sketch {
        name,
        lines,
        source: found,
    });
    Ok(())
}

/// A directory whose directories are named by values of columns, if it is one.
async fn in_named_directories(path: &Path) -> Result<Option<Source>, Error> {
    let root = Root::Directory(path.to_owned());
    let partitions = partitions_in("the table", &root).await?;
    Ok((!partitions.is_empty()).then_some(Source::ParquetTree(ParquetTree { root, partitions })))
}

async fn objects(source: &str, sketches: &mut Vec<Sketch>) -> Result<(), Error> {
    let Some(address) = ObjectAddress::parse(source) else {
        return Err(Error::catalog(
            "this is not the address of objects",
            "write s3://bucket/name, gs://bucket/name or az://container/name; keys, endpoints and regions are taken from the environment",
        ));
    };
    let last = address.prefix().rsplit('/').next().unwrap_or_default();
    let stem = match last.strip_suffix(".parquet").unwrap_or(last) {
        "" => address.bucket(),
        stem => stem,
    };
    let name = free_name(stem, sketches);
    let mut lines = format!("source = {}\n", text(source));
    let root = Root::Objects(address);
    let partitions = partitions_in(&format!("table `{name}`"), &root).await?;
    let found = Source::ParquetTree(ParquetTree { root, partitions });
    lines += &declared_partitions(&found);
    sketches.push(Sketch {
        name,
        lines,
        source: found,
    });
    Ok(())
}

/// The line about columns that directories name, where they do.
fn declared_partitions(source: &Source) -> String {
    match source {
        Source::ParquetTree(tree) if !tree.partitions.is_empty() => {
            let names: Vec<String> = tree.partitions.iter().map(|name| text(name)).collect();
            format!("partitions = [{}]\n", names.join(", "))
        }
        _ => String::new(),
    }
}

async fn database(source: &str, sketches: &mut Vec<Sketch>) -> Result<(), Error> {
    let (connection, named) = match source.split_once('#') {
        Some((connection, table)) => (connection, vec![table.to_owned()]),
        None => (source, table_names("the database", source).await?),
    };
    for table in named {
        let replaced = without_password(connection, "${PGPASSWORD}");
        let mut lines = String::new();
        if replaced.is_some() {
            lines.push_str("# The password is taken from the environment variable PGPASSWORD.\n");
        }
        let _ = writeln!(
            lines,
            "source = {}\ntable = {}",
            text(replaced.as_deref().unwrap_or(connection)),
            text(&table)
        );
        let last = table.rsplit('.').next().unwrap_or(&table);
        sketches.push(Sketch {
            name: free_name(last, sketches),
            lines,
            source: Source::Postgres {
                connection: connection.to_owned(),
                table,
            },
        });
    }
    Ok(())
}

/// The path as the catalog will name it.
fn relative(path: &Path, directory: &Path) -> String {
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let inside = directory
        .canonicalize()
        .ok()
        .and_then(|directory| absolute.strip_prefix(directory).ok().map(Path::to_owned));
    inside.unwrap_or(absolute).to_string_lossy().into_owned()
}

/// A name of letters, digits and underscores that no other table has.
fn free_name(wanted: &str, sketches: &[Sketch]) -> String {
    let mut name: String = wanted
        .to_lowercase()
        .chars()
        .map(|letter| if letter.is_alphanumeric() { letter } else { '_' })
        .collect();
    if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        name.insert_str(0, "table_");
    }
    let taken = |name: &str| sketches.iter().any(|sketch| sketch.name == name);
    let mut free = name.clone();
    let mut number = 2;
    while taken(&free) {
        free = format!("{name}_{number}");
        number += 1;
    }
    free
}
