//! The public sides of joins, read before anything is charged.
//!
//! Whether the engine evaluates one side of a join, and how much of it, depends on the other side. So a public side whose evaluation fails, or
//! takes more memory than there is, would tell something of the private side. Here it is evaluated first, wholly, by itself: what happens then
//! depends on public data alone.

use crate::Error;
use crate::catalog::Catalog;
use crate::run::scans::{over_data, public_rows};
use crate::understand::aggregation::Aggregation;
use crate::understand::frontier::{Split, column_name, reads_rows};
use crate::understand::mistakes::unplannable;
use crate::understand::relation::{ONE_ROW, PublicSide};
use crate::values::facts::Kind;
use bound::{Labelled, canonical};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::catalog::default_table_source::provider_as_source;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, TableReference};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use std::collections::BTreeSet;
use std::sync::Arc;

/// More than this is not held in memory.
const MOST_BYTES: usize = 256 << 20;
/// One private row may become as many rows as this by joins that do not match a key.
const MOST_REPETITIONS: u64 = 10_000;

/// Public sides of joins, with what they hold.
#[derive(Default)]
pub(crate) struct Publics {
    sides: Vec<Side>,
    bytes: usize,
}

/// One side that was read.
struct Side {
    /// How it was read.
    plan: LogicalPlan,
    batches: Vec<RecordBatch>,
    /// Columns of the held rows in which no two agree.
    keys: Vec<BTreeSet<String>>,
    /// The same rows from memory, under the same names.
    held: LogicalPlan,
}

impl Publics {
    /// Reads all that a query joins to private rows.
    pub(crate) async fn read(
        split: &Split,
        session: &SessionContext,
        catalog: &Catalog,
    ) -> Result<Self, Error> {
        Self::of(&split.aggregations, session, catalog).await
    }

    /// Reads all that the rows of aggregations are joined to.
    pub(crate) async fn of(
        aggregations: &[Aggregation],
        session: &SessionContext,
        catalog: &Catalog,
    ) -> Result<Self, Error> {
        let mut publics = Self::default();
        for aggregation in aggregations {
            let mut repetitions = 1u64;
            for side in &aggregation.rows.publics {
                let rows = publics.add(side, session, catalog).await?;
                if side.repeats {
                    repetitions = repetitions.saturating_mul(rows.max(1));
                }
            }
            if repetitions > MOST_REPETITIONS {
                return Err(Error::refused(
                    format!(
                        "joins to public rows may turn one private row into more than {MOST_REPETITIONS}"
                    ),
                    "match a key of the public table, or join to fewer public rows",
                ));
            }
        }
        Ok(publics)
    }

    /// Reads one side, unless it was read already, and says how many rows it has.
    async fn add(
        &mut self,
        side: &PublicSide,
        session: &SessionContext,
        catalog: &Catalog,
    ) -> Result<u64, Error> {
        let place = match self.sides.iter().position(|known| known.plan == side.plan) {
            Some(place) => place,
            None => {
                let batches = self.collect(&side.plan, session, catalog).await?;
                let held = held(&side.plan, &batches, self.sides.len())?;
                self.sides.push(Side {
                    plan: side.plan.clone(),
                    batches,
                    keys: Vec::new(),
                    held,
                });
                self.sides.len() - 1
            }
        };
        let read = &mut self.sides[place];
        if let Some(key) = &side.key {
            check_key(key, read)?;
            read.keys.extend(columns_of(key, &read.plan));
        }
        Ok(read.batches.iter().map(|batch| batch.num_rows() as u64).sum())
    }

    /// The rows of a public plan, batch by batch, so that one that does not fit is noticed before it is here.
    async fn collect(
        &mut self,
        plan: &LogicalPlan,
        session: &SessionContext,
        catalog: &Catalog,
    ) -> Result<Vec<RecordBatch>, Error> {
        if reads_rows(plan, catalog) {
            return Err(Error::refused(
                "the public side of a join reads private rows",
                "this is a defect of Deniable; please report it",
            ));
        }
        let plan = canonical_columns(over_data(plan, session, catalog).await?)?;
        let mut rows = public_rows(&plan, session, catalog)
            .await?
            .map_err(|_| failed())?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(|_| failed())?;
            self.bytes += batch.get_array_memory_size();
            if self.bytes > MOST_BYTES {
                return Err(Error::refused(
                    format!(
                        "the public sides of joins take more than {} MiB",
                        MOST_BYTES >> 20
                    ),
                    "select fewer columns or rows of the public table in a subquery",
                ));
            }
            batches.push(batch);
        }
        Ok(batches)
    }

    /// The shapes of all that a query joins to private rows, with no rows: for saying how it will be done, before anything is read.
    pub(crate) fn shapes(split: &Split) -> Result<Self, Error> {
        let mut publics = Self::default();
        for side in split.aggregations.iter().flat_map(|asked| &asked.rows.publics) {
            let keys = side.key.iter().filter_map(|key| columns_of(key, &side.plan));
            if let Some(known) = publics.sides.iter_mut().find(|known| known.plan == side.plan) {
                known.keys.extend(keys);
                continue;
            }
            publics.sides.push(Side {
                plan: side.plan.clone(),
                batches: Vec::new(),
                keys: keys.collect(),
                held: held(&side.plan, &[], publics.sides.len())?,
            });
        }
        Ok(publics)
    }

    /// The names of the scans that [`Publics::put_into`] puts into plans, and the columns in which no two of their rows agree.
    pub(crate) fn names(&self) -> impl Iterator<Item = (String, &[BTreeSet<String>])> {
        let sides = self.sides.iter().enumerate();
        sides.map(|(place, side)| (held_name(place), side.keys.as_slice()))
    }

    /// The rows that stand behind a scan which [`Publics::put_into`] put into a plan.
    pub(crate) fn rows_of(&self, name: &TableReference) -> Option<&[RecordBatch]> {
        let place = (0..self.sides.len()).find(|place| name.table() == held_name(*place))?;
        Some(&self.sides[place].batches)
    }

    /// The plan with what was read in place of how to read it.
    pub(crate) fn put_into(&self, plan: &LogicalPlan) -> Result<LogicalPlan, Error> {
        let changed = plan.clone().transform_down_with_subqueries(|node| {
            Ok(match self.sides.iter().find(|side| side.plan == node) {
                Some(side) => Transformed::new(side.held.clone(), true, TreeNodeRecursion::Jump),
                None => Transformed::no(node),
            })
        });
        Ok(changed.map_err(unplannable)?.data)
    }
}

/// The same rows with values in canonical form, as private rows have them: what a public query computes need not be.
fn canonical_columns(plan: LogicalPlan) -> Result<LogicalPlan, Error> {
    let columns: Vec<Expr> = plan
        .schema()
        .iter()
        .map(|(qualifier, field)| {
            let column = Expr::Column(Column::new(qualifier.cloned(), field.name().clone()));
            let (kind, own) = (Kind::of(field.data_type()), field.data_type().clone());
            let value = match kind {
                Some(kind) if kind.data_type() == own => canonical(column, kind),
                // Narrow floats and other forms of text, which stay what they are.
                Some(kind @ (Kind::Text | Kind::Float)) => {
                    cast(canonical(cast(column, kind.data_type()), kind), own)
                }
                _ => return column,
            };
            value.alias_qualified(qualifier.cloned(), field.name().clone())
        })
        .collect();
    LogicalPlanBuilder::from(plan)
        .project(columns)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)
}

fn failed() -> Error {
    Error::refused(
        "the public side of a join cannot be evaluated",
        "does it divide by zero, or cast a text that is no number? nothing was charged",
    )
}

/// Whether the key that the catalog declares is one.
fn check_key(key: &[String], side: &Side) -> Result<(), Error> {
    let Some(first) = side.batches.first() else {
        return Ok(());
    };
    let all = concat_batches(&first.schema(), &side.batches).map_err(|error| unplannable(error.into()))?;
    let mut columns = Vec::new();
    for name in key {
        let place = side
            .plan
            .schema()
            .iter()
            .position(|(_, field)| field.name() == name);
        columns.push(Arc::clone(all.column(place.ok_or_else(failed)?)));
    }
    let fields = columns
        .iter()
        .map(|column| SortField::new(column.data_type().clone()));
    let converter = RowConverter::new(fields.collect()).map_err(|error| unplannable(error.into()))?;
    let rows = converter
        .convert_columns(&columns)
        .map_err(|error| unplannable(error.into()))?;
    let complete = |row: &usize| columns.iter().all(|column| column.is_valid(*row));
    let mut seen = BTreeSet::new();
    // NULL equals nothing, so that rows without a key find no partner.
    if (0..all.num_rows())
        .filter(complete)
        .all(|row| seen.insert(rows.row(row)))
    {
        return Ok(());
    }
    if key == [ONE_ROW] {
        return Err(Error::refused(
            "a subquery that stands for one value has more than one row",
            "aggregate it, for example with MAX(…), or add a condition that leaves one row; nothing was charged",
        ));
    }
    Err(Error::refused(
        format!(
            "two rows of a public table agree in {}, which the catalog calls a key",
            key.join(", ")
        ),
        "correct the table, or `keys` in the catalog; nothing was charged",
    ))
}

/// The columns of a key, as they are called in rows that are held.
fn columns_of(key: &[String], plan: &LogicalPlan) -> Option<BTreeSet<String>> {
    let place = |name: &String| plan.schema().iter().position(|(_, field)| field.name() == name);
    key.iter().map(|name| place(name).map(column_name)).collect()
}

fn held_name(place: usize) -> String {
    format!("__deniable_public_{place}")
}

/// Rows in memory, under the names that a plan gives them.
fn held(plan: &LogicalPlan, batches: &[RecordBatch], place: usize) -> Result<LogicalPlan, Error> {
    let renamed = |fields: &datafusion::arrow::datatypes::Fields| {
        let named = |(at, field): (usize, &Arc<Field>)| field.as_ref().clone().with_name(column_name(at));
        Arc::new(Schema::new(
            fields.iter().enumerate().map(named).collect::<Vec<_>>(),
        ))
    };
    let schema = match batches.first() {
        Some(batch) => renamed(batch.schema().fields()),
        None => renamed(plan.schema().fields()),
    };
    let batches = batches
        .iter()
        .map(|batch| RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unplannable(error.into()))?;
    let table = MemTable::try_new(schema, vec![batches]).map_err(unplannable)?;
    let table = Arc::new(Labelled::new(&held_name(place), Arc::new(table)));
    let name = TableReference::bare(held_name(place));
    let shown: Vec<Expr> = plan
        .schema()
        .iter()
        .enumerate()
        .map(|(at, (qualifier, field))| {
            Expr::Column(Column::new(Some(name.clone()), column_name(at)))
                .alias_qualified(qualifier.cloned(), field.name().clone())
        })
        .collect();
    LogicalPlanBuilder::scan(name, provider_as_source(table), None)
        .and_then(|plan| plan.project(shown))
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)
}
