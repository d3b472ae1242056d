//! Every accountant asked about the same plan.

use crate::{
    Accountant, Between, Curve, Delta, Epsilon, Error, Event, PrivacyUnit, Promise, epsilon_of_concentrated,
};
use exact::Rational;

/// What is asked of a plan.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The ε at this δ.
    pub delta: Option<Delta>,
    /// The δ at this ε.
    pub epsilon: Option<Epsilon>,
    /// Also for a group of this many.
    pub group: Option<u32>,
}

/// What one accountant found: a bound that certainly holds, and where it knows one, a bound that certainly does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// What is certainly needed, where it is known.
    pub lower: Option<T>,
    /// What certainly holds.
    pub upper: T,
}

impl<T> From<Between<T>> for Found<T> {
    fn from(between: Between<T>) -> Self {
        Self {
            lower: Some(between.lower),
            upper: between.upper,
        }
    }
}

impl<T> From<T> for Found<T> {
    fn from(upper: T) -> Self {
        Self { lower: None, upper }
    }
}

/// An answer, or why this accountant has none.
pub type Answer<T> = Result<Found<T>, Error>;

/// What one accountant says.
#[derive(Clone, Debug)]
pub struct Row {
    /// Who says it.
    pub accountant: Accountant,
    /// The ε at the δ that was asked about.
    pub epsilon: Option<Answer<Epsilon>>,
    /// The δ at the ε that was asked about.
    pub delta: Option<Answer<Delta>>,
    /// What the group is promised.
    pub group: Option<Result<Promise, Error>>,
}

/// What all of them say, in the order of [`Accountant::ALL`].
///
/// ```
/// use accounting::plan::{Mechanism, ReleasePlan};
/// use accounting::{Answers, Delta, Epsilon, Neighbors, PrivacyUnit, Question};
///
/// let plan = ReleasePlan::new(vec![Mechanism::Pure.release("0.1x10")?])?;
/// let person = PrivacyUnit::new("person", Neighbors::AddRemove);
/// let question = Question { delta: Some(Delta::ZERO), ..Question::default() };
/// let answers = Answers::of(&plan.event(), &person, &question);
/// assert_eq!(answers.best_epsilon(), Some(&Epsilon::parse("1")?));
/// # Ok::<(), accounting::plan::Mistake>(())
/// ```
#[derive(Clone, Debug)]
pub struct Answers {
    /// One row for each accountant.
    pub rows: Vec<Row>,
}

impl Answers {
    /// Asks every accountant. The certified one comes last.
    pub fn of(event: &Event, unit: &PrivacyUnit, question: &Question) -> Self {
        let rows = Accountant::ALL
            .into_iter()
            .map(|accountant| {
                let curve = (accountant == Accountant::Numerical).then(|| Curve::of(event, unit));
                let epsilon = question.delta.as_ref().map(|delta| match &curve {
                    Some(curve) => curve
                        .as_ref()
                        .map_err(Error::clone)
                        .and_then(|curve| curve.epsilon(delta))
                        .map(Found::from),
                    None => accountant.epsilon(event, unit, delta).map(Found::from),
                });
                let delta = question.epsilon.as_ref().map(|epsilon| match &curve {
                    Some(curve) => curve
                        .as_ref()
                        .map_err(Error::clone)
                        .and_then(|curve| curve.delta(epsilon))
                        .map(Found::from),
                    None => accountant.delta(event, unit, epsilon).map(Found::from),
                });
                let mut row = Row {
                    accountant,
                    epsilon,
                    delta,
                    group: None,
                };
                row.group = question
                    .group
                    .and_then(|size| row.for_group(event, unit, question, size));
                row
            })
            .collect();
        let mut answers = Self { rows };
        answers.lower_the_certified(Curve::of(event, unit).is_ok_and(|curve| curve.is_attained()));
        answers
    }

    /// Whatever another accountant proves is certified as well; and where the curve is that of pairs which dominate and need not be
    /// reached, its lower end says nothing about what runs.
    fn lower_the_certified(&mut self, attained: bool) {
        let (epsilon, delta) = (self.best_epsilon().cloned(), self.best_delta().cloned());
        let Some(row) = self
            .rows
            .iter_mut()
            .find(|row| row.accountant == Accountant::Numerical)
        else {
            return;
        };
        if let (Some(Ok(found)), Some(best)) = (&mut row.epsilon, epsilon) {
            found.lower = found.lower.take().filter(|_| attained);
            // A lower end above it would be a contradiction, which is looked for elsewhere.
            if found.lower.as_ref().is_none_or(|lower| *lower <= best) {
                found.upper = best;
            }
        }
        if let (Some(Ok(found)), Some(best)) = (&mut row.delta, delta) {
            found.lower = found.lower.take().filter(|_| attained);
            if found.lower.as_ref().is_none_or(|lower| *lower <= best) {
                found.upper = best;
            }
        }
    }

    /// The certified answer's row.
    pub fn certified(&self) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.accountant == Accountant::Numerical)
    }

    /// The smallest ε that certainly holds. Every accountant is sound, so it may be anyone's.
    pub fn best_epsilon(&self) -> Option<&Epsilon> {
        let found = self
            .rows
            .iter()
            .filter_map(|row| row.epsilon.as_ref()?.as_ref().ok());
        found.map(|found| &found.upper).min()
    }

    /// The smallest δ that certainly holds.
    pub fn best_delta(&self) -> Option<&Delta> {
        let found = self
            .rows
            .iter()
            .filter_map(|row| row.delta.as_ref()?.as_ref().ok());
        found.map(|found| &found.upper).min()
    }

    /// An accountant whose bound is below what is certainly needed. Then one of two proofs is wrong, and no number may be shown.
    pub fn contradiction(&self) -> Option<Accountant> {
        let certified = self.certified()?;
        let found = |row: &Row| {
            below(row.epsilon.as_ref(), certified.epsilon.as_ref())
                || below(row.delta.as_ref(), certified.delta.as_ref())
        };
        self.rows.iter().find(|row| found(row)).map(|row| row.accountant)
    }

    /// Why there is no answer at all, when there is none: the first reason of the accountant that reads most.
    pub fn silence(&self) -> Option<&Error> {
        if self.best_epsilon().is_some() || self.best_delta().is_some() {
            return None;
        }
        // That there is no δ is a reason for all of them; what the certified one cannot read may be one for it alone.
        let mut errors = self
            .rows
            .iter()
            .filter_map(|row| row.epsilon.as_ref()?.as_ref().err());
        if let Some(error) = errors.find(|error| **error == Error::NeedsDelta) {
            return Some(error);
        }
        let row = self.certified()?;
        let epsilon = row.epsilon.as_ref().and_then(|answer| answer.as_ref().err());
        epsilon.or_else(|| row.delta.as_ref().and_then(|answer| answer.as_ref().err()))
    }
}

impl Row {
    /// What `size` units are promised together: what the accountant says of the event as it concerns them, or else what follows from
    /// one unit's promise.
    fn for_group(
        &self,
        event: &Event,
        unit: &PrivacyUnit,
        question: &Question,
        size: u32,
    ) -> Option<Result<Promise, Error>> {
        if let Ok(group) = event.for_group(size) {
            let said = match (&question.delta, &question.epsilon) {
                (Some(delta), _) => self
                    .accountant
                    .epsilon(&group, unit, delta)
                    .map(|epsilon| Promise::Approximate(epsilon, delta.clone())),
                (None, Some(epsilon)) => self
                    .accountant
                    .delta(&group, unit, epsilon)
                    .map(|delta| Promise::Approximate(epsilon.clone(), delta)),
                (None, None) => return None,
            };
            if said.is_ok() {
                return Some(said);
            }
        }
        // A promise in its own currency grows more slowly than its conversion: a pure one keeps δ = 0, a ρ grows with k².
        let own = question.delta.as_ref().and_then(|delta| match self.accountant {
            Accountant::Basic => match event.promise(delta) {
                Ok(pure @ Promise::Pure(_)) => Some(pure.for_group(size)),
                _ => None,
            },
            Accountant::Concentrated => Some(event.concentrated().and_then(|rho| {
                match Promise::Concentrated(rho).for_group(size)? {
                    Promise::Concentrated(rho) => epsilon_of_concentrated(&rho, delta)
                        .map(|epsilon| Promise::Approximate(epsilon, delta.clone())),
                    other => Ok(other),
                }
            })),
            _ => None,
        });
        if own.is_some() {
            return own;
        }
        let (epsilon, delta) = match (&self.epsilon, &question.delta, &self.delta, &question.epsilon) {
            (Some(Ok(found)), Some(delta), _, _) => (found.upper.clone(), delta.clone()),
            (_, _, Some(Ok(found)), Some(epsilon)) => (epsilon.clone(), found.upper.clone()),
            _ => return None,
        };
        Some(Promise::Approximate(epsilon, delta).for_group(size))
    }
}

/// ε or δ.
pub trait Quantity {
    /// The number itself.
    fn value(&self) -> &Rational;
}

impl Quantity for Epsilon {
    fn value(&self) -> &Rational {
        self.as_rational()
    }
}

impl Quantity for Delta {
    fn value(&self) -> &Rational {
        self.as_rational()
    }
}

fn below<T: Quantity>(said: Option<&Answer<T>>, certified: Option<&Answer<T>>) -> bool {
    match (said, certified) {
        (
            Some(Ok(said)),
            Some(Ok(Found {
                lower: Some(least), ..
            })),
        ) => said.upper.value() < least.value(),
        _ => false,
    }
}

/// How many times as large as the certified bound another is; `None` where there is no certified one, or it is 0.
pub fn times_certified<T: Quantity>(found: &Found<T>, certified: &Answer<T>) -> Option<f64> {
    let best = certified.as_ref().ok()?.upper.value();
    (!best.is_zero()).then(|| exact::to_f64_nearest(&(found.upper.value() / best)))
}
