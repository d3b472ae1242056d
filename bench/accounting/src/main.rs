//! Asks our accountant and the peers' the same questions in one run, and shows what each claims, how far that is from the
//! truth, whether a promise made with it would hold, and the CPU time it took.
//!
//! The numbers we compare are upper ends, because those are what gets promised. A claim below our certified lower end is
//! privacy that is not there; in `cal` the claim is a noise multiplier, and too little noise is the same mistake.
//!
//! ```text
//! deniable-bench-accounting [--python INTERPRETER SCRIPT] [--out FILE]
//! ```

#[path = "../../src/common.rs"]
mod common;
mod ours;
mod report;

use common::{Arguments, Failure, python_rows};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

/// One question, as `cases.json` has it. The peers' script reads the same file.
#[derive(Deserialize)]
struct Case {
    name: String,
    /// ε, or σ where that is what was asked, known to about 13 digits from elsewhere.
    truth: Option<f64>,
    delta: String,
    #[serde(flatten)]
    plan: Plan,
}

/// What is asked about. Numbers are texts, because some are fractions.
#[derive(Deserialize)]
#[serde(tag = "plan", rename_all = "snake_case")]
enum Plan {
    /// The ε of steps of Gaussian noise on Poisson samples.
    Training {
        rate: String,
        multiplier: String,
        steps: u64,
    },
    /// The ε of Laplace noises (by their ε) and Gaussian noises (by their σ), all different.
    Mixed { laplace: Line, gaussian: Line },
    /// The smallest multiplier for an ε.
    Calibration {
        rate: String,
        steps: u64,
        epsilon: String,
    },
}

/// `count` numbers at equal distances, both ends included.
#[derive(Deserialize)]
struct Line {
    from: String,
    to: String,
    count: u32,
}

/// One answer. The Python peers print the same object.
#[derive(Serialize, Deserialize)]
struct Row {
    case: String,
    tool: String,
    version: String,
    lower: Option<f64>,
    /// What the tool itself calls its best guess.
    estimate: Option<f64>,
    upper: Option<f64>,
    /// Why there is no answer.
    error: Option<String>,
    /// CPU seconds of each call, in order: the first may warm something up.
    seconds: Vec<f64>,
}

fn run() -> Result<(), Failure> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let cases: Vec<Case> = serde_json::from_str(include_str!("../cases.json"))?;
    let mut rows = cases
        .iter()
        .map(ours::row)
        .collect::<Result<Vec<Row>, Failure>>()?;
    if let Some((interpreter, script)) = &arguments.python {
        rows.extend(python_rows(interpreter, script)?);
    }
    print!("{}", report::table(&cases, &rows));
    common::warn_if_busy("CPU times are a little too long");
    if let Some(path) = &arguments.out {
        common::write_json(path, &report::document(&cases, &rows))?;
        println!("\nraw calls: {path}");
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
