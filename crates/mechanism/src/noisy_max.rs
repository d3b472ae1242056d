use crate::contest::Contest;
use crate::wide_laplace::WideLaplace;
use crate::{Aggregate, Error, Mechanism, Permit, Sensitivity, Stated, Terms};
use accounting::{Epsilon, Event};
use exact::Rational;

/// Adds discrete Laplace noise of scale 2Δ/ε to each score and tells whose is the largest (the first of them in a tie), not how large.
///
/// Input, Δ and the number of candidates are as for [`ExponentialMechanism`](crate::ExponentialMechanism). This is the fastest of the three
/// choices when many are made with the same scale, since its sampler is made once.
///
/// The score of the choice is short of the best by g or more with probability at most n·e^(−g/2b), with b the scale of the noise: then
/// Zᵢ − Z of the best ≥ g for a chosen i, so one of the n−1 others has Zᵢ ≥ g/2, or the best has Z ≤ −g/2. Each has probability at most
/// e^(−g/2b), because P[Z ≥ r] = a^r/(1+a) with a = e^(−1/b) for integers r ≥ 1.
///
/// # Privacy
/// Claim: ε-DP for scores that each move by at most Δ; with [`NoisyMax::monotone`], noise of scale Δ/ε is ε-DP when they all move the same way.
/// Proof: fix the noise of all but i. Candidate i wins exactly when Zᵢ ≥ r, where r = max(max over j<i of (uⱼ+Zⱼ+1), max over j>i of (uⱼ+Zⱼ)) − uᵢ is an integer
/// (a tie goes to the lower index). When scores move by at most Δ, r moves by at most 2Δ; when all move the same way, the maximum and uᵢ do too, so r moves by
/// at most Δ. For every integer r, P[Z ≥ r+1] = Σ_{k≥r} P[Z=k+1] ≥ a·Σ_{k≥r} P[Z=k] = a·P[Z ≥ r], since |k+1| ≤ |k|+1. So the probability that i wins changes by a
/// factor of at most a^(−2Δ) = e^(2Δ/b) = e^ε (monotone: e^(Δ/b) = e^ε), for every noise of the others, hence on average.
/// Source: Dwork and Roth 2014, on the integers. Assumes: exact sampler whose tail has no end; b is the rational it is.
/// Audited by: `audit_noisy_max`, `noisy_max_keeps_its_claim_on_neighbours` (false alarm 1e-9, rejects 1.05 ε where it is nearly tight, and half of Δ).
#[derive(Clone, Debug)]
pub struct NoisyMax {
    contest: Contest,
    noise: WideLaplace,
}

impl NoisyMax {
    /// An ε-DP choice among `candidates` whose scores have this sensitivity (in ℓ∞).
    pub fn new(epsilon: Epsilon, sensitivity: Sensitivity, candidates: usize) -> Result<Self, Error> {
        let contest = Contest::new(
            epsilon,
            sensitivity,
            candidates,
            |epsilon| Event::Pure { epsilon },
            2,
        )?;
        let noise = WideLaplace::new(contest.scale().clone())?;
        Ok(Self { contest, noise })
    }

    /// For scores that never move in opposite directions: a unit that is added raises them all or lowers them all (or leaves some).
    /// Counts are such scores. Half the noise. This is a claim that nothing checks, and only neighbours by adding or removing have it.
    #[must_use]
    pub fn monotone(self) -> Self {
        let contest = self.contest.monotone();
        let noise = WideLaplace::new(contest.scale().clone()).expect("half of a scale that was accepted");
        Self { contest, noise }
    }

    /// The scale of the noise on each score.
    pub fn scale(&self) -> &Rational {
        self.noise.scale()
    }
}

impl Stated for NoisyMax {
    fn terms(&self) -> &Terms {
        self.contest.terms()
    }
}

impl Mechanism<Vec<i64>> for NoisyMax {
    type Output = usize;

    fn draw(&self, input: Aggregate<Vec<i64>>, permit: Permit<'_>) -> usize {
        let entropy = permit.entropy();
        let (mut winner, mut largest) = (0, i128::MIN);
        for (candidate, score) in self.contest.scores(input).into_iter().enumerate() {
            let noisy = i128::from(score) + self.noise.sample(entropy);
            if noisy > largest {
                (winner, largest) = (candidate, noisy);
            }
        }
        winner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Accuracy;
    use crate::trial::account;
    use crate::trial::{FALSE_ALARM, LaplaceTable, black_box, claimed, keeps, loss};
    use accounting::Neighbors;
    use audit::black_box::FindingVerdict;
    use audit::exact_audit::Finite;
    use exact::{Interval, ratio};
    use proptest::prelude::*;

    fn mechanism(epsilon: &str, step: i64, candidates: usize) -> NoisyMax {
        let sensitivity = Sensitivity::vector(candidates as u64, step).unwrap();
        NoisyMax::new(Epsilon::parse(epsilon).unwrap(), sensitivity, candidates).unwrap()
    }

    /// P[i] = Σ_k P[Zᵢ = k]·Π_{j<i} P[uⱼ+Zⱼ < uᵢ+k]·Π_{j>i} P[uⱼ+Zⱼ ≤ uᵢ+k].
    fn masses(scale: &Rational, scores: &[i64], bits: u32) -> Vec<Interval> {
        let apart = scores.iter().max().unwrap() - scores.iter().min().unwrap();
        let reach = LaplaceTable::enough(scale, bits);
        let table = LaplaceTable::new(scale, reach + apart + 2, bits);
        let winner = |i: usize| {
            let wins = |k: i64| {
                let others = (0..scores.len()).filter(|j| *j != i);
                let product = others.fold(Interval::from_integer(1, bits), |product, j| {
                    // By symmetry P[Z ≤ r] = P[Z ≥ −r].
                    let most = scores[i] + k - scores[j] - i64::from(j < i);
                    product.mul(&table.tail(-most))
                });
                vec![product]
            };
            table.mean(1, reach, wins).remove(0)
        };
        (0..scores.len()).map(winner).collect()
    }

    fn distribution(mechanism: &NoisyMax, scores: &[i64]) -> Finite {
        let (scale, scores) = (mechanism.scale().clone(), scores.to_vec());
        Finite::from_recipe(scores.len(), move |bits| masses(&scale, &scores, bits)).unwrap()
    }

    #[test]
    fn audit_noisy_max() {
        let one = Rational::ONE;
        let plain = mechanism("1", 1, 2);
        // P[i] falls like g·e^(−g/b): nearly tight for a large lead g.
        let (p, q) = (distribution(&plain, &[0, 100]), distribution(&plain, &[1, 99]));
        assert!(keeps(&p, &q, &one) && loss(&p, &q).lower() > ratio(100, 105));
        assert!(!keeps(&p, &distribution(&plain, &[2, 98]), &one));
        let monotone = mechanism("1", 1, 2).monotone();
        let (p, q) = (
            distribution(&monotone, &[0, 100]),
            distribution(&monotone, &[1, 100]),
        );
        assert!(keeps(&p, &q, &one) && loss(&p, &q).lower() > ratio(100, 105));
        assert!(
            !keeps(&p, &distribution(&monotone, &[1, 99]), &one),
            "opposite moves are not monotone"
        );

        let noisy = mechanism("2", 1, 3);
        let (scores, neighbour) = (vec![0, 3, 0], vec![1, 2, -1]);
        let found = black_box(&noisy, [&scores, &neighbour], 50_000, 0.0, |&i| i as i64);
        assert_eq!(found.verdict(2.0, 0.0), FindingVerdict::Consistent, "{found:?}");
        // The mutant: scores move by twice the sensitivity that was stated.
        let found = black_box(&noisy, [&scores, &vec![2, 1, -2]], 50_000, 0.0, |&i| i as i64);
        assert_eq!(found.verdict(2.0, 0.0), FindingVerdict::Refuted, "{found:?}");
    }

    /// What is drawn is what the exact audit judged, ties included.
    #[test]
    fn draws_follow_the_distribution() {
        let noisy = mechanism("4", 1, 2);
        let scores = vec![0, 0];
        let trials = 100_000;
        let first = masses(noisy.scale(), &scores, 128)[0].to_f64_nearest();
        assert!(first > 0.55, "ties go to the first");
        let mut account = account(Neighbors::AddRemove);
        let mut draw = || {
            account
                .release_by(&noisy, claimed(&noisy, scores.clone()), "")
                .unwrap()
                .into_value()
        };
        let chosen = (0..trials).filter(|_| draw() == 0).count() as u64;
        audit::goodness::frequency_test(chosen, trials, first, FALSE_ALARM).assert_consistent();
        audit::goodness::frequency_test(chosen, trials, first * 1.05, FALSE_ALARM).assert_rejected();
    }

    #[test]
    fn the_shortfall_is_bounded() {
        let noisy = mechanism("2", 1, 3);
        let Accuracy::Choice { count, scale } = *noisy.terms().accuracy() else {
            panic!("a choice")
        };
        for scores in [[0, 0, 0], [30, 0, 0], [9, 8, 0], [0, 0, 5]] {
            let masses = masses(noisy.scale(), &scores, 128);
            let best = *scores.iter().max().unwrap();
            for gap in 0..31 {
                let short = masses.iter().zip(scores).filter(|(_, score)| best - score >= gap);
                let probability: f64 = short.map(|(mass, _)| mass.to_f64_down()).sum();
                assert!(probability <= count as f64 * (-(gap as f64) / scale).exp());
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn noisy_max_keeps_its_claim_on_neighbours(
            pairs in prop::collection::vec((-9i64..9, -2i64..=2), 1..4),
            rises in any::<bool>(),
        ) {
            let n = pairs.len();
            let scores: Vec<i64> = pairs.iter().map(|(score, _)| *score).collect();
            let anyhow: Vec<i64> = pairs.iter().map(|(score, by)| score + by).collect();
            let together: Vec<i64> =
                pairs.iter().map(|(score, by)| score + if rises { by.abs() } else { -by.abs() }).collect();
            let plain = mechanism("2", 2, n);
            prop_assert!(keeps(&distribution(&plain, &scores), &distribution(&plain, &anyhow), &ratio(2, 1)));
            let monotone = mechanism("2", 2, n).monotone();
            prop_assert!(keeps(&distribution(&monotone, &scores), &distribution(&monotone, &together), &ratio(2, 1)));
        }
    }
}
