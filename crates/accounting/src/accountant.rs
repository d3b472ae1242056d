//! Every accountant side by side.

use crate::composition::{Plan, basic_epsilon, needs_curve, optimal_delta};
use crate::concentrated::delta_of_renyi;
use crate::gaussian_dp::gaussian_multiplier_squared;
use crate::{
    Curve, Delta, Epsilon, Error, Event, PrivacyUnit, advanced_epsilon, delta_of_gaussian,
    epsilon_of_concentrated, epsilon_of_gaussian, epsilon_of_renyi, optimal_epsilon,
};
use exact::{from_f64, to_f64_nearest};

/// A way to bound what a plan costs. Each is sound; they differ in how much they give away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Accountant {
    /// Sums.
    Basic,
    /// Dwork, Rothblum and Vadhan 2010.
    Advanced,
    /// Kairouz, Oh and Viswanath 2015: the best that can be said knowing (ε, δ) of each.
    Optimal,
    /// Sums of ρ.
    Concentrated,
    /// Sums of Rényi divergences, the best order taken at the end.
    Renyi,
    /// Exact for Gaussian noise alone.
    Gaussian,
    /// The certified curve of the privacy losses.
    Numerical,
}

impl Accountant {
    /// All of them, from the loosest.
    pub const ALL: [Self; 7] = [
        Self::Basic,
        Self::Advanced,
        Self::Optimal,
        Self::Concentrated,
        Self::Renyi,
        Self::Gaussian,
        Self::Numerical,
    ];

    /// A short name, for a table or a program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Advanced => "advanced",
            Self::Optimal => "optimal",
            Self::Concentrated => "zcdp",
            Self::Renyi => "renyi",
            Self::Gaussian => "gdp",
            Self::Numerical => "numerical",
        }
    }

    /// An ε that certainly holds with this δ.
    ///
    /// By [`Event::promise`], [`advanced_epsilon`], [`optimal_epsilon`], [`Event::concentrated`] with [`epsilon_of_concentrated`],
    /// [`epsilon_of_renyi`], [`epsilon_of_gaussian`] of one Gaussian with μ² = Σμ_i² (Dong, Roth and Su 2022), and [`Curve::epsilon`]:
    /// the theorem of each is there.
    ///
    /// # Errors
    /// When this accountant has nothing to say about the event, or when a sampler in it is about other neighbours.
    pub fn epsilon(self, event: &Event, unit: &PrivacyUnit, delta: &Delta) -> Result<Epsilon, Error> {
        event.check_unit(unit)?;
        match self {
            Self::Basic => basic_epsilon(event, delta),
            Self::Advanced => advanced_epsilon(event, delta),
            Self::Optimal => optimal_epsilon(event, delta),
            Self::Concentrated => epsilon_of_concentrated(&event.concentrated()?, delta),
            Self::Renyi => epsilon_of_renyi(event, unit, delta).map(|(epsilon, _)| epsilon),
            Self::Gaussian => match gaussian_multiplier_squared(event)? {
                Some(multiplier_squared) => epsilon_of_gaussian(&multiplier_squared, delta),
                None => Ok(Epsilon::ZERO),
            },
            Self::Numerical => Ok(Curve::of(event, unit)?.epsilon(delta)?.upper),
        }
    }

    /// A δ that certainly holds with this ε.
    ///
    /// Where the accountant has a curve, by it. Otherwise by search: ε falls as δ grows, and the δ returned is one for which
    /// [`Accountant::epsilon`] was computed and is at most `epsilon`.
    ///
    /// # Errors
    /// When this accountant has nothing to say about the event, when a sampler in it is about other neighbours, or when no δ below 1 is
    /// found to be enough.
    pub fn delta(self, event: &Event, unit: &PrivacyUnit, epsilon: &Epsilon) -> Result<Delta, Error> {
        event.check_unit(unit)?;
        match self {
            Self::Numerical => return Ok(Curve::of(event, unit)?.delta(epsilon)?.upper),
            Self::Renyi => return delta_of_renyi(event, unit, epsilon),
            Self::Gaussian => return gaussian_delta(event, epsilon),
            Self::Optimal => {
                if let Some(delta) = optimal_delta(event, epsilon)? {
                    return Ok(delta);
                }
            }
            Self::Concentrated => {
                // Counted once, whatever δ is tried.
                let rho = event.concentrated()?;
                return smallest_delta(epsilon, 40, |delta| epsilon_of_concentrated(&rho, delta));
            }
            Self::Basic | Self::Advanced => {}
        }
        // Where one ε is many searches or a curve, ask for fewer: any δ that was checked will do.
        let plan = Plan::of(event)?;
        let events = plan.epsilons.len() + plan.leaks.len();
        let evaluations = if self == Self::Optimal && needs_curve(&plan) {
            4
        } else {
            (800 / plan.searches().max(1))
                .min(20_000 / events.max(1))
                .clamp(6, 40)
        };
        smallest_delta(epsilon, evaluations, |delta| self.epsilon(event, unit, delta))
    }
}

fn gaussian_delta(event: &Event, epsilon: &Epsilon) -> Result<Delta, Error> {
    match gaussian_multiplier_squared(event)? {
        // Below the last decimal place only the place matters, so not much precision is needed.
        Some(multiplier_squared) => {
            Delta::at_least(&delta_of_gaussian(epsilon.as_rational(), &multiplier_squared, 64))
        }
        None => Ok(Delta::ZERO),
    }
}

/// The smallest δ found for which `cost` is at most `asked`, by false position on ln δ: whatever it finds was checked.
fn smallest_delta(
    asked: &Epsilon,
    evaluations: usize,
    cost: impl Fn(&Delta) -> Result<Epsilon, Error>,
) -> Result<Delta, Error> {
    if cost(&Delta::ZERO).is_ok_and(|epsilon| epsilon <= *asked) {
        return Ok(Delta::ZERO);
    }
    let mut enough = Delta::parse("0.999999999")?;
    let mut above = cost(&enough)?;
    if above > *asked {
        return Err(Error::NoDelta {
            epsilon: asked.to_string(),
        });
    }
    let target = asked.to_f64_down();
    // How far ε is from what is asked, as a float: a place to look, not a bound.
    let excess = |epsilon: &Epsilon| epsilon.to_f64_up() - target;
    let (mut low, mut high) = (-690.0f64, to_f64_nearest(enough.as_rational()).ln());
    let (mut at_low, mut at_high) = (f64::INFINITY, excess(&above));
    for round in 0..evaluations {
        // Below e^−600 < 1e-260 nobody asks for digits.
        if high < -600.0 || high - low < 1e-10 || at_high.abs() <= 1e-12 * target {
            break;
        }
        let secant = high - (high - low) * at_high / (at_high - at_low);
        // Every third step halves: false position alone may creep.
        let middle = if round % 3 == 2 || !secant.is_finite() || secant <= low || secant >= high {
            f64::midpoint(low, high)
        } else {
            secant
        };
        let Some(delta) = from_f64(middle.exp()).and_then(|value| Delta::rounded_down(&value).ok()) else {
            break;
        };
        // A δ that the events exceed by themselves is not enough either.
        match cost(&delta) {
            Ok(epsilon) if epsilon <= *asked => {
                above = epsilon;
                enough = delta;
                (high, at_high) = (middle, excess(&above));
            }
            Ok(epsilon) => (low, at_low) = (middle, excess(&epsilon)),
            Err(_) => (low, at_low) = (middle, f64::INFINITY),
        }
    }
    Ok(enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Neighbors, NoiseSupport, Ratio};

    #[test]
    fn what_a_search_finds_is_tight() {
        let event = Event::Gaussian {
            multiplier_squared: Ratio::parse("4").unwrap(),
            on: NoiseSupport::Rounded,
        };
        let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
        let asked = Epsilon::parse("1").unwrap();
        let found = smallest_delta(&asked, 40, |delta| {
            Accountant::Gaussian.epsilon(&event, &unit, delta)
        })
        .unwrap();
        let exact = Accountant::Gaussian.delta(&event, &unit, &asked).unwrap();
        let gap = found.as_rational() / exact.as_rational() - exact::Rational::ONE;
        assert!(
            gap >= exact::Rational::ZERO && gap < exact::ratio(1, 1_000_000_000),
            "{found} {exact}"
        );
    }
}
