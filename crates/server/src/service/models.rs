//! Models and tests: an analyst's own, charged as the query that they are measured by.
//!
//! A model goes the way of a query: a place, turns to work and to read, its answer kept, its outcome on the
//! schedule. What is fitted is computed of what was released, so it has the turn that an analyst's own SQL has:
//! one of each account. A model from a planned release reads that release, and stands in the line of those
//! who read.

use super::releases::{epsilon, once};
use super::synthetic::{delta, in_keywords};
use super::{Identity, Outcome, Question, Service, unserved};
use crate::failure::{Code, Failure};
use sql::{Explanation, Regressed, RegressionAsked, RegressionRequest};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a formula and of a condition.
const MOST_BYTES: usize = 16 << 10;
/// How long an account waits to read a release.
const PATIENCE: Duration = Duration::from_secs(10);

impl Service {
    /// The query that a model is measured by, and what it would cost. Free, and reads no private data.
    ///
    /// # Errors
    /// When the model is refused, or too many are planned.
    pub async fn explain_model(
        &self,
        who: &Identity,
        asked: &RegressionAsked,
    ) -> Result<(String, Explanation), Failure> {
        self.admit(who)?;
        let (dataset, request) = (self.planner(), self.model_request(who, asked)?);
        let explained = self
            .plan_in_turn(who, async move { dataset.explain_regression(&request).await })
            .await;
        explained.map_err(in_keywords)
    }

    /// Fits a model or tests: charged once, before the data is read, and free where the same was measured before
    /// or a planned release tells it. Leaves on the schedule; if the client goes away, it is measured all the
    /// same, and asking again finds it.
    ///
    /// # Errors
    /// When the model is refused, does not fit, fails after its charge, or the noise is too large for it.
    pub async fn regress(
        self: &Arc<Self>,
        who: &Identity,
        asked: &RegressionAsked,
        idempotency_key: Option<&str>,
    ) -> Result<Regressed, Failure> {
        let came = Instant::now();
        let outcome = match self.model_to_measure(who, asked, idempotency_key) {
            Err(failure) => Outcome::of(came, Err(failure)),
            Ok(request) => {
                let (service, who) = (Arc::clone(self), who.clone());
                // A task of its own: the client may go away, and what is charged is finished.
                let run = tokio::spawn(async move { service.run_model(&who, request).await });
                run.await.unwrap_or_else(|_| {
                    Outcome::of(came, Err(Failure::defect("the model could not be fitted")))
                })
            }
        };
        self.leave(came, outcome).await
    }

    fn model_to_measure(
        &self,
        who: &Identity,
        asked: &RegressionAsked,
        idempotency_key: Option<&str>,
    ) -> Result<RegressionRequest, Failure> {
        self.admit(who)?;
        let mut request = self.model_request(who, asked)?;
        if request.epsilon.is_none() && request.release.is_none() {
            return Err(Failure::new(
                Code::NoEpsilon,
                "it is not said what the model may cost",
                "send an ε with it, as \"0.5\"",
            ));
        }
        if let Some(key) = idempotency_key {
            let words = serde_json::to_string(asked).expect("a request is plain data");
            request.once = Some(once(who, key, &format!("regress {words}"))?);
        }
        Ok(request)
    }

    fn model_request(&self, who: &Identity, asked: &RegressionAsked) -> Result<RegressionRequest, Failure> {
        let condition = asked.condition.as_ref().map_or(0, String::len);
        if asked.formula.len() + condition > MOST_BYTES {
            return Err(Failure::new(
                Code::BadRequest,
                "the formula and the condition are longer than 16 KiB",
                "send shorter ones",
            ));
        }
        asked.epsilon.as_deref().map(epsilon).transpose()?;
        asked.delta.as_deref().map(delta).transpose()?;
        let request = asked.request(self.dataset.catalog(), who.name());
        let mut request = request.map_err(|error| in_keywords(error.into()))?;
        request.caps = who.account.caps.clone();
        Ok(request)
    }

    async fn run_model(self: &Arc<Self>, who: &Identity, request: RegressionRequest) -> Outcome<Regressed> {
        let service = Arc::clone(self);
        if request.release.is_some() {
            let came = Instant::now();
            let turn = match self.reading.turn(who.name(), 1, Some(PATIENCE)).await {
                Ok(turn) => turn,
                Err(none) => return Outcome::of(came, Err(unserved(none))),
            };
            let fitted = service.dataset.regress(&request, |_| ()).await;
            drop(turn);
            return Outcome::of(came, fitted.map_err(|error| in_keywords(error.into())));
        }
        let asked = request.clone();
        let ran = self.in_place(who, 1, |watch| async move {
            let fitted = service.dataset.regress(&asked, watch).await;
            fitted.map_err(|error| in_keywords(error.into()))
        });
        ran.await.map(|fitted| {
            if let Err(failure) = &fitted {
                self.note_refusal(who, failure);
            }
            let fitted = fitted?;
            // Its numbers and their receipt are found by the number of the charge, as those of any query.
            if let (Some(cost), Some(sql), false) = (&fitted.cost, &fitted.sql, fitted.repeated) {
                let question = Question {
                    epsilon: request.epsilon.as_ref().map(ToString::to_string),
                    delta: request.delta.as_ref().map(ToString::to_string),
                    cut_estimate: false,
                    ..Question::new(sql.clone())
                };
                self.keep_request(cost.charge, who, &question);
            }
            Ok(fitted)
        })
    }
}
