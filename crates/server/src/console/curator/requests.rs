//! Requests for more budget: one curator proposes to grant one, another approves it.

use super::super::layout::{self, moment, name};
use super::super::session::Signed;
use super::super::{Page, see_other};
use super::{allow, view};
use crate::accounts::{self, Account, Right};
use crate::failure::{Code, Failure};
use crate::requests::{self, Change, Request, State as Decision};
use crate::service::Service;
use accounting::{Epsilon, Promise};
use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// Decided requests that are listed, the newest.
const MOST: usize = 100;

/// What the page is made of, read at one moment.
struct Seen {
    requests: Vec<Request>,
    accounts: Vec<Account>,
    limit: Promise,
    left: Epsilon,
}

pub(super) async fn page(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    allow(&service, &signed, Right::ReadLedger)?;
    let seen = service
        .on_governance(|store| {
            Ok(Seen {
                requests: requests::list(store)?,
                accounts: accounts::list(store)?,
                left: store.left_for_all()?,
                limit: store.rules().budget.limit().clone(),
            })
        })
        .await?;
    let (open, done): (Vec<&Request>, Vec<&Request>) =
        seen.requests.iter().partition(|request| request.waits());
    let rows = html! {
        @for request in done.iter().rev().take(MOST) {
            tr {
                td { (request.number) }
                th scope="row" { (name(&request.by)) }
                td class="nowrap" { (request.wanted()) }
                td class="reason" { (name(&request.reason)) }
                td { (decision(request)) }
            }
        }
    };
    let body = html! {
        h1 { "Requests for more budget" }
        p class="lead" { "The budget of everybody together is " (sql::cost_of(&seen.limit)) ". Left: ε = " (seen.left) " (if spent in one more question)." }
        @if open.is_empty() { p class="quiet" { "Nobody waits for an answer. An analyst whose question does not fit can ask for more budget there, and what they ask for appears here." } }
        @for request in open { (waiting(&seen, &signed, request)) }
        @if !done.is_empty() {
            h2 { "Decided" }
            (layout::table(&["request", "account", "more", "reason", "decision"], rows))
        }
    };
    Ok(Page::new(
        view(&service, &signed, "/requests").page("Requests", body),
    ))
}

fn waiting(seen: &Seen, Signed(who): &Signed, request: &Request) -> Markup {
    let account = seen.accounts.iter().find(|account| account.name == request.by);
    let share = account.and_then(|account| account.share.as_deref());
    let own = request.by == who.name();
    let keeper = who.may(Right::Keep);
    html! {
        section class="declared" {
            h2 { "Request " (request.number) ": " (request.wanted()) " for " (name(&request.by)) }
            blockquote { (name(&request.reason)) }
            p class="quiet" {
                (moment(request.created)) " UTC. "
                @match share { Some(share) => { "The account's share is " (share) " now." }, None => "The account has no share of its own." }
            }
            @if let Decision::Proposed { first, at, change } = &request.state {
                p class="found" { "Proposed by " (name(first)) ", " (moment(*at)) " UTC: " (words(change)) }
            }
            @match &request.state {
                _ if own => p class="quiet" { "Two other curators decide about it." },
                _ if !keeper => {},
                Decision::Proposed { first, .. } if first == who.name() => {
                    p class="quiet" { "Another curator has to approve it." }
                    div class="actions" { (button(request, "decline", "Decline", "")) }
                }
                Decision::Proposed { .. } => div class="actions" {
                    (button(request, "approve", "Approve", "primary"))
                    (button(request, "decline", "Decline", ""))
                },
                _ => div class="actions" {
                    (button(request, "propose", "Propose to grant it", "primary"))
                    (button(request, "decline", "Decline", ""))
                },
            }
        }
    }
}

fn words(change: &Change) -> Markup {
    html! {
        @match change {
            Change::Share { from, to, of } => {
                "the share of " (requests::budget_in_words(of)) " becomes " strong { (to) } ", and was " (from) " when this was proposed. The budget of everybody together stays what it is."
            }
            Change::Catalog { digest } => {
                "the budget of the dataset becomes higher, by the catalog " span class="hash" { (digest) }
                ", which " a href="/catalog" { "the page of catalogs" } " shows."
            }
        }
    }
}

fn decision(request: &Request) -> Markup {
    html! {
        @match &request.state {
            Decision::Granted { first, second, change } => {
                span class="granted" { "granted" } ", proposed by " (name(first)) " and approved by " (name(second)) ": "
                @match change {
                    Change::Share { to, .. } => { "share " (to) },
                    Change::Catalog { .. } => "a catalog with a higher budget",
                }
            }
            Decision::Closed { by } if *by == request.by => "withdrawn",
            Decision::Closed { by } => { "declined by " (name(by)) },
            Decision::Open | Decision::Proposed { .. } => {},
        }
    }
}

fn button(request: &Request, decision: &str, word: &str, class: &str) -> Markup {
    html! {
        form method="post" action="/requests/decide" {
            input type="hidden" name="number" value=(request.number);
            button type="submit" name="decision" value=(decision) class=[(!class.is_empty()).then_some(class)]
                aria-label={ (word) ": request " (request.number) } { (word) }
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Decided {
    number: u64,
    decision: String,
}

pub(super) async fn decide(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Decided>, FormRejection>,
) -> Result<Response, Page> {
    allow(&service, &signed, Right::Keep)?;
    let unreadable = || Failure::new(Code::BadRequest, "the form cannot be read", "open the page again");
    let Form(Decided { number, decision }) = body.map_err(|_| unreadable())?;
    let decide = match decision.as_str() {
        "propose" => requests::propose,
        "approve" => requests::approve,
        "decline" => requests::decline,
        _ => return Err(unreadable().into()),
    };
    let by = signed.0.name().to_owned();
    service
        .on_governance(move |store| decide(store, &by, number))
        .await?;
    Ok(see_other("/requests"))
}
