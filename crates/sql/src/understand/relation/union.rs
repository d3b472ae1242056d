//! UNION ALL over private rows: a column has what is known of it on every side.

use super::repeats::Repeats;
use super::{Name, Rows, UNIT, is_private, rows, tighter};
use crate::Error;
use crate::catalog::{Catalog, Limits};
use crate::understand::mistakes::unplannable;
use crate::values::facts::{Facts, Kind, Value};
use datafusion::common::{Column, ExprSchema, TableReference};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Union, cast};
use std::sync::Arc;

/// UNION ALL: each row keeps its owner.
pub(super) fn united(union: &Union, catalog: &Catalog) -> Result<Rows, Error> {
    let mut parts = Vec::new();
    for input in &union.inputs {
        if !is_private(input, catalog) {
            return Err(Error::refused(
                "UNION of private and public rows is refused: public rows have no owner",
                "aggregate the private part first",
            ));
        }
        parts.push(rows(input, catalog)?);
    }
    let names: Vec<Name> = union
        .schema
        .iter()
        .map(|(qualifier, field)| (qualifier.cloned(), field.name().clone()))
        .collect();
    let has_unit = parts.iter().all(|part| part.has_unit);
    if !has_unit || parts.is_empty() {
        return Err(Error::refused(
            "UNION ALL needs a column that names the privacy unit on every side: a row that is a unit of its own would be two",
            "declare `unit` for these tables in the catalog",
        ));
    }
    let owners: Vec<_> = parts
        .iter()
        .map(|part| part.plan.schema().field_from_column(&part.unit_column()))
        .map(|field| field.map(|field| field.data_type().clone()).map_err(unplannable))
        .collect::<Result<_, _>>()?;
    if owners.iter().any(|kind| *kind != owners[0]) {
        return Err(Error::refused(
            "the columns that name the privacy unit are not of one kind in all tables of a UNION",
            "declare the same kind for them in the catalog",
        ));
    }
    let mut columns: Vec<(Option<TableReference>, String, Facts)> = Vec::new();
    for (place, (qualifier, name)) in names.iter().enumerate() {
        let kinds = || parts.iter().map(|part| part.columns[place].2.kind);
        let mut facts = parts[0].columns[place].2.clone();
        if !kinds().all(|kind| kind == facts.kind) {
            if let Some(other) = kinds().find(|kind| !kind.is_number() || !facts.kind.is_number()) {
                return Err(Error::refused(
                    format!(
                        "the sides of a UNION differ in column {}: {} and {}",
                        place + 1,
                        facts.kind,
                        kinds().find(|kind| *kind != facts.kind).unwrap_or(other)
                    ),
                    "CAST one of them",
                ));
            }
            facts.kind = Kind::Float;
            facts.values = None;
        }
        for part in &parts[1..] {
            let other = &part.columns[place].2;
            facts.range = facts.range.zip(other.range).map(|(a, b)| a.hull(b));
            facts.values = either(facts.values.take(), &other.values);
            facts.nullable |= other.nullable;
            facts.numeric = match facts.kind {
                Kind::Int => facts.numeric || other.numeric,
                _ => facts.numeric && other.numeric,
            };
            facts.double |= other.double;
        }
        facts.of_unit = false;
        columns.push((qualifier.clone(), name.clone(), facts));
    }
    let mut plan: Option<LogicalPlan> = None;
    let mut unit_columns: Option<Vec<usize>> = None;
    for part in &parts {
        let mut exprs: Vec<Expr> = Vec::new();
        for ((qualifier, name, own), (to, as_name, all)) in part.columns.iter().zip(&columns) {
            let mut column = Expr::Column(Column::new(qualifier.clone(), name.clone()));
            if own.kind != all.kind {
                column = part.accept(&cast(column, all.kind.data_type()))?.expr.unalias();
            }
            exprs.push(column.alias_qualified(to.clone(), as_name.clone()));
        }
        exprs.push(part.unit_expr().alias(UNIT));
        let side = LogicalPlanBuilder::from(part.plan.clone())
            .project(exprs)
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)?;
        plan = Some(match plan {
            None => side,
            Some(before) => LogicalPlanBuilder::from(before)
                .union(side)
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?,
        });
        let here: Vec<usize> = (0..part.columns.len())
            .filter(|place| {
                let (qualifier, name, _) = &part.columns[*place];
                part.unit_columns.contains(&(qualifier.clone(), name.clone()))
            })
            .collect();
        unit_columns = Some(match unit_columns {
            None => here,
            Some(before) => before.into_iter().filter(|place| here.contains(place)).collect(),
        });
    }
    let unit_columns = unit_columns.unwrap_or_default();
    for place in &unit_columns {
        columns[*place].2.of_unit = true;
    }
    // A union forgets qualifiers; its own names are given back.
    let plan = plan.expect("a union has sides");
    let restored: Vec<Expr> = plan
        .schema()
        .iter()
        .zip(names.iter().map(Some).chain([None]))
        .map(|((qualifier, field), name)| {
            let column = Expr::Column(Column::new(qualifier.cloned(), field.name().clone()));
            match name {
                Some((to, as_name)) => column.alias_qualified(to.clone(), as_name.clone()),
                None => column.alias(UNIT),
            }
        })
        .collect();
    let plan = LogicalPlanBuilder::from(plan)
        .project(restored)
        .and_then(LogicalPlanBuilder::build)
        .map_err(unplannable)?;
    let rows_per_unit = parts
        .iter()
        .try_fold(0u64, |sum, part| sum.checked_add(part.rows_per_unit?));
    let limits = parts
        .iter()
        .fold(Limits::default(), |all, part| tighter(&all, &part.limits));
    Ok(Rows {
        plan,
        unit_columns: unit_columns.iter().map(|place| names[*place].clone()).collect(),
        columns,
        has_unit,
        rows_per_unit,
        promised: false,
        publics: parts.iter().flat_map(|part| part.publics.clone()).collect(),
        clustered: false,
        whole: false,
        limits,
        selects: parts.iter().flat_map(|part| part.selects.clone()).collect(),
        story: parts.iter().flat_map(|part| part.story.clone()).collect(),
        sums_inside: parts.iter().any(|part| part.sums_inside),
        left_out: parts.iter().flat_map(|part| part.left_out.clone()).collect(),
        repeats: Repeats::default(),
    })
}

/// All values that one of two columns can take, where those of both are known and few.
fn either(one: Option<Arc<[Value]>>, other: &Option<Arc<[Value]>>) -> Option<Arc<[Value]>> {
    const MOST: usize = 1000;
    let (one, other) = (one?, other.as_ref()?);
    if one == *other {
        return Some(one);
    }
    if one.len().saturating_add(other.len()) > MOST {
        return None;
    }
    let more = other.iter().filter(|value| !one.contains(value));
    Some(one.iter().chain(more).cloned().collect())
}
