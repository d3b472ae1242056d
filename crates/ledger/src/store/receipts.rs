//! Receipts for charges of the ledger.

use super::Store;
use crate::chain::{AnswerBody, ChargeBody, RecordKind};
use crate::history;
use crate::{Error, Place, PublicKey, Receipt, Released, SigningKey, Temporary, sha256_of};
use std::path::PathBuf;
use std::sync::Arc;

/// What signs receipts, and the hash of the first entry.
pub(super) struct Signing {
    key: Arc<SigningKey>,
    ledger: String,
}

/// Where the key of a ledger's receipts is kept.
pub(super) enum Keys {
    /// Nowhere: there are no receipts.
    Nowhere,
    /// In a file beside the ledger, or beside its head.
    File(PathBuf),
    /// With a ledger that is gone with the process.
    Temporary(Temporary),
}

impl Keys {
    pub(super) fn of(place: &Place) -> Self {
        match (place, place.key_file()) {
            (Place::Temporary(place), _) => Self::Temporary(place.clone()),
            (_, Some(file)) => Self::File(file),
            (_, None) => Self::Nowhere,
        }
    }

    fn key(&self) -> Result<Option<Arc<SigningKey>>, Error> {
        match self {
            Self::Nowhere => Ok(None),
            Self::File(path) => SigningKey::kept_at(path).map(|key| Some(Arc::new(key))),
            Self::Temporary(place) => place.key().map(Some),
        }
    }
}

impl Store {
    /// The public key that belongs to the receipts of this ledger on this machine; its private one is made
    /// beside the ledger if there is none. `None` if there is no place for it.
    ///
    /// # Errors
    /// When the key cannot be read or made, or the ledger cannot be used.
    pub fn receipt_key(&mut self) -> Result<Option<PublicKey>, Error> {
        Ok(self.signing()?.map(|signing| signing.key.public()))
    }

    /// Signs what an answer was charged and what it is; `None` if there is no place for a key.
    ///
    /// # Errors
    /// When the key cannot be read or made, there is no such charge, or the ledger cannot be used.
    pub fn receipt(&mut self, released: Released<'_>) -> Result<Option<Receipt>, Error> {
        if self.signing()?.is_none() {
            return Ok(None);
        }
        let number = released.charge;
        let entry = self.reading(|backend| backend.entry(number))?;
        let entry = entry.ok_or(Error::Rewound { number })?;
        Ok(self
            .signing
            .as_ref()
            .map(|signing| Receipt::new(released, signing.ledger.clone(), entry.hash, &signing.key)))
    }

    /// Holds a receipt against the ledger: what it says that is not so, in words. The chain itself is checked
    /// by [`Store::verify`].
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub fn check_receipt(&mut self, receipt: &Receipt) -> Result<Vec<String>, Error> {
        let number = receipt.entry.number;
        let (first, entry) = self.reading(|backend| Ok((backend.entry(1)?, backend.entry(number)?)))?;
        let mut wrong = Vec::new();
        if first.ok_or_else(history::no_entries)?.hash != receipt.ledger {
            wrong.push(
                "the receipt is of another ledger: its first entry is not the first entry here".to_owned(),
            );
        }
        let Some(entry) = entry.filter(|entry| entry.hash == receipt.entry.hash) else {
            wrong.push(format!(
                "entry {number} of the chain is not the one on the receipt, or is gone"
            ));
            return Ok(wrong);
        };
        entry.check_itself()?;
        if entry.kind()? != RecordKind::Charge {
            wrong.push(format!("entry {number} of the chain is no charge"));
            return Ok(wrong);
        }
        let charge: ChargeBody = entry.body()?;
        if !receipt.states(&charge.guarantee) {
            wrong.push(format!(
                "entry {number} was charged {}, which is not what the receipt states",
                charge.guarantee
            ));
        }
        let mut kept = None;
        for answer in self.reading(|backend| backend.answers(&entry.question, u32::MAX))? {
            answer.check_itself()?;
            let body: AnswerBody = answer.body()?;
            // Without a word, drawing has begun and no answer was saved.
            if body.charge == number && !body.answer.is_empty() {
                kept = Some(sha256_of(&body.answer));
            }
        }
        match kept {
            None => wrong.push(format!(
                "the ledger keeps no release that entry {number} paid for"
            )),
            Some(digest) if digest != receipt.release_sha256 => {
                wrong.push(format!(
                    "what entry {number} paid for is another release than the receipt's"
                ));
            }
            Some(_) => {}
        }
        Ok(wrong)
    }

    fn signing(&mut self) -> Result<Option<&Signing>, Error> {
        if self.signing.is_none()
            && let Some(key) = self.keys.key()?
        {
            let first = self.reading(|backend| backend.entry(1))?;
            let ledger = first.ok_or_else(history::no_entries)?.hash;
            self.signing = Some(Signing { key, ledger });
        }
        Ok(self.signing.as_ref())
    }
}
