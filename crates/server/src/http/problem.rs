//! Failures as RFC 9457 describes them.

use crate::failure::{Code, Failure};
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A failure, on its way to a client of HTTP.
#[derive(Debug)]
pub struct Problem(pub Failure);

/// What went wrong.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub(crate) struct Body<'a> {
    /// A stable name of the kind of failure, after `urn:deniable:`.
    r#type: String,
    /// What is wrong.
    title: &'a str,
    /// The status of HTTP.
    status: u16,
    /// What to do about it.
    hint: &'a str,
    /// The largest ε with which the question fits now, where it does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    fits: Option<&'a str>,
}

impl<F: Into<Failure>> From<F> for Problem {
    fn from(failure: F) -> Self {
        Self(failure.into())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self(failure) = self;
        let body = Body {
            r#type: format!("urn:deniable:{}", failure.code.name()),
            title: &failure.what,
            status: failure.code.status(),
            hint: &failure.hint,
            fits: failure.fits.as_deref(),
        };
        let status = StatusCode::from_u16(body.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let text = serde_json::to_string(&body).expect("a problem is plain data");
        let mut response =
            (status, [(header::CONTENT_TYPE, "application/problem+json")], text).into_response();
        if failure.code == Code::NotSignedIn {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        let again = match failure.code {
            Code::TooManyRequests | Code::Busy | Code::Ending => Some(failure.again_after.unwrap_or(1)),
            Code::LedgerFull => Some(60),
            _ => failure.again_after,
        };
        if let Some(seconds) = again {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// What cannot be read at all. The extractor's own words may quote the request, never data; they are the sender's.
pub(crate) trait Unreadable {
    fn failure(&self) -> Failure;
}

macro_rules! unreadable {
    ($($kind:ty => $hint:literal),*) => {$(
        impl Unreadable for $kind {
            fn failure(&self) -> Failure {
                Failure::new(Code::BadRequest, self.body_text(), $hint)
            }
        }
        impl From<$kind> for Failure {
            fn from(rejection: $kind) -> Self {
                rejection.failure()
            }
        }
    )*};
}

unreadable!(
    JsonRejection => "send an object as application/json, as GET /v1/openapi.json describes it",
    PathRejection => "GET /v1/openapi.json describes the addresses",
    QueryRejection => "GET /v1/openapi.json describes the parameters"
);
