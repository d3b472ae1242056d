//! Synthetic rows: explained for nothing, made by curators, and taken along by everybody who may ask.
//!
//! What somebody else may do to those who wait:
//!
//! - *Explaining* is planning, and stands in its line.
//! - *Making* measures in rounds, each of which fits a model. So it has the one turn that releases have, a
//!   place, and turns among the questions. Everything that decides how much memory it takes (cells of the
//!   model, tables that matter, cells of the rows) follows from the catalog and the request, and is checked
//!   before the charge.
//! - *Taking along* fits the model once more and draws rows. It has a line of its own, with one turn, in which
//!   accounts take turns. How many rows there are was decided when they were made, so what was drawn last is
//!   kept, and whoever comes next has it at once. It depends on what was released and on nothing else, so it
//!   leaves when it is ready.

use super::queue::{Limits, Queue};
use super::releases::{epsilon, once};
use super::{Identity, Outcome, Service, forbidden, unserved};
use crate::accounts::{self, Right};
use crate::failure::{Code, Failure};
use accounting::Delta;
use report::grouped;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sql::{
    Stage, SynthesisAsked, SynthesisExplanation, SynthesisRequest, SyntheticRelease, SyntheticRows,
    keywords_for_options,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Rows that were made, by the number of their charge.
const COLLECTION: &str = "synthetic rows";
/// Cells of all columns together that are sent at once: as CSV about 10 MiB.
pub(crate) const MOST_CELLS: usize = 1_000_000;
/// Cells of a model, here. The command line allows more, and takes longer.
const MOST_MODEL_CELLS: u64 = 1_000_000;
/// Tables that may matter: each is looked at in each round.
const MOST_TABLES: usize = 5_000;
/// What follows from tables that matter: of one by so many columns, all of its parts.
const MOST_PARTS: u64 = 100_000;
/// Releases whose rows are kept as they were drawn.
const MOST_KEPT: usize = 2;
/// Rows that are listed.
const MOST_LISTED: usize = 500;
/// How long an account waits for its turn to have rows drawn: longer than it takes to fit a model, so that whoever is next in turn is not sent away because somebody else asks again and again.
const PATIENCE: Duration = Duration::from_secs(180);

/// Rows of one release are drawn at a time.
pub(super) fn drawing() -> Arc<Queue> {
    Queue::new(Limits {
        at_once: 1,
        kept: 0,
        of_one: 1,
        waiting: 1024,
        waiting_of_one: 8,
    })
}

/// What is known of rows that were made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    /// Who made them.
    by: String,
    /// When, in milliseconds since 1970.
    time: i64,
    /// What was asked for.
    asked: SynthesisAsked,
    /// What they cost, in words.
    guarantee: String,
    /// How many rows there are.
    rows: u64,
}

/// Rows that were made.
#[derive(Clone, Debug, Serialize)]
pub struct ListedRows {
    /// The number of the charge that paid for them.
    pub id: u64,
    /// Who made them.
    pub by: String,
    /// When.
    pub time: String,
    /// What was asked for.
    pub asked: SynthesisAsked,
    /// What they cost, in words.
    pub guarantee: String,
    /// How many rows there are, for whoever may ask or make some: by default it is what was released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

/// Rows that were made now, or were there.
#[derive(Clone, Debug, Serialize)]
pub struct MadeRows {
    /// The number of the charge that paid for them, by which they are found.
    pub id: u64,
    /// Whether the same was measured before, so that it cost nothing now.
    pub repeated: bool,
    /// Whether an earlier charge paid for it, whose run was interrupted.
    pub resumed: bool,
    /// What may still be spent by who made them.
    pub left: String,
    /// How many rows there are, of which table, how they compare with what was measured, and the receipt.
    #[serde(flatten)]
    pub about: Value,
}

/// A release with its rows.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) made: SyntheticRelease,
    pub(crate) rows: SyntheticRows,
}

impl Drawn {
    /// Everything but the rows, for whoever may ask: nothing about the account that made them.
    pub(crate) fn about(&self) -> Value {
        let mut about = self.made.to_json(&self.rows.report);
        if let Some(about) = about.as_object_mut() {
            for name in ["release", "left", "repeated", "resumed"] {
                about.shift_remove(name);
            }
        }
        let columns = self.rows.columns.iter();
        let columns: Vec<Value> = columns
            .map(|column| json!({ "name": column.name, "kind": column.kind.to_string() }))
            .collect();
        about["columns"] = json!(columns);
        about["rows"] = json!(self.rows.count());
        about["text"] = json!(self.made.to_text(&self.rows.report, ""));
        about
    }

    /// What to be careful with, a sentence each.
    pub(crate) fn conclusions(&self) -> Vec<String> {
        self.made.conclusions(&self.rows.report)
    }

    /// The rows as a Parquet file.
    pub(crate) fn to_parquet(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let written = self.rows.write_parquet(&mut bytes);
        written.map_err(|_| Failure::defect("the rows cannot be written as Parquet"))?;
        Ok(bytes)
    }
}

/// The rows that were drawn last.
#[derive(Default)]
pub(super) struct KeptRows(Mutex<Vec<(u64, u64, Arc<Drawn>)>>);

impl KeptRows {
    fn get(&self, id: u64, rows: u64) -> Option<Arc<Drawn>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|known| (known.0, known.1) == (id, rows));
        found.map(|known| Arc::clone(&known.2))
    }

    fn insert(&self, id: u64, drawn: &Arc<Drawn>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|known| known.0 != id);
        kept.truncate(MOST_KEPT - 1);
        kept.insert(0, (id, drawn.rows.count() as u64, Arc::clone(drawn)));
    }
}

impl Service {
    /// What rows would be made of and what they would cost. Free, and reads no private data.
    ///
    /// # Errors
    /// When somebody may not see it, or the rows are refused.
    pub async fn explain_synthetic(
        &self,
        who: &Identity,
        right: Right,
        asked: &SynthesisAsked,
    ) -> Result<SynthesisExplanation, Failure> {
        self.allow(who, right)?;
        let request = request_of(who, asked)?;
        let dataset = self.planner();
        let explained = self
            .plan_in_turn(who, async move { dataset.explain_synthesis(&request).await })
            .await;
        explained.map_err(in_keywords)
    }

    /// Makes rows, for curators: charged once, before the data is read, and the same for nothing if they were
    /// made before. Another number of rows of the same is free, and takes the place of the earlier ones.
    /// Leaves on the schedule; if the client goes away, they are made all the same.
    ///
    /// # Errors
    /// When somebody may not, they do not fit, or it fails after its charge.
    pub async fn make_synthetic(
        self: &Arc<Self>,
        who: &Identity,
        asked: &SynthesisAsked,
        rows: Option<u64>,
        idempotency_key: Option<&str>,
    ) -> Result<MadeRows, Failure> {
        let came = Instant::now();
        let outcome = match self.synthetic_request(who, asked, rows, idempotency_key) {
            Err(failure) => Outcome::of(came, Err(failure)),
            Ok(request) => {
                let (service, who, asked) = (Arc::clone(self), who.clone(), asked.clone());
                // A task of its own: the client may go away, and what is charged is finished.
                let run =
                    tokio::spawn(async move { service.run_synthetic(&who, asked, rows, request).await });
                run.await
                    .unwrap_or_else(|_| Outcome::of(came, Err(Failure::defect("the rows could not be made"))))
            }
        };
        self.leave(came, outcome).await
    }

    fn synthetic_request(
        &self,
        who: &Identity,
        asked: &SynthesisAsked,
        rows: Option<u64>,
        idempotency_key: Option<&str>,
    ) -> Result<SynthesisRequest, Failure> {
        if !who.may(Right::Keep) {
            return Err(forbidden());
        }
        self.admit(who)?;
        let mut request = request_of(who, asked)?;
        if request.epsilon.is_none() {
            return Err(Failure::new(
                Code::NoEpsilon,
                "it is not said what the rows may cost",
                "send an ε with them, as \"1\"",
            ));
        }
        if rows.is_some_and(|rows| !(1..=MOST_CELLS as u64).contains(&rows)) {
            return Err(too_many_rows());
        }
        let caps = &who.account.caps;
        if caps.per_question.is_some() || caps.per_day.is_some() {
            return Err(Failure::new(
                Code::Refused,
                "your account has a limit in ε for a question or a day, and rounds are charged as a ρ, which cannot be held against it",
                "make the rows with an account without such limits; nothing was charged",
            ));
        }
        if let Some(key) = idempotency_key {
            let words = json!([asked, rows]).to_string();
            request.once = Some(once(who, key, &format!("synthesize {words}"))?);
        }
        request.caps = who.account.caps.clone();
        Ok(request)
    }

    async fn run_synthetic(
        self: &Arc<Self>,
        who: &Identity,
        asked: SynthesisAsked,
        rows: Option<u64>,
        request: SynthesisRequest,
    ) -> Outcome<MadeRows> {
        let came = Instant::now();
        let patience = Some(self.settings.patience);
        let turn = match self.releasing.turn(who.name(), 1, patience).await {
            Ok(turn) => turn,
            Err(none) => return Outcome::of(came, Err(unserved(none))),
        };
        let service = Arc::clone(self);
        let ran = self.in_place(who, 1, |watch| async move {
            let begun = Instant::now();
            let explained = service.dataset.explain_synthesis(&request).await;
            let explained = explained.map_err(|error| in_keywords(error.into()))?;
            check_size(&explained, &request.workload, rows)?;
            let schedule = service.settings.schedule;
            let mut watch = watch;
            let watch = move |stage: Stage| {
                // How long rounds take follows from how many different rows there are. So what they released
                // is saved at a moment of the schedule.
                if stage == Stage::Drawn {
                    schedule.hold_before_saving(begun);
                }
                watch(stage);
            };
            let made = service.dataset.synthesize(&request, watch).await;
            let made = made.map_err(|error| in_keywords(error.into()))?;
            service.drawn_and_noted(made, asked, rows, &request.analyst).await
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

    /// Draws the rows, and notes that there are some.
    async fn drawn_and_noted(
        &self,
        made: SyntheticRelease,
        asked: SynthesisAsked,
        rows: Option<u64>,
        by: &str,
    ) -> Result<MadeRows, Failure> {
        let drawn = Arc::new(draw(made, rows).await?);
        let made = &drawn.made;
        let id = made.cost.charge;
        let note = Note {
            by: by.to_owned(),
            time: accounts::now(),
            asked,
            guarantee: made.cost.guarantee.to_string(),
            rows: drawn.rows.count() as u64,
        };
        self.on_ledger(move |store| {
            store.administer(|administration| {
                let name = id.to_string();
                let known = administration.document(COLLECTION, &name)?;
                let known = known.and_then(|body| serde_json::from_str::<Note>(&body).ok());
                let note = match known {
                    Some(known) => Note {
                        rows: note.rows,
                        ..known
                    },
                    None => note.clone(),
                };
                let body = serde_json::to_string(&note).expect("a note is plain data");
                administration.keep(COLLECTION, &name, &body)?;
                Ok(())
            })
        })
        .await?;
        self.rows_kept.insert(id, &drawn);
        Ok(MadeRows {
            id,
            repeated: made.repeated,
            resumed: made.resumed,
            left: made.left.epsilon.to_string(),
            about: drawn.about(),
        })
    }

    /// The rows that were made, the newest first: for whoever has this right. Free.
    ///
    /// # Errors
    /// When somebody may not see them, or the ledger cannot be read.
    pub async fn synthetic(&self, who: &Identity, right: Right) -> Result<Vec<ListedRows>, Failure> {
        self.allow(who, right)?;
        let notes = self.on_ledger(|store| Ok(store.documents(COLLECTION)?)).await?;
        let counts = who.may(Right::Ask) || who.may(Right::Keep);
        let mut listed: Vec<ListedRows> = notes
            .into_iter()
            .filter_map(|(id, body)| {
                let note: Note = serde_json::from_str(&body).ok()?;
                Some(ListedRows {
                    id: id.parse().ok()?,
                    by: note.by,
                    time: ledger::utc(note.time),
                    asked: note.asked,
                    guarantee: note.guarantee,
                    rows: counts.then_some(note.rows),
                })
            })
            .collect();
        listed.sort_by_key(|rows| std::cmp::Reverse(rows.id));
        listed.truncate(MOST_LISTED);
        Ok(listed)
    }

    /// Rows that were made, by the number of their charge, with what is made of them. Free. Work that has begun
    /// keeps its turn until it has ended, even if nobody waits for it.
    ///
    /// # Errors
    /// When there are none, or too many have rows drawn.
    pub(crate) async fn read_rows<T: Send + 'static>(
        &self,
        who: &Identity,
        id: u64,
        read: impl FnOnce(&Drawn) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.allow(who, Right::Ask)?;
        let note = self
            .on_ledger(move |store| Ok(store.document(COLLECTION, &id.to_string())?))
            .await?;
        let note = note.and_then(|body| serde_json::from_str::<Note>(&body).ok());
        let note = note.ok_or_else(nothing)?;
        let turn = self.drawing.turn(who.name(), 1, Some(PATIENCE)).await;
        let turn = turn.map_err(unserved)?;
        let known = self.rows_kept.get(id, note.rows);
        let (dataset, request) = (self.dataset.clone(), note.asked.request(&note.by));
        let kept = Arc::clone(&self.rows_kept);
        let reading = tokio::spawn(async move {
            let drawn = match known {
                Some(drawn) => drawn,
                None => {
                    let made = dataset.synthesized(&request?).await?;
                    // Of another version of the data the same words are other rows.
                    let made = made.filter(|made| made.cost.charge == id).ok_or_else(outdated)?;
                    let drawn = Arc::new(draw(made, Some(note.rows)).await?);
                    kept.insert(id, &drawn);
                    drawn
                }
            };
            // They are written on a thread that may be busy for a while.
            let read = tokio::task::spawn_blocking(move || {
                let done = read(&drawn);
                drop((turn, drawn));
                done
            });
            read.await
                .map_err(|_| Failure::defect("the rows cannot be read"))?
        });
        reading
            .await
            .map_err(|_| Failure::defect("the rows cannot be read"))?
    }
}

async fn draw(made: SyntheticRelease, rows: Option<u64>) -> Result<Drawn, Failure> {
    let count = rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
    let drawn = tokio::task::spawn_blocking(move || {
        let rows = made.rows_at_most(count, MOST_CELLS)?;
        Ok::<_, sql::Error>(Drawn { made, rows })
    });
    let drawn = drawn
        .await
        .map_err(|_| Failure::defect("the rows cannot be drawn"))?;
    Ok(drawn?)
}

/// The request, of this account.
fn request_of(who: &Identity, asked: &SynthesisAsked) -> Result<SynthesisRequest, Failure> {
    asked.epsilon.as_deref().map(epsilon).transpose()?;
    asked.delta.as_deref().map(delta).transpose()?;
    // Before anything is planned: planning looks at each.
    if asked.workload.len() > MOST_TABLES {
        return Err(too_many_tables());
    }
    asked
        .request(who.name())
        .map_err(|error| in_keywords(error.into()))
}

pub(super) fn delta(text: &str) -> Result<Delta, Failure> {
    Delta::parse(text).map_err(|error| {
        Failure::new(
            Code::BadRequest,
            "δ is no number that can be used",
            format!("{error}").replace("\nhint: ", "; "),
        )
    })
}

/// What the command line says of its options, about keywords.
pub(super) fn in_keywords(failure: Failure) -> Failure {
    Failure {
        hint: keywords_for_options(&failure.hint),
        ..failure
    }
}

/// Refuses what takes more memory or more time than a server gives. It follows from catalog and request alone.
fn check_size(
    explained: &SynthesisExplanation,
    workload: &[Vec<String>],
    rows: Option<u64>,
) -> Result<(), Failure> {
    let columns = explained.columns.len() as u64;
    if rows.is_some_and(|rows| rows.saturating_mul(columns) > MOST_CELLS as u64) {
        return Err(too_many_rows());
    }
    if explained.model_cells > MOST_MODEL_CELLS {
        return Err(Failure::new(
            Code::TooLarge,
            format!("a model has at most {} cells here", grouped(MOST_MODEL_CELLS)),
            "ask for a smaller model; `deniable synthesize` makes larger ones; nothing was charged",
        ));
    }
    let parts = |by: &Vec<String>| 1u64 << by.len().min(12);
    if explained.workload > MOST_TABLES || workload.iter().map(parts).sum::<u64>() > MOST_PARTS {
        return Err(too_many_tables());
    }
    Ok(())
}

fn too_many_tables() -> Failure {
    Failure::new(
        Code::TooLarge,
        format!(
            "at most {} tables may matter here, with {} parts",
            grouped(MOST_TABLES as u64),
            grouped(MOST_PARTS)
        ),
        "name the tables that matter as the workload, or fewer columns; nothing was charged",
    )
}

fn too_many_rows() -> Failure {
    Failure::new(
        Code::TooLarge,
        format!("rows have at most {} cells here", grouped(MOST_CELLS as u64)),
        "ask for fewer rows or columns; `deniable synthesize` makes more of the same charge, for nothing",
    )
}

fn nothing() -> Failure {
    Failure::new(
        Code::NotFound,
        "there are no synthetic rows of this number",
        "GET /v1/synthetic lists those that there are",
    )
}

fn outdated() -> Failure {
    Failure::new(
        Code::NotFound,
        "these rows were made of another version of the data or of the catalog",
        "a curator makes them of this one, for a charge; GET /v1/synthetic lists what there is",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_too_much_is_refused_before_the_charge() {
        let explained = |cells: u64, tables: usize| SynthesisExplanation {
            table: "t".to_owned(),
            condition: None,
            method: sql::synthesis::Method::Aim,
            unit: "person".to_owned(),
            rows_per_unit: 1,
            guarantee: accounting::Guarantee::new(
                accounting::Promise::Pure(accounting::Epsilon::parse("1").unwrap()),
                accounting::PrivacyUnit::new("person", accounting::Neighbors::AddRemove),
            ),
            epsilon: accounting::Epsilon::parse("1").unwrap(),
            delta: Delta::parse("1e-6").unwrap(),
            columns: vec![
                sql::ColumnCells {
                    name: "a".to_owned(),
                    cells: 2,
                    from: String::new(),
                    to: String::new(),
                    exact: true,
                    null: false,
                };
                10
            ],
            left_out: Vec::new(),
            impossible: Vec::new(),
            impossible_elsewhere: Vec::new(),
            workload: tables,
            model_cells: cells,
            first_deviation: 1.0,
        };
        assert!(check_size(&explained(1000, 100), &[], Some(100_000)).is_ok());
        assert!(check_size(&explained(1000, 100), &[], None).is_ok());
        let wide = vec![vec![String::new(); 12]; 30];
        assert!(check_size(&explained(1000, 30), &wide, None).is_err());
        for (refused, rows) in [
            (explained(1000, 100), Some(100_001)),
            (explained(MOST_MODEL_CELLS + 1, 100), None),
            (explained(1000, MOST_TABLES + 1), None),
        ] {
            let failure = check_size(&refused, &[], rows).unwrap_err();
            assert_eq!(failure.code, Code::TooLarge);
        }
    }
}
