//! Pages for analysts: tables, an editor that knows prices, answers with whiskers, and what they asked
//! before.

mod answer;
mod ask;
mod elsewhere;
mod history;
mod line;
mod models;
mod price;
mod receipt;
mod releases;
mod requests;
mod result;
mod synthetic;
mod tables;
mod words;

use super::Page;
use super::layout::View;
use super::session::Signed;
use crate::http::Audience;
use crate::service::{Identity, Service};
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/", get(ask::editor))
        .route("/price", post(ask::price))
        .route("/try", post(ask::tried))
        .route("/ask", post(ask::ask))
        .route("/answers/{charge}", get(answer::page))
        .route("/answers/{charge}/{format}", get(answer::download))
        .route("/tables", get(tables::page))
        .route("/releases", get(releases::list))
        .route("/releases/{name}", get(releases::page))
        .route("/releases/{name}/file/{format}", get(releases::download))
        .route("/synthetic", get(synthetic::list))
        .route("/synthetic/{id}", get(synthetic::page))
        .route("/synthetic/{id}/file/{format}", get(synthetic::download))
        .route("/models", get(models::page).post(models::fit))
        .route("/history", get(history::page))
        .route("/budget/requests", post(requests::file))
        .route("/budget/requests/withdraw", post(requests::withdraw))
}

fn view<'a>(service: &'a Service, Signed(who): &'a Signed, here: &'a str) -> View<'a> {
    View::of(service, Audience::Analysts, who, here)
}

/// Whether somebody may see what analysts see.
fn may_ask(who: &Identity) -> Result<(), Page> {
    match who.role().may_ask() {
        true => Ok(()),
        false => Err(Page::of_others(
            "analysts and curators",
            &crate::service::forbidden(),
        )),
    }
}
