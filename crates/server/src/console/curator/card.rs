//! The privacy card as a page and as files: it says whose privacy is protected, and how.
//!
//! It is for curators and auditors. A card reads no data and may be published, but when to publish it is the
//! curator's decision. It lists every charge by its day and its mechanisms. From that list analysts would see
//! how much the others ask, while their own pages show each of them their own history alone. A card without
//! that list would not be the document that `deniable card verify` checks. So there is no smaller card for
//! analysts here.

use super::super::Page;
use super::super::layout::problem;
use super::super::session::Signed;
use super::{allow, view};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use crate::service::Service;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use card::{Card, FILE_NAME, Ledger, Words};
use ledger::Head;
use maud::{Markup, PreEscaped, html};
use std::sync::Arc;
use tokio::sync::Mutex;

/// The last card that was made. It takes the certified accountant some tenths of a second, and follows from
/// the catalog, the ledger and the words.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(Arc<Mutex<Option<Made>>>);

#[derive(Clone, Debug)]
struct Made {
    head: Head,
    words: Words,
    card: Arc<Shown>,
}

/// A card, written for people.
#[derive(Debug)]
struct Shown {
    card: Card,
    fragment: String,
    /// The record for the registry, or why there is none.
    record: Result<String, Failure>,
}

/// What people said, in the file beside the catalog that `deniable card` reads too, or what is wrong with
/// that file.
type Said = Result<Words, Failure>;

pub(super) async fn page(
    State(service): State<Arc<Service>>,
    Extension(kept): Extension<Kept>,
    signed: Signed,
) -> Result<Page, Page> {
    allow(&service, &signed, Right::ReadLedger)?;
    let said = said(&service).await?;
    // A file that cannot be read hides nothing of what is computed.
    let words = said.as_ref().map_or_else(|_| Words::none(), Words::clone);
    let shown = kept.now(&service, words).await?;
    let body = html! {
        (files(&said, &shown.record))
        // The crate `card` escapes whatever is in it.
        (PreEscaped(&shown.fragment))
    };
    Ok(Page::new(
        view(&service, &signed, "/card").page("Privacy card", body),
    ))
}

fn files(said: &Said, record: &Result<String, Failure>) -> Markup {
    html! {
        @if let Err(failure) = said { (problem(failure)) }
        section class="files" {
            @if said.is_ok() {
                p class="links" {
                    "To publish it: "
                    a href="/card/html" download { "page" } " · " a href="/card/json" download { "JSON" }
                    @if record.is_ok() { " · " a href="/card/yaml" download { "record for the registry of deployments" } }
                }
            } @else {
                p { "Below is the card without the words of that file. It can be downloaded when the file can be read." }
            }
            @if let (Ok(said), Err(failure)) = (said, record) {
                p class="quiet" {
                    "There is no record for the registry of deployments yet: " (failure.what) "."
                    @if *said == Words::none() {
                        " What only people can say is read from " code { (FILE_NAME) } " beside the catalog: " code { "deniable card draft" } " prints every question, for somebody on the machine to answer."
                    }
                }
            }
            p class="quiet" { "Whoever has the ledger checks every number of the JSON card with " code { "deniable card verify" } "." }
        }
    }
}

/// The card as a file: a page of its own, the document that can be checked, or the record of the registry.
pub(super) async fn download(
    State(service): State<Arc<Service>>,
    Extension(kept): Extension<Kept>,
    signed: Signed,
    Path(format): Path<String>,
) -> Result<Response, Page> {
    allow(&service, &signed, Right::ReadLedger)?;
    let kind = match format.as_str() {
        "html" => "text/html; charset=utf-8",
        "json" => "application/json",
        "yaml" => "application/yaml",
        _ => {
            return Err(Page::failure(Failure::new(
                Code::NotFound,
                "a card is not written in this way",
                "there are html, json and yaml",
            )));
        }
    };
    // What goes out into the world has all words in it, or is not made.
    let words = said(&service).await??;
    let shown = kept.now(&service, words).await?;
    let text = match format.as_str() {
        "html" => shown.card.to_html(),
        "json" => format!("{}\n", shown.card.to_json()),
        _ => shown.record.clone()?,
    };
    let name = format!("attachment; filename=\"card.{format}\"");
    let name = HeaderValue::from_str(&name).unwrap_or(HeaderValue::from_static("attachment"));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, text).into_response())
}

async fn said(service: &Arc<Service>) -> Result<Said, Failure> {
    let service = Arc::clone(service);
    let read = move || {
        let catalog = service.dataset().catalog();
        Words::beside(catalog).map_err(|error| {
            // A page does not say where the catalog lies on the machine.
            let path = catalog.directory.join(FILE_NAME).display().to_string();
            Failure::new(Code::Refused, error.what.replace(&path, FILE_NAME), error.hint)
        })
    };
    tokio::task::spawn_blocking(read)
        .await
        .map_err(|_| Failure::defect("the words of the card cannot be read"))
}

fn failed(error: card::Error) -> Failure {
    Failure::new(Code::Refused, error.what, error.hint)
}

impl Kept {
    /// The card as of the ledger's last entry, made anew if there is a new entry. A visitor who comes while
    /// it is made waits for the same card.
    async fn now(&self, service: &Arc<Service>, words: Words) -> Result<Arc<Shown>, Failure> {
        let (kept, service) = (self.clone(), Arc::clone(service));
        // In a task of its own, which goes on if nobody waits any more: a visitor who comes and goes makes
        // one card, and not one each time.
        let made = tokio::spawn(async move { kept.made(&service, words).await });
        made.await
            .map_err(|_| Failure::defect("the card cannot be made"))?
    }

    async fn made(&self, service: &Arc<Service>, words: Words) -> Result<Arc<Shown>, Failure> {
        let mut kept = self.0.lock().await;
        let head = service.on_ledger(|store| Ok(store.head()?)).await?;
        if let Some(made) = kept.as_ref()
            && made.head == head
            && made.words == words
        {
            return Ok(Arc::clone(&made.card));
        }
        // The ledger is free again while the numbers are computed: questions wait for it, and not for them.
        let past = service.on_ledger(|store| Ok(store.past(None)?)).await?;
        let service = Arc::clone(service);
        let said = words.clone();
        let made = tokio::task::spawn_blocking(move || {
            let catalog = service.dataset().catalog();
            let card = Card::new(catalog, Ledger::Until(&past), &said).map_err(failed)?;
            let shown = Shown {
                fragment: card.to_html_fragment(),
                record: card.to_registry_yaml().map_err(failed),
                card,
            };
            Ok::<_, Failure>((past.head, Arc::new(shown)))
        });
        let (head, card) = made
            .await
            .map_err(|_| Failure::defect("the card cannot be made"))??;
        *kept = Some(Made {
            head,
            words,
            card: Arc::clone(&card),
        });
        Ok(card)
    }
}
