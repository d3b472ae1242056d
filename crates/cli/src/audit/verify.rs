//! `deniable audit exact`: the verifier on a mechanism that can be written down.

use super::curve::{self, Highlight};
use super::parameters::Parameters;
use super::{ClaimArguments, explained, refuted};
use crate::terminal::{self, CliError, fail};
use audit::document::{self, Claim, MechanismKind, Number, Pair, check_delta, check_epsilon, ranges};
use audit::exact_audit::{Answer, satisfies, smallest_delta, smallest_epsilon};
use exact::{Interval, Rational, decimal_at_least, decimal_at_most, format_decimal};
use serde_json::{Value, json};
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

/// What the verifier found.
pub(super) struct Report {
    pair: Pair,
    /// The smallest ε at a δ.
    epsilon: Option<(Number, Answer)>,
    /// The smallest δ at an ε.
    delta: Option<(Number, Interval)>,
    /// The claim and whether it holds.
    verdict: Option<(Claim, bool)>,
}

/// What to ask of the verifier.
#[derive(Debug, Default)]
pub(super) struct Question {
    pub(super) epsilon: Option<Number>,
    pub(super) delta: Option<Number>,
    pub(super) claim: Claim,
}

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
        let svg = curve::draw(&report.pair, &report.highlights()).to_svg();
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

/// Asks the verifier. A claim asks both questions at its own ε and δ, unless others are asked.
/// A claimed ε without a δ of its own is judged at the δ that is asked for.
pub(super) fn answer(pair: Pair, mut question: Question) -> Result<Report, CliError> {
    check_epsilon("--epsilon", question.epsilon.as_ref())?;
    check_delta("--delta", question.delta.as_ref())?;
    question.claim.check_as("--claim-epsilon", "--claim-delta")?;
    if question.claim.delta.is_some() && question.claim.epsilon.is_none() {
        return fail(
            "--claim-delta without --claim-epsilon is half a claim",
            "add --claim-epsilon, or ask with --delta for the smallest ε",
        );
    }
    if question.claim.epsilon.is_some() && question.claim.delta.is_none() {
        question.claim.delta = question.delta.clone();
    }
    let (p, q) = (&pair.first, &pair.second);
    let at_epsilon = question
        .epsilon
        .clone()
        .or_else(|| question.claim.epsilon.clone());
    let at_delta = match (&question.delta, &question.claim.epsilon, &question.epsilon) {
        (Some(delta), _, _) => Some(delta.clone()),
        (None, Some(_), _) => Some(question.claim.delta_or_zero()),
        (None, None, None) => Some(Number::ZERO),
        (None, None, Some(_)) => None,
    };
    let epsilon = match at_delta {
        Some(delta) => {
            let least = smallest_epsilon(p, q, &delta.0).map_err(explained)?;
            Some((delta, least))
        }
        None => None,
    };
    let delta = match at_epsilon {
        Some(epsilon) => {
            let least = least_delta(&pair, &epsilon.0)?;
            Some((epsilon, least))
        }
        None => None,
    };
    let verdict = match &question.claim.epsilon {
        Some(claimed) => Some((question.claim.clone(), holds(&pair, claimed, &question.claim)?)),
        None => None,
    };
    Ok(Report {
        pair,
        epsilon,
        delta,
        verdict,
    })
}

/// The smallest δ at ε. An enclosure that reaches down to zero is zero where the largest privacy loss proves it.
fn least_delta(pair: &Pair, epsilon: &Rational) -> Result<Interval, CliError> {
    let (p, q) = (&pair.first, &pair.second);
    let least = smallest_delta(p, q, epsilon).map_err(explained)?;
    let nothing = least.lower().is_zero() && satisfies(p, q, epsilon, &Rational::ZERO) == Ok(true);
    Ok(if nothing {
        Interval::from_integer(0, least.bits())
    } else {
        least
    })
}

/// Whether the claim holds. One too close to the truth to be decided gets the nearest claim that can be.
fn holds(pair: &Pair, epsilon: &Number, claim: &Claim) -> Result<bool, CliError> {
    let delta = claim.delta_or_zero();
    let (p, q) = (&pair.first, &pair.second);
    satisfies(p, q, &epsilon.0, &delta.0).map_err(|error| {
        let undecided = matches!(error, audit::Error::Undecided { .. });
        match smallest_epsilon(p, q, &delta.0) {
            Ok(Answer::Finite(least)) if undecided => CliError::bad_input(format!(
                "the claim {} is too close to the truth to be decided: the smallest ε is {}",
                claim.words(),
                interval_words(&least)
            ))
            .with_hint(format!(
                "claim ε = {}, which can be proved",
                format_decimal(&decimal_at_least(&least.upper(), DIGITS))
            )),
            _ => explained(error),
        }
    })
}

/// Significant digits that people read; rounded outward, so the words stay true.
const DIGITS: u32 = 12;

/// The number when it is known exactly, otherwise what it lies between.
pub(super) fn interval_words(interval: &Interval) -> String {
    let low = decimal_at_most(&interval.lower(), DIGITS);
    let high = decimal_at_least(&interval.upper(), DIGITS);
    if low == high {
        format_decimal(&low)
    } else if low.is_zero() {
        format!("at most {}", format_decimal(&decimal_at_least(&high, 3)))
    } else {
        format!("between {} and {}", format_decimal(&low), format_decimal(&high))
    }
}

fn interval_json(interval: &Interval) -> Value {
    json!({ "lower": interval.to_f64_down(), "upper": interval.to_f64_up() })
}

fn answer_words(answer: &Answer) -> String {
    match answer {
        Answer::Finite(least) => interval_words(least),
        Answer::NoFinite { smallest_delta } if smallest_delta.upper().is_zero() => {
            "no finite ε; δ falls towards 0 as ε grows and never reaches it".to_string()
        }
        Answer::NoFinite { smallest_delta } => {
            let least = decimal_at_most(&smallest_delta.lower(), DIGITS);
            format!(
                "no finite ε; δ is at least {}, whatever ε is",
                format_decimal(&least)
            )
        }
    }
}

fn epsilon_words(delta: &Number, least: &Answer) -> String {
    format!("smallest ε at δ = {delta}: {}", answer_words(least))
}

fn delta_words(epsilon: &Number, least: &Interval) -> String {
    format!("smallest δ at ε = {epsilon}: {}", interval_words(least))
}

impl Report {
    /// Points worth marking on the curve.
    fn highlights(&self) -> Vec<Highlight> {
        let nearest = |number: &Number| exact::to_f64_nearest(&number.0);
        let mut highlights = Vec::new();
        if let Some((claim, _)) = &self.verdict
            && let Some(epsilon) = &claim.epsilon
        {
            highlights.push(Highlight {
                name: "the claim",
                epsilon: nearest(epsilon),
                delta: nearest(&claim.delta_or_zero()),
                words: format!("claim: {}", claim.words()),
            });
        }
        if let Some((delta, Answer::Finite(epsilon))) = &self.epsilon {
            highlights.push(Highlight {
                name: "smallest ε",
                epsilon: epsilon.to_f64_nearest(),
                delta: nearest(delta),
                words: epsilon_words(delta, &Answer::Finite(epsilon.clone())),
            });
        }
        if let Some((epsilon, delta)) = &self.delta
            && curve::drawable(delta)
        {
            highlights.push(Highlight {
                name: "smallest δ",
                epsilon: nearest(epsilon),
                delta: delta.to_f64_nearest(),
                words: delta_words(epsilon, delta),
            });
        }
        highlights
    }

    pub(super) fn to_text(&self) -> String {
        let mut lines = vec![self.pair.words.clone()];
        if let Some((delta, least)) = &self.epsilon {
            lines.push(format!("  {}", epsilon_words(delta, least)));
        }
        if let Some((epsilon, least)) = &self.delta {
            lines.push(format!("  {}", delta_words(epsilon, least)));
        }
        if let Some((claim, holds)) = &self.verdict {
            let verdict = verdict_word(*holds);
            lines.push(format!("  claim {}: {verdict}", claim.words()));
        }
        lines.push(String::new());
        lines.join("\n")
    }

    pub(super) fn to_json(&self, mechanism: Value) -> Value {
        let epsilon = self.epsilon.as_ref().map(|(delta, least)| match least {
            Answer::Finite(least) => {
                json!({ "delta": delta, "finite": true, "epsilon": interval_json(least) })
            }
            Answer::NoFinite { smallest_delta } => {
                json!({ "delta": delta, "finite": false, "delta_at_least": interval_json(smallest_delta) })
            }
        });
        let delta = self
            .delta
            .as_ref()
            .map(|(epsilon, least)| json!({ "epsilon": epsilon, "delta": interval_json(least) }));
        let claim = self.verdict.as_ref().map(|(claim, holds)| {
            json!({ "epsilon": claim.epsilon, "delta": claim.delta_or_zero(), "verdict": verdict_word(*holds) })
        });
        json!({
            "mechanism": mechanism,
            "words": self.pair.words,
            "smallest_epsilon": epsilon,
            "smallest_delta": delta,
            "claim": claim,
        })
    }
}

fn verdict_word(holds: bool) -> &'static str {
    if holds { "proved" } else { "refuted" }
}
