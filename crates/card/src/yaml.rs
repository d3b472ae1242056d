//! As much of YAML as a record needs: maps, lists of texts, numbers, and texts in double quotes, which every
//! YAML reader reads as the same text.

use std::fmt::Write as _;

/// A value.
pub(crate) enum Node {
    Text(String),
    /// Written as it is: a number or a word of ours.
    Plain(String),
    List(Vec<String>),
    Map(Vec<(&'static str, Node)>),
}

pub(crate) fn write(map: &[(&'static str, Node)]) -> String {
    let mut text = String::new();
    write_map(map, 0, &mut text);
    text
}

fn write_map(map: &[(&'static str, Node)], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for (key, node) in map {
        let _ = match node {
            Node::Text(value) => writeln!(text, "{indent}{key}: {}", quoted(value)),
            Node::Plain(value) => writeln!(text, "{indent}{key}: {value}"),
            Node::List(values) => {
                let _ = writeln!(text, "{indent}{key}:");
                for value in values {
                    let _ = writeln!(text, "{indent}  - {}", quoted(value));
                }
                Ok(())
            }
            Node::Map(map) => {
                let _ = writeln!(text, "{indent}{key}:");
                write_map(map, depth + 1, text);
                Ok(())
            }
        };
    }
}

/// In double quotes, on one line. What YAML does not print, or reads as the end of a line, is escaped; so are
/// marks that turn the direction of writing, so that a line looks like what it says.
fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for character in value.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            hidden if is_hidden(hidden) => {
                let code = u32::from(hidden);
                let _ = match code {
                    0..=0xff => write!(text, "\\x{code:02x}"),
                    0x100..=0xffff => write!(text, "\\u{code:04x}"),
                    _ => write!(text, "\\U{code:08x}"),
                };
            }
            other => text.push(other),
        }
    }
    text.push('"');
    text
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("a: b # \"c\" \\ 'd'"), r#""a: b # \"c\" \\ 'd'""#);
        assert_eq!(
            quoted("1\n2\r\0\u{85}\u{202e}\u{2028}\u{e0001}"),
            r#""1\n2\x0d\x00\x85\u202e\u2028\U000e0001""#
        );
        assert_eq!(quoted("ε ≤ 1"), "\"ε ≤ 1\"");
    }
}
