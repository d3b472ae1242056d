//! Models: a formula, its price, and the table of coefficients with errors that count the noise.

use super::super::layout::{self, name, problem};
use super::super::session::Signed;
use super::super::{Page, drawn, usual_epsilon};
use super::{may_ask, view};
use crate::failure::{Code, Failure};
use crate::service::Service;
use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use maud::{Markup, html};
use report::{Whisker, grouped, significant};
use serde::Deserialize;
use serde_json::Value;
use sql::{Family, Regressed, RegressionAsked};
use std::sync::Arc;

/// What the form sends.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    formula: String,
    #[serde(default)]
    table: String,
    #[serde(default)]
    family: String,
    #[serde(default, rename = "where")]
    condition: String,
    #[serde(default)]
    epsilon: String,
    /// Which button was pressed.
    #[serde(default)]
    act: String,
}

impl Wanted {
    fn asked(&self) -> RegressionAsked {
        let stated = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        RegressionAsked {
            formula: self.formula.trim().to_owned(),
            table: stated(&self.table),
            family: match self.family.as_str() {
                "logistic" => Family::Logistic,
                "poisson" => Family::Poisson,
                _ => Family::Linear,
            },
            condition: stated(&self.condition),
            epsilon: stated(&self.epsilon),
            ..RegressionAsked::default()
        }
    }
}

pub(super) async fn page(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    may_ask(&signed.0)?;
    let wanted = Wanted {
        epsilon: usual_epsilon(&service)?.to_string(),
        ..Wanted::default()
    };
    Ok(Page::new(whole(&service, &signed, &wanted, &html! {})))
}

/// What a model would cost, or the model.
pub(super) async fn fit(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Wanted>, FormRejection>,
) -> Result<Page, Page> {
    may_ask(&signed.0)?;
    let Form(wanted) =
        body.map_err(|_| Failure::new(Code::BadRequest, "the form cannot be read", "open the page again"))?;
    let asked = wanted.asked();
    let below = match wanted.act.as_str() {
        "fit" => service
            .regress(&signed.0, &asked, None)
            .await
            .map(|regressed| fitted(&regressed)),
        _ => service
            .explain_model(&signed.0, &asked)
            .await
            .map(|(sql, explanation)| {
                html! {
                    p { "It is measured by this query, and by nothing else:" }
                    pre { (report::legal(&sql)) }
                    p class="found" { "It costs " (sql::readable(&explanation.guarantee).to_string()) ". Nothing was spent." }
                }
            }),
    };
    Ok(match below {
        Ok(below) => Page::new(whole(&service, &signed, &wanted, &below)),
        Err(failure) => {
            let page = whole(&service, &signed, &wanted, &problem(&failure));
            Page::with_status(page, Some(&failure))
        }
    })
}

fn whole(service: &Service, signed: &Signed, wanted: &Wanted, below: &Markup) -> Markup {
    let tables = service.dataset().catalog().tables.iter();
    let private = tables.filter(|(_, table)| table.owner != sql::catalog::Owner::Public);
    let families = [
        ("linear", "a number (least squares)"),
        ("logistic", "whether something happens (logistic)"),
        ("poisson", "a count (Poisson)"),
    ];
    let body = html! {
        h1 { "Models" }
        p class="lead" { "Linear, logistic and Poisson models whose standard errors, intervals and p-values count the noise. A model is one query: it is charged once, and the same again is free." }
        form method="post" action="/models" class="request stack" {
            label for="formula" { "Formula, as income ~ age + education" }
            input id="formula" name="formula" value=(report::legal(&wanted.formula)) autocomplete="off" spellcheck="false";
            label for="table" { "Table" }
            select id="table" name="table" {
                @for (table, _) in private { option value=(table) selected[*table == wanted.table] { (report::legal(table)) } }
            }
            label for="family" { "What is explained is" }
            select id="family" name="family" {
                @for (value, words) in families { option value=(value) selected[value == wanted.family] { (words) } }
            }
            label for="where" { "Only rows where (SQL)" }
            input id="where" name="where" value=(report::legal(&wanted.condition)) autocomplete="off";
            label for="epsilon" { "ε" }
            input id="epsilon" name="epsilon" value=(report::legal(&wanted.epsilon)) inputmode="decimal" autocomplete="off";
            div class="buttons" {
                button type="submit" name="act" value="explain" { "Explain" }
                button type="submit" name="act" value="fit" class="primary" { "Fit" }
            }
        }
        (below)
    };
    view(service, signed, "/models").page("Models", body)
}

/// The table of a model.
fn fitted(regressed: &Regressed) -> Markup {
    let told = regressed.to_json();
    let cost = regressed.cost.as_ref();
    let notes = ["notes", "about"].into_iter();
    let notes: Vec<&Value> = notes
        .flat_map(|key| told[key].as_array().into_iter().flatten())
        .collect();
    html! {
        h2 { (name(told["formula"].as_str().unwrap_or_default())) }
        @if let Some(cost) = cost {
            p class="found" {
                @if regressed.repeated { "Free: this was measured before, for " } @else { "Charged: " }
                (sql::readable(&cost.guarantee).to_string()) " (charge "
                a href={ "/answers/" (cost.charge) } { (cost.charge) } "). Left: ε = " (regressed.left.epsilon) " (if spent in one more question)."
            }
        }
        (coefficients(&told["coefficients"]))
        p class="quiet" { "A standard error is over samples of rows and over noise. What of it is noise would be all of it if the rows were everybody that you want to speak of." }
        dl class="facts" {
            @if let Some(rows) = told["rows"]["value"].as_f64() { div { dt { "Rows" } dd { (grouped(rows.max(0.0).round() as u64)) } } }
            @if let Some(share) = told["r_squared"].as_f64() {
                div { dt { @if told["family"] == "linear" { "R²" } @else { "McFadden’s R²" } } dd { (significant(share, 4)) } }
            }
            @if let Some(error) = told["residual_error"].as_f64() { div { dt { "Residual standard error" } dd { (significant(error, 4)) } } }
        }
        @if let Some(means) = told["means"].as_array().filter(|means| !means.is_empty()) {
            h2 { "Means of the groups" }
            (coefficients(&means.iter().map(|mean| mean["mean"].clone()).collect()))
            h2 { "Differences" }
            (coefficients(&told["contrasts"]))
            p class="quiet" { "p-values of differences are adjusted for how many there are (Holm); intervals are not." }
        }
        @if !notes.is_empty() || told["left_out"].as_array().is_some_and(|names| !names.is_empty()) {
            ul {
                @for left_out in told["left_out"].as_array().into_iter().flatten() {
                    li { "Not estimated, too few rows for this noise: " (name(left_out.as_str().unwrap_or_default())) }
                }
                @for note in &notes { li { (layout::sentence(note.as_str().unwrap_or_default())) } }
            }
        }
        details { summary { "As text, for a paper" } pre { (report::legal(&regressed.to_text())) } @if let Some(latex) = regressed.to_latex() { pre { (report::legal(&latex)) } } }
    }
}

/// Coefficients, means or differences.
fn coefficients(rows: &Value) -> Markup {
    let rows: Vec<&Value> = rows.as_array().into_iter().flatten().collect();
    let of = |row: &Value, key: &str| row[key].as_f64();
    let number = |row: &Value, key: &str, digits| {
        of(row, key).map_or(String::new(), |value| significant(value, digits))
    };
    // The intercept stands first, and is often far from the others.
    let slopes = rows.iter().copied().filter(|row| row["name"] != "(Intercept)");
    let (mut low, mut high) = (0.0_f64, 0.0_f64);
    for row in slopes {
        low = low.min(of(row, "low").unwrap_or(0.0));
        high = high.max(of(row, "high").unwrap_or(0.0));
    }
    let bar = |row: &Value| -> Option<String> {
        let (value, ends) = (of(row, "estimate")?, (of(row, "low")?, of(row, "high")?));
        let inside = low < high && low <= ends.0 && ends.1 <= high;
        inside.then(|| report::bar(value, Some(Whisker::of(ends)), (low, high), 0))
    };
    let shown = html! {
        @for row in rows.iter().copied() {
            tr {
                th scope="row" { (name(row["name"].as_str().unwrap_or_default())) }
                td class="number" { (number(row, "estimate", 5)) }
                td class="number" { (number(row, "error", 3)) }
                td class="number" { (number(row, "noise_error", 3)) }
                td class="number" { (number(row, "statistic", 3)) }
                td class="number" { (number(row, "p", 3)) }
                td class="number interval" { (number(row, "low", 4)) " to " (number(row, "high", 4)) }
                td class="drawing" { @if let Some(bar) = bar(row) { (drawn(bar)) } }
            }
        }
    };
    layout::table(
        &[
            "",
            "estimate",
            "std. error",
            "of it noise",
            "statistic",
            "p",
            "95 % interval",
            "",
        ],
        shown,
    )
}
