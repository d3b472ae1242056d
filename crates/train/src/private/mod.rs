//! Private training: planned, charged, clipped and noised.
//!
//! ```text
//! Parameters ─ certified ε ─► TrainingPlan ─ mechanism ─► Account::begin_training ─ durable charge ─► Training
//!                                                                                                │ a step: which units
//!   examples ─► model: backward, norms ─► clip, sum (summation) ─► integers on a grid ──────────►│ exact noise
//!                                                                                                ▼
//!   parameters ◄─ optimizer ◄─ divided by a public number ◄──────────────────────────────── noised sum: public
//! ```
//!
//! What one unit can do to a sum is decided in `summation` (with `cut`, and `row_by_row` for tables), what that costs in `plan`, and both are read from one [`TrainingPlan`]. The noise is made behind the privacy boundary, in the crate `mechanism`.

mod canary;
mod checkpoint;
mod cut;
mod data;
mod grid_sum;
mod plan;
mod receipt;
mod row_by_row;
mod summation;
mod task;
#[cfg(test)]
mod tests;
mod trainer;
mod units;

pub use canary::{CanaryAudit, CanaryView, Defect};
pub use checkpoint::Checkpoint;
pub use data::PrivateData;
pub use plan::{Clip, Parameters, Summation, TrainingPlan};
pub use receipt::{ModelReceipt, SavedModel};
pub use task::{Recipe, Saving, Task};
pub use trainer::{Ended, Progress, Trainer};
pub use units::{Dataset, Examples, PerUnit, Units};
