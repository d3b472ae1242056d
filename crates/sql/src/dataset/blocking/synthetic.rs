//! Synthetic rows: explained, measured under one charge, and found again.

use super::charging::{KeptWhole, Wanted, Whole, saved_whole};
use super::planned::Pass;
use super::{Dataset, Stage};
use crate::Error;
use crate::dataset::synthetic::{
    SavedRows, SynthesisExplanation, SynthesisRequest, SyntheticRelease, explain,
};
use crate::finish::answer::Cost;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::price::synthetic::{RowsPlan, refused};
use crate::understand::tabulation::Tabulation;
use ledger::{Session, Store};
use mechanism::Account;
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
        let found = saved_whole(&digest, &mut store)?;
        found
            .map(|found| self.shown_rows(wanted, &plan, found, &mut store))
            .transpose()
    }

    pub(super) fn planned_rows(&self, wanted: &SynthesisRequest) -> Result<RowsPlan, Error> {
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
        let make = |account: &mut Account<Session<'_>>| self.measured_rows(plan, account, watch);
        match self.whole_or_made(&charged, store, make) {
            Ok(found) => self.shown_rows(wanted, plan, found, store),
            Err(error) => {
                let what = format!("making synthetic rows of `{}`", plan.declared.release.table);
                let charge = plan.charge(&self.catalog().unit);
                let hint = "say a smaller --epsilon";
                Err(self.in_words_of_budget(error, (&wanted.analyst, store), charge, (&what, hint)))
            }
        }
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
        found: Whole<SavedRows>,
        store: &mut Store,
    ) -> Result<SyntheticRelease, Error> {
        let words = format!("SYNTHESIZE {}", found.saved.table);
        let receipt = found.receipt(&self.catalog().name, &words, store);
        let left = store.left(&wanted.analyst)?;
        let from = (found.repeated, found.resumed);
        Ok(SyntheticRelease::new(found.saved, plan, from, left, receipt))
    }
}

impl KeptWhole for SavedRows {
    fn cost(&self) -> &Cost {
        &self.cost
    }
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
