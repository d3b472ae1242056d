//! Limits for what a question groups by, found for a share of its ε where the catalog states none and allows it (`find_limits` under `[budget.query]`).
//!
//! Two charges: histograms of units, as `deniable limits` asks for them, for the share; then the question itself, under the limits that they tell, for the rest. Both are ordinary questions,
//! so both promise what they say, and each is found again when it is asked again: the same question has the same limits, and the same answer.
//! Which question needs limits follows from the query and the catalog alone. That limits were found before follows from the ledger, which is public.

use super::{Answered, Dataset, Stage};
use crate::Error;
use crate::price::question::{QueryRequest, Question};
use crate::understand::unstated::{LimitsFound, Search};
use accounting::Epsilon;
use ledger::Store;

/// Searches whose limits are kept at hand.
const MOST_KEPT: usize = 1024;

impl Dataset {
    /// The search that a question needs before it is answered; `None` where its limits are stated, or nothing may be spent on them.
    fn search(&self, ask: &QueryRequest, question: &Question) -> Option<Search> {
        let share = self.catalog().budget.find_limits.as_ref()?;
        let (of, epsilon) = question.unstated(ask, self.catalog())?;
        let part = |part: &exact::Rational| Epsilon::rounded_down(&(epsilon.as_rational() * part)).ok();
        Some(Search {
            of: of.clone(),
            epsilon: part(share)?,
            own: part(&(exact::Rational::ONE - share.clone()))?,
        })
    }

    /// The same question under the limits that were found for it; as it is, where none are needed or none were found yet. Charges nothing.
    pub(super) fn under_found_limits(
        &self,
        ask: &QueryRequest,
        mut question: Question,
    ) -> Result<Question, Error> {
        let Some(search) = self.search(ask, &question) else {
            return Ok(question);
        };
        match self.found_before(&search, ask)? {
            Some(found) => self.read_within(ask, found),
            None => {
                question.search = Some(search);
                Ok(question)
            }
        }
    }

    /// Finds the limits that a question needs, and understands it again under them.
    pub(super) fn with_limits(
        &self,
        ask: &QueryRequest,
        question: Question,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<Question, Error> {
        let Some(search) = &question.search else {
            return Ok(question);
        };
        // A question that was answered before, that a release answers, or that does not fit needs no limits: nothing is spent on them.
        let charge = question.charge(self.catalog())?;
        let needed = |store: &mut Store| {
            let told = self.is_saved(&question, store)?
                || self.answered_by_release(ask, &question, store)?.is_some();
            Ok(!told && store.fits(&ask.analyst, &charge.event)?)
        };
        let needed = self.with_ledger(needed)?;
        let first = self.search_for(&search.of, &search.epsilon, &ask.analyst);
        let Some(mut first) = first.filter(|_| needed) else {
            return Ok(question);
        };
        first.caps = ask.caps.clone();
        self.query_watched(&first, watch)?;
        self.understand(ask)
    }

    /// What an earlier search found.
    fn found_before(&self, search: &Search, ask: &QueryRequest) -> Result<Option<LimitsFound>, Error> {
        if let Some(found) = self.shared.lock_found().get(search) {
            return Ok(Some(found.clone()));
        }
        let Some(first) = self.search_for(&search.of, &search.epsilon, &ask.analyst) else {
            return Ok(None);
        };
        let question = self.read_question(&first)?;
        if !self
            .reading_ledger(|store| self.is_saved(&question, store))?
            .unwrap_or(false)
        {
            return Ok(None);
        }
        let Some(Answered { answer, .. }) = self.saved(&first)? else {
            return Ok(None);
        };
        let found = LimitsFound {
            limits: self.limits_told(&search.of, (&search.epsilon, &search.own), &answer),
            of: search.of.clone(),
        };
        let mut kept = self.shared.lock_found();
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(search.clone(), found.clone());
        Ok(Some(found))
    }
}
