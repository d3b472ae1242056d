//! Writes events to the ledger: logins, refusals, incidents. A request does not wait for the disk: a task
//! writes what came in since it last wrote.
//!
//! A ledger is never shortened, so nobody may make it grow at will. One account adds at most one entry a
//! minute, all strangers together add one a minute, and incidents add one a minute for everybody. The first
//! event is written at once; those that follow within a minute are summed up in one entry of their kind.
//!
//! The size of what waits does not depend on how much happened, so it is kept while the ledger cannot be
//! written. Events are forgotten only if they find the queue full, and their number is written too.

use ledger::LogEntry;
use sql::Dataset;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

/// How long entries are collected before they are written.
const COLLECTS: Duration = Duration::from_millis(200);
/// How often at most one entry is written for an account, for all strangers together, and for incidents.
const BETWEEN: Duration = Duration::from_secs(60);
/// After the ledger could not be written it is tried again this often.
const BETWEEN_TRIES: Duration = Duration::from_secs(5);
/// What a sum lists by its words, before it says that there were others.
const LISTED: usize = 10;
/// Characters of a name, and of what an entry is about.
const LONGEST: usize = 200;
/// What a failure of the server itself is called.
const INCIDENT: &str = "incident";
/// What a failed login is called.
const FAILED: &str = "login-failed";
/// What is written where the queue was full.
const DROPPED: &str = "log-dropped";
const QUEUE: usize = 10_000;
/// Documents that wait to be written at most. They are useful and not necessary.
const MOST_DOCUMENTS: usize = 1_000;

/// Where entries go.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    sender: Sender<Item>,
    /// How many found the queue full since that was last written.
    dropped: Arc<AtomicU64>,
}

/// What is to be written.
#[derive(Debug)]
enum Item {
    Log(LogEntry),
    Keep(Document),
}

/// A document that may be lost when the server is killed.
#[derive(Clone, Debug)]
struct Document {
    collection: &'static str,
    name: String,
    body: String,
}

impl Journal {
    /// Starts the task that writes. It ends, after writing everything, when all copies of the journal are
    /// gone.
    pub(crate) fn start(dataset: Dataset) -> (Self, JoinHandle<()>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let writing = tokio::spawn(write(dataset, receiver, Arc::clone(&dropped)));
        (Self { sender, dropped }, writing)
    }

    /// Something happened. Where the queue is full it is counted.
    pub(crate) fn log(&self, what: &'static str, by: &str, about: impl Into<String>) {
        let entry = LogEntry::new(what, shortened(by), shortened(&about.into()));
        self.send(Item::Log(entry));
    }

    /// Keeps a document that is useful and not necessary.
    pub(crate) fn keep(&self, collection: &'static str, name: String, body: String) {
        self.send(Item::Keep(Document {
            collection,
            name,
            body,
        }));
    }

    fn send(&self, item: Item) {
        if self.sender.try_send(item).is_err() {
            self.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn shortened(words: &str) -> String {
    let shown = words.chars().filter(|character| !character.is_control());
    shown.take(LONGEST).collect()
}

async fn write(dataset: Dataset, mut receiver: Receiver<Item>, dropped: Arc<AtomicU64>) {
    let mut waiting = Waiting::default();
    let mut failing = false;
    loop {
        let pause = match failing {
            true => Some(BETWEEN_TRIES),
            // Waiting events are written in time, also if nothing else happens.
            false => waiting.next_due(Instant::now()),
        };
        let first = match pause {
            None => receiver.recv().await.map(Some),
            Some(pause) => tokio::time::timeout(pause, receiver.recv())
                .await
                .map_or(Some(None), |first| first.map(Some)),
        };
        let ended = first.is_none();
        waiting.add_item(first.flatten());
        if !ended {
            tokio::time::sleep(COLLECTS).await;
        }
        while let Ok(item) = receiver.try_recv() {
            waiting.add_item(Some(item));
        }
        waiting.add_dropped(dropped.swap(0, Ordering::SeqCst));
        let now = Instant::now();
        let (entries, documents) = (waiting.due(now, ended), waiting.documents.clone());
        if !entries.is_empty() || !documents.is_empty() {
            let written = dataset
                .with_ledger(move |store| {
                    Ok(store.administer(|administration| -> Result<(), ledger::Error> {
                        for document in &documents {
                            administration.keep(document.collection, &document.name, &document.body)?;
                        }
                        entries.into_iter().for_each(|entry| administration.log(entry));
                        Ok(())
                    })?)
                })
                .await;
            match &written {
                Ok(()) => waiting.written(now, ended),
                Err(error) if !failing => {
                    eprintln!("the log of the ledger cannot be written, and is kept until it can: {error}");
                }
                Err(_) => {}
            }
            if failing && written.is_ok() {
                eprintln!("the log of the ledger is written again");
            }
            failing = written.is_err();
        }
        if ended {
            return;
        }
    }
}

/// The account or group for which at most one entry a minute is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    /// All of them are one.
    Strangers,
    /// Incidents, whichever account met them: an incident must not wait until an entry about that account is
    /// due.
    Server,
    Account(String),
}

/// What is still to be written.
#[derive(Default)]
struct Waiting {
    /// Events of the server itself, which nobody else causes.
    own: Vec<LogEntry>,
    of: BTreeMap<By, Sums>,
    documents: Vec<Document>,
}

/// What one of them did since an entry about them was last written: a sum of each kind, of which one is
/// written a minute, the oldest first.
#[derive(Default)]
struct Sums {
    last_written: Option<Instant>,
    kinds: VecDeque<Sum>,
}

/// Entries of one kind.
struct Sum {
    first: LogEntry,
    /// Who it was, if it was one.
    by: String,
    /// What they were about, or by whom, where each stranger has a name: the first of them, each once.
    listed: Vec<String>,
    others: bool,
    times: u64,
}

impl Waiting {
    fn add_item(&mut self, item: Option<Item>) {
        match item {
            None => {}
            Some(Item::Log(entry)) => self.add(entry),
            Some(Item::Keep(document)) => {
                if self.documents.len() < MOST_DOCUMENTS {
                    self.documents.push(document);
                } else {
                    self.add_dropped(1);
                }
            }
        }
    }

    fn add(&mut self, entry: LogEntry) {
        let by = match entry.what.as_str() {
            FAILED | DROPPED => By::Strangers,
            INCIDENT => By::Server,
            _ if entry.by.is_empty() => {
                self.own.push(entry);
                return;
            }
            _ => By::Account(entry.by.clone()),
        };
        let kinds = &mut self.of.entry(by).or_default().kinds;
        match kinds.iter_mut().find(|sum| sum.first.what == entry.what) {
            Some(sum) => sum.add(&entry),
            None => kinds.push_back(Sum::of(entry)),
        }
    }

    fn add_dropped(&mut self, times: u64) {
        if times == 0 {
            return;
        }
        let strangers = self.of.get(&By::Strangers);
        if strangers.is_none_or(|sums| sums.kinds.iter().all(|sum| sum.first.what != DROPPED)) {
            eprintln!("more happens than the log of the ledger takes: how much is left out is written to it");
        }
        let about = "more happened than could be written";
        self.add(LogEntry {
            times,
            ..LogEntry::new(DROPPED, "", about)
        });
    }

    /// What may be written now, or all of it.
    fn due(&self, now: Instant, all: bool) -> Vec<LogEntry> {
        let sums = self.of.values();
        let due = sums.flat_map(|sums| sums.kinds.iter().take(sums.due(now, all)));
        self.own.iter().cloned().chain(due.map(Sum::entry)).collect()
    }

    /// What was due at this moment is in the ledger.
    fn written(&mut self, now: Instant, all: bool) {
        self.own.clear();
        self.documents.clear();
        for sums in self.of.values_mut() {
            let due = sums.due(now, all);
            if due > 0 {
                sums.kinds.drain(..due);
                sums.last_written = Some(now);
            }
        }
        self.of
            .retain(|_, sums| !sums.kinds.is_empty() || sums.rests_for(now).is_some());
    }

    /// How long until something of what waits may be written.
    fn next_due(&self, now: Instant) -> Option<Duration> {
        let waiting = self.of.values().filter(|sums| !sums.kinds.is_empty());
        let until = waiting.map(|sums| sums.rests_for(now).unwrap_or_default());
        until.min()
    }
}

impl Sums {
    /// How long nothing more is written about them.
    fn rests_for(&self, now: Instant) -> Option<Duration> {
        let next = self.last_written? + BETWEEN;
        Some(next.saturating_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    /// How many of the kinds may be written.
    fn due(&self, now: Instant, all: bool) -> usize {
        match (all, self.rests_for(now)) {
            (true, _) => self.kinds.len(),
            (false, Some(_)) => 0,
            (false, None) => self.kinds.len().min(1),
        }
    }
}

impl Sum {
    fn of(first: LogEntry) -> Self {
        let mut sum = Self {
            first: first.clone(),
            by: first.by.clone(),
            listed: Vec::new(),
            others: false,
            times: 0,
        };
        sum.add(&first);
        sum
    }

    fn add(&mut self, entry: &LogEntry) {
        self.times += entry.times;
        if self.by != entry.by {
            self.by.clear();
        }
        let words = match entry.what.as_str() {
            FAILED => &entry.by,
            _ => &entry.about,
        };
        if self.listed.contains(words) {
            return;
        }
        if self.listed.len() < LISTED {
            self.listed.push(words.clone());
        } else {
            self.others = true;
        }
    }

    /// As itself if there was one, and otherwise how many there were and what they were about.
    fn entry(&self) -> LogEntry {
        if self.times == 1 {
            return self.first.clone();
        }
        let mut about = self.listed.join(", ");
        if self.others {
            about.push_str(", and others");
        }
        if self.first.what == FAILED {
            about.insert_str(0, "as ");
        }
        LogEntry {
            times: self.times,
            ..LogEntry::new(&self.first.what, &self.by, about)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written of these in an hour, when each second brings `each` of them.
    fn in_an_hour(each: impl Fn(u64) -> Vec<LogEntry>) -> Vec<LogEntry> {
        let mut waiting = Waiting::default();
        let begun = Instant::now();
        let mut written = Vec::new();
        for second in 0..3600 {
            each(second).into_iter().for_each(|entry| waiting.add(entry));
            let now = begun + Duration::from_secs(second);
            written.extend(waiting.due(now, false));
            waiting.written(now, false);
        }
        written.extend(waiting.due(begun, true));
        written
    }

    fn times(entries: &[LogEntry], what: &str) -> u64 {
        let of_kind = entries.iter().filter(|entry| entry.what == what);
        of_kind.map(|entry| entry.times).sum()
    }

    #[test]
    fn an_account_adds_one_entry_a_minute_whatever_it_does() {
        let written = in_an_hour(|second| {
            vec![
                LogEntry::new("login", "ann", "with a password"),
                LogEntry::new("login", "ann", "over the PostgreSQL wire"),
                LogEntry::new("refused", "ann", format!("reason {second}")),
            ]
        });
        assert!(written.len() <= 62, "{}", written.len());
        assert_eq!(times(&written, "login"), 7200, "nothing is forgotten");
        assert_eq!(times(&written, "refused"), 3600);
        assert!(written.iter().all(|entry| entry.by == "ann"));
        assert!(written.iter().all(|entry| entry.about.len() < 3000));
        let first = LogEntry::new("login", "ann", "with a password, over the PostgreSQL wire");
        assert_eq!(written[0], LogEntry { times: 2, ..first });
    }

    #[test]
    fn strangers_add_one_entry_a_minute_however_many_they_are() {
        let written = in_an_hour(|second| {
            let name = |number| format!("name{}", second * 100 + number);
            (0..100)
                .map(|number| LogEntry::new(FAILED, name(number), "over the PostgreSQL wire"))
                .collect()
        });
        assert!(written.len() <= 61, "{}", written.len());
        assert_eq!(times(&written, FAILED), 360_000);
        assert!(
            written[0].about.starts_with("as name0, name1"),
            "{:?}",
            written[0]
        );
        assert!(written[0].about.ends_with(", and others"), "{:?}", written[0]);
    }

    /// An incident is written at once, whatever else was written about the account that met it.
    #[test]
    fn incidents_add_one_entry_a_minute_whoever_meets_them() {
        let written = in_an_hour(|second| {
            let met_by = |name: &str| LogEntry::new(INCIDENT, name, format!("number {second} of {name}"));
            vec![
                LogEntry::new("login", "ann", "with a password"),
                met_by("ann"),
                met_by("bob"),
            ]
        });
        let incidents: Vec<&LogEntry> = written.iter().filter(|entry| entry.what == INCIDENT).collect();
        assert!(incidents.len() <= 61, "{}", incidents.len());
        assert_eq!(times(&written, INCIDENT), 7200);
        assert_eq!(
            (written[0].what.as_str(), written[0].about.as_str()),
            (INCIDENT, "number 0 of ann, number 0 of bob")
        );
    }

    #[test]
    fn what_happens_once_is_written_at_once_and_as_itself() {
        let mut waiting = Waiting::default();
        let now = Instant::now();
        let entries = [
            LogEntry::new("server-started", "", ""),
            LogEntry::new(FAILED, "eve", "with a password"),
            LogEntry::new("login", "ann", "with a password"),
            LogEntry::new("refused", "bob", "day-cap"),
        ];
        entries.iter().cloned().for_each(|entry| waiting.add(entry));
        assert_eq!(waiting.due(now, false), entries);
        waiting.written(now, false);
        assert!(waiting.due(now, false).is_empty() && waiting.next_due(now).is_none());
        // The next of the same account waits, also of another kind; that of another account does not.
        waiting.add(LogEntry::new("refused", "ann", "day-cap"));
        waiting.add(LogEntry::new("login", "cat", "with a password"));
        assert_eq!(
            waiting.due(now, false),
            [LogEntry::new("login", "cat", "with a password")]
        );
        waiting.written(now, false);
        assert_eq!(waiting.next_due(now), Some(BETWEEN));
        assert_eq!(waiting.due(now + BETWEEN, false).len(), 1);
        // Those who did nothing for a minute are forgotten.
        waiting.written(now + BETWEEN, false);
        waiting.written(now + 2 * BETWEEN, false);
        assert!(waiting.of.is_empty());
    }

    /// As long as the ledger cannot be written, what waits stays, and stays small.
    #[test]
    fn what_could_not_be_written_is_kept() {
        let mut waiting = Waiting::default();
        let now = Instant::now();
        for number in 0..10_000 {
            waiting.add(LogEntry::new("refused", "ann", format!("reason {number}")));
            waiting.add_item(Some(Item::Keep(Document {
                collection: "question",
                name: number.to_string(),
                body: String::new(),
            })));
            waiting.due(now, false);
        }
        assert_eq!(waiting.documents.len(), MOST_DOCUMENTS);
        let due = waiting.due(now, true);
        assert_eq!((times(&due, "refused"), times(&due, DROPPED)), (10_000, 9_000));
        assert_eq!(due.len(), 2);
    }

    #[tokio::test]
    async fn a_full_queue_says_so() {
        let (sender, receiver) = mpsc::channel(1);
        let journal = Journal {
            sender,
            dropped: Arc::default(),
        };
        for _ in 0..8 {
            journal.log("login", "ann", "with a password");
        }
        assert_eq!(journal.dropped.load(Ordering::SeqCst), 7);
        let mut waiting = Waiting::default();
        waiting.add_dropped(journal.dropped.swap(0, Ordering::SeqCst));
        let due = waiting.due(Instant::now(), false);
        assert_eq!((due.len(), times(&due, DROPPED)), (1, 7));
        drop(receiver);
    }
}
