//! From codes back to values: by declared bins and lists, never by what data had.

use noise::Seeded;
use serde::{Deserialize, Serialize};

/// How the codes of an attribute are turned into values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Each code is a declared value.
    Listed {
        /// How many there are.
        values: u32,
        /// Whether one more code is NULL.
        null: bool,
    },
    /// Bins of whole numbers, days or moments: from each edge to below the next.
    Whole {
        /// The edges, in ascending order.
        edges: Vec<i64>,
        /// Whether the last edge is in the last bin.
        closed: bool,
        /// Whether the first bin is what is below the first edge, and the last what is not below the last: both get the edge itself.
        open: bool,
        /// Whether one more code is NULL.
        null: bool,
    },
    /// Bins of numbers: from each edge to below the next.
    Real {
        /// The edges, in ascending order.
        edges: Vec<f64>,
        /// As for whole numbers.
        open: bool,
        /// Whether one more code is NULL.
        null: bool,
    },
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decoded {
    /// NULL.
    Null,
    /// The declared value of this place.
    Listed(u32),
    /// A whole number, a day or a moment.
    Whole(i64),
    /// A number.
    Real(f64),
}

impl Field {
    /// How many codes there are.
    pub fn codes(&self) -> u32 {
        let (own, null) = match self {
            Self::Listed { values, null } => (*values, null),
            Self::Whole {
                edges, open, null, ..
            } => (bins(edges.len(), *open), null),
            Self::Real { edges, open, null } => (bins(edges.len(), *open), null),
        };
        own + u32::from(*null)
    }

    /// A value for each code; any of a bin is as likely. The same seed gives the same values. A code that there is not is NULL.
    pub fn decoded(&self, codes: &[u32], seed: u64) -> Vec<Decoded> {
        let mut random = Seeded::new(seed);
        codes.iter().map(|code| self.one(*code, &mut random)).collect()
    }

    fn one(&self, code: u32, random: &mut Seeded) -> Decoded {
        match self {
            Self::Listed { values, .. } if code < *values => Decoded::Listed(code),
            Self::Listed { .. } => Decoded::Null,
            Self::Whole {
                edges, closed, open, ..
            } => match bin(edges.len(), *open, code) {
                Some(Bin::Edge(edge)) => Decoded::Whole(edges[edge]),
                Some(Bin::Between(low)) => {
                    let last = *closed && low + 2 == edges.len();
                    let width = edges[low + 1]
                        .abs_diff(edges[low])
                        .saturating_add(u64::from(last));
                    let more = random.below(width.max(1));
                    Decoded::Whole(edges[low].wrapping_add_unsigned(more))
                }
                None => Decoded::Null,
            },
            Self::Real { edges, open, .. } => match bin(edges.len(), *open, code) {
                Some(Bin::Edge(edge)) => Decoded::Real(edges[edge]),
                Some(Bin::Between(low)) => {
                    let share = random.unit();
                    let value = edges[low] * (1.0 - share) + edges[low + 1] * share;
                    // Rounding may reach the next edge, which is in the next bin.
                    let below = value < edges[low + 1];
                    Decoded::Real(if below { value.max(edges[low]) } else { edges[low] })
                }
                None => Decoded::Null,
            },
        }
    }
}

enum Bin {
    /// What lies beyond this edge.
    Edge(usize),
    /// From this edge to the next.
    Between(usize),
}

fn bins(edges: usize, open: bool) -> u32 {
    u32::try_from(edges.saturating_sub(1) + if open { 2 } else { 0 }).unwrap_or(u32::MAX)
}

fn bin(edges: usize, open: bool, code: u32) -> Option<Bin> {
    if code >= bins(edges, open) {
        return None;
    }
    let code = code as usize;
    Some(match open {
        false => Bin::Between(code),
        true if code == 0 => Bin::Edge(0),
        true if code == edges => Bin::Edge(edges - 1),
        true => Bin::Between(code - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_of_their_bins() {
        let ages = Field::Whole {
            edges: vec![0, 18, 19, 65],
            closed: true,
            open: false,
            null: true,
        };
        assert_eq!(ages.codes(), 4);
        let codes: Vec<u32> = (0..4_000).map(|row| row % 4).collect();
        let values = ages.decoded(&codes, 3);
        assert_eq!(values, ages.decoded(&codes, 3));
        let of = |code: u32| -> Vec<i64> {
            let own = codes.iter().zip(&values).filter(|(other, _)| **other == code);
            own.map(|(_, value)| match value {
                Decoded::Whole(value) => *value,
                other => panic!("{other:?}"),
            })
            .collect()
        };
        let ends = |values: Vec<i64>| (values.iter().copied().min(), values.iter().copied().max());
        assert_eq!(ends(of(0)), (Some(0), Some(17)));
        assert_eq!(ends(of(1)), (Some(18), Some(18)));
        assert_eq!(
            ends(of(2)),
            (Some(19), Some(65)),
            "the last edge is in the last bin"
        );
        assert_eq!(values[3], Decoded::Null);
        assert_eq!(ages.decoded(&[9], 1), [Decoded::Null]);
    }

    #[test]
    fn what_lies_beyond_is_at_the_edge() {
        let open = Field::Whole {
            edges: vec![18, 65],
            closed: false,
            open: true,
            null: false,
        };
        assert_eq!(
            (open.codes(), open.decoded(&[0, 2], 1)),
            (3, vec![Decoded::Whole(18), Decoded::Whole(65)])
        );
        let real = Field::Real {
            edges: vec![0.0, 0.5, 2.0],
            open: false,
            null: false,
        };
        for value in real.decoded(&[1; 1000], 1) {
            assert!(matches!(value, Decoded::Real(value) if (0.5..2.0).contains(&value)));
        }
        let listed = Field::Listed {
            values: 2,
            null: true,
        };
        assert_eq!(
            listed.decoded(&[0, 1, 2], 1),
            [Decoded::Listed(0), Decoded::Listed(1), Decoded::Null]
        );
        let wide = Field::Whole {
            edges: vec![i64::MIN, i64::MAX],
            closed: true,
            open: false,
            null: false,
        };
        assert!(matches!(wide.decoded(&[0], 1)[0], Decoded::Whole(_)));
    }
}
