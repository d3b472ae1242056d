//! The same query from a program: as psql, Python and curl ask it.

use super::super::layout::name;
use crate::service::{Identity, Question, Service};
use axum::http::{HeaderMap, header};
use maud::{Markup, html};
use report::legal;
use serde_json::json;

pub(super) fn shown(service: &Service, who: &Identity, headers: &HeaderMap, question: &Question) -> Markup {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or("localhost:8443");
    let ways = [
        ("psql", psql(service, who, host, question)),
        ("Python", python(host, question)),
        ("curl", curl(host, question)),
    ];
    html! {
        section class="elsewhere" {
            h2 { "Use it from psql, Python or curl" }
            p class="quiet" { "Asked again it is free, through every entrance. " code { "TOKEN" } " is a token of yours (" (name(who.name())) ")." }
            @for (way, text) in ways {
                details {
                    summary { "from " (way) }
                    div class="copied" {
                        pre id={ "as-" (way) } { (legal(&text)) }
                        button type="button" data-copy={ "as-" (way) } hidden { "Copy" }
                    }
                }
            }
        }
    }
}

fn psql(service: &Service, who: &Identity, host: &str, question: &Question) -> String {
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let port = service.wire_port().unwrap_or(5433);
    let epsilon = match &question.epsilon {
        Some(epsilon) => format!(" options='-c deniable.epsilon={epsilon}'"),
        None => String::new(),
    };
    let address = format!(
        "host={host} port={port} user={} dbname={} sslmode=verify-full sslrootcert=server.crt{epsilon}",
        quoted(who.name()),
        quoted(&service.dataset().catalog().name),
    );
    format!(
        "PGPASSWORD=TOKEN psql {} -c {}",
        in_shell(&address),
        in_shell(&question.sql)
    )
}

/// A value of libpq's, in its own quotes where it needs them.
fn quoted(value: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "-_.@".contains(character);
    match !value.is_empty() && value.chars().all(plain) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'")),
    }
}

fn python(host: &str, question: &Question) -> String {
    // A text of JSON is one of Python too.
    let text = |value: &str| json!(value).to_string();
    let epsilon = match &question.epsilon {
        Some(epsilon) => format!(", epsilon={}", text(epsilon)),
        None => String::new(),
    };
    format!(
        "import deniable\n\nds = deniable.connect({}, token=\"TOKEN\", certificate=\"server.crt\")\nds.sql({}{epsilon}).to_pandas()",
        text(&format!("https://{host}")),
        text(&question.sql),
    )
}

fn curl(host: &str, question: &Question) -> String {
    let body = match &question.epsilon {
        Some(epsilon) => json!({ "sql": question.sql, "epsilon": epsilon }),
        None => json!({ "sql": question.sql }),
    };
    format!(
        "curl --cacert server.crt {} \\\n  -H 'Authorization: Bearer TOKEN' -H 'Content-Type: application/json' \\\n  -d {}",
        in_shell(&format!("https://{host}/v1/query")),
        in_shell(&body.to_string())
    )
}

/// One word of a shell, whatever is in it.
fn in_shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_one_word_for_who_reads_them() {
        assert_eq!(in_shell("it's; rm -rf $HOME"), r"'it'\''s; rm -rf $HOME'");
        assert_eq!(quoted("ann"), "ann");
        assert_eq!(quoted("a b'c"), r"'a b\'c'");
        let hostile = Question::new("SELECT '\"\n\\' -- $(reboot)");
        assert!(python("h", &hostile).contains(r#"ds.sql("SELECT '\"\n\\' -- $(reboot)")"#));
    }
}
