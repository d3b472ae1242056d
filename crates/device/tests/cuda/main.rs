//! Every kernel on the processor in `f32` and on a GPU, held against the processor in `f64` on the same inputs.
//!
//! An output may be off by `tolerance` times the largest number of the reference: 2e-5 where sums are made in `f32`, 3e-3 for products of activations that are rounded to
//! TF32. A norm comes with a bound on its error, so it may be above by a fiftieth, and is below the reference by no more than others are off. Where there is no GPU that half is left out, and says so.

#![allow(missing_docs, unsafe_code)]

mod forward;
mod half;
mod inputs;
mod update;

use device::*;
use forward::{attention, cells, memory, pointwise, products, rows};
use inputs::{Inputs, Outputs};
use update::{gradients, grids, optimizers};

fn all<D: Device>(device: &D, large: bool) -> (Outputs, Vec<i64>) {
    all_of(device, large, false)
}

fn all_of<D: Device>(device: &D, large: bool, rounded: bool) -> (Outputs, Vec<i64>) {
    let mut inputs = Inputs {
        device,
        state: 7,
        rounded,
        outputs: Vec::new(),
    };
    memory(&mut inputs);
    products(&mut inputs);
    cells(&mut inputs, 7, 33);
    cells(&mut inputs, 40, 300);
    attention(&mut inputs, 6, 1);
    attention(&mut inputs, 5, 37);
    optimizers(&mut inputs);
    for order in [Order::Steps, Order::Examples] {
        let of = |examples, steps| Sequences {
            examples,
            steps,
            order,
        };
        pointwise(&mut inputs, of(5, 9), 70);
        pointwise(&mut inputs, of(20, 3), 1100);
        pointwise(&mut inputs, of(3, 5), 64);
        rows(&mut inputs, of(6, 5), 37);
        rows(&mut inputs, of(3, 2), 1500);
        rows(&mut inputs, of(3, 7), 384);
        for finite in [true, false] {
            gradients(&mut inputs, of(5, 9), 20, 70, finite);
            gradients(&mut inputs, of(4, 70), 11, 6, finite);
            gradients(&mut inputs, of(3, 130), 40, 270, finite);
            gradients(&mut inputs, of(30, 1), 40, 300, finite);
        }
        // Nothing at all is allowed.
        gradients(&mut inputs, of(0, 4), 5, 6, true);
        gradients(&mut inputs, of(4, 0), 5, 6, true);
        if large {
            // More than is done at once: pairs of steps, and rows of weighted products.
            gradients(&mut inputs, of(20, 1000), 4, 6, true);
            gradients(&mut inputs, of(1500, 10), 10, 2400, false);
        }
    }
    let integers = grids(&mut inputs);
    (inputs.outputs, integers)
}

/// What is further from the reference than allowed.
fn differences(outputs: &Outputs, reference: &Outputs, tolerance: impl Fn(&str) -> f64) -> Vec<String> {
    assert_eq!(outputs.len(), reference.len());
    let mut wrong = Vec::new();
    for ((name, values), (_, truth)) in outputs.iter().zip(reference) {
        assert_eq!(values.len(), truth.len(), "{name}");
        let size = truth
            .iter()
            .filter(|value| value.is_finite())
            .fold(0.0f64, |most, value| most.max(value.abs()));
        let above = if name.contains("_norms") { 1e-3 } else { 1.0 };
        let error = |(value, truth): (&f64, &f64)| match (value.is_finite(), truth.is_finite()) {
            (true, true) if value > truth => above * (value - truth),
            (true, true) => truth - value,
            // Infinite in one order of adding, not a number in another: both say that it is not finite.
            (false, false) => 0.0,
            _ => f64::INFINITY,
        };
        let worst = values.iter().zip(truth).map(error).fold(0.0, f64::max);
        if worst > tolerance(name) * size {
            wrong.push(format!("{name}: off by {:.2e} of the largest", worst / size));
        }
    }
    wrong
}

fn compare(who: &str, outputs: &Outputs, reference: &Outputs, tolerance: impl Fn(&str) -> f64) {
    let wrong = differences(outputs, reference, tolerance);
    assert!(wrong.is_empty(), "{who}:\n{}", wrong.join("\n"));
}

fn single(_: &str) -> f64 {
    2e-5
}

#[test]
fn single_precision_is_near_double_on_the_processor() {
    let (truth, integers) = all(&Cpu::<f64>::new(), false);
    let (outputs, own) = all(&Cpu::<f32>::new(), false);
    compare("the processor in f32", &outputs, &truth, single);
    assert!(integers == own, "grids are exact");
}

/// A number off by a thousandth, one that is not finite where it should be, or the reverse, does not pass.
#[test]
fn a_wrong_number_is_noticed() {
    let (mut truth, _) = all(&Cpu::<f64>::new(), false);
    truth.retain(|(_, values)| values.iter().any(|value| value.is_finite() && *value != 0.0));
    for (name, right) in truth {
        let finite = right.iter().enumerate().filter(|(_, value)| value.is_finite());
        let largest = finite
            .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
            .expect("some are finite")
            .0;
        let first = if right[0].is_finite() { f64::NAN } else { 0.0 };
        let size = right[largest].abs();
        let above = if name.contains("_norms") { 0.025 } else { 0.001 };
        for (place, wrong) in [
            (largest, right[largest] - 0.001 * size),
            (largest, right[largest] + above * size),
            (0, first),
        ] {
            let mut values = right.clone();
            values[place] = wrong;
            let wrong = differences(
                &vec![(name.clone(), values)],
                &vec![(name.clone(), right.clone())],
                single,
            );
            assert_eq!(wrong.len(), 1, "{name}");
        }
    }
}

/// What differs where any bit does.
fn bits(outputs: &Outputs) -> Vec<Vec<u64>> {
    let of = |values: &Vec<f64>| values.iter().map(|value| value.to_bits()).collect();
    outputs.iter().map(|(_, values)| of(values)).collect()
}

/// The GPU, or `None` with a word why.
fn gpu(products: Products) -> Option<Cuda> {
    match Cuda::open(0, products) {
        Ok(cuda) => {
            eprintln!("on {}, {products:?} products", cuda.name());
            Some(cuda)
        }
        Err(error) => {
            eprintln!("SKIPPED, nothing ran on a GPU: {error}");
            None
        }
    }
}

#[test]
fn a_gpu_computes_what_the_processor_does() {
    let Some(cuda) = gpu(Products::Full) else { return };
    let (truth, integers) = all(&Cpu::<f64>::new(), true);
    let (outputs, own) = all(&cuda, true);
    compare("the GPU", &outputs, &truth, single);
    assert!(integers == own, "grids are exact");
    let (again, _) = all(&cuda, true);
    assert!(
        bits(&outputs) == bits(&again),
        "the same work gives the same bits"
    );
}

#[test]
fn rounded_products_touch_products_of_activations_alone() {
    let Some(cuda) = gpu(Products::Rounded) else {
        return;
    };
    let (truth, integers) = all(&Cpu::<f64>::new(), false);
    let (outputs, own) = all(&cuda, false);
    assert!(integers == own, "grids are exact");
    compare("the GPU", &outputs, &truth, |name| {
        if name.starts_with("gemm") { 3e-3 } else { 2e-5 }
    });
}

/// With factors of 8 bits everything is within two hundredths or so; what has no products is as it was. The first of `gradients` that are given strange numbers has them here too.
#[test]
fn products_of_halves_are_near() {
    let Some(cuda) = gpu(Products::Half) else { return };
    let (truth, integers) = all(&Cpu::<f64>::new(), false);
    let (outputs, own) = all(&cuda, false);
    assert!(integers == own, "grids are exact");
    compare("the GPU", &outputs, &truth, |name| {
        let multiplied = [
            "gemm",
            "weighted_product",
            "pair_norms",
            "product_norms",
            "tied_norms",
        ];
        // Its bound grows with all lengths, and what it is does not.
        if name.starts_with("tied_norms") {
            5e-2
        } else if multiplied.iter().any(|kernel| name.starts_with(kernel)) {
            2e-2
        } else {
            2e-5
        }
    });
}

/// The same where factors are kept rounded: what a kernel writes there may be off by 2^-8 of itself, so by a bit more of the largest.
#[test]
fn kernels_take_factors_that_are_kept_rounded() {
    let Some(cuda) = gpu(Products::Half) else { return };
    let (truth, _) = all_of(&Cpu::<f64>::new(), false, true);
    let (outputs, _) = all_of(&cuda, false, true);
    compare("the GPU", &outputs, &truth, |name| {
        if name.starts_with("tied_norms") {
            5e-2
        } else if name.starts_with("gemm") || name.starts_with("weighted_product") {
            1e-2
        } else if name.contains("_norms") {
            // Of the same rounded factors.
            2e-4
        } else {
            6e-3
        }
    });
    let (again, _) = all_of(&cuda, false, true);
    assert!(
        bits(&outputs) == bits(&again),
        "the same work gives the same bits"
    );
}

/// Horner's rule over the field with 2^61 − 1 elements, one number after the other.
fn polynomial(point: u64, numbers: &[i64]) -> u64 {
    let prime = (1u128 << 61) - 1;
    let digits = numbers
        .iter()
        .map(|number| (i128::from(*number) + (1 << 59)) as u128);
    digits.fold(0, |sum, digit| (sum * u128::from(point) + digit) % prime) as u64
}

#[test]
fn a_gpu_computes_polynomials() {
    let Some(cuda) = gpu(Products::Full) else { return };
    let points = [0x1234_5678_9abc_def1, (1 << 61) - 1];
    for (len, chunk) in [
        (0, 8),
        (1, 8),
        (255, 256),
        (256, 256),
        (257, 300),
        (150_000, 1 << 16),
    ] {
        let mut values: Vec<i64> = (0..len as i64)
            .map(|place| (place - 7) * 1_000_003 * 1_000_003)
            .collect();
        let found = |values: &[i64]| {
            let mut integers = cuda.integers(len);
            cuda.write_integers(values, 0, &mut integers);
            match cuda.numbers(&mut integers) {
                Numbers::Here(_) => panic!("the host reaches a GPU's numbers"),
                Numbers::Elsewhere(elsewhere) => elsewhere.polynomials(points, chunk),
            }
        };
        let right = |values: &[i64]| -> Vec<_> {
            let both = |chunk: &[i64]| points.map(|point| polynomial(point, chunk));
            values.chunks(chunk).map(|chunk| Some(both(chunk))).collect()
        };
        assert_eq!(found(&values), right(&values), "{len}");
        if len > 0 {
            values[len / 2] += 1;
            assert_eq!(found(&values), right(&values));
            // Numbers so large that remainders do not tell them apart are left to the host.
            for large in [1 << 59, -(1 << 59), i64::MIN, i64::MAX] {
                values[len / 2] = large;
                let found = found(&values);
                assert_eq!(found[len / 2 / chunk], None);
                assert_eq!(found.iter().filter(|value| value.is_none()).count(), 1);
            }
        }
    }
}

#[test]
fn numbers_on_a_gpu_are_changed_where_they_are() {
    let Some(cuda) = gpu(Products::Full) else { return };
    let mut integers = cuda.integers(1000);
    let values: Vec<i64> = (0..1000).map(|place| place * place).collect();
    cuda.write_integers(&values, 0, &mut integers);
    let Numbers::Elsewhere(mut elsewhere) = cuda.numbers(&mut integers) else {
        panic!("the host reaches a GPU's numbers")
    };
    let mut seen = Vec::new();
    elsewhere.change(&[3, 999, 500], &mut |place, value| {
        seen.push((place, value));
        -value
    });
    elsewhere.change(&[], &mut |_, _| panic!("nothing to change"));
    assert_eq!(seen, [(3, 9), (999, 998_001), (500, 250_000)]);
    drop(elsewhere);
    let mut changed = values;
    for place in [3, 999, 500] {
        changed[place] = -changed[place];
    }
    assert_eq!(cuda.read_integers(&integers, 0, 1000), changed);
}

#[test]
fn a_size_that_does_not_fit_is_refused_before_the_gpu_sees_it() {
    let Some(cuda) = gpu(Products::Full) else { return };
    let caught = std::panic::catch_unwind(|| {
        let (x, mut y) = (cuda.zeros(10), cuda.zeros(20));
        cuda.add(Span::new(&x, 5), SpanMut::new(&mut y, 0), 6);
    });
    assert!(caught.is_err());
    let caught = std::panic::catch_unwind(|| {
        let (x, mut y) = (cuda.zeros(11), cuda.zeros(20));
        let a = Matrix::new(&x, 0, 3);
        cuda.gemm(
            Product::new(4, 3, 3),
            1.0,
            a,
            a,
            0.0,
            MatrixMut::new(&mut y, 0, 3),
        );
    });
    assert!(caught.is_err());
    cuda.synchronize();
}
