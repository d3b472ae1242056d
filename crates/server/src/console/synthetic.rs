//! Synthetic rows as people read them, on the pages of analysts and of curators.

use super::layout::{self, name};
use crate::service::ListedRows;
use maud::{Markup, html};
use report::grouped;

/// Rows that were made, with a link to each where there is a page of it.
pub(super) fn listed(rows: &[ListedRows], linked: bool) -> Markup {
    if rows.is_empty() {
        return html! { p { "There are none yet. A curator makes them." } };
    }
    let shown = html! {
        @for one in rows {
            tr {
                th scope="row" {
                    @if linked { a href={ "/synthetic/" (one.id) } { (name(&one.asked.table)) } } @else { (name(&one.asked.table)) }
                    @if let Some(condition) = &one.asked.condition { " where " code { (name(condition)) } }
                }
                td class="number" { @if let Some(rows) = one.rows { (grouped(rows)) } }
                td {
                    @if one.asked.columns.is_empty() { "all that are declared" }
                    @for (place, column) in one.asked.columns.iter().enumerate() {
                        @if place > 0 { ", " }
                        (name(column))
                    }
                }
                td { (one.guarantee) }
                td class="number" { (one.id) }
                td { (name(&one.by)) }
                td class="nowrap" { (one.time.replace('T', " ").chars().take(16).collect::<String>()) }
            }
        }
    };
    layout::table(
        &["rows of", "rows", "columns", "cost", "charge", "made by", "at"],
        shown,
    )
}
