//! The same attack through private SQL, until the ledger refuses.

use super::{Ledger, Plan, Promise, Row, stream, unusable};
use crate::terminal::{CliError, Interrupt, Progress, explained, fail};
use accounting::{Epsilon, Event, Neighbors, NoiseSupport, Ratio};
use attack::averaging::Reply;
use attack::linear::{Oracle, Queries, Subset, estimate, interrogate, right, rounded, secrets};
use exact::{Rational, ratio};
use experiments::people::People;
use ledger::Store;
use std::fmt::Write as _;

/// The one whose account is used. Accounts share the budget, so more of them would not help.
const ANALYST: &str = "mallory";

/// Private SQL as an oracle of subset queries.
struct Private<'a> {
    people: &'a People,
    store: Store,
    each: Epsilon,
    refused: bool,
}

impl Oracle for Private<'_> {
    type Error = CliError;

    fn answer(&mut self, subset: Subset<'_>) -> Result<Option<f64>, CliError> {
        let mut ids = String::new();
        for person in subset.people() {
            let _ = write!(ids, "{}{person}", if ids.is_empty() { "" } else { ", " });
        }
        if ids.is_empty() {
            // Nobody has the bit, which needs no asking.
            return Ok(Some(0.0));
        }
        let sql = format!("SELECT COUNT(*) FROM people WHERE secret = 1 AND id IN ({ids})");
        match self.people.ask(&mut self.store, ANALYST, &sql, &self.each)? {
            Reply::Fresh(answer) | Reply::Repeated(answer) => Ok(Some(answer)),
            Reply::Refused => {
                self.refused = true;
                Ok(None)
            }
        }
    }
}

/// All budgets, each over all runs with a fresh ledger.
pub(super) fn attack<'p>(plan: &'p Plan, interrupt: &Interrupt) -> Result<Vec<Row<'p>>, CliError> {
    // As many more as it takes to be refused, where the ledger composes better than was foreseen.
    let asked = plan.queries + plan.queries / 4 + 4;
    let progress = Progress::new(
        "asking",
        plan.settings.len() as u64 * plan.runs * plan.queries as u64,
        plan.quiet,
    );
    let mut rows = Vec::new();
    for setting in &plan.settings {
        let Some(promise) = &setting.promise else { continue };
        if !rows.is_empty() && interrupt.was_pressed() {
            break;
        }
        let mut row = Row {
            setting,
            right: vec![0; plan.ways.len()],
            bits: plan.people as u64 * plan.runs,
            ledger: None,
        };
        let (mut answered, mut refused, mut price) = (0, true, Epsilon::ZERO);
        for run in 0..plan.runs {
            progress.label(format!("asking, budget ε = {}", promise.epsilon));
            let mut seeded = stream(plan.seed, run);
            let bits = secrets(plan.people, &mut seeded);
            let queries = Queries::random(plan.people, asked, &mut seeded).map_err(unusable)?;
            let mut people = People::new(&bits, Neighbors::ChangeOne, &promise.epsilon, &promise.delta)?;
            let mut store = people.fresh_ledger()?;
            let each = affordable(&mut store, promise, plan.queries as u64)?;
            price = each.clone();
            let mut oracle = Private {
                people: &people,
                store,
                each,
                refused: false,
            };
            let answers = interrogate(&mut oracle, &queries, || progress.advance(1))?;
            answered += answers.len() as u64;
            refused &= oracle.refused;
            for (way, count) in plan.ways.iter().zip(&mut row.right) {
                let estimates = estimate(&queries, &answers, setting.method(*way)).map_err(unusable)?;
                *count += right(&rounded(&estimates), &bits);
            }
        }
        row.ledger = Some(Ledger {
            each: price,
            answered,
            refused,
        });
        rows.push(row);
    }
    Ok(rows)
}

/// The largest ε that this many counts can have each, to a thousandth: what an attacker who reads the manual would ask for.
fn affordable(store: &mut Store, promise: &Promise, questions: u64) -> Result<Epsilon, CliError> {
    let mut fits = |each: &Rational| -> Result<bool, CliError> {
        let one = Event::Laplace {
            ratio: Ratio::at_least(each),
            on: NoiseSupport::DiscreteScalar { sensitivity: 1 },
        };
        let all = Event::Repeated {
            event: Box::new(one),
            times: questions,
        };
        store.fits(ANALYST, &all).map_err(explained)
    };
    let whole = promise.epsilon.as_rational();
    // By basic composition ε/m each is always fine, and one question cannot cost more than all.
    let (mut low, mut high) = (whole / Rational::from(questions), whole.clone());
    while high > &low * ratio(1001, 1000) {
        let middle = (&low + &high) * ratio(1, 2);
        if fits(&middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    // Four digits are enough to say.
    match Epsilon::rounded_down(&exact::decimal_at_most(&low, 4)).map_err(explained)? {
        none if none == Epsilon::ZERO => fail(
            "the budget is too small to ask this many questions",
            "raise --epsilon, or lower --queries",
        ),
        each => Ok(each),
    }
}
