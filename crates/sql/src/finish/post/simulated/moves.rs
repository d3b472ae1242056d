//! Tables like the released ones, in which each noisy number is moved as its noise may have moved it.

use super::super::{CHOSEN, ENDS, NOISY};
use super::replicas::{MOVED, REPLICA};
use crate::Error;
use crate::understand::mistakes::unplannable;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, UInt64Array,
};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Schema};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::Arc;

/// 95 % of what is normal lies within this many deviations.
const WITHIN: f64 = 1.96;
/// Distances of the ends that differ by more than this part of the interval's width are no matter of noise alone.
const UNEVEN: f64 = 0.1;

/// Of each released table one with all its rows for each of twice `tables` numbers: the first half moves each number by itself, the second all of a table together where their intervals are uneven.
pub(super) fn moved(released: &[RecordBatch], tables: usize) -> Result<Vec<RecordBatch>, Error> {
    let seed = seed(released);
    released
        .iter()
        .enumerate()
        .map(|(place, batch)| table(batch, tables, seed ^ mixed(place as u64)))
        .collect()
}

fn table(batch: &RecordBatch, tables: usize, seed: u64) -> Result<RecordBatch, Error> {
    let schema = batch.schema();
    let is_end = |name: &str| ENDS.iter().any(|end| name.strip_prefix(end).is_some());
    let shown = schema
        .fields()
        .iter()
        .filter(|field| !is_end(field.name()))
        .count();
    let (rows, copies) = (batch.num_rows(), 2 * tables);
    let again = UInt64Array::from_iter_values((0..copies).flat_map(|_| 0..rows as u64));
    let numbers: Vec<Option<Number<'_>>> = (0..shown).map(|place| Number::of(batch, place)).collect();
    let uneven = numbers.iter().flatten().any(Number::is_uneven);
    let (mut fields, mut columns) = (Vec::new(), Vec::<ArrayRef>::new());
    for (place, number) in numbers.iter().enumerate() {
        let field = schema.field(place);
        let mut marks = field.metadata().clone();
        columns.push(
            match number {
                Some(number) => {
                    marks.insert(MOVED.to_owned(), String::new());
                    let values = (0..copies).flat_map(|copy| (0..rows).map(move |row| (copy, row)));
                    let values = values.map(|(copy, row)| {
                        let together = uneven && copy >= tables;
                        // Where nothing is uneven, both kinds are the same kind.
                        let key = match together {
                            true => [copy as u64, u64::MAX, u64::MAX],
                            false => [copy as u64, row as u64, place as u64],
                        };
                        number.moved(row, normal(seed, key))
                    });
                    let values: ArrayRef = Arc::new(Float64Array::from_iter(values));
                    cast(&values, field.data_type())
                }
                None => take(batch.column(place), &again, None),
            }
            .map_err(|error| unplannable(error.into()))?,
        );
        fields.push(Field::new(field.name(), field.data_type().clone(), true).with_metadata(marks));
    }
    let copy = (0..copies).flat_map(|copy| std::iter::repeat_n(copy as i64, rows));
    columns.push(Arc::new(Int64Array::from_iter_values(copy)));
    fields.push(Field::new(REPLICA, DataType::Int64, false));
    let metadata: HashMap<String, String> = schema
        .metadata()
        .iter()
        .filter(|(name, _)| *name == CHOSEN)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, metadata)), columns)
        .map_err(|error| unplannable(error.into()))
}

/// A column of noisy numbers.
struct Number<'a> {
    values: Vec<Option<f64>>,
    low: &'a Float64Array,
    high: &'a Float64Array,
    whole: bool,
}

impl<'a> Number<'a> {
    fn of(batch: &'a RecordBatch, place: usize) -> Option<Self> {
        let field = batch.schema_ref().field(place);
        if field.metadata().contains_key(NOISY) {
            return None;
        }
        let end = |end: &str| {
            batch
                .column_by_name(&format!("{end}{place}"))?
                .as_primitive_opt::<Float64Type>()
        };
        let values = cast(batch.column(place), &DataType::Float64).ok()?;
        Some(Self {
            values: values.as_primitive::<Float64Type>().iter().collect(),
            low: end("low")?,
            high: end("high")?,
            whole: field.data_type().is_integer(),
        })
    }

    /// How far the interval reaches below and above the value.
    fn reach(&self, row: usize) -> Option<(f64, f64)> {
        let value = self.values[row]?;
        let there = !self.low.is_null(row) && !self.high.is_null(row);
        there.then(|| {
            (
                (value - self.low.value(row)).max(0.0),
                (self.high.value(row) - value).max(0.0),
            )
        })
    }

    fn is_uneven(&self) -> bool {
        (0..self.values.len()).any(|row| {
            self.reach(row)
                .is_some_and(|(below, above)| (above - below).abs() > UNEVEN * (above + below))
        })
    }

    fn moved(&self, row: usize, by: f64) -> Option<f64> {
        let value = self.values[row]?;
        let (below, above) = self.reach(row).unwrap_or((f64::NAN, f64::NAN));
        let far = if by < 0.0 { below } else { above };
        let moved = value + by / WITHIN * far;
        Some(if self.whole { moved.round() } else { moved }).filter(|moved| !moved.is_nan())
    }
}

/// A number that follows from all that was released.
fn seed(released: &[RecordBatch]) -> u64 {
    let mut digest = Sha256::new();
    for batch in released {
        for column in batch.columns() {
            let numbers = cast(column, &DataType::Float64).ok();
            for value in numbers
                .iter()
                .flat_map(|numbers| numbers.as_primitive::<Float64Type>())
            {
                digest.update(value.unwrap_or(f64::NAN).to_bits().to_le_bytes());
            }
        }
    }
    let digest = digest.finalize();
    u64::from_le_bytes(std::array::from_fn(|place| digest[place]))
}

/// A normal number that follows from a seed and a place.
fn normal(seed: u64, place: [u64; 3]) -> f64 {
    let state = place
        .into_iter()
        .fold(seed, |state, part| mixed(state ^ mixed(part)));
    let uniform = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let (radius, angle) = (uniform(mixed(state ^ 1)), uniform(mixed(state ^ 2)));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// SplitMix64's step.
fn mixed(state: u64) -> u64 {
    let mut bits = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_normal_and_follow_from_their_place() {
        let draws: Vec<f64> = (0..20_000).map(|place| normal(7, [place, 1, 2])).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let square = draws.iter().map(|draw| draw * draw).sum::<f64>() / draws.len() as f64;
        let within = draws.iter().filter(|draw| draw.abs() < WITHIN).count() as f64 / draws.len() as f64;
        assert!(
            mean.abs() < 0.04 && (square - 1.0).abs() < 0.06,
            "{mean} {square}"
        );
        assert!((within - 0.95).abs() < 0.01, "{within}");
        assert_eq!(normal(7, [3, 1, 2]), draws[3]);
        assert!(normal(8, [3, 1, 2]) != draws[3]);
    }
}
