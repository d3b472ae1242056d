use crate::column::{Ordered, one_row};
use crate::{Accuracy, Aggregate, Bounds, Column, Error, Mechanism, Permit, Stated, Terms};
use accounting::{Epsilon, Event, Neighbors, Promise};
use exact::{Integer, Interval, Rational, power_of_two, ratio};
use noise::RoundedCauchy;
use std::cell::RefCell;

#[cfg(test)]
mod tests;

/// The noise is never narrower than 2^this grid steps: far too little to be seen on the grid, and enough to compute with.
const FLOOR: i32 = -32;
/// Precision of the search for the peaks of e^(−βk)·A⁽ᵏ⁾: products between the floor and 2^62 keep over 100 bits.
const SEARCH_BITS: u32 = 256;

/// The median, with noise that is small where the data around the median is dense: smooth sensitivity.
///
/// How far one changed row moves the median *of this data* is usually little, but noise of that size would tell how dense the data is, and so leak
/// (`local_sensitivity_leaks` shows it). The smooth sensitivity S(x) = max_k e^(−βk)·A⁽ᵏ⁾(x) weighs how far the median can move after k changes,
/// and differs by a factor of at most e^β between neighbours. The answer is cut to the bounds, which costs no privacy.
///
/// With K = min(n, ln((upper−lower)·2^33/ε)/β), sorting takes O(n log n) and the search at most O(K²) subtractions, so a small ε on many rows
/// is slow. The time depends on the data.
///
/// # Privacy
/// Claim: ε-DP when the value of one unit is changed; the number of units is public.
/// Proof: let f be the median, S as above with β = ε/2, but at least a constant, and s = 2S/ε; the answer is round(f + s·Z) with Z Cauchy, h(z) = 1/(π(1+z²)).
/// (1) |f(x) − f(x')| ≤ A⁽⁰⁾(x) ≤ S(x). (2) A⁽ᵏ⁾(x) ≤ A⁽ᵏ⁺¹⁾(x'), so S(x) ≤ e^β·S(x'), and a constant under the maximum changes nothing. Both are proved at
/// `Ordered::spread`. (3) Sliding: |d/dz ln h(z)| = 2|z|/(1+z²) ≤ 1, so moving the centre from f(x) to f(x') at scale s(x), by at most S(x)/s(x) = ε/2 units, costs at
/// most ε/2. (4) Dilation: d/dλ ln(e^−λ·h(e^−λ·z)) = −1 + 2u²/(1+u²) ∈ [−1, 1] with u = e^−λ·z, so changing the scale from s(x) to s(x') costs at most
/// |ln(s(x)/s(x'))| ≤ β = ε/2. In all ε for the density, hence for every event. f lies on the grid, so rounding the noise is rounding f + s·Z:
/// post-processing, as is cutting to the bounds.
/// Source: Nissim, Raskhodnikova and Smith 2007; the constants for this noise are proved above. Assumes: exact sampler; S enclosed to any precision.
/// Audited by: `audit_smooth_median`, `local_sensitivity_leaks`, `smooth_median_verified_exactly` (false alarm 1e-9, rejects a sixteenth of the noise and local sensitivity, exactly a quarter of the noise).
#[derive(Clone, Debug)]
pub struct SmoothMedian {
    terms: Terms,
    bounds: Bounds,
    /// β.
    decay: Rational,
    /// s/S = 2/ε.
    factor: Rational,
}

impl SmoothMedian {
    /// The median of values within these bounds. Its input must not tell more by its length: neighbours have equally many rows.
    pub fn new(epsilon: Epsilon, bounds: Bounds) -> Result<Self, Error> {
        if epsilon == Epsilon::ZERO {
            return Err(Error::NoEpsilon);
        }
        let decay = epsilon.as_rational() * ratio(1, 2);
        let factor = Rational::ONE / &decay;
        let event = Event::Pure {
            epsilon: epsilon.clone(),
        };
        let promise = Promise::Pure(epsilon);
        let terms = Terms::new(one_row(), event, promise, Accuracy::DependsOnData)
            .on(bounds.grid())
            .only_for(Neighbors::ChangeOne);
        Ok(Self {
            terms,
            bounds,
            decay,
            factor,
        })
    }

    /// The scale s of the noise for this data, as a real number.
    fn scale(&self, data: &Ordered) -> Scale {
        Scale {
            peaks: self.peaks(data),
            decay: self.decay.clone(),
            factor: self.factor.clone(),
        }
    }

    /// All (k, A⁽ᵏ⁾) that may attain the maximum of e^(−βk)·A⁽ᵏ⁾, unless all are below the floor.
    ///
    /// Nothing is left out but what an interval shows to be no larger than the floor or another product. From k = n on A⁽ᵏ⁾ is constant and products fall.
    fn peaks(&self, data: &Ordered) -> Vec<(i64, i64)> {
        let floor = Interval::from_rational(&(power_of_two(FLOOR) / &self.factor), SEARCH_BITS);
        // The largest product is certainly at least this, or at most the floor.
        let mut at_least = floor.lo().clone();
        let width = Integer::from(self.bounds.width());
        let ratio = Interval::exp_of(&-self.decay.clone(), SEARCH_BITS);
        let mut weight = Interval::from_integer(1, SEARCH_BITS);
        let mut peaks: Vec<(i64, i64, Integer)> = Vec::new();
        for changes in 0..=data.rows() {
            if weight.hi() * &width <= at_least {
                break;
            }
            if weight.hi() * Integer::from(data.spread_at_most(changes)) > at_least {
                let spread = data.spread(changes);
                let product = weight.scale(&Integer::from(spread));
                if *product.hi() > at_least {
                    at_least = at_least.max(product.lo().clone());
                    peaks.push((changes, spread, product.hi().clone()));
                }
            }
            weight = weight.mul(&ratio);
        }
        peaks.retain(|(_, _, at_most)| *at_most >= at_least);
        peaks
            .into_iter()
            .map(|(changes, spread, _)| (changes, spread))
            .collect()
    }
}

/// s = (2/ε)·max(e^(−βk)·A⁽ᵏ⁾ over the peaks), at least 2^FLOOR.
struct Scale {
    peaks: Vec<(i64, i64)>,
    decay: Rational,
    factor: Rational,
}

impl Scale {
    fn enclose(&self, bits: u32) -> Interval {
        // The factors are below 2^63 and as large as 2/ε is.
        let work = bits + 72 + exact::floor_log2(&self.factor).max(0).unsigned_abs();
        let floor = Interval::from_rational(&power_of_two(FLOOR), work);
        let products = self.peaks.iter().map(|(changes, spread)| {
            let weight = Interval::exp_of(&-(&self.decay * Rational::from(*changes)), work);
            let factor = &self.factor * Rational::from(*spread);
            weight
                .scale(factor.numerator())
                .div_integer(&Integer::from(factor.denominator().clone()))
        });
        products
            .fold(floor, |largest, product| largest.max(&product))
            .with_bits(bits)
    }
}

impl Stated for SmoothMedian {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Mechanism<Column> for SmoothMedian {
    type Output = i64;

    fn draw(&self, input: Aggregate<Column>, permit: Permit<'_>) -> i64 {
        let data = Ordered::new(input.open(), self.bounds);
        let scale = self.scale(&data);
        // The sampler asks for the same precision again and again.
        let known = RefCell::new(Vec::<Interval>::new());
        let enclose = |bits: u32| {
            let mut known = known.borrow_mut();
            if let Some(found) = known.iter().find(|interval| interval.bits() == bits) {
                return found.clone();
            }
            let fresh = scale.enclose(bits);
            known.push(fresh.clone());
            fresh
        };
        let noisy = RoundedCauchy::add_to(data.median(), enclose, permit.entropy());
        noisy.clamp(self.bounds.lower(), self.bounds.upper())
    }
}
