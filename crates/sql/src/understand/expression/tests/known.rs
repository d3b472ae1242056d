//! What is known of expressions before anybody looks at data.

use super::*;

#[test]
fn ranges_follow() {
    let table = [
        ("i", Some((-1000.0, 1000.0))),
        ("i + 1", Some((-999.0, 1001.0))),
        ("i * i", Some((0.0, 1e6))),
        ("i - u", Some((-1010.0, 1000.0))),
        ("-i", Some((-1000.0, 1000.0))),
        ("i % 7", Some((-6.0, 6.0))),
        ("u % 7", Some((0.0, 6.0))),
        ("j % 10", Some((-9.0, 9.0))),
        ("j", None),
        ("j + 1", None),
        ("f / 2", Some((-5.0, 5.0))),
        ("f / i", Some((-10.0, 10.0))),
        ("f / u", Some((-10.0, 10.0))),
        ("f / CAST(j AS DOUBLE)", Some((-10.0, 10.0))),
        ("f / f", None),
        ("f / (f + 11)", Some((-10.0, 10.0))),
        ("i / u", Some((-1000.0, 1000.0))),
        ("i / j", Some((-1000.0, 1000.0))),
        ("i / 7", Some((-142.0, 142.0))),
        ("j / i", None),
        ("i / (u + 4)", Some((-250.0, 250.0))),
        ("i / 0", Some((0.0, 0.0))),
        ("f / (u + 1)", Some((-10.0, 10.0))),
        ("abs(f)", Some((0.0, 10.0))),
        ("floor(f / 3)", Some((-4.0, 3.0))),
        ("sqrt(f)", Some((0.0, 10f64.sqrt()))),
        ("power(f, 2)", Some((0.0, 100.0))),
        ("greatest(least(j, 5), 0)", Some((0.0, 5.0))),
        ("least(greatest(g, 0), 1)", Some((0.0, 1.0))),
        ("greatest(f, g)", None),
        ("CASE WHEN b THEN i ELSE 5000 END", Some((-1000.0, 5000.0))),
        ("CASE WHEN b THEN f END", Some((-10.0, 10.0))),
        ("coalesce(f, 20)", Some((-10.0, 20.0))),
        ("nullif(f, 0)", Some((-10.0, 10.0))),
        ("CAST(f AS BIGINT)", Some((-10.0, 10.0))),
        ("CAST(b AS BIGINT)", Some((0.0, 1.0))),
        ("EXTRACT(MONTH FROM d)", Some((1.0, 12.0))),
        ("EXTRACT(YEAR FROM d)", None),
        ("2024 - EXTRACT(YEAR FROM d)", None),
        ("length(s)", None),
        ("width_bucket(g, 0, 1, 8)", Some((0.0, 9.0))),
        ("9007199254740993", Some((9007199254740992.0, 9007199254740994.0))),
        ("k", Some((-3.0, 40.0))),
        ("k * k", Some((9.0, 1600.0))),
        ("s", None),
    ];
    for (sql, expected) in table {
        let range = facts(sql).range.map(|range| (range.low, range.high));
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1e-3);
        let same = match (range, expected) {
            (None, None) => true,
            (Some(one), Some(other)) => close(one.0, other.0) && close(one.1, other.1),
            _ => false,
        };
        assert!(same, "{sql}: {range:?} instead of {expected:?}");
    }
    // Integers stay so where they fit, also without a range.
    for (sql, kind) in [
        ("i * i * i * i", Kind::Int),
        ("i * i * i * i * i * i * i", Kind::Int),
        ("j + 1", Kind::Int),
        ("j / 3", Kind::Int),
        ("i / 2.0", Kind::Float),
        ("EXTRACT(YEAR FROM d) / 10", Kind::Float),
        ("CAST(EXTRACT(YEAR FROM d) AS BIGINT) / 10", Kind::Int),
        ("EXTRACT(YEAR FROM d) * 10 / 10", Kind::Float),
        ("floor(i) / 10", Kind::Float),
        ("floor(i / 10) * 10", Kind::Int),
        ("j % 5", Kind::Int),
        ("2024 - EXTRACT(YEAR FROM d)", Kind::Int),
        ("i / u", Kind::Int),
        ("CASE WHEN b THEN 1 ELSE 0.5 END", Kind::Float),
    ] {
        assert_eq!(facts(sql).kind, kind, "{sql}");
    }
}

#[test]
fn public_values_follow() {
    let text = |values: &[&str]| {
        Some(
            values
                .iter()
                .map(|value| Value::Text((*value).into()))
                .collect::<Vec<_>>(),
        )
    };
    let int = |values: &[i64]| Some(values.iter().copied().map(Value::Int).collect::<Vec<_>>());
    let table = [
        ("c", text(&["red", "Grün", ""])),
        ("lower(c)", text(&["red", "grün", ""])),
        (
            "CASE WHEN c = 'red' THEN 'warm' ELSE 'cold' END",
            text(&["warm", "cold"]),
        ),
        (
            "CASE WHEN j > 3 THEN 'a' WHEN g < 1 THEN 'b' ELSE 'a' END",
            text(&["a", "b"]),
        ),
        ("CASE WHEN b THEN 'a' ELSE s END", None),
        ("coalesce(c, 'none')", text(&["red", "Grün", "", "none"])),
        ("left(c, 1) || '.'", text(&["r.", "G.", "."])),
        ("c || s", None),
        ("length(c)", int(&[0, 3, 4])),
        ("k % 3", int(&[0, 1, 2])),
        ("2 + 3", int(&[5])),
        ("EXTRACT(QUARTER FROM d)", int(&[1, 2, 3, 4])),
        ("width_bucket(f, 0, 1, 2)", int(&[0, 1, 2, 3])),
        ("i", None),
        ("s", None),
        // The image, not the range.
        ("floor(u / 3) * 10", int(&[0, 10, 20, 30])),
        ("u % 4", int(&[0, 1, 2, 3])),
        ("u / 4 + k * 0", int(&[0, 1, 2])),
        ("u / 5 * 100 + k", int(&[-3, 5, 40, 97, 105, 140, 197, 205, 240])),
        (
            "CASE WHEN u < 4 THEN 'low' WHEN u > 20 THEN 'never' ELSE 'high' END",
            text(&["low", "high"]),
        ),
        ("CASE WHEN b THEN u / 5 ELSE -1 END", int(&[-1, 0, 1, 2])),
        ("CASE WHEN g < 1 THEN u / 5 ELSE -1 END", int(&[-1, 0, 1, 2])),
        ("EXTRACT(QUARTER FROM d) * 10", int(&[10, 20, 30, 40])),
        ("CAST(f AS BIGINT) / 4 * 4", int(&[-8, -4, 0, 4, 8])),
        ("width_bucket(g, 0, 1, 2) % 2", int(&[0, 1])),
        ("i * 1000 + u", None),
    ];
    for (sql, expected) in table {
        assert_eq!(facts(sql).values.map(|values| values.to_vec()), expected, "{sql}");
    }
    assert_eq!(facts("i > 3").values.unwrap().len(), 2);
    let listed = |sql| taken(sql).unwrap().enumerable();
    assert_eq!(listed("u - 1"), int(&[-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert_eq!(listed("floor(f / 5)").unwrap().len(), 5);
    assert_eq!(listed("floor(f / 5)").unwrap()[0], Value::Float(-2.0));
    assert_eq!(listed("b"), Some(vec![Value::Bool(false), Value::Bool(true)]));
    let tens = [-20.0, -10.0, 0.0, 10.0, 20.0].map(Value::Float);
    assert_eq!(listed("floor(f / 5) * 10"), Some(tens.to_vec()));
    assert_eq!(listed("i * i").map(|values| values.len()), Some(1001));
    assert_eq!(listed("f"), None);
    assert_eq!(listed("j"), None);
    assert_eq!(listed("i").unwrap().len(), 2001);
    assert_eq!(listed("i").unwrap().len(), 2001);
}

#[test]
fn nulls_and_units_follow() {
    for (sql, nullable, of_unit) in [
        ("u", false, true),
        ("u + 1", false, true),
        ("u + i", true, false),
        ("u / 2", false, true),
        ("2 / u", true, true),
        ("coalesce(i, 0)", false, false),
        ("i IS NULL", false, false),
        ("u > 3", false, true),
        ("CASE WHEN u > 3 THEN 'a' ELSE 'b' END", false, true),
        ("CASE WHEN u > 3 THEN 'a' END", true, true),
        ("CASE WHEN i > 3 THEN u ELSE 1 END", false, false),
        ("concat(s, 'x')", false, false),
        ("sqrt(u)", false, true),
        ("sqrt(u - 5)", true, true),
        ("sqrt(f)", true, false),
        ("CASE WHEN u < 5 THEN 1 WHEN u >= 5 THEN 2 END", false, true),
        ("5", false, true),
    ] {
        let facts = facts(sql);
        assert_eq!((facts.nullable, facts.of_unit), (nullable, of_unit), "{sql}");
    }
}

#[test]
fn names_are_kept() {
    let context = engine(&best());
    let aliased = planned(&context, "i + 1").alias_qualified(Some("r"), "more");
    let typed = accept(&aliased, &scope()).unwrap();
    assert_eq!(
        typed.expr,
        typed.expr.clone().unalias().alias_qualified(Some("r"), "more")
    );
    // Names that the planner gives on the way are not.
    let typed = accept(&planned(&context, "length(s) + 1"), &scope()).unwrap();
    assert_eq!(
        typed.expr.to_string(),
        "integer_sum(CAST(character_length(t.s) AS Int64), Int64(1))"
    );
}

#[test]
fn the_list_is_documented() {
    let list = super::super::allowed_functions();
    assert!(list.len() > 50);
    assert!(
        list.iter()
            .all(|(name, meaning)| !name.is_empty() && !meaning.is_empty())
    );
    let mut names: Vec<_> = list.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), list.len());
}
