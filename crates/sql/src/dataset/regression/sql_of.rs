//! The query that measures what a model needs, and how its answer becomes the cells of the model.

use super::{RegressionRequest, refused};
use crate::Error;
use crate::catalog::{Catalog, Table};
use crate::finish::answer::Answer;
use crate::finish::cell::CellValue;
use crate::values::facts::{Facts, Kind, Value};
use crate::values::scalar::calendar::{day_as_text, moment_as_text};
use regression::{Family, Formula, Listed, Model, Variable};

/// A number is counted by its own values up to this many of them; else by bins.
const MOST_VALUES: f64 = 24.0;

/// How many bins a number has at most, where nobody says how wide they are.
const BINS: f64 = 12.0;

/// How one column is read.
struct Key {
    name: String,
    /// The SQL that gives the value of each cell.
    sql: String,
    /// What the answer calls each cell, in order.
    names: Vec<CellValue>,
    listed: Listed,
}

/// What is measured: the groups, and the sums in each.
pub(crate) struct Measured {
    /// The query.
    pub(crate) sql: String,
    /// How many statistics there are in each cell.
    pub(crate) statistics: usize,
    keys: Vec<Key>,
}

impl Measured {
    /// The query of a model, and the model.
    pub(crate) fn of(
        formula: &Formula,
        request: &RegressionRequest,
        catalog: &Catalog,
    ) -> Result<(Self, Model), Error> {
        let table = table_of(request, catalog)?;
        let mut keys: Vec<Key> = Vec::new();
        let mut variables = Vec::new();
        let response = formula.response();
        let parts = formula
            .regressors()
            .into_iter()
            .map(|part| (part.name, part.factor, false));
        let all = parts.chain([(response.name.clone(), response.value.is_some(), true)]);
        for (name, factor, is_response) in all {
            let (column, facts) = column_of(table, &name, request)?;
            let wants_event = is_response && (factor || request.family == Family::Logistic);
            let summed = facts.kind.is_number()
                && !factor
                && (request.family == Family::Linear || is_response && request.family == Family::Poisson);
            if summed && !wants_event {
                let range = facts.range.ok_or_else(|| {
                    Error::refused(
                        format!("`{column}` has no bounds, and noise covers what a value can be"),
                        format!("declare them in the catalog: [tables.{}.columns] {column} = {{ kind = \"{}\", bounds = [0, 100] }}", request.table, facts.kind),
                    )
                })?;
                variables.push((
                    name,
                    Variable::Bounded {
                        low: range.low,
                        high: range.high,
                    },
                ));
                continue;
            }
            let key = key(&name, column, facts, factor || wants_event, request)?;
            variables.push((name, Variable::Listed(key.listed.clone())));
            keys.push(key);
        }
        if let Some((name, _)) = request
            .bins
            .iter()
            .find(|(name, _)| !keys.iter().any(|key| key.name == *name))
        {
            return Err(Error::refused(
                format!("`{name}` has no bins in this model"),
                "bins are for numbers by which rows are counted: those of logistic and Poisson models, and factor(…)",
            ));
        }
        let model = Model::new(formula.clone(), request.family, &variables, &request.references)
            .map_err(|error| refused(&error))?;
        // In the order of the model's axes.
        let mut ordered = Vec::new();
        for axis in model.axes() {
            let place = keys.iter().position(|key| key.name == axis.name);
            ordered.extend(place.map(|place| keys.remove(place)));
        }
        let mut sums = Vec::new();
        for (one, other) in model.statistics().into_iter().skip(1) {
            let factors: Vec<String> = [one, other]
                .into_iter()
                .flatten()
                .map(|place| scaled(table, &model.summed()[place]))
                .collect();
            sums.push(format!("SUM({})", factors.join(" * ")));
        }
        let used = formula
            .regressors()
            .into_iter()
            .map(|part| part.name)
            .chain([response.name.clone()]);
        let measured = Self::new(ordered, &sums, &used.collect::<Vec<_>>(), table, request);
        Ok((measured, model))
    }

    fn new(
        keys: Vec<Key>,
        sums: &[String],
        used: &[String],
        table: &Table,
        request: &RegressionRequest,
    ) -> Self {
        let mut columns: Vec<String> = keys
            .iter()
            .enumerate()
            .map(|(place, key)| format!("{} AS k{place}", key.sql))
            .collect();
        let all = std::iter::once("COUNT(*)".to_owned()).chain(sums.iter().cloned());
        columns.extend(all.enumerate().map(|(place, sum)| format!("{sum} AS s{place}")));
        // On a line of its own, so that a comment in it ends there.
        let mut conditions: Vec<String> = request
            .condition
            .iter()
            .map(|text| format!("({text}\n)"))
            .collect();
        for name in used {
            let declared = table
                .columns
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name));
            if let Some((column, facts)) = declared
                && facts.nullable
            {
                conditions.push(format!("{} IS NOT NULL", quoted(column)));
            }
        }
        let mut sql = format!("SELECT {} FROM {}", columns.join(", "), quoted(&request.table));
        if !conditions.is_empty() {
            sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        if !keys.is_empty() {
            let places: Vec<String> = keys.iter().map(|key| key.sql.clone()).collect();
            sql.push_str(&format!(" GROUP BY {}", places.join(", ")));
        }
        Self {
            sql,
            statistics: sums.len() + 1,
            keys,
        }
    }

    /// The numbers of the cells, statistic by statistic. A group that the catalog does not list has no cell, and is not asked for.
    pub(crate) fn numbers(&self, answer: &Answer) -> Result<Vec<Vec<f64>>, Error> {
        let place_of = |name: &str| {
            let place = answer.columns.iter().position(|column| column.name == name);
            place.ok_or_else(lost)
        };
        let cells = self.keys.iter().map(|key| key.names.len()).product();
        let mut numbers = vec![vec![f64::NAN; cells]; self.statistics];
        let mut keys = Vec::new();
        for key in 0..self.keys.len() {
            keys.push(place_of(&format!("k{key}"))?);
        }
        for (statistic, numbers) in numbers.iter_mut().enumerate() {
            let column = place_of(&format!("s{statistic}"))?;
            for row in &answer.rows {
                let mut cell = Some(0usize);
                for (key, column) in self.keys.iter().zip(&keys) {
                    let code = key.names.iter().position(|name| same(name, &row[*column].value));
                    cell = cell.zip(code).map(|(cell, code)| cell * key.names.len() + code);
                }
                if let Some(cell) = cell {
                    numbers[cell] = row[column].value.as_f64().ok_or_else(lost)?;
                }
            }
        }
        match numbers.iter().flatten().any(|number| number.is_nan()) {
            true => Err(lost()),
            false => Ok(numbers),
        }
    }

    /// The values of a key.
    pub(crate) fn labels(&self, key: usize) -> Vec<String> {
        self.keys
            .get(key)
            .map_or_else(Vec::new, |key| key.listed.labels.clone())
    }
}

/// A query that counts rows by two columns: for tests. The response comes second.
pub(crate) fn two_columns(
    formula: &Formula,
    request: &RegressionRequest,
    catalog: &Catalog,
) -> Result<Measured, Error> {
    let table = table_of(request, catalog)?;
    let regressors = formula.regressors();
    let [only] = regressors.as_slice() else {
        return Err(Error::refused(
            "this test is of two columns",
            "write it as: smoker ~ education",
        ));
    };
    let names = [only.name.clone(), formula.response().name.clone()];
    let mut keys = Vec::new();
    for name in &names {
        let (column, facts) = column_of(table, name, request)?;
        keys.push(key(name, column, facts, true, request)?);
    }
    Ok(Measured::new(keys, &[], &names, table, request))
}

fn lost() -> Error {
    Error::refused(
        "the catalog does not list all groups of this model",
        "declare `values` of each factor, and bounds of each number",
    )
}

fn same(one: &CellValue, other: &CellValue) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

fn table_of<'a>(request: &RegressionRequest, catalog: &'a Catalog) -> Result<&'a Table, Error> {
    catalog.tables.get(&request.table).ok_or_else(|| {
        let names: Vec<&str> = catalog.tables.keys().map(String::as_str).collect();
        Error::refused(
            format!("there is no table `{}`", request.table),
            format!("there are {}", names.join(", ")),
        )
    })
}

fn column_of<'a>(
    table: &'a Table,
    name: &str,
    request: &RegressionRequest,
) -> Result<(&'a str, &'a Facts), Error> {
    let exact = table.columns.iter().find(|(known, _)| known == name);
    let found = exact.or_else(|| {
        table
            .columns
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
    });
    found
        .map(|(column, facts)| (column.as_str(), facts))
        .ok_or_else(|| {
            let names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
            Error::refused(
                format!("`{}` has no column `{name}`", request.table),
                format!("it has {}", names.join(", ")),
            )
        })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A number on the scale of its bounds, from −1 to 1, and clamped to it.
fn scaled(table: &Table, summed: &regression::Summed) -> String {
    let declared = table
        .columns
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(&summed.name));
    let column = declared.map_or(summed.name.as_str(), |(column, _)| column.as_str());
    format!(
        "GREATEST(-1.0, LEAST(1.0, (CAST({} AS DOUBLE PRECISION) - {}) / {}))",
        quoted(column),
        decimal(summed.middle()),
        decimal(summed.half())
    )
}

/// A float as SQL reads it back.
fn decimal(value: f64) -> String {
    let text = format!("{value}");
    let text = if text.contains('.') {
        text
    } else {
        format!("{text}.0")
    };
    if value < 0.0 { format!("({text})") } else { text }
}

fn key(
    name: &str,
    column: &str,
    facts: &Facts,
    factor: bool,
    request: &RegressionRequest,
) -> Result<Key, Error> {
    let width = request
        .bins
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, width)| *width);
    if let Some(values) = listed_values(facts, width) {
        let scores = match facts.kind.is_number() && !factor {
            true => values.iter().map(number).collect::<Option<Vec<f64>>>(),
            false => None,
        };
        return Ok(Key {
            name: name.to_owned(),
            sql: quoted(column),
            names: values.iter().map(cell_value).collect(),
            listed: Listed {
                labels: values.iter().map(|value| cell_value(value).to_string()).collect(),
                scores,
                missing: None,
                binned: false,
            },
        });
    }
    let Some(range) = facts.range.filter(|_| facts.kind.is_number()) else {
        return Err(Error::refused(
            format!("`{column}` has no declared values, so which groups there are is private"),
            format!(
                "list them in the catalog: {column} = {{ kind = \"{}\", values = [ … ] }}",
                facts.kind
            ),
        ));
    };
    let whole = facts.kind == Kind::Int;
    let width = match width {
        Some(width) if width > 0.0 && width.is_finite() => width,
        Some(_) => {
            return Err(Error::refused(
                "the width of a bin is a positive number",
                "--bins age=10",
            ));
        }
        None => nice_width(range.high - range.low, whole),
    };
    let width = if whole { width.ceil() } else { width };
    let span = range.high - range.low + if whole { 1.0 } else { 0.0 };
    let count = (span / width).ceil().max(1.0);
    if count > 10_000.0 {
        return Err(Error::refused(
            format!("`{column}` would have {count} bins"),
            format!(
                "use wider ones: --bins {name}={}",
                nice_width(range.high - range.low, whole)
            ),
        ));
    }
    let bins: Vec<(f64, f64)> = (0..count as usize)
        .map(|bin| {
            let low = range.low + bin as f64 * width;
            (low, (low + width - if whole { 1.0 } else { 0.0 }).min(range.high))
        })
        .collect();
    Ok(Key {
        name: name.to_owned(),
        sql: format!(
            "CAST(FLOOR((GREATEST({low}, LEAST({high}, {column})) - {low}) / {width}) AS BIGINT)",
            column = quoted(column),
            low = decimal(range.low),
            // The last bin has its upper edge.
            high = decimal(if whole {
                range.high
            } else {
                range.high.min(range.low + width * (count - 0.5))
            }),
            width = decimal(width)
        ),
        names: (0..count as i64).map(CellValue::Int).collect(),
        listed: Listed {
            labels: bins
                .iter()
                .map(|(low, high)| match low == high {
                    true => low.to_string(),
                    false => format!("{low} to {high}"),
                })
                .collect(),
            scores: (!factor).then(|| bins.iter().map(|(low, high)| 0.5 * (low + high)).collect()),
            missing: None,
            binned: width > 1.0 || !whole,
        },
    })
}

/// The values of a column, where there is a list of them and no bins are wanted.
fn listed_values(facts: &Facts, width: Option<f64>) -> Option<Vec<Value>> {
    if width.is_some() {
        return None;
    }
    if facts.kind == Kind::Bool {
        return Some(vec![Value::Bool(false), Value::Bool(true)]);
    }
    if let Some(values) = &facts.values {
        return Some(values.to_vec());
    }
    let range = facts
        .range
        .filter(|range| facts.kind == Kind::Int && range.high - range.low < MOST_VALUES)?;
    Some((range.low as i64..=range.high as i64).map(Value::Int).collect())
}

/// A width that people count in, with at most [`BINS`] bins.
fn nice_width(span: f64, whole: bool) -> f64 {
    let least = span / BINS;
    let power = 10f64.powf(least.log10().floor());
    let width = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let width = width.into_iter().find(|width| *width >= least).unwrap_or(least);
    if whole { width.max(1.0) } else { width }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

fn cell_value(value: &Value) -> CellValue {
    match value {
        Value::Null => CellValue::Null,
        Value::Bool(value) => CellValue::Bool(*value),
        Value::Int(value) => CellValue::Int(*value),
        Value::Float(value) => CellValue::Float(*value),
        Value::Text(text) => CellValue::Text(text.clone()),
        Value::Date(days) => CellValue::Text(day_as_text(i64::from(*days))),
        Value::Timestamp(moment) => CellValue::Text(moment_as_text(*moment)),
    }
}
