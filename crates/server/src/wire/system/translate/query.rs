//! Queries: `WITH`, `UNION`, `VALUES`, `ORDER BY` and `LIMIT`.

use sqlparser::ast::{
    Cte, Expr, LimitClause, OrderBy, OrderByExpr, OrderByKind, Query, SetExpr, SetOperator, SetQuantifier,
    Value, Values,
};

use super::super::Error;
use super::super::idents::folded;
use super::scope::{Common, Scope};
use super::{Output, Translator, Ty};

impl Translator<'_> {
    pub(super) fn query(&mut self, query: &Query, parent: &Scope<'_>) -> Result<Output, Error> {
        // A query has a list of results of its own.
        let outside = self.in_select_list.take();
        let result = self.deeper(|this| this.query_inside(query, parent));
        self.in_select_list = outside;
        result
    }

    fn query_inside(&mut self, query: &Query, parent: &Scope<'_>) -> Result<Output, Error> {
        if !query.locks.is_empty()
            || query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty()
        {
            return Err(Error::unknown("a clause after the query"));
        }
        let mut scope = Scope::inside(parent);
        let mut with = Vec::new();
        if let Some(clause) = &query.with {
            for cte in &clause.cte_tables {
                let common = self.common(cte, clause.recursive, &scope, &mut with)?;
                scope.commons.push(common);
            }
        }
        let order: &[OrderByExpr] = match &query.order_by {
            None => &[],
            Some(OrderBy {
                kind: OrderByKind::Expressions(order),
                interpolate: None,
            }) => order,
            Some(_) => return Err(Error::unknown("this form of ORDER BY")),
        };
        let mut output = match query.body.as_ref() {
            SetExpr::Select(select) => self.select(select, order, &scope)?,
            other => {
                let mut output = self.set_expr(other, &scope)?;
                output.sql += &order_by_output(order, &output.columns)?;
                output
            }
        };
        if !with.is_empty() {
            output.sql = format!("WITH RECURSIVE {} {}", with.join(", "), output.sql);
        }
        let limit = self.limit(query, &scope)?;
        output.sql += &limit;
        Ok(output)
    }

    /// One query of `WITH`; its text is added to the clause.
    fn common(
        &mut self,
        cte: &Cte,
        recursive: bool,
        scope: &Scope<'_>,
        with: &mut Vec<String>,
    ) -> Result<Common, Error> {
        let name = folded(&cte.alias.name);
        let renamed: Vec<String> = cte
            .alias
            .columns
            .iter()
            .map(|column| folded(&column.name))
            .collect();
        let rename = |columns: &[(String, Ty)]| -> Vec<(String, Ty)> {
            let given = renamed.iter().cloned().map(Some).chain(std::iter::repeat(None));
            columns
                .iter()
                .zip(given)
                .map(|((name, ty), new)| (new.unwrap_or_else(|| name.clone()), *ty))
                .collect()
        };
        self.aliases += 1;
        let sql = format!("k{}", self.aliases);
        let output = match cte.query.body.as_ref() {
            // The part before UNION says which columns the part after it can see.
            SetExpr::SetOperation {
                left,
                op: SetOperator::Union,
                ..
            } if recursive && cte.query.with.is_none() => {
                let first = self.set_expr(left, scope)?;
                let mut inner = Scope::inside(scope);
                inner.commons.push(Common {
                    name: name.clone(),
                    sql: sql.clone(),
                    columns: rename(&first.columns),
                });
                self.query(&cte.query, &inner)?
            }
            _ => self.query(&cte.query, scope)?,
        };
        let columns = rename(&output.columns);
        let list: Vec<String> = (1..=columns.len()).map(|at| format!("c{at}")).collect();
        with.push(format!("{sql}({}) AS ({})", list.join(", "), output.sql));
        Ok(Common { name, sql, columns })
    }

    /// A query without `ORDER BY` and `LIMIT`.
    pub(super) fn set_expr(&mut self, body: &SetExpr, scope: &Scope<'_>) -> Result<Output, Error> {
        self.deeper(|this| match body {
            SetExpr::Select(select) => this.select(select, &[], scope),
            SetExpr::Query(query) => this.query(query, scope),
            SetExpr::Values(values) => this.values(values, scope),
            SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => {
                let (first, second) = (this.operand(left, scope)?, this.operand(right, scope)?);
                if first.columns.len() != second.columns.len() {
                    return Err(Error::new(
                        "the two sides of a UNION have different numbers of columns",
                        "select as many columns on both sides",
                    ));
                }
                let word = match (op, set_quantifier) {
                    (SetOperator::Union, SetQuantifier::All) => "UNION ALL",
                    (SetOperator::Union, SetQuantifier::None | SetQuantifier::Distinct) => "UNION",
                    (SetOperator::Except, SetQuantifier::None | SetQuantifier::Distinct) => "EXCEPT",
                    (SetOperator::Intersect, SetQuantifier::None | SetQuantifier::Distinct) => "INTERSECT",
                    _ => return Err(Error::unknown(format!("{op} {set_quantifier}"))),
                };
                let columns = first
                    .columns
                    .into_iter()
                    .zip(second.columns)
                    .map(|((name, a), (_, b))| (name, a.or(b)))
                    .collect();
                Ok(Output {
                    sql: format!("{} {word} {}", first.sql, second.sql),
                    columns,
                })
            }
            _ => Err(Error::unknown("this kind of query")),
        })
    }

    /// One side of a `UNION`. SQLite takes no parentheses there and groups from the left, so what is more
    /// than a `SELECT` becomes one.
    fn operand(&mut self, body: &SetExpr, scope: &Scope<'_>) -> Result<Output, Error> {
        let mut output = self.set_expr(body, scope)?;
        if !matches!(body, SetExpr::Select(_)) {
            output.sql = format!("SELECT * FROM ({})", output.sql);
        }
        Ok(output)
    }

    fn values(&mut self, values: &Values, scope: &Scope<'_>) -> Result<Output, Error> {
        let mut columns: Vec<(String, Ty)> = Vec::new();
        let mut rows = Vec::new();
        for row in &values.rows {
            let mut written = Vec::new();
            for (at, value) in row.content.iter().enumerate() {
                let value = self.expr(value, scope)?;
                match columns.get_mut(at) {
                    Some((_, ty)) => *ty = ty.or(value.ty),
                    None if rows.is_empty() => columns.push((format!("column{}", at + 1), value.ty)),
                    None => {}
                }
                written.push(value.sql);
            }
            if written.len() != columns.len() {
                return Err(Error::new(
                    "VALUES lists must all be the same length",
                    "give every row as many values as the first",
                ));
            }
            rows.push(format!("({})", written.join(", ")));
        }
        let list: Vec<String> = (1..=columns.len())
            .map(|at| format!("column{at} AS c{at}"))
            .collect();
        Ok(Output {
            sql: format!("SELECT {} FROM (VALUES {})", list.join(", "), rows.join(", ")),
            columns,
        })
    }

    fn limit(&mut self, query: &Query, scope: &Scope<'_>) -> Result<String, Error> {
        let (mut limit, mut offset) = (None, None);
        match &query.limit_clause {
            None => {}
            Some(LimitClause::LimitOffset {
                limit: count,
                offset: skipped,
                limit_by,
            }) if limit_by.is_empty() => {
                limit = count.as_ref();
                offset = skipped.as_ref().map(|offset| &offset.value);
            }
            Some(_) => return Err(Error::unknown("this form of LIMIT")),
        }
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent {
                return Err(Error::unknown("this form of FETCH"));
            }
            limit = fetch.quantity.as_ref();
        }
        let mut written = String::new();
        if limit.is_some() || offset.is_some() {
            let count = limit.map(|limit| self.count(limit, scope)).transpose()?;
            written = format!(" LIMIT {}", count.unwrap_or_else(|| "-1".to_owned()));
        }
        if let Some(offset) = offset {
            written += &format!(" OFFSET {}", self.count(offset, scope)?);
        }
        Ok(written)
    }

    /// A number of rows; null is no limit.
    fn count(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<String, Error> {
        let value = self.expr(expr, scope)?;
        Ok(format!("coalesce(CAST({} AS INTEGER), -1)", value.sql))
    }
}

/// `ORDER BY` after a `UNION` or `VALUES`: positions and names of the result only.
fn order_by_output(order: &[OrderByExpr], columns: &[(String, Ty)]) -> Result<String, Error> {
    let mut written = Vec::new();
    for one in order {
        let place = place_of(&one.expr, columns)
            .ok_or_else(|| Error::unknown("an expression in ORDER BY after UNION or VALUES"))?;
        written.push(format!("{place}{}", direction(one)));
    }
    Ok(order_clause(&written))
}

/// The place of the result that an expression of `ORDER BY` names.
pub(super) fn place_of(expr: &Expr, columns: &[(String, Ty)]) -> Option<usize> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => {
                let place: usize = number.parse().ok()?;
                (1..=columns.len()).contains(&place).then_some(place)
            }
            _ => None,
        },
        Expr::Identifier(ident) => {
            let name = folded(ident);
            columns
                .iter()
                .position(|(column, _)| *column == name)
                .map(|place| place + 1)
        }
        _ => None,
    }
}

/// How PostgreSQL sorts: nulls are larger than everything.
pub(super) fn direction(order: &OrderByExpr) -> &'static str {
    let descending = order.options.asc == Some(false);
    match (descending, order.options.nulls_first.unwrap_or(descending)) {
        (false, false) => " ASC NULLS LAST",
        (false, true) => " ASC NULLS FIRST",
        (true, false) => " DESC NULLS LAST",
        (true, true) => " DESC NULLS FIRST",
    }
}

pub(super) fn order_clause(written: &[String]) -> String {
    if written.is_empty() {
        String::new()
    } else {
        format!(" ORDER BY {}", written.join(", "))
    }
}
