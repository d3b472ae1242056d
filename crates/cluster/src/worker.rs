//! A worker: takes parts of plans from machines that have a certificate, checks them, and computes.

use crate::channels::Channels;
use crate::codec::Codec;
use crate::coordinator::ATTEMPT;
use crate::seal::SealExec;
use crate::{Credentials, Functions, version};
use bound::remote;
use datafusion::catalog::memory::DataSourceExec;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, plan_err};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::execution::context::SessionState;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool, UnboundedMemoryPool};
use datafusion::execution::object_store::{ObjectStoreRegistry, ObjectStoreUrl};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path as ObjectPath;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    DistributedExt, NetworkCoalesceExec, NetworkShuffleExec, WorkerPlanRewriteEvent,
    WorkerPlanRewriteEventResponse, WorkerQueryContext,
};
use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use url::Url;

/// How often the other end is asked whether it is still there.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
const ALIVE_WITHIN: Duration = Duration::from_secs(20);
/// How many files are looked at, at once.
const LOOKING: usize = 16;

/// Where objects are read from.
pub trait Stores: Send + Sync {
    /// The store of an address such as `s3://bucket`.
    ///
    /// # Errors
    /// If there is none, or nothing of it may be read.
    fn open(&self, url: &Url) -> Result<Arc<dyn ObjectStore>>;

    /// Whether an object of such a store may be read.
    fn may_read(&self, url: &Url, object: &ObjectPath) -> bool;
}

/// What a worker has and may do.
pub struct Worker {
    /// Its certificate, and whose certificates it takes.
    pub credentials: Credentials,
    /// Functions that plans call, besides the engine's.
    pub functions: Arc<dyn Functions>,
    /// Where objects are read from, and which of them may be.
    pub stores: Arc<dyn Stores>,
    /// Files are read below these directories, and nowhere else. They are absolute, with links followed.
    pub directories: Vec<PathBuf>,
    /// How many threads a stage has.
    pub threads: usize,
    /// How many bytes its stages hold before they go to disk, all together.
    pub memory: usize,
    /// Where they go to disk.
    pub scratch: PathBuf,
    /// Whether the process ends at the first panic in it. It has to, unless the code that shares the process
    /// makes sure that nothing of a plan can panic: the exchange takes a stream whose task panicked for one
    /// that ended, and rows would be missing without a word.
    pub ends_at_panic: bool,
}

impl Debug for Worker {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Worker")
    }
}

impl Worker {
    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// If the credentials are not accepted, or connections cannot be.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) -> Result<()> {
        if self.ends_at_panic {
            let told = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                told(panic);
                std::process::abort();
            }));
        }
        let credentials = self.credentials.server();
        let desk = Arc::new(Desk::new(self));
        let worker = datafusion_distributed::Worker::from_session_builder(move |query| {
            let desk = Arc::clone(&desk);
            async move { desk.session(query) }
        })
        .with_version(version::version()?);
        Server::builder()
            .tls_config(credentials)
            .map_err(|_| {
                exec_datafusion_err!(
                    "the certificate, its key and the authority do not fit together\nhint: `deniable worker certificates` writes three files that do"
                )
            })?
            .http2_keepalive_interval(Some(ALIVE_EVERY))
            .http2_keepalive_timeout(Some(ALIVE_WITHIN))
            .tcp_nodelay(true)
            .initial_stream_window_size(8 << 20)
            .initial_connection_window_size(32 << 20)
            .add_service(worker.into_worker_server())
            .serve_with_incoming_shutdown(TcpListenerStream::new(listener), stop)
            .await
            .map_err(|_| exec_datafusion_err!("connections are not accepted any more"))
    }
}

/// What the sessions of all queries share.
struct Desk {
    channels: Channels,
    functions: Arc<dyn Functions>,
    stores: Arc<dyn Stores>,
    directories: Arc<[PathBuf]>,
    threads: usize,
    scratch: PathBuf,
    /// With a limit, and without, for an attempt after one that ran out of memory.
    memory: [Arc<dyn MemoryPool>; 2],
}

impl Desk {
    fn new(worker: Worker) -> Self {
        Self {
            channels: Channels::new(worker.credentials),
            functions: worker.functions,
            stores: worker.stores,
            directories: worker.directories.into(),
            threads: worker.threads.max(1),
            scratch: worker.scratch,
            memory: [
                Arc::new(FairSpillPool::new(worker.memory)),
                Arc::new(UnboundedMemoryPool::default()),
            ],
        }
    }

    /// What one part of one query runs in. All of them share their memory, and nothing that was learned of
    /// files: those may have been replaced.
    fn runtime(&self, attempt: Option<&str>) -> Result<Arc<RuntimeEnv>> {
        let memory = match attempt {
            Some("0") | None => &self.memory[0],
            Some(_) => &self.memory[1],
        };
        let scratch = DiskManagerMode::Directories(vec![self.scratch.clone()]);
        RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::clone(memory))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(scratch))
            .with_object_store_registry(Arc::new(Registry {
                local: Arc::new(LocalFileSystem::new()),
                stores: Arc::clone(&self.stores),
            }))
            .build_arc()
    }

    /// The session of one part of one query.
    fn session(&self, query: WorkerQueryContext) -> Result<SessionState, DataFusionError> {
        let attempt = query
            .headers
            .get(ATTEMPT)
            .and_then(|attempt| attempt.to_str().ok());
        let runtime = self.runtime(attempt)?;
        let mut builder = query.builder;
        let config = builder.config().get_or_insert_default();
        remote::configure(config.options_mut());
        config.options_mut().execution.target_partitions = self.threads;
        let plain = bound::session(config.clone(), Arc::clone(&runtime)).state();
        let admission = Admission {
            directories: Arc::clone(&self.directories),
            stores: Arc::clone(&self.stores),
        };
        Ok(builder
            .with_runtime_env(runtime)
            .with_distributed_user_codec(Codec::new(Arc::clone(&self.functions), plain))
            .with_distributed_channel_resolver(self.channels.clone())
            .with_distributed_worker_plan_rewrite_handler(move |event: WorkerPlanRewriteEvent<'_>| {
                admission.check(&event.plan)?;
                Ok(WorkerPlanRewriteEventResponse::new(event.plan))
            })
            .build())
    }
}

/// The files of this machine, and the stores that plans name: they are needed as soon as a plan is decoded.
struct Registry {
    local: Arc<LocalFileSystem>,
    stores: Arc<dyn Stores>,
}

impl Debug for Registry {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Registry")
    }
}

impl ObjectStoreRegistry for Registry {
    /// Nobody adds any.
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        match url.scheme() {
            "file" => Ok(Arc::clone(&self.local) as _),
            _ => self.stores.open(url),
        }
    }
}

/// Which plans are executed here.
struct Admission {
    directories: Arc<[PathBuf]>,
    stores: Arc<dyn Stores>,
}

impl Admission {
    fn check(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
        let moves_rows = |plan: &Arc<dyn ExecutionPlan>| {
            plan.is::<NetworkShuffleExec>() || plan.is::<NetworkCoalesceExec>() || plan.is::<SealExec>()
        };
        remote::check(plan, &moves_rows)?;
        plan.apply(|node| {
            let files = node
                .downcast_ref::<DataSourceExec>()
                .and_then(|source| source.data_source().downcast_ref::<FileScanConfig>());
            if let Some(files) = files {
                self.files(files)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(())
    }

    fn files(&self, scan: &FileScanConfig) -> Result<()> {
        let files = scan.file_groups.iter().flat_map(|group| group.files());
        // If a file is read in several parts, one part says all.
        let files: BTreeMap<&ObjectPath, &ObjectMeta> = files
            .map(|file| (&file.object_meta.location, &file.object_meta))
            .collect();
        if scan.object_store_url != ObjectStoreUrl::local_filesystem() {
            let url: &Url = scan.object_store_url.as_ref();
            return match files.keys().all(|object| self.stores.may_read(url, object)) {
                true => Ok(()),
                false => plan_err!(
                    "a plan reads objects that are not below an address of this worker\nhint: name the address with `deniable worker --data`"
                ),
            };
        }
        let files: Vec<&ObjectMeta> = files.into_values().collect();
        let share = files.len().div_ceil(LOOKING).max(1);
        std::thread::scope(|scope| {
            let looking: Vec<_> = files
                .chunks(share)
                .map(|files| scope.spawn(|| files.iter().try_for_each(|file| self.file(file))))
                .collect();
            looking.into_iter().try_for_each(|share| match share.join() {
                Ok(checked) => checked,
                Err(_) => plan_err!("files cannot be looked at"),
            })
        })
    }

    fn file(&self, file: &ObjectMeta) -> Result<()> {
        let path = LocalFileSystem::new().path_to_filesystem(&file.location)?;
        if !is_below(&path, &self.directories) {
            return plan_err!(
                "a plan reads a file that is not below a directory of this worker\nhint: name the directory with `deniable worker --data`"
            );
        }
        // Two copies that differ would be cut at different places: rows would be read twice, or by nobody.
        if !is_same(&path, file) {
            return plan_err!(
                "a file is not the one that the coordinator sees\nhint: let the machines share a file system, or copy files with their times"
            );
        }
        Ok(())
    }
}

/// Whether a file is below one of the directories, links followed.
fn is_below(path: &Path, directories: &[PathBuf]) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    directories.iter().any(|directory| path.starts_with(directory))
}

const SECOND: i64 = 1_000_000_000;

/// Whether a file has the size and the time that the coordinator saw. Some file systems, and some ways to
/// copy, keep times in whole seconds.
fn is_same(path: &Path, seen: &ObjectMeta) -> bool {
    // Opened, so that a file system in the network looks again.
    let Ok(found) = std::fs::File::open(path).and_then(|file| file.metadata()) else {
        return false;
    };
    let Some(modified) = found.modified().ok().and_then(nanoseconds) else {
        return false;
    };
    let Some(expected) = seen.last_modified.timestamp_nanos_opt() else {
        return false;
    };
    let whole = modified % SECOND == 0 || expected % SECOND == 0;
    let same_time =
        modified == expected || whole && modified.div_euclid(SECOND) == expected.div_euclid(SECOND);
    found.len() == seen.size && same_time
}

/// Since 1970, or before.
fn nanoseconds(time: SystemTime) -> Option<i64> {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).ok(),
        Err(before) => i64::try_from(before.duration().as_nanos())
            .ok()
            .map(|before| -before),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn files_are_told_apart_by_size_and_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "four").unwrap();
        let second = Duration::from_secs(1_700_000_000);
        let at = |time: SystemTime| file.as_file().set_modified(time).unwrap();
        let seen = |size: u64, nanoseconds: i64| ObjectMeta {
            location: ObjectPath::from("x"),
            last_modified: DateTime::from_timestamp_nanos(nanoseconds),
            size,
            e_tag: None,
            version: None,
        };
        let whole = 1_700_000_000 * SECOND;
        at(SystemTime::UNIX_EPOCH + second + Duration::from_nanos(5));
        assert!(is_same(file.path(), &seen(4, whole + 5)) && is_same(file.path(), &seen(4, whole)));
        assert!(!is_same(file.path(), &seen(5, whole + 5)) && !is_same(file.path(), &seen(4, whole + 6)));
        assert!(
            !is_same(file.path(), &seen(4, whole - SECOND)) && !is_same(Path::new("/none"), &seen(4, whole))
        );
        at(SystemTime::UNIX_EPOCH - second);
        assert!(is_same(file.path(), &seen(4, -whole)) && !is_same(file.path(), &seen(4, whole)));
    }
}
