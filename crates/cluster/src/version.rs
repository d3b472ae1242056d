//! A coordinator and a worker may work together if they are the same version of this program and hash the
//! same value to the same number.
//!
//! Rows are sent to workers by a hash of their unit. Two workers that hash differently (because of another
//! build, or another processor) would send two rows of one person to two places. Each place would count that
//! person up to the bound. The sensitivity would double, and nothing would look wrong. So the hashes of a
//! fixed sample are part of the version.

use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::metrics::Time;
use datafusion::physical_plan::repartition::BatchPartitioner;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Raised when what coordinator and workers say to each other changes its meaning.
const PROTOCOL: u32 = 1;
/// Into how many parts the sample is dealt. Prime, so that every bit of a hash counts.
const PARTS: usize = 8191;

/// What both ends must have in common.
///
/// # Errors
/// If the sample cannot be hashed, which would be a defect.
pub fn version() -> Result<String> {
    Ok(format!(
        "deniable {} protocol {PROTOCOL} engine {} hashes {}",
        env!("CARGO_PKG_VERSION"),
        datafusion::DATAFUSION_VERSION,
        fingerprint()?
    ))
}

/// A digest of where values of each kind are sent.
fn fingerprint() -> Result<String> {
    let numbers: Vec<i64> = (0..64u32)
        .flat_map(|shift| [1i64 << shift, i64::MIN >> shift, i64::from(shift) * 1_000_003])
        .collect();
    let texts = numbers
        .iter()
        .map(|number| format!("{number:x}").repeat(1 + (*number as usize) % 5));
    let some = numbers.iter().map(|number| (number % 3 != 0).then_some(*number));
    let samples: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter(some)),
        Arc::new(Int64Array::from(numbers.clone())),
        Arc::new(Float64Array::from_iter_values(
            numbers.iter().map(|number| *number as f64 / 3.0),
        )),
        Arc::new(StringViewArray::from_iter_values(texts)),
        Arc::new(BooleanArray::from(vec![true, false])),
        Arc::new(Date32Array::from_iter_values(-200..200)),
        Arc::new(TimestampMicrosecondArray::from(numbers)),
    ];
    let mut digest = Sha256::new();
    for sample in samples {
        for part in places(sample)? {
            digest.update(part.to_le_bytes());
        }
    }
    let bytes = digest.finalize();
    Ok(bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

/// The part into which each value is dealt, by the same code that deals out rows.
fn places(sample: ArrayRef) -> Result<Vec<u64>> {
    let rows = sample.len();
    let row = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let schema = Schema::new(vec![
        Field::new("unit", sample.data_type().clone(), true),
        Field::new("row", DataType::Int64, false),
    ]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![sample, Arc::clone(&row) as ArrayRef])?;
    let unit: Arc<dyn PhysicalExpr> = Arc::new(Column::new("unit", 0));
    let number: Arc<dyn PhysicalExpr> = Arc::new(Column::new("row", 1));
    let mut places = dealt_into(vec![Arc::clone(&unit)], batch.clone())?;
    // By more than one column as well, as groups of a unit are dealt out.
    places.extend(dealt_into(vec![unit, number], batch)?);
    Ok(places)
}

fn dealt_into(keys: Vec<Arc<dyn PhysicalExpr>>, batch: RecordBatch) -> Result<Vec<u64>> {
    let mut places = vec![u64::MAX; batch.num_rows()];
    let mut partitioner = BatchPartitioner::new_hash_partitioner(keys, PARTS, Time::new())?;
    for dealt in partitioner.partition_iter(batch)? {
        let (part, batch) = dealt?;
        let Some(dealt) = batch.column(1).as_primitive_opt::<Int64Type>() else {
            return internal_err!("rows are numbered by integers");
        };
        for row in dealt.values() {
            places[*row as usize] = part as u64;
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_place_and_equal_values_the_same() {
        let sample: ArrayRef = Arc::new(Int64Array::from(vec![7, 8, 7, 9, 8]));
        let places = places(sample).unwrap();
        assert!(places.iter().all(|place| *place < PARTS as u64));
        assert_eq!((places[0], places[1]), (places[2], places[4]));
        assert_ne!(places[0], places[3]);
    }

    #[test]
    fn a_version_is_the_same_each_time() {
        assert_eq!(version().unwrap(), version().unwrap());
        assert!(version().unwrap().starts_with("deniable "));
    }
}
