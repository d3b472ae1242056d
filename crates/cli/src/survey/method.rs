//! How answers are randomized: the options that `randomize` and `estimate` must agree on.

use accounting::Epsilon;
use clap::{Args, ValueEnum};
use exact::Rational;
use mechanism::{Error, Estimate, LocalMechanism, LocalNoise, Questionnaire, RandomizedResponse};
use std::fmt::Display;

use crate::terminal::{CliError, explained, fail};

/// How much noise: γ or ε.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct NoiseArguments {
    /// Tell the truth with probability 1/2 + γ, for two answers: ε = ln((1+2γ)/(1−2γ)). For example 0.25 or 1/3.
    #[arg(
        long,
        value_name = "GAMMA",
        allow_negative_numbers = true,
        conflicts_with = "epsilon"
    )]
    pub(super) gamma: Option<String>,
    /// How much one report may tell about its respondent: ln of the largest likelihood ratio. For example 1.
    #[arg(long, value_name = "EPSILON", allow_negative_numbers = true)]
    pub(super) epsilon: Option<String>,
}

/// How answers become reports.
#[derive(Args, Clone, Debug)]
pub(super) struct MethodArguments {
    #[command(flatten)]
    noise: NoiseArguments,
    /// How each answer is randomized.
    #[arg(long, value_enum, default_value_t = Kind::RandomizedResponse)]
    mechanism: Kind,
    /// All possible answers, in order and separated by commas; any other counts as the last. Both commands must be given the same.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "yes,no")]
    answers: Vec<String>,
}

/// Which mechanism randomizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Truth with a stated probability, otherwise any other answer. Best for few answers.
    RandomizedResponse,
    /// One random bit for each answer (optimized unary encoding). Best for many answers.
    Unary,
    /// One random bit for each answer, flipped alike (basic RAPPOR).
    UnarySymmetric,
    /// A random hash of the answer. As good as unary, in short reports.
    LocalHashing,
}

impl NoiseArguments {
    /// The γ these ask for, if they do.
    fn gamma(&self) -> Result<Option<Rational>, CliError> {
        let parsed = self.gamma.as_deref().map(exact::parse_decimal).transpose();
        parsed.or_else(|cause| {
            fail(
                format!("--gamma is {}", first_line(cause)),
                "write it as 0.25 or 1/4",
            )
        })
    }

    /// The binary mechanism these ask for, if they ask for γ.
    pub(super) fn binary(&self) -> Result<Option<RandomizedResponse>, CliError> {
        let response = self.gamma()?.as_ref().map(RandomizedResponse::binary);
        response.transpose().map_err(explained)
    }

    /// The ε these ask for, if they do.
    pub(super) fn epsilon(&self) -> Result<Option<Epsilon>, CliError> {
        self.epsilon
            .as_deref()
            .map(Epsilon::parse)
            .transpose()
            .map_err(explained)
    }
}

fn first_line(error: impl Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

impl MethodArguments {
    /// Checks the options and builds the mechanism.
    pub(super) fn method(&self) -> Result<Questionnaire, CliError> {
        let noise = match (self.noise.gamma()?, self.noise.epsilon()?) {
            (Some(gamma), _) => LocalNoise::Gamma(gamma),
            (None, Some(epsilon)) => LocalNoise::Epsilon(epsilon),
            (None, None) => {
                return fail(
                    "how much noise?",
                    "give --epsilon 1, or --gamma 0.25 for two answers",
                );
            }
        };
        let mechanism = match self.mechanism {
            Kind::RandomizedResponse => LocalMechanism::RandomizedResponse,
            Kind::Unary => LocalMechanism::Unary,
            Kind::UnarySymmetric => LocalMechanism::UnarySymmetric,
            Kind::LocalHashing => LocalMechanism::LocalHashing,
        };
        Questionnaire::new(self.answers.clone(), mechanism, &noise).or_else(|error| match error {
            Error::BadAnswers { what, hint } => fail(format!("--answers {what}"), hint),
            Error::GammaIsBinary => fail(
                "--gamma is for randomized response between two answers",
                "say how much noise with --epsilon instead",
            ),
            other => Err(explained(other)),
        })
    }

    /// The mechanism as it is written on the command line.
    pub(super) fn mechanism_name(&self) -> String {
        self.mechanism
            .to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// This many answers are named in a sentence.
const MOST_NAMED: usize = 12;

/// What an answer counts as that is none of the possible ones, as a sentence. It is said in every run,
/// whatever the answers are.
pub(super) fn catch_all_words(method: &Questionnaire) -> String {
    let answers = method.answers();
    let more = if answers.len() > MOST_NAMED { ", …" } else { "" };
    let named: Vec<&str> = answers.iter().take(MOST_NAMED).map(String::as_str).collect();
    format!(
        "Answers other than {}{more}, spelled exactly so, count as `{}`.",
        named.join(", "),
        method.catch_all()
    )
}

/// An estimate as JSON.
pub(super) fn estimate_json(answer: &str, estimate: &Estimate) -> serde_json::Value {
    serde_json::json!({
        "answer": answer,
        "fraction": estimate.fraction,
        "deviation": estimate.deviation,
        "low": estimate.low,
        "high": estimate.high,
    })
}
