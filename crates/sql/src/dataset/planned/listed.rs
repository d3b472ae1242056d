//! Releases as they are listed: what the catalog says of each, and whether it was made.

use crate::catalog::PlannedRelease;
use crate::price::planned::DeclaredRelease;
use serde::Serialize;

/// A release that the catalog plans, before its noise is chosen.
#[derive(Clone, Debug, Serialize)]
pub struct ListedRelease {
    /// Its name in the catalog.
    pub name: String,
    /// The table of which rows are counted.
    pub table: String,
    /// Which rows count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What it may cost, as the catalog says it.
    pub price: String,
    /// What rows are told apart by.
    pub attributes: Vec<ListedAttribute>,
    /// How many tables it has.
    pub tables: u64,
    /// How many cells they have together.
    pub cells: u64,
    /// The charge that paid for it, if it was made.
    pub made_by_charge: Option<u64>,
    /// Why it cannot be planned, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What rows are told apart by.
#[derive(Clone, Debug, Serialize)]
pub struct ListedAttribute {
    /// Its name, which is also that of its finest level.
    pub name: String,
    /// The column that tells it.
    pub column: String,
    /// How many values it has.
    pub values: u64,
    /// Its levels, the finest first.
    pub levels: Vec<String>,
}

impl ListedRelease {
    /// What the catalog says.
    pub(crate) fn new(release: &PlannedRelease) -> Self {
        let attributes = release.attributes.iter().map(|attribute| ListedAttribute {
            name: attribute.name.clone(),
            column: attribute.column.clone(),
            values: attribute.cells.len() as u64,
            levels: vec![attribute.name.clone()],
        });
        Self {
            name: release.name.clone(),
            table: release.table.clone(),
            condition: release.condition.clone(),
            price: release.price.to_string(),
            attributes: attributes.collect(),
            tables: release.marginals.len() as u64,
            cells: 0,
            made_by_charge: None,
            problem: None,
        }
    }

    /// The same with what public tables say of levels.
    pub(crate) fn with_levels(mut self, declared: &DeclaredRelease) -> Self {
        let domain = &declared.domain;
        for (listed, attribute) in self.attributes.iter_mut().zip(domain.attributes()) {
            let levels = attribute.levels().iter();
            listed.levels = levels.map(|level| level.name().to_owned()).collect();
        }
        let (tables, cells) = declared.size();
        self.tables = tables;
        self.cells = cells;
        self
    }
}
