use super::{
    GroupName, check, laplace_reach, laplace_tail, least_threshold, present, reaching, terms, with_leak,
};
use crate::{Aggregate, Error, Mechanism, Permit, Sensitivity, Stated, Terms};
use accounting::{Delta, Epsilon, Event, NoiseSupport, Promise, Ratio};
use exact::Rational;
use noise::DiscreteLaplace;

/// Adds discrete Laplace noise to the count of each group that occurs, and releases the groups whose noisy count reaches a threshold.
///
/// The groups come out in the order of their names, with their noisy counts. Each unit may be in ℓ₀ groups (the sensitivity's coordinates)
/// and counts once in each. Every group that occurs is drawn for, released or not.
///
/// # Privacy
/// Claim: (ε, δ)-DP when one unit is added or removed, for counts of which it moves at most ℓ₀, each by 1; the set of groups is private.
/// Proof: let x' have one unit more than x, in the groups A, |A| ≤ ℓ₀; j of them, A₀, occur in x' only, with count 1. Groups are independent.
/// Groups outside A₀ occur in both or neither, and ℓ₀−j of their counts differ, by 1 each: with noise of scale ℓ₀/ε their part of the
/// output is a-DP, a = (ℓ₀−j)ε/ℓ₀ ≤ ε (Laplace mechanism; comparing with τ is post-processing). In x no group of A₀ comes out. In x' one of
/// them does with probability p = P[1+Z ≥ τ] each, hence some one with q = 1−(1−p)^j ≤ 1−(1−p)^ℓ₀ ≤ δ by the choice of τ.
/// For an event S let y and w be the probabilities, over the other groups only, that the output with nothing of A₀ is in S, on x' and x:
/// w ≤ e^a·y, y ≤ e^a·w, P[M(x) ∈ S] = w, and (1−q)·y ≤ P[M(x') ∈ S] ≤ (1−q)·y + q. So P[M(x') ∈ S] ≤ y + q ≤ e^ε·P[M(x) ∈ S] + δ.
/// The other way, e^ε·P[M(x') ∈ S] + q ≥ (1−q)·e^a·y + q ≥ (1−q)·w + q ≥ w = P[M(x) ∈ S], because w ≤ 1.
/// Source: Korolova, Kenthapadi, Mishra and Ntoulas 2009; with ℓ₀, Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson 2020. Assumes: exact sampler; τ from certified intervals.
/// Audited by: `audit_laplace_threshold`, `laplace_threshold_verified_exactly` (false alarm 1e-9, rejects τ lowered by 3, exactly by 1).
#[derive(Clone, Debug)]
pub struct LaplaceThreshold {
    pub(super) terms: Terms,
    pub(super) scale: Rational,
    pub(super) threshold: i64,
    pub(super) noise: DiscreteLaplace,
}

impl LaplaceThreshold {
    /// Noise of scale ℓ₀/ε and the least threshold that keeps δ.
    pub fn new(epsilon: Epsilon, delta: Delta, sensitivity: Sensitivity) -> Result<Self, Error> {
        check(&epsilon, &delta, &sensitivity)?;
        let groups = sensitivity.coordinates();
        let scale = Rational::from(groups) / epsilon.as_rational();
        let noise = DiscreteLaplace::new(&scale)?;
        let rate = Rational::ONE / &scale;
        let threshold = least_threshold(
            groups,
            &delta,
            |reach, bits| laplace_tail(&rate, reach, bits),
            |logarithm| laplace_reach(&rate, logarithm),
        )?;
        let event = Event::Laplace {
            ratio: Ratio::at_least(epsilon.as_rational()),
            on: NoiseSupport::Discrete,
        };
        let promise = Promise::Approximate(epsilon, delta.clone());
        Ok(Self {
            terms: terms(with_leak(event, delta), promise, sensitivity),
            scale,
            threshold,
            noise,
        })
    }

    /// The scale of the noise on each count.
    pub fn scale(&self) -> &Rational {
        &self.scale
    }

    /// A group comes out when its noisy count is at least this.
    pub fn threshold(&self) -> i64 {
        self.threshold
    }
}

impl Stated for LaplaceThreshold {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl<K: GroupName> Mechanism<Vec<(K, i64)>> for LaplaceThreshold {
    type Output = Vec<(K, i64)>;

    fn draw(&self, input: Aggregate<Vec<(K, i64)>>, permit: Permit<'_>) -> Self::Output {
        let (keys, mut counts): (Vec<K>, Vec<i64>) = present(input.open()).into_iter().unzip();
        self.noise.add_to(&mut counts, permit.entropy());
        reaching(keys, counts, self.threshold)
    }
}
