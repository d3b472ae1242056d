//! How many rows groups have, as far as answers tell that were given before. Nothing is charged, and no data is read: it is made of what was released.

use super::Dataset;
use crate::Error;
use crate::dataset::explain_statement::without_explain;
use crate::finish::answer::Answer;
use crate::finish::post::only_arranges;
use crate::price::question::{QueryRequest, Question};
use crate::understand::aggregation::Selection;
use crate::understand::counting::{Counting, counting};
use accounting::Epsilon;
use serde::Serialize;

/// How many rows the groups of a question have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownSizes {
    /// The median of the groups' rows, at least 1.
    pub rows: u64,
    /// How many groups that is the median of.
    pub groups: usize,
    /// The number of the charge that paid for it.
    pub charge: u64,
    /// Whether only the rows of all groups together are known, so that all are taken to be as large.
    pub all_alike: bool,
}

impl KnownSizes {
    /// What is assumed, for people: it follows "if a group has … rows".
    pub fn words(&self) -> String {
        match (self.all_alike, self.groups) {
            (true, groups) => format!(
                "as many as each of {groups} groups has of the rows that charge {} counted",
                self.charge
            ),
            (false, 1) => format!("as charge {} counted", self.charge),
            (false, groups) => {
                format!(
                    "the median of the {groups} groups that charge {} counted",
                    self.charge
                )
            }
        }
    }
}

impl Dataset {
    /// How many rows the groups of this question have, if an earlier answer or a planned release counted them. Charges nothing.
    ///
    /// # Errors
    /// When the query is refused, or the ledger cannot be read.
    pub fn known_sizes(&self, ask: &QueryRequest) -> Result<Option<KnownSizes>, Error> {
        let ask = QueryRequest {
            // Any will do: answers are looked for at each ε that was ever charged.
            epsilon: Some(Epsilon::parse("1")?),
            ..without_explain(ask)?
        };
        let Some(counting) = counting(&ask.sql) else {
            return Ok(None);
        };
        let question = self.understand(&ask)?;
        if question.is_public() {
            return Ok(None);
        }
        let Counting {
            by_group,
            of_all,
            own_column,
        } = counting;
        if let Some(answer) = self.released_before(&ask, by_group)? {
            let last = answer.columns.len().saturating_sub(1);
            return Ok(median(&answer, last));
        }
        if let Some(column) = own_column
            && let Some(answer) = self.released_before(&ask, ask.sql.clone())?
        {
            return Ok(median(&answer, column));
        }
        let Some(groups) = listed_groups(&question) else {
            return Ok(None);
        };
        let all = self.released_before(&ask, of_all)?;
        let all = all.and_then(|answer| median(&answer, 0));
        Ok(all.map(|all| KnownSizes {
            rows: (all.rows / groups as u64).max(1),
            groups,
            all_alike: true,
            ..all
        }))
    }

    /// The answer to this query, if it was given before for any ε, or a release tells it.
    fn released_before(&self, ask: &QueryRequest, sql: String) -> Result<Option<Answer>, Error> {
        let mut ask = QueryRequest { sql, ..ask.clone() };
        // What cannot be asked was not answered.
        let Ok(question) = self.understand(&ask) else {
            return Ok(None);
        };
        // What computes something of counts is an analyst's own work, and what leaves groups out has no median of all.
        if !only_arranges(&question.split.post) {
            return Ok(None);
        }
        let told = self.reading_ledger(|store| {
            if let Some(told) = self.answered_by_release(&ask, &question, store)? {
                return Ok((Some(told.answer), None));
            }
            let earlier = self.answered_for(&ask, &question, store)?;
            Ok((None, earlier.into_iter().next()))
        })?;
        match told {
            Some((Some(answer), _)) => Ok(Some(answer)),
            Some((None, Some(earlier))) => {
                ask.epsilon = Some(earlier.epsilon);
                Ok(self.saved(&ask)?.map(|answered| answered.answer))
            }
            _ => Ok(None),
        }
    }
}

/// How many groups a question has, where they are listed and it has one part.
fn listed_groups(question: &Question) -> Option<usize> {
    let [aggregation] = &question.split.aggregations[..] else {
        return None;
    };
    match &aggregation.groups.selection {
        Selection::Listed(groups) if groups.len() > 1 => Some(groups.len()),
        _ => None,
    }
}

/// The median of a column of counts.
fn median(answer: &Answer, column: usize) -> Option<KnownSizes> {
    let charge = answer.cost.as_ref()?.charge;
    let cells = answer
        .rows
        .iter()
        .filter_map(|row| row.get(column)?.value.as_f64());
    let mut counts: Vec<f64> = cells.filter(|count| count.is_finite()).collect();
    counts.sort_by(f64::total_cmp);
    let middle = *counts.get(counts.len() / 2)?;
    Some(KnownSizes {
        rows: middle.round().clamp(1.0, 1e15) as u64,
        groups: counts.len(),
        charge,
        all_alike: false,
    })
}
