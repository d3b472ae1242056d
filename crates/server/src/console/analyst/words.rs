//! The words of a query that a refusal is about.
//!
//! The parser says line and column; other refusals quote names in backticks or quotes. If neither is in the
//! text, the message stands alone.

use crate::failure::Failure;
use maud::{Markup, html};
use report::legal;
use std::ops::Range;

/// Longer questions are not shown again.
const MOST: usize = 4000;
/// Words of a refusal that are looked for.
const MOST_WORDS: usize = 16;

/// The question with the words marked that caused its refusal; `None` if they are not known.
pub(super) fn marked(sql: &str, failure: &Failure) -> Option<Markup> {
    // Before anything is looked for: a refusal repeats words of the question, and each is looked for in all
    // of it.
    if sql.len() > MOST || failure.what.len() > MOST {
        return None;
    }
    let places = places(sql, failure);
    if places.is_empty() {
        return None;
    }
    let mut parts: Vec<(bool, &str)> = Vec::new();
    let mut done = 0;
    for place in places {
        parts.push((false, &sql[done..place.start]));
        parts.push((true, &sql[place.clone()]));
        done = place.end;
    }
    parts.push((false, &sql[done..]));
    Some(html! {
        pre class="marked" {
            @for (wrong, part) in parts {
                @if wrong { mark { (legal(part)) } } @else { (legal(part)) }
            }
        }
    })
}

fn places(sql: &str, failure: &Failure) -> Vec<Range<usize>> {
    if let Some(at) = position(&failure.what).and_then(|(line, column)| offset(sql, line, column)) {
        return std::iter::once(at..end_of_word(sql, at)).collect();
    }
    let mut found: Vec<Range<usize>> = quoted(&failure.what)
        .into_iter()
        .flat_map(|word| occurrences(sql, word))
        .collect();
    found.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
    found.dedup_by(|later, earlier| later.start < earlier.end);
    found
}

/// `Line: 1, Column: 8`, as the parser writes it, both from 1.
fn position(message: &str) -> Option<(usize, usize)> {
    let number = |text: &str| {
        let digits: String = text
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse::<usize>().ok()
    };
    let (_, line) = message.rsplit_once("Line: ")?;
    let (_, column) = line.split_once("Column: ")?;
    Some((number(line)?, number(column)?))
}

fn offset(sql: &str, line: usize, column: usize) -> Option<usize> {
    let before: usize = sql
        .split_inclusive('\n')
        .take(line.checked_sub(1)?)
        .map(str::len)
        .sum();
    let rest = sql.get(before..)?;
    let (within, _) = rest.char_indices().nth(column.checked_sub(1)?)?;
    Some(before + within)
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn end_of_word(sql: &str, at: usize) -> usize {
    let rest = &sql[at..];
    let length: usize = rest
        .chars()
        .take_while(|character| is_of_word(*character))
        .map(char::len_utf8)
        .sum();
    at + length.max(rest.chars().next().map_or(0, char::len_utf8))
}

/// What a message quotes.
fn quoted(message: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for quote in ['`', '"', '\''] {
        // Every second part is between two quotes.
        words.extend(message.split(quote).skip(1).step_by(2));
    }
    // Functions are named in capitals, with or without brackets.
    words.extend(
        message
            .split(|character: char| !is_of_word(character))
            .filter(|word| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')),
    );
    words.retain(|word| !word.trim().is_empty() && word.len() < 100);
    words.sort_unstable();
    words.dedup();
    words.truncate(MOST_WORDS);
    words
}

/// Where a word stands as a word of its own, in whatever case.
fn occurrences(sql: &str, word: &str) -> Vec<Range<usize>> {
    let (text, word) = (sql.to_ascii_lowercase(), word.to_ascii_lowercase());
    text.match_indices(&word)
        .map(|(at, found)| at..at + found.len())
        .filter(|place| {
            let apart = |next: Option<char>| !next.is_some_and(is_of_word);
            apart(text[..place.start].chars().next_back()) && apart(text[place.end..].chars().next())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Code;

    /// A refusal repeats the query's words. Looking for each of many in all of it would take for ever.
    #[test]
    fn a_long_question_is_not_searched() {
        let name = "AAA ".repeat(60_000);
        let sql = format!("SELECT COUNT(*) FROM \"{name}\"");
        let failure = Failure::new(Code::Refused, format!("there is no table `{name}`"), "");
        assert!(marked(&sql, &failure).is_none());
        let many: String = (0..400).map(|word| format!("`w{word}` ")).collect();
        assert!(quoted(&many).len() <= MOST_WORDS);
    }

    fn words(sql: &str, what: &str) -> Vec<String> {
        let failure = Failure::new(Code::Refused, what, "");
        places(sql, &failure)
            .into_iter()
            .map(|place| sql[place].to_owned())
            .collect()
    }

    #[test]
    fn the_words_of_a_refusal_are_found() {
        let sql = "SELECT ε,\n  COUNT(*) FORM people";
        assert_eq!(
            words(sql, "Expected: end, found: people at Line: 2, Column: 12"),
            ["FORM"]
        );
        assert_eq!(
            words("SELECT 1 FROM nobody", "there is no table `nobody`"),
            ["nobody"]
        );
        assert_eq!(
            words("SELECT age FROM a.age", "column \"age\" is private"),
            ["age", "age"]
        );
        assert_eq!(
            words("SELECT STRING_AGG(x) FROM t", "STRING_AGG cannot be answered"),
            ["STRING_AGG"]
        );
        assert!(words("SELECT ages", "`age` is private").is_empty());
        assert!(words("", "at Line: 9, Column: 9").is_empty());
        assert!(words("é", "at Line: 1, Column: 5").is_empty());
    }

    #[test]
    fn what_is_marked_is_text() {
        let failure = Failure::new(Code::Refused, "no column `<b>`", "");
        let shown = marked("SELECT <b> FROM t", &failure).unwrap().into_string();
        assert!(shown.contains("<mark>&lt;b&gt;</mark>"), "{shown}");
    }
}
