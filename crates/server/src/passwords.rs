//! A catalog without the passwords in it, for pages: what a second curator reads before approving it.

use regex::{Captures, Regex};
use sql::catalog::without_password;
use std::borrow::Cow;
use std::sync::LazyLock;
use toml::{Table, Value};

/// The text shown in place of a password.
const HIDDEN: &str = "…";

/// The address of a database: a text of TOML that begins like one, or words without blanks elsewhere, as in a
/// comment.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    let text = r#""postgres(?:ql)?://(?:[^"\\\r\n]|\\.)*""#;
    let literal = r#"'postgres(?:ql)?://[^'\r\n]*'"#;
    let words = r#"postgres(?:ql)?://[^\s"']*"#;
    Regex::new(&format!("(?i){text}|{literal}|{words}")).expect("it is a regular expression")
});

/// The strings and the comments of TOML: what looks like one inside of another is none.
static PIECE: LazyLock<Regex> = LazyLock::new(|| {
    let texts = r#""""(?s:[^\\]|\\.)*?"{3,5}|"(?:[^"\\\n]|\\.)*""#;
    let literals = r"'''(?s:.)*?'{3,5}|'[^'\n]*'";
    Regex::new(&format!(r"{texts}|{literals}|#[^\n]*")).expect("it is a regular expression")
});

/// The address of whatever with something before an `@`. Only after a colon, as in a password, may it have
/// blanks. If the word goes on to another `@`, so does the password.
static CREDENTIALS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)([a-z][a-z0-9+.-]*)://(?:([^\s@:]*):[^@]*|[^\s@]*)@(?:[^\s@]*@)*")
        .expect("it is a regular expression")
});

/// A password by its name, as a parameter or a variable: up to the next blank or parameter that is not in
/// quotes. A name with a percent sign may be that of a password too.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"password|passwd|pwd|[?&][^\s=&]*%[^\s=&]*";
    let value = r#"(?:\\.?|"(?:[^"\\]|\\.?)*(?:"|$)|'(?:[^'\\]|\\.?)*(?:'|$)|[^\s&\\])*"#;
    Regex::new(&format!(r#"(?i)((?:{name})["']?\s*(?:=>?|:=?)\s*){value}"#))
        .expect("it is a regular expression")
});

/// The address of a database whose password is a variable of the environment.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([^:/]+://[^:@/?]*):\$\{[A-Za-z_][A-Za-z0-9_]*\}@").expect("it is a regular expression")
});

/// An address without its passwords; `None` if it has none. The name of a variable is no password, and which
/// one is sent where is to be seen.
fn hidden(address: &str) -> Option<String> {
    without_password(&VARIABLE.replace(address, "$1@"), HIDDEN)?;
    without_password(address, HIDDEN)
}

/// The text without the passwords of databases; `None` if these cannot be left out so that all the rest is
/// seen. Nobody approves what they cannot read, so everything that the text means must be in what is shown:
/// it is read again, and is the same but for the addresses.
pub(crate) fn readable(text: &str) -> Option<String> {
    let shown = without_passwords(text);
    let (before, after) = (text.parse::<Table>().ok()?, shown.parse::<Table>().ok()?);
    // What differs is found line by line.
    let as_many = text.lines().count() == shown.lines().count();
    (as_many && is_shown(&Value::Table(before), &Value::Table(after), false)).then_some(shown)
}

/// Whether all that a value means is seen: all of it, or, where it may be the address of a database, all but
/// the password.
fn is_shown(value: &Value, shown: &Value, may_be_address: bool) -> bool {
    match (value, shown) {
        (Value::String(value), Value::String(shown)) => {
            let address = value.starts_with("postgres://") || value.starts_with("postgresql://");
            match hidden(value).filter(|_| address && may_be_address) {
                Some(hidden) => *shown == hidden,
                None => shown == value,
            }
        }
        (Value::Array(value), Value::Array(shown)) => {
            value.len() == shown.len()
                && value
                    .iter()
                    .zip(shown)
                    .all(|(value, shown)| is_shown(value, shown, false))
        }
        (Value::Table(value), Value::Table(shown)) => {
            let same = |(key, value): (&String, &Value)| {
                let address = matches!(key.as_str(), "source" | "ledger");
                shown
                    .get(key)
                    .is_some_and(|shown| is_shown(value, shown, address))
            };
            value.len() == shown.len() && value.iter().all(same)
        }
        _ => value == shown,
    }
}

fn without_passwords(text: &str) -> String {
    let (mut shown, mut done) = (String::new(), 0);
    let pieces = PIECE.find_iter(text);
    for comment in pieces.filter(|piece| piece.as_str().starts_with('#')) {
        shown.push_str(&in_addresses(&text[done..comment.start()]));
        shown.push_str(&in_comment(comment.as_str()));
        done = comment.end();
    }
    shown.push_str(&in_addresses(&text[done..]));
    shown
}

/// Hides the passwords in the addresses of databases.
fn in_addresses(text: &str) -> Cow<'_, str> {
    let shown = |address: &str| hidden(address).unwrap_or_else(|| address.to_owned());
    ADDRESS.replace_all(text, |found: &Captures<'_>| {
        let found = &found[0];
        // The quotes around an address are no part of it.
        match found.chars().next().filter(|first| matches!(first, '"' | '\'')) {
            Some(quote) => format!("{quote}{}{quote}", shown(found.trim_matches(quote))),
            None => shown(found),
        }
    })
}

/// Hides whatever may be a password in a comment. Quotes in it are people's own, and close or do not; what it
/// says means nothing to a program, so rather too much is hidden.
fn in_comment(comment: &str) -> String {
    let shown = in_addresses(comment);
    let shown = CREDENTIALS.replace_all(&shown, |found: &Captures<'_>| {
        let scheme = &found[1];
        let database = ["postgres", "postgresql"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known));
        match found.get(2).filter(|_| database) {
            Some(user) => format!("{scheme}://{}:{HIDDEN}@", user.as_str()),
            // Elsewhere the name of a user may be a token.
            None => format!("{scheme}://{HIDDEN}@"),
        }
    });
    let shown = NAMED.replace_all(&shown, |found: &Captures<'_>| format!("{}{HIDDEN}", &found[1]));
    shown.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_whole_or_not_at_all() {
        let plain = "ledger = \"postgres://u:secret@h/d\" # ours\n[budget]\nepsilon = 1\n";
        assert_eq!(readable(plain).unwrap(), plain.replace("secret", "…"));
        assert_eq!(
            readable("[budget]\nepsilon = 1\n").unwrap(),
            "[budget]\nepsilon = 1\n"
        );
        let variable = "source = \"postgres://u:${OTHER}@h/d\"\n";
        assert_eq!(readable(variable).as_deref(), Some(variable));
        for hiding in [
            // A file by such a name, and values of a column, are no addresses.
            "source = \"POSTGRES://u:one@x.csv\"",
            "values = [\"postgres://u:one@h/d\"]",
            // Text between two quotes of different texts would look like a password.
            "values = ['\"postgres://h:', 'a', 'b', 'q@\"']",
            "values = [\"x'postgres://h:\", \"a\", \"q@'\"]",
            // The password would be seen.
            "ledger = \"postgres://u\\u003asecret@h/d\"",
            "a = \"\"\"\n# \"postgres://u:secret@h/d\"\n\"\"\"",
            "a = '''\n# 'postgres://u:secret@h/d'\n'''",
        ] {
            assert!(hiding.parse::<Table>().is_ok(), "{hiding}");
            assert_eq!(readable(hiding), None, "{hiding}");
        }
        // A comment is looked at by itself, and what is in a text is none.
        for whole in [
            "budget = { analysts = { '\"postgres://h:' = 0 }, epsilon = 1000, delta = 1e-3 } # @\"",
            "a = \"# x:// password=1\"\nb = '# x:// password=2'\n\"# password=\" = 3",
            "a = \"\"\"\n# password=1 \\\"\"\"\"\"\n# plain\nb = \"\\\"# password=2\"",
            "a = ''\nb = '''\n# password=1 '''''\n# plain",
        ] {
            assert!(whole.parse::<Table>().is_ok(), "{whole}");
            assert_eq!(readable(whole).as_deref(), Some(whole));
        }
    }

    #[test]
    fn passwords_in_comments_are_not_shown_whatever_quotes_are_around_them() {
        for (comment, shown) in [
            (
                "# source = \"postgres://ann:secret@db/x\"",
                "# source = \"postgres://ann:…@db/x\"",
            ),
            ("# was 'postgres://u:secret@h/d'", "# was 'postgres://u:…@h/d'"),
            ("# \"postgres://u:sec'ret@h/d\"", "# \"postgres://u:…@h/d\""),
            ("# 'postgres://u:sec\"ret@h/d'", "# 'postgres://u:…@h/d'"),
            // Quotes that are not closed, or closed too early.
            (
                "# ann's \"postgres://u:the secret@h/d",
                "# ann's \"postgres://u:…@h/d",
            ),
            ("# \"postgres://u:\"secret\"@h/d\"", "# \"postgres://u:…@h/d\""),
            ("# 'postgres://u:it's secret@h/d'", "# 'postgres://u:…@h/d'"),
            ("# postgres://u:se@secret@h/d", "# postgres://u:…@h/d"),
            ("# MySQL://u:secret@h/d", "# MySQL://…@h/d"),
            ("# https://secret@example.org/x", "# https://…@example.org/x"),
            ("# host=h password=secret user=u", "# host=h password=… user=u"),
            ("# PGPASSWORD = 'the secret' psql", "# PGPASSWORD = … psql"),
            ("# password='the secret", "# password=…"),
            ("# password: secret", "# password: …"),
            ("# \"password\" = \"the secret\", x", "# \"password\" = … x"),
            ("# password := secret", "# password := …"),
            ("# password => secret", "# password => …"),
            ("# password=the\\ secret", "# password=…"),
            ("# password=\"the secret\\", "# password=…"),
            (
                "# 'postgres://u@h/d?password=it's secret'",
                "# 'postgres://…@h/d?password=…",
            ),
            (
                "# postgres://h/d?p%61ssword=a'secret&a=1",
                "# postgres://h/d?p%61ssword=…",
            ),
            (
                "# jdbc:postgresql://h/d?sslpassword=secret&a=1",
                "# jdbc:postgresql://h/d?sslpassword=…&a=1",
            ),
        ] {
            let text = format!("a = 1 {comment}\n{comment}\nb = \"x\" {comment}");
            let expected = format!("a = 1 {shown}\n{shown}\nb = \"x\" {shown}");
            assert_eq!(readable(&text), Some(expected));
        }
        for comment in [
            "# ask ann@example.org",
            "# https://example.org/catalogs, or ask ann@example.org",
            "# postgres://host:5432/db has a password",
        ] {
            assert_eq!(readable(comment).as_deref(), Some(comment));
        }
    }

    #[test]
    fn passwords_of_databases_are_not_shown() {
        let text = "ledger = \"postgres://me:se:cret@host/db\" # was postgres://me:older@host/db\n\
             source = 'postgresql://u:p\"w@h/d'\n\
             source = \"postgres://u:it's \\\"mine\\\"@h/d?a=1\"\n\
             source = \"postgres://u@h/d?sslmode=require&password=hidden&a=1\"\n";
        assert_eq!(
            without_passwords(text),
            "ledger = \"postgres://me:…@host/db\" # was postgres://me:…@host/db\n\
             source = 'postgresql://u:…@h/d'\n\
             source = \"postgres://u:…@h/d?a=1\"\n\
             source = \"postgres://u@h/d?sslmode=require&password=…&a=1\"\n"
        );
        // Everything else stays as it is: a curator who approves a text has to see it.
        for text in [
            "a = \"postgres://host:5432/db\" # ask ann@example.org",
            "a = { b = \"postgres://host/db\", c = \"x@y\" }",
            "[tables.t.columns]\npassword = { kind = \"text\" }",
        ] {
            assert_eq!(without_passwords(text), text);
        }
    }
}
