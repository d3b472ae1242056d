use super::{GroupName, check, present, terms};
use crate::{Aggregate, Error, Mechanism, Permit, Sensitivity, Stated, Terms};
use accounting::{Delta, Epsilon, Event, Promise};
use exact::{Integer, Interval, Rational, floor_log2};
use noise::{Entropy, UniformReal};

/// A group of this many units is always kept; where it takes more, ε is too small for a table.
const LONGEST: usize = 1 << 18;
/// Precision of the table: the 64 bits of a first comparison, with room.
const TABLE_BITS: u32 = 80;
/// Beyond e^1024 nothing is protected, and numbers become long.
const LARGEST_RATE: u32 = 1024;

/// Keeps each group that occurs with the largest probability that privacy allows for its count, and releases the names alone.
///
/// A group of n units is kept with probability π_n, where π₀ = 0 and
/// π_{n+1} = min(e^ε·π_n + δ, 1 − e^−ε·(1 − π_n − δ), 1), with ε/ℓ₀ and δ/ℓ₀ in the place of ε and δ when a unit may be in ℓ₀ groups.
/// No mechanism that decides group by group from the counts keeps any count with a larger probability under the same ε/ℓ₀ and δ/ℓ₀: π_{n+1} is the largest
/// number that the inequalities below allow next to π_n, and it grows with π_n.
/// Where δ = e^(−kε)/Σ_{|i|≤k} e^(−|i|ε), it is the same as adding noise with P(i) ∝ e^(−|i|ε) cut to |i| ≤ k and keeping what exceeds k.
///
/// # Privacy
/// Claim: (ε, δ)-DP when one unit is added or removed, for counts of which it moves at most ℓ₀, each by 1; the set of groups is private.
/// Proof: write e for e^(ε/ℓ₀) and d for δ/ℓ₀. Between counts n and n+1 the bit "kept" must satisfy four inequalities. π_{n+1} ≤ e·π_n + d and
/// 1−π_n ≤ e·(1−π_{n+1}) + d, which is π_{n+1} ≤ 1 − (1−π_n−d)/e, hold by definition. π_n ≤ π_{n+1} (each of the three terms is at least π_n: the second
/// because 1−(1−π_n−d)/e ≥ 1−(1−π_n)) gives π_n ≤ e·π_{n+1} + d and 1−π_{n+1} ≤ e·(1−π_n) + d. An absent group has n = 0 and is never kept, as π₀ = 0
/// says, so absent and present need no other case. Groups are decided independently, at most ℓ₀ of them differ between neighbours, and ℓ₀ times
/// (ε/ℓ₀, δ/ℓ₀) is (ε, δ) (basic composition: Dwork and Roth 2014).
/// A group is kept when a uniform real, drawn bit by bit, is below π_n, a real number that is enclosed as closely as the comparison needs.
/// Source: Desfontaines, Voss, Gipson and Mandayam 2022. Assumes: exact comparison of a uniform real.
/// Audited by: `audit_optimal_threshold`, `optimal_threshold_verified_exactly` (false alarm 1e-9, rejects π of 4 δ, exactly any larger π).
#[derive(Clone, Debug)]
pub struct OptimalThreshold {
    pub(super) terms: Terms,
    pub(super) distribution: KeepDistribution,
    /// π₁, π₂, … up to the last that may be below 1.
    pub(super) table: Vec<Interval>,
}

impl OptimalThreshold {
    /// The keep-probabilities for (ε, δ) and units in as many groups as the sensitivity has coordinates.
    pub fn new(epsilon: Epsilon, delta: Delta, sensitivity: Sensitivity) -> Result<Self, Error> {
        check(&epsilon, &delta, &sensitivity)?;
        let groups = Rational::from(sensitivity.coordinates());
        let distribution = KeepDistribution {
            rate: epsilon.as_rational() / &groups,
            delta: delta.as_rational() / &groups,
        };
        if distribution.rate > Rational::from(LARGEST_RATE) {
            return Err(Error::OutOfRange {
                what: "ε for each group",
                range: "at most 1024",
            });
        }
        let table: Vec<Interval> = distribution.probabilities(TABLE_BITS).take(LONGEST + 1).collect();
        if table.len() > LONGEST {
            let range = "large enough that groups of 2^18 units are kept for certain";
            return Err(Error::OutOfRange {
                what: "ε for each group",
                range,
            });
        }
        let event = Event::Approximate {
            epsilon: epsilon.clone(),
            delta: delta.clone(),
        };
        let promise = Promise::Approximate(epsilon, delta);
        Ok(Self {
            terms: terms(event, promise, sensitivity),
            distribution,
            table,
        })
    }

    /// Encloses the probability with which a group of this many units is kept.
    pub fn keep_probability(&self, count: u64, bits: u32) -> Interval {
        match count.checked_sub(1) {
            None => Interval::from_integer(0, bits),
            Some(place) if place >= self.table.len() as u64 => Interval::from_integer(1, bits),
            Some(place) => self.distribution.probability(place as usize, bits),
        }
    }

    /// Whether a group that occurs is kept. Bits are drawn also where the answer is certain.
    fn keeps(&self, count: i64, entropy: &mut dyn Entropy) -> bool {
        let mut uniform = UniformReal::new(entropy);
        let place = usize::try_from(count - 1).unwrap_or(usize::MAX);
        let Some(coarse) = self.table.get(place) else {
            return true;
        };
        let bound = |bits| {
            if bits <= TABLE_BITS {
                coarse.clone()
            } else {
                self.distribution.probability(place, bits)
            }
        };
        !uniform.at_least(bound, entropy)
    }
}

/// ε and δ of one group.
#[derive(Clone, Debug)]
pub(super) struct KeepDistribution {
    pub(super) rate: Rational,
    pub(super) delta: Rational,
}

impl KeepDistribution {
    /// Encloses π₁, π₂, … until one is certainly 1.
    pub(super) fn probabilities(&self, bits: u32) -> impl Iterator<Item = Interval> + use<> {
        // Until π reaches about ½ its error grows as it does, by 1/δ in all; after that it shrinks. Each step adds a few units, and a
        // unit of e^ε counts as much as e^ε is large, below 2^(3ε/2).
        let size = u32::try_from((&self.rate * exact::ratio(3, 2)).ceil()).expect("at most 1024");
        let guard = 24 + LONGEST.ilog2() + size + floor_log2(&self.delta).unsigned_abs();
        let work = bits + guard;
        let growth = Interval::exp_of(&self.rate, work);
        let shrink = Interval::exp_of(&-self.rate.clone(), work);
        let delta = Interval::from_rational(&self.delta, work);
        probabilities(growth, shrink, delta).map(move |probability| probability.with_bits(bits))
    }

    /// Encloses π_{place+1}.
    fn probability(&self, place: usize, bits: u32) -> Interval {
        self.probabilities(bits)
            .nth(place)
            .unwrap_or_else(|| Interval::from_integer(1, bits))
    }
}

/// The recursion, from e^ε, e^−ε and δ, until it is certainly at 1.
pub(super) fn probabilities(
    growth: Interval,
    shrink: Interval,
    delta: Interval,
) -> impl Iterator<Item = Interval> {
    let one = Interval::from_integer(1, delta.bits());
    let zero = Interval::from_integer(0, delta.bits());
    let whole: Integer = one.lo().clone();
    let next = move |now: &Interval| {
        let rising = growth.mul(now).add(&delta);
        let closing = one.sub(&shrink.mul(&one.sub(now).sub(&delta)));
        rising.min(&closing).min(&one)
    };
    let first = next(&zero);
    std::iter::successors(Some(first), move |now| Some(next(now)))
        .take_while(move |probability| *probability.lo() < whole)
}

impl Stated for OptimalThreshold {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl<K: GroupName> Mechanism<Vec<(K, i64)>> for OptimalThreshold {
    type Output = Vec<K>;

    fn draw(&self, input: Aggregate<Vec<(K, i64)>>, permit: Permit<'_>) -> Vec<K> {
        let entropy = permit.entropy();
        entropy.refresh();
        let groups = present(input.open());
        groups
            .into_iter()
            .filter_map(|(key, count)| self.keeps(count, entropy).then_some(key))
            .collect()
    }
}
