//! Planned releases: explained, made under one charge, and found again.

use super::answering::secret;
use super::charging::{KeptWhole, Wanted, Whole, saved_whole};
use super::{Dataset, Stage};
use crate::Error;
use crate::catalog::PlannedRelease;
use crate::dataset::planned::{
    ListedRelease, ReleaseExplanation, ReleaseRequest, ReleasedTables, SavedTables, WantedTableError,
    explain, levels_of,
};
use crate::finish::answer::{Answer, Cost, answer};
use crate::finish::estimate::CONFIDENCE;
use crate::finish::post;
use crate::price::planned::{DeclaredRelease, ReleasePlan, refused, with_epsilon};
use crate::price::question::{Claims, QueryRequest, Question};
use crate::run::publics::Publics;
use crate::run::{exact, tabulated};
use crate::understand::tabulation::Tabulation;
use accounting::{Delta, Epsilon};
use ledger::{Session, Store};
use mechanism::{Account, Cells, Mechanism, Receipt, Release};
use noise::Grid;

/// A pass over the cells of a table, and what is charged for it.
pub(super) struct Pass<'a> {
    pub(super) tabulation: &'a Tabulation,
    pub(super) claims: Claims<'a>,
    pub(super) delta: &'a Delta,
    pub(super) purpose: String,
}

impl Dataset {
    /// The releases that the catalog plans, and by which charge each was made. Chooses no noise and reads no release, so it takes little however large they are. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn releases(&self) -> Result<Vec<ListedRelease>, Error> {
        let mut listed = Vec::new();
        let mut digests = Vec::new();
        for release in self.catalog().releases.values() {
            let one = ListedRelease::new(release);
            // One that cannot be planned is listed with the reason: the others are there all the same.
            let request = ReleaseRequest::new(&release.name, "");
            let (one, digest) = match self.declared_release(&request) {
                Ok(declared) => (one.with_levels(&declared), Some(declared.digest(self.catalog()))),
                Err(error) => {
                    let problem = Some(error.to_string());
                    (ListedRelease { problem, ..one }, None)
                }
            };
            listed.push(one);
            digests.push(digest);
        }
        if listed.is_empty() {
            return Ok(listed);
        }
        let charges = self.reading_ledger(|store| Ok(store.charges()?))?;
        for charge in charges.iter().flatten().filter(|charge| charge.answered) {
            for (one, digest) in listed.iter_mut().zip(&digests) {
                if digest.as_deref() == Some(charge.question.as_str()) {
                    one.made_by_charge = Some(charge.number);
                }
            }
        }
        Ok(listed)
    }

    /// The charge that paid for a release, if it was made for this price. What was released is not read. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// As [`Dataset::explain_release`], or when the ledger cannot be read.
    pub fn release_charge(&self, wanted: &ReleaseRequest) -> Result<Option<u64>, Error> {
        let digest = self.declared_release(wanted)?.digest(self.catalog());
        let charges = self.reading_ledger(|store| Ok(store.charges()?))?;
        let made = charges.into_iter().flatten().rev();
        let mut made = made.filter(|charge| charge.answered && charge.question == digest);
        Ok(made.next().map(|charge| charge.number))
    }

    /// What a planned release measures, what it costs and how far off each of its tables will be. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When there is no such release, it does not fit, or there is no noise for its price.
    pub fn explain_release(&self, wanted: &ReleaseRequest) -> Result<ReleaseExplanation, Error> {
        explain(&self.planned(wanted)?, self.catalog())
    }

    /// The smallest ε, to three digits, for which the expected error of a cell of every table is at most this, where a cell has so many rows. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// As [`Dataset::explain_release`], or when no ε is enough.
    pub fn epsilon_for_release(
        &self,
        wanted: &ReleaseRequest,
        error: &WantedTableError,
    ) -> Result<Epsilon, Error> {
        let plan = self.planned(wanted)?;
        let mut at = |epsilon: &Epsilon| {
            let price = with_epsilon(&plan.declared.release.price, epsilon);
            explain(&plan.for_price(price, self.catalog())?, self.catalog())
        };
        error.cheapest(&mut at)
    }

    /// Makes a planned release, or finds it: what was released before is given again for nothing, and a charge whose run was interrupted is finished and not repeated.
    ///
    /// # Errors
    /// As [`Dataset::explain_release`], or when the budget or the ledger refuses, or the data cannot be read.
    pub fn release_tables(
        &self,
        wanted: &ReleaseRequest,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<ReleasedTables, Error> {
        let plan = self.planned(wanted)?;
        watch(Stage::Understood);
        self.with_ledger(|store| self.made(wanted, &plan, store, watch))
    }

    /// A planned release, if it was made before. Never charges.
    ///
    /// # Errors
    /// As [`Dataset::explain_release`], or when the ledger cannot be read.
    pub fn released_tables(&self, wanted: &ReleaseRequest) -> Result<Option<ReleasedTables>, Error> {
        let digest = self.declared_release(wanted)?.digest(self.catalog());
        let found = self.reading_ledger(|store| {
            let found = saved_whole(&digest, store)?;
            found
                .map(|found| self.shown_tables(wanted, found, store))
                .transpose()
        })?;
        Ok(found.flatten())
    }

    /// A release that the catalog plans, with its noise.
    fn planned(&self, wanted: &ReleaseRequest) -> Result<ReleasePlan, Error> {
        self.declared_release(wanted)?.planned(self.catalog())
    }

    /// A release that the catalog plans, with everything that is known before its noise is chosen.
    pub(super) fn declared_release(&self, wanted: &ReleaseRequest) -> Result<DeclaredRelease, Error> {
        let mut release = self.declared(&wanted.name)?.clone();
        if let Some(epsilon) = &wanted.epsilon {
            release.price = with_epsilon(&release.price, epsilon);
        }
        let tabulated = Tabulation::new(&release, self.catalog(), self.planner()?);
        let tabulation = self.runtime.block_on(tabulated)?;
        let mut levels = Vec::new();
        for attribute in &release.attributes {
            levels.push(levels_of(attribute, |sql| self.public_rows(sql))?);
        }
        DeclaredRelease::new(release, tabulation, &levels, self.catalog())
    }

    fn declared(&self, name: &str) -> Result<&PlannedRelease, Error> {
        let releases = &self.catalog().releases;
        releases.get(name).ok_or_else(|| {
            let names: Vec<&str> = releases.keys().map(String::as_str).collect();
            let hint = match names.as_slice() {
                [] => "declare one in the catalog, as [releases.census]; docs/tables.md has an example"
                    .to_owned(),
                names => format!("the catalog plans {}", names.join(", ")),
            };
            Error::refused(format!("the catalog plans no release `{name}`"), hint)
        })
    }

    /// The rows of a query over public tables.
    fn public_rows(&self, sql: &str) -> Result<Answer, Error> {
        let question = self.understand(&QueryRequest::new(sql, "curator"))?;
        if !question.is_public() {
            return Err(Error::refused(
                "the levels of a hierarchy are read from a private table",
                "name a table with public = true",
            ));
        }
        self.public_answer_of(&question)
    }

    /// The answer to a question that is public altogether.
    pub(super) fn public_answer_of(&self, question: &Question) -> Result<Answer, Error> {
        let session = self.engines().public()?;
        let catalog = self.catalog();
        let finishing = post::finish(&question.split.post, Vec::new(), &session, catalog);
        let finished = self.runtime.block_on(finishing).map_err(|error| match error {
            Error::Engine { .. } => Error::refused(
                "this query over public tables does not work",
                "does it divide by zero, or cast a text that is no number? nothing was charged",
            ),
            other => other,
        })?;
        answer(finished, Vec::new(), question.notes(catalog), None, CONFIDENCE)
    }

    fn made(
        &self,
        wanted: &ReleaseRequest,
        plan: &ReleasePlan,
        store: &mut Store,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<ReleasedTables, Error> {
        let digest = plan.declared.digest(self.catalog());
        // From here on nobody else in this program makes the same. Another program may: that is what the ledger looks after.
        let _flight = self.shared.flights.begin(&digest);
        watch(Stage::Begun);
        let charged = Wanted {
            digest: &digest,
            analyst: &wanted.analyst,
            caps: &wanted.caps,
            once: wanted.once.as_ref(),
        };
        let make = |account: &mut Account<Session<'_>>| self.measured(plan, account, watch);
        match self.whole_or_made(&charged, store, make) {
            Ok(found) => self.shown_tables(wanted, found, store),
            Err(error) => {
                let name = &plan.declared.release.name;
                let hint = format!("say a smaller epsilon under [releases.{name}], or with --epsilon");
                let what = format!("the release `{name}`");
                let charge = plan.charge(&self.catalog().unit);
                Err(self.in_words_of_budget(error, (&wanted.analyst, store), charge, (&what, &hint)))
            }
        }
    }

    /// Charges, measures, and only then draws: see `Store::resumable_session`.
    fn measured(
        &self,
        plan: &ReleasePlan,
        account: &mut Account<Session<'_>>,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<SavedTables, Error> {
        let catalog = self.catalog();
        let pass = Pass {
            tabulation: &plan.declared.tabulation,
            claims: plan.claims(catalog)?,
            delta: &plan.delta,
            purpose: plan.purpose(),
        };
        let (released, receipt) = self.drawn(&pass, plan.plan.mechanism(), account, watch)?;
        let measurements = plan.plan.measurements(released).map_err(refused)?;
        let cost = Cost {
            guarantee: receipt.charge.guarantee.clone(),
            charge: receipt.number,
        };
        Ok(SavedTables::new(plan, measurements, cost, &catalog.unit))
    }

    /// The one way from rows to what is released of their cells: plans are verified before the charge, the data is read after it, and what was read is bound to how far the verifier says it moves.
    pub(super) fn drawn<M: Mechanism<Cells>>(
        &self,
        pass: &Pass<'_>,
        mechanism: &M,
        account: &mut Account<Session<'_>>,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<(Release<M::Output>, Receipt), Error> {
        let (engines, catalog) = (self.engines(), self.catalog());
        // Whatever can be refused is refused before the charge.
        let session = engines.public()?;
        let aggregations = std::slice::from_ref(&pass.tabulation.aggregation);
        let sides = Publics::of(aggregations, &session, catalog);
        let publics = self.runtime.block_on(sides)?;
        let asked = tabulated::plans(pass.tabulation, &secret()?)?;
        let preparing = exact::prepare(asked, &pass.claims, &publics, engines, catalog);
        let prepared = self.runtime.block_on(preparing)?;
        let verified = prepared.verified();
        let reservation = account.reserve(&[mechanism], pass.delta, &pass.purpose)?;
        watch(Stage::Charged);
        let cells = self
            .runtime
            .block_on(tabulated::cells(prepared, pass.tabulation, engines));
        // Also after a failure: a server holds what follows back until its schedule allows it.
        watch(Stage::Measured);
        let input = verified.aggregate(0, cells?, Grid::new(0))?;
        let receipt = reservation.receipt().clone();
        account.ledger_mut().begin_drawing(receipt.number)?;
        let ticket = reservation.into_tickets().pop();
        let ticket = ticket.ok_or(mechanism::Error::NotReserved)?;
        let released = account.draw(ticket, mechanism, input)?;
        watch(Stage::Drawn);
        Ok((released, receipt))
    }

    fn shown_tables(
        &self,
        wanted: &ReleaseRequest,
        found: Whole<SavedTables>,
        store: &mut Store,
    ) -> Result<ReleasedTables, Error> {
        let words = format!("RELEASE {}", found.saved.release);
        let receipt = found.receipt(&self.catalog().name, &words, store);
        let left = store.left(&wanted.analyst)?;
        let (repeated, resumed) = (found.repeated, found.resumed);
        Ok(ReleasedTables::new(found.saved, repeated, resumed, left, receipt))
    }
}

impl KeptWhole for SavedTables {
    fn cost(&self) -> &Cost {
        &self.cost
    }
}
