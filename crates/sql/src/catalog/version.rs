//! Which state of the data is meant: a word that the curator declares, and nothing that is looked up in the data.
//!
//! A saved answer is given again while the version is the same. Were that decided by sizes or dates of files, whether an answer is repeated would tell
//! whether the data changed, which is itself about the data. So the version is public: it is written in the catalog and raised by the curator, or it follows the calendar.

use super::document::Section;
use super::{Catalog, Table};
use crate::Error;
use crate::values::scalar::calendar::{civil, day_as_text, day_of, start_of};
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

    /// The day that the data are of, such as 2026-11-16, where the version says so: its word is a day or a month, of which it is the first day; or a new version begins by itself, and the day is the one
    /// on which it did. So it is the same for the same version.
    pub fn day(&self) -> Option<String> {
        self.day_on(now())
    }

    fn day_on(&self, day: i64) -> Option<String> {
        match self.every {
            None => first_day(&self.word),
            Some(every) => Some(day_as_text(start_of(every.name(), day))),
        }
    }

    /// The version on a day, in days since 1970-01-01.
    pub fn on_day(&self, day: i64) -> String {
        match self.every {
            None => self.word.clone(),
            Some(every) => format!("{} of {}", self.word, every.period(day)),
        }
    }
}

/// The first day that a text names: a day such as 2026-11-16, or a month such as 2026-11.
fn first_day(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('-').collect();
    let numbers = |widths: &[usize]| {
        let fits = |(part, width): (&&str, &usize)| {
            part.len() == *width && part.bytes().all(|digit| digit.is_ascii_digit())
        };
        parts.len() == widths.len() && parts.iter().zip(widths).all(fits)
    };
    let day = match numbers(&[4, 2]) {
        true => format!("{text}-01"),
        false => numbers(&[4, 2, 2]).then(|| text.to_owned())?,
    };
    // One that is in the calendar, and has a name in it.
    let number = |part: &str| part.parse::<i64>().ok();
    let (year, month, of_month) = (number(&day[..4])?, number(&day[5..7])?, number(&day[8..])?);
    let known = (1..=12).contains(&month) && year > 0;
    let there = known && civil(day_of(year, month, of_month)) == (year, month, of_month);
    there.then_some(day)
}

impl Every {
    fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
        }
    }

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

/// Today, in days since 1970-01-01.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs() / 86_400).unwrap_or(0)
}

impl Catalog {
    /// The version of a table's data today: that of all data, and its own where one is declared.
    pub fn version_of(&self, table: &Table) -> String {
        let all = self.data.on_day(now());
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
    fn a_version_may_be_a_day() {
        let of = |word: &str, every| {
            let word = word.to_owned();
            DataVersion { word, every }.day_on(20_777)
        };
        for (word, day) in [
            ("2026-11-16", Some("2026-11-16")),
            ("2026-11", Some("2026-11-01")),
            ("2024-02-29", Some("2024-02-29")),
            ("2025-02-29", None),
            ("2026-13", None),
            ("2026-11-1", None),
            ("0000-01-01", None),
            ("1", None),
            ("2026-é1", None),
        ] {
            assert_eq!(of(word, None).as_deref(), day, "{word}");
        }
        // 2026-11-20 is a Friday.
        for (every, day) in [
            (Every::Day, "2026-11-20"),
            (Every::Week, "2026-11-16"),
            (Every::Month, "2026-11-01"),
            (Every::Quarter, "2026-10-01"),
            (Every::Year, "2026-01-01"),
        ] {
            assert_eq!(of("1", Some(every)).as_deref(), Some(day));
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
