//! What was released for synthetic rows: noisy counts, from which all rows follow.

use super::SyntheticRows;
use crate::Error;
use crate::finish::answer::Cost;
use crate::price::synthetic::{RowsPlan, field, refused};
use crate::values::facts::{Kind, Value};
use accounting::{Delta, Epsilon, PrivacyUnit};
use ledger::{Left, Receipt};
use serde::{Deserialize, Serialize};
use synthesis::{Field, Release, Report};

/// A release as the ledger keeps it. How its codes are decoded follows from the request, which the digest is of.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedRows {
    pub(crate) table: String,
    pub(crate) condition: Option<String>,
    pub(crate) unit: String,
    pub(crate) rows_per_unit: u64,
    pub(crate) cost: Cost,
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: Delta,
    pub(crate) release: Release,
}

impl SavedRows {
    pub(crate) fn new(plan: &RowsPlan, release: Release, cost: Cost, unit: &PrivacyUnit) -> Self {
        Self {
            table: plan.declared.release.table.clone(),
            condition: plan.declared.release.condition.clone(),
            unit: unit.whose.clone(),
            rows_per_unit: plan.tabulation.rows,
            cost,
            epsilon: plan.declared.epsilon.clone(),
            delta: plan.declared.delta.clone(),
            release,
        }
    }
}

/// A column of rows: its name and kind, and how its codes are decoded.
#[derive(Clone, Debug)]
pub(crate) struct Decoding {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) field: Field,
    pub(crate) values: Vec<Value>,
}

/// What was released. All of it is public: rows, as many as wanted and as often as wanted, cost nothing more.
#[derive(Clone, Debug)]
pub struct SyntheticRelease {
    /// The private table.
    pub table: String,
    /// Which rows counted.
    pub condition: Option<String>,
    /// Whose privacy.
    pub unit: String,
    /// How many rows of a unit counted.
    pub rows_per_unit: u64,
    /// What was charged for all of it.
    pub cost: Cost,
    /// The ε of the charge, at this δ.
    pub epsilon: Epsilon,
    /// The δ for which ε holds.
    pub delta: Delta,
    /// Whether the same was released before, so that it cost nothing now.
    pub repeated: bool,
    /// Whether an earlier charge paid for it, whose run was interrupted before it was saved.
    pub resumed: bool,
    /// What may still be spent by who asked.
    pub left: Left,
    /// What was charged and released, signed; `None` where there is no place for a key.
    pub receipt: Option<Receipt>,
    /// Columns of which no rows are made, each with the reason.
    pub left_out: Vec<(String, &'static str)>,
    /// Declared rules that no row breaks.
    pub impossible: Vec<String>,
    release: Release,
    columns: Vec<Decoding>,
}

impl SyntheticRelease {
    pub(crate) fn new(
        saved: SavedRows,
        plan: &RowsPlan,
        (repeated, resumed): (bool, bool),
        left: Left,
        receipt: Option<Receipt>,
    ) -> Self {
        let columns = plan.declared.release.attributes.iter().map(|attribute| {
            let (field, values) = field(attribute);
            Decoding {
                name: attribute.name.clone(),
                kind: attribute.kind,
                field,
                values,
            }
        });
        Self {
            table: saved.table,
            condition: saved.condition,
            unit: saved.unit,
            rows_per_unit: saved.rows_per_unit,
            cost: saved.cost,
            epsilon: saved.epsilon,
            delta: saved.delta,
            repeated,
            resumed,
            left,
            receipt,
            left_out: plan.declared.left_out.clone(),
            impossible: plan.declared.kept.clone(),
            release: saved.release,
            columns: columns.collect(),
        }
    }

    /// What was measured and chosen.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// So many rows, with a report of how they compare with what was measured; as many as there seem to be, where nothing is said. The same release gives the same rows.
    ///
    /// # Errors
    /// When what was saved is not of its columns.
    pub fn rows(&self, count: Option<usize>) -> Result<SyntheticRows, Error> {
        self.rows_at_most(count, usize::MAX)
    }

    /// The same, and no more than so many cells of all columns together.
    ///
    /// # Errors
    /// As [`SyntheticRelease::rows`].
    pub fn rows_at_most(&self, count: Option<usize>, cells: usize) -> Result<SyntheticRows, Error> {
        let model = self.release.model().map_err(refused)?;
        let count = count.unwrap_or(model.total().round() as usize);
        let count = count.min(cells / self.columns.len().max(1));
        let seed = self.release.seed();
        let codes = model.rows(count, seed);
        let report = Report::new(&self.release, &model, &codes);
        Ok(SyntheticRows::new(&self.columns, &codes, seed, report))
    }

    /// One line with whose privacy was kept how, and what paid for it.
    pub fn header(&self) -> String {
        let receipt = match &self.receipt {
            Some(_) => format!("receipt of charge {}", self.cost.charge),
            None => format!("charge {}", self.cost.charge),
        };
        format!(
            "synthetic rows of {}: ε = {}, δ = {} for each {}; {receipt}",
            self.table, self.epsilon, self.delta, self.unit,
        )
    }

    /// Everything but the rows, for programs.
    pub fn to_json(&self, report: &Report) -> serde_json::Value {
        let left_out: serde_json::Map<String, serde_json::Value> = self
            .left_out
            .iter()
            .map(|(name, reason)| (name.clone(), (*reason).into()))
            .collect();
        serde_json::json!({
            "table": self.table,
            "condition": self.condition,
            "unit": self.unit,
            "rows_per_unit": self.rows_per_unit,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "guarantee": self.cost.guarantee.to_string(),
            "cost": self.cost,
            "repeated": self.repeated,
            "resumed": self.resumed,
            "left_out": left_out,
            "impossible": self.impossible,
            "report": report,
            "release": self.release,
            "receipt": self.receipt,
            "left": { "epsilon": self.left.epsilon },
        })
    }
}
