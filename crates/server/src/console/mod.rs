//! Pages for people with a browser: one more translator to the one internal call.
//!
//! Everything works without script, as links and forms; a small script makes it smooth. The asker is whoever
//! signed in ([`session`]). Everything that a page shows of private data comes from released answers. Answers
//! and refusals leave on the schedule of the service. Analysts' pages are on the analysts' address, curators'
//! pages on theirs.

mod analyst;
mod assets;
mod curator;
mod layout;
mod releases;
mod session;
mod synthetic;

use crate::failure::{Code, Failure};
use crate::http::Audience;
use crate::service::Service;
use accounting::Epsilon;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use ledger::More;
use maud::{Markup, PreEscaped};
use report::grouped;
use std::convert::Infallible;
use std::sync::Arc;

/// What a browser may do with a page: use our own script and style, send forms to us, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What the script asks with: a part of a page is wanted, and not the whole.
const FRAGMENT: HeaderName = HeaderName::from_static("deniable-fragment");

/// The pages for these people.
pub(crate) fn routes(audience: Audience) -> Router<Arc<Service>> {
    let pages = match audience {
        Audience::Analysts => analyst::routes(),
        Audience::Curators => curator::routes(),
    };
    let pages = pages
        .merge(session::routes(audience))
        .layer(Extension(audience))
        .layer(middleware::from_fn(with_headers));
    pages.route("/console/{file}", get(assets::asset))
}

/// Whether a request for a page comes from somebody who is signed in.
pub(crate) async fn is_signed_in(parts: &mut Parts, audience: Audience, service: &Arc<Service>) -> bool {
    parts.extensions.insert(audience);
    session::Signed::from_request_parts(parts, service).await.is_ok()
}

/// Forms are taken from our own pages alone, and every page says what a browser may do with it.
async fn with_headers(request: Request, next: Next) -> Response {
    let allowed = session::is_from_our_pages(request.method(), request.headers());
    let mut response = match allowed {
        true => next.run(request).await,
        false => Page::failure(Failure::new(
            Code::Forbidden,
            "this form was not sent by a page of this server",
            "open the page here, and send it again",
        ))
        .into_response(),
    };
    confine(&mut response);
    response
}

fn confine(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    );
}

/// What somebody with a browser sees at an address of nothing; `None` for programs, which did not ask for a
/// page.
pub(crate) fn nothing_here(headers: &HeaderMap) -> Option<Response> {
    let accepted = headers.get(header::ACCEPT)?.to_str().ok()?;
    if !accepted.contains("text/html") {
        return None;
    }
    let failure = Failure::new(
        Code::NotFound,
        "there is no page at this address",
        "check the address, or begin at the first page",
    );
    let mut response = Page::failure(failure).into_response();
    confine(&mut response);
    Some(response)
}

/// A page, or a part of one, on its way to a browser.
#[derive(Debug)]
struct Page {
    status: StatusCode,
    html: Markup,
    /// After how many seconds to try again.
    again_after: Option<u64>,
}

impl Page {
    fn new(html: Markup) -> Self {
        Self {
            status: StatusCode::OK,
            html,
            again_after: None,
        }
    }

    /// With the status of this failure.
    fn with_status(html: Markup, failure: Option<&Failure>) -> Self {
        let status = failure.map_or(200, |failure| failure.code.status());
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            html,
            again_after: failure.and_then(|failure| failure.again_after),
        }
    }

    /// A page that says why there is none.
    fn failure(failure: Failure) -> Self {
        Self::with_status(layout::failed(&failure), Some(&failure))
    }

    /// A page that says for whom it is, to somebody else.
    fn of_others(whom: &str, failure: &Failure) -> Self {
        let title = format!("This page is for {whom}.");
        Self::with_status(layout::titled(&title, failure), Some(failure))
    }
}

impl From<Failure> for Page {
    fn from(failure: Failure) -> Self {
        Self::failure(failure)
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        let again = self.again_after.map(HeaderValue::from);
        let again = again.map(|seconds| [(header::RETRY_AFTER, seconds)]);
        let page = [(header::CONTENT_TYPE, html)];
        (self.status, page, again, self.html.into_string()).into_response()
    }
}

/// Leads to another page, after a form was taken: a reload does not send the form again.
fn see_other(path: &str) -> Response {
    let location = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

/// Whether the script asks for a part of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fragment(bool);

impl<S: Sync> FromRequestParts<S> for Fragment {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.headers.contains_key(FRAGMENT)))
    }
}

/// The ε that a question usually takes: what the catalog thinks it should.
fn usual_epsilon(service: &Service) -> Result<Epsilon, Failure> {
    let declared = service.dataset().catalog().budget.query_epsilon.clone();
    let usual = declared.map_or_else(|| Epsilon::parse("0.1"), Ok);
    usual.map_err(|error| Failure::incident("the page cannot be made", &error))
}

/// A number of questions that fit, as people say it.
fn so_many(more: More) -> String {
    match (more.count, more.at_least) {
        (0, _) => "none".to_owned(),
        (count, true) => format!("at least {}", grouped(count)),
        (count, false) => format!("about {}", grouped(count)),
    }
}

/// Explains why the rest falls by less than a query costs, so that more queries fit than it seems.
const LEFT_FALLS_BY_LESS: &str = "It can fall by less than a question costs: many small questions together can give away less than their sum.";

/// A drawing of the crate `report`, which escapes what it is given.
fn drawn(svg: String) -> Markup {
    PreEscaped(svg)
}
