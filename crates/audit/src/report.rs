//! One form for the result of an audit, whichever method made it.
//!
//! ```text
//! exact      two distributions, written down       ──► proved, or refuted: a theorem about these two distributions
//! grey box   the calls of a computation   ──► proved where all transcripts were tried, refuted, or consistent
//! black box  outputs alone                ──► refuted at a stated confidence, or consistent
//! fit        outputs against an exact distribution ──► refuted if what was proved is not what is drawn, or consistent
//! ```
//!
//! A [`Judgement`] is what one method says about one claim, with the [`Evidence`] it rests on. For a
//! refutation that is a witness: two inputs and what distinguishes them. A [`Report`] is all judgements on
//! one subject, and their verdict: refuted if any refutes, proved if one proves and none refutes, consistent
//! otherwise.

use crate::black_box::{self, Counts};
use crate::exact_audit::{Answer, Distribution, satisfies, smallest_epsilon};
use crate::goodness::Fit;
use crate::{Error, grey_box};
use exact::{Interval, Rational, ratio, to_f64_up};
use std::fmt;

/// What is claimed: (ε, δ)-privacy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The ε.
    pub epsilon: Rational,
    /// The δ.
    pub delta: Rational,
}

impl Claim {
    /// ε at δ = 0.
    pub fn pure(epsilon: Rational) -> Self {
        Self {
            epsilon,
            delta: Rational::ZERO,
        }
    }

    /// (ε, δ).
    pub fn new(epsilon: Rational, delta: Rational) -> Self {
        Self { epsilon, delta }
    }
}

/// `ε = 1`, `ε = 1, δ = 1e-6`.
impl fmt::Display for Claim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ε = {}", short(&self.epsilon))?;
        if !self.delta.is_zero() {
            write!(formatter, ", δ = {}", short(&self.delta))?;
        }
        Ok(())
    }
}

/// Exactly where that is short.
fn short(value: &Rational) -> String {
    let exact = exact::format_decimal(value);
    if exact.len() <= 10 {
        exact
    } else {
        format!("{:.6}", to_f64_up(value))
    }
}

/// What is known of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// It holds for what was examined: a theorem.
    Proved,
    /// Nothing was found against it. That is not a proof.
    Consistent,
    /// It is false, but for the stated probability of a false alarm.
    Refuted,
}

impl fmt::Display for ClaimVerdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            ClaimVerdict::Proved => "proved",
            ClaimVerdict::Consistent => "consistent",
            ClaimVerdict::Refuted => "refuted",
        })
    }
}

impl From<black_box::FindingVerdict> for ClaimVerdict {
    fn from(verdict: black_box::FindingVerdict) -> Self {
        match verdict {
            black_box::FindingVerdict::Refuted => Self::Refuted,
            black_box::FindingVerdict::Consistent => Self::Consistent,
        }
    }
}

/// How a judgement was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// From two output distributions.
    Exact,
    /// From the calls of a computation.
    GreyBox,
    /// From outputs.
    BlackBox,
    /// From outputs against the distribution that an exact audit proved: whether the proof is about the code.
    Fit,
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Method::Exact => "exact",
            Method::GreyBox => "grey box",
            Method::BlackBox => "black box",
            Method::Fit => "fit",
        })
    }
}

/// What a judgement rests on; for a refutation, the witness.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The pair of inputs that came closest to breaking the claim, or broke it.
    pub inputs: [String; 2],
    /// What was seen there: the event, the call, or the smallest ε.
    pub seen: String,
    /// ε is at least this, with the stated confidence.
    pub epsilon_at_least: Option<f64>,
    /// How often the event happened.
    pub counts: Option<Counts>,
    /// Where the random bits came from, if they can be drawn again.
    pub seed: Option<u64>,
    /// The command that shows it again.
    pub replay: Option<String>,
}

impl Evidence {
    fn new(inputs: [String; 2], seen: String) -> Self {
        Self {
            inputs,
            seen,
            epsilon_at_least: None,
            counts: None,
            seed: None,
            replay: None,
        }
    }
}

/// What one method says of one claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// How.
    pub method: Method,
    /// About what.
    pub claim: Claim,
    /// The outcome.
    pub verdict: ClaimVerdict,
    /// A true claim is refuted with at most this probability.
    pub false_alarm: f64,
    /// What it rests on.
    pub evidence: Evidence,
}

/// Two inputs in words, and the distributions of the output on them.
#[derive(Clone, Debug)]
pub struct Distributions {
    /// What the inputs are.
    pub inputs: [String; 2],
    /// The distribution of the output on each.
    pub distributions: [Distribution; 2],
}

impl Distributions {
    /// Two inputs and their distributions.
    pub fn new(inputs: [impl Into<String>; 2], distributions: [impl Into<Distribution>; 2]) -> Self {
        Self {
            inputs: inputs.map(Into::into),
            distributions: distributions.map(Into::into),
        }
    }
}

/// Where equality with the claim cannot be decided, because a distribution is known through enclosures only,
/// what is proved is this much weaker: one part in 10¹².
fn relaxed(value: &Rational) -> Rational {
    value * (Rational::ONE + ratio(1, 1_000_000_000_000))
}

impl Judgement {
    /// Proves or refutes a claim from the distributions on one or more pairs. The smallest ε of the worst
    /// pair is reported.
    ///
    /// A distribution that is known through enclosures may meet the claim so closely that no precision tells;
    /// then the claim is proved with ε and δ larger by one part in 10¹².
    ///
    /// # Errors
    /// When there is no pair, or distributions that cannot be compared.
    pub fn exact(claim: Claim, pairs: &[Distributions]) -> Result<Self, Error> {
        let mut worst: Option<(bool, f64, Evidence)> = None;
        for pair in pairs {
            let [p, q] = &pair.distributions;
            let holds = match satisfies(p, q, &claim.epsilon, &claim.delta) {
                Ok(true) => true,
                Ok(false) | Err(Error::Undecided { .. } | Error::NoClosedForm) => {
                    satisfies(p, q, &relaxed(&claim.epsilon), &relaxed(&claim.delta))?
                }
                Err(other) => return Err(other),
            };
            let (least, seen) = match smallest_epsilon(p, q, &claim.delta) {
                Ok(Answer::Finite(least)) => (least.to_f64_up(), smallest_words(&least, &claim)),
                Ok(Answer::NoFinite { smallest_delta }) => (
                    f64::INFINITY,
                    format!("no finite ε: δ is at least {:.6}", smallest_delta.to_f64_down()),
                ),
                Err(Error::NoClosedForm | Error::Undecided { .. }) => {
                    (0.0, "the smallest ε is not known in closed form".to_string())
                }
                Err(other) => return Err(other),
            };
            let is_worse = worst
                .as_ref()
                .is_none_or(|(held, known, _)| (*held && !holds) || (*held == holds && least > *known));
            if is_worse {
                worst = Some((holds, least, Evidence::new(pair.inputs.clone(), seen)));
            }
        }
        let (holds, least, mut evidence) = worst.ok_or(Error::NotADistribution {
            reason: "there are no two distributions to compare",
        })?;
        evidence.epsilon_at_least = Some(least);
        if pairs.len() > 1 {
            evidence.seen = format!("{}, the worst of {} pairs", evidence.seen, pairs.len());
        }
        Ok(Self {
            method: Method::Exact,
            claim,
            verdict: if holds {
                ClaimVerdict::Proved
            } else {
                ClaimVerdict::Refuted
            },
            false_alarm: 0.0,
            evidence,
        })
    }

    /// What a finding of the black box says of a claim. The claim is rounded up, in favour of the mechanism.
    pub fn black_box(
        claim: Claim,
        inputs: [String; 2],
        finding: &black_box::Finding,
        seed: Option<u64>,
    ) -> Self {
        let (epsilon, delta) = (to_f64_up(&claim.epsilon), to_f64_up(&claim.delta));
        Self {
            method: Method::BlackBox,
            verdict: finding.verdict(epsilon, delta).into(),
            claim,
            false_alarm: 1.0 - finding.confidence,
            evidence: Evidence {
                epsilon_at_least: Some(finding.epsilon_lower),
                counts: Some(finding.counts),
                seed,
                ..Evidence::new(inputs, finding.event.clone())
            },
        }
    }

    /// Whether draws on one input follow the distribution that the claim was proved from.
    pub fn fit(claim: Claim, input: String, fit: &Fit, false_alarm: f64, seed: Option<u64>) -> Self {
        let (verdict, statistic, limit, samples) = match *fit {
            Fit::Consistent {
                statistic,
                limit,
                samples,
            } => (ClaimVerdict::Consistent, statistic, limit, samples),
            Fit::Rejected {
                statistic,
                limit,
                samples,
                ..
            } => (ClaimVerdict::Refuted, statistic, limit, samples),
        };
        // The statistic is −log₁₀ of how likely the least likely count is.
        let seen = format!(
            "of {samples} draws, the count that is least likely under the distribution has probability 1e-{statistic:.1}, where 1e-{limit:.1} is allowed"
        );
        Self {
            method: Method::Fit,
            claim,
            verdict,
            false_alarm,
            evidence: Evidence {
                seed,
                ..Evidence::new([input, String::new()], seen)
            },
        }
    }

    /// What a search with the grey box says of a claim.
    pub fn grey_box<T: fmt::Debug>(
        auditor: &grey_box::GreyBox,
        search: &grey_box::Search<T>,
        seed: Option<u64>,
    ) -> Self {
        let claim = Claim::new(auditor.epsilon.clone(), auditor.delta.clone());
        let (inputs, seen) = match &search.worst {
            Some(pair) => (
                [format!("{:?}", pair.first), format!("{:?}", pair.second)],
                pair.finding.words(),
            ),
            None => (
                [String::new(), String::new()],
                "there are no neighbours".to_string(),
            ),
        };
        let verdict = search.verdict();
        let seen = match verdict {
            ClaimVerdict::Refuted => seen,
            _ => format!("{} pairs of neighbours; {seen}", search.pairs),
        };
        // A bad transcript that was seen has a probability above zero; only a share of them is estimated.
        let false_alarm = if claim.delta.is_zero() {
            0.0
        } else {
            1.0 - auditor.confidence
        };
        Self {
            method: Method::GreyBox,
            claim,
            verdict,
            false_alarm,
            evidence: Evidence {
                seed,
                ..Evidence::new(inputs, seen)
            },
        }
    }
}

fn smallest_words(least: &Interval, claim: &Claim) -> String {
    let at = if claim.delta.is_zero() {
        String::new()
    } else {
        format!(" at δ = {}", short(&claim.delta))
    };
    format!("the smallest ε{at} is {:.6}", least.to_f64_nearest())
}

/// All judgements on one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What was audited.
    pub subject: String,
    /// What each method said.
    pub judgements: Vec<Judgement>,
}

impl Report {
    /// Refuted if any refutes, proved if one proves and none refutes, consistent otherwise; nothing when
    /// nothing was judged.
    pub fn verdict(&self) -> Option<ClaimVerdict> {
        let any = |verdict| {
            self.judgements
                .iter()
                .any(|judgement| judgement.verdict == verdict)
        };
        [
            ClaimVerdict::Refuted,
            ClaimVerdict::Proved,
            ClaimVerdict::Consistent,
        ]
        .into_iter()
        .find(|verdict| any(*verdict))
    }

    /// The probability that all claims are true and some judgement refutes one: at most the sum.
    pub fn false_alarm(&self) -> f64 {
        self.judgements
            .iter()
            .map(|judgement| judgement.false_alarm)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact_audit::{Finite, Lattice};

    fn laplace(scale: i64, by: i64) -> Distributions {
        let distribution = Lattice::discrete_laplace(&ratio(scale, 1)).unwrap();
        let moved = distribution.clone().shifted(&ratio(by, 1));
        Distributions::new(["0".to_string(), by.to_string()], [distribution, moved])
    }

    #[test]
    fn exact_judgements_prove_and_refute_and_name_the_worst_pair() {
        let claim = || Claim::pure(ratio(1, 1));
        let right = Judgement::exact(claim(), &[laplace(2, 1), laplace(2, 2), laplace(2, 0)]).unwrap();
        assert_eq!((right.verdict, right.false_alarm), (ClaimVerdict::Proved, 0.0));
        assert_eq!(right.evidence.inputs[1], "2");
        assert_eq!(
            right.evidence.seen,
            "the smallest ε is 1.000000, the worst of 3 pairs"
        );
        let wrong = Judgement::exact(claim(), &[laplace(2, 3), laplace(2, 1)]).unwrap();
        assert_eq!(
            (wrong.verdict, wrong.evidence.inputs[1].as_str()),
            (ClaimVerdict::Refuted, "3")
        );
        assert!(Judgement::exact(claim(), &[]).is_err());
        let distribution =
            |masses: [i64; 2]| Finite::from_rationals(masses.map(|mass| ratio(mass, 2)).to_vec()).unwrap();
        let disjoint = Distributions::new(["a", "b"], [distribution([1, 1]), distribution([2, 0])]);
        let none = Judgement::exact(claim(), &[disjoint]).unwrap();
        assert_eq!(none.verdict, ClaimVerdict::Refuted);
        assert!(none.evidence.seen.starts_with("no finite ε"));
    }

    #[test]
    fn equality_that_no_precision_decides_is_proved_a_hair_weaker() {
        // Heads with probability e^−1 and e^−2: the loss is exactly 1, and an enclosure of it never lies
        // below.
        let coin = |x: Rational| {
            Finite::from_recipe(2, move |bits| {
                let head = Interval::exp_of(&-x.clone(), bits);
                vec![head.clone(), Interval::from_integer(1, bits).sub(&head)]
            })
            .unwrap()
        };
        let pair = Distributions::new(["a", "b"], [coin(ratio(1, 1)), coin(ratio(2, 1))]);
        let judged = Judgement::exact(Claim::pure(ratio(1, 1)), &[pair]).unwrap();
        assert_eq!(judged.verdict, ClaimVerdict::Proved);
    }

    #[test]
    fn one_refutation_decides() {
        let judgement = |verdict| Judgement {
            method: Method::BlackBox,
            claim: Claim::new(ratio(1, 2), ratio(1, 100)),
            verdict,
            false_alarm: 1e-9,
            evidence: Evidence::new(["0".into(), "1".into()], "value ≥ 3".into()),
        };
        let report = |verdicts: &[ClaimVerdict]| Report {
            subject: "s".into(),
            judgements: verdicts.iter().map(|verdict| judgement(*verdict)).collect(),
        };
        use ClaimVerdict::{Consistent, Proved, Refuted};
        assert_eq!(report(&[]).verdict(), None);
        assert_eq!(report(&[Consistent]).verdict(), Some(Consistent));
        assert_eq!(report(&[Consistent, Proved]).verdict(), Some(Proved));
        assert_eq!(report(&[Consistent, Proved, Refuted]).verdict(), Some(Refuted));
        assert!((report(&[Consistent, Proved]).false_alarm() - 2e-9).abs() < 1e-24);
        assert_eq!(judgement(Proved).claim.to_string(), "ε = 0.5, δ = 0.01");
    }
}
