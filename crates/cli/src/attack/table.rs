//! CSV files, read as a stream. No error quotes a value.

use crate::terminal::{CliError, Progress, fail};
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Bytes between two moves of the bar.
const SHOWN_EVERY: u64 = 1 << 18;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An open file whose first line named its columns.
pub(super) struct Source {
    path: PathBuf,
    reader: Reader<File>,
    names: Vec<String>,
    bytes: u64,
}

impl Source {
    /// Opens a file and reads the names of its columns.
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = match opened {
            Ok(opened) => opened,
            Err(cause) => {
                return fail(
                    format!("cannot read `{}`: {cause}", path.display()),
                    "name a CSV file that you may read",
                );
            }
        };
        // Rows may be short or long: what is missing counts as empty.
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(file);
        let header = match reader.byte_headers() {
            Ok(header) => header.clone(),
            Err(_) => return unreadable(path),
        };
        let names: Vec<String> = header
            .iter()
            .enumerate()
            .map(|(place, name)| {
                let name = match place {
                    0 => name.strip_prefix(BYTE_ORDER_MARK).unwrap_or(name),
                    _ => name,
                };
                String::from_utf8_lossy(name.trim_ascii()).into_owned()
            })
            .collect();
        if names.is_empty() {
            return fail(
                format!("`{}` is empty", path.display()),
                "its first line must name the columns, separated by commas",
            );
        }
        Ok(Self {
            path: path.to_owned(),
            reader,
            names,
            bytes,
        })
    }

    /// What its columns are called.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// How long the file is.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The place of the column with this name: to the letter, or else in any case.
    pub(super) fn column(&self, name: &str) -> Result<usize, CliError> {
        let name = name.trim();
        let lower = name.to_lowercase();
        let exactly = self.names.iter().any(|other| other == name);
        let same = |other: &str| other == name || (!exactly && other.to_lowercase() == lower);
        let mut places = (0..self.names.len()).filter(|place| same(&self.names[*place]));
        // The names that are there are not listed: in a file without a first line of names they would be somebody's data.
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (None, _) => fail(
                format!("`{}` has no column `{name}`", self.path.display()),
                "the first line of the file must name the columns, separated by commas",
            ),
            (Some(_), Some(_)) => fail(
                format!("`{}` has more than one column `{name}`", self.path.display()),
                "rename one of them, or write it to the letter",
            ),
        }
    }

    /// Hands over every row and the number of its line, in order. A bar of as many steps as the file has bytes moves along.
    pub(super) fn each(
        &mut self,
        progress: &Progress,
        mut take: impl FnMut(u64, &ByteRecord) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut record = ByteRecord::new();
        let mut shown = self.reader.position().byte();
        loop {
            match self.reader.read_byte_record(&mut record) {
                Ok(true) => take(record.position().map_or(0, csv::Position::line), &record)?,
                Ok(false) => return Ok(()),
                Err(_) => return unreadable(&self.path),
            }
            let read = self.reader.position().byte();
            if read - shown >= SHOWN_EVERY {
                progress.advance(read - shown);
                shown = read;
            }
        }
    }
}

fn unreadable<T>(path: &Path) -> Result<T, CliError> {
    fail(
        format!("`{}` could not be read to its end", path.display()),
        "is it a CSV file, and did nobody change it meanwhile?",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_unless_that_is_ambiguous() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("people.csv");
        std::fs::write(&path, "Salary,Sex,age,AGE\n1,F,2,3\n").unwrap();
        let table = Source::open(&path).unwrap();
        let place = |name: &str| table.column(name).ok();
        assert_eq!(
            (place("Salary"), place("salary"), place(" SEX ")),
            (Some(0), Some(0), Some(1))
        );
        assert_eq!(
            (place("age"), place("AGE"), place("Age")),
            (Some(2), Some(3), None)
        );
        assert_eq!(place("income"), None);
    }
}
