//! Private SQL: whose rows, which bounds, what it costs, and only then an answer.
//!
//! A question walks through these modules once, and none of them knows a later one:
//!
//! ```text
//! values ─ catalog ─ understand ─► price ─► ledger ─► run ─────────────► finish ─────────────────► dataset
//! kinds,   what is   SQL, rows     ε and δ,  durable  sources, bounding:   noise, intervals, what     the entrance
//! grids    declared  with owners,  limits,   charge   exact integers       the query does with them,
//!                    statistics    cuts                per group            what is saved
//! ```
//!
//! Everything before `run` depends on the query and the catalog alone: whether a query is accepted, what it costs, how far off it may be. `sources`, which reads data,
//! stands between `price` and `run`, so that the earlier ones cannot read any. The engine sees a plain relational plan whose expressions are total; what it returns is private
//! until `finish::release` has added noise to it. `draft`, `tuning`, `sample` and `reference` are around questions. `cargo xtask arrows` checks the order.

pub mod catalog;
mod dataset;
pub mod draft;
mod error;
mod finish;
#[cfg(test)]
mod mutants;
mod price;
mod reference;
mod run;
pub mod sample;
pub mod sources;
#[cfg(test)]
mod tests;
mod tuning;
mod understand;
mod values;

/// How the tables are chosen that synthetic rows are made of, and how the rows compare with them.
pub use synthesis;

/// The engine's Arrow, for tables in memory.
pub use datafusion::arrow;

pub use catalog::Catalog;
pub use dataset::blocking::{self, Answered, FromRelease, KnownSizes, Stage, public_file_examples};
pub use dataset::{
    AnsweredFor, AskedTest, CheckRequest, Coding, ColumnCells, ComputedTwice, Dataset, Encoding, Examples,
    Explanation, Finding, Fingerprints, Forecast, Judgement, LeftOut, LeftOutColumn, ListedAttribute,
    ListedRelease, MODEL_CELLS, MOST_QUESTIONS, Movement, OutputLine, Part, Preview, Regressed,
    RegressionAsked, RegressionRequest, ReleaseExplanation, ReleaseRequest, ReleasedTables, ResidualShare,
    SetsLine, State, StatisticLine, SynthesisAsked, SynthesisExplanation, SynthesisRequest, SyntheticCheck,
    SyntheticColumn, SyntheticRelease, SyntheticRows, TableForecast, TestOf, Texts, Verification,
    VerifiedPlan, WantedError, WantedTableError, batches_of_parquet, bounds_in_words, cost_of, encoding,
    is_explain, keywords_for_options, largest_fitting, left_out, readable, rows_as_json, table_of_model,
};
pub use error::{Error, OverBudget};
pub use finish::answer::{Answer, AnswerColumn, Cell, CellKind, Cost};
pub use finish::cell::CellValue;
pub use finish::cut::{CutEstimate, Share};
pub use price::bounds::{Clamp, ColumnBounds, IntervalOf};
pub use price::question::QueryRequest;
pub use reference::{called_names, reference};
pub use regression::Family;
pub use run::workers::{WorkerOptions, serve_worker};
pub use tuning::{Between, FindLimits, FoundLimits, Profile, Untuned, with_limits, without_found_bounds};
pub use understand::dialect::canonical_sql;
pub use understand::expression::allowed_functions;
pub use values::facts::{Facts, Kind, Range, Value};
