//! Addresses of databases, without the passwords in them.

/// The parameters of an address that are passwords: of the user, and of the key of a client's certificate.
const SECRET: [&str; 2] = ["password", "sslpassword"];

/// The address of a database (`postgres://…`) with `instead` in the place of each password; `None` where it has none.
///
/// It is taken apart as the driver does it: what is before the first `@` are the user and, after a colon, the password; parameters follow a question mark. So what is hidden is what the driver takes for a
/// password, and nothing else of an address.
/// ```
/// use sql::catalog::without_password;
///
/// assert_eq!(without_password("postgres://ann:secret@db/x", "…").as_deref(), Some("postgres://ann:…@db/x"));
/// assert_eq!(without_password("postgres://ann@db/x?password=secret", "…").as_deref(), Some("postgres://ann@db/x?password=…"));
/// assert_eq!(without_password("postgres://db/x", "…"), None);
/// ```
pub fn without_password(address: &str, instead: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let mut found = false;
    let (user, rest) = match rest.split_once('@') {
        Some((credentials, host)) if credentials.contains(':') => {
            found = true;
            let user = credentials.split(':').next().unwrap_or_default();
            (format!("{user}:{instead}@"), host)
        }
        // An `@` that is in a password has to be written otherwise, and where it is not, the parameters are still looked at.
        _ => (String::new(), rest),
    };
    let rest = match rest.split_once('?') {
        None => rest.to_owned(),
        Some((place, parameters)) => {
            let shown: Vec<String> = parameters
                .split('&')
                .map(|parameter| match parameter.split_once('=') {
                    Some((name, _)) if is_secret(name) => {
                        found = true;
                        format!("{name}={instead}")
                    }
                    _ => parameter.to_owned(),
                })
                .collect();
            format!("{place}?{}", shown.join("&"))
        }
    };
    found.then(|| format!("{scheme}://{user}{rest}"))
}

/// Whether a parameter of this name is a password. The driver decodes names, so `p%61ssword` is one.
fn is_secret(name: &str) -> bool {
    let mut decoded = Vec::new();
    let mut bytes = name.bytes();
    while let Some(byte) = bytes.next() {
        let mut rest = bytes.clone();
        let digits = (byte == b'%').then(|| (rest.next(), rest.next()));
        match digits {
            Some((Some(first), Some(second))) if first.is_ascii_hexdigit() && second.is_ascii_hexdigit() => {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default() as u8;
                decoded.push(digit(first) * 16 + digit(second));
                bytes = rest;
            }
            _ => decoded.push(byte),
        }
    }
    SECRET
        .iter()
        .any(|secret| decoded.eq_ignore_ascii_case(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_replaced_wherever_they_stand() {
        for (address, shown) in [
            ("postgres://me:se:cret@host/db", "postgres://me:…@host/db"),
            (
                "postgresql://u:p'q\"r s@h:5432/d?a=b",
                "postgresql://u:…@h:5432/d?a=b",
            ),
            ("postgres://:x@h/d", "postgres://:…@h/d"),
            (
                "postgres://h/d?p%61ssword=x&a=%",
                "postgres://h/d?p%61ssword=…&a=%",
            ),
            ("postgres://u@h/d?password=secret", "postgres://u@h/d?password=…"),
            (
                "postgres://u:one@h/d?a=1&PassWord=two@x&b=2",
                "postgres://u:…@h/d?a=1&PassWord=…&b=2",
            ),
            (
                "postgres://h/d?user=u&password=secret&sslpassword=other",
                "postgres://h/d?user=u&password=…&sslpassword=…",
            ),
            ("postgres://h/d?password=", "postgres://h/d?password=…"),
            ("postgres://h/d?password=a@b", "postgres://h/d?password=…"),
        ] {
            assert_eq!(
                without_password(address, "…").as_deref(),
                Some(shown),
                "{address}"
            );
        }
    }

    #[test]
    fn what_has_no_password_stays_as_it_is() {
        for address in [
            "postgres://host:5432/db",
            "postgres://me@host/db?application_name=password",
            "postgres://me@host/db?passwords=1",
            "people.csv",
            "",
        ] {
            assert_eq!(without_password(address, "…"), None, "{address}");
        }
    }
}
