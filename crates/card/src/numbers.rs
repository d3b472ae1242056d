//! Every number of a card that is not declared: computed from the rules and the ledger's events.

use crate::{Error, Ledger};
use accounting::{
    Accountant, Curve, Delta, Epsilon, Event, PrivacyUnit, Promise, renyi_divergence,
    what_it_means_for_one_person,
};
use exact::{Rational, decimal_at_least, format_decimal, ratio};
use ledger::{Past, Rules, composed, used_after};
use serde::Serialize;
use sql::Catalog;
use std::collections::BTreeMap;

/// Significant digits; everything is rounded up, so that it stays true.
const DIGITS: u32 = 6;
/// The orders of the Rényi curve.
const ORDERS: [f64; 8] = [1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// The δ of the certified curve. Few: where the plan is a few Laplace noises, each takes the accountant a
/// tenth of a second.
const DELTAS: [&str; 3] = ["1e-4", "1e-6", "1e-9"];

/// Up to which entry of which ledger.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AsOf {
    /// The hash of its first entry.
    pub(crate) ledger: String,
    pub(crate) entry: u64,
    pub(crate) hash: String,
    pub(crate) opened: String,
    pub(crate) first_charge: Option<String>,
    pub(crate) last_charge: Option<String>,
}

impl AsOf {
    pub(crate) fn of(past: &Past) -> Self {
        Self {
            ledger: past.ledger.clone(),
            entry: past.head.number,
            hash: past.head.hash.clone(),
            opened: day(past.opened),
            first_charge: past.charges.first().map(|charge| day(charge.time)),
            last_charge: past.charges.last().map(|charge| day(charge.time)),
        }
    }

    /// When the first release was, or could have been.
    pub(crate) fn published(&self) -> &str {
        self.first_charge.as_ref().unwrap_or(&self.opened)
    }
}

/// The day of a moment, at UTC.
fn day(milliseconds: i64) -> String {
    ledger::utc(milliseconds).chars().take(10).collect()
}

/// ε and δ, or ρ, as decimals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Amount {
    pub(crate) epsilon: Option<String>,
    pub(crate) delta: Option<String>,
    pub(crate) rho: Option<String>,
}

impl Amount {
    pub(crate) fn of(promise: &Promise) -> Self {
        let mut amount = Self::default();
        match promise {
            Promise::Pure(epsilon) => amount.epsilon = Some(short(epsilon.as_rational())),
            Promise::Approximate(epsilon, delta) => {
                amount.epsilon = Some(short(epsilon.as_rational()));
                amount.delta = Some(short(delta.as_rational()));
            }
            Promise::Concentrated(rho) => amount.rho = Some(short(rho.as_rational())),
        }
        amount
    }

    pub(crate) fn in_words(&self) -> String {
        let parts = [("ε", &self.epsilon), ("δ", &self.delta), ("ρ", &self.rho)];
        let parts = parts
            .iter()
            .filter_map(|(name, value)| Some(format!("{name} = {}", value.as_ref()?)));
        parts.collect::<Vec<_>>().join(", ")
    }
}

fn short(value: &Rational) -> String {
    format_decimal(&decimal_at_least(value, DIGITS))
}

/// What is promised to whom, in all.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PromisePart {
    pub(crate) unit: PrivacyUnit,
    pub(crate) in_words: String,
    /// The most that all releases together may ever cost.
    pub(crate) limit: Amount,
    /// The part of δ that is set aside for groups whose names are private.
    pub(crate) reserved_delta: String,
    /// How many analysts have a share of their own; the limit is everybody's.
    pub(crate) shares: usize,
    pub(crate) variant: &'static str,
    pub(crate) risks: Vec<RiskLine>,
}

/// What the limit means for one unit.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RiskLine {
    /// The probability of something for somebody who is not in the data.
    pub(crate) without: String,
    /// At least, and at most, for somebody who is.
    pub(crate) at_least: String,
    pub(crate) at_most: String,
}

impl PromisePart {
    pub(crate) fn of(rules: &Rules) -> Self {
        let limit = rules.budget.limit();
        Self {
            unit: rules.budget.unit().clone(),
            in_words: rules.budget.to_string(),
            limit: Amount::of(limit),
            reserved_delta: rules.reserve.to_string(),
            shares: rules.shares.len(),
            variant: match limit {
                Promise::Pure(_) => "Pure DP",
                Promise::Approximate(..) => "Approximate DP",
                Promise::Concentrated(_) => "Zero-concentrated DP",
            },
            risks: risks(limit),
        }
    }
}

fn risks(limit: &Promise) -> Vec<RiskLine> {
    let (epsilon, delta) = match limit {
        Promise::Pure(epsilon) => (epsilon, Delta::ZERO),
        Promise::Approximate(epsilon, delta) => (epsilon, delta.clone()),
        Promise::Concentrated(_) => return Vec::new(),
    };
    let percent = |value: &Rational| format!("{} %", short(&(value * ratio(100, 1))));
    [ratio(1, 1000), ratio(1, 100), ratio(1, 10), ratio(1, 2)]
        .iter()
        .filter_map(|prior| {
            let risk = what_it_means_for_one_person(prior, epsilon, &delta).ok()?;
            Some(RiskLine {
                without: percent(prior),
                // Outward: rounding up would overstate it.
                at_least: format!(
                    "{} %",
                    format_decimal(&exact::decimal_at_most(&(&risk.at_least * ratio(100, 1)), DIGITS))
                ),
                at_most: percent(&risk.at_most),
            })
        })
        .collect()
}

/// What was spent, by every way of counting.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SpentPart {
    pub(crate) charges: usize,
    /// How often the rules were changed.
    pub(crate) rules_changed: u64,
    /// The number that is enforced; none if more was charged than the limit, under earlier rules.
    pub(crate) enforced: Option<Amount>,
    /// The δ that charges carried, of what is set aside.
    pub(crate) carried_delta: String,
    pub(crate) counted_by: &'static str,
    /// The δ at which the accountants were asked.
    pub(crate) at_delta: String,
    pub(crate) accountants: Vec<AccountantLine>,
    /// The δ beside which ρ and the Rényi divergences hold: that of charges which carry a δ and no ε.
    pub(crate) curves_beside_delta: String,
    /// The sum of ρ of zero-concentrated differential privacy, if there is one.
    pub(crate) rho: Option<String>,
    pub(crate) renyi: Vec<RenyiLine>,
    /// Certified: with this δ, this ε holds for all charges together.
    pub(crate) curve: Vec<CurveLine>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct AccountantLine {
    pub(crate) accountant: &'static str,
    /// None if it has nothing to say.
    pub(crate) epsilon: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct RenyiLine {
    pub(crate) order: String,
    pub(crate) divergence: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct CurveLine {
    pub(crate) delta: String,
    pub(crate) epsilon: String,
}

impl SpentPart {
    pub(crate) fn of(ledger: Ledger<'_>) -> Result<Self, Error> {
        let rules = ledger.rules();
        let charges = ledger.past().map_or(&[][..], |past| &past.charges);
        let events: Vec<&Event> = charges.iter().map(|charge| &charge.event).collect();
        let unit = rules.budget.unit();
        let used = used_after(rules, &events, &[events.len()])?.pop();
        let delta = match rules.budget.limit() {
            Promise::Approximate(_, delta) => delta.clone(),
            Promise::Pure(_) | Promise::Concentrated(_) => Delta::ZERO,
        };
        let all = composed(&events);
        let (smooth, beside) = without_deltas(&events);
        let accountants = Accountant::ALL.into_iter().map(|accountant| AccountantLine {
            accountant: accountant.name(),
            epsilon: accountant
                .epsilon(&all, unit, &delta)
                .ok()
                .map(|epsilon| short(epsilon.as_rational())),
        });
        Ok(Self {
            charges: charges.len(),
            rules_changed: ledger.past().map_or(0, |past| past.rules_changed),
            enforced: used
                .as_ref()
                .and_then(|used| used.promise.as_ref().map(Amount::of)),
            carried_delta: used.map_or_else(|| "0".to_owned(), |used| short(used.reserve.as_rational())),
            counted_by: match rules.budget.limit() {
                Promise::Pure(_) => "sums of ε, for questions chosen after seeing earlier answers",
                Promise::Approximate(..) => {
                    "a filter of Rényi divergences, for questions chosen after seeing earlier answers; the δ that charges carry is counted beside it"
                }
                Promise::Concentrated(_) => "sums of ρ, for questions chosen after seeing earlier answers",
            },
            at_delta: delta.to_string(),
            accountants: accountants.collect(),
            curves_beside_delta: short(&beside),
            rho: smooth.concentrated().ok().map(|rho| short(rho.as_rational())),
            renyi: renyi(&smooth, unit, events.is_empty()),
            curve: curve(&all, unit, events.is_empty()),
        })
    }
}

/// Everything but what may fail with a probability and is otherwise the same on neighbours, and the sum of
/// those probabilities.
///
/// Outside of an event of probability δ such a release has the same distribution on both databases, so that
/// everything together is δ-approximate zCDP (Bun and Steinke 2016, section 8) with the ρ of the rest, and
/// likewise for each Rényi divergence; the δ add up.
fn without_deltas(events: &[&Event]) -> (Event, Rational) {
    let mut stack: Vec<(&Event, u64)> = events.iter().rev().map(|event| (*event, 1)).collect();
    let (mut smooth, mut beside) = (Vec::new(), Rational::ZERO);
    while let Some((event, times)) = stack.pop() {
        match event {
            Event::Composed(events) => stack.extend(events.iter().rev().map(|event| (event, times))),
            Event::Repeated { event, times: inner } => stack.push((event, times.saturating_mul(*inner))),
            Event::Approximate { epsilon, delta } if *epsilon == Epsilon::ZERO => {
                beside += delta.as_rational() * Rational::from(times);
            }
            simple => smooth.push(Event::Repeated {
                event: Box::new(simple.clone()),
                times,
            }),
        }
    }
    (Event::Composed(smooth), beside)
}

/// Empty if a charge carries a δ together with an ε, so that there is no divergence.
fn renyi(all: &Event, unit: &PrivacyUnit, nothing: bool) -> Vec<RenyiLine> {
    let lines = ORDERS.iter().filter(|_| !nothing).map(|order| {
        let divergence = renyi_divergence(all, unit, *order).ok()?;
        Some(RenyiLine {
            order: order.to_string(),
            divergence: short(&exact::from_f64(divergence)?),
        })
    });
    lines.collect::<Option<_>>().unwrap_or_default()
}

fn curve(all: &Event, unit: &PrivacyUnit, nothing: bool) -> Vec<CurveLine> {
    let Some(curve) = (!nothing).then(|| Curve::of(all, unit).ok()).flatten() else {
        return Vec::new();
    };
    let lines = DELTAS.iter().filter_map(|delta| {
        let delta = Delta::parse(delta).ok()?;
        let epsilon: Epsilon = curve.epsilon(&delta).ok()?.upper;
        Some(CurveLine {
            delta: delta.to_string(),
            epsilon: short(epsilon.as_rational()),
        })
    });
    lines.collect()
}

/// How often a mechanism ran, and how strong its noise was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Mechanism {
    pub(crate) mechanism: &'static str,
    pub(crate) times: u64,
    /// What its parameter is.
    pub(crate) parameter: &'static str,
    pub(crate) smallest: String,
    pub(crate) largest: String,
}

impl Mechanism {
    pub(crate) fn in_words(&self) -> String {
        let range = match self.smallest == self.largest {
            true => self.smallest.clone(),
            false => format!("{} to {}", self.smallest, self.largest),
        };
        format!(
            "{} × {}, {} = {range}",
            self.times, self.mechanism, self.parameter
        )
    }
}

/// One charge.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Release {
    pub(crate) entry: u64,
    pub(crate) day: String,
    pub(crate) charged: Amount,
    pub(crate) mechanisms: Vec<Mechanism>,
    /// The planned release that it paid for, by its name in the catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) planned: Option<String>,
}

/// Everything that ran, by mechanism.
pub(crate) fn mechanisms(ledger: Ledger<'_>) -> Vec<Mechanism> {
    let charges = ledger.past().map_or(&[][..], |past| &past.charges);
    summed(charges.iter().map(|charge| &charge.event))
}

/// Every charge, the oldest first. It does not tell who asked, or in which words: words may quote what is not
/// public.
pub(crate) fn releases(catalog: &Catalog, ledger: Ledger<'_>) -> Vec<Release> {
    let charges = ledger.past().map_or(&[][..], |past| &past.charges);
    let release = |charge: &ledger::Entry| Release {
        entry: charge.number,
        day: day(charge.time),
        charged: Amount::of(charge.guarantee.promise()),
        mechanisms: summed(std::iter::once(&charge.event)),
        planned: planned(catalog, &charge.purpose),
    };
    charges.iter().map(release).collect()
}

/// The planned release that a charge was for. No question reads so, and what is told is a name of the catalog.
fn planned(catalog: &Catalog, purpose: &str) -> Option<String> {
    let (name, table) = purpose.strip_prefix("release ")?.split_once(" of ")?;
    let planned = catalog.releases.get(name)?;
    (planned.table == table).then(|| planned.name.clone())
}

fn summed<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<Mechanism> {
    let mut stack: Vec<(&Event, u64)> = events.map(|event| (event, 1)).collect();
    let mut found: BTreeMap<(&'static str, &'static str), (u64, Rational, Rational)> = BTreeMap::new();
    while let Some((event, times)) = stack.pop() {
        let (name, parameter, value) = match event {
            Event::Composed(events) => {
                stack.extend(events.iter().map(|event| (event, times)));
                continue;
            }
            Event::Repeated { event, times: inner } => {
                stack.push((event, times.saturating_mul(*inner)));
                continue;
            }
            simple => kind(simple),
        };
        let sums = found
            .entry((name, parameter))
            .or_insert_with(|| (0, value.clone(), value.clone()));
        sums.0 = sums.0.saturating_add(times);
        if value < sums.1 {
            sums.1 = value.clone();
        }
        if value > sums.2 {
            sums.2 = value;
        }
    }
    let line = |((mechanism, parameter), (times, smallest, largest))| Mechanism {
        mechanism,
        times,
        parameter,
        smallest: short(&smallest),
        largest: short(&largest),
    };
    found.into_iter().map(line).collect()
}

/// The name of a simple event, of its parameter, and the parameter. How large a sampled part of how many is
/// not told: it may be the number of people.
fn kind(event: &Event) -> (&'static str, &'static str, Rational) {
    match event {
        Event::Laplace { ratio, .. } => (
            "Laplace noise",
            "sensitivity over scale",
            ratio.as_rational().clone(),
        ),
        Event::Gaussian {
            multiplier_squared, ..
        } => (
            "Gaussian noise",
            "variance over squared sensitivity",
            multiplier_squared.as_rational().clone(),
        ),
        Event::SampledGaussian {
            multiplier_squared, ..
        } => (
            "Gaussian noise on a sampled part, a step of training",
            "variance over squared sensitivity",
            multiplier_squared.as_rational().clone(),
        ),
        Event::RandomizedResponse { epsilon, .. } => {
            ("randomized response", "ε", epsilon.as_rational().clone())
        }
        Event::Exponential { epsilon } => ("exponential mechanism", "ε", epsilon.as_rational().clone()),
        Event::Pure { epsilon } => ("a mechanism that is ε-DP", "ε", epsilon.as_rational().clone()),
        Event::Approximate { delta, .. } => (
            "a mechanism that is (ε, δ)-DP, such as groups above a noisy threshold",
            "δ",
            delta.as_rational().clone(),
        ),
        Event::Concentrated { rho } => ("a mechanism that is ρ-zCDP", "ρ", rho.as_rational().clone()),
        _ => ("another mechanism", "ε", Rational::ZERO),
    }
}
