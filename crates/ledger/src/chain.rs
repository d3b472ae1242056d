//! Entries, and the chain of hashes that holds them together.

use crate::{Error, Rules};
use accounting::{Event, Guarantee};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// Hashed before everything else, so that a hash of an entry is a hash of nothing but an entry of this
/// format.
const DOMAIN: &[u8] = b"deniable ledger, entry, format 1";
/// What the first entry follows.
const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Written in the first entry; another format is another program's.
pub(crate) const FORMAT: u32 = 1;

/// The last entry of a ledger, which stands for all before it.
///
/// Keep it somewhere that the owner of the ledger cannot write, and compare later with
/// [`Store::entry_hash`](crate::Store::entry_hash).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Its number; the first entry is 1.
    pub number: u64,
    /// Its hash, in hexadecimal digits.
    pub hash: String,
}

impl fmt::Display for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.number, self.hash)
    }
}

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// The first rules.
    Opened,
    /// Something was admitted, and may run.
    Charge,
    /// The result of an earlier charge.
    Answer,
    /// Other rules from here on.
    Rules,
    /// Something else that happened: a login, a refusal, a token, another catalog.
    Log,
}

impl RecordKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Charge => "charge",
            Self::Answer => "answer",
            Self::Rules => "rules",
            Self::Log => "log",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Opened, Self::Charge, Self::Answer, Self::Rules, Self::Log]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// The body of the first entry.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenedBody {
    pub(crate) format: u32,
    pub(crate) rules: Rules,
}

/// The body of a charge.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChargeBody {
    pub(crate) event: Event,
    pub(crate) guarantee: Guarantee,
}

/// The body of an answer.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerBody {
    pub(crate) charge: u64,
    pub(crate) answer: String,
    /// Random, so that nobody finds the moment at which noise was drawn or an answer was saved by trying
    /// moments against a hash that was published: how long drawing takes is not public. Entries of earlier
    /// versions have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) salt: String,
}

/// The body of a change of rules.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RulesBody {
    pub(crate) rules: Rules,
}

/// The body of what else happened.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogBody {
    pub(crate) what: String,
    pub(crate) about: String,
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub(crate) times: u64,
}

fn once() -> u64 {
    1
}

fn is_once(times: &u64) -> bool {
    *times == 1
}

/// One entry, as it is stored: whatever is hashed is hashed as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) number: u64,
    /// The hash of the entry before it.
    pub(crate) previous: String,
    /// Milliseconds since 1970, by the clock of the machine that wrote it.
    pub(crate) time: i64,
    pub(crate) kind: String,
    pub(crate) analyst: String,
    pub(crate) question: String,
    pub(crate) purpose: String,
    /// JSON.
    pub(crate) body: String,
    /// The digest of the sums after it.
    pub(crate) tally: String,
    pub(crate) hash: String,
}

/// What a new entry says.
pub(crate) struct Content<'a> {
    pub(crate) kind: RecordKind,
    pub(crate) analyst: &'a str,
    pub(crate) question: &'a str,
    pub(crate) purpose: &'a str,
    pub(crate) body: String,
    pub(crate) tally: String,
}

impl Record {
    /// The entry after `head`, or the first.
    pub(crate) fn after(head: Option<&Head>, time: i64, content: Content<'_>) -> Self {
        let mut record = Self {
            number: head.map_or(1, |head| head.number + 1),
            previous: head.map_or(NOTHING, |head| &head.hash).to_owned(),
            time,
            kind: content.kind.name().to_owned(),
            analyst: content.analyst.to_owned(),
            question: content.question.to_owned(),
            purpose: content.purpose.to_owned(),
            body: content.body,
            tally: content.tally,
            hash: String::new(),
        };
        record.hash = record.digest();
        record
    }

    pub(crate) fn head(&self) -> Head {
        Head {
            number: self.number,
            hash: self.hash.clone(),
        }
    }

    /// SHA-256 of every field, each after its length, so that no two entries have the same encoding.
    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        field(DOMAIN);
        field(&self.number.to_be_bytes());
        field(self.previous.as_bytes());
        field(&self.time.to_be_bytes());
        for text in [
            &self.kind,
            &self.analyst,
            &self.question,
            &self.purpose,
            &self.body,
            &self.tally,
        ] {
            field(text.as_bytes());
        }
        hexadecimal(&hash.finalize())
    }

    /// Whether it is what was written.
    pub(crate) fn check_itself(&self) -> Result<(), Error> {
        if self.hash == self.digest() {
            Ok(())
        } else {
            Err(Error::broken(
                self.number,
                "its hash is not the hash of what it says",
            ))
        }
    }

    /// Whether it is what was written, and was written after `head`.
    pub(crate) fn check_after(&self, head: Option<&Head>) -> Result<(), Error> {
        let expected = head.map_or(1, |head| head.number + 1);
        if self.number != expected {
            return Err(Error::broken(
                expected,
                format!("it is missing; entry {} comes next", self.number),
            ));
        }
        if self.previous != head.map_or(NOTHING, |head| &head.hash) {
            return Err(Error::broken(
                self.number,
                "it does not follow the entry before it",
            ));
        }
        self.check_itself()?;
        // The first entry, and only the first, opens the ledger.
        if (self.kind()? == RecordKind::Opened) != head.is_none() {
            return Err(Error::broken(
                self.number,
                "a ledger is opened by its first entry, once",
            ));
        }
        Ok(())
    }

    pub(crate) fn kind(&self) -> Result<RecordKind, Error> {
        RecordKind::named(&self.kind).ok_or_else(|| Error::broken(self.number, "it is of no known kind"))
    }

    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(&self.body).map_err(|_| {
            Error::broken(
                self.number,
                "what it says cannot be read; perhaps a newer version wrote it",
            )
        })
    }
}

pub(crate) fn digest_of(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(analyst: &str, question: &str) -> Record {
        let content = Content {
            kind: RecordKind::Charge,
            analyst,
            question,
            purpose: "",
            body: "{}".to_owned(),
            tally: String::new(),
        };
        let head = Head {
            number: 1,
            hash: NOTHING.to_owned(),
        };
        Record::after(Some(&head), 7, content)
    }

    /// Computed with another implementation:
    /// `sha256(b"".join(len(f).to_bytes(8, "big") + f for f in fields))`.
    #[test]
    fn the_encoding_is_the_documented_one() {
        assert_eq!(
            record("ann", "q").hash,
            "66887997e95d80e3336afed43efbe81095be280e1da3f17705e75eee10840bfb"
        );
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        assert_ne!(record("ab", "c").hash, record("a", "bc").hash);
        assert_ne!(record("", "abc").hash, record("abc", "").hash);
    }

    #[test]
    fn the_digest_of_nothing() {
        assert_eq!(
            digest_of(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
