//! The only boundary from sensitive to public.
//!
//! Most privacy bugs are not in the noise. They are a value that was printed on the way, a sensitivity that belonged to another query,
//! a budget that was checked after the answer was made, a retry that was not charged. This crate makes those hard to write:
//!
//! - private data is a [`Sensitive`], which cannot be printed, compared, serialized or taken apart outside this crate;
//! - it becomes releasable only as an [`Aggregate`], which carries its [`Sensitivity`], its [`Grid`](noise::Grid) and its privacy unit, so noise
//!   cannot be scaled for other data;
//! - a [`Mechanism`] draws only with a [`Permit`], and a permit exists only after a [`Ledger`] took the [`Charge`];
//! - what comes out is a [`Release`]: value, accuracy, receipt. Mapping it is post-processing, and free.
//!
//! ```
//! use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
//! use mechanism::{Account, Aggregate, MemoryLedger, Sensitive};
//!
//! let person = PrivacyUnit::new("person", Neighbors::AddRemove);
//! let budget = Budget::new(Promise::Pure(Epsilon::parse("1")?), person.clone());
//! let mut account = Account::open(MemoryLedger::new(budget))?;
//!
//! let smokers = Sensitive::new(vec![true, false, true, true]);
//! let count = Aggregate::count(&smokers, person);
//! let request = count.laplace(Epsilon::parse("0.5")?)?.for_purpose("smokers");
//! let release = account.release(request)?;
//! let (low, high) = release.interval(0.95).expect("Laplace noise has an interval");
//! assert!(low < high);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A mechanism here is a claim with a proof: the `# Privacy` section on its type, which `cargo xtask claims` insists on.

mod account;
mod accuracy;
mod adaptive;
mod aggregate;
mod column;
mod contest;
mod error;
mod exponential;
mod gaussian;
mod laplace;
mod ledger;
mod local_hashing;
mod multiplier;
mod noisy_max;
mod permute_and_flip;
mod planned;
mod propose_test_release;
mod quantile;
mod questionnaire;
mod randomized_response;
mod release;
mod request;
mod reservation;
mod sensitive;
mod sensitivity;
mod series;
mod smooth;
mod sparse_vector;
mod survey;
mod terms;
mod threshold;
mod training;
#[cfg(test)]
mod trial;
mod unary;
mod unlimited;
mod wide_laplace;

pub use account::{Account, MECHANISMS, Mechanism, Permit, Stated};
pub use accuracy::Accuracy;
pub use adaptive::{
    AdaptiveTables, Asking, Candidate, Expected, MOST_ROUNDS, Round, RoundResult, Rounds, STEPS_PER_ROW,
    Strategy,
};
pub use aggregate::{Aggregate, Points};
pub use column::{Bounds, Column};
pub use error::Error;
pub use exponential::ExponentialMechanism;
pub use gaussian::{Gaussian, GaussianOnIntegers};
pub use laplace::Laplace;
pub use ledger::{Charge, Ledger, MemoryLedger, Receipt, Refusal};
pub use local_hashing::{HashedReport, LocalHashing};
pub use multiplier::SquaredMultiplier;
pub use noisy_max::NoisyMax;
pub use permute_and_flip::PermuteAndFlip;
pub use planned::{Cells, PlannedAttribute, PlannedPart, PlannedSet, PlannedTables};
pub use propose_test_release::ProposeTestRelease;
pub use quantile::{Quantile, Quantiles};
pub use questionnaire::{
    LocalMechanism, LocalNoise, Questionnaire, SurveyReports, release_answers, respondent,
};
pub use randomized_response::RandomizedResponse;
pub use release::Release;
pub use request::Request;
pub use reservation::{Reservation, Ticket};
pub use sensitive::Sensitive;
pub use sensitivity::Sensitivity;
pub use series::{Participation, RunningTotals, SavedSeries, Series};
pub use smooth::SmoothMedian;
pub use sparse_vector::{AboveThreshold, ThresholdSession};
pub use survey::{Estimate, Frequencies};
pub use terms::Terms;
pub use threshold::{GaussianThreshold, GroupName, LaplaceThreshold, OptimalThreshold};
pub use training::{Fingerprint, SampledGaussian, Sampling, SavedTraining, Step, Summed, Training};
pub use unary::{BitReports, UnaryEncoding};
pub use unlimited::UnlimitedLedger;
