//! Regression and tests: a formula becomes one ordinary query, whose noisy numbers are fitted.
//!
//! Nothing here is trusted with privacy. What is measured is `SELECT keys…, COUNT(*), SUM(x), SUM(x * y) … GROUP BY keys…`, which goes the way of every query: the
//! verifier derives how far one person moves each number, the ledger is charged once, exact integers get their noise. Each number is clamped to [−1, 1] after it was put on
//! the scale of its declared bounds, so a row moves every sum of its group by at most 1. Fitting reads what was released.

mod released;
mod sql_of;

pub(crate) use released::variables_of;
pub(crate) use sql_of::{Measured, two_columns};

use crate::dataset::readable::readable;
use crate::finish::answer::Cost;
use accounting::{Delta, Epsilon};
use ledger::{Left, Receipt};
use regression::hypothesis::{Mean, Test};
use regression::{Coefficient, Family, Fit};
use serde_json::json;

/// What is to be fitted or tested.
#[derive(Clone, Debug)]
pub struct RegressionRequest {
    /// The formula: `income ~ age + education`.
    pub formula: String,
    /// The table.
    pub table: String,
    /// Who asks.
    pub analyst: String,
    /// What the response is like.
    pub family: Family,
    /// A test in place of a model.
    pub test: Option<TestOf>,
    /// Only rows that fulfil this SQL condition count.
    pub condition: Option<String>,
    /// The value that others of a factor are compared with: column and value.
    pub references: Vec<(String, String)>,
    /// How wide the bins of a number are, where rows are counted by it: column and width.
    pub bins: Vec<(String, f64)>,
    /// A planned release that was made: then nothing is charged.
    pub release: Option<String>,
    /// What it may cost; else the catalog's default.
    pub epsilon: Option<Epsilon>,
    /// Likewise.
    pub delta: Option<Delta>,
    /// Limits of the account that asks, beside the budget and its share.
    pub caps: ledger::Caps,
    /// The request, where it is to be charged once however often it is sent.
    pub once: Option<ledger::Once>,
}

/// Which test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestOf {
    /// Whether two columns are independent.
    Independence,
    /// Whether a share is the same in two groups; which groups, where there are more than two.
    Proportions(Option<(String, String)>),
    /// Whether a mean is the same in two groups.
    Means(Option<(String, String)>),
}

impl RegressionRequest {
    /// A model of least squares, asked for by `analyst`.
    pub fn new(formula: impl Into<String>, table: impl Into<String>, analyst: impl Into<String>) -> Self {
        Self {
            formula: formula.into(),
            table: table.into(),
            analyst: analyst.into(),
            family: Family::Linear,
            test: None,
            condition: None,
            references: Vec::new(),
            bins: Vec::new(),
            release: None,
            epsilon: None,
            delta: None,
            caps: ledger::Caps::default(),
            once: None,
        }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub enum Finding {
    /// A model, with means and contrasts where it has one factor alone.
    Model {
        /// The model.
        fit: Box<Fit>,
        /// The mean of each value of the only factor.
        means: Vec<Mean>,
        /// All differences of two of them.
        contrasts: Vec<Coefficient>,
    },
    /// A test.
    Test(Test),
}

/// A fitted model or a test, and what paid for it.
#[derive(Clone, Debug)]
pub struct Regressed {
    /// What was found.
    pub finding: Finding,
    /// What was charged, now or before.
    pub cost: Option<Cost>,
    /// Whether it was released before, so that it cost nothing now.
    pub repeated: bool,
    /// Whether an earlier charge paid for it, whose run was interrupted before its answer was saved.
    pub resumed: bool,
    /// What may still be spent by who asked.
    pub left: Left,
    /// What was charged and released, signed.
    pub receipt: Option<Receipt>,
    /// The query that was measured; `None` from a planned release.
    pub sql: Option<String>,
    /// The planned release that it is from.
    pub release: Option<String>,
    /// What else there is to know.
    pub notes: Vec<String>,
}

impl Regressed {
    /// One object with everything, for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let mut object = match &self.finding {
            Finding::Model {
                fit,
                means,
                contrasts,
            } => {
                let mut object = json!(fit);
                object["means"] = json!(means);
                object["contrasts"] = json!(contrasts);
                object
            }
            Finding::Test(test) => json!(test),
        };
        object["cost"] = json!(self.cost.as_ref().map(Cost::to_json));
        object["repeated"] = json!(self.repeated);
        object["resumed"] = json!(self.resumed);
        object["left"] = json!({ "epsilon": self.left.epsilon });
        object["receipt"] = json!(self.receipt);
        object["sql"] = json!(self.sql);
        object["release"] = json!(self.release);
        object["about"] = json!(self.notes);
        object
    }

    /// The same, with the table of results as text, and of a model the table for LaTeX and the forest plot: for whoever shows it elsewhere.
    pub fn told(&self) -> serde_json::Value {
        let mut object = self.to_json();
        object["text"] = json!(self.to_text());
        object["latex"] = json!(self.to_latex());
        object["plot"] = json!(self.to_plot());
        object
    }

    /// The table of coefficients for LaTeX; `None` of a test.
    pub fn to_latex(&self) -> Option<String> {
        let Finding::Model { fit, .. } = &self.finding else {
            return None;
        };
        let cost = self.cost.as_ref();
        let caption = cost.map_or_else(String::new, |cost| {
            format!("Private: {}.", readable(&cost.guarantee))
        });
        Some(regression::summary::latex(fit, &caption))
    }

    /// A forest plot of the coefficients as SVG; `None` of a test.
    pub fn to_plot(&self) -> Option<String> {
        let Finding::Model { fit, .. } = &self.finding else {
            return None;
        };
        Some(regression::summary::forest(fit))
    }

    /// The table of results as text.
    pub fn to_text(&self) -> String {
        let mut text = match &self.finding {
            Finding::Model {
                fit,
                means,
                contrasts,
            } => {
                let mut text = regression::summary::text(fit);
                if !means.is_empty() {
                    text.push('\n');
                    text.push_str(&regression::summary::means_text(means, contrasts));
                }
                text
            }
            Finding::Test(test) => regression::summary::test_text(test),
        };
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        text
    }
}

/// What the fit says, as a refusal or a plain error.
pub(crate) fn refused(error: &regression::Error) -> crate::Error {
    let text = error.to_string();
    let (what, hint) = text
        .split_once("\nhint: ")
        .unwrap_or((&text, "see `deniable regress --help`"));
    crate::Error::refused(what, hint)
}
