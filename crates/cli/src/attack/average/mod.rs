//! `deniable attack average`: one question asked many times by many accounts, and two questions that differ in one person.

mod deniable;
mod report;

use crate::account::figure;
use crate::terminal::{CliError, Interrupt, Progress, explained, fail};
use accounting::Epsilon;
use attack::averaging::{Course, Forgetful, Question, campaign, mean_errors};
use experiments::people::age;
use noise::Seeded;
use std::path::PathBuf;

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
    /// Draw the error of the mean against the number of questions
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Write a self-contained report with the figure
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
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

/// What is asked, checked.
struct Plan {
    secrets: Vec<bool>,
    epsilon: Epsilon,
    budget: Epsilon,
    question: Question,
    /// The exact answer.
    truth: u64,
}

/// How the question fared with somebody.
struct Fared {
    who: &'static str,
    courses: Vec<Course>,
    /// ε of all that was answered, where it is bounded.
    spent: Option<Epsilon>,
}

/// How differencing fared.
struct Singled {
    targets: u32,
    /// How often exact counts reported the bit.
    exactly: u32,
    /// How often Deniable's did.
    privately: u32,
    /// How often a question was refused, which counts as a coin.
    refused: u32,
}

struct Results {
    fared: Vec<Fared>,
    singled: Singled,
    /// By Ctrl-C, after fewer runs or targets than were asked for.
    stopped: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    figure::check(arguments.plot.as_deref())?;
    let plan = Plan::new(arguments)?;
    let results = results(&plan, arguments)?;
    if results.stopped {
        eprintln!("stopped: this is what was found so far");
    }
    report::deliver(&plan, &results, arguments)
}

fn results(plan: &Plan, arguments: &Arguments) -> Result<Results, CliError> {
    let steps = u64::from(arguments.runs) * 3 + u64::from(arguments.targets);
    let progress = Progress::new("asking", steps, arguments.json || arguments.quiet);
    progress.label("asking without a ledger");
    let forgetful = without_a_ledger(plan, arguments, &progress)?;
    let interrupt = Interrupt::listen();
    progress.label("asking Deniable");
    let (equal, rewritten) = deniable::asked(plan, arguments, &progress, &interrupt)?;
    progress.label("differencing");
    let singled = deniable::singled_out(plan, arguments, &progress, &interrupt)?;
    Ok(Results {
        fared: vec![forgetful, equal, rewritten],
        singled,
        stopped: interrupt.was_pressed(),
    })
}

fn without_a_ledger(plan: &Plan, arguments: &Arguments, progress: &Progress) -> Result<Fared, CliError> {
    let mut courses = Vec::new();
    for run in 0..arguments.runs {
        let seeded = Seeded::new(
            arguments
                .seed
                .wrapping_mul(1_000_003)
                .wrapping_add(u64::from(run)),
        );
        let mut forgetful = Forgetful::new(plan.truth, &plan.epsilon, seeded).map_err(explained)?;
        let questions = (0..arguments.times).map(|_| plan.question.plainly());
        let Ok(course) = campaign(&mut forgetful, arguments.accounts as usize, questions, || ());
        courses.push(course);
        progress.advance(1);
    }
    Ok(Fared {
        who: "without a ledger, the same question",
        courses,
        spent: None,
    })
}

/// The condition on ages that the question has.
const OLD: usize = 40;

impl Plan {
    fn new(arguments: &Arguments) -> Result<Self, CliError> {
        let parse = |flag: &str, text: &str| -> Result<Epsilon, CliError> {
            let epsilon = Epsilon::parse(text).map_err(explained)?;
            if epsilon == Epsilon::ZERO {
                return fail(
                    format!("{flag} is zero, so nothing may be learned"),
                    "try 0.25 for a question and 1 for the budget",
                );
            }
            Ok(epsilon)
        };
        let (epsilon, budget) = (
            parse("--epsilon", &arguments.epsilon)?,
            parse("--budget", &arguments.budget)?,
        );
        if epsilon > budget {
            return fail(
                "one question costs more than the whole budget",
                "lower --epsilon or raise --budget",
            );
        }
        if budget.as_rational() > &(epsilon.as_rational() * exact::ratio(MOST_QUESTIONS, 1)) {
            return fail(
                format!("the budget pays for more than {MOST_QUESTIONS} questions"),
                "raise --epsilon or lower --budget",
            );
        }
        let mut seeded = Seeded::new(arguments.seed);
        let secrets = attack::linear::secrets(arguments.people as usize, &mut seeded);
        let truth = secrets
            .iter()
            .enumerate()
            .filter(|(id, secret)| **secret && age(*id) >= OLD)
            .count() as u64;
        Ok(Self {
            secrets,
            epsilon,
            budget,
            question: Question {
                table: "people".to_owned(),
                conditions: vec![format!("age >= {OLD}"), "secret = 1".to_owned()],
                never_negative: "age".to_owned(),
            },
            truth,
        })
    }
}

/// Every one is asked of a real engine, in every run.
const MOST_QUESTIONS: i64 = 1000;

impl Fared {
    /// How far the mean was from the truth after each question, on average over the runs.
    fn errors(&self, truth: u64) -> Vec<f64> {
        mean_errors(&self.courses, truth as f64)
    }

    /// The same in the end.
    fn error(&self, truth: u64) -> f64 {
        self.errors(truth).last().copied().unwrap_or(f64::NAN)
    }

    /// How far chance moves that, about: one standard error of the mean over the runs.
    fn standard_error(&self, truth: u64) -> f64 {
        let ends = self
            .courses
            .iter()
            .filter_map(|course| course.averages.last().copied().flatten());
        let errors: Vec<f64> = ends.map(|average| (average - truth as f64).abs()).collect();
        let runs = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / runs;
        let squares: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
        (squares / (runs - 1.0) / runs).sqrt()
    }

    /// How far it must be off at least, for the count where it is worst.
    fn at_least(&self) -> Option<f64> {
        let spent = self.spent.as_ref()?;
        Some(attack::bound::count_error(spent.to_f64_up()))
    }

    fn total(&self, count: impl Fn(&Course) -> usize) -> usize {
        self.courses.iter().map(count).sum()
    }
}

impl Singled {
    /// Whether it was right so often that chance explains it with probability below 1e-9.
    fn broken(&self, at_most: f64) -> bool {
        audit::binomial::at_least(u64::from(self.privately), u64::from(self.targets), at_most) < 1e-9
    }
}

#[cfg(test)]
mod tests;
