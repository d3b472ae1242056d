//! What people are reported: about the catalog, and about their mistakes.

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
    assert_eq!(tables.rows[1][1].value.as_str(), Some("public"));
    assert_eq!(tables.cost, None);
    for sql in [
        "DESCRIBE people",
        "desc table PEOPLE",
        "SHOW COLUMNS FROM \"people\"",
    ] {
        let people = bench.dataset.describe(sql).unwrap().unwrap();
        let row = |column: &str| {
            let found = people
                .rows
                .iter()
                .find(|row| row[0].value.as_str() == Some(column))
                .unwrap();
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
        let row = visits
            .rows
            .iter()
            .find(|row| row[0].value.as_str() == Some(column))
            .unwrap();
        row[2].value.as_str().unwrap().to_owned()
    };
    assert_eq!(known("day"), "2024-01-01 to 2024-12-31");
    assert_eq!(known("at"), "2024-01-01 00:00:00 to 2024-12-31 23:59:59.5");
    assert_eq!(known("minutes"), "0 to 60");
}

/// A row of subtotals has NULL in its keys, and so may a group.
#[test]
fn subtotals_are_reported_from_groups_that_are_null() {
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

/// A column without a name is called as it is written, with names of functions in small letters.
#[test]
fn columns_without_a_name_are_called_as_they_are_written() {
    let bench = Bench::new("1");
    let asked: &[(&str, &[&str])] = &[
        (
            "SELECT COUNT(*), count(1), AVG(age), SUM(people.age + 1) FROM people",
            &["count(*)", "count(1)", "avg(age)", "sum(people.age + 1)"],
        ),
        (
            "SELECT 'x', 1, education, UPPER(education), COUNT(*) FILTER (WHERE smoker) FROM people GROUP BY education ORDER BY COUNT(*) DESC LIMIT 2",
            &[
                "'x'",
                "1",
                "education",
                "upper(education)",
                "count(*) FILTER (WHERE smoker)",
            ],
        ),
        (
            "SELECT CASE WHEN age > 40 THEN 'old' ELSE 'young' END, COUNT(*) * 100.0 / 3 FROM people GROUP BY 1",
            &[
                "CASE WHEN age > 40 THEN 'old' ELSE 'young' END",
                "count(*) * 100.0 / 3",
            ],
        ),
        (
            "SELECT COUNTIF(age > 3), (MEDIAN(age)), (SELECT COUNT(1) FROM visits) FROM people",
            &["countif(age > 3)", "median(age)", "count(1)"],
        ),
        (
            "SELECT * FROM (SELECT smoker, AVG(age) FROM people GROUP BY smoker) AS s",
            &["smoker", "avg(age)"],
        ),
        (
            "SELECT COUNT(*) AS n, AVG(age) AS \"Mean Age\", Count(*), AVG(AGE), (AVG(age)) FROM people",
            &["n", "Mean Age", "count(*)", "avg(AGE)", "avg(age)"],
        ),
        (
            "SELECT *, n + 1 FROM (SELECT smoker, COUNT(*) AS n FROM people GROUP BY smoker) AS s",
            &["smoker", "n", "n + 1"],
        ),
        (
            "SELECT AVG(age), AVG(age), COUNT(*) FROM people UNION ALL SELECT 1, 2, 3",
            &["avg(age)", "avg(age)", "count(*)"],
        ),
        (
            "SELECT smoker, RANK() OVER (ORDER BY COUNT(*) DESC) FROM people GROUP BY smoker",
            &["smoker", "rank() OVER (ORDER BY count(*) DESC)"],
        ),
    ];
    for (sql, names) in asked {
        let answer = bench.ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let found: Vec<&str> = answer.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(found, *names, "{sql}");
        // What bounds a column is reported under the same name.
        for bounds in &answer.bounds {
            assert!(
                names.contains(&bounds.column.as_str()),
                "{sql}: {}",
                bounds.column
            );
        }
    }
}

#[test]
fn values_of_the_wrong_type_are_reported_with_their_column_and_what_to_do() {
    let bench = Bench::new("1");
    let asked = [
        (
            "SELECT AVG(education) FROM people",
            "AVG needs a number, and `education` is text",
            "SELECT education, COUNT(*) … GROUP BY education",
        ),
        (
            "SELECT SUM(smoker) FROM people",
            "SUM needs a number, and `smoker` is a boolean",
            "COUNTIF(smoker)",
        ),
        (
            "SELECT CORR(age, region) FROM people",
            "CORR needs a number, and `region` is text",
            "CAST(region AS DOUBLE)",
        ),
        (
            "SELECT STDDEV(day) FROM visits",
            "STDDEV needs a number, and `day` is a date",
            "EXTRACT(YEAR FROM day)",
        ),
        (
            "SELECT MEDIAN(day) FROM visits",
            "MEDIAN of a date without bounds is unbounded",
            "declare `bounds` of the column",
        ),
        (
            "SELECT MIN(day) FROM visits",
            "MIN of a date without bounds is unbounded",
            "declare `bounds` of the column",
        ),
        (
            "SELECT MAX(region) FROM people",
            "MAX needs a number, and `region` is text",
            "GROUP BY region",
        ),
        (
            "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY education) FROM people",
            "a quantile needs a number, and `education` is text",
            "GROUP BY education",
        ),
        (
            "SELECT CORR(age) FROM people",
            "CORR is written as CORR(y, x)",
            "SELECT CORR(",
        ),
        (
            "SELECT VARIANCE(region, contribution_bounds_per_row => (0, 1)) FROM people",
            "VARIANCE needs a number, and `region` is text",
            "CAST(region AS DOUBLE)",
        ),
        (
            "SELECT substr(region, 'a'), COUNT(*) FROM people GROUP BY 1",
            "the arguments of substr are not of the types that it takes",
            "`deniable sql`",
        ),
        (
            "SELECT AVG(people.age), AVG(age) FROM people",
            "two columns are both avg(age)",
            "AS other_name",
        ),
        (
            "SELECT AVG(age, 3) FROM people",
            "AVG is written as AVG(x)",
            "SELECT AVG(",
        ),
        (
            "SELECT SUM(NULL) FROM people",
            "SUM needs a number, and `NULL` is NULL",
            "number",
        ),
        (
            "SELECT upper(age), COUNT(*) FROM people GROUP BY 1",
            "upper does not take an integer, which `age` is",
            "CAST(age AS VARCHAR)",
        ),
        (
            "SELECT abs(region), COUNT(*) FROM people GROUP BY 1",
            "abs does not take text, which `region` is",
            "CAST(region AS DOUBLE)",
        ),
        (
            "SELECT sqrt(region), COUNT(*) FROM people GROUP BY 1",
            "sqrt does not take text, which `region` is",
            "CAST(region AS DOUBLE)",
        ),
        (
            "SELECT EXTRACT(YEAR FROM age), COUNT(*) FROM people GROUP BY 1",
            "the arguments of EXTRACT are not of the types that it takes",
            "dates and timestamps",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE age",
            "a condition is true or false, and `age` is an integer",
            "x > 0",
        ),
        (
            "SELECT AVG(age + region) FROM people",
            "integer + text has no meaning",
            "CAST(x AS DOUBLE)",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE COUNT(*) > 3",
            "an aggregate in WHERE",
            "HAVING COUNT(*) > 100",
        ),
        (
            "SELECT AVG(COUNT(*)) FROM people",
            "an aggregate inside of an aggregate",
            "in a subquery",
        ),
    ];
    for (sql, what, hint) in asked {
        let said = bench.refusal(sql);
        assert!(said.contains(what) && said.contains(hint), "{sql}: {said}");
        for theirs in [
            "signature",
            "DataType",
            "coerc",
            "Error during planning",
            "Utf8",
            "Int64",
        ] {
            assert!(!said.contains(theirs), "{sql}: {said}");
        }
    }
    assert!(
        !bench.directory.path().join("test.ledger").exists(),
        "nothing was charged"
    );
}

#[test]
fn mistakes_are_reported_in_the_words_of_the_query() {
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
