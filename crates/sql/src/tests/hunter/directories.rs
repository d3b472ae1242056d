//! Files in directories that are named by values, on this machine and in an object store, hold what one file holds: to the last bit, whichever directories a query leaves out.

use super::data::{self, Person, Storage};
use super::{LITTLE, Reading, Seeded, measured, queries};
use crate::catalog::Catalog;
use crate::mutants::{Mutant, with};
use crate::tests::movement::{question, runtime};
use std::path::{Path, PathBuf};

/// Conditions on what directories name, alone and beside others.
const LEFT_OUT: &[&str] = &[
    "SELECT COUNT(*), SUM(x) FROM t WHERE y = 5",
    "SELECT COUNT(*) FROM t WHERE y > 0 AND d < DATE '2000-01-01'",
    "SELECT COUNT(*) FROM t WHERE y IS NULL",
    "SELECT COUNT(*) FROM t WHERE y IS NULL AND d IS NOT NULL",
    "SELECT COUNT(*) FROM t WHERE y IS DISTINCT FROM 1",
    "SELECT COUNT(*) FROM t WHERE NOT (y <= 5) OR x > 1",
    "SELECT COUNT(*) FROM t WHERE y IN (0, 5, 9223372036854775807) AND x > 0",
    "SELECT COUNT(*) FROM t WHERE y + 1 IS NULL OR d = DATE '1970-01-01'",
    "SELECT COUNT(*) FROM t WHERE CASE WHEN y = 1 THEN d IS NULL ELSE y > 50 END",
    "SELECT COUNT(*) FROM t WHERE y = 1 AND y = 5",
    "SELECT y, COUNT(*) FROM t WHERE d > DATE '0001-01-01' GROUP BY y",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.u = b.u WHERE a.y = 5 AND b.y < 5",
    "SELECT COUNT(*) FROM t JOIN p ON t.y = p.y WHERE t.d IS NULL AND p.y > 0",
    "SELECT COUNT(*) FROM (SELECT u, y * 2 AS z FROM t UNION ALL SELECT u, y FROM t WHERE d IS NULL) AS q WHERE z > 5",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t b WHERE b.u = t.u AND b.y = 1) AND y <> 1",
];

fn reading(seeded: &mut Seeded) -> Reading {
    Reading {
        threads: 1 + seeded.below(3),
        batch: *seeded.pick(&[1, 7, 8192]),
        attempts: LITTLE,
    }
}

fn people(seed: u64) -> Vec<Person> {
    let mut seeded = Seeded::new(seed);
    (0..20).map(|_| data::person(&mut seeded)).collect()
}

/// Whether a query gives the same integers over two catalogs of the same people, and whether any of them is not zero; `None` where it is refused.
fn same(sql: &str, one: &Catalog, other: &Catalog, reading: Reading) -> Option<(bool, bool)> {
    let runtime = runtime();
    let of = |catalog: &Catalog| {
        let question = question(sql, catalog).ok()?;
        Some(measured(&question, catalog, reading, &runtime))
    };
    let (one, other) = (of(one)?, of(other)?);
    let Ok(numbers) = &one else {
        assert_eq!(one, other, "{sql}");
        return None;
    };
    let something = numbers
        .iter()
        .any(|(vector, _)| vector.values().any(|number| *number != 0));
    Some((one == other, something))
}

/// The first query whose integers differ between one file and directories, which `catalog` finds below a folder.
fn difference(catalog: &dyn Fn(&Path) -> Catalog) -> Option<String> {
    let mut telling = 0;
    let generated: Vec<String> = (7000..7012)
        .map(|seed| queries::query(&mut Seeded::new(seed)))
        .collect();
    let generated = generated.iter().map(String::as_str);
    for (place, sql) in LEFT_OUT.iter().copied().chain(generated).enumerate() {
        let people = people(place as u64);
        let numbered: Vec<(usize, &Person)> = people.iter().enumerate().collect();
        let directory = tempfile::tempdir().unwrap();
        let mut seeded = Seeded::new(place as u64);
        data::write(directory.path(), &numbered, Storage::ParquetWhole, &mut seeded);
        data::write_directories(&directory.path().join("directories"), &numbered);
        let plain = data::catalog(directory.path(), Storage::ParquetWhole);
        match same(sql, &plain, &catalog(directory.path()), reading(&mut seeded)) {
            Some((true, something)) => telling += usize::from(something),
            Some((false, _)) => return Some(sql.to_owned()),
            None => assert!(place >= LEFT_OUT.len(), "{sql} is refused"),
        }
    }
    // Two empty tables are alike whatever is left out.
    assert!(telling * 2 > LEFT_OUT.len(), "{telling}");
    None
}

fn on_this_machine(folder: &Path) -> Catalog {
    data::directories_catalog("directories", folder)
}

#[test]
fn directories_hold_what_one_file_holds() {
    assert_eq!(difference(&on_this_machine), None);
}

#[test]
fn directories_that_are_left_out_by_mistake_are_found() {
    let found = with(Mutant::NullDirectories, || difference(&on_this_machine));
    assert!(found.is_some_and(|sql| LEFT_OUT.contains(&sql.as_str())));
}

/// Where the objects of the store that the tests speak with lie.
pub(super) fn objects() -> PathBuf {
    std::env::var_os("DENIABLE_TEST_OBJECTS")
        .expect("DENIABLE_TEST_OBJECTS is not set: run the tests as `scripts/with-object-store cargo nextest run --workspace`")
        .into()
}

pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap().path();
        let place = to.join(entry.file_name().unwrap());
        match entry.is_dir() {
            true => copy(&entry, &place),
            false => drop(std::fs::copy(&entry, &place).unwrap()),
        }
    }
}

#[test]
fn objects_hold_what_one_file_holds() {
    let name = format!("people-{}", std::process::id());
    let bucket = objects().join(&name);
    let in_the_store = |folder: &Path| {
        let place = folder.file_name().unwrap().to_str().unwrap();
        copy(&folder.join("directories"), &bucket.join(place).join("visits"));
        data::directories_catalog(&format!("s3://{name}/{place}/visits"), folder)
    };
    assert_eq!(difference(&in_the_store), None);
}
