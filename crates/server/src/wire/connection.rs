//! What belongs to a connection once somebody has signed in.

use super::held::Held;
use super::settings::Settings;
use crate::memory::Room;
use crate::service::Identity;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A connection of somebody who has signed in.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) who: Identity,
    settings: Mutex<Settings>,
    /// Where the bytes that it keeps are reserved.
    pub(super) room: Room,
    held: Mutex<Held>,
}

impl Connection {
    /// A connection of somebody who has just signed in.
    pub(super) fn new(who: Identity, settings: Settings, room: Room) -> Self {
        Self {
            who,
            settings: Mutex::new(settings),
            held: Mutex::new(Held::new(room.clone())),
            room,
        }
    }

    /// What it keeps between messages.
    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
