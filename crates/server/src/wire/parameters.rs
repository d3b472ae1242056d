//! The types of parameters that a client leaves open. As in PostgreSQL, a parameter has the type of what it
//! stands beside.

use super::system;
use pgwire::api::Type;
use sql::{Catalog, Kind};
use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, LimitClause,
    Query, UnaryOperator, Value, Visit, Visitor,
};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// The types of columns by their names; a name that stands for several types has none.
#[derive(Debug, Default)]
pub(super) struct Columns(HashMap<String, Option<Type>>);

impl Columns {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut columns: HashMap<String, Option<Type>> = HashMap::new();
        for (name, facts) in catalog.tables.values().flat_map(|table| &table.columns) {
            let kind = match facts.kind {
                Kind::Bool => Type::BOOL,
                Kind::Int => Type::INT8,
                Kind::Float => Type::FLOAT8,
                Kind::Text => Type::TEXT,
                Kind::Date => Type::DATE,
                Kind::Timestamp => Type::TIMESTAMP,
            };
            let known = columns
                .entry(name.to_lowercase())
                .or_insert_with(|| Some(kind.clone()));
            if *known != Some(kind) {
                *known = None;
            }
        }
        Self(columns)
    }

    fn kind(&self, name: &str) -> Option<Type> {
        self.0.get(&name.to_lowercase()).cloned().flatten()
    }
}

/// The types of the parameters of a query, as far as they can be told. May take a moment.
pub(super) fn infer(query: &str, count: usize, columns: &Columns) -> Vec<Option<Type>> {
    let mut types = Types {
        columns,
        found: vec![None; count],
    };
    if let Ok(query) = system::parse(query) {
        let _ = query.visit(&mut types);
    }
    types.found
}

struct Types<'a> {
    columns: &'a Columns,
    found: Vec<Option<Type>>,
}

impl Visitor for Types<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
            for rows in limit.iter().chain(offset.iter().map(|offset| &offset.value)) {
                self.note(rows, Some(Type::INT8));
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::And | BinaryOperator::Or => self.alike(&[left, right], Some(Type::BOOL)),
                _ => self.alike(&[left, right], None),
            },
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.alike(&[left, right], None);
            }
            Expr::Between { expr, low, high, .. } => self.alike(&[expr, low, high], None),
            Expr::InList { expr, list, .. } => {
                let all: Vec<&Expr> = std::iter::once(expr.as_ref()).chain(list).collect();
                self.alike(&all, None);
            }
            Expr::Cast { expr, data_type, .. } => self.note(expr, of_data_type(data_type)),
            Expr::Function(function) if is_called(function, &["coalesce", "nullif", "greatest", "least"]) => {
                let all: Vec<&Expr> = arguments(function).collect();
                self.alike(&all, None);
            }
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => {
                let mut results: Vec<&Expr> = conditions.iter().map(|when| &when.result).collect();
                results.extend(else_result.as_deref());
                self.alike(&results, None);
                if let Some(operand) = operand {
                    let mut compared = vec![operand.as_ref()];
                    compared.extend(conditions.iter().map(|when| &when.condition));
                    self.alike(&compared, None);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Types<'_> {
    /// Notes that these have one type: this, or that of one whose type is known.
    fn alike(&mut self, exprs: &[&Expr], kind: Option<Type>) {
        if !exprs.iter().any(|expr| number(expr).is_some()) {
            return;
        }
        let kind = kind.or_else(|| exprs.iter().find_map(|expr| self.kind(expr)));
        for expr in exprs {
            self.note(expr, kind.clone());
        }
    }

    /// Notes the type of a parameter. The first place that tells it decides.
    fn note(&mut self, expr: &Expr, kind: Option<Type>) {
        let place = number(expr).and_then(|number| number.checked_sub(1));
        if let Some(found) = place.and_then(|place| self.found.get_mut(place))
            && found.is_none()
        {
            *found = kind;
        }
    }

    fn kind(&self, expr: &Expr) -> Option<Type> {
        match expr {
            Expr::Identifier(name) => self.columns.kind(&name.value),
            Expr::CompoundIdentifier(names) => self.columns.kind(&names.last()?.value),
            Expr::Nested(inner) => self.kind(inner),
            Expr::UnaryOp { op, expr } => match op {
                UnaryOperator::Not => Some(Type::BOOL),
                _ => self.kind(expr),
            },
            Expr::Cast { data_type, .. } => of_data_type(data_type),
            Expr::TypedString(typed) => of_data_type(&typed.data_type),
            Expr::Value(value) => match &value.value {
                Value::Number(number, _) if number.parse::<i64>().is_ok() => Some(Type::INT8),
                Value::Number(..) => Some(Type::FLOAT8),
                Value::Boolean(_) => Some(Type::BOOL),
                _ => None,
            },
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo => match (self.kind(left), self.kind(right)) {
                    (Some(Type::FLOAT8), _) | (_, Some(Type::FLOAT8)) => Some(Type::FLOAT8),
                    (Some(kind), _) | (None, Some(kind)) => Some(kind),
                    (None, None) => None,
                },
                BinaryOperator::StringConcat => Some(Type::TEXT),
                _ => None,
            },
            Expr::Extract { .. } => Some(Type::FLOAT8),
            Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => self.kind(expr),
            Expr::Substring { .. } | Expr::Trim { .. } => Some(Type::TEXT),
            Expr::Function(function) => {
                if is_called(function, &["count", "length", "char_length"]) {
                    Some(Type::INT8)
                } else if is_called(function, &["avg", "stddev", "variance", "sqrt", "ln", "exp"]) {
                    Some(Type::FLOAT8)
                } else if is_called(
                    function,
                    &["lower", "upper", "btrim", "ltrim", "rtrim", "replace"],
                ) {
                    Some(Type::TEXT)
                } else if is_called(function, &["date_trunc"]) {
                    Some(Type::TIMESTAMP)
                } else {
                    // Most others give what they take.
                    arguments(function).find_map(|argument| self.kind(argument))
                }
            }
            _ => None,
        }
    }
}

/// The number of a parameter.
fn number(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Nested(inner) => number(inner),
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => name.strip_prefix('$')?.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn is_called(function: &Function, names: &[&str]) -> bool {
    let name = function.name.to_string().to_lowercase();
    names.contains(&name.as_str())
}

fn arguments(function: &Function) -> impl Iterator<Item = &Expr> {
    let list = match &function.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}

fn of_data_type(data_type: &DataType) -> Option<Type> {
    let name = data_type.to_string().to_lowercase();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    Some(match name.split('(').next()?.trim() {
        "bool" | "boolean" => Type::BOOL,
        "smallint" | "int2" => Type::INT2,
        "int" | "integer" | "int4" => Type::INT4,
        "bigint" | "int8" => Type::INT8,
        "oid" => Type::OID,
        "real" | "float4" => Type::FLOAT4,
        "float" | "double" | "double precision" | "float8" => Type::FLOAT8,
        "numeric" | "decimal" | "dec" => Type::NUMERIC,
        "text" | "varchar" | "character varying" | "char" | "character" | "bpchar" => Type::TEXT,
        "name" => Type::NAME,
        "date" => Type::DATE,
        "timestamp" | "timestamp without time zone" => Type::TIMESTAMP,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_has_the_type_of_what_it_stands_beside() {
        let columns = [
            ("age", Some(Type::INT8)),
            ("score", Some(Type::FLOAT8)),
            ("joined", Some(Type::DATE)),
            ("region", Some(Type::TEXT)),
            ("member", Some(Type::BOOL)),
            ("place", None),
        ];
        let columns = Columns(columns.map(|(name, kind)| (name.to_owned(), kind)).into());
        let of = |condition: &str| {
            infer(
                &format!("SELECT COUNT(*) FROM people WHERE {condition}"),
                1,
                &columns,
            )
            .remove(0)
        };
        for (condition, kind) in [
            ("age > $1", Some(Type::INT8)),
            ("$1 < people.age", Some(Type::INT8)),
            ("age + $1 > 5", Some(Type::INT8)),
            ("age > 2 * score + $1", Some(Type::FLOAT8)),
            ("age BETWEEN 1 AND $1", Some(Type::INT8)),
            ("age IN (1, $1)", Some(Type::INT8)),
            ("joined >= $1", Some(Type::DATE)),
            ("region = $1", Some(Type::TEXT)),
            ("member = $1", Some(Type::BOOL)),
            ("member AND $1", Some(Type::BOOL)),
            ("\"Age\" = ($1)", Some(Type::INT8)),
            ("place = $1", None),
            ("region = $1::int", Some(Type::INT4)),
            ("lower(region) = $1", Some(Type::TEXT)),
            ("coalesce(score, $1) > 0", Some(Type::FLOAT8)),
            ("CASE WHEN member THEN age ELSE $1 END > 3", Some(Type::INT8)),
            ("'$1' = region", None),
            ("unreadable ( $1", None),
        ] {
            assert_eq!(of(condition), kind, "{condition}");
        }
        let paged = infer(
            "SELECT age FROM people GROUP BY age LIMIT $2 OFFSET $1",
            2,
            &columns,
        );
        assert_eq!(paged, [Some(Type::INT8), Some(Type::INT8)]);
        assert_eq!(infer("SELECT $9", 1, &columns), [None]);
    }
}
