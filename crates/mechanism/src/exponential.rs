use crate::contest::Contest;
use crate::{Aggregate, Error, Mechanism, Permit, Sensitivity, Stated, Terms};
use accounting::{Epsilon, Event};
use exact::Rational;
use noise::ExponentialWeights;

/// Chooses one of several candidates by their scores, the better the likelier: P(i) ∝ exp(ε·uᵢ/2Δ).
///
/// The input is one score for each candidate; Δ is the sensitivity's ℓ∞, the most that a unit can move any one score. The number
/// of candidates is public: a missing score counts as zero, and scores beyond that number are not looked at.
///
/// The score of the choice is short of the best by g or more with probability at most n·e^(−g/s), s = 2Δ/ε (Δ/ε when monotone):
/// each candidate that is short by g has at most e^(−g/s) times the weight of the best.
///
/// # Privacy
/// Claim: ε-DP for scores that each move by at most Δ; with [`ExponentialMechanism::monotone`], P(i) ∝ exp(ε·uᵢ/Δ) is ε-DP when they all move the same way.
/// Proof: P(i|u)/P(i|u') = exp((uᵢ−u'ᵢ)/s)·Σⱼ exp(u'ⱼ/s)/Σⱼ exp(uⱼ/s). With |uⱼ−u'ⱼ| ≤ Δ both factors are at most e^(Δ/s), so s = 2Δ/ε gives e^ε.
/// Monotone: when all scores rise from u to u', the first factor is in [e^(−Δ/s), 1] and the second in [1, e^(Δ/s)]; when they fall, the reverse. So the
/// product is within e^(±Δ/s), and s = Δ/ε gives e^ε. In both cases only the first factor depends on i and spans a range of e^ε, which is what the event says.
/// Source: McSherry and Talwar 2007; the monotone case is proved above. Assumes: exact sampler; 2Δ/ε is the rational it is.
/// Audited by: `audit_exponential`, `exponential_keeps_its_claim_on_neighbours` (false alarm 1e-9, rejects 1.05 ε where it is tight, and half of Δ).
#[derive(Clone, Debug)]
pub struct ExponentialMechanism {
    contest: Contest,
}

impl ExponentialMechanism {
    /// An ε-DP choice among `candidates` whose scores have this sensitivity (in ℓ∞).
    pub fn new(epsilon: Epsilon, sensitivity: Sensitivity, candidates: usize) -> Result<Self, Error> {
        let contest = Contest::new(
            epsilon,
            sensitivity,
            candidates,
            |epsilon| Event::Exponential { epsilon },
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

    /// Scores that differ by this much differ in probability by a factor e.
    pub fn scale(&self) -> Rational {
        self.contest.scale().clone()
    }

    /// P(i) ∝ e^(−xᵢ).
    fn exponents(&self, scores: &[i64]) -> Vec<Rational> {
        let scale = self.contest.scale();
        scores
            .iter()
            .map(|score| -Rational::from(*score) / scale)
            .collect()
    }
}

impl Stated for ExponentialMechanism {
    fn terms(&self) -> &Terms {
        self.contest.terms()
    }
}

impl Mechanism<Vec<i64>> for ExponentialMechanism {
    type Output = usize;

    fn draw(&self, input: Aggregate<Vec<i64>>, permit: Permit<'_>) -> usize {
        let exponents = self.exponents(&self.contest.scores(input));
        ExponentialWeights::new(exponents)
            .expect("the number of candidates was checked")
            .sample(permit.entropy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::person;
    use crate::trial::{black_box, keeps, loss};
    use crate::{Account, Accuracy, MemoryLedger, Sensitive};
    use accounting::{Budget, Neighbors, Promise};
    use audit::black_box::FindingVerdict;
    use audit::exact_audit::Finite;
    use exact::{parse_decimal, ratio};
    use noise::Grid;
    use proptest::prelude::*;

    fn mechanism(epsilon: &str, step: i64, candidates: usize) -> ExponentialMechanism {
        let sensitivity = Sensitivity::vector(candidates as u64, step).unwrap();
        ExponentialMechanism::new(Epsilon::parse(epsilon).unwrap(), sensitivity, candidates).unwrap()
    }

    fn distribution(mechanism: &ExponentialMechanism, scores: &[i64]) -> Finite {
        let exponents: Vec<Rational> = mechanism.exponents(scores).into_iter().map(|x| -x).collect();
        Finite::from_exponents(&exponents).unwrap()
    }

    #[test]
    fn audit_exponential() {
        // Tight as the other candidate's lead grows: both factors of the proof come close to e^(ε/2).
        for (epsilon, step, lead) in [("1", 1, 40), ("0.1", 3, 1000), ("3", 2, 20)] {
            let claimed = parse_decimal(epsilon).unwrap();
            let exact = |mechanism: &ExponentialMechanism, u: &[i64], v: &[i64]| {
                (distribution(mechanism, u), distribution(mechanism, v))
            };
            let plain = mechanism(epsilon, step, 2);
            let (p, q) = exact(&plain, &[0, lead], &[step, lead - step]);
            assert!(keeps(&p, &q, &claimed) && loss(&p, &q).lower() > &claimed * ratio(100, 105));
            let (p, q) = exact(&plain, &[0, lead], &[2 * step, lead - 2 * step]);
            assert!(!keeps(&p, &q, &claimed));
            // Monotone: only the first score moves, or only the second.
            let monotone = mechanism(epsilon, step, 2).monotone();
            let (p, q) = exact(&monotone, &[0, lead], &[step, lead]);
            assert!(keeps(&p, &q, &claimed) && loss(&p, &q).lower() > &claimed * ratio(100, 105));
            let (p, q) = exact(&monotone, &[0, lead], &[step, lead - step]);
            assert!(!keeps(&p, &q, &claimed), "opposite moves are not monotone");
        }
        let exponential = mechanism("2", 1, 3);
        let (scores, neighbour) = (vec![0, 3, 0], vec![1, 2, -1]);
        let found = black_box(&exponential, [&scores, &neighbour], 10_000, 0.0, |&i| i as i64);
        assert_eq!(found.verdict(2.0, 0.0), FindingVerdict::Consistent, "{found:?}");
        // The mutant: scores move by twice the sensitivity that was stated.
        let found = black_box(&exponential, [&scores, &vec![2, 1, -2]], 10_000, 0.0, |&i| {
            i as i64
        });
        assert_eq!(found.verdict(2.0, 0.0), FindingVerdict::Refuted, "{found:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn exponential_keeps_its_claim_on_neighbours(
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

    #[test]
    fn what_is_charged_and_refused() {
        let budget = Budget::new(
            Promise::Pure(Epsilon::parse("1").unwrap()),
            person(Neighbors::ChangeOne),
        );
        let mut account = Account::open(MemoryLedger::new(budget)).unwrap();
        let input = |scores: Vec<i64>| {
            let sensitivity = Sensitivity::vector(2, 1).unwrap();
            Aggregate::claimed(
                Sensitive::new(scores),
                sensitivity,
                person(Neighbors::ChangeOne),
                Grid::new(0),
            )
        };
        let epsilon = Epsilon::parse("1").unwrap();
        let choice =
            ExponentialMechanism::new(epsilon.clone(), input(vec![]).sensitivity().clone(), 3).unwrap();
        assert_eq!(
            account.release_by(&choice.clone().monotone(), input(vec![1, 2, 3]), ""),
            Err(Error::NeighborsMismatch)
        );
        // Extreme, missing and surplus scores: still one of the candidates.
        let release = account.release_by(&choice, input(vec![i64::MIN]), "").unwrap();
        assert!([1, 2].contains(release.value()));
        assert_eq!(
            release.receipt().charge.event,
            Event::Exponential {
                epsilon: epsilon.clone()
            }
        );
        assert!(
            account
                .release_by(&choice, input(vec![0; 9]), "")
                .is_err_and(|error| matches!(error, Error::Refused(_)))
        );
        let sensitivity = Sensitivity::scalar(1).unwrap();
        assert!(ExponentialMechanism::new(Epsilon::ZERO, sensitivity.clone(), 3).is_err());
        assert!(ExponentialMechanism::new(epsilon, sensitivity, 0).is_err());
    }

    #[test]
    fn the_shortfall_is_bounded() {
        let choice = mechanism("1", 1, 4);
        let Accuracy::Choice { count, scale } = *choice.terms().accuracy() else {
            panic!("a choice")
        };
        for scores in [[0, 0, 0, 0], [9, 0, 0, 0], [9, 8, 7, 0], [5, 5, 2, 1]] {
            let masses = distribution(&choice, &scores).enclose(128);
            let best = *scores.iter().max().unwrap();
            for gap in 0..10 {
                let short = masses.iter().zip(scores).filter(|(_, score)| best - score >= gap);
                let probability: f64 = short.map(|(mass, _)| mass.to_f64_down()).sum();
                assert!(probability <= count as f64 * (-(gap as f64) / scale).exp());
            }
        }
    }
}
