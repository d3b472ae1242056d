//! A private score of synthetic rows, as it is kept and as people read it.

use super::SynthesisRequest;
use crate::finish::answer::Cost;
use accounting::{Delta, Epsilon};
use ledger::{Left, Receipt};
use mechanism::Rounds;
use report::{Column, Table, grouped, significant};
use serde::{Deserialize, Serialize};
use synthesis::{CheckReport, Estimated};

/// So many tables are listed for people.
const MOST_SHOWN: usize = 12;

/// A check that is to be made.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// The rows: what they were asked for with, and by whom.
    pub rows: SynthesisRequest,
    /// What the check may cost, beside the rows. Its δ is that of the rows, once more.
    pub epsilon: Epsilon,
}

/// A check as the ledger keeps it. Which tables were looked at follows from the rows.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedCheck {
    pub(crate) cost: Cost,
    /// The charge that paid for the rows.
    pub(crate) of: u64,
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: Delta,
    pub(crate) rounds: Rounds,
}

/// How far synthetic rows are from the data, on tables that were not measured. Public.
#[derive(Clone, Debug)]
pub struct SyntheticCheck {
    /// What was charged for it.
    pub cost: Cost,
    /// The charge that paid for the rows.
    pub of: u64,
    /// The ε of its charge, at this δ.
    pub epsilon: Epsilon,
    /// The δ for which ε holds.
    pub delta: Delta,
    /// Whether the same was checked before, so that it cost nothing now.
    pub repeated: bool,
    /// Whether an earlier charge paid for it, whose run was interrupted before it was saved.
    pub resumed: bool,
    /// What may still be spent by who asked.
    pub left: Left,
    /// What was charged and released, signed; `None` where there is no place for a key.
    pub receipt: Option<Receipt>,
    /// The score.
    pub report: CheckReport,
}

fn percent(share: f64) -> String {
    significant(100.0 * share, 3)
}

fn interval(estimated: &Estimated) -> String {
    format!("{} to {} %", percent(estimated.low), percent(estimated.high))
}

impl SyntheticCheck {
    /// The score in a sentence, with its interval.
    pub fn sentence(&self) -> String {
        let report = &self.report;
        let (low, high) = (
            1000.0 * (1.0 - report.distance.high),
            1000.0 * (1.0 - report.distance.low),
        );
        let of = match report.held_out > report.tables.len() {
            true => format!(
                "{} tables that were drawn from the {} that matter and were never measured",
                report.tables.len(),
                grouped(report.held_out as u64)
            ),
            false => format!(
                "the {} tables that matter and were never measured",
                report.tables.len()
            ),
        };
        format!(
            "score {} of 1000 (95 %: {} to {}): on {of}, the rows are {} % of all rows away from the data on average",
            significant(report.score, 4),
            significant(low, 4),
            significant(high, 4),
            percent(report.distance.value),
        )
    }

    /// As people read it.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "\nchecked against the data, for ε = {} more (charge {}):\n{}\n",
            self.epsilon,
            self.cost.charge,
            self.sentence()
        );
        let mut table = Table::new([
            Column::Left("held out, by"),
            Column::Right("cells"),
            Column::Right("distance"),
            Column::Right("95 %"),
        ]);
        for one in self.report.tables.iter().take(MOST_SHOWN) {
            table.row([
                one.by.join(" × "),
                grouped(one.cells as u64),
                format!("{} %", percent(one.distance.value)),
                interval(&one.distance),
            ]);
        }
        text += &table.to_string();
        let hidden = self.report.tables.len().saturating_sub(MOST_SHOWN);
        if hidden > 0 {
            text += &format!("… and {hidden} more\n");
        }
        text += &format!("- {}\n", self.note());
        text
    }

    /// What stands behind the numbers.
    pub fn note(&self) -> String {
        format!(
            "noise of deviation {} rows was added to the sum of differences of each table, and none to its counts: so it makes no distance look larger, and the intervals count it and the noise on the number of rows",
            significant(self.report.deviation, 2)
        )
    }

    /// A paragraph of a page.
    pub(super) fn paragraph(&self) -> String {
        let tables: Vec<String> = self
            .report
            .tables
            .iter()
            .map(|one| {
                format!(
                    "{}: {} % ({})",
                    one.by.join(" × "),
                    percent(one.distance.value),
                    interval(&one.distance)
                )
            })
            .collect();
        format!(
            "Checked against the data, for ε = {}, δ = {} more (charge {}): {}. Distances, each with its interval of 95 %: {}. {}.",
            self.epsilon,
            self.delta,
            self.cost.charge,
            self.sentence(),
            tables.join("; "),
            self.note()
        )
    }

    /// For programs.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "of_charge": self.of,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "guarantee": self.cost.guarantee.to_string(),
            "cost": self.cost,
            "repeated": self.repeated,
            "resumed": self.resumed,
            "report": self.report,
            "receipt": self.receipt,
            "left": { "epsilon": self.left.epsilon },
        })
    }
}
