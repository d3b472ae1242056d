use crate::contest::Contest;
use crate::{Aggregate, Error, Mechanism, Permit, Sensitivity, Stated, Terms};
use accounting::{Epsilon, Event};
use exact::Rational;
use noise::{BernoulliExp, UniformInteger};

/// Chooses one of several candidates by their scores, and never worse on average than the exponential mechanism.
///
/// As published: go through the candidates in random order and toss a coin for each, which shows heads with probability
/// exp(−ε(max−uᵢ)/2Δ); the first to show heads is chosen. Here every coin is tossed and one of the heads is chosen evenly. That is the
/// same distribution, because the coins do not depend on the order, and the first of the heads in a random order is each of them equally
/// often; and the number of tosses is the number of candidates, whatever the scores are. The best candidate's coin always shows heads.
///
/// Input, Δ and the number of candidates are as for [`ExponentialMechanism`](crate::ExponentialMechanism), and so is the bound on the
/// shortfall: a candidate that is short by g is chosen only if its coin shows heads, which has probability at most e^(−g/s).
///
/// # Privacy
/// Claim: ε-DP for scores that each move by at most Δ; with [`PermuteAndFlip::monotone`], coins of exp(−ε(max−uᵢ)/Δ) are ε-DP when they all move the same way.
/// Proof: let s = 2Δ/ε (monotone: Δ/ε), pᵢ = exp(−(max−uᵢ)/s), and H the number of heads among the others. P(i) = pᵢ·E(1/(1+H)) = pᵢ·∫₀¹ E(vᴴ) dv =
/// pᵢ·∫₀¹ Πⱼ(1−pⱼ+pⱼv) dv = pᵢ·∫₀¹ Πⱼ(1−pⱼv) dv over j ≠ i. With v = exp(−(t−max)/s) this is ∫ (1/s)·exp(−(t−uᵢ)/s)·Πⱼ(1−exp(−(t−uⱼ)/s)) dt over t ≥ max:
/// the probability that uᵢ+Zᵢ is the largest of all uⱼ+Zⱼ for independent exponential Z of scale s. Fix the other Z and let m be the largest of the others: i wins
/// with probability exp(−max(0, m−uᵢ)/s). When scores move by at most Δ, m−uᵢ moves by at most 2Δ; when all move the same way, m and uᵢ move the same way, so
/// m−uᵢ moves by at most Δ. In both cases the probability changes by a factor of at most e^ε, for every value of the other Z, hence on average.
/// Source: McKenna and Sheldon 2020; as exponential noise: Ding, Kifer, Saghaian, Steinke, Wang, Xiao and Zhang 2021. Assumes: exact coins.
/// Audited by: `audit_permute_and_flip`, `permute_and_flip_keeps_its_claim_on_neighbours` (false alarm 1e-9, rejects 1.05 ε where it is tight, and half of Δ).
#[derive(Clone, Debug)]
pub struct PermuteAndFlip {
    contest: Contest,
}

impl PermuteAndFlip {
    /// An ε-DP choice among `candidates` whose scores have this sensitivity (in ℓ∞).
    pub fn new(epsilon: Epsilon, sensitivity: Sensitivity, candidates: usize) -> Result<Self, Error> {
        // Its losses are not known to lie in a range of width ε, as those of the exponential mechanism do.
        let contest = Contest::new(
            epsilon,
            sensitivity,
            candidates,
            |epsilon| Event::Pure { epsilon },
            1,
        )?;
        Ok(Self { contest })
    }

    /// For scores that never move in opposite directions: a unit that is added raises them all or lowers them all (or leaves some).
    /// Counts are such scores. Half the noise. This is a claim that nothing checks, and only neighbours by adding or removing have it.
    #[must_use]
    pub fn monotone(self) -> Self {
        let contest = self.contest.monotone();
        Self { contest }
    }

    /// A candidate that is this much short of the best shows heads with probability 1/e.
    pub fn scale(&self) -> Rational {
        self.contest.scale().clone()
    }

    /// The coin of candidate i shows heads with probability e^(−xᵢ).
    fn exponents(&self, scores: &[i64]) -> Vec<Rational> {
        let scale = self.contest.scale();
        let best = scores.iter().copied().max().map_or(0, i128::from);
        let gap = |score: &i64| Rational::from(best - i128::from(*score)) / scale;
        scores.iter().map(gap).collect()
    }
}

impl Stated for PermuteAndFlip {
    fn terms(&self) -> &Terms {
        self.contest.terms()
    }
}

impl Mechanism<Vec<i64>> for PermuteAndFlip {
    type Output = usize;

    fn draw(&self, input: Aggregate<Vec<i64>>, permit: Permit<'_>) -> usize {
        let entropy = permit.entropy();
        let exponents = self.exponents(&self.contest.scores(input));
        let mut heads = Vec::with_capacity(exponents.len());
        for (candidate, exponent) in exponents.iter().enumerate() {
            let coin = BernoulliExp::new(exponent).expect("no score exceeds the best");
            if coin.sample(entropy) {
                heads.push(candidate);
            }
        }
        let place = UniformInteger::new(heads.len() as u64).expect("the best candidate's coin shows heads");
        heads[place.sample(entropy) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::account;
    use crate::trial::{FALSE_ALARM, black_box, claimed, keeps, loss};
    use accounting::Neighbors;
    use audit::black_box::FindingVerdict;
    use audit::exact_audit::Finite;
    use exact::{Integer, Interval, parse_decimal, ratio};
    use proptest::prelude::*;

    fn mechanism(epsilon: &str, step: i64, candidates: usize) -> PermuteAndFlip {
        let sensitivity = Sensitivity::vector(candidates as u64, step).unwrap();
        PermuteAndFlip::new(Epsilon::parse(epsilon).unwrap(), sensitivity, candidates).unwrap()
    }

    /// By the definition: every set of heads, each of its members equally often.
    fn masses(exponents: &[Rational], bits: u32) -> Vec<Interval> {
        let one = Interval::from_integer(1, bits);
        let coins: Vec<Interval> = exponents
            .iter()
            .map(|x| Interval::exp_of(&-x.clone(), bits))
            .collect();
        let mut masses = vec![Interval::from_integer(0, bits); coins.len()];
        for set in 1u32..1 << coins.len() {
            let probability = coins.iter().enumerate().fold(one.clone(), |product, (i, coin)| {
                product.mul(&if set >> i & 1 == 1 {
                    coin.clone()
                } else {
                    one.sub(coin)
                })
            });
            let share = probability.div_integer(&Integer::from(set.count_ones()));
            for (i, mass) in masses.iter_mut().enumerate() {
                if set >> i & 1 == 1 {
                    *mass = mass.add(&share);
                }
            }
        }
        masses
    }

    fn distribution(mechanism: &PermuteAndFlip, scores: &[i64]) -> Finite {
        let exponents = mechanism.exponents(scores);
        Finite::from_recipe(scores.len(), move |bits| masses(&exponents, bits + 16)).unwrap()
    }

    #[test]
    fn audit_permute_and_flip() {
        for (epsilon, step, lead) in [("1", 1, 10), ("0.1", 3, 100), ("3", 2, 20)] {
            let claimed = parse_decimal(epsilon).unwrap();
            let plain = mechanism(epsilon, step, 2);
            let (p, q) = (
                distribution(&plain, &[0, lead]),
                distribution(&plain, &[step, lead - step]),
            );
            assert!(keeps(&p, &q, &claimed) && loss(&p, &q).lower() > &claimed * ratio(100, 105));
            assert!(!keeps(
                &p,
                &distribution(&plain, &[2 * step, lead - 2 * step]),
                &claimed
            ));
            let monotone = mechanism(epsilon, step, 2).monotone();
            let (p, q) = (
                distribution(&monotone, &[0, lead]),
                distribution(&monotone, &[step, lead]),
            );
            assert!(keeps(&p, &q, &claimed) && loss(&p, &q).lower() > &claimed * ratio(100, 105));
            assert!(!keeps(
                &p,
                &distribution(&monotone, &[step, lead - step]),
                &claimed
            ));
        }
        let flip = mechanism("2", 1, 3);
        let (scores, neighbour) = (vec![0, 3, 0], vec![1, 2, -1]);
        let found = black_box(&flip, [&scores, &neighbour], 6_000, 0.0, |&i| i as i64);
        assert_eq!(found.verdict(2.0, 0.0), FindingVerdict::Consistent, "{found:?}");
        // The mutant: scores move by twice the sensitivity that was stated.
        let found = black_box(&flip, [&scores, &vec![2, 1, -2]], 6_000, 0.0, |&i| i as i64);
        assert_eq!(found.verdict(2.0, 0.0), FindingVerdict::Refuted, "{found:?}");
    }

    /// What is drawn is what the exact audit judged.
    #[test]
    fn draws_follow_the_distribution() {
        let flip = mechanism("1", 1, 3);
        let scores = vec![3, 4, 1];
        let trials = 10_000;
        let probability = masses(&flip.exponents(&scores), 128)[0].to_f64_nearest();
        let mut account = account(Neighbors::AddRemove);
        let mut draw = || {
            account
                .release_by(&flip, claimed(&flip, scores.clone()), "")
                .unwrap()
                .into_value()
        };
        let chosen = (0..trials).filter(|_| draw() == 0).count() as u64;
        audit::goodness::frequency_test(chosen, trials, probability, FALSE_ALARM).assert_consistent();
        audit::goodness::frequency_test(chosen, trials, probability * 1.3, FALSE_ALARM).assert_rejected();
    }

    #[test]
    fn never_worse_than_the_exponential_mechanism() {
        let flip = mechanism("1", 1, 5);
        for scores in [
            [0, 1, 2, 3, 4],
            [0, 0, 0, 0, 9],
            [9, 9, 0, 0, 0],
            [5, 4, 4, 4, 4],
            [-30, 7, 7, 6, 1],
        ] {
            let exponents = flip.exponents(&scores);
            let weights: Vec<Rational> = exponents.iter().map(|x| -x.clone()).collect();
            let expected_shortfall = |masses: Vec<Interval>| {
                let terms = masses.iter().zip(&exponents);
                terms.fold(Interval::from_integer(0, 128), |sum, (mass, x)| {
                    sum.add(&mass.mul(&Interval::from_rational(x, 128)))
                })
            };
            let ours = expected_shortfall(masses(&exponents, 128));
            let theirs = expected_shortfall(Finite::from_exponents(&weights).unwrap().enclose(128));
            assert!(ours.upper() < theirs.lower(), "{scores:?}: {ours:?} {theirs:?}");
        }
        // When all scores are equal both choose evenly.
        let even = masses(&flip.exponents(&[7; 5]), 128);
        assert!(even.iter().all(|mass| mass.contains(&ratio(1, 5))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn permute_and_flip_keeps_its_claim_on_neighbours(
            pairs in prop::collection::vec((-20i64..20, -3i64..=3), 1..6),
            rises in any::<bool>(),
        ) {
            let n = pairs.len();
            let scores: Vec<i64> = pairs.iter().map(|(score, _)| *score).collect();
            let anyhow: Vec<i64> = pairs.iter().map(|(score, by)| score + by).collect();
            let together: Vec<i64> =
                pairs.iter().map(|(score, by)| score + if rises { by.abs() } else { -by.abs() }).collect();
            let plain = mechanism("0.7", 3, n);
            prop_assert!(keeps(&distribution(&plain, &scores), &distribution(&plain, &anyhow), &ratio(7, 10)));
            let monotone = mechanism("0.7", 3, n).monotone();
            prop_assert!(keeps(&distribution(&monotone, &scores), &distribution(&monotone, &together), &ratio(7, 10)));
        }
    }
}
