//! CSV files as columns of text.
//!
//! Reading text is what a question about a CSV file waits for, and everything around it in the engine is plans. So it is a crate of its own: small, and built
//! with all optimisation, while the rest is built fast.

mod ahead;
mod columns;
mod format;
mod record;
mod records;

pub use columns::{Cells, Columns};
pub use format::{Encoding, Format};
pub use record::{LONGEST, Record};
pub use records::Records;
