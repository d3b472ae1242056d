//! Expressions in PostgreSQL's SQL: a closed list, each with the meaning that the local engine gives it.
//!
//! Claim: what is written has, on every row, the value that the local engine computes, and raises no error, wherever PostgreSQL evaluates it: before a filter, after it, or for rows that
//! nobody asked for.
//! Proof: by the cases below. Each is total by itself, so no case relies on another to be evaluated first, but for `CASE`, of which PostgreSQL evaluates a branch only where its condition
//! holds. (It computes constants early, also in branches. A guard here is a condition on the very operands of its branch: where these are constants so is the guard, and PostgreSQL drops
//! the branch before it would compute it.) What is not on the list is not written, and the question is answered by fetching.
//!
//! Where a case needs an operand several times, the operand becomes a column of a layer before (`Row::bound`). Since every operand is total, it does not matter that it is then computed for rows
//! on which its branch is not taken.

use super::NotWritten;
use super::constants::{self, constant, float, integer};
use super::functions;
use super::writer::{Cell, INTEGERS, Relation, Writer};
use crate::values::facts::Kind;
use bound::{ScaledSum, Secret, grid_of_expression};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, Case, Expr, Operator};

/// A row of a relation.
pub(super) struct Row<'a> {
    schema: &'a DFSchema,
    columns: &'a [Option<Cell>],
    secret: &'a Secret,
    /// The step whose columns these are. `None` for the rows of two steps: in the condition of a join.
    step: Option<usize>,
}

/// The condition that every row meets.
pub(super) const TRUE: &str = "'true'::bool";

fn unknown(what: impl std::fmt::Display) -> NotWritten {
    NotWritten::new(format!(
        "{what} is not on the list of what PostgreSQL computes to the same bit"
    ))
}

impl<'a> Row<'a> {
    /// A row of a relation that is the input of an operator with this schema.
    pub(super) fn of(schema: &'a DFSchema, relation: &'a Relation, secret: &'a Secret) -> Self {
        Self {
            schema,
            columns: &relation.columns,
            secret,
            step: Some(relation.step),
        }
    }

    /// A row of two relations, of which nothing can be computed before.
    pub(super) fn of_two(schema: &'a DFSchema, columns: &'a [Option<Cell>], secret: &'a Secret) -> Self {
        Self {
            schema,
            columns,
            secret,
            step: None,
        }
    }

    /// The same cell, computed once.
    pub(super) fn bound(&self, cell: Cell, writer: &mut Writer) -> Result<Cell, NotWritten> {
        match self.step {
            Some(step) => writer.bound(step, cell),
            None if cell.atom => Ok(cell),
            None => Err(NotWritten::new("the condition of a join is too complicated")),
        }
    }

    /// Writes an expression.
    pub(super) fn write(&mut self, expr: &Expr, writer: &mut Writer) -> Result<Cell, NotWritten> {
        if let Some(scaled) = ScaledSum::of(expr) {
            return self.scaled(&scaled, writer);
        }
        if let Some((value, grid)) = grid_of_expression(expr) {
            // A clamp of whole numbers is such an expression too, and means the same.
            let value = self.write(&value, writer)?;
            return functions::on_grid(self, value, grid, writer);
        }
        match expr {
            Expr::Alias(alias) => self.write(&alias.expr, writer),
            Expr::Column(column) => {
                let place = self.schema.maybe_index_of_column(column);
                let cell = place.and_then(|place| self.columns.get(place).cloned().flatten());
                cell.ok_or_else(|| unknown("a column of another query"))
            }
            Expr::Literal(value, _) => self.literal(value, writer),
            Expr::BinaryExpr(binary) => {
                let left = self.write(&binary.left, writer)?;
                let right = self.write(&binary.right, writer)?;
                operator(&left, binary.op, &right)
            }
            Expr::Not(operand) => self.test(operand, writer, "(NOT ", ")"),
            Expr::IsTrue(operand) => self.test(operand, writer, "(", " IS TRUE)"),
            Expr::IsFalse(operand) => self.test(operand, writer, "(", " IS FALSE)"),
            Expr::IsUnknown(operand) => self.test(operand, writer, "(", " IS UNKNOWN)"),
            Expr::IsNotTrue(operand) => self.test(operand, writer, "(", " IS NOT TRUE)"),
            Expr::IsNotFalse(operand) => self.test(operand, writer, "(", " IS NOT FALSE)"),
            Expr::IsNotUnknown(operand) => self.test(operand, writer, "(", " IS NOT UNKNOWN)"),
            Expr::IsNull(operand) => {
                let cell = self.write(operand, writer)?;
                Ok(Cell::of(format!("({} IS NULL)", cell.sql), Kind::Bool, &[&cell]))
            }
            Expr::IsNotNull(operand) => {
                let cell = self.write(operand, writer)?;
                Ok(is_not_null(&cell))
            }
            Expr::Between(between) => self.between(between, writer),
            Expr::InList(list) => self.in_list(list, writer),
            Expr::Case(case) => self.case(case, writer),
            Expr::Cast(cast) => self.cast(&cast.expr, cast.field.data_type(), false, writer),
            Expr::TryCast(cast) => self.cast(&cast.expr, cast.field.data_type(), true, writer),
            Expr::Like(like) => {
                let plain = !like.case_insensitive && like.escape_char.is_none();
                let pattern = match &*like.pattern {
                    Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
                        text
                    }
                    _ => return Err(unknown("LIKE with such a pattern")),
                };
                // A backslash at the end raises an error where the pattern gets so far.
                if !plain || pattern.contains('\\') {
                    return Err(unknown("ILIKE, or LIKE with a backslash,"));
                }
                let operand = self.write(&like.expr, writer)?;
                let pattern = self.write(&like.pattern, writer)?;
                let not = if like.negated { "NOT " } else { "" };
                let sql = format!("({} {not}LIKE {})", operand.sql, pattern.sql);
                Ok(Cell::of(sql, Kind::Bool, &[&operand, &pattern]))
            }
            Expr::ScalarFunction(call) => functions::write(self, call, writer),
            _ => Err(unknown("an expression of this query")),
        }
    }

    fn literal(&self, value: &ScalarValue, writer: &mut Writer) -> Result<Cell, NotWritten> {
        // The key is a parameter: it is in no text.
        if let ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)) = value
            && let Some(purpose) = self.secret.purpose_of(text)
        {
            let sql = format!("(({} || '{purpose}') COLLATE \"C\")", writer.key(self.secret));
            return Ok(Cell {
                atom: true,
                ..Cell::of(sql, Kind::Text, &[])
            });
        }
        let (sql, kind) = constant(value)?;
        let cell = Cell {
            atom: true,
            never_null: !value.is_null(),
            ..Cell::of(sql, kind, &[])
        };
        Ok(match value {
            ScalarValue::Int64(Some(value)) => cell.within(i128::from(*value), i128::from(*value)),
            _ => cell,
        })
    }

    fn test(
        &mut self,
        operand: &Expr,
        writer: &mut Writer,
        before: &str,
        behind: &str,
    ) -> Result<Cell, NotWritten> {
        let cell = self.write(operand, writer)?;
        if cell.kind != Kind::Bool {
            return Err(unknown("a condition of this type"));
        }
        Ok(Cell::of(
            format!("{before}{}{behind}", cell.sql),
            Kind::Bool,
            &[&cell],
        ))
    }

    /// PostgreSQL writes it as two comparisons, so its operand is bound.
    fn between(&mut self, between: &Between, writer: &mut Writer) -> Result<Cell, NotWritten> {
        let operand = self.write(&between.expr, writer)?;
        let operand = self.bound(operand, writer)?;
        let low = self.write(&between.low, writer)?;
        let high = self.write(&between.high, writer)?;
        if operand.kind != low.kind || operand.kind != high.kind {
            return Err(unknown("BETWEEN of several types"));
        }
        let not = if between.negated { "NOT " } else { "" };
        let sql = format!("({} {not}BETWEEN {} AND {})", operand.sql, low.sql, high.sql);
        Ok(Cell::of(sql, Kind::Bool, &[&operand, &low, &high]))
    }

    fn in_list(&mut self, list: &InList, writer: &mut Writer) -> Result<Cell, NotWritten> {
        let operand = self.write(&list.expr, writer)?;
        let operand = self.bound(operand, writer)?;
        let mut members = Vec::new();
        for member in &list.list {
            let member = self.write(member, writer)?;
            if member.kind != operand.kind {
                return Err(unknown("IN of several types"));
            }
            members.push(member);
        }
        if members.is_empty() {
            return Err(unknown("IN of nothing"));
        }
        let not = if list.negated { "NOT " } else { "" };
        let texts: Vec<&str> = members.iter().map(|member| member.sql.as_str()).collect();
        let sql = format!("({} {not}IN ({}))", operand.sql, texts.join(", "));
        let parts: Vec<&Cell> = members.iter().chain([&operand]).collect();
        Ok(Cell::of(sql, Kind::Bool, &parts))
    }

    /// Both forms of CASE. PostgreSQL evaluates the operand once, and branches in order until one is taken.
    fn case(&mut self, case: &Case, writer: &mut Writer) -> Result<Cell, NotWritten> {
        let operand = match &case.expr {
            Some(operand) => Some(self.write(operand, writer)?),
            None => None,
        };
        let mut sql = match &operand {
            Some(operand) => format!("(CASE {}", operand.sql),
            None => "(CASE".to_owned(),
        };
        let tested = operand.as_ref().map_or(Kind::Bool, |operand| operand.kind);
        let (mut tests, mut results): (Vec<Cell>, Vec<Cell>) = (operand.into_iter().collect(), Vec::new());
        // What is NULL where the first test is not met, if that is a test for NULL.
        let mut tested_for_null = None;
        for (when, then) in &case.when_then_expr {
            let when = match &**when {
                Expr::IsNotNull(operand) => {
                    let operand = self.write(operand, writer)?;
                    let test = is_not_null(&operand);
                    if results.is_empty() {
                        tested_for_null = operand.null_with.or(Some(operand.sql));
                    }
                    test
                }
                when => self.write(when, writer)?,
            };
            let then = self.write(then, writer)?;
            if when.kind != tested {
                return Err(unknown("CASE of several types"));
            }
            sql += &format!(" WHEN {} THEN {}", when.sql, then.sql);
            tests.push(when);
            results.push(then);
        }
        if let Some(otherwise) = &case.else_expr {
            let otherwise = self.write(otherwise, writer)?;
            sql += &format!(" ELSE {}", otherwise.sql);
            results.push(otherwise);
        }
        let Some(kind) = results.first().map(|result| result.kind) else {
            return Err(unknown("CASE without a result"));
        };
        if results.iter().any(|result| result.kind != kind) {
            return Err(unknown("CASE of several types"));
        }
        // A NULL is no integer.
        let integers = || {
            results
                .iter()
                .filter(|result| result.sql != constants::null(Kind::Int))
        };
        let low = integers().map(|result| result.range.0).min();
        let high = integers().map(|result| result.range.1).max();
        let parts: Vec<&Cell> = tests.iter().chain(&results).collect();
        let cell = Cell::of(format!("{sql} END)"), kind, &parts);
        let cell = cell.within(low.unwrap_or(INTEGERS.0), high.unwrap_or(INTEGERS.1));
        // Something where something is there, and else NULL.
        let alone = case.expr.is_none() && case.when_then_expr.len() == 1;
        let there = results.first().is_some_and(|then| then.never_null);
        let nothing = results
            .get(1)
            .is_none_or(|otherwise| otherwise.sql == constants::null(kind));
        Ok(Cell {
            null_with: tested_for_null.filter(|_| alone && there && nothing),
            ..cell
        })
    }

    /// Casts that keep the value, and that PostgreSQL spells the same.
    fn cast(
        &mut self,
        expr: &Expr,
        to: &DataType,
        tries: bool,
        writer: &mut Writer,
    ) -> Result<Cell, NotWritten> {
        if let Some(cell) = functions::digits(self, expr, to, writer)? {
            return Ok(cell);
        }
        let cell = self.write(expr, writer)?;
        let sql = &cell.sql;
        let of = |sql: String, kind: Kind| Cell::of(sql, kind, &[&cell]);
        let text = matches!(to, DataType::Utf8 | DataType::Utf8View);
        Ok(match (cell.kind, to) {
            (Kind::Int, DataType::Int64)
            | (Kind::Float, DataType::Float64)
            | (Kind::Bool, DataType::Boolean) => cell,
            (Kind::Text, _) if text => cell,
            // To the nearest float, ties to even, in both.
            (Kind::Int, DataType::Float64) => of(format!("({sql}::float8)"), Kind::Float),
            (Kind::Bool, DataType::Int64) => of(format!("({sql}::int4::int8)"), Kind::Int).within(0, 1),
            (Kind::Bool, DataType::Float64) => of(format!("({sql}::int4::float8)"), Kind::Float),
            (Kind::Int | Kind::Bool, _) if text => of(format!("({sql}::text COLLATE \"C\")"), Kind::Text),
            // The whole part, where 64 bits hold it.
            (Kind::Float, DataType::Int64) if tries => {
                let cell = self.bound(cell, writer)?;
                let (value, end) = (&cell.sql, 9_223_372_036_854_775_808.0);
                let sql = format!(
                    "(CASE WHEN {value} >= {} AND {value} < {} THEN trunc({value})::int8 END)",
                    float(-end),
                    float(end)
                );
                Cell::of(sql, Kind::Int, &[&cell])
            }
            // Days since 1970: PostgreSQL has fewer days than 32 bits, and no infinite one gets here.
            (Kind::Date, DataType::Int32 | DataType::Int64) => {
                let days = format!("(({sql} - '1970-01-01'::date)::int8)");
                of(days, Kind::Int).within(i128::from(i32::MIN), i128::from(i32::MAX))
            }
            // Microseconds since 1970: a `numeric` of six places, so that nothing is lost, and at most 300,000 years.
            (Kind::Timestamp, DataType::Int64) => {
                let microseconds = format!("((EXTRACT(EPOCH FROM {sql}) * '1000000'::numeric)::int8)");
                of(microseconds, Kind::Int)
            }
            // Days of the years 1 to 9999 and near them are moments.
            (Kind::Date, DataType::Timestamp(datafusion::arrow::datatypes::TimeUnit::Microsecond, None)) => {
                of(format!("({sql}::timestamp)"), Kind::Timestamp)
            }
            _ => return Err(unknown("a cast of this query")),
        })
    }

    /// What a unit adds to a sum for a mean. With n > most ≥ 1 the quotient lies between 2⁻⁶³ and 1, so that neither it nor the product is too large or too small for a float.
    fn scaled(&mut self, scaled: &ScaledSum, writer: &mut Writer) -> Result<Cell, NotWritten> {
        let sum = self.write(&scaled.sum, writer)?;
        let sum = self.bound(sum, writer)?;
        let present = self.write(&scaled.present, writer)?;
        let present = self.bound(present, writer)?;
        if sum.kind != Kind::Int || present.kind != Kind::Int || scaled.most < 1 {
            return Err(unknown("a mean of this type"));
        }
        let (total, rows) = (&sum.sql, &present.sql);
        let (low, high) = (integer(scaled.low), integer(scaled.high));
        let share = format!(
            "floor({total}::float8 * ({} / {rows}::float8))",
            float(scaled.most as f64)
        );
        let held = format!(
            "LEAST(GREATEST({share}, {}), {})::int8",
            float(-9_223_372_036_854_775_808.0),
            float(9_223_372_036_854_774_784.0)
        );
        let sql = format!(
            "(CASE WHEN {rows} > {most} AND {total} IS NOT NULL THEN LEAST(GREATEST({held}, {low}), {high}) \
             WHEN {rows} > '0'::int8 AND {total} IS NOT NULL THEN LEAST(GREATEST({total}, {low}), {high}) END)",
            most = integer(scaled.most)
        );
        let cell = Cell::of(sql, Kind::Int, &[&sum, &present]);
        Ok(cell.within(i128::from(scaled.low), i128::from(scaled.high)))
    }
}

/// Whether a cell is there.
fn is_not_null(cell: &Cell) -> Cell {
    let sql = match cell.never_null {
        true => TRUE.to_owned(),
        false => format!("({} IS NOT NULL)", cell.sql),
    };
    Cell::of(sql, Kind::Bool, &[cell])
}

/// Comparisons, logic, and whole numbers whose results fit whatever the data are.
fn operator(left: &Cell, operator: Operator, right: &Cell) -> Result<Cell, NotWritten> {
    let (one, other) = (&left.sql, &right.sql);
    let of = |sql: String, kind: Kind| Cell::of(sql, kind, &[left, right]);
    if left.kind != right.kind {
        return Err(unknown(format_args!("{operator} of several types")));
    }
    let symbol = match operator {
        Operator::Eq => "=",
        Operator::NotEq => "<>",
        Operator::Lt => "<",
        Operator::LtEq => "<=",
        Operator::Gt => ">",
        Operator::GtEq => ">=",
        Operator::IsDistinctFrom => "IS DISTINCT FROM",
        Operator::IsNotDistinctFrom => "IS NOT DISTINCT FROM",
        Operator::And | Operator::Or if left.kind == Kind::Bool => {
            return Ok(of(format!("({one} {operator} {other})"), Kind::Bool));
        }
        // NULL where one side is, in both; the result is made canonical, and cut, by who asked for it.
        Operator::StringConcat if left.kind == Kind::Text => {
            return Ok(of(format!("(({one} || {other}) COLLATE \"C\")"), Kind::Text));
        }
        // Once any finite float is itself.
        Operator::Multiply if left.kind == Kind::Float && *other == float(1.0) => return Ok(left.clone()),
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
            if left.kind == Kind::Int =>
        {
            return whole(left, operator, right);
        }
        _ => return Err(unknown(operator)),
    };
    Ok(of(format!("({one} {symbol} {other})"), Kind::Bool))
}

/// Whole numbers of 64 bits. Where the result may have more, it is computed as a `numeric` and wrapped around, as the local engine does. Divisors are above zero, whatever the data are.
fn whole(left: &Cell, operator: Operator, right: &Cell) -> Result<Cell, NotWritten> {
    let ((a, b), (c, d)) = (left.range, right.range);
    let (low, high) = match operator {
        Operator::Plus => (a + c, b + d),
        Operator::Minus => (a - d, b - c),
        // A remainder is smaller than the divisor, a positive constant, and no larger than the dividend.
        Operator::Modulo if c == d && c > 0 => (a.min(0).max(1 - c), b.max(0).min(c - 1)),
        // Cut towards zero, in both.
        Operator::Divide if c > 0 => (a.min(0), b.max(0)),
        Operator::Multiply => {
            let corners = [a * c, a * d, b * c, b * d];
            (
                corners.into_iter().min().unwrap_or(0),
                corners.into_iter().max().unwrap_or(0),
            )
        }
        _ => return Err(unknown(operator)),
    };
    let symbol = match operator {
        Operator::Plus => "+",
        Operator::Minus => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        _ => "%",
    };
    if low < INTEGERS.0 || high > INTEGERS.1 {
        let exact = format!("{}::numeric {symbol} {}::numeric", left.sql, right.sql);
        return Ok(Cell::of(
            format!("({})", constants::wrapped(&exact)),
            Kind::Int,
            &[left, right],
        ));
    }
    let sql = format!("({} {symbol} {})", left.sql, right.sql);
    let cell = Cell::of(sql, Kind::Int, &[left, right]).within(low, high);
    Ok(Cell {
        null_with: left.null_with.clone().filter(|_| right.never_null),
        ..cell
    })
}

/// An integer between two others; NULL stays NULL. It is written several times, so it has to be bound.
pub(super) fn clamped(bound: &Cell, low: i64, high: i64) -> Cell {
    let (value, least, most) = (&bound.sql, constants::integer(low), constants::integer(high));
    let sql = format!(
        "(CASE WHEN {value} < {least} THEN {least} WHEN {value} > {most} THEN {most} ELSE {value} END)"
    );
    Cell::of(sql, Kind::Int, &[bound]).within(i128::from(low), i128::from(high))
}
