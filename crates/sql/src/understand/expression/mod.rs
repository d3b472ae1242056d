//! Expressions over private rows: a closed list, each with a meaning of its own that no data can make fail.
//!
//! Whether a query raises an error must not depend on data, or one row could announce itself by breaking the query. So nothing here is
//! passed on to the engine as it was written. [`accept`] takes an expression as the engine's planner made it, without coercions, and
//! builds an equivalent one out of parts that are known to be total, deterministic and row by row. Its type is exactly that of its [`Kind`], so
//! the engine's analyzer has nothing to add. What is not on the list is refused.
//!
//! What the words mean here:
//!
//! - **Numbers** mean what they mean in PostgreSQL. Integers are 64 bits wide and floats too, whatever width a cast names. `+`, `-`, `*`, `/` and `%` of
//!   integers give integers: `/` cuts towards zero, and `%` has the sign of the dividend. As soon as one side is a float, so is the result.
//!   PostgreSQL's `numeric` (constants with a point, and what `EXTRACT`, `floor` and `round` give) is a number here of which [`Facts::numeric`] says so: it is divided with a
//!   fraction, and its halves are rounded away from zero, where those of other floats go to the even neighbour.
//! - **Undefined is NULL**: where PostgreSQL raises an error, the result is NULL. That is so for division and remainder by zero, logarithms and roots of negative
//!   numbers, casts that fail, integers beyond 64 bits and floats beyond the largest, in every row, whether it keeps to its declared range or not.
//! - **Values are canonical** (`bound::canonical`), in columns and computed alike: there is one zero, floats are finite, and text is in Unicode normal form C and of
//!   at most 4,096 bytes. So whatever compares two rows agrees on which values are equal, and no cell grows beyond a public limit.
//! - **Casts** give NULL for what they cannot read; floats become the nearest integer. A constant that cannot be read is refused instead.
//! - **Dates and timestamps** have no time zone. Turned into text, moved by an interval, or cut from timestamp to date, they are NULL outside the years 1 to 9999;
//!   `date_trunc` is NULL outside the years 1700 to 2261.
//! - **Text** is compared by its bytes. Positions, lengths, patterns and delimiters are constants.
//! - **Constants** where a number decides how much is computed: places of `round`, one side of `power`, the bounds of `width_bucket`.
//!
//! The engine fails on more than values. It fails when a column that it declared free of NULLs has one. That depends on data, so expressions are built such that it
//! declares none; the tests name each case.
//!
//! Ranges follow by interval arithmetic: if every column lies in its range, so does the result. Public values follow too: for a `CASE` of constants, and,
//! when there are few combinations of values that an expression can meet, by computing it on all of them (`values`).

mod arithmetic;
mod bounds;
mod casts;
mod choice;
mod dates;
mod draft;
mod functions;
mod integers;
mod logic;
mod math;
mod narrowed;
mod patterns;
mod reader;
mod refuse;
mod scope;
mod text;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use dates::PARTS;
pub use functions::allowed_functions;
pub(crate) use functions::{OPERATORS, function_names};
pub(crate) use integers::{commutes, total_functions};
pub(crate) use narrowed::narrowed;
pub(crate) use scope::Scope;
pub(crate) use values::together;

use crate::{Error, Facts, Value};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::Alias;

/// An expression that may run over private rows, and what is known of its results.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    /// Total, deterministic, row by row, of the type of its kind.
    pub(crate) expr: Expr,
    /// What is publicly known of its results.
    pub(crate) facts: Facts,
    /// Whether every number it gives is whole: integers, and what `floor` and its like give.
    pub(crate) integral: bool,
}

impl Typed {
    /// All values it can take (without NULL), if they are few and public.
    pub(crate) fn enumerable(&self) -> Option<Vec<Value>> {
        values::enumerable(&self.facts, self.integral)
    }
}

/// Takes an expression over private rows, or says why it cannot be taken.
///
/// # Errors
/// When the expression uses anything that is not on the list of [`allowed_functions`]. That depends on the expression and the scope alone.
pub(crate) fn accept(expr: &Expr, scope: &Scope) -> Result<Typed, Error> {
    let (inner, alias) = match expr {
        Expr::Alias(alias) => (alias.expr.as_ref(), Some(alias)),
        _ => (expr, None),
    };
    let mut draft = reader::read(inner, scope)?.settled();
    if draft.untyped {
        return Err(Error::refused(
            "NULL alone has no kind",
            "say which kind is meant: CAST(NULL AS DOUBLE)",
        ));
    }
    values::deduce(&mut draft, scope);
    let (facts, integral) = (draft.facts(), draft.integral);
    let expr = match alias {
        None => draft.expr,
        Some(alias) => Expr::Alias(Alias {
            expr: Box::new(draft.expr),
            ..alias.clone()
        }),
    };
    Ok(Typed {
        expr,
        facts,
        integral,
    })
}
