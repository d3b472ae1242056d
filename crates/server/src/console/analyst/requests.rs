//! Requests to the curators for more budget, and their outcomes.

use super::super::layout::{self, moment, name, problem};
use super::super::session::Signed;
use super::super::{Page, see_other};
use super::{history, may_ask};
use crate::failure::{Code, Failure};
use crate::http::wanted_epsilon;
use crate::requests::{self, Change, LONGEST_REASON, MOST_OPEN, Request, State as Decision};
use crate::service::Service;
use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};
use report::legal;
use serde::Deserialize;
use std::sync::Arc;

/// What somebody asks for.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    epsilon: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
pub(super) struct Number {
    number: u64,
}

/// Where a question does not fit: what else one can do.
pub(super) fn offered() -> Markup {
    html! { p { a href="/history#more" { "Ask the curators for more budget" } } }
}

pub(super) async fn file(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Wanted>, FormRejection>,
) -> Result<Response, Page> {
    may_ask(&signed.0)?;
    service.check_rate(signed.0.name())?;
    let Form(wanted) = body.map_err(|_| unreadable())?;
    match filed(&service, &signed, &wanted).await {
        Ok(_) => Ok(see_other("/history#more")),
        Err(failure) => {
            let page = history::whole(&service, &signed, &wanted, Some(&failure)).await?;
            Ok(Page::with_status(page, Some(&failure)).into_response())
        }
    }
}

async fn filed(service: &Service, signed: &Signed, wanted: &Wanted) -> Result<Request, Failure> {
    let epsilon = wanted_epsilon(&wanted.epsilon)?;
    let by = signed.0.name().to_owned();
    // Browsers send line breaks as two characters.
    let reason = wanted.reason.replace("\r\n", "\n");
    service
        .on_governance(move |store| requests::file(store, &by, epsilon, &reason))
        .await
}

pub(super) async fn withdraw(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Number>, FormRejection>,
) -> Result<Response, Page> {
    may_ask(&signed.0)?;
    service.check_rate(signed.0.name())?;
    let Form(Number { number }) = body.map_err(|_| unreadable())?;
    let by = signed.0.name().to_owned();
    service
        .on_governance(move |store| requests::withdraw(store, &by, number))
        .await?;
    Ok(see_other("/history#more"))
}

fn unreadable() -> Failure {
    Failure::new(Code::BadRequest, "the form cannot be read", "open the page again")
}

/// One's requests, and a form for another.
pub(super) async fn shown(
    service: &Service,
    Signed(who): &Signed,
    wanted: &Wanted,
    refused: Option<&Failure>,
) -> Result<Markup, Failure> {
    let all = service.on_governance(requests::list).await?;
    let own: Vec<&Request> = all
        .iter()
        .rev()
        .filter(|request| request.by == who.name())
        .collect();
    let waiting = own.iter().filter(|request| request.waits()).count();
    let rows = html! {
        @for request in &own {
            tr {
                td { (request.number) }
                td { (state(request)) }
                td class="nowrap" { (request.wanted()) }
                td class="reason" { (name(&request.reason)) }
                td { (moment(request.created)) }
                td {
                    @if request.waits() {
                        form method="post" action="/budget/requests/withdraw" {
                            input type="hidden" name="number" value=(request.number);
                            button type="submit" aria-label={ "Withdraw request " (request.number) } { "Withdraw" }
                        }
                    }
                }
            }
        }
    };
    Ok(html! {
        section id="more" {
            h2 { "More budget" }
            @if let Some(failure) = refused { (problem(failure)) }
            @if !own.is_empty() {
                (layout::table(&["request", "state", "more", "reason", "when (UTC)", ""], rows))
            }
            @if waiting < MOST_OPEN {
                details open[refused.is_some()] {
                    summary { "Ask for more" }
                    form method="post" action="/budget/requests" class="stack request" {
                        label for="more-epsilon" { "How much more ε" }
                        input id="more-epsilon" name="epsilon" inputmode="decimal" autocomplete="off" required value=(legal(&wanted.epsilon));
                        label for="more-reason" { "What for" }
                        textarea id="more-reason" name="reason" rows="3" maxlength=(LONGEST_REASON) required { "\n" (legal(&wanted.reason)) }
                        p class="quiet" { "Two curators have to agree. What you write is kept in the ledger: name nobody in it whose data this is." }
                        div { button type="submit" class="primary" { "Send the request" } }
                    }
                }
            } @else {
                p class="quiet" { (MOST_OPEN) " of your requests wait for the curators." }
            }
        }
    })
}

fn state(request: &Request) -> Markup {
    html! {
        @match &request.state {
            Decision::Open => "waits for a curator",
            Decision::Proposed { .. } => "one curator agrees, a second has to",
            Decision::Granted { change: Change::Share { to, .. }, .. } => { span class="granted" { "granted" } ": your share is now " (to) },
            Decision::Granted { change: Change::Catalog { .. }, .. } => { span class="granted" { "granted" } ", in force when the server starts with the new catalog" },
            Decision::Closed { by } if *by == request.by => "withdrawn",
            Decision::Closed { .. } => "declined",
        }
    }
}
