//! What happens after the noise is free: HAVING, ORDER BY, LIMIT, arithmetic, outer queries, and intervals that come along.

use crate::harness::{Bench, NEARLY_EXACT};

#[test]
fn results_are_ordered_filtered_and_limited() {
    let bench = Bench::new(NEARLY_EXACT);
    let sql = "SELECT department, COUNT(*) AS n FROM visits GROUP BY department HAVING COUNT(*) > 10 ORDER BY n DESC LIMIT 2";
    let rows = bench.numbers(sql);
    assert_eq!(rows.len(), 2);
    assert!(rows[0][0] >= rows[1][0]);
}

#[test]
fn arithmetic_over_results_carries_intervals() {
    let bench = Bench::new("1");
    let sql =
        "SELECT education, SUM(age) / COUNT(*) AS mean, COUNT(*) * 2 AS twice FROM people GROUP BY education";
    let answer = bench.ask(sql).unwrap();
    assert!(answer.columns[1].noisy && answer.columns[2].noisy);
    for row in &answer.rows {
        let twice = &row[2];
        let (low, high) = (twice.low.unwrap(), twice.high.unwrap());
        let value = twice.value.as_f64().unwrap();
        assert!(low < value && value < high, "{low} {value} {high}");
    }
}

#[test]
fn outer_queries_and_common_tables() {
    let bench = Bench::new(NEARLY_EXACT);
    let sql = "WITH counts AS (SELECT education, COUNT(*) AS n FROM people GROUP BY education) \
               SELECT MAX(n) AS most, SUM(n) AS total, COUNT(*) AS groups FROM counts";
    let rows = bench.numbers(sql);
    assert!((rows[0][0] - 100.0).abs() < 1.5 && (rows[0][1] - 400.0).abs() < 3.0);
    assert_eq!(rows[0][2], 6.0, "five declared ones, and NULL");
    let twice = "WITH n AS (SELECT COUNT(*) AS n FROM people) SELECT a.n - b.n AS zero FROM n AS a, n AS b";
    let small = Bench::new("0.1");
    assert_eq!(small.numbers(twice)[0][0], 0.0, "one release, read twice");
    assert_eq!(small.dataset.ledger().unwrap().charges().unwrap().len(), 1);
}

#[test]
fn results_are_joined_to_public_tables() {
    let bench = Bench::new(NEARLY_EXACT);
    let sql = "SELECT r.country, SUM(c.n) AS n FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) AS c \
               JOIN regions AS r ON c.region = r.region GROUP BY r.country ORDER BY r.country";
    let rows = bench.numbers(sql);
    assert_eq!(rows.len(), 2);
    assert!((rows[0][0] + rows[1][0] - 400.0).abs() < 3.0);
}

#[test]
fn what_was_paid_for_survives_a_failing_outer_query() {
    let bench = Bench::new(NEARLY_EXACT);
    // 400 − 400 is zero after the noise, and integers do not divide by it; the rehearsal with made-up numbers cannot know.
    let answer = bench
        .ask("SELECT 1000 / (COUNT(*) - 400) AS broken FROM people")
        .unwrap();
    let told = answer
        .notes
        .iter()
        .any(|note| note.contains("released values themselves"));
    let value = answer.rows[0][0].value.as_f64();
    assert!(told == (value == Some(400.0)), "{answer:?}");
}
