//! The most that one further release may cost.

use crate::gate::Gate;
use accounting::{Epsilon, Event};
use exact::{Natural, Rational};

/// Digits of an answer: 100 to 999 of a power of ten.
const STEPS: u64 = 900;
/// The smallest that is distinguished from nothing is 1e-9.
const SMALLEST: i32 = -11;
/// The largest is 9.99e8: a budget with more left than that is no budget to speak of.
const LARGEST: i32 = 6;

/// The largest ε of one further release of any kind that is ε-DP, to three digits, rounded down. It was
/// tried, so it certainly fits.
///
/// Under an (ε, δ) budget this is not what is left in all: many small releases together may have much more,
/// and noise whose curve is known better than its ε, such as Gaussian noise or Laplace noise on one number,
/// may have more too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// What this analyst may spend on it: the smaller of the two.
    pub epsilon: Epsilon,
    /// What the budget of the data admits.
    pub dataset: Epsilon,
    /// What the analyst's share admits, if there is one.
    pub share: Option<Epsilon>,
}

impl Left {
    pub(crate) fn of(dataset: &Gate, share: Option<&Gate>) -> Self {
        let dataset = largest(dataset);
        let share = share.map(largest);
        let epsilon = match &share {
            Some(share) => share.min(&dataset).clone(),
            None => dataset.clone(),
        };
        Self {
            epsilon,
            dataset,
            share,
        }
    }
}

/// By bisection over all numbers of three digits.
fn largest(gate: &Gate) -> Epsilon {
    let fits = |place: u64| {
        gate.fits(&Event::Pure {
            epsilon: number(place),
        })
    };
    // Everything up to `low` fits, nothing from `high` on; zero stands for no release at all.
    let (mut low, mut high) = (0, u64::from((LARGEST - SMALLEST + 1).unsigned_abs()) * STEPS + 1);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    number(low)
}

/// The numbers of three digits in ascending order, after zero.
fn number(place: u64) -> Epsilon {
    let Some(place) = place.checked_sub(1) else {
        return Epsilon::ZERO;
    };
    let digits = Rational::from(100 + place % STEPS);
    let exponent = SMALLEST + i32::try_from(place / STEPS).unwrap_or(LARGEST);
    let power = Rational::from(Natural::from(10u8).pow(exponent.unsigned_abs() as usize));
    let value = if exponent < 0 {
        digits / power
    } else {
        digits * power
    };
    Epsilon::rounded_down(&value).unwrap_or(Epsilon::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::{Budget, Delta, Neighbors, PrivacyUnit, Promise};

    #[test]
    fn numbers_ascend() {
        assert_eq!(number(1), Epsilon::parse("1e-9").unwrap());
        assert_eq!(number(2), Epsilon::parse("1.01e-9").unwrap());
        assert_eq!(number(900), Epsilon::parse("9.99e-9").unwrap());
        assert_eq!(number(901), Epsilon::parse("1e-8").unwrap());
        assert_eq!(number(18 * 900), Epsilon::parse("999000000").unwrap());
    }

    #[test]
    fn what_is_left_is_rounded_down() {
        let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
        let limit = |text: &str| Promise::Pure(Epsilon::parse(text).unwrap());
        for (budget, left) in [
            ("1", "1"),
            ("0.12399", "0.123"),
            ("1e-10", "0"),
            ("12345", "12300"),
        ] {
            let gate = Gate::new(Budget::new(limit(budget), unit.clone()), &Delta::ZERO).unwrap();
            assert_eq!(largest(&gate), Epsilon::parse(left).unwrap(), "of {budget}");
        }
        let approximate = Promise::Approximate(Epsilon::parse("1").unwrap(), Delta::parse("1e-6").unwrap());
        let gate = Gate::new(Budget::new(approximate, unit.clone()), &Delta::ZERO).unwrap();
        let left = largest(&gate);
        assert!(
            left >= Epsilon::parse("1").unwrap() && left < Epsilon::parse("1.1").unwrap(),
            "{left}"
        );
        assert_eq!(largest(&Gate::Shut(Budget::new(limit("1"), unit))), Epsilon::ZERO);
    }
}
