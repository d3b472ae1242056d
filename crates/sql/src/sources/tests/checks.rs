//! A catalog against its data.

use super::super::tests_support::run;
use super::formats::catalog;
use crate::sources::{TableCheck, check};

fn checked(text: &str, table: &str, columns: &str) -> TableCheck {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.csv"), text).unwrap();
    let catalog = catalog(directory.path(), &format!("source = \"a.csv\"\n{table}"), columns).unwrap();
    run(check(&catalog, "t", &catalog.tables["t"])).unwrap()
}

#[test]
fn a_catalog_is_compared_with_its_data() {
    let text =
        "id,age,sex,score\n1,30,Male,1.5\n1,200,male,x\n2,-1,,2\n,40,other,NaN\n3,,Male,\n1,41,Other,3\n";
    let columns = "id = { kind = \"int\" }\nage = { kind = \"int\", bounds = [0, 120], nullable = false }\n\
         sex = { kind = \"text\", values = [\"Male\", \"Female\"] }\nscore = { kind = \"float\" }";
    let limits =
        "unit = \"id\"\nclustered = true\nrows_per_unit = 2\nlimits = { rows_per_group = 1 }\nnulls = [\"\"]";
    let check = checked(text, limits, columns);
    assert_eq!(check.rows, 6);
    let units = check.units.unwrap();
    assert_eq!((units.units, units.rows_of_nobody), (3, 1));
    assert_eq!((units.units_above_promise, units.units_above_limit), (1, 1));
    assert!(units.said_to_be_clustered && !units.clustered);
    let column = |name: &str| check.columns.iter().find(|column| column.column == name).unwrap();
    let age = column("age");
    assert_eq!(
        (age.below, age.above, age.nulls, age.said_not_null),
        (1, 1, 1, true)
    );
    let sex = column("sex");
    assert_eq!((sex.nulls, sex.not_listed, sex.different_not_listed), (1, 3, 3));
    assert_eq!(sex.never_seen, ["Female"]);
    let score = column("score");
    assert_eq!((score.nulls, score.unreadable), (1, 2));

    let sorted = checked(
        "id\n1\n1\n2\n",
        "unit = \"id\"\nclustered = true",
        "id = { kind = \"int\" }",
    );
    assert!(sorted.units.unwrap().clustered);
}

#[test]
fn keys_that_others_rely_on_are_checked() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.csv"), "id,visit\n1,7\n2,7\n2,8\n").unwrap();
    let through = "id = { kind = \"int\" }\nvisit = { kind = \"int\" }\n\
         [tables.tests]\nsource = \"b.csv\"\nunit_through = { column = \"visit\", table = \"t\", key = \"visit\" }\ncolumns = { visit = { kind = \"int\" } }";
    let catalog = catalog(directory.path(), "source = \"a.csv\"\nunit = \"id\"", through).unwrap();
    let check = run(check(&catalog, "t", &catalog.tables["t"])).unwrap();
    assert_eq!(check.keys.len(), 1);
    assert_eq!((check.keys[0].repeated, check.keys[0].leads_to_units), (1, true));
}

#[test]
fn days_beyond_their_bounds_are_counted() {
    let check = checked(
        "id,day,at\n1,2019-12-31,2020-01-01T00:00:00\n1,2020-06-01,2021-01-01T00:00:00\n2,2021-01-01,\n",
        "unit = \"id\"\nlimits = { rows_per_group = 5, rows = 1 }",
        "id = { kind = \"int\" }\nday = { kind = \"date\", bounds = [\"2020-01-01\", \"2020-12-31\"] }\n\
         at = { kind = \"timestamp\", bounds = [\"2020-01-01\", \"2020-12-31\"] }",
    );
    let found: Vec<_> = check
        .columns
        .iter()
        .map(|column| (column.below, column.above))
        .collect();
    assert_eq!(found, [(0, 0), (1, 1), (0, 1)]);
    // In a query without groups, `rows` count.
    let units = check.units.unwrap();
    assert_eq!((units.limit, units.units_above_limit), (Some(1), 1));
}

/// Persons who are written in several ways, and identifiers that no unit has.
#[test]
fn identifiers_that_change_are_counted() {
    let text = "id\n7\n007\n+7\n\" 7\"\n8\n\n1.0\n7\n";
    let check = checked(text, "unit = \"id\"", "id = { kind = \"int\" }");
    let (units, id) = (check.units.as_ref().unwrap(), &check.columns[0]);
    assert_eq!(
        (units.units, units.rows_of_nobody, units.written_alike),
        (2, 4, 0)
    );
    assert_eq!((id.names_units, id.unreadable, id.nulls), (true, 4, 0));
    let words: Vec<String> = check
        .differences()
        .into_iter()
        .map(|found| found.what + &found.hint)
        .collect();
    assert!(
        words
            .iter()
            .any(|words| words.contains("nobody's") && words.contains("kind = \"text\"")),
        "{words:?}"
    );

    let names = "id\nann\nAnn\n\" ann\"\ne\u{301}va\néva\nbob\n7\n007\n0\n00\n";
    let check = checked(names, "unit = \"id\"", "id = { kind = \"text\" }");
    let units = check.units.as_ref().unwrap();
    assert_eq!(
        (units.units, units.rows_of_nobody, units.written_alike),
        (10, 0, 5)
    );
    let words: Vec<String> = check.differences().into_iter().map(|found| found.what).collect();
    assert!(
        words.iter().any(|words| words.contains("5 identifiers")),
        "{words:?}"
    );
}
