//! The seam between questions and engines: exact integers for a bounded plan.
//!
//! An engine is asked twice. Before the charge it prepares: it reads schemas and no private row, and refuses every operator that is not on its closed list. After the charge it gives, for
//! each plan, the rows of that plan: the names of groups, and integers of which one unit's part is bounded. Noise, ledger and release know nothing of engines.
//!
//! # Privacy
//! Claim: which engine answers changes no guarantee. Each gives the same integers, to the last bit, on every database.
//! Proof: [`local`](super::local) runs the plan itself. [`pushdown`](super::pushdown) runs a statement that is written from the same plan, operator by operator and function by function,
//! each from a list with its argument beside it, and is not used for a plan with anything else. [`on_workers`](super::on_workers) spreads the plan over machines. Which of them is used depends on the question, the catalog and the schema of the database.
//! Audited by: `tests::hunter`, which holds them against each other on hostile data and on parts of it.

use crate::Error;
use crate::catalog::{Catalog, EngineKind};
use crate::run::engine::{BoundedPlans, Measured, names, number};
use crate::run::engines::Engines;
use crate::run::local::Step;
use crate::run::on_workers::{OnWorkers, on_workers};
use crate::run::publics::Publics;
use crate::run::pushdown::{Pushed, pushed};
use crate::run::scans::over_data;
use crate::understand::aggregation::{Measure, Statistic};
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::logical_expr::LogicalPlan;
use std::collections::{BTreeMap, HashMap};

/// An engine with its work: the plan of the totals, and those of statistics that look at single rows, in this order.
pub(crate) enum ExactEngine {
    /// This program.
    Local(Vec<Step>),
    /// A PostgreSQL database.
    Postgres(Pushed),
    /// Several machines.
    Workers(OnWorkers),
}

impl ExactEngine {
    /// Has an engine prepare plans: the one that the catalog names, where it can, and else this program.
    async fn prepare(
        plans: &BoundedPlans,
        publics: &Publics,
        engines: &Engines,
        catalog: &Catalog,
    ) -> Result<Self, Error> {
        if catalog.engine.kind == EngineKind::Postgres
            && let Ok(pushed) = pushed(plans, publics, catalog).await?
        {
            return Ok(Self::Postgres(pushed));
        }
        if catalog.engine.kind == EngineKind::Cluster
            && let Ok(on_workers) = on_workers(plans, publics, engines, catalog).await?
        {
            return Ok(Self::Workers(on_workers.with_workers().await?));
        }
        let session = engines.first()?;
        let over = async |plan: &LogicalPlan| over_data(&publics.put_into(plan)?, &session, catalog).await;
        let unsorted = match &plans.unsorted {
            Some(plan) => Some(over(plan).await?),
            None => None,
        };
        let mut steps = vec![Step::new(over(&plans.totals.0).await?, unsorted, &session).await?];
        for (plan, _) in &plans.single {
            steps.push(Step::new(over(plan).await?, None, &session).await?);
        }
        Ok(Self::Local(steps))
    }

    /// The rows of each plan.
    async fn collect(self, engines: &Engines) -> Result<Vec<Vec<RecordBatch>>, Error> {
        match self {
            Self::Local(steps) => {
                let mut all = Vec::new();
                for step in steps {
                    all.push(step.run(engines).await?);
                }
                Ok(all)
            }
            Self::Postgres(pushed) => pushed.run().await,
            Self::Workers(on_workers) => on_workers.run(engines).await,
        }
    }
}

/// Plans over data, ready to run: nothing about them can be refused any more.
pub(crate) struct Prepared {
    pub(crate) engine: ExactEngine,
    places: Vec<usize>,
    single: Vec<usize>,
    keys: usize,
}

#[cfg(test)]
impl Prepared {
    /// How many rows each plan of this program's engine handles at once.
    pub(crate) fn batch_sizes(&self) -> Vec<usize> {
        match &self.engine {
            ExactEngine::Local(steps) => steps.iter().map(Step::batch_size).collect(),
            ExactEngine::Postgres(_) | ExactEngine::Workers(_) => Vec::new(),
        }
    }
}

impl BoundedPlans {
    /// Binds the plans to data and has an engine plan their execution. Reads schemas, and no rows of private tables.
    ///
    /// # Errors
    /// When a table cannot be opened, or the engine's plan has an operator that is not on the closed list: before anything is charged.
    pub(crate) async fn prepare(
        self,
        publics: &Publics,
        engines: &Engines,
        catalog: &Catalog,
    ) -> Result<Prepared, Error> {
        Ok(Prepared {
            engine: ExactEngine::prepare(&self, publics, engines, catalog).await?,
            places: self.totals.1,
            single: self.single.into_iter().map(|(_, place)| place).collect(),
            keys: self.keys,
        })
    }
}

/// Who will compute the exact numbers of these plans, for people; nothing where the catalog names no engine but this program. Reads no rows.
///
/// # Errors
/// When the database cannot be reached.
pub(crate) async fn who_computes(
    plans: &BoundedPlans,
    publics: &Publics,
    engines: &Engines,
    catalog: &Catalog,
) -> Result<Option<String>, Error> {
    Ok(match catalog.engine.kind {
        EngineKind::Local => None,
        EngineKind::Postgres => Some(match pushed(plans, publics, catalog).await? {
            Ok(_) => "PostgreSQL, inside the database".to_owned(),
            Err(why) => format!("this program, which fetches the rows: {}", why.0),
        }),
        EngineKind::Cluster => Some(match on_workers(plans, publics, engines, catalog).await? {
            Ok(_) => "the workers of the cluster".to_owned(),
            Err(why) => format!("this program, which reads all rows: {}", why.0),
        }),
    })
}

/// Runs the plans.
pub(crate) async fn measure(
    prepared: Prepared,
    statistics: &[Statistic],
    engines: &Engines,
) -> Result<Measured, Error> {
    let mut measured = Measured {
        groups: HashMap::new(),
        numbers: vec![Vec::new(); statistics.len()],
        bins: vec![BTreeMap::new(); statistics.len()],
    };
    let keys = prepared.keys;
    let mut results = prepared.engine.collect(engines).await?.into_iter();
    for batch in results.next().unwrap_or_default() {
        for (row, name) in names(&batch, keys)?.into_iter().enumerate() {
            let group = measured.groups.len();
            measured.groups.insert(name, group);
            for (column, place) in prepared.places.iter().enumerate() {
                let values = batch.column(keys + column).as_primitive::<Int64Type>();
                measured.numbers[*place].push(number(values, row));
            }
        }
    }
    for (batches, place) in results.zip(prepared.single) {
        let tree = matches!(
            statistics[place].measure,
            Measure::Tree { .. } | Measure::Histogram { .. }
        );
        let known = measured.groups.len();
        if !tree {
            measured.numbers[place] = vec![0; known];
        }
        for batch in batches {
            for (row, name) in names(&batch, keys)?.into_iter().enumerate() {
                // Every group with a row is in the totals, which count units; a group that is not was cut.
                let Some(group) = measured.groups.get(&name).copied() else {
                    continue;
                };
                let column = |at: usize| batch.column(keys + at).as_primitive::<Int64Type>();
                if tree {
                    measured.bins[place].insert((group, number(column(0), row)), number(column(1), row));
                } else {
                    measured.numbers[place][group] = number(column(0), row);
                }
            }
        }
    }
    Ok(measured)
}
