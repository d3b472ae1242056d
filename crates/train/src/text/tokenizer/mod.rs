//! Subword tokens: frequent letter groups are one number, and any text at all can be written.
//!
//! Our own, because building the usual library of tokenizers keeps a core busy for nearly two minutes, longer than the rest of this crate. The scheme is byte-pair encoding: start from bytes, and join the most frequent neighbours again and again. Text is first cut into pieces that no token crosses: a
//! word with the space behind it, digits, or a run of anything else.

use super::TextError;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// The token before the first: what a row starts from, and what fills it up.
pub const START: u32 = 0;
/// Token of byte b is `FIRST_BYTE + b`.
const FIRST_BYTE: u32 = 1;
/// Tokens that every vocabulary has: the start and all bytes.
const LEAST: usize = 257;
/// More tokens than a small model can use.
const MOST: usize = 65_536;
/// No piece is longer, so that text without a space is still read in linear time.
const LONGEST_PIECE: usize = 48;
/// No group of digits that is one token is longer.
const LONGEST_GROUP: usize = 3;

/// Which tokens digits make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Digits {
    /// One token each: all numbers of as many digits have as many tokens.
    #[default]
    Single,
    /// Groups of up to three that were frequent in the public text are one token ("19", "200"), so that some numbers are shorter than others.
    Grouped,
}

/// What is written to a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    digits: Digits,
    merges: Vec<(u32, u32)>,
}

/// What each token stands for. Public: it must not have been made from private text.
///
/// ```
/// use train::text::{Digits, Vocabulary, synthetic_text};
///
/// let public = synthetic_text(20_000, 1);
/// let vocabulary = Vocabulary::from_public_text(&public, 300, Digits::Single)?;
/// let tokens = vocabulary.encode("a private note");
/// assert!(tokens.len() < "a private note".len());
/// assert_eq!(vocabulary.decode(&tokens), "a private note");
/// # Ok::<(), train::text::TextError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    digits: Digits,
    /// The bytes of each token.
    tokens: Vec<Vec<u8>>,
    /// In the order in which they are applied; merge i makes token `LEAST + i`.
    merges: Vec<(u32, u32)>,
    ranks: BTreeMap<(u32, u32), u32>,
}

impl Vocabulary {
    /// Bytes alone: 257 tokens, made from no text at all.
    pub fn bytes() -> Self {
        let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        Self {
            digits: Digits::Single,
            tokens: std::iter::once(Vec::new()).chain(bytes).collect(),
            merges: Vec::new(),
            ranks: BTreeMap::new(),
        }
    }

    /// At most `size` tokens, those that are frequent in this text.
    ///
    /// The text must be **public**: tokens quote it. There is no such function for private text, because its result would be a release that nobody charged for.
    ///
    /// # Errors
    /// When `size` is below 257 or above 65,536.
    pub fn from_public_text(text: &str, size: usize, digits: Digits) -> Result<Self, TextError> {
        if !(LEAST..=MOST).contains(&size) {
            return Err(TextError::bad_setting(
                format!("a vocabulary of {size} tokens cannot be made"),
                "it holds 257 (all bytes and the start of a row) to 65536 tokens; the case study has 985",
            ));
        }
        let mut vocabulary = Self::bytes();
        vocabulary.digits = digits;
        let mut pieces = BTreeMap::<&[u8], u64>::new();
        for piece in Pieces::of(text.as_bytes(), digits) {
            *pieces.entry(piece).or_default() += 1;
        }
        let mut words: Vec<(Vec<u32>, u64)> = pieces
            .into_iter()
            .map(|(piece, count)| {
                (
                    piece.iter().map(|byte| FIRST_BYTE + u32::from(*byte)).collect(),
                    count,
                )
            })
            .collect();
        let mut pairs = Pairs::default();
        for (place, (word, count)) in words.iter().enumerate() {
            pairs.add(word, *count, place);
        }
        while vocabulary.tokens.len() < size {
            let Some((pair, places)) = pairs.take_best(|pair| vocabulary.may_join(pair)) else {
                break;
            };
            let joined = vocabulary.join(pair);
            for place in places {
                let (word, count) = &mut words[place];
                pairs.remove(word, *count);
                replace(word, pair, joined);
                pairs.add(word, *count, place);
            }
        }
        Ok(vocabulary)
    }

    /// Whether two neighbours may become one token: a group of digits stays short.
    fn may_join(&self, (left, right): (u32, u32)) -> bool {
        let (left, right) = (&self.tokens[left as usize], &self.tokens[right as usize]);
        !left.iter().chain(right).all(u8::is_ascii_digit) || left.len() + right.len() <= LONGEST_GROUP
    }

    /// A new token for a pair.
    fn join(&mut self, pair: (u32, u32)) -> u32 {
        let number = self.tokens.len() as u32;
        let mut bytes = self.tokens[pair.0 as usize].clone();
        bytes.extend_from_slice(&self.tokens[pair.1 as usize]);
        self.tokens.push(bytes);
        self.ranks.insert(pair, self.merges.len() as u32);
        self.merges.push(pair);
        number
    }

    /// How many tokens there are, with the start of a row.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Never: every byte is a token.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Which tokens digits make.
    pub fn digits(&self) -> Digits {
        self.digits
    }

    /// The bytes that a token stands for; none for the start of a row or a number that is no token.
    pub fn token(&self, number: u32) -> &[u8] {
        self.tokens.get(number as usize).map_or(&[], Vec::as_slice)
    }

    /// The tokens of a text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut known = BTreeMap::<&[u8], Vec<u32>>::new();
        let mut tokens = Vec::with_capacity(text.len() / 3);
        for piece in Pieces::of(text.as_bytes(), self.digits) {
            match piece {
                // Most pieces of one byte are digits or spaces.
                [byte] => tokens.push(FIRST_BYTE + u32::from(*byte)),
                _ => tokens.extend_from_slice(
                    known
                        .entry(piece)
                        .or_insert_with_key(|piece| self.encode_piece(piece)),
                ),
            }
        }
        tokens
    }

    fn encode_piece(&self, piece: &[u8]) -> Vec<u32> {
        let mut word: Vec<u32> = piece.iter().map(|byte| FIRST_BYTE + u32::from(*byte)).collect();
        // The earliest merge first, as when the vocabulary was made.
        while let Some((rank, pair)) = word
            .windows(2)
            .filter_map(|pair| {
                let pair = (pair[0], pair[1]);
                self.ranks.get(&pair).map(|rank| (*rank, pair))
            })
            .min()
        {
            replace(&mut word, pair, LEAST as u32 + rank);
        }
        word
    }

    /// The text of tokens. What is no UTF-8 (a letter cut in two) becomes U+FFFD; starts of rows are left out.
    pub fn decode(&self, tokens: &[u32]) -> String {
        let bytes: Vec<u8> = tokens
            .iter()
            .flat_map(|token| self.token(*token).iter().copied())
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// As JSON, the same again by [`Vocabulary::from_json`].
    pub fn to_json(&self) -> String {
        let written = Written {
            digits: self.digits,
            merges: self.merges.clone(),
        };
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// Reads what [`Vocabulary::to_json`] wrote, for example a vocabulary that somebody published.
    ///
    /// # Errors
    /// When it is not such JSON, or names tokens that do not exist yet.
    pub fn from_json(text: &str) -> Result<Self, TextError> {
        let bad = |what| TextError::BadVocabulary { what };
        let written: Written = serde_json::from_str(text).map_err(|_| bad("it has another form"))?;
        if written.merges.len() > MOST - LEAST {
            return Err(bad("it has too many tokens"));
        }
        let mut vocabulary = Self::bytes();
        vocabulary.digits = written.digits;
        for pair in written.merges {
            let known = FIRST_BYTE..vocabulary.tokens.len() as u32;
            if !known.contains(&pair.0) || !known.contains(&pair.1) {
                return Err(bad("a token is made of tokens that come later or not at all"));
            }
            let length = vocabulary.token(pair.0).len() + vocabulary.token(pair.1).len();
            if length > LONGEST_PIECE || vocabulary.ranks.contains_key(&pair) {
                return Err(bad("a token is too long or there twice"));
            }
            vocabulary.join(pair);
        }
        Ok(vocabulary)
    }

    /// Writes the vocabulary to a file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: &std::path::Path) -> Result<(), TextError> {
        std::fs::write(path, self.to_json()).map_err(|cause| TextError::File {
            what: "the vocabulary could not be written",
            cause,
        })
    }

    /// Reads a vocabulary that is public.
    ///
    /// # Errors
    /// When the file cannot be read, or is no vocabulary.
    pub fn load(path: &std::path::Path) -> Result<Self, TextError> {
        let text = std::fs::read_to_string(path).map_err(|cause| TextError::File {
            what: "the vocabulary could not be read",
            cause,
        })?;
        Self::from_json(&text)
    }
}

/// One token in the place of each occurrence of a pair, from the left.
fn replace(word: &mut Vec<u32>, pair: (u32, u32), joined: u32) {
    let (mut read, mut write) = (0, 0);
    while read < word.len() {
        if read + 1 < word.len() && (word[read], word[read + 1]) == pair {
            word[write] = joined;
            read += 2;
        } else {
            word[write] = word[read];
            read += 1;
        }
        write += 1;
    }
    word.truncate(write);
}

/// How often tokens are neighbours, in which words, and which pair is next.
#[derive(Default)]
struct Pairs {
    counts: BTreeMap<(u32, u32), (u64, BTreeSet<usize>)>,
    /// Counts as they once were: at least one for each pair is no lower than its count is now.
    queue: BinaryHeap<(u64, Reverse<(u32, u32)>)>,
}

impl Pairs {
    fn add(&mut self, word: &[u32], count: u64, place: usize) {
        for pair in word.windows(2) {
            let pair = (pair[0], pair[1]);
            let (total, places) = self.counts.entry(pair).or_default();
            *total += count;
            places.insert(place);
            self.queue.push((*total, Reverse(pair)));
        }
    }

    /// The places stay: a word that lost a pair is looked at once more and nothing happens.
    fn remove(&mut self, word: &[u32], count: u64) {
        for pair in word.windows(2) {
            if let Some((total, _)) = self.counts.get_mut(&(pair[0], pair[1])) {
                *total = total.saturating_sub(count);
            }
        }
    }

    /// The most frequent pair, the first of equals, and where it is; one that occurs once is not worth a token.
    fn take_best(&mut self, allowed: impl Fn((u32, u32)) -> bool) -> Option<((u32, u32), BTreeSet<usize>)> {
        while let Some((count, Reverse(pair))) = self.queue.pop() {
            let Some((now, places)) = self.counts.get_mut(&pair) else {
                continue;
            };
            if *now < count && *now > 1 {
                self.queue.push((*now, Reverse(pair)));
            } else if *now == count && count > 1 && allowed(pair) {
                return Some((pair, std::mem::take(places)));
            }
        }
        None
    }
}

/// Text cut where no token may cross.
struct Pieces<'text> {
    rest: &'text [u8],
    digits: Digits,
}

impl<'text> Pieces<'text> {
    fn of(text: &'text [u8], digits: Digits) -> Self {
        Self { rest: text, digits }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Letters,
    Digit,
    Other,
}

/// Bytes of letters beyond ASCII count as letters, so that no word is cut inside a letter unless it is endless.
fn class_of(byte: u8) -> ByteClass {
    match byte {
        b'0'..=b'9' => ByteClass::Digit,
        b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => ByteClass::Letters,
        _ => ByteClass::Other,
    }
}

impl<'text> Iterator for Pieces<'text> {
    type Item = &'text [u8];

    fn next(&mut self) -> Option<&'text [u8]> {
        let first = class_of(*self.rest.first()?);
        let longest = match (first, self.digits) {
            (ByteClass::Digit, Digits::Single) => 1,
            _ => LONGEST_PIECE.min(self.rest.len()),
        };
        let mut length = 1;
        while length < longest && class_of(self.rest[length]) == first {
            length += 1;
        }
        // The space behind a word belongs to it.
        if first == ByteClass::Letters && length < longest && self.rest[length] == b' ' {
            length += 1;
        }
        let (piece, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(piece)
    }
}

#[cfg(test)]
mod tests;
