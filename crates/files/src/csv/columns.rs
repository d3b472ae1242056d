//! Some columns of a file, in batches.

use crate::csv::{Record, Records};
use arrow_array::StringViewArray;
use arrow_array::builder::StringViewBuilder;
use std::borrow::Cow;
use std::io::Result;

/// A batch ends when its fields have this many bytes, so that one person's long fields take no more memory
/// than other people's short ones.
const MOST_BYTES: usize = 16 << 20;

/// What the values of a column are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Any text, as it is.
    Text,
    /// Any text, as it is; an empty one is NULL.
    Exact,
    /// Anything else: white space around it and empty values mean nothing.
    Other,
    /// Numbers with a comma before their fraction, perhaps with points between thousands: `1.234,5`. They
    /// come as `1234.5`.
    DecimalComma,
}

/// Which field of a record becomes a column, and how.
#[derive(Clone, Copy, Debug)]
struct Column {
    field: usize,
    cells: Cells,
}

/// Reads some columns of a file.
pub struct Columns<'a> {
    records: Records<'a>,
    record: Record,
    columns: Vec<Column>,
    nulls: Vec<String>,
}

impl<'a> Columns<'a> {
    /// The fields at these places. A value that is one of `nulls` is NULL. `records` is past the header.
    pub fn new(
        records: Records<'a>,
        fields: impl IntoIterator<Item = (usize, Cells)>,
        nulls: Vec<String>,
    ) -> Self {
        let columns = fields
            .into_iter()
            .map(|(field, cells)| Column { field, cells })
            .collect();
        Self {
            records,
            record: Record::default(),
            columns,
            nulls,
        }
    }

    /// The next rows, at most this many and of not much more than 16 MiB, and how many they are; `None` at
    /// the end. A field that is missing is NULL.
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
                let field = field.filter(|field| !self.nulls.iter().any(|null| null == field));
                match column.cells {
                    Cells::Text => builder.append_option(field),
                    Cells::Exact => builder.append_option(field.filter(|field| !field.is_empty())),
                    Cells::Other => builder.append_option(filled(field)),
                    Cells::DecimalComma => builder.append_option(filled(field).map(with_point)),
                }
            }
        }
        let arrays = builders.iter_mut().map(StringViewBuilder::finish).collect();
        Ok((rows > 0).then_some((arrays, rows)))
    }
}

fn filled(field: Option<&str>) -> Option<&str> {
    field.map(str::trim).filter(|field| !field.is_empty())
}

/// Rewrites a number with a decimal comma as one with a decimal point. Other text stays no number: a point
/// that does not stand before three digits is no separator of thousands, so `1.5` does not become fifteen.
fn with_point(text: &str) -> Cow<'_, str> {
    if !text.contains(['.', ',']) {
        return Cow::Borrowed(text);
    }
    let (whole, rest) = text
        .split_once(',')
        .map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.trim_start_matches(['+', '-']).split('.');
    let first = groups.next().unwrap_or_default();
    let mut grouped = whole.contains('.').then_some(groups).into_iter().flatten();
    let thousands = !whole.contains('.') || (1..=3).contains(&first.len()) && digits(first);
    let is_number = thousands
        && grouped.all(|group| group.len() == 3 && digits(group))
        && rest.is_none_or(|rest| !rest.contains(['.', ',']));
    if !is_number {
        return Cow::Borrowed(NO_NUMBER);
    }
    let mut written = whole.replace('.', "");
    if let Some(rest) = rest {
        written.push('.');
        written.push_str(rest);
    }
    Cow::Owned(written)
}

/// No cast makes a number of it.
const NO_NUMBER: &str = "no number";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::Format;
    use std::io::Cursor;

    #[test]
    fn markers_are_null_and_commas_are_points() {
        let format = Format {
            delimiter: b';',
            ..Format::COMMAS
        };
        let text = "?;1,5\n ? ;1.234,5\nx;?\nNA;1.5\n\"?\";-1.000.000\n;+12,\n1,,2;1,2,3\n;1.0000,5\n;1.,5\n;,5\n;1,5e3\n;12.34\n";
        let records = Records::new(Cursor::new(text), format).unwrap();
        let nulls = vec!["?".to_owned(), "NA".to_owned()];
        let mut columns = Columns::new(records, [(0, Cells::Text), (1, Cells::DecimalComma)], nulls);
        let (arrays, _) = columns.batch(100).unwrap().unwrap();
        let texts: Vec<_> = arrays[0].iter().take(7).collect();
        let expected = [None, None, Some("x"), None, None, Some(""), Some("1,,2")];
        assert_eq!(texts, expected);
        let numbers: Vec<Option<f64>> = arrays[1]
            .iter()
            .map(|number| number.and_then(|number| number.parse().ok()))
            .collect();
        let some = Some;
        assert_eq!(
            numbers,
            [
                some(1.5),
                some(1234.5),
                None,
                None,
                some(-1e6),
                some(12.0),
                None,
                None,
                None,
                some(0.5),
                some(1500.0),
                None
            ]
        );
    }

    #[test]
    fn columns_come_in_batches_trimmed_where_asked() {
        let text = " a ,b\n,\" \"\nc\nd,e,f\n";
        let records = Records::new(Cursor::new(text), Format::COMMAS).unwrap();
        let fields = [
            (1, Cells::Text),
            (0, Cells::Other),
            (1, Cells::Exact),
            (0, Cells::Exact),
        ];
        let mut columns = Columns::new(records, fields, Vec::new());
        let (first, rows) = columns.batch(3).unwrap().unwrap();
        assert_eq!(rows, 3);
        assert_eq!(first[2].iter().collect::<Vec<_>>(), [Some("b"), Some(" "), None]);
        assert_eq!(first[3].iter().collect::<Vec<_>>(), [Some("a"), None, Some("c")]);
        assert_eq!(first[0].iter().collect::<Vec<_>>(), [Some("b"), Some(" "), None]);
        assert_eq!(first[1].iter().collect::<Vec<_>>(), [Some("a"), None, Some("c")]);
        let (second, rows) = columns.batch(3).unwrap().unwrap();
        assert_eq!((rows, second[0].value(0), second[1].value(0)), (1, "e", "d"));
        assert!(columns.batch(3).unwrap().is_none());
    }

    #[test]
    fn long_fields_end_a_batch() {
        let field = "x".repeat(crate::csv::LONGEST);
        let text = format!("{field}\n").repeat(40);
        let mut columns = Columns::new(
            Records::new(Cursor::new(text), Format::COMMAS).unwrap(),
            [(0, Cells::Text)],
            Vec::new(),
        );
        let mut rows = Vec::new();
        while let Some((_, count)) = columns.batch(8192).unwrap() {
            rows.push(count);
        }
        assert_eq!(rows, [16, 16, 8]);
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let records = Records::new(Cursor::new("1\n2\n"), Format::COMMAS).unwrap();
        assert_eq!(
            Columns::new(records, [], Vec::new()).batch(9).unwrap().unwrap().1,
            2
        );
    }
}
