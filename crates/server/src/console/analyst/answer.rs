//! The page of an answer, at its own address: with its receipt, as files, and how to ask it from a program.

use super::super::Page;
use super::super::layout::{self, name, problem};
use super::super::session::Signed;
use super::{elsewhere, receipt, result, view};
use crate::failure::{Code, Failure};
use crate::service::{Saved, Service, unsigned};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use maud::html;
use sql::{Answer, CellValue};
use std::sync::Arc;

/// Characters of a question that are the title of its answer.
const LONGEST_TITLE: usize = 120;
/// What an answer can be taken along as.
const FILES: [(&str, &str); 3] = [("csv", "CSV"), ("json", "JSON"), ("parquet", "Parquet")];

pub(super) async fn page(
    State(service): State<Arc<Service>>,
    signed: Signed,
    headers: HeaderMap,
    charge: Result<Path<u64>, PathRejection>,
) -> Result<Page, Page> {
    let Path(charge) = charge.map_err(|_| nothing())?;
    let saved = match service.saved_question(&signed.0, charge).await.map_err(for_pages) {
        Ok(saved) => saved,
        Err(failure) => {
            let body = html! { h1 { "Not here" } (problem(&failure)) };
            let page = view(&service, &signed, "/answers").page("Not here", body);
            return Ok(Page::with_status(page, Some(&failure)));
        }
    };
    let Saved {
        question,
        answered,
        entry,
    } = &saved;
    let link = again(question.sql.as_str(), question.epsilon.as_deref());
    let title = title(&question.sql);
    let body = html! {
        h1 class="asked" { (name(&title)) }
        @if title != question.sql.trim() { pre class="question" { (report::legal(&question.sql)) } }
        p class="links" {
            "Answer " (charge) " · "
            a href=(link) { "Ask it again, or change it" }
            " · files: "
            @for (place, (format, shown)) in FILES.iter().enumerate() {
                @if place > 0 { ", " }
                a href={ "/answers/" (charge) "/" (format) } download { (shown) }
            }
        }
        (result::shown(&answered.answer))
        @if let Some(cost) = &answered.answer.cost { (receipt::shown(cost, entry.as_deref(), answered.receipt.as_ref())) }
        (elsewhere::shown(&service, &signed.0, &headers, question))
        p class="quiet" {
            "The address of this page stays good for you. For somebody else, send "
            a href=(link) { "the question" }
            ": it is answered already, so asking it is free for everybody with an account."
        }
    };
    Ok(Page::new(view(&service, &signed, "/answers").page(&title, body)))
}

/// A question in one line that is no longer than a title.
fn title(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().collect();
    report::cut(&words.join(" "), LONGEST_TITLE)
}

/// The editor with this question in it.
pub(super) fn again(sql: &str, epsilon: Option<&str>) -> String {
    format!(
        "/?sql={}&epsilon={}",
        layout::encoded(sql),
        layout::encoded(epsilon.unwrap_or_default())
    )
}

/// The answer as a file.
pub(super) async fn download(
    State(service): State<Arc<Service>>,
    signed: Signed,
    path: Result<Path<(u64, String)>, PathRejection>,
) -> Result<Response, Page> {
    let Path((charge, format)) = path.map_err(|_| nothing())?;
    let kind = match format.as_str() {
        "csv" => "text/csv; charset=utf-8; header=present",
        "json" => "application/json",
        "parquet" => "application/vnd.apache.parquet",
        "receipt.json" => {
            let answered = service.saved(&signed.0, charge).await.map_err(for_pages)?;
            let receipt = answered.receipt.ok_or_else(unsigned)?;
            return Ok(receipt::file(charge, &receipt));
        }
        _ => return Err(nothing().into()),
    };
    let answered = service.saved(&signed.0, charge).await.map_err(for_pages)?;
    let bytes = match format.as_str() {
        "csv" => guarded(&answered.answer).to_csv(),
        "json" => serde_json::to_vec(&answered)
            .map_err(|_| Failure::defect("the answer cannot be written as JSON"))?,
        _ => {
            let mut bytes = Vec::new();
            answered.answer.write_parquet(&mut bytes).map_err(Failure::from)?;
            bytes
        }
    };
    Ok(attached(&format!("answer-{charge}.{format}"), kind, bytes))
}

/// A file that a browser keeps, and does not show.
pub(super) fn attached(name: &str, kind: &'static str, bytes: Vec<u8>) -> Response {
    let name = format!("attachment; filename=\"{name}\"");
    let name = HeaderValue::from_str(&name).unwrap_or(HeaderValue::from_static("attachment"));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, name),
    ];
    (headers, bytes).into_response()
}

/// For a file that people open in a spreadsheet: a text that would become a formula there begins with an
/// apostrophe.
pub(super) fn guarded(answer: &Answer) -> Answer {
    let guard = |text: &str| {
        let seen = text.trim_start_matches(|character: char| {
            character.is_whitespace()
                || character.is_control()
                || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        });
        let formula = seen.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
        let moved = text.starts_with(['\t', '\r', '\n']);
        match formula || moved {
            true => format!("'{text}"),
            false => text.to_owned(),
        }
    };
    let mut answer = answer.clone();
    for column in &mut answer.columns {
        column.name = guard(&column.name);
    }
    for cell in answer.rows.iter_mut().flatten() {
        if let CellValue::Text(text) = &cell.value {
            cell.value = CellValue::Text(guard(text));
        }
    }
    answer
}

fn nothing() -> Failure {
    Failure::new(
        Code::NotFound,
        "there is nothing at this address",
        "your history lists your answers",
    )
}

/// In words for people at a page.
fn for_pages(failure: Failure) -> Failure {
    match failure.code {
        Code::NotFound => Failure::new(
            Code::NotFound,
            "you have no answer of this number",
            "answers are shown to who asked for them; somebody who sent you this address can send you the question instead, and asking what was answered before is free",
        ),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::{AnswerColumn, Cell, CellKind};

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(title("SELECT 1\n  FROM t\n"), "SELECT 1 FROM t");
        let long = title(&"SELECT é, ".repeat(50));
        assert!(
            long.chars().count() == LONGEST_TITLE && long.ends_with('…'),
            "{long}"
        );
    }

    #[test]
    fn no_text_is_a_formula() {
        let cell = |value: CellValue| Cell {
            value,
            low: None,
            high: None,
        };
        let texts = [
            "=1+1",
            "+1",
            "-1",
            "@x",
            "\t=1",
            " \u{202e}=1",
            "plain",
            "a=b",
            "",
        ];
        let answer = Answer {
            columns: vec![AnswerColumn {
                name: "=HYPERLINK(\"x\")".to_owned(),
                kind: CellKind::Text,
                noisy: false,
                chosen: false,
                no_interval: None,
            }],
            rows: texts
                .iter()
                .map(|text| vec![cell(CellValue::from(*text))])
                .chain([vec![cell(CellValue::Int(-5))]])
                .collect(),
            confidence: 0.95,
            bounds: Vec::new(),
            cut: Vec::new(),
            notes: Vec::new(),
            cost: None,
        };
        let guarded = guarded(&answer);
        assert!(guarded.columns[0].name.starts_with('\''));
        for (place, row) in guarded.rows.iter().enumerate() {
            let expected = place < 6;
            let guarded = row[0].value.as_str().is_some_and(|text| text.starts_with('\''));
            assert_eq!(guarded, expected, "{row:?}");
        }
        assert_eq!(guarded.rows[9][0].value, CellValue::Int(-5));
    }
}
