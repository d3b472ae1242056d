//! Refusals say what is wrong and what to do, and depend on the query and the catalog alone.

use crate::harness::{Bench, CATALOG, NEARLY_EXACT};

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
