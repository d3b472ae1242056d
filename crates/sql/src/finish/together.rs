//! Sets of groups that were planned together, as whole numbers that agree: each total is the sum of its parts. Post-processing: nothing here sees data.
//!
//! Measurements tell tables that agree as real numbers, and counts are whole. Rounding each cell would break what agrees. So sums are rounded in place of cells: of each table the numbers of rows in the first values of each key (a sum over a box of
//! cells that starts at the first), rounded, and cells are differences of these. A box that holds all values of a key is a box of the coarser table without it, and is rounded once for all tables. So whoever adds up the cells of a table over
//! a key has differences of the same rounded sums as the coarser table: they are equal, whatever was drawn.
//!
//! A cell of a table with k keys is a sum of 2ᵏ rounded sums with signs, so rounding moves it by at most 2ᵏ⁻¹, with a variance of about 2ᵏ/12 (`price::together` adds it). Nothing adds up over many cells.

use crate::Error;
use crate::finish::release::Released;
use crate::price::planned::refused;
use crate::price::together::{PlannedSets, keys_of};
use crate::understand::aggregation::{Aggregation, Selection};
use crate::understand::together::Together;
use crate::values::facts::Value;
use crate::values::group_name::encode;
use std::collections::{BTreeMap, HashMap};
use tables::{Measurements, Shape};

/// The numbers of each aggregation.
///
/// # Errors
/// When the measurements are of other sets.
pub(crate) fn released(
    sets: &Together,
    planned: &PlannedSets,
    aggregations: &[Aggregation],
    measurements: &Measurements,
) -> Result<Vec<Released>, Error> {
    let mut boxes = Boxes::new(sets);
    let mut shapes: Vec<&Shape> = planned.shapes.iter().collect();
    // Coarse tables first: what they say of a sum is nearest to what was measured.
    shapes.sort_by_key(|shape| (shape.axes().len(), *shape));
    shapes.dedup();
    let tables = tables(planned, &shapes, measurements)?;
    let whole: BTreeMap<&Shape, Vec<i64>> = shapes
        .iter()
        .zip(tables)
        .map(|(shape, table)| (*shape, boxes.whole(&keys_of(shape), table)))
        .collect();
    let codes = sets.codes();
    let of_aggregation = |(place, aggregation): (usize, &Aggregation)| {
        let other = || Error::refused("these are other sets of groups", "ask again");
        let Selection::Listed(groups) = &aggregation.groups.selection else {
            return Err(other());
        };
        let numbers = whole.get(&planned.shapes[place]).ok_or_else(other)?;
        let keys = &sets.sets[place];
        // The axes of a table are in the order of the keys of the question, its columns in the order of the set. Keys of one value are no axes.
        let mut order: Vec<usize> = (0..keys.len())
            .filter(|at| sets.values[keys[*at]].len() > 1)
            .collect();
        order.sort_by_key(|at| keys[*at]);
        let number = |group: &Vec<Value>| {
            // In row-major order.
            let cell = order.iter().try_fold(0, |cell, at| {
                let name = encode(std::slice::from_ref(&group[*at]));
                let code = codes[keys[*at]].get(&name)?;
                Some(cell * sets.values[keys[*at]].len() + code)
            });
            numbers.get(cell?).copied()
        };
        let numbers = groups.iter().map(number).collect::<Option<Vec<i64>>>();
        Ok(Released {
            groups: groups.clone(),
            numbers: vec![numbers.ok_or_else(other)?],
        })
    };
    aggregations.iter().enumerate().map(of_aggregation).collect()
}

/// The tables of these shapes, as real numbers that agree.
fn tables(
    planned: &PlannedSets,
    shapes: &[&Shape],
    measurements: &Measurements,
) -> Result<Vec<Vec<f64>>, Error> {
    let values = |shape: &Shape| {
        let table = measurements.table(shape).map_err(refused)?;
        Ok(table.values().to_vec())
    };
    let Some(agreeing) = &planned.agreeing else {
        return shapes.iter().map(|shape| values(shape)).collect();
    };
    let measured = agreeing.measured.iter().map(|(keys, _)| {
        let shape = Shape::of(keys).map_err(refused)?;
        values(&shape)
    });
    let wanted: Vec<Vec<usize>> = shapes.iter().map(|shape| keys_of(shape)).collect();
    let tables = agreeing.tables(&wanted, &measured.collect::<Result<Vec<_>, Error>>()?);
    tables.ok_or_else(|| Error::refused("these are other sets of groups", "ask again"))
}

/// Rounded sums over boxes of cells, by how many values of each key they hold.
struct Boxes {
    /// How many values each key has.
    sizes: Vec<usize>,
    rounded: HashMap<Vec<usize>, i64>,
}

impl Boxes {
    fn new(sets: &Together) -> Self {
        Self {
            sizes: sets.values.iter().map(Vec::len).collect(),
            rounded: HashMap::new(),
        }
    }

    /// The whole numbers of a table by these keys.
    fn whole(&mut self, keys: &[usize], mut sums: Vec<f64>) -> Vec<i64> {
        let sizes: Vec<usize> = keys.iter().map(|key| self.sizes[*key]).collect();
        let strides = strides(&sizes);
        for (step, size) in &strides {
            // In row-major order what lies before a place is done.
            for place in 0..sums.len() {
                if place / step % size > 0 {
                    sums[place] += sums[place - step];
                }
            }
        }
        let mut numbers: Vec<i64> = Vec::with_capacity(sums.len());
        for (place, sum) in sums.iter().enumerate() {
            let mut held = self.sizes.clone();
            for (key, (step, size)) in keys.iter().rev().zip(&strides) {
                held[*key] = place / step % size + 1;
            }
            numbers.push(*self.rounded.entry(held).or_insert(sum.round() as i64));
        }
        for (step, size) in &strides {
            for place in (0..numbers.len()).rev() {
                if place / step % size > 0 {
                    numbers[place] = numbers[place].wrapping_sub(numbers[place - step]);
                }
            }
        }
        numbers
    }
}

/// For each axis, the last first, how far apart neighbours along it lie in row-major order, and how many there are.
fn strides(sizes: &[usize]) -> Vec<(usize, usize)> {
    let mut step = 1;
    let mut strides: Vec<(usize, usize)> = Vec::new();
    for size in sizes.iter().rev() {
        strides.push((step, *size));
        step *= size;
    }
    strides
}
