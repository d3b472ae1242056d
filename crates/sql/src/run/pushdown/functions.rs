//! Functions in PostgreSQL's SQL: those that PostgreSQL has with the same meaning, and those of ours that a few operators of it spell out.

use super::NotWritten;
use super::constants::{self, float, integer};
use super::expression::{Row, clamped};
use super::writer::{Cell, Writer};
use crate::values::facts::Kind;
use bound::{CanonicalForm, ValueGrid, canonical_form_of, grid_of, shiftable};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction;

fn unknown(name: &str) -> NotWritten {
    NotWritten::new(format!(
        "the function {name} is not on the list of what PostgreSQL computes to the same bit"
    ))
}

/// A constant text.
fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => Some(text),
        _ => None,
    }
}

/// A constant integer.
fn whole(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(ScalarValue::Int64(value), _) => *value,
        _ => None,
    }
}

/// Writes a call.
pub(super) fn write(
    row: &mut Row<'_>,
    call: &ScalarFunction,
    writer: &mut Writer,
) -> Result<Cell, NotWritten> {
    let name = call.name();
    if let Some(grid) = grid_of(&call.func) {
        let [value] = &call.args[..] else {
            return Err(unknown(name));
        };
        let value = row.write(value, writer)?;
        return on_grid(row, value, grid, writer);
    }
    if let Some(form) = canonical_form_of(&call.func) {
        let [value] = &call.args[..] else {
            return Err(unknown(name));
        };
        let value = row.write(value, writer)?;
        return canonical(row, value, form, writer);
    }
    if let ("date_part" | "date_trunc", [part, moment]) = (name, &call.args[..]) {
        let part = text(part).ok_or_else(|| unknown(name))?;
        let moment = row.write(moment, writer)?;
        return calendar(name, part, &moment).ok_or_else(|| unknown(name));
    }
    if name == "nullif"
        && let [
            value,
            Expr::Literal(ScalarValue::Date32(Some(i32::MIN)), _)
            | Expr::Literal(ScalarValue::TimestampMicrosecond(Some(i64::MIN), None), _),
        ] = &call.args[..]
    {
        // No day and no moment of PostgreSQL is that one.
        return row.write(value, writer);
    }
    let mut arguments = Vec::new();
    for argument in &call.args {
        arguments.push(row.write(argument, writer)?);
    }
    if let [left, right] = &arguments[..]
        && let Some(function) = arithmetic(name)
    {
        if left.kind != Kind::Int || right.kind != Kind::Int {
            return Err(unknown(name));
        }
        let (left, right) = (
            row.bound(left.clone(), writer)?,
            row.bound(right.clone(), writer)?,
        );
        return Ok(Cell::of(
            function(&left.sql, &right.sql),
            Kind::Int,
            &[&left, &right],
        ));
    }
    plain(name, &call.args, &arguments).ok_or_else(|| unknown(name))
}

/// Functions that PostgreSQL has, under its name of them.
fn plain(name: &str, written: &[Expr], cells: &[Cell]) -> Option<Cell> {
    let kind = cells.first()?.kind;
    let alike = cells.iter().all(|cell| cell.kind == kind);
    let parts: Vec<&Cell> = cells.iter().collect();
    let list = || {
        let texts: Vec<&str> = cells.iter().map(|cell| cell.sql.as_str()).collect();
        texts.join(", ")
    };
    let low = cells.iter().map(|cell| cell.range.0).min()?;
    let high = cells.iter().map(|cell| cell.range.1).max()?;
    let texts = alike && kind == Kind::Text;
    let of = |sql: String, kind: Kind| Some(Cell::of(sql, kind, &parts));
    match (name, cells) {
        // NULLs are passed over, in both.
        ("coalesce", _) if alike => {
            of(format!("COALESCE({})", list()), kind).map(|cell| cell.within(low, high))
        }
        ("greatest", _) if alike => {
            of(format!("GREATEST({})", list()), kind).map(|cell| cell.within(low, high))
        }
        ("least", _) if alike => of(format!("LEAST({})", list()), kind).map(|cell| cell.within(low, high)),
        ("nullif", [first, _]) if alike => {
            of(format!("NULLIF({})", list()), kind).map(|cell| cell.within(first.range.0, first.range.1))
        }
        ("md5", [_]) if texts => Some(Cell {
            digest: true,
            ..of(format!("md5({})", list()), Kind::Text)?
        }),
        ("concat", _) if texts => of(format!("(concat({}) COLLATE \"C\")", list()), Kind::Text),
        ("character_length", [_]) if texts => {
            of(format!("(char_length({})::int8)", list()), Kind::Int).map(|cell| cell.within(0, 1 << 31))
        }
        ("starts_with", [_, _]) if texts => of(format!("starts_with({})", list()), Kind::Bool),
        ("contains", [_, _]) if texts => of(format!("(strpos({}) > 0)", list()), Kind::Bool),
        ("strpos", [_, _]) if texts => {
            of(format!("(strpos({})::int8)", list()), Kind::Int).map(|cell| cell.within(0, 1 << 31))
        }
        // Characters from a first one on, of which there may be none.
        ("substr", [value, ..]) if value.kind == Kind::Text => {
            let start = written.get(1).and_then(whole)?;
            let length = match written.get(2) {
                Some(length) => whole(length)?,
                None => 1 << 20,
            };
            if !(1..=1 << 20).contains(&start) || !(0..=1 << 20).contains(&length) {
                return None;
            }
            of(
                format!(
                    "(substring({} FROM {start} FOR {length}) COLLATE \"C\")",
                    value.sql
                ),
                Kind::Text,
            )
        }
        _ => None,
    }
}

/// Nine decimal digits of a digest as a number, as `bound` cuts them out: every digest spells one.
pub(super) fn digits(
    row: &mut Row<'_>,
    expr: &Expr,
    to: &DataType,
    writer: &mut Writer,
) -> Result<Option<Cell>, NotWritten> {
    let (Expr::ScalarFunction(outer), DataType::Int64) = (expr, to) else {
        return Ok(None);
    };
    let ("translate", [Expr::ScalarFunction(inner), from, into]) = (outer.name(), &outer.args[..]) else {
        return Ok(None);
    };
    let ("substr", [digest, start, length]) = (inner.name(), &inner.args[..]) else {
        return Ok(None);
    };
    let constants = (text(from), text(into), whole(start), whole(length));
    let (Some("abcdef"), Some("012345"), Some(start @ (1 | 10)), Some(9)) = constants else {
        return Ok(None);
    };
    let digest = row.write(digest, writer)?;
    if !digest.digest {
        return Ok(None);
    }
    // Two numbers are cut out of it.
    let digest = row.bound(digest, writer)?;
    let sql = format!(
        "(translate(substring({} FROM {start} FOR 9), 'abcdef', '012345')::int8)",
        digest.sql
    );
    Ok(Some(Cell::of(sql, Kind::Int, &[&digest]).within(0, 999_999_999)))
}

/// Integer arithmetic of ours: NULL where the result has more than 64 bits, and by zero. The guards do not overflow themselves, since each adds to an end what points away from it.
fn arithmetic(name: &str) -> Option<fn(&str, &str) -> String> {
    Some(match name {
        "integer_sum" => |a, b| {
            format!(
                "(CASE WHEN {b} >= 0 THEN CASE WHEN {a} <= {} - {b} THEN {a} + {b} END WHEN {a} >= {} - {b} THEN {a} + {b} END)",
                integer(i64::MAX),
                integer(i64::MIN)
            )
        },
        "integer_difference" => |a, b| {
            format!(
                "(CASE WHEN {b} >= 0 THEN CASE WHEN {a} >= {} + {b} THEN {a} - {b} END WHEN {a} <= {} + {b} THEN {a} - {b} END)",
                integer(i64::MIN),
                integer(i64::MAX)
            )
        },
        "integer_product" => |a, b| {
            format!(
                "(CASE WHEN {a}::numeric * {b}::numeric BETWEEN {}::numeric AND {}::numeric THEN {a} * {b} END)",
                integer(i64::MIN),
                integer(i64::MAX)
            )
        },
        "integer_quotient" => |a, b| {
            format!(
                "(CASE WHEN {b} = 0 OR ({a} = {} AND {b} = -1) THEN NULL ELSE {a} / {b} END)",
                integer(i64::MIN)
            )
        },
        // PostgreSQL's remainder by −1 is zero, of the smallest integer too.
        "integer_remainder" => |a, b| format!("(CASE WHEN {b} = 0 THEN NULL ELSE {a} % {b} END)"),
        _ => return None,
    })
}

/// Parts of days and moments, and the starts of periods. Those with fractions are left out: the engines round them differently.
fn calendar(name: &str, part: &str, moment: &Cell) -> Option<Cell> {
    const PARTS: [&str; 11] = [
        "year", "isoyear", "quarter", "month", "week", "day", "doy", "dow", "isodow", "hour", "minute",
    ];
    const UNITS: [&str; 8] = [
        "second", "minute", "hour", "day", "week", "month", "quarter", "year",
    ];
    match (name, moment.kind) {
        ("date_part", Kind::Date | Kind::Timestamp) if PARTS.contains(&part) => {
            // Of a day PostgreSQL has no hours; of its first moment it has.
            let sql = format!("(EXTRACT({part} FROM {}::timestamp)::int8)", moment.sql);
            Some(Cell::of(sql, Kind::Int, &[moment]).within(-10_000_000, 10_000_000))
        }
        ("date_trunc", Kind::Timestamp) if UNITS.contains(&part) => {
            let sql = format!("date_trunc('{part}', {})", moment.sql);
            Some(Cell::of(sql, Kind::Timestamp, &[moment]))
        }
        _ => None,
    }
}

/// A value in canonical form.
fn canonical(
    row: &mut Row<'_>,
    value: Cell,
    form: CanonicalForm,
    writer: &mut Writer,
) -> Result<Cell, NotWritten> {
    let value = row.bound(value, writer)?;
    Ok(match (form, value.kind) {
        (CanonicalForm::Float(bounds), Kind::Float) => Cell::of(
            constants::canonical_float(&value.sql, bounds),
            Kind::Float,
            &[&value],
        ),
        (CanonicalForm::Text, Kind::Text) => {
            Cell::of(constants::canonical_text(&value.sql), Kind::Text, &[&value])
        }
        (CanonicalForm::Identifier, Kind::Text) => {
            Cell::of(constants::identifier(&value.sql), Kind::Text, &[&value])
        }
        _ => return Err(unknown("of a canonical form")),
    })
}

/// 2 to a power that is a normal float.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// A float onto a grid: floor(v/2^e + ½), cut to a range. What is not a number becomes NULL, and so do infinities, unless the cases `infinite` say what they become.
///
/// With 2^(e−1) ≤ |v| < 2^(e+62) the doubled quotient v/2^(e−1) is a normal float between 1 and 2⁶³, so that the product neither overflows nor underflows and is exact, and its floor k is
/// an integer of 64 bits below the largest one. floor(v/2^e + ½) = floor((k + 1)/2), which is a shift. A smaller value is nearest to zero. A larger one is beyond the range, if that ends at
/// 2⁶²; if it does not, the quotient itself is taken, below 2⁶³, with its floor and the rest, which are exact too. PostgreSQL has NaN above all numbers.
pub(crate) fn float_on_grid(v: &str, exponent: i32, grid: &ValueGrid, infinite: &str) -> String {
    let (low, high) = (integer(grid.low), integer(grid.high));
    let nothing = integer(0i64.clamp(grid.low, grid.high));
    let narrow = grid.low >= -(1 << 62) && grid.high <= 1 << 62;
    let (steps, end) = match narrow {
        true => {
            let doubled = format!("({v} * {})", float(power(1 - exponent)));
            (
                format!("((floor({doubled})::int8 + '1'::int8) >> 1)"),
                exponent + 62,
            )
        }
        false => {
            let scaled = format!("({v} * {})", float(power(-exponent)));
            let up = format!(
                "CASE WHEN {scaled} - floor({scaled}) >= '0.5'::float8 THEN '1'::float8 ELSE '0'::float8 END"
            );
            (format!("(floor({scaled}) + {up})::int8"), exponent + 63)
        }
    };
    let infinity = float(f64::INFINITY);
    let end = match end {
        ..=1023 => float(power(end)),
        // Every float is smaller.
        _ => infinity.clone(),
    };
    format!(
        "(CASE WHEN abs({v}) < {end} THEN CASE WHEN abs({v}) >= {} THEN LEAST(GREATEST({steps}, {low}), {high}) ELSE {nothing} END{infinite} \
         WHEN abs({v}) < {infinity} THEN CASE WHEN {v} > '0'::float8 THEN {high} ELSE {low} END END)",
        float(power(exponent - 1))
    )
}

/// Numbers onto a grid: floor(value/2^exponent + ½), cut to a range.
///
/// Of integers between `shiftable` ends the product fits, and a shift to the right always does. For floats see [`float_on_grid`].
pub(super) fn on_grid(
    row: &Row<'_>,
    value: Cell,
    grid: ValueGrid,
    writer: &mut Writer,
) -> Result<Cell, NotWritten> {
    if value.kind != grid.kind {
        return Err(unknown("of a grid"));
    }
    let ends = (i128::from(grid.low), i128::from(grid.high));
    if (grid.kind, grid.exponent) == (Kind::Int, 0) && ends.0 <= value.range.0 && value.range.1 <= ends.1 {
        return Ok(value);
    }
    // What is on the grid is NULL where the value is.
    let of = |sql: String, value: &Cell| Cell {
        null_with: Some(value.sql.clone()),
        // A float may be no number.
        never_null: value.never_null && value.kind == Kind::Int,
        ..Cell::of(sql, Kind::Int, &[value]).within(ends.0, ends.1)
    };
    let (low, high) = (integer(grid.low), integer(grid.high));
    let nothing = integer(0i64.clamp(grid.low, grid.high));
    if let (Kind::Float, exponent @ -1000..=1000) = (grid.kind, grid.exponent) {
        let canonical = match value.canonical_of {
            Some(_) => value,
            None => row.bound(value, writer)?,
        };
        let (v, bounds) = match &canonical.canonical_of {
            Some((float, bounds)) => (float, *bounds),
            None => (&canonical.sql, None),
        };
        let infinity = float(f64::INFINITY);
        let infinite = bounds.map(|[least, most]| {
            let place = |bound: f64| integer(grid.place_of(bound));
            format!(
                " WHEN {v} = {infinity} THEN {} WHEN {v} = {} THEN {}",
                place(most),
                float(f64::NEG_INFINITY),
                place(least)
            )
        });
        let sql = float_on_grid(v, exponent, &grid, &infinite.unwrap_or_default());
        return Ok(of(sql, &canonical));
    }
    let value = &row.bound(value, writer)?;
    let v = &value.sql;
    let of = |sql: String| of(sql, value);
    match (grid.kind, grid.exponent) {
        (Kind::Int, exponent @ -62..=0) => {
            let shift = exponent.unsigned_abs();
            let (least, most) = shiftable(shift, grid.low, grid.high);
            let (least, most) = (integer(least), integer(most));
            let times = match shift {
                0 => v.clone(),
                _ => format!("{v} * {}", integer(1i64 << shift)),
            };
            Ok(of(format!(
                "(CASE WHEN {v} > {most} THEN {high} WHEN {v} < {least} THEN {low} ELSE {times} END)"
            )))
        }
        (Kind::Int, exponent @ 1..=63) => {
            let half = exponent - 1;
            let steps = Cell::of(
                format!("(({v} >> {exponent}) + (({v} >> {half}) & '1'::int8))"),
                Kind::Int,
                &[value],
            );
            let steps = row.bound(steps, writer)?;
            Ok(clamped(&steps, grid.low, grid.high))
        }
        (Kind::Int, 64..) => Ok(of(format!("(CASE WHEN {v} IS NOT NULL THEN {nothing} END)"))),
        _ => Err(unknown("of a grid")),
    }
}
