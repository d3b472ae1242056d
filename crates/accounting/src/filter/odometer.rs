//! The meter: says at any time what was lost so far.

use super::divergence::Divergence;
use super::orders::RenyiOrders;
use super::tally::Tally;
use super::weights::Weights;
use crate::{Delta, Epsilon, Error, Event, PrivacyUnit};
use exact::{Interval, Natural, Rational, to_f64_nearest};
use serde::{Deserialize, Serialize};

/// Fractional bits: the terms below are at most 2⁵⁰, and 10⁻¹⁵ of the result is shown.
const BITS: u32 = 160;

/// A running ε for events that are each chosen after seeing all earlier answers, and no limit.
///
/// # Privacy
/// Claim: let P and Q be the distributions of the transcript on neighbouring databases, L_t = ln dP/dQ of what was answered up to charge t,
/// and ε_t what [`RenyiOdometer::epsilon`] says then. Under P, with probability at least 1 − δ, L_t ≤ ε_t for *all* t at once. Hence
/// whoever stops at a time τ of their choice at which ε_τ ≤ ε is certain has an (ε, δ)-DP transcript.
/// Source: Rogers, Roth, Ullman and Vadhan 2016, "Privacy odometers and filters"; Lécuyer 2021; Ville 1939.
/// Assumes: an event is charged before it runs, what runs is what was charged, and choices depend on the data through answers only.
///
/// Proof. As in the proof of [`RenyiFilter`](crate::RenyiFilter), M_t = (1/J)·Σ_j e^(β_j·(L_t − S_t(α_j))) is a nonnegative supermartingale under
/// P that starts at 1, with β_j = α_j − 1. By Ville's inequality, with probability at least 1 − δ, M_t < 1/δ for all t at once. M_t grows with L_t,
/// so then L_t is below the L at which the sum is 1/δ. One term alone reaches that at S_t(α_j) + ln(J/δ)/β_j, which is the union bound
/// over the orders. For weights λ_j that sum to 1, the inequality of weighted means bounds the sum from below by
/// exp(Σ λ_j·(β_j·(L − S_t(α_j)) − ln(J·λ_j))), which reaches 1/δ at
/// L = (ln(1/δ) + Σ λ_j·ln(J·λ_j) + Σ λ_j·β_j·S_t(α_j)) / Σ λ_j·β_j. So each of these bounds holds for all t, with one δ, and may be chosen
/// by looking. If all events were pure, L_t ≤ Σ ε always. Divergences bound both directions, so P and Q may change places. The
/// last claim: P(A) ≤ P(A and L_τ ≤ ε) + P(L_τ > ε_τ) ≤ e^ε·Q(A) + δ for every set A of transcripts. ∎
///
/// ```
/// use accounting::{Delta, Epsilon, Error, Event, NoiseSupport, Neighbors, PrivacyUnit, Ratio};
/// use accounting::{RenyiOdometer, RenyiOrders};
///
/// # fn main() -> Result<(), Error> {
/// let delta = Delta::parse("1e-6")?;
/// // An odometer has no target; this is where it will read best.
/// let orders = RenyiOrders::suited_to(&Epsilon::parse("2")?, &delta)?;
/// let mut odometer = RenyiOdometer::new(delta, PrivacyUnit::new("person", Neighbors::AddRemove), orders);
/// assert_eq!(odometer.epsilon(), Epsilon::ZERO);
///
/// let step = Event::Gaussian { multiplier_squared: Ratio::parse("2500")?, on: NoiseSupport::Rounded };
/// for _ in 0..100 {
///     odometer.charge(&step)?; // … and then the step runs.
/// }
/// assert!(odometer.epsilon() < Epsilon::parse("1.3")?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "State", into = "State")]
pub struct RenyiOdometer {
    delta: Delta,
    tally: Tally,
}

/// What is written.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    delta: Delta,
    unit: PrivacyUnit,
    orders: RenyiOrders,
    sums: Vec<Divergence>,
}

impl RenyiOdometer {
    /// Nothing charged yet. With δ = 0 only pure events can be.
    pub fn new(delta: Delta, unit: PrivacyUnit, orders: RenyiOrders) -> Self {
        Self {
            delta,
            tally: Tally::new(unit, orders),
        }
    }

    /// The probability with which an ε may be exceeded, ever.
    pub fn delta(&self) -> &Delta {
        &self.delta
    }

    /// Whose loss is counted.
    pub fn unit(&self) -> &PrivacyUnit {
        &self.tally.unit
    }

    /// Adds `event`, which may run now; or refuses it, and nothing changed.
    ///
    /// # Errors
    /// When no finite ε would hold any more, when the event carries a δ of its own, or when nothing is known about it (its sampler is
    /// about other neighbours, or it has no noise).
    pub fn charge(&mut self, event: &Event) -> Result<(), Error> {
        let cost = self.tally.cost(event)?;
        if !cost.own.is_zero() {
            return Err(Error::ReserveExceeded {
                own: crate::error::shown(&exact::format_decimal(&cost.own)),
                left: "none".to_owned(),
            });
        }
        let sums = self.tally.after(&cost);
        self.check(&sums)?;
        self.tally.sums = sums;
        Ok(())
    }

    /// ε_t of the claim, after the charges so far.
    ///
    /// The smallest of Σ_s R_s(α) + ln(J/δ)/(α−1) over the J orders, of the sum of ε when all events were pure, and of what the orders
    /// prove together.
    pub fn epsilon(&self) -> Epsilon {
        let sums = &self.tally.sums;
        // A divergence of zero at any order means equal distributions, and L_t = 0.
        if sums.contains(&Divergence::ZERO) {
            return Epsilon::ZERO;
        }
        let count = self.tally.orders.len();
        let pure = Some(Tally::pure(sums))
            .filter(|sum| sum.is_finite())
            .map(Divergence::to_rational);
        let alone = (0..count).filter(|&index| sums[index].is_finite());
        let proved = alone
            .map(|index| Weights::only(index, count))
            .chain(self.blend())
            .filter_map(|weights| self.epsilon_of(&weights));
        let smallest = proved.chain(pure).min();
        // One sum is finite, at most 10⁹, and ln(J/δ)/(α−1) is at most 700·10⁶.
        Epsilon::rounded_up(&smallest.expect("one sum is finite")).expect("far below 1e30")
    }

    /// (ln(1/δ) + Σ λ·ln(J·λ) + Σ λ(α−1)·S(α)) / Σ λ(α−1) for weights λ, from above; `None` when δ = 0.
    fn epsilon_of(&self, weights: &Weights) -> Option<Rational> {
        if self.delta == Delta::ZERO {
            return None;
        }
        let enclosed = |value: &Rational| Interval::from_rational(value, BITS);
        let mut sum = Interval::ln_of(self.delta.as_rational(), BITS).neg();
        let mut slope = Interval::from_integer(0, BITS);
        for (index, weight) in weights.iter() {
            let logarithm = Interval::ln_of(&(&weight * Rational::from(Natural::from(weights.len()))), BITS);
            let tilt = enclosed(&(&weight * self.tally.orders.less_one(index)));
            let spent = enclosed(&self.tally.sums[index].to_rational());
            sum = sum.add(&enclosed(&weight).mul(&logarithm)).add(&tilt.mul(&spent));
            slope = slope.add(&tilt);
        }
        Some(sum.div(&slope)?.upper())
    }

    /// The weights of the orders at the loss L for which Σ (1/J)·e^((α−1)(L−S(α))) = 1/δ: those that prove most. Floats find
    /// them; what they prove is certified, whatever they are.
    fn blend(&self) -> Option<Weights> {
        let level = -to_f64_nearest(self.delta.as_rational()).ln() + (self.tally.orders.len() as f64).ln();
        let terms = |loss: f64| -> Vec<f64> {
            let betas = self.tally.orders.near_less_one().zip(&self.tally.sums);
            betas
                .map(|(beta, sum)| beta * (loss - sum.near()) - level)
                .collect()
        };
        let singles = self.tally.orders.near_less_one().zip(&self.tally.sums);
        let single = singles
            .map(|(beta, sum)| sum.near() + level / beta)
            .fold(f64::INFINITY, f64::min);
        if !single.is_finite() {
            return None;
        }
        let (mut low, mut high) = (0.0, single);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if terms(middle).iter().map(|term| term.exp()).sum::<f64>() < 1.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Weights::near(&terms(high))
    }

    /// Some bound stays finite: an order, if δ > 0, or order ∞.
    fn check(&self, sums: &[Divergence]) -> Result<(), Error> {
        let usable = if self.delta == Delta::ZERO {
            &sums[sums.len() - 1..]
        } else {
            sums
        };
        if usable.iter().any(|sum| sum.is_finite()) {
            return Ok(());
        }
        Err(Error::NothingBounds)
    }
}

impl From<RenyiOdometer> for State {
    fn from(odometer: RenyiOdometer) -> Self {
        Self {
            delta: odometer.delta,
            unit: odometer.tally.unit,
            orders: odometer.tally.orders,
            sums: odometer.tally.sums,
        }
    }
}

impl TryFrom<State> for RenyiOdometer {
    type Error = Error;

    fn try_from(state: State) -> Result<Self, Error> {
        let odometer = Self {
            delta: state.delta,
            tally: Tally::with_sums(state.unit, state.orders, state.sums)?,
        };
        odometer.check(&odometer.tally.sums)?;
        Ok(odometer)
    }
}
