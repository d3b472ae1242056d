//! The mechanism under test, and how several workers run it on both inputs.

use crate::Error;
use std::ops::Range;

/// Something that can be run on numbered inputs. Its outputs are short rows of numbers; a word in a row is a
/// [`word`].
///
/// Each worker owns one: it holds that worker's process, or that worker's stream of random words.
pub trait Subject: Send {
    /// Why a run failed.
    type Error: From<Error> + Send;

    /// Runs so often on one input and hands each output on. Outputs must be independent.
    fn draw(&mut self, input: usize, times: u64, each: impl FnMut(&[f64])) -> Result<(), Self::Error>;

    /// Uniform random bits, independent of every output: they decide which side is run how often.
    fn bits(&mut self) -> u64;

    /// What an entry of a row is called, counted from zero.
    fn entry(&self, place: usize) -> String {
        match place {
            0 => "value".to_string(),
            _ => format!("value {}", place + 1),
        }
    }

    /// The text of a [`word`] that this worker has drawn.
    fn text(&self, word: f64) -> Option<String> {
        let _ = word;
        None
    }

    /// Draws between two decisions about sides, a multiple of 64. A subject that is costly to start takes
    /// many.
    fn block(&self) -> u64 {
        4096
    }
}

/// Two inputs, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The first input.
    pub first: usize,
    /// Its neighbour.
    pub second: usize,
}

/// A word in a row: a NaN that carries a hash of the word, so that equal words are equal bits and no number
/// equals a word.
pub const fn word(text: &[u8]) -> f64 {
    // FNV-1a, folded into the payload of a quiet NaN; a bit of it keeps words apart from the ordinary NaN.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut at = 0;
    while at < text.len() {
        hash = (hash ^ text[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    f64::from_bits(0x7ffc_0000_0000_0000 | (hash ^ (hash >> 13)) & 0x3_ffff_ffff_ffff)
}

/// Whether an entry of a row is a word.
pub(super) fn is_word(value: f64) -> bool {
    value.to_bits() & 0xfffc_0000_0000_0000 == 0x7ffc_0000_0000_0000
}

/// Tells entries of rows to a person, in the words of the workers who drew them.
pub(super) struct Teller<'a> {
    pub(super) entry: &'a dyn Fn(usize) -> String,
    pub(super) text: &'a dyn Fn(f64) -> Option<String>,
}

impl Teller<'_> {
    pub(super) fn value(&self, value: f64) -> String {
        if !is_word(value) {
            return value.to_string();
        }
        match (self.text)(value) {
            Some(text) => format!("“{text}”"),
            None => "a word".to_string(),
        }
    }
}

/// The result of a run: each worker's account, and the draws of each side.
pub(super) type Accounts<A, E> = Result<(Vec<A>, [u64; 2]), E>;

/// Draws from both inputs, each draw on a side that a fair coin chooses, and lets every worker keep its own
/// account of them. Returns the accounts, and how many draws each side had.
///
/// The coins are tossed a block at a time: of 64 draws as many are on the first side as a random word has
/// ones. What is drawn after that in which order makes no difference, as draws are independent.
pub(super) fn run<S: Subject, A: Send>(
    workers: &mut [S],
    pair: Pair,
    draws: u64,
    account: impl Fn() -> A + Sync,
    each: impl Fn(&mut A, usize, &[f64]) + Sync,
) -> Accounts<A, S::Error> {
    let shares = shares(draws, workers.len() as u64);
    let work = |worker: &mut S, share: Range<u64>| -> Result<(A, [u64; 2]), S::Error> {
        let (mut kept, mut drawn) = (account(), [0u64; 2]);
        let mut left = share.end - share.start;
        while left > 0 {
            let block = left.min(worker.block());
            let first: u64 = (0..block / 64)
                .map(|_| u64::from(worker.bits().count_ones()))
                .sum();
            for (side, input, times) in [(0, pair.first, first), (1, pair.second, block - first)] {
                worker.draw(input, times, |row| each(&mut kept, side, row))?;
                drawn[side] += times;
            }
            left -= block;
        }
        Ok((kept, drawn))
    };
    type Share<A, E> = Result<(A, [u64; 2]), E>;
    let results: Vec<Share<A, S::Error>> = if let [only] = workers {
        vec![work(only, shares[0].clone())]
    } else {
        std::thread::scope(|scope| {
            let running: Vec<_> = workers
                .iter_mut()
                .zip(shares)
                .map(|(worker, share)| scope.spawn(|| work(worker, share)))
                .collect();
            running
                .into_iter()
                .map(|handle| {
                    handle
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        })
    };
    let mut accounts = Vec::new();
    let mut drawn = [0u64; 2];
    for result in results {
        let (kept, counts) = result?;
        accounts.push(kept);
        drawn[0] += counts[0];
        drawn[1] += counts[1];
    }
    Ok((accounts, drawn))
}

/// Cuts the draws, rounded up to whole words of coins, into a part for each worker.
fn shares(draws: u64, workers: u64) -> Vec<Range<u64>> {
    let words = draws.div_ceil(64);
    (0..workers)
        .map(|worker| 64 * (words * worker / workers)..64 * (words * (worker + 1) / workers))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counter(u64);

    impl Subject for Counter {
        type Error = Error;
        fn draw(&mut self, input: usize, times: u64, mut each: impl FnMut(&[f64])) -> Result<(), Error> {
            (0..times).for_each(|_| each(&[input as f64]));
            Ok(())
        }
        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.0 ^ (self.0 >> 29)
        }
    }

    #[test]
    fn every_draw_is_made_once_on_the_side_it_is_counted_for() {
        for workers in 1..4 {
            let mut subjects: Vec<Counter> = (0..workers).map(Counter).collect();
            let pair = Pair { first: 5, second: 7 };
            let (accounts, drawn) = run(
                &mut subjects,
                pair,
                100_000,
                || [0u64; 2],
                |kept, side, row| {
                    assert_eq!(row, [[5.0], [7.0]][side]);
                    kept[side] += 1;
                },
            )
            .unwrap();
            let total = accounts
                .iter()
                .fold([0, 0], |sum, kept| [sum[0] + kept[0], sum[1] + kept[1]]);
            assert_eq!(total, drawn);
            assert_eq!(drawn[0] + drawn[1], 100_032);
            // A fair coin: six standard deviations are 950.
            assert!(drawn[0].abs_diff(drawn[1]) < 2_000, "{drawn:?}");
        }
    }

    #[test]
    fn words_are_reported_from_numbers() {
        assert!(is_word(word(b"above")) && word(b"above").is_nan());
        assert_ne!(word(b"above").to_bits(), word(b"below").to_bits());
        for number in [0.0, -1.5, f64::INFINITY, f64::NAN, -f64::NAN] {
            assert!(!is_word(number));
        }
    }
}
