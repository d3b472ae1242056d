//! The groups that a stream has met: each gets a small number, its part of the hash, and a name that sorts.

use super::choice::Digest;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use datafusion::arrow::compute::{SortOptions, take};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::Result;
use datafusion::logical_expr::EmitTo;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use std::cmp::Ordering;

/// Values seen so far, numbered in the order in which they came.
pub(crate) struct Interner {
    values: Box<dyn GroupValues>,
    schema: SchemaRef,
    numbers: Vec<usize>,
}

impl Interner {
    pub(crate) fn new(schema: SchemaRef) -> Result<Self> {
        Ok(Self {
            values: new_group_values(SchemaRef::clone(&schema), &GroupOrdering::None)?,
            schema,
            numbers: Vec::new(),
        })
    }

    /// Numbers the rows, and says for each new value, in the order of their numbers, a row that has it.
    pub(crate) fn number(&mut self, columns: &[ArrayRef]) -> Result<UInt32Array> {
        let known = self.values.len();
        self.values.intern(columns, &mut self.numbers)?;
        let mut firsts = vec![u32::MAX; self.values.len() - known];
        if !firsts.is_empty() {
            for (row, number) in self.numbers.iter().enumerate().rev() {
                if *number >= known {
                    firsts[number - known] = row as u32;
                }
            }
        }
        Ok(UInt32Array::from(firsts))
    }

    /// The numbers of the rows that were numbered last.
    pub(crate) fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// Forgets all values, and says which they were, in the order of their numbers.
    pub(crate) fn drain(&mut self) -> Result<Vec<ArrayRef>> {
        let values = self.values.emit(EmitTo::All)?;
        self.clear()?;
        Ok(values)
    }

    fn clear(&mut self) -> Result<()> {
        self.values = new_group_values(SchemaRef::clone(&self.schema), &GroupOrdering::None)?;
        Ok(())
    }

    pub(crate) fn size(&self) -> usize {
        self.values.size() + self.numbers.capacity() * size_of::<usize>()
    }
}

/// Texts of one batch, distinguished by where they lie: equal views are equal texts (not the other way round), and few groups are many rows.
struct Views {
    /// Where a view was seen: the view, and its place among those that were.
    places: Vec<(u128, u32)>,
    /// A row of each view that was seen.
    firsts: Vec<u32>,
    /// For each row, the place of its view.
    rows: Vec<u32>,
}

/// More views than this share places, and are seen more than once.
const VIEWS: usize = 512;
/// No text has a negative length.
const NO_VIEW: u128 = u128::MAX;

impl Views {
    fn see(&mut self, views: &[u128]) {
        self.places.clear();
        self.places.resize(VIEWS, (NO_VIEW, 0));
        self.firsts.clear();
        self.rows.clear();
        self.rows.reserve(views.len());
        for (row, view) in views.iter().enumerate() {
            let folded = (*view as u64 ^ (*view >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let place = &mut self.places[(folded >> 32) as usize % VIEWS];
            if place.0 != *view {
                *place = (*view, self.firsts.len() as u32);
                self.firsts.push(row as u32);
            }
            self.rows.push(place.1);
        }
    }
}

/// The groups of a stream.
pub(crate) struct Groups {
    /// `None` if there are no keys: then there is one group, number 0.
    interner: Option<Interner>,
    views: Views,
    numbers: Vec<usize>,
    converter: RowConverter,
    /// The names. Rows compare as the columns do, ascending, NULL last.
    names: Rows,
    /// `None` if all groups count, so that nothing has to be hashed.
    digest: Option<Digest>,
    hashes: Vec<u32>,
}

impl Groups {
    pub(crate) fn new(schema: SchemaRef, digest: Option<Digest>) -> Result<Self> {
        let field = |data_type: &DataType| {
            let options = SortOptions {
                descending: false,
                nulls_first: false,
            };
            SortField::new_with_options(data_type.clone(), options)
        };
        let fields = schema.fields().iter().map(|key| field(key.data_type())).collect();
        let converter = RowConverter::new(fields)?;
        let names = converter.empty_rows(0, 0);
        let interner = match schema.fields().is_empty() {
            true => None,
            false => Some(Interner::new(schema)?),
        };
        Ok(Self {
            interner,
            views: Views {
                places: Vec::new(),
                firsts: Vec::new(),
                rows: Vec::new(),
            },
            numbers: Vec::new(),
            converter,
            names,
            digest,
            hashes: Vec::new(),
        })
    }

    /// Numbers the groups of these rows.
    pub(crate) fn number(&mut self, keys: &[ArrayRef], rows: usize) -> Result<()> {
        let text = match keys {
            [] => {
                self.numbers.resize(rows, 0);
                return Ok(());
            }
            [text] if text.null_count() == 0 => text.as_string_view_opt(),
            _ => None,
        };
        let Some(text) = text else {
            self.intern(keys)?;
            if let Some(interner) = &mut self.interner {
                std::mem::swap(&mut self.numbers, &mut interner.numbers);
            }
            return Ok(());
        };
        self.views.see(text.views());
        let firsts = UInt32Array::from(self.views.firsts.clone());
        self.intern(&[take(text, &firsts, None)?])?;
        if let Some(interner) = &self.interner {
            self.numbers.clear();
            self.numbers.extend(
                self.views
                    .rows
                    .iter()
                    .map(|place| interner.numbers[*place as usize]),
            );
        }
        Ok(())
    }

    fn intern(&mut self, keys: &[ArrayRef]) -> Result<()> {
        let Some(interner) = &mut self.interner else {
            return Ok(());
        };
        let firsts = interner.number(keys)?;
        if !firsts.is_empty() {
            let new: Result<Vec<ArrayRef>, _> = keys.iter().map(|key| take(key, &firsts, None)).collect();
            let new = new?;
            self.converter.append(&mut self.names, &new)?;
            if let Some(digest) = &self.digest {
                self.hashes.extend(digest.groups(new)?);
            }
        }
        Ok(())
    }

    /// The numbers of the rows that were numbered last.
    pub(crate) fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        match self.interner {
            Some(_) => self.names.num_rows(),
            None => 1,
        }
    }

    /// The groups' parts of the hash; none where all groups count.
    pub(crate) fn hashes(&self) -> &[u32] {
        &self.hashes
    }

    /// Which name comes first.
    pub(crate) fn compare(&self, one: u32, other: u32) -> Ordering {
        match self.interner {
            Some(_) => self.names.row(one as usize).cmp(&self.names.row(other as usize)),
            None => Ordering::Equal,
        }
    }

    /// The key columns of these groups, in this order.
    pub(crate) fn keys(&self, groups: impl IntoIterator<Item = u32>) -> Result<Vec<ArrayRef>> {
        match self.interner {
            Some(_) => {
                let names = groups.into_iter().map(|group| self.names.row(group as usize));
                Ok(self.converter.convert_rows(names)?)
            }
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn clear(&mut self) -> Result<()> {
        if let Some(interner) = &mut self.interner {
            interner.clear()?;
        }
        self.names = self.converter.empty_rows(0, 0);
        self.hashes = Vec::new();
        Ok(())
    }

    pub(crate) fn size(&self) -> usize {
        let interner = self.interner.as_ref().map_or(0, Interner::size);
        interner
            + self.names.size()
            + self.hashes.capacity() * size_of::<u32>()
            + self.numbers.capacity() * size_of::<usize>()
            + self.views.places.capacity() * size_of::<(u128, u32)>()
            + (self.views.firsts.capacity() + self.views.rows.capacity()) * size_of::<u32>()
    }
}
