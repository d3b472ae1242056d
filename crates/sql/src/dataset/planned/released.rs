//! What a release gave: measurements, and every table that follows from them.

use crate::Error;
use crate::dataset::readable::readable;
use crate::finish::answer::{Answer, AnswerColumn, Cell, CellKind, Cost};
use crate::finish::cell::CellValue;
use crate::finish::estimate::CONFIDENCE;
use crate::price::planned::{ReleasePlan, axis_name, name_of, refused};
use accounting::PrivacyUnit;
use ledger::{Left, Receipt};
use serde::{Deserialize, Serialize};
use tables::{Measurements, Shape};

/// What NULL is called among the values of an attribute.
const NULL: &str = "∅";

/// A release as the ledger keeps it.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedTables {
    pub(crate) release: String,
    pub(crate) table: String,
    pub(crate) condition: Option<String>,
    pub(crate) unit: String,
    pub(crate) rows_per_unit: u64,
    pub(crate) cost: Cost,
    pub(crate) measurements: Measurements,
}

impl SavedTables {
    pub(crate) fn new(
        plan: &ReleasePlan,
        measurements: Measurements,
        cost: Cost,
        unit: &PrivacyUnit,
    ) -> Self {
        Self {
            release: plan.declared.release.name.clone(),
            table: plan.declared.release.table.clone(),
            condition: plan.declared.release.condition.clone(),
            unit: unit.whose.clone(),
            rows_per_unit: plan.declared.tabulation.rows,
            cost,
            measurements,
        }
    }
}

/// A release that was made: all of it is public, and what follows from it costs nothing.
#[derive(Clone, Debug)]
pub struct ReleasedTables {
    /// Its name in the catalog.
    pub release: String,
    /// The table of which rows were counted.
    pub table: String,
    /// Which rows counted.
    pub condition: Option<String>,
    /// Whose privacy.
    pub unit: String,
    /// How many rows of a unit counted in all cells together.
    pub rows_per_unit: u64,
    /// What was charged for all of it.
    pub cost: Cost,
    /// Whether the same was released before, so that it cost nothing now.
    pub repeated: bool,
    /// Whether an earlier charge paid for it, whose run was interrupted before it was saved.
    pub resumed: bool,
    /// What may still be spent by who asked.
    pub left: Left,
    /// What was charged and released, signed; `None` where there is no place for a key.
    pub receipt: Option<Receipt>,
    measurements: Measurements,
}

impl ReleasedTables {
    pub(crate) fn new(
        saved: SavedTables,
        repeated: bool,
        resumed: bool,
        left: Left,
        receipt: Option<Receipt>,
    ) -> Self {
        Self {
            release: saved.release,
            table: saved.table,
            condition: saved.condition,
            unit: saved.unit,
            rows_per_unit: saved.rows_per_unit,
            cost: saved.cost,
            repeated,
            resumed,
            left,
            receipt,
            measurements: saved.measurements,
        }
    }

    /// What was measured: noisy integers, from which all tables follow.
    pub fn measurements(&self) -> &Measurements {
        &self.measurements
    }

    /// The names of its tables, in the order of the catalog.
    pub fn names(&self) -> Vec<String> {
        let shapes = self.measurements.wanted().iter();
        shapes
            .map(|shape| name_of(self.measurements.domain(), shape))
            .collect()
    }

    /// What each of its tables is by, in the order of the catalog.
    pub fn by(&self) -> Vec<Vec<String>> {
        let domain = self.measurements.domain();
        let names = |shape: &Shape| {
            let axes = shape.axes().iter();
            axes.map(|axis| axis_name(domain, *axis).to_owned()).collect()
        };
        self.measurements.wanted().iter().map(names).collect()
    }

    /// The table by these attributes, or levels of them, in any order: one of the release, or any that follows from it. No names: the total.
    ///
    /// # Errors
    /// When there is no such attribute, or what was measured does not tell this table.
    pub fn table(&self, by: &[&str]) -> Result<Answer, Error> {
        self.table_of(&self.shape_of(by)?)
    }

    /// Every table of the release, by its name, in the order of the catalog.
    ///
    /// # Errors
    /// When the saved measurements are not of this release.
    pub fn tables(&self) -> Result<Vec<(String, Answer)>, Error> {
        let domain = self.measurements.domain();
        let tables = self.measurements.tables();
        let named = tables.iter().map(|table| {
            let answer = self.shown(table);
            (name_of(domain, table.shape()), answer)
        });
        Ok(named.collect())
    }

    /// How many cells the table by these attributes has.
    ///
    /// # Errors
    /// When there is no such attribute.
    pub fn cells_of(&self, by: &[&str]) -> Result<u64, Error> {
        Ok(self.shape_of(by)?.cells(self.measurements.domain()))
    }

    /// How many numbers it is, as one object with everything: the cells of all its tables, and what was measured.
    pub fn size(&self) -> u64 {
        let domain = self.measurements.domain();
        let cells = self.measurements.wanted().iter().map(|shape| shape.cells(domain));
        let measured = self
            .measurements
            .values()
            .iter()
            .map(|values| values.len() as u64);
        cells.chain(measured).fold(0, u64::saturating_add)
    }

    fn shape_of(&self, by: &[&str]) -> Result<Shape, Error> {
        let domain = self.measurements.domain();
        let mut axes = Vec::new();
        for name in by {
            let found = domain
                .attributes()
                .iter()
                .enumerate()
                .find_map(|(place, attribute)| {
                    let mut levels = attribute.levels().iter();
                    let level = levels.position(|level| level.name().eq_ignore_ascii_case(name.trim()))?;
                    Some(tables::Axis::at(place, level))
                });
            let known = || {
                let names = domain
                    .attributes()
                    .iter()
                    .flat_map(|attribute| attribute.levels());
                let names: Vec<&str> = names.map(tables::Level::name).collect();
                names.join(", ")
            };
            axes.push(found.ok_or_else(|| {
                Error::refused(
                    format!(
                        "the release `{}` has no attribute `{}`",
                        self.release,
                        name.trim()
                    ),
                    format!("its tables are by {}", known()),
                )
            })?);
        }
        Shape::new(axes).map_err(refused)
    }

    pub(super) fn table_of(&self, shape: &Shape) -> Result<Answer, Error> {
        Ok(self.shown(&self.measurements.table(shape).map_err(refused)?))
    }

    /// A table as an answer: the values of its axes, and the count of each cell with its interval.
    fn shown(&self, table: &tables::Table) -> Answer {
        let domain = self.measurements.domain();
        let axes = table.shape().axes();
        let label = |name: &str| AnswerColumn {
            name: name.to_owned(),
            kind: CellKind::Text,
            noisy: false,
            chosen: false,
            no_interval: None,
        };
        let mut columns: Vec<AnswerColumn> =
            axes.iter().map(|axis| label(axis_name(domain, *axis))).collect();
        columns.push(AnswerColumn {
            kind: CellKind::Float,
            noisy: true,
            ..label("rows")
        });
        let labels: Vec<Option<&[String]>> = axes
            .iter()
            .map(|axis| {
                let attribute = &domain.attributes()[usize::from(axis.attribute)];
                attribute.levels()[usize::from(axis.level)].labels()
            })
            .collect();
        let rows = (0..table.values().len()).map(|place| {
            let cell = table.cell_at(place);
            let named = labels
                .iter()
                .zip(&cell)
                .map(|(labels, code)| named(*labels, *code));
            let estimate = table.estimate(place);
            let (low, high) = estimate.interval(CONFIDENCE);
            let count = Cell {
                value: CellValue::Float(estimate.value),
                low: Some(low),
                high: Some(high),
            };
            named.chain([count]).collect()
        });
        Answer {
            rows: rows.collect(),
            columns,
            confidence: CONFIDENCE,
            bounds: Vec::new(),
            cut: Vec::new(),
            notes: self.notes(),
            cost: Some(self.cost.clone()),
        }
    }

    fn notes(&self) -> Vec<String> {
        match self.rows_per_unit {
            1 => Vec::new(),
            rows => vec![format!(
                "each {} counts with at most {rows} rows in all cells together, drawn at random; intervals are about the rows that count",
                self.unit
            )],
        }
    }

    /// One line with whose privacy was kept how, and what paid for it, for files that hold nothing but numbers.
    pub fn header(&self) -> String {
        let receipt = match &self.receipt {
            Some(_) => format!("receipt of charge {}", self.cost.charge),
            None => format!("charge {}", self.cost.charge),
        };
        format!(
            "release {} of {}: {}; each {} counts with at most {} row{}; {receipt}",
            self.release,
            self.table,
            readable(&self.cost.guarantee),
            self.unit,
            self.rows_per_unit,
            if self.rows_per_unit == 1 { "" } else { "s" },
        )
    }
}

/// The value of an axis.
fn named(labels: Option<&[String]>, code: usize) -> Cell {
    let label = labels.and_then(|labels| labels.get(code));
    let value = match label {
        None => CellValue::Int(code as i64),
        Some(label) if label == NULL => CellValue::Null,
        Some(label) => CellValue::Text(label.clone()),
    };
    Cell {
        value,
        low: None,
        high: None,
    }
}
