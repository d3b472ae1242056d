//! Persons whose names are written in several ways, and persons whose names a careless reader takes for one.
//!
//! Two persons who become one unit show in what is additive: together they are bounded as one, apart as two. One person who becomes several units does not, since parts are read
//! alike; it shows in how far the numbers move when that person is left out, against the stated sensitivity.

use super::data::{self, Person, Storage};
use super::inside::{by, connection, execute};
use super::{LITTLE, Reading, Seeded, compare};
use crate::catalog::{Catalog, EngineKind};
use crate::mutants::{Mutant, with};
use crate::tests::movement::{self, Database};
use crate::values::facts::Kind;
use std::path::Path;

/// Different texts, most of which are one whole number for who reads them so.
const NAMES: [&str; 14] = [
    "7", "07", "007", "+7", " 7", "7 ", "7.0", "7e0", "0", "-0", "00", "8", "-8", "08",
];

const QUESTIONS: [&str; 3] = [
    "SELECT s, COUNT(*), SUM(y) FROM t GROUP BY s",
    "SELECT COUNT(*), COUNT(DISTINCT u), MEDIAN(x) FROM t",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.u = b.u AND a.x <= b.x",
];

const READING: Reading = Reading {
    threads: 2,
    batch: 7,
    attempts: LITTLE,
};

/// Persons of several rows each, with values at both ends of what is clamped.
fn people(seeded: &mut Seeded) -> Vec<Person> {
    let person = |place: usize| match place % 2 {
        0 => data::crowd(5),
        _ => data::person(seeded),
    };
    (0..NAMES.len()).map(person).collect()
}

/// What is found where people are named by texts that are read as this kind.
fn found_in_files(kind: Kind, storage: Storage) -> Option<String> {
    let people = people(&mut Seeded::new(3));
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, wanted: &dyn Fn(usize) -> bool| {
        let place = directory.path().join(name);
        let numbered = people.iter().enumerate().filter(|(place, _)| wanted(*place));
        data::write_named(&place, &numbered.collect::<Vec<_>>(), storage, &NAMES);
        data::named_by(&data::catalog(&place, storage), kind)
    };
    let whole = write("whole", &|_| true);
    let parts = [
        write("alone", &|place| place == 2),
        write("others", &|place| place != 2),
    ];
    QUESTIONS.iter().find_map(|sql| {
        let outcome = compare(sql, &whole, &parts, READING).expect("it is accepted");
        outcome
            .err()
            .map(|what| format!("{kind}, {storage:?}\n{sql}\n{what}"))
    })
}

#[test]
fn persons_with_names_that_look_alike_stay_apart() {
    for storage in Storage::ALL {
        assert_eq!(found_in_files(Kind::Int, storage), None);
    }
    assert_eq!(found_in_files(Kind::Text, Storage::Csv), None);
    for storage in [Storage::Csv, Storage::ParquetWhole] {
        let found = with(Mutant::LossyIdentifiers, || found_in_files(Kind::Int, storage));
        assert!(found.is_some_and(|found| found.contains("its parts together")));
    }
}

/// What is found in a table of a database whose column of names is of this type: whether somebody moves the numbers further than is stated.
fn found_in_database(
    schema: &str,
    of: &str,
    kind: Kind,
    engine: EngineKind,
    named: impl Fn(usize, usize) -> String,
) -> Result<(), String> {
    let people: Vec<Person> = (0..4).map(|_| data::crowd(12)).collect();
    let directory = tempfile::tempdir().unwrap();
    data::write_publics(directory.path());
    execute(&format!(
        "DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"
    ));
    let table = |name: &str, left_out: Option<usize>| {
        let there = people
            .iter()
            .enumerate()
            .filter(|(place, _)| Some(*place) != left_out);
        execute(&data::statements_named(schema, name, of, there, &named));
        let table = format!("{schema}.{name}");
        let catalog = data::database_catalog(&connection(), &table, directory.path());
        by(&data::named_by(&catalog, kind), engine)
    };
    let (all, fewer) = (table("all_of_them", None), table("fewer", Some(1)));
    moved(directory.path(), &all, &fewer)
}

fn moved(directory: &Path, all: &Catalog, fewer: &Catalog) -> Result<(), String> {
    let database = Database {
        directory,
        threads: 2,
        batch: 64,
    };
    let questions = [
        "SELECT COUNT(*), SUM(x) FROM t",
        "SELECT COUNT(*), SUM(y) FROM t WHERE x >= 0",
    ];
    questions
        .iter()
        .try_for_each(|sql| movement::check(sql, [all, fewer], [&database, &database]))
}

/// A foreign key takes 1, 1.0 and 1.00 for one person.
#[test]
fn one_person_in_many_spellings_is_one_unit() {
    let spelled = |id: usize, row: usize| format!("{id}.{}", "0".repeat(row % 6));
    for engine in [EngineKind::Local, EngineKind::Postgres] {
        for kind in [Kind::Text, Kind::Int] {
            let found = found_in_database("spelled", "numeric", kind, engine, spelled);
            assert_eq!(found, Ok(()), "{kind} {engine:?}");
        }
        let found = with(Mutant::LossyIdentifiers, || {
            found_in_database("spelled", "numeric", Kind::Text, engine, spelled)
        });
        assert!(
            found.is_err_and(|found| found.contains("its sensitivity")),
            "{engine:?}"
        );
    }
}

/// Persons 7, 7.25, 7.5 and 7.75, or 07, 007: whole numbers that are not, and texts that are not written so.
#[test]
fn several_persons_of_a_database_do_not_become_one() {
    let fractions = |id: usize, _: usize| format!("7.{}", 25 * id);
    let zeros = |id: usize, _: usize| format!("'{}7'", "0".repeat(id));
    for engine in [EngineKind::Local, EngineKind::Postgres] {
        for (of, named) in [
            ("numeric", &fractions as &dyn Fn(usize, usize) -> String),
            ("text", &zeros),
        ] {
            let found = || found_in_additive(of, engine, named);
            assert_eq!(found(), Ok(()), "{of} {engine:?}");
            let mutant = with(Mutant::LossyIdentifiers, found);
            assert!(mutant.is_err(), "{of} {engine:?}");
        }
    }
}

fn found_in_additive(
    of: &str,
    engine: EngineKind,
    named: &dyn Fn(usize, usize) -> String,
) -> Result<(), String> {
    let schema = "merged";
    let people: Vec<Person> = (0..4).map(|_| data::crowd(3)).collect();
    let directory = tempfile::tempdir().unwrap();
    data::write_publics(directory.path());
    execute(&format!(
        "DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"
    ));
    let table = |name: &str, wanted: &dyn Fn(usize) -> bool| {
        let there = people.iter().enumerate().filter(|(place, _)| wanted(*place));
        execute(&data::statements_named(schema, name, of, there, named));
        let table = format!("{schema}.{name}");
        let catalog = data::database_catalog(&connection(), &table, directory.path());
        by(&data::named_by(&catalog, Kind::Int), engine)
    };
    let whole = table("whole", &|_| true);
    let parts = [
        table("part0", &|place| place == 1),
        table("part1", &|place| place != 1),
    ];
    compare("SELECT COUNT(*), SUM(x) FROM t", &whole, &parts, READING).expect("it is accepted")
}
