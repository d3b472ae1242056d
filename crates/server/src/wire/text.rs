//! SQL as text: finds where statements end and where parameters are. For that it only needs to know what is
//! quoted.

/// A piece of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    /// Outside of quotes and comments.
    Code(&'a str),
    /// A string, a quoted name, or a comment.
    Opaque(&'a str),
    /// `$1`, by its number.
    Parameter(usize),
    /// The end of a statement.
    Semicolon,
}

/// The pieces of SQL, in order; nothing is left out.
fn pieces(sql: &str) -> Vec<Piece<'_>> {
    let bytes = sql.as_bytes();
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let opaque = opaque_end(sql, at);
        let parameter = parameter_end(bytes, at);
        let end = match (opaque, parameter) {
            (Some(end), _) | (None, Some((end, _))) => end,
            (None, None) if bytes[at] == b';' => at + 1,
            (None, None) => {
                at += 1;
                continue;
            }
        };
        if start < at {
            pieces.push(Piece::Code(&sql[start..at]));
        }
        pieces.push(match (opaque, parameter) {
            (Some(_), _) => Piece::Opaque(&sql[at..end]),
            (None, Some((_, number))) => Piece::Parameter(number),
            (None, None) => Piece::Semicolon,
        });
        (start, at) = (end, end);
    }
    if start < bytes.len() {
        pieces.push(Piece::Code(&sql[start..]));
    }
    pieces
}

/// Where a string, a quoted name or a comment that begins here ends.
fn opaque_end(sql: &str, at: usize) -> Option<usize> {
    let bytes = sql.as_bytes();
    let rest = &bytes[at..];
    match rest {
        [b'\'', ..] => {
            let escapes =
                at > 0 && matches!(bytes[at - 1], b'e' | b'E') && (at < 2 || !is_word(bytes[at - 2]));
            Some(quoted_end(bytes, at, b'\'', escapes))
        }
        [b'"', ..] => Some(quoted_end(bytes, at, b'"', false)),
        [b'-', b'-', ..] => Some(
            rest.iter()
                .position(|&byte| byte == b'\n')
                .map_or(bytes.len(), |end| at + end),
        ),
        [b'/', b'*', ..] => Some(comment_end(bytes, at)),
        [b'$', ..] if at == 0 || !is_word(bytes[at - 1]) => {
            // $tag$ … $tag$
            let tag = rest[1..].iter().position(|&byte| byte == b'$')?;
            let word = &rest[1..=tag];
            let names = word.first().is_none_or(|first| !first.is_ascii_digit())
                && word.iter().all(|&byte| is_word(byte));
            if !names {
                return None;
            }
            let delimiter = &sql[at..at + tag + 2];
            let body = at + delimiter.len();
            Some(
                sql[body..]
                    .find(delimiter)
                    .map_or(bytes.len(), |end| body + end + delimiter.len()),
            )
        }
        _ => None,
    }
}

fn quoted_end(bytes: &[u8], start: usize, quote: u8, escapes: bool) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        if escapes && bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at] == quote {
            if bytes.get(at + 1) == Some(&quote) {
                at += 2;
            } else {
                return at + 1;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// Comments nest, as in PostgreSQL.
fn comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end and the number of a parameter that begins here.
fn parameter_end(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    if bytes[at] != b'$' || at > 0 && is_word(bytes[at - 1]) {
        return None;
    }
    let digits = bytes[at + 1..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let number = std::str::from_utf8(&bytes[at + 1..at + 1 + digits])
        .ok()?
        .parse()
        .ok()?;
    Some((at + 1 + digits, number))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The statements of a message, without what is only space and comments.
pub(super) fn statements(sql: &str) -> Vec<String> {
    let mut statements = vec![(String::new(), false)];
    for piece in pieces(sql) {
        let Some((text, meant)) = statements.last_mut() else {
            break;
        };
        match piece {
            Piece::Code(code) => {
                text.push_str(code);
                *meant |= !code.trim().is_empty();
            }
            Piece::Opaque(quoted) => {
                text.push_str(quoted);
                *meant |= !quoted.starts_with("--") && !quoted.starts_with("/*");
            }
            Piece::Parameter(number) => {
                text.push_str(&format!("${number}"));
                *meant = true;
            }
            Piece::Semicolon => statements.push((String::new(), false)),
        }
    }
    statements
        .into_iter()
        .filter(|(_, meant)| *meant)
        .map(|(text, _)| text.trim().to_owned())
        .collect()
}

/// The largest number of a parameter; 0 if there is none.
pub(super) fn parameters(sql: &str) -> usize {
    let numbers = pieces(sql).into_iter().filter_map(|piece| match piece {
        Piece::Parameter(number) => Some(number),
        _ => None,
    });
    numbers.max().unwrap_or(0)
}

/// The SQL with literals in place of its parameters; `None` if one is missing, or it becomes longer than
/// `most` bytes.
pub(super) fn bound(sql: &str, literals: &[String], most: usize) -> Option<String> {
    let mut text = String::with_capacity(sql.len());
    for piece in pieces(sql) {
        if text.len() > most {
            return None;
        }
        match piece {
            Piece::Code(part) | Piece::Opaque(part) => text.push_str(part),
            Piece::Semicolon => text.push(';'),
            Piece::Parameter(number) => {
                // In parentheses, so that a negative number is not a subtraction or a comment with what
                // stands before it.
                let literal = literals.get(number.checked_sub(1)?)?;
                text.push_str(&format!("({literal})"));
            }
        }
    }
    (text.len() <= most).then_some(text)
}

/// The code outside of comments, in which a few words decide what a statement is. Quoted parts stay.
pub(super) fn without_comments(sql: &str) -> String {
    let parts = pieces(sql).into_iter().map(|piece| match piece {
        Piece::Opaque(part) if part.starts_with("--") || part.starts_with("/*") => " ".to_owned(),
        Piece::Code(part) | Piece::Opaque(part) => part.to_owned(),
        Piece::Parameter(number) => format!("${number}"),
        Piece::Semicolon => ";".to_owned(),
    });
    parts.collect::<String>().trim().to_owned()
}

/// A text as a literal.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_where_nothing_is_quoted() {
        let sql = "SELECT ';' ; -- a;b\n SELECT \"x;y\", $a$ ; $a$, E'\\';' /* ; /* ; */ ; */ ; ;  ";
        let found = statements(sql);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], "SELECT ';'");
        assert!(found[1].contains("SELECT \"x;y\""), "{found:?}");
        assert!(statements(" ; -- nothing\n;/* */").is_empty());
    }

    #[test]
    fn parameters_are_replaced_outside_of_quotes() {
        let sql = "SELECT '$1', \"$2\", $1, a$1, $2 -$1 -- $3";
        assert_eq!(parameters(sql), 2);
        let text = bound(sql, &["-1".to_owned(), literal("o'clock")], 1000).unwrap();
        assert_eq!(text, "SELECT '$1', \"$2\", (-1), a$1, ('o''clock') -(-1) -- $3");
        assert_eq!(bound("SELECT $3", &["1".to_owned()], 1000), None);
        assert_eq!(bound("SELECT $1, $1, $1", &["1".repeat(400)], 1000), None);
        assert_eq!(bound("SELECT $0", &["1".to_owned()], 1000), None);
    }

    #[test]
    fn no_text_makes_it_stumble() {
        let parts = [
            "'", "\"", "$", "$1", "$a$", "--", "/*", "*/", ";", "é", "\n", "E'", "\\", "x",
        ];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                text.push_str(parts[(state >> 33) as usize % parts.len()]);
            }
            statements(&text);
            parameters(&text);
            bound(&text, &["1".to_owned()], 1000);
            without_comments(&text);
        }
    }
}
