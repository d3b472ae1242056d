//! `deniable reproduce`: every claim of the theory runs, expected against measured.
//!
//! A row that cannot fail is not a row: each compares what the theory says with what this code computes or draws, and where chance is
//! involved it fails by chance with probability 1e-9 or less.

mod attacks;
mod choice;
mod composition;
mod definitions;
mod gaussian;
mod laplace;
mod local;
mod repairs;
mod response;
mod sql;
mod training;
mod verifier;

use crate::terminal::{self, CliError, Progress};
use report::{Figure, Page, Row};
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

/// What a row found.
struct Outcome {
    expected: String,
    measured: String,
    pass: bool,
    notes: Vec<String>,
    figures: Vec<Figure>,
}

impl Outcome {
    fn new(expected: impl Into<String>, measured: impl Into<String>, pass: bool) -> Self {
        Self {
            expected: expected.into(),
            measured: measured.into(),
            pass,
            notes: Vec::new(),
            figures: Vec::new(),
        }
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    fn figure(mut self, figure: Figure) -> Self {
        self.figures.push(figure);
        self
    }
}

/// A row could not be run at all: a fault of this program, not of a claim.
type Fault = Box<dyn std::error::Error>;

/// One claim and how to run it.
#[derive(Clone, Copy)]
struct Claim {
    id: &'static str,
    claim: &'static str,
    run: fn() -> Result<Outcome, Fault>,
}

/// Every row, in the order of the theory.
fn claims() -> Vec<Claim> {
    [
        definitions::CLAIMS,
        composition::CLAIMS,
        response::CLAIMS,
        laplace::CLAIMS,
        choice::CLAIMS,
        gaussian::CLAIMS,
        training::CLAIMS,
        repairs::CLAIMS,
        sql::CLAIMS,
        attacks::CLAIMS,
        verifier::CLAIMS,
    ]
    .into_iter()
    .flatten()
    .copied()
    .collect()
}

/// The rows that were asked for; an id that names none is an error.
fn chosen(ids: &[String]) -> Result<Vec<Claim>, CliError> {
    let all = claims();
    let names = |claim: &Claim, id: &str| {
        claim.id.eq_ignore_ascii_case(id)
            || (id.chars().all(char::is_alphabetic)
                && claim.id.to_lowercase().starts_with(&id.to_lowercase()))
    };
    for id in ids {
        if id.is_empty() || !all.iter().any(|claim| names(claim, id)) {
            let known: Vec<&str> = all.iter().map(|claim| claim.id).collect();
            return terminal::fail(
                format!("no claim has the id `{id}`"),
                format!("the ids are {}", known.join(", ")),
            );
        }
    }
    Ok(all
        .into_iter()
        .filter(|claim| ids.is_empty() || ids.iter().any(|id| names(claim, id)))
        .collect())
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let chosen = chosen(&arguments.ids)?;
    let progress = Progress::new(
        "reproduce",
        chosen.len() as u64,
        arguments.json || arguments.quiet,
    );
    let mut outcomes = Vec::new();
    for claim in &chosen {
        progress.label(format!("{} {}", claim.id, claim.claim));
        // A row that cannot even run has not passed.
        let outcome = (claim.run)()
            .unwrap_or_else(|fault| Outcome::new("it runs", format!("it does not run: {fault}"), false));
        outcomes.push(outcome);
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
    fn ids_are_unique_and_found() {
        let ids: Vec<&str> = claims().iter().map(|claim| claim.id).collect();
        let distinct: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), distinct.len());
        let count = |ids: &[&str]| {
            chosen(&ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()).map(|rows| rows.len())
        };
        assert_eq!(count(&["v1"]).unwrap(), 1);
        assert_eq!(count(&["V"]).unwrap(), 3);
        assert_eq!(count(&["V", "V1"]).unwrap(), 3);
        assert_eq!(count(&[]).unwrap(), ids.len());
        assert_eq!(count(&["V9"]).unwrap_err().code, 2);
        assert_eq!(count(&[""]).unwrap_err().code, 2);
    }

    #[test]
    fn every_claim_that_must_run_is_here() {
        let ids: Vec<&str> = claims().iter().map(|claim| claim.id).collect();
        for id in "D1 D2 D3 D4 D5 D6 R1 R2 R3 R4 L1 L2 L3 L4 L5 L6 L7 E1 E2 G1 G2 G3 P1 P2 P3 P4 S1 S2 S3 S4 A1 A2 A3 A4 M1 V1 V2 V3"
            .split(' ')
        {
            assert!(ids.contains(&id), "{id}");
        }
    }

    #[test]
    fn a_row_that_fails_is_reported() {
        let claims = [Claim {
            id: "X1",
            claim: "two is three",
            run: || Ok(Outcome::new("3", "2", 2 == 3)),
        }];
        let outcomes = [(claims[0].run)().unwrap()];
        let rows: serde_json::Value = serde_json::from_str(&as_json(&claims, &outcomes)).unwrap();
        assert_eq!(rows[0]["pass"], false);
        assert_eq!(
            rows[0].as_object().unwrap().keys().collect::<Vec<_>>(),
            ["id", "claim", "expected", "measured", "pass"]
        );
        assert!(as_text(&claims, &outcomes).contains("FAIL"));
        assert!(report(&claims, &outcomes).contains("two is three"));
    }
}
