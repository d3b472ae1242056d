//! Times steps of training on a GPU, without and with privacy; for `bench/train-gpu-run`. Prints one JSON object.
//!
//! A language model with an LSTM: batch 256, 64 steps, embedding 256, state 512, vocabulary 10,000, Adam. A private step is the backward pass, norms of all examples,
//! clipping, the sum, exact Gaussian noise on a grid, and Adam. Noise is made on the host's threads in two ways: `ahead`, for the next step while the GPU computes
//! this one; and `keyed`, where its key depends on the sum, so that it is made after it.

use device::{Adam, Cuda, Device, Products};
use noise::{Keyed, OsEntropy, RoundedGaussian};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;
use train::model::Model;
use train::models::{LstmLanguageModel, RecurrentShape, Tokens};

const EXAMPLES: usize = 256;
const STEPS: usize = 64;
const SHAPE: RecurrentShape = RecurrentShape {
    vocabulary: 10_000,
    embedding: 256,
    hidden: 512,
    dropout: 0.0,
};
/// Coordinates that share a stream of noise.
const CHUNK: usize = 1 << 16;
/// One clipped gradient is 2^30 grid steps long.
const LENGTH: f64 = (1u64 << 30) as f64;
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
    let threads = std::thread::available_parallelism()?.get();
    let mut objects = Vec::new();
    for products in [Products::Rounded, Products::Full] {
        if only
            .as_deref()
            .is_some_and(|only| only != format!("{products:?}"))
        {
            continue;
        }
        let cuda = Cuda::open(0, products)?;
        objects.push(Run::new(cuda, threads)?.report(products)?);
    }
    println!("{}", serde_json::to_string_pretty(&objects)?);
    Ok(())
}

struct Run {
    cuda: Cuda,
    model: LstmLanguageModel<Cuda>,
    batch: Tokens,
    parameters: <Cuda as Device>::Buffer,
    gradient: <Cuda as Device>::Buffer,
    moments: [<Cuda as Device>::Buffer; 2],
    noise: RoundedGaussian,
    threads: usize,
    before: usize,
    most: usize,
    taken: i32,
}

impl Run {
    fn new(cuda: Cuda, threads: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let before = cuda.memory_in_use();
        let model = LstmLanguageModel::new(cuda.clone(), SHAPE)?;
        let initial = model.initial(1);
        let len = initial.len();
        Ok(Self {
            batch: tokens()?,
            parameters: cuda.upload(&initial),
            gradient: cuda.zeros(len),
            moments: [cuda.zeros(len), cuda.zeros(len)],
            // A noise multiplier of 1: σ = C.
            noise: RoundedGaussian::with_scale(&exact::Rational::from(1u64 << 30))?,
            cuda,
            model,
            threads,
            before,
            most: before,
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

    /// Milliseconds of each of some steps, each timed until the GPU is done with all of it.
    fn time(&mut self, mut step: impl FnMut(&mut Self)) -> Vec<f64> {
        let mut times = Vec::new();
        for number in 0..WARM + TIMED {
            self.cuda.synchronize();
            let start = Instant::now();
            step(self);
            self.cuda.synchronize();
            if number >= WARM {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
            self.most = self.most.max(self.cuda.memory_in_use());
        }
        times
    }

    fn report(mut self, products: Products) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
        let (scale, unit) = (LENGTH / CLIP, CLIP / LENGTH / EXAMPLES as f64);
        let len = self.cuda.len(&self.parameters);
        let plain = self.time(|run| {
            run.sum(false);
            run.adam();
        });
        let plain_memory = self.most - self.before;
        let without_noise = self.time(|run| {
            run.sum(true);
            run.adam();
        });

        let (cuda, threads) = (self.cuda.clone(), self.threads);
        let key = fresh_key()?;
        let mut keyed = cuda.integers(len);
        let mut number = 0;
        let after = self.time(|run| {
            run.sum(true);
            cuda.put_on_grid(scale, &run.gradient, &mut keyed);
            number += 1;
            add_keyed(&run.noise, cuda.numbers(&mut keyed), &key, number, threads);
            cuda.take_off_grid(unit, &keyed, &mut run.gradient);
            run.adam();
        });
        drop(keyed);

        let drawer = Drawer::start(&cuda, self.noise.clone(), len, key, threads);
        let ahead = self.time(|run| {
            run.sum(true);
            let noise = drawer.take();
            cuda.add_on_grid(scale, unit, &noise, &mut run.gradient);
            run.adam();
            drawer.give_back(noise);
        });

        // Where a step's time goes, with a wait between parts.
        let mut parts = [const { Vec::<f64>::new() }; 4];
        let mut integers = vec![0i64; len];
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
        let mut drawing = Vec::new();
        for number in 0..5 {
            let start = Instant::now();
            draw(&self.noise, &mut integers, &key, number, self.threads);
            drawing.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        Ok(serde_json::json!({
            "gpu": self.cuda.name(),
            "products": format!("{products:?}"),
            "parameters": len,
            "examples": EXAMPLES,
            "steps": STEPS,
            "threads": self.threads,
            "plain_ms": summary(&plain),
            "private_noise_ahead_ms": summary(&ahead),
            "private_noise_keyed_by_sum_ms": summary(&after),
            "private_without_noise_ms": summary(&without_noise),
            "parts_ms": {
                "backward": summary(&parts[0]),
                "norms": summary(&parts[1]),
                "accumulate": summary(&parts[2]),
                "adam": summary(&parts[3]),
                "noise_on_the_host": summary(&drawing),
            },
            "memory_mib": {
                "plain": mib(plain_memory).round(),
                "private": mib(self.most - self.before).round(),
                "private_with_context_and_libraries": mib(self.most).round(),
            },
        }))
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

fn fresh_key() -> Result<[u8; 32], noise::Error> {
    let mut entropy = OsEntropy::new()?;
    let mut key = [0; 32];
    for part in key.chunks_exact_mut(8) {
        part.copy_from_slice(&noise::Entropy::bits(&mut entropy, 64).to_le_bytes());
    }
    Ok(key)
}

/// A key of one step: SHA-256 of the run's key, the step and what else it depends on.
fn step_key(key: &[u8; 32], number: u64, depends_on: &[u8]) -> [u8; 32] {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update(number.to_le_bytes());
    hash.update(depends_on);
    hash.finalize().into()
}

/// Noise of a step that depends on the key and the step alone.
fn draw(noise: &RoundedGaussian, numbers: &mut [i64], key: &[u8; 32], number: u64, threads: usize) {
    let key = step_key(key, number, &[]);
    in_parallel(numbers, threads, |chunk, place| {
        noise.fill(chunk, &mut Keyed::new(key, place));
        [0; 32]
    });
}

/// Adds noise whose key depends on what it is added to.
fn add_keyed(noise: &RoundedGaussian, numbers: &mut [i64], key: &[u8; 32], number: u64, threads: usize) {
    use sha2::{Digest, Sha256};
    let digests = in_parallel(numbers, threads, |chunk, _| {
        let mut hash = Sha256::new();
        let mut bytes = [0u8; 4096];
        for group in chunk.chunks(512) {
            for (bytes, value) in bytes.chunks_exact_mut(8).zip(group) {
                bytes.copy_from_slice(&value.to_le_bytes());
            }
            hash.update(&bytes[..8 * group.len()]);
        }
        hash.finalize().into()
    });
    let key = step_key(key, number, digests.as_flattened());
    in_parallel(numbers, threads, |chunk, place| {
        noise.add_to(chunk, &mut Keyed::new(key, place));
        [0; 32]
    });
}

/// Each chunk with its place; chunks are taken by whoever is free.
fn in_parallel(
    numbers: &mut [i64],
    threads: usize,
    work: impl Fn(&mut [i64], u64) -> [u8; 32] + Sync,
) -> Vec<[u8; 32]> {
    let mut digests = vec![[0; 32]; numbers.len().div_ceil(CHUNK)];
    let chunks = std::sync::Mutex::new(numbers.chunks_mut(CHUNK).zip(&mut digests).enumerate());
    let next = || chunks.lock().ok()?.next();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((place, (chunk, digest))) = next() {
                    *digest = work(chunk, place as u64);
                }
            });
        }
    });
    digests
}

type Integers = <Cuda as Device>::Integers;

/// Draws noise on threads of its own, one step ahead.
struct Drawer {
    drawn: Receiver<Integers>,
    empty: Sender<Integers>,
}

impl Drawer {
    fn start(cuda: &Cuda, noise: RoundedGaussian, len: usize, key: [u8; 32], threads: usize) -> Self {
        let (to_fill, empty) = channel::<Integers>();
        let (filled, drawn) = channel();
        let device = cuda.clone();
        std::thread::spawn(move || {
            for (number, mut integers) in empty.into_iter().enumerate() {
                draw(
                    &noise,
                    device.numbers(&mut integers),
                    &key,
                    number as u64,
                    threads,
                );
                if filled.send(integers).is_err() {
                    return;
                }
            }
        });
        for _ in 0..2 {
            to_fill.send(cuda.integers(len)).expect("the thread waits");
        }
        Self {
            drawn,
            empty: to_fill,
        }
    }

    fn take(&self) -> Integers {
        self.drawn.recv().expect("the thread draws")
    }

    fn give_back(&self, integers: Integers) {
        self.empty.send(integers).expect("the thread waits");
    }
}

/// Made-up text: what it says does not change what a step costs.
fn tokens() -> Result<Tokens, train::models::ModelError> {
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % SHAPE.vocabulary as u32
    };
    let tokens = (0..EXAMPLES * (STEPS + 1)).map(|_| next()).collect();
    Tokens::full(SHAPE.vocabulary, STEPS + 1, tokens)
}
