//! Pairs of rows of one owner.

use super::Meeting;
use super::exec::{ORDER, Rule};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use datafusion::arrow::compute::{filter_record_batch, interleave, prep_null_mask_filter, take};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc::Sender;

/// Joins the left side, batch by batch, to the right side.
pub(super) struct Pairs {
    rule: Rule,
    right: Owners,
    converter: RowConverter,
    batch_size: usize,
    /// The owner of the last row of the left side, and how many rows of that owner were taken.
    owner: Option<Vec<u8>>,
    taken: u64,
    /// Pairs that wait to be looked at: rows of the present batch of the left side, and rows of the right side.
    waiting_left: Vec<u32>,
    waiting_right: Vec<(usize, usize)>,
    /// The first batch of the right side that such a pair needs.
    oldest: Option<usize>,
}

impl Pairs {
    pub(super) fn new(
        rule: Rule,
        right: SendableRecordBatchStream,
        left: &SchemaRef,
        batch_size: usize,
    ) -> Result<Self> {
        Ok(Self {
            converter: converter(left, rule.keys.0)?,
            right: Owners::new(right, rule.keys.1, rule.most_right)?,
            rule,
            batch_size: batch_size.max(1),
            owner: None,
            taken: 0,
            waiting_left: Vec::new(),
            waiting_right: Vec::new(),
            oldest: None,
        })
    }

    /// Joins the next batch of the left side and sends what comes of it; `false` when nobody listens any more.
    pub(super) async fn join(
        &mut self,
        batch: &RecordBatch,
        output: &Sender<Result<RecordBatch>>,
    ) -> Result<bool> {
        let key = batch.column(self.rule.keys.0);
        let keys = self.converter.convert_columns(std::slice::from_ref(key))?;
        // Of each row, whether it is among those of its owner that are joined, and whether it found a partner.
        let mut joined = vec![false; batch.num_rows()];
        let mut matched = vec![false; batch.num_rows()];
        for (row, joined) in joined.iter_mut().enumerate() {
            if key.is_null(row) {
                continue;
            }
            let owner = keys.row(row);
            let owner = owner.as_ref();
            if self.owner.as_deref() != Some(owner) {
                self.owner = Some(owner.to_vec());
                self.taken = 0;
            }
            if self.taken == self.rule.most_left {
                continue;
            }
            self.taken += 1;
            *joined = true;
            if !self.right.seek(owner, self.oldest).await? {
                continue;
            }
            for place in 0..self.right.run.len() {
                let partner = self.right.run[place];
                self.waiting_left.push(row as u32);
                self.waiting_right.push(partner);
                self.oldest = Some(self.oldest.map_or(partner.0, |oldest| oldest.min(partner.0)));
                if self.waiting_left.len() == self.batch_size
                    && !self.send_pairs(batch, &mut matched, output).await?
                {
                    return Ok(false);
                }
            }
        }
        if !self.send_pairs(batch, &mut matched, output).await? {
            return Ok(false);
        }
        match self.rule.meeting {
            Meeting::Pairs => return Ok(true),
            Meeting::PairsAndRest => {}
            Meeting::Whether(_) => return self.send_whether(batch, joined, matched, output).await,
        }
        let lonely =
            (0..batch.num_rows() as u32).filter(|row| joined[*row as usize] && !matched[*row as usize]);
        let lonely: Vec<u32> = lonely.collect();
        if lonely.is_empty() {
            return Ok(true);
        }
        let right = |rows: usize| {
            let fields = &self.rule.pairs.fields()[batch.num_columns()..];
            let nulls = fields.iter().map(|field| new_null_array(field.data_type(), rows));
            nulls.collect::<Vec<ArrayRef>>()
        };
        let rows = lonely.len();
        let lonely = self.gather(batch, lonely, right(rows))?;
        Ok(output.send(Ok(lonely)).await.is_ok())
    }

    /// Sends the pairs that wait, as far as the filter keeps them, and notes which rows of the left side are in one.
    async fn send_pairs(
        &mut self,
        batch: &RecordBatch,
        matched: &mut [bool],
        output: &Sender<Result<RecordBatch>>,
    ) -> Result<bool> {
        if self.waiting_left.is_empty() {
            return Ok(true);
        }
        self.oldest = None;
        let rows = std::mem::take(&mut self.waiting_left);
        let partners = std::mem::take(&mut self.waiting_right);
        if self.rule.filter.is_none() && matches!(self.rule.meeting, Meeting::Whether(_)) {
            rows.iter().for_each(|row| matched[*row as usize] = true);
            return Ok(true);
        }
        let right = self.right.gather(&partners)?;
        let mut pairs = self.gather(batch, rows.clone(), right)?;
        match &self.rule.filter {
            None => rows.iter().for_each(|row| matched[*row as usize] = true),
            Some(filter) => {
                let kept = filter.evaluate(&pairs)?.into_array(pairs.num_rows())?;
                let kept: BooleanArray = match kept.null_count() {
                    0 => kept.as_boolean().clone(),
                    _ => prep_null_mask_filter(kept.as_boolean()),
                };
                for (place, row) in rows.iter().enumerate() {
                    matched[*row as usize] |= kept.value(place);
                }
                pairs = filter_record_batch(&pairs, &kept)?;
            }
        }
        if pairs.num_rows() == 0 || matches!(self.rule.meeting, Meeting::Whether(_)) {
            return Ok(true);
        }
        Ok(output.send(Ok(pairs)).await.is_ok())
    }

    /// Rows of the left side beside columns of the right one.
    fn gather(&self, batch: &RecordBatch, rows: Vec<u32>, right: Vec<ArrayRef>) -> Result<RecordBatch> {
        let rows = UInt32Array::from(rows);
        let mut columns = Vec::with_capacity(batch.num_columns() + right.len());
        for column in batch.columns() {
            columns.push(take(column, &rows, None)?);
        }
        columns.extend(right);
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let schema = Arc::clone(&self.rule.pairs);
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }

    /// Sends the rows of the left side that are joined, each once, and whether it found a partner.
    async fn send_whether(
        &mut self,
        batch: &RecordBatch,
        joined: Vec<bool>,
        matched: Vec<bool>,
        output: &Sender<Result<RecordBatch>>,
    ) -> Result<bool> {
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(BooleanArray::from(matched)));
        let rows = RecordBatch::try_new(Arc::clone(&self.rule.schema), columns)?;
        let rows = filter_record_batch(&rows, &BooleanArray::from(joined))?;
        Ok(rows.num_rows() == 0 || output.send(Ok(rows)).await.is_ok())
    }
}

/// Keys as bytes in the order in which the sides are sorted.
fn converter(schema: &SchemaRef, key: usize) -> Result<RowConverter> {
    let data_type = schema.field(key).data_type().clone();
    Ok(RowConverter::new(vec![SortField::new_with_options(
        data_type, ORDER,
    )])?)
}

/// The right side, one owner after the other.
struct Owners {
    stream: SendableRecordBatchStream,
    key: usize,
    most: u64,
    converter: RowConverter,
    /// Batches that are still needed, and the number of the first of them.
    held: VecDeque<RecordBatch>,
    first: usize,
    /// The keys of the last batch, and its next row.
    keys: Option<Rows>,
    next: usize,
    /// The present owner, and those rows (number of the batch, row) that are joined.
    owner: Option<Vec<u8>>,
    run: Vec<(usize, usize)>,
    ended: bool,
}

impl Owners {
    fn new(stream: SendableRecordBatchStream, key: usize, most: u64) -> Result<Self> {
        Ok(Self {
            converter: converter(&stream.schema(), key)?,
            stream,
            key,
            most,
            held: VecDeque::new(),
            first: 0,
            keys: None,
            next: 0,
            owner: None,
            run: Vec::new(),
            ended: false,
        })
    }

    /// Goes on to this owner; `false` if it has no rows here. Owners are asked for in order. Batches from `oldest` on are still needed.
    async fn seek(&mut self, owner: &[u8], oldest: Option<usize>) -> Result<bool> {
        while !self.ended && self.owner.as_deref().is_none_or(|present| present < owner) {
            self.advance(oldest).await?;
        }
        Ok(self.owner.as_deref() == Some(owner))
    }

    /// The next owner's rows, as many as are joined.
    async fn advance(&mut self, oldest: Option<usize>) -> Result<()> {
        self.run.clear();
        self.owner = None;
        loop {
            let rows = self.keys.as_ref().map_or(0, Rows::num_rows);
            while self.next < rows {
                let batch = self.held.back().expect("it has rows");
                let keys = self.keys.as_ref().expect("it has rows");
                let key = keys.row(self.next);
                if batch.column(self.key).is_null(self.next) {
                    // Nobody's. They come last.
                    self.next += 1;
                    continue;
                }
                match &self.owner {
                    None => self.owner = Some(key.as_ref().to_vec()),
                    Some(owner) if owner.as_slice() != key.as_ref() => return Ok(()),
                    Some(_) => {}
                }
                if (self.run.len() as u64) < self.most {
                    self.run.push((self.first + self.held.len() - 1, self.next));
                }
                self.next += 1;
            }
            if !self.load(oldest).await? {
                self.ended = self.owner.is_none();
                return Ok(());
            }
        }
    }

    /// Reads the next batch, and lets go of those that nobody needs.
    async fn load(&mut self, oldest: Option<usize>) -> Result<bool> {
        let needed = oldest
            .into_iter()
            .chain(self.run.first().map(|(batch, _)| *batch))
            .min();
        let needed = needed.unwrap_or(usize::MAX);
        while !self.held.is_empty() && self.first < needed {
            self.held.pop_front();
            self.first += 1;
        }
        // An owner with more rows than are joined: what follows the last of them is passed over.
        let last = self.run.last().map(|(batch, _)| *batch);
        if last.is_some_and(|last| last + 1 < self.first + self.held.len()) {
            self.held.pop_back();
        }
        self.keys = None;
        self.next = 0;
        match self.stream.next().await.transpose()? {
            None => Ok(false),
            Some(batch) => {
                let key = batch.column(self.key);
                self.keys = Some(self.converter.convert_columns(std::slice::from_ref(key))?);
                self.held.push_back(batch);
                Ok(true)
            }
        }
    }

    /// These rows, column by column.
    fn gather(&self, rows: &[(usize, usize)]) -> Result<Vec<ArrayRef>> {
        let places: Vec<(usize, usize)> = rows
            .iter()
            .map(|(batch, row)| (batch - self.first, *row))
            .collect();
        let columns = self.stream.schema().fields().len();
        (0..columns)
            .map(|column| {
                let parts: Vec<&dyn Array> = self
                    .held
                    .iter()
                    .map(|batch| batch.column(column).as_ref())
                    .collect();
                Ok(interleave(&parts, &places)?)
            })
            .collect()
    }
}
