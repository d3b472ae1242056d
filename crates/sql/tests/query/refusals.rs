//! Refusals say what is wrong and what to do, and depend on the query and the catalog alone.

use crate::harness::{Bench, CATALOG, NEARLY_EXACT};
use sql::QueryRequest;

#[track_caller]
fn refused(bench: &Bench, sql: &str, because: &str) {
    let message = bench.refusal(sql);
    assert!(message.contains(because), "{sql}: {message}");
    assert!(message.contains("\nhint: "), "{sql}: {message}");
}

#[test]
fn unbounded_sums_are_refused_and_bounded_ones_are_not() {
    let bench = Bench::new(NEARLY_EXACT);
    refused(
        &bench,
        "SELECT SUM(person) FROM people",
        "without bounds is unbounded",
    );
    assert!(
        bench
            .ask("SELECT SUM(person, contribution_bounds_per_row => (0, 500)) FROM people")
            .is_ok()
    );
    assert!(
        bench
            .ask("SELECT SUM(GREATEST(0, LEAST(person, 500))) FROM people")
            .is_ok()
    );
}

#[test]
fn limits_that_are_nowhere_are_asked_for() {
    let catalog = CATALOG
        .replace("EPSILON", "1")
        .replace("NEIGHBORS", "add_remove")
        .replace("[limits]\ngroups = 5\nrows_per_group = 5\n", "");
    let bench = Bench::with(&catalog);
    refused(
        &bench,
        "SELECT COUNT(*) FROM visits",
        "nothing says how many rows",
    );
    refused(
        &bench,
        "SELECT department, COUNT(DISTINCT person) FROM visits GROUP BY department",
        "in how many groups",
    );
    let stated = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, max_groups_contributed = 2, max_rows_contributed = 3) \
                  department, COUNT(*) FROM visits GROUP BY department";
    assert!(bench.ask(stated).is_ok());
    assert!(
        bench.ask("SELECT COUNT(*) FROM people").is_ok(),
        "one row a person needs no limit"
    );
}

#[test]
fn whose_privacy_is_the_catalogs_word() {
    let bench = Bench::new(NEARLY_EXACT);
    let other = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, privacy_unit_column = department) COUNT(*) FROM visits";
    refused(&bench, other, "privacy_unit_column");
    let same = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, privacy_unit_column = person) COUNT(*) FROM visits";
    assert!(bench.ask(same).is_ok());
}

#[test]
fn private_names_need_add_or_remove() {
    let bench = Bench::with(&CATALOG.replace("EPSILON", "1").replace("NEIGHBORS", "change_one"));
    refused(
        &bench,
        "SELECT region, COUNT(*) FROM people GROUP BY region",
        "change_one",
    );
    assert!(
        bench
            .ask("SELECT education, COUNT(*) FROM people GROUP BY education")
            .is_ok()
    );
}

#[test]
fn unknown_names_are_reported() {
    let bench = Bench::new(NEARLY_EXACT);
    refused(&bench, "SELECT COUNT(*) FROM nobody", "nobody");
    refused(&bench, "SELECT AVG(weight) FROM people", "weight");
    refused(&bench, "SELEC 1", "not SQL");
}

#[test]
fn raw_rows_and_single_people_are_refused() {
    let bench = Bench::new(NEARLY_EXACT);
    refused(&bench, "SELECT * FROM people", "as they are");
    refused(&bench, "SELECT age FROM people WHERE person = 3", "as they are");
    refused(
        &bench,
        "SELECT person, COUNT(*) FROM visits GROUP BY person",
        "each person",
    );
}

/// What a column does not have is told before anything is spent, wherever it is compared, with the nearest of what it has; and it can be asked about all the same.
#[test]
fn values_that_are_not_declared_are_told_before_anything_is_spent() {
    let bench = Bench::new("1");
    let before = bench
        .dataset
        .with_ledger(|store| Ok(store.head()?.number))
        .unwrap();
    for (sql, column, meant) in [
        (
            "SELECT COUNT(*) FROM visits WHERE department = 'Heart'",
            "'Heart' is no declared value of `department`",
            "did you mean 'heart'?",
        ),
        (
            "SELECT COUNT(*) FROM visits WHERE 'haert' <> department OR minutes > 3",
            "'haert' is no declared value of `department`",
            "did you mean 'heart'?",
        ),
        (
            "SELECT COUNT(*) FILTER (WHERE department IN ('eyes', 'skinn')) FROM visits",
            "'skinn' is no declared value of `department`",
            "did you mean 'skin'?",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT v.department AS d, v.person FROM visits AS v JOIN people ON people.person = v.person) AS t WHERE t.d = 'nose'",
            "'nose' is no declared value of `department`",
            "its values are 'eyes', 'heart', 'skin'.",
        ),
        (
            "SELECT education, COUNT(*) FROM people GROUP BY education HAVING education = 'Master'",
            "'Master' is no declared value of `education`",
            "did you mean 'master'?",
        ),
        (
            "SELECT SUM(CASE department WHEN 'eye' THEN 1 ELSE 0 END) FROM visits",
            "'eye' is no declared value of `department`",
            "did you mean 'eyes'?",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits WHERE visits.person = people.person AND visits.department = 'HEART')",
            "'HEART' is no declared value of `department`",
            "did you mean 'heart'?",
        ),
    ] {
        let ask = QueryRequest::new(sql, "ann");
        let explained = bench.dataset.explain(&ask, 1000).unwrap_err().to_string();
        assert!(
            explained.contains(column) && explained.contains(meant),
            "{sql}: {explained}"
        );
        assert!(explained.contains("unknown_values = true"), "{explained}");
        assert_eq!(bench.refusal(sql), explained);
        // A client asks for the columns before it knows the values of its parameters.
        assert!(bench.dataset.columns(&ask).is_ok(), "{sql}");
    }
    // Columns without declared values, expressions and public tables have nothing to compare with.
    for sql in [
        "SELECT COUNT(*) FROM people WHERE region = 'nowhere'",
        "SELECT COUNT(*) FROM visits WHERE upper(department) = 'HEART'",
        "SELECT COUNT(*) FROM visits WHERE department = 'heart' AND department <> 'eyes'",
        "SELECT country FROM regions WHERE country = 'C'",
    ] {
        let ask = QueryRequest::new(sql, "ann");
        assert!(bench.dataset.explain(&ask, 1000).is_ok(), "{sql}");
    }
    let spent = bench
        .dataset
        .with_ledger(|store| Ok(store.head()?.number))
        .unwrap();
    assert_eq!(before, spent, "nothing is charged, and nothing is written down");
    let meant = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, unknown_values = true) COUNT(*) FROM visits WHERE department = 'Heart'";
    assert!(bench.ask(meant).is_ok());
}

/// What is public costs nothing, and leaves no ledger behind.
#[test]
fn queries_over_public_tables_are_free() {
    let bench = Bench::new("1");
    for (sql, rows) in [
        (
            "SELECT country FROM regions ORDER BY region",
            vec!["B", "A", "A", "B"],
        ),
        (
            "SELECT country, COUNT(*) FROM regions GROUP BY country ORDER BY country",
            vec!["A", "B"],
        ),
        ("SELECT 'x' AS x", vec!["x"]),
        (
            "SELECT DISTINCT education FROM people ORDER BY education",
            vec!["bachelor", "doctor", "master", "none", "school"],
        ),
    ] {
        let ask = QueryRequest::new(sql, "ann");
        let answered = bench
            .dataset
            .query(&ask)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let found = answered.answer.rows.iter().map(|row| row[0].value.to_string());
        assert_eq!(found.collect::<Vec<_>>(), rows, "{sql}");
        assert_eq!(answered.answer.cost, None, "{sql}");
        assert!(
            answered.answer.columns.iter().all(|column| !column.noisy),
            "{sql}"
        );
        assert_eq!(
            bench.dataset.columns(&ask).unwrap(),
            answered.answer.columns,
            "{sql}"
        );
        let explained = bench.dataset.explain(&ask, 1000).unwrap();
        assert!(explained.parts.is_empty(), "{sql}");
        assert_eq!(
            explained.guarantee.promise(),
            &accounting::Promise::Pure(accounting::Epsilon::ZERO)
        );
        let forecast = bench.dataset.forecast(&ask).unwrap();
        assert!(
            forecast.cost.starts_with("nothing") && forecast.fits.is_none(),
            "{sql}"
        );
        assert!(bench.dataset.saved(&ask).unwrap().is_some(), "{sql}");
    }
    assert!(!bench.directory.path().join("test.ledger").exists());
    let listed = bench.ask("SELECT DISTINCT education FROM people").unwrap();
    assert!(
        listed
            .notes
            .iter()
            .any(|note| note.contains("whether rows have them or not")),
        "{:?}",
        listed.notes
    );
    // A mistake of the query's own is told as such.
    refused(
        &bench,
        "SELECT CAST(country AS BIGINT) FROM regions",
        "over public tables does not work",
    );
    for sql in [
        "SELECT DISTINCT education FROM people WHERE age > 30",
        "SELECT education FROM people GROUP BY ROLLUP (education)",
        "SELECT DISTINCT education FROM people UNION SELECT country FROM regions",
        "SELECT r.country FROM regions AS r JOIN (SELECT DISTINCT education FROM people) AS e ON r.country < e.education",
    ] {
        refused(&bench, sql, "whether rows have them or not");
    }
}

/// Dates are measured as numbers, and are shown as dates.
#[test]
fn the_ends_of_dates_are_dates() {
    let bounded = CATALOG
        .replace("EPSILON", NEARLY_EXACT)
        .replace("NEIGHBORS", "add_remove")
        .replace(
            "day = { kind = \"date\" }",
            "day = { kind = \"date\", bounds = [\"2024-01-01\", \"2024-12-31\"] }",
        );
    let bench = Bench::with(&bounded);
    let sql = "SELECT MIN(day) AS first, MAX(day) AS last, MAX(day) - MIN(day) AS days FROM visits";
    let answer = bench.ask(sql).unwrap();
    let kinds: Vec<sql::CellKind> = answer.columns.iter().map(|column| column.kind).collect();
    assert_eq!(kinds[..2], [sql::CellKind::Date; 2]);
    let values: Vec<String> = answer.rows[0].iter().map(|cell| cell.value.to_string()).collect();
    assert_eq!(values[..2], ["2024-01-01", "2024-12-27"]);
    let moment = bench
        .ask("SELECT MAX(CAST(day AS TIMESTAMP)) AS moment FROM visits")
        .unwrap();
    assert_eq!(moment.columns[0].kind, sql::CellKind::Timestamp);
    let last = moment.rows[0][0].value.to_string();
    assert!(last.starts_with("2024-12-27"), "{last}");
    for column in &answer.columns {
        assert!(column.noisy && column.no_interval.is_some(), "{column:?}");
    }
    assert!(
        answer.bounds[0]
            .words
            .contains("day is clamped to 2024-01-01..2024-12-31"),
        "{}",
        answer.bounds[0].words
    );
    // Of too few rows nothing is told.
    let few = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("0.001").unwrap()),
        ..QueryRequest::new("SELECT MIN(day) FROM visits", "ann")
    };
    assert!(
        bench.dataset.query(&few).unwrap().answer.rows[0][0]
            .value
            .is_null()
    );
    refused(
        &bench,
        "SELECT MIN(day, contribution_bounds_per_row => (0, 5)) FROM visits",
        "contribution bounds are numbers",
    );
    let unbounded = Bench::new("1");
    refused(
        &unbounded,
        "SELECT MAX(day) FROM visits",
        "MAX of a date without bounds is unbounded",
    );
}

/// A condition that noise could have made up does not hold.
#[test]
fn conditions_hold_where_that_is_sure() {
    let exact = Bench::new(NEARLY_EXACT);
    let sql =
        "SELECT BOOL_OR(age > 80), BOOL_OR(age > 110), BOOL_AND(age < 110), BOOL_AND(age < 80) FROM people";
    let answer = exact.ask(sql).unwrap();
    let truths: Vec<Option<bool>> = answer.rows[0].iter().map(|cell| cell.value.as_bool()).collect();
    assert_eq!(truths, [true, false, true, false].map(Some));
    assert!(
        answer
            .columns
            .iter()
            .all(|column| column.noisy && column.no_interval.is_some())
    );
    // In no row of any group, and in all of them.
    let none = "SELECT education, BOOL_OR(age > 200) AS some, EVERY(age < 200) AS all FROM people GROUP BY education HAVING NOT BOOL_OR(age > 200) AND EVERY(age < 200)";
    assert_eq!(
        exact.ask(none).unwrap().rows.len(),
        6,
        "five declared values and NULL"
    );
}

/// A question of a hundred thousand characters that lists thousands of columns would be planned for hours.
#[test]
fn columns_that_nobody_would_wait_for_are_refused_before_they_are_planned() {
    let bench = Bench::new("1");
    let sql = |count: usize| {
        let columns: Vec<String> = (0..count).map(|number| format!("SUM(age + {number})")).collect();
        format!("SELECT {} FROM people", columns.join(", "))
    };
    let ask = |count| QueryRequest::new(sql(count), "ann");
    let refused = bench.dataset.explain(&ask(10_000), 1000).unwrap_err().to_string();
    assert!(
        refused.contains("10000 columns") && refused.contains("hint: "),
        "{refused}"
    );
    assert_eq!(bench.dataset.columns(&ask(50)).unwrap().len(), 50);
}

/// What the columns will be is known without running what only arranges them, and is the same as where it runs.
#[test]
fn columns_are_those_of_the_answer() {
    let bench = Bench::new("1");
    for sql in [
        "SELECT education, COUNT(*) AS n, AVG(age) AS a FROM people GROUP BY education ORDER BY education",
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region",
        "SELECT COUNT(*) + 1 AS n, MEDIAN(age) AS m FROM people",
        "SELECT n, education FROM (SELECT education, COUNT(*) AS n FROM people GROUP BY education) AS t ORDER BY n LIMIT 2",
    ] {
        let asked = QueryRequest::new(sql, "ann");
        let known = bench.dataset.columns(&asked).unwrap();
        assert_eq!(
            known,
            bench.dataset.query(&asked).unwrap().answer.columns,
            "{sql}"
        );
    }
}
