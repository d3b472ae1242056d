//! The counts of all cells of a planned release, read once.

use crate::Error;
#[cfg(test)]
use crate::mutants::{Mutant, planted};
use crate::run::engine::{BoundedPlans, bounded_plans};
use crate::run::engines::Engines;
use crate::run::exact::{self, Prepared};
use crate::run::measured::Measured;
use crate::understand::aggregation::Aggregation;
use crate::understand::tabulation::Tabulation;
use crate::values::facts::Value;
use crate::values::group_name::decode;
use bound::Secret;
use mechanism::Cells;

/// The plans of the pass.
pub(crate) fn plans(tabulation: &Tabulation, secret: &Secret) -> Result<Vec<BoundedPlans>, Error> {
    #[cfg(test)]
    if planted(Mutant::RowsOfEachGroup) {
        let mut aggregation = tabulation.aggregation.clone();
        aggregation.in_all = None;
        return bounded_plans(&[aggregation], &[], secret);
    }
    bounded_plans(std::slice::from_ref(&tabulation.aggregation), &[], secret)
}

/// Runs the pass.
///
/// # Errors
/// When a table cannot be read.
pub(crate) async fn cells(
    prepared: Prepared,
    tabulation: &Tabulation,
    engines: &Engines,
) -> Result<Cells, Error> {
    let (columns, counts) = lines(prepared, tabulation, engines).await?;
    Ok(Cells::new(columns, counts))
}

/// A column of codes for each attribute, and how many rows have them.
pub(crate) async fn lines(
    prepared: Prepared,
    tabulation: &Tabulation,
    engines: &Engines,
) -> Result<(Vec<Vec<u32>>, Vec<u32>), Error> {
    let asked: &[Aggregation] = std::slice::from_ref(&tabulation.aggregation);
    let measured = exact::measure(prepared, asked, engines).await?;
    let mut lines = Lines::new(tabulation);
    for measured in measured {
        lines.add(measured);
    }
    Ok((lines.columns, lines.counts))
}

/// Cells with rows, a line each.
struct Lines<'a> {
    tabulation: &'a Tabulation,
    columns: Vec<Vec<u32>>,
    counts: Vec<u32>,
    codes: Vec<u32>,
}

impl<'a> Lines<'a> {
    fn new(tabulation: &'a Tabulation) -> Self {
        let attributes = tabulation.numbers.iter().map(Vec::len).sum();
        Self {
            tabulation,
            columns: vec![Vec::new(); attributes],
            counts: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// The counts are those of groups, or of the values of a last number in each group.
    fn add(&mut self, measured: Measured) {
        let Measured {
            groups,
            numbers,
            bins,
        } = measured;
        let bins = bins.into_iter().next().unwrap_or_default();
        let numbers = numbers.into_iter().next().unwrap_or_default();
        let mut names: Vec<Option<Vec<i64>>> = vec![None; groups.len()];
        for (name, place) in groups {
            names[place] = whole(&decode(&name));
        }
        if bins.is_empty() {
            for (name, rows) in names.iter().zip(&numbers) {
                if let Some(name) = name {
                    self.line(name, *rows);
                }
            }
        }
        for ((group, last), rows) in bins {
            if let Some(name) = names.get(group).and_then(Option::as_ref) {
                self.line(&[name.as_slice(), &[last]].concat(), rows);
            }
        }
    }

    /// A cell. What has more rows than a count holds is several lines.
    fn line(&mut self, cell: &[i64], rows: i64) {
        let mut codes = std::mem::take(&mut self.codes);
        self.tabulation.codes_of(cell, &mut codes);
        let mut left = u64::try_from(rows).unwrap_or(0);
        while left > 0 {
            let count = u32::try_from(left).unwrap_or(u32::MAX);
            for (column, code) in self.columns.iter_mut().zip(&codes) {
                column.push(*code);
            }
            self.counts.push(count);
            left -= u64::from(count);
        }
        self.codes = codes;
    }
}

/// The numbers of a cell; nothing where one is NULL, because the row is in none.
fn whole(values: &[Value]) -> Option<Vec<i64>> {
    let number = |value: &Value| match value {
        Value::Int(number) => Some(*number),
        _ => None,
    };
    values.iter().map(number).collect()
}
