//! Misspelt keywords. The parser takes `GROPU` for a name and stumbles over the word after it, so what it says is true and does not help.

use datafusion::common::utils::datafusion_strsim::levenshtein;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

/// Words that begin or join the parts of a query.
const KEYWORDS: [&str; 32] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "HAVING",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "WITH",
    "DISTINCT",
    "JOIN",
    "INNER",
    "LEFT",
    "RIGHT",
    "OUTER",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "FILTER",
    "OVER",
    "PARTITION",
    "WINDOW",
    "QUALIFY",
    "OPTIONS",
    "INTERVAL",
    "EXTRACT",
];

/// How many words before the place that the parser names are looked at.
const BEFORE: usize = 3;

/// The keyword that may have been meant near the place that a parser's message ends with, and what stands there instead.
pub(super) fn meant(sql: &str, message: &str) -> Option<String> {
    let place = place(message)?;
    let tokens = Tokenizer::new(&GenericDialect, sql)
        .tokenize_with_location()
        .ok()?;
    let words: Vec<&TokenWithSpan> = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .collect();
    let found = words.iter().position(|token| token.span.start == place);
    let found = found.unwrap_or(words.len());
    let near = words.iter().take(found + 1).rev().take(BEFORE + 1);
    near.into_iter().find_map(|token| {
        let Token::Word(word) = &token.token else {
            return None;
        };
        let keyword = nearest(&word.value).filter(|_| word.quote_style.is_none())?;
        let Location { line, column } = token.span.start;
        Some(format!(
            "did you mean {keyword} instead of {} in line {line}, column {column}?",
            word.value
        ))
    })
}

/// Where the parser stopped: `… at Line: 1, Column: 8`.
fn place(message: &str) -> Option<Location> {
    let (_, place) = message.rsplit_once(" at Line: ")?;
    let (line, column) = place.split_once(", Column: ")?;
    Some(Location {
        line: line.parse().ok()?,
        column: column.trim().parse().ok()?,
    })
}

/// The keyword that differs from a word in one letter, in two of a long one, or in the order of two letters; none where the word is a keyword.
fn nearest(word: &str) -> Option<&'static str> {
    let word = word.to_uppercase();
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let length = word.chars().count();
    if !(3..=12).contains(&length) || KEYWORDS.contains(&word.as_str()) {
        return None;
    }
    let near = |keyword: &&&str| match levenshtein(&word, keyword) {
        1 => length > 3 || keyword.len() > 3,
        2 => length >= 7 || letters(&word) == letters(keyword),
        _ => false,
    };
    KEYWORDS
        .iter()
        .filter(near)
        .min_by_key(|keyword| levenshtein(&word, keyword))
        .copied()
}

#[cfg(test)]
mod tests {
    use crate::understand::dialect::read;

    #[test]
    fn misspelt_keywords_are_told_with_their_place() {
        for (sql, told) in [
            (
                "SELCT COUNT(*) FROM t",
                "did you mean SELECT instead of SELCT in line 1, column 1?",
            ),
            (
                "SELECT x, COUNT(*) FROM t GROPU BY x",
                "did you mean GROUP instead of GROPU in line 1, column 27?",
            ),
            (
                "SELECT COUNT(*)\nFROM t\nWEHRE x > 3",
                "did you mean WHERE instead of WEHRE in line 3, column 1?",
            ),
            (
                "SELECT COUNT(*) FORM t",
                "did you mean FROM instead of FORM in line 1, column 17?",
            ),
            (
                "SELECT COUNT(*) FROM t LIMT 3",
                "did you mean LIMIT instead of LIMT in line 1, column 24?",
            ),
            (
                "SELECT x, COUNT(*) FROM t GROUP BY x ODER BY 2",
                "did you mean ORDER instead of ODER in line 1, column 38?",
            ),
            (
                "SELECT COUNT(*) FROM t JION u ON t.x = u.x",
                "did you mean JOIN instead of JION",
            ),
            (
                "SELECT x, COUNT(*) FROM t GROUP BY x HAVNG COUNT(*) > 3",
                "did you mean HAVING instead of HAVNG",
            ),
        ] {
            let said = read(sql).expect_err(sql).to_string();
            assert!(said.contains(told), "{sql}: {said}");
            assert!(said.contains(" at Line: "), "{sql}: {said}");
        }
        for sql in [
            "SELECT COUNT(*) FROM t WHERE",
            "SELECT COUNT(*) FROM t LIMIT",
            "SELECT (x FROM t",
            "SELECT COUNT(*) FROM \"FORM\" x y",
        ] {
            let said = read(sql).expect_err(sql).to_string();
            assert!(!said.contains("did you mean"), "{sql}: {said}");
        }
    }
}
