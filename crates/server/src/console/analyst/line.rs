//! An answer as lines: over time, or over numbers that the query grouped by and put in order.
//!
//! Each column has a figure of its own, because a count and a mean share no scale. If nothing was released,
//! the line is broken and the page says what is missing.

use super::result::{ends, includes_cut, is_number, range_of};
use chrono::{DateTime, NaiveDate, NaiveDateTime};
use report::{Figure, Scale, Whisker, grouped};
use sql::{Answer, AnswerColumn, Cell, CellKind};

/// More figures are not read; the table has all columns.
const MOST_FIGURES: usize = 4;
/// More whiskers would touch; a band shows the same.
const MOST_WHISKERS: usize = 40;
/// Fewer points are no line.
const FEWEST: usize = 3;
/// Gaps that are listed one by one.
const MOST_GAPS: usize = 4;

/// The figures of an answer, and what is missing in them.
pub(super) struct Lines {
    /// With the place of the column that each shows.
    pub(super) figures: Vec<(usize, Figure)>,
    pub(super) missing: Vec<String>,
}

/// A row with the place of its key on the axis.
type Placed<'a> = (f64, &'a [Cell]);

/// Lines, where the first column is an order and no measurement.
pub(super) fn of(answer: &Answer) -> Option<Lines> {
    let key = answer.columns.first().filter(|column| column.is_label())?;
    let over_time = matches!(key.kind, CellKind::Date | CellKind::Timestamp);
    if !over_time && !is_number(key.kind) {
        return None;
    }
    let mut rows: Vec<Placed<'_>> = answer
        .rows
        .iter()
        .filter_map(|row| Some((place(key.kind, row.first()?)?, row.as_slice())))
        .collect();
    let without_key = answer.rows.len() - rows.len();
    if over_time {
        // Time has one order, whatever order the rows have.
        rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    } else if without_key > 0 {
        return None;
    }
    if rows.len() < FEWEST || !rows.windows(2).all(|pair| pair[0].0 < pair[1].0) {
        return None;
    }
    let gaps = if over_time { gaps(&rows) } else { Vec::new() };
    let shown = answer.columns.iter().enumerate().skip(1);
    let shown = shown.filter(|(_, column)| !column.is_label() && is_number(column.kind));
    let figures: Vec<(usize, Figure)> = shown
        .take(MOST_FIGURES)
        .map(|(place, _)| (place, figure(answer, over_time, place, &rows, &gaps)))
        .collect();
    if figures.is_empty() {
        return None;
    }
    let mut missing = Vec::new();
    if without_key > 0 {
        missing.push(format!(
            "{} where `{}` is NULL {} no place on the line, and stands in the table alone",
            counted(without_key, "row"),
            key.name,
            if without_key == 1 { "has" } else { "have" }
        ));
    }
    missing.extend(in_words(&gaps));
    for (place, _) in &figures {
        missing.extend(without_interval(*place, &answer.columns[*place], &rows));
        missing.extend(beyond_the_figure(&answer.columns[*place], *place, &rows));
        if rows.len() <= MOST_WHISKERS && includes_cut(answer, *place) {
            missing.push(format!(
                "the solid strokes of `{}` are noise, and the dashed ones go on as far as what the limits may have cut",
                answer.columns[*place].name
            ));
        }
    }
    Some(Lines { figures, missing })
}

/// Where a key lies: a number by itself, a moment in seconds since 1970.
fn place(kind: CellKind, cell: &Cell) -> Option<f64> {
    let text = || cell.value.as_str();
    match kind {
        CellKind::Date => {
            let date = NaiveDate::parse_from_str(text()?, "%Y-%m-%d").ok()?;
            Some(date.and_hms_opt(0, 0, 0)?.and_utc().timestamp() as f64)
        }
        CellKind::Timestamp => {
            let moment = NaiveDateTime::parse_from_str(text()?, "%Y-%m-%dT%H:%M:%S%.f").ok()?;
            Some(moment.and_utc().timestamp_micros() as f64 / 1e6)
        }
        _ => cell.value.as_f64().filter(|value| value.is_finite()),
    }
}

/// Between which moments rows are missing, where most of them are equally far apart.
fn gaps(rows: &[Placed<'_>]) -> Vec<(f64, f64)> {
    let steps: Vec<f64> = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let mut sorted = steps.clone();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted[sorted.len() / 2];
    // Months differ by a tenth.
    let alike = steps
        .iter()
        .filter(|step| (0.8 * usual..=1.2 * usual).contains(*step));
    if 3 * alike.count() < 2 * steps.len() {
        return Vec::new();
    }
    let pairs = rows.windows(2).map(|pair| (pair[0].0, pair[1].0));
    pairs.filter(|(from, to)| to - from > 1.5 * usual).collect()
}

fn figure(
    answer: &Answer,
    over_time: bool,
    place: usize,
    rows: &[Placed<'_>],
    gaps: &[(f64, f64)],
) -> Figure {
    let (key, column) = (&answer.columns[0], &answer.columns[place]);
    let scale = if over_time { Scale::Time } else { Scale::Linear };
    let figure = Figure::new(format!("{} by {}", column.name, key.name))
        .x_axis(&key.name, scale)
        .y_axis(&column.name, Scale::Linear);
    // What has no number has no place, and breaks the line.
    let breaks = |at: f64| {
        gaps.iter()
            .find(|(_, to)| *to == at)
            .map(|(from, to)| (from + to) / 2.0)
    };
    let range = range(column, place, rows);
    let within = |at: f64| at.clamp(range.0, range.1);
    let few = rows.len() <= MOST_WHISKERS;
    let apart = few && includes_cut(answer, place);
    let mut points = Vec::new();
    let mut intervals = Vec::new();
    let mut beyond = Vec::new();
    for (at, row) in rows {
        if let Some(middle) = breaks(*at) {
            points.push((middle, f64::NAN));
            intervals.push((middle, f64::NAN, f64::NAN));
        }
        let value = row[place].value.as_f64();
        let seen = value.filter(|value| (range.0..=range.1).contains(value));
        points.push((*at, seen.unwrap_or(f64::NAN)));
        let Some(ends) = ends(column, &row[place]) else {
            intervals.push((*at, f64::NAN, f64::NAN));
            continue;
        };
        let whisker = match value {
            Some(value) if apart => Whisker::apart(value, ends),
            _ => Whisker::of(ends),
        };
        let (low, high) = whisker.noise();
        intervals.push((*at, within(low), within(high)));
        beyond.extend(
            whisker
                .beyond()
                .map(|(near, far)| (*at, within(near), within(far))),
        );
    }
    let figure = match few {
        true => figure
            .whiskers(&column.name, &intervals)
            .beyond(&column.name, &beyond),
        false => figure.band(&column.name, &intervals),
    };
    let figure = figure.line(&column.name, &points);
    if few {
        figure.points(&column.name, &points)
    } else {
        figure
    }
}

/// What the figure of a column shows.
fn range(column: &AnswerColumn, place: usize, rows: &[Placed<'_>]) -> (f64, f64) {
    let range = range_of(column, rows.iter().map(|(_, row)| &row[place]));
    range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY))
}

fn beyond_the_figure(column: &AnswerColumn, place: usize, rows: &[Placed<'_>]) -> Option<String> {
    let (least, most) = range(column, place, rows);
    let ends = rows.iter().filter_map(|(_, row)| ends(column, &row[place]));
    let beyond = ends.filter(|(low, high)| *low < least || *high > most).count();
    (beyond > 0).then(|| {
        format!(
            "the {} of {} of `{}` {} beyond the figure: too few rows to tell",
            if beyond == 1 { "interval" } else { "intervals" },
            counted(beyond, "point"),
            column.name,
            if beyond == 1 { "goes" } else { "go" },
        )
    })
}

fn in_words(gaps: &[(f64, f64)]) -> Vec<String> {
    const DAY: f64 = 24.0 * 60.0 * 60.0;
    let written = |at: f64| {
        let moment = DateTime::from_timestamp(at as i64, 0);
        let format = if at % DAY == 0.0 {
            "%Y-%m-%d"
        } else {
            "%Y-%m-%d %H:%M:%S"
        };
        moment.map_or_else(String::new, |moment| moment.format(format).to_string())
    };
    let mut words: Vec<String> = gaps
        .iter()
        .take(MOST_GAPS)
        .map(|(from, to)| {
            format!(
                "there is no row between {} and {}, so the line is broken there",
                written(*from),
                written(*to)
            )
        })
        .collect();
    if gaps.len() > MOST_GAPS {
        words.push(format!("there are {} more such gaps", gaps.len() - MOST_GAPS));
    }
    words
}

fn without_interval(place: usize, column: &AnswerColumn, rows: &[Placed<'_>]) -> Option<String> {
    let values = rows.iter().filter(|(_, row)| row[place].value.as_f64().is_some());
    let lacking = values
        .filter(|(_, row)| ends(column, &row[place]).is_none())
        .count();
    (lacking > 0).then(|| {
        format!(
            "{} of {} of `{}` have no interval",
            grouped(lacking as u64),
            counted(rows.len(), "point"),
            column.name
        )
    })
}

fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::CellValue;

    fn answer(kind: CellKind, keys: &[Option<CellValue>]) -> Answer {
        let column = |name: &str, kind, noisy| AnswerColumn {
            name: name.to_owned(),
            kind,
            noisy,
            chosen: false,
            no_interval: None,
        };
        let row = |(number, key): (usize, &Option<CellValue>)| {
            let exact = Cell {
                value: key.clone().unwrap_or(CellValue::Null),
                low: None,
                high: None,
            };
            let value = 10.0 + number as f64;
            // The second has no interval.
            let around = (number != 1).then_some(value);
            let noisy = Cell {
                value: value.into(),
                low: around.map(|value| value - 1.0),
                high: around.map(|value| value + 1.0),
            };
            vec![exact, noisy]
        };
        Answer {
            columns: vec![column("at", kind, false), column("n", CellKind::Float, true)],
            rows: keys.iter().enumerate().map(row).collect(),
            confidence: 0.95,
            bounds: Vec::new(),
            cut: Vec::new(),
            notes: Vec::new(),
            cost: None,
        }
    }

    fn texts(keys: &[&str]) -> Vec<Option<CellValue>> {
        keys.iter().map(|key| Some(CellValue::from(*key))).collect()
    }

    #[test]
    fn dates_are_a_line_in_their_own_order_with_what_is_missing() {
        let mut keys = texts(&[
            "2024-03-01",
            "2024-01-01",
            "2024-02-01",
            "2024-04-01",
            "2024-08-01",
            "2024-09-01",
        ]);
        keys.push(None);
        let lines = of(&answer(CellKind::Date, &keys)).unwrap();
        assert_eq!(lines.figures.len(), 1);
        let svg = lines.figures[0].1.to_svg_without_style();
        assert!(svg.contains(">2024-03<") || svg.contains(">2024-04<"), "{svg}");
        assert!(svg.contains("whisker") && !svg.contains("NaN"), "{svg}");
        assert_eq!(
            lines.missing,
            [
                "1 row where `at` is NULL has no place on the line, and stands in the table alone",
                "there is no row between 2024-04-01 and 2024-08-01, so the line is broken there",
                "1 of 6 points of `n` have no interval",
            ]
        );
    }

    #[test]
    fn moments_and_many_points_have_a_band() {
        let keys: Vec<String> = (0..60)
            .map(|minute| format!("2024-02-29T12:{minute:02}:00.5"))
            .collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let lines = of(&answer(CellKind::Timestamp, &texts(&keys))).unwrap();
        let svg = lines.figures[0].1.to_svg_without_style();
        assert!(svg.contains("band") && svg.contains(">12:15<"), "{svg}");
    }

    #[test]
    fn an_empty_month_does_not_flatten_the_others() {
        let keys = texts(&[
            "2024-01-01",
            "2024-02-01",
            "2024-03-01",
            "2024-04-01",
            "2024-05-01",
        ]);
        let mut answer = answer(CellKind::Date, &keys);
        answer.rows[4][1] = Cell {
            value: 3.0.into(),
            low: Some(0.0),
            high: Some(50_000.0),
        };
        let lines = of(&answer).unwrap();
        let svg = lines.figures[0].1.to_svg_without_style();
        assert!(svg.contains(">12<") && !svg.contains("000<"), "{svg}");
        assert_eq!(
            lines.missing[1],
            "the interval of 1 point of `n` goes beyond the figure: too few rows to tell"
        );
    }

    #[test]
    fn noise_and_what_was_cut_are_drawn_apart() {
        let keys = texts(&["2024-01-01", "2024-02-01", "2024-03-01"]);
        let mut answer = answer(CellKind::Date, &keys);
        answer.rows[0][1].high = Some(20.0);
        let svg = |answer: &Answer| of(answer).unwrap().figures[0].1.to_svg_without_style();
        assert!(!svg(&answer).contains("beyond"));
        answer.bounds.push(sql::ColumnBounds {
            column: "n".to_owned(),
            unit: "person".to_owned(),
            rows_per_unit: Some(2),
            groups_per_unit: Some(2),
            rows_in_all_groups: None,
            sums_in_all_groups: Vec::new(),
            distinct_per_unit: None,
            clamps: Vec::new(),
            unit_sums: Vec::new(),
            left_out: Vec::new(),
            interval_of: sql::IntervalOf::WholeData,
            interval_within_times: Some(4),
            interval_if_alike: false,
            words: String::new(),
        });
        assert_eq!(svg(&answer).matches("whisker beyond").count(), 1);
        let told = of(&answer).unwrap().missing;
        assert!(told.iter().any(|words| words.contains("dashed")), "{told:?}");
    }

    #[test]
    fn what_has_no_order_is_no_line() {
        assert!(of(&answer(CellKind::Text, &texts(&["a", "b", "c"]))).is_none());
        assert!(of(&answer(CellKind::Date, &texts(&["2024-01-01", "2024-02-01"]))).is_none());
        let twice = ["2024-01-01", "2024-01-01", "2024-02-01"];
        assert!(of(&answer(CellKind::Date, &texts(&twice))).is_none());
        let numbers = |values: &[i64]| {
            values
                .iter()
                .map(|value| Some(CellValue::Int(*value)))
                .collect::<Vec<_>>()
        };
        assert!(
            of(&answer(CellKind::Int, &numbers(&[1, 2, 5, 10])))
                .unwrap()
                .missing
                .len()
                == 1
        );
        assert!(of(&answer(CellKind::Int, &numbers(&[3, 1, 2]))).is_none());
        // Irregular days have no gaps.
        let days = ["2024-01-01", "2024-01-02", "2024-01-09", "2024-03-01"];
        assert_eq!(
            of(&answer(CellKind::Date, &texts(&days))).unwrap().missing.len(),
            1
        );
    }
}
