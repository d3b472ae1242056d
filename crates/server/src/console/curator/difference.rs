//! The differences of two texts, line by line.

use super::super::layout::visible;
use maud::{Markup, html};

/// Longer texts are shown as taken away and added whole.
const MOST: usize = 2000;
/// Lines around a change that are shown with it.
const AROUND: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// A text, and what may be seen of it: line by line the same, but for what is hidden.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) whole: &'a str,
    pub(super) shown: &'a str,
}

/// The changes, each with a few lines around it. A line is another one also where what differs in it is
/// hidden.
pub(super) fn shown(before: Text<'_>, after: Text<'_>) -> Markup {
    let (mut left, mut right) = (before.shown.lines(), after.shown.lines());
    let mut hidden = false;
    let mut seen_lines = Vec::new();
    for line in lines(before.whole, after.whole) {
        let seen = match line {
            Line::Same(_) => {
                left.next();
                Line::Same(right.next().unwrap_or_default())
            }
            Line::Gone(_) => Line::Gone(left.next().unwrap_or_default()),
            Line::New(_) => Line::New(right.next().unwrap_or_default()),
        };
        hidden |= !matches!(line, Line::Same(_)) && seen != line;
        seen_lines.push(seen);
    }
    let lines = seen_lines;
    let mut near = vec![false; lines.len()];
    for at in (0..lines.len()).filter(|at| !matches!(lines[*at], Line::Same(_))) {
        let end = (at + AROUND + 1).min(lines.len());
        near[at.saturating_sub(AROUND)..end].fill(true);
    }
    let changed = near.contains(&true);
    let mut skipped = false;
    let mut parts = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if !near[at] {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            parts.push(html! { span { "  …" } });
        }
        parts.push(match line {
            // Somebody may want a line to look like another one.
            Line::Same(text) => html! { span { "  " (visible(text)) } },
            Line::Gone(text) => html! { del { "− " (visible(text)) } },
            Line::New(text) => html! { ins { "+ " (visible(text)) } },
        });
    }
    html! {
        @if !changed { p class="quiet" { "No line differs." } }
        @else { pre class="diff" { @for part in parts { (part) } } }
        @if hidden { p class="quiet" { "Passwords are shown as …: lines that look the same may differ in them." } }
    }
}

fn lines<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let (one, other): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if one.len() > MOST || other.len() > MOST {
        let gone = one.into_iter().map(Line::Gone);
        return gone.chain(other.into_iter().map(Line::New)).collect();
    }
    // The length of the longest common subsequence of what is left of both.
    let width = other.len() + 1;
    let mut longest = vec![0_u32; (one.len() + 1) * width];
    for left in (0..one.len()).rev() {
        for right in (0..other.len()).rev() {
            longest[left * width + right] = match one[left] == other[right] {
                true => longest[(left + 1) * width + right + 1] + 1,
                false => longest[(left + 1) * width + right].max(longest[left * width + right + 1]),
            };
        }
    }
    let (mut left, mut right) = (0, 0);
    let mut found = Vec::new();
    while left < one.len() || right < other.len() {
        if left < one.len() && right < other.len() && one[left] == other[right] {
            found.push(Line::Same(one[left]));
            left += 1;
            right += 1;
        } else if right == other.len()
            || (left < one.len() && longest[(left + 1) * width + right] >= longest[left * width + right + 1])
        {
            found.push(Line::Gone(one[left]));
            left += 1;
        } else {
            found.push(Line::New(other[right]));
            right += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(before: &str, after: &str) -> String {
        let text = |text| Text {
            whole: text,
            shown: text,
        };
        shown(text(before), text(after)).into_string()
    }

    /// A password that is another one is a change, whatever it is for.
    #[test]
    fn a_change_of_what_is_hidden_is_said_to_be_one() {
        let text = |whole| Text {
            whole,
            shown: "a = 1\nledger = \"postgres://u:…@h/d\"\n",
        };
        let one = text("a = 1\nledger = \"postgres://u:one@h/d\"\n");
        let other = text("a = 1\nledger = \"postgres://u:other@h/d\"\n");
        let changed = shown(one, other).into_string();
        assert!(
            changed.contains("<del>− ledger") && changed.contains("<ins>+ ledger"),
            "{changed}"
        );
        assert!(changed.contains("may differ in them"), "{changed}");
        assert!(
            !changed.contains("one@") && !changed.contains("other@"),
            "{changed}"
        );
        let same = shown(one, one).into_string();
        assert!(
            same.contains("No line differs") && !same.contains("may differ"),
            "{same}"
        );
    }

    #[test]
    fn what_changed_is_found() {
        let found = lines("a\nb\nc\n", "a\nx\nc\nd\n");
        assert_eq!(
            found,
            [
                Line::Same("a"),
                Line::Gone("b"),
                Line::New("x"),
                Line::Same("c"),
                Line::New("d")
            ]
        );
        assert!(lines("a", "a").iter().all(|line| matches!(line, Line::Same(_))));
        assert_eq!(lines("", "b"), [Line::New("b")]);
        assert_eq!(lines("b", ""), [Line::Gone("b")]);
    }

    #[test]
    fn what_moves_words_around_is_seen() {
        let shown = plain(
            "epsilon = 1 # low",
            "epsilon = 10 # \u{202e}wol\u{202c}\u{2066}\u{200b}",
        );
        for number in ["U+202E", "U+202C", "U+2066", "U+200B"] {
            assert!(shown.contains(&format!(">{number}</mark>")), "{shown}");
        }
        assert!(
            shown
                .chars()
                .all(|character| !matches!(character, '\u{200b}'..='\u{206f}')),
            "{shown}"
        );
    }

    #[test]
    fn lines_are_text() {
        let shown = plain("a", "<script>");
        assert!(
            shown.contains("&lt;script&gt;") && !shown.contains("<script>"),
            "{shown}"
        );
    }
}
