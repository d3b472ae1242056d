//! One kind of release as it is written: `0.1x1000`.

use super::{Mistake, Part, fail};
use crate::{Delta, Epsilon, Error, Event, NoiseSupport, Ratio, Rho, Sampler};
use exact::{Rational, parse_decimal};

/// What a plan can be made of, by the names that options and documents have for them.
///
/// ```
/// use accounting::plan::Mechanism;
///
/// let releases = Mechanism::Approximate.release("0.5,1e-6x20")?;
/// assert_eq!((Mechanism::Approximate.name(), releases.times), ("approximate", 20));
/// assert!(Mechanism::Laplace.release("-1").unwrap_err().message().starts_with("laplace: ε = -1 is negative"));
/// # Ok::<(), accounting::plan::Mistake>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Laplace noise where one number can change: its ε.
    Laplace,
    /// Gaussian noise: the noise multiplier.
    Gaussian,
    /// Randomized response: its ε, and among how many answers.
    RandomizedResponse,
    /// The exponential mechanism: its ε.
    Exponential,
    /// Anything that is ε-DP.
    Pure,
    /// Anything that is (ε, δ)-DP.
    Approximate,
    /// Anything that is ρ-zCDP.
    Concentrated,
    /// A step of private training: the Poisson sampling rate and the noise multiplier.
    Training,
    /// The same, for a unit that changes: the noise multiplier is σ over Δ₂ = 2C.
    TrainingChangeOne,
    /// The same as [`Mechanism::Training`], of which at most so many units are kept: then the most, and how many units there are.
    TruncatedTraining,
    /// A binary tree of noisy sums: the noise multiplier of a node, the leaves, how often a unit takes part (1), and how far apart (1).
    Tree,
}

impl Mechanism {
    /// All of them, in the order of the options.
    pub const ALL: [Self; 11] = [
        Self::Laplace,
        Self::Gaussian,
        Self::RandomizedResponse,
        Self::Exponential,
        Self::Pure,
        Self::Approximate,
        Self::Concentrated,
        Self::Training,
        Self::TrainingChangeOne,
        Self::TruncatedTraining,
        Self::Tree,
    ];

    /// The name of its option, and of its key in a document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Laplace => "laplace",
            Self::Gaussian => "gaussian",
            Self::RandomizedResponse => "randomized-response",
            Self::Exponential => "exponential",
            Self::Pure => "pure",
            Self::Approximate => "approximate",
            Self::Concentrated => "concentrated",
            Self::Training => "training",
            Self::TrainingChangeOne => "training-change-one",
            Self::TruncatedTraining => "truncated-training",
            Self::Tree => "tree",
        }
    }

    /// The releases that a text such as `0.1x1000` describes: parameters, and how many there are.
    pub fn release(self, text: &str) -> Result<Part, Mistake> {
        let read = || {
            let (release, times) = match text.rsplit_once(['x', '×']) {
                Some((release, times)) => (release, count("the number after `x`", times)?),
                None => (text, 1),
            };
            Part::new(self.event(release.trim())?, times)
        };
        read().map_err(|mistake: Mistake| mistake.within(self.name()))
    }

    fn event(self, text: &str) -> Result<Event, Mistake> {
        match self {
            Self::Laplace => laplace(text),
            Self::Gaussian => gaussian(text),
            Self::RandomizedResponse => randomized_response(text),
            Self::Exponential => exponential(text),
            Self::Pure => pure(text),
            Self::Approximate => approximate(text),
            Self::Concentrated => concentrated(text),
            Self::Training => training(text),
            Self::TrainingChangeOne => training_change_one(text),
            Self::TruncatedTraining => truncated_training(text),
            Self::Tree => tree(text),
        }
    }
}

/// Nothing happens more often, and up to here every accountant answers soon.
pub(super) const MOST_TIMES: u64 = 1_000_000_000;

/// A whole number from 1 to a billion, also written as 1e6.
pub fn count(name: &str, text: &str) -> Result<u64, Mistake> {
    let value = parse_decimal(text.trim()).map_err(|error| {
        Mistake::of(&error)
            .reworded(|what| format!("{name} is {what}"))
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
pub fn multiplier_squared(text: &str) -> Result<Ratio, Mistake> {
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

/// Below this, nothing is protected; above, nothing is reported.
pub(super) fn sigma_range() -> (Rational, Rational) {
    (exact::ratio(1, 1000), Rational::from(1_000_000_000u32))
}

fn epsilon(text: &str) -> Result<Epsilon, Mistake> {
    Ok(Epsilon::parse(text)?)
}

/// The same error about what the user knows the number as.
fn renamed(error: &Error, name: &str) -> Mistake {
    Mistake::of(error).reworded(|what| {
        what.replacen("ratio", name, 1)
            .replace(", and a negative loss of privacy means nothing", "")
    })
}

fn laplace(text: &str) -> Result<Event, Mistake> {
    let ratio = Ratio::parse(text).map_err(|error| renamed(&error, "ε"))?;
    Ok(Event::Laplace {
        ratio,
        on: NoiseSupport::Rounded,
    })
}

fn gaussian(text: &str) -> Result<Event, Mistake> {
    Ok(Event::Gaussian {
        multiplier_squared: multiplier_squared(text)?,
        on: NoiseSupport::Rounded,
    })
}

fn randomized_response(text: &str) -> Result<Event, Mistake> {
    let (text, answers) = match text.split_once('/') {
        Some((text, answers)) => (text, count("the number of answers", answers)?),
        None => (text, 2),
    };
    Ok(Event::RandomizedResponse {
        answers,
        epsilon: epsilon(text)?,
    })
}

fn exponential(text: &str) -> Result<Event, Mistake> {
    Ok(Event::Exponential {
        epsilon: epsilon(text)?,
    })
}

fn pure(text: &str) -> Result<Event, Mistake> {
    Ok(Event::Pure {
        epsilon: epsilon(text)?,
    })
}

fn approximate(text: &str) -> Result<Event, Mistake> {
    let (first, second) = pair(text, "an ε and a δ", "0.5,1e-6")?;
    Ok(Event::Approximate {
        epsilon: epsilon(first)?,
        delta: Delta::parse(second)?,
    })
}

fn concentrated(text: &str) -> Result<Event, Mistake> {
    let rho = Rho::parse(text)?;
    Ok(Event::Concentrated { rho })
}

fn training(text: &str) -> Result<Event, Mistake> {
    let (rate, sigma) = pair(text, "a sampling rate and a noise multiplier", "256/60000,1.1")?;
    Ok(Event::SampledGaussian {
        sampler: Sampler::Poisson {
            rate: Ratio::parse(rate)?,
        },
        multiplier_squared: multiplier_squared(sigma)?,
    })
}

fn training_change_one(text: &str) -> Result<Event, Mistake> {
    let (rate, sigma) = pair(text, "a sampling rate and a noise multiplier", "256/60000,1.1")?;
    Ok(Event::SampledGaussian {
        sampler: Sampler::PoissonChangeOne {
            rate: Ratio::parse(rate)?,
        },
        multiplier_squared: multiplier_squared(sigma)?,
    })
}

fn truncated_training(text: &str) -> Result<Event, Mistake> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let [rate, sigma, most, of] = parts[..] else {
        return fail(
            "a sampling rate, a noise multiplier, the largest batch and the number of units are needed",
            "write them as 256/60000,1.1,400,60000",
        );
    };
    Ok(Event::truncated_poisson(
        &Ratio::parse(rate)?,
        &multiplier_squared(sigma)?,
        count("the largest batch", most)?,
        count("the number of units", of)?,
    )?)
}

fn tree(text: &str) -> Result<Event, Mistake> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let ([sigma, leaves] | [sigma, leaves, _] | [sigma, leaves, _, _]) = parts[..] else {
        return fail(
            "a noise multiplier and a number of leaves are needed",
            "write them as 11,1024, or as 11,1024,4,200 where a unit takes part 4 times, 200 steps apart",
        );
    };
    let number = |place: usize, name: &str| parts.get(place).map_or(Ok(1), |text| count(name, text));
    Ok(Event::tree(
        &multiplier_squared(sigma)?,
        count("the number of leaves", leaves)?,
        number(2, "how often a unit takes part")?,
        number(3, "how far apart that is")?,
    )?)
}

fn pair<'text>(text: &'text str, what: &str, example: &str) -> Result<(&'text str, &'text str), Mistake> {
    match text.split_once(',') {
        Some((first, second)) => Ok((first.trim(), second.trim())),
        None => fail(
            format!("{what} are needed, with a comma between them"),
            format!("write them as {example}"),
        ),
    }
}
