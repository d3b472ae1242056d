//! ROLLUP, CUBE and GROUPING SETS: each set a release of its own, put together after the noise.

use crate::harness::{Bench, NEARLY_EXACT};
use sql::CellValue;

/// Rows as text, numbers rounded.
fn rows(bench: &Bench, sql: &str) -> Vec<String> {
    let answer = bench.ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let reported = answer.rows.iter().map(|row| {
        let cells = row.iter().map(|cell| match &cell.value {
            CellValue::Null => "∅".to_owned(),
            CellValue::Int(_) | CellValue::Float(_) => cell.value.as_f64().unwrap().round().to_string(),
            other => other.to_string(),
        });
        cells.collect::<Vec<_>>().join(" ")
    });
    reported.collect()
}

#[test]
fn a_rollup_has_a_row_for_each_group_and_for_all() {
    let bench = Bench::new(NEARLY_EXACT);
    let sql = "SELECT smoker, COUNT(*) AS n, GROUPING(smoker) AS total FROM people GROUP BY ROLLUP (smoker) ORDER BY total, smoker";
    assert_eq!(rows(&bench, sql), ["false 266 0", "true 134 0", "∅ 400 1"]);
    let nested = "SELECT department, smoker, COUNT(*) AS n FROM visits JOIN people USING (person) GROUP BY ROLLUP (department, smoker) \
                  HAVING GROUPING(smoker) = 1 ORDER BY department NULLS LAST";
    let reported = rows(&bench, nested);
    assert_eq!(
        reported.len(),
        5,
        "three departments, NULL among their values, and all: {reported:?}"
    );
    assert_eq!(reported.last().unwrap(), "∅ ∅ 800");
}

#[test]
fn a_cube_has_all_subsets_and_sets_are_those_that_are_named() {
    let bench = Bench::new(NEARLY_EXACT);
    let cube = "SELECT GROUPING(smoker, education) AS missing, COUNT(*) AS rows FROM \
                (SELECT smoker, education, COUNT(*) AS n FROM people GROUP BY CUBE (smoker, education)) AS c GROUP BY missing";
    // GROUPING belongs where the sets are; outside it is refused, before anything is charged.
    assert!(bench.ask(cube).is_err());
    let cube = "SELECT g, COUNT(*) AS lines, SUM(n) AS n FROM \
                (SELECT GROUPING(smoker, education) AS g, COUNT(*) AS n FROM people GROUP BY CUBE (smoker, education)) AS c \
                GROUP BY g ORDER BY g";
    assert_eq!(rows(&bench, cube), ["0 12 400", "1 2 400", "2 6 400", "3 1 400"]);
    let sets = "SELECT smoker, AVG(age) AS age, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((smoker), ()) ORDER BY smoker NULLS LAST";
    let reported = rows(&bench, sets);
    assert_eq!(reported.len(), 3);
    assert!(reported[2].ends_with(" 400"), "{reported:?}");
    let mixed = "SELECT smoker, education, COUNT(*) AS n FROM people GROUP BY smoker, ROLLUP (education)";
    assert_eq!(rows(&bench, mixed).len(), 12 + 2);
}

#[test]
fn what_a_select_states_is_for_all_its_sets_together() {
    let bench = Bench::new("1");
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.9) smoker, COUNT(*) AS n FROM people GROUP BY ROLLUP (smoker)";
    let answer = bench.ask(sql).unwrap();
    let epsilon = answer.cost.as_ref().unwrap().epsilon().unwrap().to_f64_up();
    assert!(epsilon <= 0.9 && epsilon > 0.89, "{epsilon}");
    assert!(answer.columns[1].has_intervals());
}

#[test]
fn too_many_sets_and_groups_of_one_are_refused() {
    let bench = Bench::new("1");
    let refused = |sql: &str| bench.ask(sql).unwrap_err().to_string();
    let many = refused(
        "SELECT COUNT(*) FROM people GROUP BY CUBE (age, education, region, smoker, income, age + 1, age + 2)",
    );
    assert!(many.contains("more than 64 sets"), "{many}");
    let each = refused("SELECT person, COUNT(*) FROM people GROUP BY ROLLUP (person)");
    assert!(each.contains("for each person"), "{each}");
    let hint = refused("SELECT smoker, COUNT(*) FROM people GROUP BY smoker WITH ROLLUP");
    assert!(hint.contains("GROUP BY ROLLUP (a, b)"), "{hint}");
}
