//! A claim as it is written.

use super::{Mistake, Number, fail};
use exact::{Rational, parse_decimal};

/// A larger ε is a mistake in the units.
pub(super) const LARGEST_EPSILON: u32 = 10_000;
/// A smaller δ above zero is a mistake too.
pub(super) const SMALLEST_DELTA: &str = "1e-100";

/// The claim to judge: an ε, a δ, or both.
///
/// ```
/// use audit::document::Claim;
///
/// let claim = Claim { epsilon: "1".parse().ok(), delta: None };
/// claim.check_as("--epsilon", "--delta")?;
/// assert_eq!(claim.words(), "ε = 1, δ = 0");
/// # Ok::<(), audit::document::Mistake>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// The ε that is claimed.
    pub epsilon: Option<Number>,
    /// The δ that is claimed.
    pub delta: Option<Number>,
}

impl Claim {
    /// Refuses an ε below zero and a δ outside [0, 1); the names are for the mistakes.
    pub fn check_as(&self, epsilon: &str, delta: &str) -> Result<(), Mistake> {
        check_epsilon(epsilon, self.epsilon.as_ref())?;
        check_delta(delta, self.delta.as_ref())
    }

    /// The claimed δ, or zero.
    pub fn delta_or_zero(&self) -> Number {
        self.delta.clone().unwrap_or(Number::ZERO)
    }

    /// `ε = 1, δ = 0`.
    pub fn words(&self) -> String {
        match &self.epsilon {
            Some(epsilon) => format!("ε = {epsilon}, δ = {}", self.delta_or_zero()),
            None => format!("δ = {}", self.delta_or_zero()),
        }
    }
}

/// Refuses an ε below zero or beyond any use.
pub fn check_epsilon(name: &str, epsilon: Option<&Number>) -> Result<(), Mistake> {
    if epsilon.is_some_and(|epsilon| epsilon.0 < Rational::ZERO) {
        return fail(
            format!("{name} must not be negative"),
            "0 says that both inputs give the same output; 1 is a usual choice",
        );
    }
    if epsilon.is_some_and(|epsilon| epsilon.0 > Rational::from(LARGEST_EPSILON)) {
        return fail(
            format!("{name} must not be above {LARGEST_EPSILON}"),
            "an ε of 20 already protects nobody; 1 is a usual choice",
        );
    }
    Ok(())
}

/// Refuses a δ outside [0, 1), and one so small that it only costs time.
pub fn check_delta(name: &str, delta: Option<&Number>) -> Result<(), Mistake> {
    if delta.is_some_and(|delta| delta.0 < Rational::ZERO || delta.0 >= Rational::ONE) {
        return fail(
            format!("{name} must be at least 0 and below 1"),
            "δ = 1 permits everything; write a small one as 1e-6",
        );
    }
    let smallest = parse_decimal(SMALLEST_DELTA).unwrap_or(Rational::ZERO);
    if delta.is_some_and(|delta| !delta.0.is_zero() && delta.0 < smallest) {
        return fail(
            format!("{name} is above 0 and below {SMALLEST_DELTA}"),
            "so small a probability is 0 in any world: write 0",
        );
    }
    Ok(())
}
