//! Plans in PostgreSQL's SQL: a closed list of operators.
//!
//! Claim: the rows of each operator are, as a multiset, those that the local engine has at the same place, in the columns that its plan needs.
//! Proof: by the cases. Filters, projections, UNION ALL and GROUP BY mean the same in both. A ROW_NUMBER, or a count of the rows so far, has an order in which two rows that are equal are equal in
//! all columns that the plan needs, what is counted among them, so that either may come first; what other plans have added to the step is none of theirs. Sums of integers are `numeric` in PostgreSQL and exact; cut to 64 bits they are the
//! sums modulo 2⁶⁴ that the local engine has. Where a filter follows a window it is a step of its own, so that it sees the window's column or the statement is no SQL: it cannot get lost.
//! A filter is left out only where its condition is that a column is there of which an earlier filter of the same plan said so, or a count. A GROUP BY is left out only where the keys of an
//! earlier one, after which nothing but filters and windows came, are among its own: then each of its groups is one row, of which a sum, a least and a largest value are the value itself.
//! A GROUP BY of a key that is a function of a column is a GROUP BY of that column and one of its groups, of which counts and sums are added up.

use super::NotWritten;
use super::constants;
use super::expression::{Row, TRUE};
use super::scan;
use super::writer::{Cell, From, Relation, Writer};
use crate::catalog::Catalog;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::run::publics::Publics;
use crate::sources::Described;
use crate::understand::relation::{operator, table_of};
use crate::values::facts::Kind;
use bound::{CUT_BY_OWNER, Secret};
use datafusion::common::{JoinType, NullEquality, TableReference};
use datafusion::logical_expr::expr::{AggregateFunction, Sort, WindowFunction};
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, Join, LogicalPlan, Projection, TableScan, Union, Window, WindowFrame,
    WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition,
};
use std::collections::{BTreeSet, HashMap};

/// An expression of more bytes than this is computed once, also if it is used once.
const MOST_REPEATED: usize = 1024;

/// What is known before anything is written.
pub(super) struct Known<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) publics: &'a Publics,
    /// The tables as their database describes them.
    pub(super) tables: &'a HashMap<TableReference, Described>,
    pub(super) secret: &'a Secret,
}

/// What a window gives each row.
enum Numbering<'a> {
    RowNumber,
    DenseRank,
    /// Of the rows up to this one, those where this is there.
    Count(&'a Expr),
}

/// Whether a frame holds the rows from the first one to the current one.
fn is_running(frame: &WindowFrame) -> bool {
    frame.units == WindowFrameUnits::Rows
        && frame.start_bound.is_unbounded()
        && frame.end_bound == WindowFrameBound::CurrentRow
}

/// Which columns of a plan are needed, by their places.
type Needed = BTreeSet<usize>;

fn unknown(what: &str) -> NotWritten {
    NotWritten::new(format!(
        "{what} is not on the list of what PostgreSQL computes to the same bit"
    ))
}

/// The places of the columns that expressions read.
fn read_by<'e>(exprs: impl IntoIterator<Item = &'e Expr>, input: &LogicalPlan) -> Result<Needed, NotWritten> {
    let mut places = Needed::new();
    for expr in exprs {
        for column in expr.column_refs() {
            let place = input.schema().maybe_index_of_column(column);
            places.insert(place.ok_or_else(|| unknown("a column of another query"))?);
        }
    }
    Ok(places)
}

impl Known<'_> {
    /// Writes a plan, of which these columns are needed.
    pub(super) fn write(
        &self,
        plan: &LogicalPlan,
        needed: &Needed,
        writer: &mut Writer,
    ) -> Result<Relation, NotWritten> {
        match plan {
            LogicalPlan::TableScan(scan) => self.scan(scan, needed, writer),
            LogicalPlan::SubqueryAlias(alias) => self.write(&alias.input, needed, writer),
            LogicalPlan::Projection(projection) => self.projection(projection, needed, writer),
            LogicalPlan::Filter(filter) => self.filter(filter, needed, writer),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate, needed, writer),
            LogicalPlan::Window(window) => self.window(window, needed, writer),
            LogicalPlan::Union(union) => self.union(union, needed, writer),
            LogicalPlan::Join(join) => self.join(join, needed, writer),
            other => Err(unknown(&operator(other))),
        }
    }

    fn scan(&self, scan: &TableScan, needed: &Needed, writer: &mut Writer) -> Result<Relation, NotWritten> {
        if scan.projection.is_some() || !scan.filters.is_empty() || scan.fetch.is_some() {
            return Err(unknown("a scan of this form"));
        }
        if let Some(batches) = self.publics.rows_of(&scan.table_name) {
            return scan::held(
                &scan.table_name.to_string(),
                batches,
                &scan.projected_schema,
                needed,
                writer,
            );
        }
        let (Some((name, table)), Some(described)) = (
            table_of(self.catalog, &scan.table_name),
            self.tables.get(&scan.table_name),
        ) else {
            return Err(unknown("a table outside of the database"));
        };
        scan::table(name, table, described, needed, writer)
    }

    /// What a projection computes is written where it is used, or once if it is long.
    fn projection(
        &self,
        projection: &Projection,
        needed: &Needed,
        writer: &mut Writer,
    ) -> Result<Relation, NotWritten> {
        let wanted = needed.iter().map(|place| &projection.expr[*place]);
        let input = self.write(&projection.input, &read_by(wanted, &projection.input)?, writer)?;
        let mut row = Row::of(projection.input.schema(), &input, self.secret);
        let mut cells = Vec::new();
        for (place, expr) in projection.expr.iter().enumerate() {
            cells.push(match needed.contains(&place) {
                true => {
                    let cell = row.write(expr, writer)?;
                    let column = matches!(expr.clone().unalias(), Expr::Column(_));
                    Some(match cell.sql.len() > MOST_REPEATED && !column {
                        true => row.bound(cell, writer)?,
                        false => cell,
                    })
                }
                false => None,
            });
        }
        Ok(Relation {
            columns: cells,
            ..input
        })
    }

    fn filter(&self, filter: &Filter, needed: &Needed, writer: &mut Writer) -> Result<Relation, NotWritten> {
        let mut below = read_by([&filter.predicate], &filter.input)?;
        below.extend(needed);
        let input = self.write(&filter.input, &below, writer)?;
        let mut row = Row::of(filter.input.schema(), &input, self.secret);
        let predicate = row.write(&filter.predicate, writer)?;
        if predicate.kind != Kind::Bool {
            return Err(unknown("a condition of this type"));
        }
        #[cfg(test)]
        let below_window = matches!(*filter.input, LogicalPlan::Window(_));
        #[cfg(test)]
        if planted(Mutant::LostWindowFilter) && below_window {
            return Ok(only(input, needed));
        }
        if predicate.sql == TRUE {
            return Ok(only(input, needed));
        }
        let mut rows = writer.kept(only(input, needed), &predicate.sql)?;
        // Of the rows that are left.
        if let Expr::IsNotNull(operand) = &filter.predicate
            && let [place] = read_by([&**operand], &filter.input)?
                .into_iter()
                .collect::<Vec<_>>()[..]
            && matches!(**operand, Expr::Column(_))
            && let Some(cell) = &mut rows.columns[place]
        {
            cell.never_null = true;
        }
        Ok(rows)
    }

    fn aggregate(
        &self,
        aggregate: &Aggregate,
        needed: &Needed,
        writer: &mut Writer,
    ) -> Result<Relation, NotWritten> {
        let keys = aggregate.group_expr.len();
        let calls: Vec<(usize, &Expr)> = aggregate
            .aggr_expr
            .iter()
            .enumerate()
            .map(|(place, expr)| (keys + place, expr))
            .filter(|(place, _)| needed.contains(place))
            .collect();
        let read = aggregate
            .group_expr
            .iter()
            .chain(calls.iter().map(|(_, expr)| *expr));
        let input = self.write(&aggregate.input, &read_by(read, &aggregate.input)?, writer)?;
        let mut row = Row::of(aggregate.input.schema(), &input, self.secret);
        let mut cells: Vec<Option<Cell>> = Vec::new();
        let mut by = Vec::new();
        for expr in &aggregate.group_expr {
            if matches!(expr, Expr::GroupingSet(_)) {
                return Err(unknown("a grouping set"));
            }
            let key = row.write(expr, writer)?;
            by.push(key.sql.clone());
            cells.push(Some(key));
        }
        // Where no two rows agree in the keys, a group is a row.
        let alone = input
            .unique
            .as_ref()
            .is_some_and(|unique| unique.iter().all(|name| by.contains(name)));
        #[cfg(test)]
        let alone = alone || (planted(Mutant::GroupsOfOne) && input.unique.is_some() && !by.is_empty());
        for (place, expr) in aggregate.aggr_expr.iter().enumerate() {
            cells.push(match needed.contains(&(keys + place)) {
                true => Some(self.call(expr, (keys > 0, alone), &mut row, writer)?),
                false => None,
            });
        }
        if alone {
            return Ok(Relation {
                columns: cells,
                ..input
            });
        }
        if by.is_empty() && calls.is_empty() {
            return Err(unknown("a GROUP BY of nothing"));
        }
        let costly = |key: &Cell| key.function_of.is_some();
        match cells[..keys].iter().flatten().any(costly) {
            true => grouped_twice(cells, by, &aggregate.aggr_expr, input.step, writer),
            false => writer.grouped(cells, input.step, &by),
        }
    }

    /// A call of an aggregate: whether there are keys, and whether each group is one row.
    fn call(
        &self,
        expr: &Expr,
        (keys, alone): (bool, bool),
        row: &mut Row<'_>,
        writer: &mut Writer,
    ) -> Result<Cell, NotWritten> {
        let Expr::AggregateFunction(AggregateFunction { func, params }) = expr.clone().unalias() else {
            return Err(unknown("an aggregate of this form"));
        };
        let plain = !params.distinct
            && params.filter.is_none()
            && params.order_by.is_empty()
            && params.null_treatment.is_none();
        let (true, [argument]) = (plain, &params.args[..]) else {
            return Err(unknown("an aggregate of this form"));
        };
        let argument = row.write(argument, writer)?;
        let some_row = matches!(params.args[0], Expr::Literal(ref value, _) if !value.is_null());
        if alone {
            return alone_in_its_group(func.name(), argument, some_row, row, writer);
        }
        let sql = &argument.sql;
        let of = |sql: String, kind: Kind| Cell {
            layer: argument.layer,
            ..Cell::of(sql, kind, &[])
        };
        Ok(match (func.name(), argument.kind) {
            // Of a group with keys there is a row.
            ("count", _) => {
                let counted = match (some_row, &argument.null_with) {
                    (true, _) => "count(*)".to_owned(),
                    (false, Some(cheaper)) => format!("count({cheaper})"),
                    (false, None) => format!("count({sql})"),
                };
                let least = i128::from(keys && some_row);
                Cell {
                    never_null: true,
                    ..of(counted, Kind::Int).within(least, i128::from(i64::MAX))
                }
            }
            ("sum", Kind::Int) => of(wrapped_sum(&format!("sum({sql})")), Kind::Int),
            ("exact_sum_of_integers", Kind::Int) => of(cut_sum(&format!("sum({sql})")), Kind::Int),
            ("min" | "max", Kind::Int | Kind::Float | Kind::Text | Kind::Date | Kind::Timestamp) => {
                of(format!("{}({sql})", func.name()), argument.kind)
            }
            (name, _) => return Err(unknown(&format!("the aggregate {name}"))),
        })
    }

    fn window(&self, window: &Window, needed: &Needed, writer: &mut Writer) -> Result<Relation, NotWritten> {
        let width = window.input.schema().fields().len();
        let [call] = &window.window_expr[..] else {
            return Err(unknown("several windows at once"));
        };
        let name = call.schema_name().to_string();
        let Expr::WindowFunction(call) = call.clone().unalias() else {
            return Err(unknown("a window of this form"));
        };
        let WindowFunction { fun, params } = *call;
        let function = match (&fun, &params.args[..]) {
            (WindowFunctionDefinition::WindowUDF(function), []) => match function.name() {
                "row_number" => Numbering::RowNumber,
                "dense_rank" => Numbering::DenseRank,
                _ => return Err(unknown("this window function")),
            },
            (WindowFunctionDefinition::AggregateUDF(function), [counted])
                if function.name() == "count" && is_running(&params.window_frame) =>
            {
                Numbering::Count(counted)
            }
            _ => return Err(unknown("an aggregate over a window")),
        };
        if params.filter.is_some() || params.distinct {
            return Err(unknown("a window of this form"));
        }
        let orders = || params.order_by.iter().map(|order| &order.expr);
        let read = params.partition_by.iter().chain(orders()).chain(&params.args);
        let mut below = read_by(read, &window.input)?;
        below.extend(needed.iter().filter(|place| **place < width));
        if name == CUT_BY_OWNER && width > 2 {
            // Which rows of an owner come first depends on the columns by which they are ordered, and the local engine leaves out those that nobody needs. Where there is one column
            // beside the owner's, that is no matter: it is needed, or all of the owner's rows are alike.
            return Err(unknown("a join of two private tables of several columns"));
        }
        let input = self.write(&window.input, &below, writer)?;
        let mut row = Row::of(window.input.schema(), &input, self.secret);
        let mut parts = Vec::new();
        for expr in &params.partition_by {
            parts.push(row.write(expr, writer)?.sql);
        }
        let mut order = Vec::new();
        for Sort {
            expr,
            asc,
            nulls_first,
        } in &params.order_by
        {
            let direction = if *asc { "ASC" } else { "DESC" };
            let nulls = if *nulls_first { "FIRST" } else { "LAST" };
            let by = row.write(expr, writer)?;
            // Computed before, so that what it is computed of is not kept with the rows.
            let by = row.bound(by, writer)?;
            order.push(format!("{} {direction} NULLS {nulls}", by.sql));
        }
        if parts.is_empty() || order.is_empty() {
            return Err(unknown("a window of everybody"));
        }
        let (call, frame, least) = match function {
            Numbering::RowNumber => ("row_number()".to_owned(), "", 1),
            Numbering::DenseRank => ("dense_rank()".to_owned(), "", 1),
            // Rows that are equal in the order are so in all columns that the plan needs, as for a ROW_NUMBER.
            Numbering::Count(counted) => {
                let counted = row.write(counted, writer)?.sql;
                (format!("count({counted})"), " ROWS UNBOUNDED PRECEDING", 0)
            }
        };
        let place = format!(
            "{call} OVER (PARTITION BY {} ORDER BY {}{frame})",
            parts.join(", "),
            order.join(", ")
        );
        let place = Cell::of(place, Kind::Int, &[]).within(least, i128::from(i64::MAX));
        let kept = only(
            input,
            &needed.iter().copied().filter(|place| *place < width).collect(),
        );
        writer.numbered(kept, place)
    }

    fn union(&self, union: &Union, needed: &Needed, writer: &mut Writer) -> Result<Relation, NotWritten> {
        let mut sides = Vec::new();
        for input in &union.inputs {
            sides.push(only(self.write(input, needed, writer)?, needed));
        }
        let Some(first) = sides.first() else {
            return Err(unknown("a UNION of nothing"));
        };
        let mut columns = first.columns.clone();
        for side in &sides[1..] {
            for (one, other) in columns.iter_mut().flatten().zip(side.columns.iter().flatten()) {
                if one.kind != other.kind {
                    return Err(unknown("a UNION of several types"));
                }
                one.digest &= other.digest;
                one.atom &= other.atom;
                one.never_null &= other.never_null;
                one.range = (one.range.0.min(other.range.0), one.range.1.max(other.range.1));
            }
        }
        let names = writer.union(&sides)?;
        for (cell, name) in columns.iter_mut().flatten().zip(names) {
            *cell = cell.named(name);
        }
        Ok(Relation {
            step: writer.last(),
            columns,
            unique: None,
        })
    }

    /// Joins to public rows, which travel with the statement, and of a row to its owner through a key.
    fn join(&self, join: &Join, needed: &Needed, writer: &mut Writer) -> Result<Relation, NotWritten> {
        let kind = match join.join_type {
            JoinType::Inner => "INNER JOIN",
            JoinType::Right => "RIGHT JOIN",
            _ => return Err(unknown("a join of this type")),
        };
        if join.null_equality != NullEquality::NullEqualsNothing || join.null_aware {
            return Err(unknown("a join of this form"));
        }
        let width = join.left.schema().fields().len();
        let mut left = read_by(join.on.iter().map(|(left, _)| left), &join.left)?;
        let mut right = read_by(join.on.iter().map(|(_, right)| right), &join.right)?;
        let both = datafusion::logical_expr::build_join_schema(
            join.left.schema(),
            join.right.schema(),
            &JoinType::Inner,
        )
        .map_err(|_| unknown("a join of this form"))?;
        let mut places: Needed = needed.clone();
        if let Some(expr) = &join.filter {
            for column in expr.column_refs() {
                let place = both.maybe_index_of_column(column);
                places.insert(place.ok_or_else(|| unknown("a column of another query"))?);
            }
        }
        for place in places {
            match place < width {
                true => left.insert(place),
                false => right.insert(place - width),
            };
        }
        let left = self.write(&join.left, &left, writer)?;
        let left = writer.with_names(left)?;
        let right = self.write(&join.right, &right, writer)?;
        let right = writer.with_names(right)?;
        // An outer join fills the columns of one side with NULLs.
        let inner = join.join_type == JoinType::Inner;
        let of = |cell: &Option<Cell>, side: &str| {
            let named = |cell: &Cell| Cell {
                never_null: cell.never_null && inner,
                ..cell.named(format!("{side}.{}", cell.sql))
            };
            cell.as_ref().map(named)
        };
        let mut columns: Vec<Option<Cell>> = left.columns.iter().map(|cell| of(cell, "l")).collect();
        columns.extend(right.columns.iter().map(|cell| of(cell, "r")));
        let mut conditions = Vec::new();
        let mut row = Row::of_two(&both, &columns, self.secret);
        for (one, other) in &join.on {
            let equal = one.clone().eq(other.clone());
            conditions.push(row.write(&equal, writer)?.sql);
        }
        if let Some(filter) = &join.filter {
            let filter = row.write(filter, writer)?;
            if filter.kind != Kind::Bool {
                return Err(unknown("a condition of this type"));
            }
            conditions.push(filter.sql);
        }
        if conditions.is_empty() {
            conditions.push(TRUE.to_owned());
        }
        let from = From::Join(left.step, kind, right.step);
        let kept = |(place, cell): (usize, Option<Cell>)| cell.filter(|_| needed.contains(&place));
        let cells = columns.clone().into_iter().enumerate().map(kept).collect();
        writer.select(cells, from, &format!(" ON {}", conditions.join(" AND ")))
    }
}

/// Groups by keys of which some take much to compute: by what these are computed of first, and then these groups by the keys, so that a key is computed for each of them and not for each row.
/// The cells are the keys and then what is called of each group.
fn grouped_twice(
    mut cells: Vec<Option<Cell>>,
    mut by: Vec<String>,
    calls: &[Expr],
    step: usize,
    writer: &mut Writer,
) -> Result<Relation, NotWritten> {
    let keys = by.len();
    let mut finer = cells.clone();
    for (key, by) in finer[..keys].iter_mut().flatten().zip(&mut by) {
        if let Some(column) = key.function_of.clone() {
            *by = column.clone();
            *key = key.named(column);
        }
    }
    let finer = writer.grouped(finer, step, &by)?;
    by.clear();
    for (key, column) in cells[..keys]
        .iter_mut()
        .flatten()
        .zip(finer.columns.iter().flatten())
    {
        match key.function_of.take() {
            // The column has kept its name.
            Some(_) => key.layer = 0,
            None => *key = column.clone(),
        }
        by.push(key.sql.clone());
    }
    for (place, call) in calls.iter().enumerate() {
        if let Some(part) = &finer.columns[keys + place] {
            cells[keys + place] = Some(together(call, part)?);
        }
    }
    writer.grouped(cells, finer.step, &by)
}

/// What an aggregate gives of several groups together, of what it gives of each.
fn together(expr: &Expr, part: &Cell) -> Result<Cell, NotWritten> {
    let Expr::AggregateFunction(AggregateFunction { func, .. }) = expr.clone().unalias() else {
        return Err(unknown("an aggregate of this form"));
    };
    let sql = match func.name() {
        #[cfg(test)]
        "count" if planted(Mutant::LostGroups) => format!("max({})", part.sql),
        "count" | "sum" => wrapped_sum(&format!("sum({})", part.sql)),
        // The parts were cut already.
        "exact_sum_of_integers" => return Err(unknown("an exact sum of sums")),
        name => format!("{name}({})", part.sql),
    };
    // Of a group there are parts.
    Ok(Cell {
        sql,
        atom: false,
        ..part.clone()
    })
}

/// What an aggregate gives where each group is one row: of that row, the value itself.
fn alone_in_its_group(
    name: &str,
    argument: Cell,
    some_row: bool,
    row: &Row<'_>,
    writer: &mut Writer,
) -> Result<Cell, NotWritten> {
    let of = |sql: String| Cell {
        never_null: true,
        ..Cell::of(sql, Kind::Int, &[&argument])
    };
    Ok(match (name, argument.kind) {
        ("count", _) if some_row => Cell {
            atom: true,
            ..of(constants::integer(1)).within(1, 1)
        },
        ("count", _) => {
            let tested = argument.null_with.as_ref().unwrap_or(&argument.sql);
            of(format!(
                "(CASE WHEN {tested} IS NULL THEN {} ELSE {} END)",
                constants::integer(0),
                constants::integer(1)
            ))
            .within(0, 1)
        }
        ("sum" | "exact_sum_of_integers", Kind::Int)
        | ("min" | "max", Kind::Int | Kind::Float | Kind::Text | Kind::Date | Kind::Timestamp) => {
            row.bound(argument, writer)?
        }
        (name, _) => return Err(unknown(&format!("the aggregate {name}"))),
    })
}

/// The same rows, without the columns that nobody needs.
fn only(rows: Relation, needed: &Needed) -> Relation {
    let kept = |(place, cell): (usize, Option<Cell>)| cell.filter(|_| needed.contains(&place));
    Relation {
        columns: rows.columns.into_iter().enumerate().map(kept).collect(),
        ..rows
    }
}

/// A sum, which is a `numeric`, cut to 64 bits, as `bound::exact_sum_of_integers` cuts it.
fn cut_sum(sum: &str) -> String {
    let (low, high) = (constants::integer(i64::MIN), constants::integer(i64::MAX));
    // Without the functions for the least and largest, which overlook NULL.
    format!(
        "(CASE WHEN {sum} > {high}::numeric THEN {high} WHEN {sum} < {low}::numeric THEN {low} ELSE {sum}::int8 END)"
    )
}

/// A sum, which is a `numeric`, modulo 2⁶⁴ as an integer of 64 bits: what the local engine's sums are. PostgreSQL computes an aggregate once, however often it is written.
fn wrapped_sum(sum: &str) -> String {
    let (low, high) = (constants::integer(i64::MIN), constants::integer(i64::MAX));
    format!(
        "(CASE WHEN {sum} BETWEEN {low}::numeric AND {high}::numeric THEN {sum}::int8 ELSE {} END)",
        constants::wrapped(sum)
    )
}
