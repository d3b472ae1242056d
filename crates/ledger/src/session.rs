//! The ledger as a mechanism sees it: one query of one analyst.

use crate::store::Conditions;
use crate::{Analyst, Caps, Error, Once, Store};
use accounting::{Budget, Promise};
use mechanism::{Charge, Ledger, Receipt, Refusal};

/// A ledger in the sense of [`mechanism`]: what a mechanism charges is charged to this analyst, for this
/// question.
#[derive(Debug)]
pub struct Session<'a> {
    store: &'a mut Store,
    analyst: Analyst,
    question: String,
    conditions: Conditions,
}

impl<'a> Session<'a> {
    pub(crate) fn open(store: &'a mut Store, analyst: &str, question: &str) -> Result<Self, Error> {
        let analyst = Analyst::named(analyst)?;
        store.check_listed(&analyst)?;
        Ok(Self {
            store,
            analyst,
            question: question.to_owned(),
            conditions: Conditions::default(),
        })
    }

    /// Writes down, durably and once, that drawing under this charge begins now. From then on the charge is
    /// not resumed.
    ///
    /// # Errors
    /// When drawing under it has begun before, or the ledger cannot be written.
    pub fn begin_drawing(&mut self, number: u64) -> Result<(), Error> {
        self.store
            .begin_drawing(number, &self.question, self.analyst.name())
    }

    /// See [`Store::resumable_session`].
    pub(crate) fn resuming(mut self, since: u64) -> Self {
        self.conditions.resumes = Some(since);
        self
    }

    /// Holds the charge against limits of the account too.
    #[must_use]
    pub fn within(mut self, caps: &Caps) -> Self {
        self.conditions.caps = caps.clone();
        self
    }

    /// Charges this request once: if it was charged before and its answer was lost, it is refused.
    #[must_use]
    pub fn once(mut self, once: Option<&Once>) -> Self {
        self.conditions.once = once.cloned();
        self
    }
}

impl Ledger for Session<'_> {
    fn charge(&mut self, charge: Charge) -> Result<Receipt, Refusal> {
        let (analyst, question) = (self.analyst.name(), &self.question);
        self.store
            .charge_or_find(analyst, question, charge, &self.conditions)
    }

    fn taken(&mut self, number: u64) -> Result<Option<Charge>, Refusal> {
        let charges = self
            .store
            .charges()
            .map_err(|error| Refusal::NotRecorded(error.to_string()))?;
        Ok(charges
            .into_iter()
            .find(|entry| entry.number == number)
            .map(|entry| Charge {
                event: entry.event,
                guarantee: entry.guarantee,
                purpose: entry.purpose,
            }))
    }

    fn budget(&self) -> &Budget {
        &self.store.rules().budget
    }

    /// The largest ε of one further release, as far as this session knows: others may have spent since its
    /// last charge.
    fn remaining(&self) -> Promise {
        Promise::Pure(self.store.left_when_last_seen(&self.analyst))
    }
}
