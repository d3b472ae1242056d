//! Times private questions over a PostgreSQL table: computed inside the database, computed here from fetched rows, and the plain query in the database, in turn.
//!
//! ```text
//! scale_bench CONNECTION ROWS REPETITIONS
//! ```
//!
//! Makes the table `scale.visits` of so many rows in the database, unless it is there with as many. Prints one JSON object of raw seconds a question; `bench/scale-run` adds the machine.

use accounting::Epsilon;
use serde_json::json;
use sql::blocking::Dataset;
use sql::{Catalog, QueryRequest};
use std::path::Path;
use std::time::Instant;
use tokio_postgres::NoTls;

type Failure = Box<dyn std::error::Error>;

/// A private question, and the plain query that says the same without bounds and noise.
const QUESTIONS: [(&str, &str, &str); 4] = [
    (
        "count",
        "SELECT COUNT(*) FROM visits",
        "SELECT COUNT(*) FROM scale.visits",
    ),
    (
        "sum and average",
        "SELECT SUM(cost), AVG(minutes) FROM visits",
        "SELECT SUM(cost), AVG(minutes) FROM scale.visits",
    ),
    (
        "grouped",
        "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*), AVG(cost) FROM scale.visits GROUP BY ward",
    ),
    (
        "filtered and grouped",
        "SELECT ward, COUNT(*) FROM visits WHERE minutes > 50 AND day < DATE '2024-03-01' GROUP BY ward",
        "SELECT ward, COUNT(*) FROM scale.visits WHERE minutes > 50 AND day < DATE '2024-03-01' GROUP BY ward",
    ),
];

const CATALOG: &str = r#"
name = "scale"
[unit]
whose = "person"
[budget]
epsilon = 1e9
delta = 1e-4
ledger = "LEDGER"
[engine]
kind = "ENGINE"
[limits]
groups = 3
rows_per_group = 5
[tables.visits]
source = "CONNECTION"
table = "scale.visits"
unit = "person"
[tables.visits.columns]
person = { kind = "int" }
ward = { kind = "text", values = ["eyes", "heart", "skin", "lungs", "bones", "ears", "teeth", "blood"] }
minutes = { kind = "int", bounds = [0, 60] }
cost = { kind = "float", bounds = [0, 200] }
day = { kind = "date" }
"#;

/// Seconds that something takes.
fn seconds<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<f64, Failure> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed().as_secs_f64())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [connection, rows, repetitions] = arguments.as_slice() else {
        return Err(
            "expected CONNECTION ROWS REPETITIONS\nhint: bench/scale-run starts a database and calls this"
                .into(),
        );
    };
    let (rows, repetitions): (u64, u64) = (rows.parse()?, repetitions.parse()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let client = runtime.block_on(async {
        let (client, task) = tokio_postgres::connect(connection, NoTls).await?;
        tokio::spawn(task);
        let made = format!(
            "CREATE SCHEMA IF NOT EXISTS scale; DROP TABLE IF EXISTS scale.visits;
             CREATE TABLE scale.visits AS SELECT (g * 211) % ({rows} / 8 + 1) AS person,
               (ARRAY['eyes', 'heart', 'skin', 'lungs', 'bones', 'ears', 'teeth', 'blood'])[1 + g * 31 % 8] AS ward,
               (g * 101 % 61)::int4 AS minutes, (g * 199 % 20000)::float8 / 100 AS cost, DATE '2024-01-01' + (g % 366)::int4 AS day
             FROM generate_series(1, {rows}) AS g; VACUUM ANALYZE scale.visits"
        );
        for statement in made.split(';') {
            client.batch_execute(statement).await?;
        }
        let version: String = client.query_one("SHOW server_version", &[]).await?.get(0);
        eprintln!("{rows} rows in PostgreSQL {version}");
        Ok::<_, tokio_postgres::Error>(client)
    })?;
    let directory = tempfile::tempdir()?;
    let dataset = |engine: &str| -> Result<Dataset, Failure> {
        let text = CATALOG
            .replace("ENGINE", engine)
            .replace("LEDGER", &format!("{engine}.ledger"))
            .replace("CONNECTION", connection);
        Ok(Dataset::new(Catalog::parse(&text, Path::new(directory.path()))?)?)
    };
    let (inside, fetching) = (dataset("postgres")?, dataset("local")?);
    for (name, sql, plain) in QUESTIONS {
        let (mut there, mut here, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        let mut engine = None;
        for repetition in 0..repetitions {
            // Each repetition has an ε of its own, so that it is a question of its own.
            let ask = QueryRequest {
                epsilon: Some(Epsilon::parse(&format!("1.{:03}", repetition + 1))?),
                ..QueryRequest::new(sql, "bench")
            };
            if repetition == 0 {
                engine = inside.explain(&ask, 1000)?.parts[0].engine.clone();
            }
            // In turn, so that a busy minute falls on all.
            there.push(seconds(|| Ok(inside.query(&ask)?))?);
            here.push(seconds(|| Ok(fetching.query(&ask)?))?);
            alone.push(seconds(|| Ok(runtime.block_on(client.query(plain, &[]))?))?);
        }
        println!(
            "{}",
            json!({ "question": name, "sql": sql, "rows": rows, "engine": engine, "inside": there, "fetched": here, "plain": alone })
        );
    }
    Ok(())
}
