//! Numbers that come from Python: a buffer of one format, or an Arrow array.

use crate::errors::of_parameter;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;

/// Private numbers. Not printed.
pub(crate) enum Numbers {
    /// They are on the integers by themselves.
    Whole(Vec<i64>),
    /// They are put on a grid.
    Real(Vec<f64>),
}

impl<'py> FromPyObject<'_, 'py> for Numbers {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok((format, bytes)) = given.extract::<(String, Vec<u8>)>() {
            return Self::of_buffer(&format, &bytes);
        }
        let chunks = given.extract::<AnyArray>()?.into_reader()?;
        let mut all = Vec::new();
        for chunk in chunks {
            // What it says may quote data.
            all.push(chunk.map_err(|_| {
                of_parameter("the Arrow array cannot be read\nhint: give one column of numbers")
            })?);
        }
        Self::of_arrow(&all)
    }
}

impl Numbers {
    fn of_buffer(format: &str, bytes: &[u8]) -> PyResult<Self> {
        macro_rules! read {
            ($type:ty) => {
                bytes
                    .chunks_exact(size_of::<$type>())
                    .map(|bytes| <$type>::from_ne_bytes(bytes.try_into().expect("as many bytes as that")))
            };
        }
        Ok(match format {
            "f8" => Self::Real(read!(f64).collect()),
            "f4" => Self::Real(read!(f32).map(f64::from).collect()),
            "i8" => Self::Whole(read!(i64).collect()),
            "i4" => Self::Whole(read!(i32).map(i64::from).collect()),
            "i2" => Self::Whole(read!(i16).map(i64::from).collect()),
            "i1" => Self::Whole(read!(i8).map(i64::from).collect()),
            "u8" => Self::Whole(read!(u64).map(cut).collect()),
            "u4" => Self::Whole(read!(u32).map(i64::from).collect()),
            "u2" => Self::Whole(read!(u16).map(i64::from).collect()),
            "u1" => Self::Whole(read!(u8).map(i64::from).collect()),
            "b1" => Self::Whole(bytes.iter().map(|byte| i64::from(*byte != 0)).collect()),
            _ => return Err(no_numbers()),
        })
    }

    fn of_arrow(chunks: &[ArrayRef]) -> PyResult<Self> {
        let kind = chunks
            .first()
            .map_or(DataType::Float64, |chunk| chunk.data_type().clone());
        Ok(match kind {
            DataType::Float64 => Self::Real(primitive::<Float64Type, f64>(chunks, |value| value)),
            DataType::Float32 => Self::Real(primitive::<Float32Type, f64>(chunks, f64::from)),
            DataType::Int64 => Self::Whole(primitive::<Int64Type, i64>(chunks, |value| value)),
            DataType::Int32 => Self::Whole(primitive::<Int32Type, i64>(chunks, i64::from)),
            DataType::Int16 => Self::Whole(primitive::<Int16Type, i64>(chunks, i64::from)),
            DataType::Int8 => Self::Whole(primitive::<Int8Type, i64>(chunks, i64::from)),
            DataType::UInt64 => Self::Whole(primitive::<UInt64Type, i64>(chunks, cut)),
            DataType::UInt32 => Self::Whole(primitive::<UInt32Type, i64>(chunks, i64::from)),
            DataType::UInt16 => Self::Whole(primitive::<UInt16Type, i64>(chunks, i64::from)),
            DataType::UInt8 => Self::Whole(primitive::<UInt8Type, i64>(chunks, i64::from)),
            DataType::Boolean => Self::Whole(
                chunks
                    .iter()
                    .flat_map(|chunk| chunk.as_boolean().iter())
                    .map(|value| i64::from(value == Some(true)))
                    .collect(),
            ),
            // A column without a value has no type to speak of.
            DataType::Null => Self::Whole(vec![0; chunks.iter().map(|chunk| chunk.len()).sum()]),
            _ => return Err(no_numbers()),
        })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Whole(values) => values.len(),
            Self::Real(values) => values.len(),
        }
    }

    /// As floats: what is beyond 2^53 is cut to that. Rounded to the nearest, two numbers would move apart by
    /// more than they are.
    pub(crate) fn reals(self) -> Vec<f64> {
        const LARGEST: i64 = 1 << 53;
        match self {
            Self::Whole(values) => values
                .into_iter()
                .map(|value| value.clamp(-LARGEST, LARGEST) as f64)
                .collect(),
            Self::Real(values) => values,
        }
    }

    /// As numbers of answers in a list: what is no such number is beyond every list.
    pub(crate) fn codes(self) -> Vec<u32> {
        match self {
            Self::Whole(values) => values
                .into_iter()
                .map(|value| u32::try_from(value).unwrap_or(u32::MAX))
                .collect(),
            // `as` cuts, so that only whole numbers in range come back as they were.
            Self::Real(values) => {
                let code = |value: f64| {
                    if f64::from(value as u32) == value {
                        value as u32
                    } else {
                        u32::MAX
                    }
                };
                values.into_iter().map(code).collect()
            }
        }
    }

    /// As yes or no: what is not zero is yes.
    pub(crate) fn booleans(self) -> Vec<bool> {
        match self {
            Self::Whole(values) => values.into_iter().map(|value| value != 0).collect(),
            Self::Real(values) => values
                .into_iter()
                .map(|value| value != 0.0 && !value.is_nan())
                .collect(),
        }
    }
}

/// What is missing counts as zero.
fn primitive<A: ArrowPrimitiveType, T: Default>(chunks: &[ArrayRef], convert: fn(A::Native) -> T) -> Vec<T> {
    let mut values = Vec::with_capacity(chunks.iter().map(|chunk| chunk.len()).sum());
    for chunk in chunks {
        let chunk = chunk.as_primitive::<A>();
        if chunk.null_count() == 0 {
            values.extend(chunk.values().iter().map(|value| convert(*value)));
        } else {
            values.extend(chunk.iter().map(|value| value.map_or_else(T::default, convert)));
        }
    }
    values
}

/// The nearest that is an `i64`, which moves no two numbers apart.
fn cut(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn no_numbers() -> PyErr {
    of_parameter(
        "these are not numbers of a kind that is read here\nhint: give floats of 32 or 64 bits, whole numbers or booleans, as a list, a NumPy array or an Arrow array",
    )
}
