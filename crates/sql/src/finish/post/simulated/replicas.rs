//! The rest of a query over many tables at once: a hidden column says which table a row is of, and windows, groups and joins keep to one table.

use super::super::known::reads_releases;
use crate::Error;
use crate::understand::mistakes::unplannable;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchemaRef};
use datafusion::logical_expr::expr::{ScalarFunction, WindowFunction};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Case, Expr, Filter, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Operator,
    Projection, Subquery, SubqueryAlias, TableScan, Window,
};
use std::sync::Arc;

/// The column of a table that says which of the many tables a row is of.
pub(super) const REPLICA: &str = "__deniable_replica";
/// Marks a column whose numbers were moved.
pub(super) const MOVED: &str = "deniable.moved";

/// What is known of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sim {
    /// It does not depend on noise.
    Exact,
    /// It changes smoothly with each noisy number, or is a rank.
    Smooth,
    /// It depends on noise in another way.
    Other,
}

/// A plan over many tables.
pub(super) struct Replicas {
    pub(super) plan: LogicalPlan,
    /// Which table a row is of; `None` where no released table is below.
    pub(super) replica: Option<Column>,
    /// Of the columns that the plan had, in their order.
    pub(super) columns: Vec<Sim>,
    /// The schema that the plan had.
    had: DFSchemaRef,
    /// Whether noise has decided which rows are there. All rows stay here: what noise left out is not shown, and so not looked up.
    chosen: bool,
    names: usize,
}

impl Replicas {
    fn sim(&self, column: &Column) -> Sim {
        let place = self.had.maybe_index_of_column(column);
        place
            .and_then(|place| self.columns.get(place))
            .copied()
            .unwrap_or(Sim::Other)
    }

    fn is_exact(&self, expr: &Expr) -> bool {
        is_exact(expr, &[self])
    }
}

/// Functions whose values are numbers, dates, or texts about as long as what they are made of; beside those of [`RISING`].
const SHORT: [&str; 21] = [
    "abs",
    "btrim",
    "character_length",
    "date_part",
    "date_trunc",
    "greatest",
    "initcap",
    "least",
    "left",
    "length",
    "lower",
    "ltrim",
    "mod",
    "right",
    "rtrim",
    "signum",
    "strpos",
    "substr",
    "to_char",
    "upper",
    "width_bucket",
];

/// Whether an expression may make long texts or lists. Over many tables these would take many times the memory that they take in the answer, so what is made of them is left alone.
fn is_long(expr: &Expr) -> bool {
    let mut found = false;
    let walked = expr.apply(|part| {
        found |= match part {
            Expr::BinaryExpr(binary) => binary.op == Operator::StringConcat,
            Expr::ScalarFunction(call) => {
                let name = call.func.name().to_lowercase();
                !SHORT.contains(&name.as_str()) && !RISING.contains(&name.as_str())
            }
            _ => false,
        };
        Ok(TreeNodeRecursion::Continue)
    });
    found || walked.is_err()
}

/// Whether an expression over the columns of these inputs depends on no noisy number.
fn is_exact(expr: &Expr, inputs: &[&Replicas]) -> bool {
    let exact = |column: &Column| {
        let known = inputs
            .iter()
            .find(|input| input.had.maybe_index_of_column(column).is_some());
        known.is_some_and(|input| input.sim(column) == Sim::Exact)
    };
    let subquery =
        |subquery: &Subquery| !subquery.outer_ref_columns.is_empty() || reads_releases(&subquery.subquery);
    let mut noisy = false;
    let walked = expr.apply(|part| {
        noisy |= match part {
            Expr::Column(column) => !exact(column),
            Expr::ScalarSubquery(inner) => subquery(inner),
            Expr::InSubquery(inner) => subquery(&inner.subquery),
            Expr::Exists(inner) => subquery(&inner.subquery),
            Expr::SetComparison(inner) => subquery(&inner.subquery),
            Expr::OuterReferenceColumn(..) => true,
            _ => false,
        };
        Ok(TreeNodeRecursion::Continue)
    });
    walked.is_ok() && !noisy
}

/// The plan over many tables, where it is of operators that can be.
pub(super) fn of(plan: &LogicalPlan) -> Result<Option<Replicas>, Error> {
    if !reads_releases(plan) {
        return Ok(Some(Replicas {
            plan: plan.clone(),
            replica: None,
            columns: vec![Sim::Exact; plan.schema().fields().len()],
            had: Arc::clone(plan.schema()),
            chosen: false,
            names: 0,
        }));
    }
    match plan {
        LogicalPlan::TableScan(scan) => Ok(scanned(plan, scan)),
        LogicalPlan::Projection(projection) => projected(plan, projection),
        LogicalPlan::Filter(filter) => filtered(filter),
        LogicalPlan::Sort(sort) => Ok(of(&sort.input)?.map(|input| Replicas {
            chosen: input.chosen || sort.fetch.is_some(),
            ..input
        })),
        LogicalPlan::Limit(limit) => Ok(of(&limit.input)?.map(|input| Replicas {
            chosen: true,
            ..input
        })),
        LogicalPlan::SubqueryAlias(alias) => aliased(plan, alias),
        LogicalPlan::Window(window) => windowed(plan, window),
        LogicalPlan::Aggregate(aggregate) => aggregated(plan, aggregate),
        LogicalPlan::Join(join) => joined(plan, join),
        _ => Ok(None),
    }
}

fn scanned(plan: &LogicalPlan, scan: &TableScan) -> Option<Replicas> {
    let fields = plan.schema().fields();
    let (last, shown) = fields.split_last()?;
    let columns = shown.iter().map(|field| {
        if field.metadata().contains_key(MOVED) {
            Sim::Smooth
        } else if super::super::reason(field).is_some() {
            Sim::Other
        } else {
            Sim::Exact
        }
    });
    (last.name() == REPLICA).then(|| Replicas {
        plan: plan.clone(),
        replica: Some(Column::new(Some(scan.table_name.clone()), REPLICA)),
        columns: columns.collect(),
        had: Arc::clone(plan.schema()),
        chosen: false,
        names: 0,
    })
}

fn built(builder: datafusion::common::Result<LogicalPlanBuilder>) -> Result<LogicalPlan, Error> {
    builder.and_then(LogicalPlanBuilder::build).map_err(unplannable)
}

fn projected(plan: &LogicalPlan, projection: &Projection) -> Result<Option<Replicas>, Error> {
    let Some(input) = of(&projection.input)? else {
        return Ok(None);
    };
    let columns = projection.expr.iter().map(|expr| match is_long(expr) {
        true => Sim::Other,
        false => of_expr(expr, &input),
    });
    let columns = columns.collect();
    let name = format!("{REPLICA}_{}", input.names);
    let mut exprs = projection.expr.clone();
    exprs.extend(
        input
            .replica
            .clone()
            .map(|replica| Expr::Column(replica).alias(&name)),
    );
    Ok(Some(Replicas {
        plan: built(LogicalPlanBuilder::from(input.plan).project(exprs))?,
        replica: input.replica.map(|_| Column::from_name(name)),
        columns,
        had: Arc::clone(plan.schema()),
        chosen: input.chosen,
        names: input.names + 1,
    }))
}

/// Rows that a noisy condition leaves out are not shown, so they may stay.
fn filtered(filter: &Filter) -> Result<Option<Replicas>, Error> {
    let Some(input) = of(&filter.input)? else {
        return Ok(None);
    };
    if !input.is_exact(&filter.predicate) || is_long(&filter.predicate) {
        return Ok(Some(Replicas {
            chosen: true,
            ..input
        }));
    }
    let plan = built(LogicalPlanBuilder::from(input.plan).filter(filter.predicate.clone()))?;
    Ok(Some(Replicas { plan, ..input }))
}

fn aliased(plan: &LogicalPlan, alias: &SubqueryAlias) -> Result<Option<Replicas>, Error> {
    let Some(input) = of(&alias.input)? else {
        return Ok(None);
    };
    let replica = input
        .replica
        .map(|replica| Column::new(Some(alias.alias.clone()), replica.name));
    Ok(Some(Replicas {
        plan: built(LogicalPlanBuilder::from(input.plan).alias(alias.alias.clone()))?,
        replica,
        had: Arc::clone(plan.schema()),
        ..input
    }))
}

/// Each window keeps to the rows of its table. It then has another name, and gets its own back.
fn windowed(plan: &LogicalPlan, window: &Window) -> Result<Option<Replicas>, Error> {
    let Some(input) = of(&window.input)? else {
        return Ok(None);
    };
    let Some(replica) = input.replica.clone() else {
        return Ok(None);
    };
    let added: Vec<Sim> = window
        .window_expr
        .iter()
        .map(|expr| of_window(expr, &input))
        .collect();
    let Some(exprs) = window
        .window_expr
        .iter()
        .map(|expr| within(expr, &replica))
        .collect::<Option<Vec<_>>>()
    else {
        return Ok(None);
    };
    let below = input.plan.schema().fields().len();
    let made = LogicalPlan::Window(Window::try_new(exprs, Arc::new(input.plan)).map_err(unplannable)?);
    let names = plan.schema().fields()[input.columns.len()..]
        .iter()
        .map(|field| field.name().clone());
    let kept = (0..below).map(|place| Expr::Column(Column::from(made.schema().qualified_field(place))));
    let renamed = names.enumerate().map(|(place, name)| {
        Expr::Column(Column::from(made.schema().qualified_field(below + place))).alias(name)
    });
    let shown: Vec<Expr> = kept.chain(renamed).collect();
    Ok(Some(Replicas {
        plan: built(LogicalPlanBuilder::from(made).project(shown))?,
        columns: input.columns.into_iter().chain(added).collect(),
        had: Arc::clone(plan.schema()),
        replica: input.replica,
        chosen: input.chosen,
        names: input.names,
    }))
}

/// The same window over the rows of one table.
fn within(expr: &Expr, replica: &Column) -> Option<Expr> {
    match expr {
        Expr::Alias(alias) => within(&alias.expr, replica),
        Expr::WindowFunction(function) => {
            let mut function = function.clone();
            function.params.partition_by.push(Expr::Column(replica.clone()));
            Some(Expr::WindowFunction(function))
        }
        _ => None,
    }
}

/// Windows that give the place of a row among others.
const PLACES: [&str; 6] = [
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
];
/// Windows that hand on a number of another row, and those that add numbers up.
const HANDED_ON: [&str; 5] = ["lag", "lead", "first_value", "last_value", "nth_value"];
const ADDED_UP: [&str; 3] = ["sum", "avg", "count"];

fn of_window(expr: &Expr, input: &Replicas) -> Sim {
    let function: &WindowFunction = match expr {
        Expr::Alias(alias) => return of_window(&alias.expr, input),
        Expr::WindowFunction(function) => function,
        _ => return Sim::Other,
    };
    if input.chosen || is_long(expr) {
        return Sim::Other;
    }
    if input.is_exact(expr) {
        return Sim::Exact;
    }
    let params = &function.params;
    let exact = |exprs: &[Expr]| exprs.iter().all(|expr| input.is_exact(expr));
    let plain = !params.distinct && params.filter.is_none() && params.null_treatment.is_none();
    if !plain || !exact(&params.partition_by) {
        return Sim::Other;
    }
    let orders: Vec<Sim> = params
        .order_by
        .iter()
        .map(|key| of_expr(&key.expr, input))
        .collect();
    let arguments: Vec<Sim> = params
        .args
        .iter()
        .map(|argument| of_expr(argument, input))
        .collect();
    let name = function.fun.name();
    let ordered = orders.iter().all(|known| *known == Sim::Exact);
    let smooth = |known: &[Sim]| !known.contains(&Sim::Other);
    let is_smooth = if PLACES.contains(&name) {
        !orders.is_empty() && smooth(&orders) && arguments.iter().all(|known| *known == Sim::Exact)
    } else if HANDED_ON.contains(&name) {
        !orders.is_empty() && ordered && smooth(&arguments)
    } else {
        ADDED_UP.contains(&name) && ordered && smooth(&arguments)
    };
    if is_smooth { Sim::Smooth } else { Sim::Other }
}

fn aggregated(plan: &LogicalPlan, aggregate: &Aggregate) -> Result<Option<Replicas>, Error> {
    let Some(input) = of(&aggregate.input)? else {
        return Ok(None);
    };
    let exact = aggregate
        .group_expr
        .iter()
        .all(|expr| input.is_exact(expr) && !is_long(expr));
    let sets = aggregate
        .group_expr
        .iter()
        .any(|expr| matches!(expr, Expr::GroupingSet(_)));
    let (Some(replica), true, false, false) = (input.replica.clone(), exact, sets, input.chosen) else {
        return Ok(None);
    };
    let keys = vec![Sim::Exact; aggregate.group_expr.len()];
    let added = aggregate.aggr_expr.iter().map(|expr| of_aggregate(expr, &input));
    let columns = keys.into_iter().chain(added).collect();
    let mut groups = aggregate.group_expr.clone();
    groups.push(Expr::Column(replica.clone()));
    let made = Aggregate::try_new(Arc::new(input.plan), groups, aggregate.aggr_expr.clone());
    Ok(Some(Replicas {
        plan: LogicalPlan::Aggregate(made.map_err(unplannable)?),
        replica: Some(replica),
        columns,
        had: Arc::clone(plan.schema()),
        chosen: false,
        names: input.names,
    }))
}

fn of_aggregate(expr: &Expr, input: &Replicas) -> Sim {
    match expr {
        Expr::Alias(alias) => of_aggregate(&alias.expr, input),
        _ if is_long(expr) => Sim::Other,
        _ if input.is_exact(expr) => Sim::Exact,
        Expr::AggregateFunction(call) => {
            let params = &call.params;
            let plain = !params.distinct && params.filter.is_none() && params.order_by.is_empty();
            let smooth = params
                .args
                .iter()
                .all(|argument| of_expr(argument, input) != Sim::Other);
            match plain && smooth && ADDED_UP.contains(&call.func.name()) {
                true => Sim::Smooth,
                false => Sim::Other,
            }
        }
        _ => Sim::Other,
    }
}

/// Rows of one table meet rows of the same table. A public side that keeps all its rows keeps them once for each table.
fn joined(plan: &LogicalPlan, join: &Join) -> Result<Option<Replicas>, Error> {
    let (Some(mut left), Some(mut right)) = (of(&join.left)?, of(&join.right)?) else {
        return Ok(None);
    };
    let both = [&left, &right];
    let plain = |expr: &Expr| is_exact(expr, &both) && !is_long(expr);
    let exact = join.on.iter().all(|(a, b)| plain(a) && plain(b)) && join.filter.as_ref().is_none_or(plain);
    if !exact || !matches!(join.join_type, JoinType::Inner | JoinType::Left | JoinType::Right) {
        return Ok(None);
    }
    let names = left.names.max(right.names) + 1;
    match join.join_type {
        JoinType::Left if left.replica.is_none() => left = repeated(left, &right, names)?,
        JoinType::Right if right.replica.is_none() => right = repeated(right, &left, names)?,
        _ => {}
    }
    let mut on = join.on.clone();
    if let (Some(a), Some(b)) = (&left.replica, &right.replica) {
        on.push((Expr::Column(a.clone()), Expr::Column(b.clone())));
    }
    let replica = match join.join_type {
        JoinType::Right => right.replica.clone().or(left.replica.clone()),
        _ => left.replica.clone().or(right.replica.clone()),
    };
    let made = LogicalPlan::Join(Join { on, ..join.clone() });
    let made = made.with_new_exprs(made.expressions(), vec![left.plan, right.plan]);
    Ok(Some(Replicas {
        plan: made.map_err(unplannable)?,
        replica,
        columns: left.columns.into_iter().chain(right.columns).collect(),
        had: Arc::clone(plan.schema()),
        chosen: left.chosen || right.chosen,
        names: names + 1,
    }))
}

/// The rows of a public side, for each table that the other side has.
fn repeated(side: Replicas, other: &Replicas, names: usize) -> Result<Replicas, Error> {
    let Some(replica) = &other.replica else {
        return Ok(side);
    };
    let name = format!("{REPLICA}_{names}");
    let tables = built(
        LogicalPlanBuilder::from(other.plan.clone())
            .project([Expr::Column(replica.clone()).alias(&name)])
            .and_then(LogicalPlanBuilder::distinct),
    )?;
    Ok(Replicas {
        plan: built(LogicalPlanBuilder::from(side.plan).cross_join(tables))?,
        replica: Some(Column::from_name(name)),
        ..side
    })
}

/// Functions of a number that never fall.
const RISING: [&str; 20] = [
    "round", "floor", "ceil", "ceiling", "trunc", "exp", "cbrt", "atan", "sinh", "tanh", "degrees",
    "radians", "sqrt", "ln", "log2", "log10", "power", "pow", "coalesce", "nullif",
];

fn of_expr(expr: &Expr, input: &Replicas) -> Sim {
    if input.is_exact(expr) {
        return Sim::Exact;
    }
    let all = |parts: &[&Expr]| {
        let known = parts.iter().map(|part| of_expr(part, input));
        match known.into_iter().any(|known| known == Sim::Other) {
            true => Sim::Other,
            false => Sim::Smooth,
        }
    };
    match expr {
        Expr::Column(column) => input.sim(column),
        Expr::Alias(alias) => of_expr(&alias.expr, input),
        Expr::Cast(cast) if cast.field.data_type().is_numeric() => of_expr(&cast.expr, input),
        Expr::TryCast(cast) if cast.field.data_type().is_numeric() => of_expr(&cast.expr, input),
        Expr::Negative(inner) => of_expr(inner, input),
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide,
            right,
        }) => all(&[left, right]),
        Expr::ScalarFunction(call) => of_function(call, input),
        Expr::Case(case) => of_case(case, input),
        _ => Sim::Other,
    }
}

/// Of one noisy number, a function that never falls.
fn of_function(call: &ScalarFunction, input: &Replicas) -> Sim {
    let name = call.func.name().to_lowercase();
    let known: Vec<Sim> = call
        .args
        .iter()
        .map(|argument| of_expr(argument, input))
        .collect();
    let noisy = known.iter().filter(|known| **known != Sim::Exact).count();
    let rising = match name.as_str() {
        "greatest" | "least" => noisy == 1,
        _ => RISING.contains(&name.as_str()) && noisy == 1 && known.first() != Some(&Sim::Exact),
    };
    match rising && !known.contains(&Sim::Other) {
        true => Sim::Smooth,
        false => Sim::Other,
    }
}

/// CASE whose conditions are exact; or one whose noisy conditions only keep a value from being computed, as before a division.
fn of_case(case: &Case, input: &Replicas) -> Sim {
    let conditions = case
        .when_then_expr
        .iter()
        .map(|(condition, _)| condition)
        .chain(&case.expr);
    let exact = conditions.into_iter().all(|condition| input.is_exact(condition));
    let results: Vec<&Expr> = case
        .when_then_expr
        .iter()
        .map(|(_, then)| then.as_ref())
        .chain(case.else_expr.as_deref())
        .collect();
    let is_null = |expr: &&&Expr| matches!(expr, Expr::Literal(value, _) if value.is_null());
    let values = results.iter().filter(|result| !is_null(result)).count();
    let smooth = results.iter().all(|result| of_expr(result, input) != Sim::Other);
    match smooth && (exact || values == 1) {
        true => Sim::Smooth,
        false => Sim::Other,
    }
}
