//! The card for people: a page without external assets, or a part of one.
//!
//! Everything in it is escaped here; callers give text, never markup.

use crate::Card;
use crate::declared::TableLine;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// As many releases are shown; the JSON card has them all.
const MOST_SHOWN: usize = 100;

/// Text, escaped for elements and attributes, with what no document may hold replaced.
fn said(text: &str) -> PreEscaped<String> {
    PreEscaped(report::escape(text))
}

pub(crate) fn page(card: &Card) -> String {
    let title = format!("Privacy card of {}", card.dataset);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (said(&title)) }
                style { (PreEscaped(PAGE_STYLE)) (PreEscaped(STYLE)) }
            }
            body { main { (fragment(card)) } }
        }
    };
    page.into_string() + "\n"
}

pub(crate) fn fragment(card: &Card) -> Markup {
    html! {
        article class="card" {
            h1 { (said(&format!("Privacy card of {}", card.dataset))) }
            (summary(card))
            (meaning(card))
            (spent(card))
            (released(card))
            (planned(card))
            (declared(card))
            (standing(card))
            section {
                h2 { "Side channels" }
                ul { @for text in &card.side_channels { li { (text) } } }
            }
            (words(card))
            (points(card))
            p class="card-foot" {
                "Made by " (said(&card.made_by)) " from the catalog and the ledger; no data was read. "
                code { "deniable card verify" } " computes every number of the JSON card again."
            }
        }
    }
}

fn summary(card: &Card) -> Markup {
    let rows = [
        ("whose privacy", card.promise.unit.to_string()),
        ("at most, in all", card.promise.limit.in_words()),
        (
            "spent so far",
            match &card.spent.enforced {
                Some(used) => format!("{} in {} charges", used.in_words(), card.spent.charges),
                None => format!(
                    "more than the limit, in {} charges under earlier rules",
                    card.spent.charges
                ),
            },
        ),
        ("counted by", card.spent.counted_by.to_owned()),
    ];
    html! {
        section {
            dl class="card-summary" {
                @for (name, value) in &rows { dt { (name) } dd { (said(value)) } }
                @if let Some(as_of) = &card.as_of {
                    dt { "as of" }
                    dd { "entry " (as_of.entry) " of the ledger, " code { (said(&as_of.hash)) } }
                    dt { "released since" }
                    dd { (said(as_of.published())) }
                }
            }
            @if !card.declared.budget_is_the_ledgers {
                p { "The catalog states another budget than the one that the ledger keeps; the ledger's is enforced, and is the one above." }
            }
        }
    }
}

fn meaning(card: &Card) -> Markup {
    if card.promise.risks.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { "What that means for one " (said(&card.promise.unit.whose)) }
            p { "Whatever is done with all answers together, for ever: something whose probability is on the left for somebody who is not in the data has, for somebody who is, a probability between the other two." }
            (table(&["not in the data", "in it, at least", "in it, at most"], card.promise.risks.iter().map(|risk| {
                vec![risk.without.clone(), risk.at_least.clone(), risk.at_most.clone()]
            })))
        }
    }
}

fn spent(card: &Card) -> Markup {
    let spent = &card.spent;
    let none = || "–".to_owned();
    html! {
        section {
            h2 { "What was spent" }
            p { "The enforced number holds for questions chosen after seeing answers. The others say what the same charges would guarantee had they been fixed in advance, at δ = " (said(&spent.at_delta)) "." }
            (table(&["accountant", "ε"], spent.accountants.iter().map(|line| {
                vec![line.accountant.to_owned(), line.epsilon.clone().unwrap_or_else(none)]
            })))
            @if let Some(rho) = &spent.rho { p { "As zero-concentrated differential privacy: ρ = " (said(rho)) ", beside a δ of " (said(&spent.curves_beside_delta)) "; so are the Rényi divergences." } }
            @if !spent.curve.is_empty() {
                h3 { "Certified curve" }
                (table(&["δ", "ε"], spent.curve.iter().map(|line| vec![line.delta.clone(), line.epsilon.clone()])))
            }
            @if !spent.renyi.is_empty() {
                h3 { "Rényi divergences" }
                (table(&["order", "divergence"], spent.renyi.iter().map(|line| vec![line.order.clone(), line.divergence.clone()])))
            }
        }
    }
}

fn released(card: &Card) -> Markup {
    let left_out = card.releases.len().saturating_sub(MOST_SHOWN);
    html! {
        section {
            h2 { "What was released" }
            @if card.releases.is_empty() { p { "Nothing yet." } } @else {
                (table(&["mechanism", "times", "parameter", "from", "to"], card.mechanisms.iter().map(|ran| {
                    vec![ran.mechanism.to_owned(), ran.times.to_string(), ran.parameter.to_owned(), ran.smallest.clone(), ran.largest.clone()]
                })))
                h3 { "Charges" }
                @if left_out > 0 { p { (left_out) " earlier ones are in the JSON card." } }
                (table(&["entry", "day", "charged", "mechanisms"], card.releases.iter().skip(left_out).map(|release| {
                    let ran: Vec<String> = release.mechanisms.iter().map(|ran| format!("{} × {}", ran.times, ran.mechanism)).collect();
                    let planned = release.planned.iter().map(|name| format!("; planned release {name}"));
                    vec![release.entry.to_string(), release.day.clone(), release.charged.in_words(), ran.join("; ") + &planned.collect::<String>()]
                })))
            }
        }
    }
}

/// The releases that the catalog plans, and the charges that paid for those that were made.
fn planned(card: &Card) -> Markup {
    if card.declared.releases.is_empty() {
        return html! {};
    }
    let paid = |name: &str| {
        let made = card.releases.iter();
        let made = made.filter(|release| release.planned.as_deref() == Some(name));
        let entries: Vec<String> = made.map(|release| release.entry.to_string()).collect();
        match entries.is_empty() {
            true => "not made yet".to_owned(),
            false => format!("entry {}", entries.join(", ")),
        }
    };
    html! {
        section {
            h2 { "Planned releases" }
            p { "Each is many tables from one charge, whose totals agree. What follows from it is free." }
            (table(&["release", "counts rows of", "by", "tables", "price", "made"], card.declared.releases.iter().map(|release| {
                vec![release.name.clone(), release.table.clone(), release.attributes.join(", "), release.tables.to_string(), release.price.clone(), paid(&release.name)]
            })))
        }
    }
}

fn declared(card: &Card) -> Markup {
    let declared = &card.declared;
    let groups = |table: &TableLine, place: usize| match table.columns[place].declared_groups {
        Some(groups) => format!("{groups} by the catalog"),
        None => "only above a noisy threshold".to_owned(),
    };
    html! {
        section {
            h2 { "Tables, bounds and groups" }
            p { "Limits on one " (said(&card.promise.unit.whose)) " where a table states none: " (said(&declared.limits.in_words())) "." }
            @for table_line in &declared.tables {
                h3 { (said(&table_line.name)) }
                p {
                    (said(&table_line.owner)) "."
                    @if let Some(rows) = table_line.rows_per_unit { " At most " (rows) " rows each, by the curator's word." }
                    @if table_line.limits != crate::declared::LimitsLine::default() { " Limits: " (said(&table_line.limits.in_words())) "." }
                }
                @if table_line.public {
                    (table(&["column", "kind"], table_line.columns.iter().map(|column| vec![column.name.clone(), column.kind.clone()])))
                } @else {
                    (table(&["column", "kind", "clamped to", "groups"], (0..table_line.columns.len()).map(|place| {
                        let column = &table_line.columns[place];
                        let bounds = match (&column.low, &column.high) {
                            (Some(low), Some(high)) => format!("{low} to {high}"),
                            _ => "–".to_owned(),
                        };
                        vec![column.name.clone(), column.kind.clone(), bounds, groups(table_line, place)]
                    })))
                }
            }
        }
    }
}

fn standing(card: &Card) -> Markup {
    html! {
        section {
            h2 { "What is enforced, and what is somebody's word" }
            (prose(&["the catalog says", "", "because"], card.declared.statements.iter().map(|line| {
                vec![line.says.clone(), line.how.to_owned(), line.because.to_owned()]
            })))
        }
    }
}

fn words(card: &Card) -> Markup {
    let said_words: Vec<_> = card.asserted.all().collect();
    html! {
        section {
            h2 { "What people said" }
            @if said_words.is_empty() {
                p { "Nothing yet: " code { "deniable card draft" } " writes what is asked." }
            } @else {
                p { "Asserted; nothing of it can be computed." }
                dl {
                    @for (question, answer) in &said_words { dt { (question.asks) } dd { (said(answer)) } }
                }
            }
        }
    }
}

fn points(card: &Card) -> Markup {
    html! {
        section {
            h2 { "NIST SP 800-226, point by point" }
            (prose(&["", "about", "", "answer"], card.nist_sp_800_226.iter().map(|point| {
                vec![point.point.to_string(), point.topic.to_owned(), point.how.to_owned(), point.answer.clone()]
            })))
        }
    }
}

fn table(headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    table_of("card-wide", headings, rows)
}

/// A table whose last column holds sentences, which stay readable in little room.
fn prose(headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    table_of("card-wide card-prose", headings, rows)
}

fn table_of(class: &str, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    html! {
        div class=(class) {
            table {
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody { @for row in rows { tr { @for cell in &row { td { (said(cell)) } } } } }
            }
        }
    }
}

/// The style of a page that holds only a card.
const PAGE_STYLE: &str = "\
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem; }
@media print { main { max-width: none; } }
";

/// The style of the card alone, on any page: it does not affect anything around it.
pub(crate) const STYLE: &str = "\
.card h1 { font-size: 1.7rem; line-height: 1.2; }
.card h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid; padding-bottom: .2rem; }
.card h3 { font-size: 1rem; margin-bottom: .3rem; }
.card dl { display: grid; grid-template-columns: minmax(9rem, 16rem) 1fr; gap: .3rem 1rem; }
.card dt { font-weight: 600; }
.card dd { margin: 0; overflow-wrap: anywhere; }
.card-wide { overflow-x: auto; }
.card table { border-collapse: collapse; width: 100%; }
.card th, .card td { text-align: left; vertical-align: top; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); overflow-wrap: break-word; }
.card-prose td:last-child { min-width: 15rem; }
.card code { overflow-wrap: anywhere; }
.card-foot { margin-top: 2rem; font-size: .9rem; }
@media (max-width: 40rem) { .card dl { grid-template-columns: 1fr; } .card dd { margin-bottom: .5rem; }
  .card-prose thead { display: none; } .card-prose tr, .card-prose td, .card-prose td:last-child { display: block; min-width: 0; padding-right: 0; } .card-prose td { border-bottom: 0; padding: 0; } .card-prose td:not(:last-child) { display: inline; font-weight: 600; padding-right: .4rem; }
  .card-prose tr { border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .5rem 0; } }
";
