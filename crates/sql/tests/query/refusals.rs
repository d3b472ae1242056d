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
    refused(&bench, "SELECT country FROM regions", "public tables only");
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
