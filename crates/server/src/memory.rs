//! Bytes that clients make the server keep: counted for each connection, for each account and in all, and
//! refused before there are too many.
//!
//! ```text
//! everything 128 MiB ─┬─ account  32 MiB ── connection 16 MiB     what is prepared, bound, sent and not yet read
//!                     ├─ strangers 16 MiB                         requests of those who are not signed in
//!                     └─ held     32 MiB ── account     8 MiB     answers that are kept for whoever asks again
//! ```
//!
//! Reserved bytes count in a room and in all rooms around it until the [`Reservation`] is dropped. So nothing
//! is given back twice or forgotten.

use crate::failure::{Code, Failure};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

const MIB: usize = 1 << 20;
const EVERYTHING: usize = 128 * MIB;
const OF_ACCOUNT: usize = 32 * MIB;
const OF_CONNECTION: usize = 16 * MIB;
const OF_STRANGERS: usize = 16 * MIB;
const HELD: usize = 32 * MIB;
const HELD_OF_ACCOUNT: usize = 8 * MIB;

/// All rooms of a server.
#[derive(Debug)]
pub(crate) struct Memory {
    everything: Room,
    accounts: Parts,
    strangers: Room,
    held: Room,
    held_of_accounts: Parts,
}

impl Default for Memory {
    fn default() -> Self {
        let everything = Room(Arc::new(Inner {
            most: EVERYTHING,
            used: AtomicUsize::new(0),
            within: None,
        }));
        Self {
            accounts: Parts::default(),
            strangers: everything.part(OF_STRANGERS),
            held: everything.part(HELD),
            held_of_accounts: Parts::default(),
            everything,
        }
    }
}

impl Memory {
    /// The room of this account: the same one for all its connections.
    pub(crate) fn account(&self, name: &str) -> Room {
        self.accounts.of(name, &self.everything, OF_ACCOUNT)
    }

    /// The room of all who have not signed in.
    pub(crate) fn strangers(&self) -> &Room {
        &self.strangers
    }

    /// The room of answers that are kept for this account, and for others who ask the same.
    pub(crate) fn held_of(&self, name: &str) -> Room {
        self.held_of_accounts.of(name, &self.held, HELD_OF_ACCOUNT)
    }

    /// Bytes that are reserved in all.
    pub(crate) fn used(&self) -> usize {
        self.everything.used()
    }
}

/// Rooms by the name of an account, each as long as somebody has it or something is reserved in it.
#[derive(Debug, Default)]
struct Parts(Mutex<HashMap<String, Weak<Inner>>>);

impl Parts {
    fn of(&self, name: &str, within: &Room, most: usize) -> Room {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = parts.get(name).and_then(Weak::upgrade) {
            return Room(part);
        }
        // Rooms that nobody has any more are few: as many as were begun since the last one.
        parts.retain(|_, part| part.strong_count() > 0);
        let room = within.part(most);
        parts.insert(name.to_owned(), Arc::downgrade(&room.0));
        room
    }
}

/// Room for a number of bytes, within another room or the whole.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    used: AtomicUsize,
    within: Option<Room>,
}

impl Room {
    fn part(&self, most: usize) -> Self {
        Self(Arc::new(Inner {
            most,
            used: AtomicUsize::new(0),
            within: Some(self.clone()),
        }))
    }

    /// A room for one connection, within that of its account.
    pub(crate) fn connection(&self) -> Self {
        self.part(OF_CONNECTION)
    }

    /// Bytes that are reserved here.
    pub(crate) fn used(&self) -> usize {
        self.0.used.load(Ordering::SeqCst)
    }

    /// How many can be.
    pub(crate) fn most(&self) -> usize {
        self.0.most
    }

    /// Reserves bytes, here and in all rooms around.
    ///
    /// # Errors
    /// When one of them is full.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<Reservation, Failure> {
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.0.most);
        let taken = self.0.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits);
        if taken.is_err() {
            return Err(full());
        }
        // From here on dropping it gives back what was taken here.
        let mut reservation = Reservation {
            room: self.clone(),
            bytes,
            around: None,
        };
        if let Some(around) = &self.0.within {
            reservation.around = Some(Box::new(around.reserve(bytes)?));
        }
        Ok(reservation)
    }

    /// Reserves bytes for an answer that is there already. One that is larger than the room has it for
    /// itself: it leaves, and nothing beside it.
    ///
    /// # Errors
    /// When there is no room.
    pub(crate) fn reserve_for_answer(&self, bytes: usize) -> Result<Reservation, Failure> {
        self.reserve(bytes.min(self.least_of_all()))
    }

    /// What the smallest of this room and those around it holds.
    fn least_of_all(&self) -> usize {
        let around = self.0.within.as_ref().map(Self::least_of_all);
        around.map_or(self.0.most, |least| least.min(self.0.most))
    }
}

/// Bytes that are reserved until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    room: Room,
    bytes: usize,
    /// The same bytes in the room around.
    around: Option<Box<Reservation>>,
}

impl Reservation {
    /// How many.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.room.0.used.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

/// Counts what is written, and keeps nothing of it.
#[derive(Debug, Default)]
pub(crate) struct Count(usize);

impl Count {
    /// Bytes that were written.
    pub(crate) fn bytes(&self) -> usize {
        self.0
    }
}

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn full() -> Failure {
    Failure::new(
        Code::Busy,
        "there is no memory left for what this connection, its account or the server keeps",
        "close statements and portals that are not needed, read the answers that wait, and ask again in a moment; asking again for what was released costs nothing",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_free_again_in_every_room() {
        let memory = Memory::default();
        let connection = memory.account("ann").connection();
        let one = connection.reserve(10 * MIB).unwrap();
        assert_eq!(one.bytes(), 10 * MIB);
        assert_eq!(connection.used(), 10 * MIB);
        assert_eq!(memory.account("ann").used(), 10 * MIB);
        assert_eq!(memory.used(), 10 * MIB);
        assert_eq!(connection.reserve(7 * MIB).unwrap_err().code, Code::Busy);
        assert_eq!(memory.used(), 10 * MIB);
        drop(one);
        assert_eq!((connection.used(), memory.used()), (0, 0));
        assert!(connection.reserve(16 * MIB).is_ok());
        assert!(connection.reserve(usize::MAX).is_err());
    }

    #[test]
    fn an_account_has_one_room_whatever_it_does_to_others() {
        let memory = Memory::default();
        let connections: Vec<Room> = (0..4).map(|_| memory.account("ann").connection()).collect();
        let kept: Vec<_> = connections
            .iter()
            .map(|connection| connection.reserve(12 * MIB))
            .collect();
        assert_eq!(kept.iter().filter(|kept| kept.is_ok()).count(), 2);
        assert!(memory.account("ben").connection().reserve(12 * MIB).is_ok());
        assert!(memory.strangers().reserve(OF_STRANGERS + 1).is_err());
        assert!(memory.strangers().reserve(OF_STRANGERS).is_ok());
    }

    #[test]
    fn all_accounts_together_have_a_limit_and_a_refusal_keeps_nothing() {
        let memory = Memory::default();
        let names: Vec<String> = (0..8).map(|number| format!("analyst{number}")).collect();
        let kept: Vec<_> = names
            .iter()
            .map(|name| memory.account(name).reserve(OF_ACCOUNT))
            .collect();
        assert_eq!(kept.iter().filter(|kept| kept.is_ok()).count(), 4);
        assert_eq!(memory.used(), EVERYTHING);
        assert_eq!(memory.account(&names[7]).used(), 0);
    }

    #[test]
    fn a_large_answer_has_its_room_for_itself() {
        let memory = Memory::default();
        let connection = memory.account("ann").connection();
        let large = connection.reserve_for_answer(usize::MAX).unwrap();
        assert_eq!(memory.used(), OF_CONNECTION);
        assert!(connection.reserve_for_answer(1).is_err());
        drop(large);
    }

    #[test]
    fn rooms_of_those_who_are_gone_are_forgotten() {
        let memory = Memory::default();
        for number in 0..1000 {
            let _ = memory.account(&format!("analyst{number}")).reserve(1);
        }
        assert_eq!(memory.used(), 0);
        assert!(memory.accounts.0.lock().unwrap().len() <= 1);
    }
}
