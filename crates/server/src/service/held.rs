//! Answers that are held in memory, for accounts that ask the same in the same words.
//!
//! Their bytes are limited, for each account that asked first and in all. One answer in many spellings counts
//! as that many answers. If there is no room, the oldest answers make room, an account's own before those of
//! others.

use super::Question;
use crate::memory::{Count, Memory, Reservation};
use serde::Serialize;
use sql::{Answered, CellValue};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Answers that are held at most, however small.
pub(super) const MOST_ANSWERS: usize = 4096;
/// What an entry takes besides the bytes that are counted.
const ENTRY: usize = 1 << 10;

/// Answers that are held.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    next: u64,
    by_question: HashMap<Arc<Question>, Entry>,
    by_age: BTreeMap<u64, Arc<Question>>,
}

#[derive(Debug)]
struct Entry {
    age: u64,
    /// The account that asked first.
    account: String,
    /// What the data was called.
    version: String,
    answered: Arc<Answered>,
    _reserved: Reservation,
}

impl Answers {
    fn remove(&mut self, question: &Question) {
        if let Some(entry) = self.by_question.remove(question) {
            self.by_age.remove(&entry.age);
        }
    }

    /// The oldest answer of this account, or of anybody if it has none.
    fn oldest(&self, account: &str) -> Option<Arc<Question>> {
        let theirs = |question: &&Arc<Question>| {
            self.by_question
                .get(*question)
                .is_some_and(|entry| entry.account == account)
        };
        let own = self.by_age.values().find(theirs);
        own.or_else(|| self.by_age.values().next()).cloned()
    }
}

impl Held {
    /// The answer to this question, if it is about the data that has this version.
    pub(super) fn get(&self, question: &Question, version: &str) -> Option<Arc<Answered>> {
        let answers = self.lock();
        let entry = answers.by_question.get(question)?;
        (entry.version == version).then(|| Arc::clone(&entry.answered))
    }

    /// Holds an answer, in place of older ones. One that is larger than an account may hold is not held.
    pub(super) fn insert(
        &self,
        memory: &Memory,
        account: &str,
        question: Question,
        version: String,
        answered: &Arc<Answered>,
    ) {
        let bytes = bytes_of(&question, answered);
        if bytes > memory.held_of(account).most() {
            return;
        }
        let mut answers = self.lock();
        answers.remove(&question);
        let reserved = loop {
            if answers.by_age.len() < MOST_ANSWERS
                && let Ok(reserved) = memory.held_of(account).reserve(bytes)
            {
                break reserved;
            }
            match answers.oldest(account) {
                Some(oldest) => answers.remove(&oldest),
                // Something else takes the room.
                None => return,
            }
        };
        let (question, age) = (Arc::new(question), answers.next);
        answers.next += 1;
        answers.by_age.insert(age, Arc::clone(&question));
        let entry = Entry {
            age,
            account: account.to_owned(),
            version,
            answered: Arc::clone(answered),
            _reserved: reserved,
        };
        answers.by_question.insert(question, entry);
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of memory that a question and its answer take, or more.
fn bytes_of(question: &Question, answered: &Answered) -> usize {
    let answer = &answered.answer;
    let cells: usize = answer
        .rows
        .iter()
        .map(|row| {
            let texts: usize = row
                .iter()
                .map(|cell| match &cell.value {
                    CellValue::Text(text) => text.capacity(),
                    _ => 0,
                })
                .sum();
            size_of::<Vec<sql::Cell>>() + row.capacity() * size_of::<sql::Cell>() + texts
        })
        .sum();
    // What is short beside the rows is written out; its names and numbers take about as much as they do in
    // memory.
    let about = (
        question,
        &answer.columns,
        &answer.bounds,
        &answer.cut,
        &answer.notes,
    );
    ENTRY + cells + 2 * (written(&about) + written(&answered.receipt))
}

/// The bytes of something as JSON.
fn written(value: &impl Serialize) -> usize {
    let mut count = Count::default();
    // What cannot be written is not held.
    serde_json::to_writer(&mut count, value).map_or(usize::MAX / 8, |()| count.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::{Answer, Cell};

    /// An answer whose one text has this many bytes.
    fn answer(bytes: usize) -> Arc<Answered> {
        let epsilon = || accounting::Epsilon::parse("1").unwrap();
        Arc::new(Answered {
            answer: Answer {
                columns: Vec::new(),
                rows: vec![vec![Cell {
                    value: CellValue::Text("x".repeat(bytes)),
                    low: None,
                    high: None,
                }]],
                confidence: 0.95,
                bounds: Vec::new(),
                cut: Vec::new(),
                notes: Vec::new(),
                cost: None,
            },
            repeated: false,
            resumed: false,
            left: ledger::Left {
                epsilon: epsilon(),
                dataset: epsilon(),
                share: None,
            },
            receipt: None,
        })
    }

    fn spelled(number: usize) -> Question {
        Question::new(format!("SELECT COUNT(*) FROM people -- {number}"))
    }

    #[test]
    fn one_answer_in_many_spellings_takes_no_more_than_an_account_may() {
        let (held, memory) = (Held::default(), Memory::default());
        let of_ben = answer(1 << 10);
        held.insert(
            &memory,
            "ben",
            Question::new("SELECT 1"),
            "v1".to_owned(),
            &of_ben,
        );
        let most = memory.held_of("ann").most();
        for number in 0..1000 {
            held.insert(&memory, "ann", spelled(number), "v1".to_owned(), &answer(1 << 20));
            assert!(memory.held_of("ann").used() <= most);
        }
        // The newest are held, the oldest made room, and what others asked is held as before.
        assert!(held.get(&spelled(999), "v1").is_some() && held.get(&spelled(0), "v1").is_none());
        assert!(held.get(&Question::new("SELECT 1"), "v1").is_some());
        assert!(held.get(&Question::new("SELECT 1"), "v2").is_none());
        // One that is too large is not held, and takes nobody's place.
        held.insert(&memory, "ann", spelled(1000), "v1".to_owned(), &answer(10 << 20));
        assert!(held.get(&spelled(1000), "v1").is_none() && held.get(&spelled(999), "v1").is_some());
    }

    #[test]
    fn all_accounts_together_have_a_limit_and_so_has_the_number() {
        let (held, memory) = (Held::default(), Memory::default());
        for number in 0..40 {
            let account = format!("analyst{number}");
            held.insert(
                &memory,
                &account,
                spelled(number),
                "v1".to_owned(),
                &answer(2 << 20),
            );
        }
        assert!(memory.used() > 16 << 20 && memory.used() <= 32 << 20);
        assert!(held.get(&spelled(39), "v1").is_some() && held.get(&spelled(0), "v1").is_none());
        for number in 0..MOST_ANSWERS + 10 {
            let account = format!("analyst{}", number % 64);
            held.insert(&memory, &account, spelled(number), "v1".to_owned(), &answer(1));
        }
        let answers = held.lock();
        assert_eq!(answers.by_question.len(), answers.by_age.len());
        assert_eq!(answers.by_age.len(), MOST_ANSWERS);
    }

    #[test]
    fn a_newer_answer_takes_the_place_of_the_older_one_to_the_same_question() {
        let (held, memory) = (Held::default(), Memory::default());
        held.insert(&memory, "ann", spelled(1), "v1".to_owned(), &answer(1 << 20));
        held.insert(&memory, "ben", spelled(1), "v2".to_owned(), &answer(1 << 10));
        assert!(held.get(&spelled(1), "v1").is_none() && held.get(&spelled(1), "v2").is_some());
        assert_eq!(memory.held_of("ann").used(), 0);
    }
}
