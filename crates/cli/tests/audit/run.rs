//! `deniable audit run` on small programs of the shell.

use super::{assert_refused, audit, line, object, stderr, stdout};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs the black box on a program of the shell.
fn run(options: &str, script: &str) -> Output {
    let mut words = vec!["run", "--input-first", "0", "--input-second", "1"];
    words.extend(options.split_whitespace());
    words.extend(["--", "sh", "-c", script]);
    audit(&words)
}

#[test]
fn a_program_that_prints_its_input_is_refuted() {
    let output = run("--claim-epsilon 1 --samples 2000", "cat");
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("claim    ε = 1, δ = 0: refuted"), "{text}");
    assert!(text.contains("inputs   0 and 1"), "{text}");
    // Every draw is what its own input gives, and none what the other does.
    let counted = text.split_once("counted  ").expect("counts").1;
    let numbers: Vec<u64> = counted
        .split([' ', '\n'])
        .filter_map(|word| word.parse().ok())
        .take(4)
        .collect();
    assert!(
        numbers[0] == numbers[1] && numbers[0] >= 2000 && numbers[2] == 0,
        "{text}"
    );
    assert!(
        text.contains("replay   deniable audit run --claim-epsilon 1 --samples 2000"),
        "{text}"
    );
    assert!(text.contains("-- sh -c cat"), "{text}");

    let found = object(&run(
        "--claim-epsilon 1 --samples 2000 --json --output text",
        "cat",
    ));
    assert_eq!(found["claim"]["verdict"], "refuted");
    // What one input prints and what the other prints are counted as one event and its mirror, so every draw
    // on either counts.
    let count = |name: &str| found["counts"][name].as_u64().expect("a count");
    assert!(found["mirror_event"].is_string(), "{found}");
    assert_eq!(count("likely"), count("likely_draws") + count("unlikely_draws"));
    assert_eq!(count("unlikely"), 0);
    assert_eq!(found["inputs"], serde_json::json!(["0", "1"]));
    let event = found["event"].as_str().expect("text");
    assert!(event.contains("“0”") || event.contains("“1”"), "{event}");
    assert!(found["epsilon_at_least"].as_f64().expect("a number") > 3.0);
}

#[test]
fn a_program_that_ignores_its_input_is_consistent() {
    for options in ["", "--output text", "--samples 5000 --confidence 0.999999"] {
        let options = format!("--claim-epsilon 0.1 --json {options}");
        let output = run(&options, "awk 'BEGIN { srand(7) } { print int(rand() * 10) }'");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(object(&output)["claim"]["verdict"], "consistent");
    }
    // Without a claim there is a bound and no verdict.
    let found = object(&run("--samples 1000 --json", "cat"));
    assert!(found["claim"].is_null());
}

#[test]
fn one_shot_programs() {
    let refuted = run(
        "--one-shot --samples 200 --claim-epsilon 1",
        "read number; echo $number",
    );
    assert_eq!(refuted.status.code(), Some(4), "{}", stderr(&refuted));
    assert!(stdout(&refuted).contains("--one-shot"));
    let consistent = run("--one-shot --samples 64 --claim-epsilon 1", "echo 7");
    assert_eq!(consistent.status.code(), Some(0), "{}", stderr(&consistent));
    assert_refused(
        &run("--one-shot --samples 64", "echo 1; echo 2"),
        "more than 1 lines",
    );
}

#[test]
fn programs_that_answer_late_or_read_late_block_nobody() {
    // A little more than 50,000 lines are asked for each input, as a coin decides which side each draw is on.
    // That is far more than a pipe holds: printed only after all was read, and printed before anything was.
    let late = run("--samples 50000", "sort");
    assert_eq!(late.status.code(), Some(0), "{}", stderr(&late));
    let early = run("--samples 50000", "yes 5 | head -n 52296; cat > /dev/null");
    assert_eq!(early.status.code(), Some(0), "{}", stderr(&early));
}

#[test]
fn programs_that_fail_are_reported_from_mechanisms() {
    for (script, expected) in [
        (
            "cat; exit 3",
            "the program failed on the first input (exit status: 3)",
        ),
        ("head -n 5", "printed 5 lines for"),
        ("true", "printed 0 lines for"),
        ("sed p", "more than 1760 lines"),
        ("while read line; do echo SECRET; done", "is not a number"),
        (
            "cat > /dev/null; tr -d '\\n' < /dev/zero | head -c 1000000",
            "longer than 64 KiB",
        ),
        ("yes", "is not a number"),
        ("yes 1", "more than 1760 lines"),
        ("kill -9 $$", "the program failed"),
    ] {
        let output = run("--samples 1000 --claim-epsilon 1", script);
        assert_refused(&output, expected);
        assert!(stderr(&output).contains("hint: "), "{}", stderr(&output));
        assert!(!stderr(&output).contains("SECRET"));
    }
    assert_refused(
        &line("run --input-first 0 --input-second 1 -- /nowhere/program"),
        "cannot start",
    );
    assert_refused(
        &audit(&["run", "--input-first", "0\n1", "--input-second", "1", "--", "cat"]),
        "more than one line",
    );
}

/// Noise of an 1/8 grid, from a generator that the clock and the process seed.
const NOISY: &str = "exec awk -v seed=\"$(od -An -N3 -tu4 /dev/urandom)\" 'BEGIN { srand(seed) } \
    { u = rand() - 0.5; s = u < 0 ? -1 : 1; print $1 - int(8 * s * log(1 - 2 * s * u)) / 8 }'";

#[test]
fn an_audit_stops_when_it_has_refuted() {
    let output = run(
        "--claim-epsilon 0.2 --samples 4000 --until refuted,60 --json",
        NOISY,
    );
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let found = object(&output);
    assert_eq!(found["holds_at_any_moment"], true);
    let bound = found["epsilon_at_least"].as_f64().expect("a number");
    // Cutting towards zero joins two cells: P[0 | 0] / P[0 | 1] = 2·(1 − e^−⅛)/(e^−1 − e^−9/8) = e^1.694.
    assert!(bound > 0.2 && bound < 1.695, "{found}");
    assert!(
        found["replay"]
            .as_str()
            .expect("text")
            .contains("--until refuted,60"),
        "{found}"
    );
    // And when its time is over.
    let output = run("--claim-epsilon 5 --samples 1000 --until 0.5", NOISY);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_refused(&run("--until refuted", "cat"), "needs a claim");
    assert_refused(&run("--until soon", "cat"), "write `refuted`");
}

#[test]
fn the_pair_that_gives_most_away_is_found_in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pairs.tsv");
    let words = |path: &str, script: &str| -> Output {
        audit(&[
            "run",
            "--claim-epsilon",
            "1",
            "--samples",
            "6000",
            "--pairs",
            path,
            "--",
            "sh",
            "-c",
            script,
        ])
    };
    std::fs::write(&path, "3\t3\n0\t4\n1\t2\n").expect("written");
    let output = words(&path.display().to_string(), NOISY);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("inputs   0 and 4, the best of 3 pairs"),
        "{}",
        stdout(&output)
    );
    // Started again with the same seed, a program's answers are not independent.
    let constant = "exec awk 'BEGIN { srand(7) } { print $1 + int(rand() * 100) }'";
    assert_refused(
        &words(&path.display().to_string(), constant),
        "same answers again",
    );
    std::fs::write(&path, "1\t2\n3 4\n").expect("written");
    assert_refused(&words(&path.display().to_string(), "cat"), "line 2 of");
    assert_refused(&audit(&["run", "--", "cat"]), "no inputs to compare");
}

#[test]
fn lines_of_several_numbers() {
    // The sum gives nothing away; the difference of the two values does, in each of three ways to look at it.
    let script = "exec awk -v seed=\"$(od -An -N3 -tu4 /dev/urandom)\" 'BEGIN { srand(seed) } \
        { u = int(rand() * 1000); print $1 + u, u }'";
    let output = run("--claim-epsilon 1 --samples 3000 --json", script);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let found = object(&output);
    let event = found["event"].as_str().expect("text");
    let differences = [
        "value 2 − value",
        "which values are equal",
        "place of the smallest",
    ];
    assert!(
        differences.iter().any(|difference| event.contains(difference)),
        "{found}"
    );
    let page = tempfile::tempdir().expect("a folder");
    let (html, plot) = (page.path().join("a.html"), page.path().join("a.svg"));
    let files = format!(
        "--samples 3000 --html {} --plot {}",
        html.display(),
        plot.display()
    );
    assert_eq!(run(&files, script).status.code(), Some(0));
    assert!(
        std::fs::read_to_string(html)
            .expect("a report")
            .contains("An audit of a program")
    );
    assert!(
        std::fs::read_to_string(plot)
            .expect("a figure")
            .starts_with("<svg")
    );
}

/// Interrupted, the audit ends and so does the program.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_program_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pid");
    let script = format!(
        "echo $$ > {}; while read line; do sleep 0.05; echo 1; done",
        path.display()
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_deniable"))
        .args([
            "audit",
            "run",
            "--input-first",
            "0",
            "--input-second",
            "1",
            "--",
            "sh",
            "-c",
            &script,
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let patience = Instant::now() + Duration::from_secs(30);
    let wait_until = |done: &mut dyn FnMut() -> bool| {
        while !done() {
            assert!(Instant::now() < patience, "it took too long");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let mut program = String::new();
    wait_until(&mut || {
        program = std::fs::read_to_string(&path).unwrap_or_default();
        program.ends_with('\n')
    });
    let signal = |name: &str, process: &str| {
        let status = Command::new("kill")
            .args([name, process])
            .stderr(Stdio::null())
            .status();
        status.expect("kill exists").success()
    };
    assert!(signal("-INT", &child.id().to_string()));
    assert!(!child.wait().expect("it ends").success());
    wait_until(&mut || !signal("-0", program.trim()));
}
