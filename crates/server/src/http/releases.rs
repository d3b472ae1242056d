//! Planned releases over HTTP: analysts list, plan and read them; curators make them.

use super::answers::{Format, described_by};
use super::problem::{self, Problem};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use crate::service::{Identity, PlanWanted, PlannedView, ReadTable, Service};
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn of_analysts() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(everything))
        .routes(routes!(plan))
        .routes(routes!(table))
        .routes(routes!(receipt))
}

pub(super) fn of_curators() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(list_for_curators))
        .routes(routes!(plan_for_curators))
        .routes(routes!(make))
}

/// How exact a release is wanted to be, in place of what the catalog says.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// What it may cost: a decimal, as text.
    #[serde(default)]
    #[param(example = "0.5")]
    epsilon: Option<String>,
    /// Instead: the largest expected error of a cell of any table, in rows, or in per cent of its rows. The smallest ε for it is found.
    #[serde(default)]
    #[param(example = "2%")]
    error: Option<String>,
    /// The number of rows that a cell is taken to have; 1,000 where nothing is said.
    #[serde(default)]
    cell_size: Option<u64>,
}

impl Wanted {
    fn wanted(self) -> Result<PlanWanted, Failure> {
        if self.epsilon.is_some() && self.error.is_some() {
            return Err(Failure::new(
                Code::BadRequest,
                "a release is planned for an ε or for an error",
                "send one of the two",
            ));
        }
        Ok(PlanWanted {
            epsilon: self.epsilon,
            error: self.error,
            cell_size: self.cell_size,
        })
    }
}

/// Which table of a release is wanted.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct WantedTable {
    /// The attributes, or levels of them, that the table is by, with commas between; the total where there are none.
    #[serde(default)]
    #[param(example = "region,sex")]
    by: String,
}

/// The attributes that somebody names with commas between.
pub(crate) fn attributes(by: &str) -> Vec<String> {
    let names = by.split(',').map(str::trim).filter(|name| !name.is_empty());
    match by.trim() {
        "total" => Vec::new(),
        _ => names.map(str::to_owned).collect(),
    }
}

/// The releases that the catalog plans: attributes, tables, price, and which charge paid for those that were made.
#[utoipa::path(get, path = "/v1/releases", security(("token" = [])),
    responses((status = 200, description = "Each release", body = Object), (status = "4XX", body = problem::Body)))]
async fn list(State(service): State<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    let releases = service.releases(&who, Right::Ask).await?;
    Ok(Json(json!({ "releases": releases })))
}

/// What a release will be like: the expected error of every table, what it costs, and where that goes. Free: nothing is charged and no private data is read.
#[utoipa::path(get, path = "/v1/releases/{name}/plan", security(("token" = [])),
    params(("name" = String, Path, description = "The release"), Wanted),
    responses((status = 200, description = "The plan", body = Object), (status = "4XX", body = problem::Body)))]
async fn plan(
    State(service): State<Arc<Service>>,
    who: Identity,
    name: Result<Path<String>, PathRejection>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<PlannedView>, Problem> {
    planned(&service, &who, Right::Ask, name, wanted).await
}

/// A release that was made, with everything: all tables with their intervals, what was measured, cost and receipt. Free. One that is too large for that is read table by table.
#[utoipa::path(get, path = "/v1/releases/{name}", security(("token" = [])),
    params(("name" = String, Path, description = "The release")),
    responses((status = 200, description = "The release", body = Object), (status = "4XX", body = problem::Body)))]
async fn everything(
    State(service): State<Arc<Service>>,
    who: Identity,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(name) = name?;
    let text = service.released_json(&who, &name).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// A table of a release that was made, with intervals: one of its tables, or any that follows from them. Free.
#[utoipa::path(get, path = "/v1/releases/{name}/table", security(("token" = [])),
    params(("name" = String, Path, description = "The release"), WantedTable),
    responses((status = 200, description = "The table, in the format that the request accepts. In CSV, a first line of comment says whose privacy was kept how, and which charge paid for it",
            content((Object = "application/json"), (String = "text/csv"), (Vec<u8> = "application/vnd.apache.arrow.stream"))),
        (status = "4XX", body = problem::Body)))]
async fn table(
    State(service): State<Arc<Service>>,
    who: Identity,
    headers: HeaderMap,
    name: Result<Path<String>, PathRejection>,
    wanted: Result<Query<WantedTable>, QueryRejection>,
) -> Result<Response, Problem> {
    let format = Format::accepted(&headers)?;
    let (Path(name), Query(wanted)) = (name?, wanted?);
    let read = service
        .released_table(&who, &name, attributes(&wanted.by))
        .await?;
    let ReadTable { answered, header } = read;
    let link = format!("/v1/releases/{name}/receipt");
    let link = answered.receipt.is_some().then(|| described_by(&link)).flatten();
    let mut response = match format {
        Format::Csv => super::answers::csv(&header, &answered.answer),
        format => format.response(Arc::new(answered), None)?,
    };
    if let Some(link) = link {
        response.headers_mut().insert(header::LINK, link);
    }
    Ok(response)
}

/// The signed receipt of a release that was made: what was charged, and the digest of what was released.
#[utoipa::path(get, path = "/v1/releases/{name}/receipt", security(("token" = [])),
    params(("name" = String, Path, description = "The release")),
    responses((status = 200, description = "The receipt", body = Object), (status = "4XX", body = problem::Body)))]
async fn receipt(
    State(service): State<Arc<Service>>,
    who: Identity,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    let Path(name) = name?;
    let made = service.made_release(&who, &name).await?;
    let receipt = made.receipt.ok_or_else(crate::service::unsigned)?;
    Ok(Json(json!(receipt)))
}

/// The releases that the catalog plans: for curators and auditors.
#[utoipa::path(get, path = "/v1/releases", security(("token" = [])),
    responses((status = 200, description = "Each release", body = Object), (status = "4XX", body = problem::Body)))]
async fn list_for_curators(
    State(service): State<Arc<Service>>,
    who: Identity,
) -> Result<Json<Value>, Problem> {
    let releases = service.releases(&who, Right::ReadLedger).await?;
    Ok(Json(json!({ "releases": releases })))
}

/// What a release will be like: for curators and auditors. Free.
#[utoipa::path(get, path = "/v1/releases/{name}/plan", security(("token" = [])),
    params(("name" = String, Path, description = "The release"), Wanted),
    responses((status = 200, description = "The plan", body = Object), (status = "4XX", body = problem::Body)))]
async fn plan_for_curators(
    State(service): State<Arc<Service>>,
    who: Identity,
    name: Result<Path<String>, PathRejection>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<PlannedView>, Problem> {
    planned(&service, &who, Right::ReadLedger, name, wanted).await
}

/// Makes a release: for curators. It costs what the catalog says, is charged once, before the data is read, and is the same for nothing ever after. A release that was interrupted is finished under the same charge.
#[utoipa::path(post, path = "/v1/releases/{name}", security(("token" = [])),
    params(("name" = String, Path, description = "The release"),
        ("Idempotency-Key" = Option<String>, Header, description = "A request that is sent again under its key is never charged twice")),
    responses((status = 200, description = "What was made, what it cost, and its receipt", body = Object),
        (status = "4XX", body = problem::Body), (status = "5XX", body = problem::Body)))]
async fn make(
    State(service): State<Arc<Service>>,
    who: Identity,
    headers: HeaderMap,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(name) = name?;
    let key = super::analysts::idempotency_key(&headers);
    let made = service.make_release(&who, &name, key).await?;
    Ok(Json(made).into_response())
}

async fn planned(
    service: &Service,
    who: &Identity,
    right: Right,
    name: Result<Path<String>, PathRejection>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<PlannedView>, Problem> {
    let (Path(name), Query(wanted)) = (name?, wanted?);
    let wanted = wanted.wanted()?;
    Ok(Json(service.plan_release(who, right, &name, &wanted).await?))
}
