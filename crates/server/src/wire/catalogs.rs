//! Schedules statements over the system catalogs: they run beside each other on a few threads, and those of
//! one account one after the other.
//!
//! Anyone who can log in can send statements that do as much work as one may. An account has at most one of
//! them under way and one place in the line for a thread. So a statement waits for at most one of each other
//! account before it, and not at all while a thread is free.

use super::system::{self, Answer, AnswerColumn, Stop, System};
use crate::failure::{Code, Failure};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Semaphore;

/// Statements that run at once.
const AT_ONCE: usize = 4;
/// Statements of one account that wait; more are refused.
const MOST_WAITING: usize = 64;

/// The system catalogs, in turns.
pub(super) struct Catalogs {
    system: Mutex<Arc<System>>,
    threads: Arc<Semaphore>,
    accounts: Mutex<HashMap<String, Weak<Account>>>,
}

/// The turns of one account.
struct Account {
    turn: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Catalogs {
    pub(super) fn new(system: System) -> Self {
        Self {
            system: Mutex::new(Arc::new(system)),
            threads: Arc::new(Semaphore::new(AT_ONCE)),
            accounts: Mutex::default(),
        }
    }

    /// Takes others in their place, for statements that begin from now on.
    pub(super) fn replace(&self, system: System) {
        *self.lock() = Arc::new(system);
    }

    fn lock(&self) -> MutexGuard<'_, Arc<System>> {
        self.system.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What they answer; `None` if they are not asked.
    pub(super) async fn query(&self, account: &str, sql: &str) -> Result<Option<Answer>, Failure> {
        let (sql, user) = (sql.to_owned(), account.to_owned());
        let ask = move |system: &System, stop: &Stop| {
            let answered = system.answers(&sql).then(|| system.query(&sql, &user, stop));
            answered.transpose()
        };
        self.in_turn(account, ask).await?.map_err(failed)
    }

    /// The columns of what they answer; `None` if they are not asked.
    pub(super) async fn columns(
        &self,
        account: &str,
        sql: &str,
    ) -> Result<Option<Vec<AnswerColumn>>, Failure> {
        let (sql, user) = (sql.to_owned(), account.to_owned());
        let ask = move |system: &System, stop: &Stop| {
            let answered = system.answers(&sql).then(|| system.columns(&sql, &user, stop));
            answered.transpose()
        };
        self.in_turn(account, ask).await?.map_err(failed)
    }

    /// How many of these statements ask something else.
    pub(super) async fn count_others(
        &self,
        account: &str,
        statements: Vec<String>,
    ) -> Result<usize, Failure> {
        let count = move |system: &System, _: &Stop| {
            let others = statements.iter().filter(|sql| !system.answers(sql));
            others.count()
        };
        self.in_turn(account, count).await
    }

    /// Runs something when it is this account's turn and a thread is free. If the client that waits for it
    /// goes away, it is stopped.
    pub(super) async fn in_turn<T: Send + 'static>(
        &self,
        account: &str,
        run: impl FnOnce(&System, &Stop) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let ending = |_| Failure::defect("the system catalogs failed");
        let account = self.account(account);
        let waiting = Waiting::begin(&account)?;
        let turn = Arc::clone(&account.turn).acquire_owned().await.map_err(ending)?;
        let thread = Arc::clone(&self.threads).acquire_owned().await.map_err(ending)?;
        drop(waiting);
        let (system, stop) = (Arc::clone(&self.lock()), Stop::default());
        let stopping = Stopping(stop.clone());
        let running = tokio::task::spawn_blocking(move || {
            let result = run(&system, &stop);
            // Only now may the next one begin, even if nobody waits for this one any more.
            drop((account, turn, thread));
            result
        });
        let result = running.await;
        drop(stopping);
        result.map_err(|_| Failure::defect("the system catalogs failed"))
    }

    fn account(&self, name: &str) -> Arc<Account> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = accounts.get(name).and_then(Weak::upgrade) {
            return account;
        }
        accounts.retain(|_, account| account.strong_count() > 0);
        let account = Arc::new(Account {
            turn: Arc::new(Semaphore::new(1)),
            waiting: AtomicUsize::new(0),
        });
        accounts.insert(name.to_owned(), Arc::downgrade(&account));
        account
    }
}

/// A statement that waits, until this is dropped.
struct Waiting<'a>(&'a Account);

impl<'a> Waiting<'a> {
    fn begin(account: &'a Account) -> Result<Self, Failure> {
        let waiting = Self(account);
        if account.waiting.fetch_add(1, Ordering::SeqCst) >= MOST_WAITING {
            return Err(Failure::new(
                Code::Busy,
                "too many statements of this account wait for the system catalogs",
                "ask again in a moment, over fewer connections",
            ));
        }
        Ok(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Stops a statement when nobody waits for it any more.
struct Stopping(Stop);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn failed(error: system::Error) -> Failure {
    let code = match error.limit {
        true => Code::TooLarge,
        false => Code::Refused,
    };
    Failure::new(code, error.what, error.hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn catalogs() -> Arc<Catalogs> {
        Arc::new(Catalogs::new(
            System::new("town", &[]).expect("the catalogs are built"),
        ))
    }

    /// While one account does as much as it may, another's statement is answered.
    #[tokio::test]
    async fn nobody_waits_for_another_while_a_thread_is_free() {
        let catalogs = catalogs();
        let (release, released) = mpsc::channel::<()>();
        let busy = Arc::clone(&catalogs);
        // One runs until it is told to end, and many of the same account wait behind it.
        let running =
            tokio::spawn(async move { busy.in_turn("eve", move |_, _| released.recv().is_ok()).await });
        let eve = catalogs.account("eve");
        let waiting = || eve.waiting.load(Ordering::SeqCst);
        while eve.turn.available_permits() > 0 || waiting() > 0 {
            tokio::task::yield_now().await;
        }
        let behind: Vec<_> = (0..MOST_WAITING)
            .map(|_| {
                let catalogs = Arc::clone(&catalogs);
                tokio::spawn(async move { catalogs.query("eve", "SELECT 1").await })
            })
            .collect();
        while waiting() < MOST_WAITING {
            tokio::task::yield_now().await;
        }
        drop(eve);
        let answer = catalogs.query("ann", "SELECT 1").await.unwrap().unwrap();
        assert_eq!(answer.rows, [[Some("1".to_owned())]]);
        assert!(behind.iter().all(|waiting| !waiting.is_finished()));
        let refused = catalogs.query("eve", "SELECT 1").await.unwrap_err();
        assert_eq!(refused.code, Code::Busy, "{refused}");
        release.send(()).unwrap();
        assert!(running.await.unwrap().unwrap());
        for waiting in behind {
            assert!(waiting.await.unwrap().is_ok());
        }
        assert!(
            catalogs
                .accounts
                .lock()
                .unwrap()
                .values()
                .all(|account| account.strong_count() == 0)
        );
    }

    #[tokio::test]
    async fn a_statement_that_nobody_waits_for_is_stopped() {
        let catalogs = catalogs();
        let endless = "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c";
        let stop = Stop::default();
        stop.stop();
        assert!(catalogs.lock().query(endless, "ann", &stop).unwrap_err().limit);
        let (seen, stopped) = mpsc::channel();
        let waited = catalogs.in_turn("ann", move |_, stop| {
            while !stop.is_stopped() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            seen.send(()).is_ok()
        });
        let waited = tokio::time::timeout(std::time::Duration::from_millis(50), waited).await;
        assert!(waited.is_err());
        assert!(stopped.recv().is_ok());
        assert!(catalogs.query("ann", "SELECT 1").await.is_ok());
    }

    #[tokio::test]
    async fn what_does_too_much_is_a_limit_and_what_is_wrong_is_not() {
        let catalogs = catalogs();
        let failed = async |sql: &str| catalogs.query("ann", sql).await.unwrap_err().code.sqlstate();
        assert_eq!(failed("SELECT repeat('x', 2000000000)").await, "54000");
        assert_eq!(failed("SELECT nothing()").await, "0A000");
    }
}
