//! `deniable audit one-run` without a subcommand: the whole audit on synthetic text.

use super::judge::{self, Confidence};
use crate::delivery::Outputs;
use crate::terminal::{self, CliError, Interrupt, explained};
use crate::train::{LineModel, SMALL_BATCH as BATCH, SmallModels};
use accounting::{Delta, Epsilon};
use audit::document::Claim;
use audit::one_run::{Judged, Tries, plant};
use conformance::one_run::{AuditedModel, models_findings};
use noise::{Entropy, OsEntropy};
use train::text::synthetic_text;

#[derive(clap::Args)]
pub(super) struct DemoArguments {
    /// How many canaries are drawn
    #[arg(long, value_name = "N", default_value_t = 1000)]
    canaries: usize,
    /// The ε that both models claim; one keeps it
    #[arg(long, value_name = "E", default_value = "2")]
    epsilon: String,
    /// Its δ
    #[arg(long, value_name = "D", default_value = "1e-5")]
    delta: String,
    /// One minus the probability that the private model is refuted
    #[arg(long, value_name = "C", default_value = "95%")]
    confidence: Confidence,
    #[command(flatten)]
    outputs: Outputs,
}

/// Bytes of synthetic text that canaries hide in, and that models are measured on.
const BYTES: usize = 8_000;
/// A line is at most so long: most are one row of the model's.
const LONGEST: usize = 40;
/// Times that each line is seen. Without privacy that is enough to learn lines by heart; with privacy more
/// would only be noisier.
const EPOCHS: u64 = 100;
const PRIVATE_EPOCHS: u64 = 8;
/// Runs the command.
pub(super) fn run(arguments: &DemoArguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    let interrupt = Interrupt::listen();
    let shown = audit(arguments, &interrupt)?;
    let stopped = shown.len() < 2;
    arguments.outputs.give(&models_findings(&shown, stopped))?;
    if stopped {
        eprintln!("stopped: {} of 2 models were trained and judged", shown.len());
    }
    match shown.iter().find(|shown| !shown.is_right()) {
        None => Ok(()),
        Some(wrong) => Err(
            CliError::check_failed(format!("the model {} was judged wrongly", wrong.name)).with_hint(
                if wrong.private {
                    "it happens as often as one minus the confidence: run it again, or with --confidence 0.999999"
                } else {
                    "few canaries cannot refute a large ε, nor a δ that is not far below one minus the confidence: try --canaries 2000, or a smaller --epsilon or --delta"
                },
            ),
        ),
    }
}

/// Plants, trains and judges. After Ctrl-C, what there is.
fn audit(arguments: &DemoArguments, interrupt: &Interrupt) -> Result<Vec<AuditedModel>, CliError> {
    let epsilon = Epsilon::parse(&arguments.epsilon).map_err(explained)?;
    let delta = Delta::parse(&arguments.delta).map_err(explained)?;
    let folder = tempfile::tempdir().map_err(|cause| {
        CliError::bad_input(format!("there is no place for temporary files: {}", cause.kind()))
            .with_hint("set TMPDIR to a folder that you may write to")
    })?;
    let text = lines(1);
    let size = text.lines().count() as u64 + arguments.canaries as u64 / 2;
    let mut entropy = OsEntropy::new().map_err(explained)?;
    let planted = plant(&text, arguments.canaries, "synthetic text", &mut |count| {
        entropy.bits(count)
    })?;
    let path = folder.path().join("planted.txt");
    terminal::write_new_secret_file(&path, planted.text.as_bytes())?;
    let models = SmallModels::read(&path)?;
    let tries = Tries::new(arguments.canaries, None)?;
    let (private, plain) = (PRIVATE_EPOCHS * size / BATCH, EPOCHS * size / BATCH);
    let progress = arguments.outputs.progress("", private + plain);
    let go_on = || {
        progress.advance(1);
        !interrupt.was_pressed()
    };
    let mut shown = Vec::new();
    let mut claim = Claim::default();
    for (name, is_private) in [("trained with privacy", true), ("trained without privacy", false)] {
        progress.label(name);
        let out = folder.path().join(format!("{is_private}.safetensors"));
        let finished = if is_private {
            models.train_privately((&epsilon, &delta), size, private, &out, go_on)?
        } else {
            models.train_plainly(plain, &out, go_on)?
        };
        if !finished {
            break;
        }
        let mut model = LineModel::read(&out)?;
        // The first model's receipt is the claim; the second is held to the same.
        if let Some(receipt) = model.receipt() {
            claim = judge::stated(Claim::default(), receipt);
        }
        let scores = judge::score(&mut model, &planted.secrets, true)?;
        shown.push(AuditedModel {
            name,
            private: is_private,
            perplexity: model.perplexity(&lines(2))?,
            judged: Judged::new(
                &planted.secrets,
                &scores,
                &tries,
                claim.clone(),
                arguments.confidence.0,
            )?,
        });
    }
    Ok(shown)
}

/// Synthetic sentences, one a line.
fn lines(seed: u64) -> String {
    let text = synthetic_text(BYTES, seed);
    let sentences = text
        .split(['.', '\n'])
        .map(str::trim)
        .filter(|line| !line.is_empty());
    sentences
        .map(|line| line.chars().take(LONGEST).chain(['\n']).collect::<String>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_ends_it_with_what_there_is() {
        let arguments = DemoArguments {
            canaries: 100,
            epsilon: "1".to_owned(),
            delta: "1e-5".to_owned(),
            confidence: Confidence(0.95),
            outputs: Outputs::without_figure(None, true),
        };
        let interrupt = Interrupt::default();
        interrupt.press();
        assert_eq!(audit(&arguments, &interrupt).expect("nothing yet").len(), 0);
    }

    #[test]
    fn synthetic_lines_are_short_and_none_is_empty() {
        let text = lines(1);
        assert!(text.lines().count() > 50);
        assert!(
            text.lines()
                .all(|line| !line.is_empty() && line.chars().count() <= LONGEST)
        );
        assert_ne!(text, lines(2));
    }
}
