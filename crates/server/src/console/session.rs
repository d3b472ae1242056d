//! The person at the browser: signing in and out, the cookie between, and which forms are accepted.
//!
//! The cookie holds an opaque random token, of which the accounts keep a hash. It is good for pages alone:
//! the interfaces for programs accept no cookies, and do not accept this token either.

use super::layout::{self, View};
use super::{Page, see_other};
use crate::failure::{Code, Failure};
use crate::http::Audience;
use crate::listen::Visitor;
use crate::network::Network;
use crate::service::{Identity, Service};
use axum::extract::rejection::FormRejection;
use axum::extract::{FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use maud::html;
use serde::Deserialize;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The name of the cookie, bound to this very host: no other host, and nothing that is not encrypted, can set
/// it. Browsers do not tell ports apart, so each listener has a name of its own, and a curator who asks as an
/// analyst as well stays signed in on both.
fn cookie_of(audience: Audience) -> &'static str {
    match audience {
        Audience::Analysts => "__Host-deniable",
        Audience::Curators => "__Host-deniable-curators",
    }
}

const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Strict";
/// As long as a session that begins with a password lasts, in seconds.
const LASTS: u32 = 8 * 60 * 60;

pub(super) fn routes(audience: Audience) -> Router<Arc<Service>> {
    let form = move |next| form(next, audience);
    let begin = move |service, from, body| begin(service, from, body, audience);
    let end = move |service, signed| end(service, signed, audience);
    Router::new()
        .route("/sign-in", get(form).post(begin))
        .route("/sign-out", post(end))
}

/// Whether a request that changes something comes from a page of ours. Browsers say where it comes from, and
/// no script can make them lie. A client that is no browser says nothing, and has no cookie that somebody
/// else could use.
pub(super) fn is_from_our_pages(method: &Method, headers: &HeaderMap) -> bool {
    if matches!(*method, Method::GET | Method::HEAD) {
        return true;
    }
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = headers.get("sec-fetch-site")
        && site != "same-origin"
    {
        return false;
    }
    match (text(header::ORIGIN), text(header::HOST)) {
        (Some(origin), Some(host)) => origin
            .strip_prefix("https://")
            .is_some_and(|origin| origin.eq_ignore_ascii_case(host)),
        _ => false,
    }
}

fn token(headers: &HeaderMap, audience: Audience) -> Option<&str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == cookie_of(audience))
        .map(|(_, token)| token)
}

/// The person who is signed in. Anybody else is led to the page for signing in.
#[derive(Clone, Debug)]
pub(super) struct Signed(pub(super) Identity);

impl FromRequestParts<Arc<Service>> for Signed {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Response> {
        let Ok(from) = Network::from_request_parts(parts, service).await;
        let audience = parts.extensions.get::<Audience>();
        let found = match audience.and_then(|audience| token(&parts.headers, *audience)) {
            Some(token) => service.of_session(token, from).await,
            None => Err(signed_out()),
        };
        match found {
            Ok(identity) => {
                if let Some(visitor) = parts.extensions.get::<Visitor>() {
                    visitor.signed_in(identity.name());
                }
                Ok(Self(identity))
            }
            Err(failure) if failure.code != Code::NotSignedIn => Err(Page::failure(failure).into_response()),
            // The script shows it where it asked.
            Err(_) if parts.headers.contains_key(super::FRAGMENT) => {
                let failure = signed_out();
                Err(Page::with_status(layout::problem(&failure), Some(&failure)).into_response())
            }
            Err(_) => {
                let next = match parts.method {
                    Method::GET => parts.uri.path_and_query().map_or("/", |path| path.as_str()),
                    _ => "/",
                };
                Err(see_other(&format!("/sign-in?next={}", layout::encoded(next))))
            }
        }
    }
}

fn signed_out() -> Failure {
    Failure::new(
        Code::NotSignedIn,
        "you are signed out",
        "sign in again: what you wrote stays in this page, in another tab",
    )
}

#[derive(Deserialize)]
struct Next {
    #[serde(default)]
    next: String,
}

async fn form(Query(Next { next }): Query<Next>, audience: Audience) -> Page {
    sign_in_page(audience, "", &next, None)
}

#[derive(Deserialize)]
struct SignIn {
    #[serde(default)]
    name: String,
    #[serde(default)]
    secret: String,
    #[serde(default)]
    next: String,
}

async fn begin(
    State(service): State<Arc<Service>>,
    from: Network,
    body: Result<Form<SignIn>, FormRejection>,
    audience: Audience,
) -> Response {
    let Ok(Form(body)) = body else {
        return see_other("/sign-in");
    };
    let secret = Zeroizing::new(body.secret);
    match service.open_session(&body.name, &secret, from).await {
        Ok(secret) => {
            let (name, secret) = (cookie_of(audience), secret.reveal());
            let cookie = format!("{name}={secret}; Max-Age={LASTS}; {ATTRIBUTES}");
            with_cookie(see_other(own_path(&body.next)), &cookie)
        }
        Err(failure) => {
            let failure = match failure.code {
                Code::NotSignedIn => Failure::new(
                    Code::NotSignedIn,
                    "wrong name or password",
                    "ask the curator for a new one: `deniable user password` sets a password, `deniable user token` makes a token",
                ),
                _ => failure,
            };
            sign_in_page(audience, &body.name, &body.next, Some(&failure)).into_response()
        }
    }
}

async fn end(State(service): State<Arc<Service>>, Signed(who): Signed, audience: Audience) -> Response {
    if let Err(failure) = service.close_session(&who).await {
        return Page::failure(failure).into_response();
    }
    let cookie = format!("{}=; Max-Age=0; {ATTRIBUTES}", cookie_of(audience));
    with_cookie(see_other("/sign-in"), &cookie)
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Where to go after signing in: a path of ours, and never another host.
fn own_path(next: &str) -> &str {
    let ours = next.starts_with('/')
        && !next.starts_with("//")
        && !next.starts_with("/sign-")
        && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if ours { next } else { "/" }
}

fn sign_in_page(audience: Audience, name: &str, next: &str, failure: Option<&Failure>) -> Page {
    let view = View::signed_out(audience);
    let page = view.page(
        "Sign in",
        html! {
            div class="narrow" {
                h1 { "Sign in" }
                p class="lead" {
                    @match audience {
                        // The name of the data may say what it is about, so a visitor who did not sign in is
                        // not told.
                        Audience::Analysts => "Ask in SQL. Every answer has error bars and a price, and both are known before you ask.",
                        Audience::Curators => "For those who keep the data: what was spent, by whom, and what is promised to the people in it.",
                    }
                }
                @if let Some(failure) = failure { (layout::problem(failure)) }
                form method="post" action="/sign-in" class="stack" {
                    input type="hidden" name="next" value=(own_path(next));
                    label for="name" { "Name" }
                    input id="name" name="name" value=(report::legal(name)) autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus[name.is_empty()];
                    label for="secret" { "Password or token" }
                    input id="secret" name="secret" type="password" autocomplete="current-password" required autofocus[!name.is_empty()];
                    div { button type="submit" class="primary" { "Sign in" } }
                }
            }
        },
    );
    Page::with_status(page, failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn forms_of_other_pages_are_not_taken() {
        let ours = [("host", "localhost:8443"), ("origin", "https://localhost:8443")];
        let taken = |more: &[(&'static str, &'static str)]| {
            let mut all = ours.to_vec();
            all.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
            all.extend(more);
            is_from_our_pages(&Method::POST, &headers(&all))
        };
        assert!(taken(&[]));
        assert!(taken(&[("sec-fetch-site", "same-origin")]));
        for site in ["same-site", "cross-site", "none"] {
            assert!(!taken(&[("sec-fetch-site", site)]));
        }
        for origin in [
            "null",
            "https://evil.example",
            "http://localhost:8443",
            "https://localhost:8444",
        ] {
            assert!(!taken(&[("origin", origin)]));
        }
        assert!(!is_from_our_pages(
            &Method::POST,
            &headers(&[("host", "localhost")])
        ));
        assert!(is_from_our_pages(&Method::GET, &HeaderMap::new()));
    }

    #[test]
    fn nobody_is_led_to_another_host() {
        assert_eq!(own_path("/answers/7"), "/answers/7");
        for elsewhere in [
            "",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/a\r\nb",
            "/sign-out",
        ] {
            assert_eq!(own_path(elsewhere), "/");
        }
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let of =
            |audience, text: &'static str| token(&headers(&[("cookie", text)]), audience).map(str::to_owned);
        let found = |text: &'static str| of(Audience::Analysts, text);
        assert_eq!(found("a=1; __Host-deniable=dnb_x; b=2").as_deref(), Some("dnb_x"));
        assert_eq!(found("__Host-deniable-curators=dnb_x"), None);
        assert_eq!(
            of(Audience::Curators, "__Host-deniable-curators=dnb_x").as_deref(),
            Some("dnb_x")
        );
        assert_eq!(found("x__Host-deniable=dnb_x; deniable=dnb_y"), None);
    }
}
