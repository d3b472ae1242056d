//! Telling sums apart, under a key.
//!
//! The noise of a step is chosen by its sum, so each sum is read once more; a cryptographic hash would take as long as half the noise. What is needed is less: that two different sums have different fingerprints,
//! but with a probability that nobody has to think about, where the key is secret and fingerprints are never shown. A polynomial over a field does that: two different lists of n numbers agree at a random point with
//! probability at most n/p, and here at two points of the field with p = 2^61 − 1. A pseudorandom function of such a fingerprint is a pseudorandom function of the list.

use super::summed::CHUNK;

/// 2^61 − 1, a prime.
const PRIME: u64 = (1 << 61) - 1;
/// Chains that are computed side by side, each over every fourth number.
const LANES: usize = 4;
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
    /// A sum has a fingerprint for each so many of its numbers.
    pub const CHUNK: usize = CHUNK;

    pub(super) fn new(key: &[u8; 32]) -> Self {
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
        let wide = values
            .iter()
            .fold(false, |any, value| any | (value.unsigned_abs() >= MOST));
        if wide {
            written(self.0.map(|point| halves(point, values)), values.len(), true)
        } else {
            Self::of_polynomials(self.0.map(|point| whole(point, values)), values.len())
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

/// Σ (value + 2^59)·point^(n−1−place); all numbers are below 2^60, which is below the prime.
fn whole(point: u64, values: &[i64]) -> u64 {
    let fourth = (1..LANES).fold(point, |power, _| step(power, point, 0));
    let mut chains = [0u64; LANES];
    let mut groups = values.chunks_exact(LANES);
    for group in &mut groups {
        for (chain, value) in chains.iter_mut().zip(group) {
            *chain = step(*chain, fourth, (*value + MOST as i64) as u64);
        }
    }
    // The chains, then what is left, as digits of one more polynomial.
    let ends = chains.iter().copied();
    let rest = groups
        .remainder()
        .iter()
        .map(|value| (*value + MOST as i64) as u64);
    reduced(ends.chain(rest).fold(0, |sum, digit| step(sum, point, digit)))
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
        for len in [0, 1, 3, 4, 20, 23] {
            let digits = values[..len].iter().map(|value| shifted(*value));
            assert_eq!(whole(point, &values[..len]), by_hand(point, digits));
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
    fn lists_that_differ_anywhere_are_told_apart() {
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
