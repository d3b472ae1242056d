use crate::{Accuracy, Aggregate, Error, Sensitivity};
use accounting::{Epsilon, Neighbors, Promise};
use exact::{Rational, to_f64_up};

/// A table of weights can index this many.
const MOST_CANDIDATES: usize = 1 << 26;

/// What all choices by score have in common.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    pub(crate) epsilon: Epsilon,
    pub(crate) sensitivity: Sensitivity,
    pub(crate) candidates: usize,
    pub(crate) monotone: bool,
}

impl Contest {
    pub(crate) fn new(epsilon: Epsilon, sensitivity: Sensitivity, candidates: usize) -> Result<Self, Error> {
        if epsilon == Epsilon::ZERO {
            return Err(Error::NoEpsilon);
        }
        if candidates == 0 {
            return Err(Error::Noise(noise::Error::NoCandidates));
        }
        if candidates > MOST_CANDIDATES {
            return Err(Error::Noise(noise::Error::TooManyCandidates));
        }
        Ok(Self {
            epsilon,
            sensitivity,
            candidates,
            monotone: false,
        })
    }

    /// 2Δ/ε; Δ/ε when scores are monotone.
    pub(crate) fn scale(&self) -> Rational {
        let moves = Rational::from(if self.monotone { 1u8 } else { 2u8 });
        moves * self.sensitivity.l_infinity() / self.epsilon.as_rational()
    }

    /// One score for each candidate, whatever came: a missing score is zero, and what is too much is not looked at.
    pub(crate) fn scores(&self, input: Aggregate<Vec<i64>>) -> Vec<i64> {
        let mut scores = input.open();
        scores.resize(self.candidates, 0);
        scores
    }

    /// A changed unit takes one record away and adds another: that moves scores both ways.
    pub(crate) fn requires(&self) -> Option<Neighbors> {
        self.monotone.then_some(Neighbors::AddRemove)
    }

    pub(crate) fn promise(&self) -> Promise {
        Promise::Pure(self.epsilon.clone())
    }

    /// Short of the best by g with probability at most candidates·e^(−g/scale).
    pub(crate) fn accuracy(&self, scale: &Rational) -> Accuracy {
        Accuracy::Choice {
            count: self.candidates as u64,
            scale: to_f64_up(scale),
        }
    }
}
