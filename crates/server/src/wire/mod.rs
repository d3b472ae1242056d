//! The PostgreSQL entrance: the protocol of PostgreSQL 3.0, over TLS alone, with SCRAM-SHA-256.

mod catalogs;
mod connection;
mod copies;
mod cursors;
mod extended;
mod handler;
mod held;
mod messages;
mod negotiation;
mod parameters;
mod prepared;
mod released;
mod settings;
mod shown;
mod sign_in;
mod statement;
mod system;
mod text;
mod values;

use crate::listen::{self, Ending, Visitor};
use crate::service::Service;
use crate::tls::{self, Certificate};
use connection::Connection;
use handler::Handler;
use messages::{Inbox, Outbox};
use negotiation::{Negotiated, Wish};
use pgwire::api::auth::StartupHandler;
use pgwire::api::cancel::{CancelHandler as _, DefaultCancelHandler};
use pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler};
use pgwire::api::{ClientInfo as _, ConnectionManager, DefaultClient, NoopHandler, PgWireConnectionState};
use pgwire::error::{ErrorInfo, PgWireError};
use pgwire::messages::PgWireFrontendMessage;
use pgwire::tokio::server::{PgWireMessageServerCodec, process_error, process_message};
use sign_in::SignIn;
use sql::Catalog;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use system::System;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::codec::Framed;

/// How long signing in may take, after as long for the handshake.
const SIGNING_IN: Duration = Duration::from_secs(15);
/// How long somebody who has signed in may say nothing.
const IDLE: Duration = Duration::from_secs(60 * 60);

/// The PostgreSQL entrance: what all its connections share.
pub struct Entrance {
    service: Arc<Service>,
    acceptor: TlsAcceptor,
    sign_in: Arc<SignIn>,
    handler: Arc<Handler>,
    connections: Arc<ConnectionManager>,
}

impl Entrance {
    /// An entrance to this service.
    ///
    /// # Errors
    /// When the certificate cannot be used, or the catalog cannot be described.
    pub fn new(service: Arc<Service>, certificate: &Certificate) -> Result<Self, tls::Error> {
        let connections = Arc::new(ConnectionManager::new());
        let system = described(service.dataset().catalog(), Vec::new()).map_err(|error| tls::Error {
            what: error.what,
            hint: error.hint,
        })?;
        let sign_in = SignIn::new(Arc::clone(&service), certificate, Arc::clone(&connections))?;
        Ok(Self {
            acceptor: certificate.acceptor(&[b"postgresql"])?,
            sign_in: Arc::new(sign_in),
            handler: Arc::new(Handler::new(Arc::clone(&service), system)),
            connections,
            service,
        })
    }

    /// Takes these bytes for those of a stranger, without a network: as the first ones of a connection, and
    /// as what follows the handshake of TLS. For a fuzzer.
    pub async fn hear(&self, bytes: &[u8]) {
        let mut first = bytes;
        while let Ok(Wish::Tls | Wish::Gss | Wish::Cancel(_)) = negotiation::wish(&mut first).await {}
        let stream = tokio::io::join(std::io::Cursor::new(bytes.to_vec()), tokio::io::sink());
        self.speak(stream, SocketAddr::from(([127, 0, 0, 1], 0)), |_| ())
            .await;
    }

    /// Serves it until the server ends.
    pub(crate) async fn serve(self, listener: TcpListener, ending: Ending) {
        let entrance = Arc::new(self);
        let (service, ends) = (Arc::clone(&entrance.service), ending.clone());
        listen::serve(listener, service, "wire", ending, move |stream, visitor| {
            let (entrance, mut ends) = (Arc::clone(&entrance), ends.clone());
            async move {
                tokio::select! {
                    () = entrance.connection(stream, &visitor) => {}
                    // A client that waits for an answer is dropped; the query goes on.
                    () = ends.wait() => {}
                }
            }
        })
        .await;
    }

    /// One connection, to its end. Whatever is wrong with it ends it.
    async fn connection(&self, stream: TcpStream, visitor: &Visitor) {
        let patience = self.service.connections().patience;
        let negotiated = negotiation::negotiate(stream, &self.acceptor, patience);
        match tokio::time::timeout(SIGNING_IN, negotiated).await {
            Ok(Ok(Negotiated::Encrypted(stream))) => {
                let signed_in = |account: &str| visitor.signed_in(account);
                self.speak(stream, visitor.address(), signed_in).await;
            }
            Ok(Ok(Negotiated::Cancel(request))) => {
                DefaultCancelHandler::new(Arc::clone(&self.connections))
                    .on_cancel_request(request)
                    .await;
            }
            Ok(Ok(Negotiated::Refused) | Err(_)) | Err(_) => {}
        }
    }

    /// The conversation on one connection, until one end hangs up.
    async fn speak<S>(&self, stream: S, address: SocketAddr, signed_in: impl Fn(&str))
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
    {
        let (reading, writing) = tokio::io::split(stream);
        let mut client = DefaultClient::new(address, true);
        client.set_state(PgWireConnectionState::AwaitingStartup);
        let mut outbox = Framed::new(Outbox(writing), PgWireMessageServerCodec::new(client));
        let mut inbox = Inbox::new(reading);
        let deadline = Instant::now() + SIGNING_IN;
        let mut known = false;
        loop {
            let until = match known {
                true => Instant::now() + IDLE,
                false => deadline,
            };
            let received = match tokio::time::timeout_at(until, inbox.receive(&outbox)).await {
                Ok(received) => received,
                Err(_) if known => Err(messages::fatal("57P05", "this connection was idle for an hour")),
                Err(_) => return,
            };
            let message = match received {
                Ok(Some(message)) => message,
                Ok(None) => return,
                Err(error) => {
                    let _ = process_error(&mut outbox, error, false).await;
                    return;
                }
            };
            if let PgWireFrontendMessage::Terminate(_) = message {
                return;
            }
            if self.answered(message, &mut outbox).await.is_err() {
                return;
            }
            if !known && let Some(connection) = outbox.session_extensions().get::<Connection>() {
                signed_in(connection.who.name());
                known = true;
            }
        }
    }

    /// Answers one message. An error ends the connection.
    async fn answered<S>(
        &self,
        message: PgWireFrontendMessage,
        outbox: &mut Framed<S, PgWireMessageServerCodec<<Handler as ExtendedQueryHandler>::Statement>>,
    ) -> Result<(), ()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
        SignIn: StartupHandler,
        Handler: SimpleQueryHandler,
    {
        let signing_in = matches!(
            outbox.state(),
            PgWireConnectionState::AwaitingStartup | PgWireConnectionState::AuthenticationInProgress
        );
        let cancels = matches!(message, PgWireFrontendMessage::CancelRequest(_));
        let extended = message.is_extended_query();
        let done = process_message(
            message,
            outbox,
            Arc::clone(&self.sign_in),
            Arc::clone(&self.handler),
            Arc::clone(&self.handler),
            Arc::new(NoopHandler),
            Arc::new(DefaultCancelHandler::new(Arc::clone(&self.connections))),
        )
        .await;
        if let Err(mut error) = done {
            // A client that failed to sign in gets no second try on this connection.
            if signing_in && !error.is_fatal() {
                let mut info = ErrorInfo::from(error);
                info.severity = "FATAL".to_owned();
                error = PgWireError::UserError(Box::new(info));
            }
            let fatal = error.is_fatal();
            process_error(outbox, error, extended).await.map_err(|_| ())?;
            if fatal {
                return Err(());
            }
        }
        match cancels {
            true => Err(()),
            false => Ok(()),
        }
    }
}

/// The system catalogs over the tables that the catalog declares, and those that were released.
fn described(catalog: &Catalog, released: Vec<system::Table>) -> Result<System, system::Error> {
    let declared = catalog.tables.iter().map(|(name, table)| system::Table {
        name: name.clone(),
        columns: table
            .columns
            .iter()
            .map(|(name, facts)| system::Column {
                name: name.clone(),
                kind: match facts.kind {
                    sql::Kind::Bool => system::ColumnType::Bool,
                    sql::Kind::Int => system::ColumnType::Int8,
                    sql::Kind::Float => system::ColumnType::Float8,
                    sql::Kind::Text => system::ColumnType::Text,
                    sql::Kind::Date => system::ColumnType::Date,
                    sql::Kind::Timestamp => system::ColumnType::Timestamp,
                },
                nullable: facts.nullable,
            })
            .collect(),
        released: None,
    });
    let tables: Vec<system::Table> = declared.chain(released).collect();
    System::new(&catalog.name, &tables)
}

impl std::fmt::Debug for Entrance {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Entrance({:?})", self.service)
    }
}
