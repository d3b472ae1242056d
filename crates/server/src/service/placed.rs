//! What is charged has a place from when it begins until its outcome leaves, and turns while it works, reads
//! data and computes.

use super::queue::{Brief, Standing};
use super::running::Counted;
use super::{Identity, Service, unserved};
use crate::failure::Failure;
use sql::Stage;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A turn to work is handed on after this, though its question works on.
const LONGEST_TURN: Duration = Duration::from_secs(1);

/// What is told how far work that has a place has come.
pub(super) type Watch = Box<dyn FnMut(Stage) + Send>;

/// The result of a question.
pub(super) struct Outcome<T> {
    /// From when on the schedule counts; `None` for a question that waited in line and never began.
    pub(super) begun: Option<Instant>,
    pub(super) answered: Result<T, Failure>,
    /// Counts it among those that are under way, until it has left.
    counted: Option<Counted>,
}

impl<T> Outcome<T> {
    pub(super) fn of(begun: Instant, answered: Result<T, Failure>) -> Self {
        Self {
            begun: Some(begun),
            answered,
            counted: None,
        }
    }

    /// The same, with what becomes of the result.
    pub(super) fn map<U>(self, settle: impl FnOnce(Result<T, Failure>) -> Result<U, Failure>) -> Outcome<U> {
        Outcome {
            begun: self.begun,
            answered: settle(self.answered),
            counted: self.counted,
        }
    }
}

impl Service {
    /// Releases the result of a query when the schedule says so.
    pub(super) async fn leave<T>(&self, came: Instant, outcome: Outcome<T>) -> Result<T, Failure> {
        let Outcome {
            begun,
            answered,
            counted,
        } = outcome;
        match begun {
            Some(begun) => self.settings.schedule.hold(begun).await,
            None => self.settings.schedule.hold_briefly(came).await,
        }
        drop(counted);
        let failed = answered.as_ref().err();
        self.metrics.question(failed.map(|failure| failure.code));
        answered
    }

    /// Waits in line for a place, which takes this much of the line, and works in it.
    ///
    /// Work that has a place is planned and charged, and only then waits for the engine. The
    /// reason: everybody can see when something is charged, and when the engine is free again depends on the
    /// data that somebody else's query read. The engine is free for the next query as soon as the data is
    /// read.
    ///
    /// Work before and after that has turns too, so that a single query of an account shares the processors
    /// with few others. Such a turn is handed on after [`LONGEST_TURN`] whatever its query does then: run the
    /// analyst's own SQL, ask a database for its plan, or look for the answer of another program. So others
    /// wait for it, and for nothing that depends on data: a query whose data is read waits for its moment
    /// first.
    ///
    /// While the analyst's own SQL computes something of what was released, no other question of the account
    /// does: what such SQL takes is limited for each, and so it is limited for an account.
    pub(super) async fn in_place<T, W>(
        self: &Arc<Self>,
        who: &Identity,
        length: usize,
        work: impl FnOnce(Watch) -> W,
    ) -> Outcome<T>
    where
        W: Future<Output = Result<T, Failure>>,
    {
        let counted = Some(self.running.count(who.name()));
        let patience = Some(self.settings.patience);
        let place = match self.places.turn(who.name(), length, patience).await {
            Ok(place) => place,
            Err(none) => {
                return Outcome {
                    begun: None,
                    answered: Err(unserved(none)),
                    counted,
                };
            }
        };
        let begun = Instant::now();
        let charged = Arc::new(AtomicBool::new(false));
        let standing = place.standing().clone();
        // An account that was revoked while it waited does not ask any more.
        let answered = match self.still_signed_in(who).await {
            Ok(_) => work(self.watch(standing, begun, &charged).await).await,
            Err(failure) => Err(failure),
        };
        if charged.load(Ordering::SeqCst) {
            // The next in line gets the place when the answer leaves, also if nobody waits for the answer.
            let schedule = self.settings.schedule;
            tokio::spawn(async move {
                schedule.hold(begun).await;
                drop(place);
            });
        }
        Outcome {
            counted,
            ..Outcome::of(begun, answered)
        }
    }

    /// Takes and gives back turns as work that began then goes on. It has one to work already.
    async fn watch(self: &Arc<Self>, standing: Standing, begun: Instant, charged: &Arc<AtomicBool>) -> Watch {
        let mut working = self.work(&standing).await;
        let (mut reading, mut computing) = (None, None);
        let (service, charged) = (Arc::clone(self), Arc::clone(charged));
        let runtime = tokio::runtime::Handle::current();
        // On a thread that may wait, of which there are no more than places. What is had is given back before
        // anything else is waited for.
        Box::new(move |stage: Stage| {
            if stage == Stage::Drawn {
                return;
            }
            drop((working.take(), reading.take(), computing.take()));
            match stage {
                Stage::Begun => working = runtime.block_on(service.work(&standing)),
                Stage::Charged => {
                    charged.store(true, Ordering::SeqCst);
                    reading = runtime.block_on(service.turns.next_turn(&standing)).ok();
                }
                Stage::Measured => {
                    service.settings.schedule.hold_before_saving(begun);
                    working = runtime.block_on(service.work(&standing));
                }
                Stage::Computing => {
                    computing = runtime.block_on(service.computing.next_turn(&standing)).ok();
                    working = runtime.block_on(service.work(&standing));
                }
                Stage::Understood | Stage::Drawn => {}
            }
        })
    }

    /// Waits for a turn to work.
    async fn work(&self, standing: &Standing) -> Option<Brief> {
        let turn = self.working.next_turn(standing).await.ok()?;
        Some(Brief::new(turn, LONGEST_TURN))
    }
}
