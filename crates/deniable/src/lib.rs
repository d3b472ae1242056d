//! Differential privacy that can be checked, as one library.
//!
//! Private data goes in, answers with error bars come out, and nothing leaves without a charge:
//!
#![cfg_attr(feature = "mechanism", doc = "```")]
#![cfg_attr(not(feature = "mechanism"), doc = "```ignore")]
//! use deniable::prelude::*;
//!
//! let person = PrivacyUnit::new("person", Neighbors::AddRemove);
//! let budget = Budget::new(Promise::Pure(Epsilon::parse("1")?), person.clone());
//! let mut account = Account::open(MemoryLedger::new(budget))?;
//!
//! let smokers = Sensitive::new(vec![true, false, true, true]);
//! let count = Aggregate::count(&smokers, person);
//! let release = account.release(count.laplace(Epsilon::parse("0.5")?)?)?;
//! let (low, high) = release.interval(0.95).expect("Laplace noise has an interval");
//! assert!(low <= release.real() && release.real() <= high);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each part is a feature, and the default has all parts but the last three. A program that needs one part names it, and builds little else:
//!
//! ```toml
//! [dependencies]
//! deniable = { version = "0.1", default-features = false, features = ["accounting"] }
//! ```
//!
//! | feature | what it is for | module |
//! |---|---|---|
//! | `accounting` | know what a release costs, alone and together with others | `accounting`, `exact` |
//! | `mechanism` | add noise to a number, choose privately, find quantiles, randomize answers | `mechanism`, `noise` |
//! | `tables` | publish many tables at once from one charge, with numbers that agree | `tables` |
//! | `regression` | fit models to noisy tables and test, with errors that count the noise | `regression` |
//! | `synthesis` | make rows that look like a private table from one charge | `synthesis` |
//! | `ledger` | keep a budget that survives crashes and many analysts | `ledger` |
//! | `sql` | query tables in SQL | `sql` |
//! | `train` | train classifiers and language models on examples of your own | `train`, `device` |
//! | `training` | train on a file or a declared table, with a ledger and checkpoints | `training` |
//! | `attack` | see what releases give away | `attack` |
//! | `audit` | check a claim: by proof, by replay, by experiment | `audit` |
//! | `report` | draw figures and write pages of results | `report` |
//! | `card` | publish the privacy card of a dataset | `card` |
//! | `cluster` | compute on several machines | `cluster` |
//! | `server` | serve a dataset to many analysts | `server` |
//!
//! The programs in the folder `examples` of the repository show each in twenty lines.

#[cfg(feature = "accounting")]
pub use accounting;
#[cfg(feature = "attack")]
pub use attack;
#[cfg(feature = "audit")]
pub use audit;
#[cfg(feature = "card")]
pub use card;
#[cfg(feature = "cluster")]
pub use cluster;
#[cfg(feature = "train")]
pub use device;
#[cfg(any(feature = "accounting", feature = "audit"))]
pub use exact;
#[cfg(feature = "ledger")]
pub use ledger;
#[cfg(feature = "mechanism")]
pub use mechanism;
#[cfg(feature = "mechanism")]
pub use noise;
#[cfg(feature = "regression")]
pub use regression;
#[cfg(feature = "report")]
pub use report;
#[cfg(feature = "server")]
pub use server;
#[cfg(feature = "sql")]
pub use sql;
#[cfg(feature = "synthesis")]
pub use synthesis;
#[cfg(feature = "tables")]
pub use tables;
#[cfg(feature = "train")]
pub use train;
#[cfg(feature = "training")]
pub use training;

/// The names that most programs need.
pub mod prelude {
    #[cfg(feature = "accounting")]
    pub use accounting::{
        Accountant, Budget, Curve, Delta, Epsilon, Event, Neighbors, PrivacyUnit, Promise, Rho,
    };
    #[cfg(feature = "ledger")]
    pub use ledger::{Place, Rules, Store};
    #[cfg(feature = "mechanism")]
    pub use mechanism::{
        Account, Aggregate, ExponentialMechanism, Gaussian, Laplace, Ledger, Mechanism, MemoryLedger,
        NoisyMax, RandomizedResponse, Release, Request, Sensitive, Sensitivity, SquaredMultiplier,
    };
    #[cfg(feature = "mechanism")]
    pub use noise::Grid;
    #[cfg(feature = "sql")]
    pub use sql::{Answer, Catalog, Dataset, QueryRequest};
}
