//! Planned releases: listed and explained for nothing, made by curators, and read by everybody who may ask.
//!
//! What somebody else may do to those who wait:
//!
//! - *Listing and explaining* is planning, and stands in its line: two at once, one of each account.
//! - *Reading* a release parses what the ledger keeps of it and puts tables together, which for the largest
//!   release takes a second and a few hundred megabytes. So it has a line of its own, with two turns, one of
//!   each account, and what is sent at once has a limited number of cells. It depends on what was released
//!   and on nothing else, so it leaves when it is ready.
//! - *Making* one takes the memory that the plan says. So one is made at a time, by curators alone, and it has
//!   a place and turns among the questions.

use super::queue::{Limits, Queue};
use super::{Identity, Outcome, Service, forbidden, unserved};
use crate::accounts::Right;
use crate::failure::{Code, Failure};
use accounting::Epsilon;
use ledger::{Left, Once, Receipt};
use serde::{Serialize, Serializer};
use sql::{
    Answer, Answered, ListedRelease, ReleaseExplanation, ReleaseRequest, ReleasedTables, WantedError,
    WantedTableError,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Cells that are sent at once: as JSON about 16 MiB, which is what a connection keeps.
pub(crate) const MOST_CELLS: u64 = 100_000;
/// Tables of a plan that are sent at once; a plan has up to 200,000.
const MOST_TABLES: usize = 20_000;
/// The rows that a cell is taken to have where an error is wanted in per cent.
const CELL_SIZE: u64 = 1000;
/// How long an account waits to read.
const PATIENCE: Duration = Duration::from_secs(10);

/// One release is made at a time.
pub(super) fn making() -> Arc<Queue> {
    Queue::new(Limits {
        at_once: 1,
        kept: 0,
        of_one: 1,
        waiting: 16,
        waiting_of_one: 4,
    })
}

/// Two are read at a time, by two accounts.
pub(super) fn reading() -> Arc<Queue> {
    Queue::new(Limits {
        at_once: 2,
        kept: 0,
        of_one: 1,
        waiting: 1024,
        waiting_of_one: 32,
    })
}

/// How exact a release is wanted to be, in place of what the catalog says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanWanted {
    /// What it may cost: a decimal.
    pub epsilon: Option<String>,
    /// Instead: the largest expected error of a cell, in rows or as a part of its rows as in `2%`.
    pub error: Option<String>,
    /// The number of rows that a cell is taken to have; 1,000 where nothing is said.
    pub cell_size: Option<u64>,
}

/// A release before it is made.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedView {
    /// The smallest ε for the wanted error, if one was wanted; what follows is for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_epsilon: Option<Epsilon>,
    /// Its tables and their errors, and what it costs.
    #[serde(flatten)]
    pub explanation: ReleaseExplanation,
    /// Tables that are planned and not listed here, because they are so many.
    pub tables_left_out: usize,
    /// The charge that paid for it, if it was made for this price.
    pub made_by_charge: Option<u64>,
}

/// A release that was made.
#[derive(Clone, Debug, Serialize)]
pub struct MadeRelease {
    /// Its name in the catalog.
    pub release: String,
    /// The table of which rows were counted.
    pub table: String,
    /// What it cost.
    pub guarantee: String,
    /// The charge that paid for it.
    pub charge: u64,
    /// Whether the same was released before, so that it cost nothing now.
    pub repeated: bool,
    /// Whether an earlier charge paid for it, whose run was interrupted.
    pub resumed: bool,
    /// The names of its tables.
    pub tables: Vec<String>,
    /// Tables that are not listed here, because they are so many.
    pub tables_left_out: usize,
    /// What may still be spent by who made it, and by everybody.
    #[serde(serialize_with = "epsilons")]
    pub left: Left,
    /// What was charged and released, signed.
    pub receipt: Option<Receipt>,
}

fn epsilons<S: Serializer>(left: &Left, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Epsilons<'a> {
        epsilon: &'a Epsilon,
        dataset: &'a Epsilon,
        share: &'a Option<Epsilon>,
    }
    let (epsilon, dataset, share) = (&left.epsilon, &left.dataset, &left.share);
    Epsilons {
        epsilon,
        dataset,
        share,
    }
    .serialize(serializer)
}

impl MadeRelease {
    pub(crate) fn of(released: &ReleasedTables) -> Self {
        let mut tables = released.names();
        let tables_left_out = tables.len().saturating_sub(MOST_TABLES);
        tables.truncate(MOST_TABLES);
        Self {
            release: released.release.clone(),
            table: released.table.clone(),
            guarantee: released.cost.guarantee.to_string(),
            charge: released.cost.charge,
            repeated: released.repeated,
            resumed: released.resumed,
            tables,
            tables_left_out,
            left: released.left.clone(),
            receipt: released.receipt.clone(),
        }
    }
}

/// A table of a release, for whoever shows or sends it.
#[derive(Clone, Debug)]
pub(crate) struct ReadTable {
    /// The table, as an answer that costs nothing.
    pub(crate) answered: Answered,
    /// One line about the whole release: whose privacy was kept how, and what paid for it.
    pub(crate) header: String,
}

impl Service {
    /// The releases that the catalog plans, and which were made: for whoever has this right. Free.
    ///
    /// # Errors
    /// When somebody may not see them, or too many look.
    pub async fn releases(&self, who: &Identity, right: Right) -> Result<Vec<ListedRelease>, Failure> {
        self.allow(who, right)?;
        let dataset = self.planner();
        self.plan_in_turn(who, async move { dataset.releases().await })
            .await
    }

    /// What a release will be like. Free, and reads no private data.
    ///
    /// # Errors
    /// When somebody may not see it, there is none of this name, or it cannot be planned.
    pub async fn plan_release(
        &self,
        who: &Identity,
        right: Right,
        name: &str,
        wanted: &PlanWanted,
    ) -> Result<PlannedView, Failure> {
        self.allow(who, right)?;
        let mut request = self.request_of(who, name)?;
        request.epsilon = wanted.epsilon.as_deref().map(epsilon).transpose()?;
        let error = wanted.error.as_deref().map(|text| error(text, wanted.cell_size));
        let error = error.transpose()?;
        let dataset = self.planner();
        self.plan_in_turn(who, async move {
            let found_epsilon = match &error {
                None => None,
                Some(error) => Some(dataset.epsilon_for_release(&request, error).await?),
            };
            request.epsilon = found_epsilon.clone().or(request.epsilon);
            let mut explanation = dataset.explain_release(&request).await?;
            let tables_left_out = explanation.tables.len().saturating_sub(MOST_TABLES);
            explanation.tables.truncate(MOST_TABLES);
            explanation.shares.truncate(MOST_TABLES);
            Ok(PlannedView {
                found_epsilon,
                explanation,
                tables_left_out,
                made_by_charge: dataset.release_charge(&request).await?,
            })
        })
        .await
    }

    /// Makes a release, for curators: charged once, before the data is read, and the same for nothing if it
    /// was made before. What it may cost stands in the catalog, to which curators have agreed. Leaves on the
    /// schedule; if the client goes away, it is made all the same.
    ///
    /// # Errors
    /// When somebody may not, it does not fit, or it fails after its charge.
    pub async fn make_release(
        self: &Arc<Self>,
        who: &Identity,
        name: &str,
        idempotency_key: Option<&str>,
    ) -> Result<MadeRelease, Failure> {
        let came = Instant::now();
        let outcome = match self.release_request(who, name, idempotency_key) {
            Err(failure) => Outcome::of(came, Err(failure)),
            Ok(request) => {
                let (service, who) = (Arc::clone(self), who.clone());
                // A task of its own: the client may go away, and what is charged is finished.
                let run = tokio::spawn(async move { service.run_release(&who, request).await });
                run.await.unwrap_or_else(|_| {
                    Outcome::of(came, Err(Failure::defect("the release could not be made")))
                })
            }
        };
        self.leave(came, outcome).await
    }

    fn release_request(
        &self,
        who: &Identity,
        name: &str,
        idempotency_key: Option<&str>,
    ) -> Result<ReleaseRequest, Failure> {
        if !who.may(Right::Keep) {
            return Err(forbidden());
        }
        self.admit(who)?;
        let mut request = self.request_of(who, name)?;
        if let Some(key) = idempotency_key {
            request.once = Some(once(who, key, &format!("release {name}"))?);
        }
        request.caps = who.account.caps.clone();
        Ok(request)
    }

    async fn run_release(self: &Arc<Self>, who: &Identity, request: ReleaseRequest) -> Outcome<MadeRelease> {
        let came = Instant::now();
        let patience = Some(self.settings.patience);
        let turn = match self.releasing.turn(who.name(), 1, patience).await {
            Ok(turn) => turn,
            Err(none) => return Outcome::of(came, Err(unserved(none))),
        };
        let service = Arc::clone(self);
        let ran = self.in_place(who, 1, |watch| async move {
            let released = service.dataset.release_tables(&request, watch).await?;
            service.made.fetch_add(1, Ordering::SeqCst);
            Ok(MadeRelease::of(&released))
        });
        let ran = ran.await;
        drop(turn);
        ran.map(|made| {
            if let Err(failure) = &made {
                self.note_refusal(who, failure);
            }
            made
        })
    }

    /// One table of a release that was made, by these attributes or levels of them. Free.
    ///
    /// # Errors
    /// When it was not made, does not tell this table, or the table is too large to send.
    pub(crate) async fn released_table(
        &self,
        who: &Identity,
        name: &str,
        by: Vec<String>,
    ) -> Result<ReadTable, Failure> {
        self.read_release(who, name, move |released| {
            let by: Vec<&str> = by.iter().map(String::as_str).collect();
            check_size(released.cells_of(&by)?, "this table")?;
            Ok(ReadTable {
                answered: free(released, released.table(&by)?),
                header: released.header(),
            })
        })
        .await
    }

    /// A release that was made, written as one object with everything. Free.
    ///
    /// # Errors
    /// When it was not made, or is too large to send at once.
    pub(crate) async fn released_json(&self, who: &Identity, name: &str) -> Result<Vec<u8>, Failure> {
        self.read_release(who, name, |released| {
            check_size(released.size(), "this release")?;
            let mut text = Vec::new();
            released.write_json(&mut text)?;
            Ok(text)
        })
        .await
    }

    /// What is to be known of a release that was made, without its tables. Free.
    ///
    /// # Errors
    /// When it was not made.
    pub(crate) async fn made_release(&self, who: &Identity, name: &str) -> Result<MadeRelease, Failure> {
        self.read_release(who, name, |released| Ok(MadeRelease::of(released)))
            .await
    }

    /// Reads a release when it is this account's turn. Work that has begun keeps its turn until it has ended,
    /// even if nobody waits for it.
    pub(crate) async fn read_release<T: Send + 'static>(
        &self,
        who: &Identity,
        name: &str,
        read: impl FnOnce(&ReleasedTables) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.admit(who)?;
        let request = self.request_of(who, name)?;
        let turn = self.reading.turn(who.name(), 1, Some(PATIENCE)).await;
        let turn = turn.map_err(unserved)?;
        let dataset = self.dataset.clone();
        let reading = tokio::spawn(async move {
            let found = dataset.released_tables(&request).await?;
            let Some(released) = found else {
                return Err(not_made(&request.name));
            };
            // Tables are put together on a thread that may be busy for a while.
            let read = tokio::task::spawn_blocking(move || {
                let done = read(&released);
                drop((turn, released));
                done
            });
            read.await
                .map_err(|_| Failure::defect("the release cannot be read"))?
        });
        reading
            .await
            .map_err(|_| Failure::defect("the release cannot be read"))?
    }

    /// How many releases this server has made.
    pub(crate) fn releases_made(&self) -> u64 {
        self.made.load(Ordering::SeqCst)
    }

    /// The releases of the catalog that were made, with the charges that paid for them.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(crate) async fn made_releases(&self) -> Result<Vec<(String, u64)>, Failure> {
        let releases = self.planner().releases().await?;
        let made = releases.into_iter();
        Ok(made
            .filter_map(|release| Some((release.name, release.made_by_charge?)))
            .collect())
    }

    /// Reads a release for what everybody is shown. Whoever calls it sees to it that it is seldom.
    ///
    /// # Errors
    /// When it was not made.
    pub(crate) async fn read_for_everybody<T: Send + 'static>(
        &self,
        name: &str,
        read: impl FnOnce(&ReleasedTables) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let found = self
            .planner()
            .released_tables(&ReleaseRequest::new(name, "server"))
            .await?;
        let released = found.ok_or_else(|| not_made(name))?;
        let read = tokio::task::spawn_blocking(move || read(&released)).await;
        read.map_err(|_| Failure::defect("the release cannot be read"))
    }

    fn request_of(&self, who: &Identity, name: &str) -> Result<ReleaseRequest, Failure> {
        let releases = &self.dataset.catalog().releases;
        if !releases.contains_key(name) {
            return Err(Failure::new(
                Code::NotFound,
                "the catalog plans no release of this name",
                "GET /v1/releases lists those that there are",
            ));
        }
        Ok(ReleaseRequest::new(name, who.name()))
    }
}

/// A request that is charged once.
pub(super) fn once(who: &Identity, key: &str, words: &str) -> Result<Once, Failure> {
    if key.is_empty() || key.len() > 255 {
        return Err(Failure::new(
            Code::BadRequest,
            "an idempotency key has 1 to 255 characters",
            "a random UUID is a good one",
        ));
    }
    Ok(Once::new(who.name(), key, words))
}

pub(super) fn epsilon(text: &str) -> Result<Epsilon, Failure> {
    Epsilon::parse(text).map_err(|error| {
        Failure::new(
            Code::BadRequest,
            "ε is no number that can be used",
            format!("{error}").replace("\nhint: ", "; "),
        )
    })
}

fn error(text: &str, cell_size: Option<u64>) -> Result<WantedTableError, Failure> {
    let error: WantedError = text.parse().map_err(|error: String| {
        Failure::new(
            Code::BadRequest,
            "the wanted error is no number that can be used",
            error,
        )
    })?;
    Ok(WantedTableError {
        error,
        cell_size: cell_size.unwrap_or(CELL_SIZE).max(1),
        tables: Vec::new(),
    })
}

pub(crate) fn check_size(cells: u64, what: &str) -> Result<(), Failure> {
    if cells <= MOST_CELLS {
        return Ok(());
    }
    Err(Failure::new(
        Code::TooLarge,
        format!(
            "{what} has {} numbers, and {} are sent at once",
            report::grouped(cells),
            report::grouped(MOST_CELLS)
        ),
        "take coarser tables one by one, or have the curator run `deniable tables export`",
    ))
}

fn not_made(name: &str) -> Failure {
    Failure::new(
        Code::NotFound,
        format!("the release `{name}` was not made yet of this version of the data"),
        "a curator makes it; its plan says what it will tell and how exactly",
    )
}

/// A table as an answer that costs nothing.
fn free(released: &ReleasedTables, answer: Answer) -> Answered {
    Answered {
        answer,
        repeated: true,
        resumed: false,
        left: released.left.clone(),
        receipt: released.receipt.clone(),
    }
}
