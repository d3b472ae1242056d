//! The PostgreSQL entrance: the protocol of PostgreSQL 3.0, over TLS alone, with SCRAM-SHA-256.

mod copies;
mod handler;
mod messages;
mod negotiation;
mod settings;
mod sign_in;
mod statement;
mod system;
mod text;
mod values;

use crate::listen::{self, Ending};
use crate::service::Service;
use crate::tls::{self, Certificate};
use handler::Handler;
use messages::{Inbox, Outbox};
use negotiation::Negotiated;
use pgwire::api::auth::StartupHandler;
use pgwire::api::cancel::{CancelHandler as _, DefaultCancelHandler};
use pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler};
use pgwire::api::{ClientInfo as _, ConnectionManager, DefaultClient, NoopHandler, PgWireConnectionState};
use pgwire::messages::PgWireFrontendMessage;
use pgwire::tokio::server::{PgWireMessageServerCodec, process_error, process_message};
use sign_in::SignIn;
use sql::Catalog;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use system::System;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::codec::Framed;

/// Connections that are open at once.
const MOST_CONNECTIONS: usize = 512;
/// How long signing in may take.
const SIGNING_IN: Duration = Duration::from_secs(15);

/// The PostgreSQL entrance: what all its connections share.
pub(crate) struct Entrance {
    service: Arc<Service>,
    acceptor: TlsAcceptor,
    sign_in: Arc<SignIn>,
    handler: Arc<Handler>,
    connections: Arc<ConnectionManager>,
}

impl Entrance {
    /// An entrance to this service.
    pub(crate) fn new(service: Arc<Service>, certificate: &Certificate) -> Result<Self, tls::Error> {
        let connections = Arc::new(ConnectionManager::new());
        let system = described(service.dataset().catalog()).map_err(|error| tls::Error {
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

    /// Serves it until the server ends.
    pub(crate) async fn serve(self, listener: TcpListener, ending: Ending) {
        let entrance = Arc::new(self);
        let (service, ends) = (Arc::clone(&entrance.service), ending.clone());
        listen::serve(
            listener,
            service,
            "wire",
            MOST_CONNECTIONS,
            ending,
            move |stream, address| {
                let (entrance, mut ends) = (Arc::clone(&entrance), ends.clone());
                async move {
                    tokio::select! {
                        () = entrance.connection(stream, address) => {}
                        // Whoever waits for an answer is let go of; the question goes on.
                        () = ends.wait() => {}
                    }
                }
            },
        )
        .await;
    }

    /// One connection, to its end. Whatever is wrong with it ends it.
    async fn connection(&self, stream: TcpStream, address: SocketAddr) {
        let negotiated =
            tokio::time::timeout(SIGNING_IN, negotiation::negotiate(stream, &self.acceptor)).await;
        let stream = match negotiated {
            Ok(Ok(Negotiated::Encrypted(stream))) => stream,
            Ok(Ok(Negotiated::Cancel(request))) => {
                DefaultCancelHandler::new(Arc::clone(&self.connections))
                    .on_cancel_request(request)
                    .await;
                return;
            }
            Ok(Ok(Negotiated::Refused) | Err(_)) | Err(_) => return,
        };
        let (reading, writing) = tokio::io::split(stream);
        let mut client = DefaultClient::new(address, true);
        client.set_state(PgWireConnectionState::AwaitingStartup);
        let mut outbox = Framed::new(Outbox(writing), PgWireMessageServerCodec::new(client));
        let mut inbox = Inbox::new(reading);
        let deadline = tokio::time::Instant::now() + SIGNING_IN;
        loop {
            let signing_in = matches!(
                outbox.state(),
                PgWireConnectionState::AwaitingStartup | PgWireConnectionState::AuthenticationInProgress
            );
            let received = inbox.receive(&outbox);
            let received = match signing_in {
                true => tokio::time::timeout_at(deadline, received)
                    .await
                    .unwrap_or(Ok(None)),
                false => received.await,
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
        }
    }

    /// Answers one message. An error ends the connection.
    async fn answered<S>(
        &self,
        message: PgWireFrontendMessage,
        outbox: &mut Framed<S, PgWireMessageServerCodec<<Handler as ExtendedQueryHandler>::Statement>>,
    ) -> Result<(), ()>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + Sync + 'static,
        SignIn: StartupHandler,
        Handler: SimpleQueryHandler,
    {
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
        if let Err(error) = done {
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

/// The system catalogs over the tables that the catalog declares.
fn described(catalog: &Catalog) -> Result<System, system::Error> {
    let tables: Vec<system::Table> = catalog
        .tables
        .iter()
        .map(|(name, table)| system::Table {
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
        })
        .collect();
    System::new(&catalog.name, &tables)
}

impl std::fmt::Debug for Entrance {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Entrance({:?})", self.service)
    }
}
