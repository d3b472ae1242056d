//! Arithmetic inside one person is exact and has no bounds: each query here was answered wrongly when inner sums were clamped and put on a grid.

use crate::dataset::blocking::Dataset;
use crate::{Catalog, CellValue, QueryRequest};
use std::fmt::Write as _;

const CATALOG: &str = r#"
name = "clinic"
[unit]
whose = "patient"
neighbors = "add_remove"
[budget]
epsilon = 1e9
delta = 1e-6
ledger = "ledger"
[budget.query]
delta = 1e-9
[limits]
groups = 1
rows_per_group = 4
[tables.visits]
source = "visits.csv"
unit = "p"
[tables.visits.columns]
p = { kind = "int", nullable = false }
n = { kind = "int", bounds = [0, 500], nullable = false }
cost = { kind = "float", bounds = [0, 100], nullable = false }
large = { kind = "int" }
"#;

/// Patients 0 to 99 with two visits each, and 100 to 149 with one. `n` of a patient is up to twice its bound, and costs are decimal numbers that are no binary ones.
fn rows() -> Vec<(u64, i64, f64, i64)> {
    let mut rows = Vec::new();
    for patient in 0..150 {
        for visit in 0..if patient < 100 { 2 } else { 1 } {
            let n = patient as i64 * 10 + visit;
            let cost = (patient * 7 + visit as u64 * 13) as f64 / 10.0 + 0.1;
            let large = [i64::MAX, i64::MIN, 5][patient as usize % 3];
            rows.push((patient, n, cost, large));
        }
    }
    rows
}

fn ask(sql: &str) -> f64 {
    let directory = tempfile::tempdir().unwrap();
    let mut text = "p,n,cost,large\n".to_owned();
    for (patient, n, cost, large) in rows() {
        let _ = writeln!(text, "{patient},{n},{cost},{large}");
    }
    std::fs::write(directory.path().join("visits.csv"), text).unwrap();
    let dataset = Dataset::new(Catalog::parse(CATALOG, directory.path()).unwrap()).unwrap();
    let ask = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1e6").unwrap()),
        ..QueryRequest::new(sql, "tester")
    };
    let answer = dataset
        .query(&ask)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    match answer.answer.rows[0][0].value {
        CellValue::Int(count) => count as f64,
        CellValue::Float(value) => value,
        ref other => panic!("{sql}: {other:?}"),
    }
}

/// How many patients this is true of, given their rows.
fn patients(holds: impl Fn(&[(u64, i64, f64, i64)]) -> bool) -> f64 {
    let rows = rows();
    let of_one = rows.chunk_by(|one, other| one.0 == other.0);
    of_one.filter(|rows| holds(rows)).count() as f64
}

fn sum(rows: &[(u64, i64, f64, i64)]) -> i64 {
    rows.iter().map(|row| row.1).sum()
}

#[test]
fn totals_of_a_person_are_not_clamped() {
    let truth = patients(|rows| sum(rows) > 1200);
    assert!(truth > 50.0);
    for sql in [
        "SELECT COUNT(*) FROM (SELECT p, SUM(n) AS s FROM visits GROUP BY p) AS t WHERE s > 1200",
        "SELECT COUNT(*) FROM (SELECT p FROM visits GROUP BY p HAVING SUM(n) > 1200) AS t",
        "SELECT COUNT(DISTINCT p) FROM visits v WHERE (SELECT SUM(n) FROM visits w WHERE w.p = v.p) > 1200",
        "SELECT COUNT(*) FROM (SELECT p, SUM(n) OVER (PARTITION BY p) AS s, ROW_NUMBER() OVER (PARTITION BY p ORDER BY n) AS r FROM visits) AS t WHERE r = 1 AND s > 1200",
        "SELECT COUNT(*) FROM (SELECT p, AVG(n) * COUNT(*) AS s FROM visits GROUP BY p) AS t WHERE s > 1200",
    ] {
        assert_eq!(ask(sql), truth, "{sql}");
    }
    // What leaves the person is clamped.
    let outside = ask(
        "SELECT SUM(GREATEST(LEAST(s, 1000), 0)) FROM (SELECT p, SUM(n) AS s FROM visits GROUP BY p) AS t",
    );
    let rows = rows();
    let of_one = rows.chunk_by(|one, other| one.0 == other.0);
    let truth: i64 = of_one.map(|rows| sum(rows).min(1000)).sum();
    assert!((outside - truth as f64).abs() < 1.0, "{outside} {truth}");
}

#[test]
fn averages_of_floats_compare_exactly() {
    // With one visit nothing is above the average.
    let truth: usize = {
        let rows = rows();
        let above = |rows: &[(u64, i64, f64, i64)]| match rows {
            [one, other] => usize::from(one.2 != other.2),
            _ => 0,
        };
        rows.chunk_by(|one, other| one.0 == other.0).map(above).sum()
    };
    assert_eq!(truth, 100);
    for sql in [
        "SELECT COUNT(*) FROM visits v WHERE cost > (SELECT AVG(cost) FROM visits w WHERE w.p = v.p)",
        "SELECT COUNT(*) FROM (SELECT p, MAX(cost) AS m, AVG(cost) AS a FROM visits GROUP BY p) AS t WHERE m > a",
        "SELECT COUNT(*) FROM (SELECT p, cost, AVG(cost) OVER (PARTITION BY p) AS a FROM visits) AS t WHERE cost > a",
    ] {
        assert_eq!(ask(sql), truth as f64, "{sql}");
    }
    assert_eq!(
        ask(
            "SELECT COUNT(*) FROM (SELECT p, SUM(cost) AS s, MIN(cost) AS m FROM visits GROUP BY p) AS t WHERE s = m"
        ),
        50.0
    );
}

/// A column without bounds can be summed inside a person, and sums that do not fit 64 bits are cut there and not wrapped around.
#[test]
fn totals_need_no_bounds_and_are_cut_far_out() {
    assert_eq!(
        ask("SELECT COUNT(*) FROM (SELECT p, SUM(large) AS s FROM visits GROUP BY p) AS t WHERE s > 10"),
        patients(|rows| rows[0].3 == i64::MAX)
    );
    assert_eq!(
        ask(
            "SELECT COUNT(*) FROM (SELECT p, SUM(large) OVER (PARTITION BY p ORDER BY n) AS s FROM visits) AS t WHERE s < -10 AND s IS NOT NULL"
        ),
        rows().iter().filter(|row| row.3 == i64::MIN).count() as f64
    );
}
