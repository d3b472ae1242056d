//! Calls of functions as they are written: arguments, `DISTINCT`, `FILTER`, `OVER`, and functions over many
//! rows.

use sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, OrderByExpr, WindowType,
};

use super::super::Error;
use super::super::idents::parts;
use super::query::{direction, order_clause};
use super::scope::Scope;
use super::{Translator, Ty, Typed};

impl Translator<'_> {
    pub(super) fn call(&mut self, function: &Function, scope: &Scope<'_>) -> Result<Typed, Error> {
        let mut parts = parts(&function.name).unwrap_or_default();
        let name = parts.pop().unwrap_or_default();
        if !matches!(parts.as_slice(), [] | [_]) || !parts.iter().all(|schema| is_system_schema(schema)) {
            return Err(Error::new(
                format!("function {} does not exist", function.name),
                "call a function of pg_catalog, without a schema before it",
            ));
        }
        let list = match &function.args {
            FunctionArguments::None => return self.call_with(&name, &[]),
            FunctionArguments::Subquery(query) if name == "array" => {
                let output = self.query(query, scope)?;
                self.scalar(&output)?;
                let ty = output.columns.first().map_or(Ty::Text, |(_, ty)| *ty);
                let row = self.alias();
                let element = self.to_text(&Typed::new(format!("{row}.c1"), ty));
                let sql = format!(
                    "(SELECT coalesce(x_array_agg({element}), '{{}}') FROM ({}) AS {row})",
                    output.sql
                );
                return Ok(Typed::new(sql, if ty.is_number() { Ty::Ints } else { Ty::Texts }));
            }
            FunctionArguments::Subquery(_) => {
                return Err(Error::unknown(format!("a query as argument of {name}()")));
            }
            FunctionArguments::List(list) => list,
        };
        if !function.within_group.is_empty() || function.null_treatment.is_some() {
            return Err(Error::unknown(format!("this form of {name}()")));
        }
        let mut order: &[OrderByExpr] = &[];
        for clause in &list.clauses {
            match clause {
                FunctionArgumentClause::OrderBy(keys) => order = keys,
                _ => return Err(Error::unknown(format!("a clause in {name}()"))),
            }
        }
        let star = matches!(
            list.args.as_slice(),
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]
        );
        let values = if star {
            Vec::new()
        } else {
            self.arguments(&name, list, scope)?
        };
        if let Some((called, ty)) = self.aggregate(&name, &values, star)? {
            let distinct = if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
                "DISTINCT "
            } else {
                ""
            };
            let order = self.order(order, scope)?;
            let filter = match &function.filter {
                Some(filter) => format!(" FILTER (WHERE {})", self.condition(filter, scope)?),
                None => String::new(),
            };
            let over = match &function.over {
                Some(over) => self.over(over, scope)?,
                None => String::new(),
            };
            let (sql_name, arguments) = called;
            // SQLite has DISTINCT for one argument only: the texts are collected first and joined then.
            if let ("string_agg", false, [one, separator]) =
                (name.as_str(), distinct.is_empty(), values.as_slice())
            {
                let (one, separator) = (self.to_text(one), self.to_text(separator));
                let all = format!("x_array_agg({distinct}{one}{order}){filter}{over}");
                return Ok(Typed::new(
                    format!("x_array_to_string({all}, {separator}, NULL)"),
                    ty,
                ));
            }
            let sql = format!("{sql_name}({distinct}{arguments}{order}){filter}{over}");
            // Functions of SQLite that make texts longer do not count them.
            let sql = match ty {
                Ty::Json => format!("x_text({sql})"),
                _ => sql,
            };
            return Ok(Typed::new(sql, ty));
        }
        if star || !order.is_empty() || function.filter.is_some() || list.duplicate_treatment.is_some() {
            return Err(Error::unknown(format!("this form of {name}()")));
        }
        if let Some(over) = &function.over {
            let (sql_name, ty) = match name.as_str() {
                "row_number" | "rank" | "dense_rank" => (name.as_str(), Ty::Int8),
                _ => return Err(Error::unknown(format!("{name}() over a window"))),
            };
            return Ok(Typed::new(format!("{sql_name}(){}", self.over(over, scope)?), ty));
        }
        if let Some((json, ty)) = self.rows_function(&name, &values)? {
            return self.in_results(&name, &json, ty);
        }
        self.call_with(&name, &values)
    }

    /// A function that gives many rows, in the list of results: its rows are joined to those of `FROM`.
    /// Several such functions go on together, row by row.
    fn in_results(&mut self, name: &str, json: &str, ty: Ty) -> Result<Typed, Error> {
        let row = self.alias();
        let Some(added) = &mut self.in_select_list else {
            return Err(Error::unknown(format!("{name}() at this place")));
        };
        let condition = match added.first() {
            None => String::new(),
            Some((first, _)) => format!(" ON {row}.key = {first}.key"),
        };
        added.push((row.clone(), format!("json_each({json}) AS {row}{condition}")));
        Ok(Typed::new(format!("{row}.value"), ty))
    }

    fn arguments(
        &mut self,
        name: &str,
        list: &FunctionArgumentList,
        scope: &Scope<'_>,
    ) -> Result<Vec<Typed>, Error> {
        let mut values = Vec::new();
        for arg in &list.args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
                | FunctionArg::Named {
                    arg: FunctionArgExpr::Expr(expr),
                    ..
                } => values.push(self.expr(expr, scope)?),
                _ => return Err(Error::unknown(format!("an argument of {name}()"))),
            }
        }
        Ok(values)
    }

    fn order(&mut self, order: &[OrderByExpr], scope: &Scope<'_>) -> Result<String, Error> {
        let mut written = Vec::new();
        for one in order {
            written.push(format!(
                "({}){}",
                self.expr(&one.expr, scope)?.sql,
                direction(one)
            ));
        }
        Ok(order_clause(&written))
    }

    fn over(&mut self, over: &WindowType, scope: &Scope<'_>) -> Result<String, Error> {
        let WindowType::WindowSpec(window) = over else {
            return Err(Error::unknown("a named window"));
        };
        if window.window_name.is_some() || window.window_frame.is_some() {
            return Err(Error::unknown("this form of OVER"));
        }
        let mut keys = Vec::new();
        for key in &window.partition_by {
            keys.push(self.expr(key, scope)?.sql);
        }
        let partition = if keys.is_empty() {
            String::new()
        } else {
            format!("PARTITION BY {}", keys.join(", "))
        };
        Ok(format!(
            " OVER ({partition}{})",
            self.order(&window.order_by, scope)?
        ))
    }

    /// A function over many rows: its name and arguments in SQLite, and its type.
    #[allow(clippy::type_complexity)]
    fn aggregate(
        &mut self,
        name: &str,
        values: &[Typed],
        star: bool,
    ) -> Result<Option<((&'static str, String), Ty)>, Error> {
        if star {
            return Ok((name == "count").then(|| (("count", "*".to_owned()), Ty::Int8)));
        }
        let found = match (name, values) {
            ("count", [one]) => ("count", one.sql.clone(), Ty::Int8),
            ("min", [one]) => ("min", one.sql.clone(), one.ty),
            ("max", [one]) => ("max", one.sql.clone(), one.ty),
            ("sum", [one]) => (
                "sum",
                one.sql.clone(),
                if one.ty == Ty::Float8 {
                    Ty::Float8
                } else {
                    Ty::Int8
                },
            ),
            ("avg", [one]) => ("avg", one.sql.clone(), Ty::Float8),
            ("bool_and" | "every", [one]) => ("min", one.sql.clone(), Ty::Bool),
            ("bool_or", [one]) => ("max", one.sql.clone(), Ty::Bool),
            ("array_agg", [one]) => (
                "x_array_agg",
                self.to_text(one),
                if one.ty.is_number() { Ty::Ints } else { Ty::Texts },
            ),
            ("string_agg", [one, separator]) => (
                "x_string_agg",
                format!("{}, {}", self.to_text(one), self.to_text(separator)),
                Ty::Text,
            ),
            ("json_agg" | "jsonb_agg", [one]) => ("json_group_array", self.to_json(one), Ty::Json),
            ("json_object_agg" | "jsonb_object_agg", [key, one]) => (
                "json_group_object",
                format!("{}, {}", self.to_text(key), self.to_json(one)),
                Ty::Json,
            ),
            _ => return Ok(None),
        };
        Ok(Some(((found.0, found.1), found.2)))
    }

    /// A value as SQLite's functions for JSON take it.
    pub(super) fn to_json(&self, value: &Typed) -> String {
        match value.ty {
            Ty::Bool => format!(
                "json(CASE {} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)",
                value.sql
            ),
            Ty::Json => format!("json({})", value.sql),
            Ty::Texts | Ty::Ints => format!("json(x_json({}, 0))", value.sql),
            ty if ty.is_named_number() => self.to_text(value),
            _ => value.sql.clone(),
        }
    }
}

fn is_system_schema(schema: &str) -> bool {
    matches!(schema, "pg_catalog" | "information_schema")
}
