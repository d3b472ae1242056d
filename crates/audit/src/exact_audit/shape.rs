//! Masses and tails of the two built-in distributions on the integers.

use super::Window;
use super::real::{from_zero, times};
use crate::Error;
use exact::{Integer, Interval, Rational};

/// No sum goes over more indices than this.
pub(super) const WIDEST: i64 = 1 << 23;

/// (1−a)/(1+a) with a = e^(−1/scale): the geometric series on both sides adds up to (1+a)/(1−a).
pub(super) fn laplace_coefficient(scale: &Rational, bits: u32) -> Interval {
    let one = Interval::from_integer(1, bits);
    let a = Interval::exp_of(&(-Rational::ONE / scale), bits);
    one.sub(&a).div(&one.add(&a)).expect("1 + a ≥ 1")
}

/// P(|K| > m) = 2·a^(m+1)/(1+a) ≤ 2·a^(m+1): two geometric tails times the coefficient.
pub(super) fn laplace_window(scale: &Rational, bits: u32) -> Result<Window, Error> {
    // 2^-bits = e^(−bits·ln 2), and ln 2 < 0.7.
    let last = index_above(&(scale * Rational::from(bits) * exact::ratio(7, 10)))?;
    let tail = Interval::exp_of(&(-Rational::from(last + 1) / scale), bits).scale(&Integer::from(2));
    Ok(Window {
        first: -last,
        last,
        outside: from_zero(&tail),
    })
}

fn index_above(bound: &Rational) -> Result<i64, Error> {
    i64::try_from(bound.ceil())
        .ok()
        .filter(|&index| index <= WIDEST)
        .ok_or(Error::TooWide)
}

/// Z = Σ_k e^(−k²/2v).
///
/// For v ≥ 1, Poisson summation: Z = √(2πv)·(1 + 2 Σ_{j≥1} e^(−2π²v j²)), and e^(−2π²) < 2^-28, so a few
/// terms do. For v < 1, the sum itself. In both, terms fall by more than half each, so that what is left out
/// is at most the last term.
pub(super) fn gaussian_normalizer(variance: &Rational, bits: u32) -> Interval {
    let work = bits + 16;
    let one = Interval::from_integer(1, work);
    let series = |rate: &Interval| {
        let mut sum = one.clone();
        for j in 1u32.. {
            let term = rate
                .scale(&Integer::from(j * j))
                .neg()
                .exp()
                .scale(&Integer::from(2));
            sum = sum.add(&term);
            if *term.hi() <= Integer::from(2) {
                return sum.add(&from_zero(&term));
            }
        }
        unreachable!("terms fall below any precision")
    };
    let half = exact::ratio(1, 2);
    let total = if *variance >= Rational::ONE {
        // The factor 2v costs as many bits as it has.
        let pi = Interval::pi(work + 16 + exact::floor_log2(variance).unsigned_abs());
        let rate = times(&pi.square(), &(Rational::from(2u8) * variance)).with_bits(work);
        let root = times(&Interval::pi(work), &(Rational::from(2u8) * variance)).sqrt();
        root.mul(&series(&rate))
    } else {
        series(&Interval::from_rational(&(half / variance), work))
    };
    total.with_bits(bits)
}

/// e^(−k²/2v)/Z for consecutive k, by t_{k+1} = t_k·r_k and r_{k+1} = r_k·e^(−1/v): one product a step. All
/// factors are at most 1, so after n steps r is off by n units and t by n² at most: 2·log₂ n guard bits.
pub(super) fn gaussian_masses(variance: &Rational, first: i64, last: i64, bits: u32) -> Vec<Interval> {
    // Magnitudes from the nearest to zero to the farthest; the distribution is symmetric.
    let reach = first.unsigned_abs().max(last.unsigned_abs());
    let near = if first <= 0 && last >= 0 {
        0
    } else {
        first.unsigned_abs().min(last.unsigned_abs())
    };
    let work = bits + 2 * (64 - (reach - near).leading_zeros()) + 16;
    let twice = Rational::from(2u8) * variance;
    let one = Interval::from_integer(1, work);
    let share = one.div(&gaussian_normalizer(variance, work)).expect("Z ≥ 1");
    let mut term = Interval::exp_of(&(-(Rational::from(near) * Rational::from(near)) / &twice), work);
    let mut ratio = Interval::exp_of(
        &(-(Rational::from(2u8) * Rational::from(near) + Rational::ONE) / &twice),
        work,
    );
    let shrink = Interval::exp_of(&(-Rational::ONE / variance), work);
    let mut half = Vec::with_capacity((reach - near + 1) as usize);
    for _ in near..=reach {
        half.push(term.mul(&share).with_bits(bits));
        term = term.mul(&ratio);
        ratio = ratio.mul(&shrink);
    }
    (first..=last)
        .map(|k| half[(k.unsigned_abs() - near) as usize].clone())
        .collect()
}

/// With m ≥ 0, Σ_{k>m} e^(−k²/2v) ≤ e^(−(m+1)²/2v) / (1 − e^(−(2m+3)/2v)): from k to k+1 a term falls by
/// e^(−(2k+1)/2v), which for k ≥ m+1 is at most e^(−(2m+3)/2v). Two such tails; Z ≥ 1.
pub(super) fn gaussian_window(variance: &Rational, bits: u32) -> Result<Window, Error> {
    let twice = Rational::from(2u8) * variance;
    // m²/2v ≥ bits·ln 2 for m = √(2v·0.7·bits).
    let reach = Interval::sqrt_of(&(&twice * Rational::from(bits) * exact::ratio(7, 10)), 32);
    let last = index_above(&reach.upper())?;
    let work = bits + 64;
    let next = Rational::from(last + 1);
    let lead = Interval::exp_of(&(-(&next * &next) / &twice), work);
    let ratio = Interval::exp_of(&(-(&next + &next + Rational::ONE) / &twice), work);
    let rest = Interval::from_integer(1, work).sub(&ratio);
    let tail = lead.scale(&Integer::from(2)).div(&rest).ok_or(Error::TooWide)?;
    Ok(Window {
        first: -last,
        last,
        outside: from_zero(&tail).with_bits(bits),
    })
}
