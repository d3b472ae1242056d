//! Uniqueness and linkage: who is behind a row without a name?
//!
//! A table from which names were removed still has columns that others know: ZIP code, sex, birth date; films
//! rated and when. If such columns single a row out, any other table with the same columns and names puts a
//! name to it (Sweeney 2000; Narayanan and Shmatikov 2008). So there are two questions:
//!
//! ```text
//! Table ── Partition ──► Profile: how many rows are alone, in pairs, …      identifying_sets: which columns suffice
//! two tables ──► link: rows that match one row only                         Ratings::best: the record that stands out
//! ```
//!
//! Columns are coded as integers once. After that a set of columns is a partition of the rows. One more
//! column refines it in time proportional to the rows that are not alone yet (stripped partitions, as in
//! TANE: Huhtala, Kärkkäinen, Porkka and Toivonen 1999).
//! ```
//! use attack::linkage::{Partition, Table, link};
//!
//! // Three patients without names, then three voters with: ZIP code, birth year, sex.
//! let table = Table::of_codes([
//!     ("zip", vec![1, 1, 2, 1, 2, 2]),
//!     ("born", vec![80, 81, 80, 80, 80, 80]),
//!     ("sex", vec![0, 0, 1, 0, 1, 1]),
//! ]);
//! let links = link(&table, 3);
//! assert_eq!(links.pairs, [(0, 0)], "the first patient is the first voter, and nobody else");
//! assert_eq!((links.unmatched, links.several), (1, 1));
//! assert_eq!(Partition::of(&table, &[0, 1, 2]).alone(), 1);
//! ```

mod join;
mod partition;
mod ratings;
mod released;
mod search;
mod sheets;
mod synthetic;
mod table;

pub use join::{Judged, Links, judge, link};
pub use partition::{Partition, Profile};
pub use ratings::{Candidate, Matched, Matching, Rating, Ratings, Reviewer, matched};
pub use released::{Shown, shown_groups, shown_probability};
pub use search::{Identifying, identifying_sets};
pub use sheets::{LinkColumns, RatingFile, RatingFiles, TwoTables, each_once, read_table};
pub use synthetic::{Census, Reviews, census, reviews};
pub use table::Table;
