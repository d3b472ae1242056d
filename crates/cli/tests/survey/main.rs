//! `deniable survey` as a person runs it: the built binary, real files, exit codes.

mod answers;
mod refusals;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn deniable(arguments: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_deniable");
    Command::new(binary)
        .arg("survey")
        .args(arguments)
        .output()
        .expect("the binary runs")
}

/// Runs a command that must succeed, and reads its JSON.
fn json(arguments: &[&str]) -> Value {
    let output = deniable(arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON on standard output")
}

/// Runs a command that must be refused, and returns what it says.
fn refused(arguments: &[&str]) -> String {
    let output = deniable(arguments);
    // Where JSON was asked for, the error is an object on standard output.
    if arguments.contains(&"--json") {
        let reported: Value = serde_json::from_slice(&output.stdout).expect("an object");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {reported}");
        let part = |name: &str| reported["error"][name].as_str().expect("text").to_owned();
        return format!("error: {}\nhint: {}", part("message"), part("hint"));
    }
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(
        output.stdout.is_empty() && message.starts_with("error: "),
        "{message}"
    );
    message
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("written");
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Answers of which half are red, three in ten green, a fifth blue.
fn colours(rows: usize) -> String {
    let colour = |row: usize| {
        [
            "red", "green", "red", "blue", "red", "green", "red", "blue", "red", "green",
        ][row % 10]
    };
    let rows: String = (0..rows)
        .map(|row| format!("{row},{},secret\n", colour(row)))
        .collect();
    format!("id,colour,diary\n{rows}")
}

#[test]
fn what_was_randomized_is_estimated() {
    let folder = folder();
    let answers = write(folder.path(), "answers.csv", colours(20_000));
    let reports = folder.path().join("reports.csv");
    let plot = folder.path().join("plot.svg");
    for mechanism in ["randomized-response", "unary", "unary-symmetric", "local-hashing"] {
        let method = [
            "--column",
            "colour",
            "--answers",
            "red,green,blue,none",
            "--mechanism",
            mechanism,
            "--epsilon",
            "2",
        ];
        let done = json(
            &[
                &["randomize", text(&answers), "--output", text(&reports), "--json"],
                &method[..],
            ]
            .concat(),
        );
        assert_eq!(
            done["guarantee"],
            "ε = 2 for each respondent, whose data may change"
        );
        let written = std::fs::read_to_string(&reports).expect("written");
        assert_eq!(written.lines().count(), 20_001);
        assert!(written.starts_with("colour\n") && !written.contains("secret"));
        // False alarm 1e-9 for each mechanism: what the intervals promise.
        let options = [
            "estimate",
            text(&reports),
            "--confidence",
            "0.999999999",
            "--json",
            "--plot",
            text(&plot),
        ];
        let estimate = json(&[&options, &method[..]].concat());
        for (row, truth) in [0.5, 0.3, 0.2, 0.0].iter().enumerate() {
            let row = &estimate["estimates"][row];
            let (low, high) = (
                row["low"].as_f64().expect("low"),
                row["high"].as_f64().expect("high"),
            );
            assert!(
                low <= *truth && *truth <= high,
                "{mechanism}: {row} against {truth}"
            );
            // The interval says something: a truth that is off by a quarter is outside.
            assert!(high - low < 0.25, "{mechanism}: {row}");
        }
        assert!(std::fs::read_to_string(&plot).expect("drawn").contains("<svg"));
        // Reports of one mechanism are not mistaken for those of another.
        let other = if mechanism == "unary" {
            "local-hashing"
        } else {
            "unary"
        };
        let wrong = [
            "--column",
            "colour",
            "--answers",
            "red,green,blue,none",
            "--mechanism",
            other,
            "--epsilon",
            "2",
        ];
        if mechanism != "unary-symmetric" {
            assert!(refused(&[&["estimate", text(&reports)], &wrong[..]].concat()).contains("row 1 "));
        }
    }
}

#[test]
fn simulation_agrees_with_the_theory() {
    let outcome = json(&["simulate", "--json"]);
    let number = |key: &str| outcome[key].as_f64().expect("a number");
    // 10^6 coins: by Hoeffding the mean is off by more than 0.007 with probability below 1e-9; a γ of 1.05
    // times as much moves it by 0.015.
    assert!((number("mean") - 0.2).abs() < 0.007);
    assert!((number("deviation_theory") - 0.0075f64.sqrt()).abs() < 1e-12);
    assert!((number("deviation_at_most") - 0.1).abs() < 1e-12);
    assert!((number("deviation_measured") / number("deviation_theory") - 1.0).abs() < 0.1);
    // About 0.7 % of surveys are below zero; none in 10,000 is less likely than 1e-30.
    assert!(number("share_negative") > 0.0 && number("share_negative") < 0.05);
    let surveys = outcome["histogram"]
        .as_array()
        .expect("bars")
        .iter()
        .map(|bar| bar["surveys"].as_u64().expect("a count"));
    assert_eq!(surveys.sum::<u64>(), 10_000);
}

#[test]
fn the_shape_of_json() {
    let folder = folder();
    let answers = write(folder.path(), "answers.csv", "cheated\nyes\nno\n\nperhaps\n");
    let reports = folder.path().join("reports.csv");
    let simulated = json(&[
        "simulate",
        "--people",
        "10",
        "--runs",
        "20",
        "--epsilon",
        "1",
        "--json",
    ]);
    let expected = [
        "command",
        "people",
        "truly_yes",
        "runs",
        "epsilon",
        "truth_probability",
        "truth",
        "mean",
        "share_negative",
        "deviation_measured",
        "deviation_theory",
        "deviation_at_most",
        "histogram",
    ];
    assert_eq!(keys(&simulated), expected);
    assert_eq!(keys(&simulated["histogram"][0]), ["low", "high", "surveys"]);
    let method = ["--column", "cheated", "--gamma", "1/4", "--json"];
    let done = json(
        &[
            &["randomize", text(&answers), "--output", text(&reports)],
            &method[..],
        ]
        .concat(),
    );
    let expected = serde_json::json!({
        "command": "survey randomize",
        "reports": 4,
        "column": "cheated",
        "kept": [],
        "output": text(&reports),
        "mechanism": "randomized-response",
        "answers": ["yes", "no"],
        "other_answers_count_as": "no",
        "epsilon": "1.09861228866811",
        "guarantee": "ε = 1.09861228866811 for each respondent, whose data may change",
        "confidence": 0.95,
        "half_width": done["half_width"],
    });
    assert_eq!(done, expected);
    let estimate = json(&[&["estimate", text(&reports)], &method[..]].concat());
    let expected = [
        "command",
        "reports",
        "column",
        "mechanism",
        "other_answers_count_as",
        "epsilon",
        "confidence",
        "half_width",
        "estimates",
    ];
    assert_eq!(keys(&estimate), expected);
    assert_eq!(
        keys(&estimate["estimates"][0]),
        ["answer", "fraction", "deviation", "low", "high"]
    );
    assert_eq!(estimate["estimates"].as_array().map(Vec::len), Some(2));
}

#[test]
fn kept_columns_are_copied_and_the_rest_is_dropped() {
    let folder = folder();
    let answers = write(
        folder.path(),
        "answers.csv",
        "name,town,cheated\nAda,\"X, Y\",yes\nBo,Z,\n",
    );
    let output = deniable(&[
        "randomize",
        text(&answers),
        "--column",
        "cheated",
        "--keep",
        "town",
        "--epsilon",
        "1",
    ]);
    let printed = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines[0], lines.len()), ("town,cheated", 3));
    assert!(lines[1].starts_with("\"X, Y\",") && lines[2].starts_with("Z,"));
    assert!(
        !printed.contains("Ada") && String::from_utf8_lossy(&output.stderr).contains("without noise: town")
    );
}

#[test]
fn help_teaches_with_examples() {
    for arguments in [
        &["--help"][..],
        &["simulate", "--help"],
        &["randomize", "--help"],
        &["estimate", "--help"],
    ] {
        let output = deniable(arguments);
        let help = String::from_utf8(output.stdout).expect("text");
        assert!(
            output.status.success() && help.contains("Example") && help.contains("deniable survey"),
            "{help}"
        );
    }
}
