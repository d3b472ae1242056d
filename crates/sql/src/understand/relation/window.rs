//! Windows inside one unit: `OVER (PARTITION BY unit, … ORDER BY …)`. Each row keeps its owner, and gets what is computed of the same owner's rows.

use super::{Rows, distinct_on, resolve, rows};
use crate::Error;
use crate::catalog::Catalog;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::understand::expression::Typed;
use crate::understand::mistakes::unplannable;
use crate::values::facts::{Facts, Kind, Range};
use bound::{Frame, Ordered, OwnerWindow, WindowValue, canonical, rows_of_texts, texts_in};
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    Expr, LogicalPlanBuilder, Window, WindowFrame, WindowFrameBound, WindowFrameUnits, cast, lit, when,
};

/// Of one unit this many rows are put in order at most.
const MOST_ROWS: u64 = 10_000;
/// How far a frame reaches to each side at most, where it does not reach to the end; and how far LAG and LEAD do.
const MOST_STEPS: i64 = 1_000_000;

/// Reads functions over windows, each of which is partitioned by the unit.
pub(super) fn windowed(window: &Window, catalog: &Catalog) -> Result<Rows, Error> {
    let mut rows = rows(&window.input, catalog)?;
    let width = window.input.schema().fields().len();
    let mut sure = MOST_ROWS;
    for (place, expr) in window.window_expr.iter().enumerate() {
        let (qualifier, field) = window.schema.qualified_field(width + place);
        let name = (qualifier.cloned(), field.name().clone());
        let Expr::WindowFunction(function) = expr.clone().unalias() else {
            return Err(Error::refused(
                "this is no window function",
                "write f(…) OVER (…)",
            ));
        };
        let called = function.fun.name().to_lowercase();
        rows.sums_inside |= matches!(called.as_str(), "sum" | "avg");
        let texts;
        (rows, texts) = one(rows, &function, name, catalog)?;
        sure = sure.min(rows_of_texts(texts) as u64);
    }
    let whose = &catalog.unit.whose;
    if rows.may_exceed(sure) {
        // The plan that runs holds the texts that are needed, and as many rows as their memory allows.
        let fewer = match sure < MOST_ROWS {
            true => format!(", or {sure} if all columns of text are needed"),
            false => String::new(),
        };
        rows.left_out.push(format!(
            "windows use at most {MOST_ROWS} rows of each {whose}{fewer}"
        ));
    }
    rows.rows_per_unit = Some(rows.rows_per_unit.map_or(MOST_ROWS, |most| most.min(MOST_ROWS)));
    rows.story.push(format!(
        "windows over the rows of each {whose}, of which at most {MOST_ROWS} are put in order"
    ));
    Ok(rows)
}

/// Adds one function, and says how many columns of text there are where rows are put in order.
fn one(
    mut rows: Rows,
    function: &WindowFunction,
    name: super::Name,
    catalog: &Catalog,
) -> Result<(Rows, usize), Error> {
    let whose = &catalog.unit.whose;
    let params = &function.params;
    if !rows.has_unit || !params.partition_by.iter().any(|expr| rows.names_unit(expr)) {
        if name.1 == distinct_on::NUMBER {
            return Err(distinct_on::of_several(whose));
        }
        return Err(Error::refused(
            format!(
                "a window over private rows has to be partitioned by the {whose}: otherwise one {whose} changes the windows of others"
            ),
            format!(
                "add the column that names the {whose} to PARTITION BY, or aggregate first and use the window over the result"
            ),
        ));
    }
    if params.distinct || params.null_treatment.is_some() {
        return Err(Error::refused(
            "DISTINCT and IGNORE NULLS are not understood in a window over private rows",
            "leave them out, or filter the rows in a subquery",
        ));
    }
    // What the window looks at, as further columns.
    let mut exprs = rows.all();
    let mut partition = Vec::new();
    let mut by_unit = true;
    // The columns in which rows of a partition agree; none where it is divided by something else.
    let mut agree = Some(Vec::new());
    let helper = |what: &str, place: usize| format!("__deniable_{what}{place}");
    for expr in params.partition_by.iter().filter(|expr| !rows.names_unit(expr)) {
        let typed = rows.accept(expr)?;
        by_unit &= typed.facts.of_unit;
        if !typed.facts.of_unit {
            let column = match expr.clone().unalias() {
                Expr::Column(column) => resolve(&rows.columns, &column),
                _ => None,
            };
            agree = agree.zip(column).map(|(mut agree, column)| {
                agree.push(column);
                agree
            });
        }
        let column = helper("partition", partition.len());
        exprs.push(typed.expr.unalias().alias(&column));
        partition.push(Column::from_name(column));
    }
    let mut order = Vec::new();
    for sort in &params.order_by {
        let column = helper("order", order.len());
        exprs.push(rows.accept(&sort.expr)?.expr.unalias().alias(&column));
        order.push(Ordered {
            column: Column::from_name(column),
            descending: !sort.asc,
            nulls_first: sort.nulls_first,
        });
    }
    let most = rows.rows_per_unit.map_or(MOST_ROWS, |most| most.min(MOST_ROWS));
    let computed = Computed::of(function, &rows, most)?;
    if let Some(argument) = &computed.argument {
        exprs.push(argument.clone().alias(ARGUMENT));
    }
    let result = |place: usize| helper("window", place);
    let plan = LogicalPlanBuilder::from(rows.plan.clone())
        .project(exprs)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    let texts = texts_in(plan.schema().as_arrow());
    #[cfg(test)]
    let careless = planted(Mutant::WindowTies)
        .then(|| careless(&plan, &order, &computed))
        .flatten();
    let values = computed.values.iter().enumerate();
    let plan = OwnerWindow {
        owner: rows.unit_column(),
        input: plan,
        partition,
        order,
        values: values
            .map(|(place, value)| (value.clone(), result(place)))
            .collect(),
        most,
    }
    .plan()
    .map_err(unplannable)?;
    #[cfg(test)]
    let plan = careless.unwrap_or(plan);
    let mut shown: Vec<Expr> = rows
        .columns
        .iter()
        .map(|(qualifier, name, _)| Expr::Column(Column::new(qualifier.clone(), name.clone())))
        .collect();
    let value = (computed.result)(
        &(0..computed.values.len())
            .map(|place| super::bare(&result(place)))
            .collect::<Vec<_>>(),
    );
    shown.push(value.alias_qualified(name.0.clone(), name.1.clone()));
    shown.push(rows.unit_expr());
    rows.plan = LogicalPlanBuilder::from(plan)
        .project(shown)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    let facts = Facts {
        of_unit: by_unit && computed.whole,
        ..computed.facts
    };
    if let ([WindowValue::RowNumber], Some(agree)) = (computed.values.as_slice(), agree) {
        rows.repeats.number(name.clone(), agree);
    }
    rows.columns.push((name.0, name.1, facts));
    rows.promised = false;
    rows.clustered = false;
    Ok((rows, texts))
}

/// The column that a function looks at.
const ARGUMENT: &str = "__deniable_argument";

/// ROW_NUMBER as the engine numbers rows, ties in any order.
#[cfg(test)]
fn careless(
    plan: &datafusion::logical_expr::LogicalPlan,
    order: &[Ordered],
    computed: &Computed,
) -> Option<datafusion::logical_expr::LogicalPlan> {
    use datafusion::logical_expr::ExprFunctionExt;
    if computed.values != [WindowValue::RowNumber] || order.is_empty() {
        return None;
    }
    let order = order
        .iter()
        .map(|ordered| Expr::Column(ordered.column.clone()).sort(!ordered.descending, ordered.nulls_first));
    let number = datafusion::functions_window::expr_fn::row_number()
        .partition_by(vec![super::bare(super::UNIT)])
        .order_by(order.collect())
        .build()
        .ok()?;
    let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let numbered = LogicalPlanBuilder::from(plan.clone())
        .window(vec![number.alias("__deniable_number")])
        .ok()?;
    let number = cast(super::bare("__deniable_number"), Kind::Int.data_type()).alias("__deniable_window0");
    numbered
        .project(columns.into_iter().chain([number]))
        .ok()?
        .build()
        .ok()
}

/// Makes a function's value from what the engine computed.
type Made = Box<dyn Fn(&[Expr]) -> Expr>;

/// What a function is made of.
struct Computed {
    /// What the engine computes of the argument.
    values: Vec<WindowValue>,
    /// The argument, total.
    argument: Option<Expr>,
    /// The function's value from these.
    result: Made,
    facts: Facts,
    /// All rows of a partition have the same value.
    whole: bool,
}

impl Computed {
    fn of(function: &WindowFunction, rows: &Rows, most: u64) -> Result<Self, Error> {
        let params = &function.params;
        let called = function.fun.name().to_lowercase();
        let argument = |at: usize| -> Result<Typed, Error> {
            let expr = params
                .args
                .get(at)
                .ok_or_else(|| Error::refused(format!("{called} needs an argument"), "name a column"))?;
            let mut typed = rows.accept(expr)?;
            typed.expr = typed.expr.unalias();
            if let Some(filter) = &params.filter {
                let kept = rows.accept(filter)?.expr;
                let null = cast(lit(ScalarValue::Null), typed.facts.kind.data_type());
                typed.expr = when(kept, typed.expr).otherwise(null).map_err(unplannable)?;
            }
            Ok(typed)
        };
        let column = || Column::from_name(ARGUMENT);
        let known = |kind: Kind, range: Option<Range>, nullable: bool| Facts {
            range,
            nullable,
            ..Facts::unknown(kind)
        };
        let numbered = |value: WindowValue| Self {
            values: vec![value],
            argument: None,
            result: Box::new(|computed| computed[0].clone()),
            facts: known(Kind::Int, Range::new(1.0, most as f64), false),
            whole: false,
        };
        let taken = |value: WindowValue, typed: Typed, whole: bool| Self {
            values: vec![value],
            argument: Some(typed.expr),
            result: Box::new(|computed| computed[0].clone()),
            facts: Facts {
                nullable: true,
                of_unit: false,
                ..typed.facts
            },
            whole,
        };
        let frame = || frame(&params.window_frame, params.order_by.is_empty());
        match called.as_str() {
            "row_number" => Ok(numbered(WindowValue::RowNumber)),
            "rank" => Ok(numbered(WindowValue::Rank)),
            "dense_rank" => Ok(numbered(WindowValue::DenseRank)),
            "percent_rank" | "cume_dist" | "ntile" => part_of_partition(&called, params, column(), most),
            "lag" | "lead" => {
                let by = match params.args.get(1) {
                    None => 1,
                    Some(Expr::Literal(ScalarValue::Int64(Some(by)), _)) if by.abs() <= MOST_STEPS => *by,
                    Some(_) => {
                        return Err(Error::refused(
                            format!("{called} goes a constant number of rows"),
                            format!("write {called}(x, 1)"),
                        ));
                    }
                };
                if params.args.len() > 2 {
                    return Err(Error::refused(
                        format!("{called} with a value for rows that are not there is not understood"),
                        format!("write COALESCE({called}(x), …) where x is never NULL"),
                    ));
                }
                let by = if called == "lag" { by } else { -by };
                Ok(taken(WindowValue::Lag(column(), by), argument(0)?, false))
            }
            "first_value" | "last_value" | "min" | "max" => {
                let (frame, whole) = frame()?;
                let value = match called.as_str() {
                    "first_value" => WindowValue::First(column(), frame),
                    "last_value" => WindowValue::Last(column(), frame),
                    "min" => WindowValue::Least(column(), frame),
                    _ => WindowValue::Largest(column(), frame),
                };
                Ok(taken(value, argument(0)?, whole))
            }
            "count" => {
                let (frame, whole) = frame()?;
                let all = params
                    .args
                    .iter()
                    .all(|arg| matches!(arg, Expr::Literal(value, _) if !value.is_null()));
                let counted = match (all, &params.filter) {
                    (true, None) => lit(1i64),
                    (true, Some(filter)) => {
                        let null = cast(lit(ScalarValue::Null), Kind::Int.data_type());
                        let kept = rows.accept(filter)?.expr;
                        when(kept, lit(1i64)).otherwise(null).map_err(unplannable)?
                    }
                    (false, _) => argument(0)?.expr,
                };
                Ok(Self {
                    values: vec![WindowValue::Count(column(), frame)],
                    argument: Some(counted),
                    result: Box::new(|computed| computed[0].clone()),
                    facts: known(Kind::Int, Range::new(0.0, most as f64), false),
                    whole,
                })
            }
            "sum" | "avg" => {
                let (frame, whole) = frame()?;
                let value = argument(0)?;
                let kind = value.facts.kind;
                if !kind.is_number() {
                    return Err(Error::refused(
                        format!("{called} of {kind} is not understood"),
                        "use it on a number",
                    ));
                }
                // Of the values as they are. Bounds are for what leaves the unit.
                let range = value.facts.range;
                let times = most as f64;
                let summed = range.and_then(|range| {
                    Range::new(
                        range.low.min(range.low * times),
                        range.high.max(range.high * times),
                    )
                });
                let first: fn(&[Expr]) -> Expr = |computed| computed[0].clone();
                let (values, result, facts): (_, Made, _) = match (called.as_str(), kind) {
                    ("avg", Kind::Int) => (
                        vec![
                            WindowValue::Sum(column(), frame),
                            WindowValue::Count(column(), frame),
                        ],
                        Box::new(|computed| {
                            let float = |expr: &Expr| cast(expr.clone(), Kind::Float.data_type());
                            // Where nothing is summed the sum is NULL, and so is the quotient.
                            canonical(float(&computed[0]) / float(&computed[1]), Kind::Float)
                        }),
                        known(Kind::Float, range, true),
                    ),
                    ("avg", _) => (
                        vec![WindowValue::FloatAverage(column(), frame)],
                        Box::new(first),
                        known(Kind::Float, range, true),
                    ),
                    (_, Kind::Int) => (
                        vec![WindowValue::Sum(column(), frame)],
                        Box::new(first),
                        known(Kind::Int, summed, true),
                    ),
                    _ => (
                        vec![WindowValue::FloatSum(column(), frame)],
                        Box::new(first),
                        known(Kind::Float, summed, true),
                    ),
                };
                Ok(Self {
                    values,
                    argument: Some(value.expr),
                    result,
                    facts,
                    whole,
                })
            }
            other => Err(Error::refused(
                format!("{other} over a window of private rows is refused"),
                "use ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LAG, LEAD, FIRST_VALUE, LAST_VALUE, COUNT, SUM, AVG, MIN or MAX",
            )),
        }
    }
}

/// Where a row stands among all rows of its partition. Each is computed of its place and of how many rows there are.
fn part_of_partition(
    called: &str,
    params: &WindowFunctionParams,
    rows: Column,
    most: u64,
) -> Result<Computed, Error> {
    let all = WindowValue::Count(rows.clone(), Frame::Rows(None, None));
    let float = |expr: Expr| cast(expr, Kind::Float.data_type());
    let (values, result, kind, range): (_, Made, _, _) = match called {
        "percent_rank" => (
            vec![WindowValue::Rank, all],
            Box::new(move |computed| {
                let before = float(computed[0].clone() - lit(1i64));
                let others = float(computed[1].clone() - lit(1i64));
                // Of a single row it is 0.
                let others = when(others.clone().gt(lit(0.0f64)), others).otherwise(lit(1.0f64));
                canonical(before / others.unwrap_or_else(|_| lit(1.0f64)), Kind::Float)
            }),
            Kind::Float,
            Range::new(0.0, 1.0),
        ),
        "cume_dist" => {
            // Without an order all rows are equals.
            let frame = match params.order_by.is_empty() {
                true => Frame::Rows(None, None),
                false => Frame::UpToPeers,
            };
            (
                vec![WindowValue::Count(rows, frame), all],
                Box::new(move |computed| {
                    canonical(
                        float(computed[0].clone()) / float(computed[1].clone()),
                        Kind::Float,
                    )
                }),
                Kind::Float,
                Range::new(0.0, 1.0),
            )
        }
        _ => {
            let tiles = match params.args.first() {
                Some(Expr::Literal(ScalarValue::Int64(Some(tiles)), _))
                    if (1..=MOST_STEPS).contains(tiles) =>
                {
                    *tiles
                }
                _ => {
                    return Err(Error::refused(
                        "NTILE needs a constant number of parts",
                        "write NTILE(4), with a number from 1 to a million",
                    ));
                }
            };
            (
                vec![WindowValue::RowNumber, all],
                Box::new(move |computed| tile(&computed[0], &computed[1], tiles)),
                Kind::Int,
                Range::new(1.0, (tiles as f64).min(most as f64)),
            )
        }
    };
    Ok(Computed {
        values,
        argument: Some(lit(1i64)),
        result,
        facts: Facts {
            range,
            nullable: false,
            ..Facts::unknown(kind)
        },
        whole: false,
    })
}

/// The part that a row falls in, as PostgreSQL divides rows: parts differ by one row at most, and the larger ones come first. Nothing is divided by zero, so it cannot fail.
fn tile(place: &Expr, rows: &Expr, tiles: i64) -> Expr {
    let tiles = || lit(tiles);
    let (least, larger) = (rows.clone() / tiles(), rows.clone() % tiles());
    let before = place.clone() - lit(1i64);
    let in_larger = larger.clone() * (least.clone() + lit(1i64));
    // Said so that whoever verifies the plan sees it: 1, where it is less than that.
    let positive = |number: Expr| {
        let divisor = when(number.clone().lt(lit(1i64)), lit(1i64)).otherwise(number);
        divisor.unwrap_or_else(|_| lit(1i64))
    };
    let smaller = (before.clone() - in_larger.clone()) / positive(least.clone()) + larger;
    let part = when(before.clone().lt(in_larger), before / positive(least + lit(1i64))).otherwise(smaller);
    part.unwrap_or_else(|_| lit(0i64)) + lit(1i64)
}

/// The rows that a function looks at, and whether they are the whole partition.
fn frame(frame: &WindowFrame, unordered: bool) -> Result<(Frame, bool), Error> {
    let not_understood = || {
        Error::refused(
            "this frame of a window is not understood over private rows",
            "write ROWS BETWEEN n PRECEDING AND m FOLLOWING, with numbers, UNBOUNDED or CURRENT ROW; or leave it out",
        )
    };
    let number = |value: &ScalarValue| -> Result<Option<i64>, Error> {
        let number = match value {
            value if value.is_null() => return Ok(None),
            ScalarValue::UInt64(Some(number)) => i64::try_from(*number).ok(),
            ScalarValue::Int64(Some(number)) => Some(*number),
            ScalarValue::Utf8(Some(text)) => text.parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| (0..=MOST_STEPS).contains(number));
        number.map(Some).ok_or_else(not_understood)
    };
    // How far before the row it begins, and how far after it it ends; `None`: at the end of the partition.
    let start = match &frame.start_bound {
        WindowFrameBound::Preceding(value) => number(value)?,
        WindowFrameBound::CurrentRow => Some(0),
        WindowFrameBound::Following(value) => Some(-number(value)?.ok_or_else(not_understood)?),
    };
    let end = match &frame.end_bound {
        WindowFrameBound::Following(value) => number(value)?,
        WindowFrameBound::CurrentRow => Some(0),
        WindowFrameBound::Preceding(value) => Some(-number(value)?.ok_or_else(not_understood)?),
    };
    match (frame.units, start, end) {
        (_, None, None) => Ok((Frame::Rows(None, None), true)),
        (WindowFrameUnits::Rows, start, end) => Ok((Frame::Rows(start, end), false)),
        (WindowFrameUnits::Range, None, Some(0)) if frame.end_bound == WindowFrameBound::CurrentRow => {
            // Without an order all rows are equals.
            Ok(match unordered {
                true => (Frame::Rows(None, None), true),
                false => (Frame::UpToPeers, false),
            })
        }
        _ => Err(not_understood()),
    }
}
