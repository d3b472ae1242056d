//! The values in an answer.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A released or public value. Days and moments are texts such as 2024-02-29: the column's [`CellKind`](super::answer::CellKind) says which texts are.
///
/// In JSON it is the value itself: `null`, a truth value, a number or a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CellValue {
    /// SQL's NULL, and whatever is no number where a number should be.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// Text, a day or a moment.
    Text(String),
}

impl CellValue {
    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }

    /// The truth value, where it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The whole number, where it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, whole or not, where it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The text, where it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for CellValue {
    /// Numbers as JSON writes them, texts as they are, and `null`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Bool(value) => value.fmt(formatter),
            Self::Int(value) => value.fmt(formatter),
            Self::Float(value) => serde_json::Value::from(*value).fmt(formatter),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

impl From<bool> for CellValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for CellValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for CellValue {
    /// NaN and infinities, which are no numbers, become NULL.
    fn from(value: f64) -> Self {
        if value.is_finite() {
            Self::Float(value)
        } else {
            Self::Null
        }
    }
}

impl From<String> for CellValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for CellValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is stored comes back as it was, to the last bit.
    #[test]
    fn values_come_back_from_json() {
        let values = [
            CellValue::Null,
            true.into(),
            i64::MIN.into(),
            7.into(),
            7.0.into(),
            0.1.into(),
            (0.1 + 0.2).into(),
            1e300.into(),
            (-0.0).into(),
            "7".into(),
            "null".into(),
        ];
        for value in values {
            let text = serde_json::to_string(&value).unwrap();
            let back: CellValue = serde_json::from_str(&text).unwrap();
            assert_eq!(format!("{back:?}"), format!("{value:?}"), "{text}");
        }
        assert_eq!(CellValue::from(f64::NAN), CellValue::Null);
        assert_eq!(
            serde_json::to_string(&CellValue::from("a\"b")).unwrap(),
            r#""a\"b""#
        );
    }

    #[test]
    fn values_are_printed_as_json_prints_numbers() {
        let shown = |value: CellValue| value.to_string();
        assert_eq!(shown(1e15.into()), "1000000000000000.0");
        assert_eq!(shown(5.0.into()), "5.0");
        assert_eq!(shown((-3).into()), "-3");
        assert_eq!(shown("a b".into()), "a b");
        assert_eq!(shown(CellValue::Null), "null");
    }
}
