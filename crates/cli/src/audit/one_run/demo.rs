//! `deniable audit one-run`, alone: the whole on synthetic text.

use super::judge::{self, Confidence, row};
use super::verdict;
use crate::account::figure;
use crate::terminal::{self, CliError, Interrupt, Progress, explained};
use crate::train::{LineModel, SMALL_BATCH as BATCH, SmallModels};
use accounting::{Delta, Epsilon};
use audit::document::Claim;
use audit::one_run::{Judged, Tries, plant};
use noise::{Entropy, OsEntropy};
use report::{Page, significant};
use serde_json::{Value, json};
use std::path::PathBuf;
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
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
    /// Draw how often guesses about the model without privacy were right
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Write a report
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// Bytes of synthetic text that canaries hide in, and that models are measured on.
const BYTES: usize = 8_000;
/// A line is at most so long: most are one row of the model's.
const LONGEST: usize = 40;
/// Times that each line is seen. Without privacy that is enough to learn lines by heart; with privacy more would only be noisier.
const EPOCHS: u64 = 100;
const PRIVATE_EPOCHS: u64 = 8;
/// A model, judged.
struct Shown {
    name: &'static str,
    private: bool,
    perplexity: f64,
    judged: Judged,
}

impl Shown {
    /// What is right about a right auditor: with privacy nothing is refuted, without it the claim is.
    fn is_right(&self) -> bool {
        self.judged.refuted() != self.private
    }

    fn verdict(&self) -> verdict::Shown<'_> {
        verdict::Shown { judged: &self.judged }
    }

    fn to_json(&self) -> Value {
        json!({
            "model": self.name,
            "private": self.private,
            "perplexity": self.perplexity,
            "right": self.is_right(),
            "audit": self.verdict().to_json(),
        })
    }
}

/// Runs the command.
pub(super) fn run(arguments: &DemoArguments) -> Result<(), CliError> {
    figure::check(arguments.plot.as_deref())?;
    let interrupt = Interrupt::listen();
    let shown = audit(arguments, &interrupt)?;
    if let (Some(path), Some(last)) = (&arguments.plot, shown.last()) {
        figure::save(path, &last.verdict().figure(last.name))?;
    }
    if let Some(path) = &arguments.html {
        terminal::write_file_atomically(path, page(&shown).as_bytes())?;
    }
    let stopped = shown.len() < 2;
    terminal::print(&if arguments.json {
        let models: Vec<Value> = shown.iter().map(Shown::to_json).collect();
        format!("{}\n", json!({ "models": models, "stopped": stopped }))
    } else {
        text(&shown)
    })?;
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
fn audit(arguments: &DemoArguments, interrupt: &Interrupt) -> Result<Vec<Shown>, CliError> {
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
    let progress = Progress::new("", private + plain, arguments.json || arguments.quiet);
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
        shown.push(Shown {
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

fn text(shown: &[Shown]) -> String {
    let mut text = String::new();
    for shown in shown {
        text += &format!(
            "A model {} (perplexity {} on other text):\n{}\n",
            shown.name,
            significant(shown.perplexity, 4),
            shown.verdict().to_text()
        );
    }
    if let [private, plain] = shown
        && private.is_right()
        && plain.is_right()
    {
        text += "Both learned the same text, with the same canaries in it. The first was trained to keep the claim, and nothing was found against it; for the second it is refuted.\n";
    }
    text
}

fn page(shown: &[Shown]) -> String {
    let mut report = Page::new("Two models, audited from one run each", text(shown));
    for shown in shown {
        let figure = shown.verdict().figure(&format!("A model {}", shown.name));
        report.row(
            row(
                if shown.private { "private" } else { "plain" },
                shown.name,
                &shown.judged,
            )
            .figure(figure),
        );
    }
    report.to_html()
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
            json: true,
            plot: None,
            html: None,
            quiet: true,
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
