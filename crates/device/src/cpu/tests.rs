//! Kernels against their definitions, where the layers' own tests would not reach: sizes past a block, several parts, single precision.

use super::lanes::limit;
use crate::{Activation, Adam, Cpu, Device, Momentum, Order, Rows, Scalar, Sequences, Span, SpanMut};

/// Synthetic numbers between −1 and 1.
fn values<S: Scalar>(len: usize, seed: usize) -> Vec<S> {
    (0..len)
        .map(|i| S::from_f64((((i + seed) * 7919 + 31 * seed) % 1009) as f64 / 504.5 - 1.0))
        .collect()
}

fn shapes() -> impl Iterator<Item = Sequences> {
    let sizes = [(1, 1), (3, 1), (2, 5), (2, 24), (3, 25), (9, 61), (2, 0), (0, 4)];
    sizes.into_iter().flat_map(|(examples, steps)| {
        [Order::Steps, Order::Examples].map(|order| Sequences {
            examples,
            steps,
            order,
        })
    })
}

/// ‖Σ_t a_t ⊗ g_t‖² (and of Σ_t g_t with `one`) as it is written, in `f64`.
pub(super) fn definition<S: Scalar>(
    sequences: Sequences,
    a: Rows<'_, Vec<S>>,
    one: bool,
    g: Rows<'_, Vec<S>>,
) -> Vec<f64> {
    let entry = |rows: &Rows<'_, Vec<S>>, row: usize, column: usize| {
        rows.buffer[rows.start + row * rows.stride + column].to_f64()
    };
    let squared = |example: usize| {
        let mut total = 0.0;
        for j in 0..g.width {
            let sum = |input: &dyn Fn(usize) -> f64| -> f64 {
                let rows = (0..sequences.steps).map(|step| sequences.row(example, step));
                rows.map(|row| input(row) * entry(&g, row, j))
                    .sum::<f64>()
                    .powi(2)
            };
            total += (0..a.width).map(|i| sum(&|row| entry(&a, row, i))).sum::<f64>();
            total += if one { sum(&|_| 1.0) } else { 0.0 };
        }
        total
    };
    (0..sequences.examples).map(squared).collect()
}

fn near(ours: &[f64], truth: &[f64], tolerance: f64) -> bool {
    ours.len() == truth.len()
        && ours
            .iter()
            .zip(truth)
            .all(|(a, b)| (a - b).abs() <= tolerance * (1.0 + b.abs()))
}

/// Σ_t ‖a_t‖‖g_t‖ with 1 beside a_t for `one`: what an error of a norm is relative to.
pub(super) fn lengths<S: Scalar>(
    sequences: Sequences,
    a: Rows<'_, Vec<S>>,
    one: bool,
    g: Rows<'_, Vec<S>>,
) -> Vec<f64> {
    let square = |rows: &Rows<'_, Vec<S>>, row: usize| -> f64 {
        let values = &rows.buffer[rows.start + row * rows.stride..][..rows.width];
        values.iter().map(|value| value.to_f64().powi(2)).sum()
    };
    let of = |example: usize| {
        let rows = (0..sequences.steps).map(|step| sequences.row(example, step));
        rows.map(|row| ((square(&a, row) + f64::from(u8::from(one))) * square(&g, row)).sqrt())
            .sum()
    };
    (0..sequences.examples).map(of).collect()
}

/// Not less than the truth, and not more than the sizes of steps explain.
fn close(ours: &[f64], truth: &[f64], lengths: &[f64], tolerance: f64) -> bool {
    let right = |((ours, truth), size): ((&f64, &f64), &f64)| {
        *ours >= truth - 1e-14 * size * size && *ours <= truth + tolerance * (size * size + 1e-12)
    };
    ours.len() == truth.len() && ours.iter().zip(truth).zip(lengths).all(right)
}

fn norms_agree<S: Scalar>(inputs: usize, outputs: usize, tolerance: f64)
where
    Cpu<S>: Device<Scalar = S, Buffer = Vec<S>, Sums = Vec<f64>, Indices = Vec<u32>>,
{
    let device = Cpu::<S>::new();
    for sequences in shapes() {
        // Rows with a gap, and columns from within.
        let (wide, place) = (outputs + 3, 2);
        let (a, g) = (
            values::<S>(sequences.rows() * inputs, 1),
            values::<S>(sequences.rows() * wide, 2),
        );
        let input = Rows::new(&a, inputs);
        let gradient = Rows::new(&g, wide).columns(place, outputs);
        for one in [false, true] {
            let truth = definition(sequences, input, one, gradient);
            let sizes = lengths(sequences, input, one, gradient);
            let (mut pairs, mut products) =
                (device.sums(sequences.examples), device.sums(sequences.examples));
            device.pair_norms(sequences, &[input], one, &[gradient], &mut pairs);
            device.product_norms(sequences, input, one, gradient, &mut products);
            assert!(
                close(&pairs, &truth, &sizes, tolerance),
                "pairs: {sequences:?} {inputs} {outputs} {one}"
            );
            assert!(
                close(&products, &truth, &sizes, tolerance),
                "products: {sequences:?} {inputs} {outputs} {one}"
            );
            // In two parts each it is the same matrix, cut.
            let cut = outputs / 2;
            let parts = [gradient.columns(0, cut), gradient.columns(cut, outputs - cut)];
            let halves = [
                input.columns(0, inputs / 2),
                input.columns(inputs / 2, inputs - inputs / 2),
            ];
            let mut in_parts = device.sums(sequences.examples);
            device.pair_norms(sequences, &halves, one, &parts, &mut in_parts);
            assert!(
                close(&in_parts, &truth, &sizes, tolerance),
                "parts: {sequences:?} {inputs} {outputs} {one}"
            );
        }
    }
}

#[test]
fn norms_by_pairs_and_by_products_agree_with_the_definition() {
    limit::each(|| {
        norms_agree::<f64>(3, 4, 1e-12);
        norms_agree::<f32>(3, 4, 1e-5);
        norms_agree::<f32>(17, 33, 1e-5);
        // More columns than are gone through at once.
        norms_agree::<f32>(2, 1100, 1e-5);
    });
}

#[test]
fn weighted_products_leave_out_what_weighs_nothing() {
    let device = Cpu::<f64>::new();
    for sequences in shapes() {
        // Both which factor is narrower, and more rows than are weighted at once.
        for (inputs, outputs) in [(3, 5), (6, 2)] {
            for zero in [false, true] {
                let a = values::<f64>(sequences.rows() * inputs, 1);
                let mut g = values::<f64>(sequences.rows() * outputs, 2);
                let weight = |example: usize| {
                    if zero && example == 1 {
                        0.0
                    } else {
                        0.5 + example as f64
                    }
                };
                let weights: Vec<f64> = (0..sequences.examples).map(weight).collect();
                let mut truth = vec![1.0; (inputs + 1) * outputs];
                for row in 0..sequences.rows() {
                    let weight = weights[sequences.example(row)];
                    for j in 0..outputs {
                        for i in 0..inputs {
                            truth[i * outputs + j] += weight * a[row * inputs + i] * g[row * outputs + j];
                        }
                        truth[inputs * outputs + j] += weight * g[row * outputs + j];
                    }
                    if weight == 0.0 {
                        g[row * outputs] = f64::NAN;
                    }
                }
                let mut ours = vec![1.0; (inputs + 1) * outputs];
                let (input, gradient) = (Rows::new(&a, inputs), Rows::new(&g, outputs));
                let into = SpanMut::new(&mut ours, 0);
                device.weighted_product(
                    sequences,
                    &weights,
                    input,
                    gradient,
                    into,
                    outputs,
                    Some(inputs * outputs),
                );
                assert!(
                    near(&ours, &truth, 1e-12),
                    "{sequences:?} {inputs} {outputs} {zero}"
                );
            }
        }
    }
}

#[test]
fn optimizers_follow_their_formulas() {
    let device = Cpu::<f64>::new();
    let gradient = vec![0.5, -2.0];
    let (mut p, mut m, mut v) = (vec![1.0, 1.0], vec![0.1, 0.0], vec![0.2, 0.0]);
    let step = Adam {
        rate: 0.1,
        first: 0.9,
        second: 0.99,
        first_correction: 2.0,
        second_correction: 3.0,
        epsilon: 1e-3,
        decay: 0.01,
        noise: 0.5,
        floor: 0.04,
    };
    device.adam(step, &gradient, &mut p, &mut m, &mut v);
    assert!(near(&m, &[0.9 * 0.1 + 0.1 * 0.5, -0.2], 1e-15));
    assert!(near(&v, &[0.99 * 0.2 + 0.01 * 0.25, 0.04], 1e-15));
    let after = |m: f64, variance: f64| 1.0 - 0.1 * (2.0 * m / (variance.sqrt() + 1e-3) + 0.01);
    // The second would be negative without its floor.
    assert!(near(
        &p,
        &[after(m[0], 3.0 * v[0] - 0.5), after(m[1], 0.04)],
        1e-15
    ));

    let (mut p, mut u) = (vec![1.0, 1.0], vec![1.0, 0.0]);
    let step = Momentum {
        rate: 0.1,
        momentum: 0.9,
        decay: 0.5,
    };
    device.momentum(step, &gradient, &mut p, &mut u);
    assert!(near(&u, &[1.4, -2.0], 1e-15));
    assert!(near(&p, &[1.0 - 0.1 * 1.9, 1.0 - 0.1 * -1.5], 1e-15));
    let mut y = vec![1.0, 2.0];
    device.axpy(-2.0, &gradient, &mut y);
    assert_eq!(y, [0.0, 6.0]);
}

#[test]
fn losses_ignore_padding_and_keep_what_is_not_a_number() {
    let device = Cpu::<f32>::new();
    let mut logits = vec![1.0, 2.0, 3.0, f32::NAN, 0.0, 0.0, f32::NAN, 0.0, 0.0];
    let mut losses = vec![9.0; 3];
    device.cross_entropy(
        3,
        3,
        None,
        &vec![2, 0, 0],
        &vec![0.5, 0.0, 1.0],
        true,
        &mut logits,
        &mut losses,
    );
    let total = 1f64.exp() + 2f64.exp() + 3f64.exp();
    assert!((f64::from(losses[0]) - 0.5 * (total.ln() - 3.0)).abs() < 1e-6);
    assert!((f64::from(logits[0]) - 0.5 * 1f64.exp() / total).abs() < 1e-6);
    assert!((f64::from(logits[2]) - 0.5 * (3f64.exp() / total - 1.0)).abs() < 1e-6);
    assert_eq!((logits[3], losses[1]), (0.0, 0.0));
    assert!(losses[2].is_nan() && logits[8].is_nan());
}

/// Cells, activations and softmax in `f32` on every width of vectors, against `f64`.
#[test]
fn every_width_of_vectors_computes_the_same() {
    fn run<S: Scalar>() -> Vec<f64>
    where
        Cpu<S>: Device<Scalar = S, Buffer = Vec<S>, Sums = Vec<f64>, Indices = Vec<u32>>,
    {
        let device = Cpu::<S>::new();
        let (examples, hidden) = (3, 21);
        let len = examples * hidden;
        let bias = values::<S>(4 * hidden, 3);
        let mut everything = Vec::new();
        let mut keep = |values: &[S]| everything.extend(values.iter().map(|value| value.to_f64()));

        let (mut gates, mut cells, mut states) = (
            values::<S>(4 * len, 1),
            values::<S>(2 * len, 2),
            values::<S>(len, 0),
        );
        let span = Span::new(&bias, 0);
        device.lstm_forward(
            examples,
            hidden,
            span,
            SpanMut::new(&mut gates, 0),
            &mut cells,
            0,
            len,
            SpanMut::new(&mut states, 0),
        );
        keep(&gates);
        keep(&cells);
        keep(&states);
        let (gradient, mut cell) = (values::<S>(len, 5), values::<S>(len, 6));
        device.lstm_backward(
            examples,
            hidden,
            SpanMut::new(&mut gates, 0),
            &cells,
            0,
            len,
            Span::new(&gradient, 0),
            &mut cell,
        );
        keep(&gates);
        keep(&cell);

        let (mut gates, mut states) = (values::<S>(4 * len, 1), values::<S>(2 * len, 2));
        device.gru_forward(
            examples,
            hidden,
            span,
            SpanMut::new(&mut gates, 0),
            &mut states,
            0,
            len,
        );
        keep(&gates);
        keep(&states);
        let mut last = values::<S>(len, 6);
        device.gru_backward(
            examples,
            hidden,
            SpanMut::new(&mut gates, 0),
            &states,
            0,
            Span::new(&gradient, 0),
            &mut last,
        );
        keep(&gates);
        keep(&last);

        for activation in [Activation::Gelu, Activation::Relu, Activation::Tanh] {
            let (mut before, mut after) = (values::<S>(4 * len, 7), values::<S>(4 * len, 0));
            device.activate(
                activation,
                examples,
                4 * hidden,
                Some(span),
                &mut before,
                &mut after,
            );
            keep(&after);
            device.activate_backward(activation, len, &gradient, &mut before);
            keep(&before[..len]);
        }
        let mut scores = values::<S>(2 * 19 * 19, 8);
        device.causal_softmax(2, 19, 0.7, &mut scores);
        keep(&scores);
        everything
    }
    let truth = run::<f64>();
    limit::each(|| assert!(near(&run::<f32>(), &truth, 2e-6)));
}
