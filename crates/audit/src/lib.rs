//! Is the claim true?
//!
//! A mechanism says "I am (ε, δ)-differentially private". The sentence is about every pair of neighbours and
//! every event, so nobody sees it by looking at outputs. Code that violates it runs just as well as code that
//! keeps it: the noise is still noisy, the tests still pass, the histogram still looks right. History has a
//! list of such mechanisms: sensitivities off by two, budgets spent twice, floating-point noise whose low
//! bits spell the answer. So this crate checks claims, in the three ways there are, and with one [`report`]:
//!
//! - [`exact_audit`]: when both output distributions can be written down, the smallest δ for an ε (or ε for a
//!   δ) is a sum or an integral. It is computed with certified intervals, so the answer is a theorem about
//!   the two distributions given, not an estimate.
//! - [`grey_box`]: when the code calls mechanisms of known cost, it records the calls on one input and
//!   replays them on a neighbour with the answers frozen. Control flow must be the same, and no input may
//!   move further than was declared.
//! - [`black_box`]: when only the code is there, it runs the code. An event that is too likely on one side is
//!   evidence. A lower bound on ε with a stated confidence says what the evidence is worth. This refutes
//!   claims; it can never confirm one. If running is expensive, [`one_run`] runs once, with many canaries
//!   that are each in or out by a coin, and counts right guesses.
//!
//! Beside them stands [`goodness`]: it tests every sampler against its distribution. The false-alarm rate of
//! the test is a number (1e-9 unless stated otherwise) and not a matter of taste. The reference distributions
//! are computed by someone else's arithmetic.
//!
//! Mechanisms of known standing show how good an auditor is: [`gallery`] has broken and correct ones, each
//! with its exact ε.
//!
//! [`document`] reads mechanisms and claims that people write down, and [`program`] runs any executable.
//!
//! The crate depends on no crate that it judges. It reads no data and draws no randomness of its own: samples
//! come from the caller, who knows where they are from.
//!
//! ```
//! use audit::exact_audit::{Answer, Distribution, Lattice, smallest_epsilon};
//! use exact::{Rational, ratio};
//!
//! // (⌈100 s⌉ + Geo(4)) / 100 on two sums that differ by one: ε is exactly 25.
//! let noise = Lattice::discrete_laplace(&ratio(4, 1))?.on_grid(&ratio(0, 1), &ratio(1, 100))?;
//! let (p, q) = (Distribution::from(noise.clone()), Distribution::from(noise.shifted(&ratio(1, 1))));
//! let Answer::Finite(epsilon) = smallest_epsilon(&p, &q, &Rational::ZERO)? else { unreachable!() };
//! assert_eq!(epsilon.lower(), ratio(25, 1));
//! assert_eq!(epsilon.upper(), ratio(25, 1));
//! # Ok::<(), audit::Error>(())
//! ```

pub mod binomial;
pub mod black_box;
pub mod document;
mod error;
pub mod exact_audit;
pub mod gallery;
pub mod goodness;
pub mod grey_box;
pub mod one_run;
pub mod program;
pub mod report;

pub use error::Error;
