//! Planned releases as people read them, on the pages of analysts and of curators.

use super::drawn;
use super::layout::{self, name, sentence};
use crate::service::PlannedView;
use maud::{Markup, html};
use report::{grouped, percent, significant};
use sql::{ListedRelease, TableForecast};

/// Tables that a page lists.
pub(super) const MOST_LISTED: usize = 500;
/// Attributes and levels of the heat map: its cells grow with their square.
const MOST_NAMES: usize = 40;
/// Parts of the cost that a page lists.
const MOST_SHARES: usize = 12;

/// The releases that the catalog plans.
pub(super) fn listed(releases: &[ListedRelease]) -> Markup {
    if releases.is_empty() {
        return html! {
            p { "The catalog plans no release. A curator declares one as " code { "[releases.census]" } ": which attributes with which values, and which tables by them are wanted." }
        };
    }
    let rows = html! {
        @for release in releases {
            tr {
                th scope="row" { a href=(address(&release.name)) { (name(&release.name)) } }
                td {
                    (name(&release.table))
                    @if let Some(condition) = &release.condition { " where " code { (name(condition)) } }
                }
                td {
                    @for (place, attribute) in release.attributes.iter().take(MOST_NAMES).enumerate() {
                        @if place > 0 { ", " }
                        (name(&attribute.levels.join(" < ")))
                    }
                    @if release.attributes.len() > MOST_NAMES { ", …" }
                }
                td class="number" { (grouped(release.tables)) }
                td class="number" { (grouped(release.cells)) }
                td class="nowrap" { (release.price) }
                td {
                    @match (&release.problem, release.made_by_charge) {
                        (Some(problem), _) => (sentence(&problem.replace("\nhint: ", "; "))),
                        (None, Some(charge)) => { span class="granted" { "made" } ", charge " (charge) },
                        (None, None) => "not made yet",
                    }
                }
            }
        }
    };
    layout::table(
        &["release", "counts rows of", "by", "tables", "cells", "price", ""],
        rows,
    )
}

/// Where the page of a release is.
pub(super) fn address(release: &str) -> String {
    format!("/releases/{}", layout::encoded(release))
}

/// What a release will be like: its price, the errors of its tables as a heat map and one by one, and where
/// the budget goes.
pub(super) fn plan(view: &PlannedView) -> Markup {
    let plan = &view.explanation;
    let names: usize = plan.levels.iter().map(Vec::len).sum();
    let error = significant(plan.root_mean_squared_error, 4);
    html! {
        dl class="facts" {
            div { dt { "Cost" } dd { (sql::readable(&plan.guarantee).to_string()) } }
            div { dt { "Tables" } dd { (grouped((plan.tables.len() + view.tables_left_out) as u64)) } }
            div { dt { "Cells" } dd { (grouped(plan.cells)) } }
            div { dt { "Error of a cell (root mean square)" } dd { (error) } }
        }
        p {
            "Each " (name(&plan.unit)) " counts with "
            @match plan.rows_per_unit { 1 => "one row.", rows => { "at most " (grouped(rows)) " rows in all cells together, drawn at random." } }
            @if plan.agree { " All tables come from one set of measurements, so their totals agree." }
            @else { " Without a δ each table has noise of its own, and totals do not agree." }
            @if let Some(alone) = plan.root_mean_squared_error_one_by_one {
                " Asked one by one for equal parts of the cost, the error would be " (significant(alone, 4)) ": "
                (significant(alone / plan.root_mean_squared_error, 3)) " times as much."
            }
        }
        @if names > 1 {
            figure class="line" { (drawn(plan.heat_map(MOST_NAMES).to_svg_without_style())) }
            @if names > MOST_NAMES { p class="quiet" { "The first " (MOST_NAMES) " of " (grouped(names as u64)) " attributes and levels." } }
        }
        (errors(&plan.tables, view.tables_left_out))
        h2 { "Where the budget goes" }
        (shares(view))
    }
}

fn errors(tables: &[TableForecast], left_out: usize) -> Markup {
    let rows = html! {
        @for table in tables.iter().take(MOST_LISTED) {
            tr {
                th scope="row" { (name(&table.name)) }
                td class="number" { (grouped(table.cells)) }
                td class="number" { (significant(table.expected_error, 3)) }
                td class="number" { "± " (significant(table.half_width, 3)) }
            }
        }
    };
    let more = tables.len().saturating_sub(MOST_LISTED) + left_out;
    html! {
        (layout::table(&["table", "cells", "expected error of a cell", "95 % interval"], rows))
        @if more > 0 { p class="quiet" { "And " (grouped(more as u64)) " more tables. " code { "deniable tables explain --all" } " lists them." } }
    }
}

fn shares(view: &PlannedView) -> Markup {
    let shares = &view.explanation.shares;
    let rows = html! {
        @for share in shares.iter().take(MOST_SHARES) {
            tr { th scope="row" { (name(&share.measured)) } td class="number" { (percent(share.share)) } }
        }
        @if shares.len() > MOST_SHARES {
            tr {
                th scope="row" { "others" }
                td class="number" { (percent(1.0 - shares.iter().take(MOST_SHARES).map(|share| share.share).sum::<f64>())) }
            }
        }
    };
    layout::table(&["what is measured", "part of the cost"], rows)
}
