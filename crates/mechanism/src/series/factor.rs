//! The matrix of running totals as a product of two, in exact arithmetic.
//!
//! Running totals of n periods are A·x, where A has ones on and below its diagonal. As a power series A is 1/(1−X), and its square root (1−X)^(−1/2) has the coefficients cᵢ = C(2i,i)/4ⁱ. Noise is added to C·x, and
//! B = A·C⁻¹ makes totals of that. The square root balances the two: no other way to split A of this kind has an error that is smaller by more than a constant (Henzinger, Upadhyay and Upadhyay 2023).
//!
//! Here C is a matrix of *dyadic* numbers: each cᵢ is rounded to a grid of 2^-f. Nothing is lost by that but 2^-f, and much is won: C·x is on that grid for every integer x, so that noise rounded to
//! the grid is the rounded Gaussian mechanism on C·x, and how far one unit moves C·x is an exact rational number. B = A·C⁻¹ follows from the rounded C, exactly.

use exact::{Integer, Rational, power_of_two};

/// Fractional bits of B in the arithmetic that almost always decides.
const BITS: u32 = 56;
/// Noise beyond this is left to exact arithmetic; it is 64 deviations out.
const MOST_NOISE: u64 = 1 << 52;

/// C, B and how well B is known.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    /// f.
    fraction_bits: u32,
    /// cᵢ·2^f: at least 0, and never larger than the one before.
    first: Vec<i64>,
    /// bᵢ·2^56, each off by at most `slack`.
    second: Vec<i64>,
    /// ‖C⁻¹‖₁, rounded up, and one.
    slack: u64,
}

impl Factor {
    pub(super) fn new(periods: usize, fraction_bits: u32) -> Self {
        let first = rounded_roots(periods, fraction_bits);
        let series = |start: &dyn Fn(usize) -> i128| divided(&first, fraction_bits, periods, start);
        let one = 1i128 << BITS;
        let second = series(&|_| one);
        let inverse = series(&|place| if place == 0 { one } else { 0 });
        // Claim: |b − second| ≤ slack units of 2^-56.
        // Proof: each entry of the division was cut by less than one unit, so C·second = A − r with 0 ≤ r < 1 unit, and second = B − C⁻¹·r: it is off by at most ‖C⁻¹‖₁ units. In the same
        // way inverse = C⁻¹·(1 − r′), where ‖r′‖₁ < n units ≤ 2^-42, so ‖C⁻¹‖₁ ≤ ‖inverse‖₁/(1 − 2^-42), which is at most ‖inverse‖₁ + 1 while that is below 2^40.
        let norm: u128 = inverse.iter().map(|entry| u128::from(entry.unsigned_abs())).sum();
        let slack = (norm >> BITS) as u64 + 2;
        Self {
            fraction_bits,
            first,
            second,
            slack,
        }
    }

    /// How many periods.
    pub(super) fn periods(&self) -> usize {
        self.first.len()
    }

    /// The largest squared length of C·u over all u with at most `times` entries of at most 1 in magnitude, at least `apart` places apart. Exact.
    ///
    /// Proof: ‖C·u‖² = Σᵢⱼ uᵢuⱼ⟨C·eᵢ, C·eⱼ⟩, and for i ≤ j ⟨C·eᵢ, C·eⱼ⟩ = Σ_{l < n−j} c_l·c_{l+j−i}. As c ≥ 0, that is largest where all uᵢ are 1. As c does not rise, it does not fall when j is less, nor when j − i is. So
    /// moving the entries to the places 0, `apart`, 2·`apart`, …, which brings none later and no two further apart, makes no product smaller. With vectors uᵢ of length at most 1 in place of numbers, ⟨uᵢ, uⱼ⟩ ≤ 1 does the same.
    pub(super) fn largest_square(&self, times: u64, apart: u64) -> Rational {
        let apart = usize::try_from(apart.max(1)).unwrap_or(usize::MAX);
        let reach = usize::try_from(times)
            .ok()
            .and_then(|times| times.checked_mul(apart));
        let mut sums = vec![0i128; self.periods()];
        let mut square = 0i128;
        for (place, entry) in self.first.iter().enumerate() {
            let before = place.checked_sub(apart).map_or(0, |place| sums[place]);
            let gone = reach.and_then(|reach| place.checked_sub(reach));
            let gone = gone.map_or(0, |place| i128::from(self.first[place]));
            sums[place] = before + i128::from(*entry) - gone;
            square += sums[place] * sums[place];
        }
        Rational::from(square) * power_of_two(-2 * self.fraction_bits as i32)
    }

    /// Σ bᵢ² up to and with this period, to the nearest float or so: the variance of its total is that times the noise's.
    pub(super) fn energy(&self, period: usize) -> f64 {
        self.second[..=period]
            .iter()
            .map(|entry| real(*entry).powi(2))
            .sum()
    }

    /// The same of the difference between this period's total and that of `length` periods before.
    pub(super) fn window_energy(&self, period: usize, length: usize) -> f64 {
        let entry = |place: usize| real(self.second[place]);
        let difference = |place: usize| entry(place) - place.checked_sub(length).map_or(0.0, entry);
        (0..=period).map(|place| difference(place).powi(2)).sum()
    }

    /// Σ|bᵢ| up to and with this period.
    pub(super) fn absolute(&self, period: usize) -> f64 {
        self.second[..=period]
            .iter()
            .map(|entry| real(*entry).abs())
            .sum()
    }

    /// Adds this noise's part in the total of a period `lag` periods later.
    pub(super) fn accumulate(&self, lag: usize, noise: &[i64], sums: &mut [Accumulated]) {
        let weight = i128::from(self.second[lag]);
        for (sum, noise) in sums.iter_mut().zip(noise) {
            sum.wide |= noise.unsigned_abs() > MOST_NOISE;
            // Below 2^57·2^52 each, and of at most 10,000 of these the sum is below 2^123; where noise is wider, the sum is not used.
            sum.sum = sum.sum.wrapping_add(weight.wrapping_mul(i128::from(*noise)));
            sum.absolute = sum.absolute.saturating_add(u128::from(noise.unsigned_abs()));
        }
    }

    /// ⌊Σ b·noise·2^-f + ½⌋ for a sum over the noise of periods 0 to `period`, or `None` where what is known of b does not tell.
    pub(super) fn rounded(&self, sum: &Accumulated, period: usize) -> Option<i128> {
        if sum.wide {
            return None;
        }
        // b_i is a multiple of 2^-fi: these were not cut.
        let exact = period as u64 * u64::from(self.fraction_bits) <= u64::from(BITS);
        let slack = if exact {
            0
        } else {
            (sum.absolute * u128::from(self.slack)) as i128
        };
        let shift = BITS + self.fraction_bits;
        let round = |sum: i128| (sum + (1i128 << (shift - 1))) >> shift;
        let (low, high) = (round(sum.sum - slack), round(sum.sum + slack));
        (low == high).then_some(low)
    }

    /// The same for any noise, in whole numbers of as many bits as it takes: noise of periods 0, 1, … of one cell.
    pub(super) fn rounded_exactly(&self, noise: &[i64]) -> i128 {
        let last = noise.len() - 1;
        let enough = last * self.fraction_bits as usize;
        let mut bits = 4 * BITS as usize;
        loop {
            let precise = self.precisely(noise.len(), bits);
            let products = precise.iter().rev().zip(noise);
            let sum = products.fold(Integer::ZERO, |sum, (entry, noise)| {
                sum + entry * Integer::from(*noise)
            });
            let absolute: u128 = noise.iter().map(|noise| u128::from(noise.unsigned_abs())).sum();
            // From so many bits on nothing is cut, and ties are decided, too.
            let slack = if bits >= enough {
                Integer::ZERO
            } else {
                Integer::from(absolute) * Integer::from(self.slack)
            };
            let shift = bits + self.fraction_bits as usize;
            let round = |sum: Integer| (sum + (Integer::ONE << (shift - 1))) >> shift;
            let (low, high) = (round(&sum - &slack), round(sum + slack));
            if low == high {
                return i128::try_from(low).expect("at most 10,000 times 2^64");
            }
            bits *= 2;
        }
    }

    /// bᵢ·2^bits, cut in the same way, so with the same slack.
    fn precisely(&self, count: usize, bits: usize) -> Vec<Integer> {
        let one = Integer::ONE << (bits + self.fraction_bits as usize);
        let mut entries: Vec<Integer> = Vec::with_capacity(count);
        for place in 0..count {
            let products = self.first[1..=place].iter().zip(entries.iter().rev());
            let rest = products.fold(one.clone(), |rest, (first, entry)| {
                rest - Integer::from(*first) * entry
            });
            entries.push(rest >> self.fraction_bits as usize);
        }
        entries
    }
}

/// Sums over the noise of several periods, for one cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Accumulated {
    /// Σ b·noise, in units of 2^-(56+f).
    sum: i128,
    absolute: u128,
    wide: bool,
}

/// cᵢ·2^f, rounded. How well does not matter for privacy; that it does not rise does, and rounding keeps that.
fn rounded_roots(periods: usize, fraction_bits: u32) -> Vec<i64> {
    let mut root = 1u128 << 62;
    let mut entries = vec![1i64 << fraction_bits];
    for place in 1..periods as u128 {
        root = root * (2 * place - 1) / (2 * place);
        let half = 1u128 << (61 - fraction_bits);
        entries.push(((root + half) >> (62 - fraction_bits)) as i64);
    }
    entries
}

/// The power series start/c, each entry cut down to a multiple of 2^-56.
fn divided(first: &[i64], fraction_bits: u32, count: usize, start: &dyn Fn(usize) -> i128) -> Vec<i64> {
    let mut entries: Vec<i64> = Vec::with_capacity(count);
    for place in 0..count {
        let products = first[1..=place].iter().zip(entries.iter().rev());
        // At most 10,000 products below 2^24·2^58.
        let rest = products.fold(start(place) << fraction_bits, |rest, (first, entry)| {
            rest - i128::from(*first) * i128::from(*entry)
        });
        entries.push((rest >> fraction_bits) as i64);
    }
    entries
}

fn real(entry: i64) -> f64 {
    entry as f64 / (1u64 << BITS) as f64
}

#[cfg(test)]
impl Factor {
    /// cᵢ·2^f.
    pub(super) fn entry(&self, place: usize) -> i64 {
        self.first[place]
    }

    pub(super) fn precisely_for_tests(&self, count: usize, bits: usize) -> Vec<Integer> {
        self.precisely(count, bits)
    }

    /// Whether what is known of the first entries of B is as close as is said.
    pub(super) fn is_within_slack(&self, count: usize) -> bool {
        // So many bits that nothing is cut.
        let bits = count * self.fraction_bits as usize;
        let extra = bits - BITS as usize;
        let exact = self.precisely(count, bits);
        let far = |(entry, exact): (&i64, &Integer)| {
            let off = (Integer::from(*entry) << extra) - exact;
            off.clone().max(-off) > (Integer::from(self.slack) << extra)
        };
        !self.second.iter().zip(&exact).any(far)
    }
}
