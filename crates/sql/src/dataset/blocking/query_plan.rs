//! EXPLAIN: what a query would do and cost, as the rows of an answer. Nothing is spent, and no private data is read.

use super::Dataset;
use crate::Error;
use crate::dataset::explain_statement::{Explain, plan_columns, read};
use crate::finish::answer::{Answer, Cell};
use crate::finish::estimate::CONFIDENCE;
use crate::price::question::QueryRequest;
use serde_json::json;

/// The number of rows in a group for which errors are reported.
const GROUP_SIZE: u64 = 1000;

impl Dataset {
    /// Answers EXPLAIN: a row for each line of what [`Dataset::explain`] says, and what is left. `None` for any other question. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When the query behind it is refused, or the ledger cannot be used.
    pub fn query_plan(&self, ask: &QueryRequest) -> Result<Option<Answer>, Error> {
        let Some(Explain { query, json, verbose }) = read(&ask.sql)? else {
            return Ok(None);
        };
        let ask = QueryRequest {
            sql: query,
            ..ask.clone()
        };
        let question = self.understand(&ask)?;
        let explanation = self.explanation_of(&question, GROUP_SIZE)?;
        let forecast = self.forecast_of(&ask, &question)?;
        let before = self.cut_before(&ask).unwrap_or_default();
        let lines: Vec<String> = if json {
            let plan = json!({ "explanation": explanation, "forecast": forecast, "cut_before": before });
            vec![serde_json::to_string_pretty(&plan).expect("an explanation is plain data")]
        } else {
            let text = explanation.to_text(&before, verbose) + &forecast.to_text();
            text.lines().map(str::to_owned).collect()
        };
        let cell = |line: String| Cell {
            value: line.into(),
            low: None,
            high: None,
        };
        Ok(Some(Answer {
            columns: plan_columns(),
            rows: lines.into_iter().map(|line| vec![cell(line)]).collect(),
            confidence: CONFIDENCE,
            bounds: Vec::new(),
            cut: Vec::new(),
            notes: Vec::new(),
            cost: None,
        }))
    }
}
