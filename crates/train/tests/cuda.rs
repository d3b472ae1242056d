//! The same training on the processor and on a GPU: losses, norms, gradients and parameters of some steps. Left out, and said so, where there is no GPU.

use device::{Adam, Cpu, Cuda, Device, Products, Scalar};
use train::model::Model;
use train::models::{
    GruLanguageModel, LstmLanguageModel, RecurrentShape, Tokens, TransformerLanguageModel, TransformerShape,
};

const SHAPE: RecurrentShape = RecurrentShape {
    vocabulary: 50,
    embedding: 24,
    hidden: 40,
    dropout: 0.1,
};

fn batch() -> Tokens {
    let mut state = 5u64;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let rows: Vec<Vec<u32>> = (0..12)
        .map(|_| (0..1 + word() % 16).map(|_| word() % 50).collect())
        .collect();
    Tokens::ragged(50, &rows).expect("rows of tokens")
}

/// What a step gave: losses, squared norms, and the clipped sum.
struct Step {
    losses: Vec<f64>,
    norms: Vec<f64>,
    sum: Vec<f64>,
}

/// Five steps of Adam on clipped sums. Steps start from `starts` where given, so that each is compared by itself.
fn train<D: Device>(
    device: &D,
    mut model: impl Model<D, Batch = Tokens>,
    starts: Option<&[Vec<f32>]>,
) -> (Vec<Step>, Vec<Vec<f32>>) {
    let batch = batch();
    let of = |values: &[f32]| {
        device.upload(
            &values
                .iter()
                .map(|&value| D::Scalar::from_f64(value.into()))
                .collect::<Vec<_>>(),
        )
    };
    let initial = model.initial(3);
    let mut parameters = of(&initial);
    let len = initial.len();
    let (mut first, mut second) = (device.zeros(len), device.zeros(len));
    let (mut steps, mut visited) = (Vec::new(), Vec::new());
    for number in 0..5 {
        if let Some(starts) = starts {
            parameters = of(&starts[number]);
        }
        visited.push(
            device
                .download(&parameters)
                .iter()
                .map(|value| value.to_f64() as f32)
                .collect(),
        );
        model.begin_step(number as u64);
        let losses = model.backward(&parameters, &batch);
        let norms = model.squared_norms();
        // Not of the norms, whose bounds on rounding differ from device to device.
        let weights: Vec<f64> = (0..norms.len())
            .map(|example| 0.2 + 0.1 * (example % 5) as f64)
            .collect();
        let mut sum = device.zeros(len);
        model.accumulate(&weights, &mut sum);
        let step = Adam {
            rate: 0.01,
            first: 0.9,
            second: 0.999,
            first_correction: 1.0 / (1.0 - 0.9f64.powi(number as i32 + 1)),
            second_correction: 1.0 / (1.0 - 0.999f64.powi(number as i32 + 1)),
            epsilon: 1e-6,
            decay: 0.0,
            noise: 0.0,
            floor: 0.0,
        };
        device.adam(step, &sum, &mut parameters, &mut first, &mut second);
        let sum = device.download(&sum).iter().map(|value| value.to_f64()).collect();
        steps.push(Step { losses, norms, sum });
    }
    (steps, visited)
}

/// Within `tolerance` of the largest.
fn near(what: &str, values: &[f64], truth: &[f64], tolerance: f64) {
    assert_eq!(values.len(), truth.len(), "{what}");
    let size = truth.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    for (value, truth) in values.iter().zip(truth) {
        assert!(
            (value - truth).abs() <= tolerance * size,
            "{what}: {:.2e} of the largest",
            (value - truth).abs() / size
        );
    }
}

/// Holds steps against those in `f64` from the same parameters.
fn hold(name: &str, steps: &[Step], truth: &[Step], tolerance: f64) {
    for (number, (step, truth)) in steps.iter().zip(truth).enumerate() {
        near(
            &format!("{name}, losses of step {number}"),
            &step.losses,
            &truth.losses,
            tolerance,
        );
        // A bound on their rounding is in norms: they may be above by a hundredth, and below by no more than others are off.
        let norms = step.norms.iter().zip(&truth.norms);
        let counted = |(norm, truth): (&f64, &f64)| match norm - truth {
            over if over > 0.0 => truth + over * tolerance / tolerance.max(1e-2),
            under => truth + under,
        };
        let norms: Vec<f64> = norms.map(counted).collect();
        near(
            &format!("{name}, norms of step {number}"),
            &norms,
            &truth.norms,
            tolerance,
        );
        near(
            &format!("{name}, sum of step {number}"),
            &step.sum,
            &truth.sum,
            tolerance,
        );
    }
}

/// One kind of model on the processor in `f64` and `f32`, and on a GPU with each kind of products.
macro_rules! compare {
    ($name:literal, $make:expr) => {{
        let reference = Cpu::<f64>::new();
        let (truth, visited) = train(&reference, $make(reference.clone()), None);
        let processor = Cpu::<f32>::new();
        let (steps, _) = train(&processor, $make(processor.clone()), Some(&visited));
        hold(concat!($name, " on the processor"), &steps, &truth, 1e-4);
        // TF32 keeps 11 bits of each factor; what that does to a gradient goes through several layers.
        for (products, tolerance) in [
            (Products::Full, 1e-4),
            (Products::Rounded, 2e-2),
            (Products::Half, 6e-2),
        ] {
            match Cuda::open(0, products) {
                Ok(cuda) => {
                    let (steps, _) = train(&cuda, $make(cuda.clone()), Some(&visited));
                    hold(concat!($name, " on the GPU"), &steps, &truth, tolerance);
                    let (again, _) = train(&cuda, $make(cuda.clone()), Some(&visited));
                    let same =
                        |a: &Step, b: &Step| a.losses == b.losses && a.norms == b.norms && a.sum == b.sum;
                    assert!(
                        steps.iter().zip(&again).all(|(a, b)| same(a, b)),
                        "the same work gives the same bits"
                    );
                    eprintln!(concat!($name, ": {} with {:?} products"), cuda.name(), products);
                }
                Err(error) => eprintln!(concat!($name, ": SKIPPED, nothing ran on a GPU: {}"), error),
            }
        }
    }};
}

#[test]
fn an_lstm_trains_alike_on_a_gpu() {
    compare!("LSTM", |device| LstmLanguageModel::new(device, SHAPE)
        .expect("a shape"));
}

#[test]
fn a_gru_trains_alike_on_a_gpu() {
    compare!("GRU", |device| GruLanguageModel::new(device, SHAPE)
        .expect("a shape"));
}

/// With heads for which a GPU has attention in tiles.
#[test]
fn a_transformer_with_attention_in_tiles_trains_alike() {
    let shape = TransformerShape {
        vocabulary: 50,
        context: 16,
        width: 64,
        heads: 2,
        blocks: 2,
        tied: false,
        dropout: 0.0,
    };
    compare!("wide transformer", |device| TransformerLanguageModel::new(
        device, shape
    )
    .expect("a shape"));
}

/// Norms of units, whose rows a GPU brings together with none in vain, are those of the processor.
#[test]
fn units_have_the_same_norms_on_a_gpu() {
    let cuda = match Cuda::open(0, Products::Full) {
        Ok(cuda) => cuda,
        Err(error) => return eprintln!("SKIPPED, nothing ran on a GPU: {error}"),
    };
    let batch = batch();
    let count = train::models::Part::len(&batch);
    let mut sizes = vec![3, 1, 5, 2];
    sizes.push(count - sizes.iter().sum::<usize>());
    let shape = |tied| TransformerShape {
        vocabulary: 50,
        context: 16,
        width: 24,
        heads: 3,
        blocks: 1,
        tied,
        dropout: 0.0,
    };
    fn of<D: Device>(
        device: &D,
        mut model: impl Model<D, Batch = Tokens>,
        batch: &Tokens,
        sizes: &[usize],
    ) -> Vec<f64> {
        let start: Vec<_> = model
            .initial(3)
            .iter()
            .map(|&value| D::Scalar::from_f64(value.into()))
            .collect();
        assert!(model.group(Some(sizes)));
        model.backward(&device.upload(&start), batch);
        model.squared_norms()
    }
    let processor = Cpu::<f64>::new();
    let mut pairs = Vec::new();
    for tied in [false, true] {
        let model = TransformerLanguageModel::new(processor.clone(), shape(tied)).expect("a shape");
        let truth = of(&processor, model, &batch, &sizes);
        let model = TransformerLanguageModel::new(cuda.clone(), shape(tied)).expect("a shape");
        pairs.push((of(&cuda, model, &batch, &sizes), truth));
    }
    let truth = of(
        &processor,
        LstmLanguageModel::new(processor.clone(), SHAPE).expect("a shape"),
        &batch,
        &sizes,
    );
    let ours = of(
        &cuda,
        LstmLanguageModel::new(cuda.clone(), SHAPE).expect("a shape"),
        &batch,
        &sizes,
    );
    pairs.push((ours, truth));
    for (ours, truth) in pairs {
        for (ours, truth) in ours.iter().zip(&truth) {
            assert!(
                *ours > truth * (1.0 - 1e-3) && *ours < truth * 1.02,
                "{ours} and {truth}"
            );
        }
    }
}

#[test]
fn a_transformer_trains_alike_on_a_gpu() {
    for tied in [false, true] {
        let shape = TransformerShape {
            vocabulary: 50,
            context: 16,
            width: 24,
            heads: 3,
            blocks: 2,
            tied,
            dropout: 0.1,
        };
        compare!("transformer", |device| TransformerLanguageModel::new(
            device, shape
        )
        .expect("a shape"));
    }
}
