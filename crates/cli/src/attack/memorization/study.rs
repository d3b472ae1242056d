//! The arms of the study, trained and asked.

use crate::terminal::{CliError, Interrupt, Progress, explained};
use accounting::{Delta, Epsilon, Promise};
use attack::memorization::{
    Allowed, Candidates, Line, Rank, Ranking, Remembered, Remembers, Summary, allowed, rank_all, remembered,
};
use device::Cpu;
use serde::Serialize;
use train::case_study::{
    Data, Language, Learner, Recipe, Snapshot, Study, Trained, predict, train, train_by_plan,
};
use train::models::{AnyLanguageModel, Network};
use train::text::START;

/// How many PINs of a table are shown.
const SHOWN: usize = 10;
/// Rows on which accuracy is measured, which takes longer than perplexity.
const ACCURACY_ROWS: usize = 300;
/// Steps after which an ordinary model is looked at: long before it is done.
const EARLY: u64 = 500;

/// The paper's network.
const NETWORK: Network = Network::Lstm {
    embedding: 50,
    hidden: 100,
    dropout: 0.0,
};

/// What is to be trained.
pub(super) struct Wanted {
    pub(super) study: Study,
    pub(super) data: Data,
    pub(super) arms: Vec<Recipe>,
    pub(super) delta: Delta,
    pub(super) seed: u64,
}

/// One model, asked.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) steps: u64,
    /// Stopped before all its steps were taken.
    pub(super) unfinished: bool,
    /// ε for one row, at the study's δ; `None` without privacy.
    pub(super) epsilon: Option<f64>,
    /// On text that it has not seen.
    pub(super) perplexity: f64,
    pub(super) accuracy: Option<f64>,
    /// The planted PIN among all, and among those of as many tokens.
    pub(super) rank: Rank,
    pub(super) rank_among_equals: Rank,
    pub(super) pin_perplexity: f64,
    pub(super) table: Vec<Line>,
    /// Random PINs of other owners, by how often they are in the text.
    pub(super) others: Vec<Others>,
    /// What (ε, δ) allows, by copies; empty without privacy.
    pub(super) allowed: Vec<Allowed>,
}

/// Random PINs that are in the text so often.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Others {
    pub(super) copies: usize,
    pub(super) exposure: Summary,
    pub(super) remembered: Remembered,
}

type Model = AnyLanguageModel<Cpu<f32>>;

/// A learner as the attack sees it.
struct Known<'l>(&'l mut Language<Cpu<f32>, Model>);

impl Remembers for Known<'_> {
    fn next(&mut self, context: &[u32]) -> Vec<f64> {
        Learner::next(self.0, context)
    }

    fn many(&mut self, prefix: &[u32], continuations: &[Vec<u32>]) -> Vec<f64> {
        Learner::many(self.0, prefix, continuations)
    }
}

impl Wanted {
    /// Steps of all arms together.
    pub(super) fn steps(&self) -> u64 {
        self.arms.iter().map(|arm| arm.steps).sum()
    }

    /// Trains every arm and asks it. After Ctrl-C, what there is so far.
    pub(super) fn run(&self, progress: &Progress, interrupt: &Interrupt) -> Result<Vec<Asked>, CliError> {
        let mut asked: Vec<Asked> = Vec::new();
        let mut ordinary: Option<Trained> = None;
        for arm in &self.arms {
            if !asked.is_empty() && interrupt.was_pressed() {
                break;
            }
            progress.label(arm.name.clone());
            let mut watch = |_: train::case_study::Progress| {
                progress.advance(1);
                !interrupt.was_pressed()
            };
            let mut learner = self.learner()?;
            let private = matches!(arm.privacy, train::case_study::Privacy::Records { .. });
            let trained = if private {
                let model = self.model()?;
                train_by_plan(
                    Cpu::default(),
                    model,
                    &self.data,
                    arm,
                    &self.delta,
                    self.seed,
                    &mut watch,
                )
                .map_err(explained)?
            } else {
                train(&mut learner, &self.data, arm, self.seed, &mut watch)
            };
            let Some(result) = trained.result() else { continue };
            asked.push(self.ask(&mut learner, arm, &arm.name, result, true)?);
            match (&ordinary, &arm.privacy) {
                // The ordinary model, stopped early: that it does not know the PIN either is not privacy.
                (None, train::case_study::Privacy::None) => {
                    if let Some(early) = trained.at_step(EARLY).filter(|_| arm.steps > EARLY) {
                        let name = format!("{}, stopped at {EARLY}", arm.name);
                        asked.push(self.ask(&mut learner, arm, &name, early, false)?);
                    }
                    ordinary = Some(trained);
                }
                // The ordinary model when it was as useful as this one.
                (Some(ordinary), _) => {
                    let perplexity = result.validation.perplexity();
                    if let Some(equal) = ordinary.at_perplexity(perplexity) {
                        let name = format!("{}, as useful as {}", ordinary.recipe.name, arm.name);
                        asked.push(self.ask(&mut learner, &ordinary.recipe, &name, equal, false)?);
                    }
                }
                (None, _) => {}
            }
        }
        Ok(asked)
    }

    fn model(&self) -> Result<Model, CliError> {
        NETWORK
            .build(Cpu::default(), self.data.vocabulary.len())
            .map_err(explained)
    }

    fn learner(&self) -> Result<Language<Cpu<f32>, Model>, CliError> {
        Ok(Language::new(Cpu::default(), self.model()?))
    }

    fn ask(
        &self,
        learner: &mut Language<Cpu<f32>, Model>,
        arm: &Recipe,
        name: &str,
        snapshot: &Snapshot,
        whole: bool,
    ) -> Result<Asked, CliError> {
        let vocabulary = &self.data.vocabulary;
        learner.load(&snapshot.weights);
        let accuracy = predict(learner, &self.data.validation.clone().first(ACCURACY_ROWS), true).accuracy();
        let candidates = Candidates::pins(4, |pin| vocabulary.encode(pin)).map_err(explained)?;
        let mut ranking = |prefix: &str| -> Ranking {
            rank_all(
                &mut Known(learner),
                &[START],
                &vocabulary.encode(prefix),
                &candidates,
            )
        };
        let own = ranking(&self.study.prefix);
        let pin = &self.study.pin;
        let missing =
            || CliError::bad_input("the planted PIN has four digits").with_hint("3456 is the paper's");
        let mut by_copies: std::collections::BTreeMap<usize, Vec<Rank>> = Default::default();
        for other in &self.data.others {
            // Among equals: a shorter spelling of some PINs is no memory of them.
            let rank = ranking(&other.prefix)
                .rank_by_likelihood(&other.pin)
                .ok_or_else(missing)?;
            by_copies.entry(other.copies).or_default().push(rank);
        }
        let others = by_copies.into_iter().filter_map(|(copies, ranks)| {
            Some(Others {
                copies,
                exposure: Summary::of(&ranks)?,
                remembered: remembered(&ranks),
            })
        });
        let event = arm
            .event(self.data.training.len(), snapshot.step)
            .map_err(explained)?;
        let copies = [1u32, 10, 100, self.study.copies as u32];
        let allowed = match &event {
            None => Vec::new(),
            Some(event) => {
                allowed(event, &Recipe::unit(), &copies, &self.delta, candidates.len()).map_err(explained)?
            }
        };
        let guarantee = arm
            .guarantee(self.data.training.len(), snapshot.step, &self.delta)
            .map_err(explained)?;
        Ok(Asked {
            name: name.to_owned(),
            steps: snapshot.step,
            unfinished: whole && snapshot.step < arm.steps,
            epsilon: guarantee.and_then(|guarantee| match guarantee.promise() {
                Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => {
                    Some(Epsilon::to_f64_up(epsilon))
                }
                Promise::Concentrated(_) => None,
            }),
            perplexity: snapshot.validation.perplexity(),
            accuracy,
            rank: own.rank_of(pin).ok_or_else(missing)?,
            rank_among_equals: own.rank_among_equals(pin).ok_or_else(missing)?,
            pin_perplexity: own.perplexity(pin).ok_or_else(missing)?,
            table: own.table(SHOWN, pin),
            others: others.collect(),
            allowed,
        })
    }
}

#[cfg(test)]
impl Asked {
    /// One of 10,000 PINs has this rank.
    pub(super) fn made_up(name: &str, rank: usize, perplexity: f64, unfinished: bool) -> Self {
        let rank = Rank {
            best: rank,
            worst: rank,
            of: 10_000,
        };
        Self {
            name: name.to_owned(),
            steps: 10,
            unfinished,
            epsilon: None,
            perplexity,
            accuracy: None,
            rank,
            rank_among_equals: rank,
            pin_perplexity: perplexity,
            table: Vec::new(),
            others: Vec::new(),
            allowed: Vec::new(),
        }
    }
}
