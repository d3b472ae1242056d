//! Times steps of training on a GPU, without and with privacy; for `bench/train-gpu-run`. Prints one JSON object.
//!
//! `gpu_step [lstm|transformer|people] [Full|Rounded|Half]` measures all or some. A private step is one of [`Trainer`], as `deniable train` takes it: a batch is drawn, then the backward pass, norms of all examples,
//! clipping, the sum on a grid, exact Gaussian noise under a key that depends on the sum, and Adam. `gpu_step check` opens the GPU, which compiles all kernels, `gpu_step profile KIND` takes three private steps, for a profiler, and `gpu_step people-cpu` needs no GPU: people with several texts on two threads.

use accounting::{Budget, Delta, Ratio};
use device::{Adam, Cpu, Cuda, Device, Products};
use mechanism::{Account, MemoryLedger, Sampling};
use serde_json::{Value, json};
use std::time::Instant;
use train::model::Model;
use train::models::{AnyLanguageModel, Network, Sharded, Tokens};
use train::private::{
    Clip, Dataset, Parameters, PerUnit, PrivateData, Recipe, Summation, Task, Trainer, Units,
};

type Failure = Box<dyn std::error::Error>;

const CLIP: f64 = 1.0;
const WARM: usize = 10;
const TIMED: usize = 40;

/// What is trained, on batches of which size.
struct Case {
    name: &'static str,
    network: Network,
    vocabulary: usize,
    examples: usize,
    steps: usize,
}

fn cases() -> [Case; 2] {
    [
        Case {
            name: "lstm",
            network: Network::Lstm {
                embedding: 256,
                hidden: 512,
                dropout: 0.0,
            },
            vocabulary: 10_000,
            examples: 256,
            steps: 64,
        },
        Case {
            name: "transformer",
            network: Network::Transformer {
                context: 256,
                width: 512,
                heads: 8,
                blocks: 6,
                tied: false,
                dropout: 0.0,
            },
            vocabulary: 10_000,
            examples: 64,
            steps: 256,
        },
    ]
}

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let first = arguments.first().map(String::as_str);
    let wants = |name: &str, place: usize| arguments.get(place).is_none_or(|only| only == name);
    if first == Some("check") {
        println!("{}", Cuda::open(0, Products::Half)?.name());
        return Ok(());
    }
    if first == Some("profile") {
        for case in cases().iter().filter(|case| wants(case.name, 1)) {
            private(&mut Gpu::new(Cuda::open(0, Products::Half)?), case, 0, 3)?;
        }
        return Ok(());
    }
    if first == Some("people-cpu") {
        let cpu = Cpu::<f32>::new();
        let build = |network: &Network| Ok(Sharded::new(&cpu, 2, || network.build(Cpu::new(), 1000))?);
        println!("{}", serde_json::to_string_pretty(&people(&cpu, build)?)?);
        return Ok(());
    }
    let mut objects = Vec::new();
    for products in [Products::Half, Products::Rounded, Products::Full] {
        if !wants(&format!("{products:?}"), 1) {
            continue;
        }
        for case in cases().iter().filter(|case| wants(case.name, 0)) {
            objects.push(measure(&mut Gpu::new(Cuda::open(0, products)?), products, case)?);
        }
    }
    let people = match wants("people", 0) {
        true => {
            let cuda = Cuda::open(0, Products::Half)?;
            people(&cuda, |network| Ok(network.build(cuda.clone(), 1000)?))?
        }
        false => Value::Null,
    };
    let all = json!({ "steps": objects, "people": people });
    println!("{}", serde_json::to_string_pretty(&all)?);
    Ok(())
}

fn measure(gpu: &mut Gpu, products: Products, case: &Case) -> Result<Value, Failure> {
    let parts = Parts::measure(gpu, case)?;
    let private = private(gpu, case, WARM, TIMED)?;
    let mib = |bytes: usize| (bytes as f64 / f64::from(1 << 20)).round();
    Ok(json!({
        "model": case.name,
        "gpu": gpu.cuda.name(),
        "products": format!("{products:?}"),
        "parameters": parts.parameters,
        "examples": case.examples,
        "steps": case.steps,
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
    }))
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
    fn time(&mut self, warm: usize, timed: usize, mut step: impl FnMut()) -> Vec<f64> {
        let mut times = Vec::new();
        for number in 0..warm + timed {
            self.cuda.synchronize();
            let start = Instant::now();
            step();
            self.cuda.synchronize();
            if number >= warm {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
            self.most = self.most.max(self.cuda.memory_in_use());
        }
        times
    }

    /// What was taken at most since this was last asked, over what was in use at the start.
    fn taken(&mut self) -> usize {
        let taken = self.most.saturating_sub(self.before);
        self.cuda.synchronize();
        self.most = self.cuda.memory_in_use();
        taken
    }
}

/// A run of `steps` private steps over rows with these owners, about `batch` units in each.
fn trainer<D: Device, M: Model<D, Batch = Tokens>>(
    device: &D,
    model: M,
    rows: Tokens,
    units: Units,
    (batch, at_once, steps): (usize, usize, usize),
) -> Result<Trainer<D, M, Dataset<Tokens>>, Failure> {
    let of = units.count() as u64;
    let parameters = Parameters {
        whose: "unit".to_owned(),
        sampling: Sampling::FixedSize {
            batch: batch as u64,
            of,
        },
        normaliser: batch as f64,
        clip: Clip::Fixed { norm: CLIP },
        examples_per_unit: None,
        summation: Summation::Float,
        multiplier: Ratio::parse("1")?,
        steps: steps as u64,
        delta: Delta::parse("1e-6")?,
    };
    let plan = parameters.with_multiplier(Ratio::parse("1")?)?;
    let budget = Budget::new(plan.guarantee().promise().clone(), plan.unit());
    let mut account = Account::open(MemoryLedger::new(budget))?;
    let task = Task {
        device: device.clone(),
        model,
        data: PrivateData::new(Dataset::new("synthetic tokens", rows), units),
    };
    let recipe = Recipe {
        at_once,
        threads: std::thread::available_parallelism()?.get(),
        ..Recipe::adam(1e-3)
    };
    Ok(Trainer::begin(
        &mut account,
        task,
        plan,
        recipe,
        None,
        "a measurement",
    )?)
}

/// Times of private steps, and their memory.
fn private(gpu: &mut Gpu, case: &Case, warm: usize, timed: usize) -> Result<(Vec<f64>, usize), Failure> {
    let rows = 16 * case.examples;
    let model = case.network.build(gpu.cuda.clone(), case.vocabulary)?;
    let sizes = (case.examples, case.examples, warm + timed);
    let rows_of = tokens(case.vocabulary, rows, case.steps)?;
    let mut trainer = trainer(&gpu.cuda, model, rows_of, Units::each_example(rows), sizes)?;
    let mut wrong = None;
    let times = gpu.time(warm, timed, || wrong = trainer.step().err());
    match wrong {
        Some(error) => Err(error.into()),
        None => Ok((times, gpu.taken())),
    }
}

/// People with several texts: seconds of 60 steps of about 512 texts of 30 tokens, for an LSTM of 128, by how many texts each person has. The first run is for what is done once.
fn people<D: Device, M: Model<D, Batch = Tokens>>(
    device: &D,
    build: impl Fn(&Network) -> Result<M, Failure>,
) -> Result<Value, Failure> {
    const ROWS: usize = 4096;
    let network = Network::Lstm {
        embedding: 64,
        hidden: 128,
        dropout: 0.0,
    };
    let each = |texts: usize| Units::by_key((0..ROWS).map(|row| row / texts), PerUnit::Sum);
    let owner =
        |row: usize| row / 136 * 16 + (0..16).find(|k| row % 136 < (k + 1) * (k + 2) / 2).unwrap_or(15);
    let mixed = Units::by_key((0..ROWS).map(owner), PerUnit::Sum);
    let kinds = [
        ("first", Units::each_example(ROWS)),
        ("texts_by_themselves", Units::each_example(ROWS)),
        ("persons_of_1", each(1)),
        ("persons_of_2", each(2)),
        ("persons_of_4", each(4)),
        ("persons_of_8", each(8)),
        ("persons_of_16", each(16)),
        ("persons_of_1_to_16", mixed),
    ];
    let mut seconds = serde_json::Map::new();
    for (name, units) in kinds {
        let batch = 512 * units.count() / ROWS;
        let rows = tokens(1000, ROWS, 30)?;
        let mut trainer = trainer(device, build(&network)?, rows, units, (batch, 512, 60))?;
        let start = Instant::now();
        while trainer.step()?.is_some() {}
        device.download(trainer.parameters());
        seconds.insert(name.to_owned(), json!(start.elapsed().as_secs_f64()));
    }
    Ok(Value::Object(seconds))
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
    fn measure(gpu: &mut Gpu, case: &Case) -> Result<Self, Failure> {
        let mut run = Run::new(gpu.cuda.clone(), case)?;
        let plain = gpu.time(WARM, TIMED, || {
            run.sum(false);
            run.adam();
        });
        let memory = gpu.taken();
        let without_noise = gpu.time(WARM, TIMED, || {
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
    model: AnyLanguageModel<Cuda>,
    batch: Tokens,
    parameters: <Cuda as Device>::Buffer,
    gradient: <Cuda as Device>::Buffer,
    moments: [<Cuda as Device>::Buffer; 2],
    taken: i32,
}

impl Run {
    fn new(cuda: Cuda, case: &Case) -> Result<Self, Failure> {
        let model = case.network.build(cuda.clone(), case.vocabulary)?;
        let initial = model.initial(1);
        let len = initial.len();
        Ok(Self {
            batch: tokens(case.vocabulary, case.examples, case.steps)?,
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
            clipped(&self.model.squared_norms())
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
            self.model.accumulate(&clipped(&norms), &mut self.gradient);
            lap(&self.cuda, &mut parts[2]);
            self.adam();
            lap(&self.cuda, &mut parts[3]);
        }
        parts
    }
}

fn clipped(norms: &[f64]) -> Vec<f64> {
    norms
        .iter()
        .map(|square| (CLIP / square.sqrt()).min(1.0))
        .collect()
}

fn summary(times: &[f64]) -> Value {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let round = |value: f64| (value * 1000.0).round() / 1000.0;
    json!({
        "median": round(times[times.len() / 2]),
        "least": round(times[0]),
        "most": round(times[times.len() - 1]),
    })
}

/// Synthetic text: what it says does not change what a step costs.
fn tokens(vocabulary: usize, rows: usize, steps: usize) -> Result<Tokens, train::models::ModelError> {
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % vocabulary as u32
    };
    let tokens = (0..rows * (steps + 1)).map(|_| next()).collect();
    Tokens::full(vocabulary, steps + 1, tokens)
}
