//! Ticks of the calendar: at the beginnings of minutes, hours, days, months and years.

use super::Tick;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The first Monday of 1970, so that weeks begin on Mondays.
const MONDAY: i64 = 4 * DAY;

/// A distance between ticks.
#[derive(Clone, Copy)]
enum Step {
    Seconds(i64),
    Months(i64),
}

const STEPS: [Step; 25] = [
    Step::Seconds(1),
    Step::Seconds(5),
    Step::Seconds(15),
    Step::Seconds(30),
    Step::Seconds(MINUTE),
    Step::Seconds(5 * MINUTE),
    Step::Seconds(15 * MINUTE),
    Step::Seconds(30 * MINUTE),
    Step::Seconds(HOUR),
    Step::Seconds(3 * HOUR),
    Step::Seconds(6 * HOUR),
    Step::Seconds(12 * HOUR),
    Step::Seconds(DAY),
    Step::Seconds(2 * DAY),
    Step::Seconds(7 * DAY),
    Step::Seconds(14 * DAY),
    Step::Months(1),
    Step::Months(3),
    Step::Months(6),
    Step::Months(12),
    Step::Months(24),
    Step::Months(60),
    Step::Months(120),
    Step::Months(600),
    Step::Months(1200),
];

/// No more than about `most` ticks between two moments, in seconds since 1970.
pub(super) fn ticks(most: i32, low: f64, high: f64) -> Vec<Tick> {
    let least = (high - low) / f64::from(most);
    let step = STEPS.into_iter().find(|step| step.seconds() >= least);
    // Beyond what calendars are good for.
    let far = !(-1e11..=1e12).contains(&low) || !(-1e11..=1e12).contains(&high);
    match step {
        Some(step) if !far => step.ticks(low, high),
        _ => Vec::new(),
    }
}

impl Step {
    /// Its length, that of a mean month where it is months.
    fn seconds(self) -> f64 {
        match self {
            Self::Seconds(seconds) => seconds as f64,
            Self::Months(months) => months as f64 * 365.2425 / 12.0 * DAY as f64,
        }
    }

    fn ticks(self, low: f64, high: f64) -> Vec<Tick> {
        let (low, high) = (low.ceil() as i64, high.floor() as i64);
        let places: Vec<i64> = match self {
            Self::Seconds(step) => {
                let shift = if step % (7 * DAY) == 0 { MONDAY } else { 0 };
                let first = (low - shift + step - 1).div_euclid(step);
                let last = (high - shift).div_euclid(step);
                (first..=last).map(|count| count * step + shift).collect()
            }
            Self::Months(step) => {
                let (first, last) = (
                    month_of(low).div_euclid(step),
                    month_of(high).div_euclid(step) + 1,
                );
                let places = (first..=last).map(|count| beginning_of(count * step));
                places.filter(|at| (low..=high).contains(at)).collect()
            }
        };
        let written = |at: i64| Tick {
            at: at as f64,
            label: self.label(at),
        };
        places.into_iter().map(written).collect()
    }

    fn label(self, at: i64) -> String {
        let (year, month, day) = date_of(at.div_euclid(DAY));
        let clock = at.rem_euclid(DAY);
        let (hour, minute, second) = (clock / HOUR, clock / MINUTE % 60, clock % 60);
        match self {
            Self::Months(step) if step % 12 == 0 => format!("{year}"),
            Self::Months(_) => format!("{year}-{month:02}"),
            Self::Seconds(step) if step >= DAY => format!("{year}-{month:02}-{day:02}"),
            Self::Seconds(step) if step >= HOUR => format!("{month:02}-{day:02} {hour:02}:{minute:02}"),
            Self::Seconds(step) if step >= MINUTE => format!("{hour:02}:{minute:02}"),
            Self::Seconds(_) => format!("{hour:02}:{minute:02}:{second:02}"),
        }
    }
}

/// Months since the beginning of 1970.
fn month_of(at: i64) -> i64 {
    let (year, month, _) = date_of(at.div_euclid(DAY));
    (year - 1970) * 12 + month - 1
}

/// The first second of a month, counted from the beginning of 1970.
fn beginning_of(month: i64) -> i64 {
    days_before(1970 + month.div_euclid(12), month.rem_euclid(12) + 1) * DAY
}

/// Days from 1970-01-01 to the first of a month, in the Gregorian calendar. Years are taken to begin in
/// March, so that a leap day ends one.
fn days_before(year: i64, month: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let months = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 153 days in the five months from March to July, and again from August to December; 719,468 days from
    // 0000-03-01 to 1970-01-01.
    365 * year + leap_days + (153 * months + 2) / 5 - 719_468
}

/// Year, month and day of a day since 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    // A guess that is at most one year too early, and never too late.
    let mut year = 1970 + (days as f64 / 365.2425).floor() as i64 - 1;
    while days_before(year + 1, 1) <= days {
        year += 1;
    }
    let month = (1..=12).rev().find(|month| days_before(year, *month) <= days);
    let month = month.unwrap_or(1);
    (year, month, days - days_before(year, month) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_other() {
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(-1), (1969, 12, 31));
        assert_eq!(date_of(19_782), (2024, 2, 29));
        assert_eq!(date_of(11_016), (2000, 2, 29));
        let mut before = (0, 0, 0);
        for days in -800_000..800_000 {
            let (year, month, day) = date_of(days);
            assert!((year, month, day) > before || days == -800_000, "{days}");
            assert_eq!(days_before(year, month) + day - 1, days);
            before = (year, month, day);
        }
    }

    fn labels(most: i32, low: i64, high: i64) -> Vec<String> {
        let ticks = ticks(most, low as f64, high as f64);
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_beginnings_of_the_calendar() {
        let day = |year, month| days_before(year, month) * DAY;
        assert_eq!(
            labels(6, day(2024, 1), day(2024, 12)),
            ["2024-01", "2024-04", "2024-07", "2024-10"]
        );
        assert_eq!(
            labels(8, day(2015, 6), day(2024, 1)),
            ["2016", "2018", "2020", "2022", "2024"]
        );
        // Mondays.
        assert_eq!(
            labels(5, day(2024, 1), day(2024, 2)),
            [
                "2024-01-01",
                "2024-01-08",
                "2024-01-15",
                "2024-01-22",
                "2024-01-29"
            ]
        );
        assert_eq!(
            labels(3, 0, 12 * HOUR),
            ["01-01 00:00", "01-01 06:00", "01-01 12:00"]
        );
        assert_eq!(labels(2, 0, 20), ["00:00:00", "00:00:15"]);
        assert!(ticks(8, -1e15, 1e15).is_empty());
    }
}
