//! The attributes of a planned release as variables of a model.

use crate::catalog::{Cells, PlannedRelease};
use crate::values::facts::Value;
use regression::{Listed, Variable};

/// Each attribute by its name.
pub(crate) fn variables_of(release: &PlannedRelease) -> Vec<(String, Variable)> {
    let attributes = release.attributes.iter();
    attributes
        .map(|attribute| {
            let labels = attribute
                .cells
                .labels()
                .into_iter()
                .map(|label| label.text)
                .collect();
            let listed = Listed {
                labels,
                scores: scores(&attribute.cells),
                missing: attribute.cells.null(),
                binned: attribute.cells.listed().is_none(),
            };
            (attribute.name.clone(), Variable::Listed(listed))
        })
        .collect()
}

/// The number that each cell stands for: its value, or the middle of its bin. None where a cell has no end.
fn scores(cells: &Cells) -> Option<Vec<f64>> {
    let number = |value: &Value| match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    };
    let mut scores: Vec<f64> = match (cells.listed(), cells.edges()) {
        (Some(values), _) => values.iter().map(number).collect::<Option<_>>()?,
        (None, Some((edges, closed, false))) => edges
            .windows(2)
            .enumerate()
            .map(|(place, pair)| {
                let last = closed && place + 2 == edges.len();
                match (&pair[0], &pair[1]) {
                    // Of whole numbers the last one in a bin is known.
                    (Value::Int(low), Value::Int(high)) => {
                        Some(f64::midpoint(*low as f64, (high - i64::from(!last)) as f64))
                    }
                    (low, high) => Some(f64::midpoint(number(low)?, number(high)?)),
                }
            })
            .collect::<Option<_>>()?,
        _ => return None,
    };
    // NULL is left out, so its number does not matter.
    scores.extend(cells.null().map(|_| 0.0));
    Some(scores)
}
