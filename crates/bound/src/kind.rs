//! The kinds of values that columns are read as.

use datafusion::arrow::datatypes::{DataType, TimeUnit};

/// The kinds of values that private expressions are made of. Every column becomes one of them when its table is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// True or false.
    Bool,
    /// 64-bit integers; arithmetic wraps around.
    Int,
    /// 64-bit floats.
    Float,
    /// Text.
    Text,
    /// A day.
    Date,
    /// A moment, in microseconds, without a time zone.
    Timestamp,
}

impl Kind {
    /// How the engine holds it.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text => DataType::Utf8View,
            Self::Date => DataType::Date32,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        }
    }

    /// The kind that a column of this type is read as; `None` where there is none.
    pub fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Bool,
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Self::Int,
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => Self::Int,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => Self::Float,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Dictionary(_, values) => return Self::of(values),
            DataType::Date32 | DataType::Date64 => Self::Date,
            DataType::Timestamp(..) => Self::Timestamp,
            _ => return None,
        })
    }

    /// Whether sums of it make sense.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Float)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Text => "text",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
        })
    }
}
