//! `deniable attack average`: one question asked many times by many accounts, and two questions that differ
//! in one person.

use crate::delivery::{Outputs, labelled};
use crate::terminal::{CliError, Interrupt, explained};
use accounting::Epsilon;
use experiments::averaging::{self, Settings, Study};

/// Ask one question many times, by many accounts, in many forms; and two that differ in one person
///
/// Noise that is drawn anew averages out: without a ledger, the mean of k answers is off by 1/√k of what one is off by. Deniable gives the same
/// answer to the same question, and charges every other form of it to one budget that all accounts share: the mean stays as far off as the
/// whole budget demands, 1/sinh ε at least. Differencing asks for a count with and without one person: exact counts give her secret away, and
/// under ε the guess is right with probability e^ε/(1 + e^ε) at most.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// How often the question is asked where nobody keeps a ledger
    #[arg(long, value_name = "K", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    times: u32,
    /// How many accounts take turns
    #[arg(long, value_name = "G", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    accounts: u32,
    /// The ε of one question
    #[arg(long, value_name = "ε", default_value = "0.25", allow_negative_numbers = true)]
    epsilon: String,
    /// The ε that Deniable may spend on all of them; also that of the two questions of differencing
    #[arg(long, value_name = "ε", default_value = "1", allow_negative_numbers = true)]
    budget: String,
    /// How many people are in the table
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    people: u32,
    /// How often everything is repeated from the start, with a fresh ledger: errors are means over these
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// How many people are singled out by differencing
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    targets: u32,
    /// Where the synthetic secrets and the forgetful mechanism's noise start; Deniable's noise has no seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

const EXAMPLES: &str = "\
Examples:
  How far does asking again get, without and with a ledger?
    deniable attack average --plot error.svg
  Ten colluding accounts with small questions
    deniable attack average --accounts 10 --epsilon 0.05 --budget 1
  For a program
    deniable attack average --runs 5 --targets 10 --json

The rewritten forms are the conditions in another order, AND TRUE, a dummy condition, an equivalent CASE and a double negation. Of --json,
`error` is how far the mean of the answers is from the truth in the end, on average over the runs, and `at_least` what the ε of all that was
answered demands of the count for which it is worst. Exit code 4 if differencing is right more often than ε allows, beyond what chance
explains (1e-9), or if the ledger does not stop the questions.";

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    let study = study(arguments)?;
    let results = {
        let progress = arguments.outputs.progress("asking", study.steps());
        study.run(&labelled(&progress, &Interrupt::listen()))?
    };
    if results.stopped {
        eprintln!("stopped: this is what was found so far");
    }
    arguments.outputs.give(&averaging::findings(&study, &results))?;
    if results.singled.broken(study.at_most()) {
        return Err(
            CliError::check_failed("differencing was right more often than ε allows")
                .with_hint("chance explains it with probability below 1e-9: the promise is not kept"),
        );
    }
    if !study.held(&results) {
        return Err(CliError::check_failed("the ledger did not stop the questions")
            .with_hint("every form of a question must be charged, whoever asks"));
    }
    Ok(())
}

fn study(arguments: &Arguments) -> Result<Study, CliError> {
    Ok(Study::new(Settings {
        times: arguments.times,
        accounts: arguments.accounts,
        epsilon: Epsilon::parse(&arguments.epsilon).map_err(explained)?,
        budget: Epsilon::parse(&arguments.budget).map_err(explained)?,
        people: arguments.people,
        runs: arguments.runs,
        targets: arguments.targets,
        seed: arguments.seed,
    })?)
}

#[cfg(test)]
mod tests;
