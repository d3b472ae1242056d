//! A limited number of turns, handed on fairly between accounts.
//!
//! Accounts take turns, not queries. An account with a hundred queries in line gets its next turn after every
//! other waiting account has had one, and an account that had none in this round goes first. Some turns are
//! kept for accounts with a single query, so that these do not wait for anybody's backlog. A line is bounded
//! in length: when it is full, the account with the most in line loses its newest query to one that has
//! fewer.
//!
//! A query stands in several lines, one after the other. Only the first one sees an account's whole backlog.
//! So the first decides whether a query is its account's single one, and the later lines are told
//! ([`Standing`]).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How many may have a turn, and how many may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Turns that are had at once.
    pub(super) at_once: usize,
    /// Of these, turns for questions that are the single one of their account.
    pub(super) kept: usize,
    /// Turns that one account has at once.
    pub(super) of_one: usize,
    /// The length of the line.
    pub(super) waiting: usize,
    /// The part of it that one account takes.
    pub(super) waiting_of_one: usize,
}

/// Why there is no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoTurn {
    /// The line is full, or the account's part of it.
    Full,
    /// It took too long.
    TooLong,
    /// There are no turns any more.
    Closed,
}

/// Whose question it is, and whether it was the only one of its account when it got its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    account: String,
    single: bool,
}

/// Turns, and the accounts that wait for them.
#[derive(Debug)]
pub(super) struct Queue {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// The length of the line.
    waiting: usize,
    /// The round of the turn that was given last. The first round is 1.
    round: u64,
    arrivals: u64,
    accounts: HashMap<String, Account>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Account {
    /// Turns that it has.
    has: usize,
    /// The round of its next turn, if that is not over.
    next: u64,
    line: VecDeque<Waiter>,
    /// How much of the line that is.
    length: usize,
}

#[derive(Debug)]
struct Waiter {
    arrival: u64,
    length: usize,
    /// Whether it is its account's single question, where an earlier line said so.
    single: Option<bool>,
    called: oneshot::Sender<Result<Turn, NoTurn>>,
}

/// A turn, which is handed on when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    queue: Arc<Queue>,
    standing: Standing,
}

impl Turn {
    /// For the lines that the same question stands in next.
    pub(super) fn standing(&self) -> &Standing {
        &self.standing
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.free += 1;
        if let Some(account) = state.accounts.get_mut(&self.standing.account) {
            account.has -= 1;
        }
        self.queue.hand_on(state);
    }
}

/// A turn that is handed on when this is dropped, or after a while.
#[derive(Debug)]
pub(super) struct Brief(JoinHandle<()>);

impl Brief {
    /// Runs inside a tokio runtime.
    pub(super) fn new(turn: Turn, lasts: Duration) -> Self {
        Self(tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            drop(turn);
        }))
    }
}

impl Drop for Brief {
    fn drop(&mut self) {
        // What a task holds is dropped with it.
        self.0.abort();
    }
}

/// A question in line, which leaves it when this is dropped.
struct InLine<'a> {
    queue: &'a Arc<Queue>,
    account: &'a str,
    arrival: u64,
    called: oneshot::Receiver<Result<Turn, NoTurn>>,
}

impl InLine<'_> {
    async fn called(mut self, patience: Option<Duration>) -> Result<Turn, NoTurn> {
        let called = match patience {
            None => (&mut self.called).await,
            Some(patience) => match tokio::time::timeout(patience, &mut self.called).await {
                Ok(called) => called,
                // It may have been called in this very moment.
                Err(_) => return self.called.try_recv().unwrap_or(Err(NoTurn::TooLong)),
            },
        };
        called.unwrap_or(Err(NoTurn::Closed))
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.leave(self.account, self.arrival);
        // Another question of the account may be its single one now.
        self.queue.hand_on(state);
    }
}

impl Queue {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                free: limits.at_once,
                waiting: 0,
                round: 1,
                arrivals: 0,
                accounts: HashMap::new(),
                closed: false,
            }),
            limits,
        })
    }

    /// Waits for a turn of this account, at most so long, or as long as it takes. It takes this much of the
    /// line, at least 1. An account that stops waiting leaves the line.
    pub(super) async fn turn(
        self: &Arc<Self>,
        account: &str,
        length: usize,
        patience: Option<Duration>,
    ) -> Result<Turn, NoTurn> {
        let place = self.enter(account, length.max(1), None)?;
        place.called(patience).await
    }

    /// Waits, as long as it takes, for a turn of a question that has had one in an earlier line.
    pub(super) async fn next_turn(self: &Arc<Self>, standing: &Standing) -> Result<Turn, NoTurn> {
        let place = self.enter(&standing.account, 1, Some(standing.single))?;
        place.called(None).await
    }

    /// Turns away everybody who waits, and everybody who comes later. Turns that an account has stay its own.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.waiting = 0;
        let mut sent_away = Vec::new();
        for account in state.accounts.values_mut() {
            account.length = 0;
            sent_away.extend(account.line.drain(..));
        }
        drop(state);
        for waiter in sent_away {
            let _ = waiter.called.send(Err(NoTurn::Closed));
        }
    }

    /// The length of the line.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    fn enter<'a>(
        self: &'a Arc<Self>,
        account: &'a str,
        length: usize,
        single: Option<bool>,
    ) -> Result<InLine<'a>, NoTurn> {
        let mut state = self.lock();
        if state.closed {
            return Err(NoTurn::Closed);
        }
        let own = state.accounts.get(account).map_or(0, |known| known.length);
        if own + length > self.limits.waiting_of_one.min(self.limits.waiting) {
            return Err(NoTurn::Full);
        }
        let mut sent_away = Vec::new();
        while state.waiting + length > self.limits.waiting {
            // An account that has more in line than this one would have makes room.
            match state.newest_of_the_longest(own + length) {
                Some(waiter) => sent_away.push(waiter),
                None => break,
            }
        }
        let fits = state.waiting + length <= self.limits.waiting;
        let (sender, called) = oneshot::channel();
        state.arrivals += 1;
        let arrival = state.arrivals;
        if fits {
            state.waiting += length;
            let known = state.accounts.entry(account.to_owned()).or_default();
            known.length += length;
            known.line.push_back(Waiter {
                arrival,
                length,
                single,
                called: sender,
            });
        }
        self.hand_on(state);
        for waiter in sent_away {
            let _ = waiter.called.send(Err(NoTurn::Full));
        }
        if !fits {
            return Err(NoTurn::Full);
        }
        Ok(InLine {
            queue: self,
            account,
            arrival,
            called,
        })
    }

    /// Gives turns that are free to those who are next.
    fn hand_on(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let mut called = Vec::new();
        while let Some(standing) = state.next(&self.limits) {
            if let Some(waiter) = state.give(&standing.account) {
                called.push((waiter, standing));
            }
        }
        state.forget();
        drop(state);
        // Outside of the lock: a turn that nobody takes any more is dropped here, and handed on.
        for (waiter, standing) in called {
            let queue = Arc::clone(self);
            let _ = waiter.called.send(Ok(Turn { queue, standing }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The account whose turn it is. It is the one that has had the fewest, counting from when it came: an
    /// account that comes is one turn behind those that wait already, and no more, so that it goes first once
    /// in each round.
    fn next(&self, limits: &Limits) -> Option<Standing> {
        if self.free == 0 || self.closed {
            return None;
        }
        let only_single = self.free <= limits.kept;
        let waiting = self.accounts.iter().filter_map(|(name, account)| {
            let first = account.line.front()?;
            // An earlier line sees more, and this one sees what came since.
            let single = account.has == 0 && first.single.unwrap_or(account.line.len() == 1);
            let may = account.has < limits.of_one && (single || !only_single);
            may.then_some((self.round_of(account), first.arrival, name, single))
        });
        waiting.min().map(|(_, _, name, single)| Standing {
            account: name.clone(),
            single,
        })
    }

    fn round_of(&self, account: &Account) -> u64 {
        account.next.max(self.round - 1)
    }

    fn give(&mut self, name: &str) -> Option<Waiter> {
        let round = self.round_of(self.accounts.get(name)?);
        let account = self.accounts.get_mut(name)?;
        let waiter = account.line.pop_front()?;
        account.length -= waiter.length;
        account.has += 1;
        account.next = round + 1;
        self.round = self.round.max(round);
        self.waiting -= waiter.length;
        self.free -= 1;
        Some(waiter)
    }

    /// The newest question of the account that takes the largest part of the line, if that is more than
    /// `than`.
    fn newest_of_the_longest(&mut self, than: usize) -> Option<Waiter> {
        let longest = self.accounts.values_mut().max_by_key(|account| account.length)?;
        if longest.length <= than {
            return None;
        }
        let waiter = longest.line.pop_back()?;
        longest.length -= waiter.length;
        self.waiting -= waiter.length;
        Some(waiter)
    }

    fn leave(&mut self, name: &str, arrival: u64) {
        let Some(account) = self.accounts.get_mut(name) else {
            return;
        };
        if let Some(place) = account.line.iter().position(|waiter| waiter.arrival == arrival)
            && let Some(waiter) = account.line.remove(place)
        {
            account.length -= waiter.length;
            self.waiting -= waiter.length;
        }
    }

    /// Forgets accounts that new ones do not differ from. If nobody waits, nobody is behind.
    fn forget(&mut self) {
        let (round, somebody_waits) = (self.round, self.waiting > 0);
        self.accounts.retain(|_, account| {
            account.has > 0 || !account.line.is_empty() || (somebody_waits && account.next >= round)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    const LIMITS: Limits = Limits {
        at_once: 2,
        kept: 0,
        of_one: 2,
        waiting: 100,
        waiting_of_one: 50,
    };

    /// The answer to somebody in line, if there is one already.
    fn called(waits: &mut InLine<'_>) -> Option<Result<Turn, NoTurn>> {
        (&mut waits.called)
            .now_or_never()
            .map(|called| called.unwrap_or(Err(NoTurn::Closed)))
    }

    /// The accounts that get turns, one after the other, if these wait in this order, and if zoe comes after
    /// this many turns and again whenever she had hers.
    fn order(names: &[&'static str], zoe_comes_after: usize) -> Vec<&'static str> {
        let queue = Queue::new(Limits { at_once: 1, ..LIMITS });
        let mut first = queue.enter("somebody", 1, None).unwrap();
        let mut turn = called(&mut first);
        let mut line: Vec<(&str, InLine<'_>)> = names
            .iter()
            .map(|name| (*name, queue.enter(name, 1, None).unwrap()))
            .collect();
        let mut order = Vec::new();
        while line.iter().any(|(name, _)| *name != "zoe") {
            if order.len() == zoe_comes_after || order.last() == Some(&"zoe") {
                line.push(("zoe", queue.enter("zoe", 1, None).unwrap()));
            }
            drop(turn.take());
            let mut given = line.iter_mut().enumerate().filter_map(|(place, (_, waits))| {
                let turn = called(waits)?;
                Some((place, turn))
            });
            let next = given.next().expect("a turn that is free is given");
            assert!(given.next().is_none(), "one turn is given to one");
            turn = Some(next.1);
            order.push(line.remove(next.0).0);
        }
        order
    }

    #[test]
    fn accounts_take_turns_and_not_questions() {
        assert_eq!(
            order(&["ann", "ann", "ann", "bob", "bob", "carl"], 100),
            ["ann", "bob", "carl", "ann", "bob", "ann"]
        );
    }

    #[test]
    fn who_comes_late_goes_first_once_in_a_round() {
        let names = ["ann", "bob", "carl", "ann", "bob", "carl", "ann", "bob", "carl"];
        assert_eq!(
            order(&names, 3),
            [
                "ann", "bob", "carl", "zoe", "ann", "bob", "carl", "zoe", "ann", "bob", "carl"
            ]
        );
    }

    #[test]
    fn some_turns_are_kept_for_who_has_one_question() {
        let limits = Limits {
            at_once: 3,
            kept: 1,
            of_one: 3,
            ..LIMITS
        };
        let queue = Queue::new(limits);
        let mut busy: Vec<InLine<'_>> = (0..9).map(|_| queue.enter("ann", 1, None).unwrap()).collect();
        let turns: Vec<_> = busy.iter_mut().filter_map(called).collect();
        assert_eq!(turns.len(), 2, "one turn stays free");
        let mut alone = queue.enter("zoe", 1, None).unwrap();
        let _hers = called(&mut alone).unwrap().unwrap();
        let mut late = queue.enter("bob", 1, None).unwrap();
        assert!(called(&mut late).is_none());
        drop(turns);
        // The first turn that comes free is the one that is kept, and ann has a backlog.
        assert!(called(&mut late).unwrap().is_ok());
    }

    /// In a later line a busy account has one question at a time, as everybody has.
    #[test]
    fn later_lines_know_whose_question_is_single() {
        let limits = Limits {
            at_once: 3,
            kept: 1,
            of_one: 3,
            ..LIMITS
        };
        let first = Queue::new(Limits { at_once: 4, ..LIMITS });
        let mut lines = ["ann", "ann", "zoe"].map(|name| first.enter(name, 1, None).unwrap());
        let turns = lines.each_mut().map(|waits| called(waits).unwrap().unwrap());
        let single = turns.each_ref().map(|turn| turn.standing().single);
        assert_eq!(single, [true, false, true], "ann's first came alone");
        let later = Queue::new(limits);
        let mut waits = ["bob", "carl", "dan"].map(|name| later.enter(name, 1, Some(false)).unwrap());
        let given = waits.iter_mut().filter_map(called).collect::<Vec<_>>();
        assert_eq!(given.len(), 2, "one turn stays free");
        // An account that has a turn already is not single any more.
        let mut again = later.enter("bob", 1, Some(true)).unwrap();
        assert!(called(&mut again).is_none());
        let mut alone = later.enter("zoe", 1, Some(true)).unwrap();
        assert!(called(&mut alone).unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_brief_turn_ends() {
        let queue = Queue::new(Limits { at_once: 1, ..LIMITS });
        let (soon, late) = (Duration::from_millis(10), Duration::from_secs(3600));
        let _slow = Brief::new(queue.turn("ann", 1, None).await.unwrap(), soon);
        let quick = Brief::new(queue.turn("bob", 1, None).await.unwrap(), late);
        drop(quick);
        assert!(queue.turn("carl", 1, None).await.is_ok());
    }

    #[test]
    fn one_account_has_no_more_turns_than_it_may() {
        let queue = Queue::new(Limits {
            at_once: 4,
            of_one: 2,
            ..LIMITS
        });
        let mut line: Vec<InLine<'_>> = (0..4).map(|_| queue.enter("ann", 1, None).unwrap()).collect();
        let mut turns: Vec<_> = line.iter_mut().filter_map(called).collect();
        assert_eq!(turns.len(), 2);
        turns.pop();
        let next: Vec<_> = line.iter_mut().skip(2).filter_map(called).collect();
        assert_eq!(next.len(), 1);
    }

    #[test]
    fn a_full_line_makes_room_at_the_cost_of_the_longest() {
        let queue = Queue::new(Limits {
            at_once: 1,
            waiting: 6,
            waiting_of_one: 6,
            ..LIMITS
        });
        let mut had = queue.enter("somebody", 1, None).unwrap();
        let _turn = called(&mut had);
        let mut ann: Vec<InLine<'_>> = (0..6).map(|_| queue.enter("ann", 1, None).unwrap()).collect();
        assert_eq!(queue.enter("ann", 1, None).err(), Some(NoTurn::Full));
        let mut bob: Vec<InLine<'_>> = (0..3).map(|_| queue.enter("bob", 1, None).unwrap()).collect();
        // Three each: nobody has more than bob would have.
        assert_eq!(queue.enter("bob", 1, None).err(), Some(NoTurn::Full));
        let sent_away: Vec<usize> = (0..6)
            .filter(|place| called(&mut ann[*place]).is_some())
            .collect();
        assert_eq!(sent_away, [3, 4, 5], "the newest ones");
        assert!(bob.iter_mut().all(|waits| called(waits).is_none()));
        // A long question takes more room.
        assert_eq!(queue.enter("carl", 7, None).err(), Some(NoTurn::Full));
        assert!(queue.enter("carl", 2, None).is_ok());
    }

    #[test]
    fn who_leaves_makes_room_and_who_is_gone_gets_no_turn() {
        let queue = Queue::new(Limits {
            at_once: 1,
            waiting: 1,
            ..LIMITS
        });
        let mut first = queue.enter("ann", 1, None).unwrap();
        let turn = called(&mut first).unwrap().unwrap();
        let gone = queue.enter("bob", 1, None).unwrap();
        assert!(queue.enter("carl", 1, None).is_err());
        drop(gone);
        let mut waits = queue.enter("carl", 1, None).unwrap();
        assert!(called(&mut waits).is_none());
        drop(turn);
        // A turn that was given to somebody who goes away before they know is handed on.
        drop(waits);
        let mut next = queue.enter("dan", 1, None).unwrap();
        let _turn = called(&mut next).unwrap().unwrap();
        let state = queue.lock();
        assert_eq!((state.free, state.waiting), (0, 0));
    }

    #[tokio::test]
    async fn waiting_ends() {
        let queue = Queue::new(Limits { at_once: 1, ..LIMITS });
        let turn = queue.turn("ann", 1, None).await.unwrap();
        let soon = Some(Duration::from_millis(20));
        assert_eq!(queue.turn("bob", 1, soon).await.err(), Some(NoTurn::TooLong));
        assert_eq!(queue.lock().waiting, 0);
        let waits = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.turn("carl", 1, None).await.err() }
        });
        while queue.lock().waiting == 0 {
            tokio::task::yield_now().await;
        }
        queue.close();
        assert_eq!(waits.await.unwrap(), Some(NoTurn::Closed));
        drop(turn);
        assert_eq!(queue.turn("ann", 1, None).await.err(), Some(NoTurn::Closed));
    }

    #[test]
    fn accounts_are_forgotten() {
        let queue = Queue::new(LIMITS);
        for number in 0..100 {
            let name = number.to_string();
            let mut waits = queue.enter(&name, 1, None).unwrap();
            assert!(called(&mut waits).unwrap().is_ok());
        }
        assert!(queue.lock().accounts.is_empty());
    }
}
