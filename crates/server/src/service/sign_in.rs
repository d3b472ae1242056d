//! Signing in: by a token, by a password, or by what the PostgreSQL wire has checked.

use super::{MOST_ANSWERS, Service, attempts, forbidden};
use crate::accounts::{self, Account, Right, Role, SessionStart, Token};
use crate::failure::{Code, Failure};
use crate::network::Network;
use crate::secrets::{self, Verifier};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the account of a token is looked up. A revoked token may be good for that long on connections
/// that are open.
const IDENTITY_LASTS: Duration = Duration::from_secs(1);
/// How long somebody who signed in with a password stays signed in.
const SIGNED_IN: Duration = Duration::from_secs(8 * 60 * 60);

/// The account that asks: made by signing in, and by nothing else.
#[derive(Clone, Debug)]
pub struct Identity {
    pub(super) account: Arc<Account>,
    /// The fingerprint of the token that they signed in with: it has to stay good.
    token: String,
    /// Whether a browser keeps that token, which is good for pages alone.
    of_page: bool,
    /// Where that browser signed in.
    signed_in_from: Option<Network>,
}

impl Identity {
    /// Their name, as the ledger has it.
    pub fn name(&self) -> &str {
        &self.account.name
    }

    /// What they are.
    pub fn role(&self) -> Role {
        self.account.role
    }

    /// Whether they may do this.
    pub fn may(&self, right: Right) -> bool {
        self.role().may(right)
    }
}

impl Service {
    /// Whether somebody may do something, and not too often: what every entrance asks first.
    pub(crate) fn allow(&self, who: &Identity, right: Right) -> Result<(), Failure> {
        match who.may(right) {
            true => self.check_rate(who.name()),
            false => Err(forbidden()),
        }
    }

    /// The account that a bearer token belongs to.
    ///
    /// # Errors
    /// When it belongs to nobody, has expired or was revoked, or is that of a page: which of these is not
    /// said.
    pub async fn sign_in_with_token(&self, token: &str) -> Result<Identity, Failure> {
        let identity = self.of_token(token).await?;
        if identity.of_page {
            return Err(not_signed_in());
        }
        Ok(identity)
    }

    /// The person at a browser that has this token, and is where it signed in: a copied cookie is good
    /// nowhere else.
    ///
    /// # Errors
    /// As [`Service::sign_in_with_token`], of which this takes none.
    pub(crate) async fn of_session(&self, token: &str, from: Network) -> Result<Identity, Failure> {
        let identity = self.of_token(token).await?;
        if !identity.of_page {
            return Err(not_signed_in());
        }
        let elsewhere = identity.signed_in_from.is_some_and(|network| network != from);
        if elsewhere && !self.settings.roaming {
            self.journal.log(
                "login-failed",
                identity.name(),
                "with a session of another address",
            );
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

    /// A token for somebody who knows a password, good for eight hours, wherever it is used.
    ///
    /// # Errors
    /// When the name or the password is wrong: which of these is not said. When there were too many attempts.
    pub async fn sign_in_with_password(
        &self,
        name: &str,
        password: &str,
        from: Network,
    ) -> Result<secrets::Secret, Failure> {
        let account = self.with_password(name, password, from).await?;
        let start = SessionStart {
            kind: accounts::SESSION,
            parent: None,
            from: None,
        };
        self.new_session(&account.name, start).await
    }

    async fn with_password(&self, name: &str, password: &str, from: Network) -> Result<Account, Failure> {
        // Attempts are limited by name, in whatever spelling, before anything is looked up or hashed.
        let Some(name) = accounts::spelled(name) else {
            return Err(not_signed_in());
        };
        let turn = self.attempts.turn(&name, from).await?;
        let looked_up = name.clone();
        let account = self
            .on_ledger(move |store| accounts::find(store, &looked_up))
            .await?
            .filter(|account| !account.revoked);
        let password = zeroize::Zeroizing::new(password.to_owned());
        let checked = attempts::threads().spawn_blocking(move || {
            // Held until the work is done: hanging up does not make room for one more at once.
            let _turn = turn;
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
        self.attempts.succeeded(&name, from);
        self.journal.log("login", &name, "with a password");
        Ok(account)
    }

    /// Where people are signed in is familiar to their accounts, also after the server was started again.
    pub(super) async fn recall_sessions(&self) {
        let accounts = self.on_ledger(accounts::list).await.unwrap_or_default();
        for account in &accounts {
            let good = account.tokens.iter().filter(|token| token.is_good());
            for from in good.filter_map(Token::signed_in_from) {
                self.attempts.succeeded(&account.name, from);
            }
        }
    }

    /// A token that is good for eight hours; one that began with another token no longer than that.
    async fn new_session(&self, account: &str, start: SessionStart) -> Result<secrets::Secret, Failure> {
        let label = secrets::random::<8>().map_err(|error| Failure::incident("signing in failed", &error))?;
        let label: String = label.iter().map(|byte| format!("{byte:02x}")).collect();
        let account = account.to_owned();
        self.on_ledger(move |store| {
            let expires = accounts::now() + i64::try_from(SIGNED_IN.as_millis()).unwrap_or(i64::MAX);
            accounts::begin_session(store, &account, &label, expires, start)
        })
        .await
    }

    /// The secret that a browser keeps for somebody who signs in on a page with a password or a token. It is
    /// a new one, so that what a browser keeps is good for pages alone and ends by itself.
    ///
    /// # Errors
    /// When they do not fit: which of them is not said.
    pub(crate) async fn open_session(
        &self,
        name: &str,
        secret: &str,
        from: Network,
    ) -> Result<secrets::Secret, Failure> {
        let page = |parent| SessionStart {
            kind: accounts::PAGE,
            parent,
            from: Some(from),
        };
        if !secrets::looks_like_token(secret) {
            let account = self.with_password(name, secret, from).await?;
            return self.new_session(&account.name, page(None)).await;
        }
        let identity = self.sign_in_with_token(secret).await?;
        if accounts::spelled(name).as_deref() != Some(identity.name()) {
            return Err(not_signed_in());
        }
        self.attempts.succeeded(identity.name(), from);
        self.journal
            .log("login", identity.name(), "on a page, with a token");
        self.new_session(identity.name(), page(Some(identity.token.clone())))
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

    /// The identity of a PostgreSQL client that has passed; the account and the token are those of
    /// [`Service::verifier_of`].
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

    /// The same identity as the accounts have it now; fails where the account or the token was revoked, or
    /// has expired, since it signed in.
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
        let signed_in_from = token.signed_in_from();
        self.on_ledger(move |store| accounts::used(store, &name, &token))
            .await?;
        Ok(Identity {
            account: Arc::new(account),
            token: fingerprint,
            of_page,
            signed_in_from,
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
