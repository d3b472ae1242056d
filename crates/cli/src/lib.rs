//! The command `deniable`: parse arguments, call, print. No privacy logic lives here.
//!
//! It is a library because there are two ways to install it: as a binary, and as a wheel of Python, whose
//! extension module calls [`main`] too.

mod account;
mod attack;
mod audit;
mod budget;
mod card;
mod check;
mod compute;
mod data;
mod dataset;
mod delivery;
mod explain;
mod failure;
mod init;
mod limits;
mod manual;
mod outputs;
mod query;
mod receipt;
mod regress;
mod reproduce;
mod serve;
mod shell;
mod survey;
mod synthesize;
mod tables;
mod terminal;
mod train;
mod user;
mod worker;

use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;

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
  deniable shell                        questions at a prompt: each shows its price before it spends
  deniable explain --error 2% \"SELECT COUNT(*) FROM visits\"
                                        what would it cost? spends nothing
  deniable tables explain               many tables at once: the error of each, before anything is spent
  deniable regress 'income ~ age + education'
                                        a model, with errors that count the noise; tests as well
  deniable synthesize --table people --epsilon 1 --output rows.csv
                                        rows that look like a private table and are safe to hand out
  deniable sql                          the SQL that is understood, with an example of everything
  deniable budget                       who spent what, and what is left
  deniable card --output card.html      the privacy card: whose privacy, what was spent, what nobody checked
  deniable receipt verify answer.json   was this answer paid for, by which entry of the ledger?
  deniable data release                 the data is new: declare another version of it
  deniable init people.csv              describe your own data: a draft of deniable.toml
  deniable check                        is the data what the catalog says? not private: for the curator
  deniable limits visits --epsilon 0.1  how much of one person should count, found privately
  deniable serve --demo                 a server for many analysts: HTTP, and psql or anything that speaks to PostgreSQL
  deniable user add ann --share 1/4     who may sign in to it, and what they may spend
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
Exit codes: 0 done, 1 something went wrong inside, 2 the input cannot be used, 3 the budget or its ledger refuses,
4 a check ran and failed, 130 interrupted. With --json an error is one object on standard output:
{\"error\": {\"kind\": …, \"exit_code\": …, \"message\": …, \"hint\": …}}.";

#[derive(Subcommand)]
enum Command {
    Account(Box<account::Arguments>),
    Attack(attack::Arguments),
    Audit(audit::Arguments),
    Budget(budget::Arguments),
    Card(card::Arguments),
    Data(data::Arguments),
    Check(check::Arguments),
    Completions(manual::CompletionsArguments),
    Explain(explain::Arguments),
    Init(init::Arguments),
    Man(manual::ManArguments),
    Limits(limits::Arguments),
    Query(query::Arguments),
    Receipt(receipt::Arguments),
    Regress(regress::Arguments),
    /// Run the claims of the theory, each expected against measured
    Reproduce(reproduce::Arguments),
    Serve(serve::Arguments),
    Shell(shell::Arguments),
    /// Print the reference of the SQL that is understood, as Markdown
    Sql,
    /// Collect randomized answers that anyone can deny, and estimate how common each answer is
    Survey(survey::SurveyArguments),
    Synthesize(Box<synthesize::Arguments>),
    Tables(tables::Arguments),
    Train(train::Arguments),
    User(user::Arguments),
    Worker(worker::Arguments),
}

/// Runs the command that these words ask for, of which the first is the program's name, and returns the exit
/// code.
///
/// The process is the command's: it writes to its output, listens to its signals, and says how panics are
/// reported.
pub fn main(words: impl IntoIterator<Item = OsString>) -> u8 {
    let code = run_words(words.into_iter().collect());
    // Where another program's runtime ends the process, nobody else writes what is left.
    let _ = std::io::stdout().flush();
    code
}

fn run_words(words: Vec<OsString>) -> u8 {
    failure::tell_places_only();
    let as_json = terminal::asks_for_json(
        &words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect::<Vec<_>>(),
    );
    let arguments = match Arguments::try_parse_from(words.into_iter().map(not_an_option)) {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error, as_json),
    };
    // The place of the panic was reported on standard error.
    let outcome = std::panic::catch_unwind(|| run(arguments.command)).unwrap_or_else(|_| {
        Err(terminal::CliError::bad_input("this is a defect of Deniable")
            .with_hint("please report it with the place above")
            .with_code(terminal::exit_code::INTERNAL))
    });
    terminal::exit(outcome, as_json)
}

fn run(command: Command) -> Result<(), terminal::CliError> {
    match command {
        Command::Account(arguments) => account::run(&arguments),
        Command::Attack(arguments) => attack::run(&arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Budget(arguments) => budget::run(&arguments),
        Command::Card(arguments) => card::run(&arguments),
        Command::Data(arguments) => data::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Completions(arguments) => manual::completions(&arguments, Arguments::command()),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Man(arguments) => manual::man(&arguments, Arguments::command()),
        Command::Limits(arguments) => limits::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Receipt(arguments) => receipt::run(&arguments),
        Command::Regress(arguments) => regress::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Shell(arguments) => shell::run(&arguments),
        Command::Sql => terminal::print(&sql::reference()),
        Command::Survey(arguments) => survey::run(&arguments),
        Command::Synthesize(arguments) => synthesize::run(&arguments),
        Command::Tables(arguments) => tables::run(&arguments),
        Command::Train(arguments) => train::run(&arguments),
        Command::User(arguments) => user::run(&arguments),
        Command::Worker(arguments) => worker::run(&arguments),
    }
}

/// A query may begin with a comment, and a comment with two dashes. No option has a blank after them, so such
/// an argument is distinguished by a line break before it.
fn not_an_option(argument: OsString) -> OsString {
    let is_comment = argument.to_str().is_some_and(|text| {
        text.strip_prefix("--")
            .is_some_and(|rest| rest.starts_with(char::is_whitespace))
    });
    match is_comment {
        true => {
            let mut query = OsString::from("\n");
            query.push(argument);
            query
        }
        false => argument,
    }
}

/// Help and version go to standard output and are a success. What cannot be understood is bad input like any
/// other: an error, a hint, exit code 2.
fn refused(error: &clap::Error, as_json: bool) -> u8 {
    const HINT: &str = "add --help to the command to see what it takes, with examples";
    if error.use_stderr() && as_json {
        let said = error.to_string();
        let what = said.lines().next().unwrap_or_default();
        let what = what.strip_prefix("error: ").unwrap_or(what);
        let reported = terminal::CliError::bad_input(what).with_hint(HINT);
        return terminal::exit(Err(reported), true);
    }
    // A closed pipe is all that can go wrong here, and then nobody reads.
    let _ = error.print();
    if error.use_stderr() {
        eprintln!("hint: {HINT}");
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}
