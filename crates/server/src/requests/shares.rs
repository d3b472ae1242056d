//! Accounts with a share of the budget, and who may give one.
//!
//! If there are two curators or more, nobody gets a larger share from one of them alone. The account is made
//! at once. Its share waits as a request that one curator has proposed, and another one approves it, as any
//! other. Two changes give nobody more, and take effect at once: a lower share, and the first share (before
//! it everybody may spend everything).
//!
//! On the machine itself (`deniable user`) the same holds. Nobody signs in there. So the person who runs it
//! is the one who proposes, under the name that they give, and a curator approves it.

use super::change::Held;
use super::{Change, Request, State, of_another, read_all};
use crate::accounts::{self, Account, NewAccount, now};
use crate::governance::{self, Error};
use exact::Rational;
use ledger::{Administration, Caps, LogEntry, Store};

/// An account as it is now.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The account.
    pub account: Account,
    /// The request that another curator has to approve, where the share waits for one.
    pub waits: Option<Request>,
}

/// Makes an account, with a share of the budget or without one.
///
/// # Errors
/// When there is one of that name, the name is none, or the share is none.
pub fn add_account(
    store: &mut Store,
    by: &str,
    new: &NewAccount,
    share: Option<&Rational>,
) -> Result<Kept, Error> {
    store.administer(|administration| {
        let account = accounts::make(administration, by, new)?;
        with_share(administration, by, account, share)
    })
}

/// Changes the share and the limits of an account. What is `None` stays as it is.
///
/// # Errors
/// When there is no such account, or the share is none.
pub fn change_account(
    store: &mut Store,
    by: &str,
    name: &str,
    share: Option<&Rational>,
    caps: &Caps,
) -> Result<Kept, Error> {
    store.administer(|administration| {
        let account = accounts::set_caps(administration, by, name, caps)?;
        with_share(administration, by, account, share)
    })
}

fn with_share(
    administration: &mut Administration<'_>,
    by: &str,
    account: Account,
    share: Option<&Rational>,
) -> Result<Kept, Error> {
    let Some(share) = share else {
        return Ok(Kept { account, waits: None });
    };
    if !account.role.may_ask() {
        return Err(Error::refused(
            format!(
                "an {} asks nothing, so it has no share of the budget",
                account.role.name()
            ),
            "leave the share out",
        ));
    }
    if *share < Rational::ZERO || *share > Rational::ONE {
        return Err(Error::refused(
            "a share is not between 0 and 1",
            "write a decimal or a fraction such as 0.25 or 1/4",
        ));
    }
    if gives_more(administration, &account, share)? && governance::curators(administration)? > 1 {
        let waits = Some(propose(administration, by, &account, share)?);
        return Ok(Kept { account, waits });
    }
    let text = exact::format_decimal(share);
    let account = accounts::grant_share(administration, by, &account.name, &text)?;
    Ok(Kept { account, waits: None })
}

/// Whether the account could spend more with this share than now.
fn gives_more(
    administration: &mut Administration<'_>,
    account: &Account,
    share: &Rational,
) -> Result<bool, Error> {
    // If nobody has a share, everybody is held back by the budget alone.
    let shared_out = !administration.rules().shares.is_empty();
    Ok(shared_out && *share > Held::of(administration, &account.name)?.share)
}

/// One curator, or the person at the machine, is for it.
fn propose(
    administration: &mut Administration<'_>,
    by: &str,
    account: &Account,
    share: &Rational,
) -> Result<Request, Error> {
    let all = read_all(administration)?;
    let of_share = |request: &&Request| {
        let change = match &request.state {
            State::Proposed { change, .. } => Some(change),
            _ => None,
        };
        request.by == account.name && matches!(change, Some(Change::Share { .. }))
    };
    if let Some(other) = all.iter().find(of_share) {
        return Err(Error::refused(
            format!(
                "another share of {} waits for a curator, as request {}",
                account.name, other.number
            ),
            "approve or decline that one first",
        ));
    }
    let change = Held::of(administration, &account.name)?.with(share);
    let request = Request {
        number: super::next_number(&all),
        by: account.name.clone(),
        created: now(),
        epsilon: None,
        reason: format!("proposed by {by}"),
        state: State::Proposed {
            first: by.to_owned(),
            at: now(),
            change: change.clone(),
        },
    };
    of_another(&request, by)?;
    super::keep(administration, &request)?;
    let about = format!("{}: {change}", request.about());
    administration.log(LogEntry::new("budget-proposed", by, about));
    Ok(request)
}
