//! The deep search: outputs are rows, the event is learned, the pair is searched for, and the audit may stop
//! at any moment.
//!
//! 1. *Choose.* Rows are reduced by views (entries, differences, order, raw bits, the whole row) and by
//!    fitted likelihood ratios, and each is cut into cells. All of them, on all pairs of neighbours, race
//!    each other on ever more draws ([`super::race`]). Earlier draws rank the cells, later ones choose the
//!    set of best cells with the largest bound that the test can be expected to give.
//! 2. *Test.* The chosen event is counted on draws that nothing has seen ([`Chosen`]).

use super::chosen::Chosen;
use super::effort::Hunt;
use super::group::ends;
use super::race::{race, rows_learned};
use super::subject::{Pair, Subject, Teller};
use crate::Error;

/// The least number of draws to choose from.
const FEWEST: u64 = 64;

impl Hunt {
    fn check(&self) -> Result<(), Error> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::ConfidenceOutOfRange);
        }
        if !(0.0..=1.0).contains(&self.delta) {
            return Err(Error::DeltaOutOfRange);
        }
        if self.choosing < FEWEST {
            return Err(Error::TooFewSamples {
                samples: self.choosing,
                least: FEWEST,
            });
        }
        Ok(())
    }

    /// Of the draws that choose, those that are learned from: such a row costs as much time as many others.
    pub(crate) fn rows_learned(choosing: u64) -> u64 {
        rows_learned(choosing)
    }

    /// Chooses the pair and the event. All draws made here are forgotten by the test. Where pairs share an
    /// input, by its number, inputs two steps apart are searched as well ([`super::group`]); what is found
    /// there is reported for one step.
    pub fn choose<S: Subject>(&self, workers: &mut [S], pairs: &[Pair]) -> Result<Chosen, S::Error> {
        self.choose_unless(workers, pairs, || false)
    }

    /// The same, with fewer draws from the moment on that `late` says so, for whatever reason: what was drawn
    /// so far chooses, and the rest is cut down to an eighth. The test is as valid as ever, since it has
    /// draws of its own.
    pub fn choose_unless<S: Subject>(
        &self,
        workers: &mut [S],
        pairs: &[Pair],
        mut late: impl FnMut() -> bool,
    ) -> Result<Chosen, S::Error> {
        self.check()?;
        if pairs.is_empty() || workers.is_empty() {
            return Err(Error::NoPairs.into());
        }
        let mut ends = ends(pairs);
        // For a δ above zero group privacy is weaker, and not worth the time to search for it.
        if self.delta > 0.0 {
            ends.retain(|ends| ends.steps == 1);
        }
        let winner = race(self, workers, &ends, &mut late)?;
        let teller = Teller {
            entry: &|place| workers[0].entry(place),
            text: &|word| workers.iter().find_map(|worker| worker.text(word)),
        };
        Ok(Chosen::new(winner, self.delta, self.confidence, &teller))
    }
}
