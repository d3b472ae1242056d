//! What is kept (JSON with every repetition and the machine) and what a person reads (the table).

use crate::common::{self, Failure, significant};
use crate::measure::{REPETITIONS, Row};
use crate::peers::{FLOOR, FLOOR_SAMPLER, OPENDP};
use std::collections::BTreeMap;

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
    text.push_str(&common::aligned(&lines, 3));
    text
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
        "machine": common::machine(),
        "opendp_entropy": if cfg!(feature = "opendp-openssl") { "OpenSSL" } else { "rand thread_rng" },
        "repetitions": REPETITIONS,
        "rows": measured,
    });
    common::write_json(path, &document)
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
