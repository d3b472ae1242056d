//! The best residual plan: which residuals a workload needs, what each costs and is worth, and how much noise each gets.

use super::Found;
use super::optimum::{Row, least_sum, least_worst};
use crate::scheme::{Kind, Residual, Scheme, Set, all_below, residual_of};
use crate::strategy::{MOST_VALUES, Strategy};
use crate::ways::{Step, Ways};
use crate::{Axis, Domain, Error, Form, Objective, Shape, Workload};
use accounting::{Neighbors, Promise};
use exact::{Rational, to_f64_down};
use mechanism::{PlannedAttribute, PlannedSet, PlannedTables};
use std::collections::{BTreeMap, HashMap};

/// What is wanted, and of whose data.
pub(super) struct Goal<'a> {
    pub(super) domain: &'a Domain,
    pub(super) workload: &'a Workload,
    pub(super) rows: u64,
    pub(super) neighbors: Neighbors,
}

/// Variances keep twelve to thirteen bits, rounded up: a loss of 2^-12 on average, and few samplers to make.
const MANTISSA: u32 = 11;

/// How much weight the total gets when a strategy for ranges is searched for, in parts of the number of values. Alone, an attribute needs none; in tables of
/// several attributes its total stands for all tables without it. The best of these is taken.
const WEIGHTS_OF_TOTAL: [f64; 3] = [0.0, 0.125, 0.5];

/// Residuals with Gaussian noise.
pub(super) fn gaussian(
    goal: &Goal<'_>,
    promise: Promise,
    multiplier_squared: &Rational,
) -> Result<Found, Error> {
    let rows_squared = (goal.rows as f64) * (goal.rows as f64);
    // A hair less than allowed: for what the proof adds, and for these floats.
    let budget = (1.0 - 1e-11) / (to_f64_down(multiplier_squared) * rows_squared);
    let by_ranges = |wanted: &crate::Wanted| wanted.shape.axes().iter().any(|axis| axis.form != Form::Cells);
    let choices = if goal.workload.wanted().iter().any(by_ranges) {
        &WEIGHTS_OF_TOTAL[..]
    } else {
        &WEIGHTS_OF_TOTAL[..1]
    };
    let mut best: Option<Draft> = None;
    for choice in choices {
        let draft = draft(goal, budget, *choice)?;
        if best.as_ref().is_none_or(|best| draft.error < best.error) {
            best = Some(draft);
        }
    }
    let Draft {
        mut scheme,
        attributes,
        residuals,
        variances,
        ..
    } = best.expect("at least one choice");
    let mut sets = Vec::with_capacity(residuals.len());
    for (residual, variance) in residuals.into_iter().zip(&variances) {
        let largest = largest_group(&scheme.ways, &residual);
        let set = rounded(&residual, *variance, largest)?;
        scheme.sets.push(Set {
            residual,
            // A short number times a power of four, and what rounding to steps adds.
            variance: set.mantissa as f64 * f64::from(2 * set.exponent).exp2()
                + (-2.0 * f64::from(set.shift)).exp2() / 12.0,
            shift: set.shift,
        });
        sets.push(set);
    }
    let mechanism = PlannedTables::gaussian(promise, attributes, sets, goal.rows, goal.neighbors)?;
    Ok((scheme, mechanism))
}

/// A plan in real numbers.
struct Draft {
    scheme: Scheme,
    attributes: Vec<PlannedAttribute>,
    residuals: Vec<Residual>,
    variances: Vec<f64>,
    /// The objective.
    error: f64,
}

fn draft(goal: &Goal<'_>, budget: f64, weight_of_total: f64) -> Result<Draft, Error> {
    let ways = ways(goal, weight_of_total)?;
    let attributes: Vec<PlannedAttribute> = ways
        .iter()
        .zip(goal.domain.attributes())
        .map(|(ways, attribute)| ways.parts(attribute))
        .collect();
    let scheme = Scheme {
        domain: goal.domain.clone(),
        ways,
        sets: Vec::new(),
        kind: Kind::Gaussian,
    };
    let (residuals, rows) = residuals(goal, &scheme)?;
    let costs = losses(&attributes, &residuals, goal.neighbors);
    let variances = match goal.workload.objective() {
        Objective::Sum => least_sum(&sums(&rows, costs.len()), &costs, budget),
        Objective::Worst => least_worst(&rows, &costs, budget),
    };
    let of = |row: &Row| -> f64 { row.iter().map(|(place, weight)| weight * variances[*place]).sum() };
    let error = match goal.workload.objective() {
        Objective::Sum => rows.iter().map(of).sum(),
        Objective::Worst => rows.iter().map(of).fold(0.0, f64::max),
    };
    Ok(Draft {
        scheme,
        attributes,
        residuals,
        variances,
        error,
    })
}

/// How each attribute is measured: by the levels that tables use, or by a strategy where one uses ranges.
fn ways(goal: &Goal<'_>, weight_of_total: f64) -> Result<Vec<Ways>, Error> {
    let count = goal.domain.attributes().len();
    let mut levels = vec![Vec::new(); count];
    let mut forms: Vec<BTreeMap<Form, f64>> = vec![BTreeMap::new(); count];
    for wanted in goal.workload.wanted() {
        for axis in wanted.shape.axes() {
            let place = usize::from(axis.attribute);
            levels[place].push(usize::from(axis.level));
            *forms[place].entry(axis.form).or_default() += wanted.weight;
        }
    }
    let by_strategy = |forms: &BTreeMap<Form, f64>| forms.keys().any(|form| *form != Form::Cells);
    // Integers of three attributes are multiplied, and have to stay well below 2^63 with the counts.
    let most = goal.workload.wanted().iter().map(|wanted| {
        let axes = wanted.shape.axes().iter();
        axes.filter(|axis| by_strategy(&forms[usize::from(axis.attribute)]))
            .count()
    });
    let bits = (30 / most.max().unwrap_or(0).max(1) as u32).clamp(6, 11);
    let mut known: Vec<(u32, BTreeMap<Form, f64>, Ways)> = Vec::new();
    let mut all = Vec::with_capacity(count);
    for ((attribute, levels), forms) in goal.domain.attributes().iter().zip(&levels).zip(&forms) {
        if !by_strategy(forms) || attribute.size() < 2 {
            all.push(Ways::of_levels(attribute, levels));
            continue;
        }
        if attribute.size() as usize > MOST_VALUES {
            return Err(Error::TooManyForRanges {
                name: attribute.name().to_owned(),
                values: attribute.size(),
                most: MOST_VALUES,
            });
        }
        let same = known
            .iter()
            .find(|(size, known, _)| *size == attribute.size() && known == forms);
        let ways = match same {
            Some((_, _, ways)) => ways.clone(),
            None => {
                let values = attribute.size() as usize;
                let mut gram = gram(values, forms);
                let total = weight_of_total * values as f64 * forms.values().sum::<f64>();
                gram.iter_mut().for_each(|entry| *entry += total);
                let strategy = Strategy::for_gram(&gram, values, bits);
                Ways {
                    steps: vec![Step::Strategy(strategy)],
                }
            }
        };
        known.push((attribute.size(), forms.clone(), ways.clone()));
        all.push(ways);
    }
    Ok(all)
}

/// WᵀW of all that is asked about an ordered attribute: for each pair of values, how many numbers have both.
fn gram(values: usize, forms: &BTreeMap<Form, f64>) -> Vec<f64> {
    let mut gram = vec![0.0; values * values];
    for one in 0..values {
        for other in 0..values {
            let (first, last) = (one.min(other), one.max(other));
            gram[one * values + other] = forms
                .iter()
                .map(|(form, weight)| {
                    let both = match form {
                        Form::Cells => usize::from(first == last),
                        Form::Prefixes => values - last,
                        Form::Ranges => (first + 1) * (values - last),
                    };
                    weight * both as f64
                })
                .sum();
        }
    }
    gram
}

/// What an axis of tables takes of each step: the sum over its numbers, and the largest.
struct Taken {
    reach: usize,
    sums: Vec<f64>,
    largest: Vec<f64>,
}

/// The residuals that the workload needs, sorted, and what each wanted table weighs on them.
fn residuals(goal: &Goal<'_>, scheme: &Scheme) -> Result<(Vec<Residual>, Vec<Row>), Error> {
    let mut taken: HashMap<Axis, Taken> = HashMap::new();
    let mut found: HashMap<Residual, usize> = HashMap::new();
    let mut rows: Vec<Row> = Vec::with_capacity(goal.workload.wanted().len());
    for wanted in goal.workload.wanted() {
        for axis in wanted.shape.axes() {
            if !taken.contains_key(axis) {
                taken.insert(*axis, take(scheme, axis)?);
            }
        }
        let axes: Vec<&Taken> = wanted.shape.axes().iter().map(|axis| &taken[axis]).collect();
        let reaches: Vec<usize> = axes.iter().map(|taken| taken.reach).collect();
        let mut row = Vec::new();
        for steps in all_below(&reaches) {
            let factor = |(taken, step): (&&Taken, &usize)| match goal.workload.objective() {
                Objective::Sum => taken.sums[*step],
                Objective::Worst => taken.largest[*step],
            };
            let weight = wanted.weight * axes.iter().zip(&steps).map(factor).product::<f64>();
            let next = found.len();
            let place = *found.entry(residual_of(&wanted.shape, &steps)).or_insert(next);
            row.push((place, weight));
        }
        rows.push(row);
    }
    let mut residuals: Vec<(Residual, usize)> = found.into_iter().collect();
    residuals.sort_unstable();
    let mut places = vec![0; residuals.len()];
    for (place, (_, found)) in residuals.iter().enumerate() {
        places[*found] = place;
    }
    for (place, _) in rows.iter_mut().flatten() {
        *place = places[*place];
    }
    Ok((
        residuals.into_iter().map(|(residual, _)| residual).collect(),
        rows,
    ))
}

fn take(scheme: &Scheme, axis: &Axis) -> Result<Taken, Error> {
    let shape = Shape::new(vec![*axis])?;
    let reading = scheme.readings(&shape)?.remove(0);
    let factors = reading.factors();
    Ok(Taken {
        reach: reading.reach,
        sums: factors.iter().map(|factors| factors.iter().sum()).collect(),
        largest: factors
            .iter()
            .map(|factors| factors.iter().copied().fold(0.0, f64::max))
            .collect(),
    })
}

/// What all tables weigh on each residual together.
fn sums(rows: &[Row], count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    for (place, weight) in rows.iter().flatten() {
        sums[*place] += weight;
    }
    sums
}

/// How far one row moves each residual, squared.
fn losses(attributes: &[PlannedAttribute], residuals: &[Residual], neighbors: Neighbors) -> Vec<f64> {
    let bounds: Vec<Vec<(f64, f64)>> = attributes
        .iter()
        .map(|attribute| attribute.iter().map(mechanism::PlannedPart::moved).collect())
        .collect();
    residuals
        .iter()
        .map(|residual| {
            let parts = residual
                .iter()
                .map(|(attribute, step)| bounds[usize::from(*attribute)][usize::from(*step) - 1]);
            let one: f64 = parts.clone().map(|(most, _)| most).product();
            match neighbors {
                Neighbors::AddRemove => one,
                Neighbors::ChangeOne => {
                    let opposite = parts.map(|(most, opposite)| opposite / most).fold(-1.0, f64::max);
                    (2.0 * one * (1.0 + opposite)).max(one)
                }
            }
        })
        .collect()
}

fn largest_group(ways: &[Ways], residual: &Residual) -> f64 {
    residual
        .iter()
        .map(
            |(attribute, step)| match &ways[usize::from(*attribute)].steps[usize::from(*step) - 1] {
                Step::Level { groups, .. } => {
                    let mut sizes = BTreeMap::new();
                    groups
                        .iter()
                        .for_each(|group| *sizes.entry(group).or_insert(0u32) += 1);
                    f64::from(sizes.values().copied().max().unwrap_or(1))
                }
                Step::Strategy(_) => 1.0,
            },
        )
        .fold(1.0, f64::max)
}

/// The next variance above that is a short number times a power of four, on a grid that is fine enough for it.
fn rounded(residual: &Residual, variance: f64, largest: f64) -> Result<PlannedSet, Error> {
    let exponent = ((variance.log2() - f64::from(MANTISSA)) / 2.0).floor();
    if !exponent.is_finite() || exponent.abs() > 60.0 {
        return Err(Error::BadPromise {
            what: "this promise needs more noise, or allows less, than a sampler has",
            hint: "choose an ε or ρ that is neither so small nor so large",
        });
    }
    let mantissa = (variance / (2.0 * exponent).exp2()).ceil();
    // s² = mantissa·4^(exponent + shift) is at least 2^11, so that rounding adds less than 2^-14 of it, and at least 6 for each cell of a group.
    let finer = ((6.0 * largest).log2() - f64::from(MANTISSA)).max(0.0) / 2.0;
    let shift = (finer.ceil() - exponent).max(0.0);
    Ok(PlannedSet {
        parts: residual
            .iter()
            .map(|(attribute, step)| (usize::from(*attribute), usize::from(*step) - 1))
            .collect(),
        mantissa: mantissa as u64,
        exponent: exponent as i32,
        shift: shift as u32,
    })
}

/// What each set costs, up to a common factor.
pub(super) fn costs(mechanism: &PlannedTables) -> Vec<f64> {
    let one = |set: &PlannedSet| {
        let variance = to_f64_down(&set.variance());
        if !mechanism.is_gaussian() {
            return 1.0 / variance;
        }
        let moved = set
            .parts
            .iter()
            .map(|(attribute, part)| mechanism.attributes()[*attribute][*part].moved());
        let most: f64 = moved.clone().map(|(most, _)| most).product();
        match mechanism.neighbors() {
            Neighbors::AddRemove => most / variance,
            Neighbors::ChangeOne => {
                let opposite = moved.map(|(most, opposite)| opposite / most).fold(-1.0, f64::max);
                (2.0 * most * (1.0 + opposite)).max(most) / variance
            }
        }
    };
    mechanism.sets().iter().map(one).collect()
}
