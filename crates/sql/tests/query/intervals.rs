//! Intervals hold the truth as often as they say. False alarm of each test: below 1e-9 (stated where it is counted).

use crate::harness::Bench;
use accounting::Epsilon;
use sql::QueryRequest;

/// Asks the same with slightly different ε, so that each is a new question, and counts how often the interval holds the truth.
fn covered(sql: &str, truth: f64, runs: u32) -> u32 {
    let bench = Bench::new("1");
    let mut covered = 0;
    for run in 0..runs {
        let ask = QueryRequest {
            epsilon: Some(Epsilon::parse(&format!("0.{}", 500_000 + run)).unwrap()),
            ..QueryRequest::new(sql, "tester")
        };
        let answered = bench.dataset.query(&ask).unwrap();
        assert!(!answered.repeated);
        let cell = &answered.answer.rows[0][0];
        let (low, high) = (cell.low.unwrap(), cell.high.unwrap());
        covered += u32::from(low <= truth && truth <= high);
    }
    covered
}

/// Of 60 runs that each succeed with probability 0.95 or more, fewer than 40 succeed with probability below 1e-11.
const RUNS: u32 = 60;
const LEAST: u32 = 40;

#[test]
fn a_count_lies_in_its_interval() {
    assert!(covered("SELECT COUNT(*) FROM people", 400.0, RUNS) >= LEAST);
}

#[test]
fn an_average_lies_in_its_interval() {
    let ages = (0..400).map(|person| (18 + (person * 7) % 70) as f64);
    assert!(covered("SELECT AVG(age) FROM people", ages.sum::<f64>() / 400.0, RUNS) >= LEAST);
}

#[test]
fn a_median_lies_in_its_interval() {
    let mut ages: Vec<f64> = (0..400).map(|person| (18 + (person * 7) % 70) as f64).collect();
    ages.sort_by(f64::total_cmp);
    assert!(covered("SELECT MEDIAN(age) FROM people", ages[200], RUNS) >= LEAST);
}

#[test]
fn intervals_are_not_merely_wide() {
    // A mutant that doubles every answer must fall out of its intervals.
    assert!(covered("SELECT COUNT(*) * 2 FROM people", 400.0, RUNS) < RUNS / 2);
}

/// An interval of a median says nothing about what stands in its place where there is none.
#[test]
fn what_stands_for_a_missing_value_has_no_interval_of_it() {
    let bench = Bench::new("100000");
    let answer = bench
        .ask("SELECT education, COALESCE(MEDIAN(income), 0) AS filled, GREATEST(MEDIAN(income), 5) AS least, MEDIAN(income) AS m FROM people GROUP BY education ORDER BY education")
        .unwrap();
    let mut empty = 0;
    for row in &answer.rows {
        // No doctor, and nobody whose education is not known.
        let nobody = row[0].value.is_null() || row[0].value.as_str() == Some("doctor");
        empty += u32::from(nobody);
        for cell in &row[1..3] {
            assert_eq!(cell.low.is_none(), nobody, "{row:?}");
        }
        if nobody {
            assert_eq!(row[1].value.as_f64(), Some(0.0));
            assert!(row[3].value.is_null() && row[3].low.is_some(), "{row:?}");
        }
    }
    assert_eq!(empty, 2);
}
