//! How often a question reads the rows: a property of its plan, and no time.

use super::movement::{question, runtime};
use super::neighbours::{Row, Unit, catalog, write};
use crate::run::engine::{BoundedPlans, bounded_plans};
use crate::run::engines::Engines;
use crate::run::exact::prepare;
use crate::run::publics::Publics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionConfig;

/// How often the plans of a question read a table, and whether the question has an estimate of what the limits cut.
fn scans(sql: &str) -> (usize, bool) {
    let here = tempfile::tempdir().unwrap();
    let row = Row {
        group: "a",
        other: 1,
        x: "5",
        y: "1",
        day: "",
    };
    let unit = Unit {
        rows: vec![row; 7],
        own: None,
    };
    write(here.path(), &[(0, &unit)], 0, 1);
    let catalog = catalog(here.path(), "add_remove");
    let question = question(sql, &catalog).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let secret = bound::Secret::new("0123456789abcdef").unwrap();
    let asked = bounded_plans(&question.split.aggregations, &question.cuts, &secret).unwrap();
    let planned = asked.iter().flat_map(BoundedPlans::plans).map(scans_of).sum();
    let engines = Engines::new(SessionConfig::new());
    let claims = question.claims(&catalog).unwrap();
    let prepared = runtime()
        .block_on(prepare(asked, &claims, &Publics::default(), &engines, &catalog))
        .unwrap();
    assert_eq!(
        prepared.scans(),
        planned,
        "{sql}: the engine reads rows as often as was planned"
    );
    (planned, !question.cuts.is_empty())
}

fn scans_of(plan: &LogicalPlan) -> usize {
    let mut scans = 0;
    let _ = plan.apply_with_subqueries(|node| {
        scans += usize::from(matches!(node, LogicalPlan::TableScan(_)));
        Ok(TreeNodeRecursion::Continue)
    });
    scans
}

#[test]
fn the_default_reads_the_rows_once() {
    for sql in [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*), SUM(x), AVG(y) FROM t",
        "SELECT g, COUNT(*), SUM(x) AS total, AVG(x) AS mean FROM t GROUP BY g",
        "SELECT o, COUNT(*), COUNT(DISTINCT u) FROM t GROUP BY o",
        "SELECT g, SUM(y) FROM t WHERE x > 0 GROUP BY g",
    ] {
        assert_eq!(scans(sql), (1, true), "{sql}");
    }
}

/// A count that is always one is none.
#[test]
fn a_question_that_has_to_read_the_rows_twice_does() {
    let doubled = "SELECT COUNT(*) FROM (SELECT u FROM t UNION ALL SELECT u FROM t) AS q";
    assert_eq!(scans(doubled), (2, true));
    // A tree of leaves is counted from single rows.
    assert_eq!(scans("SELECT COUNT(*), MEDIAN(x) FROM t"), (2, true));
}

/// More groups of a person than the native operators hold are bounded by built-in ones, for which the verifier has rules; what the limits cut is then not estimated.
#[test]
fn many_groups_of_a_person_are_verified() {
    for (groups, estimated) in [
        (4, true),
        (100, true),
        (127, true),
        (128, false),
        (255, false),
        (300, false),
    ] {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = {groups}, max_rows_contributed = 3) \
             y, COUNT(*), SUM(x) AS total FROM t GROUP BY y"
        );
        assert_eq!(scans(&sql).1, estimated, "{groups}");
    }
}
