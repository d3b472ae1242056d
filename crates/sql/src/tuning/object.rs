//! Limits that were found, for programs.

use super::FoundLimits;
use crate::catalog::Limits;
use serde_json::{Map, Value, json};

impl FoundLimits {
    /// What was chosen, for programs.
    pub fn to_json(&self) -> Value {
        let limits = &self.limits;
        let sums = |limits: &Limits| -> Value {
            limits
                .sums
                .iter()
                .map(|(column, range)| (column.clone(), json!([number(range.low), number(range.high)])))
                .collect()
        };
        let by: Map<String, Value> = limits
            .by
            .iter()
            .map(|(column, by)| {
                let reported =
                    json!({ "groups": by.groups, "rows_per_group": by.rows_per_group, "rows": by.rows, "sums": sums(by) });
                (column.clone(), reported)
            })
            .collect();
        let bounds: Map<String, Value> = self
            .bounds
            .iter()
            .map(|(column, range)| (column.clone(), json!([number(range.low), number(range.high)])))
            .collect();
        let profiles: Vec<Value> = self
            .profiles
            .iter()
            .map(|profile| {
                json!({
                    "of": profile.of,
                    "limit": number(profile.limit),
                    "units_over": profile.units_over,
                    "cut": profile.cut,
                })
            })
            .collect();
        json!({
            "table": self.table,
            "limits": {
                "rows": limits.rows,
                "groups": limits.groups,
                "rows_per_group": limits.rows_per_group,
                "sums": sums(limits),
                "by": by,
            },
            "bounds": bounds,
            "profiles": profiles,
            "left_out": self.left_out,
            "question_epsilon": number(self.question_epsilon),
            "cost": self.answer.cost.as_ref().map(crate::Cost::to_json),
            "repeated": self.repeated,
        })
    }
}

/// A whole number without a point.
fn number(value: f64) -> Value {
    if value == value.trunc() && value.abs() < 1e15 {
        json!(value as i64)
    } else {
        json!(value)
    }
}
