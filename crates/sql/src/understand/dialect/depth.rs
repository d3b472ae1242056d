//! How deeply a query nests, derived from its tokens alone.
//!
//! The parser bounds its own recursion, but it builds chains (`a + b + c`, `x UNION y UNION z`) in a loop, and whatever walks or drops the
//! tree afterwards recurses once a link. So links are counted first.

use crate::Error;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// How many operators may lie above one another.
const CHAIN: usize = 500;

/// How many set operations, and how many joins, one query may have.
pub(super) const RELATIONS: usize = 100;

/// The links of the expression that is being read, at one level of parentheses.
///
/// `OR` binds weakest, then `AND`, so a link of a weaker operator starts the count of the stronger ones again.
#[derive(Default)]
struct Level {
    weakest: usize,
    weaker: usize,
    strong: usize,
    relations: usize,
}

impl Level {
    fn depth(&self) -> usize {
        self.weakest + self.weaker + self.strong
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
    for token in tokens {
        let level = levels.last_mut().expect("the outermost level is never closed");
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                around += level.depth() + 1;
                levels.push(Level::default());
            }
            Token::RParen | Token::RBracket | Token::RBrace => close(&mut levels, &mut around),
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::CASE => {
                    around += level.depth() + 1;
                    levels.push(Level::default());
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
    }
    Ok(())
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
