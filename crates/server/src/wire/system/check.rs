//! Which statements are answered from the system catalogs, and how long they may be.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, Query, SetExpr, Statement, TableFactor, Visit, Visitor};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::Error;
use super::idents::{folded, parts};
use super::names::{Found, Names};

/// The longest statement, in bytes.
const LONGEST: usize = 100_000;
/// The most tokens of a statement, without white space.
const MOST_TOKENS: usize = 30_000;
/// The most tokens that can each put an expression one level deeper without parentheses: chains such as
/// `a + a + a` are deep trees, and dropping a tree takes stack.
const MOST_CHAINED: usize = 1_500;
/// How often the parser may read tokens. Where it cannot tell what a parenthesis begins, it tries one reading
/// after the other, each of them with all that is inside: up to [`READINGS`] for each of the parentheses and
/// brackets around a token.
const MOST_READ: u64 = 4_000_000;
const READINGS: u64 = 5;

/// Reads one `SELECT` or `VALUES`.
pub(crate) fn parse(sql: &str) -> Result<Query, Error> {
    if sql.len() > LONGEST {
        return Err(Error::limit(
            format!("the statement is longer than {LONGEST} bytes"),
            "ask for fewer things in one statement",
        ));
    }
    let dialect = PostgreSqlDialect {};
    let unreadable = |reason: String| {
        Error::new(
            format!("the statement cannot be read: {reason}"),
            "write one statement of PostgreSQL's SQL",
        )
    };
    let tokens = Tokenizer::new(&dialect, sql)
        .tokenize_with_location()
        .map_err(|error| unreadable(error.to_string()))?;
    let counted = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
    let chained = counted.clone().filter(|token| chains(&token.token)).count();
    if counted.clone().count() > MOST_TOKENS || chained > MOST_CHAINED {
        return Err(Error::limit(
            "the statement has too many parts",
            "ask for fewer things in one statement",
        ));
    }
    if readings(counted.map(|token| &token.token)) > MOST_READ {
        return Err(Error::limit(
            "the statement is nested too deeply",
            "write parts of it as queries in WITH",
        ));
    }
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(without_schema(tokens));
    let mut statements = parser
        .parse_statements()
        .map_err(|error| unreadable(error.to_string()))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(Statement::Query(query)), true) => Ok(*query),
        (Some(_), true) => Err(Error::new(
            "only SELECT and VALUES are answered from the system catalogs",
            "send a query instead of a command",
        )),
        (None, _) => Err(Error::new("the statement is empty", "write one SELECT")),
        (_, false) => Err(Error::new(
            "there is more than one statement",
            "send one statement at a time",
        )),
    }
}

/// How often the parser reads tokens in the worst case.
fn readings<'a>(tokens: impl Iterator<Item = &'a Token>) -> u64 {
    let (mut readings, mut around) = (0_u64, vec![1_u64]);
    for token in tokens {
        let each = around.last().copied().unwrap_or(1);
        readings = readings.saturating_add(each);
        match token {
            Token::LParen | Token::LBracket => around.push(each.saturating_mul(READINGS)),
            Token::RParen | Token::RBracket if around.len() > 1 => drop(around.pop()),
            _ => {}
        }
    }
    readings
}

/// The parser knows `substring(…)` and other functions with words inside, but not with a schema before them.
fn without_schema(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let special = matches!(
            &token.token,
            Token::Word(word) if matches!(
                word.keyword,
                Keyword::SUBSTRING | Keyword::SUBSTR | Keyword::POSITION | Keyword::TRIM | Keyword::OVERLAY
                    | Keyword::EXTRACT | Keyword::CEIL | Keyword::FLOOR
            )
        );
        if special && tokens.peek().is_some_and(|next| next.token == Token::LParen) {
            let before = kept.len().saturating_sub(2);
            let schema = matches!(
                kept.get(before..),
                Some([TokenWithSpan { token: Token::Word(word), .. }, TokenWithSpan { token: Token::Period, .. }])
                    if word.value.eq_ignore_ascii_case("pg_catalog")
            );
            if schema {
                kept.truncate(before);
            }
        }
        kept.push(token);
    }
    kept
}

/// Whether a token can lengthen a chain. Commas, names, literals and parentheses cannot; the parser limits
/// the latter itself.
fn chains(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::IN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::SIMILAR
                | Keyword::BETWEEN
                | Keyword::COLLATE
                | Keyword::AT
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::OPERATOR
                | Keyword::NOTNULL
                | Keyword::OVERLAPS
                | Keyword::XOR
                | Keyword::DIV
                | Keyword::REGEXP
                | Keyword::RLIKE
                | Keyword::JOIN
        ),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::DollarQuotedString(_)
        | Token::UnicodeStringLiteral(_)
        | Token::NationalStringLiteral(_)
        | Token::Comma
        | Token::Period
        | Token::LParen
        | Token::RParen
        | Token::SemiColon
        | Token::Placeholder(_) => false,
        _ => true,
    }
}

/// Whether a query names system relations only.
pub(super) fn is_system(query: &Query, names: &Names) -> bool {
    let mut walk = Walk {
        names,
        visible: vec![BTreeSet::new()],
        bodies: BTreeMap::new(),
        functions: BTreeSet::new(),
    };
    query.visit(&mut walk).is_continue()
}

/// Walks a query and stops at the first thing that the system catalogs do not answer.
struct Walk<'a> {
    names: &'a Names,
    /// Which names of `WITH` can be seen, for every query that the walk is in.
    visible: Vec<BTreeSet<String>>,
    /// What can be seen in the queries of `WITH`, by their addresses.
    bodies: BTreeMap<*const Query, BTreeSet<String>>,
    /// The addresses of names that call a function in `FROM`.
    functions: BTreeSet<*const ObjectName>,
}

impl Visitor for Walk<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if !reads(&query.body) {
            return ControlFlow::Break(());
        }
        let mut visible = match self.bodies.remove(&std::ptr::from_ref(query)) {
            Some(visible) => visible,
            None => self.visible.last().cloned().unwrap_or_default(),
        };
        if let Some(with) = &query.with {
            let all: BTreeSet<String> = with
                .cte_tables
                .iter()
                .map(|cte| folded(&cte.alias.name))
                .collect();
            for cte in &with.cte_tables {
                let mut inside = visible.clone();
                if with.recursive {
                    inside.extend(all.iter().cloned());
                }
                self.bodies.insert(std::ptr::from_ref(cte.query.as_ref()), inside);
                visible.insert(folded(&cte.alias.name));
            }
        }
        self.visible.push(visible);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.visible.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                name, args: Some(_), ..
            }
            | TableFactor::Function { name, .. } => {
                self.functions.insert(std::ptr::from_ref(name));
                ControlFlow::Continue(())
            }
            TableFactor::Table { .. }
            | TableFactor::Derived { .. }
            | TableFactor::NestedJoin { .. }
            | TableFactor::UNNEST { .. } => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        if self.functions.contains(&std::ptr::from_ref(relation)) {
            return ControlFlow::Continue(());
        }
        let Some(parts) = parts(relation) else {
            return ControlFlow::Break(());
        };
        if let [name] = parts.as_slice()
            && self.visible.last().is_some_and(|visible| visible.contains(name))
        {
            return ControlFlow::Continue(());
        }
        match self.names.relation(&parts) {
            Found::System(_) | Found::Released(_) | Found::Missing => ControlFlow::Continue(()),
            Found::Other => ControlFlow::Break(()),
        }
    }
}

/// Whether a body reads and does nothing else.
fn reads(body: &SetExpr) -> bool {
    let mut rest = vec![body];
    while let Some(body) = rest.pop() {
        match body {
            SetExpr::Select(select) if select.into.is_none() => {}
            // A query in parentheses is visited by itself.
            SetExpr::Values(_) | SetExpr::Query(_) => {}
            SetExpr::SetOperation { left, right, .. } => rest.extend([left.as_ref(), right.as_ref()]),
            _ => return false,
        }
    }
    true
}
