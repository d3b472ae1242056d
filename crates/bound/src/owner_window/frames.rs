//! What a function gives of each row of one partition.

use super::{Frame, WindowValue};
use crate::sums::{Sum, cut_to_64_bits};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use datafusion::arrow::row::Rows;
use std::ops::Range;

/// What is computed: numbers, or the places of rows whose value is taken.
pub(super) enum Computed {
    Numbers(Vec<Option<i64>>),
    Floats(Vec<Option<f64>>),
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
            WindowValue::FloatSum(..) | WindowValue::FloatAverage(..) => Self::Floats(Vec::new()),
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

    /// Adds what a function gives of each row. `bytes` are the function's column in the order of its values, for the least and largest.
    pub(super) fn compute(
        &self,
        value: &WindowValue,
        column: Option<&dyn Array>,
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
                let counts = self.counts(column);
                numbers.extend(
                    self.rows
                        .clone()
                        .map(|row| Some(self.count(row, *frame, &counts) as i64)),
                );
            }
            (WindowValue::Sum(_, frame), Computed::Numbers(numbers)) => {
                let Some(integers) = column.and_then(|column| column.as_primitive_opt::<Int64Type>()) else {
                    return;
                };
                let counts = self.counts(integers);
                let sums = self.prefixes(0_i128, |sum, row| match integers.is_valid(row) {
                    true => sum + i128::from(integers.value(row)),
                    false => *sum,
                });
                numbers.extend(self.rows.clone().map(|row| {
                    let (before, until) = self.around(row, *frame, &sums);
                    let some = self.count(row, *frame, &counts) > 0;
                    some.then(|| cut_to_64_bits(until - before))
                }));
            }
            (
                value @ (WindowValue::FloatSum(_, frame) | WindowValue::FloatAverage(_, frame)),
                Computed::Floats(numbers),
            ) => {
                let Some(floats) = column.and_then(|column| column.as_primitive_opt::<Float64Type>()) else {
                    return;
                };
                let counts = self.counts(floats);
                let sums = self.prefixes(Sum::default(), |sum, row| {
                    let mut sum = sum.clone();
                    if floats.is_valid(row) {
                        sum.add(floats.value(row));
                    }
                    sum
                });
                numbers.extend(self.rows.clone().map(|row| {
                    let (before, until) = self.around(row, *frame, &sums);
                    let mut sum = until.clone();
                    sum.subtract(before);
                    match (value, self.count(row, *frame, &counts)) {
                        (_, 0) => None,
                        (WindowValue::FloatSum(..), _) => Some(sum.rounded()),
                        (_, count) => Some(sum.divided(count)),
                    }
                }));
            }
            _ => unreachable!("each function was given its own kind of result"),
        }
    }

    /// What is added up of all rows before each, and of all of them. It is exact, so differences are.
    fn prefixes<T>(&self, nothing: T, with: impl Fn(&T, usize) -> T) -> Vec<T> {
        let mut sums = vec![nothing];
        for row in self.rows.clone() {
            let next = with(&sums[sums.len() - 1], row);
            sums.push(next);
        }
        sums
    }

    /// How many values before each row are not NULL.
    fn counts(&self, column: &dyn Array) -> Vec<u64> {
        self.prefixes(0, |count, row| count + u64::from(column.is_valid(row)))
    }

    /// What was added up before a row's frame, and until its end.
    fn around<'s, T>(&self, row: usize, frame: Frame, sums: &'s [T]) -> (&'s T, &'s T) {
        let Range { start, end } = self.frame(row, frame);
        (&sums[start - self.rows.start], &sums[end - self.rows.start])
    }

    fn count(&self, row: usize, frame: Frame, counts: &[u64]) -> u64 {
        let (before, until) = self.around(row, frame, counts);
        until - before
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
