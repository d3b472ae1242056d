//! Tokens: what programs sign in with, and the sessions of people.

use super::{Account, Error, change, find, name_of, now, read, write};
use crate::network::Network;
use crate::secrets::{self, Secret, Verifier};
use ledger::{LogEntry, Store};
use serde::{Deserialize, Serialize};

/// Fingerprints of tokens, with the account of each.
const TOKENS: &str = "token";
const KEYS: &str = "key";
/// The token that is meant where a PostgreSQL client names an account alone.
pub const DEFAULT_TOKEN: &str = "default";
/// What the names of tokens begin with that a password was given for.
pub(crate) const SESSION: &str = "session-";
/// How the names of tokens begin that browsers keep: they are good for pages alone.
pub(crate) const PAGE: &str = "session-page-";
/// The last use of a token is written down this often at most, in milliseconds.
const BETWEEN_USES: i64 = 60_000;
/// Tokens of one account that are good at the same time, sessions of people among them.
pub(super) const MOST_TOKENS: usize = 64;

/// What a program signs in with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// By which the account's owner knows it.
    pub name: String,
    /// When it was made, in milliseconds since 1970.
    pub created: i64,
    /// Until when it is good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    /// Whether it was revoked.
    #[serde(default)]
    pub revoked: bool,
    /// When it was last used, to about a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<i64>,
    fingerprint: String,
    /// The token that this session began with: it has to stay good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// Where a browser signed in that keeps this token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Network>,
    verifier: Verifier,
}

/// How a session begins.
#[derive(Clone, Debug)]
pub(crate) struct SessionStart {
    /// [`SESSION`] or [`PAGE`].
    pub(crate) kind: &'static str,
    /// The fingerprint of the token that it began with: it has to stay good.
    pub(crate) parent: Option<String>,
    /// Where it is good alone.
    pub(crate) from: Option<Network>,
}

impl Token {
    /// By which it is found again.
    pub(crate) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether it was made for somebody who signed in with a password, or on a page.
    pub fn is_session(&self) -> bool {
        self.name.starts_with(SESSION)
    }

    /// Whether it is one that a browser keeps.
    pub(crate) fn is_of_page(&self) -> bool {
        self.name.starts_with(PAGE)
    }

    /// Where the browser signed in that keeps it.
    pub(crate) fn signed_in_from(&self) -> Option<Network> {
        self.from
    }

    /// Whether one can sign in with it now.
    pub fn is_good(&self) -> bool {
        !self.revoked && self.expires.is_none_or(|expires| now() < expires)
    }
}

/// Makes a token, which is shown once. One of the same name is revoked by it.
///
/// # Errors
/// When there is no such account, or it was revoked.
pub fn add_token(
    store: &mut Store,
    by: &str,
    name: &str,
    token: &str,
    expires: Option<i64>,
) -> Result<Secret, Error> {
    made_token(store, by, name, token, expires, Began::ByHand)
}

/// Makes a session of an account, good until then and for as long as the token that it began with, if it
/// began with one.
pub(crate) fn begin_session(
    store: &mut Store,
    name: &str,
    label: &str,
    expires: i64,
    SessionStart { kind, parent, from }: SessionStart,
) -> Result<Secret, Error> {
    let label = format!("{kind}{label}");
    made_token(
        store,
        name,
        name,
        &label,
        Some(expires),
        Began::BySigningIn { parent, from },
    )
}

/// How a token began.
enum Began {
    /// Somebody made it for a program.
    ByHand,
    /// Somebody signed in, perhaps with another token, from this network. The code that let them in sums that
    /// up.
    BySigningIn {
        parent: Option<String>,
        from: Option<Network>,
    },
}

fn made_token(
    store: &mut Store,
    by: &str,
    name: &str,
    token: &str,
    expires: Option<i64>,
    began: Began,
) -> Result<Secret, Error> {
    let good = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if token.is_empty() || token.len() > 64 || !token.chars().all(good) {
        return Err(Error::new(
            "the name of a token has letters, digits, hyphens, underscores and dots, 64 at most",
            "name it after the program that will use it, such as notebook",
        ));
    }
    let (made_by_hand, parent, from) = match began {
        Began::ByHand => (true, None, None),
        Began::BySigningIn { parent, from } => (false, parent, from),
    };
    let unmade = |_| Error::new("the system has no random numbers to make a token of", "try again");
    let secret = Secret::new_token().map_err(unmade)?;
    let verifier = Verifier::of(&secret).map_err(unmade)?;
    let fingerprint = secrets::fingerprint(secret.reveal());
    change(store, name, |administration, account| {
        account
            .tokens
            .iter_mut()
            .filter(|old| old.name == token)
            .for_each(|old| old.revoked = true);
        // What cannot be used any more is forgotten; the log remembers it.
        for old in account.tokens.iter().filter(|old| !old.is_good()) {
            administration.forget(TOKENS, &old.fingerprint)?;
        }
        account.tokens.retain(Token::is_good);
        // An account that signs in often is not locked out: the oldest session ends.
        let oldest = account.tokens.iter().position(Token::is_session);
        if account.tokens.len() >= MOST_TOKENS
            && token.starts_with(SESSION)
            && let Some(oldest) = oldest
        {
            let ended = account.tokens.remove(oldest);
            administration.forget(TOKENS, &ended.fingerprint)?;
        }
        if account.tokens.len() >= MOST_TOKENS {
            return Err(Error::new(
                format!("an account has {MOST_TOKENS} tokens at most"),
                "revoke those that are not used: `deniable user list` shows them",
            ));
        }
        account.tokens.push(Token {
            name: token.to_owned(),
            created: now(),
            expires,
            revoked: false,
            last_used: None,
            fingerprint: fingerprint.clone(),
            parent,
            from,
            verifier,
        });
        administration.keep(TOKENS, &fingerprint, &account.name)?;
        if made_by_hand {
            let about = format!("{token} of {}", account.name);
            administration.log(LogEntry::new("token-made", by, about));
        }
        Ok(())
    })?;
    Ok(secret)
}

/// Ends a session, if it has not ended yet. The caller sums up that somebody signed out.
pub(crate) fn end_session(store: &mut Store, name: &str, fingerprint: &str) -> Result<bool, Error> {
    store.administer(|administration| {
        let Some(mut account) = read(administration, name)? else {
            return Ok(false);
        };
        let before = account.tokens.len();
        let is_it = |token: &Token| token.fingerprint == fingerprint && token.is_session();
        account.tokens.retain(|token| !is_it(token));
        let ended = account.tokens.len() < before;
        if ended {
            administration.forget(TOKENS, fingerprint)?;
            write(administration, &account)?;
        }
        Ok(ended)
    })
}

/// The account that the token of this fingerprint belongs to, if it is good.
pub(crate) fn of_fingerprint(
    store: &mut Store,
    fingerprint: &str,
) -> Result<Option<(Account, Token)>, Error> {
    let Some(name) = store
        .document(TOKENS, fingerprint)?
        .filter(|name| !name.is_empty())
    else {
        return Ok(None);
    };
    let Some(account) = find(store, &name)?.filter(|account| !account.revoked) else {
        return Ok(None);
    };
    let good = |fingerprint: &str| {
        let mut tokens = account.tokens.iter();
        tokens.find(|token| token.fingerprint == fingerprint && token.is_good())
    };
    let token =
        good(fingerprint).filter(|token| token.parent.as_ref().is_none_or(|parent| good(parent).is_some()));
    Ok(token.cloned().map(|token| (account.clone(), token)))
}

/// What a PostgreSQL client that signs in as `login` is checked against, and who it is if it passes. `login`
/// is an account, or an account and the name of a token: `ann` or `ann/notebook`. For an unknown login, a
/// verifier that nothing fits.
pub(crate) fn of_login(
    store: &mut Store,
    login: &str,
) -> Result<(Verifier, Option<(Account, Token)>), Error> {
    let (name, token) = login.rsplit_once('/').unwrap_or((login, DEFAULT_TOKEN));
    let key = unknown_key(store)?;
    let account = find(store, name)?.filter(|account| !account.revoked);
    let found = account.and_then(|account| {
        let token = account
            .tokens
            .iter()
            .find(|known| known.name == token && known.is_good() && !known.is_of_page())
            .cloned()?;
        Some((account, token))
    });
    Ok(match found {
        Some((account, token)) => (token.verifier.clone(), Some((account, token))),
        // As the same account in other spellings would have it.
        None => {
            let name = name_of(name).unwrap_or_else(|_| name.to_owned());
            (Verifier::of_nobody(&format!("{name}/{token}"), &key), None)
        }
    })
}

/// Writes down that a token was used, now and then.
pub(crate) fn used(store: &mut Store, name: &str, fingerprint_of: &Token) -> Result<(), Error> {
    if fingerprint_of
        .last_used
        .is_some_and(|last| now() - last < BETWEEN_USES)
    {
        return Ok(());
    }
    store.administer(|administration| {
        let Some(mut account) = read(administration, name)? else {
            return Ok(());
        };
        let same = |token: &&mut Token| token.fingerprint == fingerprint_of.fingerprint;
        account
            .tokens
            .iter_mut()
            .filter(same)
            .for_each(|token| token.last_used = Some(now()));
        write(administration, &account)
    })
}

/// From which verifiers of nobody are made. Kept, so that they are the same after a restart.
fn unknown_key(store: &mut Store) -> Result<Vec<u8>, Error> {
    if let Some(key) = store.document(KEYS, "unknown logins")? {
        return Ok(key.into_bytes());
    }
    let fresh =
        Secret::new_token().map_err(|_| Error::new("the system has no random numbers", "try again"))?;
    store.administer(
        |administration| match administration.document(KEYS, "unknown logins")? {
            Some(key) => Ok(key.into_bytes()),
            None => {
                administration.keep(KEYS, "unknown logins", fresh.reveal())?;
                Ok(fresh.reveal().as_bytes().to_vec())
            }
        },
    )
}
