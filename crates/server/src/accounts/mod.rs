//! Accounts, roles and tokens, kept in the ledger's database. Every change to them is an entry of the ledger.

mod roles;
mod tokens;

pub use roles::{Right, Role};
pub use tokens::{DEFAULT_TOKEN, Token, add_token};
pub(crate) use tokens::{
    PAGE, SESSION, SessionStart, begin_session, end_session, of_fingerprint, of_login, used,
};

use crate::secrets;
use ledger::{Administration, Analyst, Caps, LogEntry, Store};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

const ACCOUNTS: &str = "account";

/// Why an account cannot be made or changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// It makes no sense as it was asked for.
    #[error("{what}\nhint: {hint}")]
    Refused {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}

impl Error {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            what: what.into(),
            hint: hint.into(),
        }
    }
}

/// Somebody who may sign in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// In its one spelling.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// What one question and one day may cost.
    #[serde(default)]
    pub caps: Caps,
    /// The share of the budget, as text; the ledger's rules hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created: i64,
    /// Whether it was revoked for good.
    #[serde(default)]
    pub revoked: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    password: Option<PasswordHash>,
    /// Its tokens.
    #[serde(default)]
    pub tokens: Vec<Token>,
}

/// An Argon2id hash, not printed.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct PasswordHash(String);

impl fmt::Debug for PasswordHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PasswordHash(..)")
    }
}

impl Account {
    /// Whether it has a password.
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }
}

/// What a new account is to be.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// The name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// What one question and one day may cost.
    pub caps: Caps,
}

impl NewAccount {
    /// An account of this role without a share of its own and without limits.
    pub fn new(name: impl Into<String>, role: Role) -> Self {
        Self {
            name: name.into(),
            role,
            caps: Caps::default(),
        }
    }
}

/// Makes an account without a share of the budget: [`crate::requests::add_account`] gives one, by the rule
/// that takes two curators.
///
/// # Errors
/// When there is one of that name, or the name is none.
pub fn add(store: &mut Store, by: &str, new: &NewAccount) -> Result<Account, Error> {
    store.administer(|administration| make(administration, by, new))
}

/// The same inside a transaction.
pub(crate) fn make(
    administration: &mut Administration<'_>,
    by: &str,
    new: &NewAccount,
) -> Result<Account, Error> {
    let name = name_of(&new.name)?;
    if read(administration, &name)?.is_some() {
        return Err(Error::new(
            format!("there is an account {name:?} already"),
            "a name is never used again, also after it was revoked: choose another, or change this one with `deniable user set`",
        ));
    }
    let account = Account {
        name: name.clone(),
        role: new.role,
        caps: new.caps.clone(),
        share: None,
        created: now(),
        revoked: false,
        password: None,
        tokens: Vec::new(),
    };
    write(administration, &account)?;
    let about = format!("{name}, {}{}", new.role.name(), described(&account));
    administration.log(LogEntry::new("account-added", by, about));
    Ok(account)
}

/// Changes the limits of an account inside a transaction. What is `None` stays as it is.
pub(crate) fn set_caps(
    administration: &mut Administration<'_>,
    by: &str,
    name: &str,
    caps: &Caps,
) -> Result<Account, Error> {
    let mut account = good(administration, &name_of(name)?)?;
    if *caps == Caps::default() {
        return Ok(account);
    }
    let Caps {
        per_question,
        per_day,
    } = caps.clone();
    account.caps.per_question = per_question.or(account.caps.per_question);
    account.caps.per_day = per_day.or(account.caps.per_day);
    changed(administration, by, account)
}

/// Gives an account another share inside a transaction.
pub(crate) fn grant_share(
    administration: &mut Administration<'_>,
    by: &str,
    name: &str,
    share: &str,
) -> Result<Account, Error> {
    let mut account = good(administration, name)?;
    let unreadable = |_| {
        Error::new(
            "the share is no number",
            "decline it, and let it be proposed again",
        )
    };
    let rational = exact::parse_decimal(share).map_err(unreadable)?;
    account.share = Some(share.to_owned());
    let given = administration.set_share(&account.name, Some(&rational));
    given.map_err(|error| match error {
        // It is the share that is wrong, and not the ledger.
        ledger::Error::BadRules { what, hint } => Error::new(what, hint),
        error => error.into(),
    })?;
    changed(administration, by, account)
}

/// Writes what an account may spend now, and that it changed.
fn changed(administration: &mut Administration<'_>, by: &str, account: Account) -> Result<Account, Error> {
    let about = format!("{}{}", account.name, described(&account));
    administration.log(LogEntry::new("account-changed", by, about));
    write(administration, &account)?;
    Ok(account)
}

/// The account of this name, which was not revoked.
fn good(administration: &mut Administration<'_>, name: &str) -> Result<Account, Error> {
    let account = read(administration, name)?.filter(|account| !account.revoked);
    account.ok_or_else(|| no_account(name))
}

/// Sets the password that a person signs in with.
///
/// # Errors
/// When it is too short or too long, or there is no such account.
pub fn set_password(store: &mut Store, by: &str, name: &str, password: &str) -> Result<Account, Error> {
    if password.chars().count() < 12 {
        return Err(Error::new(
            "a password has at least 12 characters",
            "several words in a row are easy to keep in mind; programs use a token instead",
        ));
    }
    let Some(hash) = secrets::hash_password(password) else {
        return Err(Error::new("this password cannot be kept", "choose a shorter one"));
    };
    change(store, name, |administration, account| {
        account.password = Some(PasswordHash(hash));
        // Everybody who had the old one, or a session that began with it, is signed out.
        account
            .tokens
            .iter_mut()
            .filter(|token| token.is_session())
            .for_each(|token| token.revoked = true);
        administration.log(LogEntry::new("password-set", by, &account.name));
        Ok(())
    })
}

/// Revokes an account for good, or one token of it. It takes effect at once; what was asked stays charged.
///
/// # Errors
/// When there is no such account or token.
pub fn revoke(store: &mut Store, by: &str, name: &str, token: Option<&str>) -> Result<(), Error> {
    let name = name_of(name)?;
    store.administer(|administration| {
        let mut account = read(administration, &name)?.ok_or_else(|| no_account(&name))?;
        match token {
            None => {
                account.revoked = true;
                account.tokens.iter_mut().for_each(|token| token.revoked = true);
                administration.log(LogEntry::new("account-revoked", by, &name));
            }
            Some(token) => {
                let mut named = account
                    .tokens
                    .iter_mut()
                    .filter(|old| old.name == token && !old.revoked)
                    .peekable();
                if named.peek().is_none() {
                    return Err(Error::new(
                        format!("{name} has no token {token:?} that is good"),
                        "`deniable user list` shows the tokens",
                    ));
                }
                named.for_each(|token| token.revoked = true);
                administration.log(LogEntry::new("token-revoked", by, format!("{token} of {name}")));
            }
        }
        write(administration, &account)
    })
}

/// All accounts, by name.
///
/// # Errors
/// When the ledger cannot be used.
pub fn list(store: &mut Store) -> Result<Vec<Account>, Error> {
    store
        .documents(ACCOUNTS)?
        .iter()
        .map(|(_, body)| parse(body))
        .collect()
}

/// The account of a name, if there is one.
///
/// # Errors
/// When the ledger cannot be used.
pub fn find(store: &mut Store, name: &str) -> Result<Option<Account>, Error> {
    let Ok(name) = name_of(name) else {
        return Ok(None);
    };
    store
        .document(ACCOUNTS, &name)?
        .map(|body| parse(&body))
        .transpose()
}

/// Whether a password is that of an account, if there is one. Takes as long if there is none.
pub(crate) fn has_password(account: Option<&Account>, password: &str) -> bool {
    // The hash of a random password that nobody knows.
    const OF_NOBODY: &str =
        "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$pFiEO7BylHRWttQz51PiraswBEQSoQmH3aXK5Z5L408";
    let kept = account.and_then(|account| account.password.as_ref());
    let right = secrets::verify_password(password, kept.map_or(OF_NOBODY, |hash| &hash.0));
    right && kept.is_some()
}

/// The one spelling of a name, by which attempts to sign in are counted; `None` for what is no name.
pub(crate) fn spelled(name: &str) -> Option<String> {
    name_of(name).ok()
}

fn change(
    store: &mut Store,
    name: &str,
    change: impl FnOnce(&mut Administration<'_>, &mut Account) -> Result<(), Error>,
) -> Result<Account, Error> {
    let name = name_of(name)?;
    store.administer(|administration| {
        let mut account = good(administration, &name)?;
        change(administration, &mut account)?;
        write(administration, &account)?;
        Ok(account)
    })
}

/// All accounts, inside a transaction.
pub(crate) fn read_all(administration: &mut Administration<'_>) -> Result<Vec<Account>, Error> {
    let documents = administration.documents(ACCOUNTS)?;
    documents.iter().map(|(_, body)| parse(body)).collect()
}

/// The account of this name, inside a transaction.
pub(crate) fn read(administration: &mut Administration<'_>, name: &str) -> Result<Option<Account>, Error> {
    administration
        .document(ACCOUNTS, name)?
        .map(|body| parse(&body))
        .transpose()
}

fn write(administration: &mut Administration<'_>, account: &Account) -> Result<(), Error> {
    let body = serde_json::to_string(account).expect("an account is plain data");
    Ok(administration.keep(ACCOUNTS, &account.name, &body)?)
}

fn parse(body: &str) -> Result<Account, Error> {
    serde_json::from_str(body).map_err(|_| {
        Error::new(
            "an account cannot be read",
            "perhaps a newer version wrote it: use that one",
        )
    })
}

fn name_of(name: &str) -> Result<String, Error> {
    if name.contains('/') || name.len() > 200 {
        return Err(Error::new(
            "the name of an account has no slash and at most 200 characters",
            "PostgreSQL clients sign in as name/token where an account has several tokens",
        ));
    }
    Ok(Analyst::named(name)?.name().to_owned())
}

fn no_account(name: &str) -> Error {
    Error::new(
        format!("there is no account {name:?}"),
        "`deniable user list` shows the accounts",
    )
}

fn described(account: &Account) -> String {
    let mut text = String::new();
    for (what, value) in [
        ("share", account.share.clone()),
        (
            "ε a question",
            account.caps.per_question.as_ref().map(ToString::to_string),
        ),
        ("ε a day", account.caps.per_day.as_ref().map(ToString::to_string)),
    ] {
        if let Some(value) = value {
            text.push_str(&format!(", {what} {value}"));
        }
    }
    text
}

/// The moment this many days from now, in milliseconds since 1970.
pub fn in_days(days: u32) -> i64 {
    now().saturating_add(i64::from(days) * 24 * 60 * 60 * 1000)
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
