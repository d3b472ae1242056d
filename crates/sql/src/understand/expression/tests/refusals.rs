//! What is not taken, what once failed, and what is too much.

use super::*;
use datafusion::functions::expr_fn::coalesce;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{ScalarUDF, col, exists, lit};

fn refusal(sql: &str) -> String {
    match taken(sql) {
        Err(error @ Error::Refused { .. }) => error.to_string(),
        Err(other) => panic!("{sql}: {other}"),
        Ok(typed) => panic!("{sql} was taken as {}", typed.expr),
    }
}

#[test]
fn what_is_not_on_the_list_is_refused_by_name() {
    for (sql, part) in [
        ("random()", "random gives another result each time"),
        ("now()", "now gives another result each time"),
        ("current_date()", "current_date gives another result each time"),
        ("uuid()", "uuid gives another result each time"),
        ("md5(s)", "the function md5 is not taken"),
        ("repeat(s, 1000000)", "the function repeat is not taken"),
        ("lpad(s, 1000000)", "the function lpad is not taken"),
        ("factorial(i)", "the function factorial is not taken"),
        ("to_char(d, '%Y')", "mean nothing"),
        ("arrow_cast(i, 'Int8')", "the function arrow_cast is not taken"),
        ("cbrt(f)", "nearest that are taken: sqrt, abs"),
        ("i & 1", "is not taken"),
        ("s LIKE s", "must be a constant"),
        ("s LIKE 'a' ESCAPE '!'", "no other escape character"),
        ("i = s", "int and text do not mix"),
        ("b = 1", "bool and int do not mix"),
        ("i + s", "has no meaning"),
        ("d + 1.5", "has no meaning"),
        ("m - m", "EXTRACT(EPOCH"),
        ("i AND b", "true or false"),
        ("CASE WHEN i THEN 1 END", "true or false"),
        ("CASE WHEN b THEN 1 ELSE s END", "do not mix"),
        ("NULL", "has no kind"),
        ("CAST(i AS DECIMAL(30, 20))", "places"),
        ("CAST(i AS BIGINT UNSIGNED)", "unsigned"),
        ("CAST(i AS TIMESTAMP)", "cannot be cast"),
        ("CAST(d AS BIGINT)", "cannot be cast"),
        ("CAST(f AS BOOLEAN)", "write x <> 0"),
        ("CAST(i AS BYTEA)", "is not a kind"),
        ("DATE 'never'", "cannot be read as date"),
        ("d > 'never'", "cannot be read as date"),
        ("d + INTERVAL '1 hour'", "no hours"),
        ("d + INTERVAL '100000 years'", "too long"),
        ("EXTRACT(CENTURY FROM d)", "cannot be extracted"),
        ("date_trunc('century', m)", "does not know this unit"),
        ("date_trunc(s, m)", "does not know this unit"),
        ("EXTRACT(YEAR FROM i)", "needs a date"),
        ("lower(i)", "needs text"),
        ("abs(s)", "needs a number"),
        ("substr(s, i)", "takes constants"),
        ("substr(s, 1, -1)", "takes constants"),
        ("split_part(s, ',', 0)", "takes constants"),
        ("left(s, i)", "takes constants"),
        ("replace(s, '', 'x')", "takes constants"),
        ("power(f, g)", "constant exponent"),
        ("power(0, g)", "constant exponent"),
        ("round(f, i)", "must be a constant"),
        ("round(f, 400)", "must be a constant"),
        ("width_bucket(f, 1, 0, 5)", "in order"),
        ("width_bucket(f, 0, 1, i)", "in order"),
        ("width_bucket(f, -1e308, 1e308, 5)", "in order"),
    ] {
        let refusal = refusal(sql);
        assert!(refusal.contains(part), "{sql}: {refusal}");
        assert!(refusal.contains("\nhint: "), "{sql}: {refusal}");
    }
}

#[test]
fn subqueries_and_their_like_are_refused() {
    let context = engine(&best());
    let plan = Arc::new(scan(&context).build().unwrap());
    let window = datafusion::functions_window::expr_fn::row_number();
    let exprs = [
        (exists(plan.clone()), "EXISTS"),
        (
            datafusion::logical_expr::in_subquery(col("t.i"), plan.clone()),
            "IN (SELECT",
        ),
        (
            datafusion::logical_expr::scalar_subquery(plan),
            "a subquery is not allowed as a value",
        ),
        (
            Expr::Placeholder(Placeholder::new_with_field("$1".into(), None)),
            "placeholder",
        ),
        (window, "a window function"),
        (
            datafusion::functions_aggregate::expr_fn::sum(col("t.i")),
            "an aggregate",
        ),
        (col("t.missing"), "no column t.missing"),
        (col("other.i"), "no column other.i"),
        (lit(ScalarValue::Binary(Some(vec![1]))), "of no kind"),
    ];
    for (expr, part) in exprs {
        // Also inside of something else.
        for expr in [expr.clone(), expr.is_null()] {
            let error = accept(&expr, &scope()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}

/// A function of the engine is called, not whatever was registered under its name.
#[test]
fn only_the_name_of_a_function_counts() {
    use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

    #[derive(Debug, PartialEq, Eq, Hash)]
    struct Impostor(Signature);

    impl ScalarUDFImpl for Impostor {
        fn name(&self) -> &str {
            "abs"
        }

        fn signature(&self) -> &Signature {
            &self.0
        }

        fn return_type(
            &self,
            _: &[datafusion::arrow::datatypes::DataType],
        ) -> datafusion::common::Result<datafusion::arrow::datatypes::DataType> {
            Ok(datafusion::arrow::datatypes::DataType::Float64)
        }

        fn invoke_with_args(&self, _: ScalarFunctionArgs) -> datafusion::common::Result<ColumnarValue> {
            panic!("called")
        }
    }

    let impostor = ScalarUDF::new_from_impl(Impostor(Signature::any(1, Volatility::Volatile)));
    let typed = accept(&impostor.call(vec![col("t.f")]), &scope()).unwrap();
    assert!(run(&engine(&worst()), &typed).is_ok());
}

/// The engine's own meaning of an expression fails on these data; ours does not.
fn fails_in_the_engine_only(column: &str, values: impl Array + 'static, sql: &str, expected: &[&str]) {
    let values: ArrayRef = Arc::new(values);
    let context = engine(&alone(column, &values));
    let original = scan(&context).project([planned(&context, sql)]).unwrap();
    let failed = collect(&context, original.build().unwrap()).map(|batches| batches.len());
    assert!(failed.is_err(), "the engine takes {sql}");
    assert_eq!(shown(&context, sql), expected, "{sql}");
}

#[test]
fn a_cast_that_fails_on_one_value() {
    let values = StringViewArray::from(vec!["1", "one", "3"]);
    fails_in_the_engine_only("s", values, "CAST(s AS BIGINT)", &["1", "NULL", "3"]);
    // Even a cast that should give NULL fails on this one.
    let values = TimestampMicrosecondArray::from(vec![0, i64::MAX]);
    fails_in_the_engine_only("m", values, "TRY_CAST(m AS DATE)", &["1970-01-01", "NULL"]);
    let values = Date32Array::from(vec![0, i32::MAX]);
    fails_in_the_engine_only("d", values, "TRY_CAST(d AS VARCHAR)", &["1970-01-01", "NULL"]);
}

#[test]
fn a_division_by_zero_in_a_filter() {
    let values = Int64Array::from(vec![0, 5]);
    fails_in_the_engine_only("j", values.clone(), "10 / j > 1", &["NULL", "true"]);
    fails_in_the_engine_only("j", values, "10 % j = 0", &["NULL", "true"]);
}

#[test]
fn an_integer_that_overflows() {
    let values = Int64Array::from(vec![i64::MIN, -5]);
    fails_in_the_engine_only("j", values.clone(), "abs(j)", &["NULL", "5"]);
    fails_in_the_engine_only("i", values, "abs(i)", &["NULL", "5"]);
}

#[test]
fn a_root_of_a_negative_number() {
    let values = Float64Array::from(vec![-1.0, -5e-324, 4.0]);
    fails_in_the_engine_only("g", values, "sqrt(g)", &["NULL", "NULL", "2.0"]);
    let values = Float64Array::from(vec![0.0, 4.0]);
    fails_in_the_engine_only("g", values, "power(g, -1)", &["NULL", "0.25"]);
}

#[test]
fn a_date_at_the_end_of_the_calendar() {
    let values = TimestampMicrosecondArray::from(vec![-9_223_372_036_854_775, 0]);
    fails_in_the_engine_only(
        "m",
        values,
        "date_trunc('year', m)",
        &["NULL", "1970-01-01T00:00:00"],
    );
    let values = TimestampMicrosecondArray::from(vec![8_210_266_876_799_999_999, 0]);
    fails_in_the_engine_only(
        "m",
        values,
        "m + INTERVAL '1 day'",
        &["NULL", "1970-01-02T00:00:00"],
    );
    // A part of a day that is never NULL, and that the calendar does not have.
    let values = Date32Array::from(vec![i32::MAX, 0]);
    let sql = "EXTRACT(DOY FROM coalesce(d, DATE '2020-01-01')) BETWEEN coalesce(i, 0) AND 366";
    fails_in_the_engine_only("d", values, sql, &["NULL", "true"]);
}

#[test]
fn a_timezone_cast() {
    let refusal = refusal("m AT TIME ZONE 'Europe/Berlin'");
    assert!(refusal.contains("time zone"), "{refusal}");
    // The planner drops the time zone of these, so they are refused when they are read.
    for sql in [
        "CAST(m AS TIMESTAMPTZ)",
        "s::TIMESTAMP WITH TIME ZONE",
        "TIMESTAMPTZ '2020-01-01'",
    ] {
        let error = crate::understand::dialect::read(&format!("SELECT {sql} FROM t"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("time zone"), "{sql}: {error}");
    }
}

#[test]
fn a_case_that_raises_in_the_branch_not_taken() {
    let context = engine(&worst());
    for sql in [
        "CASE WHEN j = 0 THEN 0 ELSE 1 / j END",
        "CASE WHEN FALSE THEN abs(j) ELSE 0 END",
        "CASE WHEN s IS NULL THEN 0 WHEN CAST(s AS BIGINT) > 3 THEN CAST(s AS BIGINT) ELSE sqrt(g) END",
        "CASE WHEN g >= 0 THEN sqrt(g) ELSE power(g, -1) END",
        "coalesce(1 / nullif(j, 0), CAST(s AS BIGINT) / 0, ln(g))",
    ] {
        assert_eq!(shown(&context, sql).len(), 600, "{sql}");
    }
}

/// The engine turns some patterns into automata, whose size it limits.
#[test]
fn the_longest_patterns_run() {
    let context = engine(&worst());
    for part in ["_", "%", "%_", "_%a", "ß%", "İ_", "\\\\%", "(.*)+"] {
        for like in ["LIKE", "ILIKE"] {
            let pattern = part.repeat(1000 / part.len());
            assert_eq!(shown(&context, &format!("s {like} '{pattern}'")).len(), 600);
        }
    }
    assert!(refusal(&format!("s LIKE '{}'", "_".repeat(1001))).contains("must be a constant"));
}

#[test]
fn too_much_is_refused() {
    let context = engine(&worst());
    let nested = |operator: &str, inner: &str, times: usize| {
        let mut expr = planned(&context, inner);
        for _ in 0..times {
            expr = match operator {
                "-" => Expr::Negative(Box::new(expr)),
                "not" => Expr::Not(Box::new(expr)),
                "coalesce" => coalesce(vec![expr, lit(1i64)]) + lit(1i64),
                _ => expr.clone() + expr,
            };
        }
        accept(&expr, &scope())
    };
    for (operator, inner, few, many) in [
        ("-", "f", 90, 110),
        ("not", "b", 90, 110),
        ("coalesce", "j", 8, 40),
        ("+", "f", 5, 16),
    ] {
        assert!(nested(operator, inner, few).is_ok(), "{operator}");
        assert!(nested(operator, inner, many).is_err(), "{operator}");
    }
    // Long chains of conditions are no nesting, and neither are long lists.
    let chain = (0..450)
        .map(|number| format!("i = {number}"))
        .collect::<Vec<_>>()
        .join(" OR ");
    assert_eq!(shown(&context, &chain).len(), 600);
    let list = (0..5000)
        .map(|number| number.to_string())
        .collect::<Vec<_>>()
        .join(", ");
    assert_eq!(shown(&context, &format!("j IN ({list})")).len(), 600);
}

/// However often texts are put together, none becomes longer than the limit; and what is put together is in normal form again.
#[test]
fn texts_stay_short_and_in_normal_form() {
    let context = engine(&worst());
    let mut sql = "concat(s, repeated)".replace("repeated", "'0123456789abcdef'");
    for _ in 0..4 {
        sql = format!("concat({sql}, {sql}, {sql}, {sql}, {sql})");
    }
    let lengths = shown(&context, &format!("character_length({sql})"));
    let longest = lengths.iter().filter_map(|text| text.parse::<usize>().ok()).max();
    assert_eq!(longest, Some(bound::MOST_TEXT));
    let composed = shown(
        &context,
        "('e' || chr) = 'é'".replace("chr", "'\u{301}'").as_str(),
    );
    assert!(composed.iter().all(|value| value == "true"));
    // A constant that would be cut is refused, and so is a replacement that grows too fast.
    let long = "x".repeat(bound::MOST_TEXT + 1);
    for sql in [
        format!("s = '{long}'"),
        format!("replace(s, 'a', '{}')", "b".repeat(17)),
    ] {
        assert!(accept(&planned(&context, &sql), &scope()).is_err());
    }
}
