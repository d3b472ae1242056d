//! An answer as people read it: a line if there is an order, otherwise a table with bars and whiskers; and
//! what the bounds limited.

use super::super::drawn;
use super::super::layout::{self, name, sentence};
use super::line;
use super::price::about;
use maud::{Markup, html};
use report::{Whisker, grouped, legal, significant};
use sql::{Answer, AnswerColumn, Cell, CellKind, CellValue};

/// More rows are in the files.
const MOST_ROWS: usize = 500;

/// The figures, the table and the notes.
pub(super) fn shown(answer: &Answer) -> Markup {
    let lines = line::of(answer);
    let drawn_as_line = |place: usize| {
        let mut figures = lines.iter().flat_map(|lines| &lines.figures);
        figures.any(|(column, _)| *column == place)
    };
    html! {
        @if let Some(lines) = &lines {
            @for (_, figure) in &lines.figures { (layout::figure(figure)) }
            @for missing in &lines.missing { p class="quiet" { (sentence(missing)) } }
        }
        (table(answer, drawn_as_line))
        @if answer.rows.len() > MOST_ROWS {
            p class="quiet" { "The first " (MOST_ROWS) " of " (grouped(answer.rows.len() as u64)) " rows. The files have all of them." }
        }
        (notes(answer))
    }
}

/// A column that is drawn as a line has no bars.
fn table(answer: &Answer, drawn_as_line: impl Fn(usize) -> bool) -> Markup {
    let shown = &answer.rows[..answer.rows.len().min(MOST_ROWS)];
    let scales: Vec<Option<(f64, f64)>> = (0..answer.columns.len())
        .map(|place| bars_scale(answer, shown, place).filter(|_| !drawn_as_line(place)))
        .collect();
    let days: Vec<bool> = (0..answer.columns.len())
        .map(|place| are_days(answer, place))
        .collect();
    let confidence = format!("{} % interval", significant(100.0 * answer.confidence, 2));
    let with_cut = |place: usize| scales[place].is_some() && includes_cut(answer, place);
    let any_cut = (0..answer.columns.len()).any(with_cut);
    html! {
        div class="wide stacks" {
            table class="answer" {
                thead { tr {
                    @for (column, scale) in answer.columns.iter().zip(&scales) {
                        th scope="col" class=[is_number(column.kind).then_some("number")] { (name(&column.name)) }
                        @if column.has_intervals() { th scope="col" class="number" { (confidence) } }
                        @if scale.is_some() { th scope="col" class="drawing" { span class="unseen" { "as a bar" } } }
                    }
                } }
                tbody {
                    @for row in shown {
                        tr {
                            @for (place, (column, cell)) in answer.columns.iter().zip(row).enumerate() {
                                td data-label=(legal(&column.name)) class=[is_number(column.kind).then_some("number")] { (value(column, cell, days[place])) }
                                @if column.has_intervals() { td data-label=(confidence) class="number interval" { (interval(column, cell)) } }
                                @if let Some(scale) = scales[place] {
                                    td class="drawing" {
                                        @if let Some(value) = cell.value.as_f64() {
                                            (drawn(report::bar(value, whisker(answer, place, cell), scale, 0)))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        @if any_cut {
            p class="quiet" { "The solid stroke over a bar is noise. The dashed one goes on as far as what the limits may have cut." }
        }
        @if answer.rows.is_empty() { p class="quiet" { "No rows: no group is in the answer. Where groups must have many people to be shown, a larger ε or fewer groups show more." } }
    }
}

pub(super) fn is_number(kind: CellKind) -> bool {
    matches!(kind, CellKind::Int | CellKind::Float)
}

/// What the bars of a column share; `None` if it is no measurement or no number.
fn bars_scale(answer: &Answer, shown: &[Vec<Cell>], place: usize) -> Option<(f64, f64)> {
    let column = &answer.columns[place];
    if !is_number(column.kind) || column.is_label() {
        return None;
    }
    let (low, high) = range_of(column, shown.iter().map(|row| &row[place]))?;
    let (low, high) = (low.min(0.0), high.max(0.0));
    (high > low).then_some((low, high))
}

/// This many times the interval in the middle is so wide that a cell tells little.
const WIDE: f64 = 4.0;

/// From the least to the largest that is worth showing: an empty group, whose interval is as wide as all that
/// is possible, would make all others too small to see.
pub(super) fn range_of<'a>(
    column: &AnswerColumn,
    cells: impl Iterator<Item = &'a Cell>,
) -> Option<(f64, f64)> {
    let cells: Vec<(f64, Option<(f64, f64)>)> = cells
        .filter_map(|cell| Some((cell.value.as_f64()?, ends(column, cell))))
        .filter(|(value, _)| value.is_finite())
        .collect();
    let mut widths: Vec<f64> = cells
        .iter()
        .filter_map(|(_, ends)| ends.map(|(low, high)| high - low))
        .collect();
    widths.sort_by(f64::total_cmp);
    let usual = widths.get(widths.len() / 2).copied();
    // It tells little if it may be anything from nothing to twice what it says, and others know much better.
    let tells = |(value, ends): &&(f64, Option<(f64, f64)>)| match (ends, usual) {
        (Some((low, high)), Some(usual)) => high - low <= (WIDE * usual).max(2.0 * value.abs()),
        _ => true,
    };
    let all = cells.iter().filter(tells).flat_map(|(value, ends)| {
        std::iter::once(*value).chain(ends.iter().flat_map(|(low, high)| [*low, *high]))
    });
    all.fold(None, |range, at| match range {
        None => Some((at, at)),
        Some((low, high)) => Some((f64::min(low, at), f64::max(high, at))),
    })
}

/// Whether the intervals of a column include what the limits cut.
pub(super) fn includes_cut(answer: &Answer, place: usize) -> bool {
    let column = &answer.columns[place].name;
    let mut bounds = answer.bounds.iter().filter(|bounds| bounds.column == *column);
    bounds.any(|bounds| bounds.interval_within_times.is_some())
}

/// The interval of a cell, as it is drawn.
fn whisker(answer: &Answer, place: usize, cell: &Cell) -> Option<Whisker> {
    let ends = ends(&answer.columns[place], cell)?;
    let value = cell.value.as_f64()?;
    Some(match includes_cut(answer, place) {
        true => Whisker::apart(value, ends),
        false => Whisker::of(ends),
    })
}

/// Whether all moments of a column are the beginning of a day, as months and weeks are.
fn are_days(answer: &Answer, place: usize) -> bool {
    let mut texts = answer.rows.iter().filter_map(|row| row[place].value.as_str());
    answer.columns[place].kind == CellKind::Timestamp && texts.all(|text| text.ends_with(MIDNIGHT))
}

const MIDNIGHT: &str = "T00:00:00";

pub(super) fn ends(column: &AnswerColumn, cell: &Cell) -> Option<(f64, f64)> {
    let (low, high) = cell.interval(column.kind);
    low.zip(high)
}

/// Digits after the point that an interval leaves to be told: one more than it is wide.
fn decimals(column: &AnswerColumn, cell: &Cell) -> Option<usize> {
    let (low, high) = ends(column, cell)?;
    let half = (high - low) / 2.0;
    let readable = low.abs().max(high.abs()) < 1e9;
    (column.kind == CellKind::Float && half > 1e-6 && readable)
        .then(|| (1.0 - half.log10().floor()).clamp(0.0, 6.0) as usize)
}

fn interval(column: &AnswerColumn, cell: &Cell) -> String {
    let decimals = decimals(column, cell);
    let number = |value: f64, kind: CellKind| match decimals {
        Some(decimals) => rounded(value, decimals),
        None => number(value, kind),
    };
    match ends(column, cell) {
        Some((low, high)) => format!("{} to {}", number(low, column.kind), number(high, column.kind)),
        None => "unknown".to_owned(),
    }
}

fn number(value: f64, kind: CellKind) -> String {
    match kind {
        // Whole by now, and far below 2⁶³ where it is shown so.
        CellKind::Int if value.abs() < 1e15 => whole(value as i64),
        _ => significant(value, 6),
    }
}

/// With thousands apart, and a minus sign as wide as a digit.
fn rounded(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if value < 0.0 && text.contains(|digit: char| ('1'..='9').contains(&digit)) {
        "−"
    } else {
        ""
    };
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    format!("{sign}{whole}{rest}")
}

fn whole(value: i64) -> String {
    let sign = if value < 0 { "−" } else { "" };
    format!("{sign}{}", grouped(value.unsigned_abs()))
}

/// A value; a moment of a column of days without its time.
fn value(column: &AnswerColumn, cell: &Cell, day: bool) -> Markup {
    html! {
        @match &cell.value {
            CellValue::Text(text) if day => (name(text.strip_suffix(MIDNIGHT).unwrap_or(text))),
            CellValue::Text(text) if column.kind == CellKind::Timestamp => (name(&text.replace('T', " "))),
            CellValue::Null => span class="quiet" { "NULL" },
            CellValue::Int(value) => (whole(*value)),
            CellValue::Float(value) => (decimals(column, cell).map_or_else(|| significant(*value, 6), |decimals| rounded(*value, decimals))),
            CellValue::Bool(value) => (value),
            CellValue::Text(text) => (name(text)),
        }
    }
}

/// What limits and bounds do to the answer, and what else there is to know.
fn notes(answer: &Answer) -> Markup {
    let measured = answer.columns.iter().filter(|column| !column.is_label());
    let without: Vec<(&str, &str)> = measured
        .filter_map(|column| Some((column.name.as_str(), column.no_interval.as_deref()?)))
        .collect();
    let chosen: Vec<&AnswerColumn> = answer.columns.iter().filter(|column| column.chosen).collect();
    let nothing = answer.bounds.is_empty() && answer.cut.is_empty() && answer.notes.is_empty();
    if nothing && without.is_empty() && chosen.is_empty() {
        return html! {};
    }
    html! {
        section class="notes" {
            h2 { "What was limited" }
            ul {
                @for bound in &answer.bounds {
                    li { strong { (name(&bound.column)) } ": " (name(&bound.words)) "; " (about(bound.interval_of)) "." }
                }
                @for cut in &answer.cut { li { (sentence(&cut.words)) } }
                @for (column, why) in without { li { strong { (name(column)) } ": no interval, " (why) "." } }
                @for column in chosen { li { strong { (name(&column.name)) } ": noise decided which rows are here, and so which of its values." } }
                @for note in &answer.notes { li { (sentence(note)) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_their_interval_leaves() {
        let column = |kind| AnswerColumn {
            name: "x".to_owned(),
            kind,
            noisy: true,
            chosen: false,
            no_interval: None,
        };
        let cell = |value: f64, low: f64, high: f64| Cell {
            value: value.into(),
            low: Some(low),
            high: Some(high),
        };
        let shown = |value, low, high| {
            let cell = cell(value, low, high);
            let column = column(CellKind::Float);
            (
                super::value(&column, &cell, false).into_string(),
                interval(&column, &cell),
            )
        };
        assert_eq!(
            shown(49.6163, 48.3489, 50.8686),
            ("49.6".to_owned(), "48.3 to 50.9".to_owned())
        );
        assert_eq!(shown(0.012_345, 0.0121, 0.0125).0, "0.01235");
        assert_eq!(shown(-12_345.6, -13_000.0, -12_000.0).1, "−13,000 to −12,000");
        assert_eq!(shown(1.0, 1.0, 1.0).0, "1.00000");
        assert_eq!(
            interval(&column(CellKind::Int), &cell(5.0, -1234.0, 8.0)),
            "−1,234 to 8"
        );
    }

    fn counted(rows: Vec<(CellValue, Cell)>, kind: CellKind) -> Answer {
        let column = |name: &str, kind, noisy| AnswerColumn {
            name: name.to_owned(),
            kind,
            noisy,
            chosen: false,
            no_interval: None,
        };
        let key = |value: CellValue| Cell {
            value,
            low: None,
            high: None,
        };
        Answer {
            columns: vec![column("at", kind, false), column("n", CellKind::Float, true)],
            rows: rows.into_iter().map(|(at, cell)| vec![key(at), cell]).collect(),
            confidence: 0.95,
            bounds: Vec::new(),
            cut: Vec::new(),
            notes: Vec::new(),
            cost: None,
        }
    }

    fn near(value: f64, half: f64) -> Cell {
        Cell {
            value: value.into(),
            low: Some(value - half),
            high: Some(value + half),
        }
    }

    #[test]
    fn an_empty_group_does_not_set_the_scale() {
        let group = |name: &str, value, half| (CellValue::from(name), near(value, half));
        let mut rows = vec![
            group("a", 40.0, 2.0),
            group("b", 60.0, 3.0),
            group("c", 50.0, 2.0),
        ];
        let scale = |rows: &[(CellValue, Cell)]| {
            let answer = counted(rows.to_vec(), CellKind::Text);
            bars_scale(&answer, &answer.rows, 1)
        };
        assert_eq!(scale(&rows), Some((0.0, 63.0)));
        rows.push(group("empty", 7.0, 50_000.0));
        assert_eq!(scale(&rows), Some((0.0, 63.0)));
        // One that is large and known well does, and where all are wide, all do.
        rows.push(group("large", 900.0, 20.0));
        assert_eq!(scale(&rows), Some((0.0, 920.0)));
        let wide: Vec<_> = ["a", "b", "c"].map(|name| group(name, 1.0, 500.0)).into();
        assert_eq!(scale(&wide), Some((-499.0, 501.0)));
    }

    #[test]
    fn months_have_no_time_of_the_day() {
        let row = |at: &str| (CellValue::from(at), near(5.0, 1.0));
        let shown = |rows| table(&counted(rows, CellKind::Timestamp), |_| false).into_string();
        let months = shown(vec![row("2024-01-01T00:00:00"), row("2024-02-01T00:00:00")]);
        assert!(
            months.contains("<bdi>2024-01-01</bdi>") && !months.contains("00:00"),
            "{months}"
        );
        let hours = shown(vec![row("2024-01-01T00:00:00"), row("2024-01-01T01:30:00")]);
        assert!(
            hours.contains("<bdi>2024-01-01 00:00:00</bdi>")
                && hours.contains("<bdi>2024-01-01 01:30:00</bdi>"),
            "{hours}"
        );
    }
}
