//! Files in directories that are named by values of columns, as Hive lays them out: `year=2026/region=north/part-0.parquet`.
//!
//! # Privacy
//! Claim: which directories are left out of a query changes no number before noise.
//! Proof: every row of a file has the values that its directories name. A file is left out when a condition of the query that reads those columns alone is not true of these values, so of none of its rows,
//! which the same condition, evaluated again above the scan, would leave out one by one. Which files are left out follows from the query and the names of the directories.
//! Audited by: `tests::hunter::directories`, which holds directories against one file, and finds a planted defect.

use super::objects;
use crate::Error;
use crate::catalog::Root;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What Hive names a directory whose value is NULL.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// What directories say of the rows below them: one value a column, in the order of the columns.
pub(super) type Values = Vec<Option<String>>;

/// The value of each column, from the names of the directories between the root and a file; `None` where they are named otherwise.
pub(super) fn values(directories: &[&str], partitions: &[String]) -> Option<Values> {
    if directories.len() != partitions.len() {
        return None;
    }
    let mut values = Vec::with_capacity(partitions.len());
    for (directory, column) in directories.iter().zip(partitions) {
        let value = directory.strip_prefix(column.as_str())?.strip_prefix('=')?;
        values.push((value != NULL).then(|| decoded(value)));
    }
    Some(values)
}

/// Whether a name is one of those that writers give to what is not, or not yet, a part of a table: `_temporary`, `_SUCCESS`, `.part-0.crc`.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

/// A file that lies elsewhere than the catalog says. Depends on names alone.
pub(super) fn misplaced(what: &str, partitions: &[String]) -> Error {
    let named: Vec<String> = partitions.iter().map(|column| format!("{column}=…")).collect();
    Error::catalog(
        format!(
            "{what}: a Parquet file is not in directories that are named {}",
            named.join("/")
        ),
        "check `partitions` in the catalog, and the order of its columns; every file must lie that deep, and no deeper",
    )
}

/// Characters that a path cannot hold are written as `%` and two hexadecimal digits. What is no text then is taken as it is written.
fn decoded(written: &str) -> String {
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digit = |place: usize| after.get(place).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| written.to_owned())
}

/// The Parquet files of a directory tree of this machine in the order of their paths, with what their directories say.
pub(super) fn in_directories(root: &Path, partitions: &[String]) -> Result<Vec<(PathBuf, Values)>, Error> {
    let mut found = Vec::new();
    walk(root, root, &mut Vec::new(), partitions, &mut found)?;
    if found.is_empty() {
        return Err(Error::catalog(
            format!("the directory {} has no Parquet files in it", root.display()),
            "check the path of the table's `source`, which starts at the directory of the catalog",
        ));
    }
    found.sort();
    Ok(found)
}

fn walk(
    root: &Path,
    directory: &Path,
    names: &mut Vec<String>,
    partitions: &[String],
    found: &mut Vec<(PathBuf, Values)>,
) -> Result<(), Error> {
    let wrong = |error: std::io::Error| Error::File {
        what: format!("{} cannot be read", root.display()),
        why: error.kind(),
        hint: "check the path of the table's `source`, which starts at the directory of the catalog"
            .to_owned(),
    };
    for entry in std::fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if is_hidden(&name) {
            continue;
        }
        let metadata = std::fs::metadata(&path).map_err(wrong)?;
        if metadata.is_dir() && names.len() < partitions.len() {
            names.push(name);
            walk(root, &path, names, partitions, found)?;
            names.pop();
        } else if metadata.is_dir() {
            // Deeper than the catalog says: a mistake if a file of a table is anywhere in it.
            if has_parquet(&path, DEEPEST).map_err(wrong)? {
                return Err(misplaced("the table", partitions));
            }
        } else if path.extension().is_some_and(|extension| extension == "parquet") {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let values = values(&names, partitions).ok_or_else(|| misplaced("the table", partitions))?;
            found.push((path, values));
        }
    }
    Ok(())
}

/// Directories are looked into so deep: links may lead in circles.
const DEEPEST: usize = 40;

/// Whether a Parquet file lies anywhere below a directory, in directories that are not hidden.
fn has_parquet(directory: &Path, deepest: usize) -> std::io::Result<bool> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if is_hidden(&path.file_name().unwrap_or_default().to_string_lossy()) {
            continue;
        }
        let found = match std::fs::metadata(&path)?.is_dir() {
            true => deepest > 0 && has_parquet(&path, deepest - 1)?,
            false => path.extension().is_some_and(|extension| extension == "parquet"),
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The columns that the directories of a table seem to name, for a first catalog: from the names on the way to one of its files.
///
/// # Errors
/// When the place cannot be read.
pub(crate) async fn partitions_in(what: &str, root: &Root) -> Result<Vec<String>, Error> {
    let names = match root {
        Root::Directory(root) => way_down(root),
        Root::Objects(address) => objects::way_down(what, address).await?,
    };
    let columns = names
        .iter()
        .map_while(|name| Some(name.split_once('=')?.0.to_owned()));
    Ok(columns.filter(|column| !column.is_empty()).collect())
}

/// The names of directories on the way to one that has no further one.
fn way_down(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut directory = root.to_owned();
    loop {
        let mut inside: Vec<PathBuf> = std::fs::read_dir(&directory)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        inside.sort();
        let next = inside.into_iter().find_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            (path.is_dir() && !is_hidden(&name) && name.contains('=')).then_some((path, name))
        });
        let Some((path, name)) = next else {
            return names;
        };
        directory = path;
        names.push(name);
    }
}

/// The columns that directories name, as text: what they mean is up to the kinds that the catalog declares.
pub(super) fn fields(partitions: &[String]) -> Vec<FieldRef> {
    partitions
        .iter()
        .map(|column| Arc::new(Field::new(column, DataType::Utf8View, true)))
        .collect()
}

/// The values of one file as the engine takes them.
pub(super) fn scalars(values: &Values) -> Vec<ScalarValue> {
    values
        .iter()
        .map(|value| ScalarValue::Utf8View(value.clone()))
        .collect()
}

/// Whether a condition reads nothing but columns that directories name, so that it can be decided without opening a file.
pub(super) fn decides(condition: &Expr, partitions: &[String]) -> bool {
    let columns = condition.column_refs();
    let known = columns.iter().all(|column| partitions.contains(&column.name));
    let plain = |expr: &Expr| {
        !matches!(
            expr,
            Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::SetComparison(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Placeholder(_)
                | Expr::LambdaVariable(_)
        )
    };
    let all_plain = condition
        .exists(|expr| Ok(!plain(expr)))
        .is_ok_and(|found| !found);
    known && !columns.is_empty() && all_plain && !condition.is_volatile()
}

/// Which files have rows for which all of these conditions may be true. A condition that cannot be evaluated leaves nothing out.
pub(super) fn read(
    files: &[&Values],
    partitions: &[String],
    conditions: &[Expr],
    session: &dyn Session,
) -> Vec<bool> {
    let mut read = vec![true; files.len()];
    for condition in conditions
        .iter()
        .filter(|condition| decides(condition, partitions))
    {
        if let Ok(true_of) = true_of(files, partitions, condition, session) {
            read.iter_mut()
                .zip(true_of)
                .for_each(|(read, is_true)| *read &= is_true);
        }
    }
    read
}

/// Of which files a condition is true.
fn true_of(
    files: &[&Values],
    partitions: &[String],
    condition: &Expr,
    session: &dyn Session,
) -> Result<Vec<bool>, DataFusionError> {
    let schema = Arc::new(Schema::new(fields(partitions)));
    let columns = (0..partitions.len())
        .map(|column| {
            let values = files.iter().map(|values| values[column].as_deref());
            Arc::new(StringViewArray::from_iter(values)) as ArrayRef
        })
        .collect();
    let rows = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    let names = DFSchema::try_from(schema)?;
    let evaluated = session
        .create_physical_expr(condition.clone(), &names)?
        .evaluate(&rows)?;
    let evaluated = evaluated.into_array(files.len())?;
    let answers = evaluated
        .as_boolean_opt()
        .ok_or_else(|| DataFusionError::Plan("a condition is neither true nor false".to_owned()))?;
    #[cfg(test)]
    if planted(Mutant::NullDirectories) {
        let named = |values: &&Values| values.iter().all(Option::is_some);
        let both = |(answer, values)| answer == Some(true) && named(values);
        return Ok(answers.iter().zip(files).map(both).collect());
    }
    Ok(answers.iter().map(|answer| answer == Some(true)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn directories_name_values() {
        let partitions = named(&["year", "city"]);
        let some = |text: &str| Some(text.to_owned());
        for (directories, expected) in [
            (
                vec!["year=2026", "city=Rome"],
                Some(vec![some("2026"), some("Rome")]),
            ),
            (
                vec!["year=2026", "city=New%20York"],
                Some(vec![some("2026"), some("New York")]),
            ),
            (vec!["year=", "city=a=b"], Some(vec![some(""), some("a=b")])),
            (
                vec!["year=__HIVE_DEFAULT_PARTITION__", "city=%zz%4"],
                Some(vec![None, some("%zz%4")]),
            ),
            // Bytes that are no text are not decoded.
            (vec!["year=1", "city=%FF"], Some(vec![some("1"), some("%FF")])),
            (vec!["city=Rome", "year=2026"], None),
            (vec!["year=2026"], None),
            (vec!["year=2026", "city=Rome", "x=1"], None),
            (vec!["years=2026", "city=Rome"], None),
            (vec!["year=2026", "Rome"], None),
        ] {
            assert_eq!(values(&directories, &partitions), expected, "{directories:?}");
        }
    }
}
