//! Requests for more budget over HTTP: analysts make them, and curators decide about them on their own
//! listener.

use super::problem::{self, Problem};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use crate::governance::Error;
use crate::requests::{self, Request, State};
use crate::service::{Identity, Service};
use accounting::Epsilon;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State as Shared};
use ledger::{Store, utc};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn of_analysts() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(own, file))
        .routes(routes!(withdraw))
}

pub(super) fn of_curators() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(all))
        .routes(routes!(propose))
        .routes(routes!(approve))
        .routes(routes!(decline))
}

fn described(request: &Request) -> Value {
    let mut state = json!(request.state);
    if let State::Proposed { at, .. } = &request.state {
        state["at"] = utc(*at).into();
    }
    json!({
        "number": request.number,
        "by": request.by,
        "created": utc(request.created),
        "epsilon": request.epsilon,
        "reason": request.reason,
        "state": state,
    })
}

/// The ε of a request, from what somebody wrote.
pub(crate) fn wanted(text: &str) -> Result<Epsilon, Failure> {
    Epsilon::parse(text.trim()).map_err(|_| {
        Failure::new(
            Code::BadRequest,
            "the ε that is wanted is no number",
            "write a decimal above 0, such as 0.5",
        )
    })
}

/// A request for more budget.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct RequestBody {
    /// How much more: a decimal.
    #[schema(example = "0.5")]
    epsilon: String,
    /// Why, in at most 500 characters: curators decide by it, and it is kept in the ledger.
    reason: String,
}

/// Asks for more budget. Nothing changes until one curator has proposed it and another has approved it.
#[utoipa::path(post, path = "/v1/budget/requests", security(("token" = [])), request_body = RequestBody,
    responses((status = 200, description = "The request, with its number and state", body = Object), (status = "4XX", body = problem::Body)))]
async fn file(
    Shared(service): Shared<Arc<Service>>,
    who: Identity,
    body: Result<Json<RequestBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::Ask)?;
    let Json(RequestBody { epsilon, reason }) = body?;
    let epsilon = wanted(&epsilon)?;
    let by = who.name().to_owned();
    let made = service
        .on_governance(move |store| requests::file(store, &by, epsilon, &reason))
        .await?;
    Ok(Json(described(&made)))
}

/// Your requests for more budget, and what came of them.
#[utoipa::path(get, path = "/v1/budget/requests", security(("token" = [])),
    responses((status = 200, description = "Your requests, the oldest first", body = Object), (status = "4XX", body = problem::Body)))]
async fn own(Shared(service): Shared<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::Ask)?;
    let all = service.on_governance(requests::list).await?;
    let own = all.iter().filter(|request| request.by == who.name());
    Ok(Json(
        json!({ "requests": own.map(described).collect::<Vec<_>>() }),
    ))
}

/// Withdraws a request of yours that waits.
#[utoipa::path(delete, path = "/v1/budget/requests/{number}", security(("token" = [])),
    params(("number" = u64, Path, description = "The number of the request")),
    responses((status = 200, description = "The request", body = Object), (status = "4XX", body = problem::Body)))]
async fn withdraw(
    Shared(service): Shared<Arc<Service>>,
    who: Identity,
    number: Result<Path<u64>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::Ask)?;
    let Path(number) = number?;
    let by = who.name().to_owned();
    let withdrawn = service
        .on_governance(move |store| requests::withdraw(store, &by, number))
        .await?;
    Ok(Json(described(&withdrawn)))
}

/// Everybody's requests for more budget: for curators and auditors.
#[utoipa::path(get, path = "/v1/budget/requests", security(("token" = [])),
    responses((status = 200, description = "Every request, the oldest first", body = Object), (status = "4XX", body = problem::Body)))]
async fn all(Shared(service): Shared<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::ReadLedger)?;
    let all = service.on_governance(requests::list).await?;
    Ok(Json(
        json!({ "requests": all.iter().map(described).collect::<Vec<_>>() }),
    ))
}

async fn decided(
    service: &Service,
    who: &Identity,
    number: Result<Path<u64>, PathRejection>,
    decide: fn(&mut Store, &str, u64) -> Result<Request, Error>,
) -> Result<Json<Value>, Problem> {
    service.allow(who, Right::Keep)?;
    let Path(number) = number?;
    let by = who.name().to_owned();
    let request = service
        .on_governance(move |store| decide(store, &by, number))
        .await?;
    Ok(Json(described(&request)))
}

/// Proposes to grant a request of somebody else, the first of two approvals: for curators.
#[utoipa::path(post, path = "/v1/budget/requests/{number}/propose", security(("token" = [])),
    params(("number" = u64, Path, description = "The number of the request")),
    responses((status = 200, description = "The request, with what would change", body = Object), (status = "4XX", body = problem::Body)))]
async fn propose(
    Shared(service): Shared<Arc<Service>>,
    who: Identity,
    number: Result<Path<u64>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    decided(&service, &who, number, requests::propose).await
}

/// Approves a request that another curator proposed to grant. A larger share is in force from then on; a catalog when the server starts with it.
#[utoipa::path(post, path = "/v1/budget/requests/{number}/approve", security(("token" = [])),
    params(("number" = u64, Path, description = "The number of the request")),
    responses((status = 200, description = "The request, granted", body = Object), (status = "4XX", body = problem::Body)))]
async fn approve(
    Shared(service): Shared<Arc<Service>>,
    who: Identity,
    number: Result<Path<u64>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    decided(&service, &who, number, requests::approve).await
}

/// Declines a request: for curators.
#[utoipa::path(post, path = "/v1/budget/requests/{number}/decline", security(("token" = [])),
    params(("number" = u64, Path, description = "The number of the request")),
    responses((status = 200, description = "The request, declined", body = Object), (status = "4XX", body = problem::Body)))]
async fn decline(
    Shared(service): Shared<Arc<Service>>,
    who: Identity,
    number: Result<Path<u64>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    decided(&service, &who, number, requests::decline).await
}
