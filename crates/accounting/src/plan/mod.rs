//! Plans: which releases run and how often, as people write them on a command line or in a document.
//!
//! ```text
//! `laplace`, "0.1x1000" ──► Part ─┐
//! plan.toml, plan.json ──► Parts ─┴─► ReleasePlan ──► Event ──► every accountant
//! ```
//!
//! ```
//! use accounting::plan::{Format, Mechanism, ReleasePlan, parse};
//!
//! let mut parts = parse("[[event]]\nlaplace = \"0.1\"\ntimes = 1000\n", Format::Toml)?;
//! parts.push(Mechanism::Gaussian.release("5")?);
//! let plan = ReleasePlan::new(parts)?;
//! assert_eq!(plan.releases(), 1001);
//! assert_eq!(plan.words(), "1000 × Laplace noise at ε = 0.1; 1 × Gaussian noise at σ/Δ₂ = 5");
//!
//! let mistake = parse("[[event]]\nlaplase = \"0.1\"\n", Format::Toml).unwrap_err();
//! assert!(mistake.hint().contains("did you mean `laplace`?"));
//! # Ok::<(), accounting::plan::Mistake>(())
//! ```

mod file;
mod release;
#[cfg(test)]
mod tests;
mod words;

pub use file::{FORMAT, Format, parse, read};
pub use files::document::Mistake;
pub use release::{Mechanism, count, multiplier_squared};

use crate::{Delta, Error, Event, Sampler};
use exact::{Rational, parse_decimal};
use release::{MOST_TIMES, sigma_range};
use std::collections::BTreeMap;

impl From<Error> for Mistake {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

/// A mistake, and what to do about it.
fn fail<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Mistake> {
    Err(Mistake::new(what, hint))
}

/// More different events than this take minutes.
const MOST_EVENTS: usize = 1000;
/// A larger ε or ρ of one release is a mistake in the units.
const LARGEST: u32 = 10_000;
/// This many are named.
const MOST_NAMED: usize = 6;

/// One kind of release, and how often it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What each of them does to privacy.
    pub event: Event,
    /// How often it happens.
    pub times: u64,
}

impl Part {
    /// A release that runs so often, unless its numbers are out of any reasonable range.
    pub fn new(event: Event, times: u64) -> Result<Self, Mistake> {
        check(&event)?;
        let mut part = Self { event, times: 1 };
        part.repeat(times)?;
        Ok(part)
    }

    /// The same, this many times over.
    pub fn repeat(&mut self, times: u64) -> Result<(), Mistake> {
        match self.times.checked_mul(times) {
            Some(all) if all <= MOST_TIMES => self.times = all,
            _ => return too_many(),
        }
        Ok(())
    }
}

fn too_many<T>() -> Result<T, Mistake> {
    fail(
        format!("more than {MOST_TIMES} releases are described"),
        "account for parts of them, each with its share of δ, and add both the ε and the δ",
    )
}

/// A sequence of releases that is fixed before it runs. Equal ones are named and counted together.
#[derive(Clone, Debug)]
pub struct ReleasePlan {
    parts: Vec<Part>,
}

impl ReleasePlan {
    /// The plan of these releases, unless there are too many of them.
    pub fn new(parts: Vec<Part>) -> Result<Self, Mistake> {
        let mut places = BTreeMap::new();
        let mut merged: Vec<Part> = Vec::new();
        let mut total = 0u64;
        for part in parts {
            total = match total.checked_add(part.times) {
                Some(total) if total <= MOST_TIMES => total,
                _ => return too_many(),
            };
            let name = serde_json::to_string(&part.event).unwrap_or_default();
            match places.get(&name) {
                Some(place) => {
                    let known: &mut Part = &mut merged[*place];
                    known.times += part.times;
                }
                None => {
                    places.insert(name, merged.len());
                    merged.push(part);
                }
            }
            if merged.len() > MOST_EVENTS {
                return fail(
                    format!("more than {MOST_EVENTS} different releases are described"),
                    "round their parameters towards less privacy, so that more of them are equal",
                );
            }
        }
        Ok(Self { parts: merged })
    }

    /// All of it as one event.
    pub fn event(&self) -> Event {
        composed(self.parts.iter().cloned())
    }

    /// How many releases there are.
    pub fn releases(&self) -> u64 {
        self.parts.iter().map(|part| part.times).sum()
    }

    /// The first `count` releases, in the order in which they are described.
    pub fn first(&self, count: u64) -> Event {
        let mut left = count;
        composed(self.parts.iter().filter_map(|part| {
            let times = part.times.min(left);
            left -= times;
            (times > 0).then(|| Part {
                event: part.event.clone(),
                times,
            })
        }))
    }

    /// All of it, this many times.
    pub fn repeated(&self, times: u64) -> Event {
        Event::Repeated {
            event: Box::new(self.event()),
            times,
        }
    }

    /// `1000 × Laplace noise at ε = 0.1`, and so on.
    pub fn words(&self) -> String {
        let mut words: Vec<String> = self
            .parts
            .iter()
            .take(MOST_NAMED)
            .map(|part| format!("{} × {}", part.times, words::event(&part.event)))
            .collect();
        if self.parts.len() > MOST_NAMED {
            let rest: u64 = self.parts[MOST_NAMED..].iter().map(|part| part.times).sum();
            words.push(format!("{rest} × other releases"));
        }
        words.join("; ")
    }
}

fn composed(parts: impl Iterator<Item = Part>) -> Event {
    let mut events: Vec<Event> = parts
        .map(|part| match part.times {
            1 => part.event,
            times => Event::Repeated {
                event: Box::new(part.event),
                times,
            },
        })
        .collect();
    match events.len() {
        1 => events.remove(0),
        _ => Event::Composed(events),
    }
}

/// The simple events in `event`, each with how often it runs. Iterative, so that depth costs no stack.
fn flattened(event: Event) -> Result<Vec<Part>, Mistake> {
    let mut parts = Vec::new();
    let mut stack = vec![(event, 1u64)];
    while let Some((event, times)) = stack.pop() {
        match event {
            Event::Composed(events) => stack.extend(events.into_iter().rev().map(|event| (event, times))),
            Event::Repeated { times: 0, .. } => {
                return fail(
                    "an event that runs 0 times is none",
                    "leave it out, or write \"times\": 1",
                );
            }
            Event::Repeated { event, times: inner } => match times.checked_mul(inner) {
                Some(times) if times <= MOST_TIMES => stack.push((*event, times)),
                _ => return too_many(),
            },
            simple => parts.push(Part::new(simple, times)?),
        }
    }
    Ok(parts)
}

/// Refuses numbers that no release has, before any accountant works on them.
fn check(event: &Event) -> Result<(), Mistake> {
    let squared = |multiplier_squared: &Rational| {
        let (least, most) = sigma_range();
        if *multiplier_squared < &least * &least || *multiplier_squared > &most * &most {
            return fail(
                "a noise multiplier must be from 0.001 to 1e9",
                "multiplier_squared is its square: the variance of the noise over the squared sensitivity",
            );
        }
        Ok(())
    };
    match event {
        Event::Laplace { ratio, .. } => loss("ε", ratio.as_rational()),
        Event::Gaussian {
            multiplier_squared, ..
        } => squared(multiplier_squared.as_rational()),
        Event::SampledGaussian {
            sampler,
            multiplier_squared,
        } => {
            check_sampler(sampler)?;
            squared(multiplier_squared.as_rational())
        }
        Event::RandomizedResponse { answers: 0 | 1, .. } => fail(
            "randomized response needs two answers or more",
            "write 1.1/4 for ε = 1.1 and four answers",
        ),
        Event::RandomizedResponse { epsilon, .. }
        | Event::Exponential { epsilon }
        | Event::Pure { epsilon } => loss("ε", epsilon.as_rational()),
        Event::Approximate { epsilon, delta } => {
            loss("ε", epsilon.as_rational())?;
            check_delta("δ", delta)
        }
        Event::Concentrated { rho } => loss("ρ", rho.as_rational()),
        Event::Selected { event, runs } => {
            runs.check()?;
            flattened((**event).clone()).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// A sampler whose numbers say how likely it is to take a unit.
pub fn check_sampler(sampler: &Sampler) -> Result<(), Mistake> {
    let rate = sampler.rate()?;
    if rate.is_zero() {
        return fail(
            "nothing is ever sampled, so nothing is released",
            "a sampling rate is the batch over the number of examples, such as 256/60000",
        );
    }
    if rate < decimal("1e-12") {
        return fail(
            "a sampling rate below 1e-12 is out of range",
            "round it up to 1e-12",
        );
    }
    Ok(())
}

fn loss(symbol: &str, value: &Rational) -> Result<(), Mistake> {
    if *value > Rational::from(LARGEST) {
        return fail(
            format!("an {symbol} above {LARGEST} in one release is out of range"),
            "an ε of 20 already protects nobody; 0.1 or 1 is usual",
        );
    }
    if !value.is_zero() && *value < decimal("1e-12") {
        return fail(
            format!("an {symbol} above 0 and below 1e-12 in one release is out of range"),
            "round it up to 1e-12, or write 0",
        );
    }
    Ok(())
}

/// Refuses a δ that is so small that it only costs time.
pub fn check_delta(name: &str, delta: &Delta) -> Result<(), Mistake> {
    if *delta != Delta::ZERO && *delta.as_rational() < decimal("1e-100") {
        return fail(
            format!("{name} is above 0 and below 1e-100"),
            "so small a probability is 0 in any world: write 0",
        );
    }
    Ok(())
}

fn decimal(text: &str) -> Rational {
    parse_decimal(text).unwrap_or(Rational::ZERO)
}
