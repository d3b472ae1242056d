//! Questions that a planned release has answered already: for nothing, before anything is charged.

use super::charging::{Whole, saved_whole};
use super::{Answered, Dataset};
use crate::Error;
use crate::dataset::explain::explain;
use crate::dataset::planned::{ReleaseRequest, SavedTables, asked};
use crate::finish::answer::{Answer, answer};
use crate::finish::estimate::{CONFIDENCE, Estimate};
use crate::finish::post;
use crate::price::bounds::{IntervalOf, bounds};
use crate::price::question::{QueryRequest, Question};
use crate::understand::aggregation::Selection;
use ledger::Store;
use report::significant;
use serde::Serialize;

/// That a release tells what is asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FromRelease {
    /// The release.
    pub release: String,
    /// The charge that paid for it.
    pub charge: u64,
    /// Half of the width of the widest 95 % interval of the answer.
    pub half_width: f64,
    /// The same of a fresh answer, where it does not depend on the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh_half_width: Option<f64>,
}

impl FromRelease {
    /// In words, for whoever asks.
    pub fn words(&self) -> String {
        let fresh = self.fresh_half_width.map_or(String::new(), |fresh| {
            format!(
                ", and a fresh answer to this question ± {}",
                significant(fresh, 3)
            )
        });
        format!(
            "the release `{}` (charge {}) tells this for nothing, with ± {} at most{fresh}",
            self.release,
            self.charge,
            significant(self.half_width, 3)
        )
    }
}

/// What a release tells: for each part of a question, the estimates of its groups.
struct Told {
    saved: SavedTables,
    parts: Vec<Vec<Estimate>>,
}

impl Dataset {
    /// Which release tells what is asked, if one does that was made. Spends nothing, reads no data.
    ///
    /// # Errors
    /// When the query is refused, or the ledger cannot be read.
    pub fn told_by_release(&self, ask: &QueryRequest) -> Result<Option<FromRelease>, Error> {
        if self.catalog().releases.is_empty() {
            return Ok(None);
        }
        let question = self.understand(ask)?;
        let Some(mut store) = Store::open_existing(&self.place())? else {
            return Ok(None);
        };
        let told = self.told(ask, &question, &mut store)?;
        told.map(|told| self.comparison(&question, &told)).transpose()
    }

    /// The answer from a release that was made, if one tells it.
    pub(super) fn answered_by_release(
        &self,
        ask: &QueryRequest,
        question: &Question,
        store: &mut Store,
    ) -> Result<Option<Answered>, Error> {
        let Some(told) = self.told(ask, question, store)? else {
            return Ok(None);
        };
        Ok(Some(Answered {
            answer: self.answer_from(question, told)?,
            repeated: true,
            resumed: false,
            left: store.left(&ask.analyst)?,
            receipt: None,
        }))
    }

    fn told(
        &self,
        ask: &QueryRequest,
        question: &Question,
        store: &mut Store,
    ) -> Result<Option<Told>, Error> {
        // What does more with counts than show them needs to know how their errors go together.
        if ask.fresh || !asked::may_be_told(question) || !post::only_arranges(&question.split.post) {
            return Ok(None);
        }
        let tables = question.tables(self.catalog());
        let releases = self.catalog().releases.values();
        for release in releases.filter(|release| tables.contains(&release.table)) {
            // A release that cannot be planned answers nothing.
            let request = ReleaseRequest::new(&release.name, &ask.analyst);
            let Ok(declared) = self.declared_release(&request) else {
                continue;
            };
            let Some(factors) = asked::factors(question, &declared, self.catalog()) else {
                continue;
            };
            let digest = declared.digest(self.catalog());
            let Some(Whole { saved, .. }) = saved_whole::<SavedTables>(&digest, store)? else {
                continue;
            };
            let parts = factors
                .iter()
                .map(|groups| asked::estimates(groups, &saved.measurements));
            if let Some(parts) = parts.collect() {
                return Ok(Some(Told { saved, parts }));
            }
        }
        Ok(None)
    }

    fn comparison(&self, question: &Question, told: &Told) -> Result<FromRelease, Error> {
        let widths = told
            .parts
            .iter()
            .flatten()
            .filter_map(|estimate| estimate.interval);
        let fresh = explain(question, self.catalog(), 1000)?;
        let fresh = fresh.parts.iter().flat_map(|part| &part.outputs);
        Ok(FromRelease {
            release: told.saved.release.clone(),
            charge: told.saved.cost.charge,
            half_width: widths.map(|(low, high)| (high - low) / 2.0).fold(0.0, f64::max),
            fresh_half_width: fresh.filter_map(|output| output.half_width).reduce(f64::max),
        })
    }

    fn answer_from(&self, question: &Question, told: Told) -> Result<Answer, Error> {
        let catalog = self.catalog();
        let mut notes = question.notes(catalog);
        notes.push(format!(
            "{}; --fresh asks the data",
            self.comparison(question, &told)?.words()
        ));
        let mut tables = Vec::new();
        let asked = question.split.aggregations.iter().take(question.visible);
        for (aggregation, estimates) in asked.zip(&told.parts) {
            let Selection::Listed(groups) = &aggregation.groups.selection else {
                continue;
            };
            let outputs = vec![estimates.clone(); aggregation.outputs.len()];
            tables.push(post::table(aggregation, groups, &outputs)?);
        }
        let session = self.engines().public()?;
        let finishing = post::finish(&question.split.post, tables, &session, catalog);
        let finished = self.runtime.block_on(finishing)?;
        let mut bounds = bounds(question, &catalog.unit.whose, &[]);
        let left_out = format!(
            "rows with a value that is in no cell of the release `{}` are left out",
            told.saved.release
        );
        for column in &mut bounds {
            column.interval_of = IntervalOf::BoundedData;
            column.interval_within_times = None;
            column.interval_if_alike = false;
            column.words = match column.left_out.is_empty() && column.clamps.is_empty() {
                true => left_out.clone(),
                false => format!("{}; {left_out}", column.words),
            };
            column.left_out.push(left_out.clone());
        }
        answer(finished, bounds, notes, Some(told.saved.cost), CONFIDENCE)
    }
}
