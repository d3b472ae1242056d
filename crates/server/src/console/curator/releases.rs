//! Planned releases: what each will cost and how exact it will be, and a button that makes it.

use super::super::layout::{name, problem};
use super::super::releases::{self, address};
use super::super::session::Signed;
use super::super::{Page, see_other};
use super::{allow, view};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use crate::service::{PlanWanted, PlannedView, Service};
use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

pub(super) async fn list(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    allow(&service, &signed, Right::ReadLedger)?;
    let releases = service.releases(&signed.0, Right::ReadLedger).await?;
    let body = html! {
        h1 { "Releases" }
        p class="lead" { "Tables that the catalog plans to publish. What one costs is agreed with the catalog; a curator makes it, once, and analysts read it for nothing." }
        (releases::listed(&releases))
    };
    Ok(Page::new(
        view(&service, &signed, "/releases").page("Releases", body),
    ))
}

pub(super) async fn page(
    State(service): State<Arc<Service>>,
    signed: Signed,
    release: Result<Path<String>, PathRejection>,
) -> Result<Page, Page> {
    allow(&service, &signed, Right::ReadLedger)?;
    let Path(release) = release.map_err(|_| unreadable())?;
    whole(&service, &signed, &release, None).await
}

async fn whole(
    service: &Service,
    signed: &Signed,
    release: &str,
    refused: Option<&Failure>,
) -> Result<Page, Page> {
    let who = &signed.0;
    let plan = service
        .plan_release(who, Right::ReadLedger, release, &PlanWanted::default())
        .await;
    if let Err(failure) = &plan
        && failure.code == Code::NotFound
    {
        return Err(failure.clone().into());
    }
    let left = service.on_ledger(|store| Ok(store.left_for_all()?)).await?;
    let body = html! {
        h1 { (name(release)) }
        @if let Some(failure) = refused { (problem(failure)) }
        @match &plan {
            Ok(plan) => {
                (state(plan, who.may(Right::Keep), &left.to_string()))
                (releases::plan(plan))
            }
            Err(failure) => (problem(failure)),
        }
    };
    let page = view(service, signed, "/releases").page(release, body);
    Ok(Page::with_status(page, refused.or(plan.as_ref().err())))
}

/// Whether it was made, and the button that makes it.
fn state(plan: &PlannedView, keeper: bool, left: &str) -> Markup {
    let release = &plan.explanation.release;
    html! {
        @match plan.made_by_charge {
            Some(charge) => p class="good" {
                "Made, under charge " (charge) ". Analysts read it on their address, under Releases, and in psql as tables of the schema releases."
            }
            None => {
                p class="found" {
                    "Not made yet of this version of the data. It costs " (sql::readable(&plan.explanation.guarantee).to_string())
                    ", once, and for good. Left for everybody together: ε = " (left) " (if spent in one more question)."
                }
                @if keeper {
                    form method="post" action="/releases" class="actions" {
                        input type="hidden" name="name" value=(release);
                        button type="submit" class="primary" { "Make the release" }
                        span class="quiet" { "This may take a while. If the page is closed, it is made all the same; asking again finds it, for nothing." }
                    }
                }
            }
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Made {
    name: String,
}

pub(super) async fn make(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Made>, FormRejection>,
) -> Result<Response, Page> {
    allow(&service, &signed, Right::Keep)?;
    let Form(Made { name }) = body.map_err(|_| unreadable())?;
    match service.make_release(&signed.0, &name, None).await {
        Ok(_) => Ok(see_other(&address(&name))),
        Err(failure) if failure.code == Code::NotFound => Err(failure.into()),
        Err(failure) => Ok(whole(&service, &signed, &name, Some(&failure))
            .await?
            .into_response()),
    }
}

fn unreadable() -> Failure {
    Failure::new(Code::BadRequest, "the form cannot be read", "open the page again")
}
