//! Checks that every model goes through.

use device::{Cpu, Device, Scalar};
use train::model::Model;
use train::models::Part;

/// Parameters for tests: the model's own start, and no exact zeros, so that every path carries something.
pub(crate) fn parameters<S: Scalar, M: Model<Cpu<S>>>(model: &M, seed: u64) -> Vec<S>
where
    Cpu<S>: Device<Scalar = S, Buffer = Vec<S>, Sums = Vec<f64>, Indices = Vec<u32>>,
{
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut jitter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    model
        .initial(seed)
        .into_iter()
        .map(|value| S::from_f64(f64::from(value) + 0.4 * jitter()))
        .collect()
}

/// How many numbers a model has.
pub(crate) fn len<D: Device, M: Model<D>>(model: &M) -> usize {
    model.layout().iter().map(|parameter| parameter.len()).sum()
}

fn close(ours: f64, truth: f64, tolerance: f64) -> bool {
    (ours - truth).abs() <= tolerance * (1.0 + truth.abs())
}

/// The gradient of one example, from a batch of one.
pub(crate) fn naive<M: Model<Cpu<f64>>>(
    model: &mut M,
    parameters: &Vec<f64>,
    batch: &M::Batch,
    example: usize,
) -> Vec<f64>
where
    M::Batch: Part,
{
    let mut gradient = vec![0.0; parameters.len()];
    model.backward(parameters, &batch.part(example..example + 1));
    model.accumulate(&[1.0], &mut gradient);
    gradient
}

/// Everything that a model promises, on one batch. `differences` is how many coordinates are held against central differences.
pub(crate) fn check<M: Model<Cpu<f64>>>(model: &mut M, batch: &M::Batch, differences: usize)
where
    M::Batch: Part,
{
    let parameters = parameters(model, 5);
    assert_eq!(parameters.len(), len(model));
    let weights: Vec<f64> = (0..batch.len())
        .map(|example| 0.3 + 0.2 * example as f64)
        .collect();

    let losses = model.backward(&parameters, batch);
    let norms = model.squared_norms();
    assert_eq!((losses.len(), norms.len()), (batch.len(), batch.len()));
    let mut gradient = vec![0.0; parameters.len()];
    model.accumulate(&weights, &mut gradient);
    // Norms and sums can be had again, in any order, and are added to what is there.
    assert_eq!(model.squared_norms(), norms);
    let mut twice = gradient.clone();
    model.accumulate(&weights, &mut twice);
    assert!(
        twice
            .iter()
            .zip(&gradient)
            .all(|(&twice, &once)| close(twice, 2.0 * once, 1e-12))
    );

    // One example after the other.
    let mut total = vec![0.0; parameters.len()];
    for example in 0..batch.len() {
        let alone = naive(model, &parameters, batch, example);
        let squared: f64 = alone.iter().map(|value| value * value).sum();
        assert!(
            close(norms[example], squared, 1e-10),
            "norm of {example}: {} and {squared}",
            norms[example]
        );
        let single = model.squared_norms();
        assert!(
            close(single[0], squared, 1e-10),
            "norm of {example} alone: {} and {squared}",
            single[0]
        );
        for (total, value) in total.iter_mut().zip(&alone) {
            *total += weights[example] * value;
        }
    }
    for (place, (&ours, &sum)) in gradient.iter().zip(&total).enumerate() {
        assert!(close(ours, sum, 1e-10), "place {place}: {ours} and {sum}");
    }

    // A weight of zero leaves an example out, whatever the others have.
    if batch.len() > 1 {
        model.backward(&parameters, batch);
        let mut some = weights.clone();
        some[0] = 0.0;
        let mut without = vec![0.0; parameters.len()];
        model.accumulate(&some, &mut without);
        let rest = batch.part(1..batch.len());
        model.backward(&parameters, &rest);
        let mut others = vec![0.0; parameters.len()];
        model.accumulate(&weights[1..], &mut others);
        assert!(
            without
                .iter()
                .zip(&others)
                .all(|(&ours, &truth)| close(ours, truth, 1e-10))
        );
    }

    // Central differences of the weighted loss, at coordinates spread over the vector and where the gradient is largest.
    let mut loss_at = |place: usize, shift: f64| {
        let mut moved = parameters.clone();
        moved[place] += shift;
        let losses = model.losses(&moved, batch);
        losses
            .iter()
            .zip(&weights)
            .map(|(loss, weight)| loss * weight)
            .sum::<f64>()
    };
    let stride = (parameters.len() / differences.max(1)).max(1);
    let mut places: Vec<usize> = (0..parameters.len()).step_by(stride).collect();
    let mut largest: Vec<usize> = (0..parameters.len()).collect();
    largest.sort_by(|&a, &b| gradient[b].abs().total_cmp(&gradient[a].abs()));
    places.extend(&largest[..largest.len().min(20)]);
    if batch.len() > 0 {
        for place in places {
            // Of fourth order: what is left is about step⁴.
            let step = 1e-4;
            let mut slope = |reach: f64| (loss_at(place, reach) - loss_at(place, -reach)) / (2.0 * reach);
            let difference = (4.0 * slope(step) - slope(2.0 * step)) / 3.0;
            assert!(
                close(gradient[place], difference, 1e-7),
                "place {place}: {} and {difference}",
                gradient[place]
            );
        }
    }
    // Losses with and without a gradient agree.
    let again = model.losses(&parameters, batch);
    assert!(losses.iter().zip(&again).all(|(&a, &b)| close(a, b, 1e-12)));
}

/// Where one example is not finite, it alone is: its norm says so, and a weight of 0 keeps it out of the sum. `poisoned` are the
/// parameters with something that only this example touches made not a number, or the same where the batch has it.
pub(crate) fn check_isolation<M: Model<Cpu<f64>>>(
    model: &mut M,
    poisoned: &Vec<f64>,
    clean: &Vec<f64>,
    batch: &M::Batch,
    bad: usize,
) where
    M::Batch: Part,
{
    model.backward(poisoned, batch);
    let norms = model.squared_norms();
    let weights: Vec<f64> = (0..batch.len())
        .map(|example| if example == bad { 0.0 } else { 0.5 })
        .collect();
    let mut gradient = vec![0.0; clean.len()];
    model.accumulate(&weights, &mut gradient);
    let mut expected = vec![0.0; clean.len()];
    for (example, &norm) in norms.iter().enumerate() {
        assert_eq!(norm.is_finite(), example != bad, "norm of {example}");
        if example != bad {
            let alone = naive(model, clean, batch, example);
            let squared: f64 = alone.iter().map(|value| value * value).sum();
            assert!(close(norm, squared, 1e-10));
            expected
                .iter_mut()
                .zip(&alone)
                .for_each(|(total, value)| *total += 0.5 * value);
        }
    }
    assert!(
        gradient
            .iter()
            .zip(&expected)
            .all(|(&ours, &truth)| close(ours, truth, 1e-10))
    );
}

/// `f32` stays close to `f64`: norms are below by at most `tolerance` and above by a thousandth, the summed gradient in relative ℓ₂ distance.
pub(crate) fn check_precision<M32: Model<Cpu<f32>>, M64: Model<Cpu<f64>, Batch = M32::Batch>>(
    single: &mut M32,
    double: &mut M64,
    batch: &M32::Batch,
    tolerance: f64,
) {
    let exact = parameters(double, 5);
    // The same numbers, so rounded first.
    let rounded: Vec<f32> = exact.iter().map(|&value| value as f32).collect();
    let exact: Vec<f64> = rounded.iter().map(|&value| f64::from(value)).collect();
    let weights = vec![0.7; double.examples(batch)];
    double.backward(&exact, batch);
    single.backward(&rounded, batch);
    for (ours, truth) in single.squared_norms().into_iter().zip(double.squared_norms()) {
        // What is added for rounding makes it larger, never smaller.
        let over = (ours - truth) / truth;
        assert!(
            over > -tolerance && over < tolerance.max(1e-3),
            "{ours} and {truth}"
        );
    }
    let (mut ours, mut truth) = (vec![0.0f32; exact.len()], vec![0.0; exact.len()]);
    single.accumulate(&weights, &mut ours);
    double.accumulate(&weights, &mut truth);
    let distance: f64 = ours
        .iter()
        .zip(&truth)
        .map(|(&a, b)| (f64::from(a) - b).powi(2))
        .sum();
    let length: f64 = truth.iter().map(|value| value * value).sum();
    assert!(
        (distance / length).sqrt() < tolerance,
        "{}",
        (distance / length).sqrt()
    );
}
