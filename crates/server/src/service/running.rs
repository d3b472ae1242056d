//! Counts queries that run, wait or leave, so that the server ends after them and can say whose it drops.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Questions that are under way, by account.
#[derive(Debug, Default)]
pub(super) struct Running {
    counts: Mutex<BTreeMap<String, usize>>,
    changed: Notify,
}

/// One of them, as long as this lives.
pub(super) struct Counted {
    running: Arc<Running>,
    account: String,
}

impl Running {
    pub(super) fn count(self: &Arc<Self>, account: &str) -> Counted {
        *self.lock().entry(account.to_owned()).or_default() += 1;
        Counted {
            running: Arc::clone(self),
            account: account.to_owned(),
        }
    }

    /// Waits until there are none.
    pub(super) async fn none(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Before it is looked: what ends in between is noticed.
            changed.as_mut().enable();
            if self.lock().is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// How many there are of each account.
    pub(super) fn by_account(&self) -> BTreeMap<String, usize> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.running.lock();
        if let Some(count) = counts.get_mut(&self.account) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.account);
            }
        }
        if counts.is_empty() {
            self.running.changed.notify_waiters();
        }
    }
}
