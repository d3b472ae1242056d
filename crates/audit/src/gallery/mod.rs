//! Mechanisms of known standing, to measure an auditor against.
//!
//! Each [`Exhibit`] claims ε = 0.1 and states what is true: correct, or broken, with the exact ε over the
//! pairs of neighbours that it is audited on ([`Exhibit::exact_epsilon`]). Exact values are derived where the
//! mechanism is defined. Those that need an integral over the noise of a threshold or of a rival are computed
//! with certified intervals. So "found 97 % of the exact ε" is a statement about the auditor and not about
//! two approximations.
//!
//! Most of the collection is that of Ding, Wang, Wang, Zhang and Kifer ("Detecting Violations of Differential
//! Privacy", 2018) and of Bichsel, Steffen, Bogunovic and Vechev (DP-Sniper, 2021), on the same inputs; the
//! sparse-vector variants are those of Lyu, Su and Li ("Understanding the Sparse Vector Technique for
//! Differential Privacy", 2017).
//!
//! Randomness comes from the caller as 64-bit [`Words`]. Sampling is fast and in floats. Real noise is
//! rounded to multiples of 2⁻¹⁰ before anything else happens to it, so that no low bit reveals what the
//! analysis of real numbers does not know. (The one exhibit that is about low bits does not round.)

mod exhibit;
mod mechanism;
mod plan;
mod truth;
mod words;

pub use exhibit::{EXHIBITS, Exhibit, Standing};
pub use mechanism::Player;
pub use plan::{Allowance, AuditPlan, Draws, Outcome};
pub use truth::Exactly;
pub use words::{Seeded, Words};

/// What every exhibit claims, at δ = 0.
pub const CLAIM: f64 = 0.1;
