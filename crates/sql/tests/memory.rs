//! Writing a large answer takes little memory beside the answer itself: an analyst may ask for one again and again for nothing.

use sql::{Answer, AnswerColumn, Answered, Cell, CellKind, CellValue};
use std::io;

const COLUMNS: usize = 4;

/// An answer of this many rows, with a text and noisy numbers.
fn answered(rows: usize) -> Answered {
    let epsilon = || accounting::Epsilon::parse("1").unwrap();
    let column = |number: usize| AnswerColumn {
        name: format!("column{number}"),
        kind: if number == 0 {
            CellKind::Text
        } else {
            CellKind::Float
        },
        noisy: number > 0,
        chosen: false,
        no_interval: None,
    };
    let cell = |row: usize, number: usize| match number {
        0 => Cell {
            value: CellValue::Text(format!("group {row}")),
            low: None,
            high: None,
        },
        _ => Cell {
            value: CellValue::Float(row as f64 + 0.25),
            low: Some(row as f64),
            high: Some(row as f64 + 0.5),
        },
    };
    Answered {
        answer: Answer {
            columns: (0..COLUMNS).map(column).collect(),
            rows: (0..rows)
                .map(|row| (0..COLUMNS).map(|number| cell(row, number)).collect())
                .collect(),
            confidence: 0.95,
            bounds: Vec::new(),
            cut: Vec::new(),
            notes: vec!["a note".to_owned()],
            cost: None,
        },
        repeated: false,
        resumed: false,
        left: ledger::Left {
            epsilon: epsilon(),
            dataset: epsilon(),
            share: None,
        },
        receipt: None,
    }
}

/// The most bytes that are alive at once while this runs, beside those that were before.
fn most_alive(work: impl FnMut()) -> u64 {
    allocation_counter::measure(work).bytes_max
}

/// A million rows are digested and written as a thousand are: a row at a time.
#[test]
fn digests_and_texts_of_answers_are_made_row_by_row() {
    let most_for = |rows: usize| {
        let answered = answered(rows);
        let digested = most_alive(|| assert_eq!(answered.answer.table_sha256().len(), 64));
        let written = most_alive(|| serde_json::to_writer(io::sink(), &answered).unwrap());
        [digested, written]
    };
    let (few, many) = (most_for(10), most_for(10_000));
    for (few, many) in few.into_iter().zip(many) {
        assert!(
            many < few + 4096,
            "{few} bytes for ten rows, {many} for ten thousand"
        );
    }
    // The counter counts: as a value all rows are there at once.
    let answered = answered(10_000);
    assert!(most_alive(|| drop(answered.to_json())) > 1 << 20);
}

/// What is written row by row is the object that programs know, in the same order.
#[test]
fn a_text_of_an_answer_is_its_object() {
    let answered = answered(3);
    let text = serde_json::to_string(&answered).unwrap();
    assert_eq!(text, answered.to_json().to_string());
    let back: serde_json::Value = serde_json::from_str(&text).unwrap();
    let names: Vec<&String> = back.as_object().unwrap().keys().collect();
    let expected = [
        "columns",
        "rows",
        "confidence",
        "bounds",
        "cut",
        "cost",
        "repeated",
        "resumed",
        "left",
        "notes",
        "receipt",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        Answer::table_sha256_of(&back),
        Some(answered.answer.table_sha256())
    );
}

/// CSV is the text and what doubling it takes while it grows, and nothing for each row besides.
#[test]
fn csv_is_made_row_by_row() {
    let answer = answered(10_000).answer;
    let length = answer.to_csv().len() as u64;
    assert!(most_alive(|| drop(answer.to_csv())) < 4 * length);
}
