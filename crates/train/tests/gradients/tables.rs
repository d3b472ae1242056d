//! Perceptrons, and regressions, which are perceptrons without hidden layers.

use crate::kit::{check, check_isolation, check_precision, parameters};
use device::{Activation, Cpu, Device, Scalar};
use train::model::Model;
use train::models::{Features, Mlp, MlpShape, Part, Targets, Task};

fn mlp<S: Scalar>(hidden: &[usize], activation: Activation, task: Task, dropout: f64) -> Mlp<Cpu<S>>
where
    Cpu<S>: Device<Scalar = S, Buffer = Vec<S>, Sums = Vec<f64>, Indices = Vec<u32>>,
{
    let shape = MlpShape {
        inputs: 4,
        hidden: hidden.to_vec(),
        activation,
        task,
        dropout,
    };
    Mlp::new(Cpu::new(), shape).unwrap()
}

fn values(rows: usize) -> Vec<f32> {
    (0..4 * rows)
        .map(|i| ((i * 37 % 23) as f32 - 11.0) / 7.0)
        .collect()
}

fn classes(rows: usize) -> Features {
    Features::new(
        4,
        3,
        values(rows),
        Targets::Classes((0..rows as u32).map(|i| i % 3).collect()),
    )
    .unwrap()
}

fn numbers(rows: usize) -> Features {
    Features::new(
        4,
        2,
        values(rows),
        Targets::Numbers((0..2 * rows).map(|i| (i % 5) as f32 - 2.0).collect()),
    )
    .unwrap()
}

#[test]
fn perceptrons_and_regressions_have_the_gradients_they_say() {
    for activation in [Activation::Gelu, Activation::Relu, Activation::Tanh] {
        for hidden in [&[][..], &[5], &[7, 3]] {
            for rows in [0, 1, 6] {
                check(
                    &mut mlp(hidden, activation, Task::Classes(3), 0.0),
                    &classes(rows),
                    100,
                );
                check(
                    &mut mlp(hidden, activation, Task::Numbers(2), 0.0),
                    &numbers(rows),
                    100,
                );
            }
        }
    }
}

#[test]
fn features_that_are_not_numbers_stay_in_their_row() {
    for (poison, hidden) in [(f32::NAN, &[5][..]), (f32::INFINITY, &[5, 4]), (f32::NAN, &[])] {
        for activation in [Activation::Gelu, Activation::Relu, Activation::Tanh] {
            let mut model = mlp::<f64>(hidden, activation, Task::Classes(3), 0.0);
            let parameters = parameters(&model, 5);
            let mut values = values(5);
            values[9] = poison;
            let batch = Features::new(4, 3, values, Targets::Classes(vec![0, 1, 2, 0, 1])).unwrap();
            check_isolation(&mut model, &parameters, &parameters, &batch, 2);
        }
    }
}

#[test]
fn dropout_does_not_depend_on_the_batch() {
    let mut model = mlp::<f64>(&[9, 5], Activation::Gelu, Task::Classes(3), 0.5);
    let parameters = parameters(&model, 5);
    let batch = classes(8);
    let whole = model.backward(&parameters, &batch);
    let norms = model.squared_norms();
    for example in 0..batch.len() {
        assert!(
            (model.backward(&parameters, &batch.part(example..example + 1))[0] - whole[example]).abs()
                < 1e-12
        );
        assert!((model.squared_norms()[0] - norms[example]).abs() < 1e-10 * (1.0 + norms[example]));
    }
    model.begin_step(1);
    assert_ne!(model.backward(&parameters, &batch), whole);
}

#[test]
fn single_precision_is_close_to_double() {
    let task = Task::Numbers(2);
    let mut single = mlp(&[8, 8], Activation::Tanh, task, 0.0);
    check_precision(
        &mut single,
        &mut mlp(&[8, 8], Activation::Tanh, task, 0.0),
        &numbers(9),
        2e-5,
    );
}

#[test]
fn predictions_are_what_the_loss_is_of() {
    let mut model = mlp::<f64>(&[5], Activation::Relu, Task::Numbers(2), 0.0);
    let parameters = parameters(&model, 5);
    let batch = numbers(3);
    let Targets::Numbers(targets) = batch.targets() else {
        panic!("numbers")
    };
    let predictions = model.predict(&parameters, &batch);
    for (example, loss) in model.losses(&parameters, &batch).into_iter().enumerate() {
        let mean: f64 = (0..2)
            .map(|j| (predictions[example][j] - f64::from(targets[2 * example + j])).powi(2) / 2.0)
            .sum();
        assert!((loss - mean).abs() < 1e-12);
    }
}
