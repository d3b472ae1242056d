//! ROLLUP, CUBE and GROUPING SETS: one private GROUP BY for each set of keys, put together after the noise.
//!
//! A key that a set does not have is NULL in its rows, and GROUPING tells such a NULL from one in the data, as in PostgreSQL. The ε that the SELECT states is
//! for all sets together. Sets of counts over public groups are planned together, so that their totals agree (`together`); else each gets an equal part of ε and noise of its own.

use crate::Error;
use crate::understand::dialect::SelectOptions;
use crate::understand::mistakes::unplannable;
use accounting::{Delta, Epsilon};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{
    Aggregate, Expr, GroupingSet, LogicalPlan, LogicalPlanBuilder, Union, cast, lit,
};
use exact::Rational;
use std::sync::Arc;

/// This many sets of keys at most: each reads all rows again.
const MOST_SETS: usize = 64;

/// An aggregate with several sets of keys.
#[derive(Debug)]
pub(crate) struct GroupingSets<'a> {
    aggregate: &'a Aggregate,
    /// All keys, in the order of the result's columns.
    keys: Vec<Expr>,
    /// The keys of each set, by their places.
    sets: Vec<Vec<usize>>,
}

impl<'a> GroupingSets<'a> {
    /// `None` for an ordinary GROUP BY.
    pub(crate) fn of(aggregate: &'a Aggregate) -> Result<Option<Self>, Error> {
        let [Expr::GroupingSet(set)] = aggregate.group_expr.as_slice() else {
            return Ok(None);
        };
        let keys: Vec<Expr> = grouping_set_to_exprlist(&aggregate.group_expr)
            .map_err(unplannable)?
            .into_iter()
            .cloned()
            .collect();
        let too_many = || {
            Error::refused(
                format!(
                    "this asks for more than {MOST_SETS} sets of groups, and each of them is a release of its own"
                ),
                "name the sets that are wanted: GROUP BY GROUPING SETS ((a, b), (a), ())",
            )
        };
        let sets: Vec<Vec<usize>> = match set {
            GroupingSet::Rollup(exprs) => (0..=exprs.len())
                .rev()
                .map(|length| (0..length).collect())
                .collect(),
            GroupingSet::Cube(exprs) => {
                let sets = u32::try_from(exprs.len())
                    .ok()
                    .and_then(|length| 1usize.checked_shl(length))
                    .filter(|sets| *sets <= MOST_SETS)
                    .ok_or_else(too_many)?;
                (0..sets)
                    .rev()
                    .map(|mask| {
                        let first = exprs.len().wrapping_sub(1);
                        (0..exprs.len())
                            .filter(|place| mask >> (first - place) & 1 == 1)
                            .collect()
                    })
                    .collect()
            }
            GroupingSet::GroupingSets(sets) => sets
                .iter()
                .map(|set| {
                    let places = set
                        .iter()
                        .filter_map(|key| keys.iter().position(|other| other == key));
                    places.collect()
                })
                .collect(),
        };
        if sets.len() > MOST_SETS {
            return Err(too_many());
        }
        Ok(Some(Self {
            aggregate,
            keys,
            sets,
        }))
    }

    /// How many sets there are.
    pub(crate) fn len(&self) -> usize {
        self.sets.len()
    }

    /// All keys.
    pub(crate) fn keys(&self) -> &[Expr] {
        &self.keys
    }

    /// The keys of each set, by their places.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &[usize]> {
        self.sets.iter().map(Vec::as_slice)
    }

    /// The rows.
    pub(crate) fn input(&self) -> &'a LogicalPlan {
        &self.aggregate.input
    }

    /// The GROUP BY of one set, or `None` where it asks for nothing of the data: its result is one row without columns.
    pub(crate) fn plain(&self, set: usize) -> Result<Option<Aggregate>, Error> {
        let keys: Vec<Expr> = self.sets[set]
            .iter()
            .map(|place| self.keys[*place].clone())
            .collect();
        let aggregates: Vec<Expr> = self
            .aggregate
            .aggr_expr
            .iter()
            .filter(|expr| grouping(expr).is_none())
            .cloned()
            .collect();
        if keys.is_empty() && aggregates.is_empty() {
            return Ok(None);
        }
        Aggregate::try_new(Arc::clone(&self.aggregate.input), keys, aggregates)
            .map(Some)
            .map_err(unplannable)
    }

    /// All sets together: `released` are the results of the plain ones, in their order.
    pub(crate) fn united(&self, released: Vec<Option<LogicalPlan>>) -> Result<LogicalPlan, Error> {
        let schema = &self.aggregate.schema;
        let inner = |place: usize| format!("__deniable_set_{place}");
        let mut sides = Vec::new();
        for (set, side) in self.sets.iter().zip(released) {
            let side = match side {
                Some(side) => side,
                None => LogicalPlanBuilder::empty(true).build().map_err(unplannable)?,
            };
            let of_side = |place: usize| Expr::Column(Column::from(side.schema().qualified_field(place)));
            let mut aggregates = set.len()..;
            let mut exprs = Vec::new();
            for (place, field) in schema.fields().iter().enumerate() {
                let expr = if place < self.keys.len() {
                    match set.iter().position(|key| *key == place) {
                        Some(at) => of_side(at),
                        None => typed_null(field.data_type())?,
                    }
                } else if place == self.keys.len() {
                    constant(self.absent(set, &self.keys)?, field.data_type())
                } else {
                    match grouping(&self.aggregate.aggr_expr[place - self.keys.len() - 1]) {
                        Some(asked) => constant(self.absent(set, asked)?, field.data_type()),
                        None => of_side(aggregates.next().unwrap_or(usize::MAX)),
                    }
                };
                exprs.push(expr.alias(inner(place)));
            }
            let side = LogicalPlanBuilder::from(side)
                .project(exprs)
                .and_then(LogicalPlanBuilder::build)
                .map_err(unplannable)?;
            sides.push(Arc::new(side));
        }
        let united = LogicalPlan::Union(Union::try_new_with_loose_types(sides).map_err(unplannable)?);
        let shown = schema.iter().enumerate().map(|(place, (qualifier, field))| {
            Expr::Column(Column::from_name(inner(place))).alias_qualified(qualifier.cloned(), field.name())
        });
        LogicalPlanBuilder::from(united)
            .project(shown)
            .and_then(LogicalPlanBuilder::build)
            .map_err(unplannable)
    }

    /// What GROUPING says of a set: a bit for each key asked about, the first the highest, set where the set does not have it.
    fn absent(&self, set: &[usize], asked: &[Expr]) -> Result<i64, Error> {
        let mut bits = 0;
        for key in asked {
            let place = self.keys.iter().position(|other| other == key);
            let place = place.ok_or_else(|| {
                Error::refused(
                    "GROUPING asks about something that is not grouped by",
                    "name an expression of GROUP BY, as it is written there",
                )
            })?;
            bits = bits * 2 + i64::from(!set.contains(&place));
        }
        Ok(bits)
    }
}

/// The arguments of a call of GROUPING.
fn grouping(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Alias(alias) => grouping(&alias.expr),
        Expr::AggregateFunction(AggregateFunction { func, params }) if func.name() == "grouping" => {
            Some(&params.args)
        }
        _ => None,
    }
}

fn typed_null(data_type: &DataType) -> Result<Expr, Error> {
    ScalarValue::try_from(data_type).map(lit).map_err(unplannable)
}

fn constant(value: i64, data_type: &DataType) -> Expr {
    cast(lit(value), data_type.clone())
}

/// An equal part of what a SELECT states for all of its sets.
pub(crate) fn part_of(options: &SelectOptions, sets: usize) -> Result<SelectOptions, Error> {
    let part = Rational::ONE / Rational::from(sets.max(1) as u64);
    let mut options = options.clone();
    if let Some(stated) = &options.epsilon {
        let epsilon = Epsilon::parse(stated)?;
        options.epsilon = Some(Epsilon::rounded_down(&(epsilon.as_rational() * &part))?.to_string());
    }
    if let Some(stated) = &options.delta {
        let delta = Delta::parse(stated)?;
        options.delta = Some(Delta::rounded_down(&(delta.as_rational() * &part))?.to_string());
    }
    Ok(options)
}
