//! A session from its charge to its model: if it is interrupted and resumed, it is the run that it would have
//! been.

use ledger::{Place, Store};
use std::path::{Path, PathBuf};
use train::models::Network;
use train::private::{Checkpoint, ModelReceipt};
use training::{
    Description, Error, Finished, Interrupted, Learning, Length, Observer, Origin, Outcome, Privacy, Session,
    Source, Step, read_language,
};

const STEPS: u64 = 12;

/// Notes that are nobody's, a line each.
fn write_notes(folder: &Path) -> PathBuf {
    let path = folder.join("notes.txt");
    let lines: Vec<String> = (0..80)
        .map(|line| format!("note {line} says {}\n", line * 37 % 101))
        .collect();
    std::fs::write(&path, lines.concat()).unwrap();
    path
}

fn description() -> Description {
    Description::Language {
        network: Network::Lstm {
            embedding: 6,
            hidden: 8,
            dropout: 0.1,
        },
        length: 10,
        vocabulary: training::public_vocabulary(270).unwrap().to_json(),
    }
}

fn new_session(folder: &Path) -> Session {
    let source = Source::Text {
        path: write_notes(folder),
        each_line: true,
        length: 10,
    };
    let mut origin = Origin::new(source, "ann", folder.join("model"));
    origin.every = 5;
    let privacy = Privacy {
        batch: 20,
        length: Length::Steps(STEPS),
        size: Some(80),
        ..Privacy::default()
    };
    Session::new(
        description(),
        origin,
        folder.join("checkpoint"),
        privacy,
        Learning::default(),
    )
}

/// Keeps a copy of the first checkpoint, and interrupts after a step that is named.
#[derive(Default)]
struct Watching {
    copy: Option<(PathBuf, PathBuf)>,
    until: Option<u64>,
    taken: Vec<u64>,
    charges_before_first_step: Option<usize>,
    ledger: Option<PathBuf>,
}

impl Observer for Watching {
    fn go_on(&mut self) -> bool {
        if let (Some(ledger), None) = (&self.ledger, self.charges_before_first_step) {
            self.charges_before_first_step = Some(charges(ledger));
        }
        if let Some((from, to)) = self.copy.take() {
            std::fs::copy(from, to).unwrap();
        }
        self.until.is_none_or(|until| self.taken.last() != Some(&until))
    }

    fn step(&mut self, step: &Step<'_>) {
        assert_eq!(step.progress().not_private_loss, None);
        // A certified ε takes a moment, so not at each step.
        if step.progress().step == 2 {
            assert!(step.epsilon().unwrap() <= 8.0);
        }
        self.taken.push(step.progress().step);
    }
}

fn charges(ledger: &Path) -> usize {
    let store = Store::open_existing(&Place::File(ledger.to_owned())).unwrap();
    store.unwrap().charges().unwrap().len()
}

#[track_caller]
fn finished(outcome: Outcome) -> Box<Finished> {
    match outcome {
        Outcome::Finished(finished) => finished,
        Outcome::Interrupted(interrupted) => panic!("{interrupted:?}"),
    }
}

#[track_caller]
fn interrupted(outcome: Outcome) -> Interrupted {
    match outcome {
        Outcome::Interrupted(interrupted) => interrupted,
        Outcome::Finished(finished) => panic!("{finished:?}"),
    }
}

/// One key, two histories: all steps at once, and interrupted after steps 4 and 9. Parameters are equal to
/// the last bit, and one charge pays for both.
#[test]
fn an_interrupted_and_resumed_run_is_the_uninterrupted_one() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let ledger = folder.join("notes.txt.ledger");
    let mut watching = Watching {
        // The checkpoint of a run that has taken no step: it holds the key, and nothing else of the run.
        copy: Some((folder.join("checkpoint"), folder.join("again"))),
        ledger: Some(ledger.clone()),
        ..Watching::default()
    };
    let whole = finished(new_session(folder).run(&mut watching).unwrap());
    assert_eq!(watching.charges_before_first_step, Some(1), "charged first");
    assert_eq!(watching.taken, (1..=STEPS).collect::<Vec<_>>());
    assert!(
        !folder.join("checkpoint").exists(),
        "it holds a key and is of no more use"
    );

    let resume = |until: Option<u64>| {
        let mut watching = Watching {
            until,
            ..Watching::default()
        };
        let session = Session::resumed(&folder.join("again")).unwrap();
        let session = session.writing_to(&folder.join("resumed"), false).unwrap();
        let outcome = session.run(&mut watching).unwrap();
        (outcome, watching.taken)
    };
    let (outcome, taken) = resume(Some(4));
    assert_eq!(interrupted(outcome).not_private_steps_taken, 4);
    assert_eq!(taken, [1, 2, 3, 4]);
    assert!(
        !folder.join("resumed").exists(),
        "an interrupted run has no model"
    );
    let (outcome, taken) = resume(Some(9));
    assert_eq!(interrupted(outcome).not_private_steps_taken, 9);
    assert_eq!(taken, [5, 6, 7, 8, 9]);
    let (outcome, taken) = resume(None);
    assert_eq!(taken, [10, 11, 12]);
    let resumed = finished(outcome);
    assert_eq!(resumed.receipt, whole.receipt);
    assert_eq!(charges(&ledger), 1, "charged once");
    let bits = |path: &Path| -> Vec<u32> {
        let model = read_language(path).unwrap();
        model.parameters.iter().map(|value| value.to_bits()).collect()
    };
    assert_eq!(bits(&folder.join("model")), bits(&folder.join("resumed")));
    // The file too: it says nothing of how the run went.
    let bytes = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert!(bytes("model") == bytes("resumed"));
}

/// A checkpoint and a model hold no value of the data, and a run is not resumed on other data.
#[test]
fn files_of_a_run_hold_no_row() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let mut watching = Watching {
        until: Some(3),
        ..Watching::default()
    };
    interrupted(new_session(folder).run(&mut watching).unwrap());
    let checkpoint = std::fs::read(folder.join("checkpoint")).unwrap();
    for line in std::fs::read_to_string(folder.join("notes.txt")).unwrap().lines() {
        let found = checkpoint
            .windows(line.len())
            .any(|window| window == line.as_bytes());
        assert!(!found, "a line of the data is in the checkpoint");
    }
    let again = new_session(folder).run(&mut ()).unwrap_err();
    assert!(matches!(again, Error::CheckpointExists { .. }), "{again}");
    std::fs::write(folder.join("notes.txt"), "another text\n").unwrap();
    let other = Session::resumed(&folder.join("checkpoint")).unwrap().run(&mut ());
    let other = other.unwrap_err();
    assert!(
        matches!(other, Error::Train(train::Error::OtherRun { .. })),
        "{other}"
    );
    assert!(other.to_string().contains("hint:") && !other.to_string().contains("another text"));
}

/// A step that is named beforehand ends the run with a model, whose receipt is that of the plan; the rest can
/// be resumed.
#[test]
fn a_run_ends_where_it_was_asked_to() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let mut watching = Watching {
        until: Some(2),
        ..Watching::default()
    };
    interrupted(new_session(folder).run(&mut watching).unwrap());
    let receipts: Vec<ModelReceipt> = [Some(5), Some(7), None]
        .into_iter()
        .map(|step| {
            let session = Session::resumed(&folder.join("checkpoint")).unwrap();
            let finished = finished(session.stopping_at(step).run(&mut ()).unwrap());
            assert_eq!((finished.end, finished.steps), (step.unwrap_or(STEPS), STEPS));
            assert_eq!(finished.checkpoint.is_some(), step.is_some());
            finished.receipt
        })
        .collect();
    assert!(receipts[0] == receipts[1] && receipts[1] == receipts[2]);
    assert!(
        Checkpoint::notes(&folder.join("checkpoint")).is_err(),
        "it is gone"
    );
}

/// What is refused is refused before anything is charged, and leaves no ledger.
#[test]
fn refusals_leave_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    std::fs::write(folder.join("model"), "a model").unwrap();
    let refused = new_session(folder).run(&mut ()).unwrap_err();
    assert!(matches!(refused, Error::ModelExists { .. }), "{refused}");
    assert!(!folder.join("notes.txt.ledger").exists());
    finished(new_session(folder).overwriting(true).run(&mut ()).unwrap());
    // A budget of ε = 20 has no room for many more of these.
    let over = loop {
        match new_session(folder).overwriting(true).run(&mut ()) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    let Error::OverBudget(over) = over else {
        panic!("{over}")
    };
    assert!(over.to_string().contains("hint:") && over.cost.contains("ε"));
    assert!(!folder.join("checkpoint").exists());
}

/// A row of the source is the privacy unit: a model that read other rows would protect something else than
/// the receipt says.
#[test]
fn the_rows_of_a_model_are_the_units_of_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::Text {
        path: write_notes(folder.path()),
        each_line: false,
        length: 1000,
    };
    let origin = Origin::new(source, "ann", folder.path().join("model"));
    let privacy = Privacy {
        batch: 20,
        length: Length::Steps(STEPS),
        size: Some(80),
        ..Privacy::default()
    };
    let session = Session::new(
        description(),
        origin,
        folder.path().join("checkpoint"),
        privacy,
        Learning::default(),
    );
    let error = session.run(&mut ()).expect_err("rows of 10 are not rows of 1000");
    assert!(
        matches!(
            error,
            Error::OtherLength {
                unit: 1000,
                model: 10
            }
        ),
        "{error}"
    );
    assert!(!folder.path().join("model").exists() && !folder.path().join("checkpoint").exists());
}

/// A checkpoint of an earlier version calls synthetic text otherwise.
#[test]
fn the_source_of_an_earlier_checkpoint_is_read() {
    let source: Source = serde_json::from_str(r#"{"from":"made_up","rows":3,"seed":1}"#).unwrap();
    assert_eq!(source, Source::Synthetic { rows: 3, seed: 1 });
}

/// A table in memory whose rows are units of their own; some have no label.
fn given(folder: &Path, shift: f64) -> (sql::blocking::Dataset, Description) {
    use sql::arrow::array::{Float64Array, RecordBatch, StringArray};
    let text = r#"
name = "given"
[unit]
whose = "person"
[budget]
epsilon = 20
delta = 1e-4
ledger = "given.ledger"
[tables.points]
source = "memory"
each_row = true
[tables.points.columns]
x = { kind = "float", bounds = [-1, 1] }
above = { kind = "text", values = ["no", "yes"] }
"#;
    let mut catalog = sql::Catalog::parse(text, folder).unwrap();
    let numbers = (0..400).map(|place| f64::from(place) / 200.0 - 1.0 + shift);
    let labels: StringArray = (0..400)
        .map(|place| match place {
            _ if place % 7 == 0 => None,
            _ if place < 200 => Some("no"),
            _ => Some("yes"),
        })
        .collect();
    let rows = RecordBatch::try_from_iter([
        ("x", std::sync::Arc::new(numbers.collect::<Float64Array>()) as _),
        ("above", std::sync::Arc::new(labels) as _),
    ]);
    catalog.provide_batches("points", vec![rows.unwrap()]).unwrap();
    let encoding = sql::encoding(&catalog, "points", "above", &[]).unwrap();
    let description = Description::Table {
        encoding,
        hidden: Vec::new(),
    };
    (sql::blocking::Dataset::new(catalog).unwrap(), description)
}

#[test]
fn rows_that_a_program_gives_are_learned_charged_and_given_again() {
    use sql::arrow::array::{Float64Array, RecordBatch};
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let (dataset, description) = given(folder, 0.0);
    let source = Source::Table {
        catalog: folder.join("nowhere.toml"),
        table: "points".to_owned(),
    };
    let origin = Origin::new(source, "ann", folder.join("model"));
    let privacy = Privacy {
        size: Some(400),
        batch: 100,
        length: Length::Steps(40),
        ..Privacy::default()
    };
    let learning = Learning {
        rate: Some(0.1),
        ..Learning::default()
    };
    let new = |given: Option<sql::blocking::Dataset>| {
        let session = Session::new(
            description.clone(),
            origin.clone(),
            folder.join("checkpoint"),
            privacy.clone(),
            learning.clone(),
        );
        match given {
            Some(dataset) => session.given(dataset),
            None => session,
        }
    };
    // Without the rows there is only a catalog that is not there.
    assert!(new(None).run(&mut ()).is_err());
    let mut watching = Watching {
        until: Some(9),
        ..Watching::default()
    };
    let stopped = interrupted(new(Some(dataset)).run(&mut watching).unwrap());
    let resumed = |shift| {
        Session::resumed(&stopped.checkpoint)
            .unwrap()
            .given(given(folder, shift).0)
    };
    // Other rows are another run.
    assert!(matches!(
        resumed(0.25).run(&mut ()),
        Err(Error::Train(train::Error::OtherRun { .. }))
    ));
    let finished = finished(resumed(0.0).run(&mut ()).unwrap());
    assert_eq!(charges(&folder.join("given.ledger")), 1);
    assert_eq!(finished.receipt.unit.whose, "person");

    let training::ModelFile::Tabular(mut model) = training::read_model(&finished.model).unwrap() else {
        panic!("a model of a table");
    };
    let rows = RecordBatch::try_from_iter([(
        "x",
        std::sync::Arc::new(Float64Array::from(vec![0.9, -0.9, 7.0, 1.0])) as _,
    )]);
    let answers = model.predict(&rows.unwrap()).unwrap();
    assert!(
        answers
            .iter()
            .all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9)
    );
    // ε is 8 and 400 rows are far on either side: noise that turns this round is more than thirty deviations
    // out.
    assert!(answers[0][1] > 0.5 && answers[1][0] > 0.5, "{answers:?}");
    // Beyond the bounds is at the bound.
    assert_eq!(answers[2], answers[3]);
}
