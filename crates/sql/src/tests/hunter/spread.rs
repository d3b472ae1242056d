//! Workers compute what this program computes: to the last bit, on hostile people, and on parts of them.

use super::data::{self, Person, Storage};
use super::directories::{copy, objects};
use super::{Ended, LITTLE, Reading, Seeded, additive, measured, measured_by, queries, question_of};
use crate::catalog::{Catalog, EngineKind, ObjectAddress, Owner, Workers};
use crate::run::workers::{WorkerOptions, serve_worker};
use crate::tests::movement::{question, runtime};
use std::path::Path;
use tokio::runtime::Runtime;

/// Workers of their own threads, which read files below a directory.
struct Town {
    runtime: Option<Runtime>,
    addresses: Vec<String>,
    directory: tempfile::TempDir,
}

impl Drop for Town {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn town(workers: usize) -> Town {
    town_with(workers, &[])
}

/// The same, with objects that they may read.
fn town_with(workers: usize, objects: &[ObjectAddress]) -> Town {
    let directory = tempfile::tempdir().unwrap();
    let made = cluster::certificates(&["localhost".to_owned()]).unwrap();
    for (name, text) in [
        ("authority.pem", &made.authority),
        ("coordinator.pem", &made.coordinator.certificate),
        ("coordinator.key", &made.coordinator.key),
    ] {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let mut addresses = Vec::new();
    for _ in 0..workers {
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let port = listener.local_addr().unwrap().port();
        addresses.push(format!("https://localhost:{port}"));
        let bytes = |text: &str| text.as_bytes().to_vec();
        let options = WorkerOptions {
            credentials: [
                bytes(&made.authority),
                bytes(&made.worker.certificate),
                bytes(&made.worker.key),
            ],
            directories: vec![directory.path().canonicalize().unwrap()],
            objects: objects.to_vec(),
            threads: 2,
            memory: 8 << 20,
            scratch: directory.path().to_owned(),
            ends_at_panic: false,
        };
        runtime.spawn(async move {
            serve_worker(options, listener, std::future::pending())
                .await
                .unwrap();
        });
    }
    Town {
        runtime: Some(runtime),
        addresses,
        directory,
    }
}

impl Town {
    fn by_workers(&self, catalog: &Catalog) -> Catalog {
        let mut catalog = catalog.clone();
        let file = |name: &str| self.directory.path().join(name);
        catalog.engine.kind = EngineKind::Cluster;
        catalog.engine.workers = Some(Workers {
            addresses: self.addresses.clone(),
            authority: file("authority.pem"),
            certificate: file("coordinator.pem"),
            key: file("coordinator.key"),
            threads: Some(2),
        });
        catalog
    }

    /// People as files that the workers may read. The catalog may say that they are sorted, truly or not.
    fn people(&self, name: &str, people: &[(usize, &Person)], seeded: &mut Seeded) -> Catalog {
        let order = *seeded.pick(&[Order::Any, Order::Sorted, Order::SaidToBeSorted]);
        self.people_in(order, name, people, seeded)
    }

    fn people_in(
        &self,
        order: Order,
        name: &str,
        people: &[(usize, &Person)],
        seeded: &mut Seeded,
    ) -> Catalog {
        let place = self.directory.path().join(name);
        let storage = *seeded.pick(&[Storage::ParquetInParts, Storage::ParquetWhole]);
        match order {
            Order::Sorted => data::write_sorted(&place, people, storage, seeded),
            Order::Any | Order::SaidToBeSorted => data::write(&place, people, storage, seeded),
        }
        let mut catalog = data::catalog(&place, storage);
        catalog.tables.get_mut("t").unwrap().clustered = order != Order::Any;
        catalog
    }

    /// Whether the workers computed a question, and what they found that this program does not; `None` where it is refused.
    fn case(
        &self,
        sql: &str,
        whole: &Catalog,
        parts: &[Catalog],
        reading: Reading,
    ) -> Option<Result<bool, String>> {
        let asked = question(sql, whole).ok()?;
        let runtime = runtime();
        let here = measured(&asked, whole, reading, &runtime);
        // What the limits cut is read in the pass of what it is about.
        let (mut spread, all) = (0, asked.split.aggregations.len() - 2 * asked.cuts.len());
        let there = measured_by(
            &asked,
            &self.by_workers(whole),
            reading,
            &runtime,
            &mut |prepared| spread = prepared.on_workers(),
        );
        let (here, there) = match (here, there) {
            (Ok(here), Ok(there)) => (here, there),
            (Err(one), Err(other)) if one == other => return None,
            (here, there) => {
                return Some(Err(format!(
                    "here it ends in {:?}, there in {:?}",
                    here.err(),
                    there.err()
                )));
            }
        };
        if here != there {
            return Some(Err("the workers found something else".to_owned()));
        }
        if spread > 0 && !parts.is_empty() {
            let measured = |part: &Catalog| measured(&asked, &self.by_workers(part), reading, &runtime);
            let Ok(parts) = parts.iter().map(measured).collect::<Result<Vec<_>, _>>() else {
                return Some(Err("a part fails, and the whole does not".to_owned()));
            };
            if let Err(what) = additive(&there, &parts) {
                return Some(Err(what));
            }
        }
        Some(Ok(all > 0 && spread == all))
    }
}

/// How the rows of people lie in files, and what the catalog says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Any,
    Sorted,
    SaidToBeSorted,
}

fn reading(seeded: &mut Seeded) -> Reading {
    Reading {
        threads: 1 + seeded.below(3),
        batch: *seeded.pick(&[3, 64, 8192]),
        attempts: LITTLE,
    }
}

/// `HUNT_CASES` and `HUNT_SEED` make it a longer hunt, from another place: see `scripts/hunt`.
#[test]
fn workers_compute_the_same() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (cases, first) = (
        number("HUNT_CASES").unwrap_or(8),
        number("HUNT_SEED").unwrap_or(0),
    );
    let town = town(3);
    let mut seeded = Seeded::new(first ^ 77);
    let crowd: Vec<Person> = (0..24).map(|_| data::person(&mut seeded)).collect();
    let some = |wanted: &dyn Fn(usize) -> bool| -> Vec<(usize, &Person)> {
        crowd
            .iter()
            .enumerate()
            .filter(|(place, _)| wanted(*place))
            .collect()
    };
    let whole = town.people("whole", &some(&|_| true), &mut seeded);
    let parts = [
        town.people("part0", &some(&|place| place % 3 == 0), &mut seeded),
        town.people("part1", &some(&|place| place % 3 != 0), &mut seeded),
    ];
    let known = queries::KNOWN
        .iter()
        .skip(1)
        .step_by(4)
        .map(|sql| sql.to_string());
    let generated = (first..first.saturating_add(cases)).map(|seed| question_of(&mut Seeded::new(seed)));
    let (mut accepted, mut spread) = (0, 0);
    for sql in known.chain(generated) {
        match town.case(&sql, &whole, &parts, reading(&mut seeded)) {
            None => {}
            Some(Ok(by_workers)) => {
                accepted += 1;
                spread += usize::from(by_workers);
            }
            Some(Err(found)) => panic!("{sql}\n{found}"),
        }
    }
    eprintln!("{accepted} questions were accepted, and {spread} of them computed by workers");
    assert!(
        spread * 4 > accepted,
        "only {spread} of {accepted} were computed by workers"
    );
}

/// Every shape of a plan that workers compute, on people of whom one is in every group.
const SPREAD: &[&str] = &[
    "SELECT COUNT(*), SUM(x), AVG(x) FROM t",
    "SELECT s, COUNT(*), SUM(x) FROM t GROUP BY s",
    "SELECT y, COUNT(*), AVG(x) FROM t WHERE x > 0 OR y IS NULL GROUP BY y",
    "SELECT d, COUNT(*) FROM t GROUP BY d",
    "SELECT s, MEDIAN(x) FROM t GROUP BY s",
    "SELECT COUNT(DISTINCT s) FROM t",
    "SELECT y % 3 AS k, COUNT(*) FROM t GROUP BY 1",
    "SELECT date_trunc('month', d) AS k, COUNT(*) FROM t GROUP BY 1",
    "SELECT COUNT(*) FROM t JOIN p ON t.y = p.y",
    "SELECT COUNT(*) FROM t LEFT JOIN p ON t.y = p.y WHERE p.y IS NULL",
    // Functions of public rows, too, are ours.
    "SELECT COUNT(*) FROM t JOIN p ON t.y = p.y WHERE upper(p.s) = p.s OR character_length(p.s) + 1 > 2",
    "SELECT COUNT(*) FROM t JOIN p ON to_char(t.d, 'YYYY') = to_char(p.d, 'YYYY')",
    "SELECT COUNT(*) FROM t JOIN p ON t.y % 7 = p.y % 7",
    "SELECT COUNT(*), SUM(n, contribution_bounds_per_row => (0, 9)) FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u) AS q WHERE n > 1",
];

/// Over rows that are a person each nothing but the values is bounded, and expressions come to lie directly above the scan.
const EACH_ROW: &[&str] = &[
    "SELECT COUNT(*), SUM(x), SUM(y) FROM t",
    "SELECT y % 7 AS k, COUNT(*) FROM t GROUP BY 1",
    "SELECT to_char(d, 'YYYY-MM') AS k, COUNT(*), AVG(x) FROM t GROUP BY 1",
    "SELECT s, COUNT(*) FROM t WHERE y > 3 GROUP BY s",
    "SELECT MEDIAN(x), COUNT(DISTINCT s) FROM t",
];

fn each_row(catalog: &Catalog) -> Catalog {
    let mut catalog = catalog.clone();
    catalog.tables.get_mut("t").unwrap().owner = Owner::EachRow;
    catalog
}

/// And some that they do not, with the reason that explain gives.
const NOT_SPREAD: &[(&str, &str)] = &[
    // The pattern of a regular expression is compiled already.
    (
        "SELECT COUNT(*) FROM t JOIN p ON t.y = p.y WHERE regexp_like(p.s, 'a.b')",
        "it uses something that is not sent to workers",
    ),
    (
        "SELECT COUNT(*) FROM t WHERE s ~ '^a'",
        "it uses something that is not sent to workers",
    ),
    (
        "SELECT COUNT(*) FROM t a JOIN t b ON a.u = b.u",
        "it joins private tables",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT u FROM t UNION ALL SELECT u FROM t) AS q",
        "it puts several tables below each other",
    ),
];

fn who(sql: &str, catalog: &Catalog) -> String {
    let ask = crate::QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1").unwrap()),
        ..crate::QueryRequest::new(sql, "tester")
    };
    let dataset = crate::dataset::blocking::Dataset::new(catalog.clone()).unwrap();
    match dataset.explain(&ask, 1) {
        Ok(explanation) => {
            let parts = explanation.parts.iter();
            parts
                .map(|part| part.engine.clone().unwrap_or_default())
                .collect::<Vec<_>>()
                .join(" | ")
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_shape_that_workers_know_is_computed_by_them() {
    let town = town(2);
    let mut seeded = Seeded::new(5);
    let mut crowd: Vec<Person> = (0..12).map(|_| data::person(&mut seeded)).collect();
    crowd.push(data::crowd(300));
    let numbered: Vec<(usize, &Person)> = crowd.iter().enumerate().collect();
    let whole = town.people_in(Order::Any, "whole", &numbered, &mut seeded);
    let empty = town.people_in(Order::Any, "empty", &[], &mut seeded);
    let sorted = town.people_in(Order::Sorted, "sorted", &numbered, &mut seeded);
    let no_one_sorted = town.people_in(Order::Sorted, "no one", &[], &mut seeded);
    let by_person = SPREAD
        .iter()
        .map(|sql| (*sql, whole.clone(), empty.clone()))
        .chain(
            SPREAD
                .iter()
                .map(|sql| (*sql, sorted.clone(), no_one_sorted.clone())),
        );
    let by_row = EACH_ROW
        .iter()
        .map(|sql| (*sql, each_row(&whole), each_row(&empty)));
    let wrong: Vec<String> = by_person
        .chain(by_row)
        .filter_map(|(sql, whole, empty)| {
            let cases = [
                town.case(sql, &whole, &[], reading(&mut seeded)),
                town.case(sql, &empty, &[], reading(&mut seeded)),
            ];
            let said = who(sql, &town.by_workers(&whole));
            let fine = cases == [Some(Ok(true)), Some(Ok(true))] && !said.contains("this program");
            (!fine).then(|| format!("{cases:?} {said}: {sql}"))
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
    for (sql, why) in NOT_SPREAD {
        assert_eq!(
            town.case(sql, &whole, &[], reading(&mut seeded)),
            Some(Ok(false)),
            "{sql}"
        );
        let said = who(sql, &town.by_workers(&whole));
        assert!(
            said.contains(&format!("this program, which reads all rows: {why}")),
            "{said}"
        );
    }
}

#[test]
fn workers_read_objects_below_their_addresses_alone() {
    let name = format!("workers-{}", std::process::id());
    let given = ObjectAddress::parse(&format!("s3://{name}/given")).unwrap();
    let town = town_with(2, &[given]);
    let mut seeded = Seeded::new(13);
    let crowd: Vec<Person> = (0..12).map(|_| data::person(&mut seeded)).collect();
    let numbered: Vec<(usize, &Person)> = crowd.iter().enumerate().collect();
    let folder = tempfile::tempdir().unwrap();
    data::write_publics(folder.path());
    data::write_directories(&folder.path().join("directories"), &numbered);
    let at = |place: &str| {
        let bucket = objects().join(&name).join(place);
        copy(&folder.path().join("directories"), &bucket.join("visits"));
        data::directories_catalog(&format!("s3://{name}/{place}/visits"), folder.path())
    };
    let sql = "SELECT y, COUNT(*), SUM(x) FROM t WHERE y > 0 GROUP BY y";
    let reading = reading(&mut seeded);
    assert_eq!(town.case(sql, &at("given"), &[], reading), Some(Ok(true)));
    let (asked, runtime) = (question(sql, &at("given2")).unwrap(), runtime());
    let elsewhere = measured(&asked, &town.by_workers(&at("given2")), reading, &runtime);
    assert_eq!(elsewhere.err(), Some(Ended::Failed));
}

#[test]
fn nothing_is_charged_where_no_worker_is() {
    let town = town(0);
    let mut seeded = Seeded::new(9);
    let person = data::person(&mut seeded);
    let catalog = town.people("whole", &[(0, &person)], &mut seeded);
    let mut catalog = town.by_workers(&catalog);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let workers = catalog.engine.workers.as_mut().unwrap();
    workers.addresses = vec![format!("https://localhost:{port}")];
    let place = town.directory.path().join("a.ledger");
    catalog.budget.ledger = crate::catalog::LedgerPlace::File(place.clone());
    let dataset = crate::dataset::blocking::Dataset::new(catalog).unwrap();
    let ask = crate::QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1").unwrap()),
        ..crate::QueryRequest::new("SELECT COUNT(*) FROM t", "tester")
    };
    let error = dataset.query(&ask).unwrap_err().to_string();
    assert!(
        error.contains("no worker is there") && error.contains("nothing was charged"),
        "{error}"
    );
    assert!(!has_charges(&place), "{error}");
}

fn has_charges(ledger: &Path) -> bool {
    match ledger::Store::open_existing(&ledger::Place::File(ledger.to_owned())) {
        Ok(Some(mut store)) => !store.charges().unwrap().is_empty(),
        _ => false,
    }
}
