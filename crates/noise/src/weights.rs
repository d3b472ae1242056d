use crate::{Distribution, Entropy, Error, Inversion};
use exact::{Integer, Interval, Natural, Rational};

/// Chooses candidate i with probability ∝ m_i·e^(−x_i), for rational x_i and natural multiplicities m_i.
/// ```
/// use exact::ratio;
/// use noise::{ExponentialWeights, Keyed};
///
/// // The exponential mechanism: the first candidate is e⁵ times as likely as the second.
/// let choice = ExponentialWeights::new(vec![ratio(0, 1), ratio(5, 1)])?;
/// let mut entropy = Keyed::new([1; 32], 0);
/// let first = (0..1000).filter(|_| choice.sample(&mut entropy) == 0).count();
/// assert!(first > 970, "{first}");
/// # Ok::<(), noise::Error>(())
/// ```
///
/// # Exactness
/// Proof: an [`Inversion`] of the distribution F(k) = Σ_{i≤k} m_i·e^(−(x_i−min)) / Σ_i m_i·e^(−(x_i−min)), enclosed by interval arithmetic;
/// the common factor e^min cancels. All weights are computed whatever is chosen.
/// Tested by: `weights_enumerated`, `weights_fit`.
#[derive(Clone, Debug)]
pub struct ExponentialWeights(Inversion<Weights>);

#[derive(Clone, Debug)]
struct Weights {
    exponents: Vec<Rational>,
    multiplicities: Vec<Natural>,
}

impl Distribution for Weights {
    fn cumulative(&self, bits: u32) -> Vec<Interval> {
        let possible = self
            .exponents
            .iter()
            .zip(&self.multiplicities)
            .filter(|(_, count)| !count.is_zero());
        let smallest = possible
            .map(|(exponent, _)| exponent)
            .min()
            .expect("at least one candidate");
        // The smallest exponent's weight is at least 1, so the total is, and absolute precision is relative precision enough.
        let work = bits + 16 + (self.exponents.len() as u32).ilog2();
        let mut sum = Interval::from_integer(0, work);
        let sums: Vec<Interval> = self
            .exponents
            .iter()
            .zip(&self.multiplicities)
            .map(|(exponent, multiplicity)| {
                if multiplicity.is_zero() {
                    return sum.clone();
                }
                let weight = Interval::exp_of(&(smallest - exponent), work);
                sum = sum.add(&weight.scale(&Integer::from(multiplicity.clone())));
                sum.clone()
            })
            .collect();
        sums[..sums.len() - 1]
            .iter()
            .map(|part| part.div(&sum).expect("a positive total").with_bits(bits))
            .collect()
    }
}

impl ExponentialWeights {
    /// Candidates with exponents x_i, each once.
    pub fn new(exponents: Vec<Rational>) -> Result<Self, Error> {
        let multiplicities = vec![Natural::ONE; exponents.len()];
        Self::with_multiplicities(exponents, multiplicities)
    }

    /// Candidates with exponents x_i and multiplicities m_i, one for each; some m_i must be positive.
    pub fn with_multiplicities(
        exponents: Vec<Rational>,
        multiplicities: Vec<Natural>,
    ) -> Result<Self, Error> {
        if exponents.len() != multiplicities.len() || multiplicities.iter().all(Natural::is_zero) {
            return Err(Error::NoCandidates);
        }
        if exponents.len() > 1 << 26 {
            return Err(Error::TooManyCandidates);
        }
        Ok(Self(Inversion::new(Weights {
            exponents,
            multiplicities,
        })))
    }

    /// The index of the candidate chosen.
    pub fn sample(&self, entropy: &mut (impl Entropy + ?Sized)) -> usize {
        self.0.sample(entropy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OsEntropy;
    use crate::inversion::tests::assert_exact;
    use exact::ratio;

    fn distribution(exponents: &[Rational], chosen: usize) -> Interval {
        let weight = |exponent: &Rational| Interval::exp_of(&-exponent.clone(), 100);
        let total = exponents
            .iter()
            .map(weight)
            .reduce(|sum, term| sum.add(&term))
            .unwrap();
        weight(&exponents[chosen]).div(&total).unwrap()
    }

    #[test]
    fn weights_enumerated() {
        let exponents = vec![ratio(3, 2), ratio(0, 1), ratio(1, 3), ratio(10, 1)];
        for key_bits in [2, 5, 7] {
            let weights = Weights {
                exponents: exponents.clone(),
                multiplicities: vec![Natural::ONE; 4],
            };
            let choice = ExponentialWeights(Inversion::with_bounds(weights, key_bits, key_bits + 1));
            assert_exact(
                2,
                |cell| distribution(&exponents, cell as usize),
                |tape| choice.sample(tape) as i64,
            )
            .unwrap();
        }
    }

    #[test]
    fn weights_fit() {
        let mut entropy = OsEntropy::new().unwrap();
        let trials = 200_000;
        let choice = ExponentialWeights::new(vec![ratio(-7, 1), ratio(-8, 1), ratio(-6, 1)]).unwrap();
        let best = (0..trials).filter(|_| choice.sample(&mut entropy) == 1).count() as u64;
        let probability = 1.0 / (1.0 + (-1f64).exp() + (-2f64).exp());
        audit::goodness::frequency_test(best, trials, probability, 1e-9).assert_consistent();
        audit::goodness::frequency_test(best, trials, probability * 1.05, 1e-9).assert_rejected();
    }

    #[test]
    fn multiplicities_count() {
        let mut entropy = OsEntropy::new().unwrap();
        let counts = [Natural::ZERO, Natural::from(3u8), Natural::ONE];
        let choice =
            ExponentialWeights::with_multiplicities(vec![Rational::ZERO; 3], counts.to_vec()).unwrap();
        let trials = 100_000;
        let chosen = (0..trials).filter(|_| choice.sample(&mut entropy) == 1).count() as u64;
        audit::goodness::frequency_test(chosen, trials, 0.75, 1e-9).assert_consistent();
        assert_eq!(ExponentialWeights::new(vec![]).unwrap_err(), Error::NoCandidates);
    }

    /// A boundary that is exactly one half although no enclosure can tell: the draw still ends.
    #[test]
    fn ties_of_irrational_weights_end() {
        let exponents = vec![ratio(0, 1), ratio(1, 1), ratio(0, 1), ratio(1, 1)];
        let choice = ExponentialWeights::new(exponents).unwrap();
        assert_eq!(
            choice.sample(&mut crate::Tape::new([0x7f, 0xff, 0xff, 0xff, 0])),
            1
        );
        // Above one half only in its hundredth bit: the first refinement cannot tell yet.
        let mut above = [0u8; 40];
        (above[0], above[12]) = (0x80, 0x10);
        assert_eq!(choice.sample(&mut crate::Tape::new(above)), 2);
    }
}
