//! Requests for more budget: an analyst says how much and why, one curator proposes it, and another approves
//! it.
//!
//! If analysts have shares of the budget, a granted request is a larger share. It takes effect with the
//! second approval, and what all analysts together may spend stays what it was. If nobody has a share, only
//! the budget of the dataset itself can move. So the request becomes a proposal of a catalog
//! ([`governance`]), which a second curator approves as any other, and which is in force when the server
//! starts with it.
//!
//! A curator who gives somebody a larger share makes such a request too, already proposed ([`add_account`]).
//!
//! The person who made a request is neither of the two who grant it, also as a curator. (A curator may still
//! propose a catalog of their own, which another one approves.) Each step is an entry of the ledger.

mod change;
mod shares;

pub use change::Change;
use change::Planned;
pub(crate) use change::budget_in_words;
pub use shares::{Kept, add_account, change_account};

use crate::accounts::{self, Account, Role, now};
use crate::governance::{self, Error};
use accounting::Epsilon;
use ledger::{Administration, LogEntry, Store};
use serde::{Deserialize, Serialize};

const REQUESTS: &str = "budget request";
/// Requests of one account that wait for an answer.
pub const MOST_OPEN: usize = 3;
/// Requests of one account in 24 hours, also those that were withdrawn: each is kept for good.
pub const MOST_A_DAY: usize = 10;
const DAY: i64 = 24 * 60 * 60 * 1000;
/// The longest reason, in characters.
pub const LONGEST_REASON: usize = 500;

/// A request for more budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// By which it is known: requests are numbered from 1.
    pub number: u64,
    /// The analyst who wants it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub created: i64,
    /// How much more; none if a curator gives a share without being asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<Epsilon>,
    /// Why, in the analyst's own words.
    pub reason: String,
    /// The result.
    pub state: State,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum State {
    /// No curator has decided.
    Open,
    /// One curator is for it.
    Proposed {
        /// Who.
        first: String,
        /// When, in milliseconds since 1970.
        at: i64,
        /// What would change.
        change: Change,
    },
    /// Two curators are for it.
    Granted {
        /// Who proposed it.
        first: String,
        /// Who approved it.
        second: String,
        /// What changed.
        change: Change,
    },
    /// It was declined by a curator, or withdrawn by the analyst who had made it.
    Closed {
        /// By whom.
        by: String,
    },
}

impl Request {
    /// Whether somebody still has to decide.
    pub fn waits(&self) -> bool {
        matches!(self.state, State::Open | State::Proposed { .. })
    }

    /// How much more it is about, in words.
    pub fn wanted(&self) -> String {
        match &self.epsilon {
            Some(epsilon) => format!("ε = {epsilon}"),
            None => "a share".to_owned(),
        }
    }

    /// What it is about, for the log. The reason is the analyst's own text.
    fn about(&self) -> String {
        format!("request {} of {}, {}", self.number, self.by, self.wanted())
    }
}

/// Asks for more budget.
///
/// # Errors
/// When the reason is empty or too long, or too many requests of this account wait.
pub fn file(store: &mut Store, by: &str, epsilon: Epsilon, reason: &str) -> Result<Request, Error> {
    let reason = reason.trim().to_owned();
    if reason.is_empty() || reason.chars().count() > LONGEST_REASON || reason.contains('\0') {
        return Err(Error::refused(
            format!("a reason has 1 to {LONGEST_REASON} characters"),
            "say in a few words what the budget is for: curators decide by it",
        ));
    }
    if epsilon == Epsilon::ZERO {
        return Err(Error::refused(
            "the ε that is wanted is 0",
            "ask for a decimal above 0, such as 0.5",
        ));
    }
    store.administer(|administration| {
        let all = read_all(administration)?;
        let own = || all.iter().filter(|request| request.by == by);
        let waiting = own().filter(|request| request.waits()).count();
        let lately = own().filter(|request| request.created > now() - DAY).count();
        if lately >= MOST_A_DAY {
            return Err(Error::refused(
                format!("{MOST_A_DAY} requests of one account in 24 hours are enough"),
                "wait for the curators, and speak with them",
            ));
        }
        if waiting >= MOST_OPEN {
            return Err(Error::refused(
                format!("{MOST_OPEN} of your requests wait for an answer"),
                "wait for the curators, or withdraw one",
            ));
        }
        let request = Request {
            number: next_number(&all),
            by: by.to_owned(),
            created: now(),
            epsilon: Some(epsilon),
            reason,
            state: State::Open,
        };
        keep(administration, &request)?;
        let about = format!("{}: {}", request.about(), request.reason);
        administration.log(LogEntry::new("budget-requested", by, about));
        Ok(request)
    })
}

/// The first of two approvals: a curator is for it.
///
/// # Errors
/// When it is the curator's own request, was decided before, or cannot be granted as it stands.
pub fn propose(store: &mut Store, by: &str, number: u64) -> Result<Request, Error> {
    curator(store, by)?;
    store.administer(|administration| {
        let mut request = read(administration, number)?;
        of_another(&request, by)?;
        if request.state != State::Open {
            return Err(decided());
        }
        let change = match Planned::of(administration, &request)? {
            Planned::Share(change) => change,
            Planned::Catalog(text) => Change::Catalog {
                digest: governance::propose_for(administration, by, &text, Some(number))?.digest,
            },
        };
        let about = format!("{}: {change}", request.about());
        request.state = State::Proposed {
            first: by.to_owned(),
            at: now(),
            change,
        };
        keep(administration, &request)?;
        administration.log(LogEntry::new("budget-proposed", by, about));
        Ok(request)
    })
}

/// The second approval, by another curator. A larger share is in force from then on.
///
/// # Errors
/// When it is the curator's own request or proposal, or who approves became a curator after it was proposed.
pub fn approve(store: &mut Store, by: &str, number: u64) -> Result<Request, Error> {
    let account = curator(store, by)?;
    let seen = find(store, number)?;
    of_another(&seen, by)?;
    if let State::Proposed {
        change: Change::Catalog { digest },
        ..
    } = &seen.state
    {
        // It is approved as every catalog is, and that marks the request.
        governance::approve(store, by, digest)?;
        return find(store, number);
    }
    store.administer(|administration| {
        let request = read(administration, number)?;
        let State::Proposed { first, at, change } = &request.state else {
            return Err(match request.state {
                State::Open => Error::refused(
                    "no curator has proposed it yet",
                    "propose it, and let another curator approve it",
                ),
                _ => decided(),
            });
        };
        if first == by {
            return Err(Error::refused(
                "who proposed it cannot approve it",
                "another curator has to look at it",
            ));
        }
        if account.created >= *at {
            return Err(Error::refused(
                "who approves a request was a curator before it was proposed",
                "another curator has to look at it, or it is declined and made again",
            ));
        }
        change.carry_out(administration, by, &request.by)?;
        granted(administration, request, by)
    })
}

/// Whether a curator may propose a catalog that answers this request, which waits; `false` if it does not
/// wait any more.
pub(crate) fn may_propose(
    administration: &mut Administration<'_>,
    number: u64,
    by: &str,
) -> Result<bool, Error> {
    let request = read(administration, number)?;
    of_another(&request, by)?;
    Ok(request.waits())
}

/// Marks that the catalog which answers a request was approved by a second curator, in the transaction of
/// that approval.
pub(crate) fn catalog_approved(
    administration: &mut Administration<'_>,
    number: u64,
    proposed_by: &str,
    by: &str,
) -> Result<(), Error> {
    let mut request = read(administration, number)?;
    of_another(&request, by)?;
    of_another(&request, proposed_by)?;
    match &mut request.state {
        State::Proposed { first, .. } => {
            // The same text may have been proposed again, by another curator than the first.
            *first = proposed_by.to_owned();
            granted(administration, request, by).map(drop)
        }
        _ => Err(Error::refused(
            "the request that this catalog answers was declined",
            "propose the catalog again, by itself",
        )),
    }
}

fn granted(
    administration: &mut Administration<'_>,
    mut request: Request,
    second: &str,
) -> Result<Request, Error> {
    let State::Proposed { first, change, .. } = request.state else {
        return Err(decided());
    };
    request.state = State::Granted {
        first,
        second: second.to_owned(),
        change,
    };
    keep(administration, &request)?;
    administration.log(LogEntry::new("budget-approved", second, request.about()));
    Ok(request)
}

/// Declines a request, one's own among them. Nothing of the budget changes.
///
/// # Errors
/// When it was decided before.
pub fn decline(store: &mut Store, by: &str, number: u64) -> Result<Request, Error> {
    curator(store, by)?;
    close(store, by, number, |_| true)
}

/// Withdraws one's own request.
///
/// # Errors
/// When it was decided before, or is somebody else's.
pub fn withdraw(store: &mut Store, by: &str, number: u64) -> Result<Request, Error> {
    close(store, by, number, |request| request.by == by)
}

fn close(store: &mut Store, by: &str, number: u64, may: impl Fn(&Request) -> bool) -> Result<Request, Error> {
    store.administer(|administration| {
        let mut request = read(administration, number)?;
        if !may(&request) {
            return Err(none());
        }
        if !request.waits() {
            return Err(decided());
        }
        request.state = State::Closed { by: by.to_owned() };
        keep(administration, &request)?;
        let what = match request.by == by {
            true => "budget-withdrawn",
            false => "budget-declined",
        };
        administration.log(LogEntry::new(what, by, request.about()));
        Ok(request)
    })
}

/// All requests, the oldest first.
///
/// # Errors
/// When the ledger cannot be used.
pub fn list(store: &mut Store) -> Result<Vec<Request>, Error> {
    let documents = store.documents(REQUESTS)?;
    let all = documents.iter().map(|(_, body)| parse(body));
    let mut all = all.collect::<Result<Vec<_>, _>>()?;
    all.sort_by_key(|request| request.number);
    Ok(all)
}

fn find(store: &mut Store, number: u64) -> Result<Request, Error> {
    let body = store.document(REQUESTS, &number.to_string())?;
    parse(&body.ok_or_else(none)?)
}

/// The person who decides must be a curator now, whatever they were when they signed in.
fn curator(store: &mut Store, by: &str) -> Result<Account, Error> {
    let account = accounts::find(store, by)?;
    account
        .filter(|account| account.role == Role::Curator && !account.revoked)
        .ok_or_else(|| Error::refused("only curators decide about budget", "ask one of them"))
}

fn of_another(request: &Request, by: &str) -> Result<(), Error> {
    match request.by == by {
        false => Ok(()),
        true => Err(Error::refused(
            "nobody decides about a request of their own",
            "two other curators have to agree to it",
        )),
    }
}

fn decided() -> Error {
    Error::refused("this request was decided before", "a new one can be made")
}

fn none() -> Error {
    Error::refused("there is no such request", "GET /v1/budget/requests lists them")
}

fn read(administration: &mut Administration<'_>, number: u64) -> Result<Request, Error> {
    let body = administration.document(REQUESTS, &number.to_string())?;
    parse(&body.ok_or_else(none)?)
}

fn read_all(administration: &mut Administration<'_>) -> Result<Vec<Request>, Error> {
    let documents = administration.documents(REQUESTS)?;
    documents.iter().map(|(_, body)| parse(body)).collect()
}

fn next_number(all: &[Request]) -> u64 {
    all.iter().map(|request| request.number).max().unwrap_or(0) + 1
}

fn keep(administration: &mut Administration<'_>, request: &Request) -> Result<(), Error> {
    let body = serde_json::to_string(request).expect("a request is plain data");
    Ok(administration.keep(REQUESTS, &request.number.to_string(), &body)?)
}

fn parse(body: &str) -> Result<Request, Error> {
    serde_json::from_str(body).map_err(|_| {
        Error::refused(
            "a request cannot be read",
            "perhaps a newer version wrote it: use that one",
        )
    })
}

#[cfg(test)]
mod tests;
