//! Ranges at the edges of what numbers are: of one number, of two neighbouring floats, as wide as floats go, at the ends of integers. Each gets an answer, or a refusal before anything is charged.

use crate::harness::{Bench, CATALOG, NEARLY_EXACT};
use sql::{Answer, Error, QueryRequest};

/// Ranges as a query writes them, and the number that all values are clamped to, where it is one.
const RANGES: [(&str, &str, Option<f64>); 18] = [
    ("0", "0", Some(0.0)),
    ("5", "5", Some(5.0)),
    ("-7.5", "-7.5", Some(-7.5)),
    ("0.1", "0.1", Some(0.1)),
    ("1e300", "1e300", Some(1e300)),
    ("-1e-310", "-1e-310", Some(-1e-310)),
    ("5e-324", "5e-324", Some(5e-324)),
    ("9223372036854775807", "9223372036854775807", None),
    ("-9223372036854775808", "-9223372036854775808", None),
    ("1.7976931348623157e308", "1.7976931348623157e308", Some(f64::MAX)),
    // Neighbours.
    ("0", "5e-324", None),
    ("5", "5.000000000000001", None),
    ("9007199254740991", "9007199254740992", None),
    ("1.7976931348623155e308", "1.7976931348623157e308", None),
    // The width is no float.
    ("-1.7976931348623157e308", "1.7976931348623157e308", None),
    ("-9223372036854775808", "9223372036854775807", None),
    // No ranges.
    ("6", "5", None),
    ("0", "1e400", None),
];

/// What is said, and that nothing was charged where there is no answer.
fn asked(bench: &Bench, sql: &str) -> Option<Answer> {
    let charges = || bench.dataset.ledger().unwrap().charges().unwrap().len();
    let before = charges();
    let explained = bench.dataset.explain(&QueryRequest::new(sql, "tester"), 1000);
    match bench.ask(sql) {
        Ok(answer) => {
            assert!(explained.is_ok(), "{sql}: {explained:?}");
            let cells = answer.rows.iter().flatten();
            for cell in cells {
                let ends = [cell.low, cell.high, cell.value.as_f64()];
                assert!(ends.into_iter().flatten().all(f64::is_finite), "{sql}: {cell:?}");
                let ordered = cell.low.zip(cell.high).is_none_or(|(low, high)| low <= high);
                assert!(ordered, "{sql}: {cell:?}");
            }
            Some(answer)
        }
        Err(error) => {
            let refused = matches!(error, Error::Refused { .. } | Error::Syntax { .. });
            assert!(refused, "{sql}: {error:?}");
            assert!(explained.is_err(), "{sql}");
            assert_eq!(charges(), before, "{sql}: a refusal charges nothing");
            None
        }
    }
}

/// The values of the one row that an answer has.
fn values(answer: &Answer) -> Vec<Option<f64>> {
    answer.rows[0].iter().map(|cell| cell.value.as_f64()).collect()
}

#[test]
fn ranks_of_any_range_are_in_it() {
    let bench = Bench::new(NEARLY_EXACT);
    for (low, high, constant) in RANGES {
        let bounds = format!("contribution_bounds_per_row => ({low}, {high})");
        let sql = format!(
            "SELECT MEDIAN(income, {bounds}), MIN(income, {bounds}), MAX(income, {bounds}), PERCENTILE_CONT(income, 0.9, {bounds}), \
             MEDIAN(age, {bounds}), MIN(age, {bounds}), MAX(age, {bounds}) FROM people"
        );
        let ends = low.parse::<f64>().unwrap()..=high.parse::<f64>().unwrap();
        let Some(answer) = asked(&bench, &sql) else {
            assert!(ends.is_empty() || !ends.end().is_finite(), "{sql} has an answer");
            continue;
        };
        for value in &values(&answer)[..4] {
            let value = value.expect("there are 392 incomes");
            assert!(ends.contains(&value), "{sql}: {value}");
            // A rank of one number is that number, to the last bit, and its interval is no wider.
            assert!(
                constant.is_none_or(|constant| value == constant),
                "{sql}: {value}"
            );
        }
        if constant.is_some() {
            let cells = answer.rows[0][..4].iter();
            assert!(cells.clone().all(|cell| cell.low == cell.high), "{sql}");
        }
        if let Some(constant) = constant.filter(|constant| constant.fract() == 0.0 && constant.abs() < 9e18) {
            assert_eq!(values(&answer)[4..], [Some(constant); 3], "{sql}");
        }
    }
}

#[test]
fn sums_over_any_range_are_answered_or_refused_for_nothing() {
    let bench = Bench::new(NEARLY_EXACT);
    for (low, high, constant) in RANGES {
        for (aggregates, expected) in [
            (
                "SUM(income, ROW), AVG(income, ROW), SUM(age, ROW), AVG(age, ROW)",
                [392.0, 1.0, 400.0, 1.0],
            ),
            (
                "VAR_POP(income, ROW), STDDEV_SAMP(income, ROW), VAR_SAMP(age, ROW), STDDEV_POP(age, ROW)",
                [0.0; 4],
            ),
            ("SUM(income, GROUP), SUM(age, GROUP)", [f64::NAN; 4]),
            ("COUNT(income, GROUP), COUNT(age, GROUP)", [f64::NAN; 4]),
        ] {
            let aggregates = aggregates
                .replace("ROW", &format!("contribution_bounds_per_row => ({low}, {high})"))
                .replace(
                    "GROUP",
                    &format!("contribution_bounds_per_group => ({low}, {high})"),
                );
            let sql = format!("SELECT {aggregates} FROM people");
            let Some(answer) = asked(&bench, &sql) else {
                continue;
            };
            let Some(constant) = constant.filter(|_| expected[0].is_finite()) else {
                continue;
            };
            // Integers are put between whole numbers.
            let whole = constant.fract() == 0.0;
            let checked = values(&answer).into_iter().zip(expected);
            for (value, times) in checked.take(if whole { 4 } else { 2 }) {
                let (value, expected) = (value.expect("there are rows"), times * constant);
                // Up to the grid that floats are put on.
                let slack = 1e-6 * expected.abs().max(constant.abs()) + 1e-200;
                assert!((value - expected).abs() <= slack, "{sql}: {value}");
            }
        }
    }
}

/// Several rows of one unit, far outside of the bounds of their sum, add up and are clamped: they do not run over.
#[test]
fn rows_far_outside_the_bounds_of_their_sum_are_clamped() {
    let catalog = CATALOG
        .replace("EPSILON", NEARLY_EXACT)
        .replace("NEIGHBORS", "add_remove")
        .replace("bounds = [0, 100] }", "bounds = [1e30, 1e31] }");
    let bench = Bench::with(&catalog);
    let sql = "SELECT SUM(cost, contribution_bounds_per_group => (0, 1)) FROM visits";
    let answer = asked(&bench, sql).unwrap();
    // Four of five people have visits, each of which is clamped to 1e30, and then their sum to 1.
    let sum = values(&answer)[0].unwrap();
    assert!((sum - 320.0).abs() < 1.0, "{sum}");
}

#[test]
fn declared_bounds_at_the_edge_are_like_stated_ones() {
    for (bounds, constant) in [
        ("[5, 5]", Some(5.0)),
        ("[0.1, 0.1]", Some(0.1)),
        ("[5, 5.000000000000001]", None),
        ("[-1.7976931348623157e308, 1.7976931348623157e308]", None),
    ] {
        let catalog = CATALOG
            .replace("EPSILON", NEARLY_EXACT)
            .replace("NEIGHBORS", "change_one")
            .replace("bounds = [0, 100000]", &format!("bounds = {bounds}"));
        let bench = Bench::with(&catalog);
        let answer = asked(
            &bench,
            "SELECT MEDIAN(income), MIN(income), MAX(income) FROM people",
        )
        .unwrap();
        if constant.is_some() {
            assert_eq!(values(&answer), [constant; 3], "{bounds}");
        }
        for sql in [
            "SELECT education, AVG(income) FROM people GROUP BY education",
            "SELECT SUM(income), CORR(income, age), REGR_SLOPE(age, income) FROM people",
            "SELECT VAR_SAMP(income) FROM people",
            "SELECT COUNT(DISTINCT income) FROM people",
            "SELECT floor(income / 10) AS part, COUNT(*) FROM people GROUP BY 1",
            "SELECT width_bucket(income, 0, 10, 5) AS part, COUNT(*) FROM people GROUP BY 1",
        ] {
            asked(&bench, sql);
        }
    }
}

#[test]
fn days_at_the_ends_of_the_calendar_are_listed() {
    for (bounds, days) in [
        (r#"["2024-01-01", "2024-01-01"]"#, 1),
        (r#"["0001-01-01", "0001-01-02"]"#, 2),
        (r#"["9999-12-31", "9999-12-31"]"#, 1),
        (r#"["0001-01-01", "9999-12-31"]"#, 9999),
    ] {
        let catalog = CATALOG
            .replace("EPSILON", NEARLY_EXACT)
            .replace("NEIGHBORS", "add_remove")
            .replace(
                "day = { kind = \"date\" }",
                &format!("day = {{ kind = \"date\", bounds = {bounds}, nullable = false }}"),
            );
        let bench = Bench::with(&catalog);
        let years = "SELECT EXTRACT(YEAR FROM day) AS year, COUNT(*) FROM visits GROUP BY 1";
        assert!(asked(&bench, years).is_some());
        if days < 9 {
            let listed = asked(&bench, "SELECT day, COUNT(*) FROM visits GROUP BY day").unwrap();
            assert_eq!(listed.rows.len(), days, "{bounds}");
            for key in [
                "date_trunc('month', day)",
                "to_char(day, 'YYYY-WW')",
                "day + INTERVAL '1 month'",
                "date_bin(INTERVAL '7 days', day)",
            ] {
                let sql = format!("SELECT {key} AS part, COUNT(*) FROM visits GROUP BY 1");
                asked(&bench, &sql);
            }
        }
        asked(&bench, "SELECT MEDIAN(day), MIN(day), MAX(day) FROM visits");
    }
}
