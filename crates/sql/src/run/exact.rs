//! The seam between questions and engines: exact integers for a bounded plan.
//!
//! An engine is asked twice, for all private aggregations of a question together. Before the charge it prepares: it reads schemas and no private row, and refuses every operator that is not on its closed list. After the charge it gives, for
//! each plan, the rows of that plan: the names of groups, and integers of which one unit's part is bounded. Noise, ledger and release know nothing of engines.
//!
//! # Privacy
//! Claim: which engine answers changes no guarantee. Each gives the same integers, to the last bit, on every database.
//! Proof: [`local`](super::local) runs the plan itself. [`pushdown`](super::pushdown) runs a statement that is written from the same plan, operator by operator and function by function,
//! each from a list with its argument beside it, and is not used for a plan with anything else. [`on_workers`](super::on_workers) spreads the plan over machines. Which of them is used depends on the question, the catalog and the schema of the database.
//! Audited by: `tests::hunter`, which holds them against each other on hostile data and on parts of it.

use crate::Error;
use crate::catalog::{Catalog, EngineKind};
use crate::price::question::{Claims, Question};
use crate::run::engine::{BoundedPlans, Reading};
use crate::run::engines::Engines;
use crate::run::facts::{Facts, unverified};
use crate::run::local::{Leave, Step, planned};
use crate::run::measured::{Measured, names, number};
use crate::run::on_workers::{OnWorkers, on_workers};
use crate::run::publics::Publics;
use crate::run::pushdown::{Pushed, pushed};
use crate::run::scans::{over_data, over_declared};
use crate::sources;
use crate::understand::aggregation::{Aggregation, Measure, TREE_LEVELS};
use crate::values::group_name::encode;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use verify::{Number, Release, Verified, verify};

/// An engine with its work for one aggregation: the plan of the totals, and those of statistics that look at single rows, in this order.
enum ExactEngine {
    /// This program.
    Local(Vec<Step>),
    /// A PostgreSQL database, which computes several aggregations together. Its statement is lowered from the plans that these are of.
    Inside(Vec<Arc<dyn ExecutionPlan>>),
    /// Several machines.
    Workers(OnWorkers),
}

impl ExactEngine {
    /// Has an engine prepare plans that no database computes: workers, where the catalog names them and they can, and else this program.
    async fn prepare(
        plans: &BoundedPlans,
        publics: &Publics,
        engines: &Engines,
        catalog: &Catalog,
    ) -> Result<Self, Error> {
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
        let mut steps = vec![Step::new(over(&plans.totals).await?, unsorted, &session).await?];
        for (plan, _) in &plans.single {
            steps.push(Step::new(over(plan).await?, None, &session).await?);
        }
        Ok(Self::Local(steps))
    }

    /// For each plan, what is verified of it: what may run, or what a statement is lowered from.
    fn plans(&self) -> Vec<Vec<&Arc<dyn ExecutionPlan>>> {
        match self {
            Self::Local(steps) => steps.iter().map(Step::plans).collect(),
            Self::Inside(plans) => plans.iter().map(|plan| vec![plan]).collect(),
            Self::Workers(on_workers) => on_workers.plans().collect(),
        }
    }

    /// The rows of each plan; `inside`, if it is a database that computed them.
    async fn collect(
        self,
        inside: Vec<Vec<RecordBatch>>,
        engines: &Engines,
        leave: &mut Leave<'_>,
    ) -> Result<Vec<Vec<RecordBatch>>, Error> {
        match self {
            Self::Local(steps) => {
                let mut all = Vec::new();
                for step in steps {
                    all.push(step.run(engines, leave.next()).await?);
                }
                Ok(all)
            }
            Self::Inside(plans) => {
                plans.iter().for_each(|_| {
                    leave.next();
                });
                Ok(inside)
            }
            Self::Workers(on_workers) => on_workers.run(engines, leave).await,
        }
    }
}

/// The plans that a statement for a database is lowered from, as this program would run them over the declared columns.
async fn lowered(
    plans: &BoundedPlans,
    publics: &Publics,
    engines: &Engines,
    catalog: &Catalog,
) -> Result<ExactEngine, Error> {
    let session = engines.first()?;
    let mut all = Vec::new();
    for plan in plans.plans() {
        let plan = over_declared(&publics.put_into(plan)?, catalog)?;
        all.push(planned(&plan, session.state()).await?.0);
    }
    Ok(ExactEngine::Inside(all))
}

/// The plans of one aggregation over data.
struct Part {
    engine: ExactEngine,
    read: Vec<Reading>,
    single: Vec<usize>,
    keys: usize,
}

/// The plans of a question over data, ready to run: nothing about them can be refused any more.
pub(crate) struct Prepared {
    parts: Vec<Part>,
    databases: Vec<Pushed>,
    verified: Arc<Verified>,
    facts: Facts,
}

impl Prepared {
    /// What was verified of them, which releases take.
    pub(crate) fn verified(&self) -> Arc<Verified> {
        Arc::clone(&self.verified)
    }
}

#[cfg(test)]
impl Prepared {
    /// How many rows each plan of this program's engine handles at once.
    pub(crate) fn batch_sizes(&self) -> Vec<usize> {
        let sizes = self.parts.iter().map(|part| match &part.engine {
            ExactEngine::Local(steps) => steps.iter().map(Step::batch_size).collect(),
            ExactEngine::Inside(_) | ExactEngine::Workers(_) => Vec::new(),
        });
        sizes.collect::<Vec<Vec<usize>>>().concat()
    }

    /// How many operators of this program's engine read a source.
    pub(crate) fn scans(&self) -> usize {
        let sources = self.parts.iter().map(|part| match &part.engine {
            ExactEngine::Local(steps) => steps.iter().map(Step::scans).sum(),
            ExactEngine::Inside(_) | ExactEngine::Workers(_) => 0,
        });
        sources.sum()
    }

    /// The texts of the statements that databases run.
    pub(crate) fn statements(&self) -> Vec<String> {
        let texts = self.databases.iter().flat_map(Pushed::texts);
        texts.map(str::to_owned).collect()
    }

    /// How many aggregations workers compute.
    pub(crate) fn on_workers(&self) -> usize {
        let on_workers = |part: &&Part| matches!(part.engine, ExactEngine::Workers(_));
        self.parts.iter().filter(on_workers).count()
    }
}

/// Binds the plans of a question's aggregations to data and has engines plan their execution. Reads schemas, and no rows of private tables.
///
/// # Errors
/// When a table cannot be opened, an engine's plan has an operator that is not on the closed list, or a plan cannot be verified for what is charged and drawn: before anything is charged.
pub(crate) async fn prepare(
    question: Vec<BoundedPlans>,
    claims: &Claims<'_>,
    publics: &Publics,
    engines: &Engines,
    catalog: &Catalog,
) -> Result<Prepared, Error> {
    let (databases, inside) = match catalog.engine.kind {
        EngineKind::Postgres => {
            let written = pushed(&question, publics, catalog).await?;
            (written.databases, written.aggregations)
        }
        EngineKind::Local | EngineKind::Cluster => (Vec::new(), Vec::new()),
    };
    let mut parts = Vec::new();
    for (number, plans) in question.into_iter().enumerate() {
        parts.push(Part {
            engine: match inside.get(number) {
                Some(Ok(())) => lowered(&plans, publics, engines, catalog).await?,
                _ => ExactEngine::prepare(&plans, publics, engines, catalog).await?,
            },
            read: plans.read,
            single: plans.single.into_iter().map(|(_, place)| place).collect(),
            keys: plans.keys,
        });
    }
    let facts = Facts::new(catalog, publics.names());
    let verified = Arc::new(verified(&parts, claims, &facts)?);
    Ok(Prepared {
        parts,
        databases,
        verified,
        facts,
    })
}

/// What is verified of a question, for people, and how long that took: of its plans over empty tables of the declared columns. Reads nothing.
///
/// # Errors
/// As [`prepare`].
pub(crate) async fn judged(
    question: Vec<BoundedPlans>,
    priced: &Question,
    engines: &Engines,
    catalog: &Catalog,
) -> Result<(Verified, Duration), Error> {
    let publics = Publics::shapes(&priced.split)?;
    let mut parts = Vec::new();
    for plans in question {
        parts.push(Part {
            engine: lowered(&plans, &publics, engines, catalog).await?,
            read: plans.read,
            single: plans.single.into_iter().map(|(_, place)| place).collect(),
            keys: plans.keys,
        });
    }
    let begun = Instant::now();
    let verified = verified(
        &parts,
        &priced.claims(catalog)?,
        &Facts::new(catalog, publics.names()),
    )?;
    Ok((verified, begun.elapsed()))
}

/// Holds the plans of a question against what is charged for it and what is drawn.
fn verified(parts: &[Part], claims: &Claims<'_>, facts: &Facts) -> Result<Verified, Error> {
    let mut all = Vec::new();
    for part in parts {
        let releases = part.releases(claims);
        for (plans, releases) in part.engine.plans().into_iter().zip(releases) {
            all.push(verify::Part { plans, releases });
        }
    }
    let leaves = |scan: &Arc<dyn ExecutionPlan>| facts.leaf(scan);
    #[cfg(test)]
    if crate::mutants::is_unverified() {
        all.clear();
    }
    verify(&all, &leaves, &claims.charge).map_err(unverified)
}

impl Part {
    /// What is released of each of its plans: of the totals what is read of them, as [`measured`] reads it, and one number of each other plan.
    fn releases<'q>(&self, claims: &Claims<'q>) -> Vec<Vec<Release<'q>>> {
        let release = |aggregation: usize, statistic: usize, number: Number| {
            let (drawn, sensitivity, noise) = claims.release(aggregation, statistic)?;
            Some(Release {
                drawn,
                number,
                sensitivity,
                noise,
            })
        };
        let totals = self.read.iter().flat_map(|reading| {
            let numbers = reading.numbers.iter();
            numbers.filter_map(|(statistic, place)| {
                let column = self.keys + place;
                let number = match reading.of_all {
                    true => Number::OfAll(column),
                    false => Number::OfGroups(column),
                };
                release(reading.aggregation, *statistic, number)
            })
        });
        let mut all = vec![totals.collect()];
        let question = self.read.first().map(|reading| reading.aggregation);
        for statistic in &self.single {
            let number = |aggregation: usize| {
                let measure = &claims.aggregations[aggregation].statistics[*statistic].measure;
                let levels = match measure {
                    Measure::Tree { .. } => TREE_LEVELS,
                    Measure::Histogram { .. } => 1,
                    _ => return Number::OfGroups(self.keys),
                };
                let column = self.keys + 1;
                Number::Bins { column, levels }
            };
            let one = question.and_then(|place| release(place, *statistic, number(place)));
            all.push(one.into_iter().collect());
        }
        all
    }
}

/// Who will compute the exact numbers of each aggregation of a question, for people; nothing where the catalog names no engine but this program. Reads no rows.
///
/// # Errors
/// When the database cannot be reached.
pub(crate) async fn who_computes(
    question: &[BoundedPlans],
    publics: &Publics,
    engines: &Engines,
    catalog: &Catalog,
) -> Result<Vec<Option<String>>, Error> {
    let mut names = Vec::new();
    match catalog.engine.kind {
        EngineKind::Local => names.resize(question.len(), None),
        EngineKind::Postgres => {
            for written in pushed(question, publics, catalog).await?.aggregations {
                names.push(Some(match written {
                    Ok(()) => "PostgreSQL, inside the database".to_owned(),
                    Err(why) => format!("this program, which fetches the rows: {}", why.0),
                }));
            }
        }
        EngineKind::Cluster => {
            for plans in question {
                names.push(Some(match on_workers(plans, publics, engines, catalog).await? {
                    Ok(_) => "the workers of the cluster".to_owned(),
                    Err(why) => format!("this program, which reads all rows: {}", why.0),
                }));
            }
        }
    }
    Ok(names)
}

/// Runs the plans of a question, and gives the exact statistics of each of its aggregations.
pub(crate) async fn measure(
    prepared: Prepared,
    question: &[Aggregation],
    engines: &Engines,
) -> Result<Vec<Measured>, Error> {
    let mut inside: Vec<Vec<Vec<RecordBatch>>> = Vec::new();
    let Prepared {
        parts,
        databases,
        verified,
        facts,
    } = prepared;
    inside.resize_with(parts.len(), Vec::new);
    let mut leave = Leave {
        verified: &verified,
        part: 0,
        facts: &facts,
    };
    for pushed in databases {
        for (number, rows) in pushed.run(&verified).await? {
            inside[number].push(rows);
        }
    }
    let mut all: Vec<Option<Measured>> = question.iter().map(|_| None).collect();
    for (part, inside) in parts.into_iter().zip(inside) {
        for (place, measured) in measured(part, inside, question, (engines, &mut leave)).await? {
            all[place] = Some(measured);
        }
    }
    let all = all.into_iter().collect::<Option<Vec<Measured>>>();
    all.ok_or_else(|| sources::incident("the engine", "it left a part of the question out"))
}

/// The exact statistics of the aggregations that a part computes.
async fn measured(
    part: Part,
    inside: Vec<Vec<RecordBatch>>,
    question: &[Aggregation],
    (engines, leave): (&Engines, &mut Leave<'_>),
) -> Result<Vec<(usize, Measured)>, Error> {
    let keys = part.keys;
    let mut results = part.engine.collect(inside, engines, leave).await?.into_iter();
    let totals = results.next().unwrap_or_default();
    let mut all = Vec::new();
    for reading in &part.read {
        let statistics = question[reading.aggregation].statistics.len();
        let measured = match reading.of_all {
            true => of_all(reading, &totals, keys, statistics),
            false => of_groups(reading, &totals, keys, statistics)?,
        };
        all.push((reading.aggregation, measured));
    }
    let Some((place, measured)) = all.first_mut() else {
        return Ok(all);
    };
    let statistics = &question[*place].statistics;
    for (batches, place) in results.zip(part.single) {
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
    Ok(all)
}

impl Measured {
    fn nothing(statistics: usize) -> Self {
        Self {
            groups: HashMap::new(),
            numbers: vec![Vec::new(); statistics],
            bins: vec![BTreeMap::new(); statistics],
        }
    }
}

/// The numbers of groups.
fn of_groups(
    reading: &Reading,
    totals: &[RecordBatch],
    keys: usize,
    statistics: usize,
) -> Result<Measured, Error> {
    let mut measured = Measured::nothing(statistics);
    for batch in totals {
        let column = |place: usize| batch.column(keys + place).as_primitive::<Int64Type>();
        for (row, name) in names(batch, keys)?.into_iter().enumerate() {
            if reading.units.is_some_and(|units| number(column(units), row) == 0) {
                continue;
            }
            let group = measured.groups.len();
            if measured.groups.insert(name, group).is_some() {
                return Err(sources::incident("the engine", "it gave a group twice"));
            }
            for (statistic, place) in &reading.numbers {
                measured.numbers[*statistic].push(number(column(*place), row));
            }
        }
    }
    Ok(measured)
}

/// The numbers that describe all units, which any group's row may have a part of.
fn of_all(reading: &Reading, totals: &[RecordBatch], keys: usize, statistics: usize) -> Measured {
    let mut measured = Measured::nothing(statistics);
    measured.groups.insert(encode(&[]), 0);
    for (statistic, place) in &reading.numbers {
        let parts = totals.iter().flat_map(|batch| {
            let column = batch.column(keys + place).as_primitive::<Int64Type>();
            (0..batch.num_rows()).map(|row| number(column, row))
        });
        measured.numbers[*statistic] = vec![parts.fold(0, i64::wrapping_add)];
    }
    measured
}
