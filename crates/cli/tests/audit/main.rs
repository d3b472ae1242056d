//! `deniable audit` as a person or a program uses it: the built binary, its output and its exit codes.

mod exact;
mod gate;
mod one_run;
mod rows;
mod run;

use serde_json::Value;
use std::process::{Command, Output, Stdio};

fn audit(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_deniable"))
        .arg("audit")
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

/// Runs a line of words without spaces in them.
fn line(text: &str) -> Output {
    audit(&text.split_whitespace().collect::<Vec<_>>())
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn object(output: &Output) -> Value {
    let text = stdout(output);
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(value.is_object());
    assert_eq!(text.lines().count(), 1, "one object on one line");
    value
}

/// Exit code 2, nothing on standard output, `error:` and `hint:` on standard error, no trace of a panic.
fn assert_refused(output: &Output, expected: &str) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: "), "{said}");
    assert!(said.contains(expected), "{expected} is not in: {said}");
    assert!(!said.contains("panicked"), "{said}");
    assert_eq!(stdout(output), "");
}

#[test]
fn bad_questions_are_refused() {
    for (words, expected) in [
        ("exact", "no mechanism is described"),
        ("exact --mechanism nonsense", "invalid value"),
        ("exact --mechanism laplace", "laplace needs scale"),
        ("exact --mechanism laplace --scale NaN", "not a finite number"),
        ("exact --mechanism laplace --scale -1", "scale must be positive"),
        ("exact --mechanism laplace --scale two", "not a number"),
        (
            "exact --mechanism laplace --scale 1 --epsilon -1",
            "--epsilon must not be negative",
        ),
        (
            "exact --mechanism laplace --scale 1 --delta 1",
            "--delta must be at least 0 and below 1",
        ),
        (
            "exact --mechanism laplace --scale 1 --claim-epsilon -0.5",
            "--claim-epsilon must not be negative",
        ),
        (
            "exact --mechanism laplace --scale 1 --claim-epsilon 1 --claim-delta 1.5",
            "--claim-delta must be",
        ),
        (
            "exact --mechanism laplace --scale 1 --claim-delta 0.5",
            "half a claim",
        ),
        (
            "run --claim-epsilon -1 --input-first 0 --input-second 1 -- cat",
            "must not be negative",
        ),
        (
            "run --claim-delta 1 --input-first 0 --input-second 1 -- cat",
            "below 1",
        ),
        (
            "run --confidence 1 --input-first 0 --input-second 1 -- cat",
            "confidence",
        ),
        (
            "run --confidence 0.99999999999999999999 --input-first 0 --input-second 1 -- cat",
            "too close to 1",
        ),
        (
            "run --confidence NaN --input-first 0 --input-second 1 -- cat",
            "not a finite number",
        ),
        (
            "run --samples 3 --input-first 0 --input-second 1 -- cat",
            "--samples must lie between",
        ),
        ("run --input-first 0 --input-second 1", "required"),
        ("gallery nonsense", "no mechanism is called"),
        ("gallery laplace --draws 5", "--draws must lie between"),
        ("gallery laplace --seconds 0", "--seconds must lie between"),
    ] {
        assert_refused(&line(words), expected);
    }
}

#[test]
fn the_auditor_tells_broken_from_correct() {
    let words = "gallery reused-noise sparse-vector-5 local-median float-laplace laplace geometric histogram --draws 150000 --seed 3 --json";
    let output = line(words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found = object(&output);
    assert_eq!(found["passed"], true);
    let mechanisms = found["mechanisms"].as_array().expect("a list");
    assert_eq!(mechanisms.len(), 7);
    for mechanism in mechanisms {
        assert_eq!(mechanism["right"], true, "{mechanism}");
    }
    // A seed and a number of draws give the same result again.
    assert_eq!(found, object(&line(words)));
    // An audit that does not look at low bits does not see what they reveal, and the verdict is reported as
    // wrong.
    let blind = line("self-test float-laplace --look values --draws 20000");
    assert_eq!(blind.status.code(), Some(4));
    assert!(stdout(&blind).contains("NO"));
    let listed = stdout(&line("gallery --list"));
    assert!(
        listed.contains("sparse-vector-6") && listed.contains("0.4200") && listed.contains('∞'),
        "{listed}"
    );
}

#[test]
fn help_teaches_with_examples() {
    for words in ["--help", "exact --help", "run --help", "gallery --help"] {
        let output = line(words);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains("Examples:"), "{words}");
    }
    let text = stdout(&line("exact --help"));
    assert!(
        text.contains("[mechanism]") && text.contains("first = [\"1/2\", \"1/2\"]"),
        "{text}"
    );
    assert!(stdout(&line("exact -h")).contains("geometric` is another name"));
    // A reader that has seen enough is no error.
    let mut closed = Command::new(env!("CARGO_BIN_EXE_deniable"))
        .args(["audit", "exact", "--mechanism", "laplace", "--scale", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(closed.stdout.take());
    assert!(closed.wait().expect("it ends").success());
}
