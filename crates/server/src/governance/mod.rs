//! Changes of the catalog that loosen what it promises need two curators.
//!
//! The catalog that is in force is kept in the ledger's database, and its digest in the chain. Another one is
//! taken over when the server starts, or by `deniable budget adopt`. A catalog that only tightens (a lower
//! budget, another version of the data, lower shares) is taken over at once. Any other is taken over only if
//! one curator has proposed exactly this text and another has approved it.
//!
//! If there are no curators among the accounts, one person keeps everything, and no approval is asked for. As
//! long as there is one curator alone, that curator may give shares, in a catalog as in an account
//! ([`requests::add_account`]).
//!
//! A person who can write to the catalog and to the ledger's database on the machine itself can get around
//! it. The rule is for people who work with the tools, and it leaves a trace.

use crate::accounts::{self, Account, Role, now};
use crate::passwords::readable;
use crate::requests;
use exact::Rational;
use ledger::{Administration, LogEntry, Store};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

const CATALOGS: &str = "catalog";
const IN_FORCE: &str = "in force";
const PROPOSALS: &str = "proposal";
/// Where the shares of analysts are in a catalog.
const SHARES: &str = "budget.analysts";
/// The texts that were proposed, by their digest, so that the curator who approves one can read it.
const TEXTS: &str = "proposed catalog";

/// A text that is to become the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// The SHA-256 of the text, by which it is known.
    pub digest: String,
    /// What it changes beyond tightening.
    pub loosens: Vec<String>,
    /// Who proposed it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub created: i64,
    /// The SHA-256 of the catalog that was in force then: it is approved, and taken over, as a change of that
    /// one.
    pub base: String,
    /// The curator who approved it; never the one who proposed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// The number of the request for more budget that it answers. The person who made the request cannot
    /// approve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
}

/// Why a change is not taken over.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Two curators have to agree to it.
    #[error(
        "the catalog differs from the one in force in what needs two curators: {}\nhint: one curator proposes this text (POST /v1/proposals), another approves it (POST /v1/proposals/{digest}/approve), and then the server takes it over when it starts",
        .loosens.join("; ")
    )]
    NeedsTwo {
        /// What it loosens.
        loosens: Vec<String>,
        /// The SHA-256 of the text.
        digest: String,
    },
    /// It makes no sense as it was asked for.
    #[error("{what}\nhint: {hint}")]
    Refused {
        /// What is wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The accounts cannot be used.
    #[error(transparent)]
    Accounts(#[from] accounts::Error),
}

impl From<ledger::Error> for Error {
    fn from(error: ledger::Error) -> Self {
        Self::Accounts(error.into())
    }
}

impl Error {
    pub(crate) fn refused(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            what: what.into(),
            hint: hint.into(),
        }
    }
}

/// Takes over the catalog that is about to be used, or says which approval it needs first.
///
/// # Errors
/// When two curators have to agree, or the ledger cannot be used.
pub fn take_over(store: &mut Store, by: &str, text: &str) -> Result<(), Error> {
    let digest = digest(text);
    store.administer(|administration| {
        let before = administration.document(CATALOGS, IN_FORCE)?;
        if before.as_deref() == Some(text) {
            return Ok(());
        }
        let loosens = match &before {
            Some(before) => loosened(before, text)?,
            None => Vec::new(),
        };
        let curators = curators(administration)?;
        let loosens = needing_two(loosens, curators);
        let mut approved = String::new();
        if !loosens.is_empty() && curators > 0 {
            let proposal = administration.document(PROPOSALS, &digest)?;
            let base = before.as_deref().map_or_else(String::new, self::digest);
            let proposal = proposal.as_deref().map(parse).transpose()?;
            let proposal = proposal.filter(|proposal| proposal.base == base);
            let Some(second) = proposal
                .as_ref()
                .and_then(|proposal| proposal.approved_by.as_ref())
            else {
                return Err(Error::NeedsTwo {
                    loosens,
                    digest: digest.clone(),
                });
            };
            let first = proposal.as_ref().map_or("", |proposal| &proposal.by);
            approved = format!(", proposed by {first} and approved by {second}");
            // An approval is good for one change.
            if let Some(proposal) = &proposal {
                let used = Proposal {
                    approved_by: None,
                    ..proposal.clone()
                };
                administration.keep(PROPOSALS, &digest, &written(&used))?;
            }
        }
        administration.keep(CATALOGS, IN_FORCE, text)?;
        administration.log(LogEntry::new(
            "catalog-in-force",
            by,
            format!("{digest}{approved}"),
        ));
        Ok(())
    })
}

/// How many curators there are, inside a transaction.
pub(crate) fn curators(administration: &mut Administration<'_>) -> Result<usize, Error> {
    Ok(curators_among(&accounts::read_all(administration)?))
}

fn curators_among(accounts: &[Account]) -> usize {
    let curators = accounts
        .iter()
        .filter(|account| account.role == Role::Curator && !account.revoked);
    curators.count()
}

/// What a text changes in the catalog in force that needs two curators.
pub(crate) fn loosened_by(store: &mut Store, text: &str) -> Result<Vec<String>, Error> {
    let before = in_force(store)?.unwrap_or_default();
    let curators = curators_among(&accounts::list(store)?);
    Ok(needing_two(loosened(&before, text)?, curators))
}

/// The part of the loosening that needs two curators, if there are that many.
fn needing_two(mut loosens: Vec<String>, curators: usize) -> Vec<String> {
    if curators < 2 {
        loosens.retain(|change| !change.starts_with(SHARES));
    }
    loosens
}

/// Proposes a text. It reports what the text changes, so that the curator who approves it knows.
///
/// # Errors
/// When it is no TOML, or changes nothing that needs two curators.
pub fn propose(store: &mut Store, by: &str, text: &str) -> Result<Proposal, Error> {
    store.administer(|administration| propose_for(administration, by, text, None))
}

/// The same inside a transaction, in which it may answer a request for more budget.
pub(crate) fn propose_for(
    administration: &mut Administration<'_>,
    by: &str,
    text: &str,
    request: Option<u64>,
) -> Result<Proposal, Error> {
    if readable(text).is_none() {
        return Err(unreadable());
    }
    let digest = digest(text);
    let Some(before) = administration.document(CATALOGS, IN_FORCE)? else {
        return Err(Error::refused(
            "no catalog is in force yet",
            "start the server once with the catalog that there is",
        ));
    };
    let loosens = needing_two(loosened(&before, text)?, curators(administration)?);
    if loosens.is_empty() {
        return Err(Error::refused(
            "this text changes nothing that needs a second curator",
            "write it to the catalog and start the server again",
        ));
    }
    let base = self::digest(&before);
    let request = match (request, answered_before(administration, &digest, by)?) {
        (Some(new), Some(old)) if new != old => {
            return Err(Error::refused(
                format!("the same catalog was proposed for request {old}"),
                "decide about that one first",
            ));
        }
        (new, old) => new.or(old),
    };
    let proposal = Proposal {
        digest: digest.clone(),
        loosens,
        by: by.to_owned(),
        created: now(),
        base,
        approved_by: None,
        request,
    };
    administration.keep(PROPOSALS, &digest, &written(&proposal))?;
    administration.keep(TEXTS, &digest, text)?;
    let about = format!("{digest}: {}", proposal.loosens.join("; "));
    administration.log(LogEntry::new("catalog-proposed", by, about));
    Ok(proposal)
}

/// The request that this very text answers already, if the request waits. The text goes on answering it, so
/// that the person who made the request cannot propose or approve the same text past it.
fn answered_before(
    administration: &mut Administration<'_>,
    digest: &str,
    by: &str,
) -> Result<Option<u64>, Error> {
    let proposal = administration.document(PROPOSALS, digest)?;
    let proposal = proposal.as_deref().map(parse).transpose()?;
    // Whatever catalog was in force then: the same text answers the same request.
    match proposal.and_then(|proposal| proposal.request) {
        Some(number) if requests::may_propose(administration, number, by)? => Ok(Some(number)),
        _ => Ok(None),
    }
}

/// Approves a proposal of another curator.
///
/// # Errors
/// When there is none, its text was not kept, or who approves it has proposed it.
pub fn approve(store: &mut Store, by: &str, digest: &str) -> Result<Proposal, Error> {
    let account = accounts::find(store, by)?;
    store.administer(|administration| {
        let Some(kept) = administration.document(PROPOSALS, digest)? else {
            return Err(Error::refused(
                "there is no such proposal",
                "GET /v1/proposals lists them",
            ));
        };
        let mut proposal = parse(&kept)?;
        if proposal.by == by {
            return Err(Error::refused(
                "who proposed a catalog cannot approve it",
                "another curator has to look at it",
            ));
        }
        // Nobody approves what they cannot read.
        match itself(administration.document(TEXTS, digest)?, digest) {
            Some(text) if readable(&text).is_some() => {}
            Some(_) => return Err(unreadable()),
            None => {
                return Err(Error::refused(
                    "the text of this proposal was not kept, so nobody can read what it changes",
                    "propose it again, and let another curator approve that",
                ));
            }
        }
        if account
            .as_ref()
            .is_none_or(|account| account.created >= proposal.created)
        {
            return Err(Error::refused(
                "who approves a proposal was a curator before it was made",
                "another curator has to look at it, or the proposal is made again",
            ));
        }
        let before = administration.document(CATALOGS, IN_FORCE)?;
        if before.as_deref().map(self::digest).as_ref() != Some(&proposal.base) {
            return Err(Error::refused(
                "another catalog is in force than when this was proposed",
                "propose it again, so that what it changes is known",
            ));
        }
        if let Some(number) = proposal.request {
            requests::catalog_approved(administration, number, &proposal.by, by)?;
        }
        proposal.approved_by = Some(by.to_owned());
        administration.keep(PROPOSALS, digest, &written(&proposal))?;
        administration.log(LogEntry::new("catalog-approved", by, digest));
        Ok(proposal)
    })
}

/// The catalog that is in force, if one was taken over yet.
///
/// # Errors
/// When the ledger cannot be used.
pub fn in_force(store: &mut Store) -> Result<Option<String>, Error> {
    Ok(store.document(CATALOGS, IN_FORCE)?)
}

/// The same inside a transaction.
pub(crate) fn in_force_now(administration: &mut Administration<'_>) -> Result<Option<String>, Error> {
    Ok(administration.document(CATALOGS, IN_FORCE)?)
}

/// The text of a proposal, if it was kept.
///
/// # Errors
/// When the ledger cannot be used.
pub fn proposed_text(store: &mut Store, digest: &str) -> Result<Option<String>, Error> {
    Ok(itself(store.document(TEXTS, digest)?, digest))
}

/// A text that was kept under a digest, if it is the one of that digest.
fn itself(text: Option<String>, digest: &str) -> Option<String> {
    text.filter(|text| self::digest(text) == digest)
}

/// For a text that cannot be shown without passwords.
fn unreadable() -> Error {
    Error::refused(
        "this text cannot be shown to another curator without the passwords that are in it",
        "write each address of a database in plain quotes, without escapes, and keep addresses out of other texts",
    )
}

/// All proposals.
///
/// # Errors
/// When the ledger cannot be used.
pub fn proposals(store: &mut Store) -> Result<Vec<Proposal>, Error> {
    store
        .documents(PROPOSALS)?
        .iter()
        .map(|(_, body)| parse(body))
        .collect()
}

fn parse(body: &str) -> Result<Proposal, Error> {
    serde_json::from_str(body).map_err(|_| {
        Error::refused(
            "a proposal cannot be read",
            "perhaps a newer version wrote it: use that one",
        )
    })
}

fn written(proposal: &Proposal) -> String {
    serde_json::to_string(proposal).expect("a proposal is plain data")
}

/// The SHA-256 of a text.
pub(crate) fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What one text changes in another beyond tightening, by the places of the keys. Comments and order do not
/// matter.
pub(crate) fn loosened(before: &str, after: &str) -> Result<Vec<String>, Error> {
    let read = |text: &str| {
        text.parse::<Table>().map_err(|_| {
            Error::refused(
                "the catalog is not TOML",
                "`deniable check` says where it is wrong",
            )
        })
    };
    let (before, after) = (Value::Table(read(before)?), Value::Table(read(after)?));
    let mut found = Vec::new();
    compare("", Some(&before), Some(&after), &mut found);
    Ok(found)
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<String>) {
    if before == after {
        return;
    }
    if let (Some(Value::Table(before)), Some(Value::Table(after))) = (before, after) {
        let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let path = match path {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            compare(&path, before.get(key), after.get(key), found);
        }
        return;
    }
    if !tightens(path, before, after) {
        let change = match (before, after) {
            (None, _) => "is new",
            (_, None) => "is gone",
            _ => "changes",
        };
        found.push(format!("{path} {change}"));
    }
}

/// Whether a change of this key cannot weaken what is promised to anybody in the data. What is not listed
/// can.
fn tightens(path: &str, before: Option<&Value>, after: Option<&Value>) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    match parts.as_slice() {
        ["budget", "epsilon" | "delta"] | ["budget", "analysts", _] => {
            match (before.and_then(number), after.and_then(number)) {
                (Some(before), Some(after)) => after <= before,
                _ => false,
            }
        }
        // What a question takes that does not say, and which state of the data is meant.
        ["budget", "query", ..] | ["data", ..] | ["tables", _, "version"] | ["name"] => true,
        _ => false,
    }
}

pub(crate) fn number(value: &Value) -> Option<Rational> {
    let text = match value {
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    exact::parse_decimal(&text).ok()
}

#[cfg(test)]
mod tests;
