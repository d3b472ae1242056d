//! Asks for the same count again and again, and averages the answers: with noise alone, and with a ledger.

use super::Setting;
use crate::failure::Failure;
use attack::Seeded;
use attack::averaging::{Counter, Course, Forgetful, Reply, campaign, mean_errors};
use maud::{Markup, html};
use report::{Figure, Scale, significant};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Attackers, each with noise of their own, and how often each asks.
pub(super) const ATTACKERS: u64 = 12;
pub(super) const QUESTIONS: usize = 400;

/// Answers as a ledger has it: the same question gets the same answer, and another one is charged while
/// something is left.
struct Remembering {
    noise: Forgetful,
    known: BTreeMap<String, f64>,
    left: usize,
}

impl Counter for Remembering {
    type Error = Infallible;

    fn ask(&mut self, account: usize, question: &str) -> Result<Reply, Infallible> {
        if let Some(answer) = self.known.get(question) {
            return Ok(Reply::Repeated(*answer));
        }
        if self.left == 0 {
            return Ok(Reply::Refused);
        }
        self.left -= 1;
        let reply = self.noise.ask(account, question)?;
        if let Reply::Fresh(answer) = reply {
            self.known.insert(question.to_owned(), answer);
        }
        Ok(reply)
    }
}

/// How it went.
#[derive(Debug)]
pub(super) struct Averaged {
    pub(super) truth: u64,
    forgetful: Vec<Course>,
    same: Vec<Course>,
    rewritten: Vec<Course>,
}

impl Averaged {
    /// On as many invented rows as the dummy has, with noise that is the same for everybody who looks.
    pub(super) fn new(setting: &Setting, truth: u64) -> Result<Self, Failure> {
        let noise =
            |seed: u64| Forgetful::new(truth, &setting.epsilon, Seeded::new(seed)).map_err(super::failed);
        let questions = |rewritten: bool| {
            (0..QUESTIONS).map(move |turn| {
                if rewritten {
                    turn.to_string()
                } else {
                    String::new()
                }
            })
        };
        let mut averaged = Self {
            truth,
            forgetful: Vec::new(),
            same: Vec::new(),
            rewritten: Vec::new(),
        };
        for attacker in 0..ATTACKERS {
            let Ok(course) = campaign(&mut noise(attacker)?, 1, questions(false), || ());
            averaged.forgetful.push(course);
            for rewritten in [false, true] {
                let mut counter = Remembering {
                    noise: noise(attacker)?,
                    known: BTreeMap::new(),
                    left: setting.admitted as usize,
                };
                let Ok(course) = campaign(&mut counter, 1, questions(rewritten), || ());
                match rewritten {
                    true => averaged.rewritten.push(course),
                    false => averaged.same.push(course),
                }
            }
        }
        Ok(averaged)
    }

    fn rows(&self) -> [(&'static str, &[Course]); 3] {
        [
            ("without a ledger", &self.forgetful),
            ("with the ledger, the same words", &self.same),
            ("with the ledger, other words each time", &self.rewritten),
        ]
    }

    pub(super) fn figure(&self) -> Figure {
        let mut figure = Figure::new("How far the average of all answers is off")
            .x_axis("questions asked", Scale::Log10)
            .y_axis("mean error", Scale::Log10);
        for (words, courses) in self.rows() {
            let errors = mean_errors(courses, self.truth as f64);
            let points: Vec<(f64, f64)> = errors
                .into_iter()
                .enumerate()
                .map(|(turn, error)| ((turn + 1) as f64, error))
                .collect();
            figure = figure.line(words, &points);
        }
        figure
    }

    pub(super) fn table(&self) -> Markup {
        html! {
            @for (words, courses) in self.rows() {
                tr {
                    th scope="row" { (words) }
                    td { (courses[0].fresh) }
                    td { (courses[0].refused) }
                    td { (last_error(courses, self.truth).map_or_else(|| "—".to_owned(), |error| significant(error, 3))) }
                }
            }
        }
    }
}

/// How far the average is off at the end; `None` if nothing was answered.
fn last_error(courses: &[Course], truth: u64) -> Option<f64> {
    let errors = mean_errors(courses, truth as f64);
    errors.last().copied().filter(|error| error.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::Epsilon;

    #[test]
    fn a_ledger_gives_one_answer_to_one_question() {
        let epsilon = Epsilon::parse("0.5").unwrap();
        let mut counter = Remembering {
            noise: Forgetful::new(100, &epsilon, Seeded::new(1)).unwrap(),
            known: BTreeMap::new(),
            left: 3,
        };
        let Ok(same) = campaign(&mut counter, 1, (0..50).map(|_| "n".to_owned()), || ());
        assert_eq!((same.fresh, same.repeated, same.refused), (1, 49, 0));
        let Ok(others) = campaign(&mut counter, 1, (0..50).map(|turn| turn.to_string()), || ());
        assert_eq!((others.fresh, others.refused), (2, 48));
    }
}
