//! Explanations as people read them, and the search for an ε.

use super::report;
use super::search::{Found, Wanted, cheapest};
use accounting::Epsilon;
use sql::{Explanation, IntervalOf, OutputLine, Part, StatisticLine};

fn statistic(name: &str, high: f64, deviation: f64) -> StatisticLine {
    StatisticLine {
        name: name.to_owned(),
        low: 0.0,
        high,
        l1: high,
        l2: high,
        coordinates: 1,
        noise: "Laplace",
        deviation,
        share: 0.5,
    }
}

fn output(name: &str, error: Option<f64>) -> OutputLine {
    OutputLine {
        name: name.to_owned(),
        expected_error: error,
        half_width: error.map(|error| error * 3.0),
        interval_of: IntervalOf::BoundedData,
        half_width_if_cut: error.map(|error| error * 10.0),
        error_in: "units of the value",
        relative: error.map(|error| error / 1000.0),
    }
}

fn explanation() -> Explanation {
    Explanation {
        unit: "each person, added or removed".to_owned(),
        parts: vec![Part {
            rows: vec![
                "people: rows of the person in `person_id`".to_owned(),
                "kept where age >= 40".to_owned(),
            ],
            bounding: "none: one row a person".to_owned(),
            groups: "12 declared ones, empty ones included; a person counts in at most 1".to_owned(),
            statistics: vec![
                statistic("rows", 1.0, 5.657),
                statistic("sum of age", 100.0, 565.7),
            ],
            outputs: vec![output("count(*)", Some(4.0)), output("odd", None)],
            epsilon: "0.5".to_owned(),
            delta: "0".to_owned(),
            plan: "Aggregate\n  TableScan".to_owned(),
            estimates_cut: false,
        }],
        bounds: Vec::new(),
        hints: vec!["look for limits".to_owned()],
        after: "Projection".to_owned(),
        guarantee: "ε = 0.5 for each person, added or removed".to_owned(),
        group_size: 1000,
    }
}

#[test]
fn an_explanation_is_readable() {
    insta::assert_snapshot!(report::text(&explanation(), &[], true), @r"
    protects each person, added or removed

    rows:
      people: rows of the person in `person_id`
      kept where age >= 40
    bounding: none: one row a person
    groups: 12 declared ones, empty ones included; a person counts in at most 1

    released for each group, for ε = 0.5:
    statistic   one adds  to groups  Δ ℓ1  Δ ℓ2  noise    deviation  of the budget
    ──────────  ────────  ─────────  ────  ────  ───────  ─────────  ─────────────
    rows           0 … 1          1     1     1  Laplace       5.66         50.0 %
    sum of age   0 … 100          1   100   100  Laplace        566         50.0 %

    in a group of 1000 rows:
    column         expected error        95 % within ±  of the largest  in                  ± holds
    ────────  ───────────────────  ───────────────────  ──────────────  ──────────────────  ─────────────────────────────
    count(*)                 4.00                 12.0         0.400 %  units of the value  the truth of the bounded data
    odd       depends on the data  depends on the data                  units of the value
    Where the answer notices that the limits cut something, its intervals include what was cut, and are about as wide as this: ± 40.0 for count(*)

    what the engine is asked:
      Aggregate
        TableScan

    what is done with the released results, which is free:
      Projection

    hint: look for limits

    cost: ε = 0.5 for each person, added or removed
    ");
    assert!(!report::text(&explanation(), &[], false).contains("TableScan"));
}

/// An explanation whose one output has the error 1/ε.
fn reciprocal(epsilon: &Epsilon) -> Explanation {
    let mut told = explanation();
    let error = 1.0 / epsilon.to_f64_up();
    told.parts[0].outputs = vec![output("n", Some(error)), output("m", Some(error / 2.0))];
    told.parts[0].epsilon = epsilon.to_string();
    told
}

#[test]
fn the_smallest_epsilon_is_found() {
    let found = |wanted| {
        let mut asked = 0;
        let found = cheapest(wanted, |epsilon| {
            asked += 1;
            Ok(reciprocal(epsilon))
        });
        assert!(asked <= 16, "{asked} explanations");
        found.map(|found| found.epsilon.to_string())
    };
    assert_eq!(found(Wanted::Absolute(1.0)).unwrap(), "1");
    // 1/0.3 = 3.333…: 3.33 is too small.
    assert_eq!(found(Wanted::Absolute(0.3)).unwrap(), "3.34");
    assert_eq!(found(Wanted::Relative(0.002)).unwrap(), "0.5");
    assert_eq!(found(Wanted::Absolute(1e9)).unwrap(), "0.0001");
    let hopeless = found(Wanted::Absolute(1e-9)).unwrap_err();
    assert!(hopeless.message.contains("even ε = 999"), "{hopeless}");
}

#[test]
fn a_query_that_names_its_price_has_no_other() {
    let refusal = cheapest(Wanted::Absolute(1.0), |_| Ok(explanation())).unwrap_err();
    assert!(
        refusal.message.contains("the query itself says what it costs"),
        "{refusal}"
    );
    assert_eq!(refusal.code, 2);
    let unknown = cheapest(Wanted::Absolute(1.0), |epsilon| {
        let mut told = reciprocal(epsilon);
        told.parts[0].outputs.push(output("odd", None));
        Ok(told)
    });
    assert!(unknown.unwrap_err().message.contains("`odd` depends on the data"));
}

#[test]
fn what_was_found_is_said_with_what_it_rests_on() {
    let found = Found {
        wanted: Wanted::Relative(0.02),
        epsilon: Epsilon::parse("0.05").unwrap(),
    };
    insta::assert_snapshot!(report::found(&found, &explanation(), 1000), @r"
    ε = 0.05 is the smallest, to three digits, for which every expected error is at most 2% of the largest value that a group can have,
    if a group has 1000 rows (--group-size); ask with: deniable query --epsilon 0.05 …
    These are errors of the noise, about the bounded data: what the limits cut comes on top, and the answer estimates how much that is.
    ");
}
