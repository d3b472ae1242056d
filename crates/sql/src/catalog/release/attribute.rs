//! An attribute of a planned release: all cells that its values fall into, each value into one or into none.

use crate::values::facts::{Kind, Value};
use crate::values::scalar::calendar::{civil, day_as_text, moment_as_text};

/// What rows of a release are told apart by.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Its name in the release.
    pub name: String,
    /// The column that it is read from, as the table declares it.
    pub column: String,
    /// The kind of that column.
    pub kind: Kind,
    /// Which cells there are.
    pub cells: Cells,
    /// Where its values are the finest level of a hierarchy, the others, from a public table.
    pub hierarchy: Option<Hierarchy>,
}

/// The coarser levels of an attribute, in a public table that has a row for each of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// The public table, by name in lower case.
    pub table: String,
    /// Its columns from the coarsest to the finest, which has the attribute's own values.
    pub levels: Vec<String>,
}

/// The cells of an attribute: disjoint sets of values. A value in none of them is in no cell of any table.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    parts: Parts,
    /// Whether NULL has a cell of its own, the last one.
    null: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Parts {
    /// One value each.
    Values(Vec<Value>),
    /// Half-open intervals between neighbouring edges; the last one has its upper edge too, if `closed`. With `open`, also what is below the first edge and what is not below the last.
    Between {
        edges: Vec<Value>,
        closed: bool,
        open: bool,
        /// The name of the period that each of them is, of days and moments.
        period: Option<String>,
    },
}

/// What a cell is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// For people.
    pub text: String,
    /// The value, where the cell has one alone.
    pub value: Option<Value>,
}

impl Cells {
    /// A cell for each of these values, and for NULL if there is any.
    pub(in crate::catalog) fn values(values: Vec<Value>, null: bool) -> Self {
        Self {
            parts: Parts::Values(values),
            null,
        }
    }

    /// A cell for each interval between edges, which ascend. `open`: and for what lies beyond.
    pub(in crate::catalog) fn between(edges: Vec<Value>, open: bool, null: bool) -> Self {
        Self {
            parts: Parts::Between {
                edges,
                closed: !open,
                open,
                period: None,
            },
            null,
        }
    }

    /// A cell for each period that begins at one of these edges; the last edge ends the last period, and is no part of it.
    pub(in crate::catalog) fn periods(edges: Vec<Value>, period: &str, null: bool) -> Self {
        Self {
            parts: Parts::Between {
                edges,
                closed: false,
                open: false,
                period: Some(period.to_owned()),
            },
            null,
        }
    }

    /// How many cells there are.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one")]
    pub fn len(&self) -> usize {
        let parts = match &self.parts {
            Parts::Values(values) => values.len(),
            Parts::Between { edges, open, .. } => edges.len() - 1 + if *open { 2 } else { 0 },
        };
        parts + usize::from(self.null)
    }

    /// The values that have a cell each, without NULL; `None` where cells are intervals.
    pub(crate) fn listed(&self) -> Option<&[Value]> {
        match &self.parts {
            Parts::Values(values) => Some(values),
            Parts::Between { .. } => None,
        }
    }

    /// The edges between cells; whether the last one belongs to the last cell; and whether there are cells beyond.
    pub(crate) fn edges(&self) -> Option<(&[Value], bool, bool)> {
        match &self.parts {
            Parts::Values(_) => None,
            Parts::Between {
                edges, closed, open, ..
            } => Some((edges, *closed, *open)),
        }
    }

    /// The cell of NULL, if it has one.
    pub(crate) fn null(&self) -> Option<usize> {
        self.null.then(|| self.len() - 1)
    }

    /// The cell of a value, which the labels give back.
    pub(crate) fn place_of(&self, value: &Value) -> Option<usize> {
        match value {
            Value::Null => self.null(),
            value => self.listed()?.iter().position(|one| one == value),
        }
    }

    /// The names of the cells, in their order.
    pub fn labels(&self) -> Vec<Label> {
        let mut labels: Vec<Label> = match &self.parts {
            Parts::Values(values) => values
                .iter()
                .map(|value| Label {
                    text: text_of(value),
                    value: Some(value.clone()),
                })
                .collect(),
            Parts::Between {
                edges,
                closed,
                open,
                period,
            } => intervals(edges, *closed, *open, period.as_deref()),
        };
        if self.null {
            labels.push(Label {
                text: "∅".to_owned(),
                value: Some(Value::Null),
            });
        }
        labels
    }
}

/// A value as people write it.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "∅".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => text.clone(),
        Value::Date(days) => day_as_text(i64::from(*days)),
        Value::Timestamp(moment) => moment_as_text(*moment),
    }
}

fn intervals(edges: &[Value], closed: bool, open: bool, period: Option<&str>) -> Vec<Label> {
    let mut labels = Vec::new();
    let plain = |text: String| Label { text, value: None };
    if let (true, Some(first)) = (open, edges.first()) {
        labels.push(plain(format!("below {}", text_of(first))));
    }
    for (place, pair) in edges.windows(2).enumerate() {
        let last = closed && place + 2 == edges.len();
        labels.push(plain(match (&pair[0], &pair[1], period) {
            (start, _, Some(period)) => name_of_period(start, period),
            // Of whole numbers the last one in an interval is known.
            (Value::Int(low), Value::Int(high), None) => match high - i64::from(!last) {
                high if high == *low => low.to_string(),
                high => format!("{low} to {high}"),
            },
            (low, high, None) if last => format!("{} to {}", text_of(low), text_of(high)),
            (low, high, None) => format!("{} to below {}", text_of(low), text_of(high)),
        }));
    }
    if let (true, Some(last)) = (open, edges.last()) {
        labels.push(plain(format!("{} and more", text_of(last))));
    }
    labels
}

/// What a period is called: a month as 2026-11.
fn name_of_period(start: &Value, period: &str) -> String {
    let days = match start {
        Value::Date(days) => i64::from(*days),
        Value::Timestamp(moment) => moment.div_euclid(crate::values::scalar::calendar::DAY),
        other => return text_of(other),
    };
    let (year, month, _) = civil(days);
    match period {
        "month" => format!("{year:04}-{month:02}"),
        "quarter" => format!("{year:04}-Q{}", (month - 1) / 3 + 1),
        "year" => format!("{year:04}"),
        "week" => format!("week of {}", day_as_text(days)),
        _ => day_as_text(days),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(cells: &Cells) -> Vec<String> {
        assert_eq!(cells.labels().len(), cells.len());
        cells.labels().into_iter().map(|label| label.text).collect()
    }

    #[test]
    fn cells_have_names() {
        let ints = |numbers: &[i64]| numbers.iter().map(|number| Value::Int(*number)).collect();
        assert_eq!(
            texts(&Cells::between(ints(&[0, 18, 19, 65]), false, true)),
            ["0 to 17", "18", "19 to 65", "∅"]
        );
        assert_eq!(
            texts(&Cells::between(ints(&[18, 65]), true, false)),
            ["below 18", "18 to 64", "65 and more"]
        );
        let floats = vec![Value::Float(0.0), Value::Float(0.5), Value::Float(2.0)];
        assert_eq!(
            texts(&Cells::between(floats, false, false)),
            ["0 to below 0.5", "0.5 to 2"]
        );
        let months = vec![Value::Date(0), Value::Date(31), Value::Date(59)];
        assert_eq!(
            texts(&Cells::periods(months, "month", false)),
            ["1970-01", "1970-02"]
        );
        let listed = Cells::values(vec![Value::Bool(false), Value::Bool(true)], true);
        assert_eq!(texts(&listed), ["false", "true", "∅"]);
        assert_eq!(listed.place_of(&Value::Null), Some(2));
        assert_eq!(listed.place_of(&Value::Bool(true)), Some(1));
        assert_eq!(listed.place_of(&Value::Int(1)), None);
    }
}
