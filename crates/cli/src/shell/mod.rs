//! `deniable shell`: queries at a prompt, each with its price before it is asked.
//!
//! ```text
//! input ──► line ──► a question: price ──► y/n ──► query::answered, as `deniable query` does
//! (terminal or pipe)  └─► a command of the shell
//! ```

mod completion;
mod editor;
mod history;
mod input;
mod line;
mod price;

use crate::budget;
use crate::dataset::{AnalystArguments, CatalogArguments, unanswered};
use crate::query::{self, Watched};
use crate::terminal::{self, CliError, exit_code, explained};
use accounting::Epsilon;
use clap::Args;
use completion::Words;
use history::History;
use input::{Input, Next};
use line::{COMMANDS, Line};
use sql::blocking::Dataset;
use sql::{Explanation, Forecast, QueryRequest, is_explain};

const EXAMPLES: &str = "\
Examples:
  Questions at a prompt, of the built-in sample when there is no catalog here
    deniable shell
  A few questions of a file, without asking back
    deniable shell --yes --epsilon 0.1 < questions.sql

A question ends with a semicolon, or with an empty line. Its price, its expected error and what is left are shown first; nothing is spent
until you answer y. A question that was answered before is free, and is answered at once. \\help lists the commands of the shell:
\\go, \\explain, \\tables, \\describe TABLE, \\epsilon 0.1, \\budget, \\quit.

Tab completes tables, columns, functions and keywords. Ctrl-C drops the line, Ctrl-D leaves. Ctrl-C while a question is answered leaves too, as
it ends `deniable query`: what was charged stays charged, and asking again finishes the question under the same charge.

What you typed is kept for the next time, in $XDG_STATE_HOME/deniable/shell_history (~/.local/state), which only you can read: questions,
never answers. --no-history keeps nothing and reads nothing.

From a pipe it does not prompt, stops at the first error, and spends only with --yes: without it, prices are shown and nothing is asked.
Answers go to standard output, everything else to standard error.";

/// Ask questions at a prompt, with history and completion; each shows its price before it spends
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    catalog: CatalogArguments,
    #[command(flatten)]
    analyst: AnalystArguments,
    /// What each question may cost, where it does not say itself [default: the catalog's]
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<String>,
    /// How many rows a group is taken to have, for the expected error
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    group_size: u64,
    /// Spend nothing on an estimate of what the limits cut, which otherwise takes a twentieth of ε where something can be cut
    #[arg(long)]
    no_cut_estimate: bool,
    /// Do not ask back before a question spends
    #[arg(long, short)]
    yes: bool,
    /// Keep nothing of what is typed, and read nothing that was kept
    #[arg(long)]
    no_history: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let epsilon = arguments.epsilon.as_deref().map(Epsilon::parse).transpose();
    let epsilon = epsilon.map_err(explained)?;
    let dataset = arguments.catalog.open_to_ask(false)?;
    let history = match arguments.no_history {
        true => History::forgotten(),
        false => History::kept(),
    };
    let mut input = Input::open(Words::of(dataset.catalog()), history);
    if input.is_person() {
        eprintln!(
            "A question ends with a semicolon; \\help lists what else there is. Nothing is spent before you agree."
        );
    }
    let mut shell = Shell {
        analyst: arguments.analyst.name(),
        group_size: arguments.group_size,
        cut_estimate: !arguments.no_cut_estimate,
        yes: arguments.yes,
        watched: query::listen(false),
        last: None,
        epsilon,
        dataset,
    };
    loop {
        let line = match input.next(&shell.prompt())? {
            Next::Line(text) => Line::of(&text),
            Next::Dropped => continue,
            Next::End => return Ok(()),
        };
        if line == Line::Quit {
            return Ok(());
        }
        if let Err(error) = shell.take(line, &mut input) {
            if !input.is_person() {
                return Err(error);
            }
            terminal::tell(&error, false);
        }
    }
}

struct Shell {
    dataset: Dataset,
    analyst: String,
    epsilon: Option<Epsilon>,
    group_size: u64,
    cut_estimate: bool,
    yes: bool,
    watched: Watched,
    /// The question before.
    last: Option<String>,
}

/// What is known of a question before it is asked.
struct Priced {
    ask: QueryRequest,
    explanation: Explanation,
    /// What the budget allows, unless the ledger cannot be read.
    forecast: Option<Forecast>,
}

impl Shell {
    fn prompt(&self) -> String {
        let epsilon = self.epsilon.as_ref();
        let epsilon = epsilon.map_or(String::new(), |epsilon| format!(" ε={epsilon}"));
        format!("{}{epsilon}> ", self.dataset.catalog().name)
    }

    fn take(&mut self, line: Line, input: &mut Input) -> Result<(), CliError> {
        match line {
            Line::Nothing | Line::Quit => Ok(()),
            Line::Question(sql) => self.question(sql, input, false),
            Line::Go(sql) => {
                let sql = self.this_or_last(sql)?;
                self.question(sql, input, true)
            }
            Line::Explain(sql) => {
                let sql = self.this_or_last(sql)?;
                self.explain(sql)
            }
            Line::Tables => self.described("SHOW TABLES").map(|_| ()),
            Line::Describe(table) => self.described(&format!("DESCRIBE {table}")).map(|_| ()),
            Line::Epsilon(epsilon) => self.set_epsilon(epsilon.as_deref()),
            Line::Budget => terminal::print(&budget::text_of(&self.dataset, &self.analyst)?),
            Line::Help => terminal::print(&help()),
            Line::Unknown(typed) => Err(
                CliError::bad_input(format!("`{typed}` is no command of the shell"))
                    .with_hint("\\help lists them; a question in SQL begins without a backslash"),
            ),
        }
    }

    /// This question, or the one before.
    fn this_or_last(&self, sql: Option<String>) -> Result<String, CliError> {
        sql.or_else(|| self.last.clone()).ok_or_else(|| {
            CliError::bad_input("no question was asked before").with_hint("write it behind the command")
        })
    }

    fn set_epsilon(&mut self, epsilon: Option<&str>) -> Result<(), CliError> {
        match epsilon {
            None => {}
            Some("default") => self.epsilon = None,
            Some(text) => self.epsilon = Some(Epsilon::parse(text).map_err(explained)?),
        }
        let catalogs = &self.dataset.catalog().budget.query_epsilon;
        eprintln!(
            "{}",
            match (&self.epsilon, catalogs) {
                (Some(epsilon), _) => format!("questions that do not say it cost ε = {epsilon}"),
                (None, Some(epsilon)) => {
                    format!("questions that do not say it cost ε = {epsilon}, as the catalog says")
                }
                (None, None) => "questions have to say what they may cost: the catalog does not".to_owned(),
            }
        );
        Ok(())
    }

    /// Shows what the catalog says, if this is a question about it.
    fn described(&self, sql: &str) -> Result<bool, CliError> {
        let answer = self.dataset.describe(sql).map_err(explained)?;
        match &answer {
            Some(answer) => terminal::print(&query::table(answer)).map(|()| true),
            None => Ok(false),
        }
    }

    /// Shows what EXPLAIN asks for.
    fn planned(&self, sql: String) -> Result<(), CliError> {
        let plan = self.dataset.query_plan(&self.request(sql)).map_err(unanswered)?;
        plan.map_or(Ok(()), |plan| terminal::print(&query::plan_lines(&plan)))
    }

    fn request(&self, sql: String) -> QueryRequest {
        QueryRequest {
            epsilon: self.epsilon.clone(),
            cut_estimate: self.cut_estimate,
            ..QueryRequest::new(sql, self.analyst.clone())
        }
    }

    fn priced(&self, sql: String) -> Result<Priced, CliError> {
        let ask = self.request(sql);
        let explanation = self.dataset.explain(&ask, self.group_size).map_err(unanswered)?;
        let forecast = match self.dataset.forecast(&ask).map_err(unanswered) {
            Ok(forecast) => Some(forecast),
            Err(error) if error.code == exit_code::REFUSED => return Err(error),
            Err(error) => {
                eprintln!("what is left cannot be reported: {}", error.message);
                None
            }
        };
        Ok(Priced {
            ask,
            explanation,
            forecast,
        })
    }

    fn explain(&mut self, sql: String) -> Result<(), CliError> {
        self.last = Some(sql.clone());
        let priced = self.priced(sql)?;
        let before = self.dataset.cut_before(&priced.ask).unwrap_or_default();
        let mut text = priced.explanation.to_text(&before, false);
        if let Some(forecast) = &priced.forecast {
            text += &forecast.to_text();
        }
        terminal::print(&text)
    }

    /// Says what a question costs, and asks it where that is wanted.
    fn question(&mut self, sql: String, input: &mut Input, go: bool) -> Result<(), CliError> {
        if self.described(&sql)? {
            return Ok(());
        }
        if is_explain(&sql) {
            return self.planned(sql);
        }
        self.last = Some(sql.clone());
        let priced = self.priced(sql)?;
        let free = priced.forecast.as_ref().is_some_and(|forecast| forecast.free);
        let fits = priced.forecast.as_ref().is_none_or(|forecast| forecast.more > 0);
        if !free {
            eprint!("{}", price::text(&priced.explanation, priced.forecast.as_ref()));
        }
        let agreed = free || self.yes || go && input.is_person();
        if !agreed {
            if !fits {
                // The line above says what would.
                return Ok(());
            }
            if !input.is_person() {
                eprintln!("not asked: nobody can agree through a pipe; --yes lets questions spend");
                return Ok(());
            }
            if !input.agrees("ask it? [y/N] ")? {
                eprintln!("not asked; \\go asks it after all");
                return Ok(());
            }
        }
        let answered = query::answered(&self.dataset, &priced.ask, &self.watched, false)?;
        terminal::print(&query::table(&answered.answer))?;
        eprint!("{}", query::summary::text(&answered, &self.analyst));
        Ok(())
    }
}

fn help() -> String {
    let width = COMMANDS
        .iter()
        .map(|(written, _)| written.len())
        .max()
        .unwrap_or(0);
    let commands: String = COMMANDS
        .iter()
        .map(|(written, what)| format!("  {written:width$}  {what}\n"))
        .collect();
    format!(
        "A question in SQL ends with a semicolon, or with an empty line. Its price is shown before it is asked.\n\
         {commands}\
         SHOW TABLES and DESCRIBE TABLE are free too; `deniable sql` prints the SQL that is understood.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_command() {
        let help = help();
        for (written, what) in COMMANDS {
            let line = help.lines().find(|line| line.trim_start().starts_with(written));
            assert!(line.is_some_and(|line| line.ends_with(what)), "{written}: {help}");
        }
    }
}
