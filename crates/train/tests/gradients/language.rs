//! Language models: recurrent ones and transformers.

use crate::kit::{check, check_isolation, check_precision, len, parameters};
use device::{Cpu, Device, Scalar};
use train::model::Model;
use train::models::{
    GruLanguageModel, LanguageModel, LstmLanguageModel, ModelError, Part, RecurrentShape, Sharded, Tokens,
    TransformerLanguageModel, TransformerShape,
};

const VOCABULARY: usize = 11;

fn recurrent(dropout: f64) -> RecurrentShape {
    RecurrentShape {
        vocabulary: VOCABULARY,
        embedding: 5,
        hidden: 6,
        dropout,
    }
}

fn transformer(tied: bool, dropout: f64) -> TransformerShape {
    TransformerShape {
        vocabulary: VOCABULARY,
        context: 40,
        width: 6,
        heads: 3,
        blocks: 2,
        tied,
        dropout,
    }
}

/// Rows with padding, repeated tokens, one with a single prediction, one with a single token and one with none.
fn padded() -> Tokens {
    let rows: [&[u32]; 6] = [
        &[1, 2, 3, 4, 5],
        &[2, 2, 2, 2],
        &[7, 1],
        &[3],
        &[],
        &[9, 8, 9, 8, 9, 10, 0],
    ];
    Tokens::ragged(VOCABULARY, &rows).unwrap()
}

fn batches() -> Vec<Tokens> {
    let long = (0..3 * 31).map(|i| (i * i + i / 7) % 10).collect();
    vec![
        padded(),
        // One step.
        Tokens::full(VOCABULARY, 2, vec![1, 2, 3, 3, 4, 0]).unwrap(),
        // One example; no example; nothing to predict.
        Tokens::full(VOCABULARY, 4, vec![6, 6, 1, 6]).unwrap(),
        Tokens::full(VOCABULARY, 4, vec![]).unwrap(),
        Tokens::full(VOCABULARY, 1, vec![1, 2]).unwrap(),
        // More steps than a block of inner products, and than columns: gradients of examples are made.
        Tokens::full(VOCABULARY, 31, long).unwrap(),
    ]
}

fn lstm<S: Scalar>(dropout: f64) -> LstmLanguageModel<Cpu<S>>
where
    Cpu<S>: Device<Scalar = S, Buffer = Vec<S>, Sums = Vec<f64>, Indices = Vec<u32>>,
{
    LstmLanguageModel::new(Cpu::new(), recurrent(dropout)).unwrap()
}

fn gru<S: Scalar>() -> GruLanguageModel<Cpu<S>>
where
    Cpu<S>: Device<Scalar = S, Buffer = Vec<S>, Sums = Vec<f64>, Indices = Vec<u32>>,
{
    GruLanguageModel::new(Cpu::new(), recurrent(0.0)).unwrap()
}

fn attentive<S: Scalar>(tied: bool, dropout: f64) -> TransformerLanguageModel<Cpu<S>>
where
    Cpu<S>: Device<Scalar = S, Buffer = Vec<S>, Sums = Vec<f64>, Indices = Vec<u32>>,
{
    TransformerLanguageModel::new(Cpu::new(), transformer(tied, dropout)).unwrap()
}

#[test]
fn an_lstm_has_the_gradients_it_says() {
    batches()
        .iter()
        .for_each(|batch| check(&mut lstm(0.0), batch, 150));
}

#[test]
fn a_gru_has_the_gradients_it_says() {
    batches().iter().for_each(|batch| check(&mut gru(), batch, 150));
}

#[test]
fn a_transformer_has_the_gradients_it_says() {
    batches()
        .iter()
        .for_each(|batch| check(&mut attentive(false, 0.0), batch, 150));
}

#[test]
fn a_tied_transformer_has_the_gradients_it_says() {
    batches()
        .iter()
        .for_each(|batch| check(&mut attentive(true, 0.0), batch, 150));
}

/// Wide layers and few steps, so that norms come from pairs of steps in every layer.
#[test]
fn norms_by_pairs_are_right_in_every_layer() {
    let batch = Tokens::full(40, 7, (0..28).map(|i| i * i % 40).collect()).unwrap();
    let shape = RecurrentShape {
        vocabulary: 40,
        embedding: 17,
        hidden: 20,
        dropout: 0.0,
    };
    check(
        &mut LstmLanguageModel::new(Cpu::new(), shape).unwrap(),
        &batch,
        30,
    );
    check(&mut GruLanguageModel::new(Cpu::new(), shape).unwrap(), &batch, 30);
    for tied in [false, true] {
        let shape = TransformerShape {
            vocabulary: 40,
            context: 6,
            width: 20,
            heads: 2,
            blocks: 1,
            tied,
            dropout: 0.0,
        };
        check(
            &mut TransformerLanguageModel::new(Cpu::new(), shape).unwrap(),
            &batch,
            30,
        );
    }
}

/// The losses that `check` differentiates have no dropout, so this holds gradients against naive ones and masks against splitting alone.
#[test]
fn masks_do_not_depend_on_the_batch() {
    fn splits<M: Model<Cpu<f64>, Batch = Tokens>>(mut model: M) {
        let parameters = parameters(&model, 5);
        let batch = padded();
        model.begin_step(3);
        let losses = model.backward(&parameters, &batch);
        let norms = model.squared_norms();
        let mut whole = vec![0.0; parameters.len()];
        model.accumulate(&vec![1.0; batch.len()], &mut whole);
        let mut split = vec![0.0; parameters.len()];
        for example in 0..batch.len() {
            let loss = model.backward(&parameters, &batch.part(example..example + 1));
            assert!((loss[0] - losses[example]).abs() < 1e-12);
            model.accumulate(&[1.0], &mut split);
            assert!((model.squared_norms()[0] - norms[example]).abs() < 1e-10 * (1.0 + norms[example]));
        }
        assert!(whole.iter().zip(&split).all(|(a, b)| (a - b).abs() < 1e-10));
        model.begin_step(4);
        assert_ne!(model.backward(&parameters, &batch), losses);
    }
    splits(lstm(0.3));
    splits(attentive(true, 0.3));
}

/// With masks that are fixed for a step, the gradient is that of the masked loss.
#[test]
fn gradients_with_dropout_are_those_of_the_masked_loss() {
    fn differences<M: Model<Cpu<f64>, Batch = Tokens>>(mut model: M) {
        let parameters = parameters(&model, 5);
        let batch = padded();
        model.begin_step(9);
        model.backward(&parameters, &batch);
        let mut gradient = vec![0.0; parameters.len()];
        model.accumulate(&vec![1.0; batch.len()], &mut gradient);
        for place in (0..parameters.len()).step_by(7) {
            let mut loss = |shift: f64| {
                let mut moved = parameters.clone();
                moved[place] += shift;
                model.backward(&moved, &batch).iter().sum::<f64>()
            };
            let difference = (loss(1e-5) - loss(-1e-5)) / 2e-5;
            assert!(
                (gradient[place] - difference).abs() < 1e-7 * (1.0 + difference.abs()),
                "place {place}"
            );
        }
    }
    differences(lstm(0.4));
    differences(attentive(false, 0.4));
}

/// One token's embedding is not a number, and one example has that token.
#[test]
fn what_is_not_a_number_stays_in_its_example() {
    fn isolated<M: Model<Cpu<f64>, Batch = Tokens>>(mut model: M, width: usize) {
        let clean = parameters(&model, 5);
        let mut poisoned = clean.clone();
        poisoned[6 * width] = f64::NAN;
        let rows: [&[u32]; 3] = [&[1, 2, 3, 4], &[1, 6, 2, 2], &[7, 1, 3]];
        check_isolation(
            &mut model,
            &poisoned,
            &clean,
            &Tokens::ragged(VOCABULARY, &rows).unwrap(),
            1,
        );
    }
    isolated(lstm(0.0), 5);
    isolated(gru(), 5);
    isolated(attentive(false, 0.0), 6);
}

#[test]
fn single_precision_is_close_to_double() {
    let batch = &batches()[5];
    check_precision(&mut lstm(0.0), &mut lstm(0.0), batch, 2e-5);
    check_precision(&mut gru(), &mut gru(), batch, 2e-5);
    check_precision(&mut attentive(true, 0.0), &mut attentive(true, 0.0), batch, 1e-4);
}

#[test]
fn threads_change_nothing() {
    let batch = padded();
    let weights: Vec<f64> = (0..batch.len()).map(|example| example as f64 * 0.1).collect();
    let mut alone = lstm::<f64>(0.2);
    let parameters = parameters(&alone, 5);
    let losses = alone.backward(&parameters, &batch);
    let norms = alone.squared_norms();
    let mut gradient = vec![0.0; parameters.len()];
    alone.accumulate(&weights, &mut gradient);
    let near = |ours: &[f64], truth: &[f64]| ours.iter().zip(truth).all(|(a, b)| (a - b).abs() < 1e-12);
    let sharded = |threads: usize, dropout: f64| {
        Sharded::new(&Cpu::new(), threads, || Ok::<_, ModelError>(lstm::<f64>(dropout))).unwrap()
    };
    let run = |mut sharded: Sharded<_, _>| {
        let losses = sharded.backward(&parameters, &batch);
        let norms = sharded.squared_norms();
        let mut gradient = vec![0.0; parameters.len()];
        sharded.accumulate(&weights, &mut gradient);
        (losses, norms, gradient)
    };
    let first = run(sharded(1, 0.2).splitting_all());
    assert!(near(&first.0, &losses) && near(&first.1, &norms) && near(&first.2, &gradient));
    for threads in [1, 2, 3, 9, 40] {
        assert_eq!(
            first,
            run(sharded(threads, 0.2).splitting_all()),
            "{threads} threads"
        );
        // What is too small to be split is what one model makes of it.
        assert_eq!(
            (losses.clone(), norms.clone(), gradient.clone()),
            run(sharded(threads, 0.2))
        );
    }
    let mut sharded = sharded(2, 0.0).splitting_all();
    check(&mut sharded, &batch, 20);
}

#[test]
fn the_papers_model_has_its_number_of_parameters() {
    let shape = RecurrentShape {
        vocabulary: 985,
        embedding: 50,
        hidden: 100,
        dropout: 0.0,
    };
    let model = LstmLanguageModel::new(Cpu::<f32>::new(), shape).unwrap();
    assert_eq!(len(&model), 209_135);
}

#[test]
fn scores_are_sums_of_the_losses() {
    fn agree<M: LanguageModel<Cpu<f64>>>(mut model: M) {
        let parameters = parameters(&model, 5);
        let prefix = [4, 1, 2];
        let continuations: Vec<Vec<u32>> = vec![
            vec![1, 2, 3],
            vec![1, 2, 4],
            vec![1],
            vec![5, 2],
            vec![],
            vec![1, 2, 3],
        ];
        let ours = model
            .score_continuations(&parameters, &prefix, &continuations)
            .unwrap();
        for (ours, continuation) in ours.iter().zip(&continuations) {
            let whole = [&prefix[..], continuation].concat();
            let scores = model.score(&parameters, &whole).unwrap();
            assert_eq!(scores.len(), whole.len() - 1);
            let truth: f64 = scores[prefix.len() - 1..].iter().sum();
            assert!((ours - truth).abs() < 1e-10, "{ours} and {truth}");
            let mean = -scores.iter().sum::<f64>() / scores.len() as f64;
            let batch = Tokens::ragged(VOCABULARY, &[whole]).unwrap();
            assert!((model.losses(&parameters, &batch)[0] - mean).abs() < 1e-10);
        }
        let next = model.next(&parameters, &prefix).unwrap();
        assert!((next.iter().map(|score| score.exp()).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((next[1] - ours[2]).abs() < 1e-12);
        assert_eq!(model.next(&parameters, &[]), Err(ModelError::NoContext));
        assert!(model.score_continuations(&parameters, &prefix, &[[99]]).is_err());
    }
    agree(lstm(0.2));
    agree(gru());
    agree(attentive(false, 0.2));
    agree(attentive(true, 0.0));
}

#[test]
fn a_transformer_looks_back_as_far_as_it_can() {
    let mut model = attentive::<f64>(true, 0.0);
    let parameters = parameters(&model, 5);
    let long: Vec<u32> = (0..60).map(|i| i % 10).collect();
    let next = model.next(&parameters, &long).unwrap();
    assert_eq!(next, model.next(&parameters, &long[20..]).unwrap());
}

#[test]
fn shapes_that_make_no_model_are_refused() {
    let bad = |vocabulary, hidden, dropout| {
        let shape = RecurrentShape {
            vocabulary,
            embedding: 5,
            hidden,
            dropout,
        };
        LstmLanguageModel::new(Cpu::<f32>::new(), shape).is_err()
    };
    assert!(
        bad(0, 5, 0.0) && bad(5, 0, 0.0) && bad(5, 5, 1.0) && bad(5, 5, f64::NAN) && bad(usize::MAX, 5, 0.0)
    );
    let heads = TransformerShape {
        heads: 4,
        ..transformer(true, 0.0)
    };
    let error = TransformerLanguageModel::new(Cpu::<f32>::new(), heads)
        .err()
        .unwrap();
    assert_eq!(error, ModelError::Heads { heads: 4, width: 6 });
}
