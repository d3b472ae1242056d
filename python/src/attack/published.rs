//! Reconstruction from published tables.

use super::{check_seconds, patience, stoppable};
use crate::audit::of_mistake;
use crate::errors::of_parameter;
use attack::blocks;
use attack::published::document::Described;
use attack::published::{self, Domain, Effort, Engine, StatisticKind};
use audit::document::Mistake;
use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(attack_census, module)?)?;
    module.add_function(wrap_pyfunction!(attack_table, module)?)?;
    module.add_function(wrap_pyfunction!(attack_margins, module)?)?;
    Ok(())
}

/// A value of a person: a number, or the name of a category.
#[derive(IntoPyObject)]
enum Value {
    Number(i64),
    Name(String),
}

/// A published table whose people were looked for.
#[derive(IntoPyObject)]
struct Rebuilt {
    attributes: Vec<String>,
    solutions: Vec<Vec<Vec<Value>>>,
    complete: bool,
    out_of_time: bool,
    certain: Vec<Vec<Value>>,
    contradiction: Vec<String>,
    influence: Vec<(String, Option<usize>, bool)>,
    seconds: f64,
}

/// The census example as a document.
#[pyfunction]
fn attack_census() -> &'static str {
    published::document::CENSUS
}

/// Enough to see that solutions multiply when a number is left out.
const ENOUGH_WITHOUT: usize = 20;

/// The people behind a table that a document describes.
#[pyfunction]
#[pyo3(signature = (text, drop, limit, seconds, influence))]
fn attack_table(
    py: Python<'_>,
    text: &str,
    drop: Vec<String>,
    limit: usize,
    seconds: Option<f64>,
    influence: bool,
) -> PyResult<Rebuilt> {
    check_seconds(seconds)?;
    if !(1..=1_000_000).contains(&limit) {
        return Err(of_parameter(
            "limit must lie between 1 and a million\nhint: 100 are enough to see what solutions have in common",
        ));
    }
    let Described { mut table, .. } =
        published::document::parse(text).map_err(|mistake| of_mistake(&mistake))?;
    for name in &drop {
        let (group, kind) = match name.split_once('.') {
            None => (name.as_str(), None),
            Some((group, kind)) => {
                let known = StatisticKind::ALL
                    .into_iter()
                    .find(|known| known.to_string() == kind);
                (group, Some(known))
            }
        };
        let dropped = match kind {
            Some(None) => false,
            Some(Some(kind)) => table.suppress(group, Some(kind)),
            None => table.suppress(group, None),
        };
        if !dropped {
            return Err(of_parameter(
                "drop names a number that the table does not have\nhint: write the group's id for all its numbers, or one as 2A.mean",
            ));
        }
    }
    let rebuilt = stoppable(py, move |flag| -> Result<Rebuilt, attack::Error> {
        let effort = Effort {
            limit,
            patience: patience(seconds, flag),
            engine: Engine::default(),
        };
        let findings = published::reconstruct(&table, &effort)?;
        let record = |record: &published::Record| -> Vec<Value> {
            let values = record.iter().zip(&table.attributes);
            values
                .map(|(value, attribute)| match attribute.domain {
                    Domain::Integers { .. } => Value::Number(*value),
                    Domain::Categories(_) => Value::Name(attribute.domain.show(*value)),
                })
                .collect()
        };
        let contradicts = findings.complete && findings.solutions.is_empty();
        let contradiction = match contradicts {
            true => published::conflict(&table, &effort)?,
            false => None,
        };
        let influences = if influence && !contradicts {
            let fewer = Effort {
                limit: limit.min(ENOUGH_WITHOUT),
                ..effort
            };
            published::influence(&table, &fewer, |_| ())?
        } else {
            Vec::new()
        };
        Ok(Rebuilt {
            attributes: table
                .attributes
                .iter()
                .map(|attribute| attribute.name.clone())
                .collect(),
            solutions: findings
                .solutions
                .iter()
                .map(|people| people.iter().map(record).collect())
                .collect(),
            complete: findings.complete,
            out_of_time: findings.out_of_time,
            certain: findings.certain.iter().map(record).collect(),
            contradiction: contradiction
                .map(|conflict| conflict.cells.iter().map(ToString::to_string).collect())
                .unwrap_or_default(),
            influence: influences
                .into_iter()
                .map(|influence| {
                    (
                        influence.cell.to_string(),
                        influence.solutions,
                        influence.complete,
                    )
                })
                .collect(),
            seconds: findings.elapsed.as_secs_f64(),
        })
    })?;
    rebuilt.map_err(of_parameter)
}

/// What margins say about the cells of a block.
#[derive(IntoPyObject)]
struct Margins {
    categories: Vec<String>,
    cells: Vec<Vec<String>>,
    seen: Vec<(i64, i64)>,
    possible: Vec<(i64, i64)>,
    example: Vec<i64>,
    contradiction: Option<Vec<String>>,
}

/// The range of every cell of a block that a document describes.
#[pyfunction]
#[pyo3(signature = (text, seconds))]
fn attack_margins(py: Python<'_>, text: &str, seconds: Option<f64>) -> PyResult<Margins> {
    check_seconds(seconds)?;
    let block = blocks::document::parse(text).map_err(|mistake: Mistake| of_mistake(&mistake))?;
    let found = stoppable(py, move |flag| -> Result<Margins, attack::Error> {
        let effort = blocks::Effort {
            patience: patience(seconds, flag),
            ..blocks::Effort::default()
        };
        let found = blocks::ranges(&block, &effort, |_| ())?;
        let mut margins = Margins {
            categories: block
                .categories
                .iter()
                .map(|category| category.name.clone())
                .collect(),
            cells: (0..block.cells())
                .map(|cell| block.name(cell).into_iter().map(str::to_owned).collect())
                .collect(),
            seen: Vec::new(),
            possible: Vec::new(),
            example: Vec::new(),
            contradiction: None,
        };
        match found {
            blocks::Found::Consistent { example, ranges } => {
                margins.seen = ranges.iter().map(|range| range.seen).collect();
                margins.possible = ranges.iter().map(|range| range.possible).collect();
                margins.example = example;
            }
            blocks::Found::Contradiction(counts) => margins.contradiction = Some(counts),
        }
        Ok(margins)
    })?;
    found.map_err(of_parameter)
}
