//! Names of tables in a database, as SQL quotes them.

/// `name`, `schema.name` or `"a.b".name`, quoted for SQL; `None` when it is none of them.
pub(crate) fn quoted_name(name: &str) -> Option<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut letters = name.chars().peekable();
    loop {
        if part.is_empty() && letters.peek() == Some(&'"') {
            letters.next();
            loop {
                match letters.next()? {
                    '"' if letters.peek() == Some(&'"') => part.extend(letters.next()),
                    '"' => break,
                    letter => part.push(letter),
                }
            }
            if letters.peek().is_some_and(|&next| next != '.') {
                return None;
            }
        }
        match letters.next() {
            Some(letter) if letter != '.' => part.push(letter),
            end => {
                if part.is_empty() || part.contains('\0') {
                    return None;
                }
                parts.push(quoted(&std::mem::take(&mut part)));
                if end.is_none() {
                    break;
                }
            }
        }
    }
    (parts.len() <= 2).then(|| parts.join("."))
}

/// A part of a name, quoted so that it is taken as it is.
pub(crate) fn quoted(part: &str) -> String {
    format!("\"{}\"", part.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quoted_name;

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted_name("people").as_deref(), Some("\"people\""));
        assert_eq!(
            quoted_name("clinic.People").as_deref(),
            Some("\"clinic\".\"People\"")
        );
        assert_eq!(quoted_name("\"a.b\".c").as_deref(), Some("\"a.b\".\"c\""));
        assert_eq!(
            quoted_name("\"say \"\"hi\"\"\"").as_deref(),
            Some("\"say \"\"hi\"\"\"")
        );
        assert_eq!(
            quoted_name("x; drop table y").as_deref(),
            Some("\"x; drop table y\"")
        );
        for wrong in ["", ".", "a.", ".a", "a.b.c", "\"a", "\"a\"b", "\"\"", "a\0"] {
            assert_eq!(quoted_name(wrong), None, "{wrong:?}");
        }
    }
}
