//! Sums and averages inside one unit, exact and without bounds.
//!
//! What leaves a unit is clamped; what is computed inside it is not, so that `SUM(cost) > 5000` compares the person's real total. Two things are asked of such a total: it must not depend on the order of
//! rows, which other units' rows can change, and it must exist for all values. So integers are summed in 128 bits and cut to 64 at the end, and floats are summed exactly and rounded once ([`exact`]).
//!
//! # Privacy
//! Claim: each of the three functions maps the multiset of a group's values to one value, or to NULL if there are none. It never fails.
//! Proof: a sum of fewer than 2⁶³ integers of 64 bits fits 128 bits, so it is exact, and so is the sum of floats; exact sums commute. Cutting and rounding look at the sum and the number of values alone.
//! Audited by: `tests` here, and the hunter of the crate `sql`.

mod exact;

pub(crate) use exact::Sum;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, LargeBinaryBuilder, PrimitiveArray,
};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, Expr, GroupsAccumulator, Signature, Volatility,
};
use std::sync::Arc;

/// The sum of integers, cut to 64 bits; NULL if there are none.
pub fn exact_sum_of_integers(value: Expr) -> Expr {
    ExactSum::new(Which::Integers).call(value)
}

/// The sum of floats, rounded once; NULL if there are none.
pub fn exact_sum_of_floats(value: Expr) -> Expr {
    ExactSum::new(Which::Floats).call(value)
}

/// The average of floats, rounded once; NULL if there are none.
pub fn exact_average_of_floats(value: Expr) -> Expr {
    ExactSum::new(Which::Average).call(value)
}

/// All of them, for sessions that find functions by name.
pub(crate) fn functions() -> impl Iterator<Item = AggregateUDF> {
    [Which::Integers, Which::Floats, Which::Average]
        .into_iter()
        .map(|which| AggregateUDF::new_from_impl(ExactSum::new(which)))
}

/// An integer of 128 bits as one of 64, the nearest one.
pub(crate) fn cut_to_64_bits(sum: i128) -> i64 {
    sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Which {
    Integers,
    Floats,
    Average,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactSum {
    signature: Signature,
    which: Which,
}

impl ExactSum {
    fn new(which: Which) -> Self {
        let argument = match which {
            Which::Integers => DataType::Int64,
            Which::Floats | Which::Average => DataType::Float64,
        };
        Self {
            signature: Signature::exact(vec![argument], Volatility::Immutable),
            which,
        }
    }

    fn call(self, value: Expr) -> Expr {
        AggregateUDF::new_from_impl(self).call(vec![value])
    }
}

impl AggregateUDFImpl for ExactSum {
    fn name(&self) -> &str {
        match self.which {
            Which::Integers => "exact_sum_of_integers",
            Which::Floats => "exact_sum_of_floats",
            Which::Average => "exact_average_of_floats",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.which {
            Which::Integers => DataType::Int64,
            Which::Floats | Which::Average => DataType::Float64,
        })
    }

    fn state_fields(&self, arguments: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = format!("{}[total]", arguments.name);
        Ok(vec![Field::new(name, DataType::LargeBinary, true).into()])
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(match self.which {
            Which::Integers => Box::new(One(Groups::<Integers>::default())),
            Which::Floats => Box::new(One(Groups::<Floats>::default())),
            Which::Average => Box::new(One(Groups::<Average>::default())),
        })
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(match self.which {
            Which::Integers => Box::new(Groups::<Integers>::default()),
            Which::Floats => Box::new(Groups::<Floats>::default()),
            Which::Average => Box::new(Groups::<Average>::default()),
        })
    }
}

/// What is kept of the values of one group.
trait Total: Default + Send + Sync + 'static {
    type Values: ArrowPrimitiveType;

    fn add(&mut self, value: <Self::Values as ArrowPrimitiveType>::Native);

    /// `None` if there are no values.
    fn result(&self) -> Option<<Self::Values as ArrowPrimitiveType>::Native>;

    fn to_bytes(&self) -> Option<Vec<u8>>;

    /// Adds what another one wrote.
    fn merge(&mut self, bytes: &[u8]) -> Result<()>;

    /// Bytes on the heap.
    fn heap(&self) -> usize {
        0
    }
}

#[derive(Default)]
struct Integers(Option<i128>);

impl Total for Integers {
    type Values = Int64Type;

    fn add(&mut self, value: i64) {
        self.0 = Some(self.0.unwrap_or(0) + i128::from(value));
    }

    fn result(&self) -> Option<i64> {
        self.0.map(cut_to_64_bits)
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        self.0.map(|sum| sum.to_le_bytes().to_vec())
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<()> {
        let Ok(bytes) = bytes.try_into() else {
            return exec_err!("a sum of integers has 16 bytes");
        };
        // What partial sums of a worker say is not taken for granted: here it must not run over.
        self.0 = Some(self.0.unwrap_or(0).saturating_add(i128::from_le_bytes(bytes)));
        Ok(())
    }
}

#[derive(Default)]
struct Floats {
    sum: Sum,
    values: u64,
}

impl Total for Floats {
    type Values = Float64Type;

    fn add(&mut self, value: f64) {
        self.sum.add(value);
        self.values += 1;
    }

    fn result(&self) -> Option<f64> {
        (self.values > 0).then(|| self.sum.rounded())
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        (self.values > 0).then(|| {
            let mut bytes = self.values.to_le_bytes().to_vec();
            bytes.extend(self.sum.to_bytes());
            bytes
        })
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<()> {
        let Some((values, parts)) = bytes.split_first_chunk() else {
            return exec_err!("a sum of floats begins with the number of values");
        };
        self.values = self.values.saturating_add(u64::from_le_bytes(*values));
        self.sum.merge(&Sum::from_bytes(parts));
        Ok(())
    }

    fn heap(&self) -> usize {
        self.sum.heap()
    }
}

#[derive(Default)]
struct Average(Floats);

impl Total for Average {
    type Values = Float64Type;

    fn add(&mut self, value: f64) {
        self.0.add(value);
    }

    fn result(&self) -> Option<f64> {
        (self.0.values > 0).then(|| self.0.sum.divided(self.0.values))
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        self.0.to_bytes()
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.merge(bytes)
    }

    fn heap(&self) -> usize {
        self.0.heap()
    }
}

/// The totals of all groups.
struct Groups<T> {
    totals: Vec<T>,
    /// Bytes on the heap of all totals.
    heap: usize,
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self {
            totals: Vec::new(),
            heap: 0,
        }
    }
}

impl<T> std::fmt::Debug for Groups<T> {
    /// Totals of private values are private.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Groups(..)")
    }
}

impl<T: Total> Groups<T> {
    fn change(&mut self, group: usize, change: impl FnOnce(&mut T) -> Result<()>) -> Result<()> {
        let total = &mut self.totals[group];
        let before = total.heap();
        change(total)?;
        self.heap = self.heap + total.heap() - before;
        Ok(())
    }

    fn take(&mut self, emit: EmitTo) -> Vec<T> {
        let taken = emit.take_needed(&mut self.totals);
        self.heap -= taken.iter().map(T::heap).sum::<usize>();
        taken
    }
}

fn states<T: Total>(totals: &[T]) -> Vec<ArrayRef> {
    let mut states = LargeBinaryBuilder::new();
    totals
        .iter()
        .for_each(|total| states.append_option(total.to_bytes()));
    vec![Arc::new(states.finish())]
}

fn only(columns: &[ArrayRef]) -> Result<&ArrayRef> {
    match columns {
        [column] => Ok(column),
        _ => exec_err!("an exact sum reads one column"),
    }
}

impl<T: Total> GroupsAccumulator for Groups<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total_groups: usize,
    ) -> Result<()> {
        let values: &PrimitiveArray<T::Values> = only(values)?.as_primitive();
        self.totals.resize_with(total_groups, T::default);
        for (row, group) in groups.iter().enumerate() {
            let counts = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if counts && values.is_valid(row) {
                self.change(*group, |total| {
                    total.add(values.value(row));
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total_groups: usize) -> Result<()> {
        let states = only(states)?.as_binary::<i64>();
        self.totals.resize_with(total_groups, T::default);
        for (state, group) in states.iter().zip(groups) {
            if let Some(bytes) = state {
                self.change(*group, |total| total.merge(bytes))?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let results: PrimitiveArray<T::Values> = self.take(emit).iter().map(T::result).collect();
        Ok(Arc::new(results))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(states(&self.take(emit)))
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut rows = Self::default();
        let count = only(values)?.len();
        let each: Vec<usize> = (0..count).collect();
        rows.update_batch(values, &each, filter, count)?;
        Ok(states(&rows.totals))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.totals.capacity() * size_of::<T>() + self.heap
    }
}

/// The total of a single group.
struct One<T>(Groups<T>);

impl<T> std::fmt::Debug for One<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("One(..)")
    }
}

impl<T: Total> One<T> {
    /// For every row, the one group.
    fn group_of(columns: &[ArrayRef]) -> Vec<usize> {
        vec![0; columns.first().map_or(0, |column| column.len())]
    }

    fn total(&mut self) -> &T {
        self.0.totals.resize_with(1, T::default);
        &self.0.totals[0]
    }
}

impl<T: Total> Accumulator for One<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values, &Self::group_of(values), None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states, &Self::group_of(states), 1)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::LargeBinary(self.total().to_bytes())])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let result: PrimitiveArray<T::Values> = std::iter::once(self.total().result()).collect();
        ScalarValue::try_from_array(&result, 0)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Float64Array, Int64Array};

    /// What comes of these values in these groups: in one go, and by parts that are merged.
    fn totals<T: Total>(values: &ArrayRef, groups: &[usize], count: usize) -> [ArrayRef; 2] {
        let mut whole = Groups::<T>::default();
        whole
            .update_batch(std::slice::from_ref(values), groups, None, count)
            .unwrap();
        let mut merged = Groups::<T>::default();
        for from in (0..groups.len()).step_by(3) {
            let rows = 3.min(groups.len() - from);
            let (part, its_groups) = (values.slice(from, rows), &groups[from..from + rows]);
            let mut one = Groups::<T>::default();
            one.update_batch(&[Arc::clone(&part)], its_groups, None, count)
                .unwrap();
            let every: Vec<usize> = (0..count).collect();
            let state = one.state(EmitTo::All).unwrap();
            assert_eq!(one.heap, 0);
            merged.merge_batch(&state, &every, count).unwrap();
        }
        [
            whole.evaluate(EmitTo::All).unwrap(),
            merged.evaluate(EmitTo::All).unwrap(),
        ]
    }

    #[test]
    fn integers_are_summed_exactly_and_cut() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![
            Some(i64::MAX),
            Some(i64::MAX),
            Some(-5),
            None,
            Some(i64::MIN),
            Some(7),
            Some(i64::MIN),
            Some(i64::MAX),
        ]));
        let groups = [0, 0, 1, 2, 0, 1, 3, 4];
        for result in totals::<Integers>(&values, &groups, 6) {
            let expected = Int64Array::from(vec![
                Some(i64::MAX - 1),
                Some(2),
                None,
                Some(i64::MIN),
                Some(i64::MAX),
                None,
            ]);
            assert_eq!(result.as_primitive::<Int64Type>(), &expected);
        }
        assert_eq!(cut_to_64_bits(i128::from(i64::MAX) + 1), i64::MAX);
        assert_eq!(cut_to_64_bits(i128::MIN), i64::MIN);
    }

    #[test]
    fn floats_are_summed_in_any_order_and_by_parts() {
        let numbers = [1e16, 1.0, -1e16, 0.1, 0.2, -0.3, 1e-300, 3.0];
        let values: ArrayRef = Arc::new(Float64Array::from(numbers.to_vec()));
        let backwards: ArrayRef = Arc::new(Float64Array::from_iter_values(numbers.into_iter().rev()));
        let sums = [&values, &backwards].map(|values| totals::<Floats>(values, &[0; 8], 1));
        let bits = |array: &ArrayRef| array.as_primitive::<Float64Type>().value(0).to_bits();
        let first = bits(&sums[0][0]);
        assert!(sums.iter().flatten().all(|array| bits(array) == first));
        let averages = totals::<Average>(&values, &[0, 1, 2, 3, 3, 3, 4, 4], 5);
        assert_eq!(averages[0].as_ref(), averages[1].as_ref());
        assert_eq!(averages[0].as_primitive::<Float64Type>().value(1), 1.0);
        assert_eq!(averages[0].as_primitive::<Float64Type>().value(4), 1.5);
    }

    #[test]
    fn groups_leave_one_after_the_other() {
        let mut groups = Groups::<Floats>::default();
        let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1e-30, 1e30, 2.0]));
        groups.update_batch(&[values], &[0, 0, 0, 1], None, 3).unwrap();
        assert!(groups.size() > 0 && groups.heap > 0);
        let first = groups.evaluate(EmitTo::First(1)).unwrap();
        assert_eq!((first.len(), groups.heap), (1, 0));
        let rest = groups.evaluate(EmitTo::All).unwrap();
        assert_eq!(
            rest.as_primitive::<Float64Type>(),
            &Float64Array::from(vec![Some(2.0), None])
        );
    }

    #[test]
    fn one_group_is_summed_alike() {
        let mut one = One(Groups::<Average>::default());
        let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(2.0)]));
        one.update_batch(&[values]).unwrap();
        let state = one.state().unwrap().remove(0).to_array().unwrap();
        one.merge_batch(&[state]).unwrap();
        assert_eq!(one.evaluate().unwrap(), ScalarValue::Float64(Some(1.5)));
        let mut none = One(Groups::<Integers>::default());
        assert_eq!(none.evaluate().unwrap(), ScalarValue::Int64(None));
    }
}
