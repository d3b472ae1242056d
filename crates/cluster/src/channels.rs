//! Connections to workers: encrypted, kept, and given up when the other end falls silent.

use crate::Credentials;
use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result, plan_datafusion_err};
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{ChannelResolver, WorkerChannel};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};
use url::Url;

/// A worker that does not accept a connection within this time is not there.
const CONNECT: Duration = Duration::from_secs(5);
/// How often a worker is asked whether it is still there, while something is expected of it, and how long it
/// may take to say so.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
const ALIVE_WITHIN: Duration = Duration::from_secs(20);

/// The connections of one program.
#[derive(Clone)]
pub(crate) struct Channels {
    credentials: Credentials,
    open: Arc<Mutex<HashMap<Url, Channel>>>,
}

impl Channels {
    pub(crate) fn new(credentials: Credentials) -> Self {
        Self {
            credentials,
            open: Arc::default(),
        }
    }

    /// The connection to a worker, which is made when it is used, and made again after it broke.
    fn channel(&self, url: &Url) -> Result<Channel> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = open.get(url) {
            return Ok(channel.clone());
        }
        if url.scheme() != "https" {
            return Err(plan_datafusion_err!(
                "a worker is reached over an encrypted connection alone"
            ));
        }
        let endpoint = Endpoint::from_shared(url.to_string())
            .and_then(|endpoint| endpoint.tls_config(self.credentials.client()))
            .map_err(|_| {
                plan_datafusion_err!(
                    "worker {url} cannot be connected to with these credentials\nhint: addresses are written as https://host:port"
                )
            })?
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(ALIVE_EVERY)
            .keep_alive_timeout(ALIVE_WITHIN)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(8 << 20)
            .initial_connection_window_size(32 << 20);
        let channel = endpoint.connect_lazy();
        open.insert(url.clone(), channel.clone());
        Ok(channel)
    }

    pub(crate) fn client(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        let channel = BoxCloneSyncChannel::new(self.channel(url)?);
        Ok(create_worker_client(channel))
    }
}

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>, DataFusionError> {
        self.client(url)
    }
}
