//! When answers leave.
//!
//! How long a query runs depends on the data. So every outcome (a new answer, a saved one, a refusal, a
//! failure) leaves at T, 2T, 4T, … after the query began: at the first of these moments at which it is ready.
//! T is a setting of the server. An observer learns which of these moments it was, and nothing finer. A query
//! that waited in line before it began is not held any longer for that.
//!
//! Two events that others can see must not happen at a finer moment either:
//!
//! - *The answer is saved*, and the same query is free from then on. So a query that has read its data waits
//!   until ¾T, 1½T, 3T, … before noise is drawn and the answer is saved. The last quarter is for that.
//! - *A waiting query begins in its place.* So a query keeps its place until its answer leaves.

use std::time::{Duration, Instant};

/// When answers leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    unit: Option<Duration>,
}

impl Schedule {
    /// At this long after a question began, twice as long, four times as long, …
    pub fn every(unit: Duration) -> Self {
        Self {
            unit: Some(unit).filter(|unit| !unit.is_zero()),
        }
    }

    /// As soon as they are ready: for people who have the data anyway.
    pub fn off() -> Self {
        Self { unit: None }
    }

    /// The moment after a question began, at or after `ready`, at which what is ready then leaves.
    pub fn slot(&self, ready: Duration) -> Duration {
        let Some(unit) = self.unit else {
            return ready;
        };
        let mut slot = unit;
        while slot < ready {
            slot = slot.saturating_mul(2);
        }
        slot
    }

    /// The moment after a query began, at or after `measured`, at which a query that has read its data by
    /// then goes on.
    pub fn slot_to_save(&self, measured: Duration) -> Duration {
        let Some(unit) = self.unit else {
            return measured;
        };
        let mut slot = unit * 3 / 4;
        while slot < measured {
            slot = slot.saturating_mul(2);
        }
        slot
    }

    /// Waits, on a thread that may, until a question that has read its data now goes on.
    pub(crate) fn hold_before_saving(&self, begun: Instant) {
        if self.unit.is_some() {
            let slot = self.slot_to_save(begun.elapsed());
            std::thread::sleep(slot.saturating_sub(begun.elapsed()));
        }
    }

    /// Waits until what is ready now, of a question that began then, may leave.
    pub(crate) async fn hold(&self, begun: Instant) {
        if self.unit.is_some() {
            let slot = self.slot(begun.elapsed());
            tokio::time::sleep_until((begun + slot).into()).await;
        }
    }

    /// Waits until the first moment after a request, if that is not over: for what never began, of which
    /// nothing depends on data.
    pub(crate) async fn hold_briefly(&self, came: Instant) {
        if let Some(unit) = self.unit {
            tokio::time::sleep_until((came + unit).into()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_leaves_at_a_power_of_two() {
        let schedule = Schedule::every(Duration::from_millis(100));
        let slot = |milliseconds| schedule.slot(Duration::from_millis(milliseconds)).as_millis();
        assert_eq!(
            [0, 1, 100, 101, 200, 201, 399, 401].map(slot),
            [100, 100, 100, 200, 200, 400, 400, 800]
        );
        assert_eq!(Schedule::off().slot(Duration::from_millis(7)).as_millis(), 7);
        let saved = |milliseconds| {
            schedule
                .slot_to_save(Duration::from_millis(milliseconds))
                .as_millis()
        };
        assert_eq!([0, 75, 76, 150, 151].map(saved), [75, 75, 150, 150, 300]);
    }

    #[tokio::test]
    async fn what_is_ready_waits_for_its_moment() {
        let schedule = Schedule::every(Duration::from_millis(40));
        let begun = Instant::now();
        schedule.hold_before_saving(begun);
        assert!(begun.elapsed() >= Duration::from_millis(30));
        schedule.hold(begun).await;
        assert!(begun.elapsed() >= Duration::from_millis(40));
    }
}
