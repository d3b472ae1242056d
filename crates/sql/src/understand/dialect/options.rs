//! `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…)`, taken out of the tokens before the parser sees them.
//!
//! The parser does not know the clause, and without `OPTIONS` it reads `WITH` as the name of a column, which would drop the request silently.

use crate::Error;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Word};

/// What one `SELECT` asks for beyond the defaults of the catalog. Quantities are the text that was written, to be read exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SelectOptions {
    /// `epsilon`.
    pub(crate) epsilon: Option<String>,
    /// `delta`.
    pub(crate) delta: Option<String>,
    /// `max_groups_contributed`: how many groups a unit may add to.
    pub(crate) max_groups_contributed: Option<u64>,
    /// `max_rows_contributed`: how many rows of a unit may count.
    pub(crate) max_rows_contributed: Option<u64>,
    /// `privacy_unit_column`: the parts of its name, as the engine's planner spells them.
    pub(crate) privacy_unit_column: Option<Vec<String>>,
    /// `group_selection_strategy`.
    pub(crate) group_selection_strategy: Option<GroupSelection>,
    /// `min_privacy_units_per_group`: smaller groups are never shown.
    pub(crate) min_privacy_units_per_group: Option<u64>,
    /// `cut_share`: the part of ε for an estimate of what the limits cut.
    pub(crate) cut_share: Option<String>,
    /// `unknown_values`: whether constants are meant that are no declared values of their columns.
    pub(crate) unknown_values: Option<bool>,
}

/// How it is decided which groups are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupSelection {
    /// Groups come from the data, and small ones are left out.
    LaplaceThreshold,
    /// Groups are public, and all of them are shown.
    PublicGroups,
}

/// A clause that was taken out: where its `SELECT` stands, and what it says.
#[derive(Debug)]
pub(super) struct Clause {
    pub(super) select: Location,
    pub(super) options: SelectOptions,
}

const NAMES: &str = "epsilon, delta, max_groups_contributed, max_rows_contributed, privacy_unit_column, group_selection_strategy, min_privacy_units_per_group, cut_share and unknown_values";

/// Takes all clauses out of the tokens.
pub(super) fn take(tokens: Vec<TokenWithSpan>) -> Result<(Vec<TokenWithSpan>, Vec<Clause>), Error> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut clauses = Vec::new();
    let mut cursor = Cursor {
        tokens: &tokens,
        at: 0,
    };
    while let Some(token) = cursor.tokens.get(cursor.at) {
        cursor.at += 1;
        kept.push(token.clone());
        if !is_keyword(&token.token, Keyword::SELECT) {
            continue;
        }
        let before = cursor.at;
        let mut quantifier = None;
        if let Some(Token::Word(word)) = cursor.peek()
            && word.quote_style.is_none()
            && matches!(word.keyword, Keyword::DISTINCT | Keyword::ALL)
        {
            quantifier = Some(word.value.to_uppercase());
            cursor.next();
        }
        if !cursor
            .peek()
            .is_some_and(|token| is_keyword(token, Keyword::WITH))
        {
            cursor.at = before;
            continue;
        }
        cursor.next();
        if let Some(quantifier) = quantifier {
            return Err(Error::refused(
                format!("SELECT {quantifier} WITH … is not the order of words"),
                "write SELECT WITH DIFFERENTIAL_PRIVACY first; DISTINCT makes no sense there, GROUP BY does",
            ));
        }
        clauses.push(Clause {
            select: token.span.start,
            options: clause(&mut cursor)?,
        });
    }
    Ok((kept, clauses))
}

/// Reads what follows `SELECT WITH`.
fn clause(cursor: &mut Cursor<'_>) -> Result<SelectOptions, Error> {
    match cursor.next() {
        Some(Token::Word(word)) if is_word(word, "DIFFERENTIAL_PRIVACY") => {}
        Some(Token::Word(word)) if is_word(word, "ANONYMIZATION") => {
            return Err(Error::refused(
                "SELECT WITH ANONYMIZATION is the older spelling",
                "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = …, delta = …)",
            ));
        }
        _ => return Err(malformed("after SELECT WITH comes DIFFERENTIAL_PRIVACY")),
    }
    let mut options = SelectOptions::default();
    match cursor.peek() {
        Some(Token::Word(word)) if is_word(word, "OPTIONS") => {}
        _ => return Ok(options),
    }
    let before = cursor.at;
    cursor.next();
    if cursor.peek() != Some(&Token::LParen) {
        // A column of that name.
        cursor.at = before;
        return Ok(options);
    }
    cursor.next();
    if cursor.peek() == Some(&Token::RParen) {
        cursor.next();
        return Ok(options);
    }
    loop {
        option(cursor, &mut options)?;
        match cursor.next() {
            Some(Token::Comma) => {}
            Some(Token::RParen) => return Ok(options),
            _ => {
                return Err(malformed(
                    "the options are separated by commas and end with a parenthesis",
                ));
            }
        }
    }
}

/// Reads `name = value`.
fn option(cursor: &mut Cursor<'_>, options: &mut SelectOptions) -> Result<(), Error> {
    let Some(Token::Word(word)) = cursor.next() else {
        return Err(malformed("an option starts with its name"));
    };
    let name = word.value.to_lowercase();
    if cursor.next() != Some(&Token::Eq) {
        return Err(malformed(&format!("after the option {name} comes =")));
    }
    match name.as_str() {
        "epsilon" => set(&name, &mut options.epsilon, number(cursor, &name)?),
        "delta" => set(&name, &mut options.delta, number(cursor, &name)?),
        "max_groups_contributed" => set(&name, &mut options.max_groups_contributed, count(cursor, &name)?),
        "max_rows_contributed" => set(&name, &mut options.max_rows_contributed, count(cursor, &name)?),
        "min_privacy_units_per_group" => set(
            &name,
            &mut options.min_privacy_units_per_group,
            count(cursor, &name)?,
        ),
        "cut_share" => set(&name, &mut options.cut_share, number(cursor, &name)?),
        "unknown_values" => set(&name, &mut options.unknown_values, truth(cursor)?),
        "privacy_unit_column" => set(&name, &mut options.privacy_unit_column, column(cursor)?),
        "group_selection_strategy" => set(&name, &mut options.group_selection_strategy, strategy(cursor)?),
        _ => Err(Error::refused(
            format!("there is no option {name}"),
            format!("the options of DIFFERENTIAL_PRIVACY are {NAMES}"),
        )),
    }
}

fn set<T>(name: &str, place: &mut Option<T>, value: T) -> Result<(), Error> {
    if place.replace(value).is_some() {
        return Err(Error::refused(
            format!("the option {name} is given twice"),
            "give each option once",
        ));
    }
    Ok(())
}

fn number(cursor: &mut Cursor<'_>, name: &str) -> Result<String, Error> {
    match cursor.next() {
        Some(Token::Number(digits, _)) => Ok(digits.clone()),
        _ => Err(malformed(&format!("{name} is a number such as 0.5 or 1e-6"))),
    }
}

fn count(cursor: &mut Cursor<'_>, name: &str) -> Result<u64, Error> {
    match cursor.next() {
        Some(Token::Number(digits, _)) => digits.parse().ok().filter(|count| *count > 0),
        _ => None,
    }
    .ok_or_else(|| malformed(&format!("{name} is a whole number, at least 1")))
}

fn truth(cursor: &mut Cursor<'_>) -> Result<bool, Error> {
    match cursor.next() {
        Some(Token::Word(word)) if is_word(word, "TRUE") => Ok(true),
        Some(Token::Word(word)) if is_word(word, "FALSE") => Ok(false),
        _ => Err(malformed("unknown_values is TRUE or FALSE")),
    }
}

fn column(cursor: &mut Cursor<'_>) -> Result<Vec<String>, Error> {
    let mut parts = Vec::new();
    loop {
        match cursor.next() {
            // As the planner does: what is not quoted is folded to lower case.
            Some(Token::Word(word)) if word.quote_style.is_none() => {
                parts.push(word.value.to_ascii_lowercase())
            }
            Some(Token::Word(word)) => parts.push(word.value.clone()),
            _ => return Err(malformed("privacy_unit_column is the name of a column")),
        }
        if cursor.peek() != Some(&Token::Period) {
            return Ok(parts);
        }
        cursor.next();
    }
}

fn strategy(cursor: &mut Cursor<'_>) -> Result<GroupSelection, Error> {
    match cursor.next() {
        Some(Token::Word(word)) if is_word(word, "LAPLACE_THRESHOLD") => Ok(GroupSelection::LaplaceThreshold),
        Some(Token::Word(word)) if is_word(word, "PUBLIC_GROUPS") => Ok(GroupSelection::PublicGroups),
        _ => Err(malformed(
            "group_selection_strategy is LAPLACE_THRESHOLD or PUBLIC_GROUPS",
        )),
    }
}

fn malformed(what: &str) -> Error {
    Error::Syntax {
        what: what.into(),
        hint: "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, delta = 1e-6) …".into(),
    }
}

fn is_keyword(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.keyword == keyword)
}

fn is_word(word: &Word, name: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name)
}

/// A place among the tokens; whitespace and comments are passed over.
struct Cursor<'a> {
    tokens: &'a [TokenWithSpan],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn skip(&mut self) {
        while let Some(Token::Whitespace(_)) = self.tokens.get(self.at).map(|token| &token.token) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> Option<&'a Token> {
        self.skip();
        self.tokens.get(self.at).map(|token| &token.token)
    }

    fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }
}
