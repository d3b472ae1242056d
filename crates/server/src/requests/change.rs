//! What a request changes when it is granted.

use super::{Request, decided};
use crate::accounts;
use crate::governance::{self, Error, loosened};
use accounting::{Epsilon, Promise};
use exact::Rational;
use ledger::Administration;
use serde::{Deserialize, Serialize};
use std::fmt;
use toml::{Table, Value};

/// What two curators agree to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Change {
    /// The account has a larger share of the same budget.
    Share {
        /// The share that the account had when this was proposed, by itself or by the catalog.
        from: String,
        /// The new one.
        to: String,
        /// The ε of which it is a share, or a budget of another kind in words.
        of: String,
    },
    /// The budget of the dataset is higher, by a catalog.
    Catalog {
        /// The SHA-256 of its text.
        digest: String,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share { from, to, of } => {
                write!(formatter, "share {from} of {} becomes {to}", budget_in_words(of))
            }
            Self::Catalog { digest } => write!(formatter, "catalog {digest}"),
        }
    }
}

/// What [`Change::Share`] is a share of.
pub(crate) fn budget_in_words(of: &str) -> String {
    match exact::parse_decimal(of) {
        Ok(_) => format!("ε = {of}"),
        Err(_) => of.to_owned(),
    }
}

impl Change {
    /// Inside the transaction of the second approval. A catalog is taken over when the server starts with it.
    pub(super) fn carry_out(
        &self,
        administration: &mut Administration<'_>,
        by: &str,
        account: &str,
    ) -> Result<(), Error> {
        match self {
            Self::Share { from, to, of } => {
                // What the two agreed to is an amount of ε: a share of another budget, or beside another one,
                // is another amount.
                let now = Held::of(administration, account)?;
                if (&now.share(), &now.whole()) != (from, of) {
                    return Err(Error::refused(
                        "the budget, or the share of this account, is another than when this was proposed",
                        "decline it, so that it can be asked for and proposed again",
                    ));
                }
                accounts::grant_share(administration, by, account, to)?;
                Ok(())
            }
            Self::Catalog { .. } => Err(Error::refused(
                "another curator has just proposed a catalog for this request",
                "look at the page again",
            )),
        }
    }
}

/// What is to be proposed.
pub(super) enum Planned {
    Share(Change),
    /// The text of a catalog.
    Catalog(String),
}

impl Planned {
    /// What would give the account what it wants.
    pub(super) fn of(administration: &mut Administration<'_>, request: &Request) -> Result<Self, Error> {
        let Some(wanted) = request.epsilon.as_ref().map(Epsilon::as_rational) else {
            return Err(decided());
        };
        if administration.rules().shares.is_empty() {
            Held::account(administration, &request.by)?;
            let text = governance::in_force_now(administration)?.ok_or_else(|| {
                Error::refused(
                    "no catalog is in force yet",
                    "start the server once with the catalog that there is",
                )
            })?;
            return Ok(Self::Catalog(raised(&text, wanted)?));
        }
        let held = Held::of(administration, &request.by)?;
        let Some(whole) = ledger::epsilon_of(&held.budget) else {
            return Err(Error::refused(
                "the budget of the dataset is a ρ, of which no ε is a share",
                "give the account another share instead, and decline this request",
            ));
        };
        let share = &held.share + wanted / whole.as_rational();
        if share > Rational::ONE {
            return Err(Error::refused(
                "this is more than the whole budget of the dataset",
                "propose a catalog with a higher budget first, or decline the request",
            ));
        }
        Ok(Self::Share(held.with(&share)))
    }
}

/// What an account may spend now: a share, by itself or by the catalog, of the budget.
pub(super) struct Held {
    pub(super) share: Rational,
    budget: Promise,
}

impl Held {
    fn account(administration: &mut Administration<'_>, name: &str) -> Result<accounts::Account, Error> {
        let account = accounts::read(administration, name)?.filter(|account| !account.revoked);
        account.ok_or_else(|| {
            Error::refused(
                "who made the request has no account any more",
                "decline the request",
            )
        })
    }

    pub(super) fn of(administration: &mut Administration<'_>, name: &str) -> Result<Self, Error> {
        let account = Self::account(administration, name)?;
        let rules = administration.rules();
        let share = match &account.share {
            Some(share) => exact::parse_decimal(share).ok(),
            None => rules.share_of(&account.name).cloned(),
        };
        Ok(Self {
            share: share.unwrap_or(Rational::ZERO),
            budget: rules.budget.limit().clone(),
        })
    }

    /// What gives the account this share in its place.
    pub(super) fn with(&self, share: &Rational) -> Change {
        Change::Share {
            from: self.share(),
            to: exact::format_decimal(share),
            of: self.whole(),
        }
    }

    fn share(&self) -> String {
        exact::format_decimal(&self.share)
    }

    fn whole(&self) -> String {
        ledger::epsilon_of(&self.budget).map_or_else(|| self.budget.to_string(), ToString::to_string)
    }
}

/// The same catalog with a higher ε, and nothing else changed: comments and order stay.
fn raised(text: &str, more: &Rational) -> Result<String, Error> {
    let unclear = || {
        Error::refused(
            "the ε of the budget is not found in the catalog's text",
            "propose a catalog with a higher budget by hand",
        )
    };
    let before = epsilon_in(text).ok_or_else(unclear)?;
    let after = before + more;
    let mut section = String::new();
    let mut lines: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            section = trimmed.to_owned();
        }
        let of_budget = section.split('#').next().map(str::trim) == Some("[budget]");
        match line.split_once('=') {
            Some((key, value)) if of_budget && key.trim() == "epsilon" => {
                let end = value.find('#').unwrap_or(value.len());
                let (value, comment) = value.split_at(end);
                let space = &value[value.trim_end().len()..];
                let quote = value.trim().chars().next().filter(|first| "\"'".contains(*first));
                let quote = quote.map_or_else(String::new, String::from);
                let number = exact::format_decimal(&after);
                lines.push(format!("{key}= {quote}{number}{quote}{space}{comment}"));
            }
            _ => lines.push(line.to_owned()),
        }
    }
    let text_after = lines.concat();
    let only = loosened(text, &text_after)? == ["budget.epsilon changes"];
    match only && epsilon_in(&text_after) == Some(after) {
        true => Ok(text_after),
        false => Err(unclear()),
    }
}

fn epsilon_in(text: &str) -> Option<Rational> {
    let table: Table = text.parse().ok()?;
    match table.get("budget") {
        Some(Value::Table(budget)) => governance::number(budget.get("epsilon")?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalog_is_raised_and_stays_the_same_otherwise() {
        let more = exact::parse_decimal("0.5").unwrap();
        let text = "# ours\nname = \"a\"\n[budget] # all\nepsilon = 2  # for ever\ndelta = 1e-6\n[budget.query]\nepsilon = 0.1\n";
        assert_eq!(
            raised(text, &more).unwrap(),
            text.replace("epsilon = 2  #", "epsilon = 2.5  #")
        );
        assert_eq!(
            raised("[budget]\nepsilon='1'", &more).unwrap(),
            "[budget]\nepsilon= '1.5'"
        );
        for unclear in [
            "name = \"a\"",
            "budget = { epsilon = 1 }",
            "budget.epsilon = 1",
            "[budget]\nrho = 1",
            "[budget",
        ] {
            assert!(raised(unclear, &more).is_err(), "{unclear}");
        }
    }
}
