//! The places of an entrance: which connections get one, and which lose it when there are no more.
//!
//! Every new connection gets a place. Connections on which somebody has signed in are kept. If there is no
//! place left, the address that has most connections of strangers loses its oldest one. So strangers take
//! places from each other, first from those who take many, and never from people who are signed in. Some
//! places are always for strangers, since everybody begins as one.

use super::Connections;
use crate::network::Network;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The part of all places that connections which are kept leave to others.
const PART_OF_STRANGERS: usize = 8;

/// The places of one entrance.
#[derive(Debug)]
pub(super) struct Places {
    limits: Connections,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// Connections on which nobody has signed in, by where they come from, the oldest first.
    strangers: HashMap<Network, BTreeMap<u64, Arc<Notify>>>,
    /// The account of each connection that is kept.
    kept: HashMap<u64, String>,
}

impl Taken {
    fn count(&self) -> usize {
        self.strangers.values().map(BTreeMap::len).sum::<usize>() + self.kept.len()
    }

    /// Takes the place of the oldest stranger of this address.
    fn dismiss_oldest_of(&mut self, from: Network) {
        let Some(theirs) = self.strangers.get_mut(&from) else {
            return;
        };
        if let Some((_, leave)) = theirs.pop_first() {
            leave.notify_one();
        }
        if theirs.is_empty() {
            self.strangers.remove(&from);
        }
    }

    /// Takes the place of the oldest stranger of the address that has most of them.
    fn dismiss_one(&mut self) {
        let most = self.strangers.iter().max_by_key(|(_, theirs)| {
            let oldest = theirs.keys().next().copied().unwrap_or(u64::MAX);
            (theirs.len(), std::cmp::Reverse(oldest))
        });
        if let Some(from) = most.map(|(from, _)| *from) {
            self.dismiss_oldest_of(from);
        }
    }

    /// Forgets a stranger; `None` if it is none, or has lost its place.
    fn remove_stranger(&mut self, from: Network, number: u64) -> Option<Arc<Notify>> {
        let theirs = self.strangers.get_mut(&from)?;
        let leave = theirs.remove(&number);
        if theirs.is_empty() {
            self.strangers.remove(&from);
        }
        leave
    }
}

impl Places {
    pub(super) fn new(limits: Connections) -> Self {
        Self {
            limits,
            taken: Mutex::default(),
        }
    }

    /// A place for a connection from this address; another one may lose its place for it.
    pub(super) fn enter(self: &Arc<Self>, address: SocketAddr) -> Place {
        let from = Network::of(address.ip());
        let mut taken = self.lock();
        if taken
            .strangers
            .get(&from)
            .is_some_and(|theirs| theirs.len() >= self.limits.by_address.max(1))
        {
            taken.dismiss_oldest_of(from);
        } else if taken.count() >= self.limits.most {
            taken.dismiss_one();
        }
        let number = taken.next;
        taken.next += 1;
        let leave = Arc::new(Notify::new());
        taken
            .strangers
            .entry(from)
            .or_default()
            .insert(number, Arc::clone(&leave));
        drop(taken);
        Place {
            places: Arc::clone(self),
            number,
            from,
            leave,
        }
    }

    /// A stranger loses its place: the system has no room for more connections.
    pub(super) fn make_room(&self) {
        self.lock().dismiss_one();
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    from: Network,
    leave: Arc<Notify>,
}

impl Place {
    /// Keeps the place for this account, which has signed in, unless it has enough of them. One that is not
    /// kept is as good as before.
    pub(super) fn keep_for(&self, account: &str) {
        let limits = self.places.limits;
        let mut taken = self.places.lock();
        if taken.kept.get(&self.number).is_some_and(|kept| kept == account) {
            return;
        }
        // Somebody else has signed in on it before.
        let was_kept = taken.kept.remove(&self.number).is_some();
        let was_stranger = taken.remove_stranger(self.from, self.number).is_some();
        if !was_kept && !was_stranger {
            return;
        }
        let theirs = taken.kept.values().filter(|kept| *kept == account).count();
        let reserve = (limits.most / PART_OF_STRANGERS).max(1);
        if theirs < limits.by_account && taken.kept.len() + reserve < limits.most {
            taken.kept.insert(self.number, account.to_owned());
        } else {
            let leave = Arc::clone(&self.leave);
            taken
                .strangers
                .entry(self.from)
                .or_default()
                .insert(self.number, leave);
        }
    }

    /// Waits until the place is lost to somebody else.
    pub(super) async fn lost(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.kept.remove(&self.number);
        taken.remove_stranger(self.from, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    fn places(most: usize, by_address: usize) -> Arc<Places> {
        Arc::new(Places::new(Connections {
            most,
            by_address,
            by_account: 4,
            ..Connections::default()
        }))
    }

    fn from(address: &str) -> SocketAddr {
        SocketAddr::new(address.parse().unwrap(), 4711)
    }

    fn is_lost(place: &Place) -> bool {
        place.lost().now_or_never().is_some()
    }

    #[test]
    fn strangers_take_places_from_each_other_and_not_from_who_signed_in() {
        let places = places(16, 100);
        let ann = places.enter(from("10.0.0.1"));
        ann.keep_for("ann");
        let quiet = places.enter(from("10.0.0.2"));
        let flood: Vec<Place> = (0..1000).map(|_| places.enter(from("10.0.0.3"))).collect();
        assert!(!is_lost(&ann) && !is_lost(&quiet));
        assert_eq!(places.lock().count(), 16);
        assert_eq!(flood.iter().filter(|place| is_lost(place)).count(), 1000 - 14);
        // The next client gets in, and can sign in.
        let ben = places.enter(from("10.0.0.4"));
        ben.keep_for("ben");
        let more: Vec<Place> = (0..1000).map(|_| places.enter(from("10.0.0.3"))).collect();
        assert!(!is_lost(&ben) && !is_lost(&ann));
        drop((flood, more, ann, ben, quiet));
        assert_eq!(places.lock().count(), 0);
    }

    #[test]
    fn an_address_has_so_many_and_a_network_of_ipv6_is_one() {
        let places = places(100, 3);
        let first = places.enter(from("2001:db8::1"));
        let others: Vec<Place> = (2..5)
            .map(|number| places.enter(from(&format!("2001:db8::{number}"))))
            .collect();
        assert!(is_lost(&first));
        assert!(!others.iter().any(is_lost));
        let elsewhere = places.enter(from("2001:db8:0:1::1"));
        assert!(!is_lost(&elsewhere));
        assert_eq!(places.lock().count(), 4);
        // The same address, written in two ways.
        let mapped: Vec<Place> = ["10.0.0.1", "::ffff:10.0.0.1", "10.0.0.1", "::ffff:10.0.0.1"]
            .iter()
            .map(|address| places.enter(from(address)))
            .collect();
        assert!(is_lost(&mapped[0]) && !is_lost(&mapped[1]));
    }

    #[test]
    fn strangers_from_everywhere_do_not_keep_anybody_out() {
        let places = places(16, 4);
        let flood: Vec<Place> = (0..200)
            .map(|number| places.enter(from(&format!("10.0.{number}.1"))))
            .collect();
        let ann = places.enter(from("10.9.9.9"));
        assert!(!is_lost(&ann));
        assert_eq!(places.lock().count(), 16);
        assert!(is_lost(&flood[0]) && !is_lost(&flood[199]));
    }

    #[test]
    fn one_account_does_not_keep_all_places() {
        let places = places(16, 100);
        let greedy: Vec<Place> = (0..12).map(|_| places.enter(from("10.0.0.1"))).collect();
        greedy.iter().for_each(|place| place.keep_for("ann"));
        assert_eq!(places.lock().kept.len(), 4);
        // All accounts together leave some to those who come.
        let others: Vec<Place> = (0..40)
            .map(|number| {
                let place = places.enter(from("10.0.0.2"));
                place.keep_for(&format!("analyst{number}"));
                place
            })
            .collect();
        assert_eq!(places.lock().kept.len(), 14);
        let newcomer = places.enter(from("10.0.0.3"));
        assert!(!is_lost(&newcomer));
        drop(others);
        assert!(places.lock().count() <= 16);
    }

    #[test]
    fn a_place_that_is_lost_is_not_kept_after_that() {
        let places = places(100, 1);
        let slow = places.enter(from("10.0.0.1"));
        let next = places.enter(from("10.0.0.1"));
        slow.keep_for("ann");
        assert!(is_lost(&slow) && !is_lost(&next));
        assert_eq!(places.lock().count(), 1);
        next.keep_for("ann");
        next.keep_for("ben");
        assert_eq!(places.lock().kept.values().collect::<Vec<_>>(), ["ben"]);
        drop(slow);
        assert_eq!(places.lock().count(), 1);
    }
}
