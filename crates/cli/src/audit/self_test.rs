//! `deniable audit self-test`: does the auditor still tell broken from correct?

use super::run::verdict_word;
use super::subject::{SUBJECTS, Subject};
use crate::terminal::{self, CliError, Column, Progress, Table, fail, significant};
use audit::black_box::{BlackBox, Finding, Verdict};
use serde_json::{Value, json};

/// Run the auditor on mechanisms known to be broken and known to be correct
///
/// The broken ones are the ways in which real systems failed; each must be refuted. The correct ones are ours; nothing may be
/// found against them. Each verdict on a correct one is wrong with probability at most 1e-9.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable audit self-test
  deniable audit self-test --samples 1000000 --json

Exit code: 0 when every verdict is right, 1 when one is wrong.")]
pub(super) struct Arguments {
    /// Draws from each input
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    samples: u64,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

const CONFIDENCE: f64 = 1.0 - 1e-9;
const FEWEST_SAMPLES: u64 = 100;
const MOST_SAMPLES: u64 = 10_000_000;

/// A subject, what was found about it, and the verdict.
struct Row {
    subject: &'static Subject,
    finding: Finding,
    verdict: Verdict,
}

impl Row {
    fn is_right(&self) -> bool {
        self.verdict == self.subject.expected
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    if !(FEWEST_SAMPLES..=MOST_SAMPLES).contains(&arguments.samples) {
        return fail(
            format!("--samples must lie between {FEWEST_SAMPLES} and {MOST_SAMPLES}"),
            "with the default of 100000 every verdict is right",
        );
    }
    let rows = judge(arguments)?;
    let text = if arguments.json {
        format!("{}\n", to_json(arguments.samples, &rows))
    } else {
        to_text(&rows)
    };
    terminal::print(&text)?;
    let wrong = rows.iter().filter(|row| !row.is_right()).count();
    if wrong > 0 {
        let all = rows.len();
        return Err(
            CliError::check_failed(format!("{wrong} of {all} mechanisms were judged wrongly"))
                .with_hint("with few samples a broken mechanism may pass: try more"),
        );
    }
    Ok(())
}

fn judge(arguments: &Arguments) -> Result<Vec<Row>, CliError> {
    let black_box = BlackBox {
        samples_per_side: arguments.samples,
        delta: 0.0,
        confidence: CONFIDENCE,
    };
    let progress = Progress::new(
        "drawing",
        SUBJECTS.len() as u64,
        arguments.json || arguments.quiet,
    );
    SUBJECTS
        .iter()
        .map(|subject| {
            progress.label(subject.name);
            let finding = (subject.audit)(&black_box)?;
            progress.advance(1);
            Ok(Row {
                verdict: finding.verdict(subject.claimed_at_most, 0.0),
                subject,
                finding,
            })
        })
        .collect()
}

fn to_text(rows: &[Row]) -> String {
    let mut table = Table::new([
        Column::Left("mechanism"),
        Column::Right("claims ε ="),
        Column::Right("found ε ≥"),
        Column::Left("verdict"),
        Column::Left("right?"),
        Column::Left("why"),
    ]);
    for row in rows {
        table.row([
            row.subject.name,
            row.subject.claimed,
            &significant(row.finding.epsilon_lower, 3),
            verdict_word(row.verdict),
            if row.is_right() { "yes" } else { "NO" },
            row.subject.remark,
        ]);
    }
    table.to_string()
}

fn to_json(samples: u64, rows: &[Row]) -> Value {
    let mechanisms: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "name": row.subject.name,
                "remark": row.subject.remark,
                "claimed_epsilon": row.subject.claimed,
                "epsilon_at_least": row.finding.epsilon_lower,
                "event": row.finding.event,
                "verdict": verdict_word(row.verdict),
                "expected": verdict_word(row.subject.expected),
            })
        })
        .collect();
    json!({
        "samples_per_input": samples,
        "confidence": CONFIDENCE,
        "passed": rows.iter().all(Row::is_right),
        "mechanisms": mechanisms,
    })
}
