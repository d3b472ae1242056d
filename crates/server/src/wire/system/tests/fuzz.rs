//! Changed texts of clients: nothing panics, whatever they ask.

use super::super::Stop;
use super::clients::{recorded, system};

/// A small generator of numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        // Marsaglia's xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).expect("small")).expect("small")
    }
}

/// Splits a text into words, numbers and single characters.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut word = false;
    for c in text.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        match pieces.last_mut() {
            Some(last) if is_word && word => last.push(c),
            _ => pieces.push(c.to_string()),
        }
        word = is_word;
    }
    pieces
}

#[test]
fn changed_texts_do_not_panic() {
    let rounds = std::env::var("FUZZ_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(3_000);
    let system = system();
    let texts: Vec<Vec<String>> = recorded().iter().map(|(_, sql)| pieces(sql)).collect();
    let seed = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut numbers = Numbers(seed.unwrap_or(0x2545_f491_4f6c_dd1d));
    let (mut taken, mut answered) = (0, 0);
    for _ in 0..rounds {
        let mut text = texts[numbers.below(texts.len())].clone();
        for _ in 0..=numbers.below(3) {
            let other = &texts[numbers.below(texts.len())];
            let at = numbers.below(text.len());
            let end = (at + 1 + numbers.below(4)).min(text.len());
            match numbers.below(6) {
                0 => drop(text.drain(at..end)),
                1 => {
                    let copy = text[at..end].to_vec();
                    text.splice(at..at, copy);
                }
                2 => {
                    let from = numbers.below(text.len());
                    text.swap(at, from);
                }
                3 => {
                    let from = numbers.below(other.len());
                    let until = (from + 1 + numbers.below(12)).min(other.len());
                    text.splice(at..end, other[from..until].iter().cloned());
                }
                4 => text[at] = numbers.next().to_string(),
                _ => {
                    const ODD: [&str; 12] = [
                        "'",
                        "\"",
                        "''",
                        "NULL",
                        "-1",
                        "\\",
                        "é",
                        "{",
                        "}",
                        "\u{0}",
                        "9223372036854775807",
                        "(",
                    ];
                    text[at] = ODD[numbers.below(ODD.len())].to_owned();
                }
            }
            if text.is_empty() {
                break;
            }
        }
        let sql = text.concat();
        let mine = system.answers(&sql);
        taken += usize::from(mine);
        let columns = system.columns(&sql, "ann", &Stop::default());
        let answer = system.query(&sql, "ann", &Stop::default());
        if let Ok(answer) = &answer {
            assert!(mine, "{sql}");
            assert_eq!(columns.as_ref(), Ok(&answer.columns), "{sql}");
            assert!(
                answer.rows.iter().all(|row| row.len() == answer.columns.len()),
                "{sql}"
            );
            answered += 1;
        }
    }
    // The changes are small enough that many texts are still understood.
    assert!(
        taken > rounds / 10 && answered > rounds / 20,
        "{taken} taken, {answered} answered of {rounds}"
    );
}
