//! Reads the chain from its first entry: what was charged, whether all of it is as it was written, and the
//! sums.

use crate::analyst::normalised;
use crate::backend::{Backend, Snapshot};
use crate::chain::{
    AnswerBody, ChargeBody, FORMAT, Head, LogBody, OpenedBody, Record, RecordKind, RulesBody, digest_of,
};
use crate::tally::Tally;
use crate::{Error, LogEntry, Logged, Rules};
use accounting::{Event, Guarantee, PrivacyUnit};
use std::collections::{BTreeMap, BTreeSet};

/// Entries that are read at once.
const PAGE: u32 = 100;

/// One charge of a ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number, which is on the receipt.
    pub number: u64,
    /// When, in milliseconds since 1970, by the clock of the machine that charged it.
    pub time: i64,
    /// The analyst who asked, in the one spelling of the name ([`Analyst`](crate::Analyst)).
    pub analyst: String,
    /// The digest of the question.
    pub question: String,
    /// What for, in the asker's words.
    pub purpose: String,
    /// What ran, or would have.
    pub event: Event,
    /// What it promises, and to whom.
    pub guarantee: Guarantee,
    /// Whether its answer was kept. One without stays spent.
    pub answered: bool,
}

/// An answer that was given before, and can be given again for free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The number of the entry that keeps it.
    pub number: u64,
    /// When it was kept, in milliseconds since 1970.
    pub time: i64,
    /// Who asked, in the one spelling of the name.
    pub analyst: String,
    /// What was answered.
    pub answer: String,
    /// The number of the charge that paid for it.
    pub charge_number: u64,
}

/// What [`Store::verify`](crate::Store::verify) found to be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Entries of all kinds.
    pub entries: u64,
    /// Charges among them.
    pub charges: u64,
    /// The last entry.
    pub head: Head,
}

/// The sums after the last entry.
pub(crate) struct Current {
    pub(crate) head: Head,
    pub(crate) tally: Tally,
}

/// The sums after the last entry, with the filter of this analyst ready. They are read where they were kept.
/// If these do not belong to the chain, they are counted anew.
pub(crate) fn load(backend: &mut dyn Backend, last: &Record, analyst: &str) -> Result<Current, Error> {
    if let Err(error) = last.check_itself() {
        // If the last entry is wrong, an earlier one may be too: the first is named.
        replay(backend, Charges::AsTheyWere)?;
        return Err(error);
    }
    let head = last.head();
    let kept = backend.snapshot()?;
    // Sums about an entry that is not there: entries after the last one were removed.
    if let Some(kept) = kept.as_ref().filter(|kept| kept.number > head.number) {
        return Err(Error::Rewound { number: kept.number });
    }
    let read = kept
        .filter(|kept| belongs(kept, last))
        .and_then(|kept| Tally::read(&kept.tally));
    if let Some(mut tally) = read
        && tally.wake(analyst)
    {
        return Ok(Current { head, tally });
    }
    let replay = replay(backend, Charges::AsTheyWere)?;
    if replay.head != head {
        return Err(Error::broken(
            head.number,
            "it is not the last entry of the chain",
        ));
    }
    let tally = replay.tally;
    Ok(Current { head, tally })
}

/// Whether the kept sums are those that the entry vouches for.
fn belongs(kept: &Snapshot, entry: &Record) -> bool {
    kept.number == entry.number && kept.hash == entry.hash && digest_of(&kept.tally) == entry.tally
}

/// What to do about charges beyond the budget that was in force.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charges {
    /// Count them; nothing is admitted after them.
    AsTheyWere,
    /// There must be none.
    WithinBudget,
}

/// A chain that was read to its end.
pub(crate) struct Replay {
    pub(crate) head: Head,
    pub(crate) tally: Tally,
    /// Every charge: who asked, what ran, and whom it is about.
    past: Vec<(String, ChargeBody)>,
    /// Whose name an earlier version wrote in another spelling. It did not count that to the share.
    respelled: BTreeSet<String>,
}

impl Replay {
    /// Everything charged so far, under other rules.
    pub(crate) fn under(&self, rules: &Rules) -> Result<Tally, Error> {
        let mut tally = Tally::new(rules)?;
        for (analyst, charge) in &self.past {
            // What does not fit shuts the filter; that is the answer.
            let _ = tally.absorb(analyst, &charge.event, unit(charge))?;
        }
        Ok(tally)
    }

    fn read(&mut self, record: &Record, kind: RecordKind, charges: Charges) -> Result<(), Error> {
        match kind {
            RecordKind::Opened | RecordKind::Answer | RecordKind::Log => {}
            RecordKind::Charge => {
                let charge: ChargeBody = record.body()?;
                let analyst = normalised(&record.analyst);
                if analyst != record.analyst {
                    self.respelled.insert(analyst.clone());
                }
                let admitted = self.tally.absorb(&analyst, &charge.event, unit(&charge))?;
                let within = admitted.by_budget && (admitted.by_share || self.respelled.contains(&analyst));
                if !within && charges == Charges::WithinBudget {
                    return Err(Error::broken(
                        record.number,
                        "it was charged beyond the budget in force",
                    ));
                }
                self.past.push((analyst, charge));
            }
            RecordKind::Rules => self.tally = self.under(&record.body::<RulesBody>()?.rules)?,
        }
        self.head = record.head();
        Ok(())
    }
}

fn unit(charge: &ChargeBody) -> &PrivacyUnit {
    charge.guarantee.unit()
}

/// Counts everything anew, and checks every link on the way.
pub(crate) fn replay(backend: &mut dyn Backend, charges: Charges) -> Result<Replay, Error> {
    let mut replay: Option<Replay> = None;
    walk(backend, |record, kind| match &mut replay {
        Some(replay) => replay.read(record, kind, charges),
        None => {
            let opened: OpenedBody = record.body()?;
            if opened.format != FORMAT {
                return Err(Error::unusable(
                    format!(
                        "it is of format {}, and this version reads format {FORMAT}",
                        opened.format
                    ),
                    "use the version that wrote it",
                ));
            }
            replay = Some(Replay {
                head: record.head(),
                tally: Tally::new(&opened.rules)?,
                past: Vec::new(),
                respelled: BTreeSet::new(),
            });
            Ok(())
        }
    })?;
    replay.ok_or_else(no_entries)
}

pub(crate) fn no_entries() -> Error {
    Error::broken(1, "it is missing, and so are all others")
}

/// Every entry in order, each checked against the one before it.
fn walk(
    backend: &mut dyn Backend,
    mut visit: impl FnMut(&Record, RecordKind) -> Result<(), Error>,
) -> Result<Option<Head>, Error> {
    walk_after(backend, None, |record, kind| visit(record, kind).map(|()| true))
}

/// Every entry after this one, each checked against the one before it, until `visit` has seen enough. The
/// last one that was seen.
pub(crate) fn walk_after(
    backend: &mut dyn Backend,
    start: Option<Head>,
    mut visit: impl FnMut(&Record, RecordKind) -> Result<bool, Error>,
) -> Result<Option<Head>, Error> {
    let mut head = start;
    loop {
        let after = head.as_ref().map_or(0, |head| head.number);
        let page = backend.entries_after(after, PAGE)?;
        for record in &page {
            record.check_after(head.as_ref())?;
            let more = visit(record, record.kind()?)?;
            head = Some(record.head());
            if !more {
                return Ok(head);
            }
        }
        if page.len() < PAGE as usize {
            return Ok(head);
        }
    }
}

/// How many entries before the last verified one are looked at once more when a ledger is opened, and how
/// many bytes of them.
const LOOK_BACK: u64 = 4096;
const LOOK_BACK_BYTES: usize = 64 << 20;

/// The chain from the entry that was verified last to its end: that entry is still there, and each link after
/// it holds. Costs as much as was appended since.
pub(crate) fn check_since(backend: &mut dyn Backend, verified: &Head) -> Result<Head, Error> {
    let number = verified.number;
    let rewound = || Error::Rewound { number };
    let there = backend.entry(number)?.ok_or_else(rewound)?;
    if there.hash != verified.hash {
        return Err(rewound());
    }
    there.check_itself()?;
    let end = walk_after(backend, Some(verified.clone()), |_, _| Ok(true))?;
    end.ok_or_else(no_entries)
}

/// The same, and older entries once more: all of them in a short ledger, else a stretch of them that differs
/// from time to time. So an entry in the middle that somebody changed is found by the next who opens a ledger
/// of up to some thousand entries, and by one of the next otherwise; [`verify`] reads all of it.
pub(crate) fn check_opened(
    backend: &mut dyn Backend,
    verified: Option<&Head>,
    chance: u64,
) -> Result<Head, Error> {
    let Some(verified) = verified else {
        return walk(backend, |_, _| Ok(()))?.ok_or_else(no_entries);
    };
    let end = check_since(backend, verified)?;
    let last = verified.number;
    let start = match last.checked_sub(LOOK_BACK) {
        None | Some(0) => None,
        Some(latest) => match chance % (latest + 1) {
            0 => None,
            number => backend.entry(number)?.map(|record| record.head()),
        },
    };
    let mut bytes = 0;
    let mut seen = 0;
    walk_after(backend, start, |record, _| {
        bytes += record.body.len() + record.purpose.len();
        seen += 1;
        Ok(record.number < last && seen < LOOK_BACK && bytes < LOOK_BACK_BYTES)
    })?;
    Ok(end)
}

/// Every charge, the oldest first.
pub(crate) fn charges(backend: &mut dyn Backend) -> Result<Vec<Entry>, Error> {
    charges_until(backend, u64::MAX)
}

/// Every charge up to the entry of this number, as if it were the last.
pub(crate) fn charges_until(backend: &mut dyn Backend, last: u64) -> Result<Vec<Entry>, Error> {
    let mut charges: Vec<Entry> = Vec::new();
    walk_after(backend, None, |record, kind| {
        match kind {
            RecordKind::Opened | RecordKind::Rules | RecordKind::Log => {}
            RecordKind::Charge => {
                let ChargeBody { event, guarantee } = record.body()?;
                charges.push(Entry {
                    number: record.number,
                    time: record.time,
                    analyst: normalised(&record.analyst),
                    question: record.question.clone(),
                    purpose: record.purpose.clone(),
                    event,
                    guarantee,
                    answered: false,
                });
            }
            RecordKind::Answer => {
                let answer: AnswerBody = record.body()?;
                if let Ok(place) = charges.binary_search_by_key(&answer.charge, |charge| charge.number) {
                    // Without a word, drawing has begun and no answer was saved.
                    charges[place].answered |= !answer.answer.is_empty();
                }
            }
        }
        Ok(record.number < last)
    })?;
    Ok(charges)
}

/// What else happened, the oldest first.
pub(crate) fn logged(backend: &mut dyn Backend) -> Result<Vec<Logged>, Error> {
    let mut logged = Vec::new();
    walk(backend, |record, kind| {
        if kind == RecordKind::Log {
            let LogBody { what, about, times } = record.body()?;
            logged.push(Logged {
                number: record.number,
                time: record.time,
                entry: LogEntry {
                    times,
                    ..LogEntry::new(what, &record.analyst, about)
                },
            });
        }
        Ok(())
    })?;
    Ok(logged)
}

/// Recomputes everything. The first thing that is wrong is the error.
pub(crate) fn verify(backend: &mut dyn Backend) -> Result<Verified, Error> {
    check_answers(backend)?;
    let replay = replay(backend, Charges::WithinBudget)?;
    let wrong = |what: &str| Error::Snapshot {
        what: what.to_owned(),
    };
    let last = backend.last()?.ok_or_else(no_entries)?;
    let kept = backend.snapshot()?.ok_or_else(|| wrong("there are none"))?;
    if kept.number > last.number {
        return Err(Error::Rewound { number: kept.number });
    }
    if kept.number != last.number || kept.hash != last.hash {
        return Err(wrong("they are not those after the last entry"));
    }
    if !belongs(&kept, &last) {
        return Err(wrong("the last entry vouches for other ones"));
    }
    // What another version wrote is not used, so it need not agree.
    if Tally::read(&kept.tally).is_some_and(|tally| !tally.counted_as(&replay.tally)) {
        return Err(wrong("the entries sum up to something else"));
    }
    Ok(Verified {
        entries: replay.head.number,
        charges: replay.past.len() as u64,
        head: replay.head,
    })
}

/// Each answer belongs to one earlier charge for the same question by the same analyst, and each charge has
/// one answer at most.
fn check_answers(backend: &mut dyn Backend) -> Result<(), Error> {
    let mut open: BTreeMap<u64, (String, String)> = BTreeMap::new();
    walk(backend, |record, kind| {
        match kind {
            RecordKind::Opened | RecordKind::Rules | RecordKind::Log => {}
            RecordKind::Charge => {
                open.insert(
                    record.number,
                    (normalised(&record.analyst), record.question.clone()),
                );
            }
            RecordKind::Answer => {
                let answer: AnswerBody = record.body()?;
                // The word that drawing has begun leaves room for what was drawn.
                let whose = match answer.answer.is_empty() {
                    true => open.get(&answer.charge).cloned(),
                    false => open.remove(&answer.charge),
                };
                if whose.is_none_or(|(analyst, question)| {
                    analyst != normalised(&record.analyst) || question != record.question
                }) {
                    return Err(Error::broken(record.number, "it answers no charge"));
                }
            }
        }
        Ok(())
    })?;
    Ok(())
}
