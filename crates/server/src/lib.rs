//! A dataset for many analysts, over HTTP, the PostgreSQL wire protocol and pages in a browser.
//!
//! All entrances only translate. Every query goes through [`Service`]. It takes an [`Identity`], which only
//! signing in makes, and a [`Question`]. It returns an answer or a [`Failure`], on a [`Schedule`] that does
//! not depend on the data. No entrance has an engine of its own.
//!
//! ```text
//! http    ┐
//! console ┼─► service ─► sql::Dataset ─► ledger, engine, noise
//! wire    ┘      │
//!             accounts, journal ─► ledger
//! ```

pub mod accounts;
mod console;
mod failure;
pub mod governance;
pub mod http;
mod journal;
mod listen;
mod memory;
mod metrics;
mod network;
mod passwords;
pub mod requests;
mod schedule;
mod secrets;
mod server;
mod service;
pub mod tls;
mod wire;

pub use failure::{Code, Failure};
pub use listen::Connections;
pub use network::Network;
pub use schedule::Schedule;
pub use secrets::Secret;
pub use server::{Addresses, Error, Server};
pub use service::{
    BudgetView, Explained, Identity, ListedRows, MadeRelease, MadeRows, PlanWanted, PlannedView, Precision,
    Question, Service, Settings,
};
#[doc(hidden)]
pub use wire::Entrance as Wire;
