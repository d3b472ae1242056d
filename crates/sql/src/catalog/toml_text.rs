//! Names and values as TOML writes them.

use crate::Value;
use std::fmt::Write;

/// Text in double quotes.
pub(crate) fn text(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", letter as u32);
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// A key, in quotes where it must be.
pub(crate) fn key(name: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.bytes().all(bare) {
        name.to_owned()
    } else {
        text(name)
    }
}

/// A public value.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Text(value) => text(value),
        // A float is written with a point or an exponent, so that it stays one.
        Value::Float(value) => format!("{value:?}"),
        // No list of days or moments is ever suggested.
        Value::Null | Value::Date(_) | Value::Timestamp(_) => text(""),
    }
}
