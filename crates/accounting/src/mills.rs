//! The two functions from which Gaussian tails are made, to any relative precision however far out the tail is.

use exact::{Integer, Interval, Natural, Rational, power_of_two, ratio};

/// Mills' ratio R(x) = (1 − Φ(x))/φ(x) at x = √square ≥ 0, with `bits` fractional bits.
///
/// It takes the square because x = μ/2 ± ε/μ has a rational square where x itself has none. R falls from √(π/2) at 0, like
/// 1/x, so it is computed with ease where Φ(−x) itself is too small to be held.
pub(crate) fn mills(square: &Rational, bits: u32) -> Interval {
    // The series loses 0.72·x² bits to cancellation, the fraction needs about bits²/(8·x²) levels: meet in the middle.
    if *square < ratio(i64::from(bits), 4) {
        by_series(square, bits)
    } else {
        by_fraction(square, bits)
    }
}

/// R(x) = √(π/2)·e^(x²/2) − x·Σ_{n≥0} x^(2n)/(1·3·5⋯(2n+1)): both sides solve R' = xR − 1 with R(0) = √(π/2).
fn by_series(square: &Rational, bits: u32) -> Interval {
    let growth = u32::try_from((square * ratio(3, 4)).ceil()).expect("square is below bits/4");
    let work = bits + growth + 24;
    let square_enclosed = Interval::from_rational(square, work);
    let mut term = Interval::from_integer(1, work);
    let mut sum = term.clone();
    let mut odd = 1u64;
    loop {
        odd += 2;
        term = term.mul(&square_enclosed).div_integer(&Integer::from(odd));
        sum = sum.add(&term);
        // From here each term is at most half of the one before, so the rest is at most the last term.
        if *term.hi() <= Integer::ONE && Rational::from(odd + 2) >= square * ratio(2, 1) {
            sum = sum.add(&Interval::from_ends(Integer::ZERO, term.hi().clone(), work));
            break;
        }
    }
    let half_pi_root = Interval::pi(work).scale_by_power_of_two(-1).sqrt();
    let whole = half_pi_root.mul(&Interval::exp_of(&(square * ratio(1, 2)), work));
    whole
        .sub(&Interval::sqrt_of(square, work).mul(&sum))
        .with_bits(bits)
}

/// R(x) = 1/(x + T₁), T_k = k/(x + T_{k+1}): Laplace's continued fraction, from the inside out.
///
/// Proof. Let I_k = ∫_x^∞ (t−x)^k φ(t) dt > 0. By parts, with φ' = −tφ: I_1 = φ(x) − x·I_0 and I_{k+1} = k·I_{k−1} − x·I_k.
/// Then T_k = I_k/I_{k−1} satisfies the recurrence, R = I_0/φ(x) = 1/(x + T₁), and T_k > 0 gives T_k < k/x to start from.
fn by_fraction(square: &Rational, bits: u32) -> Interval {
    let work = bits + 16;
    let x = Interval::sqrt_of(square, work);
    let levels = Rational::from(u64::from(bits).pow(2)) / (square * ratio(7, 1));
    let levels = u64::try_from(levels.ceil()).expect("square is at least bits/4") + u64::from(bits) / 6 + 8;
    let divided_by_x_plus = |numerator: u64, tail: &Interval| {
        Interval::from_integer(numerator, work)
            .div(&x.add(tail))
            .expect("x > 0 and the tail is not negative")
    };
    let zero = Interval::from_integer(0, work);
    let start = divided_by_x_plus(levels, &zero);
    let mut tail = zero.hull(&start);
    for level in (1..levels).rev() {
        tail = divided_by_x_plus(level, &tail);
    }
    divided_by_x_plus(1, &tail).with_bits(bits)
}

/// e^−q for q ≥ 0 as (fraction, shift): e^−q = fraction·2^−shift with the fraction between 1/4 and 2 and enclosed by
/// `bits` fractional bits, so that an e^−1000000 costs no more than an e^−1.
pub(crate) fn exponential_decay(q: &Rational, bits: u32) -> (Interval, u32) {
    // Any shift near q/ln 2 will do: what is left over is computed, not assumed.
    let shift = u32::try_from((q * ratio(14427, 10000)).floor()).expect("the caller keeps q below 2^30");
    let work = bits + 40;
    let ln2 = Interval::ln_of(&ratio(2, 1), work);
    let rest = Interval::from_rational(q, work).sub(&ln2.scale(&Integer::from(shift)));
    (rest.neg().exp().with_bits(bits), shift)
}

/// The same digits in units 2^shift times smaller.
pub(crate) fn shifted_down(value: &Interval, shift: u32) -> Interval {
    Interval::from_ends(value.lo().clone(), value.hi().clone(), value.bits() + shift)
}

/// Whether the enclosure is positive and within 2^−bits of its own size.
pub(crate) fn is_precise(value: &Interval, bits: u32) -> bool {
    *value.lo() > Integer::ZERO && (value.width() << bits as usize) <= *value.lo()
}

/// Encloses something between 0 and 2^−exponent, when no more is worth knowing.
pub(crate) fn negligible(exponent: u32) -> Interval {
    Interval::from_ends(Integer::ZERO, Integer::ONE, exponent)
}

/// 10^−exponent.
pub(crate) fn tenth_power(exponent: usize) -> Rational {
    Rational::from_parts(Integer::ONE, Natural::from(10u8).pow(exponent))
}

/// The middle of an enclosure, cut to about `bits` significant bits: a place to look, not a bound.
pub(crate) fn middle(value: &Interval, bits: u32) -> Rational {
    let middle = (value.lower() + value.upper()) * ratio(1, 2);
    if middle.is_zero() {
        return middle;
    }
    let magnitude = if middle < Rational::ZERO {
        -middle.clone()
    } else {
        middle.clone()
    };
    let unit = power_of_two(exact::floor_log2(&magnitude) - bits as i32);
    Rational::from((&middle / &unit).floor()) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_the_ratio_agree() {
        // Independent derivations of one number: an error in either would show.
        for square in [ratio(1, 1), ratio(7, 2), ratio(20, 1), ratio(61, 3)] {
            for bits in [96u32, 200] {
                let (a, b) = (by_series(&square, bits), by_fraction(&square, bits));
                assert!(a.lower() <= b.upper() && b.lower() <= a.upper());
                assert!(
                    is_precise(&a, bits - 16) && is_precise(&b, bits - 16),
                    "{square} {bits}"
                );
            }
        }
    }

    #[test]
    fn the_ratio_is_the_normal_tail_over_its_density() {
        let bits = 160;
        for x in [ratio(0, 1), ratio(1, 3), ratio(2, 1), ratio(6, 1)] {
            let square = &x * &x;
            let tail = Interval::from_rational(&-x, bits).normal_cdf();
            let density = Interval::exp_of(&(-square.clone() * ratio(1, 2)), bits)
                .div(&Interval::pi(bits).scale(&Integer::from(2)).sqrt())
                .unwrap();
            let (direct, ours) = (tail.div(&density).unwrap(), mills(&square, bits));
            assert!(direct.lower() <= ours.upper() && ours.lower() <= direct.upper());
            assert!(is_precise(&direct, 100) && is_precise(&ours, 100));
        }
    }

    #[test]
    fn decay_multiplies_back() {
        for q in [ratio(0, 1), ratio(1, 7), ratio(693, 1000), ratio(12345, 7)] {
            let (fraction, shift) = exponential_decay(&q, 100);
            assert!(is_precise(&fraction, 90));
            let direct = Interval::exp_of(&-q, 100 + shift);
            let ours = shifted_down(&fraction, shift);
            assert!(direct.lower() <= ours.upper() && ours.lower() <= direct.upper());
        }
    }
}
