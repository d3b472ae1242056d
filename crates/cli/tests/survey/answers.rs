//! Answers as people write them: what becomes of quotes, of other spellings, and of bytes that are no text.

use crate::{deniable, folder, text, write};

#[test]
fn a_stray_quote_costs_nobody_their_report() {
    let folder = folder();
    let answers = write(folder.path(), "answers.csv", "id,a\n1,yes\n2,\"no\n3,no\n4,no\n");
    let output = deniable(&[
        "randomize",
        text(&answers),
        "--column",
        "a",
        "--keep",
        "id",
        "--epsilon",
        "1",
    ]);
    let printed = String::from_utf8(output.stdout).expect("text");
    let ids: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(ids, ["id", "1", "2", "3", "4"]);
}

#[test]
fn what_is_no_answer_counts_as_the_last_and_every_run_says_so() {
    let folder = folder();
    let reports = folder.path().join("reports.csv");
    // At ε = 40 a report differs from its answer with probability below 1e-16.
    let common = ["--column", "a", "--epsilon", "40"];
    let told = "Answers other than yes, no, spelled exactly so, count as `no`.\n";
    for (answers, expected) in [
        ("a\nYes\n\n y e s\nnein\n", "a\nno\nno\nno\nno\n"),
        ("a\n yes \nno\n\tyes\n", "a\nyes\nno\nyes\n"),
    ] {
        let answers = write(folder.path(), "answers.csv", answers);
        let output = deniable(
            &[
                &["randomize", text(&answers), "--output", text(&reports)],
                &common[..],
            ]
            .concat(),
        );
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(told),
            "{output:?}"
        );
        assert_eq!(std::fs::read_to_string(&reports).expect("written"), expected);
        let output = deniable(&[&["estimate", text(&reports)], &common[..]].concat());
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(told),
            "{output:?}"
        );
    }
}

#[test]
fn kept_columns_are_printed_byte_for_byte() {
    let folder = folder();
    let answers = write(folder.path(), "answers.csv", b"town,a\nM\xfcnchen,yes\n");
    let output = deniable(&[
        "randomize",
        text(&answers),
        "--column",
        "a",
        "--keep",
        "town",
        "--epsilon",
        "1",
    ]);
    assert!(output.stdout.starts_with(b"town,a\nM\xfcnchen,"), "{output:?}");
}
