//! The first draft of a catalog, for `deniable init`.
//!
//! It is written by looking at schemas alone: what a footer, a header or a database says of its columns. Not even statistics are looked at, because bounds taken from
//! private data tell about it. Public data may be looked at.

mod measure;
mod sorted;

pub use sorted::{SortedDraft, SortedTable};

use crate::catalog::toml_text::{key, text, value};
use crate::catalog::{
    ObjectAddress, ParquetTree, Root, Source, Table, declared_format, is_postgres, without_password,
};
use crate::sources::{in_directory, kind_that_keeps, partitions_in, provider, table_names, written};
use crate::values::facts::Kind;
use crate::{Error, Facts};
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::prelude::SessionContext;
use measure::Measured;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// How a draft is written.
#[derive(Clone, Debug, Default)]
pub struct DraftOptions {
    /// What the dataset is called; after its first table when not said.
    pub name: Option<String>,
    /// The directory that the catalog will lie in, where relative paths start.
    pub directory: PathBuf,
    /// Whether the data is public, so that it may be looked at.
    pub public: bool,
    /// The column that names the unit, where a table has it; guessed by name when not said.
    pub unit: Option<String>,
    /// Whether the rows lie sorted by that column.
    pub clustered: bool,
    /// Whether CSV files begin with data, and not with the names of their columns.
    pub no_header: bool,
}

/// Columns that are often called so and name a person, the likeliest first, and whom they name.
const UNITS: [(&str, &str); 21] = [
    ("person_id", "person"),
    ("user_id", "user"),
    ("customer_id", "customer"),
    ("patient_id", "patient"),
    ("client_id", "client"),
    ("member_id", "member"),
    ("employee_id", "employee"),
    ("student_id", "student"),
    ("participant_id", "participant"),
    ("respondent_id", "respondent"),
    ("subject_id", "subject"),
    ("household_id", "household"),
    ("account_id", "account"),
    ("device_id", "device"),
    ("person", "person"),
    ("user", "user"),
    ("customer", "customer"),
    ("patient", "patient"),
    ("uid", "user"),
    ("email", "person"),
    ("ssn", "person"),
];

/// Tables of which each row is often a person, and whom: there a column `id` names the unit.
const TABLES: [(&str, &str); 12] = [
    ("people", "person"),
    ("persons", "person"),
    ("users", "user"),
    ("customers", "customer"),
    ("patients", "patient"),
    ("clients", "client"),
    ("members", "member"),
    ("employees", "employee"),
    ("students", "student"),
    ("participants", "participant"),
    ("respondents", "respondent"),
    ("households", "household"),
];

/// One table to be written about.
struct Sketch {
    name: String,
    /// The lines that say where it is.
    lines: String,
    source: Source,
}

/// Writes the first draft of a catalog of these files, directories, or databases (`postgres://…/database`, or `postgres://…/database#schema.table`).
///
/// It can be used when the places marked FILL IN are filled in. Of private data, only schemas are looked at.
///
/// # Errors
/// When there is nothing to write about, a source cannot be opened, or the first line of a CSV file looks like data.
pub async fn draft(sources: &[String], options: &DraftOptions) -> Result<String, Error> {
    let mut sketches = Vec::new();
    for source in sources {
        sketch(source, options, &mut sketches).await?;
    }
    if sketches.is_empty() {
        return Err(Error::catalog(
            "there is no table to write a catalog of",
            "name a CSV or Parquet file, a directory of them, or postgres://user@host/database",
        ));
    }
    let session = SessionContext::new();
    let mut whose = None;
    let mut tables = String::new();
    for sketch in &sketches {
        let (section, guessed) = section(&session, sketch, options).await?;
        tables.push_str(&section);
        whose = whose.or(guessed);
    }
    let name = options.name.as_deref().unwrap_or(&sketches[0].name);
    Ok(head(name, whose.unwrap_or("person"), options.public) + &tables)
}

/// A place of a draft that is still to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<'t> {
    /// The number of its line, from 1.
    pub line: usize,
    /// The line.
    pub text: &'t str,
}

/// The mark of what only the curator can know.
pub const FILL_IN: &str = "FILL IN";
/// The mark of what was guessed.
pub const CHECK: &str = "CHECK";

/// The places of a catalog that still have this mark.
///
/// ```
/// let draft = "name = \"clinic\"\n[tables.visits.columns]\nage = { kind = \"int\" }  # FILL IN bounds = [low, high] to sum it\n";
/// let marks = sql::draft::marked(draft, sql::draft::FILL_IN);
/// assert_eq!(marks[0].line, 3);
/// ```
pub fn marked<'t>(catalog: &'t str, mark: &str) -> Vec<Mark<'t>> {
    let lines = catalog.lines().enumerate();
    lines
        // A mark is in a comment; the lines that explain the marks are no places to be filled in.
        .filter(|(_, line)| {
            let comment = line.split_once('#').map_or("", |(_, comment)| comment);
            comment.contains(mark) && !(line.contains("CHECK marks") && line.contains("FILL IN marks"))
        })
        .map(|(place, text)| Mark {
            line: place + 1,
            text: text.trim(),
        })
        .collect()
}

fn head(name: &str, whose: &str, public: bool) -> String {
    format!(
        r#"# What is protected, what may be asked, and how much the answers may reveal.
# CHECK marks guesses. FILL IN marks what only you can know.{read}

name = {name}

[unit]
# Whose privacy: answers are nearly the same whether or not any one of them is in the data.
whose = {whose}  # CHECK
# "add_remove": how many there are is protected too. "change_one": only what is said of each.
neighbors = "add_remove"

[budget]
# The most that all answers together may reveal. 1 is strict, 10 is lenient.  CHECK
epsilon = 1
# How likely more may be revealed: well below one in the number of units. 0 forbids it.  CHECK
delta = 1e-6
# Where spending is written down. Without this file, everything could be spent again.
ledger = "deniable.ledger"

[budget.query]
# What a query takes that does not say.
epsilon = 0.1
delta = 1e-9

# [budget.analysts]
# alice = 0.25  # of the budget; where some are listed, others may spend nothing

[limits]
# Of one unit, at most this many groups of a query count, and in each at most this many rows. More keeps more data; fewer needs less noise.
# These are placeholders: `deniable limits TABLE --epsilon 0.1` finds limits for a table privately, and writes them here.
groups = 4
rows_per_group = 4
"#,
        read = if public {
            ""
        } else {
            " Of the data, only names and types of columns were looked at."
        },
        name = text(name),
        whose = text(whose),
    )
}

async fn sketch(source: &str, options: &DraftOptions, sketches: &mut Vec<Sketch>) -> Result<(), Error> {
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
    let mut lines = format!("source = {}\n", text(&relative(path, &options.directory)));
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

/// The lines about one table, and whom its unit column is guessed to name.
async fn section(
    session: &SessionContext,
    sketch: &Sketch,
    options: &DraftOptions,
) -> Result<(String, Option<&'static str>), Error> {
    let mut table = Table::undeclared(sketch.source.clone());
    let mut lines = sketch.lines.clone();
    if let Source::Csv(path) = &sketch.source {
        table.csv = written(path, !options.no_header)?;
        let tabs = path.extension().is_some_and(|extension| extension == "tsv");
        lines += &declared_format(&table.csv, tabs);
    }
    let rows = provider(&session.state(), &sketch.name, &table).await?;
    let schema = rows.schema();
    if matches!(sketch.source, Source::Csv(_))
        && schema.fields().iter().any(|field| looks_like_data(field.name()))
    {
        return Err(Error::catalog(
            format!(
                "table `{}`: the first line of its file looks like data",
                sketch.name
            ),
            "the first line of a CSV file names its columns; put it there, or say --no-header",
        ));
    }
    let mut section = format!("\n[tables.{}]\n{lines}", key(&sketch.name));
    if options.public {
        let measured = measure::measured(session, &sketch.name, table, &schema).await?;
        public(&mut section, &sketch.name, &measured);
        return Ok((section, None));
    }
    let unit = unit(&schema, sketch, options);
    match unit {
        Some((column, _)) => {
            let _ = writeln!(
                section,
                "# CHECK: the column that tells whose row it is. A wrong one protects the wrong thing.\nunit = {}",
                text(column)
            );
        }
        None => section.push_str(
            "# FILL IN whose rows these are, by one of these four lines:\n\
             # unit = \"…\"                  # the column that tells whose row it is\n\
             # unit_through = { column = \"…\", table = \"…\", key = \"…\" }  # the row of another table leads there\n\
             # each_row = true             # each row is somebody, and nobody has two\n\
             # public = true               # nobody's\n",
        ),
    }
    section.push_str("# rows_per_unit = 1           # if nobody has two rows: answers are then more exact\n");
    if options.clustered && unit.is_some() {
        section.push_str("# The rows lie sorted by that column.\nclustered = true\n");
    } else {
        section.push_str("# clustered = true            # if the rows lie sorted by that column: queries are then faster\n");
    }
    let csv = matches!(sketch.source, Source::Csv(_));
    if csv {
        section.push_str(
            "# nulls = [\"\", \"NA\"]         # if these stand for NULL in the file, in every column\n\
             # decimal = \",\"               # if numbers are written like 1.234,5\n",
        );
    }
    let _ = writeln!(
        section,
        "\n[tables.{}.columns]\n# What queries may use; leave out what they need not.\n# kind: bool, int, float, text, date or timestamp. What does not fit is read as NULL.{}\n\
         # bounds = [low, high]: sums and averages need them, and count values beyond as the nearest bound; a WHERE sees those as they are. From what you know, not from the data.\n\
         # values = [\"…\", \"…\"]: groups that are always shown; a row with another value is in none of them, and a WHERE sees it as it is. From what you know, not from the data.\n\
         # other = \"other\", beside values: a group for all other texts.\n\
         # bounds = [\"2020-01-01\", \"2029-12-31\"], of dates and timestamps: the months, weeks and the like between them are groups that are always shown.",
        key(&sketch.name),
        if csv {
            "  FILL IN: a CSV file does not say."
        } else {
            ""
        },
    );
    for field in schema.fields() {
        match unit.is_some_and(|(column, _)| column == field.name()) {
            true => identifier(&mut section, field),
            false => private(&mut section, field.name(), field.data_type(), csv),
        }
    }
    Ok((section, unit.map(|(_, whose)| whose)))
}

/// The column that tells whose rows these are, as a kind that keeps all identifiers apart.
fn identifier(section: &mut String, field: &Field) {
    let name = key(field.name());
    let _ = match kind_that_keeps(field) {
        Some(kind) => writeln!(section, "{name} = {{ kind = \"{kind}\" }}"),
        None => writeln!(
            section,
            "# FILL IN another unit: {name} holds values of type {}, and two persons could be read as one. Write them anew as whole numbers or text.",
            field.data_type()
        ),
    };
}

fn private(section: &mut String, name: &str, of: &DataType, csv: bool) {
    let _ = match Kind::of(of) {
        Some(kind) if kind.is_number() => writeln!(
            section,
            "{} = {{ kind = \"{kind}\" }}  # FILL IN bounds = [low, high] to sum it",
            key(name)
        ),
        // Of a CSV file, every column is text as yet.
        Some(Kind::Text) if !csv => writeln!(
            section,
            "{} = {{ kind = \"text\" }}  # values = [\"…\", \"…\"], other = \"other\" to group by it",
            key(name)
        ),
        Some(kind @ (Kind::Date | Kind::Timestamp)) => writeln!(
            section,
            "{} = {{ kind = \"{kind}\" }}  # bounds = [\"2020-01-01\", \"2029-12-31\"] to group by its months, weeks and the like",
            key(name)
        ),
        Some(kind) => writeln!(section, "{} = {{ kind = \"{kind}\" }}", key(name)),
        None => writeln!(
            section,
            "# {}: left out, because queries cannot use values of this type",
            key(name)
        ),
    };
}

fn public(section: &mut String, name: &str, measured: &Measured) {
    section.push_str("# Public, as was said: read and suggested from the data.\npublic = true\n");
    if !measured.keys.is_empty() {
        let keys: Vec<_> = measured
            .keys
            .iter()
            .map(|column| format!("[{}]", text(column)))
            .collect();
        let _ = writeln!(
            section,
            "# Columns in which no two rows agree.  CHECK that this is no accident\nkeys = [{}]",
            keys.join(", ")
        );
    }
    let _ = writeln!(section, "\n[tables.{}.columns]", key(name));
    for (column, facts) in &measured.columns {
        let _ = writeln!(section, "{} = {{ {} }}", key(column), declared(facts));
    }
    for column in &measured.left_out {
        let _ = writeln!(
            section,
            "# {}: left out, because queries cannot use values of this type",
            key(column)
        );
    }
}

fn declared(facts: &Facts) -> String {
    let mut parts = vec![format!("kind = \"{}\"", facts.kind)];
    match facts.range {
        Some(range) if facts.kind == Kind::Int => {
            parts.push(format!("bounds = [{}, {}]", range.low, range.high))
        }
        Some(range) if facts.kind == Kind::Float => {
            parts.push(format!("bounds = [{:?}, {:?}]", range.low, range.high))
        }
        Some(_) => {}
        None => {}
    }
    if let Some(values) = &facts.values {
        let values: Vec<_> = values.iter().map(value).collect();
        parts.push(format!("values = [{}]", values.join(", ")));
    }
    if !facts.nullable {
        parts.push("nullable = false".to_owned());
    }
    parts.join(", ")
}

/// The column that names the unit, and whom.
fn unit<'s>(
    schema: &'s SchemaRef,
    sketch: &Sketch,
    options: &DraftOptions,
) -> Option<(&'s str, &'static str)> {
    let usable = |name: &str| {
        schema
            .fields()
            .iter()
            .find(|field| field.name().eq_ignore_ascii_case(name) && Kind::of(field.data_type()).is_some())
            .map(|field| field.name().as_str())
    };
    if let Some(said) = &options.unit {
        let whose = UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(said))
            .map_or("person", |&(_, whose)| whose);
        return usable(said).map(|column| (column, whose));
    }
    let named = UNITS.iter().find_map(|&(name, whose)| {
        usable(name)
            .or_else(|| usable(&name.replace('_', "")))
            .map(|column| (column, whose))
    });
    named.or_else(|| {
        let &(_, whose) = TABLES.iter().find(|(table, _)| *table == sketch.name)?;
        usable("id").map(|column| (column, whose))
    })
}

/// Whether this can hardly be the name of a column: a number, a day, an address, or no letter at all.
fn looks_like_data(name: &str) -> bool {
    name.parse::<f64>().is_ok()
        || name.parse::<toml::value::Datetime>().is_ok()
        || name.contains('@')
        || name.chars().count() > 128
        || !name.chars().any(char::is_alphabetic)
}
