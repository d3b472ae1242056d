//! Moments as people write them.

use chrono::DateTime;

/// `2026-11-15 08:30`, at UTC, from milliseconds since 1970.
///
/// ```
/// assert_eq!(ledger::utc(951_782_400_000), "2000-02-29 00:00");
/// ```
pub fn utc(milliseconds: i64) -> String {
    match DateTime::from_timestamp_millis(milliseconds) {
        Some(moment) => moment.format("%Y-%m-%d %H:%M").to_string(),
        // Hundreds of thousands of years away.
        None => format!("{milliseconds} ms after 1970"),
    }
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
