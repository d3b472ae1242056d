//! Which questions are the same: those that release the same, however they are written.

use super::movement::question;
use super::neighbours::{QUERIES, catalog};
use std::collections::BTreeMap;

/// Groups of questions; within a group all are the same, and no two of different groups are.
const GROUPS: &[&[&str]] = &[
    &[
        "SELECT COUNT(*) FROM t",
        "select count(1) from t",
        "SELECT COUNT(*) AS n FROM t AS a",
        "SELECT COUNT(2) FROM (SELECT * FROM t) AS inner_one",
        "SELECT COUNT(*) FROM (SELECT u, x AS other FROM t ORDER BY x) AS s",
        "SELECT COUNT(*) + 1 AS more FROM t ORDER BY more",
        "SELECT n FROM (SELECT COUNT(*) AS n FROM t) AS s WHERE n > 5",
        "SELECT COUNT(*), COUNT(*) AS again FROM t",
    ],
    &[
        "SELECT COUNT(*) FROM t WHERE x > 1 AND g = 'a'",
        "SELECT COUNT(*) FROM t WHERE g = 'a' AND x > 1",
        "SELECT COUNT(*) FROM t AS b WHERE 'a' = b.g AND 1 < b.x AND b.x > 1",
        "SELECT COUNT(*) FROM (SELECT x AS y, g AS k FROM t WHERE g = 'a') AS s WHERE y > 1",
        "WITH s AS (SELECT * FROM t WHERE x > 1) SELECT COUNT(1) FROM s WHERE s.g IN ('a')",
    ],
    &["SELECT COUNT(*) FROM t WHERE x > 1 OR g = 'a'"],
    &["SELECT COUNT(*) FROM t WHERE x > 1 AND g = 'b'"],
    &["SELECT COUNT(*) FROM t WHERE x >= 1 AND g = 'a'"],
    &[
        "SELECT COUNT(*) FROM t WHERE x < 1 AND g = 'a'",
        "SELECT COUNT(*) FROM t WHERE 1 > x AND g = 'a'",
    ],
    &["SELECT COUNT(*) FROM t WHERE y > 1 AND g = 'a'"],
    &["SELECT COUNT(*) FROM own WHERE x > 1 AND g = 'a'"],
    &["SELECT COUNT(*) FROM t WHERE x > 1 AND (g = 'a' OR y = 1)"],
    &["SELECT COUNT(*) FROM t WHERE (x > 1 AND g = 'a') OR y = 1"],
    &["SELECT COUNT(*) FROM t WHERE g = 'NULL'"],
    &["SELECT COUNT(*) FROM t WHERE g = NULL"],
    &[
        "SELECT COUNT(*) FROM t WHERE x BETWEEN 1 AND 3",
        "SELECT COUNT(*) FROM t WHERE x <= 3 AND x >= 1",
    ],
    &[
        "SELECT COUNT(*) FROM t WHERE x NOT BETWEEN 1 AND 3",
        "SELECT COUNT(*) FROM t WHERE x > 3 OR x < 1",
        "SELECT COUNT(*) FROM t WHERE NOT (x BETWEEN 1 AND 3)",
        "SELECT COUNT(*) FROM t WHERE NOT (x >= 1 AND x <= 3)",
    ],
    &[
        "SELECT COUNT(*) FROM t WHERE g IN ('a', 'b')",
        "SELECT COUNT(*) FROM t WHERE g IN ('b', 'a', 'b')",
        "SELECT COUNT(*) FROM t WHERE g = 'b' OR g = 'a'",
        "SELECT COUNT(*) FROM t WHERE NOT (g <> 'b' AND 'a' <> g)",
        "SELECT COUNT(*) FROM t WHERE NOT g NOT IN ('a', 'b')",
        "SELECT COUNT(*) FROM t WHERE g = ANY (ARRAY['a', 'b'])",
    ],
    &[
        "SELECT COUNT(*) FROM t WHERE g NOT IN ('a', 'b')",
        "SELECT COUNT(*) FROM t WHERE g <> 'a' AND g <> 'b'",
        "SELECT COUNT(*) FROM t WHERE NOT (g = 'a' OR g IN ('b'))",
        "SELECT COUNT(*) FROM t WHERE NOT g IN ('a', 'b')",
    ],
    &[
        "SELECT COUNT(*) FROM t WHERE g IN ('a', 'b', 'c')",
        "SELECT COUNT(*) FROM t WHERE g = 'c' OR g IN ('a', 'b')",
    ],
    // Three values of several types are compared as floats, which two integers are not.
    &["SELECT COUNT(*) FROM t WHERE y BETWEEN 9007199254740993 AND 1e17"],
    &["SELECT COUNT(*) FROM t WHERE y >= 9007199254740993 AND y <= 1e17"],
    &["SELECT COUNT(*) FROM t WHERE y NOT BETWEEN 9007199254740993 AND 1e17"],
    // The same words about other columns are another question.
    &[
        "SELECT COUNT(*) FROM (SELECT u, g AS k FROM t) AS s WHERE EXISTS (SELECT 1 FROM keyed WHERE keyed.g = s.k)",
    ],
    &[
        "SELECT COUNT(*) FROM (SELECT u, upper(g) AS k FROM t) AS s WHERE EXISTS (SELECT 1 FROM keyed WHERE keyed.g = s.k)",
    ],
    &[
        "SELECT COUNT(*) FROM t AS a JOIN own AS b ON a.u = b.u WHERE EXISTS (SELECT 1 FROM keyed WHERE keyed.g = a.g)",
    ],
    &[
        "SELECT COUNT(*) FROM t AS b JOIN own AS a ON a.u = b.u WHERE EXISTS (SELECT 1 FROM keyed WHERE keyed.g = a.g)",
    ],
    &[
        "SELECT COUNT(*) FROM (SELECT u, g AS k FROM t) AS s WHERE s.k IN (SELECT g FROM keyed WHERE keyed.g = s.k)",
    ],
    // Constants of several types are compared as floats, which single integers are not.
    &["SELECT COUNT(*) FROM t WHERE x IN (1, 2.5)"],
    &["SELECT COUNT(*) FROM t WHERE x = 1 OR x = 2.5"],
    &["SELECT COUNT(*) FROM t WHERE g IN ('a', NULL)"],
    &[
        "SELECT COUNT(*) FROM t WHERE x > y",
        "SELECT COUNT(*) FROM t WHERE NOT (x <= y)",
        "SELECT COUNT(*) FROM t WHERE NOT NOT y < x",
        "SELECT COUNT(*) FROM t WHERE NOT (y >= x)",
    ],
    &[
        "SELECT COUNT(*) FROM t WHERE x >= y",
        "SELECT COUNT(*) FROM t WHERE NOT x < y",
    ],
    &[
        "SELECT COUNT(*) FROM t WHERE x IS NOT NULL AND x IS DISTINCT FROM y",
        "SELECT COUNT(*) FROM t WHERE NOT (x IS NULL OR x IS NOT DISTINCT FROM y)",
    ],
    &["SELECT COUNT(*) FROM t WHERE (x > y) IS NOT TRUE"],
    &["SELECT COUNT(*) FROM t WHERE g IN ('a', 'c')"],
    &[
        "SELECT SUM(x + y * 2) FROM t",
        "SELECT SUM(2 * y + x) AS s FROM t AS q",
    ],
    &["SELECT SUM(x - y * 2) FROM t"],
    &["SELECT SUM(y * 2 - x) FROM t"],
    &[
        "SELECT SUM(x) FROM t",
        "SELECT SUM(s.z) FROM (SELECT x AS z FROM t) AS s",
    ],
    &["SELECT SUM(y) FROM t"],
    &[
        "SELECT AVG(x), COUNT(*) FROM t",
        "SELECT COUNT(1), AVG(x) FROM t",
        "SELECT AVG(x) / COUNT(*) AS r, COUNT(*) FROM t",
    ],
    &["SELECT AVG(x), COUNT(*), SUM(y) FROM t"],
    &[
        "SELECT g, COUNT(*) FROM t GROUP BY g",
        "SELECT COUNT(*) AS n, g AS k FROM t AS a GROUP BY a.g ORDER BY n DESC LIMIT 2",
        "SELECT g FROM t GROUP BY g HAVING COUNT(*) > 3",
    ],
    &[
        "SELECT g, o, COUNT(*) FROM t GROUP BY g, o",
        "SELECT COUNT(*), o, g FROM t GROUP BY o, g",
    ],
    &["SELECT g, COUNT(*) FROM t WHERE x > 1 GROUP BY g"],
    &["SELECT MEDIAN(x) FROM t", "SELECT PERCENTILE_CONT(x, 0.9) FROM t"],
    &[
        "SELECT COUNT(*) FROM t JOIN keyed ON t.g = keyed.g WHERE keyed.c = 'p'",
        "SELECT COUNT(*) FROM t AS a JOIN keyed AS b ON b.g = a.g WHERE 'p' = b.c",
    ],
    &["SELECT COUNT(*) FROM t LEFT JOIN keyed ON t.g = keyed.g WHERE keyed.c = 'p'"],
    &[
        "SELECT COUNT(*), SUM(a.x + b.y) FROM t AS a JOIN t AS b ON a.u = b.u",
        "SELECT COUNT(*), SUM(r.y + l.x) FROM t AS l JOIN t AS r ON r.u = l.u",
    ],
    &["SELECT COUNT(*), SUM(a.x + a.y) FROM t AS a JOIN t AS b ON a.u = b.u"],
    &[
        "SELECT AVG(m) FROM (SELECT u, g, MAX(x) AS m FROM t GROUP BY u, g) AS s",
        "SELECT AVG(top.best) FROM (SELECT MAX(x) AS best, g, u FROM t GROUP BY g, u) AS top",
    ],
    &["SELECT AVG(m) FROM (SELECT u, g, MIN(x) AS m FROM t GROUP BY u, g) AS s"],
    &["SELECT COUNT(*) FROM (SELECT u, g, MAX(x) AS m FROM t GROUP BY u, g) AS s"],
    &["SELECT COUNT(*) FROM (SELECT DISTINCT u, g FROM t) AS s"],
    &["SELECT COUNT(*) FROM (SELECT u, g FROM t UNION ALL SELECT u, g FROM own) AS s"],
    &["SELECT COUNT(*) FROM (SELECT u, g FROM t UNION ALL SELECT u, g FROM t) AS s"],
    &["SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) FROM t"],
    &["SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, max_rows_contributed = 1) COUNT(*) FROM t"],
];

#[test]
fn the_same_under_other_names_and_in_another_order_and_nothing_else() {
    let here = tempfile::tempdir().unwrap();
    let catalog = catalog(here.path(), "add_remove");
    let digest = |sql: &str| match question(sql, &catalog) {
        Ok(question) => question.digest(&catalog),
        Err(error) => panic!("{sql}: {error}"),
    };
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for group in GROUPS {
        let first = digest(group[0]);
        for sql in &group[1..] {
            assert_eq!(digest(sql), first, "{sql}\nis\n{}", group[0]);
        }
        if let Some(other) = seen.insert(first, group[0]) {
            panic!("{}\nis taken for\n{other}", group[0]);
        }
    }
}

/// No two of the questions that the other tests ask are taken for the same.
#[test]
fn questions_that_differ_are_reported_apart() {
    let here = tempfile::tempdir().unwrap();
    let catalog = catalog(here.path(), "add_remove");
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for sql in QUERIES {
        let digest = question(sql, &catalog).unwrap().digest(&catalog);
        if let Some(other) = seen.insert(digest, sql) {
            panic!("{sql}\nis taken for\n{other}");
        }
    }
}

/// A declared fact, a version or the price that differs makes another question; a remark or the place of the catalog does not.
#[test]
fn what_the_catalog_says_is_part_of_a_question_as_far_as_it_matters() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sql = "SELECT SUM(x) FROM t";
    let first = catalog(here.path(), "add_remove");
    let digest = |catalog: &crate::Catalog| question(sql, catalog).unwrap().digest(catalog);
    assert_eq!(digest(&first), digest(&catalog(there.path(), "add_remove")));
    assert_ne!(digest(&first), digest(&catalog(here.path(), "change_one")));
    let changed = |change: &dyn Fn(&mut crate::catalog::Table)| {
        let mut other = first.clone();
        change(other.tables.get_mut("t").unwrap());
        digest(&other)
    };
    let column = |name: &str, change: &dyn Fn(&mut crate::Facts)| {
        changed(&|table| {
            let facts = table.columns.iter_mut().find(|(column, _)| column == name);
            change(&mut facts.unwrap().1);
        })
    };
    let wider = |facts: &mut crate::Facts| facts.range = crate::Range::new(-1000.0, 1000.0);
    assert_ne!(digest(&first), column("x", &wider));
    assert_eq!(
        digest(&first),
        column("y", &wider),
        "a column that is not asked about"
    );
    assert_ne!(
        digest(&first),
        changed(&|table| table.version = Some("b".to_owned()))
    );
    let mut later = first.clone();
    later.data.word = "2".to_owned();
    assert_ne!(digest(&first), digest(&later));
}

/// How many numbers are noised.
#[test]
fn what_is_asked_twice_is_released_once() {
    let here = tempfile::tempdir().unwrap();
    let catalog = catalog(here.path(), "add_remove");
    let released = |sql: &str| -> Vec<usize> {
        let question = question(sql, &catalog).unwrap();
        let asked = question.prices.iter().take(question.visible);
        asked.map(|price| price.noise.len()).collect()
    };
    assert_eq!(released("SELECT COUNT(*), COUNT(1), COUNT(*) AS n FROM t"), [1]);
    assert_eq!(released("SELECT AVG(x), COUNT(x) FROM t"), [2]);
    assert_eq!(released("SELECT COUNT(y), AVG(y), VAR_POP(y) FROM t"), [3]);
    assert_eq!(released("SELECT AVG(x), COUNT(x) FROM own"), [2]);
    assert_eq!(released("SELECT SUM(x), AVG(x), COUNT(x) FROM own"), [2]);
    assert_eq!(
        released("SELECT (SELECT COUNT(*) FROM t AS a) AS one, (SELECT COUNT(1) FROM t AS b) AS other"),
        [1]
    );
    assert_eq!(
        released(
            "SELECT * FROM (SELECT COUNT(*) AS n FROM t) AS a CROSS JOIN (SELECT COUNT(*) AS m FROM t AS q) AS b"
        ),
        [1]
    );
    assert_eq!(released("SELECT COUNT(*), COUNT(DISTINCT u) FROM t"), [2]);
}
