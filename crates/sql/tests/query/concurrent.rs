//! The dataset of asynchronous programs: many questions at once, on any runtime, over files and over tables in memory.

use crate::harness::{Bench, CATALOG, NEARLY_EXACT};
use sql::arrow::array::{Int64Array, NullArray, RecordBatch, StringArray};
use sql::{Catalog, Dataset, QueryRequest, Stage};
use std::sync::Arc;
use std::time::Duration;

fn dataset(bench: &Bench) -> Dataset {
    Dataset::new(bench.dataset.catalog().clone())
}

fn bench(epsilon: &str) -> Bench {
    Bench::with(
        &CATALOG
            .replace("EPSILON", epsilon)
            .replace("NEIGHBORS", "add_remove"),
    )
}

fn runtimes() -> [tokio::runtime::Runtime; 2] {
    [
        tokio::runtime::Builder::new_current_thread(),
        tokio::runtime::Builder::new_multi_thread(),
    ]
    .map(|mut builder| builder.enable_all().build().unwrap())
}

#[test]
fn many_questions_at_once_are_each_charged_once() {
    for runtime in runtimes() {
        let bench = bench("0.1");
        let dataset = dataset(&bench);
        let answers = runtime.block_on(async {
            let tasks: Vec<_> = (0..12)
                .map(|number| {
                    let dataset = dataset.clone();
                    // Each is asked twice, by two tasks.
                    let sql = format!("SELECT COUNT(*) FROM people WHERE age > {}", 20 + number / 2);
                    tokio::spawn(async move { dataset.query(&QueryRequest::new(&sql, "ann")).await.unwrap() })
                })
                .collect();
            let mut answers = Vec::new();
            for task in tasks {
                answers.push(task.await.unwrap().answer);
            }
            answers
        });
        for pair in answers.chunks(2) {
            assert_eq!(pair[0], pair[1], "the same question has one answer");
        }
        let mut ledger = bench.dataset.ledger().unwrap();
        assert_eq!(ledger.charges().unwrap().len(), 6);
        ledger.verify().unwrap();
    }
}

#[test]
fn everything_that_can_be_asked_can_be_awaited() {
    let [runtime, _] = runtimes();
    let bench = bench("0.5");
    let dataset = dataset(&bench);
    let ask = QueryRequest::new("SELECT COUNT(*) FROM people", "ann");
    runtime.block_on(async {
        assert!(dataset.describe("SHOW TABLES").unwrap().is_some());
        assert!(dataset.explain(&ask, 1000).await.is_ok());
        assert!(!dataset.forecast(&ask).await.unwrap().free);
        let (reported, heard) = std::sync::mpsc::channel();
        let watched = dataset.query_watched(&ask, move |stage| reported.send(stage).unwrap());
        assert!(!watched.await.unwrap().repeated);
        assert_eq!(
            heard.iter().count(),
            5,
            "understood, begun, charged, measured, drawn"
        );
        assert!(dataset.forecast(&ask).await.unwrap().free);
        assert!(dataset.cut_before(&ask).await.unwrap().is_empty());
        let charges = dataset.with_ledger(|ledger| Ok(ledger.charges()?.len()));
        assert_eq!(charges.await.unwrap(), 1);
        let refused = dataset
            .query(&QueryRequest::new("SELECT person FROM people", "ann"))
            .await;
        assert!(refused.unwrap_err().to_string().contains("hint: "));
    });
}

/// Whoever stops waiting loses nothing: the question is finished, and its answer saved.
#[test]
fn a_question_that_nobody_waits_for_is_finished() {
    let [_, runtime] = runtimes();
    let bench = bench("0.5");
    let dataset = dataset(&bench);
    let ask = QueryRequest::new("SELECT COUNT(*) FROM people", "ann");
    runtime.block_on(async {
        let task = tokio::spawn({
            let (dataset, ask) = (dataset.clone(), ask.clone());
            async move { dataset.query(&ask).await }
        });
        tokio::task::yield_now().await;
        task.abort();
        let _ = task.await;
        let answered = dataset.query(&ask).await.unwrap();
        assert!(answered.answer.rows.len() == 1);
    });
    // Dropping the runtime waits for what was begun.
    drop(runtime);
    assert_eq!(bench.dataset.ledger().unwrap().charges().unwrap().len(), 1);
}

/// Analysts who make something of the same release do not wait for each other: what that takes is the choice of whoever asks.
#[test]
fn nobody_waits_for_what_somebody_else_makes_of_the_same_release() {
    let bench = bench("0.5");
    let plain = QueryRequest::new("SELECT COUNT(*) AS n FROM people", "ann");
    let computes = QueryRequest::new("SELECT COUNT(*) * 2 AS n FROM people", "ann");
    // The first time after its own charge, the second time from what was saved.
    for _ in 0..2 {
        let mut answered = Vec::new();
        std::thread::scope(|scope| {
            let mut watch = |stage| {
                if stage == Stage::Computing {
                    let (send, receive) = std::sync::mpsc::channel();
                    let (dataset, plain) = (&bench.dataset, &plain);
                    // A thread of its own: one that asks while it answers does not wait for itself.
                    scope.spawn(move || send.send(dataset.query(plain).map(|answered| answered.repeated)));
                    answered.push(receive.recv_timeout(Duration::from_secs(60)));
                }
            };
            bench.dataset.query_watched(&computes, &mut watch).unwrap();
        });
        assert!(matches!(answered[..], [Ok(Ok(true))]), "{answered:?}");
    }
    assert_eq!(bench.dataset.ledger().unwrap().charges().unwrap().len(), 1);
}

const IN_MEMORY: &str = r#"
name = "memory"
[unit]
whose = "person"
neighbors = "add_remove"
[budget]
epsilon = 1e9
ledger = "memory.ledger"
[budget.query]
epsilon = EPSILON
[limits]
groups = 2
rows_per_group = 2
[tables.visits]
source = "memory"
unit = "person"
[tables.visits.columns]
person = { kind = "int" }
ward = { kind = "text", values = ["north", "south"], nullable = false }
minutes = { kind = "int", bounds = [0, 60], nullable = false }
"#;

fn batch(people: std::ops::Range<i64>) -> RecordBatch {
    let wards: StringArray = people
        .clone()
        .map(|person| Some(if person % 4 == 0 { "north" } else { "south" }))
        .collect();
    let minutes: Int64Array = people.clone().map(|person| person % 10).collect();
    RecordBatch::try_from_iter([
        ("person", Arc::new(Int64Array::from_iter_values(people)) as _),
        ("ward", Arc::new(wards) as _),
        ("minutes", Arc::new(minutes) as _),
    ])
    .unwrap()
}

#[test]
fn tables_in_memory_are_asked_like_files() {
    let folder = tempfile::tempdir().unwrap();
    let text = IN_MEMORY.replace("EPSILON", NEARLY_EXACT);
    let mut catalog = Catalog::parse(&text, folder.path()).unwrap();
    let [runtime, _] = runtimes();
    let ask = QueryRequest::new(
        "SELECT ward, COUNT(*) AS n, SUM(minutes) AS m FROM visits GROUP BY ward ORDER BY ward",
        "ann",
    );
    // Nothing was given: refused, and nothing charged.
    let empty = Dataset::new(catalog.clone());
    let refused = runtime.block_on(empty.query(&ask)).unwrap_err();
    assert!(
        refused.to_string().contains("to be given by the program"),
        "{refused}"
    );
    catalog
        .provide_batches("visits", vec![batch(0..600), batch(600..1000)])
        .unwrap();
    let dataset = Dataset::new(catalog.clone());
    let answer = runtime.block_on(dataset.query(&ask)).unwrap().answer;
    let numbers: Vec<Vec<f64>> = answer
        .rows
        .iter()
        .map(|row| row[1..].iter().map(|cell| cell.value.as_f64().unwrap()).collect())
        .collect();
    for (found, exact) in numbers.concat().iter().zip([250.0, 1000.0, 750.0, 3500.0]) {
        assert!((found - exact).abs() < 3.0, "{numbers:?}");
    }
    // Whether anybody is in the table decides nothing but noise: no batches, and a column of NULL alone, are accepted.
    let nobody = RecordBatch::try_from_iter([
        ("person", Arc::new(Int64Array::from_iter_values(0..3)) as _),
        ("ward", Arc::new(NullArray::new(3)) as _),
        ("minutes", Arc::new(NullArray::new(3)) as _),
    ]);
    for batches in [Vec::new(), vec![nobody.unwrap()]] {
        let folder = tempfile::tempdir().unwrap();
        let mut catalog = Catalog::parse(&text, folder.path()).unwrap();
        catalog.provide_batches("visits", batches).unwrap();
        let answer = runtime
            .block_on(Dataset::new(catalog).query(&ask))
            .unwrap()
            .answer;
        assert_eq!(answer.rows.len(), 2);
        assert!(
            answer
                .rows
                .iter()
                .all(|row| row[1].value.as_f64().unwrap().abs() < 3.0)
        );
    }
    assert!(catalog.provide_batches("nobody", Vec::new()).is_err());
    let other = batch(0..3).project(&[0]).unwrap();
    assert!(
        catalog
            .provide_batches("visits", vec![batch(0..3), other])
            .is_err()
    );
}
