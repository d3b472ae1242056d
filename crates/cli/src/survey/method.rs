//! How answers are randomized: the options that `randomize` and `estimate` must agree on.

use accounting::{Epsilon, Neighbors, PrivacyUnit};
use clap::{Args, ValueEnum};
use mechanism::{Estimate, Frequencies, LocalHashing, RandomizedResponse, UnaryEncoding};
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

/// A mechanism together with the names of the answers.
#[derive(Clone, Debug)]
pub(super) struct Method {
    pub(super) answers: Vec<String>,
    pub(super) mechanism: Randomizer,
}

/// One of the mechanisms.
#[derive(Clone, Debug)]
pub(super) enum Randomizer {
    Response(RandomizedResponse),
    Unary(UnaryEncoding),
    Hashing(LocalHashing),
}

/// Whom every survey protects: the number of respondents is public, what each of them answered is not.
pub(super) fn respondent() -> PrivacyUnit {
    PrivacyUnit::new("respondent", Neighbors::ChangeOne)
}

impl NoiseArguments {
    /// The binary mechanism these ask for, if they ask for γ.
    pub(super) fn binary(&self) -> Result<Option<RandomizedResponse>, CliError> {
        let Some(text) = &self.gamma else { return Ok(None) };
        let gamma = exact::parse_decimal(text).or_else(|cause| {
            fail(
                format!("--gamma is {}", first_line(cause)),
                "write it as 0.25 or 1/4",
            )
        })?;
        RandomizedResponse::binary(&gamma).map(Some).map_err(explained)
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
    pub(super) fn method(&self) -> Result<Method, CliError> {
        let answers: Vec<String> = self
            .answers
            .iter()
            .map(|answer| answer.trim().to_owned())
            .collect();
        if answers.iter().any(String::is_empty) {
            return fail("--answers has an empty answer", "write it like --answers yes,no");
        }
        if answers.iter().any(|answer| answer.contains(['\n', '\r'])) {
            return fail(
                "--answers has a line break in an answer",
                "every report is one line, so an answer must fit on one",
            );
        }
        let mut sorted = answers.clone();
        sorted.sort();
        sorted.dedup();
        if sorted.len() < answers.len() {
            return fail(
                "--answers names an answer twice",
                "every answer must be different",
            );
        }
        let count = u32::try_from(answers.len()).unwrap_or(u32::MAX);
        if count < 2 {
            return fail(
                "--answers names fewer than two answers",
                "write it like --answers yes,no",
            );
        }
        Ok(Method {
            mechanism: self.randomizer(count)?,
            answers,
        })
    }

    fn randomizer(&self, answers: u32) -> Result<Randomizer, CliError> {
        if let Some(response) = self.noise.binary()? {
            if self.mechanism != Kind::RandomizedResponse || answers != 2 {
                return fail(
                    "--gamma is for randomized response between two answers",
                    "say how much noise with --epsilon instead",
                );
            }
            return Ok(Randomizer::Response(response));
        }
        let Some(epsilon) = self.noise.epsilon()? else {
            return fail(
                "how much noise?",
                "give --epsilon 1, or --gamma 0.25 for two answers",
            );
        };
        match self.mechanism {
            Kind::RandomizedResponse => RandomizedResponse::new(epsilon, answers).map(Randomizer::Response),
            Kind::Unary => UnaryEncoding::optimized(epsilon, answers).map(Randomizer::Unary),
            Kind::UnarySymmetric => UnaryEncoding::symmetric(epsilon, answers).map(Randomizer::Unary),
            Kind::LocalHashing => LocalHashing::new(epsilon, answers).map(Randomizer::Hashing),
        }
        .map_err(explained)
    }

    /// The mechanism as it is written on the command line.
    pub(super) fn mechanism_name(&self) -> String {
        self.mechanism
            .to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// So many answers are named in a sentence.
const MOST_NAMED: usize = 12;

impl Method {
    /// What an answer counts as that is none of the possible ones.
    pub(super) fn catch_all(&self) -> &str {
        self.answers.last().map_or("", String::as_str)
    }

    /// The same as a sentence. It is told in every run, whatever the answers are.
    pub(super) fn catch_all_words(&self) -> String {
        let more = if self.answers.len() > MOST_NAMED {
            ", …"
        } else {
            ""
        };
        let named: Vec<&str> = self.answers.iter().take(MOST_NAMED).map(String::as_str).collect();
        format!(
            "Answers other than {}{more}, spelled exactly so, count as `{}`.",
            named.join(", "),
            self.catch_all()
        )
    }

    /// Its ε.
    pub(super) fn epsilon(&self) -> &Epsilon {
        match &self.mechanism {
            Randomizer::Response(response) => response.epsilon(),
            Randomizer::Unary(encoding) => encoding.epsilon(),
            Randomizer::Hashing(hashing) => hashing.epsilon(),
        }
    }

    /// What n reports tell.
    pub(super) fn frequencies(&self) -> &Frequencies {
        match &self.mechanism {
            Randomizer::Response(response) => response.frequencies(),
            Randomizer::Unary(encoding) => encoding.frequencies(),
            Randomizer::Hashing(hashing) => hashing.frequencies(),
        }
    }
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
