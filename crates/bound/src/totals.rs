//! The totals of groups, and the shape of what an operator reads, keeps and emits.

use super::Rule;
use super::beside::OfUnit;
use super::choice::{Digest, Secret};
use super::groups::Groups;
use super::key_name;
use super::registers::{Addend, Norms, Registers, register_name};
use super::relational::partial_name;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatchOptions;
use datafusion::common::Result;
use std::cmp::Ordering;
use std::sync::Arc;

/// What all threads of an operator know.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) secret: Secret,
    /// In how many groups a unit's state is kept, where that can be fewer than there are.
    pub(crate) limit: Option<u64>,
    /// How many of these count for the totals, where that can be fewer than there are.
    pub(crate) counted: Option<u64>,
    pub(crate) registers: Registers,
    /// `unit`.
    pub(crate) unit: SchemaRef,
    /// `key0…`.
    pub(crate) keys: SchemaRef,
    /// `unit`, `key0…`, `register0…`: a unit's state in a group, on its way to another operator or to disk.
    pub(crate) states: SchemaRef,
    /// `key0…`, `partial0…`.
    pub(crate) totals: SchemaRef,
    /// Digests of units and of groups; not needed where all groups count.
    pub(crate) digests: Option<(Digest, Digest)>,
    pub(crate) batch_size: usize,
}

impl Shape {
    /// `input` is `unit`, `key0…`, `argument0…`.
    pub(crate) fn new(
        rule: &Rule,
        input: &Schema,
        digests: Option<(Digest, Digest)>,
        batch_size: usize,
    ) -> Self {
        let registers = rule.registers();
        let keys: Vec<Field> = (1..=rule.keys.len())
            .map(|place| input.field(place).clone())
            .collect();
        let integer = |name: String, nullable| Field::new(name, DataType::Int64, nullable);
        let mut states = vec![input.field(0).clone()];
        states.extend(keys.iter().cloned());
        states.extend((0..registers.len()).map(|place| integer(register_name(place), false)));
        Self {
            secret: rule.secret.clone(),
            limit: rule.limit(),
            counted: rule.counted(),
            unit: Arc::new(Schema::new(vec![input.field(0).clone()])),
            keys: Arc::new(Schema::new(keys)),
            states: Arc::new(Schema::new(states)),
            totals: Arc::new(totals_schema(rule, input)),
            registers,
            digests,
            batch_size,
        }
    }

    pub(crate) fn groups(&self) -> Result<Groups> {
        let digest = self.digests.as_ref().map(|(_, groups)| groups.clone());
        Groups::new(SchemaRef::clone(&self.keys), digest)
    }

    pub(crate) fn unit_digest(&self) -> Option<Digest> {
        self.digests.as_ref().map(|(units, _)| units.clone())
    }

    /// A batch, also of no columns.
    pub(crate) fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(
            SchemaRef::clone(schema),
            columns,
            &options,
        )?)
    }
}

/// `key0…`, `partial0…`, given `unit`, `key0…`, `argument0…`.
pub(crate) fn totals_schema(rule: &Rule, input: &Schema) -> Schema {
    let mut fields: Vec<Field> = (0..rule.keys.len())
        .map(|place| input.field(place + 1).clone().with_name(key_name(place)))
        .collect();
    fields.extend((0..rule.numbers()).map(|place| Field::new(partial_name(place), DataType::Int64, true)));
    Schema::new(fields)
}

/// The totals of the groups that count for at least one unit.
pub(crate) struct Totals {
    numbers: usize,
    values: Vec<i64>,
    counts: Vec<bool>,
    /// Of the unit that is added.
    norms: Norms,
}

/// The groups that a unit keeps, each with its hash, in order to find those that count.
#[derive(Default)]
pub(crate) struct Ranked(Vec<(u32, u32)>);

impl Ranked {
    /// The last group, by hash and then by name, of the first `most`; `None` where all of them are among these.
    pub(crate) fn last_of(
        &mut self,
        most: Option<u64>,
        kept: impl ExactSizeIterator<Item = (u32, u32)>,
        groups: &Groups,
    ) -> Option<(u32, u32)> {
        let most = usize::try_from(most?).ok().filter(|most| *most < kept.len())?;
        self.0.clear();
        self.0.extend(kept);
        let (_, last, _) = self
            .0
            .select_nth_unstable_by(most - 1, |one, other| in_order(*one, *other, groups));
        Some(*last)
    }

    pub(crate) fn size(&self) -> usize {
        self.0.capacity() * size_of::<(u32, u32)>()
    }
}

/// Which of two groups of a unit comes first: by hash, ties by name.
#[inline]
pub(crate) fn in_order(one: (u32, u32), other: (u32, u32), groups: &Groups) -> Ordering {
    one.0.cmp(&other.0).then_with(|| groups.compare(one.1, other.1))
}

impl Totals {
    pub(crate) fn new(registers: &Registers) -> Self {
        Self {
            numbers: registers.numbers(),
            values: Vec::new(),
            counts: Vec::new(),
            norms: Norms::default(),
        }
    }

    /// Makes room for this many groups.
    pub(crate) fn grow(&mut self, groups: usize) {
        if groups > self.counts.len() {
            self.counts.resize(groups, false);
            self.values.resize(groups * self.numbers, 0);
        }
    }

    /// Adds one unit: of each group that it keeps, its registers there and whether the group counts for the totals.
    pub(crate) fn fold<'a>(
        &mut self,
        registers: &Registers,
        kept: impl Iterator<Item = (u32, bool, &'a [i64])> + Clone,
    ) {
        let vectors = kept.clone().map(|(_, counts, values)| (counts, values));
        let mut unit = OfUnit::new(registers.measure(vectors, &mut self.norms));
        let mut first = None;
        for (group, counts, values) in kept {
            let group = group as usize;
            self.counts[group] = true;
            let numbers = &mut self.values[group * self.numbers..(group + 1) * self.numbers];
            registers.fold(values, counts, &self.norms, numbers, &mut unit);
            first.get_or_insert(group);
        }
        if let Some(group) = first {
            let numbers = &mut self.values[group * self.numbers..(group + 1) * self.numbers];
            registers.count(&unit, numbers);
        }
    }

    /// Adds rows that are a unit each to their groups.
    pub(crate) fn add_rows(&mut self, registers: &Registers, groups: &[usize], addends: &[Addend]) {
        for group in groups {
            self.counts[*group] = true;
        }
        registers.fold_rows(groups, addends, &mut self.values);
    }

    /// The totals as batches, and none from here on.
    pub(crate) fn drain(&mut self, shape: &Shape, groups: &Groups) -> Result<Vec<RecordBatch>> {
        let counted: Vec<u32> = (0..self.counts.len() as u32)
            .filter(|group| self.counts[*group as usize])
            .collect();
        let batch = |counted: &[u32]| {
            let mut columns = groups.keys(counted.iter().copied())?;
            for place in 0..self.numbers {
                let total = |group: &u32| self.values[*group as usize * self.numbers + place];
                columns.push(Arc::new(Int64Array::from_iter_values(counted.iter().map(total))));
            }
            Shape::batch(&shape.totals, columns, counted.len())
        };
        let batches: Result<Vec<RecordBatch>> = counted.chunks(shape.batch_size).map(batch).collect();
        self.values = Vec::new();
        self.counts = Vec::new();
        batches
    }

    pub(crate) fn size(&self) -> usize {
        self.values.capacity() * size_of::<i64>() + self.counts.capacity()
    }
}
