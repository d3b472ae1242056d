//! e^-γ in fixed point, with a proved error: the quick half of an exact acceptance test.

use exact::{Interval, Rational, ratio};
use std::sync::LazyLock;

/// |2^64·e^(−γ) − `exp_neg`(γ·2^64)| is at most this many units.
pub(crate) const ERROR: u64 = 8;

struct Tables {
    /// ⌊2^64·e^(−i/2^8)⌋, and 2^64−1 for i = 0.
    coarse: [u64; 256],
    /// ⌊2^64·e^(−i/2^16)⌋, and 2^64−1 for i = 0.
    fine: [u64; 256],
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables {
    coarse: std::array::from_fn(|index| entry(&ratio(index as i64, 1 << 8))),
    fine: std::array::from_fn(|index| entry(&ratio(index as i64, 1 << 16))),
});

fn entry(exponent: &Rational) -> u64 {
    let bound = Interval::exp_of(&-exponent.clone(), 96).with_bits(64);
    u64::try_from(bound.lo()).unwrap_or(u64::MAX)
}

fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// 2^64·e^(−γ) for γ = gamma·2^-64 < 1, within [`ERROR`].
///
/// With γ = i/2^8 + j/2^16 + x and x < 2^-16, the result is A·B·(1 − y), where A and B come from the tables and
/// y = x − x²/2 + x³/6. In units of 2^-64: A and B are each low by at most 1 and their product is cut by at most 1, so A·B is low by at most 3.
/// Three cuts make y wrong by at most 2, and the series by x⁴/24 < 2^-68, under 1/16. The last product is cut by at most 1.
/// All factors are at most 1, so nothing grows: at most 3 + 2 + 1/16 + 1 < 8 in all.
pub(crate) fn exp_neg(gamma: u64) -> u64 {
    let product = high(
        TABLES.coarse[(gamma >> 56) as usize],
        TABLES.fine[(gamma >> 48) as usize & 0xff],
    );
    let x = gamma & ((1 << 48) - 1);
    let square = high(x, x);
    let cube = high(square, x);
    let y = x - square / 2 + cube / 6;
    product - high(product, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entropy, OsEntropy};
    use exact::{Integer, Natural};

    fn off_by(gamma: u64) -> Integer {
        let exponent = -Rational::from_parts(Integer::from(gamma), Natural::ONE << 64);
        let truth = Interval::exp_of(&exponent, 64);
        let ours = Integer::from(exp_neg(gamma));
        let (low, high) = (truth.lo() - &ours, &ours - truth.hi());
        low.max(high)
    }

    #[test]
    fn error_is_within_the_proved_bound() {
        let mut entropy = OsEntropy::new().unwrap();
        let corners = [
            0,
            1,
            (1 << 48) - 1,
            1 << 48,
            (1 << 56) - 1,
            1 << 56,
            u64::MAX,
            u64::MAX << 48,
        ];
        let worst = corners
            .into_iter()
            .chain((0..20_000).map(|_| entropy.bits(64)))
            .map(off_by)
            .max()
            .expect("not empty");
        assert!(worst <= Integer::from(ERROR), "off by {worst}");
    }
}
