use super::*;
use crate::text::{START, Unigram, Vocabulary};

/// Logits that depend on the last token alone: the simplest model that can learn text by heart, with gradients written down one by one.
struct Pairs {
    tokens: usize,
    weights: Vec<f32>,
}

impl Pairs {
    fn new(tokens: usize) -> Self {
        Self {
            tokens,
            weights: vec![0.0; tokens * tokens],
        }
    }

    fn gradient(&mut self, row: &[u32]) -> Vec<f32> {
        let mut gradient = vec![0.0; self.weights.len()];
        let mut last = START;
        for token in row {
            let base = last as usize * self.tokens;
            for (place, log_probability) in self.next(&[last]).into_iter().enumerate() {
                let target = f64::from(u8::from(place == *token as usize));
                gradient[base + place] += ((log_probability.exp() - target) / row.len() as f64) as f32;
            }
            last = *token;
        }
        gradient
    }
}

impl Learner for Pairs {
    fn initial(&self, _: u64) -> Vec<f32> {
        vec![0.0; self.weights.len()]
    }

    fn load(&mut self, weights: &[f32]) {
        self.weights.copy_from_slice(weights);
    }

    fn add_gradients(&mut self, rows: &[&[u32]], clip: Option<f64>, sum: &mut [f32]) {
        for row in rows {
            let gradient = self.gradient(row);
            add_clipped(&gradient, 1.0, clip.unwrap_or(f64::MAX), sum);
        }
    }

    fn predict(&mut self, rows: &[&[u32]], _: bool) -> Prediction {
        let mut prediction = Prediction::default();
        for row in rows {
            let mut last = START;
            for token in *row {
                let next = self.next(&[last]);
                let own = next[*token as usize];
                prediction.add(own, Some(next.iter().all(|other| *other <= own)));
                last = *token;
            }
        }
        prediction
    }

    fn next(&mut self, context: &[u32]) -> Vec<f64> {
        let last = context.last().copied().unwrap_or(START) as usize;
        let logits = &self.weights[last * self.tokens..][..self.tokens];
        let all: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
        logits.iter().map(|logit| f64::from(*logit) - all.ln()).collect()
    }

    fn many(&mut self, _: &[u32], _: &[Vec<u32>]) -> Vec<f64> {
        Vec::new()
    }
}

/// Rows in which token t is followed by t + 1, mostly.
fn data() -> Data {
    let mut entropy = Seeded::numbered(1, 1);
    let rows = |count: usize, entropy: &mut Seeded| {
        let mut tokens = Vec::new();
        for _ in 0..count {
            let mut last = entropy.index(6);
            for _ in 0..5 {
                last = if entropy.chance(0.8) {
                    (last + 1) % 6
                } else {
                    entropy.index(6)
                };
                tokens.push(last as u32 + 1);
            }
        }
        Rows::of_tokens(tokens, 5).unwrap()
    };
    let (training, validation) = (rows(600, &mut entropy), rows(200, &mut entropy));
    Data {
        vocabulary: Vocabulary::bytes(),
        unigram: Unigram::of(&training, 7).unwrap().predict(&validation).unwrap(),
        training,
        validation,
        others: Vec::new(),
    }
}

fn recipe(privacy: Privacy) -> Recipe {
    Recipe {
        name: "test".to_owned(),
        steps: 300,
        batch: 30,
        learning_rate: 0.05,
        privacy,
    }
}

#[test]
fn what_can_be_learned_is_learned() {
    let data = data();
    let mut learner = Pairs::new(7);
    let ordinary = train(&mut learner, &data, &recipe(Privacy::None), 1, &mut |_| true);
    let perplexity = ordinary.result().unwrap().validation.perplexity();
    // The truth: 1/6 of 0.2 and 0.8 more for the next.
    let entropy: f64 = -(0.8333f64 * 0.8333f64.ln() + 5.0 * 0.0333 * 0.0333f64.ln());
    assert!(
        perplexity < 1.15 * (entropy.exp() * 4.0 + 6.0) / 5.0,
        "{perplexity}"
    );
    assert!(data.unigram.perplexity() > 5.5);
    // Private models learn less, more so with more noise.
    let private = |noise| {
        let privacy = Privacy::Records { clip: 0.5, noise };
        let trained = train(&mut Pairs::new(7), &data, &recipe(privacy), 1, &mut |_| true);
        trained.result().unwrap().validation.perplexity()
    };
    let (little, much) = (private(0.1), private(30.0));
    assert!(little < 5.0 && much > little + 0.5, "{little} {much}");
    // And somewhere on its way the ordinary model was as good.
    let equal = ordinary.at_perplexity(little).unwrap();
    assert!(equal.step < 300 && equal.validation.perplexity() <= little);
    assert_eq!(ordinary.at_step(50).map(|snapshot| snapshot.step), Some(50));
    assert!(!format!("{ordinary:?}").contains("0.0,"));
}

#[test]
fn a_seed_gives_the_same_model_again_and_a_watcher_stops_it() {
    let data = data();
    let privacy = Privacy::Microbatches {
        number: 5,
        clip: 1.0,
        noise: 0.3,
    };
    let run = |seed, last| {
        let watch = &mut |progress: Progress| progress.step < last;
        train(&mut Pairs::new(7), &data, &recipe(privacy.clone()), seed, watch)
    };
    let [one, same, other] = [(1, 40), (1, 40), (2, 40)].map(|(seed, last)| run(seed, last));
    assert_eq!((one.steps, one.result().unwrap().step), (40, 40));
    assert_eq!(one.result().unwrap().weights, same.result().unwrap().weights);
    assert_ne!(one.result().unwrap().weights, other.result().unwrap().weights);
    let written = serde_json::to_string(&one).unwrap();
    let read: Trained = serde_json::from_str(&written).unwrap();
    assert_eq!((read.steps, read.snapshots.len()), (40, one.snapshots.len()));
}

/// The sum of a step without noise, over all rows.
fn sum(rows: &Rows, privacy: Privacy) -> Vec<f32> {
    let mut recipe = recipe(privacy);
    recipe.batch = 1;
    let chosen: Vec<usize> = (0..rows.len()).collect();
    let mut learner = Pairs::new(7);
    let mut gradient = vec![0.0; 49];
    step_gradient(
        &mut learner,
        rows,
        &chosen,
        &recipe,
        &mut Seeded::numbered(1, 1),
        &mut gradient,
    );
    gradient
}

/// One row more moves the sum by at most C if rows are clipped, and by more than C, up to 2C, if microbatches are: what the accountant is told.
#[test]
fn sensitivity_is_what_the_accountant_is_told() {
    let distance = |left: &[f32], right: &[f32]| {
        let squares = left
            .iter()
            .zip(right)
            .map(|(left, right)| f64::from(left - right).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let clip = 0.05;
    // A batch of one opinion, and a last row of another, so that the mean of their one microbatch turns round.
    let mut largest = [0.0f64; 2];
    let mut entropy = Seeded::numbered(5, 5);
    for trial in 0..200 {
        let mut tokens: Vec<u32> = match trial {
            0 => vec![1, 2, 2, 1],
            _ => (0..6).map(|_| 1 + entropy.index(6) as u32).collect(),
        };
        // Even counts of tokens: rows of one token, then one more.
        let shorter = Rows::of_tokens(tokens.clone(), 1).unwrap();
        tokens.push(1 + entropy.index(6) as u32);
        let longer = Rows::of_tokens(tokens, 1).unwrap();
        let records = Privacy::Records { clip, noise: 0.0 };
        let microbatches = Privacy::Microbatches {
            number: 1,
            clip,
            noise: 0.0,
        };
        for (largest, privacy) in largest.iter_mut().zip([records, microbatches]) {
            *largest = largest.max(distance(&sum(&shorter, privacy.clone()), &sum(&longer, privacy)));
        }
    }
    // One row that points the other way, ten times as strongly: 2 rows of [1] against 1 of [1] and a strong other.
    assert!(
        largest[0] <= clip * 1.000_001 && largest[0] > 0.9 * clip,
        "{largest:?}"
    );
    assert!(largest[1] <= 2.0 * clip * 1.000_001, "{largest:?}");
    let mut both = vec![0.0f32; 2];
    add_clipped(&[1.0, 0.0], 1.0, 1.0, &mut both);
    let mut turned = vec![0.0f32; 2];
    // The mean of (1, 0) and a row of −9 is (−4, 0): clipped to the other side.
    add_clipped(&[-8.0, 0.0], 0.5, 1.0, &mut turned);
    assert!((distance(&both, &turned) - 2.0).abs() < 1e-6);
    let mut nothing = vec![0.0f32; 2];
    add_clipped(&[f32::NAN, 1.0], 1.0, 1.0, &mut nothing);
    add_clipped(&[f32::INFINITY, 1.0], 1.0, 1.0, &mut nothing);
    assert_eq!(nothing, [0.0, 0.0]);
}

/// 6.5 deviations: false alarm below 1e-9 each; a rate or a deviation that is 5 % off is caught.
#[test]
fn batches_and_noise_have_their_sizes() {
    let mut entropy = Seeded::numbered(7, 7);
    let (rows, rate, steps) = (2_000, 0.05, 400);
    let mut each = vec![0u32; rows];
    for _ in 0..steps {
        let chosen = poisson(rows, rate, &mut entropy);
        assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
        chosen.into_iter().for_each(|place| each[place] += 1);
    }
    let all = f64::from(each.iter().sum::<u32>());
    let deviations = |rate: f64| (all - 800_000.0 * rate) / (800_000.0 * rate * (1.0 - rate)).sqrt();
    assert!(deviations(rate).abs() < 6.5 && deviations(1.05 * rate).abs() > 6.5);
    // Every row alike: the first and the last too.
    assert!(
        each.iter()
            .all(|count| (f64::from(*count) - 20.0).abs() < 8.0 * 19f64.sqrt())
    );
    assert_eq!(poisson(5, 1.0, &mut entropy).len(), 5);
    assert!(poisson(1000, 0.0, &mut entropy).is_empty());
    let mut values = vec![0.0f32; 40_001];
    add_noise(&mut values, 3.0, &mut entropy);
    let variance = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / values.len() as f64;
    let off = |truth: f64| (variance / truth - 1.0) / (2.0 / values.len() as f64).sqrt();
    assert!(
        off(9.0).abs() < 6.5 && off(9.0 * 1.05 * 1.05).abs() > 6.5,
        "{variance}"
    );
}

#[test]
fn snapshots_are_kept_at_round_steps() {
    let kept: Vec<u64> = (1..=2_300).filter(|step| is_kept(*step, 2_300)).collect();
    assert_eq!(kept[..4], [10, 20, 30, 40]);
    for step in [100, 110, 150, 500, 950, 1_000, 1_100, 1_500, 2_000, 2_300] {
        assert!(kept.contains(&step), "{step}");
    }
    assert!(kept.len() < 60);
}
