//! Where a query crosses from private rows to public results: below, rows with owners; above, post-processing, which is free.

use crate::Error;
use crate::catalog::Catalog;
use crate::understand::aggregation::{Aggregation, Selection, Shape, literal};
use crate::understand::dialect::SelectOptions;
use crate::understand::grouping_sets::{GroupingSets, part_of};
use crate::understand::mistakes::unplannable;
use crate::understand::outer_public;
use crate::understand::planner::Said;
use crate::understand::relation::{attached, contains_subquery, is_private, operator, rows};
use crate::understand::same::Marks;
use crate::understand::together::Together;
use crate::values::facts::Value;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::default_table_source::provider_as_source;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Spans, TableReference};
use datafusion::datasource::empty::EmptyTable;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, LogicalPlan, LogicalPlanBuilder, Subquery, cast, lit,
};
use std::sync::Arc;

/// Released tables are called this and a number.
pub(crate) const RELEASED: &str = "__deniable_release_";

/// A query mentions private tables this many times at most: each mention may repeat all rows of a unit.
const MOST_SCANS: usize = 256;

/// A query in two parts.
#[derive(Debug)]
pub(crate) struct Split {
    /// What is asked of private rows.
    pub(crate) aggregations: Vec<Aggregation>,
    /// What is done with the answers: reads tables `__deniable_release_0` and so on, and public ones.
    pub(crate) post: LogicalPlan,
    /// What each aggregation releases, so that the same is asked once.
    pub(crate) marks: Vec<Marks>,
    /// The rows that each aggregation is asked of, as the query wrote them.
    pub(crate) asked: Vec<LogicalPlan>,
    /// Whether names of groups that the catalog declares are listed in place of asking for them.
    pub(crate) lists: bool,
    /// How many sets of groups a ROLLUP, CUBE or GROUPING SETS asks for, the most of any.
    pub(crate) sets: usize,
    /// The sets, where they are all that is asked and one pass can count them.
    pub(crate) together: Option<Together>,
}

/// More declared names than this are not listed as an answer.
const MOST_LISTED: usize = 10_000;

/// Splits a plan.
pub(crate) fn split(plan: &LogicalPlan, said: &Said, catalog: &Catalog) -> Result<Split, Error> {
    let mut split = Split {
        aggregations: Vec::new(),
        post: plan.clone(),
        marks: Vec::new(),
        asked: Vec::new(),
        lists: false,
        sets: 0,
        together: None,
    };
    // Of public tables alone: there is nothing to protect, and nothing to charge for.
    if !is_private(plan, catalog) {
        return Ok(split);
    }
    let mut scans = 0;
    let _ = plan.apply_with_subqueries(|node| {
        scans += usize::from(matches!(node, LogicalPlan::TableScan(_)) && is_private(node, catalog));
        Ok(TreeNodeRecursion::Continue)
    });
    if scans > MOST_SCANS {
        return Err(Error::refused(
            format!(
                "this query reads private tables {scans} times, once for each mention, and at most {MOST_SCANS} are allowed"
            ),
            "unite and join fewer subqueries; a WITH counts once for each use",
        ));
    }
    split.post = split.public(plan, said, catalog)?;
    let asked = split.aggregations.len();
    split.together = split.together.take().filter(|sets| sets.sets.len() == asked);
    if split.lists && !(split.aggregations.is_empty() && only_shows(&split.post)) {
        return Err(only_declared());
    }
    // Whatever the walk did not see, nothing after the noise reads private rows.
    if reads_rows(&split.post, catalog) || (split.aggregations.is_empty() && !split.lists) {
        return Err(Error::refused(
            "a part of this query would show private rows as they are",
            "compare with the results of aggregates, or join them",
        ));
    }
    Ok(split)
}

impl Split {
    /// The plan over released results.
    fn public(&mut self, plan: &LogicalPlan, said: &Said, catalog: &Catalog) -> Result<LogicalPlan, Error> {
        if !is_private(plan, catalog) {
            return Ok(plan.clone());
        }
        match plan {
            LogicalPlan::Aggregate(aggregate) if rows_below(&aggregate.input, catalog) => {
                if let Some(outer) = outer_public::read(aggregate, catalog)? {
                    let inner = LogicalPlan::Aggregate(outer.inner.clone());
                    let released = self.public(&inner, said, catalog)?;
                    return outer.joined(released, &aggregate.schema);
                }
                if let Some(sets) = GroupingSets::of(aggregate)? {
                    return self.grouping_sets(&sets, said, catalog);
                }
                let aggregation = aggregation(aggregate, said, catalog)?;
                Ok(self.released(aggregation, &asked_of(aggregate), catalog)?.0)
            }
            // SELECT DISTINCT is GROUP BY everything.
            LogicalPlan::Distinct(Distinct::All(input)) if rows_below(input, catalog) => {
                let rows = rows(input, catalog)?;
                let keys: Vec<Expr> = rows
                    .columns
                    .iter()
                    .map(|(qualifier, name, _)| Expr::Column(Column::new(qualifier.clone(), name.clone())))
                    .collect();
                let aggregation = Aggregation::new(rows, &keys, &[], plan.schema(), said, catalog)?;
                Ok(self.released(aggregation, input, catalog)?.0)
            }
            LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Subquery(_)
            | LogicalPlan::Join(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::Distinct(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Aggregate(_) => {
                let inputs = plan
                    .inputs()
                    .into_iter()
                    .map(|input| self.public(input, said, catalog))
                    .collect::<Result<Vec<_>, _>>()?;
                let mut exprs = Vec::new();
                for expr in plan.expressions() {
                    exprs.push(self.subqueries(expr, said, catalog)?);
                }
                plan.with_new_exprs(exprs, inputs).map_err(unplannable)
            }
            LogicalPlan::TableScan(scan) => Err(Error::refused(
                format!("this would show rows of {} as they are", scan.table_name),
                "ask for aggregates: COUNT(*), SUM, AVG, … with GROUP BY",
            )),
            other => Err(Error::refused(
                format!("{} has no private version", operator(other)),
                "use SELECT with filters, joins, GROUP BY, HAVING, ORDER BY and LIMIT",
            )),
        }
    }

    /// Each set of keys is asked for by itself, for an equal part of what the SELECT states. What may be planned together is noted.
    fn grouping_sets(
        &mut self,
        sets: &GroupingSets<'_>,
        said: &Said,
        catalog: &Catalog,
    ) -> Result<LogicalPlan, Error> {
        let first = self.aggregations.is_empty();
        let (mut released, mut places) = (Vec::new(), Vec::new());
        for set in 0..sets.len() {
            let Some(plain) = sets.plain(set)? else {
                released.push(None);
                places.push(None);
                continue;
            };
            let mut made = aggregation(&plain, said, catalog)?;
            made.options = part_of(&made.options, sets.len())?;
            let (stands_in, place) = self.released(made, &asked_of(&plain), catalog)?;
            released.push(Some(stands_in));
            places.push(place);
        }
        self.sets = self.sets.max(sets.len());
        if first {
            self.together = Together::of(sets, &places, &self.aggregations, catalog);
        }
        sets.united(released)
    }

    /// An expression over released results may contain whole queries.
    fn subqueries(&mut self, expr: Expr, said: &Said, catalog: &Catalog) -> Result<Expr, Error> {
        let mut problem = None;
        let changed = expr.transform_down(|expr| {
            let mut replace = |subquery: &datafusion::logical_expr::Subquery| {
                let plan = match self.public(&subquery.subquery, said, catalog) {
                    Ok(plan) => plan,
                    Err(error) => {
                        problem.get_or_insert(error);
                        return subquery.clone();
                    }
                };
                subquery.with_plan(Arc::new(plan))
            };
            Ok(match expr {
                Expr::ScalarSubquery(subquery) => Transformed::yes(Expr::ScalarSubquery(replace(&subquery))),
                Expr::InSubquery(mut inner) => {
                    inner.subquery = replace(&inner.subquery);
                    Transformed::yes(Expr::InSubquery(inner))
                }
                Expr::Exists(mut inner) => {
                    inner.subquery = replace(&inner.subquery);
                    Transformed::yes(Expr::Exists(inner))
                }
                Expr::SetComparison(mut inner) => {
                    inner.subquery = replace(&inner.subquery);
                    Transformed::yes(Expr::SetComparison(inner))
                }
                other => Transformed::no(other),
            })
        });
        match problem {
            Some(problem) => Err(problem),
            None => Ok(changed.map_err(unplannable)?.data),
        }
    }

    /// A stand-in for an aggregation's result, with the same columns, and the place of the aggregation. The same one under other names is released once.
    fn released(
        &mut self,
        aggregation: Aggregation,
        rows: &LogicalPlan,
        catalog: &Catalog,
    ) -> Result<(LogicalPlan, Option<usize>), Error> {
        if let (Selection::Listed(groups), true) =
            (&aggregation.groups.selection, aggregation.statistics.is_empty())
        {
            // Nothing is asked but which groups there are, and those are declared: whether they occur would be an answer about the rows.
            let alone = aggregation.rows.whole
                && !aggregation.keys.is_empty()
                && aggregation.options == SelectOptions::default();
            if !alone || groups.len() > MOST_LISTED {
                return Err(only_declared());
            }
            self.lists = true;
            return Ok((declared(groups, &aggregation.shape)?, None));
        }
        let marks = Marks::of(&aggregation, rows, catalog).map_err(unplannable)?;
        let types = |one: &Aggregation| -> Vec<DataType> {
            one.shape.iter().map(|column| column.data_type.clone()).collect()
        };
        let same = |place: &usize| {
            let other: &Aggregation = &self.aggregations[*place];
            self.marks[*place].same_in_order(&marks)
                && other.outputs == aggregation.outputs
                && other.options == aggregation.options
                && other.groups.per_unit == aggregation.groups.per_unit
                && other.groups.selection == aggregation.groups.selection
                && types(other) == types(&aggregation)
        };
        let shape = aggregation.shape.clone();
        let found = (0..self.marks.len()).find(same);
        let place = found.unwrap_or(self.marks.len());
        if found.is_none() {
            self.aggregations.push(aggregation);
            self.marks.push(marks);
            self.asked.push(rows.clone());
        }
        Ok((stand_in(place, &shape)?, Some(place)))
    }
}

/// The declared names of groups as a table of constants. NULL, which a column may have or not, is not declared.
fn declared(groups: &[Vec<Value>], shape: &[Shape]) -> Result<LogicalPlan, Error> {
    let rows: Vec<Vec<Expr>> = groups
        .iter()
        .filter(|group| !group.contains(&Value::Null))
        .map(|group| {
            group
                .iter()
                .map(|value| lit(literal(value)))
                .collect::<Vec<Expr>>()
        })
        .collect();
    if rows.is_empty() {
        return Err(only_declared());
    }
    let values = LogicalPlanBuilder::values(rows).map_err(unplannable)?;
    let columns = values.schema().columns();
    let shown = shape.iter().zip(columns).map(|(column, value)| {
        cast(Expr::Column(value), column.data_type.clone())
            .alias_qualified(column.qualifier.clone(), column.name.clone())
    });
    let shown: Vec<Expr> = shown.collect();
    values
        .project(shown)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)
}

/// Whether a plan only names, orders and cuts off what is below.
fn only_shows(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Values(_) => true,
        LogicalPlan::Projection(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Filter(_) => plan.inputs().into_iter().all(only_shows),
        _ => false,
    }
}

fn only_declared() -> Error {
    Error::refused(
        "this lists the values that the catalog declares, whether rows have them or not, and counts nothing",
        "DESCRIBE with a table's name lists them, as SELECT DISTINCT without a condition does; add COUNT(*) and GROUP BY to see how many rows have each",
    )
}

/// A GROUP BY of private rows.
fn aggregation(aggregate: &Aggregate, said: &Said, catalog: &Catalog) -> Result<Aggregation, Error> {
    let rows = rows(&aggregate.input, catalog)?;
    let (rows, keys) = attached(rows, aggregate.group_expr.clone(), catalog)?;
    let (rows, aggregates) = attached(rows, aggregate.aggr_expr.clone(), catalog)?;
    Aggregation::new(rows, &keys, &aggregates, &aggregate.schema, said, catalog)
}

/// What tells one GROUP BY from others beside its statistics: its rows. Where subqueries stand in its keys or aggregates, statistics name columns that were attached
/// for them, and these names tell nothing apart: then it is the whole of it, as it is written.
fn asked_of(aggregate: &Aggregate) -> LogicalPlan {
    let mut exprs = aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
    if !exprs.any(contains_subquery) {
        return aggregate.input.as_ref().clone();
    }
    LogicalPlan::Subquery(Subquery {
        subquery: Arc::new(LogicalPlan::Aggregate(aggregate.clone())),
        outer_ref_columns: Vec::new(),
        spans: Spans::new(),
    })
}

/// Whether a plan reads a table that is neither public nor released, in subqueries of its expressions too.
pub(crate) fn reads_rows(plan: &LogicalPlan, catalog: &Catalog) -> bool {
    let mut found = false;
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            found |= !scan.table_name.table().starts_with(RELEASED) && is_private(node, catalog);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found || walked.is_err()
}

/// Names of a released table's columns.
pub(crate) fn column_name(place: usize) -> String {
    format!("c{place}")
}

fn stand_in(place: usize, shape: &[Shape]) -> Result<LogicalPlan, Error> {
    let fields: Vec<Field> = shape
        .iter()
        .enumerate()
        .map(|(at, column)| Field::new(column_name(at), column.data_type.clone(), true))
        .collect();
    let name = TableReference::bare(format!("{RELEASED}{place}"));
    let source = provider_as_source(Arc::new(EmptyTable::new(Arc::new(Schema::new(fields)))));
    let shown: Vec<Expr> = shape
        .iter()
        .enumerate()
        .map(|(at, column)| {
            Expr::Column(Column::new(Some(name.clone()), column_name(at)))
                .alias_qualified(column.qualifier.clone(), column.name.clone())
        })
        .collect();
    LogicalPlanBuilder::scan(name, source, None)
        .and_then(|plan| plan.project(shown))
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)
}

/// Whether a plan is private rows, rather than results of aggregates over them: whether it, or any input, reaches a private table without
/// passing an aggregate that ends ownership.
fn rows_below(plan: &LogicalPlan, catalog: &Catalog) -> bool {
    match plan {
        LogicalPlan::TableScan(_) => is_private(plan, catalog),
        // An aggregate that groups by the unit makes rows with owners; any other ends them.
        LogicalPlan::Aggregate(aggregate) => {
            rows_below(&aggregate.input, catalog)
                && rows(&aggregate.input, catalog)
                    .is_ok_and(|rows| aggregate.group_expr.iter().any(|expr| rows.names_unit(expr)))
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            rows_below(input, catalog) && rows(input, catalog).is_ok_and(|rows| !rows.unit_columns.is_empty())
        }
        other => other.inputs().into_iter().any(|input| rows_below(input, catalog)),
    }
}
