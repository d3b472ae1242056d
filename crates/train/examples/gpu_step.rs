//! Times steps of training on a GPU, without and with privacy; for `bench/train-gpu-run`. Prints one JSON object.
//!
//! A language model with an LSTM: batch 256, 64 steps, embedding 256, state 512, vocabulary 10,000, Adam. A private step is one of [`Trainer`], as `deniable train` takes it: a batch is drawn, then the
//! backward pass, norms of all examples, clipping, the sum on a grid, exact Gaussian noise under a key that depends on the sum, and Adam.

use accounting::{Budget, Delta, Ratio};
use device::{Adam, Cuda, Device, Products};
use mechanism::{Account, MemoryLedger, Sampling};
use std::time::Instant;
use train::model::Model;
use train::models::{LstmLanguageModel, RecurrentShape, Tokens};
use train::private::{Clip, Dataset, Parameters, PrivateData, Recipe, Summation, Task, Trainer, Units};

const EXAMPLES: usize = 256;
/// Of which a private step draws its examples.
const ROWS: usize = 4096;
const STEPS: usize = 64;
const SHAPE: RecurrentShape = RecurrentShape {
    vocabulary: 10_000,
    embedding: 256,
    hidden: 512,
    dropout: 0.0,
};
const CLIP: f64 = 1.0;
const WARM: usize = 5;
const TIMED: usize = 40;

fn main() {
    if let Err(error) = measure() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn measure() -> Result<(), Box<dyn std::error::Error>> {
    let only = std::env::args().nth(1);
    let mut objects = Vec::new();
    for products in [Products::Rounded, Products::Full] {
        if only
            .as_deref()
            .is_some_and(|only| only != format!("{products:?}"))
        {
            continue;
        }
        let mut gpu = Gpu::new(Cuda::open(0, products)?);
        let parts = Parts::measure(&mut gpu)?;
        let private = private(&mut gpu)?;
        let mib = |bytes: usize| (bytes as f64 / f64::from(1 << 20)).round();
        objects.push(serde_json::json!({
            "gpu": gpu.cuda.name(),
            "products": format!("{products:?}"),
            "parameters": parts.parameters,
            "examples": EXAMPLES,
            "steps": STEPS,
            "plain_ms": summary(&parts.plain),
            "private_ms": summary(&private.0),
            "private_without_noise_ms": summary(&parts.without_noise),
            "parts_ms": {
                "backward": summary(&parts.parts[0]),
                "norms": summary(&parts.parts[1]),
                "accumulate": summary(&parts.parts[2]),
                "adam": summary(&parts.parts[3]),
            },
            "memory_mib": {
                "plain": mib(parts.memory),
                "private": mib(private.1),
                "private_with_context_and_libraries": mib(private.1 + gpu.before),
            },
        }));
    }
    println!("{}", serde_json::to_string_pretty(&objects)?);
    Ok(())
}

/// A GPU, and how much of its memory was in use at most.
struct Gpu {
    cuda: Cuda,
    before: usize,
    most: usize,
}

impl Gpu {
    fn new(cuda: Cuda) -> Self {
        let before = cuda.memory_in_use();
        Self {
            cuda,
            before,
            most: before,
        }
    }

    /// Milliseconds of each of some steps, each timed until the GPU is done with all of it.
    fn time(&mut self, mut step: impl FnMut()) -> Vec<f64> {
        let mut times = Vec::new();
        for number in 0..WARM + TIMED {
            self.cuda.synchronize();
            let start = Instant::now();
            step();
            self.cuda.synchronize();
            if number >= WARM {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
            self.most = self.most.max(self.cuda.memory_in_use());
        }
        times
    }

    /// What was taken at most since this was last asked, over what was in use at the start.
    fn taken(&mut self) -> usize {
        let taken = self.most - self.before;
        self.cuda.synchronize();
        self.most = self.cuda.memory_in_use();
        taken
    }
}

/// Times of private steps, and their memory.
fn private(gpu: &mut Gpu) -> Result<(Vec<f64>, usize), Box<dyn std::error::Error>> {
    let data = Dataset::new("synthetic tokens", tokens(ROWS)?);
    let sampling = Sampling::FixedSize {
        batch: EXAMPLES as u64,
        of: ROWS as u64,
    };
    let parameters = Parameters {
        whose: "row".to_owned(),
        sampling,
        normaliser: EXAMPLES as f64,
        clip: Clip::Fixed { norm: CLIP },
        examples_per_unit: None,
        summation: Summation::Float,
        multiplier: Ratio::parse("1")?,
        steps: (WARM + TIMED) as u64,
        delta: Delta::parse("1e-6")?,
    };
    let plan = parameters.with_multiplier(Ratio::parse("1")?)?;
    let budget = Budget::new(plan.guarantee().promise().clone(), plan.unit());
    let mut account = Account::open(MemoryLedger::new(budget))?;
    let units = Units::each_example(ROWS);
    let task = Task {
        device: gpu.cuda.clone(),
        model: LstmLanguageModel::new(gpu.cuda.clone(), SHAPE)?,
        data: PrivateData::new(&data, units),
    };
    let recipe = Recipe {
        at_once: EXAMPLES,
        threads: std::thread::available_parallelism()?.get(),
        ..Recipe::adam(1e-3)
    };
    let mut trainer = Trainer::begin(&mut account, task, plan, recipe, None, "a measurement")?;
    let mut wrong = None;
    let times = gpu.time(|| wrong = trainer.step().err());
    match wrong {
        Some(error) => Err(error.into()),
        None => Ok((times, gpu.taken())),
    }
}

/// A step without privacy, and what a private step is made of.
struct Parts {
    parameters: usize,
    plain: Vec<f64>,
    without_noise: Vec<f64>,
    parts: [Vec<f64>; 4],
    memory: usize,
}

impl Parts {
    fn measure(gpu: &mut Gpu) -> Result<Self, Box<dyn std::error::Error>> {
        let mut run = Run::new(gpu.cuda.clone())?;
        let plain = gpu.time(|| {
            run.sum(false);
            run.adam();
        });
        let memory = gpu.taken();
        let without_noise = gpu.time(|| {
            run.sum(true);
            run.adam();
        });
        let parts = run.parts();
        let parameters = run.cuda.len(&run.parameters);
        drop(run);
        gpu.taken();
        Ok(Self {
            parameters,
            plain,
            without_noise,
            parts,
            memory,
        })
    }
}

/// Steps on one batch that stays the same.
struct Run {
    cuda: Cuda,
    model: LstmLanguageModel<Cuda>,
    batch: Tokens,
    parameters: <Cuda as Device>::Buffer,
    gradient: <Cuda as Device>::Buffer,
    moments: [<Cuda as Device>::Buffer; 2],
    taken: i32,
}

impl Run {
    fn new(cuda: Cuda) -> Result<Self, Box<dyn std::error::Error>> {
        let model = LstmLanguageModel::new(cuda.clone(), SHAPE)?;
        let initial = model.initial(1);
        let len = initial.len();
        Ok(Self {
            batch: tokens(EXAMPLES)?,
            parameters: cuda.upload(&initial),
            gradient: cuda.zeros(len),
            moments: [cuda.zeros(len), cuda.zeros(len)],
            cuda,
            model,
            taken: 0,
        })
    }

    /// The weighted sum of one batch's gradients.
    fn sum(&mut self, private: bool) {
        self.cuda.clear(&mut self.gradient);
        let losses = self.model.backward(&self.parameters, &self.batch);
        assert!(losses.iter().all(|loss| loss.is_finite()));
        let weights = if private {
            let norms = self.model.squared_norms();
            norms
                .iter()
                .map(|square| (CLIP / square.sqrt()).min(1.0))
                .collect()
        } else {
            vec![1.0; losses.len()]
        };
        self.model.accumulate(&weights, &mut self.gradient);
    }

    fn adam(&mut self) {
        self.taken += 1;
        let [first, second] = &mut self.moments;
        let step = Adam {
            rate: 1e-3,
            first: 0.9,
            second: 0.999,
            first_correction: 1.0 / (1.0 - 0.9f64.powi(self.taken)),
            second_correction: 1.0 / (1.0 - 0.999f64.powi(self.taken)),
            epsilon: 1e-8,
            decay: 0.0,
            noise: 0.0,
            floor: 0.0,
        };
        self.cuda
            .adam(step, &self.gradient, &mut self.parameters, first, second);
    }

    /// Where a step's time goes, with a wait between parts.
    fn parts(&mut self) -> [Vec<f64>; 4] {
        let mut parts = [const { Vec::<f64>::new() }; 4];
        for _ in 0..10 {
            self.cuda.clear(&mut self.gradient);
            self.cuda.synchronize();
            let mut clock = Instant::now();
            let mut lap = |cuda: &Cuda, parts: &mut Vec<f64>| {
                cuda.synchronize();
                parts.push(clock.elapsed().as_secs_f64() * 1e3);
                clock = Instant::now();
            };
            self.model.backward(&self.parameters, &self.batch);
            lap(&self.cuda, &mut parts[0]);
            let norms = self.model.squared_norms();
            lap(&self.cuda, &mut parts[1]);
            let weights: Vec<f64> = norms
                .iter()
                .map(|square| (CLIP / square.sqrt()).min(1.0))
                .collect();
            self.model.accumulate(&weights, &mut self.gradient);
            lap(&self.cuda, &mut parts[2]);
            self.adam();
            lap(&self.cuda, &mut parts[3]);
        }
        parts
    }
}

fn summary(times: &[f64]) -> serde_json::Value {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let round = |value: f64| (value * 1000.0).round() / 1000.0;
    serde_json::json!({
        "median": round(times[times.len() / 2]),
        "least": round(times[0]),
        "most": round(times[times.len() - 1]),
    })
}

/// Synthetic text: what it says does not change what a step costs.
fn tokens(rows: usize) -> Result<Tokens, train::models::ModelError> {
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % SHAPE.vocabulary as u32
    };
    let tokens = (0..rows * (STEPS + 1)).map(|_| next()).collect();
    Tokens::full(SHAPE.vocabulary, STEPS + 1, tokens)
}
