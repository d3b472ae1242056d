//! Queries from end to end: parsed, priced, charged, run, noised and answered.

mod afterwards;
mod answers;
mod arithmetic;
mod budgets;
mod chosen;
mod concurrent;
mod grouping;
mod harness;
mod intervals;
mod limits;
mod quantities;
mod questions;
mod ranges;
mod refusals;
mod simulated;
mod slt;
mod together;
mod words;
