//! A check of synthetic rows: a private score on tables that were not measured, under a charge of its own.

use super::charging::{KeptWhole, Wanted, Whole};
use super::planned::Pass;
use super::{Dataset, Stage};
use crate::Error;
use crate::dataset::synthetic::{CheckRequest, SavedCheck, SyntheticCheck, SyntheticRelease};
use crate::finish::answer::Cost;
use crate::price::quantity;
use crate::price::question::Claims;
use crate::price::synthetic::{RowsPlan, refused};
use accounting::Epsilon;
use ledger::{Session, Store};
use mechanism::{Account, Charge, Stated};
use sha2::{Digest, Sha256};
use synthesis::Check;

/// Which way of checking a saved check is of: raised when the same request comes to mean something else.
const MEANING: &str = "1";

/// A check that is about to be made.
struct CheckPlan<'a> {
    wanted: &'a CheckRequest,
    rows: RowsPlan,
    made: &'a SyntheticRelease,
    check: Check,
    purpose: String,
}

impl CheckPlan<'_> {
    fn charge(&self, dataset: &Dataset) -> Result<Charge, Error> {
        let charge = Charge::for_all(
            &[self.check.mechanism()],
            &dataset.catalog().unit,
            &self.rows.declared.delta,
            &self.purpose,
        );
        charge.map_err(|error| quantity(error.into()))
    }

    /// What makes two checks the same: the rows, and the price.
    fn digest(&self, dataset: &Dataset) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        };
        add("check of synthetic rows");
        add(MEANING);
        let (declared, tabulation) = (&self.rows.declared, &self.rows.tabulation);
        add(&declared.digest(tabulation, dataset.catalog()));
        add(&self.made.cost.charge.to_string());
        add(&self.wanted.epsilon.to_string());
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Dataset {
    /// Spends more for a private score of rows that were made: how far they are from the data, on tables that were not measured. The same check of the same rows is found and gives the same score for nothing.
    ///
    /// # Errors
    /// When ε is zero, every table that matters was measured, the budget or the ledger refuses, or the data cannot be read.
    pub fn check_synthesis(
        &self,
        wanted: &CheckRequest,
        made: &SyntheticRelease,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<SyntheticCheck, Error> {
        if wanted.epsilon == Epsilon::ZERO {
            return Err(Error::refused(
                "at ε = 0 a check may not depend on the data",
                "say --check 0.1",
            ));
        }
        let rows = self.planned_rows(&wanted.rows)?;
        let declared = &rows.declared;
        let rho = synthesis::rho_for(&wanted.epsilon, &declared.delta).map_err(refused)?;
        let model = made.release().model().map_err(refused)?;
        let unit = &self.catalog().unit;
        let check = Check::new(made.release(), &model, rho, rows.tabulation.rows, unit).map_err(refused)?;
        let plan = CheckPlan {
            purpose: format!("check of {}", rows.purpose()),
            wanted,
            rows,
            made,
            check,
        };
        watch(Stage::Understood);
        self.with_ledger(|store| self.checked_under_charge(&plan, store, watch))
    }

    fn checked_under_charge(
        &self,
        plan: &CheckPlan<'_>,
        store: &mut Store,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<SyntheticCheck, Error> {
        let digest = plan.digest(self);
        let _flight = self.shared.flights.begin(&digest);
        watch(Stage::Begun);
        let asked = &plan.wanted.rows;
        let charged = Wanted {
            digest: &digest,
            analyst: &asked.analyst,
            caps: &asked.caps,
            once: None,
        };
        let make = |account: &mut Account<Session<'_>>| self.measured_check(plan, account, watch);
        match self.whole_or_made(&charged, store, make) {
            Ok(found) => self.shown_check(plan, found, store),
            Err(error) => {
                let what = format!("checking synthetic rows of `{}`", plan.made.table);
                let hint = "say a smaller --check; the rows are there without it";
                let charge = plan.charge(self);
                Err(self.in_words_of_budget(error, (&asked.analyst, store), charge, (&what, hint)))
            }
        }
    }

    /// Charges, counts, and only then draws.
    fn measured_check(
        &self,
        plan: &CheckPlan<'_>,
        account: &mut Account<Session<'_>>,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<SavedCheck, Error> {
        let mechanism = plan.check.mechanism();
        let pass = Pass {
            tabulation: &plan.rows.tabulation,
            claims: Claims {
                aggregations: std::slice::from_ref(&plan.rows.tabulation.aggregation),
                drawn: vec![vec![(mechanism.terms().sensitivity(), mechanism as &dyn Stated)]],
                charge: plan.charge(self)?,
            },
            delta: &plan.rows.declared.delta,
            purpose: plan.purpose.clone(),
        };
        let (rounds, receipt) = self.drawn(&pass, mechanism, account, watch)?;
        Ok(SavedCheck {
            cost: Cost {
                guarantee: receipt.charge.guarantee.clone(),
                charge: receipt.number,
            },
            of: plan.made.cost.charge,
            epsilon: plan.wanted.epsilon.clone(),
            delta: plan.rows.declared.delta.clone(),
            rounds: rounds.into_value(),
        })
    }

    fn shown_check(
        &self,
        plan: &CheckPlan<'_>,
        found: Whole<SavedCheck>,
        store: &mut Store,
    ) -> Result<SyntheticCheck, Error> {
        let words = format!("CHECK SYNTHESIZE {}", plan.made.table);
        let receipt = found.receipt(&self.catalog().name, &words, store);
        let report = plan.check.report(&found.saved.rounds).map_err(refused)?;
        Ok(SyntheticCheck {
            cost: found.saved.cost,
            of: found.saved.of,
            epsilon: found.saved.epsilon,
            delta: found.saved.delta,
            repeated: found.repeated,
            resumed: found.resumed,
            left: store.left(&plan.wanted.rows.analyst)?,
            receipt,
            report,
        })
    }
}

impl KeptWhole for SavedCheck {
    fn cost(&self) -> &Cost {
        &self.cost
    }
}
