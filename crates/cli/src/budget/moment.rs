//! Moments as people write them.

const DAY: i64 = 86_400;

/// `2026-11-15 08:30`, at UTC, from milliseconds since 1970.
pub(super) fn utc(milliseconds: i64) -> String {
    let seconds = milliseconds.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date(days);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}",
        second / 3600,
        second % 3600 / 60
    )
}

/// Year, month and day, from days since 1970-01-01 in the Gregorian calendar.
fn date(days: i64) -> (i64, i64, i64) {
    // Years begin in March, so that the leap day is the last of its year; eras of 400 years all have the same 146,097 days.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months begin on days (153 m + 2) / 5.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn moments() {
        assert_eq!(utc(0), "1970-01-01 00:00");
        assert_eq!(utc(-1), "1969-12-31 23:59");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00");
        assert_eq!(utc(1_704_067_199_999), "2023-12-31 23:59");
        assert_eq!(utc(1_704_067_200_000), "2024-01-01 00:00");
        assert_eq!(utc(-2_203_891_200_000), "1900-03-01 00:00");
    }
}
