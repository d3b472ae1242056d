//! What bounds an answer, what the bounds cut, and limits that are found.

use crate::harness::{Bench, CATALOG, NEARLY_EXACT};
use accounting::Epsilon;
use sql::{Answer, FindLimits, IntervalOf, QueryRequest, with_limits};

/// A dataset whose limits are these.
fn limited(epsilon: &str, limits: &str) -> Bench {
    let catalog = CATALOG
        .replace("EPSILON", epsilon)
        .replace("NEIGHBORS", "add_remove")
        .replace("groups = 5\nrows_per_group = 5\n", limits);
    Bench::with(&catalog)
}

fn ask(bench: &Bench, sql: &str) -> Answer {
    bench
        .dataset
        .query(&QueryRequest::new(sql, "tester"))
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .answer
}

/// Visits: persons have 0 to 4 of them, 800 in all, 320 persons have some.
const VISITS: f64 = 800.0;

#[test]
fn every_column_says_what_bounds_it() {
    let bench = limited("1", "groups = 2\nrows_per_group = 3\n");
    let answer = ask(
        &bench,
        "SELECT department, COUNT(*) AS n, SUM(minutes) AS m, AVG(cost) AS c, COUNT(*) * 2 AS twice FROM visits GROUP BY department",
    );
    let words: Vec<(&str, &str)> = answer
        .bounds
        .iter()
        .map(|reported| (reported.column.as_str(), reported.words.as_str()))
        .collect();
    let counts = "each person counts with at most 3 rows and in at most 2 groups";
    assert_eq!(
        words,
        [
            ("n", counts),
            (
                "m",
                "each person counts in at most 2 groups; minutes is clamped to 0..60; a person's sum of minutes to 0..180"
            ),
            ("c", &format!("{counts}; cost is clamped to 0..100")[..]),
            ("twice", counts),
        ]
    );
    let reported = serde_json::to_value(&answer.bounds[1]).unwrap();
    assert_eq!(reported["groups_per_unit"], 2);
    assert_eq!(
        reported["clamps"][0],
        serde_json::json!({ "of": "minutes", "low": 0.0, "high": 60.0 })
    );
    assert_eq!(reported["unit_sums"][0]["high"], 180.0);
    let one_row = ask(&bench, "SELECT COUNT(*), AVG(age) FROM people");
    let kinds: Vec<IntervalOf> = one_row
        .bounds
        .iter()
        .map(|reported| reported.interval_of)
        .collect();
    assert_eq!(kinds, [IntervalOf::WholeData, IntervalOf::AllRows]);
    assert!(one_row.cut.is_empty(), "nothing can be cut of one row");
}

/// What a query's own words leave of a person is what it pays for: here once in each department, twice in all, and once.
#[test]
fn a_query_pays_for_what_it_leaves_of_a_person() {
    let bench = limited(NEARLY_EXACT, "groups = 5\nrows_per_group = 5\n");
    let numbered = |partition: &str, condition: &str, grouped: &str| {
        format!(
            "SELECT {grouped} COUNT(*) AS n FROM (SELECT person, department, ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY day, minutes) AS k FROM visits) AS t WHERE {condition}{}",
            if grouped.is_empty() {
                ""
            } else {
                " GROUP BY department"
            }
        )
    };
    // Visits of a person are in three departments in turn.
    let visits = |person: usize| person % 5;
    let people = || 0..crate::harness::PEOPLE;
    let pairs: usize = people().map(|person| visits(person).min(3)).sum();
    let somebody = people().filter(|person| visits(*person) > 0).count();
    let two: usize = people().map(|person| visits(person).min(2)).sum();
    let windows = "windows use at most 10000 rows of each person";
    let texts = ", or 8192 if all columns of text are needed";
    let by = "department,";
    let cases = [
        (
            "SELECT department, COUNT(*) AS n FROM (SELECT DISTINCT person, department FROM visits) AS t GROUP BY department".to_owned(),
            pairs,
            "each person counts in at most 4 groups".to_owned(),
        ),
        (
            "SELECT department, COUNT(*) AS n FROM (SELECT person, department, SUM(minutes) AS m FROM visits GROUP BY person, department) AS t GROUP BY department".to_owned(),
            pairs,
            "each person counts in at most 4 groups".to_owned(),
        ),
        (
            numbered("person, department", "k = 1", by),
            pairs,
            format!("each person counts in at most 4 groups; {windows}{texts}"),
        ),
        // Once in each department may be several times in all.
        (
            numbered("person, department", "k = 1", ""),
            pairs,
            format!("each person counts with at most 5 rows; {windows}{texts}"),
        ),
        (numbered("person", "k = 1", by), somebody, windows.to_owned()),
        (numbered("person", "1 >= k", ""), somebody, windows.to_owned()),
        (
            numbered("person", "k < 3", by),
            two,
            format!("each person counts with at most 2 rows; {windows}"),
        ),
        (
            numbered("person", "k BETWEEN 2 AND 3", ""),
            people().map(|person| visits(person).min(3).saturating_sub(1)).sum(),
            format!("each person counts with at most 2 rows; {windows}"),
        ),
        // Which of the numbers it is leaves one row of each person.
        (
            numbered("person", "k = 2", ""),
            people().filter(|person| visits(*person) > 1).count(),
            windows.to_owned(),
        ),
    ];
    for (sql, truth, words) in cases {
        let answer = ask(&bench, &sql);
        let total: f64 = answer
            .rows
            .iter()
            .map(|row| row.last().unwrap().value.as_f64().unwrap())
            .sum();
        assert!(
            (total - truth as f64).abs() < 2.0,
            "{sql}: {total} instead of {truth}"
        );
        assert_eq!(answer.bounds.last().unwrap().words, words, "{sql}");
    }
    // A join that repeats rows makes several of what was there once.
    let repeated = ask(
        &bench,
        "SELECT department, COUNT(*) AS n FROM (SELECT DISTINCT person, department FROM visits) AS t JOIN regions ON country = 'A' GROUP BY department",
    );
    assert_eq!(
        repeated.bounds[0].words,
        "each person counts with at most 5 rows and in at most 4 groups"
    );
}

/// Rows that hold several texts are put in order in smaller numbers, and only so many rows count for a MODE.
#[test]
fn what_a_window_or_a_mode_leaves_out_is_said() {
    let catalog = CATALOG
        .replace("EPSILON", "1")
        .replace("NEIGHBORS", "add_remove")
        .replace(
            "[tables.visits.columns]",
            "rows_per_unit = 10000\n[tables.visits.columns]",
        );
    let bench = Bench::with(&catalog);
    let numbered = |order: &str| {
        let sql = format!(
            "SELECT COUNT(DISTINCT person) AS n FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY person ORDER BY {order}) AS k FROM visits) AS t WHERE k = 2"
        );
        ask(&bench, &sql).bounds[0].words.clone()
    };
    assert_eq!(numbered("minutes"), "nothing of any person is cut");
    assert_eq!(
        numbered("department"),
        "windows use at most 10000 rows of each person, or 8192 if all columns of text are needed"
    );
    let mode = ask(&bench, "SELECT MODE(department) AS m FROM visits");
    assert_eq!(mode.bounds[0].words, "each person counts with at most 5 rows");
}

#[test]
fn what_was_cut_is_estimated_and_in_the_interval() {
    let bench = limited(NEARLY_EXACT, "groups = 1\nrows_per_group = 1\n");
    let answer = ask(&bench, "SELECT COUNT(*) AS n FROM visits");
    let cut = &answer.cut[0];
    // 240 of 320 persons have more than one visit, and 480 of 800 visits do not count.
    assert!((cut.units_over.estimate - 0.75).abs() < 0.01, "{cut:?}");
    assert!(
        (cut.cut.estimate - 0.6).abs() < 0.01 && cut.of == "rows",
        "{cut:?}"
    );
    assert!(
        cut.included && cut.words.contains("the intervals include what is cut"),
        "{cut:?}"
    );
    assert_eq!(answer.bounds[0].interval_of, IntervalOf::WholeData);
    assert_eq!(answer.bounds[0].interval_within_times, Some(16));
    let cell = &answer.rows[0][0];
    assert!((cell.value.as_f64().unwrap() - VISITS).abs() < 2.0, "{cell:?}");
    assert!(
        cell.low.unwrap() <= VISITS && VISITS <= cell.high.unwrap(),
        "{cell:?}"
    );
    // By department a person is in several groups, of which one counts.
    let grouped = ask(
        &bench,
        "SELECT department, COUNT(*) AS n, SUM(minutes) AS m FROM visits GROUP BY department",
    );
    let total: f64 = grouped
        .rows
        .iter()
        .map(|row| row[1].value.as_f64().unwrap())
        .sum();
    assert!((total - VISITS).abs() < 5.0, "{total}");
    assert_eq!(grouped.bounds[0].interval_of, IntervalOf::WholeData);
    assert!(
        grouped.bounds[0].interval_if_alike && grouped.cut[0].words.ends_with("lose about the same part")
    );
    // Sums are read once more with values clamped later.
    assert_eq!(grouped.bounds[1].interval_of, IntervalOf::WholeData);
    assert_eq!(grouped.bounds[1].interval_within_times, Some(4));
    assert!(!grouped.bounds[1].interval_if_alike);
    // Without the estimate the answer is what the limits leave, and says so.
    let bounded = bench.ask("SELECT COUNT(*) AS n FROM visits").unwrap();
    assert!((bounded.rows[0][0].value.as_f64().unwrap() - 320.0).abs() < 2.0);
    assert_eq!(bounded.bounds[0].interval_of, IntervalOf::BoundedData);
    assert_eq!(bounded.bounds[0].interval_within_times, None);
    assert!(bounded.cut.is_empty());
    let share = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (cut_share = 0) COUNT(*) AS n FROM visits";
    assert!(ask(&bench, share).cut.is_empty());
}

/// Minutes are 10 to 25 in the data, and declared as at most 10: what that cuts is noticed, estimated and in the interval.
#[test]
fn what_clamps_of_values_cut_is_estimated_and_in_the_interval() {
    let sql = "SELECT SUM(minutes) AS m FROM visits";
    let limits = "groups = 5\nrows_per_group = 5\n";
    let wide = limited(NEARLY_EXACT, limits);
    let truth = ask(&wide, sql).rows[0][0].value.as_f64().unwrap();
    let catalog = CATALOG
        .replace("EPSILON", NEARLY_EXACT)
        .replace("NEIGHBORS", "add_remove")
        .replace("bounds = [0, 60]", "bounds = [0, 10]");
    let bench = Bench::with(&catalog);
    let bounded = bench.ask(sql).unwrap();
    assert_eq!(bounded.bounds[0].interval_of, IntervalOf::BoundedData);
    let short = bounded.rows[0][0].value.as_f64().unwrap();
    assert!(short < 0.9 * truth, "{short} of {truth}");
    let answer = ask(&bench, sql);
    assert_eq!(answer.cut[0].of, "sum of minutes");
    let part = 1.0 - short / truth;
    assert!(
        (answer.cut[0].cut.estimate - part).abs() < 0.01,
        "{:?}",
        answer.cut[0]
    );
    assert_eq!(answer.bounds[0].interval_of, IntervalOf::WholeData);
    let cell = &answer.rows[0][0];
    assert!(
        (cell.value.as_f64().unwrap() - truth).abs() < 0.01 * truth,
        "{cell:?}"
    );
    assert!(
        cell.low.unwrap() <= truth && truth <= cell.high.unwrap(),
        "{cell:?}"
    );
}

#[test]
fn the_estimate_is_part_of_the_price() {
    let bench = limited("0.5", "groups = 1\nrows_per_group = 1\n");
    let answer = ask(&bench, "SELECT COUNT(*) AS n FROM visits");
    let price = answer.cost.as_ref().unwrap().epsilon().unwrap().to_f64_up();
    assert!(price <= 0.5 && price > 0.499_999, "{price}");
    let ask = QueryRequest::new("SELECT COUNT(*) AS n FROM visits", "tester");
    let reported = bench.dataset.explain(&ask, 1000).unwrap();
    let parts: Vec<(String, bool)> = reported
        .parts
        .iter()
        .map(|part| (part.epsilon.to_string(), part.estimates_cut))
        .collect();
    assert_eq!(
        parts,
        [("0.475", false), ("0.0125", true), ("0.0125", true)]
            .map(|(epsilon, cut)| (epsilon.to_owned(), cut))
    );
    assert!(
        reported.hints[0].contains("deniable limits visits"),
        "{:?}",
        reported.hints
    );
    let before = bench.dataset.cut_before(&ask).unwrap();
    assert_eq!(
        before, answer.cut,
        "what an earlier answer said is reported again"
    );
}

/// Of 60 runs that each succeed with probability 0.95 or more, fewer than 40 succeed with probability below 1e-11.
#[test]
fn intervals_of_many_rows_a_person_hold_the_raw_truth() {
    let bench = limited("1", "groups = 1\nrows_per_group = 1\n");
    let mut covered = 0;
    for run in 0..60 {
        let ask = QueryRequest {
            epsilon: Some(Epsilon::parse(&format!("5.{}", 500_000 + run)).unwrap()),
            ..QueryRequest::new("SELECT COUNT(*) FROM visits", "tester")
        };
        let cell = &bench.dataset.query(&ask).unwrap().answer.rows[0][0];
        covered += u32::from(cell.low.unwrap() <= VISITS && VISITS <= cell.high.unwrap());
    }
    assert!(covered >= 40, "{covered}");
}

#[test]
fn limits_are_found_and_used() {
    let catalog = CATALOG
        .replace("EPSILON", "10")
        .replace("NEIGHBORS", "add_remove")
        .replace(
            "groups = 5\nrows_per_group = 5\n",
            "groups = 1\nrows_per_group = 1\n",
        );
    let bench = Bench::with(&catalog);
    let find = FindLimits {
        table: "visits".to_owned(),
        // So much that what is found is what the rows have.
        epsilon: Epsilon::parse("100000").unwrap(),
        group_by: Vec::new(),
        analyst: "tester".to_owned(),
    };
    let found = bench.dataset.find_limits(&find, &mut |_| ()).unwrap();
    // Nobody has more than 4 visits, nor is in more than 3 departments.
    assert!(
        found.limits.rows.is_some_and(|rows| (3..=5).contains(&rows)),
        "{:?}",
        found.limits
    );
    let by = &found.limits.by["department"];
    assert!(
        by.groups.is_some_and(|groups| (2..=4).contains(&groups)),
        "{by:?}"
    );
    let edited = with_limits(&catalog, &found, bench.directory.path()).unwrap();
    assert!(edited.contains("[tables.visits.limits]"), "{edited}");
    let again = bench.dataset.find_limits(&find, &mut |_| ()).unwrap();
    assert!(again.repeated && again.limits == found.limits);
    let tuned = Bench::with(&edited);
    let reported = tuned
        .dataset
        .explain(
            &QueryRequest::new("SELECT SUM(minutes) FROM visits", "tester"),
            1000,
        )
        .unwrap();
    assert!(reported.hints.is_empty());
    let cap = found.limits.sums["minutes"].high;
    assert_eq!(reported.bounds[0].unit_sums[0].high, cap);
    let refused = |table: &str| {
        let find = FindLimits {
            table: table.to_owned(),
            ..find.clone()
        };
        bench
            .dataset
            .find_limits(&find, &mut |_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(refused("people").contains("one row"));
    assert!(refused("regions").contains("public"));
    assert!(refused("nothing").contains("no table"));
}

/// Months have limits of their own, and a query that groups by month has them however it writes that.
#[test]
fn limits_of_an_expression_are_found_and_used() {
    let catalog = CATALOG
        .replace("EPSILON", NEARLY_EXACT)
        .replace("NEIGHBORS", "add_remove")
        .replace(
            "day = { kind = \"date\" }",
            "day = { kind = \"date\", bounds = [\"2024-01-01\", \"2024-12-31\"] }",
        );
    let bench = Bench::with(&catalog);
    let months = "date_trunc('month', day)";
    let find = FindLimits {
        table: "visits".to_owned(),
        epsilon: Epsilon::parse("100000").unwrap(),
        group_by: vec![months.to_owned(), "department".to_owned()],
        analyst: "tester".to_owned(),
    };
    let found = bench.dataset.find_limits(&find, &mut |_| ()).unwrap();
    let by = &found.limits.by[months];
    // Visits of one person are at most four, and in as many months.
    assert!(
        by.groups.is_some_and(|groups| (3..=12).contains(&groups)),
        "{by:?}"
    );
    assert_ne!(*by, found.limits.by["department"]);
    let edited = with_limits(&catalog, &found, bench.directory.path()).unwrap();
    let tuned = Bench::with(&edited);
    let words = |sql: &str| ask(&tuned, sql).bounds.last().unwrap().words.clone();
    let counted = |limits: &sql::catalog::Limits, groups: u64| {
        let in_group = limits.rows_per_group.unwrap();
        let all = limits.rows.or(found.limits.rows);
        let all = all.filter(|all| *all < in_group * groups);
        let in_all = all.map(|all| {
            format!(" and with at most {all} rows in all groups together, scaled down if there are more")
        });
        format!(
            "each person counts with at most {in_group} row{} and in at most {groups} groups{}",
            if in_group == 1 { "" } else { "s" },
            in_all.unwrap_or_default()
        )
    };
    let of_months = counted(by, by.groups.unwrap());
    for sql in [
        "SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m",
        "SELECT DATE_TRUNC('month', v.day), COUNT(*) AS n FROM visits AS v GROUP BY 1",
        "SELECT COUNT(*) AS n FROM visits WHERE minutes > 0 GROUP BY (date_trunc('month', day))",
    ] {
        assert_eq!(words(sql), of_months, "{sql}");
    }
    // Of another grouping they say nothing.
    let department = &found.limits.by["department"];
    assert_eq!(
        words("SELECT department, COUNT(*) AS n FROM visits GROUP BY department"),
        counted(department, department.groups.unwrap())
    );
    assert_eq!(
        words("SELECT COUNT(*) AS n FROM visits GROUP BY date_trunc('quarter', day)"),
        counted(&found.limits, found.limits.groups.unwrap().min(5))
    );
    let wrong = FindLimits {
        group_by: vec!["date_trunc('month', dy)".to_owned()],
        ..find
    };
    let error = bench
        .dataset
        .find_limits(&wrong, &mut |_| ())
        .unwrap_err()
        .to_string();
    assert!(error.contains("dy"), "{error}");
}

/// Where no limits are stated for what a question groups by, a share of its ε finds them: once, before it is answered, and what it costs in all is no more than was asked.
#[test]
fn limits_are_found_for_a_share_of_the_question() {
    let catalog = |limits: &str| {
        CATALOG
            .replace("EPSILON", NEARLY_EXACT)
            .replace("NEIGHBORS", "add_remove")
            .replace("[limits]\n", "find_limits = 0.25\n[limits]\n")
            .replace("groups = 5\nrows_per_group = 5\n", limits)
            .replace(
                "day = { kind = \"date\" }",
                "day = { kind = \"date\", bounds = [\"2024-01-01\", \"2024-12-31\"] }",
            )
    };
    let bench = Bench::with(&catalog("groups = 300\nrows_per_group = 900\n"));
    let spent = || -> Vec<f64> {
        let charges = bench.dataset.with_ledger(|store| Ok(store.charges()?)).unwrap();
        let epsilon = |charge: &ledger::Entry| match charge.guarantee.promise() {
            accounting::Promise::Pure(epsilon) | accounting::Promise::Approximate(epsilon, _) => {
                exact::to_f64_nearest(epsilon.as_rational())
            }
            accounting::Promise::Concentrated(_) => f64::NAN,
        };
        charges.iter().map(epsilon).collect()
    };
    let explained = |sql: &str| {
        bench
            .dataset
            .explain(&QueryRequest::new(sql, "tester"), 100)
            .unwrap()
    };
    for (place, sql) in [
        "SELECT department, COUNT(*) AS n, SUM(minutes) AS m FROM visits GROUP BY department",
        "SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month",
        "SELECT SUM(minutes) AS n FROM visits WHERE minutes > 0",
    ]
    .into_iter()
    .enumerate()
    {
        let before = explained(sql);
        assert!(
            before.hints[0].contains("found first, for ε = 25000"),
            "{:?}",
            before.hints
        );
        let first = bench.dataset.query(&QueryRequest::new(sql, "tester")).unwrap();
        assert!(!first.repeated);
        // Nobody has more than four visits.
        let counted = &first.answer.bounds.last().unwrap();
        assert!(
            counted.rows_per_unit.is_none_or(|rows| rows <= 5),
            "{sql}: {counted:?}"
        );
        assert!(
            counted.groups_per_unit.is_none_or(|groups| groups <= 12),
            "{sql}: {counted:?}"
        );
        assert!(
            first.answer.notes.iter().any(|note| note.contains("found first")),
            "{sql}"
        );
        let charged = spent();
        assert_eq!(charged.len(), 2 * place + 2, "{sql}");
        let both: f64 = charged[2 * place..].iter().sum();
        assert!((99_000.0..=100_000.0).contains(&both), "{sql} costs {both}");
        let again = bench.dataset.query(&QueryRequest::new(sql, "another")).unwrap();
        assert!(again.repeated && again.answer == first.answer, "{sql}");
        assert_eq!(spent().len(), charged.len());
        let after = explained(sql);
        assert!(
            !after.hints.iter().any(|hint| hint.contains("found first")),
            "{:?}",
            after.hints
        );
        assert!(
            after.parts[0].statistics[0].l1 < before.parts[0].statistics[0].l1,
            "{sql}"
        );
    }
    // What is stated stands: by the query, by its structure, or by the catalog.
    for sql in [
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 3, max_rows_contributed = 2) department, AVG(minutes) FROM visits GROUP BY department",
        "SELECT COUNT(DISTINCT person) FROM visits",
        "SELECT COUNT(*) FROM (SELECT person, MAX(minutes) AS m FROM visits GROUP BY person) AS t WHERE m > 10",
        "SELECT AVG(age) FROM people",
    ] {
        let hints = explained(sql).hints;
        assert!(
            !hints.iter().any(|hint| hint.contains("found first")),
            "{sql}: {hints:?}"
        );
    }
    let stated = Bench::with(&catalog(
        "groups = 5\nrows_per_group = 5\nby = { department = { groups = 2, rows_per_group = 2 } }\n",
    ));
    let sql = "SELECT department, COUNT(*) AS n FROM visits GROUP BY department";
    let words = &ask(&stated, sql).bounds[0].words.clone();
    assert!(words.contains("2 rows and in at most 2 groups"), "{words}");
    // Where nothing is left for the question, nothing is spent on its limits.
    let poor = Bench::with(
        &catalog("groups = 5\nrows_per_group = 5\n").replace("epsilon = 1000000000", "epsilon = 100000"),
    );
    let ask_for = |epsilon: &str| {
        let request = QueryRequest {
            epsilon: Some(Epsilon::parse(epsilon).unwrap()),
            ..QueryRequest::new(sql, "tester")
        };
        poor.dataset.query(&request)
    };
    let refused = ask_for("200000").unwrap_err().to_string();
    assert!(refused.contains("left"), "{refused}");
    assert_eq!(
        poor.dataset
            .with_ledger(|store| Ok(store.charges()?))
            .unwrap()
            .len(),
        0
    );
    assert!(ask_for("50000").is_ok());
}
