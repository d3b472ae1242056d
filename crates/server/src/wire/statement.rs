//! The statements that a client of the PostgreSQL wire may send: a closed list.

use super::cursors::{self, Motion};
use super::text;
use crate::failure::{Code, Failure};

/// A statement that is understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// A query: of private tables, of the catalog, or of nothing.
    Select(String),
    /// `COPY (SELECT …) TO STDOUT`.
    Copy {
        /// The query.
        select: String,
        /// How rows are written.
        format: CopyFormat,
    },
    /// A query whose answer is walked through.
    Declare {
        /// The name of the cursor.
        name: String,
        /// The query.
        select: String,
        /// Whether it outlives its transaction.
        hold: bool,
    },
    /// Rows of a cursor.
    Fetch(Motion, String),
    /// A cursor goes on, without its rows.
    Move(Motion, String),
    /// A cursor is closed; without a name all of them.
    Close(Option<String>),
    /// A prepared statement is forgotten; without a name all of them.
    Deallocate(Option<String>),
    /// The connection is as it was in the beginning.
    DiscardAll,
    /// A setting of the connection.
    Set {
        /// Its name, in lower case.
        name: String,
        /// What it becomes; `None` is its default.
        value: Option<String>,
    },
    /// Every setting gets its default.
    ResetAll,
    /// A setting is asked for.
    Show(String),
    /// BEGIN and its relatives.
    Begin,
    /// COMMIT and its relatives.
    Commit,
    /// ROLLBACK and its relatives.
    Rollback,
    /// ROLLBACK TO a savepoint: the transaction goes on.
    RollbackTo,
    /// What drivers say and what changes nothing here: its tag.
    Nothing(&'static str),
}

impl Statement {
    /// The query that it asks.
    pub(super) fn select(&self) -> Option<&str> {
        match self {
            Self::Select(select) | Self::Copy { select, .. } | Self::Declare { select, .. } => Some(select),
            _ => None,
        }
    }
}

/// How COPY writes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyFormat {
    Text,
    Csv { header: bool },
    Binary,
}

/// Understands one statement.
pub(super) fn understand(sql: &str) -> Result<Statement, Failure> {
    let plain = text::without_comments(sql);
    // A query in parentheses is a query; nothing else begins with one.
    if plain.starts_with('(') {
        return Ok(Statement::Select(sql.to_owned()));
    }
    let words: Vec<String> = plain
        .split(|character: char| character.is_ascii_whitespace() || character == '(')
        .filter(|word| !word.is_empty())
        .take(4)
        .map(str::to_ascii_uppercase)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["SELECT" | "WITH" | "VALUES" | "TABLE", ..] => Ok(Statement::Select(sql.to_owned())),
        // A plan is asked for as an answer is.
        ["EXPLAIN", ..] => Ok(Statement::Select(sql.to_owned())),
        ["SHOW", "TABLES"] | ["SHOW", "COLUMNS", ..] | ["DESCRIBE" | "DESC", ..] => {
            Ok(Statement::Select(sql.to_owned()))
        }
        ["SHOW", ..] => Ok(Statement::Show(setting_name(after(&plain, "SHOW")))),
        ["SET", "TRANSACTION", ..] | ["SET", "SESSION", "CHARACTERISTICS", ..] => {
            Ok(Statement::Nothing("SET"))
        }
        ["SET", ..] => set(&plain),
        ["RESET", "ALL"] => Ok(Statement::ResetAll),
        ["RESET", name] => Ok(Statement::Set {
            name: setting_name(name),
            value: None,
        }),
        ["BEGIN", ..] | ["START", "TRANSACTION", ..] => Ok(Statement::Begin),
        ["COMMIT" | "END"] | ["COMMIT" | "END", "WORK" | "TRANSACTION"] => Ok(Statement::Commit),
        ["ROLLBACK" | "ABORT"] | ["ROLLBACK" | "ABORT", "WORK" | "TRANSACTION"] => Ok(Statement::Rollback),
        ["ROLLBACK" | "ABORT", "TO", ..] | ["ROLLBACK" | "ABORT", "WORK" | "TRANSACTION", "TO", ..] => {
            Ok(Statement::RollbackTo)
        }
        ["SAVEPOINT", ..] => Ok(Statement::Nothing("SAVEPOINT")),
        ["RELEASE", ..] => Ok(Statement::Nothing("RELEASE")),
        ["DISCARD", "ALL"] => Ok(Statement::DiscardAll),
        ["DISCARD", ..] => Ok(Statement::Nothing("DISCARD")),
        ["DEALLOCATE", ..] => Ok(Statement::Deallocate(cursors::named(&plain, "DEALLOCATE")?)),
        ["UNLISTEN", ..] => Ok(Statement::Nothing("UNLISTEN")),
        ["DECLARE", ..] => cursors::declare(&plain),
        ["FETCH", ..] => cursors::walk(&plain, "FETCH").map(|(motion, name)| Statement::Fetch(motion, name)),
        ["MOVE", ..] => cursors::walk(&plain, "MOVE").map(|(motion, name)| Statement::Move(motion, name)),
        ["CLOSE", ..] => Ok(Statement::Close(cursors::named(&plain, "CLOSE")?)),
        ["COPY", ..] => copy(&plain),
        _ => Err(Failure::new(
            Code::Refused,
            "this statement is not among those that Deniable answers",
            "send one SELECT, EXPLAIN SELECT …, COPY (SELECT …) TO STDOUT, or SET deniable.epsilon = 0.1",
        )),
    }
}

/// What follows the first word of a statement.
fn after<'a>(plain: &'a str, word: &str) -> &'a str {
    plain.get(word.len()..).unwrap_or_default()
}

/// A name of a setting as people write it: quotes and case do not matter.
fn setting_name(text: &str) -> String {
    let text = text.trim_end_matches(';').trim();
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.replace('"', "").to_lowercase())
        .collect();
    match words.join(" ").as_str() {
        "time zone" => "timezone".to_owned(),
        "transaction isolation level" => "transaction_isolation".to_owned(),
        "session authorization" => "session_authorization".to_owned(),
        name => name.to_owned(),
    }
}

/// `SET [SESSION | LOCAL] name { = | TO } value`, and the spellings of SQL for time zones and names.
fn set(plain: &str) -> Result<Statement, Failure> {
    let unclear = || {
        Failure::new(
            Code::Syntax,
            "this SET is not understood",
            "write SET deniable.epsilon = 0.1, or SET deniable.epsilon TO DEFAULT",
        )
    };
    let mut rest = after(plain, "SET").trim().trim_end_matches(';').trim();
    for scope in ["SESSION ", "LOCAL "] {
        if rest
            .get(..scope.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scope))
        {
            rest = rest[scope.len()..].trim();
        }
    }
    let upper = rest.to_ascii_uppercase();
    let (name, value) = if upper.starts_with("TIME ZONE ") {
        ("timezone", &rest["TIME ZONE ".len()..])
    } else if upper.starts_with("NAMES ") {
        ("client_encoding", &rest["NAMES ".len()..])
    } else if let Some((name, value)) = rest.split_once('=') {
        (name, value)
    } else {
        let at = upper.find(" TO ").ok_or_else(unclear)?;
        // Upper case may be longer than what was written only outside of ASCII, where no setting has its
        // name.
        let (name, value) = (rest.get(..at), rest.get(at + 4..));
        name.zip(value).ok_or_else(unclear)?
    };
    let name = setting_name(name);
    if name.is_empty() || name.contains(' ') {
        return Err(unclear());
    }
    let value = value.trim();
    let value = match value
        .strip_prefix('\'')
        .and_then(|value| value.strip_suffix('\''))
    {
        Some(quoted) => Some(quoted.replace("''", "'")),
        None if value.eq_ignore_ascii_case("default") => None,
        None => Some(value.replace('"', "")),
    };
    Ok(Statement::Set { name, value })
}

/// `COPY (SELECT …) TO STDOUT [[WITH] (FORMAT …, HEADER …)]`, and the older `WITH BINARY` and
/// `WITH CSV HEADER`.
fn copy(plain: &str) -> Result<Statement, Failure> {
    let refused = || {
        Failure::new(
            Code::Refused,
            "of COPY, only COPY (SELECT …) TO STDOUT is answered",
            "write COPY (SELECT …) TO STDOUT, with FORMAT text, csv or binary; files of the server are neither read nor written",
        )
    };
    let rest = after(plain, "COPY").trim_start();
    let inner = rest.strip_prefix('(').ok_or_else(refused)?;
    let end = closing(inner).ok_or_else(refused)?;
    let select = inner[..end].trim().to_owned();
    if !matches!(understand(&select), Ok(Statement::Select(_))) {
        return Err(refused());
    }
    let after = inner[end + 1..].trim().trim_end_matches(';').trim();
    let mut words = after
        .split(|character: char| character.is_whitespace() || "(),".contains(character))
        .filter(|word| !word.is_empty())
        .map(str::to_uppercase);
    if (words.next().as_deref(), words.next().as_deref()) != (Some("TO"), Some("STDOUT")) {
        return Err(refused());
    }
    let (mut format, mut header) = (CopyFormat::Text, false);
    let options: Vec<String> = words.filter(|word| word != "WITH" && word != "FORMAT").collect();
    let mut options = options.iter().map(|option| option.trim_matches('\'')).peekable();
    while let Some(option) = options.next() {
        match option {
            "TEXT" => format = CopyFormat::Text,
            "CSV" => format = CopyFormat::Csv { header: false },
            "BINARY" => format = CopyFormat::Binary,
            "HEADER" => {
                header = true;
                if let Some(value) =
                    options.next_if(|value| matches!(*value, "TRUE" | "FALSE" | "ON" | "OFF" | "1" | "0"))
                {
                    header = matches!(value, "TRUE" | "ON" | "1");
                }
            }
            _ => return Err(refused()),
        }
    }
    Ok(match (format, header) {
        (CopyFormat::Csv { .. }, header) => Statement::Copy {
            select,
            format: CopyFormat::Csv { header },
        },
        (_, true) => return Err(refused()),
        (format, false) => Statement::Copy { select, format },
    })
}

/// Where the parenthesis that was opened before this text closes.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_is_refused() {
        for sql in [
            "INSERT INTO people VALUES (1)",
            "UPDATE people SET age = 1",
            "DELETE FROM people",
            "DROP TABLE people",
            "CREATE TABLE x (y int)",
            "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
            "COPY people TO STDOUT",
            "COPY people FROM STDIN",
            "COPY (SELECT 1) TO '/tmp/x'",
            "COPY (SELECT 1) TO PROGRAM 'sh'",
            "COPY (DELETE FROM people) TO STDOUT",
            "COPY (SELECT 1) TO STDOUT (DELIMITER '|')",
            "CALL f()",
            "DO $$ BEGIN END $$",
            "PREPARE x AS SELECT 1",
            "EXECUTE x",
            "LISTEN x",
            "LOCK TABLE people",
            "VACUUM",
            "GRANT ALL ON people TO ann",
            "ROLLBACK PREPARED 'a'",
            "COMMIT PREPARED 'a'",
            "/* SELECT */ DROP TABLE people",
            "",
            "\u{0}",
            "\u{17f}et x=1",
            "SET \u{3000}",
        ] {
            assert!(understand(sql).is_err(), "{sql}");
        }
    }

    #[test]
    fn settings_are_read_in_all_their_spellings() {
        let set = |name: &str, value: Option<&str>| Statement::Set {
            name: name.to_owned(),
            value: value.map(str::to_owned),
        };
        for sql in [
            "SET deniable.epsilon = 0.1",
            "set deniable.epsilon to '0.1'",
            "SET SESSION deniable.epsilon TO 0.1;",
            "/* x */ SET LOCAL \"deniable.epsilon\" = '0.1'",
        ] {
            assert_eq!(understand(sql), Ok(set("deniable.epsilon", Some("0.1"))), "{sql}");
        }
        assert_eq!(
            understand("SET TIME ZONE 'UTC'"),
            Ok(set("timezone", Some("UTC")))
        );
        assert_eq!(
            understand("RESET deniable.epsilon"),
            Ok(set("deniable.epsilon", None))
        );
        assert_eq!(
            understand("SET deniable.epsilon TO DEFAULT"),
            Ok(set("deniable.epsilon", None))
        );
        assert_eq!(
            understand("SHOW TRANSACTION ISOLATION LEVEL"),
            Ok(Statement::Show("transaction_isolation".to_owned()))
        );
        assert!(understand("SET").is_err() && understand("SET x").is_err());
    }

    #[test]
    fn nothing_makes_it_stumble() {
        let parts = [
            "(",
            "\u{3000}",
            "SHOW",
            "SET",
            "COPY",
            "TO",
            " ",
            "=",
            "'",
            "x",
            "RESET",
            "TIME ZONE ",
            "é",
            ")",
            "STDOUT",
        ];
        let mut state = 3_u64;
        for _ in 0..50_000 {
            let mut text = String::new();
            for _ in 0..6 {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                text.push_str(parts[(state >> 33) as usize % parts.len()]);
            }
            let _ = understand(&text);
        }
    }

    #[test]
    fn copies_are_read() {
        let copy = |format| Statement::Copy {
            select: "SELECT ')' FROM (SELECT 1) x".to_owned(),
            format,
        };
        let sql = |options: &str| format!("COPY (SELECT ')' FROM (SELECT 1) x) TO STDOUT {options}");
        assert_eq!(understand(&sql("")), Ok(copy(CopyFormat::Text)));
        assert_eq!(understand(&sql("(FORMAT binary)")), Ok(copy(CopyFormat::Binary)));
        assert_eq!(
            understand(&sql("WITH (FORMAT CSV, HEADER true);")),
            Ok(copy(CopyFormat::Csv { header: true }))
        );
        assert_eq!(
            understand(&sql("WITH CSV HEADER")),
            Ok(copy(CopyFormat::Csv { header: true }))
        );
        assert_eq!(understand(&sql("WITH BINARY")), Ok(copy(CopyFormat::Binary)));
    }
}
