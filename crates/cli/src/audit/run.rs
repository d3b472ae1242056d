//! `deniable audit run`: the black box on any executable.

use super::number::Number;
use super::output::{self, Dictionary};
use super::program::{Input, Program};
use super::{Claim, claim_words, explained, refuted};
use crate::terminal::{self, CliError, Progress, fail, significant};
use audit::black_box::{BlackBox, Feature, Finding, Side, Verdict};
use exact::to_f64_up;
use serde_json::{Value, json};
use std::ffi::OsString;

/// Try to refute a claim about any executable, by running it
///
/// The program is run on two neighbouring inputs. Half of the outputs serve to find an event that is likelier on one input; on
/// the other half that event is counted, and ε is bounded from below. A claim below the bound is refuted, with a false-alarm
/// rate of at most one minus the confidence. Nothing here proves a claim: `consistent` means that nothing was found.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    claim: Claim,
    /// Draws from each input [default: 200000, or 2000 with --one-shot]
    #[arg(long, value_name = "N")]
    samples: Option<u64>,
    /// One minus the probability of a false alarm
    #[arg(
        long,
        value_name = "C",
        default_value = "0.999999999",
        allow_hyphen_values = true
    )]
    confidence: Number,
    /// The line that the program reads on one side
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    input_first: String,
    /// The line that it reads on the other side
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    input_second: String,
    /// What the program prints
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    output: output::Kind,
    /// Start the program once for each draw, instead of once for each input
    #[arg(long)]
    one_shot: bool,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// The program and its arguments, after --
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

const EXAMPLES: &str = "\
The program reads lines and prints one line for each, until its input ends. It is started
once for each input and reads that input N times over; its answers must be independent. With
--one-shot it is started for each draw, reads one line and prints one. Print numbers with all
their digits (%.17g): the low bits of a float are where careless noise gives itself away.

Examples:
  deniable audit run --claim-epsilon 1 --input-first 0 --input-second 1 -- ./noisy-count
  deniable audit run --output text --input-first yes --input-second no -- ./noisy-answer
  deniable audit run --one-shot --samples 1000 --input-first 3 --input-second 4 -- ./slow
  deniable audit run --input-first 0 --input-second 1 -- awk '{ print $1 + rand() }'

Exit code: 0 when nothing is refuted, 1 when the claim is refuted, 2 when the program cannot
be audited.";

/// So many draws are kept in memory.
const MOST_SAMPLES: u64 = 10_000_000;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.claim.check()?;
    let black_box = BlackBox {
        samples_per_side: arguments.samples()?,
        delta: to_f64_up(&arguments.claim.delta_or_zero().0),
        confidence: to_f64_up(&arguments.confidence.0),
    };
    if arguments.confidence.0 < exact::Rational::ONE && black_box.confidence >= 1.0 {
        return fail(
            "--confidence is too close to 1",
            "0.999999999999 (1 - 1e-12) is as good as certain",
        );
    }
    // Asked for nonsense, the auditor says so before the program has run for an hour.
    if !(black_box.confidence > 0.0 && black_box.confidence < 1.0) {
        return Err(explained(audit::Error::ConfidenceOutOfRange));
    }
    let finding = arguments.audit(&black_box)?;
    // Claims are rounded up, in favour of the program.
    let verdict = arguments.claim.epsilon.as_ref().map(|epsilon| {
        let claimed = to_f64_up(&epsilon.0);
        finding.verdict(claimed, black_box.delta)
    });
    let text = if arguments.json {
        format!("{}\n", arguments.to_json(&black_box, &finding, verdict))
    } else {
        arguments.to_text(&black_box, &finding, verdict)
    };
    terminal::print(&text)?;
    match verdict {
        Some(Verdict::Refuted) => Err(refuted(&arguments.claim)),
        _ => Ok(()),
    }
}

impl Arguments {
    fn samples(&self) -> Result<u64, CliError> {
        let samples = self
            .samples
            .unwrap_or(if self.one_shot { 2_000 } else { 200_000 });
        if !(16..=MOST_SAMPLES).contains(&samples) {
            return fail(
                format!("--samples must lie between 16 and {MOST_SAMPLES}"),
                "200000 is a good number",
            );
        }
        Ok(samples)
    }

    fn audit(&self, black_box: &BlackBox) -> Result<Finding, CliError> {
        let both = [&self.input_first, &self.input_second];
        if !self.one_shot && both.iter().any(|text| text.contains(['\n', '\r'])) {
            return fail(
                "an input has more than one line",
                "use --one-shot, where the program reads one input only",
            );
        }
        match self.output {
            output::Kind::Number => {
                let outputs = self.draw(black_box.samples_per_side, output::number)?;
                examine(black_box, &outputs, &Feature::<f64>::standard())
            }
            output::Kind::Text => {
                let mut dictionary = Dictionary::default();
                let outputs = self.draw(black_box.samples_per_side, |line, _| Ok(dictionary.read(line)))?;
                examine(black_box, &outputs, &dictionary.features())
            }
        }
    }

    /// All outputs on the first input, and all on the second.
    fn draw<O>(
        &self,
        samples: u64,
        mut read: impl FnMut(&[u8], Input<'_>) -> Result<O, CliError>,
    ) -> Result<[Vec<O>; 2], CliError> {
        let program = Program {
            words: self.program.clone(),
            one_shot: self.one_shot,
        };
        let progress = Progress::new("running the program", 2 * samples, self.json || self.quiet);
        let mut side = |name, text| {
            let input = Input { name, text };
            program.draw(input, samples, &progress, |line| read(line, input))
        };
        Ok([
            side("first", &self.input_first)?,
            side("second", &self.input_second)?,
        ])
    }

    /// The command that makes the same audit again; its draws are the program's own, so they are new.
    fn replay(&self, samples: u64) -> String {
        let mut words = ["deniable", "audit", "run"].map(String::from).to_vec();
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.extend([name.to_string(), quoted(&value)]);
            }
        };
        let text = |number: &Option<Number>| number.as_ref().map(Number::to_string);
        option("--claim-epsilon", text(&self.claim.epsilon));
        option("--claim-delta", text(&self.claim.delta));
        option("--samples", Some(samples.to_string()));
        option("--confidence", Some(self.confidence.to_string()));
        option("--input-first", Some(self.input_first.clone()));
        option("--input-second", Some(self.input_second.clone()));
        if self.output == output::Kind::Text {
            option("--output", Some("text".to_string()));
        }
        if self.one_shot {
            words.push("--one-shot".to_string());
        }
        words.push("--".to_string());
        words.extend(self.program.iter().map(|word| quoted(&word.to_string_lossy())));
        words.join(" ")
    }

    fn to_text(&self, black_box: &BlackBox, finding: &Finding, verdict: Option<Verdict>) -> String {
        let trials = finding.counts.trials;
        let (likely, unlikely) = names(finding.likely_side);
        let mut lines = vec![
            format!(
                "ε is at least {} at δ = {}, with confidence {}",
                significant(finding.epsilon_lower, 4),
                self.claim.delta_or_zero(),
                self.confidence
            ),
            format!("  event    {}", finding.event),
            format!(
                "  counted  {} of {trials} on the {likely} input",
                finding.counts.likely
            ),
            format!(
                "           {} of {trials} on the {unlikely} input",
                finding.counts.unlikely
            ),
        ];
        if let Some(verdict) = verdict {
            let remark = match verdict {
                Verdict::Refuted => "refuted",
                Verdict::Consistent => "consistent (nothing was found against it, which is not a proof)",
            };
            lines.push(format!("  claim    {}: {remark}", claim_words(&self.claim)));
        }
        lines.push(format!("  replay   {}", self.replay(black_box.samples_per_side)));
        lines.push(String::new());
        lines.join("\n")
    }

    fn to_json(&self, black_box: &BlackBox, finding: &Finding, verdict: Option<Verdict>) -> Value {
        let claim = verdict.map(|verdict| {
            json!({
                "epsilon": self.claim.epsilon,
                "delta": self.claim.delta_or_zero(),
                "verdict": verdict_word(verdict),
            })
        });
        json!({
            "epsilon_at_least": finding.epsilon_lower,
            "delta": finding.delta,
            "confidence": finding.confidence,
            "samples_per_input": black_box.samples_per_side,
            "event": finding.event,
            "likely_input": names(finding.likely_side).0,
            "counts": {
                "likely": finding.counts.likely,
                "unlikely": finding.counts.unlikely,
                "trials": finding.counts.trials,
            },
            "claim": claim,
            "replay": self.replay(black_box.samples_per_side),
        })
    }
}

/// Learns and tests on outputs already collected, in the order in which they came.
pub(super) fn examine<O: Copy>(
    black_box: &BlackBox,
    outputs: &[Vec<O>; 2],
    features: &[Feature<O>],
) -> Result<Finding, CliError> {
    let mut sides = outputs.each_ref().map(|outputs| outputs.iter().copied());
    let draw = |side| {
        let index = usize::from(side == Side::Second);
        sides[index].next().expect("the auditor draws each sample once")
    };
    black_box.audit(draw, features).map_err(explained)
}

fn names(likely: Side) -> (&'static str, &'static str) {
    match likely {
        Side::First => ("first", "second"),
        Side::Second => ("second", "first"),
    }
}

/// One word for a program to read.
pub(super) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Refuted => "refuted",
        Verdict::Consistent => "consistent",
    }
}

/// The word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for (word, expected) in [
            ("./noisy-count", "./noisy-count"),
            ("", "''"),
            ("{ print $1 }", "'{ print $1 }'"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
