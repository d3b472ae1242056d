//! Tries queries on invented rows. The rows follow from the catalog alone, so nothing is charged and nothing
//! private is read.
//!
//! They run on the engine that runs real queries, so the time of one tells how busy the engine is. Answers
//! leave on the same schedule as those of real queries. A query that nobody waits for any more keeps its turn
//! until it has ended.

use super::queue::{Limits, Queue};
use super::{Identity, Question, Service, unserved};
use crate::failure::Failure;
use arrow_array::RecordBatch;
use ledger::Caps;
use sql::{Answered, Dataset};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Questions that are tried on one dummy before it begins anew: its ledger has a budget too, of which δ is
/// the smaller part.
const TRIES: usize = 100;
/// How long somebody waits for a turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// The dummy of the dataset, made when it is first asked.
pub(super) struct Dummy {
    made: Mutex<Option<Arc<Made>>>,
    turns: Arc<Queue>,
    /// The rows of its tables, to show some.
    rows: OnceLock<BTreeMap<String, RecordBatch>>,
}

impl Default for Dummy {
    fn default() -> Self {
        Self {
            made: Mutex::default(),
            // One at a time: nobody's paid question waits for free ones.
            turns: Queue::new(Limits {
                at_once: 1,
                kept: 0,
                of_one: 1,
                waiting: 256,
                waiting_of_one: 16,
            }),
            rows: OnceLock::new(),
        }
    }
}

impl Dummy {
    /// Who waits for a turn.
    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.turns
    }
}

struct Made {
    dataset: Dataset,
    tries: AtomicUsize,
}

impl Service {
    /// The rows of the dummy of a table; `None` for one that has none. They are made once for everybody.
    pub(crate) fn dummy_rows(&self, table: &str) -> Option<&RecordBatch> {
        let catalog = self.dataset.catalog();
        let made = || {
            let rows = |table: &String| sql::sample::dummy_rows(catalog, table).ok().flatten();
            let tables = catalog.tables.keys();
            tables
                .filter_map(|table| rows(table).map(|rows| (table.clone(), rows)))
                .collect()
        };
        self.dummy.rows.get_or_init(made).get(table)
    }

    /// The answer that the dummy gives to a question, with the noise that the real one would have. Free;
    /// leaves on the schedule.
    ///
    /// # Errors
    /// When the question is refused.
    pub(crate) async fn try_on_dummy(
        self: &Arc<Self>,
        who: &Identity,
        question: &Question,
    ) -> Result<Answered, Failure> {
        let since = Instant::now();
        let tried = self.tried(who, question).await;
        self.settings.schedule.hold(since).await;
        tried
    }

    async fn tried(self: &Arc<Self>, who: &Identity, question: &Question) -> Result<Answered, Failure> {
        self.admit(who)?;
        let mut request = question.request(who)?;
        // What is spent here is nothing.
        request.caps = Caps::default();
        let (service, name) = (Arc::clone(self), who.name().to_owned());
        // In a task of its own, which goes on if nobody waits any more, as the query does.
        let running = tokio::spawn(async move {
            let turn = service.dummy.turns.turn(&name, 1, Some(PATIENCE)).await;
            let _turn = turn.map_err(unserved)?;
            let dummy = service.dummy().await?;
            Ok(dummy.dataset.query(&request).await?)
        });
        running
            .await
            .map_err(|_| Failure::defect("trying on dummy rows failed"))?
    }

    async fn dummy(&self) -> Result<Arc<Made>, Failure> {
        let mut made = self.dummy.made.lock().await;
        if let Some(dummy) = made.as_ref()
            && dummy.tries.fetch_add(1, Ordering::Relaxed) < TRIES
        {
            return Ok(Arc::clone(dummy));
        }
        let catalog = sql::sample::dummy(self.dataset.catalog())?;
        let dummy = Arc::new(Made {
            dataset: self.dataset.beside(catalog),
            tries: AtomicUsize::new(1),
        });
        *made = Some(Arc::clone(&dummy));
        Ok(dummy)
    }
}
