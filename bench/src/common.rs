//! What the benches share: the command line, the Python peers, the machine, tables. A module that each includes, because a crate for it
//! would make the accounting bench build OpenDP.

use serde::de::DeserializeOwned;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whatever went wrong, as a sentence with a hint where we have one.
pub type Failure = Box<dyn std::error::Error>;

/// A load above this means that something else was running: a run alone makes 1.
const BUSY: f64 = 1.5;

/// The command line: which Python to measure with, and where the JSON goes.
#[derive(Default)]
pub struct Arguments {
    /// The interpreter and the script of the Python peers.
    pub python: Option<(String, String)>,
    /// The JSON file to write.
    pub out: Option<String>,
}

impl Arguments {
    /// Reads `[--python INTERPRETER SCRIPT] [--out FILE]`.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut arguments = Self::default();
        let usage = concat!(
            "hint: ",
            env!("CARGO_BIN_NAME"),
            " [--python INTERPRETER SCRIPT] [--out FILE]"
        );
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
pub fn python_rows<R: DeserializeOwned>(interpreter: &str, script: &str) -> Result<Vec<R>, Failure> {
    let output = Command::new(interpreter)
        .arg(script)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| {
            format!("cannot start {interpreter}: {error}\nhint: the script of the bench makes bench/.venv")
        })?;
    if !output.status.success() {
        return Err(format!(
            "{script} failed: {}\nhint: delete bench/.venv and run the bench again",
            output.status
        )
        .into());
    }
    let rows = String::from_utf8(output.stdout)?;
    rows.lines()
        .map(|line| serde_json::from_str(line).map_err(Failure::from))
        .collect()
}

/// The lines of a table with its columns aligned: the first `words` to the left, the numbers after them to the right.
pub fn aligned<const COLUMNS: usize>(lines: &[[String; COLUMNS]], words: usize) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..COLUMNS).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            let _ = if column < words {
                write!(text, "{cell}{padding}  ")
            } else {
                write!(text, "{padding}{cell}  ")
            };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// Three significant digits, never in scientific notation.
pub fn significant(number: f64) -> String {
    let digits_before = if number > 0.0 { number.log10().floor() } else { 0.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0..=6 first"
    )]
    let decimals = (2.0 - digits_before).clamp(0.0, 6.0) as usize;
    format!("{number:.decimals$}")
}

/// Writes a document to `path`, making its folder.
pub fn write_json(path: &str, document: &serde_json::Value) -> Result<(), Failure> {
    if let Some(folder) = Path::new(path).parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, serde_json::to_string_pretty(document)? + "\n").map_err(|error| {
        format!("cannot write {path}: {error}\nhint: --out names a file in a writable folder").into()
    })
}

/// The machine that measured.
pub fn machine() -> serde_json::Value {
    serde_json::json!({
        "processor": processor(),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "load": load(),
        "system": output_of("uname", &["-sr"]),
        "rustc": output_of("rustc", &["--version"]),
    })
}

/// Says so when something else was running too, and what that does to the numbers.
pub fn warn_if_busy(consequence: &str) {
    if let Some(load) = load().filter(|load| *load > BUSY) {
        println!("\nwarning: the machine was busy (load {load}); {consequence}");
        println!("hint: run again when nothing else runs");
    }
}

/// Processes that wanted to run in the last minute, this one included, where the system tells.
fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg")
        .ok()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

fn processor() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split_once(':'));
    model.map_or_else(
        || std::env::consts::ARCH.to_owned(),
        |(_, name)| name.trim().to_owned(),
    )
}

fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
