//! Regular expressions that take time linear in the text: automata, without backtracking.
//!
//! A pattern is a constant of the query, and is compiled when the query is read, before anything is charged: what the automaton may take is bounded, so that no pattern
//! fails later. One match takes time proportional to the length of the text times that of the pattern. Looking for all matches may take that for each of them, so
//! it looks at the first [`SEARCHED`] characters alone.

use super::{constant_text, only};
use crate::Error;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use regex::{Regex, RegexBuilder};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How long a pattern may be, in bytes.
const PATTERN: usize = 1_000;
/// What a compiled pattern may take, in bytes.
const COMPILED: usize = 1 << 20;
/// How long a replacement may be, in bytes.
const REPLACEMENT: usize = 100;
/// All matches are looked for in this many characters.
pub(crate) const SEARCHED: usize = 1_000;

/// What is done with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// Whether there is a match.
    Like,
    /// The first match.
    Substring,
    /// How many matches there are.
    Count,
    /// The text with the first match, or all of them, replaced.
    Replace,
}

impl Task {
    pub(crate) const ALL: [Self; 4] = [Self::Like, Self::Substring, Self::Count, Self::Replace];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Like => super::REGEXP_LIKE,
            Self::Substring => super::REGEXP_SUBSTR,
            Self::Count => super::REGEXP_COUNT,
            Self::Replace => super::REGEXP_REPLACE,
        }
    }
}

/// A pattern with all that a call says of it. Two are equal if they were written alike.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    source: String,
    insensitive: bool,
    all: bool,
    replacement: String,
    regex: Regex,
}

impl PartialEq for Compiled {
    fn eq(&self, other: &Self) -> bool {
        (&self.source, self.insensitive, self.all, &self.replacement)
            == (&other.source, other.insensitive, other.all, &other.replacement)
    }
}

impl Eq for Compiled {}

impl Hash for Compiled {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.source, self.insensitive, self.all, &self.replacement).hash(state);
    }
}

impl Compiled {
    /// Compiles a pattern as PostgreSQL writes it; of its flags `i` and `c` (letters of either case, or not) and `g` (all matches) are known.
    ///
    /// # Errors
    /// When it is no pattern, too large, or needs backtracking.
    pub(crate) fn new(pattern: &str, flags: &str) -> Result<Self, Error> {
        if pattern.len() > PATTERN {
            return Err(Error::refused(
                format!("a regular expression has more than {PATTERN} bytes"),
                "write a shorter one, or several with OR",
            ));
        }
        if let Some(flag) = flags.chars().find(|flag| !"icg".contains(*flag)) {
            return Err(Error::refused(
                format!("the flag {flag} of a regular expression is not known"),
                "the flags are i (letters of either case), c (as they are) and g (all matches)",
            ));
        }
        let insensitive = flags.contains('i');
        let regex = RegexBuilder::new(&translated(pattern))
            .case_insensitive(insensitive)
            // As in PostgreSQL, where lines mean nothing unless one asks for them.
            .dot_matches_new_line(true)
            .size_limit(COMPILED)
            .dfa_size_limit(COMPILED)
            .build()
            .map_err(|error| refusal(&error))?;
        Ok(Self {
            source: pattern.to_owned(),
            insensitive,
            all: flags.contains('g'),
            replacement: String::new(),
            regex,
        })
    }

    /// With what matches are replaced: `\1` to `\9` are groups of the pattern and `\&` is the match.
    pub(crate) fn replacing(self, replacement: &str) -> Result<Self, Error> {
        if replacement.len() > REPLACEMENT {
            return Err(Error::refused(
                format!("the replacement has more than {REPLACEMENT} bytes"),
                "replace by a shorter text",
            ));
        }
        let mut written = String::new();
        let mut letters = replacement.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '$' => written.push_str("$$"),
                '\\' => match letters.next() {
                    Some('&') => written.push_str("${0}"),
                    Some(digit @ '1'..='9') => {
                        written.push_str("${");
                        written.push(digit);
                        written.push('}');
                    }
                    Some('$') => written.push_str("$$"),
                    Some(other) => written.push(other),
                    None => written.push('\\'),
                },
                other => written.push(other),
            }
        }
        Ok(Self {
            replacement: written,
            ..self
        })
    }

    fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    fn replaced(&self, text: &str) -> String {
        match self.all {
            true => self.regex.replace_all(beginning(text), self.replacement.as_str()),
            false => self.regex.replace(text, self.replacement.as_str()),
        }
        .into_owned()
    }
}

/// The characters in which all matches are looked for.
fn beginning(text: &str) -> &str {
    match text.char_indices().nth(SEARCHED) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// What PostgreSQL calls the edges of words and of the text, and classes of letters, in the words of the library that matches.
fn translated(pattern: &str) -> String {
    // Classes are of letters in any script.
    const CLASSES: [(&str, &str); 6] = [
        ("[:alpha:]", r"\p{Alphabetic}"),
        ("[:alnum:]", r"\p{Alphabetic}\p{Nd}"),
        ("[:lower:]", r"\p{Lowercase}"),
        ("[:upper:]", r"\p{Uppercase}"),
        ("[:digit:]", r"\d"),
        ("[:space:]", r"\s"),
    ];
    let mut pattern = pattern.to_owned();
    for (class, ours) in CLASSES {
        pattern = pattern.replace(class, ours);
    }
    let mut written = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            written.push(letter);
            continue;
        }
        match letters.next() {
            Some('y') => written.push_str("\\b"),
            Some('Y') => written.push_str("\\B"),
            Some('m') => written.push_str("\\b{start}"),
            Some('M') => written.push_str("\\b{end}"),
            Some('Z') => written.push_str("\\z"),
            Some(other) => written.extend(['\\', other]),
            None => written.push('\\'),
        }
    }
    written
}

/// `SIMILAR TO`: a pattern of the whole text, with `%` and `_` as in LIKE, and `| * + ? {} () []` as in regular expressions.
pub(crate) fn similar(pattern: &str) -> String {
    let mut written = String::from("^(?:");
    let mut letters = pattern.chars();
    let mut listed = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => written.push_str(&regex::escape(&letters.next().unwrap_or('\\').to_string())),
            '[' => {
                listed = true;
                written.push('[');
            }
            ']' => {
                listed = false;
                written.push(']');
            }
            '%' if !listed => written.push_str(".*"),
            '_' if !listed => written.push('.'),
            '.' | '^' | '$' if !listed => written.extend(['\\', letter]),
            other => written.push(other),
        }
    }
    written.push_str(")$");
    written
}

/// Why a pattern cannot be used. It is the query's, so it may be quoted.
fn refusal(error: &regex::Error) -> Error {
    match error {
        regex::Error::CompiledTooBig(_) => Error::refused(
            "a regular expression becomes too large when it is compiled",
            "repeat less: {1000} copies its part a thousand times",
        ),
        other => {
            let said = other.to_string();
            let backtracks = said.contains("backreferences") || said.contains("look-around");
            let last = said
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            let hint = match backtracks {
                true => {
                    "matching takes time linear in the text, which look-around and backreferences do not allow; say the same with two conditions"
                }
                false => "write it as for PostgreSQL: 'ab+', '^[0-9]{3}$', 'one|two'",
            };
            Error::refused(format!("a regular expression cannot be read: {last}"), hint)
        }
    }
}

/// The functions. Over private rows the pattern was compiled when the query was read; over released results it is taken from the arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Regular {
    task: Task,
    compiled: Option<Compiled>,
    signature: Signature,
}

impl Regular {
    pub(super) fn new(task: Task, compiled: Option<Compiled>) -> Self {
        Self {
            task,
            compiled,
            signature: Signature::variadic_any(Volatility::Immutable),
        }
    }

    fn compiled(&self, arguments: &[ColumnarValue]) -> Result<Compiled> {
        if let Some(compiled) = &self.compiled {
            return Ok(compiled.clone());
        }
        let texts: Option<Vec<String>> = arguments.iter().map(constant_text).collect();
        let texts = texts.unwrap_or_default();
        Ok(match (self.task, texts.as_slice()) {
            (Task::Replace, [pattern, replacement]) => Compiled::new(pattern, "")?.replacing(replacement)?,
            (Task::Replace, [pattern, replacement, flags]) => {
                Compiled::new(pattern, flags)?.replacing(replacement)?
            }
            (_, [pattern]) => Compiled::new(pattern, "")?,
            (_, [pattern, flags]) => Compiled::new(pattern, flags)?,
            _ => return exec_err!("{} takes a text and a constant pattern", self.task.name()),
        })
    }
}

impl ScalarUDFImpl for Regular {
    fn name(&self) -> &str {
        self.task.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.task {
            Task::Like => DataType::Boolean,
            Task::Count => DataType::Int64,
            Task::Substring | Task::Replace => DataType::Utf8View,
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some((text, rest)) = arguments.args.split_first() else {
            return exec_err!("{} takes a text", self.task.name());
        };
        let compiled = self.compiled(rest)?;
        let array = cast(&text.to_array(arguments.number_rows)?, &DataType::Utf8View)?;
        let texts = array.as_string_view();
        let result: ArrayRef = match self.task {
            Task::Like => {
                let found = texts.iter().map(|text| Some(compiled.is_match(text?)));
                Arc::new(BooleanArray::from_iter(found))
            }
            Task::Count => {
                let count = |text: &str| compiled.regex.find_iter(beginning(text)).count() as i64;
                Arc::new(Int64Array::from_iter(texts.iter().map(|text| text.map(count))))
            }
            Task::Substring | Task::Replace => {
                let mut builder = StringViewBuilder::with_capacity(texts.len());
                for text in texts {
                    let found = text.and_then(|text| match self.task {
                        Task::Replace => Some(compiled.replaced(text)),
                        _ => compiled.regex.find(text).map(|found| found.as_str().to_owned()),
                    });
                    // In canonical form at once, so that a batch of results stays as small as a batch of texts.
                    builder.append_option(found.as_deref().map(bound::canonical_text));
                }
                Arc::new(builder.finish())
            }
        };
        Ok(only(result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, flags: &str, text: &str) -> bool {
        Compiled::new(pattern, flags).unwrap().is_match(text)
    }

    #[test]
    fn patterns_mean_what_postgresql_means() {
        assert!(matches("^a.c$", "", "a\nc"), "a dot is any character");
        assert!(!matches("^b", "", "a\nb"), "lines mean nothing");
        assert!(matches("STRASSE", "i", "Hauptstrasse"));
        assert!(matches(r"\ycat\y", "", "the cat sat") && !matches(r"\ycat\y", "", "concatenate"));
        assert!(matches(r"\mcat", "", "cats") && !matches(r"\mcat", "", "tomcat"));
        assert!(matches(r"cat\M", "", "tomcat") && matches(r"x\Z", "", "x"));
        assert!(matches(r"\d{2}", "", "a17") && matches("[[:alpha:]]+", "", "é"));
    }

    #[test]
    fn similar_to_is_about_the_whole_text() {
        let like = |pattern: &str, text: &str| matches(&similar(pattern), "", text);
        assert!(like("abc", "abc") && !like("b", "abc"));
        assert!(like("%(b|d)%", "abc") && like("a_c", "abc") && like("[a-c]+", "abcabc"));
        assert!(like("a.c", "a.c") && !like("a.c", "abc"));
        assert!(like(r"100\%", "100%") && !like(r"100\%", "1000"));
    }

    #[test]
    fn replacements_are_postgresqls() {
        let replace = |pattern: &str, by: &str, flags: &str, text: &str| {
            Compiled::new(pattern, flags)
                .unwrap()
                .replacing(by)
                .unwrap()
                .replaced(text)
        };
        assert_eq!(replace("o", "0", "", "foo boo"), "f0o boo");
        assert_eq!(replace("o", "0", "g", "foo boo"), "f00 b00");
        assert_eq!(replace(r"(\w+) (\w+)", r"\2 \1", "", "one two"), "two one");
        assert_eq!(replace("b", r"<\&>$1", "", "abc"), "a<b>$1c");
        let long = "é".repeat(2_000);
        assert_eq!(replace("é", "e", "g", &long), "e".repeat(SEARCHED));
    }

    /// What needs backtracking, or too much memory, is refused before anything runs.
    #[test]
    fn what_would_not_be_linear_is_refused() {
        for (pattern, because) in [
            (r"(a)\1", "backreferences"),
            ("(?=a)b", "look-around"),
            ("(?<!a)b", "look-around"),
            ("(((a{100}){100}){100})", "too large"),
            ("a(", "cannot be read"),
            ("[z-a]", "cannot be read"),
        ] {
            let said = Compiled::new(pattern, "").unwrap_err().to_string();
            assert!(
                said.contains(because) && said.contains("hint: "),
                "{pattern}: {said}"
            );
        }
        assert!(Compiled::new(&"a".repeat(PATTERN + 1), "").is_err());
        assert!(Compiled::new("a", "x").is_err());
        assert!(
            Compiled::new("a", "")
                .unwrap()
                .replacing(&"b".repeat(101))
                .is_err()
        );
    }

    /// A pattern on which backtracking takes longer than anybody waits.
    #[test]
    fn hostile_texts_take_no_longer() {
        let text = "a".repeat(4_000);
        assert!(!matches("^(a+)+$", "", &format!("{text}b")));
        assert!(!matches("(a|aa)+c", "", &text));
    }
}
