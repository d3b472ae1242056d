use crate::{Distribution, Entropy, Error, Inversion};
use exact::{Interval, Rational};

/// A coin that shows `true` with a rational probability.
/// ```
/// use exact::ratio;
/// use noise::{Bernoulli, Keyed};
///
/// let coin = Bernoulli::new(&ratio(1, 3))?;
/// let mut entropy = Keyed::new([1; 32], 0);
/// let heads = (0..3000).filter(|_| coin.sample(&mut entropy)).count();
/// assert!((900..1100).contains(&heads), "the same key, the same {heads}");
/// assert!(Bernoulli::new(&ratio(4, 3)).is_err());
/// # Ok::<(), noise::Error>(())
/// ```
///
/// # Exactness
/// Proof: an [`Inversion`] of the two-cell distribution with F(0) = p: the cell is 0 exactly when U < p.
/// Tested by: `bernoulli_enumerated`, `bernoulli_fits`.
#[derive(Clone, Debug)]
pub struct Bernoulli(Inversion<Threshold>);

#[derive(Clone, Debug)]
struct Threshold(Rational);

impl Distribution for Threshold {
    fn cumulative(&self, bits: u32) -> Vec<Interval> {
        vec![Interval::from_rational(&self.0, bits)]
    }
}

impl Bernoulli {
    /// With probability `probability` of `true`.
    pub fn new(probability: &Rational) -> Result<Self, Error> {
        if *probability < Rational::ZERO || *probability > Rational::ONE {
            return Err(Error::NotAProbability);
        }
        Ok(Self(Inversion::new(Threshold(probability.clone()))))
    }

    /// One toss.
    pub fn sample(&self, entropy: &mut (impl Entropy + ?Sized)) -> bool {
        self.0.sample(entropy) == 0
    }
}

/// A coin that shows `true` with probability e^-x, for a rational x ≥ 0.
///
/// # Exactness
/// Proof: an [`Inversion`] of the two-cell distribution with F(0) = e^-x, enclosed by interval arithmetic.
/// Tested by: `bernoulli_enumerated`, `bernoulli_fits`.
#[derive(Clone, Debug)]
pub struct BernoulliExp(Inversion<Exponential>);

#[derive(Clone, Debug)]
struct Exponential(Rational);

impl Distribution for Exponential {
    fn cumulative(&self, bits: u32) -> Vec<Interval> {
        vec![Interval::exp_of(&-self.0.clone(), bits)]
    }
}

impl BernoulliExp {
    /// With probability e^-exponent of `true`.
    pub fn new(exponent: &Rational) -> Result<Self, Error> {
        if *exponent < Rational::ZERO {
            return Err(Error::NegativeExponent);
        }
        Ok(Self(Inversion::new(Exponential(exponent.clone()))))
    }

    /// One toss.
    pub fn sample(&self, entropy: &mut (impl Entropy + ?Sized)) -> bool {
        self.0.sample(entropy) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsEntropy;
    use crate::inversion::tests::assert_exact;
    use exact::ratio;

    #[test]
    fn bernoulli_enumerated() {
        for probability in [
            ratio(0, 1),
            ratio(1, 3),
            ratio(1, 2),
            ratio(5, 7),
            ratio(1, 1),
            ratio(1, 1000),
        ] {
            for key_bits in [1, 3, 6] {
                let coin = Bernoulli(Inversion::with_bounds(
                    Threshold(probability.clone()),
                    key_bits,
                    key_bits + 1,
                ));
                let distribution = |side: i64| match side {
                    1 => Interval::from_rational(&probability, 80),
                    _ => Interval::from_rational(&(Rational::ONE - &probability), 80),
                };
                assert_exact(2, distribution, |tape| coin.sample(tape).into()).unwrap();
            }
        }
        for exponent in [ratio(0, 1), ratio(1, 10), ratio(1, 1), ratio(9, 2), ratio(50, 1)] {
            let coin = BernoulliExp(Inversion::with_bounds(Exponential(exponent.clone()), 4, 5));
            let one = Interval::from_integer(1, 80);
            let distribution = |side: i64| match side {
                1 => Interval::exp_of(&-exponent.clone(), 80),
                _ => one.sub(&Interval::exp_of(&-exponent.clone(), 80)),
            };
            assert_exact(2, distribution, |tape| coin.sample(tape).into()).unwrap();
        }
    }

    #[test]
    fn bernoulli_fits() {
        let mut entropy = OsEntropy::new().unwrap();
        let trials = 400_000u64;
        let third = Bernoulli::new(&ratio(1, 3)).unwrap();
        let heads = (0..trials).filter(|_| third.sample(&mut entropy)).count() as u64;
        audit::goodness::frequency_test(heads, trials, 1.0 / 3.0, 1e-9).assert_consistent();
        audit::goodness::frequency_test(heads, trials, 1.05 / 3.0, 1e-9).assert_rejected();
        let exponential = BernoulliExp::new(&ratio(3, 2)).unwrap();
        let heads = (0..trials).filter(|_| exponential.sample(&mut entropy)).count() as u64;
        audit::goodness::frequency_test(heads, trials, (-1.5f64).exp(), 1e-9).assert_consistent();
        audit::goodness::frequency_test(heads, trials, (-1.5f64 * 1.05).exp(), 1e-9).assert_rejected();
    }

    #[test]
    fn certain_coins_are_certain() {
        let mut entropy = OsEntropy::new().unwrap();
        let (always, never) = (
            Bernoulli::new(&Rational::ONE).unwrap(),
            Bernoulli::new(&Rational::ZERO).unwrap(),
        );
        let surely = BernoulliExp::new(&Rational::ZERO).unwrap();
        for _ in 0..10_000 {
            assert!(
                always.sample(&mut entropy) && !never.sample(&mut entropy) && surely.sample(&mut entropy)
            );
        }
        assert_eq!(Bernoulli::new(&ratio(3, 2)).unwrap_err(), Error::NotAProbability);
        assert_eq!(
            BernoulliExp::new(&ratio(-1, 2)).unwrap_err(),
            Error::NegativeExponent
        );
    }
}
