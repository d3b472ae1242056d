//! The states of units that come one after the other: one unit at a time, in memory of the size of the result.

use super::choice::{Affine, Digest};
use super::groups::Groups;
use super::registers::Addend;
use super::totals::{Ranked, Shape, Totals, in_order};
use datafusion::arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array, make_comparator};
use datafusion::arrow::compute::{SortOptions, partition, take};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryReservation;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Where more groups of a unit count than this, rows are not sifted.
const SIFTED: usize = 8;

/// Rows sorted by unit, folded into the totals of their groups as soon as the next unit starts.
///
/// As in [`super::units`], a unit keeps the groups of smallest hash among those seen so far, and one that was dropped never comes back.
pub(crate) struct Runs {
    shape: Arc<Shape>,
    digest: Option<Digest>,
    groups: Groups,
    totals: Totals,
    ranked: Ranked,
    /// The unit whose rows are coming: its place in a batch of units.
    unit: Option<(ArrayRef, usize)>,
    affine: Affine,
    /// The groups that the unit keeps with their hashes, and its registers in each of them.
    slots: Vec<(u32, u32)>,
    values: Vec<i64>,
    /// A larger hash is not kept: the largest that is, once no more groups are.
    most: u32,
    /// How many groups a unit keeps.
    limit: usize,
    /// The hashes of a run's rows, and the rows that may matter.
    hashed: Vec<u32>,
    left: Vec<u32>,
    /// For each group, in which run it was seen last (they are numbered from one), and its slot there.
    seen: Vec<(u64, u32)>,
    run: u64,
    /// The first unit of the stream may have begun in another stream, and the last may go on there: their states are held back. `None` where
    /// there is one stream.
    ends: Option<Ends>,
}

/// Where a stream begins and ends.
#[derive(Default)]
pub(crate) struct Ends {
    /// The states of the first and of the last unit.
    pub(crate) states: Vec<RecordBatch>,
    /// The first unit and the last, in arrays of one; `None` if there are no rows.
    pub(crate) units: Option<(ArrayRef, ArrayRef)>,
}

impl Runs {
    /// `alone`: no other stream has rows of these units.
    pub(crate) fn new(shape: Arc<Shape>, alone: bool) -> Result<Self> {
        Ok(Self {
            digest: shape.unit_digest(),
            groups: shape.groups()?,
            totals: Totals::new(&shape.registers),
            ranked: Ranked::default(),
            unit: None,
            affine: Affine::default(),
            slots: Vec::new(),
            values: Vec::new(),
            most: u32::MAX,
            limit: shape
                .limit
                .map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            hashed: Vec::new(),
            left: Vec::new(),
            seen: Vec::new(),
            run: 1,
            ends: (!alone).then(Ends::default),
            shape,
        })
    }

    /// Takes rows in: whose they are, in which group, and what they add. Fails if a unit comes after a greater one.
    pub(crate) fn push(&mut self, unit: &ArrayRef, keys: &[ArrayRef], addends: &[Addend]) -> Result<()> {
        if unit.is_empty() {
            return Ok(());
        }
        self.make_known(unit.len(), keys)?;
        let runs = partition(std::slice::from_ref(unit))?.ranges();
        let starts = UInt32Array::from_iter_values(runs.iter().map(|run| run.start as u32));
        let units = take(unit, &starts, None)?;
        let affines = match &self.digest {
            Some(digest) => digest.units(Arc::clone(&units), &self.shape.secret)?,
            None => Vec::new(),
        };
        self.check_order(&units)?;
        let mut goes_on = match &self.unit {
            Some((current, at)) => order(current, *at, &units, 0)?.is_eq(),
            None => false,
        };
        for (place, run) in runs.into_iter().enumerate() {
            if !goes_on {
                self.close()?;
                self.unit = Some((Arc::clone(&units), place));
                self.affine = affines.get(place).copied().unwrap_or_default();
            }
            goes_on = false;
            if self.limit <= SIFTED && self.digest.is_some() && run.len() > self.limit {
                self.sift(run);
                for place in 0..self.left.len() {
                    self.add(self.left[place] as usize, addends);
                }
            } else {
                for row in run {
                    self.add(row, addends);
                }
            }
        }
        Ok(())
    }

    /// Finds the rows of a run that may matter: those whose hash is among the smallest, as many as groups count. Most rows do not, and which
    /// ones cannot be foreseen, so that there are no branches here.
    fn sift(&mut self, run: Range<usize>) {
        let (numbers, hashes) = (self.groups.numbers(), self.groups.hashes());
        let secret = &self.shape.secret;
        self.hashed.clear();
        let hash = |group: &usize| secret.mix(self.affine, hashes[*group]);
        self.hashed.extend(numbers[run.clone()].iter().map(hash));
        let most = match self.limit {
            1 => smallest::<1>(&self.hashed),
            2 => smallest::<2>(&self.hashed),
            3 => smallest::<3>(&self.hashed),
            4 => smallest::<4>(&self.hashed),
            5 => smallest::<5>(&self.hashed),
            6 => smallest::<6>(&self.hashed),
            7 => smallest::<7>(&self.hashed),
            _ => smallest::<SIFTED>(&self.hashed),
        };
        let most = most.min(self.most);
        self.left.clear();
        self.left.resize(run.len() + 1, 0);
        let mut left = 0;
        for (row, hash) in run.zip(&self.hashed) {
            self.left[left] = row as u32;
            left += usize::from(*hash <= most);
        }
        self.left.truncate(left);
    }

    fn make_known(&mut self, rows: usize, keys: &[ArrayRef]) -> Result<()> {
        self.groups.number(keys, rows)?;
        self.totals.grow(self.groups.len());
        if self.seen.len() < self.groups.len() {
            self.seen.resize(self.groups.len(), (0, 0));
        }
        Ok(())
    }

    /// The promise of sorted rows, checked where one unit follows another.
    fn check_order(&self, units: &ArrayRef) -> Result<()> {
        let compare = make_comparator(units, units, ascending())?;
        let sorted = (1..units.len()).all(|place| compare(place - 1, place).is_lt());
        let follows = match &self.unit {
            Some((current, at)) => order(current, *at, units, 0)?.is_le(),
            None => true,
        };
        if sorted && follows { Ok(()) } else { not_sorted() }
    }

    #[inline]
    fn add(&mut self, row: usize, addends: &[Addend]) {
        let group = self.groups.numbers()[row];
        // Where all groups count there is no hash.
        let hash = match self.groups.hashes().get(group) {
            Some(hash) => self.shape.secret.mix(self.affine, *hash),
            None => 0,
        };
        if hash > self.most {
            return;
        }
        let (run, slot) = self.seen[group];
        let slot = if run == self.run {
            slot as usize
        } else {
            match self.slot_for(group as u32, hash) {
                Some(slot) => slot,
                None => return,
            }
        };
        let from = slot * addends.len();
        for (value, addend) in self.values[from..from + addends.len()].iter_mut().zip(addends) {
            *value = value.wrapping_add(addend.of(row));
        }
    }

    /// An empty slot for a group that the unit does not keep; `None` if all it keeps come first.
    fn slot_for(&mut self, group: u32, hash: u32) -> Option<usize> {
        let width = self.shape.registers.len();
        let slot = if self.slots.len() < self.limit {
            self.slots.push((hash, group));
            self.values.resize(self.values.len() + width, 0);
            self.slots.len() - 1
        } else {
            let worst = self.worst()?;
            if self.compare(&(hash, group), &self.slots[worst]).is_ge() {
                return None;
            }
            let (_, dropped) = std::mem::replace(&mut self.slots[worst], (hash, group));
            self.seen[dropped as usize].0 = 0;
            self.values[worst * width..(worst + 1) * width].fill(0);
            worst
        };
        self.seen[group as usize] = (self.run, slot as u32);
        if self.slots.len() == self.limit {
            self.most = self.slots.iter().map(|(hash, _)| *hash).max().unwrap_or_default();
        }
        Some(slot)
    }

    /// The slot of the group that is dropped first.
    fn worst(&self) -> Option<usize> {
        (0..self.slots.len()).max_by(|one, other| self.compare(&self.slots[*one], &self.slots[*other]))
    }

    fn compare(&self, one: &(u32, u32), other: &(u32, u32)) -> Ordering {
        in_order(*one, *other, &self.groups)
    }

    /// The current unit has no more rows here.
    fn close(&mut self) -> Result<()> {
        let Some((units, place)) = self.unit.take() else {
            return Ok(());
        };
        match &self.ends {
            Some(ends) if ends.units.is_none() => {
                let unit = units.slice(place, 1);
                let states = self.states(&unit)?;
                if let Some(ends) = &mut self.ends {
                    ends.states.push(states);
                    ends.units = Some((Arc::clone(&unit), unit));
                }
            }
            _ => self.fold(),
        }
        self.forget();
        Ok(())
    }

    /// Adds the current unit to the totals of the groups it keeps.
    fn fold(&mut self) {
        let registers = &self.shape.registers;
        let width = registers.len();
        let groups = &self.groups;
        let kept = self.slots.iter().copied();
        let last = self.ranked.last_of(self.shape.counted, kept, groups);
        let kept = self.slots.iter().enumerate().map(|(slot, kept)| {
            let counts = last.is_none_or(|last| in_order(*kept, last, groups).is_le());
            (kept.1, counts, &self.values[slot * width..(slot + 1) * width])
        });
        self.totals.fold(registers, kept);
    }

    /// The state of the current unit in the groups it keeps.
    fn states(&self, unit: &ArrayRef) -> Result<RecordBatch> {
        let rows = self.slots.len();
        let mut columns = vec![take(unit, &UInt32Array::from(vec![0; rows]), None)?];
        columns.extend(self.groups.keys(self.slots.iter().map(|(_, group)| *group))?);
        let width = self.shape.registers.len();
        for place in 0..width {
            let values = (0..rows).map(|slot| self.values[slot * width + place]);
            columns.push(Arc::new(Int64Array::from_iter_values(values)));
        }
        Shape::batch(&self.shape.states, columns, rows)
    }

    fn forget(&mut self) {
        self.slots.clear();
        self.values.clear();
        self.most = u32::MAX;
        self.run += 1;
    }

    /// The totals so far, to make room. The current unit stays.
    fn flush(&mut self) -> Result<Vec<RecordBatch>> {
        let current = match &self.unit {
            Some((units, place)) => Some(self.states(&units.slice(*place, 1))?),
            None => None,
        };
        let batches = self.totals.drain(&self.shape, &self.groups)?;
        self.forget();
        self.groups.clear()?;
        self.seen = Vec::new();
        self.slots = Vec::new();
        self.values = Vec::new();
        if let Some(states) = current {
            let addends = self.shape.registers.of_states(&states, 1 + self.keys());
            self.make_known(states.num_rows(), &states.columns()[1..1 + self.keys()])?;
            for row in 0..states.num_rows() {
                self.add(row, &addends);
            }
        }
        Ok(batches)
    }

    /// The totals so far, if memory is full; otherwise nothing.
    pub(crate) fn within(&mut self, reservation: &MemoryReservation) -> Result<Vec<RecordBatch>> {
        if reservation.try_resize(self.size()).is_ok() {
            return Ok(Vec::new());
        }
        let batches = self.flush()?;
        // One unit is left, and nothing that could be given up.
        reservation.resize(self.size());
        Ok(batches)
    }

    fn keys(&self) -> usize {
        self.shape.keys.fields().len()
    }

    /// There are no more rows: the totals, and what was held back.
    pub(crate) fn finish(mut self) -> Result<(Vec<RecordBatch>, Ends)> {
        if let Some((units, place)) = self.unit.clone() {
            match &self.ends {
                None => self.close()?,
                Some(_) => {
                    let unit = units.slice(place, 1);
                    let states = self.states(&unit)?;
                    if let Some(ends) = &mut self.ends {
                        let first = match ends.units.take() {
                            Some((first, _)) => first,
                            None => Arc::clone(&unit),
                        };
                        ends.units = Some((first, unit));
                        ends.states.push(states);
                    }
                }
            }
        }
        let batches = self.totals.drain(&self.shape, &self.groups)?;
        Ok((batches, self.ends.unwrap_or_default()))
    }

    /// The bytes it takes.
    pub(crate) fn size(&self) -> usize {
        self.groups.size()
            + self.totals.size()
            + self.ranked.size()
            + self.seen.capacity() * size_of::<(u64, u32)>()
            + self.slots.capacity() * size_of::<(u32, u32)>()
            + (self.hashed.capacity() + self.left.capacity()) * size_of::<u32>()
            + self.values.capacity() * size_of::<i64>()
    }
}

/// The `COUNT`-th smallest of the different numbers, or the largest there is if they are fewer.
#[inline]
fn smallest<const COUNT: usize>(numbers: &[u32]) -> u32 {
    let mut sorted = [u32::MAX; COUNT];
    for number in numbers {
        let mut carried = *number;
        for place in &mut sorted {
            let held = *place;
            *place = held.min(carried);
            // What is there already is not carried on.
            carried = if held == carried {
                u32::MAX
            } else {
                held.max(carried)
            };
        }
    }
    sorted[COUNT - 1]
}

/// Checks that no two streams share a unit but where one ends and the next begins, and gives the held back states, sorted by unit.
pub(crate) fn joined(shape: &Shape, ends: Vec<Ends>) -> Result<RecordBatch> {
    use datafusion::arrow::compute::{concat, concat_batches, sort_to_indices, take_record_batch};
    let spans: Vec<&(ArrayRef, ArrayRef)> = ends.iter().filter_map(|end| end.units.as_ref()).collect();
    let mut sorted: Vec<usize> = (0..spans.len()).collect();
    let firsts: Vec<&dyn Array> = spans.iter().map(|(first, _)| first.as_ref()).collect();
    let lasts: Vec<&dyn Array> = spans.iter().map(|(_, last)| last.as_ref()).collect();
    if !spans.is_empty() {
        let (firsts, lasts) = (concat(&firsts)?, concat(&lasts)?);
        let by_first = make_comparator(&firsts, &firsts, ascending())?;
        let by_last = make_comparator(&lasts, &lasts, ascending())?;
        sorted.sort_by(|one, other| by_first(*one, *other).then_with(|| by_last(*one, *other)));
        let across = make_comparator(&lasts, &firsts, ascending())?;
        if sorted.windows(2).any(|pair| across(pair[0], pair[1]).is_gt()) {
            return not_sorted();
        }
    }
    let states = ends.iter().flat_map(|end| &end.states);
    let states = concat_batches(&shape.states, states)?;
    let order = sort_to_indices(states.column(0), None, None)?;
    Ok(take_record_batch(&states, &order)?)
}

fn ascending() -> SortOptions {
    SortOptions {
        descending: false,
        nulls_first: false,
    }
}

fn order(one: &ArrayRef, place: usize, other: &ArrayRef, other_place: usize) -> Result<Ordering> {
    Ok(make_comparator(one, other, ascending())?(place, other_place))
}

/// The rows are not sorted by the unit, as the catalog promises.
#[derive(Debug)]
struct NotClustered;

impl std::fmt::Display for NotClustered {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(
            "the rows are not sorted by the unit, as the catalog promises\nhint: sort the file by the unit, ascending, or remove the promise from the catalog",
        )
    }
}

impl std::error::Error for NotClustered {}

/// Whether a plan failed because rows were not sorted by the unit. The same question is then answered by a plan that takes rows in any order.
pub fn is_not_clustered(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::External(cause) if cause.is::<NotClustered>())
}

pub(crate) fn not_sorted<T>() -> Result<T> {
    Err(DataFusionError::External(Box::new(NotClustered)))
}

#[cfg(test)]
mod tests {
    use super::smallest;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_smallest_of_different_numbers(numbers in prop::collection::vec(0u32..9, 0..20)) {
            let different: Vec<u32> = BTreeSet::from_iter(numbers.iter().copied()).into_iter().collect();
            let expected = |count: usize| different.get(count - 1).copied().unwrap_or(u32::MAX);
            prop_assert_eq!(smallest::<1>(&numbers), expected(1));
            prop_assert_eq!(smallest::<4>(&numbers), expected(4));
            prop_assert_eq!(smallest::<8>(&numbers), expected(8));
        }
    }
}
