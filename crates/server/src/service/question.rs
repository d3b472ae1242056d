//! Requests to the service, and its results besides answers.

use super::Identity;
use crate::failure::{Code, Failure};
use accounting::{Delta, Epsilon};
use serde::{Deserialize, Serialize};
use sql::{AnswerColumn, Explanation, Forecast, QueryRequest, WantedError};

pub(crate) const MOST_BYTES_OF_SQL: usize = 256 << 10;

/// A question as an entrance receives it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The SQL.
    pub sql: String,
    /// The ε of the question, where its SQL does not state one: a decimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<String>,
    /// Likewise its δ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<String>,
    /// Whether what the limits cut is to be estimated, for a share of ε.
    #[serde(default = "yes")]
    pub cut_estimate: bool,
}

fn yes() -> bool {
    true
}

impl Question {
    /// A question of this SQL, for the ε that it states itself.
    pub fn new(sql: impl Into<String>) -> Self {
        Self {
            sql: sql.into(),
            epsilon: None,
            delta: None,
            cut_estimate: true,
        }
    }

    pub(super) fn request(&self, who: &Identity) -> Result<QueryRequest, Failure> {
        let wrong = |what: &str, error: accounting::Error| {
            Failure::new(
                Code::BadRequest,
                format!("{what} is no number that can be used"),
                format!("{error}").replace("\nhint: ", "; "),
            )
        };
        if self.sql.len() > MOST_BYTES_OF_SQL {
            return Err(Failure::new(
                Code::BadRequest,
                "the SQL is longer than 256 KiB",
                "send a shorter query",
            ));
        }
        let epsilon = self.epsilon.as_deref().map(Epsilon::parse).transpose();
        let delta = self.delta.as_deref().map(Delta::parse).transpose();
        Ok(QueryRequest {
            epsilon: epsilon.map_err(|error| wrong("ε", error))?,
            delta: delta.map_err(|error| wrong("δ", error))?,
            cut_estimate: self.cut_estimate,
            explicit_epsilon: true,
            caps: who.account.caps.clone(),
            ..QueryRequest::new(self.sql.clone(), who.name())
        })
    }
}

/// How precise an answer is wanted to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Precision {
    /// The largest expected error of any column: a number, or a part of the largest possible value as in
    /// `2%`.
    pub error: Option<String>,
    /// The number of rows in a group for which errors are stated.
    pub group_size: Option<u64>,
    /// Whether to say what the verifier derives of the engine's plans.
    pub verify: bool,
}

impl Precision {
    pub(super) fn wanted(&self) -> Result<Option<WantedError>, Failure> {
        let parsed = self.error.as_deref().map(str::parse::<WantedError>).transpose();
        parsed.map_err(|error| {
            Failure::new(
                Code::BadRequest,
                "the wanted error is no number that can be used",
                error,
            )
        })
    }
}

/// What a question would do and cost.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The smallest ε for the wanted error, if one was wanted; what follows is for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<Epsilon>,
    /// How it is understood.
    pub explanation: Explanation,
    /// What it costs against what is left.
    pub forecast: Forecast,
    /// The columns that its answer will have.
    pub columns: Vec<AnswerColumn>,
    /// What the verifier derives of the engine's plans, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<sql::Verification>,
}

/// What the asker may spend.
#[derive(Clone, Debug, Serialize)]
pub struct BudgetView {
    /// The account that asks.
    pub account: String,
    /// The rules of the dataset, in words.
    pub rules: String,
    /// The largest ε of one further release by this account.
    pub left: Epsilon,
    /// The largest ε of one further release by anybody.
    pub left_of_dataset: Epsilon,
    /// The account's share of the budget.
    pub share: Option<String>,
    /// The largest ε of one question of this account.
    pub per_question: Option<Epsilon>,
    /// The largest sum of ε in 24 hours.
    pub per_day: Option<Epsilon>,
}
