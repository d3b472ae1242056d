//! What ε means for one person: how much likelier anything can become for having taken part.

use crate::mills::tenth_power;
use crate::{Delta, Epsilon, Error};
use exact::{Interval, Rational, decimal_at_least, decimal_at_most, format_decimal};

/// Bounds on the probability of an event about a person who took part, from its probability had they not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Risk {
    /// It is certainly no less likely than this.
    pub at_least: Rational,
    /// It is certainly no more likely than this.
    pub at_most: Rational,
}

impl Risk {
    /// The most that a fair price for bearing the event can be, when the event costs `amount`, rounded up to a hundredth.
    ///
    /// The expected cost is `amount` times the probability, so it is bounded with it.
    pub fn fair_price_at_most(&self, amount: &Rational) -> Rational {
        let cents = (&self.at_most * amount / tenth_power(2)).ceil();
        Rational::from(cents) * tenth_power(2)
    }
}

/// How likely an event with prior probability p (one's premium rises, one's application is denied) can be once one's data
/// is used under (ε, δ): at most e^ε·p + δ and at least e^−ε·(p − δ), rounded outward to 15 digits.
///
/// Proof. Whatever happens to a person through a release is a function of its output (post-processing), so its
/// probability on one database is at most e^ε times that on the neighbouring one, plus δ; and the other way around. The
/// same for the complement gives 1 − e^ε·(1−p) − δ ≤ P ≤ 1 − e^−ε·(1−p−δ); both bounds hold, so the better one is given.
///
/// # Errors
/// When `prior` is not between 0 and 1.
pub fn what_it_means_for_one_person(
    prior: &Rational,
    epsilon: &Epsilon,
    delta: &Delta,
) -> Result<Risk, Error> {
    if *prior < Rational::ZERO || *prior > Rational::ONE {
        return Err(Error::NotAProbability {
            text: crate::error::shown(&format_decimal(prior)),
        });
    }
    let above = |p: &Rational| -> Rational {
        // Beyond e^1000 every prior that is kept at all becomes 1, and e^ε is not worth holding.
        if p.is_zero() {
            return delta.as_rational().clone();
        }
        let bits = 128 + exact::floor_log2(p).unsigned_abs();
        let (growing, decaying) = if *epsilon.as_rational() > Rational::from(1000u16) {
            (None, Rational::ZERO)
        } else {
            let exponential = Interval::exp_of(epsilon.as_rational(), bits);
            (
                Some(exponential),
                Interval::exp_of(&-epsilon.as_rational().clone(), bits).lower(),
            )
        };
        let direct = growing.map_or(Rational::ONE, |growth| p * growth.upper() + delta.as_rational());
        let rest = (Rational::ONE - p - delta.as_rational()).max(Rational::ZERO);
        let complement = Rational::ONE - decaying * rest;
        direct.min(complement).min(Rational::ONE)
    };
    let at_most = decimal_at_least(&above(prior), 15).min(Rational::ONE);
    let at_least = decimal_at_most(&(Rational::ONE - above(&(Rational::ONE - prior))), 15);
    Ok(Risk {
        at_least: at_least.max(Rational::ZERO),
        at_most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::{parse_decimal, ratio};

    #[test]
    fn alice_and_her_premium() {
        // A 2 % chance of a $100,000 claim is worth $2,000; at ε = 0.01 at most 2000·e^0.01 = $2,020.10 and a third of a cent.
        let risk =
            what_it_means_for_one_person(&ratio(2, 100), &Epsilon::parse("0.01").unwrap(), &Delta::ZERO)
                .unwrap();
        assert_eq!(
            risk.fair_price_at_most(&ratio(100_000, 1)),
            parse_decimal("2020.11").unwrap()
        );
        assert!(risk.at_most > parse_decimal("0.0202010033").unwrap());
        assert!(risk.at_most < parse_decimal("0.0202010034").unwrap());
        // e^−0.01·0.02.
        assert!(risk.at_least <= parse_decimal("0.0198009967").unwrap());
        assert!(risk.at_least > parse_decimal("0.0198009966").unwrap());
    }

    #[test]
    fn bounds_stay_probabilities() {
        for prior in [ratio(0, 1), ratio(1, 2), ratio(1, 1)] {
            for epsilon in ["0", "0.5", "3", "5000"] {
                for delta in ["0", "1e-6", "0.9"] {
                    let (epsilon, delta) = (Epsilon::parse(epsilon).unwrap(), Delta::parse(delta).unwrap());
                    let risk = what_it_means_for_one_person(&prior, &epsilon, &delta).unwrap();
                    assert!(Rational::ZERO <= risk.at_least && risk.at_least <= prior);
                    assert!(prior <= risk.at_most && risk.at_most <= Rational::ONE);
                }
            }
        }
        assert!(what_it_means_for_one_person(&ratio(2, 1), &Epsilon::ZERO, &Delta::ZERO).is_err());
    }
}
