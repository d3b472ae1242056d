//! Operators.

use sqlparser::ast::{BinaryOperator, Expr, Value};

use super::super::Error;
use super::super::functions::arrays;
use super::expr::not;
use super::scope::Scope;
use super::{Translator, Ty, Typed, quoted};

impl Translator<'_> {
    /// A chain of operators, from the left. Long chains are deep to the left, so this does not recurse there.
    pub(super) fn chain(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<Typed, Error> {
        let mut rest = Vec::new();
        let mut first = expr;
        while let Expr::BinaryOp { left, op, right } = first {
            rest.push((op, right.as_ref()));
            first = left.as_ref();
        }
        let mut value = self.expr(first, scope)?;
        for (op, right) in rest.into_iter().rev() {
            let right = self.expr(right, scope)?;
            value = self.binary(op, value, right)?;
        }
        Ok(value)
    }

    pub(super) fn binary(&mut self, op: &BinaryOperator, left: Typed, right: Typed) -> Result<Typed, Error> {
        use BinaryOperator as Op;
        let word = match op {
            Op::And | Op::Or => {
                let (left, right) = (self.to_bool(left)?, self.to_bool(right)?);
                return Ok(Typed::new(format!("({} {op} {})", left.sql, right.sql), Ty::Bool));
            }
            Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq => {
                let (left, right) = self.fit_both(left, right)?;
                return Ok(Typed::new(format!("({} {op} {})", left.sql, right.sql), Ty::Bool));
            }
            Op::PGRegexMatch => return self.regex(&left, &right, false, false),
            Op::PGRegexIMatch => return self.regex(&left, &right, true, false),
            Op::PGRegexNotMatch => return self.regex(&left, &right, false, true),
            Op::PGRegexNotIMatch => return self.regex(&left, &right, true, true),
            Op::PGLikeMatch => return Ok(self.is_like(&left, &right, "'\\'", false, false)),
            Op::PGILikeMatch => return Ok(self.is_like(&left, &right, "'\\'", true, false)),
            Op::PGNotLikeMatch => return Ok(self.is_like(&left, &right, "'\\'", false, true)),
            Op::PGNotILikeMatch => return Ok(self.is_like(&left, &right, "'\\'", true, true)),
            Op::StringConcat => return Ok(self.concatenated(&left, &right)),
            Op::AtArrow => return Ok(contains(&left, &right, 1)),
            Op::ArrowAt => return Ok(contains(&right, &left, 1)),
            Op::PGOverlap => return Ok(contains(&left, &right, 0)),
            Op::Arrow => return Ok(Typed::new(format!("({} -> {})", left.sql, right.sql), Ty::Json)),
            Op::LongArrow => return Ok(Typed::new(format!("({} ->> {})", left.sql, right.sql), Ty::Text)),
            Op::Plus | Op::Minus | Op::Multiply | Op::Divide | Op::Modulo => op.to_string(),
            Op::BitwiseAnd | Op::BitwiseOr => op.to_string(),
            Op::PGBitwiseShiftLeft => "<<".to_owned(),
            Op::PGBitwiseShiftRight => ">>".to_owned(),
            Op::PGCustomBinaryOperator(parts) => {
                let op = named_operator(parts.last().map(String::as_str).unwrap_or_default())?;
                return self.binary(&op, left, right);
            }
            _ => return Err(Error::unknown(format!("the operator {op}"))),
        };
        let (left, right) = self.fit_both(left, right)?;
        let ty = match left.ty.or(right.ty) {
            ty if ty.is_number() => ty,
            _ => Ty::Int4,
        };
        Ok(Typed::new(format!("({} {word} {})", left.sql, right.sql), ty))
    }

    fn regex(&mut self, left: &Typed, right: &Typed, any_case: bool, negated: bool) -> Result<Typed, Error> {
        let (whole, pattern) = (self.to_text(left), self.to_text(right));
        let sql = format!(
            "({}x_match({whole}, {pattern}, {}))",
            not(negated),
            u8::from(any_case)
        );
        Ok(Typed::new(sql, Ty::Bool))
    }

    fn is_like(&mut self, left: &Typed, right: &Typed, escape: &str, any_case: bool, negated: bool) -> Typed {
        let (whole, pattern) = (self.to_text(left), self.to_text(right));
        let sql = format!(
            "({}x_like({whole}, {pattern}, {escape}, {}))",
            not(negated),
            u8::from(any_case)
        );
        Typed::new(sql, Ty::Bool)
    }

    pub(super) fn like(
        &mut self,
        expr: &Expr,
        pattern: &Expr,
        escape: Option<&Value>,
        any_case: bool,
        negated: bool,
        scope: &Scope<'_>,
    ) -> Result<Typed, Error> {
        let (whole, pattern) = (self.expr(expr, scope)?, self.expr(pattern, scope)?);
        let escape = match escape {
            None => "'\\'".to_owned(),
            Some(Value::SingleQuotedString(escape) | Value::EscapedStringLiteral(escape)) => quoted(escape),
            Some(_) => return Err(Error::unknown("this form of ESCAPE")),
        };
        Ok(self.is_like(&whole, &pattern, &escape, any_case, negated))
    }

    /// `||`: of texts, or of arrays.
    fn concatenated(&mut self, left: &Typed, right: &Typed) -> Typed {
        let ty = left.ty.or(right.ty);
        match (left.ty.is_array(), right.ty.is_array()) {
            (false, false) => Typed::new(
                format!("x_cat({}, {})", self.to_text(left), self.to_text(right)),
                Ty::Text,
            ),
            (true, false) if right.ty != Ty::Unknown => Typed::new(
                format!("x_append({}, {})", left.sql, self.to_text(right)),
                left.ty,
            ),
            (false, true) if left.ty != Ty::Unknown => {
                let one = format!("x_array({})", self.to_text(left));
                Typed::new(format!("x_array_cat({one}, {})", right.sql), right.ty)
            }
            _ => Typed::new(format!("x_array_cat({}, {})", left.sql, right.sql), ty),
        }
    }

    pub(super) fn in_list(
        &mut self,
        expr: &Expr,
        list: &[Expr],
        negated: bool,
        scope: &Scope<'_>,
    ) -> Result<Typed, Error> {
        let value = self.expr(expr, scope)?;
        let mut written = Vec::new();
        for one in list {
            let one = self.expr(one, scope)?;
            written.push(self.fit(one, value.ty)?.sql);
        }
        let rows = if value.ty == Ty::Row { "VALUES " } else { "" };
        let sql = format!(
            "({} {}IN ({rows}{}))",
            value.sql,
            not(negated),
            written.join(", ")
        );
        Ok(Typed::new(sql, Ty::Bool))
    }

    /// `= ANY (…)` and `<> ALL (…)`, of an array or a query.
    pub(super) fn any(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        all: bool,
        scope: &Scope<'_>,
    ) -> Result<Typed, Error> {
        let value = self.expr(left, scope)?;
        let name = self.alias();
        let (rows, element) = match Self::as_subquery(right) {
            Some(query) => {
                let output = self.query(query, scope)?;
                self.scalar(&output)?;
                match output.columns.first() {
                    Some((_, ty)) if !ty.is_array() => {
                        (format!("({})", output.sql), Typed::new(format!("{name}.c1"), *ty))
                    }
                    ty => {
                        let ty = ty.map_or(Ty::Texts, |(_, ty)| *ty);
                        self.elements(&Typed::new(format!("({})", output.sql), ty), value.ty, &name)?
                    }
                }
            }
            None => {
                let array = self.expr(right, scope)?;
                self.elements(&array, value.ty, &name)?
            }
        };
        // IN and NOT IN know what to say when an element is null.
        let list = match (op, all) {
            (BinaryOperator::Eq, false) => "IN",
            (BinaryOperator::NotEq, true) => "NOT IN",
            _ => "",
        };
        if !list.is_empty() {
            let (value, element) = self.fit_both(value, element)?;
            let sql = format!(
                "({} {list} (SELECT {} FROM {rows} AS {name}))",
                value.sql, element.sql
            );
            return Ok(Typed::new(sql, Ty::Bool));
        }
        let compared = self.binary(op, value, element)?.sql;
        let sql = if all {
            format!("(NOT EXISTS (SELECT 1 FROM {rows} AS {name} WHERE NOT {compared}))")
        } else {
            format!("(EXISTS (SELECT 1 FROM {rows} AS {name} WHERE {compared}))")
        };
        Ok(Typed::new(sql, Ty::Bool))
    }

    /// The elements of an array as rows, to be compared with values of this type.
    fn elements(&mut self, array: &Typed, ty: Ty, name: &str) -> Result<(String, Typed), Error> {
        if let Some(literal) = &array.literal {
            arrays::read(literal).map_err(|_| {
                Error::new(
                    "malformed array literal",
                    "write an array as '{a,b}' or as ARRAY['a', 'b']",
                )
            })?;
        }
        // A literal takes the type of what it is compared with.
        let numbers = matches!(array.ty, Ty::Ints | Ty::Vector) || array.ty == Ty::Unknown && ty.is_number();
        let rows = format!("json_each(x_json({}, {}))", array.sql, u8::from(!numbers));
        Ok((
            rows,
            Typed::new(format!("{name}.value"), if numbers { Ty::Int8 } else { Ty::Text }),
        ))
    }

    /// Two expressions that are compared.
    pub(super) fn pair(
        &mut self,
        left: &Expr,
        right: &Expr,
        scope: &Scope<'_>,
    ) -> Result<(Typed, Typed), Error> {
        let (left, right) = (self.expr(left, scope)?, self.expr(right, scope)?);
        self.fit_both(left, right)
    }

    fn fit_both(&mut self, left: Typed, right: Typed) -> Result<(Typed, Typed), Error> {
        let (left_ty, right_ty) = (left.ty, right.ty);
        let (left, right) = (self.fit(left, right_ty)?, self.fit(right, left_ty)?);
        Ok((self.named(left, right_ty), self.named(right, left_ty)))
    }

    /// A number that stands for a name is compared with texts as its name.
    fn named(&mut self, value: Typed, other: Ty) -> Typed {
        if value.ty.is_named_number() && matches!(other, Ty::Text | Ty::Name) {
            return Typed::new(self.to_text(&value), Ty::Text);
        }
        value
    }

    /// A literal in quotes takes the type of what it is compared with.
    pub(super) fn fit(&mut self, value: Typed, ty: Ty) -> Result<Typed, Error> {
        let Some(literal) = &value.literal else {
            return Ok(value);
        };
        match ty {
            Ty::Bool => self.to_bool(value),
            Ty::Int2 | Ty::Int4 | Ty::Int8 | Ty::Oid => match literal.trim().parse::<i64>() {
                Ok(number) => Ok(Typed::new(number.to_string(), ty)),
                Err(_) => Ok(value),
            },
            Ty::RegClass => Ok(Typed::new(format!("x_regclass({}, 1)", value.sql), ty)),
            Ty::RegType => Ok(Typed::new(format!("x_regtype({}, 1)", value.sql), ty)),
            Ty::RegNamespace => Ok(Typed::new(format!("x_regnamespace({}, 1)", value.sql), ty)),
            Ty::RegProc => Ok(Typed::new(format!("x_regproc({}, 1)", value.sql), ty)),
            _ => Ok(value),
        }
    }
}

fn contains(left: &Typed, right: &Typed, all: u8) -> Typed {
    Typed::new(
        format!("x_contains({}, {}, {all})", left.sql, right.sql),
        Ty::Bool,
    )
}

/// The operator in `OPERATOR(pg_catalog.~)`.
fn named_operator(name: &str) -> Result<BinaryOperator, Error> {
    use BinaryOperator as Op;
    Ok(match name {
        "=" => Op::Eq,
        "<>" | "!=" => Op::NotEq,
        "<" => Op::Lt,
        "<=" => Op::LtEq,
        ">" => Op::Gt,
        ">=" => Op::GtEq,
        "~" => Op::PGRegexMatch,
        "~*" => Op::PGRegexIMatch,
        "!~" => Op::PGRegexNotMatch,
        "!~*" => Op::PGRegexNotIMatch,
        "~~" => Op::PGLikeMatch,
        "~~*" => Op::PGILikeMatch,
        "!~~" => Op::PGNotLikeMatch,
        "!~~*" => Op::PGNotILikeMatch,
        "||" => Op::StringConcat,
        "+" => Op::Plus,
        "-" => Op::Minus,
        "*" => Op::Multiply,
        "/" => Op::Divide,
        "@>" => Op::AtArrow,
        "<@" => Op::ArrowAt,
        "&&" => Op::PGOverlap,
        _ => return Err(Error::unknown(format!("the operator {name}"))),
    })
}
