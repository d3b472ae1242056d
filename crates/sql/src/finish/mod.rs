//! From exact integers to an answer: noise (`release`, `together`), values and intervals (`estimate`, `cut`), what the query does with them (`post`), and what is saved.

pub(crate) mod answer;
pub(crate) mod cell;
pub(crate) mod cut;
pub(crate) mod estimate;
pub(crate) mod formats;
pub(crate) mod post;
pub(crate) mod release;
pub(crate) mod saved;
pub(crate) mod together;
