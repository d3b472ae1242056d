//! The Gregorian calendar in whole numbers, continued to both sides: days since 1970-01-01, and microseconds since its first moment.

/// Microseconds of an hour.
pub(crate) const HOUR: i64 = 3_600_000_000;
/// Microseconds of a day.
pub(crate) const DAY: i64 = 24 * HOUR;

/// The first day of the year 1 and the last of the year 9999: days beyond have no name here.
pub(crate) const FIRST_DAY: i64 = -719_162;
pub(crate) const LAST_DAY: i64 = 2_932_896;

/// A day's year, month and day of the month.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    // Counted from 0000-03-01, so that the leap day is the last of its year; 400 years have 146,097 days.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// The day of a year, month and day of the month.
pub(crate) fn day_of(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last of its year: months then begin on days (153 m + 2) / 5.
    let year = year - i64::from(month <= 2);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

/// A day as SQL writes it.
pub(crate) fn day_as_text(days: i64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A moment as SQL writes it.
pub(crate) fn moment_as_text(microseconds: i64) -> String {
    let of_day = microseconds.rem_euclid(DAY);
    let (seconds, rest) = (of_day / 1_000_000, of_day % 1_000_000);
    let part = match rest {
        0 => String::new(),
        rest => format!(".{rest:06}").trim_end_matches('0').to_owned(),
    };
    format!(
        "{} {:02}:{:02}:{:02}{part}",
        day_as_text(microseconds.div_euclid(DAY)),
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Monday is 1 and Sunday is 7.
pub(crate) fn weekday(days: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    (days + 3).rem_euclid(7) + 1
}

/// From 1 on.
pub(crate) fn day_of_year(days: i64) -> i64 {
    days - day_of(civil(days).0, 1, 1) + 1
}

/// The year and week of ISO 8601: a week belongs to the year of its Thursday.
pub(crate) fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - weekday(days) + 4;
    (civil(thursday).0, (day_of_year(thursday) - 1) / 7 + 1)
}

/// What a list of days may be counted in.
pub(crate) const PERIODS: [&str; 5] = ["day", "week", "month", "quarter", "year"];

/// The first day of the period in which a day lies; weeks begin on Mondays.
pub(crate) fn start_of(period: &str, days: i64) -> i64 {
    let (year, month, _) = civil(days);
    match period {
        "week" => days - weekday(days) + 1,
        "month" => day_of(year, month, 1),
        "quarter" => day_of(year, (month - 1) / 3 * 3 + 1, 1),
        "year" => day_of(year, 1, 1),
        _ => days,
    }
}

/// The first days of all periods that have a day between these two, in order.
pub(crate) fn periods(period: &str, low: i64, high: i64) -> Vec<i64> {
    // The longest period has 366 days, so the next begins within as many.
    let longest = match period {
        "week" => 7,
        "month" => 31,
        "quarter" => 92,
        "year" => 366,
        _ => 1,
    };
    let mut starts = Vec::new();
    let mut start = start_of(period, low);
    while start <= high {
        starts.push(start);
        start = start_of(period, start + longest);
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_one_name() {
        let mut before = civil(FIRST_DAY - 1);
        for day in FIRST_DAY..=LAST_DAY {
            let named = civil(day);
            assert!(named > before, "{day}");
            assert_eq!(day_of(named.0, named.1, named.2), day);
            before = named;
        }
        assert_eq!((civil(FIRST_DAY), civil(LAST_DAY)), ((1, 1, 1), (9999, 12, 31)));
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(weekday(20_772), 7, "2026-11-15 is a Sunday");
    }

    #[test]
    fn moments_are_written_as_sql_has_them() {
        assert_eq!(moment_as_text(0), "1970-01-01 00:00:00");
        assert_eq!(moment_as_text(-1), "1969-12-31 23:59:59.999999");
        assert_eq!(moment_as_text(86_399_500_000), "1970-01-01 23:59:59.5");
        assert_eq!(day_as_text(-719_162), "0001-01-01");
    }

    #[test]
    fn weeks_belong_to_the_year_of_their_thursday() {
        for ((year, month, day), week) in [
            ((2021, 1, 3), (2020, 53)),
            ((2021, 1, 4), (2021, 1)),
            ((2024, 12, 30), (2025, 1)),
            ((2023, 1, 1), (2022, 52)),
        ] {
            assert_eq!(iso_week(day_of(year, month, day)), week, "{year}-{month}-{day}");
        }
        assert_eq!(day_of_year(day_of(2024, 12, 31)), 366);
    }

    #[test]
    fn periods_are_all_there_once() {
        let (low, high) = (day_of(2019, 11, 20), day_of(2024, 3, 1));
        for period in PERIODS {
            let mut expected: Vec<i64> = (low..=high).map(|day| start_of(period, day)).collect();
            expected.dedup();
            assert_eq!(periods(period, low, high), expected, "{period}");
        }
        assert_eq!(periods("month", low, high).len(), 2 + 4 * 12 + 3);
    }
}
