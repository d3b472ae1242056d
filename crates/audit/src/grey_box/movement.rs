//! How far an input moved between neighbours, and how far it may.

use exact::{Rational, format_decimal, from_f64, to_f64_nearest};
use std::collections::BTreeMap;
use std::fmt;

/// The exact input of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Numbers in a fixed order. How many there are is public.
    Vector(Vec<Rational>),
    /// Numbers by name, where a name that is missing counts as zero: groups, or how often each value occurs
    /// in a column.
    Named(BTreeMap<String, Rational>),
}

impl From<Rational> for Input {
    fn from(value: Rational) -> Self {
        Self::Vector(vec![value])
    }
}

impl From<Vec<Rational>> for Input {
    fn from(values: Vec<Rational>) -> Self {
        Self::Vector(values)
    }
}

impl From<i64> for Input {
    fn from(value: i64) -> Self {
        Self::Vector(vec![Rational::from(value)])
    }
}

impl From<Vec<i64>> for Input {
    fn from(values: Vec<i64>) -> Self {
        values.as_slice().into()
    }
}

impl From<&[i64]> for Input {
    fn from(values: &[i64]) -> Self {
        Self::Vector(values.iter().map(|value| Rational::from(*value)).collect())
    }
}

impl<K: ToString> FromIterator<(K, i64)> for Input {
    fn from_iter<I: IntoIterator<Item = (K, i64)>>(pairs: I) -> Self {
        let mut named: BTreeMap<String, Rational> = BTreeMap::new();
        for (name, value) in pairs {
            *named.entry(name.to_string()).or_insert(Rational::ZERO) += Rational::from(value);
        }
        Self::Named(named)
    }
}

impl Input {
    /// A float is the rational it stands for; what is not finite has no distance to anything, and gives
    /// `None`.
    pub fn float(value: f64) -> Option<Self> {
        from_f64(value).map(Self::from)
    }

    /// How far it is from another; `None` when they are not of one shape.
    pub fn movement(&self, other: &Self) -> Option<Movement> {
        let mut movement = Movement::default();
        match (self, other) {
            (Self::Vector(here), Self::Vector(there)) if here.len() == there.len() => {
                for (a, b) in here.iter().zip(there) {
                    movement.add(a - b);
                }
            }
            (Self::Named(here), Self::Named(there)) => {
                let zero = Rational::ZERO;
                for (name, a) in here {
                    movement.add(a - there.get(name).unwrap_or(&zero));
                }
                for (_, b) in there.iter().filter(|(name, _)| !here.contains_key(*name)) {
                    movement.add(b.clone());
                }
            }
            _ => return None,
        }
        Some(movement)
    }
}

/// The first few numbers, for a person to read.
impl fmt::Display for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        let (words, count) = match self {
            Self::Vector(values) => {
                if let [value] = values.as_slice() {
                    return formatter.write_str(&number(value));
                }
                let words: Vec<String> = values.iter().take(SHOWN).map(number).collect();
                (words, values.len())
            }
            Self::Named(values) => {
                let pair = |(name, value): (&String, &Rational)| format!("{name}: {}", number(value));
                (values.iter().take(SHOWN).map(pair).collect(), values.len())
            }
        };
        let more = if count > SHOWN {
            format!(", … ({count})")
        } else {
            String::new()
        };
        write!(formatter, "[{}{more}]", words.join(", "))
    }
}

/// A number as people write it: exactly where that is short.
pub(super) fn number(value: &Rational) -> String {
    let exact = format_decimal(value);
    if exact.len() <= 20 {
        exact
    } else {
        format!("{:.6}", to_f64_nearest(value))
    }
}

/// Ways to measure a movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// How many numbers moved: ℓ₀.
    Coordinates,
    /// The sum of all moves.
    L1,
    /// The sum of their squares: the square of ℓ₂.
    L2Squared,
    /// The largest move.
    LInfinity,
}

impl fmt::Display for Norm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Norm::Coordinates => "ℓ₀",
            Norm::L1 => "ℓ₁",
            Norm::L2Squared => "ℓ₂²",
            Norm::LInfinity => "ℓ∞",
        })
    }
}

/// How far an input moved, in every norm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Movement {
    /// ℓ₀.
    pub coordinates: u64,
    /// ℓ₁.
    pub l1: Rational,
    /// ℓ₂².
    pub l2_squared: Rational,
    /// ℓ∞.
    pub l_infinity: Rational,
}

impl Movement {
    fn add(&mut self, difference: Rational) {
        let moved = if difference < Rational::ZERO {
            -difference
        } else {
            difference
        };
        self.coordinates += u64::from(!moved.is_zero());
        self.l1 += &moved;
        self.l2_squared += &moved * &moved;
        self.l_infinity = self.l_infinity.clone().max(moved);
    }
}

/// How far one unit may move an input. A norm that is not stated is not looked at; if none is, the input must
/// not move at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    coordinates: Option<u64>,
    l1: Option<Rational>,
    l2_squared: Option<Rational>,
    l_infinity: Option<Rational>,
}

impl Limits {
    /// At most so far in ℓ₁.
    pub fn l1(limit: Rational) -> Self {
        Self {
            l1: Some(limit),
            ..Self::default()
        }
    }

    /// At most so far in the square of ℓ₂.
    pub fn l2_squared(limit: Rational) -> Self {
        Self {
            l2_squared: Some(limit),
            ..Self::default()
        }
    }

    /// Each number at most so far.
    pub fn l_infinity(limit: Rational) -> Self {
        Self {
            l_infinity: Some(limit),
            ..Self::default()
        }
    }

    /// At most this many numbers, as far as they like.
    pub fn coordinates(limit: u64) -> Self {
        Self {
            coordinates: Some(limit),
            ..Self::default()
        }
    }

    /// Both: where both state a norm, the other one's holds.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            coordinates: other.coordinates.or(self.coordinates),
            l1: other.l1.or(self.l1),
            l2_squared: other.l2_squared.or(self.l2_squared),
            l_infinity: other.l_infinity.or(self.l_infinity),
        }
    }

    /// The norm in which the movement exceeds its limit by the largest factor, that limit, and the movement
    /// in it.
    pub fn exceeded(&self, movement: &Movement) -> Option<(Norm, Rational, Rational)> {
        let stated = [
            (
                Norm::Coordinates,
                self.coordinates.map(Rational::from),
                Rational::from(movement.coordinates),
            ),
            (Norm::L1, self.l1.clone(), movement.l1.clone()),
            (
                Norm::L2Squared,
                self.l2_squared.clone(),
                movement.l2_squared.clone(),
            ),
            (
                Norm::LInfinity,
                self.l_infinity.clone(),
                movement.l_infinity.clone(),
            ),
        ];
        let nothing_stated = *self == Self::default();
        let exceeded = stated.into_iter().filter_map(|(norm, limit, moved)| {
            // If nothing is stated, the input must stay, and ℓ₁ tells whether it did.
            let limit = limit.or((nothing_stated && norm == Norm::L1).then_some(Rational::ZERO))?;
            (moved > limit).then_some((norm, limit, moved))
        });
        exceeded.max_by(|a, b| factor(&a.1, &a.2).total_cmp(&factor(&b.1, &b.2)))
    }
}

/// By what factor a movement exceeds its limit.
pub(super) fn factor(limit: &Rational, moved: &Rational) -> f64 {
    if limit.is_zero() {
        return f64::INFINITY;
    }
    to_f64_nearest(&(moved / limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::ratio;

    #[test]
    fn every_norm() {
        let moved = Input::from(vec![1, 2, 3])
            .movement(&Input::from(vec![1, 5, -1]))
            .unwrap();
        assert_eq!(moved.coordinates, 2);
        assert_eq!((moved.l1, moved.l2_squared), (ratio(7, 1), ratio(25, 1)));
        assert_eq!(moved.l_infinity, ratio(4, 1));
        assert_eq!(Input::from(vec![1]).movement(&Input::from(vec![1, 2])), None);
        assert!(Input::float(f64::NAN).is_none() && Input::float(0.1).is_some());
    }

    #[test]
    fn a_missing_name_counts_as_zero() {
        let here: Input = [("a", 3), ("b", 1), ("a", 1)].into_iter().collect();
        let there: Input = [("a", 4), ("c", 2)].into_iter().collect();
        for (one, other) in [(&here, &there), (&there, &here)] {
            let moved = one.movement(other).unwrap();
            assert_eq!((moved.coordinates, moved.l1), (2, ratio(3, 1)));
        }
        assert_eq!(here.movement(&Input::from(vec![4, 1])), None);
    }

    #[test]
    fn the_worst_norm_is_named_and_nothing_stated_means_stay() {
        let moved = Input::from(vec![0, 0])
            .movement(&Input::from(vec![3, 3]))
            .unwrap();
        assert_eq!(Limits::l1(ratio(6, 1)).exceeded(&moved), None);
        let both = Limits::l1(ratio(5, 1)).and(Limits::l_infinity(ratio(1, 1)));
        assert_eq!(
            both.exceeded(&moved),
            Some((Norm::LInfinity, ratio(1, 1), ratio(3, 1)))
        );
        assert_eq!(Limits::l2_squared(ratio(18, 1)).exceeded(&moved), None);
        assert_eq!(
            Limits::coordinates(1).exceeded(&moved).unwrap().0,
            Norm::Coordinates
        );
        assert_eq!(Limits::default().exceeded(&moved).unwrap().0, Norm::L1);
        assert_eq!(Limits::default().exceeded(&Movement::default()), None);
    }
}
