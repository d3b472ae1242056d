//! Clauses that mean something in some dialect, and that the engine's planner would pass over without a word.
//!
//! The parser reads the clauses of many databases. The planner plans some, refuses some, and does not look at the rest: a query with `TABLESAMPLE` would be
//! answered as if it had none. What is not understood is refused here. Each structure of the parser is taken apart with all its fields, so that a version of it that
//! reads more does not compile until somebody has decided what the new field means.
//!
//! A field that is not looked at is planned by the engine (and the private planner decides about it), or it does not change what is asked for.

use super::calls;
use crate::Error;
use datafusion::functions_aggregate::all_default_aggregate_functions;
use datafusion::functions_window::all_default_window_functions;
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Function, FunctionArgumentClause, FunctionArgumentList, FunctionArguments, GroupByExpr, Join,
    LimitClause, OrderBy, OrderByExpr, OrderByKind, Query, Select, SetExpr, TableAlias, TableAliasColumnDef,
    TableFactor, TableFunctionArgs, TableWithJoins, Values, Visit, Visitor, With,
};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::LazyLock;

/// Refuses what would be ignored.
pub(super) fn check(query: &Query) -> Result<(), Error> {
    match query.visit(&mut Clauses) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Clauses;

impl Visitor for Clauses {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        flow(check_query(query))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        flow(check_select(select))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        flow(check_factor(factor))
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<Error> {
        match expression {
            Expr::Function(function) => flow(check_call(function)),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn flow(result: Result<(), Error>) -> ControlFlow<Error> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

/// Refuses the first clause that is there: whether it is, what it is called, and what to do instead.
fn none_of(clauses: &[(bool, &str, &str)]) -> Result<(), Error> {
    match clauses.iter().find(|(there, _, _)| *there) {
        Some((_, what, hint)) => Err(Error::refused(format!("{what} is not read"), *hint)),
        None => Ok(()),
    }
}

const LEAVE_OUT: &str = "leave it out";
const AS_LIMIT: &str = "write LIMIT … OFFSET … after ORDER BY";
const ROLLED_UP: &str = "write GROUP BY ROLLUP (a, b), CUBE (a, b) or GROUPING SETS ((a, b), (a), ()); each set of groups is a release of its own";

fn check_query(query: &Query) -> Result<(), Error> {
    let Query {
        with,
        body,
        order_by,
        limit_clause,
        // Read as a limit: see `spelling`.
        fetch: _,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    if let Some(with) = with {
        check_with(with)?;
    }
    check_body(body)?;
    if let Some(order) = order_by {
        check_order(order, body)?;
    }
    let limit_by = match limit_clause {
        Some(LimitClause::LimitOffset {
            limit: _,
            offset: _,
            limit_by,
        }) => !limit_by.is_empty(),
        Some(LimitClause::OffsetCommaLimit { offset: _, limit: _ }) | None => false,
    };
    none_of(&[
        (
            !pipe_operators.is_empty(),
            "a query with pipe operators (|>)",
            "write the query with SELECT … FROM … WHERE … GROUP BY",
        ),
        (
            !locks.is_empty(),
            "FOR UPDATE or FOR SHARE",
            "Deniable only reads, and locks nothing; leave it out",
        ),
        (
            for_clause.is_some(),
            "FOR XML, FOR JSON or FOR BROWSE",
            "leave it out; `deniable query --format json` writes an answer as JSON",
        ),
        (settings.is_some(), "SETTINGS", LEAVE_OUT),
        (
            format_clause.is_some(),
            "FORMAT",
            "leave it out; `deniable query --format` says how an answer is written",
        ),
        (limit_by, "LIMIT … BY", AS_LIMIT),
    ])
}

fn check_with(with: &With) -> Result<(), Error> {
    let With {
        with_token: _,
        recursive: _,
        cte_tables,
    } = with;
    for table in cte_tables {
        let Cte {
            alias,
            query: _,
            from,
            // How it is computed, and not what it is.
            materialized: _,
            closing_paren_token: _,
        } = table;
        check_alias(Some(alias))?;
        none_of(&[(from.is_some(), "FROM after a query in WITH", LEAVE_OUT)])?;
    }
    Ok(())
}

fn check_body(body: &SetExpr) -> Result<(), Error> {
    match body {
        // Visited by themselves, or refused where statements are.
        SetExpr::Select(_) | SetExpr::Query(_) => Ok(()),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => Ok(()),
        SetExpr::SetOperation {
            left,
            op: _,
            set_quantifier: _,
            right,
        } => {
            check_body(left)?;
            check_body(right)
        }
        SetExpr::Values(Values {
            explicit_row: _,
            value_keyword: _,
            rows: _,
        }) => Ok(()),
        SetExpr::Table(_) => Err(Error::refused(
            "TABLE name is not read",
            "write SELECT … FROM name",
        )),
    }
}

fn check_order(order: &OrderBy, body: &SetExpr) -> Result<(), Error> {
    let OrderBy { kind, interpolate } = order;
    none_of(&[(interpolate.is_some(), "INTERPOLATE", LEAVE_OUT)])?;
    match kind {
        // The planner knows the columns of a SELECT alone.
        OrderByKind::All(_) => none_of(&[(
            !matches!(body, SetExpr::Select(_)),
            "ORDER BY ALL after UNION, EXCEPT or INTERSECT",
            "name the columns to order by",
        )]),
        OrderByKind::Expressions(expressions) => check_sorting(expressions),
    }
}

fn check_sorting(expressions: &[OrderByExpr]) -> Result<(), Error> {
    for expression in expressions {
        let OrderByExpr {
            expr: _,
            options: _,
            with_fill,
        } = expression;
        none_of(&[(with_fill.is_some(), "WITH FILL", LEAVE_OUT)])?;
    }
    Ok(())
}

fn check_select(select: &Select) -> Result<(), Error> {
    let Select {
        select_token: _,
        // Comments, to every database but the one that they are for.
        optimizer_hints: _,
        distinct: _,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection: _,
        exclude,
        // Refused where markers are put in, as is `value_table_mode`.
        into: _,
        from,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        // Written where it is named: see `windows`.
        named_window: _,
        qualify: _,
        window_before_qualify: _,
        value_table_mode: _,
        flavor: _,
    } = select;
    for table in from {
        check_joins(table)?;
    }
    let modifiers = match group_by {
        GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers) => modifiers,
    };
    none_of(&[
        (
            select_modifiers
                .as_ref()
                .is_some_and(|modifiers| modifiers.is_any_set()),
            "a modifier after SELECT (HIGH_PRIORITY, STRAIGHT_JOIN, SQL_CALC_FOUND_ROWS, …)",
            LEAVE_OUT,
        ),
        (top.is_some(), "TOP", AS_LIMIT),
        (
            exclude.is_some(),
            "EXCLUDE after the columns",
            "name the columns that are wanted",
        ),
        (!lateral_views.is_empty(), "LATERAL VIEW", LEAVE_OUT),
        (prewhere.is_some(), "PREWHERE", "write the condition after WHERE"),
        (
            !connect_by.is_empty(),
            "START WITH or CONNECT BY",
            "hierarchies are not walked; leave it out",
        ),
        (
            !modifiers.is_empty(),
            "WITH ROLLUP, WITH CUBE, WITH TOTALS or GROUPING SETS after GROUP BY",
            ROLLED_UP,
        ),
        (!cluster_by.is_empty(), "CLUSTER BY", LEAVE_OUT),
        (!distribute_by.is_empty(), "DISTRIBUTE BY", LEAVE_OUT),
        (!sort_by.is_empty(), "SORT BY", "write ORDER BY"),
    ])
}

fn check_joins(table: &TableWithJoins) -> Result<(), Error> {
    let TableWithJoins { relation: _, joins } = table;
    for join in joins {
        let Join {
            relation: _,
            global,
            // The planner knows all kinds of joins, and refuses those that it does not plan.
            join_operator: _,
        } = join;
        none_of(&[(*global, "GLOBAL before JOIN", LEAVE_OUT)])?;
    }
    Ok(())
}

fn check_factor(factor: &TableFactor) -> Result<(), Error> {
    let unread = |what: &str| {
        Err(Error::refused(
            format!("{what} is not read"),
            "write SELECT … FROM a table, a subquery or a join",
        ))
    };
    match factor {
        TableFactor::Table {
            name: _,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } => {
            check_alias(alias.as_ref())?;
            let settings = match args {
                Some(TableFunctionArgs { args: _, settings }) => settings.is_some(),
                None => false,
            };
            none_of(&[
                (sample.is_some(), "TABLESAMPLE", SAMPLES),
                (
                    version.is_some(),
                    "an earlier version of a table (AS OF, AT, BEFORE)",
                    "leave it out: a table is read as it is now",
                ),
                (!with_hints.is_empty(), "WITH (…) after a table", LEAVE_OUT),
                (
                    !partitions.is_empty(),
                    "PARTITION (…) after a table",
                    "write a condition after WHERE",
                ),
                (json_path.is_some(), "a path after the name of a table", LEAVE_OUT),
                (!index_hints.is_empty(), "USE INDEX or FORCE INDEX", LEAVE_OUT),
                (*with_ordinality, "WITH ORDINALITY", LEAVE_OUT),
                (settings, "SETTINGS", LEAVE_OUT),
            ])
        }
        TableFactor::Derived {
            lateral: _,
            subquery: _,
            alias,
            sample,
        } => {
            check_alias(alias.as_ref())?;
            none_of(&[(sample.is_some(), "TABLESAMPLE", SAMPLES)])
        }
        TableFactor::NestedJoin {
            table_with_joins,
            alias,
        } => {
            check_alias(alias.as_ref())?;
            check_joins(table_with_joins)
        }
        TableFactor::UNNEST {
            alias,
            array_exprs: _,
            with_offset,
            with_offset_alias,
            with_ordinality,
        } => {
            check_alias(alias.as_ref())?;
            none_of(&[
                (
                    *with_offset || with_offset_alias.is_some(),
                    "WITH OFFSET",
                    LEAVE_OUT,
                ),
                (*with_ordinality, "WITH ORDINALITY", LEAVE_OUT),
            ])
        }
        TableFactor::Function { .. } | TableFactor::TableFunction { .. } => {
            unread("a function that returns a table")
        }
        TableFactor::JsonTable { .. } => unread("JSON_TABLE"),
        TableFactor::OpenJsonTable { .. } => unread("OPENJSON"),
        TableFactor::XmlTable { .. } => unread("XMLTABLE"),
        TableFactor::Pivot { .. } => unread("PIVOT"),
        TableFactor::Unpivot { .. } => unread("UNPIVOT"),
        TableFactor::MatchRecognize { .. } => unread("MATCH_RECOGNIZE"),
        TableFactor::SemanticView { .. } => unread("SEMANTIC_VIEW"),
    }
}

const SAMPLES: &str =
    "leave it out: every row counts, and noise depends on the privacy unit and not on how many rows are read";

fn check_alias(alias: Option<&TableAlias>) -> Result<(), Error> {
    let Some(alias) = alias else { return Ok(()) };
    let TableAlias {
        explicit: _,
        name: _,
        columns,
        at,
    } = alias;
    for column in columns {
        let TableAliasColumnDef { name: _, data_type } = column;
        none_of(&[(
            data_type.is_some(),
            "a type in the list of names after AS",
            "leave it out, and write CAST(… AS …) where a type is wanted",
        )])?;
    }
    none_of(&[(at.is_some(), "AT after the name of a table", LEAVE_OUT)])
}

/// Functions that look at many rows: the others have no use for a clause, and the planner drops it.
static OF_MANY_ROWS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let mut names: HashSet<String> = calls::AGGREGATES.iter().map(|&name| name.to_owned()).collect();
    for function in all_default_aggregate_functions() {
        names.insert(function.name().to_owned());
        names.extend(function.aliases().iter().cloned());
    }
    for function in all_default_window_functions() {
        names.insert(function.name().to_owned());
        names.extend(function.aliases().iter().cloned());
    }
    names
});

fn check_call(function: &Function) -> Result<(), Error> {
    let Function {
        name: _,
        // `{fn name(…)}` is the same call.
        uses_odbc_syntax: _,
        parameters,
        args,
        filter,
        null_treatment,
        over,
        within_group,
    } = function;
    let (distinct, clauses): (bool, &[FunctionArgumentClause]) = match args {
        FunctionArguments::None => (false, &[]),
        FunctionArguments::Subquery(_) => {
            return Err(Error::refused(
                "a query as the argument of a function is not read",
                "put it in FROM, with a name",
            ));
        }
        FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment,
            args: _,
            clauses,
        }) => (duplicate_treatment.is_some(), clauses),
    };
    none_of(&[(
        *parameters != FunctionArguments::None,
        "a call with two lists of arguments",
        "give all arguments in one list",
    )])?;
    for sorting in within_group {
        let nulls = sorting.options.nulls_first.is_some();
        none_of(&[(nulls, "NULLS FIRST or NULLS LAST in WITHIN GROUP", LEAVE_OUT)])?;
    }
    check_sorting(within_group)?;
    let name = calls::name_of(function).unwrap_or_else(|| function.name.to_string());
    if calls::QUANTILES.contains(&name.as_str()) || name == calls::APPROXIMATE {
        let ordered = name == calls::APPROXIMATE && !within_group.is_empty();
        none_of(&[
            (
                null_treatment.is_some(),
                "IGNORE NULLS or RESPECT NULLS in a quantile",
                "leave it out: NULLs do not count",
            ),
            (
                ordered,
                "WITHIN GROUP after APPROX_QUANTILES",
                "write APPROX_QUANTILES(x, 4)",
            ),
        ])?;
    }
    let there = distinct
        || !clauses.is_empty()
        || filter.is_some()
        || null_treatment.is_some()
        || over.is_some()
        || !within_group.is_empty();
    if there && !OF_MANY_ROWS.contains(&name) {
        return Err(Error::refused(
            format!(
                "{} is no aggregate, and a clause in or after its call has no meaning",
                name.to_uppercase()
            ),
            "DISTINCT, ALL, ORDER BY, FILTER, WITHIN GROUP, OVER, IGNORE NULLS and their like belong to aggregates such as SUM",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
