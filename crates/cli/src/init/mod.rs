//! `deniable init`: the first draft of a catalog, written from schemas alone unless the curator asks for
//! more.

mod sorting;

use crate::terminal::{self, CliError, explained, fail, write_file_atomically};
use clap::Args;
use sql::draft::{CHECK, DraftOptions, FILL_IN, KindsFrom, draft, marked};
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;
use training::places;

const EXAMPLES: &str = "\
Examples:
  deniable init people.csv visits.parquet          a draft of ./deniable.toml, to be filled in
  deniable init visits.csv --public regions.csv    regions.csv is nobody's data: read, and described with bounds and values
  deniable init visits.csv --kinds-from sample.csv guess the kinds of columns from a public sample
  deniable init visits.csv --kinds-from-data       … or from the data itself, which is NOT PRIVATE: the draft follows from it
  deniable init visits.parquet --unit patient_id   say which column tells whose row it is
  deniable init visits.csv --cluster               also write visits.clustered.parquet, sorted by it: faster queries
  deniable init adult.data --no-header             its first line is data: columns are named by their number
  deniable init regions.csv --public               all of it is public
  deniable init postgres://ann@localhost/clinic    all tables of a database; …/clinic#visits for one

Private data is not looked at: names and types of columns are read, and nothing else, because bounds taken from private data tell
about it. How a CSV file is written (delimiter, quote, encoding) is derived from its first line alone. What only you can know is marked FILL IN, and what was guessed from names CHECK.
A CSV file does not say whether a column holds numbers, days or text. --kinds-from takes that from a public sample; --kinds-from-data reads the data for it, as `deniable check` does.
Identifiers of persons are whole numbers only where each is written in the one spelling of its number; `007` stays text. Bounds and values are never taken from private data.
The unit is guessed from the names of columns, one for all tables, and you confirm it.
A table name is the name of its file. Nothing is overwritten without --force.";

/// Said before private data is read.
const LOOKS: &str = "NOT PRIVATE: reading the data to guess the kinds of its columns. The draft will follow from the data, and says so; bounds and values are not taken from it.";

/// What stands for all files where `--public` names none: no file is called so.
const ALL: &str = "";

/// Write the first draft of a catalog for these files
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// CSV or Parquet files, directories of them, or postgres://…/database[#table]
    #[arg(required_unless_present = "public", value_name = "PATH")]
    sources: Vec<String>,
    /// This file is public: look at it, and write down what is seen. May be repeated; without a file, all of them are public
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = ALL)]
    public: Vec<String>,
    /// Guess the kinds of columns of CSV files from this CSV file, which is public. May be repeated
    #[arg(long, value_name = "SAMPLE")]
    kinds_from: Vec<PathBuf>,
    /// Guess the kinds of columns of CSV files from the data. NOT PRIVATE: the draft then follows from it
    #[arg(long, conflicts_with_all = ["kinds_from", "cluster"])]
    kinds_from_data: bool,
    /// Also write each table sorted by its unit, as NAME.clustered.parquet beside the catalog
    #[arg(long, conflicts_with = "public")]
    cluster: bool,
    /// CSV files begin with data, and not with the names of their columns
    #[arg(long, conflicts_with = "cluster")]
    no_header: bool,
    /// The column that tells whose row it is [default: guessed from names]
    #[arg(long, value_name = "COLUMN")]
    unit: Option<String>,
    /// What the dataset is called [default: after its first table]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where the catalog is written
    #[arg(long, short, value_name = "FILE", default_value = "deniable.toml")]
    output: PathBuf,
    /// Overwrite what is there
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    refuse_to_overwrite(&arguments.output, arguments.force)?;
    let folder = match arguments.output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let (sources, public) = sources(arguments)?;
    let mut read: Vec<_> = sources
        .iter()
        .map(|source| ("a file to describe", Path::new(source)))
        .collect();
    let samples = arguments.kinds_from.iter();
    read.extend(samples.map(|sample| ("--kinds-from", sample.as_path())));
    places::check(&read, &[("--output", &arguments.output)])?;
    let runtime = runtime()?;
    let options = DraftOptions {
        name: arguments.name.clone(),
        directory: folder.clone(),
        unit: arguments.unit.clone(),
        clustered: arguments.cluster,
        no_header: arguments.no_header,
        kinds: match (arguments.kinds_from_data, arguments.kinds_from.as_slice()) {
            (true, _) => KindsFrom::Data,
            (false, []) => KindsFrom::Curator,
            (false, samples) => KindsFrom::Samples(samples.to_vec()),
        },
        public,
    };
    if arguments.kinds_from_data {
        eprintln!("{LOOKS}");
    }
    let text = if arguments.cluster {
        sorting::clustered(&runtime, &sources, &options, &folder, arguments.force)?
    } else {
        runtime.block_on(draft(&sources, &options)).map_err(explained)?
    };
    write_file_atomically(&arguments.output, text.as_bytes())?;
    eprintln!("wrote {}", arguments.output.display());
    terminal::print(&next(
        &arguments.output,
        &text,
        options.public.len() == sources.len(),
    ))
}

/// Everything that is to be described, and what of it is public.
fn sources(arguments: &Arguments) -> Result<(Vec<String>, Vec<String>), CliError> {
    let mut sources = arguments.sources.clone();
    let named = arguments.public.iter().filter(|path| *path != ALL);
    for path in named.clone() {
        if !sources.contains(path) {
            sources.push(path.clone());
        }
    }
    if sources.is_empty() {
        return fail(
            "no file is named",
            "name what is to be described: deniable init regions.csv --public",
        );
    }
    let all = arguments.public.iter().any(|path| path == ALL);
    let public = if all {
        sources.clone()
    } else {
        named.cloned().collect()
    };
    Ok((sources, public))
}

fn runtime() -> Result<Runtime, CliError> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|cause| {
        CliError::bad_input(format!("no threads could be started: {}", cause.kind()))
            .with_hint("does the system allow more threads?")
    })
}

fn refuse_to_overwrite(path: &Path, force: bool) -> Result<(), CliError> {
    if path.exists() && !force {
        return fail(
            format!("`{}` is there already", path.display()),
            "name another with --output, or overwrite it with --force",
        );
    }
    Ok(())
}

/// What is to be done next, with the lines where it is to be done.
fn next(path: &Path, text: &str, public: bool) -> String {
    let mut reported = String::new();
    for (mark, what) in [(FILL_IN, "only you can know"), (CHECK, "guessed from names")] {
        let places = marked(text, mark);
        if places.is_empty() {
            continue;
        }
        reported += &format!("{mark} ({what}):\n");
        for place in places {
            reported += &format!(
                "  {}:{}: {}\n",
                path.display(),
                place.line,
                ::report::cut(place.text, 100)
            );
        }
    }
    let here = path == Path::new("deniable.toml");
    let catalog = if here {
        String::new()
    } else {
        format!(" --catalog {}", path.display())
    };
    let table = first_table(text, public);
    // Queries are about somebody, so a catalog of public tables alone answers none.
    let next = if public {
        format!(
            "then: deniable query{catalog} \"DESCRIBE {table}\"\n\
             public tables are joined to private ones: copy [tables.{table}] and its columns into the catalog of the private tables\n"
        )
    } else {
        format!("then: deniable explain{catalog} \"SELECT COUNT(*) FROM {table}\"\n")
    };
    reported + &next
}

/// The first table of a draft that a question can be about: a private one, where there is one.
fn first_table(text: &str, public: bool) -> String {
    let tables = text.split("\n[tables.").skip(1);
    let asked = |table: &&str| public || !table.lines().any(|line| line == "public = true");
    let names = tables
        .filter(asked)
        .filter_map(|table| table.split_once(']').map(|(name, _)| name));
    // The section about its columns is no table.
    let mut names = names.filter(|name| !name.ends_with(".columns"));
    names.next().unwrap_or("…").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAFT: &str = "\
# CHECK marks guesses, made from names alone. FILL IN marks what only you can know.
name = \"people\"
[unit]
whose = \"person\"  # CHECK
[tables.people]
source = \"people.csv\"
unit = \"id\"
[tables.people.columns]
age = { kind = \"text\" }  # FILL IN bounds = [low, high] to sum it
";

    #[test]
    fn what_is_next_is_said_with_its_lines() {
        insta::assert_snapshot!(next(Path::new("deniable.toml"), DRAFT, false), @r#"
        FILL IN (only you can know):
          deniable.toml:9: age = { kind = "text" }  # FILL IN bounds = [low, high] to sum it
        CHECK (guessed from names):
          deniable.toml:4: whose = "person"  # CHECK
        then: deniable explain "SELECT COUNT(*) FROM people"
        "#);
        assert!(next(Path::new("a/b.toml"), DRAFT, false).contains("deniable explain --catalog a/b.toml "));
    }

    #[test]
    fn a_question_is_suggested_about_a_private_table() {
        let public = "name = \"x\"\n\n[tables.regions]\nsource = \"r.csv\"\npublic = true\n\n[tables.regions.columns]\na = 1\n";
        let both = format!("{public}\n[tables.visits]\nunit = \"id\"\n\n[tables.visits.columns]\n");
        assert_eq!(first_table(&both, false), "visits");
        assert_eq!(first_table(public, true), "regions");
        assert_eq!(first_table("", false), "…");
    }
}
