//! Guarantees as people read them.

use accounting::{Delta, Epsilon, Guarantee, Promise, Rho};
use exact::Rational;

/// Significant digits of ε and δ that people read.
const COST_DIGITS: u32 = 6;

/// A guarantee whose numbers people can read: rounded up, so that it stays true.
pub fn readable(guarantee: &Guarantee) -> Guarantee {
    let short = |value: &Rational| exact::decimal_at_least(value, COST_DIGITS);
    let epsilon = |epsilon: &Epsilon| Epsilon::rounded_up(&short(epsilon.as_rational()));
    let promise = match guarantee.promise() {
        Promise::Pure(value) => epsilon(value).map(Promise::Pure),
        Promise::Approximate(value, delta) => epsilon(value).and_then(|epsilon| {
            let delta = Delta::rounded_up(&short(delta.as_rational()))?;
            Ok(Promise::Approximate(epsilon, delta))
        }),
        Promise::Concentrated(rho) => Rho::rounded_up(&short(rho.as_rational())).map(Promise::Concentrated),
    };
    match promise {
        Ok(promise) => Guarantee::new(promise, guarantee.unit().clone()),
        Err(_) => guarantee.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::{Neighbors, PrivacyUnit};

    #[test]
    fn a_guarantee_is_shortened_upwards() {
        let unit = || PrivacyUnit::new("person", Neighbors::AddRemove);
        let pure = |text: &str| Promise::Pure(Epsilon::parse(text).unwrap());
        let approximate = |epsilon: &str, delta: &str| {
            Promise::Approximate(Epsilon::parse(epsilon).unwrap(), Delta::parse(delta).unwrap())
        };
        for (promise, short) in [
            (pure("0.5"), "ε = 0.5 for each person, added or removed"),
            (
                pure("0.499999999534338"),
                "ε = 0.5 for each person, added or removed",
            ),
            (
                approximate("1.0000001", "1.5e-9"),
                "ε = 1.00001, δ = 1.5e-9 for each person, added or removed",
            ),
            (
                Promise::Concentrated(Rho::parse("2").unwrap()),
                "ρ = 2 for each person, added or removed",
            ),
        ] {
            assert_eq!(readable(&Guarantee::new(promise, unit())).to_string(), short);
        }
    }
}
