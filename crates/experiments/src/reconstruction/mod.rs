//! The people behind published numbers: those that a table of counts, medians and means allows, and those
//! that the margins of a block allow. Beside each stands the same release with differential privacy.

pub mod block;
pub mod table;
