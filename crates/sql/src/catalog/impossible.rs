//! Rows that cannot be, as the curator declares them: a child with a spouse, a man who is pregnant.
//!
//! They say what no synthetic row is. No query reads them, and nothing that is measured depends on them, so a rule that the data breaks costs accuracy and never privacy.

use super::column::value;
use super::document::Node;
use super::{Cells, Table};
use crate::Error;
use crate::values::facts::{Facts, Kind, Value};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

/// More rules than this are not declared of one table.
const MOST: usize = 1_000;

/// One rule: no row has, in each of these columns, one of the values that are said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ImpossibleRows {
    /// Each column with what is said of it; at least one.
    pub columns: Vec<(String, Among)>,
}

/// Some values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Among {
    /// These.
    Values(Vec<Value>),
    /// All but these and NULL.
    Not(Vec<Value>),
    /// From this one, if it is said, to below that one, if it is.
    Between(Option<Value>, Option<Value>),
    /// NULL.
    Null,
    /// All but NULL.
    NotNull,
}

/// A cell has values of which some are meant and others are not.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PartOfCell;

/// The rules of a table.
pub(super) fn impossible(node: &Node<'_>, table: &Table) -> Result<Vec<ImpossibleRows>, Error> {
    let elements = node.array()?;
    if elements.len() > MOST {
        return Err(node.wrong(
            format!("more than {MOST} rules"),
            "list several values in one rule: { age = { below = 16 }, marital = [\"married\", \"widowed\"] }",
        ));
    }
    elements.iter().map(|element| rule(element, table)).collect()
}

fn rule(node: &Node<'_>, table: &Table) -> Result<ImpossibleRows, Error> {
    let mut columns = Vec::new();
    for (name, node) in node.section()?.named() {
        let Some(facts) = table.column(name) else {
            return Err(node.wrong(
                "the table declares no such column",
                "write its name as under `columns`, upper and lower case apart",
            ));
        };
        if table.identifies(name) {
            return Err(node.wrong(
                "this column says whose row it is, and no rows are made with it",
                "name other columns",
            ));
        }
        columns.push((name.to_owned(), among(&node, facts)?));
    }
    if columns.is_empty() {
        return Err(node.wrong(
            "a rule without columns would forbid every row",
            "write it as { age = { below = 16 }, marital = \"married\" }",
        ));
    }
    Ok(ImpossibleRows { columns })
}

fn among(node: &Node<'_>, facts: &Facts) -> Result<Among, Error> {
    if let Ok(elements) = node.array() {
        return Ok(Among::Values(listed(&elements, node, facts)?));
    }
    let Ok(mut section) = node.section() else {
        return Ok(Among::Values(vec![declared(node, facts)?]));
    };
    let (from, below) = (section.take("from"), section.take("below"));
    let (null, not) = (section.take("null"), section.take("not"));
    section.finish()?;
    const HINT: &str = "say one of: a value, a list of values, { from = 16, below = 65 }, { not = \"single\" }, { null = true }";
    match (from, below, null, not) {
        (None, None, Some(null), None) => {
            if !facts.nullable {
                return Err(null.wrong("this column is never NULL, as it is declared", "drop this rule"));
            }
            Ok(if null.flag()? { Among::Null } else { Among::NotNull })
        }
        (None, None, None, Some(not)) => {
            let values = match not.array() {
                Ok(elements) => listed(&elements, &not, facts)?,
                Err(_) => vec![declared(&not, facts)?],
            };
            Ok(Among::Not(values))
        }
        (None, None, None, None) => Err(node.wrong("nothing is said of this column", HINT)),
        (from, below, None, None) => between(node, from.as_ref(), below.as_ref(), facts),
        _ => Err(node.wrong("two things are said of one column", HINT)),
    }
}

fn between(
    node: &Node<'_>,
    from: Option<&Node<'_>>,
    below: Option<&Node<'_>>,
    facts: &Facts,
) -> Result<Among, Error> {
    if matches!(facts.kind, Kind::Bool | Kind::Text) {
        return Err(node.wrong(
            format!("values of kind {} have no order", facts.kind),
            "list them: [\"married\", \"widowed\"]",
        ));
    }
    let end = |node: Option<&Node<'_>>| node.map(|node| value(node, facts.kind)).transpose();
    let (from, below) = (end(from)?, end(below)?);
    if let (Some(from), Some(below)) = (&from, &below)
        && order(from, below) != Ordering::Less
    {
        return Err(node.wrong(
            "no value is from there and below that",
            "write the lower end as `from`, and the first value that is beyond as `below`",
        ));
    }
    Ok(Among::Between(from, below))
}

fn listed(elements: &[Node<'_>], node: &Node<'_>, facts: &Facts) -> Result<Vec<Value>, Error> {
    if elements.is_empty() {
        return Err(node.wrong("an empty list of values", "list one at least"));
    }
    elements.iter().map(|element| declared(element, facts)).collect()
}

/// A value that the column may have. One that is mistyped would make a rule that forbids nothing.
fn declared(node: &Node<'_>, facts: &Facts) -> Result<Value, Error> {
    let value = value(node, facts.kind)?;
    match &facts.values {
        Some(values) if !values.contains(&value) => Err(node.wrong(
            "this is none of the declared `values` of the column",
            "write one that is listed there",
        )),
        Some(_) => Ok(value),
        None if facts.kind == Kind::Bool || facts.kind == Kind::Int => Ok(value),
        None => Err(node.wrong(
            "single values are named of columns with `values`, of whole numbers and of true and false",
            "name a range: { from = 0.5, below = 2 }",
        )),
    }
}

/// The order of two values of one kind.
fn order(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Int(one), Value::Int(other)) | (Value::Timestamp(one), Value::Timestamp(other)) => {
            one.cmp(other)
        }
        (Value::Date(one), Value::Date(other)) => one.cmp(other),
        (Value::Float(one), Value::Float(other)) => one.total_cmp(other),
        _ => Ordering::Equal,
    }
}

impl Among {
    /// Whether this value is meant.
    fn has(&self, value: &Value) -> bool {
        match self {
            Self::Null => *value == Value::Null,
            _ if *value == Value::Null => false,
            Self::NotNull => true,
            Self::Values(values) => values.contains(value),
            Self::Not(values) => !values.contains(value),
            Self::Between(from, below) => {
                let above = |end: &Value| order(value, end) != Ordering::Less;
                from.as_ref().is_none_or(above) && !below.as_ref().is_some_and(above)
            }
        }
    }

    /// Where bins of numbers are cut, so that each is meant as a whole or not at all. A bin has its lower edge and not its upper one.
    pub(crate) fn cuts(&self) -> Vec<Value> {
        match self {
            Self::Null | Self::NotNull => Vec::new(),
            Self::Between(from, below) => [from, below].into_iter().flatten().cloned().collect(),
            Self::Values(values) | Self::Not(values) => values
                .iter()
                .filter_map(|value| match value {
                    Value::Int(value) => Some([Value::Int(*value), Value::Int(value.checked_add(1)?)]),
                    _ => None,
                })
                .flatten()
                .collect(),
        }
    }

    /// The cells of which all values are meant.
    ///
    /// # Errors
    /// When of some cell a part is meant.
    pub(crate) fn codes(&self, cells: &Cells) -> Result<Vec<u32>, PartOfCell> {
        let mut codes = BTreeSet::new();
        if let Some(values) = cells.listed() {
            codes.extend((0..values.len()).filter(|place| self.has(&values[*place])));
        }
        if let Some((edges, closed, open)) = cells.edges() {
            // Bins that are cut at each end that is meant have values of one kind; so of periods, where an end is the beginning of one.
            let cuts = self.cuts();
            for (place, pair) in edges.windows(2).enumerate() {
                let last = closed && place + 2 == edges.len();
                let within = |cut: &Value| {
                    let below = order(cut, &pair[1]);
                    order(cut, &pair[0]) == Ordering::Greater
                        && (below == Ordering::Less || (last && below == Ordering::Equal))
                };
                if cuts.iter().any(within) {
                    return Err(PartOfCell);
                }
                if self.has(&pair[0]) {
                    codes.insert(place + usize::from(open));
                }
            }
            if open {
                // What lies beyond the edges is known where every value, or none, is meant.
                match self {
                    Self::Null => {}
                    Self::NotNull => codes.extend([0, edges.len()]),
                    _ => return Err(PartOfCell),
                }
            }
        }
        if let (Some(null), Self::Null) = (cells.null(), self) {
            codes.insert(null);
        }
        Ok(codes
            .into_iter()
            .map(|code| u32::try_from(code).unwrap_or(u32::MAX))
            .collect())
    }
}

impl Cells {
    /// The same bins of numbers, cut at these values too. Cells of other kinds stay as they are.
    pub(crate) fn cut(&self, at: &[Value]) -> Self {
        let Some((edges, true, false)) = self.edges() else {
            return self.clone();
        };
        let (Some(first), Some(last)) = (edges.first(), edges.last()) else {
            return self.clone();
        };
        if !matches!(first, Value::Int(_) | Value::Float(_)) {
            return self.clone();
        }
        let mut cut = edges.to_vec();
        for value in at {
            let known = cut.iter().filter(|edge| *edge == value).count();
            // The last edge is in the last bin; where something begins at it, it gets a bin of its own.
            let wanted = if value == last { 2 } else { 1 };
            let inside = order(value, first) == Ordering::Greater && order(value, last) != Ordering::Greater;
            if inside && known < wanted {
                cut.push(value.clone());
            }
        }
        cut.sort_by(order);
        Self::between(cut, false, self.null().is_some())
    }
}

impl fmt::Display for ImpossibleRows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, among)) in self.columns.iter().enumerate() {
            let and = if place > 0 { " and " } else { "" };
            write!(formatter, "{and}{name} {among}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Among {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |values: &[Value]| {
            let texts: Vec<String> = values.iter().map(super::release::text_of).collect();
            texts.join(" or ")
        };
        let text = super::release::text_of;
        match self {
            Self::Values(values) => formatter.write_str(&listed(values)),
            Self::Not(values) => write!(formatter, "not {}", listed(values)),
            Self::Between(Some(from), Some(below)) => {
                write!(formatter, "from {} to below {}", text(from), text(below))
            }
            Self::Between(Some(from), None) => write!(formatter, "from {}", text(from)),
            Self::Between(None, Some(below)) => write!(formatter, "below {}", text(below)),
            Self::Between(None, None) | Self::NotNull => formatter.write_str("not NULL"),
            Self::Null => formatter.write_str("NULL"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(numbers: &[i64]) -> Vec<Value> {
        numbers.iter().map(|number| Value::Int(*number)).collect()
    }

    fn below(number: i64) -> Among {
        Among::Between(None, Some(Value::Int(number)))
    }

    #[test]
    fn bins_are_cut_where_something_is_meant() {
        let ages = Cells::between(ints(&[0, 10, 20, 30]), false, true);
        assert_eq!(below(16).codes(&ages), Err(PartOfCell));
        let cut = ages.cut(&below(16).cuts());
        assert_eq!((cut.len(), below(16).codes(&cut)), (5, Ok(vec![0, 1])));
        assert_eq!(Among::Null.codes(&cut), Ok(vec![4]));
        assert_eq!(Among::NotNull.codes(&cut), Ok(vec![0, 1, 2, 3]));
        assert_eq!(Among::NotNull.codes(&ages), Ok(vec![0, 1, 2]));
        // At an edge that is there nothing is cut, nor beyond.
        for number in [10, 0, -5, 31] {
            assert_eq!(ages.cut(&below(number).cuts()), ages, "{number}");
        }
        assert_eq!(below(31).codes(&ages), Ok(vec![0, 1, 2]));
        assert_eq!(below(-5).codes(&ages), Ok(vec![]));
        // The last edge is in the last bin.
        assert_eq!(below(30).codes(&ages), Err(PartOfCell));
        let cut = ages.cut(&below(30).cuts());
        assert_eq!((cut.len(), below(30).codes(&cut)), (5, Ok(vec![0, 1, 2])));
        assert_eq!(cut.cut(&below(30).cuts()), cut);
        let from = Among::Between(Some(Value::Int(30)), None);
        assert_eq!(from.codes(&cut), Ok(vec![3]));
        let one = Among::Values(ints(&[7]));
        let cut = ages.cut(&one.cuts());
        assert_eq!((cut.len(), one.codes(&cut)), (6, Ok(vec![1])));
        assert_eq!(Among::Not(ints(&[7])).codes(&cut), Ok(vec![0, 2, 3, 4]));
        let floats = Cells::between(vec![Value::Float(0.0), Value::Float(2.0)], false, false);
        let half = Among::Between(Some(Value::Float(0.5)), None);
        assert_eq!(half.codes(&floats.cut(&half.cuts())), Ok(vec![1]));
    }

    #[test]
    fn periods_are_meant_as_a_whole_or_not_at_all() {
        let months = Cells::periods(
            vec![Value::Date(0), Value::Date(31), Value::Date(59)],
            "month",
            false,
        );
        let below = |day: i32| Among::Between(None, Some(Value::Date(day)));
        assert_eq!(below(31).codes(&months), Ok(vec![0]));
        assert_eq!(below(59).codes(&months), Ok(vec![0, 1]));
        assert_eq!(below(40).codes(&months.cut(&below(40).cuts())), Err(PartOfCell));
    }

    #[test]
    fn listed_values_are_found() {
        let text = |text: &str| Value::Text(text.into());
        let cells = Cells::values(vec![text("single"), text("married"), text("widowed")], true);
        assert_eq!(Among::Values(vec![text("married")]).codes(&cells), Ok(vec![1]));
        assert_eq!(Among::Not(vec![text("single")]).codes(&cells), Ok(vec![1, 2]));
        assert_eq!(Among::Null.codes(&cells), Ok(vec![3]));
        let ages = Cells::values(ints(&[14, 15, 16]), false);
        assert_eq!(below(16).codes(&ages), Ok(vec![0, 1]));
        assert_eq!(Among::Null.codes(&ages), Ok(vec![]));
        let rule = ImpossibleRows {
            columns: vec![
                ("age".to_owned(), below(16)),
                ("marital".to_owned(), Among::Not(vec![text("single")])),
            ],
        };
        assert_eq!(rule.to_string(), "age below 16 and marital not single");
    }
}
