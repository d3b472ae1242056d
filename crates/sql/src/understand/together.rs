//! ROLLUP, CUBE and GROUPING SETS that one pass can count: all sets of groups are sums over the cells of all keys together.
//!
//! Such sets can share their noise, so that each total is the sum of its parts: see `price::together`. Where a set is not a sum of cells, this says nothing, and each set is a release of its own.
//!
//! A row is in one cell, or in none where one of its keys has a value that is not among the public ones. So that totals are sums of their parts, a row in no cell counts in no set. Which sets are counted this way
//! depends on the question and the catalog alone.

use crate::Error;
use crate::catalog::Catalog;
use crate::understand::aggregation::{Aggregation, Measure, Output, Selection};
use crate::understand::expression::Typed;
use crate::understand::grouping_sets::GroupingSets;
use crate::understand::relation::{contains_subquery, rows};
use crate::understand::tabulation::Tabulation;
use crate::values::facts::Value;
use crate::values::group_name::encode;
use datafusion::logical_expr::Expr;
use std::collections::HashMap;

/// A key with more values is not told apart by a list of cases: each row would be held against each.
const MOST_VALUES: usize = 512;

/// More groups in all sets together are released set by set: a ledger does not keep more numbers of one answer.
const MOST_GROUPS: usize = 100_000;

/// Sets of groups over the same cells.
#[derive(Clone, Debug)]
pub(crate) struct Together {
    /// The pass that counts the cells.
    pub(crate) tabulation: Tabulation,
    /// The public values of each key. NULL is the last, where the key may be NULL.
    pub(crate) values: Vec<Vec<Value>>,
    /// For each aggregation of the question its keys, as places in `values`, in the order of its columns.
    pub(crate) sets: Vec<Vec<usize>>,
}

impl Together {
    /// The sets of an aggregate, if they are all that a question asks of rows and sums of the same cells. `places` are the aggregations that its sets became.
    pub(crate) fn of(
        sets: &GroupingSets<'_>,
        places: &[Option<usize>],
        aggregations: &[Aggregation],
        catalog: &Catalog,
    ) -> Option<Self> {
        let mut of_place: Vec<Option<&[usize]>> = vec![None; aggregations.len()];
        for (place, keys) in places.iter().zip(sets.sets()) {
            of_place.get_mut((*place)?)?.get_or_insert(keys);
        }
        let of_place: Vec<Vec<usize>> = of_place
            .into_iter()
            .map(|keys| keys.map(<[usize]>::to_vec))
            .collect::<Option<_>>()?;
        let groups: usize = aggregations
            .iter()
            .map(|aggregation| counted(aggregation).map(<[_]>::len))
            .sum::<Option<usize>>()?;
        let used = |place: &usize| of_place.iter().any(|set| set.contains(place));
        let all_used = (0..sets.keys().len()).all(|place| used(&place));
        if of_place.len() < 2 || !all_used || groups > MOST_GROUPS {
            return None;
        }
        // A column that was attached for a subquery belongs to one set alone.
        if sets.keys().iter().any(contains_subquery) {
            return None;
        }
        let values = Self::values(sets, catalog).ok()??;
        let mut pairs = aggregations.iter().zip(&of_place);
        if !pairs.all(|(aggregation, keys)| crosses(aggregation, keys, &values)) {
            return None;
        }
        // In an order that does not depend on how the question is written, so that the same sets have the same noise.
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_key(|place| values[*place].len());
        let keys: Vec<(Expr, &[Value])> = order
            .iter()
            .map(|place| (sets.keys()[*place].clone(), values[*place].as_slice()))
            .collect();
        let rows = rows(sets.input(), catalog).ok()?;
        let tabulation = Tabulation::of_keys(rows, &keys).ok()?;
        tabulation.check(catalog.unit.neighbors).ok()?;
        let ordered = |place: &usize| order.iter().position(|other| other == place);
        let of_set = |set: &Vec<usize>| set.iter().map(ordered).collect::<Option<Vec<usize>>>();
        Some(Self {
            tabulation,
            values: order.iter().map(|place| values[*place].clone()).collect(),
            sets: of_place.iter().map(of_set).collect::<Option<_>>()?,
        })
    }

    /// The public values of each key; `None` if one has none, or too many.
    fn values(sets: &GroupingSets<'_>, catalog: &Catalog) -> Result<Option<Vec<Vec<Value>>>, Error> {
        let rows = rows(sets.input(), catalog)?;
        let mut all = Vec::new();
        for key in sets.keys() {
            match public(&rows.accept(key)?) {
                Some(values) if !values.is_empty() && values.len() <= MOST_VALUES => all.push(values),
                _ => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// The keys of an aggregation that have more than one value: the others tell no rows apart.
    pub(crate) fn telling(&self, place: usize) -> Vec<usize> {
        let keys = self.sets[place].iter().copied();
        keys.filter(|key| self.values[*key].len() > 1).collect()
    }

    /// The code of each value of each key.
    pub(crate) fn codes(&self) -> Vec<HashMap<Vec<u8>, usize>> {
        self.values.iter().map(|values| codes(values)).collect()
    }
}

/// The values of a key that are public, and NULL if it may be that.
fn public(key: &Typed) -> Option<Vec<Value>> {
    let mut values = key.enumerable()?;
    if key.facts.nullable {
        values.push(Value::Null);
    }
    Some(values)
}

fn codes(values: &[Value]) -> HashMap<Vec<u8>, usize> {
    let names = values.iter().map(|value| encode(std::slice::from_ref(value)));
    names.zip(0..).collect()
}

/// The groups of an aggregation that does nothing but count rows of units with one row each; `None` if it does more.
fn counted(aggregation: &Aggregation) -> Option<&[Vec<Value>]> {
    let Selection::Listed(groups) = &aggregation.groups.selection else {
        return None;
    };
    let [statistic] = aggregation.statistics.as_slice() else {
        return None;
    };
    let counts = matches!(statistic.measure, Measure::Units | Measure::Rows { .. });
    let plain = |output: &Output| matches!(output, Output::Plain { .. });
    let one_row = aggregation.rows.rows_per_unit == Some(1) && aggregation.in_all.is_none();
    (counts && one_row && aggregation.outputs.iter().all(plain)).then_some(groups)
}

/// Whether the groups of an aggregation are all combinations of the values of its keys, each once.
fn crosses(aggregation: &Aggregation, keys: &[usize], values: &[Vec<Value>]) -> bool {
    let Some(groups) = counted(aggregation) else {
        return false;
    };
    let mut known = Vec::new();
    let mut all = 1usize;
    for key in keys {
        let of_key = codes(&values[*key]);
        // Two values with one name would be two cells of one group.
        if of_key.len() != values[*key].len() {
            return false;
        }
        all = all.saturating_mul(of_key.len());
        known.push(of_key);
    }
    let is_known = |group: &Vec<Value>| {
        let mut named = group.iter().zip(&known);
        group.len() == known.len()
            && named.all(|(value, known)| known.contains_key(&encode(std::slice::from_ref(value))))
    };
    let mut names: Vec<Vec<u8>> = groups.iter().map(|group| encode(group)).collect();
    names.sort_unstable();
    names.dedup();
    names.len() == all && groups.len() == all && groups.iter().all(is_known)
}
