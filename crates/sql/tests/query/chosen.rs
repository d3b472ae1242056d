//! What noise chose is called noisy: the columns of an answer that are not, taken together, have the same rows whatever the noise was.

use crate::harness::Bench;
use sql::Answer;

/// A reproducible choice.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Released tables with a key `k` and a number `n`, and a public one.
const TABLES: [&str; 5] = [
    "(SELECT education AS k, COUNT(*) AS n FROM people GROUP BY education) AS t",
    "(SELECT department AS k, SUM(minutes) AS n FROM visits GROUP BY department) AS t",
    "(SELECT smoker AS k, COUNT(*) AS n FROM people GROUP BY smoker) AS t",
    // Which regions there are is chosen by noise.
    "(SELECT region AS k, COUNT(*) AS n FROM people GROUP BY region) AS t",
    "(SELECT region AS k, 7 AS n FROM regions) AS t",
];

/// `T` is the table's name.
const CONDITIONS: [&str; 8] = [
    "T.n > 90",
    "T.n % 2 = 0",
    "T.k IS NOT NULL",
    "T.n = (SELECT MAX(c) FROM (SELECT COUNT(*) AS c FROM people GROUP BY education) AS m)",
    "(SELECT COUNT(*) FROM people) % 2 = 0",
    "T.n + 1 > T.n",
    "CASE WHEN T.n > 90 THEN T.k IS NULL ELSE TRUE END",
    "EXISTS (SELECT 1 FROM (SELECT COUNT(*) AS c FROM visits) AS v WHERE v.c % 2 = 0)",
];

const EXPRESSIONS: [&str; 9] = [
    "k",
    "n",
    "n % 3 AS rest",
    "CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END AS parity",
    "ROW_NUMBER() OVER (ORDER BY n) AS place",
    "ROW_NUMBER() OVER (ORDER BY k) AS line",
    "FIRST_VALUE(k) OVER (ORDER BY n) AS least",
    "COUNT(*) OVER () AS rows_here",
    "'constant' AS constant",
];

const ORDERS: [&str; 5] = [
    "",
    " ORDER BY n LIMIT 1",
    " ORDER BY n DESC LIMIT 2",
    " ORDER BY k LIMIT 2",
    " ORDER BY n",
];

/// SQL over what was released.
fn generated(random: &mut Random) -> String {
    let table = random.one_of(&TABLES);
    let filter = match random.below(2) {
        0 => format!(" WHERE {}", random.one_of(&CONDITIONS).replace("T.", "t.")),
        _ => String::new(),
    };
    let order = random.one_of(&ORDERS);
    match random.below(6) {
        0 => format!(
            "SELECT COUNT(*) AS rows_here, MIN(k) AS smallest, 1 AS one FROM (SELECT * FROM {table}{filter}{order}) AS t"
        ),
        1 => format!(
            "SELECT n % 2 AS part, COUNT(*) AS rows_here FROM {table}{filter} GROUP BY n % 2{}",
            random.one_of(&["", " HAVING COUNT(*) > 1"])
        ),
        2 => format!(
            "SELECT t.k, o.k AS other FROM {table} {} JOIN \
             (SELECT education AS k, COUNT(*) AS n FROM people GROUP BY education) AS o ON {}{filter}",
            random.one_of(&["INNER", "LEFT"]),
            random.one_of(&["t.n % 5 = o.n % 5", "t.n > o.n", "o.k = 'none'"]),
        ),
        3 => format!(
            "SELECT DISTINCT {} FROM {table}{filter}",
            random.one_of(&["k", "n", "n % 2 AS part"])
        ),
        4 => format!(
            "SELECT k FROM {table}{filter} UNION ALL SELECT k FROM (SELECT * FROM {table}{order}) AS t"
        ),
        _ => {
            let mut shown: Vec<&str> = Vec::new();
            for _ in 0..1 + random.below(3) {
                let expression = random.one_of(&EXPRESSIONS);
                if !shown.contains(&expression) {
                    shown.push(expression);
                }
            }
            format!(
                "SELECT {} FROM (SELECT * FROM {table}{filter}) AS t{order}",
                shown.join(", ")
            )
        }
    }
}

/// The rows of the columns that are not noisy, in an order of their own.
fn exact(answer: &Answer) -> Vec<Vec<String>> {
    let of_row = |row: &Vec<sql::Cell>| {
        let cells = row.iter().zip(&answer.columns);
        let exact = cells.filter(|(_, column)| !column.noisy);
        exact.map(|(cell, _)| cell.value.to_string()).collect()
    };
    let mut rows: Vec<Vec<String>> = answer.rows.iter().map(of_row).collect();
    rows.sort();
    rows
}

#[test]
fn what_is_not_noisy_is_the_same_whatever_the_noise_was() {
    let mut random = Random(33);
    let queries: Vec<String> = (0..40).map(|_| generated(&mut random)).collect();
    // Another ledger, so other noise.
    let benches = [Bench::new("0.5"), Bench::new("0.5")];
    let mut compared = 0;
    for sql in &queries {
        let [one, other] = benches
            .each_ref()
            .map(|bench| bench.ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}")));
        assert_eq!(
            one.columns, other.columns,
            "what is called noisy depends on the query: {sql}"
        );
        if one.columns.iter().any(|column| !column.noisy) {
            assert_eq!(exact(&one), exact(&other), "{sql}");
            compared += 1;
        }
    }
    assert!(
        compared >= 5,
        "{compared} of {} queries have an exact column",
        queries.len()
    );
}

/// Noisy, and whether only because of which rows are there.
fn flags(bench: &Bench, sql: &str) -> Vec<(bool, bool)> {
    let answer = bench.ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let flags = answer.columns.iter().map(|column| {
        assert!(
            !column.chosen || (column.noisy && column.no_interval.is_some()),
            "{sql}"
        );
        (column.noisy, column.chosen)
    });
    flags.collect()
}

#[test]
fn values_that_noise_selected_are_noisy() {
    const EXACT: (bool, bool) = (false, false);
    const CHOSEN: (bool, bool) = (true, true);
    const NOISY: (bool, bool) = (true, false);
    let bench = Bench::new("10");
    let counts = "(SELECT education, COUNT(*) AS n FROM people GROUP BY education) AS t";
    for (sql, expected) in [
        (format!("SELECT education, n FROM {counts}"), vec![EXACT, NOISY]),
        (
            format!("SELECT education, n FROM {counts} ORDER BY n"),
            vec![EXACT, NOISY],
        ),
        (
            format!("SELECT education, n FROM {counts} ORDER BY n LIMIT 1"),
            vec![CHOSEN, NOISY],
        ),
        (
            format!("SELECT education, n FROM {counts} ORDER BY education LIMIT 1"),
            vec![EXACT, NOISY],
        ),
        (
            format!("SELECT education FROM {counts} WHERE n > 50"),
            vec![CHOSEN],
        ),
        (
            "SELECT education, 1 AS one FROM people GROUP BY education HAVING COUNT(*) > 50".to_owned(),
            vec![CHOSEN, CHOSEN],
        ),
        (
            "SELECT p.country FROM regions AS p WHERE LENGTH(p.country) = (SELECT COUNT(*) FROM people)"
                .to_owned(),
            vec![CHOSEN],
        ),
        (
            format!(
                "SELECT p.country, t.education FROM regions AS p JOIN {counts} ON LENGTH(p.country) < t.n"
            ),
            vec![CHOSEN, CHOSEN],
        ),
        (
            format!(
                "SELECT p.country, t.education FROM regions AS p JOIN {counts} ON p.country = 'A' AND (SELECT COUNT(*) FROM visits) > 10"
            ),
            vec![CHOSEN, CHOSEN],
        ),
        (
            format!("SELECT COUNT(*) AS rows_here, 1 AS one FROM {counts} WHERE n > 50"),
            vec![NOISY, EXACT],
        ),
        // Their names are private, so noise decides which of them appear.
        (
            "SELECT region, COUNT(*) AS n FROM people GROUP BY region".to_owned(),
            vec![CHOSEN, NOISY],
        ),
        (
            format!(
                "SELECT * FROM (SELECT education FROM {counts} ORDER BY n) AS o ORDER BY education LIMIT 2"
            ),
            vec![EXACT],
        ),
        (
            format!(
                "SELECT education, RANK() OVER (ORDER BY n) AS r FROM {counts} ORDER BY education LIMIT 2"
            ),
            vec![EXACT, NOISY],
        ),
        // Of texts of one length, those come first that the window put first.
        (
            format!(
                "SELECT education, RANK() OVER (ORDER BY n) AS r FROM {counts} ORDER BY LENGTH(education) LIMIT 2"
            ),
            vec![CHOSEN, NOISY],
        ),
    ] {
        assert_eq!(flags(&bench, &sql), expected, "{sql}");
    }
}
