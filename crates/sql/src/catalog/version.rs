//! Which state of the data is meant: a word that the curator declares, and nothing that is looked up in the data.
//!
//! A saved answer is given again while the version is the same. Were that decided by sizes or dates of files, whether an answer is repeated would tell
//! whether the data changed, which is itself about the data. So the version is public: it is written in the catalog and raised by the curator, or it follows the calendar.

use super::document::Section;
use super::{Catalog, Table};
use crate::Error;
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of all data of a catalog: `[data]` with `version = "2026-11"`, or `version_every = "month"`, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataVersion {
    /// What the curator calls it; `1` where nothing is said.
    pub word: String,
    /// A new version begins by itself this often.
    pub every: Option<Every>,
}

/// How often the data is taken to be new. Periods begin at midnight, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// Each day.
    Day,
    /// Each Monday.
    Week,
    /// The first of each month.
    Month,
    /// January, April, July and October.
    Quarter,
    /// Each January.
    Year,
}

impl DataVersion {
    /// Where nothing is declared.
    pub(super) fn first() -> Self {
        Self {
            word: "1".to_owned(),
            every: None,
        }
    }

    pub(super) fn read(mut section: Section<'_>) -> Result<Self, Error> {
        let mut data = Self::first();
        if let Some(node) = section.take("version") {
            data.word = node.name()?.to_owned();
        }
        if let Some(node) = section.take("version_every") {
            data.every = Some(match node.text()? {
                "day" => Every::Day,
                "week" => Every::Week,
                "month" => Every::Month,
                "quarter" => Every::Quarter,
                "year" => Every::Year,
                _ => {
                    return Err(node.wrong(
                        "there is no such period",
                        "expected \"day\", \"week\", \"month\", \"quarter\" or \"year\"",
                    ));
                }
            });
        }
        section.finish()?;
        Ok(data)
    }

    /// The version on a day, in days since 1970-01-01.
    pub fn on_day(&self, day: i64) -> String {
        match self.every {
            None => self.word.clone(),
            Some(every) => format!("{} of {}", self.word, every.period(day)),
        }
    }
}

impl Every {
    /// The period that this day is in.
    fn period(self, day: i64) -> String {
        let (year, month, of_month) = civil(day);
        match self {
            Self::Day => format!("{year:04}-{month:02}-{of_month:02}"),
            // The first of January 1970 was a Thursday.
            Self::Week => {
                let (year, month, of_month) = civil(day - (day + 3).rem_euclid(7));
                format!("the week of {year:04}-{month:02}-{of_month:02}")
            }
            Self::Month => format!("{year:04}-{month:02}"),
            Self::Quarter => format!("{year:04}-Q{}", (month - 1) / 3 + 1),
            Self::Year => format!("{year:04}"),
        }
    }
}

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar: eras of 400 years, and years that begin in March, so that the day
/// that comes and goes is the last of a year.
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, of_month)
}

impl Catalog {
    /// The version of a table's data today: that of all data, and its own where one is declared.
    pub fn version_of(&self, table: &Table) -> String {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let day = i64::try_from(since.as_secs() / 86_400).unwrap_or(0);
        let all = self.data.on_day(day);
        match &table.version {
            None => all,
            Some(own) => format!("{all}, {own}"),
        }
    }
}

/// The text of a catalog with another version of its data, everything else as it is; `None` where the text does not say where to put it, and a person must.
pub fn with_version(text: &str, word: &str) -> Option<String> {
    let quoted = format!("version = {}", toml::Value::String(word.to_owned()));
    let mut lines: Vec<&str> = text.lines().collect();
    let header = |line: &&str| {
        let line = line.split('#').next().unwrap_or_default().trim();
        line == "[data]"
    };
    let written = match lines.iter().position(header) {
        None => {
            let gap = if text.ends_with('\n') { "" } else { "\n" };
            format!("{text}{gap}\n[data]\n{quoted}\n")
        }
        Some(place) => {
            let section = lines[place + 1..].iter();
            let end = section
                .take_while(|line| !line.trim_start().starts_with('['))
                .count()
                + place
                + 1;
            let is_version = |line: &&str| {
                let name = line.split('=').next().unwrap_or_default();
                name.trim() == "version"
            };
            match lines[place + 1..end].iter().position(is_version) {
                Some(at) => lines[place + 1 + at] = &quoted,
                None => lines.insert(place + 1, &quoted),
            }
            lines.join("\n") + "\n"
        }
    };
    // Whatever the lines looked like: it must say what was meant, and nothing else may have changed.
    let mut before: toml::Table = text.parse().ok()?;
    let mut after: toml::Table = written.parse().ok()?;
    let data = after.get("data")?.as_table()?;
    (data.get("version")?.as_str()? == word).then_some(())?;
    for side in [&mut before, &mut after] {
        if let Some(data) = side.get_mut("data").and_then(toml::Value::as_table_mut) {
            data.remove("version");
            if data.is_empty() {
                side.remove("data");
            }
        }
    }
    (before == after).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        for (day, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (20_773, (2026, 11, 16)),
            (19_782, (2024, 2, 29)),
            (19_783, (2024, 3, 1)),
        ] {
            assert_eq!(civil(day), date, "{day}");
        }
    }

    #[test]
    fn versions_follow_the_calendar() {
        let on = |every, day| {
            let word = "1".to_owned();
            DataVersion { word, every }.on_day(day)
        };
        // 2026-11-16 is a Monday.
        assert_eq!(on(None, 20_773), "1");
        assert_eq!(on(Some(Every::Day), 20_773), "1 of 2026-11-16");
        assert_eq!(on(Some(Every::Week), 20_779), "1 of the week of 2026-11-16");
        assert_eq!(on(Some(Every::Week), 20_780), "1 of the week of 2026-11-23");
        assert_eq!(on(Some(Every::Month), 20_773), "1 of 2026-11");
        assert_eq!(on(Some(Every::Quarter), 20_773), "1 of 2026-Q4");
        assert_eq!(on(Some(Every::Year), 20_773), "1 of 2026");
    }

    #[test]
    fn a_version_is_raised_in_the_text() {
        let plain = "name = \"x\" # a name\n[unit]\nwhose = \"person\"";
        let added = with_version(plain, "2026-11").unwrap();
        assert_eq!(added, format!("{plain}\n\n[data]\nversion = \"2026-11\"\n"));
        let raised = with_version(&added, "it's \"new\"").unwrap();
        let table: toml::Table = raised.parse().unwrap();
        assert_eq!(table["data"]["version"].as_str(), Some("it's \"new\""));
        assert!(raised.starts_with(plain));
        let scheduled = "[data] # when\nversion_every = \"month\"\n[unit]\nversion = 7\n";
        assert_eq!(
            with_version(scheduled, "2").unwrap(),
            "[data] # when\nversion = \"2\"\nversion_every = \"month\"\n[unit]\nversion = 7\n"
        );
        assert_eq!(with_version("data = { version = \"1\" }\n", "2"), None);
    }
}
