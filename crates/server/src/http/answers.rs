//! An answer as JSON, CSV or Arrow, whichever the client accepts.

use crate::failure::{Code, Failure};
use crate::memory::Count;
use arrow_ipc::writer::StreamWriter;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use sql::{Answer, Answered};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

const JSON: &str = "application/json";
const CSV: &str = "text/csv";
const ARROW: &str = "application/vnd.apache.arrow.stream";

/// What an answer is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Csv,
    Arrow,
}

impl Format {
    /// What the client accepts; JSON where it does not say. Decided before anything is asked, so that nothing is charged for an answer that cannot be sent.
    pub(super) fn accepted(headers: &HeaderMap) -> Result<Self, Failure> {
        let accepted: Vec<&str> = headers
            .get_all(header::ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|value| value.split(';').next().unwrap_or_default().trim())
            .collect();
        if accepted.is_empty() {
            return Ok(Self::Json);
        }
        let known = accepted.iter().find_map(|name| match *name {
            JSON | "application/*" | "*/*" => Some(Self::Json),
            CSV | "text/*" => Some(Self::Csv),
            ARROW => Some(Self::Arrow),
            _ => None,
        });
        known.ok_or_else(|| {
            Failure::new(
                Code::BadRequest,
                "answers are not written in any of the formats that the request accepts",
                format!("accept {JSON}, {CSV} or {ARROW}"),
            )
        })
    }

    /// The answer in this format. Formats that have no place for the receipt say in a header where it is, by the number of the charge.
    pub(super) fn response(self, answered: Arc<Answered>, charge: Option<u64>) -> Result<Response, Failure> {
        let has_receipt = answered.receipt.is_some();
        let mut response = match self {
            Self::Json => (
                [(header::CONTENT_TYPE, JSON)],
                Body::new(Unwritten::new(answered)?),
            )
                .into_response(),
            Self::Csv => of_csv(answered.answer.to_csv()),
            Self::Arrow => ([(header::CONTENT_TYPE, ARROW)], arrow(&answered)?).into_response(),
        };
        if let Some(charge) = charge.filter(|_| has_receipt) {
            let link = described_by(&format!("/v1/answers/{charge}/receipt"));
            if let Some(link) = link {
                response.headers_mut().insert(header::LINK, link);
            }
        }
        Ok(response)
    }
}

/// Where the receipt of what is sent is.
pub(super) fn described_by(path: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("<{path}>; rel=\"describedby\"")).ok()
}

/// A table as CSV, with one line of comment before it.
pub(super) fn csv(comment: &str, answer: &Answer) -> Response {
    let mut text = format!("# {comment}\n").into_bytes();
    text.extend(answer.to_csv());
    of_csv(text)
}

fn of_csv(text: Vec<u8>) -> Response {
    let kind = "text/csv; charset=utf-8; header=present";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// An answer that is written as JSON when it is asked for, all at once. Its length is known before, so whoever sends it finds room for it first, and no text is made that nobody has room for.
#[derive(Debug)]
struct Unwritten {
    /// `None` once it is written.
    answered: Option<Arc<Answered>>,
    length: usize,
}

impl Unwritten {
    fn new(answered: Arc<Answered>) -> Result<Self, Failure> {
        let mut counted = Count::default();
        serde_json::to_writer(&mut counted, &*answered).map_err(|_| unwritable())?;
        Ok(Self {
            answered: Some(answered),
            length: counted.bytes(),
        })
    }
}

impl hyper::body::Body for Unwritten {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let Some(answered) = self.answered.take() else {
            return Poll::Ready(None);
        };
        let mut text = Vec::with_capacity(self.length);
        let written = serde_json::to_writer(&mut text, &*answered).map_err(|_| unwritable());
        Poll::Ready(Some(written.map(|()| Frame::data(text.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.answered.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.answered.as_ref().map_or(0, |_| self.length as u64))
    }
}

fn unwritable() -> Failure {
    Failure::defect("the answer cannot be written as JSON")
}

fn arrow(answered: &Answered) -> Result<Vec<u8>, Failure> {
    let batch = answered.answer.to_batch()?;
    let failed =
        |error: arrow_schema::ArrowError| Failure::incident("the answer cannot be written as Arrow", &error);
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(failed)?;
    writer.write(&batch).map_err(failed)?;
    writer.into_inner().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_format_that_is_known_is_taken() {
        let accepted = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, text.parse().unwrap());
            Format::accepted(&headers)
        };
        assert_eq!(accepted("text/html, text/csv;q=0.9, */*"), Ok(Format::Csv));
        assert_eq!(accepted("*/*"), Ok(Format::Json));
        assert_eq!(accepted(ARROW), Ok(Format::Arrow));
        assert_eq!(accepted("image/png").unwrap_err().code, Code::BadRequest);
        assert_eq!(Format::accepted(&HeaderMap::new()), Ok(Format::Json));
    }

    /// A client is told the length before the text is there, and then gets the text of this length.
    #[tokio::test]
    async fn an_answer_is_written_when_it_is_asked_for() {
        use hyper::body::Body as _;
        let epsilon = || accounting::Epsilon::parse("1").unwrap();
        let answered = Arc::new(Answered {
            answer: sql::Answer {
                columns: Vec::new(),
                rows: vec![Vec::new(); 3],
                confidence: 0.95,
                bounds: Vec::new(),
                cut: Vec::new(),
                notes: vec!["ε".repeat(40_000)],
                cost: None,
            },
            repeated: true,
            resumed: false,
            left: ledger::Left {
                epsilon: epsilon(),
                dataset: epsilon(),
                share: None,
            },
            receipt: None,
        });
        let expected = answered.to_json().to_string();
        let response = Format::Json.response(Arc::clone(&answered), None).unwrap();
        let length = response.body().size_hint().exact();
        assert_eq!(length, Some(expected.len() as u64));
        // Until then there is nothing but the answer, and then nothing but its text.
        assert_eq!(Arc::strong_count(&answered), 2);
        let text = axum::body::to_bytes(response.into_body(), usize::MAX);
        assert_eq!(text.await.unwrap(), expected);
        assert_eq!(Arc::strong_count(&answered), 1);
    }
}
