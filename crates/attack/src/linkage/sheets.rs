//! Tables to look at and to link, from CSV files.

use super::{Rating, Ratings, Reviewer, Table};
use crate::csv_file::{Bytes, CsvFile};
use files::document::Mistake;
use std::path::Path;

/// Names of columns as they were asked for, each once.
///
/// # Errors
/// When one is named twice.
pub fn each_once(columns: &[String]) -> Result<Vec<String>, Mistake> {
    let names: Vec<String> = columns.iter().map(|name| name.trim().to_owned()).collect();
    for (place, name) in names.iter().enumerate() {
        if names[..place].contains(name) {
            return Err(Mistake::new(
                format!("--columns names `{name}` twice"),
                "name each column once",
            ));
        }
    }
    Ok(names)
}

/// These columns of a file, coded; all if none is named.
///
/// # Errors
/// When one is not there, or there are no rows.
pub fn read_table(mut sheet: CsvFile, columns: &[String], read: &Bytes<'_>) -> Result<Table, Mistake> {
    let names = match columns {
        [] => sheet.names().to_vec(),
        columns => each_once(columns)?,
    };
    let places = sheet.columns(&names)?;
    let mut table = Table::new(names);
    sheet.each(read, |_, record| {
        let fields = places.iter().map(|place| record.get(*place).unwrap_or_default());
        Ok(table.push(fields)?)
    })?;
    if table.rows() == 0 {
        return Err(Mistake::new(
            format!("`{}` has no rows", sheet.path().display()),
            "its first line names the columns; people come after it",
        ));
    }
    Ok(table)
}

/// What two tables are linked on.
#[derive(Clone, Copy, Debug)]
pub struct LinkColumns<'asked> {
    /// The columns; if there are none, those that both have, but for the next two.
    pub columns: &'asked [String],
    /// The column of the second table that says who it is, if it is to be read.
    pub names: Option<&'asked str>,
    /// The column of both that tells who is who: links are judged by it, and not made by it.
    pub truth: Option<&'asked str>,
}

/// Two tables as one, the rows without names first.
///
/// ```
/// use attack::linkage::{LinkColumns, TwoTables, link};
/// use attack::csv_file::CsvFile;
///
/// let sheet = |text: &'static str| CsvFile::new("a.csv".as_ref(), text.len() as u64, Box::new(text.as_bytes()));
/// let sheets = [sheet("zip,illness\n1,flu\n2,cold\n")?, sheet("zip,name\n1,Ann\n3,Ben\n")?];
/// let columns = LinkColumns { columns: &[], names: Some("name"), truth: None };
/// let tables = TwoTables::read(sheets, columns, &|_| ())?;
/// let links = link(&tables.both, tables.rows[0]);
/// assert_eq!(links.pairs, [(0, 0)]);
/// assert_eq!(tables.names[0], b"Ann");
/// # Ok::<(), files::document::Mistake>(())
/// ```
#[derive(Clone, Debug)]
pub struct TwoTables {
    /// The columns that are linked on.
    pub columns: Vec<String>,
    /// Their values.
    pub both: Table,
    /// How many rows each has.
    pub rows: [usize; 2],
    /// Who each row is, where the truth is known.
    pub people: Option<Vec<u32>>,
    /// The names of the second table, if they were asked for.
    pub names: Vec<Vec<u8>>,
}

impl TwoTables {
    /// Reads both files.
    ///
    /// # Errors
    /// When a column is not there, or there is none to link on.
    pub fn read(sheets: [CsvFile; 2], asked: LinkColumns<'_>, read: &Bytes<'_>) -> Result<Self, Mistake> {
        let columns = shared(&asked, &sheets)?;
        let named = asked.names.map(|name| sheets[1].column(name)).transpose()?;
        let mut both = Table::new(columns.iter().cloned());
        let mut people = Table::new(asked.truth.map(str::to_owned));
        let mut names = Vec::new();
        let mut rows = [0; 2];
        for (side, mut sheet) in sheets.into_iter().enumerate() {
            let places = sheet.columns(&columns)?;
            let truth = asked.truth.map(|name| sheet.column(name)).transpose()?;
            sheet.each(read, |_, record| {
                rows[side] += 1;
                let field = |place: &usize| record.get(*place).unwrap_or_default();
                both.push(places.iter().map(field))?;
                people.push(truth.iter().map(field))?;
                if let (1, Some(place)) = (side, named) {
                    names.push(field(&place).to_vec());
                }
                Ok(())
            })?;
        }
        let people = asked.truth.map(|_| people.codes(0).to_vec());
        Ok(Self {
            columns,
            both,
            rows,
            people,
            names,
        })
    }
}

/// The columns to link on.
fn shared(asked: &LinkColumns<'_>, sheets: &[CsvFile; 2]) -> Result<Vec<String>, Mistake> {
    if !asked.columns.is_empty() {
        let columns = each_once(asked.columns)?;
        for sheet in sheets {
            sheet.columns(&columns)?;
        }
        if columns.iter().any(|name| asked.truth == Some(name.as_str())) {
            return Err(Mistake::new(
                "--truth is one of --columns, so links would be made by what they are judged by",
                "leave it out of --columns",
            ));
        }
        return Ok(columns);
    }
    let not_for_linking = |name: &str| asked.truth == Some(name) || asked.names == Some(name);
    let columns: Vec<String> = sheets[0]
        .names()
        .iter()
        .filter(|name| sheets[1].names().contains(name) && !not_for_linking(name))
        .cloned()
        .collect();
    if columns.is_empty() {
        return Err(Mistake::new(
            "the two files have no column of the same name",
            "name the columns alike in both files",
        ));
    }
    Ok(columns)
}

/// One file of ratings.
#[derive(Clone, Debug, Default)]
pub struct RatingFile {
    /// The ratings of each owner.
    pub owners: Vec<Vec<Rating>>,
    /// What the file calls each owner.
    pub names: Vec<Vec<u8>>,
    /// Who each owner is, where the truth is known.
    pub people: Vec<u32>,
}

/// Ratings without names, and public reviews.
#[derive(Clone, Debug)]
pub struct RatingFiles {
    /// The records without names.
    pub records: RatingFile,
    /// The public reviews.
    pub public: RatingFile,
}

impl RatingFiles {
    /// Reads both files: the columns of who, what, rating and perhaps day (2005-12-31, or a number) in both,
    /// and the truth in both, if it is known.
    ///
    /// # Errors
    /// When a column is not there, or a rating or a day is none.
    pub fn read(
        [records, public]: [CsvFile; 2],
        columns: &[String],
        truth: Option<&str>,
        read: &Bytes<'_>,
    ) -> Result<Self, Mistake> {
        let columns: Vec<&str> = columns.iter().map(|name| name.trim()).collect();
        if !(3..=4).contains(&columns.len()) {
            return Err(Mistake::new(
                "--ratings takes three or four columns",
                "who, what, rating and perhaps day: --ratings user,film,stars,day",
            ));
        }
        let mut codes = Codes {
            items: Table::new([columns[1].to_owned()]),
            people: Table::new(truth.map(str::to_owned)),
        };
        Ok(Self {
            records: codes.read(records, &columns, truth, read)?,
            public: codes.read(public, &columns, truth, read)?,
        })
    }

    /// The records by what they rated.
    pub fn ratings(&self) -> Ratings {
        let mut ratings = Ratings::default();
        for (number, record) in (0u32..).zip(&self.records.owners) {
            record.iter().for_each(|rating| ratings.add(number, *rating));
        }
        ratings
    }

    /// People who reviewed something in public.
    pub fn reviewers(&self) -> Vec<Reviewer> {
        let mut known = self.records.people.clone();
        known.sort_unstable();
        let reviews = self.public.owners.iter().enumerate();
        reviews
            .map(|(place, reviews)| Reviewer {
                reviews: reviews.clone(),
                findable: (self.public.people.get(place)).map(|person| known.binary_search(person).is_ok()),
            })
            .collect()
    }
}

/// What both files call alike has one code.
struct Codes {
    items: Table,
    people: Table,
}

impl Codes {
    fn read(
        &mut self,
        mut sheet: CsvFile,
        columns: &[&str],
        truth: Option<&str>,
        read: &Bytes<'_>,
    ) -> Result<RatingFile, Mistake> {
        let places = columns.iter().map(|name| sheet.column(name));
        let places = places.collect::<Result<Vec<usize>, Mistake>>()?;
        let truth = truth.map(|name| sheet.column(name)).transpose()?;
        let path = sheet.path().to_owned();
        let mut file = RatingFile::default();
        let mut owners = Table::new([String::new()]);
        sheet.each(read, |line, record| {
            let field = |place: usize| record.get(place).unwrap_or_default();
            let who = field(places[0]);
            owners.push([who])?;
            self.items.push([field(places[1])])?;
            self.people.push(truth.map(field))?;
            let last = |table: &Table| table.codes(0)[table.rows() - 1];
            let owner = last(&owners) as usize;
            if owner == file.owners.len() {
                file.owners.push(Vec::new());
                file.names.push(who.to_vec());
                file.people.extend(truth.map(|_| last(&self.people)));
            }
            file.owners[owner].push(Rating {
                item: last(&self.items),
                value: number(&path, line, columns[2], field(places[2]))?,
                day: match (columns.get(3), places.get(3)) {
                    (Some(name), Some(place)) => moment(&path, line, name, field(*place))?,
                    _ => f32::NAN,
                },
            });
            Ok(())
        })?;
        Ok(file)
    }
}

fn number(path: &Path, line: u64, column: &str, field: &[u8]) -> Result<f32, Mistake> {
    std::str::from_utf8(field)
        .ok()
        .and_then(|text| text.trim().parse::<f32>().ok())
        .filter(|value| value.is_finite())
        .ok_or_else(|| {
            CsvFile::wrong(
                path,
                line,
                &format!("`{column}` is not a number"),
                "a rating is a number, such as 4 or 3.5",
            )
        })
}

/// A day: a date, or a number of days. Empty is not known.
fn moment(path: &Path, line: u64, column: &str, field: &[u8]) -> Result<f32, Mistake> {
    let text = std::str::from_utf8(field).map(str::trim).unwrap_or("?");
    if text.is_empty() {
        return Ok(f32::NAN);
    }
    if let Some(day) = days(text) {
        return Ok(day);
    }
    match text.parse::<f32>() {
        Ok(day) if day.is_finite() => Ok(day),
        _ => Err(CsvFile::wrong(
            path,
            line,
            &format!("`{column}` is not a day"),
            "write 2005-12-31, or a number of days, or nothing",
        )),
    }
}

/// Days of a date from 1970 on, in the Gregorian calendar (Hinnant's algorithm).
fn days(text: &str) -> Option<f32> {
    let date = text.get(..10)?;
    let mut parts = date.splitn(3, '-');
    let mut part = |most: i64| {
        let digits = parts.next()?;
        let digits = digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(digits)?;
        digits.parse::<i64>().ok().filter(|value| *value <= most)
    };
    let (year, month, day) = (part(9999)?, part(12)?, part(31)?);
    if month == 0 || day == 0 {
        return None;
    }
    // Years begin in March, so that the leap day is their last.
    let year = if month <= 2 { year - 1 } else { year };
    let (century, of_century) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let of_era = of_century * 365 + of_century / 4 - of_century / 100 + of_year;
    Some((century * 146_097 + of_era - 719_468) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        for (text, expected) in [
            ("1970-01-01", Some(0.0)),
            ("1970-03-01", Some(59.0)),
            ("2000-02-29", Some(11_016.0)),
            ("2005-12-31", Some(13_148.0)),
            ("2005-12-31T10:00", Some(13_148.0)),
            ("1969-12-31", Some(-1.0)),
            ("2005-13-01", None),
            ("2005-1-1", None),
            ("yesterday!", None),
        ] {
            assert_eq!(days(text), expected, "{text}");
        }
    }
}
