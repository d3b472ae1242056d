//! ROLLUP, CUBE and GROUPING SETS of counts, planned together: totals agree, the error is less, and all of it is one charge.

use crate::harness::{Bench, CATALOG, NEARLY_EXACT};
use accounting::Epsilon;
use sql::{Answer, CellValue, QueryRequest, SetsLine};
use std::collections::BTreeMap;

const CUBE: &str = "SELECT smoker, education, age >= 50 AS old, COUNT(*) AS n, GROUPING(smoker, education, age >= 50) AS missing \
                    FROM people GROUP BY CUBE (smoker, education, age >= 50)";

/// The numbers of an answer by which keys are missing, and by the keys: its last two columns are a count and GROUPING.
fn sets(answer: &Answer) -> BTreeMap<(i64, Vec<String>), i64> {
    let number = |value: &CellValue| value.as_f64().unwrap() as i64;
    let rows = answer.rows.iter().map(|row| {
        let (keys, rest) = row.split_at(row.len() - 2);
        let keys = keys.iter().map(|cell| cell.value.to_string()).collect();
        ((number(&rest[1].value), keys), number(&rest[0].value))
    });
    let count = answer.rows.len();
    let all: BTreeMap<_, _> = rows.collect();
    assert_eq!(all.len(), count, "no two rows are of one group");
    all
}

/// Whether each total is the sum of its parts: of keys that are missing, one more is.
fn agree(answer: &Answer) -> bool {
    let all = sets(answer);
    let missing: Vec<i64> = all.keys().map(|(missing, _)| *missing).collect();
    let keys = answer.columns.len() - 2;
    let mut compared = 0;
    for ((set, group), number) in &all {
        for key in 0..keys {
            let bit = 1i64 << (keys - 1 - key);
            // The set that has this key beside those of this one.
            let finer = set & !bit;
            if set & bit == 0 || !missing.contains(&finer) {
                continue;
            }
            let parts = all.iter().filter(|((other, names), _)| {
                let mut same = (0..keys).filter(|place| *place != key);
                *other == finer && same.all(|place| names[place] == group[place])
            });
            if parts.map(|(_, part)| part).sum::<i64>() != *number {
                return false;
            }
            compared += 1;
        }
    }
    compared > 0
}

fn with_epsilon(sql: &str, epsilon: &str) -> QueryRequest {
    QueryRequest {
        epsilon: Some(Epsilon::parse(epsilon).unwrap()),
        ..QueryRequest::new(sql, "tester")
    }
}

fn line(bench: &Bench, ask: &QueryRequest) -> SetsLine {
    bench.dataset.explain(ask, 1000).unwrap().sets.unwrap()
}

#[test]
fn with_hardly_any_noise_a_cube_counts_what_is_there() {
    let bench = Bench::new(NEARLY_EXACT);
    let answer = bench.ask(CUBE).unwrap();
    assert!(line(&bench, &QueryRequest::new(CUBE, "tester")).together);
    let mut truth: BTreeMap<(i64, Vec<String>), i64> = BTreeMap::new();
    let education = ["none", "school", "bachelor", "master"];
    for key in sets(&answer).into_keys() {
        truth.insert(key, 0);
    }
    for person in 0..400usize {
        let keys = [
            (person % 3 == 0).to_string(),
            education[person % 4].to_owned(),
            (18 + (person * 7) % 70 >= 50).to_string(),
        ];
        for missing in 0..8i64 {
            let shown = keys.iter().enumerate().map(|(place, key)| {
                let is_missing = missing >> (2 - place) & 1 == 1;
                if is_missing {
                    CellValue::Null.to_string()
                } else {
                    key.clone()
                }
            });
            *truth.get_mut(&(missing, shown.collect())).unwrap() += 1;
        }
    }
    assert_eq!(sets(&answer), truth);
    assert_eq!(answer.rows.len(), 3 * 7 * 3);
    // For a part of it, by a condition.
    let some = bench
        .ask(&CUBE.replace("GROUP BY", "WHERE age < 50 AND region = 'north' GROUP BY"))
        .unwrap();
    let total = sets(&some)
        .into_iter()
        .find(|((missing, _), _)| *missing == 7)
        .unwrap()
        .1;
    let north = (0..400).filter(|person| 18 + (person * 7) % 70 < 50 && (person / 3) % 4 == 0);
    assert_eq!(total, north.count() as i64);
    assert!(agree(&some));
}

#[test]
fn totals_are_the_sums_of_their_parts_whatever_was_drawn() {
    let bench = Bench::new("1");
    let sets_of = |sets: &str| CUBE.replace("CUBE (smoker, education, age >= 50)", sets);
    let asked = [
        sets_of("CUBE (smoker, education, age >= 50)"),
        sets_of("ROLLUP (age >= 50, education, smoker)"),
        // Without the finest set.
        sets_of("GROUPING SETS ((smoker, education), (education, age >= 50), (education), ())"),
    ];
    for (place, sql) in asked.iter().enumerate() {
        let mut totals = std::collections::BTreeSet::new();
        for run in 0..2 {
            let ask = with_epsilon(sql, &format!("0.{}{run}", place + 1));
            assert!(line(&bench, &ask).together, "{sql}");
            let answered = bench.dataset.query(&ask).unwrap();
            assert!(!answered.repeated && agree(&answered.answer), "{sql}");
            let notes = answered.answer.notes.join("\n");
            assert!(notes.contains("totals are the sums of their parts"), "{notes}");
            totals.extend(sets(&answered.answer).into_values());
        }
        assert!(totals.len() > 10, "there is noise: {totals:?}");
    }
    // What has noise for each set does not agree, so this test can tell.
    let apart = sets_of("ROLLUP (smoker, education)").replace("age >= 50 AS old, ", "");
    let apart = apart.replace("smoker, education, age >= 50) AS", "smoker, education) AS");
    let apart = apart.replace("COUNT(*) AS n", "SUM(age) AS n");
    let ask = with_epsilon(&apart, "0.1");
    assert!(!line(&bench, &ask).together);
    assert!(!agree(&bench.dataset.query(&ask).unwrap().answer));
}

#[test]
fn a_cube_costs_one_charge_and_errs_less() {
    let bench = Bench::new("1");
    let ask = QueryRequest::new(CUBE, "tester");
    let explained = bench.dataset.explain(&ask, 1000).unwrap();
    let sets = explained.sets.clone().unwrap();
    let (together, apart) = (sets.error_together.unwrap(), sets.error_apart.unwrap());
    assert!(sets.together && together < 0.7 * apart, "{together} {apart}");
    let text = explained.to_text(&[], false);
    assert!(
        text.contains("sets of groups: all sets of groups share their noise"),
        "{text}"
    );
    let answered = bench.dataset.query(&ask).unwrap();
    let epsilon = answered
        .answer
        .cost
        .as_ref()
        .unwrap()
        .epsilon()
        .unwrap()
        .to_f64_up();
    assert!(epsilon <= 1.0 && epsilon > 0.99, "{epsilon}");
    assert!(answered.receipt.is_some());
    assert!(answered.answer.columns[3].has_intervals());
    // Again, with keys and sets in another order, and with something made of it: free, and the same numbers.
    let again = bench.dataset.query(&ask).unwrap();
    // Without ORDER BY, rows come in any order.
    assert!(again.repeated && self::sets(&again.answer) == self::sets(&answered.answer));
    let turned = "SELECT education, age >= 50 AS old, smoker, COUNT(*) * 2 AS twice FROM people \
                  GROUP BY GROUPING SETS ((), (education), (smoker), (age >= 50), (age >= 50, smoker), (education, smoker), \
                  (age >= 50, education), (smoker, age >= 50, education)) HAVING COUNT(*) > 20 ORDER BY twice DESC LIMIT 3";
    let turned = bench.dataset.query(&QueryRequest::new(turned, "tester")).unwrap();
    assert!(turned.repeated);
    let mut largest: Vec<i64> = self::sets(&answered.answer)
        .into_values()
        .map(|number| number * 2)
        .collect();
    largest.sort_unstable_by(|one, other| other.cmp(one));
    let shown: Vec<i64> = turned
        .answer
        .rows
        .iter()
        .map(|row| row[3].value.as_f64().unwrap() as i64)
        .collect();
    assert_eq!(shown, largest[..3]);
    let charges = bench.dataset.ledger().unwrap().charges().unwrap();
    assert_eq!(charges.len(), 1);
}

#[test]
fn changed_units_and_a_budget_without_delta_are_planned_too() {
    let with = |neighbors: &str, delta: &str| {
        let catalog = CATALOG.replace("EPSILON", "1").replace("NEIGHBORS", neighbors);
        Bench::with(&catalog.replace("delta = 1e-9", delta))
    };
    for (neighbors, delta) in [
        ("change_one", "delta = 1e-9"),
        ("add_remove", "delta = 0"),
        ("change_one", "delta = 0"),
    ] {
        let bench = with(neighbors, delta);
        let answered = bench.dataset.query(&QueryRequest::new(CUBE, "tester")).unwrap();
        assert!(
            line(&bench, &QueryRequest::new(CUBE, "tester")).together,
            "{neighbors} {delta}"
        );
        assert!(agree(&answered.answer), "{neighbors} {delta}");
        let epsilon = answered
            .answer
            .cost
            .as_ref()
            .unwrap()
            .epsilon()
            .unwrap()
            .to_f64_up();
        assert!(epsilon <= 1.0 && epsilon > 0.99, "{neighbors} {delta}: {epsilon}");
    }
}

#[test]
fn what_is_no_sum_of_cells_has_noise_for_each_set() {
    let bench = Bench::new("1");
    let apart = |sql: &str| {
        let ask = QueryRequest {
            cut_estimate: false,
            ..QueryRequest::new(sql, "tester")
        };
        let line = line(&bench, &ask);
        assert!(!line.together && line.error_together.is_none(), "{sql}: {line:?}");
        assert!(
            line.words.contains("totals are not the sums of their parts"),
            "{}",
            line.words
        );
        let notes = bench.dataset.query(&ask).unwrap().answer.notes.join("\n");
        assert!(!notes.contains("share their noise"), "{sql}: {notes}");
    };
    apart("SELECT smoker, AVG(age) FROM people GROUP BY ROLLUP (smoker)");
    apart("SELECT smoker, COUNT(*), SUM(age) FROM people GROUP BY ROLLUP (smoker)");
    // Names of groups that are private, several rows of a person, and keys of which one tells the other.
    apart("SELECT region, COUNT(*) FROM people GROUP BY ROLLUP (region)");
    apart("SELECT department, COUNT(*) FROM visits GROUP BY ROLLUP (department)");
    apart(
        "SELECT age >= 40 AS a, age >= 60 AS b, COUNT(*) FROM people GROUP BY ROLLUP (age >= 40, age >= 60)",
    );
    // Beside something else that is asked.
    apart(
        "SELECT s.smoker, s.n, t.n FROM (SELECT smoker, COUNT(*) AS n FROM people GROUP BY ROLLUP (smoker)) AS s \
         CROSS JOIN (SELECT COUNT(*) AS n FROM people WHERE age > 30) AS t",
    );
}

#[test]
fn what_does_not_fit_is_refused_without_a_charge() {
    let catalog = CATALOG
        .replace("EPSILON", "0.8")
        .replace("NEIGHBORS", "add_remove")
        .replace(
            "epsilon = 1000000000\ndelta = 1e-6",
            "epsilon = 0.8\ndelta = 1e-6",
        );
    let bench = Bench::with(&catalog);
    let charges = || bench.dataset.ledger().unwrap().charges().unwrap().len();
    // What is done with the results does not work: told before anything is charged.
    let wrong = CUBE.replace("COUNT(*) AS n", "1 / (COUNT(*) - COUNT(*)) AS n");
    assert!(bench.dataset.query(&QueryRequest::new(wrong, "tester")).is_err());
    assert_eq!(charges(), 0);
    bench.dataset.query(&QueryRequest::new(CUBE, "tester")).unwrap();
    assert_eq!(charges(), 1);
    let other = CUBE.replace("GROUP BY", "WHERE age > 30 GROUP BY");
    let refused = bench
        .dataset
        .query(&QueryRequest::new(other, "tester"))
        .unwrap_err();
    assert!(matches!(refused, sql::Error::OverBudget(_)), "{refused}");
    assert_eq!(charges(), 1);
}
