//! The states of many units at once, in one pass over rows in any order.
//!
//! A unit keeps its k groups of smallest hash among those seen so far. A group that was dropped had k smaller ones, which are still there or were
//! dropped for smaller ones yet: it never comes back. So what is kept at the end is exact, and so is the merge of two states of a unit.

use super::Rule;
use super::choice::{Affine, Digest, Secret};
use super::groups::{Groups, Interner};
use super::integers::Integers;
use super::registers::{Addend, Registers};
use super::totals::{Shape, Totals};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{sort_to_indices, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use std::cmp::Ordering;
use std::sync::Arc;

/// A unit's groups are searched one by one, so there must not be very many.
const MOST_GROUPS: u64 = 64;
/// Room for this many groups is made at first, if that many count; twice as much when it is full.
const FIRST_ROOM: u32 = 4;
/// Slots are numbered with 32 bits. Half of them are far more than one batch of rows can take.
const MOST_SLOTS: usize = 1 << 31;

/// Whether states of this kind are held here.
pub(crate) fn holds(rule: &Rule) -> bool {
    rule.keys.is_empty() || rule.groups.is_some_and(|groups| groups <= MOST_GROUPS)
}

/// One unit.
#[derive(Clone, Copy)]
struct Unit {
    affine: Affine,
    /// A larger hash is not kept: the largest that is, once no more groups are.
    most: u32,
    /// Its slots are `first..first + room`, of which `used` are used.
    first: u32,
    used: u8,
    room: u8,
}

impl Unit {
    fn slots(&self) -> std::ops::Range<usize> {
        self.first as usize..self.first as usize + usize::from(self.used)
    }
}

/// All units of a stream, with the groups they keep.
pub(crate) struct Units {
    index: Index,
    digest: Option<Digest>,
    units: Vec<Unit>,
    kept: Kept,
    /// The rows of a batch that may matter.
    left: Vec<u32>,
}

/// Which number a unit has.
enum Index {
    Integers(Integers),
    Any(Interner),
}

impl Index {
    fn new(shape: &Shape) -> Result<Self> {
        Ok(match shape.unit.field(0).data_type() {
            DataType::Int64 => Self::Integers(Integers::new(shape.secret.key())),
            _ => Self::Any(Interner::new(Arc::clone(&shape.unit))?),
        })
    }

    fn number(&mut self, unit: &ArrayRef) -> Result<UInt32Array> {
        match self {
            Self::Integers(integers) => Ok(integers.number(unit)),
            Self::Any(interner) => interner.number(std::slice::from_ref(unit)),
        }
    }

    fn numbers(&self) -> &[usize] {
        match self {
            Self::Integers(integers) => integers.numbers(),
            Self::Any(interner) => interner.numbers(),
        }
    }

    fn drain(&mut self) -> Result<ArrayRef> {
        match self {
            Self::Integers(integers) => Ok(integers.drain()),
            Self::Any(interner) => Ok(interner.drain()?.remove(0)),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Integers(integers) => integers.size(),
            Self::Any(interner) => interner.size(),
        }
    }
}

/// The groups that units keep.
struct Kept {
    secret: Secret,
    limit: u32,
    registers: Registers,
    groups: Groups,
    /// Which group a slot holds.
    slots: Vec<u32>,
    /// The registers of the slots, slot after slot.
    values: Vec<i64>,
    /// Slots that were left for more room, by how often that room was doubled.
    free: Vec<Vec<u32>>,
}

impl Units {
    pub(crate) fn new(shape: &Shape) -> Result<Self> {
        Ok(Self {
            index: Index::new(shape)?,
            digest: shape.unit_digest(),
            units: Vec::new(),
            left: Vec::new(),
            kept: Kept {
                secret: shape.secret.clone(),
                limit: shape.limit.unwrap_or(1) as u32,
                registers: shape.registers.clone(),
                groups: shape.groups()?,
                slots: Vec::new(),
                values: Vec::new(),
                free: Vec::new(),
            },
        })
    }

    /// Takes rows in: whose they are, in which group, and what they add.
    pub(crate) fn push(&mut self, unit: &ArrayRef, keys: &[ArrayRef], addends: &[Addend]) -> Result<()> {
        self.kept.groups.number(keys, unit.len())?;
        let firsts = self.index.number(unit)?;
        if !firsts.is_empty() {
            self.welcome(unit, &firsts)?;
        }
        let left = self.sift(unit.len());
        for row in &self.left[..left] {
            let unit = self.index.numbers()[*row as usize];
            self.kept.add(&mut self.units[unit], *row as usize, addends);
        }
        Ok(())
    }

    /// Finds the rows that matter as far as units are known, and says how many they are. A row that would be dropped now would be dropped after
    /// the rows before it as well, and most are; a loop without branches fetches many units at once.
    fn sift(&mut self, rows: usize) -> usize {
        self.left.clear();
        if self.digest.is_none() {
            self.left.extend(0..rows as u32);
            return rows;
        }
        self.left.resize(rows + 1, 0);
        let mut left = 0;
        let numbers = self.index.numbers().iter().zip(self.kept.groups.numbers());
        for (row, (unit, group)) in numbers.enumerate() {
            let unit = &self.units[*unit];
            let hash = self
                .kept
                .secret
                .mix(unit.affine, self.kept.groups.hashes()[*group]);
            self.left[left] = row as u32;
            left += usize::from(hash <= unit.most);
        }
        left
    }

    /// New units, without groups so far.
    fn welcome(&mut self, unit: &ArrayRef, firsts: &UInt32Array) -> Result<()> {
        let affines = match &self.digest {
            Some(digest) => digest.units(take(unit, firsts, None)?)?,
            None => vec![Affine::default(); firsts.len()],
        };
        for affine in affines {
            let room = self.kept.limit.min(FIRST_ROOM) as u8;
            self.units.push(Unit {
                affine,
                most: u32::MAX,
                first: self.kept.room(room),
                used: 0,
                room,
            });
        }
        Ok(())
    }

    /// What all units add to their groups. Afterwards there are no units.
    pub(crate) fn totals(&mut self, shape: &Shape) -> Result<Vec<RecordBatch>> {
        let mut totals = Totals::new(&self.kept.registers);
        totals.grow(self.kept.groups.len());
        for unit in &self.units {
            for slot in unit.slots() {
                totals.fold(
                    &self.kept.registers,
                    self.kept.slots[slot],
                    self.kept.registers_of(slot),
                );
            }
        }
        let batches = totals.drain(shape, &self.kept.groups)?;
        self.clear()?;
        Ok(batches)
    }

    /// The states of all units, sorted by unit, batch by batch. Afterwards there are no units.
    pub(crate) fn drain(
        &mut self,
        shape: &Shape,
        mut write: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let names = self.index.drain()?;
        let order = sort_to_indices(&names, None, None)?;
        let mut rows: Vec<(u32, usize)> = Vec::with_capacity(shape.batch_size);
        for number in order.values() {
            rows.extend(self.units[*number as usize].slots().map(|slot| (*number, slot)));
            if rows.len() >= shape.batch_size {
                write(self.states(shape, &names, &rows)?)?;
                rows.clear();
            }
        }
        if !rows.is_empty() {
            write(self.states(shape, &names, &rows)?)?;
        }
        self.clear()
    }

    fn states(&self, shape: &Shape, names: &ArrayRef, rows: &[(u32, usize)]) -> Result<RecordBatch> {
        let kept = &self.kept;
        let numbers = UInt32Array::from_iter_values(rows.iter().map(|(number, _)| *number));
        let mut columns = vec![take(names, &numbers, None)?];
        columns.extend(kept.groups.keys(rows.iter().map(|(_, slot)| kept.slots[*slot]))?);
        for place in 0..kept.registers.len() {
            let values = rows.iter().map(|(_, slot)| kept.registers_of(*slot)[place]);
            columns.push(Arc::new(Int64Array::from_iter_values(values)));
        }
        Shape::batch(&shape.states, columns, rows.len())
    }

    fn clear(&mut self) -> Result<()> {
        self.index.drain()?;
        self.units = Vec::new();
        self.kept.slots = Vec::new();
        self.kept.values = Vec::new();
        self.kept.free = Vec::new();
        self.kept.groups.clear()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Whether slots are about to run out of numbers.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.slots.len() > MOST_SLOTS
    }

    /// The bytes it takes.
    pub(crate) fn size(&self) -> usize {
        let kept = &self.kept;
        let free: usize = kept
            .free
            .iter()
            .map(|free| free.capacity() * size_of::<u32>())
            .sum();
        self.index.size()
            + self.units.capacity() * size_of::<Unit>()
            + self.left.capacity() * size_of::<u32>()
            + kept.groups.size()
            + kept.slots.capacity() * size_of::<u32>()
            + kept.values.capacity() * size_of::<i64>()
            + free
    }
}

impl Kept {
    /// Adds one row of one unit.
    #[inline]
    fn add(&mut self, unit: &mut Unit, row: usize, addends: &[Addend]) {
        let group = self.groups.numbers()[row] as u32;
        let hash = self.hash(unit, group);
        if hash > unit.most {
            return;
        }
        let found = self.slots[unit.slots()].iter().position(|other| *other == group);
        let slot = match found {
            Some(place) => unit.first as usize + place,
            None if u32::from(unit.used) < self.limit => self.append(unit, group),
            None => match self.replace(unit, group, hash) {
                Some(slot) => slot,
                None => return,
            },
        };
        let from = slot * addends.len();
        for (value, addend) in self.values[from..from + addends.len()].iter_mut().zip(addends) {
            *value = value.wrapping_add(addend.of(row));
        }
    }

    /// Where all groups count there is none.
    #[inline]
    fn hash(&self, unit: &Unit, group: u32) -> u32 {
        match self.groups.hashes().get(group as usize) {
            Some(hash) => self.secret.mix(unit.affine, *hash),
            None => 0,
        }
    }

    fn registers_of(&self, slot: usize) -> &[i64] {
        let registers = self.registers.len();
        &self.values[slot * registers..(slot + 1) * registers]
    }

    /// A slot for a group that the unit did not have, while it may have more.
    fn append(&mut self, unit: &mut Unit, group: u32) -> usize {
        if unit.used == unit.room {
            self.move_to_more_room(unit);
        }
        let slot = unit.slots().end;
        self.slots[slot] = group;
        unit.used += 1;
        self.tighten(unit);
        slot
    }

    /// Once a unit keeps as many groups as count, a larger hash than all of theirs is no use.
    fn tighten(&self, unit: &mut Unit) {
        if u32::from(unit.used) == self.limit {
            let hashes = self.slots[unit.slots()]
                .iter()
                .map(|group| self.hash(unit, *group));
            unit.most = hashes.max().unwrap_or_default();
        }
    }

    /// The slot of the unit's worst group, if the new one is better; it is empty then.
    #[cold]
    fn replace(&mut self, unit: &mut Unit, group: u32, hash: u32) -> Option<usize> {
        let rank = |slot: usize| (self.hash(unit, self.slots[slot]), self.slots[slot]);
        let compare = |(hash, group): (u32, u32), (other_hash, other): (u32, u32)| -> Ordering {
            hash.cmp(&other_hash)
                .then_with(|| self.groups.compare(group, other))
        };
        let worst = unit
            .slots()
            .max_by(|one, other| compare(rank(*one), rank(*other)))?;
        if compare((hash, group), rank(worst)).is_ge() {
            return None;
        }
        self.slots[worst] = group;
        let registers = self.registers.len();
        self.values[worst * registers..(worst + 1) * registers].fill(0);
        self.tighten(unit);
        Some(worst)
    }

    /// Free slots for a unit that keeps up to `room` groups.
    fn room(&mut self, room: u8) -> u32 {
        if let Some(first) = self.free.get_mut(doublings(room)).and_then(Vec::pop) {
            return first;
        }
        let first = self.slots.len();
        self.slots.resize(first + usize::from(room), 0);
        self.values.resize(self.slots.len() * self.registers.len(), 0);
        first as u32
    }

    fn move_to_more_room(&mut self, unit: &mut Unit) {
        let room = (u32::from(unit.room) * 2).min(self.limit) as u8;
        let first = self.room(room);
        let registers = self.registers.len();
        self.slots.copy_within(unit.slots(), first as usize);
        let values = unit.slots().start * registers..unit.slots().end * registers;
        self.values
            .copy_within(values.clone(), first as usize * registers);
        self.values[values].fill(0);
        let class = doublings(unit.room);
        if self.free.len() <= class {
            self.free.resize(class + 1, Vec::new());
        }
        self.free[class].push(unit.first);
        unit.first = first;
        unit.room = room;
    }
}

/// How often the first room was doubled to make this one. The last doubling may be cut short, so it is rounded up.
fn doublings(room: u8) -> usize {
    u32::from(room).div_ceil(FIRST_ROOM).next_power_of_two().ilog2() as usize
}
