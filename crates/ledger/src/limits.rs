//! Limits of a charge beside the budget and the share: limits of an account, and requests that are charged
//! once.

use crate::Error;
use crate::analyst::normalised;
use crate::backend::Backend;
use crate::chain::{ChargeBody, digest_of};
use crate::spending::epsilon_of;
use crate::writing::{json, now};
use accounting::Epsilon;
use exact::Rational;
use mechanism::Charge;
use serde::{Deserialize, Serialize};

/// The collection of requests that are charged once.
const REQUESTS: &str = "request";
const DAY: i64 = 24 * 60 * 60 * 1000;

/// What an account may spend, apart from the budget and its share. They keep accidents small; the budget
/// gives the guarantee.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// The largest ε of one question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_question: Option<Epsilon>,
    /// The largest sum of ε in any 24 hours, by the clock of the machine that charges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_day: Option<Epsilon>,
}

/// A request that is charged once, however often it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Once {
    /// The account that sent it and the key that it chose, as one digest: keys of different accounts are
    /// different.
    name: String,
    /// A digest of what was requested. The same key for something else is refused.
    request: String,
}

/// What is kept of it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    request: String,
    charge: u64,
}

impl Once {
    /// The request `request` under the key `key` of an account.
    pub fn new(account: &str, key: &str, request: &str) -> Self {
        Self {
            name: digest_of(&format!("{}:{account}{key}", account.len())),
            request: digest_of(request),
        }
    }

    /// Inside a transaction: the charge that was made under this key.
    pub(crate) fn charged(&self, backend: &mut dyn Backend) -> Result<Option<u64>, Error> {
        let Some(body) = backend.document(REQUESTS, &self.name)? else {
            return Ok(None);
        };
        let kept: Kept = serde_json::from_str(&body).map_err(|_| {
            Error::unusable(
                "what it keeps of an earlier request cannot be read",
                "perhaps a newer version wrote it: use that one",
            )
        })?;
        if kept.request == self.request {
            Ok(Some(kept.charge))
        } else {
            Err(Error::KeyReused)
        }
    }

    /// Inside the transaction of the charge.
    pub(crate) fn keep(&self, backend: &mut dyn Backend, charge: u64) -> Result<(), Error> {
        let body = json(&Kept {
            request: self.request.clone(),
            charge,
        })?;
        backend.keep_document(REQUESTS, &self.name, &body)
    }
}

impl Caps {
    /// Inside the transaction of the charge: whether these allow it.
    pub(crate) fn check(
        &self,
        backend: &mut dyn Backend,
        analyst: &str,
        charge: &Charge,
    ) -> Result<(), Error> {
        if self.per_question.is_none() && self.per_day.is_none() {
            return Ok(());
        }
        let Some(cost) = epsilon_of(charge.guarantee.promise()) else {
            return Err(Error::unusable(
                "what costs a ρ cannot be held against a limit in ε",
                "ask under an account without limits a question or a day",
            ));
        };
        let short = |value: &Rational| exact::format_decimal(&exact::decimal_at_least(value, 3));
        if let Some(cap) = self.per_question.as_ref().filter(|cap| cost > *cap) {
            return Err(Error::OverQuestionCap {
                cost: short(cost.as_rational()),
                cap: cap.to_string(),
            });
        }
        let Some(cap) = &self.per_day else {
            return Ok(());
        };
        let mut spent = Rational::ZERO;
        for record in backend.charges_since(&normalised(analyst), now() - DAY)? {
            let ChargeBody { guarantee, .. } = record.body()?;
            // Questions that cost a ρ are not asked under such a limit; another account's habits do not count
            // here.
            spent += epsilon_of(guarantee.promise())
                .map_or(Rational::ZERO, |epsilon| epsilon.as_rational().clone());
        }
        if &spent + cost.as_rational() > *cap.as_rational() {
            let left = if spent < *cap.as_rational() {
                cap.as_rational() - spent
            } else {
                Rational::ZERO
            };
            return Err(Error::OverDayCap {
                cost: short(cost.as_rational()),
                left: exact::format_decimal(&exact::decimal_at_most(&left, 3)),
                cap: cap.to_string(),
            });
        }
        Ok(())
    }
}
