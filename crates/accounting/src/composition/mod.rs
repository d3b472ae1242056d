//! Composition of what is known by its (ε, δ) alone: sums, and how much less than sums is enough.
//!
//! Everything here holds for adaptive composition too, where an event's parameters are fixed and its mechanism is chosen after seeing
//! the earlier answers: each (ε, δ)-DP mechanism is a post-processing of randomized response on one bit with a leak of probability δ
//! (Kairouz, Oh and Viswanath 2015), so the worst case is that of independent ones.

mod plan;
mod repeated;

pub use plan::amplified_epsilon;
pub(crate) use plan::{MOST_EPSILONS, Plan, Sharer, coarsened};
use plan::{exceeded, total};
use repeated::{MOST_RUNS, delta_of_repeated, epsilon_of_repeated};

use crate::{
    Curve, Delta, Epsilon, Error, Event, Neighbors, PrivacyUnit, Promise, Sampler, epsilon_of_concentrated,
    rho_of_pure,
};
use exact::{Integer, Interval, Natural, Rational, decimal_at_least, ratio};
use std::collections::BTreeMap;

/// Terms of a sum are rounded up to this many digits, so that their sum stays short.
const DIGITS: u32 = 30;
/// More leaks than this are summed instead of multiplied, which is safe and hardly more.
const MOST_LEAKS: usize = 1000;
/// Beyond this ε, refined composition has nothing to offer.
const LARGEST: u8 = 64;

/// A sampler's rate, refusing batches larger than the data also when there is no data.
pub(crate) fn rate(sampler: &Sampler) -> Result<Rational, Error> {
    match sampler {
        Sampler::FixedSize { batch, of } if batch > of => Err(Error::NotAProbability {
            text: format!("{batch}/{of}"),
        }),
        other => other.rate(),
    }
}

/// The ε of the sums, with this δ.
///
/// # Errors
/// As [`Event::promise`].
pub(crate) fn basic_epsilon(event: &Event, delta: &Delta) -> Result<Epsilon, Error> {
    match event.promise(delta)? {
        Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => Ok(epsilon),
        Promise::Concentrated(rho) => epsilon_of_concentrated(&rho, delta),
    }
}

/// An ε for `event` with a total δ of `delta`, by advanced composition; never more than the sum.
///
/// Theorem (Dwork, Rothblum and Vadhan 2010, Theorem III.3; for different ε the same proof): (ε_i, δ_i)-DP mechanisms together are
/// (√(2·ln(1/δ')·Σε_i²) + Σε_i·(e^ε_i − 1), Σδ_i + δ')-DP. Each loss lies in [−ε_i, ε_i], its mean is at most
/// ε_i·(e^ε_i − 1) whatever came before, and Hoeffding's inequality for martingales bounds the sum; the δ_i join by the union bound.
///
/// Gaussians, sampled or not, and what is known by its ρ share half of what the others leave of δ; the other half is δ'.
///
/// # Errors
/// When no δ is left to trade, or as [`Event::promise`].
pub fn advanced_epsilon(event: &Event, delta: &Delta) -> Result<Epsilon, Error> {
    event.neighbors()?;
    let steps = Steps::of(&Plan::of(event)?, delta)?;
    at_most_basic(event, delta, steps.advanced(&steps.summed_room(delta)?)?)
}

/// An ε for `event` with a total δ of `delta`, by the closed form that comes closest to the optimum; never more than the sum.
///
/// Theorem (Kairouz, Oh and Viswanath 2015): (ε_i, δ_i)-DP mechanisms together are (ε', 1 − (1−δ')·Π(1−δ_i))-DP with
/// ε' = Σε_i·tanh(ε_i/2) + t, t² = 2σ²·ln(1/δ') or t² = 2σ²·ln(e + σ/δ'), and σ² = Σε_i².
/// Proof: the loss L of the randomized responses has mean m = Σε_i·tanh(ε_i/2), and by Hoeffding's inequality P(L > m + t + s) ≤ e^(−(t+s)²/2σ²).
/// Then δ(m+t) = ∫_0^∞ e^−s·P(L > m+t+s) ds ≤ e^(−t²/2σ²)·∫_0^∞ e^(−s − st/σ²) ds = e^(−t²/2σ²)/(1 + t/σ²). That is at most e^(−t²/2σ²): the first
/// t. With the second, e^(−t²/2σ²) = δ'/(eδ' + σ), and (eδ' + σ)·(1 + t/σ²) ≥ t/σ ≥ √2.
///
/// δ is shared as in [`advanced_epsilon`].
///
/// # Errors
/// As [`advanced_epsilon`].
pub fn closed_form_epsilon(event: &Event, delta: &Delta) -> Result<Epsilon, Error> {
    event.neighbors()?;
    let steps = Steps::of(&Plan::of(event)?, delta)?;
    at_most_basic(event, delta, steps.closed_form(&steps.room(delta)?)?)
}

/// The smallest ε for `event` with a total δ of `delta` that follows from the (ε_i, δ_i) alone; never more than the sum.
///
/// Theorem (Kairouz, Oh and Viswanath 2015): k mechanisms that are (ε₀, δ_i)-DP are together (ε', 1 − (1−δ')·Π(1−δ_i))-DP
/// exactly when δ' ≥ Σ_l C(k,l)·e^((k−l)ε₀)/(1+e^ε₀)^k·[1 − e^(ε'−(k−2l)ε₀)]₊. Up to a million equal ones are summed, and solved for ε' exactly:
/// between two losses δ' is a line in e^ε'. For different ε_i, or more of them, the certified [`Curve`] of the same (ε_i, δ_i) answers.
///
/// Gaussians, sampled or not, and what is known by its ρ are turned into (ε_i, δ_i) first, as in [`advanced_epsilon`]: so this is optimal
/// for what is (ε, δ)-DP, and only an upper bound for Gaussians, about which more is known.
///
/// # Errors
/// As [`Event::promise`], or when the curve has no answer.
pub fn optimal_epsilon(event: &Event, delta: &Delta) -> Result<Epsilon, Error> {
    event.neighbors()?;
    let steps = Steps::of(&Plan::of(event)?, delta)?;
    let found = match steps.equal() {
        Some((k, epsilon)) => {
            let room = steps.room(delta)?;
            if k == 0 {
                Epsilon::ZERO
            } else {
                Epsilon::rounded_up(&epsilon_of_repeated(k, &epsilon, &room))?
            }
        }
        None => {
            let upper = steps.curve()?.epsilon(delta)?.upper;
            // The curve is an enclosure, and where it is wide the closed form may be the better bound.
            let closed = steps.room(delta).and_then(|room| steps.closed_form(&room));
            closed
                .ok()
                .flatten()
                .map_or(upper.clone(), |closed| closed.min(upper))
        }
    };
    at_most_basic(event, delta, Some(found))
}

/// Whether [`optimal_epsilon`] asks the curve, which takes its time.
pub(crate) fn needs_curve(plan: &Plan<'_>) -> bool {
    let mut times = plan.epsilons.values().chain(plan.sharers.values());
    plan.epsilons.len() + plan.sharers.len() > 1 || times.any(|times| *times > Natural::from(MOST_RUNS))
}

/// A δ with which `event` keeps `asked`, when it follows from the (ε_i, δ_i) alone and nothing shares δ; `None` when something does.
///
/// # Errors
/// As [`optimal_epsilon`], or when no δ below 1 is enough.
pub(crate) fn optimal_delta(event: &Event, asked: &Epsilon) -> Result<Option<Delta>, Error> {
    let plan = Plan::of(event)?;
    if !plan.sharers.is_empty() {
        return Ok(None);
    }
    let steps = Steps::of(&plan, &Delta::ZERO).or_else(|error| match error {
        // Without sharers δ decides nothing.
        Error::DeltaExceeded { .. } => Ok(Steps::without_sharers(&plan)),
        other => Err(other),
    })?;
    let none = || Error::NoDelta {
        epsilon: asked.to_string(),
    };
    let Some((k, epsilon)) = steps.equal() else {
        return Ok(Some(steps.curve()?.delta(asked)?.upper));
    };
    let delta = if k == 0 {
        Rational::ZERO
    } else {
        delta_of_repeated(k, &epsilon, asked.as_rational()).ok_or_else(none)?
    };
    // 1 − (1−δ')·Π(1−δ_i).
    let whole = if steps.leaks.is_empty() {
        delta
    } else {
        Rational::ONE - (Rational::ONE - delta) * steps.unleaked().ok_or_else(none)?
    };
    Delta::rounded_up(&whole).map(Some).map_err(|_| none())
}

/// The smaller one of what was found and the sum, which also holds.
fn at_most_basic(event: &Event, delta: &Delta, found: Option<Epsilon>) -> Result<Epsilon, Error> {
    match (found, basic_epsilon(event, delta)) {
        (Some(found), Ok(basic)) => Ok(found.min(basic)),
        (Some(found), Err(_)) => Ok(found),
        (None, basic) => basic,
    }
}

/// A plan in which everything has its ε and its δ.
struct Steps {
    epsilons: BTreeMap<Rational, Natural>,
    leaks: BTreeMap<Rational, Natural>,
}

impl Steps {
    /// Half of what the events leave of δ goes to what must be given one.
    fn of(plan: &Plan<'_>, delta: &Delta) -> Result<Self, Error> {
        let mut steps = Self::without_sharers(plan);
        let sharing = plan.sharing();
        if sharing == Natural::ZERO {
            return Ok(steps);
        }
        let (_, left) = plan.left(delta)?;
        let share = Delta::rounded_down(&(left * ratio(1, 2) / Rational::from(sharing.clone())))?;
        for (epsilon, times) in plan.shared(&share)? {
            *steps.epsilons.entry(epsilon.as_rational().clone()).or_default() += times;
        }
        *steps.leaks.entry(share.as_rational().clone()).or_default() += sharing;
        steps.epsilons.retain(|epsilon, _| !epsilon.is_zero());
        Ok(steps)
    }

    fn without_sharers(plan: &Plan<'_>) -> Self {
        let owned = |counted: &BTreeMap<&Rational, Natural>| {
            counted
                .iter()
                .map(|(value, times)| ((*value).clone(), times.clone()))
                .collect()
        };
        Self {
            epsilons: owned(&plan.epsilons),
            leaks: owned(&plan.leaks),
        }
    }

    /// What Σδ_i leaves of `delta`.
    fn summed_room(&self, delta: &Delta) -> Result<Rational, Error> {
        let own = total(&self.leaks);
        let room = delta.as_rational() - &own;
        if room < Rational::ZERO {
            return Err(exceeded(&own, delta));
        }
        Ok(room)
    }

    /// The δ' with which 1 − (1−δ')·Π(1−δ_i) is at most `delta`, rounded down: a little more than what the sum leaves.
    fn room(&self, delta: &Delta) -> Result<Rational, Error> {
        if self.leaks.is_empty() {
            return Ok(delta.as_rational().clone());
        }
        let summed = self.summed_room(delta);
        let kept = self.unleaked().filter(|kept| *kept > Rational::ZERO);
        let product = kept.map(|kept| Rational::ONE - (Rational::ONE - delta.as_rational()) / kept);
        match (summed, product.filter(|room| *room >= Rational::ZERO)) {
            (Ok(summed), Some(product)) => Ok(summed.max(product)),
            (Err(_), Some(product)) => Ok(product),
            (summed, None) => summed,
        }
    }

    /// Π(1−δ_i), rounded down; at least 1 − Σδ_i. `None` when there are too many different ones and the sum reaches 1.
    fn unleaked(&self) -> Option<Rational> {
        let summed = Rational::ONE - total(&self.leaks);
        if self.leaks.len() > MOST_LEAKS {
            return (summed > Rational::ZERO).then_some(summed);
        }
        // Enough bits for δs of 300 places, and for as many of them as there are.
        let most = self.leaks.values().max()?.clone();
        let bits = 1200 + exact::floor_log2(&Rational::from(most)).unsigned_abs();
        let mut logarithm = Interval::from_integer(0, bits);
        for (leak, times) in &self.leaks {
            let one = Interval::ln_of(&(Rational::ONE - leak), bits);
            logarithm = logarithm.add(&one.scale(&Integer::from(times.clone())));
        }
        Some(Interval::exp_of(&logarithm.lower(), bits).lower().max(summed))
    }

    /// (k, ε₀) when everything has the same ε₀ and k is not too many; (0, _) when nothing has one.
    fn equal(&self) -> Option<(u64, Rational)> {
        let mut all = self.epsilons.iter();
        match (all.next(), all.next()) {
            (None, _) => Some((0, Rational::ZERO)),
            (Some((epsilon, times)), None) => {
                let times = u64::try_from(times.clone()).ok()?;
                (times <= MOST_RUNS).then(|| (times, epsilon.clone()))
            }
            _ => None,
        }
    }

    /// The curve of everything: leaks and randomized responses, which do not depend on neighbours.
    fn curve(&self) -> Result<Curve, Error> {
        let repeated = |event: Event, times: &Natural| {
            let times = u64::try_from(times.clone()).map_err(|_| Error::OutOfRange {
                quantity: "a number of events",
                text: "2^64 or more".to_owned(),
            })?;
            Ok::<_, Error>(Event::Repeated {
                event: Box::new(event),
                times,
            })
        };
        let mut events = Vec::with_capacity(self.epsilons.len() + self.leaks.len());
        for (epsilon, times) in &self.epsilons {
            let epsilon = Epsilon::exactly_or_up(epsilon)?;
            events.push(repeated(Event::Pure { epsilon }, times)?);
        }
        for (leak, times) in &self.leaks {
            let (epsilon, delta) = (Epsilon::ZERO, Delta::exactly_or_up(leak)?);
            events.push(repeated(Event::Approximate { epsilon, delta }, times)?);
        }
        let anyone = PrivacyUnit::new("unit", Neighbors::AddRemove);
        Curve::of(&Event::Composed(events), &anyone)
    }

    /// Σ f(ε_i), each term rounded up; `None` when an ε is so large that nothing is gained.
    fn sum_of(
        epsilons: &BTreeMap<Rational, Natural>,
        f: impl Fn(&Rational) -> Result<Rational, Error>,
    ) -> Result<Option<Rational>, Error> {
        let mut sum = Rational::ZERO;
        for (epsilon, times) in epsilons {
            if *epsilon > Rational::from(LARGEST) {
                return Ok(None);
            }
            sum += decimal_at_least(&f(epsilon)?, DIGITS) * Rational::from(times.clone());
        }
        Ok(Some(sum))
    }

    /// Dwork, Rothblum and Vadhan's ε; `None` when the sum is certainly as good.
    fn advanced(&self, room: &Rational) -> Result<Option<Epsilon>, Error> {
        let logarithm = traded(room, "advanced composition")?;
        let epsilons = coarsened(self.epsilons.clone());
        let squares = Self::sum_of(&epsilons, |epsilon| Ok(epsilon * epsilon))?;
        let means = Self::sum_of(&epsilons, |epsilon| {
            let bits = 160 + 2 * exact::floor_log2(epsilon).unsigned_abs();
            let grown = Interval::exp_of(epsilon, bits).upper() - Rational::ONE;
            Ok(epsilon * grown)
        })?;
        let (Some(squares), Some(means)) = (squares, means) else {
            return Ok(None);
        };
        let deviation = root_above(&(squares * ratio(2, 1) * logarithm));
        // What is out of range is above the sum, or the sum is out of range too and says so.
        Ok(Epsilon::rounded_up(&(means + deviation)).ok())
    }

    /// Kairouz, Oh and Viswanath's closed form; `None` when the sum is certainly as good.
    fn closed_form(&self, room: &Rational) -> Result<Option<Epsilon>, Error> {
        let logarithm = traded(room, "a closed form of composition")?;
        let epsilons = coarsened(self.epsilons.clone());
        let squares = Self::sum_of(&epsilons, |epsilon| Ok(epsilon * epsilon))?;
        let means = Self::sum_of(&epsilons, |epsilon| {
            Ok(rho_of_pure(epsilon)?.as_rational().clone())
        })?;
        let (Some(squares), Some(means)) = (squares, means) else {
            return Ok(None);
        };
        let bits = 160;
        let e = Interval::exp_of(&Rational::ONE, bits).upper();
        let inside = decimal_at_least(&(e + root_above(&squares) / room), DIGITS);
        let logarithm = logarithm.min(Interval::ln_of(&inside, bits).upper());
        let deviation = root_above(&(squares * ratio(2, 1) * logarithm));
        // What is out of range is above the sum, or the sum is out of range too and says so.
        Ok(Epsilon::rounded_up(&(means + deviation)).ok())
    }
}

/// ln(1/δ') rounded up.
fn traded(room: &Rational, what: &'static str) -> Result<Rational, Error> {
    if *room <= Rational::ZERO {
        return Err(Error::NothingToTrade { what });
    }
    Ok(-Interval::ln_of(room, 160).lower())
}

/// √x rounded up, to many digits of its own size.
fn root_above(square: &Rational) -> Rational {
    if square.is_zero() {
        return Rational::ZERO;
    }
    let bits = 160 + exact::floor_log2(square).unsigned_abs();
    decimal_at_least(&Interval::sqrt_of(square, bits).upper(), DIGITS)
}
