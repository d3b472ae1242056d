//! The things that a connection keeps between messages: prepared statements, portals and cursors. Their bytes
//! are reserved until they are closed.

use super::cursors::Cursor;
use crate::failure::{Code, Failure};
use crate::memory::{Reservation, Room};
use std::collections::HashMap;

/// What one of them takes beside its texts.
const EACH: usize = 1024;

/// What a connection keeps.
#[derive(Debug)]
pub(super) struct Held {
    room: Room,
    statements: HashMap<String, Reservation>,
    portals: HashMap<String, Reservation>,
    cursors: HashMap<String, (Cursor, Reservation)>,
    in_transaction: bool,
}

impl Held {
    pub(super) fn new(room: Room) -> Self {
        Self {
            room,
            statements: HashMap::new(),
            portals: HashMap::new(),
            cursors: HashMap::new(),
            in_transaction: false,
        }
    }

    /// Keeps a statement, in place of another of this name.
    pub(super) fn keep_statement(&mut self, name: &str, bytes: usize) -> Result<(), Failure> {
        let reserved = self.room.reserve(EACH + name.len() + bytes)?;
        self.statements.insert(name.to_owned(), reserved);
        Ok(())
    }

    /// Keeps a portal, in place of another of this name.
    pub(super) fn keep_portal(&mut self, name: &str, bytes: usize) -> Result<(), Failure> {
        let reserved = self.room.reserve(EACH + name.len() + bytes)?;
        self.portals.insert(name.to_owned(), reserved);
        Ok(())
    }

    pub(super) fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    /// Closes all statements, and gives their names.
    pub(super) fn close_statements(&mut self) -> Vec<String> {
        self.statements.drain().map(|(name, _)| name).collect()
    }

    pub(super) fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
    }

    pub(super) fn close_portals(&mut self) {
        self.portals.clear();
    }

    pub(super) fn begin(&mut self) {
        self.in_transaction = true;
    }

    /// Ends a transaction. Portals end with it, and cursors that were not declared to be held.
    pub(super) fn end(&mut self) {
        self.in_transaction = false;
        self.portals.clear();
        self.cursors.retain(|_, (cursor, _)| cursor.is_held());
    }

    pub(super) fn is_in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// Room for a cursor, if it can be declared now. This comes before its question is asked, so that nothing
    /// is charged for a cursor that cannot be.
    pub(super) fn reserve_cursor(&self, name: &str, hold: bool) -> Result<Reservation, Failure> {
        if !hold && !self.in_transaction {
            return Err(Failure::new(
                Code::Refused,
                "a cursor lives in a transaction",
                "send BEGIN first, or declare it WITH HOLD; nothing was charged",
            ));
        }
        if self.cursors.contains_key(name) {
            return Err(Failure::new(
                Code::BadRequest,
                format!("there is a cursor {name:?} already"),
                "close it first, or choose another name; nothing was charged",
            ));
        }
        self.room.reserve(EACH + name.len())
    }

    pub(super) fn keep_cursor(&mut self, name: String, cursor: Cursor, reserved: Reservation) {
        self.cursors.insert(name, (cursor, reserved));
    }

    pub(super) fn cursor(&mut self, name: &str) -> Option<&mut Cursor> {
        self.cursors.get_mut(name).map(|(cursor, _)| cursor)
    }

    /// Closes a cursor, or all of them; whether there was one.
    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> bool {
        match name {
            Some(name) => self.cursors.remove(name).is_some(),
            None => {
                self.cursors.clear();
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    #[test]
    fn what_is_closed_makes_room() {
        let room = Memory::default().account("ann").connection();
        let mut held = Held::new(room.clone());
        for number in 0..100_000 {
            let name = format!("statement{number}");
            held.keep_statement(&name, 10_000).unwrap();
            held.keep_portal(&name, 10_000).unwrap();
            held.close_statement(&name);
            held.close_portal(&name);
        }
        assert_eq!(room.used(), 0);
    }

    #[test]
    fn names_count_and_one_takes_the_place_of_another() {
        let room = Memory::default().account("ann").connection();
        let mut held = Held::new(room.clone());
        held.keep_statement("", 100).unwrap();
        let one = room.used();
        held.keep_statement("", 100).unwrap();
        assert_eq!(room.used(), one);
        held.keep_portal(&"x".repeat(1 << 20), 0).unwrap();
        assert!(room.used() > 1 << 20);
        let kept = (0..64).filter(|number| {
            held.keep_portal(&format!("{number}{}", "x".repeat(1 << 20)), 0)
                .is_ok()
        });
        assert!(kept.count() < 16);
        held.begin();
        held.end();
        assert_eq!(room.used(), one);
        assert_eq!(held.close_statements(), [""]);
        assert_eq!(room.used(), 0);
    }

    #[test]
    fn a_cursor_needs_a_transaction_or_is_held() {
        let mut held = Held::new(Memory::default().account("ann").connection());
        assert!(held.reserve_cursor("c", false).is_err());
        assert!(held.reserve_cursor("c", true).is_ok());
        held.begin();
        assert!(held.reserve_cursor("c", false).is_ok());
    }
}
