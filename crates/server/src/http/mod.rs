//! The HTTP entrance: JSON in and out, errors as RFC 9457 describes them.

mod analysts;
mod answers;
mod curators;
mod limits;
mod models;
mod problem;
mod releases;
mod requests;
mod synthetic;

use crate::console;
use crate::failure::{Code, Failure};
use crate::listen::{self, Ending, HANDSHAKE, Patient, Visitor};
use crate::network::Network;
use crate::service::{Identity, Service};
use axum::Router;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
pub use curators::described_account;
pub(crate) use curators::not_of_another_curator;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
pub use problem::Problem;
pub(crate) use releases::attributes;
pub(crate) use requests::wanted as wanted_epsilon;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Info, OpenApi};
use utoipa_axum::router::OpenApiRouter;

/// How long the head of a request may take to arrive, and how long a connection waits for the next one.
const HEAD: Duration = Duration::from_secs(10);
/// The largest head of a request, and what is read and written ahead on a connection.
const AHEAD: usize = 32 << 10;

/// Whom the routes are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Everybody who has an account.
    Analysts,
    /// Curators, auditors and operators: on a listener of its own, which is better not reached from everywhere.
    Curators,
}

/// The routes for these people, and their description.
pub fn routes(audience: Audience) -> (Router<Arc<Service>>, OpenApi) {
    let routes = match audience {
        Audience::Analysts => analysts::routes()
            .merge(models::of_analysts())
            .merge(releases::of_analysts())
            .merge(requests::of_analysts())
            .merge(synthetic::of_analysts()),
        Audience::Curators => curators::routes()
            .merge(releases::of_curators())
            .merge(requests::of_curators())
            .merge(synthetic::of_curators()),
    };
    let (router, mut description) = OpenApiRouter::new().merge(routes).split_for_parts();
    let title = match audience {
        Audience::Analysts => "Deniable: private SQL for analysts",
        Audience::Curators => "Deniable: accounts, ledger and health for curators, auditors and operators",
    };
    description.info = Info::new(title, env!("CARGO_PKG_VERSION"));
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    description
        .components
        .get_or_insert_default()
        .add_security_scheme("token", bearer);
    let router = router
        .merge(console::routes(audience))
        .fallback(|headers: HeaderMap| async move {
            let page = console::nothing_here(&headers);
            page.unwrap_or_else(|| {
                let failure = Failure::new(
                    Code::NotFound,
                    "there is nothing at this address",
                    "GET /v1/openapi.json describes what there is",
                );
                Problem(failure).into_response()
            })
        })
        .layer(axum::extract::DefaultBodyLimit::max(limits::MOST_BYTES))
        .layer(middleware::from_fn(move |request, next| {
            with_headers(audience, request, next)
        }));
    (router, description)
}

/// What a request may take is seen to before anybody does something about it; nothing that was answered is kept by a browser or a proxy.
async fn with_headers(audience: Audience, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let visitor = head.extensions.get::<Visitor>().cloned();
    let is_local = limits::is_local(&head.headers);
    let response = match limits::received(&mut head, body, audience).await {
        Ok((body, _reserved)) => next.run(Request::from_parts(head, body.into())).await,
        Err(failure) => Problem(failure).into_response(),
    };
    let mut response = limits::counted(response, visitor.as_ref()).await;
    let headers = response.headers_mut();
    // Pages of the console say more precisely what a browser may do with them.
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(
            "default-src 'none'; frame-ancestors 'none'",
        ));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    // Browsers do not try this host without encryption for a year.
    if !is_local {
        headers.insert(
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=31536000"),
        );
    }
    response
}

/// Serves HTTP over TLS until the server ends.
pub(crate) async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    audience: Audience,
    acceptor: TlsAcceptor,
    ending: Ending,
) {
    let router = routes(audience).0.with_state(Arc::clone(&service));
    let entrance = match audience {
        Audience::Analysts => "http",
        Audience::Curators => "curator",
    };
    let patience = service.connections().patience;
    let ends = ending.clone();
    listen::serve(listener, service, entrance, ending, move |stream, visitor| {
        let (router, acceptor, ends) = (router.clone(), acceptor.clone(), ends.clone());
        let stream = Patient::new(stream, patience);
        async move {
            // A client that does not shake hands in time is dropped.
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                connection(TokioIo::new(stream), router, visitor, ends).await;
            }
        }
    })
    .await;
}

async fn connection<IO>(stream: IO, router: Router, visitor: Visitor, mut ends: Ending)
where
    IO: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    // Every request says where it comes from.
    let router = router.map_request(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request
            .extensions_mut()
            .insert(Network::of(visitor.address().ip()));
        request.extensions_mut().insert(visitor.clone());
        request
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(AHEAD)
        .serve_connection(stream, TowerToHyperService::new(router));
    tokio::pin!(served);
    tokio::select! {
        _ = served.as_mut() => {}
        () = ends.wait() => {
            served.as_mut().graceful_shutdown();
            let _ = served.await;
        }
    }
}

/// Who asks is who the token belongs to, and nothing else in a request says so.
impl FromRequestParts<Arc<Service>> for Identity {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Problem> {
        let token = parts
            .headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .unwrap_or_default();
        let who = service.sign_in_with_token(token).await?;
        if let Some(visitor) = parts.extensions.get::<Visitor>() {
            visitor.signed_in(who.name());
        }
        Ok(who)
    }
}
