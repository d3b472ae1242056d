//! The worst analyst: who chooses every question after seeing the answers, and is found by trying all ways to choose.

use super::delta;
use accounting::{Epsilon, Event, RenyiFilter};
use exact::{Interval, Rational, ratio};
use std::collections::BTreeMap;

const BITS: u32 = 128;

/// Something an analyst may ask: the event, and the losses on one database with their probabilities there. `None` is an infinite
/// loss. Losses in thousandths, so that equal sums are equal.
#[derive(Clone)]
pub(crate) struct Question {
    pub(crate) event: Event,
    pub(crate) losses: Vec<(Option<i64>, Interval)>,
}

/// Randomized response: the loss is ε with probability e^ε/(e^ε + k − 1), −ε with 1/(e^ε + k − 1), and else 0.
pub(crate) fn response(thousandths: i64, answers: u64) -> Question {
    let value = ratio(thousandths, 1000);
    let large = Interval::exp_of(&value, BITS);
    let whole = large.add(&Interval::from_integer(answers - 1, BITS));
    let part = |weight: &Interval| weight.div(&whole).unwrap();
    let mut losses = vec![
        (Some(thousandths), part(&large)),
        (Some(-thousandths), part(&Interval::from_integer(1, BITS))),
    ];
    if answers > 2 {
        losses.push((Some(0), part(&Interval::from_integer(answers - 2, BITS))));
    }
    let epsilon = Epsilon::exactly_or_up(&value).unwrap();
    Question {
        event: Event::RandomizedResponse { answers, epsilon },
        losses,
    }
}

/// The worst (ε, δ) event: with probability δ it tells, else it is a randomized response.
pub(crate) fn leaky(thousandths: i64, leak: &str) -> Question {
    let inner = response(thousandths, 2);
    let leak = delta(leak);
    let rest = Interval::from_rational(&(Rational::ONE - leak.as_rational()), BITS);
    let mut losses: Vec<_> = inner
        .losses
        .iter()
        .map(|(loss, mass)| (*loss, mass.mul(&rest)))
        .collect();
    losses.push((None, Interval::from_rational(leak.as_rational(), BITS)));
    let epsilon = Epsilon::exactly_or_up(&ratio(thousandths, 1000)).unwrap();
    Question {
        event: Event::Approximate { epsilon, delta: leak },
        losses,
    }
}

/// Whoever decides what may run.
pub(crate) trait Gate: Clone {
    /// Whether it may, given what ran.
    fn admits(&mut self, event: &Event) -> bool;
    /// Everything later decisions depend on.
    fn state(&self) -> String;
}

impl Gate for RenyiFilter {
    fn admits(&mut self, event: &Event) -> bool {
        self.charge(event).is_ok()
    }

    fn state(&self) -> String {
        serde_json::to_string(self).unwrap()
    }
}

/// A gate that looks at the list of what ran, in some fixed order.
#[derive(Clone)]
pub(crate) struct Mutant<F> {
    pub(crate) ran: Vec<Event>,
    pub(crate) judges: F,
}

impl<F: Fn(&[Event]) -> bool + Clone> Gate for Mutant<F> {
    fn admits(&mut self, event: &Event) -> bool {
        let mut ran = self.ran.clone();
        ran.push(event.clone());
        ran.sort_by_key(|event| format!("{event:?}"));
        let fits = (self.judges)(&ran);
        if fits {
            self.ran = ran;
        }
        fits
    }

    fn state(&self) -> String {
        format!("{:?}", self.ran)
    }
}

/// max(0, 1 − e^(ε − L)).
pub(crate) fn excess(epsilon: &Rational, loss: i64) -> Interval {
    let zero = Interval::from_integer(0, BITS);
    if ratio(loss, 1000) <= *epsilon {
        return zero;
    }
    Interval::from_integer(1, BITS).sub(&Interval::exp_of(&(epsilon - ratio(loss, 1000)), BITS))
}

/// The largest δ(ε) that any analyst can reach, who chooses from `menu` by looking at the answers, with at most `depth` questions:
/// Σ max(0, P − e^ε·Q) over all transcripts, maximized over all ways to choose.
pub(crate) fn worst_delta<G: Gate>(gate: &G, menu: &[Question], epsilon: &Rational, depth: u32) -> Interval {
    fn value<G: Gate>(
        gate: &G,
        loss: i64,
        depth: u32,
        (menu, epsilon): (&[Question], &Rational),
        known: &mut BTreeMap<(String, i64, u32), Interval>,
    ) -> Interval {
        let key = (gate.state(), loss, depth);
        if let Some(found) = known.get(&key) {
            return found.clone();
        }
        let mut best = excess(epsilon, loss);
        for question in menu.iter().filter(|_| depth > 0) {
            let mut next = gate.clone();
            if !next.admits(&question.event) {
                assert_eq!(next.state(), key.0, "a refusal changes nothing");
                continue;
            }
            let mut mean = Interval::from_integer(0, BITS);
            for (more, mass) in &question.losses {
                let then = match more {
                    Some(more) => value(&next, loss + more, depth - 1, (menu, epsilon), known),
                    None => Interval::from_integer(1, BITS),
                };
                mean = mean.add(&mass.mul(&then));
            }
            best = best.max(&mean);
        }
        known.insert(key, best.clone());
        best
    }
    value(gate, 0, depth, (menu, epsilon), &mut BTreeMap::new())
}

/// Σ max(0, P − e^ε·Q) of a plan that is fixed beforehand.
pub(crate) fn planned_delta(plan: &[&Question], epsilon: &Rational) -> Interval {
    let mut distribution = BTreeMap::from([(0i64, Interval::from_integer(1, BITS))]);
    for question in plan {
        let mut next: BTreeMap<i64, Interval> = BTreeMap::new();
        for (loss, mass) in &distribution {
            for (more, chance) in &question.losses {
                let place = next.entry(loss + more.unwrap());
                let sum = place.or_insert_with(|| Interval::from_integer(0, BITS));
                *sum = sum.add(&mass.mul(chance));
            }
        }
        distribution = next;
    }
    let zero = Interval::from_integer(0, BITS);
    distribution.iter().fold(zero, |sum, (loss, mass)| {
        sum.add(&mass.mul(&excess(epsilon, *loss)))
    })
}

/// ε + ln(α/(α−1)) + (ln δ + ln α)/(α−1), for mutants.
pub(crate) fn single_budget(order: f64, epsilon: f64, delta: f64) -> f64 {
    epsilon + (order / (order - 1.0)).ln() + (delta * order).ln() / (order - 1.0)
}

/// A response with this many answers that its loss is positive with this probability.
pub(crate) fn rare(thousandths: i64, probability: f64) -> Question {
    let answers = (thousandths as f64 / 1000.0).exp() * (1.0 / probability - 1.0) + 1.0;
    response(thousandths, answers.round() as u64)
}

/// ε = 12 and δ = 0.0003. A first question with a rare loss of 2, and two questions of which one passes 12 only after that loss.
pub(crate) fn branching_menu(part: f64) -> Vec<Question> {
    vec![
        rare(2000, 0.02),
        rare(10_118, part * 3e-4 * 9.0 / 0.02),
        rare(12_693, part * 3e-4 * 2.0),
    ]
}

pub(crate) const ORDERS: [f64; 2] = [2.0, 9.0];

pub(crate) fn times(interval: &Interval, delta: f64) -> f64 {
    interval.to_f64_nearest() / delta
}

/// What is said after this many of each question.
pub(crate) type Reads<'a> = &'a dyn Fn(&[u64]) -> Rational;

/// The largest probability with which any analyst can make the loss exceed, at any time, what `reads` says after these numbers of
/// each question of the menu.
pub(crate) fn worst_miss(reads: Reads<'_>, menu: &[Question], depth: u32) -> Interval {
    type Known = BTreeMap<(Vec<u64>, i64), Interval>;
    fn value(
        (reads, menu): (Reads<'_>, &[Question]),
        (ran, loss, depth): (&[u64], i64, u32),
        readings: &mut BTreeMap<Vec<u64>, Rational>,
        known: &mut Known,
    ) -> Interval {
        let reading = readings.entry(ran.to_vec()).or_insert_with(|| reads(ran));
        if ratio(loss, 1000) > *reading {
            return Interval::from_integer(1, BITS);
        }
        let mut best = Interval::from_integer(0, BITS);
        if depth == 0 {
            return best;
        }
        if let Some(found) = known.get(&(ran.to_vec(), loss)) {
            return found.clone();
        }
        for (index, question) in menu.iter().enumerate() {
            let mut next = ran.to_vec();
            next[index] += 1;
            let mut mean = Interval::from_integer(0, BITS);
            for (more, mass) in &question.losses {
                let then = value(
                    (reads, menu),
                    (&next, loss + more.unwrap(), depth - 1),
                    readings,
                    known,
                );
                mean = mean.add(&mass.mul(&then));
            }
            best = best.max(&mean);
        }
        known.insert((ran.to_vec(), loss), best.clone());
        best
    }
    let none = vec![0; menu.len()];
    value(
        (reads, menu),
        (&none, 0, depth),
        &mut BTreeMap::new(),
        &mut BTreeMap::new(),
    )
}
