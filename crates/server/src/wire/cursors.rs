//! Cursors: `DECLARE` runs a query once. `FETCH` and `MOVE` walk through its answer, which costs nothing.

use super::shown::Table;
use super::statement::{Statement, understand};
use crate::failure::{Code, Failure};
use std::sync::Arc;

/// The most bytes of an answer that a cursor walks through: there must be room for statements beside it.
const MOST_BYTES: usize = 8 << 20;

/// A cursor: an answer, and a place in it.
#[derive(Debug)]
pub(super) struct Cursor {
    table: Arc<Table>,
    /// The row that it stands on, from 1; 0 is before the first, and one more than there are is after the
    /// last.
    at: usize,
    held: bool,
}

/// Where a cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// Over this many rows.
    Forward(usize),
    /// Over this many rows, the other way.
    Backward(usize),
    /// To a row, counted from the first or, if it is negative, from the last.
    Absolute(i64),
    /// To a row, counted from the current one.
    Relative(i64),
}

impl Cursor {
    /// A cursor before the first row. It may be `held` beyond its transaction.
    pub(super) fn new(table: Arc<Table>, held: bool) -> Result<Self, Failure> {
        if table.bytes() > MOST_BYTES {
            return Err(Failure::new(
                Code::TooLarge,
                "the answer is too large for a cursor",
                "send its SELECT by itself, which costs nothing now: the answer is saved",
            ));
        }
        Ok(Self { table, at: 0, held })
    }

    pub(super) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Goes there, and gives the places of the rows on the way, from 0.
    pub(super) fn go(&mut self, motion: Motion) -> Vec<usize> {
        let (at, count) = (self.at, self.table.rows.len());
        let after = count + 1;
        let places: Vec<usize> = match motion {
            Motion::Forward(0) | Motion::Backward(0) => vec![at],
            Motion::Forward(by) => {
                self.at = at.saturating_add(by).min(after);
                (at + 1..=self.at).collect()
            }
            Motion::Backward(by) => {
                self.at = at.saturating_sub(by);
                (self.at..at).rev().collect()
            }
            Motion::Absolute(place) => {
                let place = match place < 0 {
                    true => (after as i64).saturating_add(place),
                    false => place,
                };
                self.stand_at(place)
            }
            Motion::Relative(by) => self.stand_at((at as i64).saturating_add(by)),
        };
        places
            .into_iter()
            .filter_map(|place| place.checked_sub(1).filter(|row| *row < count))
            .collect()
    }

    fn stand_at(&mut self, place: i64) -> Vec<usize> {
        let place = usize::try_from(place).unwrap_or(0);
        self.at = place.min(self.table.rows.len() + 1);
        vec![self.at]
    }
}

/// A cursor that is not there.
pub(super) fn missing(name: &str) -> Failure {
    Failure::new(
        Code::NotFound,
        format!("there is no cursor {name:?}"),
        "declare it in the same transaction, or WITH HOLD; the answer of a question that was asked before costs nothing",
    )
}

/// The words of a statement about cursors.
struct Words<'a>(&'a str);

/// A word: as names are, and whether it was in quotes.
#[derive(Debug, PartialEq, Eq)]
struct Word {
    text: String,
    quoted: bool,
}

impl Word {
    fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.text.eq_ignore_ascii_case(keyword)
    }
}

impl<'a> Words<'a> {
    /// The words after the first one.
    fn after(plain: &'a str, first: &str) -> Self {
        Self(plain.get(first.len()..).unwrap_or_default())
    }

    /// What is left.
    fn rest(&self) -> &'a str {
        self.0.trim_start()
    }

    fn next_if(&mut self, keyword: &str) -> bool {
        let before = self.0;
        let found = self.next().is_some_and(|word| word.is(keyword));
        if !found {
            self.0 = before;
        }
        found
    }

    /// A whole number, perhaps with a sign.
    fn number(&mut self) -> Option<i64> {
        let rest = self.rest();
        let digits = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        let end = rest.len() - digits.len() + count;
        let number = rest[..end].parse().ok()?;
        self.0 = &rest[end..];
        Some(number)
    }

    /// The name that is left, and nothing after it.
    fn name(mut self) -> Option<String> {
        let name = self.next()?;
        self.rest()
            .trim_end_matches(';')
            .trim()
            .is_empty()
            .then_some(())?;
        Some(match name.quoted {
            true => name.text,
            false => name.text.to_lowercase(),
        })
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let rest = self.rest();
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut text = String::new();
            let mut chars = quoted.char_indices().peekable();
            while let Some((at, c)) = chars.next() {
                match c {
                    '"' if chars.next_if(|(_, c)| *c == '"').is_some() => text.push('"'),
                    '"' => {
                        self.0 = &quoted[at + 1..];
                        return Some(Word { text, quoted: true });
                    }
                    c => text.push(c),
                }
            }
            return None;
        }
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        self.0 = &rest[end..];
        (end > 0).then(|| Word {
            text: rest[..end].to_owned(),
            quoted: false,
        })
    }
}

/// `DECLARE name [[NO] SCROLL] CURSOR [WITH HOLD | WITHOUT HOLD] FOR SELECT …`
pub(super) fn declare(plain: &str) -> Result<Statement, Failure> {
    let unclear = || {
        Failure::new(
            Code::Syntax,
            "this DECLARE is not understood",
            "write DECLARE c CURSOR FOR SELECT …, and then FETCH 100 FROM c",
        )
    };
    let mut words = Words::after(plain, "DECLARE");
    let name = words.next().ok_or_else(unclear)?;
    let name = match name.quoted {
        true => name.text,
        false => name.text.to_lowercase(),
    };
    loop {
        let word = words.next().ok_or_else(unclear)?;
        match word {
            word if word.is("CURSOR") => break,
            word if ["ASENSITIVE", "INSENSITIVE", "NO", "SCROLL"]
                .iter()
                .any(|known| word.is(known)) => {}
            _ => return Err(unclear()),
        }
    }
    let hold = words.next_if("WITH");
    if (hold || words.next_if("WITHOUT")) && !words.next_if("HOLD") {
        return Err(unclear());
    }
    if !words.next_if("FOR") {
        return Err(unclear());
    }
    let select = words.rest().trim_end_matches(';').trim_end();
    match understand(select) {
        Ok(Statement::Select(select)) => Ok(Statement::Declare { name, select, hold }),
        Ok(_) => Err(unclear()),
        Err(failure) => Err(failure),
    }
}

/// `FETCH` and
/// `MOVE [NEXT | PRIOR | FIRST | LAST | ABSOLUTE n | RELATIVE n | n | ALL | FORWARD [n | ALL] | BACKWARD [n | ALL]] [FROM | IN] name`
pub(super) fn walk(plain: &str, first: &str) -> Result<(Motion, String), Failure> {
    let unclear = || {
        Failure::new(
            Code::Syntax,
            format!("this {first} is not understood"),
            format!("write {first} 100 FROM c, or {first} ALL FROM c"),
        )
    };
    let by = |count: i64| match count < 0 {
        true => Motion::Backward(usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX)),
        false => Motion::Forward(usize::try_from(count).unwrap_or(usize::MAX)),
    };
    // A word alone is the name, whatever it is.
    if let Some(name) = Words::after(plain, first).name() {
        return Ok((Motion::Forward(1), name));
    }
    let mut words = Words::after(plain, first);
    let motion = if let Some(count) = words.number() {
        by(count)
    } else if words.next_if("NEXT") {
        Motion::Forward(1)
    } else if words.next_if("PRIOR") {
        Motion::Backward(1)
    } else if words.next_if("FIRST") {
        Motion::Absolute(1)
    } else if words.next_if("LAST") {
        Motion::Absolute(-1)
    } else if words.next_if("ABSOLUTE") {
        Motion::Absolute(words.number().ok_or_else(unclear)?)
    } else if words.next_if("RELATIVE") {
        Motion::Relative(words.number().ok_or_else(unclear)?)
    } else if words.next_if("ALL") {
        Motion::Forward(usize::MAX)
    } else if words.next_if("FORWARD") {
        match (words.number(), words.next_if("ALL")) {
            (Some(count), _) => by(count),
            (None, true) => Motion::Forward(usize::MAX),
            (None, false) => Motion::Forward(1),
        }
    } else if words.next_if("BACKWARD") {
        match (words.number(), words.next_if("ALL")) {
            (Some(count), _) => by(count.saturating_neg()),
            (None, true) => Motion::Backward(usize::MAX),
            (None, false) => Motion::Backward(1),
        }
    } else {
        Motion::Forward(1)
    };
    let _ = words.next_if("FROM") || words.next_if("IN");
    Ok((motion, words.name().ok_or_else(unclear)?))
}

/// The name after `CLOSE` or `DEALLOCATE [PREPARE]`; `None` is all of them.
pub(super) fn named(plain: &str, first: &str) -> Result<Option<String>, Failure> {
    let mut words = Words::after(plain, first);
    if first == "DEALLOCATE" {
        let before = words.0;
        // A statement may be called that, too.
        if words.next_if("PREPARE") && words.rest().trim_end_matches(';').trim().is_empty() {
            words.0 = before;
        }
    }
    let before = words.0;
    if words.next_if("ALL") && words.rest().trim_end_matches(';').trim().is_empty() {
        return Ok(None);
    }
    words.0 = before;
    words.name().map(Some).ok_or_else(|| {
        Failure::new(
            Code::Syntax,
            format!("this {first} is not understood"),
            format!("write {first} name, or {first} ALL"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    fn cursor(count: usize) -> Cursor {
        let rows = (1..=count).map(|row| vec![Some(row.to_string())]).collect();
        let table = Table::new(Vec::new(), rows, &Memory::default().account("ann")).unwrap();
        Cursor::new(table, false).unwrap()
    }

    fn went(cursor: &mut Cursor, sql: &str) -> String {
        let (motion, name) = walk(sql, "FETCH").unwrap();
        assert_eq!(name, "c", "{sql}");
        let rows: Vec<String> = cursor
            .go(motion)
            .iter()
            .map(|row| (row + 1).to_string())
            .collect();
        rows.join(" ")
    }

    /// As PostgreSQL 15 answers the same statements, one after the other.
    #[test]
    fn a_cursor_goes_where_it_is_told() {
        let mut five = cursor(5);
        for (sql, rows) in [
            ("FETCH c", "1"),
            ("FETCH NEXT FROM c", "2"),
            ("FETCH 2 FROM c", "3 4"),
            ("FETCH 0 FROM c", "4"),
            ("FETCH FORWARD ALL IN c", "5"),
            ("FETCH NEXT c", ""),
            ("FETCH PRIOR FROM c", "5"),
            ("FETCH BACKWARD 2 FROM c", "4 3"),
            ("FETCH -1 FROM c", "2"),
            ("FETCH BACKWARD ALL FROM c", "1"),
            ("FETCH RELATIVE 0 FROM c", ""),
            ("FETCH ABSOLUTE 3 FROM c", "3"),
            ("FETCH ABSOLUTE -2 FROM c", "4"),
            ("FETCH RELATIVE -3 FROM c", "1"),
            ("FETCH LAST FROM \"c\"", "5"),
            ("FETCH FIRST FROM C;", "1"),
            ("FETCH ABSOLUTE 0 FROM c", ""),
            ("FETCH ALL FROM c", "1 2 3 4 5"),
            ("FETCH ABSOLUTE 99 FROM c", ""),
            ("FETCH BACKWARD FROM c", "5"),
            ("FETCH FORWARD 99 FROM c", ""),
            ("FETCH RELATIVE -9223372036854775808 FROM c", ""),
            ("FETCH RELATIVE 9223372036854775807 FROM c", ""),
            ("FETCH BACKWARD 9223372036854775807 FROM c", "5 4 3 2 1"),
        ] {
            assert_eq!(went(&mut five, sql), rows, "{sql}");
        }
        assert_eq!(went(&mut cursor(0), "FETCH ALL FROM c"), "");
    }

    #[test]
    fn cursors_are_declared_in_all_their_spellings() {
        let declared = |name: &str, select: &str, hold| {
            Ok(Statement::Declare {
                name: name.to_owned(),
                select: select.to_owned(),
                hold,
            })
        };
        assert_eq!(
            understand("DECLARE C CURSOR FOR SELECT 1"),
            declared("c", "SELECT 1", false)
        );
        assert_eq!(
            understand("declare \"My \"\"c\" no scroll cursor with hold for SELECT 1;"),
            declared("My \"c", "SELECT 1", true)
        );
        assert_eq!(
            understand("DECLARE \"c_1\" INSENSITIVE SCROLL CURSOR WITHOUT HOLD FOR (SELECT 1)"),
            declared("c_1", "(SELECT 1)", false)
        );
        for wrong in [
            "DECLARE",
            "DECLARE c",
            "DECLARE c CURSOR",
            "DECLARE c CURSOR FOR",
            "DECLARE c BINARY CURSOR FOR SELECT 1",
            "DECLARE c CURSOR WITH FOR SELECT 1",
            "DECLARE c CURSOR FOR DELETE FROM people",
            "DECLARE c CURSOR FOR SHOW timezone",
            "DECLARE \"c CURSOR FOR SELECT 1",
            "FETCH",
            "FETCH 1 FROM",
            "FETCH x FROM c",
            "FETCH ABSOLUTE FROM c",
            "FETCH 99999999999999999999 FROM c",
            "MOVE c d",
            "CLOSE",
            "CLOSE a b",
            "DEALLOCATE",
        ] {
            assert!(understand(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            understand("DEALLOCATE PREPARE \"S\""),
            Ok(Statement::Deallocate(Some("S".to_owned())))
        );
        assert_eq!(
            understand("DEALLOCATE prepare"),
            Ok(Statement::Deallocate(Some("prepare".to_owned())))
        );
        assert_eq!(understand("deallocate all;"), Ok(Statement::Deallocate(None)));
        assert_eq!(understand("CLOSE c"), Ok(Statement::Close(Some("c".to_owned()))));
        assert_eq!(understand("CLOSE ALL"), Ok(Statement::Close(None)));
    }
}
