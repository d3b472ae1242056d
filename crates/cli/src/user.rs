//! `deniable user`: who may sign in to the server, and what they may do and spend.

use crate::dataset::{AnalystArguments, CatalogArguments};
use crate::terminal::{self, CliError, explained, fail};
use accounting::Epsilon;
use clap::{Args, Subcommand, ValueEnum};
use exact::Rational;
use ledger::{Caps, Store, utc};
use report::{DynamicTable, Heading};
use serde_json::{Value, json};
use server::accounts::{self, Account, DEFAULT_TOKEN, NewAccount};
use server::governance;
use server::requests::{self, Kept};
use std::io::Read as _;

const EXAMPLES: &str = "\
Examples:
  A curator, and an analyst with a quarter of the budget, ε = 0.2 a question and ε = 0.5 a day at most
    deniable user add carol --role curator
    deniable user add ann --share 1/4 --per-question 0.2 --per-day 0.5
  A token for ann's programs: the password of PostgreSQL clients and the bearer token of HTTP. It is shown once
    deniable user token ann
    deniable user token ann --name notebook --days 30
  A password for ann herself, from a pipe or typed in
    deniable user password ann
  Who there is, and how it ends
    deniable user list
    deniable user revoke ann --token notebook
    deniable user revoke ann

Accounts are kept in the ledger's database; tokens and passwords as hashes. Whatever changes them is an entry of the ledger. Where
anybody has a share of the budget, nobody without one can ask. Where there are two curators or more, a larger share waits until a
curator has approved it on the server.
A PostgreSQL client signs in as ann with the token named default, or as ann/notebook with another.";

/// Accounts of the server: who may sign in, and what they may do and spend
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make an account
    Add {
        /// The name
        name: String,
        /// What they may do
        #[arg(long, value_enum, default_value = "analyst")]
        role: Role,
        #[command(flatten)]
        limits: Limits,
        #[command(flatten)]
        common: Common,
    },
    /// Change what an account may spend
    Set {
        /// The account
        name: String,
        #[command(flatten)]
        limits: Limits,
        #[command(flatten)]
        common: Common,
    },
    /// Show all accounts and their tokens
    List {
        #[command(flatten)]
        catalog: CatalogArguments,
        /// Print one object for a program to read
        #[arg(long)]
        json: bool,
    },
    /// Make a token for an account, which is shown once; one of the same name is revoked
    Token {
        /// The account
        name: String,
        /// What the token is called
        #[arg(long = "name", value_name = "TOKEN", default_value = DEFAULT_TOKEN)]
        token: String,
        /// After how many days it expires [default: never]
        #[arg(long, value_name = "N")]
        days: Option<u32>,
        /// Print one object for a program to read
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Set the password of a person, read from standard input
    Password {
        /// The account
        name: String,
        #[command(flatten)]
        common: Common,
    },
    /// Revoke an account for good, or one of its tokens
    Revoke {
        /// The account
        name: String,
        /// The token alone
        #[arg(long, value_name = "TOKEN")]
        token: Option<String>,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Args)]
struct Common {
    #[command(flatten)]
    catalog: CatalogArguments,
    /// Who makes the change, as the ledger will say [default: the login name]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

#[derive(Args)]
struct Limits {
    /// The share of the budget, from 0 to 1: 0.25 or 1/4
    #[arg(long, value_name = "SHARE")]
    share: Option<String>,
    /// The largest ε of one question
    #[arg(long, value_name = "E")]
    per_question: Option<String>,
    /// The largest sum of ε in 24 hours
    #[arg(long, value_name = "E")]
    per_day: Option<String>,
}

impl Limits {
    fn share(&self) -> Result<Option<Rational>, CliError> {
        let read = |text: &String| {
            exact::parse_decimal(text).map_err(|_| {
                CliError::bad_input(format!("{text:?} is no share"))
                    .with_hint("write a number from 0 to 1, such as 0.25 or 1/4")
            })
        };
        self.share.as_ref().map(read).transpose()
    }

    fn caps(&self) -> Result<Caps, CliError> {
        let read = |text: &Option<String>| text.as_deref().map(Epsilon::parse).transpose().map_err(explained);
        Ok(Caps {
            per_question: read(&self.per_question)?,
            per_day: read(&self.per_day)?,
        })
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Role {
    /// Asks questions within a share of the budget
    Analyst,
    /// Keeps the catalog, the budget and the accounts
    Curator,
    /// Reads the ledger and verifies it, and asks nothing
    Auditor,
    /// Sees whether the server is well, and neither answers nor questions
    Operator,
}

impl From<Role> for accounts::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Analyst => Self::Analyst,
            Role::Curator => Self::Curator,
            Role::Auditor => Self::Auditor,
            Role::Operator => Self::Operator,
        }
    }
}

impl Common {
    fn by(&self) -> String {
        let login = AnalystArguments::default().name();
        self.by.clone().unwrap_or(login)
    }

    fn on<T, E: Into<governance::Error>>(
        &self,
        work: impl FnOnce(&mut Store, &str) -> Result<T, E>,
    ) -> Result<T, CliError> {
        on(&self.catalog, |store| work(store, &self.by()))
    }
}

fn on<T, E: Into<governance::Error>>(
    catalog: &CatalogArguments,
    work: impl FnOnce(&mut Store) -> Result<T, E>,
) -> Result<T, CliError> {
    let dataset = catalog.open(false)?;
    let mut store = dataset.ledger().map_err(crate::dataset::unanswered)?;
    work(&mut store).map_err(|error| match error.into() {
        governance::Error::Accounts(accounts::Error::Ledger(error)) => crate::dataset::of_the_ledger(error),
        error => explained(error),
    })
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Add {
            name,
            role,
            limits,
            common,
        } => {
            let share = limits.share()?;
            let new = NewAccount {
                caps: limits.caps()?,
                ..NewAccount::new(name, (*role).into())
            };
            let kept = common.on(|store, by| requests::add_account(store, by, &new, share.as_ref()))?;
            let name = &kept.account.name;
            eprintln!("made the account {name}; next: deniable user token {name}");
            tell_what_waits(&kept);
            Ok(())
        }
        Command::Set { name, limits, common } => {
            let (share, caps) = (limits.share()?, limits.caps()?);
            if share.is_none() && caps == Caps::default() {
                return fail(
                    "nothing is to be changed",
                    "name --share, --per-question or --per-day",
                );
            }
            let kept =
                common.on(|store, by| requests::change_account(store, by, name, share.as_ref(), &caps))?;
            if kept.waits.is_none() || caps != Caps::default() {
                eprintln!("changed the account {name}");
            }
            tell_what_waits(&kept);
            Ok(())
        }
        Command::List { catalog, json } => {
            let listed = on(catalog, accounts::list)?;
            match json {
                true => terminal::print(&format!("{}\n", as_json(&listed))),
                false => terminal::print(&as_table(&listed)),
            }
        }
        Command::Token {
            name,
            token,
            days,
            json,
            common,
        } => {
            let expires = days.map(accounts::in_days);
            let secret = common.on(|store, by| accounts::add_token(store, by, name, token, expires))?;
            eprintln!(
                "this is the only time that the token is shown; it is the password of PostgreSQL clients and the bearer token of HTTP"
            );
            match json {
                true => terminal::print(&format!("{}\n", json!({ "token": secret.reveal() }))),
                false => terminal::print(&format!("{}\n", secret.reveal())),
            }
        }
        Command::Password { name, common } => {
            let mut password = String::new();
            eprintln!("the password of {name}, 12 characters at least, then Enter and Ctrl-D:");
            std::io::stdin()
                .lock()
                .take(4096)
                .read_to_string(&mut password)
                .map_err(|cause| {
                    CliError::bad_input(format!("cannot read the password: {}", cause.kind()))
                        .with_hint("give it as text")
                })?;
            let password = password.trim_end_matches(['\r', '\n']);
            common.on(|store, by| accounts::set_password(store, by, name, password))?;
            eprintln!("the password of {name} is set");
            Ok(())
        }
        Command::Revoke { name, token, common } => {
            common.on(|store, by| accounts::revoke(store, by, name, token.as_deref()))?;
            match token {
                Some(token) => eprintln!("the token {token} of {name} is revoked"),
                None => eprintln!("the account {name} is revoked for good"),
            }
            Ok(())
        }
    }
}

/// Where there are several curators, nobody gives a larger share alone.
fn tell_what_waits(kept: &Kept) {
    if let Some(request) = &kept.waits {
        eprintln!(
            "its share waits as request {}: a curator approves it on the page Requests, or with POST /v1/budget/requests/{}/approve",
            request.number, request.number
        );
    }
}

fn as_json(listed: &[Account]) -> Value {
    json!({ "accounts": listed.iter().map(server::http::described_account).collect::<Vec<_>>() })
}

fn as_table(listed: &[Account]) -> String {
    if listed.is_empty() {
        return "there are no accounts; make one with `deniable user add NAME`\n".to_owned();
    }
    let headings = ["account", "role", "share", "ε a question", "ε a day", "tokens"];
    let mut table = DynamicTable::new(headings.map(Heading::left).to_vec());
    for account in listed {
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        let tokens: Vec<String> = account
            .tokens
            .iter()
            .filter(|token| token.is_good())
            .map(|token| match (token.expires, token.last_used) {
                (Some(expires), _) => format!("{} (until {})", token.name, utc(expires)),
                (None, Some(used)) => format!("{} (used {})", token.name, utc(used)),
                (None, None) => token.name.clone(),
            })
            .collect();
        table.row(vec![
            account.name.clone(),
            match account.revoked {
                true => format!("{}, revoked", account.role.name()),
                false => account.role.name().to_owned(),
            },
            or_dash(account.share.clone()),
            or_dash(account.caps.per_question.as_ref().map(ToString::to_string)),
            or_dash(account.caps.per_day.as_ref().map(ToString::to_string)),
            match tokens.is_empty() {
                true => "–".to_owned(),
                false => tokens.join(", "),
            },
        ]);
    }
    table.to_string()
}
