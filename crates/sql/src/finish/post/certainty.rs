//! What is known of each column of a plan over released tables.
//!
//! The walk goes up from the released tables. A column that depends on no noisy number is exact. A noisy one has an interval where the operators and expressions
//! on its way carry one, and otherwise a reason why there is none. A column is never called exact because an interval was lost.

use super::spans::{self, Part};
use super::{CHOSEN, CHOSEN_BY_COUNTS, ENDS, NOISY};
use crate::Error;
use crate::understand::frontier::RELEASED;
use crate::understand::mistakes::unplannable;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, ScalarValue, TableReference};
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, Join, LogicalPlan, LogicalPlanBuilder, Projection, Subquery, TableScan, Union,
    Window, lit,
};
use std::collections::BTreeSet;
use std::sync::Arc;

const OVER_MANY: &str = "it is computed from the noisy numbers of several rows";
const WHICH_ROWS: &str = "it depends on which rows are there, which noise has decided";
const GROUPED_BY: &str = "it groups by noisy numbers, or keeps different ones";
const UNKNOWN: &str = "intervals are not carried through this part of the query";

/// Numbers that tell apart what would otherwise have the same name.
#[derive(Debug, Default)]
pub(super) struct Names {
    next: usize,
}

impl Names {
    fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Columns for the four ends of an interval.
    fn ends(&mut self) -> [String; 4] {
        let number = self.fresh();
        ENDS.map(|end| format!("__deniable_{end}_{number}"))
    }

    /// Something that may fail to hold by itself, in other rows or beside others.
    pub(super) fn source(&mut self) -> BTreeSet<usize> {
        BTreeSet::from([self.fresh()])
    }
}

/// The ends of one column's interval.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    /// Where the four ends are. Of each pair either both are there or neither.
    pub(super) columns: [Column; 4],
    /// Which noisy numbers of the row it depends on: two may fail to hold independently.
    pub(super) sources: BTreeSet<usize>,
}

/// What is known of a column.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// It does not depend on noise.
    Exact,
    /// It is noisy, and within these ends with the stated probability.
    Within(Box<Ends>),
    /// It is noisy, and nothing is said about how much.
    Noisy(&'static str),
}

impl Known {
    fn within(columns: [Column; 4], sources: BTreeSet<usize>) -> Self {
        Self::Within(Box::new(Ends { columns, sources }))
    }

    fn is_exact(&self) -> bool {
        matches!(self, Self::Exact)
    }
}

/// A plan whose first columns are those that it had, in their order, and whose further columns are ends of intervals.
pub(super) struct Extended {
    pub(super) plan: LogicalPlan,
    /// Of each column that it had.
    pub(super) columns: Vec<Known>,
    /// Whether noise has decided which rows are there.
    chosen: bool,
    /// Whether noise has decided the order of rows.
    ordered: bool,
}

impl Extended {
    /// What is known of a column.
    pub(super) fn known(&self, column: &Column) -> Option<&Known> {
        let place = self.plan.schema().maybe_index_of_column(column)?;
        self.columns.get(place)
    }

    /// Whether an expression depends on a noisy number.
    pub(super) fn is_noisy(&self, expr: &Expr) -> bool {
        let mut noisy = false;
        let walked = expr.apply(|part| {
            noisy |= match part {
                Expr::Column(column) => !self.known(column).is_some_and(Known::is_exact),
                Expr::ScalarSubquery(subquery) => self.noisy_subquery(subquery),
                Expr::InSubquery(inner) => self.noisy_subquery(&inner.subquery),
                Expr::Exists(inner) => self.noisy_subquery(&inner.subquery),
                Expr::SetComparison(inner) => self.noisy_subquery(&inner.subquery),
                _ => false,
            };
            Ok(TreeNodeRecursion::Continue)
        });
        noisy || walked.is_err()
    }

    fn noisy_subquery(&self, subquery: &Subquery) -> bool {
        reads_releases(&subquery.subquery)
            || (!subquery.outer_ref_columns.is_empty() && !self.columns.iter().all(Known::is_exact))
    }

    /// The same columns, then the ends again, whatever order the operator below put them in.
    fn arranged(plan: LogicalPlan, places: Vec<usize>, columns: Vec<Known>) -> Result<LogicalPlan, Error> {
        let ends = columns.iter().flat_map(|known| match known {
            Known::Within(ends) => ends.columns.to_vec(),
            _ => Vec::new(),
        });
        let shown = places
            .into_iter()
            .map(|place| Column::from(plan.schema().qualified_field(place)));
        let exprs: Vec<Expr> = shown.chain(ends).map(Expr::Column).collect();
        LogicalPlanBuilder::from(plan)
            .project(exprs)
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)
    }
}

fn reads_releases(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            found |= scan.table_name.table().starts_with(RELEASED);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found || walked.is_err()
}

/// Adds the ends of intervals to a plan.
pub(super) fn extend(plan: &LogicalPlan, names: &mut Names) -> Result<Extended, Error> {
    if !reads_releases(plan) {
        return Ok(as_it_is(plan, &Known::Exact));
    }
    match plan {
        LogicalPlan::TableScan(scan) => Ok(scanned(plan, scan, names)),
        LogicalPlan::Filter(filter) => {
            let input = extend(&filter.input, names)?;
            let chosen = input.chosen || input.is_noisy(&filter.predicate);
            over(plan, input).map(|kept| Extended { chosen, ..kept })
        }
        LogicalPlan::Sort(sort) => {
            let input = extend(&sort.input, names)?;
            let ordered = sort.expr.iter().any(|key| input.is_noisy(&key.expr));
            let chosen = input.chosen || (ordered && sort.fetch.is_some());
            over(plan, input).map(|kept| Extended {
                chosen,
                ordered,
                ..kept
            })
        }
        LogicalPlan::Limit(limit) => {
            let input = extend(&limit.input, names)?;
            let chosen = input.chosen || input.ordered;
            over(plan, input).map(|kept| Extended { chosen, ..kept })
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = extend(&alias.input, names)?;
            let plan = LogicalPlanBuilder::from(input.plan)
                .alias(alias.alias.clone())
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
            let columns = input.columns.into_iter();
            Ok(Extended {
                plan,
                columns: columns.map(|known| requalified(known, &alias.alias)).collect(),
                ..input
            })
        }
        LogicalPlan::Projection(projection) => projected(projection, names),
        LogicalPlan::Union(union) => united(union, names),
        LogicalPlan::Join(join) => joined(plan, join, names),
        LogicalPlan::Window(window) => windowed(window, names),
        LogicalPlan::Aggregate(aggregate) => aggregated(aggregate, names),
        LogicalPlan::Distinct(Distinct::All(input)) => distinct(input, names),
        other => Ok(as_it_is(other, &Known::Noisy(UNKNOWN))),
    }
}

fn as_it_is(plan: &LogicalPlan, known: &Known) -> Extended {
    Extended {
        plan: plan.clone(),
        columns: vec![known.clone(); plan.schema().fields().len()],
        chosen: !known.is_exact(),
        ordered: !known.is_exact(),
    }
}

/// The same operator over the extended input, of an operator that hands all columns on.
fn over(plan: &LogicalPlan, input: Extended) -> Result<Extended, Error> {
    let plan = plan
        .with_new_exprs(plan.expressions(), vec![input.plan])
        .map_err(unplannable)?;
    Ok(Extended { plan, ..input })
}

fn requalified(known: Known, alias: &TableReference) -> Known {
    match known {
        Known::Within(ends) => {
            let Ends { columns, sources } = *ends;
            Known::within(
                columns.map(|column| Column::new(Some(alias.clone()), column.name)),
                sources,
            )
        }
        other => other,
    }
}

/// A released table holds its own ends already. Each mention of it is distinguished: rows of two mentions meet in joins, and their noise differs.
fn scanned(plan: &LogicalPlan, scan: &TableScan, names: &mut Names) -> Extended {
    let fields = plan.schema().fields();
    let is_end = |name: &str| ENDS.iter().any(|end| name.strip_prefix(end).is_some());
    let shown = fields.iter().filter(|field| !is_end(field.name())).count();
    let columns = (0..shown).map(|place| {
        let ends = ENDS.map(|end| format!("{end}{place}"));
        let there = |name: &String| fields.iter().any(|field| field.name() == name);
        if fields[place].metadata().contains_key(NOISY) {
            return Known::Noisy(CHOSEN_BY_COUNTS);
        }
        if !ends.iter().all(there) {
            return Known::Exact;
        }
        Known::within(
            ends.map(|end| Column::new(Some(scan.table_name.clone()), end)),
            names.source(),
        )
    });
    Extended {
        columns: columns.collect(),
        plan: plan.clone(),
        chosen: scan.source.schema().metadata().contains_key(CHOSEN),
        ordered: false,
    }
}

fn projected(projection: &Projection, names: &mut Names) -> Result<Extended, Error> {
    let input = extend(&projection.input, names)?;
    let mut exprs = projection.expr.clone();
    let mut columns = Vec::new();
    for expr in &projection.expr {
        columns.push(match spans::part(expr, &input, names)? {
            Part::Exact => Known::Exact,
            Part::Lost(why) => Known::Noisy(why),
            Part::Span(span) => {
                let ends = names.ends();
                for (end, name) in span.ends.into_iter().zip(&ends) {
                    exprs.push(end.alias(name));
                }
                Known::within(ends.map(Column::from_name), span.sources)
            }
        });
    }
    let plan = LogicalPlanBuilder::from(input.plan)
        .project(exprs)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    Ok(Extended {
        plan,
        columns,
        chosen: input.chosen,
        ordered: input.ordered,
    })
}

/// A row of a union is a row of one of its sides, so its interval is that side's. Which side that is, and so which noise it depends on, is reported by a name of its own.
fn united(union: &Union, names: &mut Names) -> Result<Extended, Error> {
    let sides = union
        .inputs
        .iter()
        .map(|input| extend(input, names))
        .collect::<Result<Vec<_>, _>>()?;
    let width = union.schema.fields().len();
    let mut columns = Vec::new();
    let mut named: Vec<Option<[String; 4]>> = Vec::new();
    for place in 0..width {
        let knowns = || sides.iter().filter_map(|side| side.columns.get(place));
        let lost = knowns().find_map(|known| match known {
            Known::Noisy(why) => Some(*why),
            _ => None,
        });
        let ends = knowns()
            .any(|known| matches!(known, Known::Within(_)))
            .then(|| names.ends());
        columns.push(match (&ends, lost) {
            (Some(ends), _) => Known::within(ends.clone().map(Column::from_name), names.source()),
            (None, Some(why)) => Known::Noisy(why),
            (None, None) => Known::Exact,
        });
        named.push(ends);
    }
    let chosen = sides.iter().any(|side| side.chosen);
    let mut inputs = Vec::new();
    for side in sides {
        let mut exprs: Vec<Expr> = (0..width)
            .map(|place| Expr::Column(Column::from(side.plan.schema().qualified_field(place))))
            .collect();
        for (known, ends) in side.columns.iter().zip(&named) {
            let Some(ends) = ends else { continue };
            for (at, name) in ends.iter().enumerate() {
                let end = match known {
                    Known::Within(ends) => Expr::Column(ends.columns[at].clone()),
                    Known::Exact | Known::Noisy(_) => lit(ScalarValue::Float64(None)),
                };
                exprs.push(end.alias(name));
            }
        }
        let side = LogicalPlanBuilder::from(side.plan)
            .project(exprs)
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)?;
        inputs.push(Arc::new(side));
    }
    let plan = LogicalPlan::Union(Union::try_new_with_loose_types(inputs).map_err(unplannable)?);
    Ok(Extended {
        plan,
        columns,
        chosen,
        ordered: true,
    })
}

fn joined(plan: &LogicalPlan, join: &Join, names: &mut Names) -> Result<Extended, Error> {
    if !matches!(
        join.join_type,
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full
    ) {
        return Ok(as_it_is(plan, &Known::Noisy(UNKNOWN)));
    }
    let (left, right) = (extend(&join.left, names)?, extend(&join.right, names)?);
    let on_noise = join.on.iter().any(|(a, b)| left.is_noisy(a) || right.is_noisy(b));
    let filtered = join.filter.as_ref().is_some_and(|filter| {
        let mut noisy = false;
        let walked = filter.apply(|part| {
            if let Expr::Column(column) = part {
                let known = left.known(column).or_else(|| right.known(column));
                noisy |= !known.is_some_and(Known::is_exact);
            }
            Ok(TreeNodeRecursion::Continue)
        });
        noisy || walked.is_err()
    });
    let chosen = left.chosen || right.chosen || on_noise || filtered;
    let (of_left, all_left) = (left.columns.len(), left.plan.schema().fields().len());
    let places = (0..of_left)
        .chain(all_left..all_left + right.columns.len())
        .collect();
    let columns: Vec<Known> = left.columns.into_iter().chain(right.columns).collect();
    let joined = plan
        .with_new_exprs(plan.expressions(), vec![left.plan, right.plan])
        .map_err(unplannable)?;
    Ok(Extended {
        plan: Extended::arranged(joined, places, columns.clone())?,
        columns,
        chosen,
        ordered: true,
    })
}

fn windowed(window: &Window, names: &mut Names) -> Result<Extended, Error> {
    let input = extend(&window.input, names)?;
    let added = window.window_expr.iter().map(|expr| {
        if input.is_noisy(expr) {
            Known::Noisy(OVER_MANY)
        } else if input.chosen {
            Known::Noisy(WHICH_ROWS)
        } else {
            Known::Exact
        }
    });
    let (shown, all) = (input.columns.len(), input.plan.schema().fields().len());
    let columns: Vec<Known> = input.columns.iter().cloned().chain(added).collect();
    let places = (0..shown).chain(all..all + window.window_expr.len()).collect();
    let plan = Window::try_new(window.window_expr.clone(), Arc::new(input.plan)).map_err(unplannable)?;
    Ok(Extended {
        plan: Extended::arranged(LogicalPlan::Window(plan), places, columns.clone())?,
        columns,
        chosen: input.chosen,
        ordered: true,
    })
}

/// An aggregate over released rows.
fn aggregated(aggregate: &Aggregate, names: &mut Names) -> Result<Extended, Error> {
    let input = extend(&aggregate.input, names)?;
    let by_noise = aggregate.group_expr.iter().any(|expr| input.is_noisy(expr));
    let keys = aggregate.schema.fields().len() - aggregate.aggr_expr.len();
    let of_groups = (0..keys).map(|_| match by_noise {
        true => Known::Noisy(GROUPED_BY),
        false => Known::Exact,
    });
    let of_aggregates = aggregate.aggr_expr.iter().map(|expr| {
        if by_noise || input.is_noisy(expr) {
            Known::Noisy(OVER_MANY)
        } else if input.chosen {
            Known::Noisy(WHICH_ROWS)
        } else {
            Known::Exact
        }
    });
    let columns = of_groups.chain(of_aggregates).collect();
    let plan = Aggregate::try_new(
        Arc::new(input.plan),
        aggregate.group_expr.clone(),
        aggregate.aggr_expr.clone(),
    )
    .map_err(unplannable)?;
    Ok(Extended {
        plan: LogicalPlan::Aggregate(plan),
        columns,
        chosen: input.chosen || by_noise,
        ordered: true,
    })
}

/// Rows that differ in their ends alone are the same row, so the ends go first.
fn distinct(input: &Arc<LogicalPlan>, names: &mut Names) -> Result<Extended, Error> {
    let input = extend(input, names)?;
    let exact = input.columns.iter().all(Known::is_exact);
    let columns = input.columns.iter().map(|known| match known {
        Known::Within(_) => Known::Noisy(GROUPED_BY),
        other => other.clone(),
    });
    let columns: Vec<Known> = columns.collect();
    let plan = Extended::arranged(input.plan, (0..columns.len()).collect(), columns.clone())?;
    let plan = LogicalPlanBuilder::from(plan)
        .distinct()
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    Ok(Extended {
        plan,
        columns,
        chosen: input.chosen || !exact,
        ordered: true,
    })
}
