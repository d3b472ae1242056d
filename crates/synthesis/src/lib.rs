//! Rows that look like a private table and are safe to hand out.
//!
//! Tables of counts are measured with noise, and rows are drawn from a distribution that fits what was measured. Which tables are worth measuring is found out on the way: in each round the one that is
//! fitted worst is chosen, privately, and measured. What it may cost in all is one charge that is made before; what is not needed of it stays unspent.
//!
//! - [`Wanted`] says which tables matter, [`Method`] how they are found: [`Method::Independent`], [`Method::Mst`] or [`Method::Aim`].
//! - [`Impossible`] says which rows cannot be. None is ever made, and saying so costs nothing.
//! - [`Plan`] is what runs, before anything is charged. It knows the declared domain and no data.
//! - [`Release`] is what leaves: noisy counts and choices. Everything after is free: a [`Model`], rows of it, as many as wanted, the same again from the same release, and a [`Report`] that compares them
//!   with what was measured.
//! - [`Check`] spends more for a private score: how far rows are from the data, on tables that were not measured.
//! - [`Field`] turns codes into values: those that are listed, or some value of a declared bin.
//!
//! The mechanism, with its proof, is [`mechanism::AdaptiveTables`]. It runs the rounds, counts rows, draws noise and sees to it that no more is spent than was charged. What is here decides what it is asked, from what
//! it released; so a defect here costs accuracy and never privacy.

mod check;
mod decode;
mod error;
mod impossible;
mod methods;
mod model;
mod plan;
mod release;
mod report;

pub use check::{Check, CheckReport, CheckedTable, Estimated};
pub use decode::{Decoded, Field};
pub use error::Error;
pub use impossible::{CodesOf, Impossible};
pub use model::Model;
pub use plan::{Method, Plan, Settings, Wanted, rho_for};
pub use release::Release;
pub use report::{Connection, MeasuredTable, PairReport, Report, Standing, UnlikelyTable};
