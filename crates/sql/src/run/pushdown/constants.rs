//! Constants in PostgreSQL's SQL, and canonical forms of values.

use super::NotWritten;
use crate::values::facts::Kind;
use crate::values::scalar::calendar::{self, DAY};
use bound::{MOST_TEXT, NEWER};
use datafusion::common::ScalarValue;

/// A text in quotes. Backslashes mean themselves: `standard_conforming_strings` is on. `None` for one that no PostgreSQL text can be.
pub(super) fn quoted_text(text: &str) -> Option<String> {
    (!text.contains('\0')).then(|| format!("('{}'::text COLLATE \"C\")", text.replace('\'', "''")))
}

pub(super) fn integer(value: i64) -> String {
    format!("'{value}'::int8")
}

/// A float, to the last bit: the shortest decimal number that is nearest to it.
pub(super) fn float(value: f64) -> String {
    if value.is_nan() {
        return "'NaN'::float8".to_owned();
    }
    if value.is_infinite() {
        return format!("'{}Infinity'::float8", if value > 0.0 { "" } else { "-" });
    }
    format!("'{value:e}'::float8")
}

/// A day by its name in the calendar, as PostgreSQL reads it, from the first of year 1 to the last of year 9999, as in tables: `None` for others. The engines disagree about the numbers of years
/// outside.
pub(super) fn day(days: i64) -> Option<String> {
    if !(-719_162..=2_932_896).contains(&days) {
        return None;
    }
    let (year, month, day) = calendar::civil(days);
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

/// A moment, likewise.
pub(super) fn moment(microseconds: i64) -> Option<String> {
    let days = microseconds.div_euclid(DAY);
    let rest = microseconds.rem_euclid(DAY);
    let date = day(days)?;
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    Some(format!(
        "{date} {:02}:{:02}:{:02}.{fraction:06}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    ))
}

/// A `numeric` that is whole, modulo 2⁶⁴ as an integer of 64 bits.
pub(super) fn wrapped(number: &str) -> String {
    const WHOLE: &str = "'18446744073709551616'::numeric";
    const HALF: &str = "'9223372036854775808'::numeric";
    format!("(mod(mod({number} + {HALF}, {WHOLE}) + {WHOLE}, {WHOLE}) - {HALF})::int8")
}

/// How PostgreSQL calls a kind.
pub(super) fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::Int => "int8",
        Kind::Float => "float8",
        Kind::Text => "text",
        Kind::Date => "date",
        Kind::Timestamp => "timestamp",
    }
}

/// The NULL of a kind.
pub(super) fn null(kind: Kind) -> String {
    match kind {
        Kind::Text => "(NULL::text COLLATE \"C\")".to_owned(),
        _ => format!("NULL::{}", type_of(kind)),
    }
}

/// A constant, and its kind.
pub(super) fn constant(value: &ScalarValue) -> Result<(String, Kind), NotWritten> {
    let kind = match value {
        ScalarValue::Boolean(_) => Kind::Bool,
        ScalarValue::Int32(_) | ScalarValue::Int64(_) | ScalarValue::UInt64(_) => Kind::Int,
        ScalarValue::Float64(_) => Kind::Float,
        ScalarValue::Utf8(_) | ScalarValue::Utf8View(_) => Kind::Text,
        ScalarValue::Date32(_) => Kind::Date,
        ScalarValue::TimestampMicrosecond(_, None) => Kind::Timestamp,
        _ => return Err(NotWritten::new("a constant of this type is not on the list")),
    };
    let strange = || NotWritten::new("PostgreSQL has no such constant");
    let sql = match value {
        _ if value.is_null() => null(kind),
        // With its type: a bare constant is no key of a GROUP BY.
        ScalarValue::Boolean(Some(value)) => format!("'{value}'::bool"),
        ScalarValue::Int32(Some(value)) => integer(i64::from(*value)),
        ScalarValue::Int64(Some(value)) => integer(*value),
        ScalarValue::UInt64(Some(value)) => integer(i64::try_from(*value).map_err(|_| strange())?),
        ScalarValue::Float64(Some(value)) => float(*value),
        ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)) => {
            quoted_text(text).ok_or_else(strange)?
        }
        ScalarValue::Date32(Some(days)) => {
            format!("'{}'::date", day(i64::from(*days)).ok_or_else(strange)?)
        }
        ScalarValue::TimestampMicrosecond(Some(moment_of), None) => {
            format!("'{}'::timestamp", moment(*moment_of).ok_or_else(strange)?)
        }
        _ => return Err(strange()),
    };
    Ok((sql, kind))
}

/// A float in canonical form: one zero, and NULL or a bound where it is not finite. NaN is above all numbers in PostgreSQL, so it is in none of the cases.
///
/// The sum with zero is finite, so it raises no error; it is zero for a zero of either sign.
pub(super) fn canonical_float(value: &str, bounds: Option<[f64; 2]>) -> String {
    let finite = format!(
        "CASE WHEN {value} > '-Infinity'::float8 AND {value} < 'Infinity'::float8 THEN {value} + '0'::float8"
    );
    let ends = match bounds {
        Some([low, high]) => format!(
            " WHEN {value} = 'Infinity'::float8 THEN {} WHEN {value} = '-Infinity'::float8 THEN {}",
            float(high),
            float(low)
        ),
        None => String::new(),
    };
    format!("({finite}{ends} END)")
}

/// A text in normal form C of Unicode 14, whatever version the server has: what is on either side of a character of [`NEWER`] is normalised by itself.
///
/// Text of as many bytes as characters is ASCII, which is in normal form. The pieces of a text are never NULL, and there is at least one where the text has a newer character. The
/// first [`MOST_TEXT`] characters count, as in `bound::canonical_text`: PostgreSQL takes a time that grows with the square of how many marks follow each other, and cannot be cancelled meanwhile.
pub(crate) fn normal_text(value: &str) -> String {
    let newer: String = NEWER
        .iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    let begin = format!("left({value}, {MOST_TEXT})");
    format!(
        "(CASE WHEN octet_length({value}) = char_length({value}) THEN {value} \
         WHEN {begin} ~ '[{newer}]' THEN (SELECT string_agg(CASE WHEN piece.match[1] ~ '[{newer}]' THEN piece.match[1] ELSE normalize(piece.match[1], NFC) END, '' ORDER BY piece.place) \
         FROM regexp_matches({begin}, '([{newer}]|[^{newer}]+)', 'g') WITH ORDINALITY AS piece(match, place)) \
         ELSE normalize({begin}, NFC) END COLLATE \"C\")"
    )
}

/// A text cut at the last whole character that fits into [`MOST_TEXT`] bytes. What is cut begins a character, so that what is left is text. So many bytes are in at most as many characters.
fn cut_text(value: &str) -> String {
    let bytes = format!("convert_to(left({value}, {}), 'UTF8')", MOST_TEXT + 1);
    let begins = |place: usize| format!("get_byte({bytes}, {place}) NOT BETWEEN 128 AND 191");
    let ends = format!(
        "CASE WHEN {} THEN {} WHEN {} THEN {} WHEN {} THEN {} ELSE {} END",
        begins(MOST_TEXT),
        MOST_TEXT,
        begins(MOST_TEXT - 1),
        MOST_TEXT - 1,
        begins(MOST_TEXT - 2),
        MOST_TEXT - 2,
        MOST_TEXT - 3
    );
    format!(
        "(CASE WHEN octet_length({value}) <= {MOST_TEXT} THEN {value} ELSE convert_from(substring({bytes} FROM 1 FOR {ends}), 'UTF8') END COLLATE \"C\")"
    )
}

/// Whether a text is short and of as many bytes as characters: then it is in canonical form.
fn short_and_ascii(value: &str) -> String {
    format!("octet_length({value}) <= {MOST_TEXT} AND octet_length({value}) = char_length({value})")
}

/// A text in canonical form: normal, and cut. What is not short and ASCII is computed by a subquery of its own, once for its row.
pub(super) fn canonical_text(value: &str) -> String {
    format!(
        "(CASE WHEN {} THEN {value} \
         WHEN {value} IS NOT NULL THEN (SELECT {} FROM (SELECT {} AS normal OFFSET 0) AS text) END COLLATE \"C\")",
        short_and_ascii(value),
        cut_text("text.normal"),
        normal_text(value)
    )
}

/// A text in canonical form if it is one of a list of such texts, and else another one.
pub(super) fn declared_text(value: &str, declared: &str, other: &str) -> String {
    format!(
        "(CASE WHEN {value} IN ({declared}) THEN {value} WHEN {} THEN {other} \
         WHEN {value} IS NOT NULL THEN (SELECT CASE WHEN read.as_text IN ({declared}) THEN read.as_text ELSE {other} END FROM (SELECT {} AS as_text OFFSET 0) AS read) \
         END COLLATE \"C\")",
        short_and_ascii(value),
        canonical_text(value)
    )
}

/// The name of a unit: whole or absent, and not empty.
pub(super) fn identifier(value: &str) -> String {
    format!("(CASE WHEN octet_length({value}) BETWEEN 1 AND {MOST_TEXT} THEN {value} END COLLATE \"C\")")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_moments_have_names() {
        assert_eq!(day(0).unwrap(), "1970-01-01");
        assert_eq!(day(-719_162).unwrap(), "0001-01-01");
        assert_eq!(day(-719_163), None);
        assert_eq!(day(2_932_896).unwrap(), "9999-12-31");
        assert_eq!(day(2_932_897), None);
        assert_eq!(day(i64::from(i32::MIN)), None);
        assert_eq!(moment(-1).unwrap(), "1969-12-31 23:59:59.999999");
        assert_eq!(moment(2_932_897 * DAY - 1).unwrap(), "9999-12-31 23:59:59.999999");
        assert_eq!(moment(-719_162 * DAY - 1), None);
        assert_eq!(moment(i64::MIN), None);
    }

    #[test]
    fn constants_cannot_end_their_quotes() {
        let text = |text: &str| constant(&ScalarValue::Utf8View(Some(text.to_owned()))).map(|(sql, _)| sql);
        assert_eq!(
            text("'; DROP TABLE x; --").unwrap(),
            "('''; DROP TABLE x; --'::text COLLATE \"C\")"
        );
        assert_eq!(text("\\' $1").unwrap(), "('\\'' $1'::text COLLATE \"C\")");
        assert!(text("a\0").is_err());
        assert_eq!(float(5e-324), "'5e-324'::float8");
        assert_eq!(float(-0.0), "'-0e0'::float8");
    }
}
