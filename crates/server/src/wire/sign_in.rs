//! Identifies a client by SCRAM-SHA-256, over TLS, with a token as the password.

use super::connection::{CancelKeys, Connection};
use super::settings::Settings;
use crate::accounts::{Account, Token};
use crate::failure::Failure;
use crate::service::Service;
use crate::tls::{self, Certificate};
use async_trait::async_trait;
use futures::Sink;
use pgwire::api::auth::driver::AuthOutcome;
use pgwire::api::auth::mechanism::AuthMechanismFactory as _;
use pgwire::api::auth::sasl::scram::{ScramAuth, ScramSecret};
use pgwire::api::auth::{
    AuthDriver, AuthSource, LoginInfo, Password, ServerParameterProvider, StartupHandler,
    protocol_negotiation, save_startup_parameters_to_metadata,
};
use pgwire::api::{ClientInfo, ConnectionManager, METADATA_USER};
use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use pgwire::messages::{PgWireBackendMessage, PgWireFrontendMessage};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

/// Signs clients in.
pub(super) struct SignIn {
    service: Arc<Service>,
    scram: ScramAuth<(Account, Token)>,
    driver: AuthDriver<Parameters, (Account, Token)>,
}

impl SignIn {
    pub(super) fn new(
        service: Arc<Service>,
        certificate: &Certificate,
        connections: Arc<ConnectionManager>,
    ) -> Result<Self, tls::Error> {
        let mut scram =
            ScramAuth::new(Arc::new(Logins(Arc::clone(&service))) as Arc<dyn AuthSource<(Account, Token)>>);
        scram
            .configure_certificate(certificate.pem().as_bytes())
            .map_err(|_| tls::Error {
                what: "passwords cannot be bound to this certificate".to_owned(),
                hint: "use a certificate that is signed with RSA or ECDSA and SHA-256".to_owned(),
            })?;
        Ok(Self {
            service,
            scram,
            driver: AuthDriver::new(Parameters)
                .with_connection_manager(connections)
                .with_pid_secret_key_generator(Arc::new(CancelKeys)),
        })
    }
}

/// A failure as PostgreSQL reports one.
pub(super) fn reported(failure: &Failure, severity: &str) -> PgWireError {
    let mut info = ErrorInfo::new(
        severity.to_owned(),
        failure.code.sqlstate().to_owned(),
        failure.what.clone(),
    );
    info.severity_nonlocalized = Some(severity.to_owned());
    info.hint = Some(failure.hint.clone()).filter(|hint| !hint.is_empty());
    PgWireError::UserError(Box::new(info))
}

/// The same words whatever was wrong, as PostgreSQL has them.
fn wrong_password(login: &str) -> PgWireError {
    let login: String = login
        .chars()
        .filter(|character| !character.is_control())
        .take(200)
        .collect();
    PgWireError::UserError(Box::new(ErrorInfo::new(
        "FATAL".to_owned(),
        "28P01".to_owned(),
        format!("password authentication failed for user \"{login}\""),
    )))
}

#[async_trait]
impl StartupHandler for SignIn {
    async fn on_startup<C>(&self, client: &mut C, message: PgWireFrontendMessage) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let login = |client: &C| client.metadata().get(METADATA_USER).cloned().unwrap_or_default();
        match message {
            PgWireFrontendMessage::Startup(startup) => {
                protocol_negotiation(client, &startup).await?;
                save_startup_parameters_to_metadata(client, &startup);
                // Guesses are not limited by name: a token has 256 random bits, and strangers would lock
                // others out.
                self.driver
                    .begin_authentication(client, self.scram.create())
                    .await?;
                Ok(())
            }
            PgWireFrontendMessage::PasswordMessageFamily(message) => {
                let name = login(client);
                let outcome = self.driver.advance_authentication(client, message).await;
                let (identity, last) = match outcome {
                    Ok(AuthOutcome::InProgress) => return Ok(()),
                    Ok(AuthOutcome::Authenticated {
                        identity,
                        final_message,
                    }) => (identity, final_message),
                    // Ours, about the ledger: nobody can sign in now, whatever their password.
                    Err(unusable @ PgWireError::UserError(_)) => return Err(unusable),
                    Err(_) => (None, None),
                };
                let Some((account, token)) = identity else {
                    self.service.failed_by_wire(&name);
                    return Err(wrong_password(&name));
                };
                let who = self
                    .service
                    .signed_in_by_wire(account, token)
                    .await
                    .map_err(|failure| reported(&failure, "FATAL"))?;
                if !who.role().may_ask() {
                    return Err(reported(&crate::service::forbidden(), "FATAL"));
                }
                let metadata = client
                    .metadata()
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()));
                let settings = Settings::from_startup(metadata);
                let room = self.service.memory().account(who.name()).connection();
                let connection =
                    Connection::new(who, settings, room).map_err(|failure| reported(&failure, "FATAL"))?;
                client.session_extensions().insert(connection);
                self.driver.complete_authentication(client, last).await
            }
            _ => Err(PgWireError::UserError(Box::new(ErrorInfo::new(
                "FATAL".to_owned(),
                "08P01".to_owned(),
                "sign in first".to_owned(),
            )))),
        }
    }
}

/// Where verifiers come from.
struct Logins(Arc<Service>);

impl Debug for Logins {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Logins(..)")
    }
}

#[async_trait]
impl AuthSource<(Account, Token)> for Logins {
    async fn get_password(&self, _: &LoginInfo) -> PgWireResult<Password> {
        // Nobody's password is known.
        Err(PgWireError::InvalidSASLState)
    }

    async fn get_scram_secret(
        &self,
        login: &LoginInfo,
    ) -> PgWireResult<(ScramSecret, Option<(Account, Token)>)> {
        let name = login.user().unwrap_or_default();
        let (verifier, who) = self
            .0
            .verifier_of(name)
            .await
            .map_err(|failure| reported(&failure, "FATAL"))?;
        Ok((verifier.keys(), who))
    }
}

/// The facts about the server that a client is told when it has signed in.
#[derive(Debug)]
struct Parameters;

impl ServerParameterProvider for Parameters {
    fn server_parameters<C: ClientInfo>(&self, client: &C) -> Option<HashMap<String, String>> {
        let said = |name: &str| client.metadata().get(name).cloned().unwrap_or_default();
        let parameters = [
            ("server_version", "15.0".to_owned()),
            ("server_encoding", "UTF8".to_owned()),
            ("client_encoding", "UTF8".to_owned()),
            ("DateStyle", "ISO, MDY".to_owned()),
            ("IntervalStyle", "postgres".to_owned()),
            ("TimeZone", "UTC".to_owned()),
            ("integer_datetimes", "on".to_owned()),
            ("standard_conforming_strings", "on".to_owned()),
            ("is_superuser", "off".to_owned()),
            ("default_transaction_read_only", "off".to_owned()),
            ("in_hot_standby", "off".to_owned()),
            ("application_name", said("application_name")),
            ("session_authorization", said(METADATA_USER)),
        ];
        Some(
            parameters
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }
}
