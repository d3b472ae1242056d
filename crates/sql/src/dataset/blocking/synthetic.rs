//! Synthetic rows: explained, measured under one charge, and found again.

use super::charging::{Made, Wanted};
use super::planned::Pass;
use super::{Dataset, Stage};
use crate::dataset::readable::readable;
use crate::dataset::synthetic::{
    SavedRows, SynthesisExplanation, SynthesisRequest, SyntheticRelease, explain,
};
use crate::finish::answer::Cost;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::price::synthetic::{RowsPlan, refused};
use crate::understand::tabulation::Tabulation;
use crate::{Error, OverBudget};
use ledger::{Session, Store};
use mechanism::{Account, Refusal};
use synthesis::Release;

impl Dataset {
    /// What synthetic rows of a table will be made of and what they cost. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When there is no such table, its columns have no declared values or bounds, or there is no noise for the price.
    pub fn explain_synthesis(&self, wanted: &SynthesisRequest) -> Result<SynthesisExplanation, Error> {
        explain(&self.planned_rows(wanted)?, self.catalog())
    }

    /// Measures what synthetic rows are made of, or finds it: what was released before is given again for nothing, and a charge whose run was interrupted before it drew is finished and not repeated.
    ///
    /// # Errors
    /// As [`Dataset::explain_synthesis`], or when the budget or the ledger refuses, or the data cannot be read.
    pub fn synthesize(
        &self,
        wanted: &SynthesisRequest,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<SyntheticRelease, Error> {
        let plan = self.planned_rows(wanted)?;
        watch(Stage::Understood);
        self.with_ledger(|store| self.synthesized_under_charge(wanted, &plan, store, watch))
    }

    /// Synthetic rows, if they were released before. Never charges.
    ///
    /// # Errors
    /// As [`Dataset::explain_synthesis`], or when the ledger cannot be read.
    pub fn synthesized(&self, wanted: &SynthesisRequest) -> Result<Option<SyntheticRelease>, Error> {
        let plan = self.planned_rows(wanted)?;
        let digest = plan.declared.digest(&plan.tabulation, self.catalog());
        let Some(mut store) = Store::open_existing(&self.place())? else {
            return Ok(None);
        };
        let Some((saved, text)) = saved_rows(&digest, &mut store)? else {
            return Ok(None);
        };
        let shown = self.shown_rows(wanted, &plan, saved, &text, (true, false), &mut store);
        shown.map(Some)
    }

    fn planned_rows(&self, wanted: &SynthesisRequest) -> Result<RowsPlan, Error> {
        #[cfg(test)]
        if planted(Mutant::BinsOfData) {
            let catalog = bounds_of_data(self.catalog());
            let declared = wanted.declared(&catalog)?;
            let tabulated = Tabulation::new(&declared.release, &catalog, self.planner()?);
            let tabulation = self.runtime.block_on(tabulated)?;
            return declared.planned(tabulation, &catalog);
        }
        let declared = wanted.declared(self.catalog())?;
        let tabulated = Tabulation::new(&declared.release, self.catalog(), self.planner()?);
        let tabulation = self.runtime.block_on(tabulated)?;
        declared.planned(tabulation, self.catalog())
    }

    fn synthesized_under_charge(
        &self,
        wanted: &SynthesisRequest,
        plan: &RowsPlan,
        store: &mut Store,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<SyntheticRelease, Error> {
        let digest = plan.declared.digest(&plan.tabulation, self.catalog());
        // From here on nobody else in this program makes the same. Another program may: that is what the ledger looks after.
        let _flight = self.shared.flights.begin(&digest);
        watch(Stage::Begun);
        let charged = Wanted {
            digest: &digest,
            analyst: &wanted.analyst,
            caps: &wanted.caps,
            once: wanted.once.as_ref(),
        };
        let find = |store: &mut Store| saved_rows(&digest, store);
        let make = |account: &mut Account<Session<'_>>| self.measured_rows(plan, account, watch);
        let found = match self.found_or_made(&charged, store, find, make) {
            Err(Error::Mechanism(mechanism::Error::Refused(Refusal::Budget(refusal)))) => {
                return Err(self.rows_over_budget(wanted, plan, store, refusal));
            }
            found => found?,
        };
        let ((saved, text), from) = match found {
            Made::Found(found) => (found, (true, false)),
            Made::Now { made, before } => {
                let text = serde_json::to_string(&made).expect("a release is plain data");
                store.record_answer(made.cost.charge, &digest, &wanted.analyst, &text)?;
                let resumed = made.cost.charge <= before;
                ((made, text), (false, resumed))
            }
        };
        self.shown_rows(wanted, plan, saved, &text, from, store)
    }

    /// Why rows do not fit, with what is left.
    fn rows_over_budget(
        &self,
        wanted: &SynthesisRequest,
        plan: &RowsPlan,
        store: &mut Store,
        refusal: accounting::Error,
    ) -> Error {
        let is_too_much = matches!(refusal, accounting::Error::OverBudget { .. });
        let charge = plan.charge(&self.catalog().unit);
        let (true, Ok(charge), Ok(left)) = (is_too_much, charge, store.left(&wanted.analyst)) else {
            return mechanism::Error::Refused(Refusal::Budget(refusal)).into();
        };
        let cost = readable(&charge.guarantee).to_string();
        Error::OverBudget(Box::new(OverBudget {
            what: format!(
                "synthetic rows of `{}` cost {cost}, and ε = {} is left",
                plan.declared.release.table, left.epsilon
            ),
            hint: "say a smaller --epsilon; nothing was charged".to_owned(),
            cost,
            left: left.epsilon,
            fits: None,
        }))
    }

    /// Charges, measures, and only then draws: all rounds under the one charge.
    fn measured_rows(
        &self,
        plan: &RowsPlan,
        account: &mut Account<Session<'_>>,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<SavedRows, Error> {
        let catalog = self.catalog();
        let pass = Pass {
            tabulation: &plan.tabulation,
            claims: plan.claims(catalog)?,
            delta: &plan.declared.delta,
            purpose: plan.purpose(),
        };
        let (rounds, receipt) = self.drawn(&pass, plan.plan.mechanism(), account, watch)?;
        let release = Release::new(&plan.plan, rounds.into_value()).map_err(refused)?;
        let cost = Cost {
            guarantee: receipt.charge.guarantee.clone(),
            charge: receipt.number,
        };
        Ok(SavedRows::new(plan, release, cost, &catalog.unit))
    }

    fn shown_rows(
        &self,
        wanted: &SynthesisRequest,
        plan: &RowsPlan,
        saved: SavedRows,
        text: &str,
        from: (bool, bool),
        store: &mut Store,
    ) -> Result<SyntheticRelease, Error> {
        let release_sha256 = ledger::sha256_of(text);
        let signed = ledger::Released {
            dataset: &self.catalog().name,
            charge: saved.cost.charge,
            guarantee: &saved.cost.guarantee,
            sql_sha256: ledger::sha256_of(&format!("SYNTHESIZE {}", saved.table)),
            table_sha256: release_sha256.clone(),
            release_sha256,
        };
        let receipt = store.receipt(signed).ok().flatten();
        let left = store.left(&wanted.analyst)?;
        Ok(SyntheticRelease::new(saved, plan, from, left, receipt))
    }
}

/// What was saved, and its text as it was saved.
fn saved_rows(digest: &str, store: &mut Store) -> Result<Option<(SavedRows, String)>, Error> {
    let Some(stored) = store.stored_answer(digest)? else {
        return Ok(None);
    };
    let saved = serde_json::from_str::<SavedRows>(&stored.answer).ok();
    Ok(saved.map(|saved| (saved, stored.answer)))
}

/// The mutant: the bounds of the column `n` are those of the data.
#[cfg(test)]
fn bounds_of_data(catalog: &crate::catalog::Catalog) -> crate::catalog::Catalog {
    let mut catalog = catalog.clone();
    let text = std::fs::read_to_string(catalog.directory.join("t.csv")).unwrap_or_default();
    let numbers = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(2)?.parse::<f64>().ok());
    let most = numbers.fold(0.0, f64::max);
    for table in catalog.tables.values_mut() {
        for (name, facts) in &mut table.columns {
            if name == "n" {
                facts.range = crate::values::facts::Range::new(0.0, most);
            }
        }
    }
    catalog
}
