//! Gaussian differential privacy: what is Gaussian throughout adds up exactly.

use crate::composition::{Plan, Sharer};
use crate::{Error, Event, NoiseSupport};
use exact::{Rational, decimal_at_least};

/// σ²/Δ² of the one Gaussian that costs what everything in `event` costs together; `None` when nothing in it costs anything.
///
/// Theorem (Dong, Roth and Su 2022): the composition of μ_i-GDP mechanisms is √(Σμ_i²)-GDP, exactly, where Gaussian noise is
/// μ-GDP with μ = Δ/σ. Rounding is post-processing. A shuffled epoch counts once, since a unit is in one of its batches.
/// Sums of 1/multiplier² that no short fraction equals are rounded up, to 60 digits.
///
/// # Errors
/// When something in it is not Gaussian noise on the reals, or a Gaussian has no noise.
pub(crate) fn gaussian_multiplier_squared(event: &Event) -> Result<Option<Rational>, Error> {
    let refused = |what, hint| Error::Unreadable {
        accountant: "gdp",
        what,
        hint,
    };
    let plan = Plan::of(event)?;
    if !plan.epsilons.is_empty() || !plan.leaks.is_empty() {
        return Err(refused(
            "an event that is not Gaussian noise",
            "ask the accountant \"numerical\" about plans of several kinds",
        ));
    }
    let mut sum = Rational::ZERO;
    for (sharer, times) in &plan.sharers {
        let multiplier_squared = match sharer {
            Sharer::Gaussian(multiplier_squared, NoiseSupport::Rounded) => multiplier_squared.as_rational(),
            Sharer::Gaussian(..) => {
                return Err(refused(
                    "Gaussian noise on the integers, whose curve is another",
                    "ask the accountant \"numerical\", or \"zcdp\"",
                ));
            }
            Sharer::Sampled(..) => {
                return Err(refused(
                    "Gaussian noise on a sampled part, which is a mixture",
                    "ask the accountant \"numerical\", or \"renyi\"",
                ));
            }
            Sharer::Concentrated(_) => {
                return Err(refused(
                    "an event known by its ρ, which need not be Gaussian",
                    "ask the accountant \"zcdp\"",
                ));
            }
        };
        if multiplier_squared.is_zero() {
            return Err(Error::NoNoise);
        }
        let added = Rational::from(times.clone()) / multiplier_squared;
        // One fraction is kept as it is; a sum of many would grow one enormous denominator.
        sum = if plan.sharers.len() == 1 {
            added
        } else {
            sum + decimal_at_least(&added, 60)
        };
    }
    Ok((!sum.is_zero()).then(|| Rational::ONE / sum))
}
