//! Rebuilds a column of secret bits from noisy sums over random sets of people: from a model that answers
//! everything, and from Deniable with a ledger.
//!
//! ```
//! use experiments::linear::{Setting, Study, Way};
//!
//! let study = Study {
//!     people: 32,
//!     queries: 128,
//!     runs: 1,
//!     seed: 1,
//!     settings: vec![Setting::without_noise()],
//!     ways: vec![Way::LeastSquares],
//! };
//! let rows = study.of_a_model(&|_, _| true)?;
//! assert_eq!(rows[0].fraction(0), 1.0, "exact answers give every bit away");
//! # Ok::<(), experiments::people::Error>(())
//! ```

mod report;

pub use crate::averaging::Watch;
pub use report::{Against, findings};

use crate::people::{Error, People};
use accounting::{Delta, Epsilon, Event, Neighbors, NoiseSupport, Ratio};
use attack::averaging::Reply;
use attack::linear::{
    Fit, Method, Model, Noise, Oracle, Queries, Subset, estimate, interrogate, right, rounded, secrets,
};
use exact::{Rational, ratio};
use ledger::Store;
use std::fmt::Write as _;

/// The one whose account is used. Accounts share the budget, so more of them would not help.
const ANALYST: &str = "mallory";

/// What is attacked.
#[derive(Clone, Debug)]
pub struct Study {
    /// How many people have a secret bit each.
    pub people: usize,
    /// How many random sets are asked about.
    pub queries: usize,
    /// How many data sets are attacked at each noise.
    pub runs: u64,
    /// Where secrets, queries and the model's noise start.
    pub seed: u64,
    /// Sizes of noise.
    pub settings: Vec<Setting>,
    /// How the bits are computed.
    pub ways: Vec<Way>,
}

/// How bits are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By least squares.
    LeastSquares,
    /// By a linear program.
    LinearProgram,
}

/// Which noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseKind {
    /// The true counts.
    None,
    /// Up to ±α√n, every size equally likely.
    Uniform,
    /// Normal noise for (ε, δ) in all.
    Gaussian,
    /// Laplace noise for ε in all.
    Laplace,
}

/// One size of noise.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Which.
    pub kind: NoiseKind,
    /// α or ε, as it was written.
    pub size: String,
    /// What the model adds. Deniable decides for itself.
    pub noise: Noise,
    /// What is promised about all answers together.
    pub promise: Option<Promise>,
}

/// What is promised about all answers together.
#[derive(Clone, Debug)]
pub struct Promise {
    /// ε.
    pub epsilon: Epsilon,
    /// δ.
    pub delta: Delta,
    /// ε and δ as they were written.
    pub words: String,
}

/// What came out at one setting.
#[derive(Clone, Debug)]
pub struct Recovered<'study> {
    /// The setting.
    pub setting: &'study Setting,
    /// Bits that came out right by each way, in the order of the study, and out of how many.
    pub right: Vec<u64>,
    /// Out of how many.
    pub bits: u64,
    /// What the ledger did, if there is one.
    pub ledger: Option<LedgerAnswered>,
}

/// How the ledger answered.
#[derive(Clone, Debug)]
pub struct LedgerAnswered {
    /// ε of one question.
    pub each: Epsilon,
    /// Questions answered, in all runs.
    pub answered: u64,
    /// Whether every run ended with a refusal.
    pub refused: bool,
}

impl NoiseKind {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Uniform => "uniform",
            Self::Gaussian => "Gaussian",
            Self::Laplace => "Laplace",
        }
    }
}

impl Promise {
    /// The most that anybody gets of the bits.
    pub fn at_most(&self) -> f64 {
        attack::bound::right_guesses(self.epsilon.to_f64_up(), self.delta.to_f64_up())
    }
}

impl Setting {
    /// The true counts.
    pub fn without_noise() -> Self {
        Self {
            kind: NoiseKind::None,
            size: "0".to_owned(),
            noise: Noise::None,
            promise: None,
        }
    }

    /// Uniform noise up to ±α√n.
    ///
    /// # Errors
    /// When α is not positive.
    pub fn uniform(alpha: f64, people: usize) -> Result<Self, Error> {
        if !(alpha.is_finite() && alpha > 0.0) {
            return Err(attack::Error::bad_setting(
                "α is how far the noise goes, so it is a positive number",
                "take --alpha 0.5, or --noise none",
            )
            .into());
        }
        Ok(Self {
            kind: NoiseKind::Uniform,
            size: alpha.to_string(),
            noise: Noise::uniform(alpha, people),
            promise: None,
        })
    }

    /// Gaussian noise for ε and δ in all of this many answers, both as they are written.
    ///
    /// # Errors
    /// When one of them is no such number.
    pub fn gaussian(epsilon: &str, delta: &str, queries: u64) -> Result<Self, Error> {
        let (epsilon_read, delta_read) = (Epsilon::parse(epsilon)?, Delta::parse(delta)?);
        Ok(Self {
            kind: NoiseKind::Gaussian,
            size: epsilon.to_owned(),
            noise: Noise::gaussian_for(&epsilon_read, &delta_read, queries)?,
            promise: Some(Promise {
                epsilon: epsilon_read,
                delta: delta_read,
                words: format!("ε = {epsilon}, δ = {delta}"),
            }),
        })
    }

    /// Laplace noise for ε in all of this many answers, as it is written.
    ///
    /// # Errors
    /// When it is no such number.
    pub fn laplace(epsilon: &str, queries: u64) -> Result<Self, Error> {
        let read = Epsilon::parse(epsilon)?;
        Ok(Self {
            kind: NoiseKind::Laplace,
            size: epsilon.to_owned(),
            noise: Noise::laplace_for(&read, queries)?,
            promise: Some(Promise {
                epsilon: read,
                delta: Delta::ZERO,
                words: format!("ε = {epsilon}"),
            }),
        })
    }

    /// In words, for a table.
    pub fn words(&self) -> String {
        match (self.kind, &self.promise) {
            (NoiseKind::None, _) => "none".to_owned(),
            (kind, Some(promise)) => format!("{}, {}", kind.name(), promise.words),
            _ => format!("uniform, ±{}·√n", self.size),
        }
    }

    fn method(&self, way: Way) -> Method {
        match (way, self.noise) {
            (Way::LeastSquares, _) => Method::LeastSquares,
            // Bounded noise leaves a body of points that are equally likely; any other asks for the least
            // distance.
            (_, Noise::Uniform { most }) => Method::LinearProgram(Fit::Within(most)),
            (_, Noise::None) => Method::LinearProgram(Fit::Within(0.5)),
            _ => Method::LinearProgram(Fit::LeastAbsolute),
        }
    }
}

impl Recovered<'_> {
    /// The part of the bits that came out right by one of the ways.
    pub fn fraction(&self, place: usize) -> f64 {
        self.right[place] as f64 / self.bits as f64
    }

    /// Whether more came out than was promised, so much that chance explains it with probability below 1e-9.
    ///
    /// With δ = 0 the number of right guesses is at most binomial ([`attack::bound::right_guesses`]); δ adds
    /// less than any of the digits here.
    pub fn broken(&self) -> bool {
        const FALSE_ALARM: f64 = 1e-9;
        self.setting.promise.as_ref().is_some_and(|promise| {
            let at_most = promise.at_most();
            self.right
                .iter()
                .any(|right| audit::binomial::at_least(*right, self.bits, at_most) < FALSE_ALARM)
        })
    }
}

/// A stream for one run of one setting: settings share secrets and queries, so that they differ in their
/// noise alone.
fn stream(seed: u64, run: u64) -> noise::Seeded {
    noise::Seeded::new(seed.wrapping_mul(1_000_003).wrapping_add(run))
}

impl Study {
    /// How many steps the watcher of [`Study::of_a_model`] is told of.
    pub fn steps_of_a_model(&self) -> u64 {
        self.settings.len() as u64 * self.runs * self.ways.len() as u64
    }

    /// How many steps the watcher of [`Study::of_deniable`] is told of.
    pub fn steps_of_deniable(&self) -> u64 {
        self.settings.len() as u64 * self.runs * self.queries as u64
    }

    /// The attack on a model that answers everything: all settings, each over all runs.
    ///
    /// # Errors
    /// When a solver fails.
    pub fn of_a_model(&self, watch: &Watch<'_>) -> Result<Vec<Recovered<'_>>, Error> {
        const LABEL: &str = "reconstructing";
        let row = |setting| Recovered {
            setting,
            right: vec![0; self.ways.len()],
            bits: 0,
            ledger: None,
        };
        let mut rows: Vec<Recovered<'_>> = self.settings.iter().map(row).collect();
        for run in 0..self.runs {
            if run > 0 && !watch(LABEL, 0) {
                break;
            }
            let mut seeded = stream(self.seed, run);
            let bits = secrets(self.people, &mut seeded);
            let queries = Queries::random(self.people, self.queries, &mut seeded)?;
            for (place, row) in rows.iter_mut().enumerate() {
                row.bits += self.people as u64;
                let noise = stream(
                    self.seed,
                    self.runs + run * self.settings.len() as u64 + place as u64,
                );
                let mut model = Model::new(&bits, row.setting.noise, noise);
                let Ok(answers) = interrogate(&mut model, &queries, || ());
                for (way, count) in self.ways.iter().zip(&mut row.right) {
                    let estimates = estimate(&queries, &answers, row.setting.method(*way))?;
                    *count += right(&rounded(&estimates), &bits);
                    watch(LABEL, 1);
                }
            }
        }
        Ok(rows)
    }

    /// The same attack through private SQL, until the ledger refuses: all budgets, each over all runs with a
    /// fresh ledger.
    ///
    /// # Errors
    /// When a budget is too small for so many questions, a solver fails, or the synthetic data cannot be
    /// asked about.
    pub fn of_deniable(&self, watch: &Watch<'_>) -> Result<Vec<Recovered<'_>>, Error> {
        const LABEL: &str = "asking";
        // As many more as it takes to be refused, where the ledger composes better than was foreseen.
        let asked = self.queries + self.queries / 4 + 4;
        let mut rows = Vec::new();
        for setting in &self.settings {
            let Some(promise) = &setting.promise else { continue };
            if !rows.is_empty() && !watch(LABEL, 0) {
                break;
            }
            let mut row = Recovered {
                setting,
                right: vec![0; self.ways.len()],
                bits: self.people as u64 * self.runs,
                ledger: None,
            };
            let mut ledger = LedgerAnswered {
                each: Epsilon::ZERO,
                answered: 0,
                refused: true,
            };
            for run in 0..self.runs {
                let mut seeded = stream(self.seed, run);
                let bits = secrets(self.people, &mut seeded);
                let queries = Queries::random(self.people, asked, &mut seeded)?;
                let mut people = People::new(&bits, Neighbors::ChangeOne, &promise.epsilon, &promise.delta)?;
                let mut store = people.fresh_ledger()?;
                let each = affordable(&mut store, promise, self.queries as u64)?;
                ledger.each = each.clone();
                let mut oracle = Private {
                    people: &people,
                    store,
                    each,
                    refused: false,
                };
                let answers = interrogate(&mut oracle, &queries, || {
                    watch(LABEL, 1);
                })?;
                ledger.answered += answers.len() as u64;
                ledger.refused &= oracle.refused;
                for (way, count) in self.ways.iter().zip(&mut row.right) {
                    let estimates = estimate(&queries, &answers, setting.method(*way))?;
                    *count += right(&rounded(&estimates), &bits);
                }
            }
            row.ledger = Some(ledger);
            rows.push(row);
        }
        Ok(rows)
    }
}

/// Private SQL as an oracle of subset queries.
struct Private<'a> {
    people: &'a People,
    store: Store,
    each: Epsilon,
    refused: bool,
}

impl Oracle for Private<'_> {
    type Error = Error;

    fn answer(&mut self, subset: Subset<'_>) -> Result<Option<f64>, Error> {
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

/// The largest ε that this many counts can have each, to a thousandth: what an attacker who reads the manual
/// would ask for.
fn affordable(store: &mut Store, promise: &Promise, questions: u64) -> Result<Epsilon, Error> {
    let mut fits = |each: &Rational| -> Result<bool, Error> {
        let one = Event::Laplace {
            ratio: Ratio::at_least(each),
            on: NoiseSupport::DiscreteScalar { sensitivity: 1 },
        };
        let all = Event::Repeated {
            event: Box::new(one),
            times: questions,
        };
        Ok(store.fits(ANALYST, &all)?)
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
    match Epsilon::rounded_down(&exact::decimal_at_most(&low, 4))? {
        none if none == Epsilon::ZERO => Err(attack::Error::bad_setting(
            "the budget is too small to ask this many questions",
            "raise --epsilon, or lower --queries",
        )
        .into()),
        each => Ok(each),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(settings: Vec<Setting>) -> Study {
        Study {
            people: 64,
            queries: 256,
            runs: 2,
            seed: 1,
            settings,
            ways: vec![Way::LeastSquares, Way::LinearProgram],
        }
    }

    #[test]
    fn noise_below_the_root_gives_everything_away_and_private_noise_does_not() {
        let study = study(vec![
            Setting::without_noise(),
            Setting::uniform(0.1, 64).unwrap(),
            Setting::gaussian("0.5", "1e-6", 256).unwrap(),
            Setting::laplace("0.5", 256).unwrap(),
        ]);
        let rows = study.of_a_model(&|_, _| true).unwrap();
        let fractions: Vec<(f64, f64)> = rows
            .iter()
            .map(|row| (row.fraction(0), row.fraction(1)))
            .collect();
        assert_eq!(&fractions[..2], [(1.0, 1.0); 2]);
        // 128 fair coins and a seed: within 0.2 of what a coin gets, and of the bound 0.622.
        for (squares, program) in &fractions[2..] {
            assert!(
                (squares - 0.5).abs() < 0.2 && (program - 0.5).abs() < 0.2,
                "{fractions:?}"
            );
        }
        assert!(rows.iter().all(|row| !row.broken()));
    }

    #[test]
    fn more_than_was_promised_is_noticed() {
        let setting = Setting::gaussian("0.1", "1e-6", 256).unwrap();
        let mut row = Recovered {
            setting: &setting,
            right: vec![40, 64],
            bits: 64,
            ledger: None,
        };
        assert!(row.broken());
        row.right = vec![40, 33];
        assert!(!row.broken());
    }

    #[test]
    fn deniable_stops_answering() {
        let mut study = study(vec![Setting::laplace("1", 6).unwrap()]);
        (study.people, study.queries, study.runs) = (8, 6, 1);
        let promise = study.settings[0].promise.as_mut().unwrap();
        promise.delta = Delta::parse("1e-6").unwrap();
        let rows = study.of_deniable(&|_, _| true).unwrap();
        let ledger = rows[0].ledger.clone().unwrap();
        assert!(
            ledger.refused && (6..=11).contains(&ledger.answered),
            "{}",
            ledger.answered
        );
        assert!(!rows[0].broken());
    }

    #[test]
    fn whoever_stops_it_keeps_the_runs_that_were_done() {
        let mut study = study(vec![Setting::without_noise()]);
        (study.people, study.queries, study.runs) = (16, 64, 5);
        let rows = study.of_a_model(&|_, _| false).unwrap();
        assert!(rows.iter().all(|row| row.bits == 16 && row.right[0] <= 16));
    }
}
