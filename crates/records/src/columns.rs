//! Some columns of a file, in batches.

use crate::{Record, Records};
use arrow_array::StringViewArray;
use arrow_array::builder::StringViewBuilder;
use std::io::Result;

/// A batch ends when its fields have so many bytes, so that one person's long fields take no more memory than other people's short ones.
const MOST_BYTES: usize = 16 << 20;

/// Which field of a record becomes a column, and how.
#[derive(Clone, Copy, Debug)]
struct Column {
    field: usize,
    /// Whether spaces around a value and empty values mean nothing.
    trimmed: bool,
}

/// Reads some columns of a file.
pub struct Columns<'a> {
    records: Records<'a>,
    record: Record,
    columns: Vec<Column>,
}

impl<'a> Columns<'a> {
    /// The fields at these places, each with whether spaces around it and empty values mean nothing. `records` is past the header.
    pub fn new(records: Records<'a>, fields: impl IntoIterator<Item = (usize, bool)>) -> Self {
        let columns = fields
            .into_iter()
            .map(|(field, trimmed)| Column { field, trimmed })
            .collect();
        Self {
            records,
            record: Record::default(),
            columns,
        }
    }

    /// The next rows, at most so many and of not much more than 16 MiB, and how many they are; `None` at the end. A field that is missing is NULL.
    pub fn batch(&mut self, most: usize) -> Result<Option<(Vec<StringViewArray>, usize)>> {
        let mut builders: Vec<_> = self
            .columns
            .iter()
            .map(|_| StringViewBuilder::with_capacity(most))
            .collect();
        let (mut rows, mut bytes) = (0, 0);
        while rows < most && bytes < MOST_BYTES && self.records.next(&mut self.record)? {
            rows += 1;
            for (builder, column) in builders.iter_mut().zip(&self.columns) {
                let field = self.record.field(column.field);
                bytes += field.map_or(0, str::len);
                builder.append_option(if column.trimmed {
                    field.map(str::trim).filter(|field| !field.is_empty())
                } else {
                    field
                });
            }
        }
        let arrays = builders.iter_mut().map(StringViewBuilder::finish).collect();
        Ok((rows > 0).then_some((arrays, rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn columns_come_in_batches_trimmed_where_asked() {
        let text = " a ,b\n, \nc\nd,e,f\n";
        let records = Records::new(Cursor::new(text), b',').unwrap();
        let mut columns = Columns::new(records, [(1, false), (0, true)]);
        let (first, rows) = columns.batch(3).unwrap().unwrap();
        assert_eq!(rows, 3);
        assert_eq!(first[0].iter().collect::<Vec<_>>(), [Some("b"), Some(" "), None]);
        assert_eq!(first[1].iter().collect::<Vec<_>>(), [Some("a"), None, Some("c")]);
        let (second, rows) = columns.batch(3).unwrap().unwrap();
        assert_eq!((rows, second[0].value(0), second[1].value(0)), (1, "e", "d"));
        assert!(columns.batch(3).unwrap().is_none());
    }

    #[test]
    fn long_fields_end_a_batch() {
        let field = "x".repeat(crate::LONGEST);
        let text = format!("{field}\n").repeat(40);
        let mut columns = Columns::new(Records::new(Cursor::new(text), b',').unwrap(), [(0, false)]);
        let mut rows = Vec::new();
        while let Some((_, count)) = columns.batch(8192).unwrap() {
            rows.push(count);
        }
        assert_eq!(rows, [16, 16, 8]);
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let records = Records::new(Cursor::new("1\n2\n"), b',').unwrap();
        assert_eq!(Columns::new(records, []).batch(9).unwrap().unwrap().1, 2);
    }
}
