//! What a function gives of each row of one partition.

use super::{Frame, WindowValue};
use datafusion::arrow::array::{Array, Int64Array};
use datafusion::arrow::row::Rows;
use std::ops::Range;

/// What is computed: numbers, or the places of rows whose value is taken.
pub(super) enum Computed {
    Numbers(Vec<Option<i64>>),
    Places(Vec<Option<u64>>),
}

impl Computed {
    pub(super) fn of(value: &WindowValue) -> Self {
        match value {
            WindowValue::RowNumber
            | WindowValue::Rank
            | WindowValue::DenseRank
            | WindowValue::Count(..)
            | WindowValue::Sum(..) => Self::Numbers(Vec::new()),
            _ => Self::Places(Vec::new()),
        }
    }
}

/// One partition: its rows, and of each row the first of its equals in the query's order and the one after the last.
pub(super) struct Partition<'a> {
    pub(super) rows: Range<usize>,
    pub(super) peers: &'a [Range<usize>],
}

impl Partition<'_> {
    /// The rows of a frame, cut to the partition.
    fn frame(&self, row: usize, frame: Frame) -> Range<usize> {
        let Range { start, end } = self.rows.clone();
        match frame {
            Frame::UpToPeers => start..self.peers[row].end,
            Frame::Rows(before, after) => {
                let moved = |by: i64| {
                    let place = (row as i64).saturating_add(by);
                    place.clamp(start as i64, end as i64) as usize
                };
                let first = before.map_or(start, |before| moved(before.saturating_neg()));
                let last = after.map_or(end, |after| moved(after.saturating_add(1)));
                first..last.max(first)
            }
        }
    }

    /// Adds what a function gives of each row. `values` are the function's column, as integers for sums and in the order of their bytes for the least and largest.
    pub(super) fn compute(
        &self,
        value: &WindowValue,
        column: Option<&dyn Array>,
        integers: Option<&Int64Array>,
        bytes: Option<&Rows>,
        computed: &mut Computed,
    ) {
        match (value, computed) {
            (WindowValue::RowNumber, Computed::Numbers(numbers)) => {
                numbers.extend((1..).take(self.rows.len()).map(Some));
            }
            (WindowValue::Rank, Computed::Numbers(numbers)) => {
                let rank = |row: usize| (self.peers[row].start - self.rows.start) as i64 + 1;
                numbers.extend(self.rows.clone().map(|row| Some(rank(row))));
            }
            (WindowValue::DenseRank, Computed::Numbers(numbers)) => {
                let mut rank = 0;
                for row in self.rows.clone() {
                    rank += i64::from(self.peers[row].start == row);
                    numbers.push(Some(rank));
                }
            }
            (WindowValue::Lag(_, by), Computed::Places(places)) => {
                let there = |row: usize| {
                    let place = usize::try_from((row as i64).checked_sub(*by)?).ok()?;
                    self.rows.contains(&place).then_some(place as u64)
                };
                places.extend(self.rows.clone().map(there));
            }
            (WindowValue::First(_, frame), Computed::Places(places)) => {
                let first = |row| self.frame(row, *frame).next();
                places.extend(self.rows.clone().map(|row| first(row).map(|place| place as u64)));
            }
            (WindowValue::Last(_, frame), Computed::Places(places)) => {
                let last = |row| self.frame(row, *frame).next_back();
                places.extend(self.rows.clone().map(|row| last(row).map(|place| place as u64)));
            }
            (WindowValue::Least(_, frame), Computed::Places(places)) => {
                self.best(*frame, column, bytes, |one, other| one < other, places);
            }
            (WindowValue::Largest(_, frame), Computed::Places(places)) => {
                self.best(*frame, column, bytes, |one, other| one > other, places);
            }
            (WindowValue::Count(_, frame), Computed::Numbers(numbers)) => {
                let Some(column) = column else { return };
                let counts = self.prefixes(|row| i64::from(column.is_valid(row)));
                numbers.extend(
                    self.rows
                        .clone()
                        .map(|row| Some(self.between(row, *frame, &counts))),
                );
            }
            (WindowValue::Sum(_, frame), Computed::Numbers(numbers)) => {
                let Some(integers) = integers else { return };
                let counts = self.prefixes(|row| i64::from(integers.is_valid(row)));
                let sums = self.prefixes(|row| match integers.is_valid(row) {
                    true => integers.value(row),
                    false => 0,
                });
                numbers.extend(self.rows.clone().map(|row| {
                    let present = self.between(row, *frame, &counts) > 0;
                    present.then(|| self.between(row, *frame, &sums))
                }));
            }
            _ => unreachable!("each function was given its own kind of result"),
        }
    }

    /// Sums of all rows before each, modulo 2⁶⁴.
    fn prefixes(&self, number: impl Fn(usize) -> i64) -> Vec<i64> {
        let mut sums = vec![0i64];
        for row in self.rows.clone() {
            let last = sums.last().copied().unwrap_or(0);
            sums.push(last.wrapping_add(number(row)));
        }
        sums
    }

    fn between(&self, row: usize, frame: Frame, sums: &[i64]) -> i64 {
        let Range { start, end } = self.frame(row, frame);
        let at = |place: usize| sums[place - self.rows.start];
        at(end).wrapping_sub(at(start))
    }

    /// The place of the best value of each frame. Frames only move forward, so each row enters once and leaves once.
    fn best(
        &self,
        frame: Frame,
        column: Option<&dyn Array>,
        bytes: Option<&Rows>,
        better: impl Fn(&[u8], &[u8]) -> bool,
        places: &mut Vec<Option<u64>>,
    ) {
        let (Some(column), Some(bytes)) = (column, bytes) else {
            return;
        };
        // Candidates in order of their places, each better than all after it.
        let mut candidates = std::collections::VecDeque::new();
        let mut entered = self.rows.start;
        for row in self.rows.clone() {
            let Range { start, end } = self.frame(row, frame);
            while entered < end {
                if column.is_valid(entered) {
                    while candidates
                        .back()
                        .is_some_and(|last| !better(bytes.row(*last).as_ref(), bytes.row(entered).as_ref()))
                    {
                        candidates.pop_back();
                    }
                    candidates.push_back(entered);
                }
                entered += 1;
            }
            while candidates.front().is_some_and(|first| *first < start) {
                candidates.pop_front();
            }
            places.push(candidates.front().map(|first| *first as u64));
        }
    }
}
