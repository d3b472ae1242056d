//! Arrays. They are texts as PostgreSQL writes them: `{a,"b c",NULL}`.

use std::collections::BTreeSet;

use rusqlite::Result;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;

use super::{Register, Work, failure, fits, number, some_number, some_text, text};

/// The most elements that `generate_series` gives.
const LONGEST_SERIES: i64 = 10_000;

/// Reads an array, or the numbers of an `int2vector` such as `1 2`.
pub(in super::super) fn read(array: &str) -> Result<Vec<Option<String>>> {
    let array = array.trim();
    let Some(inside) = array.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        if array.chars().all(|c| c.is_ascii_digit() || c == ' ' || c == '-') {
            return Ok(array
                .split_whitespace()
                .map(|word| Some(word.to_owned()))
                .collect());
        }
        return Err(failure("malformed array literal"));
    };
    let mut elements = Vec::new();
    if inside.trim().is_empty() {
        return Ok(elements);
    }
    let (mut element, mut quoted, mut in_quotes, mut depth) = (String::new(), false, false, 0_usize);
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => element.extend(chars.next()),
            '"' => (in_quotes, quoted) = (!in_quotes, true),
            ',' if !in_quotes && depth == 0 => {
                elements.push(finish(&element, quoted));
                (element, quoted) = (String::new(), false);
            }
            _ => {
                match c {
                    '{' if !in_quotes => depth += 1,
                    '}' if !in_quotes => depth = depth.saturating_sub(1),
                    _ => {}
                }
                element.push(c);
            }
        }
    }
    elements.push(finish(&element, quoted));
    Ok(elements)
}

fn finish(element: &str, quoted: bool) -> Option<String> {
    if quoted {
        return Some(element.to_owned());
    }
    let element = element.trim();
    (!element.eq_ignore_ascii_case("null")).then(|| element.to_owned())
}

/// Writes an array.
pub(in super::super) fn write(elements: impl Iterator<Item = Option<String>>) -> String {
    let written: Vec<String> = elements
        .map(|element| match element {
            None => "NULL".to_owned(),
            Some(element) => {
                let plain = !element.is_empty()
                    && !element.eq_ignore_ascii_case("null")
                    && !element.contains(|c: char| "{}\",\\".contains(c) || c.is_whitespace());
                if plain {
                    element
                } else {
                    format!("\"{}\"", element.replace('\\', "\\\\").replace('"', "\\\""))
                }
            }
        })
        .collect();
    format!("{{{}}}", written.join(","))
}

/// An argument as an array; nothing for null.
fn array(context: &Context<'_>, at: usize) -> Result<Option<Vec<Option<String>>>> {
    text(context, at).map(|array| read(&array)).transpose()
}

/// A text as JSON.
fn json(text: &str) -> String {
    let mut written = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            c if u32::from(c) < 0x20 => written.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => written.push(c),
        }
    }
    written.push('"');
    written
}

/// An element as JSON: a number where it reads as one and texts are not asked for.
fn json_element(element: Option<&str>, texts: bool) -> String {
    match element {
        None => "null".to_owned(),
        Some(element) => match element.parse::<i64>() {
            Ok(number) if !texts => number.to_string(),
            _ => json(element),
        },
    }
}

pub(super) fn register(register: &Register<'_>) -> Result<()> {
    register.add("x_array", -1, |context| {
        Ok(some_text(write((0..context.len()).map(|at| text(context, at)))))
    })?;
    register.add("x_json", 2, |context| {
        let texts = number(context, 1) == Some(1);
        let elements = array(context, 0)?.unwrap_or_default();
        let written: Vec<String> = elements
            .iter()
            .map(|one| json_element(one.as_deref(), texts))
            .collect();
        Ok(some_text(format!("[{}]", written.join(","))))
    })?;
    // The rows of information_schema._pg_expandarray: the element x and its place n.
    register.add("x_expand", 1, |context| {
        let elements = array(context, 0)?.unwrap_or_default();
        let written: Vec<String> = (1..)
            .zip(&elements)
            .map(|(n, one)| format!("{{\"x\":{},\"n\":{n}}}", json_element(one.as_deref(), false)))
            .collect();
        Ok(some_text(format!("[{}]", written.join(","))))
    })?;
    // Several arrays side by side, as an array of arrays; the shorter ones are filled with nulls.
    register.add("x_zip", -1, |context| {
        let mut arrays = Vec::new();
        for at in 0..context.len() {
            arrays.push(array(context, at)?.unwrap_or_default());
        }
        let longest = arrays.iter().map(Vec::len).max().unwrap_or(0);
        fits(longest.saturating_mul(arrays.len()))?;
        let rows: Vec<String> = (0..longest)
            .map(|at| {
                let row: Vec<String> = arrays
                    .iter()
                    .map(|array| json_element(array.get(at).and_then(|one| one.as_deref()), false))
                    .collect();
                format!("[{}]", row.join(","))
            })
            .collect();
        Ok(some_text(format!("[{}]", rows.join(","))))
    })?;
    register.add("x_series", 3, |context| {
        let (Some(from), Some(to), Some(step)) = (number(context, 0), number(context, 1), number(context, 2))
        else {
            return Ok(some_text("[]"));
        };
        if step == 0 {
            return Err(failure("step size cannot equal zero"));
        }
        let count = to
            .checked_sub(from)
            .map_or(-1, |distance| distance.checked_div(step).unwrap_or(-1));
        if count >= LONGEST_SERIES {
            return Err(failure(format!(
                "generate_series gives at most {LONGEST_SERIES} rows here"
            )));
        }
        let forward = to
            .checked_sub(from)
            .is_some_and(|distance| distance == 0 || (distance > 0) == (step > 0));
        let count = if forward { count } else { -1 };
        let written: Vec<String> = (0..=count).map(|at| (from + at * step).to_string()).collect();
        Ok(some_text(format!("[{}]", written.join(","))))
    })?;
    register.add("x_item", 2, |context| {
        let (Some(elements), Some(at)) = (array(context, 0)?, number(context, 1)) else {
            return Ok(None);
        };
        let element = usize::try_from(at)
            .ok()
            .and_then(|at| elements.into_iter().nth(at));
        Ok(element.flatten().and_then(some_text))
    })?;
    register.add("x_slice", 3, |context| {
        let Some(elements) = array(context, 0)? else {
            return Ok(None);
        };
        let from = number(context, 1).unwrap_or(1).max(1).unsigned_abs();
        let to = number(context, 2).map_or(u64::MAX, |to| to.max(0).unsigned_abs());
        let kept = (1_u64..)
            .zip(elements)
            .filter(|(at, _)| (from..=to).contains(at))
            .map(|(_, element)| element);
        Ok(some_text(write(kept)))
    })?;
    register.add("x_length", 1, |context| {
        Ok(array(context, 0)?.and_then(|elements| some_number(i64::try_from(elements.len()).unwrap_or(0))))
    })?;
    register.add("x_array_to_string", 3, |context| {
        let (Some(elements), Some(separator)) = (array(context, 0)?, text(context, 1)) else {
            return Ok(None);
        };
        let null = text(context, 2);
        let inserted = separator.len() + null.as_ref().map_or(0, String::len);
        fits(inserted.saturating_mul(elements.len()))?;
        let texts: Vec<String> = elements
            .into_iter()
            .filter_map(|one| one.or_else(|| null.clone()))
            .collect();
        Ok(some_text(texts.join(&separator)))
    })?;
    register.add("x_string_to_array", 2, |context| {
        let Some(whole) = text(context, 0) else {
            return Ok(None);
        };
        let pieces: Vec<Option<String>> = match text(context, 1) {
            _ if whole.is_empty() => Vec::new(),
            Some(separator) if separator.is_empty() => vec![Some(whole)],
            Some(separator) => whole
                .split(&separator)
                .map(|piece| Some(piece.to_owned()))
                .collect(),
            None => whole.chars().map(|c| Some(c.to_string())).collect(),
        };
        Ok(some_text(write(pieces.into_iter())))
    })?;
    register.add("x_array_cat", 2, |context| {
        match (array(context, 0)?, array(context, 1)?) {
            (None, None) => Ok(None),
            (left, right) => Ok(some_text(write(
                left.unwrap_or_default()
                    .into_iter()
                    .chain(right.unwrap_or_default()),
            ))),
        }
    })?;
    register.add("x_append", 2, |context| {
        let element = text(context, 1);
        Ok(some_text(write(
            array(context, 0)?
                .unwrap_or_default()
                .into_iter()
                .chain([element]),
        )))
    })?;
    register.add("x_position_in", 2, |context| {
        let (Some(elements), element) = (array(context, 0)?, text(context, 1)) else {
            return Ok(None);
        };
        let place = (1..).zip(&elements).find(|(_, one)| **one == element);
        Ok(place.and_then(|(place, _)| some_number(place)))
    })?;
    // Whether all (1) or some (0) elements of the second array are in the first.
    register.add("x_contains", 3, |context| {
        let (Some(left), Some(right)) = (array(context, 0)?, array(context, 1)?) else {
            return Ok(None);
        };
        let left: BTreeSet<&String> = left.iter().flatten().collect();
        let mut found = right
            .iter()
            .map(|one| one.as_ref().is_some_and(|one| left.contains(one)));
        let holds = if number(context, 2) == Some(1) {
            found.all(|one| one)
        } else {
            found.any(|one| one)
        };
        Ok(some_number(i64::from(holds)))
    })?;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
    let collect = Collect {
        work: register.work.clone(),
        separated: false,
    };
    register
        .connection
        .create_aggregate_function("x_array_agg", 1, flags, collect)?;
    let collect = Collect {
        work: register.work.clone(),
        separated: true,
    };
    register
        .connection
        .create_aggregate_function("x_string_agg", 2, flags, collect)
}

/// `array_agg`, and `string_agg` when it is separated.
struct Collect {
    work: Work,
    separated: bool,
}

impl Aggregate<Vec<(Option<String>, String)>, Option<String>> for Collect {
    fn init(&self, _context: &mut Context<'_>) -> Result<Vec<(Option<String>, String)>> {
        Ok(Vec::new())
    }

    fn step(&self, context: &mut Context<'_>, seen: &mut Vec<(Option<String>, String)>) -> Result<()> {
        let element = text(context, 0);
        self.work
            .makes(2 * element.as_ref().map_or(4, String::len) + 16)?;
        if self.separated && matches!(context.get_raw(0), ValueRef::Null) {
            return Ok(());
        }
        let separator = if self.separated {
            text(context, 1).unwrap_or_default()
        } else {
            String::new()
        };
        self.work.makes(separator.len())?;
        seen.push((element, separator));
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        seen: Option<Vec<(Option<String>, String)>>,
    ) -> Result<Option<String>> {
        let Some(seen) = seen.filter(|seen| !seen.is_empty()) else {
            return Ok(None);
        };
        let mut whole = String::new();
        if self.separated {
            for (at, (element, separator)) in seen.into_iter().enumerate() {
                if at > 0 {
                    whole.push_str(&separator);
                }
                whole.push_str(&element.unwrap_or_default());
            }
        } else {
            whole = write(seen.into_iter().map(|(element, _)| element));
        }
        self.work.makes(whole.len())?;
        Ok(Some(whole))
    }
}
