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

    /// Features of a line, which are told in the lines that were read.
    pub(super) fn features(self) -> Vec<Feature<Text>> {
        let told = move |hash: i64| match self.words.get(&hash) {
            Some(word) => format!("“{word}”"),
            None => "another line".to_string(),
        };
        // None is ordered: half-lines are chosen on more draws, and would look better than an equal set of lines.
        vec![
            Feature::values("first byte", |text: &Text| text.first),
            Feature::values("length in bytes", |text: &Text| text.length),
            // Last, because of equally good events the last is told.
            Feature::values("the line", |text: &Text| text.hash).told(told),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::examine;
    use super::*;
    use audit::black_box::BlackBox;

    #[test]
    fn of_equally_good_events_the_line_itself_is_told() {
        let mut dictionary = Dictionary::default();
        let outputs = [b"yes".as_slice(), b"no"].map(|line| vec![dictionary.read(line); 400]);
        assert_ne!(outputs[0][0].hash, outputs[1][0].hash);
        let black_box = BlackBox {
            samples_per_side: 400,
            delta: 0.0,
            confidence: 0.999,
        };
        let finding = examine(&black_box, &outputs, &dictionary.features()).expect("a finding");
        assert!(
            ["the line in {“yes”}", "the line in {“no”}"].contains(&finding.event.as_str()),
            "{}",
            finding.event
        );
        let forgotten = Dictionary::default().features();
        let finding = examine(&black_box, &outputs, &forgotten).expect("a finding");
        assert_eq!(finding.event, "the line in {another line}");
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
