//! An executable as the auditor runs it: outputs are read in large batches, kept, and handed out once each.

use super::output::{Kind, Reader};
use super::program::{Input, Program};
use crate::terminal::{CliError, Progress, explained, fail};
use audit::black_box::Subject;
use noise::{Entropy, OsEntropy};

/// A program, its inputs, and the outputs that nobody has looked at yet.
pub(super) struct Runner<'a> {
    program: Program,
    /// The first and the second input of each pair, in turn.
    inputs: Vec<String>,
    reader: Reader,
    progress: &'a Progress,
    /// Outputs asked for at each start.
    batch: u64,
    kept: Vec<Rows>,
    entropy: OsEntropy,
}

/// Rows one after the other, in one piece of memory.
#[derive(Default)]
struct Rows {
    entries: Vec<f64>,
    ends: Vec<usize>,
    next: usize,
    /// What the first outputs of the first start were.
    beginning: Vec<f64>,
}

/// Outputs compared to see whether a program repeats itself when it is started again, and how many of them must be rare for that to mean something.
const COMPARED: usize = 4096;
const RARE: usize = 64;

impl From<audit::Error> for CliError {
    fn from(error: audit::Error) -> Self {
        explained(error)
    }
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        program: Program,
        inputs: Vec<String>,
        kind: Kind,
        batch: u64,
        progress: &'a Progress,
    ) -> Result<Self, CliError> {
        Ok(Self {
            program,
            kept: inputs.iter().map(|_| Rows::default()).collect(),
            inputs,
            reader: Reader::new(kind),
            progress,
            batch,
            entropy: OsEntropy::new().map_err(explained)?,
        })
    }

    fn name(input: usize) -> &'static str {
        ["first", "second"][input % 2]
    }

    fn fetch(&mut self, input: usize, lines: u64) -> Result<(), CliError> {
        let rows = &mut self.kept[input];
        rows.forget();
        let before = rows.ends.len();
        let asked = Input {
            name: Self::name(input),
            text: &self.inputs[input],
        };
        let reader = &mut self.reader;
        self.program.draw(asked, lines, self.progress, |line| {
            reader.read(line, asked, &mut rows.entries)?;
            rows.ends.push(rows.entries.len());
            Ok(())
        })?;
        if !self.program.one_shot && rows.repeats(before) {
            return fail(
                format!(
                    "the program gave the same answers again when it was started again on the {} input",
                    asked.name
                ),
                "its answers must be independent: seed it from the clock or the operating system, not with a constant",
            );
        }
        Ok(())
    }
}

impl Rows {
    fn waiting(&self) -> u64 {
        (self.ends.len() - self.next) as u64
    }

    fn take(&mut self) -> &[f64] {
        let from = if self.next == 0 {
            0
        } else {
            self.ends[self.next - 1]
        };
        let to = self.ends[self.next];
        self.next += 1;
        &self.entries[from..to]
    }

    /// Frees what was handed out.
    fn forget(&mut self) {
        if self.next == 0 {
            return;
        }
        let gone = self.ends[self.next - 1];
        self.entries.drain(..gone);
        self.ends.drain(..self.next);
        self.ends.iter_mut().for_each(|end| *end -= gone);
        self.next = 0;
    }

    /// Whether what came since `before` begins as the first start did, where that cannot be chance: the beginning of a start has at least
    /// so many outputs that are not its most common one.
    fn repeats(&mut self, before: usize) -> bool {
        let from = if before == 0 { 0 } else { self.ends[before - 1] };
        let new: Vec<f64> = self.entries[from..].iter().take(COMPARED).copied().collect();
        if self.beginning.is_empty() {
            self.beginning = new;
            return false;
        }
        let compared = new.len().min(self.beginning.len());
        let same = |left: &f64, right: &f64| left.to_bits() == right.to_bits();
        let equal = new
            .iter()
            .zip(&self.beginning)
            .all(|(left, right)| same(left, right));
        let mut counts = std::collections::BTreeMap::new();
        new[..compared]
            .iter()
            .for_each(|value| *counts.entry(value.to_bits()).or_insert(0usize) += 1);
        equal && compared - counts.values().max().copied().unwrap_or(0) >= RARE
    }
}

impl Subject for Runner<'_> {
    type Error = CliError;

    fn draw(&mut self, input: usize, times: u64, mut each: impl FnMut(&[f64])) -> Result<(), CliError> {
        let mut left = times;
        while left > 0 {
            if self.kept[input].waiting() == 0 {
                let lines = left.max(self.batch);
                self.fetch(input, lines)?;
            }
            let rows = &mut self.kept[input];
            for _ in 0..left.min(rows.waiting()) {
                each(rows.take());
                left -= 1;
            }
        }
        Ok(())
    }

    fn bits(&mut self) -> u64 {
        self.entropy.bits(64)
    }

    fn entry(&self, place: usize) -> String {
        self.reader.entry(place)
    }

    fn text(&self, word: f64) -> Option<String> {
        self.reader.text(word)
    }

    fn block(&self) -> u64 {
        1 << 22
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn rows_are_handed_out_once_and_repeats_are_noticed() {
        let mut rows = Rows::default();
        let push = |rows: &mut Rows, offset: usize| {
            for i in 0..200usize {
                rows.entries.push(((i * 37 + offset) % 101) as f64);
                rows.ends.push(rows.entries.len());
            }
        };
        push(&mut rows, 0);
        assert!(!rows.repeats(0));
        assert_eq!(
            (rows.take().to_vec(), rows.take().to_vec()),
            (vec![0.0], vec![37.0])
        );
        rows.forget();
        assert_eq!((rows.waiting(), rows.entries.len()), (198, 198));
        let before = rows.ends.len();
        push(&mut rows, 1);
        assert!(!rows.repeats(before));
        let before = rows.ends.len();
        push(&mut rows, 0);
        assert!(rows.repeats(before));
        // A constant repeats itself and is no generator with a fixed seed.
        let mut constant = Rows::default();
        for start in 0..2 {
            let before = constant.ends.len();
            constant.entries.extend([7.0; 300]);
            constant.ends.extend((1..=300).map(|end| 300 * start + end));
            assert!(!constant.repeats(before));
        }
    }
}
