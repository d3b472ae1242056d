//! Texts: patterns, quoting and pieces.

use regex::{Regex, RegexBuilder};
use rusqlite::Result;
use rusqlite::functions::Context;

use super::{Register, failure, number, some_number, some_text, text};

/// The largest program of a regular expression, in bytes.
const LARGEST_PATTERN: usize = 1_000_000;

fn regex(pattern: &str, any_case: bool) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .case_insensitive(any_case)
        .size_limit(LARGEST_PATTERN)
        .dfa_size_limit(LARGEST_PATTERN)
        .build()
        .map_err(|_| "invalid regular expression".to_owned())
}

/// Whether a text is like a pattern with `%` and `_`.
pub(super) fn like(text: &str, pattern: &str, escape: Option<char>) -> bool {
    #[derive(PartialEq)]
    enum Part {
        Any,
        One,
        Is(char),
    }
    let mut parts = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        parts.push(match c {
            c if Some(c) == escape => Part::Is(chars.next().unwrap_or(c)),
            '%' => Part::Any,
            '_' => Part::One,
            c => Part::Is(c),
        });
    }
    let text: Vec<char> = text.chars().collect();
    // Where to go back to when the rest does not fit: behind the last `%`, with one more character taken by it.
    let (mut at, mut part, mut back) = (0, 0, None);
    loop {
        match parts.get(part) {
            Some(Part::Any) => {
                back = Some((part + 1, at));
                part += 1;
                continue;
            }
            Some(Part::One) if at < text.len() => {
                (at, part) = (at + 1, part + 1);
                continue;
            }
            Some(Part::Is(c)) if text.get(at) == Some(c) => {
                (at, part) = (at + 1, part + 1);
                continue;
            }
            None if at == text.len() => return true,
            _ => {}
        }
        match back {
            Some((to, from)) if from < text.len() => {
                back = Some((to, from + 1));
                (at, part) = (from + 1, to);
            }
            _ => return false,
        }
    }
}

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
    register.add("x_match", 3, |context| {
        let (Some(whole), Some(_)) = (text(context, 0), text(context, 1)) else {
            return Ok(None);
        };
        let any_case = number(context, 2) == Some(1);
        let found = context.get_or_create_aux(1, |pattern| -> Result<Regex, String> {
            regex(pattern.as_str().unwrap_or_default(), any_case)
        })?;
        Ok(some_number(i64::from(found.is_match(&whole))))
    })?;
    register.add("x_like", 4, |context| {
        let (Some(whole), Some(pattern)) = (text(context, 0), text(context, 1)) else {
            return Ok(None);
        };
        let escape = text(context, 2).unwrap_or_default().chars().next();
        let holds = if number(context, 3) == Some(1) {
            like(&whole.to_lowercase(), &pattern.to_lowercase(), escape)
        } else {
            like(&whole, &pattern, escape)
        };
        Ok(some_number(i64::from(holds)))
    })?;
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
        if places.saturating_mul(to.len()) > LARGEST_PATTERN {
            return Err(failure("the statement makes too much text"));
        }
        Ok(some_text(if from.is_empty() {
            whole
        } else {
            whole.replace(&from, &to)
        }))
    })?;
    register.add("x_regexp_replace", 4, |context| {
        let (Some(whole), Some(pattern), Some(to)) = (text(context, 0), text(context, 1), text(context, 2))
        else {
            return Ok(None);
        };
        let flags = text(context, 3).unwrap_or_default();
        let pattern = regex(&pattern, flags.contains('i')).map_err(failure)?;
        // PostgreSQL writes \1 for what the first parentheses matched.
        let mut replacement = String::new();
        let mut chars = to.chars();
        while let Some(c) = chars.next() {
            match (c, c == '\\') {
                (_, true) => match chars.next() {
                    Some(digit) if digit.is_ascii_digit() => replacement.push_str(&format!("${{{digit}}}")),
                    Some('&') => replacement.push_str("${0}"),
                    other => replacement.extend(other),
                },
                ('$', _) => replacement.push_str("$$"),
                _ => replacement.push(c),
            }
        }
        let places = if flags.contains('g') { 0 } else { 1 };
        if places == 0 && whole.len().saturating_mul(replacement.len()) > 10 * LARGEST_PATTERN {
            return Err(failure("the statement makes too much text"));
        }
        Ok(some_text(
            pattern
                .replacen(&whole, places, replacement.as_str())
                .into_owned(),
        ))
    })?;
    // What the first parentheses of a pattern match, or the whole pattern.
    register.add("x_regexp_substr", 2, |context| {
        let (Some(whole), Some(pattern)) = (text(context, 0), text(context, 1)) else {
            return Ok(None);
        };
        let pattern = regex(&pattern, false).map_err(failure)?;
        let found = pattern
            .captures(&whole)
            .and_then(|found| found.get(1).or_else(|| found.get(0)));
        Ok(found.and_then(|found| some_text(found.as_str())))
    })?;
    register.add("x_repeat", 2, |context| {
        let (Some(whole), Some(count)) = (text(context, 0), number(context, 1)) else {
            return Ok(None);
        };
        let count = usize::try_from(count).unwrap_or(0);
        if whole.len().saturating_mul(count) > LARGEST_PATTERN {
            return Err(failure("the statement makes too much text"));
        }
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
