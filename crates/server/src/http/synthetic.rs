//! Synthetic rows over HTTP: curators make them, analysts list them and take them along.

use super::analysts::{Decimal, idempotency_key};
use super::answers::described_by;
use super::problem::{self, Problem};
use crate::accounts::Right;
use crate::failure::Failure;
use crate::service::{Identity, MadeRows, Service, unsigned};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use sql::SynthesisAsked;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn of_analysts() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(list_synthetic))
        .routes(routes!(explain_synthetic))
        .routes(routes!(synthetic_report))
        .routes(routes!(synthetic_csv))
        .routes(routes!(synthetic_parquet))
        .routes(routes!(synthetic_receipt))
}

pub(super) fn of_curators() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(list_synthetic_for_curators))
        .routes(routes!(explain_synthetic_for_curators))
        .routes(routes!(make_synthetic))
}

/// Which rows are wanted.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct RowsBody {
    /// The private table.
    #[schema(example = "people")]
    table: String,
    /// What all of it may cost: a decimal, as text or as a number.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "1")]
    epsilon: Option<Decimal>,
    /// Likewise its δ; else that of a query in the catalog.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "1e-9")]
    delta: Option<Decimal>,
    /// How many rows are made; as many as there seem to be where nothing is said. Free: the same charge pays for any number.
    #[serde(default)]
    rows: Option<u64>,
    /// How tables are chosen that are measured: aim, mst or independent.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "aim")]
    method: Option<sql::synthesis::Method>,
    /// Tables that matter, each by some columns; all by three columns where there are none.
    #[serde(default)]
    #[schema(example = json!([["age", "income"]]))]
    workload: Vec<Vec<String>>,
    /// Only these columns; all with declared values or bounds where there are none.
    #[serde(default)]
    columns: Vec<String>,
    /// How many bins of equal width some columns of numbers have.
    #[serde(default)]
    #[schema(value_type = Object, example = json!({"age": 10}))]
    bins: BTreeMap<String, u32>,
    /// Only rows that fulfil this SQL condition count.
    #[serde(default, rename = "where")]
    #[schema(example = "age >= 18")]
    condition: Option<String>,
    /// How many rows of one unit count, where the catalog does not say.
    #[serde(default)]
    rows_per_unit: Option<u64>,
    /// How many cells the model may have; 200,000 where nothing is said.
    #[serde(default)]
    model_cells: Option<u64>,
}

impl RowsBody {
    fn asked(self) -> (SynthesisAsked, Option<u64>) {
        let asked = SynthesisAsked {
            table: self.table,
            condition: self.condition,
            columns: self.columns,
            bins: self.bins,
            workload: self.workload,
            method: self.method.unwrap_or_default(),
            model_cells: self.model_cells,
            rows_per_unit: self.rows_per_unit,
            epsilon: self.epsilon.map(Decimal::text),
            delta: self.delta.map(Decimal::text),
        };
        (asked, self.rows)
    }
}

/// Synthetic rows that were made: of which table, what was asked for, how many, and what they cost. Free.
#[utoipa::path(get, path = "/v1/synthetic", security(("token" = [])),
    responses((status = 200, description = "The rows that there are, the newest first", body = Object), (status = "4XX", body = problem::Body)))]
async fn list_synthetic(State(service): State<Arc<Service>>, who: Identity) -> Result<Json<Value>, Problem> {
    let synthetic = service.synthetic(&who, Right::Ask).await?;
    Ok(Json(json!({ "synthetic": synthetic })))
}

/// What rows would be made of and what they would cost. Free: nothing is charged and no private data is read.
#[utoipa::path(post, path = "/v1/synthetic/explain", request_body = RowsBody, security(("token" = [])),
    responses((status = 200, description = "Columns with their cells, and the cost", body = Object), (status = "4XX", body = problem::Body)))]
async fn explain_synthetic(
    State(service): State<Arc<Service>>,
    who: Identity,
    body: Result<Json<RowsBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    explained(&service, &who, Right::Ask, body).await
}

/// Synthetic rows without the rows: how they compare with what was measured, what they cost, and the receipt. Free.
#[utoipa::path(get, path = "/v1/synthetic/{id}", security(("token" = [])),
    params(("id" = u64, Path, description = "The number of the charge that paid for them")),
    responses((status = 200, description = "The report", body = Object), (status = "4XX", body = problem::Body)))]
async fn synthetic_report(
    State(service): State<Arc<Service>>,
    who: Identity,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    let Path(id) = id?;
    let about = service.read_rows(&who, id, |drawn| Ok(drawn.about())).await?;
    Ok(Json(about))
}

/// Synthetic rows as CSV. Free.
#[utoipa::path(get, path = "/v1/synthetic/{id}/rows.csv", security(("token" = [])),
    params(("id" = u64, Path, description = "The number of the charge that paid for them")),
    responses((status = 200, description = "The rows. A header says where their receipt is", content((String = "text/csv"))), (status = "4XX", body = problem::Body)))]
async fn synthetic_csv(
    State(service): State<Arc<Service>>,
    who: Identity,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(id) = id?;
    let rows = service.read_rows(&who, id, |drawn| {
        Ok((drawn.rows.to_csv(), drawn.made.receipt.is_some()))
    });
    Ok(file("text/csv; charset=utf-8; header=present", id, rows.await?))
}

/// Synthetic rows as a Parquet file. Free.
#[utoipa::path(get, path = "/v1/synthetic/{id}/rows.parquet", security(("token" = [])),
    params(("id" = u64, Path, description = "The number of the charge that paid for them")),
    responses((status = 200, description = "The rows. A header says where their receipt is", content((Vec<u8> = "application/vnd.apache.parquet"))), (status = "4XX", body = problem::Body)))]
async fn synthetic_parquet(
    State(service): State<Arc<Service>>,
    who: Identity,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(id) = id?;
    let rows = service.read_rows(&who, id, |drawn| {
        Ok((drawn.to_parquet()?, drawn.made.receipt.is_some()))
    });
    Ok(file("application/vnd.apache.parquet", id, rows.await?))
}

fn file(kind: &'static str, id: u64, (bytes, has_receipt): (Vec<u8>, bool)) -> Response {
    let mut response = ([(header::CONTENT_TYPE, kind)], bytes).into_response();
    let link = described_by(&format!("/v1/synthetic/{id}/receipt"));
    if let Some(link) = link.filter(|_| has_receipt) {
        response.headers_mut().insert(header::LINK, link);
    }
    response
}

/// The signed receipt of synthetic rows: what was charged, and the digest of what was released.
#[utoipa::path(get, path = "/v1/synthetic/{id}/receipt", security(("token" = [])),
    params(("id" = u64, Path, description = "The number of the charge that paid for them")),
    responses((status = 200, description = "The receipt", body = Object), (status = "4XX", body = problem::Body)))]
async fn synthetic_receipt(
    State(service): State<Arc<Service>>,
    who: Identity,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    let Path(id) = id?;
    let receipt = service.read_rows(&who, id, |drawn| Ok(drawn.made.receipt.clone()));
    let receipt = receipt.await?.ok_or_else(unsigned)?;
    Ok(Json(json!(receipt)))
}

/// Synthetic rows that were made: for curators and auditors.
#[utoipa::path(get, path = "/v1/synthetic", security(("token" = [])),
    responses((status = 200, description = "The rows that there are, the newest first", body = Object), (status = "4XX", body = problem::Body)))]
async fn list_synthetic_for_curators(
    State(service): State<Arc<Service>>,
    who: Identity,
) -> Result<Json<Value>, Problem> {
    let synthetic = service.synthetic(&who, Right::ReadLedger).await?;
    Ok(Json(json!({ "synthetic": synthetic })))
}

/// What rows would be made of and what they would cost: for curators. Free.
#[utoipa::path(post, path = "/v1/synthetic/explain", request_body = RowsBody, security(("token" = [])),
    responses((status = 200, description = "Columns with their cells, and the cost", body = Object), (status = "4XX", body = problem::Body)))]
async fn explain_synthetic_for_curators(
    State(service): State<Arc<Service>>,
    who: Identity,
    body: Result<Json<RowsBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    explained(&service, &who, Right::Keep, body).await
}

async fn explained(
    service: &Service,
    who: &Identity,
    right: Right,
    body: Result<Json<RowsBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let (asked, _) = body?.0.asked();
    let explanation = service.explain_synthetic(who, right, &asked).await?;
    let mut told = json!(explanation);
    told["text"] = json!(explanation.to_text());
    Ok(Json(told))
}

/// Makes synthetic rows: for curators. They are charged once, before the data is read, and found for nothing ever after; so is another number of rows of the same, which takes the place of the earlier ones. Measuring that was interrupted before noise was drawn is finished under the same charge.
#[utoipa::path(post, path = "/v1/synthetic", request_body = RowsBody, security(("token" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "A request that is sent again under its key is never charged twice")),
    responses((status = 200, description = "What was made, how it compares with what was measured, what it cost, and its receipt", body = Object),
        (status = "4XX", body = problem::Body), (status = "5XX", body = problem::Body)))]
async fn make_synthetic(
    State(service): State<Arc<Service>>,
    who: Identity,
    headers: HeaderMap,
    body: Result<Json<RowsBody>, JsonRejection>,
) -> Result<Json<MadeRows>, Problem> {
    let (asked, rows) = body?.0.asked();
    let key = idempotency_key(&headers);
    let made: Result<MadeRows, Failure> = service.make_synthetic(&who, &asked, rows, key).await;
    Ok(Json(made?))
}
