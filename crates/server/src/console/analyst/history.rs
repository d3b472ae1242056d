//! What an analyst asked before, and what is left.

use super::super::layout::{self, moment};
use super::super::releases;
use super::super::session::Signed;
use super::super::{LEFT_FALLS_BY_LESS, Page};
use super::ask::Usual;
use super::requests::{self, Wanted};
use super::{answer, ask, may_ask, view};
use crate::failure::Failure;
use crate::service::{Asked, Service};
use axum::extract::State;
use maud::{Markup, html};
use std::sync::Arc;

/// Older ones are in the ledger.
const MOST: usize = 200;

pub(super) async fn page(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    may_ask(&signed.0)?;
    let page = whole(&service, &signed, &Wanted::default(), None).await?;
    Ok(Page::new(page))
}

/// With what somebody wrote who asked for more budget, and why that was refused.
pub(super) async fn whole(
    service: &Service,
    signed: &Signed,
    wanted: &Wanted,
    refused: Option<&Failure>,
) -> Result<Markup, Failure> {
    let asked = service.history(&signed.0).await?;
    let budget = service.budget(&signed.0).await?;
    let usual = Usual::of(service, signed).await?;
    let more = requests::shown(service, signed, wanted, refused).await?;
    let rows = html! {
        @for asked in asked.iter().take(MOST) {
            tr {
                td {
                    @match (asked.answered, released(service, asked)) {
                        (true, Some(release)) => a href=(releases::address(release)) { (asked.charge) },
                        (true, None) => a href={ "/answers/" (asked.charge) } { (asked.charge) },
                        (false, _) => (asked.charge),
                    }
                }
                td { (moment(asked.time)) }
                td class="question" { code { (report::legal(&asked.sql)) } }
                td class="nowrap" {
                    @match (&asked.cost, asked.answered) {
                        (Some(cost), true) => (cost),
                        (Some(cost), false) if released(service, asked).is_some() => { (cost) ", interrupted: making it again finishes it, free" },
                        (Some(cost), false) => {
                            (cost) ", no answer: "
                            a href=(answer::again(&asked.sql, asked.epsilon.as_deref())) aria-label={ "Finish charge " (asked.charge) } { "finish it, free" }
                        },
                        (None, _) => "free",
                    }
                }
            }
        }
    };
    let body = html! {
        h1 { "History" }
        (ask::left(&budget, &usual))
        p class="quiet" { "“Left” is the largest ε that one more question may take. " (LEFT_FALLS_BY_LESS) }
        p class="quiet" { "The budget of everybody together: " (budget.rules) ". " "Left of it: ε = " (budget.left_of_dataset) "." }
        (more)
        h2 { "Asked before" }
        @if asked.is_empty() {
            p { "You have asked nothing yet. " a href="/tables" { "Look at the tables" } ", or " a href="/" { "ask something" } ". Its price is shown before you pay, and your answers are listed here." }
        } @else {
            (layout::table(&["answer", "when (UTC)", "question", "paid"], rows))
        }
    };
    Ok(view(service, signed, "/history").page("History", body))
}

/// The release that a charge was for, by what the ledger says it was for. No question reads so.
fn released<'a>(service: &Service, asked: &'a Asked) -> Option<&'a str> {
    let (release, _) = asked.sql.strip_prefix("release ")?.split_once(' ')?;
    let planned = &service.dataset().catalog().releases;
    planned.contains_key(release).then_some(release)
}
