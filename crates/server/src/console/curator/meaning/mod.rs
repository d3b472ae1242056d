//! What ε means for this dataset: what the best attacker can know about one person, and what a ledger does
//! about attackers who ask again and again. The attacks are on invented people.

mod attribute;
mod averaging;
mod reconstruction;

use super::super::Page;
use super::super::layout::{self, name};
use super::super::session::Signed;
use super::{allow, view};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use crate::service::Service;
use accounting::{Epsilon, Event, NoiseSupport, Ratio};
use attack::bound::right_guesses;
use attribute::Attribute;
use averaging::{ATTACKERS, Averaged, QUESTIONS};
use axum::Extension;
use axum::extract::State;
use ledger::Rules;
use maud::{Markup, html};
use reconstruction::{PEOPLE, Reconstructed};
use report::{Figure, Scale, grouped, percent};
use std::sync::Arc;
use tokio::sync::Mutex;

/// How sure somebody may be beforehand that a person is in the data.
const BEFORE: [f64; 4] = [0.01, 0.1, 0.5, 0.9];
/// More questions than this are not counted when it is asked how many the budget admits.
const COUNTED: u64 = 1 << 20;

/// The attacks, as long as the server runs: they follow from the catalog, and from the rules that the ledger
/// keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(Arc<Mutex<Option<Made>>>);

#[derive(Debug)]
struct Made {
    rules: Rules,
    attacks: Arc<Attacks>,
}

/// What is attacked.
#[derive(Clone, Debug)]
struct Setting {
    /// What one question takes.
    epsilon: Epsilon,
    /// How many such questions the budget admits when nothing was asked yet.
    admitted: u64,
}

#[derive(Debug)]
struct Attacks {
    averaged: Averaged,
    reconstructed: Reconstructed,
}

impl Kept {
    /// The attacks. The first visitor has them computed, on a thread that may take its time; visitors who
    /// come meanwhile wait for the same result.
    async fn attacks(&self, service: &Arc<Service>, epsilon: &Epsilon) -> Result<Arc<Attacks>, Failure> {
        let (kept, service, epsilon) = (self.clone(), Arc::clone(service), epsilon.clone());
        // In a task of its own, which goes on if nobody waits any more: a visitor who comes and goes has them
        // computed once, and not each time.
        let made = tokio::spawn(async move { kept.made(&service, &epsilon).await });
        made.await
            .map_err(|_| Failure::defect("the attacks cannot be shown"))?
    }

    async fn made(&self, service: &Arc<Service>, epsilon: &Epsilon) -> Result<Arc<Attacks>, Failure> {
        let mut kept = self.0.lock().await;
        let rules = service.on_ledger(|store| Ok(store.rules().clone())).await?;
        if let Some(made) = kept.as_ref()
            // Shares do not count: all analysts together are attacked.
            && (&made.rules.budget, &made.rules.reserve) == (&rules.budget, &rules.reserve)
        {
            return Ok(Arc::clone(&made.attacks));
        }
        let (service, epsilon, of) = (Arc::clone(service), epsilon.clone(), rules.clone());
        let made = tokio::task::spawn_blocking(move || Attacks::new(&service, &of, epsilon));
        let attacks = made
            .await
            .map_err(|_| Failure::defect("the attacks cannot be shown"))??;
        let attacks = Arc::new(attacks);
        *kept = Some(Made {
            rules,
            attacks: Arc::clone(&attacks),
        });
        Ok(attacks)
    }
}

impl Attacks {
    fn new(service: &Service, rules: &Rules, epsilon: Epsilon) -> Result<Self, Failure> {
        let catalog = service.dataset().catalog();
        // What the ledger is charged for a count with this noise.
        let count = Event::Laplace {
            ratio: Ratio::at_least(epsilon.as_rational()),
            on: NoiseSupport::DiscreteScalar { sensitivity: 1 },
        };
        let admitted = rules.admits(&count, COUNTED);
        let admitted = admitted.map_err(|error| Failure::incident("the page cannot be made", &error))?;
        let setting = Setting { epsilon, admitted };
        let rows = |table: &str| service.dummy_rows(table);
        let truth = catalog.tables.keys().find_map(|table| rows(table));
        let truth = truth.map_or(sql::sample::DUMMY_UNITS, |rows| rows.num_rows() as u64);
        Ok(Self {
            averaged: Averaged::new(&setting, truth)?,
            reconstructed: Reconstructed::new(&setting, Attribute::of_dummy(catalog, rows))?,
        })
    }
}

fn failed(error: attack::Error) -> Failure {
    Failure::new(
        Code::Refused,
        error.to_string(),
        "declare the ε of a question in the catalog",
    )
}

pub(super) async fn page(
    State(service): State<Arc<Service>>,
    Extension(kept): Extension<Kept>,
    signed: Signed,
) -> Result<Page, Page> {
    allow(&service, &signed, Right::ReadLedger)?;
    let budget = &service.dataset().catalog().budget;
    let whose = &service.dataset().catalog().unit.whose;
    let (epsilon, delta) = (budget.epsilon.to_f64_up(), budget.delta.to_f64_up());
    let question = budget
        .query_epsilon
        .clone()
        .map_or_else(|| Epsilon::parse("0.1"), Ok);
    let question = question.map_err(|error| Failure::incident("the page cannot be made", &error))?;
    let of_one = question.to_f64_up();
    let attacks = kept.attacks(&service, &question).await?;
    let (averaged, reconstructed) = (&attacks.averaged, &attacks.reconstructed);
    let body = html! {
        h1 { "What ε means" }
        p class="lead" {
            "Everything that this dataset ever answers is ε = " (budget.epsilon) ", δ = " (budget.delta) " for each " (name(whose)) ". One question usually takes ε = " (question) "."
        }
        h2 { "The best attacker" }
        p {
            "Somebody knows everybody else in the data, and everything about one " (name(whose)) ". A coin was thrown whether to put that " (name(whose)) " in. "
            "Whatever they do with the answers, and however much they compute, they are right at most this often:"
        }
        dl class="facts" {
            div { dt { "without any answer" } dd { "50 %" } }
            div { dt { "after one question" } dd { (percent(right_guesses(of_one, 0.0))) } }
            div { dt { "after the whole budget" } dd { (certain(right_guesses(epsilon, delta))) } }
        }
        (layout::figure(&accuracy(of_one, epsilon, delta)))
        p class="quiet" { "The best accuracy is (e" sup { "ε" } " + δ)/(1 + e" sup { "ε" } "), and no test does better. It is a bound for the worst case; an actual attacker knows far less." }
        h2 { "What somebody may come to believe" }
        p { "How sure they can be that a certain " (name(whose)) " is in the data, at most, by how sure they were before (and, with a probability of up to δ, more):" }
        (believed(of_one, epsilon))
        h2 { "Asking again and again" }
        p {
            "A count of " (grouped(averaged.truth)) " invented rows, asked for " (QUESTIONS) " times at ε = " (question) ", by " (ATTACKERS) " attackers who average the answers. "
            "Without a ledger the noise averages out. With one, the same question gets the same answer, and the same question in other words is charged until nothing is left."
        }
        (layout::figure(&averaged.figure()))
        (layout::table(&["", "answers with new noise", "refused", "mean error at the end"], averaged.table()))
        h2 { "Asking about everybody at once" }
        p {
            "An attacker wants to know of each of " (PEOPLE) " invented people " (reconstructed.attribute.words) ", and asks for how many of a random half of them it is so, "
            (grouped(reconstructed.most() as u64)) " times at ε = " (question) ". The answers are equations with errors, which linear programming and least squares solve. Shown is the mean of " (reconstructed.groups) " such attacks, each on other people."
        }
        (layout::figure(&reconstructed.figure()))
        p { (reconstructed.verdict()) }
        (layout::table(&["", "answered", "refused", "people found right at the end"], html! {
            @for (words, answered, refused, share) in reconstructed.ends() {
                tr {
                    th scope="row" { (words) }
                    td { (grouped(answered as u64)) }
                    td { (grouped(refused as u64)) }
                    td { (percent(share)) }
                }
            }
        }))
    };
    Ok(Page::new(
        view(&service, &signed, "/meaning").page("What ε means", body),
    ))
}

/// A share that is close to one is not rounded to certainty.
fn certain(share: f64) -> String {
    match share {
        share if share > 0.9995 && share < 1.0 => "more than 99.9 %".to_owned(),
        share => percent(share),
    }
}

fn accuracy(question: f64, budget: f64, delta: f64) -> Figure {
    let most = (budget * 1.5).max(2.0);
    let points: Vec<(f64, f64)> = (0..=120)
        .map(|step| most * f64::from(step) / 120.0)
        .map(|epsilon| (epsilon, 100.0 * right_guesses(epsilon, delta)))
        .collect();
    Figure::new("How often the best attacker is right about one person")
        .x_axis("ε", Scale::Linear)
        .y_axis("right guesses, %", Scale::Linear)
        .y_at_most(100.0)
        .line("at most", &points)
        .vertical("one question", question)
        .vertical("the whole budget", budget)
}

/// Bayes: the odds grow by e^ε at most.
fn posterior(before: f64, epsilon: f64) -> f64 {
    // Written so that a large ε gives 1 and not ∞/∞.
    before / (before + (1.0 - before) * (-epsilon).exp())
}

fn believed(question: f64, budget: f64) -> Markup {
    layout::table(
        &["before", "after one question", "after the whole budget"],
        html! {
            @for before in BEFORE {
                tr {
                    th scope="row" { (percent(before)) }
                    td { (certain(posterior(before, question))) }
                    td { (certain(posterior(before, budget))) }
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beliefs_move_by_the_odds() {
        assert!((posterior(0.5, 3f64.ln()) - 0.75).abs() < 1e-12);
        assert_eq!(posterior(0.1, 0.0), 0.1);
        assert_eq!(posterior(0.5, 1e6), 1.0);
        assert_eq!(certain(0.99999), "more than 99.9 %");
    }
}
