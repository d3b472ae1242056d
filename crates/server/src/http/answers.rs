//! An answer as JSON, CSV or Arrow, whichever the client accepts.

use crate::failure::{Code, Failure};
use arrow_ipc::writer::StreamWriter;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use sql::Answered;

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
    pub(super) fn response(self, answered: &Answered, charge: Option<u64>) -> Result<Response, Failure> {
        let mut response = match self {
            Self::Json => ([(header::CONTENT_TYPE, JSON)], answered.to_json().to_string()).into_response(),
            Self::Csv => (
                [(header::CONTENT_TYPE, "text/csv; charset=utf-8; header=present")],
                answered.answer.to_csv(),
            )
                .into_response(),
            Self::Arrow => ([(header::CONTENT_TYPE, ARROW)], arrow(answered)?).into_response(),
        };
        if let Some(charge) = charge.filter(|_| answered.receipt.is_some()) {
            let link = format!("</v1/answers/{charge}/receipt>; rel=\"describedby\"");
            if let Ok(link) = HeaderValue::from_str(&link) {
                response.headers_mut().insert(header::LINK, link);
            }
        }
        Ok(response)
    }
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
}
