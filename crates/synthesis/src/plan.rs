//! What will run: known before anything is charged.

use crate::Error;
use crate::impossible::{self, Impossible};
use crate::methods::Rounds;
use crate::model::tree::MOST_ATTRIBUTES;
use accounting::{Delta, Epsilon, PrivacyUnit, Rho, epsilon_of_concentrated};
use exact::{Rational, to_f64_nearest};
use mechanism::{AdaptiveTables, Stated};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tables::Domain;

/// How tables are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Each attribute alone: rows whose attributes have nothing to do with each other.
    Independent,
    /// Each attribute alone, then the pairs of a tree that joins all attributes, chosen by how much they depend on each other.
    Mst,
    /// Each attribute alone, then round by round the wanted table that is fitted worst, in the light of how exactly it could be measured.
    #[default]
    Aim,
}

/// A table that matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// By which attributes, as places in ascending order.
    pub attributes: Vec<usize>,
    /// How much it counts beside the others.
    pub weight: u32,
}

/// What is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How tables are chosen.
    pub method: Method,
    /// Which tables matter; none for all by three attributes.
    pub wanted: Vec<Wanted>,
    /// How many cells the model may have.
    pub cells: u64,
    /// Which rows cannot be: none is ever made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub impossible: Vec<Impossible>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: Method::Aim,
            wanted: Vec::new(),
            cells: 200_000,
            impossible: Vec::new(),
        }
    }
}

/// Rows to be made, before anything is charged.
#[derive(Clone, Debug)]
pub struct Plan {
    domain: Domain,
    settings: Settings,
    mechanism: AdaptiveTables,
}

impl Plan {
    /// At a cost of ρ for a unit that has at most `rows` rows.
    ///
    /// # Errors
    /// When the domain has no attributes or too many, a wanted table is none of it, rules leave no row or need too large a model, or the mechanism refuses.
    pub fn new(
        domain: Domain,
        settings: Settings,
        rho: Rho,
        rows: u64,
        unit: &PrivacyUnit,
    ) -> Result<Self, Error> {
        let sizes: Vec<u32> = domain.attributes().iter().map(tables::Attribute::size).collect();
        if sizes.is_empty() {
            return Err(Error::NoAttributes);
        }
        if sizes.len() > MOST_ATTRIBUTES {
            return Err(Error::TooManyAttributes {
                count: sizes.len(),
                most: MOST_ATTRIBUTES,
            });
        }
        let cells: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
        if cells > settings.cells {
            return Err(Error::TooLarge {
                cells,
                most: settings.cells,
            });
        }
        let known = |wanted: &Wanted| {
            wanted.weight > 0
                && wanted.attributes.windows(2).all(|pair| pair[0] < pair[1])
                && wanted.attributes.last().is_none_or(|last| *last < sizes.len())
        };
        if !settings.wanted.iter().all(known) {
            return Err(Error::NoSuchTable);
        }
        impossible::check(&settings.impossible, &sizes, settings.cells)?;
        let settings = Settings {
            wanted: match settings.wanted.is_empty() {
                true => all_by(sizes.len(), 3),
                false => settings.wanted,
            },
            ..settings
        };
        let strategy = Rounds::new(&sizes, &settings, &rho, rows, unit.neighbors)?;
        let mechanism = AdaptiveTables::new(rho, sizes, rows, unit.neighbors, Arc::new(strategy))?;
        Ok(Self {
            domain,
            settings,
            mechanism,
        })
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// What is to be made; wanted tables are listed.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The mechanism, for an account.
    pub fn mechanism(&self) -> &AdaptiveTables {
        &self.mechanism
    }

    /// The standard deviation of the noise on a count by one attribute, which is what is measured first.
    pub fn first_deviation(&self) -> f64 {
        let squared = to_f64_nearest(self.mechanism.terms().sensitivity().l2_squared());
        let rho = to_f64_nearest(self.mechanism.rho().as_rational());
        let count = self.mechanism.sizes().len();
        crate::methods::first_variance(self.settings.method, count, squared, rho).sqrt()
    }
}

/// All tables by so many attributes; by all of them, where there are fewer.
fn all_by(attributes: usize, ways: usize) -> Vec<Wanted> {
    let mut chosen: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..ways.min(attributes) {
        chosen = chosen
            .into_iter()
            .flat_map(|begun| {
                let from = begun.last().map_or(0, |last| last + 1);
                (from..attributes).map(move |next| {
                    let mut longer = begun.clone();
                    longer.push(next);
                    longer
                })
            })
            .collect();
    }
    chosen
        .into_iter()
        .map(|attributes| Wanted {
            attributes,
            weight: 1,
        })
        .collect()
}

/// The largest ρ, to five digits, whose ε at this δ is at most this.
///
/// # Errors
/// When δ is zero, or ε so small that no ρ is found.
pub fn rho_for(epsilon: &Epsilon, delta: &Delta) -> Result<Rho, Error> {
    // ε ≥ ρ for every δ that is worth naming, and ρ of a millionth of ε² is below all that anybody asks for.
    let (mut low, mut high) = (Rational::ZERO, epsilon.as_rational().clone());
    for _ in 0..60 {
        let middle = (&low + &high) / Rational::from(2u8);
        let rho = Rho::rounded_down(&middle)?;
        if rho != Rho::ZERO && epsilon_of_concentrated(&rho, delta)? <= *epsilon {
            low = middle;
        } else {
            high = middle;
        }
        if &high - &low < &low * exact::ratio(1, 100_000) {
            break;
        }
    }
    let rho = Rho::rounded_down(&low)?;
    match rho == Rho::ZERO {
        true => Err(accounting::Error::NeedsDelta.into()),
        false => Ok(rho),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rho_is_the_largest_that_keeps_epsilon() {
        let delta = Delta::parse("1e-6").unwrap();
        for text in ["0.1", "1", "5"] {
            let epsilon = Epsilon::parse(text).unwrap();
            let rho = rho_for(&epsilon, &delta).unwrap();
            assert!(epsilon_of_concentrated(&rho, &delta).unwrap() <= epsilon);
            let more = Rho::rounded_up(&(rho.as_rational() * exact::ratio(10_003, 10_000))).unwrap();
            assert!(epsilon_of_concentrated(&more, &delta).unwrap() > epsilon);
        }
        assert!(rho_for(&Epsilon::parse("1").unwrap(), &Delta::ZERO).is_err());
    }

    #[test]
    fn tables_are_listed() {
        assert_eq!(all_by(4, 3).len(), 4);
        assert_eq!(all_by(10, 3).len(), 120);
        assert_eq!(
            all_by(2, 3),
            [Wanted {
                attributes: vec![0, 1],
                weight: 1
            }]
        );
    }
}
