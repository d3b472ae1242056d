//! Who may do what: the one table that every entrance asks.

use super::Error;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Asks questions within a share of the budget.
    Analyst,
    /// Keeps the catalog, the budget and the accounts, and asks.
    Curator,
    /// Reads the ledger and verifies it, and asks nothing.
    Auditor,
    /// Sees whether the server is well, and neither answers nor questions.
    Operator,
}

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// Ask, and see what belongs to asking: tables, prices, one's own answers, receipts, history and
    /// requests.
    Ask,
    /// See an answer, with its receipt, that somebody else asked for.
    ReadAnyAnswer,
    /// Read and verify the ledger: charges with their questions, the log, accounts, proposals, requests, the
    /// card. No answers.
    ReadLedger,
    /// See the counters of the server.
    ReadCounters,
    /// Change accounts, the catalog and shares, or decide about them.
    Keep,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Ask,
        Self::ReadAnyAnswer,
        Self::ReadLedger,
        Self::ReadCounters,
        Self::Keep,
    ];

    /// The roles that have it, and what it is in words. This is the table.
    fn entry(self) -> (&'static [Role], &'static str) {
        use Role::{Analyst, Auditor, Curator, Operator};
        match self {
            Self::Ask => (
                &[Analyst, Curator],
                "ask and fit models; see tables, prices, releases, synthetic rows, their own answers, receipts and history; request more budget",
            ),
            Self::ReadAnyAnswer => (
                &[Curator],
                "see answers and receipts of others, by the number of the charge",
            ),
            Self::ReadLedger => (
                &[Curator, Auditor],
                "read and verify the ledger: charges with their questions, the log, accounts, proposals, requests, plans of releases, the card; no answers",
            ),
            Self::ReadCounters => (&[Curator, Operator], "see the server's counters"),
            Self::Keep => (
                &[Curator],
                "keep accounts, tokens and the catalog; decide about requests; make releases and synthetic rows",
            ),
        }
    }

    /// What it is, in words.
    pub fn words(self) -> &'static str {
        self.entry().1
    }
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Analyst, Self::Curator, Self::Auditor, Self::Operator];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Analyst => "analyst",
            Self::Curator => "curator",
            Self::Auditor => "auditor",
            Self::Operator => "operator",
        }
    }

    /// Whether it has a right.
    pub fn may(self, right: Right) -> bool {
        right.entry().0.contains(&self)
    }

    /// Whether it may ask questions.
    pub fn may_ask(self) -> bool {
        self.may(Right::Ask)
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| {
                Error::new(
                    format!("there is no role {text:?}"),
                    "roles are analyst, curator, auditor and operator",
                )
            })
    }
}
