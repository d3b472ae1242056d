//! The state of a connection once somebody has signed in.

use super::held::Held;
use super::settings::Settings;
use crate::failure::Failure;
use crate::memory::Room;
use crate::secrets;
use crate::service::Identity;
use bytes::Bytes;
use pgwire::api::{ClientInfo, PidSecretKeyGenerator};
use pgwire::messages::ProtocolVersion;
use pgwire::messages::startup::SecretKey;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A connection of somebody who has signed in.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) who: Identity,
    settings: Mutex<Settings>,
    /// Where the bytes that it keeps are reserved.
    pub(super) room: Room,
    held: Mutex<Held>,
    cancel: CancelKey,
}

impl Connection {
    /// A connection of somebody who has just signed in.
    pub(super) fn new(who: Identity, settings: Settings, room: Room) -> Result<Self, Failure> {
        Ok(Self {
            who,
            settings: Mutex::new(settings),
            held: Mutex::new(Held::new(room.clone())),
            room,
            cancel: CancelKey::new()
                .map_err(|error| Failure::incident("there are no random numbers", &error))?,
        })
    }

    /// What it keeps between messages.
    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What must be known to cancel what a connection waits for: two numbers of 32 bits in protocol 3.0, and a
/// longer one in place of the second since 3.2. PostgreSQL counts processes in the first; here all bits are
/// random.
struct CancelKey([u8; 4], [u8; 32]);

impl CancelKey {
    fn new() -> Result<Self, noise::Error> {
        Ok(Self(secrets::random()?, secrets::random()?))
    }

    fn numbers(&self, version: ProtocolVersion) -> (i32, SecretKey) {
        let Self(number, key) = self;
        let secret = match version {
            ProtocolVersion::PROTOCOL3_0 => {
                SecretKey::I32(i32::from_be_bytes([key[0], key[1], key[2], key[3]]))
            }
            _ => SecretKey::Bytes(Bytes::copy_from_slice(key)),
        };
        (i32::from_be_bytes(*number), secret)
    }
}

impl Debug for CancelKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CancelKey(..)")
    }
}

/// Tells each client its key.
pub(super) struct CancelKeys;

impl PidSecretKeyGenerator for CancelKeys {
    fn generate(&self, client: &dyn ClientInfo) -> (i32, SecretKey) {
        let connection = client.session_extensions().get::<Connection>();
        let numbers = |connection: Arc<Connection>| connection.cancel.numbers(client.protocol_version());
        // A client that has not signed in has nothing to cancel.
        connection.map_or_else(|| (0, SecretKey::default()), numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn all_bits_of_a_key_are_random() {
        let keys: Vec<CancelKey> = (0..200).map(|_| CancelKey::new().unwrap()).collect();
        for version in [ProtocolVersion::PROTOCOL3_0, ProtocolVersion::PROTOCOL3_2] {
            let (mut ones, mut zeros) = (vec![0_u8; 36], vec![0_u8; 36]);
            let mut seen = HashSet::new();
            for key in &keys {
                let (number, secret) = key.numbers(version);
                let mut bits = number.to_be_bytes().to_vec();
                match secret {
                    SecretKey::I32(secret) => bits.extend(secret.to_be_bytes()),
                    SecretKey::Bytes(secret) => bits.extend(secret),
                }
                assert_eq!(
                    bits.len(),
                    if version == ProtocolVersion::PROTOCOL3_0 {
                        8
                    } else {
                        36
                    }
                );
                for (place, byte) in bits.iter().enumerate() {
                    ones[place] |= byte;
                    zeros[place] |= !byte;
                }
                seen.insert(bits);
            }
            assert_eq!(seen.len(), keys.len());
            // Every bit was 0 in one of them and 1 in another: in 200 keys a bit is always the same with
            // probability 2^-199.
            let told = if version == ProtocolVersion::PROTOCOL3_0 {
                8
            } else {
                36
            };
            assert!(ones[..told].iter().chain(&zeros[..told]).all(|byte| *byte == 255));
        }
    }
}
