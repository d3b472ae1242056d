//! Expressions.

use sqlparser::ast::{AccessExpr, Array, CaseWhen, Expr, Ident, Query, Subscript, UnaryOperator, Value};

use super::super::Error;
use super::super::idents::folded;
use super::scope::Scope;
use super::{Translator, Ty, Typed, quoted};

/// The longest text that an expression may become.
const LONGEST: usize = 500_000;

impl Translator<'_> {
    pub(super) fn expr(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<Typed, Error> {
        let value = self.deeper(|this| this.expr_inside(expr, scope))?;
        if value.sql.len() > LONGEST {
            return Err(Error::new(
                "the statement has too many parts",
                "ask for fewer things in one statement",
            ));
        }
        Ok(value)
    }

    fn expr_inside(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<Typed, Error> {
        match expr {
            Expr::Identifier(ident) => self.identifier(ident, scope),
            Expr::CompoundIdentifier(idents) => {
                column(&idents.iter().map(folded).collect::<Vec<String>>(), scope)
            }
            Expr::Nested(inner) => {
                let inner = self.expr(inner, scope)?;
                Ok(Typed {
                    sql: format!("({})", inner.sql),
                    ..inner
                })
            }
            // All texts here are ASCII or sorted as bytes.
            Expr::Collate { expr, .. } => self.expr(expr, scope),
            Expr::Value(value) => self.value(&value.value),
            Expr::BinaryOp { .. } => self.chain(expr, scope),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr, scope),
            Expr::Cast {
                expr,
                data_type,
                array,
                ..
            } => {
                let value = self.expr(expr, scope)?;
                self.cast(value, data_type, *array)
            }
            Expr::TypedString(typed) => {
                let value = self.value(&typed.value.value)?;
                self.cast(value, &typed.data_type, false)
            }
            Expr::Function(function) => self.call(function, scope),
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.case(operand.as_deref(), conditions, else_result.as_deref(), scope),
            Expr::Subquery(query) => self.subquery(query, scope),
            Expr::Exists { subquery, negated } => {
                let inner = self.query(subquery, scope)?;
                Ok(Typed::new(
                    format!("({}EXISTS ({}))", not(*negated), inner.sql),
                    Ty::Bool,
                ))
            }
            Expr::Array(array) => self.array(array, scope),
            Expr::Tuple(values) => {
                let values: Result<Vec<Typed>, Error> =
                    values.iter().map(|value| self.expr(value, scope)).collect();
                let list: Vec<String> = values?.into_iter().map(|value| value.sql).collect();
                Ok(Typed::new(format!("({})", list.join(", ")), Ty::Row))
            }
            Expr::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain, scope),
            _ => self.test(expr, scope),
        }
    }

    /// An expression as text.
    pub(super) fn text_of(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<String, Error> {
        let value = self.expr(expr, scope)?;
        Ok(self.to_text(&value))
    }

    fn identifier(&mut self, ident: &Ident, scope: &Scope<'_>) -> Result<Typed, Error> {
        let name = folded(ident);
        if let Some(found) = scope.column(std::slice::from_ref(&name))? {
            return Ok(found);
        }
        // Words that are functions without parentheses.
        if ident.quote_style.is_none()
            && let "current_user" | "session_user" | "user" | "current_role" | "current_catalog"
            | "current_schema" = name.as_str()
        {
            return self.call_with(&name, &[]);
        }
        // The name of an item alone is its row; as a condition or a count it only says whether there is one.
        if let Some(item) = scope.item(std::slice::from_ref(&name))
            && let Some(field) = item.fields.first()
        {
            return Ok(Typed::new(&field.sql, field.ty));
        }
        column(&[name], scope)
    }

    fn value(&mut self, value: &Value) -> Result<Typed, Error> {
        match value {
            Value::Number(number, _) => match number.parse::<i64>() {
                Ok(whole) if i32::try_from(whole).is_ok() => Ok(Typed::new(whole.to_string(), Ty::Int4)),
                Ok(whole) => Ok(Typed::new(whole.to_string(), Ty::Int8)),
                Err(_) => match number.parse::<f64>() {
                    Ok(number) if number.is_finite() => Ok(Typed::new(format!("{number:?}"), Ty::Float8)),
                    _ => Err(Error::unknown("a number")),
                },
            },
            Value::SingleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::UnicodeStringLiteral(text)
            | Value::NationalStringLiteral(text) => Ok(Typed::literal(text)),
            Value::DollarQuotedString(text) => Ok(Typed::literal(&text.value)),
            Value::Boolean(value) => Ok(Typed::new(if *value { "1" } else { "0" }, Ty::Bool)),
            Value::Null => Ok(Typed::null()),
            Value::Placeholder(_) if self.parameters => Ok(Typed::null()),
            Value::Placeholder(name) => Err(Error::new(
                format!("the parameter {name} has no value"),
                "bind the parameters before the statement is run",
            )),
            _ => Err(Error::unknown("a literal")),
        }
    }

    fn unary(&mut self, op: UnaryOperator, expr: &Expr, scope: &Scope<'_>) -> Result<Typed, Error> {
        match op {
            UnaryOperator::Not => Ok(Typed::new(
                format!("(NOT {})", self.condition(expr, scope)?),
                Ty::Bool,
            )),
            UnaryOperator::Minus | UnaryOperator::Plus | UnaryOperator::BitwiseNot => {
                let value = self.expr(expr, scope)?;
                Ok(Typed::new(format!("({op} {})", value.sql), Ty::Int4.or(value.ty)))
            }
            _ => Err(Error::unknown(format!("the operator {op}"))),
        }
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
        scope: &Scope<'_>,
    ) -> Result<Typed, Error> {
        let operand = operand.map(|operand| self.expr(operand, scope)).transpose()?;
        let mut branches = Vec::new();
        let mut results = Vec::new();
        for one in conditions {
            let condition = match &operand {
                Some(operand) => {
                    let value = self.expr(&one.condition, scope)?;
                    self.fit(value, operand.ty)?.sql
                }
                None => self.condition(&one.condition, scope)?,
            };
            branches.push(condition);
            results.push(self.expr(&one.result, scope)?);
        }
        let otherwise = otherwise.map(|expr| self.expr(expr, scope)).transpose()?;
        let ty = results
            .iter()
            .chain(&otherwise)
            .fold(Ty::Unknown, |ty, value| ty.or(value.ty));
        let mut sql = format!("(CASE {}", operand.map(|operand| operand.sql).unwrap_or_default());
        for (condition, result) in branches.into_iter().zip(results) {
            sql += &format!(" WHEN {condition} THEN {}", self.branch(result, ty)?);
        }
        if let Some(otherwise) = otherwise {
            sql += &format!(" ELSE {}", self.branch(otherwise, ty)?);
        }
        Ok(Typed::new(sql + " END)", ty))
    }

    /// A value that has to have this type.
    pub(super) fn branch(&mut self, value: Typed, ty: Ty) -> Result<String, Error> {
        let texts = matches!(ty, Ty::Text | Ty::Name | Ty::Char);
        if texts && (value.ty == Ty::Bool || value.ty.is_named_number()) {
            return Ok(self.to_text(&value));
        }
        Ok(self.fit(value, ty)?.sql)
    }

    fn subquery(&mut self, query: &Query, scope: &Scope<'_>) -> Result<Typed, Error> {
        let output = self.query(query, scope)?;
        self.scalar(&output)?;
        Ok(Typed::new(
            format!("({})", output.sql),
            output.columns.first().map_or(Ty::Text, |(_, ty)| *ty),
        ))
    }

    fn array(&mut self, array: &Array, scope: &Scope<'_>) -> Result<Typed, Error> {
        let values: Result<Vec<Typed>, Error> =
            array.elem.iter().map(|value| self.expr(value, scope)).collect();
        Ok(self.array_of(&values?))
    }

    /// An array of these values.
    pub(super) fn array_of(&mut self, values: &[Typed]) -> Typed {
        let numbers = !values.is_empty() && values.iter().all(|value| value.ty.is_number());
        let list: Vec<String> = values.iter().map(|value| self.to_text(value)).collect();
        Typed::new(
            format!("x_array({})", list.join(", ")),
            if numbers { Ty::Ints } else { Ty::Texts },
        )
    }

    /// `array[1]`, `(row).field`.
    fn access(&mut self, root: &Expr, chain: &[AccessExpr], scope: &Scope<'_>) -> Result<Typed, Error> {
        // The parser reads `con.conkey[1]` as a part of `con`.
        let mut names: Vec<String> = match root {
            Expr::Identifier(ident) => vec![folded(ident)],
            Expr::CompoundIdentifier(idents) => idents.iter().map(folded).collect(),
            _ => Vec::new(),
        };
        let mut rest = chain;
        while let ([AccessExpr::Dot(Expr::Identifier(ident)), later @ ..], false) = (rest, names.is_empty()) {
            names.push(folded(ident));
            rest = later;
        }
        let mut value = if rest.len() < chain.len() {
            column(&names, scope)?
        } else {
            self.expr(root, scope)?
        };
        for access in rest {
            value = match access {
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    let index = self.expr(index, scope)?.sql;
                    // PostgreSQL counts from 1, except in int2vector and oidvector.
                    let first = i64::from(value.ty != Ty::Vector);
                    Typed::new(
                        format!("x_item({}, ({index}) - {first})", value.sql),
                        value.ty.element(),
                    )
                }
                AccessExpr::Subscript(Subscript::Slice {
                    lower_bound,
                    upper_bound,
                    stride: None,
                }) => {
                    let mut bound = |bound: &Option<Expr>| match bound {
                        Some(bound) => self.expr(bound, scope).map(|bound| bound.sql),
                        None => Ok("NULL".to_owned()),
                    };
                    let (from, to) = (bound(lower_bound)?, bound(upper_bound)?);
                    Typed::new(format!("x_slice({}, {from}, {to})", value.sql), value.ty)
                }
                AccessExpr::Dot(Expr::Identifier(field)) if matches!(value.ty, Ty::Row | Ty::Json) => {
                    let field = folded(field);
                    let ty = match field.as_str() {
                        "grantee" | "grantor" => Ty::Oid,
                        "privilege_type" => Ty::Text,
                        "is_grantable" => Ty::Bool,
                        _ => Ty::Int4,
                    };
                    let path = quoted(&format!("$.\"{}\"", field.replace('"', "")));
                    Typed::new(format!("json_extract({}, {path})", value.sql), ty)
                }
                _ => return Err(Error::unknown("a part of a value")),
            };
        }
        Ok(value)
    }
}

/// The word `NOT`, if it is there.
pub(super) fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

fn column(parts: &[String], scope: &Scope<'_>) -> Result<Typed, Error> {
    scope.column(parts)?.ok_or_else(|| {
        Error::new(
            format!("column {:?} does not exist", parts.join(".")),
            "information_schema.columns lists the columns of every relation",
        )
    })
}
