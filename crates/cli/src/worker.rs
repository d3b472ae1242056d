//! `deniable worker`: a machine of a cluster, and the certificates with which its machines know each other.

use crate::serve::{threads, until_asked_to_end};
use crate::terminal::{self, CliError, explained, fail};
use clap::{Args, Subcommand};
use files::{Readable, Whole};
use sql::catalog::ObjectAddress;
use sql::{WorkerOptions, serve_worker};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  Certificates for a cluster whose workers are reached as these hosts
    deniable worker certificates cluster --host node1 --host node2
  A worker, which reads files below /data and nowhere else
    deniable worker --listen 0.0.0.0:7411 --data /data \\
      --authority cluster/authority.pem --certificate cluster/worker.pem --key cluster/worker.key
  The catalog of whoever asks
    [engine]
    kind = \"cluster\"
    workers = [\"https://node1:7411\", \"https://node2:7411\"]
    authority = \"cluster/authority.pem\"
    certificate = \"cluster/coordinator.pem\"
    key = \"cluster/coordinator.key\"

A worker computes exact numbers from private rows for whoever has a certificate of its authority; noise, ledger and answers stay with
the coordinator. It sees private rows, as the machine of the coordinator does, and has to be trusted as much. Files are read under the
same path, and have the same size and time, for the coordinator and for all workers; object storage needs no such care (its
credentials come from the environment).
docs/scale.md tells more.";

/// Compute for a coordinator: one machine of a cluster
#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Where the coordinator and the other workers reach it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7411")]
    listen: SocketAddr,
    /// The certificate of the cluster's authority, in PEM format
    #[arg(long, value_name = "FILE", required = true)]
    authority: Option<PathBuf>,
    /// The certificate of the worker, in PEM format
    #[arg(long, value_name = "FILE", required = true)]
    certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM format
    #[arg(long, value_name = "FILE", required = true)]
    key: Option<PathBuf>,
    /// What may be read: files below a directory, or objects below an address such as s3://clinic/visits; may be given several times
    #[arg(long, value_name = "PLACE", required = true)]
    data: Vec<String>,
    /// Threads that compute [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroU32>,
    /// MiB that all questions hold together before they go to disk
    #[arg(long, value_name = "MIB", default_value = "2048")]
    memory: NonZeroU32,
    /// Where they go to disk; what they wrote is removed when they end [default: the system's directory for such files]
    #[arg(long, value_name = "DIRECTORY")]
    scratch: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Write the certificates of a cluster: an authority's, the coordinator's, and one for all workers
    Certificates {
        /// Where they are written
        directory: PathBuf,
        /// A name or address under which a worker is reached; may be given several times
        #[arg(long = "host", value_name = "HOST", required = true)]
        hosts: Vec<String>,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Some(Command::Certificates { directory, hosts }) => certificates(directory, hosts),
        None => serve(arguments),
    }
}

fn certificates(directory: &Path, hosts: &[String]) -> Result<(), CliError> {
    let made = match cluster::certificates(hosts) {
        Ok(made) => made,
        Err(_) => {
            return fail(
                "no certificates can be made for these hosts",
                "--host takes a name or an address, such as node1 or 10.0.0.7",
            );
        }
    };
    let files = [
        ("authority.pem", &made.authority, Readable::AsBefore),
        (
            "coordinator.pem",
            &made.coordinator.certificate,
            Readable::AsBefore,
        ),
        ("coordinator.key", &made.coordinator.key, Readable::ByOwner),
        ("worker.pem", &made.worker.certificate, Readable::AsBefore),
        ("worker.key", &made.worker.key, Readable::ByOwner),
    ];
    let unwritten = |path: &Path, cause: &std::io::Error| {
        CliError::bad_input(format!("cannot write `{}`: {}", path.display(), cause.kind()))
            .with_hint("name a directory that can be written, without certificates in it")
    };
    std::fs::create_dir_all(directory).map_err(|cause| unwritten(directory, &cause))?;
    // Before the first of them is written: certificates of two authorities would not fit together.
    for (name, _, _) in &files {
        let path = directory.join(name);
        if path.exists() {
            return fail(
                format!("`{}` exists already", path.display()),
                "name another directory, or remove the certificates of the old cluster",
            );
        }
    }
    for (name, text, readable) in files {
        let path = directory.join(name);
        Whole::at(&path, readable)
            .new_only()
            .write(|file| file.write_all(text.as_bytes()))
            .map_err(|cause| unwritten(&path, &cause))?;
    }
    terminal::print(&format!(
        "wrote the certificates of a cluster to `{}`: workers need authority.pem, worker.pem and worker.key, the coordinator authority.pem, coordinator.pem and coordinator.key\n",
        directory.display()
    ))
}

fn serve(arguments: &Arguments) -> Result<(), CliError> {
    let read = |path: &Option<PathBuf>| {
        let path = path.as_deref().unwrap_or(Path::new(""));
        std::fs::read(path).map_err(|cause| {
            CliError::bad_input(format!("cannot read `{}`: {}", path.display(), cause.kind()))
                .with_hint("`deniable worker certificates` writes the files that a cluster needs")
        })
    };
    let credentials = [
        read(&arguments.authority)?,
        read(&arguments.certificate)?,
        read(&arguments.key)?,
    ];
    let (mut directories, mut objects) = (Vec::new(), Vec::new());
    for place in &arguments.data {
        if ObjectAddress::is_meant(place) {
            match ObjectAddress::parse(place) {
                Some(address) => objects.push(address),
                None => {
                    return fail(
                        "this is not the address of objects",
                        "--data takes a directory, or an address such as s3://bucket/name without keys or options",
                    );
                }
            }
            continue;
        }
        directories.push(Path::new(place).canonicalize().map_err(|cause| {
            CliError::bad_input(format!("cannot find `{place}`: {}", cause.kind()))
                .with_hint("--data names a directory of files that may be read")
        })?);
    }
    // Removed with everything in it when the worker ends; what one that was killed left behind goes when the
    // next one starts.
    let (scratch, _lock) = scratch(arguments.scratch.as_deref())?;
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let count = arguments.threads.map_or(cores, |threads| threads.get() as usize);
    let options = WorkerOptions {
        credentials,
        directories,
        objects,
        threads: count,
        memory: (arguments.memory.get() as usize) << 20,
        scratch: scratch.path().to_owned(),
        ends_at_panic: true,
    };
    let runtime = threads(count.max(2))?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(arguments.listen)
            .await
            .map_err(|cause| {
                CliError::bad_input(format!("cannot listen on {}: {}", arguments.listen, cause.kind()))
                    .with_hint("is another worker there already? --listen names another address")
            })?;
        let address = listener.local_addr().unwrap_or(arguments.listen);
        eprintln!("worker: https://{address}");
        serve_worker(options, listener, until_asked_to_end())
            .await
            .map_err(explained)
    })
}

/// What the directories of workers are called, and the file in each that its worker holds a lock on.
const SCRATCH: &str = "deniable-worker-";
const LOCK: &str = "lock";

/// A directory of this worker's own, after those of workers that are gone were removed. It is this worker's
/// for as long as the file is open.
fn scratch(place: Option<&Path>) -> Result<(tempfile::TempDir, std::fs::File), CliError> {
    let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
    for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
        let ours = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(SCRATCH));
        // Without such a file it may be one that is being made.
        let lock = std::fs::File::open(entry.path().join(LOCK));
        if ours && lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            // What cannot be removed belongs to somebody else.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let made = tempfile::Builder::new()
        .prefix(SCRATCH)
        .tempdir_in(&place)
        .and_then(|directory| {
            let lock = std::fs::File::create(directory.path().join(LOCK))?;
            lock.lock()?;
            Ok((directory, lock))
        });
    made.map_err(|cause| {
        CliError::bad_input(format!("cannot write in `{}`: {}", place.display(), cause.kind()))
            .with_hint("--scratch names a directory that can be written")
    })
}
