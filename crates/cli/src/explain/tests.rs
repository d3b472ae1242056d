//! Explanations as people read them.

use super::{Found, report};
use accounting::{Delta, Epsilon, Guarantee, Neighbors, PrivacyUnit, Promise};
use sql::{Explanation, IntervalOf, OutputLine, Part, StatisticLine, WantedError};

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
        shown_as: None,
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
            engine: None,
            groups: "12 declared ones, empty ones included; a person counts in at most 1".to_owned(),
            statistics: vec![
                statistic("rows", 1.0, 5.657),
                statistic("sum of age", 100.0, 565.7),
            ],
            outputs: vec![output("count(*)", Some(4.0)), output("odd", None)],
            epsilon: Epsilon::parse("0.5").unwrap(),
            delta: Delta::ZERO,
            plan: "Aggregate\n  TableScan".to_owned(),
            estimates_cut: false,
        }],
        bounds: Vec::new(),
        sets: None,
        hints: vec!["look for limits".to_owned()],
        after: "Projection".to_owned(),
        guarantee: Guarantee::new(
            Promise::Pure(Epsilon::parse("0.5").unwrap()),
            PrivacyUnit::new("person", Neighbors::AddRemove),
        ),
        group_size: 1000,
    }
}

#[test]
fn an_explanation_is_readable() {
    insta::assert_snapshot!(explanation().to_text(&[], true), @r"
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
    Where the answer notices that the limits cut something, its intervals include what was cut, and are about as wide as this where a twentieth is cut: ± 40.0 for count(*)

    what the engine is asked:
      Aggregate
        TableScan

    what is done with the released results, which is free:
      Projection

    hint: look for limits

    cost: ε = 0.5 for each person, added or removed
    ");
    assert!(!explanation().to_text(&[], false).contains("TableScan"));
}

#[test]
fn what_was_found_is_said_with_what_it_rests_on() {
    let found = Found {
        wanted: WantedError::Relative(0.02),
        epsilon: Epsilon::parse("0.05").unwrap(),
        known: None,
    };
    insta::assert_snapshot!(report::found(&found, &explanation(), 1000), @r"
    ε = 0.05 is the smallest, to three digits, for which every expected error is at most 2% of the largest value that a group can have,
    if a group has 1000 rows (--group-size); ask with: deniable query --epsilon 0.05 …
    These are errors of the noise, about the bounded data: what the limits cut comes on top, and the answer estimates how much that is.
    ");
    let known = sql::KnownSizes {
        rows: 412,
        groups: 24,
        charge: 3,
        all_alike: false,
    };
    let found = Found {
        known: Some(known),
        ..found
    };
    assert!(report::found(&found, &explanation(), 412).contains(
        "if a group has 412 rows (the median of the 24 groups that charge 3 counted; --group-size says another number)"
    ));
}
