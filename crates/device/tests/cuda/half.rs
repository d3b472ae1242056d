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
}

/// How long the sum of one example's gradient of weight `weight` is, over what its norm allows, by pairs and by products. `norms` is the device whose norms are believed.
fn used(adds: &Cuda, norms: &Cuda, shape: Shape, weight: f64, seed: u64) -> [f64; 2] {
    let Shape {
        steps,
        height,
        width,
        remainder,
    } = shape;
    let mut inputs = Inputs {
        device: adds,
        state: seed,
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
    let (a, g, weights) = (inputs.upload(&a), inputs.upload(&g), inputs.upload(&[weight]));
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
    for (seed, (steps, height, width)) in
        (1..).zip([(2, 16, 24), (7, 33, 70), (64, 512, 200), (300, 40, 1030), (256, 96, 10)])
    {
        for remainder in [1.0, 1e-2, 1e-4, 0.0] {
            for weight in [1.0, 0.37, 1.0 / 3.0, 1e-5] {
                let shape = Shape {
                    steps,
                    height,
                    width,
                    remainder,
                };
                let used_by = used(&half, &half, shape, weight, seed);
                assert!(
                    used_by.iter().all(|used| *used <= 1.0 + 1e-5),
                    "{steps}×{height}×{width} {remainder} {weight}: {used_by:?}"
                );
                if remainder == 1.0 && steps > 2 {
                    assert!(used_by.iter().all(|used| *used > 0.9), "{used_by:?}");
                }
                mutant = used(&half, &full, shape, weight, seed).into_iter().fold(mutant, f64::max);
            }
        }
    }
    assert!(mutant > 2.0, "{mutant}");
    eprintln!("the mutant's sums are up to {mutant} times as long as its norms say");
}
