//! What happens is written to the ledger: logins, refusals, tokens. Whoever it happens to does not wait for the disk; a task writes what came in since it last wrote.

use ledger::LogEntry;
use sql::Dataset;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

/// How long entries are collected before they are written.
const COLLECTS: Duration = Duration::from_millis(200);
/// Failed logins are written this often at most, as one entry that counts them, so that nobody fills the ledger by failing to sign in.
const BETWEEN_FAILURES: Duration = Duration::from_secs(10);
/// Names that such an entry lists.
const NAMES: usize = 10;
/// What a failed login is called.
const FAILED: &str = "login-failed";
const QUEUE: usize = 10_000;

/// Where entries go.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    sender: Sender<Item>,
}

/// What is to be written.
#[derive(Debug)]
enum Item {
    Log(LogEntry),
    /// A document that may be lost when the server is killed.
    Keep {
        collection: &'static str,
        name: String,
        body: String,
    },
    /// Nothing but what waits.
    Flush,
}

impl Journal {
    /// Starts the task that writes. It ends, after writing everything, when all copies of the journal are gone.
    pub(crate) fn start(dataset: Dataset) -> (Self, JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self { sender }, tokio::spawn(write(dataset, receiver)))
    }

    /// Something happened. Where the queue is full it is dropped: then the queue itself says that very much happened.
    pub(crate) fn log(&self, what: &'static str, by: &str, about: impl Into<String>) {
        let by: String = by
            .chars()
            .filter(|character| !character.is_control())
            .take(200)
            .collect();
        let _ = self.sender.try_send(Item::Log(LogEntry::new(what, by, about)));
    }

    /// Keeps a document that is useful and not necessary.
    pub(crate) fn keep(&self, collection: &'static str, name: String, body: String) {
        let _ = self.sender.try_send(Item::Keep {
            collection,
            name,
            body,
        });
    }
}

async fn write(dataset: Dataset, mut receiver: Receiver<Item>) {
    let mut failures = Vec::new();
    let mut written_failures: Option<Instant> = None;
    loop {
        // Failures that wait are written in time also where nothing else happens.
        let first = match failures.is_empty() {
            true => receiver.recv().await,
            false => tokio::time::timeout(BETWEEN_FAILURES, receiver.recv())
                .await
                .unwrap_or(Some(Item::Flush)),
        };
        let ended = first.is_none();
        let mut items: Vec<Item> = first.into_iter().collect();
        if !ended {
            tokio::time::sleep(COLLECTS).await;
        }
        while let Ok(item) = receiver.try_recv() {
            items.push(item);
        }
        let (mut entries, mut documents) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                Item::Log(entry) if entry.what == FAILED => failures.push(entry),
                Item::Log(entry) => entries.push(entry),
                Item::Keep {
                    collection,
                    name,
                    body,
                } => documents.push((collection, name, body)),
                Item::Flush => {}
            }
        }
        let due = ended || written_failures.is_none_or(|last| last.elapsed() >= BETWEEN_FAILURES);
        if due && !failures.is_empty() {
            entries.extend(counted(&failures));
            failures.clear();
            written_failures = Some(Instant::now());
        }
        if !entries.is_empty() || !documents.is_empty() {
            let written = dataset
                .with_ledger(move |store| {
                    Ok(store.administer(|administration| -> Result<(), ledger::Error> {
                        for (collection, name, body) in &documents {
                            administration.keep(collection, name, body)?;
                        }
                        entries.into_iter().for_each(|entry| administration.log(entry));
                        Ok(())
                    })?)
                })
                .await;
            if let Err(error) = written {
                eprintln!("the log of the ledger could not be written: {error}");
            }
        }
        if ended {
            return;
        }
    }
}

/// Failed logins as one entry: as itself where there was one, and otherwise how many there were and under which names.
fn counted(failures: &[LogEntry]) -> Option<LogEntry> {
    let (first, others) = failures.split_first()?;
    if others.is_empty() {
        return Some(first.clone());
    }
    let mut names: Vec<&str> = Vec::new();
    for failure in failures {
        if names.len() < NAMES && !names.contains(&failure.by.as_str()) {
            names.push(&failure.by);
        }
    }
    let about = format!("{} times, as {}", failures.len(), names.join(", "));
    Some(LogEntry::new(FAILED, "", about))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted() {
        let flood: Vec<LogEntry> = (0..1000)
            .map(|number| {
                LogEntry::new(
                    FAILED,
                    format!("name{}", number % 300),
                    "over the PostgreSQL wire",
                )
            })
            .collect();
        let entry = counted(&flood).unwrap();
        assert!(
            entry.about.starts_with("1000 times, as name0, name1"),
            "{entry:?}"
        );
        assert_eq!(counted(&flood[..1]).as_ref(), Some(&flood[0]));
        assert_eq!(counted(&[]), None);
    }
}
