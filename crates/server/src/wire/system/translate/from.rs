//! The items of `FROM`: relations, queries, functions and joins.

use sqlparser::ast::{
    Expr, Join, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor, TableWithJoins,
};

use super::super::Error;
use super::super::idents::{folded, parts};
use super::super::names::{Found, RELEASES_NAME};
use super::scope::{Field, Item, Scope};
use super::{Output, Translator, Ty};

impl Translator<'_> {
    /// A relation with what is joined to it; the items are added to the scope.
    pub(super) fn joined(&mut self, table: &TableWithJoins, scope: &mut Scope<'_>) -> Result<String, Error> {
        let mut sql = self.factor(&table.relation, scope)?;
        for join in &table.joins {
            sql += &self.join(join, scope)?;
        }
        Ok(sql)
    }

    fn join(&mut self, join: &Join, scope: &mut Scope<'_>) -> Result<String, Error> {
        use JoinOperator::{CrossJoin, FullOuter, Inner, Left, LeftOuter, Right, RightOuter};
        let (word, constraint) = match &join.join_operator {
            JoinOperator::Join(constraint) | Inner(constraint) => ("JOIN", constraint),
            Left(constraint) | LeftOuter(constraint) => ("LEFT JOIN", constraint),
            Right(constraint) | RightOuter(constraint) => ("RIGHT JOIN", constraint),
            FullOuter(constraint) => ("FULL JOIN", constraint),
            CrossJoin(constraint) => ("CROSS JOIN", constraint),
            _ => return Err(Error::unknown("this kind of join")),
        };
        let before = scope.items.len();
        let sql = self.factor(&join.relation, scope)?;
        let constraint = match constraint {
            JoinConstraint::None => String::new(),
            JoinConstraint::On(condition) => format!(" ON {}", self.condition(condition, scope)?),
            JoinConstraint::Using(columns) => {
                let names: Option<Vec<String>> = columns
                    .iter()
                    .map(|column| parts(column).and_then(|mut parts| parts.pop()))
                    .collect();
                using(scope, before, &names.unwrap_or_default())?
            }
            JoinConstraint::Natural => {
                let (left, right) = scope.items.split_at(before);
                let names: Vec<String> = right
                    .iter()
                    .flat_map(|item| &item.fields)
                    .filter(|field| {
                        left.iter()
                            .flat_map(|item| &item.fields)
                            .any(|other| other.name == field.name)
                    })
                    .map(|field| field.name.clone())
                    .collect();
                if names.is_empty() {
                    String::new()
                } else {
                    using(scope, before, &names)?
                }
            }
        };
        Ok(format!(" {word} {sql}{constraint}"))
    }

    fn factor(&mut self, factor: &TableFactor, scope: &mut Scope<'_>) -> Result<String, Error> {
        self.deeper(|this| match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_ordinality: false,
                sample: None,
                ..
            } => this.relation(name, alias.as_ref(), scope),
            TableFactor::Table {
                name,
                alias,
                args: Some(args),
                with_ordinality,
                ..
            } => this.function(name, &args.args, *with_ordinality, alias.as_ref(), scope),
            TableFactor::Function {
                name,
                args,
                with_ordinality,
                alias,
                ..
            } => this.function(name, args, *with_ordinality, alias.as_ref(), scope),
            TableFactor::UNNEST {
                array_exprs,
                alias,
                with_ordinality,
                with_offset: false,
                ..
            } => {
                let mut arrays = Vec::new();
                for array in array_exprs {
                    arrays.push(this.expr(array, scope)?);
                }
                Ok(this.unnest(arrays, *with_ordinality, alias.as_ref(), scope))
            }
            TableFactor::Derived {
                subquery,
                alias,
                sample: None,
                lateral,
            } => {
                // SQLite has no LATERAL: a query in FROM cannot see the items to its left.
                let items = std::mem::take(&mut scope.items);
                let output = this.query(subquery, scope);
                scope.items = items;
                let output = match output {
                    Err(_) if *lateral => return Err(Error::unknown("this use of LATERAL")),
                    output => output?,
                };
                let name = alias
                    .as_ref()
                    .map(|alias| folded(&alias.name))
                    .unwrap_or_default();
                let sql_name = this.alias();
                scope
                    .items
                    .push(item_of(name, &sql_name, &output.columns, alias.as_ref()));
                Ok(format!("({}) AS {sql_name}", output.sql))
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => Ok(format!("({})", this.joined(table_with_joins, scope)?)),
            _ => Err(Error::unknown("something in FROM")),
        })
    }

    fn relation(
        &mut self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
        scope: &mut Scope<'_>,
    ) -> Result<String, Error> {
        let parts = parts(name).unwrap_or_default();
        let sql_name = self.alias();
        if let [one] = parts.as_slice()
            && let Some(common) = scope.common(one)
        {
            let (sql, columns) = (common.sql.clone(), common.columns.clone());
            let shown = alias.map_or_else(|| one.clone(), |alias| folded(&alias.name));
            scope.items.push(item_of(shown, &sql_name, &columns, alias));
            return Ok(format!("{sql} AS {sql_name}"));
        }
        let field = |name: &str, column: &str, ty| Field {
            name: name.to_owned(),
            sql: format!("{sql_name}.{column}"),
            ty,
            merged: false,
        };
        let names = self.names;
        let (schema, shown, oid, from, fields) = match names.relation(&parts) {
            Found::System(relation) => {
                let columns = relation.columns.iter();
                let fields =
                    columns.map(|column| field(column.name, &format!("\"{}\"", column.name), column.ty()));
                let from = format!("{}.\"{}\"", relation.schema, relation.name);
                (
                    relation.schema,
                    relation.name,
                    relation.oid,
                    from,
                    fields.collect(),
                )
            }
            Found::Released(table) => {
                self.reads_released = true;
                let columns = (1..).zip(&table.columns);
                let fields = columns.map(|(at, (name, ty))| field(name, &format!("c{at}"), *ty));
                let from = table.sql_name.clone();
                (
                    RELEASES_NAME,
                    table.name.as_str(),
                    table.oid,
                    from,
                    fields.collect(),
                )
            }
            Found::Missing | Found::Other => {
                let hint = match parts.first().is_some_and(|schema| schema == RELEASES_NAME) {
                    true => {
                        "\\dt lists released tables; the largest ones, and those that are many, are read over HTTP: GET /v1/releases"
                    }
                    false => "the catalogs that are here are listed in pg_catalog.pg_class",
                };
                return Err(Error::new(
                    format!("relation {:?} does not exist", parts.join(".")),
                    hint,
                ));
            }
        };
        let mut item = Item {
            schema: alias.is_none().then(|| schema.to_owned()),
            name: alias.map_or_else(|| shown.to_owned(), |alias| folded(&alias.name)),
            fields,
            oid,
        };
        rename(&mut item, alias);
        scope.items.push(item);
        Ok(format!("{from} AS {sql_name}"))
    }

    /// A query that gives one value.
    pub(super) fn scalar(&mut self, output: &Output) -> Result<(), Error> {
        if output.columns.len() == 1 {
            return Ok(());
        }
        Err(Error::new(
            "a subquery must return only one column",
            "select one column in it",
        ))
    }

    /// Whether an expression is written in double parentheses around a query.
    pub(super) fn as_subquery(expr: &Expr) -> Option<&sqlparser::ast::Query> {
        match expr {
            Expr::Subquery(query) => Some(query),
            Expr::Nested(inner) => Self::as_subquery(inner),
            _ => None,
        }
    }
}

/// An item whose columns are called `c1`, `c2` and so on in SQLite.
pub(super) fn item_of(
    name: String,
    sql_name: &str,
    columns: &[(String, Ty)],
    alias: Option<&TableAlias>,
) -> Item {
    let fields = (1..).zip(columns).map(|(at, (column, ty))| Field {
        name: column.clone(),
        sql: format!("{sql_name}.c{at}"),
        // A literal of a query within is a text by now.
        ty: if *ty == Ty::Unknown { Ty::Text } else { *ty },
        merged: false,
    });
    let mut item = Item {
        schema: None,
        name,
        fields: fields.collect(),
        oid: 0,
    };
    rename(&mut item, alias);
    item
}

/// Gives the columns the names that an alias lists.
pub(super) fn rename(item: &mut Item, alias: Option<&TableAlias>) {
    let Some(alias) = alias else { return };
    for (field, column) in item.fields.iter_mut().zip(&alias.columns) {
        field.name = folded(&column.name);
    }
}

/// The condition of `USING`, between the items before and after this place.
fn using(scope: &mut Scope<'_>, before: usize, names: &[String]) -> Result<String, Error> {
    let mut conditions = Vec::new();
    for name in names {
        let (left, right) = scope.items.split_at_mut(before);
        let find = |items: &mut [Item]| {
            items
                .iter_mut()
                .flat_map(|item| &mut item.fields)
                .position(|field| field.name == *name && !field.merged)
        };
        let (Some(_), Some(at)) = (find(left), find(right)) else {
            return Err(Error::new(
                format!("column {name:?} in USING is not on both sides"),
                "name a column that both tables have",
            ));
        };
        let first = left
            .iter()
            .flat_map(|item| &item.fields)
            .find(|field| field.name == *name && !field.merged);
        let second = right.iter_mut().flat_map(|item| &mut item.fields).nth(at);
        if let (Some(first), Some(second)) = (first, second) {
            second.merged = true;
            conditions.push(format!("{} = {}", first.sql, second.sql));
        }
    }
    Ok(format!(" ON {}", conditions.join(" AND ")))
}
