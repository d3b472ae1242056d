//! What all pages share: a head, navigation, and how names and failures are shown.

use super::{assets, drawn};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use crate::http::Audience;
use crate::service::{Identity, Service};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use report::legal;

/// The pages to navigate to, and the right that each needs.
type Places = &'static [(&'static str, &'static str, Right)];

const ANALYSTS: Places = &[
    ("/", "Ask", Right::Ask),
    ("/tables", "Tables", Right::Ask),
    ("/releases", "Releases", Right::Ask),
    ("/synthetic", "Synthetic rows", Right::Ask),
    ("/models", "Models", Right::Ask),
    ("/history", "History", Right::Ask),
];
const CURATORS: Places = &[
    ("/", "Budget", Right::ReadLedger),
    ("/accounts", "Accounts", Right::ReadLedger),
    ("/releases", "Releases", Right::ReadLedger),
    ("/synthetic", "Synthetic rows", Right::ReadLedger),
    ("/requests", "Requests", Right::ReadLedger),
    ("/log", "Log", Right::ReadLedger),
    ("/catalog", "Catalog", Right::Keep),
    ("/meaning", "What ε means", Right::ReadLedger),
    ("/card", "Card", Right::ReadLedger),
];

/// The person who looks, and at which page.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// Its name is shown to people who signed in.
    dataset: Option<&'a str>,
    audience: Audience,
    who: Option<&'a Identity>,
    /// The place in which they are.
    here: &'a str,
}

impl<'a> View<'a> {
    pub(super) fn signed_out(audience: Audience) -> Self {
        Self {
            dataset: None,
            audience,
            who: None,
            here: "",
        }
    }

    pub(super) fn of(service: &'a Service, audience: Audience, who: &'a Identity, here: &'a str) -> Self {
        Self {
            dataset: Some(&service.dataset().catalog().name),
            who: Some(who),
            here,
            ..Self::signed_out(audience)
        }
    }

    fn places(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let places = match self.audience {
            Audience::Analysts => ANALYSTS,
            Audience::Curators => CURATORS,
        };
        let who = self.who;
        let open = places
            .iter()
            .filter(move |(_, _, right)| who.is_some_and(|who| who.may(*right)));
        open.map(|(path, name, _)| (*path, *name))
    }

    /// The whole page.
    pub(super) fn page(&self, title: &str, body: Markup) -> Markup {
        let head = html! {
            header class="top" {
                a class="brand" href="/" { "Deniable" }
                @if let Some(dataset) = self.dataset { span class="dataset" { (name(dataset)) } }
                @if self.audience == Audience::Curators { span class="badge" { "curators" } }
                nav aria-label="pages" {
                    @for (path, place) in self.places() {
                        a href=(path) aria-current=[(path == self.here).then_some("page")] { (place) }
                    }
                }
                @if let Some(who) = self.who {
                    form method="post" action="/sign-out" class="who" {
                        span title=(who.role().name()) { (name(who.name())) }
                        button type="submit" class="quiet" { "Sign out" }
                    }
                }
            }
        };
        document(title, head, body)
    }
}

fn document(title: &str, head: Markup, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (legal(title)) " · Deniable" }
                link rel="icon" href=(assets::icon());
                link rel="stylesheet" href=(assets::style());
                script src=(assets::script()) defer {}
            }
            body {
                a class="skip" href="#content" { "Skip to the content" }
                (head)
                main id="content" { (body) }
            }
        }
    }
}

/// A page that says why there is none.
pub(super) fn failed(failure: &Failure) -> Markup {
    let title = match failure.code {
        Code::NotFound => "Not here",
        _ => "That did not work",
    };
    titled(title, failure)
}

/// The same under a title that says more.
pub(super) fn titled(title: &str, failure: &Failure) -> Markup {
    let head = html! { header class="top" { a class="brand" href="/" { "Deniable" } } };
    let body = html! {
        div class="narrow" {
            h1 { (title) }
            (problem(failure))
            p { a href="/" { "Back to the first page" } }
        }
    };
    document(title, head, body)
}

/// Why something was refused, and what to do.
pub(super) fn problem(failure: &Failure) -> Markup {
    html! {
        div class="problem" role="alert" {
            p class="what" { (sentence(&failure.what)) }
            @if !failure.hint.is_empty() {
                p class="hint" { (sentence(&failure.hint)) }
            }
        }
    }
}

/// A message as a sentence: it begins in lower case, and quotes words of a question in backticks.
pub(super) fn sentence(text: &str) -> Markup {
    let text = legal(text);
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    let rest = characters.as_str();
    let whole: String = first.into_iter().chain(rest.chars()).collect();
    let end = if whole.ends_with(['.', '!', '?', ':', '…']) || whole.is_empty() {
        ""
    } else {
        "."
    };
    html! {
        @for (place, part) in whole.split('`').enumerate() {
            @if place % 2 == 1 { code { bdi { (part) } } } @else { (part) }
        }
        (end)
    }
}

/// A name or value of somebody: it may hold whatever it likes, and changes nothing around it, not even the
/// direction of writing.
pub(super) fn name(text: &str) -> Markup {
    html! { bdi { (legal(text)) } }
}

/// A text that somebody is to judge by what they see, such as a change that they approve: what is not seen,
/// or moves what is, is shown by its number.
pub(super) fn visible(text: &str) -> Markup {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_unseen) {
        let (before, after) = rest.split_at(at);
        let mut characters = after.chars();
        if let Some(unseen) = characters.next() {
            parts.push(html! { (before) mark class="escape" { (format!("U+{:04X}", u32::from(unseen))) } });
        }
        rest = characters.as_str();
    }
    html! { @for part in parts { (part) } (rest) }
}

/// Controls, marks of the direction of writing, what has no width, and what looks like nothing.
fn is_unseen(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        '\u{ad}' | '\u{61c}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}'
        | '\u{feff}' | '\u{ffa0}' => true,
        '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' => true,
        '\u{fe00}'..='\u{fe0f}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{fffe}'
        | '\u{ffff}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        // Blanks that are not the ordinary one: in a name they make another name.
        other => other.is_control() || (other.is_whitespace() && other != ' '),
    }
}

/// A table with headings. On a narrow screen each row is a block, and each cell says its heading.
pub(super) fn table(headings: &[&str], rows: Markup) -> Markup {
    html! {
        div class="wide stacks" {
            table {
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody { (with_headings(headings, &rows.into_string())) }
            }
        }
    }
}

/// Rows whose cells know their headings. What is in a cell is escaped, so nothing but a cell begins like one.
fn with_headings(headings: &[&str], rows: &str) -> Markup {
    let mut out = String::with_capacity(rows.len() * 2);
    for (number, row) in rows.split("<tr").enumerate() {
        if number > 0 {
            out.push_str("<tr");
        }
        let mut headings = headings.iter();
        let mut rest = row;
        while let Some(at) = rest.find("<t") {
            let (before, cell) = rest.split_at(at);
            // As long as `<td` and `<th`; a row is cut off before, and has no table in it.
            let (tag, after) = cell.split_at("<td".len().min(cell.len()));
            out.push_str(before);
            out.push_str(tag);
            if matches!(tag, "<td" | "<th")
                && after.starts_with([' ', '>'])
                && let Some(heading) = headings.next().filter(|heading| !heading.is_empty())
            {
                let label = html! { (heading) }.into_string();
                out.push_str(&format!(" data-label=\"{label}\""));
            }
            rest = after;
        }
        out.push_str(rest);
    }
    PreEscaped(out)
}

/// A figure, drawn for a wide and for a narrow screen: letters that shrink with it could not be read.
pub(super) fn figure(figure: &report::Figure) -> Markup {
    html! {
        figure class="line" {
            div class="roomy" { (drawn(figure.to_svg_without_style())) }
            div class="slim" { (drawn(figure.to_narrow_svg_without_style())) }
        }
    }
}

/// A moment in milliseconds since 1970, to the minute.
pub(super) fn moment(milliseconds: i64) -> Markup {
    let text = ledger::utc(milliseconds);
    let shown: String = text.replace('T', " ").chars().take(16).collect();
    html! { time datetime=(text) title=(text) class="nowrap" { (shown) } }
}

/// A text as a part of an address.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                out.push(byte as char)
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_name_holds_is_text() {
        let shown = name("<script>alert(1)</script>\"'\u{202e}\0").into_string();
        assert!(
            shown.starts_with("<bdi>&lt;script&gt;") && shown.ends_with("</bdi>"),
            "{shown}"
        );
        assert!(!shown.contains('\0'));
    }

    #[test]
    fn cells_know_their_headings() {
        let rows = html! {
            tr { th scope="row" { "<td>" } td { "1" } td class="number" { (PreEscaped("<svg><text>t</text></svg>")) } }
            tr { td { "x" } td { "y" } td { "z" } }
        };
        let shown = table(&["who", "ε \"a\" day", ""], rows).into_string();
        let body = shown.split_once("<tbody>").unwrap().1;
        let expected = concat!(
            r#"<tr><th data-label="who" scope="row">&lt;td&gt;</th><td data-label="ε &quot;a&quot; day">1</td>"#,
            r#"<td class="number"><svg><text>t</text></svg></td></tr>"#,
            r#"<tr><td data-label="who">x</td><td data-label="ε &quot;a&quot; day">y</td><td>z</td></tr>"#
        );
        assert!(body.starts_with(expected), "{body}");
    }

    #[test]
    fn what_is_not_seen_is_shown_by_its_number() {
        let shown = |text: &str| visible(text).into_string();
        assert_eq!(shown("epsilon = 2 # <b> ε\tö"), "epsilon = 2 # &lt;b&gt; ε\tö");
        for unseen in [
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{200f}',
            '\u{61c}',
            '\u{200b}',
            '\u{feff}',
            '\u{a0}',
            '\r',
            '\0',
            '\u{e0041}',
        ] {
            let expected = format!("a<mark class=\"escape\">U+{:04X}</mark>b", u32::from(unseen));
            assert_eq!(shown(&format!("a{unseen}b")), expected);
        }
        assert_eq!(shown("\u{202e}\u{202c}").matches("<mark").count(), 2);
    }

    #[test]
    fn messages_become_sentences() {
        let said = |text: &str| sentence(text).into_string();
        assert_eq!(said("there is none"), "There is none.");
        assert_eq!(said("ε is wrong…"), "ε is wrong…");
        assert_eq!(
            said("no `<b>` here"),
            "No <code><bdi>&lt;b&gt;</bdi></code> here."
        );
        assert_eq!(said(""), "");
    }

    #[test]
    fn addresses_hold_texts() {
        assert_eq!(encoded("/a b?c=ε&d"), "/a%20b%3Fc%3D%CE%B5%26d");
    }
}
