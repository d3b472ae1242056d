//! A sum of floats that is rounded once, at the end.
//!
//! # Why the order does not matter
//! Claim: [`Sum::rounded`] and [`Sum::divided`] depend on the multiset of the added values alone.
//! Proof: the parts always add up to the exact sum. Adding a value replaces a part a and the value b by fl(a + b) and its rounding error, which are floats whose exact sum is a + b (Knuth's two-sum),
//! unless fl(a + b) is infinite. It never is: values are cut to ±2⁹⁶⁰ first, so fewer than 2⁶³ of them stay below 2¹⁰²³. Both results are then computed from the exact sum, as an integer of
//! up to 2,300 bits, and rounded once to the nearest float, ties to even.
//!
//! The parts never overlap in their binary digits (Shewchuk's grow-expansion keeps that). Mostly there are one or two. Values can be chosen such that each part holds few digits; once there are
//! more than 64 parts they are written anew with 53 digits each, of which 41 hold any sum. So one sum takes 520 bytes at most.

use smallvec::SmallVec;

/// Values beyond this, on either side, count as this: 2⁹⁶⁰.
const FAR: f64 = f64::from_bits((960 + 1023) << 52);
/// The exponent of the smallest float above zero.
const SMALLEST: i32 = -1074;
/// Binary digits of a float.
const DIGITS: i32 = 53;
/// Binary digits that a quotient has at least, before it is rounded: as many as two limbs, less those of the divisor.
const FRACTION: usize = 2;

/// More parts than this are compressed.
const MOST_PARTS: usize = 64;

/// The exact sum of floats.
#[derive(Clone, Default)]
pub(crate) struct Sum {
    /// Floats that add up to it, none of them zero.
    parts: SmallVec<[f64; 2]>,
}

impl std::fmt::Debug for Sum {
    /// A sum of private values is private.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Sum(..)")
    }
}

impl Sum {
    /// Adds a value. One that is not finite counts as zero; in canonical form there is none.
    pub(crate) fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.add_part(value.clamp(-FAR, FAR));
        }
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: &Self) {
        other.parts.iter().for_each(|part| self.add_part(*part));
    }

    /// Takes another sum away.
    pub(crate) fn subtract(&mut self, other: &Self) {
        other.parts.iter().for_each(|part| self.add_part(-*part));
    }

    fn add_part(&mut self, value: f64) {
        self.grow(value);
        if self.parts.len() > MOST_PARTS {
            self.compress();
        }
    }

    /// The same sum in as few parts as possible: the float that is nearest to it, the one nearest to what is left, and so on.
    fn compress(&mut self) {
        let mut parts = SmallVec::new();
        while !self.parts.is_empty() {
            let nearest = self.rounded();
            self.grow(-nearest);
            parts.push(nearest);
        }
        parts.reverse();
        self.parts = parts;
    }

    fn grow(&mut self, value: f64) {
        let (mut carried, mut kept) = (value, 0);
        for place in 0..self.parts.len() {
            let part = self.parts[place];
            let sum = part + carried;
            let added = sum - part;
            let error = (part - (sum - added)) + (carried - added);
            if error != 0.0 {
                self.parts[kept] = error;
                kept += 1;
            }
            carried = sum;
        }
        self.parts.truncate(kept);
        if carried != 0.0 {
            self.parts.push(carried);
        }
    }

    /// The nearest float.
    pub(crate) fn rounded(&self) -> f64 {
        match self.parts.as_slice() {
            [] => 0.0,
            [part] => *part,
            // One addition is rounded once.
            [one, other] => one + other,
            parts => quotient(parts, 1),
        }
    }

    /// The float that is nearest to the sum divided by a number above zero.
    pub(crate) fn divided(&self, by: u64) -> f64 {
        match self.parts.as_slice() {
            [] => 0.0,
            // One division of two floats that are exact is rounded once.
            // Adding zero leaves one zero, whose sign is plus.
            [part] if by < 1 << DIGITS => part / by as f64 + 0.0,
            parts => quotient(parts, by) + 0.0,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.parts.iter().flat_map(|part| part.to_le_bytes()).collect()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let (parts, _) = bytes.as_chunks::<8>();
        Self {
            parts: parts.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
        }
    }

    /// Bytes on the heap.
    pub(crate) fn heap(&self) -> usize {
        match self.parts.spilled() {
            true => self.parts.capacity() * size_of::<f64>(),
            false => 0,
        }
    }
}

/// A finite float as a sign, an integer and the power of two that it counts.
fn taken_apart(value: f64) -> (bool, u64, i32) {
    let bits = value.to_bits();
    let (exponent, digits) = (((bits >> 52) & 0x7ff) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0 => (value < 0.0, digits, SMALLEST),
        _ => (value < 0.0, digits | 1 << 52, exponent - 1075),
    }
}

/// The float that is nearest to the exact sum of these divided by `by`, ties to even.
fn quotient(parts: &[f64], by: u64) -> f64 {
    let exponents = || parts.iter().map(|part| taken_apart(*part).2);
    let (Some(lowest), Some(highest)) = (exponents().min(), exponents().max()) else {
        return 0.0;
    };
    // The sum in two's complement, in units of 2^lowest, above limbs for the fraction of the quotient.
    let mut limbs = vec![0_u64; FRACTION + (highest - lowest) as usize / 64 + 3];
    for part in parts {
        let (negative, digits, exponent) = taken_apart(*part);
        let place = (exponent - lowest) as usize;
        let shifted = u128::from(digits) << (place % 64);
        let first = FRACTION + place / 64;
        add(
            &mut limbs[first..],
            [shifted as u64, (shifted >> 64) as u64],
            negative,
        );
    }
    let negative = limbs.last().is_some_and(|limb| limb >> 63 == 1);
    if negative {
        limbs.iter_mut().for_each(|limb| *limb = !*limb);
        add(&mut limbs, [1, 0], false);
    }
    let mut rest = 0_u128;
    for limb in limbs.iter_mut().rev() {
        let dividend = rest << 64 | u128::from(*limb);
        *limb = (dividend / u128::from(by)) as u64;
        rest = dividend % u128::from(by);
    }
    let magnitude = rounded(&limbs, rest != 0, lowest - 64 * FRACTION as i32);
    if negative { -magnitude } else { magnitude }
}

/// Adds or subtracts a number of two limbs at the low end, modulo the length.
fn add(limbs: &mut [u64], number: [u64; 2], negative: bool) {
    let mut carry = false;
    for (place, limb) in limbs.iter_mut().enumerate() {
        let digit = number.get(place).copied().unwrap_or(0);
        let (first, over) = match negative {
            false => limb.overflowing_add(digit),
            true => limb.overflowing_sub(digit),
        };
        let (second, over_again) = match negative {
            false => first.overflowing_add(u64::from(carry)),
            true => first.overflowing_sub(u64::from(carry)),
        };
        *limb = second;
        carry = over || over_again;
    }
}

/// The float that is nearest to an integer times 2^exponent; `more`: the number is a little larger.
fn rounded(limbs: &[u64], more: bool, exponent: i32) -> f64 {
    let Some(top) = limbs.iter().rposition(|limb| *limb != 0) else {
        return 0.0;
    };
    let length = 64 * top as i32 + 64 - limbs[top].leading_zeros() as i32;
    let bit = |place: i32| {
        place >= 0
            && limbs
                .get(place as usize / 64)
                .is_some_and(|limb| limb >> (place % 64) & 1 == 1)
    };
    // The digits below this are rounded away. Near zero floats have fewer digits.
    let dropped = (length - DIGITS).max(SMALLEST - exponent);
    let kept = (0..DIGITS).fold(0_u64, |kept, place| {
        kept | u64::from(bit(dropped + place)) << place
    });
    let below_half = more || (0..dropped - 1).any(bit);
    let up = bit(dropped - 1) && (below_half || kept & 1 == 1);
    let power = dropped + exponent;
    let half = power / 2;
    // Both products are exact: the result is a float, and what comes before has more room.
    (kept + u64::from(up)) as f64 * two_to(half) * two_to(power - half)
}

fn two_to(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exact::Rational;
    use proptest::prelude::*;

    fn sum(values: &[f64]) -> Sum {
        let mut sum = Sum::default();
        values.iter().for_each(|value| sum.add(*value));
        sum
    }

    fn rational(value: f64) -> Rational {
        Rational::try_from(value).unwrap()
    }

    fn distance(one: &Rational, other: &Rational) -> Rational {
        if one > other { one - other } else { other - one }
    }

    /// Whether no float is nearer, and of two that are equally near it is the even one.
    fn is_nearest(float: f64, truth: &Rational) -> bool {
        let own = distance(&rational(float), truth);
        [float.next_up(), float.next_down()].iter().all(|other| {
            let others = distance(&rational(*other), truth);
            own < others || own == others && float.to_bits() & 1 == 0
        })
    }

    /// Floats of all sizes, and many that nearly cancel.
    fn values() -> impl Strategy<Value = Vec<f64>> {
        let any = prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO;
        let far_apart = any.prop_map(|value| value.clamp(-FAR, FAR));
        let alike = (-1_000_000_i64..1_000_000).prop_map(|cents| cents as f64 / 100.0);
        let mixed = prop_oneof![
            far_apart,
            alike.clone(),
            (alike, 0_i32..300).prop_map(|(value, power)| value * 2f64.powi(-power))
        ];
        (prop::collection::vec(mixed, 0..40), any_index()).prop_map(|(mut values, again)| {
            // Some of them taken away again.
            let back: Vec<f64> = values
                .iter()
                .skip(again % (values.len() + 1))
                .map(|value| -value)
                .collect();
            values.extend(back);
            values
        })
    }

    fn any_index() -> impl Strategy<Value = usize> {
        0_usize..40
    }

    /// Every other power of two, from the least on: each part keeps two digits, and without another look there would be as many parts as values.
    #[test]
    fn values_can_not_be_chosen_so_that_a_sum_is_large() {
        let powers = || {
            (0..)
                .map(|place| SMALLEST + 2 * place)
                .take_while(|power| *power <= 960)
        };
        let power_of_two = |power: i32| match power {
            -1022.. => f64::from_bits(((power + 1023) as u64) << 52),
            _ => f64::from_bits(1 << (power - SMALLEST)),
        };
        let values: Vec<f64> = powers().map(power_of_two).collect();
        assert!(values.len() > 1000);
        let mut rising = Sum::default();
        let mut truth = Rational::ZERO;
        for value in &values {
            rising.add(*value);
            truth += rational(*value);
            assert!(rising.parts.len() <= MOST_PARTS, "{}", rising.parts.len());
        }
        assert!(is_nearest(rising.rounded(), &truth));
        assert!(is_nearest(rising.divided(7), &(truth / Rational::from(7u64))));
        // The parts hold the whole sum, not only what is shown of it.
        values.iter().rev().for_each(|value| rising.add(-value));
        assert_eq!(rising.parts.len(), 0);
    }

    proptest! {
        #[test]
        fn sums_and_quotients_are_the_nearest_floats(values in values(), by in 1_u64..2000) {
            let sum = sum(&values);
            let truth = values.iter().fold(Rational::ZERO, |total, value| total + rational(*value));
            prop_assert!(is_nearest(sum.rounded(), &truth));
            prop_assert!(is_nearest(sum.divided(by), &(truth / Rational::from(by))));
            prop_assert!(sum.parts.len() <= MOST_PARTS);
        }

        #[test]
        fn order_and_parts_do_not_matter(values in values(), cut in 0_usize..80, by in 1_u64..2000) {
            let whole = sum(&values);
            let (one, other) = values.split_at(cut.min(values.len()));
            let mut merged = sum(other);
            merged.merge(&Sum::from_bytes(&sum(one).to_bytes()));
            let results = |sum: &Sum| [sum.rounded().to_bits(), sum.divided(by).to_bits()];
            prop_assert_eq!(results(&whole), results(&merged));
            let mut rest = whole;
            rest.subtract(&sum(one));
            prop_assert_eq!(results(&rest), results(&sum(other)));
        }
    }

    #[test]
    fn the_average_of_equal_values_is_that_value() {
        for value in [0.1, -12.34, 5e-324, 1.797e308, 1e17 / 3.0] {
            for times in [1, 3, 7, 49, 1000] {
                let expected = f64::clamp(value, -FAR, FAR);
                assert_eq!(sum(&vec![value; times]).divided(times as u64), expected);
            }
        }
        assert_eq!(sum(&[]).rounded().to_bits(), 0);
    }
}
