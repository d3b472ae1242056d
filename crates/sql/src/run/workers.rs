//! Workers, from both ends: how this program reaches those that a catalog names, and how it is one itself.

use crate::catalog::{Engine, ObjectAddress};
use crate::understand::expression::total_functions;
use crate::values::scalar;
use crate::{Error, sources};
use cluster::{Cluster, Credentials};
use datafusion::common::{Result as EngineResult, plan_datafusion_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::ScalarUDF;
use datafusion::object_store::ObjectStore;
use datafusion::object_store::path::Path as ObjectPath;
use std::sync::Arc;
use url::Url;

/// The first line, without where in the engine it was said.
pub(crate) fn said(error: &DataFusionError) -> String {
    let said = error.strip_backtrace();
    let line = said.lines().next().unwrap_or_default();
    line.trim_start_matches("Execution error: ").to_owned()
}

/// Connects to the workers that a catalog names; to none of them yet.
pub(crate) fn connect(engine: &Engine) -> Result<Cluster, Error> {
    let Some(workers) = &engine.workers else {
        return Err(Error::catalog(
            "the catalog names no workers",
            "write workers = [\"https://host:7411\"] below [engine]",
        ));
    };
    let read = |path: &std::path::Path| {
        std::fs::read(path).map_err(|error| Error::File {
            what: format!("{} cannot be read", path.display()),
            why: error.kind(),
            hint: "`deniable worker certificates` writes the files that a cluster needs".to_owned(),
        })
    };
    let credentials = Credentials::new(
        read(&workers.authority)?,
        read(&workers.certificate)?,
        read(&workers.key)?,
    );
    let unusable = |error: &DataFusionError| {
        Error::catalog(
            said(error),
            "`deniable worker certificates` writes the files that a cluster needs",
        )
    };
    let addresses = workers.addresses.iter().map(|address| address.parse());
    let addresses = addresses.collect::<Result<Vec<_>, _>>().map_err(|_| {
        Error::catalog(
            "engine.workers: this is not the address of a worker",
            "write https:// with a host and a port",
        )
    })?;
    Ok(Cluster::new(
        addresses,
        credentials.map_err(|error| unusable(&error))?,
        Arc::new(Functions),
    ))
}

/// A worker of this program.
///
/// # Errors
/// If connections cannot be accepted, or the credentials do not fit together.
pub async fn serve_worker(
    worker: WorkerOptions,
    listener: tokio::net::TcpListener,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let hint = "`deniable worker certificates` writes the files that a cluster needs";
    let [authority, certificate, key] = worker.credentials;
    let credentials =
        Credentials::new(authority, certificate, key).map_err(|error| Error::catalog(said(&error), hint))?;
    let worker = cluster::Worker {
        credentials,
        functions: Arc::new(Functions),
        stores: Arc::new(Stores(worker.objects)),
        directories: worker.directories,
        threads: worker.threads,
        memory: worker.memory,
        scratch: worker.scratch,
        ends_at_panic: worker.ends_at_panic,
    };
    let served = worker.serve(listener, stop).await;
    served.map_err(|error| Error::catalog(said(&error), hint))
}

/// What a worker has and may do.
pub struct WorkerOptions {
    /// The certificate of the authority, the worker's certificate, and its key, in PEM.
    pub credentials: [Vec<u8>; 3],
    /// Files are read below these directories, and nowhere else. They are absolute, with links followed.
    pub directories: Vec<std::path::PathBuf>,
    /// Objects are read below these addresses, and nowhere else.
    pub objects: Vec<ObjectAddress>,
    /// How many threads a stage has.
    pub threads: usize,
    /// How many bytes its stages hold before they go to disk, all together.
    pub memory: usize,
    /// Where they go to disk.
    pub scratch: std::path::PathBuf,
    /// Whether the process ends at the first panic in it, as one that is a worker and nothing else has to: see [`cluster::Worker::ends_at_panic`].
    pub ends_at_panic: bool,
}

/// Our functions are known by name: none of them has parameters beside its arguments. One that does is not among them.
#[derive(Debug)]
pub(crate) struct Functions;

fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    [scalar::to_char(), scalar::date_bin()]
        .into_iter()
        .chain(total_functions())
}

impl cluster::Functions for Functions {
    fn encode(&self, function: &ScalarUDF) -> Option<Vec<u8>> {
        let known = functions().find(|known| **known == *function)?;
        Some(known.name().as_bytes().to_vec())
    }

    fn decode(&self, bytes: &[u8]) -> EngineResult<ScalarUDF> {
        functions()
            .find(|known| known.name().as_bytes() == bytes)
            .map(|known| known.as_ref().clone())
            .ok_or_else(|| plan_datafusion_err!("a function is not known here"))
    }
}

/// The object stores that the environment has credentials for, below these addresses.
struct Stores(Vec<ObjectAddress>);

impl cluster::Stores for Stores {
    fn open(&self, url: &Url) -> EngineResult<Arc<dyn ObjectStore>> {
        let refused = || plan_datafusion_err!("a plan reads a store that this worker was not given");
        let address = ObjectAddress::parse(url.as_str()).ok_or_else(refused)?;
        let given = |allowed: &ObjectAddress| {
            (allowed.scheme(), allowed.bucket()) == (address.scheme(), address.bucket())
        };
        match self.0.iter().any(given) {
            true => sources::objects(&address).map_err(|_| refused()),
            false => Err(refused()),
        }
    }

    fn may_read(&self, url: &Url, object: &ObjectPath) -> bool {
        let Some(store) = ObjectAddress::parse(url.as_str()) else {
            return false;
        };
        self.0.iter().any(|allowed| {
            // The name of an object begins with its bucket: one of another bucket would be looked for in this one.
            let same = (allowed.scheme(), allowed.bucket()) == (store.scheme(), store.bucket());
            same && sources::is_object_below(object, allowed)
        })
    }
}
