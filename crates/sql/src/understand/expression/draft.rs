//! A part of an expression that was taken, with everything known of it.

use super::bounds::Bounds;
use super::dates;
use super::integers::Halves;
use super::values::{self, Part};
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::{Error, Facts, Kind, Value};
use bound::{canonical, canonical_float, canonical_text};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::functions::core::{greatest, least, nullif};
use datafusion::logical_expr::expr::{Cast, TryCast};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, ScalarUDF};
use std::sync::Arc;

/// Floats below this cannot overflow in one more sum or product that stays below it.
const FAR_FROM_OVERFLOW: f64 = 1e300;

/// How many nodes an expression may have once the engine has spread it out.
pub(super) const WEIGHT: u64 = 20_000;

#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) expr: Expr,
    pub(super) kind: Kind,
    pub(super) bounds: Bounds,
    pub(super) values: Option<Arc<[Value]>>,
    pub(super) nullable: bool,
    pub(super) of_unit: bool,
    /// Whether every number is whole.
    pub(super) integral: bool,
    /// An integer that fits in 32 bits whatever the data are.
    pub(super) small: bool,
    /// A number that PostgreSQL would call `numeric`, see [`Facts::numeric`].
    pub(super) numeric: bool,
    /// An integer that PostgreSQL would call a `double precision`, see [`Facts::double`].
    pub(super) double: bool,
    /// A float that was computed and is not canonical yet.
    pub(super) loose: bool,
    /// Such a float that may be undefined, and then will be NULL, although its columns lie in their ranges.
    pub(super) undefined: bool,
    /// The number of nodes, counting what the engine's simplifier will write several times.
    pub(super) weight: u64,
    /// Parts of it that have few public values, where its columns have not.
    pub(super) parts: Vec<Arc<Part>>,
    /// It is the same for all values of a column of moments that lie in the same multiple of this many microseconds: 1 where nothing is known, and 0 where it has no such
    /// column.
    pub(super) granule: i64,
    /// The constant that it is.
    pub(super) literal: Option<ScalarValue>,
    /// A NULL that nobody gave a kind.
    pub(super) untyped: bool,
}

impl Draft {
    /// A new node above `parts`: NULL where one of them is.
    pub(super) fn above(expr: Expr, kind: Kind, parts: &[&Self]) -> Self {
        Self {
            expr,
            kind,
            bounds: Bounds::UNKNOWN,
            values: None,
            nullable: parts.iter().any(|part| part.nullable),
            of_unit: parts.iter().all(|part| part.of_unit),
            integral: kind == Kind::Int,
            small: false,
            numeric: false,
            double: false,
            loose: false,
            undefined: false,
            weight: parts
                .iter()
                .fold(1, |sum: u64, part| sum.saturating_add(part.weight)),
            parts: together(parts),
            granule: parts
                .iter()
                .fold(0, |common, part| dates::common(common, part.granule)),
            literal: None,
            untyped: false,
        }
    }

    pub(super) fn column(expr: Expr, facts: &Facts) -> Self {
        let mut bounds = Bounds::of(facts.range);
        if let (None, Some(values)) = (facts.range, &facts.values) {
            bounds = values::bounds(values);
        } else if let (None, Some(least)) = (facts.range, facts.at_least) {
            bounds = Bounds::new(least, f64::INFINITY);
        }
        Self {
            bounds: if facts.kind.is_number() || dates::is_temporal(facts.kind) {
                bounds
            } else {
                Bounds::UNKNOWN
            },
            granule: i64::from(facts.kind == Kind::Timestamp),
            values: facts.values.clone(),
            nullable: facts.nullable,
            of_unit: facts.of_unit,
            numeric: facts.numeric,
            double: facts.double,
            ..Self::above(expr, facts.kind, &[])
        }
    }

    /// A constant of one of our kinds, in canonical form; its type must be that of the kind.
    pub(super) fn constant(kind: Kind, value: ScalarValue) -> Self {
        let value = match value {
            #[cfg(test)]
            value if planted(Mutant::SignedZero) => value,
            ScalarValue::Float64(Some(value)) => ScalarValue::Float64(canonical_float(value)),
            ScalarValue::Utf8View(Some(text)) => {
                ScalarValue::Utf8View(Some(canonical_text(&text).into_owned()))
            }
            other => other,
        };
        let public = values::value(&value);
        let bounds = match public {
            Some(Value::Int(value)) => Bounds::integer(value),
            Some(Value::Float(value)) => Bounds::new(value, value),
            Some(Value::Date(day)) => Bounds::integer(i64::from(day)),
            Some(Value::Timestamp(moment)) => Bounds::integer(moment),
            _ => Bounds::UNKNOWN,
        };
        Self {
            bounds,
            integral: kind == Kind::Int
                || matches!(public, Some(Value::Float(value)) if value.fract() == 0.0),
            nullable: value.is_null(),
            values: Some(public.into_iter().collect()),
            literal: Some(value.clone()),
            ..Self::above(Expr::Literal(value, None), kind, &[])
        }
    }

    /// A NULL of a kind.
    pub(super) fn null(kind: Kind) -> Self {
        let value = ScalarValue::try_new_null(&kind.data_type()).unwrap_or(ScalarValue::Null);
        Self::constant(kind, value)
    }

    /// A NULL that takes the kind of whatever it meets.
    pub(super) fn untyped_null() -> Self {
        Self {
            untyped: true,
            ..Self::null(Kind::Text)
        }
    }

    pub(super) fn int(value: i64) -> Self {
        Self::constant(Kind::Int, ScalarValue::Int64(Some(value)))
    }

    pub(super) fn text_literal(&self) -> Option<&str> {
        match &self.literal {
            Some(ScalarValue::Utf8View(Some(text))) => Some(text),
            _ => None,
        }
    }

    pub(super) fn int_literal(&self) -> Option<i64> {
        match &self.literal {
            Some(ScalarValue::Int64(Some(value))) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn number_literal(&self) -> Option<f64> {
        match &self.literal {
            Some(ScalarValue::Int64(Some(value))) => Some(*value as f64),
            Some(ScalarValue::Float64(Some(value))) => Some(*value),
            _ => None,
        }
    }

    /// In canonical form: what is not finite is NULL, and there is one zero.
    pub(super) fn settled(self) -> Self {
        if !self.loose {
            return self;
        }
        #[cfg(test)]
        if planted(Mutant::SignedZero) {
            return Self { loose: false, ..self };
        }
        Self {
            expr: canonical(self.expr, Kind::Float),
            loose: false,
            undefined: false,
            nullable: self.nullable || self.undefined,
            weight: self.weight.saturating_add(1),
            literal: None,
            ..self
        }
    }

    /// NULL unless strictly between two constants of its type.
    ///
    /// `least` and `greatest` pass over NULLs, so a NULL becomes an end, and both ends become NULL. What was written appears once, which `CASE` could not do.
    pub(super) fn between(self, low: ScalarValue, high: ScalarValue) -> Self {
        let constant = |value: &ScalarValue| Expr::Literal(value.clone(), None);
        let expr = call(least(), vec![self.expr, constant(&high)]);
        let expr = call(greatest(), vec![expr, constant(&low)]);
        let expr = call(nullif(), vec![expr, constant(&low)]);
        let expr = call(nullif(), vec![expr, constant(&high)]);
        Self {
            expr,
            nullable: true,
            weight: self.weight.saturating_add(8),
            literal: None,
            ..self
        }
    }

    /// Marks a float that was computed from these parts and is undefined only where they are, or where it is too large.
    pub(super) fn computed(mut self, parts: &[&Self]) -> Self {
        self.loose = true;
        self.undefined = parts.iter().any(|part| part.undefined) || !self.bounds.within(FAR_FROM_OVERFLOW);
        self
    }

    /// Marks a float that was computed by something that is not defined everywhere.
    pub(super) fn partly_defined(mut self) -> Self {
        self.loose = true;
        self.undefined = true;
        self
    }

    /// A text that was computed, in canonical form: the length of what is made of texts, in however many steps, stays bounded.
    pub(super) fn written(expr: Expr, parts: &[&Self]) -> Self {
        #[cfg(test)]
        if planted(Mutant::TextGrowth) {
            return Self::above(expr, Kind::Text, parts);
        }
        Self::above(canonical(expr, Kind::Text), Kind::Text, parts)
    }

    pub(super) fn with_bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    pub(super) fn with_nulls(mut self) -> Self {
        self.nullable = true;
        self
    }

    pub(super) fn without_nulls(mut self) -> Self {
        self.nullable = false;
        self
    }

    /// As PostgreSQL types a number made of these: `double precision` if one of them is, else `numeric` if one of them is.
    pub(super) fn typed_as(mut self, parts: &[&Self]) -> Self {
        let double = |part: &&Self| part.double || (part.kind == Kind::Float && !part.numeric);
        let double = parts.iter().any(double);
        self.double = double && self.kind == Kind::Int;
        self.numeric = !double && self.kind.is_number() && parts.iter().any(|part| part.numeric);
        self
    }

    /// Whether PostgreSQL divides it without a fraction.
    pub(super) fn is_integer(&self) -> bool {
        self.kind == Kind::Int && !self.numeric && !self.double
    }

    /// Where its halves go when it is rounded.
    pub(super) fn halves(&self) -> Halves {
        match self.numeric {
            true => Halves::Away,
            false => Halves::Even,
        }
    }

    /// Refuses what would be too much work.
    pub(super) fn checked(self) -> Result<Self, Error> {
        if self.weight > WEIGHT {
            return Err(Error::refused(
                "the expression is too large",
                "split it, or put long lists of values into a public table",
            ));
        }
        Ok(self)
    }

    pub(super) fn facts(&self) -> Facts {
        let mut values = self.values.clone();
        if self.kind == Kind::Bool && values.is_none() {
            values = Some([Value::Bool(false), Value::Bool(true)].into());
        }
        let range = self.bounds.range();
        let range = range.filter(|_| self.kind.is_number() || dates::is_temporal(self.kind));
        let least = Some(self.bounds.low).filter(|low| low.is_finite() && self.kind.is_number());
        Facts {
            kind: self.kind,
            range,
            at_least: least.filter(|_| range.is_none()),
            values,
            nullable: self.nullable,
            of_unit: self.of_unit,
            numeric: self.numeric,
            double: self.double,
        }
    }
}

/// What is remembered of several parts, each once.
fn together(drafts: &[&Draft]) -> Vec<Arc<Part>> {
    let mut all: Vec<Arc<Part>> = Vec::new();
    for part in drafts.iter().flat_map(|draft| &draft.parts) {
        if !all.iter().any(|other| Arc::ptr_eq(other, part)) {
            all.push(part.clone());
        }
    }
    all
}

/// Joins parts pairwise, so that many of them do not make a deep tree. There is at least one.
pub(super) fn balanced(
    mut parts: Vec<Draft>,
    join: impl Fn(Draft, Draft) -> Result<Draft, Error>,
) -> Result<Draft, Error> {
    while parts.len() > 1 {
        let mut joined = Vec::with_capacity(parts.len().div_ceil(2));
        let mut rest = parts.into_iter();
        while let Some(left) = rest.next() {
            joined.push(match rest.next() {
                Some(right) => join(left, right)?,
                None => left,
            });
        }
        parts = joined;
    }
    Ok(parts.pop().unwrap_or_else(Draft::untyped_null))
}

pub(super) fn call(function: Arc<ScalarUDF>, arguments: Vec<Expr>) -> Expr {
    function.call(arguments)
}

pub(super) fn float(value: f64) -> Expr {
    Expr::Literal(ScalarValue::Float64(Some(value)), None)
}

pub(super) fn integer(value: i64) -> Expr {
    Expr::Literal(ScalarValue::Int64(Some(value)), None)
}

/// A cast that cannot fail.
pub(super) fn cast(expr: Expr, to: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), to))
}

/// A cast that gives NULL where it fails.
pub(super) fn try_cast(expr: Expr, to: DataType) -> Expr {
    Expr::TryCast(TryCast::new(Box::new(expr), to))
}

pub(super) fn binary(left: Expr, operator: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)))
}
