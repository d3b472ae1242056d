use super::*;

#[test]
fn the_built_in_file_is_the_built_in_table() {
    assert_eq!(parse(CENSUS).unwrap().table, crate::published::census());
}

/// The error of the built-in file with one piece of text replaced.
fn error(from: &str, to: &str) -> String {
    assert!(CENSUS.contains(from), "{from}");
    parse(&CENSUS.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn mistakes_are_reported_by_their_line() {
    for (from, to, line, what) in [
        ("decimals = 1", "decimals = = 1", 6, "this is not TOML"),
        (
            "age = { from = 1, to = 125 }",
            "age = { from = 1 }",
            13,
            "no greatest value",
        ),
        (
            "age = { from = 1, to = 125 }",
            "age = { from = 9, to = 2 }",
            13,
            "ends before it begins",
        ),
        (
            "where = { sex = \"F\" }",
            "where = { gender = \"F\" }",
            36,
            "no attribute `gender`",
        ),
        (
            "where = { sex = \"F\" }",
            "where = { sex = \"X\" }",
            36,
            "`X` is no value of `sex`",
        ),
        (
            "where = { sex = \"F\" }",
            "where = { sex = { from = 1 } }",
            36,
            "has no range",
        ),
        ("mean = 33.5", "mean = 33.55", 39, "2 decimals"),
        ("mean = 33.5", "average = 33.5", 39, "no key `average`"),
        ("median = 51", "median = 51.2", 54, "whole or a half"),
        ("id = \"2B\"", "id = \"2A\"", 42, "already on line 34"),
        ("count = 7", "count = -7", 29, "not a number of people"),
        ("count = 7", "count = [7, 6]", 29, "the greater end comes first"),
    ] {
        let error = error(from, to);
        assert!(
            error.starts_with(&format!("line {line}: ")) && error.contains(what) && error.contains("hint: "),
            "{to}: {error}"
        );
    }
}

#[test]
fn means_stand_for_what_rounds_to_them() {
    let mean = |text: &str| {
        let file =
            format!("[attributes]\nage = {{ from = 0, to = 9 }}\n[[group]]\nid = \"1\"\nmean = {text}\n");
        parse(&file).unwrap().table.groups[0].statistics[0].clone()
    };
    let between = |low: &str, high: &str| Statistic::Mean {
        of: 0,
        low: parse_decimal(low).unwrap(),
        high: parse_decimal(high).unwrap(),
    };
    assert_eq!(mean("3"), between("2.5", "3.5"));
    assert_eq!(mean("3.0"), between("2.95", "3.05"));
    assert_eq!(mean("3.00"), between("2.995", "3.005"));
    assert_eq!(mean("[2, 4.5]"), between("2", "4.5"));
}

#[test]
fn suppression_says_something_only_if_the_publisher_says_so() {
    let reported = CENSUS.replacen("decimals = 1", "decimals = 1\nsuppressed_below = 3", 1);
    let table = parse(&reported).unwrap().table;
    assert_eq!(table.groups[5].statistics, [Statistic::Count { low: 0, high: 2 }]);
    assert!(parse(CENSUS).unwrap().table.groups[5].statistics.is_empty());
}
