//! Numbers that agree: sums over a hierarchy, whole numbers of at least 0, intervals that hold for all cells at once.
//!
//! What was measured is unbiased, and does not add up: the noisy total of a region is not the sum of the noisy totals of its districts. Two files follow from it, for nothing, and both are published:
//!
//! - *measurements* with an interval each, from which everybody can compute sums, ratios and tests without a bias;
//! - *consistent tables*: estimates that add up and are more exact ([`Fit`]), as whole numbers that are not negative ([`top_down`], and [`whole_table`] where there is no hierarchy). These have a bias, which
//!   [`bias_by_size`] estimates from what was released alone.
//!
//! [`JointIntervals`] hold for all cells of a release together. An [`Invariant`] is a total that is exact because it was published without noise; a guarantee beside one is [`Conditional`], and says so.

mod bias;
mod fit;
mod full;
mod invariant;
mod joint;
mod split;
#[cfg(test)]
mod tests;
mod tree;
mod whole;

pub use bias::{Bias, bias_by_size};
pub use fit::Fit;
pub use full::{Margin, whole_table};
pub use invariant::{Conditional, Invariant};
pub use joint::{JointIntervals, simulated_maximum};
pub use split::{LevelPlan, planned_shares, variances_of};
pub use tree::Tree;
pub use whole::{root, split, top_down, top_down_under};
