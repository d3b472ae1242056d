//! Rebuilds people from a published table of counts, medians and means.
//!
//! A statistical agency publishes a [`Table`]: groups of people, and a few [`Statistic`]s of each group, some
//! of them suppressed. Every number is a constraint on the people behind it. [`reconstruct`] writes the
//! constraints as clauses for a SAT solver. The solver finds every set of people that the table allows, or
//! proves that there are no more. If one set is left, the table has published its people.
//!
//! ```text
//! Table ── encode ──► clauses ── solver ──► people ── checked against the table ──► Findings
//!                        ▲                    │
//!                        └── not these again ─┘      until none is left: a proof
//! ```
//!
//! What a printed number stands for:
//!
//! - A count is exact.
//! - A mean is rounded. It stands for every fraction that rounds to it: all within half a unit of its last
//!   decimal. Both ends are included, so ties may have been rounded up or to even, whichever the publisher
//!   does.
//! - The median of an even number of people is the mean of the two in the middle, which is a whole number or
//!   a half, printed exactly.
//! - A published median or mean says that its group is not empty.
//! - A suppressed number says nothing. (A publisher who says that suppressed counts are below three has
//!   published [`Statistic::Count`] from 0 to 2.)
//!
//! People are exchangeable: a solution is a multiset of records, found once, as the list of records in order.
//! ```
//! use attack::published::{Effort, census, reconstruct};
//!
//! // Seven people, from their counts, medians and means. Two solutions are looked for, and one is all there is.
//! let findings = reconstruct(&census(), &Effort::up_to(2))?;
//! assert!(findings.complete);
//! assert_eq!((findings.solutions.len(), findings.certain.len()), (1, 7));
//! # Ok::<(), attack::Error>(())
//! ```

mod census;
pub mod document;
mod encoding;
mod formula;
mod population;
mod private;
mod search;
mod solver;
mod table;

pub use census::{census, males_of_the_census};
pub use private::{Noisy, privately};
pub use search::{Cell, Conflict, Effort, Findings, Influence, conflict, enough, influence, reconstruct};
pub use solver::Engine;
pub use table::{Attribute, Condition, Domain, Group, Record, Rule, Statistic, StatisticKind, Table};
