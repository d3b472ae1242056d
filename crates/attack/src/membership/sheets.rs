//! Published means, and people to trace, from CSV files.

use super::{Published, Suspect, Tracing};
use crate::csv_file::{Bytes, CsvFile};
use csv::ByteRecord;
use files::document::Mistake;
use std::path::Path;

/// What was published: the columns `attribute`, `mean` and `frequency` of a file.
///
/// ```
/// use attack::membership::PublishedMeans;
/// use attack::csv_file::CsvFile;
///
/// let text = "attribute,mean,frequency\nsmokes,0.5,0.2\n";
/// let sheet = CsvFile::new("means.csv".as_ref(), text.len() as u64, Box::new(text.as_bytes()))?;
/// let means = PublishedMeans::read(sheet)?;
/// assert_eq!((&means.attributes[..], &means.means[..]), (&["smokes".to_owned()][..], &[0.5][..]));
/// # Ok::<(), files::document::Mistake>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishedMeans {
    /// What the attributes are called.
    pub attributes: Vec<String>,
    /// How common each was among the people of the study.
    pub means: Vec<f64>,
    /// How common each is in the population.
    pub frequencies: Vec<f64>,
}

impl PublishedMeans {
    /// Reads all of them.
    ///
    /// # Errors
    /// When a column or a number is missing, or a frequency is not strictly between 0 and 1.
    pub fn read(mut sheet: CsvFile) -> Result<Self, Mistake> {
        let [attribute, mean, frequency] = ["attribute", "mean", "frequency"].map(|name| sheet.column(name));
        let (attribute, mean, frequency) = (attribute?, mean?, frequency?);
        let path = sheet.path().to_owned();
        let mut means = Self::default();
        sheet.each(&|_| (), |line, record| {
            means
                .attributes
                .push(String::from_utf8_lossy(record.get(attribute).unwrap_or_default()).into_owned());
            means.means.push(number(&path, line, "mean", record.get(mean))?);
            let frequency = number(&path, line, "frequency", record.get(frequency))?;
            if frequency <= 0.0 || frequency >= 1.0 {
                return Err(CsvFile::wrong(
                    &path,
                    line,
                    "the frequency is not strictly between 0 and 1",
                    "leave out attributes that everybody has, or nobody",
                ));
            }
            means.frequencies.push(frequency);
            Ok(())
        })?;
        if means.attributes.is_empty() {
            return Err(Mistake::new(
                format!("`{}` has no attributes", path.display()),
                "one line an attribute: its name, its published mean, its frequency in the population",
            ));
        }
        Ok(means)
    }
}

/// Everybody in a file with a column of 0 and 1 for each attribute, those who stand out most first. Who they
/// are is in the column `names`, or else the number of the row.
///
/// # Errors
/// When a column is missing, or a value is neither 0 nor 1.
pub fn suspects(
    study: &Published<'_>,
    attributes: &[String],
    mut sheet: CsvFile,
    names: Option<&str>,
    read: &Bytes<'_>,
) -> Result<Vec<Suspect>, Mistake> {
    let places = sheet.columns(attributes)?;
    let named = names.map(|name| sheet.column(name)).transpose()?;
    let path = sheet.path().to_owned();
    let tracing = Tracing::new(study);
    let mut suspects = Vec::new();
    let mut row = 0u64;
    sheet.each(read, |line, record| {
        row += 1;
        let bits = places
            .iter()
            .zip(attributes)
            .map(|(place, attribute)| bit(&path, line, attribute, record, *place))
            .collect::<Result<Vec<bool>, Mistake>>()?;
        let name = match named {
            Some(place) => String::from_utf8_lossy(record.get(place).unwrap_or_default()).into_owned(),
            None => row.to_string(),
        };
        suspects.push(tracing.suspect(name, &bits));
        Ok(())
    })?;
    suspects.sort_by(|one, other| other.above.total_cmp(&one.above));
    Ok(suspects)
}

/// The field as a number, or a mistake that names the place and not the value.
fn number(path: &Path, line: u64, column: &str, field: Option<&[u8]>) -> Result<f64, Mistake> {
    field
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .and_then(|text| text.trim().parse::<f64>().ok())
        .filter(|value| value.is_finite())
        .ok_or_else(|| {
            CsvFile::wrong(
                path,
                line,
                &format!("`{column}` is not a number"),
                "write it as 0.25",
            )
        })
}

fn bit(path: &Path, line: u64, attribute: &str, record: &ByteRecord, place: usize) -> Result<bool, Mistake> {
    match record.get(place).map(<[u8]>::trim_ascii) {
        Some(b"1") => Ok(true),
        Some(b"0") => Ok(false),
        _ => Err(CsvFile::wrong(
            path,
            line,
            &format!("`{attribute}` is neither 0 nor 1"),
            "attributes are 1 for who has them and 0 for who has not",
        )),
    }
}
