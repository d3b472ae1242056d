//! `deniable account` as a person or a program uses it: the built binary, its output, its files and its exit
//! codes.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Runs a line of words without spaces in them.
fn line(text: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_deniable"))
        .arg("account")
        .args(text.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn object(text: &str) -> Value {
    let output = line(text);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 1, "one object on one line");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A file in a folder that is gone after the test.
fn scratch(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn bad_questions_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = scratch(&folder, "empty.toml", "");
    let unknown = scratch(&folder, "unknown.json", "[{\"cauchy\": {\"scale\": 1}}]");
    let huge = scratch(&folder, "huge.toml", &"# a comment\n".repeat(400_000));
    let questions = [
        (String::new(), "no releases are described"),
        ("--laplace nonsense".to_owned(), "is not a finite number"),
        ("--cauchy 1".to_owned(), "unexpected argument"),
        ("--laplace 1 sgd".to_owned(), "cannot be used with"),
        ("sgd --rate 2 --sigma 1 --steps 1".to_owned(), "not a probability"),
        (
            "sgd --rate 1e-3 --sigma 1 --steps 1e12".to_owned(),
            "--steps is not a whole number",
        ),
        (format!("--events {empty}"), "the file is empty"),
        (
            format!("--events {unknown}"),
            "expected one of `laplace`, `gaussian`",
        ),
        (format!("--events {huge}"), "larger than 4 MiB"),
    ];
    for (words, expected) in questions {
        let output = line(&words);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(
            said.starts_with("error: ") && said.contains(expected),
            "{words}: {said}"
        );
        assert!(
            said.contains("hint: ") && !said.contains("panicked"),
            "{words}: {said}"
        );
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn a_program_reads_what_training_costs() {
    let reported = object("sgd --rate 256/60000 --sigma 1.1 --steps 14062 --delta 1e-5 --json");
    let number = |name: &str| {
        reported[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {reported}"))
    };
    let (lower, upper) = (number("epsilon_lower"), number("epsilon_upper"));
    // 2.381596921…, by a contour in other arithmetic.
    assert!(
        lower <= 2.381_597 && upper >= 2.381_596 && upper - lower < 1e-3,
        "{lower} to {upper}"
    );
    assert_eq!((number("delta"), reported["steps"].as_u64()), (1e-5, Some(14062)));
    assert_eq!(reported["sampler"], "poisson");
}

#[test]
fn a_figure_is_drawn_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join("drift.svg");
    let output = line(&format!("--laplace 0.1x100 --plot {}", path.display()));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let svg = fs::read_to_string(&path).expect("drawn");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for name in ["basic", "advanced", "optimal", "zCDP", "certified", "releases"] {
        assert!(svg.contains(name), "{name}");
    }
    assert_eq!(
        fs::read_dir(folder.path()).expect("the folder").count(),
        1,
        "nothing else is left"
    );
}

#[test]
fn help_teaches_with_examples() {
    for words in ["--help", "sgd --help", "-h"] {
        let output = line(words);
        assert_eq!(output.status.code(), Some(0));
        let text = stdout(&output);
        assert!(
            text.contains("Examples:") && text.contains("deniable account sgd"),
            "{text}"
        );
    }
    assert!(stdout(&line("--help")).contains("[[event]]"));
}
