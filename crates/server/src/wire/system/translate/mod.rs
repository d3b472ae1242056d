//! A statement of PostgreSQL's dialect, written anew for SQLite.
//!
//! Every supported construct has its place here; everything else is an error. Each relation gets an alias of
//! its own and each column of a result is called `c1`, `c2` and so on, so that SQLite never has to resolve a
//! name of the client. Types are tracked, because SQLite does not know truth values, arrays or `regclass`.

mod aggregates;
mod calls;
mod cast;
mod compare;
mod expr;
mod from;
mod label;
mod query;
mod rows;
mod scope;
mod select;
mod words;

use sqlparser::ast::Query;

use super::Error;
use super::names::Names;
use scope::Scope;

/// The deepest nesting of expressions and queries.
const DEEPEST: usize = 100;
/// The most expressions that one translation may write. Queries in `WITH RECURSIVE` are translated twice.
const MOST_EXPRESSIONS: usize = 100_000;

/// A type, as far as the translation has to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    Bool,
    Int2,
    Int4,
    Int8,
    Oid,
    Float8,
    Name,
    Text,
    Char,
    /// A literal in quotes or a null, which takes the type that is expected of it.
    Unknown,
    /// An array of texts.
    Texts,
    /// An array of numbers.
    Ints,
    /// `int2vector` and `oidvector`, which count from 0.
    Vector,
    Json,
    /// Several values in parentheses, or the JSON object of a row.
    Row,
    /// The number of a relation, written as its name.
    RegClass,
    /// The number of a type, written as its name.
    RegType,
    /// The number of a function, written as its name.
    RegProc,
    /// The number of a schema, written as its name.
    RegNamespace,
    /// The number of a role, written as its name.
    RegRole,
}

impl Ty {
    fn is_array(self) -> bool {
        matches!(self, Self::Texts | Self::Ints | Self::Vector)
    }

    /// The type of an array's elements.
    fn element(self) -> Self {
        match self {
            Self::Ints | Self::Vector => Self::Int4,
            _ => Self::Text,
        }
    }

    /// Whether the value is a number in SQLite.
    fn is_number(self) -> bool {
        matches!(
            self,
            Self::Int2 | Self::Int4 | Self::Int8 | Self::Oid | Self::Float8
        ) || self.is_named_number()
    }

    /// Whether it is a number that is written as a name.
    fn is_named_number(self) -> bool {
        matches!(
            self,
            Self::RegClass | Self::RegType | Self::RegProc | Self::RegNamespace | Self::RegRole
        )
    }

    /// The type of a value that may come from either.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, other) => other,
            (one, Self::Unknown) => one,
            (Self::Float8, other) | (other, Self::Float8) if other.is_number() => Self::Float8,
            (Self::Int8, other) | (other, Self::Int8) if other.is_number() => Self::Int8,
            (Self::Int4, Self::Int2) | (Self::Int2, Self::Int4) => Self::Int4,
            (one, _) => one,
        }
    }
}

/// An expression in SQLite's dialect.
#[derive(Clone, Debug)]
struct Typed {
    sql: String,
    ty: Ty,
    /// The text of a literal in quotes.
    literal: Option<String>,
}

impl Typed {
    fn new(sql: impl Into<String>, ty: Ty) -> Self {
        Self {
            sql: sql.into(),
            ty,
            literal: None,
        }
    }

    /// A text in quotes. Long ones pass through a function, which counts how often they are copied.
    fn literal(text: &str) -> Self {
        let sql = if text.len() > 200 {
            format!("x_text({})", quoted(text))
        } else {
            quoted(text)
        };
        Self {
            sql,
            ty: Ty::Unknown,
            literal: Some(text.to_owned()),
        }
    }

    fn null() -> Self {
        Self::new("NULL", Ty::Unknown)
    }
}

/// A text as a literal of SQLite. SQLite ends a statement at a zero byte, which no text of PostgreSQL can
/// hold.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\0', "").replace('\'', "''"))
}

/// A query in SQLite's dialect, with the names and types of its columns.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) sql: String,
    pub(super) columns: Vec<(String, Ty)>,
}

/// Translates a query for this login name, and says whether it reads a table that was released. Parameters such
/// as `$1` count as nulls where they are allowed.
pub(super) fn translate(
    query: &Query,
    names: &Names,
    user: &str,
    parameters: bool,
) -> Result<(Output, bool), Error> {
    let mut translator = Translator {
        names,
        user,
        parameters,
        aliases: 0,
        expressions: 0,
        depth: 0,
        in_select_list: None,
        reads_released: false,
    };
    let output = translator.query(query, &Scope::outermost())?;
    Ok((output, translator.reads_released))
}

/// What the translation knows and counts.
struct Translator<'a> {
    names: &'a Names,
    user: &'a str,
    parameters: bool,
    aliases: usize,
    expressions: usize,
    depth: usize,
    /// Inside a list of results: what functions that return rows have to add to `FROM`, each with its alias.
    in_select_list: Option<Vec<(String, String)>>,
    /// Whether a table that was released was named.
    reads_released: bool,
}

impl Translator<'_> {
    /// A name that nothing else has.
    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("t{}", self.aliases)
    }

    /// Goes one level deeper.
    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.depth += 1;
        self.expressions += 1;
        if self.depth > DEEPEST || self.expressions > MOST_EXPRESSIONS {
            return Err(Error::new(
                "the statement is nested too deeply",
                "ask a simpler query",
            ));
        }
        let result = inside(self);
        self.depth -= 1;
        result
    }
}
