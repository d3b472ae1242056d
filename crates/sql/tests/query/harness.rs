//! A small dataset in a temporary directory, asked with so large an ε that answers are all but exact, or with a small one.

use sql::blocking::Dataset;
use sql::{Answer, Catalog, Error, QueryRequest};
use std::fmt::Write;

pub(crate) struct Bench {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) dataset: Dataset,
}

/// ε so large that the noise is far below one.
pub(crate) const NEARLY_EXACT: &str = "100000";

pub(crate) const PEOPLE: usize = 400;

/// Deterministic data: 400 people, one row each; their visits, several rows each; regions, public.
fn write_data(directory: &std::path::Path) {
    let mut people = String::from("person,age,education,income,region,smoker\n");
    let mut visits = String::from("person,day,department,minutes,cost\n");
    for person in 0..PEOPLE {
        let age = 18 + (person * 7) % 70;
        let education = ["none", "school", "bachelor", "master"][person % 4];
        let income = 1000.0 + (person * 37 % 900) as f64 * 100.0;
        let income = if person % 50 == 49 {
            String::new()
        } else {
            format!("{income}")
        };
        let region = ["north", "south", "east", "west"][(person / 3) % 4];
        writeln!(
            people,
            "{person},{age},{education},{income},{region},{}",
            person % 3 == 0
        )
        .unwrap();
        for visit in 0..(person % 5) {
            let department = ["eyes", "heart", "skin"][(person + visit) % 3];
            let day = format!(
                "2024-{:02}-{:02}",
                1 + (person + visit) % 12,
                1 + (person * visit) % 28
            );
            writeln!(
                visits,
                "{person},{day},{department},{},{}.5",
                10 + visit * 5,
                20 + person % 30
            )
            .unwrap();
        }
    }
    std::fs::write(directory.join("people.csv"), people).unwrap();
    std::fs::write(directory.join("visits.csv"), visits).unwrap();
    std::fs::write(
        directory.join("regions.csv"),
        "region,country\nnorth,A\nsouth,A\neast,B\nwest,B\n",
    )
    .unwrap();
}

pub(crate) const CATALOG: &str = r#"
name = "test"
[unit]
whose = "person"
neighbors = "NEIGHBORS"
[budget]
epsilon = 1000000000
delta = 1e-6
ledger = "test.ledger"
[budget.query]
epsilon = EPSILON
delta = 1e-9
[limits]
groups = 5
rows_per_group = 5
[tables.people]
source = "people.csv"
unit = "person"
rows_per_unit = 1
[tables.people.columns]
person = { kind = "int" }
age = { kind = "int", bounds = [0, 120], nullable = false }
education = { kind = "text", values = ["none", "school", "bachelor", "master", "doctor"] }
income = { kind = "float", bounds = [0, 100000] }
region = { kind = "text" }
smoker = { kind = "bool", nullable = false }
[tables.visits]
source = "visits.csv"
unit = "person"
[tables.visits.columns]
person = { kind = "int" }
day = { kind = "date" }
department = { kind = "text", values = ["eyes", "heart", "skin"] }
minutes = { kind = "int", bounds = [0, 60], nullable = false }
cost = { kind = "float", bounds = [0, 100] }
[tables.regions]
source = "regions.csv"
public = true
keys = [["region"]]
[tables.regions.columns]
region = { kind = "text" }
country = { kind = "text", values = ["A", "B"] }
"#;

impl Bench {
    pub(crate) fn new(epsilon: &str) -> Self {
        Self::with(
            &CATALOG
                .replace("EPSILON", epsilon)
                .replace("NEIGHBORS", "add_remove"),
        )
    }

    pub(crate) fn with(catalog: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        write_data(directory.path());
        let catalog = Catalog::parse(catalog, directory.path()).unwrap();
        let dataset = Dataset::new(catalog).unwrap();
        Self { directory, dataset }
    }

    pub(crate) fn ask(&self, sql: &str) -> Result<Answer, Error> {
        // What is asked here is what the limits leave.
        let ask = QueryRequest {
            cut_estimate: false,
            ..QueryRequest::new(sql, "tester")
        };
        Ok(self.dataset.query(&ask)?.answer)
    }

    /// The numbers of an answer, NULL as NaN, text left out.
    pub(crate) fn numbers(&self, sql: &str) -> Vec<Vec<f64>> {
        let answer = self.ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        answer
            .rows
            .iter()
            .map(|row| {
                row.iter()
                    .zip(&answer.columns)
                    .filter(|(_, column)| {
                        !matches!(
                            column.kind,
                            sql::CellKind::Text | sql::CellKind::Date | sql::CellKind::Timestamp
                        )
                    })
                    .map(|(cell, _)| cell.value.as_f64().unwrap_or(f64::NAN))
                    .collect()
            })
            .collect()
    }

    pub(crate) fn refusal(&self, sql: &str) -> String {
        match self.ask(sql) {
            Ok(_) => panic!("{sql} was answered"),
            Err(error) => error.to_string(),
        }
    }
}
