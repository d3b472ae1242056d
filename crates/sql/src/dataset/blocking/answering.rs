//! How a question is answered: from what was released before, or charged, measured, drawn, saved and shown, in this order.

use super::charging::{Made, Wanted};
use super::planned::Pass;
use super::{Answered, Dataset, Stage};
use crate::Error;
use crate::dataset::kept::Kept;
use crate::finish::answer::{Answer, Cost, answer};
use crate::finish::cut;
use crate::finish::estimate::CONFIDENCE;
use crate::finish::post::{self, Finished};
use crate::finish::release::{Released, release};
use crate::finish::saved::Saved;
use crate::finish::together;
use crate::price::bounds::bounds;
use crate::price::planned::refused;
use crate::price::question::{QueryRequest, Question};
use crate::price::together::PlannedSets;
use crate::run::engine::bounded_plans;
use crate::run::exact;
use crate::run::publics::Publics;
use crate::understand::together::Together;
use bound::Secret;
use datafusion::arrow::array::RecordBatch;
use datafusion::prelude::SessionContext;
use ledger::Store;
use mechanism::{Account, Receipt, Refusal};
use noise::{Entropy, OsEntropy};

/// What paid for an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was released before.
    Saved,
    /// An earlier charge without an answer.
    Resumed,
    /// A new charge.
    Charged,
}

impl Dataset {
    pub(super) fn answered(
        &self,
        ask: &QueryRequest,
        question: &Question,
        store: &mut Store,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<Answered, Error> {
        let digest = question.digest(&self.shared.catalog);
        if let Some(once) = &ask.once {
            store.check_request(once)?;
        }
        // From here on nobody else in this program answers the same. Another program may: that is what the ledger looks after.
        let flight = self.shared.flights.begin(&digest);
        watch(Stage::Begun);
        // What this question was answered with is given again; what a release tells comes next, since neither costs anything.
        if self.earlier(question, &digest, store)?.is_none()
            && let Some(answered) = self.answered_by_release(ask, question, store)?
        {
            return Ok(answered);
        }
        let wanted = Wanted {
            digest: &digest,
            analyst: &ask.analyst,
            caps: &ask.caps,
            once: ask.once.as_ref(),
        };
        let find = |store: &mut Store| self.earlier(question, &digest, store);
        let make = |account: &mut Account<ledger::Session<'_>>| self.released(question, account, watch);
        let (before, (releases, mut saved)) = match self.found_or_made(&wanted, store, find, make) {
            Ok(Made::Now { made, before }) => (before, made),
            Ok(Made::Found(earlier)) => {
                // Whoever asks the same finds it too, and does not wait for what this query makes of it.
                drop(flight);
                let kept = self.shown_again(question, earlier, watch)?;
                return self.reported(kept, Origin::Saved, ask, store);
            }
            Err(Error::Mechanism(mechanism::Error::Refused(Refusal::Budget(refusal)))) => {
                return Err(self.over_budget(ask, question, store, refusal));
            }
            Err(error) => return Err(error),
        };
        let number = saved.cost.charge;
        let origin = if number <= before {
            Origin::Resumed
        } else {
            Origin::Charged
        };
        // What was drawn is saved before the query's own SQL sees it: what that does, and for how long, is the analyst's choice.
        let session = self.engines().public()?;
        let cost = saved.cost.clone();
        let kept = if saved.suffices() {
            let release_sha256 = self.save(&saved, &digest, ask, store)?;
            drop(flight);
            announce(question, watch);
            Kept {
                answer: self.shown(question, &releases, &session, cost)?,
                release_sha256,
            }
        } else {
            let answer = self.shown(question, &releases, &session, cost)?;
            saved.answer = Some(answer.clone());
            let release_sha256 = self.save(&saved, &digest, ask, store)?;
            Kept {
                answer,
                release_sha256,
            }
        };
        self.reported(kept, origin, ask, store)
    }

    /// The answer to a question that is public altogether. Nothing is charged, and nothing is written down.
    pub(super) fn public_answer(
        &self,
        ask: &QueryRequest,
        question: &Question,
        store: &mut Store,
    ) -> Result<Answered, Error> {
        if let Some(once) = &ask.once {
            store.check_request(once)?;
        }
        Ok(Answered {
            answer: self.public_answer_of(question)?,
            repeated: true,
            resumed: false,
            left: store.left(&ask.analyst)?,
            receipt: None,
        })
    }

    /// A plan as an answer that cost nothing.
    pub(super) fn explained(
        &self,
        ask: &QueryRequest,
        plan: Answer,
        store: &mut Store,
    ) -> Result<Answered, Error> {
        Ok(Answered {
            answer: plan,
            repeated: true,
            resumed: false,
            left: store.left(&ask.analyst)?,
            receipt: None,
        })
    }

    /// The digest of what was saved.
    fn save(
        &self,
        saved: &Saved,
        digest: &str,
        ask: &QueryRequest,
        store: &mut Store,
    ) -> Result<String, Error> {
        let text = serde_json::to_string(saved).expect("an answer is plain data");
        store.record_answer(saved.cost.charge, digest, &ask.analyst, &text)?;
        Ok(ledger::sha256_of(&text))
    }

    pub(super) fn reported(
        &self,
        kept: Kept,
        origin: Origin,
        ask: &QueryRequest,
        store: &mut Store,
    ) -> Result<Answered, Error> {
        Ok(Answered {
            repeated: origin == Origin::Saved,
            resumed: origin == Origin::Resumed,
            left: store.left(&ask.analyst)?,
            receipt: kept.signed(&self.shared.catalog.name, &ask.sql, store),
            answer: kept.answer,
        })
    }

    /// Whether the same was released before, and can be shown again.
    pub(crate) fn is_saved(&self, question: &Question, store: &mut Store) -> Result<bool, Error> {
        let Some(stored) = store.stored_answer(&question.digest(&self.shared.catalog))? else {
            return Ok(false);
        };
        let Ok(saved) = serde_json::from_str::<Saved>(&stored.answer) else {
            return Ok(false);
        };
        let whole = saved.answer.is_some() && saved.written == question.as_written()?.hexadecimal();
        Ok(whole || saved.released(&question.pieces(&self.shared.catalog)).is_some())
    }

    /// What was released before for the same question; `None` when nothing was, or it cannot be read.
    pub(super) fn earlier(
        &self,
        question: &Question,
        digest: &str,
        store: &mut Store,
    ) -> Result<Option<Earlier>, Error> {
        let Some(stored) = store.stored_answer(digest)? else {
            return Ok(None);
        };
        let Ok(saved) = serde_json::from_str::<Saved>(&stored.answer) else {
            return Ok(None);
        };
        let release_sha256 = ledger::sha256_of(&stored.answer);
        let what = match saved.answer {
            Some(answer) if saved.written == question.as_written()?.hexadecimal() => {
                Some(What::Answer(answer))
            }
            _ => {
                let releases = saved.released(&question.pieces(&self.shared.catalog));
                releases.map(|releases| What::Releases(releases, saved.cost))
            }
        };
        Ok(what.map(|what| Earlier { what, release_sha256 }))
    }

    /// The answer to a question from what was released before.
    pub(super) fn shown_again(
        &self,
        question: &Question,
        earlier: Earlier,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<Kept, Error> {
        let answer = match earlier.what {
            What::Answer(answer) => answer,
            What::Releases(releases, cost) => {
                announce(question, watch);
                let session = self.engines().public()?;
                self.shown(question, &releases, &session, cost)?
            }
        };
        Ok(Kept {
            answer,
            release_sha256: earlier.release_sha256,
        })
    }

    /// Charges, measures, and only then draws: see `Store::resumable_session`.
    fn released(
        &self,
        question: &Question,
        account: &mut Account<ledger::Session<'_>>,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<(Vec<Released>, Saved), Error> {
        // Whatever can be refused is refused before the charge.
        if !post::only_arranges(&question.split.post) {
            self.rehearse(question, &self.engines().public()?)?;
        }
        let (releases, receipt) = match (&question.split.together, &question.together) {
            (Some(sets), Some(planned)) => self.drawn_together(question, (sets, planned), account, watch)?,
            _ => self.drawn_apart(question, account, watch)?,
        };
        let cost = Cost {
            guarantee: receipt.charge.guarantee.clone(),
            charge: receipt.number,
        };
        let pieces = question.pieces(&self.shared.catalog);
        let whose = &self.shared.catalog.unit.whose;
        let cut = (0..question.visible)
            .filter_map(|place| cut::read(question, place, &releases, CONFIDENCE).1)
            .map(|read| read.reported(whose))
            .collect();
        let saved = Saved::new(question.as_written()?, cost, cut, &pieces, &releases);
        Ok((releases, saved))
    }

    /// Each aggregation with noise of its own.
    fn drawn_apart(
        &self,
        question: &Question,
        account: &mut Account<ledger::Session<'_>>,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<(Vec<Released>, Receipt), Error> {
        let engines = self.engines();
        let session = engines.public()?;
        let publics =
            self.runtime
                .block_on(Publics::read(&question.split, &session, &self.shared.catalog))?;
        // One key for all: each aggregation is bounded whatever the key is, and those that choose among the same groups can share the choice.
        let secret = secret()?;
        let aggregations = &question.split.aggregations;
        let asked = bounded_plans(aggregations, &question.cuts, &secret)?;
        let catalog = &self.shared.catalog;
        let claims = question.claims(catalog)?;
        let preparing = exact::prepare(asked, &claims, &publics, engines, catalog);
        let prepared = self.runtime.block_on(preparing)?;
        let verified = prepared.verified();
        let reservation = account.reserve(&question.mechanisms(), &question.delta, &question.purpose)?;
        watch(Stage::Charged);
        let measured = self
            .runtime
            .block_on(exact::measure(prepared, aggregations, engines));
        // Also after a failure: a server holds what follows back until its schedule allows it. Whoever waits to ask the same charges next, and others see when something is charged.
        watch(Stage::Measured);
        let measured = measured?;
        let receipt = reservation.receipt().clone();
        account.ledger_mut().begin_drawing(receipt.number)?;
        let mut tickets = reservation.into_tickets().into_iter();
        let mut releases = Vec::new();
        for (place, measured) in measured.into_iter().enumerate() {
            let price = &question.prices[place];
            let tickets = tickets.by_ref().take(price.noise.len()).collect();
            let bound = (verified.as_ref(), question.first_drawn(place));
            let aggregation = cut::with_names(question, place, &releases);
            releases.push(release(&aggregation, price, measured, account, tickets, bound)?);
        }
        watch(Stage::Drawn);
        Ok((releases, receipt))
    }

    /// All sets of groups from one release of the cells that they are sums of, in the way of a planned release.
    fn drawn_together(
        &self,
        question: &Question,
        (sets, planned): (&Together, &PlannedSets),
        account: &mut Account<ledger::Session<'_>>,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<(Vec<Released>, Receipt), Error> {
        let pass = Pass {
            tabulation: &sets.tabulation,
            claims: question.claims(&self.shared.catalog)?,
            delta: &question.delta,
            purpose: question.purpose.clone(),
        };
        let (released, receipt) = self.drawn(&pass, planned.plan.mechanism(), account, watch)?;
        let measurements = planned.plan.measurements(released).map_err(refused)?;
        let releases = together::released(sets, planned, &question.split.aggregations, &measurements)?;
        Ok((releases, receipt))
    }

    /// What is made of releases: estimates, what was cut, and the rest of the query over released tables. All of it is post-processing.
    fn shown(
        &self,
        question: &Question,
        releases: &[Released],
        session: &SessionContext,
        cost: Cost,
    ) -> Result<Answer, Error> {
        let mut tables = Vec::new();
        let mut cuts = Vec::new();
        let mut included = Vec::new();
        let asked = question.split.aggregations.iter().take(question.visible);
        for (place, aggregation) in asked.enumerate() {
            let (outputs, read) = cut::read(question, place, releases, CONFIDENCE);
            tables.push(post::table(aggregation, &releases[place].groups, &outputs)?);
            included.push(
                read.as_ref()
                    .map(|read| read.included.clone())
                    .unwrap_or_default(),
            );
            cuts.extend(read.map(|read| read.reported(&self.shared.catalog.unit.whose)));
        }
        let mut notes = question.notes(&self.shared.catalog);
        let finishing = post::finish(
            &question.split.post,
            tables.clone(),
            session,
            &self.shared.catalog,
        );
        let finished = self.runtime.block_on(finishing).unwrap_or_else(|_| {
            // What was paid for is not lost because an outer query stumbled over it, by dividing by zero for instance.
            notes.push(
                "the rest of the query failed on the released values; these are the released values themselves".to_owned(),
            );
            post::unfinished(&question.split.aggregations[0], &tables[0])
        });
        if !finished.simulated.is_empty() {
            notes.push(format!(
                "the interval of {} is found by simulating the noise of the numbers that it is computed from",
                finished.simulated.join(", ")
            ));
        }
        let bounds = bounds(question, &self.shared.catalog.unit.whose, &included);
        let mut answer = answer(finished, bounds, notes, Some(cost), CONFIDENCE)?;
        answer.cut = cuts;
        Ok(answer)
    }

    /// Runs what comes after the noise over synthetic releases, so that what cannot work is refused before it is paid for.
    pub(super) fn rehearse(&self, question: &Question, session: &SessionContext) -> Result<Finished, Error> {
        let finishing = post::finish(
            &question.split.post,
            made_up(question)?,
            session,
            &self.shared.catalog,
        );
        self.runtime.block_on(finishing).map_err(|error| match error {
            // What it makes of a single group is too much already.
            Error::Refused { what, .. } if what == post::TOO_MUCH => Error::refused(
                what,
                "ask for less of it, or for the aggregates alone, and do the rest elsewhere; nothing was charged",
            ),
            _ => Error::refused(
                "what this query does with its results does not work",
                "ask for the aggregates alone first, and add the rest step by step; nothing was charged",
            ),
        })
    }
}

/// What was released before, and the digest of what the ledger keeps of it.
pub(super) struct Earlier {
    what: What,
    release_sha256: String,
}

/// What the ledger keeps: the answer, or what it was made of.
enum What {
    Answer(Answer),
    Releases(Vec<Released>, Cost),
}

/// Says that the query's own SQL runs now, if it computes anything. Nobody waits for it who asks for the same releases.
fn announce(question: &Question, watch: &mut dyn FnMut(Stage)) {
    if !post::only_arranges(&question.split.post) {
        watch(Stage::Computing);
    }
}

/// Releases that nobody drew, for all that the query itself asks for.
pub(super) fn made_up(question: &Question) -> Result<Vec<RecordBatch>, Error> {
    let asked = question.split.aggregations.iter().take(question.visible);
    asked.map(post::made_up).collect()
}

/// The key that chooses groups, new for every query.
pub(super) fn secret() -> Result<Secret, Error> {
    let mut entropy = OsEntropy::new().map_err(mechanism::Error::from)?;
    let digits: String = (0..4).map(|_| format!("{:08x}", entropy.bits(32))).collect();
    Secret::new(digits).map_err(crate::understand::mistakes::unplannable)
}
