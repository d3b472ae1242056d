//! Decides which password is checked next. Checking one takes 19 MiB and a part of a second, and strangers
//! can send as many as they like. So checks are limited in rate and wait in a fair queue.
//!
//! *Rates.* A network may try 60 times a minute, a name may be tried 60 times a minute, and one name from one
//! network ten times. If an account signed in before, it is *familiar*: there only the last of these limits
//! counts, so strangers elsewhere use up nothing of it.
//!
//! *Queue.* Two checks run at once, and 32 wait. Waiting attempts are ordered in rounds: an attempt is one
//! round behind all others of its network or for its name. So a flood from few networks, or at few names, is
//! behind everybody else, and is refused first if there is no more room. Attempts at familiar places have a
//! queue of their own, which gets every other turn.
//!
//! Nothing here knows which accounts exist. An unknown name is limited, waits and is checked like a known
//! one.

mod limit;

use crate::failure::{Code, Failure};
use crate::network::Network;
use limit::Limit;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// Passwords that are checked at once.
const AT_ONCE: usize = 2;
/// Attempts that wait, in each of the two queues.
const MOST_WAITING: usize = 32;
/// How long one waits at most.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const A_MINUTE_AT_ONE_PLACE: u32 = 10;
const A_MINUTE: u32 = 60;
/// Networks that are familiar to one account: those from which it signed in last.
const MOST_FAMILIAR: usize = 8;

/// The threads that check passwords, as many as check at once: the allocator keeps what each thread once had,
/// and a check takes 19 MiB.
pub(super) fn threads() -> &'static Runtime {
    static THREADS: LazyLock<Runtime> = LazyLock::new(|| {
        tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(AT_ONCE)
            .thread_name("passwords")
            .build()
            .expect("a runtime without workers and clocks takes nothing from the system")
    });
    &THREADS
}

/// A name, however long somebody made it.
type Name = [u8; 16];

fn name_of(account: &str) -> Name {
    let digest = Sha256::digest(account.as_bytes());
    std::array::from_fn(|place| digest[place])
}

/// Attempts to sign in with a password.
#[derive(Debug, Default)]
pub(super) struct Attempts(Mutex<State>);

#[derive(Debug)]
struct State {
    by_network: Limit<Network>,
    by_name: Limit<Name>,
    by_place: Limit<(Name, Network)>,
    by_familiar_place: Limit<(Name, Network)>,
    /// The networks from which accounts signed in, the last one last.
    familiar: HashMap<Name, Vec<Network>>,
    running: usize,
    strangers: Queue,
    familiars: Queue,
    /// Whose turn it is where both wait.
    familiars_next: bool,
    arrivals: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            by_network: Limit::a_minute(A_MINUTE),
            by_name: Limit::a_minute(A_MINUTE),
            by_place: Limit::a_minute(A_MINUTE_AT_ONE_PLACE),
            by_familiar_place: Limit::a_minute(A_MINUTE_AT_ONE_PLACE),
            familiar: HashMap::new(),
            running: 0,
            strangers: Queue::default(),
            familiars: Queue::default(),
            familiars_next: true,
            arrivals: 0,
        }
    }
}

/// One of the checks that run. The check holds it until the work is done, also if nobody waits for the result
/// any more.
#[derive(Debug)]
pub(super) struct Turn(Arc<Attempts>);

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        let next = state.next();
        if next.is_none() {
            state.running -= 1;
        }
        // Handing it on may fail, and then it comes back here.
        drop(state);
        if let Some(next) = next {
            let _ = next.turn.send(Self(Arc::clone(&self.0)));
        }
    }
}

impl Attempts {
    /// Waits for a turn to check a password for this account, in its one spelling.
    ///
    /// # Errors
    /// When there were too many attempts, or others wait.
    pub(super) async fn turn(self: &Arc<Self>, account: &str, from: Network) -> Result<Turn, Failure> {
        let entered = self.lock().enter(name_of(account), from, Instant::now());
        let (number, turn) = match entered.map_err(too_many)? {
            Entered::AtOnce => return Ok(Turn(Arc::clone(self))),
            Entered::Waits { number, turn } => (number, turn),
        };
        let _place = Place {
            attempts: self,
            number,
        };
        match tokio::time::timeout(LONGEST_WAIT, turn).await {
            Ok(Ok(turn)) => Ok(turn),
            // Put out by others, or waited too long.
            _ => Err(too_many(Duration::from_secs(1))),
        }
    }

    /// This account signed in from there: it is familiar now.
    pub(super) fn succeeded(&self, account: &str, from: Network) {
        let mut state = self.lock();
        let networks = state.familiar.entry(name_of(account)).or_default();
        networks.retain(|network| *network != from);
        networks.push(from);
        if networks.len() > MOST_FAMILIAR {
            networks.remove(0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a queue, left when the client that waits goes away.
struct Place<'a> {
    attempts: &'a Attempts,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let state = &mut *self.attempts.lock();
        for queue in [&mut state.strangers, &mut state.familiars] {
            queue.waiting.retain(|waiting| waiting.number != self.number);
        }
    }
}

/// What became of an attempt that was let in.
#[derive(Debug)]
enum Entered {
    AtOnce,
    Waits {
        number: u64,
        turn: oneshot::Receiver<Turn>,
    },
}

impl State {
    /// Lets an attempt in, or says how long to wait before the next one.
    fn enter(&mut self, name: Name, network: Network, now: Instant) -> Result<Entered, Duration> {
        let known = self.familiar.get(&name);
        let familiar = known.is_some_and(|networks| networks.contains(&network));
        match familiar {
            true => self.by_familiar_place.take((name, network), now)?,
            false => {
                // The network first: one that is refused here adds no names to the others.
                self.by_network.take(network, now)?;
                self.by_place.take((name, network), now)?;
                self.by_name.take(name, now)?;
            }
        }
        // Turns are handed on, so nobody waits while one is free.
        if self.running < AT_ONCE {
            self.running += 1;
            return Ok(Entered::AtOnce);
        }
        self.arrivals += 1;
        let queue = match familiar {
            true => &mut self.familiars,
            false => &mut self.strangers,
        };
        let (sender, turn) = oneshot::channel();
        queue.enter(Waiting {
            number: self.arrivals,
            round: queue.round_of(&name, network),
            name,
            network,
            turn: sender,
        })?;
        Ok(Entered::Waits {
            number: self.arrivals,
            turn,
        })
    }

    /// The next attempt, from the two queues by turns.
    fn next(&mut self) -> Option<Waiting> {
        let next = match self.familiars_next {
            true => self.familiars.next().or_else(|| self.strangers.next()),
            false => self.strangers.next().or_else(|| self.familiars.next()),
        };
        self.familiars_next = !self.familiars_next;
        next
    }
}

/// Attempts that wait.
#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// The round of the attempt that went ahead last.
    round: u64,
}

#[derive(Debug)]
struct Waiting {
    /// In the order in which they came.
    number: u64,
    round: u64,
    name: Name,
    network: Network,
    turn: oneshot::Sender<Turn>,
}

impl Queue {
    /// One behind whatever waits of the same network or for the same name.
    fn round_of(&self, name: &Name, network: Network) -> u64 {
        let same = |waiting: &&Waiting| waiting.network == network || waiting.name == *name;
        let last = self
            .waiting
            .iter()
            .filter(same)
            .map(|waiting| waiting.round)
            .max();
        last.map_or(self.round, |last| self.round.max(last + 1))
    }

    /// Takes a place. If there is none, the last of a later round is put out.
    fn enter(&mut self, new: Waiting) -> Result<(), Duration> {
        if self.waiting.len() >= MOST_WAITING {
            let last = (0..self.waiting.len()).max_by_key(|place| self.order(*place));
            match last.filter(|last| self.waiting[*last].round > new.round) {
                Some(last) => drop(self.waiting.remove(last)),
                None => return Err(Duration::from_secs(1)),
            }
        }
        self.waiting.push(new);
        Ok(())
    }

    fn next(&mut self) -> Option<Waiting> {
        let first = (0..self.waiting.len()).min_by_key(|place| self.order(*place))?;
        let next = self.waiting.remove(first);
        self.round = next.round;
        Some(next)
    }

    fn order(&self, place: usize) -> (u64, u64) {
        let waiting = &self.waiting[place];
        (waiting.round, waiting.number)
    }
}

fn too_many(wait: Duration) -> Failure {
    Failure::new(
        Code::TooManyRequests,
        "too many attempts to sign in with a password",
        "try again a little later; a token needs no password and does not wait",
    )
    .again_after(wait)
}

#[cfg(test)]
mod tests;
