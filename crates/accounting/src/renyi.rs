//! Rényi divergences of events, order by order.

use crate::selected::divergence_of_best;
use crate::{Curve, Error, Event, NoiseSupport, PrivacyUnit};
use exact::{Rational, ratio};

/// At least the Rényi divergence of `order` > 1 between the event's outputs on neighbouring databases, whichever comes first.
///
/// Divergences of one order add up under composition, also adaptive (Mironov 2017). With M the moments of the privacy loss, the
/// divergence is ln M(α−1)/(α−1), taken from the distributions behind [`Curve`] with all rounding upwards. What is known by its ρ alone
/// counts ρα, and the exponential mechanism at most αε²/8. The best of a random number of runs: see `selected`.
///
/// # Errors
/// When the order is not above 1, when the event has no divergence because it carries a δ, when its sampler is about other neighbours
/// than `unit`'s, or when there is no noise.
pub fn renyi_divergence(event: &Event, unit: &PrivacyUnit, order: f64) -> Result<f64, Error> {
    if !(order > 1.0 && order < 1e9) {
        return Err(Error::NoOrder {
            order: order.to_string(),
        });
    }
    event.check_unit(unit)?;
    // What is bounded by ρα, and what by its moments.
    let mut rho = Rational::ZERO;
    let mut others = Vec::new();
    // Upper bounds, as floats, with what their products and sums are rounded by.
    let mut selected = 0.0;
    for (leaf, times) in event.leaves() {
        let one = match leaf {
            Event::Concentrated { rho } => rho.as_rational().clone(),
            Event::Gaussian {
                multiplier_squared,
                on: NoiseSupport::Discrete | NoiseSupport::DiscreteScalar { .. },
            } => {
                if multiplier_squared.as_rational().is_zero() {
                    return Err(Error::NoNoise);
                }
                ratio(1, 2) / multiplier_squared.as_rational()
            }
            Event::Exponential { epsilon } => epsilon.as_rational() * epsilon.as_rational() * ratio(1, 8),
            Event::Selected { event, runs } => {
                let times = exact::to_f64_up(&Rational::from(times));
                selected += times * divergence_of_best(event, runs, unit, order)? * (1.0 + 1e-14);
                continue;
            }
            Event::Approximate { delta, .. } if delta.as_rational().is_zero() => {
                others.push((leaf, times));
                continue;
            }
            Event::Approximate { .. } => return Err(Error::NoDivergence),
            _ => {
                others.push((leaf, times));
                continue;
            }
        };
        rho += one * Rational::from(times);
    }
    let mut total = exact::to_f64_up(&rho) * order + selected * (1.0 + 1e-12);
    if !others.is_empty() {
        let log_moment =
            Curve::of_leaves(&others, unit)?
                .log_moment(order - 1.0)
                .ok_or(Error::Undecided {
                    what: "a Rényi divergence",
                })?;
        total += log_moment / (order - 1.0);
    }
    if total.is_finite() {
        Ok((total * (1.0 + 1e-14)).next_up())
    } else {
        Err(Error::Undecided {
            what: "a Rényi divergence",
        })
    }
}
