//! The coarser levels of an attribute, from the public table that has them.

use crate::Error;
use crate::catalog::{Attribute, Hierarchy};
use crate::finish::answer::Answer;
use crate::finish::cell::CellValue;
use crate::price::planned::PublicLevel;
use std::collections::{BTreeMap, BTreeSet};

/// What NULL is called.
const NULL: &str = "∅";

/// The levels of an attribute above the finest, from the next one up. `rows` answers a query over public tables.
///
/// # Errors
/// When the public table does not say to which part a value belongs, or says two.
pub(crate) fn levels_of(
    attribute: &Attribute,
    rows: impl FnOnce(&str) -> Result<Answer, Error>,
) -> Result<Vec<PublicLevel>, Error> {
    let Some(hierarchy) = &attribute.hierarchy else {
        return Ok(Vec::new());
    };
    let answer = rows(&sql_of(hierarchy))?;
    let paths: Vec<Vec<String>> = answer
        .rows
        .iter()
        .map(|row| row.iter().map(|cell| text_of(&cell.value)).collect())
        .collect();
    let labels = attribute.cells.labels().into_iter().map(|label| label.text);
    climbed(attribute, hierarchy, &paths, labels.collect())
}

fn sql_of(hierarchy: &Hierarchy) -> String {
    let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
    let levels: Vec<String> = hierarchy.levels.iter().map(quoted).collect();
    format!(
        "SELECT DISTINCT {} FROM {}",
        levels.join(", "),
        quoted(&hierarchy.table)
    )
}

fn text_of(value: &CellValue) -> String {
    match value {
        CellValue::Null => NULL.to_owned(),
        CellValue::Bool(value) => value.to_string(),
        CellValue::Int(value) => value.to_string(),
        CellValue::Float(value) => value.to_string(),
        CellValue::Text(text) => text.clone(),
    }
}

/// Climbs from the finest level to the coarsest.
fn climbed(
    attribute: &Attribute,
    hierarchy: &Hierarchy,
    paths: &[Vec<String>],
    finest: Vec<String>,
) -> Result<Vec<PublicLevel>, Error> {
    let table = &hierarchy.table;
    let mut levels = Vec::new();
    let mut values = finest;
    for level in (0..hierarchy.levels.len().saturating_sub(1)).rev() {
        let (name, below) = (&hierarchy.levels[level], &hierarchy.levels[level + 1]);
        let mut parents: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for path in paths {
            if let [parent, child] = &path[level..=level + 1] {
                parents.entry(child).or_default().insert(parent);
            }
        }
        let mut labels: Vec<String> = Vec::new();
        let mut places = Vec::new();
        for value in &values {
            // Rows where the value is NULL are in no part of anything.
            let found = parents.get(value.as_str()).filter(|_| value != NULL);
            let parent = match found.map(|found| found.iter().collect::<Vec<_>>()).as_deref() {
                None if value == NULL => NULL,
                Some([parent]) => parent,
                Some([one, other, ..]) => {
                    return Err(Error::refused(
                        format!(
                            "in the hierarchy of `{}`, {below} = {value} has two parents in {table}: {name} = {one} and {name} = {other}",
                            attribute.name
                        ),
                        format!("let each {below} lie in one {name}, or drop the level; nothing was charged"),
                    ));
                }
                _ => {
                    return Err(Error::refused(
                        format!(
                            "in the hierarchy of `{}`, {table} has no row with {below} = {value}",
                            attribute.name
                        ),
                        "add a row for each value that the catalog declares, or drop the value; nothing was charged",
                    ));
                }
            };
            let place = labels.iter().position(|label| label == parent);
            places.push(place.unwrap_or(labels.len()) as u32);
            if place.is_none() {
                labels.push(parent.to_owned());
            }
        }
        levels.push(PublicLevel {
            name: name.clone(),
            labels: labels.clone(),
            parents: places,
        });
        values = labels;
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use std::path::Path;

    fn levels(paths: &[&str]) -> Result<Vec<PublicLevel>, Error> {
        let text = "name = \"x\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 1\n\
            [tables.t]\nsource = \"t.csv\"\neach_row = true\n[tables.t.columns]\nplace = { kind = \"text\", values = [\"a\", \"b\", \"c\"] }\n\
            [tables.p]\nsource = \"p.csv\"\npublic = true\n[tables.p.columns]\nplace = { kind = \"text\" }\nregion = { kind = \"text\" }\nland = { kind = \"text\" }\n\
            [releases.r]\ntable = \"t\"\nepsilon = 1\nup_to = 1\nattributes = { place = { hierarchy = \"p\", levels = [\"land\", \"region\", \"place\"] } }\n";
        let catalog = Catalog::parse(text, Path::new("/"))?;
        let attribute = &catalog.releases["r"].attributes[0];
        let paths: Vec<Vec<String>> = paths
            .iter()
            .map(|path| path.split('/').map(str::to_owned).collect())
            .collect();
        let labels = attribute.cells.labels().into_iter().map(|label| label.text);
        climbed(
            attribute,
            attribute.hierarchy.as_ref().unwrap(),
            &paths,
            labels.collect(),
        )
    }

    #[test]
    fn levels_are_climbed() {
        let levels = levels(&["L/north/a", "L/north/b", "M/south/c", "M/other/unused"]).unwrap();
        assert_eq!(levels[0].labels, ["north", "south", "∅"]);
        assert_eq!(levels[0].parents, [0, 0, 1, 2]);
        assert_eq!(levels[1].labels, ["L", "M", "∅"]);
        assert_eq!(levels[1].parents, [0, 1, 2]);
    }

    #[test]
    fn a_child_has_one_parent() {
        let wrong = |paths: &[&str]| levels(paths).unwrap_err().to_string();
        assert_eq!(
            wrong(&["L/north/a", "L/north/b", "L/south/b", "L/south/c"]),
            "in the hierarchy of `place`, place = b has two parents in p: region = north and region = south\nhint: let each place lie in one region, or drop the level; nothing was charged"
        );
        assert!(wrong(&["L/north/a", "M/north/b", "L/south/c"]).contains("region = north has two parents"));
        assert!(wrong(&["L/north/a", "L/north/b"]).contains("no row with place = c"));
    }
}
