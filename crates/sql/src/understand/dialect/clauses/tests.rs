use crate::Error;
use crate::understand::dialect::read;

/// Each was answered once as if the clause were not there, or would be refused by the planner without a hint.
#[test]
fn what_would_be_ignored_is_refused() {
    let queries = [
        ("SELECT COUNT(*) FROM t TABLESAMPLE (10 PERCENT)", "TABLESAMPLE"),
        (
            "SELECT COUNT(*) FROM t AS s TABLESAMPLE SYSTEM (10) REPEATABLE (1)",
            "TABLESAMPLE",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT x FROM t) AS s TABLESAMPLE BERNOULLI (10)",
            "TABLESAMPLE",
        ),
        (
            "SELECT COUNT(*) FROM u JOIN t TABLESAMPLE SYSTEM (1) ON t.x = u.x",
            "TABLESAMPLE",
        ),
        (
            "SELECT COUNT(*) FROM u WHERE x IN (SELECT x FROM t TABLESAMPLE SYSTEM (1))",
            "TABLESAMPLE",
        ),
        ("SELECT COUNT(*) FROM t FOR UPDATE", "FOR UPDATE"),
        ("SELECT COUNT(*) FROM t FOR SHARE OF t SKIP LOCKED", "FOR UPDATE"),
        (
            "SELECT n FROM (SELECT COUNT(*) AS n FROM t FOR UPDATE) AS s",
            "FOR UPDATE",
        ),
        (
            "WITH s AS (SELECT COUNT(*) AS n FROM t FOR UPDATE) SELECT n FROM s",
            "FOR UPDATE",
        ),
        ("SELECT COUNT(*) FROM t FOR JSON AUTO", "FOR XML, FOR JSON"),
        ("SELECT COUNT(*) FROM t SETTINGS max_threads = 1", "SETTINGS"),
        ("SELECT COUNT(*) FROM t FORMAT JSON", "FORMAT"),
        ("SELECT x FROM t FETCH FIRST 3 ROWS WITH TIES", "FETCH"),
        ("SELECT x FROM t LIMIT 3 BY x", "LIMIT … BY"),
        ("SELECT TOP 3 x FROM t", "TOP"),
        ("SELECT COUNT(*) FROM t PREWHERE x > 1 WHERE y > 1", "PREWHERE"),
        (
            "SELECT x FROM t START WITH x = 1 CONNECT BY PRIOR x = y",
            "CONNECT BY",
        ),
        ("SELECT x, COUNT(*) FROM t GROUP BY x WITH ROLLUP", "WITH ROLLUP"),
        ("SELECT x, COUNT(*) FROM t GROUP BY x WITH CUBE", "WITH ROLLUP"),
        ("SELECT x, COUNT(*) FROM t GROUP BY x WITH TOTALS", "WITH ROLLUP"),
        (
            "SELECT x, COUNT(*) FROM t GROUP BY ALL WITH TOTALS",
            "WITH ROLLUP",
        ),
        ("SELECT x FROM t CLUSTER BY x", "CLUSTER BY"),
        ("SELECT x FROM t DISTRIBUTE BY x", "DISTRIBUTE BY"),
        ("SELECT x FROM t SORT BY x", "SORT BY"),
        ("SELECT x FROM t LATERAL VIEW explode(y) z AS w", "LATERAL VIEW"),
        ("SELECT x FROM t ORDER BY SUM(x) OVER w", "there is no window w"),
        ("SELECT SUM(x) OVER (w ORDER BY y) FROM t", "there is no window w"),
        ("SELECT x FROM t ORDER BY x WITH FILL FROM 1 TO 3", "WITH FILL"),
        (
            "SELECT x FROM t ORDER BY x INTERPOLATE (x AS x + 1)",
            "INTERPOLATE",
        ),
        ("SELECT x FROM t GLOBAL JOIN u ON t.x = u.x", "GLOBAL"),
        ("SELECT x FROM (t GLOBAL JOIN u ON t.x = u.x)", "GLOBAL"),
        ("SELECT x FROM t WITH (NOLOCK)", "WITH (…)"),
        ("SELECT x FROM t PARTITION (p0)", "PARTITION"),
        (
            "SELECT * FROM generate_series(1, 3) WITH ORDINALITY",
            "WITH ORDINALITY",
        ),
        (
            "SELECT * FROM t, LATERAL f(t.x) AS s",
            "a function that returns a table",
        ),
        ("SELECT * FROM UNNEST([1, 2]) WITH OFFSET AS o", "WITH OFFSET"),
        (
            "SELECT * FROM t AS s (x INT, y INT)",
            "a type in the list of names",
        ),
        ("SELECT * FROM t PIVOT (SUM(x) FOR y IN ('a', 'b'))", "PIVOT"),
        ("SELECT x FROM t UNION TABLE u", "TABLE"),
        ("SELECT quantile(0.5)(x) FROM t", "two lists of arguments"),
        ("SELECT ARRAY(SELECT x FROM t) FROM t", "a query as the argument"),
        (
            "SELECT COUNT(*) FROM t WHERE abs(x) FILTER (WHERE y) > 1",
            "ABS is no aggregate",
        ),
        ("SELECT upper(DISTINCT x) FROM t", "UPPER is no aggregate"),
        (
            "SELECT SUM(abs(x) OVER (PARTITION BY y)) FROM t",
            "ABS is no aggregate",
        ),
        ("SELECT MOD(DISTINCT x, y) FROM t", "MOD is no aggregate"),
        (
            "SELECT lower(x) WITHIN GROUP (ORDER BY y) FROM t",
            "LOWER is no aggregate",
        ),
        (
            "SELECT PERCENTILE_CONT(x, 0.5) IGNORE NULLS FROM t",
            "IGNORE NULLS",
        ),
        (
            "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x NULLS FIRST) FROM t",
            "NULLS FIRST",
        ),
        (
            "SELECT APPROX_QUANTILES(x, 4) WITHIN GROUP (ORDER BY y) FROM t",
            "WITHIN GROUP",
        ),
    ];
    let mut wrong = Vec::new();
    for (sql, named) in queries {
        match read(sql) {
            Err(error @ Error::Refused { .. }) if error.to_string().contains(named) => {
                assert!(error.to_string().contains("\nhint: "), "{sql}: {error}");
            }
            Err(error) => wrong.push(format!("{sql}: {error}")),
            Ok(read) => wrong.push(format!("{sql} was read as {}", read.query)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_planned_or_changes_nothing_is_read() {
    for sql in [
        "SELECT /*+ PARALLEL(4) */ COUNT(*) FROM t",
        "SELECT x FROM t ORDER BY x DESC NULLS LAST LIMIT 3 OFFSET 2 ROWS",
        "SELECT x FROM t UNION ALL SELECT x FROM u ORDER BY 1",
        "SELECT s.y FROM t AS s (x, y) JOIN (SELECT z FROM u) AS r ON s.x = r.z",
        "SELECT SUM(x) FILTER (WHERE y), COUNT(DISTINCT x), stddev_pop(ALL x), row_number() OVER (ORDER BY x) FROM t",
        "SELECT first_value(x) IGNORE NULLS OVER (ORDER BY y), string_agg(x, ',' ORDER BY x) FROM t",
        "SELECT COUNTIF(x > 1) FILTER (WHERE y), ANON_SUM(DISTINCT x), QUANTILE(x, 0.5) FILTER (WHERE y) FROM t",
        "SELECT current_date, {fn abs(x)} FROM t",
        "SELECT x FROM t GROUP BY ALL HAVING COUNT(*) > 3 QUALIFY row_number() OVER (ORDER BY x) < 3",
        "SELECT DISTINCT ON (x) x, y FROM t",
    ] {
        if let Err(error) = read(sql) {
            panic!("{sql}: {error}");
        }
    }
}
