//! The private arm, through the door that every private model takes: a plan, a charge, exact noise.

use super::training::{Progress, Snapshot, Trained, is_kept};
use super::{Data, Privacy, Recipe};
use crate::Error;
use crate::models::LanguageModel;
use crate::private::{Examples, Parameters, PrivateData, Recipe as Choices, Task, Trainer, Units};
use crate::text::{Prediction, Seeded, TextExamples};
use accounting::{Budget, Delta, Promise, Ratio};
use device::Device;
use mechanism::{Account, MemoryLedger};

/// Streams of a seed.
const KEY: u64 = 13;
/// Rows that are predicted at once.
const AT_ONCE: usize = 200;

/// Trains a recipe that clips records, by the same trainer that makes models for release; only the ledger is one of a study, which lasts as long as the run, and the key of its
/// noise comes from the seed.
///
/// # Errors
/// When the recipe clips no records, the plan cannot be made, or a token is not of the model's vocabulary.
pub fn train_by_plan<D: Device<Scalar = f32>, M: LanguageModel<D>>(
    device: D,
    model: M,
    data: &Data,
    recipe: &Recipe,
    delta: &Delta,
    seed: u64,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Trained, Error> {
    let Privacy::Records { clip, noise } = recipe.privacy else {
        return Err(Error::OutOfRange {
            what: "the privacy of a recipe that is trained by plan",
            range: "by records: other recipes have their own loop",
        });
    };
    let vocabulary = model.vocabulary();
    let text = |rows| {
        TextExamples::new(rows, vocabulary, "case study").map_err(|_| Error::OutOfRange {
            what: "each token",
            range: "one of the model's vocabulary",
        })
    };
    let (training, validation) = (text(&data.training)?, text(&data.validation)?);
    let units = Units::each_example(training.count());
    // The number of rows is a setting of the study, so it is public.
    let parameters = Parameters::poisson(
        &Recipe::unit().whose,
        recipe.batch as u64,
        data.training.len() as u64,
        clip,
        recipe.steps,
        delta.clone(),
    )?;
    let plan = parameters.with_multiplier(multiplier(noise)?)?;
    let limit = Promise::Approximate(plan.epsilon().clone(), delta.clone());
    let ledger = MemoryLedger::new(Budget::new(limit, plan.unit()));
    let mut account = Account::with_entropy(ledger, Seeded::numbered(seed, KEY));
    let choices = Choices {
        seed,
        ..Choices::adam(recipe.learning_rate)
    };
    let task = Task {
        device: device.clone(),
        model,
        data: PrivateData::new(training, units),
    };
    let mut trainer = Trainer::begin(&mut account, task, plan, choices, None, "case study")?;
    let mut trained = Trained {
        recipe: recipe.clone(),
        seed,
        steps: 0,
        snapshots: Vec::new(),
    };
    while let Some(progress) = trainer.step()? {
        let step = progress.step;
        trained.steps = step;
        let go_on = watch(Progress {
            step,
            of: recipe.steps,
        });
        if !go_on || is_kept(step, recipe.steps) {
            let (model, weights) = trainer.model();
            let mut prediction = Prediction::default();
            let all: Vec<usize> = (0..validation.count()).collect();
            for some in all.chunks(AT_ONCE) {
                let losses = model.token_losses(weights, &validation.gather(some));
                losses
                    .into_iter()
                    .flatten()
                    .for_each(|loss| prediction.add(-loss, None));
            }
            trained.snapshots.push(Snapshot {
                step,
                validation: prediction,
                weights: device.download(trainer.parameters()),
            });
        }
        if !go_on {
            break;
        }
    }
    Ok(trained)
}

fn multiplier(noise: f64) -> Result<Ratio, Error> {
    let exact = exact::from_f64(noise).filter(|noise| *noise > exact::Rational::ZERO);
    let exact = exact.ok_or(Error::OutOfRange {
        what: "the noise of a recipe",
        range: "a positive number",
    })?;
    // Never more noise than is drawn.
    Ok(Ratio::at_most(&exact))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case_study::Study;
    use crate::models::{LstmLanguageModel, RecurrentShape};
    use device::Cpu;

    fn run(recipe: &Recipe, seed: u64, last: u64) -> Result<Trained, Error> {
        let mut study = Study::smaller(1, 400);
        study.others.clear();
        study.vocabulary = 300;
        study.validation = 50;
        let data = study.made_up().unwrap();
        let shape = RecurrentShape {
            vocabulary: 300,
            embedding: 8,
            hidden: 8,
            dropout: 0.0,
        };
        let model = LstmLanguageModel::new(Cpu::<f32>::default(), shape).unwrap();
        let delta = Delta::parse("1e-5").unwrap();
        let watch = &mut |progress: Progress| progress.step < last;
        train_by_plan(Cpu::default(), model, &data, recipe, &delta, seed, watch)
    }

    #[test]
    fn a_seed_gives_the_same_private_model_again() {
        let recipe = Recipe {
            steps: 30,
            batch: 20,
            privacy: Privacy::Records {
                clip: 1.0,
                noise: 1.0,
            },
            ..Recipe::ordinary()
        };
        let [one, same, other] = [1, 1, 2].map(|seed| run(&recipe, seed, 12).unwrap());
        assert_eq!((one.steps, one.snapshots.len()), (12, 2));
        assert_eq!(one.result().unwrap().weights, same.result().unwrap().weights);
        assert_ne!(one.result().unwrap().weights, other.result().unwrap().weights);
        assert!(one.result().unwrap().validation.perplexity().is_finite());
    }

    #[test]
    fn other_recipes_are_refused() {
        for privacy in [
            Privacy::None,
            Privacy::Records {
                clip: 1.0,
                noise: 0.0,
            },
            Privacy::Records {
                clip: 1.0,
                noise: f64::NAN,
            },
        ] {
            let recipe = Recipe {
                privacy,
                ..Recipe::ordinary()
            };
            assert!(run(&recipe, 1, 1).is_err());
        }
    }
}
