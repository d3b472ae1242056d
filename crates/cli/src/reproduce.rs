//! `deniable reproduce`: every claim of the theory runs, expected against measured.
//!
//! A row that cannot fail is not a row. Each compares what the theory says with what this code computes or
//! draws. If chance is involved, it fails by chance with probability 1e-9 or less.

use crate::terminal::{self, CliError, Progress, explained};
use experiments::claims::{self, Claim, Outcome};
use report::{Page, Row};
use serde_json::json;
use std::path::PathBuf;

/// Run the claims of the theory, each expected against measured.
///
/// Without ids, all rows run. Exit code 4 if any fails.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable reproduce                       all rows
  deniable reproduce R3 V1                 two of them
  deniable reproduce R                     every row whose id starts with R
  deniable reproduce --html report.html    a report with the figures redrawn
  deniable reproduce --json                an array of {id, claim, expected, measured, pass}")]
pub(crate) struct Arguments {
    /// Which rows: an id such as V1, or a letter for all that start with it
    ids: Vec<String>,
    /// Write a self-contained report with figures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print an array of rows for a program to read
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let chosen = claims::chosen(&arguments.ids).map_err(explained)?;
    let progress = Progress::new(
        "reproduce",
        chosen.len() as u64,
        arguments.json || arguments.quiet,
    );
    let mut outcomes = Vec::new();
    for claim in &chosen {
        progress.label(format!("{} {}", claim.id, claim.claim));
        outcomes.push(claim.run());
        progress.advance(1);
    }
    drop(progress);
    let failed = outcomes.iter().filter(|outcome| !outcome.pass).count();
    terminal::print(&if arguments.json {
        as_json(&chosen, &outcomes)
    } else {
        as_text(&chosen, &outcomes)
    })?;
    // After the results are out: a report that cannot be written must not hide them.
    if let Some(path) = &arguments.html {
        terminal::write_file_atomically(path, report(&chosen, &outcomes).as_bytes())?;
    }
    if failed > 0 {
        return Err(CliError::check_failed(format!(
            "{failed} of {} claims failed",
            chosen.len()
        )));
    }
    Ok(())
}

fn as_json(claims: &[Claim], outcomes: &[Outcome]) -> String {
    let rows: Vec<_> = claims
        .iter()
        .zip(outcomes)
        .map(|(claim, outcome)| {
            json!({
                "id": claim.id,
                "claim": claim.claim,
                "expected": outcome.expected,
                "measured": outcome.measured,
                "pass": outcome.pass,
            })
        })
        .collect();
    format!(
        "{}\n",
        serde_json::to_string_pretty(&rows).expect("strings and booleans")
    )
}

/// A block a row: claims are sentences, and sentences side by side fit no terminal.
fn as_text(claims: &[Claim], outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for (claim, outcome) in claims.iter().zip(outcomes) {
        let verdict = if outcome.pass { "pass" } else { "FAIL" };
        text += &format!("{verdict}  {}  {}\n", claim.id, claim.claim);
        text += &format!(
            "          expected  {}\n          measured  {}\n",
            outcome.expected, outcome.measured
        );
    }
    let passed = outcomes.iter().filter(|outcome| outcome.pass).count();
    format!("{text}\n{passed} of {} claims pass\n", outcomes.len())
}

fn report(claims: &[Claim], outcomes: &[Outcome]) -> String {
    let introduction = "Each row is something the theory of differential privacy states. It was run just now, by exact \
        arithmetic or by drawing; a row that involves chance fails by chance with probability 1e-9 or less.";
    let mut report = Page::new("Deniable: the theory, run", introduction);
    for (claim, outcome) in claims.iter().zip(outcomes) {
        let mut row = Row::new(
            claim.id,
            claim.claim,
            &outcome.expected,
            &outcome.measured,
            outcome.pass,
        );
        for note in &outcome.notes {
            row = row.note(note);
        }
        for figure in &outcome.figures {
            row = row.figure(figure.clone());
        }
        report.row(row);
    }
    report.to_html()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_fails_is_reported() {
        let claims = claims::chosen(&["V1".to_owned()]).unwrap();
        let outcomes = [Outcome {
            expected: "3".to_owned(),
            measured: "2".to_owned(),
            pass: false,
            notes: Vec::new(),
            figures: Vec::new(),
        }];
        let rows: serde_json::Value = serde_json::from_str(&as_json(&claims, &outcomes)).unwrap();
        assert_eq!(rows[0]["pass"], false);
        assert_eq!(
            rows[0].as_object().unwrap().keys().collect::<Vec<_>>(),
            ["id", "claim", "expected", "measured", "pass"]
        );
        assert!(as_text(&claims, &outcomes).contains("FAIL"));
        assert!(report(&claims, &outcomes).contains(claims[0].id));
    }
}
