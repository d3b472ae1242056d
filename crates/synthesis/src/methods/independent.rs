//! Each attribute alone.

use super::{Rounds, SAFE};
use accounting::Rho;
use mechanism::{Asking, Round, RoundResult};

pub(super) struct Independent<'a> {
    rounds: &'a Rounds,
}

impl<'a> Independent<'a> {
    pub(super) fn new(rounds: &'a Rounds) -> Self {
        Self { rounds }
    }
}

impl Asking for Independent<'_> {
    fn next(&mut self, released: &[RoundResult], _: &Rho) -> Option<Round> {
        let count = self.rounds.sizes.len();
        let each = SAFE * self.rounds.rho / count as f64;
        (released.len() < count).then(|| self.rounds.measure(&[released.len()], each))
    }
}
