//! The states of many units at once, in one pass over rows in any order.
//!
//! A unit keeps its k groups of smallest hash among those seen so far. A group that was dropped had k smaller ones, which are still there or were
//! dropped for smaller ones yet: it never comes back. So what is kept at the end is exact, and so is the merge of two states of a unit.

use super::Rule;
use super::choice::{Affine, Digest, Secret};
use super::groups::{Groups, Interner};
use super::integers::{Integers, Numbers, spread};
use super::registers::{Addend, Registers};
use super::totals::{Ranked, Shape, Totals, in_order};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{sort_to_indices, take};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, internal_err};
use std::sync::Arc;

/// The native operators keep at most so many groups of a unit: these are searched one by one. Where more count, the built-in operators do it.
pub const MOST_GROUPS_HELD: u64 = 255;
/// Room for this many groups is made at first, if that many count; twice as much when it is full.
const FIRST_ROOM: u32 = 4;
/// Slots are numbered with 32 bits. Half of them are far more than the rows of one batch, or those that wait, can take.
const MOST_SLOTS: usize = 1 << 31;

/// Whether states of this kind are held here.
pub(crate) fn holds(rule: &Rule) -> bool {
    rule.keys.is_empty() || rule.limit().is_some_and(|groups| groups <= MOST_GROUPS_HELD)
}

/// Units are kept in this many parts, so that a part of a million units is held by the memory that is near to one processor.
const PARTS: usize = 256;
const PARTS_LOG: u32 = PARTS.ilog2();
/// Rows wait until there are this many for the same part, and this many for each of its units, that it is worth fetching.
const WAITING_ROWS: usize = if cfg!(test) { 4 } else { 1 << 13 };
const WAITING_ROWS_A_UNIT: usize = 2;
/// More never wait for a part, so that the slots that they may take are far fewer than there are numbers for.
const MOST_WAITING_ROWS: usize = 1 << 24;

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
    names: Names,
    common: Common,
    parts: Vec<Part>,
    by_part: ByPart,
    sifted: Sifted,
}

/// The rows of a part that may matter, and whose they are: room that all parts use in turn.
#[derive(Default)]
struct Sifted {
    units: Numbers,
    left: Vec<u32>,
}

/// The rows of a batch by the part that their unit is in.
#[derive(Default)]
struct ByPart {
    parts: Vec<u8>,
    rows: Vec<u32>,
}

impl ByPart {
    /// Sorts rows, and says for each part where its rows end.
    fn sort(&mut self, units: &[i64], key: u64) -> [u32; PARTS] {
        let part = |unit: &i64| (spread(*unit, key) >> (32 - PARTS_LOG)) as u8;
        self.parts.clear();
        self.parts.extend(units.iter().map(part));
        let mut ends = [0u32; PARTS];
        for part in &self.parts {
            ends[usize::from(*part)] += 1;
        }
        let mut before = 0;
        for end in &mut ends {
            // Where the part begins, until its rows are put there.
            before += std::mem::replace(end, before);
        }
        self.rows.clear();
        self.rows.resize(units.len(), 0);
        for (row, part) in self.parts.iter().enumerate() {
            let end = &mut ends[usize::from(*part)];
            self.rows[*end as usize] = row as u32;
            *end += 1;
        }
        ends
    }

    fn size(&self) -> usize {
        self.parts.capacity() + self.rows.capacity() * size_of::<u32>()
    }
}

/// What units are called.
enum Names {
    /// Integers, which are distinguished as they are.
    Integers,
    /// Anything else is distinguished by the numbers it gets; with the affine maps by number.
    Any(Interner, Vec<Affine>),
}

/// What all parts know.
struct Common {
    secret: Secret,
    digest: Option<Digest>,
    limit: u32,
    registers: Registers,
    groups: Groups,
    /// For each register, whether rows add different numbers to it. To the others each row adds one: rows that are counted, and values that are counted while none was NULL.
    varies: Vec<bool>,
    /// How many of them there are: as many numbers wait with each row.
    varying: usize,
}

/// Some of the units, and rows that wait for them.
struct Part {
    waiting: Waiting,
    /// The numbers of units, by their integers.
    index: Integers,
    units: Vec<Unit>,
    kept: Kept,
}

/// Rows: whose they are, in which group, and what they add to the registers that vary, row after row.
#[derive(Default)]
struct Waiting {
    units: Vec<i64>,
    groups: Vec<u32>,
    values: Vec<i64>,
}

/// The groups that units keep.
#[derive(Default)]
struct Kept {
    /// Which group a slot holds.
    slots: Vec<u32>,
    /// The registers of the slots, slot after slot.
    values: Vec<i64>,
    /// Slots that were left for more room, by how often that room was doubled.
    free: Vec<Vec<u32>>,
}

impl Units {
    pub(crate) fn new(shape: &Shape) -> Result<Self> {
        let limited =
            shape.keys.fields().is_empty() || shape.limit.is_some_and(|limit| limit <= MOST_GROUPS_HELD);
        if !limited {
            return internal_err!("states of units with many groups are held one unit at a time");
        }
        let names = match shape.unit.field(0).data_type() {
            DataType::Int64 => Names::Integers,
            _ => Names::Any(Interner::new(Arc::clone(&shape.unit))?, Vec::new()),
        };
        Ok(Self {
            names,
            parts: parts(&shape.secret),
            by_part: ByPart::default(),
            sifted: Sifted::default(),
            common: Common {
                secret: shape.secret.clone(),
                digest: shape.unit_digest(),
                limit: shape.limit.unwrap_or(1) as u32,
                registers: shape.registers.clone(),
                groups: shape.groups()?,
                varies: vec![false; shape.registers.len()],
                varying: 0,
            },
        })
    }

    /// Takes rows in: whose they are, in which group, and what they add.
    pub(crate) fn push(&mut self, unit: &ArrayRef, keys: &[ArrayRef], addends: &[Addend]) -> Result<()> {
        self.let_vary(addends)?;
        self.common.groups.number(keys, unit.len())?;
        let numbered;
        let units: &[i64] = match &mut self.names {
            Names::Integers => unit.as_primitive::<Int64Type>().values(),
            Names::Any(interner, affines) => {
                let firsts = interner.number(std::slice::from_ref(unit))?;
                match &self.common.digest {
                    Some(digest) if !firsts.is_empty() => {
                        affines.extend(digest.units(take(unit, &firsts, None)?, &self.common.secret)?);
                    }
                    _ => affines.resize(affines.len() + firsts.len(), Affine::default()),
                }
                numbered = interner
                    .numbers()
                    .iter()
                    .map(|number| *number as i64)
                    .collect::<Vec<_>>();
                &numbered
            }
        };
        let ends = self.by_part.sort(units, self.common.secret.key());
        let groups = self.common.groups.numbers();
        let varying = addends.iter().zip(&self.common.varies);
        let varying: Vec<&Addend> = varying
            .filter_map(|(addend, varies)| varies.then_some(addend))
            .collect();
        let mut start = 0;
        for (Part { waiting, .. }, end) in self.parts.iter_mut().zip(ends) {
            let rows = &self.by_part.rows[start as usize..end as usize];
            start = end;
            waiting.units.extend(rows.iter().map(|row| units[*row as usize]));
            waiting
                .groups
                .extend(rows.iter().map(|row| groups[*row as usize] as u32));
            let width = varying.len();
            let from = waiting.values.len();
            waiting.values.resize(from + rows.len() * width, 0);
            for (place, addend) in varying.iter().enumerate() {
                addend.put(rows, waiting.values[from..].iter_mut().skip(place).step_by(width));
            }
        }
        for part in &mut self.parts {
            let worth_it = (part.units.len() * WAITING_ROWS_A_UNIT).clamp(WAITING_ROWS, MOST_WAITING_ROWS);
            if part.waiting.units.len() >= worth_it {
                part.settle(&self.names, &self.common, &mut self.sifted)?;
            }
        }
        Ok(())
    }

    /// From the first batch on in which not every row adds one to a register, numbers wait for it with the rows. Rows that came before it have none, so they wait no longer.
    fn let_vary(&mut self, addends: &[Addend]) -> Result<()> {
        let new = |(addend, varies): (&Addend, &bool)| !varies && !matches!(addend, Addend::One);
        if addends.iter().zip(&self.common.varies).any(new) {
            self.settle()?;
            for (addend, varies) in addends.iter().zip(&mut self.common.varies) {
                *varies |= !matches!(addend, Addend::One);
            }
            self.common.varying = self.common.varies.iter().filter(|varies| **varies).count();
        }
        Ok(())
    }

    /// Rows wait no longer, and what they waited in is given up.
    pub(crate) fn settle_all(&mut self) -> Result<()> {
        self.settle()?;
        for part in &mut self.parts {
            part.waiting = Waiting::default();
        }
        Ok(())
    }

    /// Rows wait no longer.
    fn settle(&mut self) -> Result<()> {
        for part in &mut self.parts {
            part.settle(&self.names, &self.common, &mut self.sifted)?;
        }
        Ok(())
    }

    /// What all units add to their groups. Afterwards there are no units.
    pub(crate) fn totals(&mut self, shape: &Shape) -> Result<Vec<RecordBatch>> {
        self.settle()?;
        let registers = &self.common.registers;
        let mut totals = Totals::new(registers);
        totals.grow(self.common.groups.len());
        let groups = &self.common.groups;
        let mut ranked = Ranked::default();
        for part in &self.parts {
            for unit in &part.units {
                let slots = unit.slots();
                let named = |slot: usize| {
                    let group = part.kept.slots[slot];
                    (self.common.hash(unit, group), group)
                };
                let last = ranked.last_of(shape.counted, slots.clone().map(named), groups);
                let kept = slots.map(|slot| {
                    let counts = last.is_none_or(|last| in_order(named(slot), last, groups).is_le());
                    let values = part.kept.registers_of(slot, registers.len());
                    (part.kept.slots[slot], counts, values)
                });
                totals.fold(registers, kept);
            }
        }
        let batches = totals.drain(shape, &self.common.groups)?;
        self.clear()?;
        Ok(batches)
    }

    /// The states of all units, sorted by unit, batch by batch. Afterwards there are no units.
    pub(crate) fn drain(
        &mut self,
        shape: &Shape,
        mut write: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        self.settle()?;
        let (names, places) = self.places()?;
        let order = sort_to_indices(&names, None, None)?;
        let mut rows: Vec<(u32, usize, usize)> = Vec::with_capacity(shape.batch_size);
        for name in order.values() {
            let (part, number) = places[*name as usize];
            let slots = self.parts[part].units[number].slots();
            rows.extend(slots.map(|slot| (*name, part, slot)));
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

    /// The names of all units, and for each its part and its number there.
    fn places(&mut self) -> Result<(ArrayRef, Vec<(usize, usize)>)> {
        let numbered = |(place, part): (usize, &Part)| {
            let values = part.index.values().iter().enumerate();
            values
                .map(move |(number, value)| (*value, (place, number)))
                .collect::<Vec<_>>()
        };
        let all: Vec<(i64, (usize, usize))> = self.parts.iter().enumerate().flat_map(numbered).collect();
        match &mut self.names {
            Names::Integers => {
                let names = Int64Array::from_iter_values(all.iter().map(|(value, _)| *value));
                Ok((Arc::new(names), all.into_iter().map(|(_, place)| place).collect()))
            }
            Names::Any(interner, _) => {
                let mut places = vec![(0, 0); all.len()];
                for (number, place) in all {
                    places[number as usize] = place;
                }
                Ok((interner.drain()?.remove(0), places))
            }
        }
    }

    fn states(&self, shape: &Shape, names: &ArrayRef, rows: &[(u32, usize, usize)]) -> Result<RecordBatch> {
        let registers = self.common.registers.len();
        let numbers = UInt32Array::from_iter_values(rows.iter().map(|(name, _, _)| *name));
        let mut columns = vec![take(names, &numbers, None)?];
        let group = |(_, part, slot): &(u32, usize, usize)| self.parts[*part].kept.slots[*slot];
        columns.extend(self.common.groups.keys(rows.iter().map(group))?);
        for place in 0..registers {
            let value = |(_, part, slot): &(u32, usize, usize)| {
                self.parts[*part].kept.registers_of(*slot, registers)[place]
            };
            columns.push(Arc::new(Int64Array::from_iter_values(rows.iter().map(value))));
        }
        Shape::batch(&shape.states, columns, rows.len())
    }

    fn clear(&mut self) -> Result<()> {
        if let Names::Any(interner, affines) = &mut self.names {
            interner.drain()?;
            *affines = Vec::new();
        }
        self.parts = parts(&self.common.secret);
        self.common.groups.clear()
    }

    pub(crate) fn is_empty(&self) -> bool {
        let empty = |part: &Part| part.units.is_empty() && part.waiting.units.is_empty();
        self.parts.iter().all(empty)
    }

    /// Whether slots are about to run out of numbers.
    pub(crate) fn is_full(&self) -> bool {
        self.parts.iter().any(|part| part.kept.slots.len() > MOST_SLOTS)
    }

    /// The bytes it takes.
    pub(crate) fn size(&self) -> usize {
        let names = match &self.names {
            Names::Integers => 0,
            Names::Any(interner, affines) => interner.size() + affines.capacity() * size_of::<Affine>(),
        };
        names
            + self.by_part.size()
            + self.sifted.units.size()
            + self.sifted.left.capacity() * size_of::<u32>()
            + self.common.groups.size()
            + self.parts.iter().map(Part::size).sum::<usize>()
    }
}

/// Parts without units.
fn parts(secret: &Secret) -> Vec<Part> {
    let part = |_| Part {
        waiting: Waiting::default(),
        index: Integers::new(secret.key()),
        units: Vec::new(),
        kept: Kept::default(),
    };
    (0..PARTS).map(part).collect()
}

impl Part {
    /// Adds the rows that wait to the states of their units.
    fn settle(&mut self, names: &Names, common: &Common, sifted: &mut Sifted) -> Result<()> {
        let known = self.index.number(&self.waiting.units, &mut sifted.units);
        self.welcome(known, names, common)?;
        let left = self.sift(common, sifted);
        let width = common.varying;
        let units = sifted.units.of_rows();
        for row in &sifted.left[..left] {
            let row = *row as usize;
            let values = &self.waiting.values[row * width..(row + 1) * width];
            self.kept.add(
                &mut self.units[units[row] as usize],
                self.waiting.groups[row],
                values,
                common,
            );
        }
        self.waiting.units.clear();
        self.waiting.groups.clear();
        self.waiting.values.clear();
        Ok(())
    }

    /// Finds the rows that matter as far as units are known, and says how many they are. A row that would be dropped now would be dropped after
    /// the rows before it as well, and most are; a loop without branches fetches many units at once.
    fn sift(&self, common: &Common, Sifted { units, left }: &mut Sifted) -> usize {
        let rows = self.waiting.units.len();
        if common.digest.is_none() {
            left.clear();
            left.extend(0..rows as u32);
            return rows;
        }
        if left.len() <= rows {
            left.resize(rows + 1, 0);
        }
        let mut found = 0;
        let hashes = common.groups.hashes();
        let rows = units.of_rows().iter().zip(&self.waiting.groups);
        for (row, (unit, group)) in rows.enumerate() {
            let unit = &self.units[*unit as usize];
            let hash = common.secret.mix(unit.affine, hashes[*group as usize]);
            left[found] = row as u32;
            found += usize::from(hash <= unit.most);
        }
        found
    }

    /// New units, without groups so far: those with the numbers from `known` on.
    fn welcome(&mut self, known: usize, names: &Names, common: &Common) -> Result<()> {
        let new = &self.index.values()[known..];
        if new.is_empty() {
            return Ok(());
        }
        let affines = match (&common.digest, names) {
            (Some(digest), Names::Integers) => {
                digest.units(Arc::new(Int64Array::from(new.to_vec())), &common.secret)?
            }
            (Some(_), Names::Any(_, affines)) => new.iter().map(|unit| affines[*unit as usize]).collect(),
            (None, _) => vec![Affine::default(); new.len()],
        };
        for affine in affines {
            let room = common.limit.min(FIRST_ROOM) as u8;
            self.units.push(Unit {
                affine,
                most: u32::MAX,
                first: self.kept.room(room, common),
                used: 0,
                room,
            });
        }
        Ok(())
    }

    fn size(&self) -> usize {
        let free = &self.kept.free;
        self.index.size()
            + self.units.capacity() * size_of::<Unit>()
            + self.waiting.groups.capacity() * size_of::<u32>()
            + (self.waiting.units.capacity() + self.waiting.values.capacity()) * size_of::<i64>()
            + self.kept.slots.capacity() * size_of::<u32>()
            + self.kept.values.capacity() * size_of::<i64>()
            + free
                .iter()
                .map(|free| free.capacity() * size_of::<u32>())
                .sum::<usize>()
    }
}

impl Kept {
    /// Adds what one row of one unit says: these numbers to the registers that vary, one to the others.
    #[inline]
    fn add(&mut self, unit: &mut Unit, group: u32, added: &[i64], common: &Common) {
        let hash = common.hash(unit, group);
        if hash > unit.most {
            return;
        }
        let found = self.slots[unit.slots()].iter().position(|other| *other == group);
        let slot = match found {
            Some(place) => unit.first as usize + place,
            None if u32::from(unit.used) < common.limit => self.append(unit, group, common),
            None => match self.replace(unit, group, hash, common) {
                Some(slot) => slot,
                None => return,
            },
        };
        let registers = common.varies.len();
        let mut added = added.iter();
        let values = &mut self.values[slot * registers..(slot + 1) * registers];
        for (value, varies) in values.iter_mut().zip(&common.varies) {
            let more = if *varies {
                added.next().copied().unwrap_or_default()
            } else {
                1
            };
            *value = value.wrapping_add(more);
        }
    }

    fn registers_of(&self, slot: usize, registers: usize) -> &[i64] {
        &self.values[slot * registers..(slot + 1) * registers]
    }

    /// A slot for a group that the unit did not have, while it may have more.
    fn append(&mut self, unit: &mut Unit, group: u32, common: &Common) -> usize {
        if unit.used == unit.room {
            self.move_to_more_room(unit, common);
        }
        let slot = unit.slots().end;
        self.slots[slot] = group;
        unit.used += 1;
        self.tighten(unit, common);
        slot
    }

    /// Once a unit keeps as many groups as count, a larger hash than all of theirs is no use.
    fn tighten(&self, unit: &mut Unit, common: &Common) {
        if u32::from(unit.used) == common.limit {
            let hashes = self.slots[unit.slots()]
                .iter()
                .map(|group| common.hash(unit, *group));
            unit.most = hashes.max().unwrap_or_default();
        }
    }

    /// The slot of the unit's worst group, if the new one is better; it is empty then. For a unit that keeps as many groups as count.
    fn replace(&mut self, unit: &mut Unit, group: u32, hash: u32, common: &Common) -> Option<usize> {
        let compare = |one: (u32, u32), other: (u32, u32)| in_order(one, other, &common.groups);
        let mut slots = unit.slots();
        let of_slot = |slot: usize| (common.hash(unit, self.slots[slot]), self.slots[slot]);
        let mut worst = slots.next().map(|slot| (slot, of_slot(slot)))?;
        // The largest hash but the worst one's.
        let mut second = 0;
        for slot in slots {
            let other = of_slot(slot);
            if compare(other, worst.1).is_gt() {
                second = worst.1.0;
                worst = (slot, other);
            } else {
                second = second.max(other.0);
            }
        }
        let (worst, of_worst) = worst;
        if compare((hash, group), of_worst).is_ge() {
            return None;
        }
        self.slots[worst] = group;
        let registers = common.registers.len();
        self.values[worst * registers..(worst + 1) * registers].fill(0);
        unit.most = second.max(hash);
        Some(worst)
    }

    /// Free slots for a unit that keeps up to `room` groups.
    fn room(&mut self, room: u8, common: &Common) -> u32 {
        if let Some(first) = self.free.get_mut(doublings(room)).and_then(Vec::pop) {
            return first;
        }
        let first = self.slots.len();
        self.slots.resize(first + usize::from(room), 0);
        self.values.resize(self.slots.len() * common.registers.len(), 0);
        first as u32
    }

    fn move_to_more_room(&mut self, unit: &mut Unit, common: &Common) {
        let room = (u32::from(unit.room) * 2).min(common.limit) as u8;
        let first = self.room(room, common);
        let registers = common.registers.len();
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

impl Common {
    /// Where all groups count there is none.
    #[inline]
    fn hash(&self, unit: &Unit, group: u32) -> u32 {
        match self.groups.hashes().get(group as usize) {
            Some(hash) => self.secret.mix(unit.affine, *hash),
            None => 0,
        }
    }
}

/// How often the first room was doubled to make this one. The last doubling may be cut short, so it is rounded up.
fn doublings(room: u8) -> usize {
    u32::from(room).div_ceil(FIRST_ROOM).next_power_of_two().ilog2() as usize
}
