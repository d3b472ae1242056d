//! Synthetic rows: which there are, what each is good for, and the files.

use super::super::layout::{self, name};
use super::super::session::Signed;
use super::super::{Page, drawn as drawing, synthetic};
use super::answer::attached;
use super::{may_ask, view};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use crate::service::{Drawn, Service, unsigned};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use report::{grouped, percent, significant};
use sql::synthesis::{Connection, MeasuredTable, Standing};
use std::sync::Arc;

/// Tables that a page lists.
const MOST_LISTED: usize = 100;
/// Columns of the map of pairs: its cells grow with their square.
const MOST_COLUMNS: usize = 40;
/// Rows that a page shows.
const MOST_ROWS: usize = 10;
/// What rows can be taken along as.
const FILES: [(&str, &str); 3] = [("csv", "CSV"), ("parquet", "Parquet"), ("json", "report as JSON")];

pub(super) async fn list(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    may_ask(&signed.0)?;
    let rows = service.synthetic(&signed.0, Right::Ask).await?;
    let body = html! {
        h1 { "Synthetic rows" }
        p class="lead" { "Rows that look like a private table and belong to nobody: made of noisy counts alone, so they may be handed out. Taking them along is free." }
        (synthetic::listed(&rows, true))
    };
    Ok(Page::new(
        view(&service, &signed, "/synthetic").page("Synthetic rows", body),
    ))
}

pub(super) async fn page(
    State(service): State<Arc<Service>>,
    signed: Signed,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Page, Page> {
    may_ask(&signed.0)?;
    let Path(id) = id.map_err(|_| nothing())?;
    let body = service
        .read_rows(&signed.0, id, move |drawn| Ok(shown(id, drawn)))
        .await?;
    Ok(Page::new(
        view(&service, &signed, "/synthetic").page("Synthetic rows", body),
    ))
}

fn shown(id: u64, drawn: &Drawn) -> Markup {
    let (made, report) = (&drawn.made, &drawn.rows.report);
    let pairs = |connection| grouped(report.pairs_with(connection) as u64);
    html! {
        h1 { "Synthetic rows of " (name(&made.table)) }
        @if let Some(condition) = &made.condition { p { "Only rows where " code { (name(condition)) } " counted." } }
        dl class="facts" {
            div { dt { "Rows" } dd { (grouped(drawn.rows.count() as u64)) } }
            div { dt { "Rows that there seem to be in the data" } dd { (grouped(report.estimated_rows.max(0.0).round() as u64)) } }
            div { dt { "Cost" } dd { "ε = " (made.epsilon) ", δ = " (made.delta) } }
            div { dt { "Charge" } dd { (made.cost.charge) } }
        }
        p class="links" {
            "files: "
            @for (place, (format, word)) in FILES.iter().enumerate() {
                @if place > 0 { ", " }
                a href={ "/synthetic/" (id) "/file/" (format) } download { (word) }
            }
            @if made.receipt.is_some() { " · " a href={ "/synthetic/" (id) "/file/receipt" } download { "receipt" } }
        }
        h2 { "What the rows are good for" }
        ul { @for line in drawn.conclusions() { li { (layout::sentence(&line)) } } }
        @if report.pairs.len() > 1 {
            figure class="line" { (drawing(drawn.rows.heat_map(MOST_COLUMNS).to_svg_without_style())) }
            p class="quiet" {
                "Of " (grouped(report.pairs.len() as u64)) " pairs of columns, " (pairs(Connection::Measured)) " were measured together, "
                (pairs(Connection::Through)) " are connected through others, and " (pairs(Connection::Independent)) " are independent in the rows, whatever the data."
            }
        }
        h2 { "What was measured" }
        p { "The rows are compared with the noisy counts that were measured, and never with the data. A distance of 2 % means that two rows of a hundred would have to move." }
        (measured(&report.measured))
        h2 { "The first rows" }
        (first(drawn))
    }
}

fn measured(tables: &[MeasuredTable]) -> Markup {
    let rows = html! {
        @for table in tables.iter().take(MOST_LISTED) {
            tr {
                th scope="row" { (name(&table.by.join(" × "))) }
                td class="number" { (grouped(table.cells as u64)) }
                td class="number" { "± " (significant(table.deviation, 3)) }
                td class="number" { (percent(table.distance)) }
                td class="number" { (percent(table.distance_of_noise)) }
                td { @match table.standing { Standing::Good => "good", Standing::Noisy => "as good as its noise", Standing::Off => "further off than noise explains" } }
            }
        }
    };
    html! {
        (layout::table(&["table", "cells", "noise of a count", "distance", "of noise alone", ""], rows))
        @if tables.len() > MOST_LISTED { p class="quiet" { "And " (grouped((tables.len() - MOST_LISTED) as u64)) " more: the report has them." } }
    }
}

fn first(drawn: &Drawn) -> Markup {
    let names: Vec<&str> = drawn
        .rows
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let rows = drawn.rows.to_json(0..MOST_ROWS);
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::Null => "NULL".to_owned(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let shown = html! {
        @for row in rows.as_array().into_iter().flatten() {
            tr { @for column in &names { td { (name(&text(&row[*column]))) } } }
        }
    };
    layout::table(&names, shown)
}

/// The rows, or what is to be known of them, as a file.
pub(super) async fn download(
    State(service): State<Arc<Service>>,
    signed: Signed,
    path: Result<Path<(u64, String)>, PathRejection>,
) -> Result<Response, Page> {
    may_ask(&signed.0)?;
    let Path((id, format)) = path.map_err(|_| nothing())?;
    let (kind, name) = match format.as_str() {
        "csv" => (
            "text/csv; charset=utf-8; header=present",
            format!("synthetic-{id}.csv"),
        ),
        "parquet" => (
            "application/vnd.apache.parquet",
            format!("synthetic-{id}.parquet"),
        ),
        "json" => ("application/json", format!("synthetic-{id}.json")),
        "receipt" => ("application/json", format!("synthetic-{id}-receipt.json")),
        _ => return Err(nothing().into()),
    };
    let read = move |drawn: &Drawn| match format.as_str() {
        "csv" => Ok(drawn.rows.to_csv()),
        "parquet" => drawn.to_parquet(),
        "json" => serde_json::to_vec_pretty(&drawn.about()).map_err(|_| unwritable()),
        _ => {
            let receipt = drawn.made.receipt.as_ref().ok_or_else(unsigned)?;
            serde_json::to_vec_pretty(receipt).map_err(|_| unwritable())
        }
    };
    let bytes = service.read_rows(&signed.0, id, read).await?;
    Ok(attached(&name, kind, bytes))
}

fn unwritable() -> Failure {
    Failure::defect("this cannot be written as JSON")
}

fn nothing() -> Failure {
    Failure::new(
        Code::NotFound,
        "there is nothing at this address",
        "the page of synthetic rows lists what there is",
    )
}
