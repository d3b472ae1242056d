//! `deniable attack reconstruct table` and `block` as a person or a program uses them: the built binary, its
//! output and its exit codes.

use serde_json::Value;
use std::fs;
use std::process::{Command, Output, Stdio};

fn line(text: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_deniable"))
        .args(["attack", "reconstruct"])
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
    serde_json::from_str(&stdout(&output)).expect("one object")
}

/// Runs on a file with this text; the file's own name is left out of the output.
fn on_file(command: &str, text: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table.toml");
    fs::write(&path, text).expect("written");
    let output = line(&format!("{command} {}", path.display()));
    let reported = stdout(&output) + &stderr(&output);
    (
        output.status.code(),
        reported.replace(&path.display().to_string(), "FILE"),
    )
}

/// How long a search took is the one thing that differs from run to run.
fn without_times(text: &str) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for place in 1..words.len() {
        if words[place].starts_with("s)") {
            let before = words[place - 1].trim_start_matches('(').to_owned();
            words[place - 1] = words[place - 1].replace(&before, "…");
        }
    }
    words.join(" ")
}

#[test]
fn attack_table_rebuilds_the_census() {
    let output = line("table --no-cells");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    insta::assert_snapshot!(without_times(&stdout(&output)), @"
    the census example: 21 published numbers

    One solution, proved to be the only one (25186 clauses, … s).

    age  sex  race  status
    ───  ───  ────  ───────
      8  F    B     single
     18  M    W     single
     24  F    W     single
     30  M    W     married
     36  F    B     married
     66  F    B     married
     84  M    B     married

    Recovered with certainty: 7 of 7 people.
    A guess at one person's record among the 944 possible is right with probability 0.11 %;
    after a release with ε = 1 (one person's record protected), with at most 0.29 %.
    The same table released with ε = 1 (seed 1):
      taken at face value   no solution: nobody can be behind these numbers
      within its margins    ≥ 20 solutions, 0 people in all of them (margins that all hold with probability 0.95)
    ");
}

#[test]
fn attack_table_with_one_number_less_has_more_solutions() {
    let found = object("table --json --no-cells --drop 3B.mean");
    assert_eq!(found["solutions"].as_array().unwrap().len(), 3);
    assert_eq!(found["complete"], true);
    assert_eq!(found["dropped"], serde_json::json!(["3B.mean"]));
    let males = object("table --json --no-cells --example males");
    assert_eq!(males["solutions"].as_array().unwrap().len(), 30);
    assert_eq!(males["complete"], true);
    assert_eq!(males["certain"], serde_json::json!([{"age": 30}]));
    assert_eq!(
        males["private_release"]["within_margins"]["certain"],
        serde_json::json!([])
    );
}

#[test]
fn attack_table_tells_mistakes_by_their_line() {
    let template = stdout(&line("table --template"));
    let table = |from: &str, to: &str| {
        assert!(template.contains(from));
        on_file("table --no-cells", &template.replacen(from, to, 1))
    };
    let (code, reported) = table("where = { sex = \"F\" }", "where = { gender = \"F\" }");
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(reported, @"
    error: `FILE`, line 36: there is no attribute `gender`
    hint: [attributes] declares age, sex, race, status
    ");
    let (code, reported) = table("to = 125", "");
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(reported, @"
    error: `FILE`, line 13: the attribute `age` has no greatest value (`to`)
    hint: without both ends the solutions have no end: age = { from = 1, to = 125 }
    ");
    // Three women and three men are not seven people.
    let (code, reported) = table("count = 4", "count = 3");
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(reported, @"
    error: the table contradicts itself: 1A.count (line 29), 2A.count (line 37) and 2B.count (line 45) cannot all be true
    hint: any one of these numbers left out would do: check them, their conditions and the decimals of means
    ");
    let output = line("table --drop 9Z.mean");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no published number `9Z.mean`"));
}

#[test]
fn attack_table_stops_when_time_is_up_and_keeps_what_it_has() {
    let found = object("table --json --no-cells --seconds 0");
    assert_eq!(found["out_of_time"], true);
    assert_eq!(found["complete"], false);
}

#[test]
fn attack_table_writes_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.html");
    let output = line(&format!("table --no-cells --html {}", path.display()));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = fs::read_to_string(&path).expect("written");
    assert!(page.contains("7 of 7 people with certainty") && page.contains("0 people with certainty"));
}

#[test]
fn attack_block_finds_ranges_and_contradictions() {
    let template = stdout(&line("block --template"));
    let (code, reported) = on_file("block", &template);
    assert_eq!(code, Some(0), "{reported}");
    insta::assert_snapshot!(without_times(&reported), @"
    FILE: 12 cells, 16 published counts in 3 margins

    The range of every cell, each end proved (… s):
    width     cells  people*
    ────────  ─────  ───────
    0            12       32
    1 to 2        0        0
    3 to 5        0        0
    6 to 10       0        0
    above 10      0        0
    * in one block with these margins; those of width 0 are the same in all.

    Known for certain: 12 of 12 cells, with 32 of 32 people. Known cells with one person: 1.
      3 × F, 0-17, white
      3 × F, 18-64, black
      9 × F, 18-64, white
      2 × F, 65+, black
      4 × M, 0-17, white
      5 × M, 18-64, black
      5 × M, 18-64, white
      1 × M, 65+, black

    After a release with ε = 1, whether one person is in a cell, if even odds before, is known with probability at most 73.1 %.
    ");
    // There are 17 women by age, and 18 by race.
    let (code, reported) = on_file("block", &template.replacen("[[5, 12]", "[[6, 12]", 1));
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(reported, @"
    error: the margins contradict each other: the counts of sex F, age 65+; sex M, age 0-17; sex M, age 18-64; sex F, race black; sex M, race white; age 18-64, race black cannot all be true
    hint: check these counts; rounded ones need `rounded_to`
    ");
}

#[test]
fn attack_block_of_synthetic_people_holds_the_truth() {
    let found = object("block --json --people 60 --seconds 20");
    assert_eq!(found["truth_within"], 504);
    let within = &found["private_release"]["within_margins"];
    assert_eq!(within["known_cells"], 0);
    assert!(!found["private_release"]["at_face_value"]["contradiction"].is_null());
}
