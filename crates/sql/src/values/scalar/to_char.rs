//! `to_char(moment, pattern)` as PostgreSQL has it, for days and moments.

use super::calendar::{DAY, HOUR, civil, day_of_year, iso_week, weekday};
use super::{constant_text, moments};
use crate::Error;
use bound::MOST_TEXT;
use datafusion::arrow::array::StringViewBuilder;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use std::fmt::Write;
use std::sync::Arc;

/// How long a pattern may be: no piece writes more than nine characters, so results stay short.
const PATTERN: usize = 100;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// A part of a moment that a pattern writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Year,
    IsoYear,
    Quarter,
    Month,
    MonthName { short: bool },
    Week,
    IsoWeek,
    WeekOfMonth,
    Day,
    DayOfYear,
    Weekday,
    IsoWeekday,
    WeekdayName { short: bool },
    Hour,
    HalfDayHour,
    HalfDay,
    Minute,
    Second,
    Millisecond,
    Microsecond,
}

/// How names are written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Letters {
    Small,
    Title,
    Capital,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    /// `padded`: numbers with zeros, whole names with blanks.
    Field {
        field: Field,
        letters: Letters,
        padded: bool,
    },
}

/// What a pattern may be made of; a longer word is tried before a shorter one with which it begins.
pub(crate) const WORDS: [(&str, &str); 21] = [
    ("YYYY", "year, four digits"),
    ("IYYY", "year of the ISO week"),
    ("Q", "quarter, 1 to 4"),
    ("MM", "month, 01 to 12"),
    (
        "Month",
        "name of the month, nine characters wide; MONTH and month too",
    ),
    ("Mon", "its first three letters; MON and mon too"),
    (
        "WW",
        "week of the year, 01 to 53, the first one from January 1 on",
    ),
    ("IW", "week of ISO 8601, 01 to 53"),
    ("W", "week of the month, 1 to 5"),
    ("DDD", "day of the year, 001 to 366"),
    ("DD", "day of the month, 01 to 31"),
    ("D", "day of the week, Sunday is 1"),
    ("ID", "day of the week, Monday is 1"),
    ("Day", "name of the day, nine characters wide; DAY and day too"),
    ("Dy", "its first three letters; DY and dy too"),
    ("HH24", "hour, 00 to 23"),
    ("HH12", "hour, 01 to 12; also written HH"),
    ("AM", "AM or PM; also written PM, am, pm"),
    ("MI", "minute, 00 to 59"),
    ("SS", "second, 00 to 59"),
    ("MS", "milliseconds, three digits; US are microseconds, six"),
];

/// A pattern that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pattern {
    pieces: Vec<Piece>,
}

impl Pattern {
    /// Reads a pattern; letters that mean nothing are refused, so that nobody takes them for something.
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        let wrong = |what: &str| {
            let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
            Error::refused(
                format!("the pattern of to_char {what}"),
                format!(
                    "it is made of {}; FM before one of them leaves out zeros and blanks; other letters go in double quotes, as in 'YYYY-\"Q\"Q'",
                    words.join(", ")
                ),
            )
        };
        if text.len() > PATTERN {
            return Err(wrong(&format!("has more than {PATTERN} bytes")));
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = text;
        let mut filled = false;
        while let Some(first) = rest.chars().next() {
            if let Some(tail) = rest.strip_prefix("FM") {
                (rest, filled) = (tail, true);
                continue;
            }
            if let Some((length, field, letters)) = field(rest) {
                pieces.push(Piece::Field {
                    field,
                    letters,
                    padded: !filled,
                });
                (rest, filled) = (&rest[length..], false);
                continue;
            }
            let (written, tail) = if let Some(quoted) = rest.strip_prefix('"') {
                quoted
                    .split_once('"')
                    .ok_or_else(|| wrong("opens a quote and does not close it"))?
            } else if first.is_alphanumeric() {
                return Err(wrong("has letters or digits that mean nothing"));
            } else {
                rest.split_at(first.len_utf8())
            };
            match pieces.last_mut() {
                Some(Piece::Text(text)) => text.push_str(written),
                _ => pieces.push(Piece::Text(written.to_owned())),
            }
            rest = tail;
        }
        Ok(Self { pieces })
    }

    /// Moments of the same multiple of this many microseconds are written the same.
    pub(crate) fn granule(&self) -> i64 {
        let of = |piece: &Piece| match piece {
            Piece::Text(_) => DAY,
            Piece::Field { field, .. } => match field {
                Field::Hour | Field::HalfDayHour | Field::HalfDay => HOUR,
                Field::Minute => HOUR / 60,
                Field::Second => 1_000_000,
                Field::Millisecond => 1_000,
                Field::Microsecond => 1,
                _ => DAY,
            },
        };
        self.pieces.iter().map(of).min().unwrap_or(DAY)
    }

    /// Writes a moment.
    fn write(&self, moment: i64, into: &mut String) {
        let (days, time) = (moment.div_euclid(DAY), moment.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        let hour = time / HOUR;
        for piece in &self.pieces {
            let (field, letters, padded) = match piece {
                Piece::Text(text) => {
                    into.push_str(text);
                    continue;
                }
                Piece::Field {
                    field,
                    letters,
                    padded,
                } => (*field, *letters, *padded),
            };
            let (number, width) = match field {
                Field::Year => (year, 4),
                Field::IsoYear => (iso_week(days).0, 4),
                Field::Quarter => ((month - 1) / 3 + 1, 1),
                Field::Month => (month, 2),
                Field::Week => ((day_of_year(days) - 1) / 7 + 1, 2),
                Field::IsoWeek => (iso_week(days).1, 2),
                Field::WeekOfMonth => ((day - 1) / 7 + 1, 1),
                Field::Day => (day, 2),
                Field::DayOfYear => (day_of_year(days), 3),
                Field::Weekday => (weekday(days) % 7 + 1, 1),
                Field::IsoWeekday => (weekday(days), 1),
                Field::Hour => (hour, 2),
                Field::HalfDayHour => ((hour + 11) % 12 + 1, 2),
                Field::Minute => (time / (HOUR / 60) % 60, 2),
                Field::Second => (time / 1_000_000 % 60, 2),
                Field::Millisecond => (time / 1_000 % 1_000, 3),
                Field::Microsecond => (time % 1_000_000, 6),
                Field::MonthName { short } => {
                    named(MONTHS[(month - 1) as usize], short, letters, padded, into);
                    continue;
                }
                Field::WeekdayName { short } => {
                    named(
                        WEEKDAYS[(weekday(days) - 1) as usize],
                        short,
                        letters,
                        padded,
                        into,
                    );
                    continue;
                }
                Field::HalfDay => {
                    named(if hour < 12 { "Am" } else { "Pm" }, true, letters, false, into);
                    continue;
                }
            };
            let width = if padded { width } else { 0 };
            // Writing to a text cannot fail.
            let _ = write!(into, "{number:0width$}");
        }
    }
}

/// A name, nine characters wide where it is whole and padded.
fn named(name: &str, short: bool, letters: Letters, padded: bool, into: &mut String) {
    let name = if short { &name[..name.len().min(3)] } else { name };
    let name = match letters {
        Letters::Small => name.to_lowercase(),
        Letters::Title => name.to_owned(),
        Letters::Capital => name.to_uppercase(),
    };
    let width = if padded && !short { 9 } else { 0 };
    let _ = write!(into, "{name:width$}");
}

/// The field with which a pattern begins: how long its word is, and how names are to be written.
fn field(text: &str) -> Option<(usize, Field, Letters)> {
    use Letters::{Capital, Small, Title};
    const NUMBERS: [(&str, Field); 17] = [
        ("YYYY", Field::Year),
        ("IYYY", Field::IsoYear),
        ("HH24", Field::Hour),
        ("HH12", Field::HalfDayHour),
        ("HH", Field::HalfDayHour),
        ("DDD", Field::DayOfYear),
        ("DD", Field::Day),
        ("ID", Field::IsoWeekday),
        ("IW", Field::IsoWeek),
        ("MM", Field::Month),
        ("MI", Field::Minute),
        ("MS", Field::Millisecond),
        ("SS", Field::Second),
        ("US", Field::Microsecond),
        ("WW", Field::Week),
        ("W", Field::WeekOfMonth),
        ("Q", Field::Quarter),
    ];
    const NAMES: [(&str, &str, &str, Field); 6] = [
        ("month", "Month", "MONTH", Field::MonthName { short: false }),
        ("mon", "Mon", "MON", Field::MonthName { short: true }),
        ("day", "Day", "DAY", Field::WeekdayName { short: false }),
        ("dy", "Dy", "DY", Field::WeekdayName { short: true }),
        ("am", "Am", "AM", Field::HalfDay),
        ("pm", "Pm", "PM", Field::HalfDay),
    ];
    for (small, title, capital, field) in NAMES {
        for (word, letters) in [(small, Small), (title, Title), (capital, Capital)] {
            if text.starts_with(word) {
                return Some((word.len(), field, letters));
            }
        }
    }
    for (word, field) in NUMBERS {
        // Numbers are also asked for in small letters.
        if text.starts_with(word) || text.starts_with(&word.to_lowercase()) {
            return Some((word.len(), field, Capital));
        }
    }
    let day = text.starts_with('D') || text.starts_with('d');
    day.then_some((1, Field::Weekday, Capital))
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ToChar {
    signature: Signature,
}

impl ToChar {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for ToChar {
    fn name(&self) -> &str {
        super::TO_CHAR
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [moment, pattern] = arguments.args.as_slice() else {
            return exec_err!("to_char takes a date or a timestamp and a pattern");
        };
        let Some(pattern) = constant_text(pattern) else {
            return exec_err!("the pattern of to_char is a constant text");
        };
        let pattern = Pattern::read(&pattern)?;
        let moments = moments(&moment.to_array(arguments.number_rows)?)?;
        let mut builder = StringViewBuilder::with_capacity(moments.len());
        let mut text = String::new();
        for moment in moments {
            match moment {
                None => builder.append_null(),
                Some(moment) => {
                    text.clear();
                    pattern.write(moment, &mut text);
                    debug_assert!(text.len() <= MOST_TEXT, "a pattern is short");
                    builder.append_value(bound::canonical_text(&text));
                }
            }
        }
        Ok(ColumnarValue::Array(Arc::new(builder.finish())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::calendar::day_of;
    use super::*;

    fn written(pattern: &str, moment: i64) -> String {
        let mut text = String::new();
        Pattern::read(pattern).unwrap().write(moment, &mut text);
        text
    }

    /// What PostgreSQL answers, by its documentation.
    #[test]
    fn patterns_write_what_postgresql_writes() {
        let moment = day_of(2024, 2, 5) * DAY + 15 * HOUR + 7 * 60_000_000 + 9_000_000 + 45_006;
        for (pattern, expected) in [
            ("YYYY-MM", "2024-02"),
            ("YYYY-MM-DD HH24:MI:SS", "2024-02-05 15:07:09"),
            ("yyyy/mm/dd hh24", "2024/02/05 15"),
            ("HH12:MI AM", "03:07 PM"),
            ("HH:MI pm", "03:07 pm"),
            ("Mon YYYY", "Feb 2024"),
            ("MONTH|month|Month|", "FEBRUARY |february |February |"),
            ("FMMonth FMDD", "February 5"),
            ("Day|Dy|DY|dy", "Monday   |Mon|MON|mon"),
            ("IYYY-\"W\"IW-ID", "2024-W06-1"),
            ("YYYY\"-Q\"Q", "2024-Q1"),
            ("WW W D DDD", "06 1 2 036"),
            ("SS.MS US", "09.045 045006"),
            ("", ""),
        ] {
            assert_eq!(written(pattern, moment), expected, "{pattern}");
        }
        assert_eq!(
            written("HH12 AM D", day_of(2024, 2, 4) * DAY),
            "12 AM 1",
            "midnight of a Sunday"
        );
        assert_eq!(
            written("YYYY-MM-DD HH24:MI:SS.US", day_of(1, 1, 1) * DAY),
            "0001-01-01 00:00:00.000000"
        );
        assert_eq!(written("YYYY-MM-DD US", -1), "1969-12-31 999999");
    }

    #[test]
    fn letters_that_mean_nothing_are_refused() {
        for pattern in ["YYYY-MM-TZ", "%Y-%m", "JJJJ", "\"open", "YYYY7"] {
            let refused = Pattern::read(pattern).unwrap_err().to_string();
            assert!(refused.contains("hint: "), "{pattern}: {refused}");
        }
        assert!(Pattern::read(&"-".repeat(PATTERN + 1)).is_err());
    }

    #[test]
    fn every_word_of_the_list_is_read_whole() {
        for (word, _) in WORDS {
            let pattern = Pattern::read(word).unwrap();
            assert_eq!(pattern.pieces.len(), 1, "{word}");
        }
    }

    #[test]
    fn a_granule_changes_nothing_inside() {
        for pattern in ["YYYY-MM", "Day IW", "HH24", "HH12 PM", "YYYY HH24:MI", "SS", "MS"] {
            let read = Pattern::read(pattern).unwrap();
            let granule = read.granule();
            for start in [0, -granule, 12_345 * granule, -98_765 * granule] {
                let last = written(pattern, start + granule - 1);
                assert_eq!(written(pattern, start), last, "{pattern}");
            }
        }
    }
}
