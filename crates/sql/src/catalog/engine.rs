//! Which engine computes exact numbers from private rows: `[engine]` in the catalog.
//!
//! It changes where rows are read, and nothing of what a question means, costs or guarantees: noise, ledger and release stay here.

use super::document::{Node, Section};
use crate::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The engine of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// Which.
    pub kind: EngineKind,
    /// A statement in the database is given up after this long, at an incident that keeps the charge; `None`: it may take as long as it takes.
    pub timeout: Option<Duration>,
    /// How much memory a sort or a hash table in the database takes before it goes to disk, in MiB; `None`: 128.
    pub work_mem: Option<u64>,
    /// The workers of [`EngineKind::Cluster`].
    pub workers: Option<Workers>,
}

/// Workers, and the files with which a coordinator and they know each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workers {
    /// Where they are: `https://host:port`.
    pub addresses: Vec<String>,
    /// The certificate of the authority that signed all others, in PEM.
    pub authority: PathBuf,
    /// The coordinator's certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// How many threads a worker uses for a stage; `None`: as many as this machine has.
    pub threads: Option<u64>,
}

/// A kind of engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// This program reads all rows.
    #[default]
    Local,
    /// Questions whose tables are in one PostgreSQL database are computed there, where they can be written in its SQL; others as by [`EngineKind::Local`].
    Postgres,
    /// Questions whose tables are Parquet files are computed by workers, where it is known how; others as by [`EngineKind::Local`].
    Cluster,
}

impl std::fmt::Display for EngineKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Local => "local",
            Self::Postgres => "postgres",
            Self::Cluster => "cluster",
        })
    }
}

/// PostgreSQL counts both in 32 bits, in milliseconds and in KiB.
const MOST_SECONDS: u64 = 2_000_000;
const MOST_MIB: u64 = 2_000_000;

const KINDS: &str = "expected \"local\", \"postgres\" or \"cluster\"";
/// More workers than a catalog would list by hand.
const MOST_WORKERS: usize = 10_000;
const MOST_THREADS: u64 = 1024;

impl Engine {
    /// Relative paths start at `directory`.
    pub(super) fn read(mut section: Section<'_>, directory: &Path) -> Result<Self, Error> {
        let kind = match section.take("kind") {
            None => EngineKind::Local,
            Some(node) => match node.text()? {
                "local" => EngineKind::Local,
                "postgres" => EngineKind::Postgres,
                "cluster" => EngineKind::Cluster,
                _ => return Err(node.wrong("there is no such engine", KINDS)),
            },
        };
        let mut limit = |key: &'static str, kinds: &[EngineKind], most: u64| -> Result<Option<u64>, Error> {
            let Some(node) = section.take(key) else {
                return Ok(None);
            };
            if !kinds.contains(&kind) {
                return Err(node.wrong(
                    format!("this is for an engine of kind \"{}\"", kinds[0]),
                    "leave it out, or name that kind",
                ));
            }
            match node.count()? {
                count if count <= most => Ok(Some(count)),
                _ => Err(node.wrong("this is more than the engine takes", format!("at most {most}"))),
            }
        };
        let timeout = limit(
            "timeout",
            &[EngineKind::Postgres, EngineKind::Cluster],
            MOST_SECONDS,
        )?;
        let work_mem = limit("work_mem", &[EngineKind::Postgres], MOST_MIB)?;
        let threads = limit("threads", &[EngineKind::Cluster], MOST_THREADS)?;
        let workers = Workers::read(&mut section, directory, kind)?;
        let workers = workers.map(|workers| Workers { threads, ..workers });
        section.finish()?;
        Ok(Self {
            kind,
            timeout: timeout.map(Duration::from_secs),
            work_mem,
            workers,
        })
    }
}

impl Workers {
    fn read(section: &mut Section<'_>, directory: &Path, kind: EngineKind) -> Result<Option<Self>, Error> {
        const CERTIFICATES: &str = "`deniable worker certificates` writes the files that a cluster needs";
        let keys = [
            ("workers", "say where they are: workers = [\"https://host:7411\"]"),
            ("authority", CERTIFICATES),
            ("certificate", CERTIFICATES),
            ("key", CERTIFICATES),
        ];
        let taken = keys.map(|(key, _)| section.take(key));
        if kind != EngineKind::Cluster {
            return match taken.into_iter().flatten().next() {
                Some(node) => Err(node.wrong(
                    "this is for an engine of kind \"cluster\"",
                    "leave it out, or name that kind",
                )),
                None => Ok(None),
            };
        }
        let mut given = |place: usize| match &taken[place] {
            Some(node) => Ok(node.clone()),
            // It is not there: this says so.
            None => section.need(keys[place].0, keys[place].1),
        };
        let list = given(0)?;
        let addresses = list
            .array()?
            .iter()
            .map(address)
            .collect::<Result<Vec<String>, Error>>()?;
        if addresses.is_empty() || addresses.len() > MOST_WORKERS {
            return Err(list.wrong(
                "this is no list of workers",
                format!("name at least one, and at most {MOST_WORKERS}"),
            ));
        }
        Ok(Some(Self {
            addresses,
            authority: directory.join(given(1)?.name()?),
            certificate: directory.join(given(2)?.name()?),
            key: directory.join(given(3)?.name()?),
            threads: None,
        }))
    }
}

/// The address of a worker: a host and a port, and nothing that could be a secret.
fn address(node: &Node<'_>) -> Result<String, Error> {
    let text = node.text()?;
    let plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | ':' | '[' | ']');
    let place = text.strip_prefix("https://").unwrap_or_default();
    let port = place
        .rsplit_once(':')
        .and_then(|(_, port)| port.parse::<u16>().ok());
    match !place.starts_with(':') && place.chars().all(plain) && port.is_some_and(|port| port > 0) {
        true => Ok(text.to_owned()),
        false => Err(node.wrong(
            "this is not the address of a worker",
            "write https:// with a host and a port, as https://10.0.0.7:7411",
        )),
    }
}
