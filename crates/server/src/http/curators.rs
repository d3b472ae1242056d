//! What curators, auditors and operators do over HTTP, on a listener of its own.

use super::problem::{self, Problem};
use super::{Audience, routes as described};
use crate::accounts::{self, Account, NewAccount, Right, Role};
use crate::failure::{Code, Failure};
use crate::governance;
use crate::requests::{self, Kept};
use crate::service::{Identity, Service};
use accounting::Epsilon;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::IntoResponse;
use exact::Rational;
use ledger::{Caps, utc};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(health))
        .routes(routes!(metrics))
        .routes(routes!(list, add))
        .routes(routes!(revoke))
        .routes(routes!(add_token))
        .routes(routes!(revoke_token))
        .routes(routes!(charges))
        .routes(routes!(log))
        .routes(routes!(verify))
        .routes(routes!(proposals, propose))
        .routes(routes!(approve))
        .routes(routes!(description))
}

/// One curator must not become two: who they are is decided on the machine itself.
pub(crate) async fn not_of_another_curator(
    service: &Service,
    who: &Identity,
    name: &str,
) -> Result<(), Failure> {
    let looked_up = name.to_owned();
    let account = service
        .on_ledger(move |store| accounts::find(store, &looked_up))
        .await?;
    match account {
        Some(account) if account.role == Role::Curator && account.name != who.name() => Err(of_the_machine()),
        _ => Ok(()),
    }
}

fn of_the_machine() -> Failure {
    Failure::new(
        Code::Forbidden,
        "accounts of curators are made, revoked and given tokens on the machine itself",
        "use `deniable user` there: a curator who could make another would be two",
    )
}

/// Whether the server is there. For everybody, so that a supervisor needs no token.
#[utoipa::path(get, path = "/healthz", responses((status = 200, description = "It is", body = String)))]
async fn health() -> &'static str {
    "ok\n"
}

/// Counters for Prometheus: for operators and curators. There are no times, sizes or names among them.
#[utoipa::path(get, path = "/metrics", security(("token" = [])),
    responses((status = 200, description = "OpenMetrics text", body = String), (status = "4XX", body = problem::Body)))]
async fn metrics(State(service): State<Arc<Service>>, who: Identity) -> Result<impl IntoResponse, Problem> {
    service.allow(&who, Right::ReadCounters)?;
    let format = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, format)], service.metrics().text()))
}

/// All accounts: for curators and auditors.
#[utoipa::path(get, path = "/v1/accounts", security(("token" = [])),
    responses((status = 200, description = "Accounts with their tokens, without secrets", body = Object), (status = "4XX", body = problem::Body)))]
async fn list(State(service): State<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::ReadLedger)?;
    let accounts = service.on_ledger(accounts::list).await?;
    Ok(Json(
        json!({ "accounts": accounts.iter().map(described_account).collect::<Vec<_>>() }),
    ))
}

/// An account as curators see it.
pub fn described_account(account: &Account) -> Value {
    let tokens: Vec<Value> = account
        .tokens
        .iter()
        .map(|token| {
            json!({
                "name": token.name,
                "created": utc(token.created),
                "expires": token.expires.map(utc),
                "revoked": token.revoked,
                "good": token.is_good(),
                "last_used": token.last_used.map(utc),
            })
        })
        .collect();
    json!({
        "name": account.name,
        "role": account.role,
        "share": account.share,
        "per_question": account.caps.per_question,
        "per_day": account.caps.per_day,
        "created": utc(account.created),
        "revoked": account.revoked,
        "password": account.has_password(),
        "tokens": tokens,
    })
}

/// An account to be made.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct AccountBody {
    /// Its name.
    name: String,
    /// analyst, curator, auditor or operator.
    role: String,
    /// A share of the budget: a decimal or a fraction such as 1/4.
    #[serde(default)]
    share: Option<String>,
    /// The largest ε of one question.
    #[serde(default)]
    per_question: Option<String>,
    /// The largest sum of ε in 24 hours.
    #[serde(default)]
    per_day: Option<String>,
}

fn share_of(text: &str) -> Result<Rational, Failure> {
    exact::parse_decimal(text).map_err(|_| {
        Failure::new(
            Code::BadRequest,
            "the share is no number",
            "write a decimal or a fraction from 0 to 1, such as 0.25 or 1/4",
        )
    })
}

fn epsilon_of(text: &str) -> Result<Epsilon, Failure> {
    Epsilon::parse(text).map_err(|_| {
        Failure::new(
            Code::BadRequest,
            "a limit is no ε",
            "write a decimal above 0, such as 0.5",
        )
    })
}

/// Makes an account: for curators. Where there are several curators, another one has to approve its share.
#[utoipa::path(post, path = "/v1/accounts", security(("token" = [])), request_body = AccountBody,
    responses((status = 200, description = "The account. `share_request` is the number of the request with which its share waits for another curator, or null", body = Object), (status = "4XX", body = problem::Body)))]
async fn add(
    State(service): State<Arc<Service>>,
    who: Identity,
    body: Result<Json<AccountBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::Keep)?;
    let Json(body) = body?;
    let role: Role = body.role.parse().map_err(Failure::from)?;
    if role == Role::Curator {
        return Err(of_the_machine().into());
    }
    let share = body.share.as_deref().map(share_of).transpose()?;
    let new = NewAccount {
        caps: Caps {
            per_question: body.per_question.as_deref().map(epsilon_of).transpose()?,
            per_day: body.per_day.as_deref().map(epsilon_of).transpose()?,
        },
        ..NewAccount::new(body.name, role)
    };
    let by = who.name().to_owned();
    let Kept { account, waits } = service
        .on_governance(move |store| requests::add_account(store, &by, &new, share.as_ref()))
        .await?;
    let mut described = described_account(&account);
    described["share_request"] = json!(waits.map(|request| request.number));
    Ok(Json(described))
}

/// Revokes an account for good: for curators.
#[utoipa::path(delete, path = "/v1/accounts/{name}", security(("token" = [])),
    params(("name" = String, Path, description = "The account")),
    responses((status = 200, description = "It is revoked", body = Object), (status = "4XX", body = problem::Body)))]
async fn revoke(
    State(service): State<Arc<Service>>,
    who: Identity,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::Keep)?;
    let Path(name) = name?;
    not_of_another_curator(&service, &who, &name).await?;
    let by = who.name().to_owned();
    service
        .on_ledger(move |store| accounts::revoke(store, &by, &name, None))
        .await?;
    Ok(Json(json!({ "revoked": true })))
}

/// A token to be made.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTokenBody {
    /// Its name; `default` is what PostgreSQL clients use that name the account alone.
    #[serde(default)]
    name: Option<String>,
    /// After how many days it expires.
    #[serde(default)]
    days: Option<u32>,
}

/// Makes a token for an account, which is shown once: for curators.
#[utoipa::path(post, path = "/v1/accounts/{name}/tokens", security(("token" = [])), request_body = NewTokenBody,
    params(("name" = String, Path, description = "The account")),
    responses((status = 200, description = "The token", body = Object), (status = "4XX", body = problem::Body)))]
async fn add_token(
    State(service): State<Arc<Service>>,
    who: Identity,
    name: Result<Path<String>, PathRejection>,
    body: Result<Json<NewTokenBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::Keep)?;
    let (Path(name), Json(body)) = (name?, body?);
    not_of_another_curator(&service, &who, &name).await?;
    let token = body.name.unwrap_or_else(|| accounts::DEFAULT_TOKEN.to_owned());
    let expires = body.days.map(accounts::in_days);
    let by = who.name().to_owned();
    let secret = service
        .on_ledger(move |store| accounts::add_token(store, &by, &name, &token, expires))
        .await?;
    Ok(Json(json!({ "token": secret.reveal() })))
}

/// Revokes a token: for curators.
#[utoipa::path(delete, path = "/v1/accounts/{name}/tokens/{token}", security(("token" = [])),
    params(("name" = String, Path, description = "The account"), ("token" = String, Path, description = "The name of the token")),
    responses((status = 200, description = "It is revoked", body = Object), (status = "4XX", body = problem::Body)))]
async fn revoke_token(
    State(service): State<Arc<Service>>,
    who: Identity,
    names: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::Keep)?;
    let Path((name, token)) = names?;
    not_of_another_curator(&service, &who, &name).await?;
    let by = who.name().to_owned();
    service
        .on_ledger(move |store| accounts::revoke(store, &by, &name, Some(&token)))
        .await?;
    Ok(Json(json!({ "revoked": true })))
}

/// Every charge: for curators and auditors.
#[utoipa::path(get, path = "/v1/ledger/charges", security(("token" = [])),
    responses((status = 200, description = "Every charge, the oldest first", body = Object), (status = "4XX", body = problem::Body)))]
async fn charges(State(service): State<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::ReadLedger)?;
    let charges = service.on_ledger(|store| Ok(store.charges()?)).await?;
    let charges: Vec<Value> = charges
        .iter()
        .map(|charge| {
            json!({
                "number": charge.number,
                "time": utc(charge.time),
                "analyst": charge.analyst,
                "purpose": charge.purpose,
                "guarantee": charge.guarantee.to_string(),
                "answered": charge.answered,
            })
        })
        .collect();
    Ok(Json(json!({ "charges": charges })))
}

/// What else happened, such as logins and refusals: for curators and auditors.
#[utoipa::path(get, path = "/v1/ledger/log", security(("token" = [])),
    responses((status = 200, description = "Every entry of the log, the oldest first", body = Object), (status = "4XX", body = problem::Body)))]
async fn log(State(service): State<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::ReadLedger)?;
    let logged = service.on_ledger(|store| Ok(store.logged()?)).await?;
    let logged: Vec<Value> = logged
        .iter()
        .map(|logged| {
            json!({
                "number": logged.number,
                "time": utc(logged.time),
                "what": logged.entry.what,
                "by": logged.entry.by,
                "about": logged.entry.about,
                "times": logged.entry.times,
            })
        })
        .collect();
    Ok(Json(json!({ "log": logged })))
}

/// Recomputes every hash and every sum of the ledger: for curators and auditors.
#[utoipa::path(get, path = "/v1/ledger/verify", security(("token" = [])),
    responses((status = 200, description = "Everything is as it was written, up to this entry", body = Object), (status = "4XX", body = problem::Body)))]
async fn verify(State(service): State<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::ReadLedger)?;
    let verified = service.on_ledger(|store| Ok(store.verify()?)).await?;
    Ok(Json(json!({
        "entries": verified.entries,
        "charges": verified.charges,
        "head": { "number": verified.head.number, "hash": verified.head.hash },
    })))
}

/// Catalogs that were proposed: for curators and auditors.
#[utoipa::path(get, path = "/v1/proposals", security(("token" = [])),
    responses((status = 200, description = "Every proposal, and who approved it", body = Object), (status = "4XX", body = problem::Body)))]
async fn proposals(State(service): State<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::ReadLedger)?;
    let found = service.on_governance(governance::proposals).await?;
    Ok(Json(json!({ "proposals": found })))
}

/// A catalog to be proposed.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct ProposalBody {
    /// The whole text of the catalog.
    catalog: String,
}

/// Proposes a catalog that loosens what is promised, such as a higher budget or wider bounds: for curators.
#[utoipa::path(post, path = "/v1/proposals", security(("token" = [])), request_body = ProposalBody,
    responses((status = 200, description = "The proposal, with what it changes", body = Object), (status = "4XX", body = problem::Body)))]
async fn propose(
    State(service): State<Arc<Service>>,
    who: Identity,
    body: Result<Json<ProposalBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::Keep)?;
    let Json(body) = body?;
    let by = who.name().to_owned();
    let made = service
        .on_governance(move |store| governance::propose(store, &by, &body.catalog))
        .await?;
    Ok(Json(json!(made)))
}

/// Approves a proposal of another curator. The server takes the catalog over when it starts with it.
#[utoipa::path(post, path = "/v1/proposals/{digest}/approve", security(("token" = [])),
    params(("digest" = String, Path, description = "The SHA-256 of the text")),
    responses((status = 200, description = "The proposal", body = Object), (status = "4XX", body = problem::Body)))]
async fn approve(
    State(service): State<Arc<Service>>,
    who: Identity,
    digest: Result<Path<String>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    service.allow(&who, Right::Keep)?;
    let Path(digest) = digest?;
    let by = who.name().to_owned();
    let approved = service
        .on_governance(move |store| governance::approve(store, &by, &digest))
        .await?;
    Ok(Json(json!(approved)))
}

/// This description.
#[utoipa::path(get, path = "/v1/openapi.json", responses((status = 200, description = "An OpenAPI document", body = Object)))]
async fn description() -> Json<&'static Value> {
    // Strangers may ask for it, and making it takes longer than all else that they may ask for.
    static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| json!(described(Audience::Curators).1));
    Json(&DESCRIPTION)
}
