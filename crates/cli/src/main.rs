//! The `deniable` binary: parse arguments, call, print. No privacy logic lives here.

mod account;
mod attack;
mod audit;
mod budget;
mod compute;
mod dataset;
mod described;
mod explain;
mod html;
mod init;
mod limits;
mod markup;
mod outputs;
mod plot;
mod query;
mod reproduce;
mod survey;
mod terminal;
mod train;

use clap::{Parser, Subcommand};

/// Differential privacy you can check: anyone in the data can plausibly deny being in it.
#[derive(Parser)]
#[command(name = "deniable", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  deniable query \"SELECT region, COUNT(*) FROM people GROUP BY region\"
                                        a private answer with error bars, of sample data if there is no catalog
  deniable explain --error 2% \"SELECT COUNT(*) FROM visits\"
                                        what would it cost? spends nothing
  deniable budget                       who spent what, and what is left
  deniable init people.csv              describe your own data: a draft of deniable.toml
  deniable limits visits --epsilon 0.1  how much of one person should count, found privately
  deniable account --help               what do all these releases cost together?
  deniable attack reconstruct table     seven people from a census table: what a release gives away
  deniable audit exact --help           is this privacy claim true? by proof
  deniable audit run --help             … or by experiment on any program
  deniable audit one-run                … or on a model that was trained once
  deniable reproduce                    run every claim of the theory, expected against measured
  deniable reproduce V3 --json          one claim, for a program
  deniable train lm --help              a language model of private text, with a stated ε
  deniable survey simulate              what randomized answers tell, and what they hide
  deniable survey randomize --help      collect answers that anyone can deny

Results go to standard output, everything about the run to standard error; --json prints results for programs.
Exit codes: 0 done, 1 a check ran and failed, 2 the input cannot be used.";

#[derive(Subcommand)]
enum Command {
    Account(Box<account::Arguments>),
    Attack(attack::Arguments),
    Audit(audit::Arguments),
    Budget(budget::Arguments),
    Explain(explain::Arguments),
    Init(init::Arguments),
    Limits(limits::Arguments),
    Query(query::Arguments),
    /// Run the claims of the theory, each expected against measured
    Reproduce(reproduce::Arguments),
    /// Collect randomized answers that anyone can deny, and estimate how common each answer is
    Survey(survey::SurveyArguments),
    Train(train::Arguments),
}

fn main() -> std::process::ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    terminal::exit(match arguments.command {
        Command::Account(arguments) => account::run(&arguments),
        Command::Attack(arguments) => attack::run(&arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Budget(arguments) => budget::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Limits(arguments) => limits::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Survey(arguments) => survey::run(&arguments),
        Command::Train(arguments) => train::run(&arguments),
    })
}

/// Help and version go to standard output and are a success. What cannot be understood is bad input like any other: an error, a hint,
/// exit code 2.
fn refused(error: &clap::Error) -> std::process::ExitCode {
    // A closed pipe is all that can go wrong here, and then nobody reads.
    let _ = error.print();
    if error.use_stderr() {
        eprintln!("hint: add --help to the command to see what it takes, with examples");
    }
    std::process::ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
