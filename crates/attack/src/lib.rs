//! What an adversary learns from a release.
//!
//! People believe in differential privacy when they see what happens without it. Every attack here reads what
//! was published and nothing else. It shows what it recovered beside the most that (ε, δ) would allow. It
//! runs on synthetic data with a known truth or on a user's own data.

pub mod averaging;
pub mod bits;
pub mod blocks;
pub mod bound;
pub mod csv_file;
mod documents;
mod error;
pub mod linear;
pub mod linkage;
pub mod membership;
pub mod memorization;
mod parallel;
mod patience;
pub mod published;
pub mod rows;

pub use error::Error;
pub use noise::Seeded;
pub use parallel::Watch;
pub use patience::Patience;
