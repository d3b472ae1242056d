//! Mechanisms and claims as people write them down: named distributions with their parameters, or rows of
//! probabilities and densities.
//!
//! ```text
//! laplace, scale 2 ──────► Parameters ─┐
//! mechanism.toml, .json ───────────────┴─► Pair of output distributions ──► exact_audit
//! ```
//!
//! ```
//! use audit::document::{Format, parse};
//! use audit::exact_audit::satisfies;
//! use exact::{Rational, ratio};
//!
//! let pair = parse("[mechanism]\nkind = \"laplace\"\nscale = 2\n", Format::Toml)?;
//! assert_eq!(pair.words, "Laplace noise of scale 2; neighbours 1 apart");
//! assert_eq!(satisfies(&pair.first, &pair.second, &ratio(1, 2), &Rational::ZERO), Ok(true));
//! # Ok::<(), audit::document::Mistake>(())
//! ```

mod claim;
mod distributions;
mod file;
mod number;
mod parameters;
mod question;

pub use claim::{Claim, check_delta, check_epsilon};
pub use distributions::ranges;
pub use file::{FORMAT, Format, parse, read};
pub use files::document::Mistake;
pub use number::Number;
pub use parameters::{MechanismKind, Pair, Parameters};
pub use question::{Question, Verified, answer, delta_words, epsilon_words};

impl From<crate::Error> for Mistake {
    fn from(error: crate::Error) -> Self {
        Self::of(&error)
    }
}

/// A mistake, and what to do about it.
pub(crate) fn fail<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Mistake> {
    Err(Mistake::new(what, hint))
}
