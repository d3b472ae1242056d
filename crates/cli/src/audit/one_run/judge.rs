//! `deniable audit one-run judge`.

use super::super::refuted;
use crate::delivery::Outputs;
use crate::terminal::{CliError, Progress, fail};
use crate::train::LineModel;
use accounting::Neighbors;
use audit::document::{Claim, Number};
use audit::one_run::{Judged, Secrets, Tries, read_scores};
use conformance::one_run;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use train::private::ModelReceipt;

/// Guess which canaries a model has seen, and bound its ε from below
///
/// Each canary is scored by how likely the model finds it; the highest scores are guessed to be in, the lowest to be out, on the rest nobody bets. A claim below the bound is refuted, with a
/// false-alarm rate of at most one minus the confidence. Nothing here proves a claim: `consistent` means that nothing was found.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable audit one-run judge --secrets secrets.json --model model.safetensors
  deniable audit one-run judge --secrets secrets.json --model model.safetensors --epsilon 1 --delta 1e-6
  deniable audit one-run judge --secrets secrets.json --scores scores.csv --epsilon 2 --delta 1e-5 --html audit.html

A file that `deniable train lm` wrote states its claim itself. Scores of any other model come in lines of a canary's number, a comma and a score, of which a higher one says \"in\"; they must be made
without the secrets and the planted text.

Exit code: 0 when nothing is refuted, 4 when the claim is refuted, 2 when the model cannot be audited.")]
#[command(group(clap::ArgGroup::new("judged").required(true).args(["model", "scores"])))]
pub(super) struct Arguments {
    /// Canaries and coins, as `plant` wrote them
    #[arg(long, value_name = "FILE.json")]
    secrets: PathBuf,
    /// A model that `deniable train lm` wrote
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Scores that another library computed: lines of number and score
    #[arg(long, value_name = "FILE.csv")]
    scores: Option<PathBuf>,
    /// The planted text, to make sure that the secrets are of it
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// The ε that is claimed [default: what the model's file says]
    #[arg(
        long,
        visible_alias = "claim-epsilon",
        value_name = "E",
        allow_hyphen_values = true
    )]
    epsilon: Option<Number>,
    /// The δ that is claimed [default: what the model's file says, otherwise 0]
    #[arg(
        long,
        visible_alias = "claim-delta",
        value_name = "D",
        allow_hyphen_values = true
    )]
    delta: Option<Number>,
    /// One minus the probability of a false alarm
    #[arg(long, value_name = "C", default_value = "95%", allow_hyphen_values = true)]
    confidence: Confidence,
    /// Guesses on each side, decided on before any judging [default: several, of which each pays its part of the confidence]
    #[arg(long, value_name = "N")]
    guesses: Option<usize>,
    #[command(flatten)]
    outputs: Outputs,
}

/// Significant digits of a claim that a file states.
const DIGITS: u32 = 6;

/// `95%` or `0.95`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::audit) struct Confidence(pub(in crate::audit) f64);

impl FromStr for Confidence {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const HINT: &str = "write a confidence below 1, such as 95% or 0.999999999";
        let (digits, unit) = match text.strip_suffix('%') {
            Some(digits) => (digits.trim_end(), exact::ratio(1, 100)),
            None => (text, exact::Rational::ONE),
        };
        let value = exact::parse_decimal(digits).map_err(|_| HINT.to_owned())?;
        let confidence = exact::to_f64_nearest(&(value * unit));
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(HINT.to_owned());
        }
        Ok(Self(confidence))
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let given = Claim {
        epsilon: arguments.epsilon.clone(),
        delta: arguments.delta.clone(),
    };
    given.check_as("--epsilon", "--delta")?;
    arguments.outputs.check()?;
    let secrets = Secrets::read(&arguments.secrets)?;
    let tries = Tries::new(secrets.canaries.len(), arguments.guesses)?;
    let known = match &arguments.text {
        Some(path) => {
            check_text(&secrets, path)?;
            true
        }
        None => false,
    };
    let (scores, claim, name) = match (&arguments.model, &arguments.scores) {
        (Some(path), _) => {
            let mut model = LineModel::read(path)?;
            let claim = match model.receipt() {
                Some(receipt) => {
                    check_receipt(receipt, &secrets, known)?;
                    stated(given, receipt)
                }
                None => given,
            };
            let hidden = arguments.outputs.is_quiet();
            (score(&mut model, &secrets, hidden)?, claim, path)
        }
        (None, Some(path)) => (read_scores(path, secrets.canaries.len())?, given, path),
        (None, None) => return fail("there is nothing to judge", "name a --model or --scores"),
    };
    let judged = Judged::new(&secrets, &scores, &tries, claim, arguments.confidence.0)?;
    let findings = one_run::findings(&name.display().to_string(), &judged);
    arguments.outputs.give(&findings)?;
    if judged.refuted() {
        return Err(refuted(&judged.claim));
    }
    Ok(())
}

/// What the model thinks of every canary.
pub(super) fn score(model: &mut LineModel, secrets: &Secrets, hidden: bool) -> Result<Vec<f64>, CliError> {
    let progress = Progress::new("asking the model", secrets.canaries.len() as u64, hidden);
    let lines: Vec<&str> = secrets
        .canaries
        .iter()
        .map(|canary| canary.line.as_str())
        .collect();
    let scores = model.log_likelihoods(&lines, |lines| progress.advance(lines));
    if scores.iter().any(|score| !score.is_finite()) {
        return fail(
            "the model has no likelihood for some canaries: its training diverged",
            "train it again with a smaller --rate",
        );
    }
    Ok(scores)
}

/// What the model's file claims, where nobody claims something else. Rounded up to what people read.
pub(super) fn stated(given: Claim, receipt: &ModelReceipt) -> Claim {
    let number = |value| Number(exact::decimal_at_least(value, DIGITS));
    Claim {
        epsilon: given
            .epsilon
            .or_else(|| Some(number(receipt.epsilon.as_rational()))),
        delta: given.delta.or_else(|| Some(number(receipt.delta.as_rational()))),
    }
}

fn check_text(secrets: &Secrets, path: &Path) -> Result<(), CliError> {
    let text = std::fs::read(path).map_err(|cause| {
        CliError::bad_input(format!("cannot read `{}`: {}", path.display(), cause.kind()))
            .with_hint("name the text that `plant --out` wrote, or leave out --text")
    })?;
    if !secrets.are_of(&text) {
        return fail(
            "these are the secrets of another text",
            "name the text that was planted together with them",
        );
    }
    Ok(())
}

/// The claim must be about what the coins decide: one line more or less, of this text.
fn check_receipt(receipt: &ModelReceipt, secrets: &Secrets, known: bool) -> Result<(), CliError> {
    if receipt.unit.whose != "line" || receipt.unit.neighbors != Neighbors::AddRemove {
        return fail(
            format!(
                "the model's promise is to each {}, and a canary is a line that is there or not",
                receipt.unit.whose
            ),
            "train on the planted text with --each-line",
        );
    }
    if !known && receipt.data != secrets.text {
        return fail(
            format!(
                "the model was trained on `{}`, and these are the secrets of `{}`",
                receipt.data, secrets.text
            ),
            "name the secrets of that text; where its file was renamed, show that it is the same with --text",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Confidence;

    #[test]
    fn confidences() {
        assert_eq!("95%".parse(), Ok(Confidence(0.95)));
        assert_eq!("99.9 %".parse(), Ok(Confidence(0.999)));
        assert_eq!("0.95".parse(), Ok(Confidence(0.95)));
        for bad in ["", "%", "95", "100%", "0", "1", "-5%", "NaN", "often"] {
            assert!(bad.parse::<Confidence>().is_err(), "{bad}");
        }
    }
}
