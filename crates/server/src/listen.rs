//! Connections: taken from a socket, encrypted, counted, and ended when the server ends.

use crate::service::Service;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
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
    /// Ends it: no connection is taken any more, and those that are open end when their requests are answered.
    pub(crate) fn now(&self) {
        self.0.send_replace(true);
    }
}

impl Ending {
    /// Waits until the server ends.
    pub(crate) async fn wait(&mut self) {
        // Where whoever could end it is gone, it ends.
        let _ = self.0.wait_for(|ended| *ended).await;
    }
}

/// Takes connections until the server ends, each served by a task of its own; then waits a little for those that are open.
pub(crate) async fn serve<F, Served>(
    listener: TcpListener,
    service: Arc<Service>,
    entrance: &'static str,
    most: usize,
    mut ending: Ending,
    serve: F,
) where
    F: Fn(TcpStream, SocketAddr) -> Served,
    Served: Future<Output = ()> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(most));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.wait() => break,
        };
        // What has ended is let go of.
        while connections.try_join_next().is_some() {}
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                pause_after(&error).await;
                continue;
            }
        };
        // A connection too many is closed without a word.
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        let served = serve(stream, address);
        let service = Arc::clone(&service);
        connections.spawn(async move {
            let _place = place;
            let _counted = Counted::new(service, entrance);
            served.await;
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

/// Where the system has no more room for connections, some will end.
async fn pause_after(error: &io::Error) {
    let of_one_connection = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if !of_one_connection {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
