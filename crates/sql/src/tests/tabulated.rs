//! The cells of planned releases: exact, additive over units, and moved by one unit no further than is charged.

use super::movement::runtime;
use crate::Error;
use crate::blocking::Dataset;
use crate::catalog::Catalog;
use crate::mutants::{Mutant, with, with_verifier};
use crate::price::question::Claims;
use crate::run::engines::Engines;
use crate::run::exact::{Prepared, prepare};
use crate::run::publics::Publics;
use crate::run::tabulated::{lines, plans};
use crate::understand::planner::Planner;
use crate::understand::tabulation::Tabulation;
use crate::{ReleaseRequest, Stage};
use accounting::Delta;
use bound::Secret;
use datafusion::prelude::SessionConfig;
use mechanism::{Charge, PlannedPart, PlannedSet, PlannedTables, Stated};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Rows by the codes of their values.
type Counts = BTreeMap<Vec<u32>, u64>;

/// A person's rows, as lines of a CSV file without the person.
type Person = Vec<(&'static str, &'static str, &'static str, &'static str)>;

const TEXTS: &[&str] = &["a", "b", "odd", "", "A"];
const NUMBERS: &[&str] = &["0", "7", "8", "99", "-1", "100", "", "x", "9223372036854775807"];
const FLOATS: &[&str] = &["0", "-0", "0.5", "1.999", "2", "NaN", "inf", "", "1e300"];
const DAYS: &[&str] = &[
    "2024-01-01",
    "2024-01-31",
    "2024-02-29",
    "2024-03-01",
    "2023-12-31",
    "",
];

/// A catalog of a table in this directory, with two releases: cells with one number, and with several, since it has more cells than one number tells apart.
fn catalog(directory: &Path, neighbors: &str, rows: &str) -> Catalog {
    let wide: Vec<String> = (0..10)
        .map(|place| format!("w{place} = {{ column = \"n\" }}"))
        .collect();
    let text = format!(
        "name = \"x\"\n[unit]\nwhose = \"person\"\nneighbors = \"{neighbors}\"\n[budget]\nepsilon = 100\ndelta = 1e-6\n[budget.query]\ndelta = 1e-9\n\
         [tables.t]\nsource = \"t.csv\"\nunit = \"u\"\n{rows}[tables.t.columns]\nu = {{ kind = \"int\" }}\n\
         g = {{ kind = \"text\", values = [\"a\", \"b\", \"\"] }}\n\
         n = {{ kind = \"int\", bounds = [0, 99] }}\n\
         x = {{ kind = \"float\", bounds = [0, 2], nullable = false }}\n\
         day = {{ kind = \"date\", bounds = [\"2024-01-15\", \"2024-02-10\"], nullable = false }}\n\
         [releases.one]\ntable = \"t\"\nepsilon = 1\nrows = 3\nup_to = 1\n[releases.one.attributes]\n\
         g = {{}}\nn = {{}}\nx = {{ bins = [0, 0.5, 2], beyond = true }}\nday = {{ period = \"month\" }}\n\
         [releases.some]\ntable = \"t\"\nwhere = \"n < 50 -- few\"\nepsilon = 1\nrows = 3\nup_to = 1\n[releases.some.attributes]\ng = {{}}\nbins = {{ column = \"n\", bins = [0, 8, 99] }}\n\
         [releases.many]\ntable = \"t\"\nepsilon = 1\nrows = 3\nup_to = 1\n[releases.many.attributes]\ng = {{}}\nn = {{}}\n{}\n",
        wide.join("\n")
    );
    Catalog::parse(&text, directory).unwrap_or_else(|error| panic!("{error}"))
}

fn write(directory: &Path, people: &[(usize, &Person)]) {
    let mut text = "u,g,n,x,day\n".to_owned();
    for (person, rows) in people {
        for (g, n, x, day) in *rows {
            text += &format!("{person},\"{g}\",{n},{x},{day}\n");
        }
    }
    std::fs::write(directory.join("t.csv"), text).unwrap();
}

fn tabulation(name: &str, catalog: &Catalog) -> Tabulation {
    let planner = Planner::new(catalog).unwrap();
    let made = runtime().block_on(Tabulation::new(&catalog.releases[name], catalog, &planner));
    made.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Noise for the tables of a release, made for as many rows of a unit as it says; the tables are all of one cell.
fn noise(tabulation: &Tabulation, catalog: &Catalog) -> PlannedTables {
    let one_cell = PlannedPart::Cells {
        cells: vec![0],
        count: 1,
    };
    let all = PlannedSet {
        parts: vec![(0, 0)],
        mantissa: 1,
        exponent: 10,
        shift: 0,
    };
    let neighbors = catalog.unit.neighbors;
    PlannedTables::laplace(vec![vec![one_cell]], vec![all], tabulation.rows, neighbors).unwrap()
}

/// The pass of a release, ready to run, once it is verified for what a release of its rows is charged.
async fn prepared(tabulation: &Tabulation, catalog: &Catalog, engines: &Engines) -> Result<Prepared, Error> {
    let mechanism = noise(tabulation, catalog);
    let drawn: (_, &dyn Stated) = (mechanism.terms().sensitivity(), &mechanism);
    let claims = Claims {
        aggregations: std::slice::from_ref(&tabulation.aggregation),
        drawn: vec![vec![drawn]],
        charge: Charge::for_all(&[&mechanism], &catalog.unit, &Delta::ZERO, "cells").unwrap(),
    };
    let secret = Secret::new("0123456789abcdef").unwrap();
    let asked = plans(tabulation, &secret)?;
    prepare(asked, &claims, &Publics::default(), engines, catalog).await
}

fn engines() -> Engines {
    Engines::new(SessionConfig::new().with_target_partitions(2).with_batch_size(4))
}

fn counted(name: &str, catalog: &Catalog) -> Counts {
    let tabulation = tabulation(name, catalog);
    tabulation.check(catalog.unit.neighbors).unwrap();
    let engines = engines();
    let (columns, counts) = runtime().block_on(async {
        let prepared = prepared(&tabulation, catalog, &engines).await.unwrap();
        lines(prepared, &tabulation, &engines).await.unwrap()
    });
    let mut all = Counts::new();
    for (line, rows) in counts.iter().enumerate() {
        let cell = columns.iter().map(|column| column[line]).collect();
        *all.entry(cell).or_default() += u64::from(*rows);
    }
    all
}

#[test]
fn every_row_is_in_its_cell_or_in_none() {
    let here = tempfile::tempdir().unwrap();
    let people: Vec<Person> = vec![
        vec![("a", "7", "0", "2024-01-01")],
        vec![("", "", "-0", "2024-02-29")],
        // No such text; no such number; no number; a day that is no part of any month of the bounds.
        vec![("odd", "7", "0", "2024-01-31")],
        vec![("b", "100", "1", "2024-01-31")],
        vec![("b", "0", "NaN", "2024-01-31")],
        vec![("b", "0", "0.5", "2024-03-01")],
        vec![("b", "x", "2", "2024-01-31")],
        vec![("b", "99", "inf", "2024-01-31")],
        vec![("b", "99", "-1", "2024-01-31")],
        vec![("b", "99", "1.999", "2024-01-31")],
    ];
    let people: Vec<(usize, &Person)> = people.iter().enumerate().collect();
    write(here.path(), &people);
    let one_row = "rows_per_unit = 1\n";
    let cells = |counts: &Counts| counts.keys().cloned().collect::<Vec<_>>();
    for rows in [one_row, ""] {
        let catalog = catalog(here.path(), "add_remove", rows);
        let counts = counted("one", &catalog);
        assert!(counts.values().all(|rows| *rows == 1));
        // An empty text in quotes is a value; an infinity is the bound on its side.
        assert_eq!(
            cells(&counts),
            [
                vec![0, 7, 1, 0],
                vec![1, 99, 0, 0],
                vec![1, 99, 2, 0],
                vec![1, 99, 3, 0],
                vec![1, 100, 3, 0],
                vec![2, 100, 1, 1],
            ],
            "{rows}"
        );
        let some = counted("some", &catalog);
        assert_eq!(some, Counts::from([(vec![0, 0], 1), (vec![1, 0], 2)]), "{rows}");
        let many = counted("many", &catalog);
        assert_eq!(many.get(&[vec![0], vec![7; 11]].concat()), Some(&1), "{rows}");
    }
    assert_eq!(
        tabulation("one", &catalog(here.path(), "add_remove", ""))
            .numbers
            .len(),
        1
    );
    assert!(
        tabulation("many", &catalog(here.path(), "add_remove", ""))
            .numbers
            .len()
            > 1
    );
}

fn person() -> impl Strategy<Value = Person> {
    let pick = |from: &'static [&'static str]| prop::sample::select(from);
    let row = || (pick(TEXTS), pick(NUMBERS), pick(FLOATS), pick(DAYS));
    // Some are in one cell, or in many, over and over.
    let same = row().prop_map(|row| vec![row; 9]);
    prop_oneof![3 => prop::collection::vec(row(), 0..8), 1 => same]
}

/// What one person more adds to each cell, or why that is not what may be.
fn moved(name: &str, people: &[Person], catalogs: [&Catalog; 2]) -> Result<(), String> {
    let numbered: Vec<(usize, &Person)> = people.iter().enumerate().collect();
    write(&catalogs[0].directory, &numbered);
    write(&catalogs[1].directory, &numbered[1..]);
    let (with_all, without) = (counted(name, catalogs[0]), counted(name, catalogs[1]));
    let alone = tempfile::tempdir().unwrap();
    write(alone.path(), &numbered[..1]);
    let alone = counted(name, &catalog(alone.path(), "add_remove", ""));
    // Additive: the whole is the sum of its parts.
    let mut sum = without;
    for (cell, rows) in &alone {
        *sum.entry(cell.clone()).or_default() += rows;
    }
    if sum != with_all {
        return Err(format!("{name}: the whole is not the sum of its parts"));
    }
    match alone.values().sum::<u64>() {
        0..=3 => Ok(()),
        rows => Err(format!("{name}: one person adds {rows} rows, and 3 are charged")),
    }
}

fn directories() -> [tempfile::TempDir; 2] {
    [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn one_unit_more_adds_at_most_its_rows(people in prop::collection::vec(person(), 1..6)) {
        let directories = directories();
        let [one, other] = [0, 1].map(|place| catalog(directories[place].path(), "add_remove", ""));
        for name in ["one", "some", "many"] {
            let checked = moved(name, &people, [&one, &other]);
            prop_assert!(checked.is_ok(), "{checked:?}");
        }
    }
}

#[test]
fn rows_that_are_limited_in_each_group_only_are_noticed() {
    let directories = directories();
    let [one, other] = [0, 1].map(|place| catalog(directories[place].path(), "add_remove", ""));
    // Rows in several groups of cells, several in each.
    let numbers = ["0", "7", "8", "99"];
    let flood: Person = numbers
        .iter()
        .flat_map(|number| vec![("a", *number, "1", "2024-01-31"); 3])
        .collect();
    let found = || moved("many", std::slice::from_ref(&flood), [&one, &other]);
    assert_eq!(found(), Ok(()));
    let found = with(Mutant::RowsOfEachGroup, found);
    assert!(
        found
            .as_ref()
            .is_err_and(|what| what.contains("and 3 are charged")),
        "{found:?}"
    );
}

#[test]
fn what_a_unit_moves_is_checked_before_the_charge() {
    let here = tempfile::tempdir().unwrap();
    for neighbors in ["add_remove", "change_one"] {
        let catalog = catalog(here.path(), neighbors, "");
        for name in ["one", "many"] {
            let mut made = tabulation(name, &catalog);
            assert!(made.check(catalog.unit.neighbors).is_ok(), "{name} {neighbors}");
            made.rows -= 1;
            assert!(made.check(catalog.unit.neighbors).is_err(), "{name} {neighbors}");
        }
    }
}

#[test]
fn the_verifier_refuses_rows_that_are_limited_in_each_group_only() {
    let here = tempfile::tempdir().unwrap();
    write(here.path(), &[]);
    let catalog = catalog(here.path(), "add_remove", "");
    let tabulation = tabulation("many", &catalog);
    let engines = engines();
    let run = || {
        runtime()
            .block_on(prepared(&tabulation, &catalog, &engines))
            .map(|_| ())
    };
    run().unwrap();
    let refused = with_verifier(Mutant::RowsOfEachGroup, run);
    assert!(matches!(refused, Err(Error::Unverified { .. })), "{refused:?}");
}

/// A release whose run ends after the charge, by whatever cause, is finished under it, and given again for nothing.
#[test]
fn a_release_that_was_charged_and_not_made_is_finished_without_a_further_charge() {
    let here = tempfile::tempdir().unwrap();
    let people: Vec<Person> = vec![vec![("a", "7", "0", "2024-01-31"); 5]; 40];
    write(here.path(), &people.iter().enumerate().collect::<Vec<_>>());
    let dataset = Dataset::new(catalog(here.path(), "add_remove", "")).unwrap();
    let wanted = ReleaseRequest::new("one", "ann");
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut watch = |stage| assert_ne!(stage, Stage::Charged, "killed here");
        let _ = dataset.release_tables(&wanted, &mut watch);
    }));
    assert!(killed.is_err());
    let charges = || dataset.ledger().unwrap().charges().unwrap();
    assert!(charges().len() == 1 && !charges()[0].answered);
    assert!(dataset.released_tables(&wanted).unwrap().is_none());
    let finished = dataset.release_tables(&wanted, &mut |_| ()).unwrap();
    assert!(finished.resumed && !finished.repeated);
    let again = dataset.release_tables(&wanted, &mut |_| ()).unwrap();
    assert!(again.repeated && !again.resumed);
    assert_eq!(again.measurements(), finished.measurements());
    assert!(charges().len() == 1 && charges()[0].answered);
    // Three rows of each of forty persons count; the noise of a total is far from 40 · 5.
    let total = finished.table(&[]).unwrap();
    let (low, high) = (total.rows[0][0].low.unwrap(), total.rows[0][0].high.unwrap());
    let width = high - low;
    assert!(low - width < 120.0 && 120.0 < high + width, "{low} {high}");
}
