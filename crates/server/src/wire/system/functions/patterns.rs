//! Patterns: regular expressions and `LIKE`. Both can take far longer than their texts are long, so they
//! count what they do.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use rusqlite::Result;
use rusqlite::functions::Context;

use super::{Register, Work, failure, fits, number, some_number, some_text, text};

/// The longest regular expression, in bytes: one class of letters in it is a table of hundreds of ranges.
const LONGEST: usize = 500;
/// The smallest and the largest program of a regular expression, in bytes. What it has is found by trying
/// sizes from small to large.
const SIZES: (usize, usize) = (1 << 10, 256 << 10);
/// What one byte of a regular expression counts for when it is compiled.
const COMPILING: u64 = 64;
/// How large a program may be for one byte of text to count for one step. In the worst case every state of
/// the program, of about 32 bytes, is visited for every byte.
const SIZE_A_STEP: usize = 256;
/// How many comparisons of characters count for one step.
const COMPARISONS: u64 = 16;

/// A regular expression, and what it costs.
struct Pattern {
    regex: Regex,
    /// The size of its program, rounded up to a power of four.
    size: usize,
    any_case: bool,
}

impl Pattern {
    /// The second argument of a function. One that is the same in all rows is compiled once.
    fn of(context: &Context<'_>, work: &Work, pattern: &str, any_case: bool) -> Result<Arc<Self>> {
        let compiled = context.get_or_create_aux(1, |_| Self::new(work, pattern, any_case))?;
        match compiled.any_case == any_case {
            true => Ok(compiled),
            false => Self::new(work, pattern, any_case).map(Arc::new),
        }
    }

    fn new(work: &Work, pattern: &str, any_case: bool) -> Result<Self> {
        if pattern.len() > LONGEST {
            return Err(work.too_much());
        }
        let mut size = SIZES.0;
        loop {
            work.steps(COMPILING * (1 + pattern.len() as u64))?;
            let built = RegexBuilder::new(pattern)
                .case_insensitive(any_case)
                .size_limit(size)
                .dfa_size_limit(SIZES.1)
                .build();
            match built {
                Ok(regex) => {
                    return Ok(Self {
                        regex,
                        size,
                        any_case,
                    });
                }
                Err(regex::Error::CompiledTooBig(_)) if size < SIZES.1 => size *= 4,
                Err(regex::Error::CompiledTooBig(_)) => return Err(work.too_much()),
                Err(_) => return Err(failure("invalid regular expression")),
            }
        }
    }

    /// Counts one search in a text of this length, as in the worst case.
    fn count(&self, work: &Work, bytes: usize) -> Result<()> {
        work.steps((bytes as u64).saturating_mul((self.size / SIZE_A_STEP) as u64))
    }

    fn is_match(&self, work: &Work, whole: &str) -> Result<bool> {
        self.count(work, whole.len())?;
        Ok(self.regex.is_match(whole))
    }

    /// What the first parentheses match, or the whole pattern.
    fn first(&self, work: &Work, whole: &str) -> Result<Option<String>> {
        self.count(work, whole.len())?;
        let found = self.regex.captures(whole);
        let found = found.and_then(|found| found.get(1).or_else(|| found.get(0)));
        Ok(found.map(|found| found.as_str().to_owned()))
    }

    /// The text with the first match, or all of them, replaced. Every match begins a search of its own, which
    /// may read to the end.
    fn replace(&self, work: &Work, whole: &str, replacement: &str, all: bool) -> Result<String> {
        let mut written = String::new();
        let (mut from, mut kept) = (0, 0);
        let mut last_end = None;
        let references = replacement.matches("${").count();
        while from <= whole.len() {
            self.count(work, whole.len() - from)?;
            let Some(found) = self.regex.captures_at(whole, from) else {
                break;
            };
            let Some(matched) = found.get(0) else { break };
            // No empty match right behind another one.
            if !(matched.is_empty() && last_end == Some(matched.end())) {
                written.push_str(&whole[kept..matched.start()]);
                fits(references.saturating_mul(matched.len()) + replacement.len())?;
                found.expand(replacement, &mut written);
                fits(written.len())?;
                kept = matched.end();
                last_end = Some(kept);
                if !all {
                    break;
                }
            }
            from = match matched.is_empty() {
                true => matched.end() + whole[matched.end()..].chars().next().map_or(1, char::len_utf8),
                false => matched.end(),
            };
        }
        written.push_str(&whole[kept..]);
        fits(written.len())?;
        Ok(written)
    }
}

/// A replacement as PostgreSQL writes it, with `\1` for what the first parentheses matched, in the words of
/// [`regex`].
fn replacement(written: &str) -> String {
    let mut replacement = String::new();
    let mut chars = written.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(digit) if digit.is_ascii_digit() => replacement.push_str(&format!("${{{digit}}}")),
                Some('&') => replacement.push_str("${0}"),
                Some('$') => replacement.push_str("$$"),
                other => replacement.extend(other),
            },
            '$' => replacement.push_str("$$"),
            c => replacement.push(c),
        }
    }
    replacement
}

/// Whether a text is like a pattern with `%` and `_`.
fn like(work: &Work, text: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
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
    // Where to go back to when the rest does not fit: behind the last `%`, with one more character taken by
    // it.
    let (mut at, mut part, mut back) = (0, 0, None);
    let mut compared = 0_u64;
    loop {
        compared += 1;
        if compared.is_multiple_of(64 * COMPARISONS) {
            work.steps(64)?;
        }
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
            None if at == text.len() => return Ok(true),
            _ => {}
        }
        match back {
            Some((to, from)) if from < text.len() => {
                back = Some((to, from + 1));
                (at, part) = (from + 1, to);
            }
            _ => return Ok(false),
        }
    }
}

pub(super) fn register(register: &Register<'_>) -> Result<()> {
    let work = register.work.clone();
    register.add("x_match", 3, move |context| {
        let (Some(whole), Some(pattern)) = (text(context, 0), text(context, 1)) else {
            return Ok(None);
        };
        let pattern = Pattern::of(context, &work, &pattern, number(context, 2) == Some(1))?;
        Ok(some_number(i64::from(pattern.is_match(&work, &whole)?)))
    })?;
    let work = register.work.clone();
    register.add("x_like", 4, move |context| {
        let (Some(whole), Some(pattern)) = (text(context, 0), text(context, 1)) else {
            return Ok(None);
        };
        let escape = text(context, 2).unwrap_or_default().chars().next();
        let holds = if number(context, 3) == Some(1) {
            like(&work, &whole.to_lowercase(), &pattern.to_lowercase(), escape)
        } else {
            like(&work, &whole, &pattern, escape)
        };
        Ok(some_number(i64::from(holds?)))
    })?;
    let work = register.work.clone();
    register.add("x_regexp_replace", 4, move |context| {
        let (Some(whole), Some(pattern), Some(to)) = (text(context, 0), text(context, 1), text(context, 2))
        else {
            return Ok(None);
        };
        let flags = text(context, 3).unwrap_or_default();
        let pattern = Pattern::of(context, &work, &pattern, flags.contains('i'))?;
        let replaced = pattern.replace(&work, &whole, &replacement(&to), flags.contains('g'))?;
        Ok(some_text(replaced))
    })?;
    let work = register.work.clone();
    register.add("x_regexp_substr", 2, move |context| {
        let (Some(whole), Some(pattern)) = (text(context, 0), text(context, 1)) else {
            return Ok(None);
        };
        let found = Pattern::of(context, &work, &pattern, false)?.first(&work, &whole)?;
        Ok(found.and_then(some_text))
    })
}
