//! How often the same can be asked, and what would fit: derived from earlier charges and parameters, never from data.

use crate::tally::Tally;
use accounting::{Epsilon, Event};

/// What more of the same would fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// How many more charges like this one fit, one after the other, if nobody else asks anything.
    pub more: u64,
    /// Whether only this many were tried, and more may fit.
    pub at_least: bool,
    /// The largest ε of one further release of any kind.
    pub left: Epsilon,
}

impl Forecast {
    /// Of an event that this analyst is charged for again and again, `most` times at most.
    pub(crate) fn of(tally: &Tally, analyst: &str, event: &Event, most: u64) -> Self {
        let fits = |times: u64| {
            let repeated = Event::Repeated {
                event: Box::new(event.clone()),
                times,
            };
            times == 0 || tally.fits(analyst, &repeated)
        };
        // What is charged adds up, so if n fit then fewer do.
        let (mut low, mut high) = (0, most + 1);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Self {
            more: low,
            at_least: low == most,
            left: tally.left(analyst).epsilon,
        }
    }
}
