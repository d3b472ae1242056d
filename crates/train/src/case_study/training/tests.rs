use super::*;
use crate::case_study::{Privacy, Study};
use crate::models::{LstmLanguageModel, RecurrentShape};
use device::Cpu;

fn data() -> Data {
    let mut study = Study::smaller(1, 400);
    study.others.clear();
    study.vocabulary = 300;
    study.validation = 50;
    study.synthetic().unwrap()
}

fn run(data: &Data, recipe: &Recipe, seed: u64, last: u64) -> Result<Trained, Error> {
    let shape = RecurrentShape {
        vocabulary: 300,
        embedding: 8,
        hidden: 8,
        dropout: 0.0,
    };
    let model = LstmLanguageModel::new(Cpu::<f32>::default(), shape).unwrap();
    let delta = Delta::parse("1e-5").unwrap();
    let watch = &mut |progress: Progress| progress.step < last;
    train(Cpu::default(), model, data, recipe, &delta, seed, watch)
}

fn recipe(privacy: Privacy) -> Recipe {
    Recipe {
        name: "test".to_owned(),
        steps: 30,
        batch: 20,
        learning_rate: 1e-2,
        privacy,
    }
}

#[test]
fn a_seed_gives_the_same_model_again_and_a_watcher_stops_it() {
    let data = data();
    let microbatches = Privacy::Microbatches {
        number: 5,
        clip: 1.0,
        noise: 1.0,
    };
    let records = Privacy::Records {
        clip: 1.0,
        noise: 1.0,
    };
    for privacy in [Privacy::None, microbatches, records] {
        let recipe = recipe(privacy);
        let [one, same, other] = [1, 1, 2].map(|seed| run(&data, &recipe, seed, 12).unwrap());
        assert_eq!((one.steps, one.snapshots.len()), (12, 2));
        assert_eq!(one.result().unwrap().step, 12);
        assert_eq!(one.result().unwrap().weights, same.result().unwrap().weights);
        assert_ne!(one.result().unwrap().weights, other.result().unwrap().weights);
        assert!(one.result().unwrap().validation.perplexity().is_finite());
        assert_eq!(one.at_step(10).map(|snapshot| snapshot.step), Some(10));
        let written = serde_json::to_string(&one).unwrap();
        let read: Trained = serde_json::from_str(&written).unwrap();
        assert_eq!((read.steps, read.snapshots.len()), (12, one.snapshots.len()));
    }
}

#[test]
fn what_can_be_learned_is_learned() {
    let data = data();
    let ordinary = run(&data, &recipe(Privacy::None), 1, u64::MAX).unwrap();
    let first = ordinary.snapshots[0].validation.perplexity();
    let last = ordinary.result().unwrap().validation.perplexity();
    assert!(last < 0.9 * first, "{first} {last}");
    // Somewhere on its way it was as good as in the middle.
    let middle = ordinary.at_step(20).unwrap().validation.perplexity();
    assert!(ordinary.at_perplexity(middle).unwrap().step <= 20);
    // With much noise nothing is.
    let noise = 50.0;
    let noisy = run(&data, &recipe(Privacy::Records { clip: 0.1, noise }), 1, u64::MAX).unwrap();
    assert!(noisy.result().unwrap().validation.perplexity() > last);
    assert!(!format!("{ordinary:?}").contains("0.0,"));
}

#[test]
fn recipes_that_promise_nothing_are_refused() {
    let data = data();
    for noise in [0.0, f64::NAN, -1.0] {
        assert!(run(&data, &recipe(Privacy::Records { clip: 1.0, noise }), 1, 1).is_err());
    }
    let none = Privacy::Microbatches {
        number: 0,
        clip: 1.0,
        noise: 1.0,
    };
    assert!(run(&data, &recipe(none), 1, 1).is_err());
}

#[test]
fn snapshots_are_saved_at_round_steps() {
    let saved: Vec<u64> = (1..=2_300).filter(|step| is_saved(*step, 2_300)).collect();
    assert_eq!(saved[..4], [10, 20, 30, 40]);
    for step in [100, 110, 150, 500, 950, 1_000, 1_100, 1_500, 2_000, 2_300] {
        assert!(saved.contains(&step), "{step}");
    }
    assert!(saved.len() < 60);
}
