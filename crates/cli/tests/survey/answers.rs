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
    let reported = "Answers other than yes, no, spelled exactly so, count as `no`.\n";
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
            String::from_utf8_lossy(&output.stdout).contains(reported),
            "{output:?}"
        );
        assert_eq!(std::fs::read_to_string(&reports).expect("written"), expected);
        let output = deniable(&[&["estimate", text(&reports)], &common[..]].concat());
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(reported),
            "{output:?}"
        );
    }
}

/// Line breaks in answers were counted as respondents, and the second line of an answer was copied into kept
/// columns.
#[test]
fn line_breaks_in_quotes_are_nobody() {
    let folder = folder();
    let answers = write(
        folder.path(),
        "answers.csv",
        "id,a\n1,\"yes\nsecret,no\n\"\n2,no\n3,\"no\r\n\r\n\"\n",
    );
    let options = ["--column", "a", "--keep", "id", "--epsilon", "1"];
    let output = deniable(&[&["randomize", text(&answers)], &options[..]].concat());
    assert!(
        String::from_utf8_lossy(&output.stderr).starts_with("3 reports"),
        "{output:?}"
    );
    let printed = String::from_utf8(output.stdout).expect("text");
    let ids: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(ids, ["id", "1", "2", "3"]);
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

/// A comma or an open quote in an answer moved its text into a kept column to its right. Such columns are
/// refused, by the first line alone; and what is kept left of the answers is the same whatever the answers
/// are.
#[test]
fn no_piece_of_an_answer_reaches_a_kept_column() {
    let folder = folder();
    let run = |file: &str, keep: &str| {
        let answers = write(folder.path(), "answers.csv", file);
        deniable(&[
            "randomize",
            text(&answers),
            "--column",
            "c",
            "--keep",
            keep,
            "--epsilon",
            "1",
        ])
    };
    // Refused with harmless rows and with harmful ones, in the same words.
    let harmful = run("id,c,zip\n3,\"yes,333\n4,no way, really,444\n", "id,zip");
    let harmless = run("id,c,zip\n3,yes,333\n4,no,444\n", "id,zip");
    assert_eq!(harmful.status.code(), Some(2));
    assert!(harmful.stdout.is_empty() && harmful.stderr == harmless.stderr);
    let said = String::from_utf8_lossy(&harmful.stderr).into_owned();
    assert!(
        said.contains("to the right of the answers") && said.contains("hint: "),
        "{said}"
    );

    let kept = |file: &str| -> Vec<String> {
        let output = run(file, "town");
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8(output.stdout).expect("text");
        let town = |line: &str| line.rsplit_once(',').expect("two columns").0.to_owned();
        printed.lines().map(town).collect()
    };
    let file = |answer: &str| format!("id,town,c,zip\n1,A,no,1\n2,\"B, C\",{answer}\n3,D,no,3\n");
    for answer in [
        "yes,2",
        "secret, really,2",
        "\"secret,2",
        "\"secret\n",
        "\"\"\"secret",
        "",
        ",\",secret",
    ] {
        let kept = kept(&file(answer));
        assert_eq!(kept, ["town", "A", "\"B, C\"", "D"], "{answer}");
    }
    // What is left of the answer is broken: nothing of that line is kept, and nothing of any other line is
    // lost.
    for line in [
        "secret",
        "2,secret",
        "\"2,B,secret",
        "2,\"B,secret,2",
        "2,\"B,sec\"ret,2",
        "2,\"B\"B,secret",
    ] {
        let kept = kept(&format!("id,town,c,zip\n1,A,no,1\n{line}\n3,D,no,3\n"));
        assert_eq!(kept, ["town", "A", "", "D"], "{line}");
    }
}
