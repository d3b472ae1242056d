//! Intervals through expressions.
//!
//! A span has two pairs of ends: the near pair holds the truth with 95 % confidence and the wide pair with 97.5 %, so that what depends on two noisy numbers
//! holds with 95 % when both lie in their wide pairs. Of more than two, nothing is said. Of each pair both ends are there or neither.
//!
//! Where a function never falls, its values at the ends are ends of its values. Whole numbers that come of a division or a cast may be rounded either way, so
//! their ends are rounded outwards.

use super::certainty::extend;
use super::known::{Ends, Extended, Known, Names};
use crate::Error;
use crate::understand::mistakes::unplannable;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::functions::core::expr_fn::{greatest, least};
use datafusion::functions::math::expr_fn::{abs, ceil, floor};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, Case, Expr, ExprSchemable, LogicalPlanBuilder, Operator, Subquery, lit, try_cast, when,
};
use std::collections::BTreeSet;
use std::sync::Arc;

const TOO_MANY: &str = "it combines more than two noisy numbers";
const NOT_A_NUMBER: &str = "it is decided by a noisy number, and is no number itself";
const NOT_CARRIED: &str = "intervals are not carried through this function or operator";
const CHOICE: &str = "a noisy number decides which case it is";
const INNER: &str = "the inner query that it uses has no interval";

/// An expression's interval, as expressions.
#[derive(Clone)]
pub(super) struct Span {
    /// Low and high, then wide low and wide high.
    pub(super) ends: [Expr; 4],
    /// Which noisy numbers it depends on.
    pub(super) sources: BTreeSet<usize>,
}

/// What is known of an expression.
pub(super) enum Part {
    /// It does not depend on noise.
    Exact,
    /// It is noisy, within these ends.
    Span(Box<Span>),
    /// It is noisy, and this is why no interval is reported.
    Lost(&'static str),
}

impl Part {
    fn within(span: Span) -> Self {
        Self::Span(Box::new(span))
    }

    fn map(self, change: impl FnOnce(Span) -> Option<Span>) -> Self {
        match self {
            Self::Span(span) => change(*span).map_or(Self::Lost(NOT_CARRIED), Self::within),
            other => other,
        }
    }
}

impl Span {
    /// The same function of both pairs.
    fn map_pairs(self, change: impl Fn((Expr, Expr)) -> Option<(Expr, Expr)>) -> Option<Self> {
        let [low, high, wide_low, wide_high] = self.ends;
        let near = change((low, high))?;
        let wide = change((wide_low, wide_high))?;
        Some(Self {
            ends: [near.0, near.1, wide.0, wide.1],
            sources: self.sources,
        })
    }

    fn outwards(self) -> Self {
        let [low, high, wide_low, wide_high] = self.ends;
        Self {
            ends: [floor(low), ceil(high), floor(wide_low), ceil(wide_high)],
            sources: self.sources,
        }
    }
}

fn null() -> Expr {
    lit(ScalarValue::Float64(None))
}

/// What is known of an expression over the columns of `input`.
pub(super) fn part(expr: &Expr, input: &Extended, names: &mut Names) -> Result<Part, Error> {
    if !input.is_noisy(expr) {
        return Ok(Part::Exact);
    }
    let is_number = expr
        .get_type(input.plan.schema())
        .is_ok_and(|kind| kind.is_numeric());
    if !is_number {
        return Ok(Part::Lost(NOT_A_NUMBER));
    }
    Ok(match expr {
        Expr::Alias(alias) => part(&alias.expr, input, names)?,
        Expr::Cast(cast) => casted(&cast.expr, cast.field.data_type(), input, names)?,
        Expr::TryCast(cast) => casted(&cast.expr, cast.field.data_type(), input, names)?,
        Expr::Column(column) => match input.known(column) {
            Some(Known::Within(ends)) => Part::within(of_column(ends)),
            Some(Known::Noisy(why)) => Part::Lost(why),
            Some(Known::Exact) => Part::Exact,
            None => Part::Lost(NOT_CARRIED),
        },
        Expr::Negative(inner) => part(inner, input, names)?.map(|span| {
            let negative = |end: Expr| Expr::Negative(Box::new(end));
            span.map_pairs(|(low, high)| Some((negative(high), negative(low))))
        }),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (a, b) = (operand(left, input, names)?, operand(right, input, names)?);
            let (a, b) = match (a, b) {
                (Ok(a), Ok(b)) => (a, b),
                (Err(why), _) | (_, Err(why)) => return Ok(Part::Lost(why)),
            };
            let combined = combine(*op, a, b);
            let whole = *op == Operator::Divide
                && expr
                    .get_type(input.plan.schema())
                    .is_ok_and(|kind| kind.is_integer());
            match combined {
                Ok(span) if whole => Part::within(span.outwards()),
                Ok(span) => Part::within(span),
                Err(why) => Part::Lost(why),
            }
        }
        Expr::ScalarFunction(call) => function(call, input, names)?,
        Expr::Case(case) => cases(case, input, names)?,
        Expr::ScalarSubquery(subquery) => inner(subquery, names)?,
        _ => Part::Lost(NOT_CARRIED),
    })
}

fn of_column(ends: &Ends) -> Span {
    Span {
        ends: ends.columns.clone().map(Expr::Column),
        sources: ends.sources.clone(),
    }
}

/// A side of an operator: an exact number is an interval of its own.
fn operand(expr: &Expr, input: &Extended, names: &mut Names) -> Result<Result<Span, &'static str>, Error> {
    Ok(match part(expr, input, names)? {
        Part::Span(span) => Ok(*span),
        Part::Lost(why) => Err(why),
        Part::Exact => {
            let value = try_cast(expr.clone(), DataType::Float64);
            Ok(Span {
                ends: std::array::from_fn(|_| value.clone()),
                sources: BTreeSet::new(),
            })
        }
    })
}

fn casted(expr: &Expr, to: &DataType, input: &Extended, names: &mut Names) -> Result<Part, Error> {
    let part = part(expr, input, names)?;
    Ok(if to.is_integer() {
        part.map(|span| Some(span.outwards()))
    } else {
        part
    })
}

fn combine(op: Operator, a: Span, b: Span) -> Result<Span, &'static str> {
    let sources: BTreeSet<usize> = a.sources.union(&b.sources).copied().collect();
    if sources.len() > 2 {
        return Err(TOO_MANY);
    }
    let joint = sources.len() > a.sources.len().max(b.sources.len());
    let [a_low, a_high, a_wide_low, a_wide_high] = a.ends;
    let [b_low, b_high, b_wide_low, b_wide_high] = b.ends;
    let wide = pairs(op, (a_wide_low, a_wide_high), (b_wide_low, b_wide_high)).ok_or(NOT_CARRIED)?;
    let ends = if joint {
        [wide.0, wide.1, null(), null()]
    } else {
        let near = pairs(op, (a_low, a_high), (b_low, b_high)).ok_or(NOT_CARRIED)?;
        [near.0, near.1, wide.0, wide.1]
    };
    Ok(Span { ends, sources })
}

fn pairs(op: Operator, a: (Expr, Expr), b: (Expr, Expr)) -> Option<(Expr, Expr)> {
    match op {
        Operator::Plus => Some((a.0 + b.0, a.1 + b.1)),
        Operator::Minus => Some((a.0 - b.1, a.1 - b.0)),
        Operator::Multiply => {
            let corners = corners(&a, &b, |x, y| x * y);
            Some((least(corners.clone()), greatest(corners)))
        }
        Operator::Divide => {
            let zero = || lit(0.0f64);
            let safe = b.0.clone().gt(zero()).or(b.1.clone().lt(zero()));
            let corners = corners(&a, &b, |x, y| x / y);
            let guarded = |end: Expr| when(safe.clone(), end).otherwise(null()).ok();
            Some((guarded(least(corners.clone()))?, guarded(greatest(corners))?))
        }
        _ => None,
    }
}

fn corners(a: &(Expr, Expr), b: &(Expr, Expr), apply: impl Fn(Expr, Expr) -> Expr) -> Vec<Expr> {
    [&a.0, &a.1]
        .into_iter()
        .flat_map(|x| [&b.0, &b.1].map(|y| apply(x.clone(), y.clone())))
        .collect()
}

/// Functions of one number that never fall, with the least number for which they are defined, if there is one.
const RISING: &[(&str, Option<f64>)] = &[
    ("round", None),
    ("floor", None),
    ("ceil", None),
    ("ceiling", None),
    ("trunc", None),
    ("exp", None),
    ("cbrt", None),
    ("atan", None),
    ("sinh", None),
    ("tanh", None),
    ("degrees", None),
    ("radians", None),
    ("signum", None),
    ("sqrt", Some(0.0)),
    ("ln", Some(f64::MIN_POSITIVE)),
    ("log2", Some(f64::MIN_POSITIVE)),
    ("log10", Some(f64::MIN_POSITIVE)),
];

fn function(call: &ScalarFunction, input: &Extended, names: &mut Names) -> Result<Part, Error> {
    let name = call.func.name().to_lowercase();
    let Some((first, rest)) = call.args.split_first() else {
        return Ok(Part::Lost(NOT_CARRIED));
    };
    let rest_is_exact = !rest.iter().any(|argument| input.is_noisy(argument));
    let again = |argument: Expr| {
        let mut args = vec![argument];
        args.extend(rest.iter().cloned());
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&call.func), args))
    };
    if let Some((_, least_defined)) = RISING.iter().find(|(rising, _)| *rising == name) {
        if !rest_is_exact {
            return Ok(Part::Lost(NOT_CARRIED));
        }
        return Ok(part(first, input, names)?.map(|span| {
            span.map_pairs(|(low, high)| match least_defined {
                None => Some((again(low), again(high))),
                // Of a root the truth is where the function is defined, so the interval begins there; a logarithm has no least value.
                Some(least) => {
                    let safe = if *least == 0.0 { high.clone() } else { low.clone() };
                    let safe = safe.gt_eq(lit(*least));
                    let low = again(greatest(vec![low, lit(*least)]));
                    let guarded = |end: Expr| when(safe.clone(), end).otherwise(null()).ok();
                    Some((guarded(low)?, guarded(again(high))?))
                }
            })
        }));
    }
    Ok(match name.as_str() {
        "abs" => part(first, input, names)?.map(|span| {
            span.map_pairs(|(low, high)| {
                let farthest = greatest(vec![abs(low.clone()), abs(high.clone())]);
                let nearest = least(vec![abs(low.clone()), abs(high.clone())]);
                let zero = || lit(0.0f64);
                let around = low.clone().lt(zero()).and(high.gt(zero()));
                let nearest = when(around, zero()).otherwise(nearest).ok()?;
                Some((nearest, there(&low, farthest)?))
            })
        }),
        "power" | "pow" if rest_is_exact && rest.len() == 1 => part(first, input, names)?.map(|span| {
            // Rising where the base is not negative and the exponent is positive.
            let positive = rest[0].clone().gt(lit(0));
            span.map_pairs(|(low, high)| {
                let safe = low.clone().gt_eq(lit(0.0f64)).and(positive.clone());
                let guarded = |end: Expr| when(safe.clone(), end).otherwise(null()).ok();
                Some((guarded(again(low))?, guarded(again(high))?))
            })
        }),
        // Where the value is missing, something else stands in its place, which an interval of the value says nothing about.
        "coalesce" if rest_is_exact => part(first, input, names)?
            .map(|span| span.map_pairs(|(low, high)| Some((there(first, low)?, there(first, high)?)))),
        // The value, or NULL; a comparison that decides which is noisy, and says nothing about the value.
        "nullif" if rest_is_exact => part(first, input, names)?,
        "greatest" | "least" => {
            let mut spans = Vec::new();
            for argument in &call.args {
                match operand(argument, input, names)? {
                    Ok(span) => spans.push(span),
                    Err(why) => return Ok(Part::Lost(why)),
                }
            }
            extreme(&name, spans).map(|span| {
                span.map_pairs(|(low, high)| {
                    let all = |end: Expr| {
                        call.args
                            .iter()
                            .try_fold(end, |end, argument| there(argument, end))
                    };
                    Some((all(low)?, all(high)?))
                })
            })
        }
        _ => Part::Lost(NOT_CARRIED),
    })
}

/// `end`, unless `other` is missing: the other end of the same pair, or the value itself.
fn there(other: &Expr, end: Expr) -> Option<Expr> {
    when(other.clone().is_not_null(), end).otherwise(null()).ok()
}

/// GREATEST and LEAST rise with each argument. They pass over missing ends, which are no intervals, so all have to be there.
fn extreme(name: &str, spans: Vec<Span>) -> Part {
    let sources: BTreeSet<usize> = spans.iter().flat_map(|span| span.sources.clone()).collect();
    if sources.len() > 2 {
        return Part::Lost(TOO_MANY);
    }
    let joint = spans.iter().all(|span| span.sources.len() < sources.len());
    let choose = |at: usize| {
        let ends: Vec<Expr> = spans.iter().map(|span| span.ends[at].clone()).collect();
        let all = ends.iter().map(|end| end.clone().is_not_null());
        let all = all.reduce(Expr::and)?;
        let chosen = if name == "greatest" {
            greatest(ends)
        } else {
            least(ends)
        };
        when(all, chosen).otherwise(null()).ok()
    };
    let ends = if joint {
        choose(2)
            .zip(choose(3))
            .map(|(low, high)| [low, high, null(), null()])
    } else {
        choose(0)
            .zip(choose(1))
            .zip(choose(2).zip(choose(3)))
            .map(|((a, b), (c, d))| [a, b, c, d])
    };
    ends.map_or(Part::Lost(NOT_CARRIED), |ends| {
        Part::within(Span { ends, sources })
    })
}

/// CASE whose conditions are exact: the interval of the case that applies. Which one that is depends on the row, so it counts as a noisy number of its own.
fn cases(case: &Case, input: &Extended, names: &mut Names) -> Result<Part, Error> {
    let conditions = case.when_then_expr.iter().map(|(condition, _)| condition);
    if conditions.chain(&case.expr).any(|expr| input.is_noisy(expr)) {
        return Ok(Part::Lost(CHOICE));
    }
    let mut results = Vec::new();
    let otherwise = case.else_expr.iter();
    for result in case.when_then_expr.iter().map(|(_, then)| then).chain(otherwise) {
        results.push(match part(result, input, names)? {
            Part::Span(span) => span.ends,
            // Exact where this case applies: no interval to tell.
            Part::Exact => std::array::from_fn(|_| null()),
            Part::Lost(why) => return Ok(Part::Lost(why)),
        });
    }
    let ends = std::array::from_fn(|at| {
        let thens = case.when_then_expr.iter().zip(&results);
        let when_then_expr =
            thens.map(|((condition, _), ends)| (condition.clone(), Box::new(ends[at].clone())));
        let else_expr = case
            .else_expr
            .as_ref()
            .and_then(|_| results.last())
            .map(|ends| Box::new(ends[at].clone()));
        Expr::Case(Case {
            expr: case.expr.clone(),
            when_then_expr: when_then_expr.collect(),
            else_expr,
        })
    });
    Ok(Part::within(Span {
        ends,
        sources: names.source(),
    }))
}

/// A query as a value: its one number's interval, each end by a query of its own over the same released tables.
fn inner(subquery: &Subquery, names: &mut Names) -> Result<Part, Error> {
    if !subquery.outer_ref_columns.is_empty() {
        return Ok(Part::Lost(INNER));
    }
    let extended = extend(&subquery.subquery, names)?;
    let ends = match extended.columns.as_slice() {
        [Known::Within(ends)] => ends,
        [Known::Noisy(why)] => return Ok(Part::Lost(why)),
        _ => return Ok(Part::Lost(INNER)),
    };
    let mut reported = Vec::new();
    for column in &ends.columns {
        let plan = LogicalPlanBuilder::from(extended.plan.clone())
            .project([Expr::Column(column.clone())])
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)?;
        reported.push(Expr::ScalarSubquery(subquery.with_plan(Arc::new(plan))));
    }
    let Ok(ends) = <[Expr; 4]>::try_from(reported) else {
        return Ok(Part::Lost(INNER));
    };
    Ok(Part::within(Span {
        ends,
        sources: names.source(),
    }))
}
