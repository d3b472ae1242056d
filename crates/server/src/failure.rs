//! The reasons why a request has no answer: a closed list, with the same words through every entrance.
//! Nothing in it depends on private data.

use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The request itself is malformed.
    BadRequest,
    /// The asker is not known, or not any more.
    NotSignedIn,
    /// The asker may not do this.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// The SQL is not SQL.
    Syntax,
    /// The SQL cannot be answered privately.
    Refused,
    /// The question says nowhere what it may cost.
    NoEpsilon,
    /// The budget or the share does not allow it.
    OverBudget,
    /// It costs more than one question may.
    QuestionCap,
    /// It costs more than is left of the day's limit.
    DayCap,
    /// Shares are listed, and the asker has none.
    NoShare,
    /// The idempotency key was used for another request.
    KeyReused,
    /// The request was charged before, and its answer was lost.
    AnswerLost,
    /// It is larger, or does more, than a request may.
    TooLarge,
    /// Too many requests of one account.
    TooManyRequests,
    /// Too many questions at once.
    Busy,
    /// The server ends.
    Ending,
    /// There is no room where the ledger is kept.
    LedgerFull,
    /// Something failed that is the curator's to look at.
    Incident,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::BadRequest,
        Self::NotSignedIn,
        Self::Forbidden,
        Self::NotFound,
        Self::Syntax,
        Self::Refused,
        Self::NoEpsilon,
        Self::OverBudget,
        Self::QuestionCap,
        Self::DayCap,
        Self::NoShare,
        Self::KeyReused,
        Self::AnswerLost,
        Self::TooLarge,
        Self::TooManyRequests,
        Self::Busy,
        Self::Ending,
        Self::LedgerFull,
        Self::Incident,
    ];

    /// The stable name, which programs may rely on.
    pub fn name(self) -> &'static str {
        self.described().0
    }

    /// The status of HTTP.
    pub fn status(self) -> u16 {
        self.described().1
    }

    /// The SQLSTATE of PostgreSQL.
    pub fn sqlstate(self) -> &'static str {
        self.described().2
    }

    fn described(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::BadRequest => ("bad-request", 400, "22023"),
            Self::NotSignedIn => ("not-signed-in", 401, "28000"),
            Self::Forbidden => ("forbidden", 403, "42501"),
            Self::NotFound => ("not-found", 404, "42704"),
            Self::Syntax => ("syntax", 400, "42601"),
            Self::Refused => ("refused", 422, "0A000"),
            Self::NoEpsilon => ("no-epsilon", 422, "22023"),
            Self::OverBudget => ("over-budget", 402, "53400"),
            Self::QuestionCap => ("question-cap", 402, "53400"),
            Self::DayCap => ("day-cap", 402, "53400"),
            Self::NoShare => ("no-share", 403, "42501"),
            Self::KeyReused => ("idempotency-key-reused", 422, "22023"),
            Self::AnswerLost => ("answer-lost", 409, "58000"),
            Self::TooLarge => ("too-large", 422, "54000"),
            Self::TooManyRequests => ("too-many-requests", 429, "53400"),
            Self::Busy => ("busy", 503, "53300"),
            Self::Ending => ("ending", 503, "57P01"),
            Self::LedgerFull => ("ledger-full", 503, "53100"),
            Self::Incident => ("incident", 500, "XX000"),
        }
    }
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// What kind of failure.
    #[serde(skip)]
    pub code: Code,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
    /// The largest ε with which the question fits now, if that is what is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fits: Option<String>,
    /// After how many seconds to try again, if that is known.
    #[serde(skip)]
    pub again_after: Option<u64>,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(code: Code, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            hint: hint.into(),
            fits: None,
            again_after: None,
        }
    }

    /// With the time after which to try again, in whole seconds.
    pub(crate) fn again_after(mut self, wait: Duration) -> Self {
        self.again_after = Some(wait.as_millis().div_ceil(1000).max(1) as u64);
        self
    }

    /// Something that only the curator can look at. Its own words go to the server's log, which is the
    /// curator's; the analyst gets a random name of it.
    pub(crate) fn incident(what: &str, words: &dyn fmt::Display) -> Self {
        let id = crate::secrets::random::<8>().map_or_else(
            |_| "unnamed".to_owned(),
            |bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        );
        eprintln!("incident {id}: {what}: {words}");
        Self::new(
            Code::Incident,
            format!("{what} (incident {id}); what was charged stays charged"),
            "report the number of the incident to the curator, who finds it in the log of the server",
        )
    }

    /// There is no room where the ledger is kept. Its own words go to the server's log, which is the
    /// curator's.
    fn ledger_full(words: &dyn fmt::Display) -> Self {
        eprintln!("{words}");
        Self::new(
            Code::LedgerFull,
            "the ledger has no room, so nothing can be charged now",
            "tell the curator, and ask again later: whatever was charged before stands, and a charge without an answer is used, not made twice",
        )
    }

    /// A task that ended by a panic, whose words may quote data. Its place in the code was reported where it
    /// happened, and its words are kept nowhere.
    pub(crate) fn defect(what: &str) -> Self {
        Self::incident(
            what,
            &"a defect of Deniable; see the place in the code before this line",
        )
    }

    /// A failure in words that have a hint after them.
    fn worded(code: Code, error: &dyn fmt::Display) -> Self {
        let words = error.to_string();
        match words.split_once("\nhint: ") {
            Some((what, hint)) => Self::new(code, what, hint),
            None => Self::new(code, words, ""),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\nhint: {}", self.what, self.hint)
    }
}

impl std::error::Error for Failure {}

impl From<sql::Error> for Failure {
    fn from(error: sql::Error) -> Self {
        use mechanism::{Error::Refused, Refusal};
        match &error {
            sql::Error::Syntax { .. } => Self::worded(Code::Syntax, &error),
            sql::Error::Refused { .. } | sql::Error::Catalog { .. } => Self::worded(Code::Refused, &error),
            sql::Error::NoEpsilon => Self::worded(Code::NoEpsilon, &error),
            sql::Error::Quantity { .. } => Self::worded(Code::BadRequest, &error),
            sql::Error::OverBudget(over) => Self {
                fits: over.fits.as_ref().map(ToString::to_string),
                ..Self::worded(Code::OverBudget, &error)
            },
            sql::Error::Mechanism(Refused(Refusal::Rule { rule, .. })) => Self::worded(of_rule(rule), &error),
            sql::Error::Mechanism(Refused(Refusal::Budget(_))) => Self::worded(Code::OverBudget, &error),
            sql::Error::Mechanism(Refused(Refusal::NoRoom(_)))
            | sql::Error::Ledger(ledger::Error::NoRoom { .. }) => Self::ledger_full(&error),
            sql::Error::Mechanism(Refused(Refusal::Elsewhere(_))) => Self::worded(Code::Busy, &error),
            sql::Error::Ledger(ledger::Error::NoShare { .. }) => Self::worded(Code::NoShare, &error),
            sql::Error::Ledger(ledger) if ledger.rule().is_some() => {
                Self::worded(of_rule(ledger.rule().unwrap_or_default()), &error)
            }
            // Its words say by which number it is reported, and nothing of the data.
            sql::Error::Engine { .. } | sql::Error::Unverified(_) => Self::worded(Code::Incident, &error),
            _ => Self::incident("the ledger or the data cannot be used now", &error),
        }
    }
}

impl From<crate::accounts::Error> for Failure {
    fn from(error: crate::accounts::Error) -> Self {
        match error {
            crate::accounts::Error::Refused { what, hint } => Self::new(Code::BadRequest, what, hint),
            crate::accounts::Error::Ledger(error @ ledger::Error::NoRoom { .. }) => Self::ledger_full(&error),
            crate::accounts::Error::Ledger(error) => {
                Self::incident("the accounts cannot be used now", &error)
            }
        }
    }
}

impl From<crate::governance::Error> for Failure {
    fn from(error: crate::governance::Error) -> Self {
        match error {
            crate::governance::Error::Accounts(error) => error.into(),
            error => Self::worded(Code::BadRequest, &error),
        }
    }
}

fn of_rule(rule: &str) -> Code {
    let known = [Code::QuestionCap, Code::DayCap, Code::KeyReused, Code::AnswerLost];
    known
        .into_iter()
        .find(|code| code.name() == rule)
        .unwrap_or(Code::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_states_have_five_characters() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|code| code.sqlstate().len() == 5));
    }

    #[test]
    fn a_full_disk_is_said_without_its_place() {
        let full = || ledger::Error::NoRoom {
            what: "/srv/deniable.ledger.head".to_owned(),
        };
        let refused = mechanism::Refusal::NoRoom(full().to_string());
        for failure in [
            Failure::from(sql::Error::Ledger(full())),
            Failure::from(sql::Error::Mechanism(mechanism::Error::Refused(refused))),
            Failure::from(crate::accounts::Error::Ledger(full())),
        ] {
            assert_eq!(failure.code, Code::LedgerFull);
            assert!(!failure.to_string().contains("/srv"), "{failure}");
        }
    }

    #[test]
    fn rules_of_the_ledger_have_codes() {
        let error = ledger::Error::KeyReused;
        assert_eq!(of_rule(error.rule().unwrap()), Code::KeyReused);
        let lost = ledger::Error::Lost { charge: 7 };
        let failure = Failure::from(sql::Error::Ledger(lost));
        assert_eq!(failure.code, Code::AnswerLost);
        assert!(failure.hint.contains("new key"), "{failure}");
    }
}
