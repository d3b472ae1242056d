//! Questions as people type them who know PostgreSQL: `tests/questions/asked.sql`, written before trying. Nearly all are answered well, and what is refused says what to do instead.
//!
//! Answered well is an answer whose rows are those of the engine's own SQL over the same files, without noise: each number near the truth as its interval says, an interval for each noisy
//! number, and intervals narrow enough to be of use. ε is large and limits are wide, so that the noise is small: what is tried is whether a question is understood.

use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::{CsvReadOptions, SessionContext};
use sql::blocking::Dataset;
use sql::{Answer, Catalog, CellValue, QueryRequest};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const ASKED: &str = include_str!("../questions/asked.sql");
const CATALOG: &str = include_str!("../questions/deniable.toml");
/// How many of the questions are answered well, at least.
const GOAL: usize = 105;

/// A question, and the same in words of the engine where it can say it.
struct Question {
    sql: String,
    reference: Option<String>,
}

fn questions() -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    for line in ASKED.lines() {
        if let (Some(reference), Some(question)) = (line.strip_prefix("--= "), questions.last_mut()) {
            question.reference = (reference != "none").then(|| reference.to_owned());
        } else if let Some(sql) = line.strip_suffix(';') {
            questions.push(Question {
                sql: sql.to_owned(),
                reference: Some(sql.to_owned()),
            });
        }
    }
    questions
}

/// A number that looks random and follows from its place.
fn random(place: u64, what: u64) -> u64 {
    let mut bits = (place * 31 + what).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33
}

const PEOPLE: u64 = 3000;

/// The clinic: people with one row each, their visits, and regions that are public.
fn write(directory: &Path) {
    let mut people = String::from("person_id,age,sex,region,education,income,smoker,born\n");
    let mut visits = String::from("person_id,day,department,minutes,cost,emergency\n");
    for person in 0..PEOPLE {
        let draw = |what: u64, below: u64| random(person, what) % below;
        let born = 1930 + draw(0, 90);
        let sex = ["female", "male", "", "female", "male"][draw(1, 5) as usize];
        let region = ["north", "south", "east", "west"][draw(2, 4) as usize];
        let education = ["none", "school", "bachelor", "master", ""][draw(3, 5) as usize];
        let income = match draw(4, 8) {
            0 => String::new(),
            _ => format!("{}", 10_000 + 400 * (2025 - born) + draw(5, 60_000)),
        };
        let (month, day) = (1 + draw(6, 12), 1 + draw(7, 28));
        writeln!(
            people,
            "{person},{},{sex},{region},{education},{income},{},{born}-{month:02}-{day:02}",
            2025 - born,
            draw(8, 4) == 0
        )
        .unwrap();
        for visit in 0..draw(9, 7) {
            let draw = |what: u64, below: u64| random(person * 16 + visit, what) % below;
            let department = ["eyes", "heart", "lungs", "skin", "bones"][draw(10, 5) as usize];
            let (year, month, day) = (2024 + draw(11, 2), 1 + draw(12, 12), 1 + draw(13, 28));
            let emergency = ["true", "false", "false", ""][draw(14, 4) as usize];
            writeln!(
                visits,
                "{person},{year}-{month:02}-{day:02},{department},{},{}.5,{emergency}",
                5 + draw(15, 100),
                20 + draw(16, 300)
            )
            .unwrap();
        }
    }
    let regions = "region,country,population\neast,B,40000\nislands,C,900\nnorth,A,90000\nsouth,A,120000\nwest,B,60000\n";
    for (name, text) in [
        ("people.csv", people),
        ("visits.csv", visits),
        ("regions.csv", regions.to_owned()),
    ] {
        std::fs::write(directory.join(name), text).unwrap();
    }
}

/// Rows as texts, by the columns that noise has no part in.
type Rows = BTreeMap<Vec<String>, Vec<Option<String>>>;

/// A value such that the same number or day has one text.
fn plain(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) => format!("{number}"),
        Err(_) => text.trim_end_matches("T00:00:00").to_owned(),
    }
}

/// What the engine itself answers over the files.
async fn truth(engine: &SessionContext, sql: &str, labels: &[usize]) -> Result<Rows, String> {
    let frame = engine.sql(sql).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    let mut rows = Rows::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let cells: Vec<Option<String>> = batch
                .columns()
                .iter()
                .map(|column| {
                    let text = ArrayFormatter::try_new(column.as_ref(), &FormatOptions::new()).unwrap();
                    (!column.is_null(row)).then(|| plain(&text.value(row).to_string()))
                })
                .collect();
            let key = labels
                .iter()
                .map(|place| cells[*place].clone().unwrap_or_else(|| "∅".to_owned()));
            rows.insert(key.collect(), cells);
        }
    }
    Ok(rows)
}

/// What is wrong with an answer, if anything is.
fn wrong(answer: &Answer, labels: &[usize], mut truth: Rows) -> Option<String> {
    for row in &answer.rows {
        let key = labels.iter().map(|place| match &row[*place].value {
            CellValue::Null => "∅".to_owned(),
            value => plain(&value.to_string()),
        });
        let key: Vec<String> = key.collect();
        // A group that nobody is in is shown, and the engine has none.
        let Some(expected) = truth.remove(&key) else {
            continue;
        };
        for ((column, cell), expected) in answer.columns.iter().zip(row).zip(&expected) {
            if column.is_label() {
                continue;
            }
            let Some(truth) = expected.as_ref().and_then(|text| text.parse::<f64>().ok()) else {
                continue;
            };
            let Some((value, (low, high))) = cell.value.as_f64().zip(cell.low.zip(cell.high)) else {
                return Some(format!(
                    "{} has no value or no interval at {key:?}: {cell:?}, truth {truth}",
                    column.name
                ));
            };
            // Twice as wide as its interval is wide enough for all of some hundred cells; where there is hardly any noise, a little more.
            let slack = 1e-3 * truth.abs() + 1e-6;
            if truth < low - (value - low) - slack || truth > high + (high - value) + slack {
                return Some(format!("{} at {key:?}: {cell:?}, truth {truth}", column.name));
            }
            if truth.abs() >= 100.0 && high - low > truth.abs() {
                return Some(format!(
                    "{} at {key:?} says little: {cell:?}, truth {truth}",
                    column.name
                ));
            }
        }
    }
    truth.into_keys().next().map(|key| format!("no row for {key:?}"))
}

#[test]
fn nearly_all_questions_are_answered_well() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path());
    let dataset = Dataset::new(Catalog::parse(CATALOG, directory.path()).unwrap()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let engine = SessionContext::new();
    for name in ["people", "visits", "regions"] {
        let path = directory.path().join(format!("{name}.csv"));
        let read = engine.register_csv(name, path.to_str().unwrap(), CsvReadOptions::new());
        runtime.block_on(read).unwrap();
    }
    let questions = questions();
    let (mut well, mut others, mut bad_hints) = (0, Vec::new(), Vec::new());
    for Question { sql, reference } in &questions {
        let answer = match dataset.query(&QueryRequest::new(sql, "tester")) {
            Ok(answered) => answered.answer,
            Err(error) => {
                let said = error.to_string();
                if !said.contains("hint: ") {
                    bad_hints.push(format!("{sql}\n    {said}"));
                }
                others.push(format!("refused: {sql}\n    {}", said.replace('\n', "\n    ")));
                continue;
            }
        };
        let labels = answer
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.is_label());
        let labels: Vec<usize> = labels.map(|(place, _)| place).collect();
        let wrong = match reference {
            None => answer.rows.is_empty().then(|| "no rows".to_owned()),
            Some(reference) => match runtime.block_on(truth(&engine, reference, &labels)) {
                Ok(truth) => wrong(&answer, &labels, truth),
                Err(error) => Some(format!("the engine cannot say it: {error}")),
            },
        };
        match wrong {
            None => well += 1,
            Some(wrong) => others.push(format!("not well: {sql}\n    {wrong}")),
        }
    }
    // What is not answered well is listed where it is looked for.
    println!(
        "{well} of {} answered well\n{}",
        questions.len(),
        others.join("\n")
    );
    assert!(questions.len() >= 110);
    let without = bad_hints.join("\n");
    assert!(bad_hints.is_empty(), "refused without a hint:\n{without}");
    assert!(well >= GOAL, "{well} of {} answered well", questions.len());
}
