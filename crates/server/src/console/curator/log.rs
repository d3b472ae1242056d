//! What happened: logins, refusals, incidents, tokens, catalogs. It is in the same chain as the charges.

use super::super::Page;
use super::super::layout::{self, moment, name};
use super::super::session::Signed;
use super::{allow, view};
use crate::accounts::Right;
use crate::service::Service;
use axum::extract::{Query, State};
use maud::html;
use report::grouped;
use serde::Deserialize;
use std::sync::Arc;

const MOST: usize = 300;

/// What one may look at alone: its name in the address, what entries are called, and in words.
const KINDS: &[(&str, &[&str], &str)] = &[
    ("refused", &["refused"], "Refusals"),
    ("incident", &["incident"], "Incidents"),
    ("login", &["login", "login-failed", "logout"], "Logins"),
    (
        "catalog",
        &["catalog-in-force", "catalog-proposed", "catalog-approved"],
        "Catalogs",
    ),
    (
        "budget",
        &[
            "budget-requested",
            "budget-proposed",
            "budget-approved",
            "budget-declined",
            "budget-withdrawn",
        ],
        "Requests for budget",
    ),
];

#[derive(Deserialize)]
pub(super) struct Show {
    #[serde(default)]
    show: String,
}

pub(super) async fn page(
    State(service): State<Arc<Service>>,
    signed: Signed,
    Query(Show { show }): Query<Show>,
) -> Result<Page, Page> {
    allow(&service, &signed, Right::ReadLedger)?;
    let logged = service.on_ledger(|store| Ok(store.logged()?)).await?;
    let wanted = KINDS.iter().find(|(kind, _, _)| *kind == show);
    let of_kind = |what: &str| wanted.is_none_or(|(_, entries, _)| entries.contains(&what));
    let found: Vec<_> = logged
        .iter()
        .rev()
        .filter(|logged| of_kind(&logged.entry.what))
        .collect();
    let rows = html! {
        @for logged in found.iter().take(MOST) {
            tr {
                td { (logged.number) }
                td { (moment(logged.time)) }
                td class="nowrap" { (logged.entry.what.replace('-', " ")) }
                td { (name(&logged.entry.by)) }
                td {
                    (name(&logged.entry.about))
                    @if logged.entry.times > 1 { " (" (grouped(logged.entry.times)) " times)" }
                }
            }
        }
    };
    let body = html! {
        h1 { "Log" }
        p class="links" {
            a href="/log" aria-current=[wanted.is_none().then_some("true")] { "Everything" }
            @for (kind, _, words) in KINDS {
                " · " a href={ "/log?show=" (kind) } aria-current=[(*kind == show).then_some("true")] { (words) }
            }
        }
        @if found.is_empty() { p class="quiet" { "Nothing of this kind happened yet. " a href="/log" { "Everything" } " is what did happen." } } @else {
            (layout::table(&["entry", "when (UTC)", "what", "who", "about"], rows))
            @if found.len() > MOST { p class="quiet" { "The newest " (MOST) " of " (grouped(found.len() as u64)) "." } }
        }
    };
    Ok(Page::new(view(&service, &signed, "/log").page("Log", body)))
}
