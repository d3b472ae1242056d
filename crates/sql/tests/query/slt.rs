//! Questions and their answers in files (`tests/slt/*.slt`), in the format of sqllogictest; PostgreSQL is asked the same.
//!
//! What is read of the format: comments; `query TYPES [nosort|rowsort]`, a question, `----` and an answer; `statement error REGEX` and a question; and
//! `skipif ENGINE` or `onlyif ENGINE` before either, the engines being `deniable` and `postgresql`. A type is T for text, I for a number that is rounded to a
//! whole one, R for one that is rounded to three places. The crate of that name would bring fifteen others for what is a page here, a generator of random numbers among them.

use ledger::{Place, Store};
use sql::blocking::Dataset;
use sql::{Answer, Catalog, CellKind, QueryRequest};
use std::path::{Path, PathBuf};
use tokio_postgres::{NoTls, SimpleQueryMessage};

const DENIABLE: &str = "deniable";
const POSTGRESQL: &str = "postgresql";

const DATA: [&str; 3] = ["people.csv", "visits.csv", "cities.csv"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt")
}

/// One question, and what is expected of it.
#[derive(Debug, PartialEq)]
struct Record {
    /// Where it begins.
    line: usize,
    conditions: Vec<(bool, String)>,
    sql: String,
    expected: Expected,
}

#[derive(Debug, PartialEq)]
enum Expected {
    Rows {
        types: Vec<char>,
        sorted: bool,
        rows: Vec<String>,
    },
    Error(String),
}

impl Record {
    fn is_for(&self, engine: &str) -> bool {
        let holds = |(only, named): &(bool, String)| *only == (named == engine);
        self.conditions.iter().all(holds)
    }

    /// What is wrong with rows that an engine gave for it, if anything.
    fn differs(&self, mut found: Vec<String>) -> Option<String> {
        let Expected::Rows { sorted, rows, .. } = &self.expected else {
            return Some(format!(
                "line {}: {}\nwas answered: {found:?}",
                self.line, self.sql
            ));
        };
        let mut rows = rows.clone();
        if *sorted {
            rows.sort();
            found.sort();
        }
        (rows != found).then(|| {
            format!(
                "line {}: {}\nexpected {rows:?}\nfound    {found:?}",
                self.line, self.sql
            )
        })
    }
}

/// Reads the records of a file; or says in which line one is not understood.
fn parse(text: &str) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let mut conditions = Vec::new();
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim_end()));
    while let Some((line, words)) = lines.next() {
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        let wrong = || format!("line {line}: `{words}` is not understood");
        let (first, rest) = words.split_once(' ').ok_or_else(wrong)?;
        if first == "skipif" || first == "onlyif" {
            let known = [DENIABLE, POSTGRESQL].contains(&rest);
            known.then_some(()).ok_or_else(wrong)?;
            conditions.push((first == "onlyif", rest.to_owned()));
            continue;
        }
        let mut block = || {
            let lines = lines.by_ref().map(|(_, line)| line);
            lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>()
        };
        let (sql, expected) = match first {
            "query" => {
                let (types, sort) = rest.split_once(' ').unwrap_or((rest, "nosort"));
                let known = types.chars().all(|kind| "TIR".contains(kind));
                let known = known && ["nosort", "rowsort"].contains(&sort);
                known.then_some(()).ok_or_else(wrong)?;
                let block = block();
                let at = block.iter().position(|line| *line == "----").ok_or_else(wrong)?;
                let expected = Expected::Rows {
                    types: types.chars().collect(),
                    sorted: sort == "rowsort",
                    rows: block[at + 1..].iter().map(|row| one_blank(row)).collect(),
                };
                (block[..at].join("\n"), expected)
            }
            "statement" => {
                let pattern = rest.strip_prefix("error ").ok_or_else(wrong)?;
                (block().join("\n"), Expected::Error(pattern.to_owned()))
            }
            _ => return Err(wrong()),
        };
        records.push(Record {
            line,
            conditions: std::mem::take(&mut conditions),
            sql,
            expected,
        });
    }
    Ok(records)
}

fn read(name: &str) -> Vec<Record> {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let records = parse(&text).unwrap_or_else(|wrong| panic!("{name}, {wrong}"));
    assert!(records.len() >= 5, "{name} has {} questions", records.len());
    records
}

/// A row as it is written in a file: values with one blank between them, whatever blanks are in them.
fn one_blank(row: &str) -> String {
    row.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value as it is written in a file.
fn written(kind: char, value: Option<&str>) -> String {
    let Some(value) = value else {
        return "NULL".to_owned();
    };
    let number = || value.parse::<f64>();
    match (kind, number(), value) {
        // Noise that is next to nothing leaves no sign.
        ('I', Ok(number), _) => (number.round() + 0.0).to_string(),
        ('R', Ok(number), _) => match format!("{number:.3}") {
            zero if zero == "-0.000" => "0.000".to_owned(),
            other => other,
        },
        ('I' | 'R', Err(_), _) => format!("no number: {value}"),
        (_, _, "") => "(empty)".to_owned(),
        (_, _, "t") => "true".to_owned(),
        (_, _, "f") => "false".to_owned(),
        _ => value.to_owned(),
    }
}

fn row(types: &[char], values: impl ExactSizeIterator<Item = Option<String>>) -> String {
    assert_eq!(types.len(), values.len(), "columns");
    let written = types
        .iter()
        .zip(values)
        .map(|(kind, value)| written(*kind, value.as_deref()));
    one_blank(&written.collect::<Vec<_>>().join(" "))
}

/// The tables in a folder of their own.
fn dataset() -> (tempfile::TempDir, Dataset) {
    let directory = tempfile::tempdir().unwrap();
    for name in DATA {
        std::fs::copy(folder().join(name), directory.path().join(name)).unwrap();
    }
    let catalog = std::fs::read_to_string(folder().join("deniable.toml")).unwrap();
    let catalog = Catalog::parse(&catalog, directory.path()).unwrap();
    (directory, Dataset::new(catalog).unwrap())
}

fn rows_of(answer: &Answer, types: &[char]) -> Vec<String> {
    let value = |(cell, column): (&sql::Cell, &sql::AnswerColumn)| match &cell.value {
        sql::CellValue::Null => None,
        sql::CellValue::Text(text) if column.kind == CellKind::Timestamp => Some(text.replace('T', " ")),
        sql::CellValue::Text(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let values = |cells: &Vec<sql::Cell>| {
        let values: Vec<_> = cells.iter().zip(&answer.columns).map(value).collect();
        row(types, values.into_iter())
    };
    answer.rows.iter().map(values).collect()
}

/// What is wrong with the answers to these records.
fn asked(records: &[Record]) -> Vec<String> {
    let (directory, dataset) = dataset();
    let rules = dataset.rules().unwrap();
    let mut wrong = Vec::new();
    for record in records.iter().filter(|record| record.is_for(DENIABLE)) {
        let ask = QueryRequest {
            cut_estimate: false,
            ..QueryRequest::new(&record.sql, "tester")
        };
        let reported = |what: String| format!("line {}: {}\n{what}", record.line, record.sql);
        // Of its own, so that many questions may spend nearly all there is.
        let place = directory.path().join(format!("{}.ledger", record.line));
        let mut store = Store::open(&Place::File(place), &rules).unwrap();
        match (dataset.query_with(&ask, &mut store), &record.expected) {
            (Ok(answered), Expected::Rows { types, .. }) => {
                wrong.extend(record.differs(rows_of(&answered.answer, types)));
            }
            (Ok(_), Expected::Error(_)) => wrong.push(reported("was answered".to_owned())),
            (Err(error), Expected::Rows { .. }) => wrong.push(reported(error.to_string())),
            (Err(error), Expected::Error(pattern)) => {
                let message = error.to_string();
                let pattern = regex::Regex::new(pattern).unwrap_or_else(|error| panic!("{error}"));
                if !pattern.is_match(&message) {
                    wrong.push(reported(format!("was refused in other words: {message}")));
                }
                assert!(message.contains("\nhint: "), "{}: {message}", record.sql);
                assert!(store.charges().unwrap().is_empty(), "{} was charged", record.sql);
            }
        }
    }
    wrong
}

#[track_caller]
fn check(name: &str) {
    let wrong = asked(&read(name));
    assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n\n"));
}

/// A test for each file, and their names.
macro_rules! files {
    ($($test:ident => $name:literal),* $(,)?) => {
        const FILES: &[&str] = &[$($name),*];
        $(
            #[test]
            fn $test() {
                check($name);
            }
        )*
    };
}

files! {
    aggregates_are_as_written => "aggregates.slt",
    dates_are_as_written => "dates.slt",
    groups_are_as_written => "groups.slt",
    joins_are_as_written => "joins.slt",
    refusals_are_as_written => "refusals.slt",
    what_is_computed_of_results_is_as_written => "results.slt",
    what_is_computed_of_rows_is_as_written => "rows.slt",
    texts_are_as_written => "texts.slt",
}

#[test]
fn every_file_of_answers_is_asked() {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".slt"))
        .collect();
    names.sort();
    let mut asked = FILES.to_vec();
    asked.sort_unstable();
    assert_eq!(names, asked);
}

/// Answers that are wrong, refusals in other words, and what is no record at all are found.
#[test]
fn a_wrong_file_of_answers_is_reported() {
    let wrong = asked(
        &parse(
            "query I\nSELECT COUNT(*) FROM people\n----\n25\n\n\
             statement error no such words\nSELECT * FROM people\n\n\
             statement error .\nSELECT COUNT(*) FROM people\n\n\
             query T\nSELECT COUNT(*) FROM nobody\n----\n0\n\n\
             onlyif postgresql\nquery I\nSELECT 1\n----\n2\n\n\
             query I rowsort\nSELECT COUNT(*) FROM people\n----\n  24\n",
        )
        .unwrap(),
    );
    assert_eq!(wrong.len(), 4, "{wrong:#?}");
    for text in [
        "query\nSELECT 1\n",
        "query X\nSELECT 1\n----\n1\n",
        "query I\nSELECT 1\n",
        "statement ok\nSELECT 1\n",
        "skipif mysql\n",
        "hash-threshold 8\n",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

/// The same tables in PostgreSQL. What it says is what the files say.
#[test]
fn postgresql_gives_the_answers_of_the_files() {
    let address = std::env::var("DENIABLE_TEST_POSTGRES").expect(
        "DENIABLE_TEST_POSTGRES is not set: run the tests as `scripts/with-postgres cargo nextest run --workspace`",
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let wrong = runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
        tokio::spawn(connection);
        // Of this connection alone, and gone with it.
        client.batch_execute(&tables()).await.unwrap();
        let mut wrong = Vec::new();
        let mut asked = 0;
        for name in FILES {
            for record in read(name).into_iter().filter(|record| record.is_for(POSTGRESQL)) {
                let Expected::Rows { types, .. } = &record.expected else {
                    continue;
                };
                asked += 1;
                match client.simple_query(&record.sql).await {
                    Err(error) => wrong.push(format!("{name}, line {}: {error:?}", record.line)),
                    Ok(messages) => {
                        let rows = messages.iter().filter_map(|message| match message {
                            SimpleQueryMessage::Row(found) => {
                                let values = (0..found.len()).map(|at| found.get(at).map(str::to_owned));
                                Some(row(types, values))
                            }
                            _ => None,
                        });
                        wrong.extend(
                            record
                                .differs(rows.collect())
                                .map(|what| format!("{name}, {what}")),
                        );
                    }
                }
            }
        }
        assert!(asked > 60, "{asked} questions");
        wrong
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// SQL that makes the tables from the same files.
fn tables() -> String {
    let mut script = String::from(
        "CREATE TEMPORARY TABLE people (id bigint, age bigint, city text, team text, income double precision, hours bigint, smoker boolean, born date, note text);
         CREATE TEMPORARY TABLE visits (id bigint, day date, ward text, minutes bigint, cost double precision);
         CREATE TEMPORARY TABLE cities (city text, country text, inhabitants bigint);",
    );
    for name in DATA {
        let table = name.trim_end_matches(".csv");
        let text = std::fs::read_to_string(folder().join(name)).unwrap();
        for line in text.lines().skip(1) {
            // Texts that may be empty are in quotes; `-` is NULL. No value of these files holds a comma.
            let value = |field: &str| match field {
                "" | "-" => "NULL".to_owned(),
                field => format!("'{}'", field.trim_matches('"').replace('\'', "''")),
            };
            let values: Vec<String> = line.split(',').map(value).collect();
            script += &format!("INSERT INTO {table} VALUES ({});\n", values.join(", "));
        }
    }
    script
}
