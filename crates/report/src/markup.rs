//! The one place where text becomes markup, shared by figures (XML) and reports (HTML).

/// `text` with everything that XML or HTML would read as markup escaped, in content and in quoted attributes alike.
///
/// Control characters other than tab and newline are not legal XML even when escaped, so they become `U+FFFD`.
/// ```
/// use report::escape;
///
/// assert_eq!(escape("<b> & co"), "&lt;b&gt; &amp; co");
/// ```
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other if other.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn markup_characters_are_escaped_and_greek_is_kept() {
        assert_eq!(
            escape(r#"<a b="c" d='e'>&ε≤δ"#),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;ε≤δ"
        );
    }

    #[test]
    fn characters_that_xml_forbids_are_replaced() {
        assert_eq!(
            escape("a\0b\u{1b}[31m\tc\n\u{ffff}"),
            "a\u{fffd}b\u{fffd}[31m\tc\n\u{fffd}"
        );
    }
}
