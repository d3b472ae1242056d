//! The people behind published numbers: what a table of counts, medians and means allows, and what the
//! margins of a block allow. Beside each stands the same release with differential privacy.

pub mod block;
pub mod table;
