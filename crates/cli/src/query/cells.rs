//! An answer as a table that people read: as many digits as the noise leaves, and how far off each number may be.

use report::{DynamicTable, Heading, significant};
use sql::{Answer, Cell, CellKind, CellValue};

/// What a NULL looks like.
const NOTHING: &str = "∅";
/// Half of an interval's width is shown to this many digits; digits of the value beyond them are noise.
const DIGITS: i32 = 2;
/// Ends whose distances from the value differ from their mean by no more than this part of it are reported as one number.
const NEARLY: f64 = 0.05;
/// Floats from here on are shown with an exponent.
const PLAIN: f64 = 1e15;

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
    for row in &answer.rows {
        let mut cells = Vec::new();
        for (column, cell) in answer.columns.iter().zip(row) {
            let (value, off) = shown(cell, column.kind);
            cells.push(value);
            if column.has_intervals() {
                cells.push(off);
            }
        }
        table.row(cells);
    }
    table
}

/// A value, and how far off it may be.
fn shown(cell: &Cell, kind: CellKind) -> (String, String) {
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
        return (plain(value, near), ends(cell, 0).unwrap_or_default());
    };
    let half = (high - low) / 2.0;
    let decimals = decimals(half, kind);
    let text = if kind == CellKind::Int {
        value.to_string()
    } else {
        fixed(near, decimals)
    };
    let farthest = (high - near).max(near - low);
    // As far as the digits that are shown can tell, or nearly so: then ± is the farther end, and the interval around the value holds both.
    let visible = 0.5 * 10f64.powi(-decimals);
    let off = if farthest - half <= visible.max(NEARLY * half) {
        fixed(rounded_up(farthest, decimals), decimals)
    } else {
        ends(cell, decimals).unwrap_or_default()
    };
    (text, off)
}

/// A text such that no two texts look alike, nor one like a NULL: in quotes where spaces at its ends, line breaks or the like would not be seen.
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

    /// Keys as they are printed.
    fn keys(values: &[CellValue], kind: CellKind) -> Vec<String> {
        let key = |value: &CellValue| Cell {
            value: value.clone(),
            low: None,
            high: None,
        };
        values.iter().map(|value| shown(&key(value), kind).0).collect()
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
