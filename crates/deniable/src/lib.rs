//! Differential privacy that can be checked, as one library.
//!
//! Private data goes in, answers with error bars come out, and nothing leaves without a charge:
//!
//! ```
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
//! | to … | look at |
//! |---|---|
//! | add noise to a number, choose privately, find quantiles, randomize answers | [`mechanism`] |
//! | know what a release costs, alone and together with others | [`accounting`] |
//! | keep a budget that survives crashes and many analysts | [`ledger`] |
//! | ask tables in SQL | [`sql`] |
//! | train classifiers and language models, on examples of your own | [`train`], on a [`device`] |
//! | train on a file or a declared table, with a ledger and checkpoints | [`training`] |
//! | see what releases give away | [`attack`] |
//! | check a claim: by proof, by replay, by experiment | [`audit`] |
//! | draw figures and write pages of results | [`report`] |
//! | sample exactly, compute exactly | [`noise`], [`exact`] |
//!
//! The programs in the folder `examples` of the repository show each in twenty lines.

pub use {accounting, attack, audit, device, exact, ledger, mechanism, noise, report, sql, train, training};

/// The names that most programs need.
pub mod prelude {
    pub use accounting::{
        Accountant, Budget, Curve, Delta, Epsilon, Event, Neighbors, PrivacyUnit, Promise, Rho,
    };
    pub use ledger::{Place, Rules, Store};
    pub use mechanism::{
        Account, Aggregate, ExponentialMechanism, Gaussian, Laplace, Ledger, Mechanism, MemoryLedger,
        NoisyMax, RandomizedResponse, Release, Request, Sensitive, Sensitivity, SquaredMultiplier,
    };
    pub use noise::Grid;
    pub use sql::{Answer, Catalog, Dataset, QueryRequest};
}
