//! The arms of the study, trained and asked.

use super::Error;
use crate::ObservedModel;
use accounting::{Delta, Epsilon, Promise};
use attack::memorization::{
    Allowed, Candidates, Line, Rank, Ranking, Remembered, Summary, allowed, rank_all, remembered,
};
use device::Device;
use serde::Serialize;
use train::case_study::{Data, Language, Privacy, Progress, Recipe, Snapshot, Study, Trained, train};
use train::models::{AnyLanguageModel, Network};
use train::text::{Digits, START, Vocabulary, synthetic_text};

/// How many PINs of a table are shown.
const SHOWN: usize = 10;
/// Rows on which accuracy is measured, which takes longer than perplexity.
const ACCURACY_ROWS: usize = 300;
/// Steps after which an ordinary model is looked at: long before it is done.
const EARLY: u64 = 500;

/// Bytes of synthetic text that a vocabulary is made from.
const PUBLIC_BYTES: usize = 2_000_000;

/// The paper's network.
const NETWORK: Network = Network::Lstm {
    embedding: 50,
    hidden: 100,
    dropout: 0.0,
};

/// What is to be trained.
pub struct Experiment {
    /// What is planted, and how often.
    pub study: Study,
    /// The text.
    pub data: Data,
    /// How each model is trained.
    pub arms: Vec<Recipe>,
    /// The δ of all arms.
    pub delta: Delta,
    /// Where everything random starts from.
    pub seed: u64,
}

/// Text of one's own, in the place of synthetic text.
pub struct OwnText {
    /// What is learned.
    pub text: String,
    /// What the vocabulary is made from; synthetic text if there is none.
    pub public: Option<String>,
}

impl Experiment {
    /// The published study with this many times fewer rows and steps: an ordinary model, the published
    /// recipe, and one for (ε, δ).
    ///
    /// # Errors
    /// When the text has too few rows, or no noise gives this ε.
    pub fn smaller(
        seed: u64,
        factor: usize,
        own: Option<OwnText>,
        epsilon: &Epsilon,
        delta: Delta,
    ) -> Result<Self, Error> {
        let mut study = Study::smaller(seed, factor);
        // As many copies as in the published study, whatever the size, as long as they are few: what is
        // learned by heart depends on how often it was seen.
        study.copies = Study::of_the_paper(seed).copies.min(study.rows / 20).max(1);
        let data = match own {
            None => study.synthetic()?,
            Some(OwnText { text, public }) => {
                let public = public.unwrap_or_else(|| synthetic_text(PUBLIC_BYTES, seed));
                let vocabulary = Vocabulary::from_public_text(&public, study.vocabulary, Digits::Grouped)?;
                study.of_text(&text, vocabulary)?
            }
        };
        // As many epochs as the paper's, but no fewer steps than a model needs to learn words.
        let steps = |steps: u64| (steps / factor as u64).max(2000);
        let shorter = |recipe: Recipe| Recipe {
            steps: steps(recipe.steps),
            ..recipe
        };
        let rows = data.training.len();
        let private = Recipe::private(
            rows,
            400.min(rows / 4).max(1),
            steps(8_100) / 2,
            2e-3,
            1.0,
            epsilon,
            &delta,
        )?;
        Ok(Self {
            arms: vec![
                shorter(Recipe::ordinary()),
                shorter(Recipe::of_the_paper()),
                private,
            ],
            study,
            data,
            delta,
            seed,
        })
    }
}

/// One model, asked.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// What the model is called.
    pub name: String,
    /// The steps it took.
    pub steps: u64,
    /// Stopped before all its steps were taken.
    pub unfinished: bool,
    /// ε for one row, at the study's δ; `None` without privacy.
    pub epsilon: Option<f64>,
    /// On text that it has not seen.
    pub perplexity: f64,
    /// How often its first guess of a word is right.
    pub accuracy: Option<f64>,
    /// The planted PIN among all.
    pub rank: Rank,
    /// The planted PIN among those of as many tokens.
    pub rank_among_equals: Rank,
    /// Its perplexity.
    pub pin_perplexity: f64,
    /// The likeliest PINs.
    pub table: Vec<Line>,
    /// Random PINs of other owners, by how often they are in the text.
    pub others: Vec<Others>,
    /// What (ε, δ) allows, by copies; empty without privacy.
    pub allowed: Vec<Allowed>,
}

/// Random PINs that are in the text so often.
#[derive(Clone, Debug, Serialize)]
pub struct Others {
    /// So often.
    pub copies: usize,
    /// How exposed they are, in bits.
    pub exposure: Summary,
    /// Whether that can be chance.
    pub remembered: Remembered,
}

type Model<D> = Language<D, AnyLanguageModel<D>>;

impl Experiment {
    /// Trains one arm; `watch` is asked after each step whether to go on.
    pub fn train<D: Device<Scalar = f32> + 'static>(
        &self,
        arm: &Recipe,
        device: &D,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Trained, Error> {
        let (device, network) = (device.clone(), self.network(device)?);
        train(device, network, &self.data, arm, &self.delta, self.seed, watch).map_err(Error::from)
    }

    /// Asks every arm that was trained, and the ordinary one also as it was when it was no more useful than
    /// the others.
    pub fn ask_all<D: Device<Scalar = f32> + 'static>(
        &self,
        arms: &[Trained],
        device: &D,
    ) -> Result<Vec<Measured>, Error> {
        let mut model = Language::new(device.clone(), self.network(device)?);
        let ordinary = arms.iter().find(|arm| arm.recipe.privacy == Privacy::None);
        let mut asked = Vec::new();
        for arm in arms {
            let Some(result) = arm.result() else { continue };
            let recipe = &arm.recipe;
            asked.push(self.ask(&mut model, recipe, &recipe.name, result, true)?);
            let Some(ordinary) = ordinary else { continue };
            let earlier = if recipe.privacy == Privacy::None {
                // That it does not know the PIN either is not privacy.
                let early = arm.at_step(EARLY).filter(|_| recipe.steps > EARLY);
                early.map(|early| (early, format!("stopped at {EARLY}")))
            } else {
                let equal = ordinary.at_perplexity(result.validation.perplexity());
                equal.map(|equal| (equal, format!("as useful as {}", recipe.name)))
            };
            if let Some((snapshot, when)) = earlier {
                let name = format!("{}, {when}", ordinary.recipe.name);
                asked.push(self.ask(&mut model, &ordinary.recipe, &name, snapshot, false)?);
            }
        }
        Ok(asked)
    }

    fn network<D: Device<Scalar = f32> + 'static>(&self, device: &D) -> Result<AnyLanguageModel<D>, Error> {
        Ok(NETWORK.build(device.clone(), self.data.vocabulary.len())?)
    }

    fn ask<D: Device<Scalar = f32> + 'static>(
        &self,
        model: &mut Model<D>,
        arm: &Recipe,
        name: &str,
        snapshot: &Snapshot,
        whole: bool,
    ) -> Result<Measured, Error> {
        let vocabulary = &self.data.vocabulary;
        model.load(&snapshot.weights);
        let accuracy = model
            .predict(&self.data.validation.clone().first(ACCURACY_ROWS), true)
            .accuracy();
        let candidates = Candidates::pins(4, |pin| vocabulary.encode(pin))?;
        let mut ranking = |prefix: &str| -> Ranking {
            rank_all(
                &mut ObservedModel(model),
                &[START],
                &vocabulary.encode(prefix),
                &candidates,
            )
        };
        let own = ranking(&self.study.prefix);
        let pin = &self.study.pin;
        let missing = || Error::NoSuchPin;
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
        let event = arm.event(self.data.training.len(), snapshot.step)?;
        let copies = [1u32, 10, 100, self.study.copies as u32];
        let allowed = match &event {
            None => Vec::new(),
            Some(event) => allowed(event, &Recipe::unit(), &copies, &self.delta, candidates.len())?,
        };
        let guarantee = arm.guarantee(self.data.training.len(), snapshot.step, &self.delta)?;
        Ok(Measured {
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

/// One seed.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed.
    pub seed: u64,
    /// Rows of text.
    pub rows: usize,
    /// How often the PIN is planted.
    pub copies: usize,
    /// The perplexity of frequencies of words alone.
    pub unigram: f64,
    /// Every model.
    pub asked: Vec<Measured>,
}

#[cfg(test)]
impl Measured {
    /// One of 10,000 PINs has this rank.
    pub(super) fn synthetic(name: &str, rank: usize, perplexity: f64, unfinished: bool) -> Self {
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
