//! Limits of one request: its host, its body, and the bytes of the response while they wait to be read.

use super::{Audience, Problem};
use crate::console;
use crate::failure::{Code, Failure};
use crate::listen::Visitor;
use crate::memory::Reservation;
use crate::service::Identity;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::FromRequestParts as _;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Version, header};
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The largest body of a request.
pub(super) const MOST_BYTES: usize = 1 << 20;
/// The largest one of somebody who is not signed in, and what is not counted: there are no more of them than connections.
const SMALL: usize = 16 << 10;
/// How much of a body that is too long is read and thrown away. Who is answered while still sending meets a connection that was reset, often before reading why.
const MOST_DISCARDED: usize = 16 << 20;
/// How long a body may take to arrive.
const BODY: Duration = Duration::from_secs(15);
/// What is handed to a connection at once. The next part follows when this one is nearly gone.
const PART: usize = 64 << 10;

/// The body of a request, read whole and in time before anybody does something about it, and what is reserved for it.
pub(super) async fn received(
    head: &mut Parts,
    body: Body,
    audience: Audience,
) -> Result<(Vec<u8>, Option<Reservation>), Failure> {
    if !names_one_host(head) {
        return Err(Failure::new(
            Code::BadRequest,
            "a request names one host",
            "send one Host header, with the host of the address",
        ));
    }
    let size = body.size_hint();
    let largest = size.upper().map_or(MOST_BYTES, |upper| {
        usize::try_from(upper).unwrap_or(usize::MAX).min(MOST_BYTES)
    });
    if largest <= SMALL {
        return Ok((in_time(body, SMALL).await.ok_or_else(too_long)?, None));
    }
    let Some(visitor) = signed_in(head, audience).await else {
        return match in_time(body, SMALL).await {
            Some(body) => Ok((body, None)),
            None => Err(Failure::new(
                Code::NotSignedIn,
                "who is not signed in sends 16 KiB at most, within 15 seconds",
                "send a token that is good, as Authorization: Bearer …",
            )),
        };
    };
    let reserved = visitor.room().reserve(largest)?;
    let body = in_time(body, MOST_BYTES).await.ok_or_else(too_long)?;
    Ok((body, Some(reserved)))
}

fn too_long() -> Failure {
    Failure::new(
        Code::BadRequest,
        "the body is longer than 1 MiB, or did not arrive within 15 seconds",
        "send a shorter one, and all of it",
    )
}

/// Who sends this request, where they are signed in by what is in it.
async fn signed_in(head: &mut Parts, audience: Audience) -> Option<Visitor> {
    let visitor = head.extensions.get::<Visitor>()?.clone();
    let service = visitor.service();
    let known = match head.headers.contains_key(header::AUTHORIZATION) {
        true => Identity::from_request_parts(head, service).await.is_ok(),
        false => console::is_signed_in(head, audience, service).await,
    };
    known.then_some(visitor)
}

async fn in_time(body: Body, most: usize) -> Option<Vec<u8>> {
    tokio::time::timeout(BODY, read_whole(body, most)).await.ok()?
}

/// A body, unless it is too long or breaks off. One that says beforehand that it is far too long is not read at all.
async fn read_whole(body: Body, most: usize) -> Option<Vec<u8>> {
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
        if length <= most {
            whole.extend_from_slice(&part);
        } else {
            whole = Vec::new();
        }
    }
    (length <= most).then_some(whole)
}

/// Whether it is clear which host is meant. Where two are named, a proxy may go by one and the server by the other.
fn names_one_host(head: &Parts) -> bool {
    let mut hosts = head.headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => head
            .uri
            .authority()
            .is_none_or(|named| named.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes())),
        (None, None) => head.version < Version::HTTP_11,
        _ => false,
    }
}

/// Whether the host is a name of the machine that the browser runs on. What a browser is told about such a name holds for whatever else listens there.
pub(super) fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let name = host.map_or("", |host| host.split(':').next().unwrap_or_default());
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// What is sent back, counted as long as it waits to be read.
pub(super) async fn counted(response: Response, visitor: Option<&Visitor>) -> Response {
    let Some((visitor, size)) = visitor.zip(response.body().size_hint().exact()) else {
        return response;
    };
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if size <= SMALL {
        return response;
    }
    let reserved = match visitor.room().reserve_for_answer(size) {
        Ok(reserved) => reserved,
        Err(failure) => return Problem(failure).into_response(),
    };
    let (head, body) = response.into_parts();
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(left) => Response::from_parts(
            head,
            Body::new(Leaving {
                left,
                _reserved: reserved,
            }),
        ),
        // What is in memory already does not break off.
        Err(_) => Problem(Failure::defect("the answer cannot be sent")).into_response(),
    }
}

/// A body that leaves in parts, so that what is reserved for it is given back when the last part is on its way, and not when the first is.
#[derive(Debug)]
struct Leaving {
    left: Bytes,
    _reserved: Reservation,
}

impl hyper::body::Body for Leaving {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let size = self.left.len().min(PART);
        let part = self.left.split_to(size);
        Poll::Ready((!part.is_empty()).then(|| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, Request};

    #[test]
    fn a_request_names_one_host() {
        let names_one = |uri: &str, version: Version, hosts: &[&'static str]| {
            let mut request = Request::builder().uri(uri).version(version);
            for host in hosts {
                request = request.header(header::HOST, *host);
            }
            names_one_host(&request.body(()).unwrap().into_parts().0)
        };
        assert!(names_one("/", Version::HTTP_11, &["data.example"]));
        assert!(names_one(
            "https://data.example/",
            Version::HTTP_11,
            &["Data.example"]
        ));
        assert!(names_one("/", Version::HTTP_10, &[]));
        assert!(!names_one("/", Version::HTTP_11, &[]));
        assert!(!names_one(
            "/",
            Version::HTTP_11,
            &["data.example", "data.example"]
        ));
        assert!(!names_one(
            "https://evil.example/",
            Version::HTTP_11,
            &["data.example"]
        ));
    }

    #[test]
    fn names_of_the_browsers_own_machine_are_local() {
        let is_local = |host: &'static str| {
            is_local(&HeaderMap::from_iter([(
                header::HOST,
                HeaderValue::from_static(host),
            )]))
        };
        for host in ["localhost", "LOCALHOST:8443", "data.localhost.:1"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["data.example", "localhost.example:8443", "127.0.0.1:8443"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
