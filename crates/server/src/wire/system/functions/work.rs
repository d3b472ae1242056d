//! How much one statement may do: whoever can log in can send any statement.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::failure;

/// The most steps of SQLite's virtual machine.
const MOST_STEPS: u64 = 5_000_000;
/// The most bytes of text that functions may make.
const MOST_BYTES: u64 = 100_000_000;
/// The longest time.
const LONGEST: Duration = Duration::from_secs(3);

/// How much the statement under way has done.
#[derive(Clone, Default)]
pub(in super::super) struct Work(Arc<Counts>);

#[derive(Default)]
struct Counts {
    steps: AtomicU64,
    bytes: AtomicU64,
    began: Mutex<Option<Instant>>,
}

impl Work {
    /// After how many steps of the virtual machine [`Work::step`] is called.
    pub(in super::super) const EVERY: i32 = 1_000;

    /// Begins a statement.
    pub(in super::super) fn begin(&self) {
        self.0.steps.store(0, Ordering::Relaxed);
        self.0.bytes.store(0, Ordering::Relaxed);
        *self.0.began.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Counts [`Work::EVERY`] steps, and says whether that is too many.
    pub(in super::super) fn step(&self) -> bool {
        let every = u64::from(Self::EVERY.unsigned_abs());
        let steps = self.0.steps.fetch_add(every, Ordering::Relaxed) + every;
        let began = *self.0.began.lock().unwrap_or_else(PoisonError::into_inner);
        steps > MOST_STEPS || began.is_some_and(|began| began.elapsed() > LONGEST)
    }

    /// Counts text that a function made.
    pub(super) fn spend(&self, bytes: usize) -> rusqlite::Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let before = self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > MOST_BYTES {
            return Err(failure("the statement makes too much text"));
        }
        Ok(())
    }
}
