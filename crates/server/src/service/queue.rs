//! Questions that run or wait: counted, so that the server ends after them, and so that one account does not take all places.

use super::Service;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use tokio::sync::Notify;

/// Questions of one account that run or wait, of all that may.
const PART_OF_ONE_ACCOUNT: usize = 4;

/// Questions that run now.
#[derive(Debug, Default)]
pub(super) struct Running {
    pub(super) count: AtomicUsize,
    pub(super) none: Notify,
}

/// One of them.
pub(super) struct Run(Arc<Running>);

impl Run {
    pub(super) fn begin(running: &Arc<Running>) -> Self {
        running.count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(running))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.none.notify_waiters();
        }
    }
}

/// One of the questions of an account that run or wait.
pub(super) struct Place<'a> {
    service: &'a Service,
    account: String,
}

impl<'a> Place<'a> {
    /// `None` where the account has enough of them.
    pub(super) fn of(service: &'a Service, account: &str) -> Option<Self> {
        let most = (service.settings.waiting / PART_OF_ONE_ACCOUNT).max(1);
        let mut counts = service.of_account.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(account.to_owned()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Self {
            service,
            account: account.to_owned(),
        })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut counts = self
            .service
            .of_account
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.account) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.account);
            }
        }
    }
}
