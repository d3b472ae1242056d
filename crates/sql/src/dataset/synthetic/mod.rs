//! Synthetic rows: what they will be made of, and what was released.

mod check;
mod compared;
mod made;
mod rows;

pub(crate) use check::SavedCheck;
pub use check::{CheckRequest, SyntheticCheck};
pub(crate) use made::SavedRows;
pub use made::SyntheticRelease;
pub use rows::{SyntheticColumn, SyntheticRows, batches_of_parquet, rows_as_json};

use crate::Error;
use crate::catalog::Catalog;
use crate::dataset::readable::readable;
use crate::price::synthetic::{DeclaredRows, RowsPlan, WantedRows};
use accounting::{Delta, Epsilon, Guarantee};
use report::{grouped, significant};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use synthesis::Method;

/// The cells of a model, where nothing else is said.
pub const MODEL_CELLS: u64 = 200_000;

/// Which rows are to be made, and by whom.
#[derive(Clone, Debug)]
pub struct SynthesisRequest {
    /// The private table.
    pub table: String,
    /// Only rows that fulfil this SQL condition count.
    pub condition: Option<String>,
    /// Its columns; none for all that have declared values or bounds.
    pub columns: Vec<String>,
    /// How many bins of equal width some columns of numbers have.
    pub bins: BTreeMap<String, u32>,
    /// Tables that matter, each by some columns; none for all by three.
    pub workload: Vec<Vec<String>>,
    /// How tables are chosen.
    pub method: Method,
    /// How many cells the model may have.
    pub model_cells: u64,
    /// How many rows of one unit count.
    pub rows_per_unit: Option<u64>,
    /// What it may cost, in place of what the catalog says of a query.
    pub epsilon: Option<Epsilon>,
    /// The δ for it, in place of what the catalog says of a query.
    pub delta: Option<Delta>,
    /// Who asks.
    pub analyst: String,
    /// Limits of the account that asks, beside the budget and its share.
    pub caps: ledger::Caps,
    /// The request, where it is to be charged once however often it is sent.
    pub once: Option<ledger::Once>,
}

impl SynthesisRequest {
    /// Rows of a table as the catalog declares it, asked for by `analyst`.
    pub fn new(table: impl Into<String>, analyst: impl Into<String>) -> Self {
        Self {
            table: table.into(),
            condition: None,
            columns: Vec::new(),
            bins: BTreeMap::new(),
            workload: Vec::new(),
            method: Method::default(),
            model_cells: MODEL_CELLS,
            rows_per_unit: None,
            epsilon: None,
            delta: None,
            analyst: analyst.into(),
            caps: ledger::Caps::default(),
            once: None,
        }
    }

    pub(crate) fn declared(&self, catalog: &Catalog) -> Result<DeclaredRows, Error> {
        let wanted = WantedRows {
            table: &self.table,
            condition: self.condition.as_deref(),
            columns: &self.columns,
            bins: &self.bins,
            wanted: &self.workload,
            method: self.method,
            cells: self.model_cells,
            rows: self.rows_per_unit,
            epsilon: self.epsilon.as_ref(),
            delta: self.delta.as_ref(),
        };
        DeclaredRows::new(&wanted, catalog)
    }
}

/// What rows will be made of, and what they cost. Follows from the catalog and the request alone.
#[derive(Clone, Debug, Serialize)]
pub struct SynthesisExplanation {
    /// The private table.
    pub table: String,
    /// Which rows count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// How tables are chosen.
    pub method: Method,
    /// Whose privacy.
    pub unit: String,
    /// How many rows of a unit count.
    pub rows_per_unit: u64,
    /// What all rounds together may cost.
    #[serde(serialize_with = "in_words")]
    pub guarantee: Guarantee,
    /// The ε of it, at this δ.
    pub epsilon: Epsilon,
    /// The δ for which ε holds.
    pub delta: Delta,
    /// The columns, each with its cells.
    pub columns: Vec<ColumnCells>,
    /// Columns of which no rows are made, each with the reason.
    pub left_out: Vec<LeftOutColumn>,
    /// Declared rules that no row breaks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub impossible: Vec<String>,
    /// Declared rules that name a column which is not in the rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub impossible_elsewhere: Vec<String>,
    /// How many tables matter.
    pub workload: usize,
    /// How many cells the model may have.
    pub model_cells: u64,
    /// The standard deviation of the noise on counts by one column, which are measured first.
    pub first_deviation: f64,
}

/// A column that rows are made with.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnCells {
    /// Its name.
    pub name: String,
    /// How many cells its values fall into, NULL among them.
    pub cells: usize,
    /// The first and the last of them, as people write them.
    pub from: String,
    /// The last that is not NULL.
    pub to: String,
    /// Whether each cell is one value, or else some value of a bin is drawn.
    pub exact: bool,
    /// Whether NULL is among the cells.
    pub null: bool,
}

/// A column of which no rows are made.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOutColumn {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: &'static str,
}

fn in_words<S: serde::Serializer>(guarantee: &Guarantee, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&guarantee.to_string())
}

/// Explains a plan. Reads nothing.
pub(crate) fn explain(plan: &RowsPlan, catalog: &Catalog) -> Result<SynthesisExplanation, Error> {
    let release = &plan.declared.release;
    let columns = release.attributes.iter().map(|attribute| {
        let labels = attribute.cells.labels();
        let null = attribute.cells.null().is_some();
        let last = labels.len().saturating_sub(1 + usize::from(null));
        let text = |place: usize| {
            labels
                .get(place)
                .map_or(String::new(), |label| label.text.clone())
        };
        ColumnCells {
            name: attribute.name.clone(),
            cells: labels.len(),
            from: text(0),
            to: text(last),
            exact: attribute.cells.listed().is_some(),
            null,
        }
    });
    let left_out = plan.declared.left_out.iter();
    Ok(SynthesisExplanation {
        table: release.table.clone(),
        condition: release.condition.clone(),
        method: plan.plan.settings().method,
        unit: catalog.unit.whose.clone(),
        rows_per_unit: plan.tabulation.rows,
        guarantee: plan.charge(&catalog.unit)?.guarantee,
        epsilon: plan.declared.epsilon.clone(),
        delta: plan.declared.delta.clone(),
        columns: columns.collect(),
        left_out: left_out
            .map(|(name, reason)| LeftOutColumn {
                name: name.clone(),
                reason,
            })
            .collect(),
        impossible: plan.declared.kept.clone(),
        impossible_elsewhere: plan.declared.not_kept.clone(),
        workload: plan.plan.settings().wanted.len(),
        model_cells: plan.plan.settings().cells,
        first_deviation: plan.plan.first_deviation(),
    })
}

/// What a method does, for people.
pub(crate) fn in_a_sentence(method: Method) -> &'static str {
    match method {
        Method::Independent => "each column alone: rows whose columns have nothing to do with each other",
        Method::Mst => {
            "each column alone, then the pairs of a tree over all columns, chosen by how much they depend on each other"
        }
        Method::Aim => "each column alone, then round by round the table that is fitted worst",
    }
}

impl SynthesisExplanation {
    /// As people read it.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let condition = self.condition.as_deref();
        let condition = condition.map_or(String::new(), |condition| format!(" WHERE {condition}"));
        let _ = writeln!(
            text,
            "synthetic rows of {}{condition}, from one charge",
            self.table
        );
        let _ = writeln!(
            text,
            "cost: ε = {}, δ = {} ({})",
            self.epsilon,
            self.delta,
            readable(&self.guarantee)
        );
        let _ = match self.rows_per_unit {
            1 => writeln!(text, "each {} counts with one row", self.unit),
            rows => writeln!(
                text,
                "each {} counts with at most {rows} rows, drawn at random",
                self.unit
            ),
        };
        let _ = writeln!(text, "measured: {}", in_a_sentence(self.method));
        let _ = writeln!(
            text,
            "first, counts by each column get noise of deviation {}\n\ncolumns:",
            significant(self.first_deviation, 3)
        );
        for column in &self.columns {
            let kind = if column.exact {
                "values"
            } else {
                "bins, any value of a bin is as likely"
            };
            let null = if column.null { ", and NULL" } else { "" };
            let _ = writeln!(
                text,
                "  {}: {} cells, {} to {}{null} ({kind})",
                column.name,
                grouped(column.cells as u64),
                column.from,
                column.to
            );
        }
        if !self.left_out.is_empty() {
            text.push_str("not in the rows:\n");
            for column in &self.left_out {
                let _ = writeln!(text, "  {}: {}", column.name, column.reason);
            }
        }
        for (title, rules) in [
            ("never in the rows, as declared:", &self.impossible),
            (
                "declared impossible, but with a column that is not in the rows:",
                &self.impossible_elsewhere,
            ),
        ] {
            if !rules.is_empty() {
                let _ = writeln!(text, "{title}");
            }
            for rule in rules {
                let _ = writeln!(text, "  {rule}");
            }
        }
        text.push_str("a row with a value that is in no cell counts nowhere; cells come from the catalog, never from the data\n");
        text
    }
}
