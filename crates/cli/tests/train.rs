//! `deniable train` from the outside: what is charged, kept, written and refused.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn command(directory: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deniable"));
    command
        .args(words.split_whitespace())
        .current_dir(directory)
        .env("DENIABLE_ANALYST", "ann")
        .env_remove("DENIABLE_CATALOG");
    command
}

fn deniable(directory: &Path, words: &str) -> Output {
    command(directory, words).output().expect("the binary runs")
}

#[track_caller]
fn succeeds(directory: &Path, words: &str) -> String {
    let output = deniable(directory, words);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn json(directory: &Path, words: &str) -> Value {
    serde_json::from_str(&succeeds(directory, words)).expect("JSON")
}

/// The standard error of a refused command; it holds a hint.
#[track_caller]
fn refused(directory: &Path, words: &str) -> String {
    refused_with(directory, words, 2)
}

/// The same with an exit code of its own: 3 where the budget refuses.
fn refused_with(directory: &Path, words: &str, code: i32) -> String {
    let output = deniable(directory, words);
    // Where JSON was asked for, the error is an object on standard output.
    if words.contains("--json") {
        let reported: Value = serde_json::from_slice(&output.stdout).expect("an object");
        let error = &reported["error"];
        assert_eq!(output.status.code(), Some(code), "{words}: {reported}");
        assert!(error["hint"].is_string(), "{words}: {reported}");
        return error["message"].as_str().expect("what is wrong").to_owned();
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words}: {errors}");
    assert!(errors.contains("hint:"), "{words}: {errors}");
    errors
}

const SMALL: &str = "--hidden 12 --embedding 8 --tokens 300 --batch 20 --at-once 32 --json";

#[test]
fn a_language_model_is_trained_charged_measured_and_heard() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let words =
        format!("train lm --synthetic 400 --steps 12 --target-epsilon 3 --budget 4 {SMALL} --plot p.svg");
    let reported = json(here, &words);
    let receipt = &reported["receipt"];
    assert_eq!(
        (&reported["finished"], &reported["steps_taken"]),
        (&true.into(), &12.into())
    );
    let epsilon: f64 = receipt["epsilon"].as_str().unwrap().parse().unwrap();
    assert!(epsilon <= 3.0 && epsilon > 2.9, "{epsilon}");
    // The first entry of a ledger is its rules.
    assert_eq!(receipt["ledger_entry"], 2);
    assert_eq!(receipt["unit"]["whose"], "row");
    assert!(
        receipt["plan"]["examples_per_unit"].is_null(),
        "a row has one example"
    );
    let looks = reported["validation"].as_array().unwrap();
    assert!(!looks.is_empty() && looks.iter().all(|look| look["value"].as_f64().unwrap() > 1.0));
    assert!(
        std::fs::read_to_string(here.join("p.svg"))
            .unwrap()
            .contains("perplexity")
    );
    assert!(
        !here.join("model.safetensors.checkpoint").exists(),
        "it holds a key and is of no more use"
    );

    let model = std::fs::read(here.join("model.safetensors")).unwrap();
    assert!(
        !model.windows(15).any(|window| window == b"deniable.origin"),
        "a model does not say where its data lies"
    );

    let text = "The old town lies by the river. It was built in 1919 by the people of the north.".repeat(20);
    std::fs::write(here.join("public.txt"), text).unwrap();
    let measured = json(here, "train evaluate model.safetensors --text public.txt --json");
    assert!(measured["measured"]["perplexity"].as_f64().unwrap() > 1.0);
    assert_eq!(measured["receipt"], *receipt);
    let again = succeeds(here, "train generate model.safetensors --tokens 10 --seed 3");
    assert_eq!(
        again,
        succeeds(here, "train generate model.safetensors --tokens 10 --seed 3")
    );
    assert!(!again.trim().is_empty());

    // A model is not overwritten without a word.
    let errors = refused(here, &words);
    assert!(
        errors.contains("there is a file already where the model goes"),
        "{errors}"
    );
    // A budget of 4 has room for one such run, and not for two, however well they compose.
    let output = deniable(here, &format!("{words} --force"));
    let reported: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let error = &reported["error"];
    assert_eq!(
        (output.status.code(), &error["kind"]),
        (Some(3), &"refused".into())
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "this run costs ε = 3 and δ = 0.000001, and does not fit: the ledger would count ε = "
        ) && message.ends_with(" without it, and the budget is ε = 4, δ = 0.00001"),
        "{message}"
    );
    assert_eq!(error["cost"], "ε = 3 and δ = 0.000001");
    // The suggested ε does fit, and the budget is shown with both.
    let fits = error["fits_epsilon"].as_str().expect("some ε");
    assert!(
        error["hint"]
            .as_str()
            .unwrap()
            .contains(&format!("--target-epsilon {fits} fits"))
    );
    assert_eq!(std::fs::read(here.join("model.safetensors")).unwrap(), model);
    let again = words.replace("--target-epsilon 3", &format!("--target-epsilon {fits}"));
    assert_eq!(json(here, &format!("{again} --force"))["finished"], true);
    assert_ne!(std::fs::read(here.join("model.safetensors")).unwrap(), model);
    let budget = "budget --ledger model.safetensors.ledger";
    let reported = json(here, &format!("{budget} --json"));
    for charge in reported["charges"].as_array().unwrap() {
        assert_eq!(
            (&charge["kind"], &charge["answered"]),
            (&"training".into(), &Value::Null)
        );
    }
    let text = succeeds(here, budget);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("training on "))
        .collect();
    assert!(
        lines.len() == 2 && lines.iter().all(|line| line.contains("  training  ")),
        "{text}"
    );
}

/// If no ε would fit, the message says that δ is missing.
#[test]
fn a_budget_without_delta_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let words = format!("train lm --synthetic 400 --steps 12 --budget 4 --budget-delta 0 {SMALL}");
    let output = deniable(directory.path(), &words);
    let reported: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(output.status.code(), Some(3));
    let error = |name: &str| reported["error"][name].as_str().unwrap_or_default().to_owned();
    assert!(
        error("message").ends_with("it needs a δ, and the budget has none: ε = 4"),
        "{reported}"
    );
    assert!(error("hint").contains("--budget-delta"), "{reported}");
}

/// A missing file is asked for again, and the message does not speak of disks.
#[test]
fn a_model_or_checkpoint_that_is_not_there_is_named() {
    let directory = tempfile::tempdir().unwrap();
    for words in [
        "train resume no.checkpoint",
        "train generate no.safetensors",
        "train evaluate no.safetensors --text x.txt",
    ] {
        let errors = refused(directory.path(), words);
        assert!(
            errors.contains("hint: name a file that `deniable train` wrote"),
            "{words}: {errors}"
        );
        assert!(!errors.contains("disk"), "{words}: {errors}");
    }
}

/// The ledger of a text has no catalog, and is shown and checked by itself.
#[test]
fn the_ledger_of_a_text_is_shown_and_verified() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(
        here.join("notes.txt"),
        "some words of a private note\n".repeat(100),
    )
    .unwrap();
    std::fs::write(
        here.join("public.txt"),
        "some other words, which are public\n".repeat(100),
    )
    .unwrap();
    let ledger = "budget --ledger notes.txt.ledger";
    assert!(refused(here, ledger).contains("there is no ledger"));
    assert!(!here.join("notes.txt.ledger").exists(), "looking makes nothing");
    let words = format!(
        "train lm --text notes.txt --each-line --size 100 --steps 5 --target-epsilon 3 --budget 4 --public-text public.txt {SMALL}"
    );
    let receipt = &json(here, &words.replace("--tokens 300", "--tokens 270"))["receipt"];
    // Another budget than that of the ledger is refused by the ledger.
    let other = words.replace("--budget 4", "--budget 5") + " --out other.safetensors";
    let errors = refused_with(here, &other, 3);
    assert!(errors.contains("keeps other rules"), "{errors}");
    let reported = succeeds(here, ledger);
    for word in [
        "notes.txt.ledger: at most ε = 4, δ = 0.00001 for each line",
        "the chain is whole: 2 entries, head 2 ",
        "left: ε = 0.",
        "deniable budget --verbose",
        "training on notes.txt",
    ] {
        assert!(reported.contains(word), "{word}: {reported}");
    }
    let object = json(here, &format!("{ledger} --json"));
    assert_eq!(object["charges"][0]["number"], receipt["ledger_entry"]);
    assert_eq!(object["charges"][0]["analyst"], "ann");
    assert_eq!(object["verified"]["charges"], 1);
    let verified = json(here, "budget verify --ledger notes.txt.ledger --json");
    assert_eq!(verified["head"], object["verified"]["head"]);
    // Somebody makes the charge smaller.
    let connection = rusqlite::Connection::open(here.join("notes.txt.ledger")).unwrap();
    connection
        .execute_batch("DROP TRIGGER deniable_never_updated; UPDATE deniable_entries SET analyst = 'bob' WHERE number = 2;")
        .unwrap();
    drop(connection);
    for words in [ledger, "budget verify --ledger notes.txt.ledger"] {
        let output = deniable(here, words);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{words}: {errors}");
        assert!(output.stdout.is_empty() && errors.contains("hint:"), "{errors}");
    }
    // What is no ledger is refused, and so are two ledgers at once.
    assert_eq!(deniable(here, "budget --ledger notes.txt").status.code(), Some(2));
    assert_eq!(
        deniable(here, "budget --ledger notes.txt.ledger --catalog deniable.toml")
            .status
            .code(),
        Some(2)
    );
}

/// A run that is killed goes on from its checkpoint, is not charged again, and ends with its model.
#[test]
fn a_killed_run_goes_on_without_a_second_charge() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let words = format!("train lm --synthetic 400 --steps 3000 --every 5 {SMALL}");
    let mut running = command(here, &words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = here.join("model.safetensors.checkpoint");
    let began = Instant::now();
    // Notes are text in the file's header.
    let kept = || {
        let bytes = std::fs::read(&checkpoint).unwrap_or_default();
        bytes.windows(15).any(|window| window == b"deniable.origin")
    };
    while !kept() {
        assert!(began.elapsed() < Duration::from_secs(120), "no checkpoint");
        std::thread::sleep(Duration::from_millis(50));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&checkpoint).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "nobody else may read the key");
    }
    // Its steps are paid for, so a new run does not take its place.
    assert!(refused(here, &words).contains("already exists"));
    // A run goes on where it was charged: a missing ledger, and one that knows no such charge, are refused.
    succeeds(
        here,
        // The name that the option had before.
        &format!("train lm --made-up 400 --steps 1 {SMALL} --out other"),
    );
    let moved = |from: &str, to: &str| {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::rename(
                here.join(format!("{from}.ledger{end}")),
                here.join(format!("{to}.ledger{end}")),
            );
        }
    };
    moved("model.safetensors", "aside");
    let errors = refused_with(here, "train resume model.safetensors.checkpoint", 3);
    assert!(errors.contains("the ledger is gone"), "{errors}");
    assert!(!here.join("model.safetensors.ledger").exists(), "none is made");
    moved("other", "model.safetensors");
    let errors = refused(here, "train resume model.safetensors.checkpoint");
    assert!(errors.contains("no charge"), "{errors}");
    moved("model.safetensors", "other");
    moved("aside", "model.safetensors");

    // Ctrl-C keeps the run. How far it came depends on how fast it was, and so on the data: there is no
    // model, no receipt, and the number is marked.
    let resumed = command(here, "train resume model.safetensors.checkpoint --json")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let pid = resumed.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let output = resumed.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let reported: Value = serde_json::from_slice(&output.stdout).expect("what was reached");
    assert_eq!(reported["finished"], false);
    assert!(reported["receipt"].is_null() && reported["model"].is_null());
    assert!(reported.get("steps_taken").is_none() && reported.get("validation").is_none());
    let taken = reported["not_private"]["steps_taken"]
        .as_u64()
        .expect("for the curator");
    assert!(checkpoint.exists() && !here.join("model.safetensors").exists());

    // A step that is named beforehand ends the run with a model. Its receipt is about the plan, whatever the
    // step.
    let ended = |step: u64| {
        let words = format!("train resume model.safetensors.checkpoint --json --stop-at {step}");
        let reported = json(here, &words);
        assert_eq!(
            (&reported["finished"], &reported["steps_taken"]),
            (&false.into(), &step.into())
        );
        assert!(checkpoint.exists(), "what is planned can go on");
        let model = std::fs::read(here.join("model.safetensors")).unwrap();
        let header = &model[8..8 + u64::from_le_bytes(model[..8].try_into().unwrap()) as usize];
        (reported["receipt"].clone(), header.to_vec(), model)
    };
    let (first, second) = (ended(taken + 2), ended(taken + 4));
    assert_eq!(first.0["ledger_entry"], 2);
    assert_eq!(first.0["plan"]["steps"], 3000);
    assert_eq!((&first.0, &first.1), (&second.0, &second.1));
    assert_ne!(first.2, second.2, "the weights are those of another step");
    for word in ["steps_taken", "epsilon_used", "deniable.looks"] {
        let header = String::from_utf8_lossy(&first.1);
        assert!(!header.contains(word), "{header}");
    }
    let errors = refused(here, "train resume model.safetensors.checkpoint --stop-at 1");
    assert!(errors.contains("cannot end at step 1"), "{errors}");
    let errors = refused(here, "train resume model.safetensors.checkpoint --stop-at 3001");
    assert!(errors.contains("3000 steps"), "{errors}");
    let ledger = rusqlite::Connection::open(here.join("model.safetensors.ledger")).unwrap();
    let count = "SELECT COUNT(*) FROM deniable_entries WHERE kind = 'charge'";
    assert_eq!(
        ledger.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(),
        1
    );
}

/// A system that shuts down asks with SIGTERM: the run is kept, as after Ctrl-C. It goes on with any number
/// of threads, and ends with the same model to the last bit.
#[test]
fn a_run_that_is_asked_to_end_goes_on_with_other_threads() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    // Large enough that batches are split.
    let words = "train lm --synthetic 1000 --steps 100000 --every 1 --hidden 64 --embedding 32 --tokens 300 --batch 128 --threads 2 --json";
    let running = command(here, words)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = here.join("model.safetensors.checkpoint");
    let began = Instant::now();
    // A checkpoint after each step; once there is a second, the run is at its steps and listens.
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(240), "no checkpoints");
        std::thread::sleep(Duration::from_millis(20));
        seen.extend(std::fs::read(&checkpoint).ok().filter(|bytes| !bytes.is_empty()));
    }
    let pid = running.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(sent.success());
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let reported: Value = serde_json::from_slice(&output.stdout).expect("what was reached");
    assert_eq!(reported["finished"], false);
    let taken = reported["not_private"]["steps_taken"].as_u64().unwrap();
    let kept = std::fs::read(&checkpoint).unwrap();
    let model = |threads: &str| {
        std::fs::write(&checkpoint, &kept).unwrap();
        let step = taken + 2;
        let reported = json(
            here,
            &format!("train resume model.safetensors.checkpoint {threads} --stop-at {step} --json"),
        );
        assert_eq!(reported["steps_taken"], step);
        std::fs::read(here.join("model.safetensors")).unwrap()
    };
    let alone = model("--threads 1");
    assert_eq!(alone, model("--threads 2"));
    assert_eq!(alone, model(""), "as many as it began with");
    assert!(refused(here, "train resume model.safetensors.checkpoint --threads 0").contains("1..="));
}

#[test]
fn a_classifier_learns_what_the_catalog_lets_it() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mut rows = String::from("id,age,smokes,Ill,note\n");
    for id in 0..600 {
        let (age, smokes) = (20 + id % 60, id % 3 == 0);
        rows.push_str(&format!("p{id},{age},{smokes},{},-\n", age > 50 || smokes));
    }
    std::fs::write(here.join("held_out.csv"), rows.replace("p1", "q1")).unwrap();
    std::fs::write(here.join("people.csv"), rows).unwrap();
    let catalog = r#"
name = "clinic"
[unit]
whose = "patient"
[budget]
epsilon = 40
delta = 1e-4
ledger = "ledger"
[tables.people]
source = "people.csv"
unit = "id"
[tables.people.columns]
id = { kind = "text" }
age = { kind = "int", bounds = [20, 80] }
smokes = { kind = "bool" }
Ill = { kind = "bool" }
note = { kind = "text" }
[tables.held_out]
source = "held_out.csv"
public = true
[tables.held_out.columns]
age = { kind = "int" }
smokes = { kind = "bool" }
Ill = { kind = "bool" }
"#;
    std::fs::write(here.join("deniable.toml"), catalog).unwrap();
    let wanted = "train classifier --table people --label Ill";
    assert!(refused(here, wanted).contains("about how many patients"));
    assert!(refused(here, &format!("{wanted} --size-is-public")).contains("is private"));
    assert!(!here.join("ledger").exists(), "what is refused leaves no trace");
    let words = format!(
        "{wanted} --size 600 --batch 100 --steps 150 --rate 0.05 --target-epsilon 10 --delta 1e-5 --json"
    );
    let reported = json(here, &words);
    assert_eq!(reported["receipt"]["unit"]["whose"], "patient");
    assert_eq!(reported["receipt"]["data"], "people");
    assert_eq!(
        reported["receipt"]["plan"]["examples_per_unit"], 100,
        "public, and on the receipt"
    );
    assert_eq!(reported["label"], "Ill");
    assert_eq!(reported["features"], serde_json::json!(["age", "smokes"]));
    assert_eq!(
        reported["left_out"],
        serde_json::json!([
            { "column": "id", "why": "it says whose row it is" },
            { "column": "note", "why": "the catalog does not declare its `values`" },
        ])
    );
    // It is measured on public rows, of the catalog or of a file; on private ones it is not.
    for public in ["--table held_out", "--public-file held_out.csv"] {
        let words = format!("train evaluate model.safetensors {public} --json");
        let accuracy = json(here, &words)["measured"]["accuracy"].as_f64().unwrap();
        assert!(accuracy > 0.8, "{accuracy}");
    }
    assert!(refused(here, "train evaluate model.safetensors --table people").contains("is private"));
    std::fs::copy(here.join("people.csv"), here.join("copy.csv")).unwrap();
    for (file, why) in [
        ("people.csv", "the private data itself"),
        ("copy.csv", "the same content"),
    ] {
        let errors = refused(
            here,
            &format!("train evaluate model.safetensors --public-file {file}"),
        );
        assert!(errors.contains(why), "{errors}");
    }
    assert!(refused(here, "train evaluate model.safetensors").contains("--public-file"));
    std::fs::remove_file(here.join("model.safetensors")).unwrap();
    let text = succeeds(
        here,
        &words
            .replace("--json", "--features Smokes --steps 2")
            .replace("--steps 150", ""),
    );
    for word in [
        "learned   Ill from smokes\n",
        "left out  age: it is not among the features that were asked for\n",
    ] {
        assert!(text.contains(word), "{text}");
    }
    // It is in the catalog's own ledger, beside queries.
    let budget = succeeds(here, "budget");
    assert!(budget.contains("training on people"), "{budget}");
    assert!(refused(here, "train classifier --table people --label name --size 600").contains("no column"));
    assert!(refused(here, "train generate model.safetensors").contains("not of text"));
}

#[test]
fn bad_input_is_refused_and_nothing_is_charged() {
    let directory = tempfile::tempdir().unwrap();
    let here = &directory.path().join("here");
    std::fs::create_dir(here).unwrap();
    std::fs::write(here.join("empty.txt"), "").unwrap();
    std::fs::write(here.join("copy.txt"), "a line of secret words\n".repeat(300)).unwrap();
    std::fs::write(here.join("secret.txt"), "a line of secret words\n".repeat(300)).unwrap();
    for (words, expected) in [
        ("train lm --text nowhere.txt --size 10", "could not be read"),
        ("train lm --text secret.txt", "about how many"),
        (
            "train lm --text secret.txt --size 10 --batch 11",
            "batches of 11 out of 10",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --delta 0",
            "no noise multiplier",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --clip 0",
            "clip norm",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --out no/such/place",
            "no/such/place",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --hidden 0",
            "not in 1..=",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --out secret.txt",
            "--out and --text are the same file",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --checkpoint secret.txt.ledger",
            "--checkpoint and the ledger are the same file",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --public-text secret.txt",
            "--public-text is the private data itself",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --public-text ./copy.txt",
            "--public-text has the same content",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --validation ../here/secret.txt",
            "--validation is the private data itself",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --validation copy.txt",
            "--validation has the same content",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --out .",
            "folder",
        ),
        (
            "train lm --text secret.txt --size 300 --batch 20 --rate 0",
            "positive",
        ),
        (
            "train lm --text secret.txt --each-line --size 300 --batch 20 --examples-per-unit 0",
            "examples of one unit",
        ),
        ("train resume empty.txt", "no checkpoint"),
        ("train evaluate empty.txt --text secret.txt", "no model"),
    ] {
        let errors = refused(here, words);
        assert!(errors.contains(expected), "{words}: {errors}");
        assert!(!errors.contains("secret words"), "{errors}");
    }
    let ledger = here.join("secret.txt.ledger");
    let charges = if ledger.exists() {
        let connection = rusqlite::Connection::open(&ledger).unwrap();
        connection
            .query_row(
                "SELECT COUNT(*) FROM deniable_entries WHERE kind = 'charge'",
                [],
                |row| row.get::<_, i64>(0),
            )
            .unwrap()
    } else {
        0
    };
    assert_eq!(charges, 0);
}

/// Whether a run begins says nothing about the text: one byte of one line, no text at all, or a single row
/// are trained on like any other.
#[test]
fn any_private_text_is_trained_on() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("public.txt"), "words that are public\n".repeat(100)).unwrap();
    let long = "words ".repeat(40);
    let texts: [&[u8]; 4] = [
        b"",
        b"one",
        long.as_bytes(),
        b"a line\nwith \xff a byte\n\xfe\x00\n",
    ];
    for each in ["", "--each-line"] {
        let reported: Vec<Value> = (0..)
            .zip(texts)
            .map(|(number, text)| {
                std::fs::write(here.join("notes.txt"), text).unwrap();
                // A ledger each: what many charges cost together takes a while to compute.
                let words = format!(
                    "train lm --text notes.txt {each} --size 1000 --steps 40 --noise-multiplier 2 --force --ledger ledger{each}{number} --public-text public.txt {SMALL}"
                );
                json(here, &words.replace("--tokens 300", "--tokens 270"))
            })
            .collect();
        assert!(reported.iter().all(|other| *other == reported[0]), "{reported:?}");
    }
}

/// A file of a declared table is private too.
#[test]
fn the_file_of_a_table_is_not_public_text() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(
        here.join("notes.csv"),
        "id,text\n1,secret words\n2,more of them\n",
    )
    .unwrap();
    let catalog = r#"
name = "notes"
[unit]
whose = "person"
[budget]
epsilon = 20
delta = 1e-4
ledger = "ledger"
[tables.notes]
source = "notes.csv"
unit = "id"
[tables.notes.columns]
id = { kind = "text" }
text = { kind = "text" }
"#;
    std::fs::write(here.join("deniable.toml"), catalog).unwrap();
    for option in ["--public-text", "--validation"] {
        let words = format!("train lm --table notes --column text --size 100 --batch 20 {option} notes.csv");
        let errors = refused(here, &words);
        assert!(
            errors.contains(&format!("{option} is the private data itself")),
            "{errors}"
        );
        assert!(!errors.contains("secret words"));
    }
    assert!(!here.join("ledger").exists(), "what is refused leaves no trace");
}
