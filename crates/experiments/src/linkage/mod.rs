//! To whom do rows without names belong? Which rows columns single out, which rows two tables share, and
//! ratings matched to public reviews. Beside each stands what a release with differential privacy allows.

mod judged;
mod pair;
mod reviews;
mod synthetic;
mod uniqueness;

pub use judged::Beside;
pub use pair::linked;
pub use reviews::rated;
pub use synthetic::Synthetic;
pub use uniqueness::{Search, Uniqueness};
