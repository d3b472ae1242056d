//! One `SELECT`.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, OrderByExpr, Select, SelectItem, SelectItemQualifiedWildcardKind,
    WildcardAdditionalOptions,
};

use super::super::Error;
use super::super::idents::{folded, parts};
use super::query::{direction, order_clause, place_of};
use super::scope::{Item, Scope};
use super::{Output, Translator, Ty, Typed, label};

impl Translator<'_> {
    pub(super) fn select(
        &mut self,
        select: &Select,
        order: &[OrderByExpr],
        parent: &Scope<'_>,
    ) -> Result<Output, Error> {
        refuse_rare_clauses(select)?;
        let mut scope = Scope::inside(parent);
        let mut from = Vec::new();
        for table in &select.from {
            from.push(self.joined(table, &mut scope)?);
        }
        let condition = match &select.selection {
            Some(condition) => format!(" WHERE {}", self.condition(condition, &scope)?),
            None => String::new(),
        };
        let outside = self.in_select_list.replace(Vec::new());
        let results = self.results(&select.projection, &scope);
        let added = std::mem::replace(&mut self.in_select_list, outside);
        let results = results?;
        let added: Vec<String> = added.into_iter().flatten().map(|(_, sql)| sql).collect();
        if !added.is_empty() {
            from.push(added.join(" LEFT JOIN "));
        }
        let columns: Vec<(String, Ty)> = results
            .iter()
            .map(|(name, value)| (name.clone(), value.ty))
            .collect();
        let group = self.group_by(&select.group_by, &results, &scope)?;
        let having = match &select.having {
            Some(having) => format!(" HAVING {}", self.condition(having, &scope)?),
            None => String::new(),
        };
        let first_of = match &select.distinct {
            Some(Distinct::On(keys)) => Some(self.first_of(keys, &columns, &results, &scope)?),
            _ => None,
        };
        let mut sorted = Vec::new();
        for one in order {
            let key = match place_of(&one.expr, &columns) {
                // Inside OVER a number is not the place of a result.
                Some(place) if first_of.is_some() => results[place - 1].1.sql.clone(),
                Some(place) => place.to_string(),
                None => self.sort_key(&one.expr, &scope)?,
            };
            sorted.push((key, direction(one)));
        }
        let list: Vec<String> = (1..)
            .zip(&results)
            .map(|(at, (_, value))| format!("{} AS c{at}", value.sql))
            .collect();
        // A SELECT of no columns is allowed in PostgreSQL, as in EXISTS (SELECT FROM …).
        let list = if list.is_empty() {
            "NULL".to_owned()
        } else {
            list.join(", ")
        };
        let from = if from.is_empty() {
            String::new()
        } else {
            format!(" FROM {}", from.join(", "))
        };
        let distinct = if matches!(select.distinct, Some(Distinct::Distinct)) {
            "DISTINCT "
        } else {
            ""
        };
        let order: Vec<String> = sorted
            .iter()
            .map(|(key, direction)| format!("{key}{direction}"))
            .collect();
        let order = order_clause(&order);
        let rest = format!("{from}{condition}{group}{having}");
        let sql = match first_of {
            None => format!("SELECT {distinct}{list}{rest}{order}"),
            Some(keys) => {
                let (mut list, mut again) = (list, Vec::new());
                for (at, (key, direction)) in (1..).zip(&sorted) {
                    list += &format!(", {key} AS s{at}");
                    again.push(format!("s{at}{direction}"));
                }
                let names: Vec<String> = (1..=columns.len()).map(|at| format!("c{at}")).collect();
                format!(
                    "SELECT {} FROM (SELECT {list}, row_number() OVER (PARTITION BY {keys}{order}) AS place{rest}) \
                     WHERE place = 1{}",
                    names.join(", "),
                    order_clause(&again)
                )
            }
        };
        Ok(Output { sql, columns })
    }

    /// The keys of `DISTINCT ON`.
    fn first_of(
        &mut self,
        keys: &[Expr],
        columns: &[(String, Ty)],
        results: &[(String, Typed)],
        scope: &Scope<'_>,
    ) -> Result<String, Error> {
        let mut written = Vec::new();
        for key in keys {
            written.push(match place_of(key, columns) {
                Some(place) => results[place - 1].1.sql.clone(),
                None => self.expr(key, scope)?.sql,
            });
        }
        Ok(written.join(", "))
    }

    fn sort_key(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<String, Error> {
        let key = self.expr(expr, scope)?;
        // A number would be the place of a column for SQLite, and a constant sorts nothing.
        Ok(format!("({})", key.sql))
    }

    fn results(&mut self, items: &[SelectItem], scope: &Scope<'_>) -> Result<Vec<(String, Typed)>, Error> {
        let mut results = Vec::new();
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let value = self.expr(expr, scope)?;
                    results.push((label::label(expr), value));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let value = self.expr(expr, scope)?;
                    results.push((folded(alias), value));
                }
                SelectItem::Wildcard(options) => {
                    refuse_options(options)?;
                    for item in &scope.items {
                        every_field(item, true, &mut results);
                    }
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    refuse_options(options)?;
                    let qualifier = parts(name).unwrap_or_default();
                    let item = scope.item(&qualifier).ok_or_else(|| {
                        Error::new(
                            format!("missing FROM-clause entry for table {:?}", qualifier.join(".")),
                            "name a table or an alias that is in FROM",
                        )
                    })?;
                    every_field(item, false, &mut results);
                }
                _ => return Err(Error::unknown(format!("{item} in a list of results"))),
            }
        }
        if results.len() > 1_000 {
            return Err(Error::new(
                "the statement has too many columns",
                "select the columns that you need",
            ));
        }
        Ok(results)
    }

    fn group_by(
        &mut self,
        group_by: &GroupByExpr,
        results: &[(String, Typed)],
        scope: &Scope<'_>,
    ) -> Result<String, Error> {
        let GroupByExpr::Expressions(keys, modifiers) = group_by else {
            return Err(Error::unknown("GROUP BY ALL"));
        };
        if !modifiers.is_empty() {
            return Err(Error::unknown("this form of GROUP BY"));
        }
        let columns: Vec<(String, Ty)> = results
            .iter()
            .map(|(name, value)| (name.clone(), value.ty))
            .collect();
        let mut written = Vec::new();
        for key in keys {
            // A column of the tables comes before a name of the results.
            let of_tables = match key {
                Expr::Identifier(ident) => scope.column(&[folded(ident)])?,
                _ => None,
            };
            let key = match (of_tables, place_of(key, &columns)) {
                (Some(key), _) => key,
                (None, Some(place)) => results[place - 1].1.clone(),
                (None, None) => self.expr(key, scope)?,
            };
            written.push(format!("({})", key.sql));
        }
        Ok(if written.is_empty() {
            String::new()
        } else {
            format!(" GROUP BY {}", written.join(", "))
        })
    }

    /// An expression that is true or false.
    pub(super) fn condition(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<String, Error> {
        let value = self.expr(expr, scope)?;
        match value.ty {
            Ty::Bool => Ok(value.sql),
            Ty::Unknown => Ok(self.to_bool(value)?.sql),
            _ => Err(Error::new(
                "a condition is not a truth value",
                "compare the value with something, or write a column of type boolean",
            )),
        }
    }
}

/// Every column of an item, without those that `USING` made one with another where `*` stands alone.
fn every_field(item: &Item, alone: bool, results: &mut Vec<(String, Typed)>) {
    for field in item.fields.iter().filter(|field| !(alone && field.merged)) {
        results.push((field.name.clone(), Typed::new(&field.sql, field.ty)));
    }
}

fn refuse_options(options: &WildcardAdditionalOptions) -> Result<(), Error> {
    let plain = options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none();
    if plain {
        Ok(())
    } else {
        Err(Error::unknown("an option of *"))
    }
}

fn refuse_rare_clauses(select: &Select) -> Result<(), Error> {
    let rare = select.top.is_some()
        || select.exclude.is_some()
        || select.into.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.connect_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || !select.named_window.is_empty()
        || select.qualify.is_some()
        || select.value_table_mode.is_some();
    if rare {
        Err(Error::unknown("a clause of SELECT"))
    } else {
        Ok(())
    }
}
