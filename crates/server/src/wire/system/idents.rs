//! Names as they are written in SQL.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

/// A name as PostgreSQL reads it: in small letters, unless it is quoted.
pub(super) fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() {
        ident.value.clone()
    } else {
        ident.value.to_lowercase()
    }
}

/// The parts of a name, as PostgreSQL reads them.
pub(super) fn parts(name: &ObjectName) -> Option<Vec<String>> {
    name.0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => Some(folded(ident)),
            ObjectNamePart::Function(_) => None,
        })
        .collect()
}

/// The parts of a name in a text, such as `public."Odd Name"`.
pub(super) fn parse_ident(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            let mut chars = quoted.char_indices().peekable();
            let end = loop {
                match chars.next()? {
                    (_, '"') if chars.next_if(|(_, next)| *next == '"').is_some() => part.push('"'),
                    (at, '"') => break at + 1,
                    (_, other) => part.push(other),
                }
            };
            parts.push(part);
            rest = &quoted[end..];
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            let part = rest[..end].trim();
            if part.is_empty() || !part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$') {
                return None;
            }
            parts.push(part.to_lowercase());
            rest = &rest[end..];
        }
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(parts);
        }
        rest = rest.strip_prefix('.')?.trim_start();
    }
}

/// A name as it must be written in SQL.
pub(super) fn quote_ident(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !super::functions::is_reserved(name);
    if plain {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}
