//! The catalog: what is in force, what another one would change, and who agreed to it. A higher budget is
//! such a change, and takes two curators.

use super::super::layout::{self, moment, name, problem};
use super::super::session::Signed;
use super::super::{Page, see_other};
use super::{allow, difference, view};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use crate::governance::{self, Proposal};
use crate::passwords::readable;
use crate::service::Service;
use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::response::Response;
use maud::{Markup, html};
use report::legal;
use serde::Deserialize;
use sql::Catalog;
use std::sync::Arc;

#[derive(Deserialize)]
pub(super) struct Text {
    #[serde(default)]
    catalog: String,
}

#[derive(Deserialize)]
pub(super) struct Digest {
    #[serde(default)]
    digest: String,
}

pub(super) async fn page(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    allow(&service, &signed, Right::Keep)?;
    Ok(Page::new(whole(&service, &signed, None, html! {}).await?))
}

/// What a text would change, before anybody is asked to agree.
pub(super) async fn check(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Text>, FormRejection>,
) -> Result<Page, Page> {
    let sent = Sent::take(&service, &signed, body).await?;
    let found = match &sent.loosens {
        Err(failure) => problem(failure),
        Ok(loosens) => html! {
            section {
                h2 { "What it changes" }
                (changes(&sent.in_force, &sent.text).unwrap_or_else(not_shown))
                @if loosens.is_empty() {
                    p class="good" { "It loosens nothing that is promised: write it to the file, and start the server again." }
                } @else {
                    p class="bad" { "Two curators have to agree: " (listed(loosens)) "." }
                }
            }
        },
    };
    let page = whole(&service, &signed, Some(&sent.text), found).await?;
    Ok(Page::with_status(page, sent.loosens.as_ref().err()))
}

pub(super) async fn propose(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Text>, FormRejection>,
) -> Result<Response, Page> {
    let sent = Sent::take(&service, &signed, body).await?;
    // What cannot be used is not proposed.
    sent.loosens?;
    let (by, text) = (signed.0.name().to_owned(), sent.text);
    service
        .on_governance(move |store| governance::propose(store, &by, &text))
        .await?;
    Ok(see_other("/catalog"))
}

/// A text that a curator sent, beside what it would change.
struct Sent {
    text: String,
    /// Empty if none was taken over yet.
    in_force: String,
    /// What it loosens, if it is a catalog at all.
    loosens: Result<Vec<String>, Failure>,
}

impl Sent {
    async fn take(
        service: &Service,
        signed: &Signed,
        body: Result<Form<Text>, FormRejection>,
    ) -> Result<Self, Failure> {
        service.allow(&signed.0, Right::Keep)?;
        let Ok(Form(Text { catalog })) = body else {
            return Err(unreadable());
        };
        // Browsers send line breaks as two characters; the file has one.
        let text = catalog.replace("\r\n", "\n");
        let sent = text.clone();
        let (in_force, loosens) = service
            .on_governance(move |store| {
                let loosens = governance::loosened_by(store, &sent);
                Ok((governance::in_force(store)?.unwrap_or_default(), loosens))
            })
            .await?;
        let loosens = readable_catalog(service, &text).and_then(|()| Ok(loosens?));
        Ok(Self {
            text,
            in_force,
            loosens,
        })
    }
}

pub(super) async fn approve(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Digest>, FormRejection>,
) -> Result<Response, Page> {
    allow(&service, &signed, Right::Keep)?;
    let Ok(Form(Digest { digest })) = body else {
        return Err(unreadable().into());
    };
    let by = signed.0.name().to_owned();
    service
        .on_governance(move |store| governance::approve(store, &by, &digest))
        .await?;
    Ok(see_other("/catalog"))
}

/// Whether it is a catalog at all.
fn readable_catalog(service: &Service, text: &str) -> Result<(), Failure> {
    let failed = |error: sql::Error| {
        let words = error.to_string();
        let (what, hint) = words.split_once("\nhint: ").unwrap_or((&words, ""));
        Failure::new(Code::Refused, what, hint)
    };
    Catalog::parse(text, &service.dataset().catalog().directory).map_err(failed)?;
    Ok(())
}

fn unreadable() -> Failure {
    Failure::new(Code::BadRequest, "the form cannot be read", "open the page again")
}

/// What changes, or that it cannot be shown. Beside a catalog in force that cannot be shown itself, all of a
/// text is new: otherwise nobody could replace that catalog.
fn changes(in_force: &str, text: &str) -> Option<Markup> {
    let (whole, shown_before, hidden) = match readable(in_force) {
        _ if in_force.is_empty() => ("", String::new(), false),
        Some(shown) => (in_force, shown, false),
        None => ("", String::new(), true),
    };
    let shown_after = readable(text)?;
    let difference = difference::shown(
        difference::Text {
            whole,
            shown: &shown_before,
        },
        difference::Text {
            whole: text,
            shown: &shown_after,
        },
    );
    Some(html! {
        @if hidden { p class="quiet" { "The catalog in force cannot be shown without the passwords that are in it, so this is all of the new one." } }
        (difference)
    })
}

fn not_shown() -> Markup {
    html! {
        p class="bad" { "What it changes cannot be shown without the passwords that are in it. Write each address of a database in plain quotes, without escapes, and keep addresses out of other texts." }
    }
}

/// What is loosened, by the places of keys: names in them were chosen by the author of the text.
fn listed(loosens: &[String]) -> Markup {
    // As this version and an earlier one wrote it.
    let changed = |words: &'_ String| {
        let key = words
            .strip_suffix(" changes")
            .or(words.strip_suffix(" is another"));
        key.map(str::to_owned)
    };
    let keys: Vec<String> = loosens.iter().filter_map(changed).collect();
    let others: Vec<&String> = loosens.iter().filter(|words| changed(words).is_none()).collect();
    html! {
        @for (place, key) in keys.iter().enumerate() {
            @if place > 0 { @if place + 1 == keys.len() { " and " } @else { ", " } }
            code { (layout::visible(key)) }
        }
        @if !keys.is_empty() { @if keys.len() == 1 { " changes" } @else { " change" } }
        @if !keys.is_empty() && !others.is_empty() { "; " }
        @for (place, other) in others.iter().enumerate() {
            @if place > 0 { "; " }
            (layout::visible(other))
        }
    }
}

async fn whole(
    service: &Service,
    signed: &Signed,
    draft: Option<&str>,
    found: Markup,
) -> Result<Markup, Failure> {
    service.allow(&signed.0, Right::Keep)?;
    let (in_force, proposals) = service
        .on_governance(|store| {
            let proposals = governance::proposals(store)?;
            let texts = proposals.into_iter().map(|proposal| {
                let text = governance::proposed_text(store, &proposal.digest)?;
                Ok((proposal, text))
            });
            let texts = texts.collect::<Result<Vec<_>, governance::Error>>()?;
            Ok((governance::in_force(store)?, texts))
        })
        .await?;
    let current = in_force.clone().unwrap_or_default();
    let base = governance::digest(&current);
    // A password of a database is not put into a page: then the text is pasted from the file.
    let shown = match draft {
        Some(draft) => draft.to_owned(),
        None if readable(&current).as_deref() != Some(&*current) => String::new(),
        None => current.clone(),
    };
    let open: Vec<&(Proposal, Option<String>)> = proposals
        .iter()
        .filter(|(proposal, _)| proposal.base == base)
        .collect();
    let body = html! {
        h1 { "Catalog" }
        @if in_force.is_none() {
            p { "No catalog was taken over yet: " code { "deniable serve" } " does that when it starts." }
        } @else {
            p { "In force: " span class="hash" { (base) } }
        }
        (found)
        h2 { "Proposed" }
        @if open.is_empty() { p class="quiet" { "Nothing waits for a second curator. What is proposed below appears here, with what it changes." } }
        @for (proposal, text) in open {
            section class="declared" {
                h3 class="hash" { (proposal.digest) }
                p { "Proposed by " (name(&proposal.by)) ", " (moment(proposal.created)) " UTC. What it loosens: " (listed(&proposal.loosens)) "." }
                @let shown = text.as_deref().map(|text| changes(&current, text));
                @match &shown { Some(Some(shown)) => (shown), Some(None) => (not_shown()), None => {} }
                @match (&proposal.approved_by, &shown) {
                    (Some(second), _) => p class="good" { "Approved by " (name(second)) ". Write this text to the file and start the server; where the budget changes, " code { "deniable budget adopt" } " first." },
                    (None, _) if proposal.by == signed.0.name() => p class="quiet" { "Another curator has to approve it." },
                    // Nobody approves what they cannot read.
                    (None, None) => p class="bad" { "Its text was not kept, as an earlier version did it, so there is nothing to read and nothing to approve here. Let " (name(&proposal.by)) " propose it again." },
                    (None, Some(None)) => p class="bad" { "So it cannot be approved here. Let " (name(&proposal.by)) " propose it again." },
                    (None, Some(Some(_))) => div class="actions" {
                        form method="post" action="/catalog/approve" {
                            input type="hidden" name="digest" value=(proposal.digest);
                            button type="submit" class="primary" { "Approve" }
                        }
                    },
                }
            }
        }
        h2 { "Propose another one" }
        p class="quiet" { "More budget, wider bounds or another table: change the text here, see what it changes, and propose it to another curator." }
        form method="post" action="/catalog/check" {
            label for="catalog" { "The whole text" }
            textarea id="catalog" name="catalog" class="catalog" rows="24" spellcheck="false" autocomplete="off" required { "\n" (legal(&shown)) }
            div class="buttons" {
                button type="submit" formaction="/catalog/check" { "See what it changes" }
                button type="submit" formaction="/catalog/propose" class="primary" { "Propose it" }
            }
        }
    };
    Ok(view(service, signed, "/catalog").page("Catalog", body))
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn changes_are_one_sentence() {
        let said = |loosens: &[&str]| {
            let loosens: Vec<String> = loosens.iter().map(|words| (*words).to_owned()).collect();
            listed(&loosens).into_string()
        };
        assert_eq!(
            said(&["budget.epsilon changes"]),
            "<code>budget.epsilon</code> changes"
        );
        assert_eq!(
            said(&[
                "budget.epsilon is another",
                "limits.groups changes",
                "tables.a b is new"
            ]),
            "<code>budget.epsilon</code> and <code>limits.groups</code> change; tables.a b is new"
        );
    }
}
