//! What was spent: over time, by analyst and by query; and whether the record of it is whole.

use super::super::layout::{self, moment, name, problem};
use super::super::session::Signed;
use super::super::{LEFT_FALLS_BY_LESS, Page, drawn, so_many, usual_epsilon};
use super::{allow, view};
use crate::accounts::{self, Account, Right};
use crate::failure::{Code, Failure};
use crate::service::Service;
use accounting::{Epsilon, Event, Promise};
use axum::extract::State;
use ledger::{Entry, Head, MOST_TYPICAL, More, Used, Verified};
use maud::{Markup, html};
use report::{Figure, Scale, grouped};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Questions that are listed, the newest.
const MOST: usize = 100;
/// Analysts for whom the page counts what is left.
const MOST_LEFT: usize = 100;
const HOUR: f64 = 60.0 * 60.0 * 1000.0;

/// What the page is made of, read at one moment.
struct Spending {
    charges: Vec<Entry>,
    accounts: Vec<Account>,
    refused: u64,
    incidents: u64,
    head: Head,
    limit: Promise,
    used: Used,
    left: Epsilon,
    /// The ε of a typical question, and how many more of them fit.
    usual: Epsilon,
    more: More,
    /// Analysts who spent something or have a share, and what they may spend.
    analysts: BTreeMap<String, Option<Left>>,
}

/// What an analyst may spend.
struct Left {
    epsilon: Epsilon,
    more: More,
}

pub(super) async fn page(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    if !signed.0.may(Right::ReadLedger) {
        allow(&service, &signed, Right::ReadCounters)?;
        return Ok(Page::new(counters(&service, &signed)));
    }
    Ok(Page::new(whole(&service, &signed, None).await?))
}

/// Recomputes every hash and every sum, and says so on the same page.
pub(super) async fn verify(State(service): State<Arc<Service>>, signed: Signed) -> Result<Page, Page> {
    allow(&service, &signed, Right::ReadLedger)?;
    let verified = service.on_ledger(|store| Ok(store.verify())).await?;
    let verified = verified.map_err(|error| {
        let words = error.to_string();
        let (what, hint) = words.split_once("\nhint: ").unwrap_or((&words, ""));
        Failure::new(Code::Incident, what, hint)
    });
    let page = whole(&service, &signed, Some(verified.as_ref())).await?;
    Ok(Page::with_status(page, verified.as_ref().err()))
}

async fn whole(
    service: &Service,
    signed: &Signed,
    verified: Option<Result<&Verified, &Failure>>,
) -> Result<Markup, Failure> {
    service.allow(&signed.0, Right::ReadLedger)?;
    let usual = usual_epsilon(service)?;
    let spending = service
        .on_ledger(move |store| {
            let logged = store.logged()?;
            let count = |what: &str| {
                let of_kind = logged.iter().filter(|logged| logged.entry.what == what);
                of_kind.map(|logged| logged.entry.times).sum::<u64>()
            };
            let charges = store.charges()?;
            let accounts = accounts::list(store)?;
            let question = Event::Pure {
                epsilon: usual.clone(),
            };
            let spenders = charges.iter().map(|charge| charge.analyst.clone());
            let sharing = accounts.iter().filter(|account| account.share.is_some());
            let names: BTreeSet<String> = spenders
                .chain(sharing.map(|account| account.name.clone()))
                .collect();
            let mut analysts = BTreeMap::new();
            for (place, name) in names.into_iter().enumerate() {
                let left = match place < MOST_LEFT {
                    true => Some(Left {
                        epsilon: store.left(&name)?.epsilon,
                        more: store.more(&name, &question, MOST_TYPICAL)?,
                    }),
                    false => None,
                };
                analysts.insert(name, left);
            }
            Ok(Spending {
                analysts,
                used: store.used()?,
                more: store.more_for_all(&question, MOST_TYPICAL)?,
                usual,
                refused: count("refused"),
                incidents: count("incident"),
                charges,
                accounts,
                head: store.head()?,
                left: store.left_for_all()?,
                limit: store.rules().budget.limit().clone(),
            })
        })
        .await?;
    let body = html! {
        h1 { "Budget" }
        (facts(&spending))
        (chain(&spending.head, verified))
        @if spending.charges.is_empty() {
            p { "Nothing was asked yet. Give somebody an account with " code { "deniable user add NAME --role analyst" } " on the machine, and the address of the analysts' pages: what they ask appears here." }
        } @else {
            (layout::figure(&over_time(&spending)))
        }
        @if !spending.analysts.is_empty() {
            h2 { "By analyst" }
            (by_analyst(&spending))
        }
        @if !spending.charges.is_empty() {
            h2 { "By question" }
            (by_question(&spending.charges))
        }
    };
    Ok(view(service, signed, "/").page("Budget", body))
}

fn facts(spending: &Spending) -> Markup {
    html! {
        dl class="facts" {
            div { dt { "Budget" } dd { (sql::cost_of(&spending.limit)) } }
            div { dt { "Spent" } dd { @match &spending.used.promise { Some(used) => (sql::cost_of(used)), None => "more than the budget" } } }
            div { dt { "Left" } dd { "ε = " (spending.left) } }
            div { dt { "Questions at ε = " (spending.usual) " that fit" } dd { (so_many(spending.more)) } }
            div { dt { "Questions paid for" } dd { (grouped(spending.charges.len() as u64)) } }
            div { dt { "Refused for the budget" } dd { a href="/log?show=refused" { (grouped(spending.refused)) } } }
            div { dt { "Incidents" } dd { a href="/log?show=incident" { (grouped(spending.incidents)) } } }
        }
        p class="quiet" { "“Spent” is what the ledger enforces. “Left” is the largest ε that one more question may take. " (LEFT_FALLS_BY_LESS) }
    }
}

fn chain(head: &Head, verified: Option<Result<&Verified, &Failure>>) -> Markup {
    html! {
        section {
            h2 { "The ledger" }
            @match verified {
                Some(Ok(verified)) => p class="good" role="status" {
                    "Verified: " (grouped(verified.entries)) " entries, " (grouped(verified.charges)) " charges, every hash and every sum recomputed. Head " (verified.head.number) "."
                },
                Some(Err(failure)) => (problem(failure)),
                None => {},
            }
            p { "Its head is entry " (head.number) ": " span class="hash" { (head.hash) } ". Note it elsewhere: who has an older head can tell whether anything before it was changed." }
            div class="actions" {
                form method="post" action="/verify" { button type="submit" { "Verify the ledger" } }
            }
        }
    }
}

/// The ε of a charge; charges in ρ are in the table and not in the sum.
fn epsilon(charge: &Entry) -> f64 {
    ledger::epsilon_of(charge.guarantee.promise()).map_or(0.0, Epsilon::to_f64_up)
}

fn over_time(spending: &Spending) -> Figure {
    let now = accounts::now();
    let oldest = spending.charges.first().map_or(now, |charge| charge.time);
    let (unit, label) = match (now - oldest) as f64 / HOUR {
        hours if hours < 2.0 => (HOUR / 60.0, "minutes, up to now"),
        hours if hours < 72.0 => (HOUR, "hours, up to now"),
        _ => (24.0 * HOUR, "days, up to now"),
    };
    let at = |time: i64| (time - now) as f64 / unit;
    let mut points = vec![(at(oldest), 0.0)];
    let mut sum = 0.0;
    for charge in &spending.charges {
        points.push((at(charge.time), sum));
        sum += epsilon(charge);
        points.push((at(charge.time), sum));
    }
    points.push((0.0, sum));
    let figure = Figure::new("ε of all charges, added up")
        .x_axis(label, Scale::Linear)
        .y_axis("ε", Scale::Linear)
        .line("charged, as a sum", &points);
    match ledger::epsilon_of(&spending.limit) {
        // A limit that is far away would make the line flat.
        Some(limit) if limit.to_f64_up() < 20.0 * sum => figure.horizontal("the budget", limit.to_f64_up()),
        _ => figure,
    }
}

fn by_analyst(spending: &Spending) -> Markup {
    let mut sums: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for charge in &spending.charges {
        let sum = sums.entry(&charge.analyst).or_default();
        sum.0 += 1;
        sum.1 += epsilon(charge);
    }
    let most = sums.values().map(|(_, sum)| *sum).fold(0.0, f64::max);
    let share = |analyst: &str| {
        let account = spending.accounts.iter().find(|account| account.name == analyst);
        account.and_then(|account| account.share.clone())
    };
    let fit = format!("questions at ε = {} that fit", spending.usual);
    let rows = html! {
        @for (analyst, left) in &spending.analysts {
            @let (charges, sum) = sums.get(analyst.as_str()).copied().unwrap_or_default();
            tr {
                th scope="row" { (name(analyst)) }
                td { (share(analyst).unwrap_or_else(|| "—".to_owned())) }
                td class="number" { (grouped(charges)) }
                td class="number" { (report::significant(sum, 4)) }
                td class="number" { @match left { Some(left) => { "ε = " (left.epsilon) }, None => "—" } }
                td class="number" { @match left { Some(left) => (so_many(left.more)), None => "—" } }
                td class="drawing" { (drawn(report::bar(sum, None, (0.0, most), 0))) }
            }
        }
    };
    html! {
        (layout::table(&["analyst", "share", "questions", "spent, as a sum of ε", "left", fit.as_str(), ""], rows))
        @if spending.analysts.len() > MOST_LEFT { p class="quiet" { "What is left is counted for the first " (MOST_LEFT) " of them." } }
    }
}

fn by_question(charges: &[Entry]) -> Markup {
    let rows = html! {
        @for charge in charges.iter().rev().take(MOST) {
            tr {
                td { (charge.number) }
                td { (moment(charge.time)) }
                td { (name(&charge.analyst)) }
                td class="question" { code { (report::legal(&charge.purpose)) } }
                td class="nowrap" { (sql::cost_of(charge.guarantee.promise())) }
                td { @if charge.answered { "answered" } @else { "no answer" } }
            }
        }
    };
    html! {
        (layout::table(&["charge", "when (UTC)", "analyst", "question", "cost", ""], rows))
        @if charges.len() > MOST { p class="quiet" { "The newest " (MOST) " of " (grouped(charges.len() as u64)) "." } }
    }
}

/// What operators see: counters, without times, sizes or names.
fn counters(service: &Service, signed: &Signed) -> Markup {
    let body = html! {
        h1 { "The server is there" }
        pre { (report::legal(&service.metrics().text())) }
    };
    view(service, signed, "/").page("Counters", body)
}
