//! Reading SQL: what the engine's parser knows, and the words that SQL for private answers adds to it.
//!
//! The dialect is the engine's own, a mix of PostgreSQL and its relatives (`::` casts, `ILIKE`, identifiers in double quotes or backticks).
//! GoogleSQL's words for differential privacy are read too. The engine's planner knows none of them, so they are turned into
//! *markers*: calls of functions that exist only between here and the private planner, which takes them out of the plan again.
//! The planner needs [`marker_functions`] to resolve them; evaluating one is an error.
//!
//! | marker | stands for |
//! |---|---|
//! | `__deniable_select(n)` → bool, a conjunct of a `WHERE` | this `SELECT` has the options `selects[n]` |
//! | `__deniable_per_group(x, low, high)` → type of x, the argument of an aggregate | `contribution_bounds_per_group => (low, high)`; for `COUNT(*)` x is 1 |
//! | `__deniable_per_row(x, low, high)` → type of x, the same, and inside a per-group marker when both are given | `contribution_bounds_per_row => (low, high)` |
//! | `__deniable_quantile(x, fraction)` → float, an aggregate | `PERCENTILE_CONT`, `PERCENTILE_DISC`, `QUANTILE`, `QUANTILE_CONT`, `APPROX_PERCENTILE_CONT`, `APPROX_QUANTILES`; the fraction is a literal in 0..=1 |
//! | `__deniable_mode(x)` → type of x, an aggregate | `MODE() WITHIN GROUP (ORDER BY x)`, `MODE(x)` |
//!
//! Bounds and fractions are literals. `MIN`, `MAX` and `MEDIAN` stay as they are, because over released results they are the engine's.
//! Some names become those of the engine: `ANON_SUM`, `ANON_AVG` and `ANON_COUNT` lose their prefix, `MEAN` is `avg`, `VARIANCE` is `var`,
//! `EVERY` is `bool_and`, `SIGN(x)` is `signum(x)`, `MOD(a, b)` is `a % b`, `COUNTIF(c)` is `count(CASE WHEN c THEN 1 END)`, `APPROX_COUNT_DISTINCT(x)` and `APPROX_DISTINCT(x)` are `count(DISTINCT x)`. `width_bucket` is a function that the engine lacks; the one here is real.
//!
//! Clauses of other databases that the engine's planner would pass over are refused.
//! Types with a time zone are refused, because the engine's planner would drop the zone silently.
//! Nobody may write a name that starts with `__deniable`. Text that nests too deeply is refused before anything recurses over it.

mod calls;
mod clauses;
mod depth;
mod markers;
mod misspelt;
mod options;
mod rewrite;
mod spelling;
mod windows;
mod withs;

#[cfg(test)]
mod tests;

pub(crate) use markers::{MODE, PER_GROUP, PER_ROW, QUANTILE, SELECT, WIDTH_BUCKET, marker_functions};
pub(crate) use options::{GroupSelection, SelectOptions};
pub(crate) use spelling::{as_written, distinguished};

use crate::Error;
use datafusion::sql::sqlparser::ast::{Query, Statement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// How deep the parser may recurse.
const NESTING: usize = 50;

/// How long a query may be, in bytes.
pub(crate) const LENGTH: usize = 1 << 20;

/// Every name that starts so is ours.
pub(crate) const RESERVED: &str = "__deniable";

/// A query as it was read: SQL that the engine's planner understands, and what it would not.
#[derive(Debug)]
pub(crate) struct Read {
    /// The query, with markers in it.
    pub(crate) query: Box<Query>,
    /// The options of each `SELECT WITH DIFFERENTIAL_PRIVACY`, in the order of the text.
    pub(crate) selects: Vec<SelectOptions>,
    /// What columns of the result that have no name are called: as they are written.
    pub(crate) headings: Vec<Option<String>>,
}

/// Reads one query.
///
/// # Errors
/// When the text is not one query, or uses a word of the private dialect where it has no meaning.
pub(crate) fn read(sql: &str) -> Result<Read, Error> {
    on_a_large_stack(|| read_here(sql))
}

/// A query that was read before, as it is written; `None` where it has options of ours, or is no query.
pub(crate) fn as_parsed(sql: &str) -> Option<Box<Query>> {
    let parse = || {
        let tokens = Tokenizer::new(&GenericDialect, sql).tokenize_with_location();
        let tokens = tokens.map_err(|error| syntax(error.to_string()))?;
        depth::check(&tokens)?;
        Parser::new(&GenericDialect)
            .with_recursion_limit(NESTING)
            .with_tokens_with_locations(tokens)
            .parse_statements()
            .map_err(|error| syntax(error.to_string()))
    };
    match on_a_large_stack(parse).ok()?.pop()? {
        Statement::Query(query) => Some(query),
        _ => None,
    }
}

/// What recurses with a query: how deep a stack takes it depends on how it was built, and a thread of its own has plenty.
fn on_a_large_stack<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work);
        match reader.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(read)) => read,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::refused(
                "the system allows no further thread to read the query with",
                "try again when it is less busy",
            )),
        }
    })
}

/// Bytes of stack for reading a query.
const STACK: usize = 64 << 20;

fn read_here(sql: &str) -> Result<Read, Error> {
    if sql.len() > LENGTH {
        return Err(Error::refused(
            "the query is longer than a mebibyte",
            "put long lists of values into a public table",
        ));
    }
    let tokens = Tokenizer::new(&GenericDialect, sql)
        .tokenize_with_location()
        .map_err(|error| syntax(error.to_string()))?;
    only_a_query(&tokens)?;
    no_reserved_names(&tokens)?;
    depth::check(&tokens)?;
    let (tokens, clauses) = options::take(tokens)?;
    let mut statements = Parser::new(&GenericDialect)
        .with_recursion_limit(NESTING)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(|error| match error {
            ParserError::RecursionLimitExceeded => depth::too_deep(),
            ParserError::ParserError(what) | ParserError::TokenizerError(what) => {
                match misspelt::meant(sql, &what) {
                    Some(hint) => Error::Syntax { what, hint },
                    None => syntax(what),
                }
            }
        })?;
    if statements.len() > 1 {
        return Err(Error::refused(
            "there is more than one statement",
            "ask one query at a time: each is charged on its own",
        ));
    }
    match statements.pop() {
        Some(Statement::Query(mut query)) => {
            withs::check(&query)?;
            let headings = spelling::headings(&query.body);
            let selects = rewrite::rewrite(&mut query, clauses)?;
            Ok(Read {
                query,
                selects,
                headings,
            })
        }
        Some(_) => Err(no_query("this statement")),
        None => Err(nothing()),
    }
}

/// The text without comments, for what is read word by word.
pub(crate) fn without_comments(sql: &str) -> String {
    let Ok(tokens) = Tokenizer::new(&GenericDialect, sql).tokenize() else {
        return sql.to_owned();
    };
    let is_comment = |token: &Token| {
        use datafusion::sql::sqlparser::tokenizer::Whitespace;
        matches!(
            token,
            Token::Whitespace(Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_))
        )
    };
    let mut text = String::new();
    for token in tokens {
        if is_comment(&token) {
            text.push(' ');
        } else {
            text.push_str(&token.to_string());
        }
    }
    text
}

/// The words of a query with one blank between them, without comments and without a semicolon at the end: what is signed as the question. Texts stay as they are written, so that queries
/// which differ in anything but white space and comments differ here.
///
/// ```
/// assert_eq!(sql::canonical_sql("SELECT  COUNT(*) -- all\n FROM t;"), "SELECT COUNT ( * ) FROM t");
/// ```
pub fn canonical_sql(sql: &str) -> String {
    let Ok(tokens) = Tokenizer::new(&GenericDialect, sql)
        .with_unescape(false)
        .tokenize()
    else {
        return sql.trim().to_owned();
    };
    let mut words: Vec<String> = tokens
        .iter()
        .filter(|token| !matches!(token, Token::Whitespace(_)))
        .map(Token::to_string)
        .collect();
    while words.last().is_some_and(|word| word == ";") {
        words.pop();
    }
    words.join(" ")
}

/// Looks at the first word, which tells statements apart before the parser is confused by those it does not know.
fn only_a_query(tokens: &[TokenWithSpan]) -> Result<(), Error> {
    let mut words = tokens.iter().map(|token| &token.token);
    match words.find(|token| !matches!(token, Token::Whitespace(_) | Token::LParen | Token::SemiColon)) {
        None | Some(Token::EOF) => Err(nothing()),
        Some(Token::Word(word)) if word.quote_style.is_none() => match word.keyword {
            Keyword::SELECT | Keyword::WITH | Keyword::FROM => Ok(()),
            Keyword::EXPLAIN => Err(Error::refused(
                "EXPLAIN is not part of a query",
                "give the query itself to `deniable explain`, which charges nothing",
            )),
            Keyword::VALUES | Keyword::TABLE => Err(no_query(&word.value.to_uppercase())),
            Keyword::NoKeyword => Ok(()),
            _ => Err(no_query(&word.value.to_uppercase())),
        },
        Some(_) => Ok(()),
    }
}

fn no_reserved_names(tokens: &[TokenWithSpan]) -> Result<(), Error> {
    for token in tokens {
        // A string can be a name too: SELECT x AS 'name'.
        let name = match &token.token {
            Token::Word(word) => &word.value,
            Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => text,
            _ => continue,
        };
        if name.to_lowercase().starts_with(RESERVED) {
            return Err(Error::refused(
                format!("the name {name} belongs to Deniable"),
                format!("names that start with {RESERVED} are used inside; choose another one"),
            ));
        }
    }
    Ok(())
}

fn nothing() -> Error {
    syntax("there is no query".into())
}

fn no_query(what: &str) -> Error {
    Error::refused(
        format!("Deniable answers queries and does nothing else, and {what} is none"),
        "write SELECT …, or WITH … SELECT …; SHOW TABLES and DESCRIBE name tell what there is",
    )
}

fn syntax(what: String) -> Error {
    Error::Syntax {
        what,
        hint: "write one SELECT query, as for PostgreSQL".into(),
    }
}
