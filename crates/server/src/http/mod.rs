//! The HTTP entrance: JSON in and out, errors as RFC 9457 describes them.

mod analysts;
mod answers;
mod curators;
mod problem;
mod requests;

use crate::console;
use crate::failure::{Code, Failure};
use crate::listen::{self, Ending, HANDSHAKE};
use crate::service::{Identity, Service};
use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
pub use curators::described_account;
pub(crate) use curators::{allowed, not_of_another_curator};
use futures::StreamExt as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
pub use problem::Problem;
pub(crate) use requests::wanted as wanted_epsilon;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Info, OpenApi};
use utoipa_axum::router::OpenApiRouter;

/// Connections that are open at once.
const MOST_CONNECTIONS: usize = 1024;
/// The largest body of a request.
const MOST_BYTES: usize = 1 << 20;
/// How much of a body that is too long is read and thrown away. Who is answered while still sending meets a connection that was reset, often before reading why.
const MOST_DISCARDED: usize = 16 << 20;
/// How long the head of a request may take to arrive.
const HEAD: Duration = Duration::from_secs(10);
/// How long its body may take.
const BODY: Duration = Duration::from_secs(15);

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
        Audience::Analysts => analysts::routes().merge(requests::of_analysts()),
        Audience::Curators => curators::routes().merge(requests::of_curators()),
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
        .fallback(|| async {
            Problem(Failure::new(
                Code::NotFound,
                "there is nothing at this address",
                "GET /v1/openapi.json describes what there is",
            ))
        })
        .layer(axum::extract::DefaultBodyLimit::max(MOST_BYTES))
        .layer(middleware::from_fn(with_headers));
    (router, description)
}

/// A body is read whole, and in time, before anybody does something about it; nothing that was answered is kept by a browser or a proxy.
async fn with_headers(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let read = tokio::time::timeout(BODY, read_whole(body)).await;
    let mut response = match read {
        Ok(Some(bytes)) => next.run(Request::from_parts(head, bytes.into())).await,
        _ => Problem(Failure::new(
            Code::BadRequest,
            "the body is longer than 1 MiB, or did not arrive within 15 seconds",
            "send a shorter one, and all of it",
        ))
        .into_response(),
    };
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
    response
}

/// A body, unless it is too long or breaks off. One that says beforehand that it is far too long is not read at all.
async fn read_whole(body: Body) -> Option<Vec<u8>> {
    if body.size_hint().lower() > MOST_DISCARDED as u64 {
        return None;
    }
    let mut stream = body.into_data_stream();
    let (mut whole, mut length) = (Vec::new(), 0_usize);
    while let Some(part) = stream.next().await {
        let part = part.ok()?;
        length = length.saturating_add(part.len());
        if length > MOST_DISCARDED {
            return None;
        }
        if length <= MOST_BYTES {
            whole.extend_from_slice(&part);
        } else {
            whole = Vec::new();
        }
    }
    (length <= MOST_BYTES).then_some(whole)
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
    let ends = ending.clone();
    listen::serve(
        listener,
        service,
        entrance,
        MOST_CONNECTIONS,
        ending,
        move |stream, _| {
            let (router, acceptor, ends) = (router.clone(), acceptor.clone(), ends.clone());
            async move {
                // Who does not shake hands in time is let go of.
                if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                    connection(TokioIo::new(stream), router, ends).await;
                }
            }
        },
    )
    .await;
}

async fn connection<IO>(stream: IO, router: Router, mut ends: Ending)
where
    IO: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(64 << 10)
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
        Ok(service.sign_in_with_token(token).await?)
    }
}
