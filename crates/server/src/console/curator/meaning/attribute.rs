//! A secret yes or no about each person of the dummy, for attacks to find out.

use super::super::super::layout::name;
use arrow_array::{Array, BooleanArray, Float64Array, Int64Array, RecordBatch, StringViewArray};
use attack::Seeded;
use attack::linear::secrets;
use maud::{Markup, html};
use sql::catalog::{Owner, Table};
use sql::sample::DUMMY_UNITS;
use sql::{Catalog, Facts, Kind, Value};

/// What is asked about, and the truth.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) words: Markup,
    pub(super) of_people: Vec<bool>,
}

/// A column that makes a good question, the better the smaller its place.
enum Asked<'a> {
    /// It is true.
    True,
    /// It is the first of the declared values.
    Is(&'a str),
    /// It is above the middle of its bounds.
    Above(f64),
}

impl Attribute {
    /// An attribute of the dummy's people, from the first private table with a column for it: a yes or no,
    /// else one of a few values, else a number. If no table has one, it is invented as well.
    pub(super) fn of_dummy<'a>(catalog: &Catalog, rows: impl Fn(&str) -> Option<&'a RecordBatch>) -> Self {
        for kind in [Kind::Bool, Kind::Text, Kind::Int, Kind::Float] {
            for (table_name, table) in &catalog.tables {
                let Some(rows) = rows(table_name) else { continue };
                let Some((column, asked)) = column_of(table, kind) else {
                    continue;
                };
                if let Some(of_people) = truth(table, rows, column, &asked) {
                    return Self {
                        words: html! {
                            "whether " code { (name(column)) } " in " code { (name(table_name)) }
                            @match &asked {
                                Asked::True => " is true",
                                Asked::Is(value) => { " is “" (name(value)) "”" },
                                Asked::Above(middle) => { " is above " (report::significant(*middle, 6)) },
                            }
                        },
                        of_people,
                    };
                }
            }
        }
        Self {
            words: html! { "a yes or no that was invented for each" },
            of_people: secrets(DUMMY_UNITS as usize, &mut Seeded::new(1)),
        }
    }
}

/// The first column of this kind that says something about people and does not name them.
fn column_of(table: &Table, kind: Kind) -> Option<(&str, Asked<'_>)> {
    let names_people = |column: &str| {
        let owner = matches!(&table.owner, Owner::Column(owner) | Owner::Through { column: owner, .. } if owner == column);
        owner || table.identifiers.iter().any(|identifier| identifier == column)
    };
    table
        .columns
        .iter()
        .filter(|(column, facts)| facts.kind == kind && !names_people(column))
        .find_map(|(column, facts)| Some((column.as_str(), asked(facts)?)))
}

fn asked(facts: &Facts) -> Option<Asked<'_>> {
    match (facts.kind, facts.values.as_deref(), facts.range) {
        (Kind::Bool, _, _) => Some(Asked::True),
        (Kind::Text, Some([Value::Text(first), _, ..]), _) => Some(Asked::Is(first)),
        // Halved first: the width of a range may be more than any float.
        (Kind::Int | Kind::Float, None, Some(range)) => {
            Some(Asked::Above(range.low / 2.0 + range.high / 2.0))
        }
        _ => None,
    }
}

/// The truth about each unit, by its first row; NULL is no.
fn truth(table: &Table, rows: &RecordBatch, column: &str, asked: &Asked<'_>) -> Option<Vec<bool>> {
    let values = rows.column_by_name(column)?.as_any();
    let holds = |row: usize| match asked {
        Asked::True => {
            let values = values.downcast_ref::<BooleanArray>()?;
            Some(values.is_valid(row) && values.value(row))
        }
        Asked::Is(value) => {
            let values = values.downcast_ref::<StringViewArray>()?;
            Some(values.is_valid(row) && values.value(row) == *value)
        }
        Asked::Above(middle) => match (
            values.downcast_ref::<Int64Array>(),
            values.downcast_ref::<Float64Array>(),
        ) {
            (Some(values), _) => Some(values.is_valid(row) && values.value(row) as f64 > *middle),
            (_, Some(values)) => Some(values.is_valid(row) && values.value(row) > *middle),
            _ => None,
        },
    };
    let units = match &table.owner {
        Owner::Column(owner) | Owner::Through { column: owner, .. } => Some(rows.column_by_name(owner)?),
        Owner::EachRow | Owner::Public => None,
    };
    // The dummy has unit after unit.
    let begins = |row: usize| match units {
        Some(units) if row > 0 => units.slice(row, 1).as_ref() != units.slice(row - 1, 1).as_ref(),
        _ => true,
    };
    (0..rows.num_rows())
        .filter(|row| begins(*row))
        .map(holds)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn attribute(columns: &str, more: &str) -> Attribute {
        let text = format!(
            "name = \"x\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 1\nledger = \"x\"\n[tables.t]\nsource = \"t.csv\"\nunit = \"id\"\n{more}[tables.t.columns]\nid = {{ kind = \"int\" }}\n{columns}"
        );
        let catalog = Catalog::parse(&text, Path::new("/nowhere")).unwrap();
        let rows: BTreeMap<String, RecordBatch> = catalog
            .tables
            .keys()
            .filter_map(|table| Some((table.clone(), sql::sample::dummy_rows(&catalog, table).ok()??)))
            .collect();
        Attribute::of_dummy(&catalog, |table| rows.get(table))
    }

    #[test]
    fn every_person_has_one_and_it_is_the_plainest_there_is() {
        for (columns, words) in [
            (
                "age = { kind = \"int\", bounds = [0, 100] }\nsmokes = { kind = \"bool\" }",
                "<bdi>smokes</bdi></code> in <code><bdi>t</bdi></code> is true",
            ),
            (
                "age = { kind = \"int\", bounds = [0, 100] }\nsex = { kind = \"text\", values = [\"f\", \"m\"] }",
                "is “<bdi>f</bdi>”",
            ),
            ("age = { kind = \"int\", bounds = [0, 100] }", "is above 50"),
            (
                "size = { kind = \"float\", bounds = [-1e308, 1e308] }",
                "is above 0",
            ),
            ("note = { kind = \"text\" }", "was invented for each"),
        ] {
            // Several rows a person, or one: it is asked about people.
            for more in ["", "rows_per_unit = 1\n"] {
                let attribute = attribute(columns, more);
                let shown = attribute.words.clone().into_string();
                assert!(shown.contains(words), "{shown}");
                assert_eq!(attribute.of_people.len(), 1000, "{shown}");
                let set = attribute.of_people.iter().filter(|bit| **bit).count();
                assert!((350..650).contains(&set), "{shown}: {set}");
            }
        }
    }
}
