//! What values are: their kinds and facts, the grids that sums are counted on, names of groups as bytes, and functions of SQL that the engine lacks.

pub(crate) mod facts;
pub(crate) mod group_name;
pub(crate) mod scalar;
pub(crate) mod steps;
