//! Bounded plans on several machines: a coordinator splits a plan into stages, and workers, which are this
//! same program, compute exact integers from private rows.
//!
//! `datafusion-distributed` exchanges rows between workers. This crate decides where rows are exchanged
//! ([`mod@spread`]), and not its planner. Noise, ledger and release stay with the coordinator. Nothing is
//! written to disk between stages, and every connection is encrypted, with certificates on both ends
//! ([`Credentials`]).
//!
//! # Privacy
//! Claim: workers return exactly the integers of the plan on one machine, to the last bit, or there are none.
//! So no guarantee depends on how many workers there are, or on which of them fail.
//! Proof: [`mod@spread`] has the argument for the plan. What is executed is what was planned. A worker takes
//! plans only from a machine with a certificate of the same authority, checks them against the same closed
//! list of operators, and reads only below the directories that it was given ([`Worker`]). Coordinator and
//! workers compare versions and how they hash values, because an exchange that sent two rows of one person to
//! two places would count that person twice ([`mod@version`]). A stream that breaks off is an error, and then
//! everything is computed again under the same key: no noise was drawn.
//! Assumes: workers are trusted like the coordinator's own machine. They see private rows and the key of a
//! query.
//! Audited by: the tests of `sql` that hold this engine against the local one, and those of the command line
//! that kill workers.

mod certificates;
mod channels;
mod codec;
mod coordinator;
mod credentials;
mod seal;
pub mod spread;
pub mod version;
mod worker;

#[cfg(test)]
mod tests;

pub use certificates::{Certificates, Signed, certificates};
pub use codec::Functions;
pub use coordinator::{Cluster, Prepared};
pub use credentials::Credentials;
pub use spread::NotSpread;
pub use worker::{Stores, Worker};
