//! Telling sums apart, under a key.
//!
//! The noise of a step is chosen by its sum, so each sum is read once more; a cryptographic hash would take as long as half the noise. What is needed is less: that two different sums have different fingerprints,
//! but with a probability that nobody has to think about, where the key is secret and fingerprints are never shown. A polynomial over a field does that: two different lists of n numbers agree at a random point with
//! probability at most n/p, and here at two points of the field with p = 2^61 − 1. A pseudorandom function of such a fingerprint is a pseudorandom function of the list.

use super::summed::CHUNK;

/// 2^61 − 1, a prime.
const PRIME: u64 = (1 << 61) - 1;
/// Numbers that are added up before the sum is brought back into the field.
const GROUP: usize = 8;
/// Numbers beyond this are read in two halves, so that equal remainders mean equal numbers.
const MOST: u64 = 1 << 59;

/// a·b + c modulo 2^61 − 1, for a, b < 2^61 + 8 and c < 2^62; the result is below 2^61 + 8.
fn step(a: u64, b: u64, c: u64) -> u64 {
    // 2^61 = 1 in the field: the high part of the product counts once. It is below 2^62 + 2^6.
    let product = u128::from(a) * u128::from(b) + u128::from(c);
    let folded = (product as u64 & PRIME) + (product >> 61) as u64;
    (folded & PRIME) + (folded >> 61)
}

/// What tells lists of numbers apart, under a key: the polynomial Σ (valueᵢ + 2^59)·xⁿ⁻¹⁻ⁱ over the field with 2^61 − 1 elements, at two secret points x.
pub struct Fingerprint([u64; 2]);

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Fingerprint(..)")
    }
}

impl Fingerprint {
    /// A sum has a fingerprint for each chunk of its numbers.
    pub const CHUNK: usize = CHUNK;

    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let word = |place: usize| {
            let bytes = key[8 * place..8 * place + 8].try_into().expect("eight bytes");
            // 61 uniform bits; 2^61 − 1 counts as 0.
            u64::from_le_bytes(bytes) >> 3
        };
        Self([word(0), word(1)])
    }

    /// The points: as secret as the key.
    pub fn points(&self) -> [u64; 2] {
        self.0
    }

    /// The fingerprint of a list.
    pub fn of(&self, values: &[i64]) -> [u8; 32] {
        match whole(self.0, values) {
            Some(polynomials) => Self::of_polynomials(polynomials, values.len()),
            None => written(self.0.map(|point| halves(point, values)), values.len(), true),
        }
    }

    /// The fingerprint of a list of `len` numbers, all below 2^59 in magnitude, whose polynomial has these values at the two points, each below 2^61 − 1.
    pub fn of_polynomials(values: [u64; 2], len: usize) -> [u8; 32] {
        written(values, len, false)
    }
}

fn written(values: [u64; 2], len: usize, wide: bool) -> [u8; 32] {
    let mut print = [0u8; 32];
    print[..8].copy_from_slice(&values[0].to_le_bytes());
    print[8..16].copy_from_slice(&values[1].to_le_bytes());
    print[16..24].copy_from_slice(&(len as u64).to_le_bytes());
    print[24] = u8::from(wide);
    print
}

/// Σ (value + 2^59)·point^(n−1−place) at both points; `None` where a number is too large for that.
fn whole(points: [u64; 2], values: &[i64]) -> Option<[u64; 2]> {
    // point^8, point^7, …, point.
    let powers = points.map(|point| {
        let mut powers = [point; GROUP];
        for place in (0..GROUP - 1).rev() {
            powers[place] = step(powers[place + 1], point, 0);
        }
        powers
    });
    let mut sums = [0u64; 2];
    let mut wide = false;
    let mut digit = |value: i64| {
        let digit = value.wrapping_add(MOST as i64) as u64;
        // 0 and all from 2^60 on: magnitudes of at least 2^59.
        wide |= digit.wrapping_sub(1) >= 2 * MOST - 1;
        digit
    };
    let (groups, rest) = values.as_chunks::<GROUP>();
    for group in groups {
        let digits = group.map(&mut digit);
        for (sum, powers) in sums.iter_mut().zip(&powers) {
            // Below 2^122 + 2^66 + 7·2^60·(2^61 + 8) + 2^60 < 2^125, so that both halves and their sum fit 64 bits. Where a digit is larger than that, it does not matter what comes out.
            let first = u128::from(*sum) * u128::from(powers[0]);
            let products = digits.iter().zip(&powers[1..]);
            let product = products.fold(first, |total, (digit, power)| {
                total.wrapping_add(u128::from(*digit) * u128::from(*power))
            });
            let product = product.wrapping_add(u128::from(digits[GROUP - 1]));
            let folded = (product as u64 & PRIME).wrapping_add((product >> 61) as u64);
            *sum = (folded & PRIME) + (folded >> 61);
        }
    }
    for value in rest {
        let digit = digit(*value);
        for (sum, point) in sums.iter_mut().zip(points) {
            *sum = step(*sum, point, digit & (2 * MOST - 1));
        }
    }
    (!wide).then(|| sums.map(reduced))
}

/// The same over the halves of each number.
fn halves(point: u64, values: &[i64]) -> u64 {
    let digits = values
        .iter()
        .flat_map(|value| [*value as u64 >> 32, *value as u64 & 0xffff_ffff]);
    reduced(digits.fold(0, |sum, digit| step(sum, point, digit)))
}

fn reduced(value: u64) -> u64 {
    value % PRIME
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Horner's rule in big steps, with nothing clever.
    fn by_hand(point: u64, digits: impl Iterator<Item = u64>) -> u64 {
        digits.fold(0u128, |sum, digit| {
            (sum * u128::from(point % PRIME) + u128::from(digit)) % u128::from(PRIME)
        }) as u64
    }

    #[test]
    fn it_is_the_polynomial() {
        let point = 0x1234_5678_9abc_def1 >> 3;
        let values: Vec<i64> = (0..23i64)
            .map(|place| place * place * 1_000_003 - 77_777_777)
            .collect();
        let shifted = |value: i64| (value + MOST as i64) as u64;
        for len in [0, 1, 7, 8, 16, 23] {
            let digits = || values[..len].iter().map(|value| shifted(*value));
            let truth = [point, PRIME].map(|point| by_hand(point, digits()));
            assert_eq!(whole([point, PRIME], &values[..len]), Some(truth));
        }
        // The largest digits and points: nothing overflows.
        let largest = [MOST as i64 - 1; 3 * GROUP];
        let digits = || largest.iter().map(|value| shifted(*value));
        assert_eq!(
            whole([PRIME - 1, PRIME], &largest),
            Some([PRIME - 1, PRIME].map(|point| by_hand(point, digits())))
        );
        for (wide, place) in [
            (MOST as i64, 3),
            (-(MOST as i64), 20),
            (i64::MIN, 0),
            (i64::MAX, 22),
        ] {
            let mut values = values.clone();
            values[place] = wide;
            assert_eq!(whole([point; 2], &values), None, "{wide}");
        }
        for extreme in [PRIME, PRIME - 1, 0, 1] {
            let big = u128::from(extreme) * u128::from(extreme) + u128::from(PRIME);
            assert_eq!(
                reduced(step(extreme, extreme, PRIME)),
                (big % u128::from(PRIME)) as u64
            );
        }
    }

    #[test]
    fn lists_that_differ_anywhere_are_reported_apart() {
        let points = Fingerprint::new(&[0xa7; 32]);
        let list: Vec<i64> = (0..101).collect();
        let print = points.of(&list);
        assert_eq!(print, points.of(&list));
        assert_ne!(print, Fingerprint::new(&[0xa8; 32]).of(&list));
        for place in 0..list.len() {
            for change in [1, -1, 1 << 40, i64::MAX, i64::MIN] {
                let mut other = list.clone();
                other[place] = other[place].wrapping_add(change);
                assert_ne!(print, points.of(&other), "{place} {change}");
            }
        }
        let mut turned = list.clone();
        turned.swap(3, 7);
        assert_ne!(print, points.of(&turned));
        assert_ne!(print, points.of(&list[..100]));
        assert_ne!(points.of(&[0]), points.of(&[]));
        // Numbers with the same remainder.
        assert_ne!(points.of(&[5]), points.of(&[5 + PRIME as i64]));
        assert_ne!(points.of(&[-(MOST as i64), 0]), points.of(&[0, 0]));
    }
}
