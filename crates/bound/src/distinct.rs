//! How many distinct values one unit has, counted in memory of a fixed size.
//!
//! The engine's own COUNT(DISTINCT …) holds every value of a group until the end, so one person with millions of them decides whether a query runs out of memory.
//! Here a group holds at most [`MOST_DISTINCT`] hashes of values, and the count stops there.
//!
//! The result, min(number of distinct hashes, [`MOST_DISTINCT`]), is a function of the set of values alone: which hashes are held when there are more depends on the
//! order of rows, how many are held does not. Two values with one hash of 64 bits count once, which costs accuracy (one chance in 10¹³ for a thousand values)
//! and is still a function of that unit's values.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::hash_utils::{QualityRandomState, create_hashes};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility};
use std::collections::HashSet;

/// More distinct values of one unit in one group of a subquery are not counted.
pub const MOST_DISTINCT: usize = 1000;

/// The number of distinct values that are not NULL, at most [`MOST_DISTINCT`].
pub fn count_distinct_within(value: Expr) -> Expr {
    AggregateUDF::new_from_impl(CountDistinctWithin::default()).call(vec![value])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CountDistinctWithin {
    signature: Signature,
}

impl Default for CountDistinctWithin {
    fn default() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl AggregateUDFImpl for CountDistinctWithin {
    fn name(&self) -> &str {
        "count_distinct_within"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn default_value(&self, _: &DataType) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(Some(0)))
    }

    fn state_fields(&self, arguments: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = format!("{}[hashes]", arguments.name);
        Ok(vec![Field::new(name, DataType::LargeBinary, false).into()])
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Hashes::default()))
    }
}

/// The hashes of some of the values: of all of them, unless there are more than count.
#[derive(Default)]
struct Hashes(HashSet<u64>);

impl std::fmt::Debug for Hashes {
    /// Hashes of private values are private.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Hashes(..)")
    }
}

impl Hashes {
    fn insert(&mut self, hashes: impl Iterator<Item = u64>) {
        for hash in hashes {
            if self.0.len() == MOST_DISTINCT {
                return;
            }
            self.0.insert(hash);
        }
    }
}

impl Accumulator for Hashes {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else {
            return exec_err!("distinct values are counted of one column");
        };
        if self.0.len() == MOST_DISTINCT {
            return Ok(());
        }
        let mut hashes = vec![0; values.len()];
        create_hashes([values], &QualityRandomState::with_seed(0), &mut hashes)?;
        let present = hashes.into_iter().enumerate();
        self.insert(
            present
                .filter(|(row, _)| values.is_valid(*row))
                .map(|(_, hash)| hash),
        );
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [states] = states else {
            return exec_err!("distinct values have one state");
        };
        for state in states.as_binary::<i64>().iter().flatten() {
            let (hashes, _) = state.as_chunks::<8>();
            self.insert(hashes.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let bytes = self.0.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        Ok(vec![ScalarValue::LargeBinary(Some(bytes))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(Some(self.0.len() as i64)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.capacity() * (size_of::<u64>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int64Array, StringViewArray};
    use std::sync::Arc;

    fn counted(parts: &[ArrayRef]) -> i64 {
        let mut whole = Hashes::default();
        for part in parts {
            let mut one = Hashes::default();
            one.update_batch(std::slice::from_ref(part)).unwrap();
            assert!(
                one.size() < 64 * MOST_DISTINCT,
                "memory does not grow with the data"
            );
            let state = one.state().unwrap().remove(0).to_array().unwrap();
            whole.merge_batch(&[state]).unwrap();
        }
        match whole.evaluate().unwrap() {
            ScalarValue::Int64(Some(count)) => count,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn values_are_counted_up_to_the_limit_in_any_order() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![
            Some("a"),
            None,
            Some(""),
            Some("a"),
            Some("a text of more than twelve bytes"),
        ]));
        assert_eq!(counted(&[Arc::clone(&texts)]), 3);
        assert_eq!(counted(&[Arc::clone(&texts), texts]), 3);
        assert_eq!(counted(&[]), 0);
        let numbers = |numbers: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(numbers)) };
        let many: Vec<i64> = (0..5000).collect();
        let reversed: Vec<i64> = many.iter().rev().copied().collect();
        assert_eq!(counted(&[numbers(many.clone())]), MOST_DISTINCT as i64);
        assert_eq!(counted(&[numbers(reversed), numbers(many)]), MOST_DISTINCT as i64);
        assert_eq!(
            counted(&[numbers((0..600).collect()), numbers((300..900).collect())]),
            900
        );
    }
}
