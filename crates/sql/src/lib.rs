//! Private SQL: whose rows, which bounds, what it costs, and only then an answer.
//!
//! ```text
//! SQL ─ dialect ─► plan ─ frontier ─► rows with owners (relation) ─► statistics (aggregation) ─ price ─► ledger
//!                           │                                                                            │ charged
//!                           │        engine: bound, exact integers ◄─────────────────────────────────────┘
//!                           │           └─► release (noise) ─► estimate (intervals)
//!                           └─ post: HAVING, ORDER BY, arithmetic ◄──┘          └─► answer
//! ```
//!
//! Everything left of the engine depends on the query and the catalog alone: whether a query is accepted, what it costs, how far off it may be.
//! The engine sees a plain relational plan whose expressions are total. What it returns is private until `release` has added noise to it.

mod aggregation;
mod answer;
pub mod blocking;
mod bounds;
pub mod catalog;
mod cut;
mod dataset;
mod description;
mod dialect;
mod engine;
mod engines;
mod error;
mod estimate;
mod examples;
mod explain;
mod expression;
mod facts;
mod fingerprint;
mod forecast;
mod frontier;
mod group_name;
mod grouping_sets;
mod mistakes;
#[cfg(test)]
mod mutants;
mod planner;
mod post;
mod price;
mod publics;
mod question;
mod reference;
mod relation;
mod release;
mod same;
pub mod sample;
mod saved;
mod scalar;
pub mod sources;
mod spelling;
mod steps;
#[cfg(test)]
mod tests;
mod tuning;
mod wanted_error;

/// The engine's Arrow, for tables in memory.
pub use datafusion::arrow;

pub use answer::{Answer, AnswerColumn, Cell, CellKind, Cost};
pub use blocking::{Answered, Stage, public_file_examples};
pub use bounds::{Clamp, ColumnBounds, IntervalOf};
pub use catalog::Catalog;
pub use cut::{CutEstimate, Share};
pub use dataset::Dataset;
pub use error::{Error, OverBudget};
pub use examples::{Coding, Encoding, Examples, LeftOut, Texts, encoding, left_out};
pub use explain::{Explanation, OutputLine, Part, StatisticLine};
pub use expression::allowed_functions;
pub use facts::{Facts, Kind, Range, Value};
pub use fingerprint::{Fingerprints, State};
pub use forecast::{AnsweredFor, Forecast, MOST_QUESTIONS, cost_of, largest_fitting};
pub use question::Ask;
pub use reference::reference;
pub use tuning::{Between, FindLimits, FoundLimits, Profile, Untuned, with_limits, without_found_bounds};
pub use wanted_error::WantedError;
