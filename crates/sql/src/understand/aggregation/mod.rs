//! Where private rows become statistics: which numbers an aggregate needs, what bounds one unit's part in them, and how answers are made of them.

mod call;
mod groups;
pub(crate) mod in_all;
mod pairs;
mod statistic;
mod unstated;

pub(crate) use call::{Output, Request, literal};
pub(crate) use groups::{Groups, Selection};
pub(crate) use in_all::RowsInAll;
pub(crate) use pairs::{Moment, Moments};
pub(crate) use statistic::{
    Argument, Measure, Statistic, TREE_BRANCHES, TREE_LEAVES, TREE_LEVELS, UNLIMITED, ends_of_mean, halved,
};

use crate::Error;
use crate::catalog::{Catalog, Limits};
use crate::understand::dialect::SelectOptions;
use crate::understand::expression::Typed;
use crate::understand::planner::Said;
use crate::understand::relation::Rows;
use crate::understand::unstated::Unstated;
use crate::values::facts::Kind;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchemaRef, TableReference};
use datafusion::logical_expr::Expr;

/// One private GROUP BY: everything that is known before a row is read.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    /// Whose rows.
    pub(crate) rows: Rows,
    /// What they are grouped by.
    pub(crate) keys: Vec<Typed>,
    /// The most rows that a unit can have in a group, where the query or the catalog says so. It is enforced by the bounding step: a mistake costs accuracy.
    pub(crate) rows_in_group: Option<u64>,
    /// Which groups there will be, and in how many of them a unit counts.
    pub(crate) groups: Groups,
    /// How many rows of a unit count in all groups together, where that is less than its groups allow.
    pub(crate) in_all: Option<RowsInAll>,
    /// The numbers that are released for each group.
    pub(crate) statistics: Vec<Statistic>,
    /// How the query's aggregates are made of them.
    pub(crate) outputs: Vec<Output>,
    /// The shape of the result: first the keys, then the outputs.
    pub(crate) shape: Vec<Shape>,
    /// What the SELECT itself asked for.
    pub(crate) options: SelectOptions,
    /// What it groups by, where limits for that may be found.
    pub(crate) unstated: Option<Unstated>,
}

/// A column of the result.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) qualifier: Option<TableReference>,
    pub(crate) name: String,
    pub(crate) data_type: DataType,
}

impl Aggregation {
    /// Reads `GROUP BY keys` with `aggregates` over rows.
    pub(crate) fn new(
        rows: Rows,
        group_exprs: &[Expr],
        aggregates: &[Expr],
        schema: &DFSchemaRef,
        said: &Said,
        catalog: &Catalog,
    ) -> Result<Self, Error> {
        let options = options_of(&rows, &said.selects, catalog)?;
        if group_exprs.iter().any(|expr| rows.names_unit(expr)) {
            let whose = &catalog.unit.whose;
            return Err(Error::refused(
                format!("this asks for a result for each {whose}, and groups of one are never shown"),
                format!(
                    "group by something that many share, or use this query as a subquery and aggregate over the {whose}s"
                ),
            ));
        }
        let keys = group_exprs
            .iter()
            .map(|expr| rows.accept(expr))
            .collect::<Result<Vec<Typed>, Error>>()?;
        let stated = stated_for(&keys, group_exprs, &rows, (catalog, said));
        let unstated = match stated {
            Some(_) => None,
            None => unstated::unstated(&rows, group_exprs, aggregates, &options, catalog),
        };
        let found = said
            .found
            .as_ref()
            .filter(|found| Some(&found.of) == unstated.as_ref());
        let by = stated.or(found.map(|found| &found.limits));
        let mut limits = limits_of(&keys, by, &rows, &options, catalog);
        if unstated.is_some() {
            // Until limits are found, and where too few units let none be seen.
            for limit in [&mut limits.groups, &mut limits.rows_per_group] {
                limit.get_or_insert(1);
            }
        }
        let groups = Groups::of(&keys, &rows, &limits, &options, catalog)?;
        let rows_in_all = limits.rows;
        let together = !keys.iter().all(|key| key.facts.of_unit)
            && options.max_rows_contributed.is_none()
            && rows.has_unit
            && rows.rows_per_unit != Some(1);
        let in_all_groups = together.then_some((&rows.limits.sums, &groups));
        let mut statistics = Vec::new();
        let mut outputs = Vec::new();
        let rows_in_group = rows.rows_in_group(group_exprs);
        let mut request = Request {
            rows: &rows,
            rows_in_group,
            limits,
            grouped: !keys.is_empty(),
            in_all_groups,
            catalog,
            statistics: &mut statistics,
        };
        for expr in aggregates {
            outputs.push(request.output(expr)?);
        }
        let one_row_per_unit = rows.rows_per_unit == Some(1);
        call::share(&mut statistics, &mut outputs, one_row_per_unit);
        if groups.selection == Selection::Threshold {
            // Groups are chosen by their number of units. Where that is the number of rows, one statistic serves both.
            let units = |statistic: &Statistic| statistic.measure == Measure::Units;
            let rows = |statistic: &Statistic| matches!(statistic.measure, Measure::Rows { .. });
            if !statistics.iter().any(units) {
                match statistics
                    .iter_mut()
                    .find(|statistic| one_row_per_unit && rows(statistic))
                {
                    Some(statistic) => statistic.measure = Measure::Units,
                    None => statistics.push(Statistic::units()),
                }
            }
        }
        let rows_in_all = rows_in_all.filter(|_| together);
        let in_all = in_all::bound(&mut statistics, &groups, rows_in_all);
        let shape = schema
            .iter()
            .enumerate()
            .map(|(place, (qualifier, field))| Shape {
                qualifier: qualifier.cloned(),
                name: field.name().clone(),
                data_type: match keys.get(place) {
                    // The planner may give a key a type that cannot hold all of its values, and two groups would look alike.
                    Some(key) => key.facts.kind.data_type(),
                    None => of_output(outputs.get(place - keys.len()), &statistics, field.data_type()),
                },
            })
            .collect();
        Ok(Self {
            rows,
            keys,
            rows_in_group,
            groups,
            in_all,
            statistics,
            outputs,
            shape,
            options,
            unstated,
        })
    }
}

/// The type of an aggregate's result. Of a UNION or a CASE the planner takes the type of the first part, and calls a number whole that is not where a later part is a float.
fn of_output(output: Option<&Output>, statistics: &[Statistic], planned: &DataType) -> DataType {
    match output {
        Some(output) if planned.is_integer() && output.has_fractions(statistics) => Kind::Float.data_type(),
        _ => planned.clone(),
    }
}

/// The limits that are stated for what a query groups by.
fn stated_for<'a>(
    keys: &[Typed],
    group_exprs: &[Expr],
    rows: &'a Rows,
    (catalog, said): (&'a Catalog, &Said),
) -> Option<&'a Limits> {
    let of_key = |key: &str| rows.limits.by.get(key).or_else(|| catalog.limits.by.get(key));
    match group_exprs {
        [expr] if keys.iter().any(|key| !key.facts.of_unit) => match expr.clone().unalias() {
            Expr::Column(column) => of_key(&column.name),
            expr => said.groupings.keys(&expr).into_iter().find_map(of_key),
        },
        _ => None,
    }
}

/// What limits one unit: what the query says, else what is stated or was found for what it is grouped by, else what the table and the catalog say. The query may ask for less or
/// more than the catalog's: limits change accuracy and price, never privacy.
fn limits_of(
    keys: &[Typed],
    by: Option<&Limits>,
    rows: &Rows,
    options: &SelectOptions,
    catalog: &Catalog,
) -> Limits {
    let one_group = keys.iter().all(|key| key.facts.of_unit);
    let declared = &rows.limits;
    let rows_per_group = |limits: &Limits| limits.rows.filter(|_| one_group).or(limits.rows_per_group);
    let stated = options.max_rows_contributed;
    Limits {
        groups: options
            .max_groups_contributed
            .or(by.and_then(|by| by.groups))
            .or(declared.groups)
            .or(catalog.limits.groups),
        rows_per_group: stated
            .or(by.and_then(rows_per_group))
            .or(rows_per_group(declared))
            .or(rows_per_group(&catalog.limits)),
        // A query that says how many rows count means rows.
        sums: match by {
            _ if stated.is_some() => std::collections::BTreeMap::new(),
            None if one_group => declared.sums.clone(),
            by => by.map(|by| by.sums.clone()).unwrap_or_default(),
        },
        // In all groups together no more count than without groups. A query that says how many rows count means those of each group.
        rows: by
            .and_then(|by| by.rows)
            .or(declared.rows)
            .or(catalog.limits.rows),
        ..Limits::default()
    }
}

/// The options of the SELECT that this aggregate belongs to, if it states any.
fn options_of(rows: &Rows, selects: &[SelectOptions], catalog: &Catalog) -> Result<SelectOptions, Error> {
    let mut stated = rows.selects.iter().filter_map(|place| selects.get(*place));
    let options = stated.next().cloned().unwrap_or_default();
    if stated.next().is_some() {
        return Err(Error::refused(
            "two SELECT WITH DIFFERENTIAL_PRIVACY are nested around the same rows",
            "state the options once, in the SELECT that aggregates",
        ));
    }
    if let Some(column) = &options.privacy_unit_column {
        let known = rows
            .unit_columns
            .iter()
            .any(|(_, name)| column.last() == Some(name));
        if !known {
            return Err(Error::refused(
                format!(
                    "privacy_unit_column = {} is not the column that the catalog declares",
                    column.join(".")
                ),
                format!(
                    "the catalog decides whose privacy is kept: {}. Leave the option out, or name that column",
                    catalog.unit
                ),
            ));
        }
    }
    Ok(options)
}
