//! The gatekeeper: lets events run while the target certainly holds.

use super::divergence::Divergence;
use super::orders::RenyiOrders;
use super::tally::Tally;
use super::weights::Weights;
use crate::{Budget, Delta, Epsilon, Error, Event, Guarantee, Promise};
use exact::{Interval, Rational, to_f64_nearest};
use serde::{Deserialize, Serialize};

/// Fractional bits: the terms below are at most 2³⁰ times a logarithm, and 10⁻¹⁸ is 2⁻⁶⁰.
const BITS: u32 = 160;

/// Admits events, each chosen after seeing all earlier answers, while everything together keeps an (ε, δ) budget.
///
/// # Privacy
/// Claim: the transcript of everything admitted is (ε, δ)-DP for the budget's unit, whoever chooses the events, however they
/// depend on earlier answers, and whenever one stops.
/// Source: Feldman and Zrnic 2021, "Individual privacy accounting via a Rényi filter"; Lécuyer 2021, "Practical privacy filters
/// and odometers with Rényi differential privacy". They follow one order, or the best by a union bound; that all orders count together
/// is the method of mixtures (Robbins 1970), proved below.
/// Assumes: an event is charged before it runs, what runs is what was charged, and choices depend on the data through answers only.
///
/// Proof. Let P and Q be the distributions of the transcript on two neighbouring databases, L_t = ln dP/dQ of its first t answers,
/// R_s(α) the bound on the divergence of order α of event s, and S_t(α) = Σ_{s≤t} R_s(α). Event s is chosen before answer s, so R_s is
/// known by then. (The chooser's own coins belong to the transcript; their distribution is the same under P and Q.) The J orders are α_j = 1 + β_j.
///
/// 1. *One order.* Given the past, E_P(e^(β·(L_t − L_(t−1)))) is the exponential of β times the divergence of order α of what runs
///    at t, hence at most e^(β·R_t(α)). So M_t = e^(β·(L_t − S_t(α))) is a supermartingale under P that starts at 1 (and is 0 once
///    S_t is infinite), and E_P(M_T) ≤ 1 at the time T at which one stops.
/// 2. *All orders.* The same holds for the average M = (1/J)·Σ_j M_j.
/// 3. *The rule.* An event is admitted only if afterwards, for every loss L,
///    max(0, 1 − e^(ε−L)) ≤ δ·(1/J)·Σ_j e^(β_j·(L − S(α_j))).   (∗)
///    The mean under P of the left side at L = L_T is the smallest δ for which P ≤ e^ε·Q + δ on all sets; that of the right side
///    is δ·E_P(M_T) ≤ δ. Divergences bound both directions, so P and Q may change places. ∎
///
/// When (∗) holds. With u = L − ε > 0 and a_j = (δ/J)·e^(β_j(ε − S(α_j))), it says e^−u + Σ_j a_j·e^(β_j·u) ≥ 1. Take weights μ_j ≥ 0
/// that sum to 1, x_j = μ_j/β_j and r = Σ x_j. By the inequality of weighted means, with weights 1/(1+r) and x_j/(1+r), in which u
/// cancels, the sum is at least the exponential of (B_μ − Σ_j μ_j·S(α_j))/(1+r), where
///
/// B_μ = ε + r·ln(δ/J) + (1+r)·ln(1+r) − Σ_j x_j·ln x_j.
///
/// So (∗) holds if Σ_j μ_j·S(α_j) ≤ B_μ for *some* μ; and if the sum is smallest at a u* > 0, only then (there μ_j ∝ β_j·a_j·e^(β_j·u*)
/// makes the means equal). With all weight on one order, B is the budget of which the conversion by Canonne, Kamath and Steinke
/// 2020, ε = B + ln((α−1)/α) − (ln δ' + ln α)/(α−1), makes ε with δ' = δ/J. Thus an event is admitted while one order alone has
/// something left, as by a union bound over the orders, and after that while all of them together do. (∗) holds as well while all events
/// were pure and their ε sum to at most ε, since then L ≤ ε.
///
/// *Events that carry a δ.* For one pair of neighbours, an (ε', δ')-DP event is the mixture, with weights 1 − δ' and δ', of an ε'-DP pair
/// and of anything (Kairouz, Oh and Viswanath 2015). Let P̃ and Q̃ be the distributions when each such event is replaced by its ε'-DP
/// part. What has no bad component in it has density w·dP̃ under P and at least w·dQ̃ under Q, with one w = Π(1 − δ'_s) ≤ 1 that the transcript
/// determines. A bad component occurs with probability at most Σ δ'_s, which the reserve bounds on every path. Hence for every set P ≤ ∫ w·dP̃ +
/// reserve ≤ e^ε·Q + ∫ w·max(0, dP̃ − e^ε·dQ̃) + reserve ≤ e^ε·Q + (δ − reserve) + reserve, the filter being run with δ − reserve for the rest.
///
/// ```
/// use accounting::{Budget, Delta, Epsilon, Error, Event, NoiseSupport, Neighbors, PrivacyUnit, Promise, Ratio};
/// use accounting::{RenyiFilter, RenyiOrders};
///
/// # fn main() -> Result<(), Error> {
/// let (epsilon, delta) = (Epsilon::parse("1")?, Delta::parse("1e-6")?);
/// let orders = RenyiOrders::suited_to(&epsilon, &delta)?;
/// let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
/// let mut filter = RenyiFilter::new(Budget::new(Promise::Approximate(epsilon, delta), unit), orders)?;
///
/// // Each step may depend on what earlier steps answered: less noise while it pays, more when it does not.
/// let step = |multiplier_squared: &str| -> Result<Event, Error> {
///     Ok(Event::Gaussian { multiplier_squared: Ratio::parse(multiplier_squared)?, on: NoiseSupport::Rounded })
/// };
/// let mut steps = 0;
/// while filter.charge(&step(if steps % 2 == 0 { "2500" } else { "10000" })?).is_ok() {
///     steps += 1; // … and here the step runs.
/// }
/// // Sums of (ε, δ) would have allowed 16 of these.
/// assert!(steps > 160);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "State", into = "State")]
pub struct RenyiFilter {
    budget: Budget,
    /// ε of the budget.
    epsilon: Epsilon,
    /// What is left of the budget's δ for the orders.
    delta: Delta,
    /// What was set aside for events that carry a δ.
    reserve: Delta,
    /// What those carried so far.
    own: Delta,
    tally: Tally,
    /// The largest divergence with which each order alone proves the target; `None` where not even zero does.
    limits: Vec<Option<Divergence>>,
    /// The weights that proved the present sums, once no order alone did.
    blend: Option<Blend>,
}

#[derive(Clone, Debug, PartialEq)]
struct Blend {
    weights: Weights,
    limit: Divergence,
}

/// What is written. Everything else follows from it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    budget: Budget,
    reserve: Delta,
    own: Delta,
    orders: RenyiOrders,
    sums: Vec<Divergence>,
    blend: Option<Weights>,
}

impl RenyiFilter {
    /// Nothing charged yet. Events that carry a δ of their own will be refused.
    ///
    /// # Errors
    /// When the budget is no (ε, δ) with δ > 0. (A [`Spending`](crate::Spending) is the filter for the other budgets.)
    pub fn new(budget: Budget, orders: RenyiOrders) -> Result<Self, Error> {
        Self::with_reserve(budget, orders, Delta::ZERO)
    }

    /// Nothing charged yet, with a part of the budget's δ set aside for (ε, δ) events.
    ///
    /// # Errors
    /// As [`RenyiFilter::new`], and when the reserve leaves nothing for the rest.
    pub fn with_reserve(budget: Budget, orders: RenyiOrders, reserve: Delta) -> Result<Self, Error> {
        let (epsilon, whole) = match budget.limit() {
            Promise::Approximate(epsilon, delta) => (epsilon.clone(), delta),
            Promise::Pure(_) => return Err(Error::NeedsDelta),
            Promise::Concentrated(_) => return Err(Error::MixedPromises),
        };
        let delta = match whole.checked_sub(&reserve) {
            Some(delta) if delta > Delta::ZERO => delta,
            _ => return Err(Error::NeedsDelta),
        };
        let tally = Tally::new(budget.unit().clone(), orders);
        let mut filter = Self {
            budget,
            epsilon,
            delta,
            reserve,
            own: Delta::ZERO,
            tally,
            limits: Vec::new(),
            blend: None,
        };
        let count = filter.tally.orders.len();
        filter.limits = (0..count)
            .map(|index| filter.limit_of(&Weights::only(index, count)))
            .collect();
        Ok(filter)
    }

    /// What is kept.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// What everything that was admitted guarantees together, now and later: the whole budget.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee::new(self.budget.limit().clone(), self.budget.unit().clone())
    }

    /// The divergence that is left at each order, not above the truth. Other orders may allow more, and so may all of them together:
    /// `fits` is the authority.
    pub fn remaining(&self) -> Vec<(f64, f64)> {
        let orders = self.tally.orders.as_slice().iter();
        let left = orders.zip(&self.limits).zip(&self.tally.sums);
        left.map(|((order, limit), sum)| {
            let left = limit.map_or(Divergence::ZERO, |limit| limit.less(*sum));
            (*order, exact::to_f64_down(&left.to_rational()))
        })
        .collect()
    }

    /// How much of the budget is used: the smallest ε, to six digits and rounded up, of a budget that would have admitted everything charged
    /// so far, with the same δ, reserve and orders. What the filter enforces is that this number is at most the budget's ε.
    ///
    /// It says how full the budget is and is no guarantee of its own, because it depends on what was asked: the guarantee is that of
    /// [`RenyiFilter::guarantee`], and what holds whenever one stops is [`RenyiOdometer::epsilon`](crate::RenyiOdometer::epsilon).
    pub fn used(&self) -> Epsilon {
        let used = self.smallest_epsilon(&self.tally.sums);
        used.map_or_else(|| self.epsilon.clone(), |used| used.min(self.epsilon.clone()))
    }

    /// How much of the budget would be used with `event` charged as well; above the budget's ε where `event` does not fit, and `None` where no
    /// ε would be enough.
    ///
    /// # Errors
    /// When nothing is known about the event.
    pub fn used_with(&self, event: &Event) -> Result<Option<Epsilon>, Error> {
        let mut tally = self.tally.clone();
        let cost = tally.cost(event)?;
        Ok(self.smallest_epsilon(&tally.after(&cost)))
    }

    /// The δ that events carried so far, of what was set aside for them.
    pub fn reserve_used(&self) -> &Delta {
        &self.own
    }

    /// The smallest ε found that is proved for these sums. Any weights prove some ε: their limit grows by as much as the budget's ε does. Those that
    /// are best for one ε lead to a smaller one, and a few steps of that to the smallest, near enough for people to read.
    fn smallest_epsilon(&self, sums: &[Divergence]) -> Option<Epsilon> {
        const STEPS: usize = 12;
        const DIGITS: u32 = 6;
        let pure = Tally::pure(sums);
        let mut best = pure.is_finite().then(|| pure.to_rational());
        let mut improve = |found: Rational| match &best {
            Some(known) if *known <= found => false,
            _ => {
                best = Some(found);
                true
            }
        };
        let single = self.limits.iter().zip(sums).filter(|(_, sum)| sum.is_finite());
        let single = single.filter_map(|(limit, sum)| {
            let room = limit.as_ref()?.to_rational() - sum.to_rational();
            Some(self.epsilon.as_rational() - room)
        });
        let mut start = to_f64_nearest(self.epsilon.as_rational());
        if let Some(found) = single.min() {
            start = to_f64_nearest(&found);
            improve(found);
        }
        // Large enough that no limit is below zero.
        let ample = Rational::from(1_000_000u32);
        let mut roomy = self.clone();
        roomy.epsilon = Epsilon::rounded_up(&ample).ok()?;
        for _ in 0..STEPS {
            let found = self.weights_for(sums, start).and_then(|weights| {
                let limit = roomy.limit_of(&weights)?;
                Some(weights.average(sums)? + &ample - limit.to_rational())
            });
            let Some(found) = found else { break };
            start = to_f64_nearest(&found);
            if !improve(found) {
                break;
            }
        }
        let best = best?.max(Rational::ZERO);
        Epsilon::rounded_up(&exact::decimal_at_least(&best, DIGITS)).ok()
    }

    /// Whether `event` can be charged.
    pub fn fits(&self, event: &Event) -> bool {
        self.clone().charge(event).is_ok()
    }

    /// Charges `event`, which may run now; or refuses it, and nothing changed.
    ///
    /// # Errors
    /// When the target would no longer be proved, when the event carries more δ than is left of what was set aside, or when nothing
    /// is known about it (its sampler is about other neighbours, or it has no noise).
    pub fn charge(&mut self, event: &Event) -> Result<(), Error> {
        let cost = self.tally.cost(event)?;
        // A sum of 1 or more is no δ, and beyond every reserve.
        let own = Delta::exactly_or_up(&(self.own.as_rational() + &cost.own))
            .ok()
            .filter(|own| *own <= self.reserve)
            .ok_or_else(|| Error::ReserveExceeded {
                own: crate::error::shown(&exact::format_decimal(&cost.own)),
                left: self
                    .reserve
                    .checked_sub(&self.own)
                    .unwrap_or(Delta::ZERO)
                    .to_string(),
            })?;
        let sums = self.tally.after(&cost);
        if !self.is_proved(&sums) {
            let blend = self
                .blend_for(&sums)
                .ok_or_else(|| self.refusal(&cost.divergences))?;
            self.blend = Some(blend);
        }
        self.own = own;
        self.tally.sums = sums;
        Ok(())
    }

    /// Whether order ∞, one order alone, or the weights found last prove the target for these sums.
    fn is_proved(&self, sums: &[Divergence]) -> bool {
        let pure = Tally::pure(sums);
        let fits =
            |(limit, sum): (&Option<Divergence>, &Divergence)| limit.is_some_and(|limit| *sum <= limit);
        pure.is_finite() && pure.to_rational() <= *self.epsilon.as_rational()
            || self.limits.iter().zip(sums).any(fits)
            || self
                .blend
                .as_ref()
                .is_some_and(|blend| blend.weights.fit(sums, blend.limit))
    }

    /// B = ε + r·ln(δ/J) + (1+r)·ln(1+r) − Σ x·ln x with x = weight/(α−1) and r = Σ x, rounded down; `None` below zero.
    fn limit_of(&self, weights: &Weights) -> Option<Divergence> {
        let enclosed = |value: &Rational| Interval::from_rational(value, BITS);
        let share = self.delta.as_rational() / Rational::from(weights.len());
        let one = Interval::from_integer(1, BITS);
        let mut r = Interval::from_integer(0, BITS);
        let mut entropy = r.clone();
        for (index, weight) in weights.iter() {
            let x = weight / self.tally.orders.less_one(index);
            r = r.add(&enclosed(&x));
            entropy = entropy.sub(&enclosed(&x).mul(&Interval::ln_of(&x, BITS)));
        }
        let more = one.add(&r);
        let limit = enclosed(self.epsilon.as_rational())
            .add(&r.mul(&Interval::ln_of(&share, BITS)))
            .add(&more.mul(&more.ln()?))
            .add(&entropy);
        Divergence::rounded_down(&limit.lower())
    }

    /// The weights with which all orders together prove most for these sums, if that is enough. Floats find them, by bisection
    /// for the loss at which the proof is tightest; what they prove is certified.
    fn blend_for(&self, sums: &[Divergence]) -> Option<Blend> {
        let weights = self.weights_for(sums, to_f64_nearest(self.epsilon.as_rational()))?;
        let limit = self.limit_of(&weights)?;
        weights.fit(sums, limit).then_some(Blend { weights, limit })
    }

    /// Weights near those that prove most for these sums at this ε.
    fn weights_for(&self, sums: &[Divergence], epsilon: f64) -> Option<Weights> {
        let share = (to_f64_nearest(self.delta.as_rational()) / self.tally.orders.len() as f64).ln();
        // ln of the terms of e^u·Σ β·a·e^(βu), which is 1 where e^−u + Σ a·e^(βu) is smallest.
        let terms = |u: f64| -> Vec<f64> {
            let betas = self.tally.orders.near_less_one().zip(sums);
            betas
                .map(|(beta, sum)| share + beta * (epsilon - sum.near() + u) + beta.ln() + u)
                .collect()
        };
        // Where a proof succeeds, e^u = 1 + r ≤ 1 + 10⁶.
        let (mut low, mut high) = (0.0, 16.0);
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

    /// Reported by the order that has used up least.
    fn refusal(&self, cost: &[Divergence]) -> Error {
        let used = |(limit, sum): (&Option<Divergence>, &Divergence)| {
            limit.map_or(f64::INFINITY, |limit| sum.near() / limit.near())
        };
        let used: Vec<f64> = self.limits.iter().zip(&self.tally.sums).map(used).collect();
        let freest = (0..used.len())
            .min_by(|&a, &b| used[a].total_cmp(&used[b]))
            .unwrap_or(0);
        let left = self.limits[freest].map_or(Divergence::ZERO, |limit| limit.less(self.tally.sums[freest]));
        let order = self.tally.orders.as_slice()[freest];
        Error::OverBudget {
            cost: format!(
                "a Rényi divergence of {:.3e} at order {order}",
                cost[freest].near()
            ),
            remaining: match left {
                Divergence::ZERO => "too little".to_owned(),
                left => format!("{:.3e}", left.near()),
            },
            limit: self.budget.limit().to_string(),
        }
    }
}

impl From<RenyiFilter> for State {
    fn from(filter: RenyiFilter) -> Self {
        Self {
            budget: filter.budget,
            reserve: filter.reserve,
            own: filter.own,
            orders: filter.tally.orders,
            sums: filter.tally.sums,
            blend: filter.blend.map(|blend| blend.weights),
        }
    }
}

impl TryFrom<State> for RenyiFilter {
    type Error = Error;

    /// Limits are computed anew, so that what is read cannot widen them; and no charge leads to sums that nothing proves.
    fn try_from(state: State) -> Result<Self, Error> {
        let refused = |what: &str| Error::NotAState {
            what: what.to_owned(),
        };
        let mut filter = Self::with_reserve(state.budget, state.orders, state.reserve)?;
        let Tally { unit, orders, .. } = filter.tally;
        filter.tally = Tally::with_sums(unit, orders, state.sums)?;
        if let Some(weights) = state.blend {
            if weights.len() != filter.tally.orders.len() {
                return Err(refused("the weights are for other orders"));
            }
            let limit = filter
                .limit_of(&weights)
                .ok_or_else(|| refused("the weights prove nothing"))?;
            filter.blend = Some(Blend { weights, limit });
        }
        filter.own = state.own;
        if filter.own > filter.reserve || !filter.is_proved(&filter.tally.sums) {
            return Err(refused("more was spent than was ever allowed"));
        }
        Ok(filter)
    }
}
