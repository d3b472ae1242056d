//! Other ways to write what the engine's planner knows by one: FETCH FIRST, lists after ANY and ALL, and columns of the same name.

use super::RESERVED;
use crate::Error;
use datafusion::common::Column;
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, DataType, Expr, Fetch, Ident, LimitClause, ObjectNamePart, Query,
    Select, SelectItem, SetExpr, TableFactor, Value, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// How long the list after ANY or ALL may be where it is not the same as IN.
const COMPARED: usize = 100;

/// `FETCH FIRST n ROWS ONLY` is `LIMIT n`.
pub(super) fn fetch_as_limit(query: &mut Query) -> Result<(), Error> {
    let Some(Fetch {
        with_ties,
        percent,
        quantity,
    }) = query.fetch.take()
    else {
        return Ok(());
    };
    let unread = |what: &str| {
        Err(Error::refused(
            format!("{what} is not read"),
            "write LIMIT … OFFSET … after ORDER BY, or FETCH FIRST … ROWS ONLY",
        ))
    };
    if with_ties || percent {
        return unread("FETCH with TIES or PERCENT");
    }
    let rows = Some(quantity.unwrap_or_else(|| super::calls::number("1")));
    query.limit_clause = Some(match query.limit_clause.take() {
        None => LimitClause::LimitOffset {
            limit: rows,
            offset: None,
            limit_by: Vec::new(),
        },
        Some(LimitClause::LimitOffset {
            limit: None,
            offset,
            limit_by,
        }) => LimitClause::LimitOffset {
            limit: rows,
            offset,
            limit_by,
        },
        Some(_) => return unread("LIMIT together with FETCH"),
    });
    Ok(())
}

/// `x = ANY (ARRAY[a, b])` is `x IN (a, b)`, `x <> ALL (ARRAY[a, b])` is `x NOT IN (a, b)`, and other comparisons are written one by one.
pub(super) fn lists(expression: &mut Expr) -> Result<(), Error> {
    let (left, op, right, any) = match expression {
        Expr::AnyOp {
            left,
            compare_op,
            right,
            is_some: _,
        } => (left, compare_op, right, true),
        Expr::AllOp {
            left,
            compare_op,
            right,
        } => (left, compare_op, right, false),
        _ => return Ok(()),
    };
    if matches!(right.as_ref(), Expr::Subquery(_)) {
        return Ok(());
    }
    let Some(members) = members(right) else {
        return Err(Error::refused(
            "ANY and ALL compare with a list or with a subquery, and this is neither",
            "write x = ANY (ARRAY['a', 'b']), or x IN ('a', 'b')",
        ));
    };
    let nested = |expression: Expr| Box::new(Expr::Nested(Box::new(expression)));
    let operand = || nested(left.as_ref().clone());
    *expression = match (op, any) {
        // Of no members none is equal, and all are.
        _ if members.is_empty() => Expr::Value(Value::Boolean(!any).into()),
        (BinaryOperator::Eq, true) => Expr::InList {
            expr: operand(),
            list: members,
            negated: false,
        },
        (BinaryOperator::NotEq, false) => Expr::InList {
            expr: operand(),
            list: members,
            negated: true,
        },
        _ if members.len() > COMPARED => {
            return Err(Error::refused(
                format!("the list after ANY or ALL has more than {COMPARED} members"),
                "put the values into a public table and compare with a subquery over it",
            ));
        }
        (op, any) => {
            let one = |member: Expr| Expr::BinaryOp {
                left: operand(),
                op: op.clone(),
                right: nested(member),
            };
            let chained = members.into_iter().map(one).reduce(|left, right| Expr::BinaryOp {
                left: Box::new(left),
                op: if any {
                    BinaryOperator::Or
                } else {
                    BinaryOperator::And
                },
                right: Box::new(right),
            });
            Expr::Nested(Box::new(chained.ok_or_else(super::nothing)?))
        }
    };
    Ok(())
}

/// The members of `ARRAY[…]`; of one that is cast, each cast to what the members are cast to.
pub(super) fn members(expression: &Expr) -> Option<Vec<Expr>> {
    match expression {
        Expr::Array(array) => Some(array.elem.clone()),
        Expr::Nested(inner) => members(inner),
        Expr::Cast {
            expr,
            data_type: DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)),
            ..
        } => {
            let cast = |member: Expr| {
                let mut cast = expression.clone();
                if let Expr::Cast { expr, data_type, .. } = &mut cast {
                    **expr = member;
                    *data_type = (**element).clone();
                }
                cast
            };
            Some(members(expr)?.into_iter().map(cast).collect())
        }
        _ => None,
    }
}

/// Two columns of a result may have the same name, and the engine's planner wants them to differ: the later one is named by the place of the first, until the
/// answer is written ([`as_written`]).
pub(super) fn tell_columns_apart(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => tell_apart(select),
        SetExpr::Query(query) => tell_columns_apart(&mut query.body),
        SetExpr::SetOperation { left, right, .. } => {
            tell_columns_apart(left);
            tell_columns_apart(right);
        }
        _ => {}
    }
}

fn tell_apart(select: &mut Select) {
    let mut seen: Vec<String> = Vec::new();
    for item in &mut select.projection {
        let (expression, name) = match item {
            SelectItem::UnnamedExpr(Expr::Identifier(column)) => {
                (Expr::Identifier(column.clone()), spelled(column))
            }
            // `a.x` and `b.x` are two columns, which the planner tells apart by their tables; `a.x` twice is not.
            SelectItem::UnnamedExpr(expression) => {
                (expression.clone(), bare(expression).to_string().to_lowercase())
            }
            SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), spelled(alias)),
            // How many columns these are is not known here.
            _ => return,
        };
        if let Some(first) = seen.iter().position(|other| *other == name) {
            *item = SelectItem::ExprWithAlias {
                expr: expression,
                alias: Ident::with_quote('"', format!("{AGAIN}{first}_{}", seen.len())),
            };
        }
        seen.push(name);
    }
}

/// An expression without parentheses around it, which make no difference to its name.
fn bare(expression: &Expr) -> &Expr {
    match expression {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

/// The beginning of the name of a column that is called as an earlier one.
const AGAIN: &str = "__deniable_again_";

fn spelled(name: &Ident) -> String {
    match name.quote_style {
        None => name.value.to_lowercase(),
        Some(_) => name.value.clone(),
    }
}

/// What the columns of a result are called that have no name: the expression as it is written, with the names of functions in small letters, as PostgreSQL folds
/// names. None where a column has a name, and for all where a star stands for columns.
pub(super) fn headings(body: &SetExpr) -> Vec<Option<String>> {
    match body {
        SetExpr::Select(select) => of_select(select),
        SetExpr::Query(query) => headings(&query.body),
        SetExpr::SetOperation { left, .. } => headings(left),
        _ => Vec::new(),
    }
}

fn of_select(select: &Select) -> Vec<Option<String>> {
    if let [SelectItem::Wildcard(_)] = select.projection.as_slice()
        && let [only] = select.from.as_slice()
        && only.joins.is_empty()
        && let TableFactor::Derived { subquery, alias, .. } = &only.relation
        && alias.as_ref().is_none_or(|alias| alias.columns.is_empty())
    {
        return headings(&subquery.body);
    }
    let mut found = Vec::new();
    for item in &select.projection {
        // What is refused here is refused again where it is read.
        for item in super::calls::expand(item.clone()).unwrap_or_default() {
            found.push(match item {
                SelectItem::UnnamedExpr(expression) => heading(&expression),
                SelectItem::ExprWithAlias { .. } => None,
                _ => return Vec::new(),
            });
        }
    }
    found
}

fn heading(expression: &Expr) -> Option<String> {
    match bare(expression) {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => None,
        // It is called as its column is.
        Expr::Subquery(query) => headings(&query.body).into_iter().next().flatten(),
        other => {
            let mut folded = other.clone();
            let _ = folded.visit(&mut Folding);
            Some(folded.to_string())
        }
    }
}

/// Writes the names of functions in small letters.
struct Folding;

impl VisitorMut for Folding {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(call) = expression {
            for part in &mut call.name.0 {
                if let ObjectNamePart::Identifier(name) = part
                    && name.quote_style.is_none()
                {
                    name.value = name.value.to_lowercase();
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Names for the columns of a result, where they are to have others than they have: no two alike, and none where nothing changes.
pub(crate) fn distinguished(names: Vec<Option<String>>, columns: &[Column]) -> Vec<Option<String>> {
    let mut taken: Vec<String> = Vec::new();
    let mut reported = Vec::new();
    for (place, (name, column)) in names.into_iter().zip(columns).enumerate() {
        let wanted = name.unwrap_or_else(|| column.name.clone());
        let first = taken.iter().position(|other| *other == wanted);
        let renamed = match first {
            // Columns of different tables may have one name, and stay as they are.
            Some(_) if wanted == column.name && column.relation.is_some() => None,
            Some(first) => Some(format!("{AGAIN}{first}_{place}")),
            None => (wanted != column.name).then(|| wanted.clone()),
        };
        taken.push(wanted);
        reported.push(renamed);
    }
    reported
}

/// The names of a result's columns, as the query wrote them.
pub(crate) fn as_written(names: Vec<String>) -> Vec<String> {
    debug_assert!(AGAIN.starts_with(RESERVED));
    let first = |name: &String| -> Option<usize> {
        let (place, _) = name.strip_prefix(AGAIN)?.split_once('_')?;
        place.parse().ok()
    };
    names
        .iter()
        .map(|name| {
            first(name)
                .and_then(|place| names.get(place))
                .unwrap_or(name)
                .clone()
        })
        .collect()
}
