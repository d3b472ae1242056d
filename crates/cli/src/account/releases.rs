//! Releases as they are written: `0.1x1000`.

use super::explained;
use super::plan::Part;
use crate::terminal::{CliError, fail};
use accounting::{Delta, Epsilon, Event, Grid, Ratio, Rho, Sampler};
use exact::{Rational, parse_decimal};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::fmt;

/// The releases of a command line, or of one `[[event]]` table of a file: the same names, the same texts.
#[derive(clap::Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Releases {
    /// Laplace noise where one number can change: ε of one release, and how many there are. For a vector, or for geometric noise, say
    /// --pure, which costs a little more
    #[arg(long, value_name = "EPS[xTIMES]", allow_hyphen_values = true)]
    #[serde(default, deserialize_with = "texts")]
    laplace: Vec<String>,
    /// Gaussian noise: the noise multiplier σ/Δ₂, its standard deviation over the ℓ₂ sensitivity
    #[arg(long, value_name = "SIGMA[xTIMES]", allow_hyphen_values = true)]
    #[serde(default, deserialize_with = "texts")]
    gaussian: Vec<String>,
    /// Randomized response: ε, and among how many answers [default: 2]
    #[arg(long, value_name = "EPS[/ANSWERS][xTIMES]", allow_hyphen_values = true)]
    #[serde(default, deserialize_with = "texts")]
    randomized_response: Vec<String>,
    /// The exponential mechanism, or anything whose losses lie in a range of width ε
    #[arg(long, value_name = "EPS[xTIMES]", allow_hyphen_values = true)]
    #[serde(default, deserialize_with = "texts")]
    exponential: Vec<String>,
    /// Anything that is ε-DP
    #[arg(long, value_name = "EPS[xTIMES]", allow_hyphen_values = true)]
    #[serde(default, deserialize_with = "texts")]
    pure: Vec<String>,
    /// Anything that is (ε, δ)-DP
    #[arg(long, value_name = "EPS,DELTA[xTIMES]", allow_hyphen_values = true)]
    #[serde(default, deserialize_with = "texts")]
    approximate: Vec<String>,
    /// Anything that is ρ-zCDP
    #[arg(long, value_name = "RHO[xTIMES]", allow_hyphen_values = true)]
    #[serde(default, deserialize_with = "texts")]
    concentrated: Vec<String>,
    /// Steps of private training: the Poisson sampling rate and the noise multiplier (see `account sgd`)
    #[arg(long, value_name = "RATE,SIGMA[xSTEPS]", allow_hyphen_values = true)]
    #[serde(default, deserialize_with = "texts")]
    training: Vec<String>,
    /// In a file only: how often all of the table runs.
    #[arg(skip)]
    times: Option<u64>,
}

/// Makes an event of what is written before the `x`.
type Reader = fn(&str) -> Result<Event, CliError>;

impl Releases {
    /// Everything that is described, in the order of the options.
    pub(super) fn parts(&self) -> Result<Vec<Part>, CliError> {
        let kinds: [(&str, &[String], Reader); 8] = [
            ("laplace", &self.laplace, laplace),
            ("gaussian", &self.gaussian, gaussian),
            (
                "randomized-response",
                &self.randomized_response,
                randomized_response,
            ),
            ("exponential", &self.exponential, exponential),
            ("pure", &self.pure, pure),
            ("approximate", &self.approximate, approximate),
            ("concentrated", &self.concentrated, concentrated),
            ("training", &self.training, training),
        ];
        let mut parts = Vec::new();
        for (name, texts, reader) in kinds {
            for text in texts {
                let part = part(text, reader).map_err(|error| CliError {
                    message: format!("{name}: {}", error.message),
                    ..error
                })?;
                parts.push(part);
            }
        }
        match self.times {
            Some(0) => {
                return fail(
                    "times: an event that runs 0 times is none",
                    "leave it out, or write times = 1",
                );
            }
            Some(times) => parts.iter_mut().try_for_each(|part| part.repeat(times))?,
            None => {}
        }
        Ok(parts)
    }
}

fn part(text: &str, reader: Reader) -> Result<Part, CliError> {
    let (release, times) = match text.rsplit_once(['x', '×']) {
        Some((release, times)) => (release, count("the number after `x`", times)?),
        None => (text, 1),
    };
    Part::new(reader(release.trim())?, times)
}

/// Nothing happens more often, and up to here every accountant answers soon.
pub(super) const MOST_TIMES: u64 = 1_000_000_000;

/// A whole number from 1 to a billion, also written as 1e6.
pub(super) fn count(name: &str, text: &str) -> Result<u64, CliError> {
    let value = parse_decimal(text.trim()).map_err(|error| {
        let error = explained(error);
        CliError::bad_input(format!("{name} is {}", error.message))
            .with_hint("write a whole number: 1000, or 1e6")
    })?;
    if value < Rational::ONE || value > Rational::from(MOST_TIMES) || !value.denominator().is_one() {
        return fail(
            format!("{name} is not a whole number from 1 to {MOST_TIMES}"),
            "leave out what does not run; write many as 1e6",
        );
    }
    Ok(u64::try_from(value.numerator()).unwrap_or(MOST_TIMES))
}

/// The square of a noise multiplier, as an event keeps it.
pub(super) fn multiplier_squared(text: &str) -> Result<Ratio, CliError> {
    let sigma = Ratio::parse(text).map_err(|error| renamed(&error, "a noise multiplier"))?;
    let sigma = sigma.as_rational();
    let (least, most) = sigma_range();
    if *sigma < least || *sigma > most {
        return fail(
            "a noise multiplier must be from 0.001 to 1e9",
            "it is the standard deviation of the noise over what one person can change, such as 1.1",
        );
    }
    Ok(Ratio::at_most(&(sigma * sigma)))
}

/// Below this, nothing is protected; above, nothing is told.
pub(super) fn sigma_range() -> (Rational, Rational) {
    (exact::ratio(1, 1000), Rational::from(1_000_000_000u32))
}

fn epsilon(text: &str) -> Result<Epsilon, CliError> {
    Epsilon::parse(text).map_err(explained)
}

/// The same error about what the user knows the number as.
fn renamed(error: &accounting::Error, name: &str) -> CliError {
    let error = explained(error.clone());
    let message = error.message.replacen("ratio", name, 1);
    CliError {
        message: message.replace(", and a negative loss of privacy means nothing", ""),
        ..error
    }
}

fn laplace(text: &str) -> Result<Event, CliError> {
    let ratio = Ratio::parse(text).map_err(|error| renamed(&error, "ε"))?;
    Ok(Event::Laplace {
        ratio,
        on: Grid::Rounded,
    })
}

fn gaussian(text: &str) -> Result<Event, CliError> {
    Ok(Event::Gaussian {
        multiplier_squared: multiplier_squared(text)?,
        on: Grid::Rounded,
    })
}

fn randomized_response(text: &str) -> Result<Event, CliError> {
    let (text, answers) = match text.split_once('/') {
        Some((text, answers)) => (text, count("the number of answers", answers)?),
        None => (text, 2),
    };
    Ok(Event::RandomizedResponse {
        answers,
        epsilon: epsilon(text)?,
    })
}

fn exponential(text: &str) -> Result<Event, CliError> {
    Ok(Event::Exponential {
        epsilon: epsilon(text)?,
    })
}

fn pure(text: &str) -> Result<Event, CliError> {
    Ok(Event::Pure {
        epsilon: epsilon(text)?,
    })
}

fn approximate(text: &str) -> Result<Event, CliError> {
    let (first, second) = pair(text, "an ε and a δ", "0.5,1e-6")?;
    Ok(Event::Approximate {
        epsilon: epsilon(first)?,
        delta: Delta::parse(second).map_err(explained)?,
    })
}

fn concentrated(text: &str) -> Result<Event, CliError> {
    let rho = Rho::parse(text).map_err(explained)?;
    Ok(Event::Concentrated { rho })
}

fn training(text: &str) -> Result<Event, CliError> {
    let (rate, sigma) = pair(text, "a sampling rate and a noise multiplier", "256/60000,1.1")?;
    Ok(Event::SampledGaussian {
        sampler: Sampler::Poisson {
            rate: Ratio::parse(rate).map_err(explained)?,
        },
        multiplier_squared: multiplier_squared(sigma)?,
    })
}

fn pair<'text>(text: &'text str, what: &str, example: &str) -> Result<(&'text str, &'text str), CliError> {
    match text.split_once(',') {
        Some((first, second)) => Ok((first.trim(), second.trim())),
        None => fail(
            format!("{what} are needed, with a comma between them"),
            format!("write them as {example}"),
        ),
    }
}

/// One text or several. A whole number is text too; a float is refused, because what was written is lost before we see it.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Texts;
    impl<'de> Visitor<'de> for Texts {
        type Value = Vec<String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("text as on the command line, such as \"0.1\", or a list of such texts")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_i64<E: Error>(self, value: i64) -> Result<Vec<String>, E> {
            Ok(vec![value.to_string()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
            let mut texts = Vec::new();
            while let Some(text) = list.next_element()? {
                texts.push(text);
            }
            Ok(texts)
        }
    }
    deserializer.deserialize_any(Texts)
}
