//! The same questions, asked of private SQL.

use super::{Arguments, Fared, Plan, Singled};
use crate::terminal::{CliError, Interrupt, Progress, explained};
use accounting::{Delta, Epsilon, Neighbors};
use attack::averaging::{Counter, Reply, campaign, difference};
use exact::{Rational, ratio};
use experiments::people::People;
use ledger::Store;

/// Private SQL as a counter: what every account asks is charged to one ledger.
struct Private<'a> {
    people: &'a People,
    store: Store,
    epsilon: &'a Epsilon,
}

impl Counter for Private<'_> {
    type Error = CliError;

    fn ask(&mut self, account: usize, question: &str) -> Result<Reply, CliError> {
        let analyst = format!("account-{account}");
        Ok(self
            .people
            .ask(&mut self.store, &analyst, question, self.epsilon)?)
    }
}

/// This many refusals in a row, and the attacker gives up.
const GIVES_UP_AFTER: usize = 4;
/// The same question is asked so often: it could be for ever.
const COPIES: usize = 8;

/// The same question again and again, and the same question in other words until nothing is left. Each run has a fresh ledger.
pub(super) fn asked(
    plan: &Plan,
    arguments: &Arguments,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<(Fared, Fared), CliError> {
    let mut people = People::new(&plan.secrets, Neighbors::AddRemove, &plan.budget, &Delta::ZERO)?;
    let (mut equal, mut rewritten) = (Vec::new(), Vec::new());
    let affordable = affordable(plan);
    for run in 0..arguments.runs {
        // One run alone has no standard error.
        if run > 1 && interrupt.was_pressed() {
            break;
        }
        let accounts = arguments.accounts as usize;
        let mut private = Private {
            store: people.fresh_ledger()?,
            people: &people,
            epsilon: &plan.epsilon,
        };
        let copies = std::iter::repeat_n(plan.question.plainly(), COPIES);
        equal.push(campaign(&mut private, accounts, copies, || ())?);
        progress.advance(1);
        let mut private = Private {
            store: people.fresh_ledger()?,
            people: &people,
            epsilon: &plan.epsilon,
        };
        let forms = (0..affordable as usize + GIVES_UP_AFTER).map(|form| plan.question.rewritten(form));
        rewritten.push(campaign(&mut private, accounts, forms, || ())?);
        progress.advance(1);
    }
    let answered = rewritten.iter().map(|course| course.fresh).max().unwrap_or(0);
    let spent = Epsilon::rounded_up(&(plan.epsilon.as_rational() * Rational::from(answered as u64)));
    Ok((
        Fared {
            who: "Deniable, the same question",
            courses: equal,
            spent: Some(plan.epsilon.clone()),
        },
        Fared {
            who: "Deniable, rewritten each time",
            courses: rewritten,
            spent: Some(spent.map_err(explained)?),
        },
    ))
}

/// How many questions the budget pays for.
fn affordable(plan: &Plan) -> u64 {
    let questions = plan.budget.as_rational() / plan.epsilon.as_rational();
    u64::try_from(questions.floor()).unwrap_or(u64::MAX)
}

/// Whether each target's bit is revealed by a count with and one without her. The two questions together cost the budget.
pub(super) fn singled_out(
    plan: &Plan,
    arguments: &Arguments,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Singled, CliError> {
    let mut people = People::new(&plan.secrets, Neighbors::ChangeOne, &plan.budget, &Delta::ZERO)?;
    let half = Epsilon::rounded_down(&(plan.budget.as_rational() * ratio(1, 2))).map_err(explained)?;
    let targets = arguments.targets.min(arguments.people);
    let mut singled = Singled {
        targets: 0,
        exactly: 0,
        privately: 0,
        refused: 0,
    };
    let everyone = plan.secrets.iter().filter(|secret| **secret).count();
    for target in 0..targets as usize {
        if target > 0 && interrupt.was_pressed() {
            break;
        }
        singled.targets += 1;
        let secret = plan.secrets[target];
        let others = plan
            .secrets
            .iter()
            .enumerate()
            .filter(|(id, secret)| **secret && *id != target)
            .count();
        singled.exactly += u32::from((everyone - others == 1) == secret);
        let mut private = Private {
            store: people.fresh_ledger()?,
            people: &people,
            epsilon: &half,
        };
        let all = "SELECT COUNT(*) FROM people WHERE secret = 1";
        let without = format!("{all} AND id <> {target}");
        match difference(&mut private, all, &without)? {
            Some(guess) => singled.privately += u32::from(guess == secret),
            None => {
                singled.refused += 1;
                // Nothing was learned: a guess by place is right half of the time.
                singled.privately += u32::from((target % 2 == 0) == secret);
            }
        }
        progress.advance(1);
    }
    Ok(singled)
}
