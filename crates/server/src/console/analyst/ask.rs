//! The editor: writes a query, shows its price meanwhile, and asks it.

use super::super::layout::{self, problem};
use super::super::session::Signed;
use super::super::{Fragment, Page, see_other, so_many, usual_epsilon};
use super::{may_ask, price, requests, result, tables, view};
use crate::failure::{Code, Failure};
use crate::secrets;
use crate::service::{BudgetView, Explained, Precision, Question, Service};
use accounting::{Epsilon, Event};
use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use ledger::{MOST_TYPICAL, More};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// What the editor sends, and what an address may fill it with.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Draft {
    #[serde(default)]
    sql: String,
    #[serde(default)]
    epsilon: String,
    /// The error that is wanted, in place of an ε.
    #[serde(default)]
    error: String,
    /// An ε that a button offers.
    #[serde(default, rename = "use")]
    chosen: String,
    /// Random, from the page: the same question sent from it twice is one request.
    #[serde(default)]
    key: String,
}

impl Draft {
    /// With what a button chose in its place.
    fn settled(mut self) -> Self {
        if !self.chosen.is_empty() {
            self.epsilon = std::mem::take(&mut self.chosen);
            self.error.clear();
        }
        self
    }

    fn question(&self) -> Question {
        let epsilon = self.epsilon.trim();
        Question {
            epsilon: (!epsilon.is_empty()).then(|| epsilon.to_owned()),
            // Browsers send line breaks as two characters, psql as one.
            ..Question::new(self.sql.replace("\r\n", "\n"))
        }
    }

    fn precision(&self) -> Precision {
        let error = self.error.trim();
        Precision {
            error: (!error.is_empty()).then(|| error.to_owned()),
            group_size: None,
            verify: true,
        }
    }

    /// Another question from the same page is another request.
    fn idempotency_key(&self) -> String {
        let words = serde_json::to_string(&self.question()).expect("a question is plain data");
        format!("page-{}", secrets::fingerprint(&format!("{}\n{words}", self.key)))
    }

    /// With the ε that its wanted error takes, once that is known.
    fn with_found(mut self, explained: &Result<Explained, Failure>) -> Self {
        if let Ok(Explained {
            epsilon: Some(epsilon),
            ..
        }) = explained
        {
            self.epsilon = epsilon.to_string();
        }
        self
    }
}

/// What a page shows under the editor.
enum Below<'a> {
    Nothing,
    Price(Result<&'a Explained, &'a Failure>),
    /// The same after *Ask* was pressed with a wanted error.
    Found(Result<&'a Explained, &'a Failure>),
    Refused(&'a Failure),
    Result(Markup),
}

/// The editor, filled from the address if that says something.
pub(super) async fn editor(
    State(service): State<Arc<Service>>,
    signed: Signed,
    Query(draft): Query<Draft>,
) -> Result<Page, Page> {
    may_ask(&signed.0)?;
    if draft.sql.trim().is_empty() {
        let draft = Draft {
            epsilon: match draft.epsilon.as_str() {
                "" => usual_epsilon(&service)?.to_string(),
                _ => draft.epsilon,
            },
            ..Draft::default()
        };
        return Ok(Page::new(whole(&service, &signed, &draft, Below::Nothing).await?));
    }
    let explained = explain(&service, &signed, &draft).await;
    let below = Below::Price(explained.as_ref());
    Ok(Page::new(whole(&service, &signed, &draft, below).await?))
}

/// The price of what is written: a part of the page for the script, and a page otherwise.
pub(super) async fn price(
    State(service): State<Arc<Service>>,
    signed: Signed,
    Fragment(fragment): Fragment,
    body: Result<Form<Draft>, FormRejection>,
) -> Result<Page, Page> {
    let draft = taken(body)?;
    if draft.sql.trim().is_empty() {
        return Ok(match fragment {
            true => Page::new(price::nothing()),
            false => Page::new(whole(&service, &signed, &draft, Below::Nothing).await?),
        });
    }
    let explained = explain(&service, &signed, &draft).await;
    if fragment {
        let shown = price::shown(&draft.question(), explained.as_ref());
        return Ok(Page::new(shown));
    }
    let draft = draft.with_found(&explained);
    let below = Below::Price(explained.as_ref());
    let failure = explained.as_ref().err();
    Ok(Page::with_status(
        whole(&service, &signed, &draft, below).await?,
        failure,
    ))
}

/// The answer of invented rows.
pub(super) async fn tried(
    State(service): State<Arc<Service>>,
    signed: Signed,
    Fragment(fragment): Fragment,
    body: Result<Form<Draft>, FormRejection>,
) -> Result<Page, Page> {
    let draft = taken(body)?;
    let question = draft.question();
    let tried = service.try_on_dummy(&signed.0, &question).await;
    let shown = match &tried {
        Ok(answered) => html! {
            section class="dummy" aria-label="tried on dummy rows" {
                p class="banner" { strong { "Invented rows." } " This is what the answer looks like, on rows made up from the declared columns alone. It cost nothing, and says nothing of anybody." }
                (result::shown(&answered.answer))
            }
        },
        Err(failure) => price::shown(&question, Err(failure)),
    };
    let failure = tried.as_ref().err();
    if fragment {
        return Ok(Page::with_status(shown, failure));
    }
    let page = whole(&service, &signed, &draft, Below::Result(shown)).await?;
    Ok(Page::with_status(page, failure))
}

/// Asks: charged once, however often the form is sent, and then shown at its own address.
pub(super) async fn ask(
    State(service): State<Arc<Service>>,
    signed: Signed,
    body: Result<Form<Draft>, FormRejection>,
) -> Result<Response, Page> {
    let draft = taken(body)?;
    if !draft.error.trim().is_empty() {
        // Nobody pays an ε that they have not seen.
        let explained = explain(&service, &signed, &draft).await;
        let mut draft = draft.with_found(&explained);
        if explained.is_ok() {
            draft.error.clear();
        }
        let below = Below::Found(explained.as_ref());
        let page = whole(&service, &signed, &draft, below).await?;
        return Ok(Page::with_status(page, explained.as_ref().err()).into_response());
    }
    let question = draft.question();
    let key = draft.idempotency_key();
    match service.ask_noted(&signed.0, &question, Some(&key)).await {
        Ok(answered) => match &answered.answer.cost {
            Some(cost) => Ok(see_other(&format!("/answers/{}", cost.charge))),
            // What the catalog says of its tables has no number.
            None => {
                let below = Below::Result(result::shown(&answered.answer));
                Ok(Page::new(whole(&service, &signed, &draft, below).await?).into_response())
            }
        },
        Err(mut failure) => {
            if failure.fits.is_some() {
                // The hint is in words of the command line; the button below it does the same here.
                failure.hint = "a smaller ε fits, with a larger error; nothing was charged".to_owned();
            }
            let page = whole(&service, &signed, &draft, Below::Refused(&failure)).await?;
            Ok(Page::with_status(page, Some(&failure)).into_response())
        }
    }
}

fn taken(body: Result<Form<Draft>, FormRejection>) -> Result<Draft, Page> {
    match body {
        Ok(Form(draft)) => Ok(draft.settled()),
        Err(_) => Err(Page::failure(Failure::new(
            Code::BadRequest,
            "the form cannot be read",
            "open the page again",
        ))),
    }
}

async fn explain(service: &Service, Signed(who): &Signed, draft: &Draft) -> Result<Explained, Failure> {
    service.explain(who, &draft.question(), &draft.precision()).await
}

async fn whole(
    service: &Service,
    signed: &Signed,
    draft: &Draft,
    below: Below<'_>,
) -> Result<Markup, Failure> {
    let budget = service.budget(&signed.0).await?;
    let usual = Usual::of(service, signed).await?;
    let key = secrets::random::<16>().map_err(|error| Failure::incident("no page can be made", &error))?;
    let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let body = html! {
        h1 class="unseen" { "Ask a question" }
        div class="columns" {
            form method="post" action="/ask" class="editor" data-live="/price" data-into="price" {
                (left(&budget, &usual))
                input type="hidden" name="key" value=(key);
                label for="sql" { "Your question, in SQL" }
                div class="editing" {
                    textarea id="sql" name="sql" rows="7" spellcheck="false" autocapitalize="none" autocomplete="off" data-editor required
                        placeholder="SELECT region, COUNT(*) AS people FROM people GROUP BY region" autofocus { "\n" (report::legal(&draft.sql)) }
                }
                div class="controls" {
                    div {
                        label for="epsilon" { "ε: what it may reveal of a " (layout::name(&service.dataset().catalog().unit.whose)) }
                        div class="joined" {
                            input id="epsilon" name="epsilon" inputmode="decimal" autocomplete="off" value=(report::legal(&draft.epsilon));
                            input type="range" min="0" max="100" step="1" data-slider="epsilon" data-least="0.001" data-most=(most(&budget)) aria-label="ε, as a slider" hidden;
                        }
                    }
                    div {
                        label for="error" { "or the error that you can live with, in place of ε" }
                        input id="error" name="error" autocomplete="off" placeholder="50, or 2%" value=(report::legal(&draft.error));
                    }
                }
                div class="buttons" {
                    // The first one is what Enter does: it costs nothing.
                    button type="submit" formaction="/price" { "See the price" }
                    button type="submit" formaction="/try" data-into="price" { "Try on dummy rows" }
                    button type="submit" class="primary" data-shortcut="sql" { "Ask" }
                }
                div id="price" class="below" aria-live="polite" {
                    @match below {
                        Below::Nothing => (price::nothing()),
                        Below::Price(explained) => (price::shown(&draft.question(), explained)),
                        Below::Found(explained) => {
                            @if explained.is_ok() { p class="banner" role="status" { strong { "Not asked yet. " } "The ε for the error that you want is in its field now, and “Ask” spends it." } }
                            (price::shown(&draft.question(), explained))
                        }
                        Below::Refused(failure) => {
                            (problem(failure))
                            @if let Some(words) = super::words::marked(&draft.question().sql, failure) { (words) }
                            @if matches!(failure.code, Code::OverBudget | Code::NoShare) { (requests::offered()) }
                            @if let Some(fits) = &failure.fits {
                                p { "With ε = " (fits) " it fits. "
                                    button type="submit" formaction="/price" name="use" value=(fits) data-fill="epsilon" data-clear="error" { "Use it" } }
                            }
                        }
                        Below::Result(result) => (result),
                    }
                }
            }
            (tables::aside(service.dataset().catalog()))
        }
    };
    Ok(view(service, signed, "/").page("Ask", body))
}

/// How many questions at the usual ε somebody may ask.
pub(super) struct Usual {
    epsilon: Epsilon,
    more: More,
}

impl Usual {
    pub(super) async fn of(service: &Service, Signed(who): &Signed) -> Result<Self, Failure> {
        let epsilon = usual_epsilon(service)?;
        let event = Event::Pure {
            epsilon: epsilon.clone(),
        };
        let name = who.name().to_owned();
        let more = service
            .on_ledger(move |store| Ok(store.more(&name, &event, MOST_TYPICAL)?))
            .await?;
        Ok(Self { epsilon, more })
    }
}

/// What is left of one's share, and what that is in questions.
pub(super) fn left(budget: &BudgetView, usual: &Usual) -> Markup {
    html! {
        p class="left" {
            "Left: " strong { "ε = " (budget.left) }
            " · " @if usual.more.count == 0 { "no more questions" } @else { (so_many(usual.more)) " more questions" }
            " at ε = " (usual.epsilon)
            @if let Some(share) = &budget.share { " · your share is " (share) " of the budget" }
            @if let Some(most) = &budget.per_question { " · at most " (most) " a question" }
            @if let Some(most) = &budget.per_day { " · at most " (most) " a day" }
        }
    }
}

/// The largest ε of the slider: what may be spent, and no more than anybody sensibly asks with.
fn most(budget: &BudgetView) -> String {
    let mut most = budget.left.to_f64_up().min(10.0);
    if let Some(cap) = &budget.per_question {
        most = most.min(cap.to_f64_up());
    }
    most.max(0.01).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_sent_twice_is_one_request_and_another_question_is_another() {
        let draft = |sql: &str, key: &str| Draft {
            sql: sql.to_owned(),
            key: key.to_owned(),
            ..Draft::default()
        };
        let key = draft("SELECT 1", "a").idempotency_key();
        assert_eq!(draft("SELECT 1", "a").idempotency_key(), key);
        assert_ne!(draft("SELECT 2", "a").idempotency_key(), key);
        assert_ne!(draft("SELECT 1", "b").idempotency_key(), key);
        assert!(key.len() <= 255);
    }

    #[test]
    fn what_a_button_offers_replaces_what_was_written() {
        let draft = Draft {
            epsilon: "1".to_owned(),
            error: "2%".to_owned(),
            chosen: "0.25".to_owned(),
            ..Draft::default()
        };
        let settled = draft.settled();
        assert_eq!((settled.epsilon.as_str(), settled.error.as_str()), ("0.25", ""));
    }
}
