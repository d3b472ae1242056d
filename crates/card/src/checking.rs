//! Every number of a card, computed again.

use crate::Card;
use serde_json::Value;

/// Something that a card says and that is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it stands, as `spent.enforced.epsilon`.
    pub path: String,
    /// What the card says, if that is a number; a text is not repeated, since the file may be the wrong one.
    pub stated: Option<String>,
    /// What follows from ledger and catalog; none if a card has nothing of that name.
    pub recomputed: Option<String>,
}

/// Compares a card as it was published with one that was computed now, as of the same entry. Empty if they
/// agree. Which version made it is not compared: another one may have computed the same.
pub fn differences(stated: &Value, recomputed: &Card) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", Some(stated), Some(&recomputed.to_json()), &mut found);
    found
}

fn compare(path: &str, stated: Option<&Value>, recomputed: Option<&Value>, found: &mut Vec<Difference>) {
    if stated == recomputed || path == "made_by" {
        return;
    }
    let below = |key: &str| match path.is_empty() {
        true => key.to_owned(),
        false => format!("{path}.{key}"),
    };
    match (stated, recomputed) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            for (key, value) in other {
                compare(&below(key), one.get(key), Some(value), found);
            }
            // What the file calls things that no card has is not repeated.
            let unknown = one.keys().filter(|key| !other.contains_key(*key)).count();
            if unknown > 0 {
                found.push(Difference {
                    path: below(&format!("({unknown} more)")),
                    stated: None,
                    recomputed: None,
                });
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for place in 0..one.len().max(other.len()) {
                compare(
                    &format!("{path}[{place}]"),
                    one.get(place),
                    other.get(place),
                    found,
                );
            }
        }
        _ => found.push(Difference {
            path: path.to_owned(),
            stated: stated.and_then(number),
            recomputed: recomputed.map(said),
        }),
    }
}

fn number(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) if text.len() <= 40 && exact::parse_decimal(text).is_ok() => Some(text.clone()),
        _ => None,
    }
}

fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
