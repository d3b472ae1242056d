//! CSV files as columns of text. Nothing in a file can raise an error.
//! ```
//! use arrow_array::Array;
//! use files::csv::{Cells, Columns, Format, Record, Records};
//! use std::io::Cursor;
//!
//! let text = "person,age,city\n1, 34 ,\"Ash, Ford\"\n2,,Bree\n3";
//! let mut records = Records::new(Cursor::new(text), Format::COMMAS)?;
//! let mut header = Record::default();
//! assert!(records.next(&mut header)?);
//! assert_eq!((header.len(), header.field(1)), (3, Some("age")));
//!
//! // The rest as columns. What is empty or missing is NULL, and no row is an error.
//! records.limit(header.len());
//! let mut columns = Columns::new(records, [(1, Cells::Other), (2, Cells::Text)], Vec::new());
//! let (arrays, rows) = columns.batch(100)?.unwrap();
//! assert_eq!(rows, 3);
//! assert_eq!((arrays[0].value(0), arrays[0].null_count()), ("34", 2));
//! assert_eq!(arrays[1].value(0), "Ash, Ford");
//! assert!(columns.batch(100)?.is_none());
//! # Ok::<(), std::io::Error>(())
//! ```

mod ahead;
mod columns;
mod format;
mod record;
mod records;

pub use columns::{Cells, Columns};
pub use format::{Encoding, Format};
pub use record::{LONGEST, Record};
pub use records::Records;
