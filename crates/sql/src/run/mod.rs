//! Where private rows are read: the exact integers of a question, bounded unit by unit. What comes out is private until `finish::release` has added noise to it.

pub(crate) mod engine;
pub(crate) mod engines;
pub(crate) mod publics;
pub(crate) mod scans;
