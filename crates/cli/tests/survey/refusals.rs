//! Unusable input is refused with a hint, and nothing in a file makes the binary panic or quote the file.

use crate::{deniable, folder, refused, text, write};
use proptest::prelude::*;

#[test]
fn bad_input_is_refused_with_a_hint_and_without_data() {
    let folder = folder();
    let answers = write(
        folder.path(),
        "answers.csv",
        "village,cheated,town\n1,yes,Secretville\n2,no,Hiddenham\n",
    );
    let empty = write(folder.path(), "empty.csv", "");
    let bare = write(folder.path(), "bare.csv", "cheated\n");
    let file = text(&answers);
    let with = |more: &[&str]| refused(&[&["randomize", file, "--column", "cheated"], more].concat());
    let hinted = [
        with(&[]),
        with(&["--epsilon", "-1"]),
        with(&["--epsilon", "0"]),
        with(&["--epsilon", "NaN"]),
        with(&["--epsilon", "inf"]),
        with(&["--epsilon", "1e9"]),
        with(&["--epsilon", "one"]),
        with(&["--gamma", "0"]),
        with(&["--gamma", "0.5"]),
        with(&["--gamma", "-0.1"]),
        with(&["--gamma", "nan"]),
        with(&["--gamma", "0.25", "--answers", "a,b,c"]),
        with(&["--gamma", "0.25", "--mechanism", "unary"]),
        with(&["--epsilon", "1", "--answers", "yes"]),
        with(&["--epsilon", "1", "--answers", "yes,yes"]),
        with(&["--epsilon", "1", "--answers", "yes,,no"]),
        with(&["--epsilon", "1", "--keep", "hamlet"]),
        with(&["--epsilon", "1", "--keep", "town"]),
        with(&["--epsilon", "1", "--keep", "village,town"]),
        with(&["--epsilon", "1", "--keep", "cheated"]),
        with(&["--epsilon", "1", "--keep", "village, village"]),
        with(&["--epsilon", "1", "--answers", "yes,n\no"]),
        with(&["--epsilon", "1", "--output", file]),
        with(&["--epsilon", "1", "--output", "/nonexistent/folder/reports.csv"]),
        with(&["--epsilon", "1", "--json"]),
        refused(&["randomize", text(&empty), "--column", "cheated", "--epsilon", "1"]),
        refused(&["randomize", text(&bare), "--column", "cheated", "--epsilon", "1"]),
        refused(&[
            "randomize",
            "/nonexistent.csv",
            "--column",
            "cheated",
            "--epsilon",
            "1",
        ]),
        refused(&["randomize", file, "--column", "age", "--epsilon", "1"]),
        refused(&["estimate", file, "--column", "town", "--epsilon", "1"]),
        refused(&[
            "estimate",
            file,
            "--column",
            "cheated",
            "--epsilon",
            "1",
            "--confidence",
            "1",
        ]),
        refused(&[
            "estimate",
            file,
            "--column",
            "cheated",
            "--epsilon",
            "1",
            "--confidence",
            "NaN",
        ]),
        refused(&["estimate", text(&bare), "--column", "cheated", "--epsilon", "1"]),
        refused(&["simulate", "--fraction", "1.5"]),
        refused(&["simulate", "--fraction", "-0.5"]),
        refused(&["simulate", "--gamma", "0.75"]),
    ];
    for message in hinted {
        assert!(message.contains("\nhint: "), "{message}");
        assert!(
            !message.contains("Secretville") && !message.contains("Hiddenham"),
            "{message}"
        );
    }
    // These are refused by the parser of arguments, which says what is possible.
    let unknown = with(&["--epsilon", "1", "--mechanism", "telepathy"]);
    assert!(unknown.contains("local-hashing"));
    refused(&["simulate", "--people", "0"]);
    refused(&["simulate", "--epsilon", "1", "--gamma", "0.25"]);
    assert_eq!(
        std::fs::read_to_string(&answers)
            .expect("still there")
            .lines()
            .count(),
        3
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    // No panic (exit code 101), no crash, whatever is in the file and the parameters; and never a byte of the
    // file in an error.
    #[test]
    fn any_file_and_any_parameters_end_well(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..120),
            "(a|b|a,b)\n((yes|no|01|10|\"|,|\n|\r|7:1|é){0,3}\n){0,12}".prop_map(String::into_bytes),
        ],
        epsilon in prop_oneof!["-?[0-9]{1,3}(\\.[0-9]{1,3})?(e-?[0-9]{1,3})?", "\\PC{0,6}", Just("1".to_owned())],
        mechanism in prop::sample::select(vec!["randomized-response", "unary", "unary-symmetric", "local-hashing"]),
        answers in prop_oneof![Just("yes,no".to_owned()), "[a-c,]{0,8}"],
        confidence in prop_oneof![Just("0.95".to_owned()), "-?[0-9.e]{1,6}"],
    ) {
        let folder = folder();
        let marked = [&b"a,b\nMARKED,MARKED\n"[..], &bytes].concat();
        for file in [write(folder.path(), "any.csv", &bytes), write(folder.path(), "marked.csv", &marked)] {
            let (epsilon, answers) = (format!("--epsilon={epsilon}"), format!("--answers={answers}"));
            let confidence = format!("--confidence={confidence}");
            let reports = folder.path().join("reports.csv");
            let common = ["--column", "a", "--mechanism", mechanism, &epsilon, &answers];
            let runs = [
                [&["randomize", text(&file), "--output", text(&reports)], &common[..]].concat(),
                [&["estimate", text(&file), &confidence], &common[..]].concat(),
                [&["estimate", text(&reports), &confidence], &common[..]].concat(),
            ];
            for run in runs {
                let output = deniable(&run);
                let message = String::from_utf8_lossy(&output.stderr).into_owned();
                prop_assert!(matches!(output.status.code(), Some(0 | 2)), "{run:?}: {message}");
                prop_assert!(!message.contains("MARKED"), "{message}");
            }
        }
    }
}
