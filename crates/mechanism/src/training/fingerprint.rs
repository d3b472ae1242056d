//! Telling sums apart, under a key.
//!
//! The noise of a step is chosen by its sum, so each sum is read once more; a cryptographic hash would take as long as half the noise. What is needed is less: that two different sums have different fingerprints,
//! but with a probability that nobody has to think about, where the key is secret and fingerprints are never shown. A polynomial over a field does that: two different lists of n numbers agree at a random point with
//! probability at most n/p, and here at two points of the field with p = 2^61 − 1. A pseudorandom function of such a fingerprint is a pseudorandom function of the list.

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

/// The two points, from 32 secret bytes.
pub(super) struct Points([u64; 2]);

impl Points {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let word = |place: usize| {
            let bytes = key[8 * place..8 * place + 8].try_into().expect("eight bytes");
            // 61 uniform bits; 2^61 − 1 counts as 0.
            u64::from_le_bytes(bytes) >> 3
        };
        Self([word(0), word(1)])
    }

    /// The fingerprint of a list.
    pub(super) fn of(&self, values: &[i64]) -> [u8; 32] {
        let wide = values
            .iter()
            .fold(false, |any, value| any | (value.unsigned_abs() >= MOST));
        let mut print = [0u8; 32];
        let ends = self.0.map(|point| {
            if wide {
                halves(point, values)
            } else {
                whole(point, values)
            }
        });
        print[..8].copy_from_slice(&ends[0].to_le_bytes());
        print[8..16].copy_from_slice(&ends[1].to_le_bytes());
        print[16..24].copy_from_slice(&(values.len() as u64).to_le_bytes());
        print[24] = u8::from(wide);
        print
    }
}

/// Σ (value + 2^59)·point^place, in another order of places; all numbers are below 2^60, which is below the prime.
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
        let power = (0..3).fold(point, |power, _| {
            (u128::from(power) * u128::from(point) % u128::from(PRIME)) as u64
        });
        let chains = (0..4).map(|lane| {
            by_hand(
                power,
                values[..20].iter().skip(lane).step_by(4).map(|v| shifted(*v)),
            )
        });
        let rest = values[20..].iter().map(|value| shifted(*value));
        assert_eq!(whole(point, &values), by_hand(point, chains.chain(rest)));
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
        let points = Points::new(&[0xa7; 32]);
        let list: Vec<i64> = (0..101).collect();
        let print = points.of(&list);
        assert_eq!(print, points.of(&list));
        assert_ne!(print, Points::new(&[0xa8; 32]).of(&list));
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
