//! Planned releases: many tables that are measured together, from one charge.
//!
//! A curator declares which attributes of a table count, with all values that each can have, and which tables of them (*marginals*) are wanted. All of it is public, so what is measured, what it
//! costs and how far off it will be is known before a row is read.

mod attribute;
mod cells;
mod columns;
mod read;

pub(super) use attribute::text_of;
pub use attribute::{Attribute, Cells, Hierarchy, Label};
pub(crate) use columns::{ChosenColumns, of_columns};
pub(super) use read::{Known, releases};

use accounting::{Delta, Epsilon, Rho};
use exact::Rational;
use std::fmt;

/// More attributes than this are not planned together.
pub(crate) const MOST_ATTRIBUTES: usize = 200;

/// A release that is planned in the catalog.
#[derive(Clone, Debug)]
pub struct PlannedRelease {
    /// Its name.
    pub name: String,
    /// The private table that it counts rows of, by name in lower case.
    pub table: String,
    /// Only rows that fulfil this SQL condition count.
    pub condition: Option<String>,
    /// What rows are told apart by, in the order of the catalog.
    pub attributes: Vec<Attribute>,
    /// The tables that are wanted: which attributes each is by, as places in `attributes` in ascending order. Each is there once.
    pub marginals: Vec<Marginal>,
    /// What is made small.
    pub objective: Objective,
    /// What it may cost.
    pub price: ReleasePrice,
    /// How many rows of one unit count in all cells together, where the table does not promise that a unit has one.
    pub rows: Option<u64>,
}

/// One table of a release.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginal {
    /// The attributes that it is by, as places, in ascending order. None: the total.
    pub attributes: Vec<usize>,
    /// How much its error counts beside those of the others.
    pub weight: Rational,
}

/// What the plan makes as small as it can for its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The weighted sum of the variances of all cells.
    Sum,
    /// The largest variance of any cell.
    Worst,
}

/// What a release may cost.
#[derive(Clone, Debug, PartialEq)]
pub enum ReleasePrice {
    /// This ε, for this δ.
    Approximate(Epsilon, Delta),
    /// This ρ of zero-concentrated differential privacy, reported as ε for this δ.
    Concentrated(Rho, Delta),
}

impl fmt::Display for ReleasePrice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approximate(epsilon, delta) => write!(formatter, "ε = {epsilon}, δ = {delta}"),
            Self::Concentrated(rho, _) => write!(formatter, "ρ = {rho}"),
        }
    }
}

impl PlannedRelease {
    /// The names of a marginal's attributes, for people.
    pub fn name_of(&self, attributes: &[usize]) -> String {
        let names: Vec<&str> = attributes
            .iter()
            .filter_map(|place| self.attributes.get(*place))
            .map(|attribute| attribute.name.as_str())
            .collect();
        match names.is_empty() {
            true => "total".to_owned(),
            false => names.join(" × "),
        }
    }

    /// The marginal by these attributes, in whatever order they are named.
    pub fn marginal(&self, names: &[&str]) -> Option<&Marginal> {
        let mut places: Vec<usize> = Vec::new();
        for name in names {
            let is_meant = |attribute: &Attribute| attribute.name.eq_ignore_ascii_case(name.trim());
            places.push(self.attributes.iter().position(is_meant)?);
        }
        places.sort_unstable();
        places.dedup();
        self.marginals
            .iter()
            .find(|marginal| marginal.attributes == places)
    }

    /// How many cells a table by these attributes has; `None` where it is more than a number can hold.
    pub fn cells_of(&self, attributes: &[usize]) -> Option<u64> {
        attributes.iter().try_fold(1u64, |cells, place| {
            cells.checked_mul(self.attributes.get(*place)?.cells.len() as u64)
        })
    }
}
