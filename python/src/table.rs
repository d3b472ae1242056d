//! Tables of Python's libraries, in and out through the Arrow PyCapsule interface: no copy of the columns.

use crate::errors::{Class, of_parameter};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyInt, PyString};
use pyo3_arrow::PyTable;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};
use sql::Kind;
use sql::arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use sql::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use sql::arrow::error::ArrowError;
use std::sync::Arc;

/// A table that speaks Arrow. Printed without its values.
#[pyclass(frozen, module = "deniable", name = "ArrowTable")]
pub(crate) struct ArrowTable {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

impl ArrowTable {
    pub(crate) fn of(batch: RecordBatch) -> Self {
        Self {
            schema: batch.schema(),
            batches: vec![batch],
        }
    }
}

#[pymethods]
impl ArrowTable {
    /// Takes whatever has `__arrow_c_stream__` (pandas, polars, pyarrow, duckdb, …), without a copy of its columns.
    #[new]
    fn new(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        // What the importer says may quote the object, which may be data.
        let table: PyTable = table.extract().map_err(|_| {
            of_parameter(
                "this is no table that speaks Arrow\nhint: give a data frame of pandas, polars, pyarrow or duckdb, or anything else with `__arrow_c_stream__`",
            )
        })?;
        let (batches, schema) = table.into_inner();
        let mut names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        names.sort();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(of_parameter(
                "two columns of the table have the same name\nhint: rename one of them",
            ));
        }
        check(&batches)?;
        Ok(Self { schema, batches })
    }

    /// A table of columns that are lists of truth values, numbers or texts, with None for NULL.
    #[staticmethod]
    fn of_columns(columns: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for (name, values) in columns {
            let name: String = name
                .extract()
                .map_err(|_| of_parameter("the name of a column is no text\nhint: name columns by text"))?;
            let array = array_of(&name, &values)?;
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|_| {
            of_parameter("the columns of a table are not equally long, or there are none\nhint: give each row a value in every column, None where there is none")
        })?;
        Ok(Self::of(batch))
    }

    /// Names of the columns, and what each would be declared as; None for what cannot be.
    fn columns(&self) -> Vec<(String, Option<String>)> {
        let fields = self.schema.fields().iter();
        fields
            .map(|field| {
                let kind = Kind::of(field.data_type());
                (field.name().clone(), kind.map(|kind| kind.to_string()))
            })
            .collect()
    }

    /// Some of the rows, as JSON, with days and moments as text.
    fn slice(&self, start: usize, end: usize) -> String {
        let mut before = 0;
        let mut rows = Vec::new();
        for batch in &self.batches {
            let here = start.saturating_sub(before)..end.saturating_sub(before);
            rows.extend(sql::rows_as_json(batch, here));
            before += batch.num_rows();
        }
        serde_json::Value::Array(rows).to_string()
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let field = Field::new_struct("", self.schema.fields().clone(), false);
        let field = Arc::new(field.with_metadata(self.schema.metadata().clone()));
        let arrays: Vec<Result<ArrayRef, ArrowError>> = self
            .batches
            .iter()
            .map(|batch| Ok(Arc::new(StructArray::from(batch.clone())) as ArrayRef))
            .collect();
        let reader = Box::new(ArrayIterator::new(arrays, field));
        Ok(to_stream_pycapsule(py, reader, requested_schema)?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.schema.as_ref())?)
    }

    fn __repr__(&self) -> String {
        format!("ArrowTable({} columns)", self.schema.fields().len())
    }
}

/// Values of Python as a column of the one type that holds them all. Whole numbers among others are numbers.
fn array_of(name: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let wrong = || {
        of_parameter(format!(
            "column `{name}` is no list of truth values, whole numbers, numbers or texts of one kind\nhint: None stands for NULL; give a data frame for columns of other types"
        ))
    };
    let values: Vec<Option<Bound<'_, PyAny>>> = values.extract().map_err(|_| wrong())?;
    let all = |is: fn(&Bound<'_, PyAny>) -> bool| values.iter().flatten().all(is);
    let is_bool = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyBool>();
    let array: ArrayRef = if all(is_bool) {
        Arc::new(BooleanArray::from(of_type::<bool>(&values).ok_or_else(wrong)?))
    } else if values.iter().flatten().any(is_bool) {
        return Err(wrong());
    } else if all(|value| value.is_instance_of::<PyInt>()) {
        Arc::new(Int64Array::from(of_type::<i64>(&values).ok_or_else(wrong)?))
    } else if all(|value| value.is_instance_of::<PyString>()) {
        Arc::new(StringArray::from(of_type::<String>(&values).ok_or_else(wrong)?))
    } else {
        Arc::new(Float64Array::from(of_type::<f64>(&values).ok_or_else(wrong)?))
    };
    Ok(array)
}

fn of_type<T>(values: &[Option<Bound<'_, PyAny>>]) -> Option<Vec<Option<T>>>
where
    T: for<'a, 'py> FromPyObject<'a, 'py>,
{
    let value = |value: &Option<Bound<'_, PyAny>>| match value {
        None => Some(None),
        Some(value) => value.extract::<T>().ok().map(Some),
    };
    values.iter().map(value).collect()
}

/// A producer in the same process is believed about lengths and types, as everywhere in Arrow; that texts are texts is checked, because a broken one would stop a question long after it was charged.
fn check(batches: &[RecordBatch]) -> PyResult<()> {
    let text = |array: &ArrayRef| array.to_data().validate_full().is_ok();
    let is_text = |array: &&ArrayRef| {
        matches!(
            array.data_type(),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..)
        )
    };
    let mut columns = batches.iter().flat_map(|batch| batch.columns().iter());
    if columns.by_ref().filter(is_text).all(text) {
        Ok(())
    } else {
        Err(Class::Parameter.raise(
            "a column of text holds bytes that are no text\nhint: make the table anew with valid UTF-8",
        ))
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ArrowTable>()
}
