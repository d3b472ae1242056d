//! Units with several texts: clipped as one, wherever their texts stand and whoever is in the batch.

use super::*;
use crate::models::{
    LstmLanguageModel, Network, RecurrentShape, Tokens, TransformerLanguageModel, TransformerShape,
};
use proptest::prelude::*;

const VOCABULARY: usize = 13;

fn lstm() -> LstmLanguageModel<Cpu<f32>> {
    let shape = RecurrentShape {
        vocabulary: VOCABULARY,
        embedding: 5,
        hidden: 7,
        dropout: 0.0,
    };
    LstmLanguageModel::new(Cpu::new(), shape).expect("a shape")
}

fn transformer() -> TransformerLanguageModel<Cpu<f32>> {
    let shape = TransformerShape {
        vocabulary: VOCABULARY,
        context: 12,
        width: 8,
        heads: 2,
        blocks: 1,
        tied: true,
        dropout: 0.0,
    };
    TransformerLanguageModel::new(Cpu::new(), shape).expect("a shape")
}

/// How a model is wrong about norms.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    /// Not at all.
    No,
    /// The norm of a unit is made of its texts' norms, as if no two texts were alike.
    TextByText,
    /// Each unit has the norm of the one beside it.
    OfAnother,
}

/// A model, right or wrong.
struct Normed<M> {
    model: M,
    wrong: Wrong,
    sizes: Option<Vec<usize>>,
}

impl<M: Model<Cpu<f32>, Batch = Tokens>> Model<Cpu<f32>> for Normed<M> {
    type Batch = Tokens;

    fn layout(&self) -> &[Parameter] {
        self.model.layout()
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        self.model.initial(seed)
    }

    fn examples(&self, batch: &Tokens) -> usize {
        self.model.examples(batch)
    }

    fn group(&mut self, sizes: Option<&[usize]>) -> bool {
        self.sizes = sizes.map(<[usize]>::to_vec);
        self.model.group(sizes)
    }

    fn backward(&mut self, parameters: &Vec<f32>, batch: &Tokens) -> Vec<f64> {
        self.model.backward(parameters, batch)
    }

    fn squared_norms(&mut self) -> Vec<f64> {
        match (self.wrong, &self.sizes) {
            (Wrong::TextByText, Some(sizes)) => {
                self.model.group(None);
                let texts = self.model.squared_norms();
                self.model.group(self.sizes.as_deref());
                let mut texts = texts.into_iter();
                sizes
                    .iter()
                    .map(|size| texts.by_ref().take(*size).sum())
                    .collect()
            }
            (Wrong::OfAnother, _) => {
                let mut norms = self.model.squared_norms();
                norms.rotate_left(1);
                norms
            }
            _ => self.model.squared_norms(),
        }
    }

    fn accumulate(&mut self, weights: &[f64], gradient: &mut Vec<f32>) {
        self.model.accumulate(weights, gradient);
    }

    fn losses(&mut self, parameters: &Vec<f32>, batch: &Tokens) -> Vec<f64> {
        self.model.losses(parameters, batch)
    }
}

/// A certified ε takes a moment, so the plan is made once.
fn in_floats() -> &'static TrainingPlan {
    static PLAN: std::sync::OnceLock<TrainingPlan> = std::sync::OnceLock::new();
    PLAN.get_or_init(|| plan(1, Summation::Float))
}

/// The sum of a step over these units, in parts of C.
fn sum<M: Model<Cpu<f32>, Batch = Tokens>>(
    model: M,
    texts: &Dataset<Tokens>,
    units: &Units,
    members: &[u64],
    (clip, at_once): (f64, usize),
) -> Vec<f64> {
    let parameters = model.initial(3);
    let mut work = super::summation::Work::new(Cpu::<f32>::new(), model, texts, units.clone(), at_once);
    work.clipped_sum(in_floats(), &parameters, members, clip);
    let numbers = work.sum.numbers().into_iter();
    numbers
        .map(|point| point as f64 / f64::from(1u32 << 30))
        .collect()
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// What the units add when each is clipped by itself, from the gradients of single texts, in parts of C.
fn by_hand<M: Model<Cpu<f32>, Batch = Tokens>>(
    mut model: M,
    texts: &Dataset<Tokens>,
    units: &Units,
    clip: f64,
) -> Vec<f64> {
    let parameters = model.initial(3);
    let mut total = vec![0.0; parameters.len()];
    for unit in 0..units.count() {
        let (examples, weight) = units.of(unit);
        let mut own = vec![0.0; parameters.len()];
        for example in examples {
            let mut gradient = vec![0.0f32; parameters.len()];
            model.backward(&parameters, &texts.gather(&[example]));
            model.accumulate(&[1.0], &mut gradient);
            own.iter_mut()
                .zip(&gradient)
                .for_each(|(own, value)| *own += weight * f64::from(*value));
        }
        let factor = (clip / length(&own)).min(1.0) / clip;
        total
            .iter_mut()
            .zip(&own)
            .for_each(|(total, value)| *total += factor * value);
    }
    total
}

fn texts(rows: &[Vec<u32>]) -> Dataset<Tokens> {
    Dataset::new("texts", Tokens::ragged(VOCABULARY, rows).expect("tokens"))
}

/// A unit of equal texts is as long as they are many, and adds C and no more. Where texts are clipped one by one, norms are put together from those of texts, or are those of another unit, it adds more.
#[test]
fn units_of_texts_are_clipped_as_one() {
    let rows: Vec<Vec<u32>> = (0..9).map(|_| vec![4, 1, 7, 7, 2]).chain([vec![3, 3]]).collect();
    let texts = texts(&rows);
    let units = Units::by_key([0, 0, 0, 0, 0, 0, 0, 0, 0, 1], PerUnit::Sum);
    let model = |wrong| Normed {
        model: lstm(),
        wrong,
        sizes: None,
    };
    for clip in [1e-1, 1e-3, 1e-6] {
        let own = length(&sum(model(Wrong::No), &texts, &units, &[0], (clip, 64)));
        assert!(own <= 1.0 && own > 0.99, "{own} C");
        let with = sum(model(Wrong::No), &texts, &units, &[0, 1], (clip, 64));
        let without = sum(model(Wrong::No), &texts, &units, &[1], (clip, 64));
        let moved: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
        assert!(length(&moved) <= 1.0 + 1e-5, "{} C", length(&moved));
        // The mutants.
        let text_by_text = length(&sum(model(Wrong::TextByText), &texts, &units, &[0], (clip, 64)));
        assert!(text_by_text > 2.5, "{text_by_text}");
        let alone = Units::each_example(10);
        let one_by_one = sum(
            model(Wrong::No),
            &texts,
            &alone,
            &(0..9).collect::<Vec<_>>(),
            (clip, 64),
        );
        assert!(length(&one_by_one) > 8.0);
        let with = sum(model(Wrong::OfAnother), &texts, &units, &[0, 1], (clip, 64));
        assert!(length(&with) > 2.5, "{}", length(&with));
    }
}

/// Units that are too large for a batch are cut by themselves, and weigh as much.
#[test]
fn a_unit_larger_than_a_batch_adds_what_it_would_in_one() {
    let rows: Vec<Vec<u32>> = (0..12u32)
        .map(|row| vec![row % 5, row % 7, 3, row % 2, 9])
        .collect();
    let texts = texts(&rows);
    let units = Units::by_key([0, 0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0], PerUnit::MeanOver(20));
    let of = |at_once| sum(transformer(), &texts, &units, &[2, 0, 1], (0.01, at_once));
    let truth = by_hand(transformer(), &texts, &units, 0.01);
    for at_once in [4, 8, 64] {
        let far: Vec<f64> = of(at_once).iter().zip(&truth).map(|(a, b)| a - b).collect();
        assert!(length(&far) < 0.01, "{at_once}: {}", length(&far));
    }
}

/// Threads and parts change nothing about whose texts are clipped together.
#[test]
fn parts_of_a_batch_hold_whole_units() {
    use crate::models::Sharded;
    let rows: Vec<Vec<u32>> = (0..40u32)
        .map(|row| vec![row % 11, row % 7, 3, row % 5])
        .collect();
    let texts = texts(&rows);
    let units = Units::by_key((0..40).map(|row| row % 9), PerUnit::Sum);
    let members: Vec<u64> = (0..9).collect();
    let network = Network::Lstm {
        embedding: 5,
        hidden: 7,
        dropout: 0.0,
    };
    let truth = by_hand(
        network.build(Cpu::new(), VOCABULARY).unwrap(),
        &texts,
        &units,
        0.02,
    );
    let mut sums = Vec::new();
    for threads in [1, 3] {
        let model = Sharded::new(&Cpu::<f32>::new(), threads, || {
            network.build(Cpu::new(), VOCABULARY)
        });
        sums.push(sum(
            model.unwrap().splitting_all(),
            &texts,
            &units,
            &members,
            (0.02, 25),
        ));
        let far: Vec<f64> = sums[0].iter().zip(&truth).map(|(a, b)| a - b).collect();
        assert!(length(&far) < 0.01 * 9.0, "{}", length(&far));
    }
    assert_eq!(sums[0], sums[1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Any number of units with any texts: the norm of each is that of the sum of its texts' gradients, never less.
    #[test]
    fn norms_of_units_are_those_of_their_sums(
        sizes in prop::collection::vec(1usize..5, 1..6),
        seed in any::<u64>(),
        attentive in any::<bool>(),
    ) {
        let mut bits = Keyed::new([5; 32], seed);
        let count: usize = sizes.iter().sum();
        let rows: Vec<Vec<u32>> = (0..count)
            .map(|_| (0..bits.bits(3) + 1).map(|_| bits.bits(10) as u32 % VOCABULARY as u32).collect())
            .collect();
        let texts = texts(&rows);
        let mut model: Box<dyn Model<Cpu<f32>, Batch = Tokens>> =
            if attentive { Box::new(transformer()) } else { Box::new(lstm()) };
        let parameters = model.initial(seed);
        prop_assert!(model.group(Some(&sizes)));
        model.backward(&parameters, texts.rows());
        let norms = model.squared_norms();
        prop_assert_eq!(norms.len(), sizes.len());
        model.group(None);
        let mut first = 0;
        for (size, norm) in sizes.iter().zip(norms) {
            let mut own = vec![0.0f64; parameters.len()];
            for example in first..first + size {
                let mut gradient = vec![0.0f32; parameters.len()];
                model.backward(&parameters, &texts.gather(&[example]));
                model.accumulate(&[1.0], &mut gradient);
                own.iter_mut().zip(&gradient).for_each(|(own, value)| *own += f64::from(*value));
            }
            first += size;
            let truth = length(&own).powi(2);
            prop_assert!(norm >= truth * (1.0 - 1e-5) && norm <= truth * 1.001 + 1e-9, "{} and {}", norm, truth);
        }
    }
}
