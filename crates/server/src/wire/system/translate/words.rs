//! Expressions with words in them: `IS NULL`, `IN`, `LIKE`, `substring` and so on.

use sqlparser::ast::{DateTimeField, Expr, TrimWhereField};

use super::super::Error;
use super::calls::trimmed;
use super::expr::not;
use super::scope::Scope;
use super::{Translator, Ty, Typed};

impl Translator<'_> {
    pub(super) fn test(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<Typed, Error> {
        let truth = |sql: String| Ok(Typed::new(sql, Ty::Bool));
        match expr {
            Expr::IsNull(inner) => truth(format!("({} IS NULL)", self.expr(inner, scope)?.sql)),
            Expr::IsNotNull(inner) => truth(format!("({} IS NOT NULL)", self.expr(inner, scope)?.sql)),
            Expr::IsTrue(inner) => truth(format!("(({}) IS TRUE)", self.condition(inner, scope)?)),
            Expr::IsNotTrue(inner) => truth(format!("(({}) IS NOT TRUE)", self.condition(inner, scope)?)),
            Expr::IsFalse(inner) => truth(format!("(({}) IS FALSE)", self.condition(inner, scope)?)),
            Expr::IsNotFalse(inner) => truth(format!("(({}) IS NOT FALSE)", self.condition(inner, scope)?)),
            Expr::IsUnknown(inner) => truth(format!("({} IS NULL)", self.condition(inner, scope)?)),
            Expr::IsNotUnknown(inner) => truth(format!("({} IS NOT NULL)", self.condition(inner, scope)?)),
            Expr::IsDistinctFrom(left, right) => {
                let (left, right) = self.pair(left, right, scope)?;
                truth(format!("({} IS NOT {})", left.sql, right.sql))
            }
            Expr::IsNotDistinctFrom(left, right) => {
                let (left, right) = self.pair(left, right, scope)?;
                truth(format!("({} IS {})", left.sql, right.sql))
            }
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => {
                let (value, low) = self.pair(expr, low, scope)?;
                let high = self.expr(high, scope)?;
                let high = self.fit(high, value.ty)?;
                truth(format!(
                    "({} {}BETWEEN {} AND {})",
                    value.sql,
                    not(*negated),
                    low.sql,
                    high.sql
                ))
            }
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated, scope),
            Expr::InSubquery {
                expr,
                subquery,
                negated,
            } => {
                let (value, inner) = (self.expr(expr, scope)?, self.query(subquery, scope)?);
                truth(format!("({} {}IN ({}))", value.sql, not(*negated), inner.sql))
            }
            Expr::AnyOp {
                left,
                compare_op,
                right,
                ..
            } => self.any(left, compare_op, right, false, scope),
            Expr::AllOp {
                left,
                compare_op,
                right,
            } => self.any(left, compare_op, right, true, scope),
            Expr::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => self.like(
                expr,
                pattern,
                escape_char.as_ref().map(|value| &value.value),
                false,
                *negated,
                scope,
            ),
            Expr::ILike {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => self.like(
                expr,
                pattern,
                escape_char.as_ref().map(|value| &value.value),
                true,
                *negated,
                scope,
            ),
            Expr::Position { expr, r#in } => {
                let (part, whole) = (self.text_of(expr, scope)?, self.text_of(r#in, scope)?);
                Ok(Typed::new(format!("x_strpos({whole}, {part})"), Ty::Int4))
            }
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                let whole = self.text_of(expr, scope)?;
                let from = match substring_from {
                    Some(from) => self.expr(from, scope)?,
                    None => Typed::new("1", Ty::Int4),
                };
                if matches!(from.ty, Ty::Unknown | Ty::Text) && substring_for.is_none() {
                    return Ok(Typed::new(
                        format!("x_regexp_substr({whole}, {})", from.sql),
                        Ty::Text,
                    ));
                }
                let from = from.sql;
                let sql = match substring_for {
                    Some(length) => format!("substr({whole}, {from}, {})", self.expr(length, scope)?.sql),
                    None => format!("substr({whole}, {from})"),
                };
                Ok(Typed::new(sql, Ty::Text))
            }
            Expr::Trim {
                trim_where,
                trim_what,
                expr,
                trim_characters,
            } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    Some(TrimWhereField::Both) | None => "trim",
                };
                let whole = self.text_of(expr, scope)?;
                let what = trim_what
                    .as_deref()
                    .or_else(|| trim_characters.as_ref().and_then(|list| list.first()));
                let characters = match what {
                    Some(what) => self.text_of(what, scope)?,
                    None => "' '".to_owned(),
                };
                Ok(Typed::new(trimmed(&whole, &characters, name), Ty::Text))
            }
            Expr::Extract {
                field: DateTimeField::Epoch,
                expr,
                ..
            } => {
                let when = self.text_of(expr, scope)?;
                Ok(Typed::new(
                    format!("CAST(strftime('%s', substr({when}, 1, 19)) AS REAL)"),
                    Ty::Float8,
                ))
            }
            Expr::AtTimeZone { timestamp, .. } => self.expr(timestamp, scope),
            Expr::Ceil { expr, .. } => Ok(Typed::new(
                format!("ceil({})", self.expr(expr, scope)?.sql),
                Ty::Float8,
            )),
            Expr::Floor { expr, .. } => Ok(Typed::new(
                format!("floor({})", self.expr(expr, scope)?.sql),
                Ty::Float8,
            )),
            _ => Err(Error::unknown("an expression")),
        }
    }
}
