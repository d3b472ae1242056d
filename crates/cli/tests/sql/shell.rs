//! Queries at a prompt, through a pipe: the same code except for the line editor.

use super::{Folder, command, stderr, text};
use std::io::Write;
use std::process::{Output, Stdio};

const COUNT: &str = "SELECT city, COUNT(*) AS n\nFROM people GROUP BY city ORDER BY city;\n";

fn shell(folder: &Folder, arguments: &[&str], typed: &str) -> Output {
    let mut child = command(folder.path("").as_path())
        .arg("shell")
        .args(arguments)
        .env("XDG_STATE_HOME", folder.path("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut input = child.stdin.take().expect("a pipe");
    // A shell that stops at an error reads no further.
    let _ = input.write_all(typed.as_bytes());
    drop(input);
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_pipe_spends_only_where_it_was_allowed_before() {
    let folder = Folder::new();
    let shown = shell(&folder, &[], COUNT);
    let said = stderr(&shown);
    assert_eq!(shown.status.code(), Some(0), "{said}");
    assert_eq!(text(&shown.stdout), "", "nothing was answered");
    for expected in [
        "cost: ε = 0.5 for each person, added or removed\nexpected error, in a group of 1000 rows: count(*) about ",
        " with 95 % confidence\nleft: ε = ",
        " like it fit\nnot asked: nobody can agree through a pipe; --yes lets questions spend\n",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(
        folder.names(),
        ["deniable.toml", "people.csv"],
        "and nothing charged"
    );
    // Nor does `\\go`, with which a person does not want to be asked back.
    let shown = shell(&folder, &[], &format!("{COUNT}\\go\n"));
    assert!(
        stderr(&shown).ends_with("--yes lets questions spend\n"),
        "{}",
        stderr(&shown)
    );
    let budget = folder.object(&["budget", "--json"]);
    assert_eq!(budget["charges"].as_array().map(Vec::len), Some(0));

    let asked = shell(&folder, &["--yes"], &format!("\\epsilon 0.25\n{COUNT}\\go\n"));
    let said = stderr(&asked);
    assert_eq!(asked.status.code(), Some(0), "{said}");
    for expected in [
        "questions that do not say it cost ε = 0.25",
        "cost: ε = 0.25 for each person, added or removed\nexpected error",
        "(charge ",
        "free: this was answered before",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    // The same answer as that of `query`, twice, and paid for once.
    let answer = folder.stdout(&["query", "--quiet", "--epsilon", "0.25", COUNT]);
    assert_eq!(text(&asked.stdout), answer.repeat(2));
    let budget = folder.object(&["budget", "--json"]);
    assert_eq!(budget["charges"].as_array().map(Vec::len), Some(1));
    // What is free needs no leave.
    let again = shell(&folder, &["--epsilon", "0.25"], COUNT);
    assert_eq!(text(&again.stdout), answer);
    // A pipe leaves no history.
    assert!(!folder.path("state").exists());
}

#[test]
fn commands_say_what_the_catalog_and_the_ledger_say() {
    let folder = Folder::new();
    let output = shell(
        &folder,
        &[],
        "\\help\n\\tables\n\\describe people\nDESCRIBE people;\n\\explain SELECT COUNT(*) FROM people\n\\explain\n\\budget\n\\epsilon\n\\quit\nSELECT nothing;\n",
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = text(&output.stdout);
    let described = folder.stdout(&["query", "DESCRIBE people"]);
    assert_eq!(shown.matches(&described).count(), 2, "{shown}");
    assert!(
        shown.contains(&folder.stdout(&["query", "SHOW TABLES"])),
        "{shown}"
    );
    let explained = folder.stdout(&["explain", "SELECT COUNT(*) FROM people"]);
    assert_eq!(shown.matches(&explained).count(), 2, "{shown}");
    assert!(
        shown.contains("\\describe TABLE") && shown.contains("nothing was charged yet"),
        "{shown}"
    );
    let said = stderr(&output);
    assert!(said.contains("cost ε = 0.5, as the catalog says"), "{said}");
}

/// A program that sends questions wants to know that one of them was not answered, and not that the last one
/// was.
#[test]
fn the_first_error_ends_a_pipe_with_its_code() {
    let folder = Folder::new();
    for (typed, code, hint) in [
        ("\\sell\n", 2, "\\help lists them"),
        ("\\go\n", 2, "write it behind the command"),
        ("\\epsilon much\n", 2, "hint: "),
        ("SELECT nothing FROM people;\n", 2, "hint: "),
        ("\\epsilon 2.5\nSELECT AVG(age) FROM people;\n", 3, "hint: "),
    ] {
        let output = shell(
            &folder,
            &["--yes"],
            &format!("{typed}SELECT COUNT(*) FROM people;\n"),
        );
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{typed}: {said}");
        assert!(said.contains("error: ") && said.contains(hint), "{typed}: {said}");
        assert_eq!(text(&output.stdout), "", "{typed}");
    }
    // An analyst who cannot pay may still look at the price.
    let output = shell(&folder, &["--analyst", "bob", "--epsilon", "0.6"], COUNT);
    assert!(
        stderr(&output).contains("this query does not fit"),
        "{}",
        stderr(&output)
    );
}
