//! How often the same query can be asked, what would fit, and what is left then. All of it follows from
//! earlier charges and parameters, never from data.

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
    /// What that is after one such charge; `None` if it does not fit. Under an (ε, δ) budget it falls by less
    /// than the charge costs: many small releases add up to less than their sum.
    pub left_after: Option<Epsilon>,
}

/// How many charges of one kind fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct More {
    /// So many, one after the other, if nobody else asks anything.
    pub count: u64,
    /// Whether only this many were tried, and more may fit.
    pub at_least: bool,
}

impl More {
    /// Of an event that is charged again and again, `most` times at most: `fits` says whether an event does.
    pub(crate) fn of(event: &Event, most: u64, fits: impl Fn(&Event) -> bool) -> Self {
        let fits = |times: u64| {
            let repeated = Event::Repeated {
                event: Box::new(event.clone()),
                times,
            };
            times == 0 || fits(&repeated)
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
            count: low,
            at_least: low == most,
        }
    }
}

impl Forecast {
    /// Of an event that this analyst is charged for again and again, `most` times at most.
    pub(crate) fn of(tally: &Tally, analyst: &str, event: &Event, most: u64) -> Self {
        let More { count, at_least } = More::of(event, most, |event| tally.fits(analyst, event));
        Self {
            more: count,
            at_least,
            left: tally.left(analyst).epsilon,
            left_after: tally.left_after(analyst, event).map(|left| left.epsilon),
        }
    }
}
