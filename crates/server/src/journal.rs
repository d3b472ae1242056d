//! What happens is written to the ledger: logins, refusals, tokens. Whoever it happens to does not wait for the disk; a task writes what came in since it last wrote.

use ledger::LogEntry;
use sql::Dataset;
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

/// How long entries are collected before they are written.
const COLLECTS: Duration = Duration::from_millis(200);
/// Different entries that are written at once. Of a flood the rest is one entry that counts it, so that nobody fills the ledger by failing to sign in.
const MOST_AT_ONCE: usize = 100;
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
    while let Some(first) = receiver.recv().await {
        let mut items = vec![first];
        tokio::time::sleep(COLLECTS).await;
        while let Ok(item) = receiver.try_recv() {
            items.push(item);
        }
        let written = dataset
            .with_ledger(move |store| {
                Ok(store.administer(|administration| -> Result<(), ledger::Error> {
                    let mut entries = Vec::new();
                    for item in items {
                        match item {
                            Item::Log(entry) => entries.push(entry),
                            Item::Keep {
                                collection,
                                name,
                                body,
                            } => {
                                administration.keep(collection, &name, &body)?;
                            }
                        }
                    }
                    merged(entries)
                        .into_iter()
                        .for_each(|entry| administration.log(entry));
                    Ok(())
                })?)
            })
            .await;
        if let Err(error) = written {
            eprintln!("the log of the ledger could not be written: {error}");
        }
    }
}

/// Equal entries become one that says how many there were.
fn merged(entries: Vec<LogEntry>) -> Vec<LogEntry> {
    let mut counted: Vec<(LogEntry, u64)> = Vec::new();
    let mut further = 0;
    for entry in entries {
        if let Some((_, count)) = counted.iter_mut().find(|(known, _)| *known == entry) {
            *count += 1;
        } else if counted.len() < MOST_AT_ONCE {
            counted.push((entry, 1));
        } else {
            further += 1;
        }
    }
    let mut merged: Vec<LogEntry> = counted
        .into_iter()
        .map(|(entry, count)| match count {
            1 => entry,
            count => LogEntry {
                about: format!("{} ({count} times)", entry.about).trim_start().to_owned(),
                ..entry
            },
        })
        .collect();
    if further > 0 {
        merged.push(LogEntry::new("further", "", format!("{further} entries more")));
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted() {
        let flood =
            (0..1000).map(|number| LogEntry::new("login-failed", format!("name{}", number % 300), ""));
        let merged = merged(flood.collect());
        assert_eq!(merged.len(), MOST_AT_ONCE + 1);
        assert_eq!(merged[0].about, "(4 times)");
        assert_eq!(merged[MOST_AT_ONCE].about, "600 entries more");
    }
}
