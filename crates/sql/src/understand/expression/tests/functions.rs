//! What each function gives.

use super::*;

/// The results of SQL when one column has these values and all others are NULL.
fn on(column: &str, values: &ArrayRef, sql: &str) -> Vec<String> {
    shown(&engine(&alone(column, values)), sql)
}

fn floats(values: &[f64]) -> ArrayRef {
    let values = values.iter().copied().map(Some).chain([None]);
    Arc::new(values.collect::<Float64Array>())
}

fn integers(values: &[i64]) -> ArrayRef {
    let values = values.iter().copied().map(Some).chain([None]);
    Arc::new(values.collect::<Int64Array>())
}

fn texts(values: &[&str]) -> ArrayRef {
    let values = values.iter().copied().map(Some).chain([None]);
    Arc::new(values.collect::<StringViewArray>())
}

fn moment(text: &str) -> i64 {
    match ScalarValue::from(text).cast_to(&Kind::Timestamp.data_type()) {
        Ok(ScalarValue::TimestampMicrosecond(Some(value), _)) => value,
        other => panic!("{text}: {other:?}"),
    }
}

fn moments(values: &[&str]) -> ArrayRef {
    let values = values.iter().map(|text| Some(moment(text))).chain([None]);
    Arc::new(values.collect::<TimestampMicrosecondArray>())
}

fn days(values: &[&str]) -> ArrayRef {
    let day = |text: &&str| Some((moment(text).div_euclid(86_400_000_000)) as i32);
    Arc::new(values.iter().map(day).chain([None]).collect::<Date32Array>())
}

/// Each line: SQL over one column, and the results on its values and on NULL.
fn check(column: &str, values: &ArrayRef, table: &[(&str, &[&str])]) {
    for (sql, expected) in table {
        assert_eq!(on(column, values, sql), *expected, "{sql}");
    }
}

#[test]
fn functions_of_floats() {
    let values = floats(&[-2.5, 0.0, 2.25, 1e308]);
    let table: [(&str, &[&str]); 31] = [
        ("abs(g)", &["2.5", "0.0", "2.25", "1e308", "NULL"]),
        ("ceil(g)", &["-2.0", "0.0", "3.0", "1e308", "NULL"]),
        ("floor(g)", &["-3.0", "0.0", "2.0", "1e308", "NULL"]),
        ("round(g)", &["-2.0", "0.0", "2.0", "1e308", "NULL"]),
        ("round(g, 1)", &["-2.5", "0.0", "2.3", "NULL", "NULL"]),
        ("round(g, -1)", &["0.0", "0.0", "0.0", "1e308", "NULL"]),
        ("trunc(g)", &["-2.0", "0.0", "2.0", "1e308", "NULL"]),
        ("trunc(g, 1)", &["-2.5", "0.0", "2.2", "NULL", "NULL"]),
        ("sign(g)", &["-1.0", "0.0", "1.0", "1.0", "NULL"]),
        ("sqrt(g)", &["NULL", "0.0", "1.5", "1e154", "NULL"]),
        (
            "round(ln(g), 6)",
            &["NULL", "NULL", "0.81093", "709.196209", "NULL"],
        ),
        ("round(log(g), 6)", &["NULL", "NULL", "0.352183", "308.0", "NULL"]),
        (
            "round(log10(g), 6)",
            &["NULL", "NULL", "0.352183", "308.0", "NULL"],
        ),
        (
            "round(log2(power(2, g)), 6)",
            &["-2.5", "0.0", "2.25", "NULL", "NULL"],
        ),
        (
            "round(log(1.5, g), 6)",
            &["NULL", "NULL", "2.0", "1749.093065", "NULL"],
        ),
        (
            "round(exp(g), 6)",
            &["0.082085", "1.0", "9.487736", "NULL", "NULL"],
        ),
        ("power(g, 2)", &["6.25", "0.0", "5.0625", "NULL", "NULL"]),
        (
            "power(g, -1)",
            &["-0.4", "NULL", "0.4444444444444444", "1e-308", "NULL"],
        ),
        ("pow(g, 0.5)", &["NULL", "0.0", "1.5", "1e154", "NULL"]),
        ("g + g", &["-5.0", "0.0", "4.5", "NULL", "NULL"]),
        ("g - 1", &["-3.5", "-1.0", "1.25", "1e308", "NULL"]),
        ("g * g * 0", &["0.0", "0.0", "0.0", "NULL", "NULL"]),
        ("1 / g", &["-0.4", "NULL", "0.4444444444444444", "1e-308", "NULL"]),
        (
            "1 / (g * g)",
            &["0.16", "NULL", "0.19753086419753085", "NULL", "NULL"],
        ),
        ("g % 2", &["-0.5", "0.0", "0.25", "0.0", "NULL"]),
        ("5 % g", &["0.0", "NULL", "0.5", "5.0", "NULL"]),
        ("-g", &["2.5", "0.0", "-2.25", "-1e308", "NULL"]),
        (
            "coalesce(1 / g, -1)",
            &["-0.4", "-1.0", "0.4444444444444444", "1e-308", "-1.0"],
        ),
        ("(g + g) IS NULL", &["false", "false", "false", "true", "true"]),
        ("greatest(g, 1)", &["1.0", "1.0", "2.25", "1e308", "1.0"]),
        ("least(g, 1, NULL)", &["-2.5", "0.0", "1.0", "1.0", "1.0"]),
    ];
    check("g", &values, &table);
}

#[test]
fn functions_of_integers() {
    let values = integers(&[-7, 0, 5, i64::MIN]);
    let table: [(&str, &[&str]); 21] = [
        ("abs(j)", &["7", "0", "5", "NULL", "NULL"]),
        ("floor(j)", &["-7", "0", "5", "-9223372036854775808", "NULL"]),
        ("round(j, -1)", &["-10", "0", "10", "NULL", "NULL"]),
        ("trunc(j, -1)", &["0", "0", "0", "-9223372036854775800", "NULL"]),
        ("sign(j)", &["-1", "0", "1", "-1", "NULL"]),
        ("j / 2", &["-3", "0", "2", "-4611686018427387904", "NULL"]),
        ("j / -1", &["7", "0", "-5", "NULL", "NULL"]),
        ("10 / j", &["-1", "NULL", "2", "0", "NULL"]),
        (
            "j / 2.0",
            &["-3.5", "0.0", "2.5", "-4.611686018427388e18", "NULL"],
        ),
        (
            "floor(j) / 2",
            &["-3.5", "0.0", "2.5", "-4.611686018427388e18", "NULL"],
        ),
        ("div(j, 2)", &["-3", "0", "2", "-4611686018427387904", "NULL"]),
        ("-j", &["7", "0", "-5", "NULL", "NULL"]),
        ("j % 3", &["-1", "0", "2", "-2", "NULL"]),
        ("mod(10, j)", &["3", "NULL", "0", "10", "NULL"]),
        ("j % -1", &["0", "0", "0", "0", "NULL"]),
        ("j + 1", &["-6", "1", "6", "-9223372036854775807", "NULL"]),
        ("j - 1", &["-8", "-1", "4", "NULL", "NULL"]),
        ("j * j", &["49", "0", "25", "NULL", "NULL"]),
        (
            "nullif(j, 5)",
            &["-7", "0", "NULL", "-9223372036854775808", "NULL"],
        ),
        ("width_bucket(j, -7, 5, 3)", &["1", "2", "4", "0", "NULL"]),
        (
            "CASE j WHEN 0 THEN 'zero' WHEN -7 THEN 'seven' END",
            &["seven", "zero", "NULL", "NULL", "NULL"],
        ),
    ];
    check("j", &values, &table);
    // In a range and out of it, what does not fit is NULL, and nothing fails.
    check(
        "i",
        &integers(&[3, i64::MAX]),
        &[
            ("i + 1", &["4", "NULL", "NULL"]),
            ("i * 2", &["6", "NULL", "NULL"]),
        ],
    );
}

/// What PostgreSQL says, and NULL where it raises an error.
#[test]
fn constants_are_numbers_of_postgresql() {
    let context = engine(&alone("j", &integers(&[1]).slice(0, 1)));
    for (sql, expected) in [
        ("1 / 2", "0"),
        ("-7 / 2", "-3"),
        ("7 / -2", "-3"),
        ("-7 % 2", "-1"),
        ("7 % -2", "1"),
        ("mod(-7, 2)", "-1"),
        ("div(-7, 2)", "-3"),
        ("5 / 0", "NULL"),
        ("5 % 0", "NULL"),
        ("1 / 2.0", "0.5"),
        ("1::float / 2", "0.5"),
        ("CAST(1 AS DOUBLE PRECISION) / 2", "0.5"),
        ("7 / 2 * 2", "6"),
        ("2.5::int", "3"),
        ("-2.5::int", "-3"),
        ("3.5::int", "4"),
        ("CAST(2.5::float AS INT)", "2"),
        ("CAST(3.5::float AS INT)", "4"),
        ("round(2.5)", "3.0"),
        ("round(2.5::float)", "2.0"),
        ("round(5 / 2.0)", "3.0"),
        ("round(15, -1)", "20"),
        ("floor(7) / 2", "3.5"),
        ("floor(-3.5)", "-4.0"),
        ("EXTRACT(YEAR FROM DATE '1985-02-03') / 10", "198.5"),
        ("CAST(EXTRACT(YEAR FROM DATE '1985-02-03') AS INT) / 10", "198"),
        ("9223372036854775807 + 1", "NULL"),
        ("9223372036854775807 * 2 IS NULL", "true"),
        ("CASE WHEN TRUE THEN 7 ELSE 0.5 END / 2", "3.5"),
        ("coalesce(NULL, 7) / 2", "3"),
        ("power(7, 2) / 2", "24.5"),
        ("7::numeric / 2", "3.5"),
        ("CAST(7 AS DECIMAL) / 2", "3.5"),
        ("round(2.5::float::numeric)", "3.0"),
        ("CAST('1.25' AS NUMERIC(4, 1))", "1.3"),
        ("CAST(1234.5 AS NUMERIC(3, 0))", "NULL"),
        ("CAST(-999 AS NUMERIC(3, 0))", "-999.0"),
        ("25 BETWEEN 50 / 2 AND 51 / 2", "true"),
    ] {
        assert_eq!(shown(&context, sql), [expected], "{sql}");
    }
}

#[test]
fn functions_of_text() {
    let values = texts(&["Straße, 12", "", "  aßa "]);
    let table: [(&str, &[&str]); 27] = [
        ("lower(s)", &["straße, 12", "", "  aßa ", "NULL"]),
        ("upper(s)", &["STRASSE, 12", "", "  ASSA ", "NULL"]),
        ("reverse(s)", &["21 ,eßartS", "", " aßa  ", "NULL"]),
        ("trim(s)", &["Straße, 12", "", "aßa", "NULL"]),
        ("trim(BOTH 'S2' FROM s)", &["traße, 1", "", "  aßa ", "NULL"]),
        ("ltrim(s)", &["Straße, 12", "", "aßa ", "NULL"]),
        ("rtrim(s, '2 ')", &["Straße, 1", "", "  aßa", "NULL"]),
        ("length(s)", &["10", "0", "6", "NULL"]),
        ("char_length(s)", &["10", "0", "6", "NULL"]),
        ("strpos(s, 'ß')", &["5", "0", "4", "NULL"]),
        ("position('a' IN s)", &["4", "0", "3", "NULL"]),
        ("starts_with(s, 'Str')", &["true", "false", "false", "NULL"]),
        ("ends_with(s, ' ')", &["false", "false", "true", "NULL"]),
        ("contains(s, 'ß')", &["true", "false", "true", "NULL"]),
        ("substr(s, 5, 2)", &["ße", "", "a ", "NULL"]),
        ("substring(s FROM 9)", &["12", "", "", "NULL"]),
        ("substr(s, -1, 4)", &["St", "", "  ", "NULL"]),
        ("left(s, 2)", &["St", "", "  ", "NULL"]),
        ("right(s, -8)", &["12", "", "", "NULL"]),
        ("s || '!'", &["Straße, 12!", "!", "  aßa !", "NULL"]),
        ("s || 1", &["Straße, 121", "1", "  aßa 1", "NULL"]),
        (
            "concat(s, '!', NULL, 1.5)",
            &["Straße, 12!1.5", "!1.5", "  aßa !1.5", "!1.5"],
        ),
        ("replace(s, 'ß', 'ss')", &["Strasse, 12", "", "  assa ", "NULL"]),
        ("split_part(s, ', ', 2)", &["12", "", "", "NULL"]),
        ("split_part(s, 'ß', -1)", &["e, 12", "", "a ", "NULL"]),
        ("s LIKE '%ß_%'", &["true", "false", "true", "NULL"]),
        (
            "s ILIKE 'STR%' OR s NOT LIKE '%'",
            &["true", "false", "false", "NULL"],
        ),
    ];
    check("s", &values, &table);
}

#[test]
fn functions_of_dates() {
    let values = moments(&[
        "2020-02-29T23:59:58.765432",
        "1969-12-31T23:59:59.5",
        "1700-01-01T00:00:00",
        "1699-12-31T23:59:59",
    ]);
    let table: [(&str, &[&str]); 20] = [
        ("EXTRACT(YEAR FROM m)", &["2020", "1969", "1700", "1699", "NULL"]),
        ("EXTRACT(QUARTER FROM m)", &["1", "4", "1", "4", "NULL"]),
        ("date_part('month', m)", &["2", "12", "1", "12", "NULL"]),
        ("EXTRACT(DAY FROM m)", &["29", "31", "1", "31", "NULL"]),
        ("EXTRACT(DOW FROM m)", &["6", "3", "5", "4", "NULL"]),
        ("EXTRACT(ISODOW FROM m)", &["6", "3", "5", "4", "NULL"]),
        ("EXTRACT(DOY FROM m)", &["60", "365", "1", "365", "NULL"]),
        ("EXTRACT(WEEK FROM m)", &["9", "1", "53", "53", "NULL"]),
        ("EXTRACT(HOUR FROM m)", &["23", "23", "0", "23", "NULL"]),
        ("EXTRACT(MINUTE FROM m)", &["59", "59", "0", "59", "NULL"]),
        ("EXTRACT(SECOND FROM m)", &["58", "59", "0", "59", "NULL"]),
        (
            "date_part('milliseconds', m)",
            &["58765", "59500", "0", "59000", "NULL"],
        ),
        (
            "EXTRACT(MICROSECOND FROM m)",
            &["58765432", "59500000", "0", "59000000", "NULL"],
        ),
        (
            "EXTRACT(EPOCH FROM m)",
            &[
                "1583020798.765432",
                "-0.5",
                "-8520336000.0",
                "-8520336001.0",
                "NULL",
            ],
        ),
        (
            "date_trunc('month', m)",
            &[
                "2020-02-01T00:00:00",
                "1969-12-01T00:00:00",
                "1700-01-01T00:00:00",
                "NULL",
                "NULL",
            ],
        ),
        (
            "date_trunc('hour', m)",
            &[
                "2020-02-29T23:00:00",
                "1969-12-31T23:00:00",
                "1700-01-01T00:00:00",
                "NULL",
                "NULL",
            ],
        ),
        (
            "CAST(m AS DATE)",
            &["2020-02-29", "1969-12-31", "1700-01-01", "1699-12-31", "NULL"],
        ),
        (
            "m + INTERVAL '1 month'",
            &[
                "2020-03-29T23:59:58.765432",
                "1970-01-31T23:59:59.500",
                "1700-02-01T00:00:00",
                "1700-01-31T23:59:59",
                "NULL",
            ],
        ),
        (
            "m::VARCHAR LIKE '2020-02-29T23%'",
            &["true", "false", "false", "false", "NULL"],
        ),
        (
            "m < DATE '1970-01-01'",
            &["false", "true", "true", "true", "NULL"],
        ),
    ];
    check("m", &values, &table);
    let table: [(&str, &[&str]); 3] = [
        (
            "to_char(m, 'YYYY-MM-DD HH24')",
            &[
                "2020-02-29 23",
                "1969-12-31 23",
                "1700-01-01 00",
                "1699-12-31 23",
                "NULL",
            ],
        ),
        (
            "date_bin(INTERVAL '1 day', m)",
            &[
                "2020-02-29T00:00:00",
                "1969-12-31T00:00:00",
                "1700-01-01T00:00:00",
                "1699-12-31T00:00:00",
                "NULL",
            ],
        ),
        (
            "date_bin(INTERVAL '1 day', m, TIMESTAMP '2000-01-01 12:00:00')",
            &[
                "2020-02-29T12:00:00",
                "1969-12-31T12:00:00",
                "1699-12-31T12:00:00",
                "1699-12-31T12:00:00",
                "NULL",
            ],
        ),
    ];
    check("m", &values, &table);
    let values = days(&["2020-02-29", "2262-01-01", "9999-12-31"]);
    let table: [(&str, &[&str]); 7] = [
        (
            "date_trunc('week', d)",
            &["2020-02-24T00:00:00", "NULL", "NULL", "NULL"],
        ),
        ("EXTRACT(YEAR FROM d)", &["2020", "2262", "9999", "NULL"]),
        ("EXTRACT(HOUR FROM d)", &["0", "0", "0", "NULL"]),
        ("d - DATE '2020-01-01'", &["59", "88389", "2914634", "NULL"]),
        (
            "INTERVAL '1 year' + d",
            &["2021-02-28", "2263-01-01", "+10000-12-31", "NULL"],
        ),
        (
            "d - INTERVAL '1 day' - INTERVAL '1 day'",
            &["2020-02-27", "2261-12-30", "9999-12-29", "NULL"],
        ),
        ("d = '2020-02-29'", &["true", "false", "false", "NULL"]),
    ];
    check("d", &values, &table);
}

#[test]
fn casts_give_null_for_what_they_cannot_read() {
    let values = texts(&["12", "1.5", "nan", "yes", "2020-01-02", "x"]);
    let table: [(&str, &[&str]); 5] = [
        (
            "CAST(s AS BIGINT)",
            &["12", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"],
        ),
        (
            "CAST(s AS DOUBLE)",
            &["12.0", "1.5", "NULL", "NULL", "NULL", "NULL", "NULL"],
        ),
        (
            "s::BOOLEAN",
            &["NULL", "NULL", "NULL", "true", "NULL", "NULL", "NULL"],
        ),
        (
            "TRY_CAST(s AS DATE)",
            &["NULL", "NULL", "NULL", "NULL", "2020-01-02", "NULL", "NULL"],
        ),
        (
            "CAST(s AS TIMESTAMP)",
            &[
                "NULL",
                "NULL",
                "NULL",
                "NULL",
                "2020-01-02T00:00:00",
                "NULL",
                "NULL",
            ],
        ),
    ];
    check("s", &values, &table);
    let values = floats(&[-1.9, 1e19, f64::NAN]);
    check(
        "g",
        &values,
        &[
            ("CAST(g AS INT)", &["-2", "NULL", "NULL", "NULL"]),
            ("CAST(g * 1 AS VARCHAR)", &["-1.9", "1e19", "NULL", "NULL"]),
        ],
    );
    let values: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
    let table: [(&str, &[&str]); 5] = [
        ("CAST(b AS BIGINT)", &["1", "0", "NULL"]),
        ("CAST(b AS VARCHAR)", &["true", "false", "NULL"]),
        ("b IS NOT TRUE", &["false", "true", "true"]),
        ("NOT b OR NULL", &["NULL", "true", "NULL"]),
        ("nvl2(b, 'known', 'unknown')", &["known", "known", "unknown"]),
    ];
    check("b", &values, &table);
}
