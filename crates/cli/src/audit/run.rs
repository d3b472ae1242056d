//! `deniable audit run`: the black box on any executable.

use super::look::Look;
use super::{ClaimArguments, explained, refuted};
use crate::delivery::Outputs;
use crate::terminal::{CliError, Interrupt, fail};
use audit::black_box::{FindingVerdict, Hunt, Pair, Witness};
use audit::document::Number;
use audit::program::{self, Program, Runner};
use conformance::{AuditedProgram, quoted};
use exact::to_f64_up;
use noise::{Entropy, OsEntropy};
use report::significant;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Try to refute a claim about any executable, by running it
///
/// The program is run on two neighbouring inputs. Half of the outputs serve to learn an event that is likelier on one input; on
/// the other half that event is counted, and ε is bounded from below. A claim below the bound is refuted, with a false-alarm
/// rate of at most one minus the confidence. Nothing here proves a claim: `consistent` means that nothing was found.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    claim: ClaimArguments,
    /// Draws from each input, about [default: 200000, or 2000 with --one-shot]
    #[arg(long, value_name = "N")]
    samples: Option<u64>,
    /// When to stop: `refuted`, a number of seconds, or both; then --samples is what chooses the event
    #[arg(long, value_name = "WHEN", value_delimiter = ',')]
    until: Vec<Until>,
    /// One minus the probability of a false alarm
    #[arg(
        long,
        value_name = "C",
        default_value = "0.999999999",
        allow_hyphen_values = true
    )]
    confidence: Number,
    /// The line that the program reads on one side
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        requires = "input_second"
    )]
    input_first: Option<String>,
    /// The line that it reads on the other side
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        requires = "input_first"
    )]
    input_second: Option<String>,
    /// A file of pairs to search: on each line two inputs with a tab between them
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// What the program prints
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    output: Output,
    /// What to look at in the outputs
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    look: Look,
    /// Start the program once for each draw, instead of once for each input
    #[arg(long)]
    one_shot: bool,
    #[command(flatten)]
    outputs: Outputs,
    /// The program and its arguments, after --
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// What a line of output is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// Numbers, one or more a line: their values, and the low bits of the floats they are read as
    #[default]
    Number,
    /// Text: whether two lines are the same, their length and first letter, and the words and numbers in them
    Text,
}

const EXAMPLES: &str = "\
The program reads lines and prints one line for each, until its input ends. It is started
once for each input and reads that input N times over; its answers must be independent. With
--one-shot it is started for each draw, reads one line and prints one. Print numbers with all
their digits (%.17g): the low bits of a float are where careless noise gives itself away. A
line may hold several numbers, such as a noisy histogram. With --until or --pairs the program
is started several times, so it must not be seeded with a constant.

Examples:
  deniable audit run --claim-epsilon 1 --input-first 0 --input-second 1 -- ./noisy-count
  deniable audit run --output text --input-first yes --input-second no -- ./noisy-answer
  deniable audit run --one-shot --samples 1000 --input-first 3 --input-second 4 -- ./slow
  deniable audit run --claim-epsilon 1 --until refuted,600 --pairs neighbours.tsv -- ./mine
  deniable audit run --input-first 0 --input-second 1 --look values -- ./float-mechanism

Exit code: 0 when nothing is refuted, 4 when the claim is refuted, 2 when the program cannot
be audited.";

/// This many draws are kept in memory.
const MOST_SAMPLES: u64 = 10_000_000;
const FEWEST_SAMPLES: u64 = 64;
/// A test that may stop at any moment is looked at this often.
const ROUND: Duration = Duration::from_millis(500);

/// When a test that may stop at any moment stops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Until {
    Refuted,
    Seconds(f64),
}

impl std::str::FromStr for Until {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<f64>()) {
            ("refuted", _) => Ok(Until::Refuted),
            (_, Ok(seconds)) if seconds > 0.0 && seconds <= 1e6 => Ok(Until::Seconds(seconds)),
            _ => Err("write `refuted`, a number of seconds, or both with a comma between them".to_string()),
        }
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments
        .claim
        .read()
        .check_as("--claim-epsilon", "--claim-delta")?;
    arguments.outputs.check()?;
    let inputs = arguments.inputs()?;
    let hunt = arguments.hunt()?;
    let witness = arguments.audit(&hunt, &inputs)?;
    let samples = arguments.samples()?;
    let told = [witness.pair.first, witness.pair.second].map(|input| inputs[input].clone());
    let words = arguments.program.iter().map(|word| word.to_string_lossy());
    let audited = AuditedProgram {
        program: words.collect::<Vec<_>>().join(" "),
        claim: arguments.claim.read(),
        confidence: arguments.confidence.clone(),
        samples,
        replay: arguments.replay(&told, samples),
        inputs: told,
        pairs: inputs.len() / 2,
        lens: hunt.lens,
        witness,
    };
    arguments.outputs.give(&audited.findings())?;
    match audited.verdict() {
        Some(FindingVerdict::Refuted) => Err(refuted(&audited.claim)),
        _ => Ok(()),
    }
}

impl Arguments {
    fn samples(&self) -> Result<u64, CliError> {
        let samples = self
            .samples
            .unwrap_or(if self.one_shot { 2_000 } else { 200_000 });
        if !(FEWEST_SAMPLES..=MOST_SAMPLES).contains(&samples) {
            return fail(
                format!("--samples must lie between {FEWEST_SAMPLES} and {MOST_SAMPLES}"),
                "200000 is a good number",
            );
        }
        Ok(samples)
    }

    fn hunt(&self) -> Result<Hunt, CliError> {
        let confidence = to_f64_up(&self.confidence.0);
        if self.confidence.0 < exact::Rational::ONE && confidence >= 1.0 {
            return fail(
                "--confidence is too close to 1",
                "0.999999999999 (1 - 1e-12) is as good as certain",
            );
        }
        // Asked for nonsense, the auditor says so before the program has run for an hour.
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(explained(audit::Error::ConfidenceOutOfRange));
        }
        if self.until.contains(&Until::Refuted) && self.claim.epsilon.is_none() {
            return fail("--until refuted needs a claim to refute", "add --claim-epsilon");
        }
        let samples = self.samples()?;
        Ok(Hunt {
            choosing: samples,
            // A run that waits for a refutation may test several times as many draws as chose the event.
            testing: if self.until.is_empty() {
                samples
            } else {
                8 * samples
            },
            delta: to_f64_up(&self.claim.read().delta_or_zero().0),
            confidence,
            lens: self.look.into(),
        })
    }

    /// The first and the second input of each pair, in turn.
    fn inputs(&self) -> Result<Vec<String>, CliError> {
        let mut inputs = Vec::new();
        if let (Some(first), Some(second)) = (&self.input_first, &self.input_second) {
            inputs.extend([first.clone(), second.clone()]);
        }
        if let Some(path) = &self.pairs {
            let text = std::fs::read_to_string(path).map_err(|cause| {
                CliError::bad_input(format!("cannot read `{}`: {cause}", path.display()))
                    .with_hint("name a text file of pairs")
            })?;
            for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
                match line.split('\t').collect::<Vec<_>>()[..] {
                    [first, second] => inputs.extend([first.to_string(), second.to_string()]),
                    _ => {
                        return fail(
                            format!("line {} of `{}` is not a pair", number + 1, path.display()),
                            "write two inputs on each line, with one tab between them",
                        );
                    }
                }
            }
        }
        if inputs.is_empty() {
            return fail(
                "no inputs to compare",
                "give two neighbouring inputs with --input-first and --input-second, or many with --pairs",
            );
        }
        if !self.one_shot && inputs.iter().any(|text| text.contains(['\n', '\r'])) {
            return fail(
                "an input has more than one line",
                "use --one-shot, where the program reads one input only",
            );
        }
        Ok(inputs)
    }

    fn audit(&self, hunt: &Hunt, inputs: &[String]) -> Result<Witness, CliError> {
        let program = Program {
            words: self.program.clone(),
            one_shot: self.one_shot,
        };
        let pairs: Vec<Pair> = (0..inputs.len() / 2)
            .map(|pair| Pair {
                first: 2 * pair,
                second: 2 * pair + 1,
            })
            .collect();
        let label = if pairs.len() > 1 {
            "searching pairs"
        } else {
            "running the program"
        };
        let progress = self.outputs.progress(label, 2 * hunt.choosing);
        // One start serves for everything if there is one pair and one number of draws: a coin decides how
        // many each side has, so a little more than half is asked for, by eight standard deviations.
        let batch = match (self.one_shot, pairs.len(), self.until.is_empty()) {
            (true, _, _) => 1,
            (false, 1, true) => hunt.choosing + 8 * hunt.choosing.isqrt() + 512,
            _ => 1024,
        };
        let mut entropy = OsEntropy::new().map_err(explained)?;
        let output = match self.output {
            Output::Number => program::Output::Number,
            Output::Text => program::Output::Text,
        };
        let advance = |outputs| progress.advance(outputs);
        let bits = move || entropy.bits(64);
        let runner = Runner::new(program, inputs.to_vec(), output, batch, bits, &advance);
        let mut workers = [runner];
        let started = Instant::now();
        let chosen = hunt.choose(&mut workers, &pairs)?;
        if self.until.is_empty() {
            return Ok(chosen.test(&mut workers, hunt.testing)?);
        }
        progress.label("testing");
        let speed = hunt.choosing as f64 / started.elapsed().as_secs_f64().max(1e-3);
        let round = ((speed * ROUND.as_secs_f64()) as u64).clamp(64, 1 << 20);
        let claimed = self.claim.epsilon.as_ref().map(|epsilon| to_f64_up(&epsilon.0));
        // What was found so far is a result at any time, so Ctrl-C is one more reason to stop.
        let interrupt = Interrupt::listen();
        let witness = chosen.test_until(&mut workers, round, |witness| {
            progress.label(format!("ε ≥ {}", significant(witness.epsilon_at(hunt.delta), 3)));
            let reached = self.until.iter().any(|until| match until {
                Until::Seconds(seconds) => started.elapsed().as_secs_f64() >= *seconds,
                Until::Refuted => claimed
                    .is_some_and(|claimed| witness.verdict(claimed, hunt.delta) == FindingVerdict::Refuted),
            });
            reached || interrupt.was_pressed()
        })?;
        Ok(witness)
    }

    /// The command that makes the same audit again on the same pair; its draws are the program's own, so they
    /// are new.
    fn replay(&self, inputs: &[String; 2], samples: u64) -> String {
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
        let until: Vec<String> = self
            .until
            .iter()
            .map(|until| match until {
                Until::Refuted => "refuted".to_string(),
                Until::Seconds(seconds) => seconds.to_string(),
            })
            .collect();
        option("--until", (!until.is_empty()).then(|| until.join(",")));
        option("--confidence", Some(self.confidence.to_string()));
        option("--input-first", Some(inputs[0].clone()));
        option("--input-second", Some(inputs[1].clone()));
        if self.output == Output::Text {
            option("--output", Some("text".to_string()));
        }
        if self.look != Look::Everything {
            option("--look", Some(self.look.to_string()));
        }
        if self.one_shot {
            words.push("--one-shot".to_string());
        }
        words.push("--".to_string());
        words.extend(self.program.iter().map(|word| quoted(&word.to_string_lossy())));
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::Until;

    #[test]
    fn when_to_stop() {
        assert_eq!("refuted".parse(), Ok(Until::Refuted));
        assert_eq!("1.5".parse(), Ok(Until::Seconds(1.5)));
        for text in ["", "soon", "0", "-1", "NaN", "inf"] {
            assert!(text.parse::<Until>().is_err(), "{text}");
        }
    }
}
