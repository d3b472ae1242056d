//! An answer together with what the ledger keeps of it, and its receipt.

use crate::finish::answer::Answer;
use crate::understand::dialect::canonical_sql;
use ledger::{Receipt, Released, Store, sha256_of};

/// An answer, and the digest of what the ledger keeps of it.
pub(crate) struct Kept {
    pub(crate) answer: Answer,
    pub(crate) release_sha256: String,
}

impl Kept {
    /// What was charged for this question and what it is, signed. What was paid for is shown also where it cannot be signed: then it has no receipt.
    pub(crate) fn signed(&self, dataset: &str, sql: &str, store: &mut Store) -> Option<Receipt> {
        let cost = self.answer.cost.as_ref()?;
        let released = Released {
            dataset,
            charge: cost.charge,
            guarantee: &cost.guarantee,
            sql_sha256: sha256_of(&canonical_sql(sql)),
            release_sha256: self.release_sha256.clone(),
            table_sha256: self.answer.table_sha256(),
        };
        store.receipt(released).ok().flatten()
    }
}
