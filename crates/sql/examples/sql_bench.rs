//! Times private queries beside the same queries without privacy, in one process, with the same engine and the same number of threads.
//!
//! ```text
//! sql_bench compare CATALOG FILE SQL REPETITIONS    private and plain in turn
//! sql_bench private CATALOG FILE SQL REPETITIONS    private alone, for its peak memory
//! sql_bench plain   CATALOG FILE SQL REPETITIONS    plain alone, for its peak memory
//! sql_bench plan    CATALOG FILE SQL REPETITIONS    what does not depend on the data: explaining; planning and charging; all of that and answering over a tiny file
//! ```
//!
//! FILE is the table `visits` of the catalog, a Parquet file. Prints one JSON object of raw seconds; `bench/sql-run` makes sense of it.

use accounting::Epsilon;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use serde_json::{Value, json};
use sql::blocking::Dataset;
use sql::{Catalog, QueryRequest, Stage};
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, catalog, file, sql, repetitions] = arguments.as_slice() else {
        return Err("expected MODE CATALOG FILE SQL REPETITIONS\nhint: see the top of this file".into());
    };
    let repetitions: usize = repetitions.parse()?;
    let threads = std::thread::available_parallelism()?.get();
    let dataset = Dataset::new(Catalog::read(catalog)?)?;
    let mut report = json!({ "threads": threads });
    match mode.as_str() {
        "compare" | "private" | "plain" => {
            let mut plain = Runs::default();
            let mut private = Runs::default();
            for repetition in 0..repetitions {
                // In turn, so that a busy minute falls on both.
                if mode != "private" {
                    plain.add(|| ask_plainly(file, sql, threads))?;
                }
                if mode != "plain" {
                    private.add(|| ask_privately(&dataset, sql, repetition, &mut |_| ()))?;
                }
            }
            report["plain"] = plain.report();
            report["private"] = private.report();
        }
        "plan" => {
            let (mut explain, mut charge, mut query) = (Runs::default(), Runs::default(), Runs::default());
            for repetition in 0..repetitions {
                let ask = ask(sql, repetition)?;
                explain.add(|| Ok(dataset.explain(&ask, 1000)?.parts.len()))?;
                let start = Instant::now();
                query.add(|| {
                    ask_privately(&dataset, sql, repetition, &mut |stage| {
                        if stage == Stage::Charged {
                            charge.seconds.push(start.elapsed().as_secs_f64());
                        }
                    })
                })?;
            }
            report["explain"] = explain.report();
            report["charge"] = charge.report();
            report["query"] = query.report();
        }
        _ => return Err("expected compare, private, plain or plan\nhint: see the top of this file".into()),
    }
    report["peak_kib"] = peak_kib()?.into();
    println!("{report}");
    Ok(())
}

/// Seconds of each run, and how many rows the answers had.
#[derive(Default)]
struct Runs {
    seconds: Vec<f64>,
    rows: Vec<usize>,
}

impl Runs {
    fn add(&mut self, run: impl FnOnce() -> Result<usize, Failure>) -> Result<(), Failure> {
        let start = Instant::now();
        let rows = run()?;
        self.seconds.push(start.elapsed().as_secs_f64());
        self.rows.push(rows);
        Ok(())
    }

    fn report(&self) -> Value {
        json!({ "seconds": self.seconds, "rows": self.rows })
    }
}

/// A repeated question is answered from the ledger, so that each repetition asks for a slightly different ε.
fn ask(sql: &str, repetition: usize) -> Result<QueryRequest, Failure> {
    let mut ask = QueryRequest::new(sql, "bench");
    ask.epsilon = Some(Epsilon::parse(&format!("1.{repetition:04}"))?);
    Ok(ask)
}

/// From the text to the recorded answer, the opening of the ledger included.
fn ask_privately(
    dataset: &Dataset,
    sql: &str,
    repetition: usize,
    watch: &mut dyn FnMut(Stage),
) -> Result<usize, Failure> {
    let answered = dataset.query_watched(&ask(sql, repetition)?, watch)?;
    if answered.repeated {
        return Err("this was asked before, so nothing was measured\nhint: remove the ledger".into());
    }
    Ok(answered.answer.rows.len())
}

/// From the text to the answer, the opening of the file included.
fn ask_plainly(file: &str, sql: &str, threads: usize) -> Result<usize, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(threads));
        session
            .register_parquet("visits", file, ParquetReadOptions::default())
            .await?;
        let batches = session.sql(sql).await?.collect().await?;
        Ok(batches.iter().map(|batch| batch.num_rows()).sum())
    })
}

/// The most memory that this process ever had.
fn peak_kib() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("the system does not tell its peak memory\nhint: this needs Linux")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
