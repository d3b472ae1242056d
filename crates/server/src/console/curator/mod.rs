//! Pages for curators and auditors, on the curators' address: what was spent, by whom, and what is promised.

mod accounts;
mod budget;
mod card;
mod catalog;
mod difference;
mod log;
mod meaning;
mod releases;
mod requests;
mod synthetic;

use super::Page;
use super::layout::View;
use super::session::Signed;
use crate::accounts::Right;
use crate::failure::Code;
use crate::http::Audience;
use crate::service::Service;
use axum::routing::{get, post};
use axum::{Extension, Router};
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/", get(budget::page))
        .route("/verify", post(budget::verify))
        .route("/accounts", get(accounts::page))
        .route("/accounts/revoke", post(accounts::revoke))
        .route("/requests", get(requests::page))
        .route("/requests/decide", post(requests::decide))
        .route("/releases", get(releases::list).post(releases::make))
        .route("/releases/{name}", get(releases::page))
        .route("/synthetic", get(synthetic::list).post(synthetic::make))
        .route("/log", get(log::page))
        .route("/catalog", get(catalog::page))
        .route("/catalog/check", post(catalog::check))
        .route("/catalog/propose", post(catalog::propose))
        .route("/catalog/approve", post(catalog::approve))
        .route("/meaning", get(meaning::page))
        .route("/card", get(card::page))
        .route("/card/{format}", get(card::download))
        // What takes long to compute is kept as long as the server runs.
        .layer(Extension(meaning::Kept::default()))
        .layer(Extension(card::Kept::default()))
}

/// Whether somebody may see a page, and for whom it is otherwise.
fn allow(service: &Service, Signed(who): &Signed, right: Right) -> Result<(), Page> {
    let whom = match right {
        Right::ReadCounters => "curators, auditors and operators",
        Right::ReadLedger => "curators and auditors",
        _ => "curators",
    };
    let allowed = service.allow(who, right);
    allowed.map_err(|failure| match failure.code {
        Code::Forbidden => Page::of_others(whom, &failure),
        _ => failure.into(),
    })
}

fn view<'a>(service: &'a Service, Signed(who): &'a Signed, here: &'a str) -> View<'a> {
    View::of(service, Audience::Curators, who, here)
}
