//! The rows of a planned release, or of sets of groups that are planned together, as an aggregation: how many there are in each cell of all its attributes together.
//!
//! Every table of a release is a sum over these cells, so one pass over the data serves all of them. A cell is a code for each attribute; codes are written as digits of one
//! whole number, or of a few where one is too small, and rows are counted by it.
//!
//! # Privacy
//! Claim: of the counts of all cells together, one unit that is added or removed moves ℓ₁ by at most [`Tabulation::rows`], and one that is changed takes away at most as many rows and adds at most as many.
//! Proof: a row has one code for each attribute, or NULL where its value is in no cell, so it is in one cell or in none. Where each unit has one row, counted by the bounding step with one row in one group, this
//! is 1. Else the codes of the last number are the values of a [`bound::RowBounding`], the others its keys. It lets at most `rows` rows of a unit count in each of its groups and, where there are keys, at most as many in all of
//! them together: so ℓ₁ is at most `rows`. NULL is counted nowhere, and takes no row's place.
//! Audited by: `tests::tabulated::one_unit_more_adds_at_most_its_rows`, with the mutant `RowsOfEachGroup`, which limits rows in each group only.

use crate::Error;
use crate::catalog::{Attribute, Catalog, Cells, PlannedRelease};
use crate::understand::aggregation::{Aggregation, Groups, Selection, Statistic, in_all, literal};
use crate::understand::expression::Typed;
use crate::understand::planner::{Planned, Planner};
use crate::understand::relation::{Rows, rows};
use crate::values::facts::Value;
use accounting::Neighbors;
use datafusion::common::Column;
use datafusion::logical_expr::{Case, Expr, lit};
use exact::Rational;

/// The codes of one number are below this, so that no arithmetic runs over.
const LARGEST: u64 = 1 << 62;

/// As many values in ascending order, without gaps, are told apart by subtraction.
const FEW: usize = 8;

/// The pass of a planned release.
#[derive(Clone, Debug)]
pub(crate) struct Tabulation {
    /// What is counted, by which numbers, and how units are bounded.
    pub(crate) aggregation: Aggregation,
    /// How many rows of a unit count in all cells together.
    pub(crate) rows: u64,
    /// For each number of a cell, how many codes each of its attributes has, in order.
    pub(crate) numbers: Vec<Vec<u64>>,
}

impl Tabulation {
    /// Reads a release. Depends on no data.
    ///
    /// # Errors
    /// When its condition is refused, or nothing says how many rows of a unit count.
    pub(crate) async fn new(
        release: &PlannedRelease,
        catalog: &Catalog,
        planner: &Planner,
    ) -> Result<Self, Error> {
        let Planned { plan, .. } = planner.plan(&sql_of(release), catalog).await?;
        let rows = rows(&plan, catalog)?;
        let most = rows_of(release, &rows, catalog)?;
        let (numbers, keys) = codes(&release.attributes, &rows)?;
        let aggregation = aggregation(rows, keys, &numbers, most)?;
        Ok(Self {
            aggregation,
            rows: most,
            numbers,
        })
    }

    /// Rows of units with one row each, by the values of keys: those that are listed, of which NULL is the last if it is among them. Depends on no data.
    ///
    /// # Errors
    /// When a key is refused, or a unit may have several rows.
    pub(crate) fn of_keys(rows: Rows, keys: &[(Expr, &[Value])]) -> Result<Self, Error> {
        if rows.rows_per_unit != Some(1) {
            return Err(Error::refused(
                "a unit may have several rows in these sets of groups",
                "say in the catalog that it has one: rows_per_unit = 1",
            ));
        }
        let of_key = |(key, values): &(Expr, &[Value])| {
            let key = key.clone().unalias();
            let (null, known) = match values.split_last() {
                Some((Value::Null, known)) => (Some(known.len()), known),
                _ => (None, *values),
            };
            let code = match null {
                None => listed(&key, known),
                // Of a key that is nothing but NULL there is one cell.
                Some(null) if known.is_empty() => chosen(None, vec![(key.is_null(), number(null))], None),
                Some(null) => with_null(&key, null, listed(&key, known)),
            };
            (values.len() as u64, code)
        };
        let (numbers, keys) = digits(keys.iter().map(of_key), &rows)?;
        Ok(Self {
            aggregation: aggregation(rows, keys, &numbers, 1)?,
            rows: 1,
            numbers,
        })
    }

    /// That the bounding step lets no more of a unit count than a plan charges for.
    ///
    /// # Errors
    /// If it does.
    pub(crate) fn check(&self, neighbors: Neighbors) -> Result<(), Error> {
        let sides = match neighbors {
            Neighbors::AddRemove => 1u64,
            Neighbors::ChangeOne => 2,
        };
        let charged = Rational::from(self.rows) * Rational::from(sides);
        let groups = &self.aggregation.groups;
        for statistic in &self.aggregation.statistics {
            let grouped = !self.aggregation.keys.is_empty();
            if *statistic.sensitivity(groups.per_unit, grouped, neighbors)?.l1() > charged {
                return Err(Error::refused(
                    "one unit would move the tables further than their noise covers; nothing was charged",
                    "this is a defect of Deniable; please report the release",
                ));
            }
        }
        Ok(())
    }

    /// The codes of a cell, one for each attribute, from its numbers.
    pub(crate) fn codes_of(&self, cell: &[i64], codes: &mut Vec<u32>) {
        codes.clear();
        for (number, sizes) in cell.iter().zip(&self.numbers) {
            let mut rest = number.unsigned_abs();
            let from = codes.len();
            // The last attribute is the last digit.
            for size in sizes.iter().rev() {
                codes.push(u32::try_from(rest % size).unwrap_or(u32::MAX));
                rest /= size;
            }
            codes[from..].reverse();
        }
    }
}

/// The rows of a release as a query.
pub(crate) fn sql_of(release: &PlannedRelease) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let mut columns: Vec<String> = Vec::new();
    for attribute in &release.attributes {
        let column = quoted(&attribute.column);
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let condition = release.condition.as_deref();
    // A comment at the end of a condition ends with its line.
    let condition = condition.map_or(String::new(), |condition| format!(" WHERE ({condition}\n)"));
    format!(
        "SELECT {} FROM {}{condition}",
        columns.join(", "),
        quoted(&release.table)
    )
}

/// How many rows of a unit count.
fn rows_of(release: &PlannedRelease, rows: &Rows, catalog: &Catalog) -> Result<u64, Error> {
    let stated = release.rows.or(rows.limits.rows).or(catalog.limits.rows);
    let most = match (stated, rows.rows_per_unit) {
        (Some(stated), Some(known)) => stated.min(known),
        (Some(most), None) | (None, Some(most)) => most,
        (None, None) => {
            return Err(Error::refused(
                format!(
                    "nothing says how many rows of one {} count in all cells of the release `{}` together",
                    catalog.unit.whose, release.name
                ),
                "say rows = 10 in the release, or `rows` in the limits of the table; noise grows with it, and rows beyond are left out",
            ));
        }
    };
    match most {
        0 => Err(Error::refused(
            "no row of a unit would count",
            "the condition of the release is never true",
        )),
        most => Ok(most),
    }
}

/// The numbers that cells are called by: which codes are in each, and how they are computed.
fn codes(attributes: &[Attribute], rows: &Rows) -> Result<(Vec<Vec<u64>>, Vec<Typed>), Error> {
    let mut codes = Vec::new();
    for attribute in attributes {
        codes.push((attribute.cells.len() as u64, code(attribute, rows)?));
    }
    digits(codes.into_iter(), rows)
}

/// The same from how many codes there are of each attribute, and its code.
fn digits(
    codes: impl Iterator<Item = (u64, Expr)>,
    rows: &Rows,
) -> Result<(Vec<Vec<u64>>, Vec<Typed>), Error> {
    let mut numbers: Vec<Vec<u64>> = Vec::new();
    let mut exprs: Vec<Expr> = Vec::new();
    let mut size = LARGEST;
    for (cells, code) in codes {
        match (size.checked_mul(cells), numbers.last_mut(), exprs.last_mut()) {
            (Some(product), Some(digits), Some(expr)) if product < LARGEST => {
                *expr = expr.clone() * lit(cells as i64) + code;
                digits.push(cells);
                size = product;
            }
            _ => {
                numbers.push(vec![cells]);
                exprs.push(code);
                size = cells;
            }
        }
    }
    let typed = exprs.iter().map(|expr| rows.accept(expr));
    Ok((numbers, typed.collect::<Result<_, _>>()?))
}

/// The code of a row's value, or NULL where it is in no cell.
fn code(attribute: &Attribute, rows: &Rows) -> Result<Expr, Error> {
    let found = rows.columns.iter().find(|(_, name, _)| *name == attribute.column);
    let (qualifier, name, _) = found.ok_or_else(|| {
        Error::refused(
            format!("the table has no column for the attribute `{}`", attribute.name),
            "name one with column = \"…\"",
        )
    })?;
    let column = Expr::Column(Column::new(qualifier.clone(), name.clone()));
    let of_values = match attribute.cells.edges() {
        Some(edges) => between(&column, edges),
        None => listed(&column, attribute.cells.listed().unwrap_or_default()),
    };
    Ok(match attribute.cells.null() {
        None => of_values,
        Some(null) => with_null(&column, null, of_values),
    })
}

/// The code of NULL where a value is that.
fn with_null(value: &Expr, null: usize, otherwise: Expr) -> Expr {
    chosen(
        None,
        vec![(value.clone().is_null(), number(null))],
        Some(otherwise),
    )
}

fn listed(column: &Expr, values: &[Value]) -> Expr {
    if let Some((low, high)) = without_gaps(values) {
        let within = column
            .clone()
            .gt_eq(lit(low))
            .and(column.clone().lt_eq(lit(high)));
        return chosen(None, vec![(within, column.clone() - lit(low))], None);
    }
    let cases = values.iter().enumerate();
    let cases = cases.map(|(code, value)| (lit(literal(value)), number(code)));
    chosen(Some(column.clone()), cases.collect(), None)
}

/// The first and the last of many whole numbers, if they are all between them, in order.
fn without_gaps(values: &[Value]) -> Option<(i64, i64)> {
    let (Value::Int(low), Value::Int(high)) = (values.first()?, values.last()?) else {
        return None;
    };
    let counted = (0i64..).zip(values);
    let follow = |(step, value): (i64, &Value)| *value == Value::Int(low.wrapping_add(step));
    (values.len() >= FEW && counted.into_iter().all(follow)).then_some((*low, *high))
}

fn between(column: &Expr, (edges, closed, open): (&[Value], bool, bool)) -> Expr {
    let edge = |value: &Value| lit(literal(value));
    let mut cases = Vec::new();
    let mut code = 0;
    for (place, value) in edges.iter().enumerate() {
        // What is below the first edge has a cell only where there are cells beyond.
        let cell = match place {
            0 if !open => lit(datafusion::common::ScalarValue::Int64(None)),
            _ => {
                code += 1;
                number(code - 1)
            }
        };
        let below = match closed && place + 1 == edges.len() {
            true => column.clone().lt_eq(edge(value)),
            false => column.clone().lt(edge(value)),
        };
        cases.push((below, cell));
    }
    if let (true, Some(last)) = (open, edges.last()) {
        cases.push((column.clone().gt_eq(edge(last)), number(code)));
    }
    chosen(None, cases, None)
}

fn number(code: usize) -> Expr {
    lit(code as i64)
}

/// CASE.
fn chosen(operand: Option<Expr>, cases: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Expr {
    let boxed = |(when, then): (Expr, Expr)| (Box::new(when), Box::new(then));
    Expr::Case(Case {
        expr: operand.map(Box::new),
        when_then_expr: cases.into_iter().map(boxed).collect(),
        else_expr: otherwise.map(Box::new),
    })
}

/// Rows counted by their cells. Nothing of it is released as it is, so it has no columns, and no group of it is chosen.
fn aggregation(
    rows: Rows,
    mut keys: Vec<Typed>,
    numbers: &[Vec<u64>],
    most: u64,
) -> Result<Aggregation, Error> {
    let groups = |per_unit: u64, sampled: bool| Groups {
        selection: Selection::Listed(Vec::new()),
        per_unit,
        sampled,
    };
    let mut made = Aggregation {
        unstated: None,
        rows_in_group: Some(most),
        groups: groups(1, false),
        in_all: None,
        statistics: Vec::new(),
        outputs: Vec::new(),
        shape: Vec::new(),
        options: crate::understand::dialect::SelectOptions::default(),
        keys: Vec::new(),
        rows,
    };
    if made.rows.rows_per_unit == Some(1) {
        made.statistics = vec![Statistic::rows(1)];
        made.keys = keys;
        return Ok(made);
    }
    let Some(last) = keys.pop() else {
        return Err(Error::refused("a release without attributes", "list them"));
    };
    let bins: u64 = numbers.last().map_or(1, |sizes| sizes.iter().product());
    let mut statistic = Statistic::histogram(
        last.expr,
        usize::try_from(bins).unwrap_or(usize::MAX),
        most,
        "cells",
    );
    if !keys.is_empty() {
        made.groups = groups(most, true);
        let mut all = [statistic];
        made.in_all = in_all::bound(&mut all, &made.groups, Some(most));
        if most > 1 && made.in_all.is_none() {
            return Err(Error::refused(
                format!("{most} rows of one unit in tables of this many cells cannot be bounded together"),
                "say fewer `rows`, or use fewer or coarser attributes",
            ));
        }
        [statistic] = all;
    }
    made.statistics = vec![statistic];
    made.keys = keys;
    Ok(made)
}

/// The names of cells as the domain of a plan has them.
pub(crate) fn labels_of(cells: &Cells) -> Vec<String> {
    cells.labels().into_iter().map(|label| label.text).collect()
}
