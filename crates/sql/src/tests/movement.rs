//! How far the exact statistics of a query move between two databases, against what the price says they may.

use crate::Error;
use crate::catalog::Catalog;
use crate::mutants;
use crate::price::question::{QueryRequest, Question};
use crate::run::engine::{bounded_plans_in, form};
use crate::run::engines::Engines;
use crate::run::exact::{measure, prepare};
use crate::run::measured::Measured;
use crate::run::publics::Publics;
use crate::understand::aggregation::{Aggregation, Measure, TREE_BRANCHES, TREE_LEAVES};
use crate::understand::planner::Planner;
use bound::{Form, Secret};
use datafusion::prelude::SessionConfig;
use exact::{Integer, Rational};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A database on disk and how the engine reads it.
pub(super) struct Database<'a> {
    pub(super) directory: &'a Path,
    pub(super) threads: usize,
    pub(super) batch: usize,
}

/// Numbers of one statistic, by group and, for a tree, by node.
pub(super) type Vector = BTreeMap<(Vec<u8>, usize), i64>;

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// A question about a catalog's text.
pub(super) fn question(sql: &str, catalog: &Catalog) -> Result<Question, Error> {
    let ask = QueryRequest {
        epsilon: Some(accounting::Epsilon::parse("1").unwrap()),
        ..QueryRequest::new(sql, "tester")
    };
    let planner = Planner::new(catalog)?;
    runtime().block_on(Question::new(&ask, catalog, &planner))
}

/// The exact statistics of every aggregation of a question, under one key.
fn exact(
    question: &Question,
    catalog: &Catalog,
    database: &Database<'_>,
    relational: bool,
) -> Vec<Vec<Vector>> {
    let config = SessionConfig::new()
        .with_target_partitions(database.threads)
        .with_batch_size(database.batch);
    let engines = Engines::new(config);
    let secret = Secret::new("0123456789abcdef").unwrap();
    let publics = runtime()
        .block_on(Publics::read(
            &question.split,
            &engines.public().unwrap(),
            catalog,
        ))
        .unwrap();
    let aggregations = &question.split.aggregations;
    let asked = bounded_plans_in(aggregations, &question.cuts, &secret, |rows| match form(rows) {
        Form::Plain => Form::Plain,
        _ if relational => Form::Relational,
        other => other,
    })
    .unwrap();
    // What a database computes is looked at before it is lowered to these operators: there are no rules for all of them.
    let run = async {
        let claims = question.claims(catalog).unwrap();
        let prepared = prepare(asked, &claims, &publics, &engines, catalog)
            .await
            .unwrap();
        measure(prepared, aggregations, &engines).await.unwrap()
    };
    let measured = match relational {
        true => mutants::unverified(|| runtime().block_on(run)),
        false => runtime().block_on(run),
    };
    let pairs = aggregations.iter().zip(&measured);
    pairs
        .map(|(aggregation, measured)| vectors(aggregation, measured))
        .collect()
}

pub(super) fn vectors(aggregation: &Aggregation, measured: &Measured) -> Vec<Vector> {
    let names: BTreeMap<usize, &Vec<u8>> = measured
        .groups
        .iter()
        .map(|(name, group)| (*group, name))
        .collect();
    let statistics = aggregation.statistics.iter().enumerate();
    statistics
        .map(|(place, statistic)| {
            let mut vector = Vector::new();
            if matches!(statistic.measure, Measure::Tree { .. }) {
                for ((group, bin), rows) in &measured.bins[place] {
                    let mut width = TREE_LEAVES / TREE_BRANCHES;
                    let mut level = 0;
                    while width >= 1 {
                        let node = (level << 16) + (bin / width) as usize;
                        *vector.entry((names[group].clone(), node)).or_default() += rows;
                        width /= TREE_BRANCHES;
                        level += 1;
                    }
                }
            } else if matches!(statistic.measure, Measure::Histogram { .. }) {
                for ((group, bin), rows) in &measured.bins[place] {
                    *vector.entry((names[group].clone(), *bin as usize)).or_default() += rows;
                }
            } else {
                for (group, number) in measured.numbers[place].iter().enumerate() {
                    vector.insert((names[&group].clone(), 0), *number);
                }
            }
            vector
        })
        .collect()
}

/// Checks that between two neighbouring databases every statistic moves within its sensitivity, and that how a database is read changes nothing.
pub(super) fn check(sql: &str, catalogs: [&Catalog; 2], databases: [&Database<'_>; 2]) -> Result<(), String> {
    let question = question(sql, catalogs[0]).map_err(|error| format!("{sql}: {error}"))?;
    let here = exact(&question, catalogs[0], databases[0], false);
    let there = exact(&question, catalogs[1], databases[1], false);
    let again = Database {
        directory: databases[0].directory,
        threads: 5 - databases[0].threads.min(4),
        batch: 3,
    };
    if exact(&question, catalogs[0], &again, true) != here {
        return Err(format!("{sql}: another way of reading gives other numbers"));
    }
    let parts = question.prices.iter().zip(here.iter().zip(&there));
    for (part, (price, (here, there))) in parts.enumerate() {
        for (place, sensitivity) in price.sensitivities.iter().enumerate() {
            let keys: BTreeSet<_> = here[place].keys().chain(there[place].keys()).collect();
            let moves: Vec<u64> = keys
                .iter()
                .map(|key| {
                    let at = |vector: &Vector| vector.get(*key).copied().unwrap_or(0);
                    at(&here[place]).abs_diff(at(&there[place]))
                })
                .filter(|moved| *moved > 0)
                .collect();
            let whole = |value: u128| Rational::from(Integer::from(value));
            let l1 = whole(moves.iter().map(|moved| u128::from(*moved)).sum());
            let l2 = whole(moves.iter().map(|moved| u128::from(*moved).pow(2)).sum());
            let most = whole(moves.iter().map(|moved| u128::from(*moved)).max().unwrap_or(0));
            let name = &question.split.aggregations[part].statistics[place].name;
            if moves.len() as u64 > sensitivity.coordinates() {
                return Err(format!(
                    "{sql}: {name} moves in {} places of {}",
                    moves.len(),
                    sensitivity.coordinates()
                ));
            }
            if l1 > *sensitivity.l1() || l2 > *sensitivity.l2_squared() || most > *sensitivity.l_infinity() {
                return Err(format!("{sql}: {name} moves further than its sensitivity"));
            }
        }
    }
    Ok(())
}
