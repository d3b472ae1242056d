//! Limits how much work one statement may do, because anyone who can log in can send any statement.
//!
//! Work is counted in steps. A step is one instruction of SQLite's virtual machine over texts of up to
//! [`SHORT`] bytes, and functions count what they do inside in the same unit. An instruction may copy or
//! compare a text as a whole, so it counts for as many steps as the longest text that the statement has made
//! is longer than that. Time is limited as well, in case steps are slower than expected.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::failure;

/// The most steps of a statement.
pub(in super::super) const MOST_STEPS: u64 = 5_000_000;
/// The most bytes of text that functions may make.
const MOST_BYTES: u64 = 16_000_000;
/// Bytes that one instruction may copy or compare for one step.
const SHORT: u64 = 64;
/// Bytes that a function may read or write, character by character, for one step.
const BYTES_A_STEP: u64 = 8;
/// The longest time.
const LONGEST: Duration = Duration::from_secs(2);

/// Ends a statement from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends it soon.
    pub(crate) fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How much the statement under way has done.
#[derive(Clone, Default)]
pub(in super::super) struct Work(Arc<Counts>);

#[derive(Default)]
struct Counts {
    steps: AtomicU64,
    bytes: AtomicU64,
    /// The longest text so far.
    longest: AtomicU64,
    /// Whether the statement has done more than it may.
    exhausted: AtomicBool,
    until: Mutex<Option<(Instant, Stop)>>,
}

impl Work {
    /// After how many instructions of the virtual machine [`Work::instructions`] is called.
    pub(in super::super) const EVERY: i32 = 100;

    /// Begins a statement.
    pub(in super::super) fn begin(&self, stop: &Stop) {
        let counts = &self.0;
        for count in [&counts.steps, &counts.bytes, &counts.longest] {
            count.store(0, Ordering::Relaxed);
        }
        counts.exhausted.store(false, Ordering::Relaxed);
        let until = Some((Instant::now() + LONGEST, stop.clone()));
        *counts.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// Counts [`Work::EVERY`] instructions, and says whether that is too many.
    pub(in super::super) fn instructions(&self) -> bool {
        let each = 1 + self.0.longest.load(Ordering::Relaxed) / SHORT;
        self.count(u64::from(Self::EVERY.unsigned_abs()).saturating_mul(each))
    }

    /// Counts steps inside a function.
    pub(super) fn steps(&self, steps: u64) -> rusqlite::Result<()> {
        match self.count(steps) {
            true => Err(self.too_much()),
            false => Ok(()),
        }
    }

    /// Counts bytes that a function reads.
    pub(super) fn reads(&self, bytes: usize) -> rusqlite::Result<()> {
        self.steps(1 + long(bytes) / BYTES_A_STEP)
    }

    /// Counts text that a function made.
    pub(super) fn makes(&self, bytes: usize) -> rusqlite::Result<()> {
        let bytes = long(bytes);
        self.0.longest.fetch_max(bytes, Ordering::Relaxed);
        let made = self
            .0
            .bytes
            .fetch_add(bytes, Ordering::Relaxed)
            .saturating_add(bytes);
        if made > MOST_BYTES {
            return Err(self.too_much());
        }
        self.steps(bytes / BYTES_A_STEP)
    }

    /// Ends a statement that does too much.
    pub(super) fn too_much(&self) -> rusqlite::Error {
        self.0.exhausted.store(true, Ordering::Relaxed);
        failure("the statement does too much")
    }

    /// Whether the statement has done more than it may.
    pub(in super::super) fn is_exhausted(&self) -> bool {
        self.0.exhausted.load(Ordering::Relaxed)
    }

    /// Steps so far.
    #[cfg(test)]
    pub(in super::super) fn done(&self) -> u64 {
        self.0.steps.load(Ordering::Relaxed)
    }

    /// Counts steps, and says whether they are too many. Those that are, are not counted: they are not done.
    fn count(&self, steps: u64) -> bool {
        let fits = |done: u64| done.checked_add(steps).filter(|done| *done <= MOST_STEPS);
        let counted = self
            .0
            .steps
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        let until = self.0.until.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = until
            .as_ref()
            .is_some_and(|(until, stop)| stop.is_stopped() || Instant::now() > *until);
        let exhausted = counted.is_err() || ended;
        if exhausted {
            self.0.exhausted.store(true, Ordering::Relaxed);
        }
        exhausted
    }
}

fn long(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
