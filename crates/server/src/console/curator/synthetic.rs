//! Synthetic rows: which there are, and a form that explains and makes them.

use super::super::layout::problem;
use super::super::session::Signed;
use super::super::{Page, see_other, synthetic, usual_epsilon};
use super::{allow, view};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use crate::service::Service;
use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use sql::synthesis::Method;
use sql::{SynthesisAsked, SynthesisExplanation};
use std::sync::Arc;

/// What the form sends.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    table: String,
    #[serde(default)]
    epsilon: String,
    #[serde(default)]
    delta: String,
    #[serde(default)]
    rows: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    columns: String,
    /// A table that matters on each line, its columns with commas between.
    #[serde(default)]
    workload: String,
    #[serde(default, rename = "where")]
    condition: String,
    /// Which button was pressed.
    #[serde(default)]
    act: String,
}

impl Wanted {
    fn asked(&self) -> Result<(SynthesisAsked, Option<u64>), Failure> {
        let stated = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let listed = |text: &str| -> Vec<String> { text.split(',').filter_map(stated).collect() };
        let rows = stated(&self.rows).map(|rows| rows.parse::<u64>()).transpose();
        let asked = SynthesisAsked {
            table: self.table.trim().to_owned(),
            condition: stated(&self.condition),
            columns: listed(&self.columns),
            workload: self
                .workload
                .lines()
                .map(listed)
                .filter(|by| !by.is_empty())
                .collect(),
            method: match self.method.as_str() {
                "mst" => Method::Mst,
                "independent" => Method::Independent,
                _ => Method::Aim,
            },
            epsilon: stated(&self.epsilon),
            delta: stated(&self.delta),
            ..SynthesisAsked::default()
        };
        let rows = rows.map_err(|_| {
            Failure::new(
                Code::BadRequest,
                "the number of rows is no number",
                "write 10000, or leave it empty for as many as there seem to be",
            )
        })?;
        Ok((asked, rows))
    }
}

pub(super) async fn list(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    allow(&service, &signed, Right::ReadLedger)?;
    let wanted = Wanted {
        epsilon: usual_epsilon(&service)?.to_string(),
        ..Wanted::default()
    };
    whole(&service, &signed, &wanted, None).await
}

async fn whole(
    service: &Service,
    signed: &Signed,
    wanted: &Wanted,
    outcome: Option<Result<&SynthesisExplanation, &Failure>>,
) -> Result<Page, Page> {
    let rows = service.synthetic(&signed.0, Right::ReadLedger).await?;
    let left = service.on_ledger(|store| Ok(store.left_for_all()?)).await?;
    let body = html! {
        h1 { "Synthetic rows" }
        p class="lead" { "Rows that look like a private table and belong to nobody. They are measured once, under one charge; analysts take them along for nothing, on their address." }
        (synthetic::listed(&rows, false))
        @if signed.0.may(Right::Keep) { (form(service, wanted, &left.to_string())) }
        @match outcome {
            Some(Ok(explanation)) => {
                div class="found" { pre { (report::legal(&explanation.to_text())) } p { "Nothing was spent." } }
            }
            Some(Err(failure)) => (problem(failure)),
            None => {}
        }
    };
    let page = view(service, signed, "/synthetic").page("Synthetic rows", body);
    Ok(Page::with_status(page, outcome.and_then(Result::err)))
}

fn form(service: &Service, wanted: &Wanted, left: &str) -> Markup {
    let tables = service.dataset().catalog().tables.iter();
    let private = tables.filter(|(_, table)| table.owner != sql::catalog::Owner::Public);
    let methods = [
        ("aim", "round by round, the table that is fitted worst"),
        ("mst", "a tree of pairs of columns"),
        ("independent", "each column alone"),
    ];
    html! {
        h2 { "Make rows" }
        form method="post" action="/synthetic" class="request stack" {
            label for="table" { "Table" }
            select id="table" name="table" {
                @for (table, _) in private { option value=(table) selected[*table == wanted.table] { (report::legal(table)) } }
            }
            label for="epsilon" { "ε" }
            input id="epsilon" name="epsilon" value=(report::legal(&wanted.epsilon)) inputmode="decimal" autocomplete="off";
            label for="delta" { "δ, if not the catalog's" }
            input id="delta" name="delta" value=(report::legal(&wanted.delta)) autocomplete="off";
            label for="rows" { "Rows, if not as many as there seem to be" }
            input id="rows" name="rows" value=(report::legal(&wanted.rows)) inputmode="numeric" autocomplete="off";
            label for="method" { "What is measured" }
            select id="method" name="method" {
                @for (value, words) in methods { option value=(value) selected[value == wanted.method] { (words) } }
            }
            label for="columns" { "Columns with commas between, if not all that are declared" }
            input id="columns" name="columns" value=(report::legal(&wanted.columns)) autocomplete="off";
            label for="workload" { "Tables that matter, one a line as age,income; if not all by three columns" }
            textarea id="workload" name="workload" rows="3" { (report::legal(&wanted.workload)) }
            label for="where" { "Only rows where (SQL)" }
            input id="where" name="where" value=(report::legal(&wanted.condition)) autocomplete="off";
            div class="buttons" {
                button type="submit" name="act" value="explain" { "Explain" }
                button type="submit" name="act" value="make" class="primary" { "Make the rows" }
            }
        }
        p class="quiet" {
            "Left for everybody together: ε = " (left) " (if spent in one more question). Making may take a while. If the page is closed, the rows are made all the same; asking again finds them, for nothing. Another number of rows is free."
        }
    }
}

pub(super) async fn make(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Wanted>, FormRejection>,
) -> Result<Response, Page> {
    allow(&service, &signed, Right::Keep)?;
    let Form(wanted) =
        body.map_err(|_| Failure::new(Code::BadRequest, "the form cannot be read", "open the page again"))?;
    let (asked, rows) = match wanted.asked() {
        Ok(asked) => asked,
        Err(failure) => return refused(&service, &signed, &wanted, &failure).await,
    };
    if wanted.act != "make" {
        return match service.explain_synthetic(&signed.0, Right::Keep, &asked).await {
            Ok(explanation) => Ok(whole(&service, &signed, &wanted, Some(Ok(&explanation)))
                .await?
                .into_response()),
            Err(failure) => refused(&service, &signed, &wanted, &failure).await,
        };
    }
    match service.make_synthetic(&signed.0, &asked, rows, None).await {
        Ok(_) => Ok(see_other("/synthetic")),
        Err(failure) => refused(&service, &signed, &wanted, &failure).await,
    }
}

async fn refused(
    service: &Service,
    signed: &Signed,
    wanted: &Wanted,
    failure: &Failure,
) -> Result<Response, Page> {
    Ok(whole(service, signed, wanted, Some(Err(failure)))
        .await?
        .into_response())
}
