//! Planned releases: what each will tell and how exactly, and its tables with whiskers once it is made.

use super::super::Page;
use super::super::layout::{self, name, problem};
use super::super::releases::{self, MOST_LISTED, address};
use super::super::session::Signed;
use super::answer::{attached, guarded};
use super::{may_ask, result, view};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use crate::http::attributes;
use crate::service::{Identity, MOST_CELLS, MadeRelease, PlanWanted, Service, unsigned};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};
use report::grouped;
use serde::Deserialize;
use sql::{Answer, ReleasedTables};
use std::sync::Arc;

/// What a table can be taken along as.
const FILES: [(&str, &str); 3] = [("csv", "CSV"), ("parquet", "Parquet"), ("json", "JSON")];

pub(super) async fn list(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    may_ask(&signed.0)?;
    let releases = service.releases(&signed.0, Right::Ask).await?;
    let body = html! {
        h1 { "Releases" }
        p class="lead" { "Many tables at once, measured together under one charge: each is more exact than if it were asked alone, totals agree, and reading them is free." }
        (releases::listed(&releases))
    };
    Ok(Page::new(
        view(&service, &signed, "/releases").page("Releases", body),
    ))
}

/// Which table is shown, and for what the release is planned.
#[derive(Deserialize, Default)]
pub(super) struct Wanted {
    /// Nothing: the first table that is by something.
    by: Option<String>,
    #[serde(default)]
    epsilon: String,
    #[serde(default)]
    error: String,
}

pub(super) async fn page(
    State(service): State<Arc<Service>>,
    signed: Signed,
    release: Result<Path<String>, PathRejection>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Page, Page> {
    may_ask(&signed.0)?;
    let Path(release) = release.map_err(|_| nothing())?;
    let wanted = wanted.map(|Query(wanted)| wanted).unwrap_or_default();
    let shown = match shown(&service, &signed.0, &release, wanted.by.as_deref()).await {
        Ok(shown) => Some(shown),
        Err(failure) if failure.code == Code::NotFound => None,
        Err(failure) => return Err(failure.into()),
    };
    let planned = planned(&service, &signed.0, &release, &wanted).await;
    let failure = planned
        .as_ref()
        .err()
        .filter(|failure| failure.code == Code::NotFound);
    if let Some(failure) = failure.cloned() {
        return Err(failure.into());
    }
    let plan = html! {
        @match &planned { Ok(plan) => (plan), Err(failure) => (problem(failure)) }
        (form(&release, &wanted))
    };
    let body = html! {
        h1 { (name(&release)) }
        @match &shown {
            Some(shown) => {
                (table(&release, shown))
                details open[!wanted.epsilon.is_empty() || !wanted.error.is_empty()] { summary { "How it was planned" } (plan) }
            }
            None => {
                p class="found" { "It was not made yet of this version of the data. A curator makes it; below is what it will tell, and how exactly." }
                (plan)
            }
        }
    };
    let page = view(&service, &signed, "/releases").page(&release, body);
    Ok(Page::with_status(
        page,
        planned.as_ref().err().filter(|_| shown.is_none()),
    ))
}

/// A table of a release, and what there is beside it.
struct Shown {
    made: MadeRelease,
    /// What its tables are by.
    tables: Vec<Vec<String>>,
    /// What the shown one is by, and the table, if it can be shown.
    by: Vec<String>,
    answer: Result<Answer, Failure>,
    /// Whether it can be sent as one object.
    is_small: bool,
}

async fn shown(service: &Service, who: &Identity, release: &str, by: Option<&str>) -> Result<Shown, Failure> {
    let wanted = by.map(attributes);
    let read = move |released: &ReleasedTables| {
        let mut tables = released.by();
        let first = tables.iter().find(|by| !by.is_empty());
        let by = wanted.unwrap_or_else(|| first.cloned().unwrap_or_default());
        let answer = of(released, &by);
        tables.truncate(MOST_LISTED);
        Ok(Shown {
            made: MadeRelease::of(released),
            tables,
            by,
            answer,
            is_small: released.size() <= MOST_CELLS,
        })
    };
    service.read_release(who, release, read).await
}

/// A table, if it is small enough to be sent.
fn of(released: &ReleasedTables, by: &[String]) -> Result<Answer, Failure> {
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    crate::service::check_size(released.cells_of(&by)?, "this table")?;
    Ok(released.table(&by)?)
}

async fn planned(
    service: &Service,
    who: &Identity,
    release: &str,
    wanted: &Wanted,
) -> Result<Markup, Failure> {
    let stated = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let wanted = PlanWanted {
        epsilon: stated(&wanted.epsilon).filter(|_| stated(&wanted.error).is_none()),
        error: stated(&wanted.error),
        cell_size: None,
    };
    let view = service.plan_release(who, Right::Ask, release, &wanted).await?;
    Ok(html! {
        @if let (Some(epsilon), Some(error)) = (&view.found_epsilon, &wanted.error) {
            p class="found" { "ε = " (epsilon) " is the smallest, to three digits, for which the expected error of a cell of every table is at most " (error) " (of 1,000 rows, where it is in per cent)." }
        }
        (releases::plan(&view))
    })
}

fn form(release: &str, wanted: &Wanted) -> Markup {
    html! {
        h2 { "For another price" }
        form method="get" action=(address(release)) class="request stack" {
            label for="epsilon" { "ε" }
            input id="epsilon" name="epsilon" value=(report::legal(&wanted.epsilon)) inputmode="decimal" autocomplete="off";
            label for="error" { "or the largest expected error of a cell, as 50 or 2%" }
            input id="error" name="error" value=(report::legal(&wanted.error)) autocomplete="off";
            div { button type="submit" { "Plan" } }
        }
        p class="quiet" { "This spends nothing and changes nothing: what the release costs stands in the catalog." }
    }
}

fn table(release: &str, shown: &Shown) -> Markup {
    let file = |format: &str, by: &[String]| format!("{}/file/{format}?by={}", address(release), query(by));
    html! {
        p {
            (grouped((shown.made.tables.len() + shown.made.tables_left_out) as u64)) " tables of " (name(&shown.made.table))
            ", released for " (shown.made.guarantee) " under charge " (shown.made.charge) ". Reading them is free."
        }
        div role="navigation" aria-label="tables of the release" {
            p class="links" {
                @for (place, by) in shown.tables.iter().enumerate() {
                    @if place > 0 { " · " }
                    a href={ (address(release)) "?by=" (query(by)) } aria-current=[(*by == shown.by).then_some("true")] { (name(&title(by))) }
                }
                @if shown.made.tables.len() + shown.made.tables_left_out > shown.tables.len() { " · …" }
            }
        }
        h2 { "Rows by " (name(&title(&shown.by))) }
        @match &shown.answer {
            Ok(answer) => {
                p class="links" {
                    "files: "
                    @for (place, (format, word)) in FILES.iter().enumerate() {
                        @if place > 0 { ", " }
                        a href=(file(format, &shown.by)) download { (word) }
                    }
                    @if shown.is_small { " · all tables: " a href={ (address(release)) "/file/everything" } download { "JSON" } }
                    @if shown.made.receipt.is_some() { " · " a href={ (address(release)) "/file/receipt" } download { "receipt" } }
                }
                (result::shown(answer))
                p class="quiet" { "Numbers are unbiased: small cells may be below zero, and that is what to compute with. With 95 % confidence an interval holds the true count of the rows that count." }
            }
            Err(failure) => (problem(failure)),
        }
    }
}

/// What a table is by, for people.
fn title(by: &[String]) -> String {
    match by.is_empty() {
        true => "total".to_owned(),
        false => by.join(" × "),
    }
}

/// What a table is by, in an address.
fn query(by: &[String]) -> String {
    match by.is_empty() {
        true => "total".to_owned(),
        false => layout::encoded(&by.join(",")),
    }
}

/// A table, or all of them, as a file.
pub(super) async fn download(
    State(service): State<Arc<Service>>,
    signed: Signed,
    path: Result<Path<(String, String)>, PathRejection>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, Page> {
    may_ask(&signed.0)?;
    let Path((release, format)) = path.map_err(|_| nothing())?;
    let wanted = wanted.map(|Query(wanted)| wanted).unwrap_or_default();
    let by = attributes(wanted.by.as_deref().unwrap_or_default());
    let who = &signed.0;
    match format.as_str() {
        "everything" => {
            let text = service.released_json(who, &release).await?;
            return Ok(attached(&format!("{release}.json"), "application/json", text));
        }
        "receipt" => {
            let made = service.made_release(who, &release).await?;
            let receipt = made.receipt.ok_or_else(unsigned)?;
            let text = serde_json::to_vec_pretty(&receipt)
                .map_err(|_| Failure::defect("the receipt cannot be written as JSON"))?;
            return Ok(attached(
                &format!("{release}-receipt.json"),
                "application/json",
                text,
            ));
        }
        _ => {}
    }
    let kind = match format.as_str() {
        "csv" => "text/csv; charset=utf-8; header=present",
        "json" => "application/json",
        "parquet" => "application/vnd.apache.parquet",
        _ => return Err(nothing().into()),
    };
    let file_name = format!("{release}-{}.{format}", plain(&title(&by)));
    let read = move |released: &ReleasedTables| {
        let answer = of(released, &by)?;
        match kind {
            "application/json" => serde_json::to_vec(&answer.to_json())
                .map_err(|_| Failure::defect("the table cannot be written as JSON")),
            "application/vnd.apache.parquet" => {
                let mut bytes = Vec::new();
                answer.write_parquet(&mut bytes).map_err(Failure::from)?;
                Ok(bytes)
            }
            _ => {
                let mut text = format!("# {}\n", released.header()).into_bytes();
                text.extend(guarded(&answer).to_csv());
                Ok(text)
            }
        }
    };
    let bytes = service.read_release(who, &release, read).await?;
    Ok(attached(&file_name, kind, bytes))
}

/// A part of the name of a file: whatever is no letter or digit as a dash.
fn plain(text: &str) -> String {
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '_' => letter,
        _ => '-',
    };
    text.replace(" × ", "+")
        .chars()
        .map(|letter| if letter == '+' { '+' } else { plain(letter) })
        .take(80)
        .collect()
}

fn nothing() -> Failure {
    Failure::new(
        Code::NotFound,
        "there is nothing at this address",
        "the page of releases lists what there is",
    )
}
