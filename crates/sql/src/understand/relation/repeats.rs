//! How often one unit can have the same values in some columns: what DISTINCT, GROUP BY and numbered rows leave of its rows.
//!
//! `SELECT DISTINCT person, ward` has one row for each person and ward, so a count by ward need not pay for twenty. It follows from the query alone, and the bounding step enforces what is made
//! of it.

use super::Name;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator};

/// What is known of rows that agree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeats {
    /// So many rows of one unit agree in these columns, at most.
    at_most: Vec<(u64, Vec<Name>)>,
    /// This column numbers the rows of one unit that agree in these columns from 1 on, so no two of them have the same number.
    numbered: Vec<(Name, Vec<Name>)>,
}

impl Repeats {
    pub(super) fn add(&mut self, rows: u64, same: Vec<Name>) {
        self.at_most.push((rows, same));
    }

    pub(super) fn number(&mut self, column: Name, same: Vec<Name>) {
        self.numbered.push((column, same));
    }

    /// The same under other names; `None` for a column that is no longer there.
    pub(super) fn renamed(self, now: impl Fn(&Name) -> Option<Name>) -> Self {
        let all = |names: Vec<Name>| names.iter().map(&now).collect::<Option<Vec<Name>>>();
        let at_most = self.at_most.into_iter();
        let numbered = self.numbered.into_iter();
        Self {
            at_most: at_most
                .filter_map(|(rows, same)| Some((rows, all(same)?)))
                .collect(),
            numbered: numbered
                .filter_map(|(column, same)| Some((now(&column)?, all(same)?)))
                .collect(),
        }
    }

    /// The most rows of a unit that agree in all of these columns.
    pub(super) fn within(&self, columns: &[Name]) -> Option<u64> {
        let fixed = self
            .at_most
            .iter()
            .filter(|(_, same)| same.iter().all(|name| columns.contains(name)));
        fixed.map(|(rows, _)| *rows).min()
    }

    /// How many rows that agree in which columns a condition on a number of rows keeps.
    pub(super) fn up_to(&self, column: &Name, condition: &Expr) -> Option<(u64, Vec<Name>)> {
        let (_, same) = self.numbered.iter().find(|(numbered, _)| numbered == column)?;
        Some((kept(condition)?, same.clone()))
    }
}

/// How many of the numbers from 1 on fulfil a condition, at most.
fn kept(condition: &Expr) -> Option<u64> {
    let number = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), _) => Some(*number),
        _ => None,
    };
    let most = match condition {
        Expr::BinaryExpr(binary) => {
            let (operator, constant) = match (&*binary.left, &*binary.right) {
                (Expr::Column(_), constant) => (binary.op, number(constant)?),
                (constant, Expr::Column(_)) => (binary.op.swap()?, number(constant)?),
                _ => return None,
            };
            match operator {
                Operator::Eq => 1,
                Operator::LtEq => constant,
                Operator::Lt => constant.saturating_sub(1),
                _ => return None,
            }
        }
        Expr::Between(between) if !between.negated && matches!(*between.expr, Expr::Column(_)) => {
            let low = number(&between.low)?.max(1);
            number(&between.high)?.saturating_sub(low).saturating_add(1)
        }
        Expr::InList(list) if !list.negated && matches!(*list.expr, Expr::Column(_)) => {
            i64::try_from(list.list.len()).ok()?
        }
        _ => return None,
    };
    // Where nothing is kept, one row at most is true as well.
    Some(most.max(1).unsigned_abs())
}
