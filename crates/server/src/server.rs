//! All entrances together: started, and ended without losing anything.

use crate::failure::Failure;
use crate::http::{self, Audience};
use crate::listen::{End, ending};
use crate::service::{Service, Settings};
use crate::tls::{self, Certificate};
use crate::wire;
use sql::Dataset;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;

/// Bytes of each connection that the system takes before its client does.
const SENT_AHEAD: u32 = 256 << 10;
/// Connections that wait to be taken.
const BACKLOG: u32 = 1024;

/// Where the entrances are. Port 0 takes one that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// HTTP for analysts.
    pub http: SocketAddr,
    /// The PostgreSQL wire.
    pub wire: SocketAddr,
    /// HTTP for curators, auditors and operators; `None` has none.
    pub curators: Option<SocketAddr>,
}

/// Why a server cannot start.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The dataset cannot be used.
    #[error(transparent)]
    Dataset(#[from] Failure),
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] tls::Error),
    /// An address cannot be listened on.
    #[error(
        "cannot listen on {address}: {why}\nhint: is something else listening there? choose another address with --http, --wire or --curators"
    )]
    Address {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        why: std::io::ErrorKind,
    },
}

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    addresses: Addresses,
    service: Arc<Service>,
    end: End,
    entrances: Vec<JoinHandle<()>>,
    writing: JoinHandle<()>,
}

impl Server {
    /// Starts all entrances, inside a tokio runtime.
    ///
    /// # Errors
    /// When the dataset, the certificate or an address cannot be used.
    pub async fn start(
        dataset: Dataset,
        settings: Settings,
        certificate: &Certificate,
        asked: Addresses,
    ) -> Result<Self, Error> {
        let acceptor = certificate.acceptor(&[b"http/1.1"])?;
        let (http, http_address) = listen(asked.http).await?;
        let (wire, wire_address) = listen(asked.wire).await?;
        let curators = match asked.curators {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let addresses = Addresses {
            http: http_address,
            wire: wire_address,
            curators: curators.as_ref().map(|(_, address)| *address),
        };
        let (service, writing) = Service::start(dataset, settings).await?;
        service.listens_on(addresses);
        let (end, ends) = ending();
        let served = |listener, audience| {
            let (service, acceptor, ends) = (Arc::clone(&service), acceptor.clone(), ends.clone());
            tokio::spawn(http::serve(listener, service, audience, acceptor, ends))
        };
        let mut entrances = vec![served(http, Audience::Analysts)];
        if let Some((listener, _)) = curators {
            entrances.push(served(listener, Audience::Curators));
        }
        let entrance = wire::Entrance::new(Arc::clone(&service), certificate)?;
        entrances.push(tokio::spawn(entrance.serve(wire, ends)));
        Ok(Self {
            addresses,
            service,
            end,
            entrances,
            writing,
        })
    }

    /// Where it listens.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// The service behind the entrances.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Ends it: no question is taken any more, those that were charged are finished and saved, and the log is
    /// written.
    pub async fn end(self) {
        self.service.end().await;
        self.end.now();
        for entrance in self.entrances {
            let _ = entrance.await;
        }
        // The log is written to its end once nobody can add to it.
        drop(self.service);
        let _ = tokio::time::timeout(std::time::Duration::from_secs(10), self.writing).await;
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |error: std::io::Error| Error::Address {
        address,
        why: error.kind(),
    };
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }
    .map_err(failed)?;
    // A server that starts again gets its address.
    #[cfg(unix)]
    socket.set_reuseaddr(true).map_err(failed)?;
    // Connections have it from their listener: the system keeps no more than this for a client that does not
    // read.
    socket.set_send_buffer_size(SENT_AHEAD).map_err(failed)?;
    socket.bind(address).map_err(failed)?;
    let listener = socket.listen(BACKLOG).map_err(failed)?;
    let heard = listener.local_addr().map_err(failed)?;
    Ok((listener, heard))
}
