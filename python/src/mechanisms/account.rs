//! An account: a budget, where it is kept, and everything that is charged to it.

use super::claim::{Claim, OnGrid, grid_of_range, grid_of_sum};
use super::input::Numbers;
use super::noise::{Noise, Norm};
use super::released::{Released, Reports, Value};
use super::session::{Opening, Session};
use crate::accounting::{delta, epsilon, neighbors};
use crate::errors::{Class, epsilon_that_fits, of_parameter};
use crate::work::waiting;
use accounting::{Budget, Delta, Epsilon, Neighbors, PrivacyUnit, Promise, Ratio, Rho};
use exact::{Rational, from_f64, parse_decimal, to_f64_nearest};
use ledger::{Place, Rules, Store, Temporary};
use mechanism::{
    AboveThreshold, Account, Aggregate, Bounds, Charge, Error, ExponentialMechanism, Laplace, Ledger,
    MemoryLedger, NoisyMax, PermuteAndFlip, Quantile, Quantiles, RandomizedResponse, Receipt, Refusal,
    Sensitive, Sensitivity, Stated,
};
use noise::Grid;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard};

/// Where charges are kept.
enum Book {
    /// As long as the process lives.
    Memory(Box<MemoryLedger>),
    /// In a file. Where nobody named one it is a temporary one, for the filter of (ε, δ) and ρ that only a store has.
    Stored { store: Box<Store>, analyst: String },
}

/// The one ledger of an account, for whoever draws. It is held only while a charge is made.
#[derive(Clone)]
pub(crate) struct Shared {
    book: Arc<Mutex<Book>>,
    budget: Budget,
    question: String,
}

impl Shared {
    pub(crate) fn unit(&self) -> &PrivacyUnit {
        self.budget.unit()
    }

    fn book(&self) -> Result<MutexGuard<'_, Book>, String> {
        // A thread that failed while holding it may have left a charge half made.
        self.book
            .lock()
            .map_err(|_| "an earlier charge failed inside".to_owned())
    }
}

impl Ledger for Shared {
    fn charge(&mut self, charge: Charge) -> Result<Receipt, Refusal> {
        match &mut *self.book().map_err(Refusal::NotRecorded)? {
            Book::Memory(ledger) => ledger.charge(charge),
            Book::Stored { store, analyst, .. } => store
                .session(analyst, &self.question)
                .map_err(|error| Refusal::NotRecorded(error.to_string()))?
                .charge(charge),
        }
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn remaining(&self) -> Promise {
        let nothing = Promise::Pure(Epsilon::ZERO);
        let Ok(mut book) = self.book() else {
            return nothing;
        };
        match &mut *book {
            Book::Memory(ledger) => ledger.remaining(),
            Book::Stored { store, analyst, .. } => store
                .left(analyst)
                .map_or(nothing, |left| Promise::Pure(left.epsilon)),
        }
    }
}

/// What a mechanism says.
pub(crate) fn raised(error: Error) -> PyErr {
    let Error::Refused(refusal) = error else {
        return of_parameter(error);
    };
    let class = match &refusal {
        Refusal::NotRecorded(_) | Refusal::NoRoom(_) => Class::Ledger,
        _ => Class::Budget,
    };
    let raised = class.raise(&refusal);
    if let Refusal::Budget(accounting::Error::OverBudget { cost, .. }) = &refusal {
        // An exception of ours has this attribute.
        Python::attach(|py| {
            let _ = raised.value(py).setattr("cost", cost);
        });
    }
    raised
}

fn of_ledger(error: ledger::Error) -> PyErr {
    Class::Ledger.raise(error)
}

/// A number as it was written, or as a float is exactly, whichever is larger: a bound that holds for both.
fn at_least(text: &str) -> PyResult<Rational> {
    let written = parse_decimal(text).map_err(|_| {
        of_parameter("a sensitivity or a bound is not a number\nhint: give a number such as 1.5")
    })?;
    let exactly = text.parse::<f64>().ok().and_then(from_f64);
    Ok(match exactly {
        Some(exactly) if exactly > written => exactly,
        _ => written,
    })
}

/// The ends of a range, as floats.
fn ends(bounds: (f64, f64)) -> PyResult<(Rational, Rational)> {
    let (low, high) = (from_f64(bounds.0), from_f64(bounds.1));
    match (low, high) {
        (Some(low), Some(high)) if low <= high => Ok((low, high)),
        _ => Err(of_parameter(
            "bounds must be finite and in order\nhint: give what the values can be by their nature, such as bounds=(0, 100); bounds read off the data tell about it",
        )),
    }
}

/// One unit's largest move of a sum of values in this range.
fn moves(neighbors: Neighbors, low: &Rational, high: &Rational) -> Rational {
    let magnitude = |value: &Rational| value.clone() * value.signum();
    match neighbors {
        Neighbors::AddRemove => magnitude(low).max(magnitude(high)),
        Neighbors::ChangeOne => high - low,
    }
}

/// See `deniable.mechanisms.Account`.
#[pyclass(frozen, name = "Account", module = "deniable._deniable")]
pub(crate) struct PyAccount {
    shared: Shared,
    /// A forked child holds a copy, and two accounts would spend one budget twice.
    process: u32,
}

impl PyAccount {
    fn shared(&self, question: String) -> PyResult<Shared> {
        if self.process != std::process::id() {
            return Err(Class::Ledger.raise(
                "the process forked since this account was opened, and a copy of a budget would be spent twice\nhint: open one account in each process, on a ledger in a file that they share",
            ));
        }
        Ok(Shared {
            question,
            ..self.shared.clone()
        })
    }

    fn unit(&self) -> PrivacyUnit {
        self.shared.unit().clone()
    }

    /// Runs what draws, without the interpreter's lock.
    fn draw<T: Send + 'static>(
        &self,
        py: Python<'_>,
        what: &str,
        purpose: &str,
        work: impl FnOnce(&mut Account<Shared>) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let shared = self.shared(format!("{what}: {purpose}"))?;
        let drawn = waiting(py, move || {
            let left = shared.clone();
            let drawn = Account::open(shared).and_then(|mut account| work(&mut account));
            drawn.map_err(|error| {
                let refused = matches!(error, Error::Refused(_));
                Box::new((error, refused.then(|| left.remaining())))
            })
        })?;
        drawn.map_err(|refused| {
            let (error, left) = *refused;
            let raised = raised(error);
            if let Some(Promise::Pure(left)) = left {
                // Only exceptions about a budget have it; any other may do without.
                let _ = raised.value(py).setattr("left", epsilon_that_fits(&left));
            }
            raised
        })
    }

    /// Runs what reads the ledger.
    fn read<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Book) -> Result<T, ledger::Error> + Send + 'static,
    ) -> PyResult<T> {
        let shared = self.shared(String::new())?;
        waiting(py, move || {
            let mut book = shared.book().map_err(Err)?;
            work(&mut book).map_err(Ok)
        })?
        .map_err(|error| match error {
            Ok(error) => of_ledger(error),
            Err(what) => Class::Ledger.raise(format!("{what}\nhint: open the account again")),
        })
    }
}

#[pymethods]
impl PyAccount {
    #[new]
    fn new(
        py: Python<'_>,
        limit: (Option<String>, Option<String>, Option<String>),
        unit: String,
        neighbors: &str,
        ledger: Option<String>,
        analyst: String,
    ) -> PyResult<Self> {
        let limit = match limit {
            (Some(text), None, None) => Promise::Pure(epsilon(&text)?),
            (Some(of_epsilon), Some(of_delta), None) => match delta(&of_delta)? {
                // (ε, 0)-DP is ε-DP.
                delta if delta == Delta::ZERO => Promise::Pure(epsilon(&of_epsilon)?),
                delta => Promise::Approximate(epsilon(&of_epsilon)?, delta),
            },
            (None, None, Some(rho)) => Promise::Concentrated(Rho::parse(&rho).map_err(of_parameter)?),
            _ => {
                return Err(of_parameter(
                    "a budget is an ε, an ε and a δ, or a ρ\nhint: give epsilon=1, or epsilon=1 and delta=1e-6, or rho=0.1",
                ));
            }
        };
        let unit = PrivacyUnit::new(unit, self::neighbors(neighbors)?);
        let budget = Budget::new(limit, unit);
        let rules = Rules::new(budget.clone());
        let book = waiting(py, move || -> Result<Book, ledger::Error> {
            let place = match (&ledger, rules.budget.limit()) {
                (None, Promise::Pure(_)) => {
                    return Ok(Book::Memory(Box::new(MemoryLedger::new(rules.budget))));
                }
                (None, _) => Place::Temporary(Temporary::new()?),
                (Some(name), _) => Place::named(name),
            };
            Ok(Book::Stored {
                store: Box::new(Store::open(&place, &rules)?),
                analyst,
            })
        })?
        .map_err(of_ledger)?;
        let shared = Shared {
            book: Arc::new(Mutex::new(book)),
            budget,
            question: String::new(),
        };
        Ok(Self {
            shared,
            process: std::process::id(),
        })
    }

    /// The limit, and whom it protects.
    #[getter]
    fn budget(&self) -> (String, String) {
        (self.shared.budget.limit().to_string(), self.unit().to_string())
    }

    /// The largest ε of one further release, rounded down.
    fn left(&self, py: Python<'_>) -> PyResult<f64> {
        self.read(py, |book| match book {
            Book::Memory(ledger) => Ok(match ledger.remaining() {
                Promise::Pure(epsilon) => epsilon_that_fits(&epsilon),
                // Only a pure budget is kept in memory.
                _ => 0.0,
            }),
            Book::Stored { store, analyst, .. } => Ok(epsilon_that_fits(&store.left(analyst)?.epsilon)),
        })
    }

    /// Everything that was charged: its number, what for, what it costs, and what ran.
    fn charges(&self, py: Python<'_>) -> PyResult<Vec<(u64, String, String, String)>> {
        let charges = self.read(py, |book| match book {
            Book::Memory(ledger) => Ok(ledger
                .charges()
                .iter()
                .zip(1u64..)
                .map(|(charge, number)| (number, charge.clone()))
                .collect::<Vec<_>>()),
            Book::Stored { store, .. } => Ok(store
                .charges()?
                .into_iter()
                .map(|entry| {
                    let charge = Charge {
                        event: entry.event,
                        guarantee: entry.guarantee,
                        purpose: entry.purpose,
                    };
                    (entry.number, charge)
                })
                .collect()),
        })?;
        charges
            .into_iter()
            .map(|(number, charge)| {
                let event = serde_json::to_string(&charge.event).map_err(of_parameter)?;
                let cost = charge.guarantee.promise().to_string();
                Ok((number, charge.purpose, cost, event))
            })
            .collect()
    }

    /// Adds noise to numbers of which the caller states the sensitivity.
    fn noisy(
        &self,
        py: Python<'_>,
        numbers: Numbers,
        scalar: bool,
        sensitivity: (&str, Option<u64>),
        noise: Noise,
        purpose: &str,
    ) -> PyResult<Released> {
        let claim = Claim {
            sensitivity: at_least(sensitivity.0)?,
            norm: noise.norm(),
            coordinates: sensitivity.1,
        };
        let (unit, words) = (self.unit(), purpose.to_owned());
        self.draw(py, "noise", purpose, move |account| {
            let OnGrid {
                steps,
                sensitivity,
                grid,
                rounded,
            } = claim.put(numbers, &noise.scale()?)?;
            if let (true, [value]) = (scalar, steps.as_slice()) {
                let one = Aggregate::claimed(Sensitive::new(*value), sensitivity, unit, grid);
                return Ok(Released::new(
                    noise.add(account, one, &words)?,
                    rounded,
                    Value::One,
                ));
            }
            let many = Aggregate::claimed(Sensitive::new(steps), sensitivity, unit, grid);
            Ok(Released::new(
                noise.add(account, many, &words)?,
                rounded,
                Value::Many,
            ))
        })
    }

    /// How many are true.
    fn count(&self, py: Python<'_>, values: Numbers, noise: Noise, purpose: &str) -> PyResult<Released> {
        let (unit, words) = (self.unit(), purpose.to_owned());
        self.draw(py, "count", purpose, move |account| {
            let count = Aggregate::count(&Sensitive::new(values.booleans()), unit);
            Ok(Released::new(
                noise.add(account, count, &words)?,
                false,
                Value::One,
            ))
        })
    }

    /// How many have each of the first `bins` numbers.
    fn histogram(
        &self,
        py: Python<'_>,
        values: Numbers,
        bins: u32,
        noise: Noise,
        purpose: &str,
    ) -> PyResult<Released> {
        let codes = values.codes();
        let (unit, words) = (self.unit(), purpose.to_owned());
        self.draw(py, "histogram", purpose, move |account| {
            let counts = Aggregate::histogram(&Sensitive::new(codes), bins, unit)?;
            Ok(Released::new(
                noise.add(account, counts, &words)?,
                false,
                Value::Many,
            ))
        })
    }

    /// The sum of values that are each cut to the bounds.
    fn sum(
        &self,
        py: Python<'_>,
        values: Numbers,
        bounds: (f64, f64),
        noise: Noise,
        purpose: &str,
    ) -> PyResult<Released> {
        let (low, high) = ends(bounds)?;
        let (unit, words) = (self.unit(), purpose.to_owned());
        self.draw(py, "sum", purpose, move |account| {
            let whole = matches!(values, Numbers::Whole(_)) && low.is_int() && high.is_int();
            let grid = grid_of_sum(whole, &moves(unit.neighbors, &low, &high), &noise.scale()?);
            let values = Sensitive::new(values.reals());
            let sum = Aggregate::bounded_sum(&values, bounds.0, bounds.1, grid, unit)?;
            Ok(Released::new(
                noise.add(account, sum, &words)?,
                !whole,
                Value::One,
            ))
        })
    }

    /// The sum of how far values, cut to the bounds, are from the middle of them, and how many there are: charged together, each with half of ε.
    /// Where the number of units is public, the sum alone, with all of it.
    fn centred(
        &self,
        py: Python<'_>,
        values: Numbers,
        bounds: (f64, f64),
        epsilon: &str,
        purpose: &str,
    ) -> PyResult<(Released, Option<Released>, f64, usize)> {
        let (low, high) = ends(bounds)?;
        let half = Rational::from(2u8);
        let centre = to_f64_nearest(&((&low + &high) / &half));
        let (down, up) = (bounds.0 - centre, bounds.1 - centre);
        let (low, high) = ends((down, up))?;
        let epsilon = self::epsilon(epsilon)?;
        let (unit, words) = (self.unit(), purpose.to_owned());
        self.draw(py, "mean", purpose, move |account| {
            let length = values.len();
            // Subtraction is rounded alike for the ends and for what lies between them, so nothing leaves
            // them.
            let around: Vec<f64> = values
                .reals()
                .into_iter()
                .map(|value| value.clamp(bounds.0, bounds.1) - centre)
                .collect();
            let two = unit.neighbors == Neighbors::AddRemove;
            let share = if two {
                Epsilon::rounded_down(&(epsilon.as_rational() / &half))?
            } else {
                epsilon
            };
            let noise = Noise::Laplace(share.clone());
            let grid = grid_of_sum(false, &moves(unit.neighbors, &low, &high), &noise.scale()?);
            let sum = Aggregate::bounded_sum(&Sensitive::new(around), down, up, grid, unit.clone())?;
            if !two {
                let sum = noise.add(account, sum, &words)?;
                return Ok((Released::new(sum, true, Value::One), None, centre, length));
            }
            let one = Sensitivity::scalar(1)?;
            let rows = Aggregate::claimed(Sensitive::new(length as i64), one, unit, Grid::new(0));
            let of_sum = Laplace::new(share.clone(), sum.sensitivity().clone(), sum.grid())?;
            let of_rows = Laplace::new(share, rows.sensitivity().clone(), rows.grid())?;
            let both: [&dyn Stated; 2] = [&of_sum, &of_rows];
            let mut tickets = account
                .reserve(&both, &Delta::ZERO, &words)?
                .into_tickets()
                .into_iter();
            let mut ticket = || tickets.next().ok_or(Error::NotReserved);
            let sum = account.draw(ticket()?, &of_sum, sum)?;
            let rows = account.draw(ticket()?, &of_rows, rows)?;
            // The number of rows is private here.
            Ok((
                Released::new(sum, true, Value::One),
                Some(Released::new(rows, false, Value::One)),
                centre,
                0,
            ))
        })
    }

    /// Chooses one of several by their scores.
    fn choose(
        &self,
        py: Python<'_>,
        how: (&str, bool),
        scores: Numbers,
        sensitivity: &str,
        epsilon: &str,
        purpose: &str,
    ) -> PyResult<Released> {
        let (how, monotone) = (how.0.to_owned(), how.1);
        let claim = Claim {
            sensitivity: at_least(sensitivity)?,
            norm: Norm::Infinity,
            coordinates: None,
        };
        let epsilon = self::epsilon(epsilon)?;
        let (unit, words) = (self.unit(), purpose.to_owned());
        self.draw(py, "choice", purpose, move |account| {
            let candidates = scores.len();
            let scale = Noise::Laplace(epsilon.clone()).scale()?;
            let put = claim.put(scores, &scale)?;
            let sensitivity = put.sensitivity.clone();
            let scores = Aggregate::claimed(Sensitive::new(put.steps), put.sensitivity, unit, put.grid);
            macro_rules! chosen_by {
                ($mechanism:ty) => {{
                    let choice = <$mechanism>::new(epsilon, sensitivity, candidates)?;
                    let choice = if monotone { choice.monotone() } else { choice };
                    account.release_by(&choice, scores, &words)?
                }};
            }
            let release = match how.as_str() {
                "exponential" => chosen_by!(ExponentialMechanism),
                "noisy_max" => chosen_by!(NoisyMax),
                _ => chosen_by!(PermuteAndFlip),
            };
            Ok(Released::new(release, put.rounded, Value::Choice))
        })
    }

    /// Each unit's answer, randomized.
    fn randomized_response(
        &self,
        py: Python<'_>,
        values: Numbers,
        answers: u32,
        epsilon: &str,
        purpose: &str,
    ) -> PyResult<Reports> {
        let codes = values.codes();
        let mechanism = RandomizedResponse::new(self::epsilon(epsilon)?, answers).map_err(raised)?;
        let (unit, words) = (self.unit(), purpose.to_owned());
        self.draw(py, "randomized response", purpose, move |account| {
            let answers = Aggregate::answers(Sensitive::new(codes), unit);
            let release = account.release_by(&mechanism, answers, &words)?;
            Ok(Reports::new(mechanism, release))
        })
    }

    /// Points of a public range whose ranks are near these fractions.
    fn quantiles(
        &self,
        py: Python<'_>,
        values: Numbers,
        fractions: Vec<String>,
        range: ((f64, f64), Option<String>),
        epsilon: &str,
        purpose: &str,
    ) -> PyResult<Released> {
        let (low, high) = ends(range.0)?;
        let fractions: Vec<Rational> = fractions
            .iter()
            .map(|text| Ratio::parse(text).map(|ratio| ratio.as_rational().clone()))
            .collect::<Result<_, _>>()
            .map_err(of_parameter)?;
        let resolution = range.1.as_deref().map(at_least).transpose()?;
        let epsilon = self::epsilon(epsilon)?;
        let (unit, words, ends) = (self.unit(), purpose.to_owned(), range.0);
        self.draw(py, "quantiles", purpose, move |account| {
            let whole =
                matches!(values, Numbers::Whole(_)) && resolution.is_none() && low.is_int() && high.is_int();
            let grid = grid_of_range(whole, &(high - low), resolution.as_ref());
            let bounds = Bounds::new(grid.round(ends.0), grid.round(ends.1), grid)?;
            let column = Aggregate::column(&Sensitive::new(values.reals()), grid, unit.clone());
            if let [fraction] = fractions.as_slice() {
                let quantile = Quantile::new(epsilon, fraction, bounds, unit.neighbors)?;
                let release = account.release_by(&quantile, column, &words)?;
                return Ok(Released::new(release, !whole, Value::One));
            }
            let quantiles = Quantiles::new(&epsilon, &fractions, bounds, unit.neighbors)?;
            let release = account.release_by(&quantiles, column, &words)?;
            Ok(Released::new(release, !whole, Value::Many))
        })
    }

    /// Which of these numbers are about at or above the threshold, until so many are.
    fn above_threshold(
        &self,
        py: Python<'_>,
        numbers: (Numbers, Numbers),
        how: (u32, bool),
        sensitivity: &str,
        epsilon: &str,
        purpose: &str,
    ) -> PyResult<Released> {
        let (numbers, threshold) = numbers;
        let opening = opening((&numbers, threshold), how, sensitivity, self::epsilon(epsilon)?)?;
        let (unit, words) = (self.unit(), purpose.to_owned());
        self.draw(py, "above threshold", purpose, move |account| {
            let numbers = if opening.whole {
                numbers
            } else {
                Numbers::Real(numbers.reals())
            };
            let put = opening.claim.put(numbers, &opening.scale)?;
            let queries = Aggregate::claimed(
                Sensitive::new(put.steps),
                opening.sensitivity.clone(),
                unit,
                opening.grid,
            );
            let release = account.release_by(&opening.mechanism, queries, &words)?;
            Ok(Released::new(release, put.rounded, Value::Answers))
        })
    }

    /// The same, asked one by one.
    fn threshold_session(
        &self,
        py: Python<'_>,
        threshold: Numbers,
        how: (u32, bool),
        sensitivity: &str,
        epsilon: &str,
        purpose: &str,
    ) -> PyResult<Session> {
        let alike = match &threshold {
            Numbers::Whole(_) => Numbers::Whole(Vec::new()),
            Numbers::Real(_) => Numbers::Real(Vec::new()),
        };
        let opening = opening((&alike, threshold), how, sensitivity, self::epsilon(epsilon)?)?;
        let shared = self.shared(format!("threshold: {purpose}"))?;
        Session::open(py, shared, opening, purpose.to_owned())
    }
}

/// A threshold for numbers like these: on the integers where both are whole.
fn opening(
    (numbers, threshold): (&Numbers, Numbers),
    (positives, monotone): (u32, bool),
    sensitivity: &str,
    epsilon: Epsilon,
) -> PyResult<Opening> {
    let whole = matches!((numbers, &threshold), (Numbers::Whole(_), Numbers::Whole(_)));
    let claim = Claim {
        sensitivity: at_least(sensitivity)?,
        norm: Norm::Infinity,
        coordinates: Some(1),
    };
    let made = || {
        let scale = Noise::Laplace(epsilon.clone()).scale()?;
        let threshold = if whole {
            threshold
        } else {
            Numbers::Real(threshold.reals())
        };
        // The threshold is put on the grid as the queries are.
        let put = claim.put(threshold, &scale)?;
        let level = put.steps.first().copied().unwrap_or_default();
        // One unit may move all of them, each by at most this much.
        let length = (numbers.len() as u64).max(1);
        let sensitivity = Sensitivity::vector(length, put.sensitivity.l_infinity().clone())?;
        let mechanism = AboveThreshold::new(epsilon, level, positives, sensitivity.clone(), put.grid)?;
        let mechanism = if monotone { mechanism.monotone() } else { mechanism };
        Ok((mechanism, sensitivity, put.grid, scale))
    };
    let (mechanism, sensitivity, grid, scale) = made().map_err(raised)?;
    Ok(Opening {
        mechanism,
        sensitivity,
        grid,
        claim,
        scale,
        whole,
    })
}
