//! The names that PostgreSQL gives to results without an alias.

use sqlparser::ast::{AccessExpr, Expr, SelectItem, SetExpr, Value};

use super::super::idents::{folded, parts};
use super::cast::type_name;

/// The name of a result.
pub(super) fn label(expr: &Expr) -> String {
    find(expr).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// A name, and whether it is more than the name of a type or a construct.
fn find(expr: &Expr) -> Option<(String, bool)> {
    let strong = |name: String| Some((name, true));
    match expr {
        Expr::Identifier(ident) => strong(folded(ident)),
        Expr::CompoundIdentifier(idents) => idents.last().and_then(|ident| strong(folded(ident))),
        Expr::Nested(inner) => find(inner),
        Expr::Collate { expr, .. } => find(expr),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let last = access_chain.iter().rev().find_map(|access| match access {
                AccessExpr::Dot(field) => find(field),
                AccessExpr::Subscript(_) => None,
            });
            last.or_else(|| find(root))
        }
        Expr::Cast {
            expr,
            data_type,
            array,
            ..
        } => find(expr)
            .filter(|(_, strong)| *strong)
            .or_else(|| Some((type_name(data_type, *array).1, false))),
        Expr::TypedString(typed) => Some((type_name(&typed.data_type, false).1, false)),
        Expr::Function(function) => strong(parts(&function.name)?.pop()?),
        Expr::Case { else_result, .. } => else_result
            .as_ref()
            .and_then(|inner| find(inner))
            .filter(|(_, strong)| *strong)
            .or_else(|| Some(("case".to_owned(), false))),
        Expr::Exists { .. } => strong("exists".to_owned()),
        Expr::Array(_) => strong("array".to_owned()),
        Expr::Substring { .. } => strong("substring".to_owned()),
        Expr::Position { .. } => strong("position".to_owned()),
        Expr::Trim { .. } => strong("btrim".to_owned()),
        Expr::Extract { .. } => strong("extract".to_owned()),
        Expr::Ceil { .. } => strong("ceil".to_owned()),
        Expr::Floor { .. } => strong("floor".to_owned()),
        Expr::Overlay { .. } => strong("overlay".to_owned()),
        Expr::AtTimeZone { .. } => strong("timezone".to_owned()),
        Expr::Value(value) if matches!(value.value, Value::Boolean(_)) => Some(("bool".to_owned(), false)),
        Expr::Subquery(query) => match query.body.as_ref() {
            SetExpr::Select(select) => match select.projection.first()? {
                SelectItem::UnnamedExpr(expr) => find(expr),
                SelectItem::ExprWithAlias { alias, .. } => strong(folded(alias)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}
