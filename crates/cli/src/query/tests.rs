//! What people and programs see of an answer.

use super::{cells, summary};
use accounting::{Epsilon, Guarantee, Neighbors, PrivacyUnit, Promise};
use serde_json::json;
use sql::{
    Answer, AnswerColumn, Answered, Cell, CellKind, CellValue, ColumnBounds, Cost, CutEstimate, IntervalOf,
    Share,
};

fn column(name: &str, kind: CellKind, noisy: bool) -> AnswerColumn {
    AnswerColumn {
        name: name.to_owned(),
        kind,
        noisy,
        chosen: false,
        no_interval: None,
    }
}

fn cell(value: impl Into<CellValue>, low: Option<f64>, high: Option<f64>) -> Cell {
    Cell {
        value: value.into(),
        low,
        high,
    }
}

fn near(value: impl Into<CellValue>, half: f64) -> Cell {
    let value = value.into();
    let middle = value.as_f64().unwrap();
    cell(value, Some(middle - half), Some(middle + half))
}

fn answer() -> Answer {
    Answer {
        columns: vec![
            column("region", CellKind::Text, false),
            column("people", CellKind::Int, true),
            column("average, age", CellKind::Float, true),
        ],
        rows: vec![
            vec![
                cell("Ashford", None, None),
                near(25_031, 5.99),
                near(41.237_91, 0.031_7),
            ],
            vec![
                cell("=1+1, \"quoted\"", None, None),
                near(-3, 5.99),
                cell(99.2, Some(12.0), Some(100.0)),
            ],
            vec![
                cell(CellValue::Null, None, None),
                near(12, 5.99),
                cell(CellValue::Null, None, None),
            ],
        ],
        confidence: 0.95,
        bounds: vec![
            bounds("people", IntervalOf::WholeData, "nothing of any person is cut"),
            bounds("average, age", IntervalOf::AllRows, "age is clamped to 0..100"),
        ],
        cut: vec![CutEstimate {
            about: "people".to_owned(),
            units_over: share(0.25),
            of: "rows".to_owned(),
            cut: share(0.5),
            included: false,
            words: "about half of the rows is cut".to_owned(),
        }],
        notes: vec!["all declared groups appear".to_owned()],
        cost: Some(Cost {
            guarantee: Guarantee::new(
                Promise::Pure(Epsilon::parse("0.5").unwrap()),
                PrivacyUnit::new("person", Neighbors::AddRemove),
            ),
            charge: 2,
        }),
    }
}

fn bounds(column: &str, interval_of: IntervalOf, words: &str) -> ColumnBounds {
    ColumnBounds {
        column: column.to_owned(),
        unit: "person".to_owned(),
        rows_per_unit: None,
        groups_per_unit: None,
        rows_in_all_groups: None,
        sums_in_all_groups: Vec::new(),
        distinct_per_unit: None,
        clamps: Vec::new(),
        unit_sums: Vec::new(),
        left_out: Vec::new(),
        interval_of,
        interval_within_times: None,
        interval_if_alike: false,
        words: words.to_owned(),
    }
}

fn share(estimate: f64) -> Share {
    Share {
        estimate,
        low: estimate,
        high: estimate,
    }
}

fn answered(repeated: bool, share: Option<&str>) -> Answered {
    let epsilon = |text: &str| Epsilon::parse(text).unwrap();
    Answered {
        answer: answer(),
        repeated,
        resumed: false,
        left: ledger::Left {
            epsilon: epsilon(share.unwrap_or("9.5")),
            dataset: epsilon("9.5"),
            share: share.map(epsilon),
        },
        receipt: None,
    }
}

#[test]
fn a_table_shows_the_digits_that_noise_leaves() {
    insta::assert_snapshot!(cells::table(&answer()), @r#"
    region          people  ±  average, age         ±
    ──────────────  ──────  ─  ────────────  ────────
    Ashford          25031  6        41.238     0.032
    =1+1, "quoted"      -3  6            99  12 … 100
    ∅                   12  6             ∅
    "#);
}

/// One cell as it is shown.
fn shown(kind: CellKind, value: Cell) -> String {
    let answer = Answer {
        columns: vec![column("x", kind, true)],
        rows: vec![vec![value]],
        ..answer()
    };
    let text = cells::table(&answer).to_string();
    let line = text.lines().last().unwrap();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn digits_follow_the_interval() {
    let float = |value: f64, half: f64| shown(CellKind::Float, near(value, half));
    assert_eq!(float(1_234_567.89, 12_345.6), "1234568 12346");
    assert_eq!(float(123.456, 12.01), "123 13");
    assert_eq!(float(123.456, 1.201), "123.5 1.3");
    assert_eq!(float(0.5, 0.3), "0.50 0.30");
    assert_eq!(float(-0.000_1, 0.5), "0.00 0.50");
    assert_eq!(float(2.5e20, 1e18), "2.50000e20 1.00000e18");
    assert_eq!(float(3.0, 0.0), "3 0");
    let whole = |value: i64, half: f64| shown(CellKind::Int, near(value, half));
    assert_eq!(whole(1_234_567, 2.1), "1234567 3");
    assert_eq!(whole(7, 0.69), "7 1");
    // What floats lost on the way is no reason for another whole number.
    assert_eq!(whole(7, 2.000_000_000_01), "7 2");
    let ends = |low, high| shown(CellKind::Float, cell(5.25, low, high));
    assert_eq!(ends(Some(-3.21), Some(60.01)), "5 -4 … 61");
    // Nearly the same on both sides: the farther one holds both.
    assert_eq!(ends(Some(-94.0), Some(107.25)), "5 102");
    assert_eq!(ends(Some(1.0), None), "5.25 ≥ 1");
    assert_eq!(ends(None, Some(8.5)), "5.25 ≤ 9");
    assert_eq!(ends(None, None), "5.25");
}

#[test]
fn csv_is_quoted_and_otherwise_left_as_it_is() {
    let text = String::from_utf8(answer().to_csv()).unwrap();
    insta::assert_snapshot!(text, @r#"
    region,people,people_low,people_high,"average, age","average, age_low","average, age_high"
    Ashford,25031,25025,25037,41.23791,41.20621,41.26961
    "=1+1, ""quoted""",-3,-9,3,99.2,12,100
    ,12,6,18,,,
    "#);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let first: Vec<String> = reader
        .records()
        .map(|record| record.unwrap()[0].to_owned())
        .collect();
    assert_eq!(first, ["Ashford", "=1+1, \"quoted\"", ""]);
}

#[test]
fn a_program_gets_everything() {
    let answered = answered(false, Some("0.25"));
    let reported = answered.to_json();
    let keys: Vec<&String> = reported.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "columns",
            "rows",
            "confidence",
            "bounds",
            "cut",
            "cost",
            "repeated",
            "resumed",
            "left",
            "notes",
            "receipt"
        ]
    );
    assert_eq!(reported["rows"][0]["region"], json!({ "value": "Ashford" }));
    assert_eq!(
        reported["rows"][1]["people"],
        json!({ "value": -3, "low": -9, "high": 3 })
    );
    assert_eq!(
        reported["rows"][2]["average, age"],
        json!({ "value": null, "low": null, "high": null })
    );
    assert_eq!(
        reported["left"],
        json!({ "epsilon": "0.25", "dataset": "9.5", "share": "0.25" })
    );
    assert_eq!(
        reported["columns"][1],
        json!({ "name": "people", "kind": "int", "noisy": true })
    );
}

#[test]
fn what_it_cost_is_said() {
    insta::assert_snapshot!(summary::text(&answered(false, None), "ann"), @r"
    cost: ε = 0.5 for each person, added or removed (charge 2); the same question again is free
    left: ε = 9.5 (if spent in one more query)
    ±: with 95 % confidence each interval holds the truth (people); or the truth of all rows, with values clamped (average, age)
    bounds of people: nothing of any person is cut
    bounds of average, age: age is clamped to 0..100
    cut: about half of the rows is cut
    note: all declared groups appear
    ");
    let repeated = summary::text(&answered(true, Some("0.25")), "ann");
    assert!(
        repeated.starts_with("free: this was answered before, for ε = 0.5 "),
        "{repeated}"
    );
    assert!(
        repeated.contains("left: ε = 0.25 (if spent in one more query by ann, whose share it is; everybody together has ε = 9.5)"),
        "{repeated}"
    );
}
