//! Everything that can be said of a question before it is asked, for pages that show it while somebody types.

use crate::Error;
use crate::dataset::blocking::Dataset;
use crate::dataset::explain::Explanation;
use crate::dataset::explain_statement::{is_explain, plan_columns, without_explain};
use crate::dataset::forecast::Forecast;
use crate::finish::answer::AnswerColumn;
use crate::price::question::QueryRequest;

/// What is known of a question before it is asked.
#[derive(Clone, Debug)]
pub struct Preview {
    /// What it would do and cost.
    pub explanation: Explanation,
    /// How many questions like it fit.
    pub forecast: Forecast,
    /// The columns that its answer will have.
    pub columns: Vec<AnswerColumn>,
}

impl Dataset {
    /// What [`Dataset::explain`], [`Dataset::forecast`] and [`Dataset::columns`] say: the question is understood once, which is most of the work of each. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When the query is refused, or the ledger cannot be used.
    pub fn preview(&self, ask: &QueryRequest, group_size: u64) -> Result<Preview, Error> {
        let (ask, plan) = (&without_explain(ask)?, is_explain(&ask.sql));
        let question = self.understand(ask)?;
        Ok(Preview {
            explanation: self.explanation_of(&question, group_size)?,
            forecast: self.forecast_of(ask, &question)?,
            columns: match plan {
                true => plan_columns(),
                false => self.columns_of(&question)?,
            },
        })
    }
}
