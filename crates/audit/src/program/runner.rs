//! An executable as the auditor runs it: outputs are read in large batches, saved, and handed out once each.

use super::output::Reader;
use super::{Error, Input, Output, Program, Watch};
use crate::black_box::Subject;

/// A program, its inputs, and the outputs that nobody has looked at yet.
pub struct Runner<'a> {
    program: Program,
    /// The first and the second input of each pair, in turn.
    inputs: Vec<String>,
    reader: Reader,
    watch: Watch<'a>,
    /// Outputs asked for at each start.
    batch: u64,
    saved: Vec<Rows>,
    bits: Box<dyn FnMut() -> u64 + Send + 'a>,
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

/// Outputs compared to see whether a program repeats itself when it is started again, and how many of them
/// must be rare for that to mean something.
const COMPARED: usize = 4096;
const RARE: usize = 64;

impl<'a> Runner<'a> {
    /// A program on these inputs, of which this many outputs are asked for at each start. `bits` are uniform
    /// random bits, independent of every output; `watch` hears how many outputs were read.
    pub fn new(
        program: Program,
        inputs: Vec<String>,
        output: Output,
        batch: u64,
        bits: impl FnMut() -> u64 + Send + 'a,
        watch: Watch<'a>,
    ) -> Self {
        Self {
            program,
            saved: inputs.iter().map(|_| Rows::default()).collect(),
            inputs,
            reader: Reader::new(output),
            watch,
            batch,
            bits: Box::new(bits),
        }
    }

    fn name(input: usize) -> &'static str {
        ["first", "second"][input % 2]
    }

    fn fetch(&mut self, input: usize, lines: u64) -> Result<(), Error> {
        let rows = &mut self.saved[input];
        rows.forget();
        let before = rows.ends.len();
        let asked = Input {
            name: Self::name(input),
            text: &self.inputs[input],
        };
        let reader = &mut self.reader;
        self.program.draw(asked, lines, self.watch, |line| {
            reader.read(line, asked, &mut rows.entries)?;
            rows.ends.push(rows.entries.len());
            Ok(())
        })?;
        if !self.program.one_shot && rows.repeats(before) {
            return Err(Error::RepeatsItself { input: asked.name });
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

    /// Whether what came since `before` begins as the first start did, where that cannot be chance: the
    /// beginning of a start has at least this many outputs that are not its most common one.
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
    type Error = Error;

    fn draw(&mut self, input: usize, times: u64, mut each: impl FnMut(&[f64])) -> Result<(), Error> {
        let mut left = times;
        while left > 0 {
            if self.saved[input].waiting() == 0 {
                let lines = left.max(self.batch);
                self.fetch(input, lines)?;
            }
            let rows = &mut self.saved[input];
            for _ in 0..left.min(rows.waiting()) {
                each(rows.take());
                left -= 1;
            }
        }
        Ok(())
    }

    fn bits(&mut self) -> u64 {
        (self.bits)()
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
