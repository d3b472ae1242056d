//! Gradients of factors rounded to bf16: the norm of an example covers what it adds to a sum, as the GPU adds it, whatever rounding did.

use crate::inputs::Inputs;
use device::*;

/// What is multiplied: steps of one example, and how nearly its even and odd steps cancel.
#[derive(Clone, Copy)]
struct Shape {
    steps: usize,
    height: usize,
    width: usize,
    remainder: f64,
    /// Whether factors are kept rounded.
    kept: bool,
}

/// How long the sum of one example's gradient of weight `weight` is, over what its norm allows, by pairs and by products. `norms` is the device whose norms are believed.
fn used(adds: &Cuda, norms: &Cuda, shape: Shape, weight: f64, seed: u64) -> [f64; 2] {
    let Shape {
        steps,
        height,
        width,
        remainder,
        kept,
    } = shape;
    let mut inputs = Inputs {
        device: adds,
        state: seed,
        rounded: kept,
        outputs: Vec::new(),
    };
    let (mut a, mut g) = (inputs.values(steps * height), inputs.values(steps * width));
    let noise = inputs.values(steps * width);
    for step in (1..steps).step_by(2) {
        for column in 0..height {
            a[step * height + column] = a[(step - 1) * height + column];
        }
        for column in 0..width {
            let place = step * width + column;
            g[place] = -g[place - width] + remainder * noise[place];
        }
    }
    let (a, g) = (inputs.factors(&a), inputs.factors(&g));
    let mut weights = adds.zeros(1);
    adds.weigh(&[weight as f32], &mut weights);
    let sequences = Sequences {
        examples: 1,
        steps,
        order: Order::Examples,
    };
    let (a, g) = (Rows::new(&a, height), Rows::new(&g, width));
    let mut total = adds.zeros((height + 1) * width);
    let into = SpanMut::new(&mut total, width);
    adds.weighted_product(sequences, &weights, a, g, into, width, Some(0));
    let added: f64 = adds
        .download(&total)
        .iter()
        .map(|value| f64::from(*value).powi(2))
        .sum();
    let squared = |run: &dyn Fn(&mut <Cuda as Device>::Sums)| {
        let mut sums = norms.sums(1);
        run(&mut sums);
        norms.download_sums(&sums, 1)[0]
    };
    let pairs = squared(&|sums| norms.pair_norms(sequences, &[a], true, &[g], sums));
    let products = squared(&|sums| norms.product_norms(sequences, a, true, g, sums));
    [pairs, products].map(|square| added.sqrt() / (weight * square.sqrt()))
}

/// What is added is never longer than the weight times the norm, also where steps nearly cancel: up to a hundred thousandth, for adding in `f32`. The mutant believes norms of the factors before they were rounded, which cancel where the
/// rounded ones do not.
#[test]
fn norms_of_rounded_factors_cover_what_is_added() {
    let (Some(half), Some(full)) = (crate::gpu(Products::Half), crate::gpu(Products::Full)) else {
        return;
    };
    let mut mutant = 0.0f64;
    for (seed, (steps, height, width)) in (1..).zip([
        (2, 16, 24),
        (7, 33, 70),
        (64, 512, 200),
        (300, 40, 1030),
        (256, 96, 10),
    ]) {
        for remainder in [1.0, 1e-2, 1e-4, 0.0] {
            for weight in [1.0, 0.37, 1.0 / 3.0, 1e-5] {
                let shape = Shape {
                    steps,
                    height,
                    width,
                    remainder,
                    kept: false,
                };
                for kept in [false, true] {
                    let used_by = used(&half, &half, Shape { kept, ..shape }, weight, seed);
                    assert!(
                        used_by.iter().all(|used| *used <= 1.0 + 1e-5),
                        "{steps}×{height}×{width} {remainder} {weight} {kept}: {used_by:?}"
                    );
                    if remainder == 1.0 && steps > 2 {
                        assert!(used_by.iter().all(|used| *used > 0.9), "{used_by:?}");
                    }
                }
                mutant = used(&half, &full, shape, weight, seed)
                    .into_iter()
                    .fold(mutant, f64::max);
            }
        }
    }
    assert!(mutant > 2.0, "{mutant}");
    eprintln!("the mutant's sums are up to {mutant} times as long as its norms say");
}

/// Attention as it is defined, with its gradient, in `f64`: context, then the gradient of queries, keys and values.
fn attention(heads: Heads, factor: f64, projected: &[f64], gradient: &[f64]) -> [Vec<f64>; 2] {
    let (width, steps, size) = (heads.width(), heads.steps, heads.size);
    let (mut context, mut into) = (vec![0.0; gradient.len()], vec![0.0; projected.len()]);
    for (example, head) in (0..heads.examples).flat_map(|e| (0..heads.heads).map(move |h| (e, h))) {
        let at = |step: usize, part: usize, j: usize| {
            (example * steps + step) * 3 * width + part * width + head * size + j
        };
        let out = |step: usize, j: usize| (example * steps + step) * width + head * size + j;
        for query in 0..steps {
            let score = |key: usize| -> f64 {
                let products = (0..size).map(|j| projected[at(query, 0, j)] * projected[at(key, 1, j)]);
                factor * products.sum::<f64>()
            };
            let powers: Vec<f64> = (0..=query).map(|key| score(key).exp()).collect();
            let total: f64 = powers.iter().sum();
            let gains: Vec<f64> = (0..=query)
                .map(|key| {
                    (0..size)
                        .map(|j| gradient[out(query, j)] * projected[at(key, 2, j)])
                        .sum()
                })
                .collect();
            let mean: f64 = powers
                .iter()
                .zip(&gains)
                .map(|(power, gain)| power / total * gain)
                .sum();
            for key in 0..=query {
                let share = powers[key] / total;
                let slope = factor * share * (gains[key] - mean);
                for j in 0..size {
                    context[out(query, j)] += share * projected[at(key, 2, j)];
                    into[at(key, 2, j)] += share * gradient[out(query, j)];
                    into[at(query, 0, j)] += slope * projected[at(key, 1, j)];
                    into[at(key, 1, j)] += slope * projected[at(query, 0, j)];
                }
            }
        }
    }
    [context, into]
}

/// In tiles it is what it is by definition, for any number of steps; and an example that is not a number keeps to itself.
#[test]
fn attention_in_tiles_is_attention() {
    let Some(cuda) = crate::gpu(Products::Half) else {
        return;
    };
    for (steps, count, size, rounded) in [
        (1, 1, 32, false),
        (17, 3, 64, false),
        (37, 2, 64, true),
        (128, 1, 32, false),
        (200, 2, 32, true),
        (300, 1, 64, false),
        (300, 1, 64, true),
    ] {
        let heads = Heads {
            examples: 3,
            steps,
            heads: count,
            size,
        };
        let mut inputs = Inputs {
            device: &cuda,
            state: steps as u64,
            rounded,
            outputs: Vec::new(),
        };
        let rows = heads.examples * steps;
        let mut projected = inputs.values(rows * 3 * heads.width());
        projected.iter_mut().for_each(|value| *value *= 2.0);
        let gradient = inputs.values(rows * heads.width());
        let truth = attention(heads, 0.3, &projected, &gradient);
        let last = projected.len() - 1;
        projected[last] = f64::NAN;
        let (projected, gradient) = (inputs.factors(&projected), inputs.factors(&gradient));
        let (mut context, mut into) = (inputs.factor(rows * heads.width()), inputs.factor(last + 1));
        let mut logs = inputs.vector(2 * heads.rows());
        assert!(cuda.attention(heads, 0.3, &projected, &mut context, &mut logs));
        cuda.attention_backward(heads, 0.3, &projected, &context, &mut logs, &gradient, &mut into);
        for (what, ours, truth) in [("context", &context, &truth[0]), ("gradient", &into, &truth[1])] {
            // The last example is the one that is not a number.
            let two = truth.len() / 3 * 2;
            let largest = truth[..two]
                .iter()
                .fold(0.0f64, |most, value| most.max(value.abs()));
            let ours = cuda.download(ours);
            for (ours, truth) in ours[..two].iter().zip(truth) {
                let far = (f64::from(*ours) - truth).abs() / largest;
                assert!(
                    far < 2e-2,
                    "{what} of {steps} steps, {count}×{size}: off by {far} of the largest"
                );
            }
            assert!(ours[two..].iter().any(|value| value.is_nan()), "{what}");
        }
    }
}
