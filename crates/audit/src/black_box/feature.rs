//! What to look at in an output.

use std::fmt;

type KeyFunction<O> = Box<dyn Fn(&O) -> i64>;
type KeyWords = Box<dyn Fn(i64) -> String>;

/// A name and a function from outputs to integers. Any function will do: it can only miss differences, not
/// invent them.
pub struct Feature<O> {
    name: String,
    ordered: bool,
    key: KeyFunction<O>,
    words: KeyWords,
}

impl<O> Feature<O> {
    /// Keys without an order: events are sets of keys.
    pub fn values(name: impl Into<String>, key: impl Fn(&O) -> i64 + 'static) -> Self {
        Self {
            name: name.into(),
            ordered: false,
            key: Box::new(key),
            words: Box::new(|key| key.to_string()),
        }
    }

    /// Keys in order: events are half-lines, and sets of keys.
    pub fn ordered(name: impl Into<String>, key: impl Fn(&O) -> i64 + 'static) -> Self {
        Self {
            ordered: true,
            ..Self::values(name, key)
        }
    }

    /// Tells keys in these words, where the number itself says nothing to a person.
    pub fn reported(mut self, words: impl Fn(i64) -> String + 'static) -> Self {
        self.words = Box::new(words);
        self
    }

    /// The name given to it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.ordered
    }

    pub(super) fn words(&self, key: i64) -> String {
        (self.words)(key)
    }

    pub(super) fn key(&self, output: &O) -> i64 {
        (self.key)(output)
    }
}

impl<O> fmt::Debug for Feature<O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Feature({})", self.name)
    }
}

impl Feature<bool> {
    /// The answer itself.
    pub fn standard() -> Vec<Self> {
        vec![Self::ordered("answer", |output| i64::from(*output))]
    }
}

impl Feature<i64> {
    /// The value and its order, a coarser order for wide noise, the sign, the residue modulo small powers of
    /// two.
    pub fn standard() -> Vec<Self> {
        vec![
            Self::ordered("value", |output| *output),
            Self::ordered("value / 256", |output| output.div_euclid(256)),
            Self::values("sign", |output| output.signum()),
            Self::values("value mod 16", |output| output.rem_euclid(16)),
        ]
    }
}

impl Feature<f64> {
    /// The order of values at several resolutions, and the raw bits, where floating-point noise gives itself
    /// away.
    pub fn standard() -> Vec<Self> {
        vec![
            Self::ordered("value cut to 5 bits", |output| ordered_bits(*output) >> 48)
                .reported(|key| format!("{:e}", cut_value(key))),
            Self::buckets(1.0),
            Self::buckets(1.0 / 64.0),
            Self::values("sign", |output| {
                if output.is_nan() {
                    2
                } else {
                    i64::from(*output > 0.0) - i64::from(*output < 0.0)
                }
            }),
            Self::values("lowest set bit", |output| lowest_bit_exponent(*output)).reported(lowest_bit_words),
            Self::values("low 8 bits of the mantissa", |output| {
                (output.to_bits() & 0xff) as i64
            }),
            Self::values("size and lowest set bit", |output| {
                ((output.to_bits() >> 52) as i64) << 16 | (lowest_bit_exponent(*output) + (1 << 14))
            })
            .reported(size_and_lowest_bit_words),
        ]
    }

    /// ⌊output / width⌋.
    pub fn buckets(width: f64) -> Self {
        Self::ordered(format!("value in steps of {width}"), move |output| {
            (output / width).floor() as i64
        })
    }
}

/// The exponent e of the largest power of two 2^e that the float is a multiple of; 2048 for zero, 4096 for
/// what is not finite.
pub fn lowest_bit_exponent(value: f64) -> i64 {
    if !value.is_finite() {
        return 4096;
    }
    if value == 0.0 {
        return 2048;
    }
    let bits = value.to_bits();
    let biased = ((bits >> 52) & 0x7ff) as i64;
    let fraction = bits & ((1 << 52) - 1);
    // A subnormal number has no hidden bit, and the exponent of the smallest normal one.
    let (mantissa, exponent) = if biased == 0 {
        (fraction, 1)
    } else {
        (fraction | 1 << 52, biased)
    };
    exponent - 1075 + i64::from(mantissa.trailing_zeros())
}

pub(super) fn lowest_bit_words(exponent: i64) -> String {
    match exponent {
        2048 => "none (zero)".to_string(),
        4096 => "none (not finite)".to_string(),
        _ => format!("2^{exponent}"),
    }
}

/// A float's sign and exponent with its lowest set bit, from the key of both.
pub(super) fn size_and_lowest_bit_words(key: i64) -> String {
    let (head, lowest) = (key >> 16, (key & 0xffff) - (1 << 14));
    let sign = if head & 0x800 == 0 { "" } else { "-" };
    let size = (head & 0x7ff) - 1023;
    match lowest_bit_words(lowest) {
        none if lowest >= 2048 => none,
        lowest => format!("{sign}2^{size} with {lowest}"),
    }
}

/// The float with these top 16 bits in the order of [`ordered_bits`], and zeros below: all that have them,
/// cut towards zero.
fn cut_value(key: i64) -> f64 {
    let ordered = key << 48;
    let bits = if ordered < 0 { ordered ^ i64::MAX } else { ordered };
    f64::from_bits(bits as u64 & !0 << 48)
}

/// Integers in the order of the floats (the total order of IEEE 754).
pub(super) fn ordered_bits(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_bits() {
        assert_eq!(lowest_bit_exponent(1.0), 0);
        assert_eq!(lowest_bit_exponent(-12.0), 2);
        assert_eq!(lowest_bit_exponent(0.75), -2);
        assert_eq!(lowest_bit_exponent(1.0 + f64::EPSILON), -52);
        assert_eq!(lowest_bit_exponent(f64::from_bits(1)), -1074);
        assert_eq!(lowest_bit_exponent(f64::from_bits(2)), -1073);
        assert_eq!(lowest_bit_exponent(0.0), 2048);
        assert_eq!(lowest_bit_exponent(f64::NAN), 4096);
    }

    #[test]
    fn keys_of_floats_are_reported_in_words() {
        let reported = |value: f64| -> Vec<String> {
            let features = Feature::<f64>::standard();
            let words = features
                .iter()
                .map(|feature| (feature.name(), feature.words(feature.key(&value))));
            words
                .filter(|(name, _)| name.contains("bits") || name.contains("set bit"))
                .map(|(name, words)| format!("{name} in {{{words}}}"))
                .collect()
        };
        let words = reported(-0.28125);
        assert_eq!(words[0], "value cut to 5 bits in {-2.8125e-1}");
        assert_eq!(words[1], "lowest set bit in {2^-5}");
        assert_eq!(words[3], "size and lowest set bit in {-2^-2 with 2^-5}");
        assert_eq!(reported(0.0)[3], "size and lowest set bit in {none (zero)}");
        assert_eq!(reported(f64::NAN)[1], "lowest set bit in {none (not finite)}");
        assert!(reported(1.1)[0].contains("{1.0625e0}"), "{:?}", reported(1.1));
        assert!(reported(-1.1)[0].contains("{-1.0625e0}"), "{:?}", reported(-1.1));
    }

    #[test]
    fn bits_are_in_the_order_of_floats() {
        let floats = [
            f64::NEG_INFINITY,
            -2.0,
            -1.5,
            -1e-300,
            0.0,
            1e-300,
            0.5,
            3.0,
            f64::INFINITY,
        ];
        assert!(
            floats
                .windows(2)
                .all(|pair| ordered_bits(pair[0]) < ordered_bits(pair[1]))
        );
    }
}
