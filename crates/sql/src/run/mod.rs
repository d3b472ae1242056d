//! Where private rows are read: the exact integers of a question, bounded unit by unit. What comes out is private until `finish::release` has added noise to it.

pub(crate) mod engine;
pub(crate) mod engines;
pub(crate) mod exact;
pub(crate) mod facts;
pub(crate) mod local;
pub(crate) mod measured;
mod on_workers;
pub(crate) mod publics;
mod pushdown;
pub(crate) mod scans;
pub(crate) mod tabulated;
pub(crate) mod workers;

#[cfg(test)]
pub(crate) use pushdown::{float_on_grid as pushdown_float_on_grid, normal_text as pushdown_normal_text};
