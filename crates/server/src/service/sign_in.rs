//! Who asks: by a token, by a password, or by what the PostgreSQL wire has checked.

use super::{MOST_ANSWERS, Service, ending, too_many};
use crate::accounts::{self, Account, Role, Token};
use crate::failure::{Code, Failure};
use crate::secrets::{self, Verifier};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Who a token belongs to is looked up this often. So long a revoked token may be good on connections that are open.
const IDENTITY_LASTS: Duration = Duration::from_secs(1);
/// Passwords that are checked at once: each takes 19 MiB and a part of a second.
pub(super) const PASSWORDS_AT_ONCE: usize = 2;
const MOST_WAITING_PASSWORDS: usize = 32;
/// How long somebody who signed in with a password stays signed in.
const SIGNED_IN: Duration = Duration::from_secs(8 * 60 * 60);

/// Who asks: made by signing in, and by nothing else.
#[derive(Clone, Debug)]
pub struct Identity {
    pub(super) account: Arc<Account>,
    /// The fingerprint of the token that they signed in with: it has to stay good.
    token: String,
    /// Whether a browser keeps that token, which is good for pages alone.
    of_page: bool,
}

impl Identity {
    /// Their name, as the ledger has it.
    pub fn name(&self) -> &str {
        &self.account.name
    }

    /// What they may do.
    pub fn role(&self) -> Role {
        self.account.role
    }
}

impl Service {
    /// Who a bearer token belongs to.
    ///
    /// # Errors
    /// When it belongs to nobody, has expired or was revoked, or is that of a page: which of these is not said.
    pub async fn sign_in_with_token(&self, token: &str) -> Result<Identity, Failure> {
        let identity = self.of_token(token).await?;
        if identity.of_page {
            return Err(not_signed_in());
        }
        Ok(identity)
    }

    /// Who sits at a browser that has this token.
    ///
    /// # Errors
    /// As [`Service::sign_in_with_token`], of which this takes none.
    pub(crate) async fn of_session(&self, token: &str) -> Result<Identity, Failure> {
        let identity = self.of_token(token).await?;
        if !identity.of_page {
            return Err(not_signed_in());
        }
        Ok(identity)
    }

    async fn of_token(&self, token: &str) -> Result<Identity, Failure> {
        let fingerprint = secrets::fingerprint(token);
        let known = self.lock_identities().get(&fingerprint).cloned();
        if let Some((identity, since)) = known
            && since.elapsed() < IDENTITY_LASTS
        {
            return Ok(identity);
        }
        let looked_up = fingerprint.clone();
        let found = self
            .on_ledger(move |store| accounts::of_fingerprint(store, &looked_up))
            .await?;
        let Some((account, token)) = found else {
            self.lock_identities().remove(&fingerprint);
            self.metrics.login(false);
            self.journal.log("login-failed", "", "with a token");
            return Err(not_signed_in());
        };
        let identity = self.signed_in(account, token).await?;
        self.remember(&identity);
        Ok(identity)
    }

    /// A token for somebody who knows a password, good for eight hours.
    ///
    /// # Errors
    /// When the name or the password is wrong: which of these is not said.
    pub async fn sign_in_with_password(
        &self,
        name: &str,
        password: &str,
    ) -> Result<secrets::Secret, Failure> {
        let account = self.with_password(name, password).await?;
        self.new_session(&account.name, accounts::SESSION, None).await
    }

    async fn with_password(&self, name: &str, password: &str) -> Result<Account, Failure> {
        // Guesses are limited by name, in whatever spelling, before anything is looked up or hashed.
        let Some(name) = accounts::spelled(name) else {
            return Err(not_signed_in());
        };
        if self.guesses.check_key(&name).is_err() {
            return Err(too_many());
        }
        if self.passwords.available_permits() == 0
            && self.waiting_passwords.load(Ordering::SeqCst) >= MOST_WAITING_PASSWORDS
        {
            return Err(too_many());
        }
        self.waiting_passwords.fetch_add(1, Ordering::SeqCst);
        let turn = self.passwords.acquire().await;
        self.waiting_passwords.fetch_sub(1, Ordering::SeqCst);
        let _turn = turn.map_err(|_| ending())?;
        let looked_up = name.clone();
        let account = self
            .on_ledger(move |store| accounts::find(store, &looked_up))
            .await?
            .filter(|account| !account.revoked);
        let password = zeroize::Zeroizing::new(password.to_owned());
        let checked = tokio::task::spawn_blocking(move || {
            accounts::has_password(account.as_ref(), &password)
                .then_some(account)
                .flatten()
        });
        let account = checked.await.map_err(|_| Failure::defect("signing in failed"))?;
        self.metrics.login(account.is_some());
        let Some(account) = account else {
            self.journal.log("login-failed", &name, "with a password");
            return Err(not_signed_in());
        };
        self.journal.log("login", &name, "with a password");
        Ok(account)
    }

    /// A token that is good for eight hours; one that began with another token no longer than that.
    async fn new_session(
        &self,
        account: &str,
        kind: &'static str,
        parent: Option<String>,
    ) -> Result<secrets::Secret, Failure> {
        let label = secrets::random::<8>().map_err(|error| Failure::incident("signing in failed", &error))?;
        let label: String = label.iter().map(|byte| format!("{byte:02x}")).collect();
        let account = account.to_owned();
        self.on_ledger(move |store| {
            let expires = accounts::now() + i64::try_from(SIGNED_IN.as_millis()).unwrap_or(i64::MAX);
            accounts::begin_session(store, &account, &format!("{kind}{label}"), expires, parent)
        })
        .await
    }

    /// The secret that a browser keeps for somebody who signs in on a page with a password or a token. It is a new one, so that what a browser keeps is good for pages alone and ends by itself.
    ///
    /// # Errors
    /// When they do not fit: which of them is not said.
    pub(crate) async fn open_session(&self, name: &str, secret: &str) -> Result<secrets::Secret, Failure> {
        if !secrets::looks_like_token(secret) {
            let account = self.with_password(name, secret).await?;
            return self.new_session(&account.name, accounts::PAGE, None).await;
        }
        let identity = self.sign_in_with_token(secret).await?;
        if accounts::spelled(name).as_deref() != Some(identity.name()) {
            return Err(not_signed_in());
        }
        self.journal
            .log("login", identity.name(), "on a page, with a token");
        self.new_session(identity.name(), accounts::PAGE, Some(identity.token.clone()))
            .await
    }

    /// Ends the session of a browser. The token that it began with, if any, stays good.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub(crate) async fn close_session(&self, who: &Identity) -> Result<(), Failure> {
        let (name, fingerprint) = (who.name().to_owned(), who.token.clone());
        self.lock_identities().remove(&who.token);
        let ended = self
            .on_ledger(move |store| accounts::end_session(store, &name, &fingerprint))
            .await?;
        if ended {
            self.journal.log("logout", who.name(), "on a page");
        }
        Ok(())
    }

    /// What a PostgreSQL client that signs in under this name is checked against, and who it is if it passes.
    pub(crate) async fn verifier_of(
        &self,
        login: &str,
    ) -> Result<(Verifier, Option<(Account, Token)>), Failure> {
        let login = login.to_owned();
        self.on_ledger(move |store| accounts::of_login(store, &login))
            .await
    }

    /// Who a PostgreSQL client is that has passed; the account and the token are those of [`Service::verifier_of`].
    pub(crate) async fn signed_in_by_wire(
        &self,
        account: Account,
        token: Token,
    ) -> Result<Identity, Failure> {
        let identity = self.signed_in(account, token).await?;
        self.journal
            .log("login", identity.name(), "over the PostgreSQL wire");
        Ok(identity)
    }

    /// Notes a client that did not pass.
    pub(crate) fn failed_by_wire(&self, login: &str) {
        self.metrics.login(false);
        self.journal
            .log("login-failed", login, "over the PostgreSQL wire");
    }

    /// The same identity as the accounts have it now; fails where the account or the token was revoked, or has expired, since it signed in.
    pub(crate) async fn still_signed_in(&self, who: &Identity) -> Result<Identity, Failure> {
        let known = self.lock_identities().get(&who.token).cloned();
        if let Some((identity, since)) = known
            && since.elapsed() < IDENTITY_LASTS
        {
            return Ok(identity);
        }
        let fingerprint = who.token.clone();
        let found = self
            .on_ledger(move |store| accounts::of_fingerprint(store, &fingerprint))
            .await?;
        let Some((account, _)) = found else {
            self.lock_identities().remove(&who.token);
            return Err(not_signed_in());
        };
        let identity = Identity {
            account: Arc::new(account),
            ..who.clone()
        };
        self.remember(&identity);
        Ok(identity)
    }

    fn remember(&self, identity: &Identity) {
        let mut identities = self.lock_identities();
        if identities.len() >= MOST_ANSWERS {
            identities.clear();
        }
        identities.insert(identity.token.clone(), (identity.clone(), Instant::now()));
    }

    async fn signed_in(&self, account: Account, token: Token) -> Result<Identity, Failure> {
        self.metrics.login(true);
        let name = account.name.clone();
        let (fingerprint, of_page) = (token.fingerprint().to_owned(), token.is_of_page());
        self.on_ledger(move |store| accounts::used(store, &name, &token))
            .await?;
        Ok(Identity {
            account: Arc::new(account),
            token: fingerprint,
            of_page,
        })
    }
}

fn not_signed_in() -> Failure {
    Failure::new(
        Code::NotSignedIn,
        "you are not signed in",
        "send a token that is good, as Authorization: Bearer …; the curator makes one with `deniable user token`",
    )
}
