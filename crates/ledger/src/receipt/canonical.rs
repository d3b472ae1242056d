//! One spelling of a JSON value, so that its digest is the same whoever wrote it down in between.

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Up to here every whole number is a float, and is written without a fraction whichever it was.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// SHA-256 in hexadecimal digits.
pub fn sha256_of(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// A JSON value in its one spelling: no white space, the keys of an object in the order of their bytes, texts with the fewest escapes, and numbers by their value: `3`, `3.0` and `3e0` are `3`.
/// Other floats have the fewest digits that are read back as the same number, one of them before the point, and `e` with the power of ten: `0.05` is `5e-2`.
///
/// ```
/// use serde_json::json;
///
/// let value = json!({"b": [3.0, -0.0, 0.5, 1e300], "a": "ε \"1\""});
/// assert_eq!(ledger::canonical_json(&value), r#"{"a":"ε \"1\"","b":[3,0,5e-1,1e300]}"#);
/// ```
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
        Value::Number(number) => text.push_str(&number_text(number)),
        Value::Array(values) => {
            text.push('[');
            for (place, value) in values.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write_value(value, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_bytes());
            text.push('{');
            for (place, (name, value)) in fields.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_value(value, text);
            }
            text.push('}');
        }
    }
}

fn number_text(number: &Number) -> String {
    match number.as_f64() {
        // What is read as a float may have been written as a whole number by another program.
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= WHOLE => {
            format!("{}", float as i64)
        }
        // By the standard library, which promises the fewest digits, and not by whoever writes JSON.
        Some(float) if number.is_f64() => format!("{float:e}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_spelling_does_not_matter() {
        let one: Value =
            serde_json::from_str(r#" {"a": 1.0, "b": [1e2, 0.1, -0.0], "c": "\u00e9"} "#).unwrap();
        let other: Value = serde_json::from_str(r#"{"c":"é","b":[100,0.1,0],"a":1}"#).unwrap();
        assert_eq!(canonical_json(&one), canonical_json(&other));
        assert_eq!(canonical_json(&one), r#"{"a":1,"b":[100,1e-1,0],"c":"é"}"#);
    }

    #[test]
    fn the_value_does() {
        let texts: Vec<String> = [
            json!(1),
            json!("1"),
            json!(null),
            json!([1]),
            json!(1.5),
            json!({"1": 1}),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1e300),
        ]
        .iter()
        .map(canonical_json)
        .collect();
        for (place, text) in texts.iter().enumerate() {
            assert!(!texts[..place].contains(text), "{text}");
        }
    }
}
