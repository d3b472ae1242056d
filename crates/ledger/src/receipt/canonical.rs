//! One spelling of a JSON value, so that its digest is the same whichever program wrote it down in between.

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// Up to here every whole number is a float, and is written without a fraction whichever it was.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// SHA-256 in hexadecimal digits.
pub fn sha256_of(text: &str) -> String {
    let mut hash = Sha256Text::default();
    hash.0.update(text.as_bytes());
    hash.digits()
}

/// The SHA-256 of a text that is written part by part, and never there as a whole.
#[derive(Clone, Debug, Default)]
pub struct Sha256Text(Sha256);

impl Sha256Text {
    /// In hexadecimal digits, as [`sha256_of`] the whole text.
    pub fn digits(self) -> String {
        self.0.finalize().iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        })
    }
}

impl Write for Sha256Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// A JSON value in its one spelling: no white space, the keys of an object in the order of their bytes, texts
/// with the fewest escapes, and numbers by their value: `3`, `3.0` and `3e0` are `3`. Other floats have the
/// fewest digits that are read back as the same number, one of them before the point, and `e` with the power
/// of ten: `0.05` is `5e-2`.
///
/// ```
/// use serde_json::json;
///
/// let value = json!({"b": [3.0, -0.0, 0.5, 1e300], "a": "ε \"1\""});
/// assert_eq!(ledger::canonical_json(&value), r#"{"a":"ε \"1\"","b":[3,0,5e-1,1e300]}"#);
/// ```
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text).expect("a text takes whatever is written");
    text
}

/// Writes a JSON value in its one spelling, which is that of [`canonical_json`].
///
/// # Errors
/// When the writer takes no more.
pub fn write_canonical(value: &Value, text: &mut impl Write) -> fmt::Result {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => write!(text, "{value}"),
        Value::Number(number) => text.write_str(&number_text(number)),
        Value::Array(values) => {
            text.write_char('[')?;
            for (place, value) in values.iter().enumerate() {
                if place > 0 {
                    text.write_char(',')?;
                }
                write_canonical(value, text)?;
            }
            text.write_char(']')
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_bytes());
            text.write_char('{')?;
            for (place, (name, value)) in fields.into_iter().enumerate() {
                if place > 0 {
                    text.write_char(',')?;
                }
                write!(text, "{}:", Value::from(name.as_str()))?;
                write_canonical(value, text)?;
            }
            text.write_char('}')
        }
    }
}

fn number_text(number: &Number) -> String {
    match number.as_f64() {
        // What is read as a float may have been written as a whole number by another program.
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= WHOLE => {
            format!("{}", float as i64)
        }
        // By the standard library, which promises the fewest digits, and not by a JSON writer.
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
    fn a_text_in_parts_has_the_digest_of_the_whole() {
        let value = json!({"b": ["ε \"1\"\n", 0.5, null], "a": true});
        let mut parts = Sha256Text::default();
        write_canonical(&value, &mut parts).unwrap();
        assert_eq!(parts.digits(), sha256_of(&canonical_json(&value)));
        // The digest that everybody knows.
        assert!(Sha256Text::default().digits().starts_with("e3b0c44298fc1c14"));
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
