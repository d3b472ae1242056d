//! Asks one query many times, by many accounts, in many forms; and asks two queries that differ in one
//! person.
//!
//! Noise that is drawn anew for every query averages out: after k answers the error is 1/√k of that of one,
//! whoever asks. Nothing about noise alone prevents that. A ledger does. The same query gets the same answer,
//! which teaches nothing new. A query in another form is another query, charged to the one budget that all
//! accounts share.
//!
//! ```text
//! Question ──► equal, or rewritten forms ──► Counter (without a ledger, or Deniable) ──► Course: the average after each answer
//! ```
//! ```
//! use accounting::Epsilon;
//! use attack::Seeded;
//! use attack::averaging::{Forgetful, campaign};
//!
//! // Honest noise at ε = ½, drawn anew each time it is asked for: two thousand answers average it away.
//! let mut counter = Forgetful::new(100, &Epsilon::parse("0.5")?, Seeded::new(1))?;
//! let questions = (0..2000).map(|_| "how many?".to_owned());
//! let course = campaign(&mut counter, 1, questions, || ())?;
//! let average = course.averages.last().copied().flatten().unwrap();
//! assert!((average - 100.0).abs() < 0.5, "{average}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{Error, Seeded};
use accounting::Epsilon;
use exact::Rational;
use noise::DiscreteLaplace;
use std::convert::Infallible;

/// What was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    /// A number with noise that was drawn for this question.
    Fresh(f64),
    /// The answer that was given before.
    Repeated(f64),
    /// Nothing: the budget is spent.
    Refused,
}

/// Who answers counts.
pub trait Counter {
    /// Why it could not answer, other than by refusing.
    type Error;

    /// The reply to a question, a text, asked by one of several accounts.
    ///
    /// # Errors
    /// When something went wrong.
    fn ask(&mut self, account: usize, question: &str) -> Result<Reply, Self::Error>;
}

/// How a row of questions went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// The average of the fresh answers after each question, once there is one.
    pub averages: Vec<Option<f64>>,
    /// How many answers were fresh.
    pub fresh: usize,
    /// How many had been given before.
    pub repeated: usize,
    /// How many questions were refused.
    pub refused: usize,
}

/// Asks the questions in turn by this many accounts, and averages what is new in the answers.
///
/// # Errors
/// Those of the counter.
pub fn campaign<C: Counter>(
    counter: &mut C,
    accounts: usize,
    questions: impl IntoIterator<Item = String>,
    mut after_each: impl FnMut(),
) -> Result<Course, C::Error> {
    let mut course = Course::default();
    let mut sum = 0.0;
    for (turn, question) in questions.into_iter().enumerate() {
        match counter.ask(turn % accounts.max(1), &question)? {
            Reply::Fresh(answer) => {
                course.fresh += 1;
                sum += answer;
            }
            // A copy of what is in the sum already.
            Reply::Repeated(_) => course.repeated += 1,
            Reply::Refused => course.refused += 1,
        }
        course
            .averages
            .push((course.fresh > 0).then(|| sum / course.fresh as f64));
        after_each();
    }
    Ok(course)
}

/// How far the average is from the truth after each question, on average over several courses of equal
/// length. Before the first answer it is no number.
pub fn mean_errors(courses: &[Course], truth: f64) -> Vec<f64> {
    let length = courses
        .iter()
        .map(|course| course.averages.len())
        .min()
        .unwrap_or(0);
    (0..length)
        .map(|turn| {
            let distances = courses
                .iter()
                .map(|course| course.averages[turn].map_or(f64::NAN, |average| (average - truth).abs()));
            distances.sum::<f64>() / courses.len() as f64
        })
        .collect()
}

/// A count of the rows of a table that meet some conditions.
#[derive(Clone, Debug)]
pub struct Question {
    /// The table.
    pub table: String,
    /// SQL conditions, all of which must hold.
    pub conditions: Vec<String>,
    /// A column that is never negative, for conditions that always hold.
    pub never_negative: String,
}

/// How a question can be written differently without asking anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rewriting {
    /// The conditions in another order.
    Reordered,
    /// `AND TRUE`.
    AndTrue,
    /// A condition that always holds.
    Dummy,
    /// `CASE WHEN … THEN TRUE ELSE FALSE END`.
    Case,
    /// `NOT (NOT (…))`.
    DoubleNegation,
}

impl Rewriting {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Reordered,
        Self::AndTrue,
        Self::Dummy,
        Self::Case,
        Self::DoubleNegation,
    ];

    /// What it does, in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reordered => "conditions reordered",
            Self::AndTrue => "AND TRUE",
            Self::Dummy => "a dummy condition",
            Self::Case => "an equivalent CASE",
            Self::DoubleNegation => "NOT (NOT …)",
        }
    }
}

impl Question {
    /// As anybody would write it.
    pub fn plainly(&self) -> String {
        self.with(&self.conditions.join(" AND "))
    }

    /// The same question in another form, each `number` a different one: the rewritings in turn, and longer
    /// in each round.
    pub fn rewritten(&self, number: usize) -> String {
        let kinds = Rewriting::ALL.len();
        let (kind, round) = (Rewriting::ALL[number % kinds], number / kinds);
        let plain = self.conditions.join(" AND ");
        let rewritten = match kind {
            Rewriting::Reordered => {
                let mut conditions = self.conditions.clone();
                conditions.reverse();
                conditions.join(" AND ")
            }
            Rewriting::AndTrue => format!("{plain} AND TRUE"),
            Rewriting::Dummy => format!("{plain} AND {} > -1", self.never_negative),
            Rewriting::Case => format!("CASE WHEN {plain} THEN TRUE ELSE FALSE END"),
            Rewriting::DoubleNegation => format!("NOT (NOT ({plain}))"),
        };
        self.with(&match round {
            0 => rewritten,
            _ => format!("{rewritten} AND {} > -{}", self.never_negative, round + 1),
        })
    }

    fn with(&self, condition: &str) -> String {
        format!("SELECT COUNT(*) FROM {} WHERE {condition}", self.table)
    }
}

/// A mechanism that adds honest noise to every answer, and forgets that it did.
pub struct Forgetful {
    truth: f64,
    noise: DiscreteLaplace,
    seeded: Seeded,
}

impl Forgetful {
    /// Answers about a count with discrete Laplace noise of this ε each time.
    ///
    /// # Errors
    /// When no such noise exists.
    pub fn new(truth: u64, epsilon: &Epsilon, seeded: Seeded) -> Result<Self, Error> {
        let unusable = || Error::bad_setting("no noise keeps this ε", "take an ε between 0.0001 and 100");
        if *epsilon == Epsilon::ZERO {
            return Err(unusable());
        }
        let scale = Rational::ONE / epsilon.as_rational();
        Ok(Self {
            truth: truth as f64,
            noise: DiscreteLaplace::new(&scale).map_err(|_| unusable())?,
            seeded,
        })
    }
}

impl Counter for Forgetful {
    type Error = Infallible;

    fn ask(&mut self, _: usize, _: &str) -> Result<Reply, Infallible> {
        Ok(Reply::Fresh(
            self.truth + self.noise.sample(&mut self.seeded) as f64,
        ))
    }
}

/// What two counts reveal about the one person in whom they differ: whether she has what is counted. Nothing
/// if one of them is refused.
///
/// # Errors
/// Those of the counter.
pub fn difference<C: Counter>(
    counter: &mut C,
    with_her: &str,
    without_her: &str,
) -> Result<Option<bool>, C::Error> {
    let mut answers = [0.0; 2];
    for (answer, question) in answers.iter_mut().zip([with_her, without_her]) {
        match counter.ask(0, question)? {
            Reply::Fresh(value) | Reply::Repeated(value) => *answer = value,
            Reply::Refused => return Ok(None),
        }
    }
    // She counts 1 or 0; between them the better guess is the nearer one.
    Ok(Some(answers[0] - answers[1] > 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn question() -> Question {
        Question {
            table: "people".to_owned(),
            conditions: vec!["age >= 40".to_owned(), "secret = 1".to_owned()],
            never_negative: "age".to_owned(),
        }
    }

    #[test]
    fn no_two_forms_are_the_same_text() {
        let question = question();
        assert_eq!(
            question.plainly(),
            "SELECT COUNT(*) FROM people WHERE age >= 40 AND secret = 1"
        );
        let mut forms: Vec<String> = (0..100).map(|number| question.rewritten(number)).collect();
        forms.push(question.plainly());
        assert_eq!(
            forms[0],
            "SELECT COUNT(*) FROM people WHERE secret = 1 AND age >= 40"
        );
        assert_eq!(
            forms[8],
            "SELECT COUNT(*) FROM people WHERE CASE WHEN age >= 40 AND secret = 1 THEN TRUE ELSE FALSE END AND age > -2"
        );
        forms.sort();
        forms.dedup();
        assert_eq!(forms.len(), 101);
    }

    #[test]
    fn without_a_ledger_the_error_falls_as_the_root_of_the_answers() {
        let epsilon = Epsilon::parse("0.5").unwrap();
        let courses: Vec<Course> = (0..200)
            .map(|run| {
                let mut forgetful = Forgetful::new(1000, &epsilon, Seeded::new(run)).unwrap();
                campaign(
                    &mut forgetful,
                    3,
                    (0..400).map(|form| question().rewritten(form)),
                    || (),
                )
                .unwrap()
            })
            .collect();
        let errors = mean_errors(&courses, 1000.0);
        // One answer: 1/sinh ε = 1.919. Of k, nearly normal: √(2/π)·√(2k)·… = √(2/π)·σ/√k with σ² = 2e^−ε/(1
        // − e^−ε)². Means of 200 with fixed seeds; a standard error is 0.07 of the value for one answer and
        // 0.054 for many.
        assert!(
            (errors[0] / crate::bound::count_error(0.5) - 1.0).abs() < 0.22,
            "{}",
            errors[0]
        );
        let decay = (-0.5f64).exp();
        let deviation = (2.0 * decay).sqrt() / (1.0 - decay);
        for k in [25usize, 100, 400] {
            let expected = (2.0 / std::f64::consts::PI).sqrt() * deviation / (k as f64).sqrt();
            assert!(
                (errors[k - 1] / expected - 1.0).abs() < 0.17,
                "{k}: {} for {expected}",
                errors[k - 1]
            );
        }
    }

    /// Answers each text once, repeats it for free, and answers this many texts in all.
    struct Ledger {
        answers: BTreeMap<String, f64>,
        left: usize,
        by_account: BTreeMap<usize, usize>,
    }

    impl Counter for Ledger {
        type Error = Infallible;

        fn ask(&mut self, account: usize, question: &str) -> Result<Reply, Infallible> {
            *self.by_account.entry(account).or_default() += 1;
            if let Some(answer) = self.answers.get(question) {
                return Ok(Reply::Repeated(*answer));
            }
            if self.left == 0 {
                return Ok(Reply::Refused);
            }
            self.left -= 1;
            let answer = 10.0 + self.left as f64;
            self.answers.insert(question.to_owned(), answer);
            Ok(Reply::Fresh(answer))
        }
    }

    fn ledger(left: usize) -> Ledger {
        Ledger {
            answers: BTreeMap::new(),
            left,
            by_account: BTreeMap::new(),
        }
    }

    #[test]
    fn copies_teach_nothing_and_refusals_end_it() {
        let mut equal = ledger(3);
        let course = campaign(&mut equal, 2, vec![question().plainly(); 5], || ()).unwrap();
        assert_eq!((course.fresh, course.repeated, course.refused), (1, 4, 0));
        assert_eq!(course.averages, vec![Some(12.0); 5]);
        assert_eq!(equal.by_account, BTreeMap::from([(0, 3), (1, 2)]));
        let mut rewritten = ledger(3);
        let course = campaign(
            &mut rewritten,
            2,
            (0..5).map(|form| question().rewritten(form)),
            || (),
        )
        .unwrap();
        assert_eq!((course.fresh, course.repeated, course.refused), (3, 0, 2));
        assert_eq!(course.averages[4], Some(11.0));
        assert_eq!(mean_errors(&[course], 10.0), [2.0, 1.5, 1.0, 1.0, 1.0]);
        let nothing = campaign(&mut ledger(0), 1, vec![question().plainly()], || ()).unwrap();
        assert!(mean_errors(&[nothing], 10.0)[0].is_nan());
    }

    #[test]
    fn a_difference_without_noise_tells_and_a_refusal_does_not() {
        struct Exact(bool);
        impl Counter for Exact {
            type Error = Infallible;
            fn ask(&mut self, _: usize, question: &str) -> Result<Reply, Infallible> {
                let her = f64::from(u8::from(self.0 && question == "with"));
                Ok(Reply::Fresh(41.0 + her))
            }
        }
        for bit in [true, false] {
            assert_eq!(difference(&mut Exact(bit), "with", "without"), Ok(Some(bit)));
        }
        assert_eq!(difference(&mut ledger(1), "with", "without"), Ok(None));
    }

    #[test]
    fn no_epsilon_is_refused() {
        assert!(Forgetful::new(1, &Epsilon::ZERO, Seeded::new(1)).is_err());
    }
}
