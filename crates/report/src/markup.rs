//! The one place where text becomes markup, shared by figures (XML) and reports (HTML).

use maud::Render;
use std::borrow::Cow;

/// `text` with everything that XML or HTML would read as markup escaped, in content and in quoted attributes
/// alike.
///
/// Control characters other than tab and newline are not legal XML even when escaped, so they become
/// `U+FFFD`.
/// ```
/// use report::escape;
///
/// assert_eq!(escape("<b> & co"), "&lt;b&gt; &amp; co");
/// ```
pub fn escape(text: &str) -> String {
    // All of our attributes are in double quotes; a single one is escaped for those of others.
    legal(text).render().into_string().replace('\'', "&#39;")
}

/// `text` with `U+FFFD` for each character that XML does not allow, not even escaped: what remains is escaped
/// where it is put into markup.
pub fn legal(text: &str) -> Cow<'_, str> {
    let forbidden = |character: char| match character {
        '\t' | '\n' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        other => other.is_control(),
    };
    if text.contains(forbidden) {
        text.replace(forbidden, "\u{fffd}").into()
    } else {
        text.into()
    }
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
