//! The states of units that come one after the other: one unit at a time, in memory of the size of the result.

use super::choice::{Affine, Digest};
use super::groups::Groups;
use super::registers::Addend;
use super::totals::{Shape, Totals};
use datafusion::arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array, make_comparator};
use datafusion::arrow::compute::{SortOptions, partition, take};
use datafusion::common::{Result, exec_err};
use datafusion::execution::memory_pool::MemoryReservation;
use std::cmp::Ordering;
use std::sync::Arc;

/// Rows sorted by unit, folded into the totals of their groups as soon as the next unit starts.
pub(crate) struct Runs {
    shape: Arc<Shape>,
    digest: Option<Digest>,
    groups: Groups,
    totals: Totals,
    /// The unit whose rows are coming, in an array of one.
    unit: Option<ArrayRef>,
    affine: Affine,
    /// The unit's groups, and its registers in each of them.
    slots: Vec<u32>,
    values: Vec<i64>,
    /// For each group, in which run it was seen last (they are numbered from one), and its slot there.
    seen: Vec<(u64, u32)>,
    run: u64,
    /// The first unit of the stream may have begun in another stream, and the last may go on there: their states are held back. `None` where
    /// there is one stream.
    ends: Option<Ends>,
    ranked: Vec<(u32, u32)>,
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
            unit: None,
            affine: Affine::default(),
            slots: Vec::new(),
            values: Vec::new(),
            seen: Vec::new(),
            run: 1,
            ends: (!alone).then(Ends::default),
            ranked: Vec::new(),
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
            Some(digest) => digest.units(Arc::clone(&units))?,
            None => Vec::new(),
        };
        self.check_order(&units)?;
        let mut goes_on = match &self.unit {
            Some(current) => order(current, 0, &units, 0)?.is_eq(),
            None => false,
        };
        for (place, run) in runs.into_iter().enumerate() {
            if !goes_on {
                self.close()?;
                self.unit = Some(units.slice(place, 1));
                self.affine = affines.get(place).copied().unwrap_or_default();
            }
            goes_on = false;
            for row in run {
                self.add(row, addends);
            }
        }
        Ok(())
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
            Some(current) => order(current, 0, units, 0)?.is_le(),
            None => true,
        };
        if sorted && follows { Ok(()) } else { not_sorted() }
    }

    #[inline]
    fn add(&mut self, row: usize, addends: &[Addend]) {
        let group = self.groups.numbers()[row];
        let (run, slot) = &mut self.seen[group];
        if *run != self.run {
            *run = self.run;
            *slot = self.slots.len() as u32;
            self.slots.push(group as u32);
            self.values.resize(self.values.len() + addends.len(), 0);
        }
        let from = *slot as usize * addends.len();
        for (value, addend) in self.values[from..from + addends.len()].iter_mut().zip(addends) {
            *value = value.wrapping_add(addend.of(row));
        }
    }

    /// The current unit has no more rows here.
    fn close(&mut self) -> Result<()> {
        let Some(unit) = self.unit.take() else {
            return Ok(());
        };
        match &self.ends {
            Some(ends) if ends.units.is_none() => {
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

    /// Adds the current unit to the totals of its groups that count.
    fn fold(&mut self) {
        let registers = &self.shape.registers;
        let width = registers.len();
        let values = |slot: u32| &self.values[slot as usize * width..(slot as usize + 1) * width];
        let limit = self.shape.limit.unwrap_or(u64::MAX);
        if self.slots.len() as u64 <= limit {
            for (slot, group) in self.slots.iter().enumerate() {
                self.totals.fold(registers, *group, values(slot as u32));
            }
            return;
        }
        let hash = |group: u32| {
            self.shape
                .secret
                .mix(self.affine, self.groups.hashes()[group as usize])
        };
        self.ranked.clear();
        self.ranked
            .extend((self.slots.iter().enumerate()).map(|(slot, group)| (hash(*group), slot as u32)));
        let compare = |one: &(u32, u32), other: &(u32, u32)| -> Ordering {
            let names = || {
                let group = |slot: u32| self.slots[slot as usize];
                self.groups.compare(group(one.1), group(other.1))
            };
            one.0.cmp(&other.0).then_with(names)
        };
        // `limit` is below the number of slots.
        self.ranked.select_nth_unstable_by(limit as usize, compare);
        for (_, slot) in &self.ranked[..limit as usize] {
            self.totals
                .fold(registers, self.slots[*slot as usize], values(*slot));
        }
    }

    /// The state of the current unit in all its groups.
    fn states(&self, unit: &ArrayRef) -> Result<RecordBatch> {
        let rows = self.slots.len();
        let mut columns = vec![take(unit, &UInt32Array::from(vec![0; rows]), None)?];
        columns.extend(self.groups.keys(self.slots.iter().copied())?);
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
        self.run += 1;
    }

    /// The totals so far, to make room. The current unit stays.
    fn flush(&mut self) -> Result<Vec<RecordBatch>> {
        let current = match &self.unit {
            Some(unit) => Some(self.states(unit)?),
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
        if let Some(unit) = self.unit.clone() {
            match &self.ends {
                None => self.close()?,
                Some(_) => {
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
            + self.seen.capacity() * size_of::<(u64, u32)>()
            + self.slots.capacity() * size_of::<u32>()
            + self.values.capacity() * size_of::<i64>()
            + self.ranked.capacity() * size_of::<(u32, u32)>()
    }
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

fn not_sorted<T>() -> Result<T> {
    exec_err!(
        "the rows are not sorted by the unit, as the catalog promises, so nothing is answered\nhint: sort the file by the unit, ascending, or remove the promise from the catalog"
    )
}
