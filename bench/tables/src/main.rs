//! Planned releases, from workload to tables: how long a plan takes, how far its tables are off, and how long rows take to become tables, beside the
//! authors' own code for the same workloads.
//!
//! ```text
//! deniable-bench-tables [--python INTERPRETER SCRIPT] [--out FILE]
//! ```

#[path = "../../src/common.rs"]
mod common;

use accounting::{Budget, Neighbors, PrivacyUnit, Promise, Rho};
use common::{Arguments, Failure, python_rows};
use mechanism::{Account, MemoryLedger, Sensitive};
use noise::Seeded;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use std::time::Instant;
use tables::{Attribute, Cells, Domain, Form, Limits, Plan, Weights, Workload};

/// Adult's attributes, as the authors have them; the first five are in an order.
const ADULT: [u32; 14] = [100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2];
const ROWS: usize = 1_000_000;

/// One measurement. The Python peers print the same object.
#[derive(Serialize, Deserialize)]
struct Row {
    library: String,
    job: String,
    /// Seconds of the best of a few runs, without the start of an interpreter.
    seconds: f64,
    /// Root mean squared error, where the job is to plan.
    error: Option<f64>,
    /// The most memory that the process had until then, in MiB.
    memory: Option<f64>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let mut rows = ours()?;
    if let Some((interpreter, script)) = &arguments.python {
        rows.extend(python_rows::<Row>(interpreter, script)?);
    }
    print!("{}", table(&rows));
    common::warn_if_busy("times are too long, for some more than for others");
    if let Some(path) = &arguments.out {
        let document = serde_json::json!({ "machine": common::machine(), "rows": rows });
        common::write_json(path, &document)?;
    }
    Ok(())
}

fn table(rows: &[Row]) -> String {
    let mut lines = vec![["job", "library", "seconds", "error", "MiB"].map(str::to_owned)];
    for row in rows {
        let number = |number: Option<f64>| number.map_or_else(String::new, common::significant);
        lines.push([
            row.job.clone(),
            row.library.clone(),
            common::significant(row.seconds),
            row.error.map_or_else(String::new, |error| format!("{error:.3}")),
            number(row.memory),
        ]);
    }
    common::aligned(&lines, 2)
}

/// Seconds of the fastest of a few runs, and what the last one made.
fn fastest<T>(runs: usize, mut work: impl FnMut() -> Result<T, Failure>) -> Result<(f64, T), Failure> {
    let mut best = f64::INFINITY;
    let mut made = None;
    for _ in 0..runs {
        drop(made.take());
        let start = Instant::now();
        made = Some(work()?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    made.map(|made| (best, made)).ok_or_else(|| "no run".into())
}

fn plan(sizes: &[u32], ordered: usize, ways: [usize; 2], memory: u64) -> Result<Plan, Failure> {
    let attributes: Result<Vec<Attribute>, tables::Error> = sizes
        .iter()
        .enumerate()
        .map(|(place, size)| Attribute::new(format!("attribute {place}"), *size))
        .collect();
    let attributes = attributes?
        .into_iter()
        .enumerate()
        .map(|(place, attribute)| if place < ordered { attribute.ordered() } else { attribute });
    let domain = Domain::new(attributes.collect())?;
    let forms = vec![Form::Prefixes; ordered];
    let workload = Workload::all_ways(&domain, ways[0], ways[1], &forms, Weights::Cells)?;
    // Privacy cost 1 is μ = 1: ρ = ½.
    let promise = Promise::Concentrated(Rho::parse("0.5")?);
    Ok(Plan::new(domain, workload, promise, 1, &person(), Limits { memory })?)
}

fn person() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::AddRemove)
}

fn ours() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let mut add = |job: &str, seconds: f64, error: Option<f64>| {
        rows.push(Row {
            library: "deniable".to_owned(),
            job: job.to_owned(),
            seconds,
            error,
            memory: most_memory(),
        });
    };
    let room = 8 << 30;
    for (job, ways) in [
        ("plan Adult, 1-way", [1, 1]),
        ("plan Adult, 2-way", [2, 2]),
        ("plan Adult, 3-way", [3, 3]),
        ("plan Adult, up to 3-way", [0, 3]),
    ] {
        let (seconds, plan) = fastest(3, || plan(&ADULT, 0, ways, room))?;
        add(job, seconds, Some(plan.root_mean_squared_error()));
    }
    let (seconds, prefixes) = fastest(3, || plan(&ADULT, 5, [0, 3], room))?;
    add("plan Adult, prefixes up to 3-way", seconds, Some(prefixes.root_mean_squared_error()));
    let (seconds, wide) = fastest(3, || plan(&[10; 100], 0, [0, 3], 64 << 30))?;
    add("plan 100 attributes of 10 values, up to 3-way", seconds, Some(wide.root_mean_squared_error()));
    drop(wide);
    for (kind, ordered) in [("", 0), ("prefixes ", 5)] {
        let plan = plan(&ADULT, ordered, [0, 3], room)?;
        let columns = columns();
        let (seconds, measured) = fastest(3, || measure(&plan, &columns))?;
        add(&format!("measure 1,000,000 rows, {kind}up to 3-way"), seconds, None);
        let (seconds, tables) = fastest(3, || Ok(measured.tables()))?;
        assert_eq!(tables.len(), 470);
        add(&format!("reconstruct 470 tables, {kind}up to 3-way"), seconds, None);
    }
    Ok(rows)
}

/// Skewed at random, as codes.
fn columns() -> Vec<Vec<u32>> {
    let mut seeded = Seeded::new(1);
    let column = |size: &u32| (0..ROWS).map(|_| (seeded.unit() * seeded.unit() * f64::from(*size)) as u32).collect();
    ADULT.iter().map(column).collect()
}

fn measure(plan: &Plan, columns: &[Vec<u32>]) -> Result<tables::Measurements, Failure> {
    let mut account = Account::open(MemoryLedger::new(Budget::new(plan.promise().clone(), person())))?;
    let cells = Sensitive::new(Cells::of_rows(columns.to_vec()));
    let released = account.release(plan.request(cells, person())?)?;
    Ok(plan.measurements(released)?)
}

/// The peak of resident memory, where the system tells.
fn most_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
