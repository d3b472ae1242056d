//! Reads tables that somebody published or holds from CSV files, as a stream. No error quotes a value.

use csv::{ByteRecord, Reader, ReaderBuilder};
use files::document::Mistake;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes between two reports of progress.
const TOLD_EVERY: u64 = 1 << 18;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Is told how many bytes more were read.
pub type Bytes<'watcher> = dyn Fn(u64) + 'watcher;

/// An open file whose first line named its columns.
///
/// ```
/// use attack::csv_file::CsvFile;
///
/// let text = "zip,sex\n8000,f\n8001,m\n";
/// let mut sheet = CsvFile::new("people.csv".as_ref(), text.len() as u64, Box::new(text.as_bytes()))?;
/// assert_eq!(sheet.column("SEX")?, 1);
/// let mut lines = Vec::new();
/// sheet.each(&|_| (), |line, record| {
///     lines.push((line, record.get(1).map(<[u8]>::to_vec)));
///     Ok(())
/// })?;
/// assert_eq!(lines, [(2, Some(b"f".to_vec())), (3, Some(b"m".to_vec()))]);
/// # Ok::<(), files::document::Mistake>(())
/// ```
pub struct CsvFile {
    path: PathBuf,
    reader: Reader<Box<dyn Read>>,
    names: Vec<String>,
    bytes: u64,
}

impl CsvFile {
    /// Opens a file and reads the names of its columns.
    ///
    /// # Errors
    /// When it cannot be read, or is empty.
    pub fn open(path: &Path) -> Result<Self, Mistake> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((bytes, file)) => Self::new(path, bytes, Box::new(file)),
            Err(cause) => Err(Mistake::new(
                format!("cannot read `{}`: {cause}", path.display()),
                "name a CSV file that you may read",
            )),
        }
    }

    /// The same from anywhere, with the name that mistakes are reported under.
    ///
    /// # Errors
    /// When it cannot be read, or is empty.
    pub fn new(path: &Path, bytes: u64, input: Box<dyn Read>) -> Result<Self, Mistake> {
        // Rows may be short or long: what is missing counts as empty.
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(input);
        let header = match reader.byte_headers() {
            Ok(header) => header.clone(),
            Err(_) => return Err(unreadable(path)),
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
            return Err(Mistake::new(
                format!("`{}` is empty", path.display()),
                "its first line must name the columns, separated by commas",
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            reader,
            names,
            bytes,
        })
    }

    /// What its columns are called.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How long the file is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The mistake in a line of it.
    pub fn wrong(path: &Path, line: u64, what: &str, hint: &str) -> Mistake {
        Mistake::new(format!("`{}`, line {line}: {what}", path.display()), hint)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The place of the column with this name: to the letter, or else in any case.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn column(&self, name: &str) -> Result<usize, Mistake> {
        let name = name.trim();
        let lower = name.to_lowercase();
        let exactly = self.names.iter().any(|other| other == name);
        let same = |other: &str| other == name || (!exactly && other.to_lowercase() == lower);
        let mut places = (0..self.names.len()).filter(|place| same(&self.names[*place]));
        // The names that are there are not listed: in a file without a first line of names they would be
        // somebody's data.
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (None, _) => Err(Mistake::new(
                format!("`{}` has no column `{name}`", self.path.display()),
                "the first line of the file must name the columns, separated by commas",
            )),
            (Some(_), Some(_)) => Err(Mistake::new(
                format!("`{}` has more than one column `{name}`", self.path.display()),
                "rename one of them, or write it to the letter",
            )),
        }
    }

    /// The places of the columns with these names.
    ///
    /// # Errors
    /// When one is not there, or more than once.
    pub fn columns(&self, names: &[String]) -> Result<Vec<usize>, Mistake> {
        names.iter().map(|name| self.column(name)).collect()
    }

    /// Hands over every row and the number of its line, in order.
    ///
    /// # Errors
    /// When the file cannot be read to its end, or what `take` says.
    pub fn each(
        &mut self,
        read: &Bytes<'_>,
        mut take: impl FnMut(u64, &ByteRecord) -> Result<(), Mistake>,
    ) -> Result<(), Mistake> {
        let mut record = ByteRecord::new();
        let mut told = self.reader.position().byte();
        loop {
            match self.reader.read_byte_record(&mut record) {
                Ok(true) => take(record.position().map_or(0, csv::Position::line), &record)?,
                Ok(false) => return Ok(()),
                Err(_) => return Err(unreadable(&self.path)),
            }
            let at = self.reader.position().byte();
            if at - told >= TOLD_EVERY {
                read(at - told);
                told = at;
            }
        }
    }
}

impl std::fmt::Debug for CsvFile {
    /// Without the data.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CsvFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn unreadable(path: &Path) -> Mistake {
    Mistake::new(
        format!("`{}` could not be read to its end", path.display()),
        "is it a CSV file, and did nobody change it meanwhile?",
    )
}

/// A sheet of this text.
#[cfg(test)]
pub(crate) fn of_text(text: &str) -> CsvFile {
    let bytes = text.as_bytes().to_vec();
    CsvFile::new(
        "people.csv".as_ref(),
        bytes.len() as u64,
        Box::new(std::io::Cursor::new(bytes)),
    )
    .unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_unless_that_is_ambiguous() {
        let table = of_text("Salary,Sex,age,AGE\n1,F,2,3\n");
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
