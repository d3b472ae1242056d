use super::{GroupSelection, Read, SelectOptions, marker_functions, read};
use crate::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::cast::as_int64_array;
use datafusion::datasource::empty::EmptyTable;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement as EngineStatement;
use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use proptest::prelude::*;
use std::sync::Arc;

fn written(sql: &str) -> String {
    read(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .query
        .to_string()
}

fn refusal(sql: &str) -> String {
    match read(sql) {
        Err(error @ (Error::Refused { .. } | Error::Syntax { .. })) => error.to_string(),
        Err(other) => panic!("{sql}: {other}"),
        Ok(read) => panic!("{sql} was read as {}", read.query),
    }
}

fn options(sql: &str) -> Vec<SelectOptions> {
    read(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).selects
}

#[test]
fn queries_are_rewritten() {
    let table = [
        // Options become a conjunct.
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) FROM t",
            "SELECT COUNT(*) FROM t WHERE __deniable_select(0)",
        ),
        (
            "select with differential_privacy x from t where a or b",
            "SELECT x FROM t WHERE __deniable_select(0) AND (a OR b)",
        ),
        (
            "WITH c AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) x FROM t) SELECT y, (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=2) z FROM u) FROM c",
            "WITH c AS (SELECT x FROM t WHERE __deniable_select(0)) SELECT y, (SELECT z FROM u WHERE __deniable_select(1)) AS \"(SELECT z FROM u)\" FROM c",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY a FROM t UNION ALL SELECT b FROM u",
            "SELECT a FROM t WHERE __deniable_select(0) UNION ALL SELECT b FROM u",
        ),
        (
            "SELECT /* why */ WITH -- so\n DIFFERENTIAL_PRIVACY OPTIONS /* */ ( ) a FROM t",
            "SELECT a FROM t WHERE __deniable_select(0)",
        ),
        // Words inside strings, names and comments are not the clause.
        (
            "SELECT 'SELECT WITH DIFFERENTIAL_PRIVACY', \"SELECT WITH\" FROM t -- SELECT WITH DIFFERENTIAL_PRIVACY",
            "SELECT 'SELECT WITH DIFFERENTIAL_PRIVACY', \"SELECT WITH\" FROM t",
        ),
        (
            "WITH differential_privacy AS (SELECT 1) SELECT * FROM differential_privacy",
            "WITH differential_privacy AS (SELECT 1) SELECT * FROM differential_privacy",
        ),
        // Bounds.
        (
            "SELECT SUM(x, contribution_bounds_per_group => (0, 100)) AS s FROM t",
            "SELECT SUM(__deniable_per_group(x, 0, 100)) AS s FROM t",
        ),
        (
            "SELECT avg(x + 1, contribution_bounds_per_row => (-1.5, +2e3)) AS s FROM t",
            "SELECT avg(__deniable_per_row(x + 1, -1.5, +2e3)) AS s FROM t",
        ),
        (
            "SELECT COUNT(*, contribution_bounds_per_group => (0, 5)) AS n FROM t",
            "SELECT COUNT(__deniable_per_group(1, 0, 5)) AS n FROM t",
        ),
        (
            "SELECT VAR_SAMP(x, contribution_bounds_per_group => (0, 9), contribution_bounds_per_row => (1, 2)) AS v FROM t",
            "SELECT VAR_SAMP(__deniable_per_group(__deniable_per_row(x, 1, 2), 0, 9)) AS v FROM t",
        ),
        (
            "SELECT STDDEV_POP(DISTINCT x, contribution_bounds_per_row => (1, 1)) FILTER (WHERE y) AS v FROM t HAVING SUM(z, contribution_bounds_per_row => (0, 1)) > 3",
            "SELECT STDDEV_POP(DISTINCT __deniable_per_row(x, 1, 1)) FILTER (WHERE y) AS v FROM t HAVING SUM(__deniable_per_row(z, 0, 1)) > 3",
        ),
        (
            "SELECT SUM(x, contribution_bounds_per_group => (0, 100)) FROM t",
            "SELECT SUM(__deniable_per_group(x, 0, 100)) AS \"SUM(x, contribution_bounds_per_group => (0, 100))\" FROM t",
        ),
        // Quantiles.
        (
            "SELECT PERCENTILE_CONT(x, 0.25) AS q FROM t",
            "SELECT __deniable_quantile(x, 0.25) AS q FROM t",
        ),
        (
            "SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY x) AS q FROM t",
            "SELECT __deniable_quantile(x, 0.25) AS q FROM t",
        ),
        (
            "SELECT QUANTILE(x, 1) AS q, APPROX_PERCENTILE_CONT(y, 0) FILTER (WHERE z) AS r FROM t",
            "SELECT __deniable_quantile(x, 1) AS q, __deniable_quantile(y, 0) FILTER (WHERE z) AS r FROM t",
        ),
        (
            "SELECT PERCENTILE_CONT(x, 0.5, contribution_bounds_per_row => (0, 9)) AS q FROM t",
            "SELECT __deniable_quantile(__deniable_per_row(x, 0, 9), 0.5) AS q FROM t",
        ),
        (
            "SELECT APPROX_QUANTILES(x, 4)[OFFSET(1)] AS a, APPROX_QUANTILES(x, 4)[2] AS b, APPROX_QUANTILES(x, 3)[ORDINAL(2)] + 1 AS c FROM t",
            "SELECT __deniable_quantile(x, 0.25) AS a, __deniable_quantile(x, 0.5) AS b, __deniable_quantile(x, 0.3333333333333333) + 1 AS c FROM t",
        ),
        (
            "SELECT k, APPROX_QUANTILES(x, 2), APPROX_QUANTILES(y, 1) AS r FROM t",
            "SELECT k, __deniable_quantile(x, 0) AS q0, __deniable_quantile(x, 0.5) AS q1, __deniable_quantile(x, 1) AS q2, __deniable_quantile(y, 0) AS r_0, __deniable_quantile(y, 1) AS r_1 FROM t",
        ),
        (
            "SELECT MIN(x), MAX(x), MEDIAN(x) FROM t",
            "SELECT MIN(x), MAX(x), MEDIAN(x) FROM t",
        ),
        (
            "SELECT PERCENTILE_CONT(x, 0.5) OVER (PARTITION BY y) FROM t",
            "SELECT PERCENTILE_CONT(x, 0.5) OVER (PARTITION BY y) FROM t",
        ),
        // Names.
        (
            "SELECT ANON_COUNT(*) AS a, ANON_SUM(x, contribution_bounds_per_row => (0, 1)) AS b, ANON_AVG(x) AS c, MEAN(x) AS d, VARIANCE(x) AS e FROM t",
            "SELECT count(*) AS a, sum(__deniable_per_row(x, 0, 1)) AS b, avg(x) AS c, avg(x) AS d, var(x) AS e FROM t",
        ),
        (
            "SELECT SIGN(MOD(a + 1, b)) AS s, COUNTIF(x > 1) AS n FROM t",
            "SELECT signum(((a + 1) % (b))) AS s, count(CASE WHEN x > 1 THEN 1 END) AS n FROM t",
        ),
        (
            "SELECT MOD(a, b) FROM t",
            "SELECT ((a) % (b)) AS \"MOD(a, b)\" FROM t",
        ),
        // What users of PostgreSQL and BigQuery expect.
        (
            "SELECT `a b`, \"C\"::BIGINT FROM t WHERE a ILIKE 'x%' AND b IN (1, 2);",
            "SELECT `a b`, \"C\"::BIGINT FROM t WHERE a ILIKE 'x%' AND b IN (1, 2)",
        ),
        (
            "SELECT * FROM t JOIN (VALUES (1), (2)) AS v (x) ON t.x = v.x",
            "SELECT * FROM t JOIN (VALUES (1), (2)) AS v (x) ON t.x = v.x",
        ),
    ];
    for (sql, expected) in table {
        assert_eq!(written(sql), expected, "{sql}");
    }
}

#[test]
fn all_options_are_read() {
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1, delta=1e-10, max_groups_contributed = 3, max_rows_contributed=4,
        privacy_unit_column = T.\"User\", group_selection_strategy = public_groups, min_privacy_units_per_group = 20, unknown_values = TRUE) a FROM t";
    let expected = SelectOptions {
        epsilon: Some("0.1".into()),
        delta: Some("1e-10".into()),
        max_groups_contributed: Some(3),
        max_rows_contributed: Some(4),
        privacy_unit_column: Some(vec!["t".into(), "User".into()]),
        group_selection_strategy: Some(GroupSelection::PublicGroups),
        min_privacy_units_per_group: Some(20),
        cut_share: None,
        unknown_values: Some(true),
    };
    assert_eq!(options(sql), [expected]);
    assert_eq!(
        options(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy=LAPLACE_THRESHOLD) a FROM t"
        )[0]
        .group_selection_strategy,
        Some(GroupSelection::LaplaceThreshold)
    );
    // A column of that name, not the clause.
    assert_eq!(
        options("SELECT WITH DIFFERENTIAL_PRIVACY options FROM t"),
        [SelectOptions::default()]
    );
    assert_eq!(options("SELECT 1"), []);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let table = [
        ("", "there is no query"),
        ("  ; ", "there is no query"),
        ("-- nothing", "there is no query"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("SELECT 1; DROP TABLE t", "more than one statement"),
        ("COPY t TO 'file'", "COPY is none"),
        ("CREATE TABLE a AS SELECT 1", "CREATE is none"),
        ("INSERT INTO t VALUES (1)", "INSERT is none"),
        ("SET x = 1", "SET is none"),
        ("DROP TABLE t", "DROP is none"),
        ("VALUES (1)", "VALUES is none"),
        ("SELECT 1 UNION VALUES (1)", "VALUES and TABLE are not queries"),
        (
            "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
            "would change data",
        ),
        ("SELECT * INTO u FROM t", "would change data"),
        ("EXPLAIN SELECT 1", "deniable explain"),
        ("SELECT 'abc", "not SQL"),
        ("SELECT SELECT FROM", "not SQL"),
        ("SELECT FROM t", "without columns"),
        ("SELECT __deniable_select(1) FROM t", "belongs to Deniable"),
        ("SELECT \"__Deniable_x\" FROM t", "belongs to Deniable"),
        ("SELECT x AS __deniable FROM t", "belongs to Deniable"),
        ("SELECT x AS '__deniable' FROM t", "belongs to Deniable"),
        (
            "SELECT WITH FROM t",
            "after SELECT WITH comes DIFFERENTIAL_PRIVACY",
        ),
        (
            "SELECT WITH \"DIFFERENTIAL_PRIVACY\" a FROM t",
            "after SELECT WITH comes DIFFERENTIAL_PRIVACY",
        ),
        (
            "SELECT WITH ANONYMIZATION OPTIONS(epsilon=1) a FROM t",
            "older spelling",
        ),
        (
            "SELECT DISTINCT WITH DIFFERENTIAL_PRIVACY a FROM t",
            "order of words",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY DISTINCT a FROM t",
            "use GROUP BY",
        ),
        ("SELECT WITH DIFFERENTIAL_PRIVACY AS STRUCT a FROM t", "not SQL"),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(kappa=1) a FROM t",
            "no option kappa",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, epsilon=1) a FROM t",
            "epsilon is given twice",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=-1) a FROM t",
            "epsilon is a number",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon='1') a FROM t",
            "epsilon is a number",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon 1) a FROM t",
            "comes =",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1",
            "end with a parenthesis",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=0) a FROM t",
            "at least 1",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=1.5) a FROM t",
            "at least 1",
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy=MAYBE) a FROM t",
            "LAPLACE_THRESHOLD or PUBLIC_GROUPS",
        ),
        ("SELECT a AS select WITH DIFFERENTIAL_PRIVACY x FROM t", "not SQL"),
        (
            "SELECT SUM(x, contribution_bounds_per_group => (1, 0)) FROM t",
            "two numbers in order",
        ),
        (
            "SELECT SUM(x, contribution_bounds_per_group => (0, y)) FROM t",
            "two numbers in order",
        ),
        (
            "SELECT SUM(x, contribution_bounds_per_group => 5) FROM t",
            "two numbers in order",
        ),
        (
            "SELECT SUM(x, contribution_bounds_per_group := (0, 1)) FROM t",
            "two numbers in order",
        ),
        (
            "SELECT SUM(contribution_bounds_per_group => (0, 1)) FROM t",
            "two numbers in order",
        ),
        (
            "SELECT SUM(*, contribution_bounds_per_group => (0, 1)) FROM t",
            "two numbers in order",
        ),
        (
            "SELECT SUM(x, contribution_bounds_per_group => (0, 1), contribution_bounds_per_group => (0, 1)) FROM t",
            "given twice",
        ),
        ("SELECT SUM(x, clamp => (0, 1)) FROM t", "no argument named clamp"),
        (
            "SELECT lower(x, contribution_bounds_per_row => (0, 1)) FROM t",
            "no meaning in a call of LOWER",
        ),
        ("SELECT PERCENTILE_CONT(x, 1.5) FROM t", "from 0 to 1"),
        ("SELECT PERCENTILE_CONT(x, y) FROM t", "from 0 to 1"),
        ("SELECT PERCENTILE_CONT(x) FROM t", "a value and a fraction"),
        (
            "SELECT PERCENTILE_CONT(DISTINCT x, 0.5) FROM t",
            "neither DISTINCT",
        ),
        (
            "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x DESC) FROM t",
            "ascending",
        ),
        ("SELECT APPROX_QUANTILES(x, 0) FROM t", "from 1 to 1000"),
        ("SELECT APPROX_QUANTILES(x, 4)[OFFSET(5)] FROM t", "no element 5"),
        ("SELECT APPROX_QUANTILES(x, 4)[OFFSET(y)] FROM t", "has a number"),
        ("SELECT 1 + APPROX_QUANTILES(x, 4) FROM t", "room for one"),
        ("FROM t |> WHERE x", "pipe"),
    ];
    for (sql, part) in table {
        let refusal = refusal(sql);
        assert!(refusal.contains(part), "{sql}: {refusal}");
        assert!(refusal.contains("hint: "), "{sql}: {refusal}");
    }
}

/// Whatever is read is walked, planned and dropped on a small stack.
#[test]
fn depth_does_not_overflow_the_stack() {
    // Unoptimised frames are several times larger than those of a release, so this thread has several times a main thread's stack.
    let body = std::thread::Builder::new()
        .stack_size(32 << 20)
        .spawn(deep_queries)
        .unwrap();
    body.join().unwrap();
}

/// Each level of these is read twice by the parser, so that forty of them would take years: they are refused by their tokens.
#[test]
fn reading_takes_time_in_proportion_to_the_text() {
    let nested = |open: &str, times: usize, close: &str| {
        format!("SELECT {}1{}", open.repeat(times), close.repeat(times))
    };
    for (open, close) in [
        ("position(", ")"),
        ("CAST(", ")"),
        ("TRIM( ", ")"),
        ("CASE WHEN ", ""),
        ("(", ")"),
        ("NOT (", ")"),
    ] {
        let refused = read(&nested(open, 40, close)).err().unwrap().to_string();
        assert!(refused.contains("nests too deeply"), "{open}: {refused}");
        // What people write is read, or is a mistake that is found at once.
        if let Err(error) = read(&nested(open, 8, close)) {
            assert!(!error.to_string().contains("nests too deeply"), "{open}");
        }
    }
    let joins = |times: usize| {
        format!(
            "SELECT 1 FROM {}(SELECT 1) a{}",
            "(".repeat(times),
            " JOIN b ON TRUE)".repeat(times)
        )
    };
    assert!(read(&joins(40)).is_err() && read(&joins(4)).is_ok());
    assert!(
        read(&format!(
            "SELECT position('a' IN s), {}1{}",
            "abs(".repeat(30),
            ")".repeat(30)
        ))
        .is_ok()
    );
}

fn deep_queries() {
    let repeated =
        |start: &str, link: &str, end: &str, times: usize| format!("{start}{}{end}", link.repeat(times));
    let shapes = |times| {
        [
            repeated("SELECT 1", " + 1", "", times),
            repeated("SELECT * FROM t WHERE a = 1", " OR a = 1", "", times),
            repeated("SELECT * FROM t WHERE a = 1", " AND a = 1", "", times),
            format!("SELECT {}1{}", "(".repeat(times), ")".repeat(times)),
            format!("SELECT {}1{}", "abs(".repeat(times), ")".repeat(times)),
            format!(
                "SELECT {}1{}",
                "CASE WHEN a THEN ".repeat(times),
                " END".repeat(times)
            ),
            format!(
                "SELECT * FROM {}t{}",
                "(SELECT * FROM ".repeat(times),
                ")".repeat(times)
            ),
            format!("SELECT * FROM {}t{}", "(".repeat(times), ")".repeat(times)),
            format!(
                "SELECT CAST(a AS {}INT{}) FROM t",
                "ARRAY<".repeat(times),
                ">".repeat(times)
            ),
            format!("SELECT CAST(a AS INT{}) FROM t", "[]".repeat(times)),
            repeated("SELECT ", "NOT ", "TRUE", times),
            repeated("SELECT ", "- ", "1", times),
            repeated("SELECT a", "::INT", " FROM t", times),
            repeated("SELECT a", "[1]", " FROM t", times),
            repeated("SELECT a", ".b", " FROM t", times),
            repeated("SELECT a", " IS NULL", " FROM t", times),
            repeated("SELECT a", " COLLATE x", " FROM t", times),
            repeated("SELECT a", " AT TIME ZONE 'x'", " FROM t", times),
            repeated("SELECT a", " BETWEEN 1 AND 2", " FROM t", times),
            repeated("SELECT 1", " UNION SELECT 1", "", times),
            repeated("SELECT 1 FROM t", ", t", "", times),
            repeated("SELECT 1 FROM t", " CROSS JOIN t", "", times),
            repeated("WITH a AS (SELECT 1)", ", a AS (SELECT 1)", " SELECT 1", times),
            repeated("SELECT 1", ", 1", "", times),
            repeated("SELECT ", "SELECT WITH DIFFERENTIAL_PRIVACY ", "1", times),
            "(".repeat(times),
            "SELECT ".repeat(times),
            "SELECT CASE ".repeat(times),
        ]
    };
    for times in [40, 100, 450, 501, 20_000] {
        for sql in shapes(times) {
            if let Ok(read) = read(&sql) {
                drop((read.query.clone(), read.query.to_string()));
            }
        }
    }
    // The limits are not so tight that nothing is read, nor so wide that the engine's planner has to nest too deeply.
    for sql in &shapes(450)[..3] {
        plan(&engine(), sql);
    }
    assert!(read(&shapes(40)[4]).is_ok());
}

fn engine() -> SessionContext {
    let context = SessionContext::new();
    let (scalars, aggregates) = marker_functions();
    scalars
        .into_iter()
        .for_each(|function| context.register_udf(function));
    aggregates
        .into_iter()
        .for_each(|function| context.register_udaf(function));
    let fields = ["a", "x", "y"].map(|name| Field::new(name, DataType::Float64, true));
    let table = EmptyTable::new(Arc::new(Schema::new(fields.to_vec())));
    context.register_table("t", Arc::new(table)).unwrap();
    context
}

fn plan(context: &SessionContext, sql: &str) -> LogicalPlan {
    let Read { query, .. } = read(sql).unwrap();
    let statement = EngineStatement::Statement(Box::new(Statement::Query(query)));
    runtime()
        .block_on(context.state().statement_to_plan(statement))
        .unwrap()
}

fn collect(context: &SessionContext, sql: &str) -> datafusion::common::Result<Vec<RecordBatch>> {
    let plan = plan(context, sql);
    runtime().block_on(async { context.execute_logical_plan(plan).await?.collect().await })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

#[test]
fn the_engine_plans_markers() {
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) x, COUNT(*, contribution_bounds_per_group => (0, 3)) AS n,
        SUM(y, contribution_bounds_per_row => (0, 1)) AS s, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY y) AS q FROM t WHERE y > 0 GROUP BY x";
    insta::assert_snapshot!(plan(&engine(), sql).display_indent(), @r"
    Projection: t.x, count(__deniable_per_group(Int64(1),Int64(0),Int64(3))) AS n, sum(__deniable_per_row(t.y,Int64(0),Int64(1))) AS s, __deniable_quantile(t.y,Float64(0.5)) AS q
      Aggregate: groupBy=[[t.x]], aggr=[[count(__deniable_per_group(Int64(1), Int64(0), Int64(3))), sum(__deniable_per_row(t.y, Int64(0), Int64(1))), __deniable_quantile(t.y, Float64(0.5))]]
        Filter: __deniable_select(Int64(0)) AND t.y > Int64(0)
          TableScan: t
    ");
    // Left in a plan, a marker fails.
    for sql in [
        "SELECT WITH DIFFERENTIAL_PRIVACY 1",
        "SELECT QUANTILE(x, 0.5) FROM t",
    ] {
        let error = collect(&engine(), sql).unwrap_err();
        assert!(error.to_string().contains("left in a plan"), "{error}");
    }
}

#[test]
fn width_bucket_runs_over_public_rows() {
    let sql = "SELECT width_bucket(x, 0, 10, 4) AS b FROM (VALUES (-1.0), (0.0), (2.4), (2.5), (9.99), (10.0), (NULL)) AS v (x)";
    let batches = collect(&engine(), sql).unwrap();
    let buckets = as_int64_array(batches[0].column(0))
        .unwrap()
        .iter()
        .collect::<Vec<_>>();
    assert_eq!(
        buckets,
        [Some(0), Some(1), Some(1), Some(2), Some(4), Some(5), None]
    );
}

/// Queries without a word of the private dialect.
fn plain() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("a".to_string()),
        Just("t.\"B c\"".to_string()),
        Just("`d`".to_string()),
        any::<i32>().prop_map(|value| value.to_string()),
        "'[a-zA-Z()% ]{0,12}'",
        Just("NULL".to_string()),
    ];
    let value = value.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), "[-+*/%=<>]| AND | OR |\\|\\|", inner.clone())
                .prop_map(|(a, o, b)| format!("({a} {o} {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("CASE WHEN {a} THEN {b} END")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("coalesce({a}, {b})")),
            inner.clone().prop_map(|a| format!("CAST({a} AS BIGINT)")),
            inner.clone().prop_map(|a| format!("sum({a})")),
            inner.clone().prop_map(|a| format!("{a}::TEXT")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{a} IN ({b}, 1)")),
        ]
    });
    let from = prop_oneof![
        Just("t"),
        Just("t JOIN u ON t.a = u.a"),
        Just("(SELECT a FROM t) AS s"),
        Just("t, u"),
    ];
    let select = (
        prop::collection::vec(value.clone(), 1..4),
        from,
        value.clone(),
        value,
    )
        .prop_map(|(mut items, from, filter, group)| {
            // Columns of the same name get names of their own, so these queries have none.
            items.sort();
            items.dedup();
            format!(
                "SELECT {} FROM {from} WHERE {filter} GROUP BY {group}",
                items.join(", ")
            )
        });
    prop_oneof![
        select.clone(),
        (select.clone(), select.clone()).prop_map(|(a, b)| format!("{a} UNION ALL {b}")),
        (select.clone(), select).prop_map(|(a, b)| format!("WITH c AS ({a}) {b} ORDER BY 1 LIMIT 5")),
    ]
}

/// Words and signs of the dialect in any order.
fn jumble() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "SELECT|WITH|DIFFERENTIAL_PRIVACY|OPTIONS|FROM|WHERE|GROUP BY|CASE|WHEN|THEN|END|AS|UNION|DISTINCT|NOT|OVER|WITHIN GROUP|ORDER BY",
        "epsilon|=|,|\\(|\\)|\\[|\\]|=>|0\\.5|1|'a'|\"q\"|`b`|--|/\\*|\\*/|;|\\.|::|\\+|-|\\*",
        "SUM\\(|COUNT\\(\\*|PERCENTILE_CONT\\(|APPROX_QUANTILES\\(x, 4\\)|\\[OFFSET\\(|contribution_bounds_per_row => \\(0, 1\\)|x|t",
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plain_queries_pass_unchanged(sql in plain()) {
        let expected = Parser::parse_sql(&GenericDialect, &sql).unwrap();
        let read = read(&sql).unwrap();
        prop_assert_eq!(&[Statement::Query(read.query)][..], &expected[..]);
        prop_assert!(read.selects.is_empty());
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}", any in any::<String>(), jumble in jumble()) {
        for sql in [text.clone(), any, format!("SELECT {text}"), jumble.clone(), format!("SELECT {jumble}")] {
            if let Err(error) = read(&sql) {
                prop_assert!(error.to_string().contains("hint: "));
            }
        }
    }
}

/// The engine's planner panics at some decimals that cannot be.
#[test]
fn decimals_that_cannot_be_are_refused() {
    for size in [
        "76, -76",
        "2, -1",
        "3, 4",
        "0",
        "39",
        "77, 2",
        "18446744073709551615",
    ] {
        for name in ["NUMERIC", "DECIMAL", "DEC"] {
            let refused = refusal(&format!("SELECT CAST(SUM(x) AS {name}({size})) FROM t"));
            assert!(refused.contains("a decimal has 1 to 38 digits"), "{refused}");
            assert!(refused.contains("hint:"), "{refused}");
        }
    }
    for size in ["", "(1)", "(38)", "(38, 38)", "(12, 2)"] {
        written(&format!("SELECT SUM(x)::NUMERIC{size} FROM t"));
    }
}
