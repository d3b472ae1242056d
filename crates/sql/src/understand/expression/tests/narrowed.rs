//! What filters leave of what is known of columns.

use super::*;
use crate::understand::expression::narrowed;
use datafusion::common::Column;

/// What is known of the one column of a condition, of rows that fulfil it.
fn behind(condition: &str) -> Facts {
    let typed = taken(condition).unwrap_or_else(|error| panic!("{condition}: {error}"));
    let columns = typed.expr.column_refs();
    let column: &Column = columns.iter().next().expect("it has a column");
    let before = scope().find(column).unwrap().clone();
    narrowed(&typed.expr, column, &before).unwrap_or(before)
}

fn texts(values: &[&str]) -> Vec<Value> {
    values.iter().map(|text| Value::Text((*text).into())).collect()
}

#[test]
fn ranges_end_where_a_filter_does() {
    let table = [
        ("i < 5", Some((-1000.0, 4.0))),
        ("5 > i", Some((-1000.0, 4.0))),
        ("i >= 18 ", Some((18.0, 1000.0))),
        ("i BETWEEN 18 AND 65", Some((18.0, 65.0))),
        ("i + 1 > 990", Some((990.0, 1000.0))),
        ("i % 500 = 0", Some((-1000.0, 1000.0))),
        ("i = 7", Some((7.0, 7.0))),
        ("i <> 1000", Some((-1000.0, 999.0))),
        ("f < 5", Some((-10.0, 5.0))),
        ("f > -2.5", Some((-2.5, 10.0))),
        ("f BETWEEN 0 AND 100", Some((0.0, 10.0))),
        // No declared value passes, but rows that break the declaration do: they are clamped as before.
        ("i > 5000", Some((-1000.0, 1000.0))),
        ("f > 100", Some((-10.0, 10.0))),
        // Where the catalog has no bounds, both ends of a filter are, and one is not.
        ("j BETWEEN 1 AND 5", Some((1.0, 5.0))),
        ("j < 5", None),
        ("g < 5", None),
        ("i IS NULL", Some((-1000.0, 1000.0))),
    ];
    for (condition, expected) in table {
        let range = behind(condition).range.map(|range| (range.low, range.high));
        assert_eq!(range, expected, "{condition}");
    }
}

#[test]
fn values_are_those_that_pass() {
    let ints = |values: &[i64]| values.iter().map(|value| Value::Int(*value)).collect::<Vec<_>>();
    let table = [
        ("c = 'red'", Some(texts(&["red"]))),
        ("c IN ('red', '')", Some(texts(&["red", ""]))),
        ("c LIKE 'r%'", Some(texts(&["red"]))),
        ("c <> 'red'", Some(texts(&["Grün", ""]))),
        // Written otherwise, and the same text.
        ("c = 'Gru\u{308}n'", Some(texts(&["Grün"]))),
        ("length(c) > 100", Some(texts(&["red", "Grün", ""]))),
        ("k > 4", Some(ints(&[5, 40]))),
        ("b", Some(vec![Value::Bool(true)])),
        ("i % 500 = 0 AND i > 0", Some(ints(&[500, 1000]))),
        // The query itself says what the groups of a column without declared values may be called.
        ("s = 'x'", Some(texts(&["x"]))),
        ("s IN ('y', 'x', 'y')", Some(texts(&["x", "y"]))),
        ("s = 'y' OR 'x' = s", Some(texts(&["x", "y"]))),
        ("s = 'x' OR length(s) = 2", None),
        ("s NOT IN ('x')", None),
        ("s < 'x'", None),
        ("j IN (3, 1)", Some(ints(&[1, 3]))),
        ("g = 1.5", None),
        ("i > 990", None),
    ];
    for (condition, expected) in table {
        let values = behind(condition).values.map(|values| values.to_vec());
        assert_eq!(values, expected, "{condition}");
    }
}

#[test]
fn nothing_is_null_behind_a_comparison() {
    for condition in [
        "i < 5",
        "f < 5",
        "s = 'x'",
        "c IS NOT NULL",
        "s IS NOT NULL",
        "g > 0",
        "b",
        "NOT b",
    ] {
        assert!(!behind(condition).nullable, "{condition}");
    }
    for condition in [
        "i IS NULL",
        "c IS DISTINCT FROM 'red'",
        "s IS NULL OR s = 'x'",
        "coalesce(b, true)",
    ] {
        assert!(behind(condition).nullable, "{condition}");
    }
}

/// Of every row that fulfils a condition, what is said of it is true, where what was said before is.
#[test]
fn what_is_said_of_rows_is_true() {
    let best = best();
    let context = engine(&best);
    let conditions = [
        "i < 5",
        "i + 1 > 990",
        "i % 7 = 0",
        "i <> 3",
        "f < 5",
        "f >= 0.5",
        "f BETWEEN -1 AND 1",
        "c = 'red'",
        "c <> ''",
        "k >= 5",
        "b",
        "NOT b",
        "u = 3",
        "u IN (1, 2)",
        "i IS NOT NULL",
        "c IS NULL",
        "s = ''",
        "d > '2000-01-01'",
        "m < '2010-05-05T10:00:00'",
        "EXTRACT(MONTH FROM d) = 3",
    ];
    let mut rows = 0;
    for condition in conditions {
        let typed = taken(condition).unwrap();
        let columns = typed.expr.column_refs();
        let column: &Column = columns.iter().next().unwrap();
        let facts = behind(condition);
        let kept = run(&context, &typed).unwrap();
        let values = best.column_by_name(&column.name).unwrap();
        for row in (0..best.num_rows()).filter(|row| value_at(&kept, *row) == Some(Value::Bool(true))) {
            rows += 1;
            let Some(value) = value_at(values, row) else {
                assert!(facts.nullable, "{condition}");
                continue;
            };
            if let Some(values) = &facts.values {
                assert!(values.contains(&value), "{condition}");
            }
            let number = match value {
                Value::Int(value) => value as f64,
                Value::Float(value) => value,
                _ => continue,
            };
            assert!(
                facts
                    .range
                    .is_none_or(|range| range.low <= number && number <= range.high),
                "{condition}"
            );
        }
    }
    assert!(rows > 100, "{rows}");
}
