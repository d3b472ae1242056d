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
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("claim    ε = 1, δ = 0: refuted"), "{text}");
    assert!(text.contains("1000 of 1000 on the"), "{text}");
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
    assert_eq!(found["counts"]["trials"], 1000);
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
    assert_eq!(refuted.status.code(), Some(1), "{}", stderr(&refuted));
    assert!(stdout(&refuted).contains("--one-shot"));
    let consistent = run("--one-shot --samples 40 --claim-epsilon 1", "echo 7");
    assert_eq!(consistent.status.code(), Some(0), "{}", stderr(&consistent));
    assert_refused(
        &run("--one-shot --samples 40", "echo 1; echo 2"),
        "more than 1 lines",
    );
}

#[test]
fn programs_that_answer_late_or_read_late_block_nobody() {
    // Far more than a pipe holds, printed only after all was read; and printed before anything was.
    let late = run("--samples 50000", "sort");
    assert_eq!(late.status.code(), Some(0), "{}", stderr(&late));
    let early = run("--samples 50000", "yes 5 | head -n 50000; cat > /dev/null");
    assert_eq!(early.status.code(), Some(0), "{}", stderr(&early));
}

#[test]
fn programs_that_fail_are_told_from_mechanisms() {
    for (script, expected) in [
        (
            "cat; exit 3",
            "the program failed on the first input (exit status: 3)",
        ),
        ("head -n 5", "printed 5 lines for 1000"),
        ("true", "printed 0 lines for 1000"),
        ("sed p", "more than 1000 lines"),
        ("while read line; do echo SECRET; done", "is not a number"),
        (
            "cat > /dev/null; tr -d '\\n' < /dev/zero | head -c 1000000",
            "longer than 64 KiB",
        ),
        ("yes", "is not a number"),
        ("yes 1", "more than 1000 lines"),
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
