//! `deniable audit exact`: the verifier on a mechanism that can be written down.

use super::parameters::Parameters;
use super::{ClaimArguments, refuted};
use crate::terminal::{self, CliError, fail};
use audit::document::{self, MechanismKind, Number, Question, answer, ranges};
use serde_json::json;
use std::path::PathBuf;

/// Prove or refute a claim about output distributions that can be written down
///
/// Two neighbouring inputs give two output distributions. The answer is the smallest ε for a δ, and the smallest δ for an ε, as an
/// interval that certainly contains it: a theorem about the two distributions, not an estimate. Numbers are read exactly: 0.1 is one
/// tenth, and 1/3 a third.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES.as_str())]
pub(super) struct Arguments {
    #[command(flatten)]
    parameters: Parameters,
    /// Read the mechanism from a .toml or .json file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Ask for the smallest δ at this ε (of randomized response without --gamma: its own ε)
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<Number>,
    /// Ask for the smallest ε at this δ [default: 0]. Without --claim-delta it is also the δ of the claim
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<Number>,
    #[command(flatten)]
    claim: ClaimArguments,
    /// Draw δ against ε
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  Laplace noise of scale 2 on values 1 apart: ε = 0.5
    deniable audit exact --mechanism laplace --scale 2 --shift 1
  The ε of Gaussian noise at δ = 1e-6, with a figure
    deniable audit exact --mechanism gaussian --sigma 4 --delta 1e-6 --plot gaussian.svg
  Uniform noise: no finite ε, δ is at least 1/2
    deniable audit exact --mechanism uniform --lower -1 --upper 1
  Integer noise on a real sum: δ = 1. On the sum rounded to 1/100: ε = 25
    deniable audit exact --mechanism geometric --scale 4 --shift 1/2
    deniable audit exact --mechanism geometric --scale 4 --spacing 1/100
  Is a claim true?
    deniable audit exact --mechanism randomized-response --gamma 1/4 --claim-epsilon 1.1
    deniable audit exact --file mechanism.toml --claim-epsilon 1 --claim-delta 1e-6 --json

Exit code: 0 when the claim is proved or none is made, 4 when it is refuted, 2 when the
question cannot be answered.";

static LONG_EXAMPLES: std::sync::LazyLock<String> =
    std::sync::LazyLock::new(|| format!("{EXAMPLES}\n\n{}\n\n{}", ranges(), document::FORMAT));

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let mut parameters = arguments.parameters.read();
    let mut question = Question {
        epsilon: arguments.epsilon.clone(),
        delta: arguments.delta.clone(),
        claim: arguments.claim.read(),
    };
    if parameters.kind == Some(MechanismKind::RandomizedResponse) && parameters.gamma.is_none() {
        parameters.epsilon = question.epsilon.take();
    }
    let pair = match &arguments.file {
        Some(_) if !parameters.is_empty() => {
            return fail(
                "the mechanism is described twice, in a file and on the command line",
                "with --file, put all parameters into the file",
            );
        }
        Some(path) => document::read(path)?,
        None => parameters.pair()?,
    };
    let report = answer(pair, question)?;
    if let Some(path) = &arguments.plot {
        let svg = conformance::curve(&report).to_svg();
        terminal::write_file_atomically(path, svg.as_bytes())?;
    }
    let text = if arguments.json {
        let mechanism = match &arguments.file {
            Some(path) => json!({ "file": path.display().to_string() }),
            None => json!(parameters),
        };
        format!("{}\n", report.to_json(mechanism))
    } else {
        report.to_text()
    };
    terminal::print(&text)?;
    match report.verdict {
        Some((claim, false)) => Err(refuted(&claim)),
        _ => Ok(()),
    }
}
