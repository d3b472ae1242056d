//! CSV files as columns of text. Nothing in a file can raise an error.

mod ahead;
mod columns;
mod format;
mod record;
mod records;

pub use columns::{Cells, Columns};
pub use format::{Encoding, Format};
pub use record::{LONGEST, Record};
pub use records::Records;
