//! A table whose values are integers: equal values of a column have equal codes.

use crate::Error;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

/// With fixed keys: a table is coded alike in every run.
type Dictionary = HashMap<Box<[u8]>, u32, BuildHasherDefault<DefaultHasher>>;

/// Rows and how many of them are equal are counted in 31 bits.
const MOST_ROWS: usize = (1 << 31) - 1;

/// Columns of codes. Values themselves are not kept beyond reading.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: usize,
}

#[derive(Clone, Debug, Default)]
struct Column {
    name: String,
    codes: Vec<u32>,
    distinct: u32,
    dictionary: Dictionary,
}

impl Table {
    /// No rows yet, under these names.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let column = |name| Column {
            name,
            ..Column::default()
        };
        Self {
            columns: names.into_iter().map(column).collect(),
            rows: 0,
        }
    }

    /// Columns that are integers already, all of the same length.
    ///
    /// # Panics
    /// If their lengths differ.
    pub fn of_codes(columns: impl IntoIterator<Item = (&'static str, Vec<u32>)>) -> Self {
        let column = |(name, codes): (&'static str, Vec<u32>)| Column {
            name: name.to_owned(),
            distinct: codes.iter().max().map_or(0, |most| most + 1),
            codes,
            dictionary: Dictionary::default(),
        };
        let columns: Vec<Column> = columns.into_iter().map(column).collect();
        let rows = columns.first().map_or(0, |column| column.codes.len());
        assert!(columns.iter().all(|column| column.codes.len() == rows));
        Self { columns, rows }
    }

    /// Adds a row. What it has too little counts as empty, and what it has too much is left out. Empty is a
    /// value like others.
    ///
    /// # Errors
    /// When there are [`MOST_ROWS`] already.
    pub fn push<'value>(&mut self, values: impl IntoIterator<Item = &'value [u8]>) -> Result<(), Error> {
        if self.rows >= MOST_ROWS {
            return Err(Error::bad_setting(
                "the table has 2^31 rows or more",
                "take a part of it: what is singled out there is not singled out by accident",
            ));
        }
        let mut values = values.into_iter();
        for column in &mut self.columns {
            let value = values.next().unwrap_or_default();
            let code = match column.dictionary.get(value) {
                Some(code) => *code,
                None => {
                    let code = column.distinct;
                    column.dictionary.insert(value.into(), code);
                    column.distinct += 1;
                    code
                }
            };
            column.codes.push(code);
        }
        self.rows += 1;
        Ok(())
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// What a column is called.
    pub fn name(&self, column: usize) -> &str {
        &self.columns[column].name
    }

    /// The codes of a column, row by row.
    pub fn codes(&self, column: usize) -> &[u32] {
        &self.columns[column].codes
    }

    /// No code of this column is this large or larger.
    pub fn distinct(&self, column: usize) -> u32 {
        self.columns[column].distinct
    }

    /// The place of the column with this name.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn column(&self, name: &str) -> Result<usize, Error> {
        let mut places = (0..self.columns.len()).filter(|place| self.columns[*place].name == name);
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (None, _) => Err(Error::bad_setting(
                format!("there is no column `{name}`"),
                "the first line of the file names the columns; names are taken to the letter",
            )),
            (Some(_), Some(_)) => Err(Error::bad_setting(
                format!("there is more than one column `{name}`"),
                "rename one of them",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_codes() {
        let mut table = Table::new(["a".to_owned(), "b".to_owned()]);
        for row in [["x", "1"], ["y", "1"], ["x", ""]] {
            table.push(row.map(str::as_bytes)).unwrap();
        }
        // Too little is empty, too much is left out.
        table.push([b"y".as_slice()]).unwrap();
        table
            .push([b"z".as_slice(), b"1".as_slice(), b"more".as_slice()])
            .unwrap();
        assert_eq!(table.codes(0), [0, 1, 0, 1, 2]);
        assert_eq!(table.codes(1), [0, 0, 1, 1, 0]);
        assert_eq!((table.rows(), table.distinct(0), table.distinct(1)), (5, 3, 2));
        assert_eq!(table.column("b").unwrap(), 1);
        assert!(
            table
                .column("c")
                .unwrap_err()
                .to_string()
                .contains("no column `c`")
        );
        let twice = Table::new(["a".to_owned(), "a".to_owned()]);
        assert!(
            twice
                .column("a")
                .unwrap_err()
                .to_string()
                .contains("more than one")
        );
    }
}
