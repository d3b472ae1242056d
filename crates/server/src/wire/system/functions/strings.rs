//! Texts: quoting and pieces.

use std::collections::BTreeSet;

use rusqlite::Result;
use rusqlite::functions::Context;

use super::{Register, failure, fits, number, some_number, some_text, text};

/// `format`: `%s`, `%I`, `%L` and `%%`.
fn format(context: &Context<'_>) -> Result<Option<String>> {
    let Some(pattern) = text(context, 0) else {
        return Ok(None);
    };
    let mut written = String::new();
    let mut next = 1;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            written.push(c);
            continue;
        }
        let kind = chars.next();
        if kind == Some('%') {
            written.push('%');
            continue;
        }
        if next >= context.len() {
            return Err(failure("too few arguments for format()"));
        }
        let argument = text(context, next);
        next += 1;
        match (kind, argument) {
            (Some('s'), argument) => written.push_str(&argument.unwrap_or_default()),
            (Some('I'), Some(argument)) => written.push_str(&super::quote_ident(&argument)),
            (Some('L'), Some(argument)) => written.push_str(&quote_literal(&argument)),
            (Some('L'), None) => written.push_str("NULL"),
            _ => return Err(failure("this form of format() is not known here")),
        }
    }
    Ok(Some(written))
}

fn quote_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') {
        format!("E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    }
}

/// The first characters of a text, or all but the last ones.
fn left(text: &str, count: i64) -> String {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let kept = if count < 0 {
        length.saturating_add(count)
    } else {
        count
    };
    text.chars().take(usize::try_from(kept).unwrap_or(0)).collect()
}

fn right(text: &str, count: i64) -> String {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let skipped = if count < 0 {
        count.saturating_neg()
    } else {
        length.saturating_sub(count)
    };
    text.chars().skip(usize::try_from(skipped).unwrap_or(0)).collect()
}

fn split_part(text: &str, separator: &str, at: i64) -> String {
    let pieces: Vec<&str> = if separator.is_empty() {
        vec![text]
    } else {
        text.split(separator).collect()
    };
    let length = i64::try_from(pieces.len()).unwrap_or(i64::MAX);
    let place = if at < 0 { length.saturating_add(at) } else { at - 1 };
    usize::try_from(place)
        .ok()
        .and_then(|place| pieces.get(place))
        .copied()
        .unwrap_or_default()
        .to_owned()
}

pub(super) fn register(register: &Register<'_>) -> Result<()> {
    register.add("x_text", 1, |context| Ok(text(context, 0).and_then(some_text)))?;
    register.add("x_cat", 2, |context| {
        let (Some(left), Some(right)) = (text(context, 0), text(context, 1)) else {
            return Ok(None);
        };
        Ok(some_text(left + &right))
    })?;
    register.add("x_concat", -1, |context| {
        Ok(some_text(
            (0..context.len())
                .filter_map(|at| text(context, at))
                .collect::<String>(),
        ))
    })?;
    register.add("x_concat_ws", -1, |context| {
        let Some(separator) = text(context, 0) else {
            return Ok(None);
        };
        let texts: Vec<String> = (1..context.len()).filter_map(|at| text(context, at)).collect();
        fits(separator.len().saturating_mul(texts.len()))?;
        Ok(some_text(texts.join(&separator)))
    })?;
    register.add("x_format", -1, |context| Ok(format(context)?.and_then(some_text)))?;
    register.add("x_replace", 3, |context| {
        let (Some(whole), Some(from), Some(to)) = (text(context, 0), text(context, 1), text(context, 2))
        else {
            return Ok(None);
        };
        let places = if from.is_empty() {
            0
        } else {
            whole.matches(&from).count()
        };
        fits(places.saturating_mul(to.len()))?;
        Ok(some_text(if from.is_empty() {
            whole
        } else {
            whole.replace(&from, &to)
        }))
    })?;
    register.add("x_repeat", 2, |context| {
        let (Some(whole), Some(count)) = (text(context, 0), number(context, 1)) else {
            return Ok(None);
        };
        let count = usize::try_from(count).unwrap_or(0);
        fits(whole.len().saturating_mul(count))?;
        Ok(some_text(whole.repeat(count)))
    })?;
    register.add("x_quote_literal", 1, |context| {
        Ok(text(context, 0).and_then(|whole| some_text(quote_literal(&whole))))
    })?;
    register.add("x_left", 2, |context| {
        let (Some(whole), Some(count)) = (text(context, 0), number(context, 1)) else {
            return Ok(None);
        };
        Ok(some_text(left(&whole, count)))
    })?;
    register.add("x_right", 2, |context| {
        let (Some(whole), Some(count)) = (text(context, 0), number(context, 1)) else {
            return Ok(None);
        };
        Ok(some_text(right(&whole, count)))
    })?;
    // Both ends (0), the beginning (1) or the end (2) without these characters.
    register.add("x_trim", 3, |context| {
        let (Some(whole), Some(characters)) = (text(context, 0), text(context, 1)) else {
            return Ok(None);
        };
        let characters: BTreeSet<char> = characters.chars().collect();
        let trimmed = |c: char| characters.contains(&c);
        let kept = match number(context, 2) {
            Some(1) => whole.trim_start_matches(trimmed),
            Some(2) => whole.trim_end_matches(trimmed),
            _ => whole.trim_matches(trimmed),
        };
        Ok(some_text(kept))
    })?;
    // The place of the first character of the second text in the first, or 0.
    register.add("x_strpos", 2, |context| {
        let (Some(whole), Some(part)) = (text(context, 0), text(context, 1)) else {
            return Ok(None);
        };
        let place = whole.find(&part).map_or(0, |at| whole[..at].chars().count() + 1);
        Ok(some_number(i64::try_from(place).unwrap_or(i64::MAX)))
    })?;
    register.add("x_split_part", 3, |context| {
        let (Some(whole), Some(separator), Some(at)) =
            (text(context, 0), text(context, 1), number(context, 2))
        else {
            return Ok(None);
        };
        Ok(some_text(split_part(&whole, &separator, at)))
    })?;
    register.add("x_int", 1, |context| {
        let Some(whole) = text(context, 0) else {
            return Ok(None);
        };
        match whole.trim().parse::<i64>() {
            Ok(value) => Ok(some_number(value)),
            Err(_) => Err(failure(format!(
                "invalid input syntax for type integer: {whole:?}"
            ))),
        }
    })?;
    register.add("x_bool", 1, |context| {
        let Some(whole) = text(context, 0) else {
            return Ok(None);
        };
        match boolean(&whole) {
            Some(value) => Ok(some_number(i64::from(value))),
            None => Err(failure(format!(
                "invalid input syntax for type boolean: {whole:?}"
            ))),
        }
    })
}

/// What PostgreSQL reads as a truth value.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "t" | "tr" | "tru" | "true" | "y" | "ye" | "yes" | "on" | "1" => Some(true),
        "f" | "fa" | "fal" | "fals" | "false" | "n" | "no" | "of" | "off" | "0" => Some(false),
        _ => None,
    }
}
