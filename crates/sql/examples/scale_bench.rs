//! Times private questions over PostgreSQL tables: computed inside the database, computed here from fetched rows, the plain query in the database, and the shortest statement there that bounds
//! each person's part, in turn.
//!
//! ```text
//! scale_bench CONNECTION ROWS REPETITIONS
//! ```
//!
//! Makes two tables of so many rows in the database: `scale.often`, with 500 rows a person, and `scale.seldom`, with 8. Prints one JSON object of raw seconds for each table and question;
//! `bench/scale-run` adds the machine.

use accounting::Epsilon;
use serde_json::json;
use sql::blocking::Dataset;
use sql::{Catalog, QueryRequest};
use std::path::Path;
use std::time::Instant;
use tokio_postgres::NoTls;

type Failure = Box<dyn std::error::Error>;

/// A private question, what the plain query says the same with, without bounds and noise, and a floor: the shortest statement that bounds what each person adds, without noise, exact sums of
/// floats, the choice of a person's groups by a key, or an estimate of what is cut. A person is in at most 3 groups, with at most 5 rows.
struct Question {
    name: &'static str,
    sql: &'static str,
    plain: &'static str,
    floor: &'static str,
}

const QUESTIONS: [Question; 4] = [
    Question {
        name: "count",
        sql: "SELECT COUNT(*) FROM visits",
        plain: "SELECT COUNT(*) FROM visits",
        floor: "SELECT SUM(LEAST(n, 5)) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY person) AS p",
    },
    Question {
        name: "sum and average",
        sql: "SELECT SUM(cost), AVG(minutes) FROM visits",
        plain: "SELECT SUM(cost), AVG(minutes) FROM visits",
        floor: "SELECT SUM(LEAST(GREATEST(c, 0), 1000)), SUM(LEAST(n, 5)), SUM(LEAST(n, 5) * m / n) FROM
                (SELECT SUM(LEAST(GREATEST(cost, 0), 200)) AS c, COUNT(minutes) AS n, SUM(LEAST(GREATEST(minutes, 0), 60)) AS m FROM visits GROUP BY person) AS p",
    },
    Question {
        name: "grouped",
        sql: "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward",
        plain: "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward",
        floor: "SELECT ward, SUM(LEAST(n, 5)), SUM(LEAST(n, 5) * c / n) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY ward) AS place FROM
                (SELECT person, ward, COUNT(*) AS n, SUM(LEAST(GREATEST(cost, 0), 200)) AS c FROM visits GROUP BY person, ward) AS p) AS q WHERE place <= 3 GROUP BY ward",
    },
    Question {
        name: "filtered and grouped",
        sql: "SELECT ward, COUNT(*) FROM visits WHERE minutes > 50 AND day < DATE '2024-03-01' GROUP BY ward",
        plain: "SELECT ward, COUNT(*) FROM visits WHERE minutes > 50 AND day < DATE '2024-03-01' GROUP BY ward",
        floor: "SELECT ward, SUM(LEAST(n, 5)) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY ward) AS place FROM
                (SELECT person, ward, COUNT(*) AS n FROM visits WHERE minutes > 50 AND day < DATE '2024-03-01' GROUP BY person, ward) AS p) AS q WHERE place <= 3 GROUP BY ward",
    },
];

/// The tables: names, and how many rows a person has in each.
const TABLES: [(&str, u64); 2] = [("often", 500), ("seldom", 8)];

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
table = "scale.TABLE"
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
        client.batch_execute("CREATE SCHEMA IF NOT EXISTS scale").await?;
        let version: String = client.query_one("SHOW server_version", &[]).await?.get(0);
        eprintln!("PostgreSQL {version}");
        // What the shortest statement gets too.
        client
            .batch_execute("SET work_mem = '128MB'; SET jit = off")
            .await?;
        Ok::<_, tokio_postgres::Error>(client)
    })?;
    let directory = tempfile::tempdir()?;
    for (table, each) in TABLES {
        eprintln!("{rows} rows in {table}, {each} of each person");
        let made = [
            format!("DROP TABLE IF EXISTS scale.{table}"),
            format!(
                "CREATE TABLE scale.{table} AS SELECT (g * 211) % ({rows} / {each} + 1) AS person,
                   (ARRAY['eyes', 'heart', 'skin', 'lungs', 'bones', 'ears', 'teeth', 'blood'])[1 + g * 31 % 8] AS ward,
                   (g * 101 % 61)::int4 AS minutes, (g * 199 % 20000)::float8 / 100 AS cost, DATE '2024-01-01' + (g % 366)::int4 AS day
                 FROM generate_series(1, {rows}) AS g"
            ),
            format!("VACUUM ANALYZE scale.{table}"),
        ];
        for statement in made {
            runtime.block_on(client.batch_execute(&statement))?;
        }
        let dataset = |engine: &str| -> Result<Dataset, Failure> {
            let text = CATALOG
                .replace("ENGINE", engine)
                .replace("LEDGER", &format!("{table}.{engine}.ledger"))
                .replace("TABLE", table)
                .replace("CONNECTION", connection);
            Ok(Dataset::new(Catalog::parse(&text, Path::new(directory.path()))?)?)
        };
        let (inside, fetching) = (dataset("postgres")?, dataset("local")?);
        for question in &QUESTIONS {
            let read = |statement: &str| statement.replace("FROM visits", &format!("FROM scale.{table}"));
            let (plain, floor) = (read(question.plain), read(question.floor));
            let (mut there, mut here, mut alone, mut least) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            let mut engines = Vec::new();
            for repetition in 0..repetitions {
                // Each repetition has an ε of its own, so that it is a question of its own.
                let ask = QueryRequest {
                    epsilon: Some(Epsilon::parse(&format!("1.{:03}", repetition + 1))?),
                    ..QueryRequest::new(question.sql, "bench")
                };
                if repetition == 0 {
                    let parts = inside.explain(&ask, 1000)?.parts;
                    engines.extend(parts.into_iter().map(|part| part.engine));
                }
                // In turn, so that a busy minute falls on all.
                there.push(seconds(|| Ok(inside.query(&ask)?))?);
                here.push(seconds(|| Ok(fetching.query(&ask)?))?);
                alone.push(seconds(|| Ok(runtime.block_on(client.query(&plain, &[]))?))?);
                least.push(seconds(|| Ok(runtime.block_on(client.query(&floor, &[]))?))?);
            }
            println!(
                "{}",
                json!({
                    "table": table, "rows": rows, "rows of a person": each, "question": question.name, "sql": question.sql,
                    "engines": engines, "inside": there, "fetched": here, "plain": alone, "shortest bounded": least,
                })
            );
        }
    }
    Ok(())
}
