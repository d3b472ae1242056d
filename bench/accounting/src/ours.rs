//! Our side: the library as a program calls it.

use crate::common::Failure;
use crate::{Case, Line, Plan, Row};
use accounting::{
    Curve, Delta, Epsilon, Error, Event, NoiseSupport, Neighbors, PrivacyUnit, Ratio, Sampler,
    smallest_training_multiplier,
};
use cpu_time::ProcessTime;
use exact::{Rational, parse_decimal};
use std::hint::black_box;
use std::time::Duration;

/// Whose rows are ours.
pub const TOOL: &str = "Deniable";

/// Calls after the first, unless they take longer than [`ENOUGH`]. The same in peers.py.
const CALLS: usize = 7;
const ENOUGH: Duration = Duration::from_secs(2);

/// The ends of an answer: the lower one, if there is one, and the upper one.
type Ends = (Option<f64>, f64);

/// Our answer to `case`. That we have none is an answer too; only a case we cannot read is a failure.
pub fn row(case: &Case) -> Result<Row, Failure> {
    let delta = Delta::parse(&case.delta)?;
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let poisson = |rate: &str| Ratio::parse(rate).map(|rate| Sampler::Poisson { rate });
    let epsilon_of = |event: &Event| -> Result<Ends, Error> {
        let between = Curve::of(black_box(event), &unit)?.epsilon(&delta)?;
        Ok((Some(between.lower.to_f64_down()), between.upper.to_f64_up()))
    };
    let (answer, seconds) = match &case.plan {
        Plan::Training {
            rate,
            multiplier,
            steps,
        } => {
            let step = Event::SampledGaussian {
                sampler: poisson(rate)?,
                multiplier_squared: squared(&parse_decimal(multiplier)?),
            };
            let event = Event::Repeated {
                event: Box::new(step),
                times: *steps,
            };
            timed(|| epsilon_of(&event))
        }
        Plan::Mixed { laplace, gaussian } => {
            let laplaces = line(laplace)?.into_iter().map(|ratio| Event::Laplace {
                ratio: Ratio::at_least(&ratio),
                on: NoiseSupport::Rounded,
            });
            let gaussians = line(gaussian)?.into_iter().map(|multiplier| Event::Gaussian {
                multiplier_squared: squared(&multiplier),
                on: NoiseSupport::Rounded,
            });
            let event = Event::Composed(laplaces.chain(gaussians).collect());
            timed(|| epsilon_of(&event))
        }
        Plan::Calibration { rate, steps, epsilon } => {
            let (sampler, epsilon) = (poisson(rate)?, Epsilon::parse(epsilon)?);
            timed(|| {
                let multiplier = smallest_training_multiplier(black_box(&sampler), *steps, &epsilon, &delta)?;
                Ok((None, exact::to_f64_up(multiplier.as_rational())))
            })
        }
    };
    let (ends, error) = match answer {
        Ok(ends) => (Some(ends), None),
        Err(error) => (None, Some(error.to_string())),
    };
    eprintln!("  {:<14} {TOOL:<26} {:>9.1} ms", case.name, seconds[0] * 1e3);
    Ok(Row {
        case: case.name.clone(),
        tool: TOOL.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        lower: ends.and_then(|(lower, _)| lower),
        estimate: None,
        upper: ends.map(|(_, upper)| upper),
        error,
        seconds,
    })
}

/// σ², exactly where it is short enough to be kept, else rounded to less noise.
fn squared(multiplier: &Rational) -> Ratio {
    Ratio::at_most(&(multiplier * multiplier))
}

/// The numbers of a line, as the fractions they are.
fn line(line: &Line) -> Result<Vec<Rational>, Failure> {
    let (from, to) = (parse_decimal(&line.from)?, parse_decimal(&line.to)?);
    let step = (to - &from) / Rational::from(line.count - 1);
    Ok((0..line.count)
        .map(|index| &from + &step * Rational::from(index))
        .collect())
}

/// The first call's answer, and the CPU seconds of every call. A call that fails is not repeated.
fn timed(call: impl Fn() -> Result<Ends, Error>) -> (Result<Ends, Error>, Vec<f64>) {
    let once = || {
        let start = ProcessTime::now();
        let answer = black_box(call());
        (answer, start.elapsed())
    };
    let (answer, first) = once();
    let mut seconds = vec![first.as_secs_f64()];
    let mut total = first;
    while answer.is_ok() && seconds.len() <= CALLS && total < ENOUGH {
        let (_, again) = once();
        seconds.push(again.as_secs_f64());
        total += again;
    }
    (answer, seconds)
}
