//! What people are told: about the catalog, and about their mistakes.

use crate::harness::Bench;

#[test]
fn the_catalog_is_described_for_nothing() {
    let bench = Bench::new("1");
    let tables = bench
        .dataset
        .describe("-- what is there?\nSHOW TABLES;")
        .unwrap()
        .unwrap();
    let names: Vec<_> = tables
        .rows
        .iter()
        .map(|row| row[0].value.as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["people", "regions", "visits"]);
    assert_eq!(tables.rows[1][1].value, "public");
    assert_eq!(tables.cost.epsilon, "0");
    for sql in [
        "DESCRIBE people",
        "desc table PEOPLE",
        "SHOW COLUMNS FROM \"people\"",
    ] {
        let people = bench.dataset.describe(sql).unwrap().unwrap();
        let row = |column: &str| {
            let found = people.rows.iter().find(|row| row[0].value == column).unwrap();
            let cells = found[1..]
                .iter()
                .map(|cell| cell.value.as_str().unwrap().to_owned());
            cells.collect::<Vec<_>>()
        };
        assert_eq!(row("age"), ["integer", "0 to 120", "never NULL"]);
        assert_eq!(row("education")[1], "none, school, bachelor, master, doctor");
    }
    let unknown = bench.dataset.describe("DESCRIBE peple").unwrap_err().to_string();
    assert!(
        unknown.contains("there is no table `peple`") && unknown.contains("`people`"),
        "{unknown}"
    );
    assert!(
        bench
            .dataset
            .describe("SELECT COUNT(*) FROM people")
            .unwrap()
            .is_none()
    );
    assert!(
        !bench.directory.path().join("test.ledger").exists(),
        "nothing was charged"
    );
}

#[test]
fn bounds_of_days_and_moments_are_described() {
    let catalog = crate::harness::CATALOG
        .replace("EPSILON", "1")
        .replace("NEIGHBORS", "add_remove")
        .replace(
            "day = { kind = \"date\" }",
            "day = { kind = \"date\", bounds = [\"2024-01-01\", \"2024-12-31\"] }\nat = { kind = \"timestamp\", bounds = [\"2024-01-01\", \"2024-12-31T23:59:59.5\"] }",
        );
    let bench = Bench::with(&catalog);
    let visits = bench.dataset.describe("DESCRIBE visits").unwrap().unwrap();
    let known = |column: &str| {
        let row = visits.rows.iter().find(|row| row[0].value == column).unwrap();
        row[2].value.as_str().unwrap().to_owned()
    };
    assert_eq!(known("day"), "2024-01-01 to 2024-12-31");
    assert_eq!(known("at"), "2024-01-01 00:00:00 to 2024-12-31 23:59:59.5");
    assert_eq!(known("minutes"), "0 to 60");
}

/// A row of subtotals has NULL in its keys, and so may a group.
#[test]
fn subtotals_are_told_from_groups_that_are_null() {
    let bench = Bench::new("1");
    let notes = |sql: &str| bench.ask(sql).unwrap().notes.join("\n");
    let rolled = notes("SELECT smoker, education, COUNT(*) FROM people GROUP BY ROLLUP (smoker, education)");
    assert!(
        rolled.contains("NULL in smoker, education is a subtotal or a group of its own: GROUPING(smoker), GROUPING(education) are 1 where it is a subtotal"),
        "{rolled}"
    );
    for sql in [
        "SELECT smoker, GROUPING(smoker) AS total, COUNT(*) FROM people GROUP BY ROLLUP (smoker)",
        "SELECT smoker, COUNT(*) FROM people GROUP BY smoker",
    ] {
        assert!(!notes(sql).contains("subtotal"), "{sql}");
    }
}

#[test]
fn mistakes_are_told_in_the_words_of_the_query() {
    let bench = Bench::new("1");
    let asked = [
        (
            "SELECT COUNT(*) FROM peoples",
            "there is no table `peoples`",
            "did you mean `people`?",
        ),
        (
            "SELECT COUNT(*) FROM nothing_like_it",
            "there is no table `nothing_like_it`",
            "the tables are people, regions, visits",
        ),
        (
            "SELECT AVG(agee) FROM people",
            "there is no column `agee`",
            "did you mean `age`?",
        ),
        (
            "SELECT AVG(people.salary) FROM people",
            "there is no column `salary` of `people`",
            "the columns are person, age",
        ),
        ("SELECT AVG(x)", "there is no column `x`", "add FROM"),
        (
            "SELECT lowr(region), COUNT(*) FROM people GROUP BY 1",
            "there is no function `lowr`",
            "did you mean `lower`?",
        ),
        (
            "SELECT frobnicate(region), COUNT(*) FROM people GROUP BY 1",
            "there is no function `frobnicate`",
            "docs/sql.md",
        ),
        (
            "SELECT person, COUNT(*) FROM people JOIN visits ON people.person = visits.person GROUP BY 1",
            "`person` is in more than one",
            "a.person",
        ),
        (
            "SELECT education, COUNT(*) FROM people",
            "`education` is neither grouped by",
            "add education to GROUP BY",
        ),
    ];
    for (sql, what, hint) in asked {
        let said = bench.ask(sql).unwrap_err().to_string();
        assert!(said.contains(what) && said.contains(hint), "{sql}: {said}");
        for theirs in [
            "datafusion",
            "DataFusion",
            "md5",
            "Error during planning",
            "Schema error",
        ] {
            assert!(!said.contains(theirs), "{sql}: {said}");
        }
    }
}
