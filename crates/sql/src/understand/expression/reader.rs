//! The walk over an expression.

use super::draft::{Draft, binary};
use super::functions;
use super::scope::Scope;
use super::{arithmetic, casts, choice, dates, draft, logic, patterns, refuse, values};
use crate::values::scalar::DATE_BIN;
use crate::{Error, Kind};
use datafusion::arrow::datatypes::IntervalMonthDayNano;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, Operator};

/// How deep an expression may nest. Chains of AND and OR count once.
const DEPTH: usize = 100;

/// Takes an expression.
pub(super) fn read(expr: &Expr, scope: &Scope) -> Result<Draft, Error> {
    Reader { scope, depth: 0 }.read(expr)
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    scope: &'a Scope,
    depth: usize,
}

/// Checks what was taken, and remembers its values where they are few.
fn finished(draft: Draft, scope: &Scope) -> Result<Draft, Error> {
    Ok(values::noted(draft.checked()?, scope))
}

impl Reader<'_> {
    fn read(self, expr: &Expr) -> Result<Draft, Error> {
        if self.depth >= DEPTH {
            return Err(Error::refused(
                format!("the expression nests deeper than {DEPTH} levels"),
                "compute parts of it in a subquery",
            ));
        }
        let inner = Self {
            depth: self.depth + 1,
            ..self
        };
        finished(inner.taken(expr)?, self.scope)
    }

    /// Arms call functions that hold what they need: each level of nesting pays for all that is held here.
    fn taken(self, expr: &Expr) -> Result<Draft, Error> {
        match expr {
            Expr::Alias(alias) => self.read(&alias.expr),
            Expr::Column(_) => self.column(expr),
            Expr::Literal(value, _) => literal(value),
            Expr::BinaryExpr(binary) => match binary.op {
                Operator::And | Operator::Or => self.chain(expr, binary.op),
                operator => self.operator(&binary.left, operator, &binary.right),
            },
            Expr::Negative(operand) => self.under(operand, arithmetic::negate),
            Expr::Not(operand) => self.under(operand, logic::not),
            Expr::IsNull(operand) => self.under(operand, |operand| Ok(logic::is_null(operand, true))),
            Expr::IsNotNull(operand) => self.under(operand, |operand| Ok(logic::is_null(operand, false))),
            Expr::IsTrue(operand)
            | Expr::IsFalse(operand)
            | Expr::IsUnknown(operand)
            | Expr::IsNotTrue(operand)
            | Expr::IsNotFalse(operand)
            | Expr::IsNotUnknown(operand) => self.under(operand, |operand| logic::is_truth(expr, operand)),
            Expr::Between(_) => self.between(expr),
            Expr::InList(_) => self.in_list(expr),
            Expr::Like(like) => self.pattern(&like.expr, &like.pattern, |operand, pattern| {
                logic::like(operand, pattern, like)
            }),
            Expr::SimilarTo(like) => self.pattern(&like.expr, &like.pattern, |operand, pattern| {
                patterns::similar_to(operand, pattern, like)
            }),
            Expr::Case(_) => self.case(expr),
            Expr::Cast(cast) => self.under(&cast.expr, |operand| {
                casts::written(operand, cast.field.data_type())
            }),
            Expr::TryCast(cast) => self.under(&cast.expr, |operand| {
                casts::written(operand, cast.field.data_type())
            }),
            Expr::ScalarFunction(call) => self.call(call),
            other => Err(refuse::expression(other)),
        }
    }

    /// Something that is made of one operand.
    fn under(self, operand: &Expr, make: impl FnOnce(Draft) -> Result<Draft, Error>) -> Result<Draft, Error> {
        make(self.read(operand)?)
    }

    fn pattern(
        self,
        operand: &Expr,
        pattern: &Expr,
        make: impl FnOnce(Draft, Draft) -> Result<Draft, Error>,
    ) -> Result<Draft, Error> {
        make(self.read(operand)?, self.read(pattern)?)
    }

    fn call(self, call: &ScalarFunction) -> Result<Draft, Error> {
        functions::read(call.name(), self.arguments(call)?)
    }

    fn all(self, exprs: &[Expr]) -> Result<Vec<Draft>, Error> {
        exprs.iter().map(|expr| self.read(expr)).collect()
    }

    /// The arguments of a call. An interval has a meaning of its own in one place only.
    fn arguments(self, call: &ScalarFunction) -> Result<Vec<Draft>, Error> {
        let read = |(place, argument): (usize, &Expr)| match interval(argument) {
            Some(interval) if place == 0 && call.name() == DATE_BIN => dates::constant_stride(interval),
            _ => self.read(argument),
        };
        call.args.iter().enumerate().map(read).collect()
    }

    fn column(self, expr: &Expr) -> Result<Draft, Error> {
        let Expr::Column(column) = expr else {
            return Err(refuse::expression(expr));
        };
        match self.scope.find(column) {
            Some(facts) => Ok(Draft::column(expr.clone(), facts)),
            None => Err(Error::refused(
                format!("there is no column {} here, or more than one", column.flat_name()),
                "name the table too: table.column",
            )),
        }
    }

    fn operator(self, left: &Expr, operator: Operator, right: &Expr) -> Result<Draft, Error> {
        if let (Operator::Plus | Operator::Minus, Some(interval)) = (operator, interval(right)) {
            return dates::moved(self.read(left)?, operator, interval);
        }
        if let (Operator::Plus, Some(interval)) = (operator, interval(left)) {
            return dates::moved(self.read(right)?, operator, interval);
        }
        let (left, right) = (self.read(left)?, self.read(right)?);
        match operator {
            Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo => {
                arithmetic::operate(left, operator, right)
            }
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom => logic::compare(left, operator, right),
            Operator::StringConcat => super::text::join(left, right),
            other => match patterns::operator(other) {
                Some((insensitive, negated)) => patterns::matches(left, &right, insensitive, negated),
                None => Err(refuse::operator(other)),
            },
        }
    }

    /// A chain of ANDs or of ORs, however long, as a balanced tree.
    fn chain(self, expr: &Expr, operator: Operator) -> Result<Draft, Error> {
        let mut links = Vec::new();
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            match expr {
                Expr::BinaryExpr(binary) if binary.op == operator => {
                    open.push(&binary.right);
                    open.push(&binary.left);
                }
                link => links.push(logic::truth(self.read(link)?)?),
            }
        }
        draft::balanced(links, |left, right| {
            let expr = binary(left.expr.clone(), operator, right.expr.clone());
            Ok(Draft::above(expr, Kind::Bool, &[&left, &right]))
        })
    }

    fn between(self, expr: &Expr) -> Result<Draft, Error> {
        let Expr::Between(between) = expr else {
            return Err(refuse::expression(expr));
        };
        let parts = vec![
            self.read(&between.expr)?,
            self.read(&between.low)?,
            self.read(&between.high)?,
        ];
        logic::between(parts, between.negated)
    }

    fn in_list(self, expr: &Expr) -> Result<Draft, Error> {
        let Expr::InList(list) = expr else {
            return Err(refuse::expression(expr));
        };
        let mut parts = vec![self.read(&list.expr)?];
        parts.extend(self.all(&list.list)?);
        logic::in_list(parts, list.negated)
    }

    fn case(self, expr: &Expr) -> Result<Draft, Error> {
        let Expr::Case(case) = expr else {
            return Err(refuse::expression(expr));
        };
        let operand = case
            .expr
            .as_deref()
            .map(|operand| self.read(operand))
            .transpose()?;
        let mut conditions = Vec::with_capacity(case.when_then_expr.len());
        let mut results = Vec::with_capacity(case.when_then_expr.len() + 1);
        for (condition, result) in &case.when_then_expr {
            conditions.push(self.read(condition)?);
            results.push(self.read(result)?);
        }
        let otherwise = case
            .else_expr
            .as_deref()
            .map(|result| self.read(result))
            .transpose()?;
        choice::case(operand, conditions, results, otherwise)
    }
}

/// A constant of the query.
fn literal(value: &ScalarValue) -> Result<Draft, Error> {
    let kind = match value {
        ScalarValue::Null => return Ok(Draft::untyped_null()),
        ScalarValue::UInt64(Some(value)) if i64::try_from(*value).is_err() => Kind::Float,
        ScalarValue::TimestampSecond(_, Some(_))
        | ScalarValue::TimestampMillisecond(_, Some(_))
        | ScalarValue::TimestampMicrosecond(_, Some(_))
        | ScalarValue::TimestampNanosecond(_, Some(_)) => casts::target(&value.data_type())?,
        ScalarValue::IntervalMonthDayNano(_) => {
            return Err(Error::refused(
                "an INTERVAL only has meaning next to a date or a timestamp",
                "write column + INTERVAL '1 day'",
            ));
        }
        other => Kind::of(&other.data_type()).ok_or_else(|| {
            Error::refused(
                "a constant in the query is of no kind of private values",
                "the kinds are BOOLEAN, BIGINT, DOUBLE, VARCHAR, DATE and TIMESTAMP",
            )
        })?,
    };
    if value.is_null() {
        return Ok(Draft::null(kind));
    }
    // Constants with a point or an exponent are `numeric`, and so are integers that are too large for one.
    Ok(Draft {
        numeric: kind == Kind::Float,
        ..casts::constant(value, kind)?
    })
}

/// The interval that an expression is, if it is one. The planner makes intervals of no other type.
fn interval(expr: &Expr) -> Option<IntervalMonthDayNano> {
    match expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(interval), _) => *interval,
        _ => None,
    }
}
