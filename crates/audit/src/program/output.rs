//! Outputs of a program, as the auditor sees them.

use super::{Error, Input};
use crate::black_box::word;
use std::collections::BTreeMap;

/// What a line of output is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Numbers, one or more a line: their values, and the low bits of the floats they are read as.
    #[default]
    Number,
    /// Text: whether two lines are the same, their length and first letter, and the words and numbers in
    /// them.
    Text,
}

/// Reads lines into rows, and remembers words so that an event can be described. What is remembered serves
/// display only.
#[derive(Debug)]
pub(super) struct Reader {
    kind: Output,
    words: BTreeMap<u64, String>,
}

/// Words that are remembered; an event is described with a few of them at most.
const MOST_WORDS: usize = 1 << 12;
/// Letters of each.
const LONGEST_WORD: usize = 40;
/// Entries of a row; what comes after them is seen in the line as a whole.
const MOST_ENTRIES: usize = 1024;

impl Reader {
    pub(super) fn new(kind: Output) -> Self {
        Self {
            kind,
            words: BTreeMap::new(),
        }
    }

    /// Appends what a line says to a row. Infinities and NaN are outputs like others.
    pub(super) fn read(&mut self, line: &[u8], input: Input<'_>, row: &mut Vec<f64>) -> Result<(), Error> {
        match self.kind {
            Output::Number => {
                let before = row.len();
                for part in parts(line).take(MOST_ENTRIES) {
                    match number(part) {
                        Some(value) => row.push(value),
                        None => return not_a_number(input),
                    }
                }
                if row.len() == before {
                    return not_a_number(input);
                }
            }
            Output::Text => {
                row.push(self.word(line));
                row.push(line.len() as f64);
                row.push(self.word(first_letter(line)));
                let mut rest = parts(line).take(MOST_ENTRIES).peekable();
                let first = rest.next();
                if let (Some(first), true) = (first, rest.peek().is_some()) {
                    for part in [first].into_iter().chain(rest) {
                        row.push(number(part).unwrap_or_else(|| self.word(part)));
                    }
                }
            }
        }
        Ok(())
    }

    fn word(&mut self, text: &[u8]) -> f64 {
        let value = word(text);
        if self.words.len() < MOST_WORDS && !self.words.contains_key(&value.to_bits()) {
            let tame = |letter: char| if letter.is_control() { ' ' } else { letter };
            let text = String::from_utf8_lossy(text)
                .chars()
                .take(LONGEST_WORD)
                .map(tame)
                .collect();
            self.words.insert(value.to_bits(), text);
        }
        value
    }

    /// What an entry of a row is called.
    pub(super) fn entry(&self, place: usize) -> String {
        match (self.kind, place) {
            (Output::Number, 0) => "value".to_string(),
            (Output::Number, place) => format!("value {}", place + 1),
            (Output::Text, 0) => "the line".to_string(),
            (Output::Text, 1) => "length in bytes".to_string(),
            (Output::Text, 2) => "first letter".to_string(),
            (Output::Text, place) => format!("word {}", place - 2),
        }
    }

    /// A word that was read.
    pub(super) fn text(&self, word: f64) -> Option<String> {
        self.words.get(&word.to_bits()).cloned()
    }
}

/// The first letter of a line, or its first byte where that is none; nothing of an empty line.
fn first_letter(line: &[u8]) -> &[u8] {
    let length = match line.utf8_chunks().next() {
        Some(chunk) => chunk.valid().chars().next().map_or(1, char::len_utf8),
        None => 0,
    };
    &line[..length]
}

/// What stands between spaces or commas.
fn parts(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace() || *byte == b',')
        .filter(|part| !part.is_empty())
}

fn number(part: &[u8]) -> Option<f64> {
    std::str::from_utf8(part).ok()?.parse().ok()
}

fn not_a_number(input: Input<'_>) -> Result<(), Error> {
    Err(Error::NotANumber { input: input.name })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: Input<'_> = Input {
        name: "first",
        text: "",
    };

    #[test]
    fn text_is_read_as_a_line_and_as_its_words() {
        let mut reader = Reader::new(Output::Text);
        let mut rows = Vec::new();
        reader.read(b"yes 12", INPUT, &mut rows).expect("text");
        assert_eq!(rows[1], 6.0);
        assert_eq!(reader.text(rows[2]).as_deref(), Some("y"));
        assert_eq!(reader.text(rows[0]).as_deref(), Some("yes 12"));
        assert_eq!(reader.text(rows[3]).as_deref(), Some("yes"));
        assert_eq!(rows[4], 12.0);
        assert_eq!(reader.entry(3), "word 1");
        let mut single = Vec::new();
        reader.read(b"yes", INPUT, &mut single).expect("text");
        assert_eq!((single.len(), single[0].to_bits()), (3, rows[3].to_bits()));
        reader
            .read(b"", INPUT, &mut single)
            .expect("an empty line is a line");
        assert_eq!((single.len(), single[4]), (6, 0.0));
        assert_eq!(reader.text(single[5]).as_deref(), Some(""));
        assert_eq!(first_letter("éa".as_bytes()), "é".as_bytes());
        assert_eq!(first_letter(b"\xffa"), b"\xff");
    }

    #[test]
    fn numbers_in_all_spellings_and_nothing_else() {
        let mut reader = Reader::new(Output::Number);
        for (text, count) in [
            ("1", 1),
            (" -2.5 ", 1),
            ("1e-300", 1),
            ("NaN", 1),
            ("inf", 1),
            ("1 2", 2),
            ("1,5", 2),
        ] {
            let mut row = Vec::new();
            reader.read(text.as_bytes(), INPUT, &mut row).expect(text);
            assert_eq!(row.len(), count, "{text}");
        }
        for text in ["", "one", "0x10", "1 two"] {
            let error = reader.read(text.as_bytes(), INPUT, &mut Vec::new()).unwrap_err();
            assert!(text.is_empty() || !error.to_string().contains(&format!("`{text}`")));
        }
        assert!(reader.read(&[0xff, 0xfe], INPUT, &mut Vec::new()).is_err());
    }
}
