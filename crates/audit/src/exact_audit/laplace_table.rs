//! Sums over discrete Laplace noise, for distributions of mechanisms that compare noisy numbers.

use exact::{Integer, Interval, Rational, ratio};

/// Discrete Laplace Z, enclosed: its powers of a = e^(−1/scale) are computed once.
#[derive(Clone, Debug)]
pub struct LaplaceTable {
    powers: Vec<Interval>,
    /// 1/(1+a).
    share: Interval,
    bits: u32,
}

impl LaplaceTable {
    /// For −reach ≤ Z ≤ reach, with `bits` fractional bits.
    pub fn new(scale: &Rational, reach: i64, bits: u32) -> Self {
        // Each product adds a unit or two of error: 32 guard bits are plenty.
        let work = bits + 32;
        let a = Interval::exp_of(&(-Rational::ONE / scale), work);
        let one = Interval::from_integer(1, work);
        let mut power = one.clone();
        let powers = (0..=reach + 1).map(|_| {
            let now = power.clone();
            power = power.mul(&a);
            now
        });
        Self {
            powers: powers.collect(),
            share: one.div(&one.add(&a)).expect("1 + a is above zero"),
            bits,
        }
    }

    /// The reach outside of which there is less than 2^-bits.
    pub fn enough(scale: &Rational, bits: u32) -> i64 {
        let reach = (scale * Rational::from(bits) * ratio(7, 10)).ceil();
        i64::try_from(reach).map_or(i64::MAX, |reach| reach.saturating_add(1))
    }

    /// P[Z ≥ r] = a^r/(1+a) for r ≥ 1, and 1 − P[Z ≥ 1−r] otherwise.
    ///
    /// # Panics
    /// Beyond the reach.
    pub fn tail(&self, r: i64) -> Interval {
        let share = |k: i64| self.powers[k as usize].mul(&self.share).with_bits(self.bits);
        if r >= 1 {
            share(r)
        } else {
            Interval::from_integer(1, self.bits).sub(&share(1 - r))
        }
    }

    /// Σ_k P[Z = k]·f(k) over |k| ≤ reach, of several f with values in [0, 1] at once; outside f is only
    /// known to be in [0, 1].
    pub fn mean(&self, count: usize, reach: i64, f: impl Fn(i64) -> Vec<Interval>) -> Vec<Interval> {
        let outside = self.tail(reach + 1).scale(&Integer::from(2));
        let unseen = Interval::from_ends(Integer::ZERO, outside.hi().clone(), self.bits);
        let mut sums = vec![unseen; count];
        for k in -reach..=reach {
            let mass = self.tail(k).sub(&self.tail(k + 1));
            for (sum, value) in sums.iter_mut().zip(f(k)) {
                *sum = sum.add(&mass.mul(&value));
            }
        }
        sums
    }
}
