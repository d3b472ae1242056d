//! Tests every mechanism that Deniable ships against its own claim, by every method there is, and shows that
//! each method can fail.
//!
//! ```text
//! mechanism ──► exact      its output distribution on neighbours: proved   with less noise: refuted
//!           ──► grey box   a computation made of it                        with a mistake:  refuted
//!           ──► black box  draws through an account                        with less noise: refuted
//!           ──► fit        draws against the distribution that was proved
//! ```
//!
//! It also renders audit results as text, JSON and figures: results of these checks ([`Gate`]), of mechanisms
//! of known standing ([`gallery`]), of any program ([`AuditedProgram`]), of models that were trained once
//! ([`one_run`]), and of distributions ([`curve`](fn@curve)).
//!
//! When a mechanism is added to the closed list of the crate `mechanism`, a test here fails until it has its
//! [`Check`]s.
//!
//! ```
//! use conformance::{Effort, checks, run};
//!
//! let checks = checks(Effort::Quick, &["laplace".to_owned()])?;
//! let exact = checks.into_iter().take(2).collect();
//! let done = run(exact, 7, 1, &mut |_| (), &|| false);
//! // The mechanism is proved, and one with too little noise is refuted.
//! assert!(done.iter().all(|done| done.is_right()));
//! # Ok::<(), conformance::Error>(())
//! ```

mod boundary;
mod check;
mod choice;
mod computation;
mod curve;
mod error;
pub mod gallery;
mod gate;
mod groups;
mod median;
mod noise;
pub mod one_run;
mod planned;
mod program;
mod rounds;
mod series;
mod sparse;
mod subject;
mod survey;
#[cfg(test)]
mod tests;
mod training;
mod witness;

pub use check::{Check, Done, Effort, Expected, run};
pub use curve::curve;
pub use error::Error;
pub use gate::Gate;
pub use program::{AuditedProgram, quoted};

use choice::{Choice, Exponential, Flip, Noisy};
use error::explained;
use groups::{GaussianGroups, LaplaceGroups, OptimalGroups};
use median::{Median, Proposed, Smooth, TwoMedians};
use noise::{DiscreteGaussianNoise, GaussianNoise, LaplaceNoise};
use planned::Planned;
use rounds::Adaptive;
use series::ThreeTotals;
use sparse::Sparse;
use survey::{Hashing, Response, Unary};
use training::SampledSum;

/// How often a check by sampling refutes a right mechanism.
const FALSE_ALARM: f64 = 1e-9;

/// Every check, mechanism by mechanism.
fn all_checks(effort: Effort) -> Vec<Check> {
    let mut all: Vec<Check> = [
        subject::checks(LaplaceNoise, effort),
        subject::checks(GaussianNoise, effort),
        subject::checks(DiscreteGaussianNoise, effort),
        subject::checks(Choice::<Exponential>::new(), effort),
        subject::checks(Choice::<Flip>::new(), effort),
        subject::checks(Choice::<Noisy>::new(), effort),
        subject::checks(Sparse, effort),
        subject::checks(Median, effort),
        subject::checks(TwoMedians, effort),
        subject::checks(Smooth, effort),
        subject::checks(Proposed, effort),
        subject::checks(LaplaceGroups, effort),
        subject::checks(GaussianGroups, effort),
        subject::checks(OptimalGroups, effort),
        subject::checks(Response, effort),
        subject::checks(Unary, effort),
        subject::checks(Hashing, effort),
        subject::checks(SampledSum, effort),
        subject::checks(Planned::default(), effort),
        subject::checks(ThreeTotals, effort),
        subject::checks(Adaptive, effort),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.extend(computation::checks(effort));
    all
}

/// The checks of the mechanisms with these names, in any case; of all mechanisms, when there are none.
///
/// # Errors
/// When no mechanism has one of the names.
pub fn checks(effort: Effort, only: &[String]) -> Result<Vec<Check>, Error> {
    let all = all_checks(effort);
    for name in only {
        if !all.iter().any(|check| check.mechanism.eq_ignore_ascii_case(name)) {
            let mut known = mechanism::MECHANISMS.to_vec();
            known.sort_unstable();
            return Err(Error::NoSuchMechanism {
                name: name.clone(),
                known: known.join(", "),
            });
        }
    }
    let is_chosen =
        |check: &Check| only.is_empty() || only.iter().any(|name| check.mechanism.eq_ignore_ascii_case(name));
    Ok(all.into_iter().filter(is_chosen).collect())
}
