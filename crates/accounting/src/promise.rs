//! What is promised, and to whom.

use crate::discrete::delta_of_pure;
use crate::{Delta, Epsilon, Error, Neighbors, PrivacyUnit, Rho, epsilon_of_concentrated};
use exact::{Interval, Rational};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A bound on what an observer learns, in one of the three currencies in use.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// ε-DP: P[M(x) ∈ S] ≤ e^ε·P[M(x') ∈ S] for every set S and all neighbours x, x'.
    Pure(Epsilon),
    /// (ε, δ)-DP: the same up to an additive δ.
    Approximate(Epsilon, Delta),
    /// ρ-zCDP: every Rényi divergence of order α is at most ρα (Bun and Steinke 2016).
    Concentrated(Rho),
}

impl Promise {
    /// What two mechanisms promise together, the second chosen after seeing the first one's answer.
    ///
    /// Sums: Dwork and Roth 2014, for (ε, δ); Bun and Steinke 2016 for ρ. A pure promise joins a
    /// concentrated one as ρ = ε·tanh(ε/2) ([`rho_of_pure`](crate::rho_of_pure)).
    ///
    /// # Errors
    /// When an (ε, δ) promise meets a concentrated one, or the δs reach 1.
    pub fn compose(&self, other: &Self) -> Result<Self, Error> {
        use Promise::{Approximate, Concentrated, Pure};
        Ok(match (self, other) {
            (Pure(a), Pure(b)) => Pure(a + b),
            (Pure(a), Approximate(b, delta)) | (Approximate(a, delta), Pure(b)) => {
                Approximate(a + b, delta.clone())
            }
            (Approximate(a, delta_a), Approximate(b, delta_b)) => Approximate(a + b, delta_a.plus(delta_b)?),
            (Concentrated(a), Concentrated(b)) => Concentrated(a + b),
            (Pure(epsilon), Concentrated(rho)) | (Concentrated(rho), Pure(epsilon)) => {
                Concentrated(&epsilon.concentrated()? + rho)
            }
            (Approximate(..), Concentrated(_)) | (Concentrated(_), Approximate(..)) => {
                return Err(Error::MixedPromises);
            }
        })
    }

    /// What is promised to `size` units at once, such as a family, when this is promised to each one.
    ///
    /// Pure: kε. Concentrated: k²ρ (Bun and Steinke 2016). Approximate: kε with
    /// δ·(1 + e^ε + … + e^((k−1)ε)) = δ·(e^(kε) − 1)/(e^ε − 1), by walking through k neighbours: P₀ ≤ e^ε·P₁ + δ ≤
    /// e^(2ε)·P₂ + e^ε·δ + δ ≤ …. The textbook bound k·e^((k−1)ε)·δ replaces each of the k terms by the largest.
    ///
    /// # Errors
    /// When δ reaches 1, or a number is out of range: then nothing is promised to the group.
    pub fn for_group(&self, size: u32) -> Result<Self, Error> {
        Ok(match self {
            Promise::Pure(epsilon) => Promise::Pure(epsilon.times(size.into())),
            Promise::Concentrated(rho) => Promise::Concentrated(rho.times(u64::from(size).pow(2))),
            Promise::Approximate(epsilon, delta) => {
                Promise::Approximate(epsilon.times(size.into()), group_delta(epsilon, delta, size)?)
            }
        })
    }

    /// Whether everything that keeps `other` keeps this: `limit.covers(&cost)`.
    ///
    /// `true` is proved; `false` means that no conversion used here proves it.
    pub fn covers(&self, other: &Self) -> bool {
        use Promise::{Approximate, Concentrated, Pure};
        match (self, other) {
            (Pure(limit), Pure(cost)) => cost <= limit,
            (Pure(limit), Approximate(cost, delta)) => *delta == Delta::ZERO && cost <= limit,
            (Pure(_), Concentrated(rho)) => *rho == Rho::ZERO,
            (Approximate(limit, allowed), Approximate(cost, delta)) => cost <= limit && delta <= allowed,
            (Approximate(limit, allowed), Pure(cost)) => {
                cost <= limit
                    || delta_of_pure(cost.as_rational(), limit.as_rational(), 64)
                        .certainly_at_most(allowed.as_rational())
            }
            (Approximate(limit, allowed), Concentrated(rho)) => {
                epsilon_of_concentrated(rho, allowed).is_ok_and(|cost| cost <= *limit)
            }
            (Concentrated(limit), Concentrated(cost)) => cost <= limit,
            (Concentrated(limit), Pure(cost)) => cost.concentrated().is_ok_and(|rho| rho <= *limit),
            (Concentrated(limit), Approximate(cost, delta)) => {
                *delta == Delta::ZERO && cost.concentrated().is_ok_and(|rho| rho <= *limit)
            }
        }
    }
}

/// δ·(e^(kε) − 1)/(e^ε − 1), rounded up.
fn group_delta(epsilon: &Epsilon, delta: &Delta, size: u32) -> Result<Delta, Error> {
    if *delta == Delta::ZERO || size == 0 {
        return Ok(Delta::ZERO);
    }
    if size == 1 {
        return Ok(delta.clone());
    }
    let (epsilon, delta) = (epsilon.as_rational(), delta.as_rational());
    if epsilon.is_zero() {
        return Delta::exactly_or_up(&(delta * Rational::from(size)));
    }
    let total = epsilon * Rational::from(size);
    // A δ has at most 300 places, and e^700 > 1e304: from there on the group's δ is above 1.
    if &total - epsilon > Rational::from(700u32) {
        return Err(Error::DeltaTooLarge {
            text: "a group's δ".to_owned(),
        });
    }
    // The difference e^ε − 1 loses −log₂ ε bits.
    let bits = 160 + exact::floor_log2(epsilon).unsigned_abs() * 2;
    let one = Interval::from_integer(1, bits);
    let less_one = |exponent: &Rational| Interval::exp_of(exponent, bits).sub(&one);
    let factor = less_one(&total)
        .div(&less_one(epsilon))
        .ok_or(Error::Undecided { what: "a group's δ" })?;
    Delta::rounded_up(&(factor.upper() * delta))
}

impl fmt::Display for Promise {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Promise::Pure(epsilon) => write!(formatter, "ε = {epsilon}"),
            Promise::Approximate(epsilon, delta) => write!(formatter, "ε = {epsilon}, δ = {delta}"),
            Promise::Concentrated(rho) => write!(formatter, "ρ = {rho}"),
        }
    }
}

/// A promise to somebody. The only form in which a promise leaves: there is no guarantee without a [`PrivacyUnit`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guarantee {
    promise: Promise,
    unit: PrivacyUnit,
}

impl Guarantee {
    /// `promise` to `unit`.
    pub fn new(promise: Promise, unit: PrivacyUnit) -> Self {
        Self { promise, unit }
    }

    /// What is promised.
    pub fn promise(&self) -> &Promise {
        &self.promise
    }

    /// To whom.
    pub fn unit(&self) -> &PrivacyUnit {
        &self.unit
    }

    /// Both guarantees together: see [`Promise::compose`].
    ///
    /// # Errors
    /// When they are about different units, or their promises do not add up.
    pub fn compose(&self, other: &Self) -> Result<Self, Error> {
        if self.unit != other.unit {
            return Err(Error::DifferentUnits {
                left: self.unit.to_string(),
                right: other.unit.to_string(),
            });
        }
        Ok(Self::new(
            self.promise.compose(&other.promise)?,
            self.unit.clone(),
        ))
    }

    /// The guarantee of anything computed from the release alone: the same one.
    ///
    /// Theorem (Dwork and Roth 2014): for any f, also random, P[f(M(x)) ∈ S] = E[P[M(x) ∈ f⁻¹(S)]] and the
    /// bound holds for each preimage, hence for the average. For ρ it is the data-processing inequality.
    #[must_use]
    pub fn post_processed(self) -> Self {
        self
    }

    /// The guarantee to any `size` units together: see [`Promise::for_group`]. It is about another unit, and says so.
    ///
    /// # Errors
    /// When nothing is left to promise.
    pub fn for_group(&self, size: u32) -> Result<Self, Error> {
        let promise = self.promise.for_group(size)?;
        if size == 1 {
            return Ok(Self::new(promise, self.unit.clone()));
        }
        let members = match self.unit.period {
            None => self.unit.whose.clone(),
            Some(period) => format!("{} of a {}", period.name(), self.unit.whose),
        };
        let whose = format!("group of {size} ({members})");
        Ok(Self::new(promise, PrivacyUnit::new(whose, self.unit.neighbors)))
    }

    /// What is left for a whole year of somebody whose periods are the units, at the worst: that of a group of as many periods as a year touches. `None` where units have no period, or are years.
    ///
    /// What was released over the year may promise more: an odometer that knows it tells.
    ///
    /// # Errors
    /// When nothing is left to promise.
    pub fn over_a_year(&self) -> Option<Result<Self, Error>> {
        let periods = self.unit.period?.in_a_year();
        let year = || PrivacyUnit::new(format!("year of a {}", self.unit.whose), self.unit.neighbors);
        let promise = || Ok(Self::new(self.promise.for_group(periods)?, year()));
        (periods > 1).then(promise)
    }

    /// The same release's guarantee when neighbours differ by a changed unit.
    ///
    /// A change is a removal and an addition, so it is a group of two under [`Neighbors::AddRemove`] (`distance` says so).
    ///
    /// # Errors
    /// When nothing is left to promise.
    pub fn under_change_one(&self) -> Result<Self, Error> {
        match self.unit.neighbors {
            Neighbors::ChangeOne => Ok(self.clone()),
            Neighbors::AddRemove => Ok(Self::new(
                self.promise.for_group(2)?,
                PrivacyUnit {
                    neighbors: Neighbors::ChangeOne,
                    ..self.unit.clone()
                },
            )),
        }
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} for {}", self.promise, self.unit)?;
        match self.over_a_year() {
            None => Ok(()),
            Some(Ok(year)) => write!(formatter, " (over a year at most {})", year.promise),
            Some(Err(_)) => write!(formatter, " (over a year this promises nothing)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::ratio;

    fn epsilon(text: &str) -> Epsilon {
        Epsilon::parse(text).unwrap()
    }

    fn delta(text: &str) -> Delta {
        Delta::parse(text).unwrap()
    }

    #[test]
    fn promises_add_up() {
        let pure = Promise::Pure(epsilon("0.1"));
        let approximate = Promise::Approximate(epsilon("0.2"), delta("1e-6"));
        let concentrated = Promise::Concentrated(Rho::parse("0.5").unwrap());
        assert_eq!(pure.compose(&pure).unwrap(), Promise::Pure(epsilon("0.2")));
        assert_eq!(
            pure.compose(&approximate).unwrap(),
            Promise::Approximate(epsilon("0.3"), delta("1e-6"))
        );
        assert_eq!(
            pure.compose(&concentrated).unwrap(),
            // 0.1·tanh(0.05), rounded up.
            Promise::Concentrated(Rho::parse("0.504995837495788").unwrap())
        );
        assert_eq!(approximate.compose(&concentrated), Err(Error::MixedPromises));
        let careless = Promise::Approximate(epsilon("0"), delta("0.5"));
        assert!(matches!(
            careless.compose(&careless),
            Err(Error::DeltaTooLarge { .. })
        ));
    }

    #[test]
    fn units_must_agree() {
        let promise = Promise::Pure(epsilon("1"));
        let person = Guarantee::new(promise.clone(), PrivacyUnit::new("person", Neighbors::AddRemove));
        let row = Guarantee::new(promise, PrivacyUnit::new("row", Neighbors::AddRemove));
        assert!(matches!(person.compose(&row), Err(Error::DifferentUnits { .. })));
        assert_eq!(
            person.compose(&person).unwrap().to_string(),
            "ε = 2 for each person, added or removed"
        );
        let daily = Guarantee::new(
            Promise::Pure(epsilon("0.01")),
            PrivacyUnit::new("person", Neighbors::AddRemove).in_each(crate::Period::Day),
        );
        assert_eq!(
            daily.to_string(),
            "ε = 0.01 for each day of each person, added or removed (over a year at most ε = 3.66)"
        );
        assert_eq!(
            daily.for_group(2).unwrap().to_string(),
            "ε = 0.02 for each group of 2 (day of a person), added or removed"
        );
        assert!(
            daily.compose(&person).is_err(),
            "a day is another unit than a life"
        );
        assert!(person.over_a_year().is_none());
        let leaky = Promise::Approximate(epsilon("1"), delta("1e-6"));
        let leaky = Guarantee::new(leaky, daily.unit().clone());
        assert!(leaky.to_string().ends_with("(over a year this promises nothing)"));
        let family = person.for_group(4).unwrap();
        assert_eq!(
            family.to_string(),
            "ε = 4 for each group of 4 (person), added or removed"
        );
        assert_eq!(person.for_group(1).unwrap(), person);
        let changed = person.under_change_one().unwrap();
        assert_eq!(
            changed.to_string(),
            "ε = 2 for each person, whose data may change"
        );
        assert_eq!(changed.under_change_one().unwrap(), changed);
        assert_eq!(person.clone().post_processed(), person);
    }

    #[test]
    fn a_group_of_k_is_never_worse_than_the_textbook() {
        for (e, d) in [
            ("0.1", "1e-6"),
            ("1", "1e-9"),
            ("3", "1e-12"),
            ("1e-9", "1e-6"),
            ("0", "1e-6"),
        ] {
            for k in 1..=5u32 {
                let Promise::Approximate(_, ours) =
                    Promise::Approximate(epsilon(e), delta(d)).for_group(k).unwrap()
                else {
                    panic!("stays approximate");
                };
                // k·e^((k−1)ε)·δ.
                let exponent = epsilon(e).as_rational() * ratio(i64::from(k) - 1, 1);
                let textbook =
                    Interval::exp_of(&exponent, 128).upper() * Rational::from(k) * delta(d).as_rational();
                // 15 digits of rounding up are all that can be between them when they coincide.
                assert!(*ours.as_rational() <= textbook * (ratio(1, 1) + ratio(1, 100_000_000_000_000)));
            }
        }
        assert!(
            Promise::Approximate(epsilon("10"), delta("1e-6"))
                .for_group(1000)
                .is_err()
        );
        assert!(
            Promise::Approximate(epsilon("1e29"), delta("1e-300"))
                .for_group(u32::MAX)
                .is_err()
        );
    }

    #[test]
    fn covering() {
        let limit = Promise::Approximate(epsilon("1"), delta("1e-6"));
        assert!(limit.covers(&Promise::Pure(epsilon("1"))));
        assert!(!limit.covers(&Promise::Pure(epsilon("1.1"))));
        assert!(limit.covers(&Promise::Pure(epsilon("1.000001"))));
        assert!(limit.covers(&Promise::Concentrated(Rho::parse("0.01").unwrap())));
        assert!(!limit.covers(&Promise::Concentrated(Rho::parse("0.1").unwrap())));
        assert!(!Promise::Pure(epsilon("9")).covers(&limit));
        assert!(Promise::Concentrated(Rho::parse("0.5").unwrap()).covers(&Promise::Pure(epsilon("1"))));
    }
}
