//! The questions about a plan.

use super::explained;
use crate::terminal::{CliError, fail};
use accounting::plan::check_delta;
use accounting::{Delta, Epsilon, Question};
use exact::{Rational, parse_decimal};

/// The δ that is meant when none is said.
const USUAL_DELTA: &str = "1e-6";
/// A larger ε is a mistake in the units.
const LARGEST_EPSILON: u32 = 10_000;
/// A cost is an amount of money.
const LARGEST_COST: &str = "1e15";

#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct QuestionArguments {
    /// Ask for the ε at this δ [default: 1e-6, unless --epsilon is given]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<String>,
    /// Ask for the δ at this ε
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<String>,
    #[command(flatten)]
    stakes: Stakes,
}

/// What is at stake for one person.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Stakes {
    /// How likely something bad is for one person who stays out: bounds how likely it can become for one who is in
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    prior: Option<String>,
    /// What it costs, in any currency: bounds the fair price of insuring against it
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true, requires = "prior")]
    cost: Option<String>,
}

/// What is asked of a plan, checked.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// What every accountant is asked.
    pub(super) answers: Question,
    /// The risk of one person who stays out.
    pub(super) prior: Option<Rational>,
    /// What the risk costs.
    pub(super) cost: Option<Rational>,
}

impl Asked {
    pub(super) fn new(arguments: &QuestionArguments) -> Result<Self, CliError> {
        let mut asked = Self::default();
        asked.answers.delta = arguments.delta.as_deref().map(delta).transpose()?;
        asked.answers.epsilon = arguments
            .epsilon
            .as_deref()
            .map(|text| epsilon("--epsilon", text))
            .transpose()?;
        asked.stake(&arguments.stakes)?;
        if asked.answers.delta.is_none() && asked.answers.epsilon.is_none() {
            asked.answers.delta = Some(delta(USUAL_DELTA)?);
        }
        Ok(asked)
    }

    /// Adds what is at stake.
    pub(super) fn stake(&mut self, stakes: &Stakes) -> Result<(), CliError> {
        let read = |name: &str, text: &Option<String>, most: &Rational, hint: &str| match text {
            None => Ok(None),
            Some(text) => match parse_decimal(text) {
                Ok(value) if value >= Rational::ZERO && value <= *most => Ok(Some(value)),
                _ => fail(format!("{name} is out of range or not a number"), hint),
            },
        };
        self.prior = read(
            "--prior",
            &stakes.prior,
            &Rational::ONE,
            "it is a probability from 0 to 1, such as 0.02 for 2 %",
        )?;
        let most = parse_decimal(LARGEST_COST).unwrap_or(Rational::ONE);
        self.cost = read(
            "--cost",
            &stakes.cost,
            &most,
            "it is an amount of money, such as 100000",
        )?;
        Ok(())
    }

    /// The δ that is asked about, or the usual one.
    pub(super) fn delta_or_default(&self) -> Result<Delta, CliError> {
        match &self.answers.delta {
            Some(delta) => Ok(delta.clone()),
            None => delta(USUAL_DELTA),
        }
    }
}

/// A δ as it is written on the command line.
pub(super) fn delta(text: &str) -> Result<Delta, CliError> {
    let delta = Delta::parse(text).map_err(explained)?;
    check_delta("--delta", &delta)?;
    Ok(delta)
}

/// An ε as it is written on the command line.
pub(super) fn epsilon(name: &str, text: &str) -> Result<Epsilon, CliError> {
    let epsilon = Epsilon::parse(text).map_err(explained)?;
    if *epsilon.as_rational() > Rational::from(LARGEST_EPSILON) {
        return fail(
            format!("{name} must not be above {LARGEST_EPSILON}"),
            "an ε of 20 already protects nobody; 1 is a usual choice",
        );
    }
    Ok(epsilon)
}
