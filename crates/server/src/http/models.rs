//! Models and tests over HTTP: an analyst's own, charged as the query that they are measured by.

use super::analysts::{Decimal, idempotency_key};
use super::problem::{self, Problem};
use crate::service::{Identity, Service};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};
use sql::{AskedTest, Family, RegressionAsked};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn of_analysts() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(explain_model))
        .routes(routes!(regress))
}

/// A model, or a test.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct ModelBody {
    /// What is explained by what, as R writes it.
    #[schema(example = "income ~ age + education")]
    formula: String,
    /// The table; that of the release, or the only private one, where nothing is said.
    #[serde(default)]
    table: Option<String>,
    /// What it may cost: a decimal, as text or as a number.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "0.5")]
    epsilon: Option<Decimal>,
    /// Likewise its δ.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "1e-9")]
    delta: Option<Decimal>,
    /// What the response is like: linear, logistic or poisson.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "linear")]
    family: Option<Family>,
    /// A test in place of a model: independence, proportions or means.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "means")]
    test: Option<AskedTest>,
    /// The two groups that a test compares, where there are more.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>, example = json!(["female", "male"]))]
    groups: Option<(String, String)>,
    /// Only rows that fulfil this SQL condition count.
    #[serde(default, rename = "where")]
    #[schema(example = "age >= 18")]
    condition: Option<String>,
    /// For some factors, the value that others are compared with; else the first.
    #[serde(default)]
    #[schema(value_type = Object, example = json!({"education": "bachelor"}))]
    references: BTreeMap<String, String>,
    /// For some numbers, how wide their bins are, where rows are counted by them.
    #[serde(default)]
    #[schema(value_type = Object, example = json!({"age": 5}))]
    bins: BTreeMap<String, f64>,
    /// A planned release that was made: then nothing is charged.
    #[serde(default)]
    release: Option<String>,
}

impl ModelBody {
    fn asked(self) -> RegressionAsked {
        RegressionAsked {
            formula: self.formula,
            table: self.table,
            family: self.family.unwrap_or_default(),
            test: self.test,
            groups: self.groups,
            condition: self.condition,
            references: self.references,
            bins: self.bins,
            release: self.release,
            epsilon: self.epsilon.map(Decimal::text),
            delta: self.delta.map(Decimal::text),
        }
    }
}

/// The query that a model is measured by, and what it would cost. Free: nothing is charged and no private data is read.
#[utoipa::path(post, path = "/v1/regress/explain", request_body = ModelBody, security(("token" = [])),
    responses((status = 200, description = "The SQL, how it is understood and what it costs", body = Object), (status = "4XX", body = problem::Body)))]
async fn explain_model(
    State(service): State<Arc<Service>>,
    who: Identity,
    body: Result<Json<ModelBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let (sql, explanation) = service.explain_model(&who, &body?.0.asked()).await?;
    Ok(Json(json!({ "sql": sql, "explanation": explanation })))
}

/// Fits a model or tests, with errors and p-values that count the noise. It is one query, charged before the data is read, and once: the same model again is free. Its numbers and their receipt are found under the number of the charge, as those of any query.
#[utoipa::path(post, path = "/v1/regress", request_body = ModelBody, security(("token" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "A request that is sent again under its key is never charged twice")),
    responses((status = 200, description = "Coefficients with errors, intervals and p-values, or the result of a test; as text, and of a model for LaTeX and as a plot", body = Object),
        (status = "4XX", body = problem::Body), (status = "5XX", body = problem::Body)))]
async fn regress(
    State(service): State<Arc<Service>>,
    who: Identity,
    headers: HeaderMap,
    body: Result<Json<ModelBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let asked = body?.0.asked();
    let regressed = service.regress(&who, &asked, idempotency_key(&headers)).await?;
    Ok(Json(regressed.told()))
}
