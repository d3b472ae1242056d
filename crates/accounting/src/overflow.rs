//! Poisson samples of which at most so many units are kept, because memory has an end.

use crate::{Delta, Epsilon, Error, Event, Ratio, Sampler};
use exact::{Integer, Interval, Rational};

/// Bits of intermediate intervals: sizes up to 2^64, and logarithms of parts as small.
const BITS: u32 = 320;

impl Event {
    /// One step on a Poisson sample at this `rate`, of which a random `most` units are kept where more than that entered; the data has at most
    /// `of` units, which must be known without looking. For neighbours that add or remove one unit, and for those whose data may be blanked.
    ///
    /// # Privacy
    /// Claim: the step costs no more than one on the whole Poisson sample together with a probability τ of revealing everything, with
    /// τ ≥ P[Binomial(`of` − 1, `rate`) ≥ `most`].
    /// Proof: given which of the other units enter, S, the unit decides nothing about them. If S has fewer than `most` units, nobody is cut, whether
    /// the unit enters or not: the outputs with and without it are those of a Poisson step, (1−q)·N(v, σ²) + q·N(v+x, σ²) and N(v, σ²), or N(v, σ²)
    /// with blank data. Otherwise count everything as revealed: that is τ at most, as there are at most `of` − 1 others. δ is jointly convex in
    /// both distributions, so the step has δ ≤ (1−τ)·δ_Poisson + τ, which is the δ of the two events together; and these compose.
    /// It is below the (1 + e^ε)τ of Chua et al. 2024, who compare the whole runs, because the overflow is the same for both neighbours.
    /// Audited by: `the_overflow_is_at_least_the_binomial_tail`, `a_cut_batch_leaks_no_more_than_claimed`.
    ///
    /// # Errors
    /// When the rate is no probability, or more than `most` units are so likely that nothing is promised.
    pub fn truncated_poisson(
        rate: &Ratio,
        multiplier_squared: &Ratio,
        most: u64,
        of: u64,
    ) -> Result<Self, Error> {
        let step = Event::SampledGaussian {
            sampler: Sampler::Poisson { rate: rate.clone() },
            multiplier_squared: multiplier_squared.clone(),
        };
        let delta = overflow(rate, most, of)?;
        if delta == Delta::ZERO {
            return Ok(step);
        }
        let leak = Event::Approximate {
            epsilon: Epsilon::ZERO,
            delta,
        };
        Ok(Event::Composed(vec![step, leak]))
    }
}

/// At least P[Binomial(n, q) ≥ B], n = `of` − 1.
///
/// Beyond B the probabilities fall at least by the factor r = (n−B)q/((B+1)(1−q)) each, so the tail is at most the first over 1 − r; and
/// by Stirling's formula (Ash 1965, Lemma 4.7.1) the first is at most √(n/(2πB(n−B)))·e^(−n·KL(B/n ‖ q)) for 0 < B < n.
fn overflow(rate: &Ratio, most: u64, of: u64) -> Result<Delta, Error> {
    let q = Sampler::Poisson { rate: rate.clone() }.rate()?;
    let (others, kept) = (of.saturating_sub(1), most);
    if kept > others || q.is_zero() {
        return Ok(Delta::ZERO);
    }
    let certain = Error::DeltaTooLarge { text: "1".to_owned() };
    let (n, b) = (Rational::from(others), Rational::from(kept));
    let stay = Rational::ONE - &q;
    if kept == 0 || stay.is_zero() {
        return Err(certain);
    }
    let falling = (&n - &b) * &q / ((&b + Rational::ONE) * &stay);
    if falling >= Rational::ONE {
        return Err(certain);
    }
    // ln of the bound on the first, without its root.
    let times = |count: u64, value: &Rational| Interval::ln_of(value, BITS).scale(&Integer::from(count));
    let exponent = times(kept, &(&n * &q / &b));
    let (exponent, first) = if kept == others {
        (exponent, Rational::ONE)
    } else {
        let exponent = exponent.add(&times(others - kept, &(&n * &stay / (&n - &b))));
        // 2π > 6.28.
        let square = &n / (exact::ratio(628, 100) * &b * (&n - &b));
        (exponent, Interval::sqrt_of(&square, BITS).upper())
    };
    // Below e^(−600) < 1e-260 a probability is as good as that.
    let power = Interval::exp_of(&exponent.upper().max(exact::ratio(-600, 1)), 1000).upper();
    Delta::rounded_up(&(power * first / (Rational::ONE - falling)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Curve, Neighbors, PrivacyUnit};

    /// The tail itself, summed in exact arithmetic.
    fn tail(q: &Rational, most: u64, others: u64) -> Rational {
        let stay = Rational::ONE - q;
        let mut choose = Rational::ONE;
        let mut sum = Rational::ZERO;
        for k in 0..=others {
            if k >= most {
                let power =
                    |base: &Rational, times: u64| (0..times).fold(Rational::ONE, |product, _| product * base);
                sum += &choose * power(q, k) * power(&stay, others - k);
            }
            choose = choose * Rational::from(others - k) / Rational::from(k + 1);
        }
        sum
    }

    #[test]
    fn the_overflow_is_at_least_the_binomial_tail() {
        for (rate, most, of) in [
            ("1/4", 6u64, 12u64),
            ("1/4", 11, 12),
            ("1/10", 9, 40),
            ("1/10", 20, 60),
            ("1/100", 1, 30),
            ("1/2", 30, 50),
        ] {
            let rate = Ratio::parse(rate).unwrap();
            let bound = overflow(&rate, most, of).unwrap();
            let truth = tail(rate.as_rational(), most, of - 1);
            assert!(*bound.as_rational() >= truth, "{rate} {most} {of}: {bound}");
            // Stirling's formula is off by a twelfth of 1/B, and the geometric series by little.
            assert!(
                *bound.as_rational() <= truth * exact::ratio(14, 10),
                "{rate} {most} {of}: {bound}"
            );
        }
        // The planted error: counting the unit itself as one of the others that it must leave room for.
        let rate = Ratio::parse("1/4").unwrap();
        assert!(*overflow(&rate, 7, 12).unwrap().as_rational() < tail(rate.as_rational(), 6, 11));
    }

    #[test]
    fn what_cannot_overflow_leaks_nothing_and_what_must_is_refused() {
        let (rate, square) = (Ratio::parse("0.01").unwrap(), Ratio::parse("1").unwrap());
        let poisson = Event::SampledGaussian {
            sampler: Sampler::Poisson { rate: rate.clone() },
            multiplier_squared: square.clone(),
        };
        assert_eq!(
            Event::truncated_poisson(&rate, &square, 1000, 1000).unwrap(),
            poisson
        );
        for most in [0, 5, 9] {
            assert!(Event::truncated_poisson(&rate, &square, most, 1000).is_err());
        }
        // Six deviations above the mean of a large batch.
        let leak = overflow(&Ratio::parse("4096/1000000").unwrap(), 4480, 1_000_000).unwrap();
        let leak = leak.to_f64_up();
        assert!(leak > 1e-9 && leak < 3e-9, "{leak}");
    }

    /// Eight units of which three are kept, on a grid of three outputs per unit set: the step's δ by enumeration of all samples and cuts.
    #[test]
    fn a_cut_batch_leaks_no_more_than_claimed() {
        // Everybody adds nothing but the unit, which adds 1; it is kept with probability q·E[min(1, most/size)].
        let (q, most, others) = (0.25f64, 3usize, 7usize);
        let choose = |n: usize, k: usize| (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
        let kept: f64 = (0..=others)
            .map(|size| {
                let weight =
                    choose(others, size) * q.powi(size as i32) * (1.0 - q).powi((others - size) as i32);
                weight * q * (most as f64 / (size + 1) as f64).min(1.0)
            })
            .sum();
        let unit = PrivacyUnit::new("row", Neighbors::AddRemove);
        let event = Event::truncated_poisson(
            &Ratio::parse("1/4").unwrap(),
            &Ratio::parse("1").unwrap(),
            most as u64,
            others as u64 + 1,
        )
        .unwrap();
        let tail = |x: f64| 0.5 * libm::erfc(x / std::f64::consts::SQRT_2);
        for epsilon in [0.0f64, 0.1, 0.3, 0.8] {
            // (1−p)N(0, 1) + pN(1, 1) against N(0, 1).
            let w = (1.0 + epsilon.exp_m1() / kept).ln();
            let truth = kept * (tail(w - 0.5) - w.exp() * tail(w + 0.5));
            let asked = Epsilon::rounded_down(&exact::from_f64(epsilon).unwrap()).unwrap();
            let claimed = Curve::of(&event, &unit).unwrap().delta(&asked).unwrap().upper;
            assert!(claimed.to_f64_up() >= truth, "{epsilon}: {claimed} below {truth}");
        }
    }
}
