//! Questions that are answered now. Whoever asks the same meanwhile waits, and finds the answer saved: it is charged once, and the data is read once.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Questions that are answered now, by digest, with the thread that answers each.
#[derive(Default)]
pub(super) struct Flights {
    now: Mutex<HashMap<String, ThreadId>>,
    ended: Condvar,
}

/// A question that is answered as long as this lives.
pub(super) struct Flight<'a> {
    flights: &'a Flights,
    /// `None` where somebody above on this thread answers it.
    digest: Option<String>,
}

impl Flights {
    /// Begins to answer a question, once nobody else does. A thread that asks while it answers the same, as a watcher may, does not wait for itself.
    pub(super) fn begin(&self, digest: &str) -> Flight<'_> {
        let this = thread::current().id();
        let mut now = self.lock();
        let mut flight = Flight {
            flights: self,
            digest: None,
        };
        if now.get(digest) != Some(&this) {
            while now.contains_key(digest) {
                now = self.ended.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
            now.insert(digest.to_owned(), this);
            flight.digest = Some(digest.to_owned());
        }
        flight
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ThreadId>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if let Some(digest) = &self.digest {
            self.flights.lock().remove(digest);
            self.flights.ended.notify_all();
        }
    }
}
