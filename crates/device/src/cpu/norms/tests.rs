//! Norms of gradients whose steps nearly cancel: they must not come out too small, since what is kept of a gradient follows from them.

use super::super::lanes::limit;
use super::super::tests::{definition, lengths};
use super::*;
use crate::Order;

/// Examples of two or more steps whose gradients cancel but for a small part: a_t and g_t of `inputs` and `outputs` numbers. Odd steps take back what the even ones before them gave, up to `remainder`.
struct Cancelling {
    sequences: Sequences,
    a: Vec<f32>,
    g: Vec<f32>,
}

fn cancelling(seed: u64, steps: usize, inputs: usize, outputs: usize, remainder: f32) -> Cancelling {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut number = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let sequences = Sequences {
        examples: 40,
        steps,
        order: Order::Examples,
    };
    let (mut a, mut g): (Vec<f32>, Vec<f32>) = (Vec::new(), Vec::new());
    for _ in 0..sequences.examples {
        let (mut last_a, mut last_g) = (Vec::new(), Vec::new());
        for step in 0..steps {
            if step % 2 == 0 {
                last_a = (0..inputs).map(|_| number()).collect();
                last_g = (0..outputs).map(|_| number()).collect();
            } else {
                last_g
                    .iter_mut()
                    .for_each(|value: &mut f32| *value = -*value + remainder * number());
            }
            a.extend(&last_a);
            g.extend(&last_g);
        }
    }
    Cancelling { sequences, a, g }
}

/// How much of a unit of this true norm is kept by a clip norm, given what its squared norm came out as: Below 0 the norm used to be taken as 0.
fn kept(computed: f64, truth: f64, clip: f64) -> f64 {
    (clip / computed.max(0.0).sqrt()).min(1.0) * truth.sqrt() / clip
}

/// Of all cases, for each of these clip norms, by pairs and by products: the most that is kept of a unit, in parts of the clip norm.
fn most_kept<const N: usize>(clips: [f64; N], unit: f64) -> [[f64; 2]; N] {
    let mut most = [[0.0f64; 2]; N];
    for (seed, (steps, inputs, outputs)) in (1..).zip([(2, 16, 33), (2, 30, 20), (20, 10, 40), (31, 7, 60)]) {
        for remainder in [1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 0.0] {
            let made = cancelling(seed, steps, inputs, outputs, remainder);
            let (input, gradient) = (Rows::new(&made.a, inputs), Rows::new(&made.g, outputs));
            let truth = definition(made.sequences, input, true, gradient);
            let (mut pairs, mut products) = (vec![0.0; truth.len()], vec![0.0; truth.len()]);
            pair_norms(made.sequences, &[input], true, &[gradient], unit, &mut pairs);
            product_norms(
                made.sequences,
                input,
                true,
                gradient,
                unit,
                &mut Vec::new(),
                &mut products,
            );
            for (most, clip) in most.iter_mut().zip(clips) {
                for (most, sums) in most.iter_mut().zip([&pairs, &products]) {
                    for (computed, truth) in sums.iter().zip(&truth) {
                        *most = most.max(kept(*computed, *truth, clip));
                    }
                }
            }
        }
    }
    most
}

/// The true norm of what is kept is at most the clip norm, however small that is; without the bound it is not.
#[test]
fn what_is_kept_of_cancelling_steps_is_no_longer_than_the_clip_norm() {
    limit::each(|| {
        let most = most_kept([1.0, 1e-2, 1e-4, 1e-6, 1e-9], f32::ROUNDING);
        assert!(most.iter().flatten().all(|most| *most <= 1.0), "{most:?}");
        // The mutant: kernels that think that nothing is rounded.
        let [[four, products], [six, _]] = most_kept([1e-4, 1e-6], 0.0);
        assert!(
            four > 2.0 && six > 100.0 && products > 1.0,
            "{four} {six} {products}"
        );
    });
}

/// None is too small, and none is larger than the sizes of steps explain, also for many steps, several parts, and equal tokens.
#[test]
fn no_norm_is_too_small() {
    limit::each(|| {
        for (seed, (steps, inputs, outputs)) in
            (1..).zip([(2, 3, 4), (25, 9, 530), (61, 9, 17), (1100, 3, 2)])
        {
            for remainder in [1.0, 1e-4, 0.0] {
                let made = cancelling(seed, steps, inputs, outputs, remainder);
                let sequences = Sequences {
                    examples: if steps > 100 { 2 } else { 9 },
                    ..made.sequences
                };
                let (input, gradient) = (Rows::new(&made.a, inputs), Rows::new(&made.g, outputs));
                let unit = f32::ROUNDING;
                let zeros = || vec![0.0; sequences.examples];
                let check = |what: &str, sums: Vec<f64>, truth: &[f64], sizes: &[f64]| {
                    for ((sum, truth), size) in sums.iter().zip(truth).zip(sizes) {
                        let most = truth + 2e-4 * (truth.sqrt() * size + size * size);
                        assert!(
                            sum >= truth && *sum <= most,
                            "{what} {steps} {remainder}: {truth} {sum} {most}"
                        );
                    }
                };
                for one in [false, true] {
                    let truth = definition(sequences, input, one, gradient);
                    let sizes = lengths(sequences, input, one, gradient);
                    let (mut pairs, mut parts, mut products) = (zeros(), zeros(), zeros());
                    pair_norms(sequences, &[input], one, &[gradient], unit, &mut pairs);
                    let cut = [gradient.columns(0, 1), gradient.columns(1, outputs - 1)];
                    pair_norms(sequences, &[input], one, &cut, unit, &mut parts);
                    product_norms(
                        sequences,
                        input,
                        one,
                        gradient,
                        unit,
                        &mut Vec::new(),
                        &mut products,
                    );
                    check("pairs", pairs, &truth, &sizes);
                    check("parts", parts, &truth, &sizes);
                    check("products", products, &truth, &sizes);
                }
                // Tokens in pairs: a table's gradient, whose rows are sums over equal tokens.
                let tokens: Vec<u32> = (0..sequences.rows())
                    .map(|row| (row % steps / 2 % 3) as u32)
                    .collect();
                let hot: Vec<f32> = tokens
                    .iter()
                    .flat_map(|token| [0, 1, 2].map(|k| f32::from(u8::from(k == *token))))
                    .collect();
                let hot = Rows::new(&hot, 3);
                let truth = definition(sequences, hot, false, gradient);
                let mut sums = zeros();
                token_norms(sequences, &tokens, gradient, unit, &mut sums);
                check("tokens", sums, &truth, &lengths(sequences, hot, false, gradient));
                // ‖E + O‖² of one table as embedding and as output layer, with logits of 3 tokens that make the two parts nearly cancel:
                // a row's logit of its own token is −1, and its input is the embedding's gradient.
                let logits: Vec<f32> = hot.buffer.iter().map(|one| -one).collect();
                let logits = Rows::new(&logits, 3);
                let mut moved = made.g.clone();
                moved
                    .iter_mut()
                    .step_by(3)
                    .for_each(|value| *value += remainder * 1e-3);
                let moved = Rows::new(&moved, outputs);
                let mut sums = zeros();
                token_norms(sequences, &tokens, gradient, unit, &mut sums);
                pair_norms(sequences, &[moved], false, &[logits], unit, &mut sums);
                tied_norms(sequences, &tokens, gradient, moved, logits, unit, &mut sums);
                let truth = tied(sequences, &tokens, gradient, moved);
                let size: Vec<f64> = [gradient, moved]
                    .map(|rows| lengths(sequences, hot, false, rows))
                    .into_iter()
                    .reduce(|one, other| one.iter().zip(&other).map(|(a, b)| a + b).collect())
                    .expect("two");
                check("tied", sums, &truth, &size);
            }
        }
    });
}

/// ‖Σ_t token_t ⊗ (g_t − a_t)‖² in `f64`.
fn tied(sequences: Sequences, tokens: &[u32], g: Rows<'_, Vec<f32>>, a: Rows<'_, Vec<f32>>) -> Vec<f64> {
    let of = |example: usize| {
        let mut table = vec![0.0f64; 3 * g.width];
        for row in (0..sequences.steps).map(|step| sequences.row(example, step)) {
            for j in 0..g.width {
                let part = |rows: &Rows<'_, Vec<f32>>| f64::from(rows.buffer[row * rows.stride + j]);
                table[tokens[row] as usize * g.width + j] += part(&g) - part(&a);
            }
        }
        table.iter().map(|value| value * value).sum()
    };
    (0..sequences.examples).map(of).collect()
}

/// A norm that is not finite stays so, and one of nothing is nearly 0.
#[test]
fn what_is_no_number_stays_so_and_nothing_is_next_to_nothing() {
    let sequences = Sequences {
        examples: 3,
        steps: 2,
        order: Order::Examples,
    };
    let mut g = vec![0.0f32; 6 * 4];
    (g[1], g[9]) = (f32::NAN, f32::MAX);
    let a = vec![1.0f32; 6 * 4];
    let (a, g) = (Rows::new(&a, 4), Rows::new(&g, 4));
    let (mut pairs, mut products, mut tokens) = (vec![0.0; 3], vec![0.0; 3], vec![0.0; 3]);
    pair_norms(sequences, &[a], true, &[g], f32::ROUNDING, &mut pairs);
    product_norms(
        sequences,
        a,
        true,
        g,
        f32::ROUNDING,
        &mut Vec::new(),
        &mut products,
    );
    token_norms(sequences, &[0; 6], g, f32::ROUNDING, &mut tokens);
    for sums in [pairs, products, tokens] {
        assert!(!sums[0].is_finite() && !sums[1].is_finite());
        assert!(sums[2] > 0.0 && sums[2] < 1e-20, "{}", sums[2]);
    }
}
