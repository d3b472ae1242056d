//! Totals that are published period after period, under one charge for all of them.

mod factor;
mod run;

pub use run::{SavedSeries, Series};

use crate::account::key_from;
use crate::gaussian::recorded;
use crate::{Accuracy, Aggregate, Error, Mechanism, Permit, Sensitivity, SquaredMultiplier, Stated, Terms};
use accounting::{Delta, Epsilon, Event, Neighbors, NoiseSupport, Promise, Rho, smallest_multiplier};
use exact::{Interval, Rational, floor_log2, power_of_two, ratio};
use factor::{Accumulated, Factor};
use noise::{Grid, PlacedGaussian, RoundedGaussian};

/// No series is longer: 27 years of days.
const MOST_PERIODS: u64 = 10_000;
/// Noise is on a grid of 2^-24 steps, or on a coarser one where there is so much of it that nobody can tell.
const FRACTION_BITS: [u32; 3] = [24, 16, 8];
/// Up to so many numbers, each place is cheaper alone than a group of them.
const FEW: usize = 8;
/// log₂ of the largest variance on that grid.
const MOST_VARIANCE_LOG: i32 = 92;

/// In how many periods of a series one unit may count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Participation {
    times: u64,
    apart: u64,
}

impl Participation {
    /// Each unit counts in one period: people who join, units that last one period.
    pub const ONCE: Self = Self { times: 1, apart: 1 };

    /// Each unit counts in at most `times` periods, whichever these are.
    ///
    /// # Errors
    /// When that is none.
    pub fn at_most(times: u64) -> Result<Self, Error> {
        Self::spaced(times, 1)
    }

    /// Each unit counts in at most `times` periods, no two of them less than `apart` periods from each other. A visit a week, in a series of days, is 7 apart.
    ///
    /// # Errors
    /// When one of the two is 0.
    pub fn spaced(times: u64, apart: u64) -> Result<Self, Error> {
        if times == 0 || apart == 0 {
            return Err(Error::OutOfRange {
                what: "how often a unit counts in a series",
                range: "at least 1, and at least 1 period apart",
            });
        }
        Ok(Self { times, apart })
    }
}

/// Running totals of vectors of counts or sums, one vector a period, with noise that is correlated such that each total needs little.
///
/// The total of period t has noise of variance σ²·Σ_{i≤t} bᵢ², where σ is larger than for one release by √Σcᵢ² and both sums grow as ln(t)/π: over 365 periods the noise is at most 2.94 times that of one release, where separate
/// releases of all totals need 19.1 times. A window of several periods is the difference of two totals, and free.
///
/// [`Account::begin_series`](crate::Account::begin_series) charges for all periods before the first and releases them one by one. As a [`Mechanism`] it takes the vectors of all periods at once.
///
/// # Privacy
/// Claim: the stated promise, for all periods together, when a unit that is added or removed moves the vectors of at most as many periods as its [`Participation`] says, each by at most Δ₂ in ℓ₂; vectors of later periods may depend on what was released before.
/// Proof: let C be the lower triangular matrix of `Factor`, B = A·C⁻¹, and W = C·x + Z/2^f with Z the rounding to integers of N(0, σ²·4^f) on each coordinate, independent. C·x is a multiple of 2^-f, so W is the rounding to that grid of C·x + N(0, σ²), the Gaussian mechanism on C·x.
/// What leaves is ⌊B·W + ½⌋, clamped to `i64`: B·W = A·x + B·Z/2^f and A·x is whole, so it is A·x + ⌊B·Z/2^f + ½⌋, which is what is computed, in arithmetic that decides each rounding exactly. So it is a function of W, and costs what W costs.
/// C and B are lower triangular, so the totals of period t are a function of W up to t.
/// One unit moves C·x by at most Δ₂·‖C·u‖ ≤ Δ₂·√s, where s is `Factor::largest_square`, an exact rational: see its proof. So σ² = multiplier²·Δ₂²·s gives the Gaussian mechanism with that multiplier.
/// *Adaptive inputs.* With the inputs of later periods chosen after earlier outputs, step t adds N(0, σ²) to a vector whose distance δₜ from the neighbour's is decided by W before t, and Σ‖δₜ‖² ≤ S² = Δ₂²·s whatever happens. Let one further step, of which nothing is released, have exactly what is missing to S². Then the loss of privacy under
/// the first input is Σ(⟨δₜ, Zₜ⟩/σ² + ‖δₜ‖²/2σ²), and E exp(iθ·Σ⟨δₜ, Zₜ⟩ + θ²σ²·Σ‖δₜ‖²/2) = 1 step by step, because Zₜ is independent of δₜ. As Σ‖δₜ‖² = S², Σ⟨δₜ, Zₜ⟩ is exactly N(0, S²σ²). So the loss is distributed as that of one Gaussian mechanism with sensitivity S, and (ε, δ), ρ and composition follow.
/// *The same period twice.* The noise of a period comes from a key that the run's key, all earlier periods and a keyed fingerprint of this one choose: the same data get the same noise; other data (a state that was put back) get noise of their own.
/// Source: Li et al. 2015 for the factorization; Henzinger, Upadhyay and Upadhyay 2023 for the square root; Denisov et al. 2022 for adaptive inputs. Assumes: exact sampler; streams of ChaCha12 under keys made by SHA-256 are uniform and independent; Z is not cut at the ends of `i64`, which are over 2^17 deviations out.
/// Audited by: `audit_running_totals` (false alarm 1e-9, rejects half the noise, a unit in two periods, noise for A·x without the factor).
#[derive(Clone, Debug)]
pub struct RunningTotals {
    terms: Terms,
    participation: Participation,
    factor: Factor,
    fraction_bits: u32,
    /// σ², in squared grid steps.
    variance: Rational,
    noise: RoundedGaussian,
}

impl RunningTotals {
    /// For ρ-zCDP over all periods.
    ///
    /// # Errors
    /// When ρ = 0, when the series has no period or more than 10,000, or when no sampler has so little or so much noise.
    pub fn concentrated(
        rho: &Rho,
        periods: u64,
        participation: Participation,
        sensitivity: Sensitivity,
        grid: Grid,
    ) -> Result<Self, Error> {
        if *rho == Rho::ZERO {
            return Err(Error::OutOfRange {
                what: "ρ",
                range: "positive",
            });
        }
        let square = ratio(1, 2) / rho.as_rational();
        Self::promising(
            Promise::Concentrated(rho.clone()),
            &square,
            periods,
            participation,
            sensitivity,
            grid,
        )
    }

    /// For (ε, δ) over all periods, with the smallest noise that suffices.
    ///
    /// # Errors
    /// When δ = 0, when the series has no period or more than 10,000, or when no sampler has so little or so much noise.
    pub fn analytic(
        epsilon: Epsilon,
        delta: Delta,
        periods: u64,
        participation: Participation,
        sensitivity: Sensitivity,
        grid: Grid,
    ) -> Result<Self, Error> {
        if delta == Delta::ZERO {
            return Err(Error::NoDelta);
        }
        let multiplier = smallest_multiplier(&epsilon, &delta)?;
        let promise = Promise::Approximate(epsilon, delta);
        Self::promising(
            promise,
            &(&multiplier * &multiplier),
            periods,
            participation,
            sensitivity,
            grid,
        )
    }

    /// With noise of this multiplier on what one unit can move, for what is accounted for together with other releases. Alone it is ρ-zCDP with ρ = 1/(2·multiplier²).
    ///
    /// # Errors
    /// When the series has no period or more than 10,000, or when no sampler has so little or so much noise.
    pub fn with_squared_multiplier(
        multiplier_squared: &SquaredMultiplier,
        periods: u64,
        participation: Participation,
        sensitivity: Sensitivity,
        grid: Grid,
    ) -> Result<Self, Error> {
        let square = multiplier_squared.as_rational();
        if *square <= Rational::ZERO {
            return Err(accounting::Error::NoNoise.into());
        }
        let rho = Rho::exactly_or_up(&(ratio(1, 2) / square))?;
        Self::promising(
            Promise::Concentrated(rho),
            square,
            periods,
            participation,
            sensitivity,
            grid,
        )
    }

    fn promising(
        promise: Promise,
        multiplier_squared: &Rational,
        periods: u64,
        participation: Participation,
        sensitivity: Sensitivity,
        grid: Grid,
    ) -> Result<Self, Error> {
        let count = usize::try_from(periods)
            .ok()
            .filter(|_| (1..=MOST_PERIODS).contains(&periods));
        let Some(count) = count else {
            return Err(Error::OutOfRange {
                what: "how many periods a series has",
                range: "between 1 and 10,000",
            });
        };
        let made = FRACTION_BITS.into_iter().find_map(|fraction_bits| {
            let factor = Factor::new(count, fraction_bits);
            let square = factor.largest_square(participation.times, participation.apart);
            let variance = multiplier_squared * sensitivity.l2_squared() * square;
            let fine = &variance * power_of_two(2 * fraction_bits as i32);
            (floor_log2(&fine) < MOST_VARIANCE_LOG).then_some((fraction_bits, factor, variance, fine))
        });
        let Some((fraction_bits, factor, variance, fine)) = made else {
            return Err(noise::Error::ScaleTooLarge.into());
        };
        let noise = RoundedGaussian::new(&fine)?;
        let event = Event::Gaussian {
            multiplier_squared: recorded(multiplier_squared)?,
            on: NoiseSupport::Rounded,
        };
        let terms = Terms::new(sensitivity, event, promise, Accuracy::DependsOnData)
            .on(grid)
            .only_for(Neighbors::AddRemove);
        let made = Self {
            terms,
            participation,
            factor,
            fraction_bits,
            variance,
            noise,
        };
        // That of the last period covers all.
        let accuracy = made.accuracy(count - 1);
        Ok(Self {
            terms: made.terms.clone().with_accuracy(accuracy),
            ..made
        })
    }

    /// How many periods it has.
    pub fn periods(&self) -> u64 {
        self.factor.periods() as u64
    }

    /// In how many of them a unit may count.
    pub fn participation(&self) -> Participation {
        self.participation
    }

    /// σ² of the noise on each coordinate of C·x, in squared grid steps.
    pub fn variance(&self) -> &Rational {
        &self.variance
    }

    /// The standard deviation of the totals of a period (the first is 0), in grid steps and before rounding to them: for what people read, and for post-processing.
    ///
    /// # Panics
    /// When there is no such period.
    pub fn deviation(&self, period: u64) -> f64 {
        self.step_deviation() * self.factor.energy(period as usize).sqrt()
    }

    /// The same of the sum over a window of the last `length` periods, which is the total of `period` less that of `length` periods before.
    ///
    /// # Panics
    /// When there is no such period.
    pub fn window_deviation(&self, period: u64, length: u64) -> f64 {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.step_deviation() * self.factor.window_energy(period as usize, length).sqrt()
    }

    fn step_deviation(&self) -> f64 {
        Interval::sqrt_of(&self.variance, 96).to_f64_nearest()
    }

    fn accuracy(&self, period: usize) -> Accuracy {
        // What rounding the noise to its grid can add, at most.
        let rounding = self.factor.absolute(period) / f64::from(1u32 << (self.fraction_bits + 1));
        Accuracy::Gaussian {
            deviation: self.deviation(period as u64) + rounding,
        }
    }

    /// All that decides what is drawn, for the name of a run: a state must not go on under other parameters.
    fn description(&self) -> String {
        let Participation { times, apart } = self.participation;
        format!(
            "{} periods of {}, {times} times {apart} apart, variance {} on 2^-{}, {:?}, {:?}",
            self.periods(),
            self.width(),
            self.variance,
            self.fraction_bits,
            self.terms.sensitivity(),
            self.terms.grid()
        )
    }

    /// How many numbers each period has.
    fn width(&self) -> usize {
        usize::try_from(self.terms.sensitivity().coordinates()).unwrap_or(0)
    }

    /// The noise of one period, on its grid.
    fn row(&self, key: &[u8; 32]) -> Vec<i64> {
        let noise = PlacedGaussian::new(&self.noise, *key);
        let width = self.width();
        if width <= FEW {
            return (0..width as u64).map(|cell| noise.added(cell, 0)).collect();
        }
        let mut row = vec![0i64; width];
        noise.add_to(0, &mut row);
        row
    }

    /// The totals of the last of these periods with their noise, clamped. Rows that are not held are made one by one, so that memory need not grow with the number of periods.
    fn released<R: AsRef<[i64]>>(
        &self,
        sums: &[i128],
        keys: &[[u8; 32]],
        row: impl Fn(usize) -> R,
    ) -> Vec<i64> {
        let last = keys.len() - 1;
        let mut noise = vec![Accumulated::default(); self.width()];
        for period in 0..=last {
            self.factor
                .accumulate(last - period, row(period).as_ref(), &mut noise);
        }
        let exactly = |cell: usize| {
            let of = |key: &[u8; 32]| PlacedGaussian::new(&self.noise, *key).added(cell as u64, 0);
            self.factor
                .rounded_exactly(&keys.iter().map(of).collect::<Vec<_>>())
        };
        let total = |(cell, (sum, noise)): (usize, (&i128, &Accumulated))| {
            let noise = self.factor.rounded(noise, last).unwrap_or_else(|| exactly(cell));
            (sum + noise).clamp(i64::MIN.into(), i64::MAX.into()) as i64
        };
        sums.iter().zip(&noise).enumerate().map(total).collect()
    }
}

impl Stated for RunningTotals {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

/// The vector of each period, of as many numbers as the sensitivity has coordinates; a period that is missing has zeros, and what is beyond the last is not read.
impl Mechanism<Vec<Vec<i64>>> for RunningTotals {
    type Output = Vec<Vec<i64>>;

    fn draw(&self, input: Aggregate<Vec<Vec<i64>>>, permit: Permit<'_>) -> Vec<Vec<i64>> {
        let key = key_from(permit.entropy());
        let increments = input.open();
        let (mut sums, mut keys, mut rows) = (vec![0i128; self.width()], Vec::new(), Vec::new());
        let period = |number: usize| {
            let increments = increments.get(number).map_or(&[][..], Vec::as_slice);
            let next = run::next_key(&key, &keys, increments);
            rows.push(self.row(&next));
            keys.push(next);
            for (sum, value) in sums.iter_mut().zip(increments) {
                *sum += i128::from(*value);
            }
            self.released(&sums, &keys, |period| &rows[period])
        };
        (0..self.factor.periods()).map(period).collect()
    }
}

#[cfg(test)]
mod tests;
