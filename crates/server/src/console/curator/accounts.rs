//! Accounts, who is signed in, and tokens.

use super::super::layout::{self, moment, name};
use super::super::session::Signed;
use super::super::{Page, see_other};
use super::{allow, view};
use crate::accounts::{self, Account, Right, Role, Token};
use crate::failure::{Code, Failure};
use crate::http::not_of_another_curator;
use crate::service::Service;
use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

pub(super) async fn page(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    allow(&service, &signed, Right::ReadLedger)?;
    let accounts = service.on_ledger(accounts::list).await?;
    let keeper = signed.0.may(Right::Keep);
    let sessions: Vec<(&Account, &Token)> = accounts
        .iter()
        .filter(|account| !account.revoked)
        .flat_map(|account| account.tokens.iter().map(move |token| (account, token)))
        .filter(|(_, token)| token.is_session() && token.is_good())
        .collect();
    // One curator must not become two, so each keeps the own account alone.
    let may =
        |account: &Account| keeper && (account.role != Role::Curator || account.name == signed.0.name());
    let body = html! {
        h1 { "Accounts" }
        h2 { "Signed in with a password" }
        @if sessions.is_empty() { p class="quiet" { "Nobody is signed in with a password now." } } @else {
            (layout::table(&["account", "role", "since (UTC)", "last seen (UTC)", "until (UTC)", ""], html! {
                @for (account, token) in &sessions {
                    tr {
                        th scope="row" { (name(&account.name)) }
                        td { (account.role.name()) }
                        td { (moment(token.created)) }
                        td { (last(token)) }
                        td { @if let Some(expires) = token.expires { (moment(expires)) } }
                        td { @if may(account) { (button(account, token, "End")) } }
                    }
                }
            }))
        }
        h2 { "Everybody" }
        (layout::table(&["account", "role", "share", "ε a question", "ε a day", "password", ""], html! {
            @for account in &accounts {
                tr {
                    th scope="row" { (name(&account.name)) }
                    td { (account.role.name()) }
                    td { (account.share.as_deref().unwrap_or("—")) }
                    td { (account.caps.per_question.as_ref().map_or_else(|| "—".to_owned(), ToString::to_string)) }
                    td { (account.caps.per_day.as_ref().map_or_else(|| "—".to_owned(), ToString::to_string)) }
                    td { @if account.has_password() { "set" } @else { "none" } }
                    td { @if account.revoked { span class="badge" { "revoked" } } }
                }
            }
        }))
        h2 { "Tokens of programs" }
        (layout::table(&["account", "token", "made (UTC)", "last used (UTC)", "until (UTC)", ""], html! {
            @for account in &accounts {
                @for token in account.tokens.iter().filter(|token| !token.is_session()) {
                    tr {
                        th scope="row" { (name(&account.name)) }
                        td { code { (name(&token.name)) } }
                        td { (moment(token.created)) }
                        td { (last(token)) }
                        td { @match token.expires { Some(expires) => (moment(expires)), None => "no end" } }
                        td {
                            @if !token.is_good() { span class="badge" { "not good any more" } }
                            @else if may(account) { (button(account, token, "Revoke")) }
                        }
                    }
                }
            }
        }))
        p class="quiet" { "Accounts, passwords and tokens are made with " code { "deniable user" } " on the machine; accounts of curators are kept there alone." }
    };
    Ok(Page::new(
        view(&service, &signed, "/accounts").page("Accounts", body),
    ))
}

fn last(token: &Token) -> Markup {
    html! { @match token.last_used { Some(used) => (moment(used)), None => "never" } }
}

fn button(account: &Account, token: &Token, word: &str) -> Markup {
    html! {
        form method="post" action="/accounts/revoke" {
            input type="hidden" name="account" value=(account.name);
            input type="hidden" name="token" value=(token.name);
            button type="submit" class="danger" aria-label={ (word) " " (token.name) " of " (account.name) } { (word) }
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Revoked {
    account: String,
    token: String,
}

/// Revokes a token, or ends a session.
pub(super) async fn revoke(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Revoked>, FormRejection>,
) -> Result<Response, Page> {
    allow(&service, &signed, Right::Keep)?;
    let Ok(Form(Revoked { account, token })) = body else {
        return Err(Page::failure(Failure::new(
            Code::BadRequest,
            "the form cannot be read",
            "open the page again",
        )));
    };
    not_of_another_curator(&service, &signed.0, &account).await?;
    let by = signed.0.name().to_owned();
    service
        .on_ledger(move |store| accounts::revoke(store, &by, &account, Some(&token)))
        .await?;
    Ok(see_other("/accounts"))
}
