//! What a person sees when the ledger was changed, when the data is new, when the budget ends, and when
//! somebody presses Ctrl-C.

use super::{Folder, command, stderr, text};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::Duration;

const COUNT: &str = "SELECT COUNT(*) FROM people";

fn tampered(folder: &Folder, sql: &str) {
    let file = rusqlite::Connection::open(folder.path("clinic.ledger")).expect("a database");
    let drop = "DROP TRIGGER deniable_never_updated; DROP TRIGGER deniable_never_deleted;";
    file.execute_batch(&format!("{drop} {sql}")).expect("changed");
}

#[test]
fn a_ledger_that_was_written_to_answers_nothing() {
    let folder = Folder::new();
    folder.stdout(&["query", COUNT]);
    tampered(
        &folder,
        "UPDATE deniable_entries SET analyst = 'eve' WHERE number = 2",
    );
    // Without a word of `verify`, for new questions and for old ones.
    for question in [COUNT, "SELECT AVG(age) FROM people"] {
        let said = folder.refused(&["query", question], 3);
        assert!(
            said.contains("entry 2 of the ledger is wrong") && said.contains("release nothing"),
            "{said}"
        );
    }
    folder.refused(&["budget", "verify"], 4);
    // A person who only looks is reported as well.
    let said = folder.refused(&["budget"], 4);
    assert!(said.contains("entry 2 of the ledger is wrong"), "{said}");
}

#[test]
fn a_restored_backup_and_a_deleted_ledger_are_accepted_on_purpose() {
    let folder = Folder::new();
    folder.stdout(&["query", COUNT]);
    let old = std::fs::read(folder.path("clinic.ledger")).expect("a ledger");
    folder.stdout(&["query", "SELECT AVG(age) FROM people"]);
    std::fs::write(folder.path("clinic.ledger"), old).expect("restored");
    let said = folder.refused(&["query", COUNT], 3);
    assert!(
        said.contains("went back") && said.contains("accept-restored"),
        "{said}"
    );
    assert!(folder.refused(&["budget"], 4).contains("went back"));
    folder.refused(&["budget", "verify"], 4);
    let output = folder.run(&["budget", "accept-restored"]);
    assert!(
        stderr(&output).contains("3 entries are gone for good"),
        "{}",
        stderr(&output)
    );
    folder.stdout(&["query", COUNT]);
    std::fs::remove_file(folder.path("clinic.ledger")).expect("removed");
    let said = folder.refused(&["query", COUNT], 3);
    assert!(
        said.contains("the ledger is gone") && said.contains("--new-ledger"),
        "{said}"
    );
    // It is not shown as a new one with nothing spent.
    let shown = folder.refused(&["budget"], 4);
    assert_eq!(shown, said);
    folder.refused(&["budget", "adopt"], 4);
    let explained = folder.run(&["explain", COUNT]);
    assert_eq!(
        (explained.status.code(), stderr(&explained)),
        (Some(3), said.clone())
    );
    let explained = text(&explained.stdout);
    assert!(
        explained.contains("cost: ") && !explained.contains("left: "),
        "{explained}"
    );
    let as_object = folder.run(&["explain", "--json", COUNT]);
    let object: Value = serde_json::from_slice(&as_object.stdout).expect("one object");
    assert_eq!(
        (as_object.status.code(), &object["forecast"]),
        (Some(3), &Value::Null)
    );
    folder.refused(&["budget", "verify"], 4);
    folder.refused(&["budget", "accept-restored"], 4);
    folder.stdout(&["budget", "accept-restored", "--new-ledger"]);
    assert_eq!(folder.object(&["query", "--json", COUNT])["repeated"], false);
}

#[test]
fn new_data_is_declared() {
    let folder = Folder::new();
    assert_eq!(
        folder.object(&["data", "check", "--json"])["tables"]["people"],
        "unknown"
    );
    let first = folder.object(&["query", "--json", COUNT]);
    let mut rows = std::fs::read_to_string(folder.path("people.csv")).expect("rows");
    rows += "300,30,Ash,50\n";
    folder.write("people.csv", &rows);
    let second = folder.object(&["query", "--json", "SELECT COUNT(1) AS n FROM people AS p"]);
    assert_eq!(
        (&first["repeated"], &second["repeated"]),
        (&false.into(), &true.into())
    );
    let reported = folder.stdout(&["data", "release"]);
    assert!(
        reported.contains("the version of the data is 2 (it was 1)"),
        "{reported}"
    );
    let catalog = std::fs::read_to_string(folder.path("deniable.toml")).expect("a catalog");
    assert_eq!(catalog, format!("{}\n[data]\nversion = \"2\"\n", super::CATALOG));
    assert_eq!(folder.object(&["query", "--json", COUNT])["repeated"], false);
    folder.stdout(&["data", "check"]);
    folder.write("people.csv", &format!("{rows}301,30,Ash,50\n"));
    let said = folder.refused(&["data", "check"], 4);
    assert!(
        said.contains("1 of 1 tables changed without a new version"),
        "{said}"
    );
    // Nobody who asks is reported.
    let output = folder.run(&["query", COUNT]);
    assert!(
        output.status.success() && stderr(&output).starts_with("free: "),
        "{}",
        stderr(&output)
    );
    folder.refused(&["data", "release", "--version", "2"], 2);
    folder.stdout(&["data", "release", "--version", "2026-11"]);
    folder.refused(&["data", "release"], 2);
}

#[test]
fn errors_are_objects_where_json_was_asked_for() {
    let folder = Folder::new();
    let object = |arguments: &[&str], code: i32| -> Value {
        let output = folder.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            stderr(&output)
        );
        let read: Value = serde_json::from_slice(&output.stdout).expect("one object");
        assert_eq!(read["error"]["exit_code"], code);
        assert!(
            read["error"]["message"].is_string() && read["error"]["hint"].is_string(),
            "{read}"
        );
        read["error"].clone()
    };
    let bob = |query: &str| -> Vec<String> {
        ["query", "--json", "--analyst", "bob", query]
            .map(str::to_owned)
            .to_vec()
    };
    let words = bob(COUNT);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(folder.run(&words).status.success());
    let words = bob("SELECT AVG(age) FROM people");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let refused = object(&words, 3);
    assert_eq!(
        (&refused["kind"], &refused["cost"]),
        (&"refused".into(), &"ε = 0.5".into())
    );
    assert_eq!(
        (&refused["left_epsilon"], &refused["fits_epsilon"]),
        (&"0".into(), &Value::Null)
    );
    assert_eq!(object(&["query", "--json", "SELECT"], 2)["kind"], "bad_input");
    assert_eq!(
        object(&["query", "--format", "json", "SELECT * FROM people"], 2)["kind"],
        "bad_input"
    );
    assert_eq!(
        object(&["query", "--json", "--no-such-flag"], 2)["kind"],
        "bad_input"
    );
    assert_eq!(
        object(&["explain", "--json", "SELECT x FROM nothing"], 2)["kind"],
        "bad_input"
    );
    tampered(
        &folder,
        "UPDATE deniable_entries SET analyst = 'eve' WHERE number = 2",
    );
    assert_eq!(object(&["budget", "verify", "--json"], 4)["kind"], "check_failed");
}

#[test]
fn how_far_the_budget_goes_is_reported_beforehand() {
    let folder = Folder::new();
    let reported = folder.stdout(&["explain", COUNT]);
    assert!(
        reported.contains(
            "left: ε = 2 (if spent in one more query), ε = 1.5 after this one; about 4 like it fit"
        ),
        "{reported}"
    );
    let reported = folder.object(&["explain", "--json", "--epsilon", "0.001", COUNT]);
    assert_eq!(
        (&reported["forecast"]["more"], &reported["forecast"]["at_least"]),
        (&1000.into(), &true.into())
    );
    folder.stdout(&["query", "--analyst", "bob", COUNT]);
    let reported = folder.stdout(&["explain", "--analyst", "bob", COUNT]);
    assert!(reported.contains("so it is free"), "{reported}");
    let reported = folder.stdout(&["explain", "--analyst", "bob", "SELECT AVG(age) FROM people"]);
    assert!(reported.contains("this query does not fit"), "{reported}");
    let reported = folder.stdout(&["explain", "--epsilon", "0.3", COUNT]);
    assert!(
        reported.contains("hint: the same was answered before for ε = 0.5 (charge 2); for that ε it is free"),
        "{reported}"
    );
    let reported = folder.stdout(&["explain", "--epsilon", "1.7", "SELECT AVG(age) FROM people"]);
    assert!(reported.contains("for ε = 1.5 it would"), "{reported}");
}

/// Enough rows that a question takes a while.
fn slow() -> Folder {
    let folder = Folder::new();
    let mut csv = "id,age,city,weight\n".to_owned();
    for id in 0..200_000 {
        csv += &format!("{id},{},Ash,{}.5\n", id % 90, 40 + id % 60);
    }
    folder.write("people.csv", &csv);
    folder
}

const SLOW: &str = "SELECT city, COUNT(*), AVG(age), MEDIAN(age) FROM people GROUP BY city";

/// A question that was charged and is still running.
fn charged(folder: &Folder, arguments: &[&str]) -> Child {
    let mut child = command(folder.0.path())
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    loop {
        let charges = rusqlite::Connection::open(folder.path("clinic.ledger")).and_then(|file| {
            file.query_row(
                "SELECT count(*) FROM deniable_entries WHERE kind = 'charge'",
                [],
                |row| row.get::<_, i64>(0),
            )
        });
        if charges.is_ok_and(|charges| charges > 0) {
            return child;
        }
        assert!(
            child.try_wait().expect("a child").is_none(),
            "it ended before it was charged"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_question_that_was_killed_after_the_charge_is_finished_under_it() {
    let folder = slow();
    let mut child = charged(&folder, &["query", SLOW]);
    child.kill().expect("killed");
    child.wait().expect("it ends");
    let before = folder.object(&["budget", "--json"]);
    assert_eq!(before["charges"][0]["answered"], false, "it was killed in time");
    let finished = folder.object(&["query", "--json", SLOW]);
    assert_eq!(
        (&finished["resumed"], &finished["repeated"]),
        (&true.into(), &false.into())
    );
    let after = folder.object(&["budget", "--json"]);
    assert_eq!(after["charges"].as_array().map(Vec::len), Some(1));
    assert_eq!(after["charges"][0]["answered"], true);
    let again = folder.object(&["query", "--json", SLOW]);
    assert_eq!(
        (&again["rows"], &again["repeated"]),
        (&finished["rows"], &true.into())
    );
}

#[test]
fn who_presses_control_c_after_the_charge_is_reported_so() {
    let folder = slow();
    let child = charged(&folder, &["query", SLOW]);
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("a signal").success());
    let output = child.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.contains("interrupted after the question was charged"),
        "{said}"
    );
    assert!(
        said.contains("hint: ask the same question again") && output.stdout.is_empty(),
        "{said}"
    );
    let again = folder.run(&["query", SLOW]);
    assert!(
        again.status.success() && stderr(&again).contains("nothing was charged now"),
        "{}",
        stderr(&again)
    );
    assert_eq!(
        folder.object(&["budget", "--json"])["charges"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}
