//! The smallest ε whose error is small enough, found by looking at explanations.

use crate::dataset::blocking::{Dataset, KnownSizes};
use crate::dataset::explain::{Explanation, explain};
use crate::dataset::explain_statement::without_explain;
use crate::dataset::least_epsilon::{DECADES, STEPS, WantedError, bisected, number};
use crate::price::question::QueryRequest;
use crate::{Error, dataset};
use accounting::Epsilon;

impl Dataset {
    /// The smallest ε, to three digits, for which every output's expected error is at most `wanted`, with groups of this many rows. Spends nothing, reads no data.
    ///
    /// # Errors
    /// When the query is refused, states its own price, has an error that depends on the data, or no ε is enough.
    pub fn epsilon_for(
        &self,
        ask: &QueryRequest,
        wanted: WantedError,
        group_size: u64,
    ) -> Result<Epsilon, Error> {
        let mut ask = QueryRequest {
            epsilon: Some(number(STEPS * DECADES - 1)),
            ..without_explain(ask)?
        };
        // Understood once: only prices differ.
        let mut question = self.understand(&ask)?;
        cheapest(wanted, |epsilon| {
            ask.epsilon = Some(epsilon.clone());
            question.reprice(&ask, self.catalog())?;
            explain(&question, self.catalog(), group_size)
        })
    }
}

impl dataset::Dataset {
    /// The smallest ε, to three digits, for which every output's expected error is at most `wanted`, with groups of this many rows. Spends nothing, reads no data.
    ///
    /// # Errors
    /// When the query is refused, states its own price, has an error that depends on the data, or no ε is enough.
    pub async fn epsilon_for(
        &self,
        ask: &QueryRequest,
        wanted: WantedError,
        group_size: u64,
    ) -> Result<Epsilon, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.epsilon_for(&ask, wanted, group_size))
            .await
    }

    /// How many rows the groups of this question have, if an earlier answer or a planned release counted them. Charges nothing.
    ///
    /// # Errors
    /// When the query is refused, or the ledger cannot be read.
    pub async fn known_sizes(&self, ask: &QueryRequest) -> Result<Option<KnownSizes>, Error> {
        let ask = ask.clone();
        self.waiting(move |dataset| dataset.known_sizes(&ask)).await
    }
}

/// The smallest ε, to three digits, for which every output's expected error is at most `wanted`. Errors fall as ε grows, so it is found
/// by bisection; and what is returned was asked about.
fn cheapest(
    wanted: WantedError,
    mut explain: impl FnMut(&Epsilon) -> Result<Explanation, Error>,
) -> Result<Epsilon, Error> {
    let last = STEPS * DECADES - 1;
    let (most, less) = (explain(&number(last))?, explain(&number(last - STEPS))?);
    let costs = |explanation: &Explanation| -> Vec<Epsilon> {
        explanation
            .parts
            .iter()
            .map(|part| part.epsilon.clone())
            .collect()
    };
    if costs(&less) == costs(&most) {
        return Err(Error::refused(
            "the query itself says what it costs, so no other ε can be found for it",
            "leave `epsilon` out of its OPTIONS, or look at its error without searching",
        ));
    }
    if !is_enough(&most, wanted)? {
        return Err(Error::refused(
            format!(
                "even ε = {} does not bring every expected error down to {wanted}",
                number(last)
            ),
            "accept a larger error, ask about larger groups, or ask for fewer numbers at once",
        ));
    }
    bisected(|epsilon| match explain(epsilon) {
        Ok(explanation) => is_enough(&explanation, wanted),
        // An ε so small that there is no noise for it is not enough.
        Err(_) => Ok(false),
    })
}

/// Whether every output's expected error is at most `wanted`.
fn is_enough(explanation: &Explanation, wanted: WantedError) -> Result<bool, Error> {
    for output in explanation.parts.iter().flat_map(|part| &part.outputs) {
        let (error, most) = match wanted {
            WantedError::Relative(most) => (output.relative, most),
            WantedError::Absolute(most) => (output.expected_error, most),
        };
        match error {
            Some(error) if error <= most => {}
            Some(_) => return Ok(false),
            None => {
                return Err(Error::refused(
                    format!(
                        "the error of `{}` depends on the data, so no ε can be found for it",
                        output.name
                    ),
                    "leave the column out, or look at the errors without searching",
                ));
            }
        }
    }
    Ok(true)
}
