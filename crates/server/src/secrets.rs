//! Passwords and tokens: how they are made, and what the server keeps of them.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use noise::{Entropy as _, OsEntropy};
use pgwire::api::auth::sasl::scram::{ScramSecret, gen_salted_password};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use zeroize::Zeroizing;

/// What a token begins with, so that people and scanners of repositories recognise one.
const MARK: &str = "dnb_";
/// Rounds of SCRAM. A token has 256 random bits, which no number of rounds would make harder to guess.
const ROUNDS: usize = 4096;
const LONGEST_PASSWORD: usize = 1024;

/// A secret that is shown once and kept nowhere. It is not printed by accident.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// A new token of 256 random bits.
    pub(crate) fn new_token() -> Result<Self, noise::Error> {
        let bytes = Zeroizing::new(random::<32>()?);
        Ok(Self(Zeroizing::new(format!(
            "{MARK}{}",
            URL_SAFE_NO_PAD.encode(*bytes)
        ))))
    }

    /// The secret itself, to show it to the person who asked for it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

/// What PostgreSQL clients are checked against: it cannot be used to log in.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verifier {
    salt: String,
    rounds: usize,
    stored_key: String,
    server_key: String,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Verifier(..)")
    }
}

impl Verifier {
    pub(crate) fn of(token: &Secret) -> Result<Self, noise::Error> {
        let salt = random::<16>()?;
        let salted = gen_salted_password(token.reveal(), &salt, ROUNDS);
        Ok(Self::from_keys(ScramSecret::verifier_from_salted_password(
            salt.to_vec(),
            salted,
            ROUNDS,
        )))
    }

    /// One that no password fits, always with the same salt for the same name, as an account would have:
    /// nobody can tell from it whether there is such an account.
    pub(crate) fn of_nobody(name: &str, key: &[u8]) -> Self {
        let part = |what: &str| {
            let mut hash = Sha256::new();
            for bytes in [key, what.as_bytes(), name.as_bytes()] {
                hash.update((bytes.len() as u64).to_be_bytes());
                hash.update(bytes);
            }
            hash.finalize().to_vec()
        };
        Self::from_keys(ScramSecret::Verifier {
            salt: part("salt")[..16].to_vec(),
            iterations: ROUNDS,
            stored_key: part("stored key"),
            server_key: part("server key"),
        })
    }

    fn from_keys(secret: ScramSecret) -> Self {
        let (salt, rounds, stored_key, server_key) = match secret {
            ScramSecret::Verifier {
                salt,
                iterations,
                stored_key,
                server_key,
            } => (salt, iterations, stored_key, server_key),
            // Never made above; a verifier of nothing admits nobody.
            ScramSecret::SaltedPassword { salt, .. } => (salt, ROUNDS, Vec::new(), Vec::new()),
        };
        Self {
            salt: STANDARD.encode(salt),
            rounds,
            stored_key: STANDARD.encode(stored_key),
            server_key: STANDARD.encode(server_key),
        }
    }

    /// As the wire protocol wants it.
    pub(crate) fn keys(&self) -> ScramSecret {
        let decoded = |text: &str| STANDARD.decode(text).unwrap_or_default();
        ScramSecret::Verifier {
            salt: decoded(&self.salt),
            iterations: self.rounds,
            stored_key: decoded(&self.stored_key),
            server_key: decoded(&self.server_key),
        }
    }
}

/// Whether this is written as tokens are, which no password needs to be.
pub(crate) fn looks_like_token(secret: &str) -> bool {
    secret.len() == MARK.len() + 43 && secret.starts_with(MARK)
}

/// By which a token is found again. A token is random, so a plain hash of it gives nothing away.
pub(crate) fn fingerprint(token: &str) -> String {
    let digest = Sha256::digest(token.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Argon2id with the parameters that OWASP recommends (19 MiB, two passes).
pub(crate) fn hash_password(password: &str) -> Option<String> {
    if password.len() > LONGEST_PASSWORD {
        return None;
    }
    let salt = random::<16>().ok()?;
    let hash: PasswordHash = Argon2::default()
        .hash_password_with_salt(password.as_bytes(), &salt)
        .ok()?;
    Some(hash.to_string())
}

/// Whether it is the password; takes as long whether or not it is.
pub(crate) fn verify_password(password: &str, kept: &str) -> bool {
    let Ok(hash) = PasswordHash::new(kept) else {
        return false;
    };
    password.len() <= LONGEST_PASSWORD
        && Argon2::default()
            .verify_password(password.as_bytes(), &hash)
            .is_ok()
}

/// Random bytes from the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], noise::Error> {
    let mut entropy = OsEntropy::new()?;
    let mut bytes = [0; N];
    bytes.fill_with(|| entropy.bits(8) as u8);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_recognised_and_another_is_not() {
        let kept = hash_password("correct horse").unwrap();
        assert!(kept.starts_with("$argon2id$"), "{kept}");
        assert!(verify_password("correct horse", &kept));
        assert!(!verify_password("correct hors", &kept));
        assert!(!verify_password("", &kept));
        assert_ne!(kept, hash_password("correct horse").unwrap());
    }

    #[test]
    fn tokens_are_long_and_different_and_not_printed() {
        let (one, other) = (Secret::new_token().unwrap(), Secret::new_token().unwrap());
        assert_ne!(one.reveal(), other.reveal());
        assert_eq!(one.reveal().len(), 4 + 43);
        assert_eq!(format!("{one:?}"), "Secret(..)");
    }

    #[test]
    fn nobody_has_the_same_salt_each_time() {
        let salt = |name: &str| Verifier::of_nobody(name, b"key").salt;
        assert_eq!(salt("ann"), salt("ann"));
        assert_ne!(salt("ann"), salt("bob"));
    }
}
