//! The key that signs receipts, kept beside the ledger.

use crate::Error;
use files::{Readable, Whole};
use noise::{Entropy, OsEntropy};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

/// The words before the digits in the file, so that it looks like nothing else.
const LABEL: &str = "deniable-receipt-key-ed25519";
/// Bytes of a private key, and of a public one.
const BYTES: usize = 32;

/// A private key. It is never printed.
pub struct SigningKey(Ed25519KeyPair);

/// The public key that belongs to it: what somebody needs who checks receipts. Printed as 64 hexadecimal
/// digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; BYTES]);

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningKey(..)")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hexadecimal(&self.0))
    }
}

impl SigningKey {
    /// The one in this file, which is made if there is none: readable by its owner alone.
    ///
    /// # Errors
    /// When it cannot be read or made, or is no key.
    pub fn kept_at(path: &Path) -> Result<Self, Error> {
        if let Some(key) = Self::read(path)? {
            return Ok(key);
        }
        let text = format!("{LABEL} {}\n", hexadecimal(&fresh_seed()?));
        let written = Whole::at(path, Readable::ByOwner)
            .new_only()
            .write(|file| file.write_all(text.as_bytes()));
        match written {
            Ok(()) => {}
            // Another process made one at the same moment, and that is the key.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error.kind())),
        }
        Self::read(path)?.ok_or_else(|| failed(ErrorKind::NotFound))
    }

    /// A new one, which is kept nowhere.
    pub(crate) fn fresh() -> Result<Self, Error> {
        let key = Ed25519KeyPair::from_seed_unchecked(&fresh_seed()?);
        key.map(Self).map_err(|_| failed(ErrorKind::InvalidData))
    }

    fn read(path: &Path) -> Result<Option<Self>, Error> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error.kind())),
        };
        let seed = text
            .strip_prefix(LABEL)
            .and_then(|rest| bytes::<BYTES>(rest.trim()));
        let key = seed.and_then(|seed| Ed25519KeyPair::from_seed_unchecked(&seed).ok());
        key.map(|key| Some(Self(key))).ok_or_else(|| {
            Error::unusable(
                "the file beside it that keeps the key of receipts cannot be understood",
                "restore it; or move it away, and the next answer makes a new key, which signs nothing that was signed before",
            )
        })
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        let mut key = [0; BYTES];
        key.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(key)
    }

    /// The signature in hexadecimal digits. The same bytes have the same signature, always.
    pub(crate) fn sign(&self, bytes: &[u8]) -> String {
        hexadecimal(self.0.sign(bytes).as_ref())
    }
}

impl PublicKey {
    /// From 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        bytes(text.trim()).map(Self)
    }

    /// The key as programs for X.509 know it (RFC 8410): what goes, in base64, between `BEGIN PUBLIC KEY` and
    /// `END PUBLIC KEY`.
    pub fn subject_public_key_info(&self) -> Vec<u8> {
        let mut info = vec![
            0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
        ];
        info.extend(self.0);
        info
    }

    pub(crate) fn signed(&self, message: &[u8], signature: &str) -> bool {
        bytes::<64>(signature).is_some_and(|signature| {
            UnparsedPublicKey::new(&ED25519, &self.0)
                .verify(message, &signature)
                .is_ok()
        })
    }
}

fn fresh_seed() -> Result<[u8; BYTES], Error> {
    let mut entropy = OsEntropy::new().map_err(|_| {
        Error::unusable(
            "the system gives no random bytes for the key of receipts",
            "try again",
        )
    })?;
    let mut seed = [0; BYTES];
    for byte in &mut seed {
        *byte = entropy.bits(8).to_le_bytes()[0];
    }
    Ok(seed)
}

fn failed(kind: ErrorKind) -> Error {
    Error::unusable(
        format!("the file beside it that keeps the key of receipts cannot be read or written ({kind})"),
        "check that you may write to its directory, and that there is room",
    )
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Small digits only, so that one key or signature has one spelling.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    (text.len() == 2 * N).then_some(())?;
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? * 16 + digit(pair[1])?;
    }
    Some(bytes)
}
