use crate::{Accuracy, Aggregate, Error, Sensitivity, Terms};
use accounting::{Epsilon, Event, Neighbors, Promise};
use exact::{Rational, to_f64_up};

/// A table of weights can index this many.
const MOST_CANDIDATES: usize = 1 << 26;

/// What all choices by score have in common.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    terms: Terms,
    candidates: usize,
    /// In how many scales the bound on the shortfall falls by a factor e.
    slack: u8,
    /// Δ/ε.
    step: Rational,
    /// 2Δ/ε; Δ/ε when scores are monotone.
    scale: Rational,
}

impl Contest {
    /// A choice whose run is this event, and that is short of the best by g with probability at most candidates·e^(−g/(slack·scale)).
    pub(crate) fn new(
        epsilon: Epsilon,
        sensitivity: Sensitivity,
        candidates: usize,
        event: fn(Epsilon) -> Event,
        slack: u8,
    ) -> Result<Self, Error> {
        if epsilon == Epsilon::ZERO {
            return Err(Error::NoEpsilon);
        }
        if candidates == 0 {
            return Err(Error::Noise(noise::Error::NoCandidates));
        }
        if candidates > MOST_CANDIDATES {
            return Err(Error::Noise(noise::Error::TooManyCandidates));
        }
        let step = sensitivity.l_infinity() / epsilon.as_rational();
        let scale = Rational::from(2u8) * &step;
        let terms = Terms::new(
            sensitivity,
            event(epsilon.clone()),
            Promise::Pure(epsilon),
            accuracy(candidates, slack, &scale),
        );
        Ok(Self {
            terms,
            candidates,
            slack,
            step,
            scale,
        })
    }

    /// A changed unit takes one record away and adds another, which moves scores both ways: so only for units added or removed.
    pub(crate) fn monotone(self) -> Self {
        let accuracy = accuracy(self.candidates, self.slack, &self.step);
        Self {
            terms: self.terms.only_for(Neighbors::AddRemove).with_accuracy(accuracy),
            scale: self.step.clone(),
            ..self
        }
    }

    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// 2Δ/ε; Δ/ε when scores are monotone.
    pub(crate) fn scale(&self) -> &Rational {
        &self.scale
    }

    /// One score for each candidate, whatever came: a missing score is zero, and what is too much is not looked at.
    pub(crate) fn scores(&self, input: Aggregate<Vec<i64>>) -> Vec<i64> {
        let mut scores = input.open();
        scores.resize(self.candidates, 0);
        scores
    }
}

fn accuracy(candidates: usize, slack: u8, scale: &Rational) -> Accuracy {
    Accuracy::Choice {
        count: candidates as u64,
        scale: to_f64_up(&(Rational::from(slack) * scale)),
    }
}
