//! Functions in `FROM`.

use sqlparser::ast::{FunctionArg, FunctionArgExpr, ObjectName, TableAlias};

use super::super::Error;
use super::super::idents::{folded, parts};
use super::from::{item_of, rename};
use super::scope::{Field, Item, Scope};
use super::{Translator, Ty, Typed};

impl Translator<'_> {
    /// A function in `FROM`.
    pub(super) fn function(
        &mut self,
        name: &ObjectName,
        args: &[FunctionArg],
        ordinality: bool,
        alias: Option<&TableAlias>,
        scope: &mut Scope<'_>,
    ) -> Result<String, Error> {
        let name = parts(name).and_then(|mut parts| parts.pop()).unwrap_or_default();
        let mut values = Vec::new();
        for arg in args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg else {
                return Err(Error::unknown(format!("an argument of {name}()")));
            };
            values.push(self.expr(expr, scope)?);
        }
        if name != "aclexplode"
            && let Some((sql, ty)) = self.rows_function(&name, &values)?
        {
            return Ok(self.rows_of(&sql, &name, ty, ordinality, alias, scope));
        }
        let fixed: &[(&str, Ty)] = match name.as_str() {
            "pg_get_keywords" => &[
                ("word", Ty::Text),
                ("catcode", Ty::Char),
                ("barelabel", Ty::Bool),
                ("catdesc", Ty::Text),
                ("baredesc", Ty::Text),
            ],
            "pg_options_to_table" => &[("option_name", Ty::Text), ("option_value", Ty::Text)],
            "aclexplode" => &[
                ("grantor", Ty::Oid),
                ("grantee", Ty::Oid),
                ("privilege_type", Ty::Text),
                ("is_grantable", Ty::Bool),
            ],
            "pg_show_all_settings" => &[("name", Ty::Text), ("setting", Ty::Text)],
            "pg_partition_tree" => &[
                ("relid", Ty::RegClass),
                ("parentrelid", Ty::RegClass),
                ("isleaf", Ty::Bool),
                ("level", Ty::Int4),
            ],
            "pg_partition_ancestors" => &[("relid", Ty::RegClass)],
            "pg_timezone_names" => &[("name", Ty::Text), ("abbrev", Ty::Text), ("is_dst", Ty::Bool)],
            "pg_stat_get_activity" => &[("datid", Ty::Oid), ("pid", Ty::Int4)],
            "pg_lock_status" => &[("locktype", Ty::Text), ("pid", Ty::Int4)],
            _ => &[],
        };
        let sql_name = self.alias();
        let shown = alias.map_or_else(|| name.clone(), |alias| folded(&alias.name));
        if !fixed.is_empty() {
            let columns: Vec<(String, Ty)> =
                fixed.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect();
            let list: Vec<String> = if name == "pg_get_keywords" {
                (1..)
                    .zip(fixed)
                    .map(|(at, (column, _))| format!("\"{column}\" AS c{at}"))
                    .collect()
            } else {
                (1..=fixed.len()).map(|at| format!("NULL AS c{at}")).collect()
            };
            let from = if name == "pg_get_keywords" {
                "FROM pg_catalog.pg_get_keywords"
            } else {
                "WHERE 0"
            };
            scope.items.push(item_of(shown, &sql_name, &columns, alias));
            return Ok(format!("(SELECT {} {from}) AS {sql_name}", list.join(", ")));
        }
        // Any other function gives one row.
        let value = self.call_with(&name, &values)?;
        scope
            .items
            .push(item_of(shown.clone(), &sql_name, &[(shown, value.ty)], alias));
        Ok(format!("(SELECT {} AS c1) AS {sql_name}", value.sql))
    }

    /// `unnest` of one array, or of several side by side.
    pub(super) fn unnest(
        &mut self,
        arrays: Vec<Typed>,
        ordinality: bool,
        alias: Option<&TableAlias>,
        scope: &mut Scope<'_>,
    ) -> String {
        if let [array] = arrays.as_slice() {
            let (json, ty) = self.unnested(array.clone());
            return self.rows_of(&json, "unnest", ty, ordinality, alias, scope);
        }
        let list: Vec<&str> = arrays.iter().map(|array| array.sql.as_str()).collect();
        let fields = arrays.iter().enumerate().map(|(at, array)| {
            (
                "unnest".to_owned(),
                format!("json_extract({{}}, '$[{at}]')"),
                array.ty.element(),
            )
        });
        let fields = fields.collect();
        self.rows_with(
            &format!("x_zip({})", list.join(", ")),
            "unnest",
            fields,
            ordinality,
            alias,
            scope,
        )
    }

    /// The rows of a JSON array as an item.
    fn rows_of(
        &mut self,
        json: &str,
        function: &str,
        ty: Ty,
        ordinality: bool,
        alias: Option<&TableAlias>,
        scope: &mut Scope<'_>,
    ) -> String {
        let fields = if ty == Ty::Row {
            ["x", "n"]
                .map(|name| {
                    (
                        name.to_owned(),
                        format!("json_extract({{}}, '$.{name}')"),
                        Ty::Int4,
                    )
                })
                .into()
        } else {
            // The column of a function is called as the function or its alias.
            let name = alias.map_or_else(|| function.to_owned(), |alias| folded(&alias.name));
            vec![(name, "{}".to_owned(), ty)]
        };
        self.rows_with(json, function, fields, ordinality, alias, scope)
    }

    /// The rows of a JSON array as an item with these columns; `{}` stands for the element in them.
    fn rows_with(
        &mut self,
        json: &str,
        function: &str,
        fields: Vec<(String, String, Ty)>,
        ordinality: bool,
        alias: Option<&TableAlias>,
        scope: &mut Scope<'_>,
    ) -> String {
        let sql_name = self.alias();
        let element = format!("{sql_name}.value");
        let field = |name: String, sql: String, ty| Field {
            name,
            sql,
            ty,
            merged: false,
        };
        let mut fields: Vec<Field> = fields
            .into_iter()
            .map(|(name, sql, ty)| field(name, sql.replace("{}", &element), ty))
            .collect();
        if ordinality {
            fields.push(field(
                "ordinality".to_owned(),
                format!("({sql_name}.key + 1)"),
                Ty::Int8,
            ));
        }
        let name = alias.map_or_else(|| function.to_owned(), |alias| folded(&alias.name));
        let mut item = Item {
            schema: None,
            name,
            fields,
            oid: 0,
        };
        rename(&mut item, alias);
        scope.items.push(item);
        format!("json_each({json}) AS {sql_name}")
    }
}
