//! Connections: accepted from a socket, counted, closed in favour of others, and ended when the server ends.

mod patient;
mod places;

pub(crate) use patient::Patient;

use crate::memory::Room;
use crate::service::Service;
use places::{Place, Places};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long the handshake of TLS may take.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long connections may go on after the last question has ended.
const GRACE: Duration = Duration::from_secs(5);

/// Tells when the server ends.
#[derive(Clone, Debug)]
pub(crate) struct Ending(watch::Receiver<bool>);

/// Ends the server.
#[derive(Debug)]
pub(crate) struct End(watch::Sender<bool>);

/// A way to end a server, and what it is noticed by.
pub(crate) fn ending() -> (End, Ending) {
    let (sender, receiver) = watch::channel(false);
    (End(sender), Ending(receiver))
}

impl End {
    /// Ends it: no connection is taken any more, and those that are open end when their requests are
    /// answered.
    pub(crate) fn now(&self) {
        self.0.send_replace(true);
    }
}

impl Ending {
    /// Waits until the server ends.
    pub(crate) async fn wait(&mut self) {
        // If nobody is left who could end it, it ends.
        let _ = self.0.wait_for(|ended| *ended).await;
    }
}

/// What connections may take, at each address of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Those that are open at once.
    pub most: usize,
    /// Of them, those from one address on which nobody has signed in. Of IPv6, all addresses that begin with
    /// the same 64 bits count as one.
    pub by_address: usize,
    /// Those of one account that are kept when others need a place.
    pub by_account: usize,
    /// How long a client may take nothing of what is sent to it.
    pub patience: Duration,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            most: 1024,
            by_address: 64,
            by_account: 32,
            patience: Duration::from_secs(30),
        }
    }
}

/// Files that the server needs besides connections: the ledger, tables, and what the engine puts aside.
const OTHER_FILES: usize = 384;
/// Addresses that it listens on.
const ENTRANCES: usize = 3;

impl Connections {
    /// No more than the files that the system lets the process open: without one, neither a connection nor
    /// the ledger can be opened.
    pub(crate) fn within_open_files(self) -> Self {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let files = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max open files"))
            .and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        let most = files.map_or(self.most, |files| files.saturating_sub(OTHER_FILES) / ENTRANCES);
        Self {
            most: self.most.min(most.max(16)),
            ..self
        }
    }
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Visitor(Arc<Visit>);

#[derive(Debug)]
struct Visit {
    place: Place,
    address: SocketAddr,
    service: Arc<Service>,
    /// The account that signed in last, with the room for what this connection keeps for it.
    known: Mutex<Option<(String, Room)>>,
}

impl Visitor {
    /// Where they are.
    pub(crate) fn address(&self) -> SocketAddr {
        self.0.address
    }

    pub(crate) fn service(&self) -> &Arc<Service> {
        &self.0.service
    }

    /// Notes that this account has signed in: the connection is kept, and what it keeps is counted as theirs.
    pub(crate) fn signed_in(&self, account: &str) {
        self.0.place.keep_for(account);
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|(name, _)| name != account) {
            let room = self.0.service.memory().account(account).connection();
            *known = Some((account.to_owned(), room));
        }
    }

    /// Where bytes that are kept for them are counted.
    pub(crate) fn room(&self) -> Room {
        let known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().map_or_else(
            || self.0.service.memory().strangers().clone(),
            |(_, room)| room.clone(),
        )
    }
}

/// Takes connections until the server ends, each served by a task of its own; then waits a little for those
/// that are open.
pub(crate) async fn serve<F, Served>(
    listener: TcpListener,
    service: Arc<Service>,
    entrance: &'static str,
    mut ending: Ending,
    serve: F,
) where
    F: Fn(TcpStream, Visitor) -> Served,
    Served: Future<Output = ()> + Send + 'static,
{
    let places = Arc::new(Places::new(service.connections()));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.wait() => break,
        };
        // What has ended is dropped.
        while connections.try_join_next().is_some() {}
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_of_one_connection(&error) => continue,
            Err(_) => {
                places.make_room();
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let visitor = Visitor(Arc::new(Visit {
            place: places.enter(address),
            address,
            service: Arc::clone(&service),
            known: Mutex::default(),
        }));
        let served = serve(stream, visitor.clone());
        let counted = Counted::new(Arc::clone(&service), entrance);
        connections.spawn(async move {
            let _counted = counted;
            tokio::select! {
                () = served => {}
                () = visitor.0.place.lost() => {}
            }
        });
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, all).await;
}

/// A connection that is counted as long as it lives.
struct Counted(Arc<Service>, &'static str);

impl Counted {
    fn new(service: Arc<Service>, entrance: &'static str) -> Self {
        service.metrics().connected(entrance);
        Self(service, entrance)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.metrics().disconnected(self.1);
    }
}

/// Others are about the system, which has no room for more connections until some end.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}
