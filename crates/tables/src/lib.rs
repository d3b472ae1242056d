//! Planned releases: many tables from one charge, with the least noise, and numbers that agree.
//!
//! A statistical office publishes hundreds of tables of the same rows. Asked one by one, each table pays for its own noise, and the total of one
//! is not the total of another. Planned together they share measurements: the total is measured once, then what each attribute adds to it,
//! then what each pair adds to its attributes. These *residuals* do not overlap, so each table is put together from them, every number follows
//! from one set of measurements, and how much noise each gets is a small convex program with a solution in closed form.
//!
//! - [`Domain`] says which values there are: [`Attribute`]s with their values, and coarser levels of them.
//! - [`Workload`] says which tables are wanted: a [`Shape`] and a weight each, and what is to be small, the sum of variances or the worst cell.
//! - [`Plan`] says what is measured with how much noise, before anything is charged: what it costs, how exact each cell of each table will be,
//!   how much memory it takes. It knows no data.
//! - [`Cells`] is the private input: counts of rows by their values, within a limit of rows for each unit.
//! - [`Measurements`] is what leaves: noisy integers. Everything after is free: a [`Table`] of any shape that the measured ones cover, sums,
//!   ranges, and covariances of two sums, which is what ratios need.
//! - [`consistent`] makes numbers agree over hierarchies, as estimates and as whole numbers, with intervals that hold together.
//! - [`series`] is for tables that are released every month: running totals under one charge, and windows of them.
//!
//! The mechanisms themselves, with their proofs, are [`mechanism::PlannedTables`] and [`mechanism::RunningTotals`].

pub mod consistent;
mod covariance;
mod domain;
mod error;
mod measurements;
mod plan;
mod scheme;
pub mod series;
mod strategy;
mod table;
mod ways;
mod workload;

pub use domain::{Attribute, Domain, Level};
pub use error::Error;
pub use measurements::{Factors, Measurements};
pub use mechanism::Cells;
pub use plan::{Limits, Plan, Predicted, Share};
pub use table::{Estimate, Table, deviations};
pub use workload::{Axis, Form, Objective, Shape, Wanted, Weights, Workload};
