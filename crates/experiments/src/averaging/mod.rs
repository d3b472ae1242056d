//! Asks one query many times by many accounts, and two queries that differ in one person: without a ledger,
//! and from Deniable.
//!
//! ```
//! use experiments::averaging::{Settings, Study};
//!
//! let settings = Settings { runs: 1, targets: 1, people: 20, times: 50, ..Settings::default() };
//! let results = Study::new(settings)?.run(&|_, _| true)?;
//! assert_eq!(results.fared[0].courses[0].fresh, 50, "without a ledger every answer is new");
//! assert_eq!(results.fared[1].courses[0].fresh, 1, "the same question has one answer");
//! # Ok::<(), experiments::people::Error>(())
//! ```

mod report;

pub use report::findings;

use crate::people::{Error, People, age};
use accounting::{Delta, Epsilon, Neighbors};
use attack::averaging::{Counter, Course, Forgetful, Question, Reply, campaign, difference, mean_errors};
use exact::{Rational, ratio};
use ledger::Store;
use noise::Seeded;

/// This many refusals in a row, and the attacker gives up.
const GIVES_UP_AFTER: usize = 4;
/// The same question is asked so often: it could be for ever.
const COPIES: usize = 8;
/// The condition on ages that the question has.
const OLD: usize = 40;
/// Every one is asked of a real engine, in every run.
const MOST_QUESTIONS: i64 = 1000;

/// Is told what is done and how many steps of it more were, and says whether to go on.
pub type Watch<'watcher> = dyn Fn(&'static str, u64) -> bool + 'watcher;

/// How it is done.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often the question is asked where nobody keeps a ledger.
    pub times: u32,
    /// How many accounts take turns.
    pub accounts: u32,
    /// The ε of one question.
    pub epsilon: Epsilon,
    /// The ε that Deniable may spend on all of them; also that of the two questions of differencing.
    pub budget: Epsilon,
    /// How many people are in the table.
    pub people: u32,
    /// How often everything is repeated from the start, with a fresh ledger.
    pub runs: u32,
    /// How many people are singled out by differencing.
    pub targets: u32,
    /// Where the synthetic secrets and the forgetful mechanism's noise start; Deniable's noise has no seed.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let epsilon = |text| Epsilon::parse(text).unwrap_or(Epsilon::ZERO);
        Self {
            times: 1000,
            accounts: 4,
            epsilon: epsilon("0.25"),
            budget: epsilon("1"),
            people: 1000,
            runs: 20,
            targets: 40,
            seed: 1,
        }
    }
}

/// What is asked, checked.
#[derive(Clone, Debug)]
pub struct Study {
    /// How.
    pub settings: Settings,
    /// What is asked.
    pub question: Question,
    /// The exact answer.
    pub truth: u64,
    secrets: Vec<bool>,
}

/// How the question fared with somebody.
#[derive(Clone, Debug)]
pub struct Fared {
    /// With whom.
    pub who: &'static str,
    /// A course a run.
    pub courses: Vec<Course>,
    /// ε of all that was answered, where it is bounded.
    pub spent: Option<Epsilon>,
}

/// How differencing fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Singled {
    /// Of how many people.
    pub targets: u32,
    /// How often exact counts reported the bit.
    pub exactly: u32,
    /// How often Deniable's did.
    pub privately: u32,
    /// How often a question was refused, which counts as a coin.
    pub refused: u32,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Results {
    /// Without a ledger, Deniable and the same question, Deniable and the question rewritten each time.
    pub fared: Vec<Fared>,
    /// Two counts that differ in one person.
    pub singled: Singled,
    /// Whether somebody stopped it, after fewer runs or targets than were asked for.
    pub stopped: bool,
}

impl Study {
    /// Synthetic people, and the question about them.
    ///
    /// # Errors
    /// When a question costs nothing, more than the whole budget, or too little of it.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let Settings { epsilon, budget, .. } = &settings;
        let wrong = |what: String, hint: &str| Err(attack::Error::bad_setting(what, hint).into());
        for (name, epsilon) in [("--epsilon", epsilon), ("--budget", budget)] {
            if *epsilon == Epsilon::ZERO {
                return wrong(
                    format!("{name} is zero, so nothing may be learned"),
                    "try 0.25 for a question and 1 for the budget",
                );
            }
        }
        if epsilon > budget {
            return wrong(
                "one question costs more than the whole budget".to_owned(),
                "lower --epsilon or raise --budget",
            );
        }
        if budget.as_rational() > &(epsilon.as_rational() * ratio(MOST_QUESTIONS, 1)) {
            return wrong(
                format!("the budget pays for more than {MOST_QUESTIONS} questions"),
                "raise --epsilon or lower --budget",
            );
        }
        let secrets = attack::linear::secrets(settings.people as usize, &mut Seeded::new(settings.seed));
        let truth = secrets
            .iter()
            .enumerate()
            .filter(|(id, secret)| **secret && age(*id) >= OLD)
            .count() as u64;
        Ok(Self {
            settings,
            question: Question {
                table: "people".to_owned(),
                conditions: vec![format!("age >= {OLD}"), "secret = 1".to_owned()],
                never_negative: "age".to_owned(),
            },
            truth,
            secrets,
        })
    }

    /// How many steps the watcher is told of.
    pub fn steps(&self) -> u64 {
        u64::from(self.settings.runs) * 3 + u64::from(self.settings.targets)
    }

    /// All of it.
    ///
    /// # Errors
    /// When the synthetic data cannot be written or asked about.
    pub fn run(&self, watch: &Watch<'_>) -> Result<Results, Error> {
        let forgetful = self.without_a_ledger(watch)?;
        let (equal, rewritten) = self.asked(watch)?;
        let singled = self.singled_out(watch)?;
        Ok(Results {
            fared: vec![forgetful, equal, rewritten],
            singled,
            stopped: !watch("", 0),
        })
    }

    /// How often a guess after differencing is right, at most.
    pub fn at_most(&self) -> f64 {
        attack::bound::right_guesses(self.settings.budget.to_f64_up(), 0.0)
    }

    /// Whether the same question had one answer, and other forms were paid for until the budget was spent.
    pub fn held(&self, results: &Results) -> bool {
        let [_, equal, rewritten] = results.fared.as_slice() else {
            return false;
        };
        let once = equal
            .courses
            .iter()
            .all(|course| course.fresh == 1 && course.refused == 0);
        let paid = rewritten
            .spent
            .as_ref()
            .is_some_and(|spent| *spent <= self.settings.budget);
        // A form that is recognised as one that was answered is stopped as well.
        let stopped = rewritten.courses.iter().all(|course| course.refused > 0);
        once && paid && stopped
    }

    fn without_a_ledger(&self, watch: &Watch<'_>) -> Result<Fared, Error> {
        let settings = &self.settings;
        let mut courses = Vec::new();
        for run in 0..settings.runs {
            let seed = settings.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(run));
            let mut forgetful = Forgetful::new(self.truth, &settings.epsilon, Seeded::new(seed))?;
            let questions = (0..settings.times).map(|_| self.question.plainly());
            let Ok(course) = campaign(&mut forgetful, settings.accounts as usize, questions, || ());
            courses.push(course);
            watch("asking without a ledger", 1);
        }
        Ok(Fared {
            who: "without a ledger, the same question",
            courses,
            spent: None,
        })
    }

    /// The same question again and again, and the same question in other words until nothing is left. Each
    /// run has a fresh ledger.
    fn asked(&self, watch: &Watch<'_>) -> Result<(Fared, Fared), Error> {
        const LABEL: &str = "asking Deniable";
        let Settings { epsilon, budget, .. } = &self.settings;
        let mut people = People::new(&self.secrets, Neighbors::AddRemove, budget, &Delta::ZERO)?;
        let (mut equal, mut rewritten) = (Vec::new(), Vec::new());
        let affordable = budget.as_rational() / epsilon.as_rational();
        let affordable = u64::try_from(affordable.floor()).unwrap_or(u64::MAX);
        let accounts = self.settings.accounts as usize;
        for run in 0..self.settings.runs {
            // One run alone has no standard error.
            if run > 1 && !watch(LABEL, 0) {
                break;
            }
            let mut private = Private::new(&mut people, epsilon)?;
            let copies = std::iter::repeat_n(self.question.plainly(), COPIES);
            equal.push(campaign(&mut private, accounts, copies, || ())?);
            watch(LABEL, 1);
            let mut private = Private::new(&mut people, epsilon)?;
            let forms = (0..affordable as usize + GIVES_UP_AFTER).map(|form| self.question.rewritten(form));
            rewritten.push(campaign(&mut private, accounts, forms, || ())?);
            watch(LABEL, 1);
        }
        let answered = rewritten.iter().map(|course| course.fresh).max().unwrap_or(0);
        let spent = Epsilon::rounded_up(&(epsilon.as_rational() * Rational::from(answered as u64)))?;
        Ok((
            Fared {
                who: "Deniable, the same question",
                courses: equal,
                spent: Some(epsilon.clone()),
            },
            Fared {
                who: "Deniable, rewritten each time",
                courses: rewritten,
                spent: Some(spent),
            },
        ))
    }

    /// Whether each target's bit is revealed by a count with and one without her. The two questions together
    /// cost the budget.
    fn singled_out(&self, watch: &Watch<'_>) -> Result<Singled, Error> {
        const LABEL: &str = "differencing";
        let budget = &self.settings.budget;
        let mut people = People::new(&self.secrets, Neighbors::ChangeOne, budget, &Delta::ZERO)?;
        let half = Epsilon::rounded_down(&(budget.as_rational() * ratio(1, 2)))?;
        let targets = self.settings.targets.min(self.settings.people);
        let mut singled = Singled::default();
        let everyone = self.secrets.iter().filter(|secret| **secret).count();
        for target in 0..targets as usize {
            if target > 0 && !watch(LABEL, 0) {
                break;
            }
            singled.targets += 1;
            let secret = self.secrets[target];
            let others = everyone - usize::from(secret);
            singled.exactly += u32::from((everyone - others == 1) == secret);
            let mut private = Private::new(&mut people, &half)?;
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
            watch(LABEL, 1);
        }
        Ok(singled)
    }
}

/// Private SQL as a counter: what every account asks is charged to one ledger.
struct Private<'a> {
    people: &'a People,
    store: Store,
    epsilon: &'a Epsilon,
}

impl<'a> Private<'a> {
    fn new(people: &'a mut People, epsilon: &'a Epsilon) -> Result<Self, Error> {
        Ok(Self {
            store: people.fresh_ledger()?,
            people,
            epsilon,
        })
    }
}

impl Counter for Private<'_> {
    type Error = Error;

    fn ask(&mut self, account: usize, question: &str) -> Result<Reply, Error> {
        let analyst = format!("account-{account}");
        self.people.ask(&mut self.store, &analyst, question, self.epsilon)
    }
}

impl Fared {
    /// How far the mean was from the truth after each question, on average over the runs.
    pub fn errors(&self, truth: u64) -> Vec<f64> {
        mean_errors(&self.courses, truth as f64)
    }

    /// The same in the end.
    pub fn error(&self, truth: u64) -> f64 {
        self.errors(truth).last().copied().unwrap_or(f64::NAN)
    }

    /// How far chance moves that, about: one standard error of the mean over the runs.
    pub fn standard_error(&self, truth: u64) -> f64 {
        let ends = self
            .courses
            .iter()
            .filter_map(|course| course.averages.last().copied().flatten());
        let errors: Vec<f64> = ends.map(|average| (average - truth as f64).abs()).collect();
        let runs = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / runs;
        let squares: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
        (squares / (runs - 1.0) / runs).sqrt()
    }

    /// How far it must be off at least, for the count where it is worst.
    pub fn at_least(&self) -> Option<f64> {
        let spent = self.spent.as_ref()?;
        Some(attack::bound::count_error(spent.to_f64_up()))
    }

    /// A number of all runs together.
    pub fn total(&self, count: impl Fn(&Course) -> usize) -> usize {
        self.courses.iter().map(count).sum()
    }
}

impl Singled {
    /// Whether it was right so often that chance explains it with probability below 1e-9.
    pub fn broken(&self, at_most: f64) -> bool {
        audit::binomial::at_least(u64::from(self.privately), u64::from(self.targets), at_most) < 1e-9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_stops_every_form_and_every_account() {
        let study = Study::new(Settings {
            runs: 1,
            targets: 2,
            people: 60,
            times: 400,
            accounts: 3,
            budget: Epsilon::parse("1.5").unwrap(),
            ..Settings::default()
        })
        .unwrap();
        let results = study.run(&|_, _| true).unwrap();
        let [forgetful, equal, rewritten] = results.fared.as_slice() else {
            panic!("three rows")
        };
        assert_eq!(forgetful.courses[0].fresh, 400);
        // Off by √2/ε/√400 = 0.28 standard deviations' worth; the seed is fixed.
        assert!(
            forgetful.error(study.truth) < 1.5,
            "{}",
            forgetful.error(study.truth)
        );
        assert_eq!((equal.courses[0].fresh, equal.courses[0].repeated), (1, 7));
        // Six forms at ε = 0.25 each, then nothing. A double negation is recognised as the question that was
        // answered, in both rounds.
        let course = &rewritten.courses[0];
        assert_eq!((course.fresh, course.repeated, course.refused), (6, 2, 2));
        assert_eq!(rewritten.spent, Some(study.settings.budget.clone()));
        assert_eq!((results.singled.exactly, results.singled.refused), (2, 0));
        assert!(study.held(&results) && !results.stopped);
    }

    #[test]
    fn right_too_often_is_noticed() {
        let singled = |privately| Singled {
            targets: 100,
            exactly: 100,
            privately,
            refused: 0,
        };
        let at_most = attack::bound::right_guesses(0.1, 0.0);
        assert!(singled(100).broken(at_most));
        assert!(!singled(60).broken(at_most));
    }
}
