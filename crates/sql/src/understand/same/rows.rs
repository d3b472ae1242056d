//! What rows are: where they come from, which conditions hold for them, and what each column computes.

use super::conditions::symmetric;
use super::{Mark, Parts, as_written};
use crate::catalog::{Catalog, Root, Source, Table};
use crate::understand::relation::table_of;
use datafusion::common::DFSchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Distinct, Expr, Join, JoinType, LogicalPlan, Operator};
use std::collections::BTreeSet;

/// What a table is, apart from its columns, and which version of its data is meant.
pub(super) fn table_mark(name: &str, table: &Table, catalog: &Catalog) -> Mark {
    // Where the catalog lies is not part of what it says.
    let source = match &table.source {
        Source::Csv(path) | Source::Parquet(path) => {
            let path = path.strip_prefix(&catalog.directory).unwrap_or(path);
            format!("file {}", path.display())
        }
        Source::ParquetTree(tree) => {
            let root = match &tree.root {
                Root::Directory(path) => {
                    let path = path.strip_prefix(&catalog.directory).unwrap_or(path);
                    format!("directory {}", path.display())
                }
                Root::Objects(address) => format!("objects {address}"),
            };
            format!("{root} {:?}", tree.partitions)
        }
        Source::Postgres { connection, table } => format!("{connection} {table}"),
        Source::Memory(_) => "memory".to_owned(),
    };
    let rest = Table {
        source: Source::Csv("".into()),
        columns: Vec::new(),
        version: None,
        // Limits decide how many rows, groups and how large sums count, and these numbers are marked where they are used.
        limits: crate::catalog::Limits::default(),
        ..table.clone()
    };
    Parts::of("table")
        .text(name)
        .text(&source)
        .text(&catalog.version_of(table))
        .debug(rest)
        .end()
}

/// Rows, and what each of their columns is.
pub(crate) struct Relation {
    /// The rows before conditions on them.
    pub(super) base: Mark,
    /// What holds of each row.
    pub(super) conditions: BTreeSet<Mark>,
    pub(super) columns: Vec<Mark>,
    pub(super) schema: DFSchemaRef,
}

impl Relation {
    /// The relation that a plan makes.
    pub(crate) fn of(plan: &LogicalPlan, catalog: &Catalog) -> Result<Self, DataFusionError> {
        Reading { catalog }.relation(plan)
    }

    pub(super) fn rows(&self) -> Mark {
        Parts::of("rows")
            .mark(self.base)
            .marks(self.conditions.iter().copied())
            .end()
    }

    /// The same rows and columns under other names.
    fn named_as(self, schema: &DFSchemaRef) -> Self {
        Self {
            schema: schema.clone(),
            ..self
        }
    }
}

/// What an expression over these rows computes.
pub(super) fn mark(expr: &Expr, rows: &Relation, catalog: &Catalog) -> Result<Mark, DataFusionError> {
    Reading { catalog }.expression(expr, rows)
}

pub(super) struct Reading<'a> {
    pub(super) catalog: &'a Catalog,
}

impl Reading<'_> {
    fn relation(&self, plan: &LogicalPlan) -> Result<Relation, DataFusionError> {
        let schema = plan.schema();
        let read = match plan {
            LogicalPlan::TableScan(scan) if scan.filters.is_empty() && scan.fetch.is_none() => {
                let Some((name, table)) = table_of(self.catalog, &scan.table_name) else {
                    return self.as_written(plan);
                };
                let column = |field: &str| {
                    Parts::of("column")
                        .text(name)
                        .text(field)
                        .debug(table.column(field))
                        .end()
                };
                Relation {
                    base: table_mark(name, table, self.catalog),
                    conditions: BTreeSet::new(),
                    columns: schema.fields().iter().map(|field| column(field.name())).collect(),
                    schema: schema.clone(),
                }
            }
            LogicalPlan::SubqueryAlias(alias) => self.relation(&alias.input)?.named_as(schema),
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.relation(&sort.input)?,
            LogicalPlan::Projection(projection) => {
                let input = self.relation(&projection.input)?;
                let columns = self.expressions(&projection.expr, &input)?;
                Relation { columns, ..input }.named_as(schema)
            }
            LogicalPlan::Filter(filter) => {
                let mut input = self.relation(&filter.input)?;
                let conditions = self.links(&filter.predicate, false, Operator::And, &input)?;
                input.conditions.extend(conditions);
                input
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let input = self.relation(input)?;
                let base = Parts::of("distinct")
                    .mark(input.rows())
                    .marks(input.columns.iter().copied())
                    .end();
                Relation {
                    base,
                    conditions: BTreeSet::new(),
                    ..input
                }
            }
            LogicalPlan::Aggregate(aggregate) => {
                let sets = |expr: &Expr| matches!(expr, Expr::GroupingSet(_));
                if aggregate.group_expr.iter().any(sets) {
                    return self.as_written(plan);
                }
                let input = self.relation(&aggregate.input)?;
                let keys = self.expressions(&aggregate.group_expr, &input)?;
                let set: BTreeSet<Mark> = keys.iter().copied().collect();
                let base = Parts::of("groups").mark(input.rows()).marks(set).end();
                let of_group = |what: Mark| Parts::of("of a group").mark(base).mark(what).end();
                let results = self.expressions(&aggregate.aggr_expr, &input)?;
                Relation {
                    base,
                    conditions: BTreeSet::new(),
                    columns: keys.into_iter().chain(results).map(of_group).collect(),
                    schema: schema.clone(),
                }
            }
            LogicalPlan::Union(union) => {
                let sides = union.inputs.iter().map(|side| self.relation(side));
                let sides: Vec<Relation> = sides.collect::<Result<_, _>>()?;
                let base = sides.iter().fold(Parts::of("union"), |parts, side| {
                    parts.mark(side.rows()).marks(side.columns.iter().copied())
                });
                let column = |place: usize| {
                    let parts = sides.iter().map(|side| side.columns.get(place).copied());
                    Parts::of("united").marks(parts.flatten()).end()
                };
                Relation {
                    base: base.end(),
                    conditions: BTreeSet::new(),
                    columns: (0..schema.fields().len()).map(column).collect(),
                    schema: schema.clone(),
                }
            }
            LogicalPlan::Join(join) => self.join(join)?,
            _ => return self.as_written(plan),
        };
        if read.columns.len() == schema.fields().len() {
            Ok(read)
        } else {
            self.as_written(plan)
        }
    }

    /// Of one owner a public number of rows is joined, the first in the order of their values: so all columns of a side matter, in their order.
    fn join(&self, join: &Join) -> Result<Relation, DataFusionError> {
        let (left, right) = (self.relation(&join.left)?, self.relation(&join.right)?);
        let side = |which: &str, relation: &Relation| -> Vec<Mark> {
            let columns = relation.columns.iter();
            columns
                .map(|column| Parts::of(which).mark(*column).end())
                .collect()
        };
        let (left_columns, right_columns) = (side("left", &left), side("right", &right));
        // Conditions speak of both sides, whichever the join keeps.
        let both = Relation {
            base: left.base,
            conditions: BTreeSet::new(),
            columns: left_columns.iter().chain(&right_columns).copied().collect(),
            schema: std::sync::Arc::new(join.left.schema().join(join.right.schema())?),
        };
        let mut conditions = BTreeSet::new();
        for (a, b) in &join.on {
            conditions.insert(symmetric(
                Operator::Eq,
                self.expression(a, &both)?,
                self.expression(b, &both)?,
            ));
        }
        if let Some(filter) = &join.filter {
            conditions.extend(self.links(filter, false, Operator::And, &both)?);
        }
        let base = Parts::of("join")
            .debug(join.join_type)
            .debug(join.null_equality)
            .mark(left.rows())
            .marks(left.columns.iter().copied())
            .mark(right.rows())
            .marks(right.columns.iter().copied())
            .marks(conditions)
            .end();
        let columns = match join.join_type {
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => both.columns,
            JoinType::LeftSemi | JoinType::LeftAnti => left_columns,
            JoinType::RightSemi | JoinType::RightAnti => right_columns,
            _ => Vec::new(),
        };
        Ok(Relation {
            base,
            conditions: BTreeSet::new(),
            columns,
            schema: join.schema.clone(),
        })
    }

    /// What no rule knows: operators and expressions as they are written, and everything that is declared of the tables.
    pub(super) fn as_written(&self, plan: &LogicalPlan) -> Result<Relation, DataFusionError> {
        let mut parts = Parts::of("as written").mark(as_written(plan)?);
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && let Some((name, table)) = table_of(self.catalog, &scan.table_name)
            {
                let whole = std::mem::replace(&mut parts, Parts::of(""));
                parts = whole
                    .mark(table_mark(name, table, self.catalog))
                    .debug(&table.columns);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let base = parts.end();
        let column = |place: usize| Parts::of("column as written").mark(base).debug(place).end();
        Ok(Relation {
            base,
            conditions: BTreeSet::new(),
            columns: (0..plan.schema().fields().len()).map(column).collect(),
            schema: plan.schema().clone(),
        })
    }
}
