//! What analysts do over HTTP.

use super::answers::Format;
use super::problem::{self, Problem};
use super::{Audience, routes as described};
use crate::accounts::Right;
use crate::network::Network;
use crate::service::{Identity, Precision, Question, Service};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(sign_in))
        .routes(routes!(explain))
        .routes(routes!(query))
        .routes(routes!(answer))
        .routes(routes!(receipt))
        .routes(routes!(tables))
        .routes(routes!(budget))
        .routes(routes!(description))
}

/// A question.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct QuestionBody {
    /// One SELECT.
    #[schema(example = "SELECT region, COUNT(*) FROM people GROUP BY region")]
    sql: String,
    /// The ε of the question, where its SQL does not state one: a decimal, as text or as a number.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "0.1")]
    epsilon: Option<Decimal>,
    /// Likewise its δ.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "1e-7")]
    delta: Option<Decimal>,
    /// Whether what the limits cut is to be estimated, for a twentieth of ε.
    #[serde(default)]
    cut_estimate: Option<bool>,
}

/// A number that is read digit by digit: a float would be another number.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Decimal {
    Text(String),
    Number(serde_json::Number),
}

impl Decimal {
    pub(super) fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

impl QuestionBody {
    fn question(self) -> Question {
        Question {
            epsilon: self.epsilon.map(Decimal::text),
            delta: self.delta.map(Decimal::text),
            cut_estimate: self.cut_estimate.unwrap_or(true),
            ..Question::new(self.sql)
        }
    }
}

/// A question that is explained, and how precise its answer is wanted to be.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct ExplainBody {
    /// One SELECT.
    #[schema(example = "SELECT region, COUNT(*) FROM people GROUP BY region")]
    sql: String,
    /// The ε of the question, where its SQL does not state one: a decimal, as text or as a number.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "0.1")]
    epsilon: Option<Decimal>,
    /// Likewise its δ.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "1e-7")]
    delta: Option<Decimal>,
    /// Whether what the limits cut is to be estimated, for a twentieth of ε.
    #[serde(default)]
    cut_estimate: Option<bool>,
    /// The largest expected error of any column, in place of an ε: a number, or a part of the largest possible value as in 2%. The smallest ε for it is found.
    #[serde(default)]
    #[schema(example = "2%")]
    error: Option<String>,
    /// The number of rows in a group for which errors are stated; 1,000 where nothing is said.
    #[serde(default)]
    group_size: Option<u64>,
    /// Whether to say what the verifier derives of the engine's plans: whose rows each operator gives, and how far one person moves each number.
    #[serde(default)]
    verify: bool,
}

/// A name and a password.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct SignInBody {
    /// The account.
    name: String,
    /// Its password.
    password: String,
}

/// A token.
#[derive(Serialize, utoipa::ToSchema)]
struct TokenBody {
    /// Sent as `Authorization: Bearer …`. It is good for eight hours.
    token: String,
}

/// Signs a person in: a token for a password.
#[utoipa::path(post, path = "/v1/sign-in", request_body = SignInBody,
    responses((status = 200, body = TokenBody), (status = "4XX", body = problem::Body)))]
async fn sign_in(
    State(service): State<Arc<Service>>,
    from: Network,
    body: Result<Json<SignInBody>, JsonRejection>,
) -> Result<Json<TokenBody>, Problem> {
    let Json(SignInBody { name, password }) = body?;
    let password = zeroize::Zeroizing::new(password);
    let token = service.sign_in_with_password(&name, &password, from).await?;
    Ok(Json(TokenBody {
        token: token.reveal().to_owned(),
    }))
}

/// What a question would do and cost. Free: nothing is charged and no private data is read.
#[utoipa::path(post, path = "/v1/explain", request_body = ExplainBody, security(("token" = [])),
    responses((status = 200, description = "How it is understood, what it costs, what is left, and which columns the answer has", body = Object),
        (status = "4XX", body = problem::Body)))]
async fn explain(
    State(service): State<Arc<Service>>,
    who: Identity,
    body: Result<Json<ExplainBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let Json(body) = body?;
    let precision = Precision {
        error: body.error,
        group_size: body.group_size,
        verify: body.verify,
    };
    let question = QuestionBody {
        sql: body.sql,
        epsilon: body.epsilon,
        delta: body.delta,
        cut_estimate: body.cut_estimate,
    };
    let explained = service.explain(&who, &question.question(), &precision).await?;
    Ok(Json(json!(explained)))
}

/// Answers a question. It is charged before the data is read, and once: the same question again is free.
#[utoipa::path(post, path = "/v1/query", request_body = QuestionBody, security(("token" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "A request that is sent again under its key is never charged twice")),
    responses((status = 200, description = "The answer, in the format that the request accepts",
            content((Object = "application/json"), (String = "text/csv"), (Vec<u8> = "application/vnd.apache.arrow.stream"))),
        (status = "4XX", body = problem::Body), (status = "5XX", body = problem::Body)))]
async fn query(
    State(service): State<Arc<Service>>,
    who: Identity,
    headers: HeaderMap,
    body: Result<Json<QuestionBody>, JsonRejection>,
) -> Result<Response, Problem> {
    let format = Format::accepted(&headers)?;
    let Json(body) = body?;
    let key = idempotency_key(&headers);
    let answered = service.ask(&who, &body.question(), key).await?;
    // What somebody else has paid for cannot be looked up by its number.
    let charge = answered.answer.cost.as_ref().filter(|_| !answered.repeated);
    let charge = charge.map(|cost| cost.charge);
    Ok(format.response(answered, charge)?)
}

/// The key under which a request is charged once.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Option<&str> {
    match headers.get("idempotency-key").map(|key| key.to_str()) {
        None => None,
        Some(Ok(key)) => Some(key),
        // One that is no text is no key.
        Some(Err(_)) => Some(""),
    }
}

/// An answer that was given before, by the number of its charge. Analysts see their own.
#[utoipa::path(get, path = "/v1/answers/{charge}", security(("token" = [])),
    params(("charge" = u64, Path, description = "The number of the charge, which is in the cost of an answer")),
    responses((status = 200, description = "The answer, in the format that the request accepts",
            content((Object = "application/json"), (String = "text/csv"), (Vec<u8> = "application/vnd.apache.arrow.stream"))),
        (status = "4XX", body = problem::Body)))]
async fn answer(
    State(service): State<Arc<Service>>,
    who: Identity,
    headers: HeaderMap,
    charge: Result<Path<u64>, PathRejection>,
) -> Result<Response, Problem> {
    let format = Format::accepted(&headers)?;
    let Path(charge) = charge?;
    let answered = service.saved(&who, charge).await?;
    Ok(format.response(Arc::new(answered), Some(charge))?)
}

/// The signed receipt of an answer, whichever format the answer was taken in: what was charged, and the digests of question, release and table.
#[utoipa::path(get, path = "/v1/answers/{charge}/receipt", security(("token" = [])),
    params(("charge" = u64, Path, description = "The number of the charge, which is in the cost of an answer")),
    responses((status = 200, description = "The receipt, for `deniable receipt verify`", body = Object), (status = "4XX", body = problem::Body)))]
async fn receipt(
    State(service): State<Arc<Service>>,
    who: Identity,
    charge: Result<Path<u64>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    let Path(charge) = charge?;
    Ok(Json(json!(service.receipt(&who, charge).await?)))
}

/// The tables that can be asked about, as the catalog declares them.
#[utoipa::path(get, path = "/v1/tables", security(("token" = [])),
    responses((status = 200, description = "Each table with its columns", body = Object), (status = "4XX", body = problem::Body)))]
async fn tables(State(service): State<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::Ask)?;
    Ok(Json(service.dataset().tables_as_json()))
}

/// What you may spend.
#[utoipa::path(get, path = "/v1/budget", security(("token" = [])),
    responses((status = 200, description = "The budget, your share and your limits", body = Object), (status = "4XX", body = problem::Body)))]
async fn budget(State(service): State<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    Ok(Json(json!(service.budget(&who).await?)))
}

/// This description.
#[utoipa::path(get, path = "/v1/openapi.json", responses((status = 200, description = "An OpenAPI document", body = Object)))]
async fn description() -> Json<&'static Value> {
    // Strangers may ask for it, and making it takes longer than all else that they may ask for.
    static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| json!(described(Audience::Analysts).1));
    Json(&DESCRIPTION)
}
