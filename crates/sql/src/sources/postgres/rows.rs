//! Rows of PostgreSQL, gathered into batches.

use datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, RecordBatch, RecordBatchOptions,
    StringViewBuilder, TimestampMicrosecondBuilder,
};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::exec_datafusion_err;
use datafusion::error::DataFusionError;
use std::sync::Arc;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

type Failure = Box<dyn std::error::Error + Sync + Send>;

/// The bytes of a value as they arrive.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Failure> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// PostgreSQL counts from 2000-01-01.
const DAYS: i32 = 10_957;
const MICROSECONDS: i64 = 946_684_800_000_000;

/// One column in the making.
enum Column {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringViewBuilder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
}

impl Column {
    fn new(data_type: &DataType, capacity: usize) -> Self {
        match data_type {
            DataType::Boolean => Self::Bool(BooleanBuilder::with_capacity(capacity)),
            DataType::Int64 => Self::Int(Int64Builder::with_capacity(capacity)),
            DataType::Float64 => Self::Float(Float64Builder::with_capacity(capacity)),
            DataType::Date32 => Self::Date(Date32Builder::with_capacity(capacity)),
            DataType::Timestamp(..) => Self::Timestamp(TimestampMicrosecondBuilder::with_capacity(capacity)),
            _ => Self::Text(StringViewBuilder::with_capacity(capacity)),
        }
    }

    /// Takes one value. What is no such value is NULL: `infinity` among days and moments, bytes that are no text.
    fn push(&mut self, raw: Option<&[u8]>) {
        fn array<const N: usize>(raw: Option<&[u8]>) -> Option<[u8; N]> {
            raw?.try_into().ok()
        }
        match self {
            Self::Bool(builder) => builder.append_option(array(raw).map(|[byte]| byte != 0)),
            Self::Int(builder) => builder.append_option(array(raw).map(i64::from_be_bytes)),
            Self::Float(builder) => builder.append_option(array(raw).map(f64::from_be_bytes)),
            Self::Text(builder) => builder.append_option(raw.and_then(|raw| std::str::from_utf8(raw).ok())),
            Self::Date(builder) => builder.append_option(
                array(raw)
                    .map(i32::from_be_bytes)
                    .filter(|&days| days != i32::MAX && days != i32::MIN)
                    .and_then(|days| days.checked_add(DAYS)),
            ),
            Self::Timestamp(builder) => builder.append_option(
                array(raw)
                    .map(i64::from_be_bytes)
                    .filter(|&moment| moment != i64::MAX && moment != i64::MIN)
                    .and_then(|moment| moment.checked_add(MICROSECONDS)),
            ),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::Int(builder) => Arc::new(builder.finish()),
            Self::Float(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Date(builder) => Arc::new(builder.finish()),
            Self::Timestamp(builder) => Arc::new(builder.finish()),
        }
    }
}

/// Rows that are not a batch yet.
pub(super) struct Rows {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
}

impl Rows {
    /// None yet.
    pub(super) fn new(schema: SchemaRef, capacity: usize) -> Self {
        let columns = schema
            .fields()
            .iter()
            .map(|field| Column::new(field.data_type(), capacity))
            .collect();
        Self {
            schema,
            columns,
            rows: 0,
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// One more.
    pub(super) fn push(&mut self, row: &Row) -> Result<(), DataFusionError> {
        for (index, column) in self.columns.iter_mut().enumerate() {
            let raw: Option<Raw<'_>> = row
                .try_get(index)
                .map_err(|_| exec_datafusion_err!("a row is shorter than its description"))?;
            column.push(raw.map(|raw| raw.0));
        }
        self.rows += 1;
        Ok(())
    }

    /// All of them as a batch; then there are none.
    pub(super) fn finish(&mut self) -> Result<RecordBatch, DataFusionError> {
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(&self.schema),
            columns,
            &options,
        )?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::AsArray;
    use datafusion::arrow::datatypes::{Date32Type, TimestampMicrosecondType};

    #[test]
    fn infinite_moments_are_null() {
        let mut days = Column::new(&DataType::Date32, 0);
        for value in [0, -DAYS, i32::MAX, i32::MIN, i32::MAX - 1] {
            days.push(Some(&value.to_be_bytes()));
        }
        days.push(None);
        let days = days.finish();
        let days: Vec<_> = days.as_primitive::<Date32Type>().iter().collect();
        assert_eq!(days, [Some(DAYS), Some(0), None, None, None, None]);
        let mut moments = Column::new(&crate::Kind::Timestamp.data_type(), 0);
        for value in [-MICROSECONDS, i64::MAX, i64::MIN, i64::MAX - 1] {
            moments.push(Some(&value.to_be_bytes()));
        }
        let moments = moments.finish();
        let moments: Vec<_> = moments
            .as_primitive::<TimestampMicrosecondType>()
            .iter()
            .collect();
        assert_eq!(moments, [Some(0), None, None, None]);
    }

    #[test]
    fn bytes_that_are_no_text_are_null() {
        let mut text = Column::new(&DataType::Utf8View, 0);
        text.push(Some(b"\xff"));
        text.push(Some("é".as_bytes()));
        let text = text.finish();
        assert_eq!(
            text.as_string_view().iter().collect::<Vec<_>>(),
            [None, Some("é")]
        );
    }
}
