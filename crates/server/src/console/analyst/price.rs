//! The cost of a query and the precision of its answer, while the query is written.

use super::super::layout::{name, problem, sentence};
use super::super::{LEFT_FALLS_BY_LESS, so_many};
use super::requests;
use super::words::marked;
use crate::failure::Failure;
use crate::service::{Explained, Question};
use ledger::More;
use maud::{Markup, html};
use report::{grouped, significant};
use sql::{Forecast, IntervalOf, Judgement, OutputLine, Part, VerifiedPlan};

/// The part of the editor that changes while one types.
pub(super) fn shown(question: &Question, explained: Result<&Explained, &Failure>) -> Markup {
    match explained {
        Err(failure) => html! {
            (problem(failure))
            @if let Some(words) = marked(&question.sql, failure) { (words) }
        },
        Ok(explained) => price(explained),
    }
}

/// The text shown before anything is written.
pub(super) fn nothing() -> Markup {
    html! { p class="quiet" { "The price and the expected error of your question appear here. Looking at them is free." } }
}

fn price(explained: &Explained) -> Markup {
    let Explained {
        explanation,
        forecast,
        ..
    } = explained;
    let outputs: Vec<&OutputLine> = explanation.parts.iter().flat_map(|part| &part.outputs).collect();
    let any_cut = outputs.iter().any(|output| output.half_width_if_cut.is_some());
    html! {
        @if let Some(epsilon) = &explained.epsilon {
            p class="found" {
                "The error that you want takes ε = " strong { (epsilon) } ". "
                // An analyst who wrote an error has an ε in the other field too: the button says which of
                // them it spends.
                button type="submit" formaction="/ask" name="use" value=(epsilon) class="primary" { "Ask for ε = " (epsilon) }
                " "
                button type="submit" formaction="/price" name="use" value=(epsilon) data-fill="epsilon" data-clear="error" { "Use it" }
            }
        }
        dl class="price" {
            div { dt { "Cost" } dd { @if forecast.free || forecast.unfinished.is_some() { "nothing" } @else { (forecast.cost) } } }
            @match &forecast.left_after {
                Some(left) => div { dt { "Left after it" } dd { "ε = " (left) } },
                None => div { dt { "Left" } dd { "ε = " (forecast.left) } },
            }
            div { dt { "More like it" } dd { (more(forecast)) } }
        }
        @if forecast.free {
            p class="good" { "The same was answered before: asking it again is free, for everybody." }
        } @else if let Some(charge) = forecast.unfinished {
            p class="good" { "You paid for this before (charge " (charge) "), and got no answer. “Ask” finishes it, free." }
        } @else if forecast.more == 0 {
            p class="bad" {
                "It does not fit what is left. "
                @match &forecast.fits {
                    Some(fits) => {
                        "With ε = " (fits) " it does. "
                        button type="submit" formaction="/price" name="use" value=(fits) data-fill="epsilon" data-clear="error" { "Use it" }
                    }
                    None => "With no ε does it fit: ask something that was answered before, or ask for more budget.",
                }
            }
            (requests::offered())
        }
        @for earlier in forecast.answered_for.iter().take(2) {
            p class="good" {
                "It was answered before for ε = " (earlier.epsilon) ": for that, it is free. "
                button type="submit" formaction="/price" name="use" value=(earlier.epsilon) data-fill="epsilon" data-clear="error" { "Use it" }
            }
        }
        @if !outputs.is_empty() {
            div class="wide stacks" {
                table class="errors" {
                    caption { "What the answer will be, in groups of " (grouped(explanation.group_size)) " rows" }
                    thead { tr {
                        th scope="col" { "column" }
                        th scope="col" class="number" { "95 % interval" }
                        th scope="col" class="number" { "expected error" }
                        @if any_cut { th scope="col" class="number" { "interval if limits cut" } }
                    } }
                    tbody {
                        @for output in &outputs {
                            tr {
                                th scope="row" { (name(called(output))) }
                                td class="number" data-label="95 % interval" { (half(output.half_width)) }
                                td class="number" data-label="expected error" title=(output.error_in) { (output.expected_error.map_or_else(|| "depends on the data".to_owned(), |error| significant(error, 3))) }
                                @if any_cut { td class="number" data-label="interval if limits cut" { (half(output.half_width_if_cut)) } }
                            }
                        }
                    }
                }
            }
        }
        @for hint in &explanation.hints { p class="quiet" { (sentence(hint)) } }
        details {
            summary { "How it is understood" }
            p { "“Left” is the largest ε that one more question may take. " (LEFT_FALLS_BY_LESS) }
            p { "What it promises: " (explanation.guarantee) "." }
            @for part in explanation.parts.iter().filter(|part| !part.estimates_cut) { (understood(part)) }
            @for output in &outputs {
                p { (name(called(output))) ": " (about(output.interval_of)) "." }
            }
            @for plan in explained.verified.iter().flat_map(|verified| &verified.plans) { (verified(plan)) }
        }
    }
}

/// Where the rows of a part come from, how they are bounded, and which engine computes the exact numbers, if
/// the catalog names one.
fn understood(part: &Part) -> Markup {
    html! {
        ul {
            @for step in &part.rows { li { (name(step)) } }
            li { (name(&part.bounding)) }
            li { (name(&part.groups)) }
            @if let Some(engine) = &part.engine { li { "exact numbers by: " (name(engine)) } }
        }
    }
}

/// Whose rows each operator of a plan gives, by which rule; and how far one person moves each number, computed twice.
fn verified(plan: &VerifiedPlan) -> Markup {
    html! {
        p { "Whose rows each step gives, derived from the engine's plan by rules that are proved:" }
        ul { (derived(&plan.tree)) }
        table {
            thead { tr {
                th scope="col" { "one person moves" }
                th scope="col" class="number" { "by at most (ℓ₁)" }
                th scope="col" class="number" { "as the plan enforces" }
            } }
            tbody {
                @for number in &plan.numbers {
                    tr {
                        th scope="row" { (name(&number.name)) }
                        td class="number" data-label="by at most (ℓ₁)" { (significant(number.priced.l1, 3)) }
                        td class="number" data-label="as the plan enforces" { (significant(number.verified.l1, 3)) }
                    }
                }
            }
        }
    }
}

fn derived(node: &Judgement) -> Markup {
    html! {
        li {
            (node.operator) ": " (node.says) " (" (node.rule) ")"
            @if !node.inputs.is_empty() { ul { @for input in &node.inputs { (derived(input)) } } }
        }
    }
}

fn half(width: Option<f64>) -> String {
    width.map_or_else(|| "—".to_owned(), |width| format!("± {}", significant(width, 3)))
}

fn more(forecast: &Forecast) -> String {
    match forecast.free {
        true => "any number".to_owned(),
        false => so_many(More {
            count: forecast.more,
            at_least: forecast.at_least,
        }),
    }
}

/// As the question calls it, where its answer shows it as it is.
fn called(output: &OutputLine) -> &str {
    output.shown_as.as_deref().unwrap_or(&output.name)
}

pub(super) fn about(interval: IntervalOf) -> &'static str {
    match interval {
        IntervalOf::WholeData => "the interval is about the data as it is",
        IntervalOf::AllRows => "the interval is about all rows, each value clamped to its bounds",
        IntervalOf::BoundedData => {
            "the interval is about the data within the limits; what they cut is not in it"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::{Delta, Epsilon};

    #[test]
    fn who_computes_is_said_where_the_catalog_names_somebody() {
        let shown = |engine: Option<&str>| {
            let part = Part {
                rows: vec!["visits".to_owned()],
                bounding: "by relational operators".to_owned(),
                groups: "one".to_owned(),
                statistics: Vec::new(),
                outputs: Vec::new(),
                epsilon: Epsilon::parse("1").unwrap(),
                delta: Delta::ZERO,
                plan: String::new(),
                engine: engine.map(str::to_owned),
                estimates_cut: false,
            };
            understood(&part).into_string()
        };
        assert!(!shown(None).contains("exact numbers"));
        let inside = shown(Some("PostgreSQL, inside the database"));
        assert!(
            inside.contains("<li>exact numbers by: <bdi>PostgreSQL, inside the database</bdi></li>"),
            "{inside}"
        );
        // The reason may name a table, which is whatever it likes.
        let fetched = shown(Some(
            "this program, which fetches the rows: table <b> is not in a PostgreSQL database",
        ));
        assert!(
            fetched.contains("fetches the rows: table &lt;b&gt; is not"),
            "{fetched}"
        );
    }
}
