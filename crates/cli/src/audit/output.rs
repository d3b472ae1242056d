//! What a program prints, as the auditor sees it.

use super::program::Input;
use crate::terminal::{CliError, fail};
use audit::black_box::Feature;
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a line of output is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// A number: its value, and the low bits of the float it is read as
    #[default]
    Number,
    /// Text: whether two lines are the same, their length and their first letter
    Text,
}

/// A line as a float. Infinities and NaN are outputs like others.
pub(super) fn number(line: &[u8], input: Input<'_>) -> Result<f64, CliError> {
    let parsed = std::str::from_utf8(line)
        .ok()
        .and_then(|text| text.trim().parse::<f64>().ok());
    match parsed {
        Some(value) => Ok(value),
        None => fail(
            format!(
                "a line that the program printed on the {} input is not a number",
                input.name
            ),
            "print one number a line, with all its digits (%.17g), or say --output text",
        ),
    }
}

/// What is kept of a line of text. Fixed functions of the line, so no event is chosen by the draws that test it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    hash: i64,
    length: i64,
    first: i64,
}

const SAME: &str = "the line";

impl Text {
    /// Features of a line.
    pub(super) fn features() -> Vec<Feature<Text>> {
        vec![
            Feature::values("first byte", |text: &Text| text.first),
            Feature::ordered("length in bytes", |text: &Text| text.length),
            // Last, because of equally good events the last is told.
            Feature::values(SAME, |text: &Text| text.hash),
        ]
    }
}

/// Lines by their hash, so that an event can be told in words.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    words: BTreeMap<i64, String>,
}

/// Words that are remembered; an event is told with eight of them at most.
const MOST_WORDS: usize = 1 << 12;
/// Letters of each.
const LONGEST_WORD: usize = 40;

impl Dictionary {
    /// Reads a line, and remembers it if there is room. What is remembered serves display only.
    pub(super) fn read(&mut self, line: &[u8]) -> Text {
        // A hasher with fixed keys: equal lines have equal hashes in every run.
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        let hash = hasher.finish() as i64;
        if self.words.len() < MOST_WORDS && !self.words.contains_key(&hash) {
            let text = String::from_utf8_lossy(line);
            let tame = |letter: char| if letter.is_control() { ' ' } else { letter };
            self.words
                .insert(hash, text.chars().take(LONGEST_WORD).map(tame).collect());
        }
        Text {
            hash,
            length: line.len() as i64,
            first: line.first().map_or(-1, |byte| i64::from(*byte)),
        }
    }

    /// The event with lines in place of their hashes, where they are remembered.
    pub(super) fn explain(&self, event: &str) -> String {
        let Some(rest) = event
            .strip_prefix(SAME)
            .and_then(|rest| rest.strip_prefix(" in {"))
        else {
            return event.to_string();
        };
        let (keys, end) = rest.split_once('}').unwrap_or((rest, ""));
        let words: Vec<String> = keys
            .split(", ")
            .map(|key| {
                let known = key.parse().ok().and_then(|hash: i64| self.words.get(&hash));
                known.map_or_else(|| key.to_string(), |word| format!("“{word}”"))
            })
            .collect();
        format!("{SAME} in {{{}}}{end}", words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_in_the_words_of_the_program() {
        let mut dictionary = Dictionary::default();
        let (yes, no) = (dictionary.read(b"yes"), dictionary.read(b"no"));
        assert_ne!(yes.hash, no.hash);
        let event = format!("the line in {{{}, {}}}", yes.hash, no.hash);
        assert_eq!(dictionary.explain(&event), "the line in {“yes”, “no”}");
        assert_eq!(
            dictionary.explain("the line in {7, … (9 keys)}"),
            "the line in {7, … (9 keys)}"
        );
        assert_eq!(dictionary.explain("length in bytes ≤ 3"), "length in bytes ≤ 3");
    }

    #[test]
    fn numbers_in_all_spellings_and_nothing_else() {
        let input = Input {
            name: "first",
            text: "",
        };
        for text in ["1", " -2.5 ", "1e-300", "NaN", "inf", "-0"] {
            assert!(number(text.as_bytes(), input).is_ok(), "{text}");
        }
        for text in ["", "one", "1,5", "0x10", "1 2"] {
            let error = number(text.as_bytes(), input).unwrap_err();
            assert_eq!(error.code, 2);
            assert!(text.is_empty() || !error.to_string().contains(&format!("`{text}`")));
        }
        assert!(number(&[0xff, 0xfe], input).is_err());
    }
}
