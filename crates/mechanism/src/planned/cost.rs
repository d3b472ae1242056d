//! What a planned release costs, exactly.

use super::part::{Fraction, Inner, PlannedPart};
use super::{PlannedAttribute, PlannedSet};
use accounting::Neighbors;
use exact::{Natural, Rational, power_of_two};

/// Sums are kept in units of 2^-this, rounded up.
const BITS: i32 = 160;

/// An upper bound on μ² = sup Σ_A ‖P_A·M_A·(x − x')‖²/σ_A² over neighbours: see [`PlannedTables`](super::PlannedTables).
pub(super) fn squared_loss(
    attributes: &[PlannedAttribute],
    sets: &[PlannedSet],
    rows: u64,
    neighbors: Neighbors,
) -> Rational {
    let inner: Vec<Vec<Inner>> = attributes
        .iter()
        .map(|attribute| attribute.iter().map(PlannedPart::inner).collect())
        .collect();
    let mut units = Natural::ZERO;
    for set in sets {
        let parts: Vec<&Inner> = set
            .parts
            .iter()
            .map(|(place, part)| &inner[*place][*part])
            .collect();
        units += units_of(set, &moved(&parts, neighbors));
    }
    // A sum of r vectors is at most r times as long as the longest.
    let rows = Rational::from(rows);
    Rational::from(units) * power_of_two(-BITS) * &rows * &rows
}

/// What a set costs when one row moves it so far: ‖…‖²/σ² in units, rounded up. Plans have hundreds of thousands of sets, so no fraction is reduced.
fn units_of(set: &PlannedSet, (numerator, denominator): &Fraction) -> Natural {
    let mut above = numerator.clone();
    let mut below = denominator * Natural::from(set.mantissa);
    let bits = BITS - 2 * set.exponent;
    if bits >= 0 {
        above <<= bits.unsigned_abs() as usize;
    } else {
        below <<= bits.unsigned_abs() as usize;
    }
    (above + &below - Natural::ONE) / below
}

/// ‖P_A·M_A·(x − x')‖² at most, for one row that comes or goes, or for one that comes and one that goes.
fn moved(parts: &[&Inner], neighbors: Neighbors) -> Fraction {
    // P_A·M_A·e_j is a product over attributes, and so are inner products of two of these.
    let factors = parts.iter().map(|inner| &inner.most);
    let one = product(factors);
    if neighbors == Neighbors::AddRemove {
        return one;
    }
    // ‖p − p'‖² = ‖p‖² + ‖p'‖² − 2⟨p, p'⟩. An inner product is negative only if an odd number of its factors is; each of these is at most
    // `opposite` ≤ `most` in size, so −⟨p, p'⟩ is at most the largest product with one of them.
    let rational = |(above, below): &Fraction| Rational::from(above.clone()) / Rational::from(below.clone());
    let one = rational(&one);
    let opposite = (0..parts.len())
        .map(|place| {
            let factor = |(other, inner): (usize, &&Inner)| {
                rational(if other == place {
                    &inner.opposite
                } else {
                    &inner.most
                })
            };
            parts
                .iter()
                .enumerate()
                .map(factor)
                .fold(Rational::ONE, |product, factor| product * factor)
        })
        .max()
        .unwrap_or(-Rational::ONE);
    // Where rows only come, or only go, one row moves it as under add/remove.
    let (above, below) = (Rational::from(2u8) * (&one + opposite)).max(one).into_parts();
    (Natural::try_from(above).expect("not negative"), below)
}

fn product<'a>(factors: impl Iterator<Item = &'a Fraction>) -> Fraction {
    factors.fold(
        (Natural::ONE, Natural::ONE),
        |(above, below), (numerator, denominator)| (above * numerator, below * denominator),
    )
}

/// An upper bound on Σ_A ‖M_A·(x − x')‖₁/b_A over neighbours, where every part is cells, so that each row is in one.
pub(super) fn absolute_loss(sets: &[PlannedSet], rows: u64, neighbors: Neighbors) -> Rational {
    let moved = match neighbors {
        Neighbors::AddRemove => Rational::from(rows),
        Neighbors::ChangeOne => Rational::from(rows) * Rational::from(2u8),
    };
    let mut total = Rational::ZERO;
    for set in sets {
        total += &moved / set.variance();
    }
    total
}
