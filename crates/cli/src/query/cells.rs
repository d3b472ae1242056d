//! An answer as a table for people: as many digits as the noise leaves meaningful, and how far off each
//! number may be.

use report::{DynamicTable, Heading, significant};
use sql::{Answer, Cell, CellKind, CellValue};

/// What a NULL looks like.
const NOTHING: &str = "∅";
/// Half of an interval's width is shown to this many digits; digits of the value beyond them are noise.
const DIGITS: i32 = 2;
/// Ends whose distances from the value differ from their mean by no more than this part of it are reported as
/// one number.
const NEARLY: f64 = 0.05;
/// Floats from here on are shown with an exponent.
const PLAIN: f64 = 1e15;
/// Digits of a noisy number whose interval is not known.
const UNSURE: usize = 6;
/// The time of a moment that stands for its day.
const MIDNIGHT: &str = "T00:00:00";

/// The answer, each noisy column followed by how far off it may be.
pub(super) fn table(answer: &Answer) -> DynamicTable {
    let mut headings = Vec::new();
    for column in &answer.columns {
        let number = matches!(column.kind, CellKind::Int | CellKind::Float);
        headings.push(if number {
            Heading::right(&column.name)
        } else {
            Heading::left(&column.name)
        });
        if column.has_intervals() {
            headings.push(Heading::right("±"));
        }
    }
    let mut table = DynamicTable::new(headings);
    let days: Vec<bool> = (0..answer.columns.len())
        .map(|place| are_days(answer, place))
        .collect();
    for row in &answer.rows {
        let mut cells = Vec::new();
        for ((column, cell), day) in answer.columns.iter().zip(row).zip(&days) {
            let (value, off) = shown(cell, column.kind, column.is_label());
            cells.push(match column.kind {
                CellKind::Timestamp => moment(&value, *day),
                _ => value,
            });
            if column.has_intervals() {
                cells.push(off);
            }
        }
        table.row(cells);
    }
    table
}

/// Whether all moments of a column are the beginnings of days.
fn are_days(answer: &Answer, place: usize) -> bool {
    let mut texts = answer.rows.iter().filter_map(|row| row[place].value.as_str());
    answer.columns[place].kind == CellKind::Timestamp && texts.all(|text| text.ends_with(MIDNIGHT))
}

/// A moment as SQL writes it, or the day that it begins.
fn moment(value: &str, day: bool) -> String {
    match value.strip_suffix(MIDNIGHT).filter(|_| day) {
        Some(day) => day.to_owned(),
        None => value.replacen('T', " ", 1),
    }
}

/// A value, and how far off it may be. A label is shown as it is.
fn shown(cell: &Cell, kind: CellKind, label: bool) -> (String, String) {
    let (low, high) = cell.interval(kind);
    let cell = &Cell {
        low,
        high,
        ..cell.clone()
    };
    let value = match &cell.value {
        CellValue::Null => return (NOTHING.to_owned(), ends(cell, 0).unwrap_or_default()),
        CellValue::Text(text) => return (unambiguous(text), String::new()),
        CellValue::Bool(value) => return (value.to_string(), String::new()),
        number => number,
    };
    let near = value.as_f64().unwrap_or(f64::NAN);
    let (Some(low), Some(high)) = (cell.low, cell.high) else {
        let written = match value {
            CellValue::Float(_) if !label => without_zeros(significant(near, UNSURE)),
            value => plain(value, near),
        };
        return (written, ends(cell, 0).unwrap_or_default());
    };
    let half = (high - low) / 2.0;
    let decimals = decimals(half, kind);
    let text = if kind == CellKind::Int {
        value.to_string()
    } else {
        fixed(near, decimals)
    };
    let farthest = (high - near).max(near - low);
    // As far as the digits that are shown can tell, or nearly so: then ± is the farther end, and the interval
    // around the value holds both.
    let visible = 0.5 * 10f64.powi(-decimals);
    let off = if farthest - half <= visible.max(NEARLY * half) {
        fixed(rounded_up(farthest, decimals), decimals)
    } else {
        ends(cell, decimals).unwrap_or_default()
    };
    (text, off)
}

/// A text such that no two texts look alike, nor one like a NULL: in quotes where spaces at its ends, line
/// breaks or the like would not be seen.
fn unambiguous(text: &str) -> String {
    let unseen = |character: char| character.is_control();
    let quoted = text.trim() != text || text == NOTHING || text.starts_with('"') || text.chars().any(unseen);
    match quoted {
        true => format!("{text:?}"),
        false => text.to_owned(),
    }
}

/// Decimal places that leave the half width its digits. Whole numbers have none.
fn decimals(half: f64, kind: CellKind) -> i32 {
    if !half.is_finite() || half <= 0.0 || kind == CellKind::Int {
        return 0;
    }
    (DIGITS - 1 - half.log10().floor() as i32).clamp(0, 15)
}

/// At least `half`, at this many places: the interval that is shown holds the one that was found.
fn rounded_up(half: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    let rounded = (half * scale).ceil() / scale;
    // A width such as 0.3 is not to become 0.31 because of its last bit.
    let nearest = (half * scale).round() / scale;
    if (nearest - half).abs() <= half.abs() * 1e-9 {
        nearest
    } else {
        rounded
    }
}

fn fixed(value: f64, decimals: i32) -> String {
    if value.abs() >= PLAIN {
        return significant(value, 6);
    }
    let text = format!("{value:.*}", decimals.unsigned_abs() as usize);
    // What rounds to zero has no sign.
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|digit| matches!(digit, '0' | '.')) => rest.to_owned(),
        _ => text,
    }
}

/// `12.5` for `12.5000`.
fn without_zeros(text: String) -> String {
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A number of which no interval says how many digits mean something: as it is.
fn plain(value: &CellValue, near: f64) -> String {
    if matches!(value, CellValue::Float(_)) && near.abs() < PLAIN && (near == 0.0 || near.abs() >= 1e-4) {
        format!("{near}")
    } else {
        value.to_string()
    }
}

/// The ends that are there; rounded outward.
fn ends(cell: &Cell, decimals: i32) -> Option<String> {
    let scale = 10f64.powi(decimals);
    let low = cell.low.map(|low| fixed((low * scale).floor() / scale, decimals));
    let high = cell
        .high
        .map(|high| fixed((high * scale).ceil() / scale, decimals));
    Some(match (low, high) {
        (Some(low), Some(high)) => format!("{low} … {high}"),
        (Some(low), None) => format!("≥ {low}"),
        (None, Some(high)) => format!("≤ {high}"),
        (None, None) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::AnswerColumn;

    /// Keys as they are printed.
    fn keys(values: &[CellValue], kind: CellKind) -> Vec<String> {
        let key = |value: &CellValue| Cell {
            value: value.clone(),
            low: None,
            high: None,
        };
        values
            .iter()
            .map(|value| shown(&key(value), kind, true).0)
            .collect()
    }

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        let cell = |value: f64, ends: Option<(f64, f64)>| Cell {
            value: value.into(),
            low: ends.map(|ends| ends.0),
            high: ends.map(|ends| ends.1),
        };
        let noisy = |value, ends| shown(&cell(value, ends), CellKind::Float, false);
        let pair = |value: &str, off: &str| (value.to_owned(), off.to_owned());
        assert_eq!(
            noisy(20_123.456_789, Some((19_823.4, 20_423.5))),
            pair("20123", "301")
        );
        assert_eq!(
            noisy(0.123_456_789, Some((0.113_456, 0.133_456))),
            pair("0.123", "0.011")
        );
        assert_eq!(noisy(12.345_678_901_234, None), pair("12.3457", ""));
        assert_eq!(noisy(12.5, None), pair("12.5", ""));
        // A name of a group is what it is.
        let label = shown(&cell(12.345_678_901_234, None), CellKind::Float, true);
        assert_eq!(label, pair("12.345678901234", ""));
    }

    #[test]
    fn moments_that_begin_days_are_days() {
        let column = AnswerColumn {
            name: "month".to_owned(),
            kind: CellKind::Timestamp,
            noisy: false,
            chosen: false,
            no_interval: None,
        };
        let table_of = |moments: &[&str]| {
            let cell = |moment: &&str| Cell {
                value: (*moment).into(),
                low: None,
                high: None,
            };
            let answer = Answer {
                columns: vec![column.clone()],
                rows: moments.iter().map(|moment| vec![cell(moment)]).collect(),
                confidence: 0.95,
                bounds: Vec::new(),
                cut: Vec::new(),
                notes: Vec::new(),
                cost: None,
            };
            table(&answer).to_string()
        };
        let days = table_of(&["2024-01-01T00:00:00", "2024-02-01T00:00:00"]);
        assert!(days.contains("\n2024-02-01\n"), "{days}");
        let moments = table_of(&["2024-01-01T00:00:00", "2024-02-01T12:30:00"]);
        assert!(
            moments.contains("\n2024-01-01 00:00:00\n") && moments.contains("2024-02-01 12:30:00"),
            "{moments}"
        );
    }

    #[test]
    fn no_two_groups_look_alike() {
        let floats = [1.7, 1.8, 1.0000000000000002, 1.0, 1e15, 1e15 + 1.0, 1e-5, 1.1e-5];
        let texts = ["a", "a ", " a", "a\nb", "a b", "a\\nb", "∅", "\"a \"", "1e999"];
        let floats = keys(&floats.map(CellValue::from), CellKind::Float);
        let mut texts: Vec<CellValue> = texts.map(CellValue::from).to_vec();
        texts.push(CellValue::Null);
        let texts = keys(&texts, CellKind::Text);
        assert_eq!(floats[..2], ["1.7", "1.8"]);
        assert_eq!(texts[..3], ["a", "\"a \"", "\" a\""]);
        for mut lines in [floats, texts] {
            let count = lines.len();
            lines.sort();
            lines.dedup();
            assert_eq!(lines.len(), count, "{lines:?}");
        }
    }
}
