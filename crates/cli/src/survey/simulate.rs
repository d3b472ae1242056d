//! `survey simulate`: many synthetic surveys, and how far their estimates are from the truth.

use super::method::NoiseArguments;
use crate::delivery::Outputs;
use crate::terminal::{CliError, explained, fail};
use clap::Args;
use exact::{Rational, ratio};
use experiments::survey::Simulation;
use mechanism::RandomizedResponse;

const NOTES: &str = "\
All people here are synthetic. Each of the people answers yes or no by randomized response; the fraction of yes is \
estimated from the reports alone; and that is done many times. On average the estimate is the truth, and some \
estimates are below zero: noise is not cut off, because that would bias it. Without --gamma or --epsilon, γ is 0.25.

Example (a quarter more likely to be true than a coin, ε = ln 3):
  deniable survey simulate --people 100 --fraction 0.2 --gamma 0.25 --runs 10000 --plot histogram.svg";

#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(super) struct Arguments {
    /// How many people each survey asks.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    people: u64,
    /// Which fraction of them would truly say yes.
    #[arg(long, default_value = "0.2", allow_negative_numbers = true)]
    fraction: String,
    #[command(flatten)]
    noise: NoiseArguments,
    /// How many surveys.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    runs: u64,
    #[command(flatten)]
    outputs: Outputs,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    let simulation = simulation(arguments)?;
    let outcome = {
        let progress = arguments.outputs.progress("asking", simulation.answers());
        simulation
            .run(&|asked| progress.advance(asked))
            .map_err(explained)?
    };
    arguments.outputs.give(&outcome.findings())
}

fn simulation(arguments: &Arguments) -> Result<Simulation, CliError> {
    let response = match (arguments.noise.binary()?, arguments.noise.epsilon()?) {
        (Some(response), _) => response,
        (None, Some(epsilon)) => RandomizedResponse::new(epsilon, 2).map_err(explained)?,
        (None, None) => RandomizedResponse::binary(&ratio(1, 4)).map_err(explained)?,
    };
    let fraction = exact::parse_decimal(&arguments.fraction)
        .ok()
        .filter(|fraction| (Rational::ZERO..=Rational::ONE).contains(fraction));
    let Some(fraction) = fraction else {
        return fail(
            "--fraction must be a number between 0 and 1",
            "write it as 0.2 or 1/5",
        );
    };
    let (people, runs) = (arguments.people, arguments.runs);
    // The nearest whole number of people; at most all of them, since the fraction is at most 1.
    let yes = u64::try_from((fraction * Rational::from(people) + ratio(1, 2)).floor()).unwrap_or(people);
    Ok(Simulation {
        response,
        people,
        yes,
        runs,
    })
}
