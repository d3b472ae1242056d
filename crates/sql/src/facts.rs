//! What is known of a column before anybody looks at data.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use std::sync::Arc;

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

/// A closed range of numbers. Ends are finite and in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

impl Range {
    /// `None` unless both ends are finite and in order.
    pub fn new(low: f64, high: f64) -> Option<Self> {
        (low.is_finite() && high.is_finite() && low <= high).then_some(Self { low, high })
    }

    /// The smallest range that holds both.
    pub fn hull(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }
}

/// One public value: what a group may be called.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A finite float.
    Float(f64),
    /// Text.
    Text(String),
    /// A day, in days since 1970-01-01.
    Date(i32),
    /// A moment, in microseconds since 1970-01-01.
    Timestamp(i64),
}

/// What is known of a column or of an expression over private rows: public knowledge, from the catalog and the query alone.
///
/// A range is what the query will clamp to, not a promise about data, so a wrong one costs accuracy and never privacy.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// What kind of value it is.
    pub kind: Kind,
    /// Numbers are clamped to this before they count. `None`: unknown, so it cannot be summed.
    pub range: Option<Range>,
    /// All values it can take (without NULL), if they are public. Other values in the data are treated as NULL.
    pub values: Option<Arc<[Value]>>,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether all rows of one unit have the same value, so that it is a property of the unit.
    pub of_unit: bool,
}

impl Facts {
    /// Nothing known but the kind.
    pub fn unknown(kind: Kind) -> Self {
        Self {
            kind,
            range: None,
            values: None,
            nullable: true,
            of_unit: false,
        }
    }
}
