use crate::column::{Ordered, one_row};
use crate::threshold::least_reach;
use crate::{Accuracy, Aggregate, Bounds, Column, Error, Mechanism, Permit, Stated, Terms};
use accounting::{Delta, Epsilon, Event, Neighbors, Promise};
use exact::{Rational, to_f64_up};
use noise::DiscreteLaplace;

#[cfg(test)]
mod tests;

/// The median, with noise for a proposed sensitivity, if a private test finds that the data is far from any that moves more.
///
/// Proposes: one changed row moves the median by at most b. Tests: how many rows must change before that is false, with noise. Releases the median with
/// noise of scale b/ε₂ if that number is large enough, and `None` otherwise. Takes O(n log n); the noise of the answer is drawn also when it is withheld.
///
/// # Privacy
/// Claim: (ε₁+ε₂, δ)-DP when the value of one unit is changed; the number of units is public.
/// Proof: let d(x) be the least k with A⁽ᵏ⁾(x) > b (see `Ordered::spread`; it exists because b < upper − lower). As A⁽ᵏ⁾(x) ≤ A⁽ᵏ⁺¹⁾(x') for neighbours, d(x') ≤ d(x) + 1
/// and the reverse, so the test, whether d(x) + Z₁ ≥ t with Z₁ discrete Laplace of scale 1/ε₁, is ε₁-DP. First case: d(x) > 0 or d(x') > 0. Then the local sensitivity
/// A⁽⁰⁾ of one of them is at most b, so the medians differ by at most b, the noisy median is ε₂-DP for this pair, and both together are (ε₁+ε₂)-DP.
/// Second case: d(x) = d(x') = 0. Both fail with the same probability, and pass with P[Z₁ ≥ t] ≤ δ by the choice of t, so
/// P[M(x) ∈ S] ≤ P[M(x) = None ∈ S] + δ ≤ P[M(x') ∈ S] + δ.
/// Source: Dwork and Lei 2009; Dwork and Roth 2014. Assumes: exact sampler; t the least integer with P[Z₁ ≥ t] ≤ δ, from certified intervals.
/// Audited by: `propose_test_release_verified_exactly`, `audit_propose_test_release` (false alarm 1e-9, rejects no test, exactly t lowered by 1).
#[derive(Clone, Debug)]
pub struct ProposeTestRelease {
    terms: Terms,
    bounds: Bounds,
    proposal: i64,
    scale: Rational,
    threshold: i64,
    test_noise: DiscreteLaplace,
    answer_noise: DiscreteLaplace,
}

impl ProposeTestRelease {
    /// Spends ε₁ = `test` and δ on the test and ε₂ = `answer` on the median, and proposes that one row moves it by at most `proposal` grid steps.
    ///
    /// The proposal must not be read off the data. It is at least 1 and less than the bounds are apart: beyond that no test is needed.
    pub fn new(
        test: &Epsilon,
        answer: &Epsilon,
        delta: Delta,
        proposal: i64,
        bounds: Bounds,
    ) -> Result<Self, Error> {
        if *test == Epsilon::ZERO || *answer == Epsilon::ZERO {
            return Err(Error::NoEpsilon);
        }
        if delta == Delta::ZERO {
            return Err(Error::NoDelta);
        }
        if proposal < 1 || proposal >= bounds.width() {
            let what = "the proposed sensitivity";
            return Err(Error::OutOfRange {
                what,
                range: "at least 1 and below the width of the bounds",
            });
        }
        let scale = Rational::from(proposal) / answer.as_rational();
        let threshold = least_reach(test.as_rational(), &delta)?;
        let epsilon = test + answer;
        let event = Event::Approximate {
            epsilon: epsilon.clone(),
            delta: delta.clone(),
        };
        // Of an answer that is given: its noise does not depend on the test's.
        let accuracy = Accuracy::Laplace {
            scale: to_f64_up(&scale),
        };
        let terms = Terms::new(one_row(), event, Promise::Approximate(epsilon, delta), accuracy)
            .on(bounds.grid())
            .only_for(Neighbors::ChangeOne);
        Ok(Self {
            terms,
            bounds,
            proposal,
            threshold,
            test_noise: DiscreteLaplace::new(&(Rational::ONE / test.as_rational()))?,
            answer_noise: DiscreteLaplace::new(&scale)?,
            scale,
        })
    }

    /// b/ε₂: the scale of the noise on an answer, in grid steps.
    pub fn scale(&self) -> &Rational {
        &self.scale
    }

    /// An answer is given when the noisy distance is at least this.
    pub fn threshold(&self) -> i64 {
        self.threshold
    }

    /// d(x), by bisection: A⁽ᵏ⁾ grows with k, and reaches the width of the bounds at k = n.
    fn distance(&self, data: &Ordered) -> i64 {
        let (mut low, mut high) = (0, data.rows());
        while low < high {
            let middle = low + (high - low) / 2;
            if data.spread(middle) > self.proposal {
                high = middle
            } else {
                low = middle + 1
            }
        }
        high
    }
}

impl Stated for ProposeTestRelease {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Mechanism<Column> for ProposeTestRelease {
    type Output = Option<i64>;

    fn draw(&self, input: Aggregate<Column>, permit: Permit<'_>) -> Option<i64> {
        let entropy = permit.entropy();
        let data = Ordered::new(input.open(), self.bounds);
        let (mut distance, mut answer) = ([self.distance(&data)], [data.median()]);
        self.test_noise.add_to(&mut distance, entropy);
        self.answer_noise.add_to(&mut answer, entropy);
        (distance[0] >= self.threshold).then_some(answer[0])
    }
}
