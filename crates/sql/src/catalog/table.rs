//! What a curator declares of one table.

use super::column::column;
use super::csv::{Header, format};
use super::document::{Node, Place, Section};
use super::impossible::impossible;
use super::{Limits, ObjectAddress, Owner, ParquetTree, Provided, Root, Source, Table};
use crate::Error;
use crate::values::facts::{Facts, Kind, Range};
use std::collections::BTreeMap;
use std::path::Path;

/// What surrounds a catalog: where relative paths start, and what `${NAME}` stands for.
pub(super) struct Surroundings<'a> {
    pub(super) directory: &'a Path,
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A table and the places that checks across tables may have to name.
pub(super) struct Declared {
    pub(super) table: Table,
    /// Where its owner is declared.
    pub(super) owner: Place,
}

pub(super) fn table(node: &Node<'_>, surroundings: &Surroundings<'_>) -> Result<Declared, Error> {
    let mut section = node.section()?;
    let source = source(&mut section, surroundings)?;
    let csv = format(&mut section, matches!(source, Source::Csv(_)))?;
    let (owner, place) = owner(&mut section)?;
    let public = owner == Owner::Public;
    let (columns, other) = columns(&mut section, public)?;
    let mut table = Table::undeclared(source);
    table.owner = owner;
    table.columns = columns;
    table.other = other;
    table.csv = csv;
    names_exist(&table, &section)?;
    owner_exists(&table, &place)?;
    partitions_exist(&table, &section)?;
    rows(&mut section, &mut table)?;
    if let Some(node) = section.take("keys") {
        table.keys = keys(&node, &table)?;
    }
    if let Some(node) = section.take("impossible") {
        if public {
            return Err(node.wrong("no synthetic rows are made of a public table", "drop this key"));
        }
        table.impossible = impossible(&node, &table)?;
    }
    let limits_place = section.place().clone();
    table.limits = limits(section.section("limits")?)?;
    if public && table.limits != Limits::default() {
        return Err(limits_place.wrong(
            "limits on a public table",
            "limits say how much one unit may contribute, and nobody's rows are in here; drop them",
        ));
    }
    if let Some(node) = section.take("version") {
        table.version = Some(node.name()?.to_owned());
    }
    section.finish()?;
    Ok(Declared { table, owner: place })
}

/// Limits on what one unit contributes.
pub(super) fn limits(mut section: Section<'_>) -> Result<Limits, Error> {
    let mut limits = within_groups(&mut section)?;
    for (column, node) in section.section("by")?.named() {
        let mut section = node.section()?;
        limits.by.insert(column.to_owned(), within_groups(&mut section)?);
        section.finish()?;
    }
    section.finish()?;
    Ok(limits)
}

/// Limits that may differ with what a query groups by.
fn within_groups(section: &mut Section<'_>) -> Result<Limits, Error> {
    let mut count = |key| section.take(key).map(|node| node.count()).transpose();
    let (groups, rows_per_group) = (count("groups")?, count("rows_per_group")?);
    let rows = count("rows")?;
    let mut sums = BTreeMap::new();
    for (column, node) in section.section("sums")?.named() {
        sums.insert(column.to_owned(), range(&node)?);
    }
    Ok(Limits {
        groups,
        rows_per_group,
        rows,
        sums,
        ..Limits::default()
    })
}

/// What one unit's sum is clamped to: it may have no rows, so 0 is within.
fn range(node: &Node<'_>) -> Result<Range, Error> {
    let ends: Vec<Option<f64>> = node.array()?.iter().map(Node::float).collect();
    let range = match ends[..] {
        [Some(low), Some(high)] => Range::new(low, high),
        _ => None,
    };
    range
        .filter(|range| range.low <= 0.0 && range.high >= 0.0 && range.low < range.high)
        .ok_or_else(|| {
            node.wrong(
                "expected two numbers in order with 0 between them",
                "write [0, 5000]: the least and the most that one unit's sum may be",
            )
        })
}

/// Whether this names a PostgreSQL database rather than a file.
pub(crate) fn is_postgres(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// A connection string with `${NAME}` replaced by the environment's value, so that passwords stay out of the file.
pub(super) fn connection(node: &Node<'_>, surroundings: &Surroundings<'_>) -> Result<String, Error> {
    let mut rest = node.text()?;
    let mut filled = String::new();
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            return Err(node.wrong(
                "`${` without `}`",
                "write ${NAME} for the value of the environment variable NAME",
            ));
        };
        let value = (surroundings.variable)(name).ok_or_else(|| {
            node.wrong(
                "an environment variable that is named here is not set",
                "set it, or write the connection string out",
            )
        })?;
        filled.push_str(&value);
        rest = after;
    }
    filled.push_str(rest);
    // What the parser would say may quote a password.
    if filled.parse::<tokio_postgres::Config>().is_err() {
        return Err(node.wrong(
            "this is not a connection string of PostgreSQL",
            "write postgres://user@host/database; characters such as @ and / in a password are written %40 and %2F",
        ));
    }
    Ok(filled)
}

fn source(section: &mut Section<'_>, surroundings: &Surroundings<'_>) -> Result<Source, Error> {
    const FORMAT: &str = "say format = \"csv\" or format = \"parquet\"";
    let node = section.need(
        "source",
        "say where the rows are: a file, a directory, s3://bucket/name, or postgres://user@host/database",
    )?;
    let format = section.take("format");
    let named = section.take("table");
    let partitions = section.take("partitions");
    let partitions_place = partitions.as_ref().map(|node| node.place().clone());
    let partitions = partitions.map_or(Ok(Vec::new()), |node| partitions_of(&node))?;
    let unfit = |what: &str| match &partitions_place {
        Some(place) => Err(place.wrong(what, "drop this key; it is for Parquet files")),
        None => Ok(()),
    };
    if is_postgres(node.text()?) {
        unfit("a database has no directories")?;
        if let Some(format) = format {
            return Err(format.wrong("a database has no file format", "drop this key"));
        }
        let Some(named) = named else {
            return Err(node.wrong(
                "which table of the database?",
                "say table = \"schema.name\" below",
            ));
        };
        let table = named.name()?.to_owned();
        if super::quoted_name(&table).is_none() {
            return Err(named.wrong(
                "this is not the name of a table",
                "write it as name or schema.name; a part with a dot in it goes in double quotes",
            ));
        }
        return Ok(Source::Postgres {
            connection: connection(&node, surroundings)?,
            table,
        });
    }
    if let Some(named) = named {
        return Err(named.wrong("a file has no tables inside", "drop this key"));
    }
    if ObjectAddress::is_meant(node.text()?) {
        if let Some(format) = format
            && format.text()? != "parquet"
        {
            return Err(format.wrong(
                "in an object store only Parquet files are read",
                "write the files anew as Parquet, or copy them to this machine",
            ));
        }
        let Some(address) = ObjectAddress::parse(node.text()?) else {
            return Err(node.wrong(
                "this is not the address of objects",
                "write s3://bucket/name, gs://bucket/name or az://container/name; keys, endpoints and regions are taken from the environment",
            ));
        };
        return Ok(Source::ParquetTree(ParquetTree {
            root: Root::Objects(address),
            partitions,
        }));
    }
    if node.text()? == "memory" && format.is_none() {
        unfit("rows in memory have no directories")?;
        return Ok(Source::Memory(Provided::default()));
    }
    let path = surroundings.directory.join(node.name()?);
    let extension = path.extension().and_then(|extension| extension.to_str());
    let found = match format {
        Some(format) => match format.text()? {
            "csv" => Source::Csv(path),
            "parquet" => Source::Parquet(path),
            _ => return Err(format.wrong("there is no such format", FORMAT)),
        },
        None => match extension {
            Some("csv" | "tsv") => Source::Csv(path),
            Some("parquet") => Source::Parquet(path),
            // Only Parquet files lie in such directories.
            _ if !partitions.is_empty() => Source::Parquet(path),
            _ => return Err(node.wrong("what format is this in?", FORMAT)),
        },
    };
    match found {
        Source::Parquet(path) if !partitions.is_empty() => Ok(Source::ParquetTree(ParquetTree {
            root: Root::Directory(path),
            partitions,
        })),
        Source::Parquet(_) => Ok(found),
        _ => {
            unfit("CSV files are read from one directory")?;
            Ok(found)
        }
    }
}

/// The columns that directories name.
fn partitions_of(node: &Node<'_>) -> Result<Vec<String>, Error> {
    let mut columns: Vec<String> = Vec::new();
    for part in node.array()? {
        let name = part.name()?;
        if columns.iter().any(|column| column == name) {
            return Err(part.wrong("this column is named twice", "name each column once"));
        }
        columns.push(name.to_owned());
    }
    Ok(columns)
}

/// That directories name declared columns.
fn partitions_exist(table: &Table, section: &Section<'_>) -> Result<(), Error> {
    let Source::ParquetTree(tree) = &table.source else {
        return Ok(());
    };
    match tree.partitions.iter().all(|name| table.column(name).is_some()) {
        true => Ok(()),
        false => Err(section.place().wrong(
            "one of `partitions` is not among `columns`",
            "declare it there; names are compared as written, upper and lower case apart",
        )),
    }
}

fn owner(section: &mut Section<'_>) -> Result<(Owner, Place), Error> {
    const HINT: &str = "say one of: unit = \"column that names the person\", each_row = true, public = true, or unit_through = { column = \"…\", table = \"…\", key = \"…\" }";
    let here = section.place().clone();
    let mut found: Vec<(Owner, Place)> = Vec::new();
    if let Some(node) = section.take("unit") {
        found.push((Owner::Column(node.name()?.to_owned()), node.place().clone()));
    }
    for (key, owner) in [("each_row", Owner::EachRow), ("public", Owner::Public)] {
        if let Some(node) = section.take(key)
            && node.flag()?
        {
            found.push((owner, node.place().clone()));
        }
    }
    if let Some(node) = section.take("unit_through") {
        let mut through = node.section()?;
        let mut part = |key| through.need(key, HINT)?.name().map(str::to_owned);
        let owner = Owner::Through {
            column: part("column")?,
            table: part("table")?.to_lowercase(),
            key: part("key")?,
        };
        through.finish()?;
        found.push((owner, node.place().clone()));
    }
    match found.len() {
        0 => Err(here.wrong("whose rows are these?", HINT)),
        1 => Ok(found.remove(0)),
        _ => Err(found[1].1.wrong("the owner of the rows is declared twice", HINT)),
    }
}

fn owner_exists(table: &Table, place: &Place) -> Result<(), Error> {
    let (Owner::Column(column) | Owner::Through { column, .. }) = &table.owner else {
        return Ok(());
    };
    match table.column(column) {
        None => Err(place.wrong(
            "the column that is named here is not among `columns`",
            "declare it there; names are compared as written, upper and lower case apart",
        )),
        Some(facts) if facts.kind == Kind::Float => Err(place.wrong(
            "a unit cannot be named by floats, which may be equal and look different",
            "declare the column as int or text",
        )),
        Some(_) => Ok(()),
    }
}

/// That each column is among the names of a file that are listed.
fn names_exist(table: &Table, section: &Section<'_>) -> Result<(), Error> {
    let Header::Names(names) = &table.csv.header else {
        return Ok(());
    };
    match table.columns.iter().all(|(column, _)| names.contains(column)) {
        true => Ok(()),
        false => Err(section.place().wrong(
            "one of `columns` is not among the names in `header`",
            "list the names of all columns of the file in order; they are compared as written, upper and lower case apart",
        )),
    }
}

/// How many rows a unit has, whether they lie together, and which columns are therefore the same in all of them.
fn rows(section: &mut Section<'_>, table: &mut Table) -> Result<(), Error> {
    if let Some(node) = section.take("rows_per_unit") {
        let rows = node.count()?;
        match table.owner {
            Owner::Public => {
                return Err(node.wrong("a public table has no units", "drop this key"));
            }
            Owner::EachRow if rows != 1 => {
                return Err(node.wrong(
                    "each row is a unit, so a unit has 1 row",
                    "drop this key, or name the unit's column with `unit`",
                ));
            }
            _ => table.rows_per_unit = Some(rows),
        }
    }
    if table.owner == Owner::EachRow {
        table.rows_per_unit = Some(1);
    }
    if let Some(node) = section.take("clustered") {
        table.clustered = node.flag()?;
        if table.clustered && !matches!(table.owner, Owner::Column(_)) {
            return Err(node.wrong(
                "rows can be clustered by a unit column only",
                "name it with `unit`, or drop this key",
            ));
        }
    }
    for (name, facts) in &mut table.columns {
        let names_unit = matches!(&table.owner, Owner::Column(column) if column == name);
        facts.of_unit |= names_unit || table.rows_per_unit == Some(1);
    }
    Ok(())
}

fn keys(node: &Node<'_>, table: &Table) -> Result<Vec<Vec<String>>, Error> {
    const HINT: &str = "write a list of lists of columns, as [[\"code\"]] or [[\"year\", \"region\"]]";
    if table.owner != Owner::Public {
        return Err(node.wrong(
            "keys are for public tables",
            "drop this key; how a unit's rows are bounded does not depend on it",
        ));
    }
    let mut keys = Vec::new();
    for key in node.array()? {
        let mut columns = Vec::new();
        for part in key.array()? {
            let name = part.name()?;
            if table.column(name).is_none() {
                return Err(part.wrong("the column that is named here is not among `columns`", HINT));
            }
            columns.push(name.to_owned());
        }
        if columns.is_empty() {
            return Err(key.wrong("a key without columns", HINT));
        }
        keys.push(columns);
    }
    Ok(keys)
}

/// The columns, and what values that are not declared are read as.
type Columns = (Vec<(String, Facts)>, Vec<(String, String)>);

fn columns(section: &mut Section<'_>, public: bool) -> Result<Columns, Error> {
    let node = section.need(
        "columns",
        "declare the columns that queries may use, as [tables.NAME.columns] with lines such as age = { kind = \"int\", bounds = [0, 120] }",
    )?;
    let mut seen = std::collections::BTreeSet::new();
    let (mut columns, mut others) = (Vec::new(), Vec::new());
    for (name, column_node) in node.section()?.named() {
        if name.is_empty() {
            return Err(column_node.wrong("a column without a name", "name it"));
        }
        if !seen.insert(name.to_lowercase()) {
            return Err(column_node.wrong(
                "another column differs from this one in upper and lower case only",
                "SQL would confuse them: declare one of them",
            ));
        }
        let (facts, other) = column(&column_node, public)?;
        columns.push((name.to_owned(), facts));
        others.extend(other.map(|other| (name.to_owned(), other)));
    }
    if columns.is_empty() {
        return Err(node.wrong("no columns", "declare at least one"));
    }
    Ok((columns, others))
}
