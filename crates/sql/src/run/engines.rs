//! The two engines of a dataset: one for private rows, and one for everything that is public.

use crate::Error;
use crate::catalog::Engine;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::run::workers;
use crate::understand::mistakes::unplannable;
use cluster::Cluster;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool, UnboundedMemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How much memory a question over private rows gets before it goes to disk: this part of what the machine has, so that the questions that a server answers at once (four, unless it is told
/// otherwise) leave half of it to others, within these bounds.
const PART: usize = 8;
const LEAST: usize = 768 << 20;
const MOST: usize = 3 << 30;
/// The same for what is public.
const PUBLIC: usize = 768 << 20;

/// The memory of the first attempt and of each further one. Only an attempt that ran out of it is repeated with more, and the last has no limit but the machine's: an operator that cannot go
/// to disk must not decide whether there is an answer. All of it depends on the machine, and on no data.
fn attempts() -> Vec<Option<usize>> {
    let first = machine_memory().map_or(LEAST, |all| (all / PART).clamp(LEAST, MOST));
    vec![Some(first), Some(first.max(MOST)), None]
}

/// The bytes of memory that the machine has, or that this program may use of them, where Linux says so.
fn machine_memory() -> Option<usize> {
    let all = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = all.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: usize = kibibytes.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let all = kibibytes.checked_mul(1024)?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let granted = files_of_limits(&groups)
        .into_iter()
        .filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse::<usize>().ok());
    Some(granted.fold(all, usize::min))
}

/// Where the limits stand of the control groups that `/proc/self/cgroup` names, and of all groups around them: of a service, of a container, or of both. Of either version.
fn files_of_limits(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let (root, name, path) = match line.splitn(3, ':').collect::<Vec<_>>()[..] {
            ["0", "", path] => ("/sys/fs/cgroup", "memory.max", path),
            [_, kinds, path] if kinds.split(',').any(|kind| kind == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", path)
            }
            _ => continue,
        };
        let group = Path::new(path.trim_start_matches('/'));
        files.extend(
            group
                .ancestors()
                .map(|group| Path::new(root).join(group).join(name)),
        );
    }
    files
}

/// Functions and rules are made once; the memory of an engine, and what it remembers of files, are those of one question.
pub(crate) struct Engines {
    private: SessionState,
    public: SessionState,
    attempts: Vec<Option<usize>>,
    /// The connections to workers, for as long as the catalog names the same.
    workers: Mutex<Option<(Engine, Cluster)>>,
}

impl Engines {
    /// Engines with this configuration.
    pub(crate) fn new(config: SessionConfig) -> Self {
        Self::with_attempts(config, attempts())
    }

    /// The same with other attempts: how much memory each has, at least one.
    pub(crate) fn with_attempts(config: SessionConfig, attempts: Vec<Option<usize>>) -> Self {
        #[cfg(test)]
        let private = match planted(Mutant::Pruning) || planted(Mutant::SignedZero) {
            true => {
                let mut config = config.clone();
                config.options_mut().optimizer.prefer_hash_join = planted(Mutant::Pruning);
                bound::session_with_all_rules(config, Arc::default())
            }
            false => bound::session(config.clone(), Arc::default()),
        };
        #[cfg(not(test))]
        let private = bound::session(config.clone(), Arc::default());
        Self {
            private: private.state(),
            public: SessionContext::new_with_config(config.with_collect_statistics(false)).state(),
            attempts,
            workers: Mutex::default(),
        }
    }

    /// The workers that a catalog names, with connections that are kept.
    ///
    /// # Errors
    /// If the files of certificates cannot be read.
    pub(crate) fn cluster(&self, engine: &Engine) -> Result<Cluster, Error> {
        let mut kept = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((named, cluster)) = &*kept
            && named == engine
        {
            return Ok(cluster.clone());
        }
        let cluster = workers::connect(engine)?;
        *kept = Some((engine.clone(), cluster.clone()));
        Ok(cluster)
    }

    /// A session for private rows: its rules and operators are a closed list. `None` where there is no such attempt, counted from 0; the first is always there.
    pub(crate) fn private(&self, attempt: usize) -> Result<Option<SessionContext>, Error> {
        let memory = self.attempts.get(attempt);
        memory
            .map(|memory| with_memory(&self.private, *memory))
            .transpose()
    }

    /// The session of the first attempt.
    pub(crate) fn first(&self) -> Result<SessionContext, Error> {
        with_memory(&self.private, self.attempts.first().copied().flatten())
    }

    /// A session for public tables, and for what is done with released values.
    pub(crate) fn public(&self) -> Result<SessionContext, Error> {
        with_memory(&self.public, Some(PUBLIC))
    }
}

fn with_memory(state: &SessionState, memory: Option<usize>) -> Result<SessionContext, Error> {
    let pool: Arc<dyn MemoryPool> = match memory {
        Some(bytes) => Arc::new(FairSpillPool::new(bytes)),
        None => Arc::new(UnboundedMemoryPool::default()),
    };
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(pool)
        .build_arc()
        .map_err(unplannable)?;
    let state = SessionStateBuilder::new_from_existing(state.clone())
        .with_runtime_env(runtime)
        .build();
    Ok(SessionContext::new_with_state(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_memory_are_looked_for_in_every_group_around() {
        let names = |groups: &str| -> Vec<String> {
            let files = files_of_limits(groups).into_iter();
            files.map(|file| file.display().to_string()).collect()
        };
        assert_eq!(
            names("0::/system.slice/deniable.service\n"),
            [
                "/sys/fs/cgroup/system.slice/deniable.service/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
        assert_eq!(
            names("5:cpu,cpuacct:/a\n4:memory:/\nnonsense\n"),
            ["/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        );
    }

    #[test]
    fn each_attempt_has_more_memory_than_a_batch_needs_and_the_last_has_no_limit() {
        let attempts = attempts();
        assert!(attempts.is_sorted_by_key(|memory| memory.unwrap_or(usize::MAX)));
        assert!(attempts[0].is_some_and(|first| (LEAST..=MOST).contains(&first)));
        assert_eq!(attempts.last(), Some(&None));
    }
}
