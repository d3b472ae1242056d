//! Runs a statement on SQLite and writes the result as PostgreSQL would.

use rusqlite::types::ValueRef;

use super::Error;
use super::functions::{Stop, schema_text};
use super::names::{OWNER, OWNER_NAME, USER};
use super::store::Store;
use super::translate::{Output, Ty};

/// The most rows of an answer.
const MOST_ROWS: usize = 10_000;
/// The most bytes of an answer.
const MOST_BYTES: usize = 4_000_000;

/// Rows as text, and whether these are all.
type Answer = (Vec<Vec<Option<String>>>, bool);

impl Store {
    pub(super) fn rows(&mut self, output: &Output, user: &str, stop: &Stop) -> Result<Answer, Error> {
        self.work.begin(stop);
        self.show(user).map_err(|error| self.failed(&error))?;
        self.read(output, user)
    }

    fn read(&self, output: &Output, user: &str) -> Result<Answer, Error> {
        let failed = |error: rusqlite::Error| self.failed(&error);
        let mut statement = self.connection.prepare(&output.sql).map_err(failed)?;
        if !statement.readonly() {
            return Err(Error::unknown("a statement that writes"));
        }
        let mut found = statement.query([]).map_err(failed)?;
        let mut rows = Vec::new();
        let mut bytes = 0;
        while let Some(row) = found.next().map_err(failed)? {
            if rows.len() == MOST_ROWS {
                return Ok((rows, false));
            }
            let mut written = Vec::with_capacity(output.columns.len());
            for (at, (_, ty)) in output.columns.iter().enumerate() {
                let value = row.get_ref(at).map_err(failed)?;
                let value = self.written(value, *ty, user);
                bytes += size_of::<Option<String>>() + value.as_ref().map_or(0, String::len);
                written.push(value);
            }
            if bytes > MOST_BYTES {
                return Err(Error::limit(
                    "the answer is too large",
                    "ask for fewer rows or columns",
                ));
            }
            rows.push(written);
        }
        Ok((rows, true))
    }

    /// Checks that SQLite takes a statement.
    pub(super) fn prepare(&self, output: &Output, stop: &Stop) -> Result<(), Error> {
        self.work.begin(stop);
        let prepared = self.connection.prepare(&output.sql);
        prepared.map(|_| ()).map_err(|error| self.failed(&error))
    }

    /// Shows this login name in the catalogs of roles.
    fn show(&mut self, user: &str) -> rusqlite::Result<()> {
        if self.user == user {
            return Ok(());
        }
        for (table, column, key) in [
            ("pg_catalog.pg_authid", "rolname", "oid"),
            ("pg_catalog.pg_roles", "rolname", "oid"),
            ("pg_catalog.pg_user", "usename", "usesysid"),
            ("pg_catalog.pg_shadow", "usename", "usesysid"),
        ] {
            let sql = format!("UPDATE {table} SET {column} = ? WHERE {key} = ?");
            self.connection.execute(&sql, (user, USER))?;
        }
        self.connection.execute(
            "UPDATE information_schema.enabled_roles SET role_name = ?",
            [user],
        )?;
        user.clone_into(&mut self.user);
        Ok(())
    }

    /// A value in PostgreSQL's text format.
    fn written(&self, value: ValueRef<'_>, ty: Ty, user: &str) -> Option<String> {
        let text = match value {
            ValueRef::Null => return None,
            ValueRef::Integer(value) => match ty {
                Ty::Bool => if value == 0 { "f" } else { "t" }.to_owned(),
                Ty::RegClass => self.names.regclass_text(value),
                Ty::RegType => self.names.format_type(value, None),
                Ty::RegNamespace => schema_text(value),
                Ty::RegRole if value == OWNER => OWNER_NAME.to_owned(),
                Ty::RegRole if value == USER => user.to_owned(),
                Ty::RegProc => self.names.function_text(value),
                _ => value.to_string(),
            },
            ValueRef::Real(value) => value.to_string(),
            ValueRef::Text(value) | ValueRef::Blob(value) => String::from_utf8_lossy(value).into_owned(),
        };
        Some(text)
    }

    /// What SQLite refused, in words for the client.
    fn failed(&self, error: &rusqlite::Error) -> Error {
        use rusqlite::ErrorCode;
        if self.work.is_exhausted() {
            return Error::limit(
                "the statement does too much",
                "ask for fewer rows, join fewer catalogs, or use shorter texts and patterns",
            );
        }
        match error {
            rusqlite::Error::SqliteFailure(failure, message) => match (failure.code, message) {
                (ErrorCode::TooBig, _) => Error::limit("a text is too long", "ask for shorter texts"),
                (_, Some(message)) => plain(message),
                (_, None) => plain("it cannot be run"),
            },
            rusqlite::Error::SqlInputError { msg, .. } => plain(msg),
            rusqlite::Error::UserFunctionError(error) => plain(&error.to_string()),
            other => plain(&other.to_string()),
        }
    }
}

fn plain(message: &str) -> Error {
    Error::new(
        format!("the system catalogs cannot answer this statement: {message}"),
        "check the names and the types in it, or ask a simpler query",
    )
}
