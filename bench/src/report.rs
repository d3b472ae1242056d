//! What is kept (JSON with every repetition and the machine) and what a person reads (the table).

use crate::Failure;
use crate::measure::{REPETITIONS, Row};
use crate::peers::{FLOOR, FLOOR_SAMPLER, OPENDP};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// One line for each row: what, scale, million samples per second, times the floor, times OpenDP at the same job.
pub fn table(rows: &[Row]) -> String {
    let floor = rows
        .iter()
        .find(|row| row.library == FLOOR && row.sampler == FLOOR_SAMPLER)
        .map(Row::rate);
    let opendp: BTreeMap<(&str, &str), f64> = rows
        .iter()
        .filter(|row| row.library == OPENDP)
        .map(|row| ((row.noise.as_str(), row.scale.as_str()), row.rate()))
        .collect();
    let mut text = format!(
        "\none thread, best of {REPETITIONS}; the floor is ChaCha12 making {FLOOR_SAMPLER} a sample\n\n"
    );
    let header = [
        "library",
        "sampler",
        "noise",
        "scale",
        "M samples/s",
        "× floor",
        "× OpenDP",
    ];
    let mut lines = vec![header.map(String::from)];
    for row in rows {
        let ratio = |base: Option<f64>| base.map_or(String::from("-"), |base| significant(row.rate() / base));
        let same_job = opendp.get(&(row.noise.as_str(), row.scale.as_str())).copied();
        lines.push([
            row.library.clone(),
            row.sampler.clone(),
            row.noise.clone(),
            row.scale.clone(),
            significant(row.rate()),
            ratio(floor),
            ratio(same_job),
        ]);
    }
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            // Words to the left, numbers to the right.
            let padding = " ".repeat(width - cell.chars().count());
            let _ = if column < 3 {
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
fn significant(number: f64) -> String {
    let digits_before = if number > 0.0 { number.log10().floor() } else { 0.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0..=6 first"
    )]
    let decimals = (2.0 - digits_before).clamp(0.0, 6.0) as usize;
    format!("{number:.decimals$}")
}

/// Writes every repetition of every row, with the machine and the versions, to `path`.
pub fn write_json(path: &str, rows: &[Row]) -> Result<(), Failure> {
    let measured: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "library": row.library, "sampler": row.sampler, "noise": row.noise, "scale": row.scale,
                "million_per_second": row.rate(), "samples": row.samples, "seconds": row.seconds,
            })
        })
        .collect();
    let document = serde_json::json!({
        "what": "sampler rates on one thread, all measured in one run",
        "machine": {
            "processor": processor(),
            "cores": std::thread::available_parallelism().map_or(0, usize::from),
            "load": load(),
            "system": output_of("uname", &["-sr"]),
            "rustc": output_of("rustc", &["--version"]),
        },
        "opendp_entropy": if cfg!(feature = "opendp-openssl") { "OpenSSL" } else { "rand thread_rng" },
        "repetitions": REPETITIONS,
        "rows": measured,
    });
    if let Some(folder) = Path::new(path).parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, serde_json::to_string_pretty(&document)? + "\n").map_err(|error| {
        format!("cannot write {path}: {error}\nhint: --out names a file in a writable folder").into()
    })
}

/// Processes that wanted to run in the last minute, this one included, where the system tells.
pub fn load() -> Option<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(library: &str, sampler: &str, noise: &str, seconds: f64) -> Row {
        let (library, sampler, noise, scale) = (library.into(), sampler.into(), noise.into(), "1".into());
        Row {
            library,
            sampler,
            noise,
            scale,
            samples: 1_000_000,
            seconds: vec![seconds * 2.0, seconds],
        }
    }

    #[test]
    fn ratios_are_taken_to_the_floor_and_to_the_same_job() {
        let rows = [
            row(FLOOR, FLOOR_SAMPLER, "bits", 0.001),
            row("Deniable", "DiscreteLaplace", "laplace", 0.01),
            row(OPENDP, "sample_discrete_laplace", "laplace", 1.0),
            row(OPENDP, "sample_discrete_gaussian", "gaussian", 5.0),
        ];
        let table = table(&rows);
        let ours = table.lines().find(|line| line.starts_with("Deniable")).unwrap();
        let words: Vec<&str> = ours.split_whitespace().collect();
        assert_eq!(
            words,
            [
                "Deniable",
                "DiscreteLaplace",
                "laplace",
                "1",
                "100",
                "0.100",
                "100"
            ]
        );
    }
}
