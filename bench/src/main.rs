//! Measures samplers on one thread, ours and the peers' in the same run on the same machine, because a rate alone
//! says more about the machine than about the sampler. Each row is the best of five repetitions; every repetition
//! is kept in the JSON. What a person reads are two ratios: to ChaCha12, the floor under anything that consumes
//! cryptographic random bits, and to OpenDP, the peer that also samples exactly.
//!
//! ```text
//! deniable-bench [--python INTERPRETER SCRIPT] [--out FILE]
//! ```

mod measure;
#[cfg(feature = "ours")]
mod ours;
mod peers;
mod report;

use measure::Row;
use std::process::{Command, ExitCode, Stdio};

/// Whatever went wrong, as a sentence with a hint where we have one.
type Failure = Box<dyn std::error::Error>;

/// A load above this means that something else was running: a run alone makes 1.
const BUSY: f64 = 1.5;

/// The command line: which Python to measure with, and where the JSON goes.
#[derive(Default)]
struct Arguments {
    python: Option<(String, String)>,
    out: Option<String>,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut arguments = Self::default();
        let usage = "hint: deniable-bench [--python INTERPRETER SCRIPT] [--out FILE]";
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` needs a value\n{usage}"));
            match word.as_str() {
                "--python" => arguments.python = Some((value()?, value()?)),
                "--out" => arguments.out = Some(value()?),
                _ => return Err(format!("unknown argument `{word}`\n{usage}").into()),
            }
        }
        Ok(arguments)
    }
}

/// Runs the Python peers and reads the rows they print, one JSON object a line.
fn python_rows(interpreter: &str, script: &str) -> Result<Vec<Row>, Failure> {
    let output = Command::new(interpreter)
        .arg(script)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {interpreter}: {error}\nhint: bench/run makes bench/.venv"))?;
    if !output.status.success() {
        return Err(format!(
            "{script} failed: {}\nhint: delete bench/.venv and run bench/run again",
            output.status
        )
        .into());
    }
    let rows = String::from_utf8(output.stdout)?;
    rows.lines()
        .map(|line| serde_json::from_str(line).map_err(Failure::from))
        .collect()
}

fn run() -> Result<(), Failure> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let mut rows = peers::floor();
    #[cfg(feature = "ours")]
    {
        rows.extend(ours::samplers()?);
        rows.extend(ours::real_releases()?);
    }
    rows.extend(peers::opendp_samplers()?);
    rows.extend(peers::opendp_real_releases()?);
    if let Some((interpreter, script)) = &arguments.python {
        rows.extend(python_rows(interpreter, script)?);
    }
    print!("{}", report::table(&rows));
    if let Some(load) = report::load().filter(|load| *load > BUSY) {
        println!(
            "\nwarning: the machine was busy (load {load}); the rates are too low and the ratios uncertain"
        );
        println!("hint: run again when nothing else runs");
    }
    if let Some(path) = &arguments.out {
        report::write_json(path, &rows)?;
        println!("\nraw runs: {path}");
    }
    Ok(())
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
