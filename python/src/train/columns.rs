//! Columns that a program gives.

use crate::errors::of_parameter;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};
use sql::arrow::array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, new_empty_array};
use sql::arrow::compute::{cast, concat, take};
use sql::arrow::datatypes::DataType;
use std::sync::Arc;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Columns>()?;
    Ok(())
}

/// Columns of a table. Without a repr of what is in them, which may be private.
#[pyclass(module = "deniable._deniable", name = "TrainingColumns")]
#[derive(Default)]
pub(super) struct Columns {
    names: Vec<String>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn push(&mut self, name: String, array: ArrayRef) -> PyResult<()> {
        if self
            .arrays
            .first()
            .is_some_and(|first| first.len() != array.len())
        {
            return Err(of_parameter(
                "the columns, labels and groups do not have the same number of rows\nhint: give X, y and groups with inconsistent numbers of samples made equal: one label and one group a row",
            ));
        }
        self.names.push(name);
        self.arrays.push(array);
        Ok(())
    }

    pub(super) fn batch(&self) -> PyResult<RecordBatch> {
        let pairs = self.names.iter().zip(&self.arrays);
        RecordBatch::try_from_iter_with_nullable(pairs.map(|(name, array)| (name, array.clone(), true)))
            .map_err(|_| of_parameter("there are no columns\nhint: give at least one"))
    }
}

/// Any text or number as what training reads: numbers as floats, everything else as text.
fn plain(name: &str, array: &ArrayRef, number: bool) -> PyResult<ArrayRef> {
    let plain = match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values),
        _ => Ok(array.clone()),
    };
    let wanted = if number { DataType::Float64 } else { DataType::Utf8 };
    let refused = |_| {
        of_parameter(format!(
            "the type of the column `{name}` cannot be learned from\nhint: give numbers, or texts whose categories are declared"
        ))
    };
    cast(&plain.map_err(refused)?, &wanted).map_err(refused)
}

#[pymethods]
impl Columns {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The columns of anything with the Arrow stream interface, as they are.
    #[staticmethod]
    fn of_table(table: AnyRecordBatch) -> PyResult<Self> {
        let (batches, schema) = table.into_table()?.into_inner();
        let mut columns = Self::default();
        for (place, field) in schema.fields().iter().enumerate() {
            let chunks: Vec<&dyn sql::arrow::array::Array> =
                batches.iter().map(|batch| batch.column(place).as_ref()).collect();
            let array = if chunks.is_empty() {
                new_empty_array(field.data_type())
            } else {
                concat(&chunks)
                    .map_err(|_| of_parameter("this table cannot be read\nhint: give plain columns"))?
            };
            columns.push(field.name().clone(), array)?;
        }
        Ok(columns)
    }

    /// The names, in order.
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn __len__(&self) -> usize {
        self.arrays.first().map_or(0, |array| array.len())
    }

    /// A column of another table, as numbers or as text.
    fn copy_from(
        &mut self,
        table: PyRef<'_, Self>,
        place: usize,
        name: String,
        number: bool,
    ) -> PyResult<()> {
        let array = table
            .arrays
            .get(place)
            .ok_or_else(|| of_parameter("there is no such column\nhint: name one that the table has"))?;
        self.push(name.clone(), plain(&name, array, number)?)
    }

    /// Anything with the Arrow array interface, as numbers or as text.
    fn arrow(&mut self, name: String, array: AnyArray, number: bool) -> PyResult<()> {
        let (chunks, field) = array.into_chunked_array()?.into_inner();
        let chunks: Vec<&dyn sql::arrow::array::Array> = chunks.iter().map(|chunk| chunk.as_ref()).collect();
        let array = if chunks.is_empty() {
            new_empty_array(field.data_type())
        } else {
            concat(&chunks).map_err(|_| of_parameter("this array cannot be read\nhint: give a plain one"))?
        };
        self.push(name.clone(), plain(&name, &array, number)?)
    }

    /// Numbers, as the bytes of floats of 64 bits.
    fn numbers(&mut self, name: String, bytes: PyBackedBytes) -> PyResult<()> {
        let (numbers, _) = bytes.as_chunks::<8>();
        let array: Float64Array = numbers
            .iter()
            .map(|number| Some(f64::from_ne_bytes(*number)))
            .collect();
        self.push(name, Arc::new(array))
    }

    /// Texts by their places in a list, as the bytes of integers of 32 bits; a place that is not in it is missing.
    fn codes(&mut self, name: String, bytes: PyBackedBytes, values: Vec<String>) -> PyResult<()> {
        let (codes, _) = bytes.as_chunks::<4>();
        let place = |code: &[u8; 4]| {
            let place = i32::from_ne_bytes(*code);
            usize::try_from(place)
                .ok()
                .filter(|place| *place < values.len())
                .map(|_| place)
        };
        let places: Int32Array = codes.iter().map(place).collect();
        let texts = take(&StringArray::from(values.clone()), &places, None).map_err(|_| {
            of_parameter("these places cannot be read\nhint: give them as integers of 32 bits")
        })?;
        self.push(name, texts)
    }

    /// Texts; `None` where one is missing.
    fn texts(&mut self, name: String, texts: Vec<Option<String>>) -> PyResult<()> {
        self.push(name, Arc::new(StringArray::from(texts)))
    }
}
