//! The tables as they are declared, with a few invented rows of each.

use super::super::layout::{self, name};
use super::super::session::Signed;
use super::super::{Page, usual_epsilon};
use super::{may_ask, view};
use crate::service::Service;
use axum::extract::State;
use maud::{Markup, html};
use report::{grouped, legal};
use serde_json::Value;
use sql::Catalog;
use sql::arrow::array::RecordBatch;
use sql::arrow::util::display::{ArrayFormatter, FormatOptions};
use sql::catalog::Owner;
use std::sync::Arc;

/// Invented rows that are shown.
const ROWS: usize = 5;
/// Values of a column that are shown before one asks for all.
const VALUES: usize = 12;

pub(super) async fn page(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    may_ask(&signed.0)?;
    service.check_rate(signed.0.name())?;
    let usual = usual_epsilon(&service)?.to_string();
    let described = service.dataset().tables_as_json();
    let catalog = service.dataset().catalog();
    let none = Vec::new();
    let tables = described["tables"].as_array().unwrap_or(&none);
    let body = html! {
        h1 { "Tables" }
        p class="lead" {
            "Privacy is that of one " (name(&catalog.unit.whose)) ": " (name(described["unit"].as_str().unwrap_or_default())) ". "
            "A question usually takes ε = " (usual) ", and says so itself: nothing is spent unasked."
        }
        @for table in tables { (shown(&service, table, &usual)) }
    };
    Ok(Page::new(view(&service, &signed, "/tables").page("Tables", body)))
}

fn shown(service: &Service, table: &Value, usual: &str) -> Markup {
    let catalog = service.dataset().catalog();
    let none = Vec::new();
    let table_name = table["name"].as_str().unwrap_or_default();
    let columns = table["columns"].as_array().unwrap_or(&none);
    let rows = html! {
        @for column in columns {
            tr {
                th scope="row" { (name(column["name"].as_str().unwrap_or_default())) }
                td { (column["type"].as_str().unwrap_or_default()) }
                td { (known(column)) }
                td { @if column["nullable"] == true { "may be NULL" } @else { "never NULL" } }
            }
        }
    };
    let example = format!("SELECT COUNT(*) AS n FROM {}", identifier(table_name));
    html! {
        section class="declared" id={ "table-" (layout::encoded(table_name)) } {
            h2 { (name(table_name)) " " span class="badge" { @if table["private"] == true { "private" } @else { "public" } } }
            p {
                (owner(catalog, table_name)) " "
                @if table["private"] == true { a href={ "/?sql=" (layout::encoded(&example)) "&epsilon=" (layout::encoded(usual)) } { "Ask about it" } }
            }
            (layout::table(&["column", "type", "declared values", "NULL"], rows))
            @if let Some(rows) = service.dummy_rows(table_name) {
                details {
                    summary { "Dummy rows" }
                    p class="quiet" { "Invented from what is declared, and from nothing else. “Try on dummy rows” in the editor asks " (grouped(sql::sample::DUMMY_UNITS)) " of such " (name(&catalog.unit.whose)) "s." }
                    (dummies(rows))
                }
            }
        }
    }
}

/// A name as SQL needs it.
fn identifier(table: &str) -> String {
    let plain = table
        .chars()
        .all(|character| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_');
    match plain && !table.starts_with(|first: char| first.is_ascii_digit()) {
        true => table.to_owned(),
        false => format!("\"{}\"", table.replace('"', "\"\"")),
    }
}

fn owner(catalog: &Catalog, table_name: &str) -> Markup {
    let whose = &catalog.unit.whose;
    let Some(table) = catalog.table(table_name) else {
        return html! {};
    };
    html! {
        @match &table.owner {
            Owner::Public => "Public: its rows are nobody's, and reading them costs nothing.",
            Owner::EachRow => { "Each row is one " (name(whose)) "." },
            Owner::Column(column) => { "Its rows belong to the " (name(whose)) " in " code { (name(column)) } "." },
            Owner::Through { column, table, key } => {
                "Its rows belong to the " (name(whose)) " of " code { (name(table)) } ", by " code { (name(column)) } " = " code { (name(key)) } "."
            },
        }
        @if let (Some(rows), true) = (table.rows_per_unit, table.owner != Owner::Public) {
            " One " (name(whose)) " has at most " (grouped(rows)) @if rows == 1 { " row." } @else { " rows." }
        }
    }
}

fn known(column: &Value) -> Markup {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(values) = column["values"].as_array() {
        let (first, rest) = values.split_at(values.len().min(VALUES));
        let listed = |values: &[Value]| {
            html! { @for value in values { code class="value" { (name(&text(value))) } " " } }
        };
        return html! {
            (listed(first))
            @if !rest.is_empty() {
                details class="more" { summary { "and " (rest.len()) " more" } (listed(rest)) }
            }
        };
    }
    match column["bounds"].as_array().map(Vec::as_slice) {
        Some([low, high]) => html! { (text(low)) " to " (text(high)) },
        _ if column["type"] == "boolean" => html! { "true or false" },
        _ => html! { span class="quiet" { "not declared" } },
    }
}

fn dummies(rows: &RecordBatch) -> Markup {
    let schema = rows.schema();
    let headings: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    let options = FormatOptions::new().with_null("NULL");
    let columns: Vec<Option<ArrayFormatter<'_>>> = rows
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).ok())
        .collect();
    let shown = html! {
        @for row in 0..rows.num_rows().min(ROWS) {
            tr {
                @for column in &columns {
                    td { @if let Some(column) = column { (name(&column.value(row).to_string())) } }
                }
            }
        }
    };
    html! {
        div class="wide" {
            table {
                thead { tr { @for heading in headings { th scope="col" { (name(heading)) } } } }
                tbody { (shown) }
            }
        }
    }
}

/// Beside the editor: the tables that queries can use.
pub(super) fn aside(catalog: &Catalog) -> Markup {
    html! {
        aside aria-label="tables" class="tables" {
            h2 { "Tables" }
            @for (table_name, table) in &catalog.tables {
                details open[catalog.tables.len() <= 3] {
                    summary { (name(table_name)) @if table.owner == Owner::Public { " " span class="badge" { "public" } } }
                    ul {
                        li { code data-insert=(legal(&identifier(table_name))) { (name(table_name)) } " " span class="quiet" { "table" } }
                        @for (column, facts) in &table.columns {
                            li { code data-insert=(legal(&identifier(column))) { (name(column)) } " " span class="quiet" { (kind(facts.kind)) } }
                        }
                    }
                }
            }
        }
    }
}

fn kind(kind: sql::Kind) -> &'static str {
    match kind {
        sql::Kind::Bool => "boolean",
        sql::Kind::Int => "integer",
        sql::Kind::Float => "float",
        sql::Kind::Text => "text",
        sql::Kind::Date => "date",
        sql::Kind::Timestamp => "timestamp",
    }
}

#[cfg(test)]
mod tests {
    use super::identifier;

    #[test]
    fn names_are_quoted_where_they_must_be() {
        assert_eq!(identifier("people"), "people");
        assert_eq!(identifier("2nd"), "\"2nd\"");
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
    }
}
