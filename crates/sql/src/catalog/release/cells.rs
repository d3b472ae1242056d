//! Reads the attributes of a release: which cells each has.

use super::MOST_ATTRIBUTES;
use super::attribute::{Attribute, Cells, Hierarchy};
use super::read::Known;
use crate::Error;
use crate::catalog::document::{Node, Section};
use crate::catalog::{Owner, Table};
use crate::values::facts::{Facts, Kind, Value};
use crate::values::scalar::calendar;
use std::collections::BTreeSet;

/// More cells than this are not listed of one attribute.
const MOST_CELLS: usize = 10_000;

pub(super) fn attributes(
    section: &mut Section<'_>,
    table: &Table,
    known: &Known<'_>,
) -> Result<Vec<Attribute>, Error> {
    const HINT: &str = "list them as [releases.NAME.attributes] with lines such as sex = {} for a column with declared values, or age = { bins = [0, 18, 65, 120] }";
    let node = section.need("attributes", HINT)?;
    let mut attributes: Vec<Attribute> = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, node) in node.section()?.named() {
        if name.trim().is_empty() || name.contains(',') {
            return Err(node.wrong("this cannot be the name of an attribute", HINT));
        }
        if !seen.insert(name.to_lowercase()) {
            return Err(node.wrong(
                "another attribute differs from this one in upper and lower case only",
                "rename one of them",
            ));
        }
        attributes.push(attribute(name, &node, table, known)?);
    }
    if attributes.is_empty() {
        return Err(node.wrong("no attributes", HINT));
    }
    if attributes.len() > MOST_ATTRIBUTES {
        return Err(node.wrong(
            format!(
                "{} attributes, and at most {MOST_ATTRIBUTES} are planned together",
                attributes.len()
            ),
            "make two releases of them",
        ));
    }
    Ok(attributes)
}

fn attribute(name: &str, node: &Node<'_>, table: &Table, known: &Known<'_>) -> Result<Attribute, Error> {
    let mut section = node.section()?;
    let column = match section.take("column") {
        Some(node) => node.name()?.to_owned(),
        None => name.to_owned(),
    };
    let Some(facts) = table.column(&column) else {
        return Err(node.wrong(
            format!("the table declares no column `{column}`"),
            "say column = \"…\" as it is written there, upper and lower case apart",
        ));
    };
    if table.identifies(&column) {
        return Err(node.wrong(
            "this column says whose row it is, and tables with a cell for each person are never released",
            "choose columns that many share",
        ));
    }
    let hierarchy = match section.take("hierarchy") {
        None => None,
        Some(node) => Some(hierarchy(&node, &mut section, &column, facts, known)?),
    };
    let cells = cells(&mut section, node, facts)?;
    if cells.len() > MOST_CELLS {
        return Err(node.wrong(
            format!(
                "{} cells of one attribute, and at most {MOST_CELLS} are planned",
                cells.len()
            ),
            "use wider bins, or longer periods",
        ));
    }
    if hierarchy.is_some() && cells.listed().is_none() {
        return Err(node.wrong(
            "a hierarchy is over values, and these are bins",
            "drop `bins`, `width` and `period`, or the hierarchy",
        ));
    }
    section.finish()?;
    Ok(Attribute {
        name: name.to_owned(),
        column,
        kind: facts.kind,
        cells,
        hierarchy,
    })
}

/// The coarser levels of an attribute.
fn hierarchy(
    node: &Node<'_>,
    section: &mut Section<'_>,
    column: &str,
    facts: &Facts,
    known: &Known<'_>,
) -> Result<Hierarchy, Error> {
    let table = node.name()?.to_lowercase();
    let public = known
        .tables
        .get(&table)
        .filter(|declared| declared.table.owner == Owner::Public);
    let Some(public) = public else {
        return Err(node.wrong(
            "there is no such public table",
            "name a table with public = true that has a row for each value of the column",
        ));
    };
    let levels = section.need(
        "levels",
        "list the columns of the hierarchy from the coarsest to the finest: levels = [\"country\", \"region\"]",
    )?;
    let mut names = Vec::new();
    for level in levels.array()? {
        let name = level.name()?;
        match public.table.column(name) {
            None => {
                return Err(level.wrong(
                    "the public table declares no such column",
                    "names are compared as written, upper and lower case apart",
                ));
            }
            Some(_) if names.iter().any(|other| other == name) => {
                return Err(level.wrong("this level is named twice", "name each level once"));
            }
            Some(_) => names.push(name.to_owned()),
        }
    }
    let finest = names.last().and_then(|name| public.table.column(name));
    if names.len() < 2 || finest.map(|finest| finest.kind) != Some(facts.kind) {
        return Err(levels.wrong(
            format!("the last of at least two levels has the values of `{column}`, so it is of its kind"),
            "list the columns from the coarsest to the finest: levels = [\"country\", \"region\"]",
        ));
    }
    Ok(Hierarchy { table, levels: names })
}

fn cells(section: &mut Section<'_>, node: &Node<'_>, facts: &Facts) -> Result<Cells, Error> {
    let (bins, width, period) = (
        section.take("bins"),
        section.take("width"),
        section.take("period"),
    );
    let beyond = match section.take("beyond") {
        Some(node) => node.flag()?,
        None => false,
    };
    let stated = [&bins, &width, &period].into_iter().flatten().count();
    if stated > 1 {
        return Err(node.wrong(
            "`bins`, `width` and `period` are three ways to say one thing",
            "keep one of them",
        ));
    }
    if beyond && bins.is_none() && width.is_none() {
        return Err(node.wrong(
            "`beyond` is for bins of numbers",
            "drop it, or say bins = [18, 30, 65]",
        ));
    }
    if let Some(node) = bins {
        return Ok(Cells::between(edges(&node, facts)?, beyond, facts.nullable));
    }
    if let Some(node) = width {
        return Ok(Cells::between(even_edges(&node, facts)?, beyond, facts.nullable));
    }
    if let Some(node) = period {
        return periods(&node, facts);
    }
    let values = values(facts).ok_or_else(|| {
        node.wrong(
            "nothing says which values this attribute has",
            match facts.kind {
                Kind::Int | Kind::Float => {
                    "say bins = [0, 18, 65, 120] or width = 10 here, or declare `values` of the column"
                }
                Kind::Date | Kind::Timestamp => {
                    "say period = \"month\" here, and declare `bounds` of the column"
                }
                Kind::Text | Kind::Bool => "declare `values` of the column",
            },
        )
    })?;
    Ok(Cells::values(values, facts.nullable))
}

/// All values of a column, if the catalog says them.
fn values(facts: &Facts) -> Option<Vec<Value>> {
    if let Some(values) = &facts.values {
        return Some(values.to_vec());
    }
    match (facts.kind, facts.range) {
        (Kind::Bool, _) => Some(vec![Value::Bool(false), Value::Bool(true)]),
        (Kind::Int, Some(range)) if range.high - range.low < MOST_CELLS as f64 => {
            Some((range.low as i64..=range.high as i64).map(Value::Int).collect())
        }
        _ => None,
    }
}

const ASCENDING: &str = "write at least two numbers in ascending order, as bins = [0, 18, 65, 120]: the cells are 0 to 17, 18 to 64 and 65 to 120";

/// The edges of bins as they are listed.
fn edges(node: &Node<'_>, facts: &Facts) -> Result<Vec<Value>, Error> {
    let mut edges: Vec<f64> = Vec::new();
    for element in node.array()? {
        let edge = element
            .float()
            .ok_or_else(|| element.wrong("expected a finite number", ASCENDING))?;
        if edges.last().is_some_and(|last| *last >= edge) {
            return Err(element.wrong("this edge is not above the one before it", ASCENDING));
        }
        edges.push(edge);
    }
    if edges.len() < 2 {
        return Err(node.wrong("expected at least two edges", ASCENDING));
    }
    edges
        .into_iter()
        .map(|edge| edge_of(edge, facts.kind, node))
        .collect()
}

/// Edges that are evenly apart, from the least value of the column to its largest.
fn even_edges(node: &Node<'_>, facts: &Facts) -> Result<Vec<Value>, Error> {
    let Some(range) = facts.range.filter(|_| facts.kind.is_number()) else {
        return Err(node.wrong(
            "bins of one width need a column of numbers with `bounds`",
            "declare bounds = [0, 120] of the column, or list `bins`",
        ));
    };
    let width = node.float().filter(|width| *width > 0.0);
    let width = width.ok_or_else(|| node.wrong("expected a number above 0", "write it as 10 or 0.5"))?;
    let bins = ((range.high - range.low) / width).ceil();
    if !(1.0..=MOST_CELLS as f64).contains(&bins) {
        return Err(node.wrong(
            format!("the bounds of the column hold more than {MOST_CELLS} such bins, or none"),
            "choose another width",
        ));
    }
    let mut edges = Vec::new();
    for step in 0..bins as u32 {
        edges.push(edge_of(range.low + f64::from(step) * width, facts.kind, node)?);
    }
    edges.push(edge_of(range.high, facts.kind, node)?);
    // A width below the distance of neighbouring floats would give one twice.
    match edges.windows(2).all(|pair| number(&pair[0]) < number(&pair[1])) {
        true => Ok(edges),
        false => Err(node.wrong("bins of this width are not told apart", "choose a larger width")),
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Int(value) => *value as f64,
        Value::Float(value) => *value,
        _ => f64::NAN,
    }
}

fn edge_of(edge: f64, kind: Kind, node: &Node<'_>) -> Result<Value, Error> {
    /// Whole numbers up to here are floats too.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    match kind {
        Kind::Float => Ok(Value::Float(edge + 0.0)),
        Kind::Int if edge.fract() == 0.0 && edge.abs() <= WHOLE => Ok(Value::Int(edge as i64)),
        Kind::Int => Err(node.wrong(
            "an edge is no whole number of at most 2^53, and the column is of kind int",
            "write whole numbers",
        )),
        _ => Err(node.wrong(
            format!("bins are for numbers, and the column is of kind {kind}"),
            "for days and moments say period = \"month\"; for text declare `values` of the column",
        )),
    }
}

/// Every period with a day between the bounds of the column.
fn periods(node: &Node<'_>, facts: &Facts) -> Result<Cells, Error> {
    let name = node.text()?;
    if !calendar::PERIODS.contains(&name) {
        return Err(node.wrong(
            "there is no such period",
            "expected \"day\", \"week\", \"month\", \"quarter\" or \"year\"",
        ));
    }
    let dates = matches!(facts.kind, Kind::Date | Kind::Timestamp);
    let Some(range) = facts.range.filter(|_| dates) else {
        return Err(node.wrong(
            "periods need a column of days or moments with `bounds`",
            "declare bounds = [\"2024-01-01\", \"2025-12-31\"] of the column",
        ));
    };
    let day = |end: f64| match facts.kind {
        Kind::Date => end as i64,
        _ => (end as i64).div_euclid(calendar::DAY),
    };
    let (low, high) = (day(range.low), day(range.high));
    if (high - low) / 366 > MOST_CELLS as i64 {
        return Err(node.wrong("too many periods", "declare bounds that are nearer to each other"));
    }
    let mut starts = calendar::periods(name, low, high);
    // Where the last period ends, the next begins.
    let last = *starts.last().unwrap_or(&low);
    starts.extend(calendar::periods(name, last, last + 366).get(1));
    let value = |start: i64| match facts.kind {
        Kind::Date => i32::try_from(start).ok().map(Value::Date),
        _ => start.checked_mul(calendar::DAY).map(Value::Timestamp),
    };
    let edges: Option<Vec<Value>> = starts.into_iter().map(value).collect();
    let edges =
        edges.ok_or_else(|| node.wrong("there is no such day in the calendar", "declare other bounds"))?;
    Ok(Cells::periods(edges, name, facts.nullable))
}
