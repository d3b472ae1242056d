//! Receipts: a signed word that this table was paid for by that entry of the chain.
//!
//! # What a signature promises
//! Claim: a reader who accepts a receipt under a public key that they got from the curator knows this: a
//! program that could read the private key beside the ledger said all of the following.
//!
//! - The entry with this number and hash, of the ledger that begins with that hash, charged this ε and δ for
//!   the query with this digest.
//! - The ledger keeps what the entry paid for, with this digest.
//! - The table with this digest is what the query makes of it.
//!
//! Proof: Ed25519 is unforgeable under chosen messages (Brendel, Cremers, Jackson and Zhao 2021, for the
//! checks that `ring` makes), and [`Receipt::signed_bytes`] writes each field after its length, so no two
//! receipts have the same bytes. A digest stands for what it is of as far as SHA-256 has no collisions.
//!
//! It does not promise that the entry is still in a ledger, or ever was: a key signs whatever it is given.
//! With the ledger at hand [`Store::check_receipt`](crate::Store::check_receipt) shows it. It does not
//! promise that the noise was drawn as it should have been, or that the data was what the catalog says: the
//! owner of the machine has the key too. And it does not say when it was signed, or for whom. It holds only a
//! digest of the query: a reader who does not compare that with the words that they expect knows that some
//! query was charged, and not which.
//!
//! # What a receipt gives away
//! Nothing about the data beyond the release. Every field is a function of the query, the catalog, the chain
//! before the charge and the released table, and an Ed25519 signature is a function of the key and these. The
//! hash of the entry stands for the whole chain before it. So somebody who knows all of that chain but a few
//! bits (who else asked, in which millisecond an earlier answer was saved) could search for these. A server
//! saves earlier answers at the moments of its schedule, so their times say what the schedule says.

mod canonical;
mod key;

pub use canonical::{Sha256Text, canonical_json, sha256_of, write_canonical};
pub use key::{PublicKey, SigningKey};

use crate::Head;
use accounting::{Delta, Epsilon, Guarantee, PrivacyUnit, Promise, Rho};
use serde::{Deserialize, Serialize};

/// Signed before everything else, so that a signature of a receipt is one of nothing but a receipt of this
/// format.
const DOMAIN: &[u8] = b"deniable receipt, format 1";
/// Another format is another program's.
const FORMAT: u32 = 1;

/// What an answer was charged, and what it is, signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// Of the receipt itself: 1.
    pub format: u32,
    /// The dataset's name.
    pub dataset: String,
    /// The hash of the first entry of its ledger, which tells ledgers apart.
    pub ledger: String,
    /// The entry of the charge: the head of the chain when it was written.
    pub entry: Head,
    /// SHA-256 of the question, as its words without comments and with one blank between them.
    pub sql_sha256: String,
    /// The ε that was charged; none if the charge is a ρ.
    pub epsilon: Option<Epsilon>,
    /// The δ that was charged, 0 if there is none.
    pub delta: Delta,
    /// The ρ that was charged, where the charge is one.
    pub rho: Option<Rho>,
    /// Whose privacy.
    pub unit: PrivacyUnit,
    /// SHA-256 of what the ledger keeps of the release.
    pub release_sha256: String,
    /// SHA-256 of the table that was shown, as canonical JSON.
    pub table_sha256: String,
    /// The public key, in hexadecimal digits.
    pub key: String,
    /// The signature, in hexadecimal digits.
    pub signature: String,
}

/// What is to be signed about an answer, beside what the ledger knows.
#[derive(Clone, Debug)]
pub struct Released<'a> {
    /// The dataset's name.
    pub dataset: &'a str,
    /// The number of the charge.
    pub charge: u64,
    /// What was charged.
    pub guarantee: &'a Guarantee,
    /// SHA-256 of the question's words.
    pub sql_sha256: String,
    /// SHA-256 of what the ledger keeps.
    pub release_sha256: String,
    /// SHA-256 of the table.
    pub table_sha256: String,
}

impl Receipt {
    /// Signs. `ledger` is the hash of its first entry, `entry` the hash of the charge.
    pub(crate) fn new(released: Released<'_>, ledger: String, entry: String, key: &SigningKey) -> Self {
        let (epsilon, delta, rho) = parts(released.guarantee.promise());
        let mut receipt = Self {
            format: FORMAT,
            dataset: released.dataset.to_owned(),
            ledger,
            entry: Head {
                number: released.charge,
                hash: entry,
            },
            sql_sha256: released.sql_sha256,
            epsilon,
            delta,
            rho,
            unit: released.guarantee.unit().clone(),
            release_sha256: released.release_sha256,
            table_sha256: released.table_sha256,
            key: key.public().to_string(),
            signature: String::new(),
        };
        receipt.signature = key.sign(&receipt.signed_bytes());
        receipt
    }

    /// The bytes that are signed: each field after its length, so that no two receipts have the same.
    ///
    /// In order: the words `deniable receipt, format 1`, the name of the dataset, the hash of the ledger's
    /// first entry, the number of the entry as eight bytes (the largest first), its hash, the digest of the
    /// question, ε, δ and ρ as decimals (empty if there is none), whose privacy, `add_remove` or
    /// `change_one`, the digests of the release and of the table, and the public key as 64 digits. A length
    /// is eight bytes, the largest first.
    pub fn signed_bytes(&self) -> Vec<u8> {
        let text = |number: Option<String>| number.unwrap_or_default();
        let neighbors = match self.unit.neighbors {
            accounting::Neighbors::AddRemove => "add_remove",
            accounting::Neighbors::ChangeOne => "change_one",
        };
        let mut bytes = Vec::new();
        for field in [
            DOMAIN,
            self.dataset.as_bytes(),
            self.ledger.as_bytes(),
            &self.entry.number.to_be_bytes(),
            self.entry.hash.as_bytes(),
            self.sql_sha256.as_bytes(),
            text(self.epsilon.as_ref().map(Epsilon::to_string)).as_bytes(),
            self.delta.to_string().as_bytes(),
            text(self.rho.as_ref().map(Rho::to_string)).as_bytes(),
            self.unit.whose.as_bytes(),
            neighbors.as_bytes(),
            self.release_sha256.as_bytes(),
            self.table_sha256.as_bytes(),
            self.key.as_bytes(),
        ] {
            bytes.extend((field.len() as u64).to_be_bytes());
            bytes.extend(field);
        }
        bytes
    }

    /// Whether the key that it names signed all of it. Whose key that is, it does not say: compare with one
    /// that you know.
    pub fn is_signed(&self) -> bool {
        self.format == FORMAT
            && PublicKey::parse(&self.key).is_some_and(|key| {
                key.to_string() == self.key && key.signed(&self.signed_bytes(), &self.signature)
            })
    }

    /// Whether it states what this guarantee states.
    pub fn states(&self, guarantee: &Guarantee) -> bool {
        let stated = (self.epsilon.clone(), self.delta.clone(), self.rho.clone());
        stated == parts(guarantee.promise()) && self.unit == *guarantee.unit()
    }
}

fn parts(promise: &Promise) -> (Option<Epsilon>, Delta, Option<Rho>) {
    match promise {
        Promise::Pure(epsilon) => (Some(epsilon.clone()), Delta::ZERO, None),
        Promise::Approximate(epsilon, delta) => (Some(epsilon.clone()), delta.clone(), None),
        Promise::Concentrated(rho) => (None, Delta::ZERO, Some(rho.clone())),
    }
}

#[cfg(test)]
mod tests;
