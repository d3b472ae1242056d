//! The loop of the study, for any model that can be asked for clipped gradients.

use super::{Data, Privacy, Recipe};
use crate::text::{Prediction, Rows, Seeded};
use serde::{Deserialize, Serialize};

/// A language model as the study sees it: weights are one flat vector that the study owns.
pub trait Learner {
    /// Starting weights, from a public seed.
    fn initial(&self, seed: u64) -> Vec<f32>;

    /// From now on, these.
    fn load(&mut self, weights: &[f32]);

    /// Adds the sum of the gradients of the rows' mean losses, each first scaled down to at most this norm if one is given. A gradient that is not finite
    /// counts as zero.
    fn add_gradients(&mut self, rows: &[&[u32]], clip: Option<f64>, sum: &mut [f32]);

    /// How well it predicts each row from its start; with `accuracy`, also how often the likeliest token is right, which takes longer.
    fn predict(&mut self, rows: &[&[u32]], accuracy: bool) -> Prediction;

    /// The logarithm of each token's probability to come next after a context, which starts with [`START`](crate::text::START).
    fn next(&mut self, context: &[u32]) -> Vec<f64>;

    /// ln P(continuation | prefix) of each.
    fn many(&mut self, prefix: &[u32], continuations: &[Vec<u32>]) -> Vec<f64>;
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// Steps in all.
    pub of: u64,
}

/// A model on its way.
#[derive(Clone, Serialize, Deserialize)]
pub struct Snapshot {
    /// After so many steps.
    pub step: u64,
    /// How well it predicts validation rows.
    pub validation: Prediction,
    /// Left out when it is written.
    #[serde(skip)]
    pub weights: Vec<f32>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Snapshot(step {}, ..)", self.step)
    }
}

/// One arm, trained.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trained {
    /// How.
    pub recipe: Recipe,
    /// What start, batches and noise follow from.
    pub seed: u64,
    /// Steps really done: fewer than planned if it was stopped.
    pub steps: u64,
    /// In the order of steps; the last is the result.
    pub snapshots: Vec<Snapshot>,
}

impl Trained {
    /// The finished model. `None` if not even the first step was done.
    pub fn result(&self) -> Option<&Snapshot> {
        self.snapshots.last()
    }

    /// The snapshot after so many steps.
    pub fn at_step(&self, step: u64) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.step == step)
    }

    /// The first snapshot that predicts at least as well: what this recipe remembers at equal usefulness.
    pub fn at_perplexity(&self, perplexity: f64) -> Option<&Snapshot> {
        self.snapshots
            .iter()
            .find(|snapshot| snapshot.validation.perplexity() <= perplexity)
    }
}

/// Steps after which a snapshot is kept, finely enough to find a model of a given perplexity, and the last: from each power of ten to three times as much a tenth of it apart, then half of it.
pub(super) fn is_kept(step: u64, last: u64) -> bool {
    let mut power = 10;
    while power * 10 <= step {
        power *= 10;
    }
    let apart = match step {
        0..100 => 10,
        _ if step < 3 * power => power / 10,
        _ => power / 2,
    };
    step == last || step.is_multiple_of(apart)
}

/// Streams of a seed.
const BATCHES: u64 = 11;
const NOISE: u64 = 12;
/// Rows that are predicted at once.
const AT_ONCE: usize = 200;

/// Trains one arm. `watch` is asked after each step whether to go on.
pub fn train(
    learner: &mut impl Learner,
    data: &Data,
    recipe: &Recipe,
    seed: u64,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Trained {
    let mut weights = learner.initial(seed);
    let mut adam = Adam::new(weights.len(), recipe.learning_rate);
    let mut batches = Seeded::numbered(seed, BATCHES);
    let mut noise = Seeded::numbered(seed, NOISE);
    let mut gradient = vec![0.0; weights.len()];
    let mut trained = Trained {
        recipe: recipe.clone(),
        seed,
        steps: 0,
        snapshots: Vec::new(),
    };
    let rate = recipe.batch as f64 / data.training.len().max(1) as f64;
    for step in 1..=recipe.steps {
        let chosen = poisson(data.training.len(), rate, &mut batches);
        learner.load(&weights);
        gradient.fill(0.0);
        step_gradient(
            learner,
            &data.training,
            &chosen,
            recipe,
            &mut noise,
            &mut gradient,
        );
        adam.update(&mut weights, &gradient);
        trained.steps = step;
        let go_on = watch(Progress {
            step,
            of: recipe.steps,
        });
        if !go_on || is_kept(step, recipe.steps) {
            learner.load(&weights);
            trained.snapshots.push(Snapshot {
                step,
                validation: predict(learner, &data.validation, false),
                weights: weights.clone(),
            });
        }
        if !go_on {
            break;
        }
    }
    trained
}

/// How well the loaded weights predict these rows, in perplexity and, if asked for, in accuracy.
pub fn predict(learner: &mut impl Learner, rows: &Rows, accuracy: bool) -> Prediction {
    let rows: Vec<&[u32]> = rows.iter().collect();
    let mut prediction = Prediction::default();
    for some in rows.chunks(AT_ONCE) {
        prediction.merge(&learner.predict(some, accuracy));
    }
    prediction
}

/// Each number below `count` with this probability, independently: from one to the next by a geometric number of steps.
fn poisson(count: usize, rate: f64, entropy: &mut Seeded) -> Vec<usize> {
    let mut chosen = Vec::new();
    if rate >= 1.0 {
        return (0..count).collect();
    }
    let mut place = 0.0;
    loop {
        place += ((1.0 - entropy.unit()).ln() / (-rate).ln_1p()).floor();
        if place >= count as f64 || place.is_nan() {
            return chosen;
        }
        chosen.push(place as usize);
        place += 1.0;
    }
}

/// The gradient of one step, with its noise, divided by a fixed number.
fn step_gradient(
    learner: &mut impl Learner,
    rows: &Rows,
    chosen: &[usize],
    recipe: &Recipe,
    noise: &mut Seeded,
    gradient: &mut [f32],
) {
    let batch: Vec<&[u32]> = chosen.iter().map(|place| rows.row(*place)).collect();
    let divisor = match recipe.privacy {
        // The real number of rows: nobody is protected.
        Privacy::None => {
            learner.add_gradients(&batch, None, gradient);
            batch.len().max(1) as f64
        }
        Privacy::Records {
            clip,
            noise: multiplier,
        } => {
            learner.add_gradients(&batch, Some(clip), gradient);
            add_noise(gradient, multiplier * clip, noise);
            recipe.batch as f64
        }
        Privacy::Microbatches {
            number,
            clip,
            noise: multiplier,
        } => {
            let mut mean = vec![0.0; gradient.len()];
            for microbatch in 0..number {
                // A row's microbatch depends on the row alone, so that another row more changes one microbatch and no other.
                let rows: Vec<&[u32]> = chosen
                    .iter()
                    .filter(|place| *place % number == microbatch)
                    .map(|place| rows.row(*place))
                    .collect();
                if rows.is_empty() {
                    continue;
                }
                mean.fill(0.0);
                learner.add_gradients(&rows, None, &mut mean);
                add_clipped(&mean, 1.0 / rows.len() as f64, clip, gradient);
            }
            add_noise(gradient, multiplier * clip, noise);
            number as f64
        }
    };
    let factor = (1.0 / divisor) as f32;
    gradient.iter_mut().for_each(|value| *value *= factor);
}

/// Adds `scale` times a vector, scaled down to a norm of at most `clip`. One that is not finite counts as zero.
fn add_clipped(vector: &[f32], scale: f64, clip: f64, sum: &mut [f32]) {
    let squared: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
    let norm = squared.sqrt() * scale;
    if !norm.is_finite() {
        return;
    }
    let factor = (scale * (clip / norm.max(clip))) as f32;
    for (total, value) in sum.iter_mut().zip(vector) {
        *total += factor * value;
    }
}

/// Gaussian noise in floats, as the paper's library draws it: good enough to study, and not for a release.
fn add_noise(values: &mut [f32], deviation: f64, entropy: &mut Seeded) {
    for pair in values.chunks_mut(2) {
        let radius = deviation * (-2.0 * (1.0 - entropy.unit()).ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * entropy.unit()).sin_cos();
        for (value, noise) in pair.iter_mut().zip([radius * cosine, radius * sine]) {
            *value += noise as f32;
        }
    }
}

/// Adam as published, with the paper's settings but for the learning rate.
struct Adam {
    rate: f64,
    step: i32,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Adam {
    fn new(weights: usize, rate: f64) -> Self {
        Self {
            rate,
            step: 0,
            first: vec![0.0; weights],
            second: vec![0.0; weights],
        }
    }

    fn update(&mut self, weights: &mut [f32], gradient: &[f32]) {
        const KEPT: (f64, f64) = (0.9, 0.999);
        const LEAST: f32 = 1e-8;
        self.step = self.step.saturating_add(1);
        let rate = (self.rate / (1.0 - KEPT.0.powi(self.step))) as f32;
        let correction = (1.0 / (1.0 - KEPT.1.powi(self.step))) as f32;
        let (first, second) = (KEPT.0 as f32, KEPT.1 as f32);
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((weight, gradient), (mean, square)) in weights.iter_mut().zip(gradient).zip(moments) {
            *mean = first * *mean + (1.0 - first) * gradient;
            *square = second * *square + (1.0 - second) * gradient * gradient;
            *weight -= rate * *mean / ((*square * correction).sqrt() + LEAST);
        }
    }
}

#[cfg(test)]
mod tests;
