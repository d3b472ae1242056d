//! The functions that SQLite lacks. The translation calls them by names that begin with `x_`; clients cannot.

pub(super) mod arrays;
mod patterns;
mod strings;
mod work;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::idents::{parse_ident, quote_ident};
use super::names::{Names, OWNER, OWNER_NAME, USER};
#[cfg(test)]
pub(super) use work::MOST_STEPS;
pub(crate) use work::Stop;
pub(super) use work::Work;

/// The longest text, in bytes.
pub(super) const LONGEST_TEXT: usize = 256 << 10;
/// The most bytes of all arguments of one call.
const MOST_ARGUMENTS: usize = 4 * LONGEST_TEXT;

/// The words of PostgreSQL 15's SQL: word, category (`R` for reserved), whether it may be a label without
/// `AS`.
pub(super) const KEYWORDS: &str = include_str!("../data/keywords.txt");
/// What `pg_settings` shows: name, value, type, category, description.
pub(super) const SETTINGS: &str = include_str!("../data/settings.txt");

/// Whether a word must be quoted to be a name.
pub(super) fn is_reserved(word: &str) -> bool {
    static RESERVED: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    let reserved = RESERVED.get_or_init(|| {
        KEYWORDS
            .lines()
            .filter_map(|line| {
                let (word, rest) = line.split_once(':')?;
                (!rest.starts_with('U')).then_some(word)
            })
            .collect()
    });
    reserved.contains(word)
}

/// The value of a setting.
pub(super) fn setting(name: &str) -> Option<&'static str> {
    SETTINGS.lines().find_map(|line| {
        let mut fields = line.split('|');
        let found = fields.next()?.eq_ignore_ascii_case(name);
        if found { fields.next() } else { None }
    })
}

/// What failed inside a function, in the words that the client reads.
pub(super) fn failure(what: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::UserFunctionError(what.into().into())
}

/// How long a text is that a function is about to make, or why it is not made.
fn fits(bytes: usize) -> Result<()> {
    match bytes > LONGEST_TEXT {
        true => Err(rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_TOOBIG),
            None,
        )),
        false => Ok(()),
    }
}

/// An argument as text; nothing for null.
fn text(context: &Context<'_>, at: usize) -> Option<String> {
    match context.get_raw(at) {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(value.to_string()),
        ValueRef::Real(value) => Some(value.to_string()),
        ValueRef::Text(value) | ValueRef::Blob(value) => Some(String::from_utf8_lossy(value).into_owned()),
    }
}

/// An argument as a whole number; nothing for null and for what is none.
fn number(context: &Context<'_>, at: usize) -> Option<i64> {
    match context.get_raw(at) {
        ValueRef::Integer(value) => Some(value),
        _ => text(context, at)?.trim().parse().ok(),
    }
}

/// Registers every function.
pub(super) fn register(connection: &Connection, names: &Arc<Names>, work: &Work) -> Result<()> {
    let register = Register { connection, work };
    name_functions(&register, names)?;
    strings::register(&register)?;
    patterns::register(&register)?;
    arrays::register(&register)
}

/// Registers functions on a connection and counts what they read and make.
struct Register<'a> {
    connection: &'a Connection,
    work: &'a Work,
}

impl Register<'_> {
    /// A function from its arguments to a text, a number or null. Any number of arguments is -1.
    fn add<F>(&self, name: &str, arguments: i32, function: F) -> Result<()>
    where
        F: Fn(&Context<'_>) -> Result<Option<Value>> + Send + 'static,
    {
        let work = self.work.clone();
        // Not deterministic: SQLite then calls them for every row, and every text is counted.
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
        self.connection
            .create_scalar_function(name, arguments, flags, move |context| {
                let bytes = (0..context.len()).map(|at| length(context.get_raw(at))).sum();
                if bytes > MOST_ARGUMENTS {
                    return Err(work.too_much());
                }
                work.reads(bytes)?;
                let value = function(context)?;
                if let Some(Value::Text(text)) = &value {
                    work.makes(text.len())?;
                }
                Ok(value)
            })
    }
}

fn length(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 0,
    }
}

fn some_text(text: impl Into<String>) -> Option<Value> {
    Some(Value::Text(text.into()))
}

fn some_number(number: i64) -> Option<Value> {
    Some(Value::Integer(number))
}

fn name_functions(register: &Register<'_>, names: &Arc<Names>) -> Result<()> {
    let of = Arc::clone(names);
    register.add("x_regclass", 2, move |context| {
        let Some(name) = text(context, 0) else {
            return Ok(None);
        };
        match of.regclass(&name) {
            Some(oid) => Ok(some_number(oid)),
            None if number(context, 1) == Some(0) => Ok(None),
            None => Err(failure(format!("relation {name:?} does not exist"))),
        }
    })?;
    let of = Arc::clone(names);
    register.add("x_regtype", 2, move |context| {
        let Some(name) = text(context, 0) else {
            return Ok(None);
        };
        match of.regtype(&name) {
            Some(oid) => Ok(some_number(oid)),
            None if number(context, 1) == Some(0) => Ok(None),
            None => Err(failure(format!("type {name:?} does not exist"))),
        }
    })?;
    register.add("x_regnamespace", 2, move |context| {
        let Some(name) = text(context, 0) else {
            return Ok(None);
        };
        match name.trim().parse().ok().or_else(|| Names::schema(&name)) {
            Some(oid) => Ok(some_number(oid)),
            None if number(context, 1) == Some(0) => Ok(None),
            None => Err(failure(format!("schema {name:?} does not exist"))),
        }
    })?;
    let of = Arc::clone(names);
    register.add("x_regclass_text", 1, move |context| {
        Ok(number(context, 0).and_then(|oid| some_text(of.regclass_text(oid))))
    })?;
    register.add("x_regnamespace_text", 1, |context| {
        Ok(number(context, 0).and_then(|oid| some_text(schema_text(oid))))
    })?;
    let of = Arc::clone(names);
    register.add("x_regproc", 2, move |context| {
        let Some(name) = text(context, 0) else {
            return Ok(None);
        };
        match of.function(&name) {
            Some(oid) => Ok(some_number(oid)),
            None if number(context, 1) == Some(0) => Ok(None),
            None => Err(failure(format!("function {name:?} does not exist"))),
        }
    })?;
    let of = Arc::clone(names);
    register.add("x_regproc_text", 1, move |context| {
        Ok(number(context, 0).and_then(|oid| some_text(of.function_text(oid))))
    })?;
    // The name of a role; the second argument is the login name of the asker.
    register.add("x_role_text", 2, |context| {
        Ok(match number(context, 0) {
            None => None,
            Some(OWNER) => some_text(OWNER_NAME),
            Some(USER) => text(context, 1).and_then(some_text),
            Some(oid) => some_text(format!("unknown (OID={oid})")),
        })
    })?;
    let of = Arc::clone(names);
    register.add("x_format_type", 2, move |context| {
        Ok(number(context, 0).and_then(|oid| some_text(of.format_type(oid, number(context, 1)))))
    })?;
    let of = Arc::clone(names);
    register.add("x_visible", 1, move |context| {
        let found =
            number(context, 0).and_then(|oid| of.relation_of(oid).map(|(schema, _)| schema.to_owned()));
        Ok(found.and_then(|schema| some_number(i64::from(schema != "information_schema"))))
    })?;
    // Everybody may read everything that the catalogs show, and change nothing.
    register.add("x_privilege", 1, |context| {
        let Some(privileges) = text(context, 0) else {
            return Ok(None);
        };
        let may = privileges.split(',').any(|privilege| {
            matches!(
                privilege.trim().to_uppercase().as_str(),
                "SELECT" | "USAGE" | "CONNECT" | "EXECUTE" | "MEMBER"
            )
        });
        Ok(some_number(i64::from(may)))
    })?;
    register.add("x_quote_ident", 1, |context| {
        Ok(text(context, 0).and_then(|name| some_text(quote_ident(&name))))
    })?;
    register.add("x_parse_ident", 1, |context| {
        let Some(name) = text(context, 0) else {
            return Ok(None);
        };
        let parts = parse_ident(&name)
            .ok_or_else(|| failure(format!("string is not a valid identifier: {name:?}")))?;
        Ok(some_text(arrays::write(parts.into_iter().map(Some))))
    })?;
    register.add("x_setting", 2, |context| {
        let Some(name) = text(context, 0) else {
            return Ok(None);
        };
        match setting(&name) {
            Some(value) => Ok(some_text(value)),
            None if number(context, 1) == Some(1) => Ok(None),
            None => Err(failure(format!("unrecognized configuration parameter {name:?}"))),
        }
    })
}

/// What `regnamespace` writes for this number.
pub(super) fn schema_text(oid: i64) -> String {
    match Names::schema_of(oid) {
        Some(name) => name.to_owned(),
        None if oid == 0 => "-".to_owned(),
        None => oid.to_string(),
    }
}
