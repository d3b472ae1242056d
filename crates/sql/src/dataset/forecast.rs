//! What a question costs against what is left, in people's words: derived from parameters and earlier charges, never from data.

use crate::dataset::blocking::Dataset;
use crate::dataset::explain_statement::without_explain;
use crate::error::{Error, OverBudget};
use crate::price::question::{QueryRequest, Question};
use accounting::{Epsilon, Promise};
use ledger::Store;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many questions like one are counted at most.
pub const MOST_QUESTIONS: u64 = 1000;

/// How many more questions like this one the budget allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forecast {
    /// What the question costs.
    pub cost: String,
    /// Whether it was asked before, so that it costs nothing.
    pub free: bool,
    /// The number of a charge that paid for it, where no answer came of that: asking it again finishes it, for nothing.
    pub unfinished: Option<u64>,
    /// How many more questions like this one fit, if nobody asks anything else.
    pub more: u64,
    /// Whether more than that may fit: only this many were counted.
    pub at_least: bool,
    /// The largest ε of one further release of any kind.
    pub left: Epsilon,
    /// What that is after this question; `None` where it does not fit. Under an (ε, δ) budget it falls by less than the question costs: many small releases add up to less than their sum.
    pub left_after: Option<Epsilon>,
    /// The largest ε with which this question fits now, to two digits, where as it stands it does not; `None` when none does.
    pub fits: Option<Epsilon>,
    /// Where the same was answered before for another ε, the newest first: asked for that ε it costs nothing.
    pub answered_for: Vec<AnsweredFor>,
}

/// An earlier answer to the same question for another ε.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnsweredFor {
    /// The ε to ask with.
    pub epsilon: Epsilon,
    /// The number of the charge that paid for it.
    pub charge: u64,
}

/// This many prices of earlier questions are tried.
const MOST_PRICES: usize = 30;
/// Significant digits of an ε that people ask with. A charge is a little below: it is split in parts, and none is rounded up.
const DIGITS: u32 = 6;

impl Dataset {
    /// How many more questions like this one fit, and what would if this one does not. Nothing is spent, and no ledger is made.
    ///
    /// # Errors
    /// When the question is refused, or the ledger cannot be used.
    pub fn forecast(&self, ask: &QueryRequest) -> Result<Forecast, Error> {
        let ask = without_explain(ask)?;
        self.forecast_of(&ask, &self.understand(&ask)?)
    }

    /// The same of a question that is understood already.
    pub(crate) fn forecast_of(&self, ask: &QueryRequest, question: &Question) -> Result<Forecast, Error> {
        if question.is_public() {
            let left = self.ledger_or_untouched()?.left(&ask.analyst)?.epsilon;
            return Ok(Forecast {
                cost: "nothing: all of it is public".to_owned(),
                free: false,
                unfinished: None,
                more: MOST_QUESTIONS,
                at_least: true,
                left_after: Some(left.clone()),
                left,
                fits: None,
                answered_for: Vec::new(),
            });
        }
        let charge = question.charge(self.catalog())?;
        let cost = cost_of(charge.guarantee.promise());
        let mut store = self.ledger_or_untouched()?;
        let free = self.is_saved(question, &mut store)?;
        let forecast = store.forecast(&ask.analyst, &charge.event, MOST_QUESTIONS)?;
        let unfinished = match free {
            true => None,
            false => store.unfinished(&ask.analyst, &question.digest(self.catalog()), &charge)?,
        };
        let fits = if forecast.more == 0 {
            self.fitting(ask, question, &mut store)
        } else {
            None
        };
        let answered_for = if free {
            Vec::new()
        } else {
            self.answered_for(ask, question, &mut store)?
        };
        Ok(Forecast {
            cost,
            free,
            answered_for,
            more: forecast.more,
            at_least: forecast.at_least,
            left_after: match free || unfinished.is_some() {
                true => Some(forecast.left.clone()),
                false => forecast.left_after,
            },
            unfinished,
            left: forecast.left,
            fits,
        })
    }

    /// Whether the question fits what is left. Nothing is spent, and no ledger is made.
    pub(crate) fn would_fit(&self, ask: &QueryRequest) -> Result<bool, Error> {
        let question = self.understand(ask)?;
        if question.is_public() {
            return Ok(true);
        }
        let charge = question.charge(self.catalog())?;
        let mut store = self.ledger_or_untouched()?;
        Ok(store.fits(&ask.analyst, &charge.event)?)
    }

    /// Earlier answers to the same question for another ε: derived from the ledger alone, so it is public.
    pub(crate) fn answered_for(
        &self,
        ask: &QueryRequest,
        question: &Question,
        store: &mut Store,
    ) -> Result<Vec<AnsweredFor>, Error> {
        if question.states_its_price() {
            return Ok(Vec::new());
        }
        let mut tried: BTreeMap<Epsilon, Option<String>> = BTreeMap::new();
        let mut found: Vec<AnsweredFor> = Vec::new();
        for charge in store
            .charges()?
            .into_iter()
            .rev()
            .filter(|charge| charge.answered)
        {
            let (Promise::Pure(epsilon) | Promise::Approximate(epsilon, _)) = charge.guarantee.promise()
            else {
                continue;
            };
            let asked = exact::decimal_at_least(epsilon.as_rational(), DIGITS);
            let Ok(asked) = Epsilon::rounded_down(&asked) else {
                continue;
            };
            if tried.len() >= MOST_PRICES && !tried.contains_key(&asked) {
                continue;
            }
            let digest = tried
                .entry(asked.clone())
                .or_insert_with(|| question.digest_for(ask, &asked, self.catalog()).ok());
            let known = found.iter().any(|other| other.epsilon == asked);
            if digest.as_ref() == Some(&charge.question) && !known {
                found.push(AnsweredFor {
                    epsilon: asked,
                    charge: charge.number,
                });
            }
        }
        Ok(found)
    }

    /// The ledger; where there is none yet, one with nothing spent in its place, so that looking makes none.
    pub(crate) fn ledger_or_untouched(&self) -> Result<Store, Error> {
        if let Some(store) = Store::open_existing(&self.place())? {
            return Ok(store);
        }
        let place = ledger::Place::Temporary(ledger::Temporary::new()?);
        Ok(Store::open(&place, &self.rules()?)?)
    }

    /// The refusal in people's words.
    pub(crate) fn over_budget(
        &self,
        ask: &QueryRequest,
        question: &Question,
        store: &mut Store,
        refusal: accounting::Error,
    ) -> Error {
        // What is no matter of how much, such as another unit, is reported as it is.
        if !matches!(refusal, accounting::Error::OverBudget { .. }) {
            return mechanism::Error::Refused(mechanism::Refusal::Budget(refusal)).into();
        }
        let (Ok(charge), Ok(left)) = (question.charge(self.catalog()), store.left(&ask.analyst)) else {
            return mechanism::Error::Refused(mechanism::Refusal::Budget(refusal)).into();
        };
        let cost = cost_of(charge.guarantee.promise());
        let fits = self.fitting(ask, question, store);
        let whose = match &left.share {
            Some(share) if *share < left.dataset => " of your share",
            _ => "",
        };
        let what = format!(
            "this question costs {cost}, and you have ε = {} left{whose}",
            left.epsilon
        );
        let hint = match &fits {
            Some(fits) if question.states_its_price() => format!(
                "state OPTIONS (epsilon = {fits}) in the query instead, which would fit; nothing was charged"
            ),
            Some(fits) => {
                format!("--epsilon {fits} would fit, with a larger error; nothing was charged")
            }
            None => {
                "nothing of the kind fits any more, and nothing was charged; ask the curator, or repeat an earlier question, which is free".to_owned()
            }
        };
        Error::OverBudget(Box::new(OverBudget {
            what,
            hint,
            cost,
            left: left.epsilon,
            fits,
        }))
    }

    /// The largest ε of two digits with which the question fits.
    fn fitting(&self, ask: &QueryRequest, question: &Question, store: &mut Store) -> Option<Epsilon> {
        largest_fitting(|epsilon| {
            let cheaper = question.for_epsilon(ask, epsilon, self.catalog());
            cheaper.is_ok_and(|charge| store.fits(&ask.analyst, &charge.event).unwrap_or(false))
        })
    }
}

/// The largest ε of two digits that fits, by bisection: what costs less fits if what costs more does.
pub fn largest_fitting(mut fits: impl FnMut(&Epsilon) -> bool) -> Option<Epsilon> {
    let (mut low, mut high) = (0, PLACES + 1);
    let mut found = None;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match number(middle).filter(|epsilon| fits(epsilon)) {
            Some(epsilon) => (low, found) = (middle, Some(epsilon)),
            None => high = middle,
        }
    }
    found
}

/// Numbers of two digits from 1e-4 to 990,000: nobody who asks for more is helped by a number.
const PLACES: u64 = 90 * 10;

/// The numbers of two digits in ascending order, from 0.0001 on.
fn number(place: u64) -> Option<Epsilon> {
    let place = place.checked_sub(1)?;
    let digits = 10 + place % 90;
    let exponent = i64::try_from(place / 90).ok()? - 5;
    Epsilon::parse(&format!("{digits}e{exponent}")).ok()
}

/// What a promise costs, as people say it.
pub fn cost_of(promise: &Promise) -> String {
    let short = |value: &exact::Rational| exact::format_decimal(&exact::decimal_at_least(value, 3));
    match promise {
        Promise::Pure(epsilon) => format!("ε = {}", short(epsilon.as_rational())),
        Promise::Approximate(epsilon, delta) => format!(
            "ε = {} and δ = {}",
            short(epsilon.as_rational()),
            short(delta.as_rational())
        ),
        Promise::Concentrated(rho) => format!("ρ = {}", short(rho.as_rational())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend() {
        assert_eq!(number(0), None);
        assert_eq!(number(1), Epsilon::parse("0.0001").ok());
        assert_eq!(number(91), Epsilon::parse("0.001").ok());
        assert_eq!(number(6 * 90), Epsilon::parse("99").ok());
        assert_eq!(number(PLACES), Epsilon::parse("990000").ok());
        let least = |text: &str| Epsilon::parse(text).unwrap();
        let found = |most: &str| largest_fitting(|epsilon| *epsilon <= least(most));
        assert_eq!(found("353"), Epsilon::parse("350").ok());
        assert_eq!(found("1e-9"), None);
    }
}
