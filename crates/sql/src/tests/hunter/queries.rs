//! Queries: those of known breaks, and generated ones.
//!
//! Every relation of a generated query has the same columns (u, x, y, s, d), so that relations nest in every way that the grammar has.

use super::Seeded;

/// Shapes in which private SQL was broken, and what is near to them.
pub(super) const KNOWN: &[&str] = &[
    // Signed zeros decide where a merge of two private tables goes on.
    "SELECT COUNT(*), SUM(a.x) FROM t a JOIN t b ON (CASE WHEN a.s = 'n9' THEN -0.0 ELSE 0.0 END) = (CASE WHEN b.x < 1 THEN -0.0 ELSE 0.0 END) AND a.u = b.u",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.u = b.u AND a.x * 0 = b.x * 0",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.x = b.x AND a.u = b.u AND a.s <> b.s",
    "SELECT COUNT(*) FROM t a LEFT JOIN t b ON a.u = b.u AND -a.x = b.x AND a.y < b.y WHERE b.u IS NULL",
    // Statistics and Bloom filters of a file leave values out.
    "SELECT COUNT(*) FROM t WHERE x > 5",
    "SELECT COUNT(*) FROM t WHERE x <> 1",
    "SELECT COUNT(*) FROM t WHERE NOT (x <= 5)",
    "SELECT COUNT(*) FROM t WHERE x IS DISTINCT FROM 1",
    "SELECT COUNT(*) FROM t WHERE x = 0.0",
    "SELECT COUNT(*) FROM t WHERE x >= 0.0 AND x <= 0.0",
    "SELECT COUNT(*) FROM t WHERE s = 'é' OR s = 'A'",
    "SELECT COUNT(*) FROM t WHERE d > DATE '2024-01-01'",
    "SELECT COUNT(*) FROM t WHERE y > 9 OR y < -9",
    "SELECT COUNT(*) FROM t JOIN p ON t.x = p.x",
    "SELECT p.s, COUNT(*), SUM(t.x) FROM t JOIN p ON t.x >= p.x AND t.y = p.y GROUP BY p.s",
    "SELECT COUNT(*) FROM t JOIN (SELECT x / 0.0 AS x, s || 'é' AS s FROM p) AS q ON t.x <> q.x OR t.s = q.s",
    "SELECT k.x, COUNT(*) FROM t JOIN k ON t.s = k.s GROUP BY k.x",
    // One person's rows, repeated and multiplied.
    "SELECT COUNT(*), SUM(n, contribution_bounds_per_row => (0, 9)) FROM (SELECT a.u AS u, COUNT(DISTINCT a.x + b.x) AS n FROM (SELECT u, x FROM t UNION ALL SELECT u, x FROM t UNION ALL SELECT u, y AS x FROM t) AS a JOIN (SELECT u, x FROM t UNION ALL SELECT u, -x AS x FROM t) AS b ON a.u = b.u GROUP BY a.u) AS q",
    "SELECT COUNT(DISTINCT s), COUNT(DISTINCT x), MEDIAN(x) FROM t",
    "SELECT s, COUNT(*), COUNT(DISTINCT x), AVG(x) FROM t GROUP BY s",
    "SELECT x, COUNT(*) FROM (SELECT DISTINCT u, x FROM t) AS q GROUP BY x",
    // Integers that are divided, also by zero, and that overflow.
    "SELECT CAST(y AS BIGINT) / 10 AS d, COUNT(*), SUM(CAST(x AS BIGINT) % CAST(y AS BIGINT), contribution_bounds_per_row => (-5, 9)) FROM t GROUP BY 1",
    "SELECT COUNT(*) FROM t WHERE 7 / CAST(y AS BIGINT) = 0 OR CAST(y AS BIGINT) * CAST(y AS BIGINT) IS NULL",
    "SELECT COUNT(*), SUM(m, contribution_bounds_per_row => (-10, 50)) FROM (SELECT u, MAX(x) AS m, MIN(-x) AS l, MAX(s) AS z FROM t GROUP BY u) AS q WHERE z < 'b' OR l < 0",
    // Sums of one person's values, which cancel and which do not fit.
    SUMMED,
    "SELECT COUNT(*) FROM (SELECT u, SUM(x * 0.1) AS s, AVG(x * 0.1) AS a, SUM(CAST(y AS BIGINT)) AS n FROM t GROUP BY u) AS q WHERE s > 0.3 OR a * 3 = s OR n > 9",
    "SELECT COUNT(*), SUM(n, contribution_bounds_per_row => (0, 9)) FROM (SELECT u, SUM(CAST(y AS BIGINT) * 4611686018427387904) AS n, SUM(CAST(y AS BIGINT)) AS m FROM t GROUP BY u) AS q WHERE m <> 7",
    "SELECT COUNT(*) FROM (SELECT u, x, AVG(x) OVER (PARTITION BY u) AS a FROM t) AS q WHERE x > a",
    // Joins with commas, and subqueries in conditions and as values.
    "SELECT COUNT(*), SUM(a.x) FROM t a, t b, p WHERE a.u = b.u AND p.y = a.y AND b.x * 0 = a.x * 0",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t b WHERE b.u = t.u AND b.x = -t.x AND b.s <> t.s)",
    "SELECT COUNT(*), SUM(x) FROM t WHERE x * 0 NOT IN (SELECT b.x FROM t b WHERE b.u = t.u AND b.y >= t.y)",
    "SELECT COUNT(*) FROM t WHERE s IN (SELECT s || 'é' FROM p) OR x NOT IN (SELECT x FROM p WHERE p.s < t.s)",
    "SELECT COUNT(*), SUM(y, contribution_bounds_per_row => (-5, 9)) FROM t WHERE (SELECT MAX(b.x) FROM t b WHERE b.u = t.u AND b.s = t.s) > x",
    "SELECT COUNT(*) FROM t WHERE u IN (SELECT u FROM t GROUP BY u HAVING COUNT(DISTINCT s) > 1)",
    // Windows over one person's rows, with ties.
    "SELECT COUNT(*), SUM(x) FROM (SELECT u, x, ROW_NUMBER() OVER (PARTITION BY u ORDER BY d) AS k FROM t) AS q WHERE k = 1",
    "SELECT COUNT(*), SUM(r, contribution_bounds_per_row => (-10, 50)) FROM (SELECT u, SUM(x) OVER (PARTITION BY u ORDER BY s ROWS 2 PRECEDING) AS r FROM t) AS q",
    "SELECT COUNT(*), COUNT(DISTINCT z) FROM (SELECT u, x, LAG(s) OVER (PARTITION BY u, y ORDER BY d DESC) AS z, RANK() OVER (PARTITION BY u ORDER BY x) AS k FROM t) AS q WHERE k > 1 AND x <> 0",
    "SELECT h, COUNT(*), SUM(p) FROM (SELECT u, NTILE(3) OVER (PARTITION BY u ORDER BY x) AS h, PERCENT_RANK() OVER (PARTITION BY u, s ORDER BY d) AS p, CUME_DIST() OVER (PARTITION BY u ORDER BY y DESC) AS c FROM t) AS q WHERE c > 0.2 GROUP BY h",
    // Counts that the query cuts itself; public rows that are kept, and some that the query writes.
    "SELECT COUNT(*), SUM(LEAST(n, 3)), SUM(m) FROM (SELECT u, COUNT(*) AS n, COUNT(DISTINCT s) AS m FROM t GROUP BY u) AS q WHERE m <= 2",
    "SELECT k.x, COUNT(t.u), SUM(t.x) FROM k LEFT JOIN t ON t.s = k.s AND t.y > 0 WHERE k.x < 40 GROUP BY k.x",
    "SELECT w.n, COUNT(*), COUNT(DISTINCT t.x) FROM t JOIN (VALUES ('a', 'é'), ('b', 'e'), ('b', 'é')) AS w (s, n) ON t.s = w.s GROUP BY w.n",
    "SELECT MEDIAN(LEAST(GREATEST(d, DATE '2000-01-01'), DATE '2030-12-31')), COUNT(*) FROM t WHERE EXTRACT(MONTH FROM age(d, DATE '2024-02-29')) > 3 OR EXTRACT(DECADE FROM d) = 202",
    // The first row of each person and value, and whether a condition holds in some rows of theirs, or in all.
    "SELECT s, COUNT(*), SUM(x) FROM (SELECT DISTINCT ON (u, s) u, s, x FROM t ORDER BY u, s, d DESC) AS q GROUP BY s",
    "SELECT COUNT(*) FROM (SELECT u, BOOL_OR(x > 1) AS a, BOOL_AND(y > 0) FILTER (WHERE s <> 'a') AS b FROM t GROUP BY u) AS q WHERE a AND b IS NOT FALSE",
    "SELECT MIN(LEAST(GREATEST(d, DATE '2000-01-01'), DATE '2030-12-31')), BOOL_OR(x > 5), BOOL_AND(s <> 'a') FROM t",
    "SELECT COUNT(*), SUM(t.x) FROM t JOIN generate_series(-2, 60) AS g ON t.y = g.g WHERE EXTRACT(YEAR FROM age(d, DATE '2024-02-29')) < 3",
    "SELECT CORR(x, y), REGR_SLOPE(x, y), MODE(CAST(y AS BIGINT) % 3) FROM (SELECT u, LEAST(GREATEST(x, -10), 50) AS x, LEAST(GREATEST(CAST(y AS BIGINT), -5), 9) AS y FROM t) AS q",
    "SELECT to_char(d, 'IYYY-IW Day') AS k, COUNT(*) FROM t WHERE date_bin(INTERVAL '7 days', d, DATE '2024-01-01') > TIMESTAMP '0001-01-02' GROUP BY k",
    "SELECT regexp_replace(s, '(.)', '\\1\\1', 'g') AS k, COUNT(*) FROM t WHERE s !~* '^[a-m]' GROUP BY k",
    GROWING,
];

/// Sums of large floats that cancel: in another order the sum is another one.
pub(super) const SUMMED: &str = "SELECT COUNT(*), SUM(s, contribution_bounds_per_row => (-10, 50)) FROM (SELECT u, SUM(x) AS s FROM t GROUP BY u) AS q";

/// A text that is sixteen times as long in every subquery, for people of one name.
pub(super) const GROWING: &str = "SELECT COUNT(*) FROM (SELECT u, MAX(s||s||s||s||s||s||s||s||s||s||s||s||s||s||s||s) AS s FROM \
(SELECT u, MAX(s||s||s||s||s||s||s||s||s||s||s||s||s||s||s||s) AS s FROM \
(SELECT u, MAX(s||s||s||s||s||s||s||s||s||s||s||s||s||s||s||s) AS s FROM \
(SELECT u, MAX(s||s||s||s||s||s||s||s||s||s||s||s||s||s||s||s) AS s FROM \
(SELECT u, MAX(s||s||s||s||s||s||s||s||s||s||s||s||s||s||s||s) AS s FROM \
(SELECT u, CASE WHEN s = 'n9' THEN 'xxxxxxxxxxxxxxxx' ELSE '' END AS s FROM t) AS a GROUP BY u) AS b GROUP BY u) AS c GROUP BY u) AS d GROUP BY u) AS e GROUP BY u) AS f WHERE character_length(s) >= 0";

const FLOATS: &[&str] = &["0.0", "-0.0", "1.0", "5", "50", "-3.25", "1e300", "0.1"];
const INTEGERS: &[&str] = &["0", "1", "-1", "5", "9223372036854775807"];
const TEXTS: &[&str] = &["''", "'a'", "'n9'", "'é'", "'E\u{301}'", "'7'"];

struct Grammar<'a> {
    seeded: &'a mut Seeded,
    aliases: usize,
}

/// A generated query.
pub(super) fn query(seeded: &mut Seeded) -> String {
    let mut grammar = Grammar { seeded, aliases: 0 };
    let depth = 1 + grammar.seeded.below(3);
    let (from, table) = grammar.relation(depth);
    let mut outputs = Vec::new();
    for _ in 0..1 + grammar.seeded.below(3) {
        let aggregate = grammar.aggregate(&table);
        outputs.push(aggregate);
    }
    let condition = match grammar.seeded.once_in(2) {
        true => format!(" WHERE {}", grammar.condition(&[&table], 2)),
        false => String::new(),
    };
    if grammar.seeded.once_in(2) {
        let key = match grammar.seeded.below(4) {
            0 => grammar.float(&[&table], 1),
            1 => grammar.integer(&[&table], 1),
            2 => grammar.text(&[&table], 1),
            _ => format!("{table}.d"),
        };
        return format!(
            "SELECT {key} AS grouped, {} FROM {from}{condition} GROUP BY {key}",
            outputs.join(", ")
        );
    }
    format!("SELECT {} FROM {from}{condition}", outputs.join(", "))
}

impl Grammar<'_> {
    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("q{}", self.aliases)
    }

    /// A relation with the columns u, x, y, s and d, and its name.
    fn relation(&mut self, depth: usize) -> (String, String) {
        if depth == 0 {
            let alias = self.alias();
            return (format!("t AS {alias}"), alias);
        }
        let inner = depth - 1;
        let text = match self.seeded.below(11) {
            0 => {
                let (from, table) = self.relation(inner);
                let columns = self.columns(&[&table], &table);
                let condition = self.condition(&[&table], 2);
                format!("SELECT {columns} FROM {from} WHERE {condition}")
            }
            1 | 7 => {
                let (from, table) = self.relation(inner);
                let columns = self.columns(&[&table], &table);
                let condition = self.condition_with_subquery(&table, inner);
                format!("SELECT {columns} FROM {from} WHERE {condition}")
            }
            9 | 10 => {
                let (from, table) = self.relation(inner);
                let columns: Vec<String> = ["x", "y", "s"]
                    .into_iter()
                    .map(|column| self.window(&table, column))
                    .collect();
                format!(
                    "SELECT {table}.u AS u, {}, {table}.d AS d FROM {from}",
                    columns.join(", ")
                )
            }
            8 => {
                let (left, a) = self.relation(inner.min(1));
                let (right, b) = self.relation(inner);
                let public = self.alias();
                let columns = self.columns(&[&a, &b, &public], &a);
                let (condition, other) = (self.condition(&[&a, &b], 1), self.condition(&[&b, &public], 1));
                format!(
                    "SELECT {columns} FROM {left}, p AS {public}, {right} WHERE {condition} AND {b}.u = {a}.u AND {other}"
                )
            }
            2 | 3 => {
                let (left, a) = self.relation(inner.min(1));
                let (right, b) = self.relation(inner);
                let columns = self.columns(&[&a, &b], &a);
                let condition = self.condition(&[&a, &b], 1);
                let kind = self.seeded.pick(&["JOIN", "LEFT JOIN"]);
                match self.seeded.once_in(2) {
                    true => format!(
                        "SELECT {columns} FROM {left} {kind} {right} ON {condition} AND {a}.u = {b}.u"
                    ),
                    false => format!(
                        "SELECT {columns} FROM {left} {kind} {right} ON {a}.u = {b}.u AND {condition}"
                    ),
                }
            }
            4 => {
                let (left, a) = self.relation(inner);
                let (right, b) = self.relation(inner.min(1));
                let (one, other) = (self.columns(&[&a], &a), self.columns(&[&b], &b));
                format!("SELECT {one} FROM {left} UNION ALL SELECT {other} FROM {right}")
            }
            5 => {
                let (from, table) = self.relation(inner);
                let x = self.float(&[&table], 1);
                let s = self.text(&[&table], 1);
                let measure = self
                    .seeded
                    .pick(&["COUNT(*)", "COUNT(DISTINCT ARGUMENT)", "COUNT(ARGUMENT)"]);
                let argument = self.text(&[&table], 1);
                let y = measure.replace("ARGUMENT", &argument);
                let (x_of, s_of) = (
                    *self.seeded.pick(&["MAX", "MIN", "SUM", "AVG"]),
                    *self.seeded.pick(&["MAX", "MIN"]),
                );
                let key = if self.seeded.once_in(2) {
                    format!("{table}.d")
                } else {
                    format!("EXTRACT(month FROM {table}.d)")
                };
                let day = if key.ends_with(".d") {
                    key.clone()
                } else {
                    format!("MAX({table}.d)")
                };
                format!(
                    "SELECT {table}.u AS u, {x_of}({x}) AS x, {y} AS y, {s_of}({s}) AS s, {day} AS d FROM {from} GROUP BY {table}.u, {key}"
                )
            }
            _ if self.seeded.once_in(2) => {
                let (from, table) = self.relation(inner);
                let public = self.alias();
                let columns = self.columns(&[&table, &public], &table);
                let condition = self.condition(&[&table, &public], 1);
                format!("SELECT {columns} FROM {from} JOIN p AS {public} ON {condition}")
            }
            _ => {
                let (from, table) = self.relation(inner);
                let columns = self.columns(&[&table], &table);
                format!("SELECT DISTINCT {columns} FROM {from}")
            }
        };
        let alias = self.alias();
        (format!("({text}) AS {alias}"), alias)
    }

    /// The five columns, computed from these tables; the first table that has owners names them.
    fn columns(&mut self, tables: &[&str], owner: &str) -> String {
        let (x, y, s) = (
            self.float(tables, 2),
            self.integer(tables, 1),
            self.text(tables, 1),
        );
        let d = self.pick(tables);
        format!("{owner}.u AS u, {x} AS x, {y} AS y, {s} AS s, {d}.d AS d")
    }

    /// A condition on a row of a table that has a subquery in it, over the same person's rows or over public ones.
    fn condition_with_subquery(&mut self, table: &str, depth: usize) -> String {
        let not = *self.seeded.pick(&["", "NOT "]);
        let found = match self.seeded.below(6) {
            0 => {
                let (from, inner) = self.relation(depth.min(1));
                let condition = self.condition(&[table, &inner], 1);
                format!("{not}EXISTS (SELECT 1 FROM {from} WHERE {inner}.u = {table}.u AND {condition})")
            }
            1 => {
                let (from, inner) = self.relation(depth.min(1));
                let condition = self.condition(&[&inner], 1);
                format!("{table}.u {not}IN (SELECT {inner}.u FROM {from} WHERE {condition})")
            }
            2 => {
                let (from, inner) = self.relation(depth.min(1));
                let (one, other) = (self.float(&[table], 1), self.float(&[&inner], 1));
                let op = *self.seeded.pick(&["= ANY", "<> ALL", "< ANY", ">= ALL"]);
                format!("{one} {op} (SELECT {other} FROM {from} WHERE {inner}.u = {table}.u)")
            }
            3 => {
                let (from, inner) = self.relation(depth.min(1));
                let value = self.float(&[&inner], 1);
                let aggregate = *self.seeded.pick(&["MAX", "MIN", "COUNT", "SUM", "AVG"]);
                let more = *self.seeded.pick(&["", "s", "d", "x"]);
                let tied = match more {
                    "" => String::new(),
                    column => format!(" AND {inner}.{column} = {table}.{column}"),
                };
                let compared = self.float(&[table], 1);
                format!(
                    "(SELECT {aggregate}({value}) FROM {from} WHERE {inner}.u = {table}.u{tied}) >= {compared}"
                )
            }
            4 => {
                let (one, public) = (self.text(&[table], 1), self.alias());
                let member = self.text(&[&public], 1);
                format!("({one} {not}IN (SELECT {member} FROM p AS {public})) IS NOT FALSE")
            }
            _ => {
                let public = self.alias();
                let condition = self.condition(&[table, &public], 1);
                format!("{not}EXISTS (SELECT 1 FROM p AS {public} WHERE {condition})")
            }
        };
        match self.seeded.once_in(2) {
            true => found,
            false => format!("({found} OR {})", self.condition(&[table], 1)),
        }
    }

    /// A column computed of a window over one person's rows.
    fn window(&mut self, table: &str, column: &str) -> String {
        let key = *self.seeded.pick(&["d", "s", "x"]);
        let down = *self.seeded.pick(&["", " DESC", " NULLS FIRST"]);
        let more = match self.seeded.once_in(3) {
            true => format!(", {table}.{}", self.seeded.pick(&["s", "d"])),
            false => String::new(),
        };
        let frame = *self.seeded.pick(&[
            "",
            " ROWS 1 PRECEDING",
            " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
        ]);
        let over =
            |frame: &str| format!("OVER (PARTITION BY {table}.u{more} ORDER BY {table}.{key}{down}{frame})");
        let (with_frame, without) = (over(frame), over(""));
        let function = match (column, self.seeded.below(4)) {
            (_, 0) => return format!("{table}.{column} AS {column}"),
            ("y", 1) => format!("ROW_NUMBER() {without}"),
            ("y", 2) => format!("{} {without}", self.seeded.pick(&["DENSE_RANK()", "NTILE(3)"])),
            ("y", _) => format!("COUNT({table}.s) {with_frame}"),
            (_, 1) => format!(
                "{}({table}.{column}) {without}",
                self.seeded.pick(&["LAG", "LEAD"])
            ),
            (_, 2) => format!(
                "{}({table}.{column}) {with_frame}",
                self.seeded.pick(&["MIN", "MAX"])
            ),
            ("x", _) if self.seeded.once_in(4) => format!(
                "{} {without}",
                self.seeded.pick(&["PERCENT_RANK()", "CUME_DIST()"])
            ),
            ("x", _) => format!(
                "{}({table}.{column}) {with_frame}",
                self.seeded.pick(&["FIRST_VALUE", "LAST_VALUE", "SUM", "AVG"])
            ),
            (_, _) => format!(
                "{}({table}.{column}) {with_frame}",
                self.seeded.pick(&["FIRST_VALUE", "LAST_VALUE"])
            ),
        };
        format!("{function} AS {column}")
    }

    fn pick<'a>(&mut self, tables: &[&'a str]) -> &'a str {
        tables[self.seeded.below(tables.len())]
    }

    fn aggregate(&mut self, table: &str) -> String {
        let tables = &[table];
        match self.seeded.below(8) {
            0 | 1 => "COUNT(*)".to_owned(),
            2 => format!(
                "SUM({}, contribution_bounds_per_row => (-10, 50))",
                self.float(tables, 2)
            ),
            3 => format!(
                "AVG({}, contribution_bounds_per_row => (-10, 50))",
                self.float(tables, 1)
            ),
            4 => format!(
                "SUM({}, contribution_bounds_per_row => (-5, 9))",
                self.integer(tables, 1)
            ),
            5 => format!("COUNT(DISTINCT {})", self.text(tables, 1)),
            6 => format!("COUNT(DISTINCT {})", self.float(tables, 1)),
            _ => format!("COUNT({})", self.text(tables, 1)),
        }
    }

    fn float(&mut self, tables: &[&str], depth: usize) -> String {
        let table = self.pick(tables);
        if depth == 0 || self.seeded.once_in(3) {
            return match self.seeded.once_in(4) {
                true => self.seeded.pick(FLOATS).to_string(),
                false => format!("{table}.x"),
            };
        }
        let inner = depth - 1;
        match self.seeded.below(11) {
            0 => format!("(0 - {})", self.float(tables, inner)),
            1 => format!("({} * {})", self.float(tables, inner), self.float(tables, inner)),
            2 => format!("({} - {})", self.float(tables, inner), self.float(tables, inner)),
            3 => format!("({} / {})", self.float(tables, inner), self.float(tables, inner)),
            4 => format!("CAST({table}.s AS DOUBLE)"),
            5 => format!("CAST({table}.y AS DOUBLE)"),
            6 => format!("round({})", self.float(tables, inner)),
            7 => format!("coalesce({}, -0.0)", self.float(tables, inner)),
            8 => format!("nullif({}, 0)", self.float(tables, inner)),
            9 => format!("({} % {})", self.float(tables, inner), self.float(tables, inner)),
            _ => {
                let (condition, one, other) = (
                    self.condition(tables, inner),
                    self.float(tables, inner),
                    self.float(tables, inner),
                );
                format!("(CASE WHEN {condition} THEN {one} ELSE {other} END)")
            }
        }
    }

    fn integer(&mut self, tables: &[&str], depth: usize) -> String {
        let table = self.pick(tables);
        match self.seeded.below(if depth == 0 { 3 } else { 10 }) {
            0 => self.seeded.pick(INTEGERS).to_string(),
            1 | 2 => format!("CAST({table}.y AS BIGINT)"),
            3 => format!("CAST({} AS BIGINT)", self.float(tables, depth - 1)),
            4 => format!("character_length({})", self.text(tables, depth - 1)),
            5 => format!("(CAST({table}.y AS BIGINT) % 3)"),
            6 => {
                let operator = *self.seeded.pick(&["/", "%"]);
                let (one, other) = (self.integer(tables, depth - 1), self.integer(tables, depth - 1));
                format!("({one} {operator} {other})")
            }
            7 => {
                let operator = *self.seeded.pick(&["+", "-", "*"]);
                let (one, other) = (self.integer(tables, depth - 1), self.integer(tables, depth - 1));
                format!("CAST({one} {operator} {other} AS BIGINT)")
            }
            8 => format!("regexp_count({}, '[a-zé]|')", self.text(tables, depth - 1)),
            _ => format!("EXTRACT(year FROM {table}.d)"),
        }
    }

    fn text(&mut self, tables: &[&str], depth: usize) -> String {
        let table = self.pick(tables);
        if depth == 0 || self.seeded.once_in(3) {
            return match self.seeded.once_in(4) {
                true => self.seeded.pick(TEXTS).to_string(),
                false => format!("{table}.s"),
            };
        }
        let inner = depth - 1;
        match self.seeded.below(11) {
            7 => format!("to_char({table}.d, 'YYYY-MM Dy HH24')"),
            8 => format!(
                "CAST(date_bin(INTERVAL '40 hours', {table}.d, TIMESTAMP '2001-02-16 20:05:00') AS VARCHAR)"
            ),
            9 => format!(
                "regexp_replace({}, '(\\w)(.?)', '\\2-\\1', 'g')",
                self.text(tables, inner)
            ),
            10 => format!("regexp_substr({}, '.+[^a]')", self.text(tables, inner)),
            0 => format!("({} || {})", self.text(tables, inner), self.text(tables, inner)),
            1 => format!("upper({})", self.text(tables, inner)),
            2 => format!("lower({})", self.text(tables, inner)),
            3 => format!("CAST({} AS VARCHAR)", self.float(tables, inner)),
            4 => format!("replace({}, 'x', 'yy')", self.text(tables, inner)),
            5 => format!("substr({}, 1, 3)", self.text(tables, inner)),
            _ => format!("reverse({})", self.text(tables, inner)),
        }
    }

    fn condition(&mut self, tables: &[&str], depth: usize) -> String {
        let operator = *self.seeded.pick(&[
            "=",
            "=",
            "=",
            "<>",
            "<",
            ">=",
            "IS DISTINCT FROM",
            "IS NOT DISTINCT FROM",
        ]);
        if depth > 0 && self.seeded.once_in(3) {
            let (one, other) = (
                self.condition(tables, depth - 1),
                self.condition(tables, depth - 1),
            );
            let joined = self.seeded.pick(&["AND", "OR", "AND NOT"]);
            return format!("({one} {joined} {other})");
        }
        let table = self.pick(tables);
        match self.seeded.below(8) {
            7 => format!("{} ~* '(é|A)+$'", self.text(tables, depth)),
            0 | 1 => format!(
                "{} {operator} {}",
                self.float(tables, depth),
                self.float(tables, depth)
            ),
            2 => format!(
                "{} {operator} {}",
                self.integer(tables, depth),
                self.integer(tables, depth)
            ),
            3 => format!(
                "{} {operator} {}",
                self.text(tables, depth),
                self.text(tables, depth)
            ),
            4 => format!("{} IS NOT NULL", self.float(tables, depth)),
            5 => format!("{table}.s LIKE '%é%'"),
            _ => format!("{table}.d > DATE '2024-01-01'"),
        }
    }
}
