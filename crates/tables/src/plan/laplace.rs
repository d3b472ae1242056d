//! Whole tables with Laplace noise, where a pure promise is wanted or is cheaper.

use super::Found;
use super::search::Goal;
use crate::scheme::{Kind, Residual, Scheme, Set};
use crate::ways::{Step, Ways};
use crate::{Domain, Error, Objective, Shape};
use accounting::{Epsilon, Neighbors};
use exact::{Rational, from_f64, to_f64_nearest};
use mechanism::{PlannedAttribute, PlannedPart, PlannedSet, PlannedTables};
use std::collections::BTreeMap;

/// The better of two plans: all wanted tables, or only those that do not follow from others.
pub(super) fn plan(goal: &Goal<'_>, epsilon: &Epsilon) -> Result<Found, Error> {
    let mut levels = vec![Vec::new(); goal.domain.attributes().len()];
    for axis in goal
        .workload
        .wanted()
        .iter()
        .flat_map(|wanted| wanted.shape.axes())
    {
        levels[usize::from(axis.attribute)].push(usize::from(axis.level));
    }
    let ways: Vec<Ways> = goal
        .domain
        .attributes()
        .iter()
        .zip(&levels)
        .map(|(attribute, levels)| Ways::of_levels(attribute, levels))
        .collect();
    let scheme = Scheme {
        domain: goal.domain.clone(),
        ways,
        sets: Vec::new(),
        kind: Kind::Laplace,
    };
    // What a table weighs: its cells, or the table alone where the worst counts.
    let mut weights: BTreeMap<Residual, f64> = BTreeMap::new();
    for wanted in goal.workload.wanted() {
        let residual = whole(&scheme, &wanted.shape)?;
        let weight = match goal.workload.objective() {
            Objective::Sum => wanted.weight * wanted.shape.cells(goal.domain) as f64,
            Objective::Worst => wanted.weight,
        };
        *weights.entry(residual).or_default() += weight;
    }
    let follows =
        |one: &Residual, other: &Residual| one != other && one.iter().all(|part| other.contains(part));
    let apart: BTreeMap<Residual, f64> = weights
        .iter()
        .filter(|(residual, _)| !weights.keys().any(|other| follows(residual, other)))
        .map(|(residual, weight)| (residual.clone(), *weight))
        .collect();
    let all = build(goal, scheme.clone(), &weights, epsilon)?;
    let fewer = build(goal, scheme, &apart, epsilon)?;
    super::better(goal.workload, Some(all), Some(fewer))
}

/// The table of a shape's attributes at the steps from which it is read.
fn whole(scheme: &Scheme, shape: &Shape) -> Result<Residual, Error> {
    let readings = scheme.readings(shape)?;
    let steps: Vec<usize> = readings.iter().map(|reading| reading.reach).collect();
    Ok(crate::scheme::residual_of(shape, &steps))
}

fn build(
    goal: &Goal<'_>,
    mut scheme: Scheme,
    weights: &BTreeMap<Residual, f64>,
    epsilon: &Epsilon,
) -> Result<Found, Error> {
    // Σ weight·2b² is least for Σ moved/b = ε where b is proportional to weight^(−1/3).
    let roots: Vec<f64> = weights.values().map(|weight| weight.cbrt()).collect();
    let total: f64 = roots.iter().sum();
    let sides = match goal.neighbors {
        Neighbors::AddRemove => 1.0,
        Neighbors::ChangeOne => 2.0,
    };
    let moved = goal.rows as f64 * sides;
    let epsilon = exact::to_f64_down(epsilon.as_rational());
    let mut sets = Vec::new();
    for (residual, root) in weights.keys().zip(&roots) {
        // One table alone gets the smallest scale that keeps ε, to 30 digits in base two; many pay a hair for these floats.
        let scale = moved * total / (epsilon * root) * (1.0 + 1e-9);
        let (mantissa, exponent) = scale_above(scale)?;
        let set = PlannedSet {
            parts: residual
                .iter()
                .map(|(attribute, step)| (usize::from(*attribute), usize::from(*step) - 1))
                .collect(),
            mantissa,
            exponent,
            shift: 0,
        };
        scheme.sets.push(Set {
            residual: residual.clone(),
            variance: variance_of(to_f64_nearest(&set.variance())),
            shift: 0,
        });
        sets.push(set);
    }
    let attributes = attributes(goal.domain, &scheme);
    let mechanism = PlannedTables::laplace(attributes, sets, goal.rows, goal.neighbors)?;
    Ok((scheme, mechanism))
}

/// Mantissa and exponent of a number just above.
fn scale_above(scale: f64) -> Result<(u64, i32), Error> {
    let refused = Error::BadPromise {
        what: "this promise needs more noise, or allows less, than a sampler has",
        hint: "choose an ε that is neither so small nor so large",
    };
    let exact: Rational = from_f64(scale)
        .filter(|scale| *scale > Rational::ZERO)
        .ok_or(refused.clone())?;
    let exponent = (exact::floor_log2(&exact) - 40).div_euclid(2);
    let mantissa = (exact / exact::power_of_two(2 * exponent)).ceil();
    let mantissa = u64::try_from(mantissa).map_err(|_| refused)?;
    Ok((mantissa, exponent))
}

/// Of discrete Laplace noise: 2a/(1 − a)² with a = e^(−1/b), which is 1/(2·sinh²(1/2b)).
fn variance_of(scale: f64) -> f64 {
    let sinh = (0.5 / scale).sinh();
    0.5 / (sinh * sinh)
}

fn attributes(domain: &Domain, scheme: &Scheme) -> Vec<PlannedAttribute> {
    let parts = |(attribute, ways): (&crate::Attribute, &Ways)| {
        let part = |step: &Step| match step {
            Step::Level { level, groups } => PlannedPart::Cells {
                cells: attribute.codes_at(*level),
                count: groups.len() as u32,
            },
            Step::Strategy(_) => unreachable!("levels only"),
        };
        ways.steps.iter().map(part).collect()
    };
    domain.attributes().iter().zip(&scheme.ways).map(parts).collect()
}
