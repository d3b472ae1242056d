//! Random parts of the numbers 0, 1, 2, …: what a step of training looks at.

use crate::{Entropy, Error, UniformInteger};
use exact::{Rational, power_of_two};

/// Each number is in with the same rational probability, independently of all others: a Poisson sample.
/// ```
/// use exact::ratio;
/// use noise::{Keyed, RandomSubset};
///
/// // A batch of private training: each of a thousand people with probability 1/10.
/// let sampler = RandomSubset::new(&ratio(1, 10))?;
/// let batch = sampler.sample(1000, &mut Keyed::new([1; 32], 0));
/// assert!((60..140).contains(&batch.len()), "{}", batch.len());
/// assert!(batch.is_sorted() && batch.iter().all(|person| *person < 1000));
/// # Ok::<(), noise::Error>(())
/// ```
///
/// # Exactness
/// Proof: a number is in exactly when a uniform U, one to each number, is below p. U is read digit by digit to the base 256; the first digit that differs from
/// that of p decides, as U < p or U > p. When all of p's digits are read and equal, U ≥ p. The digits of p are exact: ⌊256·r⌋ of the remainder r.
/// Tested by: `subsets_enumerated`, `subsets_fit`.
#[derive(Clone, Debug)]
pub struct RandomSubset {
    probability: Rational,
    first: u32,
}

/// How many words are drawn together; each decides four numbers, but for one in 256.
const BATCH: usize = 64;

impl RandomSubset {
    /// With this probability for each.
    pub fn new(probability: &Rational) -> Result<Self, Error> {
        if *probability < Rational::ZERO || *probability > Rational::ONE {
            return Err(Error::NotAProbability);
        }
        let first = u32::try_from((probability * power_of_two(8)).floor()).expect("at most 256");
        Ok(Self {
            probability: probability.clone(),
            first,
        })
    }

    /// A part of 0..count, in order.
    pub fn sample(&self, count: u64, entropy: &mut (impl Entropy + ?Sized)) -> Vec<u64> {
        entropy.refresh();
        let mut chosen = Vec::new();
        let mut words = [0u32; BATCH];
        let mut start = 0;
        while start < count {
            let left = count - start;
            let words = &mut words[..left.div_ceil(4).min(BATCH as u64) as usize];
            entropy.fill(words, 32);
            let digits = words.iter().flat_map(|word| word.to_be_bytes());
            for (number, digit) in (start..count).zip(digits) {
                let digit = u32::from(digit);
                // Written so that one comparison settles what almost always is the case.
                if digit <= self.first && (digit < self.first || self.rest_is_below(entropy)) {
                    chosen.push(number);
                }
            }
            start += 4 * words.len() as u64;
        }
        chosen
    }

    /// Whether the digits of U after the first, which equals p's, make it smaller than p.
    #[cold]
    fn rest_is_below(&self, entropy: &mut (impl Entropy + ?Sized)) -> bool {
        let mut rest = &self.probability * power_of_two(8) - Rational::from(self.first);
        while !rest.is_zero() {
            rest *= power_of_two(8);
            let digit = u64::try_from(rest.floor()).expect("below 256");
            let drawn = entropy.bits(8);
            if drawn != digit {
                return drawn < digit;
            }
            rest -= Rational::from(digit);
        }
        false
    }
}

/// `size` different numbers of 0..count, each set equally likely, in order.
///
/// Floyd's algorithm: for j from count − size on, a uniform t of 0..=j, or j itself where t is in already. By induction the set is uniform among those of its size in 0..=j: a
/// set with j has the chance (1/(j+1))·(number of its elements), from t = j or t one of the others that are in, and one without j the rest.
///
/// # Errors
/// When there are fewer than `size` numbers.
pub fn random_choice(
    size: u64,
    count: u64,
    entropy: &mut (impl Entropy + ?Sized),
) -> Result<Vec<u64>, Error> {
    if size > count {
        return Err(Error::EmptyRange);
    }
    let mut chosen = std::collections::BTreeSet::new();
    for last in count - size..count {
        let drawn = UniformInteger::new(last + 1)?.sample(entropy);
        if !chosen.insert(drawn) {
            chosen.insert(last);
        }
    }
    Ok(chosen.into_iter().collect())
}

/// 0..count in a random order, each equally likely: the shuffle of Fisher and Yates, with exact uniform integers.
/// ```
/// use noise::{Keyed, random_order};
///
/// let mut order = random_order(5, &mut Keyed::new([1; 32], 0));
/// order.sort();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
/// ```
pub fn random_order(count: u64, entropy: &mut (impl Entropy + ?Sized)) -> Vec<u64> {
    let mut order: Vec<u64> = (0..count).collect();
    for last in (1..count).rev() {
        let drawn = UniformInteger::new(last + 1)
            .expect("a positive number")
            .sample(entropy);
        order.swap(last as usize, drawn as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inversion::tests::assert_exact;
    use crate::{OsEntropy, Tape};
    use exact::{Interval, ratio};
    use std::collections::BTreeMap;

    #[test]
    fn subsets_enumerated() {
        for p in [
            ratio(1, 3),
            ratio(1, 300),
            ratio(1, 2),
            ratio(255, 256),
            ratio(0, 1),
            ratio(1, 1),
        ] {
            let subset = RandomSubset::new(&p).unwrap();
            // The first digit of the one number, three that are thrown away, and two digits more where it is undecided: a tape that skips those three.
            let draw = |tape: &mut Tape| {
                struct Short<'a>(&'a mut Tape);
                impl Entropy for Short<'_> {
                    fn bits(&mut self, count: u32) -> u64 {
                        if count == 32 {
                            self.0.bits(8) << 24
                        } else {
                            self.0.bits(count)
                        }
                    }
                }
                subset.sample(1, &mut Short(tape)).len() as i64
            };
            let distribution = |inside: i64| {
                let p = if inside == 1 {
                    p.clone()
                } else {
                    Rational::ONE - &p
                };
                Interval::from_rational(&p, 64)
            };
            assert_exact(2, distribution, draw).unwrap();
            let wrong = |inside: i64| {
                let p = &p * ratio(9, 10) + ratio(1, 50);
                let p = if inside == 1 { p } else { Rational::ONE - p };
                Interval::from_rational(&p, 64)
            };
            assert!(assert_exact(2, wrong, draw).is_err(), "the mutant is noticed");
        }
        assert!(RandomSubset::new(&ratio(3, 2)).is_err());
    }

    /// How often each number is in, and how many are, against their distributions at a false-alarm rate of 1e-9 each.
    #[test]
    fn subsets_fit() {
        let mut entropy = OsEntropy::new().unwrap();
        for p in [ratio(1, 100), ratio(37, 100), ratio(1, 1000)] {
            let subset = RandomSubset::new(&p).unwrap();
            let (count, rounds) = (1003u64, 400u64);
            let mut times = vec![0u64; count as usize];
            for _ in 0..rounds {
                for number in subset.sample(count, &mut entropy) {
                    times[number as usize] += 1;
                }
            }
            let total: u64 = times.iter().sum();
            let (low, high) = audit::binomial::clopper_pearson(total, count * rounds, 1.0 - 1e-9);
            let p = exact::to_f64_nearest(&p);
            assert!(low <= p && p <= high, "{low} {p} {high}");
            // All numbers alike: the first and the last of a word, and of the list.
            for number in [0usize, 3, 4, 255, 256, 1002] {
                let (low, high) = audit::binomial::clopper_pearson(times[number], rounds, 1.0 - 1e-9);
                assert!(low <= p && p <= high, "{number}");
            }
            // The mutant: a tenth more.
            let (low, high) = audit::binomial::clopper_pearson(total * 11 / 10, count * rounds, 1.0 - 1e-9);
            assert!(p < 0.02 || !(low <= p && p <= high), "{p}");
        }
    }

    #[test]
    fn choices_and_orders_are_uniform() {
        let mut entropy = OsEntropy::new().unwrap();
        let (mut sets, mut orders) = (BTreeMap::new(), BTreeMap::new());
        for _ in 0..20_000 {
            *sets
                .entry(random_choice(2, 5, &mut entropy).unwrap())
                .or_insert(0u64) += 1;
            *orders.entry(random_order(4, &mut entropy)).or_insert(0u64) += 1;
        }
        assert_eq!((sets.len(), orders.len()), (10, 24));
        for (times, cells) in sets
            .values()
            .map(|n| (*n, 10.0))
            .chain(orders.values().map(|n| (*n, 24.0)))
        {
            let (low, high) = audit::binomial::clopper_pearson(times, 20_000, 1.0 - 1e-11);
            assert!(low <= 1.0 / cells && 1.0 / cells <= high, "{times} of {cells}");
        }
        assert_eq!(random_choice(3, 3, &mut entropy).unwrap(), [0, 1, 2]);
        assert!(random_choice(4, 3, &mut entropy).is_err());
        assert!(random_order(0, &mut entropy).is_empty());
    }
}
