//! Intervals of shares, growth, running totals and ranks, which are found by simulating the noise of the released numbers.

use crate::harness::Bench;
use accounting::Epsilon;
use sql::{Answer, QueryRequest};

/// Asks the same for another ε each time, so that each is a new release.
fn asked(bench: &Bench, sql: &str, run: u32) -> Answer {
    let ask = QueryRequest {
        epsilon: Some(Epsilon::parse(&format!("0.{}", 500_000 + run)).unwrap()),
        ..QueryRequest::new(sql, "tester")
    };
    let answered = bench.dataset.query(&ask).unwrap();
    assert!(!answered.repeated);
    answered.answer
}

/// How many of the cells of these columns miss the truth, and how many there are. `None` is a truth that is NULL.
fn missed(sql: &str, truth: &[Vec<Option<f64>>], runs: u32) -> (u32, u32) {
    let bench = Bench::new("1");
    let (mut missed, mut all) = (0, 0);
    for run in 0..runs {
        let answer = asked(&bench, sql, run);
        assert_eq!(answer.rows.len(), truth.len(), "{sql}");
        for (row, truth) in answer.rows.iter().zip(truth) {
            for (cell, truth) in row[1..].iter().zip(truth) {
                let Some(truth) = truth else {
                    assert!(cell.low.is_none(), "{row:?}");
                    continue;
                };
                let (low, high) = cell
                    .low
                    .zip(cell.high)
                    .unwrap_or_else(|| panic!("no interval: {row:?}"));
                missed += u32::from(*truth < low || high < *truth);
                all += 1;
            }
        }
    }
    (missed, all)
}

/// Cells of one answer may miss together. Of 30 answers that each miss with probability 0.07 or less, more than 12 miss with probability below 1e-5.
const RUNS: u32 = 30;

#[test]
fn shares_running_totals_and_growth_lie_in_their_intervals() {
    let sql = "SELECT education, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share, \
               SUM(COUNT(*)) OVER (ORDER BY education) AS total, \
               COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY education) AS change \
               FROM people GROUP BY education ORDER BY education";
    // bachelor, doctor, master, none, school, and those of whom nothing is known.
    let counts = [100.0, 0.0, 100.0, 100.0, 100.0, 0.0];
    let mut total = 0.0;
    let truth: Vec<Vec<Option<f64>>> = (0..6)
        .map(|place| {
            total += counts[place];
            let change = place.checked_sub(1).map(|before| counts[place] - counts[before]);
            vec![Some(counts[place] / 4.0), Some(total), change]
        })
        .collect();
    let (missed, all) = missed(sql, &truth, RUNS);
    assert!(
        missed * RUNS <= all * 12,
        "{missed} of {all} cells miss the truth"
    );
    // And they are not merely wide: a mutant that doubles what it shows falls out of them.
    let doubled = sql.replace("COUNT(*) * 100.0", "2 * COUNT(*) * 100.0");
    let bench = Bench::new("1");
    let wrong = asked(&bench, &doubled, 0);
    let out = wrong.rows.iter().filter(|row| row[1].low.unwrap() > 25.0).count();
    assert!(out >= 3, "{:?}", wrong.rows);
}

#[test]
fn ranks_lie_in_their_intervals() {
    let sql = "SELECT department, RANK() OVER (ORDER BY SUM(minutes) DESC) AS place FROM visits GROUP BY department ORDER BY department";
    let bench = Bench::new("100000");
    let exact = bench.ask(sql).unwrap();
    let truth: Vec<Vec<Option<f64>>> = exact.rows.iter().map(|row| vec![row[1].value.as_f64()]).collect();
    let (missed, all) = missed(sql, &truth, RUNS);
    assert!(
        missed * RUNS <= all * 12,
        "{missed} of {all} places miss the truth"
    );
    // With hardly any noise there is one place for each.
    assert!(
        exact
            .rows
            .iter()
            .all(|row| row[1].low == row[1].high && row[1].low.is_some()),
        "{exact:?}"
    );
}

#[test]
fn the_same_release_has_the_same_intervals() {
    let bench = Bench::new("1");
    let sql =
        "SELECT education, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY education";
    let first = bench.ask(sql).unwrap();
    assert!(
        first
            .notes
            .iter()
            .any(|note| note.starts_with("the interval of share is found by simulating")),
        "{:?}",
        first.notes
    );
    assert_eq!(bench.ask(sql).unwrap().rows, first.rows);
    assert_eq!(bench.dataset.ledger().unwrap().charges().unwrap().len(), 1);
    // The columns are known before anything is asked.
    let columns = bench.dataset.columns(&QueryRequest::new(sql, "tester")).unwrap();
    assert_eq!(columns, first.columns);
}

/// What noise pulls to one side has no interval, and says why.
#[test]
fn what_cannot_be_simulated_says_so() {
    let bench = Bench::new("1");
    for (sql, place) in [
        (
            "SELECT MAX(n) AS most FROM (SELECT education, COUNT(*) AS n FROM people GROUP BY education) AS g",
            0,
        ),
        (
            "SELECT education, MAX(COUNT(*)) OVER () AS most FROM people GROUP BY education",
            1,
        ),
        (
            "SELECT education, SUM(COUNT(*)) OVER (ORDER BY COUNT(*) DESC) AS of_the_largest FROM people GROUP BY education",
            1,
        ),
        (
            "SELECT education, ABS(COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY education)) AS off FROM people GROUP BY education",
            1,
        ),
        (
            "SELECT education, CASE WHEN COUNT(*) > LAG(COUNT(*)) OVER (ORDER BY education) THEN 1 ELSE 0 END AS more FROM people GROUP BY education",
            1,
        ),
        (
            "SELECT SUM(n) AS total FROM (SELECT education, COUNT(*) AS n FROM people GROUP BY education ORDER BY n DESC LIMIT 2) AS g",
            0,
        ),
    ] {
        let answer = bench.ask(sql).unwrap();
        let column = &answer.columns[place];
        assert!(column.noisy && column.no_interval.is_some(), "{sql}: {column:?}");
    }
}

/// Common tables, filters over groups, and public tables beside the released one.
#[test]
fn longer_queries_keep_their_intervals() {
    let bench = Bench::new("1");
    for (sql, place) in [
        (
            "WITH m AS (SELECT minutes / 10 AS month, COUNT(*) AS n FROM visits GROUP BY 1), \
          g AS (SELECT month, n, LAG(n) OVER (ORDER BY month) AS before FROM m) \
          SELECT month, ROUND(100.0 * (n - before) / NULLIF(before, 0), 1) AS growth FROM g WHERE before IS NOT NULL ORDER BY month",
            1,
        ),
        (
            "SELECT education, n, share FROM (SELECT education, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY education) AS g WHERE n > 50 ORDER BY n DESC LIMIT 3",
            2,
        ),
        (
            "SELECT AVG(n) AS mean FROM (SELECT education, COUNT(*) AS n FROM people GROUP BY education) AS g",
            0,
        ),
        (
            "SELECT r.country, SUM(c.n) AS n FROM regions AS r LEFT JOIN (SELECT region, COUNT(*) AS n FROM people GROUP BY region) AS c ON c.region = r.region GROUP BY r.country",
            1,
        ),
        ("SELECT COUNT(*) + SUM(age) + AVG(income) AS odd FROM people", 0),
        (
            "SELECT education, NTILE(2) OVER (ORDER BY COUNT(*)) AS half FROM people GROUP BY education",
            1,
        ),
    ] {
        let answer = bench.ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(
            answer.columns[place].has_intervals(),
            "{sql}: {:?}",
            answer.columns
        );
        let cells = answer.rows.iter().map(|row| &row[place]);
        let told = cells
            .filter(|cell| cell.low.is_some() && cell.high.is_some())
            .count();
        assert!(told > 0, "{sql}: {:?}", answer.rows);
    }
}
