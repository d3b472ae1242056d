//! How deeply a query nests, derived from its tokens alone.
//!
//! The parser bounds its own recursion, but it builds chains (`a + b + c`, `x UNION y UNION z`) in a loop, and whatever walks or drops the
//! tree afterwards recurses once a link. So links are counted first.
//!
//! It also tries, and tries again: what follows `POSITION(`, `CAST(` or `CASE`, and a parenthesis within a parenthesis, is read in one way and, if that fails further inside, in another. Where those nest, each
//! level doubles how often the innermost words are read, so a line of text would take years. So it is counted how often words could be read.

use crate::Error;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// How many operators may lie above one another.
const CHAIN: usize = 500;

/// How many set operations, and how many joins, one query may have.
pub(super) const RELATIONS: usize = 100;

/// How often words are read at most, all together: a thousand words under ten levels that are read twice are far below.
const READINGS: u64 = 1 << 22;

/// The links of the expression that is being read, at one level of parentheses.
///
/// `OR` binds weakest, then `AND`, so a link of a weaker operator starts the count of the stronger ones again.
#[derive(Default)]
struct Level {
    weakest: usize,
    weaker: usize,
    strong: usize,
    relations: usize,
    /// How many levels that may be read twice are around it, itself included.
    doublings: u32,
}

impl Level {
    fn depth(&self) -> usize {
        self.weakest + self.weaker + self.strong
    }

    /// A level inside of this one.
    fn inner(&self, read_twice: bool) -> Self {
        Self {
            doublings: self.doublings + u32::from(read_twice),
            ..Self::default()
        }
    }

    fn start(&mut self) {
        (self.weakest, self.weaker, self.strong) = (0, 0, 0);
    }
}

/// Refuses a query whose tree could be deeper than the stack.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<(), Error> {
    let mut levels = vec![Level::default()];
    // What the levels around the innermost one add up to.
    let mut around = 0;
    let mut readings = 0_u64;
    let mut before = &Token::EOF;
    for token in tokens {
        let level = levels.last_mut().expect("the outermost level is never closed");
        readings = readings.saturating_add(1_u64.checked_shl(level.doublings).unwrap_or(u64::MAX));
        if readings > READINGS {
            return Err(too_deep());
        }
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                around += level.depth() + 1;
                let inner = level.inner(may_be_read_twice(before));
                levels.push(inner);
            }
            Token::RParen | Token::RBracket | Token::RBrace => close(&mut levels, &mut around),
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::CASE => {
                    around += level.depth() + 1;
                    let inner = level.inner(true);
                    levels.push(inner);
                }
                Keyword::END => close(&mut levels, &mut around),
                Keyword::WHEN | Keyword::THEN | Keyword::ELSE => level.start(),
                Keyword::SELECT | Keyword::FROM | Keyword::WHERE | Keyword::HAVING | Keyword::ON => {
                    level.start()
                }
                Keyword::OR => (level.weakest, level.weaker, level.strong) = (level.weakest + 1, 0, 0),
                Keyword::AND => (level.weaker, level.strong) = (level.weaker + 1, 0),
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS | Keyword::JOIN => {
                    level.relations += 1;
                    if level.relations > RELATIONS {
                        return Err(too_many_relations());
                    }
                }
                Keyword::AS => {}
                // Any other keyword may be an operator: NOT, IS, LIKE, IN, BETWEEN, COLLATE, AT, DIV, …
                Keyword::NoKeyword => {}
                _ => level.strong += 1,
            },
            Token::Word(_) | Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_) => {}
            Token::Comma | Token::SemiColon => level.start(),
            _ => level.strong += 1,
        }
        if around + levels.last().map_or(0, Level::depth) > CHAIN {
            return Err(too_deep());
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            before = &token.token;
        }
    }
    Ok(())
}

/// Whether the parser may read what is in a parenthesis twice, by the word in front of it: one that begins an expression of its own kind and may be a name as well, or another parenthesis.
fn may_be_read_twice(before: &Token) -> bool {
    match before {
        Token::LParen => true,
        Token::Word(word) if word.quote_style.is_none() => matches!(
            word.keyword,
            Keyword::POSITION
                | Keyword::CAST
                | Keyword::TRY_CAST
                | Keyword::SAFE_CAST
                | Keyword::CONVERT
                | Keyword::TRY_CONVERT
                | Keyword::EXTRACT
                | Keyword::CEIL
                | Keyword::FLOOR
                | Keyword::SUBSTR
                | Keyword::SUBSTRING
                | Keyword::OVERLAY
                | Keyword::TRIM
                | Keyword::INTERVAL
                | Keyword::ARRAY
                | Keyword::STRUCT
                | Keyword::MAP
                | Keyword::MATCH
                | Keyword::NOT
                | Keyword::EXISTS
        ),
        _ => false,
    }
}

/// Closes a level; one that was never opened is the parser's to complain about.
fn close(levels: &mut Vec<Level>, around: &mut usize) {
    if levels.len() > 1 {
        levels.pop();
        let parent = levels.last_mut().expect("the outermost level is never closed");
        *around -= parent.depth() + 1;
        // What was closed may be a link itself: `a[1][2]`, `INT[][]`.
        parent.strong += 1;
    }
}

pub(super) fn too_deep() -> Error {
    Error::refused(
        "the query nests too deeply, or chains too many operators",
        format!("use IN (…) for long lists of alternatives, and at most {CHAIN} operators in one expression"),
    )
}

pub(super) fn too_many_relations() -> Error {
    Error::refused(
        format!("the query joins or combines more than {RELATIONS} relations"),
        "ask several queries",
    )
}
